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
//!    cannot make a node lead, and answers no strict read.
//! 2. It begins with the last slot that is known, so that what follows continues it: a node of the
//!    store with another history is not listened to (docs/decisions/0107).
//! 3. It is applied where the copy ends, under `applying`, as what the other thread reads.

use std::sync::{Arc, PoisonError};
use std::thread;
use std::time::Duration;

use super::core::{Core, seen};
use super::election::{Event, Role};
use super::follower::{Copy, READ_BYTES, as_group};
use crate::store::{StoreError, read_stale_groups};

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

    /// True if a node that follows has waited for an answer of the log for [`SILENCE`].
    fn waits_in_vain(&self) -> bool {
        let (now, state) = (self.clock.now(), self.state());
        let silent = state.asking_since.is_some_and(|since| now.since(since) >= SILENCE);
        silent && state.election.role() == Role::Follower && !state.is_in_pause()
    }
}

impl Copy {
    /// Applies what a node of the store shows after the copy's end, if the log does not answer;
    /// true if there was something.
    pub(super) fn read_stale(&self, core: &Core) -> bool {
        if !core.waits_in_vain() {
            return false;
        }
        let (last, next) = core.known();
        // Nobody holds the copy while the store is asked: it may have to be opened again.
        let Some(end) = self.following().map(|engine| engine.published()) else { return false };
        let from = last.map_or(next.saturating_sub(1), |last| last.range.first()).max(1);
        let Ok(groups) = read_stale_groups(&*core.log, &core.stream, from, READ_BYTES) else {
            return false;
        };
        let mut groups = &groups[..];
        if next > 1 {
            let Some((known, following)) = groups.split_first() else { return false };
            if last.is_some_and(|last| last != seen(known)) || known.range.next() != next {
                return false;
            }
            groups = following;
        }
        let _applying = self.applying.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(engine) = self.following() else { return false };
        let is_as_before = core.known() == (last, next) && engine.published() == end;
        if !is_as_before || end.get() + 1 != next {
            return false;
        }
        // What fails, fails again in the other thread, which says why.
        let applied = groups.iter().take_while(|group| engine.apply(as_group(group)).is_ok());
        let slots: Vec<_> = applied.map(seen).collect();
        let found = !slots.is_empty();
        if found {
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
