//! Triangle count: the number of vertex triples of which each two are neighbours.
//!
//! Result: each triangle `a < b < c` counted once.
//!
//! Method: for each vertex `a` and each neighbour `b > a`, intersect the neighbours above `b` of
//! both. The adjacency must be undirected and simple: no loops, no parallel edges, and each edge
//! either at both ends or at its smaller end only (`out` of a store whose edges were loaded as
//! `(min, max)`); entries at or below the vertex are never looked at.
//!
//! Cost: O(m^1.5) comparisons; sorted lists are read in place, others are copied and sorted for
//! each edge. Lists of very different length are intersected by galloping.
//!
//! Source: Schank and Wagner, "Finding, counting and listing all triangles in large graphs", 2005
//! (edge-iterator, forward); galloping after Bentley and Yao, 1976.

use telar_graph::topology::Topology;

/// Length ratio from which galloping through the longer list beats merging.
const GALLOP_RATIO: usize = 16;

/// Returns the number of triangles of `adjacency`.
pub fn triangles<T: Topology>(adjacency: &T) -> u64 {
    triangles_from(adjacency, 0..adjacency.vertex_bound())
}

/// Returns the number of triangles whose smallest vertex is among `roots`: a sample of the work
/// where the whole would take too long.
pub fn triangles_from<T: Topology>(adjacency: &T, roots: impl IntoIterator<Item = u32>) -> u64 {
    let bound = adjacency.vertex_bound();
    let (mut scratch_a, mut scratch_b) = (Vec::new(), Vec::new());
    let mut count = 0;
    for a in roots.into_iter().filter(|&a| a < bound) {
        let mut above_a = above(adjacency.sorted(a, &mut scratch_a), a);
        while let Some((&b, above_b_of_a)) = above_a.split_first() {
            above_a = above_b_of_a;
            if let Some(&next) = above_a.first()
                && next < bound
            {
                adjacency.prefetch(next);
            }
            if b < bound && !above_a.is_empty() {
                let above_b = above(adjacency.sorted(b, &mut scratch_b), b);
                count += common(above_a, above_b);
            }
        }
    }
    count
}

/// Returns the part of `sorted` greater than `v`.
fn above(sorted: &[u32], v: u32) -> &[u32] {
    &sorted[sorted.partition_point(|&u| u <= v)..]
}

/// Returns how many numbers two ascending lists share.
fn common(a: &[u32], b: &[u32]) -> u64 {
    let (short, long) = if a.len() <= b.len() { (a, b) } else { (b, a) };
    if long.len() / GALLOP_RATIO > short.len() { gallop(short, long) } else { merge(short, long) }
}

/// Counts by stepping through both lists at once, without a branch on the comparison.
fn merge(a: &[u32], b: &[u32]) -> u64 {
    let (mut i, mut j, mut count) = (0, 0, 0);
    while i < a.len() && j < b.len() {
        let (x, y) = (a[i], b[j]);
        count += u64::from(x == y);
        i += usize::from(x <= y);
        j += usize::from(y <= x);
    }
    count
}

/// Counts by searching each number of `short` in what is left of `long`, in doubling steps.
fn gallop(short: &[u32], mut long: &[u32]) -> u64 {
    let mut count = 0;
    for &x in short {
        let mut step = 1;
        while step < long.len() && long[step] < x {
            step *= 2;
        }
        let window = &long[..long.len().min(step + 1)];
        let found = window.partition_point(|&y| y < x);
        count += u64::from(window.get(found) == Some(&x));
        long = &long[found..];
    }
    count
}

/// Tries all triples.
#[cfg(test)]
pub(crate) fn verify(n: u32, edges: &[(u32, u32)]) -> u64 {
    let edges: std::collections::HashSet<_> = edges.iter().copied().collect();
    let linked = |a, b| edges.contains(&(a, b)) || edges.contains(&(b, a));
    let mut count = 0;
    for a in 0..n {
        for b in (a + 1..n).filter(|&b| linked(a, b)) {
            count += (b + 1..n).filter(|&c| linked(a, c) && linked(b, c)).count() as u64;
        }
    }
    count
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Lists, random_edges, simple_undirected};

    #[test]
    fn triangles_of_random_graphs_equal_all_triples() {
        for seed in 0..20 {
            let n = 3 + 5 * seed as u32;
            let edges = simple_undirected(&random_edges(seed, n, 6 * n as usize));
            let both: Vec<_> = edges.iter().flat_map(|&(u, v)| [(u, v), (v, u)]).collect();
            let expected = verify(n, &edges);
            assert_eq!(triangles(&Lists::out(n, &both)), expected, "seed {seed}");
            let oriented = Lists::out(n, &edges);
            assert_eq!(triangles(&oriented), expected, "seed {seed}");
            let parts = triangles_from(&oriented, 0..n / 2) + triangles_from(&oriented, n / 2..n);
            assert_eq!(parts, expected);
        }
    }

    #[test]
    fn galloping_equals_merging() {
        for seed in 0..200 {
            let mut a: Vec<_> = random_edges(seed, 3000, 20).iter().map(|e| e.0).collect();
            let mut b: Vec<_> = random_edges(seed + 1000, 3000, 900).iter().map(|e| e.1).collect();
            for list in [&mut a, &mut b] {
                list.sort_unstable();
                list.dedup();
            }
            assert_eq!(gallop(&a, &b), merge(&a, &b), "seed {seed}");
            assert_eq!(gallop(&b, &a), merge(&a, &b), "seed {seed}");
        }
    }

    #[test]
    fn complete_graph_has_every_triple() {
        let edges: Vec<_> = (0..30u32).flat_map(|u| (u + 1..30).map(move |v| (u, v))).collect();
        assert_eq!(triangles(&Lists::out(30, &edges)), 30 * 29 * 28 / 6);
    }
}
