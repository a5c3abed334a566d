//! Write intents: who is about to commit a change of what, and who waits for it.
//!
//! ```text
//!  a statement writes ──► free? ──yes──► holder ─────────────► end of the transaction: release
//!                           │no            ▲                             │
//!                           ▼              │ first in, first out         │
//!                         queue ───────────┴─────────────────────────────┘
//!                           │
//!                           ├── a cycle of waiters: one of them hears of a deadlock
//!                           ├── the holder took too long: it holds nothing here any more
//!                           └── deadline, cancellation: the wait ends
//! ```
//!
//! Intents decide nothing: the first to commit wins, with them or without, and every commit is
//! validated as if there were none. They only bring writers of the same thing into an order, so
//! that they need not do in vain what they do. So a transaction may lose its intents, or take none
//! (one that writes very many things, one of a program that uses the engine directly), and nothing
//! is wrong but that it, or another, is run again.
//!
//! Invariants
//! 1. No two holders of a thing conflict, and no request is granted before an earlier one that it
//!    conflicts with, unless its transaction holds a part of the thing already.
//! 2. Whoever waits for a thing holds no latch and no lock. Locks are taken in this order: the
//!    graph of waiters, a shard, a waiter.
//! 3. Each cycle of waiters is found by the last of them that began to wait.
//!
//! Cost: without contention one lock and one entry of a hash table, twice. Nothing is read from the
//! clock unless somebody waits.
//! Why like this: docs/decisions/0057-write-intents.md.

mod graph;
mod holder;
#[cfg(test)]
#[cfg(feature = "shuttle")]
mod model;
pub(crate) mod pairs;
mod queue;
#[cfg(test)]
#[cfg(not(feature = "shuttle"))]
mod tests;

use std::collections::HashMap;
use std::collections::hash_map::Entry as MapEntry;
use std::hash::{BuildHasher, Hash};
use std::time::{Duration, Instant};

use foldhash::fast::RandomState;
use telar_graph::{EdgeTypeId, IndexId, PropertyKeyId};

use crate::sync::atomic::{AtomicU64, Ordering};
use crate::sync::{Arc, Mutex, lock, wait_timeout};
use graph::Graph;

pub(crate) use holder::Holder;
pub use holder::WriteWait;
use queue::{Entry, State, Waiter};

/// Locks that the things share.
const SHARDS: usize = 64;
/// How often somebody who waits looks whether it is to end.
const LOOK: Duration = Duration::from_millis(10);

/// What is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Thing {
    Vertex(u32),
    /// An edge with an ordinal.
    Edge(EdgeTypeId, u32),
    /// The edge without an ordinal from one vertex to another, of a type with ordinals.
    Unnumbered(EdgeTypeId, u32, u32),
    /// The edges between two vertices, the smaller first.
    Pair(EdgeTypeId, u32, u32),
    /// Edges at a vertex, of which this is the hash, to others that are like something.
    Like(u64),
    /// A key of a unique constraint, by its hash.
    Key(IndexId, u64),
}

/// What of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Part {
    /// Everything: it is deleted, or has no parts.
    Whole,
    /// The labels of a vertex.
    Labels,
    /// That the vertex goes on existing, for edges that are made at it.
    Existence,
    Property(PropertyKeyId),
}

impl Part {
    /// Whether two transactions that change these cannot both commit.
    fn conflicts(self, other: Self) -> bool {
        match (self, other) {
            (Self::Whole, _) | (_, Self::Whole) => true,
            (Self::Existence, _) | (_, Self::Existence) => false,
            (a, b) => a == b,
        }
    }
}

/// What a transaction wants.
pub(crate) type Intent = (Thing, Part);

/// Why an intent was not taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Refused {
    /// Others wait for this transaction, and it would wait for them.
    Deadlock,
    /// The wait was given up: its time is over.
    TimedOut,
    /// The wait was given up: somebody wants it to end.
    Terminated,
}

type Shard = HashMap<Thing, Entry, RandomState>;

/// All intents of a database.
#[derive(Debug)]
pub(crate) struct Intents {
    shards: Box<[Mutex<Shard>]>,
    hash: RandomState,
    graph: Mutex<Graph>,
    /// The number of the next transaction that takes one: the younger, the larger.
    next: AtomicU64,
    /// Waits that there were.
    waits: AtomicU64,
}

impl Default for Intents {
    fn default() -> Self {
        Self {
            shards: (0..SHARDS).map(|_| Mutex::default()).collect(),
            hash: RandomState::default(),
            graph: Mutex::default(),
            next: AtomicU64::new(1),
            waits: AtomicU64::new(0),
        }
    }
}

/// One that wants an intent, and how long it waits.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Request<'a> {
    pub(crate) owner: u64,
    pub(crate) intent: Intent,
    /// It holds nothing else: nobody waits for it.
    pub(crate) alone: bool,
    pub(crate) wait: &'a WriteWait,
}

impl Intents {
    fn shard(&self, thing: Thing) -> &Mutex<Shard> {
        &self.shards[self.hash.hash_one(thing) as usize % SHARDS]
    }

    /// A number for a transaction that takes intents.
    fn number(&self) -> u64 {
        // ORDERING: relaxed, as the number says nothing of anything else.
        self.next.fetch_add(1, Ordering::Relaxed)
    }

    /// How often somebody had to wait.
    pub(crate) fn waits(&self) -> u64 {
        // ORDERING: relaxed, as nothing else is read because of it.
        self.waits.load(Ordering::Relaxed)
    }

    /// A number for whatever things are known by.
    pub(crate) fn hash_of(&self, of: &impl Hash) -> u64 {
        self.hash.hash_one(of)
    }

    /// Takes an intent; waits for those before it. Whether it had to.
    pub(crate) fn acquire(&self, request: Request<'_>) -> Result<bool, Refused> {
        let Request { owner, intent: (thing, part), alone, wait } = request;
        if self.take_free(owner, (thing, part)) {
            return Ok(false);
        }
        let waiter = Arc::new(Waiter::new(owner, (thing, part), wait.restarts));
        if !self.enter(&waiter, alone) {
            return Ok(false);
        }
        self.waits.fetch_add(1, Ordering::Relaxed);
        let done = self.wait_for(&waiter, wait);
        lock(&self.graph).remove(owner);
        if done.is_err() {
            self.leave(&waiter);
        }
        done.map(|()| true)
    }

    /// Waits until it is granted, or may wait no longer.
    fn wait_for(&self, waiter: &Waiter, wait: &WriteWait) -> Result<(), Refused> {
        let begun = Instant::now();
        loop {
            let mut state = lock(&waiter.state);
            if *state == State::Waiting {
                state = wait_timeout(&waiter.changed, state, LOOK.min(wait.longest));
            }
            match *state {
                State::Granted => return Ok(()),
                State::Victim => return Err(Refused::Deadlock),
                State::Waiting => drop(state),
            }
            wait.check()?;
            if begun.elapsed() >= wait.longest {
                self.revoke(waiter, wait.longest);
            }
        }
    }

    /// Takes the intents of those away that `waiter` has waited for all the time that it may.
    fn revoke(&self, waiter: &Waiter, longest: Duration) {
        let (thing, part) = waiter.intent;
        let mut shard = lock(self.shard(thing));
        if let Some(entry) = shard.get_mut(&thing)
            && entry.handed.is_none_or(|handed| handed.elapsed() >= longest)
        {
            entry.holders.retain(|(owner, held)| *owner == waiter.owner || !held.conflicts(part));
            entry.grant();
        }
    }

    /// Waits no longer.
    fn leave(&self, waiter: &Waiter) {
        let (thing, _) = waiter.intent;
        let mut shard = lock(self.shard(thing));
        if let MapEntry::Occupied(mut found) = shard.entry(thing) {
            let entry = found.get_mut();
            entry.queue.retain(|other| !std::ptr::eq(&**other, waiter));
            entry.grant();
            if entry.is_free() {
                found.remove();
            }
        }
    }

    /// Gives back whatever a transaction holds of a thing.
    pub(crate) fn release(&self, owner: u64, thing: Thing) {
        let mut shard = lock(self.shard(thing));
        if let MapEntry::Occupied(mut found) = shard.entry(thing) {
            let entry = found.get_mut();
            entry.holders.retain(|(holder, _)| *holder != owner);
            entry.grant();
            if entry.is_free() {
                found.remove();
            }
        }
    }

    /// Takes an intent that nobody holds or waits for; false if somebody does.
    fn take_free(&self, owner: u64, (thing, part): Intent) -> bool {
        let mut shard = lock(self.shard(thing));
        let entry = shard.entry(thing).or_default();
        let free = entry.admits(owner, part);
        if free {
            entry.hold(owner, part);
        }
        free
    }

    /// Enters a waiter in its queue and in the graph, and ends each cycle that it closes: none if
    /// nobody can be waiting for it. False if it need not wait any more.
    ///
    /// INVARIANT: both under the graph's lock, so that a search finds everybody in the graph who
    /// stands in a queue.
    fn enter(&self, waiter: &Arc<Waiter>, alone: bool) -> bool {
        let mut graph = lock(&self.graph);
        let (thing, part) = waiter.intent;
        {
            let mut shard = lock(self.shard(thing));
            let entry = shard.entry(thing).or_default();
            if entry.admits(waiter.owner, part) {
                entry.hold(waiter.owner, part);
                return false;
            }
            entry.enqueue(waiter);
        }
        graph.insert(waiter);
        if alone {
            return true;
        }
        let blockers = |waiter: &Waiter| {
            let (thing, _) = waiter.intent;
            let shard = lock(self.shard(thing));
            shard.get(&thing).map(|entry| entry.blockers(waiter)).unwrap_or_default()
        };
        while let Some(cycle) = graph.cycle(waiter.owner, blockers) {
            // Who can be run again unnoticed had better be; of those, the youngest has done least.
            let victim = cycle.iter().max_by_key(|w| (w.restarts, w.owner));
            victim.expect("INVARIANT: a cycle has members").end(State::Victim);
        }
        true
    }

    /// Whether nobody holds anything and nobody waits.
    #[cfg(test)]
    pub(crate) fn are_free(&self) -> bool {
        self.shards.iter().all(|shard| lock(shard).is_empty()) && lock(&self.graph).is_empty()
    }
}
