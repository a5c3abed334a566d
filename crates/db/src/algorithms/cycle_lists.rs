//! Cycles as lists of nodes and of relationships, made when their rows are read.

use telar_algo::paths::cycles::Cycles;
use telar_graph::EdgeId;

/// Cycles that were found, and the relationships whose numbers they have.
#[derive(Debug)]
pub(super) struct CycleLists {
    pub(super) found: Cycles,
    pub(super) ids: Vec<EdgeId>,
}

impl CycleLists {
    /// Number of cycles.
    pub(super) fn len(&self) -> usize {
        self.found.len()
    }

    /// Vertices of a cycle.
    pub(super) fn vertices(&self, row: usize) -> &[u32] {
        self.found.get(row).vertices
    }

    /// Relationships of a cycle.
    pub(super) fn relationships(&self, row: usize) -> impl Iterator<Item = EdgeId> {
        self.found.get(row).edges.iter().map(|edge| self.ids[*edge as usize])
    }

    /// Bytes that they take.
    pub(super) fn bytes(&self) -> usize {
        self.found.bytes() + size_of_val(&*self.ids)
    }
}
