//! Shortest path from one vertex to another: by weight, or by the number of edges.
//!
//! Result: one shortest path with the cost up to each of its vertices, or none. Which one of
//! several is fixed, and not said. From a vertex to itself it is that vertex alone. Of parallel
//! edges the lightest counts, loops do not.
//!
//! Method: two searches, one from each end, that stop when they cannot meet at less cost:
//! Dijkstra's for weights, breadth first for hops, where the smaller frontier moves.
//!
//! Cost: the edges around both ends, on most graphs a small part of all; O((n + m) log n) at worst.
//! *Memory*: about 64 bytes for each vertex seen, nothing for the others.
//!
//! Source: Dijkstra, "A note on two problems in connexion with graphs", 1959; Pohl, "Bi-directional
//! search", Machine Intelligence 1971.

use super::path::{NONE, Pace, Path, Queue, VertexMap, require_vertex};
use crate::control::{Control, Result};
use crate::csr::Csr;

/// The two ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Settings {
    /// First vertex of the path. Must be in the graph.
    pub source: u32,
    /// Last vertex of the path. Must be in the graph.
    pub target: u32,
}

impl Settings {
    pub(super) fn check(&self, graph: &Csr) -> Result<()> {
        require_vertex(graph.vertices(), "source", self.source)?;
        require_vertex(graph.vertices(), "target", self.target)
    }
}

/// Upper estimate of memory beyond the graph, in bytes.
#[must_use]
pub fn bytes(n: u64, m: u64) -> u64 {
    2 * (n * 76 + m.min(4 * n) * 16)
}

/// State of a vertex in one search.
#[derive(Clone, Copy)]
struct Seen {
    distance: f64,
    /// The vertex nearer to where the search began.
    before: u32,
    /// Number of the edge between the two.
    weight: f64,
}

struct Side<'a> {
    graph: &'a Csr,
    seen: VertexMap<Seen>,
    queue: Queue,
}

impl<'a> Side<'a> {
    fn new(graph: &'a Csr, start: u32) -> Self {
        let mut side = Self { graph, seen: VertexMap::default(), queue: Queue::default() };
        side.seen.insert(start, Seen { distance: 0.0, before: NONE, weight: 0.0 });
        side.queue.push(0.0, start);
        side
    }

    fn least(&self) -> f64 {
        self.queue.least().unwrap_or(f64::INFINITY)
    }

    /// Vertices from where the search began to `v`, and the weights between them.
    fn walk(&self, v: u32) -> (Vec<u32>, Vec<f64>) {
        let (mut vertices, mut weights) = (vec![v], Vec::new());
        let mut last = v;
        while let Some(seen) = self.seen.get(&last).filter(|seen| seen.before != NONE) {
            weights.push(seen.weight);
            vertices.push(seen.before);
            last = seen.before;
        }
        vertices.reverse();
        weights.reverse();
        (vertices, weights)
    }
}

/// Joins the halves that two searches found up to `meeting`.
fn join(forward: &Side<'_>, backward: &Side<'_>, meeting: u32) -> Path {
    let (mut vertices, mut weights) = forward.walk(meeting);
    let (rest, rest_weights) = backward.walk(meeting);
    vertices.extend(rest.iter().rev().skip(1));
    weights.extend(rest_weights.iter().rev());
    let mut cost = 0.0;
    let mut costs = vec![0.0];
    costs.extend(weights.iter().map(|weight| {
        cost += weight;
        cost
    }));
    Path { vertices, costs }
}

/// Returns a path of least weight along the edges of `graph`; `incoming` is its reverse. Weights
/// must not be negative.
pub fn weighted(
    graph: &Csr,
    incoming: &Csr,
    settings: &Settings,
    control: &Control<'_>,
) -> Result<Option<Path>> {
    settings.check(graph)?;
    graph.require_weights("shortest path", 0.0, control)?;
    if settings.source == settings.target {
        return Ok(Some(Path { vertices: vec![settings.source], costs: vec![0.0] }));
    }
    let mut forward = Side::new(graph, settings.source);
    let mut backward = Side::new(incoming, settings.target);
    let (mut best, mut meeting) = (f64::INFINITY, NONE);
    let mut pace = Pace::new(control);
    control.check()?;
    while forward.least() + backward.least() < best {
        let (side, other) = if forward.least() <= backward.least() {
            (&mut forward, &backward)
        } else {
            (&mut backward, &forward)
        };
        let Some((distance, v)) = side.queue.pop() else { break };
        if side.seen.get(&v).is_some_and(|seen| distance > seen.distance) {
            continue;
        }
        pace.spend(side.graph.of(v).len())?;
        let rest = other.least();
        for (x, weight) in side.graph.weighted(v) {
            let reach = distance + weight;
            // Vertices that the other side has not seen are at least as far from it as its next.
            if reach + rest >= best && !other.seen.contains_key(&x) {
                continue;
            }
            if side.seen.get(&x).is_some_and(|seen| seen.distance <= reach) {
                continue;
            }
            side.seen.insert(x, Seen { distance: reach, before: v, weight });
            side.queue.push(reach, x);
            if let Some(met) = other.seen.get(&x)
                && reach + met.distance < best
            {
                (best, meeting) = (reach + met.distance, x);
            }
        }
    }
    Ok((meeting != NONE).then(|| join(&forward, &backward, meeting)))
}

/// Returns a path of fewest edges along `graph`, each at cost 1; `incoming` is its reverse.
pub fn unweighted(
    graph: &Csr,
    incoming: &Csr,
    settings: &Settings,
    control: &Control<'_>,
) -> Result<Option<Path>> {
    settings.check(graph)?;
    control.check()?;
    if settings.source == settings.target {
        return Ok(Some(Path { vertices: vec![settings.source], costs: vec![0.0] }));
    }
    let mut sides = [Side::new(graph, settings.source), Side::new(incoming, settings.target)];
    let mut frontiers = [vec![settings.source], vec![settings.target]];
    let mut pace = Pace::new(control);
    while frontiers.iter().all(|frontier| !frontier.is_empty()) {
        let at = usize::from(frontiers[0].len() > frontiers[1].len());
        let [forward, backward] = &mut sides;
        let (side, other) = if at == 0 { (forward, backward) } else { (backward, forward) };
        let mut next = Vec::new();
        let mut meeting = NONE;
        for &v in &frontiers[at] {
            pace.spend(side.graph.of(v).len())?;
            for &x in side.graph.of(v) {
                if side.seen.contains_key(&x) {
                    continue;
                }
                side.seen.insert(x, Seen { distance: 0.0, before: v, weight: 1.0 });
                next.push(x);
                // All meetings of the first level that has one are equally far.
                if x < meeting && other.seen.contains_key(&x) {
                    meeting = x;
                }
            }
        }
        if meeting != NONE {
            return Ok(Some(join(&sides[0], &sides[1], meeting)));
        }
        next.sort_unstable();
        frontiers[at] = next;
    }
    Ok(None)
}

/// Fails unless `path` follows edges whose weights add up to its costs.
#[cfg(test)]
pub(super) fn verify(graph: &Csr, path: &Path, source: u32, target: u32) {
    assert_eq!(path.vertices.first(), Some(&source));
    assert_eq!(path.vertices.last(), Some(&target));
    assert_eq!(path.costs[0], 0.0);
    for (step, costs) in path.vertices.windows(2).zip(path.costs.windows(2)) {
        assert_eq!(costs[0] + super::path::lightest(graph, step[0], step[1]), costs[1]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::control::Error;
    use crate::paths::path::sample;
    use crate::paths::sssp;

    #[test]
    fn path_costs_on_random_graphs_equal_bellman_ford() {
        for seed in 0..200 {
            let graph = sample(seed);
            let incoming = graph.reversed();
            let plain: Vec<_> = graph.all_edges().map(|(u, v, _)| (u, v)).collect();
            let plain = Csr::from_edges(graph.vertices(), &plain);
            let control = Control::default();
            for source in 0..graph.vertices().min(4) {
                let distances = sssp::verify(&graph, source);
                let hops = sssp::verify(&plain, source);
                for target in 0..graph.vertices() {
                    let settings = Settings { source, target };
                    let found = weighted(&graph, &incoming, &settings, &control).unwrap();
                    let cost = found.as_ref().map_or(f64::INFINITY, Path::cost);
                    assert_eq!(cost, distances[target as usize], "seed {seed}");
                    found.iter().for_each(|path| verify(&graph, path, source, target));
                    let found = unweighted(&graph, &incoming, &settings, &control).unwrap();
                    let cost = found.as_ref().map_or(f64::INFINITY, Path::cost);
                    assert_eq!(cost, hops[target as usize], "seed {seed}");
                    found.iter().for_each(|path| verify(&plain, path, source, target));
                }
            }
        }
    }

    #[test]
    fn long_chain_is_found_from_both_ends() {
        let edges: Vec<_> = (0..50_000).map(|v| (v, v + 1)).collect();
        let graph = Csr::from_edges(50_001, &edges);
        let settings = Settings { source: 0, target: 50_000 };
        let incoming = graph.reversed();
        for find in [weighted, unweighted] {
            let path = find(&graph, &incoming, &settings, &Control::default()).unwrap().unwrap();
            assert_eq!(path.cost(), 50_000.0);
        }
    }

    #[test]
    fn bad_vertices_weights_and_a_stop_are_errors() {
        let graph = Csr::from_edges(2, &[(0, 1)]);
        let stopped = Control::default().stopped_by(&|| true);
        for find in [weighted, unweighted] {
            for (source, target) in [(2, 0), (0, 2)] {
                let settings = Settings { source, target };
                let found = find(&graph, &graph.reversed(), &settings, &Control::default());
                assert!(matches!(found, Err(Error::Invalid(_))));
            }
            let settings = Settings { source: 0, target: 1 };
            let found = find(&graph, &graph.reversed(), &settings, &stopped);
            assert_eq!(found, Err(Error::Stopped));
        }
        for bad in [-1.0, f64::NAN, f64::INFINITY] {
            let graph = Csr::from_weighted(2, &[(0, 1, bad)]);
            let settings = Settings { source: 0, target: 1 };
            let found = weighted(&graph, &graph.reversed(), &settings, &Control::default());
            assert!(matches!(found, Err(Error::Invalid(_))));
        }
    }
}
