//! Children of this process: a database cannot be used in both.
//!
//! Threads of the engine do not live on in a child, and its files belong to the parent. So each
//! fork that Python makes counts up in the child (`os.register_at_fork`), and what was opened
//! before is refused there, and never closed.

use std::sync::atomic::{AtomicU64, Ordering};

use pyo3::prelude::*;

use crate::error::ForkedError;

static FORKS: AtomicU64 = AtomicU64::new(0);

/// Notes that this process is a child: what its parent had opened is not its own.
#[pyfunction]
pub(crate) fn forked() {
    // ORDERING: relaxed; a child begins with one thread.
    FORKS.fetch_add(1, Ordering::Relaxed);
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
