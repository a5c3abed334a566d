//! Runs: sorted, immutable entries in columns, searched by the words of their keys.

use std::cmp::Ordering;
use std::ops::Range;
use std::sync::Arc;

use super::key::{Entry, Item, SortKey};

/// Sorted entries without repeats.
#[derive(Debug, Clone, Default)]
pub(crate) struct Run<const N: usize> {
    heads: Vec<u128>,
    /// Empty if every key fits its head.
    rests: Vec<Option<Arc<[u8]>>>,
    items: Vec<Item<N>>,
}

impl<const N: usize> Run<N> {
    pub(crate) fn with_capacity(entries: usize) -> Self {
        Self {
            heads: Vec::with_capacity(entries),
            rests: Vec::new(),
            items: Vec::with_capacity(entries),
        }
    }

    #[inline]
    pub(crate) fn len(&self) -> usize {
        self.heads.len()
    }

    /// The entry at `i`.
    #[inline]
    pub(crate) fn get(&self, i: usize) -> Entry<N> {
        (self.key(i), self.items[i])
    }

    #[inline]
    pub(crate) fn key(&self, i: usize) -> SortKey {
        SortKey { head: self.heads[i], rest: self.rests.get(i).cloned().flatten() }
    }

    #[inline]
    pub(crate) fn item(&self, i: usize) -> Item<N> {
        self.items[i]
    }

    #[inline]
    fn cmp(&self, i: usize, key: &SortKey, item: &Item<N>) -> Ordering {
        let rest = || self.rests.get(i).and_then(Option::as_deref).cmp(&key.rest.as_deref());
        self.heads[i].cmp(&key.head).then_with(rest).then_with(|| self.items[i].cmp(item))
    }

    /// Whether the entry at `i` has this key.
    #[inline]
    pub(crate) fn has_key(&self, i: usize, key: &SortKey) -> bool {
        self.heads[i] == key.head
            && self.rests.get(i).and_then(Option::as_deref) == key.rest.as_deref()
    }

    /// How many entries are below `key` and `item`.
    #[inline]
    pub(crate) fn lower(&self, key: &SortKey, item: &Item<N>) -> usize {
        // The words decide nearly always; what follows them is looked at among equal words only.
        let first = self.heads.partition_point(|head| *head < key.head);
        if self.heads.get(first) != Some(&key.head) {
            return first;
        }
        let equal = self.heads[first..].partition_point(|head| *head == key.head);
        partition_point(first..first + equal, |i| self.cmp(*i, key, item).is_lt())
    }

    /// How many entries are at or below `key` and `item`.
    #[inline]
    pub(crate) fn upper(&self, key: &SortKey, item: &Item<N>) -> usize {
        let i = self.lower(key, item);
        i + usize::from(i < self.len() && self.cmp(i, key, item).is_eq())
    }

    /// Adds an entry above all others.
    pub(crate) fn push(&mut self, (key, item): Entry<N>) {
        if key.rest.is_some() && self.rests.is_empty() {
            self.rests.resize(self.len(), None);
        }
        if key.rest.is_some() || !self.rests.is_empty() {
            self.rests.push(key.rest);
        }
        self.heads.push(key.head);
        self.items.push(item);
    }

    /// Adds entries of another run, all above those here.
    pub(crate) fn extend(&mut self, other: &Self, range: Range<usize>) {
        if !other.rests.is_empty() && self.rests.is_empty() {
            self.rests.resize(self.len(), None);
        }
        if !other.rests.is_empty() {
            self.rests.extend_from_slice(&other.rests[range.clone()]);
        } else if !self.rests.is_empty() {
            self.rests.resize(self.len() + range.len(), None);
        }
        self.heads.extend_from_slice(&other.heads[range.clone()]);
        self.items.extend_from_slice(&other.items[range]);
    }

    /// A run of some of the entries.
    pub(crate) fn slice(&self, range: Range<usize>) -> Self {
        let mut run = Self::with_capacity(range.len());
        run.extend(self, range);
        run
    }

    /// This run with `added` in and `dropped` out; both sorted, without repeats, and disjoint.
    pub(crate) fn merged(&self, added: &[Entry<N>], dropped: &[Entry<N>]) -> Self {
        if dropped.is_empty() && self.rests.is_empty() && added.iter().all(|e| e.0.rest.is_none()) {
            return self.merged_words(added);
        }
        let mut run = Self::with_capacity(self.len() + added.len());
        let (mut done, mut a, mut d) = (0, 0, 0);
        loop {
            let (entry, add) = match (added.get(a), dropped.get(d)) {
                (Some(x), Some(y)) if x < y => (x, true),
                (_, Some(y)) => (y, false),
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
                    run.push(entry.clone());
                }
            } else {
                d += 1;
                done += usize::from(there);
            }
        }
        run.extend(self, done..self.len());
        run
    }

    /// [`merged`](Self::merged) where nothing goes and every key fits its head.
    ///
    /// PERF: most of what adding to an index costs is this.
    fn merged_words(&self, added: &[Entry<N>]) -> Self {
        let mut run = Self::with_capacity(self.len() + added.len());
        let mut at = 0;
        for (key, item) in added {
            while let Some(head) = self.heads.get(at)
                && (*head, &self.items[at]) < (key.head, item)
            {
                run.heads.push(*head);
                run.items.push(self.items[at]);
                at += 1;
            }
            if self.heads.get(at) != Some(&key.head) || self.items[at] != *item {
                run.heads.push(key.head);
                run.items.push(*item);
            }
        }
        run.extend(self, at..self.len());
        run
    }

    /// Heap bytes.
    pub(crate) fn bytes(&self) -> usize {
        let rests = self.rests.iter().flatten().map(|r| r.len() + 16).sum::<usize>();
        self.heads.capacity() * 16
            + self.items.capacity() * size_of::<Item<N>>()
            + self.rests.capacity() * size_of::<Option<Arc<[u8]>>>()
            + rests
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
            "a{14,17}[bc]?".prop_map(Value::from),
        ];
        (value, 0_u32..3).prop_map(|(v, item)| (SortKey::of(&[v]).unwrap(), [item]))
    }

    fn sorted(set: &BTreeSet<Entry<1>>) -> Vec<Entry<1>> {
        set.iter().cloned().collect()
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
            let run = Run::default().merged(&sorted(&old), &[]);
            let run = run.merged(&sorted(&added), &sorted(&dropped));
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
