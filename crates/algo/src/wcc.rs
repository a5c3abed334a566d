//! Weakly connected components: which vertices are joined by paths that ignore direction.
//!
//! Result: for each vertex the smallest vertex number of its component.
//!
//! Method: Afforest. A union-find forest first takes two neighbours per vertex, which almost always
//! joins the bulk of a giant component; the vertices then found in the most frequent tree are
//! skipped, and only the others walk their full out- and in-lists. Both directions are needed
//! because an edge into a vertex that was skipped is visible only from its other end.
//!
//! Cost: O(n) list heads, plus all lists outside the giant component; 4 bytes per vertex.
//!
//! Source: Sutton, Ben-Nun and Barak, "Optimizing parallel graph connectivity computation via
//! subgraph sampling", IPDPS 2018.

use telar_graph::topology::Topology;

/// Neighbours per vertex in the sampling pass; the paper's choice.
const SAMPLED_NEIGHBOURS: usize = 2;

/// Vertices looked at to find the most frequent tree.
const PROBES: u32 = 1024;

/// Returns the smallest vertex number of each vertex's component, for the vertices below `n`.
///
/// # Panics
/// If a neighbour is not below `n`.
pub fn components<T: Topology>(outgoing: &T, incoming: &T, n: u32) -> Vec<u32> {
    let mut forest = Forest { parents: (0..n).collect() };
    for v in 0..n.min(outgoing.vertex_bound()) {
        let mut left = SAMPLED_NEIGHBOURS;
        outgoing.for_each_run(v, |run| {
            for &u in &run[..left.min(run.len())] {
                forest.join(v, u);
            }
            left -= left.min(run.len());
        });
    }
    forest.flatten();
    let giant = forest.most_frequent();
    for v in 0..n {
        if giant.is_some_and(|root| forest.root(v) == root) {
            continue;
        }
        for side in [outgoing, incoming] {
            if v < side.vertex_bound() {
                side.for_each_run(v, |run| run.iter().for_each(|&u| forest.join(v, u)));
            }
        }
    }
    forest.flatten();
    forest.parents
}

/// Union-find. Invariant: `parents[v] <= v`, so a root is the smallest number of its tree.
struct Forest {
    parents: Vec<u32>,
}

impl Forest {
    /// Returns the root of `v`'s tree and halves the path to it.
    fn root(&mut self, mut v: u32) -> u32 {
        loop {
            let parent = self.parents[v as usize];
            let grandparent = self.parents[parent as usize];
            if parent == grandparent {
                return parent;
            }
            self.parents[v as usize] = grandparent;
            v = grandparent;
        }
    }

    /// Joins the trees of `u` and `v`; the smaller root stays one.
    fn join(&mut self, u: u32, v: u32) {
        let (a, b) = (self.root(u), self.root(v));
        self.parents[a.max(b) as usize] = a.min(b);
    }

    /// Hangs every vertex directly under its root; parents come first, so one pass does.
    fn flatten(&mut self) {
        for v in 0..self.parents.len() {
            self.parents[v] = self.parents[self.parents[v] as usize];
        }
    }

    /// Returns the root seen most often among evenly spaced vertices of a flat forest.
    fn most_frequent(&self) -> Option<u32> {
        let step = (self.parents.len() / PROBES as usize).max(1);
        let mut roots: Vec<u32> = self.parents.iter().step_by(step).copied().collect();
        roots.sort_unstable();
        roots.chunk_by(|a, b| a == b).max_by_key(|same| same.len()).map(|same| same[0])
    }
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
