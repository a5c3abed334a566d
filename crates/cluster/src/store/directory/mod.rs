//! A store in a folder: one machine, any number of processes.
//!
//! ```text
//!  PATH/telar-store                    format mark
//!       log/STREAM/slots/FIRST         a slot, named by its first timestamp (20 digits)
//!                  parts/PART          a part
//!                  trimmed/MARK        empty; the largest is the trim mark
//!       keys/KEY/VERSION               a value; the largest is the current one
//!       images/NAME                    an image, as it came
//!       new/RANDOM                     files that have no name yet
//! ```
//!
//! Names have `%` in place of `/`. A file is written in `new`, synced, and then named in one step:
//! by `link(2)`, which fails where the name is taken, for what is written once; by `rename(2)` for
//! what may be replaced. So no name ever leads to half a file, wherever a process is killed, and
//! there are no locks that a stopped process could hold.
//!
//! Durability: a file is synced before it is named, and its folder before the name is reported,
//! *by readers as well*: what a reader acts on may come from a writer that died before its sync.
//!
//! The folder must be on a local file system with hard links.

mod coordination;
mod files;
mod images;
mod log;

use std::collections::HashSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use super::boundaries::Boundaries;
use super::{Name, StoreError};
use files::{Folder, io_error};

const MARK_NAME: &str = "telar-store";
const MARK: &[u8] = b"telar store in a folder, format 1\n";
/// Longest body of a slot, and of a part: 16 MiB. A file has no limit, but readers hold it.
const BODY_BYTES_MAX: usize = 16 << 20;
/// Age from which a file without a name is one of a process that died.
const NEW_AGE_MAX: Duration = Duration::from_secs(3600);

/// A store in a folder.
#[derive(Debug)]
pub struct Directory {
    root: PathBuf,
    new: PathBuf,
    body_bytes_max: usize,
    /// Folders whose names this process has made durable.
    made: Mutex<HashSet<PathBuf>>,
    boundaries: Boundaries,
    /// A sync failed: what the system dropped then, another sync does not bring back.
    failed: AtomicBool,
}

impl Directory {
    /// Opens the store in folder `root`, or makes one if the folder is empty or not there.
    ///
    /// # Errors
    /// [`StoreError::Damaged`] if the folder holds something else, or a newer format; what the
    /// system reports.
    pub fn open(root: &Path) -> Result<Self, StoreError> {
        let mut top = root;
        while !top.is_dir() && top != files::parent(top) {
            top = files::parent(top);
        }
        // Its name may be as new as the store.
        let folder = Folder::make(root, files::parent(top))?;
        let new = root.join("new");
        while !has_mark(root)? {
            let names = folder.names()?;
            if names.iter().any(|name| name == MARK_NAME) {
                continue;
            }
            if names.iter().any(|name| name != "new") {
                let why = "the folder is neither a store nor empty";
                return Err(StoreError::damaged(root.display().to_string(), why));
            }
            Folder::make(&new, root)?;
            // Several processes may do this at once; they write the same.
            files::write_new(&new, &[MARK])?.rename(&root.join(MARK_NAME))?;
        }
        folder.sync()?;
        Folder::make(&new, root)?;
        let (made, failed) = (Mutex::default(), AtomicBool::new(false));
        let (root, boundaries) = (root.to_owned(), Boundaries::default());
        let store = Self { root, new, body_bytes_max: BODY_BYTES_MAX, made, boundaries, failed };
        store.remove_old_files(NEW_AGE_MAX)?;
        Ok(store)
    }

    /// The folder at `path`, made for good; for writers.
    fn folder<'a>(&self, path: &'a Path) -> Result<Folder<'a>, StoreError> {
        if self.failed.load(Ordering::Relaxed) {
            let store = self.root.display().to_string();
            let why = "a sync failed; open the store again".into();
            return Err(StoreError::Unavailable { store, why });
        }
        let known = |made: &HashSet<PathBuf>| made.contains(path);
        if !known(&self.made.lock().unwrap_or_else(PoisonError::into_inner)) {
            Folder::make(path, &self.root)?;
            self.made.lock().unwrap_or_else(PoisonError::into_inner).insert(path.into());
        }
        Ok(Folder::at(path))
    }

    /// Makes the names in `folder` durable.
    fn sync(&self, folder: &Path) -> Result<(), StoreError> {
        let synced = Folder::at(folder).sync();
        if synced.is_err() {
            self.failed.store(true, Ordering::Relaxed);
        }
        synced
    }

    /// Returns the store with another limit for bodies, in bytes: tests of parts.
    #[must_use]
    pub fn with_body_bytes_max(mut self, max: usize) -> Self {
        self.body_bytes_max = max;
        self
    }

    /// Removes files without a name that were last written before `age`; a writer that still has
    /// one gets an error, and nothing of its own in the store.
    fn remove_old_files(&self, age: Duration) -> Result<(), StoreError> {
        for name in Folder::at(&self.new).names()? {
            let path = self.new.join(name);
            let written = fs::metadata(&path).and_then(|found| found.modified());
            // One that is gone was another process's.
            if written.is_ok_and(|at| at.elapsed().is_ok_and(|found| found > age)) {
                files::remove(&path)?;
            }
        }
        Ok(())
    }
}

/// Whether `root` has the mark of a store that this program knows.
fn has_mark(root: &Path) -> Result<bool, StoreError> {
    let mark = root.join(MARK_NAME);
    match fs::read(&mark) {
        Ok(found) if found == MARK => Ok(true),
        Ok(_) => {
            let why = "this program does not know its format";
            Err(StoreError::damaged(mark.display().to_string(), why))
        }
        Err(cause) if cause.kind() == std::io::ErrorKind::NotFound => Ok(false),
        Err(cause) => Err(io_error("read", &mark, cause)),
    }
}

/// `name` as a file name.
fn file_name(name: &Name) -> String {
    name.as_str().replace('/', "%")
}

/// The name that `file_name` made into `text`.
fn name_of(text: &str) -> Option<Name> {
    if text.contains('/') {
        return None;
    }
    Name::new(text.replace('%', "/")).ok()
}

/// `number` as a file name: names sort as numbers do.
fn number_name(number: u64) -> String {
    format!("{number:020}")
}

/// The numbers among `names`, in order.
fn numbers(names: &[String]) -> Vec<u64> {
    let is_number = |name: &&String| name.len() == 20 && name.bytes().all(|b| b.is_ascii_digit());
    names.iter().filter(is_number).filter_map(|name| name.parse().ok()).collect()
}

#[cfg(test)]
mod tests;
