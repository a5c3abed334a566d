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
        if self.whole.get().is_some() {
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
    let Some(version) = table.segment(number).and_then(|s| s.version(guard)) else {
        return Arc::clone(&table.empty);
    };
    let mut written: Vec<(u32, Vec<Entry>)> = Vec::new();
    for local in 0..SEGMENT_VERTICES as u32 {
        if version.slot_word(local) != 0 {
            written.push((local, entries_at(version, local, at, table.kind, guard)));
        }
    }
    let undo = table.undo.after(number, at, table.kind.columns());
    if written.is_empty() && undo.is_empty() {
        return Arc::clone(&version.base);
    }
    let mut lists: Vec<(u32, Vec<Entry>)> = Vec::with_capacity(written.len());
    let mut written = written.into_iter().peekable();
    let mut changes = undo.chunk_by(|a, b| a.local == b.local).peekable();
    loop {
        let local = match (written.peek(), changes.peek()) {
            (None, None) => break,
            (Some((local, _)), None) => *local,
            (None, Some(changed)) => changed[0].local,
            (Some((local, _)), Some(changed)) => (*local).min(changed[0].local),
        };
        let entries = match written.next_if(|(l, _)| *l == local) {
            Some((_, entries)) => entries,
            None => {
                let range = version.base.range(local as usize);
                range.map(|i| version.base.entry(i)).collect()
            }
        };
        lists.push((local, match changes.next_if(|c| c[0].local == local) {
            Some(changed) => undone(entries, changed, table.kind),
            None => entries,
        }));
    }
    Arc::new(with_lists(&version.base, &lists, table.kind))
}

/// The list of `local` as a reader at `at` sees it in this version, sorted.
fn entries_at(
    version: &SegVersion,
    local: u32,
    at: u64,
    kind: ListKind,
    guard: &Guard,
) -> Vec<Entry> {
    let mut rows = Vec::new();
    let mut all = Vec::new();
    let mut take = |list: List<'_>| {
        list.sorted_entries(&mut rows);
        all.extend(rows.iter().map(|(entry, _)| *entry));
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
    all
}

/// `entries`, sorted, as they were before `changes`, which are in commit order.
fn undone(entries: Vec<Entry>, changes: &[Undo], kind: ListKind) -> Vec<Entry> {
    let mut changes: Vec<Undo> = changes.to_vec();
    // Of each edge the earliest change tells: an insert, that it was not there; a delete, that it
    // was. Stable, so the earliest comes first.
    changes.sort_by(|a, b| compare(kind, &a.entry, &b.entry));
    changes.dedup_by(|later, first| compare(kind, &later.entry, &first.entry).is_eq());
    let mut out = Vec::with_capacity(entries.len() + changes.len());
    let mut changes = changes.into_iter().peekable();
    for entry in entries {
        while let Some(change) = changes.next_if(|c| compare(kind, &c.entry, &entry).is_lt()) {
            out.extend(change.delete.then_some(change.entry));
        }
        match changes.next_if(|c| compare(kind, &c.entry, &entry).is_eq()) {
            Some(change) => out.extend(change.delete.then_some(change.entry)),
            None => out.push(entry),
        }
    }
    out.extend(changes.filter(|c| c.delete).map(|c| c.entry));
    out
}

/// `base` with some lists replaced.
fn with_lists(base: &Base, lists: &[(u32, Vec<Entry>)], kind: ListKind) -> Base {
    let replaced: usize = lists.iter().map(|(local, _)| base.range(*local as usize).len()).sum();
    let new: usize = lists.iter().map(|(_, entries)| entries.len()).sum();
    let mut builder = Base::builder(base.entries() - replaced + new, kind.columns());
    let mut ids: Vec<u32> = Vec::new();
    let mut from = 0;
    for (local, entries) in lists {
        let local = *local as usize;
        if from < local {
            builder.copy_lists(base, from, local - from);
        }
        from = local + 1;
        if kind == ListKind::Simple {
            ids.clear();
            ids.extend(entries.iter().map(|e| e.nbr));
            builder.extend(&ids);
        } else {
            entries.iter().for_each(|e| builder.push(e));
        }
        builder.end_list();
    }
    if from < SEGMENT_VERTICES {
        builder.copy_lists(base, from, SEGMENT_VERTICES - from);
    }
    builder.finish()
}
