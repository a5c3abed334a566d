//! Yen's algorithm: the k shortest paths between two vertices that meet no vertex twice.
//!
//! Result: up to k paths, by cost and then by their vertices. A path is a sequence of vertices: of
//! parallel edges the lightest counts, loops do not. Of several paths that tie for the last places
//! some are left out; which is fixed, and the same for any number of threads.
//!
//! Method: the next path leaves one of those found at some vertex. For each such vertex a search by
//! Dijkstra goes on from there, without the vertices before it and the edges that known paths take;
//! these searches run in parallel. Only vertices behind the one where a path left its own parent
//! are tried (Lawler), and a search ends where it costs more than the candidates at hand.
//!
//! Cost: O(k l) searches for paths of l vertices, each O((n + m) log n) at worst. *Memory*: 56
//! bytes for each vertex that the searches at work have seen, and the candidates.
//!
//! Source: Yen, "Finding the k shortest loopless paths in a network", Management Science 1971;
//! Lawler, "A procedure for computing the k best solutions", Management Science 1972.

use std::cmp::Ordering;
use std::collections::BTreeSet;

use rayon::prelude::*;

use super::path::{NONE, Pace, Path, Queue, VertexMap, require_vertex};
use crate::control::{Control, Error, Result};
use crate::csr::Csr;

/// The two ends, and how many paths.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Settings {
    /// First vertex of the paths. Must be in the graph.
    pub source: u32,
    /// Last vertex of the paths. Must be in the graph.
    pub target: u32,
    /// Most paths, at least 1.
    pub k: u32,
}

impl Default for Settings {
    /// From 0 to 0, 3 paths.
    fn default() -> Self {
        Self { source: 0, target: 0, k: 3 }
    }
}

/// Upper estimate of memory beyond the graph on this number of threads, in bytes: a search on each,
/// and k paths of up to 1000 vertices.
#[must_use]
pub fn bytes(n: u64, m: u64, settings: &Settings, threads: usize) -> u64 {
    let searches = threads as u64 * (n * 76 + m.min(4 * n) * 16);
    searches + u64::from(settings.k).saturating_mul(n.min(1000) * 24)
}

/// A path found and not yet given out.
#[derive(Debug, Clone, PartialEq)]
struct Candidate {
    path: Path,
    /// Place of the last vertex that it shares with the path it was made from.
    left_at: usize,
}

impl Eq for Candidate {}

impl Ord for Candidate {
    fn cmp(&self, other: &Self) -> Ordering {
        let costs = self.path.cost().total_cmp(&other.path.cost());
        costs.then_with(|| self.path.vertices.cmp(&other.path.vertices))
    }
}

impl PartialOrd for Candidate {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// Returns the shortest paths along the edges of `graph`. Weights must not be negative.
pub fn yens(graph: &Csr, settings: &Settings, control: &Control<'_>) -> Result<Vec<Path>> {
    require_vertex(graph.vertices(), "source", settings.source)?;
    require_vertex(graph.vertices(), "target", settings.target)?;
    if settings.k == 0 {
        return Err(Error::invalid("k is 0, and must be at least 1"));
    }
    graph.require_weights("yens", 0.0, control)?;
    let k = settings.k as usize;
    let target = settings.target;
    control.check()?;
    let start = Path { vertices: vec![settings.source], costs: vec![0.0] };
    let first = extend(graph, &start, target, &[], f64::INFINITY, control)?;
    let mut candidates: BTreeSet<Candidate> =
        first.map(|path| Candidate { path, left_at: 0 }).into_iter().collect();
    let mut paths: Vec<Path> = Vec::new();
    while let Some(Candidate { path, left_at }) = candidates.pop_first() {
        control.check()?;
        control.report(paths.len() as u64, u64::from(settings.k));
        paths.push(path);
        if paths.len() == k {
            break;
        }
        let left = k - paths.len();
        while candidates.len() > left {
            candidates.pop_last();
        }
        let full = candidates.len() == left;
        let bound = candidates.last().filter(|_| full).map_or(f64::INFINITY, |c| c.path.cost());
        let path = &paths[paths.len() - 1];
        let found: Result<Vec<Option<Candidate>>> = control.install(|| {
            (left_at..path.vertices.len() - 1)
                .into_par_iter()
                .map(|at| {
                    let root = &path.vertices[..=at];
                    let taken: Vec<u32> = paths
                        .iter()
                        .filter(|other| other.vertices.starts_with(root))
                        .filter_map(|other| other.vertices.get(at + 1).copied())
                        .collect();
                    let root = Path { vertices: root.into(), costs: path.costs[..=at].into() };
                    let found = extend(graph, &root, target, &taken, bound, control)?;
                    Ok(found.map(|path| Candidate { path, left_at: at }))
                })
                .collect()
        });
        candidates.extend(found?.into_iter().flatten());
    }
    Ok(paths)
}

/// Shortest path that begins with `root`, meets none of its vertices again, goes on to none of
/// `taken` and costs at most `bound`.
fn extend(
    graph: &Csr,
    root: &Path,
    target: u32,
    taken: &[u32],
    bound: f64,
    control: &Control<'_>,
) -> Result<Option<Path>> {
    let Some((&from, before)) = root.vertices.split_last() else { return Ok(None) };
    // Distance and the vertex before; those of the root are closed.
    let mut seen: VertexMap<(f64, u32)> = VertexMap::default();
    seen.extend(before.iter().map(|&v| (v, (f64::NEG_INFINITY, NONE))));
    seen.insert(from, (root.cost(), NONE));
    let mut queue = Queue::default();
    queue.push(root.cost(), from);
    let mut pace = Pace::new(control);
    while let Some((distance, v)) = queue.pop() {
        if v == target {
            return Ok(Some(path_to(&seen, root, target)));
        }
        if seen.get(&v).is_some_and(|known| distance > known.0) {
            continue;
        }
        pace.spend(graph.of(v).len())?;
        for (x, weight) in graph.weighted(v) {
            let reach = distance + weight;
            let closed = seen.get(&x).is_some_and(|known| known.0 <= reach);
            if closed || reach > bound || (v == from && taken.contains(&x)) {
                continue;
            }
            seen.insert(x, (reach, v));
            queue.push(reach, x);
        }
    }
    Ok(None)
}

fn path_to(seen: &VertexMap<(f64, u32)>, root: &Path, target: u32) -> Path {
    let mut tail = Vec::new();
    let mut v = target;
    while let Some(&(distance, before)) = seen.get(&v).filter(|known| known.1 != NONE) {
        tail.push((v, distance));
        v = before;
    }
    let mut path = root.clone();
    path.vertices.extend(tail.iter().rev().map(|step| step.0));
    path.costs.extend(tail.iter().rev().map(|step| step.1));
    path
}

/// Costs of all simple paths, ascending.
#[cfg(test)]
pub(crate) fn verify(graph: &Csr, source: u32, target: u32) -> Vec<f64> {
    let simple = graph.simple(f64::min);
    let mut costs = Vec::new();
    let mut open = vec![(vec![source], 0.0)];
    while let Some((vertices, cost)) = open.pop() {
        let last = *vertices.last().unwrap();
        if last == target {
            costs.push(cost);
            continue;
        }
        for (x, weight) in simple.weighted(last) {
            if !vertices.contains(&x) {
                open.push(([&vertices[..], &[x]].concat(), cost + weight));
            }
        }
    }
    costs.sort_by(f64::total_cmp);
    costs
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::paths::path::threads;
    use crate::paths::shortest_path;
    use crate::random::Random;

    fn small(seed: u64) -> Csr {
        let mut random = Random::new(seed, 3);
        let n = 1 + random.below(7);
        let edges: Vec<_> = crate::testing::random_edges(seed, n, (n * random.below(5)) as usize)
            .into_iter()
            .map(|(u, v)| (u, v, f64::from(random.below(9)) / 4.0))
            .collect();
        let graph = Csr::from_weighted(n, &edges);
        if seed.is_multiple_of(3) { graph.undirected() } else { graph }
    }

    #[test]
    fn costs_on_random_graphs_equal_those_of_all_simple_paths() {
        let pool = threads(3);
        for seed in 0..150 {
            let graph = small(seed);
            let (source, target) = (0, graph.vertices() - 1);
            let expected = verify(&graph, source, target);
            for k in [1, 2, 5, 1000] {
                let settings = Settings { source, target, k };
                let found = yens(&graph, &settings, &Control::default()).unwrap();
                let costs: Vec<f64> = found.iter().map(Path::cost).collect();
                assert_eq!(costs, expected[..expected.len().min(k as usize)], "seed {seed}");
                let mut distinct: Vec<_> = found.iter().map(|path| &path.vertices).collect();
                distinct.sort();
                distinct.dedup();
                assert_eq!(distinct.len(), found.len());
                for path in &found {
                    shortest_path::verify(&graph, path, source, target);
                    let mut vertices = path.vertices.clone();
                    vertices.sort_unstable();
                    vertices.dedup();
                    assert_eq!(vertices.len(), path.vertices.len());
                }
                let three = yens(&graph, &settings, &Control::default().on(&pool)).unwrap();
                assert_eq!(three, found);
            }
        }
    }

    #[test]
    fn bad_settings_weights_and_a_stop_are_errors() {
        let graph = Csr::from_edges(2, &[(0, 1)]);
        let good = Settings { source: 0, target: 1, k: 2 };
        for settings in [
            Settings { k: 0, ..good },
            Settings { source: 2, ..good },
            Settings { target: 2, ..good },
        ] {
            let found = yens(&graph, &settings, &Control::default());
            assert!(matches!(found, Err(Error::Invalid(_))));
        }
        let negative = Csr::from_weighted(2, &[(0, 1, -1.0)]);
        let found = yens(&negative, &good, &Control::default());
        assert!(matches!(found, Err(Error::Invalid(_))));
        let stopped = Control::default().stopped_by(&|| true);
        assert_eq!(yens(&graph, &good, &stopped), Err(Error::Stopped));
        // A small graph with many paths: each search is short, and the stop is seen between them.
        let edges: Vec<_> = (0..12).flat_map(|u| (0..12).map(move |v| (u, v))).collect();
        let asked = std::sync::atomic::AtomicU32::new(0);
        let stop = || asked.fetch_add(1, std::sync::atomic::Ordering::Relaxed) > 20;
        let many = Settings { k: 1_000_000, ..good };
        let found =
            yens(&Csr::from_edges(12, &edges), &many, &Control::default().stopped_by(&stop));
        assert_eq!(found, Err(Error::Stopped));
    }
}
