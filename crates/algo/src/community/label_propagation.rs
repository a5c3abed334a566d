//! Community detection by label propagation: every vertex takes the label most of its neighbours
//! have, again and again.
//!
//! Result: a label per vertex. Vertices of one label form a community. A vertex without neighbours
//! keeps its label.
//!
//! Method: synchronous, as LDBC Graphalytics defines it. In each iteration all vertices read the
//! labels of the iteration before; among the most frequent labels the smallest wins. With
//! `incoming`, in- and out-neighbours count, and a neighbour at both ends counts twice. Parallel
//! edges count each, a loop counts the vertex's own label. If the graph has weights, a label counts
//! the sum of the weights of its edges. A vertex's labels are sorted in a buffer and counted. The
//! result does not depend on the number of threads.
//!
//! Cost: O(m log d) per iteration for degrees d. *Memory*: 8 bytes per vertex, and per thread 16
//! bytes per neighbour of the largest vertex it meets.
//!
//! Source: Raghavan, Albert and Kumara, "Near linear time algorithm to detect community structures
//! in large-scale networks", 2007; Iosup et al., "LDBC Graphalytics", VLDB 2016 (CDLP).

use super::steps::{self, Meter};
use crate::control::{Control, Error, Result};
use crate::csr::Csr;

/// When to stop.
#[derive(Debug, Clone, PartialEq)]
pub struct Settings {
    /// Iterations after which to stop in any case; at least 1.
    pub max_iterations: u32,
}

impl Default for Settings {
    /// At most 10 iterations.
    fn default() -> Self {
        Self { max_iterations: 10 }
    }
}

/// Communities found by [`label_propagation`].
#[derive(Debug, Clone, PartialEq)]
pub struct Labels {
    /// Label per vertex.
    pub labels: Vec<u32>,
    /// Iterations done.
    pub iterations: u32,
    /// True if the last iteration changed no label.
    pub converged: bool,
}

/// Upper estimate of the bytes needed for `n` vertices and `m` edges, both directions counted.
#[must_use]
pub fn bytes(n: u64, m: u64) -> u64 {
    8 * n + 16 * m
}

/// Spreads labels along `graph`, and along `incoming` if given. The labels begin as `initial`, or
/// as the vertex numbers.
pub fn label_propagation(
    graph: &Csr,
    incoming: Option<&Csr>,
    initial: Option<&[u32]>,
    settings: &Settings,
    control: &Control<'_>,
) -> Result<Labels> {
    let n = graph.vertices();
    if settings.max_iterations == 0 {
        return Err(Error::invalid("max_iterations is 0; it must be at least 1"));
    }
    if let Some(incoming) = incoming {
        steps::require_reverse(graph, incoming)?;
        incoming.require_weights("label propagation", 0.0, control)?;
    }
    graph.require_weights("label propagation", 0.0, control)?;
    if let Some(initial) = initial.filter(|initial| initial.len() != n as usize) {
        let count = initial.len();
        return Err(Error::invalid(format!("{count} initial labels for {n} vertices")));
    }
    let mut labels: Vec<u32> = initial.map_or_else(|| (0..n).collect(), <[u32]>::to_vec);
    let mut next = vec![0; n as usize];
    let weighted = graph.is_weighted() || incoming.is_some_and(Csr::is_weighted);
    let mut result = Labels { labels: Vec::new(), iterations: 0, converged: false };
    while result.iterations < settings.max_iterations && !result.converged {
        control.check()?;
        let lists = Lists { graph, incoming, labels: &labels };
        steps::fill(control, &mut next, |first, chunk, meter| {
            if weighted {
                lists.heaviest(first, chunk, meter)
            } else {
                lists.most(first, chunk, meter)
            }
        })?;
        result.converged = labels == next;
        std::mem::swap(&mut labels, &mut next);
        result.iterations += 1;
        control.report(u64::from(result.iterations), u64::from(settings.max_iterations));
    }
    result.labels = labels;
    Ok(result)
}

/// Neighbours and the labels of the iteration before.
struct Lists<'a> {
    graph: &'a Csr,
    incoming: Option<&'a Csr>,
    labels: &'a [u32],
}

impl Lists<'_> {
    fn sides(&self) -> impl Iterator<Item = &Csr> {
        std::iter::once(self.graph).chain(self.incoming)
    }

    /// Sets the most frequent label of each vertex from `first` on.
    fn most(&self, first: usize, chunk: &mut [u32], meter: &mut Meter<'_>) -> Result<()> {
        let mut seen = Vec::new();
        for (v, label) in (first..).zip(chunk) {
            seen.clear();
            for side in self.sides() {
                let list = side.of(v as u32);
                seen.reserve_exact(list.len());
                seen.extend(list.iter().map(|&u| self.labels[u as usize]));
            }
            meter.add(1 + seen.len())?;
            seen.sort_unstable();
            *label = self.labels[v];
            let mut most = 0;
            for run in seen.chunk_by(|a, b| a == b) {
                if run.len() > most {
                    (most, *label) = (run.len(), run[0]);
                }
            }
        }
        Ok(())
    }

    /// Sets the label with the largest sum of weights of each vertex from `first` on.
    fn heaviest(&self, first: usize, chunk: &mut [u32], meter: &mut Meter<'_>) -> Result<()> {
        let mut seen: Vec<(u32, f64)> = Vec::new();
        for (v, label) in (first..).zip(chunk) {
            seen.clear();
            for side in self.sides() {
                seen.reserve_exact(side.of(v as u32).len());
                let edges = side.weighted(v as u32);
                seen.extend(edges.map(|(u, weight)| (self.labels[u as usize], weight)));
            }
            meter.add(1 + seen.len())?;
            seen.sort_unstable_by(|a, b| a.0.cmp(&b.0).then(a.1.total_cmp(&b.1)));
            *label = self.labels[v];
            let mut most = 0.0;
            for run in seen.chunk_by(|a, b| a.0 == b.0) {
                let sum: f64 = run.iter().map(|edge| edge.1).sum();
                if sum > most {
                    (most, *label) = (sum, run[0].0);
                }
            }
        }
        Ok(())
    }
}

/// Counts labels edge by edge in maps.
#[cfg(test)]
pub(crate) fn verify(
    initial: &[u32],
    edges: &[(u32, u32, f64)],
    directed: bool,
    iterations: u32,
) -> Vec<u32> {
    use std::collections::BTreeMap;
    let mut labels = initial.to_vec();
    for _ in 0..iterations {
        let mut counts = vec![BTreeMap::<u32, f64>::new(); labels.len()];
        for &(u, v, weight) in edges {
            *counts[u as usize].entry(labels[v as usize]).or_default() += weight;
            if directed {
                *counts[v as usize].entry(labels[u as usize]).or_default() += weight;
            }
        }
        for (label, counts) in labels.iter_mut().zip(counts) {
            let most = counts.values().copied().fold(0.0, f64::max);
            if let Some((best, _)) = counts.iter().find(|count| *count.1 == most && most > 0.0) {
                *label = *best;
            }
        }
    }
    labels
}

#[cfg(test)]
mod tests {
    use super::super::samples::{
        assert_refuses, assert_same_on_threads, assert_stops, samples, weigh,
    };
    use super::*;
    use crate::testing::random_edges;

    #[test]
    fn labels_of_random_graphs_equal_counting_in_maps() {
        for (at, (n, edges)) in samples(60, 50).enumerate() {
            let ones: Vec<_> = edges.iter().map(|&(u, v)| (u, v, 1.0)).collect();
            let weights = weigh(&edges);
            let initial: Vec<u32> = (0..n).map(|v| v / 2).collect();
            let settings = Settings { max_iterations: 1 + at as u32 % 5 };
            let run = |graph: &Csr, incoming: Option<&Csr>, initial: Option<&[u32]>| {
                let control = Control::default();
                label_propagation(graph, incoming, initial, &settings, &control).unwrap().labels
            };
            let iterations = settings.max_iterations;
            let numbers: Vec<u32> = (0..n).collect();
            let plain = Csr::from_edges(n, &edges);
            let heavy = Csr::from_weighted(n, &weights);
            let found = run(&plain, Some(&plain.reversed()), None);
            assert_eq!(found, verify(&numbers, &ones, true, iterations), "{at}");
            assert_eq!(run(&plain, None, None), verify(&numbers, &ones, false, iterations));
            let found = run(&heavy, Some(&heavy.reversed()), Some(&initial));
            assert_eq!(found, verify(&initial, &weights, true, iterations), "{at}");
            assert_eq!(
                run(&plain.undirected(), None, None),
                verify(&numbers, &ones, true, iterations)
            );
        }
    }

    #[test]
    fn it_stops_refuses_and_is_the_same_on_three_threads() {
        let graph = Csr::from_edges(5000, &random_edges(1, 5000, 20_000)).undirected();
        let settings = Settings::default();
        let run = |control: &Control<'_>| label_propagation(&graph, None, None, &settings, control);
        assert_stops(run);
        assert_same_on_threads(run);
        let control = Control::default();
        let none = Settings { max_iterations: 0 };
        assert_refuses(label_propagation(&graph, None, None, &none, &control), "max_iterations");
        let short = label_propagation(&graph, None, Some(&[1]), &settings, &control);
        assert_refuses(short, "1 initial labels");
        let negative = Csr::from_weighted(2, &[(0, 1, -1.0)]);
        assert_refuses(label_propagation(&negative, None, None, &settings, &control), "-1");
    }
}
