//! From a text to its result.

use std::collections::HashMap;
use std::sync::Arc;

use telar_cypher::ast::Mode;
use telar_cypher::{Code, Diagnostic};
use telar_graph::{CommitTs, Graph, Value, ValueMap};

use crate::batch::Batch;
use crate::bind::{self, Bound};
use crate::description::{Measured, PlanDescription};
use crate::exec::counted::{CountedRead, CountedWrite};
use crate::exec::profile::Profile;
use crate::exec::{Access, Exec, Limits, Transactions, build};
use crate::expr::eval::eval;
use crate::function::Context;
use crate::notification::Notification;
use crate::plan::estimate::Counts;
use crate::plan::explain::Explainer;
use crate::procedure::Procedures;
use crate::query_error::{ErrorKind, QueryError};
use crate::result::{Names, QueryResult};
use crate::schema::SchemaChange;

/// A query that was read, checked and planned. It can run any number of times, with other
/// parameters, on any later state of the same database.
#[derive(Debug, Clone)]
pub struct Prepared {
    bound: Bound,
    text: Arc<str>,
}

/// When a query of the past reads.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum At {
    /// The snapshot of this commit.
    Commit(CommitTs),
    /// The snapshot at this time, in milliseconds since 1970.
    Time(u64),
}

/// Reads, checks and plans one statement.
///
/// # Errors
/// Everything that is wrong with it whatever the graph holds and whatever the parameters are.
pub fn prepare(
    text: &str,
    graph: &dyn Graph,
    procedures: &Procedures,
) -> Result<Prepared, QueryError> {
    with_stack(|| {
        let parsed = telar_cypher::parse(text);
        let statement = parsed.map_err(|errors| from_diagnostic(errors.first(), text))?;
        let bound = bind::bind(&statement, text, graph, procedures)?;
        Ok(Prepared { bound, text: text.into() })
    })
}

/// Runs `f` with a stack that is deep enough for the deepest tree that the parser lets through, on
/// any thread.
fn with_stack<T>(f: impl FnOnce() -> T) -> T {
    const STACK_BYTES: usize = 64 << 20;
    stacker::maybe_grow(STACK_BYTES / 2, STACK_BYTES, f)
}

fn from_diagnostic(d: &Diagnostic, text: &str) -> QueryError {
    let kind = match d.code {
        Code::SyntaxError => ErrorKind::Syntax,
        Code::TypeError => ErrorKind::Type,
        Code::ArgumentError => ErrorKind::Argument,
        _ => ErrorKind::Semantic,
    };
    let message = match &d.help {
        Some(help) => format!("{}; {help}", d.message),
        None => d.message.clone(),
    };
    let range = d.span.range();
    QueryError::compile(kind, d.detail.to_string(), message).at(text, range.start, range.end)
}

impl Prepared {
    /// Refuses parameters that are missing.
    fn check_parameters(&self, parameters: &ValueMap) -> Result<(), QueryError> {
        match self.bound.parameters.iter().find(|name| !parameters.contains_key(&***name)) {
            None => Ok(()),
            Some(name) => Err(QueryError::compile(
                ErrorKind::ParameterMissing,
                "MissingParameter",
                format!("expected parameter ${name}, which was not given"),
            )),
        }
    }

    /// Whether it changes the graph, and so needs a transaction.
    #[must_use]
    pub fn writes(&self) -> bool {
        self.bound.writes
    }

    /// Whether it begins transactions of its own, `CALL { } IN TRANSACTIONS`, so that it can run in
    /// none, and not simply again.
    #[must_use]
    pub fn in_transactions(&self) -> bool {
        self.bound.in_transactions
    }

    /// Names of the result's columns.
    pub fn columns(&self) -> impl Iterator<Item = &Arc<str>> {
        self.bound.columns.iter().map(|(name, _)| name)
    }

    /// Whether only the plan is asked for.
    #[must_use]
    pub fn explains(&self) -> bool {
        self.bound.mode == Mode::Explain
    }

    /// What was prepared.
    #[must_use]
    pub fn text(&self) -> &Arc<str> {
        &self.text
    }

    /// The plan, with estimates from the counts of a graph.
    #[must_use]
    pub fn explain(&self, graph: &dyn Graph) -> PlanDescription {
        self.describe(graph, None)
    }

    fn describe(
        &self,
        graph: &dyn Graph,
        measured: Option<HashMap<usize, Measured>>,
    ) -> PlanDescription {
        if let Some(command) = &self.bound.command {
            return command.describe();
        }
        let (names, counts) = (&self.bound.names[..], Counts::of(graph));
        Explainer { names, counts, measured }.describe(&self.bound.plan)
    }

    /// What a command that makes or drops an index or constraint is to do, if it is one. It cannot
    /// [`run`](Self::run) in a transaction.
    ///
    /// # Errors
    /// If a parameter is missing, or no name.
    pub fn schema_change(
        &self,
        graph: &dyn Graph,
        parameters: &ValueMap,
        context: &Context,
    ) -> Result<Option<SchemaChange>, QueryError> {
        let Some(command) = &self.bound.command else { return Ok(None) };
        self.check_parameters(parameters)?;
        let (procedures, limits) = (Procedures::default(), Limits::default());
        let mut cx = Exec::new(Access::Read(graph), parameters, context, &procedures, &limits);
        SchemaChange::new(command, &mut cx).map(Some)
    }

    /// Whether it makes or drops an index or constraint.
    #[must_use]
    pub fn changes_schema(&self) -> bool {
        self.bound.command.is_some()
    }

    /// Which state of the graph the query wants to read, if not the present.
    ///
    /// # Errors
    /// If the expression after `AT TIMESTAMP` is no commit timestamp and no time.
    pub fn at(
        &self,
        graph: &dyn Graph,
        parameters: &ValueMap,
        context: &Context,
    ) -> Result<Option<At>, QueryError> {
        let Some(at) = &self.bound.at else { return Ok(None) };
        let (procedures, limits) = (Procedures::default(), Limits::default());
        let mut cx = Exec::new(Access::Read(graph), parameters, context, &procedures, &limits);
        match eval(at, &Batch::empty(1), &mut cx)?.get(0) {
            Value::Int(ts) if ts >= 0 => Ok(Some(At::Commit(CommitTs::from_raw(ts as u64)))),
            Value::DateTime(time) => {
                let ms = time.epoch_nanos().div_euclid(1_000_000);
                Ok(Some(At::Time(u64::try_from(ms).unwrap_or(0))))
            }
            other => {
                let expected = "a commit timestamp (INTEGER of 0 or more) or a ZONED DATETIME";
                Err(QueryError::wrong_type(expected, &other, "AT TIMESTAMP"))
            }
        }
    }

    /// Runs it. What it changed is in the transaction of `graph`, which the caller commits.
    ///
    /// # Errors
    /// Whatever goes wrong; the transaction then holds a part of the changes and must be aborted.
    pub fn run<'g>(
        &self,
        graph: Access<'g>,
        parameters: &'g ValueMap,
        context: &'g Context,
        procedures: &'g Procedures,
        limits: &'g Limits,
    ) -> Result<QueryResult, QueryError> {
        self.run_with(graph, None, parameters, context, procedures, limits)
    }

    /// As [`run`](Self::run), for a query that [begins transactions](Self::in_transactions) of its
    /// own; `graph` is what it sees at first.
    ///
    /// # Errors
    /// Whatever goes wrong; what it committed before stays.
    pub fn run_with<'g>(
        &self,
        graph: Access<'g>,
        transactions: Option<&'g dyn Transactions>,
        parameters: &'g ValueMap,
        context: &'g Context,
        procedures: &'g Procedures,
        limits: &'g Limits,
    ) -> Result<QueryResult, QueryError> {
        if self.changes_schema() && !self.explains() {
            let message = "an index or constraint cannot be made or dropped inside a transaction: \
                           what is done to them is there at once and cannot be undone. Run the \
                           command by itself";
            let kind = ErrorKind::TransactionType;
            return Err(QueryError::compile(kind, "ForbiddenDueToTransactionType", message));
        }
        let columns = self.columns().cloned().collect();
        let mut result = QueryResult { columns, ..QueryResult::default() };
        if self.explains() {
            let graph: &dyn Graph = match &graph {
                Access::Read(graph) => *graph,
                Access::Write(graph) => &**graph,
                Access::Own(transaction) => transaction.graph(),
            };
            result.plan = Some(self.explain(graph));
            result.notifications = self.notifications(graph);
            return Ok(result);
        }
        self.check_parameters(parameters)?;
        if self.bound.mode == Mode::Run {
            let mut cx = Exec::new(graph, parameters, context, procedures, limits);
            cx.transactions = transactions;
            return with_stack(|| self.collect(result, cx));
        }
        let profile = Arc::new(Profile::default());
        let hits = &profile.hits;
        let watch = |mut cx: Exec<'_>| {
            cx.profile = Some(Arc::clone(&profile));
            with_stack(|| self.collect(result, cx))
        };
        match graph {
            Access::Read(graph) => {
                let graph = CountedRead { graph, hits };
                let mut cx =
                    Exec::new(Access::Read(&graph), parameters, context, procedures, limits);
                cx.transactions = transactions;
                watch(cx)
            }
            Access::Write(graph) => {
                let mut graph = CountedWrite { graph, hits };
                let graph = Access::Write(&mut graph);
                watch(Exec::new(graph, parameters, context, procedures, limits))
            }
            // Its transactions come and go: what they are asked for is not counted.
            own => watch(Exec::new(own, parameters, context, procedures, limits)),
        }
    }

    /// What is probably not meant as it is written.
    fn notifications(&self, graph: &dyn Graph) -> Vec<Notification> {
        self.bound.unknown.iter().filter_map(|unknown| unknown.notification(graph)).collect()
    }

    /// Runs the plan to its end.
    fn collect(
        &self,
        mut result: QueryResult,
        mut cx: Exec<'_>,
    ) -> Result<QueryResult, QueryError> {
        let mut operator = build(&self.bound.plan, &Batch::empty(1), &cx);
        while let Some(batch) = operator.next(&mut cx)? {
            let slots = self.bound.columns.iter().map(|(_, slot)| batch.column(*slot));
            let columns: Vec<_> = slots.collect();
            if columns.is_empty() {
                continue;
            }
            cx.hold(batch.bytes())?;
            for row in 0..batch.rows() {
                result.rows.push(columns.iter().map(|column| column.get(row)).collect());
            }
        }
        drop(operator);
        let graph = cx.graph();
        let names = Names::new(graph);
        for value in result.rows.iter().flatten() {
            result.entities.add(value, graph, &names);
        }
        if let Some(error) = graph.error() {
            return Err(QueryError::database(&*error));
        }
        result.notifications = self.notifications(graph);
        if let Some(profile) = &cx.profile {
            result.plan = Some(self.describe(graph, Some(profile.measured())));
        }
        result.at = graph.read_ts();
        result.counters = cx.counters;
        Ok(result)
    }
}
