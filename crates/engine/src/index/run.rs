//! Runs: sorted, immutable entries in columns, searched by the words of their keys.

use std::cmp::Ordering;
use std::hint::select_unpredictable;
use std::ops::Range;
use std::sync::Arc;

use smallvec::SmallVec;

use super::key::{Entry, Item, SortKey};

/// Sorted entries without repeats.
///
/// PERF: telar bench index: the first eight bytes decide nearly every comparison, and numbers and
/// short texts have no others.
#[derive(Debug, Clone, Default)]
pub(crate) struct Run<const N: usize> {
    /// The first words of the keys.
    highs: Vec<u64>,
    /// The second words; empty if all are zero.
    lows: Vec<u64>,
    /// Empty if every key fits its head.
    rests: Vec<Option<Arc<[u8]>>>,
    items: Vec<Item<N>>,
}

impl<const N: usize> Run<N> {
    pub(crate) fn with_capacity(entries: usize) -> Self {
        Self {
            highs: Vec::with_capacity(entries),
            lows: Vec::new(),
            rests: Vec::new(),
            items: Vec::with_capacity(entries),
        }
    }

    #[inline]
    pub(crate) fn len(&self) -> usize {
        self.highs.len()
    }

    /// The entry at `i`.
    #[inline]
    pub(crate) fn get(&self, i: usize) -> Entry<N> {
        (self.key(i), self.items[i])
    }

    /// The first words of the keys.
    #[inline]
    pub(crate) fn highs(&self) -> &[u64] {
        &self.highs
    }

    #[inline]
    fn head(&self, i: usize) -> u128 {
        let low = self.lows.get(i).copied().unwrap_or(0);
        u128::from(self.highs[i]) << 64 | u128::from(low)
    }

    #[inline]
    pub(crate) fn key(&self, i: usize) -> SortKey {
        SortKey { head: self.head(i), rest: self.rests.get(i).cloned().flatten() }
    }

    #[inline]
    pub(crate) fn item(&self, i: usize) -> Item<N> {
        self.items[i]
    }

    #[inline]
    fn cmp(&self, i: usize, key: &SortKey, item: &Item<N>) -> Ordering {
        let rest = || self.rests.get(i).and_then(Option::as_deref).cmp(&key.rest.as_deref());
        self.head(i).cmp(&key.head).then_with(rest).then_with(|| self.items[i].cmp(item))
    }

    /// Whether the entry at `i` has this key.
    #[inline]
    pub(crate) fn has_key(&self, i: usize, key: &SortKey) -> bool {
        self.head(i) == key.head
            && self.rests.get(i).and_then(Option::as_deref) == key.rest.as_deref()
    }

    /// How many entries are below `key` and `item`.
    #[inline]
    pub(crate) fn lower(&self, key: &SortKey, item: &Item<N>) -> usize {
        // The words decide nearly always; what follows them is looked at among equal words only.
        let high = key.high();
        let first = self.highs.partition_point(|h| *h < high);
        if self.highs.get(first) != Some(&high) {
            return first;
        }
        let equal = self.highs[first..].partition_point(|h| *h == high);
        partition_point(first..first + equal, |i| self.cmp(*i, key, item).is_lt())
    }

    /// How many entries are at or below `key` and `item`.
    #[inline]
    pub(crate) fn upper(&self, key: &SortKey, item: &Item<N>) -> usize {
        let i = self.lower(key, item);
        i + usize::from(i < self.len() && self.cmp(i, key, item).is_eq())
    }

    /// Adds an entry above all others.
    #[inline]
    pub(crate) fn push(&mut self, (key, item): Entry<N>) {
        let low = key.head as u64;
        if low != 0 && self.lows.is_empty() {
            self.lows.resize(self.len(), 0);
        }
        if low != 0 || !self.lows.is_empty() {
            self.lows.push(low);
        }
        if key.rest.is_some() && self.rests.is_empty() {
            self.rests.resize(self.len(), None);
        }
        if key.rest.is_some() || !self.rests.is_empty() {
            self.rests.push(key.rest);
        }
        self.highs.push((key.head >> 64) as u64);
        self.items.push(item);
    }

    /// Adds entries of another run, all above those here.
    pub(crate) fn extend(&mut self, other: &Self, range: Range<usize>) {
        extend_sparse(&mut self.lows, self.highs.len(), &other.lows, range.clone());
        extend_sparse(&mut self.rests, self.highs.len(), &other.rests, range.clone());
        self.highs.extend_from_slice(&other.highs[range.clone()]);
        self.items.extend_from_slice(&other.items[range]);
    }

    /// A run of some of the entries.
    pub(crate) fn slice(&self, range: Range<usize>) -> Self {
        let mut run = Self::with_capacity(range.len());
        run.extend(self, range);
        run
    }

    /// This run with `added` in and `dropped` out, which is sorted, without repeats, and disjoint
    /// from `added`.
    pub(crate) fn merged(&self, added: &Self, dropped: &[Entry<N>]) -> Self {
        if dropped.is_empty() && self.rests.is_empty() && added.rests.is_empty() {
            return match self.lows.is_empty() && added.lows.is_empty() {
                true => self.merged_words::<false>(added),
                false => self.merged_words::<true>(added),
            };
        }
        let mut run = Self::with_capacity(self.len() + added.len());
        let (mut done, mut a, mut d) = (0, 0, 0);
        loop {
            let new = (a < added.len()).then(|| added.get(a));
            let (entry, add) = match (new, dropped.get(d)) {
                (Some(x), Some(y)) if x < *y => (x, true),
                (_, Some(y)) => (y.clone(), false),
                (Some(x), None) => (x, true),
                (None, None) => break,
            };
            let at = self.lower(&entry.0, &entry.1);
            run.extend(self, done..at);
            done = at;
            let there = at < self.len() && self.cmp(at, &entry.0, &entry.1).is_eq();
            if add {
                a += 1;
                if !there {
                    run.push(entry);
                }
            } else {
                d += 1;
                done += usize::from(there);
            }
        }
        run.extend(self, done..self.len());
        run
    }

    /// [`merged`](Self::merged) where nothing goes and every key fits its head, or even its first
    /// word.
    ///
    /// PERF: telar bench index: which side is next cannot be predicted, so nothing branches on it,
    /// and the columns are written once.
    fn merged_words<const LOWS: bool>(&self, added: &Self) -> Self {
        const ADDED: u32 = 1 << 31;
        let head = |run: &Self, i: usize| if LOWS { run.head(i) } else { run.highs[i].into() };
        // Places in this run, and with the bit in the other one, in the order of the entries.
        let mut order: SmallVec<[u32; 384]> = SmallVec::from_elem(0, self.len() + added.len());
        let (mut a, mut b, mut at) = (0, 0, 0);
        while a < self.len() && b < added.len() {
            let left = (head(self, a), self.items[a]);
            let right = (head(added, b), added.items[b]);
            let (is_left, is_right) = (left <= right, right <= left);
            order[at] = select_unpredictable(is_left, a as u32, b as u32 | ADDED);
            (a, b) = (a + usize::from(is_left), b + usize::from(is_right));
            at += 1;
        }
        order.truncate(at);
        let mut run = Self::with_capacity(order.len() + self.len() - a + added.len() - b);
        let of = |place: &u32| select_unpredictable(place & ADDED == 0, self, added);
        let i = |place: &u32| (place & !ADDED) as usize;
        run.highs.extend(order.iter().map(|place| of(place).highs[i(place)]));
        if LOWS {
            run.lows.extend(order.iter().map(|place| of(place).head(i(place)) as u64));
        }
        run.items.extend(order.iter().map(|place| of(place).items[i(place)]));
        run.extend(self, a..self.len());
        run.extend(added, b..added.len());
        run
    }

    /// A run of entries whose keys fit their heads: first words, second words, items; all sorted
    /// and without repeats.
    pub(crate) fn of_words(
        entries: impl ExactSizeIterator<Item = (u64, u64, Item<N>)> + Clone,
    ) -> Self {
        let mut run = Self::with_capacity(entries.len());
        run.highs.extend(entries.clone().map(|(high, _, _)| high));
        if entries.clone().any(|(_, low, _)| low != 0) {
            run.lows.extend(entries.clone().map(|(_, low, _)| low));
        }
        run.items.extend(entries.map(|(_, _, item)| item));
        run
    }

    /// Heap bytes.
    pub(crate) fn bytes(&self) -> usize {
        let rests = self.rests.iter().flatten().map(|r| r.len() + 16).sum::<usize>();
        (self.highs.capacity() + self.lows.capacity()) * 8
            + self.items.capacity() * size_of::<Item<N>>()
            + self.rests.capacity() * size_of::<Option<Arc<[u8]>>>()
            + rests
    }
}

impl<const N: usize> From<&[Entry<N>]> for Run<N> {
    /// Of sorted entries without repeats.
    fn from(entries: &[Entry<N>]) -> Self {
        let mut run = Self::with_capacity(entries.len());
        entries.iter().for_each(|entry| run.push(entry.clone()));
        run
    }
}

/// Appends `from[range]` to a column that is empty while it holds nothing but defaults, and has
/// `len` entries otherwise.
fn extend_sparse<T: Clone + Default>(to: &mut Vec<T>, len: usize, from: &[T], range: Range<usize>) {
    if !from.is_empty() {
        to.resize(len, T::default());
        to.extend_from_slice(&from[range]);
    } else if !to.is_empty() {
        to.resize(len + range.len(), T::default());
    }
}

/// The first of `range` for which `below` does not hold.
fn partition_point(range: Range<usize>, below: impl Fn(&usize) -> bool) -> usize {
    let (mut from, mut to) = (range.start, range.end);
    while from < to {
        let middle = from.midpoint(to);
        if below(&middle) {
            from = middle + 1;
        } else {
            to = middle;
        }
    }
    from
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;
    use telar_graph::Value;

    fn entry() -> impl Strategy<Value = Entry<1>> {
        let value = prop_oneof![
            (0_i64..20).prop_map(Value::Int),
            "a{0,2}".prop_map(Value::from),
            "a{7,13}".prop_map(Value::from),
            "a{14,17}[bc]?".prop_map(Value::from),
        ];
        (value, 0_u32..3).prop_map(|(v, item)| (SortKey::of(&[v]).unwrap(), [item]))
    }

    fn sorted(set: &BTreeSet<Entry<1>>) -> Vec<Entry<1>> {
        set.iter().cloned().collect()
    }

    fn run_of(set: &BTreeSet<Entry<1>>) -> Run<1> {
        Run::from(&sorted(set)[..])
    }

    proptest! {
        #[test]
        fn merging_is_set_arithmetic(
            old in proptest::collection::btree_set(entry(), 0..60),
            added in proptest::collection::btree_set(entry(), 0..30),
            dropped in proptest::collection::btree_set(entry(), 0..30),
            probe in entry(),
        ) {
            let added: BTreeSet<_> = added.difference(&dropped).cloned().collect();
            let run = run_of(&old).merged(&run_of(&added), &sorted(&dropped));
            let expected: BTreeSet<_> = old.union(&added).cloned().collect();
            let expected: Vec<_> = expected.difference(&dropped).cloned().collect();
            prop_assert_eq!((0..run.len()).map(|i| run.get(i)).collect::<Vec<_>>(), &*expected);
            let below = expected.iter().filter(|e| **e < probe).count();
            prop_assert_eq!(run.lower(&probe.0, &probe.1), below);
            let up_to = expected.iter().filter(|e| **e <= probe).count();
            prop_assert_eq!(run.upper(&probe.0, &probe.1), up_to);
            let part = run.slice(below..up_to);
            prop_assert_eq!(part.len(), up_to - below);
        }
    }
}
