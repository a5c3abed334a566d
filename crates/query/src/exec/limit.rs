//! `SKIP` and `LIMIT`.

use telar_graph::Value;

use super::{Exec, Operator, Source};
use crate::batch::Batch;
use crate::exec::eval::eval;
use crate::expr::Expr;
use crate::query_error::{ErrorKind, QueryError};

/// The value of `SKIP` or `LIMIT`: an integer that is not negative.
pub(super) fn count(expr: &Expr, what: &str, cx: &mut Exec<'_>) -> Result<usize, QueryError> {
    let value = eval(expr, &Batch::empty(1), cx)?.get(0);
    match value {
        Value::Int(n) if n >= 0 => Ok(usize::try_from(n).unwrap_or(usize::MAX)),
        Value::Int(n) => Err(QueryError::runtime(
            ErrorKind::Syntax,
            "NegativeIntegerArgument",
            format!("{what} {n} is negative; it must be an integer of 0 or more"),
        )),
        other => Err(QueryError::runtime(
            if other.is_null() { ErrorKind::Type } else { ErrorKind::Argument },
            "InvalidArgumentType",
            format!("{what} needs an integer of 0 or more, found {}", other.type_name()),
        )),
    }
}

/// Leaves out the first rows.
pub(crate) struct Skip<'p> {
    input: Source<'p>,
    count: &'p Expr,
    left: Option<usize>,
}

impl<'p> Skip<'p> {
    pub(crate) fn new(input: Source<'p>, count: &'p Expr) -> Self {
        Self { input, count, left: None }
    }
}

impl Operator for Skip<'_> {
    fn next(&mut self, cx: &mut Exec<'_>) -> Result<Option<Batch>, QueryError> {
        let mut left = match self.left {
            Some(left) => left,
            None => count(self.count, "SKIP", cx)?,
        };
        while let Some(batch) = self.input.next(cx)? {
            cx.check()?;
            let skipped = left.min(batch.rows());
            left -= skipped;
            self.left = Some(left);
            if skipped == 0 {
                return Ok(Some(batch));
            }
            if skipped < batch.rows() {
                return Ok(Some(batch.slice(skipped, batch.rows())));
            }
        }
        self.left = Some(left);
        Ok(None)
    }
}

/// Only the first rows.
pub(crate) struct Limit<'p> {
    input: Source<'p>,
    count: &'p Expr,
    left: Option<usize>,
    /// Rows that nobody wants are asked for once: what is below works when it is asked.
    works: bool,
}

impl<'p> Limit<'p> {
    pub(crate) fn new(input: Source<'p>, count: &'p Expr, works: bool) -> Self {
        Self { input, count, left: None, works }
    }
}

impl Operator for Limit<'_> {
    fn next(&mut self, cx: &mut Exec<'_>) -> Result<Option<Batch>, QueryError> {
        let left = match self.left {
            Some(left) => left,
            None => count(self.count, "LIMIT", cx)?,
        };
        let first = self.left.replace(left).is_none();
        if left == 0 {
            if first && self.works {
                self.input.next(cx)?;
            }
            return Ok(None);
        }
        let Some(batch) = self.input.next(cx)? else { return Ok(None) };
        let batch = if batch.rows() > left { batch.slice(0, left) } else { batch };
        self.left = Some(left - batch.rows());
        Ok(Some(batch))
    }
}
