//! The log archive: log files that a checkpoint made superfluous, kept for point-in-time restore.
//!
//! ```text
//!  wal/wal-…0001.log ──▶ archive/wal-…0001.log        a hard link, before the log lets go of it
//! ```
//!
//! A backup takes from it what its predecessor does not have. The archive is bounded: the oldest
//! files go first, and the next backup says from which commit on its log is complete.
//!
//! Crash cases: a file may be in both places (it is the same one, and complete). The directory is
//! synced before the log lets go of a file, so a file is never in neither place. Files come and go
//! in the order of their commits, with a sync after each, so no power cut leaves a hole.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use crate::error::Error;
use crate::failpoint;
use crate::io::folder;
use crate::store::wal_path;
use crate::wal::inspect;

/// Directory of the archive.
pub(crate) fn path(root: &Path) -> PathBuf {
    root.join("archive")
}

/// Reasons to keep log files.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Wanted {
    /// Bytes that are kept for backups.
    pub(crate) bytes_max: u64,
    /// The change stream wants everything after this commit.
    pub(crate) floor: u64,
    /// Followers want everything after the first, up to the second number of bytes.
    pub(crate) followers: Option<(u64, u64)>,
}

impl Wanted {
    /// True if a file is kept whose last commit is `last_ts`, in an archive of `total` bytes.
    fn keeps(&self, last_ts: u64, total: u64) -> bool {
        let follows = |(after, bytes_max)| last_ts > after && total <= bytes_max;
        total <= self.bytes_max || last_ts > self.floor || self.followers.is_some_and(follows)
    }
}

/// Keeps the log files that hold nothing after `checkpoint_ts`, as far as they are wanted.
pub(crate) fn keep(root: &Path, checkpoint_ts: u64, wanted: Wanted) -> Result<(), Error> {
    let directory = path(root);
    let keeps = wanted.bytes_max > 0
        || wanted.floor < checkpoint_ts
        || wanted.followers.is_some_and(|(after, most)| after < checkpoint_ts && most > 0);
    if !keeps && !directory.exists() {
        return Ok(());
    }
    let keep = || {
        folder::make(&directory)?;
        if keeps {
            let files = inspect::list(&wal_path(root))?;
            let complete = files.windows(2).filter(|pair| pair[1].0 <= checkpoint_ts + 1);
            for (first_ts, file) in complete.map(|pair| &pair[0]) {
                link_or_copy(file, &directory.join(inspect::file_name(*first_ts)))?;
                folder::sync(&directory)?;
                failpoint!("archive::linked");
            }
        }
        let mut files: Vec<(u64, PathBuf, u64)> = Vec::new();
        for (first_ts, file) in inspect::list(&directory)? {
            let bytes = file.metadata()?.len();
            files.push((first_ts, file, bytes));
        }
        let mut total: u64 = files.iter().map(|(.., bytes)| bytes).sum();
        // What the next file begins with is where a file ends; the last one may reach further.
        let ends: Vec<u64> = files.iter().skip(1).map(|(first_ts, ..)| first_ts - 1).collect();
        for (at, (_, file, bytes)) in files.into_iter().enumerate() {
            let last_ts = ends.get(at).copied().unwrap_or(checkpoint_ts);
            if wanted.keeps(last_ts, total) {
                break;
            }
            fs::remove_file(file)?;
            folder::sync(&directory)?;
            total -= bytes;
        }
        Ok(())
    };
    keep().map_err(Error::file("cannot keep log files in", &directory))?;
    failpoint!("archive::kept");
    Ok(())
}

fn link_or_copy(from: &Path, to: &Path) -> io::Result<()> {
    match fs::hard_link(from, to) {
        Ok(()) => Ok(()),
        // Left by a crash between keeping and removing: the same file.
        Err(e) if e.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        // A file system without hard links.
        Err(_) => {
            let new = to.with_extension("new");
            let mut copy = folder::create(&new)?;
            io::copy(&mut File::open(from)?, &mut copy)?;
            copy.sync_all()?;
            fs::rename(&new, to)
        }
    }
}

/// Bytes in the archive.
pub(crate) fn bytes(root: &Path) -> u64 {
    let files = inspect::list(&path(root)).unwrap_or_default();
    files.iter().filter_map(|(_, file)| file.metadata().ok()).map(|m| m.len()).sum()
}
