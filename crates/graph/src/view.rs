//! The narrow waist between queries and storage: batched reads at one snapshot.
//!
//! Queries and algorithms know nothing else of storage. Locally a batch compiles down to loops over
//! slices of base memory; over a network it is one message per shard.
//!
//! *Isolation*: every call on one view sees the same snapshot, whatever commits meanwhile.

use std::collections::HashMap;
use std::hash::{Hash, Hasher};
use std::ops::Bound;
use std::sync::Arc;

use crate::spatial::PointBox;
use crate::{
    CommitTs, Direction, EdgeId, EdgeTypeId, IndexId, LabelId, PropertyKeyId, Value, VertexId,
};

/// Neighbours of a batch of vertices, flat: those of source `i` are
/// `neighbours[offsets[i]..offsets[i + 1]]`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Expansion {
    /// One more than there are sources, ascending from 0.
    pub offsets: Vec<u32>,
    /// The other end of each edge.
    pub neighbours: Vec<VertexId>,
    /// The ordinal of each edge, beside its neighbour; 0 for edge types without ordinals.
    pub ordinals: Vec<u32>,
}

impl Expansion {
    /// Empties it, keeping its memory.
    pub fn clear(&mut self) {
        self.offsets.clear();
        self.neighbours.clear();
        self.ordinals.clear();
    }

    /// Replaces it with the edges that lead from the first of each pair to the second: `lists` are
    /// those of the first ones.
    pub fn set_between(&mut self, lists: &Self, pairs: &[(VertexId, VertexId)]) {
        self.clear();
        self.offsets.push(0);
        for (ends, (_, target)) in lists.offsets.windows(2).zip(pairs) {
            for at in ends[0] as usize..ends[1] as usize {
                if lists.neighbours[at] == *target {
                    self.neighbours.push(*target);
                    self.ordinals.push(lists.ordinals[at]);
                }
            }
            self.offsets.push(self.neighbours.len() as u32);
        }
    }

    /// Neighbours of the source with this place in the batch.
    ///
    /// # Panics
    /// If there was no such source.
    #[must_use]
    pub fn of(&self, source: usize) -> &[VertexId] {
        &self.neighbours[self.offsets[source] as usize..self.offsets[source + 1] as usize]
    }
}

/// Counts for planning and for people, exact at the view's snapshot.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Statistics {
    /// Vertices in all.
    pub vertices: u64,
    /// Vertices per label, by label number.
    pub vertices_by_label: Vec<u64>,
    /// Edges per type, by type number.
    pub edges_by_type: Vec<u64>,
}

impl Statistics {
    /// Edges in all.
    #[must_use]
    pub fn edges(&self) -> u64 {
        self.edges_by_type.iter().sum()
    }
}

/// Edges of a type, as seen from those of their ends that they leave, or arrive at.
pub type EdgeEnd = (EdgeTypeId, Direction);

/// What planning wants to know of a graph: about right, of some state near the present, and cheap
/// to ask for again and again.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Estimates {
    /// Vertices in all.
    pub vertices: f64,
    /// Vertices per label, by label number.
    pub vertices_by_label: Vec<f64>,
    /// Edges per type, by type number.
    pub edges_by_type: Vec<f64>,
    /// Vertices by all the labels that they have. Sets of labels of which no vertex was seen are
    /// not among them.
    pub sets: Vec<LabelSet>,
    /// Distinct values of each index's properties together.
    pub distinct: HashMap<IndexId, f64>,
}

/// Vertices that have the same labels.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct LabelSet {
    /// Their labels: these and no others.
    pub labels: Vec<LabelId>,
    /// How many they are.
    pub vertices: f64,
    /// Edges that one of them has on average; none where nothing is said.
    pub degrees: HashMap<EdgeEnd, f64>,
    /// How many times more edges of a kind those have that are met at an edge of one kind: by what
    /// they are met, and what they have. Of one and the same kind it is the mean of the degrees'
    /// squares over the square of their mean, at least 1. Nothing where nobody has both.
    pub skew: HashMap<(EdgeEnd, EdgeEnd), f64>,
    /// Where those edges lead: places in [`Estimates::sets`], and the share of each.
    pub neighbours: HashMap<EdgeEnd, Vec<(usize, f64)>>,
}

impl From<&Statistics> for Estimates {
    fn from(exact: &Statistics) -> Self {
        let numbers = |counts: &[u64]| counts.iter().map(|n| *n as f64).collect();
        Self {
            vertices: exact.vertices as f64,
            vertices_by_label: numbers(&exact.vertices_by_label),
            edges_by_type: numbers(&exact.edges_by_type),
            ..Self::default()
        }
    }
}

/// What is asked of the keys of an index, beside that they lie in a range.
#[derive(Debug, Clone, PartialEq)]
pub enum EntryFilter {
    /// Of a POINT index: points in a box, and some that lie close to it.
    Within(PointBox),
    /// Of a TEXT index: strings that contain this one.
    Contains(Arc<str>),
    /// Of a TEXT index: strings that end with this one.
    EndsWith(Arc<str>),
}

/// Which entries of an index to read, and in which order.
///
/// Entries are in the order of their keys, by the total order of [`crate::order`] value by value,
/// then by number of vertex or edge. Null is in no index. Where a query's `=` and `<` differ from
/// the total order (NaN, durations, lists that hold nulls), the query tests the values it finds.
///
/// A TEXT index has entries of strings only. A POINT index has entries of points only, in the order
/// of [`crate::spatial::code`]; a range has no bounds there. Points that share a code with a point
/// that was asked for may be found, too: the query tests them.
#[derive(Debug, Clone, PartialEq)]
pub struct IndexRange {
    /// Values of the leading properties.
    pub prefix: Vec<Value>,
    /// From where on, by the property after the prefix.
    pub from: Bound<Value>,
    /// Up to where, by the property after the prefix. A side that is open while the other is not
    /// ends with the other's type, as the `<` of a query does.
    pub to: Bound<Value>,
    /// Largest first.
    pub descending: bool,
    /// At most this many.
    pub limit: usize,
    /// Of these, only the entries that pass.
    pub filter: Option<EntryFilter>,
    /// Asked from time to time: once it says so, what was read so far is all that is found.
    pub stop: Option<Stop>,
}

/// True once nobody wants any more of what is read. It says nothing of which entries those are, so
/// that any two are equal.
#[derive(Debug, Clone, Copy)]
pub struct Stop(pub fn() -> bool);

impl PartialEq for Stop {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl Eq for Stop {}

impl Hash for Stop {
    fn hash<H: Hasher>(&self, _: &mut H) {}
}

impl Default for IndexRange {
    /// Everything in the index.
    fn default() -> Self {
        Self {
            prefix: Vec::new(),
            from: Bound::Unbounded,
            to: Bound::Unbounded,
            descending: false,
            limit: usize::MAX,
            filter: None,
            stop: None,
        }
    }
}

impl IndexRange {
    /// The entries whose leading properties have these values.
    #[must_use]
    pub fn equal(prefix: &[Value]) -> Self {
        Self { prefix: prefix.to_vec(), ..Self::default() }
    }

    /// The entries whose first property lies between these bounds.
    #[must_use]
    pub fn between(from: Bound<Value>, to: Bound<Value>) -> Self {
        Self { from, to, ..Self::default() }
    }

    /// The entries that pass.
    #[must_use]
    pub fn filtered(filter: EntryFilter) -> Self {
        Self { filter: Some(filter), ..Self::default() }
    }
}

/// Why an index cannot be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum IndexUnavailable {
    /// It was never made, or dropped.
    #[error("index number {0} does not exist")]
    Unknown(IndexId),
    /// It is still being built. A scan finds the same.
    #[error("index number {0} is still being built")]
    NotReady(IndexId),
    /// What the store holds of it is not what was written. A scan finds what it should have found.
    #[error("index number {0} is damaged in the store; `telar check` says where")]
    Damaged(IndexId),
    /// Edges were asked of an index on vertices, vertices of one on edges, either of a constraint
    /// that keeps no entries, or what an index of this kind does not serve.
    #[error("index number {0} holds no entries of this kind")]
    WrongKind(IndexId),
    /// More values were given than the index has properties, or fewer where all are needed.
    #[error("index number {index} has {properties} properties; another number of values was given")]
    WrongNumberOfValues {
        /// The index.
        index: IndexId,
        /// How many properties it has.
        properties: usize,
    },
}

/// Reads at one snapshot.
pub trait View {
    /// The commit timestamp read at: everything up to it is seen, nothing after it.
    fn read_ts(&self) -> CommitTs;

    /// One past the largest vertex id that can exist.
    fn vertex_bound(&self) -> VertexId;

    /// Appends to `out` the vertices in `from..to` that exist and have `label` (any, if `None`),
    /// ascending.
    fn scan(&self, label: Option<LabelId>, from: VertexId, to: VertexId, out: &mut Vec<VertexId>);

    /// Whether `edge` exists.
    fn edge_exists(&self, edge: EdgeId) -> bool;

    /// The labels of `vertex`, ascending; `None` if it does not exist.
    fn labels(&self, vertex: VertexId) -> Option<Vec<LabelId>>;

    /// Appends to `out`, for each vertex, whether it exists and has `label`.
    fn have_label(&self, vertices: &[VertexId], label: LabelId, out: &mut Vec<bool>) {
        let has = |v: &VertexId| self.labels(*v).is_some_and(|l| l.binary_search(&label).is_ok());
        out.extend(vertices.iter().map(has));
    }

    /// Replaces `out` with the neighbours of each source by edges of type `ty`. Vertices that do
    /// not exist have none. Parallel edges appear once each.
    fn expand(&self, sources: &[VertexId], ty: EdgeTypeId, dir: Direction, out: &mut Expansion);

    /// As [`expand`](Self::expand), for those who need no ordinals: they may be left out.
    fn expand_ids(
        &self,
        sources: &[VertexId],
        ty: EdgeTypeId,
        dir: Direction,
        out: &mut Expansion,
    ) {
        self.expand(sources, ty, dir, out);
    }

    /// Appends one degree per vertex to `out`.
    fn degrees(&self, vertices: &[VertexId], ty: EdgeTypeId, dir: Direction, out: &mut Vec<u64>);

    /// Appends to `out`, for each pair, whether an edge of type `ty` leads from the first to the
    /// second.
    fn search_edges(&self, pairs: &[(VertexId, VertexId)], ty: EdgeTypeId, out: &mut Vec<bool>);

    /// Replaces `out` with the edges of type `ty` from the first of each pair to the second:
    /// those of pair `i` are at `offsets[i]..offsets[i + 1]`. Parallel edges appear once each.
    fn edges_between(&self, pairs: &[(VertexId, VertexId)], ty: EdgeTypeId, out: &mut Expansion) {
        let sources: Vec<VertexId> = pairs.iter().map(|(source, _)| *source).collect();
        let mut lists = Expansion::default();
        self.expand(&sources, ty, Direction::Out, &mut lists);
        out.set_between(&lists, pairs);
    }

    /// Appends one value per vertex to `out`; null where there is none.
    fn vertex_properties(&self, vertices: &[VertexId], key: PropertyKeyId, out: &mut Vec<Value>);

    /// Appends one integer per vertex to `out`, if each has an integer there and the view can say
    /// so without more work than [`vertex_properties`](Self::vertex_properties). If not, it returns
    /// false and appends nothing.
    fn vertex_ints(&self, vertices: &[VertexId], key: PropertyKeyId, out: &mut Vec<i64>) -> bool {
        let _ = (vertices, key, out);
        false
    }

    /// Calls `each` with the text that each vertex has there, `None` where there is no value, if
    /// all are texts and the view can say so without copying them. If not, it returns false, and
    /// what `each` was called with until then means nothing.
    fn vertex_texts(
        &self,
        vertices: &[VertexId],
        key: PropertyKeyId,
        each: &mut dyn FnMut(Option<&str>),
    ) -> bool {
        let _ = (vertices, key, each);
        false
    }

    /// Appends one value per edge to `out`; null where there is none. The edges must exist at this
    /// snapshot, as those just expanded do: that is not checked.
    fn edge_properties(&self, edges: &[EdgeId], key: PropertyKeyId, out: &mut Vec<Value>);

    /// As [`vertex_ints`](Self::vertex_ints), of edges, which must exist at this snapshot.
    fn edge_ints(&self, edges: &[EdgeId], key: PropertyKeyId, out: &mut Vec<i64>) -> bool {
        let _ = (edges, key, out);
        false
    }

    /// Appends every property of a vertex that is not null, by number of its key.
    fn all_vertex_properties(&self, vertex: VertexId, out: &mut Vec<(PropertyKeyId, Value)>);

    /// Appends every property of an edge that is not null, by number of its key.
    fn all_edge_properties(&self, edge: EdgeId, out: &mut Vec<(PropertyKeyId, Value)>);

    /// Appends the vertices in a range of an index, in its order.
    ///
    /// # Errors
    /// [`IndexUnavailable`]; `out` is as it was.
    fn index_vertices(
        &self,
        index: IndexId,
        range: &IndexRange,
        out: &mut Vec<VertexId>,
    ) -> Result<(), IndexUnavailable>;

    /// Appends the edges in a range of an index, in its order.
    ///
    /// # Errors
    /// [`IndexUnavailable`]; `out` is as it was.
    fn index_edges(
        &self,
        index: IndexId,
        range: &IndexRange,
        out: &mut Vec<EdgeId>,
    ) -> Result<(), IndexUnavailable>;

    /// Looks up a batch of keys, given one after the other: for each the vertices whose indexed
    /// properties have these values. Appends one (place in the batch, vertex) per find, in order of
    /// the batch.
    ///
    /// # Errors
    /// [`IndexUnavailable`]; `out` is as it was.
    fn lookup_vertices(
        &self,
        index: IndexId,
        keys: &[Value],
        out: &mut Vec<(u32, VertexId)>,
    ) -> Result<(), IndexUnavailable>;

    /// What could not be read since the database was opened, if anything: such a read came out
    /// empty, so whoever uses what was read asks here first, once, after the last read.
    fn error(&self) -> Option<Box<dyn std::error::Error + Send + Sync>> {
        None
    }

    /// As [`expand`](Self::expand), with the edges that are left of vertices that the transaction
    /// has deleted.
    fn expand_left(
        &self,
        sources: &[VertexId],
        ty: EdgeTypeId,
        dir: Direction,
        out: &mut Expansion,
    ) {
        self.expand(sources, ty, dir, out);
    }

    /// Vertices that the transaction has deleted while they had edges, by which they can still be
    /// reached: the view shows no labels, properties or edges of them.
    fn deleted_connected(&self) -> Vec<VertexId> {
        Vec::new()
    }

    /// Counts at this snapshot. Cost: a pass over segment headers and tails, not over edges.
    fn statistics(&self) -> Statistics;

    /// How many vertices with `label` (all, if `None`) this view shows; `None` where only looking
    /// at each of them tells. Cost: a pass over segment headers and tails of vertices.
    fn count_vertices(&self, label: Option<LabelId>) -> Option<u64> {
        let _ = label;
        None
    }

    /// How many edges of a type this view shows; `None` where only looking at each vertex tells.
    /// Cost: a pass over segment headers and tails of the type.
    fn count_edges(&self, ty: EdgeTypeId) -> Option<u64> {
        let _ = ty;
        None
    }

    /// What to plan with. Cost: that of [`statistics`](Self::statistics), unless the storage knows
    /// better.
    fn estimates(&self) -> Arc<Estimates> {
        Arc::new(Estimates::from(&self.statistics()))
    }
}
