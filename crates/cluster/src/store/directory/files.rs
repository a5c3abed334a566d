//! Files that get their name when they are whole, and folders.
//!
//! Layout of a small file (little-endian; offsets in bytes):
//!
//! ```text
//!  0        4         8         16
//!  ├────────┼─────────┼─────────┼──────┤
//!  │ crc    │ format  │ number  │ body │
//!  │ u32    │ u32     │ u64     │      │
//!  └────────┴─────────┴─────────┴──────┘
//!  crc: CRC-32 over everything after it.
//!  number: of a slot, the timestamp after its last; of a part or value, 0.
//! ```

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use crate::store::StoreError;

const FORMAT: u32 = 1;
const FORMAT_OFFSET: usize = 4;
const NUMBER_OFFSET: usize = 8;
const BODY_OFFSET: usize = 16;
/// Access rights of folders and files: their owner's only.
const FOLDER_MODE: u32 = 0o700;
const FILE_MODE: u32 = 0o600;

pub(super) fn io_error(operation: &'static str, path: &Path, source: io::Error) -> StoreError {
    StoreError::io(operation, path, source)
}

/// A folder of the store.
#[derive(Debug)]
pub(super) struct Folder<'a>(&'a Path);

impl<'a> Folder<'a> {
    pub(super) fn at(path: &'a Path) -> Self {
        Self(path)
    }

    /// Makes the folder with all that is missing above it, up to folder `top`, which is there. All
    /// names are durable then, those too that another process gave and may not have synced.
    pub(super) fn make(path: &'a Path, top: &Path) -> Result<Self, StoreError> {
        if path == top {
            return Ok(Self(path));
        }
        let above = parent(path);
        let above = Folder::make(above, top)?;
        match DirBuilder::new().mode(FOLDER_MODE).create(path) {
            Err(cause) if cause.kind() == io::ErrorKind::AlreadyExists && path.is_dir() => {}
            made => made.map_err(|cause| io_error("create folder", path, cause))?,
        }
        above.sync()?;
        Ok(Self(path))
    }

    /// Makes every name that was given or taken so far durable. Cheap if there is none.
    pub(super) fn sync(&self) -> Result<(), StoreError> {
        let synced = File::open(self.0).and_then(|folder| folder.sync_all());
        synced.map_err(|cause| io_error("sync folder", self.0, cause))
    }

    /// The names in the folder, sorted; none if it is not there.
    pub(super) fn names(&self) -> Result<Vec<String>, StoreError> {
        let failed = |cause| io_error("list", self.0, cause);
        let entries = match fs::read_dir(self.0) {
            Err(cause) if cause.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            entries => entries.map_err(failed)?,
        };
        let mut names = Vec::new();
        for entry in entries {
            // What is no text is not of this store.
            if let Ok(name) = entry.map_err(failed)?.file_name().into_string() {
                names.push(name);
            }
        }
        names.sort_unstable();
        Ok(names)
    }
}

/// The folder that has the name of `path`.
pub(super) fn parent(path: &Path) -> &Path {
    match path.parent() {
        Some(above) if above.as_os_str().is_empty() => Path::new("."),
        Some(above) => above,
        None => path,
    }
}

/// A file that is written and synced, and has no name of its own yet.
#[derive(Debug)]
pub(super) struct NewFile {
    path: PathBuf,
}

/// Outcome of a link.
#[derive(Debug)]
pub(super) enum Link {
    Made,
    /// The name is taken.
    Taken,
    /// Nobody knows: the system failed in it.
    Unknown(StoreError),
}

impl NewFile {
    /// Names the file `path`, if the name is free.
    ///
    /// # Errors
    /// What the system reports if the file has certainly no name.
    pub(super) fn link(&self, path: &Path) -> Result<Link, StoreError> {
        match fs::hard_link(&self.path, path) {
            Ok(()) => Ok(Link::Made),
            Err(cause) => match cause.kind() {
                io::ErrorKind::AlreadyExists => Ok(Link::Taken),
                io::ErrorKind::NotFound
                | io::ErrorKind::PermissionDenied
                | io::ErrorKind::StorageFull
                | io::ErrorKind::QuotaExceeded
                | io::ErrorKind::ReadOnlyFilesystem
                | io::ErrorKind::TooManyLinks => Err(io_error("link", path, cause)),
                _ => Ok(Link::Unknown(io_error("link", path, cause))),
            },
        }
    }

    /// Names the file `path`, in place of what has that name.
    pub(super) fn rename(self, path: &Path) -> Result<(), StoreError> {
        fs::rename(&self.path, path).map_err(|cause| io_error("rename", path, cause))
    }
}

impl Drop for NewFile {
    fn drop(&mut self) {
        // It is gone after `rename`; what stays is removed when the store is opened much later.
        let _ = fs::remove_file(&self.path);
    }
}

/// Creates an empty file in folder `new`.
pub(super) fn create_new(new: &Path) -> Result<(NewFile, File), StoreError> {
    let number = getrandom::u64().map_err(|cause| StoreError::Unavailable {
        store: "the system's source of randomness".into(),
        why: cause.to_string(),
    })?;
    let path = new.join(format!("{}-{number:016x}", std::process::id()));
    let file = OpenOptions::new().write(true).create_new(true).mode(FILE_MODE).open(&path);
    let file = file.map_err(|cause| io_error("create", &path, cause))?;
    Ok((NewFile { path }, file))
}

/// Writes and syncs a file in folder `new`.
pub(super) fn write_new(new: &Path, pieces: &[&[u8]]) -> Result<NewFile, StoreError> {
    let (named, mut file) = create_new(new)?;
    let mut write = || {
        for piece in pieces {
            file.write_all(piece)?;
        }
        file.sync_all()
    };
    write().map_err(|cause| io_error("write", &named.path, cause))?;
    Ok(named)
}

/// Writes and syncs a small file in folder `new`.
pub(super) fn write_small(new: &Path, number: u64, body: &[u8]) -> Result<NewFile, StoreError> {
    let mut header = [0; BODY_OFFSET];
    header[FORMAT_OFFSET..NUMBER_OFFSET].copy_from_slice(&FORMAT.to_le_bytes());
    header[NUMBER_OFFSET..].copy_from_slice(&number.to_le_bytes());
    let crc = crc(&header[FORMAT_OFFSET..], body);
    header[..FORMAT_OFFSET].copy_from_slice(&crc.to_le_bytes());
    write_new(new, &[&header, body])
}

/// The number and body of a small file; `None` if it is not there.
pub(super) fn read_small(path: &Path) -> Result<Option<(u64, Vec<u8>)>, StoreError> {
    let mut bytes = Vec::new();
    match File::open(path).and_then(|mut file| file.read_to_end(&mut bytes)) {
        Err(cause) if cause.kind() == io::ErrorKind::NotFound => return Ok(None),
        read => read.map_err(|cause| io_error("read", path, cause))?,
    };
    let damaged = |why: String| StoreError::damaged(path.display().to_string(), why);
    let Some((header, body)) = bytes.split_first_chunk::<BODY_OFFSET>() else {
        return Err(damaged(format!("{} bytes are too few", bytes.len())));
    };
    let [c0, c1, c2, c3, f0, f1, f2, f3, number @ ..] = *header;
    if crc(&header[FORMAT_OFFSET..], body) != u32::from_le_bytes([c0, c1, c2, c3]) {
        return Err(damaged("its checksum is wrong".into()));
    }
    let format = u32::from_le_bytes([f0, f1, f2, f3]);
    if format != FORMAT {
        return Err(damaged(format!("it has format {format}, and this program knows {FORMAT}")));
    }
    let number = u64::from_le_bytes(number);
    bytes.drain(..BODY_OFFSET);
    Ok(Some((number, bytes)))
}

/// Length of a small file's body; 0 if it is not there.
pub(super) fn small_bytes(path: &Path) -> Result<u64, StoreError> {
    match fs::metadata(path) {
        Err(cause) if cause.kind() == io::ErrorKind::NotFound => Ok(0),
        Err(cause) => Err(io_error("examine", path, cause)),
        Ok(file) => Ok(file.len().saturating_sub(BODY_OFFSET as u64)),
    }
}

/// Removes a file; one that is gone is no error.
pub(super) fn remove(path: &Path) -> Result<(), StoreError> {
    match fs::remove_file(path) {
        Err(cause) if cause.kind() == io::ErrorKind::NotFound => Ok(()),
        removed => removed.map_err(|cause| io_error("remove", path, cause)),
    }
}

fn crc(header: &[u8], body: &[u8]) -> u32 {
    let mut hasher = crc32fast::Hasher::new();
    hasher.update(header);
    hasher.update(body);
    hasher.finalize()
}
