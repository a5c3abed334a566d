//! Files of text as UTF-8: decompressed, without byte order mark, whatever Unicode they are in.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};

/// Longest record of a file of text: one that lacks a quote is as long as the rest of the file.
pub(crate) const RECORD_BYTES_MAX: usize = 32 << 20;

/// The text of a file, which may be compressed with gzip or zstd and be in UTF-8 or, with a byte
/// order mark, in UTF-16.
pub(crate) fn open(file: File) -> io::Result<Box<dyn Read + Send>> {
    let mut file = BufReader::with_capacity(1 << 16, file);
    let plain: Box<dyn Read + Send> = match file.fill_buf()? {
        [0x1f, 0x8b, ..] => Box::new(flate2::bufread::MultiGzDecoder::new(file)),
        [0x28, 0xb5, 0x2f, 0xfd, ..] => Box::new(zstd::Decoder::with_buffer(file)?),
        _ => Box::new(file),
    };
    let mut plain = BufReader::with_capacity(1 << 16, plain);
    // A decoder may hand out less at first than it has.
    let mut head = Vec::new();
    Read::by_ref(&mut plain).take(3).read_to_end(&mut head)?;
    let rest = |skipped: usize, head: &[u8]| io::Cursor::new(head[skipped..].to_vec());
    Ok(match head[..] {
        [0xef, 0xbb, 0xbf] => Box::new(plain),
        [0xff, 0xfe, ..] => Box::new(Utf16::new(rest(2, &head).chain(plain), u16::from_le_bytes)),
        [0xfe, 0xff, ..] => Box::new(Utf16::new(rest(2, &head).chain(plain), from_big)),
        _ => Box::new(rest(0, &head).chain(plain)),
    })
}

/// The unit whose high byte comes first.
fn from_big([high, low]: [u8; 2]) -> u16 {
    u16::from(high) << 8 | u16::from(low)
}

/// UTF-16 as UTF-8.
struct Utf16<R> {
    source: BufReader<R>,
    unit: fn([u8; 2]) -> u16,
    /// The first half of a character, whose second half comes.
    high: Option<u16>,
    /// Bytes of a character that there was no room for.
    left: Vec<u8>,
}

impl<R: Read> Utf16<R> {
    fn new(source: R, unit: fn([u8; 2]) -> u16) -> Self {
        Self { source: BufReader::new(source), unit, high: None, left: Vec::new() }
    }

    /// The next character; `None` at the end.
    fn character(&mut self) -> io::Result<Option<char>> {
        let broken = || io::Error::new(io::ErrorKind::InvalidData, "the text is not UTF-16");
        loop {
            let mut bytes = [0; 2];
            match self.source.read(&mut bytes[..1])? {
                0 if self.high.is_some() => return Err(broken()),
                0 => return Ok(None),
                _ => self.source.read_exact(&mut bytes[1..]).map_err(|_| broken())?,
            }
            let unit = (self.unit)(bytes);
            let units: &[u16] = match self.high.take() {
                Some(high) => &[high, unit],
                None if (0xd800..0xdc00).contains(&unit) => {
                    self.high = Some(unit);
                    continue;
                }
                None => &[unit],
            };
            let mut characters = char::decode_utf16(units.iter().copied());
            return match (characters.next(), characters.next()) {
                (Some(Ok(character)), None) => Ok(Some(character)),
                _ => Err(broken()),
            };
        }
    }
}

impl<R: Read> Read for Utf16<R> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let mut written = 0;
        while written < out.len() {
            if self.left.is_empty() {
                let Some(character) = self.character()? else { break };
                let mut bytes = [0; 4];
                self.left.extend_from_slice(character.encode_utf8(&mut bytes).as_bytes());
            }
            let count = self.left.len().min(out.len() - written);
            out[written..written + count].copy_from_slice(&self.left[..count]);
            self.left.drain(..count);
            written += count;
        }
        Ok(written)
    }
}
