//! Sets of vertices, and numbers for vertices and integers: hash tables while they are sparse,
//! arrays once they are dense enough for an array to take less.

use std::collections::{HashMap, HashSet};

use foldhash::fast::RandomState;
use telar_graph::VertexId;

/// Fewest entries that an array is considered for.
const DENSE_MIN: usize = 512;
/// Places that an array of bits may have for each entry: no more bytes than a hash table takes.
const BITS_PER_ENTRY: u64 = 128;
/// Places that an array of numbers may have for each entry.
const NUMBERS_PER_ENTRY: u64 = 16;

/// Whether an array with a place for `largest` pays for so many entries.
fn is_dense(largest: u64, entries: usize, places_per_entry: u64) -> bool {
    entries >= DENSE_MIN && largest < entries as u64 * places_per_entry
}

/// Which entry makes it worth while to look whether an array would do.
fn is_step(entries: usize) -> bool {
    entries >= DENSE_MIN && entries.is_power_of_two()
}

/// A set of vertices.
#[derive(Debug, Default)]
pub(crate) struct VertexSet {
    /// A bit for each of the smaller numbers.
    bits: Vec<u64>,
    /// Those whose number has no bit.
    sparse: HashSet<u64, RandomState>,
    largest: u64,
    len: usize,
}

impl VertexSet {
    /// Adds a vertex; whether it was not there.
    #[inline]
    pub(crate) fn insert(&mut self, vertex: VertexId) -> bool {
        let number = vertex.get();
        let word = (number / 64) as usize;
        let fresh = match self.bits.get_mut(word) {
            Some(bits) => {
                let fresh = *bits >> (number % 64) & 1 == 0;
                *bits |= 1 << (number % 64);
                fresh
            }
            None => self.insert_sparse(number),
        };
        self.len += usize::from(fresh);
        fresh
    }

    /// Adds vertices, some of them perhaps several times; how many were not there.
    pub(crate) fn insert_all(&mut self, vertices: &[VertexId]) -> usize {
        let before = self.len;
        // PERF: `telar bench cypher`, 3 hops: what will be dense is so from the start. If it will
        // not, since many are there already, the array takes twice what the vertices do.
        let largest = vertices.iter().map(|vertex| vertex.get()).max().unwrap_or(0);
        let largest = largest.max(self.largest);
        if largest / 64 >= self.bits.len() as u64
            && is_dense(largest, self.len + vertices.len(), BITS_PER_ENTRY)
        {
            self.make_dense(largest);
        }
        for vertex in vertices {
            self.insert(*vertex);
        }
        self.len - before
    }

    /// Adds all of another set; how many were not there.
    pub(crate) fn absorb(&mut self, mut other: Self) -> usize {
        let before = self.len;
        let all = before + other.len;
        if other.bits.len() > self.bits.len() {
            std::mem::swap(self, &mut other);
        }
        let mut both = 0;
        for (ours, theirs) in self.bits.iter_mut().zip(&other.bits) {
            both += (*ours & theirs).count_ones() as usize;
            *ours |= theirs;
        }
        // Theirs have the places of ours and more for none: what is left has none of theirs.
        self.len = all - other.sparse.len() - both;
        for number in other.sparse {
            self.insert(VertexId::from_raw(number));
        }
        self.len - before
    }

    pub(crate) fn contains(&self, vertex: VertexId) -> bool {
        let number = vertex.get();
        match self.bits.get((number / 64) as usize) {
            Some(bits) => bits >> (number % 64) & 1 == 1,
            None => self.sparse.contains(&number),
        }
    }

    fn insert_sparse(&mut self, number: u64) -> bool {
        let fresh = self.sparse.insert(number);
        self.largest = self.largest.max(number);
        if fresh && is_step(self.sparse.len()) && is_dense(self.largest, self.len, BITS_PER_ENTRY) {
            self.make_dense(self.largest);
        }
        fresh
    }

    /// Gives each number up to `largest`, and so those in the table, a bit.
    fn make_dense(&mut self, largest: u64) {
        self.bits.resize((largest / 64 + 1) as usize, 0);
        for number in std::mem::take(&mut self.sparse) {
            self.bits[(number / 64) as usize] |= 1 << (number % 64);
        }
    }

    pub(crate) fn into_vertices(self) -> impl Iterator<Item = VertexId> {
        let bits = (0u64..).zip(self.bits).flat_map(|(word, bits)| {
            (0..64).filter(move |bit| bits >> bit & 1 == 1).map(move |bit| word * 64 + bit)
        });
        bits.chain(self.sparse).map(VertexId::from_raw)
    }

    /// Bytes on the heap.
    pub(crate) fn memory_bytes(&self) -> usize {
        self.bits.capacity() * 8 + self.sparse.capacity() * 8 / 7 * 9
    }
}

/// Stands for no number in the array.
const NONE: u32 = u32::MAX;

/// A number for each key that was met, in the order in which they were.
#[derive(Debug, Default)]
pub(crate) struct Numbers {
    dense: Vec<u32>,
    sparse: HashMap<u64, u32, RandomState>,
    largest: u64,
    len: usize,
}

impl Numbers {
    /// The number of a key, the next one if it has none.
    #[inline]
    pub(crate) fn get_or_insert(&mut self, key: u64) -> u32 {
        match self.dense.get_mut(key as usize) {
            Some(number) => {
                if *number == NONE {
                    *number = self.len as u32;
                    self.len += 1;
                }
                *number
            }
            None => self.sparse_or_insert(key),
        }
    }

    /// Bytes on the heap.
    pub(crate) fn memory_bytes(&self) -> usize {
        // A table has eight places for seven entries, and a byte for each place.
        let sparse = self.sparse.capacity() * 8 / 7 * (size_of::<(u64, u32)>() + 1);
        self.dense.capacity() * size_of::<u32>() + sparse
    }

    fn sparse_or_insert(&mut self, key: u64) -> u32 {
        let fresh = self.len as u32;
        let number = *self.sparse.entry(key).or_insert(fresh);
        if number == fresh {
            self.len += 1;
            self.largest = self.largest.max(key);
            if is_step(self.sparse.len()) && is_dense(self.largest, self.len, NUMBERS_PER_ENTRY) {
                // PERF: `telar bench cypher`, in-degrees: numbers that ascend find room.
                let room = (self.len as u64 * NUMBERS_PER_ENTRY).min(2 * self.largest + 2);
                self.dense.resize(room as usize, NONE);
                for (key, number) in std::mem::take(&mut self.sparse) {
                    self.dense[key as usize] = number;
                }
            }
        }
        number
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn large_sets_of_small_numbers_are_bits() {
        let mut set = VertexSet::default();
        assert!((0..4096).all(|n| set.insert(VertexId::from_raw(n))));
        assert!(!set.bits.is_empty());
        assert!(set.memory_bytes() < 4096);
        // One that is far away does not make the array large.
        assert!(set.insert(VertexId::from_raw(1 << 40)));
        assert!(set.memory_bytes() < 8192);
        assert!(!set.insert(VertexId::from_raw(1 << 40)));
    }

    proptest! {
        #[test]
        fn sets_and_numbers_are_those_of_a_plain_map(
            batches in proptest::collection::vec(proptest::collection::vec(
                prop_oneof![4 => 0u64..5000, 2 => 0u64..100_000], 0..3000), 0..4),
            scattered in proptest::collection::vec(any::<u64>(), 0..600),
            last in any::<bool>(),
        ) {
            let mut batches = batches;
            // What is far away may come before what is dense, or behind it.
            let at = if last { batches.len() } else { 0 };
            batches.insert(at, scattered);
            let keys = batches.concat();
            let (mut set, mut numbers) = (VertexSet::default(), Numbers::default());
            let mut plain: HashMap<u64, u32> = HashMap::new();
            for key in keys {
                let (vertex, next) = (VertexId::from_raw(key), plain.len() as u32);
                let fresh = !plain.contains_key(&key);
                let expected = *plain.entry(key).or_insert(next);
                prop_assert_eq!(set.contains(vertex), !fresh);
                prop_assert_eq!(set.insert(vertex), fresh);
                prop_assert_eq!(numbers.get_or_insert(key), expected);
            }
            let mut at_once = VertexSet::default();
            let insert = |batch: &Vec<u64>| {
                let batch: Vec<_> = batch.iter().copied().map(VertexId::from_raw).collect();
                at_once.insert_all(&batch)
            };
            prop_assert_eq!(batches.iter().map(insert).sum::<usize>(), plain.len());
            prop_assert_eq!(at_once.len, plain.len());
            prop_assert!(plain.keys().all(|key| at_once.contains(VertexId::from_raw(*key))));
            prop_assert_eq!(at_once.into_vertices().count(), plain.len());
            let mut found: Vec<u64> = set.into_vertices().map(VertexId::get).collect();
            found.sort_unstable();
            let mut expected: Vec<u64> = plain.into_keys().collect();
            expected.sort_unstable();
            prop_assert_eq!(found, expected);
        }

        #[test]
        fn sets_put_together_have_what_either_has(
            keys in proptest::collection::vec((prop_oneof![
                4 => 0u64..5000, 2 => 0u64..100_000, 1 => any::<u64>()], any::<bool>()), 0..6000),
            share in 0usize..6000,
        ) {
            let mut sets = [VertexSet::default(), VertexSet::default()];
            for (at, (key, either)) in keys.iter().enumerate() {
                // One may be much larger than the other.
                let which = usize::from(if at < share { *either } else { true });
                sets[which].insert(VertexId::from_raw(*key));
            }
            let [mut one, other] = sets;
            let distinct: HashSet<u64> = keys.iter().map(|(key, _)| *key).collect();
            let before = one.len;
            prop_assert_eq!(one.absorb(other), distinct.len() - before);
            prop_assert_eq!(one.len, distinct.len());
            prop_assert!(distinct.iter().all(|key| one.contains(VertexId::from_raw(*key))));
            let again = distinct.iter().filter(|key| one.insert(VertexId::from_raw(**key))).count();
            prop_assert_eq!((again, one.into_vertices().count()), (0, distinct.len()));
        }
    }
}
