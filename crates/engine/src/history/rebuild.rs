//! A segment as it was: the lists of now, less what came since, with what went since.
//!
//! ```text
//!  base now       ├── list ──┼─ list ─┼── list ──┼───────── lists ─────────┤
//!  changes            ▲  ▲                ▲
//!  base then      ├── ··  ·· ┼────────┼─ ·· ─────┼─────────────────────────┤
//!                   each ·· one row more, or less; what lies between is copied, across lists
//! ```
//!
//! The row of each change is found first, in the order of the lists. Then a second pass copies
//! what lies between two such rows, for the neighbours and for each column that is wanted. Where
//! lists have a tail, or are hubs, they are gathered first, into a base in between.
//! Cost: a copy of the segment, and per change a sort, a search of its list, and a few words
//! copied (bench history). The memory is kept for the next segment.

use std::ops::Range;
use std::sync::Arc;

use crossbeam_epoch::{self as epoch, Guard};

use super::changes::{Changes, Item};
use crate::adjacency::base::Base;
use crate::adjacency::list::{List, Rows, compare};
use crate::adjacency::ordinals::Ordinals;
use crate::adjacency::segment::Slot;
use crate::adjacency::{AdjTable, COL_KEY, COL_ORDINAL, Entry, ListKind};
use crate::adjacency::{SEGMENT_VERTICES, SegVersion, key_of};
use crate::words::{Cut, prefetch};

/// Words of a cache line.
const LINE_WORDS: usize = 16;

/// Makes bases as they were, one after the other.
#[derive(Debug)]
pub(crate) struct Rebuild<'a> {
    table: &'a AdjTable,
    at: u64,
    /// Columns that are wanted.
    columns: usize,
    changes: Changes,
    unsettled: Unsettled,
    cuts: Cuts,
}

impl<'a> Rebuild<'a> {
    /// For segments of `table` at `at`, a retained timestamp; with or without the columns.
    pub(crate) fn new(table: &'a AdjTable, at: u64, with_columns: bool) -> Self {
        Self {
            table,
            at,
            columns: if with_columns { table.kind.columns() } else { 0 },
            changes: Changes::new(table.kind),
            unsettled: Unsettled::default(),
            cuts: Cuts::default(),
        }
    }

    /// The lists of a segment, settled. May have more columns than are wanted.
    pub(crate) fn base(&mut self, number: u32) -> Arc<Base> {
        let (table, kind) = (self.table, self.table.kind);
        let guard = &epoch::pin();
        // First the version, then what it lacks: mod.rs, invariant 1. A hub's chunks are versions,
        // too.
        let Some(version) = table.fetched_version(number, guard) else {
            return Arc::clone(&table.empty);
        };
        self.unsettled.gather(version, self.at, kind, guard);
        let blocks = table.undo.blocks_after(number, self.at);
        // A base in the map may only be read while the epoch is pinned (mapped/generation.rs).
        let can_be_shared = !version.base.is_mapped();
        if blocks.is_empty() && self.unsettled.lists.is_empty() && can_be_shared {
            return Arc::clone(&version.base);
        }
        // PERF: bench history: what is searched comes in one piece, not line by line.
        bring_near(version.base.neighbours());
        if kind == ListKind::Timed {
            bring_near(version.base.column(COL_KEY.0));
        }
        self.changes.read(blocks.iter().map(|block| &**block), self.at);
        if self.unsettled.lists.is_empty() {
            if self.changes.is_empty() && can_be_shared {
                return Arc::clone(&version.base);
            }
            return Arc::new(self.cuts.make(&version.base, &self.changes, kind, self.columns));
        }
        let settled = self.unsettled.settled(&version.base, kind);
        Arc::new(self.cuts.make(&settled, &self.changes, kind, self.columns))
    }
}

fn bring_near(words: &[u32]) {
    words.chunks(LINE_WORDS).for_each(|line| prefetch(line.as_ptr()));
}

/// Where the rows of a base change.
#[derive(Debug)]
struct Cuts {
    /// The row that each change is at, or before, and whether it is the changed one.
    places: Vec<(u32, bool)>,
    /// By how much each list grows.
    growth: Box<[i32; SEGMENT_VERTICES]>,
}

impl Default for Cuts {
    fn default() -> Self {
        Self { places: Vec::new(), growth: Box::new([0; SEGMENT_VERTICES]) }
    }
}

impl Cuts {
    /// `base` before `changes`.
    fn make(&mut self, base: &Base, changes: &Changes, kind: ListKind, columns: usize) -> Base {
        let rows = base.all_rows();
        let ids = rows.nbrs;
        let of_ids = |list: &Range<usize>, nbr| {
            list.start + ids[list.clone()].partition_point(|id| *id < nbr)
        };
        match kind {
            ListKind::Simple => self.find(
                base,
                changes,
                |list, change| of_ids(list, change.nbr()),
                |rest, change| (rest.start, !rest.is_empty() && ids[rest.start] == change.nbr()),
            ),
            ListKind::Multi => self.find(
                base,
                changes,
                |list, change| {
                    let at = of_ids(list, change.nbr());
                    rows.ordinals.prefetch(at);
                    at
                },
                |rest, change| row_of(&rows, rest, kind, &changes.entry(change)),
            ),
            ListKind::Timed => self.find(
                base,
                changes,
                |list, change| {
                    let key = changes.entry(change).key();
                    let at = list.start + newer(&rows, list.clone(), key);
                    rows.ordinals.prefetch(at);
                    prefetch(rows.keys[1].as_ptr().wrapping_add(at));
                    at
                },
                |rest, change| row_of(&rows, rest, kind, &changes.entry(change)),
            ),
        }
        let cuts = |column: usize| {
            changes.items().iter().zip(&self.places).map(move |(change, (at, skips))| {
                let entry = changes.entry(*change);
                let word = column.checked_sub(1).map_or(entry.nbr, |c| entry.columns[c]);
                Cut { at: *at, skips: *skips, puts: change.is_delete(), word }
            })
        };
        Base::spliced(base, columns, &self.growth, cuts)
    }

    /// Finds the row of each change. `first` tells the first row of a list that may not stand
    /// before it, `row` the first from there on that does not, and whether it is the changed one.
    ///
    /// PERF: bench history: no search begins where another ended, and no row is compared before the
    /// rows of all changes are on their way: several waits for memory pass at once.
    #[inline(always)]
    fn find(
        &mut self,
        base: &Base,
        changes: &Changes,
        first: impl Fn(&Range<usize>, Item) -> usize,
        row: impl Fn(Range<usize>, Item) -> (usize, bool),
    ) {
        self.places.clear();
        for (local, list) in changes.lists() {
            let range = base.range(local as usize);
            self.places.extend(list.iter().map(|change| (first(&range, *change) as u32, false)));
        }
        self.growth.fill(0);
        let mut places = self.places.iter_mut();
        for (local, list) in changes.lists() {
            let end = base.range(local as usize).end;
            let mut growth = 0;
            for (change, place) in list.iter().zip(places.by_ref()) {
                let (at, is_there) = row(place.0 as usize..end, *change);
                *place = (at as u32, is_there);
                // Deleted afterwards, so it was there; inserted afterwards, so it was not.
                growth += i32::from(change.is_delete()) - i32::from(is_there);
            }
            self.growth[local as usize] = growth;
        }
    }
}

/// The first of rows `range`, of which none but parallel edges and those of one time can stand
/// before `entry`, that does not, and whether it is `entry`.
#[inline(always)]
fn row_of(rows: &Rows<'_>, range: Range<usize>, kind: ListKind, entry: &Entry) -> (usize, bool) {
    let order = |i: usize| compare(kind, &rows.entry(i), entry);
    let mut at = range.start;
    while at < range.end && order(at).is_lt() {
        at += 1;
    }
    (at, at < range.end && order(at).is_eq())
}

/// How many rows of `range`, newest first, are newer than `key`.
///
/// PERF: bench history: times of one list often have the same high words, and half as many words
/// are half as many waits for memory.
#[inline(always)]
fn newer(rows: &Rows<'_>, range: Range<usize>, key: i64) -> usize {
    let (low, high) = (&rows.keys[0][range.clone()], &rows.keys[1][range]);
    let of_key = Entry::timed(0, 0, key).columns;
    match (high.first(), high.last()) {
        (Some(first), Some(last)) if first == last && *first == of_key[COL_KEY.1] => {
            low.partition_point(|low| *low > of_key[COL_KEY.0])
        }
        _ => partition_point(low.len(), |i| key_of(low[i], high[i]) > key),
    }
}

/// How many of the first numbers below `len` `is_before` holds for.
#[inline(always)]
fn partition_point(len: usize, is_before: impl Fn(usize) -> bool) -> usize {
    let (mut first, mut left) = (0, len);
    while left > 1 {
        let half = left / 2;
        first += if is_before(first + half - 1) { half } else { 0 };
        left -= half;
    }
    first + usize::from(left == 1 && is_before(first))
}

/// Lists that the base of a version does not tell, as a reader sees them, sorted.
#[derive(Debug, Default)]
struct Unsettled {
    /// Places in the segment, and rows below.
    lists: Vec<(u32, Range<usize>)>,
    nbrs: Vec<u32>,
    ordinals: Vec<u32>,
    /// Low and high words of sort keys.
    keys: [Vec<u32>; 2],
    scratch: Vec<(Entry, u32)>,
}

impl Unsettled {
    /// Takes the lists of `version` at `at`, in place of those that are here.
    fn gather(&mut self, version: &SegVersion, at: u64, kind: ListKind, guard: &Guard) {
        self.lists.clear();
        self.nbrs.clear();
        self.ordinals.clear();
        self.keys.iter_mut().for_each(Vec::clear);
        if version.tail.is_none() {
            return;
        }
        for local in 0..SEGMENT_VERTICES as u32 {
            let word = version.slot_word(local);
            if word == 0 {
                continue;
            }
            let first = self.nbrs.len();
            if let Slot::Hub(hub) = version.decode(word) {
                // Chunks come in the order of their ids, and so does the whole.
                for chunk in hub.chunks(guard) {
                    let chunk = chunk.version(guard);
                    self.take(&chunk.list(chunk.delta(at), kind));
                }
            } else if let Some(list) = version.list(local, version.delta(at), kind) {
                self.take(&list);
            }
            self.lists.push((local, first..self.nbrs.len()));
        }
    }

    fn take(&mut self, list: &List<'_>) {
        let (has_ordinals, has_keys) =
            (list.kind != ListKind::Simple, list.kind == ListKind::Timed);
        if list.tail.is_none_or(|tail| tail.len == 0) {
            self.nbrs.extend_from_slice(list.base.nbrs);
            if has_ordinals {
                list.base.ordinals.append_to(list.base.nbrs.len(), &mut self.ordinals);
            }
            for (to, from) in self.keys.iter_mut().zip(list.base.keys) {
                to.extend_from_slice(from);
            }
            return;
        }
        list.sorted_entries(&mut self.scratch);
        self.nbrs.extend(self.scratch.iter().map(|(entry, _)| entry.nbr));
        let column = |c: usize| self.scratch.iter().map(move |(entry, _)| entry.columns[c]);
        if has_ordinals {
            self.ordinals.extend(column(COL_ORDINAL));
        }
        if has_keys {
            self.keys[0].extend(column(COL_KEY.0));
            self.keys[1].extend(column(COL_KEY.1));
        }
    }

    /// `base` with these lists in place of its own.
    fn settled(&self, base: &Base, kind: ListKind) -> Base {
        let replaced: usize = self.lists.iter().map(|(l, _)| base.range(*l as usize).len()).sum();
        let entries = base.entries() - replaced + self.nbrs.len();
        let mut builder = Base::builder(entries, kind.columns());
        let mut copied = 0;
        for (local, range) in &self.lists {
            let local = *local as usize;
            if copied < local {
                builder.copy_lists(base, copied, local - copied);
            }
            let mut rows = Rows::simple(&self.nbrs[range.clone()]);
            if kind != ListKind::Simple {
                rows.ordinals = Ordinals::Each(&self.ordinals[range.clone()]);
            }
            if kind == ListKind::Timed {
                rows.keys = [0, 1].map(|c| &self.keys[c][range.clone()]);
            }
            builder.extend_rows(&rows);
            builder.end_list();
            copied = local + 1;
        }
        if copied < SEGMENT_VERTICES {
            builder.copy_lists(base, copied, SEGMENT_VERTICES - copied);
        }
        builder.finish()
    }
}
