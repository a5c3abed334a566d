//! Parts that the iterating kernels share: sums over in-neighbours, weights of lists, norms.

use super::Scores;
use crate::community::steps::{self, Meter};
use crate::control::{Control, Error, Result};
use crate::csr::Csr;

/// Edges of one list between two checks.
const PIECE: usize = 1 << 12;

/// Fails unless there is an iteration to do.
pub(super) fn require_iterations(max_iterations: u32) -> Result<()> {
    if max_iterations > 0 {
        return Ok(());
    }
    Err(Error::invalid("max_iterations is 0; it must be at least 1"))
}

/// Sum of weight times value over the list of `v`.
///
/// PERF: four sums, because one would wait for the latency of each addition (bench
/// kernel/pagerank).
#[inline]
pub(super) fn pull(lists: &Csr, v: u32, values: &[f64], meter: &mut Meter<'_>) -> Result<f64> {
    let list = lists.of(v);
    let weights = lists.weights_of(v);
    let mut sums = [0.0; 4];
    meter.add(1)?;
    for (at, piece) in list.chunks(PIECE).enumerate() {
        meter.add(piece.len())?;
        let (fours, rest) = piece.as_chunks::<4>();
        if let Some(weights) = weights {
            let (weight_fours, weight_rest) = weights[at * PIECE..][..piece.len()].as_chunks::<4>();
            for (four, weights) in fours.iter().zip(weight_fours) {
                for i in 0..4 {
                    sums[i] += weights[i] * values[four[i] as usize];
                }
            }
            for (&u, weight) in rest.iter().zip(weight_rest) {
                sums[0] += weight * values[u as usize];
            }
        } else {
            for four in fours {
                for i in 0..4 {
                    sums[i] += values[four[i] as usize];
                }
            }
            for &u in rest {
                sums[0] += values[u as usize];
            }
        }
    }
    Ok((sums[0] + sums[1]) + (sums[2] + sums[3]))
}

/// Sets `sums[v]` to `f(v, sum of weight times value over the list of v)`.
pub(super) fn pull_all(
    lists: &Csr,
    values: &[f64],
    sums: &mut [f64],
    control: &Control<'_>,
    f: impl Fn(usize, f64) -> f64 + Sync,
) -> Result<()> {
    steps::fill(control, sums, |first, chunk, meter| {
        for (v, sum) in (first..).zip(chunk) {
            *sum = f(v, pull(lists, v as u32, values, meter)?);
        }
        Ok(())
    })
}

/// Weight of each list.
pub(super) fn strengths(graph: &Csr, control: &Control<'_>) -> Result<Vec<f64>> {
    let mut strengths = vec![0.0; graph.vertices() as usize];
    steps::fill(control, &mut strengths, |first, chunk, meter| {
        for (v, strength) in (first as u32..).zip(chunk) {
            meter.add(1)?;
            let list = graph.of(v).len();
            *strength = match graph.weights_of(v) {
                None => list as f64,
                Some(weights) => {
                    let mut sum = 0.0;
                    for piece in weights.chunks(PIECE) {
                        meter.add(piece.len())?;
                        sum += piece.iter().sum::<f64>();
                    }
                    sum
                }
            };
        }
        Ok(())
    })?;
    Ok(strengths)
}

/// Runs `step(scores, next)` until the sum of absolute changes is below `tolerance`, at most
/// `max_iterations` times.
pub(super) fn iterate(
    scores: Vec<f64>,
    max_iterations: u32,
    tolerance: f64,
    control: &Control<'_>,
    step: impl FnMut(&[f64], &mut [f64]) -> Result<()> + Send,
) -> Result<Scores> {
    // PERF: from inside, the steps of an iteration begin without waking a thread and waiting for it
    // (telar bench algorithms, scaling).
    control.install(|| iterate_inside(scores, max_iterations, tolerance, control, step))
}

fn iterate_inside(
    mut scores: Vec<f64>,
    max_iterations: u32,
    tolerance: f64,
    control: &Control<'_>,
    mut step: impl FnMut(&[f64], &mut [f64]) -> Result<()>,
) -> Result<Scores> {
    let mut next = vec![0.0; scores.len()];
    let (mut iterations, mut change, mut converged) = (0, f64::INFINITY, scores.is_empty());
    while iterations < max_iterations && !converged {
        step(&scores, &mut next)?;
        change = difference(&scores, &next, control)?;
        std::mem::swap(&mut scores, &mut next);
        iterations += 1;
        converged = change < tolerance;
        control.report(u64::from(iterations), u64::from(max_iterations));
    }
    Ok(Scores { scores, iterations, change, converged })
}

/// Sum of absolute differences.
fn difference(a: &[f64], b: &[f64], control: &Control<'_>) -> Result<f64> {
    steps::sum(control, a.len(), |v| (a[v] - b[v]).abs())
}

/// Divides by the Euclidean norm, unless all values are 0.
pub(super) fn normalise(values: &mut [f64], control: &Control<'_>) -> Result<()> {
    let norm = steps::sum(control, values.len(), |v| values[v] * values[v])?.sqrt();
    if norm > 0.0 {
        control.fill(values, steps::GRAIN, |_, chunk| {
            chunk.iter_mut().for_each(|value| *value /= norm);
        })?;
    }
    Ok(())
}

/// Restart probability of each vertex from weighted sources. None without sources: all vertices
/// have the same.
pub(super) fn restart(n: u32, sources: &[(u32, f64)]) -> Result<Option<Vec<f64>>> {
    if sources.is_empty() {
        return Ok(None);
    }
    let mut restart = vec![0.0; n as usize];
    for &(v, weight) in sources {
        if v >= n {
            return Err(Error::invalid(format!("source node {v}; vertices are below {n}")));
        }
        if !weight.is_finite() || weight < 0.0 {
            return Err(Error::invalid(format!(
                "source node {v} has weight {weight}; it must be finite and at least 0"
            )));
        }
        restart[v as usize] += weight;
    }
    let sum: f64 = restart.iter().sum();
    if !(sum > 0.0 && sum.is_finite()) {
        return Err(Error::invalid(format!(
            "the weights of the source nodes add up to {sum}; the sum must be finite and above 0"
        )));
    }
    restart.iter_mut().for_each(|weight| *weight /= sum);
    Ok(Some(restart))
}
