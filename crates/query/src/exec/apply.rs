//! Plans inside plans: `OPTIONAL MATCH`, `CALL { }`, `FOREACH`.

use telar_graph::Value;

use super::spill::Rows;
use super::{Exec, Operator, Ramp, Source, build, for_each};
use crate::batch::{Batch, Column};
use crate::exec::eval::eval;
use crate::plan;
use crate::query_error::QueryError;

/// Runs a plan for the rows of the input and joins what comes of it with them.
pub(crate) struct Apply<'p> {
    pub(super) input: Source<'p>,
    plan: &'p plan::Apply,
    ramp: Ramp,
    /// The row that the inner plan runs for, where its rows go on as they come.
    running: Option<(Batch, Source<'p>)>,
    /// Rows that wait for it.
    rest: Option<(Batch, usize)>,
    pub(super) ready: Rows,
}

impl<'p> Apply<'p> {
    pub(crate) fn new(input: Source<'p>, plan: &'p plan::Apply, ramp: Ramp) -> Self {
        let (running, rest, ready) = (None, None, Rows::of("Apply"));
        Self { input, plan, ramp, running, rest, ready }
    }

    /// The next rows that the inner plan finds, row by row.
    fn stream(&mut self, cx: &mut Exec<'_>) -> Result<Option<Batch>, QueryError> {
        loop {
            if let Some((row, inner)) = &mut self.running {
                if let Some(found) = inner.next(cx)? {
                    return Ok(Some(beside(row, found, self.plan)));
                }
                self.running = None;
            }
            cx.check()?;
            let rows = match self.rest.take() {
                Some(rest) => Some(rest),
                None => self.input.next(cx)?.map(|rows| (rows, 0)),
            };
            let Some((rows, at)) = rows else { return Ok(None) };
            let mut row = rows.slice(at, at + 1);
            row.set(self.plan.row, Column::numbers(1));
            self.running = Some((row.clone(), build(&self.plan.inner, &row, self.ramp, cx)));
            self.rest = (at + 1 < rows.rows()).then_some((rows, at + 1));
        }
    }

    /// Runs the inner plan for these rows, numbered by their place.
    pub(super) fn run(&mut self, mut rows: Batch, cx: &mut Exec<'_>) -> Result<(), QueryError> {
        rows.set(self.plan.row, Column::numbers(rows.rows()));
        let plan = self.plan;
        if !plan.returns {
            for_each(&plan.inner, &rows, cx, |_, _| Ok(()))?;
            return self.ready.push(rows, cx);
        }
        // Whether rows match or not, they have the same columns afterwards.
        let live: Option<Vec<usize>> =
            plan.optional.as_ref().map(|slots| rows.slots().chain(slots.iter().copied()).collect());
        let mut matched = vec![plan.optional.is_none(); rows.rows()];
        let mut found = Rows::of("Apply");
        let ready = &mut self.ready;
        for_each(&plan.inner, &rows, cx, |mut batch, cx| {
            if plan.by_row {
                batch = beside(&rows, batch, plan);
            }
            let Some(live) = &live else { return ready.push(batch, cx) };
            let batch = batch.keep(live);
            let numbers = batch.column(plan.row);
            for at in 0..batch.rows() {
                if let Value::Int(row) = numbers.get(at) {
                    matched[row as usize] = true;
                }
            }
            found.push(batch, cx)
        })?;
        let missing: Vec<u32> =
            (0..rows.rows() as u32).filter(|row| !matched[*row as usize]).collect();
        let mut nulls = (!missing.is_empty()).then(|| rows.gather(&missing));
        for slot in plan.optional.iter().flatten() {
            if let Some(nulls) = &mut nulls {
                nulls.set(*slot, Column::Same(Value::Null, missing.len()));
            }
        }
        match (found.take(), nulls) {
            // Rows without a match stay, each in its place.
            (Some(mut all), Some(nulls)) if !all.is_empty() => {
                all.push(nulls);
                let all = Batch::concat(all);
                let numbers = all.column(plan.row);
                let mut order: Vec<u32> = (0..all.rows() as u32).collect();
                order.sort_by_key(|at| numbers.get(*at as usize));
                ready.push(all.gather(&order), cx)
            }
            (Some(all), nulls) => {
                all.into_iter().chain(nulls).try_for_each(|batch| ready.push(batch, cx))
            }
            // Where there are too many others, they come behind them.
            (None, nulls) => {
                while let Some(batch) = found.pop(cx)? {
                    ready.push(batch, cx)?;
                }
                nulls.into_iter().try_for_each(|batch| ready.push(batch, cx))
            }
        }
    }
}

/// A row beside each of those that the inner plan found for it.
fn beside(row: &Batch, found: Batch, plan: &plan::Apply) -> Batch {
    let mut joined = row.gather(&vec![0; found.rows()]);
    for slot in &plan.columns {
        joined.set(*slot, found.column(*slot).clone());
    }
    joined
}

impl Operator for Apply<'_> {
    fn next(&mut self, cx: &mut Exec<'_>) -> Result<Option<Batch>, QueryError> {
        if self.plan.streams() {
            return self.stream(cx);
        }
        loop {
            if let Some(batch) = self.ready.pop(cx)? {
                return Ok(Some(batch));
            }
            let Some(rows) = self.input.next(cx)? else { return Ok(None) };
            cx.check()?;
            if self.plan.by_row {
                for row in 0..rows.rows() {
                    cx.check()?;
                    self.run(rows.slice(row, row + 1), cx)?;
                }
            } else {
                self.run(rows, cx)?;
            }
        }
    }
}

/// Runs updates for each element of a list of each row.
pub(crate) struct Foreach<'p> {
    input: Source<'p>,
    plan: &'p plan::Foreach,
}

impl<'p> Foreach<'p> {
    pub(crate) fn new(input: Source<'p>, plan: &'p plan::Foreach) -> Self {
        Self { input, plan }
    }
}

impl Operator for Foreach<'_> {
    fn next(&mut self, cx: &mut Exec<'_>) -> Result<Option<Batch>, QueryError> {
        let Some(rows) = self.input.next(cx)? else { return Ok(None) };
        let lists = eval(&self.plan.list, &rows, cx)?;
        for row in 0..rows.rows() {
            let elements = match lists.get(row) {
                Value::List(list) => list.to_vec(),
                Value::Null => Vec::new(),
                // As UNWIND has it.
                single => vec![single],
            };
            for element in elements {
                cx.check()?;
                let mut argument = rows.slice(row, row + 1);
                argument.set(self.plan.variable, Column::Same(element, 1));
                for_each(&self.plan.inner, &argument, cx, |_, _| Ok(()))?;
            }
        }
        Ok(Some(rows))
    }
}
