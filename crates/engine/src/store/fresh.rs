//! A database that is being made, and one whose store was never written.
//!
//! ```text
//!  folder, its name │ LOCK │ wal/, first log file │ store/, data.mdb │ IDENTITY │ FORMAT
//!                   each synced, with its name, before the next begins
//! ```
//!
//! `FORMAT` comes last: what an opening without it finds of the others is left of one that ended
//! early, and is made anew. With it, there is a store and a log file, and a log file that is
//! missing was lost.

use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};

use super::{read_format, wal_path};
use crate::error::Error;
use crate::format::EMPTY_COMMIT;
use crate::io::folder;
use crate::lmdb_check;
use crate::wal::inspect;

/// LMDB's two meta pages, at its largest page size: what a store has that was never written.
const EMPTY_STORE_BYTES_MAX: u64 = 2 * (32 << 10);
/// A log file without records.
const EMPTY_LOG_BYTES_MAX: u64 = 32;
/// Files beside store and log that an opening leaves if it ends early.
const SMALL_FILES: [&str; 4] = ["LOCK", "FORMAT.new", "IDENTITY", "IDENTITY.new"];

/// The names in a folder with the lengths of the files; nothing if there is no such folder.
fn entries(path: &Path) -> Result<Vec<(String, Option<u64>)>, Error> {
    let list = || -> std::io::Result<_> {
        let mut found = Vec::new();
        for entry in fs::read_dir(path)? {
            let entry = entry?;
            let about = entry.metadata()?;
            let name = entry.file_name().to_string_lossy().into_owned();
            found.push((name, about.is_file().then_some(about.len())));
        }
        Ok(found)
    };
    match list() {
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => Ok(Vec::new()),
        found => found.map_err(Error::file("cannot list", path)),
    }
}

/// A directory without a format mark may hold our own half-made files and nothing else.
pub(super) fn check(root: &Path) -> Result<(), Error> {
    let refuse = |name: &str| {
        let reason = format!("it holds {name:?} and no FORMAT file");
        Err(Error::NotADatabase { path: root.into(), reason })
    };
    for (name, len) in entries(root)? {
        let ours = match (name.as_str(), len) {
            (name, Some(_)) => SMALL_FILES.contains(&name),
            ("wal", None) => entries(&wal_path(root))?.iter().all(|(name, len)| {
                *name == inspect::file_name(1) && len.is_some_and(|len| len <= EMPTY_LOG_BYTES_MAX)
            }),
            ("store", None) => entries(&root.join("store"))?.iter().all(|(name, len)| {
                let empty = len.is_some_and(|len| len <= EMPTY_STORE_BYTES_MAX);
                name == "lock.mdb" || (name == "data.mdb" && empty)
            }),
            _ => false,
        };
        if !ours {
            return refuse(&name);
        }
    }
    Ok(())
}

/// Makes the log and the folder of the store, once [`check`] has found nothing but ours.
pub(super) fn make(root: &Path, salt: u32) -> Result<(), Error> {
    let (wal, store) = (wal_path(root), root.join("store"));
    for left in [&wal, &store] {
        match fs::remove_dir_all(left) {
            Err(e) if e.kind() != std::io::ErrorKind::NotFound => {
                return Err(Error::file("cannot remove", left)(e));
            }
            _ => folder::make(left).map_err(Error::file("cannot create directory", left))?,
        }
    }
    crate::failpoint!("store::directories_made");
    let log = wal.join(inspect::file_name(1));
    let write = || {
        let mut file = folder::create(&log)?;
        file.write_all(&inspect::header_bytes(salt, 1))?;
        file.sync_data()?;
        folder::sync(&wal)
    };
    write().map_err(Error::file("cannot write", &log))?;
    crate::failpoint!("store::log_made");
    Ok(())
}

/// What can be told of a store without reading it.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum StoreState {
    /// There is one.
    Written,
    /// It was never written, or never as far as the disk: all there is stands in the log.
    Unwritten,
    /// It is gone, and the log does not have everything.
    Lost(String),
}

/// Looks for the store of the database in `root`.
///
/// Before the first checkpoint nothing but LMDB's meta pages is in it. A program that did not sync
/// them, and a power failure, leave a store that is missing, too short or empty, beside a log that
/// has every commit.
pub(crate) fn store_state(root: &Path) -> Result<StoreState, Error> {
    let data = root.join("store/data.mdb");
    let missing = match File::open(&data) {
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => "the file is missing",
        Err(e) => return Err(Error::file("cannot open", &data)(e)),
        Ok(file) => {
            let len = file.metadata().map_err(Error::file("cannot examine", &data))?.len();
            if len > EMPTY_STORE_BYTES_MAX || !lmdb_check::is_unwritten(&file) {
                return Ok(StoreState::Written);
            }
            "its first pages are not whole"
        }
    };
    Ok(match log_without_store(root)? {
        Ok(()) => StoreState::Unwritten,
        Err(why) => StoreState::Lost(format!("{missing}, {why}")),
    })
}

/// Whether the log has every commit there was, so that no store is needed; if not, why.
pub(crate) fn log_without_store(root: &Path) -> Result<Result<(), String>, Error> {
    let logs = log_files(root)?;
    match logs.first() {
        // The log is made before the store is: without a format mark there need not be any.
        None if matches!(read_format(root), Ok(None)) => return Ok(Ok(())),
        None => return Ok(Err("and there is no log".into())),
        Some((1, _)) => {}
        Some((first_ts, _)) => {
            return Ok(Err(format!("but there is a log, which begins at commit {first_ts}")));
        }
    }
    for (first_ts, path) in &logs {
        let bytes = fs::read(path).map_err(Error::file("cannot read", path))?;
        let mut loaded = None;
        // Faults of the log are told by whoever replays it.
        let _ = inspect::scan(path, &bytes, *first_ts, &mut |seen| {
            if seen.payload == EMPTY_COMMIT {
                loaded = Some(seen.ts);
            }
            loaded.is_none()
        });
        if let Some(ts) = loaded {
            return Ok(Err(format!(
                "and commit {ts} of the log is a bulk load, which stood there"
            )));
        }
    }
    Ok(Ok(()))
}

/// The log files of a database, oldest first; none if their folder is gone.
pub(crate) fn log_files(root: &Path) -> Result<Vec<(u64, PathBuf)>, Error> {
    let wal = wal_path(root);
    match inspect::list(&wal) {
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => Ok(Vec::new()),
        found => found.map_err(Error::file("cannot list", &wal)),
    }
}

/// Whether the log reaches where it must, as far as that can be known before it is replayed; if
/// not, the commit after which some are lost, and why.
///
/// A database has a log file from its making on, and a checkpoint makes the next one before it
/// removes another. Only where the lock file says that it was closed, and the checkpoint has all of
/// that, is nothing lost with the log.
pub(crate) fn log_is_lost(
    root: &Path,
    checkpoint: u64,
    closed_at: Option<u64>,
) -> Result<Option<(u64, String)>, Error> {
    let logs = log_files(root)?;
    let Some((first_ts, path)) = logs.last() else {
        let what = match closed_at {
            Some(closed_at) if closed_at <= checkpoint => return Ok(None),
            Some(closed_at) => format!("the database was closed at commit {closed_at}"),
            None => "the database was not closed".into(),
        };
        return Ok(Some((checkpoint, format!("there is no log file, and {what}"))));
    };
    // After a close the checkpoint is where the log ends.
    let Some(closed_at) = closed_at.filter(|closed_at| *closed_at > checkpoint) else {
        return Ok(None);
    };
    let bytes = fs::read(path).map_err(Error::file("cannot read", path))?;
    let scan = inspect::scan(path, &bytes, *first_ts, &mut |_| true);
    let reached = scan.map_or(*first_ts, |scan| scan.next_ts) - 1;
    let what = format!("the database was closed at commit {closed_at}, and its log ends before");
    Ok((reached < closed_at).then_some((reached.max(checkpoint), what)))
}
