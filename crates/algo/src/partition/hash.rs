//! Hash partitioning: each vertex goes where a hash of its number says.
//!
//! Result: a part per vertex.
//!
//! Method: a pseudo-random number of the seed and the vertex. It does not look at edges: parts are
//! even, high degrees are spread, a new vertex needs no other; and all but one in `parts` edges are
//! cut. The baseline of the others.
//!
//! Cost: O(n). *Memory*: 4 bytes per vertex.
//!
//! Source: Grace (see [`super`]), section 3.1.1.

use crate::control::{Control, Result};
use crate::csr::Csr;
use crate::random::Random;

/// Settings of [`hash`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settings {
    /// Number of parts; 1 to [`PARTS_MAX`](super::PARTS_MAX).
    pub parts: u32,
    /// Seed of the hash.
    pub seed: u64,
}

impl Default for Settings {
    /// 2 parts, seed 0.
    fn default() -> Self {
        Self { parts: 2, seed: 0 }
    }
}

/// Upper estimate of memory in bytes beyond the graph.
#[must_use]
pub fn bytes(n: u64, _: u64) -> u64 {
    4 * n
}

/// Part of each vertex by a hash of its number.
pub fn hash(graph: &Csr, settings: &Settings, control: &Control<'_>) -> Result<Vec<u32>> {
    super::require_parts(settings.parts)?;
    let mut parts = vec![0; graph.vertices() as usize];
    control.fill(&mut parts, 1 << 14, |first, chunk| {
        for (v, part) in chunk.iter_mut().enumerate() {
            *part = Random::new(settings.seed, (first + v) as u64).below(settings.parts);
        }
    })?;
    Ok(parts)
}

#[test]
fn hash_spreads_vertices_evenly() {
    let go = |graph: &Csr, parts: u32, control: &Control<'_>| {
        hash(graph, &Settings { parts, seed: 3 }, control)
    };
    super::tests::check(go, 0.8, 1.25);
}
