//! Memory that grows inside of a batch.
//!
//! Operators tell what they keep from one batch to the next ([`Held`]). What an expression makes of
//! the rows of one batch can be as much: some thousand lists of millions of elements. A [`Growth`]
//! looks at the balance of the thread's heap, so that it counts whatever was made, and at the
//! lengths of the values that it is shown, for programs whose allocator does not count.

use telar_graph::{Value, heap};

use super::Exec;
use super::memory::Held;
use crate::budget::SMALL_BYTES;
use crate::query_error::QueryError;
use crate::watch;

/// Memory allocated since it was made, counted among what the query holds until it is dropped.
pub(crate) struct Growth {
    held: Held,
    /// Balance of the thread at the beginning.
    from: i64,
    /// Bytes of the values that were shown.
    shown: usize,
}

impl Growth {
    /// Bytes of a value that is large.
    const LARGE: usize = 4 << 10;

    /// Nothing yet, for this function or operator.
    pub(crate) fn of(who: &'static str) -> Self {
        Self { held: Held::of(who), from: heap::balance(), shown: 0 }
    }

    /// Counts a value that was just made.
    #[inline]
    pub(crate) fn see(&mut self, value: &Value, cx: &Exec<'_>) -> Result<(), QueryError> {
        // What the elements of a list hold was seen when they were made.
        let bytes = watch::shallow_bytes(value);
        if bytes >= Self::LARGE {
            self.shown += bytes;
            cx.check_now()?;
            return self.count(cx);
        }
        self.look(cx)
    }

    /// Counts what was allocated, if it is much more than when it was counted last.
    #[inline]
    pub(crate) fn look(&mut self, cx: &Exec<'_>) -> Result<(), QueryError> {
        if self.grown() < self.held.bytes() + SMALL_BYTES {
            return Ok(());
        }
        cx.check_now()?;
        self.count(cx)
    }

    fn grown(&self) -> usize {
        usize::try_from(heap::balance() - self.from).unwrap_or(0)
    }

    fn count(&mut self, cx: &Exec<'_>) -> Result<(), QueryError> {
        self.held.set(self.grown().max(self.shown), cx)
    }
}
