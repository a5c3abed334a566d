//! Uniform random graphs: both ends of every edge drawn independently (Erdős and Rényi, 1959).

use crate::Edge;
use crate::rng::Rng;

/// Returns `count` edges between vertices below `n`, loops and repetitions included.
///
/// # Panics
/// If `n` is 0 and `count` is not.
pub fn uniform(n: u32, count: usize, seed: u64) -> Vec<Edge> {
    let mut rng = Rng::new(seed);
    (0..count).map(|_| (rng.index(n as usize) as u32, rng.index(n as usize) as u32)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn uniform_spreads_edges_evenly() {
        let edges = uniform(100, 50_000, 4);
        assert_eq!(edges, uniform(100, 50_000, 4));
        let mut degrees = [0u32; 100];
        for &(u, v) in &edges {
            degrees[u as usize] += 1;
            degrees[v as usize] += 1;
        }
        assert!(degrees.iter().all(|degree| (850..1150).contains(degree)), "{degrees:?}");
    }
}
