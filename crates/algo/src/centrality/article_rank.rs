//! ArticleRank: PageRank in which edges from vertices with few edges weigh less.
//!
//! Result: one score per vertex. The scores do not sum to 1.
//!
//! ```text
//! score'(v) = (1 - d) r(v) + d * sum over u -> v of score(u) w(u, v) / (W(u) + mean of W)
//! ```
//!
//! W(u) is the weight of the out-edges of u. r(v) is 1, or with source nodes n times the share of v
//! in the restart weights. Parallel edges add up, loops count.
//!
//! Method: pull, in parallel over vertices, beginning at (1 - d) r(v). Sums have a fixed order, so
//! the result is the same to the last bit on any number of threads.
//!
//! Cost: per iteration one pass over the in-lists and one random 8-byte read per edge. *Memory*: 32
//! bytes per vertex, 8 more with source nodes.
//!
//! Source: Li and Willett, "ArticleRank: a PageRank-based alternative to numbers of citations for
//! analysing citation networks", 2009.

use super::Scores;
use super::pagerank::Settings;
use super::pull;
use crate::community::steps;
use crate::control::{Control, Result};
use crate::csr::Csr;

/// Upper estimate of the bytes needed for `n` vertices and `m` edges.
#[must_use]
pub fn bytes(n: u64, _m: u64) -> u64 {
    48 * n
}

/// Scores the vertices of `graph`; `incoming` has its edges reversed. The settings are those of
/// PageRank.
pub fn article_rank(
    graph: &Csr,
    incoming: &Csr,
    settings: &Settings,
    control: &Control<'_>,
) -> Result<Scores> {
    settings.check()?;
    control.check()?;
    steps::require_reverse(graph, incoming)?;
    graph.require_weights("article rank", 0.0, control)?;
    incoming.require_weights("article rank", 0.0, control)?;
    let n = graph.vertices() as usize;
    let restart = pull::restart(graph.vertices(), &settings.source_nodes)?;
    let jump = |v: usize| {
        (1.0 - settings.damping) * restart.as_ref().map_or(1.0, |restart| restart[v] * n as f64)
    };
    let strengths = pull::strengths(graph, control)?;
    let mean = steps::sum(control, n, |v| strengths[v])? / n as f64;
    let scores: Vec<f64> = (0..n).map(jump).collect();
    let mut contributions = vec![0.0; n];
    let step = |scores: &[f64], next: &mut [f64]| {
        control.fill(&mut contributions, steps::GRAIN, |first, chunk| {
            for (v, contribution) in (first..).zip(chunk) {
                let strength = strengths[v];
                *contribution = if strength > 0.0 { scores[v] / (strength + mean) } else { 0.0 };
            }
        })?;
        pull::pull_all(incoming, &contributions, next, control, |v, sum| {
            jump(v) + settings.damping * sum
        })?;
        Ok(())
    };
    pull::iterate(scores, settings.max_iterations, settings.tolerance, control, step)
}

/// The definition, pushed edge by edge.
#[cfg(test)]
pub(crate) fn verify(
    edges: &[(u32, u32, f64)],
    restart: &[f64],
    damping: f64,
    iterations: u32,
) -> Vec<f64> {
    let mut strengths = vec![0.0; restart.len()];
    edges.iter().for_each(|edge| strengths[edge.0 as usize] += edge.2);
    let mean = strengths.iter().sum::<f64>() / restart.len() as f64;
    let jumps: Vec<f64> = restart.iter().map(|r| r * (1.0 - damping)).collect();
    let mut scores = jumps.clone();
    for _ in 0..iterations {
        let mut next = jumps.clone();
        for &(u, v, weight) in edges {
            let share = weight / (strengths[u as usize] + mean);
            next[v as usize] += damping * scores[u as usize] * share;
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
        for (n, edges) in samples(60, 60) {
            let weights = weigh(&edges);
            let graph = Csr::from_weighted(n, &weights);
            let mut settings =
                Settings { max_iterations: 13, tolerance: 0.0, ..Settings::default() };
            let control = Control::default();
            let mut restart = vec![1.0; n as usize];
            let found = article_rank(&graph, &graph.reversed(), &settings, &control).unwrap();
            assert_close(&found.scores, &verify(&weights, &restart, 0.85, 13), "all");
            if n > 0 {
                settings.source_nodes = vec![(n / 2, 3.0)];
                restart.fill(0.0);
                restart[n as usize / 2] = f64::from(n);
                let found = article_rank(&graph, &graph.reversed(), &settings, &control).unwrap();
                assert_close(&found.scores, &verify(&weights, &restart, 0.85, 13), "source");
            }
        }
    }

    #[test]
    fn it_stops_refuses_and_is_the_same_on_three_threads() {
        let graph = Csr::from_weighted(5000, &weigh(&random_edges(1, 5000, 20_000)));
        let incoming = graph.reversed();
        let settings = Settings::default();
        let run = |control: &Control<'_>| article_rank(&graph, &incoming, &settings, control);
        assert_stops(run);
        assert_same_on_threads(run);
        let bad = Settings { damping: -0.1, ..Settings::default() };
        let refused = article_rank(&graph, &incoming, &bad, &Control::default());
        assert_refuses(refused, "damping");
    }
}
