//! Terms of a full-text index, without a look at the objects that have them.
//!
//! Entries are in order of their terms: each term that is met is told once, and after some entries
//! of it the next term is sought. What is dropped in the meantime, or newer than the snapshot, may
//! be told, too: whoever asked reads the postings.

use std::ops::ControlFlow;

use smallvec::SmallVec;
use telar_graph::IndexUnavailable;
use telar_text::key;

use super::Reader;
use crate::index::key::SortKey;
use crate::index::read::{KeyRange, TreeOf};
use crate::index::{Entries, Index, IndexTarget};

/// Entries of a term, one after the other, after which the next term is sought. A search unpacks a
/// partition of about so many.
const SKIPPED_AFTER: u32 = 256;

/// The progress of a read through the terms of its range.
struct Terms<'f> {
    /// Field and term of the last entry; nothing before the first.
    beginning: SmallVec<[u8; 64]>,
    /// Its entries that were met.
    met: u32,
    /// Calls with each new beginning.
    f: &'f mut dyn FnMut(&[u8]) -> ControlFlow<()>,
}

impl<'f> Terms<'f> {
    fn new(f: &'f mut dyn FnMut(&[u8]) -> ControlFlow<()>) -> Self {
        Self { beginning: SmallVec::new(), met: 0, f }
    }

    /// Takes a key that shares so many bytes, or more, with the one before.
    fn meet(&mut self, key: &[u8], shared: usize) -> ControlFlow<()> {
        // The byte behind the term is a zero.
        if shared > self.beginning.len() && !self.beginning.is_empty() {
            self.met += 1;
            return ControlFlow::Continue(());
        }
        let beginning = key::beginning(key).unwrap_or_default();
        if beginning == &self.beginning[..] {
            self.met += 1;
            return ControlFlow::Continue(());
        }
        self.beginning = SmallVec::from_slice(beginning);
        self.met = 1;
        if beginning.is_empty() {
            // The length of a document.
            return ControlFlow::Continue(());
        }
        (self.f)(beginning)
    }

    /// The beginning of the next term, if it is better sought than waited for.
    fn next(&self) -> Option<SortKey> {
        let is_long = self.met >= SKIPPED_AFTER && !self.beginning.is_empty();
        is_long.then(|| SortKey::from_bytes(&key::postings(&self.beginning).1))
    }
}

impl Reader<'_> {
    /// Calls `f` with the beginnings of postings in a range, until it breaks off: with all that the
    /// snapshot has, and perhaps others, or some more than once.
    pub(crate) fn fulltext_beginnings(
        &self,
        index: &Index,
        range: &KeyRange,
        f: &mut dyn FnMut(&[u8]) -> ControlFlow<()>,
    ) -> Result<(), IndexUnavailable> {
        match index.definition.target {
            IndexTarget::Vertices(_) => self.beginnings::<1>(index, range, f),
            IndexTarget::Edges(_) => self.beginnings::<3>(index, range, f),
        }
    }

    fn beginnings<const N: usize>(
        &self,
        index: &Index,
        range: &KeyRange,
        f: &mut dyn FnMut(&[u8]) -> ControlFlow<()>,
    ) -> Result<(), IndexUnavailable>
    where
        Entries: TreeOf<N>,
    {
        let mut terms = Terms::new(f);
        if !index.is_loaded() {
            let to = range.to.as_ref();
            let stored = self.read_stored::<N>(index, &range.from, |key, _, _| {
                if to.is_some_and(|to| key >= to) {
                    return ControlFlow::Break(());
                }
                terms.meet(&key.to_bytes(), 0)
            })?;
            if stored.is_some() {
                return Ok(());
            }
        }
        let tree = index.tree()?;
        if let Some(past) = self.past {
            let copy = self.past_index(past, index);
            let _ =
                copy.range(range).iter().try_for_each(|(key, _)| terms.meet(&key.to_bytes(), 0));
            return Ok(());
        }
        let mut from = Some(range.from.clone());
        while let Some(start) = from.take() {
            tree.for_bytes(&start, range.to.as_ref(), &self.guard, |key, shared, _| {
                terms.meet(key, shared)?;
                from = terms.next();
                if from.is_some() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
            });
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Each term is told once, however many entries it has, and whatever is known of what keys
    /// share; of a frequent one most are skipped.
    #[test]
    fn terms_are_told_once_and_frequent_ones_skipped() {
        let posting = |term: &str, n: u32| {
            let mut bytes = key::postings(&[&[1], term.as_bytes()].concat()).0;
            bytes.extend([1, 20]);
            bytes.extend(n.to_le_bytes());
            bytes
        };
        let mut keys = vec![vec![1, 0, 20, 0, 0, 0, 7], vec![1, 0, 20, 0, 0, 0, 8]];
        let long = "abacus and more than a head";
        for (term, entries) in [("a", 1), ("ab", 1000), (long, 300), ("b", 2)] {
            keys.extend((0..entries).map(|n| posting(term, n)));
        }
        keys.sort_unstable();
        for is_known in [false, true] {
            let (mut told, mut met) = (Vec::new(), 0);
            let mut tell = |beginning: &[u8]| {
                told.push(String::from_utf8(beginning[1..].to_vec()).unwrap());
                ControlFlow::Continue(())
            };
            let mut terms = Terms::new(&mut tell);
            let (mut at, mut before) = (0, None);
            while let Some(key) = keys.get(at) {
                let same =
                    |before: &Vec<u8>| before.iter().zip(key).take_while(|(a, b)| a == b).count();
                let shared = before.filter(|_| is_known).map_or(0, same);
                assert!(terms.meet(key, shared).is_continue());
                met += 1;
                (at, before) = match terms.next() {
                    Some(next) => {
                        (keys.partition_point(|key| SortKey::from_bytes(key) < next), None)
                    }
                    None => (at + 1, Some(key)),
                };
            }
            assert_eq!(told, ["a", "ab", long, "b"]);
            assert_eq!(met, 2 + 1 + 256 + 256 + 2);
        }
    }
}
