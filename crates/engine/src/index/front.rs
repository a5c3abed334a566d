//! Fronts: a hash table of unique keys in memory, beside the tree that is stored.
//!
//! ```text
//!  key hash   shard (6 bits) · tag (32 bits)
//!  slot u64   tag (32 bits) · vertex + 1 (32 bits); 0 empty, vertex 0 removed
//! ```
//!
//! Where a lookup in the tree waits for memory at each step of two binary searches, one here waits
//! once. Like the tree it may find too much: whoever looks up compares the values.
//!
//! Concurrency: readers take no latch. Writers lock a shard; a shard that fills up is copied to a
//! larger table, which replaces it. Slots are written once, but for removal.

use std::ops::ControlFlow;

use crossbeam_epoch::Guard;

use super::key::SortKey;
use crate::reclaim::EpochCell;
use crate::sync::atomic::{AtomicU64, Ordering};
use crate::sync::{Mutex, lock};
use crate::words::prefetch;

const SHARD_BITS: u32 = 6;
/// Slots of the first table of a shard.
const SLOTS_MIN: usize = 64;
const EMPTY: u64 = 0;
/// No vertex: numbers are stored with one added.
const REMOVED: u64 = 1 << 32;

#[derive(Debug)]
struct Table(Box<[AtomicU64]>);

impl Table {
    fn new(slots: usize) -> Self {
        Self((0..slots).map(|_| AtomicU64::new(EMPTY)).collect())
    }

    /// Slots from the place of `tag` on.
    #[inline]
    fn probe(&self, tag: u32) -> impl Iterator<Item = &AtomicU64> {
        let mask = self.0.len() - 1;
        (0..self.0.len()).map(move |i| &self.0[(tag as usize + i) & mask])
    }

    /// Writes a slot value, unless it is there; returns whether it was not. The caller holds the
    /// shard, and there is an empty slot.
    fn insert(&self, value: u64) -> bool {
        for slot in self.probe((value >> 32) as u32) {
            match slot.load(Ordering::Relaxed) {
                EMPTY => {
                    // ORDERING: release: what the vertex's values are is visible to who finds it.
                    slot.store(value, Ordering::Release);
                    return true;
                }
                there if there == value => return false,
                _ => {}
            }
        }
        unreachable!("INVARIANT: a table is never full")
    }
}

#[derive(Debug, Default)]
struct Shard {
    table: EpochCell<Table>,
    /// Slots that are not empty.
    used: Mutex<usize>,
}

/// Vertices by the hash of their key.
#[derive(Debug)]
pub(crate) struct Front {
    shards: Box<[Shard]>,
}

/// Shard and tag of a key.
#[inline]
fn place(key: &SortKey) -> (usize, u32) {
    let hash = key.hash();
    ((hash >> (64 - SHARD_BITS)) as usize, (hash >> 26) as u32)
}

fn value(tag: u32, vertex: u32) -> u64 {
    u64::from(tag) << 32 | (u64::from(vertex) + 1)
}

impl Front {
    pub(crate) fn new() -> Self {
        Self { shards: (0..1 << SHARD_BITS).map(|_| Shard::default()).collect() }
    }

    /// A front of all that `each` calls its argument with, keys and vertices.
    ///
    /// PERF: bench/compare/bolt.py --startup: a shard at a time, each in a table of the right size,
    /// so that what is written to stays in the cache.
    pub(crate) fn of_all(each: impl FnOnce(&mut dyn FnMut(&SortKey, u32)), guard: &Guard) -> Self {
        let front = Self::new();
        let mut values: Vec<Vec<u64>> = front.shards.iter().map(|_| Vec::new()).collect();
        each(&mut |key, vertex| {
            let (shard, tag) = place(key);
            values[shard].push(value(tag, vertex));
        });
        for (shard, values) in front.shards.iter().zip(values) {
            let table = Table::new((values.len() * 2).next_power_of_two().max(SLOTS_MIN));
            let used = values.into_iter().filter(|value| table.insert(*value)).count();
            *lock(&shard.used) = used;
            shard.table.put(table, guard);
        }
        front
    }

    /// Adds a vertex; it may be there already.
    pub(crate) fn insert(&self, key: &SortKey, vertex: u32, guard: &Guard) {
        let (shard, tag) = place(key);
        let shard = &self.shards[shard];
        let mut used = lock(&shard.used);
        let table = shard.table.get(guard);
        let slots = table.map_or(0, |t| t.0.len());
        if (*used + 1) * 4 > slots * 3 {
            *used = Self::grow(shard, table, guard);
        }
        if let Some(table) = shard.table.get(guard) {
            *used += usize::from(table.insert(value(tag, vertex)));
        }
    }

    /// Copies what was not removed to a table with room; returns how many slots it uses.
    fn grow(shard: &Shard, old: Option<&Table>, guard: &Guard) -> usize {
        let there = || old.into_iter().flat_map(|t| t.0.iter()).map(|s| s.load(Ordering::Relaxed));
        let live = || there().filter(|value| value << 32 != 0);
        let count = live().count();
        let new = Table::new((count * 2).next_power_of_two().max(SLOTS_MIN));
        for value in live() {
            new.insert(value);
        }
        shard.table.put(new, guard);
        count
    }

    /// Removes a vertex.
    pub(crate) fn remove(&self, key: &SortKey, vertex: u32, guard: &Guard) {
        let (shard, tag) = place(key);
        let shard = &self.shards[shard];
        let _held = lock(&shard.used);
        let Some(table) = shard.table.get(guard) else { return };
        for slot in table.probe(tag) {
            match slot.load(Ordering::Relaxed) {
                EMPTY => return,
                there if there == value(tag, vertex) => slot.store(REMOVED, Ordering::Relaxed),
                _ => {}
            }
        }
    }

    /// Calls `f` with every vertex that may have this key, until it breaks.
    #[inline]
    pub(crate) fn find(
        &self,
        key: &SortKey,
        guard: &Guard,
        mut f: impl FnMut(u32) -> ControlFlow<()>,
    ) {
        let (shard, tag) = place(key);
        let Some(table) = self.shards[shard].table.get(guard) else { return };
        for slot in table.probe(tag) {
            // ORDERING: acquire pairs with the release in `insert`.
            let value = slot.load(Ordering::Acquire);
            if value == EMPTY {
                return;
            }
            if (value >> 32) as u32 == tag
                && let Some(vertex) = (value as u32).checked_sub(1)
                && f(vertex).is_break()
            {
                return;
            }
        }
    }

    /// Brings the slot of a key closer.
    #[inline]
    pub(crate) fn prefetch(&self, key: &SortKey, guard: &Guard) {
        let (shard, tag) = place(key);
        if let Some(slot) = self.shards[shard].table.get(guard).and_then(|t| t.probe(tag).next()) {
            prefetch(slot);
        }
    }

    /// Heap bytes.
    pub(crate) fn bytes(&self, guard: &Guard) -> usize {
        let tables = self.shards.iter().filter_map(|s| s.table.get(guard));
        size_of_val(&*self.shards) + tables.map(|t| size_of_val(&*t.0)).sum::<usize>()
    }
}

#[cfg(test)]
#[cfg(not(feature = "shuttle"))]
mod tests {
    use super::*;
    use crossbeam_epoch as epoch;
    use proptest::prelude::*;
    use std::collections::BTreeSet;
    use telar_graph::Value;

    fn key(n: i64) -> SortKey {
        SortKey::of(&[Value::Int(n)]).unwrap()
    }

    fn found(front: &Front, n: i64) -> BTreeSet<u32> {
        let mut found = BTreeSet::new();
        front.find(&key(n), &epoch::pin(), |v| {
            assert!(found.insert(v), "found twice");
            ControlFlow::Continue(())
        });
        found
    }

    proptest! {
        #[test]
        fn front_matches_a_set(
            steps in proptest::collection::vec((any::<bool>(), 0_i64..400, 0_u32..3), 1..3000),
            at_once in 0_usize..1000,
        ) {
            let guard = &epoch::pin();
            let mut expected: BTreeSet<(i64, u32)> =
                steps.iter().take(at_once).map(|(_, n, vertex)| (*n, *vertex)).collect();
            // Twice, which is once.
            let twice = || expected.iter().chain(&expected);
            let front = Front::of_all(|f| twice().for_each(|(n, v)| f(&key(*n), *v)), guard);
            for (insert, n, vertex) in steps {
                if insert {
                    front.insert(&key(n), vertex, guard);
                    expected.insert((n, vertex));
                } else {
                    front.remove(&key(n), vertex, guard);
                    expected.remove(&(n, vertex));
                }
            }
            for n in 0..400 {
                let there: BTreeSet<u32> =
                    expected.range((n, 0)..(n + 1, 0)).map(|(_, v)| *v).collect();
                prop_assert!(found(&front, n).is_superset(&there));
                // Two keys of the same tag would be as good as impossible.
                prop_assert_eq!(found(&front, n), there);
            }
        }
    }

    #[test]
    fn keys_spread_over_shards_and_slots() {
        let (front, guard) = (Front::new(), &epoch::pin());
        for n in 0..50_000 {
            front.insert(&key(n), n as u32, guard);
        }
        for shard in &front.shards {
            let used = *shard.used.lock().unwrap();
            assert!((500..1100).contains(&used), "{used} of {} in a shard", 50_000 / 64);
        }
        let longest = (0..50_000).map(|n| {
            let (shard, tag) = place(&key(n));
            let table = front.shards[shard].table.get(guard).unwrap();
            table.probe(tag).position(|s| s.load(Ordering::Relaxed) == value(tag, n as u32))
        });
        assert!(longest.max().unwrap().unwrap() < 100);
    }
}
