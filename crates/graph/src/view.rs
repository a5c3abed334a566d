//! The narrow waist between queries and storage: batched reads at one snapshot.
//!
//! Queries and algorithms know nothing else of storage. Locally a batch compiles down to loops over
//! slices of base memory; over a network it is one message per shard.
//!
//! *Isolation*: every call on one view sees the same snapshot, whatever commits meanwhile.

use crate::{CommitTs, Direction, EdgeId, EdgeTypeId, LabelId, PropertyKeyId, Value, VertexId};

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

/// Reads at one snapshot.
pub trait View {
    /// The commit timestamp read at: everything up to it is seen, nothing after it.
    fn read_ts(&self) -> CommitTs;

    /// One past the largest vertex id that can exist.
    fn vertex_bound(&self) -> VertexId;

    /// Appends to `out` the vertices in `from..to` that exist and have `label` (any, if `None`),
    /// ascending.
    fn scan(&self, label: Option<LabelId>, from: VertexId, to: VertexId, out: &mut Vec<VertexId>);

    /// The labels of `vertex`, ascending; `None` if it does not exist.
    fn labels(&self, vertex: VertexId) -> Option<Vec<LabelId>>;

    /// Replaces `out` with the neighbours of each source by edges of type `ty`. Vertices that do
    /// not exist have none. Parallel edges appear once each.
    fn expand(&self, sources: &[VertexId], ty: EdgeTypeId, dir: Direction, out: &mut Expansion);

    /// Appends one degree per vertex to `out`.
    fn degrees(&self, vertices: &[VertexId], ty: EdgeTypeId, dir: Direction, out: &mut Vec<u64>);

    /// Appends to `out`, for each pair, whether an edge of type `ty` leads from the first to the
    /// second.
    fn search_edges(&self, pairs: &[(VertexId, VertexId)], ty: EdgeTypeId, out: &mut Vec<bool>);

    /// Appends one value per vertex to `out`; null where there is none.
    fn vertex_properties(&self, vertices: &[VertexId], key: PropertyKeyId, out: &mut Vec<Value>);

    /// Appends one value per edge to `out`; null where there is none. The edges must exist at this
    /// snapshot, as those just expanded do: that is not checked.
    fn edge_properties(&self, edges: &[EdgeId], key: PropertyKeyId, out: &mut Vec<Value>);

    /// Counts at this snapshot. Cost: a pass over segment headers and tails, not over edges.
    fn statistics(&self) -> Statistics;
}
