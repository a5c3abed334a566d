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
//! Source: H. Turtle, J. Flood, "Query evaluation: strategies and optimizations", 1995 (MaxScore);
//! S. Ding, T. Suel, "Faster top-k document retrieval using block-max indexes", SIGIR 2011.

use super::List;
use super::cursor::{Best, Cursor, Place, STEP};

/// The best documents of the sum of these terms, of which one or more are wanted, without those of
/// the lists `without`; in no order. `count` is that of all terms of the query. `check` is asked
/// from time to time whether to go on, with the number of hits that are held.
pub(super) fn top<L: List, E>(
    mut cursors: Vec<Cursor<'_, L>>,
    without: Vec<Place<'_, L>>,
    count: usize,
    most: usize,
    check: &mut dyn FnMut(usize) -> Result<(), E>,
) -> Result<Vec<(L::Object, f32)>, E> {
    let mut bests: Vec<_> = cursors.drain(..).map(|mut cursor| (cursor.best(), cursor)).collect();
    bests.sort_by(|a, b| a.0.total_cmp(&b.0));
    let mut optional = vec![0.0];
    for (best, cursor) in bests {
        optional.push(optional[cursors.len()] + f64::from(best));
        cursors.push(cursor);
    }
    let (best, given) = (Best::new(most), vec![0.0; count]);
    let mut top = Top { optional, needed: 0, best, given, without };
    let mut windows = 0_u32;
    while top.window(&mut cursors) {
        windows = windows.wrapping_add(1);
        if windows.is_multiple_of(STEP) {
            check(top.best.len())?;
        }
    }
    Ok(top.best.into_hits())
}

struct Top<'l, L: List> {
    /// By number of cursors, what the first ones can add.
    optional: Vec<f64>,
    /// The first cursor that is needed.
    needed: usize,
    best: Best<L::Object>,
    /// What each term gives the document at hand.
    given: Vec<f32>,
    without: Vec<Place<'l, L>>,
}

impl<L: List> Top<'_, L> {
    /// Reads, or skips, what the needed cursors have up to where the first of their blocks ends.
    /// False if there is no more.
    fn window(&mut self, cursors: &mut [Cursor<'_, L>]) -> bool {
        let (optional, needed) = cursors.split_at_mut(self.needed);
        let ends = needed.iter().filter_map(|cursor| cursor.place.last_of_block());
        let Some(end) = ends.min() else { return false };
        let others = self.optional[self.needed];
        let here = needed.iter_mut().filter(|c| c.place.object().is_some_and(|o| o <= end));
        let bound: f64 = here.map(|cursor| f64::from(cursor.bound())).sum();
        if self.best.is_too_low(bound + others) {
            for Cursor { place, .. } in needed {
                if place.last_of_block() == Some(end) {
                    place.skip_block();
                } else if place.move_to(end) == Some(end) {
                    place.step();
                }
            }
            return true;
        }
        match needed {
            [one] => self.read_one(optional, one),
            needed => self.read_all(optional, needed, end),
        }
        // With a higher threshold more of them are optional.
        while self.needed < cursors.len() && self.best.is_too_low(self.optional[self.needed + 1]) {
            self.needed += 1;
        }
        true
    }

    /// Reads the rest of a block of the only needed cursor.
    ///
    /// PERF: crates/db/examples/fulltext_cost.rs, "frequent and rare": nearly every document of a
    /// long list is refused by one comparison.
    fn read_one(&mut self, optional: &mut [Cursor<'_, L>], cursor: &mut Cursor<'_, L>) {
        let (block, list) = (cursor.place.block, cursor.place.list);
        let others = self.optional[optional.len()];
        // By impact, true if a document may be among the best.
        let hope = |best: &Best<L::Object>, scores: &[f32]| -> Vec<bool> {
            scores.iter().map(|score| !best.is_too_low(f64::from(*score) + others)).collect()
        };
        let (objects, places) = (list.objects(block), list.places(block));
        let mut hopes = hope(&self.best, cursor.scores());
        for at in cursor.place.at..objects.len() {
            let impact = usize::from(places[at]);
            if !hopes[impact] {
                continue;
            }
            let score = cursor.scores()[impact];
            let before = self.best.threshold;
            self.given.fill(0.0);
            self.given[cursor.term] = score;
            self.add(optional, objects[at], f64::from(score));
            if self.best.threshold != before {
                hopes = hope(&self.best, cursor.scores());
            }
        }
        cursor.place.skip_block();
    }

    /// Reads documents up to `end` in any of the needed cursors.
    fn read_all(
        &mut self,
        optional: &mut [Cursor<'_, L>],
        needed: &mut [Cursor<'_, L>],
        end: L::Object,
    ) {
        loop {
            let next = needed.iter().filter_map(|cursor| cursor.place.object()).min();
            let Some(object) = next.filter(|object| *object <= end) else { return };
            self.given.fill(0.0);
            let mut sum = 0.0;
            for cursor in &mut *needed {
                if cursor.place.object() == Some(object) {
                    let score = cursor.score();
                    self.given[cursor.term] = score;
                    sum += f64::from(score);
                    cursor.place.step();
                }
            }
            self.add(optional, object, sum);
        }
    }

    /// Asks the optional cursors, the best first, for what they add to a document, as long as it
    /// may be among the best; and keeps it if it is.
    fn add(&mut self, optional: &mut [Cursor<'_, L>], object: L::Object, mut sum: f64) {
        for at in (0..optional.len()).rev() {
            if self.best.is_too_low(sum + self.optional[at + 1]) {
                return;
            }
            let cursor = &mut optional[at];
            let bound = cursor.seek_block(object);
            if self.best.is_too_low(sum + f64::from(bound) + self.optional[at]) {
                return;
            }
            if cursor.place.move_to(object) == Some(object) {
                let score = cursor.score();
                self.given[cursor.term] = score;
                sum += f64::from(score);
            }
        }
        let is_out = |place: &mut Place<'_, L>| place.move_to(object) == Some(object);
        if !self.without.iter_mut().any(is_out) {
            self.best.offer(object, &self.given);
        }
    }
}
