//! Children of this process: a database cannot be used in both.
//!
//! Threads of the engine do not live on in a child, and its files belong to the parent. So each
//! fork that Python makes counts up in the child (`os.register_at_fork`), and what was opened
//! before is refused there, and never closed by it. Its copies of the lock file and of sockets are:
//! otherwise a child that lives longer than its parent would keep the database locked.

use std::sync::atomic::{AtomicU64, Ordering};

use pyo3::prelude::*;

use crate::error::ForkedError;

static FORKS: AtomicU64 = AtomicU64::new(0);

/// Before a fork: nothing is opened or closed until it is over.
#[pyfunction]
pub(crate) fn forking() {
    telar_share::fork_begins();
}

/// After a fork, in the parent.
#[pyfunction]
#[expect(unsafe_code, reason = "a lock is held over a fork")]
pub(crate) fn went_on() {
    // SAFETY: Python calls `forking` in this thread before, and nothing else of ours between.
    unsafe { telar_share::fork_in_parent() };
}

/// After a fork, in the child: what its parent had opened is not its own.
#[pyfunction]
#[expect(unsafe_code, reason = "files of the parent are closed, a lock is held over a fork")]
pub(crate) fn forked() {
    // ORDERING: relaxed; a child begins with one thread.
    FORKS.fetch_add(1, Ordering::Relaxed);
    // SAFETY: Python calls `forking` in the parent before, and this in the child before it runs
    // anything there. What was opened before is refused from here on, and never dropped.
    unsafe { telar_share::fork_in_child() };
}

/// The process in which something was made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Process(u64);

impl Process {
    /// This one.
    pub(crate) fn current() -> Self {
        // ORDERING: relaxed, as above.
        Self(FORKS.load(Ordering::Relaxed))
    }

    /// Refuses to go on in a child.
    pub(crate) fn check(self) -> PyResult<()> {
        if self == Self::current() {
            return Ok(());
        }
        Err(ForkedError::new_err(
            "the database was opened before this process was forked, and belongs to its parent; \
             open it in the child (multiprocessing: the start method 'spawn', or open in the worker)",
        ))
    }
}
