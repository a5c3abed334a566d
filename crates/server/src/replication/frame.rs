//! Files of one folder as one stream of bytes.
//!
//! ```text
//!  head    "TELARCPY" · version u32 · zero u32
//!  file    1 u8 · bytes of the name u16 · bytes of the content u64 · name · content · CRC-32 u32
//!  end     0 u8 · number of files u32 · CRC-32 u32
//! ```
//!
//! Numbers are little-endian; a checksum is of everything in its frame before it. A stream without
//! its end is not a whole one. Names have one or two parts of letters, digits, `.`, `_` and `-`;
//! no part begins with a dot, so that nothing lands outside of the folder.
//!
//! Cost: one buffer of 64 KiB, whatever the sender says of sizes.

use std::fmt;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Write};
use std::path::Path;

use crc32fast::Hasher;

const MAGIC: &[u8; 8] = b"TELARCPY";
const VERSION: u32 = 1;
const FILE: u8 = 1;
const END: u8 = 0;
/// Longest name.
const NAME_BYTES_MAX: usize = 255;
/// Most files of a stream: an image has two, and one for each file of the log.
const FILES_MAX: u32 = 1 << 20;
const BUFFER_BYTES: usize = 64 << 10;

/// Reason why a stream cannot be read.
#[derive(Debug)]
pub enum FrameError {
    /// The bytes are not those of a whole stream.
    Broken(String),
    /// The stream could not be read to its end.
    Read(io::Error),
    /// A file could not be written.
    Write(io::Error),
}

impl fmt::Display for FrameError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Broken(what) => write!(f, "the stream of files is damaged: {what}"),
            Self::Read(error) => write!(f, "the stream of files ended early: {error}"),
            Self::Write(error) => write!(f, "a file of the stream cannot be written: {error}"),
        }
    }
}

impl std::error::Error for FrameError {}

/// Files and bytes of a stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Unpacked {
    /// Number of files.
    pub files: u32,
    /// Bytes of their contents.
    pub bytes: u64,
}

fn broken<T>(what: impl Into<String>) -> Result<T, FrameError> {
    Err(FrameError::Broken(what.into()))
}

/// True if a file of this name stays in its folder.
fn is_safe(name: &str) -> bool {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"._-".contains(&byte);
    let part = |part: &str| !part.is_empty() && !part.starts_with('.') && part.bytes().all(plain);
    name.len() <= NAME_BYTES_MAX && name.split('/').count() <= 2 && name.split('/').all(part)
}

/// Writes files one after the other.
#[derive(Debug)]
pub struct Packer<W> {
    out: W,
    files: u32,
}

impl<W: Write> Packer<W> {
    /// Begins a stream.
    ///
    /// # Errors
    /// If `out` takes no more.
    pub fn begin(mut out: W) -> io::Result<Self> {
        out.write_all(MAGIC)?;
        out.write_all(&VERSION.to_le_bytes())?;
        out.write_all(&[0; 4])?;
        Ok(Self { out, files: 0 })
    }

    /// Writes a file of `bytes` bytes that are read from `content`.
    ///
    /// # Errors
    /// If `out` takes no more, `content` is shorter, or no reader would take the name.
    pub fn file(&mut self, name: &str, bytes: u64, content: impl Read) -> io::Result<()> {
        if !is_safe(name) {
            return Err(io::Error::other(format!("'{name}' is no name for a file of a stream")));
        }
        let mut head = vec![FILE];
        let length = u16::try_from(name.len()).map_err(io::Error::other)?;
        head.extend_from_slice(&length.to_le_bytes());
        head.extend_from_slice(&bytes.to_le_bytes());
        head.extend_from_slice(name.as_bytes());
        let mut crc = Hasher::new();
        crc.update(&head);
        self.out.write_all(&head)?;
        let (mut content, mut left) = (content.take(bytes), bytes);
        let mut buffer = vec![0; BUFFER_BYTES];
        while left > 0 {
            match content.read(&mut buffer)? {
                0 => return Err(io::ErrorKind::UnexpectedEof.into()),
                read => {
                    crc.update(&buffer[..read]);
                    self.out.write_all(&buffer[..read])?;
                    left -= read as u64;
                }
            }
        }
        self.out.write_all(&crc.finalize().to_le_bytes())?;
        self.files += 1;
        Ok(())
    }

    /// Ends the stream.
    ///
    /// # Errors
    /// If `out` takes no more.
    pub fn end(mut self) -> io::Result<W> {
        let mut end = vec![END];
        end.extend_from_slice(&self.files.to_le_bytes());
        let crc = crc32fast::hash(&end);
        end.extend_from_slice(&crc.to_le_bytes());
        self.out.write_all(&end)?;
        self.out.flush()?;
        Ok(self.out)
    }
}

/// Reader of a stream, which keeps the checksum of the frame that it is in.
struct Source<R> {
    input: R,
    crc: Hasher,
}

impl<R: Read> Source<R> {
    fn bytes(&mut self, out: &mut [u8]) -> Result<(), FrameError> {
        self.input.read_exact(out).map_err(FrameError::Read)?;
        self.crc.update(out);
        Ok(())
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N], FrameError> {
        let mut out = [0; N];
        self.bytes(&mut out).map(|()| out)
    }

    /// Ends a frame: its checksum must be that of its bytes.
    fn check(&mut self, what: &str) -> Result<(), FrameError> {
        let found = std::mem::take(&mut self.crc).finalize();
        let mut stored = [0; 4];
        self.input.read_exact(&mut stored).map_err(FrameError::Read)?;
        match u32::from_le_bytes(stored) == found {
            true => Ok(()),
            false => broken(format!("the checksum of {what} does not fit")),
        }
    }

    /// Reads a file behind its kind, and writes it below `folder`; returns its length.
    fn file(&mut self, folder: &Path, buffer: &mut [u8]) -> Result<u64, FrameError> {
        let length = usize::from(u16::from_le_bytes(self.array()?));
        let bytes = u64::from_le_bytes(self.array()?);
        if length > NAME_BYTES_MAX {
            return broken(format!("a name of {length} bytes"));
        }
        let mut name = vec![0; length];
        self.bytes(&mut name)?;
        let name = String::from_utf8_lossy(&name).into_owned();
        if !is_safe(&name) {
            return broken(format!("'{}' is no name for a file", name.escape_debug()));
        }
        let mut file = create(folder, &name).map_err(FrameError::Write)?;
        let mut left = bytes;
        while left > 0 {
            let wanted = usize::try_from(left).unwrap_or(usize::MAX).min(buffer.len());
            self.bytes(&mut buffer[..wanted])?;
            file.write_all(&buffer[..wanted]).map_err(FrameError::Write)?;
            left -= wanted as u64;
        }
        self.check(&format!("the file '{name}'"))?;
        Ok(bytes)
    }
}

/// Makes a file that must not exist, and the folder that it is in.
fn create(folder: &Path, name: &str) -> io::Result<File> {
    if let Some((above, _)) = name.split_once('/') {
        match fs::create_dir(folder.join(above)) {
            Err(e) if e.kind() != io::ErrorKind::AlreadyExists => return Err(e),
            _ => {}
        }
    }
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(folder.join(name))
}

/// Reads a stream to its end and writes its files below `folder`, which is there and empty.
///
/// # Errors
/// If the stream is not a whole one, or a file cannot be written. Files that were written so far
/// stay.
pub fn unpack(input: impl Read, folder: &Path) -> Result<Unpacked, FrameError> {
    let mut source = Source { input, crc: Hasher::new() };
    if source.array()? != *MAGIC {
        return broken("it does not begin as one");
    }
    let version = u32::from_le_bytes(source.array()?);
    if version != VERSION {
        return broken(format!("its version is {version}, and {VERSION} is known"));
    }
    source.array::<4>()?;
    let (mut done, mut buffer) = (Unpacked::default(), vec![0; BUFFER_BYTES]);
    loop {
        source.crc = Hasher::new();
        match source.array::<1>()? {
            [FILE] if done.files == FILES_MAX => return broken("it has too many files"),
            [FILE] => {
                done.bytes = done.bytes.saturating_add(source.file(folder, &mut buffer)?);
                done.files += 1;
            }
            [END] => {
                let files = u32::from_le_bytes(source.array()?);
                source.check("the end")?;
                if files != done.files {
                    let found = done.files;
                    return broken(format!("{found} files came, and there are {files}"));
                }
                let mut more = [0];
                return match source.input.read(&mut more).map_err(FrameError::Read)? {
                    0 => Ok(done),
                    _ => broken("something follows its end"),
                };
            }
            [kind] => return broken(format!("a frame of the kind {kind}")),
        }
    }
}

#[cfg(test)]
#[path = "frame_tests.rs"]
mod tests;
