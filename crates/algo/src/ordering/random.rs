//! Random ordering: the baseline to which others are compared.
//!
//! Result: the new position of each vertex, all permutations being as likely.
//!
//! Cost: O(n). *Memory*: 4 bytes per vertex.
//!
//! Source: Fisher and Yates, 1938; Durstenfeld, "Algorithm 235", 1964.

use crate::control::{Control, Result};
use crate::csr::Csr;
use crate::random::Random;

/// Settings of [`random`].
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Settings {
    /// Seed of the permutation; 0 by default.
    pub seed: u64,
}

/// Upper estimate of memory in bytes beyond the graph.
#[must_use]
pub fn bytes(n: u64, _: u64) -> u64 {
    4 * n
}

/// New position of each vertex by chance.
pub fn random(graph: &Csr, settings: &Settings, control: &Control<'_>) -> Result<Vec<u32>> {
    let mut order: Vec<u32> = (0..graph.vertices()).collect();
    let mut random = Random::new(settings.seed, 0);
    for at in (1..order.len()).rev() {
        if at & 0xffff == 0 || at + 1 == order.len() {
            control.check()?;
        }
        order.swap(at, random.below(at as u32 + 1) as usize);
    }
    Ok(order)
}

#[test]
fn random_orders_differ_by_seed() {
    super::tests::check(|graph, control| random(graph, &Settings { seed: 5 }, control), None);
    let graph = Csr::from_edges(50, &[]);
    let go = |seed| random(&graph, &Settings { seed }, &Control::default()).unwrap();
    assert_ne!(go(1), go(2));
}
