//! A hub: one vertex with an edge to every other, the longest list a graph of its size can have.

use crate::{Edge, edges};

/// Returns the edges from vertex 0 to the vertices `1..=leaves`, in random order.
pub fn star(leaves: u32, seed: u64) -> Vec<Edge> {
    let mut spokes: Vec<Edge> = (1..=leaves).map(|leaf| (0, leaf)).collect();
    edges::shuffle(&mut spokes, seed);
    spokes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn star_reaches_every_leaf_once_in_random_order() {
        let mut edges = star(50, 9);
        assert!(!edges.is_sorted());
        edges.sort_unstable();
        assert!(edges.into_iter().eq((1..=50).map(|leaf| (0, leaf))));
    }
}
