//! Strongly connected components: which vertices reach each other along directed edges.
//!
//! Result: for each vertex the smallest vertex number of its component.
//!
//! Method: Tarjan's depth-first search with an explicit stack. A vertex is the root of a
//! component if its subtree reaches no vertex visited before it whose component is open. Parallel
//! edges and loops change nothing. One thread.
//!
//! Cost: O(n + m), every list read once. *Memory*: 8 bytes per vertex, and 32 more per
//! vertex on the longest path of the search.
//!
//! Source: Tarjan, "Depth-first search and linear graph algorithms", 1972.

use super::steps::Meter;
use crate::control::{Control, Result};
use crate::csr::Csr;

/// Order of a vertex that was not visited.
const UNVISITED: u32 = u32::MAX;

/// Component of a vertex whose component is not complete.
const OPEN: u32 = u32::MAX;

/// Roots between two reports.
const REPORT_VERTICES: u32 = 1 << 14;

/// Components found by [`scc`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Components {
    /// Smallest vertex number of the component of each vertex.
    pub components: Vec<u32>,
    /// Number of components.
    pub count: u32,
}

/// Upper estimate of the bytes needed for `n` vertices and `m` edges.
#[must_use]
pub fn bytes(n: u64, _m: u64) -> u64 {
    64 * n
}

/// A vertex on the path from the root of the search.
struct Frame {
    vertex: u32,
    /// Number of vertices visited before it.
    order: u32,
    /// Edge to follow next.
    next: u32,
}

/// Finds the strongly connected components of a directed graph.
pub fn scc(graph: &Csr, control: &Control<'_>) -> Result<Components> {
    let n = graph.vertices();
    // Lowest order that the subtree of a visited vertex reaches.
    let mut low = vec![UNVISITED; n as usize];
    // Vertices of components that are not complete, in the order of their visit.
    let mut open: Vec<u32> = Vec::new();
    let mut path: Vec<Frame> = Vec::new();
    let mut components = vec![OPEN; n as usize];
    let (mut visited, mut count) = (0, 0);
    let mut meter = Meter::new(control);
    for root in 0..n {
        meter.add(1)?;
        let mut enter = (low[root as usize] == UNVISITED).then_some(root);
        loop {
            if let Some(vertex) = enter.take() {
                low[vertex as usize] = visited;
                open.push(vertex);
                path.push(Frame { vertex, order: visited, next: 0 });
                visited += 1;
            }
            let Some(frame) = path.last_mut() else { break };
            let (v, first) = (frame.vertex, frame.next);
            let mut lowest = low[v as usize];
            for &u in &graph.of(v)[first as usize..] {
                frame.next += 1;
                if low[u as usize] == UNVISITED {
                    enter = Some(u);
                    break;
                }
                if components[u as usize] == OPEN {
                    lowest = lowest.min(low[u as usize]);
                }
            }
            low[v as usize] = lowest;
            meter.add(1 + (frame.next - first) as usize)?;
            if enter.is_some() {
                continue;
            }
            if lowest == frame.order {
                close(v, &mut open, &mut components);
                count += 1;
            }
            path.pop();
            if let Some(parent) = path.last() {
                let parent = &mut low[parent.vertex as usize];
                *parent = lowest.min(*parent);
            }
        }
        if root % REPORT_VERTICES == 0 {
            control.report(u64::from(root), u64::from(n));
        }
    }
    control.check()?;
    Ok(Components { components, count })
}

/// Takes the component whose search began at `root` off the open vertices.
fn close(root: u32, open: &mut Vec<u32>, components: &mut [u32]) {
    let first = open.iter().rposition(|&v| v == root).unwrap_or(0);
    let smallest = open[first..].iter().copied().min().unwrap_or(root);
    for v in open.drain(first..) {
        components[v as usize] = smallest;
    }
}

/// Compares what each two vertices reach.
#[cfg(test)]
pub(crate) fn verify(n: u32, edges: &[(u32, u32)]) -> Vec<u32> {
    let n = n as usize;
    let mut reaches = vec![vec![false; n]; n];
    (0..n).for_each(|v| reaches[v][v] = true);
    edges.iter().for_each(|&(u, v)| reaches[u as usize][v as usize] = true);
    for via in 0..n {
        for u in 0..n {
            for v in 0..n {
                reaches[u][v] |= reaches[u][via] && reaches[via][v];
            }
        }
    }
    let smallest = |v: usize| (0..n).find(|&u| reaches[u][v] && reaches[v][u]).unwrap() as u32;
    (0..n).map(smallest).collect()
}

#[cfg(test)]
mod tests {
    use super::super::samples::{assert_stops, samples};
    use super::*;
    use crate::testing::random_edges;

    #[test]
    fn components_of_random_graphs_equal_mutual_reach() {
        for (n, edges) in samples(120, 40) {
            let found = scc(&Csr::from_edges(n, &edges), &Control::default()).unwrap();
            assert_eq!(found.components, verify(n, &edges));
            let roots = (0..n).filter(|&v| found.components[v as usize] == v).count();
            assert_eq!(found.count as usize, roots);
        }
    }

    #[test]
    fn path_of_a_hundred_thousand_vertices_needs_no_deep_stack() {
        let n = 100_000;
        let mut edges: Vec<_> = (1..n).map(|v| (v - 1, v)).collect();
        let path = scc(&Csr::from_edges(n, &edges), &Control::default()).unwrap();
        assert_eq!(path.count, n);
        edges.push((n - 1, 0));
        let ring = scc(&Csr::from_edges(n, &edges), &Control::default()).unwrap();
        assert!(ring.count == 1 && ring.components.iter().all(|&root| root == 0));
    }

    #[test]
    fn it_stops() {
        let graph = Csr::from_edges(20_000, &random_edges(1, 20_000, 60_000));
        assert_stops(|control| scc(&graph, control));
    }
}
