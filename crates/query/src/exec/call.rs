//! `CALL procedure(...) YIELD ...`

use std::sync::Arc;

use telar_graph::Value;

use super::memory::Held;
use super::{Exec, Operator, Source};
use crate::batch::{BATCH_ROWS, Batch, Column};
use crate::exec::eval::eval;
use crate::plan;
use crate::procedure::{CallContext, Chunk, RowBatch, RowSource};
use crate::query_error::{ErrorKind, QueryError};

/// Calls for the rows of one batch.
struct Calls {
    rows: Batch,
    arguments: Vec<Arc<Column>>,
    /// The row that is called for next.
    next: usize,
    /// The call of the row before that, as long as it has more rows, and true if it had some.
    source: Option<(Box<dyn RowSource>, bool)>,
}

/// Rows that were found, beside the rows that they belong to.
#[derive(Default)]
struct Found {
    numbers: Vec<u32>,
    batches: Vec<RowBatch>,
    bytes: usize,
}

impl Found {
    fn add(&mut self, row: usize, batch: RowBatch) {
        self.numbers.extend(std::iter::repeat_n(row as u32, batch.rows));
        self.bytes += batch.bytes();
        self.batches.push(batch);
    }

    /// The values of one of the procedure's columns.
    fn column(&mut self, at: usize) -> Column {
        let mut all = Column::default();
        for batch in &mut self.batches {
            let taken = std::mem::take(&mut batch.columns[at]);
            if all.is_empty() { all = taken } else { all.append(&taken) }
        }
        all
    }
}

pub(crate) struct Call<'p> {
    input: Source<'p>,
    plan: &'p plan::Call,
    calls: Option<Calls>,
    held: Held,
}

impl<'p> Call<'p> {
    pub(crate) fn new(input: Source<'p>, plan: &'p plan::Call) -> Self {
        Self { input, plan, calls: None, held: Held::of("ProcedureCall") }
    }

    fn begin(&self, calls: &Calls, cx: &mut Exec<'_>) -> Result<Box<dyn RowSource>, QueryError> {
        let (name, procedure) = (&self.plan.name, &self.plan.procedure.0);
        let values = calls.arguments.iter().map(|column| column.get(calls.next));
        let mut arguments: Vec<Value> = values.collect();
        for (field, argument) in procedure.arguments().iter().zip(&mut arguments) {
            field.coerce(argument).map_err(|()| {
                let what = format!("argument {} of {name}", field.name);
                QueryError::wrong_type(&field.of.to_string(), argument, &what)
            })?;
        }
        procedure.run(&mut CallContext::new(cx, &**procedure, &self.plan.yields), &arguments)
    }

    /// The next rows of a call; true if it may have more.
    fn advance(
        &mut self,
        source: &mut dyn RowSource,
        cx: &mut Exec<'_>,
    ) -> Result<(RowBatch, bool), QueryError> {
        let procedure = &self.plan.procedure.0;
        let chunk = source.next(&mut CallContext::new(cx, &**procedure, &self.plan.yields))?;
        if procedure.mode().changes() {
            cx.count_writes()?;
        }
        let (batch, more) = match chunk {
            Chunk::More(batch) => (batch, true),
            Chunk::Last(batch) => (batch, false),
        };
        let (columns, found) = (procedure.columns().len(), batch.columns.len());
        if batch.rows > 0 && found != columns {
            let name = &self.plan.name;
            let message = format!("{name} has {columns} columns and returned rows of {found}");
            let kind = ErrorKind::ProcedureFailed;
            return Err(QueryError::runtime(kind, "ProcedureCallFailed", message));
        }
        Ok((batch, more))
    }

    /// Calls until there are rows enough, or none are left.
    fn found(&mut self, calls: &mut Calls, cx: &mut Exec<'_>) -> Result<Found, QueryError> {
        let columns = self.plan.procedure.0.columns().len();
        let nothing = || RowBatch::new(vec![Column::nulls(1); columns]);
        let mut found = Found::default();
        while found.numbers.len() < BATCH_ROWS {
            cx.check_now()?;
            let (mut source, had_some) = match calls.source.take() {
                Some(source) => source,
                None if calls.next == calls.rows.rows() => break,
                None => {
                    let source = self.begin(calls, cx)?;
                    calls.next += 1;
                    (source, false)
                }
            };
            let row = calls.next - 1;
            let (batch, more) = self.advance(&mut *source, cx)?;
            if columns == 0 {
                // It is called for what it does: the row goes on when that is done.
                if !more {
                    found.numbers.push(row as u32);
                } else {
                    calls.source = Some((source, true));
                }
                continue;
            }
            let new = batch.bytes();
            self.held.set(source.bytes() + found.bytes + new, cx)?;
            let has_some = had_some || batch.rows > 0;
            if batch.rows > 0 {
                found.add(row, batch);
            } else if !more && !has_some && self.plan.optional {
                found.add(row, nothing());
            }
            if more {
                calls.source = Some((source, has_some));
                // Perhaps nobody wants more of them.
                if !found.numbers.is_empty() {
                    break;
                }
            }
        }
        Ok(found)
    }
}

impl Operator for Call<'_> {
    fn next(&mut self, cx: &mut Exec<'_>) -> Result<Option<Batch>, QueryError> {
        loop {
            let mut calls = match self.calls.take() {
                Some(calls) => calls,
                None => {
                    let Some(rows) = self.input.next(cx)? else { return Ok(None) };
                    let evaluated = self.plan.arguments.iter().map(|a| eval(a, &rows, cx));
                    let arguments = evaluated.collect::<Result<_, _>>()?;
                    Calls { rows, arguments, next: 0, source: None }
                }
            };
            let mut found = self.found(&mut calls, cx)?;
            let batch = (!found.numbers.is_empty()).then(|| {
                let mut batch = calls.rows.gather(&found.numbers);
                for (at, slot) in &self.plan.yields {
                    batch.set(*slot, found.column(*at));
                }
                batch
            });
            if calls.source.is_some() || calls.next < calls.rows.rows() {
                self.calls = Some(calls);
            } else {
                self.held.set(0, cx)?;
            }
            if batch.is_some() {
                return Ok(batch);
            }
        }
    }
}
