//! `ORDER BY`, `SKIP` and `LIMIT`.

use std::cmp::Ordering;
use std::sync::Arc;

use telar_graph::Value;

use super::{Exec, Operator, Source};
use crate::batch::{BATCH_ROWS, Batch, Column};
use crate::expr::Expr;
use crate::expr::eval::eval;
use crate::plan;
use crate::query_error::{ErrorKind, QueryError};

/// The value of `SKIP` or `LIMIT`: an integer that is not negative.
fn count(expr: &Expr, what: &str, cx: &mut Exec<'_>) -> Result<usize, QueryError> {
    let value = eval(expr, &Batch::empty(1), cx)?.get(0);
    match value {
        Value::Int(n) if n >= 0 => Ok(usize::try_from(n).unwrap_or(usize::MAX)),
        Value::Int(n) => Err(QueryError::runtime(
            ErrorKind::Syntax,
            "NegativeIntegerArgument",
            format!("{what} {n} is negative; it must be an integer of 0 or more"),
        )),
        other => Err(QueryError::runtime(
            ErrorKind::Syntax,
            "InvalidArgumentType",
            format!("{what} needs an integer of 0 or more, found {}", other.type_name()),
        )),
    }
}

/// All rows in order; with `top`, only the first so many are kept while they come in.
pub(crate) struct Sort<'p> {
    input: Source<'p>,
    plan: &'p plan::Sort,
    sorted: Option<(Batch, Vec<u32>, usize)>,
}

impl<'p> Sort<'p> {
    pub(crate) fn new(input: Source<'p>, plan: &'p plan::Sort) -> Self {
        Self { input, plan, sorted: None }
    }

    fn compare(&self, keys: &[Vec<Value>], a: usize, b: usize) -> Ordering {
        let of = |(key, (_, descending)): (&Vec<Value>, &(Expr, bool))| {
            let ordering = key[a].cmp(&key[b]);
            if *descending { ordering.reverse() } else { ordering }
        };
        keys.iter().zip(&self.plan.keys).map(of).find(|o| o.is_ne()).unwrap_or(Ordering::Equal)
    }

    /// Whether a row comes before one with the keys `last`.
    fn before(&self, columns: &[Arc<Column>], row: usize, last: &[Value]) -> bool {
        let of = |((column, last), (_, descending)): ((&Arc<Column>, &Value), &(Expr, bool))| {
            let ordering = match (&**column, last) {
                (Column::Ints(ints), Value::Int(last)) => ints[row].cmp(last),
                _ => column.get(row).cmp(last),
            };
            if *descending { ordering.reverse() } else { ordering }
        };
        let mut orders = columns.iter().zip(last).zip(&self.plan.keys).map(of);
        orders.find(|o| o.is_ne()) == Some(Ordering::Less)
    }

    /// Rows that the first key does not put behind `last`.
    fn perhaps_before(&self, column: &Column, last: &Value) -> Vec<u32> {
        let rows = 0..column.len() as u32;
        match (column, last) {
            // PERF: `telar bench cypher`, the first of many: most rows go here.
            (Column::Ints(ints), Value::Int(last)) => {
                let descending = self.plan.keys[0].1;
                let may = |int: i64| if descending { int >= *last } else { int <= *last };
                rows.filter(|row| may(ints[*row as usize])).collect()
            }
            _ => rows.collect(),
        }
    }

    /// The order of rows with these keys, the first `top` of them.
    fn order(&self, keys: &[Vec<Value>], rows: usize, top: usize) -> Vec<u32> {
        let mut order: Vec<u32> = (0..rows as u32).collect();
        // Rows with equal keys stay in the order they came in.
        let compare =
            |a: &u32, b: &u32| self.compare(keys, *a as usize, *b as usize).then_with(|| a.cmp(b));
        if top < rows {
            if top > 0 {
                order.select_nth_unstable_by(top - 1, compare);
            }
            order.truncate(top);
        }
        order.sort_unstable_by(compare);
        order
    }

    fn read(&mut self, cx: &mut Exec<'_>) -> Result<(Batch, Vec<u32>), QueryError> {
        let top = match &self.plan.top {
            Some(top) => count(top, "LIMIT", cx)?,
            None => usize::MAX,
        };
        let mut batches: Vec<Batch> = Vec::new();
        let mut keys: Vec<Vec<Value>> = vec![Vec::new(); self.plan.keys.len()];
        let (mut rows, mut held) = (0, 0);
        // With a limit: the keys of the last row that would be in the result by now. What comes
        // after it, or later with the same keys, cannot be.
        let mut last: Option<Vec<Value>> = None;
        while let Some(mut batch) = self.input.next(cx)? {
            cx.check()?;
            let mut columns = Vec::with_capacity(keys.len());
            for (expr, _) in &self.plan.keys {
                columns.push(eval(expr, &batch, cx)?);
            }
            if let Some(last) = &last {
                let mut kept = self.perhaps_before(&columns[0], &last[0]);
                kept.retain(|row| self.before(&columns, *row as usize, last));
                if kept.is_empty() {
                    continue;
                }
                if kept.len() < batch.rows() {
                    batch = batch.gather(&kept);
                    columns = columns.iter().map(|c| Arc::new(c.gather(&kept))).collect();
                }
            }
            for (column, values) in keys.iter_mut().zip(&columns) {
                column.extend((0..batch.rows()).map(|row| values.get(row)));
            }
            rows += batch.rows();
            held += batch.bytes();
            cx.hold(batch.bytes())?;
            batches.push(batch);
            if rows > top.saturating_mul(2).saturating_add(BATCH_ROWS) {
                let mut best = self.order(&keys, rows, top);
                last = best.last().map(|r| keys.iter().map(|k| k[*r as usize].clone()).collect());
                best.sort_unstable();
                let kept = Batch::concat(std::mem::take(&mut batches)).gather(&best);
                for column in &mut keys {
                    *column = best.iter().map(|r| column[*r as usize].clone()).collect();
                }
                rows = kept.rows();
                cx.release(held);
                held = kept.bytes();
                cx.hold(held)?;
                batches.push(kept);
            }
        }
        let order = self.order(&keys, rows, top);
        cx.release(held);
        Ok((Batch::concat(batches), order))
    }
}

impl Operator for Sort<'_> {
    fn next(&mut self, cx: &mut Exec<'_>) -> Result<Option<Batch>, QueryError> {
        if self.sorted.is_none() {
            let (rows, order) = self.read(cx)?;
            self.sorted = Some((rows, order, 0));
        }
        let Some((rows, order, at)) = &mut self.sorted else { return Ok(None) };
        let end = order.len().min(*at + BATCH_ROWS);
        if *at == end {
            return Ok(None);
        }
        let batch = rows.gather(&order[*at..end]);
        *at = end;
        Ok(Some(batch))
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
