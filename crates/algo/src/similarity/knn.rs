//! K nearest neighbours: the vertices whose vectors are most like those of each vertex.
//!
//! Result: pairs of a vertex and a similar one, at most [`Settings::top_k`] for each, by descending
//! similarity and then by number.
//!
//! Method: up to [`Settings::exact_limit`] vertices each is compared with all. Above that
//! NN-descent, which finds most of them: each vertex starts with random neighbours; in an iteration
//! it is compared with the neighbours of its neighbours, in both directions, where one of the two
//! steps is new, and keeps the best; the search ends when few change. A vertex changes only its own
//! list and reads the lists of the iteration before, so the result does not depend on threads; in
//! return two vertices may be compared twice.
//!
//! Cost: O(n^2 dimension) exact; about n^1.14 dimension by the paper's measurements else. *Memory*:
//! 4 bytes per vertex, 16 per vertex and neighbour of the result; NN-descent about 60 more per
//! vertex and neighbour.
//!
//! Source: Dong, Charikar and Li, "Efficient k-nearest neighbor graph construction for generic
//! similarity measures", WWW 2011; settings as in Neo4j GDS.

use std::cmp::Ordering;

use rayon::prelude::*;

use super::descent::Descent;
use super::node_similarity::Pair;
use crate::control::{Control, Error, Result};

/// Vertices of one task.
const GRAIN: usize = 64;

/// Numbers multiplied between two questions whether to stop.
pub(super) const CHECK: usize = 1 << 18;

/// Measure of the similarity of two vectors.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum VectorMetric {
    /// Cosine of the angle, -1 to 1; 0 with a vector of length 0.
    #[default]
    Cosine,
    /// `1 / (1 + distance)`, 0 to 1.
    Euclidean,
}

/// Settings of [`knn`].
#[derive(Debug, Clone, PartialEq)]
pub struct Settings {
    /// Similar vertices per vertex; 1 to 1024.
    pub top_k: u32,
    /// Measure of similarity.
    pub similarity_metric: VectorMetric,
    /// Least similarity of a pair of the result; not NaN.
    pub similarity_cutoff: f64,
    /// New neighbours that are drawn in an iteration, and neighbours in the other direction, as a
    /// share of `top_k`; above 0, at most 1.
    pub sample_rate: f64,
    /// NN-descent ends when less than this share of all neighbours change; 0 to 1.
    pub delta_threshold: f64,
    /// Iterations of NN-descent at most; at least 1.
    pub max_iterations: u32,
    /// Random vertices that each is compared with in an iteration, against local optima.
    pub random_joins: u32,
    /// Vertices up to which all are compared with all.
    pub exact_limit: u32,
    /// Seed of what is drawn.
    pub seed: u64,
}

impl Default for Settings {
    /// 10 per vertex, cosine, at least 0, sample rate 0.5, delta threshold 0.001, 100 iterations,
    /// 10 random joins, as in GDS; exact up to 4096 vertices, seed 0.
    fn default() -> Self {
        Self {
            top_k: 10,
            similarity_metric: VectorMetric::Cosine,
            similarity_cutoff: 0.0,
            sample_rate: 0.5,
            delta_threshold: 0.001,
            max_iterations: 100,
            random_joins: 10,
            exact_limit: 4096,
            seed: 0,
        }
    }
}

impl Settings {
    fn require(&self) -> Result<()> {
        if !(1..=1024).contains(&self.top_k) {
            return Err(Error::invalid(format!("top_k is {}; it is 1 to 1024", self.top_k)));
        }
        if self.similarity_cutoff.is_nan() {
            return Err(Error::invalid("similarity_cutoff is not a number"));
        }
        if !(self.sample_rate > 0.0 && self.sample_rate <= 1.0) {
            return Err(Error::invalid(format!(
                "sample_rate is {}; it is above 0 and at most 1",
                self.sample_rate
            )));
        }
        if !(0.0..=1.0).contains(&self.delta_threshold) {
            return Err(Error::invalid(format!(
                "delta_threshold is {}; it is 0 to 1",
                self.delta_threshold
            )));
        }
        if self.max_iterations == 0 || self.random_joins > 1024 {
            return Err(Error::invalid(format!(
                "max_iterations is {} and random_joins {}; the first is at least 1, the second at \
                 most 1024",
                self.max_iterations, self.random_joins
            )));
        }
        Ok(())
    }
}

/// Result of [`knn`].
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Nearest {
    /// The pairs.
    pub pairs: Vec<Pair>,
    /// Iterations done; 1 for an exact search.
    pub ran_iterations: u32,
    /// True if few neighbours changed in the last iteration; true for an exact search.
    pub did_converge: bool,
    /// Pairs of vertices that were compared.
    pub node_pairs_considered: u64,
}

/// Upper estimate of memory in bytes beyond the vectors.
#[must_use]
pub fn bytes(n: u64, settings: &Settings) -> u64 {
    let all = n * u64::from(settings.top_k).min(n);
    // Lists and what follows them: pairs, and in most programs as many rows.
    let exact = 80 * n + 34 * all;
    if n <= u64::from(settings.exact_limit) {
        return exact;
    }
    // Two generations of lists, and links, whose lists may be allocated up to twice their length.
    let links = (16.0 * (1.0 + 2.0 * settings.sample_rate) * all as f64) as u64;
    exact.max(160 * n + 34 * all + links)
}

/// A neighbour, `new` while it has not been searched from.
#[derive(Debug, Clone, Copy)]
pub(super) struct Near {
    pub(super) similarity: f64,
    pub(super) v: u32,
    pub(super) new: bool,
}

fn better(a: &Near, b: &Near) -> Ordering {
    b.similarity.total_cmp(&a.similarity).then(a.v.cmp(&b.v))
}

/// Vectors with what is needed to compare them.
pub(super) struct Vectors<'a> {
    values: &'a [f32],
    pub(super) dimension: usize,
    /// Length of each vector.
    lengths: Vec<f32>,
    metric: VectorMetric,
}

impl Vectors<'_> {
    fn of(&self, v: u32) -> &[f32] {
        &self.values[v as usize * self.dimension..][..self.dimension]
    }

    pub(super) fn similarity(&self, u: u32, v: u32) -> f64 {
        let (a, b) = (self.of(u), self.of(v));
        match self.metric {
            VectorMetric::Cosine => {
                let lengths = self.lengths[u as usize] * self.lengths[v as usize];
                let dot = sum(a, b, |x, y| x * y);
                if lengths > 0.0 { f64::from((dot / lengths).clamp(-1.0, 1.0)) } else { 0.0 }
            }
            VectorMetric::Euclidean => {
                let squares = sum(a, b, |x, y| (x - y) * (x - y));
                1.0 / (1.0 + f64::from(squares).sqrt())
            }
        }
    }
}

/// Sum of `f` over two vectors, in eight parts, because one would wait for each addition.
#[inline]
fn sum(a: &[f32], b: &[f32], f: impl Fn(f32, f32) -> f32) -> f32 {
    let mut sums = [0f32; 8];
    let ((a, rest_a), (b, rest_b)) = (a.as_chunks::<8>(), b.as_chunks::<8>());
    for (x, y) in a.iter().zip(b) {
        for at in 0..8 {
            sums[at] += f(x[at], y[at]);
        }
    }
    let rest: f32 = rest_a.iter().zip(rest_b).map(|(x, y)| f(*x, *y)).sum();
    sums.iter().sum::<f32>() + rest
}

/// The nearest neighbours of each of the vectors in `values`, which has `dimension` numbers per
/// vertex.
pub fn knn(
    values: &[f32],
    dimension: u32,
    settings: &Settings,
    control: &Control<'_>,
) -> Result<Nearest> {
    settings.require()?;
    let rows = dimension as usize;
    if rows == 0 || !values.len().is_multiple_of(rows) || values.len() / rows > u32::MAX as usize {
        return Err(Error::invalid(format!(
            "{} numbers are not vectors of dimension {dimension}, which is at least 1",
            values.len()
        )));
    }
    let n = (values.len() / rows) as u32;
    let mut lengths = vec![0f32; n as usize];
    control.fill(&mut lengths, (CHECK / rows).max(1), |first, chunk| {
        for (at, length) in chunk.iter_mut().enumerate() {
            let row = &values[(first + at) * rows..][..rows];
            *length = sum(row, row, |x, y| x * y).sqrt();
        }
    })?;
    if let Some(v) = lengths.iter().position(|length| !length.is_finite()) {
        return Err(Error::invalid(format!(
            "the vector of vertex {v} has entries that are not finite or too large"
        )));
    }
    let vectors = Vectors { values, dimension: rows, lengths, metric: settings.similarity_metric };
    let mut nearest = Nearest::default();
    let lists = if n <= settings.exact_limit {
        nearest.node_pairs_considered = u64::from(n) * u64::from(n.saturating_sub(1));
        (nearest.ran_iterations, nearest.did_converge) = (1, true);
        exact(&vectors, n, settings, control)?
    } else {
        Descent { vectors: &vectors, n, settings, control }.run(&mut nearest)?
    };
    let is_good = |near: &&Near| near.similarity >= settings.similarity_cutoff;
    nearest.pairs.reserve_exact(lists.iter().flatten().filter(is_good).count());
    for (u, list) in (0..).zip(&lists) {
        let good = list.iter().filter(is_good);
        nearest.pairs.extend(good.map(|near| Pair {
            source: u,
            target: near.v,
            similarity: near.similarity,
        }));
    }
    Ok(nearest)
}

/// Lists of all vertices, made by `of` on all threads.
pub(super) fn lists(
    n: u32,
    control: &Control<'_>,
    of: impl Fn(u32) -> Result<Vec<Near>> + Sync,
) -> Result<Vec<Vec<Near>>> {
    control.install(|| (0..n).into_par_iter().with_min_len(GRAIN).map(&of).collect())
}

/// Keeps the best `count` of a list, in their order.
pub(super) fn keep(list: &mut Vec<Near>, count: usize) {
    if list.len() > count {
        list.select_nth_unstable_by(count - 1, better);
        list.truncate(count);
    }
    list.sort_unstable_by(better);
}

fn exact(
    vectors: &Vectors<'_>,
    n: u32,
    settings: &Settings,
    control: &Control<'_>,
) -> Result<Vec<Vec<Near>>> {
    let count = settings.top_k as usize;
    lists(n, control, |u| {
        let mut list = Vec::with_capacity(2 * count);
        let piece = (CHECK / vectors.dimension).clamp(1, CHECK) as u32;
        for first in (0..n).step_by(piece as usize) {
            control.check()?;
            for v in (first..n.min(first.saturating_add(piece))).filter(|v| *v != u) {
                list.push(Near { similarity: vectors.similarity(u, v), v, new: false });
                if list.len() == 2 * count {
                    keep(&mut list, count);
                }
            }
        }
        keep(&mut list, count);
        list.shrink_to_fit();
        Ok(list)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Random;

    /// Vectors around some centres.
    fn vectors(n: u32, dimension: u32, seed: u64) -> Vec<f32> {
        let mut random = Random::new(seed, 0);
        let centres: Vec<f64> = (0..8 * dimension).map(|_| random.unit() - 0.5).collect();
        let mut values = Vec::new();
        for _ in 0..n {
            let centre = random.below(8) * dimension;
            for at in 0..dimension {
                values.push((centres[(centre + at) as usize] + 0.3 * random.unit()) as f32);
            }
        }
        values
    }

    #[test]
    fn exact_search_equals_all_pairs() {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(3).build().unwrap();
        for seed in 0..12u64 {
            let (n, dimension) = ([0, 1, 2, 9, 60][seed as usize % 5], 1 + 3 * (seed as u32 % 4));
            let mut values = vectors(n, dimension, seed);
            values.iter_mut().take(dimension as usize).for_each(|x| *x = 0.0);
            let metric = [VectorMetric::Cosine, VectorMetric::Euclidean][seed as usize % 2];
            let settings = Settings {
                top_k: 4,
                similarity_metric: metric,
                similarity_cutoff: 0.3,
                ..Settings::default()
            };
            let found = knn(&values, dimension, &settings, &Control::default()).unwrap();
            let control = Control::default().on(&pool);
            assert_eq!(knn(&values, dimension, &settings, &control).unwrap(), found);
            let row = |v: u32| &values[(v * dimension) as usize..][..dimension as usize];
            let measure = |u: u32, v: u32| {
                let pairs =
                    || row(u).iter().zip(row(v)).map(|(x, y)| (f64::from(*x), f64::from(*y)));
                let length =
                    |v: u32| row(v).iter().map(|x| f64::from(*x).powi(2)).sum::<f64>().sqrt();
                match metric {
                    VectorMetric::Cosine if length(u) * length(v) == 0.0 => 0.0,
                    VectorMetric::Cosine => {
                        pairs().map(|(x, y)| x * y).sum::<f64>() / length(u) / length(v)
                    }
                    VectorMetric::Euclidean => {
                        let squares: f64 = pairs().map(|(x, y)| (x - y).powi(2)).sum();
                        1.0 / (1.0 + squares.sqrt())
                    }
                }
            };
            for u in 0..n {
                let of: Vec<_> = found.pairs.iter().filter(|pair| pair.source == u).collect();
                let mut expected: Vec<f64> =
                    (0..n).filter(|v| *v != u).map(|v| measure(u, v)).collect();
                expected.sort_by(|a, b| b.total_cmp(a));
                expected.truncate(4);
                expected.retain(|value| *value >= 0.3);
                assert_eq!(of.len(), expected.len());
                for (pair, value) in of.iter().zip(expected) {
                    assert!((pair.similarity - value).abs() < 1e-5);
                    assert!((measure(u, pair.target) - value).abs() < 1e-5);
                }
            }
        }
    }

    #[test]
    fn descent_finds_most_neighbours_and_the_same_on_any_number_of_threads() {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(3).build().unwrap();
        let values = vectors(900, 12, 5);
        let exact = Settings { similarity_cutoff: -1.0, ..Settings::default() };
        let right = knn(&values, 12, &exact, &Control::default()).unwrap();
        let settings = Settings { exact_limit: 0, ..exact };
        let found = knn(&values, 12, &settings, &Control::default()).unwrap();
        let control = Control::default().on(&pool);
        assert_eq!(knn(&values, 12, &settings, &control).unwrap(), found);
        assert_eq!(found.pairs.len(), 9000);
        let key = |pair: &Pair| (pair.source, pair.target);
        let known: std::collections::HashSet<_> = right.pairs.iter().map(key).collect();
        let hits = found.pairs.iter().filter(|pair| known.contains(&key(pair))).count();
        assert!(hits > 8500, "{hits} of 9000");
        assert!(found.did_converge && found.ran_iterations < 30, "{}", found.ran_iterations);
        // Fewer vertices than neighbours are wanted.
        let found = knn(&vectors(5, 3, 1), 3, &settings, &Control::default()).unwrap();
        assert!(found.pairs.len() == 20);
        for n in [0, 1] {
            let found = knn(&vectors(n, 3, 1), 3, &settings, &Control::default()).unwrap();
            assert!(found.pairs.is_empty());
        }
    }

    #[test]
    fn bad_settings_are_refused_and_stop_is_heard() {
        let good = Settings::default();
        let values = vectors(20, 2, 0);
        for bad in [
            Settings { top_k: 0, ..good.clone() },
            Settings { similarity_cutoff: f64::NAN, ..good.clone() },
            Settings { sample_rate: 0.0, ..good.clone() },
            Settings { delta_threshold: -1.0, ..good.clone() },
            Settings { max_iterations: 0, ..good.clone() },
            Settings { random_joins: 5000, ..good.clone() },
        ] {
            assert!(knn(&values, 2, &bad, &Control::default()).is_err(), "{bad:?}");
        }
        assert!(knn(&values, 0, &good, &Control::default()).is_err());
        assert!(knn(&values, 3, &good, &Control::default()).is_err());
        assert!(knn(&[f32::NAN, 1.0], 2, &good, &Control::default()).is_err());
        let stop = || true;
        let control = Control::default().stopped_by(&stop);
        for exact_limit in [0, 100] {
            let settings = Settings { exact_limit, ..good.clone() };
            assert_eq!(knn(&values, 2, &settings, &control), Err(Error::Stopped));
        }
    }
}
