//! `MERGE`: finds a pattern, or makes it.
//!
//! Row by row, so that a row finds what an earlier one made.

use telar_graph::Value;

use super::create::run_steps;
use super::memory::Held;
use super::{Exec, Operator, Source, for_each, set};
use crate::batch::Batch;
use crate::exec::eval::eval;
use crate::expr::Expr;
use crate::plan;
use crate::query_error::{ErrorKind, QueryError};

pub(crate) struct Merge<'p> {
    input: Source<'p>,
    plan: &'p plan::Merge,
}

impl<'p> Merge<'p> {
    pub(crate) fn new(input: Source<'p>, plan: &'p plan::Merge) -> Self {
        Self { input, plan }
    }

    /// Whether an expression reads a variable of the pattern.
    fn is_of_pattern(&self, e: &Expr) -> bool {
        let mut reads = false;
        e.slots(&mut |slot| reads |= self.plan.slots.contains(&slot));
        reads
    }

    /// Null equals nothing: a pattern with it would never be found and made anew each time.
    /// Values that are read of the pattern itself are known when it is `made`.
    fn check_properties(
        &self,
        row: &Batch,
        made: bool,
        cx: &mut Exec<'_>,
    ) -> Result<(), QueryError> {
        for map in &self.plan.properties {
            if self.is_of_pattern(map) != made {
                continue;
            }
            if let Value::Map(entries) = eval(map, row, cx)?.get(0)
                && let Some((key, _)) = entries.iter().find(|(_, value)| value.is_null())
            {
                return Err(QueryError::runtime(
                    ErrorKind::Semantic,
                    "MergeReadOwnWrites",
                    format!("MERGE cannot use the property {key}, whose value is null"),
                ));
            }
        }
        Ok(())
    }

    /// Claims what was made: another transaction that looks for it now finds nothing, either.
    fn claim(&self, row: &Batch, cx: &mut Exec<'_>) -> Result<(), QueryError> {
        for claimed in &self.plan.claims {
            if let Value::Edge(edge) = row.column(claimed.slot).get(0) {
                cx.update()?.claim_edge(*edge, claimed.bound, claimed.either_way)?;
            }
        }
        Ok(())
    }
}

impl Operator for Merge<'_> {
    fn next(&mut self, cx: &mut Exec<'_>) -> Result<Option<Batch>, QueryError> {
        let Some(rows) = self.input.next(cx)? else { return Ok(None) };
        let mut out = Vec::new();
        let mut held = Held::of("Merge");
        for row in 0..rows.rows() {
            cx.check()?;
            let mut row = rows.slice(row, row + 1);
            self.check_properties(&row, false, cx)?;
            let mut found = Vec::new();
            for_each(&self.plan.matching, &row, cx, |batch, cx| {
                held.grow(batch.bytes(), cx)?;
                found.push(batch);
                Ok(())
            })?;
            if found.is_empty() {
                run_steps(&self.plan.steps, &mut row, cx)?;
                self.check_properties(&row, true, cx)?;
                self.claim(&row, cx)?;
                set::apply(&self.plan.on_create, &row, 0, cx)?;
                let live: Vec<usize> =
                    rows.slots().chain(self.plan.slots.iter().copied()).collect();
                out.push(row.keep(&live));
                continue;
            }
            for batch in found {
                for at in 0..batch.rows() {
                    set::apply(&self.plan.on_match, &batch, at, cx)?;
                }
                let live: Vec<usize> =
                    rows.slots().chain(self.plan.slots.iter().copied()).collect();
                out.push(batch.keep(&live));
            }
        }
        Ok(Some(Batch::concat(out)))
    }
}
