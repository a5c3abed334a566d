//! What a caller is told: progress, result, and what of a failed import was committed.

use telar_engine::Error;
use telar_graph::VertexId;

use super::error::ImportError;

/// What [`load`](super::load) did.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Loaded {
    /// Id of each vertex of the source, by its number there.
    pub vertices: Vec<VertexId>,
    /// Edges added.
    pub edges: u64,
    /// Edges of a simple type that were there already, from before or from earlier in the source.
    pub duplicates: u64,
    /// Transactions committed.
    pub transactions: u64,
    /// Seconds it took to write the vertices, all commits included.
    pub vertices_s: f64,
    /// Seconds it took to write the edges, all commits included.
    pub edges_s: f64,
}

/// What an import is doing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum ImportStage {
    /// Parsing files; counted in bytes, of an edge list's decompressed text and of CSV files as
    /// they are.
    Reading,
    /// Computing the order of the vertices; counted in vertices.
    Ordering,
    /// Writing vertices; counted in vertices.
    Vertices,
    /// Writing edges; counted in edges. Where a database is reordered, in vertices whose edges were
    /// read.
    Edges,
    /// Sorting edges into lists; counted in edges.
    Sorting,
    /// Writing what was loaded to the store; counted in segments.
    Storing,
    /// Making indexes and constraints of a database that is reordered; counted in those.
    Indexing,
    /// Comparing a database that was reordered with its source; counted in vertices.
    Verifying,
}

/// How far an import has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ImportProgress {
    /// The stage it is in; stages come in the order of the enum.
    pub stage: ImportStage,
    /// How much of the stage is done.
    pub done: u64,
    /// How much there is to do in the stage.
    pub total: u64,
}

/// Why a graph did not come in, and what of it did.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LoadError {
    /// The file could not be read. Nothing was written.
    #[error(transparent)]
    File(#[from] ImportError),
    /// The order of the vertices could not be computed. Nothing was written.
    #[error("the order of the vertices could not be computed: {0}")]
    Order(#[from] telar_algo::control::Error),
    /// The database refused a label, an edge type or a property key. No vertex, no edge was
    /// written.
    #[error(transparent)]
    Schema(#[from] Error),
    /// The database refused a batch. Those committed before stay.
    #[error(
        "import stopped after {vertices} vertices and {edges} edges had been committed: {source}"
    )]
    Write {
        /// Vertices committed.
        vertices: u64,
        /// Edges committed.
        edges: u64,
        /// What went wrong.
        source: Error,
    },
}
