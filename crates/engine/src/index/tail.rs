//! Tails: what was added to a partition since its run was built, in the order it came.
//!
//! One writer at a time, under the partition's lock; readers see the slots below `len`. A slot is
//! written once, before `len` covers it.

use std::sync::{Arc, OnceLock};

use super::key::{Entry, Item, SortKey};
use crate::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use crate::words::prefetch;

/// Entries of a tail. A lookup reads them all; a full tail is merged into the run.
pub(crate) const TAIL_ENTRIES: usize = 64;

#[derive(Debug)]
struct Slot<const N: usize> {
    high: AtomicU64,
    low: AtomicU64,
    item: [AtomicU32; N],
}

impl<const N: usize> Slot<N> {
    fn item(&self) -> Item<N> {
        std::array::from_fn(|i| self.item[i].load(Ordering::Relaxed))
    }
}

type Rests = Box<[OnceLock<Arc<[u8]>>]>;

/// Entries in the order they were added.
#[derive(Debug)]
pub(crate) struct Tail<const N: usize> {
    len: AtomicU32,
    slots: Box<[Slot<N>]>,
    /// What does not fit the heads; made with the first such key.
    rests: OnceLock<Rests>,
}

impl<const N: usize> Tail<N> {
    pub(crate) fn new() -> Self {
        let slot = || Slot {
            high: AtomicU64::new(0),
            low: AtomicU64::new(0),
            item: std::array::from_fn(|_| AtomicU32::new(0)),
        };
        Self {
            len: AtomicU32::new(0),
            slots: (0..TAIL_ENTRIES).map(|_| slot()).collect(),
            rests: OnceLock::new(),
        }
    }

    #[inline]
    pub(crate) fn len(&self) -> usize {
        // ORDERING: acquire pairs with the release in `push`.
        self.len.load(Ordering::Acquire) as usize
    }

    /// Adds an entry, if there is room. The caller is the only writer.
    pub(crate) fn push(&self, key: &SortKey, item: &Item<N>) -> bool {
        let at = self.len.load(Ordering::Relaxed);
        let Some(slot) = self.slots.get(at as usize) else {
            return false;
        };
        slot.high.store((key.head >> 64) as u64, Ordering::Relaxed);
        slot.low.store(key.head as u64, Ordering::Relaxed);
        for (to, from) in slot.item.iter().zip(item) {
            to.store(*from, Ordering::Relaxed);
        }
        if let Some(rest) = &key.rest {
            let empty = || (0..TAIL_ENTRIES).map(|_| OnceLock::new()).collect();
            let fresh = self.rests.get_or_init(empty)[at as usize].set(Arc::clone(rest)).is_ok();
            debug_assert!(fresh, "every slot is written once");
        }
        // ORDERING: release publishes the slot to readers of the length.
        self.len.store(at + 1, Ordering::Release);
        true
    }

    fn rest(&self, at: usize) -> Option<&Arc<[u8]>> {
        self.rests.get()?.get(at)?.get()
    }

    /// Calls `f` with the item of every entry with this key.
    #[inline]
    pub(crate) fn for_key(&self, key: &SortKey, mut f: impl FnMut(Item<N>)) {
        let (high, low) = ((key.head >> 64) as u64, key.head as u64);
        for (at, slot) in self.slots[..self.len()].iter().enumerate() {
            if slot.high.load(Ordering::Relaxed) == high
                && slot.low.load(Ordering::Relaxed) == low
                && self.rest(at).map(|r| &**r) == key.rest.as_deref()
            {
                f(slot.item());
            }
        }
    }

    /// The entries that `wanted` lets through, sorted, without repeats.
    pub(crate) fn sorted(&self, wanted: impl Fn(&Entry<N>) -> bool) -> Vec<Entry<N>> {
        let entry = |(at, slot): (usize, &Slot<N>)| {
            let high = u128::from(slot.high.load(Ordering::Relaxed)) << 64;
            let head = high | u128::from(slot.low.load(Ordering::Relaxed));
            (SortKey { head, rest: self.rest(at).cloned() }, slot.item())
        };
        let slots = self.slots[..self.len()].iter().enumerate();
        let mut entries: Vec<_> = slots.map(entry).filter(wanted).collect();
        entries.sort_unstable();
        entries.dedup();
        entries
    }

    /// Brings the slot that is written next closer.
    #[inline]
    pub(crate) fn prefetch_end(&self) {
        if let Some(slot) = self.slots.get(self.len.load(Ordering::Relaxed) as usize) {
            prefetch(slot);
        }
    }

    /// Heap bytes.
    pub(crate) fn bytes(&self) -> usize {
        let rests = self.rests.get().map_or(0, |rests| {
            size_of_val(&**rests)
                + rests.iter().filter_map(OnceLock::get).map(|r| r.len() + 16).sum::<usize>()
        });
        size_of::<Self>() + size_of_val(&*self.slots) + rests
    }
}
