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

use crossbeam_epoch as epoch;
use parking_lot::Mutex;
use telar_graph::Direction;

use super::machine;
use crate::settings::Settings;
use crate::shared::Shared;

/// What the limit is, and how much is held.
#[derive(Debug)]
pub(crate) struct Memory {
    pub(crate) limit: u64,
    /// Memory there is, for this and all else.
    machine: u64,
    /// Bytes held at the last look, and those loaded since.
    used: AtomicU64,
    /// Segments that were read from the store.
    loads: AtomicU64,
    /// Bytes that the last pass could not get rid of; 0 if it got below the limit.
    stuck: AtomicU64,
    /// Where dropping goes on: table and segment. Held during a pass.
    hand: Mutex<(usize, u32)>,
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

    /// Whether more is held than `limit`, and noticeably more than the last pass had to leave: an
    /// old snapshot may hold on to it, or an index.
    fn is_above(&self, limit: u64) -> bool {
        let used = self.used.load(Ordering::Relaxed);
        used > limit && used > self.stuck.load(Ordering::Relaxed).saturating_add(self.limit / 16)
    }
}

/// Up to which write the store's version of a segment is the one every reader sees.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Limits {
    /// Of a segment nothing of which is unsettled.
    settled: u64,
    /// Of another: what its tail tells a retained timestamp has no undo entry yet.
    unsettled: u64,
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

fn tables(shared: &Shared) -> Vec<&dyn Droppable> {
    let mut tables: Vec<&dyn Droppable> = vec![&shared.states];
    for (_, ty) in shared.catalog.edge_types() {
        tables.extend(Direction::ALL.map(|d| -> &dyn Droppable { ty.table(d) }));
        tables.extend(ty.columns().map(|(_, c)| -> &dyn Droppable { c }));
    }
    tables.extend(shared.catalog.vertex_columns().map(|(_, c)| -> &dyn Droppable { c }));
    tables
}

/// Drops segments until `wanted` bytes are let go, or all of them were looked at twice. Returns the
/// bytes let go.
fn drop_clean(shared: &Shared, wanted: u64, all: bool, hand: &mut (usize, u32)) -> u64 {
    let Some(durable) = &shared.durable else { return 0 };
    // ORDERING: acquire pairs with the release of the checkpoint: the generation that holds what
    // was stored up to here is the current one.
    let stored = durable.checkpoint_ts.load(Ordering::Acquire);
    let horizon = shared.horizon();
    let settled = stored.min(horizon.watermark);
    let limits = Limits { settled, unsettled: settled.min(horizon.floor) };
    let tables = tables(shared);
    let mut freed = 0;
    // The first table is gone through in two parts.
    for step in 0..=2 * tables.len() {
        if step > 0 {
            *hand = (hand.0 + 1, 0);
        }
        hand.0 %= tables.len();
        let table = tables[hand.0];
        while hand.1 < table.bound() {
            if freed >= wanted {
                return freed;
            }
            freed += table.drop_segment(hand.1, limits, all) as u64;
            hand.1 += 1;
        }
    }
    freed
}

/// Lets the epoch get on, so that what was let go is given back.
fn collect() {
    for _ in 0..3 {
        epoch::pin().flush();
    }
}

/// Drops everything that the store holds as it is; returns the bytes let go.
pub(crate) fn drop_all(shared: &Shared) -> u64 {
    let Some(stored) = &shared.stored else { return 0 };
    let mut hand = stored.memory.hand.lock();
    let freed = drop_clean(shared, u64::MAX, true, &mut hand);
    collect();
    stored.memory.used.store(shared.memory_use().heap() as u64, Ordering::Relaxed);
    freed
}

/// Looks how much memory is held, and brings it under the limit if need be and as far as possible:
/// by dropping, and, with `write`, by a checkpoint if that does not do.
pub(crate) fn pass(shared: &Shared, write: bool) {
    let Some(stored) = &shared.stored else { return };
    let memory = &stored.memory;
    if memory.limit == u64::MAX {
        return;
    }
    // One at a time; with `write`, whoever comes second finds the work done.
    let hand = if write { Some(memory.hand.lock()) } else { memory.hand.try_lock() };
    let Some(mut hand) = hand else { return };
    let measure = || shared.memory_use().heap() as u64;
    let target = memory.limit - memory.limit / 8;
    let mut used = measure();
    if used > memory.limit {
        drop_clean(shared, used - target, false, &mut hand);
        used = measure();
        let stuck = memory.stuck.load(Ordering::Relaxed).saturating_add(memory.limit / 16);
        if write && used > memory.limit.max(stuck) {
            // A failure leaves the last checkpoint in force and is told by `Engine::health`.
            drop(crate::checkpoint::checkpoint(shared));
            drop_clean(shared, used.saturating_sub(target), false, &mut hand);
            used = measure();
        }
        collect();
    }
    memory.used.store(used, Ordering::Relaxed);
    memory.stuck.store(if used > memory.limit { used } else { 0 }, Ordering::Relaxed);
}

/// Called by whoever opens a reader, before it pins: drops if too much was loaded.
#[inline]
pub(crate) fn relieve(shared: &Shared) {
    if let Some(stored) = &shared.stored
        && stored.memory.is_above(stored.memory.limit)
    {
        pass(shared, false);
    }
}

/// Called after a commit, with nothing held: far above the limit, writers wait for memory.
#[inline]
pub(crate) fn hold_back(shared: &Shared) {
    if let Some(stored) = &shared.stored
        && stored.memory.is_above(stored.memory.limit.saturating_add(stored.memory.limit / 4))
    {
        pass(shared, true);
    }
}
