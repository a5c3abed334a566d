//! Strongly connected components: which vertices reach each other along directed edges.
//!
//! Result: for each vertex the smallest vertex number of its component.
//!
//! Method: on one thread, without incoming lists and for small graphs, Tarjan's depth-first search
//! with an explicit stack: a vertex is the root of a component if its subtree reaches no vertex
//! visited before it whose component is open. With several threads, vertices that nothing leads to
//! or that lead nowhere are taken off first; then what the vertex with the largest product of
//! degrees reaches and what reaches it are found in parallel, and what is in both is its component,
//! in most graphs the giant one; Tarjan's search finds the components of what is left. Parallel
//! edges and loops change nothing, nor does the number of threads.
//!
//! Cost: O(n + m), every list read once, or with several threads three times. *Memory*: 8 bytes per
//! vertex, 4 more with several threads, and 32 more per vertex on the longest path of the search.
//!
//! Source: Tarjan, "Depth-first search and linear graph algorithms", 1972; in parallel Slota,
//! Rajamanickam and Madduri, "BFS and coloring-based parallel algorithms for strongly connected
//! components and related problems", IPDPS 2014 (Multistep, without its colouring).

use std::ops::Range;
use std::sync::atomic::{AtomicU8, AtomicU32, Ordering::Relaxed};

use super::spreading::spread;
use super::steps::{self, GRAIN, Meter};
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

/// Vertices and edges below which one thread is faster.
const SERIAL_MAX: u64 = 1 << 14;

/// Passes that take off vertices which nothing leads to, or that lead nowhere.
const TRIMS: u32 = 3;

/// Marks of what the pivot reaches, and of what reaches it, too.
const REACHED: u8 = 1;
const REACHES: u8 = 2;

/// Upper estimate of the bytes needed for `n` vertices and `m` edges.
#[must_use]
pub fn bytes(n: u64, _m: u64) -> u64 {
    72 * n
}

/// A vertex on the path from the root of the search.
struct Frame {
    vertex: u32,
    /// Number of vertices visited before it.
    order: u32,
    /// Edge to follow next.
    next: u32,
}

/// Finds the strongly connected components of a directed graph. Several threads work only with
/// `incoming`, the edges the other way round.
pub fn scc(graph: &Csr, incoming: Option<&Csr>, control: &Control<'_>) -> Result<Components> {
    control.check()?;
    let n = graph.vertices();
    let mut components = match incoming {
        Some(incoming) if control.threads() > 1 => {
            steps::require_reverse(graph, incoming)?;
            if u64::from(n) + graph.edges() < SERIAL_MAX {
                vec![OPEN; n as usize]
            } else {
                giant(graph, incoming, control)?
            }
        }
        _ => vec![OPEN; n as usize],
    };
    tarjan(graph, &mut components, control)?;
    control.check()?;
    let count = (0..).zip(&components).filter(|(v, root)| v == *root).count() as u32;
    Ok(Components { components, count })
}

/// Components of single vertices at the rim and of a vertex in the middle; others are open.
fn giant(graph: &Csr, incoming: &Csr, control: &Control<'_>) -> Result<Vec<u32>> {
    let n = graph.vertices();
    // ORDERING: relaxed. A number is an index and publishes nothing else; steps that read what
    // another has found are kept apart by rayon's joins.
    let components: Vec<AtomicU32> = (0..n).map(|_| AtomicU32::new(OPEN)).collect();
    let is_open = |v: u32| components[v as usize].load(Relaxed) == OPEN;
    for _ in 0..TRIMS {
        control.for_ranges(n, GRAIN as u32, |range| {
            let mut meter = Meter::new(control);
            for v in range.filter(|&v| is_open(v)) {
                let mut ends = false;
                for lists in [graph, incoming] {
                    let list = lists.of(v);
                    let other = list.iter().position(|&u| u != v && is_open(u));
                    meter.add(1 + other.unwrap_or(list.len()))?;
                    ends |= other.is_none();
                }
                if ends {
                    components[v as usize].store(v, Relaxed);
                }
            }
            Ok(())
        })?;
    }
    let degrees = |v: u32| graph.of(v).len() as u64 * incoming.of(v).len() as u64;
    let most = |range: Range<u32>| Ok(range.filter(|&v| is_open(v)).max_by_key(|&v| degrees(v)));
    let found = steps::map_ranges(control, n, GRAIN as u32, most)?;
    let Some(pivot) = found.into_iter().flatten().max_by_key(|&v| degrees(v)) else {
        return Ok(components.into_iter().map(AtomicU32::into_inner).collect());
    };
    control.report(u64::from(n) / 4, n.into());
    let marks: Vec<AtomicU8> = (0..n).map(|_| AtomicU8::new(0)).collect();
    let mark = |v: u32| marks[v as usize].load(Relaxed);
    let set = |v: u32, bit: u8| marks[v as usize].fetch_or(bit, Relaxed) & bit == 0;
    let is_reached = |v: u32| mark(v) == 0 && is_open(v) && set(v, REACHED);
    let reaches = |v: u32| mark(v) == REACHED && set(v, REACHES);
    control.install(|| {
        set(pivot, REACHED);
        spread(graph, vec![pivot], is_reached, is_reached, control)?;
        control.report(u64::from(n) / 2, n.into());
        set(pivot, REACHES);
        spread(incoming, vec![pivot], reaches, reaches, control)
    })?;
    let both = |v: &u32| mark(*v) == REACHED | REACHES;
    let first = |range: Range<u32>| Ok(range.clone().find(both));
    let root = steps::map_ranges(control, n, GRAIN as u32, first)?.into_iter().flatten().next();
    let mut components: Vec<u32> = components.into_iter().map(AtomicU32::into_inner).collect();
    control.fill(&mut components, GRAIN, |first, chunk| {
        for (v, component) in (first as u32..).zip(chunk) {
            if both(&v) {
                *component = root.unwrap_or(v);
            }
        }
    })?;
    Ok(components)
}

/// Finds the components of the vertices whose component is open.
fn tarjan(graph: &Csr, components: &mut [u32], control: &Control<'_>) -> Result<()> {
    let n = graph.vertices();
    // Lowest order that the subtree of a visited vertex reaches.
    let visited_before = |&component: &u32| if component == OPEN { UNVISITED } else { 0 };
    let mut low: Vec<u32> = components.iter().map(visited_before).collect();
    // Vertices of components that are not complete, in the order of their visit.
    let mut open: Vec<u32> = Vec::new();
    let mut path: Vec<Frame> = Vec::new();
    let mut visited = 0;
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
                close(v, &mut open, components);
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
    Ok(())
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
    use super::super::samples::{
        assert_refuses, assert_same_on_each_number_of_threads, assert_stops, samples,
    };
    use super::*;
    use crate::testing::random_edges;

    #[test]
    fn components_of_random_graphs_equal_mutual_reach() {
        for (n, edges) in samples(120, 40) {
            let found = scc(&Csr::from_edges(n, &edges), None, &Control::default()).unwrap();
            assert_eq!(found.components, verify(n, &edges));
            let roots = (0..n).filter(|&v| found.components[v as usize] == v).count();
            assert_eq!(found.count as usize, roots);
        }
    }

    #[test]
    fn path_of_a_hundred_thousand_vertices_needs_no_deep_stack() {
        let n = 100_000;
        let mut edges: Vec<_> = (1..n).map(|v| (v - 1, v)).collect();
        let path = scc(&Csr::from_edges(n, &edges), None, &Control::default()).unwrap();
        assert_eq!(path.count, n);
        edges.push((n - 1, 0));
        let ring = scc(&Csr::from_edges(n, &edges), None, &Control::default()).unwrap();
        assert!(ring.count == 1 && ring.components.iter().all(|&root| root == 0));
    }

    #[test]
    fn giant_component_and_rim_of_random_graphs_equal_mutual_reach() {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(3).build().unwrap();
        let control = Control::default().on(&pool);
        for (n, edges) in samples(120, 40) {
            let graph = Csr::from_edges(n, &edges);
            let mut found = giant(&graph, &graph.reversed(), &control).unwrap();
            let expected = verify(n, &edges);
            assert!(found.iter().zip(&expected).all(|(a, b)| *a == OPEN || a == b));
            tarjan(&graph, &mut found, &control).unwrap();
            assert_eq!(found, expected);
        }
    }

    #[test]
    fn large_graphs_are_the_same_on_any_number_of_threads() {
        for (seed, count) in [(1, 15_000), (2, 30_000), (3, 90_000)] {
            let graph = Csr::from_edges(20_000, &random_edges(seed, 20_000, count));
            let incoming = graph.reversed();
            assert_same_on_each_number_of_threads(|control| scc(&graph, Some(&incoming), control));
        }
        // A path into a ring, whose search has one vertex at a time.
        let mut edges: Vec<_> = (1..20_000).map(|v| (v - 1, v)).collect();
        edges.push((19_999, 9000));
        let graph = Csr::from_edges(20_000, &edges);
        let incoming = graph.reversed();
        assert_same_on_each_number_of_threads(|control| scc(&graph, Some(&incoming), control));
    }

    #[test]
    fn it_stops_and_refuses() {
        let graph = Csr::from_edges(20_000, &random_edges(1, 20_000, 60_000));
        assert_stops(|control| scc(&graph, None, control));
        let incoming = graph.reversed();
        assert_stops(|control| giant(&graph, &incoming, control));
        let pool = rayon::ThreadPoolBuilder::new().num_threads(2).build().unwrap();
        let control = Control::default().on(&pool);
        let other = Csr::from_edges(2, &[]);
        assert_refuses(scc(&graph, Some(&other), &control), "2 vertices");
    }
}
