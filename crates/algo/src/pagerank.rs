//! PageRank: the probability of finding a random surfer at each vertex.
//!
//! Result: one score per vertex, summing to 1, as LDBC Graphalytics defines it: all vertices start
//! at `1/n`, and the score of vertices without out-edges is spread over all vertices in every
//! iteration.
//!
//! ```text
//! score'(v) = (1 - d)/n + d * (sum over u -> v of score(u)/outdegree(u))
//!                    + d/n * (sum over vertices without out-edges of their score)
//! ```
//!
//! Method: pull. Each iteration first divides every score by its vertex's out-degree, then sums
//! these contributions over the in-neighbours in one [`Topology::scan`]. Nothing is shared but what
//! is read, so the parallel form gives each thread a range of vertices; both forms agree to the
//! last bit.
//!
//! Cost: per iteration one scan and one random 8-byte read per edge; two `f64` per vertex, and its
//! degree.
//!
//! Source: Page et al., "The PageRank citation ranking", 1999; Iosup et al., "LDBC Graphalytics",
//! VLDB 2016; the pull form as in Beamer et al., "The GAP benchmark suite", 2015.

use rayon::prelude::*;
use telar_graph::topology::Topology;

use crate::control::{Control, Result};

/// Vertices one parallel task pulls for: large enough to hide the hand-out, small enough to balance
/// the hubs of a skewed graph.
const TASK_VERTICES: usize = 4096;

/// When to stop, and how far a surfer follows edges.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Settings {
    /// Probability of following an edge rather than jumping anywhere; usually 0.85.
    pub damping: f64,
    /// Iterations after which to stop in any case.
    pub iterations_max: u32,
    /// Stop as soon as the sum of absolute changes falls below this; 0 runs all iterations.
    pub tolerance: f64,
}

impl Default for Settings {
    /// Damping 0.85, at most 100 iterations, tolerance 1e-9.
    fn default() -> Self {
        Self { damping: 0.85, iterations_max: 100, tolerance: 1e-9 }
    }
}

impl Settings {
    /// Damping 0.85 and exactly `iterations` iterations, as benchmarks want it.
    pub fn fixed(iterations: u32) -> Self {
        Self { damping: 0.85, iterations_max: iterations, tolerance: 0.0 }
    }
}

/// What [`pagerank`] found.
#[derive(Clone, Debug, PartialEq)]
pub struct Ranks {
    /// Score per vertex.
    pub scores: Vec<f64>,
    /// Iterations done.
    pub iterations: u32,
    /// Sum of absolute changes in the last iteration.
    pub change: f64,
}

/// Returns the out-degree of each vertex below `n`, as [`pagerank`] wants it.
pub fn out_degrees<T: Topology>(outgoing: &T, n: u32) -> Vec<u32> {
    let bound = outgoing.vertex_bound();
    (0..n).map(|v| if v < bound { outgoing.degree(v) } else { 0 }).collect()
}

/// Returns the PageRank of the graph with in-neighbours `incoming`; `out_degrees` has one entry per
/// vertex.
///
/// # Panics
/// If `incoming` holds vertices beyond `out_degrees`.
pub fn pagerank<T: Topology>(incoming: &T, out_degrees: &[u32], settings: &Settings) -> Ranks {
    // Nothing stops it.
    iterate(incoming, out_degrees, settings, &Control::default())
        .unwrap_or_else(|error| unreachable!("a kernel that nothing stops: {error}"))
}

/// As [`pagerank`], to the last bit, on the threads of `control`.
///
/// # Errors
/// [`Error::Stopped`](crate::control::Error::Stopped).
///
/// # Panics
/// If `incoming` holds vertices beyond `out_degrees`.
pub fn pagerank_parallel<T: Topology>(
    incoming: &T,
    out_degrees: &[u32],
    settings: &Settings,
    control: &Control<'_>,
) -> Result<Ranks> {
    // PERF: from inside, the steps of an iteration begin without waking a thread and waiting for it
    // (telar bench algorithms, scaling/PageRank).
    control.install(|| iterate(incoming, out_degrees, settings, control))
}

/// Bytes that [`pagerank`] holds beyond the graph, of its number of vertices: scores, contributions
/// and degrees.
#[must_use]
pub fn bytes(n: u64) -> u64 {
    n * 20
}

/// Contributions and scores of one task's vertices.
type Chunk<'a> = ((usize, &'a mut [f64]), &'a mut [f64]);

/// Runs the iterations.
///
/// Sums over all vertices are added up per task, and then in the order of tasks: so they are the
/// same for any number of threads.
fn iterate<T: Topology>(
    incoming: &T,
    out_degrees: &[u32],
    settings: &Settings,
    control: &Control<'_>,
) -> Result<Ranks> {
    let n = out_degrees.len();
    assert!(incoming.vertex_bound() as usize <= n, "a vertex of the topology has no out-degree");
    let mut ranks = Ranks { scores: vec![1.0 / n as f64; n], iterations: 0, change: f64::INFINITY };
    let mut contributions = vec![0.0; n];
    while ranks.iterations < settings.iterations_max && ranks.change >= settings.tolerance {
        let divide = |((task, contributions), scores): Chunk<'_>| {
            control.check()?;
            let degrees = &out_degrees[task * TASK_VERTICES..];
            let mut dangling = 0.0;
            for ((contribution, score), degree) in contributions.iter_mut().zip(scores).zip(degrees)
            {
                if *degree == 0 {
                    dangling += *score;
                    *contribution = 0.0;
                } else {
                    *contribution = *score / f64::from(*degree);
                }
            }
            Ok(dangling)
        };
        let dangling = for_chunks(control, &mut contributions, &mut ranks.scores, divide)?;
        let base = (1.0 - settings.damping + settings.damping * dangling) / n as f64;
        let contributions = &*contributions;
        let pull_task = |(task, scores): (usize, &mut [f64])| {
            control.check()?;
            let mut sums = [0.0; TASK_VERTICES];
            let sums = &mut sums[..scores.len()];
            pull(incoming, task * TASK_VERTICES, contributions, sums);
            let mut change = 0.0;
            for (score, sum) in scores.iter_mut().zip(sums) {
                let next = base + settings.damping * *sum;
                change += (next - *score).abs();
                *score = next;
            }
            Ok(change)
        };
        let scores = &mut ranks.scores;
        let changes: Result<Vec<f64>> = control
            .install(|| scores.par_chunks_mut(TASK_VERTICES).enumerate().map(pull_task).collect());
        ranks.change = changes?.into_iter().sum();
        ranks.iterations += 1;
        control.report(ranks.iterations.into(), settings.iterations_max.into());
    }
    Ok(ranks)
}

/// Calls `work` for the chunks of all tasks, and adds up what it returns in the order of tasks.
fn for_chunks(
    control: &Control<'_>,
    contributions: &mut [f64],
    scores: &mut [f64],
    work: impl Fn(Chunk<'_>) -> Result<f64> + Send + Sync,
) -> Result<f64> {
    let sums: Result<Vec<f64>> = control.install(|| {
        let contributions = contributions.par_chunks_mut(TASK_VERTICES).enumerate();
        contributions.zip(scores.par_chunks_mut(TASK_VERTICES)).map(work).collect()
    });
    Ok(sums?.into_iter().sum())
}

/// Adds to `sums` what flows into the vertices `first..first + sums.len()`.
fn pull<T: Topology>(incoming: &T, first: usize, contributions: &[f64], sums: &mut [f64]) {
    let bound = incoming.vertex_bound() as usize;
    let vertices = first.min(bound) as u32..(first + sums.len()).min(bound) as u32;
    incoming.scan(vertices, |v, run| sums[v as usize - first] += gather(run, contributions));
}

/// Returns the sum of `values` at the positions in `run`.
///
/// PERF: four sums, because one would wait for the latency of each addition (bench
/// kernel/pagerank).
#[inline]
pub(crate) fn gather(run: &[u32], values: &[f64]) -> f64 {
    let mut sums = [0.0; 4];
    let (fours, rest) = run.as_chunks::<4>();
    for four in fours {
        for (sum, &u) in sums.iter_mut().zip(four) {
            *sum += values[u as usize];
        }
    }
    for (sum, &u) in sums.iter_mut().zip(rest) {
        *sum += values[u as usize];
    }
    (sums[0] + sums[1]) + (sums[2] + sums[3])
}

/// The definition, pushed edge by edge over an edge list.
#[cfg(test)]
pub(crate) fn verify(n: u32, edges: &[(u32, u32)], damping: f64, iterations: u32) -> Vec<f64> {
    let count = f64::from(n);
    let mut degrees = vec![0.0; n as usize];
    for &(u, _) in edges {
        degrees[u as usize] += 1.0;
    }
    let mut scores = vec![1.0 / count; n as usize];
    for _ in 0..iterations {
        let mut next = vec![(1.0 - damping) / count; n as usize];
        for &(u, v) in edges {
            next[v as usize] += damping * scores[u as usize] / degrees[u as usize];
        }
        for u in 0..n as usize {
            if degrees[u] == 0.0 {
                for score in &mut next {
                    *score += damping * scores[u] / count;
                }
            }
        }
        scores = next;
    }
    scores
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Lists, random_edges};

    #[test]
    fn pagerank_on_random_graphs_equals_the_definition() {
        for seed in 0..20 {
            let n = 1 + 17 * seed as u32;
            let edges = random_edges(seed, n, 3 * n as usize);
            let (out, incoming) = (Lists::out(n, &edges), Lists::incoming(n, &edges));
            let found = pagerank(&incoming, &out_degrees(&out, n), &Settings::fixed(15));
            assert_eq!(found.iterations, 15);
            for (a, b) in found.scores.iter().zip(verify(n, &edges, 0.85, 15)) {
                assert!((a - b).abs() < 1e-12, "seed {seed}: {a} is not {b}");
            }
            assert!((found.scores.iter().sum::<f64>() - 1.0).abs() < 1e-9);
        }
    }

    #[test]
    fn parallel_pagerank_equals_serial_bit_for_bit() {
        let n = 3 * TASK_VERTICES as u32 + 5;
        let edges = random_edges(7, n, 60_000);
        let incoming = Lists::incoming(n, &edges);
        let degrees = out_degrees(&Lists::out(n, &edges), n);
        let pool = rayon::ThreadPoolBuilder::new().num_threads(3).build().unwrap();
        let settings = Settings::default();
        let control = Control::default().on(&pool);
        let parallel = pagerank_parallel(&incoming, &degrees, &settings, &control).unwrap();
        assert_eq!(pagerank(&incoming, &degrees, &settings), parallel);
    }

    #[test]
    fn pagerank_ends_when_it_is_told() {
        let n = 3 * TASK_VERTICES as u32;
        let edges = random_edges(7, n, 60_000);
        let incoming = Lists::incoming(n, &edges);
        let degrees = out_degrees(&Lists::out(n, &edges), n);
        let seen = std::sync::atomic::AtomicU64::new(0);
        let progress = |done, _| seen.store(done, std::sync::atomic::Ordering::Relaxed);
        let stop = || seen.load(std::sync::atomic::Ordering::Relaxed) >= 3;
        let control = Control::default().stopped_by(&stop).seen_by(&progress);
        let found = pagerank_parallel(&incoming, &degrees, &Settings::fixed(100), &control);
        assert_eq!(found, Err(crate::control::Error::Stopped));
    }

    #[test]
    fn tolerance_stops_early_and_close_to_the_fixed_point() {
        let edges = random_edges(3, 200, 900);
        let incoming = Lists::incoming(200, &edges);
        let degrees = out_degrees(&Lists::out(200, &edges), 200);
        let found =
            pagerank(&incoming, &degrees, &Settings { tolerance: 1e-6, ..Default::default() });
        assert!(found.iterations < 100 && found.change < 1e-6);
    }

    #[test]
    fn empty_graph_has_no_scores() {
        let incoming = Lists::out(0, &[]);
        assert!(pagerank(&incoming, &[], &Settings::fixed(3)).scores.is_empty());
    }
}
