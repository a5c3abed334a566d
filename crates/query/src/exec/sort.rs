//! `ORDER BY`, `SKIP` and `LIMIT`.

use std::cmp::Ordering;
use std::sync::Arc;

use telar_graph::Value;

use super::parallel::Input;
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
    input: Input<'p>,
    order: Order<'p>,
    sorted: Option<(Batch, Vec<u32>, usize)>,
}

/// Which rows come first.
#[derive(Clone, Copy)]
struct Order<'p>(&'p plan::Sort);

/// Rows that may be in the result, in the order they came in, and their keys.
struct Kept {
    batches: Vec<Batch>,
    keys: Vec<Vec<Value>>,
    rows: usize,
    held: usize,
    /// With a limit: the keys of the last row that would be in the result by now. What comes after
    /// it, or later with the same keys, cannot be.
    last: Option<Vec<Value>>,
}

impl Order<'_> {
    fn compare(&self, keys: &[Vec<Value>], a: usize, b: usize) -> Ordering {
        let of = |(key, (_, descending)): (&Vec<Value>, &(Expr, bool))| {
            let ordering = key[a].cmp(&key[b]);
            if *descending { ordering.reverse() } else { ordering }
        };
        keys.iter().zip(&self.0.keys).map(of).find(|o| o.is_ne()).unwrap_or(Ordering::Equal)
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
        let mut orders = columns.iter().zip(last).zip(&self.0.keys).map(of);
        orders.find(|o| o.is_ne()) == Some(Ordering::Less)
    }

    /// Rows that the first key does not put behind `last`.
    fn perhaps_before(&self, column: &Column, last: &Value) -> Vec<u32> {
        let rows = 0..column.len() as u32;
        match (column, last) {
            // PERF: `telar bench cypher`, the first of many: most rows go here.
            (Column::Ints(ints), Value::Int(last)) => {
                let descending = self.0.keys[0].1;
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
}

impl Kept {
    fn new(keys: usize) -> Self {
        let keys = vec![Vec::new(); keys];
        Self { batches: Vec::new(), keys, rows: 0, held: 0, last: None }
    }

    /// Takes rows, of which those are kept that may be among the first `top`.
    fn take(
        &mut self,
        mut batch: Batch,
        order: Order<'_>,
        top: usize,
        cx: &mut Exec<'_>,
    ) -> Result<(), QueryError> {
        cx.check()?;
        let mut columns = Vec::with_capacity(self.keys.len());
        for (expr, _) in &order.0.keys {
            columns.push(eval(expr, &batch, cx)?);
        }
        if let Some(last) = &self.last {
            let mut kept = order.perhaps_before(&columns[0], &last[0]);
            kept.retain(|row| order.before(&columns, *row as usize, last));
            if kept.is_empty() {
                return Ok(());
            }
            if kept.len() < batch.rows() {
                batch = batch.gather(&kept);
                columns = columns.iter().map(|c| Arc::new(c.gather(&kept))).collect();
            }
        }
        for (column, values) in self.keys.iter_mut().zip(&columns) {
            column.extend((0..batch.rows()).map(|row| values.get(row)));
        }
        self.rows += batch.rows();
        self.held += batch.bytes();
        cx.hold(batch.bytes())?;
        self.batches.push(batch);
        self.leave(order, top, cx)
    }

    /// Takes what others kept of rows that came after these.
    fn merge(
        &mut self,
        other: Self,
        order: Order<'_>,
        top: usize,
        cx: &mut Exec<'_>,
    ) -> Result<(), QueryError> {
        self.batches.extend(other.batches);
        for (column, values) in self.keys.iter_mut().zip(other.keys) {
            column.extend(values);
        }
        self.rows += other.rows;
        self.held += other.held;
        self.leave(order, top, cx)
    }

    /// Leaves only the first rows, if there are many more.
    fn leave(&mut self, order: Order<'_>, top: usize, cx: &mut Exec<'_>) -> Result<(), QueryError> {
        if self.rows <= top.saturating_mul(2).saturating_add(BATCH_ROWS) {
            return Ok(());
        }
        let mut best = order.order(&self.keys, self.rows, top);
        let keys_of = |r: &u32| self.keys.iter().map(|k| k[*r as usize].clone()).collect();
        self.last = best.last().map(keys_of);
        best.sort_unstable();
        let kept = Batch::concat(std::mem::take(&mut self.batches)).gather(&best);
        for column in &mut self.keys {
            *column = best.iter().map(|r| column[*r as usize].clone()).collect();
        }
        self.rows = kept.rows();
        cx.release(self.held);
        self.held = kept.bytes();
        self.batches.push(kept);
        cx.hold(self.held)
    }
}

impl<'p> Sort<'p> {
    pub(crate) fn new(input: Input<'p>, plan: &'p plan::Sort) -> Self {
        Self { input, order: Order(plan), sorted: None }
    }

    fn read(&mut self, cx: &mut Exec<'_>) -> Result<(Batch, Vec<u32>), QueryError> {
        let order = self.order;
        let top = match &order.0.top {
            Some(top) => count(top, "LIMIT", cx)?,
            None => usize::MAX,
        };
        let new = || Kept::new(order.0.keys.len());
        let take = |kept: &mut Kept, rows, cx: &mut Exec<'_>| kept.take(rows, order, top, cx);
        let mut merge = |all: &mut Kept, other, cx: &mut Exec<'_>| all.merge(other, order, top, cx);
        let all = self.input.fold(&new, &take, &mut merge, cx)?;
        let sorted = order.order(&all.keys, all.rows, top);
        cx.release(all.held);
        Ok((Batch::concat(all.batches), sorted))
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
