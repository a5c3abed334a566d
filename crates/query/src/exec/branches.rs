//! Which paths may be the shortest circle through a node, all of them searched for breadth first.
//!
//! A shortest circle through `s` leaves by one relationship and comes back by another. To each of
//! its nodes it takes a shortest path of those that begin with the same relationship: with a
//! shorter one the circle would be shorter, too. Of three paths to a node that begin with different
//! relationships, the longest closes no circle that is shorter than the one of the two others. So
//! two per node are enough; where relationships have one direction, one is.

use std::collections::HashMap;

use foldhash::fast::RandomState;
use telar_graph::{EdgeId, VertexId};

/// By which relationships of the start a node was reached, and how soon.
type Reached = Vec<(EdgeId, u64)>;

/// Nodes that were reached, for each row of a batch.
#[derive(Default)]
pub(crate) struct Branches {
    reached: HashMap<(u32, VertexId), Reached, RandomState>,
    /// Number of all entries.
    entries: usize,
}

impl Branches {
    /// Notes that a path of this length leads to a node, and whether it may be part of a shortest
    /// circle: of all of them, or of one. `ways` is 2 if relationships are followed both ways.
    pub(crate) fn visit(
        &mut self,
        at: (u32, VertexId),
        (first, length): (EdgeId, u64),
        ways: usize,
        all: bool,
    ) -> bool {
        let reached = self.reached.entry(at).or_default();
        if let Some((_, before)) = reached.iter().find(|(by, _)| *by == first) {
            return all && *before == length;
        }
        let before = match all {
            true => reached.iter().filter(|(_, before)| *before < length).count(),
            false => reached.len(),
        };
        if before >= ways {
            return false;
        }
        reached.push((first, length));
        self.entries += 1;
        true
    }

    /// Bytes that it takes.
    pub(crate) fn bytes(&self) -> usize {
        let table = self.reached.capacity() * 8 / 7 * size_of::<((u32, VertexId), Reached)>();
        // Lists grow by doubling, from four on.
        table + (self.entries * 2 + self.reached.len() * 4) * size_of::<(EdgeId, u64)>()
    }
}

#[cfg(test)]
mod tests {
    use telar_graph::EdgeTypeId;

    use super::*;

    fn edge(ordinal: u32) -> EdgeId {
        let vertex = VertexId::from_raw(0);
        EdgeId { ty: EdgeTypeId::from_raw(0), src: vertex, dst: vertex, ordinal }
    }

    #[test]
    fn branches_keep_two_beginnings_per_node_and_of_the_same_length_all() {
        let at = (0, VertexId::from_raw(7));
        let mut one = Branches::default();
        assert!(one.visit(at, (edge(1), 1), 2, false));
        assert!(!one.visit(at, (edge(1), 1), 2, false), "as long, by the same relationship");
        assert!(one.visit(at, (edge(2), 2), 2, false));
        assert!(!one.visit(at, (edge(3), 2), 2, false), "a third one");
        let mut all = Branches::default();
        assert!(all.visit(at, (edge(1), 1), 2, true) && all.visit(at, (edge(1), 1), 2, true));
        assert!(all.visit(at, (edge(2), 2), 2, true) && all.visit(at, (edge(3), 2), 2, true));
        assert!(!all.visit(at, (edge(4), 3), 2, true), "two are shorter");
        assert!(!all.visit(at, (edge(1), 2), 2, true), "one that begins so is shorter");
        let mut directed = Branches::default();
        assert!(directed.visit(at, (edge(1), 1), 1, false));
        assert!(!directed.visit(at, (edge(2), 1), 1, false));
    }
}
