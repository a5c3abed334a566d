//! The narrow waist between queries and storage: batched reads at one snapshot.
//!
//! Queries and algorithms know nothing else of storage. Locally a batch compiles down to loops over
//! slices of base memory; over a network it is one message per shard.
//!
//! *Isolation*: every call on one view sees the same snapshot, whatever commits meanwhile.
//!
//! *Errors*: a read that fails says so itself. What it has appended until then means nothing.
//!
//! Beside the reads of [`View`] a graph has [`Counts`](crate::Counts) and names
//! ([`Schema`](crate::Schema)). Why three traits, and how to implement them: docs/waist.md.

use std::any::Any;
use std::error::Error;
use std::ops::{ControlFlow, Range};
use std::sync::Arc;

use crate::postings::Postings;
use crate::{
    Column, CommitTs, Direction, EdgeId, EdgeTypeId, Expansion, IndexId, IndexRange,
    IndexUnavailable, LabelId, Lists, Partitions, PropertyKeyId, Value, VertexId,
};

/// Why a read failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ReadError {
    /// The index cannot be read; a scan finds the same unless it is damaged.
    #[error(transparent)]
    Index(#[from] IndexUnavailable),
    /// The storage could not read what it holds: it is damaged, or cannot be reached.
    #[error("{0}")]
    Storage(#[source] Box<dyn Error + Send + Sync>),
}

impl ReadError {
    /// An error of the storage.
    pub fn storage(error: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        Self::Storage(error.into())
    }
}

/// Object that an index finds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum IndexedObject {
    /// A vertex.
    Vertex(VertexId),
    /// An edge.
    Edge(EdgeId),
}

/// Objects that have a term.
#[derive(Debug, Clone)]
pub enum FulltextPostings {
    /// Numbers of vertices, of an index on them.
    Vertices(Arc<Postings<u32>>),
    /// Edges, of an index on them.
    Edges(Arc<Postings<EdgeId>>),
}

/// Extent of what [`View::nearest`] has given.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Nearest {
    /// Every object of the index.
    All,
    /// Nearly every one whose vector is near. Others may be among those given, and others that are
    /// as near as they are not.
    Within {
        /// Square of the distance up to which they are given; of vectors of length 1 where
        /// angles are compared.
        reach: f32,
        /// Number of vectors, about.
        of: u64,
    },
    /// None, or not enough: the caller reads the objects.
    Unknown,
}

/// A search of a vector index ([`View::nearest`]).
#[derive(Debug)]
pub struct NearSearch<'v> {
    /// The vector that is sought.
    pub vector: &'v [f32],
    /// Number of vectors whose objects are to be given.
    pub wanted: usize,
    /// Vectors that are kept in sight to find them: the more, the more of the nearest are found.
    pub effort: usize,
    /// State of a search that was asked before, which the graph knows: it goes on from there, with
    /// `wanted` and `effort` that have grown, and gives only objects that it has not given.
    pub state: Option<Box<dyn Any + Send>>,
}

impl<'v> NearSearch<'v> {
    /// A search that begins.
    #[must_use]
    pub fn new(vector: &'v [f32], wanted: usize, effort: usize) -> Self {
        Self { vector, wanted, effort, state: None }
    }
}

/// Neighbours as they lie in storage, in its width.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Run<'a> {
    /// Ids below 2^32.
    Narrow(&'a [u32]),
    /// Ids of any size.
    Wide(&'a [VertexId]),
}

impl Run<'_> {
    /// Number of neighbours.
    #[must_use]
    pub fn len(&self) -> usize {
        match self {
            Self::Narrow(ids) => ids.len(),
            Self::Wide(ids) => ids.len(),
        }
    }

    /// True if there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The neighbours as numbers below 2^32, which `scratch` holds if storage does not.
    pub fn narrow<'s>(&'s self, scratch: &'s mut Vec<u32>) -> &'s [u32] {
        match self {
            Self::Narrow(ids) => ids,
            Self::Wide(ids) => {
                scratch.clear();
                scratch.extend(ids.iter().map(|id| id.get() as u32));
                scratch
            }
        }
    }

    /// The neighbours as ids.
    pub fn ids(&self) -> impl Iterator<Item = VertexId> {
        let (narrow, wide): (&[u32], &[VertexId]) = match self {
            Self::Narrow(ids) => (ids, &[]),
            Self::Wide(ids) => (&[], ids),
        };
        narrow.iter().map(|id| VertexId::from_raw((*id).into())).chain(wide.iter().copied())
    }
}

/// Reads at one snapshot.
///
/// Each method reads for a whole batch. Vertices and edges that do not exist are no error: they
/// have no labels, no neighbours, and nulls for properties.
///
/// # Errors
/// Every method that returns [`ReadError`] may return [`ReadError::Storage`]; those of indexes
/// return [`ReadError::Index`], too.
pub trait View {
    /// The commit timestamp read at: everything up to it is seen, nothing after it.
    fn read_ts(&self) -> CommitTs;

    /// Where vertices can be. The same for all calls on one view that is not written to.
    fn partitions(&self) -> Partitions;

    /// Appends to `out` the vertices in `from..to` that exist and have `label` (any, if `None`),
    /// ascending.
    fn scan(
        &self,
        label: Option<LabelId>,
        from: VertexId,
        to: VertexId,
        out: &mut Vec<VertexId>,
    ) -> Result<(), ReadError>;

    /// Appends to `out`, for each vertex, whether it exists.
    fn vertices_exist(&self, vertices: &[VertexId], out: &mut Vec<bool>) -> Result<(), ReadError>;

    /// Appends to `out`, for each edge, whether it exists.
    fn edges_exist(&self, edges: &[EdgeId], out: &mut Vec<bool>) -> Result<(), ReadError>;

    /// Replaces `out` with the labels of each vertex, ascending.
    fn labels(&self, vertices: &[VertexId], out: &mut Lists<LabelId>) -> Result<(), ReadError>;

    /// Appends to `out`, for each vertex, whether it exists and has `label`.
    fn have_label(
        &self,
        vertices: &[VertexId],
        label: LabelId,
        out: &mut Vec<bool>,
    ) -> Result<(), ReadError>;

    /// Replaces `out` with the neighbours of each source by edges of type `ty`. Parallel edges
    /// appear once each.
    fn expand(
        &self,
        sources: &[VertexId],
        ty: EdgeTypeId,
        dir: Direction,
        out: &mut Expansion,
    ) -> Result<(), ReadError>;

    /// As [`expand`](Self::expand), for those who need no ordinals: they may be left out.
    fn expand_ids(
        &self,
        sources: &[VertexId],
        ty: EdgeTypeId,
        dir: Direction,
        out: &mut Expansion,
    ) -> Result<(), ReadError> {
        self.expand(sources, ty, dir, out)
    }

    /// As [`expand`](Self::expand), with the edges that are left of vertices that the transaction
    /// has deleted.
    fn expand_left(
        &self,
        sources: &[VertexId],
        ty: EdgeTypeId,
        dir: Direction,
        out: &mut Expansion,
    ) -> Result<(), ReadError> {
        self.expand(sources, ty, dir, out)
    }

    /// Calls `each` with the place in the batch and a run of neighbours, for every source that has
    /// some by edges of type `ty`, in the order of the batch. The runs of one source follow each
    /// other and together hold each neighbour once for each edge, in no promised order.
    ///
    /// This is how kernels read: at the view's snapshot, in place where the storage allows it.
    fn for_each_run(
        &self,
        sources: &[VertexId],
        ty: EdgeTypeId,
        dir: Direction,
        each: &mut dyn FnMut(usize, Run<'_>),
    ) -> Result<(), ReadError> {
        let mut lists = Expansion::default();
        self.expand_ids(sources, ty, dir, &mut lists)?;
        for place in 0..sources.len() {
            let run = Run::Wide(lists.of(place));
            if !run.is_empty() {
                each(place, run);
            }
        }
        Ok(())
    }

    /// The same for all vertices whose numbers are in `sources`; `each` gets the number.
    ///
    /// *Cost*: that of the runs; [`for_each_run`](Self::for_each_run) is given each source.
    fn for_each_run_of(
        &self,
        sources: Range<u64>,
        ty: EdgeTypeId,
        dir: Direction,
        each: &mut dyn FnMut(u64, Run<'_>),
    ) -> Result<(), ReadError> {
        let first = sources.start;
        let ids: Vec<VertexId> = sources.map(VertexId::from_raw).collect();
        self.for_each_run(&ids, ty, dir, &mut |place, run| each(first + place as u64, run))
    }

    /// Vertices that the transaction has deleted while they had edges, by which they can still be
    /// reached: the view shows no labels, properties or edges of them.
    fn deleted_connected(&self) -> Vec<VertexId> {
        Vec::new()
    }

    /// Appends one degree per vertex to `out`.
    fn degrees(
        &self,
        vertices: &[VertexId],
        ty: EdgeTypeId,
        dir: Direction,
        out: &mut Vec<u64>,
    ) -> Result<(), ReadError>;

    /// Appends to `out`, for each pair, whether an edge of type `ty` leads from the first to the
    /// second.
    fn search_edges(
        &self,
        pairs: &[(VertexId, VertexId)],
        ty: EdgeTypeId,
        out: &mut Vec<bool>,
    ) -> Result<(), ReadError>;

    /// Replaces `out` with the edges of type `ty` from the first of each pair to the second:
    /// those of pair `i` are at `offsets[i]..offsets[i + 1]`. Parallel edges appear once each.
    fn edges_between(
        &self,
        pairs: &[(VertexId, VertexId)],
        ty: EdgeTypeId,
        out: &mut Expansion,
    ) -> Result<(), ReadError> {
        let sources: Vec<VertexId> = pairs.iter().map(|(source, _)| *source).collect();
        let mut lists = Expansion::default();
        self.expand(&sources, ty, Direction::Out, &mut lists)?;
        out.set_between(&lists, pairs);
        Ok(())
    }

    /// Appends one value per vertex to `out`; null where there is none.
    fn vertex_properties(
        &self,
        vertices: &[VertexId],
        key: PropertyKeyId,
        out: &mut Column,
    ) -> Result<(), ReadError>;

    /// Appends one value per edge to `out`; null where there is none. The edges must exist at this
    /// snapshot, as those just expanded do: that is not checked.
    fn edge_properties(
        &self,
        edges: &[EdgeId],
        key: PropertyKeyId,
        out: &mut Column,
    ) -> Result<(), ReadError>;

    /// Replaces `out` with every property of each vertex that is not null, by number of its key.
    fn all_vertex_properties(
        &self,
        vertices: &[VertexId],
        out: &mut Lists<(PropertyKeyId, Value)>,
    ) -> Result<(), ReadError>;

    /// Replaces `out` with every property of each edge that is not null, by number of its key.
    fn all_edge_properties(
        &self,
        edges: &[EdgeId],
        out: &mut Lists<(PropertyKeyId, Value)>,
    ) -> Result<(), ReadError>;

    /// Appends the vertices in a range of an index, in its order.
    fn index_vertices(
        &self,
        index: IndexId,
        range: &IndexRange,
        out: &mut Vec<VertexId>,
    ) -> Result<(), ReadError>;

    /// Appends the edges in a range of an index, in its order.
    fn index_edges(
        &self,
        index: IndexId,
        range: &IndexRange,
        out: &mut Vec<EdgeId>,
    ) -> Result<(), ReadError>;

    /// Calls `f` with each entry of a full-text index whose key (`telar_text::key`) is in a range,
    /// in no order, until `f` breaks off. `f` must not read the graph. A graph that keeps no such
    /// entries says [`IndexUnavailable`]: the caller reads the objects.
    fn fulltext_entries(
        &self,
        index: IndexId,
        _keys: Range<&[u8]>,
        _f: &mut dyn FnMut(&[u8], IndexedObject) -> ControlFlow<()>,
    ) -> Result<(), ReadError> {
        Err(crate::IndexUnavailable::WrongKind(index).into())
    }

    /// Calls `f` with what the keys of a term begin with (field and term; a zero follows), for each
    /// term of a full-text index with a key in a range: at least for all that an object has, and
    /// perhaps more than once. Until `f` breaks off; it must not read the graph.
    ///
    /// Cost: a few hundred entries of a term, whose objects are not looked at.
    fn fulltext_terms(
        &self,
        index: IndexId,
        _keys: Range<&[u8]>,
        _f: &mut dyn FnMut(&[u8]) -> ControlFlow<()>,
    ) -> Result<(), ReadError> {
        Err(crate::IndexUnavailable::WrongKind(index).into())
    }

    /// The objects that have a term in a property of a full-text index. The keys of its entries
    /// (`telar_text::key`) start with `beginning`, which a zero follows. `go_on` is asked from time
    /// to time; once it breaks off, the answer is not whole and the caller drops it.
    ///
    /// Cost: that of [`fulltext_entries`](Self::fulltext_entries) for terms that were not asked for
    /// lately; of others none but that of what has changed since.
    fn fulltext_postings(
        &self,
        index: IndexId,
        _beginning: &[u8],
        _go_on: &mut dyn FnMut() -> ControlFlow<()>,
    ) -> Result<FulltextPostings, ReadError> {
        Err(crate::IndexUnavailable::WrongKind(index).into())
    }

    /// For each property of a full-text index, the number of objects with a term in it, and of the
    /// terms of all of them.
    fn fulltext_totals(&self, index: IndexId) -> Result<Vec<(u64, u64)>, ReadError> {
        Err(crate::IndexUnavailable::WrongKind(index).into())
    }

    /// Calls `f` with objects of a vector index that may be near a vector, in no order, some of
    /// them more than once: those of the nearest vectors, and others. An edge exists in this view;
    /// a vertex may not, or lack the label, and the vector of either may be another one, or none:
    /// the caller reads them, and ranks by that. `f` must not read the graph. A graph that keeps no
    /// such index says [`IndexUnavailable`].
    ///
    /// Cost: some twenty vectors are compared for each of the `effort`, in memory of a byte a
    /// number; when the search goes on, for each by which the effort has grown.
    fn nearest(
        &self,
        index: IndexId,
        _search: &mut NearSearch<'_>,
        _f: &mut dyn FnMut(IndexedObject),
    ) -> Result<Nearest, ReadError> {
        Err(crate::IndexUnavailable::WrongKind(index).into())
    }

    /// Looks up a batch of keys, given one after the other: for each the vertices whose indexed
    /// properties have these values. Appends one (place in the batch, vertex) per find, in order of
    /// the batch.
    fn lookup_vertices(
        &self,
        index: IndexId,
        keys: &[Value],
        out: &mut Vec<(u32, VertexId)>,
    ) -> Result<(), ReadError>;
}
