//! Core numbers: how dense a part of the graph each vertex belongs to.
//!
//! Result: per vertex the largest k for which it is in the k-core, the largest part of the graph in
//! which every vertex has at least k neighbours.
//!
//! Method: the graph is undirected. Vertices lie sorted by degree in buckets; the one with the
//! fewest neighbours left is removed, and each neighbour with more moves down one bucket by a swap.
//! Parallel edges count once, loops not at all: a graph that has any is copied without them. One
//! thread.
//!
//! Cost: O(n + m). *Memory*: 16 bytes per vertex; for a graph with loops or parallel edges a copy
//! of it.
//!
//! Source: Batagelj and Zaversnik, "An O(m) algorithm for cores decomposition of networks", 2003.

use super::steps::{self, Meter};
use crate::control::{Control, Result};
use crate::csr::Csr;

/// Vertices between two reports.
const REPORT_VERTICES: usize = 1 << 14;

/// Core numbers found by [`k_core`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cores {
    /// Core number of each vertex; 0 without neighbours.
    pub cores: Vec<u32>,
    /// Largest core number: the degeneracy of the graph.
    pub degeneracy: u32,
}

/// Upper estimate of the bytes needed for `n` vertices and `m` edges, both directions counted.
#[must_use]
pub fn bytes(n: u64, m: u64) -> u64 {
    40 * n + 12 * m
}

/// Finds the core number of each vertex of an undirected graph.
pub fn k_core(graph: &Csr, control: &Control<'_>) -> Result<Cores> {
    control.check()?;
    steps::require_undirected("k-core", graph, false, control)?;
    let graph = steps::simple(graph, control)?;
    let n = graph.vertices() as usize;
    // Neighbours left; at the end the core number.
    let mut cores: Vec<u32> = (0..n as u32).map(|v| graph.of(v).len() as u32).collect();
    let most = cores.iter().copied().max().unwrap_or(0) as usize;
    // First place of each degree in `order`.
    let mut starts = vec![0u32; most + 2];
    cores.iter().for_each(|&degree| starts[degree as usize + 1] += 1);
    (0..=most).for_each(|degree| starts[degree + 1] += starts[degree]);
    let mut order = vec![0u32; n];
    let mut places = vec![0u32; n];
    let mut next = starts.clone();
    for (v, &degree) in (0..).zip(&cores) {
        let place = &mut next[degree as usize];
        order[*place as usize] = v;
        places[v as usize] = *place;
        *place += 1;
    }
    drop(next);
    let mut meter = Meter::new(control);
    for at in 0..n {
        let v = order[at];
        let core = cores[v as usize];
        meter.add(1 + graph.of(v).len())?;
        for &u in graph.of(v) {
            let degree = cores[u as usize];
            if degree <= core {
                continue;
            }
            // The first vertex of the bucket changes places with `u`, and the bucket begins behind.
            let start = &mut starts[degree as usize];
            let first = order[*start as usize];
            let place = places[u as usize];
            order.swap(*start as usize, place as usize);
            places[first as usize] = place;
            places[u as usize] = *start;
            *start += 1;
            cores[u as usize] = degree - 1;
        }
        if at % REPORT_VERTICES == 0 {
            control.report(at as u64, n as u64);
        }
    }
    let degeneracy = cores.iter().copied().max().unwrap_or(0);
    Ok(Cores { cores, degeneracy })
}

/// For each k removes vertices with fewer than k neighbours until none is left.
#[cfg(test)]
pub(crate) fn verify(n: u32, edges: &[(u32, u32)]) -> Vec<u32> {
    let edges = crate::testing::simple_undirected(edges);
    let mut cores = vec![0; n as usize];
    for k in 1..=n {
        let mut kept = vec![true; n as usize];
        loop {
            let mut degrees = vec![0; n as usize];
            for &(u, v) in &edges {
                if kept[u as usize] && kept[v as usize] {
                    degrees[u as usize] += 1;
                    degrees[v as usize] += 1;
                }
            }
            let removed: Vec<_> = (0..n as usize).filter(|&v| kept[v] && degrees[v] < k).collect();
            if removed.is_empty() {
                break;
            }
            removed.into_iter().for_each(|v| kept[v] = false);
        }
        cores.iter_mut().zip(kept).filter(|core| core.1).for_each(|core| *core.0 = k);
    }
    cores
}

#[cfg(test)]
mod tests {
    use super::super::samples::{assert_refuses, assert_stops, samples};
    use super::*;
    use crate::testing::random_edges;

    #[test]
    fn cores_of_random_graphs_equal_repeated_removal() {
        for (n, edges) in samples(80, 40) {
            let graph = Csr::from_edges(n, &edges).undirected();
            let found = k_core(&graph, &Control::default()).unwrap();
            assert_eq!(found.cores, verify(n, &edges));
            let simple = k_core(&graph.simple(f64::max), &Control::default()).unwrap();
            assert_eq!(simple, found);
        }
    }

    #[test]
    fn it_stops_and_refuses() {
        let graph = Csr::from_edges(20_000, &random_edges(1, 20_000, 60_000)).undirected();
        assert_stops(|control| k_core(&graph, control));
        for directed in [Csr::from_edges(3, &[(0, 1)]), Csr::from_edges(3, &[(1, 0)])] {
            assert_refuses(k_core(&directed, &Control::default()), "undirected");
        }
    }
}
