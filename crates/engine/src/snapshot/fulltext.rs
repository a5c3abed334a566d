//! Entries and totals of full-text indexes at a snapshot.

use std::ops::{ControlFlow, Range};

use smallvec::SmallVec;
use telar_graph::view::IndexedObject;
use telar_graph::{IndexId, IndexUnavailable};
use telar_text::key;

use super::Reader;
use crate::adjacency::vertex_id;
use crate::index::key::SortKey;
use crate::index::read::KeyRange;
use crate::index::totals::{self, Counted};
use crate::index::{Index, IndexTarget};

/// The keys between two.
pub(crate) fn key_range(keys: &Range<&[u8]>) -> KeyRange {
    let (from, to) = (SortKey::from_bytes(keys.start), Some(SortKey::from_bytes(keys.end)));
    KeyRange { from, to, point: None, filter: None, stop: None }
}

/// Totals as they are asked for.
pub(crate) fn given(counted: &Counted, fields: usize) -> Vec<(u64, u64)> {
    let of = |field| counted.get(field).copied().unwrap_or_default();
    (0..fields).map(of).map(|(docs, terms)| (docs.max(0) as u64, terms.max(0) as u64)).collect()
}

impl Reader<'_> {
    /// A full-text index that can be read at this snapshot.
    pub(crate) fn fulltext(&self, id: IndexId) -> Result<&Index, IndexUnavailable> {
        let index = self.index(id)?;
        match index.definition.is_fulltext() {
            true => Ok(index),
            false => Err(IndexUnavailable::WrongKind(id)),
        }
    }

    /// Calls `f` with each entry of a range, and the words of its item.
    pub(crate) fn fulltext_items(
        &self,
        index: &Index,
        range: &KeyRange,
        f: &mut dyn FnMut(&SortKey, [u32; 3]) -> ControlFlow<()>,
    ) -> Result<(), IndexUnavailable> {
        let mut flow = ControlFlow::Continue(());
        let all = (false, usize::MAX);
        match index.definition.target {
            IndexTarget::Vertices(_) => self.items_in(index, range, all, |key, [v]| {
                if flow.is_continue() {
                    flow = f(key, [v, 0, 0]);
                }
            }),
            IndexTarget::Edges(_) => self.items_in(index, range, all, |key, item: [u32; 3]| {
                if flow.is_continue() {
                    flow = f(key, item);
                }
            }),
        }
    }

    /// For [`View::fulltext_entries`](telar_graph::View::fulltext_entries).
    pub(crate) fn fulltext_batch(
        &self,
        id: IndexId,
        keys: &Range<&[u8]>,
        f: &mut dyn FnMut(&[u8], IndexedObject) -> ControlFlow<()>,
    ) -> Result<(), IndexUnavailable> {
        let index = self.fulltext(id)?;
        let give = &mut |key: &SortKey, item| {
            let bytes: SmallVec<[u8; 64]> = key.bytes().collect();
            f(&bytes, self.indexed_object(index, item))
        };
        self.fulltext_items(index, &key_range(keys), give)
    }

    /// The object of an item.
    pub(crate) fn indexed_object(&self, index: &Index, item: [u32; 3]) -> IndexedObject {
        match index.definition.target {
            IndexTarget::Vertices(_) => IndexedObject::Vertex(vertex_id(item[0])),
            IndexTarget::Edges(ty) => IndexedObject::Edge(self.source().edge_id(ty, item)),
        }
    }

    /// Documents and terms of each field at this snapshot.
    pub(crate) fn fulltext_counted(&self, index: &Index) -> Result<Counted, IndexUnavailable> {
        let is_past = self.past.is_some();
        if !is_past && let Some(counted) = index.totals.at(self.read_ts) {
            return Ok(counted);
        }
        let mut counted = Counted::new();
        for field in 0..index.definition.properties.len() {
            let (from, to) = key::lengths(field as u8);
            let range = key_range(&(&from[..]..&to[..]));
            self.fulltext_items(index, &range, &mut |key, _| {
                totals::add(&mut counted, key, 1);
                ControlFlow::Continue(())
            })?;
        }
        if !is_past {
            index.totals.keep(self.read_ts, &counted);
        }
        Ok(counted)
    }
}
