//! One vertex's neighbours at one snapshot: settled rows plus the visible prefix of a tail block.
//!
//! Positions: `0..base.len()` are settled rows, `base.len() + i` is entry `i` of the block. A
//! delete names the position it deletes. Lists of a segment and chunks of a hub are read by the
//! same code.
//!
//! Cost: without deletes, two slices and no work per entry. With deletes, ids are gathered
//! (`mask.rs`); entries with their columns cost a sort of the deleted positions, usually a handful.
#![cfg_attr(
    target_arch = "x86_64",
    expect(unsafe_code, reason = "a call that needs a CPU feature, which is checked")
)]

use std::cmp::Ordering;
use std::ops::Range;

use smallvec::SmallVec;

use super::base::BaseRef;
use super::ordinals::Ordinals;
use super::search::{find_sorted, lower_bound};
use super::tail::{Block, DELTA_MAX};
use super::{COL_KEY, COL_ORDINAL, Entry, ListKind};

/// Rows: neighbours and, side by side, their columns.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Rows<'a> {
    pub(crate) nbrs: &'a [u32],
    pub(crate) ordinals: Ordinals<'a>,
    /// Low and high words of the sort keys, where there are any.
    pub(crate) keys: [&'a [u32]; 2],
}

impl<'a> Rows<'a> {
    pub(crate) fn simple(nbrs: &'a [u32]) -> Self {
        Self::numbered(nbrs, Ordinals::Zero)
    }

    pub(crate) fn numbered(nbrs: &'a [u32], ordinals: Ordinals<'a>) -> Self {
        Self { nbrs, ordinals, keys: [&[]; 2] }
    }

    /// Rows `range` of these.
    pub(crate) fn slice(&self, range: Range<usize>) -> Self {
        let keys = self.keys.map(|words| words.get(range.clone()).unwrap_or_default());
        let ordinals = self.ordinals.slice(range.clone());
        Self { nbrs: &self.nbrs[range], ordinals, keys }
    }

    /// Calls `f` with each row: by a loop for each form, so that none asks for it row by row.
    #[inline]
    fn for_each_entry(&self, mut f: impl FnMut(usize, Entry)) {
        let nbrs = self.nbrs.iter().enumerate();
        match self.ordinals {
            _ if !self.keys[0].is_empty() => nbrs.for_each(|(i, _)| f(i, self.entry(i))),
            Ordinals::Zero => nbrs.for_each(|(i, nbr)| f(i, Entry::simple(*nbr))),
            Ordinals::Each(all) => {
                nbrs.zip(all).for_each(|((i, nbr), ordinal)| f(i, Entry::multi(*nbr, *ordinal)));
            }
            Ordinals::Line(first) => {
                nbrs.for_each(|(i, nbr)| f(i, Entry::multi(*nbr, first.wrapping_add(i as u32))));
            }
            Ordinals::Few { .. } => nbrs.for_each(|(i, _)| f(i, self.entry(i))),
        }
    }

    /// Row `i`.
    #[inline]
    pub(crate) fn entry(&self, i: usize) -> Entry {
        let key = |words: &[u32]| words.get(i).copied().unwrap_or(0);
        let [low, high] = self.keys.map(key);
        Entry { nbr: self.nbrs[i], columns: [self.ordinals.get(i), low, high] }
    }
}

/// The visible part of a block.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Visible<'a> {
    pub(crate) block: Block<'a>,
    /// Entries below this are visible.
    pub(crate) len: usize,
    pub(crate) has_deletes: bool,
}

impl<'a> Visible<'a> {
    /// What a snapshot `delta` after the block's base timestamp sees of `block`.
    #[inline(always)]
    pub(crate) fn at(block: Block<'a>, delta: u32) -> Self {
        let (len, has_deletes) = block.visible(delta);
        Self { block, len, has_deletes }
    }

    /// The place of `nbr` among the entries, the first; a block without deletes.
    #[inline(always)]
    pub(crate) fn find(&self, nbr: u32) -> Option<usize> {
        debug_assert!(!self.has_deletes);
        if self.block.may_hold(nbr) { find_in(self.block.dst(self.len), nbr) } else { None }
    }

    /// By how much the visible entries change the length of the list.
    #[inline]
    pub(crate) fn growth(&self) -> isize {
        if !self.has_deletes {
            return self.len as isize;
        }
        let meta = self.block.meta(self.len);
        let deletes = meta.iter().filter(|m| Block::is_delete(**m)).count();
        // Each delete takes away itself as an entry and the position it names.
        self.len as isize - 2 * deletes as isize
    }

    fn rows(&self, kind: ListKind) -> Rows<'a> {
        let mut rows = Rows::simple(self.block.dst(self.len));
        if self.block.has_columns() {
            let column = |c| self.block.column(c, self.len);
            rows.ordinals = Ordinals::Each(column(COL_ORDINAL));
            if kind == ListKind::Timed {
                rows.keys = [column(COL_KEY.0), column(COL_KEY.1)];
            }
        }
        rows
    }
}

/// Positions deleted by the visible entries, ascending.
type Deleted = SmallVec<[u32; 24]>;

/// One vertex's (or hub chunk's) list at one snapshot.
#[derive(Debug, Clone, Copy)]
pub(crate) struct List<'a> {
    pub(crate) base: Rows<'a>,
    pub(crate) tail: Option<Visible<'a>>,
    pub(crate) kind: ListKind,
}

fn deleted(tail: Visible<'_>) -> Deleted {
    let (dst, meta) = (tail.block.dst(tail.len), tail.block.meta(tail.len));
    let mut dels: Deleted = SmallVec::new();
    for (d, m) in dst.iter().zip(meta) {
        if Block::is_delete(*m) {
            dels.push(*d);
        }
    }
    if dels.len() > 1 {
        dels.sort_unstable();
    }
    dels
}

impl<'a> List<'a> {
    /// List `local` of a base, nothing of which is unsettled.
    #[inline]
    pub(crate) fn settled(base: BaseRef<'a>, local: u32, kind: ListKind) -> Self {
        let mut rows = Rows::simple(base.list(local));
        match kind {
            ListKind::Simple => {}
            ListKind::Multi => rows.ordinals = base.ordinals(local),
            ListKind::Timed => {
                rows.ordinals = Ordinals::Each(base.column(COL_ORDINAL, local));
                rows.keys = [base.column(COL_KEY.0, local), base.column(COL_KEY.1, local)];
            }
        }
        Self { base: rows, tail: None, kind }
    }

    /// Calls `f` with each live position and its entry.
    pub(crate) fn for_each_entry(&self, mut f: impl FnMut(usize, Entry)) {
        let dels = self.tail.filter(|t| t.has_deletes).map(deleted).unwrap_or_default();
        let mut next = 0;
        let mut masked = |position: usize| {
            let hit = dels.get(next).is_some_and(|&d| d as usize == position);
            next += usize::from(hit);
            hit
        };
        self.base.for_each_entry(|i, entry| {
            if !masked(i) {
                f(i, entry);
            }
        });
        if let Some(tail) = self.tail {
            let (rows, meta) = (tail.rows(self.kind), tail.block.meta(tail.len));
            for (i, m) in meta.iter().enumerate() {
                let position = self.base.nbrs.len() + i;
                if !masked(position) && !Block::is_delete(*m) {
                    f(position, rows.entry(i));
                }
            }
        }
    }

    /// Calls `f` with the live rows, and their ordinals.
    pub(crate) fn for_each_numbered(&self, mut f: impl FnMut(&[u32], Ordinals<'_>)) {
        match self.tail {
            None => f(self.base.nbrs, self.base.ordinals),
            Some(tail) if !tail.has_deletes => {
                f(self.base.nbrs, self.base.ordinals);
                let rows = tail.rows(self.kind);
                f(rows.nbrs, rows.ordinals);
            }
            Some(_) => self.for_each_entry(|_, entry| {
                f(&[entry.nbr], Ordinals::Each(&[entry.columns[COL_ORDINAL]]));
            }),
        }
    }

    /// Number of live entries.
    pub(crate) fn degree(&self) -> usize {
        let Some(tail) = self.tail else {
            return self.base.nbrs.len();
        };
        self.base.nbrs.len().wrapping_add_signed(tail.growth())
    }

    /// The entry at `position`.
    pub(crate) fn entry(&self, position: usize) -> Entry {
        match self.tail {
            Some(t) if position >= self.base.nbrs.len() => {
                t.block.entry(position - self.base.nbrs.len(), self.kind.columns())
            }
            _ => self.base.entry(position),
        }
    }

    /// Whether any live entry leads to `nbr`.
    #[inline]
    pub(crate) fn contains(&self, nbr: u32) -> bool {
        self.find(nbr).is_some()
    }

    /// Position of a live entry to `nbr`, if there is one (the first found, with parallel edges).
    #[inline]
    pub(crate) fn find(&self, nbr: u32) -> Option<usize> {
        match self.tail {
            None => self.find_settled(nbr, None),
            Some(tail) if !tail.has_deletes => match self.find_settled(nbr, None) {
                None => tail.find(nbr).map(|i| i + self.base.nbrs.len()),
                found => found,
            },
            Some(_) => self.find_masked(nbr, None),
        }
    }

    /// True if there is a live entry to `nbr` with ordinal 0.
    #[inline]
    pub(crate) fn has_unnumbered(&self, nbr: u32) -> bool {
        let found = if self.is_unnumbered() { self.find(nbr) } else { self.find_ordinal(nbr, 0) };
        found.is_some()
    }

    /// Position of the live entry to `nbr` with `ordinal`.
    pub(crate) fn find_ordinal(&self, nbr: u32, ordinal: u32) -> Option<usize> {
        self.find_masked(nbr, Some(ordinal))
    }

    /// Calls `f` with the ordinal of each live entry to `nbr`.
    pub(crate) fn for_each_to(&self, nbr: u32, f: &mut dyn FnMut(u32)) {
        let (nbrs, ordinals) = (self.base.nbrs, self.base.ordinals);
        let settled = match self.kind {
            ListKind::Simple | ListKind::Multi => {
                let first = lower_bound(nbrs, nbr);
                first..first + nbrs[first..].iter().take_while(|x| **x == nbr).count()
            }
            ListKind::Timed => 0..nbrs.len(),
        };
        for at in settled.filter(|at| nbrs[*at] == nbr && !self.is_deleted(*at)) {
            f(ordinals.get(at));
        }
        let Some(tail) = self.tail.filter(|tail| tail.block.may_hold(nbr)) else { return };
        let (rows, meta) = (tail.rows(self.kind), tail.block.meta(tail.len));
        for at in places_of(rows.nbrs, nbr) {
            if !Block::is_delete(meta[at]) && !self.is_deleted(nbrs.len() + at) {
                f(rows.ordinals.get(at));
            }
        }
    }

    /// Position among the settled rows, deletes not considered.
    fn find_settled(&self, nbr: u32, ordinal: Option<u32>) -> Option<usize> {
        let nbrs = self.base.nbrs;
        let ordinals = self.base.ordinals;
        let fits = |i: usize| nbrs[i] == nbr && ordinal.is_none_or(|o| ordinals.get(i) == o);
        match self.kind {
            ListKind::Simple => find_sorted(nbrs, nbr),
            ListKind::Multi => {
                let first = lower_bound(nbrs, nbr);
                (first..nbrs.len()).take_while(|&i| nbrs[i] == nbr).find(|&i| fits(i))
            }
            ListKind::Timed => (0..nbrs.len()).find(|&i| fits(i)),
        }
    }

    #[cold]
    fn find_masked(&self, nbr: u32, ordinal: Option<u32>) -> Option<usize> {
        if let Some(first) = self.find_settled(nbr, ordinal) {
            // A deleted parallel edge may stand before a live one.
            let nbrs = self.base.nbrs;
            let ordinals = self.base.ordinals;
            let fits = |i: usize| nbrs[i] == nbr && ordinal.is_none_or(|o| ordinals.get(i) == o);
            let end = match self.kind {
                ListKind::Simple => first + 1,
                ListKind::Multi => first + nbrs[first..].partition_point(|&x| x == nbr),
                ListKind::Timed => nbrs.len(),
            };
            if let Some(p) = (first..end).find(|&i| fits(i) && !self.is_deleted(i)) {
                return Some(p);
            }
        }
        let tail = self.tail.filter(|tail| tail.block.may_hold(nbr))?;
        let (rows, meta) = (tail.rows(self.kind), tail.block.meta(tail.len));
        places_of(rows.nbrs, nbr).find_map(|i| {
            let position = self.base.nbrs.len() + i;
            let hit = !Block::is_delete(meta[i])
                && ordinal.is_none_or(|o| rows.ordinals.get(i) == o)
                && !self.is_deleted(position);
            hit.then_some(position)
        })
    }

    /// Whether a visible delete names `position`.
    fn is_deleted(&self, position: usize) -> bool {
        self.tail.filter(|tail| tail.has_deletes).is_some_and(|tail| {
            let meta = tail.block.meta(tail.len);
            places_of(tail.block.dst(tail.len), position as u32).any(|i| Block::is_delete(meta[i]))
        })
    }

    /// Whether the edge to `nbr` (with `ordinal`, where lists have one) was inserted or deleted by
    /// an entry that a snapshot `delta` after the base timestamp does not see. `self` must be the
    /// list with every entry visible.
    pub(crate) fn changed_since(&self, delta: u32, nbr: u32, ordinal: Option<u32>) -> bool {
        let Some(tail) = self.tail else { return false };
        let meta = tail.block.meta(tail.len);
        let seen = meta.partition_point(|m| m & DELTA_MAX <= delta);
        let dst = tail.block.dst(tail.len);
        (seen..tail.len).any(|i| {
            let entry = if Block::is_delete(meta[i]) {
                self.entry(dst[i] as usize)
            } else {
                tail.block.entry(i, self.kind.columns())
            };
            entry.nbr == nbr && ordinal.is_none_or(|o| entry.columns[COL_ORDINAL] == o)
        })
    }

    /// Whether any entry is newer than what a snapshot `delta` after the base timestamp sees.
    pub(crate) fn changed_at_all(&self, delta: u32) -> bool {
        self.tail.is_some_and(|t| t.block.meta(t.len).last().is_some_and(|m| m & DELTA_MAX > delta))
    }

    /// Entries added after what a snapshot `delta` after the base timestamp sees, those deleted
    /// again included.
    pub(crate) fn added_since(&self, delta: u32) -> impl Iterator<Item = Entry> + use<'a> {
        let columns = self.kind.columns();
        self.tail.into_iter().flat_map(move |tail| {
            let meta = tail.block.meta(tail.len);
            let seen = meta.partition_point(|m| m & DELTA_MAX <= delta);
            let added = (seen..tail.len).filter(move |&i| !Block::is_delete(meta[i]));
            added.map(move |i| tail.block.entry(i, columns))
        })
    }

    /// True if every entry is known to have ordinal 0.
    #[inline]
    pub(crate) fn is_unnumbered(&self) -> bool {
        self.base.ordinals.is_zero() && self.tail.is_none_or(|tail| !tail.block.has_columns())
    }

    /// Appends to `out` the newest live entries of a timed list with a sort key in `window`, newest
    /// first, at most `limit`.
    pub(crate) fn newest(&self, window: &Range<i64>, limit: usize, out: &mut Vec<Entry>) {
        let dels = self.tail.filter(|t| t.has_deletes).map(deleted).unwrap_or_default();
        let live = |position: usize| dels.binary_search(&(position as u32)).is_err();
        let mut fresh = Vec::new();
        if let Some(tail) = self.tail {
            let (rows, meta) = (tail.rows(self.kind), tail.block.meta(tail.len));
            fresh.extend(
                (0..tail.len)
                    .filter(|&i| !Block::is_delete(meta[i]) && live(self.base.nbrs.len() + i))
                    .map(|i| rows.entry(i))
                    .filter(|e| window.contains(&e.key())),
            );
            fresh.sort_unstable_by(|a, b| compare(self.kind, a, b));
        }
        // The settled rows are in order: skip what is too new, stop at what is too old.
        let rows = self.base.nbrs.len();
        let from = partition(rows, |i| self.base.entry(i).key() >= window.end);
        let to = partition(rows, |i| self.base.entry(i).key() >= window.start);
        let mut settled =
            (from..to.max(from)).filter(|&i| live(i)).map(|i| self.base.entry(i)).peekable();
        let mut fresh = fresh.into_iter().peekable();
        for _ in 0..limit {
            let next = match (settled.peek(), fresh.peek()) {
                (Some(s), Some(f)) if compare(self.kind, f, s) == Ordering::Less => fresh.next(),
                (Some(_), _) => settled.next(),
                (None, _) => fresh.next(),
            };
            match next {
                Some(entry) => out.push(entry),
                None => return,
            }
        }
    }

    /// Live entries sorted as the list's kind wants, with the position each came from.
    pub(crate) fn sorted_entries(&self, out: &mut Vec<(Entry, u32)>) {
        out.clear();
        self.for_each_entry(|position, entry| out.push((entry, position as u32)));
        out.sort_unstable_by(|(a, _), (b, _)| compare(self.kind, a, b));
    }
}

/// The order of a list's settled rows.
#[inline]
pub(crate) fn compare(kind: ListKind, a: &Entry, b: &Entry) -> Ordering {
    let ordinal = |e: &Entry| e.columns[COL_ORDINAL];
    match kind {
        ListKind::Simple => a.nbr.cmp(&b.nbr),
        ListKind::Multi => (a.nbr, ordinal(a)).cmp(&(b.nbr, ordinal(b))),
        ListKind::Timed => (b.key(), a.nbr, ordinal(a)).cmp(&(a.key(), b.nbr, ordinal(b))),
    }
}

/// The first of `0..len` for which `before` is false, given that it is true up to there.
fn partition(len: usize, before: impl Fn(usize) -> bool) -> usize {
    let (mut low, mut high) = (0, len);
    while low < high {
        let middle = low + (high - low) / 2;
        if before(middle) { low = middle + 1 } else { high = middle }
    }
    low
}

/// Every index of `word` in an unsorted slice, ascending.
fn places_of(slice: &[u32], word: u32) -> impl Iterator<Item = usize> {
    let mut from = 0;
    std::iter::from_fn(move || {
        let at = from + find_in(&slice[from..], word)?;
        from = at + 1;
        Some(at)
    })
}

/// First index of `word` in an unsorted slice.
///
/// PERF: search_unsettled_10pct: tails of long lists have hundreds of entries; 32-byte compares
/// halve the time to look through them.
#[inline]
fn find_in(slice: &[u32], word: u32) -> Option<usize> {
    #[cfg(target_arch = "x86_64")]
    if slice.len() >= 64 && is_x86_feature_detected!("avx2") {
        // SAFETY: the CPU has AVX2.
        return unsafe { find_in_avx2(slice, word) };
    }
    find_in_chunks(slice, word)
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
fn find_in_avx2(slice: &[u32], word: u32) -> Option<usize> {
    find_in_chunks(slice, word)
}

/// A plain loop the compiler turns into wide compares, as wide as the caller's features allow.
#[inline(always)]
fn find_in_chunks(slice: &[u32], word: u32) -> Option<usize> {
    let mut chunks = slice.chunks_exact(32);
    let mut at = 0;
    for chunk in &mut chunks {
        if chunk.iter().fold(false, |hit, x| hit | (*x == word)) {
            return chunk.iter().position(|x| *x == word).map(|i| i + at);
        }
        at += 32;
    }
    chunks.remainder().iter().position(|x| *x == word).map(|i| i + at)
}

/// Calls `out` with the pieces of the sorted union of sorted `base` and unsorted `fresh`.
#[inline]
pub(crate) fn merge_ids(base: &[u32], fresh: &mut [u32], mut out: impl FnMut(&[u32])) {
    fresh.sort_unstable();
    let mut rest = base;
    for id in fresh.iter() {
        let at = rest.partition_point(|x| x < id);
        out(&rest[..at]);
        out(std::slice::from_ref(id));
        rest = &rest[at..];
    }
    out(rest);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn find_in_finds_the_first_of_any_length() {
        for len in 0..200u32 {
            let slice: Vec<u32> = (0..len).map(|i| i / 2 * 7).collect();
            for word in 0..len * 7 {
                let expected = slice.iter().position(|x| *x == word);
                assert_eq!(find_in(&slice, word), expected);
                assert_eq!(find_in_chunks(&slice, word), expected);
            }
        }
    }
}
