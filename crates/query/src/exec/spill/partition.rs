//! Rows in a file, apart by a hash of their keys.
//!
//! An operator that groups by keys and holds too much puts the rows that follow here, and splits
//! what it has by the same hash. Then it goes through the partitions, one after the other: each has
//! a sixteenth of the groups. One that is still too large is split again, with another hash.

use std::hash::{BuildHasher, Hash, Hasher};
use std::sync::Arc;

use foldhash::fast::FixedState;
use telar_graph::Value;

use super::{Extent, SpillFile};
use crate::batch::{Batch, Column};
use crate::exec::Exec;
use crate::query_error::QueryError;

/// Partitions of a split.
pub(in crate::exec) const PARTITIONS: usize = 16;

/// Splits of splits: 16^6 partitions. What is too large then has few keys with much behind each.
pub(in crate::exec) const LEVELS_MAX: u32 = 6;

/// The partition of a key, in a split of splits: equal keys are in the same.
pub(in crate::exec) fn partition_of(key: impl Iterator<Item = Value>, level: u32) -> usize {
    let mut hasher = FixedState::with_seed(u64::from(level)).build_hasher();
    key.for_each(|value| value.hash(&mut hasher));
    (hasher.finish() >> 32) as usize % PARTITIONS
}

/// The rows of each partition.
#[derive(Debug)]
pub(in crate::exec) struct Partitions {
    file: SpillFile,
    frames: Vec<Vec<Extent>>,
    level: u32,
}

/// The rows of one partition, in the order they came.
#[derive(Debug)]
pub(in crate::exec) struct Part {
    /// Shared with the other partitions.
    file: Arc<SpillFile>,
    frames: std::vec::IntoIter<Extent>,
}

impl Partitions {
    pub(in crate::exec) fn new(
        who: &'static str,
        level: u32,
        cx: &Exec<'_>,
    ) -> Result<Self, QueryError> {
        let frames = vec![Vec::new(); PARTITIONS];
        Ok(Self { file: SpillFile::new(who, cx)?, frames, level })
    }

    /// Adds rows with these keys.
    pub(in crate::exec) fn add(
        &mut self,
        keys: &[Arc<Column>],
        rows: &Batch,
        cx: &mut Exec<'_>,
    ) -> Result<(), QueryError> {
        let mut parts: Vec<Vec<u32>> = vec![Vec::new(); PARTITIONS];
        for row in 0..rows.rows() {
            let key = keys.iter().map(|column| column.get(row));
            parts[partition_of(key, self.level)].push(row as u32);
        }
        for (part, frames) in parts.iter().zip(&mut self.frames) {
            if !part.is_empty() {
                frames.push(self.file.write(&rows.gather(part), cx)?);
            }
        }
        Ok(())
    }

    pub(in crate::exec) fn into_parts(self) -> impl Iterator<Item = Part> {
        let file = Arc::new(self.file);
        self.frames
            .into_iter()
            .map(move |frames| Part { file: Arc::clone(&file), frames: frames.into_iter() })
    }
}

impl Part {
    pub(in crate::exec) fn is_empty(&self) -> bool {
        self.frames.len() == 0
    }

    pub(in crate::exec) fn next(&mut self, cx: &mut Exec<'_>) -> Result<Option<Batch>, QueryError> {
        self.frames.next().map(|frame| self.file.read(frame, cx)).transpose()
    }
}
