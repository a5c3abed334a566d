//! Bytes that the process has allocated, and each of its threads.
//!
//! ```text
//!  allocator of the program ── grew, shrank ──► this thread: live, told ──(64 KiB)──► LIVE
//!                                                    ▲                                  ▲
//!                  since_mark: this request ─────────┘        Budget: the whole server ─┘
//! ```
//!
//! A server cannot bound its memory by adding up what its parts say that they hold: values that an
//! expression builds, messages that are decoded, texts that are parsed, plans and caches would each
//! have to be counted by hand, and whatever was forgotten is where the memory goes. So the
//! allocator of the program counts, as ClickHouse's `MemoryTracker` does, and the budget of
//! `telar-query` compares. A program whose allocator does not count has a [`live`] of next to 0,
//! and budgets that nothing exceeds.
//!
//! Blocks may be freed by another thread than the one that allocated them, so the balance of a
//! thread is a hint of who holds much, while the sum over all threads is exact, up to
//! 64 KiB for each thread.
//!
//! Cost: an addition to a variable of the thread, and a comparison, for each call of the allocator.

use std::cell::Cell;
use std::sync::atomic::{AtomicI64, Ordering};

/// Bytes by which a thread's balance may differ from what it has told all.
const TOLD_BYTES: i64 = 64 << 10;

/// Balances around the one that was told last that differ from it by less than [`TOLD_BYTES`].
const SPAN: u64 = 2 * TOLD_BYTES.unsigned_abs() - 1;

/// A least balance from which every balance is [`SPAN`] or more away.
const NEVER: i64 = i64::MAX;

/// Bytes that all threads together have allocated and not freed. It may be below 0 for moments, as
/// a thread tells of what it freed before another one tells of having allocated it.
static LIVE: AtomicI64 = AtomicI64::new(0);

/// Largest value that [`LIVE`] had since [`watch_peak`].
static PEAK: AtomicI64 = AtomicI64::new(0);

/// Balance of a thread: bytes allocated, less those freed.
struct Here {
    live: Cell<i64>,
    /// The least of the [`SPAN`] balances that need not be told; [`NEVER`] while each is.
    low: Cell<i64>,
    /// The part of it that is in [`LIVE`].
    told: Cell<i64>,
    /// `live` when the request at hand began.
    mark: Cell<i64>,
    /// [`Last`] is registered, and tells the rest at the end.
    kept: Cell<bool>,
}

/// Tells the rest when the thread ends.
struct Last;

impl Drop for Last {
    fn drop(&mut self) {
        // What is allocated or freed after this goes to all at once: `kept` is false again, and
        // the thread-local variable of this type cannot be had any more.
        HERE.with(|here| {
            here.kept.set(false);
            here.tell();
        });
    }
}

thread_local! {
    // Without a destructor, so that it is there as long as the thread allocates.
    static HERE: Here = const {
        Here {
            live: Cell::new(0),
            low: Cell::new(NEVER),
            told: Cell::new(0),
            mark: Cell::new(0),
            kept: Cell::new(false),
        }
    };
    static LAST: Last = const { Last };
}

// ORDERING: relaxed, as the sum orders nothing.
impl Here {
    #[inline]
    fn add(&self, bytes: i64) {
        let live = self.live.get() + bytes;
        self.live.set(live);
        // PERF: telar bench cypher, point: one comparison; a statement allocates some thirty times.
        if live.wrapping_sub(self.low.get()).cast_unsigned() >= SPAN {
            self.settle();
        }
    }

    #[cold]
    fn settle(&self) {
        if !self.kept.get() {
            // To register a destructor may allocate, and so come back here.
            self.kept.set(true);
            self.kept.set(LAST.try_with(|_| ()).is_ok());
        }
        self.tell();
    }

    fn tell(&self) {
        let live = self.live.get();
        let more = live - self.told.replace(live);
        let now = LIVE.fetch_add(more, Ordering::Relaxed) + more;
        // Seldom: the line is written where it grows beyond what it ever was.
        if now > PEAK.load(Ordering::Relaxed) {
            PEAK.fetch_max(now, Ordering::Relaxed);
        }
        self.low.set(if self.kept.get() { live - (TOLD_BYTES - 1) } else { NEVER });
    }
}

/// Notes that the calling thread has allocated so many bytes.
#[inline]
pub fn grew(bytes: usize) {
    // No block is larger than `isize::MAX` bytes.
    HERE.with(|here| here.add(bytes as i64));
}

/// Notes that the calling thread has freed so many bytes.
#[inline]
pub fn shrank(bytes: usize) {
    HERE.with(|here| here.add(-(bytes as i64)));
}

/// Bytes that all threads have allocated and not freed; 0 if the program's allocator does not
/// count.
#[must_use]
pub fn live() -> u64 {
    u64::try_from(LIVE.load(Ordering::Relaxed)).unwrap_or(0)
}

/// Begins to look for [`peak`], from what is allocated now.
pub fn watch_peak() {
    PEAK.store(LIVE.load(Ordering::Relaxed), Ordering::Relaxed);
}

/// Largest value of [`live`] since [`watch_peak`] was called, or since the program began.
#[must_use]
pub fn peak() -> u64 {
    u64::try_from(PEAK.load(Ordering::Relaxed)).unwrap_or(0)
}

/// Bytes that this thread has allocated, less those that it freed: of use as a difference between
/// two moments. It may be below 0.
#[must_use]
pub fn balance() -> i64 {
    HERE.with(|here| here.live.get())
}

/// A request begins on this thread: what is allocated from now on is for it.
pub fn mark() {
    HERE.with(|here| here.mark.set(here.live.get()));
}

/// Bytes that the request on this thread holds, as far as this thread allocated them.
#[must_use]
pub fn since_mark() -> usize {
    HERE.with(|here| usize::try_from(here.live.get() - here.mark.get()).unwrap_or(0))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// This test alone calls `grew` and `shrank` in this process.
    #[test]
    fn the_sum_is_what_all_threads_have_whoever_frees_it() {
        const BYTES: usize = 100;
        let threads: Vec<_> =
            (0..8).map(|_| std::thread::spawn(|| (0..10_000).for_each(|_| grew(BYTES)))).collect();
        threads.into_iter().for_each(|thread| thread.join().unwrap());
        assert_eq!(live(), 8 * 10_000 * BYTES as u64);

        mark();
        (0..5_000).for_each(|_| shrank(8 * BYTES));
        assert_eq!(since_mark(), 0);
        mark();
        (0..5_000).for_each(|_| shrank(8 * BYTES));
        grew(7);
        assert!(live() < TOLD_BYTES as u64);
        mark();
        grew(1 << 20);
        assert_eq!((since_mark(), live()), (1 << 20, (1 << 20) + 7));
        shrank(1 << 20);
        assert_eq!((since_mark(), live()), (0, 7));
        // Eight million bytes once were there; from now on it is what comes.
        assert!(peak() >= 8 * 10_000 * BYTES as u64 - (8 * TOLD_BYTES).unsigned_abs());
        watch_peak();
        grew(1 << 21);
        shrank(1 << 21);
        grew(1 << 20);
        shrank(1 << 20);
        assert_eq!((peak(), live()), ((1 << 21) + 7, 7));
    }
}
