//! Reading one log file.
//!
//! ```text
//!  ┌────────┬─────┬─────┬─────┬─────┬─────┬─────────┐
//!  │ header │ rec │ rec │ rec │ rec │ rec │ torn    │
//!  └────────┴─────┴─────┴─────┴─────┴─────┴─────────┘
//!            first_ts, +1, +1 …  ▲        ▲
//!                    last_group ─┘        └─ end: the caller cuts here
//! ```
//!
//! Invariant: timestamps grow by exactly one from record to record; anything else with a right
//! checksum is an error and never a torn tail, since no crash writes it.
//! Cost: one pass over the file's bytes, which are all in memory.

use std::path::Path;

use super::header::FILE_HEADER_BYTES;
use super::record::Record;
use super::tail::{Tail, classify};
use super::{Damage, RecordFault, Replay, WalError};

/// What a log file holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct FileScan {
    /// The timestamp of the record that would follow.
    pub(super) next_ts: u64,
    /// Where the good records end.
    pub(super) end: usize,
    /// Where the last group begins; 0 if there are no records.
    pub(super) last_group: usize,
}

/// A log file in memory, its header already decoded.
#[derive(Clone, Copy, Debug)]
pub(super) struct FileBytes<'a> {
    pub(super) path: &'a Path,
    pub(super) bytes: &'a [u8],
    pub(super) first_ts: u64,
    pub(super) salt: u32,
    pub(super) end: FileEnd,
}

/// Allowed ends of a log file.
#[derive(Clone, Copy, Debug)]
pub(super) struct FileEnd {
    /// Whether no later file exists, so that the file may end torn.
    pub(super) is_last: bool,
    /// Whether a replicated log has all of it, so that the last file may have holes.
    pub(super) replicated: bool,
}

impl FileBytes<'_> {
    /// Gives every record to `visit`, in order; returns where they end.
    pub(super) fn scan(&self, visit: &mut Replay<'_>) -> Result<FileScan, WalError> {
        let (mut next_ts, mut end, mut last_group) = (self.first_ts, FILE_HEADER_BYTES, 0);
        loop {
            let rest = self.bytes.get(end..).unwrap_or_default();
            if rest.is_empty() {
                break;
            }
            let record = match Record::decode(rest, self.salt) {
                Ok(record) => record,
                Err(fault) => {
                    self.check_torn(end, next_ts, fault)?;
                    break;
                }
            };
            if record.commit_ts != next_ts {
                let what = Damage::Timestamp { expected: next_ts, found: record.commit_ts };
                return Err(WalError::damaged(self.path, end, what));
            }
            visit(record.commit_ts, record.payload)?;
            if record.starts_group {
                last_group = end;
            }
            next_ts += 1;
            end += record.size();
        }
        Ok(FileScan { next_ts, end, last_group })
    }

    fn check_torn(
        &self,
        offset: usize,
        expected_ts: u64,
        fault: RecordFault,
    ) -> Result<(), WalError> {
        if !self.end.is_last {
            let what = Damage::RecordBeforeFile { fault };
            return Err(WalError::damaged(self.path, offset, what));
        }
        match classify(self.bytes, offset, expected_ts, self.salt) {
            Tail::Torn => Ok(()),
            Tail::Damaged { .. } if self.end.replicated => Ok(()),
            Tail::Damaged { next_offset } => {
                let next_offset = next_offset as u64;
                let what = Damage::RecordBeforeRecord { fault, next_offset };
                Err(WalError::damaged(self.path, offset, what))
            }
        }
    }
}
