//! HITS: hubs point to good authorities, and good hubs point to authorities.
//!
//! Result: a hub score and an authority score per vertex, each with Euclidean norm 1, or all 0 in a
//! graph without edges.
//!
//! Method: authorities become the sums over in-edges of hub scores, then hubs the sums over
//! out-edges of authority scores; both are normalised. In parallel over vertices, beginning with
//! equal hubs. Parallel edges add up, loops count. Sums have a fixed order, so the result is the
//! same to the last bit on any number of threads.
//!
//! Cost: per iteration one pass over the lists of both sides and one random 8-byte read per edge.
//! *Memory*: 24 bytes per vertex.
//!
//! Source: Kleinberg, "Authoritative sources in a hyperlinked environment", 1999.

use super::{Scores, pull};
use crate::community::steps;
use crate::control::{Control, Result};
use crate::csr::Csr;

/// When to stop.
#[derive(Debug, Clone, PartialEq)]
pub struct Settings {
    /// Iterations after which to stop in any case; at least 1.
    pub max_iterations: u32,
    /// Stop as soon as the sum of absolute changes of the hub scores falls below this; 0 runs all
    /// iterations.
    pub tolerance: f64,
}

impl Default for Settings {
    /// At most 100 iterations, tolerance 1e-7.
    fn default() -> Self {
        Self { max_iterations: 100, tolerance: 1e-7 }
    }
}

/// Scores found by [`hits`].
#[derive(Debug, Clone, PartialEq)]
pub struct Hits {
    /// Hub score per vertex.
    pub hubs: Vec<f64>,
    /// Authority score per vertex.
    pub authorities: Vec<f64>,
    /// Iterations done.
    pub iterations: u32,
    /// Sum of absolute changes of the hub scores in the last iteration; infinite if there was none.
    pub change: f64,
    /// True if the last change was below the tolerance. An empty graph converges at once.
    pub converged: bool,
}

/// Upper estimate of the bytes needed for `n` vertices and `m` edges.
#[must_use]
pub fn bytes(n: u64, _m: u64) -> u64 {
    32 * n
}

/// Scores the vertices of `graph`; `incoming` has its edges reversed.
pub fn hits(
    graph: &Csr,
    incoming: &Csr,
    settings: &Settings,
    control: &Control<'_>,
) -> Result<Hits> {
    pull::require_iterations(settings.max_iterations)?;
    steps::require_tolerance(settings.tolerance)?;
    control.check()?;
    steps::require_reverse(graph, incoming)?;
    graph.require_weights("hits", 0.0, control)?;
    incoming.require_weights("hits", 0.0, control)?;
    let n = graph.vertices() as usize;
    let hubs = vec![1.0 / (n as f64).sqrt(); n];
    let mut authorities = vec![0.0; n];
    let step = |hubs: &[f64], next: &mut [f64]| {
        pull::pull_all(incoming, hubs, &mut authorities, control, |_, sum| sum)?;
        pull::normalise(&mut authorities, control)?;
        pull::pull_all(graph, &authorities, next, control, |_, sum| sum)?;
        pull::normalise(next, control)
    };
    let (most, tolerance) = (settings.max_iterations, settings.tolerance);
    let Scores { scores: hubs, iterations, change, converged } =
        pull::iterate(hubs, most, tolerance, control, step)?;
    Ok(Hits { hubs, authorities, iterations, change, converged })
}

/// The same steps edge by edge.
#[cfg(test)]
pub(crate) fn verify(n: u32, edges: &[(u32, u32, f64)], iterations: u32) -> (Vec<f64>, Vec<f64>) {
    let normal = |scores: Vec<f64>| -> Vec<f64> {
        let norm = scores.iter().map(|score| score * score).sum::<f64>().sqrt();
        scores.iter().map(|score| if norm > 0.0 { score / norm } else { 0.0 }).collect()
    };
    let mut hubs = vec![1.0 / f64::from(n).sqrt(); n as usize];
    let mut authorities = Vec::new();
    for _ in 0..iterations {
        let mut next = vec![0.0; n as usize];
        edges.iter().for_each(|&(u, v, w)| next[v as usize] += w * hubs[u as usize]);
        authorities = normal(next);
        let mut next = vec![0.0; n as usize];
        edges.iter().for_each(|&(u, v, w)| next[u as usize] += w * authorities[v as usize]);
        hubs = normal(next);
    }
    (hubs, authorities)
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
            let graph = Csr::from_weighted(n, &weights);
            let settings = Settings { max_iterations: 11, tolerance: 0.0 };
            let found = hits(&graph, &graph.reversed(), &settings, &Control::default()).unwrap();
            let (hubs, authorities) = verify(n, &weights, 11);
            assert_close(&found.hubs, &hubs, "hubs");
            assert_close(&found.authorities, &authorities, "authorities");
        }
    }

    #[test]
    fn it_stops_refuses_and_is_the_same_on_three_threads() {
        let graph = Csr::from_weighted(5000, &weigh(&random_edges(1, 5000, 20_000)));
        let incoming = graph.reversed();
        let settings = Settings::default();
        let run = |control: &Control<'_>| hits(&graph, &incoming, &settings, control);
        assert_stops(run);
        assert_same_on_threads(run);
        let none = Settings { max_iterations: 0, ..Settings::default() };
        let refused = hits(&graph, &incoming, &none, &Control::default());
        assert_refuses(refused, "max_iterations");
        let refused = hits(&graph, &Csr::from_edges(3, &[]), &settings, &Control::default());
        assert_refuses(refused, "3 vertices");
    }
}
