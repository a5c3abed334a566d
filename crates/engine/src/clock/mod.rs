//! Commit timestamps and the published read timestamp.
//!
//! Invariants: timestamps are consecutive from 1; `published` only grows, one commit at a time, and
//! never passes a commit that is not applied or, where the caller sets a limit, not durable.
//! Concurrency: lock-free; whoever finds the next commit applied advances `published`, so a slow
//! committer is helped past as soon as it has applied.
//! Cost: one store and one compare-and-swap per commit.

pub(crate) mod readers;
pub(crate) mod timeline;
pub(crate) mod wall;

use crossbeam_utils::CachePadded;

use crate::latch::pause;
use crate::sync::atomic::{AtomicU64, Ordering};
use crate::sync::thread;

/// Commits that may be applied and not yet published. Far above the number of threads; only `async`
/// bursts or a stalled disk come near it.
#[cfg(not(feature = "shuttle"))]
const RING: usize = 1 << 14;
#[cfg(feature = "shuttle")]
const RING: usize = 4;

/// Looks at the clock before whoever waits for it lets others run.
const SPINS_MAX: u32 = 32;

/// Source of commit timestamps and of the read timestamp of new snapshots.
#[derive(Debug)]
pub(crate) struct Clock {
    last: CachePadded<AtomicU64>,
    published: CachePadded<AtomicU64>,
    /// `applied[t % RING] == t` once commit `t` has applied.
    applied: Box<[AtomicU64]>,
}

impl Clock {
    /// A clock whose last commit, published, was `last`.
    pub(crate) fn new(last: u64) -> Self {
        Self {
            last: CachePadded::new(AtomicU64::new(last)),
            published: CachePadded::new(AtomicU64::new(last)),
            applied: (0..RING).map(|_| AtomicU64::new(0)).collect(),
        }
    }

    /// Takes the next timestamp. Where a log hands out timestamps, it does so instead.
    #[inline]
    pub(crate) fn next(&self) -> u64 {
        self.last.fetch_add(1, Ordering::AcqRel) + 1
    }

    /// The last timestamp taken here.
    #[inline]
    pub(crate) fn last(&self) -> u64 {
        self.last.load(Ordering::Relaxed)
    }

    /// The timestamp new snapshots read at.
    #[inline]
    pub(crate) fn published(&self) -> u64 {
        // ORDERING: sequentially consistent with the reader slots, see `readers.rs`.
        self.published.load(Ordering::SeqCst)
    }

    /// Sets last and published timestamp to `ts` while recovering: nobody else uses the clock.
    pub(crate) fn restart_at(&self, ts: u64) {
        self.last.store(ts, Ordering::SeqCst);
        self.published.store(ts, Ordering::SeqCst);
    }

    /// Waits until `ts` has a place in the ring, that is until commit `ts - RING` is published.
    #[inline]
    pub(crate) fn wait_for_room(&self, ts: u64, mut durable: impl FnMut() -> u64) {
        while ts > self.published() + RING as u64 {
            self.advance(durable());
            thread::yield_now();
        }
    }

    /// Marks commit `ts` as applied.
    #[inline]
    pub(crate) fn mark_applied(&self, ts: u64) {
        // ORDERING: release pairs with the acquire in `advance`: what the commit wrote is visible
        // to whoever publishes it.
        self.applied[ts as usize % RING].store(ts, Ordering::Release);
    }

    /// Publishes every applied commit up to `limit`, in order, as far as they are consecutive.
    #[inline]
    pub(crate) fn advance(&self, limit: u64) {
        loop {
            let now = self.published.load(Ordering::SeqCst);
            let next = now + 1;
            if next > limit || self.applied[next as usize % RING].load(Ordering::Acquire) != next {
                return;
            }
            // Losing the race means that somebody else published it.
            let _ = self.published.compare_exchange(now, next, Ordering::SeqCst, Ordering::Relaxed);
        }
    }

    /// Waits until `ts` is published; `durable` tells how far the log is on disk.
    #[inline]
    pub(crate) fn wait_published(&self, ts: u64, mut durable: impl FnMut() -> u64) {
        let mut spins = 0u32;
        loop {
            self.advance(durable());
            if self.published() >= ts {
                return;
            }
            spins = spins.saturating_add(1);
            match spins.checked_sub(SPINS_MAX) {
                Some(longer) => pause(longer),
                None => crate::sync::hint::spin_loop(),
            }
        }
    }
}
