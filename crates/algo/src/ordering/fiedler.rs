//! Order of the vertices by the Fiedler vector: the eigenvector of the second smallest eigenvalue
//! of the normalised Laplacian, which puts neighbours near each other.
//!
//! Result: the vertices in their order. Components follow each other, the largest first; inside of
//! one, vertices are sorted by their entry of its vector over the root of their degree. Components
//! below 16 vertices are ordered by breadth-first search.
//!
//! Method: restarted Lanczos with full reorthogonalisation on `D^-1/2 A D^-1/2`, whose second
//! largest eigenvalue is wanted; the largest has a known vector, `D^1/2 1`, which is projected out.
//! After each run of 24 products the best combination of its vectors starts the next. Loops and
//! weights are ignored, parallel edges count each; the graph is undirected.
//!
//! Cost: O(m) per product. *Memory*: about 290 bytes per vertex and 8 per edge.
//!
//! Source: Fiedler, "Algebraic connectivity of graphs", 1973; Lanczos, 1950; Golub and Van Loan,
//! "Matrix computations" (Jacobi rotations for the small problem).

use rayon::prelude::*;

use crate::control::{Control, Error, Result};
use crate::csr::{Csr, Piece};
use crate::random::Random;

/// Vectors of one run of Lanczos.
const BASIS: usize = 24;

/// Components below this size are ordered by breadth-first search.
const SMALL: usize = 16;

/// Entries of a vector per task.
const GRAIN: usize = 1 << 12;

/// Settings of [`order`].
#[derive(Debug, Clone, PartialEq)]
pub struct Settings {
    /// Products of the graph with a vector for each component; at least 1.
    pub max_iterations: u32,
    /// Residual of the eigenvector, of length 1, that is good enough; 0 runs all products.
    pub tolerance: f64,
    /// Seed of the vector to start from.
    pub seed: u64,
}

impl Default for Settings {
    /// 300 products, tolerance 1e-4, seed 0.
    fn default() -> Self {
        Self { max_iterations: 300, tolerance: 1e-4, seed: 0 }
    }
}

impl Settings {
    pub(crate) fn require(&self) -> Result<()> {
        if self.max_iterations == 0 {
            return Err(Error::invalid("max_iterations is 0; the Fiedler vector takes at least 1"));
        }
        if self.tolerance.is_nan() || self.tolerance < 0.0 {
            return Err(Error::invalid(format!(
                "tolerance is {}; it is a number of at least 0",
                self.tolerance
            )));
        }
        Ok(())
    }
}

/// Upper estimate of memory in bytes beyond the graph.
#[must_use]
pub fn bytes(n: u64, m: u64) -> u64 {
    (8 * (BASIS as u64 + 6) + 48) * n + 8 * m
}

/// The graph of these vertices, numbered by their places; `local` is all `u32::MAX`, and so again
/// afterwards.
pub(crate) fn induced(
    graph: &Csr,
    vertices: &[u32],
    local: &mut [u32],
    control: &Control<'_>,
) -> Result<Csr> {
    for (at, &v) in vertices.iter().enumerate() {
        local[v as usize] = at as u32;
    }
    let (mut piece, mut list, mut work) = (Piece::new(), Vec::new(), 0);
    for &v in vertices {
        work += graph.of(v).len() + 1;
        if work >= 1 << 16 {
            control.check()?;
            work = 0;
        }
        list.clear();
        let inside = graph.of(v).iter().map(|u| local[*u as usize]).filter(|u| *u != u32::MAX);
        list.extend(inside);
        piece.push(&list, &[]);
    }
    vertices.iter().for_each(|v| local[*v as usize] = u32::MAX);
    Ok(Csr::join(vec![piece]))
}

/// The vertices in the order of the Fiedler vector of their component.
pub fn order(graph: &Csr, settings: &Settings, control: &Control<'_>) -> Result<Vec<u32>> {
    settings.require()?;
    let whole = super::breadth::traversal(graph, control)?;
    let mut components: Vec<&[u32]> = whole.components().collect();
    components.sort_by_key(|component| std::cmp::Reverse(component.len()));
    let mut local = vec![u32::MAX; graph.vertices() as usize];
    let mut order = Vec::with_capacity(graph.vertices() as usize);
    for component in components {
        if component.len() < SMALL {
            order.extend_from_slice(component);
            continue;
        }
        let part = induced(graph, component, &mut local, control)?;
        let vector = vector(&part, settings, control)?;
        let mut places: Vec<u32> = (0..component.len() as u32).collect();
        let value = |place: u32| vector[place as usize];
        control.install(|| {
            places.par_sort_unstable_by(|a, b| value(*a).total_cmp(&value(*b)).then(a.cmp(b)));
        });
        order.extend(places.iter().map(|place| component[*place as usize]));
        control.report(order.len() as u64, u64::from(graph.vertices()));
    }
    Ok(order)
}

/// Sum of products, the same for any number of threads.
fn dot(a: &[f64], b: &[f64], control: &Control<'_>) -> f64 {
    let sums: Vec<f64> = control.install(|| {
        let products = |(a, b): (&[f64], &[f64])| a.iter().zip(b).map(|(x, y)| x * y).sum();
        a.par_chunks(GRAIN).zip(b.par_chunks(GRAIN)).map(products).collect()
    });
    sums.iter().sum()
}

/// Makes `a` orthogonal to `others`, which are so among each other. Each task keeps its piece of
/// `a` in cache while it goes through the others.
fn project_out(a: &mut [f64], others: &[&[f64]], control: &Control<'_>) -> Result<()> {
    if others.is_empty() {
        return Ok(());
    }
    let sums: Vec<Vec<f64>> = control.install(|| {
        let along = |(task, piece): (usize, &[f64])| {
            let products =
                |other: &&[f64]| piece.iter().zip(&other[task * GRAIN..]).map(|(x, y)| x * y).sum();
            others.iter().map(products).collect()
        };
        a.par_chunks(GRAIN).enumerate().map(along).collect()
    });
    let mut along = vec![0.0; others.len()];
    for sums in sums {
        along.iter_mut().zip(sums).for_each(|(all, sum)| *all += sum);
    }
    control.fill(a, GRAIN, |first, chunk| {
        for (along, other) in along.iter().zip(others) {
            chunk.iter_mut().zip(&other[first..]).for_each(|(x, y)| *x -= along * y);
        }
    })
}

/// Adds `factor * b` to `a`.
fn add(a: &mut [f64], factor: f64, b: &[f64], control: &Control<'_>) -> Result<()> {
    control.fill(a, GRAIN, |first, chunk| {
        chunk.iter_mut().zip(&b[first..]).for_each(|(x, y)| *x += factor * y);
    })
}

fn scale(a: &mut [f64], factor: f64, control: &Control<'_>) -> Result<()> {
    control.fill(a, GRAIN, |_, chunk| chunk.iter_mut().for_each(|x| *x *= factor))
}

/// Fiedler vector of a connected graph, each entry divided by the root of the degree; its sign is
/// such that the first entry that is not 0 is negative.
fn vector(graph: &Csr, settings: &Settings, control: &Control<'_>) -> Result<Vec<f64>> {
    let n = graph.vertices() as usize;
    let mut roots = vec![0.0; n];
    control.fill(&mut roots, GRAIN, |first, chunk| {
        for (at, root) in chunk.iter_mut().enumerate() {
            let v = (first + at) as u32;
            let degree = graph.of(v).iter().filter(|u| **u != v).count();
            *root = (degree.max(1) as f64).sqrt();
        }
    })?;
    let mut largest = roots.clone();
    let length = dot(&largest, &largest, control).sqrt();
    scale(&mut largest, 1.0 / length, control)?;

    let mut random = Random::new(settings.seed, 0);
    let mut start: Vec<f64> = (0..n).map(|_| random.unit() - 0.5).collect();
    let mut scaled = vec![0.0; n];
    let mut products = 0;
    loop {
        let mut basis: Vec<Vec<f64>> = Vec::with_capacity(BASIS);
        let (mut diagonal, mut beside) = (Vec::new(), Vec::new());
        let mut next = std::mem::take(&mut start);
        let mut rest;
        loop {
            // The last two hold nearly all of what is to go; the second time takes what is left and
            // what rounding brought back.
            let mut known: Vec<&[f64]> = basis.iter().map(Vec::as_slice).collect();
            project_out(&mut next, &known[known.len().saturating_sub(2)..], control)?;
            known.push(&largest);
            project_out(&mut next, &known, control)?;
            rest = dot(&next, &next, control).sqrt();
            let full = basis.len() == BASIS || products >= settings.max_iterations;
            if !basis.is_empty() && (full || rest < 1e-12) || rest == 0.0 {
                break;
            }
            if !basis.is_empty() {
                beside.push(rest);
            }
            scale(&mut next, 1.0 / rest, control)?;
            control.fill(&mut scaled, GRAIN, |first, chunk| {
                for (at, value) in chunk.iter_mut().enumerate() {
                    *value = next[first + at] / roots[first + at];
                }
            })?;
            let mut image = vec![0.0; n];
            control.fill(&mut image, 1 << 10, |first, chunk| {
                for (at, value) in chunk.iter_mut().enumerate() {
                    let v = (first + at) as u32;
                    let near = graph.of(v).iter().filter(|u| **u != v);
                    *value = near.map(|u| scaled[*u as usize]).sum::<f64>() / roots[first + at];
                }
            })?;
            diagonal.push(dot(&image, &next, control));
            basis.push(std::mem::replace(&mut next, image));
            products += 1;
        }
        if basis.is_empty() {
            // All of the graph lies along the known vector; there is nothing to order by.
            return Ok(vec![0.0; n]);
        }
        let factors = largest_of(&diagonal, &beside);
        start = vec![0.0; n];
        for (known, factor) in basis.iter().zip(&factors) {
            add(&mut start, *factor, known, control)?;
        }
        let residual = rest * factors.last().map_or(0.0, |last| last.abs());
        if residual <= settings.tolerance || products >= settings.max_iterations {
            break;
        }
    }
    let sign = if start.iter().find(|x| **x != 0.0).is_some_and(|x| *x > 0.0) { -1.0 } else { 1.0 };
    control.fill(&mut start, GRAIN, |first, chunk| {
        chunk.iter_mut().zip(&roots[first..]).for_each(|(x, root)| *x *= sign / root);
    })?;
    Ok(start)
}

/// Eigenvector of the largest eigenvalue of a symmetric tridiagonal matrix, by Jacobi rotations.
fn largest_of(diagonal: &[f64], beside: &[f64]) -> Vec<f64> {
    let k = diagonal.len();
    let mut matrix = vec![vec![0.0; k]; k];
    let mut vectors = vec![vec![0.0; k]; k];
    for at in 0..k {
        matrix[at][at] = diagonal[at];
        vectors[at][at] = 1.0;
        if at + 1 < k {
            matrix[at][at + 1] = beside[at];
            matrix[at + 1][at] = beside[at];
        }
    }
    for _ in 0..60 {
        let off: f64 = (0..k)
            .flat_map(|p| (0..p).map(move |q| (p, q)))
            .map(|(p, q)| matrix[p][q] * matrix[p][q])
            .sum();
        if off < 1e-26 {
            break;
        }
        for (p, q) in (0..k).flat_map(|q| (0..q).map(move |p| (p, q))) {
            if matrix[p][q].abs() < 1e-300 {
                continue;
            }
            let theta = (matrix[q][q] - matrix[p][p]) / (2.0 * matrix[p][q]);
            let t = theta.signum() / (theta.abs() + (theta * theta + 1.0).sqrt());
            let c = 1.0 / (t * t + 1.0).sqrt();
            let s = t * c;
            for row in &mut matrix {
                (row[p], row[q]) = (c * row[p] - s * row[q], s * row[p] + c * row[q]);
            }
            let (above, below) = matrix.split_at_mut(q);
            for (x, y) in above[p].iter_mut().zip(&mut below[0]) {
                (*x, *y) = (c * *x - s * *y, s * *x + c * *y);
            }
            for row in &mut vectors {
                (row[p], row[q]) = (c * row[p] - s * row[q], s * row[p] + c * row[q]);
            }
        }
    }
    let best = (0..k).max_by(|a, b| matrix[*a][*a].total_cmp(&matrix[*b][*b])).unwrap_or(0);
    vectors.iter().map(|row| row[best]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn order_of_a_shuffled_path_is_the_path() {
        for n in [16u32, 50, 120] {
            let name = |v: u32| (v * 7 + 3) % n;
            if (0..n).map(name).collect::<std::collections::BTreeSet<_>>().len() < n as usize {
                continue;
            }
            let edges: Vec<_> = (1..n).map(|v| (name(v - 1), name(v))).collect();
            let graph = Csr::from_edges(n, &edges).undirected();
            let settings = Settings { max_iterations: 5000, tolerance: 1e-9, seed: 1 };
            let mut found = order(&graph, &settings, &Control::default()).unwrap();
            if found[0] != name(0) {
                found.reverse();
            }
            assert_eq!(found, (0..n).map(name).collect::<Vec<_>>());
        }
    }

    #[test]
    fn vector_is_an_eigenvector() {
        let edges = crate::testing::random_edges(4, 80, 300);
        let graph = Csr::from_edges(80, &edges).undirected();
        let whole = crate::ordering::breadth::traversal(&graph, &Control::default()).unwrap();
        let largest = whole.components().max_by_key(|part| part.len()).unwrap();
        let mut local = vec![u32::MAX; 80];
        let part = induced(&graph, largest, &mut local, &Control::default()).unwrap();
        let settings = Settings { max_iterations: 2000, tolerance: 1e-10, seed: 0 };
        let found = vector(&part, &settings, &Control::default()).unwrap();
        // The mean over neighbours is the same multiple of the value at every vertex.
        let means: Vec<f64> = (0..part.vertices())
            .map(|v| {
                let near: Vec<_> = part.of(v).iter().filter(|u| **u != v).collect();
                near.iter().map(|u| found[**u as usize]).sum::<f64>() / near.len() as f64
            })
            .collect();
        let at = (0..means.len()).max_by(|a, b| found[*a].total_cmp(&found[*b])).unwrap();
        let value = means[at] / found[at];
        assert!(value > 0.2 && value < 1.0 - 1e-6);
        assert!(found.iter().zip(&means).all(|(x, mean)| (x * value - mean).abs() < 1e-7));
    }
}
