//! The files of an open log: writing groups, rotating, dropping old ones.
//!
//! ```text
//!   wal-…0001.log     wal-…0934.log     wal-…1870.log
//!   1 ────────── 933  934 ─────── 1869  1870 ──────── written_ts
//!   └──────── older: complete, synced ┘ └─ active: groups are appended here
//! ```
//!
//! Protocol. A group is one append and one sync. A new file is created, its header written and
//! synced and the directory synced before the first record goes into it, and only after everything
//! before it is synced: so the existence of a file proves that the ones before it were complete.
//!
//! Invariants: a group lies within one file; a file's records are `first_ts..` up to the next
//! file's `first_ts`; the active file is never removed.
//! Concurrency: one thread at a time, the leader of `group_commit.rs`; removal runs beside it.

use std::collections::VecDeque;
use std::time::Instant;

use super::WalError;
use super::header::{FILE_HEADER_BYTES, FileHeader, file_name};
use super::sink::{GroupSink, LogGroup};
use crate::failpoint;
use crate::io::{Storage, StorageFile};
use crate::sync::Arc;
use crate::sync::atomic::{AtomicU64, Ordering};

/// The files of an open log.
#[derive(Debug)]
pub(super) struct LogFiles {
    pub(super) storage: Arc<dyn Storage>,
    /// First timestamps of the complete files, oldest first.
    pub(super) older: VecDeque<u64>,
    pub(super) active: Box<dyn StorageFile>,
    /// First timestamp of the active file.
    pub(super) active_ts: u64,
    /// Last timestamp written.
    pub(super) written_ts: u64,
    pub(super) salt: u32,
    pub(super) file_bytes_max: u64,
    /// What was written since the log was opened.
    pub(super) counters: Arc<Counters>,
    /// The log in which groups are durable, if not here.
    pub(super) sink: Option<std::sync::Arc<dyn GroupSink>>,
    /// False if groups are written without being synced.
    pub(super) syncs: bool,
}

/// What a log wrote since it was opened; only its leader counts.
#[derive(Debug, Default)]
pub(super) struct Counters {
    bytes: AtomicU64,
    groups: AtomicU64,
    records: AtomicU64,
    nanos: AtomicU64,
}

/// A look at what a log wrote since it was opened.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Written {
    pub(crate) bytes: u64,
    pub(crate) groups: u64,
    pub(crate) records: u64,
    /// Time in writes and syncs.
    pub(crate) nanos: u64,
}

impl Counters {
    fn add(&self, bytes: usize, records: u64, nanos: u128) {
        // ORDERING: figures for people; nothing is concluded from one about another.
        self.bytes.fetch_add(bytes as u64, Ordering::Relaxed);
        self.groups.fetch_add(1, Ordering::Relaxed);
        self.records.fetch_add(records, Ordering::Relaxed);
        self.nanos.fetch_add(u64::try_from(nanos).unwrap_or(u64::MAX), Ordering::Relaxed);
    }

    pub(super) fn look(&self) -> Written {
        let get = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        let (bytes, groups) = (get(&self.bytes), get(&self.groups));
        Written { bytes, groups, records: get(&self.records), nanos: get(&self.nanos) }
    }
}

impl LogFiles {
    /// Appends `group`, which ends with the record `last_ts`, and syncs it, or gives it to the sink
    /// first.
    pub(super) fn write_group(&mut self, group: &[u8], last_ts: u64) -> Result<(), WalError> {
        if let Some(sink) = &self.sink {
            let (first_ts, next_ts) = (self.written_ts + 1, last_ts + 1);
            sink.put(LogGroup { first_ts, next_ts, salt: self.salt, frames: group })?;
            failpoint!("wal::after_sink", injected);
        }
        if self.active.len() + group.len() as u64 > self.file_bytes_max {
            self.rotate()?;
        }
        let begun = Instant::now();
        failpoint!("wal::before_write", injected);
        let torn = torn_at(group);
        if torn > 0 {
            self.active.append(&group[..torn])?;
        }
        failpoint!("wal::after_partial_write", injected);
        self.active.append(&group[torn..])?;
        failpoint!("wal::before_sync", injected);
        if self.syncs {
            self.active.sync_data()?;
        }
        failpoint!("wal::after_sync", injected);
        let records = last_ts - self.written_ts;
        self.counters.add(group.len(), records, begun.elapsed().as_nanos());
        self.written_ts = last_ts;
        Ok(())
    }

    /// Makes a new file the active one, unless the active one holds no records yet.
    pub(super) fn rotate(&mut self) -> Result<(), WalError> {
        let first_ts = self.written_ts + 1;
        if first_ts == self.active_ts {
            return Ok(());
        }
        self.check_named()?;
        self.sync_rest()?;
        self.active = create_file(&*self.storage, FileHeader { salt: self.salt, first_ts })?;
        self.older.push_back(self.active_ts);
        self.active_ts = first_ts;
        Ok(())
    }

    /// Syncs the active file if its groups are not.
    pub(super) fn sync_rest(&mut self) -> Result<(), WalError> {
        if !self.syncs {
            self.active.sync_data()?;
        }
        Ok(())
    }

    /// Fails if the active file was removed: its records are lost with the last handle.
    pub(super) fn check_named(&self) -> Result<(), WalError> {
        if self.active.is_named() {
            return Ok(());
        }
        Err(WalError::Removed { file: self.storage.path_of(&file_name(self.active_ts)) })
    }

    /// Takes the oldest file off the list if all its records are `<= commit_ts`.
    pub(super) fn take_older(&mut self, commit_ts: u64) -> Option<u64> {
        let next = self.older.get(1).copied().unwrap_or(self.active_ts);
        self.older.pop_front_if(|_| next <= commit_ts.saturating_add(1))
    }
}

/// Creates a log file that holds nothing but its header, all of it durable.
pub(super) fn create_file(
    storage: &dyn Storage,
    header: FileHeader,
) -> Result<Box<dyn StorageFile>, WalError> {
    failpoint!("wal::rotate_before_create", injected);
    let mut file = storage.create(&file_name(header.first_ts))?;
    failpoint!("wal::rotate_after_create", injected);
    file.append(&header.encode())?;
    debug_assert_eq!(file.len(), FILE_HEADER_BYTES as u64);
    failpoint!("wal::rotate_before_sync", injected);
    file.sync_data()?;
    failpoint!("wal::rotate_before_sync_dir", injected);
    storage.sync_dir()?;
    failpoint!("wal::rotate_after_sync_dir", injected);
    Ok(file)
}

/// Removes the log file that begins with `first_ts`; durable with the next `sync_dir`.
pub(super) fn remove_file(storage: &dyn Storage, first_ts: u64) -> Result<(), WalError> {
    failpoint!("wal::truncate_before_remove", injected);
    storage.remove(&file_name(first_ts))?;
    failpoint!("wal::truncate_after_remove", injected);
    Ok(())
}

/// Where a test wants the group torn: in the middle, or nowhere.
#[cfg(feature = "failpoints")]
fn torn_at(group: &[u8]) -> usize {
    if failpoint::is_set("wal::after_partial_write") { group.len() / 2 } else { 0 }
}

#[cfg(not(feature = "failpoints"))]
fn torn_at(_group: &[u8]) -> usize {
    0
}

/// The failure of a failpoint, as the failure of a file operation.
#[cfg(feature = "failpoints")]
pub(super) fn injected<T>(cause: std::io::Error) -> Result<T, WalError> {
    use crate::io::{Operation, StorageError};
    Err(StorageError::new(Operation::Append, "failpoint", 0, cause).into())
}
