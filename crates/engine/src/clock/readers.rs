//! Slots in which live readers publish the timestamp they read at.
//!
//! Protocol: a reader stores its timestamp in a slot, reads the published timestamp again and
//! starts over until both agree. Whoever computes the low watermark reads the published timestamp
//! first and the slots after it. Either it sees the reader's slot, or the reader's second look
//! comes later in the total order of these operations and finds a timestamp at least as new as the
//! watermark.
//!
//! Cost: opening and closing a snapshot touches one cache line of its own and reads one shared
//! line; independent of the number of vertices. The watermark reads as many slots as were ever in
//! use at once.

use crossbeam_utils::CachePadded;

use super::Clock;
use crate::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use crate::sync::thread;

/// Most snapshots and transactions open at once.
#[cfg(not(feature = "shuttle"))]
pub(crate) const READERS_MAX: usize = 4096;
#[cfg(feature = "shuttle")]
pub(crate) const READERS_MAX: usize = 4;

/// An unused slot.
const FREE: u64 = u64::MAX;
/// A slot taken by a reader that has not stored a timestamp yet. Its second look is still to come,
/// so the watermark may pass over it.
const OPENING: u64 = u64::MAX - 1;

/// All reader slots of a database.
#[derive(Debug)]
pub(crate) struct Readers {
    slots: Box<[CachePadded<AtomicU64>]>,
    /// One past the highest slot ever used.
    used: CachePadded<AtomicUsize>,
    /// New readers wait: a bulk load replaces what older ones than it must not see.
    paused: CachePadded<AtomicBool>,
}

thread_local! {
    /// Where this thread found a free slot last.
    static HINT: std::cell::Cell<usize> = const { std::cell::Cell::new(usize::MAX) };
}

#[cfg(not(feature = "shuttle"))]
static NEXT_HINT: std::sync::atomic::AtomicUsize = std::sync::atomic::AtomicUsize::new(0);

/// A first guess that spreads threads over the slots.
fn first_hint() -> usize {
    #[cfg(not(feature = "shuttle"))]
    return NEXT_HINT.fetch_add(1, std::sync::atomic::Ordering::Relaxed) % 64;
    #[cfg(feature = "shuttle")]
    return 0;
}

impl Readers {
    pub(crate) fn new() -> Self {
        Self {
            slots: (0..READERS_MAX).map(|_| CachePadded::new(AtomicU64::new(FREE))).collect(),
            used: CachePadded::new(AtomicUsize::new(0)),
            paused: CachePadded::new(AtomicBool::new(false)),
        }
    }

    /// Registers a reader at the newest published timestamp. Returns slot and timestamp; `None` if
    /// every slot is taken.
    #[inline]
    pub(crate) fn open(&self, clock: &Clock) -> Option<(usize, u64)> {
        let slot = self.take_slot()?;
        let cell = &self.slots[slot];
        let mut ts = clock.published();
        loop {
            // ORDERING: sequentially consistent, as the protocol above needs a total order of this
            // store, the second look, and the watermark's reads.
            cell.store(ts, Ordering::SeqCst);
            // Looked at before the second look: a load that paused after it sees the slot, and one
            // that paused before has published by the time it ends the pause.
            let paused = self.paused.load(Ordering::SeqCst);
            let again = clock.published();
            if again == ts && !paused {
                return Some((slot, ts));
            }
            ts = if paused { self.wait_paused(cell, clock) } else { again };
        }
    }

    /// Waits for the end of a pause, without standing in its way.
    #[cold]
    fn wait_paused(&self, cell: &AtomicU64, clock: &Clock) -> u64 {
        cell.store(OPENING, Ordering::SeqCst);
        while self.paused.load(Ordering::SeqCst) {
            thread::yield_now();
        }
        clock.published()
    }

    /// Makes new readers wait. Whoever looks at the slots after this sees every reader that did
    /// not: it stored its timestamp before it looked whether it has to wait.
    pub(crate) fn pause(&self) {
        self.paused.store(true, Ordering::SeqCst);
    }

    /// Ends a pause.
    pub(crate) fn resume(&self) {
        self.paused.store(false, Ordering::SeqCst);
    }

    #[inline]
    fn take_slot(&self) -> Option<usize> {
        let hint = HINT.get();
        let start = if hint == usize::MAX { first_hint() } else { hint };
        for i in 0..READERS_MAX {
            let slot = (start + i) % READERS_MAX;
            let cell = &self.slots[slot];
            if cell.load(Ordering::Relaxed) == FREE
                && cell.compare_exchange(FREE, OPENING, Ordering::SeqCst, Ordering::Relaxed).is_ok()
            {
                if slot >= self.used.load(Ordering::Acquire) {
                    self.used.fetch_max(slot + 1, Ordering::SeqCst);
                }
                HINT.set(slot);
                return Some(slot);
            }
        }
        None
    }

    /// Ends the reader in `slot`.
    #[inline]
    pub(crate) fn close(&self, slot: usize) {
        // ORDERING: release: the reader's reads are over before its slot is seen free.
        self.slots[slot].store(FREE, Ordering::Release);
    }

    /// The oldest timestamp a live or future reader can read at.
    pub(crate) fn watermark(&self, clock: &Clock) -> u64 {
        let mut oldest = clock.published();
        let used = self.used.load(Ordering::SeqCst);
        for slot in &self.slots[..used.min(READERS_MAX)] {
            oldest = oldest.min(slot.load(Ordering::SeqCst));
        }
        oldest
    }

    /// Live readers and the oldest timestamp among them.
    pub(crate) fn live(&self) -> (usize, Option<u64>) {
        let used = self.used.load(Ordering::SeqCst).min(READERS_MAX);
        let live = self.slots[..used].iter().map(|s| s.load(Ordering::SeqCst));
        let mut count = 0;
        let mut oldest = None;
        for ts in live.filter(|ts| *ts < OPENING) {
            count += 1;
            oldest = Some(oldest.map_or(ts, |o: u64| o.min(ts)));
        }
        (count, oldest)
    }
}
