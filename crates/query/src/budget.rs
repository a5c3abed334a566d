//! One bound for all that a server holds.
//!
//! A limit for each statement does not bound their sum, and messages, parameters, plans and caches
//! are no statement's. A [`Budget`] looks at what the whole process has allocated ([`telar_graph::heap`]).
//! Whoever is about to hold much asks it; above the bound, those who hold much already give way,
//! with an error that says to try again. Who holds little goes on: a point read is served whatever
//! others do, and an overload ends by itself.
//!
//! ```text
//!  allocated  0 ────────────────────────── 13/16 ─────────── 14/16 ─────────── bound
//!  requests that hold a sixteenth of it, or more │ give way ─► │                 │
//!  all that hold 256 KiB, or more                              │ give way ─────► │
//!  what the allocator needs for itself                         │ ◄─────────────► │
//! ```
//!
//! So what comes on top is at most 256 KiB for each request at work, and what is allocated between
//! two questions: whoever makes a large block asks for it first.

use std::sync::atomic::{AtomicU64, Ordering};

use telar_graph::heap;

use crate::error::{Detail, EvalError};

/// Bytes that a request holds before it is asked to give way.
pub const SMALL_BYTES: usize = 256 << 10;

/// What a process may hold.
#[derive(Debug)]
pub struct Budget {
    limit: u64,
    refused: AtomicU64,
}

// ORDERING: relaxed, as the number orders nothing.
impl Budget {
    /// A bound of so many bytes of memory. An eighth of it is left to the allocator, whose pages
    /// are never full.
    #[must_use]
    pub const fn new(limit: u64) -> Self {
        Self { limit, refused: AtomicU64::new(0) }
    }

    /// The bound, in bytes.
    #[must_use]
    pub fn limit(&self) -> u64 {
        self.limit
    }

    /// How often somebody had to give way.
    #[must_use]
    pub fn refused(&self) -> u64 {
        self.refused.load(Ordering::Relaxed)
    }

    /// Whether a request that holds `held` bytes may hold so many `more`.
    ///
    /// # Errors
    /// `MemoryBudgetExceeded`, which is worth trying again, if there is no room.
    #[inline]
    pub fn room(&self, held: usize, more: usize) -> Result<(), EvalError> {
        if heap::live().saturating_add(more as u64) < self.limit / 16 * 13 {
            return Ok(());
        }
        self.near(held.saturating_add(more), more as u64)
    }

    /// The same close to the bound: `held` with what is to come.
    #[cold]
    fn near(&self, held: usize, more: u64) -> Result<(), EvalError> {
        let (live, limit) = (heap::live(), self.limit);
        let above = live.saturating_add(more) >= limit / 16 * 14;
        let large = held as u64 >= limit / 16;
        if held < SMALL_BYTES || !(above || large) {
            return Ok(());
        }
        self.refused.fetch_add(1, Ordering::Relaxed);
        let message = format!(
            "the server has no memory left for this: it has allocated {live} bytes of \
             the {limit} that limits.memory lets it hold, an eighth of which is the allocator's, \
             and this request would hold {held}; try again later, ask for less at once, or raise \
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
        budget.room(0, 51 << 20).unwrap();
        // Close to the bound, one that holds a sixteenth.
        assert!(budget.room(0, 53 << 20).is_err());
        assert!(budget.room(usize::MAX, 52 << 20).is_err());
        // Whatever the bound is, who holds little goes on.
        let tiny = Budget::new(16);
        tiny.room(SMALL_BYTES - 17, 16).unwrap();
        tiny.room(SMALL_BYTES - 16, 16).unwrap_err();
        let error = budget.room(0, 56 << 20).unwrap_err();
        assert_eq!(error.detail, Detail::MemoryBudgetExceeded);
        assert!(error.message.contains("limits.memory"), "{}", error.message);
        assert_eq!((budget.refused(), tiny.refused()), (3, 1));
    }
}
