//! Latches: 32 stripes in one word.
//!
//! Every segment (and every hub chunk) has one latch word. A writer takes the stripes of the
//! vertices it touches, all stripes of a word in one step; whoever rebuilds the segment takes the
//! whole word.
//!
//! Invariants: words are taken in ascending [`LatchKey`] order and held until the commit has
//! applied, so no cycle of waiters can form; nobody waits for anything but latches while holding
//! one. Cost: one compare-and-swap per word, uncontended.
//! Source: ordered per-vertex latches (G2PL), "Revisiting the Design of In-Memory Dynamic Graph
//! Storage", SIGMOD 2025, section 4.

use crate::sync::atomic::{AtomicU32, Ordering};
use crate::sync::{hint, thread};

/// All stripes of a word.
pub(crate) const ALL_STRIPES: u32 = u32::MAX;

/// Failed attempts before a waiter gives up its time slice. On a machine with fewer cores than
/// writers the holder may be descheduled; spinning longer only keeps it so.
const SPINS_MAX: u32 = 64;

/// One latch word of 32 stripes.
#[derive(Debug, Default)]
pub(crate) struct Latch(AtomicU32);

impl Latch {
    /// The stripe of vertex `local`, as a mask.
    #[inline]
    pub(crate) fn stripe(local: u32) -> u32 {
        1 << (local & 31)
    }

    /// Takes every stripe of `mask` in one step, waiting until all of them are free.
    #[inline]
    pub(crate) fn acquire(&self, mask: u32) {
        let mut spins = 0;
        while !self.try_acquire(mask) {
            spins += 1;
            if spins < SPINS_MAX {
                hint::spin_loop();
            } else {
                thread::yield_now();
            }
        }
    }

    /// Takes every stripe of `mask` if all are free.
    #[inline]
    pub(crate) fn try_acquire(&self, mask: u32) -> bool {
        let seen = self.0.load(Ordering::Relaxed);
        // ORDERING: acquire pairs with the release in `release`: the last holder's writes are
        // visible.
        seen & mask == 0
            && self
                .0
                .compare_exchange_weak(seen, seen | mask, Ordering::Acquire, Ordering::Relaxed)
                .is_ok()
    }

    /// Takes every stripe of `mask` until the returned value is dropped, also by a panic.
    pub(crate) fn hold(&self, mask: u32) -> Held<'_> {
        self.acquire(mask);
        Held { latch: self, mask }
    }

    /// Takes every stripe until the returned value is dropped, if all are free.
    pub(crate) fn try_hold(&self) -> Option<Held<'_>> {
        // Not `then_some`: a value made in vain would give back what others hold.
        self.try_acquire(ALL_STRIPES).then(|| Held { latch: self, mask: ALL_STRIPES })
    }

    /// Gives back stripes taken before.
    #[inline]
    pub(crate) fn release(&self, mask: u32) {
        // ORDERING: release publishes what was written under the latch to the next holder.
        let before = self.0.fetch_and(!mask, Ordering::Release);
        debug_assert_eq!(before & mask, mask, "released a latch that was not held");
    }
}

/// Stripes held; given back when dropped.
#[derive(Debug)]
pub(crate) struct Held<'l> {
    latch: &'l Latch,
    mask: u32,
}

impl Drop for Held<'_> {
    fn drop(&mut self) {
        self.latch.release(self.mask);
    }
}

/// Place of a latch word in the global order: table and segment, then 0 for the segment's own word
/// or vertex and first key for a hub chunk's.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct LatchKey {
    pub(crate) table_segment: u64,
    pub(crate) hub: u64,
}

impl LatchKey {
    /// Key of the word of `segment` in the table with number `table`.
    pub(crate) fn segment(table: u32, segment: u32) -> Self {
        Self { table_segment: u64::from(table) << 32 | u64::from(segment), hub: 0 }
    }

    /// Key of the word of the hub chunk of vertex `local` whose smallest id is `first`.
    pub(crate) fn chunk(table: u32, segment: u32, local: u32, first: u32) -> Self {
        Self {
            table_segment: u64::from(table) << 32 | u64::from(segment),
            hub: (u64::from(local) + 1) << 32 | u64::from(first),
        }
    }
}
