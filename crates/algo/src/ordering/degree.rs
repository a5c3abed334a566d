//! Degree ordering: vertices with many neighbours first, so that the ones which are read most share
//! few cache lines.
//!
//! Result: the new position of each vertex; of equal degree the smaller number is first.
//!
//! Cost: O(n log n). *Memory*: 8 bytes per vertex.
//!
//! Source: Zhang et al., "Making caches work for graph analytics", 2017 (frequency-based
//! clustering, of which this is the simple form).

use rayon::prelude::*;

use crate::control::{Control, Result};
use crate::csr::Csr;

/// Upper estimate of memory in bytes beyond the graph.
#[must_use]
pub fn bytes(n: u64, _: u64) -> u64 {
    8 * n
}

/// New position of each vertex by descending degree.
pub fn degree(graph: &Csr, control: &Control<'_>) -> Result<Vec<u32>> {
    control.check()?;
    let mut order: Vec<u32> = (0..graph.vertices()).collect();
    let key = |v: &u32| (std::cmp::Reverse(graph.of(*v).len()), *v);
    control.install(|| order.par_sort_unstable_by_key(key));
    control.check()?;
    Ok(super::positions(&order))
}

#[test]
fn degrees_descend() {
    super::tests::check(degree, None);
    let graph = Csr::from_edges(4, &[(1, 0), (3, 0), (3, 1), (2, 2)]);
    assert_eq!(degree(&graph, &Control::default()).unwrap(), [3, 1, 2, 0]);
}
