//! The change stream: every committed change, in commit order, from a timestamp on.
//!
//! ```text
//!  log files ─┐
//!  archive  ──┼─▶ record ─▶ CommitChanges { ts, time, changes } ─▶ consumer, who keeps the last ts
//!  memory   ──┘   on disk and published
//! ```
//!
//! The source is the log, so what the stream says is what recovery would do: each commit once, in
//! the order of timestamps, without gaps. A commit is delivered once it is on disk and visible to
//! new snapshots, whatever the durability setting. So a consumer that remembers the last timestamp
//! it has worked off misses nothing and gets nothing twice, crashes of either side included.
//!
//! A database in memory that keeps history keeps its records in memory, as far back.
//!
//! Cost: reading the log, and one decoding per commit; writers notice nothing. Waiting for new
//! commits is a look at two words every few milliseconds.

mod change;
mod log;
mod time;

use std::time::{Duration, Instant};

use telar_graph::CommitTs;

pub use change::{Change, CommitChanges};
pub use log::{LogPlace, LogReader, LogRecords};
pub(crate) use time::commit_at_time;

use crate::error::Error;
use crate::shared::Shared;
use crate::snapshot::Handle;
use crate::store::archive;
use crate::store::wal_path;
use crate::wal::follow::{Followed, Follower};

/// Longest pause between two looks for new commits.
const PAUSE_MAX: Duration = Duration::from_millis(2);

/// Commits after a timestamp, in order. It holds nothing back: a consumer that falls behind what is
/// retained gets [`Error::NotRetained`].
#[derive(Debug)]
pub struct ChangeStream<'e> {
    shared: Handle<'e>,
    /// The last commit that was delivered.
    last: u64,
    follower: Option<Follower>,
}

/// Where the log of a database is read.
fn follower(shared: &Shared, after: u64) -> Option<Follower> {
    let root = shared.durable.as_ref()?.store.root();
    Some(Follower::new(wal_path(root), archive::path(root), after))
}

/// Last commit that is both visible and on disk.
fn limit(shared: &Shared) -> u64 {
    let published = shared.clock.published();
    match &shared.durable {
        Some(d) => published.min(d.wal.durable_ts()),
        None => published,
    }
}

/// Waits up to `timeout` for a commit after `last`; returns how far commits go, if there is one.
fn await_after(shared: &Shared, last: u64, timeout: Duration) -> Result<Option<u64>, Error> {
    let begun = Instant::now();
    let mut pause = Duration::from_micros(50);
    loop {
        let limit = limit(shared);
        if limit > last {
            return Ok(Some(limit));
        }
        shared.check_log()?;
        let left = timeout.saturating_sub(begun.elapsed());
        if left.is_zero() {
            return Ok(None);
        }
        std::thread::sleep(pause.min(left));
        pause = (2 * pause).min(PAUSE_MAX);
    }
}

fn not_retained(shared: &Shared, asked: u64, oldest: Option<u64>) -> Error {
    let newest = shared.clock.published();
    Error::NotRetained {
        asked: CommitTs::from_raw(asked),
        oldest: CommitTs::from_raw(oldest.unwrap_or(newest).min(newest)),
        newest: CommitTs::from_raw(newest),
    }
}

fn unreadable(shared: &Shared, source: std::io::Error) -> Error {
    let root = shared.durable.as_ref().map(|d| wal_path(d.store.root()));
    Error::File { action: "cannot read the log in", path: root.unwrap_or_default(), source }
}

impl<'e> ChangeStream<'e> {
    pub(crate) fn new(shared: Handle<'e>, after: u64) -> Result<Self, Error> {
        let published = shared.clock.published();
        let follower = follower(&shared, after);
        let stream = Self { shared, last: after, follower };
        // Says at once what is not there any more.
        let oldest = stream.oldest()?;
        if after > published || oldest.is_some_and(|oldest| after < oldest) {
            return Err(stream.not_retained(oldest));
        }
        Ok(stream)
    }

    /// The oldest timestamp a stream can begin after.
    fn oldest(&self) -> Result<Option<u64>, Error> {
        match &self.follower {
            Some(follower) => {
                let files = follower.files().map_err(|e| self.unreadable(e))?;
                Ok(files.first().map(|(first_ts, _)| first_ts - 1))
            }
            None if self.shared.history.is_kept() => Ok(Some(self.shared.memory_log.oldest())),
            None => Ok(Some(self.shared.clock.published())),
        }
    }

    fn not_retained(&self, oldest: Option<u64>) -> Error {
        not_retained(&self.shared, self.last, oldest)
    }

    fn unreadable(&self, source: std::io::Error) -> Error {
        unreadable(&self.shared, source)
    }

    /// The timestamp of the last commit delivered, or the one the stream began after: what to go on
    /// from after a restart.
    #[must_use]
    pub fn position(&self) -> CommitTs {
        CommitTs::from_raw(self.last)
    }

    /// The next commit; waits up to `timeout` for one. `None` if none came.
    ///
    /// # Errors
    /// [`Error::NotRetained`] if the next commit is not kept any more: begin anew from a snapshot;
    /// [`Error::Log`], [`Error::File`], [`Error::Damaged`] if it cannot be read. The stream stays
    /// where it is.
    pub fn next_within(&mut self, timeout: Duration) -> Result<Option<CommitChanges>, Error> {
        if await_after(&self.shared, self.last, timeout)?.is_none() {
            return Ok(None);
        }
        let ts = self.last + 1;
        let payload = match &mut self.follower {
            Some(follower) => match follower.next() {
                Ok(found) => match found? {
                    Followed::Record(payload) => payload,
                    Followed::Missing { oldest } => return Err(self.not_retained(oldest)),
                },
                Err(e) => return Err(self.unreadable(e)),
            },
            None => match self.shared.memory_log.get(ts) {
                Some(payload) => payload.to_vec(),
                None => return Err(self.not_retained(self.oldest()?)),
            },
        };
        let changes = CommitChanges::decode(ts, &payload, &self.shared).map_err(|reason| {
            let place = format!("commit {ts}");
            Error::Damaged { path: "write-ahead log".into(), place, reason }
        })?;
        self.last = ts;
        Ok(Some(changes))
    }
}

/// Iterates over what is there now, without waiting.
impl Iterator for ChangeStream<'_> {
    type Item = Result<CommitChanges, Error>;

    fn next(&mut self) -> Option<Self::Item> {
        self.next_within(Duration::ZERO).transpose()
    }
}
