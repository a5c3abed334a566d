//! Partitions of a tree: what readers see of one, and what only its writer looks at.
//!
//! ```text
//!  partition  one line: version · lock · tail, its length, first word of the end · last write
//!     │
//!     ▼
//!  version    lower bound · what follows to the right · run (sorted, immutable) · tail ─► slots
//! ```
//!
//! Invariants: the writer's tail is the tail of the version; its `len` first slots are written.
//! Concurrency: readers take versions as they are; one writer at a time, under the lock.

use std::sync::Arc;

use crossbeam_epoch::Guard;

use super::key::{Entry, Item, SortKey};
use super::packed::Held;
use super::run::Run;
use super::tail::Tail;
use crate::reclaim::EpochCell;
use crate::sync::Mutex;
use crate::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

/// An entry made obsolete, and by which commit.
#[derive(Debug)]
pub(super) struct Stale<const N: usize> {
    pub(super) entry: Entry<N>,
    pub(super) ts: u64,
}

/// Entries of a partition that some commit made obsolete.
#[derive(Debug, Default)]
pub(super) struct StaleEntries<const N: usize> {
    pub(super) entries: Vec<Stale<N>>,
    /// Number of entries at which they are looked at again.
    pub(super) look_at: usize,
}

/// What only the writer of a partition looks at.
#[derive(Debug)]
pub(super) struct Writing<const N: usize> {
    /// The tail of the version.
    pub(super) tail: Option<Arc<Tail<N>>>,
    /// Keys whose first word is smaller belong here or to the left. May be less than it could be.
    pub(super) end_high: u64,
    pub(super) stale: Option<Box<StaleEntries<N>>>,
    /// Entries of the tail.
    len: u32,
    /// Entries of the tail when the partition was settled the last time.
    settled: u16,
    /// Number of times that it was settled since something was added.
    idle: u16,
}

impl<const N: usize> Default for Writing<N> {
    fn default() -> Self {
        Self { tail: None, end_high: 0, stale: None, len: 0, settled: 0, idle: 0 }
    }
}

impl<const N: usize> Writing<N> {
    /// Says that the partition is being settled; true once nothing was added to its tail for so
    /// many times.
    pub(super) fn settles_idle(&mut self, times: u16) -> bool {
        let len = self.len as u16;
        self.idle = if len == self.settled { self.idle.saturating_add(1) } else { 0 };
        self.settled = len;
        self.tail.is_some() && self.idle >= times
    }

    pub(super) fn stale(&mut self) -> &mut StaleEntries<N> {
        self.stale.get_or_insert_default()
    }
}

/// The entries of a partition at some moment.
#[derive(Debug)]
pub(crate) struct Version<const N: usize> {
    pub(super) low: Entry<N>,
    /// Where the partition to the right begins, and its number.
    pub(crate) next: Option<(Entry<N>, u32)>,
    pub(super) run: Held<N>,
    pub(super) tail: Option<Arc<Tail<N>>>,
}

impl<const N: usize> Version<N> {
    /// The partition to the right, if `key` and `item` lie there or further on.
    #[inline]
    pub(super) fn beyond(&self, key: &SortKey, item: &Item<N>) -> Option<u32> {
        let ((end_key, end_item), number) = self.next.as_ref()?;
        (end_key, end_item).le(&(key, item)).then_some(*number)
    }

    /// Every entry, sorted.
    pub(crate) fn entries(&self) -> Run<N> {
        match &self.tail {
            None => self.run.run().into_owned(),
            Some(tail) => self.run.run().merged(&tail.sorted(), &[]),
        }
    }
}

/// A part of the key range.
///
/// PERF: telar bench index: adding an entry touches this one line and the slot.
#[derive(Debug, Default)]
#[repr(align(64))]
pub(super) struct Partition<const N: usize> {
    pub(super) version: EpochCell<Version<N>>,
    pub(super) writing: Mutex<Writing<N>>,
    /// Largest commit timestamp that changed something here. Written under the lock.
    pub(super) last_write: AtomicU64,
    /// Address of the slot that is written next; a hint.
    pub(super) next_slot: AtomicUsize,
}

#[cfg(not(feature = "shuttle"))]
const _: () = assert!(size_of::<Partition<1>>() == 64);

impl<const N: usize> Partition<N> {
    /// Says that the commit `ts` changed something. The caller holds the lock.
    #[inline]
    pub(super) fn wrote(&self, ts: u64) {
        if ts > self.last_write.load(Ordering::Relaxed) {
            self.last_write.store(ts, Ordering::Relaxed);
        }
    }

    /// Adds an entry to the tail, if there is room.
    #[inline]
    pub(super) fn push(&self, writing: &mut Writing<N>, key: &SortKey, item: &Item<N>) -> bool {
        let Some(tail) = &writing.tail else { return false };
        let at = writing.len as usize;
        let is_added = tail.push(at, key, item);
        if is_added {
            writing.len += 1;
            self.next_slot.store(tail.place(at + 1).addr(), Ordering::Relaxed);
        }
        is_added
    }

    /// Replaces the version, whose tail is empty.
    pub(super) fn put(&self, writing: &mut Writing<N>, version: Version<N>, guard: &Guard) {
        writing.tail.clone_from(&version.tail);
        writing.len = 0;
        writing.end_high = version.next.as_ref().map_or(u64::MAX, |((end, _), _)| end.high());
        let place = version.tail.as_ref().map_or(0, |tail| tail.place(0).addr());
        self.next_slot.store(place, Ordering::Relaxed);
        self.version.put(version, guard);
    }
}
