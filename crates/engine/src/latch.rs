//! Latches: 32 stripes in one word.
//!
//! Every segment (and every hub chunk) has one latch word. A writer takes the stripes of the
//! vertices it touches, all stripes of a word in one step; whoever rebuilds the segment takes the
//! whole word.
//!
//! Invariants: words are taken in ascending [`LatchKey`] order and held until the commit has
//! applied, so no cycle of waiters can form; nobody waits for anything but latches while holding
//! one. Within a word, who finds stripes taken keeps those below them that are free: stripes are
//! taken in ascending order, too, and whoever wants all of them is not passed by for ever by others
//! that want one each. Cost: one compare-and-swap per word, uncontended.
//! Source: ordered per-vertex latches (G2PL), "Revisiting the Design of In-Memory Dynamic Graph
//! Storage", SIGMOD 2025, section 4.

use crate::sync::atomic::{AtomicU32, Ordering};
use crate::sync::{hint, thread};

/// All stripes of a word.
pub(crate) const ALL_STRIPES: u32 = u32::MAX;

/// Failed attempts before a waiter gives up its time slice. On a machine with fewer cores than
/// writers the holder may be descheduled; spinning longer only keeps it so.
const SPINS_MAX: u32 = 64;

/// Time slices that a waiter gives up before it sleeps: a large commit holds its latches for
/// seconds, and whoever waited awake would take a processor from it.
const YIELDS_MAX: u32 = 256;
/// Longest sleep, in microseconds.
const SLEEP_MAX: u32 = 1000;

/// Lets others run before attempt number `attempt` of somebody who has waited awake for a while.
pub(crate) fn pause(attempt: u32) {
    match attempt.checked_sub(YIELDS_MAX) {
        Some(longer) if cfg!(not(feature = "shuttle")) => {
            let micros = longer.saturating_add(1).min(SLEEP_MAX);
            std::thread::sleep(std::time::Duration::from_micros(micros.into()));
        }
        _ => thread::yield_now(),
    }
}

/// One latch word of 32 stripes.
#[derive(Debug, Default)]
pub(crate) struct Latch(AtomicU32);

impl Latch {
    /// The stripe of vertex `local`, as a mask.
    #[inline]
    pub(crate) fn stripe(local: u32) -> u32 {
        1 << (local & 31)
    }

    /// Takes every stripe of `mask`, waiting until they are free.
    #[inline]
    pub(crate) fn acquire(&self, mask: u32) {
        if !self.try_acquire(mask) {
            let taken = self.wait(mask, &mut || false);
            debug_assert!(taken, "nobody gave up");
        }
    }

    /// The same, unless `stop` says meanwhile to give up. Returns whether they are taken.
    #[inline]
    pub(crate) fn acquire_unless(&self, mask: u32, stop: &mut dyn FnMut() -> bool) -> bool {
        self.try_acquire(mask) || self.wait(mask, stop)
    }

    #[cold]
    fn wait(&self, mask: u32, stop: &mut dyn FnMut() -> bool) -> bool {
        let (mut left, mut spins) = (mask, 0);
        loop {
            let seen = self.0.load(Ordering::Relaxed);
            // Up to the first stripe that is not free.
            let taken = seen & left;
            let below = taken & taken.wrapping_neg();
            let free = if taken == 0 { left } else { left & below.wrapping_sub(1) };
            // ORDERING: as in `try_acquire`.
            let exchange =
                |to| self.0.compare_exchange_weak(seen, to, Ordering::Acquire, Ordering::Relaxed);
            if free != 0 && exchange(seen | free).is_ok() {
                left &= !free;
                if left == 0 {
                    return true;
                }
            }
            spins = u32::saturating_add(spins, 1);
            if spins < SPINS_MAX {
                hint::spin_loop();
                continue;
            }
            if stop() {
                if left != mask {
                    self.release(mask & !left);
                }
                return false;
            }
            pause(spins - SPINS_MAX);
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

/// Place of a latch word in the global order: first the words of segments, by table and segment,
/// then those of hub chunks, by table, segment, vertex and first id.
///
/// Chunks come last, so that who holds the words of all its segments knows which lists are hubs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct LatchKey {
    is_chunk: bool,
    table_segment: u64,
    hub: u64,
}

impl LatchKey {
    /// Key of the word of `segment` in the table with number `table`.
    pub(crate) const fn segment(table: u32, segment: u32) -> Self {
        let table_segment = (table as u64) << 32 | segment as u64;
        Self { is_chunk: false, table_segment, hub: 0 }
    }

    /// Key of the word of the hub chunk of vertex `local` whose smallest id is `first`.
    pub(crate) fn chunk(table: u32, segment: u32, local: u32, first: u32) -> Self {
        let hub = u64::from(local) << 32 | u64::from(first);
        Self { is_chunk: true, hub, ..Self::segment(table, segment) }
    }
}

#[cfg(test)]
#[cfg(not(feature = "shuttle"))]
mod tests {
    use super::*;

    #[test]
    fn latch_taken_in_part_is_given_back_when_the_wait_is_given_up() {
        let latch = Latch::default();
        let other = latch.hold(1 << 9);
        let mut asked = 0;
        let mut stop = || {
            asked += 1;
            // The stripes below are had, those above are not.
            assert!(!latch.try_acquire(1 << 3) && latch.try_acquire(1 << 12));
            latch.release(1 << 12);
            asked == 3
        };
        assert!(!latch.acquire_unless(ALL_STRIPES, &mut stop));
        assert_eq!(asked, 3);
        drop(latch.hold(ALL_STRIPES & !(1 << 9)));
        drop(other);
        assert!(latch.acquire_unless(ALL_STRIPES, &mut || unreachable!("it is free")));
    }

    #[test]
    fn latch_keys_of_chunks_come_after_those_of_all_segments() {
        let chunk = LatchKey::chunk(1, 2, 3, 4);
        assert!(LatchKey::segment(1, 2) < LatchKey::segment(1, 3));
        assert!(LatchKey::segment(9, 9) < chunk);
        assert!(chunk < LatchKey::chunk(1, 2, 4, 0) && chunk < LatchKey::chunk(1, 2, 3, 5));
    }
}
