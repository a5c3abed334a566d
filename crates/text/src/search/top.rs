//! The best documents of a sum of terms, without a look at those that cannot be among them.
//!
//! ```text
//!  lists by their best score, ascending:   a   b │ c   d
//!                                      optional │ needed
//!  θ: the least score of the best so far. Documents with optional terms only score θ at most: the
//!  needed lists are merged, block by block, and the optional ones asked for what they give.
//!  a block is skipped if its best score and what others can add is θ at most
//! ```
//!
//! Documents come in ascending order: one that scores as much as the last of the best comes after
//! it, and is none of them.
//! Source: H. Turtle, J. Flood, "Query evaluation: strategies and optimizations", 1995 (MaxScore);
//! S. Ding, T. Suel, "Faster top-k document retrieval using block-max indexes", SIGIR 2011.

use std::cmp::Ordering;
use std::collections::BinaryHeap;

use super::{List, rank};
use crate::score::Scorer;

/// Sums of bounds are rounded up by this: sums of scores are in another order.
const ROUNDED: f64 = 1.0 + 1e-9;

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

/// A list, and how far it was read.
struct Cursor<'l, L: List> {
    list: &'l L,
    scorer: &'l Scorer,
    /// Best score of each block, and of all.
    bounds: Vec<f32>,
    best: f32,
    /// Block and place in it.
    block: usize,
    at: usize,
    /// Scores of the block's impacts, if they are those of this block.
    scores: Vec<f32>,
    scored: usize,
    /// Place among the terms of the query.
    term: usize,
}

impl<'l, L: List> Cursor<'l, L> {
    fn new(list: &'l L, scorer: &'l Scorer, term: usize) -> Self {
        let bound = |block: usize| {
            let scores = list.best(block).map(|(frequency, norm)| scorer.of(frequency, norm));
            scores.fold(0.0, f32::max)
        };
        let bounds: Vec<f32> = (0..list.blocks()).map(bound).collect();
        let best = bounds.iter().copied().fold(0.0, f32::max);
        let scores = Vec::new();
        Self { list, scorer, bounds, best, block: 0, at: 0, scores, scored: usize::MAX, term }
    }

    fn objects(&self) -> &'l [L::Object] {
        if self.block < self.bounds.len() { self.list.objects(self.block) } else { &[] }
    }

    fn object(&self) -> Option<L::Object> {
        self.objects().get(self.at).copied()
    }

    fn last_of_block(&self) -> Option<L::Object> {
        self.objects().last().copied()
    }

    fn score(&mut self) -> f32 {
        if self.scored != self.block {
            self.scores.clear();
            let impacts = self.list.impacts(self.block);
            self.scores.extend(impacts.map(|(frequency, norm)| self.scorer.of(frequency, norm)));
            self.scored = self.block;
        }
        self.scores[usize::from(self.list.places(self.block)[self.at])]
    }

    fn step(&mut self) {
        self.at += 1;
        if self.at >= self.objects().len() {
            (self.block, self.at) = (self.block + 1, 0);
        }
    }

    fn skip_block(&mut self) {
        (self.block, self.at) = (self.block + 1, 0);
    }

    /// Moves to the block where an object would be, and returns its bound; 0 behind the last one.
    fn seek_block(&mut self, object: L::Object) -> f32 {
        let is_before =
            |block: usize| self.list.objects(block).last().is_some_and(|last| *last < object);
        if self.block < self.bounds.len() && is_before(self.block) {
            // Galloping: what is sought is near, mostly.
            let (mut from, mut step) = (self.block + 1, 1);
            while from + step < self.bounds.len() && is_before(from + step) {
                (from, step) = (from + step + 1, step * 2);
            }
            let mut to = (from + step).min(self.bounds.len());
            while from < to {
                let middle = from.midpoint(to);
                if is_before(middle) { from = middle + 1 } else { to = middle }
            }
            (self.block, self.at) = (from, 0);
        }
        self.bounds.get(self.block).copied().unwrap_or(0.0)
    }

    /// Moves to an object, or to the next one after it.
    fn move_to(&mut self, object: L::Object) -> Option<L::Object> {
        self.seek_block(object);
        self.at += self.objects()[self.at..].partition_point(|other| *other < object);
        self.object()
    }
}

/// Windows between two questions whether to go on.
const STEP: u32 = 256;

/// The best documents of the sum of these terms, so many at most, in no order. `check` is asked
/// from time to time whether to go on, with the number of hits that are held.
pub(super) fn top<L: List, E>(
    terms: &[(&L, &Scorer)],
    most: usize,
    check: &mut dyn FnMut(usize) -> Result<(), E>,
) -> Result<Vec<(L::Object, f32)>, E> {
    if most == 0 {
        return Ok(Vec::new());
    }
    let cursors = terms.iter().zip(0..).map(|((list, scorer), at)| Cursor::new(*list, scorer, at));
    let mut cursors: Vec<_> = cursors.collect();
    cursors.sort_by(|a, b| a.best.total_cmp(&b.best));
    let mut sum = 0.0;
    // What the first cursors can add together.
    let optional: Vec<f64> = std::iter::once(0.0)
        .chain(cursors.iter().map(|cursor| {
            sum += f64::from(cursor.best);
            sum
        }))
        .collect();
    let mut top = Top {
        optional,
        needed: 0,
        threshold: None,
        best: BinaryHeap::new(),
        most,
        given: vec![0.0; terms.len()],
    };
    let mut windows = 0_u32;
    while top.window(&mut cursors) {
        windows = windows.wrapping_add(1);
        if windows.is_multiple_of(STEP) {
            check(top.best.len())?;
        }
    }
    Ok(top.best.into_iter().map(|Hit(object, score)| (object, score)).collect())
}

struct Top<I> {
    /// By number of cursors, what the first ones can add.
    optional: Vec<f64>,
    /// The first cursor that is needed.
    needed: usize,
    /// The least score of the best, once there are as many as are wanted.
    threshold: Option<f32>,
    best: BinaryHeap<Hit<I>>,
    most: usize,
    /// What each term gives the document at hand.
    given: Vec<f32>,
}

impl<I: Copy + Ord> Top<I> {
    /// True if a document with this score at most is none of the best.
    fn is_too_low(&self, bound: f64) -> bool {
        self.threshold.is_some_and(|threshold| (bound * ROUNDED) as f32 <= threshold)
    }

    /// Reads, or skips, what the needed cursors have up to where the first of their blocks ends.
    /// False if there is no more.
    fn window<L: List<Object = I>>(&mut self, cursors: &mut [Cursor<'_, L>]) -> bool {
        let (optional, needed) = cursors.split_at_mut(self.needed);
        let ends = needed.iter().filter_map(Cursor::last_of_block);
        let Some(end) = ends.min() else { return false };
        let others = self.optional[self.needed];
        let here = needed.iter().filter(|cursor| cursor.object().is_some_and(|o| o <= end));
        let bound: f64 = here.map(|cursor| f64::from(cursor.bounds[cursor.block])).sum();
        if self.is_too_low(bound + others) {
            for cursor in needed {
                if cursor.last_of_block() == Some(end) {
                    cursor.skip_block();
                } else if cursor.move_to(end) == Some(end) {
                    cursor.step();
                }
            }
            return true;
        }
        match needed {
            [one] => self.read_one(optional, one),
            needed => self.read_all(optional, needed, end),
        }
        // With a higher threshold more of them are optional.
        while self.needed < cursors.len() && self.is_too_low(self.optional[self.needed + 1]) {
            self.needed += 1;
        }
        true
    }

    /// Reads the rest of a block of the only needed cursor.
    ///
    /// PERF: crates/db/examples/fulltext_cost.rs, "frequent and rare": nearly every document of a
    /// long list is refused by one comparison.
    fn read_one<L: List<Object = I>>(
        &mut self,
        optional: &mut [Cursor<'_, L>],
        cursor: &mut Cursor<'_, L>,
    ) {
        let block = cursor.block;
        let others = self.optional[optional.len()];
        cursor.score();
        // By impact, true if a document may be among the best.
        let hope = |top: &Self, scores: &[f32]| -> Vec<bool> {
            scores.iter().map(|score| !top.is_too_low(f64::from(*score) + others)).collect()
        };
        let (objects, places) = (cursor.list.objects(block), cursor.list.places(block));
        let mut hopes = hope(self, &cursor.scores);
        for at in cursor.at..objects.len() {
            if !hopes[usize::from(places[at])] {
                continue;
            }
            let score = cursor.scores[usize::from(places[at])];
            let before = self.threshold;
            self.given.fill(0.0);
            self.given[cursor.term] = score;
            self.add(optional, objects[at], f64::from(score));
            if self.threshold != before {
                hopes = hope(self, &cursor.scores);
            }
        }
        cursor.skip_block();
    }

    /// Reads documents up to `end` in any of the needed cursors.
    fn read_all<L: List<Object = I>>(
        &mut self,
        optional: &mut [Cursor<'_, L>],
        needed: &mut [Cursor<'_, L>],
        end: I,
    ) {
        loop {
            let next = needed.iter().filter_map(Cursor::object).min();
            let Some(object) = next.filter(|object| *object <= end) else { return };
            self.given.fill(0.0);
            let mut sum = 0.0;
            for cursor in &mut *needed {
                if cursor.object() == Some(object) {
                    let score = cursor.score();
                    self.given[cursor.term] = score;
                    sum += f64::from(score);
                    cursor.step();
                }
            }
            self.add(optional, object, sum);
        }
    }

    /// Asks the optional cursors, the best first, for what they add to a document, as long as it
    /// may be among the best; and keeps it if it is.
    fn add<L: List<Object = I>>(
        &mut self,
        optional: &mut [Cursor<'_, L>],
        object: I,
        mut sum: f64,
    ) {
        for at in (0..optional.len()).rev() {
            if self.is_too_low(sum + self.optional[at + 1]) {
                return;
            }
            let cursor = &mut optional[at];
            let bound = cursor.seek_block(object);
            if self.is_too_low(sum + f64::from(bound) + self.optional[at]) {
                return;
            }
            if cursor.move_to(object) == Some(object) {
                let score = cursor.score();
                self.given[cursor.term] = score;
                sum += f64::from(score);
            }
        }
        // In the order of the terms, as where all of them are read.
        let score = self.given.iter().map(|score| f64::from(*score)).sum::<f64>() as f32;
        if self.threshold.is_some_and(|threshold| score <= threshold) {
            return;
        }
        if self.best.len() == self.most {
            self.best.pop();
        }
        self.best.push(Hit(object, score));
        if self.best.len() == self.most {
            self.threshold = self.best.peek().map(|Hit(_, score)| *score);
        }
    }
}
