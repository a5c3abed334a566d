//! The values of a backup: those of the checkpoint store, key by key, as they were stored.
//!
//! ```text
//!  image    "TELARIMG" · version u32 · zero u32 · frames
//!  frame    key, 9 bytes · length u32 · that many bytes of value (checksum included)
//!           length 0xFFFF_FFFF: the key is gone since the backup before
//! ```
//!
//! The first frame is the meta value, where there has been a checkpoint at all. Each value carries
//! its checksum, the manifest that of the whole file.

use std::fs::File;
use std::io::{BufReader, Read, Write};
use std::path::Path;
use std::time::{Duration, Instant};

use crc32fast::Hasher;

use crate::error::Error;
use crate::format::KEY_BYTES;
use crate::io::folder;
use crate::maintenance::manifest::FileEntry;
use crate::store::changes::Key;

const HEAD: &[u8; 16] = b"TELARIMG\x01\0\0\0\0\0\0\0";
const GONE: u32 = u32::MAX;
/// Bytes after which a file being written is synced: a sync of everything at the end would hold up
/// the database's own for longer.
const SYNC_BYTES: u64 = 32 << 20;

/// Limits how fast bytes are written.
#[derive(Debug)]
pub(crate) struct Pace {
    begun: Instant,
    bytes: u64,
    bytes_per_s_max: u64,
}

impl Pace {
    /// At most so many bytes per second; 0 for no limit.
    pub(crate) fn new(bytes_per_s_max: u64) -> Self {
        Self { begun: Instant::now(), bytes: 0, bytes_per_s_max }
    }

    fn add(&mut self, bytes: u64) {
        self.bytes += bytes;
        if self.bytes_per_s_max > 0 {
            let due = Duration::from_secs_f64(self.bytes as f64 / self.bytes_per_s_max as f64);
            std::thread::sleep(due.saturating_sub(self.begun.elapsed()));
        }
    }

    /// Bytes written so far.
    pub(crate) fn bytes(&self) -> u64 {
        self.bytes
    }
}

/// A file of a backup that is being written.
#[derive(Debug)]
pub(crate) struct Sink<'p> {
    name: String,
    path: std::path::PathBuf,
    file: File,
    crc: Hasher,
    bytes: u64,
    unsynced: u64,
    pace: &'p mut Pace,
}

impl<'p> Sink<'p> {
    /// Makes the file `name` below `directory`; it must not exist.
    pub(crate) fn create(directory: &Path, name: &str, pace: &'p mut Pace) -> Result<Self, Error> {
        let path = directory.join(name);
        let create = || folder::private().create_new(true).open(&path);
        let file = create().map_err(Error::file("cannot create", &path))?;
        let crc = Hasher::new();
        Ok(Self { name: name.into(), path, file, crc, bytes: 0, unsynced: 0, pace })
    }

    /// Appends bytes.
    pub(crate) fn write(&mut self, bytes: &[u8]) -> Result<(), Error> {
        crate::failpoint!("backup::write", |e| Err(Error::file("cannot write", "failpoint")(e)));
        self.file.write_all(bytes).map_err(Error::file("cannot write", &self.path))?;
        self.crc.update(bytes);
        self.bytes += bytes.len() as u64;
        self.unsynced += bytes.len() as u64;
        if self.unsynced >= SYNC_BYTES {
            self.sync()?;
        }
        self.pace.add(bytes.len() as u64);
        Ok(())
    }

    fn sync(&mut self) -> Result<(), Error> {
        self.unsynced = 0;
        self.file.sync_data().map_err(Error::file("cannot sync", &self.path))
    }

    /// Makes it durable; returns its line of the manifest.
    pub(crate) fn finish(mut self) -> Result<FileEntry, Error> {
        self.sync()?;
        crate::failpoint!("backup::file_synced");
        Ok(FileEntry { name: self.name, bytes: self.bytes, crc: self.crc.finalize() })
    }

    /// The directory it is in.
    pub(crate) fn directory(&self) -> &Path {
        self.path.parent().unwrap_or(&self.path)
    }

    /// Writes the head of an image.
    pub(crate) fn image_head(&mut self) -> Result<(), Error> {
        self.write(HEAD)
    }

    /// Writes a frame of an image; `None` says that the key is gone.
    pub(crate) fn frame(&mut self, key: &[u8], value: Option<&[u8]>) -> Result<(), Error> {
        let len = value.map_or(GONE, |v| v.len() as u32);
        let mut head = Vec::with_capacity(KEY_BYTES + 4);
        head.extend_from_slice(key);
        head.extend_from_slice(&len.to_le_bytes());
        self.write(&head)?;
        value.map_or(Ok(()), |value| self.write(value))
    }
}

/// A frame of an image.
#[derive(Debug)]
pub(crate) struct Frame {
    /// Where in the file it begins.
    pub(crate) offset: u64,
    pub(crate) key: Key,
    /// `None` if the key is gone.
    pub(crate) value: Option<Vec<u8>>,
}

/// Why an image could not be read on.
#[derive(Debug)]
pub(crate) enum ImageFault {
    /// The system refused to read.
    Io(std::io::Error),
    /// The bytes are wrong from this offset on.
    Damaged { offset: u64, what: String },
}

/// Gives every frame of an image to `visit`; returns length and CRC-32 of the whole file.
pub(crate) fn read_image<E: From<ImageFault>>(
    path: &Path,
    mut visit: impl FnMut(Frame) -> Result<(), E>,
) -> Result<(u64, u32), E> {
    let io = |e| E::from(ImageFault::Io(e));
    let file = File::open(path).map_err(io)?;
    let len = file.metadata().map_err(io)?.len();
    let mut reader = BufReader::with_capacity(1 << 20, file);
    let (mut offset, mut crc) = (0u64, Hasher::new());
    let mut take = |offset: &mut u64, bytes: &mut [u8]| -> Result<(), E> {
        let wanted = bytes.len() as u64;
        if wanted > len - *offset {
            let what = format!("{wanted} bytes are to follow, the file has {}", len - *offset);
            return Err(ImageFault::Damaged { offset: *offset, what }.into());
        }
        reader.read_exact(bytes).map_err(io)?;
        crc.update(bytes);
        *offset += wanted;
        Ok(())
    };
    let mut head = [0; HEAD.len()];
    take(&mut offset, &mut head)?;
    if head != *HEAD {
        let what = "it does not begin as an image does".into();
        return Err(ImageFault::Damaged { offset: 0, what }.into());
    }
    while offset < len {
        let at = offset;
        let (mut key, mut size) = ([0; KEY_BYTES], [0; 4]);
        take(&mut offset, &mut key)?;
        take(&mut offset, &mut size)?;
        let size = u32::from_le_bytes(size);
        let value = match size {
            GONE => None,
            size if u64::from(size) > len - offset => {
                let what = format!("a value of {size} bytes does not fit into the file");
                return Err(ImageFault::Damaged { offset: at, what }.into());
            }
            size => {
                let mut value = vec![0; size as usize];
                take(&mut offset, &mut value)?;
                Some(value)
            }
        };
        visit(Frame { offset: at, key, value })?;
    }
    Ok((len, crc.finalize()))
}
