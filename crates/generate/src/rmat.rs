//! Recursive-matrix (Kronecker) graphs with the parameters of Graph500.
//!
//! Method: each edge descends `scale` levels of the adjacency matrix and picks one of four
//! quadrants at each; degrees come out skewed, with hubs of a few per cent of all edges. Vertex
//! numbers are then permuted, as the numbers of real data say nothing about degrees.
//!
//! Source: Chakrabarti, Zhan and Faloutsos, "R-MAT", SDM 2004; the Graph500 specification.

use crate::rng::Rng;
use crate::{Edge, edges};

/// Probability of the quadrant (0, 0), and with it the end of (0, 0) in 32-bit draws.
const A: f64 = 0.57;
/// Probability of each of the quadrants (0, 1) and (1, 0).
const B: f64 = 0.19;

/// Size and seed of an RMAT graph.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rmat {
    /// Binary logarithm of the number of vertices, at most 31.
    pub scale: u32,
    /// Edges drawn per vertex; Graph500 takes 16.
    pub edge_factor: u32,
    /// Seed of all choices.
    pub seed: u64,
}

impl Rmat {
    /// Returns the number of vertices.
    pub fn vertices(&self) -> u32 {
        1 << self.scale
    }
}

/// Returns `vertices * edge_factor` edges in random order, loops and repetitions included.
pub fn rmat(parameters: &Rmat) -> Vec<Edge> {
    let count = parameters.vertices() as usize * parameters.edge_factor as usize;
    let numbers = edges::permutation(parameters.vertices(), parameters.seed ^ 0x5eed);
    let mut rng = Rng::new(parameters.seed);
    (0..count)
        .map(|_| {
            let (u, v) = descend(&mut rng, parameters.scale);
            (numbers[u as usize], numbers[v as usize])
        })
        .collect()
}

fn descend(rng: &mut Rng, scale: u32) -> Edge {
    const WHOLE: f64 = (1u64 << 32) as f64;
    const AFTER_A: u64 = (A * WHOLE) as u64;
    const AFTER_B: u64 = ((A + B) * WHOLE) as u64;
    const AFTER_C: u64 = ((A + B + B) * WHOLE) as u64;
    let (mut u, mut v, mut bits) = (0, 0, 0);
    for level in 0..scale {
        // One draw of 64 bits serves two levels.
        bits = if level % 2 == 0 { rng.bits() } else { bits >> 32 };
        let draw = bits & 0xffff_ffff;
        let row = draw >= AFTER_B;
        let column = (AFTER_A..AFTER_B).contains(&draw) || draw >= AFTER_C;
        u = u << 1 | u32::from(row);
        v = v << 1 | u32::from(column);
    }
    (u, v)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rmat_is_deterministic_and_skewed() {
        let parameters = Rmat { scale: 12, edge_factor: 16, seed: 1 };
        let edges = rmat(&parameters);
        assert_eq!(edges.len(), 16 << 12);
        assert_eq!(edges, rmat(&parameters));
        assert_ne!(edges, rmat(&Rmat { seed: 2, ..parameters }));
        let mut degrees = vec![0u32; 1 << 12];
        for &(u, _) in &edges {
            degrees[u as usize] += 1;
        }
        degrees.sort_unstable();
        assert!(degrees[(1 << 12) - 1] > 30 * 16, "no hub: {:?}", degrees.last());
        assert!(degrees[1 << 11] < 16, "the median vertex is too busy");
    }

    #[test]
    fn quadrants_come_with_their_probabilities() {
        let mut rng = Rng::new(3);
        let mut counts = [0u32; 4];
        for _ in 0..100_000 {
            let (u, v) = descend(&mut rng, 1);
            counts[(u * 2 + v) as usize] += 1;
        }
        for (count, percent) in counts.into_iter().zip([57, 19, 19, 5]) {
            assert!(count.abs_diff(percent * 1000) < 600, "{counts:?}");
        }
    }
}
