//! Property indexes and constraints.
//!
//! ```text
//!  Indexes (list, replaced as a whole) ─► Index: definition · state · latch words · tree
//!
//!  kind      keys, tags and reads of each kind of index       kind/, telar_graph::index_kind
//!  key       bytes that compare as the values do               key.rs, telar_graph::sortkey
//!  tree      partitions of sorted runs and short tails         tree.rs partition.rs run.rs
//!                                                            tail.rs directory.rs
//!  packed    runs of full-text indexes                        packed.rs
//!  filter    of the keys in a range, those that are wanted    filter.rs
//!  front     a hash table of unique keys of vertices           front.rs
//!  source    keys of vertices and edges at a timestamp         source.rs
//!  read      ranges of keys                                    read.rs
//!  past      copies for snapshots of the past                  past.rs
//!  totals    documents and terms of a full-text index       totals.rs
//!  lists     postings of terms that were searched         lists.rs
//!  near      neighbours of the vectors of a vector index    near.rs near_file.rs
//!  page      partitions in checkpoints                         page.rs
//!  stored    what a checkpoint's values say an index holds     stored.rs
//!  cold      reads of an index that is not in memory           cold.rs replayed.rs
//! ```
//!
//! What a commit changes in indexes: `commit/maintenance/mod.rs`. Lookups at a snapshot:
//! `snapshot/index.rs`. Making and dropping beside writers: `schema/build.rs`.
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
//! 5. The values of an index that was not loaded since the database was opened are what they were
//!    then: whoever writes to an index loads it first. What the log changed is kept beside them.
//!
//! Why like this: docs/indexes.md.

pub(crate) mod change;
pub(crate) mod cold;
mod directory;
mod filter;
mod front;
pub(crate) mod key;
pub(crate) mod kind;
pub(crate) mod lists;
pub(crate) mod merge;
#[cfg(all(test, feature = "shuttle"))]
mod model;
pub(crate) mod near;
pub(crate) mod near_file;
pub(crate) mod packed;
pub(crate) mod page;
mod partition;
pub(crate) mod past;
pub(crate) mod read;
mod replayed;
pub(crate) mod run;
pub(crate) mod source;
mod spec;
pub(crate) mod stored;
mod tail;
pub(crate) mod totals;
pub(crate) mod tree;

use std::ops::{ControlFlow, Range};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock, PoisonError};
use std::time::Instant;

use crossbeam_epoch::{self as epoch, Guard};
use crossbeam_utils::sync::{ShardedLock, ShardedLockReadGuard};
use parking_lot::Mutex;
use telar_graph::{IndexId, IndexState, IndexUnavailable, PropertyKeyId};

pub use spec::{ConstraintSpec, IndexInfo, IndexSpec, IndexTarget};
pub(crate) use spec::{Definition, KEYS_MAX, Keys, check_definition, check_shape, violation};
pub(crate) use tree::Tree;

use crate::catalog::Catalog;
use crate::error::Error;
use crate::graph::Graph;
use crate::latch::Latch;
use crate::reclaim::EpochCell;
use crate::store::Store;
use cold::Cold;
use front::Front;
use key::{Entry, Item, SortKey};
use lists::Lists;
use near::Near;
use source::{Holders, Objects, Source};
use totals::Totals;

/// Latch words of a unique constraint: keys that share a stripe wait for each other.
pub(crate) const UNIQUE_WORDS: usize = 64;

/// The entries of an index.
#[derive(Debug)]
pub(crate) enum Entries {
    /// Of a constraint that needs none.
    None,
    Vertices(Tree<1>),
    Edges(Tree<3>),
}

/// What an index holds in memory.
#[derive(Debug)]
struct Content {
    entries: Entries,
    /// Of a unique constraint on vertices: the same entries by hash.
    front: Option<Front>,
}

impl Content {
    fn new(definition: &Definition, entries: Entries) -> Self {
        let front = match &entries {
            Entries::Vertices(tree) if definition.kind.is_unique() => {
                let guard = &epoch::pin();
                let each = |add: &mut dyn FnMut(&SortKey, u32)| {
                    tree.for_range(&SortKey::MIN, None, false, guard, |key, [v]| {
                        add(key, v);
                        ControlFlow::Continue(())
                    });
                };
                Some(Front::of_all(each, guard))
            }
            _ => None,
        };
        Self { entries, front }
    }
}

/// An index or constraint.
#[derive(Debug)]
pub(crate) struct Index {
    pub(crate) id: IndexId,
    pub(crate) definition: Definition,
    /// Of an index in the store: empty until it is loaded.
    content: OnceLock<Content>,
    /// Until then.
    pub(crate) cold: Cold,
    /// Held while the content is read.
    loading: Mutex<()>,
    /// Number in the global latch order.
    pub(crate) table: u32,
    /// By stripe of the key for a unique constraint; else one word, a stripe for each commit.
    pub(crate) order: Box<[Latch]>,
    pub(crate) holders: Holders,
    /// Of a full-text index.
    pub(crate) totals: Totals,
    /// Of a full-text index.
    pub(crate) lists: Lists,
    /// Of a vector index.
    pub(crate) near: Near,
    online: AtomicBool,
    /// Timestamp of its log record.
    pub(crate) made_at: AtomicU64,
    /// Oldest timestamp it can be read at.
    pub(crate) valid_from: AtomicU64,
    /// Timestamp from which on no entry was dropped that a snapshot would want.
    complete_from: AtomicU64,
    pub(crate) done: AtomicU64,
    pub(crate) total: AtomicU64,
}

impl Index {
    /// An index from the log, to be built once all of it was replayed.
    pub(crate) fn replayed(
        id: IndexId,
        definition: Definition,
        ts: u64,
        catalog: &Catalog,
    ) -> Result<Arc<Self>, Error> {
        check_definition(catalog, &definition)?;
        let index = Self::new(id, definition, catalog.table_number());
        index.made_at.store(ts, Ordering::Relaxed);
        Ok(Arc::new(index))
    }

    pub(crate) fn new(id: IndexId, definition: Definition, table: u32) -> Self {
        let packs = definition.is_fulltext();
        let entries = match definition.target {
            _ if !definition.kind.has_entries() => Entries::None,
            IndexTarget::Vertices(_) => Entries::Vertices(Tree::new(packs)),
            IndexTarget::Edges(_) => Entries::Edges(Tree::new(packs)),
        };
        let index = Self::stored(id, definition, table);
        let _ = index.content.set(Content::new(&index.definition, entries));
        index
    }

    /// An index whose entries are in the store, and stay there until they are asked for.
    pub(crate) fn stored(id: IndexId, definition: Definition, table: u32) -> Self {
        let words = if definition.kind.is_unique() { UNIQUE_WORDS } else { 1 };
        let content = OnceLock::new();
        let holders = Holders::new(definition.except());
        if !definition.kind.has_entries() {
            // There is nothing to wait for.
            let _ = content.set(Content::new(&definition, Entries::None));
        }
        Self {
            id,
            definition,
            content,
            cold: Cold::default(),
            loading: Mutex::new(()),
            table,
            order: (0..words).map(|_| Latch::default()).collect(),
            holders,
            totals: Totals::default(),
            lists: Lists::default(),
            near: Near::default(),
            online: AtomicBool::new(false),
            made_at: AtomicU64::new(0),
            valid_from: AtomicU64::new(0),
            complete_from: AtomicU64::new(0),
            done: AtomicU64::new(0),
            total: AtomicU64::new(0),
        }
    }

    /// Whether the entries are in memory.
    #[inline]
    pub(crate) fn is_loaded(&self) -> bool {
        self.content.get().is_some()
    }

    /// Whether the log changed it, and nobody has loaded it since.
    pub(crate) fn was_replayed_to(&self) -> bool {
        self.cold.replayed().len() > 0
    }

    fn content(&self) -> &Content {
        self.content.get().expect("INVARIANT: whoever uses an index has loaded it")
    }

    /// The entries. They have been loaded.
    #[inline]
    pub(crate) fn entries(&self) -> &Entries {
        &self.content().entries
    }

    /// The front, if it has one. It has been loaded.
    #[inline]
    pub(crate) fn front(&self) -> Option<&Front> {
        self.content().front.as_ref()
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

    pub(crate) fn objects<'a>(&'a self, graph: &'a Graph, guard: &'a Guard) -> Objects<'a> {
        self.objects_of(self.front(), graph, guard)
    }

    /// Of an index that is not in memory.
    pub(crate) fn objects_stored<'a>(&'a self, graph: &'a Graph, guard: &'a Guard) -> Objects<'a> {
        self.objects_of(None, graph, guard)
    }

    /// Of an index with this front.
    fn objects_of<'a>(
        &'a self,
        front: Option<&'a Front>,
        graph: &'a Graph,
        guard: &'a Guard,
    ) -> Objects<'a> {
        Objects {
            source: Source::new(graph, guard),
            definition: &self.definition,
            holders: &self.holders,
            front,
            complete_from: &self.complete_from,
            graph,
        }
    }

    /// Adds entries, sorted and without repeats, to tree and front, as by a commit at `ts`.
    pub(crate) fn add_sorted<const N: usize>(
        &self,
        tree: &Tree<N>,
        graph: &Graph,
        entries: &[Entry<N>],
        ts: u64,
        guard: &Guard,
    ) {
        tree.add_sorted(entries, ts, &self.objects(graph, guard), guard);
        if let Some(front) = self.front() {
            entries.iter().for_each(|(key, item)| front.insert(key, item[0], guard));
        }
    }

    /// Calls `f` with every item that may have this key, found the quickest way.
    pub(crate) fn for_key<const N: usize>(
        &self,
        tree: &Tree<N>,
        key: &SortKey,
        guard: &Guard,
        mut f: impl FnMut(Item<N>),
    ) {
        match self.front() {
            Some(front) => front.find(key, guard, |v| {
                f([v; N]);
                ControlFlow::Continue(())
            }),
            None => tree.for_key(key, guard, f),
        }
    }

    /// Takes entries out that were added for what did not come to be: no reader has seen, or will
    /// see, one of these items.
    pub(crate) fn take_back(&self, graph: &Graph, items: &Range<u32>) {
        let guard = &epoch::pin();
        let objects = self.objects(graph, guard);
        match self.entries() {
            Entries::None => {}
            Entries::Vertices(tree) => tree.take_back(items, &objects, guard),
            Entries::Edges(tree) => tree.take_back(items, &objects, guard),
        }
    }

    /// Drops entries that no reader wants any more.
    pub(crate) fn settle(&self, graph: &Graph) {
        if self.definition.is_fulltext() {
            self.totals.settle(graph.watermark());
            self.lists.settle(graph.watermark());
        }
        if !self.is_loaded() {
            return;
        }
        if self.definition.vectors().is_some() {
            self.near.settle(self, graph.watermark());
        }
        let guard = &epoch::pin();
        match self.entries() {
            Entries::None => {}
            Entries::Vertices(tree) => tree.settle(&self.objects(graph, guard)),
            Entries::Edges(tree) => tree.settle(&self.objects(graph, guard)),
        }
    }

    /// Heap bytes.
    pub(crate) fn bytes(&self) -> usize {
        let guard = &epoch::pin();
        let Some(content) = self.content.get() else { return 0 };
        let entries = match &content.entries {
            Entries::None => 0,
            Entries::Vertices(tree) => {
                tree.bytes(guard) + content.front.as_ref().map_or(0, |f| f.bytes(guard))
            }
            Entries::Edges(tree) => tree.bytes(guard),
        };
        entries + self.near.bytes() + self.lists.bytes()
    }

    pub(crate) fn info(&self) -> IndexInfo {
        let entries = if self.is_loaded() { self.len() } else { 0 };
        IndexInfo { entries, bytes: self.bytes(), ..self.outline() }
    }

    /// The same, of no entries and no bytes: to count them is to look at every partition.
    pub(crate) fn outline(&self) -> IndexInfo {
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
            options: definition.settings.map(|settings| settings.options),
            state,
            entries: 0,
            bytes: 0,
        }
    }
}

/// Whether two of these entries, which are sorted, share a key that must be unique.
pub(crate) fn is_unique_violated(definition: &Definition, entries: &[Entry<3>]) -> bool {
    definition.kind.is_unique() && entries.windows(2).any(|pair| pair[0].0 == pair[1].0)
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
    /// Bits of the properties of unique constraints, by the number of the property modulo 64.
    unique_properties: AtomicU64,
    /// Whether there is a vector index.
    has_vectors: AtomicBool,
    /// How often what can be read has changed.
    changes: AtomicU64,
    /// Held while an index is made or dropped.
    pub(crate) making: Mutex<()>,
}

fn property_bit(key: PropertyKeyId) -> u64 {
    1 << (key.get() % 64)
}

impl Indexes {
    /// Holds the list as it is.
    pub(crate) fn hold(&self) -> ShardedLockReadGuard<'_, ()> {
        self.gate.read().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits for every commit that began before.
    pub(crate) fn wait_for_commits(&self) {
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
        let unique = list.iter().map(|i| &i.definition).filter(|d| d.kind.is_unique());
        let properties = unique.flat_map(|definition| &definition.properties);
        let bits = properties.fold(0, |bits, key| bits | property_bit(*key));
        let has_vectors = list.iter().any(|index| index.definition.vectors().is_some());
        self.list.put(list, guard);
        self.unique_properties.store(bits, Ordering::Relaxed);
        self.has_vectors.store(has_vectors, Ordering::Relaxed);
        self.note_change();
    }

    /// False if no unique constraint has the property; without one, if there is no unique
    /// constraint. A hint: one that is being made may be missed.
    #[inline]
    pub(crate) fn may_be_unique(&self, property: Option<PropertyKeyId>) -> bool {
        let bits = self.unique_properties.load(Ordering::Relaxed);
        bits & property.map_or(u64::MAX, property_bit) != 0
    }

    /// Says that an index came, went, can be read from now on, or lies in memory now.
    pub(crate) fn note_change(&self) {
        // ORDERING: release pairs with the acquire in `changes`: who sees it sees what changed.
        self.changes.fetch_add(1, Ordering::Release);
    }

    /// How often an index came, went, could be read at last, or was loaded.
    pub(crate) fn changes(&self) -> u64 {
        // ORDERING: acquire pairs with the release in `note_change`.
        self.changes.load(Ordering::Acquire)
    }

    /// The index with this number, built or not.
    pub(crate) fn find(&self, id: IndexId) -> Option<Arc<Index>> {
        self.all().into_iter().find(|i| i.id == id)
    }

    pub(crate) fn find_named(&self, name: &str) -> Option<Arc<Index>> {
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

    /// Adds indexes, before they are built or while recovering.
    pub(crate) fn add(&self, indexes: &[Arc<Index>]) {
        let numbers = indexes.iter().map(|index| u64::from(index.id.get()) + 1);
        self.raise_numbers(numbers.max().unwrap_or(0));
        self.change(|list| list.extend_from_slice(indexes));
    }

    /// Removes indexes, where they are there.
    pub(crate) fn remove(&self, ids: &[IndexId]) {
        self.change(|list| list.retain(|i| !ids.contains(&i.id)));
    }

    /// What is listed for people.
    pub(crate) fn infos(&self) -> Vec<IndexInfo> {
        self.all().iter().map(|i| i.info()).collect()
    }

    /// The list of [`infos`](Self::infos), without numbers of entries and bytes.
    pub(crate) fn outlines(&self) -> Vec<IndexInfo> {
        self.all().iter().map(|i| i.outline()).collect()
    }

    /// What a checkpoint at `at` stores.
    pub(crate) fn stored_at(&self, at: u64) -> List {
        let made = |i: &Arc<Index>| i.is_online() && i.made_at.load(Ordering::Relaxed) <= at;
        self.all().into_iter().filter(made).collect()
    }

    /// Drops entries that no reader wants any more.
    pub(crate) fn settle(&self, graph: &Graph) {
        self.all().iter().for_each(|i| i.settle(graph));
    }

    /// Loads those that were read where they are stored.
    pub(crate) fn load_wanted(&self, graph: &Graph) {
        for index in self.all().iter().filter(|i| !i.is_loaded() && i.cold.take_wanted()) {
            // Whoever needs it next finds out what is wrong, and says so.
            drop(self.load(index, graph));
        }
    }

    /// Reads the entries of an index from the store, unless they are in memory. Nothing but the log
    /// was written to an index that was not read yet, so they are those of the last checkpoint,
    /// whichever that is.
    pub(crate) fn load(&self, index: &Index, graph: &Graph) -> Result<(), Error> {
        match &graph.durable {
            _ if index.is_loaded() => Ok(()),
            Some(durable) => self.load_from(&durable.store, index, graph),
            None => unreachable!("INVARIANT: indexes in memory are made loaded"),
        }
    }

    /// As [`load`](Self::load), while the database is being opened.
    #[cold]
    fn load_from(&self, store: &Store, index: &Index, graph: &Graph) -> Result<(), Error> {
        let _one_at_a_time = index.loading.lock();
        if !index.is_loaded() {
            let entries = page::load(store, index.id, &index.definition)?;
            let content = Content::new(&index.definition, entries);
            let guard = &epoch::pin();
            let objects = index.objects_of(content.front.as_ref(), graph, guard);
            index.cold.replayed().apply_to(&content, &objects);
            let _ = index.content.set(content);
            index.cold.loaded();
            // Only now it is known how many keys there are.
            self.note_change();
        }
        Ok(())
    }

    /// Loads those in the store that the log has changed too often to keep the changes beside them.
    pub(crate) fn load_much_replayed(&self, store: &Store, graph: &Graph) -> Result<(), Error> {
        let guard = &epoch::pin();
        let list = self.list(guard).iter();
        let mut much = list.filter(|i| !i.is_loaded() && i.cold.is_full());
        much.try_for_each(|index| self.load_from(store, index, graph))
    }

    /// Links vectors that wait for it, if they are many, after a commit of so many writes.
    pub(crate) fn link_after_commit(&self, graph: &Graph, writes: usize) {
        if self.has_vectors.load(Ordering::Relaxed) {
            let is_due = |index: &&Arc<Index>| index.near.is_due();
            let due: List = self.list(&epoch::pin()).iter().filter(is_due).cloned().collect();
            for index in &due {
                index.near.link_after_commit(index, graph, writes);
            }
        }
    }

    /// Links vectors that wait for it, until `until`, or until `stops` says so.
    pub(crate) fn link_until(&self, graph: &Graph, stops: &dyn Fn() -> bool, until: Instant) {
        if self.has_vectors.load(Ordering::Relaxed) {
            for index in self.all().iter().filter(|index| index.definition.vectors().is_some()) {
                index.near.link_until(index, graph, stops, until);
            }
        }
    }

    /// Heap bytes.
    pub(crate) fn bytes(&self) -> usize {
        self.all().iter().map(|i| i.bytes()).sum()
    }
}

#[cfg(test)]
#[cfg(not(feature = "shuttle"))]
mod load_tests;

#[cfg(test)]
#[cfg(not(feature = "shuttle"))]
mod near_tests;

#[cfg(test)]
#[cfg(not(feature = "shuttle"))]
mod near_file_tests;
