//! Weakly connected components: which vertices are joined by paths that ignore direction.
//!
//! Result: for each vertex the smallest vertex number of its component.
//!
//! Method, cost and source: those of [`crate::community::wcc`], on one thread.

use telar_graph::topology::Topology;

use crate::community::wcc::wcc;
use crate::control::Control;

/// Returns the smallest vertex number of each vertex's component, for the vertices below `n`.
///
/// # Panics
/// If a neighbour is not below `n`.
pub fn components<T: Topology>(outgoing: &T, incoming: &T, n: u32) -> Vec<u32> {
    // Nothing stops it.
    let found = wcc(outgoing, incoming, n, &Control::default());
    found.unwrap_or_else(|error| unreachable!("a kernel that nothing stops: {error}")).components
}

/// Spreads the smallest number along every edge until nothing changes.
#[cfg(test)]
pub(crate) fn verify(n: u32, edges: &[(u32, u32)]) -> Vec<u32> {
    let mut labels: Vec<u32> = (0..n).collect();
    let mut changed = true;
    while changed {
        changed = false;
        for &(u, v) in edges {
            let least = labels[u as usize].min(labels[v as usize]);
            changed |= labels[u as usize] != least || labels[v as usize] != least;
            labels[u as usize] = least;
            labels[v as usize] = least;
        }
    }
    labels
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Lists, random_edges};

    #[test]
    fn components_of_random_graphs_equal_label_spreading() {
        for seed in 0..60 {
            let n = 1 + 41 * seed as u32;
            let edges = random_edges(seed, n, n as usize * (seed as usize % 4) / 2);
            let found = components(&Lists::out(n, &edges), &Lists::incoming(n, &edges), n);
            assert_eq!(found, verify(n, &edges), "seed {seed}");
        }
    }

    #[test]
    fn edge_into_the_giant_component_is_seen_from_its_source() {
        // A path makes the giant; vertex 2000 reaches it only by its third out-edge.
        let mut edges: Vec<_> = (0..1990).map(|v| (v, v + 1)).collect();
        edges.extend([(2000, 1998), (2000, 1999), (2000, 5)]);
        let found = components(&Lists::out(2001, &edges), &Lists::incoming(2001, &edges), 2001);
        assert_eq!(found, verify(2001, &edges));
    }

    #[test]
    fn empty_graph_has_no_components() {
        let none = Lists::out(0, &[]);
        assert!(components(&none, &none, 0).is_empty());
    }
}
