//! What an operator reads that takes only some rows of a batch at a time.

use super::{Exec, Source};
use crate::batch::Batch;
use crate::query_error::QueryError;

/// Rows of an input, batch by batch, each until nothing of it is left.
pub(super) struct Feed<'p> {
    input: Source<'p>,
    /// A batch, and which of its rows comes next.
    rest: Option<(Batch, usize)>,
}

impl<'p> Feed<'p> {
    pub(super) fn new(input: Source<'p>) -> Self {
        Self { input, rest: None }
    }

    /// The rows that come next: a batch, from one of its rows on. `None` at the end.
    pub(super) fn next(&mut self, cx: &mut Exec<'_>) -> Result<Option<(Batch, usize)>, QueryError> {
        cx.check()?;
        match self.rest.take() {
            Some(rest) => Ok(Some(rest)),
            None => Ok(self.input.next(cx)?.map(|rows| (rows, 0))),
        }
    }

    /// Rows come next from this one of the batch on, if it has it.
    pub(super) fn keep(&mut self, rows: Batch, from: usize) {
        self.rest = (from < rows.rows()).then_some((rows, from));
    }
}
