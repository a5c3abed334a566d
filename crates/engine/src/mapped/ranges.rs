//! Which segments of which tables have a value in the store.
//!
//! A key that cannot be found is either one that was never written, or damage to the tree that
//! leads to it; pages of LMDB have no checksums. So the meta value, which has one, says which keys
//! there are, as ranges of consecutive segments: most tables are one range.
//!
//! ```text
//!  in the meta value
//!   table count · each: kind, a, b · range count · each: gap before it, length - 1
//!   all integers are varints; tables ascend by (kind, a, b); no gap but the first is 0
//! ```

use std::collections::BTreeMap;

use telar_graph::codec::put_varint;

use crate::format::KEY_BYTES;
use crate::format::reader::Reader;

/// A set of numbers, as ranges with gaps between them, ascending.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Ranges(Vec<(u32, u32)>);

impl Ranges {
    /// Whether `n` is in the set.
    pub(crate) fn contains(&self, n: u32) -> bool {
        let after = self.0.partition_point(|(first, _)| *first <= n);
        after.checked_sub(1).is_some_and(|i| n <= self.0[i].1)
    }

    /// Adds `n`; returns whether it was not there.
    pub(crate) fn insert(&mut self, n: u32) -> bool {
        let at = self.0.partition_point(|(first, _)| *first <= n);
        let joins_left = match at.checked_sub(1).map(|i| self.0[i].1) {
            Some(last) if n <= last => return false,
            Some(last) => last + 1 == n,
            None => false,
        };
        let joins_right = self.0.get(at).is_some_and(|(first, _)| n.checked_add(1) == Some(*first));
        match (joins_left, joins_right) {
            (true, true) => self.0[at - 1].1 = self.0.remove(at).1,
            (true, false) => self.0[at - 1].1 = n,
            (false, true) => self.0[at].0 = n,
            (false, false) => self.0.insert(at, (n, n)),
        }
        true
    }

    /// Takes `n` out; returns whether it was there.
    pub(crate) fn remove(&mut self, n: u32) -> bool {
        let after = self.0.partition_point(|(first, _)| *first <= n);
        let Some(at) = after.checked_sub(1).filter(|i| n <= self.0[*i].1) else { return false };
        let (first, last) = self.0.remove(at);
        if n < last {
            self.0.insert(at, (n + 1, last));
        }
        if first < n {
            self.0.insert(at, (first, n - 1));
        }
        true
    }

    /// One past the largest number.
    pub(crate) fn bound(&self) -> u32 {
        self.0.last().map_or(0, |(_, last)| last.saturating_add(1))
    }

    /// Every number, ascending.
    pub(crate) fn iter(&self) -> impl Iterator<Item = u32> + '_ {
        self.0.iter().flat_map(|(first, last)| *first..=*last)
    }
}

/// What a table's keys have in common: kind, a, b.
pub(crate) type Table = (u8, u16, u16);

/// The keys of a store.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Inventory(BTreeMap<Table, Ranges>);

/// Table and segment of a key.
fn split(key: &[u8; KEY_BYTES]) -> (Table, u32) {
    let short = |i: usize| u16::from(key[i]) << 8 | u16::from(key[i + 1]);
    ((key[0], short(1), short(3)), u32::from(short(5)) << 16 | u32::from(short(7)))
}

impl Inventory {
    /// Whether `key` is there.
    pub(crate) fn contains(&self, key: &[u8; KEY_BYTES]) -> bool {
        let (table, n) = split(key);
        self.0.get(&table).is_some_and(|ranges| ranges.contains(n))
    }

    /// Adds a key; returns whether it was not there.
    pub(crate) fn insert(&mut self, key: &[u8; KEY_BYTES]) -> bool {
        let (table, n) = split(key);
        self.0.entry(table).or_default().insert(n)
    }

    /// Takes a key out; returns whether it was there.
    pub(crate) fn remove(&mut self, key: &[u8; KEY_BYTES]) -> bool {
        let (table, n) = split(key);
        let Some(ranges) = self.0.get_mut(&table) else { return false };
        let removed = ranges.remove(n);
        if ranges.0.is_empty() {
            self.0.remove(&table);
        }
        removed
    }

    /// One past the largest number in a table.
    pub(crate) fn bound(&self, table: Table) -> u32 {
        self.0.get(&table).map_or(0, Ranges::bound)
    }

    /// Number of keys.
    pub(crate) fn len(&self) -> u64 {
        let ranges = self.0.values().flat_map(|ranges| &ranges.0);
        ranges.map(|(first, last)| u64::from(last - first) + 1).sum()
    }

    /// The tables that have keys, ascending.
    pub(crate) fn tables(&self) -> impl Iterator<Item = (Table, &Ranges)> {
        self.0.iter().map(|(table, ranges)| (*table, ranges))
    }

    /// Appends the encoding of all of it.
    pub(crate) fn encode(&self, out: &mut Vec<u8>) {
        put_varint(self.0.len() as u64, out);
        for ((kind, a, b), ranges) in &self.0 {
            put_varint((*kind).into(), out);
            put_varint((*a).into(), out);
            put_varint((*b).into(), out);
            put_varint(ranges.0.len() as u64, out);
            let mut next = 0;
            for (first, last) in &ranges.0 {
                put_varint(u64::from(first - next), out);
                put_varint(u64::from(last - first), out);
                next = last.saturating_add(1);
            }
        }
    }

    /// Decodes what [`Inventory::encode`] wrote; any bytes give one, or a reason.
    pub(crate) fn decode(r: &mut Reader<'_>) -> Result<Self, String> {
        let mut tables = BTreeMap::new();
        for _ in 0..r.varint()? {
            let table = (r.number("kind")?, r.number("table")?, r.number("table")?);
            let mut ranges = Vec::new();
            let mut next = 0u64;
            for i in 0..r.varint()? {
                let gap = r.varint()?;
                let (first, len) = (next.saturating_add(gap), r.varint()?);
                let last = u32::try_from(first.saturating_add(len));
                let last = last.map_err(|_| "a range of segments is out of range")?;
                if i > 0 && gap == 0 {
                    return Err("two ranges of segments touch".into());
                }
                ranges.push((first as u32, last));
                next = u64::from(last) + 1;
            }
            let after = tables.last_key_value().is_none_or(|(before, _)| *before < table);
            if !after || ranges.is_empty() {
                return Err("the tables of the store are not in order".into());
            }
            tables.insert(table, Ranges(ranges));
        }
        Ok(Self(tables))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::{Kind, key};
    use std::collections::BTreeSet;

    #[test]
    fn ranges_are_the_set_that_was_put_in() {
        let (mut ranges, mut model, mut seed) = (Ranges::default(), BTreeSet::new(), 7u64);
        for _ in 0..20_000 {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            let n = (seed >> 40) as u32 % 200;
            if seed >> 33 & 3 == 0 {
                assert_eq!(ranges.remove(n), model.remove(&n));
            } else {
                assert_eq!(ranges.insert(n), model.insert(n));
            }
            assert_eq!(ranges.contains(n), model.contains(&n));
            assert!(ranges.0.windows(2).all(|w| w[0].1 + 1 < w[1].0), "{ranges:?}");
        }
        assert!(ranges.iter().eq(model.iter().copied()));
        assert_eq!(ranges.bound(), model.last().map_or(0, |n| n + 1));
    }

    #[test]
    fn inventory_comes_back_and_no_cut_of_it_does() {
        let mut inventory = Inventory::default();
        for n in [0, 1, 2, 7, 9, 10, u32::MAX] {
            inventory.insert(&key(Kind::Adjacency, 3, 1, n));
            inventory.insert(&key(Kind::States, 0, 0, n / 2));
        }
        assert!(inventory.remove(&key(Kind::States, 0, 0, 1)));
        let mut bytes = Vec::new();
        inventory.encode(&mut bytes);
        let mut reader = Reader(&bytes);
        assert_eq!(Inventory::decode(&mut reader).unwrap(), inventory);
        reader.end().unwrap();
        for end in 0..bytes.len() {
            assert!(Inventory::decode(&mut Reader(&bytes[..end])).is_err(), "cut at {end}");
        }
        assert!(inventory.contains(&key(Kind::Adjacency, 3, 1, u32::MAX)));
        assert!(!inventory.contains(&key(Kind::Adjacency, 3, 1, 8)));
        assert!(!inventory.contains(&key(Kind::Adjacency, 3, 0, 7)));
    }
}
