//! One bound for all that a server holds.
//!
//! A limit for each statement does not bound their sum, and messages, parameters, plans and caches
//! are no statement's. A [`Budget`] looks at what the whole process has allocated
//! ([`telar_graph::heap`]). Whoever is about to hold much asks it; above the bound, those who hold
//! much already give way, with an error that says to try again. Who holds little goes on: a point
//! read is served whatever others do, and an overload ends by itself.
//!
//! ```text
//!  allocated  0 ────────────────────────── 11/16 ────────── 12/16 ─────────── bound
//!  requests that hold a sixteenth of it, or more │ give way ─► │                │
//!  all that hold 256 KiB, or more                              │ give way ────► │
//!  lists that move as they grow, the allocator's own pages     │ ◄────────────► │
//! ```
//!
//! Whoever makes a large block asks for it first, and what was granted counts from then on
//! (`Budget::grant`): several who ask at once are not all told that there is room for one.

use std::cell::Cell;
use std::sync::atomic::{AtomicU64, Ordering};

use telar_graph::heap;

use crate::error::{Detail, EvalError};

/// Bytes that a request holds before it is asked to give way.
pub const SMALL_BYTES: usize = 256 << 10;

/// Bytes that threads were granted and may not have allocated yet.
static GRANTED: AtomicU64 = AtomicU64::new(0);

/// The part of it that is a thread's.
struct Grant(Cell<u64>);

// ORDERING: relaxed, as the number orders nothing.
impl Grant {
    fn set(&self, bytes: u64) {
        let before = self.0.replace(bytes);
        if before != bytes {
            GRANTED.fetch_add(bytes.wrapping_sub(before), Ordering::Relaxed);
        }
    }
}

impl Drop for Grant {
    fn drop(&mut self) {
        self.set(0);
    }
}

thread_local! {
    static GRANT: Grant = const { Grant(Cell::new(0)) };
}

/// Ends the grant of this thread: it has been allocated, or is not wanted any more.
#[inline]
pub(crate) fn settle_grant() {
    GRANT.with(|grant| {
        if grant.0.get() != 0 {
            grant.set(0);
        }
    });
}

/// Bound of all that a process holds.
#[derive(Debug)]
pub struct Budget {
    limit: u64,
    refused: AtomicU64,
}

// ORDERING: relaxed, as the number orders nothing.
impl Budget {
    /// A bound of so many bytes of memory. A quarter of it is for what is allocated only for
    /// moments, and for the allocator, whose pages are never full.
    #[must_use]
    pub const fn new(limit: u64) -> Self {
        Self { limit, refused: AtomicU64::new(0) }
    }

    /// The bound, in bytes.
    #[must_use]
    pub fn limit(&self) -> u64 {
        self.limit
    }

    /// Bytes above which no large request is let through: the bound without what is kept for
    /// moments.
    #[must_use]
    pub fn usable(&self) -> u64 {
        self.limit / 16 * 12
    }

    /// Number of requests that had to give way.
    #[must_use]
    pub fn refused(&self) -> u64 {
        self.refused.load(Ordering::Relaxed)
    }

    /// Lets a request that holds `held` bytes hold so many `more`, if there is room.
    ///
    /// # Errors
    /// `MemoryBudgetExceeded`, which is worth trying again, if there is no room.
    #[inline]
    pub fn room(&self, held: usize, more: usize) -> Result<(), EvalError> {
        let used = heap::live().saturating_add(GRANTED.load(Ordering::Relaxed));
        if used.saturating_add(more as u64) < self.limit / 16 * 11 {
            return Ok(());
        }
        self.near(held.saturating_add(more), used.saturating_add(more as u64))
    }

    /// The same for a block that this thread is about to allocate: it counts from now on, until the
    /// thread asks for the next one, looks whether it is to go on, or is done
    /// ([`watch`](crate::watch)).
    ///
    /// # Errors
    /// As [`room`](Self::room).
    pub(crate) fn grant(&self, held: usize, more: usize) -> Result<(), EvalError> {
        GRANT.with(|grant| {
            // First the claim, then the question: of two who claim at once, one sees the other.
            grant.set(more as u64);
            let room = self.room(held.saturating_add(more), 0);
            if room.is_err() {
                grant.set(0);
            }
            room
        })
    }

    /// The same close to the bound: `held` and `used` with what is to come.
    #[cold]
    fn near(&self, held: usize, used: u64) -> Result<(), EvalError> {
        let limit = self.limit;
        let above = used >= self.usable();
        let large = held as u64 >= limit / 16;
        if held < SMALL_BYTES || !(above || large) {
            return Ok(());
        }
        self.refused.fetch_add(1, Ordering::Relaxed);
        let message = format!(
            "the server has no memory left for this: with it, {used} bytes would be in \
             use of the {limit} that limits.memory allows, a quarter of which is kept for moments, \
             and {held} of them by this request; try again later, ask for less at once, or raise \
             limits.memory"
        );
        Err(EvalError::new(Detail::MemoryBudgetExceeded, message))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Allocations are not counted here, so only what is to come fills a budget.
    #[test]
    fn who_holds_little_goes_on_and_who_holds_much_gives_way() {
        let budget = Budget::new(64 << 20);
        budget.room(usize::MAX, 0).unwrap();
        budget.room(0, 43 << 20).unwrap();
        // Close to the bound, one that holds a sixteenth.
        assert!(budget.room(0, 45 << 20).is_err());
        assert!(budget.room(usize::MAX, 44 << 20).is_err());
        // Whatever the bound is, who holds little goes on.
        let tiny = Budget::new(16);
        tiny.room(SMALL_BYTES - 17, 16).unwrap();
        tiny.room(SMALL_BYTES - 16, 16).unwrap_err();
        let error = budget.room(0, 56 << 20).unwrap_err();
        assert_eq!(error.detail, Detail::MemoryBudgetExceeded);
        assert!(error.message.contains("limits.memory"), "{}", error.message);
        assert_eq!((budget.refused(), tiny.refused()), (3, 1));

        // What one thread was granted another one does not get.
        budget.grant(0, 30 << 20).unwrap();
        let other = || budget.grant(0, 30 << 20).is_ok();
        assert!(!std::thread::scope(|scope| scope.spawn(other).join().unwrap()));
        budget.grant(0, 30 << 20).unwrap();
        settle_grant();
        assert!(std::thread::scope(|scope| scope.spawn(other).join().unwrap()));
        // The thread has ended, and with it its grant.
        budget.grant(0, 30 << 20).unwrap();
        assert!(budget.grant(30 << 20, 50 << 20).is_err());
        budget.room(0, 30 << 20).unwrap();
    }
}
