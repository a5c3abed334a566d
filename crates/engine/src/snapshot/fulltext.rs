//! Entries and totals of full-text indexes at a snapshot.

use std::ops::{ControlFlow, Range};
use std::sync::Arc;

use telar_graph::postings::{Impact, Postings};
use telar_graph::view::{FulltextPostings, IndexedObject};
use telar_graph::{IndexId, IndexUnavailable};
use telar_text::key::{self, Fingerprint};

use super::Reader;
use crate::adjacency::vertex_id;
use crate::index::key::{Item, SortKey};
use crate::index::lists::{self, ListsOf};
use crate::index::read::{KeyRange, TreeOf};
use crate::index::totals::{self, Counted};
use crate::index::{Entries, Index, IndexTarget};

/// Postings between two questions whether to go on.
const STEP: usize = 1024;
/// Postings that are sorted at once, in some megabytes; tests have several times as many.
const GATHERED_MAX: usize = if cfg!(test) { 3 * STEP / 2 } else { 1 << 18 };

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
                let object = |[v]: Item<1>| v;
                let list = self.list_of(index, &index.lists.vertices, beginning, go_on, object)?;
                FulltextPostings::Vertices(list)
            }
            IndexTarget::Edges(ty) => {
                let source = self.source();
                let object = |item: Item<3>| source.edge_id(ty, item);
                let list = self.list_of(index, &index.lists.edges, beginning, go_on, object)?;
                FulltextPostings::Edges(list)
            }
        })
    }

    /// The list of a term: one that is known, or read and, where later readers can use it, kept.
    fn list_of<const N: usize, D: Copy + Ord>(
        &self,
        index: &Index,
        lists: &ListsOf<D>,
        beginning: &[u8],
        go_on: &mut dyn FnMut() -> ControlFlow<()>,
        object: impl Fn(Item<N>) -> D,
    ) -> Result<Arc<Postings<D>>, IndexUnavailable>
    where
        Entries: TreeOf<N>,
    {
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
    fn read_list<const N: usize, D: Copy + Ord>(
        &self,
        index: &Index,
        beginning: &[u8],
        go_on: &mut dyn FnMut() -> ControlFlow<()>,
        object: impl Fn(Item<N>) -> D,
    ) -> Result<(bool, Arc<Postings<D>>), IndexUnavailable>
    where
        Entries: TreeOf<N>,
    {
        let (from, to) = key::postings(beginning);
        let range = key_range(&(&from[..]..&to[..]));
        let mut postings = Vec::new();
        let mut give = |item, impact| postings.push((object(item), impact));
        let read = match self.past.is_none() && index.is_loaded() {
            true => self.by_object(index, &range, go_on, &mut give),
            false => self.in_order(index, &range, go_on, &mut give),
        };
        let is_whole = read?.is_continue();
        Ok((is_whole, Arc::new(Postings::new(postings))))
    }

    /// Calls `give` with the postings of a range, read as other entries are. Breaks if that is
    /// asked for.
    fn in_order<const N: usize>(
        &self,
        index: &Index,
        range: &KeyRange,
        go_on: &mut dyn FnMut() -> ControlFlow<()>,
        give: &mut impl FnMut(Item<N>, Impact),
    ) -> Result<ControlFlow<()>, IndexUnavailable>
    where
        Entries: TreeOf<N>,
    {
        let (mut flow, mut read) = (ControlFlow::Continue(()), 0_usize);
        self.items_in(index, range, (false, usize::MAX), |key, item| {
            if flow.is_break() {
                return;
            }
            let Some(impact) = lists::impact(&key.to_bytes()) else { return };
            give(item, impact);
            read += 1;
            if read.is_multiple_of(STEP) {
                flow = go_on();
            }
        })?;
        Ok(flow)
    }

    /// As [`in_order`](Self::in_order), of an index that is in memory: postings are gathered, and
    /// checked in the order of their objects.
    ///
    /// PERF: crates/db/examples/fulltext_cost.rs, "first": in the order of the tree, each check
    /// waits for a text that is somewhere else.
    fn by_object<const N: usize>(
        &self,
        index: &Index,
        range: &KeyRange,
        go_on: &mut dyn FnMut() -> ControlFlow<()>,
        give: &mut impl FnMut(Item<N>, Impact),
    ) -> Result<ControlFlow<()>, IndexUnavailable>
    where
        Entries: TreeOf<N>,
    {
        let tree = index.tree::<N>()?;
        let objects = index.objects(self.shared, &self.guard);
        let mut check = |gathered: &mut Vec<(Item<N>, Impact, (u8, Fingerprint))>| {
            gathered.sort_unstable_by_key(|(item, ..)| item[0]);
            for some in gathered.chunks(STEP) {
                go_on()?;
                for (item, impact, version) in some {
                    if objects.has_version(*version, item, self.read_ts) {
                        give(*item, *impact);
                    }
                }
            }
            gathered.clear();
            ControlFlow::Continue(())
        };
        let (mut gathered, mut flow) = (Vec::new(), ControlFlow::Continue(()));
        tree.for_bytes(&range.from, range.to.as_ref(), &self.guard, |key, _, item| {
            let Some((impact, version)) = lists::posting(key) else {
                return ControlFlow::Continue(());
            };
            gathered.push((item, impact, version));
            if gathered.len() == GATHERED_MAX {
                flow = check(&mut gathered);
            }
            flow
        });
        Ok(if flow.is_continue() { check(&mut gathered) } else { flow })
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

#[cfg(test)]
#[cfg(not(feature = "shuttle"))]
mod tests;
