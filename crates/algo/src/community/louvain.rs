//! Louvain: communities of large modularity, found by moving vertices and then whole communities.
//!
//! Result: per vertex the smallest vertex number of its community, and for each level the number of
//! communities, the modularity and, on demand, the communities.
//!
//! Method: each vertex, in the order of numbers, moves to the neighbouring community that gains
//! most modularity, sweep by sweep, until a sweep gains less than `tolerance`; a sweep after the
//! first looks at the neighbours of vertices that moved. Then each community becomes one node of
//! the graph of the next level. The graph is undirected and its weights are at least 0. Parallel
//! edges add up, a loop counts as weight inside. On levels with many edges the moves of a batch of
//! vertices are found on all threads and made one after the other; communities become nodes on all
//! threads. There are no random numbers, and the result does not depend on the number of threads.
//!
//! Cost: O(m) for the first sweep of a level, and some passes more in all. *Memory*: 100 bytes per
//! vertex, up to 48 per edge, 12 per vertex and thread, and 4 per vertex and level with
//! intermediate communities.
//!
//! Source: Blondel et al., "Fast unfolding of communities in large networks", 2008; batches after
//! Lu, Halappanavar and Kalyanaraman, "Parallel heuristics for scalable community detection",
//! Parallel Computing 2015.

use super::levels::{self, Level};
pub use super::levels::{Communities, Stage};
use super::moves::{Batches, Moves};
use super::steps;
use crate::control::{Control, Error, Result};
use crate::csr::Csr;

/// Limits of the improvement, and the random graph that modularity compares with.
#[derive(Debug, Clone, PartialEq)]
pub struct Settings {
    /// Levels after which to stop in any case; at least 1.
    pub max_levels: u32,
    /// Sweeps on one level after which to stop in any case; at least 1.
    pub max_iterations: u32,
    /// Gain of modularity below which a sweep is the last on its level, and a level the last; at
    /// least 0.
    pub tolerance: f64,
    /// Weight of the expected edges, at least 0; larger values make smaller communities.
    pub resolution: f64,
    /// True to return the communities of each level.
    pub include_intermediate_communities: bool,
}

impl Default for Settings {
    /// 10 levels of 10 iterations, tolerance 0.0001, resolution 1, no intermediate communities.
    fn default() -> Self {
        Self {
            max_levels: 10,
            max_iterations: 10,
            tolerance: 1e-4,
            resolution: 1.0,
            include_intermediate_communities: false,
        }
    }
}

impl Settings {
    fn check(&self) -> Result<()> {
        if self.max_levels == 0 {
            return Err(Error::invalid("max_levels is 0; it must be at least 1"));
        }
        if self.max_iterations == 0 {
            return Err(Error::invalid("max_iterations is 0; it must be at least 1"));
        }
        steps::require_tolerance(self.tolerance)?;
        steps::require_between("resolution", self.resolution, 0.0, f64::MAX)
    }
}

/// Upper estimate of the bytes needed for `n` vertices and `m` edges, both directions counted, on a
/// number of threads.
#[must_use]
pub fn bytes(n: u64, m: u64, settings: &Settings, threads: usize) -> u64 {
    let stages = u64::from(settings.include_intermediate_communities) * 4 * n;
    let of_threads = 12 * n * (threads as u64 + 1);
    120 * n + 48 * m + of_threads + stages * u64::from(settings.max_levels)
}

/// Finds communities of an undirected graph.
pub fn louvain(graph: &Csr, settings: &Settings, control: &Control<'_>) -> Result<Communities> {
    louvain_in(graph, settings, Batches::default(), control)
}

fn louvain_in(
    graph: &Csr,
    settings: &Settings,
    batches: Batches,
    control: &Control<'_>,
) -> Result<Communities> {
    settings.check()?;
    control.check()?;
    let n = graph.vertices();
    let mut level = Level::first("louvain", graph, control)?;
    // Node of the level for each vertex.
    let mut found: Vec<u32> = (0..n).collect();
    let mut result =
        Communities { communities: Vec::new(), count: n, modularity: 0.0, levels: Vec::new() };
    if level.total > 0.0 {
        result.modularity = level.modularity(&found, n, settings.resolution, control)?;
    }
    for stage in 0..settings.max_levels {
        let Some(mut communities) = sweeps(&level, stage, settings, batches, control)? else {
            break;
        };
        let count = levels::renumber(&mut communities);
        let modularity = level.modularity(&communities, count, settings.resolution, control)?;
        found.iter_mut().for_each(|node| *node = communities[*node as usize]);
        let wanted = settings.include_intermediate_communities;
        let kept = if wanted { levels::by_smallest(&found) } else { Vec::new() };
        result.levels.push(Stage { communities: kept, count, modularity });
        let gain = modularity - result.modularity;
        (result.modularity, result.count) = (modularity, count);
        if gain < settings.tolerance || count as usize == level.nodes() {
            break;
        }
        level = level.aggregate(&communities, count, control)?;
    }
    result.communities = levels::by_smallest(&found);
    Ok(result)
}

/// Moves nodes until a sweep gains too little. None if no node moved.
fn sweeps(
    level: &Level<'_>,
    stage: u32,
    settings: &Settings,
    batches: Batches,
    control: &Control<'_>,
) -> Result<Option<Vec<u32>>> {
    if level.total <= 0.0 {
        return Ok(None);
    }
    let mut queue: Vec<u32> = (0..level.nodes() as u32).collect();
    let mut moves = Moves::new(level, queue.clone(), settings.resolution, batches);
    let mut moved = false;
    let sweeps = u64::from(settings.max_iterations);
    control.install(|| {
        for sweep in 0..sweeps {
            let done = u64::from(stage) * sweeps + sweep;
            control.report(done, u64::from(settings.max_levels) * sweeps);
            let gain = moves.sweep(&queue, control)?;
            moved |= gain > 0.0;
            if gain <= settings.tolerance {
                break;
            }
            queue = moves.next(control)?;
        }
        Ok(())
    })?;
    Ok(moved.then_some(moves.partition.communities))
}

/// Largest modularity of all assignments of a small graph.
#[cfg(test)]
pub(crate) fn verify(graph: &Csr, resolution: f64) -> f64 {
    let n = graph.vertices() as usize;
    let mut communities = vec![0; n];
    let mut best = f64::NEG_INFINITY;
    // Each vertex has a number that is at most one above those before it.
    loop {
        best = best.max(super::modularity::verify(graph, &communities, resolution));
        let most_before = |at: usize| communities[..at].iter().copied().max();
        let grows = |&at: &usize| most_before(at).is_some_and(|most| communities[at] <= most);
        let Some(at) = (0..n).rev().find(grows) else { return best };
        communities[at] += 1;
        communities[at + 1..].fill(0);
    }
}

#[cfg(test)]
mod tests {
    use super::super::modularity;
    use super::super::samples::{
        assert_close, assert_refuses, assert_same_on_each_number_of_threads, assert_stops, karate,
        ring_of_cliques, samples, weigh,
    };
    use super::*;
    use crate::testing::random_edges;

    #[test]
    fn modularity_is_as_reported_and_levels_are_nested() {
        let control = Control::default();
        for (at, (n, edges)) in samples(80, 60).enumerate() {
            let graph = Csr::from_weighted(n, &weigh(&edges)).undirected();
            let resolution = [1.0, 0.4, 2.5][at % 3];
            let settings = Settings {
                resolution,
                tolerance: 0.0,
                include_intermediate_communities: true,
                ..Settings::default()
            };
            let found = louvain(&graph, &settings, &control).unwrap();
            let quality = modularity::Settings { resolution };
            let measured =
                modularity::modularity(&graph, &found.communities, &quality, &control).unwrap();
            assert_close(&[found.modularity], &[measured.modularity], "modularity");
            assert_eq!(found.count as usize, measured.communities.len());
            for pair in found.levels.windows(2) {
                assert!(pair[0].modularity <= pair[1].modularity + 1e-12);
                for v in 0..n as usize {
                    let root = pair[0].communities[v] as usize;
                    assert_eq!(pair[1].communities[root], pair[1].communities[v]);
                }
            }
            assert!(found.levels.last().is_none_or(|last| last.communities == found.communities));
        }
    }

    #[test]
    fn small_graphs_come_near_to_the_best_of_all_assignments() {
        for (n, edges) in samples(40, 6) {
            let graph = Csr::from_edges(n, &edges).undirected();
            let settings = Settings { tolerance: 0.0, ..Settings::default() };
            let found = louvain(&graph, &settings, &Control::default()).unwrap().modularity;
            let best = verify(&graph, 1.0);
            assert!(found <= best + 1e-12 && found > best - 0.12, "{found} of {best}");
        }
    }

    #[test]
    fn cliques_in_a_ring_are_found_and_the_karate_club_divides_well() {
        let graph = ring_of_cliques(12, 5);
        let found = louvain(&graph, &Settings::default(), &Control::default()).unwrap();
        assert!((0..60).all(|v| found.communities[v] == v as u32 / 5 * 5));
        let found = louvain(&karate(), &Settings::default(), &Control::default()).unwrap();
        assert!(found.modularity > 0.415 && found.modularity < 0.4198, "{}", found.modularity);
    }

    #[test]
    fn batches_are_the_same_on_any_number_of_threads_and_nearly_as_good() {
        for (at, (n, edges)) in samples(40, 400).enumerate() {
            let graph = Csr::from_weighted(n, &weigh(&edges)).undirected();
            let settings = Settings { tolerance: 0.0, ..Settings::default() };
            let batches = Batches { count: 4, block: [1, 3][at % 2], least: 0 };
            let run = |control: &Control<'_>| louvain_in(&graph, &settings, batches, control);
            let found = run(&Control::default()).unwrap();
            assert_same_on_each_number_of_threads(run);
            let quality = modularity::Settings { resolution: 1.0 };
            let of = &found.communities;
            let measured = modularity::modularity(&graph, of, &quality, &Control::default());
            assert_close(&[found.modularity], &[measured.unwrap().modularity], "modularity");
            let serial = louvain(&graph, &settings, &Control::default()).unwrap().modularity;
            assert!(found.modularity > serial - 0.05, "{} of {serial}", found.modularity);
        }
    }

    #[test]
    fn large_graphs_are_as_good_in_batches_as_one_by_one() {
        // 60 groups of 50 with 8 edges per vertex inside and 2 to any vertex.
        let n = 3000;
        let near = |(u, v): (u32, u32)| (u, u / 50 * 50 + v % 50);
        let mut edges: Vec<_> = random_edges(1, n, 24_000).into_iter().map(near).collect();
        edges.extend(random_edges(2, n, 6000));
        let graph = Csr::from_edges(n, &edges).undirected();
        let settings = Settings::default();
        let run = |least| {
            let batches = Batches { least, ..Batches::default() };
            louvain_in(&graph, &settings, batches, &Control::default()).unwrap().modularity
        };
        let (batches, serial) = (run(0), run(usize::MAX));
        assert!(batches > serial - 0.01, "{batches} of {serial}");
        assert_same_on_each_number_of_threads(|control| louvain(&graph, &settings, control));
    }

    #[test]
    fn it_stops_and_refuses() {
        let graph = Csr::from_edges(3000, &random_edges(1, 3000, 20_000)).undirected();
        let settings = Settings::default();
        assert_stops(|control| louvain(&graph, &settings, control));
        let batches = Batches { least: 0, ..Batches::default() };
        assert_stops(|control| louvain_in(&graph, &settings, batches, control));
        let refuses = |settings: Settings, part: &str| {
            assert_refuses(louvain(&graph, &settings, &Control::default()), part);
        };
        refuses(Settings { max_levels: 0, ..Settings::default() }, "max_levels");
        refuses(Settings { max_iterations: 0, ..Settings::default() }, "max_iterations");
        refuses(Settings { tolerance: -1.0, ..Settings::default() }, "tolerance");
        refuses(Settings { resolution: f64::NAN, ..Settings::default() }, "resolution");
        let negative = Csr::from_weighted(2, &[(0, 1, -1.0), (1, 0, -1.0)]);
        assert_refuses(louvain(&negative, &settings, &Control::default()), "-1");
        let unlike = Csr::from_weighted(2, &[(0, 1, 1.0), (1, 0, 2.0)]);
        assert_refuses(louvain(&unlike, &settings, &Control::default()), "undirected");
        let huge = Csr::from_weighted(2, &[(0, 1, f64::MAX), (1, 0, f64::MAX)]);
        assert_refuses(louvain(&huge, &settings, &Control::default()), "too large");
    }
}
