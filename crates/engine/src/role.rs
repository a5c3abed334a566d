//! Whether a database takes commits of its own, or those of a replicated log.
//!
//! ```text
//!  opened to follow ── apply, apply, ... ── promote ──▶ takes commits
//! ```
//!
//! There is no way back but opening the database again: commits in memory that a leader could not
//! bring into the replicated log are gone with it (docs/decisions/0076).
//!
//! Cost: a commit reads one word that hardly ever changes.

use std::sync::atomic::{AtomicBool, Ordering};

use parking_lot::Mutex;

/// The role of an open database.
#[derive(Debug, Default)]
pub(crate) struct Role {
    follows: AtomicBool,
    /// Held by whoever applies or promotes; the commit that did not fit, and why, once one did not.
    pub(crate) applying: Mutex<Option<(u64, String)>>,
}

impl Role {
    /// True if commits come from a replicated log.
    #[inline]
    pub(crate) fn follows(&self) -> bool {
        // ORDERING: acquire pairs with the release in `lead`: all that was applied is there.
        self.follows.load(Ordering::Acquire)
    }

    /// Makes it follow; nobody else uses the database yet.
    pub(crate) fn follow(&self) {
        self.follows.store(true, Ordering::Release);
    }

    /// Makes it take commits. The caller holds `applying`.
    pub(crate) fn lead(&self) {
        self.follows.store(false, Ordering::Release);
    }
}
