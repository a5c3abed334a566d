//! Files as the engine sees them: one directory of flat, append-mostly files.
//!
//! ```text
//!            Storage ── create, open ──▶ LogFile: append, read_at, sync_data, truncate
//!               │  rename, remove, list, sync_dir
//!    ┌──────────┼──────────────┬────────────────────────┐
//!  FileStorage  MemoryStorage  FaultStorage             ReadOnlyStorage
//!  a directory  tests: knows   tests: fails the n-th    a directory that
//!  on disk      what is synced operation of another     stays as it is
//! ```
//!
//! What is promised, by every implementation:
//!
//! - Bytes appended or overwritten are durable once `sync_data` returned `Ok`, and not before.
//! - A file created, renamed or removed is so for good once `sync_dir` returned `Ok`, and not
//!   before.
//! - After a failed `sync_data` nothing is known about the bytes since the last good one; syncing
//!   again proves nothing (the kernel may have dropped them), so callers give the file up.
//! - A failed `append` may have written a part; the handle's length counts what it knows of.
//!
//! Every error says what was attempted, on which path and at which offset.
//!
//! Concurrency: a file has one writer at a time, which the callers see to; readers may be many.

mod fault;
mod file;
pub mod folder;
mod memory;
mod read_only;

pub use fault::{Fault, FaultPlan, FaultStorage};
pub use file::FileStorage;
pub use memory::MemoryStorage;
pub use read_only::ReadOnlyStorage;

use std::fmt;
use std::io;
use std::path::PathBuf;

/// A directory of files.
pub trait Storage: Send + Sync + fmt::Debug {
    /// Creates the empty file `name` and opens it; it must not exist.
    ///
    /// # Errors
    /// What the system reports, with the path.
    fn create(&self, name: &str) -> Result<Box<dyn StorageFile>, StorageError>;

    /// Opens the existing file `name` for reading and appending.
    ///
    /// # Errors
    /// What the system reports, with the path.
    fn open(&self, name: &str) -> Result<Box<dyn StorageFile>, StorageError>;

    /// Gives the file `from` the name `to`, replacing what bore it, in one step.
    ///
    /// # Errors
    /// What the system reports, with the path of `from`.
    fn rename(&self, from: &str, to: &str) -> Result<(), StorageError>;

    /// Removes the file `name`; open handles keep working.
    ///
    /// # Errors
    /// What the system reports, with the path.
    fn remove(&self, name: &str) -> Result<(), StorageError>;

    /// Returns the names of all files, sorted.
    ///
    /// # Errors
    /// What the system reports, with the directory's path.
    fn list(&self) -> Result<Vec<String>, StorageError>;

    /// Makes every creation, renaming and removal so far durable.
    ///
    /// # Errors
    /// What the system reports, with the directory's path.
    fn sync_dir(&self) -> Result<(), StorageError>;

    /// Returns the path of the file `name`, for messages.
    fn path_of(&self, name: &str) -> PathBuf;

    /// Returns a number that differs from call to call and directory to directory.
    ///
    /// Randomness comes from here so that a simulated storage can repeat a run exactly.
    fn salt(&self) -> u32;
}

/// An open file.
pub trait StorageFile: Send + Sync + fmt::Debug {
    /// Returns the file's length in bytes, as this handle knows it.
    fn len(&self) -> u64;

    /// Returns whether the file is empty.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Fills `buffer` from the bytes at `offset`.
    ///
    /// # Errors
    /// What the system reports; `UnexpectedEof` if the file ends before the buffer is full.
    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> Result<(), StorageError>;

    /// Writes `bytes` behind the last byte.
    ///
    /// # Errors
    /// What the system reports; a part of the bytes may have been written.
    fn append(&mut self, bytes: &[u8]) -> Result<(), StorageError>;

    /// Overwrites the bytes at `offset`, which must lie within the file.
    ///
    /// # Errors
    /// What the system reports; a part of the bytes may have been written.
    fn overwrite(&mut self, offset: u64, bytes: &[u8]) -> Result<(), StorageError>;

    /// Makes the file's bytes and its length durable.
    ///
    /// # Errors
    /// What the system reports. See the module about what is known afterwards.
    fn sync_data(&mut self) -> Result<(), StorageError>;

    /// Cuts the file to `len` bytes; durable with the next `sync_data`.
    ///
    /// # Errors
    /// What the system reports.
    fn truncate(&mut self, len: u64) -> Result<(), StorageError>;

    /// Whether the file has a name still: what is written to one that was removed is lost with the
    /// handle.
    fn is_named(&self) -> bool {
        true
    }
}

/// Reads the whole of `file`.
///
/// # Errors
/// As [`StorageFile::read_at`].
pub fn read_all(file: &dyn StorageFile) -> Result<Vec<u8>, StorageError> {
    let len = usize::try_from(file.len()).expect("INVARIANT: log files fit in memory");
    let mut bytes = vec![0; len];
    file.read_at(0, &mut bytes)?;
    Ok(bytes)
}

/// What was attempted on a file or directory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Operation {
    /// Creating a file.
    Create,
    /// Opening a file or the directory.
    Open,
    /// Reading bytes.
    Read,
    /// Appending bytes.
    Append,
    /// Overwriting bytes.
    Overwrite,
    /// Syncing a file's bytes.
    Sync,
    /// Cutting a file.
    Truncate,
    /// Renaming a file.
    Rename,
    /// Removing a file.
    Remove,
    /// Listing the directory.
    List,
    /// Syncing the directory.
    SyncDir,
}

impl fmt::Display for Operation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Create => "create",
            Self::Open => "open",
            Self::Read => "read",
            Self::Append => "append to",
            Self::Overwrite => "overwrite",
            Self::Sync => "sync",
            Self::Truncate => "truncate",
            Self::Rename => "rename",
            Self::Remove => "remove",
            Self::List => "list",
            Self::SyncDir => "sync directory",
        })
    }
}

/// A failed file operation.
#[derive(Debug, thiserror::Error)]
#[error("cannot {operation} {} at offset {offset}: {source}", path.display())]
pub struct StorageError {
    /// What was attempted.
    pub operation: Operation,
    /// On which file or directory.
    pub path: PathBuf,
    /// At which byte; 0 where the operation has none.
    pub offset: u64,
    /// What the system said.
    pub source: io::Error,
}

impl StorageError {
    /// Returns the error of `operation` on `path` at `offset`.
    pub fn new(
        operation: Operation,
        path: impl Into<PathBuf>,
        offset: u64,
        source: io::Error,
    ) -> Self {
        Self { operation, path: path.into(), offset, source }
    }
}
