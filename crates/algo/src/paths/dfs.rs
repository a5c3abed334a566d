//! Depth-first search: the vertices that one vertex leads to, in the order of their visits.
//!
//! Result: the vertices that are reached, in the order in which they are visited first, and the
//! depth of each: its number of edges from the source on the way that the search came. A vertex
//! goes to its neighbours in the order of its list, and to the next only when all behind the one
//! before is done. The search ends with the first target. With a bound on the depth, a vertex is
//! visited only at the depth where it is met first: others can then stay unvisited although a
//! shorter way leads to them.
//!
//! Method: an explicit stack of vertices with their places in their lists. One thread.
//!
//! Cost: O(n + m). *Memory*: 1 byte and, for vertices that are reached, 20 bytes per vertex.
//!
//! Source: Tarjan, "Depth-first search and linear graph algorithms", SIAM Journal on Computing
//! 1972.

use super::path::{Pace, require_vertex};
use crate::control::{Control, Result};
use crate::csr::Csr;

/// Source and limits of the search.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Settings {
    /// Vertex where the search begins. Must be in the graph.
    pub source: u32,
    /// Most edges from the source on the way of the search. `None` has no limit.
    pub max_depth: Option<u32>,
    /// The search ends when it visits one of these. Each must be in the graph; empty means no end.
    pub targets: Vec<u32>,
}

/// Order of a search.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Visits {
    /// Vertices in the order of their first visits; the source comes first.
    pub order: Vec<u32>,
    /// Depth of each of them.
    pub depths: Vec<u32>,
}

/// Upper estimate of memory beyond the graph, in bytes.
#[must_use]
pub fn bytes(n: u64, _m: u64) -> u64 {
    // The lists grow by doubling, and are copied as they do.
    n * (1 + 3 * (4 + 4 + 16))
}

/// Returns the order of a depth-first search from the source.
pub fn dfs(graph: &Csr, settings: &Settings, control: &Control<'_>) -> Result<Visits> {
    let n = graph.vertices();
    require_vertex(n, "source", settings.source)?;
    settings.targets.iter().try_for_each(|&v| require_vertex(n, "a target", v))?;
    control.check()?;
    let mut is_target = vec![false; if settings.targets.is_empty() { 0 } else { n as usize }];
    settings.targets.iter().for_each(|&v| is_target[v as usize] = true);
    let is_target = |v: u32| is_target.get(v as usize) == Some(&true);
    let mut visited = vec![false; n as usize];
    let mut visits = Visits::default();
    let mut stack: Vec<(u32, usize)> = Vec::new();
    let mut pace = Pace::new(control);
    visited[settings.source as usize] = true;
    visits.order.push(settings.source);
    visits.depths.push(0);
    if is_target(settings.source) {
        return Ok(visits);
    }
    if settings.max_depth != Some(0) {
        stack.push((settings.source, 0));
    }
    while let Some((v, next)) = stack.last_mut() {
        let list = graph.of(*v);
        let Some(&x) = list.get(*next) else {
            stack.pop();
            continue;
        };
        *next += 1;
        pace.spend(0)?;
        if visited[x as usize] {
            continue;
        }
        visited[x as usize] = true;
        let depth = stack.len() as u32;
        visits.order.push(x);
        visits.depths.push(depth);
        if is_target(x) {
            break;
        }
        if settings.max_depth.is_none_or(|most| depth < most) {
            stack.push((x, 0));
        }
        if visits.order.len().is_multiple_of(1 << 16) {
            control.report(visits.order.len() as u64, u64::from(n));
        }
    }
    Ok(visits)
}

/// The same by recursion.
#[cfg(test)]
fn verify(graph: &Csr, settings: &Settings, found: &Visits) {
    fn visit(graph: &Csr, settings: &Settings, (v, depth): (u32, u32), to: &mut Visits) -> bool {
        to.order.push(v);
        to.depths.push(depth);
        if settings.targets.contains(&v) {
            return true;
        }
        let goes_on = settings.max_depth.is_none_or(|most| depth < most);
        graph
            .of(v)
            .iter()
            .filter(|_| goes_on)
            .any(|&x| !to.order.contains(&x) && visit(graph, settings, (x, depth + 1), to))
    }
    let mut expected = Visits::default();
    visit(graph, settings, (settings.source, 0), &mut expected);
    assert_eq!(*found, expected, "{settings:?}");
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::control::Error;
    use crate::paths::path::sample;

    #[test]
    fn random_graphs_are_visited_as_by_recursion() {
        for seed in 0..200 {
            let graph = sample(seed);
            let n = graph.vertices();
            for source in 0..n.min(4) {
                for max_depth in [None, Some(0), Some(1), Some(3)] {
                    for targets in [vec![], vec![n - 1], vec![0, n / 2]] {
                        let settings = Settings { source, max_depth, targets };
                        let found = dfs(&graph, &settings, &Control::default()).unwrap();
                        verify(&graph, &settings, &found);
                    }
                }
            }
        }
    }

    #[test]
    fn long_chains_need_no_stack_and_a_stop_is_an_error() {
        let chain: Vec<_> = (0..100_000).map(|v| (v, v + 1)).collect();
        let graph = Csr::from_edges(100_001, &chain);
        let found = dfs(&graph, &Settings::default(), &Control::default()).unwrap();
        assert!(found.order.iter().copied().eq(0..100_001));
        assert_eq!(found.order, found.depths);
        let stopped = Control::default().stopped_by(&|| true);
        assert_eq!(dfs(&graph, &Settings::default(), &stopped), Err(Error::Stopped));
        let outside = Settings { source: 100_001, ..Settings::default() };
        assert!(dfs(&graph, &outside, &Control::default()).is_err());
    }
}
