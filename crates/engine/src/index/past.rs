//! Index lookups in a past snapshot.
//!
//! An index holds what live snapshots may want; entries that only the past wants are dropped, and
//! none were made before the index was. So a past snapshot reads the index itself as long as
//! nothing was dropped after its timestamp ([`Index::is_complete_at`]), and otherwise makes itself
//! a sorted copy, once, from the objects as they were.
//!
//! Cost of the copy: a pass over the vertices (or edges of the type), and a sort.

use std::ops::ControlFlow;
use std::sync::Arc;

use parking_lot::Mutex;
use telar_graph::IndexId;

use super::Index;
use super::key::{Item, SortKey};
use super::read::KeyRange;
use super::source::Source;
use super::spec::IndexTarget;

/// The entries of an index at a past timestamp, sorted.
#[derive(Debug)]
pub(crate) struct PastIndex(Vec<(SortKey, Item<3>)>);

impl PastIndex {
    /// Makes the copy of `index` at `at`.
    pub(crate) fn make(index: &Index, source: &Source<'_>, bound: u32, at: u64) -> Self {
        let definition = &index.definition;
        let mut entries = Vec::new();
        match definition.target {
            IndexTarget::Vertices(label) => {
                for v in 0..bound {
                    let keys = source.vertex_keys(label, &index.holders, definition, v, at);
                    entries.extend(keys.into_iter().map(|key| (key, [v, 0, 0])));
                }
            }
            IndexTarget::Edges(ty) => {
                let _: ControlFlow<()> = source.for_each_edge(ty, 0..bound, at, |item| {
                    let keys = source.edge_keys(ty, definition, item[0], at);
                    entries.extend(keys.into_iter().map(|key| (key, item)));
                    ControlFlow::Continue(())
                });
            }
        }
        entries.sort_unstable();
        Self(entries)
    }

    /// The entries in a range of keys, ascending.
    pub(crate) fn range(&self, range: &KeyRange) -> &[(SortKey, Item<3>)] {
        let from = self.0.partition_point(|(key, _)| key < &range.from);
        let to = match &range.to {
            Some(to) => self.0.partition_point(|(key, _)| key < to),
            None => self.0.len(),
        };
        &self.0[from..to.max(from)]
    }

    /// The vertices with one key, ascending.
    pub(crate) fn vertices(&self, key: &SortKey) -> impl Iterator<Item = u32> + '_ {
        let from = self.0.partition_point(|(k, _)| k < key);
        let to = self.0.partition_point(|(k, _)| k <= key);
        self.0[from..to].iter().map(|(_, item)| item[0])
    }
}

/// The copies that a past snapshot has made so far.
#[derive(Debug, Default)]
pub(crate) struct PastIndexes(Mutex<Vec<(IndexId, Arc<PastIndex>)>>);

impl PastIndexes {
    /// An index as it was, made by `make` when it is read for the first time.
    pub(crate) fn get(&self, id: IndexId, make: impl FnOnce() -> PastIndex) -> Arc<PastIndex> {
        let mut indexes = self.0.lock();
        if let Some((_, index)) = indexes.iter().find(|(i, _)| *i == id) {
            return Arc::clone(index);
        }
        let index = Arc::new(make());
        indexes.push((id, Arc::clone(&index)));
        index
    }
}
