//! Betweenness centrality: how many shortest paths lead through a vertex.
//!
//! Result: per vertex the sum, over all pairs of other vertices, of the share of the shortest paths
//! between the two that lead through it. For undirected graphs each pair counts once
//! (`undirected`). With `sampling_size` an estimate from as many random sources, scaled to all.
//!
//! Method: from each source a breadth-first search, or Dijkstra's algorithm if the graph has
//! weights, counts shortest paths; in the reverse order each vertex hands its dependency to those
//! before it. Weights must be above 0; two paths are equally long if their sums of `f64` are equal.
//! Parallel edges are different paths, loops change nothing. Sources are dealt to 16 lanes, which
//! run in parallel and are added in a fixed order: the result is the same to the last bit on any
//! number of threads, and more than 16 threads do not help. Numbers of paths are `f64`.
//!
//! Cost: O(m) per source, O(m log m) with weights. *Memory*: 8 bytes per vertex in each of 16
//! lanes, and 36 per vertex and running thread; with weights up to 16 bytes per edge and running
//! thread more.
//!
//! Source: Brandes, "A faster algorithm for betweenness centrality", 2001; Brandes and Pich,
//! "Centrality estimation in large networks", 2007 (sampling).

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::sync::atomic::{AtomicU64, Ordering};

use rayon::prelude::*;

use crate::community::steps::Meter;
use crate::control::{Control, Error, Result};
use crate::csr::Csr;
use crate::random::Random;

/// Lanes, each of which adds up every sixteenth source.
const LANES: u32 = 16;

/// Place of a vertex that was not reached.
const UNREACHED: u32 = u32::MAX;

/// Pairs of vertices that count.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settings {
    /// Number of sources, at least 1, drawn without repetition; None or more than there are
    /// vertices: all.
    pub sampling_size: Option<u32>,
    /// Seed of the sample.
    pub sampling_seed: u64,
    /// True if every edge stands in the lists of both ends: each pair of vertices counts once.
    pub undirected: bool,
}

impl Default for Settings {
    /// All sources, seed 0, directed.
    fn default() -> Self {
        Self { sampling_size: None, sampling_seed: 0, undirected: false }
    }
}

/// Upper estimate of the bytes needed for `n` vertices and `m` edges on a number of threads.
#[must_use]
pub fn bytes(n: u64, m: u64, settings: &Settings, threads: usize, weighted: bool) -> u64 {
    let sources = settings.sampling_size.map_or(n, |size| n.min(u64::from(size)));
    let lanes = sources.min(u64::from(LANES));
    let heap = if weighted { 32 * m } else { 0 };
    12 * n + lanes * 8 * n + lanes.min(threads as u64) * (44 * n + heap)
}

/// Scores the vertices; the result is the betweenness of each.
pub fn betweenness(graph: &Csr, settings: &Settings, control: &Control<'_>) -> Result<Vec<f64>> {
    if settings.sampling_size == Some(0) {
        return Err(Error::invalid("sampling_size is 0; it must be at least 1"));
    }
    control.check()?;
    graph.require_weights("betweenness", f64::MIN_POSITIVE, control)?;
    let n = graph.vertices();
    let sources = sources(n, settings);
    let lanes = LANES.min(sources.len() as u32);
    let done = AtomicU64::new(0);
    let parts = control.install(|| {
        (0..lanes)
            .into_par_iter()
            .map(|lane| {
                let mut search = Search::new(n as usize);
                let mut meter = Meter::new(control);
                for &source in sources.iter().skip(lane as usize).step_by(LANES as usize) {
                    control.check()?;
                    search.run(graph, source, &mut meter)?;
                    let count = done.fetch_add(1, Ordering::Relaxed) + 1;
                    control.report(count, sources.len() as u64);
                }
                Ok(search.scores)
            })
            .collect::<Result<Vec<_>>>()
    })?;
    let pairs = if settings.undirected { 0.5 } else { 1.0 };
    let scale = pairs * f64::from(n) / sources.len().max(1) as f64;
    let mut scores = vec![0.0; n as usize];
    for part in parts {
        scores.iter_mut().zip(part).for_each(|(score, part)| *score += part);
    }
    scores.iter_mut().for_each(|score| *score *= scale);
    Ok(scores)
}

/// Sources of the searches.
fn sources(n: u32, settings: &Settings) -> Vec<u32> {
    let mut sources: Vec<u32> = (0..n).collect();
    if let Some(size) = settings.sampling_size.filter(|&size| size < n) {
        let mut random = Random::new(settings.sampling_seed, 0);
        for at in 0..size {
            sources.swap(at as usize, (at + random.below(n - at)) as usize);
        }
        sources.truncate(size as usize);
        sources.shrink_to_fit();
    }
    sources
}

/// State of a vertex in the search from one source, together because an edge needs all of it.
#[derive(Clone, Copy)]
struct Visit {
    /// Length of the shortest paths from the source.
    length: f64,
    /// Number of shortest paths from the source.
    paths: f64,
    /// Sum, over the vertices beyond this one, of the share of paths that lead through it.
    dependency: f64,
    /// Place in the order of lengths.
    place: u32,
}

impl Visit {
    const NONE: Self =
        Self { length: f64::INFINITY, paths: 0.0, dependency: 0.0, place: UNREACHED };
}

/// Searches of one lane.
struct Search {
    scores: Vec<f64>,
    visits: Vec<Visit>,
    /// Vertices by length.
    order: Vec<u32>,
    /// Bits of a length, which order as the lengths do, and a vertex.
    heap: BinaryHeap<Reverse<(u64, u32)>>,
}

impl Search {
    fn new(n: usize) -> Self {
        Self {
            scores: vec![0.0; n],
            visits: vec![Visit::NONE; n],
            order: Vec::new(),
            heap: BinaryHeap::new(),
        }
    }

    /// Adds the dependencies of one source to the scores.
    fn run(&mut self, graph: &Csr, source: u32, meter: &mut Meter<'_>) -> Result<()> {
        let first = &mut self.visits[source as usize];
        (first.length, first.paths) = (0.0, 1.0);
        if graph.is_weighted() {
            self.dijkstra(graph, source, meter)?;
        } else {
            self.breadth_first(graph, source, meter)?;
        }
        for &v in self.order.iter().rev() {
            meter.add(1 + graph.of(v).len())?;
            let visit = self.visits[v as usize];
            let mut dependency = 0.0;
            for (u, weight) in graph.weighted(v) {
                let beyond = &self.visits[u as usize];
                // Places decide where a weight is lost in rounding.
                if visit.length + weight == beyond.length && beyond.place > visit.place {
                    dependency += visit.paths / beyond.paths * (1.0 + beyond.dependency);
                }
            }
            self.visits[v as usize].dependency = dependency;
            if v != source {
                self.scores[v as usize] += dependency;
            }
        }
        self.order.drain(..).for_each(|v| self.visits[v as usize] = Visit::NONE);
        Ok(())
    }

    fn breadth_first(&mut self, graph: &Csr, source: u32, meter: &mut Meter<'_>) -> Result<()> {
        self.visits[source as usize].place = 0;
        self.order.push(source);
        let mut next = 0;
        while let Some(&v) = self.order.get(next) {
            next += 1;
            meter.add(1 + graph.of(v).len())?;
            let Visit { length, paths, .. } = self.visits[v as usize];
            for &u in graph.of(v) {
                let visit = &mut self.visits[u as usize];
                if visit.place == UNREACHED {
                    let place = self.order.len() as u32;
                    *visit = Visit { length: length + 1.0, paths, dependency: 0.0, place };
                    self.order.push(u);
                } else if visit.length == length + 1.0 {
                    visit.paths += paths;
                }
            }
        }
        Ok(())
    }

    fn dijkstra(&mut self, graph: &Csr, source: u32, meter: &mut Meter<'_>) -> Result<()> {
        self.heap.push(Reverse((0, source)));
        while let Some(Reverse((_, v))) = self.heap.pop() {
            meter.add(1)?;
            let visit = &mut self.visits[v as usize];
            if visit.place != UNREACHED {
                continue;
            }
            visit.place = self.order.len() as u32;
            self.order.push(v);
            let Visit { length: before, paths, .. } = *visit;
            meter.add(graph.of(v).len())?;
            for (u, weight) in graph.weighted(v) {
                let visit = &mut self.visits[u as usize];
                let length = before + weight;
                if visit.place != UNREACHED || length > visit.length {
                    continue;
                }
                if length < visit.length {
                    (visit.length, visit.paths) = (length, 0.0);
                    self.heap.push(Reverse((length.to_bits(), u)));
                }
                visit.paths += paths;
            }
        }
        Ok(())
    }
}

/// For every pair counts the paths to and from each vertex between.
#[cfg(test)]
pub(crate) fn verify(graph: &Csr, sources: &[u32]) -> Vec<f64> {
    let n = graph.vertices() as usize;
    let edges: Vec<_> = graph.all_edges().collect();
    // Lengths by repeated relaxation, then paths in the order of lengths.
    let from = |source: u32| {
        let mut lengths = vec![f64::INFINITY; n];
        lengths[source as usize] = 0.0;
        for _ in 0..n {
            for &(u, v, w) in &edges {
                lengths[v as usize] = lengths[v as usize].min(lengths[u as usize] + w);
            }
        }
        let mut paths = vec![0.0; n];
        paths[source as usize] = 1.0;
        let mut order: Vec<usize> = (0..n).filter(|&v| lengths[v].is_finite()).collect();
        order.sort_by(|&a, &b| lengths[a].total_cmp(&lengths[b]));
        for v in order {
            for &(a, b, w) in edges.iter().filter(|edge| edge.1 as usize == v) {
                if lengths[a as usize] + w == lengths[b as usize] {
                    paths[v] += paths[a as usize];
                }
            }
        }
        (lengths, paths)
    };
    let all: Vec<_> = (0..n as u32).map(from).collect();
    let mut scores = vec![0.0; n];
    for s in sources.iter().map(|&s| s as usize) {
        for t in (0..n).filter(|&t| t != s && all[s].0[t].is_finite()) {
            for v in (0..n).filter(|&v| v != s && v != t) {
                if all[s].0[v] + all[v].0[t] == all[s].0[t] {
                    scores[v] += all[s].1[v] * all[v].1[t] / all[s].1[t];
                }
            }
        }
    }
    scores
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::community::samples::{
        assert_close, assert_refuses, assert_same_on_threads, assert_stops, samples, weigh,
    };
    use crate::testing::random_edges;

    #[test]
    fn scores_of_random_graphs_equal_counting_paths_of_pairs() {
        for (n, edges) in samples(60, 20) {
            let all: Vec<u32> = (0..n).collect();
            for graph in [Csr::from_edges(n, &edges), Csr::from_weighted(n, &weigh(&edges))] {
                let control = Control::default();
                let found = betweenness(&graph, &Settings::default(), &control).unwrap();
                assert_close(&found, &verify(&graph, &all), "directed");
                let both = graph.undirected();
                let settings = Settings { undirected: true, ..Settings::default() };
                let found = betweenness(&both, &settings, &control).unwrap();
                let expected: Vec<_> =
                    verify(&both, &all).iter().map(|score| score / 2.0).collect();
                assert_close(&found, &expected, "undirected");
            }
        }
    }

    #[test]
    fn sample_is_scaled_and_its_size_and_seed_decide() {
        let graph = Csr::from_edges(40, &random_edges(3, 40, 120));
        let run = |size: u32, seed: u64| {
            let settings =
                Settings { sampling_size: Some(size), sampling_seed: seed, undirected: false };
            let found = betweenness(&graph, &settings, &Control::default()).unwrap();
            let chosen = sources(40, &settings);
            let scale = 40.0 / chosen.len() as f64;
            let expected: Vec<_> = verify(&graph, &chosen).iter().map(|s| s * scale).collect();
            assert_close(&found, &expected, "sample");
            let mut different = chosen.clone();
            different.sort_unstable();
            different.dedup();
            assert_eq!(different.len(), chosen.len().min(size as usize));
            found
        };
        assert_ne!(run(10, 1), run(10, 2));
        assert_eq!(run(10, 1), run(10, 1));
        assert_eq!(
            run(1000, 1),
            betweenness(&graph, &Settings::default(), &Control::default()).unwrap()
        );
    }

    #[test]
    fn weights_lost_in_rounding_do_no_harm() {
        // From 2 on, the weights 1e-30 do not change the sum.
        let edges = [(0, 1, 1.0), (1, 2, 1e-30), (2, 1, 1e-30), (2, 3, 1e-30)];
        let graph = Csr::from_weighted(4, &edges);
        let found = betweenness(&graph, &Settings::default(), &Control::default()).unwrap();
        assert_close(&found, &[0.0, 2.0, 2.0, 0.0], "rounding");
    }

    #[test]
    fn it_stops_refuses_and_is_the_same_on_three_threads() {
        let edges = weigh(&random_edges(1, 300, 1500));
        let graph = Csr::from_weighted(300, &edges);
        let settings = Settings::default();
        let run = |control: &Control<'_>| betweenness(&graph, &settings, control);
        assert_stops(run);
        assert_same_on_threads(run);
        let none = Settings { sampling_size: Some(0), ..Settings::default() };
        assert_refuses(betweenness(&graph, &none, &Control::default()), "sampling_size");
        let zero = Csr::from_weighted(2, &[(0, 1, 0.0)]);
        assert_refuses(betweenness(&zero, &settings, &Control::default()), "has 0");
    }
}
