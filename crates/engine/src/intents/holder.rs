//! The intents of one transaction.

use std::collections::HashSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use foldhash::fast::RandomState;

use super::{Intent, Intents, Refused, Request};

/// Intents of one transaction. Whoever writes more takes no more, as if there were none.
const INTENTS_MAX: usize = 4096;

/// How a transaction waits for others that write what it writes.
#[derive(Debug, Clone, Default)]
pub struct WriteWait {
    /// How long it waits for one of them; then that one may lose. Zero: not at all.
    pub longest: Duration,
    /// When it is given up.
    pub deadline: Option<Instant>,
    /// Each set from outside to give it up.
    pub flags: [Option<Arc<AtomicBool>>; 2],
    /// Nobody has seen anything of it: what it does can be done again on a newer snapshot.
    pub restarts: bool,
}

impl WriteWait {
    pub(super) fn check(&self) -> Result<(), Refused> {
        // ORDERING: relaxed, as nothing else is read because of the flag.
        if self.flags.iter().flatten().any(|flag| flag.load(Ordering::Relaxed)) {
            return Err(Refused::Terminated);
        }
        match self.deadline {
            Some(deadline) if Instant::now() >= deadline => Err(Refused::TimedOut),
            _ => Ok(()),
        }
    }
}

/// What one transaction holds, and how it waits.
#[derive(Debug)]
pub(crate) struct Holder {
    owner: u64,
    wait: WriteWait,
    /// What it asked for: it may have been taken away since.
    held: HashSet<Intent, RandomState>,
    /// The last that it asked for would have made a deadlock.
    deadlocked: bool,
}

impl Holder {
    pub(crate) fn new(intents: &Intents, wait: WriteWait) -> Self {
        Self { owner: intents.number(), wait, held: HashSet::default(), deadlocked: false }
    }

    pub(crate) fn set_wait(&mut self, wait: WriteWait) {
        self.wait = wait;
    }

    /// Whether it asked for anything.
    pub(crate) fn holds_any(&self) -> bool {
        !self.held.is_empty()
    }

    /// Takes an intent, if it has not asked for it before; then, whether it had to wait.
    pub(crate) fn acquire(
        &mut self,
        intents: &Intents,
        intent: Intent,
    ) -> Result<Option<bool>, Refused> {
        if self.held.len() >= INTENTS_MAX || !self.held.insert(intent) {
            return Ok(None);
        }
        let alone = self.held.len() == 1;
        let request = Request { owner: self.owner, intent, alone, wait: &self.wait };
        let taken = intents.acquire(request);
        self.deadlocked = taken == Err(Refused::Deadlock);
        taken.map(Some)
    }

    /// After a deadlock: gives everything back and takes it again, together with what it was
    /// refused, in an order that is the same for all who do so.
    pub(crate) fn take_in_order(&mut self, intents: &Intents) -> Result<(), Refused> {
        if !std::mem::take(&mut self.deadlocked) {
            return Ok(());
        }
        let mut wanted: Vec<Intent> = self.held.iter().copied().collect();
        self.release(intents);
        wanted.sort_unstable();
        let taken = wanted.iter().try_for_each(|i| self.acquire(intents, *i).map(drop));
        // If it did not come to all of them, the next try does.
        self.held.extend(wanted);
        taken
    }

    /// Gives everything back.
    pub(crate) fn release(&mut self, intents: &Intents) {
        for (thing, _) in self.held.drain() {
            intents.release(self.owner, thing);
        }
    }
}
