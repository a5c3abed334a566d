//! Breadth-first search: hops from one vertex to every other.
//!
//! Result: for each vertex the number of edges on a shortest path from the source, [`UNREACHED`] if
//! there is none.
//!
//! Method: top-down, one frontier after the other. A frontier is known in full before it is read,
//! so it goes to storage as one batch ([`Topology::visit`]), which fetches lists ahead of their
//! turn.
//!
//! Cost: every edge out of a reached vertex once, one random 4-byte read for each; 8 bytes per
//! vertex.
//!
//! Source: Moore, "The shortest path through a maze", 1959. The direction-optimising form (Beamer
//! et al., SC 2012) skips most edges and with them the storage this kernel is meant to exercise.

use telar_graph::topology::Topology;

/// Depth of a vertex no path leads to.
pub const UNREACHED: u32 = u32::MAX;

/// Returns the hops from `source` to each vertex below `n`, following `outgoing`.
///
/// # Panics
/// If `source` or a neighbour is not below `n`.
pub fn bfs<T: Topology>(outgoing: &T, n: u32, source: u32) -> Vec<u32> {
    let bound = outgoing.vertex_bound();
    let mut depths = vec![UNREACHED; n as usize];
    depths[source as usize] = 0;
    let mut frontier = vec![source];
    let mut next = Vec::new();
    let mut depth = 0;
    while !frontier.is_empty() {
        depth += 1;
        if bound < n {
            frontier.retain(|v| *v < bound);
        }
        outgoing.visit(&frontier, |_, run| {
            for &u in run {
                let known = &mut depths[u as usize];
                if *known == UNREACHED {
                    *known = depth;
                    next.push(u);
                }
            }
        });
        frontier.clear();
        std::mem::swap(&mut frontier, &mut next);
    }
    depths
}

/// Bellman-Ford with unit weights: relaxes all edges until nothing changes.
#[cfg(test)]
pub(crate) fn verify(n: u32, edges: &[(u32, u32)], source: u32) -> Vec<u32> {
    let mut depths = vec![UNREACHED; n as usize];
    depths[source as usize] = 0;
    let mut changed = true;
    while changed {
        changed = false;
        for &(u, v) in edges {
            let reach = depths[u as usize].saturating_add(1);
            if reach < depths[v as usize] {
                depths[v as usize] = reach;
                changed = true;
            }
        }
    }
    depths
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Lists, random_edges};

    #[test]
    fn bfs_on_random_graphs_equals_relaxation() {
        for seed in 0..30 {
            let n = 2 + 29 * seed as u32;
            let edges = random_edges(seed, n, (n as usize * 3) / 2);
            let source = seed as u32 % n;
            let found = bfs(&Lists::out(n, &edges), n, source);
            assert_eq!(found, verify(n, &edges, source), "seed {seed}");
        }
    }

    #[test]
    fn vertices_beyond_the_topology_are_unreached() {
        let found = bfs(&Lists::out(2, &[(0, 1)]), 4, 0);
        assert_eq!(found, [0, 1, UNREACHED, UNREACHED]);
    }

    #[test]
    fn source_beyond_the_topology_reaches_itself() {
        assert_eq!(bfs(&Lists::out(1, &[]), 3, 2), [UNREACHED, UNREACHED, 0]);
    }
}
