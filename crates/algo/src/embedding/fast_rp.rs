//! Fast random projection (FastRP): embeddings by averaging random vectors over neighbours.
//!
//! Result: a vector of [`Settings::embedding_dimension`] entries per vertex.
//!
//! Method: each vertex starts with a random vector of a few entries that are not 0, times its
//! degree to the power of [`Settings::normalization_strength`]. In each iteration a vertex takes
//! the mean of its neighbours' vectors, weighted if the graph is; what it has is scaled to length
//! 1, multiplied by the weight of the iteration, and added to its embedding. A random vector
//! depends on the seed and the vertex number alone. Loops and parallel edges count each; the graph
//! is read along its lists, so it should be undirected unless direction matters.
//!
//! Cost: O(m dimension) per iteration. *Memory*: 12 bytes per vertex and entry.
//!
//! Source: Chen et al., "Fast and accurate network embeddings via very sparse random projection",
//! CIKM 2019; settings and scaling as in Neo4j GDS.

use super::Embeddings;
use crate::control::{Control, Error, Result};
use crate::csr::Csr;
use crate::random::Random;

/// One in so many entries of a random vector is not 0, as Achlioptas (2003) has it.
const SPARSITY: u32 = 3;

/// Largest number of entries of a vector.
const DIMENSION_MAX: u32 = 1 << 16;

/// Vectors shorter than this are not scaled.
const LENGTH_MIN: f32 = 1e-20;

/// Settings of [`fast_rp`].
#[derive(Debug, Clone, PartialEq)]
pub struct Settings {
    /// Entries of a vector; 1 to 65536.
    pub embedding_dimension: u32,
    /// Weight of the vectors of each iteration in the embedding, in their order; at least one
    /// unless `node_self_influence` is not 0, all finite.
    pub iteration_weights: Vec<f64>,
    /// Power of the degree that a random vector is multiplied with: below 0 hubs count less, above
    /// more; finite.
    pub normalization_strength: f64,
    /// Weight of the random vector itself, scaled to length 1; finite.
    pub node_self_influence: f64,
    /// Seed of the random vectors.
    pub seed: u64,
}

impl Default for Settings {
    /// 128 entries, weights 0, 1, 1, no normalisation, no self-influence, seed 0. GDS has no
    /// default dimension.
    fn default() -> Self {
        Self {
            embedding_dimension: 128,
            iteration_weights: vec![0.0, 1.0, 1.0],
            normalization_strength: 0.0,
            node_self_influence: 0.0,
            seed: 0,
        }
    }
}

impl Settings {
    fn require(&self) -> Result<()> {
        if !(1..=DIMENSION_MAX).contains(&self.embedding_dimension) {
            return Err(Error::invalid(format!(
                "embedding_dimension is {}; it is 1 to {DIMENSION_MAX}",
                self.embedding_dimension
            )));
        }
        if self.iteration_weights.is_empty() && self.node_self_influence == 0.0 {
            return Err(Error::invalid(
                "iteration_weights is empty; it has a weight unless node_self_influence is not 0",
            ));
        }
        let all = [self.normalization_strength, self.node_self_influence];
        if let Some(bad) =
            self.iteration_weights.iter().chain(&all).find(|weight| !weight.is_finite())
        {
            return Err(Error::invalid(format!(
                "iteration_weights, normalization_strength and node_self_influence are finite \
                 numbers, and one is {bad}"
            )));
        }
        Ok(())
    }
}

/// Upper estimate of memory in bytes beyond the graph.
#[must_use]
pub fn bytes(n: u64, _: u64, settings: &Settings) -> u64 {
    n.saturating_mul(12).saturating_mul(settings.embedding_dimension.into())
}

/// Embeddings of all vertices by fast random projection.
pub fn fast_rp(graph: &Csr, settings: &Settings, control: &Control<'_>) -> Result<Embeddings> {
    settings.require()?;
    graph.require_weights("FastRP", 0.0, control)?;
    let dimension = settings.embedding_dimension as usize;
    let len = graph.vertices() as usize * dimension;
    let mut values = vec![0f32; len];
    let (mut last, mut current) = (vec![0f32; len], vec![0f32; len]);
    // A task is some vertices; about as many entries each, whatever the dimension.
    let rows = ((1 << 13) / dimension).max(1);
    let grain = rows * dimension;
    control.fill(&mut last, grain, |first, chunk| {
        for (at, row) in chunk.chunks_exact_mut(dimension).enumerate() {
            start(graph, (first / dimension + at) as u32, settings, row);
        }
    })?;
    let total = settings.iteration_weights.len() as u64;
    if settings.node_self_influence != 0.0 {
        accumulate(&mut values, &last, (dimension, grain), settings.node_self_influence, control)?;
    }
    for (iteration, &weight) in settings.iteration_weights.iter().enumerate() {
        control.fill(&mut current, grain, |first, chunk| {
            for (at, row) in chunk.chunks_exact_mut(dimension).enumerate() {
                mean(graph, (first / dimension + at) as u32, &last, row, control);
            }
        })?;
        // A list that was left early is noticed here.
        control.check()?;
        accumulate(&mut values, &current, (dimension, grain), weight, control)?;
        std::mem::swap(&mut last, &mut current);
        control.report(iteration as u64 + 1, total);
    }
    Ok(Embeddings { dimension: settings.embedding_dimension, values })
}

/// Fills `row` with the random vector of `v`.
fn start(graph: &Csr, v: u32, settings: &Settings, row: &mut [f32]) {
    let mut random = Random::new(settings.seed, v.into());
    let degree = graph.of(v).len().max(1) as f64;
    let scale = degree.powf(settings.normalization_strength);
    let entry = scale * f64::from(SPARSITY).sqrt() / (row.len() as f64).sqrt();
    for value in row {
        *value = match random.below(2 * SPARSITY) {
            0 => entry as f32,
            1 => -entry as f32,
            _ => 0.0,
        };
    }
}

/// Fills `row` with the mean of the vectors of `v`'s neighbours.
fn mean(graph: &Csr, v: u32, last: &[f32], row: &mut [f32], control: &Control<'_>) {
    let dimension = row.len();
    row.fill(0.0);
    let mut left = 1 << 16;
    for (u, weight) in graph.weighted(v) {
        let vector = &last[u as usize * dimension..][..dimension];
        let weight = weight as f32;
        row.iter_mut().zip(vector).for_each(|(sum, x)| *sum += weight * x);
        if left <= dimension {
            if control.check().is_err() {
                return;
            }
            left = 1 << 16;
        }
        left -= dimension;
    }
    let count = graph.of(v).len().max(1) as f32;
    row.iter_mut().for_each(|sum| *sum /= count);
}

/// Adds the rows of `vectors`, scaled to length `weight`, to those of `values`.
fn accumulate(
    values: &mut [f32],
    vectors: &[f32],
    (dimension, grain): (usize, usize),
    weight: f64,
    control: &Control<'_>,
) -> Result<()> {
    if weight == 0.0 {
        return Ok(());
    }
    control.fill(values, grain, |first, chunk| {
        let rows = vectors[first..].chunks_exact(dimension);
        for (sums, row) in chunk.chunks_exact_mut(dimension).zip(rows) {
            let length = row.iter().map(|x| x * x).sum::<f32>().sqrt();
            let scale = weight as f32 / if length > LENGTH_MIN { length } else { 1.0 };
            sums.iter_mut().zip(row).for_each(|(sum, x)| *sum += scale * x);
        }
    })
}

#[test]
fn memory_of_absurd_dimensions_is_estimated_without_overflow() {
    let settings = Settings { embedding_dimension: u32::MAX, ..Settings::default() };
    assert_eq!(bytes(u64::from(u32::MAX), 0, &settings), u64::MAX);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::random_edges;

    /// The definition, with matrices of numbers of double precision.
    fn verify(graph: &Csr, settings: &Settings) -> Vec<Vec<f64>> {
        let dimension = settings.embedding_dimension as usize;
        let add = |sums: &mut Vec<f64>, row: &[f64], weight: f64| {
            let length = row.iter().map(|x| x * x).sum::<f64>().sqrt();
            let scale = if length > 1e-20 { weight / length } else { weight };
            sums.iter_mut().zip(row).for_each(|(sum, x)| *sum += scale * x);
        };
        let mut last: Vec<Vec<f64>> = (0..graph.vertices())
            .map(|v| {
                let mut row = vec![0.0; dimension];
                start(graph, v, settings, &mut row);
                row.iter().map(|x| f64::from(*x)).collect()
            })
            .collect();
        let mut values = vec![vec![0.0; dimension]; last.len()];
        let own = settings.node_self_influence;
        values.iter_mut().zip(&last).for_each(|(sums, row)| add(sums, row, own));
        for weight in &settings.iteration_weights {
            let mut next = vec![vec![0.0; dimension]; last.len()];
            for (u, v, w) in graph.all_edges() {
                let count = graph.of(u).len() as f64;
                for at in 0..dimension {
                    next[u as usize][at] += last[v as usize][at] * w / count;
                }
            }
            values.iter_mut().zip(&next).for_each(|(sums, row)| add(sums, row, *weight));
            last = next;
        }
        values
    }

    #[test]
    fn embeddings_of_random_graphs_equal_the_definition() {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(3).build().unwrap();
        for seed in 0..16u64 {
            let n = 1 + 21 * seed as u32;
            let edges: Vec<_> = random_edges(seed, n, 2 * n as usize)
                .iter()
                .zip(1..)
                .map(|(&(u, v), at)| (u, v, f64::from(at % 5)))
                .collect();
            let graph = if seed % 2 == 0 {
                Csr::from_weighted(n, &edges).undirected()
            } else {
                Csr::from_edges(n, &random_edges(seed, n, n as usize))
            };
            let settings = Settings {
                embedding_dimension: 1 + 13 * (seed as u32 % 3),
                iteration_weights: vec![0.0, 1.0, 0.5][..seed as usize % 4 % 3].to_vec(),
                normalization_strength: [-0.5, 0.0, 0.3][seed as usize % 3],
                node_self_influence: 0.25,
                seed,
            };
            let one = fast_rp(&graph, &settings, &Control::default()).unwrap();
            let three = fast_rp(&graph, &settings, &Control::default().on(&pool)).unwrap();
            assert_eq!(one, three);
            for (v, row) in verify(&graph, &settings).iter().enumerate() {
                for (x, y) in one.of(v as u32).iter().zip(row) {
                    assert!((f64::from(*x) - y).abs() < 1e-4, "seed {seed}: {x} is not {y}");
                }
            }
        }
    }

    #[test]
    fn vertices_of_a_clique_are_nearer_than_others() {
        let clique =
            |first: u32| (first..first + 12).flat_map(move |u| (first..u).map(move |v| (u, v)));
        let edges: Vec<_> = clique(0).chain(clique(12)).chain([(0, 12)]).collect();
        let graph = Csr::from_edges(24, &edges).undirected();
        let found = fast_rp(&graph, &Settings::default(), &Control::default()).unwrap();
        let cosine = |u: u32, v: u32| {
            let dot = |a: u32, b: u32| -> f32 {
                found.of(a).iter().zip(found.of(b)).map(|(x, y)| x * y).sum()
            };
            dot(u, v) / (dot(u, u) * dot(v, v)).sqrt()
        };
        assert!(cosine(3, 7) > 0.9 && cosine(15, 20) > 0.9 && cosine(3, 15).abs() < 0.6);
        assert_eq!(found.all().count(), 24);
    }

    #[test]
    fn bad_settings_are_refused_and_stop_is_heard() {
        let graph = Csr::from_edges(3, &[(0, 1)]);
        let good = Settings { embedding_dimension: 4, ..Settings::default() };
        for bad in [
            Settings { embedding_dimension: 0, ..good.clone() },
            Settings { iteration_weights: vec![], ..good.clone() },
            Settings { iteration_weights: vec![f64::NAN], ..good.clone() },
            Settings { normalization_strength: f64::INFINITY, ..good.clone() },
            Settings { node_self_influence: f64::NAN, ..good.clone() },
        ] {
            assert!(fast_rp(&graph, &bad, &Control::default()).is_err(), "{bad:?}");
        }
        let stop = || true;
        let control = Control::default().stopped_by(&stop);
        assert_eq!(fast_rp(&graph, &good, &control), Err(Error::Stopped));
        let bad = Csr::from_weighted(2, &[(0, 1, -1.0)]);
        assert!(fast_rp(&bad, &good, &Control::default()).is_err());
        let none = fast_rp(&Csr::from_edges(0, &[]), &good, &Control::default()).unwrap();
        assert!(none.values.is_empty());
    }
}
