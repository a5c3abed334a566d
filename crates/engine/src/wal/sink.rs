//! The place where groups are durable instead of on the local disk: a replicated log.
//!
//! ```text
//!  group n ─▶ GroupSink::put ─▶ won ──────────▶ the same bytes into the local log, unsynced
//!                            ├▶ lost ─────────▶ WalError::Fenced: another process leads
//!                            └▶ not decided ──▶ WalError::Undecided
//! ```
//!
//! The local log is always a prefix of the replicated one: a group is written into it after the
//! sink has it. What a power failure takes from it, the replicated log still has.

use std::fmt;

use super::record::{PreparedRecord, Record};
use super::{RecordFault, WalError};

/// Records of consecutive commits, as they are in a log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LogGroup<'a> {
    /// Commit timestamp of the first record.
    pub first_ts: u64,
    /// The timestamp after that of the last record.
    pub next_ts: u64,
    /// Seed of the records' checksums.
    pub salt: u32,
    /// The records, one after the other.
    pub frames: &'a [u8],
}

impl<'a> LogGroup<'a> {
    /// Returns timestamp and payload of every record, all of them checked.
    ///
    /// # Errors
    /// The first record that is not what it should be.
    pub(crate) fn records(&self) -> Result<Vec<(u64, &'a [u8])>, BadRecord> {
        let (mut found, mut rest) = (Vec::new(), self.frames);
        for ts in self.first_ts..self.next_ts {
            let fault = |fault: RecordFault| BadRecord { ts, reason: fault.to_string() };
            let record = Record::decode(rest, self.salt).map_err(fault)?;
            if record.commit_ts != ts {
                let reason = format!("commit {} stands in its place", record.commit_ts);
                return Err(BadRecord { ts, reason });
            }
            rest = &rest[record.size()..];
            found.push((ts, record.payload));
        }
        match rest.len() {
            0 => Ok(found),
            more => {
                let reason = format!("{more} bytes follow the last record");
                Err(BadRecord { ts: self.next_ts, reason })
            }
        }
    }
}

/// A record of a group that is not what it should be.
#[derive(Debug)]
pub(crate) struct BadRecord {
    pub(crate) ts: u64,
    pub(crate) reason: String,
}

/// Appends the record of one payload to those of a group.
pub(crate) fn frame_into(
    frames: &mut Vec<u8>,
    salt: u32,
    ts: u64,
    payload: &[u8],
) -> Result<(), WalError> {
    PreparedRecord::new(salt, payload)?.append_to(frames, ts);
    Ok(())
}

/// Returns the record of one payload as a group of its own.
pub(crate) fn frames_of_one(salt: u32, ts: u64, payload: &[u8]) -> Result<Vec<u8>, WalError> {
    let mut frames = Vec::new();
    frame_into(&mut frames, salt, ts, payload)?;
    Ok(frames)
}

/// A replicated log, as far as a leader's group commit writes to it.
pub trait GroupSink: Send + Sync + fmt::Debug {
    /// Makes a group durable in the replicated log; returns once its outcome is known.
    ///
    /// One call is under way at a time, and each begins where the last one ended. After an error
    /// no further call comes: the log refuses commits until the database is opened again.
    ///
    /// # Errors
    /// [`SinkError::Fenced`] if the group is not in the replicated log and never will be;
    /// [`SinkError::Undecided`] if that could not be found out.
    fn put(&self, group: LogGroup<'_>) -> Result<(), SinkError>;
}

/// Why a replicated log did not take a group.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SinkError {
    /// Another process leads, and wrote the log from here on.
    Fenced {
        /// The node that leads, as far as it is known.
        leader: Option<String>,
    },
    /// The group may be in the replicated log, now or later.
    Undecided {
        /// Why nobody knows.
        reason: String,
    },
}

impl From<SinkError> for WalError {
    fn from(error: SinkError) -> Self {
        match error {
            SinkError::Fenced { leader } => Self::Fenced { leader },
            SinkError::Undecided { reason } => Self::Undecided { reason },
        }
    }
}
