//! Truss numbers: how many triangles hold each edge to its surroundings.
//!
//! Result: per edge the largest k for which it is in the k-truss, the largest part of the graph in
//! which every edge is in at least k - 2 triangles; per vertex the largest of its edges. An edge
//! without triangles has 2, a vertex without edges 0. The k-truss is made of the edges with at
//! least k.
//!
//! Method: the graph is undirected. The triangles of each edge are counted in parallel; then, level
//! by level from the fewest triangles on, all edges with that many left are removed, which takes a
//! triangle from the other two edges of each of theirs, until no edge falls to the level any more.
//! The edges of a round are removed in parallel: a triangle with two edges in the round is taken
//! from its third by the edge with the smaller number. A few edges are removed by one thread.
//! Parallel edges count once, loops not at all.
//!
//! Cost: O(m^1.5) for sparse graphs: each edge reads the shorter list of its ends and searches the
//! longer. *Memory*: 8 bytes per vertex and 24 per edge; for a graph with loops or parallel edges a
//! copy of it.
//!
//! Source: Cohen, "Trusses: cohesive subgraphs for social network analysis", 2008; Wang and Cheng,
//! "Truss decomposition in massive networks", 2012; rounds as in Kabir and Madduri, "Shared-memory
//! graph truss decomposition", HiPC 2017 (PKT).

use std::sync::atomic::{AtomicU8, AtomicU32, Ordering::Relaxed};

use rayon::prelude::*;

use super::steps::{self, Meter};
use crate::control::{Control, Error, Result};
use crate::csr::Csr;

/// Edges that one task removes.
const GRAIN: usize = 16;

/// Edges of a round below which one thread is faster than handing out tasks.
const SERIAL_MAX: usize = 64;

/// Edges that one thread removes before it asks whether there are enough for several.
const SERIAL_STEPS: usize = 256;

/// An edge that was not removed.
const KEPT: u8 = 0;
/// An edge that is removed in the round at work.
const LEAVING: u8 = 1;
/// An edge that was removed.
const GONE: u8 = 2;

/// An edge and its truss number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EdgeTruss {
    /// Smaller end.
    pub source: u32,
    /// Larger end.
    pub target: u32,
    /// Largest k for which the edge is in the k-truss; at least 2.
    pub truss: u32,
}

/// Truss numbers found by [`k_truss`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Trusses {
    /// Every edge once, by its smaller and then its larger end.
    pub edges: Vec<EdgeTruss>,
    /// Largest truss number of the edges of each vertex; 0 without edges.
    pub vertices: Vec<u32>,
    /// Largest truss number; 0 without edges.
    pub largest: u32,
}

/// Upper estimate of the bytes needed for `n` vertices and `m` edges, both directions counted.
#[must_use]
pub fn bytes(n: u64, m: u64) -> u64 {
    40 * n + 40 * m
}

/// Finds the truss number of each edge of an undirected graph.
pub fn k_truss(graph: &Csr, control: &Control<'_>) -> Result<Trusses> {
    control.check()?;
    steps::require_undirected("k-truss", graph, false, control)?;
    let graph = steps::simple(graph, control)?;
    let numbered = Numbered::new(&graph, control)?;
    let count = numbered.edges.len();
    // Triangles left; at the end the truss number less 2.
    let mut support = vec![0u32; count];
    steps::fill(control, &mut support, |first, chunk, meter| {
        for (edge, support) in (first..).zip(chunk) {
            numbered.triangles(edge, meter, |_, _| *support += 1)?;
        }
        Ok(())
    })?;
    let peeling = Peeling {
        numbered: &numbered,
        support: support.into_iter().map(AtomicU32::new).collect(),
        states: (0..count).map(|_| AtomicU8::new(KEPT)).collect(),
        control,
    };
    control.install(|| peeling.levels())?;
    let support = peeling.support.into_iter().map(AtomicU32::into_inner);
    let mut vertices = vec![0; graph.vertices() as usize];
    let edges: Vec<EdgeTruss> = numbered
        .edges
        .iter()
        .zip(support)
        .map(|(&(source, target), support)| EdgeTruss { source, target, truss: support + 2 })
        .collect();
    for edge in &edges {
        for v in [edge.source, edge.target] {
            vertices[v as usize] = edge.truss.max(vertices[v as usize]);
        }
    }
    let largest = vertices.iter().copied().max().unwrap_or(0);
    Ok(Trusses { edges, vertices, largest })
}

/// Removal of edges, level by level.
///
/// ORDERING: relaxed. States change between rounds only, which rayon's joins keep apart, and on one
/// thread. Which task lets an edge fall to the level is decided by the exchange on its number.
struct Peeling<'a, 'b> {
    numbered: &'a Numbered<'a>,
    /// Triangles left; at the end the truss number less 2.
    support: Vec<AtomicU32>,
    states: Vec<AtomicU8>,
    control: &'a Control<'b>,
}

impl Peeling<'_, '_> {
    fn support(&self, edge: u32) -> u32 {
        self.support[edge as usize].load(Relaxed)
    }

    fn state(&self, edge: u32) -> u8 {
        self.states[edge as usize].load(Relaxed)
    }

    fn set(&self, edges: &[u32], state: u8) {
        edges.iter().for_each(|&edge| self.states[edge as usize].store(state, Relaxed));
    }

    fn levels(&self) -> Result<()> {
        let all = self.support.len() as u32;
        let mut kept: Vec<u32> = (0..all).collect();
        while !kept.is_empty() {
            let least = |chunk: &[u32]| chunk.iter().map(|&edge| self.support(edge)).min();
            let Some(level) = self.chunks(&kept, least)?.into_iter().flatten().min() else { break };
            let at_level = |chunk: &[u32]| select(chunk, |edge| self.support(edge) == level);
            let mut frontier = self.chunks(&kept, at_level)?.concat();
            while !frontier.is_empty() {
                self.control.check()?;
                frontier = match rayon::current_num_threads() == 1 || frontier.len() < SERIAL_MAX {
                    true => self.one_by_one(frontier, level)?,
                    false => self.round(&frontier, level)?,
                };
            }
            let above = |chunk: &[u32]| select(chunk, |edge| self.support(edge) > level);
            kept = self.chunks(&kept, above)?.concat();
            self.control.report(u64::from(all) - kept.len() as u64, u64::from(all));
        }
        Ok(())
    }

    /// Calls `work` with pieces of `edges`, in parallel if they are many.
    fn chunks<T: Send>(&self, edges: &[u32], work: impl Fn(&[u32]) -> T + Sync) -> Result<Vec<T>> {
        let work = |chunk| {
            self.control.check()?;
            Ok(work(chunk))
        };
        edges.par_chunks(1 << 14).map(work).collect()
    }

    /// Removes some edges of a level; returns edges of the level that are left to remove.
    fn one_by_one(&self, mut waiting: Vec<u32>, level: u32) -> Result<Vec<u32>> {
        let mut meter = Meter::new(self.control);
        let mut found = Vec::new();
        for _ in 0..SERIAL_STEPS {
            let Some(edge) = waiting.pop() else { break };
            self.numbered.triangles(edge as usize, &mut meter, |a, b| {
                if self.state(a) == GONE || self.state(b) == GONE {
                    return;
                }
                for other in [a, b] {
                    let left = self.support(other);
                    if left > level {
                        self.support[other as usize].store(left - 1, Relaxed);
                    }
                    if left == level + 1 {
                        found.push(other);
                    }
                }
            })?;
            self.set(&[edge], GONE);
            waiting.append(&mut found);
        }
        Ok(waiting)
    }

    /// Removes the edges of a round in parallel; returns those that fell to the level.
    fn round(&self, frontier: &[u32], level: u32) -> Result<Vec<u32>> {
        self.set(frontier, LEAVING);
        let lower = |edge: u32| {
            let one_less = |left| (left > level).then(|| left - 1);
            let before = self.support[edge as usize].fetch_update(Relaxed, Relaxed, one_less);
            before == Ok(level + 1)
        };
        let task = |chunk: &[u32]| {
            self.control.check()?;
            let mut meter = Meter::new(self.control);
            let mut found = Vec::new();
            for &edge in chunk {
                self.numbered.triangles(edge as usize, &mut meter, |a, b| {
                    let states = (self.state(a), self.state(b));
                    if states.0 == GONE || states.1 == GONE {
                        return;
                    }
                    // The other edge in the round takes the triangle if its number is smaller.
                    if states.0 == KEPT && (states.1 == KEPT || edge < b) && lower(a) {
                        found.push(a);
                    }
                    if states.1 == KEPT && (states.0 == KEPT || edge < a) && lower(b) {
                        found.push(b);
                    }
                })?;
            }
            Ok(found)
        };
        let found: Result<Vec<Vec<u32>>> = frontier.par_chunks(GRAIN).map(task).collect();
        let found = found?;
        self.set(frontier, GONE);
        Ok(found.concat())
    }
}

/// The edges for which `wanted` holds.
fn select(edges: &[u32], wanted: impl Fn(u32) -> bool) -> Vec<u32> {
    edges.iter().copied().filter(|&edge| wanted(edge)).collect()
}

/// A simple undirected graph whose edges have numbers.
struct Numbered<'a> {
    graph: &'a Csr,
    /// Number of the edge at each place of the lists.
    numbers: Vec<u32>,
    /// Ends of each edge, the smaller first.
    edges: Vec<(u32, u32)>,
}

impl<'a> Numbered<'a> {
    fn new(graph: &'a Csr, control: &Control<'_>) -> Result<Self> {
        let most = u64::from(u32::MAX) * 2;
        if graph.edges() > most {
            let count = graph.edges();
            return Err(Error::invalid(format!("{count} directed edges; k-truss takes {most}")));
        }
        let mut numbers = vec![0; graph.edges() as usize];
        let mut edges = Vec::with_capacity(graph.edges() as usize / 2);
        // Larger ends come in ascending order to each list, so the next place is the place.
        let mut next: Vec<u64> = (0..graph.vertices()).map(|v| graph.first_edge(v)).collect();
        let mut meter = Meter::new(control);
        for u in 0..graph.vertices() {
            meter.add(1 + graph.of(u).len())?;
            for (place, &v) in (graph.first_edge(u) as usize..).zip(graph.of(u)) {
                if v <= u {
                    continue;
                }
                let back = next[v as usize];
                next[v as usize] += 1;
                numbers[place] = edges.len() as u32;
                numbers[back as usize] = edges.len() as u32;
                edges.push((u, v));
            }
        }
        Ok(Self { graph, numbers, edges })
    }

    /// Calls `f` with the other two edges of each triangle of an edge.
    fn triangles(
        &self,
        edge: usize,
        meter: &mut Meter<'_>,
        mut f: impl FnMut(u32, u32),
    ) -> Result<()> {
        let (u, v) = self.edges[edge];
        let degree = |v: u32| self.graph.of(v).len();
        let (short, long) = if degree(u) <= degree(v) { (u, v) } else { (v, u) };
        let (first_short, first_long) =
            (self.graph.first_edge(short) as usize, self.graph.first_edge(long) as usize);
        let (list, other) = (self.graph.of(short), self.graph.of(long));
        meter.add(1 + list.len())?;
        // Bounds of the search only move up, in doubling steps.
        let mut from = 0;
        for (i, &w) in list.iter().enumerate() {
            let mut step = 1;
            while from + step < other.len() && other[from + step] < w {
                step *= 2;
            }
            let window = &other[from..other.len().min(from + step + 1)];
            from += window.partition_point(|&x| x < w);
            if other.get(from) == Some(&w) {
                f(self.numbers[first_short + i], self.numbers[first_long + from]);
            }
        }
        Ok(())
    }
}

/// For each k removes edges with fewer than k - 2 triangles until none is left.
#[cfg(test)]
pub(crate) fn verify(edges: &[(u32, u32)]) -> Vec<EdgeTruss> {
    let edges = crate::testing::simple_undirected(edges);
    let mut trusses: Vec<_> =
        edges.iter().map(|&(source, target)| EdgeTruss { source, target, truss: 2 }).collect();
    let mut kept: std::collections::HashSet<_> = edges.iter().copied().collect();
    for k in 3.. {
        loop {
            let has = |a: u32, b: u32| kept.contains(&(a.min(b), a.max(b)));
            let thirds = |u: u32, v: u32| {
                let third = |&(a, b): &(u32, u32)| {
                    let w = if a == u { b } else { a };
                    (a == u || b == u) && w != v && has(u, w) && has(v, w)
                };
                edges.iter().filter(|edge| third(edge)).count()
            };
            let weak: Vec<_> =
                kept.iter().copied().filter(|&(u, v)| thirds(u, v) < k - 2).collect();
            if weak.is_empty() {
                break;
            }
            weak.iter().for_each(|edge| {
                kept.remove(edge);
            });
        }
        if kept.is_empty() {
            return trusses;
        }
        for edge in trusses.iter_mut().filter(|e| kept.contains(&(e.source, e.target))) {
            edge.truss = k as u32;
        }
    }
    trusses
}

#[cfg(test)]
mod tests {
    use super::super::samples::{
        assert_refuses, assert_same_on_each_number_of_threads, assert_stops, samples,
    };
    use super::*;
    use crate::testing::random_edges;

    #[test]
    fn trusses_of_random_graphs_equal_repeated_removal() {
        for (n, edges) in samples(60, 20) {
            let dense: Vec<_> =
                edges.iter().flat_map(|&(u, v)| [(u, v), (u, (v + 1) % n)]).collect();
            let graph = Csr::from_edges(n, &dense).undirected();
            let found = k_truss(&graph, &Control::default()).unwrap();
            assert_eq!(found.edges, verify(&dense));
            for v in 0..n {
                let near = found.edges.iter().filter(|e| e.source == v || e.target == v);
                let largest = near.map(|edge| edge.truss).max().unwrap_or(0);
                assert_eq!(found.vertices[v as usize], largest);
            }
        }
    }

    #[test]
    fn complete_graph_is_one_truss() {
        let edges: Vec<_> = (0..7u32).flat_map(|u| (u + 1..7).map(move |v| (u, v))).collect();
        let graph = Csr::from_edges(8, &edges).undirected();
        let found = k_truss(&graph, &Control::default()).unwrap();
        assert_eq!((found.largest, found.vertices[7]), (7, 0));
        assert!(found.edges.iter().all(|edge| edge.truss == 7));
    }

    #[test]
    fn it_stops_refuses_and_is_the_same_on_any_number_of_threads() {
        let graph = Csr::from_edges(3000, &random_edges(1, 3000, 20_000)).undirected();
        assert_stops(|control| k_truss(&graph, control));
        assert_same_on_each_number_of_threads(|control| k_truss(&graph, control));
        let dense = Csr::from_edges(150, &random_edges(2, 150, 6000)).undirected();
        assert_same_on_each_number_of_threads(|control| k_truss(&dense, control));
        for (n, edges) in samples(30, 40) {
            let graph = Csr::from_edges(n, &edges).undirected();
            assert_same_on_each_number_of_threads(|control| k_truss(&graph, control));
        }
        for directed in [Csr::from_edges(3, &[(0, 1)]), Csr::from_edges(3, &[(1, 0)])] {
            assert_refuses(k_truss(&directed, &Control::default()), "undirected");
        }
    }
}
