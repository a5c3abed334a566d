//! Operators that change rows one by one: filter, new columns, fewer columns; and the barrier.

use super::growth::Growth;
use super::spill::Rows;
use super::{Exec, Operator, Source};
use crate::batch::{Batch, Slot};
use crate::exec::eval::{self, eval};
use crate::expr::Expr;
use crate::query_error::QueryError;

/// The rows for which a condition is true.
pub(crate) struct Filter<'p> {
    input: Source<'p>,
    condition: &'p Expr,
}

impl<'p> Filter<'p> {
    pub(crate) fn new(input: Source<'p>, condition: &'p Expr) -> Self {
        Self { input, condition }
    }
}

impl Operator for Filter<'_> {
    fn next(&mut self, cx: &mut Exec<'_>) -> Result<Option<Batch>, QueryError> {
        while let Some(batch) = self.input.next(cx)? {
            cx.check()?;
            let condition = eval::condition(self.condition, &batch, cx)?;
            let kept = batch.filter(&condition);
            if kept.rows() > 0 {
                return Ok(Some(kept));
            }
        }
        Ok(None)
    }
}

/// Adds columns, each seeing those before it.
pub(crate) struct Extend<'p> {
    input: Source<'p>,
    items: &'p [(Slot, Expr)],
}

impl<'p> Extend<'p> {
    pub(crate) fn new(input: Source<'p>, items: &'p [(Slot, Expr)]) -> Self {
        Self { input, items }
    }
}

impl Operator for Extend<'_> {
    fn next(&mut self, cx: &mut Exec<'_>) -> Result<Option<Batch>, QueryError> {
        let Some(mut batch) = self.input.next(cx)? else { return Ok(None) };
        cx.check()?;
        let mut growth = Growth::of("Projection");
        for (slot, expr) in self.items {
            let packed = cx.packed.as_ref().is_some_and(|slots| slots.contains(slot));
            let column = match packed {
                true => eval::packed(expr, &batch, cx)?,
                false => eval(expr, &batch, cx)?,
            };
            batch.set(*slot, column);
            growth.look(cx)?;
        }
        Ok(Some(batch))
    }
}

/// Leaves only some columns.
pub(crate) struct Keep<'p> {
    input: Source<'p>,
    slots: &'p [Slot],
}

impl<'p> Keep<'p> {
    pub(crate) fn new(input: Source<'p>, slots: &'p [Slot]) -> Self {
        Self { input, slots }
    }
}

impl Operator for Keep<'_> {
    fn next(&mut self, cx: &mut Exec<'_>) -> Result<Option<Batch>, QueryError> {
        Ok(self.input.next(cx)?.map(|batch| batch.keep(self.slots)))
    }
}

/// Drops columns that nobody reads any more.
pub(crate) struct Prune<'p> {
    input: Source<'p>,
    slots: &'p [Slot],
}

impl<'p> Prune<'p> {
    pub(crate) fn new(input: Source<'p>, slots: &'p [Slot]) -> Self {
        Self { input, slots }
    }
}

impl Operator for Prune<'_> {
    fn next(&mut self, cx: &mut Exec<'_>) -> Result<Option<Batch>, QueryError> {
        Ok(self.input.next(cx)?.map(|mut batch| {
            batch.retain(self.slots);
            batch
        }))
    }
}

/// Reads everything before it hands on the first row, so that what comes after cannot change what
/// came before.
pub(crate) struct Eager<'p> {
    input: Source<'p>,
    rows: Rows,
    read: bool,
}

impl<'p> Eager<'p> {
    pub(crate) fn new(input: Source<'p>) -> Self {
        Self { input, rows: Rows::of("Eager"), read: false }
    }
}

impl Operator for Eager<'_> {
    fn next(&mut self, cx: &mut Exec<'_>) -> Result<Option<Batch>, QueryError> {
        if !self.read {
            while let Some(batch) = self.input.next(cx)? {
                cx.check()?;
                self.rows.push(batch, cx)?;
            }
            self.read = true;
        }
        self.rows.pop(cx)
    }
}
