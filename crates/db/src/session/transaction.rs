//! Several statements in one transaction.

use std::sync::Arc;
use std::time::Instant;

use telar_graph::{CommitTs, Graph, ValueMap};
use telar_query::watch::watched;
use telar_query::{
    Access, Context, ErrorKind, Inputs, Limits, Listed, Moment, Phase, Prepared, QueryError,
    QueryResult, Sink, Summary, Tables,
};

use super::Session;
use super::batches::Batches;
use super::plan::{Planned, changes};
use super::run::Shared;
use super::waiting::{commit, wait_for_next_try};
use crate::again::Again;
use crate::backend::{BackendTransaction, terminated};

/// Several statements in one transaction; each sees what those before it did. Dropping it undoes
/// everything.
///
/// It keeps its database open, has no lifetime, and can be sent to another thread: a server can
/// keep it between two requests, and let any thread go on with it.
///
/// # Examples
/// ```
/// use std::collections::HashMap;
/// use std::thread;
/// use telar_db::{Session, ValueMap};
///
/// let session = Session::new(&telar_db::open_in_memory()?);
/// let mut open = HashMap::new();
/// open.insert(7, session.begin()?);
///
/// let mut transaction = open.remove(&7).expect("it was begun");
/// let committed = thread::spawn(move || {
///     transaction.run("CREATE (:City {name: 'Ulm'})", &ValueMap::new())?;
///     transaction.commit()
/// });
/// committed.join().expect("it does not panic")?;
/// assert_eq!(session.run("MATCH (c:City) RETURN c.name", &[])?.rows, [["Ulm".into()]]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct QueryTransaction {
    transaction: Box<dyn BackendTransaction>,
    session: Session,
    began: Moment,
    deadline: Option<Instant>,
    /// The client knows of something that was read or written.
    seen: bool,
    failed: bool,
    listed: Listed,
}

/// Result of a statement: all of it, or what is left to say once rows went out.
enum Ran<T> {
    Held(Box<QueryResult>),
    Sent(T),
}

impl QueryTransaction {
    pub(super) fn new(session: &Session, transaction: Box<dyn BackendTransaction>) -> Self {
        let began = Moment::now();
        let (listed, deadline) = (session.list(began), session.deadline());
        let session = session.clone();
        Self { transaction, session, began, deadline, seen: false, failed: false, listed }
    }

    /// Runs one statement. A transaction changes either the graph or the schema; indexes and
    /// constraints are made, and dropped, when it commits.
    ///
    /// # Errors
    /// [`QueryError`]: after one that came while the statement ran the transaction cannot go on.
    /// [`ErrorKind::TransactionType`] for a change of the other kind: it can go on without it.
    pub fn run(&mut self, text: &str, parameters: &ValueMap) -> Result<QueryResult, QueryError> {
        let read = |plan: &Prepared, graph: &dyn Graph, inputs: Inputs<'_>| {
            plan.run(Access::Read(graph), inputs)
        };
        match self.statement(text, parameters, read)? {
            Ran::Held(result) => Ok(*result),
            Ran::Sent(result) => Ok(result),
        }
    }

    /// As [`run`](Self::run), handing rows to `sink`: as they come, if the statement only reads.
    ///
    /// # Errors
    /// As [`run`](Self::run), and those of the sink.
    pub fn stream(
        &mut self,
        text: &str,
        parameters: &ValueMap,
        sink: &mut dyn Sink,
    ) -> Result<Summary, QueryError> {
        let read = |plan: &Prepared, graph: &dyn Graph, inputs: Inputs<'_>| {
            plan.stream(graph, inputs, &mut *sink)
        };
        match self.statement(text, parameters, read)? {
            Ran::Sent(summary) => Ok(summary),
            Ran::Held(result) => {
                let limits = self.session.limits_of(&self.listed, self.deadline);
                let sent = watched(&limits, || result.send(sink));
                self.failed |= sent.is_err();
                sent
            }
        }
    }

    /// Runs a statement: one that only reads with `read`.
    fn statement<T>(
        &mut self,
        text: &str,
        parameters: &ValueMap,
        read: impl FnOnce(&Prepared, &dyn Graph, Inputs<'_>) -> Result<T, QueryError>,
    ) -> Result<Ran<T>, QueryError> {
        if self.failed {
            let message = "a statement of this transaction has failed: roll it back";
            return Err(QueryError::runtime(ErrorKind::Semantic, "TransactionFailed", message));
        }
        if self.listed.is_ended() {
            return Err(terminated());
        }
        let limits = self.session.limits_of(&self.listed, self.deadline);
        let done = self.listed_statement(text, parameters, &limits, read);
        self.listed.clear_query();
        done
    }

    fn listed_statement<T>(
        &mut self,
        text: &str,
        parameters: &ValueMap,
        limits: &Limits,
        read: impl FnOnce(&Prepared, &dyn Graph, Inputs<'_>) -> Result<T, QueryError>,
    ) -> Result<Ran<T>, QueryError> {
        let context = Context::new(self.began);
        let list = |text| self.listed.set_query(text, context.statement);
        let planned = Planned { graph: Some(self.transaction.graph()), limits, list: &list };
        let plan = self.session.plan(text, planned)?;
        if plan.in_transactions() {
            return Err(QueryError::needs_implicit_transaction(QueryError::IN_TRANSACTIONS));
        }
        if plan.copies() && !plan.explains() {
            let message = "COPY is a transaction of its own: it runs only outside of one";
            let detail = "TransactionStartFailed";
            return Err(QueryError::runtime(ErrorKind::Semantic, detail, message));
        }
        self.refuse_mixing(&plan)?;
        let result = if changes(&plan) {
            self.write(&plan, parameters, &context, limits)
                .map(|result| Ran::Held(Box::new(result)))
        } else {
            let inputs = self.session.inputs(parameters, &context, limits);
            let past = match plan.at(self.transaction.graph(), parameters, &context)? {
                // Commits of the past do not depend on what the transaction has written.
                Some(at) => Some(self.session.backend.snapshot_at(&at)?),
                None => None,
            };
            match past.as_deref().or_else(|| self.transaction.snapshot()) {
                // Nothing was written: the snapshot is what the transaction sees.
                Some(snapshot) => {
                    let shared = Shared(snapshot);
                    let threads = self.session.threads(&shared);
                    read(&plan, snapshot, Inputs { threads, ..inputs }).map(Ran::Sent)
                }
                None => read(&plan, self.transaction.graph(), inputs).map(Ran::Sent),
            }
        };
        self.seen = true;
        let result = result.map_err(|e| self.session.explain_once(e));
        let result = result.inspect_err(|e| self.session.runtime.note(e));
        self.failed = result.as_ref().is_err_and(|e| e.phase == Phase::Runtime);
        if self.failed {
            // It can only be undone: nobody is to wait until its client has said so.
            self.transaction.release_intents();
        }
        result
    }

    /// Runs a statement that writes. As long as nobody has seen anything of the transaction, one
    /// that comes too late for its snapshot is run again on a newer one.
    fn write(
        &mut self,
        plan: &Prepared,
        parameters: &ValueMap,
        context: &Context,
        limits: &Limits,
    ) -> Result<QueryResult, QueryError> {
        let Self { session, transaction, .. } = self;
        session.backend.may_write()?;
        let batches = Batches { session, limits };
        let inputs = session.inputs(parameters, context, limits);
        let inputs = Inputs { transactions: Some(&batches), ..inputs };
        let restarts = !self.seen && plan.writes();
        transaction.wait_for_writers(session.write_wait(limits, restarts));
        let mut again = Again::new(limits.deadline, limits.cancelled.as_deref());
        let mut done = plan.run(Access::Write(transaction.update()), inputs);
        while restarts
            && done.as_ref().is_err_and(QueryError::is_retryable)
            && wait_for_next_try(&mut again, Some(&**transaction))
        {
            done = transaction
                .restart()
                .and_then(|()| plan.run(Access::Write(transaction.update()), inputs));
        }
        done
    }

    /// Refuses to change the graph after the schema, and the schema after the graph.
    fn refuse_mixing(&self, plan: &Prepared) -> Result<(), QueryError> {
        let (now, before) = if plan.explains() {
            return Ok(());
        } else if plan.changes_schema() && self.transaction.changes_graph() {
            ("schema", "data")
        } else if plan.writes() && !plan.changes_schema() && self.transaction.changes_schema() {
            ("data", "schema")
        } else {
            return Ok(());
        };
        let message = format!(
            "Cannot perform {now} updates in a transaction that has performed {before} updates: \
             use a transaction for each"
        );
        let (kind, detail) = (ErrorKind::TransactionType, "ForbiddenDueToTransactionType");
        Err(QueryError::compile(kind, detail, message))
    }

    /// Makes everything that was changed visible to others, and says with which timestamp: what it
    /// read at, if it changed nothing. Returns when the indexes that it made can be read and its
    /// constraints were found to hold.
    ///
    /// # Errors
    /// [`ErrorKind::Conflict`]: run the transaction again; [`ErrorKind::ConstraintViolation`],
    /// [`ErrorKind::ConstraintCreation`], and those of the database itself. Nothing was changed.
    pub fn commit(self) -> Result<CommitTs, QueryError> {
        if self.failed {
            let message = "a statement of this transaction has failed: nothing can be committed";
            return Err(QueryError::runtime(ErrorKind::Semantic, "TransactionFailed", message));
        }
        let Self { mut transaction, session, deadline, listed, .. } = self;
        session.name_transaction(&mut *transaction)?;
        let terminated = Some(listed.flag());
        let limits = Limits { terminated, deadline, ..session.limits.clone() };
        let committed = commit(transaction, &limits, Some(listed));
        let committed = committed.map_err(|e| session.explain_once(e));
        committed.inspect_err(|e| session.runtime.note(e))
    }

    /// Sets the tables that are parameters of the statements that follow, as
    /// [`Session::with_tables`].
    pub fn set_tables(&mut self, tables: Option<Arc<Tables>>) {
        self.session.tables = tables;
    }

    /// Undoes everything.
    pub fn rollback(self) {}
}
