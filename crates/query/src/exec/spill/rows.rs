//! A queue of batches, the first in memory and the others, if there are too many, in a file.

use std::collections::VecDeque;

use super::{Extent, SpillFile};
use crate::batch::Batch;
use crate::exec::Exec;
use crate::exec::memory::Held;
use crate::query_error::QueryError;

/// Rows that an operator keeps, in the order they came.
#[derive(Debug)]
pub(in crate::exec) struct Rows {
    held: Held,
    /// With the bytes of each.
    ready: VecDeque<(Batch, usize)>,
    spilled: Option<(SpillFile, VecDeque<Extent>)>,
}

impl Rows {
    /// None yet, of this operator.
    pub(in crate::exec) fn of(who: &'static str) -> Self {
        Self { held: Held::of(who), ready: VecDeque::new(), spilled: None }
    }

    pub(in crate::exec) fn push(
        &mut self,
        rows: Batch,
        cx: &mut Exec<'_>,
    ) -> Result<(), QueryError> {
        let bytes = rows.bytes();
        let spills = self.spilled.is_some()
            || self.held.exceeds(self.held.bytes() + bytes, cx) && cx.scratch().is_some();
        if !spills {
            self.held.grow(bytes, cx)?;
            self.ready.push_back((rows, bytes));
            return Ok(());
        }
        if self.spilled.is_none() {
            self.spilled = Some((SpillFile::new(self.held.who(), cx)?, VecDeque::new()));
        }
        if let Some((file, extents)) = &mut self.spilled {
            extents.push_back(file.write(&rows, cx)?);
        }
        Ok(())
    }

    /// The first of them, which are then no longer held.
    pub(in crate::exec) fn pop(&mut self, cx: &mut Exec<'_>) -> Result<Option<Batch>, QueryError> {
        if let Some((rows, bytes)) = self.ready.pop_front() {
            self.held.shrink(bytes);
            return Ok(Some(rows));
        }
        let Some((file, extents)) = &mut self.spilled else { return Ok(None) };
        match extents.pop_front() {
            Some(extent) => file.read(extent, cx).map(Some),
            None => {
                self.spilled = None;
                Ok(None)
            }
        }
    }

    /// All of them, where they are in memory still.
    pub(in crate::exec) fn take(&mut self) -> Option<Vec<Batch>> {
        if self.spilled.is_some() {
            return None;
        }
        self.held.clear();
        Some(self.ready.drain(..).map(|(rows, _)| rows).collect())
    }

    pub(in crate::exec) fn clear(&mut self) {
        self.held.clear();
        self.ready.clear();
        self.spilled = None;
    }
}
