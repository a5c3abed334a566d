//! A snapshot at a past timestamp: tables as they were, made segment by segment as they are read.
//!
//! ```text
//!  Past ── per table: heads ──▶ the table's own base, where nothing changed since
//!                           └─▶ a base made for this snapshot: base and tail prefix now,
//!                               less what was inserted since, with what was deleted since
//! ```
//!
//! Readers go through the heads of the past table as others go through those of the present, by the
//! same loops (`adjacency/scan.rs`): every segment is settled, hubs are lists like any other.
//! Columns need no copy: their undo entries are looked up one by one (`column/undo.rs`).
//!
//! Invariant: a head leads to a base that the past table keeps alive.
//! Cost: the first touch of a segment that changed copies it and merges its undo entries; one that
//! did not is shared. What was made is freed with the snapshot.

use std::sync::{Arc, OnceLock};

use crossbeam_epoch::{self as epoch, Guard};
use parking_lot::Mutex;
use telar_graph::IndexId;

use super::past_index::PastIndex;
use super::undo::Undo;
use crate::adjacency::base::Base;
use crate::adjacency::head::Heads;
use crate::adjacency::list::{List, compare};
use crate::adjacency::scan::TableView;
use crate::adjacency::segment::Slot;
use crate::adjacency::{AdjTable, Entry, ListKind, SEGMENT_VERTICES, SegVersion, segment_of};
use crate::table::GrowArray;

/// What a past snapshot has made so far.
#[derive(Debug)]
pub(crate) struct Past {
    at: u64,
    /// By table number.
    tables: GrowArray<OnceLock<Box<PastTable>>>,
    indexes: Mutex<Vec<(IndexId, Arc<PastIndex>)>>,
}

/// A table as it was.
#[derive(Debug)]
pub(crate) struct PastTable {
    at: u64,
    heads: Heads,
    bases: GrowArray<OnceLock<Arc<Base>>>,
    whole: OnceLock<()>,
}

impl Past {
    pub(crate) fn new(at: u64) -> Self {
        Self { at, tables: GrowArray::default(), indexes: Mutex::default() }
    }

    /// `table` as it was; what of it is read must be touched before.
    fn table(&self, table: &AdjTable) -> &PastTable {
        let place = self.tables.get_or_grow(table.id);
        place.get_or_init(|| {
            Box::new(PastTable {
                at: self.at,
                heads: Heads::new(),
                bases: GrowArray::default(),
                whole: OnceLock::new(),
            })
        })
    }

    /// `table` at a reader's timestamp, of which any list may be read.
    pub(crate) fn view<'g>(
        &'g self,
        table: &'g AdjTable,
        at: u64,
        guard: &'g Guard,
    ) -> TableView<'g> {
        let past = self.table(table);
        past.touch_all(table);
        TableView::past(table, past.heads.pinned(guard), at, guard)
    }

    /// `table` at a reader's timestamp, of which the lists of `vertices` may be read.
    pub(crate) fn view_of<'g>(
        &'g self,
        table: &'g AdjTable,
        vertices: impl Iterator<Item = u32>,
        at: u64,
        guard: &'g Guard,
    ) -> TableView<'g> {
        let past = self.table(table);
        vertices.for_each(|v| past.touch(table, segment_of(v)));
        TableView::past(table, past.heads.pinned(guard), at, guard)
    }

    /// An index as it was, made by `make` when it is read for the first time.
    pub(crate) fn index(&self, id: IndexId, make: impl FnOnce() -> PastIndex) -> Arc<PastIndex> {
        let mut indexes = self.indexes.lock();
        if let Some((_, index)) = indexes.iter().find(|(i, _)| *i == id) {
            return Arc::clone(index);
        }
        let index = Arc::new(make());
        indexes.push((id, Arc::clone(&index)));
        index
    }
}

impl PastTable {
    /// Makes sure that a segment can be read.
    fn touch(&self, table: &AdjTable, number: u32) {
        // Beyond the bound nothing was ever written, and nothing of `at` will be.
        if self.whole.get().is_some() || number >= table.segment_bound() {
            return;
        }
        let place = self.bases.get_or_grow(number);
        if place.get().is_none() {
            place.get_or_init(|| self.make(table, number));
        }
    }

    fn make(&self, table: &AdjTable, number: u32) -> Arc<Base> {
        let base = base_at(table, number, self.at);
        self.heads.place(number).lead_to_base(&base);
        base
    }

    /// Makes sure that all of the table can be read.
    fn touch_all(&self, table: &AdjTable) {
        self.whole.get_or_init(|| {
            for number in 0..table.segment_bound() {
                let place = self.bases.get_or_grow(number);
                place.get_or_init(|| self.make(table, number));
            }
        });
    }
}

/// The lists of a segment as they were at `at`, a retained timestamp, settled.
fn base_at(table: &AdjTable, number: u32, at: u64) -> Arc<Base> {
    let guard = &epoch::pin();
    // First the version, then what it lacks: history/mod.rs, invariant 1. A hub's chunks are
    // versions, too.
    let Some(version) = table.fetched_version(number, guard) else {
        return Arc::clone(&table.empty);
    };
    // Before the undo entries: a hub's chunks are versions that are loaded here.
    let mut written: Vec<(u32, Vec<Entry>)> = Vec::new();
    for local in (0..SEGMENT_VERTICES as u32).filter(|l| version.slot_word(*l) != 0) {
        let mut entries = Vec::new();
        entries_at(version, local, at, table.kind, guard, &mut entries);
        written.push((local, entries));
    }
    let mut written = written.into_iter().peekable();
    let undo = table.undo.after(number, at, table.kind.columns());
    let mut made = Made { kind: table.kind, lists: Vec::new(), ids: Vec::new(), rows: Vec::new() };
    let mut changes = undo;
    let mut changed = changes.chunk_by_mut(|a, b| a.local == b.local).peekable();
    for local in 0..SEGMENT_VERTICES as u32 {
        let entries = written.next_if(|(l, _)| *l == local);
        let changes = changed.next_if(|c| c[0].local == local);
        if entries.is_none() && changes.is_none() {
            continue;
        }
        let changes = changes.map_or(&[][..], |changes| {
            // Of each edge the earliest change tells; stable, so the earliest comes first.
            match table.kind {
                ListKind::Simple => changes.sort_by_key(|c| c.entry.nbr),
                kind => changes.sort_by(|a, b| compare(kind, &a.entry, &b.entry)),
            }
            changes
        });
        if let Some((_, entries)) = entries {
            made.list(local, entries.into_iter(), changes);
        } else if table.kind == ListKind::Simple {
            made.simple_list(local, version.settled(local), changes);
        } else {
            let list = version.list(local, 0, table.kind).expect("INVARIANT: nothing unsettled");
            let rows = list.base;
            made.list(local, (0..rows.nbrs.len()).map(|i| rows.entry(i)), changes);
        }
    }
    // A base in the map may only be read while the epoch is pinned (mapped/generation.rs).
    let can_be_shared = version.base.is_whole() && !version.base.is_mapped();
    if made.lists.is_empty() && can_be_shared {
        return Arc::clone(&version.base);
    }
    Arc::new(made.finish(&version.base))
}

/// The list of `local` as a reader at `at` sees it in this version, sorted.
fn entries_at(
    version: &SegVersion,
    local: u32,
    at: u64,
    kind: ListKind,
    guard: &Guard,
    out: &mut Vec<Entry>,
) {
    out.clear();
    let mut rows = Vec::new();
    let mut take = |list: List<'_>| {
        list.sorted_entries(&mut rows);
        out.extend(rows.iter().map(|(entry, _)| *entry));
    };
    if let Slot::Hub(hub) = version.decode(version.slot_word(local)) {
        // Chunks come in the order of their ids, and so does the whole.
        for chunk in hub.chunks(guard) {
            let chunk = chunk.version(guard);
            take(chunk.list(chunk.delta(at), kind));
        }
    } else if let Some(list) = version.list(local, version.delta(at), kind) {
        take(list);
    }
}

/// The lists of a segment that are not those of its base.
struct Made {
    kind: ListKind,
    /// Places, and where their lists end in `ids` or `rows`.
    lists: Vec<(u32, usize)>,
    /// Of a simple type.
    ids: Vec<u32>,
    /// Of the others.
    rows: Vec<Entry>,
}

impl Made {
    /// Adds a list of the base as it was before `changes`, sorted, of each edge the earliest first.
    fn simple_list(&mut self, local: u32, ids: &[u32], changes: &[Undo]) {
        let mut rest = ids;
        for of_edge in changes.chunk_by(|a, b| a.entry.nbr == b.entry.nbr) {
            let Undo { entry: Entry { nbr, .. }, delete, .. } = of_edge[0];
            let (before, from) = rest.split_at(rest.partition_point(|id| *id < nbr));
            self.ids.extend_from_slice(before);
            rest = from.strip_prefix(&[nbr]).unwrap_or(from);
            // Deleted afterwards, so it was there; inserted afterwards, so it was not.
            self.ids.extend(delete.then_some(nbr));
        }
        self.ids.extend_from_slice(rest);
        self.lists.push((local, self.ids.len()));
    }

    /// As `simple_list`, of any type and from anywhere; `entries` are sorted.
    fn list(&mut self, local: u32, entries: impl Iterator<Item = Entry>, changes: &[Undo]) {
        let kind = self.kind;
        let first = self.rows.len();
        let mut changes =
            changes.chunk_by(|a, b| compare(kind, &a.entry, &b.entry).is_eq()).peekable();
        for entry in entries {
            while let Some(c) = changes.next_if(|c| compare(kind, &c[0].entry, &entry).is_lt()) {
                self.rows.extend(c[0].delete.then_some(c[0].entry));
            }
            match changes.next_if(|c| compare(kind, &c[0].entry, &entry).is_eq()) {
                Some(c) => self.rows.extend(c[0].delete.then_some(c[0].entry)),
                None => self.rows.push(entry),
            }
        }
        self.rows.extend(changes.filter(|c| c[0].delete).map(|c| c[0].entry));
        if kind == ListKind::Simple {
            self.ids.extend(self.rows.drain(first..).map(|e| e.nbr));
        }
        let end = if kind == ListKind::Simple { self.ids.len() } else { self.rows.len() };
        self.lists.push((local, end));
    }

    /// `base` with these lists in place of its own.
    fn finish(&self, base: &Base) -> Base {
        let replaced: usize = self.lists.iter().map(|(l, _)| base.range(*l as usize).len()).sum();
        let new = self.lists.last().map_or(0, |(_, end)| *end);
        let mut builder = Base::builder(base.entries() - replaced + new, self.kind.columns());
        let (mut from, mut start) = (0, 0);
        for (local, end) in &self.lists {
            let local = *local as usize;
            if from < local {
                builder.copy_lists(base, from, local - from);
            }
            from = local + 1;
            if self.kind == ListKind::Simple {
                builder.extend(&self.ids[start..*end]);
            } else {
                self.rows[start..*end].iter().for_each(|e| builder.push(e));
            }
            builder.end_list();
            start = *end;
        }
        if from < SEGMENT_VERTICES {
            builder.copy_lists(base, from, SEGMENT_VERTICES - from);
        }
        builder.finish()
    }
}
