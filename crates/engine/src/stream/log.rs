//! The log as it is: records after a commit, in groups that a copy [applies](crate::Engine::apply).
//!
//! Records are delivered once they are on disk and published, as by the change stream. They were
//! checked when they were read from the files, and get checksums of their own for the way.

use std::time::Duration;

use telar_graph::CommitTs;

use super::{await_after, follower, not_retained, unreadable};
use crate::error::Error;
use crate::shared::Shared;
use crate::snapshot::Handle;
use crate::wal::LogGroup;
use crate::wal::follow::{Followed, Follower};
use crate::wal::frame_into;

/// Records of consecutive commits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LogRecords {
    /// Commit timestamp of the first record.
    pub first_ts: u64,
    /// The timestamp after that of the last record.
    pub next_ts: u64,
    /// Seed of the records' checksums.
    pub salt: u32,
    /// The records, one after the other.
    pub frames: Vec<u8>,
}

impl LogRecords {
    /// The records as a group that can be applied.
    #[must_use]
    pub fn as_group(&self) -> LogGroup<'_> {
        let Self { first_ts, next_ts, salt, ref frames } = *self;
        LogGroup { first_ts, next_ts, salt, frames }
    }
}

/// Place in the log of a database, kept between two readers of one opening of it: the next one need
/// not search. It keeps a file of the log open.
#[derive(Debug)]
pub struct LogPlace(Follower);

impl LogPlace {
    /// The last commit that was delivered.
    #[must_use]
    pub fn position(&self) -> CommitTs {
        CommitTs::from_raw(self.0.next_ts() - 1)
    }
}

/// Reader of the log of an open database, beside its writers.
#[derive(Debug)]
pub struct LogReader<'e> {
    shared: Handle<'e>,
    follower: Follower,
}

impl<'e> LogReader<'e> {
    pub(crate) fn new(shared: Handle<'e>, after: u64) -> Result<Self, Error> {
        let Some(follower) = follower(&shared, after) else {
            return Err(not_retained(&shared, after, None));
        };
        let published = shared.clock.published();
        let files = follower.files().map_err(|e| unreadable(&shared, e))?;
        let oldest = files.first().map(|(first_ts, _)| first_ts - 1);
        // At the end of the log no file is needed.
        let kept = after == published || oldest.is_some_and(|oldest| after >= oldest);
        match after <= published && kept {
            true => Ok(Self { shared, follower }),
            false => Err(not_retained(&shared, after, oldest)),
        }
    }

    pub(crate) fn at(shared: Handle<'e>, LogPlace(follower): LogPlace) -> Self {
        Self { shared, follower }
    }

    /// Ends reading; returns the place that was reached.
    #[must_use]
    pub fn into_place(self) -> LogPlace {
        LogPlace(self.follower)
    }

    /// The next records, of about `bytes_max` bytes at most unless one is longer; waits up to
    /// `timeout` for the first. `None` if none came.
    ///
    /// # Errors
    /// [`Error::NotRetained`] if the next commit is not kept any more; [`Error::Log`],
    /// [`Error::File`], [`Error::Damaged`] if it cannot be read.
    pub fn next_within(
        &mut self,
        bytes_max: usize,
        timeout: Duration,
    ) -> Result<Option<LogRecords>, Error> {
        let shared: &Shared = &self.shared;
        let first_ts = self.follower.next_ts();
        let Some(limit) = await_after(shared, first_ts - 1, timeout)? else { return Ok(None) };
        let salt = shared.durable.as_ref().map_or(0, |durable| durable.wal.salt());
        let mut frames = Vec::new();
        while self.follower.next_ts() <= limit && (frames.len() < bytes_max || frames.is_empty()) {
            let ts = self.follower.next_ts();
            let found = self.follower.next().map_err(|e| unreadable(shared, e))??;
            match found {
                Followed::Record(payload) => frame_into(&mut frames, salt, ts, &payload)?,
                // Those before it are right.
                Followed::Missing { .. } if !frames.is_empty() => break,
                Followed::Missing { oldest } => {
                    return Err(not_retained(shared, first_ts - 1, oldest));
                }
            }
        }
        Ok(Some(LogRecords { first_ts, next_ts: self.follower.next_ts(), salt, frames }))
    }

    /// The last commit that was delivered, or the one after which it began.
    #[must_use]
    pub fn position(&self) -> CommitTs {
        CommitTs::from_raw(self.follower.next_ts() - 1)
    }
}
