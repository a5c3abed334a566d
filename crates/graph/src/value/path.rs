//! Paths through the graph.

use crate::ids::{EdgeId, VertexId};

/// Vertices and the edges that lead from each to the next, walked along or against their direction.
///
/// Invariants: one vertex more than there are edges; edge `i` has vertices `i` and `i + 1` as its
/// ends, in either order.
///
/// Ordered like words of alternating vertices and edges: a path comes after its own beginnings.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Path {
    vertices: Vec<VertexId>,
    edges: Vec<EdgeId>,
}

impl Path {
    /// The path of one vertex and no edge.
    #[must_use]
    pub fn start(vertex: VertexId) -> Self {
        Self { vertices: vec![vertex], edges: Vec::new() }
    }

    /// The path from `start` along `edges`; `None` if an edge does not touch the vertex reached.
    #[must_use]
    pub fn walk(start: VertexId, edges: impl IntoIterator<Item = EdgeId>) -> Option<Self> {
        let mut path = Self::start(start);
        for edge in edges {
            if !path.push(edge) {
                return None;
            }
        }
        Some(path)
    }

    /// Appends an edge that touches the last vertex; whether it does.
    pub fn push(&mut self, edge: EdgeId) -> bool {
        let from = self.last();
        let next = match (edge.src == from, edge.dst == from) {
            (true, _) => edge.dst,
            (_, true) => edge.src,
            _ => return false,
        };
        self.vertices.push(next);
        self.edges.push(edge);
        true
    }

    /// Every vertex, from the first to the last; never empty.
    #[must_use]
    pub fn vertices(&self) -> &[VertexId] {
        &self.vertices
    }

    /// Every edge, in the order walked.
    #[must_use]
    pub fn edges(&self) -> &[EdgeId] {
        &self.edges
    }

    /// The last vertex.
    #[must_use]
    pub fn last(&self) -> VertexId {
        *self.vertices.last().expect("INVARIANT: a path has a vertex")
    }
}

impl Ord for Path {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        let steps = self.edges.iter().zip(&self.vertices[1..]);
        let theirs = other.edges.iter().zip(&other.vertices[1..]);
        self.vertices[0].cmp(&other.vertices[0]).then_with(|| steps.cmp(theirs))
    }
}

impl PartialOrd for Path {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ids::EdgeTypeId;

    fn v(raw: u64) -> VertexId {
        VertexId::from_raw(raw)
    }

    fn edge(src: u64, dst: u64) -> EdgeId {
        EdgeId { ty: EdgeTypeId::from_raw(0), src: v(src), dst: v(dst), ordinal: 0 }
    }

    #[test]
    fn a_walk_goes_along_and_against_edges_and_nowhere_else() {
        let path = Path::walk(v(1), [edge(1, 2), edge(3, 2), edge(3, 3)]).unwrap();
        assert_eq!(path.vertices(), [v(1), v(2), v(3), v(3)]);
        assert_eq!(path.last(), v(3));
        assert_eq!(Path::walk(v(1), [edge(2, 3)]), None);
    }

    #[test]
    fn a_path_comes_after_its_own_beginnings() {
        let short = Path::walk(v(1), [edge(1, 2)]).unwrap();
        let long = Path::walk(v(1), [edge(1, 2), edge(2, 1)]).unwrap();
        let other = Path::walk(v(1), [edge(1, 3)]).unwrap();
        assert!(Path::start(v(1)) < short && short < long && long < other);
    }
}
