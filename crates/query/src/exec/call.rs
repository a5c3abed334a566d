//! `CALL procedure(...) YIELD ...`

use telar_graph::Value;

use super::memory::Held;
use super::{Exec, Operator, Source};
use crate::batch::{Batch, Column, heap_bytes_of};
use crate::expr::eval::eval;
use crate::plan;
use crate::query_error::QueryError;

pub(crate) struct Call<'p> {
    input: Source<'p>,
    plan: &'p plan::Call,
}

impl<'p> Call<'p> {
    pub(crate) fn new(input: Source<'p>, plan: &'p plan::Call) -> Self {
        Self { input, plan }
    }
}

impl Operator for Call<'_> {
    fn next(&mut self, cx: &mut Exec<'_>) -> Result<Option<Batch>, QueryError> {
        while let Some(rows) = self.input.next(cx)? {
            let (name, procedure) = (&self.plan.name, &self.plan.procedure.0);
            let mut columns = Vec::new();
            for argument in &self.plan.arguments {
                columns.push(eval(argument, &rows, cx)?);
            }
            let mut held = Held::of("ProcedureCall");
            let mut numbers = Vec::new();
            let mut found: Vec<Vec<Value>> = vec![Vec::new(); self.plan.yields.len()];
            for row in 0..rows.rows() {
                cx.check_now()?;
                let mut arguments: Vec<Value> = columns.iter().map(|c| c.get(row)).collect();
                for (field, argument) in procedure.arguments().iter().zip(&mut arguments) {
                    field.coerce(argument).map_err(|()| {
                        let what = format!("argument {} of {name}", field.name);
                        QueryError::wrong_type(&field.of.to_string(), argument, &what)
                    })?;
                }
                let mut results = cx.call(&**procedure, &arguments)?;
                let bytes = |row: &Vec<Value>| {
                    size_of::<Vec<Value>>() + size_of_val(&**row) + heap_bytes_of(row)
                };
                held.grow(results.iter().map(bytes).sum(), cx)?;
                if results.is_empty() && self.plan.optional {
                    results.push(vec![Value::Null; procedure.columns().len()]);
                }
                // A procedure without columns is run for what it does: the row goes on.
                if procedure.columns().is_empty() {
                    results = vec![Vec::new()];
                }
                for result in results {
                    numbers.push(row as u32);
                    for (column, (at, _)) in found.iter_mut().zip(&self.plan.yields) {
                        column.push(result[*at].clone());
                    }
                }
            }
            if !numbers.is_empty() {
                let mut out = rows.gather(&numbers);
                for ((_, slot), column) in self.plan.yields.iter().zip(found) {
                    out.set(*slot, Column::of(column));
                }
                return Ok(Some(out));
            }
        }
        Ok(None)
    }
}
