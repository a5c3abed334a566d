//! PageRank over a packed projection: weighted and personalised.
//!
//! Result: one score per vertex, summing to 1: the probability to find a random surfer there.
//!
//! ```text
//! score'(v) = (1 - d) r(v) + d * (sum over u -> v of score(u) w(u, v) / W(u))
//!                          + d r(v) * (sum over u with W(u) = 0 of score(u))
//! ```
//!
//! r(v) is 1/n, or with source nodes their share of the restart weights; W(u) the weight of the
//! out-edges of u. Without weights and source nodes this is [`crate::pagerank`]. Parallel edges add
//! up, loops count.
//!
//! Method: pull, in parallel over vertices. Scores begin at r(v). Sums have a fixed order, so the
//! result is the same to the last bit on any number of threads.
//!
//! Cost: per iteration one pass over the in-lists and one random 8-byte read per edge. *Memory*: 32
//! bytes per vertex, 8 more with source nodes.
//!
//! Source: Page et al., "The PageRank citation ranking", 1999; Haveliwala, "Topic-sensitive
//! PageRank", 2002.

use super::Scores;
use super::pull;
use crate::community::steps;
use crate::control::{Control, Result};
use crate::csr::Csr;

/// When to stop, and where a surfer begins again.
#[derive(Debug, Clone, PartialEq)]
pub struct Settings {
    /// Probability of following an edge rather than jumping, from 0 to 1.
    pub damping: f64,
    /// Iterations after which to stop in any case; at least 1.
    pub max_iterations: u32,
    /// Stop as soon as the sum of absolute changes falls below this; 0 runs all iterations.
    pub tolerance: f64,
    /// Vertices to which a surfer jumps, with restart weights of at least 0 whose sum is above 0.
    /// Empty: all vertices alike.
    pub source_nodes: Vec<(u32, f64)>,
}

impl Default for Settings {
    /// Damping 0.85, at most 20 iterations, tolerance 1e-7, no source nodes.
    fn default() -> Self {
        Self { damping: 0.85, max_iterations: 20, tolerance: 1e-7, source_nodes: Vec::new() }
    }
}

impl Settings {
    pub(super) fn check(&self) -> Result<()> {
        steps::require_between("damping", self.damping, 0.0, 1.0)?;
        steps::require_tolerance(self.tolerance)?;
        pull::require_iterations(self.max_iterations)
    }
}

/// Upper estimate of the bytes needed for `n` vertices and `m` edges.
#[must_use]
pub fn bytes(n: u64, _m: u64) -> u64 {
    48 * n
}

/// Scores the vertices of `graph`; `incoming` has its edges reversed.
pub fn pagerank(
    graph: &Csr,
    incoming: &Csr,
    settings: &Settings,
    control: &Control<'_>,
) -> Result<Scores> {
    settings.check()?;
    control.check()?;
    steps::require_reverse(graph, incoming)?;
    graph.require_weights("pagerank", 0.0, control)?;
    incoming.require_weights("pagerank", 0.0, control)?;
    let n = graph.vertices() as usize;
    let restart = pull::restart(graph.vertices(), &settings.source_nodes)?;
    let restart_of = |v: usize| restart.as_ref().map_or(1.0 / n as f64, |restart| restart[v]);
    let strengths = pull::strengths(graph, control)?;
    let scores: Vec<f64> = (0..n).map(restart_of).collect();
    let mut contributions = vec![0.0; n];
    let step = |scores: &[f64], next: &mut [f64]| {
        control.fill(&mut contributions, steps::GRAIN, |first, chunk| {
            for (v, contribution) in (first..).zip(chunk) {
                let strength = strengths[v];
                *contribution = if strength > 0.0 { scores[v] / strength } else { 0.0 };
            }
        })?;
        let dangling =
            steps::sum(control, n, |v| if strengths[v] > 0.0 { 0.0 } else { scores[v] })?;
        let jumps = 1.0 - settings.damping + settings.damping * dangling;
        pull::pull_all(incoming, &contributions, next, control, |v, sum| {
            jumps * restart_of(v) + settings.damping * sum
        })?;
        Ok(())
    };
    pull::iterate(scores, settings.max_iterations, settings.tolerance, control, step)
}

/// The definition, pushed edge by edge.
#[cfg(test)]
pub(crate) fn verify(
    n: u32,
    edges: &[(u32, u32, f64)],
    restart: &[f64],
    damping: f64,
    iterations: u32,
) -> Vec<f64> {
    let mut strengths = vec![0.0; n as usize];
    edges.iter().for_each(|edge| strengths[edge.0 as usize] += edge.2);
    let mut scores = restart.to_vec();
    for _ in 0..iterations {
        let lost: f64 = (0..n as usize).filter(|&u| strengths[u] == 0.0).map(|u| scores[u]).sum();
        let jumps = 1.0 - damping + damping * lost;
        let mut next: Vec<f64> = restart.iter().map(|r| r * jumps).collect();
        for &(u, v, weight) in edges.iter().filter(|edge| edge.2 > 0.0) {
            next[v as usize] += damping * scores[u as usize] * weight / strengths[u as usize];
        }
        scores = next;
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
    fn scores_of_random_graphs_equal_the_definition() {
        for (at, (n, edges)) in samples(60, 60).enumerate() {
            let mut weights = weigh(&edges);
            weights.iter_mut().step_by(5).for_each(|edge| edge.2 = 0.0);
            let graph = Csr::from_weighted(n, &weights);
            let control = Control::default();
            let mut settings = Settings {
                max_iterations: 13,
                tolerance: 0.0,
                damping: 0.8,
                source_nodes: Vec::new(),
            };
            let mut restart = vec![1.0 / f64::from(n); n as usize];
            let found = pagerank(&graph, &graph.reversed(), &settings, &control).unwrap();
            let expected = verify(n, &weights, &restart, 0.8, 13);
            assert_close(&found.scores, &expected, "weighted");
            if n > 0 {
                assert_close(&[found.scores.iter().sum()], &[1.0], "sum");
                assert_eq!((found.iterations, found.converged), (13, false));
                let (a, b) = (at as u32 % n, n - 1);
                settings.source_nodes = vec![(a, 1.0), (b, 2.0), (a, 1.0)];
                restart.fill(0.0);
                restart[a as usize] += 0.5;
                restart[b as usize] += 0.5;
                let ones: Vec<_> = edges.iter().map(|&(u, v)| (u, v, 1.0)).collect();
                let plain = Csr::from_edges(n, &edges);
                let found = pagerank(&plain, &plain.reversed(), &settings, &control).unwrap();
                let expected = verify(n, &ones, &restart, 0.8, 13);
                assert_close(&found.scores, &expected, "personalised");
            }
        }
    }

    #[test]
    fn it_stops_refuses_and_is_the_same_on_three_threads() {
        let graph = Csr::from_weighted(5000, &weigh(&random_edges(1, 5000, 20_000)));
        let incoming = graph.reversed();
        let settings = Settings::default();
        let run = |control: &Control<'_>| pagerank(&graph, &incoming, &settings, control);
        assert_stops(run);
        assert_same_on_threads(run);
        let refuses = |settings: Settings, part: &str| {
            assert_refuses(pagerank(&graph, &incoming, &settings, &Control::default()), part);
        };
        refuses(Settings { damping: 1.5, ..Settings::default() }, "damping");
        refuses(Settings { tolerance: f64::NAN, ..Settings::default() }, "tolerance");
        refuses(Settings { max_iterations: 0, ..Settings::default() }, "max_iterations");
        refuses(Settings { source_nodes: vec![(5000, 1.0)], ..Settings::default() }, "5000");
        refuses(Settings { source_nodes: vec![(1, -1.0)], ..Settings::default() }, "-1");
        refuses(Settings { source_nodes: vec![(1, 0.0)], ..Settings::default() }, "add up to 0");
        let negative = Csr::from_weighted(2, &[(0, 1, -1.0)]);
        let refused = pagerank(&negative, &negative.reversed(), &settings, &Control::default());
        assert_refuses(refused, "-1");
    }

    #[test]
    fn tolerance_ends_it_early() {
        let graph = Csr::from_edges(500, &random_edges(2, 500, 3000));
        let settings = Settings { tolerance: 1e-5, max_iterations: 100, ..Settings::default() };
        let found = pagerank(&graph, &graph.reversed(), &settings, &Control::default()).unwrap();
        assert!(found.converged && found.iterations < 60 && found.change < 1e-5);
    }
}
