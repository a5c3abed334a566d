//! Linear deterministic greedy partitioning (LDG), a streaming partitioner.
//!
//! Result: a part per vertex; no part above [`Settings::slack`] times its share.
//!
//! Method: vertices come in the order of their numbers; each goes where
//! `neighbours in the part * (1 - size / capacity)` is largest.
//!
//! Cost: O(m) per pass. *Memory*: 4 bytes per vertex.
//!
//! Source: Stanton and Kliot, "Streaming graph partitioning for large distributed graphs", KDD
//! 2012.

use crate::control::{Control, Result};
use crate::csr::Csr;

/// Settings of [`ldg`].
#[derive(Debug, Clone, PartialEq)]
pub struct Settings {
    /// Number of parts; 1 to [`PARTS_MAX`](super::PARTS_MAX).
    pub parts: u32,
    /// Largest size of a part over its share of the vertices; at least 1.
    pub slack: f64,
    /// Passes over all vertices; at least 1. From the second each vertex knows all neighbours.
    pub max_iterations: u32,
}

impl Default for Settings {
    /// 2 parts, slack 1.05, one pass.
    fn default() -> Self {
        Self { parts: 2, slack: 1.05, max_iterations: 1 }
    }
}

/// Upper estimate of memory in bytes beyond the graph.
#[must_use]
pub fn bytes(n: u64, _: u64, settings: &Settings) -> u64 {
    super::stream::bytes(n, settings.parts)
}

/// Part of each vertex by linear deterministic greedy.
pub fn ldg(graph: &Csr, settings: &Settings, control: &Control<'_>) -> Result<Vec<u32>> {
    super::require_parts(settings.parts)?;
    let capacity = super::capacity(graph.vertices(), settings.parts, settings.slack)?;
    let room = 1.0 / f64::from(capacity.max(1));
    let score = |near: u32, size: u32| f64::from(near) * (1.0 - f64::from(size) * room);
    super::stream::place(graph, (settings.parts, capacity, settings.max_iterations), score, control)
}

#[test]
fn ldg_keeps_groups_together() {
    let go = |max_iterations| {
        move |graph: &Csr, parts: u32, control: &Control<'_>| {
            ldg(graph, &Settings { parts, max_iterations, ..Settings::default() }, control)
        }
    };
    super::tests::check(go(1), 0.6, 1.06);
    super::tests::check(go(8), 0.35, 1.06);
    let graph = Csr::from_edges(1, &[]);
    for slack in [0.9, f64::NAN, f64::INFINITY] {
        let settings = Settings { slack, ..Settings::default() };
        assert!(ldg(&graph, &settings, &Control::default()).is_err());
    }
    let settings = Settings { max_iterations: 0, ..Settings::default() };
    assert!(ldg(&graph, &settings, &Control::default()).is_err());
}
