//! Searches.

use crate::blocks::Neighbours;
use crate::record::Sought;

/// Most vectors that a search looks at to find where to begin.
const LANDMARKS_MAX: u32 = 512;
/// Vectors for each landmark, at least.
const LANDMARK_STEP_MIN: u32 = 64;

/// A vector that a search found.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Found {
    /// Square of its distance, nearly.
    pub distance: f32,
    /// Its key.
    pub key: u64,
}

/// A vector that was met.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Met {
    pub(crate) distance: f32,
    pub(crate) slot: u32,
    key: u64,
    is_expanded: bool,
}

/// Memory of a search, to be used again.
#[derive(Debug, Default)]
pub struct Scratch {
    pub(crate) sought: Sought,
    /// The nearest vectors met, the nearest first.
    pub(crate) near: Vec<Met>,
    /// Those whose links were looked at, in that order.
    pub(crate) expanded: Vec<Met>,
    seen: Seen,
    /// Slots whose records are on their way.
    ahead: Vec<u32>,
    pub(crate) chosen: Vec<Sought>,
}

impl Scratch {
    pub(crate) fn found(&self) -> impl Iterator<Item = Found> + use<'_> {
        self.near.iter().map(|met| Found { distance: met.distance, key: met.key })
    }

    /// Keeps a vector if it is among the nearest; returns its place then.
    fn offer(&mut self, met: Met, effort: usize) -> Option<usize> {
        if self.near.len() == effort && self.near[effort - 1].distance <= met.distance {
            return None;
        }
        let at = self.near.partition_point(|other| other.distance <= met.distance);
        if self.near.len() == effort {
            self.near.pop();
        }
        self.near.insert(at, met);
        Some(at)
    }
}

/// Slots that a search has met: a table of words with a number of the search, so that nothing need
/// be cleared.
#[derive(Debug, Default)]
struct Seen {
    table: Vec<u64>,
    search: u32,
    len: usize,
}

impl Seen {
    fn begin(&mut self) {
        self.len = 0;
        self.search = self.search.wrapping_add(1);
        if self.search == 0 || self.table.is_empty() {
            (self.table, self.search) = (vec![0; self.table.len().max(1024)], 1);
        }
    }

    /// True if the slot is new.
    #[inline]
    fn insert(&mut self, slot: u32) -> bool {
        if 2 * self.len >= self.table.len() {
            self.grow();
        }
        let word = u64::from(self.search) << 32 | u64::from(slot);
        let mask = self.table.len() - 1;
        let mut at = slot.wrapping_mul(0x9E37_79B9) as usize & mask;
        loop {
            match self.table[at] {
                there if there == word => return false,
                there if there >> 32 == u64::from(self.search) => at = (at + 1) & mask,
                _ => break,
            }
        }
        self.table[at] = word;
        self.len += 1;
        true
    }

    fn grow(&mut self) {
        let new = vec![0; 2 * self.table.len()];
        let old = std::mem::replace(&mut self.table, new);
        self.len = 0;
        let search = u64::from(self.search);
        for word in old.into_iter().filter(|word| word >> 32 == search) {
            self.insert(word as u32);
        }
    }
}

/// Searches for what `scratch` seeks, and leaves what was met there. `except` is passed over.
pub(crate) fn run(
    neighbours: &Neighbours,
    effort: usize,
    scratch: &mut Scratch,
    except: Option<u32>,
) {
    let effort = effort.max(1);
    scratch.near.clear();
    scratch.expanded.clear();
    scratch.seen.begin();
    except.map(|slot| scratch.seen.insert(slot));
    let linked = neighbours.linked().max(1);
    let step = (linked / LANDMARKS_MAX).next_power_of_two().max(LANDMARK_STEP_MIN);
    scratch.ahead.clear();
    let landmarks = (0..linked).step_by(step as usize);
    scratch.ahead.extend(landmarks.filter_map(|from| neighbours.first_linked(from)));
    meet(neighbours, effort, scratch);
    let mut next = 0;
    while next < scratch.near.len() {
        let met = &mut scratch.near[next];
        if met.is_expanded {
            next += 1;
            continue;
        }
        met.is_expanded = true;
        let met = *met;
        scratch.expanded.push(met);
        let Some(place) = neighbours.slot(met.slot) else { continue };
        scratch.ahead.clear();
        scratch.ahead.extend(place.links());
        next = next.min(meet(neighbours, effort, scratch));
    }
}

/// Looks at the slots `ahead` that are new; returns the first place that changed.
///
/// PERF: bench/compare/vector_index.py: records are asked for before the first of them is looked
/// at.
fn meet(neighbours: &Neighbours, effort: usize, scratch: &mut Scratch) -> usize {
    let mut ahead = std::mem::take(&mut scratch.ahead);
    ahead.retain(|slot| {
        let is_new = scratch.seen.insert(*slot);
        if is_new {
            neighbours.prefetch(*slot);
        }
        is_new
    });
    let mut first = usize::MAX;
    for slot in &ahead {
        let Some(place) = neighbours.slot(*slot) else { continue };
        let distance = scratch.sought.distance(place.record);
        let met = Met { distance, slot: *slot, key: place.key(), is_expanded: false };
        first = first.min(scratch.offer(met, effort).unwrap_or(usize::MAX));
    }
    scratch.ahead = ahead;
    first
}

impl Met {
    pub(crate) fn new(slot: u32, distance: f32) -> Self {
        Self { distance, slot, key: 0, is_expanded: false }
    }

    pub(crate) fn key(&self) -> u64 {
        self.key
    }
}
