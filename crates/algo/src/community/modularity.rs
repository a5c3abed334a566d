//! Modularity and conductance: how good a given assignment of vertices to communities is.
//!
//! Result: the modularity of the whole, and per community its number of vertices, its part of the
//! modularity and its conductance.
//!
//! ```text
//! Q = sum over communities c of   in(c)/M  -  resolution * out(c) * into(c) / M^2
//! conductance(c) = (out(c) - in(c)) / out(c)
//! ```
//!
//! M is the weight of all list entries, in(c) of those from c to c, out(c) of those from c, into(c)
//! of those to c. Over an undirected graph, whose edges stand in both lists, Q is Newman's
//! modularity; over a directed one that of Leicht and Newman. Conductance is the weight that leaves
//! a community over all weight of its vertices (as in Neo4j GDS); 0 for a community without edges.
//! Parallel edges count each, a loop is inside.
//!
//! Cost: O(n + m), one pass. *Memory*: 4 bytes per vertex, 24 per possible community number.
//!
//! Source: Newman and Girvan, "Finding and evaluating community structure in networks", 2004;
//! Leicht and Newman, "Community structure in directed networks", 2008; Reichardt and Bornholdt,
//! "Statistical mechanics of community detection", 2006 (resolution).

use super::steps::{self, Meter};
use crate::control::{Control, Error, Result};
use crate::csr::Csr;

/// Random graph that modularity compares with.
#[derive(Debug, Clone, PartialEq)]
pub struct Settings {
    /// Weight of the expected edges, at least 0; larger values favour smaller communities.
    pub resolution: f64,
}

impl Default for Settings {
    /// Resolution 1: Newman's modularity.
    fn default() -> Self {
        Self { resolution: 1.0 }
    }
}

/// Measures of one community.
#[derive(Debug, Clone, PartialEq)]
pub struct Community {
    /// Number of the community, as given.
    pub community: u32,
    /// Number of its vertices.
    pub vertices: u32,
    /// Part of the modularity.
    pub modularity: f64,
    /// Share of its weight that leaves it, from 0 to 1.
    pub conductance: f64,
}

/// Measures found by [`modularity`].
#[derive(Debug, Clone, PartialEq)]
pub struct Quality {
    /// Modularity of the whole; 0 without edges.
    pub modularity: f64,
    /// Mean conductance of the communities; 0 without any.
    pub average_conductance: f64,
    /// Communities that have vertices, by number.
    pub communities: Vec<Community>,
}

/// Upper estimate of the bytes needed for `n` vertices and `m` edges.
#[must_use]
pub fn bytes(n: u64, _m: u64) -> u64 {
    64 * n
}

/// Weights of one community.
#[derive(Default, Clone, Copy)]
struct Weights {
    vertices: u32,
    inside: f64,
    out: f64,
    into: f64,
}

/// Measures an assignment with a community number for each vertex. Numbers are free.
pub fn modularity(
    graph: &Csr,
    communities: &[u32],
    settings: &Settings,
    control: &Control<'_>,
) -> Result<Quality> {
    let n = graph.vertices();
    steps::require_between("resolution", settings.resolution, 0.0, f64::MAX)?;
    if communities.len() != n as usize {
        let count = communities.len();
        return Err(Error::invalid(format!("{count} community numbers for {n} vertices")));
    }
    control.check()?;
    graph.require_weights("modularity", 0.0, control)?;
    let mut names = communities.to_vec();
    names.sort_unstable();
    names.dedup();
    // Names exist, so the search never fails.
    let place = |name: u32| names.partition_point(|&other| other < name);
    let places: Vec<u32> = communities.iter().map(|&name| place(name) as u32).collect();
    let mut weights = vec![Weights::default(); names.len()];
    let mut total = 0.0;
    let mut meter = Meter::new(control);
    for u in 0..n {
        let community = places[u as usize];
        meter.add(1 + graph.of(u).len())?;
        let (mut inside, mut out) = (0.0, 0.0);
        for (v, weight) in graph.weighted(u) {
            let other = places[v as usize];
            inside += if other == community { weight } else { 0.0 };
            out += weight;
            weights[other as usize].into += weight;
        }
        let of = &mut weights[community as usize];
        of.vertices += 1;
        of.inside += inside;
        of.out += out;
        total += out;
    }
    let communities: Vec<_> = names
        .iter()
        .zip(weights)
        .map(|(&community, of)| {
            let expected = settings.resolution * (of.out / total) * (of.into / total);
            Community {
                community,
                vertices: of.vertices,
                modularity: if total > 0.0 { of.inside / total - expected } else { 0.0 },
                conductance: if of.out > 0.0 { (of.out - of.inside) / of.out } else { 0.0 },
            }
        })
        .collect();
    let conductance: f64 = communities.iter().map(|of| of.conductance).sum();
    Ok(Quality {
        modularity: communities.iter().map(|of| of.modularity).sum(),
        average_conductance: conductance / communities.len().max(1) as f64,
        communities,
    })
}

/// Modularity summed over all pairs of vertices.
#[cfg(test)]
pub(crate) fn verify(graph: &Csr, communities: &[u32], resolution: f64) -> f64 {
    let n = graph.vertices();
    let total: f64 = graph.all_edges().map(|edge| edge.2).sum();
    let sum = |keep: &dyn Fn(u32, u32) -> bool| -> f64 {
        graph.all_edges().filter(|edge| keep(edge.0, edge.1)).map(|edge| edge.2).sum()
    };
    let out: Vec<f64> = (0..n).map(|u| sum(&|a, _| a == u)).collect();
    let into: Vec<f64> = (0..n).map(|u| sum(&|_, b| b == u)).collect();
    let mut modularity = 0.0;
    for u in 0..n as usize {
        for v in (0..n as usize).filter(|&v| communities[u] == communities[v]) {
            let edge = sum(&|a, b| (a, b) == (u as u32, v as u32));
            modularity += edge / total - resolution * out[u] * into[v] / (total * total);
        }
    }
    if total > 0.0 { modularity } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use super::super::samples::{assert_close, assert_refuses, assert_stops, samples, weigh};
    use super::*;
    use crate::testing::random_edges;

    #[test]
    fn modularity_of_random_graphs_equals_the_sum_over_pairs() {
        for (at, (n, edges)) in samples(40, 15).enumerate() {
            let graph = Csr::from_weighted(n, &weigh(&edges));
            let communities: Vec<u32> = (0..n).map(|v| 7 * (v * 31 % 5)).collect();
            let settings = Settings { resolution: 0.5 + at as f64 / 20.0 };
            for graph in [graph.undirected(), graph] {
                let control = Control::default();
                let found = modularity(&graph, &communities, &settings, &control).unwrap();
                let expected = verify(&graph, &communities, settings.resolution);
                assert_close(&[found.modularity], &[expected], "modularity");
                assert_eq!(found.communities.iter().map(|of| of.vertices).sum::<u32>(), n);
            }
        }
    }

    #[test]
    fn two_triangles_with_a_bridge_have_the_values_of_the_book() {
        let edges = [(0, 1), (1, 2), (2, 0), (3, 4), (4, 5), (5, 3), (2, 3)];
        let graph = Csr::from_edges(6, &edges).undirected();
        let (settings, control) = (Settings::default(), Control::default());
        let found = modularity(&graph, &[0, 0, 0, 9, 9, 9], &settings, &control).unwrap();
        assert_close(&[found.modularity], &[5.0 / 14.0], "modularity");
        assert_eq!(found.communities[1].community, 9);
        assert_close(&[found.average_conductance], &[1.0 / 7.0], "conductance");
    }

    #[test]
    fn it_stops_and_refuses() {
        let graph = Csr::from_edges(3000, &random_edges(1, 3000, 20_000));
        let communities = vec![1; 3000];
        let settings = Settings::default();
        assert_stops(|control| modularity(&graph, &communities, &settings, control));
        let control = Control::default();
        assert_refuses(modularity(&graph, &[1], &settings, &control), "1 community numbers");
        let bad = Settings { resolution: f64::NAN };
        assert_refuses(modularity(&graph, &communities, &bad, &control), "resolution");
    }
}
