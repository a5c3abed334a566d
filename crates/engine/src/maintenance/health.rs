//! What to watch while a database runs: is anything falling behind, and whose fault is it?
//!
//! Ages come from the timeline (`clock/timeline.rs`).

use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use telar_graph::{CommitTs, Direction, EdgeTypeId};

use crate::adjacency::settle::SettleState;
use crate::engine::Engine;
use crate::once::OnceHealth;
use crate::shared::{MemoryUse, Shared};
use crate::store::archive;
use crate::store::identity::Identity;
use crate::store::progress::NearHealth;

/// What the log did since the database was opened. Rates are differences between two looks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct LogHealth {
    /// Bytes of log on disk: what a crash now would replay, and what a checkpoint would free.
    pub bytes_on_disk: u64,
    /// Bytes kept in the archive for backups.
    pub bytes_archived: u64,
    /// Bytes written since the database was opened.
    pub bytes_written: u64,
    /// Groups written, each with one write and one sync.
    pub groups: u64,
    /// Commits and schema records in them.
    pub records: u64,
    /// Time spent in writes and syncs together.
    pub write_time: Duration,
}

/// Retained part of the past. What is in the store and was not needed yet takes no memory and is
/// not counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct HistoryHealth {
    /// The oldest timestamp that can be read; `None` if no history is kept.
    pub oldest: Option<CommitTs>,
    /// Snapshots of the past that are open.
    pub readers: usize,
    /// Superseded entries of neighbour lists in memory: two per edge that came or went.
    pub entries: u64,
    /// Superseded labels and property values in memory.
    pub values: u64,
    /// Memory they hold, in bytes; text and lists that values point to not included.
    pub bytes: usize,
    /// Of these, what the neighbour lists take.
    pub entry_bytes: usize,
    /// Memory of the records kept for the change stream of a database in memory, in bytes.
    pub record_bytes: usize,
}

/// How far checkpoints are behind.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct CheckpointHealth {
    /// The commit the last one is of.
    pub last: CommitTs,
    /// Commits since.
    pub commits_behind: u64,
    /// Time since one ended; `None` if none did since the database was opened.
    pub age: Option<Duration>,
    /// How long the last one took.
    pub took: Duration,
    /// Checkpoints made since the database was opened.
    pub made: u64,
    /// Checkpoints that failed since then.
    pub failed: u64,
    /// Why the last one failed, if it did.
    pub error: Option<String>,
    /// States of the store that a pinned reader keeps, beside the newest: the file grows by what is
    /// replaced meanwhile.
    pub kept: usize,
}

/// The state of a running database, for operators and monitoring. docs/operations.md says what to
/// do about each figure.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Health {
    /// The newest commit that new snapshots see.
    pub published: CommitTs,
    /// The newest commit that took its timestamp.
    pub last: CommitTs,
    /// The oldest commit that a live snapshot or transaction reads at: nothing newer settles.
    pub watermark: CommitTs,
    /// How long the state at the watermark has been out of date.
    pub watermark_age: Duration,
    /// Snapshots and transactions open.
    pub readers: usize,
    /// What the oldest of them reads at; `None` if none is open.
    pub oldest_reader: Option<CommitTs>,
    /// How long what it reads has been out of date.
    pub oldest_reader_age: Duration,
    /// Settled and unsettled entries of all edge types: the settle debt is `unsettled`.
    pub settle: SettleState,
    /// The log; `None` in memory.
    pub log: Option<LogHealth>,
    /// Checkpoints; `None` in memory.
    pub checkpoint: Option<CheckpointHealth>,
    /// Files with the graphs of vector indexes; `None` in memory.
    pub near: Option<NearHealth>,
    /// Memory held.
    pub memory: MemoryUse,
    /// Bytes of it above which what the store holds is dropped; `None` in memory.
    pub memory_limit: Option<u64>,
    /// Segments read from the store since the database was opened, because they were not in memory:
    /// when it is opened, when they are touched first, and again after they left memory.
    pub segments_loaded: u64,
    /// What could not be read since the database was opened, if anything.
    pub error: Option<String>,
    /// Retained part of the past.
    pub history: HistoryHealth,
    /// Ids of transactions that commit once.
    pub once: OnceHealth,
    /// Ids of deleted vertices that new ones can take, and those that wait until nobody can read
    /// the old vertex any more. Ids unused since before the database was opened are found by and
    /// by.
    pub free_vertices: (u64, u64),
}

impl Health {
    /// Share of the adjacency's entries that are not settled, 0 to 1.
    #[must_use]
    pub fn unsettled_share(&self) -> f64 {
        let all = self.settle.settled + self.settle.unsettled;
        if all == 0 { 0.0 } else { self.settle.unsettled as f64 / all as f64 }
    }
}

fn checkpoint_health(shared: &Shared, published: u64) -> Option<CheckpointHealth> {
    let durable = shared.durable.as_ref()?;
    let state = durable.checkpoints.state();
    let last = durable.checkpoint_ts.load(Ordering::Acquire);
    Some(CheckpointHealth {
        last: CommitTs::from_raw(last),
        commits_behind: published.saturating_sub(last),
        age: state.ended.map(|ended| ended.elapsed()),
        took: state.took,
        made: state.made,
        failed: state.failed,
        error: state.error,
        kept: durable.store.stored().generations.live() - 1,
    })
}

fn log_health(shared: &Shared) -> Option<LogHealth> {
    let durable = shared.durable.as_ref()?;
    let written = durable.wal.counters();
    Some(LogHealth {
        bytes_on_disk: durable.store.log_bytes(),
        bytes_archived: archive::bytes(durable.store.root()),
        bytes_written: written.bytes,
        groups: written.groups,
        records: written.records,
        write_time: Duration::from_nanos(written.nanos),
    })
}

impl Engine {
    /// Which database this is; `None` in memory.
    #[must_use]
    pub fn identity(&self) -> Option<Identity> {
        self.shared.durable.as_ref().map(|d| d.store.identity())
    }

    /// The state of the running database: what is falling behind, and why.
    ///
    /// Waits for nobody. Ages are known to within a background interval, and more coarsely the
    /// older they are; without a background thread, only from one call to the next.
    ///
    /// Cost: looks at every segment's version for memory and settle debt, so a few times per minute
    /// is fine and a thousand times per second is not.
    #[must_use]
    pub fn health(&self) -> Health {
        let shared = &self.shared;
        let published = shared.clock.published();
        shared.timeline.note(published);
        let now = Instant::now();
        let age = |ts: u64| shared.timeline.age(ts, now);
        let watermark = shared.watermark();
        let (readers, oldest) = self.readers();
        let mut settle = SettleState::default();
        for number in 0..self.edge_types().len() {
            if let Ok(of) = self.settle_state(EdgeTypeId::from_raw(number as u16)) {
                settle.settled += of.settled;
                settle.unsettled += of.unsettled;
                settle.written_segments += of.written_segments;
                settle.hubs += of.hubs;
            }
        }
        Health {
            published: CommitTs::from_raw(published),
            last: CommitTs::from_raw(shared.last_ts().max(published)),
            watermark: CommitTs::from_raw(watermark),
            watermark_age: age(watermark),
            readers,
            oldest_reader: oldest,
            oldest_reader_age: oldest.map_or(Duration::ZERO, |ts| age(ts.get())),
            settle,
            log: log_health(shared),
            checkpoint: checkpoint_health(shared, published),
            near: shared.durable.as_ref().map(|d| d.near.state()),
            memory: self.memory(),
            memory_limit: self.memory_limit(),
            segments_loaded: shared.durable.as_ref().map_or(0, |d| d.store.stored().memory.loads()),
            error: self.error().map(|e| e.to_string()),
            history: self.history(),
            once: shared.once.health(),
            free_vertices: shared.free_vertices.counts(),
        }
    }

    /// What is retained of the past, and what of it is in memory. Cost: a look at the undo entries
    /// of every segment.
    #[must_use]
    pub fn history(&self) -> HistoryHealth {
        let shared = &self.shared;
        let mut found = HistoryHealth {
            oldest: self.retained().map(|(oldest, _)| oldest),
            readers: shared.history.readers(),
            record_bytes: shared.memory_log.bytes(),
            ..HistoryHealth::default()
        };
        let mut add = |(values, bytes): (u64, usize)| {
            found.values += values;
            found.bytes += bytes;
        };
        add(shared.states.undo.used());
        shared.catalog.vertex_columns().for_each(|(_, c)| add(c.undo.used()));
        for (_, ty) in shared.catalog.edge_types() {
            ty.columns().for_each(|(_, c)| add(c.undo.used()));
        }
        for (_, ty) in shared.catalog.edge_types() {
            for direction in Direction::ALL {
                let used = ty.table(direction).undo.used();
                found.entries += used.entries;
                found.entry_bytes += used.bytes;
            }
        }
        found.bytes += found.entry_bytes;
        found
    }
}
