//! Degree centrality: how many edges each vertex has, and what they weigh.
//!
//! Result: per vertex its number of edges and the sum of their weights, 1 each without weights.
//! Parallel edges count each, a loop once per list that it stands in.
//!
//! Method: the lengths of lists, and sums over their weights in parallel. With `incoming` both
//! lists of a vertex count; give only the reversed graph for in-degrees.
//!
//! Cost: O(n), O(m) with weights. *Memory*: 16 bytes per vertex.
//!
//! Source: Freeman, "Centrality in social networks: conceptual clarification", 1978.

use super::pull;
use crate::community::steps;
use crate::control::{Control, Result};
use crate::csr::Csr;

/// Degrees found by [`degree`].
#[derive(Debug, Clone, PartialEq)]
pub struct Degrees {
    /// Number of edges of each vertex.
    pub counts: Vec<u64>,
    /// Sum of the weights of the edges of each vertex.
    pub weights: Vec<f64>,
}

/// Upper estimate of the bytes needed for `n` vertices and `m` edges.
#[must_use]
pub fn bytes(n: u64, _m: u64) -> u64 {
    24 * n
}

/// Counts and adds up the edges of `graph`, and of `incoming` if given. Weights may be negative.
pub fn degree(graph: &Csr, incoming: Option<&Csr>, control: &Control<'_>) -> Result<Degrees> {
    control.check()?;
    let mut degrees = Degrees {
        counts: vec![0; graph.vertices() as usize],
        weights: vec![0.0; graph.vertices() as usize],
    };
    if let Some(incoming) = incoming {
        steps::require_reverse(graph, incoming)?;
    }
    for side in std::iter::once(graph).chain(incoming) {
        side.require_weights("degree centrality", f64::MIN, control)?;
        let strengths = pull::strengths(side, control)?;
        for (v, strength) in (0..).zip(strengths) {
            degrees.counts[v as usize] += side.of(v).len() as u64;
            degrees.weights[v as usize] += strength;
        }
    }
    Ok(degrees)
}

/// Adds up edge by edge.
#[cfg(test)]
pub(crate) fn verify(n: u32, edges: &[(u32, u32, f64)]) -> Degrees {
    let mut degrees = Degrees { counts: vec![0; n as usize], weights: vec![0.0; n as usize] };
    for &(u, _, weight) in edges {
        degrees.counts[u as usize] += 1;
        degrees.weights[u as usize] += weight;
    }
    degrees
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::community::samples::{
        assert_refuses, assert_same_on_threads, assert_stops, samples, weigh,
    };
    use crate::testing::random_edges;

    #[test]
    fn degrees_of_random_graphs_equal_adding_up() {
        for (n, edges) in samples(40, 60) {
            let weights = weigh(&edges);
            let control = Control::default();
            let graph = Csr::from_weighted(n, &weights);
            assert_eq!(degree(&graph, None, &control).unwrap(), verify(n, &weights));
            let ones: Vec<_> = edges.iter().map(|&(u, v)| (u, v, 1.0)).collect();
            let plain = degree(&Csr::from_edges(n, &edges), None, &control).unwrap();
            assert_eq!(plain, verify(n, &ones));
            let both: Vec<_> =
                weights.iter().flat_map(|&(u, v, w)| [(u, v, w), (v, u, w)]).collect();
            let found = degree(&graph, Some(&graph.reversed()), &control).unwrap();
            assert_eq!(found, verify(n, &both));
        }
    }

    #[test]
    fn it_stops_refuses_and_is_the_same_on_three_threads() {
        let graph = Csr::from_weighted(5000, &weigh(&random_edges(1, 5000, 20_000)));
        assert_stops(|control| degree(&graph, None, control));
        assert_same_on_threads(|control| degree(&graph, None, control));
        let bad = Csr::from_weighted(2, &[(0, 1, f64::NAN)]);
        assert_refuses(degree(&bad, None, &Control::default()), "NaN");
    }
}
