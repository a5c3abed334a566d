//! The lock file of a database: locked while it is open; says who has it, or where it was closed.

use std::fs::{File, TryLockError};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

use crate::error::Error;
use crate::io::folder;

/// The lock file of a database, locked.
#[derive(Debug)]
pub(crate) struct Lock {
    /// None where a database that is only read has no lock file: nobody can write it.
    file: Option<File>,
    /// What stood in it.
    before: String,
    /// Whether what stood in it no longer holds.
    used: AtomicBool,
    access: Access,
}

/// What an opening may do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Access {
    /// Make, change and remove files.
    Write,
    /// Read, beside others that do the same.
    Read,
}

/// The words that a holder adds to its number if it lets other processes in
/// ([`Settings::shared`]).
///
/// [`Settings::shared`]: crate::Settings::shared
const SHARES: &str = ", which shares it";

/// What the lock file of a closed database says: how far its log is on disk, under a checksum.
fn closed_mark(last_ts: u64) -> String {
    let text = format!("closed at {last_ts}");
    let crc = crc32fast::hash(text.as_bytes());
    format!("{text} {crc:08x}\n")
}

/// The timestamp in a [`closed_mark`].
pub(crate) fn parse_closed_mark(text: &str) -> Option<u64> {
    let last_ts = text.strip_prefix("closed at ")?.split(' ').next()?.parse().ok()?;
    (text == closed_mark(last_ts)).then_some(last_ts)
}

impl Lock {
    /// Takes the lock of the database in `root` and says so in it, durable: after a power failure
    /// it must not say that the database was closed.
    pub(crate) fn take(root: &Path, shared: bool) -> Result<Self, Error> {
        let path = root.join("LOCK");
        let file = folder::private()
            .read(true)
            .create(true)
            .truncate(false)
            .open(&path)
            .map_err(Error::file("cannot open lock file", &path))?;
        let locked = file.try_lock();
        let lock = Self::taken(file, path.clone(), locked, Access::Write)?;
        let shares = if shared { SHARES } else { "" };
        lock.write(&format!("process {}{shares}", std::process::id()))
            .and_then(|()| lock.file.as_ref().map_or(Ok(()), File::sync_data))
            .map_err(Error::file("cannot write lock file", &path))?;
        Ok(lock)
    }

    /// Keeps the database in `root` from being opened for writing; writes nothing.
    pub(crate) fn share(root: &Path) -> Result<Self, Error> {
        let path = root.join("LOCK");
        match File::open(&path) {
            Ok(file) => {
                let locked = file.try_lock_shared();
                Self::taken(file, path, locked, Access::Read)
            }
            Err(e) if e.kind() == io::ErrorKind::NotFound => {
                let (before, used) = (String::new(), AtomicBool::new(false));
                Ok(Self { file: None, before, used, access: Access::Read })
            }
            Err(e) => Err(Error::file("cannot open lock file", &path)(e)),
        }
    }

    fn taken(
        mut file: File,
        path: PathBuf,
        locked: Result<(), TryLockError>,
        access: Access,
    ) -> Result<Self, Error> {
        let mut bytes = Vec::new();
        // Who holds it is a courtesy; not being able to read it changes nothing.
        let _ = file.read_to_end(&mut bytes);
        let before = String::from_utf8_lossy(&bytes).into_owned();
        match locked {
            Ok(()) => Ok(Self { file: Some(file), before, used: AtomicBool::new(false), access }),
            Err(TryLockError::WouldBlock) => {
                let holder = if before.is_empty() { "unknown process" } else { before.trim() };
                let shares = holder.ends_with(SHARES);
                Err(Error::Locked { path, holder: holder.to_owned(), shares })
            }
            Err(TryLockError::Error(source)) => {
                Err(Error::File { action: "cannot lock", path, source })
            }
        }
    }

    /// What this opening may do.
    pub(crate) fn access(&self) -> Access {
        self.access
    }

    fn write(&self, text: &str) -> io::Result<()> {
        let Some(mut file) = self.file.as_ref().filter(|_| self.access == Access::Write) else {
            return Ok(());
        };
        file.set_len(0)?;
        file.seek(SeekFrom::Start(0))?;
        file.write_all(text.as_bytes())
    }

    /// The commit at which the database was closed before this opening, if it was.
    pub(crate) fn closed_at(&self) -> Option<u64> {
        parse_closed_mark(&self.before)
    }

    /// From here on the database may change: what stood in the file does not come back.
    pub(crate) fn begin_use(&self) {
        self.used.store(true, Ordering::Relaxed);
    }

    /// Says that the database was closed with its log on disk up to `last_ts`, so that a check can
    /// tell a log that lost its end. A courtesy: a failure changes nothing.
    pub(crate) fn mark_closed(&self, last_ts: u64) {
        let _ = self.write(&closed_mark(last_ts));
    }

    /// The file; none where there is none, of a database that is only read.
    pub(crate) fn file(&self) -> Option<&File> {
        self.file.as_ref()
    }

    /// Whether the file has its name still; without it another process can open the database.
    pub(crate) fn is_named(&self) -> bool {
        let about = self.file.as_ref().and_then(|file| file.metadata().ok());
        about.is_none_or(|found| found.nlink() > 0)
    }
}

impl Drop for Lock {
    fn drop(&mut self) {
        if !self.used.load(Ordering::Relaxed) {
            // An opening that was refused leaves what it found.
            let _ = self.write(&self.before);
        }
        // Closing the file would do, but a child process being started may hold a copy of it for a
        // moment. Nothing can be done about a failure.
        let _ = self.file.as_ref().map(File::unlock);
    }
}
