//! Vertex ids that can be used again.
//!
//! ```text
//!  deleted at ts ──▶ waiting ── nobody can read before ts any more ──▶ ready ──▶ a new vertex
//!  taken by a transaction that aborted ───────────────────────────────▶ ready
//!  unused when the database was opened ── sweep, a few at a time ─────▶ ready
//! ```
//!
//! An id that is deleted waits until both the low watermark and the floor of history have reached
//! its deletion: every reader there is or can be sees that the vertex is gone. A deletion removes
//! edges and properties in the same commit, so nothing of the old vertex shows with the new one;
//! that is looked at once more before an id becomes ready.
//!
//! Nothing of this is stored. When a database is opened, every id below the next one whose vertex
//! does not exist was deleted, or never used, by then: a sweep finds them. So a crash loses and
//! doubles nothing, and replaying the log needs no order but its own.
//!
//! Invariants
//! 1. An id is in one place at most: alive, waiting, ready, or held by a transaction.
//! 2. The sweep takes an id only if it was not alive at any time since the database was opened: who
//!    deletes a vertex says so before the deletion is applied.

use std::collections::{HashSet, VecDeque};
use std::sync::atomic::{AtomicBool, Ordering};

use crossbeam_epoch as epoch;
use parking_lot::Mutex;
use telar_graph::Direction;

use crate::adjacency::scan::TableView;
use crate::adjacency::{SEGMENT_VERTICES, local_of, segment_of};
use crate::catalog::Catalog;
use crate::column::{ColTable, StateChunk};
use crate::horizon::Horizon;

/// The read timestamp that sees everything applied.
const NOW: u64 = u64::MAX;
/// Deletions after which a commit looks which ids have become ready.
const LOOK_EVERY: usize = 1024;
/// Ids a sweep looks at in one go.
const SWEEP_IDS: u32 = 64 * SEGMENT_VERTICES as u32;

/// Ids that can be, or will be able to be, used again.
#[derive(Debug, Default)]
pub(crate) struct FreeVertices {
    ready: Mutex<Vec<u32>>,
    has_ready: AtomicBool,
    waiting: Mutex<Waiting>,
}

#[derive(Debug, Default)]
struct Waiting {
    /// About in the order of their deletion.
    deleted: VecDeque<(u64, u32)>,
    sweep: Option<Sweep>,
}

/// What was unused when the database was opened, as far as it was not looked at yet.
#[derive(Debug)]
struct Sweep {
    next: u32,
    end: u32,
    opened_at: u64,
    /// Deleted since, or about to be.
    deleted: HashSet<u32>,
}

impl FreeVertices {
    /// A ready id.
    #[inline]
    pub(crate) fn take(&self) -> Option<u32> {
        if !self.has_ready.load(Ordering::Relaxed) {
            return None;
        }
        let mut ready = self.ready.lock();
        let id = ready.pop();
        self.has_ready.store(!ready.is_empty(), Ordering::Relaxed);
        id
    }

    /// Takes back ids that nobody saw.
    pub(crate) fn give_back(&self, ids: impl Iterator<Item = u32>) {
        let mut ready = self.ready.lock();
        ready.extend(ids);
        self.has_ready.store(!ready.is_empty(), Ordering::Relaxed);
    }

    /// Finds, from now on, the ids below `end` that are unused at `opened_at`.
    pub(crate) fn begin_sweep(&self, end: u32, opened_at: u64) {
        let deleted = HashSet::new();
        self.waiting.lock().sweep = Some(Sweep { next: 0, end, opened_at, deleted });
    }

    /// Vertices are about to be deleted, perhaps.
    pub(crate) fn will_delete(&self, ids: impl Iterator<Item = u32>) {
        let mut waiting = self.waiting.lock();
        if let Some(sweep) = &mut waiting.sweep {
            sweep.deleted.extend(ids.filter(|v| (sweep.next..sweep.end).contains(v)));
        }
    }

    /// Vertices were deleted at `ts`. Returns whether it is time to harvest.
    pub(crate) fn deleted(&self, ts: u64, ids: impl Iterator<Item = u32>) -> bool {
        let mut waiting = self.waiting.lock();
        let before = waiting.deleted.len() / LOOK_EVERY;
        waiting.deleted.extend(ids.map(|v| (ts, v)));
        waiting.deleted.len() / LOOK_EVERY > before
    }

    /// Ids that are ready, and deleted ones that wait for readers. What a sweep has not looked at
    /// is in neither.
    pub(crate) fn counts(&self) -> (u64, u64) {
        (self.ready.lock().len() as u64, self.waiting.lock().deleted.len() as u64)
    }

    /// Makes ids ready that no reader can see the old vertex of.
    pub(crate) fn harvest(
        &self,
        catalog: &Catalog,
        states: &ColTable<StateChunk>,
        horizon: Horizon,
    ) {
        let seen = horizon.watermark.min(horizon.floor);
        let mut waiting = self.waiting.lock();
        let mut found = Vec::new();
        while let Some((_, v)) = waiting.deleted.pop_front_if(|(ts, _)| *ts <= seen) {
            found.push(v);
        }
        if let Some(sweep) = waiting.sweep.as_mut().filter(|s| s.opened_at <= seen) {
            let guard = &epoch::pin();
            let end = sweep.end.min(sweep.next.saturating_add(SWEEP_IDS));
            let unused = |v: &u32| states.get(*v, NOW, guard) == 0 && !sweep.deleted.contains(v);
            found.extend((sweep.next..end).filter(unused));
            sweep.next = end;
            if end == sweep.end {
                waiting.sweep = None;
            }
        }
        drop(waiting);
        found.sort_unstable();
        let mut found = clean(catalog, states, &found);
        if !found.is_empty() {
            // Ids are taken from the end: the smallest first.
            found.reverse();
            self.give_back(found.into_iter());
        }
    }
}

/// Those of these vertices, ascending, of which nothing is left.
fn clean(catalog: &Catalog, states: &ColTable<StateChunk>, deleted: &[u32]) -> Vec<u32> {
    let mut found = Vec::new();
    for same in deleted.chunk_by(|a, b| segment_of(*a) == segment_of(*b)) {
        let guard = &epoch::pin();
        let number = segment_of(same[0]);
        let mut has_something = [false; SEGMENT_VERTICES];
        for (_, column) in catalog.vertex_columns() {
            if column.may_hold(number, guard) {
                column.present(number, NOW, guard, |l| has_something[l as usize] = true);
            }
        }
        for (_, ty) in catalog.edge_types() {
            for table in Direction::ALL.map(|d| ty.table(d)).iter().filter(|t| t.may_hold(number)) {
                let lists = TableView::new(table, NOW, guard);
                for v in same.iter().filter(|v| lists.degree(**v) > 0) {
                    has_something[local_of(*v) as usize] = true;
                }
            }
        }
        let is_clean =
            |v: &&u32| !has_something[local_of(**v) as usize] && states.get(**v, NOW, guard) == 0;
        found.extend(same.iter().filter(is_clean));
    }
    found
}
