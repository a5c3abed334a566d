//! Spectral ordering: vertices sorted by the Fiedler vector.
//!
//! Result: the new position of each vertex; see [`fiedler`](super::fiedler) for method, cost,
//! memory and source.

pub use super::fiedler::{Settings, bytes};
use crate::control::{Control, Result};
use crate::csr::Csr;

/// New position of each vertex by the Fiedler vector.
pub fn spectral(graph: &Csr, settings: &Settings, control: &Control<'_>) -> Result<Vec<u32>> {
    Ok(super::positions(&super::fiedler::order(graph, settings, control)?))
}

#[test]
fn spectral_order_brings_neighbours_near() {
    super::tests::check(|graph, control| spectral(graph, &Settings::default(), control), Some(6.0));
    let graph = Csr::from_edges(1, &[]);
    for settings in [
        Settings { max_iterations: 0, ..Settings::default() },
        Settings { tolerance: -1.0, ..Settings::default() },
    ] {
        assert!(spectral(&graph, &settings, &Control::default()).is_err());
    }
}
