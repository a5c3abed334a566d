//! Eigenvector centrality: a vertex is important if important vertices point to it.
//!
//! Result: one score per vertex: the principal eigenvector of the transposed weight matrix, with
//! Euclidean norm 1.
//!
//! Method: power iteration, in parallel over vertices, beginning with equal scores. Each step adds
//! the old scores to the sums over in-edges: the eigenvectors stay the same, and the iteration also
//! converges on bipartite graphs. Parallel edges add up, loops count. In a directed graph without
//! cycles no such eigenvector exists, and the scores drift to the ends of the longest paths. Sums
//! have a fixed order, so the result is the same to the last bit on any number of threads.
//!
//! Cost: per iteration one pass over the in-lists and one random 8-byte read per edge. *Memory*: 16
//! bytes per vertex.
//!
//! Source: Bonacich, "Power and centrality: a family of measures", 1987.

use super::Scores;
use super::pull;
use crate::community::steps;
use crate::control::{Control, Result};
use crate::csr::Csr;

/// When to stop.
#[derive(Debug, Clone, PartialEq)]
pub struct Settings {
    /// Iterations after which to stop in any case; at least 1.
    pub max_iterations: u32,
    /// Stop as soon as the sum of absolute changes falls below this; 0 runs all iterations.
    pub tolerance: f64,
}

impl Default for Settings {
    /// At most 100 iterations, tolerance 1e-7.
    fn default() -> Self {
        Self { max_iterations: 100, tolerance: 1e-7 }
    }
}

/// Upper estimate of the bytes needed for `n` vertices and `m` edges.
#[must_use]
pub fn bytes(n: u64, _m: u64) -> u64 {
    24 * n
}

/// Scores the vertices of a graph with these in-neighbours.
pub fn eigenvector(incoming: &Csr, settings: &Settings, control: &Control<'_>) -> Result<Scores> {
    pull::require_iterations(settings.max_iterations)?;
    steps::require_tolerance(settings.tolerance)?;
    control.check()?;
    incoming.require_weights("eigenvector centrality", 0.0, control)?;
    let n = incoming.vertices() as usize;
    let scores = vec![1.0 / (n as f64).sqrt(); n];
    let step = |scores: &[f64], next: &mut [f64]| {
        pull::pull_all(incoming, scores, next, control, |v, sum| scores[v] + sum)?;
        pull::normalise(next, control)?;
        Ok(())
    };
    pull::iterate(scores, settings.max_iterations, settings.tolerance, control, step)
}

/// The same steps edge by edge.
#[cfg(test)]
pub(crate) fn verify(n: u32, edges: &[(u32, u32, f64)], iterations: u32) -> Vec<f64> {
    let mut scores = vec![1.0 / f64::from(n).sqrt(); n as usize];
    for _ in 0..iterations {
        let mut next = scores.clone();
        edges.iter().for_each(|&(u, v, w)| next[v as usize] += w * scores[u as usize]);
        let norm = next.iter().map(|score| score * score).sum::<f64>().sqrt();
        scores = next.iter().map(|score| score / norm).collect();
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
    fn scores_of_random_graphs_equal_steps_edge_by_edge() {
        for (n, edges) in samples(60, 60) {
            let weights = weigh(&edges);
            let incoming = Csr::from_weighted(n, &weights).reversed();
            let settings = Settings { max_iterations: 11, tolerance: 0.0 };
            let found = eigenvector(&incoming, &settings, &Control::default()).unwrap();
            assert_close(&found.scores, &verify(n, &weights, 11), "weighted");
        }
    }

    #[test]
    fn star_converges_to_its_eigenvector() {
        // Of a star with k leaves the centre has 1 / sqrt(2) and each leaf 1 / sqrt(2 k).
        let star = Csr::from_edges(9, &(1..9).map(|v| (0, v)).collect::<Vec<_>>()).undirected();
        let settings = Settings { max_iterations: 1000, tolerance: 1e-13 };
        let found = eigenvector(&star, &settings, &Control::default()).unwrap();
        assert!(found.converged);
        assert_close(&found.scores[..2], &[0.5f64.sqrt(), 0.25], "star");
    }

    #[test]
    fn it_stops_refuses_and_is_the_same_on_three_threads() {
        let incoming = Csr::from_weighted(5000, &weigh(&random_edges(1, 5000, 20_000)));
        let settings = Settings::default();
        let run = |control: &Control<'_>| eigenvector(&incoming, &settings, control);
        assert_stops(run);
        assert_same_on_threads(run);
        let control = Control::default();
        let none = Settings { max_iterations: 0, ..Settings::default() };
        assert_refuses(eigenvector(&incoming, &none, &control), "max_iterations");
        let bad = Settings { tolerance: -1.0, ..Settings::default() };
        assert_refuses(eigenvector(&incoming, &bad, &control), "tolerance");
        let negative = Csr::from_weighted(2, &[(0, 1, -1.0)]);
        assert_refuses(eigenvector(&negative, &settings, &control), "-1");
    }
}
