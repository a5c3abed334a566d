//! Fewest non-neighbours: the streaming heuristic of Grace.
//!
//! Result: a part per vertex. There is no limit of size; a part with more neighbours is preferred
//! only until it is larger by as many vertices.
//!
//! Method: vertices come in the order of their numbers; each goes where the part has the fewest
//! vertices that are not its neighbours, `size - neighbours in the part`.
//!
//! Cost: O(m) per pass. *Memory*: 4 bytes per vertex.
//!
//! Source: Grace (see [`super`]), section 3.1.2.

use crate::control::{Control, Result};
use crate::csr::Csr;

/// Settings of [`fewest_non_neighbours`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settings {
    /// Number of parts; 1 to [`PARTS_MAX`](super::PARTS_MAX).
    pub parts: u32,
    /// Passes over all vertices; at least 1. From the second each vertex knows all neighbours.
    pub max_iterations: u32,
}

impl Default for Settings {
    /// 2 parts, one pass.
    fn default() -> Self {
        Self { parts: 2, max_iterations: 1 }
    }
}

/// Upper estimate of memory in bytes beyond the graph.
#[must_use]
pub fn bytes(n: u64, _: u64, settings: &Settings) -> u64 {
    super::stream::bytes(n, settings.parts)
}

/// Part of each vertex by fewest non-neighbours.
pub fn fewest_non_neighbours(
    graph: &Csr,
    settings: &Settings,
    control: &Control<'_>,
) -> Result<Vec<u32>> {
    let score = |near: u32, size: u32| f64::from(near) - f64::from(size);
    let limits = (settings.parts, u32::MAX, settings.max_iterations);
    super::stream::place(graph, limits, score, control)
}

#[test]
fn fewest_non_neighbours_cuts_less_than_chance() {
    let go = |max_iterations| {
        move |graph: &Csr, parts: u32, control: &Control<'_>| {
            fewest_non_neighbours(graph, &Settings { parts, max_iterations }, control)
        }
    };
    super::tests::check(go(1), 0.7, 1.1);
    super::tests::check(go(8), 0.5, 1.1);
}
