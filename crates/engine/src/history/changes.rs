//! What happened to a segment after a timestamp, in the order of its lists.
//!
//! ```text
//!  blocks ──unpack──▶ items, by block ──sort──▶ by list, by place in it ──▶ the earliest per edge
//!
//!  key of an item   place of the list · rank in it (neighbour, or how much older than the newest)
//! ```
//!
//! The sort is stable and blocks come oldest first, so of one edge the earliest change comes first:
//! the one that tells (mod.rs, invariant 2). Ranks that do not tell two entries apart (parallel
//! edges, equal times) are followed by a comparison of those entries alone.
//!
//! Cost: a few passes over the entries, most of them by counting; items of one block are sorted as
//! they come, but for ages. The memory is kept for the next segment.

use crate::adjacency::list::compare;
use crate::adjacency::undo_block::{UndoBlock, Unpacked};
use crate::adjacency::{Entry, ListKind, SEGMENT_BITS};

/// Bits of a rank that is a neighbour.
const NEIGHBOUR_BITS: u32 = 32;
/// Bits of a rank that is an age.
const AGE_BITS: u32 = u64::BITS - SEGMENT_BITS;
/// Most bits that are sorted by in one pass.
const DIGIT_BITS: u32 = 11;
/// So many items are sorted by counting; fewer are compared.
const COUNTED_MIN: usize = 512;

/// One change.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Item {
    key: u64,
    /// Place of its entry times two, and one for a delete.
    at: u32,
}

impl Item {
    /// Whether the edge was deleted, and so was there before.
    #[inline(always)]
    pub(crate) fn is_delete(self) -> bool {
        self.at & 1 == 1
    }

    /// The neighbour; not of timed lists.
    #[inline(always)]
    pub(crate) fn nbr(self) -> u32 {
        self.key as u32
    }
}

/// The changes of one segment.
#[derive(Debug)]
pub(crate) struct Changes {
    kind: ListKind,
    items: Vec<Item>,
    spare: Vec<Item>,
    /// With their columns; of a simple type an item's key says it all.
    entries: Vec<Entry>,
    runs: Unpacked,
}

impl Changes {
    pub(crate) fn new(kind: ListKind) -> Self {
        let (items, spare) = (Vec::new(), Vec::new());
        Self { kind, items, spare, entries: Vec::new(), runs: Unpacked::default() }
    }

    /// Takes what `blocks`, oldest first, say about the time after `ts`, in place of what is here.
    pub(crate) fn read<'a>(&mut self, blocks: impl Iterator<Item = &'a UndoBlock>, ts: u64) {
        self.items.clear();
        self.entries.clear();
        let (kind, items, entries) = (self.kind, &mut self.items, &mut self.entries);
        for block in blocks {
            items.reserve(block.len());
            block.for_each(kind.columns(), &mut self.runs, |at, local, entry, delete| {
                if at <= ts {
                    return;
                }
                let key = u64::from(local) << NEIGHBOUR_BITS | u64::from(entry.nbr);
                let at = if kind == ListKind::Simple { 0 } else { entries.len() as u32 };
                items.push(Item { key, at: at << 1 | u32::from(delete) });
                if kind != ListKind::Simple {
                    entries.push(entry);
                }
            });
        }
        if kind == ListKind::Timed {
            self.rank_by_age();
        }
        self.sort();
        self.keep_earliest();
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.items.is_empty()
    }

    /// All changes, in the order of the lists.
    pub(crate) fn items(&self) -> &[Item] {
        &self.items
    }

    /// The changes of each list that has any, in their order: places in the segment and changes.
    pub(crate) fn lists(&self) -> impl Iterator<Item = (u32, &[Item])> {
        let bits = self.rank_bits();
        let lists = self.items.chunk_by(move |a, b| a.key >> bits == b.key >> bits);
        lists.map(move |list| ((list[0].key >> bits) as u32, list))
    }

    /// What was inserted or deleted.
    #[inline(always)]
    pub(crate) fn entry(&self, item: Item) -> Entry {
        match self.kind {
            ListKind::Simple => Entry::simple(item.nbr()),
            _ => self.entries[(item.at >> 1) as usize],
        }
    }

    fn rank_bits(&self) -> u32 {
        if self.kind == ListKind::Timed { AGE_BITS } else { NEIGHBOUR_BITS }
    }

    /// Timed lists stand newest first.
    fn rank_by_age(&mut self) {
        let keys = || self.entries.iter().map(Entry::key);
        let (newest, oldest) = (keys().max().unwrap_or(0), keys().min().unwrap_or(0));
        let age = |key: i64| newest.wrapping_sub(key).cast_unsigned();
        // Ages that need more bits lose their lowest.
        let coarse = (u64::BITS - age(oldest).leading_zeros()).saturating_sub(AGE_BITS);
        for item in &mut self.items {
            let entry = &self.entries[(item.at >> 1) as usize];
            item.key = item.key >> NEIGHBOUR_BITS << AGE_BITS | age(entry.key()) >> coarse;
        }
    }

    /// By key, stable.
    fn sort(&mut self) {
        // As one block of a type that is not time-ordered has them.
        if self.items.is_sorted_by_key(|item| item.key) {
            return;
        }
        if self.items.len() < COUNTED_MIN {
            return self.items.sort_by_key(|item| item.key);
        }
        let bits = self.rank_bits();
        let used = self.items.iter().fold(0, |used, item| used | item.key);
        let rank = u64::BITS - (used & (u64::MAX >> (u64::BITS - bits))).leading_zeros();
        let passes = rank.div_ceil(DIGIT_BITS);
        self.spare.resize(self.items.len(), Item::default());
        for pass in 0..passes {
            let digit = rank.div_ceil(passes);
            self.sort_digit(pass * digit, digit);
        }
        self.sort_digit(bits, SEGMENT_BITS);
    }

    fn sort_digit(&mut self, shift: u32, bits: u32) {
        let mask = (1 << bits) - 1;
        let digit = |item: &Item| (item.key >> shift) as usize & mask;
        let mut places = [0u32; 1 << DIGIT_BITS];
        self.items.iter().for_each(|item| places[digit(item)] += 1);
        let mut next = 0;
        for place in &mut places[..=mask] {
            next += std::mem::replace(place, next);
        }
        for item in &self.items {
            let place = &mut places[digit(item)];
            self.spare[*place as usize] = *item;
            *place += 1;
        }
        std::mem::swap(&mut self.items, &mut self.spare);
    }

    fn keep_earliest(&mut self) {
        let (kind, entries) = (self.kind, &self.entries);
        if kind == ListKind::Simple {
            return self.items.dedup_by_key(|item| item.key);
        }
        let entry = |item: &Item| &entries[(item.at >> 1) as usize];
        for equal in self.items.chunk_by_mut(|a, b| a.key == b.key) {
            if equal.len() > 1 {
                equal.sort_by(|a, b| compare(kind, entry(a), entry(b)));
            }
        }
        self.items.dedup_by(|later, first| {
            later.key == first.key && compare(kind, entry(later), entry(first)).is_eq()
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::adjacency::undo::Undo;

    /// What `read` makes of blocks, as places, entries and deletes.
    fn told(changes: &Changes) -> Vec<(u32, Entry, bool)> {
        let of_list = |(local, list): (u32, &[Item])| {
            let list: Vec<Item> = list.to_vec();
            list.into_iter().map(move |i| (local, changes.entry(i), i.is_delete()))
        };
        changes.lists().flat_map(of_list).collect()
    }

    #[test]
    fn the_earliest_change_of_each_edge_tells_in_the_order_of_lists() {
        let mut state = 7u64;
        let mut below = |n: u64| {
            state = state.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(1);
            (state >> 24) % n
        };
        for kind in [ListKind::Simple, ListKind::Multi, ListKind::Timed] {
            let mut changes = Changes::new(kind);
            for (count, ids) in [(1, 5), (40, 3), (300, 70_000), (3000, 30), (5000, 1 << 32)] {
                let times = [i64::MIN, -1, 0, 1, 2, 1 << 40, i64::MAX - 1, i64::MAX];
                let mut all: Vec<Undo> = Vec::new();
                let mut blocks = Vec::new();
                for ts in 1..=4u64 {
                    let mut fresh: Vec<Undo> = (0..count)
                        .map(|_| {
                            let (nbr, ordinal) = (below(ids) as u32, below(2) as u32);
                            let entry = match kind {
                                ListKind::Simple => Entry::simple(nbr),
                                ListKind::Multi => Entry::multi(nbr, ordinal),
                                ListKind::Timed => {
                                    Entry::timed(nbr, ordinal, times[below(8) as usize])
                                }
                            };
                            Undo { ts, local: below(1024) as u32, delete: below(2) == 1, entry }
                        })
                        .collect();
                    fresh.sort_by_key(|e| e.local);
                    blocks.extend(UndoBlock::pack_all(fresh.clone(), kind.columns()));
                    all.extend(fresh);
                }
                for after in 0..=4 {
                    let mut expected: Vec<Undo> =
                        all.iter().filter(|e| e.ts > after).copied().collect();
                    let order = |a: &Undo, b: &Undo| {
                        a.local.cmp(&b.local).then(compare(kind, &a.entry, &b.entry))
                    };
                    expected.sort_by(order);
                    expected.dedup_by(|later, first| order(later, first).is_eq());
                    let expected: Vec<_> =
                        expected.iter().map(|e| (e.local, e.entry, e.delete)).collect();
                    changes.read(blocks.iter(), after);
                    assert_eq!(told(&changes), expected, "{kind:?}, {count} of {ids}");
                }
            }
        }
    }
}
