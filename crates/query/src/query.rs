//! From a text to its result.

mod copied;
mod nested;

use std::collections::{BTreeSet, HashMap};
use std::ops::Range;
use std::sync::Arc;

use telar_cypher::ast::{Administration, Mode};
use telar_cypher::parser::{LEVELS_PER_PART, NESTING_MAX, PARTS_MAX};
use telar_graph::{CommitTs, Graph, Value, ValueMap};

use crate::administration;
use crate::batch::{Batch, Slot};
use crate::bind::{self, Bound};
use crate::description::{Measured, PlanDescription};
use crate::estimate::Counts;
use crate::exec::counted::{CountedRead, CountedWrite};
use crate::exec::eval::eval;
use crate::exec::profile::Profile;
use crate::exec::{Access, Exec, Inputs, Ramp, build};
use crate::function::Context;
use crate::host::needs_server;
use crate::notification::Notification;
use crate::optimize::{self, Physical};
use crate::plan::Plan;
use crate::plan::explain::Explainer;
use crate::procedure::Procedures;
use crate::query_error::{ErrorKind, QueryError};
use crate::result::{Counters, QueryResult, StatementKind};
use crate::schema::Done;
use crate::sink::{Kept, Output, Sink, Streamed, Summary};
use crate::stack::with_stack;
use crate::tables::Tables;
use crate::watch::{self, Limits, sizes, watched};

pub use copied::Copying;

/// A query that was read, checked and planned. It can run any number of times, with other
/// parameters, on any later state of the same database.
#[derive(Debug)]
pub struct Prepared {
    bound: Bound,
    physical: Physical,
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
    with_stack(levels_of(text), || {
        let parsed = telar_cypher::parse_while(text, &|| watch::check().is_ok());
        watch::check()?;
        let statement = parsed.map_err(|errors| QueryError::of_diagnostic(errors.first(), text))?;
        let (mut bound, logical) = bind::bind(&statement, text, graph, procedures)?;
        let columns: Vec<Slot> = bound.columns.iter().map(|(_, slot)| *slot).collect();
        let (at, planning) = (bound.at.as_mut(), procedures.planning);
        let physical = optimize::optimize(logical, &columns, at, graph, planning)?;
        if bound.mode != Mode::Run && physical.plan.shown_levels() > SHOWN_LEVELS_MAX {
            return Err(too_deep(text, statement.span.range()));
        }
        // What is printed masks passwords.
        let text = match &bound.administration {
            Some(_) => statement.to_string().into(),
            None => text.into(),
        };
        Ok(Prepared { bound, physical, text })
    })
}

/// Most levels of a plan that is shown: programs that read it have a call for each, and drivers
/// give up at about as many.
const SHOWN_LEVELS_MAX: usize = 1000;

fn too_deep(text: &str, range: Range<usize>) -> QueryError {
    let message = format!(
        "EXPLAIN and PROFILE show plans of at most {SHOWN_LEVELS_MAX} operators one above the \
         other, and the plan of this statement has more"
    );
    QueryError::compile(ErrorKind::NotSupported, "PlanTooDeep", message).at(
        text,
        range.start,
        range.end,
    )
}

/// Levels that the tree and the plan of a text may have: of brackets as many as the parser allows,
/// and of operators as many as its parts become, each of which takes two characters at least.
fn levels_of(text: &str) -> usize {
    let parts = (text.len() / 2).min(PARTS_MAX);
    text.len().min(NESTING_MAX as usize) + parts * LEVELS_PER_PART
}

impl Drop for Prepared {
    /// A plan may be dropped by any thread: whoever makes room among those that are kept.
    fn drop(&mut self) {
        let plan = std::mem::replace(&mut self.physical.plan, Plan::Unit);
        with_stack(self.physical.height, || drop(plan));
    }
}

impl Prepared {
    /// Refuses parameters that are missing.
    fn check_parameters(
        &self,
        parameters: &ValueMap,
        tables: Option<&Tables>,
    ) -> Result<(), QueryError> {
        let mut missing = None;
        for name in &self.bound.parameters {
            match parameters.get(name) {
                Some(value) => sizes::check_value(value)?,
                None if tables.is_some_and(|tables| tables.has(name)) => {}
                None => missing = missing.or(Some(name)),
            }
        }
        match missing {
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

    /// What it may do.
    #[must_use]
    pub fn kind(&self) -> StatementKind {
        match self.writes() {
            _ if self.changes_schema() || self.administration().is_some() => StatementKind::Schema,
            false => StatementKind::Read,
            true if self.bound.columns.is_empty() => StatementKind::Write,
            true => StatementKind::ReadWrite,
        }
    }

    /// Whether it begins transactions of its own, `CALL { } IN TRANSACTIONS`, so that it can run in
    /// none, and not simply again.
    #[must_use]
    pub fn in_transactions(&self) -> bool {
        self.bound.in_transactions
    }

    /// The database that the statement asks for with `USE`, in small letters, if it does.
    #[must_use]
    pub fn database(&self) -> Option<&str> {
        self.bound.database.as_deref()
    }

    /// How often planning asked how many rows an operator returns: the work that it did.
    #[doc(hidden)]
    #[must_use]
    pub fn estimates(&self) -> usize {
        self.physical.estimates
    }

    /// Names of the operators of the plan, among [`OPERATORS`](crate::OPERATORS).
    #[doc(hidden)]
    #[must_use]
    pub fn operators(&self) -> BTreeSet<&'static str> {
        let mut names = BTreeSet::new();
        with_stack(self.physical.height, || self.physical.plan.operators(&mut names));
        names
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

    /// Bytes that it takes, about: by this whoever keeps plans decides how many.
    #[must_use]
    pub fn bytes(&self) -> usize {
        let names = self.physical.names.iter().map(|name| name.len() + size_of::<Arc<str>>());
        let around = size_of::<Self>() + 2 * self.text.len() + names.sum::<usize>();
        with_stack(self.physical.height, || around + self.physical.plan.bytes())
    }

    /// What was prepared.
    #[must_use]
    pub fn text(&self) -> &Arc<str> {
        &self.text
    }

    /// The plan, with estimates from the counts of a graph.
    #[must_use]
    pub fn explain(&self, graph: &dyn Graph) -> PlanDescription {
        with_stack(self.physical.height, || self.describe(graph, None))
    }

    fn describe(
        &self,
        graph: &dyn Graph,
        measured: Option<HashMap<usize, Measured>>,
    ) -> PlanDescription {
        if let Some(command) = &self.bound.command {
            return command.describe();
        }
        if let Some(command) = &self.bound.administration {
            return administration::describe(command, &self.text);
        }
        if self.bound.copy.as_ref().is_some_and(|copy| copy.into.is_some()) {
            let details = self.text.to_string();
            return PlanDescription { operator: "CopyFrom", details, ..PlanDescription::default() };
        }
        let (names, counts) = (&self.physical.names[..], Counts::of(graph));
        Explainer { names, counts, measured }.describe(&self.physical.plan)
    }

    /// The command for a server that it is, if it is one. [`run`](Self::run) hands it to the
    /// [`Host`](crate::Host).
    #[must_use]
    pub fn administration(&self) -> Option<&Administration> {
        self.bound.administration.as_deref()
    }

    /// Whether it reads nothing of the graph and shows what the server knows: `SHOW DATABASES`,
    /// `SHOW USERS` and the like, without `YIELD` or `WHERE`.
    #[must_use]
    pub fn asks_only_server(&self) -> bool {
        self.bound.asks_only_server
    }

    /// Whether it makes or drops an index or constraint, and so needs a transaction.
    #[must_use]
    pub fn changes_schema(&self) -> bool {
        self.bound.command.is_some() || self.bound.calls_schema
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
        let (procedures, limits) = (&procedures, &limits);
        let (tables, transactions, host, threads) = (None, None, None, None);
        let inputs =
            Inputs { parameters, tables, context, procedures, limits, transactions, host, threads };
        let mut cx = Exec::new(Access::Read(graph), inputs);
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

    /// Runs it, and keeps its rows. What it changed is in the transaction of `graph`, which the
    /// caller commits.
    ///
    /// # Errors
    /// Whatever goes wrong. The transaction then holds a part of the changes and must be aborted;
    /// what [transactions of its own](Self::in_transactions) committed stays.
    pub fn run<'g>(
        &self,
        graph: Access<'g>,
        inputs: Inputs<'g>,
    ) -> Result<QueryResult, QueryError> {
        let mut kept = Kept::default();
        let summary = self.execute(graph, inputs, &mut kept)?;
        let Kept { columns, rows, entities, .. } = kept;
        let Summary { kind, counters, at, plan, notifications } = summary;
        Ok(QueryResult { columns, rows, entities, kind, counters, at, plan, notifications })
    }

    /// As [`run`](Self::run), for a query that changes nothing: its rows go to `sink` as they come,
    /// and those that have gone are not held.
    ///
    /// # Errors
    /// Whatever goes wrong, and what the sink ends the query with; it may have been given rows.
    pub fn stream(
        &self,
        graph: &dyn Graph,
        inputs: Inputs<'_>,
        sink: &mut dyn Sink,
    ) -> Result<Summary, QueryError> {
        self.execute(Access::Read(graph), inputs, &mut Streamed::new(sink))
    }

    fn execute<'g>(
        &self,
        graph: Access<'g>,
        inputs: Inputs<'g>,
        output: &mut dyn Output,
    ) -> Result<Summary, QueryError> {
        let run = || self.execute_here(graph, inputs, output);
        watched(inputs.limits, || with_stack(self.physical.height, run))
    }

    fn execute_here<'g>(
        &self,
        graph: Access<'g>,
        inputs: Inputs<'g>,
        output: &mut dyn Output,
    ) -> Result<Summary, QueryError> {
        let columns: Vec<Arc<str>> = self.columns().cloned().collect();
        if self.explains() {
            output.columns(columns)?;
            let graph = graph.graph();
            return Ok(Summary {
                kind: self.kind(),
                counters: Counters::default(),
                at: CommitTs::ZERO,
                plan: Some(self.explain(graph)),
                notifications: self.notifications(graph),
            });
        }
        self.check_copies()?;
        self.check_parameters(inputs.parameters, inputs.tables)?;
        output.columns(columns)?;
        if let Some(command) = &self.bound.command {
            let mut cx = Exec::new(graph, inputs);
            let Done { counters, notifications } = command.run(&mut cx)?;
            let plan = (self.bound.mode == Mode::Profile).then(|| command.describe());
            let (kind, at) = (self.kind(), cx.graph().read_ts());
            return Ok(Summary { kind, counters, at, plan, notifications });
        }
        if let Some(command) = self.administration() {
            let host = inputs.host.ok_or_else(|| needs_server(&self.text))?;
            let command = administration::resolve(command, inputs.parameters)?;
            let counters = host.administer(&command, &self.text)?;
            let graph = graph.graph();
            let profiled = self.bound.mode == Mode::Profile;
            return Ok(Summary {
                counters,
                kind: self.kind(),
                at: graph.read_ts(),
                plan: profiled.then(|| self.explain(graph)),
                notifications: Vec::new(),
            });
        }
        if self.bound.mode == Mode::Run {
            let mut cx = Exec::new(graph, inputs);
            cx.levels = self.physical.height;
            return self.drive(&mut cx, output);
        }
        let profile = Arc::new(Profile::default());
        let hits = &profile.hits;
        let mut watch = |mut cx: Exec<'_>| {
            cx.profile = Some(Arc::clone(&profile));
            cx.levels = self.physical.height;
            self.drive(&mut cx, output)
        };
        match graph {
            Access::Read(graph) => {
                let graph = CountedRead { graph, hits };
                watch(Exec::new(Access::Read(&graph), inputs))
            }
            Access::Write(graph) => {
                let mut graph = CountedWrite { graph, hits };
                watch(Exec::new(Access::Write(&mut graph), inputs))
            }
            // Its transactions come and go: what they are asked for is not counted.
            own => watch(Exec::new(own, inputs)),
        }
    }

    /// Runs the plan to its end.
    fn drive(&self, cx: &mut Exec<'_>, output: &mut dyn Output) -> Result<Summary, QueryError> {
        if output.takes_columns() {
            cx.packed = Some(self.physical.plan.last_columns().into());
        }
        let mut operator = build(&self.physical.plan, &Batch::empty(1), Ramp::FULL, cx);
        while let Some(batch) = operator.next(cx)? {
            let slots = self.bound.columns.iter();
            let columns: Vec<_> = slots.map(|(_, slot)| Arc::clone(batch.column(*slot))).collect();
            if !columns.is_empty() && batch.rows() > 0 {
                output.rows(&columns, cx)?;
            }
            // What a profile measures is the whole query.
            if output.has_enough() && cx.profile.is_none() {
                break;
            }
        }
        drop(operator);
        output.end(cx)?;
        let graph = cx.graph();
        Ok(Summary {
            kind: self.kind(),
            counters: cx.counters,
            at: graph.read_ts(),
            plan: cx
                .profile
                .as_ref()
                .map(|profile| self.describe(graph, Some(profile.measured(cx.memory.peak())))),
            notifications: self.notifications(graph),
        })
    }

    /// What is probably not meant as it is written.
    fn notifications(&self, graph: &dyn Graph) -> Vec<Notification> {
        self.bound.unknown.iter().filter_map(|unknown| unknown.notification(graph)).collect()
    }
}
