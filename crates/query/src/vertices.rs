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
/// The same for each key that is expected, which may be there already.
const EXPECTED_PER_ENTRY: u64 = 4;

/// Whether an array with so many places pays for so many entries.
fn is_dense(places: u64, entries: usize, places_per_entry: u64) -> bool {
    entries >= DENSE_MIN && places <= entries as u64 * places_per_entry
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
        let fresh = set_bit(&mut self.bits, number).unwrap_or_else(|| self.insert_sparse(number));
        self.len += usize::from(fresh);
        fresh
    }

    /// Adds vertices; how many were not there.
    pub(crate) fn insert_all(&mut self, vertices: &[VertexId]) -> usize {
        self.expect(vertices.len());
        let before = self.len;
        let mut rest = vertices.iter();
        loop {
            // PERF: `telar bench cypher`, 3 hops: the count in a register, not in memory, where
            // each addition waits for the one before.
            let mut fresh = 0;
            let without_bit = rest.by_ref().find(|vertex| {
                let set = set_bit(&mut self.bits, vertex.get());
                fresh += usize::from(set == Some(true));
                set.is_none()
            });
            self.len += fresh;
            match without_bit {
                Some(vertex) => self.insert(*vertex),
                None => return self.len - before,
            };
        }
    }

    /// Makes room for vertices that are about to come, as long as they have places in the table.
    pub(crate) fn expect(&mut self, vertices: usize) {
        // PERF: `telar bench cypher`, 2 hops: a table that grows on its own is made anew again and
        // again, which took half of the query's time.
        if self.bits.is_empty() {
            self.sparse.reserve(vertices.min(DENSE_MIN.saturating_sub(self.sparse.len())));
        }
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
        if fresh
            && is_step(self.sparse.len())
            && is_dense(self.largest.saturating_add(1), self.len, BITS_PER_ENTRY)
        {
            self.bits.resize((self.largest / 64 + 1) as usize, 0);
            for number in std::mem::take(&mut self.sparse) {
                self.bits[(number / 64) as usize] |= 1 << (number % 64);
            }
        }
        fresh
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

/// Sets the bit of a number, if it has one; whether it was not set.
#[inline]
fn set_bit(bits: &mut [u64], number: u64) -> Option<bool> {
    let word = bits.get_mut((number / 64) as usize)?;
    let fresh = *word >> (number % 64) & 1 == 0;
    *word |= 1 << (number % 64);
    Some(fresh)
}

/// Stands for no number in the array.
const NONE: u32 = u32::MAX;

/// A number for each key that was met, in the order in which they were.
///
/// Keys that lie close together have their numbers in an array, wherever they begin: a thread that
/// is given the second half of the nodes is as quick as the one that has the first.
#[derive(Debug, Default)]
pub(crate) struct Numbers {
    /// Numbers of the keys from `base` on.
    dense: Vec<u32>,
    base: u64,
    /// Numbers of all other keys.
    sparse: HashMap<u64, u32, RandomState>,
    /// Range of the keys in `sparse`, if there are any.
    range: Option<(u64, u64)>,
    len: usize,
}

impl Numbers {
    /// The number of a key, the next one if it has none.
    #[inline]
    pub(crate) fn get_or_insert(&mut self, key: u64) -> u32 {
        match self.dense.get_mut(key.wrapping_sub(self.base) as usize) {
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

    /// Makes room for keys that are about to come, if they lie close together.
    pub(crate) fn expect(
        &mut self,
        keys: impl ExactSizeIterator<Item = u64> + DoubleEndedIterator + Clone,
    ) {
        // PERF: `telar bench cypher --threads 2`, in-degrees: keys that ascend are found to be so
        // by the first of them that is beyond the array, and go past the hash table.
        let (count, mut rest) = (keys.len(), keys.clone());
        let Some(first) = rest.next().filter(|_| count >= DENSE_MIN) else { return };
        let last = rest.next_back().unwrap_or(first);
        let is_known = |key: u64| key.wrapping_sub(self.base) < self.dense.len() as u64;
        if is_known(first) && is_known(last) {
            return;
        }
        let (least, most) = keys.fold((first, first), |(a, b), key| (a.min(key), b.max(key)));
        let places = (most - least).saturating_add(1);
        if is_dense(places, count, EXPECTED_PER_ENTRY) {
            self.widen(least, most, count);
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
            let (least, most) = self.range.unwrap_or((key, key));
            let (least, most) = (least.min(key), most.max(key));
            self.range = Some((least, most));
            if is_step(self.sparse.len()) {
                self.widen(least, most, 0);
            }
        }
        number
    }

    /// Moves all numbers into the array, if one pays for all keys and so many more, which are in
    /// the range `least..=most`.
    fn widen(&mut self, mut least: u64, mut most: u64, more: usize) {
        if let Some((first, last)) = self.range {
            (least, most) = (least.min(first), most.max(last));
        }
        if !self.dense.is_empty() {
            least = least.min(self.base);
            most = most.max(self.base + (self.dense.len() as u64 - 1));
        }
        let span = (most - least).saturating_add(1);
        let entries = self.len + more;
        if !is_dense(span, entries, NUMBERS_PER_ENTRY) {
            return;
        }
        // PERF: `telar bench cypher --threads 2`, in-degrees: numbers that ascend find room, on
        // either thread. As much again on both sides together, so that growth is linear in the
        // keys, whether they ascend or descend.
        let room = span.min(entries as u64 * NUMBERS_PER_ENTRY - span);
        let below = least.min(room / 2);
        let above = (room - below).min(u64::MAX - most);
        let (base, places) = (least - below, below + span + above);
        let mut dense = Vec::with_capacity(places as usize);
        dense.resize(if self.dense.is_empty() { 0 } else { (self.base - base) as usize }, NONE);
        dense.append(&mut self.dense);
        dense.resize(places as usize, NONE);
        (self.dense, self.base, self.range) = (dense, base, None);
        for (key, number) in std::mem::take(&mut self.sparse) {
            self.dense[(key - base) as usize] = number;
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Puts keys into a set and gives them numbers, beside a plain map.
    fn compare_with_plain_map(keys: &[u64]) -> Result<(), TestCaseError> {
        let (mut set, mut numbers) = (VertexSet::default(), Numbers::default());
        let mut plain: HashMap<u64, u32> = HashMap::new();
        for (at, &key) in keys.iter().enumerate() {
            if at % 100 == 0 {
                set.expect(at);
            }
            let (vertex, next) = (VertexId::from_raw(key), plain.len() as u32);
            let fresh = !plain.contains_key(&key);
            let expected = *plain.entry(key).or_insert(next);
            prop_assert_eq!(set.contains(vertex), !fresh);
            prop_assert_eq!(set.insert(vertex), fresh);
            prop_assert_eq!(numbers.get_or_insert(key), expected);
        }
        for piece in [1, DENSE_MIN, 2000] {
            let mut in_pieces = VertexSet::default();
            let mut met = 0;
            for keys in keys.chunks(piece) {
                let vertices: Vec<VertexId> =
                    keys.iter().copied().map(VertexId::from_raw).collect();
                // Keys are numbered in the order in which they were met.
                let bound = keys.iter().map(|key| plain[key] as usize + 1).max().unwrap_or(0);
                prop_assert_eq!(in_pieces.insert_all(&vertices), bound.saturating_sub(met));
                met = met.max(bound);
            }
            prop_assert_eq!(in_pieces.len, plain.len());
        }
        // The same where keys are told of in pieces before they come.
        for piece in [DENSE_MIN, 2000] {
            let mut numbers = Numbers::default();
            for keys in keys.chunks(piece) {
                numbers.expect(keys.iter().copied());
                for key in keys {
                    prop_assert_eq!(numbers.get_or_insert(*key), plain[key]);
                }
            }
        }
        let mut found: Vec<u64> = set.into_vertices().map(VertexId::get).collect();
        found.sort_unstable();
        let mut expected: Vec<u64> = plain.into_keys().collect();
        expected.sort_unstable();
        prop_assert_eq!(found, expected);
        Ok(())
    }

    #[test]
    fn numbers_of_a_second_half_are_an_array() {
        let mut numbers = Numbers::default();
        for base in [1 << 40, 1 << 20] {
            numbers = Numbers::default();
            (0..10_000).for_each(|at| assert_eq!(numbers.get_or_insert(base + at), at as u32));
            assert!(numbers.sparse.is_empty() && numbers.memory_bytes() < 10_000 * 16);
        }
        // They stay one while keys go down, and one that is far away does not make it large.
        (1..10_000).for_each(|at| _ = numbers.get_or_insert((1 << 20) - at));
        assert!(numbers.sparse.len() < DENSE_MIN);
        numbers.get_or_insert(0);
        assert!(numbers.memory_bytes() < 20_000 * 16);
    }

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
            keys in proptest::collection::vec(
                prop_oneof![4 => 0u64..5000, 2 => 0u64..100_000, 1 => any::<u64>()], 0..6000),
        ) {
            compare_with_plain_map(&keys)?;
        }

        #[test]
        fn keys_may_lie_together_anywhere(
            runs in proptest::collection::vec((
                prop_oneof![Just(0u64), Just(50_000), Just(1 << 40), Just(u64::MAX - 4000)],
                0u64..4000, 0u64..3000, 1u64..4, any::<bool>()), 1..6),
        ) {
            let mut keys = Vec::new();
            for (near, skip, count, step, descends) in runs {
                let run = (0..count).map(|at| near.saturating_add(skip + at * step));
                match descends {
                    true => keys.extend(run.rev()),
                    false => keys.extend(run),
                }
            }
            compare_with_plain_map(&keys)?;
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
