//! The best documents that have all of some terms, without a look at most that have one.
//!
//! ```text
//!  group, a sum of terms:   lead (shortest)        others              optional
//!  document at hand:            17  ──────────►  move to 17: 23     asked only where all agree
//!                               23  ◄──────────  "not before 23"
//!  window: up to where the first of the blocks at hand ends, scores are bounded by those blocks;
//!  a window is passed over if what they give together is θ at most, a document of the lead if its
//!  own score and what the others can add is
//! ```
//!
//! Source: T. Veldhuizen, "Leapfrog triejoin", ICDT 2014 (the intersection of one variable);
//! S. Ding, T. Suel, "Faster top-k document retrieval using block-max indexes", SIGIR 2011
//! (block-max AND).

use super::List;
use super::cursor::{Best, Cursor, Place, STEP};

/// Terms that a document needs, may have, and must not have.
pub(super) struct Conjunction<'l, L: List> {
    /// A term of each group.
    pub(super) needed: Vec<Group<'l, L>>,
    pub(super) optional: Vec<Cursor<'l, L>>,
    pub(super) without: Vec<Place<'l, L>>,
}

/// Terms of which a document needs one.
pub(super) struct Group<'l, L: List>(pub(super) Vec<Cursor<'l, L>>);

impl<L: List> Group<'_, L> {
    /// Documents that have a term, those with two of them twice.
    fn len(&self) -> usize {
        self.0.iter().map(|cursor| cursor.place.list.len()).sum()
    }

    fn first(&self) -> Option<L::Object> {
        self.0.iter().filter_map(|cursor| cursor.place.object()).min()
    }

    /// Moves to a document, or to the next one after it.
    fn move_to(&mut self, object: L::Object) -> Option<L::Object> {
        self.0.iter_mut().filter_map(|cursor| cursor.place.move_to(object)).min()
    }

    /// Moves to the first document behind one.
    fn pass(&mut self, object: L::Object) -> Option<L::Object> {
        for Cursor { place, .. } in &mut self.0 {
            if place.move_to(object) == Some(object) {
                place.step();
            }
        }
        self.first()
    }

    /// The sum of what the terms give a document; no cursor is behind it.
    fn give(&mut self, object: L::Object, given: &mut [f32]) -> f64 {
        let mut sum = 0.0;
        for cursor in &mut self.0 {
            if cursor.place.object() == Some(object) {
                given[cursor.term] = cursor.score();
                sum += f64::from(given[cursor.term]);
            }
        }
        sum
    }
}

/// Documents from one that was at hand to `end`.
struct Window<I> {
    end: I,
    /// Bounds of what the lead, and all others, give one of them.
    lead: f64,
    others: f64,
}

impl<L: List> Conjunction<'_, L> {
    /// The window that begins with a document; none if no document from there on has all terms.
    fn window(&mut self, from: L::Object) -> Option<Window<L::Object>> {
        let (mut ends, mut bounds) = (None, Vec::with_capacity(self.needed.len()));
        let mut seek = |cursor: &mut Cursor<'_, L>| {
            let bound = f64::from(cursor.seek_block(from));
            let end = cursor.place.last_of_block();
            ends = ends.into_iter().chain(end).min();
            (bound, end.is_some())
        };
        for Group(cursors) in &mut self.needed {
            let (mut sum, mut is_there) = (0.0, false);
            for (bound, is_more) in cursors.iter_mut().map(&mut seek) {
                (sum, is_there) = (sum + bound, is_there || is_more);
            }
            if !is_there {
                return None;
            }
            bounds.push(sum);
        }
        let optional: f64 = self.optional.iter_mut().map(|cursor| seek(cursor).0).sum();
        let (lead, others) = bounds.split_first()?;
        Some(Window { end: ends?, lead: *lead, others: others.iter().sum::<f64>() + optional })
    }

    /// The best documents, of which one or more are wanted, in no order. `count` is that of all
    /// terms of the query. `check` is asked from time to time whether to go on, with the number of
    /// hits that are held.
    ///
    /// PERF: crates/db/examples/fulltext_cost.rs, "both": the longer list is hardly looked at where
    /// one is short, and hardly scored where both are long.
    pub(super) fn best<E>(
        mut self,
        count: usize,
        most: usize,
        check: &mut dyn FnMut(usize) -> Result<(), E>,
    ) -> Result<Vec<(L::Object, f32)>, E> {
        self.needed.sort_by_key(Group::len);
        let (mut best, mut given) = (Best::new(most), vec![0.0; count]);
        let mut next = self.needed.first().and_then(Group::first);
        let mut window: Option<Window<L::Object>> = None;
        let mut steps = 0_u32;
        while let Some(object) = next {
            steps = steps.wrapping_add(1);
            if steps.is_multiple_of(STEP) {
                check(best.len())?;
            }
            let here = match window.take().filter(|window| object <= window.end) {
                Some(here) => here,
                None => match self.window(object) {
                    Some(here) => here,
                    None => break,
                },
            };
            let Window { end, lead, others } = here;
            window = Some(here);
            let Some((first, rest)) = self.needed.split_first_mut() else { break };
            if best.is_too_low(lead + others) {
                next = first.pass(end);
                continue;
            }
            given.fill(0.0);
            let score = first.give(object, &mut given);
            if best.is_too_low(score + others) {
                next = first.pass(object);
                continue;
            }
            // The first group that does not have it says where to go on.
            let mut later = Some(object);
            for group in rest {
                later = group.move_to(object);
                if later != Some(object) {
                    break;
                }
                group.give(object, &mut given);
            }
            let Some(later) = later else { break };
            if later != object {
                next = first.move_to(later);
                continue;
            }
            let is_out = |place: &mut Place<'_, L>| place.move_to(object) == Some(object);
            if !self.without.iter_mut().any(is_out) {
                for cursor in &mut self.optional {
                    if cursor.place.move_to(object) == Some(object) {
                        given[cursor.term] = cursor.score();
                    }
                }
                best.offer(object, &given);
            }
            next = first.pass(object);
        }
        Ok(best.into_hits())
    }
}
