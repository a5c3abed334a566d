//! From a text to its result.

use std::sync::Arc;

use telar_cypher::ast::Mode;
use telar_cypher::{Code, Diagnostic};
use telar_graph::{CommitTs, Graph, Value, ValueMap};

use crate::batch::Batch;
use crate::bind::{self, Bound};
use crate::exec::{Access, Exec, Limits, Transactions, build};
use crate::expr::eval::eval;
use crate::function::Context;
use crate::procedure::Procedures;
use crate::query_error::{ErrorKind, QueryError};
use crate::result::{Names, QueryResult};

/// A query that was read, checked and planned. It can run any number of times, with other
/// parameters, on any later state of the same database.
#[derive(Debug, Clone)]
pub struct Prepared {
    bound: Bound,
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
        Ok(Prepared { bound })
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

    /// The plan as text, an operator per line.
    #[must_use]
    pub fn explain(&self) -> String {
        self.bound.plan.explain()
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
        let columns = self.columns().cloned().collect();
        let plan = (self.bound.mode != Mode::Run).then(|| self.explain());
        let result = QueryResult { columns, plan, ..QueryResult::default() };
        if self.explains() {
            return Ok(result);
        }
        self.check_parameters(parameters)?;
        let mut cx = Exec::new(graph, parameters, context, procedures, limits);
        cx.transactions = transactions;
        with_stack(|| self.collect(result, cx))
    }

    /// Runs the plan to its end.
    fn collect(
        &self,
        mut result: QueryResult,
        mut cx: Exec<'_>,
    ) -> Result<QueryResult, QueryError> {
        let mut operator = build(&self.bound.plan, &Batch::empty(1));
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
        result.at = graph.read_ts();
        result.counters = cx.counters;
        Ok(result)
    }
}
