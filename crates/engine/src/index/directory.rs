//! Directories: which partition a key is in, nearly.
//!
//! Two levels of sorted bounds, immutable and replaced as a whole. A directory may lag behind the
//! partitions: it leads to the right one or to one left of it, whose links lead on.
//!
//! Cost: a search is two binary searches; a new partition copies one inner node and the top.

use std::sync::Arc;

use super::key::{Entry, Item, SortKey};
use super::run::Run;

/// Partitions of an inner node, at most.
const INNER_MAX: usize = 256;

#[derive(Debug)]
struct Inner<const N: usize> {
    /// The lower bound of each partition.
    lows: Run<N>,
    numbers: Vec<u32>,
}

/// The partitions of a tree in the order of their bounds.
#[derive(Debug)]
pub(crate) struct Directory<const N: usize> {
    /// The lower bound of each inner node.
    lows: Run<N>,
    inners: Vec<Arc<Inner<N>>>,
    last: Option<(Entry<N>, u32)>,
}

impl<const N: usize> Directory<N> {
    /// The directory of these partitions: bounds ascending, the first below every key.
    pub(crate) fn new(partitions: &[(Entry<N>, u32)]) -> Self {
        let mut directory = Self { lows: Run::default(), inners: Vec::new(), last: None };
        directory.push_inners(partitions);
        directory.last = directory.find_last();
        directory
    }

    fn find_last(&self) -> Option<(Entry<N>, u32)> {
        let inner = self.inners.last()?;
        Some((inner.lows.get(inner.lows.len().checked_sub(1)?), *inner.numbers.last()?))
    }

    fn push_inners(&mut self, partitions: &[(Entry<N>, u32)]) {
        let nodes = partitions.len().div_ceil(INNER_MAX).max(1);
        for node in partitions.chunks(partitions.len().div_ceil(nodes).max(1)) {
            let mut inner = Inner { lows: Run::with_capacity(node.len()), numbers: Vec::new() };
            for (low, number) in node {
                inner.lows.push(low.clone());
                inner.numbers.push(*number);
            }
            self.lows.push(node[0].0.clone());
            self.inners.push(Arc::new(inner));
        }
    }

    /// The partition with the largest lower bound at or below `key` and `item`.
    #[inline]
    pub(crate) fn find(&self, key: &SortKey, item: &Item<N>) -> u32 {
        // Keys that only grow all go to the last one.
        if let Some((low, number)) = &self.last
            && (&low.0, &low.1) <= (key, item)
        {
            return *number;
        }
        let inner = &self.inners[self.lows.upper(key, item).max(1) - 1];
        inner.numbers[inner.lows.upper(key, item).max(1) - 1]
    }

    /// The partition with the largest lower bound below `key` and `item`; the last one without
    /// them.
    pub(crate) fn find_below(&self, bound: Option<(&SortKey, &Item<N>)>) -> u32 {
        let at = |lows: &Run<N>| {
            bound.map_or(lows.len(), |(key, item)| lows.lower(key, item)).max(1) - 1
        };
        let inner = &self.inners[at(&self.lows)];
        inner.numbers[at(&inner.lows)]
    }

    /// This directory with more partitions: bounds ascending, all between the bounds of two
    /// neighbours here.
    pub(crate) fn with(&self, added: &[(Entry<N>, u32)]) -> Self {
        let Some(((key, item), _)) = added.first() else {
            let (lows, inners) = (self.lows.clone(), self.inners.clone());
            return Self { lows, inners, last: self.last.clone() };
        };
        let node = self.lows.upper(key, item).max(1) - 1;
        let inner = &self.inners[node];
        let at = inner.lows.upper(key, item);
        let old = |i: usize| (inner.lows.get(i), inner.numbers[i]);
        let partitions: Vec<_> = (0..at)
            .map(old)
            .chain(added.iter().cloned())
            .chain((at..inner.numbers.len()).map(old))
            .collect();
        let (lows, inners) = (self.lows.slice(0..node), self.inners[..node].to_vec());
        let mut new = Self { lows, inners, last: None };
        new.push_inners(&partitions);
        new.lows.extend(&self.lows, node + 1..self.lows.len());
        new.inners.extend_from_slice(&self.inners[node + 1..]);
        new.last = new.find_last();
        new
    }

    /// Heap bytes.
    pub(crate) fn bytes(&self) -> usize {
        let inners = self.inners.iter().map(|i| i.lows.bytes() + 4 * i.numbers.capacity());
        self.lows.bytes() + inners.sum::<usize>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn low(n: u32) -> Entry<1> {
        (SortKey { head: u128::from(n), rest: None }, [0])
    }

    #[test]
    fn partitions_are_found_by_their_bounds_however_many() {
        let mut directory = Directory::new(&[(low(0), 0)]);
        // Evens come one by one in a scattered order, multiples of 100 with 9 neighbours at once.
        let mut there = vec![0];
        for i in 1..3000_u32 {
            let n = i * 1237 % 3000 * 10;
            let added: Vec<_> = (n..n + if n % 100 == 0 { 9 } else { 1 }).collect();
            let added: Vec<_> = added.into_iter().filter(|n| !there.contains(n)).collect();
            there.extend(&added);
            let added: Vec<_> = added.into_iter().map(|n| (low(n), n)).collect();
            directory = directory.with(&added);
        }
        there.sort_unstable();
        for probe in 0..30_100 {
            let entry = low(probe);
            let at = there.partition_point(|n| *n <= probe);
            assert_eq!(directory.find(&entry.0, &entry.1), there[at - 1]);
            let below = there.partition_point(|n| *n < probe).max(1);
            assert_eq!(directory.find_below(Some((&entry.0, &entry.1))), there[below - 1]);
        }
        assert_eq!(directory.find_below(None), *there.last().unwrap());
        assert!(directory.inners.len() > 10);
    }
}
