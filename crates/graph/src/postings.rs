//! Postings of a term: the objects that have it, ascending, in blocks.
//!
//! ```text
//!  block   objects · for each the number of its impact · impacts (frequency, norm), the best first
//! ```
//!
//! An *impact* is all of a posting that a score is made of. Of two impacts the one with the higher
//! frequency and the lower norm has the higher score, whatever the statistics are; a block begins
//! its impacts with those that no other one beats so, and the best score of a block is that of one
//! of them: what cannot be among the best is skipped by the block.
//!
//! Lists do not change. A changed copy shares the blocks that are the same.

use std::sync::Arc;

/// Postings of a block, where it is made; changes let it grow to twice that.
const BLOCK: usize = 128;

/// Number of times that a term occurs in a field, and the length of the field in one byte.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Impact {
    /// Occurrences of the term in the field.
    pub frequency: u32,
    /// Length of the field: the less, the shorter.
    pub norm: u8,
}

impl Impact {
    /// True if its score is at least that of the other one, whatever the statistics are.
    fn beats(self, other: Self) -> bool {
        self.frequency >= other.frequency && self.norm <= other.norm
    }
}

/// Neighbouring postings.
#[derive(Debug, PartialEq, Eq)]
pub struct Block<D> {
    objects: Box<[D]>,
    /// For each object, a place in `impacts`.
    places: Box<[u8]>,
    impacts: Box<[Impact]>,
    /// Number of impacts that no other one beats; they stand first.
    best: u8,
}

impl<D: Copy + Ord> Block<D> {
    fn new(postings: &[(D, Impact)]) -> Self {
        debug_assert!(postings.len() <= 2 * BLOCK && postings.is_sorted_by(|a, b| a.0 < b.0));
        let mut impacts: Vec<Impact> = postings.iter().map(|(_, impact)| *impact).collect();
        impacts.sort_unstable();
        impacts.dedup();
        let is_beaten =
            |impact: &Impact| impacts.iter().any(|other| other != impact && other.beats(*impact));
        let (beaten, mut ordered): (Vec<Impact>, Vec<Impact>) =
            impacts.iter().partition(|impact| is_beaten(impact));
        let best = ordered.len();
        ordered.extend(beaten);
        // A block has at most 256 impacts: one for each posting.
        let place = |impact| ordered.iter().position(|i| *i == impact).unwrap_or(0) as u8;
        Self {
            objects: postings.iter().map(|(object, _)| *object).collect(),
            places: postings.iter().map(|(_, impact)| place(*impact)).collect(),
            best: u8::try_from(best).unwrap_or(u8::MAX),
            impacts: ordered.into(),
        }
    }

    /// The objects, ascending.
    #[inline]
    #[must_use]
    pub fn objects(&self) -> &[D] {
        &self.objects
    }

    /// For each object, the number of its impact.
    #[inline]
    #[must_use]
    pub fn places(&self) -> &[u8] {
        &self.places
    }

    /// The impacts.
    #[inline]
    #[must_use]
    pub fn impacts(&self) -> &[Impact] {
        &self.impacts
    }

    /// Impacts of which one has the best score of the block.
    #[inline]
    #[must_use]
    pub fn best(&self) -> &[Impact] {
        match self.best {
            // As many as there are, perhaps one more.
            u8::MAX => &self.impacts,
            best => &self.impacts[..usize::from(best)],
        }
    }

    fn iter(&self) -> impl Iterator<Item = (D, Impact)> {
        let impact = |place: &u8| self.impacts[usize::from(*place)];
        self.objects.iter().copied().zip(self.places.iter().map(impact))
    }

    fn bytes(&self) -> usize {
        size_of::<Self>()
            + size_of_val(&*self.objects)
            + self.places.len()
            + size_of_val(&*self.impacts)
    }
}

/// Objects that have a term, ascending.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Postings<D> {
    blocks: Vec<Arc<Block<D>>>,
    len: usize,
}

impl<D> Default for Postings<D> {
    fn default() -> Self {
        Self { blocks: Vec::new(), len: 0 }
    }
}

impl<D: Copy + Ord> Postings<D> {
    /// A list of postings in any order. Of those of one object, the last counts.
    #[must_use]
    pub fn new(mut postings: Vec<(D, Impact)>) -> Self {
        if !postings.is_sorted_by(|a, b| a.0 < b.0) {
            postings.reverse();
            postings.sort_by_key(|(object, _)| *object);
            postings.dedup_by_key(|(object, _)| *object);
        }
        let blocks = postings.chunks(BLOCK).map(|some| Arc::new(Block::new(some))).collect();
        Self { blocks, len: postings.len() }
    }

    /// Number of postings.
    #[must_use]
    pub fn len(&self) -> usize {
        self.len
    }

    /// True if no object has the term.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The blocks, ascending; none is empty.
    #[must_use]
    pub fn blocks(&self) -> &[Arc<Block<D>>] {
        &self.blocks
    }

    /// The postings, ascending.
    pub fn iter(&self) -> impl Iterator<Item = (D, Impact)> {
        self.blocks.iter().flat_map(|block| block.iter())
    }

    /// A copy after changes: the impact that an object has now, or none if it lost the term. Of
    /// several changes of one object, the last counts.
    #[must_use]
    pub fn changed(&self, mut changes: Vec<(D, Option<Impact>)>) -> Self {
        changes.reverse();
        changes.sort_by_key(|(object, _)| *object);
        changes.dedup_by_key(|(object, _)| *object);
        let mut changes = &changes[..];
        let mut changed = Self { blocks: Vec::with_capacity(self.blocks.len() + 1), len: 0 };
        for (at, block) in self.blocks.iter().enumerate() {
            let here = match block.objects.last() {
                Some(last) if at + 1 < self.blocks.len() => {
                    changes.partition_point(|(object, _)| object <= last)
                }
                _ => changes.len(),
            };
            let (of_block, rest) = changes.split_at(here);
            changes = rest;
            if of_block.is_empty() {
                changed.len += block.objects.len();
                changed.blocks.push(Arc::clone(block));
            } else {
                changed.push_all(&merged(block, of_block));
            }
        }
        // A list without blocks takes all changes here.
        let new = |(object, impact): &(D, Option<Impact>)| Some((*object, (*impact)?));
        changed.push_all(&changes.iter().filter_map(new).collect::<Vec<_>>());
        changed
    }

    fn push_all(&mut self, postings: &[(D, Impact)]) {
        self.len += postings.len();
        let size = if postings.len() <= 2 * BLOCK { 2 * BLOCK } else { BLOCK };
        self.blocks.extend(postings.chunks(size).map(|some| Arc::new(Block::new(some))));
    }

    /// Heap bytes, shared blocks included.
    #[must_use]
    pub fn bytes(&self) -> usize {
        /// Counters and the block's place in the list.
        const OF_BLOCK: usize = 24;
        self.blocks.iter().map(|block| block.bytes() + OF_BLOCK).sum()
    }
}

/// The postings of a block after changes, which are sorted and of one object once.
fn merged<D: Copy + Ord>(block: &Block<D>, changes: &[(D, Option<Impact>)]) -> Vec<(D, Impact)> {
    let mut postings = Vec::with_capacity(block.objects.len() + changes.len());
    let mut old = block.iter().peekable();
    for (object, impact) in changes {
        while let Some(before) = old.next_if(|(other, _)| other < object) {
            postings.push(before);
        }
        old.next_if(|(other, _)| other == object);
        postings.extend(impact.map(|impact| (*object, impact)));
    }
    postings.extend(old);
    postings
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::*;

    fn impact() -> impl Strategy<Value = Impact> {
        (1_u32..400, 0_u8..20).prop_map(|(frequency, norm)| Impact { frequency, norm })
    }

    fn holds(list: &Postings<u32>, expected: &BTreeMap<u32, Impact>) {
        let all: Vec<(u32, Impact)> = expected.iter().map(|(o, i)| (*o, *i)).collect();
        assert_eq!(list.iter().collect::<Vec<_>>(), all);
        assert_eq!((list.len(), list.is_empty()), (all.len(), all.is_empty()));
        assert!(list.blocks().iter().all(|block| !block.objects().is_empty()));
        for block in list.blocks() {
            assert!(block.objects().len() <= 2 * BLOCK);
            for impact in block.impacts() {
                assert!(block.best().iter().any(|best| best.beats(*impact)));
            }
        }
    }

    proptest! {
        #[test]
        fn lists_are_maps_of_objects(
            first in prop::collection::vec((0_u32..2000, impact()), 0..900),
            changes in prop::collection::vec(
                prop::collection::vec((0_u32..2500, prop::option::of(impact())), 0..600), 0..4),
        ) {
            let mut expected: BTreeMap<u32, Impact> = first.iter().copied().collect();
            let mut list = Postings::new(first);
            holds(&list, &expected);
            for changes in changes {
                let before = list.clone();
                list = list.changed(changes.clone());
                assert_eq!(list.changed(Vec::new()), list);
                for (object, impact) in changes {
                    match impact {
                        Some(impact) => expected.insert(object, impact),
                        None => expected.remove(&object),
                    };
                }
                holds(&list, &expected);
                prop_assert!(before.is_empty() || before.bytes() > 0);
            }
        }
    }

    /// As many impacts as postings, none of which beats another.
    #[test]
    fn a_block_may_have_an_impact_for_each_posting() {
        let posting = |n: u32| (n, Impact { frequency: n + 1, norm: n as u8 });
        let first = Postings::new((0..128).map(posting).collect());
        let list = first.changed((128..256).map(|n| (n, Some(posting(n).1))).collect());
        assert_eq!((list.blocks().len(), list.blocks()[0].best().len()), (1, 256));
        holds(&list, &(0..256).map(posting).collect());
    }

    #[test]
    fn a_changed_list_shares_what_is_the_same() {
        let impact = Impact { frequency: 1, norm: 2 };
        let list = Postings::new((0..1000_u32).map(|n| (n, impact)).collect());
        let changed = list.changed(vec![(300, None)]);
        let same = list.blocks().iter().zip(changed.blocks()).filter(|(a, b)| Arc::ptr_eq(a, b));
        assert_eq!(same.count(), list.blocks().len() - 1);
        assert_eq!(changed.len(), 999);
    }
}
