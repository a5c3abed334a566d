//! Edge lists out of topologies.

use telar_db::Topology;

/// Source and target, by engine number.
pub(super) type Edge = (u32, u32);

/// All edges of `topology` as `(vertex, neighbour)`, in the order of the scan.
pub(super) fn list<T: Topology>(topology: &T) -> Vec<Edge> {
    let mut edges = Vec::new();
    topology.scan(0..topology.vertex_bound(), |v, run| edges.extend(run.iter().map(|u| (v, *u))));
    edges
}

/// The edges with their ends swapped, sorted.
pub(super) fn reversed(edges: &[Edge]) -> Vec<Edge> {
    let mut edges: Vec<Edge> = edges.iter().map(|&(u, v)| (v, u)).collect();
    edges.sort_unstable();
    edges
}

/// How many edges stand in one of two sorted lists and not in the other.
pub(super) fn differing(a: &[Edge], b: &[Edge]) -> u64 {
    let (mut i, mut j, mut differing) = (0, 0, 0);
    while i < a.len() && j < b.len() {
        match a[i].cmp(&b[j]) {
            std::cmp::Ordering::Equal => (i, j) = (i + 1, j + 1),
            std::cmp::Ordering::Less => (i, differing) = (i + 1, differing + 1),
            std::cmp::Ordering::Greater => (j, differing) = (j + 1, differing + 1),
        }
    }
    differing + (a.len() - i + b.len() - j) as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn differing_counts_what_only_one_list_has() {
        assert_eq!(differing(&[(0, 1), (0, 2)], &[(0, 1), (0, 2)]), 0);
        assert_eq!(differing(&[(0, 1), (0, 1), (3, 0)], &[(0, 1), (2, 2)]), 3);
        assert_eq!(differing(&[], &[(1, 1)]), 1);
    }

    #[test]
    fn reversed_is_sorted_by_target() {
        assert_eq!(reversed(&[(0, 9), (1, 3)]), [(3, 1), (9, 0)]);
    }
}
