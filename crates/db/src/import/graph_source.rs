//! What a caller gives to be loaded: a graph that can be enumerated, and how to load it.

use std::thread;

use telar_graph::{EdgeTypeId, LabelId, PropertyKeyId, Value};

/// Properties of one vertex or edge.
pub type Properties = Vec<(PropertyKeyId, Value)>;

/// A graph to be loaded: vertices `0..vertex_count()`, edges `0..edge_count()`.
///
/// Asked for in batches and from several threads; the same number must always give the same answer.
pub trait GraphSource: Sync {
    /// Number of vertices.
    fn vertex_count(&self) -> u32;

    /// Number of edges.
    fn edge_count(&self) -> usize;

    /// Source and target of an edge.
    fn edge(&self, edge: usize) -> (u32, u32);

    /// Appends the properties of a vertex to `out`. Default: none.
    fn vertex_properties(&self, vertex: u32, out: &mut Properties) {
        let _ = (vertex, out);
    }

    /// Appends the properties of an edge to `out`; not asked for if the edge type is simple.
    /// Default: none.
    fn edge_properties(&self, edge: usize, out: &mut Properties) {
        let _ = (edge, out);
    }
}

/// How to load a [`GraphSource`].
#[derive(Debug, Clone, Copy)]
pub struct LoadOptions {
    /// Label of every vertex.
    pub label: LabelId,
    /// Type of every edge. If it is simple, an edge that exists already is counted as a duplicate.
    pub edge_type: EdgeTypeId,
    /// Writing threads; 0 means one per core.
    pub threads: usize,
    /// Vertices or edges per transaction; 0 means the default.
    pub batch: usize,
}

impl LoadOptions {
    /// The defaults, for vertices of `label` and edges of `edge_type`.
    #[must_use]
    pub fn new(label: LabelId, edge_type: EdgeTypeId) -> Self {
        Self { label, edge_type, threads: 0, batch: 0 }
    }

    /// Number of threads to start.
    pub(super) fn thread_count(&self) -> usize {
        match self.threads {
            0 => thread::available_parallelism().map_or(1, usize::from),
            threads => threads,
        }
    }
}
