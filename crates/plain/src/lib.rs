//! A graph in plain maps behind the traits of `telar-graph`, for tests.
//!
//! It is the second implementation of the waist, slow and easy to see through: what a graph must
//! answer is what this one does. Queries run on it without an engine, also on vertices whose ids
//! lie far apart ([`PlainGraph::with_partitions`]), and [`picture`] compares any graph with it.
//!
//! There are no transactions: changes are seen at once, and constraints are not checked.

mod index;
pub mod picture;
mod reads;
mod schema;
mod update;

use std::cell::Cell;
use std::collections::{BTreeMap, BTreeSet};

use telar_graph::{
    Direction, EdgeId, EdgeTypeId, LabelId, PropertyKeyId, ReadError, SchemaRule, Value, VertexId,
};

/// Properties by key; none of them null.
pub type Properties = BTreeMap<PropertyKeyId, Value>;

/// A vertex.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct PlainVertex {
    /// Its labels.
    pub labels: BTreeSet<LabelId>,
    /// Its properties.
    pub properties: Properties,
}

/// A graph.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct PlainGraph {
    /// Names of labels, by number.
    pub labels: Vec<String>,
    /// Names of edge types, by number.
    pub types: Vec<String>,
    /// Names of property keys, by number.
    pub keys: Vec<String>,
    /// Every vertex.
    pub vertices: BTreeMap<VertexId, PlainVertex>,
    /// Every edge, those of deleted vertices included.
    pub edges: BTreeMap<EdgeId, Properties>,
    /// Indexes and constraints.
    pub schema_rules: Vec<SchemaRule>,
    /// Vertices that were deleted while they had edges.
    pub deleted_connected: BTreeSet<VertexId>,
    /// Where each partition begins, ascending, and how many ids were given out in it.
    partitions: Vec<(u64, u64)>,
    /// Number of reads until one fails, if one is to.
    reads_left: Cell<Option<u32>>,
}

/// The error of a read that was to fail.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MeantToFail;

impl std::fmt::Display for MeantToFail {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("this read was meant to fail")
    }
}

impl std::error::Error for MeantToFail {}

impl PlainGraph {
    /// An empty graph whose ids begin at 0.
    #[must_use]
    pub fn new() -> Self {
        Self::with_partitions(&[0])
    }

    /// An empty graph with partitions that begin at these ids, ascending. New vertices take turns.
    ///
    /// # Panics
    /// Without partitions.
    #[must_use]
    pub fn with_partitions(starts: &[u64]) -> Self {
        assert!(!starts.is_empty() && starts.is_sorted(), "partitions in their order");
        let partitions = starts.iter().map(|start| (*start, 0)).collect();
        Self { partitions, ..Self::default() }
    }

    /// Lets so many reads succeed, and all that follow fail with [`MeantToFail`]; `None` lets all
    /// succeed.
    pub fn fail_after(&self, reads: Option<u32>) {
        self.reads_left.set(reads);
    }

    /// Number of reads that are left until one fails.
    #[must_use]
    pub fn reads_left(&self) -> Option<u32> {
        self.reads_left.get()
    }

    /// Counts a read, which may be one that is to fail.
    fn read(&self) -> Result<(), ReadError> {
        match self.reads_left.get() {
            None => Ok(()),
            Some(0) => Err(ReadError::storage(MeantToFail)),
            Some(left) => {
                self.reads_left.set(Some(left - 1));
                Ok(())
            }
        }
    }

    /// Adds a vertex with an id that is given.
    pub fn put_vertex(&mut self, id: VertexId, vertex: PlainVertex) {
        let within = self.partitions.iter_mut().rev().find(|(start, _)| *start <= id.get());
        if let Some((start, ids)) = within {
            *ids = (*ids).max(id.get() - *start + 1);
        }
        self.vertices.insert(id, vertex);
    }

    /// The id that the next new vertex takes.
    fn next_vertex(&mut self) -> VertexId {
        let emptiest = self.partitions.iter_mut().min_by_key(|(_, ids)| *ids);
        let (start, ids) = emptiest.expect("INVARIANT: there are partitions");
        *ids += 1;
        VertexId::from_raw(*start + *ids - 1)
    }

    /// Every edge of a type that is seen from a vertex that exists, by that vertex.
    fn lists(
        &self,
        ty: EdgeTypeId,
        dir: Direction,
        sees: impl Fn(VertexId) -> bool,
    ) -> BTreeMap<VertexId, Vec<EdgeId>> {
        let mut lists: BTreeMap<VertexId, Vec<EdgeId>> = BTreeMap::new();
        let of_type = self.edges.keys().filter(|edge| edge.ty == ty && sees(edge.start(dir)));
        of_type.for_each(|edge| lists.entry(edge.start(dir)).or_default().push(*edge));
        lists
    }
}
