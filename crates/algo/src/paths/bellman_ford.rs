//! Bellman-Ford: shortest paths from one vertex where weights may be negative.
//!
//! Result: a distance and a predecessor per vertex; or, if a cycle of negative weight can be
//! reached, such a cycle. Of parallel edges the lightest counts; a loop counts if it is negative.
//!
//! Method: rounds over the vertices that changed in the round before, in ascending order. Every n
//! relaxations, and from round n on after each, the predecessors are searched for a cycle, which is
//! negative. Sums are of floating-point numbers, so a cycle whose weights cancel out but for
//! rounding may count as negative. One thread.
//!
//! Cost: O(n m) at worst, O(m) times a few rounds usually. *Memory*: 21 bytes per vertex.
//!
//! Source: Bellman, "On a routing problem", Quarterly of Applied Mathematics 1958; cycle detection
//! as in Cherkassky and Goldberg, "Negative-cycle detection algorithms", Mathematical Programming
//! 1999.

use super::path::{NONE, Pace, Path, Tree, lightest, require_vertex};
use crate::control::{Control, Result};
use crate::csr::Csr;

/// Source of the search.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Settings {
    /// Vertex that distances are measured from. Must be in the graph.
    pub source: u32,
}

/// Result of [`bellman_ford`].
#[derive(Debug, Clone, PartialEq)]
pub enum Outcome {
    /// No negative cycle can be reached from the source.
    Shortest(Tree),
    /// A cycle of negative cost, from its smallest vertex to the same vertex again.
    NegativeCycle(Path),
}

/// Upper estimate of memory beyond the graph, in bytes.
#[must_use]
pub fn bytes(n: u64, _m: u64) -> u64 {
    n * 29
}

/// Returns distances from the source along the edges of `graph`, or a negative cycle.
pub fn bellman_ford(graph: &Csr, settings: &Settings, control: &Control<'_>) -> Result<Outcome> {
    let n = graph.vertices();
    require_vertex(n, "source", settings.source)?;
    graph.require_weights("bellman-ford", f64::NEG_INFINITY, control)?;
    let mut tree =
        Tree { distances: vec![f64::INFINITY; n as usize], predecessors: vec![NONE; n as usize] };
    tree.distances[settings.source as usize] = 0.0;
    let mut waits = vec![false; n as usize];
    let mut frontier = vec![settings.source];
    let (mut rounds, mut relaxed) = (0u32, 0);
    let mut pace = Pace::new(control);
    while !frontier.is_empty() {
        control.check()?;
        control.report(u64::from(rounds), u64::from(n));
        let mut next = Vec::new();
        for &u in &frontier {
            waits[u as usize] = false;
            pace.spend(graph.of(u).len())?;
            let distance = tree.distances[u as usize];
            for (v, weight) in graph.weighted(u) {
                let reach = distance + weight;
                if reach >= tree.distances[v as usize] {
                    continue;
                }
                tree.distances[v as usize] = reach;
                tree.predecessors[v as usize] = u;
                relaxed += 1;
                if !waits[v as usize] {
                    waits[v as usize] = true;
                    next.push(v);
                }
            }
        }
        next.sort_unstable();
        frontier = next;
        rounds = rounds.saturating_add(1);
        if relaxed >= n || rounds >= n {
            relaxed = 0;
            if let Some(cycle) = cycle(graph, &tree.predecessors) {
                return Ok(Outcome::NegativeCycle(cycle));
            }
        }
    }
    Ok(Outcome::Shortest(tree))
}

/// A cycle among predecessors, along the edges, from its smallest vertex on.
fn cycle(graph: &Csr, predecessors: &[u32]) -> Option<Path> {
    let mut walks = vec![NONE; predecessors.len()];
    let mut walk = |start: u32| {
        let mut v = start;
        while v != NONE && walks[v as usize] == NONE {
            walks[v as usize] = start;
            v = predecessors[v as usize];
        }
        // The walk met itself, not one before.
        (v != NONE && walks[v as usize] == start).then_some(v)
    };
    let on_cycle = (0..graph.vertices()).find_map(&mut walk)?;
    let mut vertices = vec![on_cycle];
    let mut v = predecessors[on_cycle as usize];
    while v != on_cycle {
        vertices.push(v);
        v = predecessors[v as usize];
    }
    vertices.reverse();
    let least = vertices.iter().enumerate().min_by_key(|place| place.1)?.0;
    vertices.rotate_left(least);
    vertices.push(vertices[0]);
    let mut cost = 0.0;
    let mut costs = vec![0.0];
    costs.extend(vertices.windows(2).map(|step| {
        cost += lightest(graph, step[0], step[1]);
        cost
    }));
    Some(Path { vertices, costs })
}

/// The textbook: n - 1 rounds over all edges, and one more that must change nothing.
#[cfg(test)]
pub(crate) fn verify(graph: &Csr, source: u32) -> Option<Vec<f64>> {
    let mut distances = vec![f64::INFINITY; graph.vertices() as usize];
    distances[source as usize] = 0.0;
    let round = |distances: &mut Vec<f64>| {
        for (u, v, weight) in graph.all_edges() {
            let reach = distances[u as usize] + weight;
            distances[v as usize] = distances[v as usize].min(reach);
        }
    };
    (1..graph.vertices()).for_each(|_| round(&mut distances));
    let settled = distances.clone();
    round(&mut distances);
    (settled == distances).then_some(settled)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::control::Error;
    use crate::paths::path::sample;
    use crate::paths::shortest_path;
    use crate::random::Random;

    #[test]
    fn random_graphs_with_negative_weights_equal_the_textbook() {
        let (mut cycles, mut trees) = (0, 0);
        for seed in 0..400 {
            let shape = sample(seed);
            let n = shape.vertices();
            // Potentials make negative weights without negative cycles; some edges break that.
            let mut random = Random::new(seed, 9);
            let heights: Vec<f64> = (0..n).map(|_| f64::from(random.below(40))).collect();
            let breaks = random.below(3) == 0;
            let edges: Vec<_> = shape
                .all_edges()
                .map(|(u, v, w)| {
                    let less = if breaks && random.below(9) == 0 { 4.0 } else { 0.0 };
                    (u, v, w + heights[v as usize] - heights[u as usize] - less)
                })
                .collect();
            let graph = Csr::from_weighted(n, &edges);
            let settings = Settings { source: seed as u32 % n };
            let found = bellman_ford(&graph, &settings, &Control::default()).unwrap();
            match (found, verify(&graph, settings.source)) {
                (Outcome::Shortest(tree), Some(expected)) => {
                    trees += 1;
                    assert_eq!(tree.distances, expected, "seed {seed}");
                    for v in 0..n {
                        let Some(path) = tree.path(v) else { continue };
                        shortest_path::verify(&graph, &path, settings.source, v);
                    }
                }
                (Outcome::NegativeCycle(cycle), None) => {
                    cycles += 1;
                    let least = *cycle.vertices.iter().min().unwrap();
                    shortest_path::verify(&graph, &cycle, least, least);
                    assert!(cycle.cost() < 0.0 && cycle.vertices.len() > 1);
                }
                (found, expected) => panic!("seed {seed}: {found:?}, not {expected:?}"),
            }
        }
        assert!(cycles > 20 && trees > 100, "{cycles} cycles, {trees} trees");
    }

    #[test]
    fn negative_loop_is_a_cycle_and_an_unreachable_one_is_none() {
        let graph = Csr::from_weighted(3, &[(0, 1, 2.0), (1, 1, -1.0), (2, 2, -1.0)]);
        let run = |source| bellman_ford(&graph, &Settings { source }, &Control::default()).unwrap();
        let Outcome::NegativeCycle(cycle) = run(0) else { panic!("no cycle") };
        assert_eq!(cycle, Path { vertices: vec![1, 1], costs: vec![0.0, -1.0] });
        let graph = Csr::from_weighted(3, &[(0, 1, -2.0), (2, 2, -1.0)]);
        let found = bellman_ford(&graph, &Settings::default(), &Control::default()).unwrap();
        assert!(matches!(found, Outcome::Shortest(_)));
    }

    #[test]
    fn bad_settings_weights_and_a_stop_are_errors() {
        let graph = Csr::from_edges(2, &[(0, 1)]);
        let beyond = bellman_ford(&graph, &Settings { source: 2 }, &Control::default());
        assert!(matches!(beyond, Err(Error::Invalid(_))));
        for bad in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
            let graph = Csr::from_weighted(2, &[(0, 1, bad)]);
            let found = bellman_ford(&graph, &Settings::default(), &Control::default());
            assert!(matches!(found, Err(Error::Invalid(_))));
        }
        let stopped = Control::default().stopped_by(&|| true);
        let found = bellman_ford(&graph, &Settings::default(), &stopped);
        assert_eq!(found, Err(Error::Stopped));
    }
}
