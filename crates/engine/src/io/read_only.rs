//! A log that is read and stays as it is: what an opening would change is not.
//!
//! Recovery cuts torn ends, writes the last group once more and begins a file where there is none
//! to go on with (wal/recovery.rs). Here all of that succeeds and changes nothing, which nobody can
//! tell who only reads; an append fails.

use std::io;
use std::path::{Path, PathBuf};

use super::{FileStorage, Operation, Storage, StorageError, StorageFile};

/// A directory that is not written to.
#[derive(Debug)]
pub struct ReadOnlyStorage(FileStorage);

impl ReadOnlyStorage {
    /// Returns the storage in the directory `path`, which must exist.
    ///
    /// # Errors
    /// What the system reports.
    pub fn open(path: &Path) -> Result<Self, StorageError> {
        FileStorage::existing(path).map(Self)
    }
}

impl Storage for ReadOnlyStorage {
    fn create(&self, name: &str) -> Result<Box<dyn StorageFile>, StorageError> {
        Ok(Box::new(Unchanged { file: None, path: self.path_of(name), len: 0 }))
    }

    fn open(&self, name: &str) -> Result<Box<dyn StorageFile>, StorageError> {
        let file = self.0.open_to_read(name)?;
        let len = file.len();
        Ok(Box::new(Unchanged { file: Some(file), path: self.path_of(name), len }))
    }

    fn rename(&self, from: &str, _: &str) -> Result<(), StorageError> {
        Err(refused(Operation::Rename, self.path_of(from)))
    }

    fn remove(&self, _: &str) -> Result<(), StorageError> {
        Ok(())
    }

    fn list(&self) -> Result<Vec<String>, StorageError> {
        self.0.list()
    }

    fn sync_dir(&self) -> Result<(), StorageError> {
        Ok(())
    }

    fn path_of(&self, name: &str) -> PathBuf {
        self.0.path_of(name)
    }

    fn salt(&self) -> u32 {
        self.0.salt()
    }
}

fn refused(operation: Operation, path: PathBuf) -> StorageError {
    StorageError::new(operation, path, 0, io::ErrorKind::ReadOnlyFilesystem.into())
}

/// A file as it is, or one that would have been made.
#[derive(Debug)]
struct Unchanged {
    file: Option<Box<dyn StorageFile>>,
    path: PathBuf,
    /// As if it had been written to.
    len: u64,
}

impl StorageFile for Unchanged {
    fn len(&self) -> u64 {
        self.len
    }

    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> Result<(), StorageError> {
        match &self.file {
            Some(file) => file.read_at(offset, buffer),
            None => Err(refused(Operation::Read, self.path.clone())),
        }
    }

    fn append(&mut self, bytes: &[u8]) -> Result<(), StorageError> {
        // The header of a file that is not made.
        if self.file.is_none() && self.len == 0 {
            self.len = bytes.len() as u64;
            return Ok(());
        }
        Err(refused(Operation::Append, self.path.clone()))
    }

    fn overwrite(&mut self, _: u64, _: &[u8]) -> Result<(), StorageError> {
        Ok(())
    }

    fn sync_data(&mut self) -> Result<(), StorageError> {
        Ok(())
    }

    fn truncate(&mut self, len: u64) -> Result<(), StorageError> {
        self.len = len;
        Ok(())
    }
}
