//! Bridges, articulation points and biconnected components: where a network falls apart.
//!
//! Result: the edges without which a component would fall in two, the vertices without which it
//! would fall in more, and the largest sets of vertices that no one vertex holds together. The
//! graph is undirected: every edge stands in both lists. Parallel edges are no bridges; loops count
//! for nothing; a vertex without other neighbours is in no biconnected component.
//!
//! Method: one depth-first search with an explicit stack, that keeps for each vertex the earliest
//! one that it or its descendants have an edge to. One thread.
//!
//! Cost: O(n + m), and sorting the results. *Memory*: 32 bytes per vertex, and the results: 4 bytes
//! for each vertex of a component, which are fewer than 2n.
//!
//! Source: Hopcroft and Tarjan, "Algorithm 447: efficient algorithms for graph manipulation",
//! Communications of the ACM 1973.

use super::path::{NONE, Pace};
use crate::control::{Control, Result};
use crate::csr::Csr;

/// Bridges, articulation points and biconnected components.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Cuts {
    /// Edges as (smaller, larger) vertex, ascending.
    pub bridges: Vec<(u32, u32)>,
    /// Ascending.
    pub articulation_points: Vec<u32>,
    /// Ends of the components in their list.
    ends: Vec<u64>,
    vertices: Vec<u32>,
}

impl Cuts {
    /// Vertices of each biconnected component, ascending. A bridge is one of two vertices.
    pub fn components(&self) -> impl Iterator<Item = &[u32]> {
        let mut first = 0;
        self.ends.iter().map(move |&end| {
            let component = &self.vertices[first..end as usize];
            first = end as usize;
            component
        })
    }

    /// Number of biconnected components.
    #[must_use]
    pub fn component_count(&self) -> usize {
        self.ends.len()
    }
}

/// Upper estimate of memory beyond the graph, in bytes.
#[must_use]
pub fn bytes(n: u64, _m: u64) -> u64 {
    n * (8 + 4 + 1 + 24 + 8 + 8 + 8 + 4)
}

/// A vertex on the way from the root.
struct Frame {
    v: u32,
    parent: u32,
    /// Place in the list of `v`.
    next: usize,
    /// True once one edge to the parent was met: the one that led here.
    came: bool,
}

/// Returns the bridges, articulation points and biconnected components of the undirected graph.
pub fn bridges(graph: &Csr, control: &Control<'_>) -> Result<Cuts> {
    let n = graph.vertices();
    control.check()?;
    let mut search = Search {
        order: vec![NONE; n as usize],
        low: vec![NONE; n as usize],
        is_cut: vec![false; n as usize],
        open: Vec::new(),
        cuts: Cuts::default(),
    };
    let mut pace = Pace::new(control);
    let mut count = 0;
    let mut frames: Vec<Frame> = Vec::new();
    for root in 0..n {
        if search.order[root as usize] != NONE {
            continue;
        }
        search.enter(root, &mut count);
        frames.push(Frame { v: root, parent: NONE, next: 0, came: false });
        let mut children = 0;
        while let Some(frame) = frames.last_mut() {
            let v = frame.v;
            let Some(&x) = graph.of(v).get(frame.next) else {
                let parent = frame.parent;
                frames.pop();
                if parent != NONE {
                    children += u32::from(parent == root);
                    search.leave(v, parent, root);
                }
                continue;
            };
            frame.next += 1;
            pace.spend(0)?;
            if x == frame.parent && !frame.came {
                frame.came = true;
            } else if search.order[x as usize] == NONE {
                search.enter(x, &mut count);
                frames.push(Frame { v: x, parent: v, next: 0, came: false });
            } else {
                let low = &mut search.low[v as usize];
                *low = search.order[x as usize].min(*low);
            }
        }
        search.is_cut[root as usize] = children > 1;
        search.open.clear();
        control.report(u64::from(count), u64::from(n));
    }
    let mut cuts = search.cuts;
    cuts.bridges.sort_unstable();
    cuts.articulation_points = (0..n).filter(|&v| search.is_cut[v as usize]).collect();
    Ok(cuts)
}

struct Search {
    /// Number of each vertex in the order of visits.
    order: Vec<u32>,
    /// Smallest such number that the vertex and its descendants have an edge to.
    low: Vec<u32>,
    is_cut: Vec<bool>,
    /// Vertices of components that are not complete.
    open: Vec<u32>,
    cuts: Cuts,
}

impl Search {
    fn enter(&mut self, v: u32, count: &mut u32) {
        self.order[v as usize] = *count;
        self.low[v as usize] = *count;
        *count += 1;
        self.open.push(v);
    }

    /// Ends the visit of `v`, whose parent goes on.
    fn leave(&mut self, v: u32, parent: u32, root: u32) {
        let low = self.low[v as usize];
        let parent_low = &mut self.low[parent as usize];
        *parent_low = low.min(*parent_low);
        if low < self.order[parent as usize] {
            return;
        }
        // No edge leads from below past the parent.
        self.is_cut[parent as usize] |= parent != root;
        if low > self.order[parent as usize] {
            self.cuts.bridges.push((v.min(parent), v.max(parent)));
        }
        let begin = self.cuts.vertices.len();
        self.cuts.vertices.push(parent);
        while let Some(u) = self.open.pop() {
            self.cuts.vertices.push(u);
            if u == v {
                break;
            }
        }
        self.cuts.vertices[begin..].sort_unstable();
        self.cuts.ends.push(self.cuts.vertices.len() as u64);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::control::Error;
    use crate::paths::path::sample;
    use crate::wcc;

    /// Labels of the components without some edge or vertex.
    fn labels(n: u32, edges: &[(u32, u32)], keep: impl Fn(usize, (u32, u32)) -> bool) -> Vec<u32> {
        let kept = edges.iter().enumerate().filter(|(at, edge)| keep(*at, **edge));
        wcc::verify(n, &kept.map(|(_, &edge)| edge).collect::<Vec<_>>())
    }

    /// Takes each edge and each vertex out in turn. Two neighbours are in one component if no third
    /// vertex separates them; sets of vertices of which all edges are so chained are components.
    fn verify(n: u32, edges: &[(u32, u32)]) -> (Vec<(u32, u32)>, Vec<u32>) {
        let bridge = |at: usize| {
            let without = labels(n, edges, |other, _| other != at);
            without[edges[at].0 as usize] != without[edges[at].1 as usize]
        };
        let mut bridges: Vec<_> = (0..edges.len()).filter(|&at| bridge(at)).collect();
        bridges.sort_by_key(|&at| (edges[at].0.min(edges[at].1), edges[at].0.max(edges[at].1)));
        let bridges = bridges.into_iter().map(|at| edges[at]);
        let whole = labels(n, edges, |_, _| true);
        let cut = |&v: &u32| {
            let without = labels(n, edges, |_, (a, b)| a != v && b != v);
            let mut parts: Vec<_> = (0..n as usize)
                .filter(|&u| u != v as usize && whole[u] == whole[v as usize])
                .map(|u| without[u])
                .collect();
            parts.sort_unstable();
            parts.dedup();
            parts.len() > 1
        };
        let bridges = bridges.map(|(u, v)| (u.min(v), u.max(v))).collect();
        (bridges, (0..n).filter(cut).collect())
    }

    #[test]
    fn cuts_of_random_graphs_equal_taking_each_edge_and_vertex_out() {
        let (mut bridge_count, mut cut_count) = (0, 0);
        for seed in 0..200 {
            let shape = sample(seed);
            let n = shape.vertices();
            let edges: Vec<_> = shape.all_edges().map(|(u, v, _)| (u, v)).collect();
            let graph = Csr::from_edges(n, &edges).undirected();
            let found = bridges(&graph, &Control::default()).unwrap();
            let (expected, points) = verify(n, &edges);
            assert_eq!(found.bridges, expected, "seed {seed}");
            assert_eq!(found.articulation_points, points, "seed {seed}");
            bridge_count += expected.len();
            cut_count += points.len();
            components(&graph, &found);
        }
        assert!(bridge_count > 100 && cut_count > 100, "{bridge_count}, {cut_count}");
    }

    /// Each edge is in one component; a component has no articulation point of its own; and those
    /// that share a vertex share one, which is an articulation point.
    fn components(graph: &Csr, cuts: &Cuts) {
        let all: Vec<&[u32]> = cuts.components().collect();
        assert_eq!(all.len(), cuts.component_count());
        let has = |component: &[u32], v| component.binary_search(&v).is_ok();
        for (u, v, _) in graph.all_edges().filter(|(u, v, _)| u != v) {
            let count = all.iter().filter(|c| has(c, u) && has(c, v)).count();
            assert_eq!(count, 1);
        }
        for component in &all {
            let inside: Vec<_> = graph
                .all_edges()
                .filter(|(u, v, _)| u != v && has(component, *u) && has(component, *v))
                .map(|(u, v, _)| (u, v))
                .collect();
            for &gone in *component {
                let left = labels(graph.vertices(), &inside, |_, (a, b)| a != gone && b != gone);
                let mut left: Vec<_> =
                    component.iter().filter(|&&v| v != gone).map(|&v| left[v as usize]).collect();
                left.dedup();
                assert_eq!(left.len(), 1);
            }
        }
        for v in 0..graph.vertices() {
            let count = all.iter().filter(|component| has(component, v)).count();
            assert_eq!(count > 1, cuts.articulation_points.binary_search(&v).is_ok());
        }
    }

    #[test]
    fn two_triangles_on_a_bridge() {
        let edges = [(0, 1), (1, 2), (2, 0), (2, 3), (3, 4), (4, 5), (5, 3)];
        let graph = Csr::from_edges(6, &edges).undirected();
        let found = bridges(&graph, &Control::default()).unwrap();
        assert_eq!(found.bridges, [(2, 3)]);
        assert_eq!(found.articulation_points, [2, 3]);
        let all: Vec<_> = found.components().collect();
        assert_eq!(all, [&[3, 4, 5][..], &[2, 3], &[0, 1, 2]]);
    }

    #[test]
    fn deep_path_needs_no_recursion_and_empty_graph_and_stop_are_seen() {
        let edges: Vec<_> = (0..100_000).map(|v| (v, v + 1)).collect();
        let graph = Csr::from_edges(100_001, &edges).undirected();
        let found = bridges(&graph, &Control::default()).unwrap();
        assert_eq!((found.bridges.len(), found.articulation_points.len()), (100_000, 99_999));
        let empty = bridges(&Csr::from_edges(0, &[]), &Control::default()).unwrap();
        assert_eq!(empty, Cuts::default());
        let stopped = Control::default().stopped_by(&|| true);
        assert_eq!(bridges(&graph, &stopped), Err(Error::Stopped));
    }
}
