//! Bellman-Ford: shortest paths from one vertex where weights may be negative.
//!
//! Result: a distance and a predecessor per vertex; or, if a cycle of negative weight can be
//! reached, such a cycle. Of parallel edges the lightest counts; a loop counts if it is negative.
//!
//! Method: rounds over the vertices that changed in the round before, whose edges several threads
//! relax; a distance changes together with its predecessor, under a lock of one bit. Every n
//! relaxations, and from round n on after each, the predecessors are searched for a cycle, which is
//! negative. A distance is the least sum over all paths, so it does not depend on the number of
//! threads; the predecessors that are returned are found from the distances, breadth first: of
//! several paths the one with fewest edges, then the smallest vertices. A cycle that several
//! threads find is searched for again by one, so that it is the same. Sums are of floating-point
//! numbers, so a cycle whose weights cancel out but for rounding may count as negative.
//!
//! Cost: O(n m) at worst, O(m) times a few rounds usually. *Memory*: 29 bytes per vertex.
//!
//! Source: Bellman, "On a routing problem", Quarterly of Applied Mathematics 1958; cycle detection
//! as in Cherkassky and Goldberg, "Negative-cycle detection algorithms", Mathematical Programming
//! 1999.

use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};

use rayon::prelude::*;

use super::path::{NONE, Pace, Path, Tree, lightest, require_vertex};
use crate::control::{Control, Result};
use crate::csr::Csr;

/// Stands for the predecessor of a vertex whose distance is being changed.
const LOCKED: u32 = NONE - 1;

/// Vertices that one task relaxes.
const GRAIN: usize = 64;

/// Vertices below which one thread is faster than handing out tasks.
const SERIAL_MAX: usize = 256;

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
    n * 41
}

/// Returns distances from the source along the edges of `graph`, or a negative cycle.
pub fn bellman_ford(graph: &Csr, settings: &Settings, control: &Control<'_>) -> Result<Outcome> {
    let n = graph.vertices();
    require_vertex(n, "source", settings.source)?;
    graph.require_weights("bellman-ford", f64::NEG_INFINITY, control)?;
    if control.threads() > 1
        && n < LOCKED
        && let Some(distances) = Search::new(graph, settings.source, control).run()?
        && let Some(predecessors) = tree(graph, &distances, settings.source, control)?
    {
        return Ok(Outcome::Shortest(Tree { distances, predecessors }));
    }
    let mut outcome = one_thread(graph, settings, control)?;
    if let Outcome::Shortest(found) = &mut outcome
        && let Some(predecessors) = tree(graph, &found.distances, settings.source, control)?
    {
        found.predecessors = predecessors;
    }
    Ok(outcome)
}

/// The search on one thread.
fn one_thread(graph: &Csr, settings: &Settings, control: &Control<'_>) -> Result<Outcome> {
    let n = graph.vertices();
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

/// The search on several threads.
struct Search<'a, 'b> {
    graph: &'a Csr,
    control: &'a Control<'b>,
    source: u32,
    /// Bits of distances. They change while the predecessor is [`LOCKED`] only.
    distances: Vec<AtomicU64>,
    predecessors: Vec<AtomicU32>,
    /// True for vertices that wait for a round.
    waits: Vec<AtomicBool>,
}

impl<'a, 'b> Search<'a, 'b> {
    fn new(graph: &'a Csr, source: u32, control: &'a Control<'b>) -> Self {
        let n = graph.vertices();
        let far = f64::INFINITY.to_bits();
        let search = Self {
            graph,
            control,
            source,
            distances: (0..n).map(|_| AtomicU64::new(far)).collect(),
            predecessors: (0..n).map(|_| AtomicU32::new(NONE)).collect(),
            waits: (0..n).map(|_| AtomicBool::new(false)).collect(),
        };
        search.distances[source as usize].store(0, Ordering::Relaxed);
        search
    }

    /// The distances; none if there is a negative cycle.
    fn run(self) -> Result<Option<Vec<f64>>> {
        let n = self.graph.vertices();
        let mut frontier = vec![self.source];
        let (mut rounds, mut relaxed) = (0u32, 0);
        while !frontier.is_empty() {
            self.control.check()?;
            self.control.report(u64::from(rounds), u64::from(n));
            let (next, changes) = self.control.install(|| self.round(&frontier))?;
            frontier = next;
            rounds = rounds.saturating_add(1);
            relaxed += changes;
            if relaxed >= u64::from(n) || rounds >= n {
                relaxed = 0;
                let of = |v: &AtomicU32| v.load(Ordering::Relaxed);
                let predecessors: Vec<u32> = self.predecessors.iter().map(of).collect();
                if cycle(self.graph, &predecessors).is_some() {
                    return Ok(None);
                }
            }
        }
        let distances = self.distances.into_iter();
        Ok(Some(distances.map(|bits| f64::from_bits(bits.into_inner())).collect()))
    }

    /// Relaxes the edges of the frontier; returns the next one and the number of changes.
    fn round(&self, frontier: &[u32]) -> Result<(Vec<u32>, u64)> {
        if frontier.len() < SERIAL_MAX {
            return self.relax_all(frontier);
        }
        let parts: Result<Vec<_>> =
            frontier.par_chunks(GRAIN).map(|chunk| self.relax_all(chunk)).collect();
        let parts = parts?;
        let changes = parts.iter().map(|part| part.1).sum();
        Ok((parts.into_iter().flat_map(|part| part.0).collect(), changes))
    }

    fn relax_all(&self, frontier: &[u32]) -> Result<(Vec<u32>, u64)> {
        let mut pace = Pace::new(self.control);
        let (mut next, mut changes) = (Vec::new(), 0);
        for &u in frontier {
            pace.spend(self.graph.of(u).len())?;
            // ORDERING: sequentially consistent with `relax`. Either this thread reads the new
            // distance, or the thread that stored it finds that `u` does not wait, and adds it to
            // the next frontier.
            self.waits[u as usize].swap(false, Ordering::SeqCst);
            let distance = f64::from_bits(self.distances[u as usize].load(Ordering::SeqCst));
            for (v, weight) in self.graph.weighted(u) {
                if self.relax(u, v, distance + weight) {
                    changes += 1;
                    if !self.waits[v as usize].swap(true, Ordering::SeqCst) {
                        next.push(v);
                    }
                }
            }
        }
        Ok((next, changes))
    }

    /// Lowers the distance of `v` to `reach`, from `u`; false if it is not lower.
    fn relax(&self, u: u32, v: u32, reach: f64) -> bool {
        let distance = &self.distances[v as usize];
        let predecessor = &self.predecessors[v as usize];
        let is_lower = || reach < f64::from_bits(distance.load(Ordering::Relaxed));
        while is_lower() {
            // ORDERING: the lock is taken by acquire and left by release, so its holder sees the
            // distance that the holder before stored.
            let before = predecessor.swap(LOCKED, Ordering::Acquire);
            if before == LOCKED {
                std::hint::spin_loop();
                std::thread::yield_now();
                continue;
            }
            let lower = is_lower();
            if lower {
                distance.store(reach.to_bits(), Ordering::SeqCst);
            }
            predecessor.store(if lower { u } else { before }, Ordering::Release);
            return lower;
        }
        false
    }
}

/// Predecessors on paths with fewest edges among the shortest, from final distances; none if
/// rounding left a vertex without such a path.
fn tree(
    graph: &Csr,
    distances: &[f64],
    source: u32,
    control: &Control<'_>,
) -> Result<Option<Vec<u32>>> {
    let n = graph.vertices();
    let relaxed = Ordering::Relaxed;
    let predecessors: Vec<AtomicU32> = (0..n).map(|_| AtomicU32::new(NONE)).collect();
    // Round in which each vertex was found. ORDERING: relaxed; what one round stores the next reads
    // behind a join.
    let found_in: Vec<AtomicU32> = (0..n).map(|_| AtomicU32::new(0)).collect();
    found_in[source as usize].store(1, relaxed);
    let mut round = 1;
    let mut frontier = vec![source];
    let mut count = 1;
    while !frontier.is_empty() {
        control.check()?;
        round += 1;
        let task = |chunk: &[u32]| {
            let mut pace = Pace::new(control);
            let mut next = Vec::new();
            for &u in chunk {
                pace.spend(graph.of(u).len())?;
                let distance = distances[u as usize];
                for (v, weight) in graph.weighted(u) {
                    if distance + weight != distances[v as usize] {
                        continue;
                    }
                    let found = &found_in[v as usize];
                    if found.load(relaxed) == 0
                        && found.compare_exchange(0, round, relaxed, relaxed).is_ok()
                    {
                        next.push(v);
                    }
                    if found.load(relaxed) == round {
                        predecessors[v as usize].fetch_min(u, relaxed);
                    }
                }
            }
            Ok(next)
        };
        frontier = if frontier.len() < SERIAL_MAX {
            task(&frontier)?
        } else {
            let tasks = || frontier.par_chunks(GRAIN).map(task).collect::<Result<Vec<_>>>();
            control.install(tasks)?.concat()
        };
        count += frontier.len();
    }
    if count < distances.iter().filter(|distance| distance.is_finite()).count() {
        return Ok(None);
    }
    Ok(Some(predecessors.into_iter().map(AtomicU32::into_inner).collect()))
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
    use crate::community::samples::assert_same_on_each_number_of_threads;
    use crate::control::Error;
    use crate::paths::path::{sample, threads};
    use crate::paths::shortest_path;
    use crate::random::Random;

    #[test]
    fn random_graphs_with_negative_weights_equal_the_textbook() {
        let (mut cycles, mut trees) = (0, 0);
        let pool = threads(3);
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
            let in_parallel = bellman_ford(&graph, &settings, &Control::default().on(&pool));
            assert_eq!(in_parallel.unwrap(), found);
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
    fn large_graphs_are_the_same_on_any_number_of_threads() {
        let n = 9000;
        for breaks in [false, true] {
            let mut random = Random::new(1, 1);
            let heights: Vec<f64> = (0..n).map(|_| f64::from(random.below(90))).collect();
            let edges: Vec<_> = crate::testing::random_edges(5, n, 90_000)
                .into_iter()
                .map(|(u, v)| {
                    let weight = f64::from(random.below(9)) / 4.0;
                    (u, v, weight + heights[v as usize] - heights[u as usize])
                })
                .collect();
            let mut graph = Csr::from_weighted(n, &edges);
            if breaks {
                let mut edges: Vec<_> = graph.all_edges().collect();
                edges[70_000].2 -= 90.0;
                graph = Csr::from_weighted(n, &edges);
            }
            let settings = Settings { source: 3 };
            let run = |control: &Control<'_>| bellman_ford(&graph, &settings, control);
            let found = run(&Control::default()).unwrap();
            assert_eq!(matches!(found, Outcome::NegativeCycle(_)), breaks);
            assert_same_on_each_number_of_threads(run);
        }
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
