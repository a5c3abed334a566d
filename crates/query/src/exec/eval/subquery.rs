//! Queries inside expressions: a plan run for the rows at hand.

use telar_graph::Value;
use telar_graph::value::heap_bytes;

use crate::batch::{Batch, Column};
use crate::exec::memory::Held;
use crate::exec::{Exec, Ramp, build};
use crate::expr::{Subquery, SubqueryKind};
use crate::query_error::QueryError;
use crate::watch::sizes;

/// What was found for each row.
struct Found {
    values: Vec<Vec<Value>>,
    counts: Vec<i64>,
    /// Rows of which more has to be known.
    open: usize,
}

impl Found {
    /// Takes rows of the plan; those that do not say which row they belong to belong to `base`. The
    /// bytes of what is kept of them.
    fn take(&mut self, subquery: &Subquery, out: &Batch, base: usize) -> usize {
        let mut bytes = 0;
        let numbers = out.has(subquery.row).then(|| &**out.column(subquery.row));
        if let (Some(numbers), SubqueryKind::Exists | SubqueryKind::Count) =
            (numbers.and_then(Column::ints), subquery.kind)
        {
            // PERF: bench/compare/lsqb.py --only q8,q9: a pattern that must not be there.
            for row in numbers {
                let count = &mut self.counts[*row as usize];
                self.open -= usize::from(*count == 0);
                *count += 1;
            }
            return bytes;
        }
        for at in 0..out.rows() {
            let row = match numbers.map(|numbers| numbers.get(at)) {
                Some(Value::Int(row)) => row as usize,
                _ => base,
            };
            self.open -= usize::from(self.counts[row] == 0);
            self.counts[row] += match subquery.kind {
                SubqueryKind::Sum(slot) => match out.column(slot).get(at) {
                    Value::Int(count) => count,
                    _ => 0,
                },
                _ => 1,
            };
            if let SubqueryKind::Collect(slot) | SubqueryKind::First(slot) = subquery.kind {
                let value = out.column(slot).get(at);
                bytes += size_of::<Value>() + heap_bytes(&value);
                self.values[row].push(value);
            }
        }
        bytes
    }
}

/// What becomes of each row: the plan begins with all rows at once if its operators keep rows
/// apart, else with one after the other. Where one row is enough it ends when each row has one.
pub(crate) fn run(
    subquery: &Subquery,
    batch: &Batch,
    cx: &mut Exec<'_>,
) -> Result<Column, QueryError> {
    let rows = batch.rows();
    // A search around it is none of its business.
    let search = cx.search.take();
    let mut found = Found { values: vec![Vec::new(); rows], counts: vec![0; rows], open: rows };
    let one_is_enough = matches!(subquery.kind, SubqueryKind::Exists | SubqueryKind::First(_));
    let ramp = if one_is_enough { Ramp::FEW } else { Ramp::FULL };
    let mut held = Held::of("Subquery");
    let mut collect = |argument: Batch, base: usize, left: usize, cx: &mut Exec<'_>| {
        let mut operator = build(&subquery.plan, &argument, ramp, cx);
        while let Some(out) = operator.next(cx)? {
            held.grow(found.take(subquery, &out, base), cx)?;
            if one_is_enough && found.open <= left {
                break;
            }
        }
        Ok::<(), QueryError>(())
    };
    if subquery.plan.keeps_rows_apart() {
        let mut argument = batch.clone();
        argument.set(subquery.row, Column::numbers(rows));
        collect(argument, 0, 0, cx)?;
    } else {
        for row in 0..rows {
            let mut argument = batch.slice(row, row + 1);
            argument.set(subquery.row, Column::from(vec![row as i64]));
            collect(argument, row, usize::MAX, cx)?;
        }
    }
    cx.search = search;
    let Found { values, counts, .. } = found;
    Ok(match subquery.kind {
        SubqueryKind::Exists => Column::from(counts.iter().map(|n| *n > 0).collect::<Vec<_>>()),
        SubqueryKind::Count | SubqueryKind::Sum(_) => Column::from(counts),
        SubqueryKind::Collect(_) => {
            let lists: Vec<Value> = values.into_iter().map(Value::from).collect();
            lists.iter().try_for_each(sizes::check_value)?;
            Column::Values(lists)
        }
        SubqueryKind::First(_) => {
            let first = |values: Vec<Value>| values.into_iter().next().unwrap_or_default();
            Column::of(values.into_iter().map(first).collect())
        }
    })
}
