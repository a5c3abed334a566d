//! Directories: which partition a key is in, nearly.
//!
//! Two levels of sorted bounds, immutable and replaced as a whole. A directory may lag behind the
//! partitions: it leads to the right one or to one left of it, whose links lead on.
//!
//! Cost: a search is two binary searches; a new partition copies one inner node and the top.

use std::hint::select_unpredictable;
use std::sync::Arc;

use smallvec::SmallVec;

use super::key::{Entry, Item, SortKey};
use super::run::Run;

/// Partitions of an inner node, at most.
const INNER_MAX: usize = if cfg!(feature = "shuttle") { 2 } else { 256 };
/// Searches that are run at once.
const LANES: usize = 8;

/// How many words are at or below the key, for each list of words, none of which is empty.
///
/// PERF: telar bench index: the misses of the searches overlap, and no step is guessed.
#[inline]
fn up_to(words: [&[u64]; LANES], keys: [u64; LANES]) -> [usize; LANES] {
    let mut from = [0; LANES];
    let mut left = words.map(<[u64]>::len);
    while left.iter().any(|left| *left > 1) {
        for lane in 0..LANES {
            let half = left[lane] / 2;
            let middle = from[lane] + half;
            let is_below = words[lane][middle] <= keys[lane];
            from[lane] = select_unpredictable(is_below, middle, from[lane]);
            left[lane] -= half;
        }
    }
    std::array::from_fn(|lane| from[lane] + usize::from(words[lane][from[lane]] <= keys[lane]))
}

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
    tops: Run<N>,
    inners: Vec<Arc<Inner<N>>>,
    last: Option<(Entry<N>, u32)>,
}

impl<const N: usize> Directory<N> {
    /// The directory of these partitions: bounds ascending, the first below every key.
    pub(crate) fn new(partitions: &[(Entry<N>, u32)]) -> Self {
        let mut lows = Run::with_capacity(partitions.len());
        partitions.iter().for_each(|(low, _)| lows.push(low.clone()));
        let numbers = partitions.iter().map(|(_, number)| *number).collect();
        let (mut tops, mut inners) = (Run::default(), Vec::new());
        push_inners(lows, numbers, &mut tops, &mut inners);
        Self::of(tops, inners)
    }

    fn of(tops: Run<N>, inners: Vec<Arc<Inner<N>>>) -> Self {
        let last = inners.last().and_then(|inner: &Arc<Inner<N>>| {
            let at = inner.numbers.len().checked_sub(1)?;
            Some((inner.lows.get(at), inner.numbers[at]))
        });
        Self { tops, inners, last }
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
        let inner = &self.inners[self.tops.upper(key, item).max(1) - 1];
        inner.numbers[inner.lows.upper(key, item).max(1) - 1]
    }

    /// Appends the partition of each entry, as [`find`](Self::find) tells it.
    pub(crate) fn find_all(
        &self,
        entries: &[(&SortKey, Item<N>)],
        found: &mut SmallVec<[u32; 64]>,
    ) {
        let last = self.last.as_ref().map_or(u64::MAX, |((low, _), _)| low.high());
        for some in entries.chunks(LANES) {
            if some.len() == 1 || some.iter().all(|(key, _)| key.high() > last) {
                found.extend(some.iter().map(|(key, item)| self.find(key, item)));
                continue;
            }
            let keys = std::array::from_fn(|lane| some[lane.min(some.len() - 1)].0.high());
            let before = |found: [usize; LANES]| found.map(|n| n.max(1) - 1);
            let tops = before(up_to([self.tops.highs(); LANES], keys));
            let inners = tops.map(|top| &*self.inners[top]);
            let places = before(up_to(inners.map(|inner| inner.lows.highs()), keys));
            for (lane, (key, item)) in some.iter().enumerate() {
                let (inner, place) = (inners[lane], places[lane]);
                let nearest = [self.tops.highs()[tops[lane]], inner.lows.highs()[place]];
                // Where the first words are equal, the others decide.
                let is_tie = nearest.contains(&keys[lane]);
                found.push(if is_tie { self.find(key, item) } else { inner.numbers[place] });
            }
        }
    }

    /// The partition with the largest lower bound below `key` and `item`; the last one without
    /// them.
    pub(crate) fn find_below(&self, bound: Option<(&SortKey, &Item<N>)>) -> u32 {
        let at = |lows: &Run<N>| {
            bound.map_or(lows.len(), |(key, item)| lows.lower(key, item)).max(1) - 1
        };
        let inner = &self.inners[at(&self.tops)];
        inner.numbers[at(&inner.lows)]
    }

    /// This directory with more partitions: bounds ascending, all between the bounds of two
    /// neighbours here.
    pub(crate) fn with(&self, added: &[(Entry<N>, u32)]) -> Self {
        let Some(((key, item), _)) = added.first() else {
            return Self::of(self.tops.clone(), self.inners.clone());
        };
        let node = self.tops.upper(key, item).max(1) - 1;
        let inner = &self.inners[node];
        let at = inner.lows.upper(key, item);
        let mut inner_lows = inner.lows.slice(0..at);
        added.iter().for_each(|(low, _)| inner_lows.push(low.clone()));
        inner_lows.extend(&inner.lows, at..inner.numbers.len());
        let mut numbers = inner.numbers[..at].to_vec();
        numbers.extend(added.iter().map(|(_, number)| *number));
        numbers.extend_from_slice(&inner.numbers[at..]);
        let (mut tops, mut inners) = (self.tops.slice(0..node), self.inners[..node].to_vec());
        push_inners(inner_lows, numbers, &mut tops, &mut inners);
        tops.extend(&self.tops, node + 1..self.inners.len());
        inners.extend_from_slice(&self.inners[node + 1..]);
        Self::of(tops, inners)
    }

    /// Heap bytes.
    pub(crate) fn bytes(&self) -> usize {
        let inners = self.inners.iter().map(|i| i.lows.bytes() + 4 * i.numbers.capacity());
        self.tops.bytes() + inners.sum::<usize>()
    }
}

/// Appends nodes of about the same size for these partitions.
fn push_inners<const N: usize>(
    lows: Run<N>,
    numbers: Vec<u32>,
    tops: &mut Run<N>,
    inners: &mut Vec<Arc<Inner<N>>>,
) {
    let all = numbers.len();
    let nodes = all.div_ceil(INNER_MAX).max(1);
    for node in 0..nodes {
        let range = all * node / nodes..all * (node + 1) / nodes;
        tops.push(lows.get(range.start));
        let (lows, numbers) = (lows.slice(range.clone()), numbers[range].to_vec());
        inners.push(Arc::new(Inner { lows, numbers }));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn low(n: u32) -> Entry<1> {
        // Four keys have the same first word.
        (SortKey { head: u128::from(n / 4) << 64 | u128::from(n % 4), rest: None }, [0])
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
        // In steps that lead to keys near each other, far from each other, and beyond the last.
        for step in [1, 977, 30_089] {
            let probes: Vec<_> = (0..1003).map(|i| low(i * step % 30_100)).collect();
            let probes: Vec<_> = probes.iter().map(|(key, item)| (key, *item)).collect();
            let mut found = SmallVec::new();
            directory.find_all(&probes, &mut found);
            let one_by_one = probes.iter().map(|(key, item)| directory.find(key, item));
            assert!(one_by_one.eq(found));
        }
        assert_eq!(directory.find_below(None), *there.last().unwrap());
        assert!(directory.inners.len() > 10);
    }
}
