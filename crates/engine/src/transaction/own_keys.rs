//! Keys of what a transaction wrote, per index, in order: what a lookup adds to its snapshot.
//!
//! ```text
//!  write ──► touched: what, which property            (once an index has been looked up)
//!                │
//!  lookup ──► the keys of what was touched since the last lookup, found anew
//!                │
//!             of: thing ─► its key, if it has one      sorted: (key, thing)
//! ```
//!
//! Cost: each write is looked at once for each index that is looked up, however many lookups there
//! are; a lookup adds a search among the transaction's own keys.

use std::collections::{BTreeSet, HashMap};
use std::hash::Hash;
use std::ops::Bound;

use foldhash::fast::RandomState;
use telar_graph::{EdgeTypeId, IndexId, PropertyKeyId};

use crate::index::Keys as OfThing;
use crate::index::key::{Entry, Item, SortKey};
use crate::index::read::KeyRange;

/// A write: to a thing as a whole, or to one of its properties.
#[derive(Debug, Clone, Copy)]
pub(super) struct Touched<T> {
    pub(super) thing: T,
    pub(super) property: Option<PropertyKeyId>,
}

/// An edge: its type and item.
pub(super) type Edge = (EdgeTypeId, Item<3>);

/// What was written since the first lookup, and the keys found so far.
#[derive(Debug, Default)]
pub(super) struct OwnKeys {
    pub(super) vertices: Written<u32, 1>,
    pub(super) edges: Written<Edge, 3>,
}

/// The same, of one kind of thing.
#[derive(Debug)]
pub(super) struct Written<T, const N: usize> {
    touched: Vec<Touched<T>>,
    keys: HashMap<IndexId, Keys<N>, RandomState>,
}

impl<T, const N: usize> Default for Written<T, N> {
    fn default() -> Self {
        Self { touched: Vec::new(), keys: HashMap::default() }
    }
}

/// The keys of one index.
#[derive(Debug, Default)]
pub(super) struct Keys<const N: usize> {
    /// Writes that have been looked at.
    seen: usize,
    of: HashMap<Item<N>, OfThing, RandomState>,
    sorted: BTreeSet<Entry<N>>,
    /// Keys that were found so far: work that must not grow with the number of lookups.
    found: u64,
    /// Bytes of keys that do not fit their places.
    rest: usize,
}

impl OwnKeys {
    /// Heap bytes.
    pub(super) fn bytes(&self) -> usize {
        self.vertices.bytes() + self.edges.bytes()
    }
}

impl<T: Copy + Eq + Hash, const N: usize> Written<T, N> {
    /// Notes a write, if anybody will want to know.
    pub(super) fn touch(&mut self, thing: T, property: Option<PropertyKeyId>) {
        if !self.keys.is_empty() {
            self.touched.push(Touched { thing, property });
        }
    }

    fn bytes(&self) -> usize {
        let touched = self.touched.capacity() * size_of::<Touched<T>>();
        touched + self.keys.values().map(Keys::bytes).sum::<usize>()
    }

    /// How many keys were found for an index so far.
    #[cfg(all(test, not(feature = "shuttle")))]
    pub(super) fn found(&self, index: IndexId) -> u64 {
        self.keys.get(&index).map_or(0, |keys| keys.found)
    }

    /// The keys of an index, as of now. `all` lists what was written and concerns it; `concerns`
    /// says of a later write whether it does, and of what; `keys_of` finds the keys of a thing.
    pub(super) fn of(
        &mut self,
        index: IndexId,
        all: impl FnOnce() -> Vec<Item<N>>,
        concerns: impl Fn(&Touched<T>) -> Option<Item<N>>,
        keys_of: impl Fn(Item<N>) -> OfThing,
    ) -> &Keys<N> {
        let (touched, mut new) = (&self.touched, Vec::new());
        let keys = self.keys.entry(index).or_insert_with(|| {
            new = all();
            Keys { seen: touched.len(), ..Keys::default() }
        });
        new.extend(touched[keys.seen..].iter().filter_map(concerns));
        keys.seen = touched.len();
        new.sort_unstable();
        new.dedup();
        for item in new {
            keys.put(item, keys_of(item));
        }
        keys
    }
}

impl<const N: usize> Keys<N> {
    fn put(&mut self, item: Item<N>, keys: OfThing) {
        self.found += 1;
        // Those that do not fit in place are on the heap, and what is long of each key.
        let rest = |keys: &OfThing| {
            let long = keys.iter().filter_map(|key| key.rest.as_ref());
            let spilled = if keys.spilled() { keys.capacity() * size_of::<SortKey>() } else { 0 };
            spilled + long.map(|rest| rest.len() + 16).sum::<usize>()
        };
        self.rest += rest(&keys);
        if let Some(old) = self.of.insert(item, keys.clone()) {
            self.rest -= rest(&old);
            old.into_iter().for_each(|key| {
                self.sorted.remove(&(key, item));
            });
        }
        self.sorted.extend(keys.into_iter().map(|key| (key, item)));
    }

    /// Heap bytes; a tree is about three quarters full.
    fn bytes(&self) -> usize {
        let of = self.of.capacity() * (size_of::<(Item<N>, OfThing)>() + 1);
        of + self.sorted.len() * size_of::<Entry<N>>() * 4 / 3 + self.rest
    }

    /// How many things were written: what the snapshot shows of them does not hold.
    pub(super) fn len(&self) -> usize {
        self.of.len()
    }

    /// The things that were written, each with its keys.
    pub(super) fn things(&self) -> impl Iterator<Item = (&Item<N>, &OfThing)> {
        self.of.iter()
    }

    /// Whether a thing was written.
    pub(super) fn has(&self, item: &Item<N>) -> bool {
        self.of.contains_key(item)
    }

    /// Entries in a range, in order.
    pub(super) fn range(&self, range: &KeyRange) -> impl Iterator<Item = &Entry<N>> {
        let from = Bound::Included((range.from.clone(), [0; N]));
        let within = |(key, _): &&Entry<N>| range.contains(key);
        let found = self.sorted.range((from, Bound::Unbounded)).take_while(within);
        found.filter(|(key, _)| range.passes(key))
    }
}
