//! Storage in a directory of the file system.
//!
//! The directory is opened once and files are reached relative to it (`openat` and friends), so a
//! directory that is renamed meanwhile stays the one that was opened, and syncing it needs no path.
//!
//! Appends go to an offset the handle keeps (`pwrite`), not to the system's idea of the end: after
//! a failed append the handle still knows where the last good byte is.
//!
//! Cost: each call is one system call; `sync_data` is `fdatasync`, which also writes the new
//! length.

use std::fs::File;
use std::hash::{BuildHasher, RandomState};
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, Dir, FileType, Mode, OFlags};

use super::folder::{self, FILE_MODE};
use super::{Operation, Storage, StorageError, StorageFile};

/// A directory of the file system.
#[derive(Debug)]
pub struct FileStorage {
    directory: OwnedFd,
    path: PathBuf,
}

impl FileStorage {
    /// Returns the storage in the directory `path`, which is created if it does not exist.
    ///
    /// # Errors
    /// What the system reports.
    pub fn open(path: impl Into<PathBuf>) -> Result<Self, StorageError> {
        let path = path.into();
        match folder::make(&path) {
            Ok(()) => Self::existing(path),
            Err(source) => Err(StorageError::new(Operation::Open, path, 0, source)),
        }
    }

    /// Returns the storage in the directory `path`, which exists.
    ///
    /// # Errors
    /// What the system reports.
    pub fn existing(path: impl Into<PathBuf>) -> Result<Self, StorageError> {
        let path = path.into();
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        match rustix::fs::open(&path, flags, Mode::empty()) {
            Ok(directory) => Ok(Self { directory, path }),
            Err(error) => Err(StorageError::new(Operation::Open, path, 0, error.into())),
        }
    }

    /// Opens the file `name`, for reading only.
    pub(super) fn open_to_read(&self, name: &str) -> Result<Box<dyn StorageFile>, StorageError> {
        self.open_file(Operation::Open, name, OFlags::RDONLY)
    }

    /// Returns the directory's path.
    pub fn path(&self) -> &Path {
        &self.path
    }

    fn error(
        &self,
        operation: Operation,
        name: &str,
        source: impl Into<io::Error>,
    ) -> StorageError {
        StorageError::new(operation, self.path.join(name), 0, source.into())
    }

    fn open_file(
        &self,
        operation: Operation,
        name: &str,
        flags: OFlags,
    ) -> Result<Box<dyn StorageFile>, StorageError> {
        let open = || -> io::Result<DiskFile> {
            let flags = flags | OFlags::CLOEXEC;
            let fd = rustix::fs::openat(&self.directory, name, flags, Mode::from(FILE_MODE))?;
            let file = File::from(fd);
            let len = file.metadata()?.len();
            Ok(DiskFile { file, path: self.path.join(name), len })
        };
        match open() {
            Ok(file) => Ok(Box::new(file)),
            Err(source) => Err(self.error(operation, name, source)),
        }
    }

    fn list_files(&self) -> io::Result<Vec<String>> {
        let mut names = Vec::new();
        for entry in Dir::read_from(&self.directory)? {
            let entry = entry?;
            // Some file systems do not report the type; a directory is no name we ever look for.
            let is_file = matches!(entry.file_type(), FileType::RegularFile | FileType::Unknown);
            if let Ok(name) = entry.file_name().to_str()
                && is_file
            {
                names.push(name.to_owned());
            }
        }
        names.sort_unstable();
        Ok(names)
    }
}

impl Storage for FileStorage {
    fn create(&self, name: &str) -> Result<Box<dyn StorageFile>, StorageError> {
        self.open_file(Operation::Create, name, OFlags::RDWR | OFlags::CREATE | OFlags::EXCL)
    }

    fn open(&self, name: &str) -> Result<Box<dyn StorageFile>, StorageError> {
        self.open_file(Operation::Open, name, OFlags::RDWR)
    }

    fn rename(&self, from: &str, to: &str) -> Result<(), StorageError> {
        rustix::fs::renameat(&self.directory, from, &self.directory, to)
            .map_err(|error| self.error(Operation::Rename, from, error))
    }

    fn remove(&self, name: &str) -> Result<(), StorageError> {
        rustix::fs::unlinkat(&self.directory, name, AtFlags::empty())
            .map_err(|error| self.error(Operation::Remove, name, error))
    }

    fn list(&self) -> Result<Vec<String>, StorageError> {
        self.list_files().map_err(|error| StorageError::new(Operation::List, &self.path, 0, error))
    }

    fn sync_dir(&self) -> Result<(), StorageError> {
        rustix::fs::fsync(&self.directory)
            .map_err(|error| StorageError::new(Operation::SyncDir, &self.path, 0, error.into()))
    }

    fn path_of(&self, name: &str) -> PathBuf {
        self.path.join(name)
    }

    fn salt(&self) -> u32 {
        // std seeds its hash tables from the system's randomness; 32 of its bits are enough here.
        let hash = RandomState::new().hash_one(&self.path);
        u32::try_from(hash >> 32).expect("INVARIANT: the upper half of a u64 has 32 bits")
    }
}

#[derive(Debug)]
struct DiskFile {
    file: File,
    path: PathBuf,
    len: u64,
}

impl DiskFile {
    fn error(
        &self,
        operation: Operation,
        offset: u64,
        source: impl Into<io::Error>,
    ) -> StorageError {
        StorageError::new(operation, &self.path, offset, source.into())
    }
}

impl StorageFile for DiskFile {
    fn len(&self) -> u64 {
        self.len
    }

    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> Result<(), StorageError> {
        self.file
            .read_exact_at(buffer, offset)
            .map_err(|error| self.error(Operation::Read, offset, error))
    }

    fn append(&mut self, bytes: &[u8]) -> Result<(), StorageError> {
        self.file
            .write_all_at(bytes, self.len)
            .map_err(|error| self.error(Operation::Append, self.len, error))?;
        self.len += bytes.len() as u64;
        Ok(())
    }

    fn overwrite(&mut self, offset: u64, bytes: &[u8]) -> Result<(), StorageError> {
        debug_assert!(offset + bytes.len() as u64 <= self.len, "overwrite within the file");
        self.file
            .write_all_at(bytes, offset)
            .map_err(|error| self.error(Operation::Overwrite, offset, error))
    }

    fn sync_data(&mut self) -> Result<(), StorageError> {
        rustix::fs::fdatasync(&self.file)
            .map_err(|error| self.error(Operation::Sync, self.len, error))
    }

    fn truncate(&mut self, len: u64) -> Result<(), StorageError> {
        self.file.set_len(len).map_err(|error| self.error(Operation::Truncate, len, error))?;
        self.len = len;
        Ok(())
    }

    fn is_named(&self) -> bool {
        // What cannot be told is no reason to refuse writes.
        self.file.metadata().map_or(true, |found| found.nlink() > 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::io::read_all;

    #[test]
    fn file_storage_keeps_what_was_written() {
        let directory = tempfile::tempdir().unwrap();
        let storage = FileStorage::open(directory.path().join("a/b")).unwrap();
        let mut file = storage.create("one").unwrap();
        file.append(b"hello ").unwrap();
        file.append(b"world").unwrap();
        file.overwrite(0, b"J").unwrap();
        file.sync_data().unwrap();
        file.truncate(8).unwrap();
        storage.rename("one", "two").unwrap();
        storage.sync_dir().unwrap();
        assert_eq!(storage.list().unwrap(), ["two"]);
        let file = storage.open("two").unwrap();
        assert_eq!((file.len(), file.is_empty()), (8, false));
        assert_eq!(read_all(&*file).unwrap(), b"Jello wo");
        storage.remove("two").unwrap();
        assert!(storage.list().unwrap().is_empty());
    }

    #[test]
    fn file_storage_error_names_path_and_offset() {
        let directory = tempfile::tempdir().unwrap();
        let storage = FileStorage::open(directory.path()).unwrap();
        let error = storage.open("missing").unwrap_err();
        assert_eq!(error.operation, Operation::Open);
        assert_eq!(error.path, directory.path().join("missing"));
        drop(storage.create("there").unwrap());
        assert_eq!(storage.create("there").unwrap_err().operation, Operation::Create);
        let file = storage.open("there").unwrap();
        let error = file.read_at(5, &mut [0; 1]).unwrap_err();
        assert_eq!((error.operation, error.offset), (Operation::Read, 5));
        assert!(error.to_string().contains("there at offset 5"), "{error}");
    }
}
