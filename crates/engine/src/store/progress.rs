//! How far the checkpoints of a database are, and what its store holds.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use super::changes;
use crate::error::Error;
use crate::format::KEY_BYTES;
use crate::mapped::ranges::Inventory;

/// What the store holds beside the meta value and change lists: stands in the meta value, so that a
/// value that got lost is noticed.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub(crate) struct Totals {
    /// Number of keys.
    pub(crate) keys: u64,
    /// Sum of the checksums of all values.
    pub(crate) crcs: u64,
    /// Which keys there are: whoever looks for one knows whether it must be there.
    pub(crate) inventory: Arc<Inventory>,
}

impl Totals {
    /// Notes that `key` holds a value with checksum `new`, and one with `old` before.
    pub(crate) fn put(&mut self, key: &[u8; KEY_BYTES], old: Option<u32>, new: u32) {
        self.keys += u64::from(old.is_none());
        self.crcs = self.crcs.wrapping_sub(old.map_or(0, u64::from)).wrapping_add(new.into());
        if !self.inventory.contains(key) {
            Arc::make_mut(&mut self.inventory).insert(key);
        }
    }

    /// Notes that `key`, with this checksum, is gone.
    pub(crate) fn remove(&mut self, key: &[u8; KEY_BYTES], old: u32) {
        self.keys -= 1;
        self.crcs = self.crcs.wrapping_sub(old.into());
        Arc::make_mut(&mut self.inventory).remove(key);
    }
}

/// Progress of a database's checkpoints.
#[derive(Debug, Default)]
pub(crate) struct Progress {
    /// Timestamp of the last checkpoint.
    pub(crate) last: u64,
    pub(crate) stored: Totals,
    /// Indexes that have values in the store.
    pub(crate) indexes: BTreeSet<u16>,
    /// The store was written by an older version: the next checkpoint writes all of it anew.
    pub(crate) outdated: bool,
    /// Which keys the last checkpoints wrote; read from the store when it is first written to.
    pub(crate) changes: Option<changes::Lists>,
}

/// Outcomes of the last checkpoints.
#[derive(Debug, Default)]
pub(crate) struct CheckpointHistory(Mutex<CheckpointState>);

/// What became of files with graphs of neighbours since the database was opened.
#[derive(Debug, Default)]
pub(crate) struct NearHistory(Mutex<NearHealth>);

/// Files with the graphs of vector indexes, since the database was opened. A graph whose file
/// cannot be used is built anew, as one without a file is.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct NearHealth {
    /// Graphs read from a file.
    pub read: u64,
    /// Files that could not be used.
    pub refused: u64,
    /// Files written.
    pub written: u64,
    /// Files that could not be written.
    pub failed: u64,
    /// Why the last one could not be used or written, if one could not.
    pub error: Option<String>,
}

impl NearHistory {
    /// What became of them so far.
    pub(crate) fn state(&self) -> NearHealth {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Notes what became of one.
    pub(crate) fn note(&self, change: impl FnOnce(&mut NearHealth)) {
        change(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner));
    }
}

/// When the last one ended and how, and how many there were.
#[derive(Debug, Clone, Default)]
pub(crate) struct CheckpointState {
    pub(crate) ended: Option<Instant>,
    pub(crate) took: Duration,
    pub(crate) made: u64,
    pub(crate) failed: u64,
    pub(crate) error: Option<String>,
}

impl CheckpointHistory {
    /// How they went so far.
    pub(crate) fn state(&self) -> CheckpointState {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Notes how the checkpoint that began at `begun` ended.
    pub(crate) fn note(&self, result: &Result<u64, Error>, begun: Instant) {
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        match result {
            Ok(_) => {
                let (took, made) = (begun.elapsed(), state.made + 1);
                let (ended, failed) = (Some(Instant::now()), state.failed);
                *state = CheckpointState { ended, took, made, failed, error: None };
            }
            Err(e) => {
                state.failed += 1;
                state.error = Some(e.to_string());
            }
        }
    }
}
