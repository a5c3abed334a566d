//! Temporary files for rows that do not fit into memory.

use std::fmt;
use std::fs::{DirBuilder, File};
use std::io;
use std::os::unix::fs::{DirBuilderExt, FileExt};
use std::path::PathBuf;

/// Makes temporary files for rows that do not fit into memory.
pub trait Scratch: fmt::Debug + Send + Sync {
    /// An empty file that is gone when it is dropped, and after a crash.
    ///
    /// # Errors
    /// What the system reports.
    fn create(&self) -> io::Result<Box<dyn ScratchFile>>;

    /// Where the files are, for messages.
    fn place(&self) -> String;
}

/// A temporary file.
pub trait ScratchFile: fmt::Debug + Send + Sync {
    /// Writes all bytes at this place.
    ///
    /// # Errors
    /// What the system reports; a part may have been written.
    fn write_at(&mut self, at: u64, bytes: &[u8]) -> io::Result<()>;

    /// Fills `bytes` from this place.
    ///
    /// # Errors
    /// What the system reports.
    fn read_at(&self, at: u64, bytes: &mut [u8]) -> io::Result<()>;
}

/// Temporary files in a folder. They have no name, where the file system can do without (all of
/// Linux's own can), and lose it at once elsewhere: a crash leaves none behind.
#[derive(Debug, Clone)]
pub struct ScratchFolder(PathBuf);

impl ScratchFolder {
    /// In this folder, which is made when the first file is.
    #[must_use]
    pub fn new(folder: impl Into<PathBuf>) -> Self {
        Self(folder.into())
    }
}

impl Scratch for ScratchFolder {
    fn create(&self) -> io::Result<Box<dyn ScratchFile>> {
        // Rows are data: a folder that is missing is made for its owner only, as files are.
        DirBuilder::new().recursive(true).mode(0o700).create(&self.0)?;
        Ok(Box::new(tempfile::tempfile_in(&self.0)?))
    }

    fn place(&self) -> String {
        self.0.display().to_string()
    }
}

impl ScratchFile for File {
    fn write_at(&mut self, at: u64, bytes: &[u8]) -> io::Result<()> {
        self.write_all_at(bytes, at)
    }

    fn read_at(&self, at: u64, bytes: &mut [u8]) -> io::Result<()> {
        self.read_exact_at(bytes, at)
    }
}
