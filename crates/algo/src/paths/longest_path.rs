//! Longest paths in a graph without cycles, such as the critical path of a project.
//!
//! Result: for each vertex the largest weight of a path that ends there and begins at a vertex
//! without in-edges, and the vertex before it on that path, the smallest of several. If the graph
//! has a cycle, that cycle is the result. Weights may be negative; of parallel edges the heaviest
//! counts.
//!
//! Method: vertices in topological order hand their distance on. One thread.
//!
//! Cost: O(n log n + m). *Memory*: 24 bytes per vertex.
//!
//! Source: Kelley, "Critical-path planning and scheduling: mathematical basis", Operations Research
//! 1961.

use super::path::{NONE, Pace, Path, Tree};
use super::topological::{self, topological};
use crate::control::{Control, Result};
use crate::csr::Csr;

/// Result of [`longest_path`].
#[derive(Debug, Clone, PartialEq)]
pub enum Outcome {
    /// Longest path to each vertex. Every distance is finite.
    Longest(Tree),
    /// Vertices of a cycle, each with an edge to the next and the last to the first; it begins with
    /// its smallest.
    Cycle(Vec<u32>),
}

impl Outcome {
    /// The longest path of all; of several the one to the smallest vertex. `None` if there is no
    /// vertex or a cycle.
    #[must_use]
    pub fn longest(&self) -> Option<Path> {
        let Self::Longest(tree) = self else { return None };
        let distances = tree.distances.iter().enumerate();
        let target = distances.max_by(|a, b| a.1.total_cmp(b.1).then(b.0.cmp(&a.0)))?.0;
        tree.path(target as u32)
    }
}

/// Upper estimate of memory beyond the graph, in bytes.
#[must_use]
pub fn bytes(n: u64, m: u64) -> u64 {
    n * 12 + topological::bytes(n, m)
}

/// Returns the longest path to each vertex of `graph`, or a cycle.
pub fn longest_path(graph: &Csr, control: &Control<'_>) -> Result<Outcome> {
    graph.require_weights("longest path", f64::NEG_INFINITY, control)?;
    let order = match topological(graph, control)? {
        topological::Outcome::Sorted(order) => order,
        topological::Outcome::Cycle(cycle) => return Ok(Outcome::Cycle(cycle)),
    };
    let n = order.vertices.len();
    let mut tree = Tree { distances: vec![0.0; n], predecessors: vec![NONE; n] };
    let mut pace = Pace::new(control);
    for &u in &order.vertices {
        pace.spend(graph.of(u).len())?;
        let distance = tree.distances[u as usize];
        for (v, weight) in graph.weighted(u) {
            let reach = distance + weight;
            let before = &mut tree.predecessors[v as usize];
            let known = &mut tree.distances[v as usize];
            if *before == NONE || reach > *known || (reach == *known && u < *before) {
                (*known, *before) = (reach, u);
            }
        }
    }
    Ok(Outcome::Longest(tree))
}

/// Raises distances along all edges until nothing changes.
#[cfg(test)]
fn verify(graph: &Csr) -> Vec<f64> {
    let incoming = graph.reversed();
    let start = |v: u32| if incoming.of(v).is_empty() { 0.0 } else { f64::NEG_INFINITY };
    let mut distances: Vec<f64> = (0..graph.vertices()).map(start).collect();
    loop {
        let before = distances.clone();
        for (u, v, weight) in graph.all_edges() {
            let reach = distances[u as usize] + weight;
            distances[v as usize] = distances[v as usize].max(reach);
        }
        if before == distances {
            return distances;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::control::Error;
    use crate::paths::path::sample;

    #[test]
    fn distances_on_random_graphs_equal_raising_until_nothing_changes() {
        for seed in 0..200 {
            let shape = sample(seed);
            let edges: Vec<_> = shape
                .all_edges()
                .filter(|(u, v, _)| u != v)
                .map(|(u, v, w)| (u.min(v) ^ 1, u.max(v) ^ 1, w - 1.5))
                .collect();
            let graph = Csr::from_weighted(shape.vertices() + 1, &edges);
            let outcome = longest_path(&graph, &Control::default()).unwrap();
            let Outcome::Longest(tree) = &outcome else { panic!("seed {seed}: cycle") };
            let expected = verify(&graph);
            assert_eq!(tree.distances, expected, "seed {seed}");
            let most = expected.iter().copied().fold(f64::NEG_INFINITY, f64::max);
            assert_eq!(outcome.longest().unwrap().cost(), most);
            for v in 0..graph.vertices() {
                let path = tree.path(v).unwrap();
                for (step, costs) in path.vertices.windows(2).zip(path.costs.windows(2)) {
                    let fits =
                        |(x, weight): (u32, f64)| x == step[1] && costs[0] + weight == costs[1];
                    assert!(graph.weighted(step[0]).any(fits));
                }
            }
        }
    }

    #[test]
    fn cycle_is_a_result_and_bad_weights_and_a_stop_are_errors() {
        let control = Control::default();
        let graph = Csr::from_edges(4, &[(0, 3), (3, 1), (1, 2), (2, 3)]);
        assert_eq!(longest_path(&graph, &control), Ok(Outcome::Cycle(vec![1, 2, 3])));
        let empty = longest_path(&Csr::from_edges(0, &[]), &control).unwrap();
        assert_eq!(empty.longest(), None);
        for bad in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
            let graph = Csr::from_weighted(2, &[(0, 1, bad)]);
            assert!(matches!(longest_path(&graph, &control), Err(Error::Invalid(_))));
        }
        let stopped = Control::default().stopped_by(&|| true);
        assert_eq!(longest_path(&graph, &stopped), Err(Error::Stopped));
    }
}
