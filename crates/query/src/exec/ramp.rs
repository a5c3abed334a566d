//! How many rows an operator makes at once.
//!
//! Under a `LIMIT` few rows may be enough, and what makes more has worked for nothing. So what
//! finds rows begins with few there, and makes four times as many each time: of all rows it makes,
//! most are made in full batches, and a limit of one is reached after sixteen. An operator that
//! reads all of its input has no use for it, nor has anything below.

use crate::batch::BATCH_ROWS;

/// The rows that an operator makes next, about.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Ramp(usize);

impl Ramp {
    /// Full batches from the start.
    pub(crate) const FULL: Self = Self(BATCH_ROWS);
    /// Few rows at first.
    pub(crate) const FEW: Self = Self(16);

    pub(super) fn is_full(self) -> bool {
        self.0 >= BATCH_ROWS
    }

    pub(super) fn rows(self) -> usize {
        self.0
    }

    /// The rows to make now; more are made next.
    pub(super) fn step(&mut self) -> usize {
        let rows = self.0;
        self.0 = (4 * rows).min(BATCH_ROWS);
        rows
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn few_rows_become_full_batches() {
        let (mut few, mut full) = (Ramp::FEW, Ramp::FULL);
        let steps: Vec<usize> = (0..5).map(|_| few.step()).collect();
        assert_eq!(steps, [16, 64, 256, BATCH_ROWS, BATCH_ROWS]);
        assert_eq!((full.step(), full.step()), (BATCH_ROWS, BATCH_ROWS));
        assert!(few.is_full() && !Ramp::FEW.is_full());
    }
}
