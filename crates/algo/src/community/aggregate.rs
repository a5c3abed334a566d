//! The graph of communities: each community becomes a node, on all threads.
//!
//! Result: a graph whose nodes are the communities; the weights of edges between two communities
//! add up, those of edges inside of one become a loop.
//!
//! Method: the nodes, sorted by community, are cut into pieces of about as many edges each,
//! whatever the number of threads; one task adds up the edges of a piece in an array over the
//! communities. Lists of a community that lies in several pieces are merged afterwards. Sums are
//! added in the order of nodes inside of a piece and in the order of pieces, so the last bit does
//! not depend on the number of threads.
//!
//! Cost: O(m) and sorting the new lists. *Memory*: 8 bytes per node, 16 and 12 per edge of the new
//! graph, and 12 per community and running thread.
//!
//! Source: the aggregation of Staudt and Meyerhenke, "Engineering parallel algorithms for community
//! detection in massive networks", IEEE TPDS 2016, section III-B.

use std::ops::Range;

use rayon::prelude::*;

use super::levels::{Members, Near};
use super::steps::Meter;
use crate::control::{Control, Result};
use crate::csr::Csr;
use crate::scratch::Pool;

/// Edges of a piece, unless one node has more.
const PIECE_EDGES: usize = 1 << 14;

/// Lists of the communities of one piece, ascending.
#[derive(Default)]
struct Part {
    /// Community of each list, and where the list ends.
    ends: Vec<(u32, usize)>,
    edges: Vec<(u32, f64)>,
}

/// Makes the graph of the communities below `count`.
pub(super) fn aggregate(
    graph: &Csr,
    communities: &[u32],
    count: u32,
    control: &Control<'_>,
) -> Result<Csr> {
    let members = Members::new(communities, count);
    control.check()?;
    let pieces = cut(graph, members.all());
    let nears = Pool::new();
    let part = |piece: Range<usize>| {
        let sum = |near: &mut Near| {
            sum(graph, communities, &members.all()[piece], near, &mut Meter::new(control))
        };
        nears.with(|| Near::new(count as usize), sum)
    };
    let parts: Result<Vec<Part>> =
        control.install(|| pieces.into_par_iter().with_max_len(1).map(part).collect());
    let mut lists = merged(parts?);
    control.check()?;
    let mut offsets = Vec::with_capacity(count as usize + 1);
    offsets.push(0);
    for part in &lists {
        let mut start = 0;
        for &(_, end) in &part.ends {
            offsets.push(offsets.last().copied().unwrap_or(0) + (end - start) as u64);
            start = end;
        }
    }
    let m = lists.iter().map(|part| part.edges.len()).sum();
    let (mut neighbours, mut weights) = (vec![0; m], vec![0.0; m]);
    let (mut to, mut of) = (&mut neighbours[..], &mut weights[..]);
    let mut copies = Vec::with_capacity(lists.len());
    for part in &mut lists {
        let (neighbours, weights);
        (neighbours, to) = to.split_at_mut(part.edges.len());
        (weights, of) = of.split_at_mut(part.edges.len());
        copies.push((std::mem::take(&mut part.edges), neighbours, weights));
    }
    control.install(|| {
        copies.into_par_iter().try_for_each(|(edges, neighbours, weights)| {
            control.check()?;
            for ((edge, neighbour), weight) in edges.iter().zip(neighbours).zip(weights) {
                (*neighbour, *weight) = *edge;
            }
            Ok(())
        })
    })?;
    Ok(Csr::of_lists(offsets, neighbours, Some(weights)))
}

/// Ranges of `nodes` with about as many edges each.
fn cut(graph: &Csr, nodes: &[u32]) -> Vec<Range<usize>> {
    let mut pieces = Vec::new();
    let (mut first, mut edges) = (0, 0);
    for (at, &v) in nodes.iter().enumerate() {
        edges += 1 + graph.of(v).len();
        if edges >= PIECE_EDGES {
            pieces.push(first..at + 1);
            (first, edges) = (at + 1, 0);
        }
    }
    if first < nodes.len() {
        pieces.push(first..nodes.len());
    }
    pieces
}

/// Adds up the edges of nodes that are sorted by community.
fn sum(
    graph: &Csr,
    communities: &[u32],
    nodes: &[u32],
    near: &mut Near,
    meter: &mut Meter<'_>,
) -> Result<Part> {
    let mut part = Part::default();
    for same in nodes.chunk_by(|a, b| communities[*a as usize] == communities[*b as usize]) {
        near.clear();
        for &v in same {
            meter.add(1 + graph.of(v).len())?;
            for (u, weight) in graph.weighted(v) {
                near.add(communities[u as usize], weight);
            }
        }
        meter.add(near.sorted().len())?;
        part.edges.extend(near.seen().iter().map(|&other| (other, near.weight(other))));
        part.ends.push((communities[same[0] as usize], part.edges.len()));
    }
    Ok(part)
}

/// Merges the lists of communities that lie in several parts into the first of them.
fn merged(parts: Vec<Part>) -> Vec<Part> {
    let mut kept: Vec<Part> = Vec::with_capacity(parts.len());
    for mut part in parts {
        let (Some(last), Some(&(community, end))) = (kept.last_mut(), part.ends.first()) else {
            kept.push(part);
            continue;
        };
        if last.ends.last().is_some_and(|end| end.0 == community) {
            let start = last.ends.iter().rev().nth(1).map_or(0, |end| end.1);
            let both = merge(&last.edges[start..], &part.edges[..end]);
            last.edges.truncate(start);
            last.edges.extend(both);
            let length = last.edges.len();
            last.ends.last_mut().into_iter().for_each(|end| end.1 = length);
            part.edges.drain(..end);
            part.ends.remove(0);
            part.ends.iter_mut().for_each(|list| list.1 -= end);
        }
        if !part.ends.is_empty() {
            kept.push(part);
        }
    }
    kept
}

/// Adds up two ascending lists.
fn merge(mut a: &[(u32, f64)], mut b: &[(u32, f64)]) -> Vec<(u32, f64)> {
    let mut both = Vec::with_capacity(a.len() + b.len());
    while let (Some((&x, rest_a)), Some((&y, rest_b))) = (a.split_first(), b.split_first()) {
        both.push(match x.0.cmp(&y.0) {
            std::cmp::Ordering::Less => x,
            std::cmp::Ordering::Greater => y,
            std::cmp::Ordering::Equal => (x.0, x.1 + y.1),
        });
        a = if x.0 <= y.0 { rest_a } else { a };
        b = if y.0 <= x.0 { rest_b } else { b };
    }
    both.extend_from_slice(a);
    both.extend_from_slice(b);
    both
}

#[cfg(test)]
mod tests {
    use super::super::levels::renumber;
    use super::super::samples::{assert_same_on_threads, assert_stops, samples, weigh};
    use super::*;
    use crate::testing::random_edges;

    /// Renames the ends of every edge.
    fn verify(graph: &Csr, communities: &[u32], count: u32) -> Csr {
        let of = |v: u32| communities[v as usize];
        let edges: Vec<_> = graph.all_edges().map(|(u, v, w)| (of(u), of(v), w)).collect();
        Csr::from_weighted(count, &edges).without_parallels(|a, b| a + b)
    }

    #[test]
    fn graphs_of_communities_equal_renamed_edges() {
        for (at, (n, edges)) in samples(80, 60).enumerate() {
            let graph = Csr::from_weighted(n, &weigh(&edges)).undirected();
            let mut communities: Vec<u32> = (0..n).map(|v| v * 31 % (1 + at as u32 % 9)).collect();
            let names = n.max(9);
            communities.iter_mut().for_each(|c| *c %= names.min(n.max(1)));
            let count = renumber(&mut communities);
            let found = aggregate(&graph, &communities, count, &Control::default()).unwrap();
            assert_eq!(found, verify(&graph, &communities, count));
        }
    }

    #[test]
    fn communities_over_many_pieces_are_merged_on_any_number_of_threads() {
        let n = 6000;
        let graph = Csr::from_weighted(n, &weigh(&random_edges(3, n, 90_000))).undirected();
        for names in [1, 2, 7, 3000] {
            let mut communities: Vec<u32> = (0..n).map(|v| v * 31 % names).collect();
            let count = renumber(&mut communities);
            let run = |control: &Control<'_>| aggregate(&graph, &communities, count, control);
            assert_eq!(run(&Control::default()).unwrap(), verify(&graph, &communities, count));
            assert_same_on_threads(run);
            assert_stops(run);
        }
    }
}
