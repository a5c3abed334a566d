//! A segment as it was: the lists of now, less what came since, with what went since.
//!
//! ```text
//!  base now       ├── list ──┼─ list ─┼── list ──┼───────── lists ─────────┤
//!  changes            ▲  ▲                ▲
//!  base then      ├─ merged ─┼─ copied ┼─ merged ─┼─────── one copy ───────┤
//! ```
//!
//! One pass in the order of the lists. Lists without changes are copied in one piece with their
//! neighbours; in the others, rows between two changes are. Lists with a tail, and hubs, are
//! gathered first.
//! Cost: a copy of the segment, and per change a sort and a merge (bench history). The memory is
//! kept for the next segment.

use std::ops::Range;
use std::sync::Arc;

use crossbeam_epoch::{self as epoch, Guard};

use super::changes::{Changes, Item};
use crate::adjacency::base::{Base, BaseBuilder};
use crate::adjacency::list::{List, Rows, compare};
use crate::adjacency::search::lower_bound;
use crate::adjacency::segment::Slot;
use crate::adjacency::{AdjTable, COL_ORDINAL, COLUMNS_MAX, Entry, ListKind};
use crate::adjacency::{SEGMENT_VERTICES, SegVersion};

/// A list with so many rows per change, or fewer, is merged row by row.
const DENSE_ROWS: usize = 8;

/// Makes bases as they were, one after the other.
#[derive(Debug)]
pub(crate) struct Rebuild<'a> {
    table: &'a AdjTable,
    at: u64,
    changes: Changes,
    unsettled: Unsettled,
    merged: Vec<u32>,
}

impl<'a> Rebuild<'a> {
    /// For segments of `table` at `at`, a retained timestamp.
    pub(crate) fn new(table: &'a AdjTable, at: u64) -> Self {
        let (changes, unsettled) = (Changes::new(table.kind), Unsettled::default());
        Self { table, at, changes, unsettled, merged: Vec::new() }
    }

    /// The lists of a segment, settled.
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
        self.changes.read(blocks.iter().map(|block| &**block), self.at);
        // A base in the map may only be read while the epoch is pinned (mapped/generation.rs).
        let can_be_shared = version.base.is_whole() && !version.base.is_mapped();
        if self.unsettled.lists.is_empty() && self.changes.is_empty() && can_be_shared {
            return Arc::clone(&version.base);
        }
        let room = version.base.entries() + self.unsettled.nbrs.len() + self.changes.deletes();
        let mut builder = Base::builder(room, kind.columns());
        let mut changed = self.changes.lists().peekable();
        let mut unsettled = self.unsettled.lists.iter().peekable();
        let mut copied = 0;
        loop {
            let places = [changed.peek().map(|c| c.0), unsettled.peek().map(|u| u.0)];
            let Some(local) = places.into_iter().flatten().min() else { break };
            if copied < local as usize {
                builder.copy_lists(&version.base, copied, local as usize - copied);
            }
            copied = local as usize + 1;
            let changes = changed.next_if(|c| c.0 == local).map_or(&[][..], |c| c.1);
            let rows = match unsettled.next_if(|u| u.0 == local) {
                Some((_, range)) => self.unsettled.rows(range.clone(), kind),
                None => version.list(local, 0, kind).expect("INVARIANT: nothing unsettled").base,
            };
            if kind == ListKind::Simple && changes.len() * DENSE_ROWS > rows.nbrs.len() {
                builder.extend(merge_ids(rows.nbrs, changes, &mut self.merged));
            } else {
                merge(&rows, &self.changes, changes, kind, &mut builder);
            }
            builder.end_list();
        }
        if copied < SEGMENT_VERTICES {
            builder.copy_lists(&version.base, copied, SEGMENT_VERTICES - copied);
        }
        Arc::new(builder.finish_short())
    }
}

/// Sorted ids before sorted changes.
///
/// PERF: bench history: no branch depends on what is merged.
fn merge_ids<'m>(ids: &[u32], changes: &[Item], merged: &'m mut Vec<u32>) -> &'m [u32] {
    let most = ids.len() + changes.len();
    if merged.len() < most {
        merged.resize(most, 0);
    }
    let out = &mut merged[..most];
    let (mut i, mut j, mut n) = (0, 0, 0);
    while i < ids.len() && j < changes.len() {
        let (id, change) = (ids[i], changes[j]);
        let nbr = change.nbr();
        out[n] = id.min(nbr);
        // Deleted afterwards, so it was there; inserted afterwards, so it was not.
        n += usize::from((id < nbr) | change.is_delete());
        i += usize::from(id <= nbr);
        j += usize::from(nbr <= id);
    }
    let rest = &ids[i..];
    out[n..n + rest.len()].copy_from_slice(rest);
    n += rest.len();
    for change in changes[j..].iter().filter(|c| c.is_delete()) {
        out[n] = change.nbr();
        n += 1;
    }
    &out[..n]
}

/// Rows of any kind before sorted changes, copied in pieces.
fn merge(
    rows: &Rows<'_>,
    all: &Changes,
    changes: &[Item],
    kind: ListKind,
    builder: &mut BaseBuilder,
) {
    let mut from = 0;
    let is_dense = changes.len() * DENSE_ROWS > rows.nbrs.len();
    for change in changes {
        let entry = all.entry(*change);
        let place = first_from(rows, from, kind, &entry, is_dense);
        builder.copy_rows(rows, from..place);
        from = place;
        if from < rows.nbrs.len() && order(rows, from, kind, &entry).is_eq() {
            from += 1;
        }
        if change.is_delete() {
            builder.push(&entry);
        }
    }
    builder.copy_rows(rows, from..rows.nbrs.len());
}

/// The first row at or after `from` that does not stand before `entry`.
#[inline(always)]
fn first_from(
    rows: &Rows<'_>,
    from: usize,
    kind: ListKind,
    entry: &Entry,
    is_dense: bool,
) -> usize {
    let end = rows.nbrs.len();
    let is_before = |i: usize| order(rows, i, kind, entry).is_lt();
    if kind == ListKind::Timed {
        return gallop(from, end, is_before);
    }
    let skipped = if is_dense { 0 } else { lower_bound(&rows.nbrs[from..], entry.nbr) };
    let mut place = from + skipped;
    while place < end && is_before(place) {
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

/// The first of `from..end` for which `is_before` is false, in steps that grow.
#[inline(always)]
fn gallop(from: usize, end: usize, is_before: impl Fn(usize) -> bool) -> usize {
    let (mut low, mut step) = (from, 1);
    while low + step <= end && is_before(low + step - 1) {
        low += step;
        step *= 2;
    }
    let mut high = (low + step - 1).min(end);
    while low < high {
        let middle = low + (high - low) / 2;
        if is_before(middle) { low = middle + 1 } else { high = middle }
    }
    low
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

    fn rows(&self, range: Range<usize>, kind: ListKind) -> Rows<'_> {
        let mut rows = Rows::simple(&self.nbrs[range.clone()]);
        for c in 0..kind.columns() {
            rows.columns[c] = &self.columns[c][range.clone()];
        }
        rows
    }
}
