//! The settled rows of a segment that are deleted: a bit per row.
//!
//! What a list's own block says about deletes costs a cache miss per list and a mask made anew. A
//! list of which nothing but settled rows was deleted, marked so in its slot word, is read with
//! these bits instead, which lie as the rows do; its block is not touched.
//!
//! ```text
//!  rows   0 1 2 3 ...                      as in the base: all lists, one after the other
//!  bits   0 0 1 0 ...                      1: deleted, at `last` (Δts) or before
//! ```
//!
//! Invariants
//! 1. `last` is raised to a delete's Δts before its bit is set. A reader who takes the bits first
//!    and then finds `last` no newer than its snapshot has seen no bit of a later delete; else it
//!    goes by the block.
//! 2. Bits are set before the commit is published, so every delete a snapshot sees has its bit.
//! 3. Bits are never cleared: settling makes a new base, and a new tail without them.
//!
//! PERF: `telar bench kernel`, scan_deleted_8pct.
#![cfg_attr(
    target_arch = "x86_64",
    expect(unsafe_code, reason = "a call that needs a CPU feature, which is checked")
)]

use std::ops::Range;
use std::sync::atomic::{AtomicU32, Ordering};

use super::base::BaseRef;
use super::mask::gather;
use crate::words::prefetch;

/// Deleted rows of one base.
#[derive(Debug)]
pub(crate) struct Deleted {
    /// Largest Δts of a delete.
    last: AtomicU32,
    /// Two words more than the rows need, so that 64 bits can be read from any row on.
    bits: Box<[AtomicU32]>,
}

impl Deleted {
    /// None of `rows` rows.
    pub(crate) fn none_of(rows: usize) -> Self {
        let words = rows.div_ceil(32) + 2;
        Self { last: AtomicU32::new(0), bits: (0..words).map(|_| AtomicU32::new(0)).collect() }
    }

    /// Notes that `row` was deleted at `delta`. The caller holds the stripe of the row's vertex.
    pub(crate) fn add(&self, row: u32, delta: u32) {
        self.last.fetch_max(delta, Ordering::Relaxed);
        // ORDERING: release pairs with the acquire in `from`: `last` first, then the bit.
        self.bits[row as usize / 32].fetch_or(1 << (row % 32), Ordering::Release);
    }

    /// The bits of 64 rows, from `row` on.
    #[inline(always)]
    fn from(&self, row: usize) -> u64 {
        let at = row / 32;
        // ORDERING: acquire pairs with the release in `add`; see invariant 1.
        let word = |i: usize| self.bits.get(i).map_or(0, |w| w.load(Ordering::Acquire));
        let (low, shift) = (u64::from(word(at)) | u64::from(word(at + 1)) << 32, row % 32);
        // Shifted twice: by 64, if the row begins a word.
        low >> shift | u64::from(word(at + 2)) << 32 << (32 - shift)
    }

    /// Whether what was read before is what a snapshot at `delta` sees.
    #[inline(always)]
    fn is_as_of(&self, delta: u32) -> bool {
        self.last.load(Ordering::Relaxed) <= delta
    }

    /// Replaces `out` by the live ones of `ids`, which are the rows from `first` on; false if a
    /// snapshot at `delta` must go by the block.
    #[inline]
    pub(crate) fn live(&self, first: u32, ids: &[u32], delta: u32, out: &mut Vec<u32>) -> bool {
        out.clear();
        gather(ids, |chunk| self.from(first as usize + 64 * chunk), out);
        self.is_as_of(delta)
    }

    /// Whether `row` is deleted; `None` if a snapshot at `delta` must go by the block.
    #[inline]
    pub(crate) fn contains(&self, row: u32, delta: u32) -> Option<bool> {
        let deleted = self.from(row as usize) & 1 != 0;
        self.is_as_of(delta).then_some(deleted)
    }

    /// Address of the bits of `row`, for prefetching.
    #[inline]
    pub(crate) fn addr(&self, row: u32) -> *const AtomicU32 {
        self.bits.as_ptr().wrapping_add(row as usize / 32)
    }

    /// Heap bytes.
    pub(crate) fn bytes(&self) -> usize {
        self.bits.len() * 4
    }
}

/// Rows that lose their deleted ones at a time: they stay in the first-level cache until they are
/// read, and the next ones are fetched meanwhile.
const PIECE_ROWS: usize = 512;
/// Rows per cache line.
const LINE_ROWS: usize = 16;

/// The live rows of many lists at one snapshot.
///
/// PERF: scan_deleted_8pct: one loop over the rows of many lists, without a branch for each list,
/// which the CPU would seldom guess right.
#[derive(Debug, Default)]
pub(crate) struct LiveRows {
    /// The first of the rows.
    first: u32,
    /// The bits of each 64 rows, and how many rows before them are live.
    bits: Vec<(u64, u32)>,
    /// How many rows before each list, and before the end, are live.
    borders: Vec<u32>,
    /// Those of a piece, together.
    live: Vec<u32>,
}

impl LiveRows {
    /// Takes the bits of the lists `locals` of `base`; false if a snapshot at `delta` must go by
    /// the blocks.
    pub(crate) fn take(
        &mut self,
        deleted: &Deleted,
        base: BaseRef<'_>,
        locals: Range<u32>,
        delta: u32,
    ) -> bool {
        let offsets = &base.offsets()[locals.start as usize..=locals.end as usize];
        let (Some(first), Some(end)) = (offsets.first(), offsets.last()) else { return false };
        self.first = *first;
        self.bits.clear();
        // One word more than there are rows, for `window`.
        let words = 0..=(end - first) as usize / 64 + 1;
        self.bits.extend(words.map(|i| (deleted.from(*first as usize + 64 * i), 0)));
        if !deleted.is_as_of(delta) {
            return false;
        }
        self.borders.clear();
        count_live(&mut self.bits, offsets, &mut self.borders);
        true
    }

    /// Calls `f` with each list of `locals`, those taken, and a run of its live rows, in order. A
    /// long list has several runs.
    #[inline(always)]
    pub(crate) fn for_each_list(
        &mut self,
        base: BaseRef<'_>,
        locals: Range<u32>,
        mut f: impl FnMut(u32, &[u32]),
    ) {
        let offsets = &base.offsets()[locals.start as usize..=locals.end as usize];
        let mut list = 0;
        while list + 1 < offsets.len() {
            let start = offsets[list];
            let local = locals.start + list as u32;
            let fit = |end: &&u32| (**end - start) as usize <= PIECE_ROWS;
            let lists = offsets[list + 1..].iter().take_while(fit).count();
            if lists == 0 {
                let end = offsets[list + 1];
                for start in (start..end).step_by(PIECE_ROWS) {
                    self.gather(base, start..end.min(start + PIECE_ROWS as u32));
                    f(local, &self.live);
                }
                list += 1;
                continue;
            }
            self.gather(base, start..offsets[list + lists]);
            let borders = &self.borders[list..=list + lists];
            for (local, ends) in (local..).zip(borders.windows(2)) {
                let [from, to] = [ends[0], ends[1]].map(|border| (border - borders[0]) as usize);
                f(local, &self.live[from..to]);
            }
            list += lists;
        }
    }

    /// Puts the live ones of `rows` together, and hints that as many more will be next.
    #[inline]
    fn gather(&mut self, base: BaseRef<'_>, rows: Range<u32>) {
        self.live.clear();
        let (bits, at) = (&self.bits, (rows.start - self.first) as usize);
        let window = |chunk| window(bits, at + 64 * chunk);
        gather(base.rows(rows.start, rows.end), window, &mut self.live);
        for line in (0..rows.len()).step_by(LINE_ROWS) {
            prefetch(base.row_addr(rows.end + line as u32));
        }
    }
}

/// Counts the live rows before each of `bits`, and before each of `offsets`, which begin where
/// `bits` do.
#[inline]
fn count_live(bits: &mut [(u64, u32)], offsets: &[u32], borders: &mut Vec<u32>) {
    #[cfg(target_arch = "x86_64")]
    if is_x86_feature_detected!("popcnt") {
        // SAFETY: the CPU has the instruction.
        return unsafe { count_live_popcnt(bits, offsets, borders) };
    }
    count_live_plain(bits, offsets, borders);
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "popcnt")]
fn count_live_popcnt(bits: &mut [(u64, u32)], offsets: &[u32], borders: &mut Vec<u32>) {
    count_live_plain(bits, offsets, borders);
}

#[inline(always)]
fn count_live_plain(bits: &mut [(u64, u32)], offsets: &[u32], borders: &mut Vec<u32>) {
    let mut before = 0;
    for (word, live_before) in bits.iter_mut() {
        *live_before = before;
        before += word.count_zeros();
    }
    borders.extend(offsets.iter().map(|row| {
        let at = (*row - offsets[0]) as usize;
        let (word, live_before) = bits[at / 64];
        live_before + (!word & ((1 << (at % 64)) - 1)).count_ones()
    }));
}

/// 64 bits from bit `at` on.
#[inline(always)]
fn window(bits: &[(u64, u32)], at: usize) -> u64 {
    let word = |i: usize| bits.get(i).map_or(0, |(word, _)| *word);
    let shift = at % 64;
    word(at / 64) >> shift | word(at / 64 + 1) << 1 << (63 - shift)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;

    use crate::adjacency::base::Base;
    use crate::adjacency::{SEGMENT_VERTICES, SegVersion};

    #[test]
    fn rows_are_live_until_deleted() {
        let rows: Vec<u32> = (0..300).map(|i| i * 3).collect();
        let deleted = Deleted::none_of(rows.len());
        let gone = |i: u32| i.is_multiple_of(7) || (60..130).contains(&i) || i == 299;
        (0..300).filter(|i| gone(*i)).for_each(|i| deleted.add(i, 10 + i));
        let mut out = Vec::new();
        for first in 0..300 {
            for len in [0, 1, 15, 16, 17, 63, 64, 65, 150, 300] {
                let end = (first + len).min(300);
                let ids = &rows[first..end];
                assert!(deleted.live(first as u32, ids, 400, &mut out));
                let expected: Vec<u32> =
                    (first..end).filter(|i| !gone(*i as u32)).map(|i| rows[i]).collect();
                assert_eq!(out, expected, "{first}..{end}");
            }
            assert_eq!(deleted.contains(first as u32, 309), Some(gone(first as u32)));
        }
    }

    #[test]
    fn lists_lose_their_deleted_rows() {
        // Short lists, empty ones, one longer than a piece.
        let lens = |local: usize| match local {
            70 => 3 * PIECE_ROWS + 77,
            l if l % 5 == 0 => 0,
            l => l * 37 % 200,
        };
        let entries = (0..SEGMENT_VERTICES).map(lens).sum();
        let mut builder = Base::builder(entries, 0);
        let mut next = 0;
        for local in 0..SEGMENT_VERTICES {
            builder.extend(&(next..next + lens(local) as u32).collect::<Vec<_>>());
            builder.end_list();
            next += lens(local) as u32;
        }
        let version = SegVersion::new(Arc::new(builder.finish()), None);
        let (base, rows) = (&version.base, version.rows());
        let deleted = Deleted::none_of(entries);
        let gone = |i: u32| i.is_multiple_of(5) || (3000..3500).contains(&i) || i + 1 == next;
        (0..next).filter(|i| gone(*i)).for_each(|i| deleted.add(i, 1));
        let mut taken = LiveRows::default();
        for locals in [0..1024u32, 0..1, 69..72, 70..71, 71..71, 900..1024, 13..800] {
            assert!(taken.take(&deleted, rows, locals.clone(), 1));
            let mut found: Vec<Vec<u32>> = vec![Vec::new(); SEGMENT_VERTICES];
            taken.for_each_list(rows, locals.clone(), |local, run| {
                found[local as usize].extend_from_slice(run);
            });
            for (local, found) in found.iter().enumerate() {
                let inside = locals.contains(&(local as u32));
                let live = base.range(local).map(|i| i as u32).filter(|i| inside && !gone(*i));
                assert_eq!(*found, live.collect::<Vec<_>>(), "list {local} of {locals:?}");
            }
            assert!(!taken.take(&deleted, rows, locals, 0));
        }
    }

    #[test]
    fn an_older_snapshot_goes_by_the_block() {
        let deleted = Deleted::none_of(40);
        deleted.add(3, 7);
        assert_eq!(deleted.contains(3, 7), Some(true));
        assert_eq!(deleted.contains(3, 6), None);
        assert!(!deleted.live(0, &[1, 2, 3, 4], 6, &mut Vec::new()));
    }
}
