//! Closeness and harmonic centrality: how near a vertex is to all others.
//!
//! Result: per vertex, for the r other vertices that it reaches and the sum f of the hops to them:
//!
//! ```text
//! closeness = r / f                        0 where r is 0
//! with Wasserman-Faust = r / f * r / (n - 1)
//! harmonic = (sum of 1 / hops) / (n - 1)
//! ```
//!
//! Distances are along `graph`, weights are not used. Neo4j GDS measures the distances *to* a
//! vertex: give the reversed graph for that. Parallel edges and loops change nothing.
//!
//! Method: breadth-first searches from 64 vertices at once, one bit each; batches run in parallel.
//! All sums are over whole numbers or in a fixed order, so the result does not depend on the number
//! of threads.
//!
//! Cost: n / 64 searches; each reads a list as often as a new set of sources arrives there, at most
//! O(m) times 64. *Memory*: 40 bytes per vertex, and up to 40 per vertex and thread.
//!
//! Source: Bavelas, "Communication patterns in task-oriented groups", 1950; Wasserman and Faust,
//! "Social network analysis", 1994; Marchiori and Latora, "Harmony in the small-world", 2000; Then
//! et al., "The more the merrier: efficient multi-source graph traversal", VLDB 2014.

use std::sync::atomic::{AtomicU64, Ordering};

use rayon::prelude::*;

use crate::community::steps::Meter;
use crate::control::{Control, Result};
use crate::csr::Csr;

/// Sources of one search.
const LANES: usize = 64;

/// Treatment of vertices that do not reach all others.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Settings {
    /// True to multiply closeness by the share of the other vertices that are reached.
    pub use_wasserman_faust: bool,
}

/// Scores found by [`closeness`].
#[derive(Debug, Clone, PartialEq)]
pub struct Closeness {
    /// Closeness of each vertex.
    pub closeness: Vec<f64>,
    /// Harmonic centrality of each vertex.
    pub harmonic: Vec<f64>,
}

/// Upper estimate of the bytes needed for `n` vertices and `m` edges on a number of threads.
#[must_use]
pub fn bytes(n: u64, _m: u64, threads: usize) -> u64 {
    40 * n + 40 * n * n.div_ceil(LANES as u64).min(threads as u64)
}

/// Scores the vertices by the hops from each to the others.
pub fn closeness(graph: &Csr, settings: &Settings, control: &Control<'_>) -> Result<Closeness> {
    control.check()?;
    let n = graph.vertices() as usize;
    let mut sums = vec![Reach::default(); n];
    let done = AtomicU64::new(0);
    control.install(|| {
        sums.par_chunks_mut(LANES).enumerate().try_for_each_init(
            || Search::new(n),
            |search, (batch, sums)| {
                control.check()?;
                search.run(graph, (batch * LANES) as u32, sums, &mut Meter::new(control))?;
                let count = sums.len() as u64;
                control.report(done.fetch_add(count, Ordering::Relaxed) + count, n as u64);
                Ok(())
            },
        )
    })?;
    let others = n.saturating_sub(1).max(1) as f64;
    let score = |sum: &Reach| {
        if sum.vertices == 0 {
            return 0.0;
        }
        let near = sum.vertices as f64 / sum.hops as f64;
        near * if settings.use_wasserman_faust { sum.vertices as f64 / others } else { 1.0 }
    };
    Ok(Closeness {
        closeness: sums.iter().map(score).collect(),
        harmonic: sums.iter().map(|sum| sum.harmonic / others).collect(),
    })
}

/// Other vertices that one reaches.
#[derive(Debug, Clone, Copy, Default)]
struct Reach {
    vertices: u64,
    hops: u64,
    harmonic: f64,
}

/// Searches from up to 64 sources, a bit each.
struct Search {
    /// Sources that have reached each vertex.
    seen: Vec<u64>,
    /// Sources that reached each vertex in the last step; 0 outside of `frontier`.
    here: Vec<u64>,
    /// Sources that reach each vertex in this step; 0 outside of `reached`.
    next: Vec<u64>,
    frontier: Vec<u32>,
    reached: Vec<u32>,
}

impl Search {
    fn new(n: usize) -> Self {
        let zeros = || vec![0; n];
        Self {
            seen: zeros(),
            here: zeros(),
            next: zeros(),
            frontier: Vec::new(),
            reached: Vec::new(),
        }
    }

    /// Adds up the hops from the vertices `first..first + sums.len()`.
    fn run(
        &mut self,
        graph: &Csr,
        first: u32,
        sums: &mut [Reach],
        meter: &mut Meter<'_>,
    ) -> Result<()> {
        self.seen.fill(0);
        for (lane, v) in (first..).take(sums.len()).enumerate() {
            self.seen[v as usize] = 1 << lane;
            self.here[v as usize] = 1 << lane;
            self.frontier.push(v);
        }
        let mut hops = 0;
        while !self.frontier.is_empty() {
            hops += 1;
            for v in self.frontier.drain(..) {
                let sources = std::mem::take(&mut self.here[v as usize]);
                meter.add(1 + graph.of(v).len())?;
                for &u in graph.of(v) {
                    let new = sources & !self.seen[u as usize];
                    if new != 0 {
                        let next = &mut self.next[u as usize];
                        if *next == 0 {
                            self.reached.push(u);
                        }
                        *next |= new;
                    }
                }
            }
            let mut counts = [0u64; LANES];
            for &u in &self.reached {
                let mut new = self.next[u as usize];
                self.seen[u as usize] |= new;
                while new != 0 {
                    counts[new.trailing_zeros() as usize] += 1;
                    new &= new - 1;
                }
            }
            for (sum, &count) in sums.iter_mut().zip(&counts) {
                sum.vertices += count;
                sum.hops += count * hops;
                sum.harmonic += count as f64 / hops as f64;
            }
            // `here` is 0 everywhere again.
            std::mem::swap(&mut self.here, &mut self.next);
            std::mem::swap(&mut self.frontier, &mut self.reached);
        }
        Ok(())
    }
}

/// One search after the other; returns closeness with and without Wasserman-Faust, and harmonic.
#[cfg(test)]
pub(crate) fn verify(graph: &Csr) -> [Vec<f64>; 3] {
    let n = graph.vertices();
    let mut scores = [Vec::new(), Vec::new(), Vec::new()];
    for source in 0..n {
        let hops = crate::bfs::bfs(graph, n, source);
        let reached = || hops.iter().filter(|&&hops| hops != crate::bfs::UNREACHED && hops > 0);
        let (count, sum) = (reached().count() as f64, f64::from(reached().sum::<u32>()));
        let plain = if count == 0.0 { 0.0 } else { count / sum };
        let others = f64::from(n - 1).max(1.0);
        scores[0].push(plain * count / others);
        scores[1].push(plain);
        scores[2].push(reached().map(|&hops| 1.0 / f64::from(hops)).sum::<f64>() / others);
    }
    scores
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::community::samples::{assert_close, assert_same_on_threads, assert_stops, samples};
    use crate::testing::random_edges;

    #[test]
    fn scores_of_random_graphs_equal_single_searches() {
        for (n, edges) in samples(60, 200) {
            let graph = Csr::from_edges(n, &edges);
            for graph in [graph.undirected(), graph] {
                let expected = verify(&graph);
                for (use_wasserman_faust, expected_closeness) in [(true, 0), (false, 1)] {
                    let settings = Settings { use_wasserman_faust };
                    let found = closeness(&graph, &settings, &Control::default()).unwrap();
                    assert_close(&found.closeness, &expected[expected_closeness], "closeness");
                    assert_close(&found.harmonic, &expected[2], "harmonic");
                }
            }
        }
    }

    #[test]
    fn it_stops_and_is_the_same_on_three_threads() {
        let graph = Csr::from_edges(700, &random_edges(1, 700, 2000));
        let settings = Settings::default();
        assert_stops(|control| closeness(&graph, &settings, control));
        assert_same_on_threads(|control| closeness(&graph, &settings, control));
    }
}
