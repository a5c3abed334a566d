//! openCypher on a database.

use std::fmt;
use std::sync::Arc;
use std::time::{Duration, Instant};

use telar_engine::{Engine, Error, Isolation, Reader, Snapshot, Transaction, TransactionSnapshot};
use telar_graph::{CommitTs, Graph, Update, Value, ValueMap};
use telar_query::{
    Access, At, Context, ErrorKind, Host, Inputs, Limits, Listed, Moment, OpenTransaction, Origin,
    Phase, Prepared, QueryError, QueryResult, Scratch, ScratchFolder, SharedSnapshot, Sink,
    Summary, Threads, Transactions, Workers,
};

use crate::again::Again;
use crate::refusal;
use crate::runtime::Runtime;

/// Runs queries on a database. Threads may share one.
///
/// Each query is a transaction: it sees one state of the graph, and what it changes is there for
/// others once it has returned, whole or, after an error, not at all.
///
/// # Examples
/// ```
/// use telar_db::{Session, Value};
///
/// let db = telar_db::open_in_memory()?;
/// let session = Session::new(&db);
/// session.run("CREATE (:Person {name: 'Ada'})-[:KNOWS]->(:Person {name: 'Bob'})", &[])?;
///
/// let who = [("who", Value::from("Ada"))];
/// let result = session.run("MATCH ({name: $who})-[:KNOWS]->(p) RETURN p.name AS name", &who)?;
/// assert_eq!(*result.columns[0], *"name");
/// assert_eq!(result.rows, [[Value::from("Bob")]]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Session<'d> {
    db: &'d Engine,
    runtime: Arc<Runtime>,
    limits: Limits,
    /// The folder of the database, for temporary files.
    scratch: Option<Arc<dyn Scratch>>,
    timeout: Option<Duration>,
    isolation: Isolation,
    read_only: bool,
    /// Threads of its own, not those of the runtime.
    workers: Option<Arc<Workers>>,
    host: Option<Arc<dyn Host>>,
    origin: Origin,
}

impl fmt::Debug for Session<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Session").field("origin", &self.origin).finish_non_exhaustive()
    }
}

fn terminated() -> QueryError {
    let message = "the transaction was terminated";
    QueryError::runtime(ErrorKind::Terminated, "Terminated", message)
}

/// Refuses to go on with what was terminated, which from now on it cannot be.
fn close(listed: Listed) -> Result<(), QueryError> {
    if listed.close() { Err(terminated()) } else { Ok(()) }
}

/// Whether a statement needs a transaction.
fn changes(plan: &Prepared) -> bool {
    !plan.explains() && (plan.writes() || plan.changes_schema())
}

/// A statement that runs by itself.
struct Began {
    listed: Listed,
    now: Moment,
    context: Context,
}

impl Began {
    fn new(session: &Session<'_>) -> Self {
        let now = Moment::now();
        Self { listed: session.list(now), now, context: Context::new(now) }
    }

    /// What it runs is seen by who looks, from now on; and it may use no more than this.
    fn limits(&self, session: &Session<'_>, plan: &Prepared, deadline: Option<Instant>) -> Limits {
        self.listed.set_query(Some(plan.text().clone()), self.now);
        let terminated = Some(self.listed.flag());
        Limits { terminated, deadline, scratch: session.scratch(), ..session.limits.clone() }
    }
}

impl<'d> Session<'d> {
    /// A session without limits, under snapshot isolation, with the built-in procedures.
    #[must_use]
    pub fn new(db: &'d Engine) -> Self {
        Self::with_runtime(db, Arc::default())
    }

    /// As [`new`](Self::new), sharing plans with other sessions of the same database; they list and
    /// end each other's queries.
    #[must_use]
    pub fn with_runtime(db: &'d Engine, runtime: Arc<Runtime>) -> Self {
        let scratch = |folder| Arc::new(ScratchFolder::new(folder)) as Arc<dyn Scratch>;
        Self {
            db,
            runtime,
            limits: Limits::default(),
            scratch: db.folder().map(scratch),
            timeout: None,
            isolation: Isolation::default(),
            read_only: false,
            workers: None,
            host: None,
            origin: Origin::default(),
        }
    }

    /// The same session, for which queries may use no more than this. Rows that do not fit into
    /// their memory go to temporary files in the folder of the database, if it has one and
    /// [`Limits::scratch`] names no other place.
    #[must_use]
    pub fn with_limits(self, limits: Limits) -> Self {
        Self { limits, ..self }
    }

    /// The same session, in which each statement, or transaction of several, is given up after this
    /// time, with [`ErrorKind::TimedOut`], and changes nothing.
    #[must_use]
    pub fn with_timeout(self, timeout: Duration) -> Self {
        Self { timeout: Some(timeout), ..self }
    }

    /// The same session, whose updates are isolated like this.
    #[must_use]
    pub fn with_isolation(self, isolation: Isolation) -> Self {
        Self { isolation, ..self }
    }

    /// The same session, in which long queries that only read are helped by these threads, in place
    /// of those of the [runtime](Runtime::workers). With [`Workers::new(1)`](Workers::new) each
    /// runs on the thread that asks for it.
    #[must_use]
    pub fn with_workers(self, workers: Arc<Workers>) -> Self {
        Self { workers: Some(workers), ..self }
    }

    /// The same session, in which statements that change anything are refused, with
    /// [`ErrorKind::AccessMode`].
    #[must_use]
    pub fn read_only(self) -> Self {
        Self { read_only: true, ..self }
    }

    /// The same session on behalf of somebody who uses a server: `host` decides what may run, and
    /// executes commands for the server; `SHOW TRANSACTIONS` shows `origin`.
    #[must_use]
    pub fn with_host(self, host: Arc<dyn Host>, origin: Origin) -> Self {
        Self { host: Some(host), origin, ..self }
    }

    /// What it shares with others.
    #[must_use]
    pub fn runtime(&self) -> &Arc<Runtime> {
        &self.runtime
    }

    fn error(&self, error: &Error) -> QueryError {
        refusal::query_error(self.db, error)
    }

    fn list(&self, began: Moment) -> Listed {
        self.runtime.running().list(began, self.origin.clone())
    }

    /// When what begins now is given up.
    fn deadline(&self) -> Option<Instant> {
        let own = self.timeout.and_then(|timeout| Instant::now().checked_add(timeout));
        [own, self.limits.deadline].into_iter().flatten().min()
    }

    /// Where rows go that do not fit into memory.
    fn scratch(&self) -> Option<Arc<dyn Scratch>> {
        self.limits.scratch.as_ref().or(self.scratch.as_ref()).cloned()
    }

    fn prepared(&self, text: &str, graph: &dyn Graph) -> Result<Arc<Prepared>, QueryError> {
        // Read first: a plan made while an index comes is made again.
        let version = self.db.planning_version();
        if let Some(plan) = self.runtime.plan(text, version) {
            return Ok(plan);
        }
        let plan = Arc::new(telar_query::prepare(text, graph, self.runtime.procedures())?);
        // What is kept holds no passwords.
        if plan.administration().is_none() {
            self.runtime.keep(&plan, version);
        }
        Ok(plan)
    }

    fn plan(&self, text: &str, graph: &dyn Graph) -> Result<Arc<Prepared>, QueryError> {
        let plan = self.prepared(text, graph)?;
        match &self.host {
            Some(host) => host.allow(&plan)?,
            None => self.check_database(&plan)?,
        }
        let administers = plan.administration().is_some() && !plan.explains();
        if self.read_only && (changes(&plan) || administers) {
            let message = "the statement changes the database, in a session that only reads";
            return Err(QueryError::compile(ErrorKind::AccessMode, "ReadOnly", message));
        }
        Ok(plan)
    }

    /// Refuses `USE` of another database: without a server there is one.
    fn check_database(&self, plan: &Prepared) -> Result<(), QueryError> {
        let own = &self.runtime.procedures().database;
        match plan.database() {
            Some(name) if *name != *own.to_lowercase() => {
                let message = format!("graph not found: {name}; this session is one of {own}");
                let kind = ErrorKind::EntityNotFound;
                Err(QueryError::compile(kind, "GraphNotFound", message))
            }
            _ => Ok(()),
        }
    }

    /// The database that a statement asks for with `USE`, in small letters, if it does: by this a
    /// server that has several chooses the session that runs it.
    ///
    /// # Errors
    /// Whatever is wrong with the statement before it runs.
    ///
    /// *Cost*: that of preparing it, once; the plan is kept.
    pub fn database_of(&self, text: &str) -> Result<Option<Arc<str>>, QueryError> {
        let snapshot = self.db.snapshot().map_err(|e| self.error(&e))?;
        let plan = self.prepared(text, &snapshot.reader())?;
        Ok(plan.database().map(Arc::from))
    }

    fn inputs<'a>(
        &'a self,
        parameters: &'a ValueMap,
        context: &'a Context,
        limits: &'a Limits,
    ) -> Inputs<'a> {
        let (procedures, host) = (self.runtime.procedures(), self.host.as_deref());
        let (transactions, threads) = (None, None);
        Inputs { parameters, context, procedures, limits, transactions, host, threads }
    }

    /// Who helps a query that only reads this snapshot.
    fn threads<'a>(&'a self, snapshot: &'a dyn SharedSnapshot) -> Option<Threads<'a>> {
        let workers = self.workers.as_ref().unwrap_or_else(|| self.runtime.workers());
        Some(Threads { workers, snapshot })
    }

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
        let mut again = Again::new(deadline, self.limits.cancelled.as_deref());
        loop {
            match self.try_run(text, parameters, deadline) {
                Err(e) if e.is_retryable() && again.wait() => {}
                done => return done,
            }
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
        let snapshot = self.db.snapshot().map_err(|e| self.error(&e))?;
        let reader = snapshot.reader();
        let plan = self.plan(text, &reader)?;
        if !changes(&plan) && (plan.explains() || !plan.in_transactions()) {
            let began = Began::new(self);
            let began = (&began, self.deadline());
            return self.read(&plan, (&snapshot, &reader), parameters, began, |graph, inputs| {
                plan.stream(graph, inputs, sink)
            });
        }
        drop(reader);
        drop(snapshot);
        self.run_with(text, parameters)?.send(sink)
    }

    /// Lets `run` read the state of the graph that a plan wants: the present, if it does not say.
    fn read<T>(
        &self,
        plan: &Prepared,
        (present, reader): (&Snapshot<'_>, &Reader<'_>),
        parameters: &ValueMap,
        (began, deadline): (&Began, Option<Instant>),
        run: impl FnOnce(&dyn Graph, Inputs<'_>) -> Result<T, QueryError>,
    ) -> Result<T, QueryError> {
        let context = &began.context;
        let limits = began.limits(self, plan, deadline);
        let past = match plan.at(reader, parameters, context)? {
            None => None,
            Some(At::Commit(ts)) => Some(self.db.snapshot_at(ts)),
            Some(At::Time(ms)) => Some(self.db.snapshot_at_time(ms)),
        };
        let past = past.transpose().map_err(|e| self.error(&e))?;
        let shared = Shared(past.as_ref().unwrap_or(present));
        let threads = self.threads(&shared);
        let past = past.as_ref().map(Snapshot::reader);
        run(
            past.as_ref().unwrap_or(reader),
            Inputs { threads, ..self.inputs(parameters, context, &limits) },
        )
    }

    fn try_run(
        &self,
        text: &str,
        parameters: &ValueMap,
        deadline: Option<Instant>,
    ) -> Result<QueryResult, QueryError> {
        let began = Began::new(self);
        let snapshot = self.db.snapshot().map_err(|e| self.error(&e))?;
        let reader = snapshot.reader();
        let plan = self.plan(text, &reader)?;
        if plan.in_transactions() && !plan.explains() {
            let limits = began.limits(self, &plan, deadline);
            let inputs = self.inputs(parameters, &began.context, &limits);
            let inputs = Inputs { transactions: Some(self), ..inputs };
            return plan.run(Access::Read(&reader), inputs).map_err(|e| match e.is_retryable() {
                // To run it again would do again what was committed.
                true => QueryError::runtime(ErrorKind::Database, "Conflict", e.message),
                false => e,
            });
        }
        if !changes(&plan) {
            let began = (&began, deadline);
            return self.read(&plan, (&snapshot, &reader), parameters, began, |graph, inputs| {
                plan.run(Access::Read(graph), inputs)
            });
        }
        drop(reader);
        drop(snapshot);
        let limits = began.limits(self, &plan, deadline);
        let begun = self.db.begin_with(self.isolation);
        let mut transaction = begun.map_err(|e| self.error(&e))?;
        let inputs = self.inputs(parameters, &began.context, &limits);
        let mut result = plan.run(Access::Write(&mut transaction), inputs)?;
        close(began.listed)?;
        result.at = refusal::commit(self.db, transaction)?;
        Ok(result)
    }

    /// Begins a transaction of several statements.
    ///
    /// # Errors
    /// If too many are open.
    pub fn begin(&self) -> Result<QueryTransaction<'_, 'd>, QueryError> {
        let begun = self.db.begin_with(self.isolation);
        let transaction = begun.map_err(|e| self.error(&e))?;
        let began = Moment::now();
        let (listed, deadline) = (self.list(began), self.deadline());
        Ok(QueryTransaction { session: self, transaction, began, deadline, failed: false, listed })
    }
}

/// A snapshot that threads read.
struct Shared<'s>(&'s Snapshot<'s>);

impl SharedSnapshot for Shared<'_> {
    fn read(&self, work: &mut dyn FnMut(&dyn Graph)) {
        work(&self.0.reader());
    }
}

/// The same, of a transaction that has written nothing.
struct Unchanged<'t>(TransactionSnapshot<'t>);

impl SharedSnapshot for Unchanged<'_> {
    fn read(&self, work: &mut dyn FnMut(&dyn Graph)) {
        work(&self.0.reader());
    }
}

/// A transaction that a query began.
struct Open<'d>(Transaction<'d>, &'d Engine);

impl OpenTransaction for Open<'_> {
    fn graph(&self) -> &dyn Graph {
        &self.0
    }

    fn update(&mut self) -> &mut dyn Update {
        &mut self.0
    }

    fn commit(self: Box<Self>) -> Result<CommitTs, QueryError> {
        let Self(transaction, db) = *self;
        refusal::commit(db, transaction)
    }
}

impl Transactions for Session<'_> {
    fn begin(&self) -> Result<Box<dyn OpenTransaction + '_>, QueryError> {
        let begun = self.db.begin_with(self.isolation);
        Ok(Box::new(Open(begun.map_err(|e| self.error(&e))?, self.db)))
    }
}

/// Several statements in one transaction; each sees what those before it did. Dropping it undoes
/// everything.
#[derive(Debug)]
pub struct QueryTransaction<'s, 'd> {
    session: &'s Session<'d>,
    transaction: Transaction<'d>,
    began: Moment,
    deadline: Option<Instant>,
    failed: bool,
    listed: Listed,
}

impl QueryTransaction<'_, '_> {
    /// Runs one statement. A transaction changes either the graph or the schema; indexes and
    /// constraints are made, and dropped, when it commits.
    ///
    /// # Errors
    /// [`QueryError`]: after one that came while the statement ran the transaction cannot go on.
    /// [`ErrorKind::TransactionType`] for a change of the other kind: it can go on without it.
    pub fn run(&mut self, text: &str, parameters: &ValueMap) -> Result<QueryResult, QueryError> {
        self.statement(text, parameters, |plan, graph, inputs| plan.run(graph, inputs))
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
        self.statement(text, parameters, |plan, graph, inputs| match graph {
            Access::Read(graph) => plan.stream(graph, inputs, sink),
            graph => plan.run(graph, inputs)?.send(sink),
        })
    }

    fn statement<T>(
        &mut self,
        text: &str,
        parameters: &ValueMap,
        run: impl for<'g> FnOnce(&Prepared, Access<'g>, Inputs<'g>) -> Result<T, QueryError>,
    ) -> Result<T, QueryError> {
        if self.failed {
            let message = "a statement of this transaction has failed: roll it back";
            return Err(QueryError::runtime(ErrorKind::Semantic, "TransactionFailed", message));
        }
        if self.listed.is_ended() {
            return Err(terminated());
        }
        let session = self.session;
        let plan = session.plan(text, &self.transaction)?;
        if plan.in_transactions() {
            let message = "CALL { } IN TRANSACTIONS runs only outside of a transaction";
            let detail = "TransactionStartFailed";
            return Err(QueryError::runtime(ErrorKind::Semantic, detail, message));
        }
        self.refuse_mixing(&plan)?;
        let context = Context::new(self.began);
        self.listed.set_query(Some(plan.text().clone()), Moment::now());
        let terminated = Some(self.listed.flag());
        let (deadline, scratch) = (self.deadline, session.scratch());
        let limits = Limits { terminated, deadline, scratch, ..session.limits.clone() };
        let inputs = session.inputs(parameters, &context, &limits);
        let result = match changes(&plan) {
            true => run(&plan, Access::Write(&mut self.transaction), inputs),
            false => {
                let shared = self.transaction.shared_snapshot().map(Unchanged);
                let threads = shared.as_ref().and_then(|shared| session.threads(shared));
                run(&plan, Access::Read(&self.transaction), Inputs { threads, ..inputs })
            }
        };
        self.listed.set_query(None, self.began);
        self.failed = result.as_ref().is_err_and(|e| e.phase == Phase::Runtime);
        result
    }

    /// Refuses to change the graph after the schema, and the schema after the graph.
    fn refuse_mixing(&self, plan: &Prepared) -> Result<(), QueryError> {
        let (now, before) = if plan.explains() {
            return Ok(());
        } else if plan.writes() && self.transaction.changes_schema() {
            ("data", "schema")
        } else if plan.changes_schema() && self.transaction.changes_graph() {
            ("schema", "data")
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
        close(self.listed)?;
        refusal::commit(self.session.db, self.transaction)
    }

    /// Undoes everything.
    pub fn rollback(self) {}
}
