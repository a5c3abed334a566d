//! What a copy reads while the store does not say how far the log goes.
//!
//! ```text
//!  telar-follow  read ─ ─ ─ ─ ─ ─ ─ ─ ─ ─ no answer ─ ─ ─ ─ ─ ─ ─ ▶ again
//!  telar-stale      100 ms │ read_stale ▶ applied │ 50 ms │ read_stale ▶ applied ...
//! ```
//!
//! A linearizable read needs the store's leader. While there is none, as after its death, other
//! nodes of the store still have what was acknowledged before: readers that wait for a bookmark get
//! it from there, and not only once the store has elected another leader. Many systems have such
//! reads; etcd calls them serializable.
//!
//! Invariants
//! 1. A stale read says which slots follow those that are known, and never where the log ends: it
//!    is applied by a node that follows, and answers no strict read.
//! 2. It begins with the last slot that is known, unless that was trimmed, so that what follows
//!    continues it: a node of the store with another history is not listened to
//!    (docs/decisions/0107).
//! 3. It is applied where the copy ends, under `applying`, as what the other thread reads.

use std::sync::{Arc, PoisonError};
use std::thread;
use std::time::Duration;

use super::core::{Core, seen, seen_slot};
use super::election::{Event, Role, SeenSlot};
use super::follower::{Copy, READ_BYTES, as_group};
use crate::store::{Group, StoreError, read_stale_groups};

/// Silence after which nodes of the store are asked for what they have: far more than a read takes
/// where nothing is wrong.
const SILENCE: Duration = Duration::from_millis(100);

/// Time between two such reads that bring nothing.
const LOOK_EVERY: Duration = Duration::from_millis(50);

impl Core {
    /// Runs a read of the log, and notes since when there is no answer.
    pub(super) fn asking<T>(
        &self,
        read: impl FnOnce() -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        let now = self.clock.now();
        self.state().asking_since.get_or_insert(now);
        let answer = read();
        if answer.is_ok() {
            self.state().asking_since = None;
        }
        answer
    }

    /// True if this node follows, and has waited for an answer of the log for [`SILENCE`].
    fn is_log_silent(&self) -> bool {
        let (now, state) = (self.clock.now(), self.state());
        let silent = state.asking_since.is_some_and(|since| now.since(since) >= SILENCE);
        silent && state.election.role() == Role::Follower && !state.is_in_pause()
    }
}

/// The groups that a node of the store shows from `next` on; none if the slot before them is not
/// the one that is known.
fn read_after(core: &Core, last: Option<SeenSlot>, next: u64) -> Result<Vec<Group>, StoreError> {
    if let Some(last) = last {
        match core.log.read_stale(&core.stream, last.range.first(), 0) {
            Ok(found) => {
                let found = found.first().map(seen_slot).transpose()?;
                if found != Some(last) || last.range.next() != next {
                    return Ok(Vec::new());
                }
            }
            // Enough copies have it.
            Err(StoreError::Trimmed { oldest, .. }) if oldest <= next => {}
            Err(cause) => return Err(cause),
        }
    }
    read_stale_groups(&*core.log, &core.stream, next, READ_BYTES)
}

impl Copy {
    /// Applies what a node of the store shows after the copy's end, if the log does not answer;
    /// true if there was something.
    pub(super) fn read_stale(&self, core: &Core) -> bool {
        if !core.is_log_silent() {
            return false;
        }
        let (last, next) = core.known();
        // Nobody holds the copy while the store is asked: it may have to be opened again.
        let Some(end) = self.following().map(|engine| engine.published()) else { return false };
        let Ok(groups) = read_after(core, last, next) else { return false };
        let _applying = self.applying.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(engine) = self.following() else { return false };
        let is_as_before = core.known() == (last, next) && engine.published() == end;
        if !is_as_before || end.get() + 1 != next || !core.is_log_silent() {
            return false;
        }
        // What fails, fails again in the other thread, which says why.
        let applied = groups.iter().take_while(|group| engine.apply(as_group(group)).is_ok());
        let slots: Vec<_> = applied.map(seen).collect();
        let found = !slots.is_empty();
        if found {
            core.goes_on();
            core.step(Event::Found { slots });
        }
        found
    }

    /// Reads so until the core is stopped.
    pub(super) fn keep_reading_stale(&self, core: &Arc<Core>) {
        while core.state().stopped.is_none() {
            if !self.read_stale(core) {
                thread::sleep(LOOK_EVERY);
            }
        }
    }
}
