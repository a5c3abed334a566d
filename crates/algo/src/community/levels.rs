//! Parts that Louvain and Leiden share: graphs of communities, assignments that know the weight of
//! each community, and the best move of a node.

use std::borrow::Cow;

use super::aggregate;
use super::steps;
use crate::control::{Control, Error, Result};
use crate::csr::Csr;

/// Gain, relative to the strength of a node, below which a move is rounding noise.
const NOISE: f64 = 1e-12;

/// Communities found by [`louvain`](super::louvain::louvain) or [`leiden`](super::leiden::leiden).
#[derive(Debug, Clone, PartialEq)]
pub struct Communities {
    /// Smallest vertex number of the community of each vertex.
    pub communities: Vec<u32>,
    /// Number of communities.
    pub count: u32,
    /// Modularity with the resolution of the settings; 0 without edges.
    pub modularity: f64,
    /// Levels from the finest on. Empty if no vertex moved.
    pub levels: Vec<Stage>,
}

/// Communities after one level.
#[derive(Debug, Clone, PartialEq)]
pub struct Stage {
    /// Smallest vertex number of the community of each vertex; empty unless the settings ask for
    /// intermediate communities.
    pub communities: Vec<u32>,
    /// Number of communities.
    pub count: u32,
    /// Modularity with the resolution of the settings.
    pub modularity: f64,
}

/// A graph whose nodes are vertices or communities, with the weight of each list.
pub(super) struct Level<'a> {
    pub(super) graph: Cow<'a, Csr>,
    pub(super) strengths: Vec<f64>,
    /// Sum of the strengths: each edge of an undirected graph counts twice.
    pub(super) total: f64,
}

impl<'a> Level<'a> {
    /// The first level: the graph itself, checked for what `kernel` takes.
    pub(super) fn first(kernel: &str, graph: &'a Csr, control: &Control<'_>) -> Result<Self> {
        graph.require_weights(kernel, 0.0, control)?;
        steps::require_undirected(kernel, graph, true, control)?;
        Self::new(Cow::Borrowed(graph), control)
    }

    pub(super) fn new(graph: Cow<'a, Csr>, control: &Control<'_>) -> Result<Self> {
        let mut strengths = vec![0.0; graph.vertices() as usize];
        steps::fill(control, &mut strengths, |first, chunk, meter| {
            for (v, strength) in (first as u32..).zip(chunk) {
                meter.add(1 + graph.of(v).len())?;
                *strength = graph.weighted(v).map(|edge| edge.1).sum();
            }
            Ok(())
        })?;
        let total = strengths.iter().sum::<f64>();
        if !total.is_finite() {
            return Err(Error::invalid("the sum of all weights is too large for a number"));
        }
        Ok(Self { graph, strengths, total })
    }

    pub(super) fn nodes(&self) -> usize {
        self.strengths.len()
    }

    /// Modularity of an assignment to communities below `count`.
    pub(super) fn modularity(
        &self,
        communities: &[u32],
        count: u32,
        resolution: f64,
        control: &Control<'_>,
    ) -> Result<f64> {
        let mut strengths = vec![0.0; count as usize];
        for (&community, strength) in communities.iter().zip(&self.strengths) {
            strengths[community as usize] += strength;
        }
        let inside = steps::sum_of_lists(control, &self.graph, |v| {
            let community = communities[v as usize];
            let same = |edge: &(u32, f64)| communities[edge.0 as usize] == community;
            self.graph.weighted(v).filter(same).map(|edge| edge.1).sum()
        })?;
        let expected: f64 = strengths.iter().map(|k| (k / self.total) * (k / self.total)).sum();
        Ok(inside / self.total - resolution * expected)
    }

    /// The graph whose nodes are the communities below `count`; edges inside of one become a loop.
    pub(super) fn aggregate(
        &self,
        communities: &[u32],
        count: u32,
        control: &Control<'_>,
    ) -> Result<Level<'static>> {
        let graph = aggregate::aggregate(&self.graph, communities, count, control)?;
        Level::new(Cow::Owned(graph), control)
    }
}

/// Nodes of each community.
pub(super) struct Members {
    starts: Vec<u32>,
    nodes: Vec<u32>,
}

impl Members {
    /// Sorts nodes by communities below `count`.
    pub(super) fn new(communities: &[u32], count: u32) -> Self {
        let mut starts = vec![0u32; count as usize + 1];
        communities.iter().for_each(|&c| starts[c as usize + 1] += 1);
        (0..count as usize).for_each(|c| starts[c + 1] += starts[c]);
        let mut next = starts.clone();
        let mut nodes = vec![0; communities.len()];
        for (v, &c) in (0..).zip(communities) {
            nodes[next[c as usize] as usize] = v;
            next[c as usize] += 1;
        }
        Self { starts, nodes }
    }

    /// All nodes, by community.
    pub(super) fn all(&self) -> &[u32] {
        &self.nodes
    }

    /// Place of the first node of a community among all; of their number, the number of nodes.
    pub(super) fn start(&self, community: u32) -> usize {
        self.starts[community as usize] as usize
    }

    /// Nodes of a community, ascending.
    pub(super) fn of(&self, community: u32) -> &[u32] {
        let community = community as usize;
        &self.nodes[self.starts[community] as usize..self.starts[community + 1] as usize]
    }
}

/// Weight of the edges from one node to each community, in the order of its list. *Memory*: 12
/// bytes per community.
pub(super) struct Near {
    /// NaN marks a community that was not seen, so that weights of 0 are kept apart.
    weights: Vec<f64>,
    /// Communities seen; there is place for one more than there are.
    seen: Vec<u32>,
    count: usize,
}

impl Near {
    pub(super) fn new(count: usize) -> Self {
        Self { weights: vec![f64::NAN; count], seen: vec![0; count + 1], count: 0 }
    }

    pub(super) fn clear(&mut self) {
        for &community in &self.seen[..self.count] {
            self.weights[community as usize] = f64::NAN;
        }
        self.count = 0;
    }

    /// PERF: no branch on whether a community is new, which cannot be foretold (telar bench
    /// algorithms, scaling/Louvain).
    #[inline]
    pub(super) fn add(&mut self, community: u32, weight: f64) {
        let sum = &mut self.weights[community as usize];
        let is_new = sum.is_nan();
        *sum = if is_new { 0.0 } else { *sum } + weight;
        self.seen[self.count] = community;
        self.count += usize::from(is_new);
    }

    /// Communities seen, in the order of the first edge.
    pub(super) fn seen(&self) -> &[u32] {
        &self.seen[..self.count]
    }

    /// The same in ascending order, from now on.
    pub(super) fn sorted(&mut self) -> &[u32] {
        self.seen[..self.count].sort_unstable();
        self.seen()
    }

    /// Weight to a community; 0 if none was seen.
    #[inline]
    pub(super) fn weight(&self, community: u32) -> f64 {
        let weight = self.weights[community as usize];
        if weight.is_nan() { 0.0 } else { weight }
    }
}

/// An assignment of nodes to communities that is being improved.
pub(super) struct Partition {
    pub(super) communities: Vec<u32>,
    strengths: Vec<f64>,
    sizes: Vec<u32>,
    empty: Vec<u32>,
}

/// A change of one node's community.
#[derive(Debug, Clone, Copy)]
pub(super) struct Move {
    pub(super) node: u32,
    /// Community to go to; none for one of its own.
    pub(super) target: Option<u32>,
    /// Weight of the edges to the other nodes of the old community.
    pub(super) to_old: f64,
    /// Weight of the edges to the new community.
    pub(super) to_new: f64,
}

impl Partition {
    /// Begins with `communities`, whose numbers are below the number of nodes.
    pub(super) fn new(level: &Level<'_>, communities: Vec<u32>) -> Self {
        let n = level.nodes();
        let (mut strengths, mut sizes) = (vec![0.0; n], vec![0; n]);
        for (&community, strength) in communities.iter().zip(&level.strengths) {
            strengths[community as usize] += strength;
            sizes[community as usize] += 1;
        }
        let empty = (0..n as u32).rev().filter(|&c| sizes[c as usize] == 0).collect();
        Self { communities, strengths, sizes, empty }
    }

    /// Move of `v` to the community that gains most; none if it stays. Of equal gains the first in
    /// the list of `v` wins.
    pub(super) fn best(
        &self,
        level: &Level<'_>,
        v: u32,
        resolution: f64,
        near: &mut Near,
    ) -> Option<Move> {
        near.clear();
        let list = level.graph.of(v);
        let loops = list.partition_point(|&u| u < v)..list.partition_point(|&u| u <= v);
        match level.graph.weights_of(v) {
            None => {
                for &u in list[..loops.start].iter().chain(&list[loops.end..]) {
                    near.add(self.communities[u as usize], 1.0);
                }
            }
            Some(weights) => {
                for range in [0..loops.start, loops.end..list.len()] {
                    for (&u, &weight) in list[range.clone()].iter().zip(&weights[range]) {
                        near.add(self.communities[u as usize], weight);
                    }
                }
            }
        }
        let strength = level.strengths[v as usize];
        let old = self.communities[v as usize];
        let factor = resolution * strength / level.total;
        let to_old = near.weight(old);
        let stay = to_old - factor * (self.strengths[old as usize] - strength);
        let (mut best, mut target, mut to_new) = (stay, Some(old), to_old);
        for &community in near.seen().iter().filter(|&&community| community != old) {
            let weight = near.weight(community);
            let value = weight - factor * self.strengths[community as usize];
            if value > best {
                (best, target, to_new) = (value, Some(community), weight);
            }
        }
        if best < 0.0 && self.sizes[old as usize] > 1 && !self.empty.is_empty() {
            (best, target, to_new) = (0.0, None, 0.0);
        }
        if target == Some(old) || best - stay <= NOISE * strength {
            return None;
        }
        Some(Move { node: v, target, to_old, to_new })
    }

    /// Makes a move if it still gains, and returns the gain of modularity; 0 if it does not.
    pub(super) fn make(&mut self, level: &Level<'_>, step: &Move, resolution: f64) -> f64 {
        let v = step.node as usize;
        let strength = level.strengths[v];
        let old = self.communities[v];
        let factor = resolution * strength / level.total;
        let stay = step.to_old - factor * (self.strengths[old as usize] - strength);
        // A community that everybody left is as good as any empty one.
        let joined = step.target.filter(|&target| self.sizes[target as usize] > 0);
        let (target, to_new) = match (joined, self.empty.last()) {
            (Some(target), _) => (target, step.to_new),
            (None, Some(&empty)) if self.sizes[old as usize] > 1 => (empty, 0.0),
            _ => return 0.0,
        };
        let value = to_new - factor * self.strengths[target as usize];
        if target == old || value - stay <= NOISE * strength {
            return 0.0;
        }
        if joined.is_none() {
            self.empty.pop();
        }
        self.strengths[old as usize] -= strength;
        self.sizes[old as usize] -= 1;
        self.strengths[target as usize] += strength;
        self.sizes[target as usize] += 1;
        if self.sizes[old as usize] == 0 {
            self.strengths[old as usize] = 0.0;
            self.empty.push(old);
        }
        self.communities[v] = target;
        2.0 * (value - stay) / level.total
    }
}

/// Renames communities to numbers from 0 on, in the order of their first node, and returns how many
/// there are.
pub(super) fn renumber(communities: &mut [u32]) -> u32 {
    let mut names = vec![u32::MAX; communities.len()];
    let mut count = 0;
    for community in communities {
        let name = &mut names[*community as usize];
        if *name == u32::MAX {
            *name = count;
            count += 1;
        }
        *community = *name;
    }
    count
}

/// Names communities below the number of vertices by their smallest vertex.
pub(super) fn by_smallest(communities: &[u32]) -> Vec<u32> {
    let mut smallest = vec![u32::MAX; communities.len()];
    for (v, &community) in (0..).zip(communities) {
        smallest[community as usize] = v.min(smallest[community as usize]);
    }
    communities.iter().map(|&community| smallest[community as usize]).collect()
}
