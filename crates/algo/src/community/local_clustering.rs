//! Local clustering: triangles at each vertex, and how many of its neighbours are neighbours.
//!
//! Result: per vertex its number of triangles, direction ignored, and its local clustering
//! coefficient: edges between its neighbours over d (d - 1), for d different neighbours. Without
//! `incoming` the graph is undirected and each edge counts in both directions; with it the graph is
//! directed, neighbours on either side count, and an edge counts in its own direction (LDBC
//! Graphalytics). The coefficient is 0 where d < 2. Parallel edges count once, loops not at all.
//!
//! Method: vertices are ranked by degree, and each edge is kept at its end of lower rank, so that
//! no list is longer than sqrt(2 m). Each triangle is found once, by merging the lists of the ends
//! of its lowest edge, and added to its corners. All counts are integers, so the result does not
//! depend on the number of threads.
//!
//! Cost: O(m^1.5). *Memory*: 60 bytes per vertex, 10 per edge while the lists are made, else 5.
//!
//! Source: Schank and Wagner, "Finding, counting and listing all triangles in large graphs", 2005;
//! Watts and Strogatz, "Collective dynamics of small-world networks", 1998.

use std::cmp::Ordering;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use rayon::prelude::*;

use super::steps::{self, Meter};
use crate::control::{Control, Result};
use crate::csr::Csr;

/// Vertices of one parallel task; vertices of high rank have much work.
const TASK_VERTICES: u32 = 256;

/// Triangles and coefficients found by [`local_clustering`].
#[derive(Debug, Clone, PartialEq)]
pub struct Clustering {
    /// Number of triangles at each vertex.
    pub triangles: Vec<u64>,
    /// Local clustering coefficient of each vertex, from 0 to 1.
    pub coefficients: Vec<f64>,
    /// Number of triangles of the graph.
    pub total: u64,
    /// Mean of the coefficients; 0 without vertices.
    pub average: f64,
}

/// Upper estimate of the bytes needed for `n` vertices and `m` edges, both directions counted.
#[must_use]
pub fn bytes(n: u64, m: u64) -> u64 {
    60 * n + 10 * m
}

/// Counts the triangles of an undirected graph, or of a directed one with its edges reversed.
pub fn local_clustering(
    graph: &Csr,
    incoming: Option<&Csr>,
    control: &Control<'_>,
) -> Result<Clustering> {
    if let Some(incoming) = incoming {
        steps::require_reverse(graph, incoming)?;
    } else {
        steps::require_undirected(
            "local clustering without incoming lists",
            graph,
            false,
            control,
        )?;
    }
    let n = graph.vertices();
    let ranked = Ranked::new(graph, incoming, control)?;
    let totals: Vec<Total> = (0..n).map(|_| Total::default()).collect();
    let done = AtomicU64::new(0);
    control.for_ranges(n, TASK_VERTICES, |range| {
        let mut meter = Meter::new(control);
        let mut corners = Vec::new();
        let count = range.len() as u64;
        for a in range {
            ranked.count(a, &totals, &mut corners, &mut meter)?;
        }
        control.report(done.fetch_add(count, Relaxed) + count, u64::from(n));
        Ok(())
    })?;
    let total = |v: usize| &totals[ranked.ranks[v] as usize];
    let mut of_vertices = vec![0; n as usize];
    control.fill(&mut of_vertices, steps::GRAIN, |first, chunk| {
        (first..).zip(chunk).for_each(|(v, count)| *count = total(v).triangles.load(Relaxed));
    })?;
    let mut coefficients = vec![0.0; n as usize];
    control.fill(&mut coefficients, steps::GRAIN, |first, chunk| {
        for (v, coefficient) in (first..).zip(chunk) {
            let d = f64::from(ranked.degrees[v]);
            if d > 1.0 {
                *coefficient = total(v).links.load(Relaxed) as f64 / (d * (d - 1.0));
            }
        }
    })?;
    let triangles = of_vertices;
    Ok(Clustering {
        total: triangles.iter().sum::<u64>() / 3,
        average: coefficients.iter().sum::<f64>() / f64::from(n.max(1)),
        triangles,
        coefficients,
    })
}

/// Calls `f(u, edges)` with each different neighbour of `v`, ascending, and the number of
/// directions in which there is an edge: 2 for all of an undirected graph.
fn neighbours(graph: &Csr, incoming: Option<&Csr>, v: u32, mut f: impl FnMut(u32, u8)) {
    let mut out = graph.of(v);
    let mut back = incoming.map_or(out, |incoming| incoming.of(v));
    loop {
        let (u, edges) = match (out.first(), back.first()) {
            (None, None) => return,
            (Some(&u), None) => (u, 1),
            (None, Some(&u)) => (u, 1),
            (Some(&a), Some(&b)) => match a.cmp(&b) {
                Ordering::Less => (a, 1),
                Ordering::Equal => (a, 2),
                Ordering::Greater => (b, 1),
            },
        };
        for list in [&mut out, &mut back] {
            while let Some((&first, rest)) = list.split_first()
                && first == u
            {
                *list = rest;
            }
        }
        if u != v {
            f(u, edges);
        }
    }
}

/// Edges from lower to higher rank, as ranks.
#[derive(Default)]
struct Ranked {
    /// Different neighbours of each vertex.
    degrees: Vec<u32>,
    /// Rank of each vertex.
    ranks: Vec<u32>,
    /// Place of the list of each rank.
    offsets: Vec<u64>,
    /// Ranks, ascending in a list.
    above: Vec<u32>,
    /// Directions of the edge, beside `above`.
    directions: Vec<u8>,
}

impl Ranked {
    fn new(graph: &Csr, incoming: Option<&Csr>, control: &Control<'_>) -> Result<Self> {
        let n = graph.vertices() as usize;
        let mut degrees = vec![0u32; n];
        steps::fill(control, &mut degrees, |first, chunk, meter| {
            for (v, degree) in (first as u32..).zip(chunk) {
                meter.add(1 + graph.of(v).len())?;
                neighbours(graph, incoming, v, |_, _| *degree += 1);
            }
            Ok(())
        })?;
        let mut order: Vec<u32> = (0..n as u32).collect();
        control.install(|| order.par_sort_unstable_by_key(|&v| (degrees[v as usize], v)));
        let mut ranks = vec![0; n];
        (0..).zip(&order).for_each(|(rank, &v)| ranks[v as usize] = rank);
        let pieces = steps::map_ranges(control, n as u32, steps::GRAIN as u32, |range| {
            let mut meter = Meter::new(control);
            let mut list = Vec::new();
            let mut piece = Self::default();
            for rank in range {
                let v = order[rank as usize];
                meter.add(1 + graph.of(v).len())?;
                list.clear();
                neighbours(graph, incoming, v, |u, directions| {
                    let other = ranks[u as usize];
                    if other > rank {
                        list.push((other, directions));
                    }
                });
                list.sort_unstable();
                piece.above.extend(list.iter().map(|edge| edge.0));
                piece.directions.extend(list.iter().map(|edge| edge.1));
                piece.offsets.push(piece.above.len() as u64);
            }
            Ok(piece)
        })?;
        let edges = pieces.iter().map(|piece| piece.above.len()).sum();
        let mut ranked = Self {
            degrees,
            ranks,
            offsets: Vec::with_capacity(n + 1),
            above: Vec::with_capacity(edges),
            directions: Vec::with_capacity(edges),
        };
        ranked.offsets.push(0);
        for piece in pieces {
            control.check()?;
            let before = ranked.above.len() as u64;
            ranked.offsets.extend(piece.offsets.iter().map(|end| before + end));
            ranked.above.extend(piece.above);
            ranked.directions.extend(piece.directions);
        }
        Ok(ranked)
    }

    fn list(&self, rank: u32) -> (&[u32], &[u8]) {
        let place = self.offsets[rank as usize] as usize..self.offsets[rank as usize + 1] as usize;
        (&self.above[place.clone()], &self.directions[place])
    }

    /// Adds the triangles whose lowest rank is `a`, and their edges opposite to each corner.
    ///
    /// PERF: the other corners are in the list of `a`, so their counts are kept beside it and added
    /// to those of all threads once for each; no branch tells triangles from other pairs (telar
    /// bench algorithms, scaling/local clustering).
    fn count(
        &self,
        a: u32,
        totals: &[Total],
        corners: &mut Vec<Corner>,
        meter: &mut Meter<'_>,
    ) -> Result<()> {
        let (above_a, edges_a) = self.list(a);
        corners.clear();
        corners.resize(above_a.len(), Corner::default());
        let mut of_a = Corner::default();
        for (at, &b) in above_a.iter().enumerate() {
            let (above_b, edges_b) = self.list(b);
            meter.add(1 + above_a.len() - at + above_b.len())?;
            let opposite = u64::from(edges_a[at]);
            let (mut i, mut j) = (at + 1, 0);
            let mut of_b = Corner::default();
            while i < above_a.len() && j < above_b.len() {
                let (x, y) = (above_a[i], above_b[j]);
                let same = u64::from(x == y);
                of_a.links += same * u64::from(edges_b[j]);
                of_b.add(same, same * u64::from(edges_a[i]));
                corners[i].add(same, same * opposite);
                i += usize::from(x <= y);
                j += usize::from(y <= x);
            }
            of_a.triangles += of_b.triangles;
            corners[at].add(of_b.triangles, of_b.links);
        }
        for (&rank, corner) in above_a.iter().zip(&*corners).chain([(&a, &of_a)]) {
            if corner.triangles > 0 {
                let total = &totals[rank as usize];
                total.triangles.fetch_add(corner.triangles, Relaxed);
                total.links.fetch_add(corner.links, Relaxed);
            }
        }
        Ok(())
    }
}

/// Triangles at a vertex, and the directions of the edges opposite to it in them.
#[derive(Debug, Clone, Copy, Default)]
struct Corner {
    triangles: u64,
    links: u64,
}

impl Corner {
    fn add(&mut self, triangles: u64, links: u64) {
        self.triangles += triangles;
        self.links += links;
    }
}

/// The same, for all threads to add to.
#[derive(Debug, Default)]
struct Total {
    triangles: AtomicU64,
    links: AtomicU64,
}

/// Tries all pairs of neighbours of each vertex.
#[cfg(test)]
pub(crate) fn verify(n: u32, edges: &[(u32, u32)]) -> (Vec<u64>, Vec<f64>) {
    let edges: std::collections::HashSet<_> = edges.iter().copied().collect();
    let linked = |a, b| edges.contains(&(a, b)) || edges.contains(&(b, a));
    let (mut triangles, mut coefficients) = (Vec::new(), Vec::new());
    for v in 0..n {
        let near: Vec<u32> = (0..n).filter(|&u| u != v && linked(u, v)).collect();
        let pairs = || near.iter().flat_map(|&a| near.iter().map(move |&b| (a, b)));
        triangles.push(pairs().filter(|&(a, b)| a < b && linked(a, b)).count() as u64);
        let links = pairs().filter(|pair| pair.0 != pair.1 && edges.contains(pair)).count();
        let most = near.len() * near.len().saturating_sub(1);
        coefficients.push(if most == 0 { 0.0 } else { links as f64 / most as f64 });
    }
    (triangles, coefficients)
}

#[cfg(test)]
mod tests {
    use super::super::samples::{assert_refuses, assert_same_on_threads, assert_stops, samples};
    use super::*;
    use crate::testing::random_edges;

    #[test]
    fn clustering_of_random_graphs_equals_all_pairs() {
        for (n, edges) in samples(60, 50) {
            let graph = Csr::from_edges(n, &edges);
            let control = Control::default();
            let found = local_clustering(&graph, Some(&graph.reversed()), &control).unwrap();
            let (triangles, coefficients) = verify(n, &edges);
            assert_eq!((&found.triangles, &found.coefficients), (&triangles, &coefficients));
            let both = graph.undirected();
            let found = local_clustering(&both, None, &control).unwrap();
            let edges: Vec<_> = both.all_edges().map(|(u, v, _)| (u, v)).collect();
            assert_eq!((found.triangles, found.coefficients), verify(n, &edges));
            assert_eq!(found.total, crate::triangles::triangles(&both.simple(f64::max)));
        }
    }

    #[test]
    fn it_stops_refuses_and_is_the_same_on_three_threads() {
        let graph = Csr::from_edges(3000, &random_edges(1, 3000, 20_000));
        let incoming = graph.reversed();
        let run = |control: &Control<'_>| local_clustering(&graph, Some(&incoming), control);
        assert_stops(run);
        assert_same_on_threads(run);
        let other = Csr::from_edges(2, &[]);
        let refused = local_clustering(&graph, Some(&other), &Control::default());
        assert_refuses(refused, "2 vertices");
    }
}
