//! Degrees that follow a changing graph.
//!
//! Result: the number of edges in the out-list of each vertex, as
//! [`degree`](crate::centrality::degree) counts them without weights: parallel edges count each, a
//! loop once per list that it stands in.
//!
//! Method: the lists of the first vertex of each touched pair are counted again.
//!
//! Cost: the lists of the touched vertices. *Memory*: 4 bytes per vertex.

use super::{BLOCK, Lists, Side, Touched, distinct};
use crate::control::{Control, Result};

/// Degrees of a changing graph.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LiveDegrees {
    /// Number of edges of each vertex; 0 for numbers that are not in use.
    pub counts: Vec<u32>,
}

/// Upper estimate of the bytes held for `n` vertices.
#[must_use]
pub fn bytes(n: u64) -> u64 {
    4 * n
}

impl LiveDegrees {
    /// Degrees that were counted already.
    #[must_use]
    pub fn new(counts: Vec<u32>) -> Self {
        Self { counts }
    }

    /// Brings the degrees to the state after the changes.
    ///
    /// # Errors
    /// [`Error::Stopped`](crate::control::Error::Stopped): the degrees are between two states.
    pub fn update(
        &mut self,
        touched: &Touched<'_>,
        lists: &dyn Lists,
        control: &Control<'_>,
    ) -> Result<()> {
        self.counts.resize(touched.n as usize, 0);
        let sources = distinct(touched.pairs.iter().map(|pair| pair.0));
        for block in sources.chunks(BLOCK) {
            control.check()?;
            block.iter().for_each(|v| self.counts[*v as usize] = 0);
            let counts = &mut self.counts;
            lists.visit(block, Side::Out, &mut |place, run| {
                counts[block[place] as usize] += run.len() as u32;
            })?;
        }
        touched.went.iter().for_each(|v| self.counts[*v as usize] = 0);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::super::changing::Changing;
    use super::*;
    use crate::centrality::degree;
    use crate::csr::Csr;

    #[test]
    fn degrees_after_random_changes_equal_counting_anew() {
        for seed in 0..40 {
            let mut graph = Changing::new(seed, 20);
            let mut live = LiveDegrees::default();
            for _ in 0..30 {
                let batch = graph.change(6);
                let csr = Csr::from_edges(graph.n(), graph.edges());
                let reversed = csr.reversed();
                live.update(&batch.touched(), &(&csr, &reversed), &Control::default()).unwrap();
                let expected = degree::degree(&csr, None, &Control::default()).unwrap();
                let found: Vec<u64> = live.counts.iter().map(|c| u64::from(*c)).collect();
                assert_eq!(found, expected.counts, "seed {seed}");
            }
        }
    }
}
