//! The refinement of Leiden: communities divided into parts that are well connected, each community
//! by one task.
//!
//! Method: the nodes of a community begin alone and merge in random order, better merges with
//! larger probability, into parts that are well connected to the rest of the community. Nothing of
//! one community matters to another, so communities are refined in parallel, each with random
//! numbers of its own: the result does not depend on the number of threads.
//!
//! Cost: O(m), but a single community is refined on one thread. *Memory*: 44 bytes per node.
//!
//! Source: Traag, Waltman and van Eck, "From Louvain to Leiden: guaranteeing well-connected
//! communities", 2019, supplement, algorithm A.2.

use std::ops::Range;

use rayon::prelude::*;

use super::levels::{Level, Members};
use super::steps::Meter;
use crate::control::{Control, Result};
use crate::random::Random;

/// Nodes of one task, unless a community has more.
const TASK_NODES: usize = 1 << 10;

/// Settings of a refinement.
pub(super) struct Refinement {
    /// Weight of the expected edges.
    pub(super) gamma: f64,
    /// Randomness in units of the mean weight of an edge.
    pub(super) theta: f64,
    pub(super) seed: u64,
    /// Number of the level.
    pub(super) stage: u32,
}

/// A node, and the part that has its number. Numbers are places in the community.
struct Node {
    /// Part that the node is in.
    part: u32,
    /// Nodes of the part.
    size: u32,
    /// Weight of the lists of the part.
    strength: f64,
    /// Weight from the part to the rest of its community.
    cut: f64,
    /// Weight from the node at hand to the part; NaN if none was seen.
    near: f64,
}

impl Refinement {
    /// Divides communities below `count`; returns one node of its part for each node.
    pub(super) fn run(
        &self,
        level: &Level<'_>,
        communities: &[u32],
        count: u32,
        control: &Control<'_>,
    ) -> Result<Vec<u32>> {
        let members = Members::new(communities, count);
        control.check()?;
        let mut places = vec![0; communities.len()];
        let mut tasks: Vec<Range<u32>> = Vec::new();
        let mut first = 0;
        for community in 0..count {
            (0..).zip(members.of(community)).for_each(|(at, &v)| places[v as usize] = at);
            if members.start(community + 1) - members.start(first) >= TASK_NODES {
                tasks.push(first..community + 1);
                first = community + 1;
            }
        }
        tasks.push(first..count);
        let node = |(at, &v): (u32, &u32)| Node {
            part: at,
            size: 1,
            strength: level.strengths[v as usize],
            cut: 0.0,
            near: f64::NAN,
        };
        control.check()?;
        let mut nodes = Vec::with_capacity(communities.len());
        (0..count).for_each(|c| nodes.extend((0..).zip(members.of(c)).map(node)));
        let mut pieces = Vec::with_capacity(tasks.len());
        let mut rest = &mut nodes[..];
        for task in tasks {
            let piece;
            let length = members.start(task.end) - members.start(task.start);
            (piece, rest) = rest.split_at_mut(length);
            pieces.push((task, piece));
        }
        let mean_weight = level.total / level.graph.edges().max(1) as f64;
        let community = Community {
            level,
            communities,
            places: &places,
            gamma: self.gamma,
            theta: (self.theta * mean_weight).max(f64::MIN_POSITIVE),
        };
        let refine = |(task, mut rest): (Range<u32>, &mut [Node])| {
            control.check()?;
            let mut meter = Meter::new(control);
            let mut scratch = Scratch::default();
            for number in task {
                let nodes;
                let members = members.of(number);
                (nodes, rest) = rest.split_at_mut(members.len());
                let stream = (u64::from(self.stage) << 32) | u64::from(number);
                let random = Random::new(self.seed, stream);
                community.refine(members, nodes, random, &mut scratch, &mut meter)?;
            }
            Ok(())
        };
        control.install(|| pieces.into_par_iter().with_max_len(1).try_for_each(refine))?;
        control.check()?;
        let mut parts = places;
        for community in 0..count {
            let first = members.start(community);
            let members = members.of(community);
            for (at, &v) in members.iter().enumerate() {
                parts[v as usize] = members[nodes[first + at].part as usize];
            }
        }
        Ok(parts)
    }
}

/// Memory that a task uses for one community after the other.
#[derive(Default)]
struct Scratch {
    /// Places of the nodes in random order.
    order: Vec<u32>,
    /// Parts near the node at hand.
    seen: Vec<u32>,
    /// Parts that it may join, and the sum of the chances up to each.
    candidates: Vec<(u32, f64)>,
}

/// Figures that all communities share.
struct Community<'a> {
    level: &'a Level<'a>,
    communities: &'a [u32],
    /// Place of each node in its community.
    places: &'a [u32],
    gamma: f64,
    /// Randomness in units of weight.
    theta: f64,
}

impl Community<'_> {
    /// Edges of `v` inside of its community, by the place of the other end, without loops.
    fn inside(&self, v: u32) -> impl Iterator<Item = (usize, f64)> + '_ {
        let community = self.communities[v as usize];
        let edges = self.level.graph.weighted(v);
        let inside =
            edges.filter(move |edge| edge.0 != v && self.communities[edge.0 as usize] == community);
        inside.map(|(u, weight)| (self.places[u as usize] as usize, weight))
    }

    fn refine(
        &self,
        members: &[u32],
        nodes: &mut [Node],
        mut random: Random,
        scratch: &mut Scratch,
        meter: &mut Meter<'_>,
    ) -> Result<()> {
        if members.len() < 2 {
            return meter.add(1);
        }
        for (&v, node) in members.iter().zip(&mut *nodes) {
            meter.add(1 + self.level.graph.of(v).len())?;
            node.cut = self.inside(v).map(|edge| edge.1).sum();
        }
        let whole: f64 = members.iter().map(|&v| self.level.strengths[v as usize]).sum();
        let mut order = std::mem::take(&mut scratch.order);
        order.clear();
        order.extend(0..members.len() as u32);
        for at in (1..order.len()).rev() {
            order.swap(at, random.below(at as u32 + 1) as usize);
        }
        for &at in &order {
            let v = members[at as usize];
            meter.add(1 + self.level.graph.of(v).len())?;
            let node = &nodes[at as usize];
            // A node whose part was joined by another stays.
            if node.part == at && node.size == 1 && self.well_connected(node, whole) {
                self.merge(at, v, whole, nodes, scratch, &mut random);
            }
        }
        scratch.order = order;
        Ok(())
    }

    /// True if a part has at least the weight to the rest of its community that chance gives it.
    fn well_connected(&self, part: &Node, whole: f64) -> bool {
        let expected = self.gamma * part.strength * (whole - part.strength) / self.level.total;
        part.cut >= expected
    }

    /// Merges the single node `v`, whose place is `at`, into a part of its community, or leaves it
    /// alone.
    fn merge(
        &self,
        at: u32,
        v: u32,
        whole: f64,
        nodes: &mut [Node],
        scratch: &mut Scratch,
        random: &mut Random,
    ) {
        let Scratch { seen, candidates, .. } = scratch;
        for (u, weight) in self.inside(v).filter(|edge| edge.1 > 0.0) {
            let part = nodes[u].part;
            let near = &mut nodes[part as usize].near;
            if near.is_nan() {
                *near = 0.0;
                seen.push(part);
            }
            *near += weight;
        }
        let strength = self.level.strengths[v as usize];
        let factor = self.gamma * strength / self.level.total;
        candidates.clear();
        // To stay alone gains nothing and is possible.
        candidates.push((at, 0.0));
        for &part in &*seen {
            let node = &nodes[part as usize];
            let gain = node.near - factor * node.strength;
            if gain >= 0.0 && self.well_connected(node, whole) {
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
        let part = candidates.iter().find(|c| c.1 > drawn).map_or(at, |candidate| candidate.0);
        if part != at {
            let cut = nodes[at as usize].cut;
            nodes[at as usize].part = part;
            let joined = &mut nodes[part as usize];
            joined.size += 1;
            joined.strength += strength;
            joined.cut += cut - 2.0 * joined.near;
        }
        seen.drain(..).for_each(|part| nodes[part as usize].near = f64::NAN);
    }
}
