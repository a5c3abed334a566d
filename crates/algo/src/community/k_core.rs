//! Core numbers: how dense a part of the graph each vertex belongs to.
//!
//! Result: per vertex the largest k for which it is in the k-core, the largest part of the graph in
//! which every vertex has at least k neighbours.
//!
//! Method: the graph is undirected. Level by level, from the fewest neighbours on, all vertices
//! with k neighbours left are removed, and those whose neighbours thereby fall to k. Threads remove
//! different vertices of a level, and what falls to k beside them; neighbours left are counted down
//! by atomic numbers, never below k, so a vertex falls to k once. A few vertices are removed by one
//! thread. Parallel edges count once, loops not at all: a graph that has any is copied without
//! them.
//!
//! Cost: O(n + m): a vertex is looked at once per level up to its own, which is at most its degree.
//! *Memory*: 16 bytes per vertex; for a graph with loops or parallel edges a copy of it.
//!
//! Source: Dasari, Desh and Zubair, "ParK: an efficient algorithm for k-core decomposition on
//! multicore processors", 2014; threads that go on with what they find as in Kabir and Madduri,
//! "Parallel k-core decomposition on multicore platforms", 2017 (PKC).

use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

use rayon::prelude::*;

use super::spreading::spread;
use super::steps;
use crate::control::{Control, Result};
use crate::csr::Csr;

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
    let n = graph.vertices();
    // Neighbours left; at the end the core number.
    let left = (0..n).map(|v| AtomicU32::new(graph.of(v).len() as u32)).collect();
    let peeling = Peeling { graph: &graph, left, control };
    control.install(|| peeling.levels())?;
    let cores: Vec<u32> = peeling.left.into_iter().map(AtomicU32::into_inner).collect();
    let degeneracy = cores.iter().copied().max().unwrap_or(0);
    Ok(Cores { cores, degeneracy })
}

/// Removal of vertices, level by level.
///
/// ORDERING: relaxed. Numbers publish nothing else; which thread lets a vertex fall to the level is
/// decided by the exchange on its number, and levels are kept apart by rayon's joins.
struct Peeling<'a, 'b> {
    graph: &'a Csr,
    left: Vec<AtomicU32>,
    control: &'a Control<'b>,
}

impl Peeling<'_, '_> {
    fn left(&self, v: u32) -> u32 {
        self.left[v as usize].load(Relaxed)
    }

    fn levels(&self) -> Result<()> {
        let n = self.graph.vertices();
        let mut kept: Vec<u32> = (0..n).collect();
        while !kept.is_empty() {
            let least = |chunk: &[u32]| Ok(chunk.iter().map(|&v| self.left(v)).min());
            let Some(level) = self.chunks(&kept, least)?.into_iter().flatten().min() else { break };
            let at_level = |chunk: &[u32]| Ok(select(chunk, |v| self.left(v) == level));
            let frontier = self.chunks(&kept, at_level)?.concat();
            let alone = |v: u32| {
                let left = self.left(v);
                if left > level {
                    self.left[v as usize].store(left - 1, Relaxed);
                }
                left == level + 1
            };
            let shared = |v: u32| {
                let one_less = |left| (left > level).then(|| left - 1);
                let before = self.left[v as usize].fetch_update(Relaxed, Relaxed, one_less);
                before == Ok(level + 1)
            };
            spread(self.graph, frontier, alone, shared, self.control)?;
            let above = |chunk: &[u32]| Ok(select(chunk, |v| self.left(v) > level));
            kept = self.chunks(&kept, above)?.concat();
            self.control.report(u64::from(n) - kept.len() as u64, u64::from(n));
        }
        Ok(())
    }

    /// Calls `work` with pieces of `vertices`, in parallel if they are many.
    fn chunks<T: Send>(
        &self,
        vertices: &[u32],
        work: impl Fn(&[u32]) -> Result<T> + Sync,
    ) -> Result<Vec<T>> {
        let work = |chunk| {
            self.control.check()?;
            work(chunk)
        };
        vertices.par_chunks(1 << 14).map(work).collect()
    }
}

/// The vertices for which `wanted` holds.
fn select(vertices: &[u32], wanted: impl Fn(u32) -> bool) -> Vec<u32> {
    vertices.iter().copied().filter(|&v| wanted(v)).collect()
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
    use super::super::samples::{
        assert_refuses, assert_same_on_each_number_of_threads, assert_stops, samples,
    };
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
    fn large_levels_are_the_same_on_any_number_of_threads() {
        for (seed, count) in [(1, 12_000), (2, 60_000), (3, 400_000)] {
            let edges = random_edges(seed, 20_000, count);
            let graph = Csr::from_edges(20_000, &edges).undirected();
            assert_same_on_each_number_of_threads(|control| k_core(&graph, control));
        }
        for (n, edges) in samples(30, 40) {
            let graph = Csr::from_edges(n, &edges).undirected();
            assert_same_on_each_number_of_threads(|control| k_core(&graph, control));
        }
        // A long path comes off from both ends.
        let edges: Vec<_> = (1..30_000).map(|v| (v - 1, v)).collect();
        let path = Csr::from_edges(30_001, &edges).undirected();
        assert_same_on_each_number_of_threads(|control| k_core(&path, control));
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
