//! A file's text: read whole, decompressed where its first bytes say so.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::path::Path;

use super::error::ImportError;

/// First bytes of a gzip member (RFC 1952, section 2.3.1).
const GZIP_MAGIC: [u8; 2] = [0x1F, 0x8B];
/// First bytes of a zstd frame (RFC 8878, section 3.1.1).
const ZSTD_MAGIC: [u8; 4] = [0x28, 0xB5, 0x2F, 0xFD];
/// First bytes of files that are no text, and what to say of them.
const NO_TEXT: [(&[u8], &str); 6] = [
    (
        b"PAR1",
        "this is a Parquet file, and edges are read from text: --nodes LABEL=FILE and \
         --relationships TYPE=FILE read it (docs/import.md)",
    ),
    (
        b"ARROW1",
        "this is an Arrow file, and edges are read from text: --nodes LABEL=FILE and \
         --relationships TYPE=FILE read it (docs/import.md)",
    ),
    (b"PK\x03\x04", "this is an archive (zip, xlsx, ods), and text is read here: write it as CSV"),
    (b"SQLite format 3\0", "this is an SQLite database, and text is read here: write it as CSV"),
    (b"\xFF\xFE", UTF_16),
    (b"\xFE\xFF", UTF_16),
];
const UTF_16: &str = "this text is UTF-16, and UTF-8 is read here: iconv -f UTF-16 -t UTF-8 makes \
                      it that";
/// Read buffer. One request per buffer keeps system calls rare without a visible cost in memory.
const BUFFER_BYTES: usize = 256 << 10;

/// The text of the file at `path`.
pub(super) fn read_file(path: &Path, bytes_max: u64) -> Result<Vec<u8>, ImportError> {
    let file = path.display().to_string();
    match File::open(path) {
        Ok(source) => read(&file, source, bytes_max),
        Err(source) => Err(ImportError::Io { file, source }),
    }
}

/// The text that `source` yields, at most `bytes_max` bytes of it.
pub(super) fn read(file: &str, source: impl Read, bytes_max: u64) -> Result<Vec<u8>, ImportError> {
    let text = decompressed(source)
        .and_then(|source| {
            let mut text = Vec::new();
            source.take(bytes_max.saturating_add(1)).read_to_end(&mut text)?;
            Ok(text)
        })
        .map_err(|source| ImportError::Io { file: file.to_owned(), source })?;
    if text.len() as u64 > bytes_max {
        return Err(ImportError::TooLarge { file: file.to_owned(), bytes_max });
    }
    Ok(text)
}

pub(super) fn decompressed<'a>(source: impl Read + 'a) -> io::Result<Box<dyn Read + 'a>> {
    let mut source = BufReader::with_capacity(BUFFER_BYTES, source);
    // A file's first read fills the buffer or reaches its end, so the magic bytes are all there.
    let head = source.fill_buf()?;
    let none = NO_TEXT.iter().find(|(magic, _)| head.starts_with(magic));
    // Without a mark at the beginning, every other byte of a text in a western language is 0.
    let utf_16 = matches!(head, [0, 1..=255, 0, 1..=255, ..] | [1..=255, 0, 1..=255, 0, ..]);
    if let Some(what) = none.map(|(_, what)| *what).or(utf_16.then_some(UTF_16)) {
        return Err(io::Error::new(io::ErrorKind::InvalidData, what));
    }
    Ok(if head.starts_with(&GZIP_MAGIC) {
        Box::new(flate2::bufread::MultiGzDecoder::new(source))
    } else if head.starts_with(&ZSTD_MAGIC) {
        Box::new(zstd::Decoder::with_buffer(source)?)
    } else {
        Box::new(source)
    })
}
