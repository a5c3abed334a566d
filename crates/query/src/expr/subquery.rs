//! Queries inside expressions: a plan run for the rows at hand.

use telar_graph::Value;

use super::{Subquery, SubqueryKind};
use crate::batch::{Batch, Column, heap_bytes};
use crate::exec::memory::Held;
use crate::exec::{Exec, for_each};
use crate::query_error::QueryError;

/// What becomes of each row: the plan begins with all rows at once if its operators keep rows
/// apart, else with one after the other.
pub(crate) fn run(
    subquery: &Subquery,
    batch: &Batch,
    cx: &mut Exec<'_>,
) -> Result<Column, QueryError> {
    let rows = batch.rows();
    // A search around it is none of its business.
    let search = cx.search.take();
    let mut found: Vec<Vec<Value>> = vec![Vec::new(); rows];
    let mut counts = vec![0_i64; rows];
    let mut held = Held::of("Subquery");
    let mut collect = |argument: Batch, base: usize, cx: &mut Exec<'_>| {
        for_each(&subquery.plan, &argument, cx, |out, cx| {
            let mut bytes = 0;
            let numbers = out.has(subquery.row).then(|| out.column(subquery.row));
            for at in 0..out.rows() {
                let row = match numbers.map(|numbers| numbers.get(at)) {
                    Some(Value::Int(row)) => row as usize,
                    _ => base,
                };
                counts[row] += 1;
                if let SubqueryKind::Collect(slot) | SubqueryKind::First(slot) = subquery.kind {
                    let value = out.column(slot).get(at);
                    bytes += size_of::<Value>() + heap_bytes(&value);
                    found[row].push(value);
                }
            }
            held.grow(bytes, cx)
        })
    };
    if subquery.plan.keeps_rows_apart() {
        let mut argument = batch.clone();
        argument.set(subquery.row, Column::numbers(rows));
        collect(argument, 0, cx)?;
    } else {
        for row in 0..rows {
            let mut argument = batch.slice(row, row + 1);
            argument.set(subquery.row, Column::Ints(vec![row as i64]));
            collect(argument, row, cx)?;
        }
    }
    cx.search = search;
    Ok(match subquery.kind {
        SubqueryKind::Exists => Column::Bools(counts.iter().map(|n| *n > 0).collect()),
        SubqueryKind::Count => Column::Ints(counts),
        SubqueryKind::Collect(_) => Column::Values(found.into_iter().map(Value::from).collect()),
        SubqueryKind::First(_) => {
            let first = |values: Vec<Value>| values.into_iter().next().unwrap_or_default();
            Column::of(found.into_iter().map(first).collect())
        }
    })
}
