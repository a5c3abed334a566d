//! Entries and totals of full-text indexes at a snapshot.

use std::ops::{ControlFlow, Range};
use std::sync::Arc;

use telar_graph::postings::Postings;
use telar_graph::view::{FulltextPostings, IndexedObject};
use telar_graph::{IndexId, IndexUnavailable};
use telar_text::key;

use super::Reader;
use crate::adjacency::vertex_id;
use crate::index::key::SortKey;
use crate::index::lists::{self, ListsOf};
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
            let bytes = key.to_bytes();
            f(&bytes, self.indexed_object(index, item))
        };
        self.fulltext_items(index, &key_range(keys), give)
    }

    /// For [`View::fulltext_terms`](telar_graph::View::fulltext_terms).
    pub(crate) fn fulltext_terms_batch(
        &self,
        id: IndexId,
        keys: &Range<&[u8]>,
        f: &mut dyn FnMut(&[u8]) -> ControlFlow<()>,
    ) -> Result<(), IndexUnavailable> {
        self.fulltext_beginnings(self.fulltext(id)?, &key_range(keys), f)
    }

    /// The objects that have a term, for
    /// [`View::fulltext_postings`](telar_graph::View::fulltext_postings).
    pub(crate) fn fulltext_list(
        &self,
        id: IndexId,
        beginning: &[u8],
        go_on: &mut dyn FnMut() -> ControlFlow<()>,
    ) -> Result<FulltextPostings, IndexUnavailable> {
        let index = self.fulltext(id)?;
        Ok(match index.definition.target {
            IndexTarget::Vertices(_) => {
                let object = |item: [u32; 3]| item[0];
                let list = self.list_of(index, &index.lists.vertices, beginning, go_on, object)?;
                FulltextPostings::Vertices(list)
            }
            IndexTarget::Edges(ty) => {
                let source = self.source();
                let object = |item| source.edge_id(ty, item);
                let list = self.list_of(index, &index.lists.edges, beginning, go_on, object)?;
                FulltextPostings::Edges(list)
            }
        })
    }

    /// The list of a term: one that is known, or read and, where later readers can use it, kept.
    fn list_of<D: Copy + Ord>(
        &self,
        index: &Index,
        lists: &ListsOf<D>,
        beginning: &[u8],
        go_on: &mut dyn FnMut() -> ControlFlow<()>,
        object: impl Fn([u32; 3]) -> D,
    ) -> Result<Arc<Postings<D>>, IndexUnavailable> {
        let is_now = self.past.is_none() && index.is_loaded();
        if is_now && let Some(list) = lists.get(beginning, self.read_ts, self.shared.watermark()) {
            return Ok(list);
        }
        let begun = if is_now { lists.begin(beginning, self.read_ts) } else { None };
        let read = self.read_list(index, beginning, go_on, object);
        if let Some(begun) = begun {
            let documents = index.totals.documents();
            let whole = read.as_ref().ok().filter(|(is_whole, _)| *is_whole);
            lists.end((beginning, begun), whole.map(|(_, list)| list), documents);
        }
        Ok(read?.1)
    }

    /// The list of a term as the tree has it, and whether it is whole.
    fn read_list<D: Copy + Ord>(
        &self,
        index: &Index,
        beginning: &[u8],
        go_on: &mut dyn FnMut() -> ControlFlow<()>,
        object: impl Fn([u32; 3]) -> D,
    ) -> Result<(bool, Arc<Postings<D>>), IndexUnavailable> {
        /// Postings between two questions whether to go on.
        const STEP: usize = 1024;
        let (from, to) = key::postings(beginning);
        let (mut postings, mut is_whole) = (Vec::new(), true);
        self.fulltext_items(index, &key_range(&(&from[..]..&to[..])), &mut |key, item| {
            let bytes = key.to_bytes();
            postings.extend(lists::impact(&bytes).map(|impact| (object(item), impact)));
            if postings.len().is_multiple_of(STEP) && go_on().is_break() {
                is_whole = false;
                return ControlFlow::Break(());
            }
            ControlFlow::Continue(())
        })?;
        Ok((is_whole, Arc::new(Postings::new(postings))))
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
