//! Statements that run by themselves, each as a transaction of its own.
//!
//! - One that reads: a plan, a snapshot.
//! - One that writes: a plan, a transaction, a commit; again on a newer state, with a new plan, if
//!   another transaction was first.
//! - `CALL { } IN TRANSACTIONS`: a snapshot for its input, and transactions of its own (`batches`).

use std::sync::Arc;
use std::time::Instant;

use telar_graph::{Graph, Value, ValueMap};
use telar_query::watch::watched;
use telar_query::{
    Access, ErrorKind, Inputs, Prepared, QueryError, QueryResult, SharedSnapshot, Sink, Summary,
};

use super::Session;
use super::batches::Batches;
use super::plan::{Began, changes};
use super::waiting::{commit, wait_for_next_try};
use crate::again::Again;
use crate::backend::{BackendTransaction, SharedGraph};

/// A state of the graph that threads read.
pub(super) struct Shared<'s>(pub(super) &'s SharedGraph<'s>);

impl SharedSnapshot for Shared<'_> {
    fn read(&self, work: &mut dyn FnMut(&dyn Graph)) {
        work(self.0);
    }
}

impl Session {
    /// Runs one statement and returns everything it returns. A query that lost a conflict against
    /// another transaction is run again, some dozen times if it has to be, within its time limit.
    ///
    /// # Errors
    /// [`QueryError`]: nothing was changed. [`ErrorKind::Conflict`] if it lost again and again.
    pub fn run(&self, text: &str, parameters: &[(&str, Value)]) -> Result<QueryResult, QueryError> {
        let entry = |(key, value): &(&str, Value)| (Arc::from(*key), value.clone());
        self.run_with(text, &parameters.iter().map(entry).collect())
    }

    /// As [`run`](Self::run), with parameters in a map.
    ///
    /// # Errors
    /// As [`run`](Self::run).
    pub fn run_with(&self, text: &str, parameters: &ValueMap) -> Result<QueryResult, QueryError> {
        let deadline = self.deadline();
        let began = Began::new(self, deadline);
        let plan = began.plan(self, text)?;
        if plan.copies() && !plan.explains() {
            return watched(&began.limits, || self.copy(&plan, parameters, &began));
        }
        self.run_until(text, parameters, deadline, (began, plan))
    }

    /// Runs a statement that began, and again as long as it loses conflicts.
    fn run_until(
        &self,
        text: &str,
        parameters: &ValueMap,
        deadline: Option<Instant>,
        (mut began, mut plan): (Began, Arc<Prepared>),
    ) -> Result<QueryResult, QueryError> {
        let mut again = Again::new(deadline, self.limits.cancelled.as_deref());
        // What lost holds on to what it is about to write: it is next.
        let mut lost: Option<Box<dyn BackendTransaction>> = None;
        loop {
            let done = self.try_run(&plan, parameters, began, &mut lost);
            let done = done.map_err(|e| self.explain_once(e));
            let done = done.inspect_err(|e| self.runtime.note(e));
            let retry = done.as_ref().is_err_and(QueryError::is_retryable);
            if !retry || !wait_for_next_try(&mut again, lost.as_deref()) {
                return done;
            }
            began = Began::new(self, deadline);
            plan = began.plan(self, text)?;
        }
    }

    /// Runs one statement and hands its rows to `sink` as they come. Those of a statement that
    /// changes something are held until it is committed, so that a slow reader keeps no transaction
    /// open; those of one that only reads are not, and its snapshot lives as long as they last.
    ///
    /// # Errors
    /// [`QueryError`]: nothing was changed, or it is the sink's own. The sink may have been given
    /// rows.
    pub fn stream(
        &self,
        text: &str,
        parameters: &ValueMap,
        sink: &mut dyn Sink,
    ) -> Result<Summary, QueryError> {
        let deadline = self.deadline();
        let began = Began::new(self, deadline);
        let plan = began.plan(self, text)?;
        if plan.copies() && !plan.explains() {
            let result = watched(&began.limits, || self.copy(&plan, parameters, &began))?;
            sink.committed();
            return watched(&self.limits, || result.send(sink));
        }
        if !changes(&plan) && (plan.explains() || !plan.in_transactions()) {
            return self
                .read(&plan, parameters, &began, |graph, inputs| plan.stream(graph, inputs, sink));
        }
        let result = self.run_until(text, parameters, deadline, (began, plan))?;
        // It is done: only who wants its rows can say that they are not wanted any more.
        sink.committed();
        watched(&self.limits, || result.send(sink))
    }

    /// Lets `run` read the state of the graph that a plan wants: the present, if it does not say.
    pub(super) fn read<T>(
        &self,
        plan: &Prepared,
        parameters: &ValueMap,
        began: &Began,
        run: impl FnOnce(&dyn Graph, Inputs<'_>) -> Result<T, QueryError>,
    ) -> Result<T, QueryError> {
        let Began { context, limits, .. } = began;
        let present = self.backend.snapshot()?;
        let past = match plan.at(&*present, parameters, context)? {
            None => None,
            Some(at) => Some(self.backend.snapshot_at(&at)?),
        };
        let snapshot = past.as_deref().unwrap_or(&*present);
        let shared = Shared(snapshot);
        let threads = self.threads(&shared);
        run(snapshot, Inputs { threads, ..self.inputs(parameters, context, limits) })
    }

    fn try_run(
        &self,
        plan: &Prepared,
        parameters: &ValueMap,
        began: Began,
        lost: &mut Option<Box<dyn BackendTransaction>>,
    ) -> Result<QueryResult, QueryError> {
        if plan.in_transactions() && !plan.explains() {
            if changes(plan) {
                self.backend.may_write()?;
            }
            let snapshot = self.backend.snapshot()?;
            let inputs = self.inputs(parameters, &began.context, &began.limits);
            let batches = Batches { session: self, limits: &began.limits };
            let inputs = Inputs { transactions: Some(&batches), ..inputs };
            return plan.run(Access::Read(&*snapshot), inputs).map_err(|e| {
                match e.is_retryable() {
                    // To run it again would do again what was committed.
                    true => QueryError::runtime(ErrorKind::Database, "Conflict", e.message),
                    false => e,
                }
            });
        }
        if !changes(plan) {
            return self.read(plan, parameters, &began, |graph, inputs| {
                plan.run(Access::Read(graph), inputs)
            });
        }
        self.backend.may_write()?;
        let Began { listed, context, limits } = began;
        let restarts = lost.is_some();
        let mut transaction = match lost.take() {
            Some(transaction) => transaction,
            None => self.begin_transaction()?,
        };
        transaction.wait_for_writers(self.write_wait(&limits, true));
        let batches = Batches { session: self, limits: &limits };
        let inputs = self.inputs(parameters, &context, &limits);
        let inputs = Inputs { transactions: Some(&batches), ..inputs };
        let restarted = if restarts { transaction.restart() } else { Ok(()) };
        let done = restarted.and_then(|()| plan.run(Access::Write(transaction.update()), inputs));
        if done.as_ref().is_err_and(QueryError::is_retryable) && plan.writes() {
            *lost = Some(transaction);
            return done;
        }
        let mut result = done?;
        self.check_still_allowed()?;
        result.at = commit(transaction, &limits, Some(listed))?;
        Ok(result)
    }
}
