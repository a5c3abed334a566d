//! A segment as it was: the lists of now, less what came since, with what went since.
//!
//! ```text
//!  base now       ├── list ──┼─ list ─┼── list ──┼───────── lists ─────────┤
//!  changes            ▲  ▲                ▲
//!  base then      ├── ··  ·· ┼────────┼─ ·· ─────┼─────────────────────────┤
//!                   each ·· one row more, or less; what lies between is copied, across lists
//! ```
//!
//! Two passes. The first finds the row of each change, in the order of the lists. The second copies
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
use crate::adjacency::segment::Slot;
use crate::adjacency::{AdjTable, COL_KEY, COL_ORDINAL, COLUMNS_MAX, Entry, ListKind};
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
        version.base.neighbours().chunks(LINE_WORDS).for_each(|line| prefetch(line.as_ptr()));
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
        let mut rows = Rows::simple(base.neighbours());
        for c in 0..kind.columns() {
            rows.columns[c] = base.column(c);
        }
        self.places.clear();
        self.growth.fill(0);
        for (local, list) in changes.lists() {
            let range = base.range(local as usize);
            let mut growth = 0;
            for change in list {
                let entry = changes.entry(*change);
                let at = first_from(&rows, range.clone(), kind, &entry);
                let is_there = at < range.end && order(&rows, at, kind, &entry).is_eq();
                self.places.push((at as u32, is_there));
                // Deleted afterwards, so it was there; inserted afterwards, so it was not.
                growth += i32::from(change.is_delete()) - i32::from(is_there);
            }
            self.growth[local as usize] = growth;
        }
        let cut = |(change, (at, skips)): (&Item, &(u32, bool)), word| Cut {
            at: *at,
            skips: *skips,
            puts: change.is_delete(),
            word,
        };
        let cuts = |column: usize| {
            changes.items().iter().zip(&self.places).map(move |(change, place)| {
                let entry = changes.entry(*change);
                let word = column.checked_sub(1).map_or(entry.nbr, |c| entry.columns[c]);
                cut((change, place), word)
            })
        };
        Base::spliced(base, columns, &self.growth, cuts)
    }
}

/// The first row of `rows` within `range` that does not stand before `entry`, or the range's end.
///
/// PERF: bench history: no search begins where another ended, so that the CPU has several under way
/// at once; a search that waits for the one before it takes three times as long.
#[inline(always)]
fn first_from(rows: &Rows<'_>, range: Range<usize>, kind: ListKind, entry: &Entry) -> usize {
    let mut place = range.start;
    if kind == ListKind::Timed {
        let (low, high) = (&rows.columns[COL_KEY.0][range.clone()], rows.columns[COL_KEY.1]);
        let (key, first) = (entry.key(), range.start);
        place += partition_point(range.len(), |i| key_of(low[i], high[first + i]) > key);
    } else {
        let ids = &rows.nbrs[range.clone()];
        place += ids.partition_point(|id| *id < entry.nbr);
    }
    // Parallel edges, and those of one time.
    while kind != ListKind::Simple && place < range.end && order(rows, place, kind, entry).is_lt() {
        place += 1;
    }
    place
}

#[inline(always)]
fn order(rows: &Rows<'_>, i: usize, kind: ListKind, entry: &Entry) -> std::cmp::Ordering {
    match kind {
        ListKind::Simple => rows.nbrs[i].cmp(&entry.nbr),
        ListKind::Multi => {
            let row = (rows.nbrs[i], rows.columns[COL_ORDINAL][i]);
            row.cmp(&(entry.nbr, entry.columns[COL_ORDINAL]))
        }
        ListKind::Timed => compare(kind, &rows.entry(i), entry),
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
    columns: [Vec<u32>; COLUMNS_MAX],
    scratch: Vec<(Entry, u32)>,
}

impl Unsettled {
    /// Takes the lists of `version` at `at`, in place of those that are here.
    fn gather(&mut self, version: &SegVersion, at: u64, kind: ListKind, guard: &Guard) {
        self.lists.clear();
        self.nbrs.clear();
        self.columns.iter_mut().for_each(Vec::clear);
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
        let columns = list.kind.columns();
        if list.tail.is_none_or(|tail| tail.len == 0) {
            self.nbrs.extend_from_slice(list.base.nbrs);
            for c in 0..columns {
                self.columns[c].extend_from_slice(list.base.columns[c]);
            }
            return;
        }
        list.sorted_entries(&mut self.scratch);
        self.nbrs.extend(self.scratch.iter().map(|(entry, _)| entry.nbr));
        for c in 0..columns {
            self.columns[c].extend(self.scratch.iter().map(|(entry, _)| entry.columns[c]));
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
            for c in 0..kind.columns() {
                rows.columns[c] = &self.columns[c][range.clone()];
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
