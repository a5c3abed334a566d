//! Searches.

use crate::blocks::{Neighbours, SLOTS_MAX};
use crate::record::Sought;

/// Most vectors that a search looks at to find where to begin.
const LANDMARKS_MAX: u32 = 512;
/// Vectors for each landmark, at least. A graph of hundreds has a landmark in every cluster, too:
/// of clusters that lie apart hardly any links lead from one to the other.
const LANDMARK_STEP_MIN: u32 = 4;
/// Records that are on their way while one is looked at.
const AHEAD: usize = 6;

/// A vector that a search found.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Found {
    /// Square of its distance, nearly.
    pub distance: f32,
    /// Its key.
    pub key: u64,
    /// False if the search has given it before.
    pub is_new: bool,
}

/// A vector that was met.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Met {
    pub(crate) distance: f32,
    /// Its slot, whether its links were looked at, and whether it was given.
    word: u32,
}

const EXPANDED: u32 = 1 << 31;
/// Set of what the caller was given.
const GIVEN: u32 = 1 << 30;

impl Met {
    pub(crate) fn new(slot: u32, distance: f32) -> Self {
        Self { distance, word: slot }
    }

    pub(crate) fn slot(self) -> u32 {
        self.word & !(EXPANDED | GIVEN)
    }

    fn is_expanded(self) -> bool {
        self.word & EXPANDED != 0
    }

    /// Notes that it is given; false if it was before.
    pub(crate) fn give(&mut self) -> bool {
        let is_new = self.word & GIVEN == 0;
        self.word |= GIVEN;
        is_new
    }
}

/// Memory of a search, to be used again.
#[derive(Debug, Default)]
pub struct Scratch {
    pub(crate) sought: Sought,
    /// The nearest vectors met, the nearest first.
    pub(crate) near: Vec<Met>,
    /// Those whose links were looked at, in that order.
    pub(crate) expanded: Vec<Met>,
    /// Those met that are farther, if the search may go on.
    rest: Vec<Met>,
    may_go_on: bool,
    seen: Seen,
    /// Slots whose records are on their way.
    ahead: Vec<u32>,
    pub(crate) chosen: Vec<Sought>,
}

impl Scratch {
    /// Keeps a vector if it is among the nearest; returns its place then.
    #[inline]
    fn offer(&mut self, met: Met, effort: usize) -> Option<usize> {
        if self.near.len() >= effort {
            let is_farther = self.near[effort - 1].distance <= met.distance;
            let out = if is_farther { Some(met) } else { self.near.pop() };
            if self.may_go_on {
                self.rest.extend(out);
            }
            if is_farther {
                return None;
            }
        }
        let at = self.near.partition_point(|other| other.distance <= met.distance);
        self.near.insert(at, met);
        Some(at)
    }
}

/// Slots that a search has met: a hash table of words with a number of the search above the 26 bits
/// of the slot, so that it is cleared after 63 searches only.
///
/// PERF: crates/vector/examples/rate.rs: 32 KiB for a usual search.
#[derive(Debug, Default)]
struct Seen {
    table: Vec<u32>,
    search: u32,
    len: usize,
}

const SLOT_BITS: u32 = 26;
const _: () = assert!(SLOTS_MAX == 1 << SLOT_BITS);
const SEARCHES: u32 = 1 << (u32::BITS - SLOT_BITS);
/// Words of a table at first.
const WORDS_MIN: usize = 1024;

impl Seen {
    fn begin(&mut self) {
        self.len = 0;
        self.search += 1;
        if self.search == SEARCHES || self.table.is_empty() {
            self.table.resize(self.table.len().max(WORDS_MIN), 0);
            self.table.fill(0);
            self.search = 1;
        }
    }

    /// True if the slot is new.
    #[inline]
    fn insert(&mut self, slot: u32) -> bool {
        if 2 * self.len >= self.table.len() {
            self.grow();
        }
        let word = self.search << SLOT_BITS | slot;
        let mask = self.table.len() - 1;
        let mut at = (slot.wrapping_mul(0x9E37_79B9) >> 6) as usize & mask;
        loop {
            match self.table[at] {
                there if there == word => return false,
                there if there >> SLOT_BITS == self.search => at = (at + 1) & mask,
                _ => break,
            }
        }
        self.table[at] = word;
        self.len += 1;
        true
    }

    #[cold]
    fn grow(&mut self) {
        let new = vec![0; 2 * self.table.len()];
        let old = std::mem::replace(&mut self.table, new);
        self.len = 0;
        let search = self.search;
        for word in old.into_iter().filter(|word| word >> SLOT_BITS == search) {
            self.insert(word & ((1 << SLOT_BITS) - 1));
        }
    }
}

/// Searches for what `scratch` seeks, and leaves what was met there. `except` is passed over. A
/// search that may go on ([`go_on`]) keeps all that it met.
pub(crate) fn run(
    neighbours: &Neighbours,
    effort: usize,
    scratch: &mut Scratch,
    except: Option<u32>,
    may_go_on: bool,
) {
    let effort = effort.max(1);
    scratch.near.clear();
    scratch.expanded.clear();
    scratch.rest.clear();
    scratch.may_go_on = may_go_on;
    scratch.seen.begin();
    except.map(|slot| scratch.seen.insert(slot));
    let linked = neighbours.linked().max(1);
    let step = (linked / LANDMARKS_MAX).next_power_of_two().max(LANDMARK_STEP_MIN);
    scratch.ahead.clear();
    let landmarks = (0..linked).step_by(step as usize);
    scratch.ahead.extend(landmarks.filter_map(|from| neighbours.first_linked(from)));
    meet(neighbours, effort, scratch);
    expand(neighbours, effort, scratch);
}

/// Goes on with a search, with more effort.
pub(crate) fn go_on(neighbours: &Neighbours, effort: usize, scratch: &mut Scratch) {
    let by_distance = |a: &Met, b: &Met| a.distance.total_cmp(&b.distance);
    let Scratch { near, rest, .. } = scratch;
    near.append(rest);
    if effort < near.len() {
        near.select_nth_unstable_by(effort, by_distance);
        rest.extend(near.drain(effort..));
    }
    near.sort_unstable_by(by_distance);
    expand(neighbours, effort, scratch);
}

/// Looks at the links of the nearest, until those of all in sight were looked at.
fn expand(neighbours: &Neighbours, effort: usize, scratch: &mut Scratch) {
    let mut next = 0;
    while next < scratch.near.len() {
        let met = scratch.near[next];
        if met.is_expanded() {
            next += 1;
            continue;
        }
        scratch.near[next].word |= EXPANDED;
        scratch.expanded.push(met);
        let Some(place) = neighbours.slot(met.slot()) else { continue };
        scratch.ahead.clear();
        scratch.ahead.extend(place.links());
        // Most likely the next whose links are looked at.
        if let Some(after) = scratch.near.get(next + 1).filter(|met| !met.is_expanded()) {
            neighbours.prefetch_links(after.slot());
        }
        next = next.min(meet(neighbours, effort, scratch));
    }
}

/// Looks at the slots `ahead` that are new; returns the first place that changed.
///
/// PERF: crates/vector/examples/rate.rs: a record is asked for some records before it is looked
/// at: all of them at once are more than a processor waits for.
fn meet(neighbours: &Neighbours, effort: usize, scratch: &mut Scratch) -> usize {
    let mut ahead = std::mem::take(&mut scratch.ahead);
    ahead.retain(|slot| scratch.seen.insert(*slot));
    ahead.iter().take(AHEAD).for_each(|slot| neighbours.prefetch(*slot));
    let mut first = usize::MAX;
    for (at, slot) in ahead.iter().enumerate() {
        if let Some(later) = ahead.get(at + AHEAD) {
            neighbours.prefetch(*later);
        }
        let Some(place) = neighbours.slot(*slot) else { continue };
        let met = Met::new(*slot, scratch.sought.distance(place.record));
        first = first.min(scratch.offer(met, effort).unwrap_or(usize::MAX));
    }
    scratch.ahead = ahead;
    first
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;
    use crate::tests::Random;

    /// As a set, of every search anew, in tables that grow and are cleared.
    #[test]
    fn what_was_seen_is_told_from_what_was_not() {
        let mut random = Random(1);
        let mut seen = Seen::default();
        for search in 0..3 * SEARCHES {
            seen.begin();
            let mut expected = HashSet::new();
            for _ in 0..random.word() % 3000 {
                let slot = (random.word() % 4000) as u32 * 16_777;
                assert_eq!(seen.insert(slot), expected.insert(slot), "{search} {slot}");
            }
        }
    }
}
