//! Who holds a thing, and who waits for it, in order.

use std::collections::VecDeque;
use std::time::Instant;

use smallvec::SmallVec;

use super::{Intent, Part};
use crate::sync::{Arc, Condvar, Mutex, lock};

/// What became of a wait.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum State {
    Waiting,
    Granted,
    /// It was chosen to end a deadlock.
    Victim,
}

/// One that waits.
#[derive(Debug)]
pub(super) struct Waiter {
    pub(super) owner: u64,
    pub(super) intent: Intent,
    /// Its statement can be run again without anybody noticing.
    pub(super) restarts: bool,
    pub(super) state: Mutex<State>,
    pub(super) changed: Condvar,
}

impl Waiter {
    pub(super) fn new(owner: u64, intent: Intent, restarts: bool) -> Self {
        let (state, changed) = (Mutex::new(State::Waiting), Condvar::new());
        Self { owner, intent, restarts, state, changed }
    }

    /// Ends its wait, unless it has ended.
    pub(super) fn end(&self, with: State) {
        let mut state = lock(&self.state);
        if *state == State::Waiting {
            *state = with;
            self.changed.notify_one();
        }
    }

    pub(super) fn is_waiting(&self) -> bool {
        *lock(&self.state) == State::Waiting
    }
}

/// What is known of a thing that somebody writes.
#[derive(Debug, Default)]
pub(super) struct Entry {
    pub(super) holders: SmallVec<[(u64, Part); 2]>,
    pub(super) queue: VecDeque<Arc<Waiter>>,
    /// When it was last given to one of the queue.
    pub(super) handed: Option<Instant>,
}

impl Entry {
    fn is_held_against(&self, owner: u64, part: Part) -> bool {
        self.holders.iter().any(|(other, held)| *other != owner && held.conflicts(part))
    }

    fn is_held_by(&self, owner: u64) -> bool {
        self.holders.iter().any(|(holder, _)| *holder == owner)
    }

    /// Whether this part can be had now.
    pub(super) fn admits(&self, owner: u64, part: Part) -> bool {
        let before = |w: &Arc<Waiter>| w.owner != owner && w.intent.1.conflicts(part);
        !self.is_held_against(owner, part)
            // Those who wait for its owner would wait for ever if it waited for them.
            && (self.is_held_by(owner) || !self.queue.iter().any(before))
    }

    pub(super) fn hold(&mut self, owner: u64, part: Part) {
        if !self.holders.contains(&(owner, part)) {
            self.holders.push((owner, part));
        }
    }

    pub(super) fn enqueue(&mut self, waiter: &Arc<Waiter>) {
        match self.is_held_by(waiter.owner) {
            true => self.queue.push_front(Arc::clone(waiter)),
            false => self.queue.push_back(Arc::clone(waiter)),
        }
    }

    /// Gives it to those who can have it now, in their order.
    pub(super) fn grant(&mut self) {
        let mut at = 0;
        while let Some(waiter) = self.queue.get(at) {
            let (owner, (_, part)) = (waiter.owner, waiter.intent);
            let before = |w: &Arc<Waiter>| w.intent.1.conflicts(part);
            let free = !self.is_held_against(owner, part)
                && (self.is_held_by(owner) || !self.queue.range(..at).any(before));
            if !free || !waiter.is_waiting() {
                at += 1;
                // Nothing behind it can be had, either.
                if part == Part::Whole {
                    return;
                }
                continue;
            }
            let Some(waiter) = self.queue.remove(at) else { return };
            self.hold(owner, part);
            self.handed = Some(Instant::now());
            waiter.end(State::Granted);
        }
    }

    /// The transactions that `waiter` waits for.
    pub(super) fn blockers(&self, waiter: &Waiter) -> Vec<u64> {
        let part = waiter.intent.1;
        let Some(at) = self.queue.iter().position(|w| std::ptr::eq(&**w, waiter)) else {
            return Vec::new();
        };
        let mut found: Vec<u64> = Vec::new();
        if !self.is_held_by(waiter.owner) {
            for before in self.queue.range(..at).rev().filter(|w| w.intent.1.conflicts(part)) {
                found.push(before.owner);
                // It waits for everybody else that this one would wait for: so a search looks at
                // each of a long queue once.
                if before.is_waiting() && before.intent.1 == part && !self.is_held_by(before.owner)
                {
                    return found;
                }
            }
        }
        let held = self.holders.iter().filter(|(_, held)| held.conflicts(part));
        found.extend(held.map(|(owner, _)| *owner).filter(|owner| *owner != waiter.owner));
        found
    }

    pub(super) fn is_free(&self) -> bool {
        self.holders.is_empty() && self.queue.is_empty()
    }
}
