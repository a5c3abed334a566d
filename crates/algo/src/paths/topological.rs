//! Topological order: every vertex before all that its edges lead to.
//!
//! Result: the vertices in such an order, by level and then by number, and the level of each: most
//! edges on a path that ends there. If the graph has a cycle there is no order, and one cycle is
//! the result. Parallel edges change nothing; a loop is a cycle.
//!
//! Method: Kahn's. Vertices without in-edges left are taken off, level by level. If some stay, a
//! walk back along edges among them must meet itself. One thread.
//!
//! Cost: O(n log n + m). *Memory*: 12 bytes per vertex.
//!
//! Source: Kahn, "Topological sorting of large networks", Communications of the ACM 1962.

use super::path::{NONE, Pace};
use crate::control::{Control, Result};
use crate::csr::Csr;

/// Result of [`topological`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// The graph has no cycle.
    Sorted(Order),
    /// Vertices of a cycle, each with an edge to the next and the last to the first; it begins with
    /// its smallest.
    Cycle(Vec<u32>),
}

/// A topological order.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Order {
    /// All vertices, by level and then by number.
    pub vertices: Vec<u32>,
    /// Most edges on a path that ends at each vertex, by vertex.
    pub levels: Vec<u32>,
}

/// Upper estimate of memory beyond the graph, in bytes.
#[must_use]
pub fn bytes(n: u64, _m: u64) -> u64 {
    n * 12
}

/// Returns a topological order of `graph`, or a cycle.
pub fn topological(graph: &Csr, control: &Control<'_>) -> Result<Outcome> {
    let n = graph.vertices();
    control.check()?;
    let mut waits_for = vec![0u32; n as usize];
    let mut pace = Pace::new(control);
    for u in 0..n {
        pace.spend(graph.of(u).len())?;
        graph.of(u).iter().for_each(|&v| waits_for[v as usize] += 1);
    }
    let mut order = Order { vertices: Vec::with_capacity(n as usize), levels: vec![0; n as usize] };
    order.vertices.extend((0..n).filter(|&v| waits_for[v as usize] == 0));
    let (mut first, mut level) = (0, 0);
    while first < order.vertices.len() {
        let end = order.vertices.len();
        control.report(end as u64, u64::from(n));
        level += 1;
        for at in first..end {
            let u = order.vertices[at];
            pace.spend(graph.of(u).len())?;
            for &v in graph.of(u) {
                waits_for[v as usize] -= 1;
                if waits_for[v as usize] == 0 {
                    order.levels[v as usize] = level;
                    order.vertices.push(v);
                }
            }
        }
        order.vertices[end..].sort_unstable();
        first = end;
    }
    if order.vertices.len() == n as usize {
        return Ok(Outcome::Sorted(order));
    }
    Ok(Outcome::Cycle(cycle(graph, &waits_for, &mut pace)?))
}

/// A cycle among the vertices that wait for others.
fn cycle(graph: &Csr, waits_for: &[u32], pace: &mut Pace<'_, '_>) -> Result<Vec<u32>> {
    // Each of them has an in-edge from another one.
    let mut before = vec![NONE; waits_for.len()];
    for u in (0..graph.vertices()).filter(|&u| waits_for[u as usize] > 0) {
        pace.spend(graph.of(u).len())?;
        for &v in graph.of(u) {
            before[v as usize] = before[v as usize].min(u);
        }
    }
    let mut v = waits_for.iter().position(|&count| count > 0).unwrap_or(0) as u32;
    // After n steps back the walk goes round a cycle.
    for _ in 0..waits_for.len() {
        v = before[v as usize];
    }
    let mut vertices = vec![v];
    let mut u = before[v as usize];
    while u != v {
        vertices.push(u);
        u = before[u as usize];
    }
    vertices.reverse();
    let least = vertices.iter().enumerate().min_by_key(|place| place.1).map_or(0, |place| place.0);
    vertices.rotate_left(least);
    Ok(vertices)
}

/// Fails unless the outcome is what it says it is.
#[cfg(test)]
fn verify(graph: &Csr, outcome: &Outcome) {
    match outcome {
        Outcome::Sorted(order) => {
            let n = graph.vertices() as usize;
            let mut places = vec![usize::MAX; n];
            order.vertices.iter().enumerate().for_each(|(at, &v)| places[v as usize] = at);
            assert!(order.vertices.len() == n && !places.contains(&usize::MAX));
            let mut levels = vec![0; n];
            for &u in &order.vertices {
                for &v in graph.of(u) {
                    assert!(places[u as usize] < places[v as usize]);
                    levels[v as usize] = levels[v as usize].max(levels[u as usize] + 1);
                }
            }
            assert_eq!(order.levels, levels);
            assert!(order.vertices.is_sorted_by_key(|&v| (levels[v as usize], v)));
        }
        Outcome::Cycle(vertices) => {
            for (at, &u) in vertices.iter().enumerate() {
                assert!(graph.of(u).contains(&vertices[(at + 1) % vertices.len()]));
            }
            let mut distinct = vertices.clone();
            distinct.sort_unstable();
            distinct.dedup();
            assert!(distinct.len() == vertices.len() && distinct[0] == vertices[0]);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::control::Error;
    use crate::paths::path::sample;

    #[test]
    fn random_graphs_are_sorted_or_have_the_cycle_that_is_given() {
        let (mut sorted, mut cycles) = (0, 0);
        for seed in 0..300 {
            let graph = sample(seed);
            let outcome = topological(&graph, &Control::default()).unwrap();
            verify(&graph, &outcome);
            cycles += u32::from(matches!(outcome, Outcome::Cycle(_)));
            // Edges to larger numbers only make no cycle; then the numbers are shuffled.
            let n = graph.vertices();
            let up = graph.all_edges().filter(|(u, v, _)| u != v);
            let up = up.map(|(u, v, _)| (u.min(v) ^ 1, u.max(v) ^ 1)).collect::<Vec<_>>();
            let outcome = topological(&Csr::from_edges(n + 1, &up), &Control::default()).unwrap();
            verify(&Csr::from_edges(n + 1, &up), &outcome);
            sorted += u32::from(matches!(outcome, Outcome::Sorted(_)));
        }
        assert!(cycles > 100 && sorted == 300, "{cycles}, {sorted}");
    }

    #[test]
    fn empty_graph_and_long_chain_are_sorted_and_a_stop_is_an_error() {
        let empty = topological(&Csr::from_edges(0, &[]), &Control::default()).unwrap();
        assert_eq!(empty, Outcome::Sorted(Order::default()));
        let chain: Vec<_> = (0..100_000).map(|v| (v + 1, v)).collect();
        let graph = Csr::from_edges(100_001, &chain);
        verify(&graph, &topological(&graph, &Control::default()).unwrap());
        let stopped = Control::default().stopped_by(&|| true);
        assert_eq!(topological(&graph, &stopped), Err(Error::Stopped));
    }
}
