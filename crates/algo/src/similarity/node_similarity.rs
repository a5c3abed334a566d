//! Node similarity: the vertices whose neighbours are most like those of each vertex.
//!
//! Result: pairs of a vertex and a similar one, at most [`Settings::top_k`] for each, by descending
//! similarity and then by number; both directions of a pair where it is among the best of both.
//! With [`Settings::top_n`] the best of all pairs, by descending similarity and then by numbers.
//!
//! Method: exact. A vertex goes through its neighbours and through the vertices that have these as
//! neighbours too, and adds up what they share in an array; vertices without a common neighbour are
//! never met. Parallel edges count once, with the sum of their weights; a loop makes a vertex a
//! neighbour of itself. Weights count if the graph has them.
//!
//! Cost: O(sum over vertices x of squared in-degree). *Memory*: 28 bytes per vertex on each thread,
//! 16 per vertex, 16 per pair of the result, and copies of both graphs without parallel edges where
//! they have such.
//!
//! Source: Neo4j GDS, "Node Similarity"; Leskovec, Rajaraman and Ullman, "Mining of massive
//! datasets", chapter 3; measures as in [`metric`](super::metric).

use std::cmp::Ordering;
use std::sync::{Mutex, PoisonError};

use rayon::prelude::*;

use super::metric::{Metric, Size, without_parallel};
use crate::control::{Control, Error, Result};
use crate::csr::Csr;

/// Vertices of one task.
const GRAIN: u32 = 64;

/// Settings of [`node_similarity`].
#[derive(Debug, Clone, PartialEq)]
pub struct Settings {
    /// Measure of similarity.
    pub similarity_metric: Metric,
    /// Similar vertices per vertex; at least 1.
    pub top_k: u32,
    /// Pairs of the result, the best of those that `top_k` leaves; 0 is all.
    pub top_n: u64,
    /// Least similarity of a pair; a finite number above 0.
    pub similarity_cutoff: f64,
    /// Least number of distinct neighbours of a vertex that is compared; at least 1.
    pub degree_cutoff: u32,
    /// Largest number of distinct neighbours of a vertex that is compared; at least
    /// `degree_cutoff`.
    pub upper_degree_cutoff: u32,
}

impl Default for Settings {
    /// Jaccard, 10 per vertex, all pairs, above 1e-42, any degree: the defaults of GDS.
    fn default() -> Self {
        Self {
            similarity_metric: Metric::Jaccard,
            top_k: 10,
            top_n: 0,
            similarity_cutoff: 1e-42,
            degree_cutoff: 1,
            upper_degree_cutoff: u32::MAX,
        }
    }
}

/// Two vertices and their similarity.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Pair {
    /// The vertex whose similar vertices were looked for.
    pub source: u32,
    /// One of these.
    pub target: u32,
    /// The measure.
    pub similarity: f64,
}

/// Result of [`node_similarity`].
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Similarities {
    /// The pairs.
    pub pairs: Vec<Pair>,
    /// Vertices that were compared: with a degree within the limits.
    pub nodes_compared: u64,
}

/// Upper estimate of memory in bytes beyond the graph and its reverse.
#[must_use]
pub fn bytes(n: u64, m: u64, settings: &Settings, threads: u64) -> u64 {
    let pairs = n.saturating_mul(u64::from(settings.top_k).min(n));
    28 * n * threads + 16 * n + pairs.saturating_mul(32) + 2 * (8 * n + 12 * m)
}

/// Fails unless both graphs have the same size and weights that can be compared.
pub(super) fn require(graph: &Csr, incoming: &Csr, control: &Control<'_>) -> Result<()> {
    if graph.vertices() != incoming.vertices() || graph.edges() != incoming.edges() {
        return Err(Error::invalid(format!(
            "node similarity takes a graph and its reverse; these have {} and {} vertices, {} and \
             {} edges",
            graph.vertices(),
            incoming.vertices(),
            graph.edges(),
            incoming.edges()
        )));
    }
    graph.require_weights("node similarity", 0.0, control)
}

/// The most similar vertices of each, by their neighbours in `graph`; `incoming` holds the same
/// edges the other way round, and is `graph` itself where that is undirected.
pub fn node_similarity(
    graph: &Csr,
    incoming: &Csr,
    settings: &Settings,
    control: &Control<'_>,
) -> Result<Similarities> {
    settings.require()?;
    require(graph, incoming, control)?;
    let (own, other) = (without_parallel(graph, control)?, without_parallel(incoming, control)?);
    let (graph, incoming) = (own.as_ref().unwrap_or(graph), other.as_ref().unwrap_or(incoming));
    let n = graph.vertices();
    let metric = settings.similarity_metric;
    let mut sizes = vec![Size { count: 0, sum: 0.0 }; n as usize];
    control.fill(&mut sizes, 1 << 12, |first, chunk| {
        for (at, size) in chunk.iter_mut().enumerate() {
            *size = metric.size(graph.weighted((first + at) as u32));
        }
    })?;
    let search = Search { graph, incoming, sizes: &sizes, settings, control };
    let spare: Mutex<Vec<Scratch>> = Mutex::new(Vec::new());
    let done = Mutex::new(0u64);
    let lock = || spare.lock().unwrap_or_else(PoisonError::into_inner);
    let task = |task: u32| -> Result<Vec<Pair>> {
        let mut scratch = lock().pop().unwrap_or_else(|| Scratch {
            shared: vec![0.0; n as usize],
            met: Vec::new(),
            found: Vec::new(),
            work: 0,
        });
        let vertices = task * GRAIN..(task + 1).saturating_mul(GRAIN).min(n);
        let mut pairs = Vec::new();
        for u in vertices.clone().filter(|u| search.compares(*u)) {
            search.of(u, &mut scratch, &mut pairs)?;
        }
        control.check()?;
        lock().push(scratch);
        best(&mut pairs, settings.top_n);
        let mut done = done.lock().unwrap_or_else(PoisonError::into_inner);
        *done += u64::from(vertices.end - vertices.start);
        control.report(*done, u64::from(n));
        Ok(pairs)
    };
    let pairs: Result<Vec<Vec<Pair>>> =
        control.install(|| (0..n.div_ceil(GRAIN)).into_par_iter().map(task).collect());
    let mut pairs = pairs?.concat();
    best(&mut pairs, settings.top_n);
    let nodes_compared = (0..n).filter(|u| search.compares(*u)).count() as u64;
    Ok(Similarities { pairs, nodes_compared })
}

/// Keeps the best `top_n` pairs in their order, or all as they are if that is 0.
fn best(pairs: &mut Vec<Pair>, top_n: u64) {
    if top_n > 0 {
        pairs.sort_unstable_by(|a, b| {
            descending(a.similarity, b.similarity)
                .then((a.source, a.target).cmp(&(b.source, b.target)))
        });
        pairs.truncate(usize::try_from(top_n).unwrap_or(usize::MAX));
    }
}

fn descending(a: f64, b: f64) -> Ordering {
    b.total_cmp(&a)
}

impl Settings {
    fn require(&self) -> Result<()> {
        if self.top_k == 0 {
            return Err(Error::invalid("top_k is 0; it is at least 1"));
        }
        if !(self.similarity_cutoff.is_finite() && self.similarity_cutoff > 0.0) {
            return Err(Error::invalid(format!(
                "similarity_cutoff is {}; it is a finite number above 0",
                self.similarity_cutoff
            )));
        }
        if self.degree_cutoff == 0 || self.upper_degree_cutoff < self.degree_cutoff {
            return Err(Error::invalid(format!(
                "degree_cutoff is {} and upper_degree_cutoff {}; the first is at least 1, the \
                 second not below it",
                self.degree_cutoff, self.upper_degree_cutoff
            )));
        }
        Ok(())
    }
}

/// Arrays of one thread.
struct Scratch {
    /// What a vertex shares with the one in question; all 0 in between.
    shared: Vec<f64>,
    /// Vertices that share something.
    met: Vec<u32>,
    found: Vec<(f64, u32)>,
    work: usize,
}

struct Search<'a> {
    graph: &'a Csr,
    incoming: &'a Csr,
    sizes: &'a [Size],
    settings: &'a Settings,
    control: &'a Control<'a>,
}

impl Search<'_> {
    fn compares(&self, v: u32) -> bool {
        let limits = self.settings.degree_cutoff..=self.settings.upper_degree_cutoff;
        limits.contains(&self.sizes[v as usize].count)
    }

    /// Adds the pairs of `u`.
    fn of(&self, u: u32, scratch: &mut Scratch, pairs: &mut Vec<Pair>) -> Result<()> {
        let metric = self.settings.similarity_metric;
        let plain = !(metric.weighs() && self.graph.is_weighted());
        for (x, w) in self.graph.weighted(u) {
            let sharing = self.incoming.of(x);
            let degree = sharing.len() as u32;
            let equal = metric.share(1.0, 1.0, degree);
            for first in (0..sharing.len()).step_by(1 << 16) {
                let piece = &sharing[first..sharing.len().min(first + (1 << 16))];
                scratch.work += piece.len();
                if scratch.work >= 1 << 16 {
                    self.control.check()?;
                    scratch.work = 0;
                }
                let weights = self.incoming.weights_of(x).map(|weights| &weights[first..]);
                for (at, &v) in piece.iter().enumerate() {
                    let share = match weights {
                        Some(weights) if !plain => metric.share(w, weights[at], degree),
                        _ => equal,
                    };
                    // A vertex that shares only weights of 0 may be met twice, and is left out.
                    let shared = &mut scratch.shared[v as usize];
                    if *shared == 0.0 {
                        scratch.met.push(v);
                    }
                    *shared += share;
                }
            }
        }
        scratch.found.clear();
        let a = self.sizes[u as usize];
        for v in scratch.met.drain(..) {
            let shared = std::mem::take(&mut scratch.shared[v as usize]);
            if v == u || shared == 0.0 || !self.compares(v) {
                continue;
            }
            let value = metric.value(shared, a, self.sizes[v as usize]);
            if value >= self.settings.similarity_cutoff {
                scratch.found.push((value, v));
            }
        }
        let better = |a: &(f64, u32), b: &(f64, u32)| descending(a.0, b.0).then(a.1.cmp(&b.1));
        let count = self.settings.top_k as usize;
        if scratch.found.len() > count {
            scratch.found.select_nth_unstable_by(count - 1, better);
            scratch.found.truncate(count);
        }
        scratch.found.sort_unstable_by(better);
        let pair = |&(similarity, target): &(f64, u32)| Pair { source: u, target, similarity };
        pairs.extend(scratch.found.iter().map(pair));
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::similarity::metric::{ALL, verify};
    use crate::testing::random_edges;

    #[test]
    fn best_of_random_graphs_equal_all_pairs() {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(3).build().unwrap();
        for seed in 0..14u64 {
            let n = 1 + 8 * seed as u32;
            let edges: Vec<_> = random_edges(seed, n, 3 * n as usize)
                .iter()
                .zip(0..)
                .map(|(&(u, v), at)| (u, v, f64::from(at % 5)))
                .collect();
            let plain: Vec<_> = edges.iter().map(|&(u, v, _)| (u, v)).collect();
            let weighted = seed % 2 == 1;
            let graph = match weighted {
                true => Csr::from_weighted(n, &edges),
                false => Csr::from_edges(n, &plain),
            };
            let incoming = graph.reversed();
            let metric = ALL[seed as usize % ALL.len()];
            let settings = Settings {
                similarity_metric: metric,
                top_k: 1 + seed as u32 % 4,
                similarity_cutoff: if seed % 3 == 0 { 0.2 } else { 1e-42 },
                degree_cutoff: 1 + seed as u32 % 3,
                upper_degree_cutoff: if seed % 4 == 0 { 6 } else { u32::MAX },
                ..Settings::default()
            };
            let found = node_similarity(&graph, &incoming, &settings, &Control::default());
            let found = found.unwrap();
            let control = Control::default().on(&pool);
            assert_eq!(node_similarity(&graph, &incoming, &settings, &control).unwrap(), found);

            let count = |v: u32| graph.of(v).chunk_by(|a, b| a == b).count() as u32;
            let limits = settings.degree_cutoff..=settings.upper_degree_cutoff;
            let compared: Vec<_> = (0..n).filter(|v| limits.contains(&count(*v))).collect();
            assert_eq!(found.nodes_compared, compared.len() as u64);
            for u in 0..n {
                let of: Vec<_> = found.pairs.iter().filter(|pair| pair.source == u).collect();
                let mut expected: Vec<f64> = compared
                    .iter()
                    .filter(|v| **v != u && compared.contains(&u))
                    .filter(|v| {
                        // Preferential attachment is looked for among those with a common one.
                        verify(Metric::CommonNeighbors, &edges, false, u, **v) > 0.0
                    })
                    .map(|v| verify(metric, &edges, weighted, u, *v))
                    .filter(|value| *value >= settings.similarity_cutoff - 1e-12)
                    .filter(|value| *value > 0.0)
                    .collect();
                expected.sort_by(|a, b| b.total_cmp(a));
                expected.truncate(settings.top_k as usize);
                assert_eq!(of.len(), expected.len(), "seed {seed}, vertex {u}");
                for (pair, expected) in of.iter().zip(expected) {
                    assert!((pair.similarity - expected).abs() < 1e-12 * (1.0 + expected));
                    let value = verify(metric, &edges, weighted, u, pair.target);
                    assert!((pair.similarity - value).abs() < 1e-12 * (1.0 + value));
                }
            }
            let mut all = found.pairs.clone();
            best(&mut all, 5);
            let top = Settings { top_n: 5, ..settings };
            let found = node_similarity(&graph, &incoming, &top, &control).unwrap();
            assert_eq!(found.pairs, all);
        }
    }

    #[test]
    fn bad_settings_are_refused_and_stop_is_heard() {
        let graph = Csr::from_edges(3, &[(0, 2), (1, 2)]);
        let incoming = graph.reversed();
        let go = |settings: &Settings, control: &Control<'_>| {
            node_similarity(&graph, &incoming, settings, control)
        };
        let good = Settings::default();
        for bad in [
            Settings { top_k: 0, ..good.clone() },
            Settings { similarity_cutoff: 0.0, ..good.clone() },
            Settings { similarity_cutoff: f64::NAN, ..good.clone() },
            Settings { degree_cutoff: 0, ..good.clone() },
            Settings { degree_cutoff: 3, upper_degree_cutoff: 2, ..good.clone() },
        ] {
            assert!(go(&bad, &Control::default()).is_err(), "{bad:?}");
        }
        let stop = || true;
        let control = Control::default().stopped_by(&stop);
        assert_eq!(go(&good, &control), Err(Error::Stopped));
        let found = go(&good, &Control::default()).unwrap();
        assert_eq!(found.pairs.len(), 2);
        let none = Csr::from_edges(0, &[]);
        let found = node_similarity(&none, &none, &good, &Control::default()).unwrap();
        assert_eq!(found, Similarities::default());
        assert!(node_similarity(&graph, &none, &good, &Control::default()).is_err());
    }
}
