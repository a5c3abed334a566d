//! Query texts that a procedure runs inside of the statement that calls it.

use std::sync::Arc;

use telar_cypher::ast::Mode;
use telar_graph::ValueMap;

use super::{Prepared, prepare};
use crate::exec::Exec;
use crate::procedure::{CallContext, Rows};
use crate::query_error::{ErrorKind, QueryError};
use crate::result::StatementKind;
use crate::sink::{self, Output, Sink, Streamed};
use crate::stack::with_stack;

/// Most queries one inside of the other: a parameter can hold the text that it is given to.
const NESTING_MAX: u8 = 8;

/// Most plans of nested texts that a statement keeps: procedures have some texts each, and other
/// texts come out of data.
const NESTED_PLANS_MAX: usize = 64;

impl CallContext<'_> {
    /// Runs a query text that only reads: on the graph that the statement sees, under its limits,
    /// in its memory, with the rights of its user. Rows go to `sink` as they come.
    ///
    /// # Errors
    /// Whatever is wrong with the text or goes wrong when it runs, with its place in the text
    /// ([`QueryError::within`] names the text); if the text is one that changes something, or is
    /// about another database or another time; what `sink` ends the query with.
    pub fn query(
        &self,
        text: &str,
        parameters: &ValueMap,
        sink: &mut dyn Sink,
    ) -> Result<(), QueryError> {
        let mut cx = self.nested(parameters);
        let plan = plan_nested(text, parameters, &cx, Texts::Read)?;
        plan.drive_nested(&mut cx, sink)
    }

    /// The rows of [`query`](Self::query).
    ///
    /// # Errors
    /// As there.
    pub fn query_rows(&self, text: &str, parameters: &ValueMap) -> Result<Rows, QueryError> {
        let mut collected = Collected(Rows::new());
        self.query(text, parameters, &mut collected)?;
        Ok(collected.0)
    }

    /// Runs a query text that may change the graph: in the transaction of the statement, under its
    /// limits, in its memory, with the rights of its user. The changes count among those of the
    /// statement, and the statement sees them at once.
    ///
    /// # Errors
    /// As [`query`](Self::query); if the text changes the graph and the procedure is not one that
    /// [writes](crate::procedure::Mode::Write). After an error of a text that changes the graph the
    /// statement must fail: a part of the changes may be made.
    pub fn write_query(
        &mut self,
        text: &str,
        parameters: &ValueMap,
        sink: &mut dyn Sink,
    ) -> Result<(), QueryError> {
        let plan = self.planned(text, parameters)?;
        if plan.writes() {
            self.changes()?;
        }
        self.run_planned(&plan, parameters, sink)
    }

    /// The rows of [`write_query`](Self::write_query).
    ///
    /// # Errors
    /// As there.
    pub fn write_rows(&mut self, text: &str, parameters: &ValueMap) -> Result<Rows, QueryError> {
        let mut collected = Collected(Rows::new());
        self.write_query(text, parameters, &mut collected)?;
        Ok(collected.0)
    }
}

/// Keeps rows as values.
struct Collected(Rows);

impl Sink for Collected {
    fn columns(&mut self, _: &[Arc<str>]) -> Result<(), QueryError> {
        Ok(())
    }

    fn rows(&mut self, rows: &sink::Rows<'_>) -> Result<(), QueryError> {
        let row = |at| (0..rows.width()).map(|column| rows.get(at, column)).collect();
        self.0.extend((0..rows.len()).map(row));
        Ok(())
    }
}

/// The texts that a procedure may run.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Texts {
    /// Texts that only read.
    Read,
    /// Texts that change the graph, too.
    Write,
}

/// The plan of a text that runs inside of the statement whose state is `cx`.
fn plan_nested(
    text: &str,
    parameters: &ValueMap,
    cx: &Exec<'_>,
    texts: Texts,
) -> Result<Arc<Prepared>, QueryError> {
    let fits = |plan: &Prepared| match texts == Texts::Read && plan.writes() {
        true => Err(refusal("one that changes the graph")),
        false => Ok(()),
    };
    if cx.nesting > NESTING_MAX {
        let message = format!("{NESTING_MAX} queries stand one inside of the other, and more");
        return Err(QueryError::runtime(ErrorKind::NotSupported, "NestedTooDeep", message));
    }
    let plan = match cx.nested_plans.get(text) {
        Some(plan) => {
            fits(plan)?;
            Arc::clone(plan)
        }
        None => {
            if let Some(host) = cx.host {
                host.admit(text)?;
            }
            let plan = prepare(text, cx.graph(), cx.procedures)?;
            plan.check_nested(cx)?;
            fits(&plan)?;
            if let Some(host) = cx.host {
                host.allow(&plan)?;
            }
            Arc::new(plan)
        }
    };
    plan.check_parameters(parameters, None)?;
    Ok(plan)
}

impl Exec<'_> {
    /// The plan of a nested text; the plans of the first texts of a statement are kept.
    pub(crate) fn nested_plan(
        &mut self,
        text: &str,
        parameters: &ValueMap,
    ) -> Result<Arc<Prepared>, QueryError> {
        self.nesting += 1;
        let plan = plan_nested(text, parameters, self, Texts::Write);
        self.nesting -= 1;
        let plan = plan?;
        if self.nested_plans.len() < NESTED_PLANS_MAX {
            self.nested_plans.entry(text.into()).or_insert_with(|| Arc::clone(&plan));
        }
        Ok(plan)
    }
}

/// Says what kind of text cannot run inside of a statement.
fn refusal(found: &str) -> QueryError {
    let message = format!("a query inside of a statement is about its graph; this is {found}");
    QueryError::compile(ErrorKind::AccessMode, "ReadOnly", message)
}

impl Prepared {
    /// Runs the plan with the state of a nested query.
    pub(crate) fn drive_nested(
        &self,
        cx: &mut Exec<'_>,
        sink: &mut dyn Sink,
    ) -> Result<(), QueryError> {
        cx.levels = self.physical.height;
        let mut output = Streamed::new(sink);
        output.columns(self.columns().cloned().collect())?;
        with_stack(self.physical.height, || self.drive(cx, &mut output).map(drop))
    }

    /// Refuses what is more than a query of the statement's own graph.
    fn check_nested(&self, cx: &Exec<'_>) -> Result<(), QueryError> {
        let own = |name: &str| *name == *cx.procedures.database.to_lowercase();
        let found = match self.kind() {
            _ if self.administration().is_some() => "a command for the server",
            _ if self.copies() => "COPY",
            StatementKind::Schema => "one that changes indexes or constraints",
            _ if self.bound.mode != Mode::Run => "EXPLAIN or PROFILE",
            _ if self.in_transactions() => "one IN TRANSACTIONS",
            _ if self.bound.at.is_some() => {
                "one AT TIMESTAMP, which is for the statement around it"
            }
            _ if self.database().is_some_and(|name| !own(name)) => "one of another database",
            _ => return Ok(()),
        };
        Err(refusal(found))
    }
}
