//! Plans inside plans: `OPTIONAL MATCH`, `CALL { }`, `FOREACH`.

use std::collections::VecDeque;

use telar_graph::Value;

use super::{Exec, Operator, Source, drain};
use crate::batch::{Batch, Column};
use crate::expr::eval::eval;
use crate::plan;
use crate::query_error::QueryError;

/// Runs a plan for the rows of the input and joins what comes of it with them.
pub(crate) struct Apply<'p> {
    pub(super) input: Source<'p>,
    plan: &'p plan::Apply,
    pub(super) ready: VecDeque<Batch>,
}

impl<'p> Apply<'p> {
    pub(crate) fn new(input: Source<'p>, plan: &'p plan::Apply) -> Self {
        Self { input, plan, ready: VecDeque::new() }
    }

    /// Runs the inner plan for these rows, numbered by their place.
    pub(super) fn run(&mut self, mut rows: Batch, cx: &mut Exec<'_>) -> Result<(), QueryError> {
        rows.set(self.plan.row, Column::numbers(rows.rows()));
        let mut found = drain(&self.plan.inner, &rows, cx)?;
        if let Some(slots) = &self.plan.by_row {
            for batch in &mut found {
                let mut joined = rows.gather(&vec![0; batch.rows()]);
                for slot in slots {
                    joined.set(*slot, batch.column(*slot).clone());
                }
                *batch = joined;
            }
        }
        if !self.plan.returns {
            self.ready.push_back(rows);
            return Ok(());
        }
        let Some(slots) = &self.plan.optional else {
            self.ready.extend(found);
            return Ok(());
        };
        // Whether rows match or not, they have the same columns afterwards.
        let live: Vec<usize> = rows.slots().chain(slots.iter().copied()).collect();
        for batch in &mut found {
            *batch = batch.keep(&live);
        }
        // Rows without a match stay, each in its place.
        let mut matched = vec![false; rows.rows()];
        for batch in &found {
            let numbers = batch.column(self.plan.row);
            for at in 0..batch.rows() {
                if let Value::Int(row) = numbers.get(at) {
                    matched[row as usize] = true;
                }
            }
        }
        let missing: Vec<u32> =
            (0..rows.rows() as u32).filter(|row| !matched[*row as usize]).collect();
        if missing.is_empty() {
            self.ready.extend(found);
            return Ok(());
        }
        let mut nulls = rows.gather(&missing);
        for slot in slots {
            nulls.set(*slot, Column::Same(Value::Null, missing.len()));
        }
        if found.is_empty() {
            self.ready.push_back(nulls);
            return Ok(());
        }
        let mut batches: Vec<Batch> = found;
        batches.push(nulls);
        let all = Batch::concat(batches);
        let numbers = all.column(self.plan.row);
        let mut order: Vec<u32> = (0..all.rows() as u32).collect();
        order.sort_by_key(|at| numbers.get(*at as usize));
        self.ready.push_back(all.gather(&order));
        Ok(())
    }
}

impl Operator for Apply<'_> {
    fn next(&mut self, cx: &mut Exec<'_>) -> Result<Option<Batch>, QueryError> {
        loop {
            if let Some(batch) = self.ready.pop_front() {
                return Ok(Some(batch));
            }
            let Some(rows) = self.input.next(cx)? else { return Ok(None) };
            cx.check()?;
            if self.plan.by_row.is_some() {
                for row in 0..rows.rows() {
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
                other => {
                    return Err(QueryError::wrong_type("a list", &other, "FOREACH"));
                }
            };
            for element in elements {
                cx.check()?;
                let mut argument = rows.slice(row, row + 1);
                argument.set(self.plan.variable, Column::Same(element, 1));
                drain(&self.plan.inner, &argument, cx)?;
            }
        }
        Ok(Some(rows))
    }
}
