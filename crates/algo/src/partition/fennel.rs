//! Fennel, a streaming partitioner.
//!
//! Result: a part per vertex; no part above [`Settings::slack`] times its share.
//!
//! Method: vertices come in the order of their numbers; each goes where
//! `neighbours in the part - alpha * gamma * size^(gamma - 1)` is largest, with
//! `alpha = m * parts^(gamma - 1) / n^gamma`.
//!
//! Cost: O(m) per pass. *Memory*: 4 bytes per vertex.
//!
//! Source: Tsourakakis et al., "FENNEL: streaming graph partitioning for massive scale graphs",
//! WSDM 2014.

use crate::control::{Control, Error, Result};
use crate::csr::Csr;

/// Settings of [`fennel`].
#[derive(Debug, Clone, PartialEq)]
pub struct Settings {
    /// Number of parts; 1 to [`PARTS_MAX`](super::PARTS_MAX).
    pub parts: u32,
    /// Exponent of the cost of size; above 1 and at most 4.
    pub gamma: f64,
    /// Largest size of a part over its share of the vertices; at least 1.
    pub slack: f64,
    /// Passes over all vertices; at least 1. From the second each vertex knows all neighbours.
    pub max_iterations: u32,
}

impl Default for Settings {
    /// 2 parts, gamma 1.5, slack 1.1, one pass: the choices of the paper.
    fn default() -> Self {
        Self { parts: 2, gamma: 1.5, slack: 1.1, max_iterations: 1 }
    }
}

/// Upper estimate of memory in bytes beyond the graph.
#[must_use]
pub fn bytes(n: u64, _: u64, settings: &Settings) -> u64 {
    super::stream::bytes(n, settings.parts)
}

/// Part of each vertex by Fennel.
pub fn fennel(graph: &Csr, settings: &Settings, control: &Control<'_>) -> Result<Vec<u32>> {
    super::require_parts(settings.parts)?;
    let gamma = settings.gamma;
    if !(gamma > 1.0 && gamma <= 4.0) {
        return Err(Error::invalid(format!("gamma is {gamma}; it is above 1 and at most 4")));
    }
    let capacity = super::capacity(graph.vertices(), settings.parts, settings.slack)?;
    let (n, m) = (f64::from(graph.vertices().max(1)), graph.edges() as f64 / 2.0);
    let alpha = m * f64::from(settings.parts).powf(gamma - 1.0) / n.powf(gamma);
    let score = |near: u32, size: u32| {
        // The usual exponent has a root of its own, which is faster than a power.
        let size = f64::from(size);
        let cost = if gamma == 1.5 { size.sqrt() } else { size.powf(gamma - 1.0) };
        f64::from(near) - alpha * gamma * cost
    };
    super::stream::place(graph, (settings.parts, capacity, settings.max_iterations), score, control)
}

#[test]
fn fennel_keeps_groups_together() {
    let go = |max_iterations, gamma| {
        move |graph: &Csr, parts: u32, control: &Control<'_>| {
            let settings = Settings { parts, max_iterations, gamma, ..Settings::default() };
            fennel(graph, &settings, control)
        }
    };
    super::tests::check(go(1, 1.5), 0.6, 1.11);
    super::tests::check(go(8, 1.5), 0.35, 1.11);
    super::tests::check(go(8, 2.0), 0.5, 1.11);
    let graph = Csr::from_edges(1, &[]);
    for gamma in [1.0, 5.0, f64::NAN] {
        let settings = Settings { gamma, ..Settings::default() };
        assert!(fennel(&graph, &settings, &Control::default()).is_err());
    }
}
