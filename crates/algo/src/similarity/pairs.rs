//! Similarity of given pairs of vertices by their neighbours.
//!
//! Result: a number per pair, in the order of the pairs; see [`Metric`].
//!
//! Method: both sorted lists are merged. Parallel edges count once, with the sum of their weights;
//! a loop makes a vertex a neighbour of itself. Weights count if the graph has them.
//!
//! Cost: O(degrees of the two) per pair; for Adamic-Adar and resource allocation also the degrees
//! of common neighbours. *Memory*: 8 bytes per pair and 16 per entry of the two longest lists on
//! each thread.
//!
//! Source: see [`metric`](super::metric).

use rayon::prelude::*;

use super::metric::{Metric, distinct};
use crate::control::{Control, Error, Result};
use crate::csr::Csr;

/// Pairs of one task.
const GRAIN: usize = 256;

/// Upper estimate of memory in bytes beyond the graph, for `pairs` pairs.
#[must_use]
pub fn bytes(n: u64, m: u64, pairs: u64, threads: u64) -> u64 {
    16 * pairs + 64 * threads * n.min(m)
}

/// Similarity of each pair of vertices by their neighbours in `graph`; `incoming` holds the same
/// edges the other way round, and is `graph` itself where that is undirected.
pub fn pairs(
    graph: &Csr,
    incoming: &Csr,
    pairs: &[(u32, u32)],
    metric: Metric,
    control: &Control<'_>,
) -> Result<Vec<f64>> {
    super::node_similarity::require(graph, incoming, control)?;
    let n = graph.vertices();
    if let Some((u, v)) = pairs.iter().find(|(u, v)| *u >= n || *v >= n) {
        return Err(Error::invalid(format!(
            "vertices {u} and {v} are not both below {n}, the number of vertices"
        )));
    }
    let of_chunk = |chunk: &[(u32, u32)]| -> Result<Vec<f64>> {
        let (mut a, mut b) = (Vec::new(), Vec::new());
        let mut work = 1 << 16;
        let mut values = Vec::with_capacity(chunk.len());
        for &(u, v) in chunk {
            distinct(graph, u, &mut a);
            distinct(graph, v, &mut b);
            let (mut common, mut rest) = (0.0, b.iter().peekable());
            work += a.len() + b.len() + 1;
            for &(x, w) in &a {
                while rest.next_if(|other| other.0 < x).is_some() {}
                let Some(&&(y, other)) = rest.peek() else { break };
                if y == x {
                    let degree = match metric {
                        Metric::AdamicAdar | Metric::ResourceAllocation => {
                            work += incoming.of(x).len();
                            incoming.of(x).chunk_by(|a, b| a == b).count() as u32
                        }
                        _ => 0,
                    };
                    common += metric.share(w, other, degree);
                }
                if work >= 1 << 16 {
                    control.check()?;
                    work = 0;
                }
            }
            let size = |list: &[(u32, f64)]| metric.size(list.iter().copied());
            values.push(metric.value(common, size(&a), size(&b)));
        }
        control.check()?;
        Ok(values)
    };
    let values: Result<Vec<Vec<f64>>> =
        control.install(|| pairs.par_chunks(GRAIN).map(of_chunk).collect());
    Ok(values?.concat())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::similarity::metric::{ALL, verify};
    use crate::testing::random_edges;

    #[test]
    fn pairs_of_random_graphs_equal_the_definition() {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(3).build().unwrap();
        for seed in 0..10 {
            let n = 1 + 3 * seed as u32;
            let edges: Vec<_> = random_edges(seed, n, 4 * n as usize)
                .iter()
                .zip(0..)
                .map(|(&(u, v), at)| (u, v, f64::from(at % 7)))
                .collect();
            let plain: Vec<_> = edges.iter().map(|&(u, v, _)| (u, v)).collect();
            let all: Vec<_> = (0..n).flat_map(|u| (0..n).map(move |v| (u, v))).collect();
            for weighted in [false, true] {
                let graph = match weighted {
                    true => Csr::from_weighted(n, &edges),
                    false => Csr::from_edges(n, &plain),
                };
                let incoming = graph.reversed();
                for metric in ALL {
                    let control = Control::default().on(&pool);
                    let found = pairs(&graph, &incoming, &all, metric, &control).unwrap();
                    for (value, &(u, v)) in found.iter().zip(&all) {
                        let expected = verify(metric, &edges, weighted, u, v);
                        let near = (value - expected).abs() < 1e-12 * (1.0 + expected);
                        assert!(near, "{metric:?} of {u} and {v}: {value}, not {expected}");
                    }
                }
            }
        }
    }

    #[test]
    fn bad_input_is_refused_and_stop_is_heard() {
        let graph = Csr::from_edges(2, &[(0, 1)]);
        let control = Control::default();
        let go = |list: &[(u32, u32)], control: &Control<'_>| {
            pairs(&graph, &graph.reversed(), list, Metric::Jaccard, control)
        };
        assert!(go(&[(0, 2)], &control).is_err());
        assert!(go(&[], &control).unwrap().is_empty());
        let stop = || true;
        assert_eq!(go(&[(0, 1)], &control.stopped_by(&stop)), Err(Error::Stopped));
        let other = Csr::from_edges(3, &[]);
        assert!(pairs(&graph, &other, &[], Metric::Jaccard, &control).is_err());
        for bad in [-1.0, f64::NAN] {
            let graph = Csr::from_weighted(2, &[(0, 1, bad)]);
            let list = [(0, 1)];
            let found = pairs(&graph, &graph.reversed(), &list, Metric::Cosine, &control);
            assert!(found.is_err());
        }
    }
}
