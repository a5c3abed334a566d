//! Single-source shortest paths over weights that are not negative, by delta-stepping.
//!
//! Result: for each vertex its distance from the source, infinite where no path leads, and the
//! vertex before it on a shortest path. Of several such vertices it is the smallest that is nearer
//! to the source; where only edges of weight 0 lead on from equal distance, fewest edges count
//! first. Parallel edges count with the lightest, loops not at all.
//!
//! Method: vertices wait in buckets of width `delta` by their distance. The edges of one bucket are
//! relaxed in parallel, again for what falls back into it, until it stays empty. A distance is the
//! least sum over all paths and addition is monotone in floating point too, so the order of the
//! relaxations does not show in the result, nor does the number of threads. Predecessors are found
//! from the distances in one more pass. [`sssp`] reads a packed graph, [`sssp_over`] any lists with
//! weights, such as those of a database in place.
//!
//! Cost: O(n + m) relaxations on usual graphs with a fitting delta, O(n m) at worst. *Memory*: 12
//! bytes per vertex, and 4 to 16 for each that waits.
//!
//! Source: Meyer and Sanders, "Delta-stepping: a parallelizable shortest path algorithm", Journal
//! of Algorithms 2003; without light and heavy edges as in Beamer et al., "The GAP benchmark
//! suite", 2015.

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering::Relaxed};

use rayon::prelude::*;

use super::path::{NONE, Pace, Tree, require_vertex};
use crate::control::{Control, Error, Result};
use crate::csr::Csr;

/// Vertices that one task relaxes.
const GRAIN: usize = 64;

/// Edges of a frontier below which one thread is faster than handing out tasks.
///
/// PERF: counted in edges, because buckets of a skewed graph hold few vertices with many
/// (telar bench algorithms, scaling/SSSP).
const SERIAL_MAX: usize = 1 << 13;

/// Buckets kept apart; what is farther waits in one pile.
const WINDOW: u64 = 256;

/// Vertices whose lists are read in one call: what a call costs in storage is paid once for all.
const BATCH: usize = 64;

/// Edges looked at for the default delta.
const PROBES: u64 = 1 << 16;

/// Source and bucket width.
#[derive(Debug, Clone, PartialEq)]
pub struct Settings {
    /// Vertex that distances are measured from. Must be in the graph.
    pub source: u32,
    /// Width of a bucket in units of the weights, finite and above 0. `None` takes twice the mean
    /// weight by the mean degree, at most the mean weight; 1 if all weights are 0.
    pub delta: Option<f64>,
}

impl Default for Settings {
    /// Source 0, delta by mean weight and degree.
    fn default() -> Self {
        Self { source: 0, delta: None }
    }
}

/// Upper estimate of memory beyond the graph, in bytes.
#[must_use]
pub fn bytes(n: u64, _m: u64) -> u64 {
    n * (12 + 32)
}

/// Out-lists with a weight for each edge.
pub trait Weighted: Sync {
    /// Number of vertices.
    fn vertices(&self) -> u32;

    /// Number of edges of `v`.
    fn degree(&self, v: u32) -> usize;

    /// Calls `edge(begun, v, weight)` for each edge of each of `vertices`; `begun` is what
    /// `begin(u)` returned, which is called for each contiguous part of the list of `u`.
    fn visit<C: Copy>(
        &self,
        vertices: &[u32],
        begin: impl FnMut(u32) -> C,
        edge: impl FnMut(C, u32, f64),
    );
}

impl Weighted for Csr {
    fn vertices(&self) -> u32 {
        self.vertices()
    }

    fn degree(&self, v: u32) -> usize {
        self.of(v).len()
    }

    fn visit<C: Copy>(
        &self,
        vertices: &[u32],
        mut begin: impl FnMut(u32) -> C,
        mut edge: impl FnMut(C, u32, f64),
    ) {
        for &u in vertices {
            let begun = begin(u);
            self.weighted(u).for_each(|(v, weight)| edge(begun, v, weight));
        }
    }
}

/// Returns distances from the source along the edges of `graph`.
pub fn sssp(graph: &Csr, settings: &Settings, control: &Control<'_>) -> Result<Tree> {
    graph.require_weights("sssp", 0.0, control)?;
    sssp_over(graph, settings, control)
}

/// As [`sssp`], over any lists. Their weights have to be finite and at least 0: this is not looked
/// at, and distances are wrong otherwise.
pub fn sssp_over<L: Weighted>(
    graph: &L,
    settings: &Settings,
    control: &Control<'_>,
) -> Result<Tree> {
    require_vertex(graph.vertices(), "source", settings.source)?;
    let delta = match settings.delta {
        None => default_delta(graph),
        Some(delta) if delta.is_finite() && delta > 0.0 => delta,
        Some(delta) => {
            return Err(Error::invalid(format!(
                "delta is {delta}, and must be a finite number above 0"
            )));
        }
    };
    let distances: Vec<AtomicU64> =
        (0..graph.vertices()).map(|_| AtomicU64::new(f64::INFINITY.to_bits())).collect();
    let run = Run { graph, distances: &distances, delta, control };
    control.install(|| run.buckets(settings.source))?;
    let distances: Vec<f64> =
        distances.into_iter().map(|d| f64::from_bits(d.into_inner())).collect();
    let predecessors = predecessors(graph, &distances, settings.source, control)?;
    Ok(Tree { distances, predecessors })
}

/// Mean weight of the edges of evenly spaced vertices, less where degrees are high.
///
/// PERF: on an RMAT graph of 2 M edges and mean degree 16, weights around 1/2, buckets of 0.06 took
/// 38 ms and of 0.5 62 ms, on one thread.
fn default_delta<L: Weighted>(graph: &L) -> f64 {
    let n = graph.vertices();
    let edges: u64 = (0..n).map(|v| graph.degree(v) as u64).sum();
    let step = (edges / PROBES + 1).min(u64::from(n)) as usize;
    let (mut sum, mut count) = (0.0, 0u64);
    for v in (0..n).step_by(step) {
        graph.visit(
            &[v],
            |_| (),
            |(), _, weight| {
                sum += weight;
                count += 1;
            },
        );
        if count > 4 * PROBES {
            break;
        }
    }
    let degree = edges as f64 / f64::from(n);
    let delta = sum / count as f64 * (2.0 / degree).min(1.0);
    if delta.is_finite() && delta > 0.0 { delta } else { 1.0 }
}

/// Vertices that a task found nearer than before.
#[derive(Default)]
struct Found {
    /// In the bucket at work.
    near: Vec<u32>,
    /// In later buckets.
    far: Vec<(u64, u32)>,
}

struct Run<'a, 'b, L> {
    graph: &'a L,
    /// Bits of distances: of numbers that are not negative they have the same order.
    distances: &'a [AtomicU64],
    delta: f64,
    control: &'a Control<'b>,
}

impl<L: Weighted> Run<'_, '_, L> {
    fn distance(&self, v: u32) -> f64 {
        f64::from_bits(self.distances[v as usize].load(Relaxed))
    }

    /// Number of the bucket of a distance; the last takes all that are too far to count.
    fn bucket(&self, distance: f64) -> u64 {
        ((distance / self.delta) as u64).min(u64::MAX - 1)
    }

    /// Empties bucket after bucket.
    fn buckets(&self, source: u32) -> Result<()> {
        self.distances[source as usize].store(0, Relaxed);
        let mut window: Vec<Vec<u32>> = vec![Vec::new(); WINDOW as usize];
        let mut first = 0;
        let mut pile: Vec<u32> = Vec::new();
        window[0].push(source);
        let mut settled = 0;
        loop {
            for at in 0..WINDOW {
                let bucket = first + at;
                let mut frontier = std::mem::take(&mut window[at as usize]);
                if frontier.is_empty() {
                    continue;
                }
                frontier.retain(|&v| self.bucket(self.distance(v)) == bucket);
                while !frontier.is_empty() {
                    self.control.check()?;
                    settled += frontier.len() as u64;
                    let mut next = Vec::new();
                    for found in self.relax_all(&frontier, bucket)? {
                        next.extend(found.near);
                        for (bucket, v) in found.far {
                            match window.get_mut((bucket - first).min(WINDOW) as usize) {
                                Some(list) => list.push(v),
                                None => pile.push(v),
                            }
                        }
                    }
                    frontier = next;
                }
                let n = self.distances.len() as u64;
                self.control.report(settled.min(n), n);
            }
            // Vertices whose distance fell since they came here were done in the window.
            let last = first.saturating_add(WINDOW - 1);
            pile.retain(|&v| self.bucket(self.distance(v)) > last);
            let Some(nearest) = pile.iter().map(|&v| self.bucket(self.distance(v))).min() else {
                return Ok(());
            };
            first = nearest.min(u64::MAX - WINDOW);
            let mut rest = Vec::new();
            for v in pile {
                let at = self.bucket(self.distance(v)) - first;
                match window.get_mut(at.min(WINDOW) as usize) {
                    Some(list) => list.push(v),
                    None => rest.push(v),
                }
            }
            pile = rest;
        }
    }

    /// Relaxes the edges of the frontier, in parallel if it is large.
    fn relax_all(&self, frontier: &[u32], bucket: u64) -> Result<Vec<Found>> {
        let edges: usize = frontier.iter().map(|&v| self.graph.degree(v)).sum();
        if rayon::current_num_threads() == 1 || edges < SERIAL_MAX {
            return Ok(vec![self.relax(frontier, bucket)?]);
        }
        frontier.par_chunks(GRAIN).map(|chunk| self.relax(chunk, bucket)).collect()
    }

    fn relax(&self, frontier: &[u32], bucket: u64) -> Result<Found> {
        let mut found = Found::default();
        let mut pace = Pace::new(self.control);
        for vertices in frontier.chunks(BATCH) {
            pace.spend(vertices.iter().map(|&u| self.graph.degree(u)).sum())?;
            let edge = |distance, v, weight| self.edge(distance, v, weight, bucket, &mut found);
            self.graph.visit(vertices, |u| self.distance(u), edge);
        }
        Ok(found)
    }

    /// Relaxes an edge to `v` from a vertex at `distance`.
    #[inline]
    fn edge(&self, distance: f64, v: u32, weight: f64, bucket: u64, found: &mut Found) {
        let reach = distance + weight;
        let cell = &self.distances[v as usize];
        if reach >= f64::from_bits(cell.load(Relaxed)) {
            return;
        }
        let before = f64::from_bits(cell.fetch_min(reach.to_bits(), Relaxed));
        if reach >= before {
            return;
        }
        let reached = self.bucket(reach);
        if reached == bucket {
            found.near.push(v);
        } else if !before.is_finite() || self.bucket(before) != reached {
            // Otherwise v waits in that bucket already.
            found.far.push((reached, v));
        }
    }
}

/// Predecessors on shortest paths, from final distances.
fn predecessors<L: Weighted>(
    graph: &L,
    distances: &[f64],
    source: u32,
    control: &Control<'_>,
) -> Result<Vec<u32>> {
    let cells: Vec<AtomicU32> = distances.iter().map(|_| AtomicU32::new(NONE)).collect();
    control.for_ranges(graph.vertices(), 1024, |range| {
        let mut pace = Pace::new(control);
        let reached: Vec<u32> = range.filter(|&u| distances[u as usize].is_finite()).collect();
        for vertices in reached.chunks(BATCH) {
            pace.spend(vertices.iter().map(|&u| graph.degree(u)).sum())?;
            let begin = |u: u32| (u, distances[u as usize]);
            graph.visit(vertices, begin, |(u, distance), v, weight| {
                let reached = distances[v as usize];
                if distance < reached
                    && distance + weight == reached
                    && u < cells[v as usize].load(Relaxed)
                {
                    cells[v as usize].fetch_min(u, Relaxed);
                }
            });
        }
        Ok(())
    })?;
    let mut found: Vec<u32> = cells.into_iter().map(AtomicU32::into_inner).collect();
    let open = |found: &[u32], v: usize| {
        found[v] == NONE && v != source as usize && distances[v].is_finite()
    };
    let mut left = (0..found.len()).filter(|&v| open(&found, v)).count();
    let reached = |v: &u32| distances[*v as usize].is_finite();
    let mut frontier: Vec<u32> = match left {
        0 => return Ok(found),
        _ => (0..graph.vertices()).filter(|v| reached(v) && !open(&found, *v as usize)).collect(),
    };
    // The rest hangs on edges that add nothing: breadth first, so that no circle of them closes.
    let mut pace = Pace::new(control);
    while left > 0 && !frontier.is_empty() {
        let mut next = Vec::new();
        for vertices in frontier.chunks(BATCH) {
            pace.spend(vertices.iter().map(|&u| graph.degree(u)).sum())?;
            let begin = |u: u32| (u, distances[u as usize]);
            graph.visit(vertices, begin, |(u, distance), v, weight| {
                let adds_nothing =
                    distance == distances[v as usize] && distance + weight == distances[v as usize];
                if adds_nothing && open(&found, v as usize) {
                    found[v as usize] = u;
                    next.push(v);
                }
            });
        }
        left -= next.len();
        next.sort_unstable();
        frontier = next;
    }
    Ok(found)
}

/// Bellman-Ford: relaxes all edges until nothing changes.
#[cfg(test)]
pub(crate) fn verify(graph: &Csr, source: u32) -> Vec<f64> {
    let mut distances = vec![f64::INFINITY; graph.vertices() as usize];
    distances[source as usize] = 0.0;
    loop {
        let before = distances.clone();
        for (u, v, weight) in graph.all_edges() {
            let reach = distances[u as usize] + weight;
            distances[v as usize] = distances[v as usize].min(reach);
        }
        if distances == before {
            return distances;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::paths::path::{sample, threads};

    fn check(graph: &Csr, settings: &Settings, found: &Tree) {
        let expected = verify(graph, settings.source);
        assert_eq!(found.distances, expected);
        for v in 0..graph.vertices() {
            let Some(path) = found.path(v) else {
                assert!(!expected[v as usize].is_finite());
                assert_eq!(found.predecessors[v as usize], NONE);
                continue;
            };
            assert_eq!((path.vertices[0], path.cost()), (settings.source, expected[v as usize]));
            for (step, costs) in path.vertices.windows(2).zip(path.costs.windows(2)) {
                let edge =
                    |&(x, weight): &(u32, f64)| x == step[1] && costs[0] + weight == costs[1];
                assert!(graph.weighted(step[0]).any(|e| edge(&e)));
            }
        }
    }

    #[test]
    fn distances_on_random_graphs_equal_bellman_ford_for_any_delta() {
        for seed in 0..150 {
            let graph = sample(seed);
            let source = seed as u32 % graph.vertices();
            for delta in [None, Some(1e-9), Some(0.3), Some(2.0), Some(1e9)] {
                let settings = Settings { source, delta };
                let found = sssp(&graph, &settings, &Control::default()).unwrap();
                check(&graph, &settings, &found);
            }
        }
    }

    #[test]
    fn three_threads_find_what_one_finds() {
        let n = 9000;
        let mut random = crate::random::Random::new(1, 1);
        let edges: Vec<_> = crate::testing::random_edges(5, n, 40_000)
            .into_iter()
            .map(|(u, v)| (u, v, f64::from(random.below(6)) / 3.0))
            .collect();
        let graph = Csr::from_weighted(n, &edges).undirected();
        let settings = Settings { source: 3, delta: None };
        let one = sssp(&graph, &settings, &Control::default()).unwrap();
        check(&graph, &settings, &one);
        let pool = threads(3);
        let three = sssp(&graph, &settings, &Control::default().on(&pool)).unwrap();
        assert_eq!(one, three);
    }

    #[test]
    fn deep_graph_and_far_buckets_need_no_recursion() {
        let edges: Vec<_> = (0..20_000).map(|v| (v, v + 1, f64::from(v % 7) * 1e6)).collect();
        let graph = Csr::from_weighted(20_001, &edges);
        let settings = Settings { source: 0, delta: Some(1e-3) };
        let found = sssp(&graph, &settings, &Control::default()).unwrap();
        assert_eq!(found.path(20_000).unwrap().vertices.len(), 20_001);
    }

    #[test]
    fn smallest_predecessor_wins_a_tie() {
        let graph = Csr::from_edges(4, &[(0, 2), (0, 1), (2, 3), (1, 3)]);
        let found = sssp(&graph, &Settings::default(), &Control::default()).unwrap();
        assert_eq!(found.path(3).unwrap().vertices, [0, 1, 3]);
    }

    #[test]
    fn bad_settings_weights_and_a_stop_are_errors() {
        let control = Control::default();
        let graph = Csr::from_weighted(2, &[(0, 1, 1.0)]);
        for delta in [0.0, -1.0, f64::NAN, f64::INFINITY] {
            let settings = Settings { source: 0, delta: Some(delta) };
            assert!(matches!(sssp(&graph, &settings, &control), Err(Error::Invalid(_))));
        }
        let beyond = Settings { source: 2, delta: None };
        assert!(matches!(sssp(&graph, &beyond, &control), Err(Error::Invalid(_))));
        let empty = Csr::from_edges(0, &[]);
        assert!(matches!(sssp(&empty, &Settings::default(), &control), Err(Error::Invalid(_))));
        for bad in [-1.0, f64::NAN, f64::INFINITY] {
            let graph = Csr::from_weighted(2, &[(0, 1, bad)]);
            let found = sssp(&graph, &Settings::default(), &control);
            assert!(matches!(found, Err(Error::Invalid(_))));
        }
        let stopped = Control::default().stopped_by(&|| true);
        assert_eq!(sssp(&graph, &Settings::default(), &stopped), Err(Error::Stopped));
    }
}
