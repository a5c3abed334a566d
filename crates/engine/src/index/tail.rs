//! Tails: what was added to a partition since its run was built, in the order it came.
//!
//! One writer at a time, under the partition's lock, who counts the slots; readers read them up to
//! the first that is empty. A slot is written once, the first word of its key last: no key begins
//! with eight zero bytes, since every sort key begins with the tag of a type.

use std::sync::{Arc, OnceLock};

use super::key::{Item, SortKey};
use super::run::Run;
use crate::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use smallvec::SmallVec;

/// Entries of a tail. A lookup reads them all; a full tail is merged into the run.
pub(crate) const TAIL_ENTRIES: usize = if cfg!(feature = "shuttle") { 2 } else { 64 };

#[derive(Debug)]
struct Slot<const N: usize> {
    /// 0 until the slot is written.
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
    slots: [Slot<N>; TAIL_ENTRIES],
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
        Self { slots: std::array::from_fn(|_| slot()), rests: OnceLock::new() }
    }

    /// The slots that are written, each with the first word of its key.
    #[inline]
    fn written(&self) -> impl Iterator<Item = (usize, u64, &Slot<N>)> {
        // ORDERING: acquire pairs with the release in `push`.
        let all = self.slots.iter().map(|slot| (slot.high.load(Ordering::Acquire), slot));
        let written = all.take_while(|(high, _)| *high != 0).enumerate();
        written.map(|(at, (high, slot))| (at, high, slot))
    }

    pub(crate) fn len(&self) -> usize {
        self.written().count()
    }

    /// Writes the entry number `at`, if there is room. The caller is the only writer, and has
    /// written those before.
    #[inline]
    pub(crate) fn push(&self, at: usize, key: &SortKey, item: &Item<N>) -> bool {
        let Some(slot) = self.slots.get(at) else {
            return false;
        };
        debug_assert!(key.high() != 0 && slot.high.load(Ordering::Relaxed) == 0);
        slot.low.store(key.head as u64, Ordering::Relaxed);
        for (to, from) in slot.item.iter().zip(item) {
            to.store(*from, Ordering::Relaxed);
        }
        if let Some(rest) = &key.rest {
            let empty = || (0..TAIL_ENTRIES).map(|_| OnceLock::new()).collect();
            let fresh = self.rests.get_or_init(empty)[at].set(Arc::clone(rest)).is_ok();
            debug_assert!(fresh, "every slot is written once");
        }
        // ORDERING: release publishes the slot to readers of its first word.
        slot.high.store(key.high(), Ordering::Release);
        true
    }

    fn rest(&self, at: usize) -> Option<&Arc<[u8]>> {
        self.rests.get()?.get(at)?.get()
    }

    /// Calls `f` with the item of every entry with this key.
    #[inline]
    pub(crate) fn for_key(&self, key: &SortKey, mut f: impl FnMut(Item<N>)) {
        let (wanted, low) = (key.high(), key.head as u64);
        for (at, high, slot) in self.written() {
            if high == wanted
                && slot.low.load(Ordering::Relaxed) == low
                && self.rest(at).map(|r| &**r) == key.rest.as_deref()
            {
                f(slot.item());
            }
        }
    }

    /// Every entry.
    pub(crate) fn sorted(&self) -> Run<N> {
        // PERF: telar bench index: words and places are moved and compared faster than entries.
        let mut order: SmallVec<[(u64, u32); TAIL_ENTRIES]> =
            self.written().map(|(at, high, _)| (high, at as u32)).collect();
        let low = |at: u32| self.slots[at as usize].low.load(Ordering::Relaxed);
        let entry = |at: u32| (low(at), self.rest(at as usize), self.slots[at as usize].item());
        order.sort_unstable_by(|(a, i), (b, j)| a.cmp(b).then_with(|| entry(*i).cmp(&entry(*j))));
        order.dedup_by(|(a, i), (b, j)| a == b && entry(*i) == entry(*j));
        if self.rests.get().is_none() {
            let words = order.iter().map(|(high, at)| (*high, low(*at)));
            let items = order.iter().map(|(_, at)| self.slots[*at as usize].item());
            return Run::of_words(words.zip(items).map(|((high, low), item)| (high, low, item)));
        }
        let mut run = Run::with_capacity(order.len());
        for (high, at) in order {
            let (low, rest, item) = entry(at);
            let head = u128::from(high) << 64 | u128::from(low);
            run.push((SortKey { head, rest: rest.cloned() }, item));
        }
        run
    }

    /// Where the entry number `at` will be written.
    #[inline]
    pub(crate) fn place(&self, at: usize) -> *const u8 {
        self.slots.get(at).map_or(std::ptr::null(), |slot| std::ptr::from_ref(slot).cast())
    }

    /// Heap bytes.
    pub(crate) fn bytes(&self) -> usize {
        let rests = self.rests.get().map_or(0, |rests| {
            size_of_val(&**rests)
                + rests.iter().filter_map(OnceLock::get).map(|r| r.len() + 16).sum::<usize>()
        });
        size_of::<Self>() + rests
    }
}
