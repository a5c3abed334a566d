//! The memory limit: above it, what the store holds as it is leaves memory.
//!
//! ```text
//!          0 ──────────────── 3/4 ──────── 7/8 ───── limit ───── 5/4
//!  bases in the map are        │            │          │          │
//!  copied to large pages ──────┘            │          │          │
//!  dropping goes on down to here ───────────┘          │          │
//!  the background pass, and who opens a reader, drop ──┘          │
//!  a commit that ended waits until that was done, checkpoint included
//! ```
//!
//! What counts is the heap: bases and extents, tails, hubs, columns, indexes. Pages of the map do
//! not: the system takes them back when it needs memory, and knows better which were used last. So
//! a base that is dropped loses little: it is read in place from then on. Columns are decoded anew
//! when they are touched, so those loaded since the hand last passed are spared once; reads leave
//! no mark, which would cost each of them. What was written since the last checkpoint can be
//! dropped after the next one, which a pass writes if dropping alone does not do. What neither gets
//! rid of, old snapshots or indexes hold: then nobody waits until a sixteenth of the limit has come
//! on top.
//!
//! Cost: a pass looks at every segment that is loaded. Memory let go is free once every thread
//! pinned at that time has unpinned: a `Reader` that is kept for long keeps what it has read.
//! Queries read through the snapshot, which pins for each call (`snapshot/by_call.rs`).

use std::sync::atomic::{AtomicU64, Ordering};

use parking_lot::Mutex;

use super::machine;
use crate::settings::Settings;

/// Where dropping goes on: table and segment.
pub(crate) type Hand = (usize, u32);

/// What the limit is, and how much is held.
#[derive(Debug)]
pub(crate) struct Memory {
    pub(crate) limit: u64,
    /// Memory there is, for this and all else.
    machine: u64,
    /// Bytes held at the last look, and those loaded since.
    pub(crate) used: AtomicU64,
    /// Segments that were read from the store.
    loads: AtomicU64,
    /// Bytes that the last pass could not get rid of; 0 if it got below the limit.
    pub(crate) stuck: AtomicU64,
    /// Held during a pass.
    pub(crate) hand: Mutex<Hand>,
}

impl Memory {
    pub(super) fn new(settings: &Settings) -> Self {
        let machine = machine::memory_bytes();
        let limit = settings.memory_limit_bytes.unwrap_or(machine / 2);
        let [used, loads, stuck] = [(); 3].map(|()| AtomicU64::new(0));
        Self { limit, machine, used, loads, stuck, hand: Mutex::new((0, 0)) }
    }

    /// Notes that a segment came from the store, and what it takes of the heap.
    pub(crate) fn loaded(&self, bytes: usize) {
        self.used.fetch_add(bytes as u64, Ordering::Relaxed);
        self.loads.fetch_add(1, Ordering::Relaxed);
    }

    /// How many did.
    pub(crate) fn loads(&self) -> u64 {
        self.loads.load(Ordering::Relaxed)
    }

    /// Bytes that bases in the map may be copied to the heap with.
    pub(crate) fn room(&self) -> u64 {
        (self.limit / 4 * 3).saturating_sub(self.used.load(Ordering::Relaxed))
    }

    /// Whether the machine's memory has room for these bytes beside the heap, and an eighth to
    /// spare for all else.
    pub(super) fn has_room_for(&self, bytes: u64) -> bool {
        self.used.load(Ordering::Relaxed).saturating_add(bytes) <= self.machine / 8 * 7
    }

    /// Notes what is held after a pass.
    pub(crate) fn passed(&self, used: u64) {
        self.used.store(used, Ordering::Relaxed);
        self.stuck.store(if used > self.limit { used } else { 0 }, Ordering::Relaxed);
    }

    /// Whether more is held than `limit`, and noticeably more than the last pass had to leave: an
    /// old snapshot may hold on to it, or an index.
    pub(crate) fn is_above(&self, limit: u64) -> bool {
        let used = self.used.load(Ordering::Relaxed);
        used > limit && used > self.stuck.load(Ordering::Relaxed).saturating_add(self.limit / 16)
    }
}

/// Up to which write the store's version of a segment is the one every reader sees.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Limits {
    /// Of a segment nothing of which is unsettled.
    pub(crate) settled: u64,
    /// Of another: what its tail tells a retained timestamp has no undo entry yet.
    pub(crate) unsettled: u64,
}

impl Limits {
    /// The limit of a segment.
    pub(crate) fn of(self, is_settled: bool) -> u64 {
        if is_settled { self.settled } else { self.unsettled }
    }
}

/// A table whose segments can be dropped.
pub(crate) trait Droppable {
    /// One past the largest segment that may hold something.
    fn bound(&self) -> u32;

    /// Drops segment `number` if the store has it as every reader sees it: if nothing was written
    /// to it after `limits`. Unless `all` are wanted, one that was loaded since the last time is
    /// spared. Returns the heap bytes let go.
    fn drop_segment(&self, number: u32, limits: Limits, all: bool) -> usize;
}
