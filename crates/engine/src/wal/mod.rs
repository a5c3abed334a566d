//! Write-ahead log: the commits since the last checkpoint, in order, durable before they are seen.
//!
//! ```text
//!  commit ─ append ─▶ pending group ─ leader ─▶ wal-…1870.log ─ sync ─▶ durable_ts ─▶ wait_durable
//!           (timestamp)   group_commit.rs         files.rs
//!
//!  wal-<first commit timestamp>.log          header.rs        record.rs
//!  ┌────────────────────────────────┬────────────────────────────────┬─────────
//!  │ "TELARWAL" version salt        │ crc len stamp payload          │ record …
//!  │ first_ts crc            32 B   │ 4   4   8     len B            │
//!  └────────────────────────────────┴────────────────────────────────┴─────────
//! ```
//!
//! The payload is the caller's: bytes that redo one commit. The log assigns commit timestamps, one
//! after the other without gaps, and keeps them in the order of the bytes.
//!
//! With [`Durability::Replicated`] a group is durable once a [`GroupSink`] has it (`sink.rs`); the
//! local files are then a copy that may lag, and end wherever a power failure cut them.
//!
//! Promises.
//! - Once `wait_durable(ts)` returned `Ok` (with [`Durability::Full`]), every later open replays
//!   all records up to `ts`, until `truncate_before` drops them.
//! - What an open replays is a prefix of what was appended, in order, no record partly.
//! - A commit whose `wait_durable` failed or was interrupted is undecided: it is replayed or not.
//! - Damage is reported with file and offset, and nothing is changed. Only damage to the last
//!   record of the log goes unnoticed, since a crash during its write leaves the same.
//!
//! Crash cases, and what an open finds:
//!
//! ```text
//!  crash during                      left in the directory           open
//!  write of a group                  any part of the group           cuts at the first bad record
//!  sync of a group                   same                            same
//!  creation of a file                no file, or one with no header  removes it, creates it anew
//!  removal of old files              any of them still there         skips them
//!  cutting of a torn tail            the tail is still there         cuts it again
//!  failed write or sync, no crash    any part of the group           cuts; see `recovery.rs`, 5
//! ```
//!
//! Why a bad record can be told from a torn one: `tail.rs`. Failpoints at every step: `files.rs`.
//!
//! Concurrency: every method takes `&self` and may be called from any thread.
//! Cost: `append` takes about 25 ns for 32 bytes if nobody else appends, 100 ns if another thread
//! does nothing else; a group costs one write and one `fdatasync`.

mod error;
mod files;
pub(crate) mod follow;
mod gathering;
mod group_commit;
mod header;
pub(crate) mod inspect;
#[cfg(test)]
#[cfg(feature = "shuttle")]
mod model;
mod reader;
mod record;
mod recovery;
pub(crate) mod sink;
mod tail;
#[cfg(test)]
#[cfg(not(feature = "shuttle"))]
mod tests;

pub use error::{Damage, RecordFault, WalError, WalErrorKind};
pub use header::FORMAT_VERSION;
pub use record::{PAYLOAD_BYTES_MAX, RECORD_ROOM, TIMESTAMP_MAX};
pub(crate) use sink::frame_into;
pub use sink::{GroupSink, LogGroup, SinkError};

use std::time::Duration;

use crate::failpoint;
use crate::io::Storage;
use crate::sync::thread::{self, JoinHandle};
use crate::sync::{Arc, Mutex, lock};
use group_commit::GroupCommit;
use record::{PreparedRecord, WholeRecord};

/// Bytes that may wait for a leader: 8 MiB.
///
/// At 200 MB/s a group of this size takes 40 ms, and larger ones gain nothing: the sync is a small
/// part of that. Two such buffers exist, one filling and one in flight. The model checker gets a
/// bound that its few small commits reach.
const PENDING_BYTES_MAX: usize = if cfg!(all(test, feature = "shuttle")) { 64 } else { 8 << 20 };

/// When a commit counts as done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Durability {
    /// Once it is on disk.
    Full,
    /// At once; a background thread writes and syncs every `interval_ms` milliseconds.
    ///
    /// A crash loses the commits of at most the last interval plus one write and sync.
    Async {
        /// Milliseconds between two syncs, at least 1.
        interval_ms: u64,
    },
    /// Once the replicated log has it; the local log is written after that, and synced only where
    /// one of its files ends and where it is closed. For databases that are opened to follow.
    Replicated,
}

impl Durability {
    /// True if a commit is visible only once it is durable.
    #[inline]
    pub(crate) fn is_awaited(self) -> bool {
        !matches!(self, Self::Async { .. })
    }
}

/// How a log is kept.
#[derive(Clone, Copy, Debug)]
pub struct WalOptions {
    /// Bytes after which a new file is started; a file exceeds it only by a first group larger
    /// than it. Default: 64 MiB.
    pub file_bytes_max: u64,
    /// When a commit counts as done. Default: `Full`.
    pub durability: Durability,
}

impl Default for WalOptions {
    fn default() -> Self {
        Self { file_bytes_max: 64 << 20, durability: Durability::Full }
    }
}

/// Takes a commit timestamp and the payload that was appended with it.
pub type Replay<'a> = dyn FnMut(u64, &[u8]) -> Result<(), WalError> + 'a;

/// What opening a log found.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Recovery {
    /// Records given to `replay`.
    pub records_replayed: u64,
    /// Bytes of a torn tail that were cut.
    pub bytes_cut: u64,
    /// Last commit timestamp known: of the log, or `start_after` if that is later.
    pub last_ts: u64,
}

/// A write-ahead log open for appending.
#[derive(Debug)]
pub struct Wal {
    commit: Arc<GroupCommit>,
    storage: Arc<dyn Storage>,
    salt: u32,
    counters: Arc<files::Counters>,
    durability: Durability,
    flusher: Mutex<Option<JoinHandle<()>>>,
    recovery: Recovery,
}

impl Wal {
    /// Opens the log in `storage`, creating it if there is none, and gives `replay` every record
    /// with a commit timestamp after `start_after`, in order and without gaps.
    ///
    /// `start_after` is the last commit that the caller already has (of its checkpoint), 0 if none.
    /// It may be later than the last record. The next `append` gets the timestamp after both.
    ///
    /// At most one `Wal` may be open on a storage; the caller sees to that.
    ///
    /// # Errors
    /// [`WalError::Damaged`], [`WalError::WrongMagic`] or [`WalError::NewerFormat`] if the files
    /// are not a log that this program can read, or records between `start_after` and the first are
    /// missing; what `replay` returns; [`WalError::Storage`]. In the first cases nothing was
    /// changed, and opening again gives the same.
    ///
    /// # Panics
    /// If `start_after` is not below [`TIMESTAMP_MAX`].
    ///
    /// # Cost
    /// Reads the files that hold records after `start_after`, one in memory at a time.
    pub fn open(
        storage: Arc<dyn Storage>,
        options: WalOptions,
        start_after: u64,
        replay: &mut Replay<'_>,
    ) -> Result<Self, WalError> {
        assert!(start_after < TIMESTAMP_MAX, "no timestamps are left after {start_after}");
        let (files, recovery) =
            recovery::recover(Arc::clone(&storage), options, start_after, replay)?;
        let (salt, counters) = (files.salt, Arc::clone(&files.counters));
        let is_replicated = options.durability == Durability::Replicated;
        let commit = Arc::new(GroupCommit::new(files, is_replicated));
        let flusher = match options.durability {
            Durability::Full | Durability::Replicated => None,
            Durability::Async { interval_ms } => {
                Some(spawn_flusher(&*storage, Arc::clone(&commit), interval_ms)?)
            }
        };
        let (durability, flusher) = (options.durability, Mutex::new(flusher));
        Ok(Self { commit, storage, salt, counters, durability, flusher, recovery })
    }

    /// Returns what opening the log found.
    pub fn recovery(&self) -> Recovery {
        self.recovery
    }

    /// Puts `payload` into the current group and returns its commit timestamp, one above the last.
    ///
    /// Does no I/O and takes one short mutex, unless 8 MiB are pending already:
    /// then it waits for a leader to take them, or writes them itself if there is none.
    ///
    /// # Errors
    /// [`WalError::PayloadTooLarge`], [`WalError::Poisoned`], [`WalError::Closed`]; no timestamp
    /// was assigned.
    #[inline]
    pub fn append(&self, payload: &[u8]) -> Result<u64, WalError> {
        self.commit.append(&PreparedRecord::new(self.salt, payload)?)
    }

    /// As [`append`](Self::append), for a payload that nobody else needs: a large one is not copied
    /// if it has room for [`RECORD_ROOM`] more bytes.
    ///
    /// # Errors
    /// As [`append`](Self::append).
    #[inline]
    pub fn append_owned(&self, payload: Vec<u8>) -> Result<u64, WalError> {
        match payload.len() <= PENDING_BYTES_MAX {
            true => self.append(&payload),
            false => self.commit.append_whole(WholeRecord::new(self.salt, payload)?),
        }
    }

    /// Runs `f` while the record `commit_ts`, whose payload had this many bytes, is written by a
    /// thread of its own, if it is a group of its own and its committer will wait for it.
    ///
    /// PERF: `telar bench commits`: a large commit is applied while its record is on its way, and
    /// the record's memory is free again by the time indexes need as much.
    pub(crate) fn write_while<T>(&self, commit_ts: u64, bytes: usize, f: impl FnOnce() -> T) -> T {
        if bytes <= PENDING_BYTES_MAX || !self.durability.is_awaited() {
            return f();
        }
        std::thread::scope(|scope| {
            // What becomes of it, the committer asks for itself, and leads if nobody could here.
            let write = || self.commit.sync_to(commit_ts).is_ok();
            let writer = std::thread::Builder::new().name("telar-log-write".into());
            let writer = writer.spawn_scoped(scope, write);
            let done = f();
            if let Ok(writer) = writer {
                // A leader that panics poisons the log, and the committer learns of that.
                let _ = writer.join();
            }
            done
        })
    }

    /// Returns whether a payload fits a record, before anything is done for it.
    ///
    /// # Errors
    /// [`WalError::PayloadTooLarge`].
    pub fn check_length(&self, payload: &[u8]) -> Result<(), WalError> {
        if payload.len() > PAYLOAD_BYTES_MAX {
            return Err(WalError::PayloadTooLarge { bytes: payload.len(), max: PAYLOAD_BYTES_MAX });
        }
        Ok(())
    }

    /// Returns once the record `commit_ts` and all before it count as done.
    ///
    /// With [`Durability::Full`] that is when they are on disk; this thread may write them there
    /// for itself and others. With [`Durability::Async`] it is at once.
    ///
    /// # Errors
    /// [`WalError::Poisoned`] if the record could not be made durable, or (`Async`) any earlier or
    /// later one; [`WalError::NotAssigned`] if no append returned `commit_ts`.
    pub fn wait_durable(&self, commit_ts: u64) -> Result<(), WalError> {
        match self.durability {
            Durability::Full | Durability::Replicated => self.commit.sync_to(commit_ts),
            Durability::Async { .. } => self.commit.check(),
        }
    }

    /// Returns once everything appended before the call is on disk, whatever the durability; with
    /// [`Durability::Replicated`] once it is in the replicated log and written here.
    ///
    /// # Errors
    /// [`WalError::Poisoned`].
    pub fn flush(&self) -> Result<(), WalError> {
        self.commit.sync_to(self.commit.last_ts())
    }

    /// Syncs what was written here, which [`Durability::Replicated`] leaves to the end of a file;
    /// returns the last record that no power failure takes from now on. Groups wait meanwhile.
    ///
    /// # Errors
    /// [`WalError::Poisoned`]: the log takes no records any more.
    pub(crate) fn sync_written(&self) -> Result<u64, WalError> {
        let synced = self.commit.with_files(|files| files.sync_rest().map(|()| files.written_ts));
        synced.map_err(|cause| self.commit.poison(cause))
    }

    /// Gives every group to `sink` from now on, before it is written here. Everything that was
    /// appended has been flushed.
    pub(crate) fn attach(&self, sink: std::sync::Arc<dyn GroupSink>) {
        self.commit.with_files(|files| files.sink = Some(sink));
    }

    /// Returns the seed of the records' checksums.
    pub(crate) fn salt(&self) -> u32 {
        self.salt
    }

    /// Returns whether the log still takes records.
    ///
    /// # Errors
    /// [`WalError::Poisoned`].
    pub fn check(&self) -> Result<(), WalError> {
        self.commit.check()
    }

    /// Refuses appends from now on if the file that is written to was removed.
    pub(crate) fn check_named(&self) {
        if let Err(removed) = self.commit.with_files(|files| files.check_named()) {
            self.commit.poison(removed);
        }
    }

    /// Refuses appends from now on, since `file`, which shows that the database is open, was
    /// removed.
    pub(crate) fn refuse_without(&self, file: std::path::PathBuf) {
        self.commit.poison(WalError::Removed { file });
    }

    /// Returns the last commit timestamp that is on disk, with all before it.
    #[inline]
    pub fn durable_ts(&self) -> u64 {
        self.commit.durable_ts()
    }

    /// Returns the last commit timestamp assigned.
    #[inline]
    pub fn last_ts(&self) -> u64 {
        self.commit.last_ts()
    }

    /// What was written since the log was opened.
    pub(crate) fn counters(&self) -> files::Written {
        self.counters.look()
    }

    /// Makes everything durable and starts a new file, unless the current one is still empty.
    ///
    /// For checkpoints: afterwards [`Wal::truncate_before`] can drop all that was appended before.
    ///
    /// # Errors
    /// [`WalError::Poisoned`].
    pub fn rotate(&self) -> Result<(), WalError> {
        self.commit.rotate()
    }

    /// Removes the files whose records are all at or before `commit_ts`; returns how many.
    ///
    /// The current file stays, see [`Wal::rotate`]. Call it once a checkpoint that holds
    /// `commit_ts` is durable, and open the log with at least that `start_after` from then on.
    ///
    /// # Errors
    /// [`WalError::Storage`]; the log stays usable, and what could not be removed is dropped by a
    /// later call or open.
    pub fn truncate_before(&self, commit_ts: u64) -> Result<u64, WalError> {
        let mut removed = 0;
        while let Some(first_ts) = self.commit.with_files(|files| files.take_older(commit_ts)) {
            if let Err(error) = files::remove_file(&*self.storage, first_ts) {
                self.commit.with_files(|files| files.older.push_front(first_ts));
                return Err(error);
            }
            removed += 1;
            // One by one: a power cut keeps any of the removals that no sync parts, and must not
            // keep a file's before those of the files before it. That would leave a hole.
            failpoint!("wal::truncate_before_sync_dir", files::injected);
            self.storage.sync_dir()?;
        }
        failpoint!("wal::truncate_done", files::injected);
        Ok(removed)
    }

    /// Makes everything durable, refuses further appends, and ends the background thread.
    ///
    /// Dropping the log does the same but cannot report a failure.
    ///
    /// # Errors
    /// [`WalError::Poisoned`] if something appended is not durable.
    pub fn close(&self) -> Result<(), WalError> {
        let last_ts = self.commit.close();
        let result = self.commit.sync_to(last_ts);
        let result = result.and_then(|()| self.commit.with_files(|files| files.sync_rest()));
        if let Some(flusher) = lock(&self.flusher).take() {
            // A flusher that panicked poisoned the log, which the next line reports.
            drop(flusher.join());
        }
        result.and_then(|()| self.commit.check())
    }
}

impl Drop for Wal {
    fn drop(&mut self) {
        // Whoever needs to know has called `close`; what is lost here was never acknowledged.
        drop(self.close());
    }
}

fn spawn_flusher(
    storage: &dyn Storage,
    commit: Arc<GroupCommit>,
    interval_ms: u64,
) -> Result<JoinHandle<()>, WalError> {
    use crate::io::{Operation, StorageError};
    let interval = Duration::from_millis(interval_ms.max(1));
    thread::Builder::new()
        .name("telar-wal".to_owned())
        .spawn(move || commit.flush_every(interval))
        .map_err(|error| {
            StorageError::new(Operation::Open, storage.path_of("thread telar-wal"), 0, error).into()
        })
}
