//! Helpers over edge lists.

use crate::Edge;
use crate::rng::Rng;

/// Drops loops and repeated edges; what is left is sorted by source, then target.
pub fn dedup(edges: &mut Vec<Edge>) {
    edges.retain(|(u, v)| u != v);
    edges.sort_unstable();
    edges.dedup();
}

/// Drops loops and keeps one edge of each unordered pair, in one of the directions it came in; what
/// is left is sorted by its ends, smaller first. A store that keeps out- and in-entries then holds
/// each undirected edge exactly twice.
pub fn dedup_undirected(edges: &mut Vec<Edge>) {
    edges.retain(|(u, v)| u != v);
    edges.sort_unstable_by_key(|&(u, v)| (u.min(v), u.max(v), u));
    edges.dedup_by_key(|&mut (u, v)| (u.min(v), u.max(v)));
}

/// Adds the reverse of every edge.
pub fn symmetrise(edges: &mut Vec<Edge>) {
    edges.extend_from_within(..);
    let half = edges.len() / 2;
    for edge in &mut edges[half..] {
        *edge = (edge.1, edge.0);
    }
}

/// Turns every edge to lead from its smaller end to its larger one, as triangle counting wants.
pub fn orient(edges: &mut [Edge]) {
    for edge in edges {
        *edge = (edge.0.min(edge.1), edge.0.max(edge.1));
    }
}

/// Puts the edges into a random order.
pub fn shuffle(edges: &mut [Edge], seed: u64) {
    Rng::new(seed).shuffle(edges);
}

/// Returns the numbers below `n` in a random order.
pub fn permutation(n: u32, seed: u64) -> Vec<u32> {
    let mut numbers: Vec<u32> = (0..n).collect();
    Rng::new(seed).shuffle(&mut numbers);
    numbers
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dedup_drops_loops_and_repetitions() {
        let mut edges = vec![(3, 1), (2, 2), (1, 3), (3, 1)];
        dedup(&mut edges);
        assert_eq!(edges, [(1, 3), (3, 1)]);
    }

    #[test]
    fn dedup_undirected_keeps_one_direction_of_each_pair() {
        let mut edges = vec![(3, 1), (2, 2), (1, 3), (3, 1), (2, 0)];
        dedup_undirected(&mut edges);
        assert_eq!(edges, [(2, 0), (1, 3)]);
    }

    #[test]
    fn symmetrise_adds_reverses_and_orient_undoes_them() {
        let mut edges = vec![(2, 1), (0, 3)];
        symmetrise(&mut edges);
        assert_eq!(edges, [(2, 1), (0, 3), (1, 2), (3, 0)]);
        orient(&mut edges);
        assert_eq!(edges, [(1, 2), (0, 3), (1, 2), (0, 3)]);
    }

    #[test]
    fn permutation_is_one_and_depends_on_the_seed() {
        let mut numbers = permutation(100, 1);
        assert_ne!(numbers, permutation(100, 2));
        numbers.sort_unstable();
        assert!(numbers.into_iter().eq(0..100));
    }
}
