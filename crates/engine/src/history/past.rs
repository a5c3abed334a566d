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

use crossbeam_epoch::Guard;
use parking_lot::Mutex;
use telar_graph::IndexId;

use super::past_index::PastIndex;
use super::rebuild::Rebuild;
use crate::adjacency::base::Base;
use crate::adjacency::head::Heads;
use crate::adjacency::scan::TableView;
use crate::adjacency::{AdjTable, segment_of};
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
            place.get_or_init(|| self.make(&mut Rebuild::new(table, self.at), number));
        }
    }

    fn make(&self, rebuild: &mut Rebuild<'_>, number: u32) -> Arc<Base> {
        let base = rebuild.base(number);
        self.heads.place(number).lead_to_base(&base);
        base
    }

    /// Makes sure that all of the table can be read.
    fn touch_all(&self, table: &AdjTable) {
        self.whole.get_or_init(|| {
            let mut rebuild = Rebuild::new(table, self.at);
            for number in 0..table.segment_bound() {
                let place = self.bases.get_or_grow(number);
                place.get_or_init(|| self.make(&mut rebuild, number));
            }
        });
    }
}
