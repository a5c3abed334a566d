//! Leiden: communities of large modularity, each of them connected.
//!
//! Result: per vertex the smallest vertex number of its community, and for each level the number of
//! communities, the modularity and, on demand, the communities. Every community of the final result
//! is connected by edges of positive weight; communities of single levels need not be.
//!
//! Method: nodes move from a queue to the neighbouring community that gains most modularity; when
//! one moves, its neighbours outside of the new community are queued again. Each community is then
//! refined: its nodes begin alone and merge in random order, better merges with larger probability,
//! into parts that are well connected to the rest of it. The parts become the nodes of the next
//! level, and begin in the communities found before. At the end a community that fell apart is
//! divided into its components, which only adds modularity. The graph is undirected and its weights
//! are at least 0. Parallel edges add up, a loop counts as weight inside. All threads find the
//! moves of a batch of nodes, which are made one after the other; they refine one community each,
//! and make the nodes of the next level. A queue that is short is worked off by one thread. The
//! result depends on `seed` alone.
//!
//! Cost: O(m) per level and usually a few passes over the queue. *Memory*: 140 bytes per
//! vertex, up to 48 per edge, 12 per vertex and thread, and 4 per vertex and level with
//! intermediate communities.
//!
//! Source: Traag, Waltman and van Eck, "From Louvain to Leiden: guaranteeing well-connected
//! communities", 2019; batches after Lu, Halappanavar and Kalyanaraman, "Parallel heuristics for
//! scalable community detection", Parallel Computing 2015.

use std::borrow::Cow;

use super::levels::{self, Level};
pub use super::levels::{Communities, Stage};
use super::moves::{Batches, Moves};
use super::refinement::Refinement;
use super::steps::{self, GRAIN, Meter};
use super::wcc::Forest;
use crate::control::{Control, Error, Result};
use crate::csr::Csr;

/// Limits of the improvement, and the random graph that modularity compares with.
#[derive(Debug, Clone, PartialEq)]
pub struct Settings {
    /// Levels after which to stop in any case; at least 1.
    pub max_levels: u32,
    /// Resolution: weight of the expected edges, at least 0; larger values make smaller
    /// communities.
    pub gamma: f64,
    /// Randomness of the refinement, above 0, in units of the mean weight of an edge. With smaller
    /// values the best merge is more probable.
    pub theta: f64,
    /// Gain of modularity below which a level is the last; at least 0.
    pub tolerance: f64,
    /// Seed of the random numbers.
    pub seed: u64,
    /// True to return the communities of each level.
    pub include_intermediate_communities: bool,
}

impl Default for Settings {
    /// 10 levels, gamma 1, theta 0.01, tolerance 0.0001, seed 0, no intermediate communities.
    fn default() -> Self {
        Self {
            max_levels: 10,
            gamma: 1.0,
            theta: 0.01,
            tolerance: 1e-4,
            seed: 0,
            include_intermediate_communities: false,
        }
    }
}

impl Settings {
    fn check(&self) -> Result<()> {
        if self.max_levels == 0 {
            return Err(Error::invalid("max_levels is 0; it must be at least 1"));
        }
        steps::require_tolerance(self.tolerance)?;
        steps::require_between("theta", self.theta, f64::MIN_POSITIVE, f64::MAX)?;
        steps::require_between("gamma", self.gamma, 0.0, f64::MAX)
    }
}

/// Upper estimate of the bytes needed for `n` vertices and `m` edges, both directions counted, on a
/// number of threads.
#[must_use]
pub fn bytes(n: u64, m: u64, settings: &Settings, threads: usize) -> u64 {
    let stages = u64::from(settings.include_intermediate_communities) * 4 * n;
    let of_threads = 12 * n * (threads as u64 + 1);
    160 * n + 48 * m + of_threads + stages * u64::from(settings.max_levels)
}

/// Finds communities of an undirected graph.
pub fn leiden(graph: &Csr, settings: &Settings, control: &Control<'_>) -> Result<Communities> {
    leiden_in(graph, settings, Batches::default(), control)
}

fn leiden_in(
    graph: &Csr,
    settings: &Settings,
    batches: Batches,
    control: &Control<'_>,
) -> Result<Communities> {
    settings.check()?;
    control.check()?;
    let n = graph.vertices();
    let mut level = Level::first("leiden", graph, control)?;
    // Node of the level for each vertex, and community of each node.
    let mut found: Vec<u32> = (0..n).collect();
    let mut communities = found.clone();
    let mut stages: Vec<Stage> = Vec::new();
    let stages_max = u64::from(settings.max_levels);
    for stage in 0..settings.max_levels {
        control.report(u64::from(stage), stages_max);
        if level.total <= 0.0 {
            break;
        }
        control.check()?;
        let mut moves = Moves::new(&level, communities, settings.gamma, batches);
        control.install(|| moves.settle(control))?;
        communities = moves.partition.communities;
        let count = levels::renumber(&mut communities);
        if count as usize == level.nodes() {
            break;
        }
        let modularity = level.modularity(&communities, count, settings.gamma, control)?;
        let gain = stages.last().map_or(f64::INFINITY, |last| modularity - last.modularity);
        let kept = if settings.include_intermediate_communities {
            let of_vertices: Vec<u32> =
                found.iter().map(|&node| communities[node as usize]).collect();
            levels::by_smallest(&of_vertices)
        } else {
            Vec::new()
        };
        stages.push(Stage { communities: kept, count, modularity });
        if gain < settings.tolerance || stage + 1 == settings.max_levels {
            break;
        }
        control.check()?;
        let Settings { gamma, theta, seed, .. } = *settings;
        let refinement = Refinement { gamma, theta, seed, stage };
        let mut parts = refinement.run(&level, &communities, count, control)?;
        let parts_count = levels::renumber(&mut parts);
        if parts_count as usize == level.nodes() {
            break;
        }
        control.check()?;
        let mut of_parts = vec![0; parts_count as usize];
        for (&part, &community) in parts.iter().zip(&communities) {
            of_parts[part as usize] = community;
        }
        level = level.aggregate(&parts, parts_count, control)?;
        found.iter_mut().for_each(|node| *node = parts[*node as usize]);
        communities = of_parts;
    }
    found.iter_mut().for_each(|node| *node = communities[*node as usize]);
    drop((level, communities));
    let (communities, count) = components(graph, &found, control)?;
    let level = Level::new(Cow::Borrowed(graph), control)?;
    let mut dense = communities.clone();
    levels::renumber(&mut dense);
    let modularity = match level.total > 0.0 {
        true => level.modularity(&dense, count, settings.gamma, control)?,
        false => 0.0,
    };
    Ok(Communities { communities, count, modularity, levels: stages })
}

/// Divides communities into the components that their edges of positive weight join. Returns the
/// smallest vertex of each component and how many there are.
fn components(graph: &Csr, communities: &[u32], control: &Control<'_>) -> Result<(Vec<u32>, u32)> {
    let forest = Forest::new(graph.vertices());
    control.for_ranges(graph.vertices(), GRAIN as u32, |range| {
        let mut meter = Meter::new(control);
        for v in range {
            meter.add(1 + graph.of(v).len())?;
            for (u, weight) in graph.weighted(v).take_while(|edge| edge.0 < v) {
                if weight > 0.0 && communities[u as usize] == communities[v as usize] {
                    forest.join(v, u);
                }
            }
        }
        Ok(())
    })?;
    forest.roots(control)
}

/// True if each community is connected by its own edges of positive weight.
#[cfg(test)]
pub(crate) fn verify(graph: &Csr, communities: &[u32]) -> bool {
    let same = |&(u, v, w): &(u32, u32, f64)| {
        w > 0.0 && communities[u as usize] == communities[v as usize]
    };
    let inside: Vec<_> = graph.all_edges().filter(same).map(|(u, v, _)| (u, v)).collect();
    crate::wcc::verify(graph.vertices(), &inside) == communities
}

#[cfg(test)]
mod tests {
    use super::super::samples::{
        assert_close, assert_refuses, assert_same_on_each_number_of_threads, assert_stops, karate,
        ring_of_cliques, samples, weigh,
    };
    use super::super::{louvain, modularity};
    use super::*;
    use crate::testing::random_edges;

    #[test]
    fn communities_are_connected_and_modularity_is_as_reported() {
        let control = Control::default();
        for (at, (n, edges)) in samples(120, 80).enumerate() {
            let graph = Csr::from_weighted(n, &weigh(&edges)).undirected();
            let settings = Settings {
                gamma: [1.0, 0.2, 2.5][at % 3],
                theta: [0.01, 1.0][at % 2],
                max_levels: 1 + at as u32 % 6,
                seed: at as u64,
                tolerance: 0.0,
                include_intermediate_communities: true,
            };
            let found = leiden(&graph, &settings, &control).unwrap();
            assert!(verify(&graph, &found.communities), "{at}");
            let quality = modularity::Settings { resolution: settings.gamma };
            let measured =
                modularity::modularity(&graph, &found.communities, &quality, &control).unwrap();
            assert_close(&[found.modularity], &[measured.modularity], "modularity");
            assert_eq!(found.count as usize, measured.communities.len());
            if let Some(last) = found.levels.last() {
                assert!(found.modularity >= last.modularity - 1e-12);
                assert_eq!(last.communities.len(), n as usize);
            }
            assert_eq!(leiden(&graph, &settings, &control).unwrap(), found);
        }
    }

    #[test]
    fn small_graphs_come_near_to_the_best_of_all_assignments() {
        for (n, edges) in samples(40, 6) {
            let graph = Csr::from_edges(n, &edges).undirected();
            let settings = Settings { tolerance: 0.0, ..Settings::default() };
            let found = leiden(&graph, &settings, &Control::default()).unwrap().modularity;
            let best = louvain::verify(&graph, 1.0);
            assert!(found <= best + 1e-12 && found > best - 0.12, "{found} of {best}");
        }
    }

    #[test]
    fn cliques_in_a_ring_are_found_and_the_karate_club_divides_well() {
        let graph = ring_of_cliques(12, 5);
        let found = leiden(&graph, &Settings::default(), &Control::default()).unwrap();
        assert!((0..60).all(|v| found.communities[v] == v as u32 / 5 * 5));
        let found = leiden(&karate(), &Settings::default(), &Control::default()).unwrap();
        assert!(found.modularity > 0.415 && found.modularity < 0.4198, "{}", found.modularity);
    }

    #[test]
    fn batches_are_connected_the_same_on_any_number_of_threads_and_nearly_as_good() {
        for (at, (n, edges)) in samples(40, 400).enumerate() {
            let graph = Csr::from_weighted(n, &weigh(&edges)).undirected();
            let settings = Settings { tolerance: 0.0, seed: at as u64, ..Settings::default() };
            let batches = Batches { count: 4, block: [1, 3][at % 2], least: 0 };
            let run = |control: &Control<'_>| leiden_in(&graph, &settings, batches, control);
            let found = run(&Control::default()).unwrap();
            assert!(verify(&graph, &found.communities), "{at}");
            assert_same_on_each_number_of_threads(run);
            let serial = leiden(&graph, &settings, &Control::default()).unwrap().modularity;
            assert!(found.modularity > serial - 0.05, "{} of {serial}", found.modularity);
        }
    }

    #[test]
    fn large_graph_is_the_same_on_any_number_of_threads() {
        let graph = Csr::from_edges(3000, &random_edges(1, 3000, 40_000)).undirected();
        let settings = Settings::default();
        assert_same_on_each_number_of_threads(|control| leiden(&graph, &settings, control));
        let found = leiden(&graph, &settings, &Control::default()).unwrap();
        assert!(verify(&graph, &found.communities));
    }

    #[test]
    fn it_stops_and_refuses() {
        let graph = Csr::from_edges(3000, &random_edges(1, 3000, 20_000)).undirected();
        let settings = Settings::default();
        assert_stops(|control| leiden(&graph, &settings, control));
        let batches = Batches { least: 0, ..Batches::default() };
        assert_stops(|control| leiden_in(&graph, &settings, batches, control));
        let refuses = |settings: Settings, part: &str| {
            assert_refuses(leiden(&graph, &settings, &Control::default()), part);
        };
        refuses(Settings { max_levels: 0, ..Settings::default() }, "max_levels");
        refuses(Settings { theta: 0.0, ..Settings::default() }, "theta");
        refuses(Settings { tolerance: -1.0, ..Settings::default() }, "tolerance");
        refuses(Settings { gamma: f64::NAN, ..Settings::default() }, "gamma");
        let negative = Csr::from_weighted(2, &[(0, 1, -1.0), (1, 0, -1.0)]);
        assert_refuses(leiden(&negative, &settings, &Control::default()), "-1");
        let unlike = Csr::from_weighted(2, &[(0, 1, 1.0), (1, 0, 2.0)]);
        assert_refuses(leiden(&unlike, &settings, &Control::default()), "undirected");
    }
}
