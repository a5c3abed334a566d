//! Spectral bisection, repeated until there are as many parts as wanted.
//!
//! Result: a part per vertex; sizes differ by at most 1.
//!
//! Method: the vertices are ordered by the Fiedler vector
//! ([`ordering::fiedler`](crate::ordering::fiedler)), component by component, and cut where the
//! sizes ask for it; each side is then ordered and cut by itself.
//!
//! Cost: O(iterations m log parts). *Memory*: about 330 bytes per vertex and 16 per edge.
//!
//! Source: Pothen, Simon and Liou, "Partitioning sparse matrices with eigenvectors of graphs",
//! 1990; Fiedler, "Algebraic connectivity of graphs", 1973.

use crate::control::{Control, Result};
use crate::csr::Csr;
use crate::ordering::fiedler;

/// Settings of [`spectral`].
#[derive(Debug, Clone, PartialEq)]
pub struct Settings {
    /// Number of parts; 1 to [`PARTS_MAX`](super::PARTS_MAX).
    pub parts: u32,
    /// Products of the graph with a vector per cut; at least 1.
    pub max_iterations: u32,
    /// Residual of the eigenvector at which a cut is good enough.
    pub tolerance: f64,
    /// Seed of the vectors to start from.
    pub seed: u64,
}

impl Default for Settings {
    /// 2 parts, 300 products, tolerance 1e-4, seed 0.
    fn default() -> Self {
        Self { parts: 2, max_iterations: 300, tolerance: 1e-4, seed: 0 }
    }
}

/// Upper estimate of memory in bytes beyond the graph.
#[must_use]
pub fn bytes(n: u64, m: u64) -> u64 {
    fiedler::bytes(n, m) + 8 * m + 40 * n
}

/// Part of each vertex by repeated spectral bisection.
pub fn spectral(graph: &Csr, settings: &Settings, control: &Control<'_>) -> Result<Vec<u32>> {
    super::require_parts(settings.parts)?;
    let n = graph.vertices();
    let by = fiedler::Settings {
        max_iterations: settings.max_iterations,
        tolerance: settings.tolerance,
        seed: settings.seed,
    };
    by.require()?;
    let mut of = vec![0; n as usize];
    let mut local = vec![u32::MAX; n as usize];
    let mut done = 0;
    // Vertices, first part and number of parts of what is still to be cut.
    let mut open = vec![((0..n).collect::<Vec<u32>>(), 0, settings.parts)];
    while let Some((vertices, first, parts)) = open.pop() {
        control.check()?;
        if parts == 1 || vertices.is_empty() {
            vertices.iter().for_each(|v| of[*v as usize] = first);
            done += parts;
            control.report(u64::from(done), u64::from(settings.parts));
            continue;
        }
        let part = fiedler::induced(graph, &vertices, &mut local, control)?;
        let order = fiedler::order(&part, &by, control)?;
        let sorted: Vec<u32> = order.iter().map(|v| vertices[*v as usize]).collect();
        let half = parts / 2;
        let cut = (sorted.len() as u64 * u64::from(half) / u64::from(parts)) as usize;
        open.push((sorted[cut..].to_vec(), first + half, parts - half));
        open.push((sorted[..cut].to_vec(), first, half));
    }
    Ok(of)
}

#[test]
fn spectral_bisection_finds_the_groups() {
    let go = |graph: &Csr, parts: u32, control: &Control<'_>| {
        spectral(graph, &Settings { parts, ..Settings::default() }, control)
    };
    super::tests::check(go, 0.2, 1.01);
    let graph = Csr::from_edges(3, &[(0, 1)]).undirected();
    for settings in [
        Settings { max_iterations: 0, ..Settings::default() },
        Settings { tolerance: f64::NAN, ..Settings::default() },
    ] {
        assert!(spectral(&graph, &settings, &Control::default()).is_err());
    }
}
