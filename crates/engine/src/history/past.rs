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
//! Kernels read neighbours and nothing else, so what is made for them has no columns.
//! Columns need no copy: their undo entries are looked up one by one (`column/undo.rs`).
//!
//! Invariant: a head leads to a base that the past table keeps alive.
//! Cost: the first touch of a segment that changed copies it and merges its undo entries; one that
//! did not is shared. What was made is freed with the snapshot.

use std::sync::{Arc, OnceLock};

use crossbeam_epoch::Guard;

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
}

/// A table as it was.
#[derive(Debug)]
struct PastTable {
    at: u64,
    /// Neighbours and columns.
    whole: OnceLock<PastLists>,
    /// Neighbours alone, for whoever asks for nothing else. Of a type without columns, `whole`.
    ids: OnceLock<PastLists>,
}

/// Lists as they were, as far as they were made.
#[derive(Debug)]
struct PastLists {
    heads: Heads,
    bases: GrowArray<OnceLock<Arc<Base>>>,
    all: OnceLock<()>,
}

impl Past {
    pub(crate) fn new(at: u64) -> Self {
        Self { at, tables: GrowArray::default() }
    }

    /// `table` as it was; what of it is read must be touched before.
    fn table(&self, table: &AdjTable) -> &PastTable {
        let place = self.tables.get_or_grow(table.id);
        place.get_or_init(|| Box::new(PastTable::new(self.at)))
    }

    /// `table` at a reader's timestamp, of which any list may be read.
    pub(crate) fn view<'g>(
        &'g self,
        table: &'g AdjTable,
        at: u64,
        guard: &'g Guard,
    ) -> TableView<'g> {
        let past = self.table(table);
        past.touch_all(table, true);
        TableView::past(table, past.whole().heads.pinned(guard), at, guard)
    }

    /// The same, but of the lists nothing but the neighbours may be read.
    pub(crate) fn view_of_ids<'g>(
        &'g self,
        table: &'g AdjTable,
        at: u64,
        guard: &'g Guard,
    ) -> TableView<'g> {
        let past = self.table(table);
        past.touch_all(table, false);
        TableView::past(table, past.lists(table, false).heads.pinned(guard), at, guard)
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
        TableView::past(table, past.whole().heads.pinned(guard), at, guard)
    }
}

impl PastTable {
    fn new(at: u64) -> Self {
        Self { at, whole: OnceLock::new(), ids: OnceLock::new() }
    }

    fn whole(&self) -> &PastLists {
        self.whole.get_or_init(PastLists::new)
    }

    /// The lists to make and read, with or without columns.
    fn lists(&self, table: &AdjTable, with_columns: bool) -> &PastLists {
        if with_columns || table.kind.columns() == 0 {
            return self.whole();
        }
        self.ids.get_or_init(PastLists::new)
    }

    /// Makes sure that a segment can be read, with its columns.
    fn touch(&self, table: &AdjTable, number: u32) {
        let lists = self.whole();
        // Beyond the bound nothing was ever written, and nothing of `at` will be.
        if lists.all.get().is_some() || number >= table.segment_bound() {
            return;
        }
        let place = lists.bases.get_or_grow(number);
        if place.get().is_none() {
            let mut rebuild = Rebuild::new(table, self.at, true);
            place.get_or_init(|| lists.make(number, || rebuild.base(number)));
        }
    }

    /// Makes sure that all of the table can be read.
    fn touch_all(&self, table: &AdjTable, with_columns: bool) {
        let lists = self.lists(table, with_columns);
        lists.all.get_or_init(|| {
            let mut rebuild = Rebuild::new(table, self.at, with_columns);
            // What was made with columns does without them.
            let made = |number| self.whole.get().and_then(|whole| whole.bases.get(number)?.get());
            for number in 0..table.segment_bound() {
                let base = || made(number).map_or_else(|| rebuild.base(number), Arc::clone);
                lists.bases.get_or_grow(number).get_or_init(|| lists.make(number, base));
            }
        });
    }
}

impl PastLists {
    fn new() -> Self {
        Self { heads: Heads::new(), bases: GrowArray::default(), all: OnceLock::new() }
    }

    fn make(&self, number: u32, base: impl FnOnce() -> Arc<Base>) -> Arc<Base> {
        let base = base();
        self.heads.place(number).lead_to_base(&base);
        base
    }
}
