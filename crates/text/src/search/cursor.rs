//! Ways through the list of a term, and the best documents so far.

use std::cmp::Ordering;
use std::collections::BinaryHeap;

use super::{List, rank};
use crate::score::Scorer;

/// Sums of bounds are rounded up by this: sums of scores are in another order.
const ROUNDED: f64 = 1.0 + 1e-9;

/// Windows, or documents, between two questions whether to go on.
pub(super) const STEP: u32 = 256;

/// A place in a list, which moves on.
pub(super) struct Place<'l, L: List> {
    pub(super) list: &'l L,
    blocks: usize,
    pub(super) block: usize,
    /// Objects of the block; none behind the last one.
    objects: &'l [L::Object],
    /// In the block.
    pub(super) at: usize,
}

impl<'l, L: List> Place<'l, L> {
    pub(super) fn new(list: &'l L) -> Self {
        let mut place = Self { list, blocks: list.blocks(), block: 0, objects: &[], at: 0 };
        place.enter(0);
        place
    }

    fn enter(&mut self, block: usize) {
        self.objects = if block < self.blocks { self.list.objects(block) } else { &[] };
        (self.block, self.at) = (block, 0);
    }

    #[inline]
    pub(super) fn object(&self) -> Option<L::Object> {
        self.objects.get(self.at).copied()
    }

    pub(super) fn last_of_block(&self) -> Option<L::Object> {
        self.objects.last().copied()
    }

    pub(super) fn step(&mut self) {
        self.at += 1;
        if self.at >= self.objects.len() {
            self.skip_block();
        }
    }

    pub(super) fn skip_block(&mut self) {
        self.enter(self.block + 1);
    }

    /// Moves to the block where an object would be, or behind the last one.
    fn seek_block(&mut self, object: L::Object) {
        if self.last_of_block().is_some_and(|last| last < object) {
            let is_before =
                |block: usize| self.list.objects(block).last().is_some_and(|last| *last < object);
            // Galloping: what is sought is near, mostly.
            let (mut from, mut step) = (self.block + 1, 1);
            while from + step < self.blocks && is_before(from + step) {
                (from, step) = (from + step + 1, step * 2);
            }
            let mut to = (from + step).min(self.blocks);
            while from < to {
                let middle = from.midpoint(to);
                if is_before(middle) { from = middle + 1 } else { to = middle }
            }
            self.enter(from);
        }
    }

    /// Moves to an object, or to the next one after it.
    pub(super) fn move_to(&mut self, object: L::Object) -> Option<L::Object> {
        if self.object().is_some_and(|here| here < object) {
            self.seek_block(object);
            // Galloping, too; what is sought is in the block, if there is one.
            let (rest, mut step) = (&self.objects[self.at..], 1);
            while rest.get(step).is_some_and(|other| *other < object) {
                step *= 2;
            }
            let near = &rest[step / 2..rest.len().min(step + 1)];
            self.at += step / 2 + near.partition_point(|other| *other < object);
        }
        self.object()
    }
}

/// A place in the list of a term of a query, and what the term gives.
pub(super) struct Cursor<'l, L: List> {
    pub(super) place: Place<'l, L>,
    scorer: &'l Scorer,
    /// Number of the term.
    pub(super) term: usize,
    /// Best score of each block; not a number where nobody asked.
    bounds: Vec<f32>,
    /// Scores of the block's impacts, if they are those of this block.
    scores: Vec<f32>,
    scored: usize,
}

impl<'l, L: List> Cursor<'l, L> {
    pub(super) fn new(list: &'l L, scorer: &'l Scorer, term: usize) -> Self {
        let place = Place::new(list);
        let bounds = vec![f32::NAN; place.blocks];
        Self { place, scorer, term, bounds, scores: Vec::new(), scored: usize::MAX }
    }

    /// The best score of any block. Cost: a look at each.
    pub(super) fn best(&mut self) -> f32 {
        (0..self.bounds.len()).map(|block| self.bound_of(block)).fold(0.0, f32::max)
    }

    fn bound_of(&mut self, block: usize) -> f32 {
        if self.bounds[block].is_nan() {
            let best = self.place.list.best(block);
            let scores = best.map(|(frequency, norm)| self.scorer.of(frequency, norm));
            self.bounds[block] = scores.fold(0.0, f32::max);
        }
        self.bounds[block]
    }

    /// The best score of the block at hand; 0 behind the last one.
    pub(super) fn bound(&mut self) -> f32 {
        if self.place.block < self.bounds.len() { self.bound_of(self.place.block) } else { 0.0 }
    }

    /// Moves to the block where an object would be, and returns its bound.
    pub(super) fn seek_block(&mut self, object: L::Object) -> f32 {
        self.place.seek_block(object);
        self.bound()
    }

    /// Score of each impact of the block at hand, which is one.
    pub(super) fn scores(&mut self) -> &[f32] {
        if self.scored != self.place.block {
            self.scores.clear();
            let impacts = self.place.list.impacts(self.place.block);
            self.scores.extend(impacts.map(|(frequency, norm)| self.scorer.of(frequency, norm)));
            self.scored = self.place.block;
        }
        &self.scores
    }

    /// The score that the term gives the document at hand.
    pub(super) fn score(&mut self) -> f32 {
        let impact = self.place.list.places(self.place.block)[self.place.at];
        self.scores()[usize::from(impact)]
    }
}

/// A hit; the better, the less.
#[derive(Debug, Clone, Copy)]
struct Hit<I>(I, f32);

impl<I: Copy + Ord> Ord for Hit<I> {
    fn cmp(&self, other: &Self) -> Ordering {
        rank(&(self.0, self.1), &(other.0, other.1))
    }
}

impl<I: Copy + Ord> PartialOrd for Hit<I> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl<I: Copy + Ord> PartialEq for Hit<I> {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl<I: Copy + Ord> Eq for Hit<I> {}

/// The best documents so far, so many at most. They come in ascending order: one that scores as
/// much as the last of the best comes after it, and is none of them.
pub(super) struct Best<I> {
    hits: BinaryHeap<Hit<I>>,
    most: usize,
    /// The least score of the best, once there are as many as are wanted.
    pub(super) threshold: Option<f32>,
}

impl<I: Copy + Ord> Best<I> {
    /// None yet, of one or more.
    pub(super) fn new(most: usize) -> Self {
        Self { hits: BinaryHeap::new(), most, threshold: None }
    }

    pub(super) fn len(&self) -> usize {
        self.hits.len()
    }

    /// True if a document with this score at most is none of the best.
    pub(super) fn is_too_low(&self, bound: f64) -> bool {
        self.threshold.is_some_and(|threshold| (bound * ROUNDED) as f32 <= threshold)
    }

    /// Takes a document, with what each term gives it, if it is one of the best.
    pub(super) fn offer(&mut self, object: I, given: &[f32]) {
        // In the order of the terms, as where all of them are read.
        let score = given.iter().map(|score| f64::from(*score)).sum::<f64>() as f32;
        if self.threshold.is_some_and(|threshold| score <= threshold) {
            return;
        }
        if self.hits.len() == self.most {
            self.hits.pop();
        }
        self.hits.push(Hit(object, score));
        if self.hits.len() == self.most {
            self.threshold = self.hits.peek().map(|Hit(_, score)| *score);
        }
    }

    /// The hits, in no order.
    pub(super) fn into_hits(self) -> Vec<(I, f32)> {
        self.hits.into_iter().map(|Hit(object, score)| (object, score)).collect()
    }
}
