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
//! are at least 0. Parallel edges add up, a loop counts as weight inside. One thread; the result
//! depends on `seed` alone.
//!
//! Cost: O(m) per level and usually a few passes over the queue. *Memory*: 80 bytes per
//! vertex, up to 48 per edge, and 4 per vertex and level with intermediate communities.
//!
//! Source: Traag, Waltman and van Eck, "From Louvain to Leiden: guaranteeing well-connected
//! communities", 2019.

use std::borrow::Cow;
use std::collections::VecDeque;

use super::levels::{self, Level, Members, Near, Partition};
pub use super::levels::{Communities, Stage};
use super::steps::{self, Meter};
use crate::control::{Control, Error, Result};
use crate::csr::Csr;
use crate::random::Random;

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

/// Upper estimate of the bytes needed for `n` vertices and `m` edges, both directions counted.
#[must_use]
pub fn bytes(n: u64, m: u64, settings: &Settings) -> u64 {
    let stages = u64::from(settings.include_intermediate_communities) * 4 * n;
    140 * n + 48 * m + stages * u64::from(settings.max_levels)
}

/// Finds communities of an undirected graph.
pub fn leiden(graph: &Csr, settings: &Settings, control: &Control<'_>) -> Result<Communities> {
    settings.check()?;
    control.check()?;
    graph.require_weights("leiden", 0.0, control)?;
    steps::require_undirected("leiden", graph, true, control)?;
    let meter = &mut Meter::new(control);
    let n = graph.vertices();
    let mut level = Level::new(Cow::Borrowed(graph), meter)?;
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
        communities = move_nodes(&level, communities, settings.gamma, meter)?;
        let count = levels::renumber(&mut communities);
        if count as usize == level.nodes() {
            break;
        }
        let modularity = level.modularity(&communities, count, settings.gamma, meter)?;
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
        let random = Random::new(settings.seed, u64::from(stage));
        let mut parts =
            Refinement::new(&level, &communities, count, settings).run(random, meter)?;
        let parts_count = levels::renumber(&mut parts);
        if parts_count as usize == level.nodes() {
            break;
        }
        let mut of_parts = vec![0; parts_count as usize];
        for (&part, &community) in parts.iter().zip(&communities) {
            of_parts[part as usize] = community;
        }
        level = level.aggregate(&parts, parts_count, meter)?;
        found.iter_mut().for_each(|node| *node = parts[*node as usize]);
        communities = of_parts;
    }
    found.iter_mut().for_each(|node| *node = communities[*node as usize]);
    drop((level, communities));
    let (communities, count) = components(graph, &found, meter)?;
    let level = Level::new(Cow::Borrowed(graph), meter)?;
    let mut dense = communities.clone();
    levels::renumber(&mut dense);
    let modularity = match level.total > 0.0 {
        true => level.modularity(&dense, count, settings.gamma, meter)?,
        false => 0.0,
    };
    Ok(Communities { communities, count, modularity, levels: stages })
}

/// Moves nodes until none in the queue gains.
fn move_nodes(
    level: &Level<'_>,
    communities: Vec<u32>,
    gamma: f64,
    meter: &mut Meter<'_>,
) -> Result<Vec<u32>> {
    let n = level.nodes() as u32;
    let mut partition = Partition::new(level, communities);
    let mut queue: VecDeque<u32> = (0..n).collect();
    let mut queued = vec![true; n as usize];
    while let Some(v) = queue.pop_front() {
        queued[v as usize] = false;
        meter.add(1 + level.graph.of(v).len())?;
        if partition.improve(level, v, gamma) > 0.0 {
            let community = partition.communities[v as usize];
            for &u in level.graph.of(v) {
                if !queued[u as usize] && partition.communities[u as usize] != community {
                    queued[u as usize] = true;
                    queue.push_back(u);
                }
            }
        }
    }
    Ok(partition.communities)
}

/// Division of each community into well-connected parts. A part has the number of its first node.
struct Refinement<'a> {
    level: &'a Level<'a>,
    communities: &'a [u32],
    members: Members,
    gamma: f64,
    /// Randomness in units of weight.
    theta: f64,
    parts: Vec<u32>,
    sizes: Vec<u32>,
    /// Weight of the lists of each part.
    strengths: Vec<f64>,
    /// Weight from each part to the rest of its community.
    cuts: Vec<f64>,
    near: Near,
}

impl<'a> Refinement<'a> {
    fn new(level: &'a Level<'a>, communities: &'a [u32], count: u32, settings: &Settings) -> Self {
        let n = level.nodes();
        let mean_weight = level.total / level.graph.edges().max(1) as f64;
        Self {
            level,
            communities,
            members: Members::new(communities, count),
            gamma: settings.gamma,
            theta: (settings.theta * mean_weight).max(f64::MIN_POSITIVE),
            parts: (0..n as u32).collect(),
            sizes: vec![1; n],
            strengths: level.strengths.clone(),
            cuts: vec![0.0; n],
            near: Near::new(n),
        }
    }

    fn run(mut self, mut random: Random, meter: &mut Meter<'_>) -> Result<Vec<u32>> {
        let level = self.level;
        for v in 0..level.nodes() as u32 {
            meter.add(1 + level.graph.of(v).len())?;
            let community = self.communities[v as usize];
            let inside = level
                .graph
                .weighted(v)
                .filter(|&(u, _)| u != v && self.communities[u as usize] == community);
            self.cuts[v as usize] = inside.map(|edge| edge.1).sum();
        }
        let members = std::mem::replace(&mut self.members, Members::new(&[], 0));
        let (mut candidates, mut order) = (Vec::new(), Vec::new());
        for community in 0..members.count() {
            let nodes = members.of(community);
            let whole: f64 = nodes.iter().map(|&v| level.strengths[v as usize]).sum();
            order.clear();
            order.extend_from_slice(nodes);
            for at in (1..order.len()).rev() {
                order.swap(at, random.below(at as u32 + 1) as usize);
            }
            for &v in &order {
                meter.add(1 + level.graph.of(v).len())?;
                // A node whose part was joined by another stays.
                if self.parts[v as usize] == v
                    && self.sizes[v as usize] == 1
                    && self.well_connected(v, whole)
                {
                    self.merge(v, whole, &mut candidates, &mut random);
                }
            }
        }
        Ok(self.parts)
    }

    /// True if a part has at least the weight to the rest of its community that chance gives it.
    fn well_connected(&self, part: u32, whole: f64) -> bool {
        let strength = self.strengths[part as usize];
        let expected = self.gamma * strength * (whole - strength) / self.level.total;
        self.cuts[part as usize] >= expected
    }

    /// Merges the single node `v` into a part of its community, or leaves it alone.
    fn merge(&mut self, v: u32, whole: f64, candidates: &mut Vec<(u32, f64)>, random: &mut Random) {
        self.near.clear();
        let community = self.communities[v as usize];
        for (u, weight) in self.level.graph.weighted(v) {
            if u != v && weight > 0.0 && self.communities[u as usize] == community {
                self.near.add(self.parts[u as usize], weight);
            }
        }
        let factor = self.gamma * self.level.strengths[v as usize] / self.level.total;
        candidates.clear();
        // To stay alone gains nothing and is possible.
        candidates.push((v, 0.0));
        for &part in &self.near.seen {
            let gain = self.near.weight(part) - factor * self.strengths[part as usize];
            if gain >= 0.0 && self.well_connected(part, whole) {
                candidates.push((part, gain));
            }
        }
        let most = candidates.iter().map(|candidate| candidate.1).fold(0.0, f64::max);
        let mut sum = 0.0;
        for (_, gain) in candidates.iter_mut() {
            sum += ((*gain - most) / self.theta).exp();
            *gain = sum;
        }
        let drawn = random.unit() * sum;
        let part = candidates.iter().find(|c| c.1 > drawn).map_or(v, |candidate| candidate.0);
        if part != v {
            self.parts[v as usize] = part;
            self.sizes[part as usize] += 1;
            self.strengths[part as usize] += self.level.strengths[v as usize];
            let cut = self.cuts[v as usize] - 2.0 * self.near.weight(part);
            self.cuts[part as usize] += cut;
        }
    }
}

/// Divides communities into the components that their edges of positive weight join. Returns the
/// smallest vertex of each component and how many there are.
fn components(graph: &Csr, communities: &[u32], meter: &mut Meter<'_>) -> Result<(Vec<u32>, u32)> {
    let mut found = vec![u32::MAX; communities.len()];
    let mut count = 0;
    let mut stack = Vec::new();
    for root in 0..graph.vertices() {
        if found[root as usize] != u32::MAX {
            continue;
        }
        count += 1;
        found[root as usize] = root;
        stack.push(root);
        while let Some(v) = stack.pop() {
            meter.add(1 + graph.of(v).len())?;
            for (u, weight) in graph.weighted(v) {
                if weight > 0.0
                    && found[u as usize] == u32::MAX
                    && communities[u as usize] == communities[v as usize]
                {
                    found[u as usize] = root;
                    stack.push(u);
                }
            }
        }
    }
    Ok((found, count))
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
        assert_close, assert_refuses, assert_stops, karate, ring_of_cliques, samples, weigh,
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
    fn it_stops_and_refuses() {
        let graph = Csr::from_edges(3000, &random_edges(1, 3000, 20_000)).undirected();
        let settings = Settings::default();
        assert_stops(|control| leiden(&graph, &settings, control));
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
