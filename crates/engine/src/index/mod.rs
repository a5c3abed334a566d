//! Property indexes and constraints.
//!
//! ```text
//!  Indexes (list, replaced as a whole) ─► Index: definition · state · latch words · tree
//!
//!  key       bytes that compare as the values do               key.rs, telar_graph::sortkey
//!  tree      partitions of sorted runs and short tails         tree.rs run.rs tail.rs directory.rs
//!  front     a hash table of unique keys of vertices           front.rs
//!  source    keys of vertices and edges at a timestamp         source.rs
//!  commit    what a commit changes; validation of constraints  commit.rs
//!  read      lookups and ranges at a snapshot                  read.rs
//!  build     making and dropping beside writers                build.rs
//!  page      partitions in checkpoints                         page.rs
//! ```
//!
//! **Visibility.** An entry says "this object had this key at some time". What an index holds is a
//! superset of what any snapshot may see, and each find is checked against the object's values at
//! the snapshot. So entries need no timestamps.
//!
//! Invariants
//! 1. A commit adds its entries after it has written the values and before it is marked as applied,
//!    hence before any snapshot can see it: no reader misses an entry.
//! 2. An entry is dropped only when the values it was made of have not changed since the low
//!    watermark and say something else. Values are written first, so an entry whose commit is under
//!    way is never dropped.
//! 3. Whoever changes labels or properties of a vertex holds its state stripe, and whoever changes
//!    an edge that of its out list, until the change is applied. So the key that an object has
//!    after a commit is known when the latches are held, whoever wrote the other half of it.
//! 4. A unique key is checked and added under the stripe of the key. Entries need no latch of their
//!    own otherwise; commits hold one stripe of an index's word, and a serializable transaction
//!    that read from it takes the whole word, so that no commit is under way while it validates.
//!
//! Why like this: docs/indexes.md.

mod build;
mod check;
pub(crate) mod commit;
mod directory;
mod front;
pub(crate) mod key;
pub(crate) mod page;
pub(crate) mod read;
mod run;
pub(crate) mod source;
mod spec;
mod tail;
mod tree;

use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, PoisonError};

use crossbeam_epoch::{self as epoch, Guard};
use crossbeam_utils::sync::{ShardedLock, ShardedLockReadGuard};
use parking_lot::Mutex;
use telar_graph::{IndexId, IndexUnavailable};

pub(crate) use build::{check_definition, create, drop_index, finish_recovery, replayed};
pub(crate) use spec::Definition;
pub use spec::{
    ConstraintKind, ConstraintSpec, IndexInfo, IndexKind, IndexSpec, IndexState, IndexTarget,
    PropertyType,
};

use crate::latch::Latch;
use crate::reclaim::EpochCell;
use crate::shared::Shared;
use front::Front;
use key::SortKey;
use source::{Holders, Objects, Source};
use tree::Tree;

/// Latch words of a unique constraint: keys that share a stripe wait for each other.
const UNIQUE_WORDS: usize = 64;

/// The entries of an index.
#[derive(Debug)]
pub(crate) enum Entries {
    /// Of a constraint that needs none.
    None,
    Vertices(Tree<1>),
    Edges(Tree<3>),
}

/// An index or constraint.
#[derive(Debug)]
pub(crate) struct Index {
    pub(crate) id: IndexId,
    pub(crate) definition: Definition,
    pub(crate) entries: Entries,
    /// Of a unique constraint on vertices: the same entries by hash.
    pub(crate) front: Option<Front>,
    /// Number in the global latch order.
    table: u32,
    /// By stripe of the key for a unique constraint; else one word, a stripe for each commit.
    order: Box<[Latch]>,
    pub(crate) holders: Holders,
    online: AtomicBool,
    /// Timestamp of its log record.
    pub(crate) made_at: AtomicU64,
    /// Oldest timestamp it can be read at.
    pub(crate) valid_from: AtomicU64,
    /// Timestamp from which on no entry was dropped that a snapshot would want.
    complete_from: AtomicU64,
    done: AtomicU64,
    total: AtomicU64,
}

impl Index {
    fn new(id: IndexId, definition: Definition, table: u32) -> Self {
        let entries = match definition.target {
            _ if !definition.kind.has_entries() => Entries::None,
            IndexTarget::Vertices(_) => Entries::Vertices(Tree::new()),
            IndexTarget::Edges(_) => Entries::Edges(Tree::new()),
        };
        Self::with_entries(id, definition, table, entries)
    }

    pub(crate) fn with_entries(
        id: IndexId,
        definition: Definition,
        table: u32,
        entries: Entries,
    ) -> Self {
        let words = if definition.kind.is_unique() { UNIQUE_WORDS } else { 1 };
        let has_front = definition.kind.is_unique() && matches!(entries, Entries::Vertices(_));
        let front = has_front.then(Front::new);
        if let (Some(front), Entries::Vertices(tree)) = (&front, &entries) {
            let guard = &epoch::pin();
            tree.for_range(&SortKey::MIN, None, false, guard, |key, [v]| {
                front.insert(key, v, guard);
                ControlFlow::Continue(())
            });
        }
        Self {
            id,
            definition,
            entries,
            front,
            table,
            order: (0..words).map(|_| Latch::default()).collect(),
            holders: Holders::default(),
            online: AtomicBool::new(false),
            made_at: AtomicU64::new(0),
            valid_from: AtomicU64::new(0),
            complete_from: AtomicU64::new(0),
            done: AtomicU64::new(0),
            total: AtomicU64::new(0),
        }
    }

    pub(crate) fn is_online(&self) -> bool {
        // ORDERING: acquire pairs with the release when building is done: all entries are there.
        self.online.load(Ordering::Acquire)
    }

    pub(crate) fn set_online(&self, made_at: u64) {
        self.made_at.store(made_at, Ordering::Relaxed);
        self.online.store(true, Ordering::Release);
    }

    /// Whether every entry is there that a snapshot at `ts` wants. Asked after they were read: what
    /// is dropped meanwhile shows.
    pub(crate) fn is_complete_at(&self, ts: u64) -> bool {
        // ORDERING: acquire pairs with the release in `Objects::is_gone`.
        self.complete_from.load(Ordering::Acquire) <= ts
            && self.valid_from.load(Ordering::Relaxed) <= ts
    }

    fn objects<'a>(&'a self, shared: &'a Shared, guard: &'a Guard) -> Objects<'a> {
        Objects {
            source: Source::new(shared, guard),
            definition: &self.definition,
            holders: &self.holders,
            front: self.front.as_ref(),
            complete_from: &self.complete_from,
            shared,
        }
    }

    /// Drops entries that no reader wants any more.
    pub(crate) fn settle(&self, shared: &Shared) {
        let guard = &epoch::pin();
        match &self.entries {
            Entries::None => {}
            Entries::Vertices(tree) => tree.settle(&self.objects(shared, guard)),
            Entries::Edges(tree) => tree.settle(&self.objects(shared, guard)),
        }
    }

    /// Heap bytes.
    pub(crate) fn bytes(&self) -> usize {
        let guard = &epoch::pin();
        match &self.entries {
            Entries::None => 0,
            Entries::Vertices(tree) => {
                tree.bytes(guard) + self.front.as_ref().map_or(0, |f| f.bytes(guard))
            }
            Entries::Edges(tree) => tree.bytes(guard),
        }
    }

    fn info(&self) -> IndexInfo {
        let guard = &epoch::pin();
        let definition = self.definition.clone();
        let state = if self.is_online() {
            IndexState::Online
        } else {
            let total = self.total.load(Ordering::Relaxed);
            IndexState::Building { done: self.done.load(Ordering::Relaxed).min(total), total }
        };
        IndexInfo {
            id: self.id,
            name: definition.name,
            target: definition.target,
            properties: definition.properties,
            kind: definition.kind,
            state,
            entries: match &self.entries {
                Entries::None => 0,
                Entries::Vertices(tree) => tree.len(guard),
                Entries::Edges(tree) => tree.len(guard),
            },
            bytes: self.bytes(),
        }
    }
}

/// Every index and constraint of a database, in the order they were made.
pub(crate) type List = Vec<Arc<Index>>;

/// The indexes of a database.
#[derive(Debug, Default)]
pub(crate) struct Indexes {
    /// Readers take the list as it is.
    list: EpochCell<List>,
    /// Each commit that could concern an index holds this for reading until it is applied, and so
    /// sees the same list in all of its steps; taking it for writing waits for those under way.
    gate: ShardedLock<()>,
    /// How many numbers were given out.
    numbers: AtomicU64,
    /// Held while an index is made or dropped.
    pub(crate) making: Mutex<()>,
}

impl Indexes {
    /// Holds the list as it is.
    pub(crate) fn hold(&self) -> ShardedLockReadGuard<'_, ()> {
        self.gate.read().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits for every commit that began before.
    fn wait_for_commits(&self) {
        drop(self.gate.write().unwrap_or_else(PoisonError::into_inner));
    }

    /// The list.
    #[inline]
    pub(crate) fn list<'g>(&self, guard: &'g Guard) -> &'g [Arc<Index>] {
        self.list.get(guard).map_or(&[], |list| list)
    }

    /// A copy of the list.
    pub(crate) fn all(&self) -> List {
        self.list(&epoch::pin()).to_vec()
    }

    fn change(&self, change: impl FnOnce(&mut List)) {
        let _no_commits = self.gate.write().unwrap_or_else(PoisonError::into_inner);
        let guard = &epoch::pin();
        let mut list = self.list(guard).to_vec();
        change(&mut list);
        self.list.put(list, guard);
    }

    /// The index with this number, built or not.
    pub(crate) fn find(&self, id: IndexId) -> Option<Arc<Index>> {
        self.all().into_iter().find(|i| i.id == id)
    }

    fn find_named(&self, name: &str) -> Option<Arc<Index>> {
        self.all().into_iter().find(|i| i.definition.name == name)
    }

    /// The index with this number, if it can be read at this timestamp.
    #[inline]
    pub(crate) fn readable<'g>(
        &self,
        id: IndexId,
        read_ts: u64,
        guard: &'g Guard,
    ) -> Result<&'g Index, IndexUnavailable> {
        let index = self.list(guard).iter().find(|i| i.id == id);
        let index = index.ok_or(IndexUnavailable::Unknown(id))?;
        // A snapshot older than the one the index was built from may see what is not in it.
        if index.is_online() && index.valid_from.load(Ordering::Relaxed) <= read_ts {
            Ok(index)
        } else {
            Err(IndexUnavailable::NotReady(id))
        }
    }

    /// The index with this number, if it is built, whatever a snapshot wants of it.
    pub(crate) fn built<'g>(
        &self,
        id: IndexId,
        guard: &'g Guard,
    ) -> Result<&'g Index, IndexUnavailable> {
        let index = self.list(guard).iter().find(|i| i.id == id);
        let index = index.ok_or(IndexUnavailable::Unknown(id))?;
        if index.is_online() { Ok(index) } else { Err(IndexUnavailable::NotReady(id)) }
    }

    /// Numbers given out so far, dropped indexes' included.
    pub(crate) fn numbers(&self) -> u64 {
        self.numbers.load(Ordering::Relaxed)
    }

    /// Never gives out numbers below `bound` again.
    pub(crate) fn raise_numbers(&self, bound: u64) {
        self.numbers.fetch_max(bound, Ordering::Relaxed);
    }

    /// Adds an index, before it is built or while recovering.
    pub(crate) fn add(&self, index: Arc<Index>) {
        self.raise_numbers(u64::from(index.id.get()) + 1);
        self.change(|list| list.push(index));
    }

    /// Removes an index, if it is there.
    pub(crate) fn remove(&self, id: IndexId) {
        self.change(|list| list.retain(|i| i.id != id));
    }

    /// What is listed for people.
    pub(crate) fn infos(&self) -> Vec<IndexInfo> {
        self.all().iter().map(|i| i.info()).collect()
    }

    /// What a checkpoint at `at` stores.
    pub(crate) fn stored_at(&self, at: u64) -> List {
        let made = |i: &Arc<Index>| i.is_online() && i.made_at.load(Ordering::Relaxed) <= at;
        self.all().into_iter().filter(made).collect()
    }

    /// Drops entries that no reader wants any more.
    pub(crate) fn settle(&self, shared: &Shared) {
        self.all().iter().for_each(|i| i.settle(shared));
    }

    /// Heap bytes.
    pub(crate) fn bytes(&self) -> usize {
        self.all().iter().map(|i| i.bytes()).sum()
    }
}
