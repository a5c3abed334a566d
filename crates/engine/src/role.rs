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

use std::sync::atomic::{AtomicU64, Ordering};

use parking_lot::Mutex;

/// State of a database that follows: it leads from no timestamp on.
const NEVER: u64 = u64::MAX;

/// The role of an open database.
#[derive(Debug, Default)]
pub(crate) struct Role {
    /// Timestamp published when it began to take commits; 0 if it always did.
    leads_from: AtomicU64,
    /// Held by whoever applies or promotes; the commit that did not fit, and why, once one did not.
    pub(crate) applying: Mutex<Option<(u64, String)>>,
}

impl Role {
    /// True if commits come from a replicated log.
    #[inline]
    pub(crate) fn follows(&self) -> bool {
        // ORDERING: acquire pairs with the release in `lead`: all that was applied is there.
        self.leads_from.load(Ordering::Acquire) == NEVER
    }

    /// True if a transaction that reads at `read_ts` may commit. One from before the end of the
    /// log that others wrote has not seen what they had acknowledged.
    #[inline]
    pub(crate) fn takes_commits_of(&self, read_ts: u64) -> bool {
        // ORDERING: as in `follows`.
        read_ts >= self.leads_from.load(Ordering::Acquire)
    }

    /// Makes it follow; nobody else uses the database yet.
    pub(crate) fn follow(&self) {
        self.leads_from.store(NEVER, Ordering::Release);
    }

    /// Makes it take commits, of transactions that read at `published` or later. The caller holds
    /// `applying`.
    pub(crate) fn lead(&self, published: u64) {
        self.leads_from.store(published, Ordering::Release);
    }
}
