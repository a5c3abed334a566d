//! What a running query holds: how many bytes, for whom, and whether it may hold more.
//!
//! ```text
//!  Exec ── Memory: limit, bytes held by all ◄──┐
//!                                              ├── Held: bytes of one operator, given back on drop
//!  PROFILE ── Used: bytes of one operator, peak ◄┘
//! ```
//!
//! Whatever keeps rows, values or sets from one batch to the next has a [`Held`] and tells it how
//! many bytes that is. Invariant: the bytes of a [`Memory`] are the sum of its `Held`s. Threads
//! that work on one query share its `Memory`.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::Exec;

use crate::budget::SMALL_BYTES;
use crate::query_error::{ErrorKind, QueryError};
use crate::watch::Limits;

/// What a query holds, all operators together.
#[derive(Debug)]
pub(crate) struct Memory {
    limit: usize,
    spill_after: Option<usize>,
    held: AtomicUsize,
    peak: AtomicUsize,
}

// ORDERING: all are relaxed: they count, and nothing else is read because of them.
impl Memory {
    pub(crate) fn new(limits: &Limits) -> Self {
        Self {
            limit: limits.memory.unwrap_or(usize::MAX),
            spill_after: limits.spill_after,
            held: AtomicUsize::new(0),
            peak: AtomicUsize::new(0),
        }
    }

    /// Most bytes that were held at once.
    pub(crate) fn peak(&self) -> usize {
        self.peak.load(Ordering::Relaxed)
    }

    /// Fails unless so many bytes more may be held.
    pub(super) fn room(&self, bytes: usize, who: &str) -> Result<(), QueryError> {
        let held = self.held.load(Ordering::Relaxed);
        if held.saturating_add(bytes) <= self.limit {
            return Ok(());
        }
        let message = format!(
            "{who} needs about {bytes} bytes, and the statement holds {held} of the {} that it \
             may: limits.statement_memory (Limits::memory) raises the limit",
            self.limit
        );
        Err(QueryError::runtime(ErrorKind::OutOfMemory, "OutOfMemory", message))
    }

    fn grow(&self, bytes: usize) -> usize {
        let held = self.held.fetch_add(bytes, Ordering::Relaxed).saturating_add(bytes);
        // Most queries hold the most at their end: the peak is seldom met twice.
        if held > self.peak.load(Ordering::Relaxed) {
            self.peak.fetch_max(held, Ordering::Relaxed);
        }
        held
    }

    fn shrink(&self, bytes: usize) {
        self.held.fetch_sub(bytes, Ordering::Relaxed);
    }
}

/// What one operator of a profiled query holds.
#[derive(Debug, Default)]
pub(crate) struct Used {
    held: AtomicUsize,
    peak: AtomicUsize,
}

// ORDERING: relaxed, as they count and order nothing.
impl Used {
    pub(crate) fn peak(&self) -> usize {
        self.peak.load(Ordering::Relaxed)
    }

    fn grow(&self, bytes: usize) {
        let held = self.held.fetch_add(bytes, Ordering::Relaxed).saturating_add(bytes);
        self.peak.fetch_max(held, Ordering::Relaxed);
    }

    fn shrink(&self, bytes: usize) {
        self.held.fetch_sub(bytes, Ordering::Relaxed);
    }
}

/// Who holds what a transaction has written.
pub(super) const WRITES: &str = "the transaction's changes";

/// Bytes that an operator holds. Dropping it gives them back.
#[derive(Debug)]
pub(crate) struct Held {
    /// The operator, as plans and errors call it.
    who: &'static str,
    bytes: usize,
    /// Of the first query that it was told bytes in.
    counted: Option<(Arc<Memory>, Option<Arc<Used>>)>,
}

impl Held {
    /// Nothing yet, of this operator.
    pub(crate) const fn of(who: &'static str) -> Self {
        Self { who, bytes: 0, counted: None }
    }

    pub(crate) fn who(&self) -> &'static str {
        self.who
    }

    pub(crate) fn bytes(&self) -> usize {
        self.bytes
    }

    /// Takes more bytes.
    ///
    /// # Errors
    /// `OutOfMemory` beyond the limit of the query, or that of the server; the bytes are taken
    /// nevertheless.
    pub(crate) fn grow(&mut self, more: usize, cx: &Exec<'_>) -> Result<(), QueryError> {
        if more == 0 {
            return Ok(());
        }
        let counted = || (Arc::clone(&cx.memory), cx.used.clone());
        let (memory, used) = self.counted.get_or_insert_with(counted);
        self.bytes += more;
        if let Some(used) = used {
            used.grow(more);
        }
        let all = memory.grow(more);
        let limit = memory.limit;
        if all > limit {
            return Err(self.too_much(all, limit, cx));
        }
        // The server as a whole is asked from time to time.
        if all / SMALL_BYTES != (all - more) / SMALL_BYTES
            && let Some(budget) = &cx.limits().budget
        {
            budget.room(all, 0)?;
        }
        Ok(())
    }

    /// Gives bytes back.
    pub(crate) fn shrink(&mut self, less: usize) {
        let less = less.min(self.bytes);
        self.bytes -= less;
        if let Some((memory, used)) = &self.counted {
            memory.shrink(less);
            if let Some(used) = used {
                used.shrink(less);
            }
        }
    }

    /// Holds exactly so many bytes from now on.
    ///
    /// # Errors
    /// As [`grow`](Self::grow).
    pub(crate) fn set(&mut self, bytes: usize, cx: &Exec<'_>) -> Result<(), QueryError> {
        if bytes >= self.bytes {
            return self.grow(bytes - self.bytes, cx);
        }
        self.shrink(self.bytes - bytes);
        Ok(())
    }

    /// Gives all bytes back.
    pub(crate) fn clear(&mut self) {
        self.shrink(self.bytes);
    }

    /// How many bytes it should hold at most before it puts rows elsewhere: half of what others
    /// leave, so that whoever comes next finds room, too.
    pub(crate) fn share(&self, cx: &Exec<'_>) -> usize {
        let memory = &cx.memory;
        let others = memory.held.load(Ordering::Relaxed).saturating_sub(self.bytes);
        let half = memory.limit.saturating_sub(others) / 2;
        memory.spill_after.map_or(half, |most| most.min(half))
    }

    /// Whether with so many bytes it would hold more than it should.
    pub(crate) fn exceeds(&self, bytes: usize, cx: &Exec<'_>) -> bool {
        let memory = &cx.memory;
        (memory.limit < usize::MAX || memory.spill_after.is_some()) && bytes > self.share(cx)
    }

    fn too_much(&self, all: usize, limit: usize, cx: &Exec<'_>) -> QueryError {
        let (who, own) = (self.who, self.bytes);
        let rest = match all - own {
            0 => String::new(),
            others => format!(", beside {others} of others,"),
        };
        if who == WRITES {
            // They stay in memory until they are committed.
            let message = format!(
                "{who} take {own} bytes{rest} which is beyond the limit of {limit} bytes for a \
                 statement; write less in one transaction, as CALL {{ }} IN TRANSACTIONS does, or \
                 raise limits.statement_memory (Limits::memory)"
            );
            return QueryError::runtime(ErrorKind::OutOfMemory, "OutOfMemory", message);
        }
        let folder = match cx.scratch().is_some() {
            true => "",
            false => {
                "; there is no folder for temporary files either (limits.temporary_folder, \
                 Limits::scratch)"
            }
        };
        let message = format!(
            "{who} would have to hold {own} bytes at once{rest} which is beyond the limit of \
             {limit} bytes for a statement; limits.statement_memory (Limits::memory) raises \
             it{folder}"
        );
        QueryError::runtime(ErrorKind::OutOfMemory, "OutOfMemory", message)
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        self.clear();
    }
}
