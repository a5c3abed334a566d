//! openCypher on a database.

use std::fmt;
use std::sync::Arc;
use std::time::{Duration, Instant};

use telar_engine::{
    Engine, Error, Isolation, Snapshot, Transaction, TransactionSnapshot, WriteWait,
};
use telar_graph::{CommitTs, Graph, Update, Value, ValueMap};
use telar_query::watch::{self, watched};
use telar_query::{
    Access, At, Context, ErrorKind, Host, Inputs, Limits, Listed, Moment, OpenTransaction, Origin,
    Phase, Prepared, QueryError, QueryResult, Scratch, SharedSnapshot, Sink, Summary, Threads,
    Transactions, Workers,
};

use crate::again::Again;
use crate::refusal::{self, Waiting, terminated};
use crate::runtime::Runtime;

/// How long a write waits, unless it is said, for a transaction that has written the same.
const WRITE_WAIT: Duration = Duration::from_secs(1);

/// Bytes of memory that a statement's tree and plan may take for each byte of its text.
const TREE_BYTES: usize = 32;

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
    write_wait: Duration,
    read_only: bool,
    /// Threads of its own, not those of the runtime.
    workers: Option<Arc<Workers>>,
    host: Option<Arc<dyn Host>>,
    origin: Arc<Origin>,
}

impl fmt::Debug for Session<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Session").field("origin", &self.origin).finish_non_exhaustive()
    }
}

/// Waits until the next try of a statement whose transaction may go on.
fn wait_for(again: &mut Again<'_>, lost: Option<&Transaction<'_>>) -> bool {
    match lost {
        Some(transaction) if transaction.holds_intents() => again.wait_for_turn(),
        _ => again.wait(),
    }
}

/// Whether a statement needs a transaction.
fn changes(plan: &Prepared) -> bool {
    !plan.explains() && (plan.writes() || plan.changes_schema())
}

/// A statement that runs by itself: planning is a part of it.
struct Began {
    listed: Listed,
    context: Context,
    limits: Limits,
}

impl Began {
    fn new(session: &Session<'_>, deadline: Option<Instant>) -> Self {
        let now = Moment::now();
        let listed = session.list(now);
        let limits = session.limits_of(&listed, deadline);
        Self { listed, context: Context::alone(now), limits }
    }

    fn plan(&self, session: &Session<'_>, text: &str) -> Result<Arc<Prepared>, QueryError> {
        let list = |text| self.listed.set_only_query(text);
        session.plan(text, Planned { graph: None, limits: &self.limits, list: &list })
    }
}

/// A statement that is about to be planned.
struct Planned<'p> {
    /// Graph that it is planned for; without one a snapshot is opened, if it has to be planned.
    graph: Option<&'p dyn Graph>,
    limits: &'p Limits,
    /// Lists its text.
    list: &'p dyn Fn(Arc<str>),
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
        let scratch = runtime.scratch(db.folder());
        Self {
            db,
            runtime,
            limits: Limits::default(),
            scratch,
            timeout: None,
            isolation: Isolation::default(),
            write_wait: WRITE_WAIT,
            read_only: false,
            workers: None,
            host: None,
            origin: Arc::default(),
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

    /// The same session, in which a statement that writes waits this long, unless its own time is
    /// over before, for another transaction that has written the same and is still open; then the
    /// first of them to commit wins. One second unless it is said; zero: it never waits.
    #[must_use]
    pub fn with_write_wait(self, write_wait: Duration) -> Self {
        Self { write_wait, ..self }
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
    pub fn with_host(self, host: Arc<dyn Host>, origin: impl Into<Arc<Origin>>) -> Self {
        Self { host: Some(host), origin: origin.into(), ..self }
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
        self.runtime.running().list(began, Arc::clone(&self.origin))
    }

    /// When what begins now is given up.
    fn deadline(&self) -> Option<Instant> {
        let own = self.timeout.and_then(|timeout| Instant::now().checked_add(timeout));
        [own, self.limits.deadline].into_iter().flatten().min()
    }

    /// How a statement waits for other transactions; `restarts` if nobody knows of it yet.
    fn write_wait(&self, limits: &Limits, restarts: bool) -> WriteWait {
        let flags = [limits.cancelled.clone(), limits.terminated.clone()];
        WriteWait { longest: self.write_wait, deadline: limits.deadline, flags, restarts }
    }

    /// Where rows go that do not fit into memory.
    fn scratch(&self) -> Option<Arc<dyn Scratch>> {
        self.limits.scratch.as_ref().or(self.scratch.as_ref()).cloned()
    }

    /// What a statement that is listed may use.
    fn limits_of(&self, listed: &Listed, deadline: Option<Instant>) -> Limits {
        let terminated = Some(listed.flag());
        Limits { terminated, deadline, scratch: self.scratch(), ..self.limits.clone() }
    }

    /// The plan of a statement, which from now on is seen by who looks.
    fn prepared(&self, text: &str, planned: Planned<'_>) -> Result<Arc<Prepared>, QueryError> {
        // Read first: a plan made while an index comes is made again.
        let version = self.db.planning_version();
        if let Some(plan) = self.runtime.plan(text, version) {
            (planned.list)(Arc::clone(plan.text()));
            return Ok(plan);
        }
        // Who looks sees no passwords.
        let shown = telar_query::cypher::without_secrets(text);
        (planned.list)(shown.as_ref().into());
        let plan = Arc::new(match planned.graph {
            Some(graph) => self.prepare(text, graph, planned.limits)?,
            None => {
                let snapshot = self.db.snapshot().map_err(|e| self.error(&e))?;
                self.prepare(text, &snapshot.reader(), planned.limits)?
            }
        });
        // What is kept holds no passwords.
        if plan.administration().is_none() {
            self.runtime.keep(&plan, version);
        }
        Ok(plan)
    }

    fn prepare(
        &self,
        text: &str,
        graph: &dyn Graph,
        limits: &Limits,
    ) -> Result<Prepared, QueryError> {
        watched(limits, || {
            watch::room(text.len().saturating_mul(TREE_BYTES))?;
            telar_query::prepare(text, graph, self.runtime.procedures())
        })
    }

    fn plan(&self, text: &str, planned: Planned<'_>) -> Result<Arc<Prepared>, QueryError> {
        if let Some(host) = &self.host {
            host.admit(text)?;
        }
        let plan = self.prepared(text, planned)?;
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

    /// Whoever began may have been stopped since.
    fn check_still_allowed(&self) -> Result<(), QueryError> {
        self.host.as_ref().map_or(Ok(()), |host| host.still_allows())
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
        let Began { listed, limits, .. } = Began::new(self, self.deadline());
        let list = |text| listed.set_only_query(text);
        let plan = self.prepared(text, Planned { graph: None, limits: &limits, list: &list })?;
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
        let began = Began::new(self, deadline);
        let plan = began.plan(self, text)?;
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
        let mut lost: Option<Transaction<'d>> = None;
        loop {
            let done = self.try_run(&plan, parameters, began, &mut lost);
            let done = done.inspect_err(|e| self.runtime.note(e));
            let retry = done.as_ref().is_err_and(QueryError::is_retryable);
            if !retry || !wait_for(&mut again, lost.as_ref()) {
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
    fn read<T>(
        &self,
        plan: &Prepared,
        parameters: &ValueMap,
        began: &Began,
        run: impl FnOnce(&dyn Graph, Inputs<'_>) -> Result<T, QueryError>,
    ) -> Result<T, QueryError> {
        let Began { context, limits, .. } = began;
        let present = self.db.snapshot().map_err(|e| self.error(&e))?;
        let past = match plan.at(&present, parameters, context)? {
            None => None,
            Some(At::Commit(ts)) => Some(self.db.snapshot_at(ts)),
            Some(At::Time(ms)) => Some(self.db.snapshot_at_time(ms)),
        };
        let past = past.transpose().map_err(|e| self.error(&e))?;
        // Not by a reader: it may take long, and what it has read is to leave memory meanwhile.
        let snapshot = past.as_ref().unwrap_or(&present);
        let shared = Shared(snapshot);
        let threads = self.threads(&shared);
        run(snapshot, Inputs { threads, ..self.inputs(parameters, context, limits) })
    }

    fn try_run(
        &self,
        plan: &Prepared,
        parameters: &ValueMap,
        began: Began,
        lost: &mut Option<Transaction<'d>>,
    ) -> Result<QueryResult, QueryError> {
        if plan.in_transactions() && !plan.explains() {
            let snapshot = self.db.snapshot().map_err(|e| self.error(&e))?;
            let inputs = self.inputs(parameters, &began.context, &began.limits);
            let batches = Batches { session: self, limits: &began.limits };
            let inputs = Inputs { transactions: Some(&batches), ..inputs };
            return plan.run(Access::Read(&snapshot), inputs).map_err(|e| match e.is_retryable() {
                // To run it again would do again what was committed.
                true => QueryError::runtime(ErrorKind::Database, "Conflict", e.message),
                false => e,
            });
        }
        if !changes(plan) {
            return self.read(plan, parameters, &began, |graph, inputs| {
                plan.run(Access::Read(graph), inputs)
            });
        }
        let Began { listed, context, limits } = began;
        let restarts = lost.is_some();
        let mut transaction = match lost.take() {
            Some(transaction) => transaction,
            None => self.db.begin_with(self.isolation).map_err(|e| self.error(&e))?,
        };
        transaction.wait_for_writers(self.write_wait(&limits, true));
        let inputs = self.inputs(parameters, &context, &limits);
        let restarted = if restarts { transaction.restart() } else { Ok(()) };
        let done = restarted
            .map_err(|e| self.error(&e))
            .and_then(|()| plan.run(Access::Write(&mut transaction), inputs));
        if done.as_ref().is_err_and(QueryError::is_retryable) && plan.writes() {
            *lost = Some(transaction);
            return done;
        }
        let mut result = done?;
        self.check_still_allowed()?;
        let waiting = Waiting::new(&limits, listed);
        result.at = refusal::commit(self.db, transaction, &waiting)?;
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
        let (seen, failed) = (false, false);
        Ok(QueryTransaction { session: self, transaction, began, deadline, seen, failed, listed })
    }
}

/// A snapshot that threads read.
struct Shared<'s>(&'s Snapshot<'s>);

impl SharedSnapshot for Shared<'_> {
    fn read(&self, work: &mut dyn FnMut(&dyn Graph)) {
        work(self.0);
    }
}

/// The same, of a transaction that has written nothing.
struct Unchanged<'t>(TransactionSnapshot<'t>);

impl SharedSnapshot for Unchanged<'_> {
    fn read(&self, work: &mut dyn FnMut(&dyn Graph)) {
        work(&self.0);
    }
}

/// A transaction that a query began.
struct Open<'s> {
    transaction: Transaction<'s>,
    session: &'s Session<'s>,
    limits: &'s Limits,
}

impl OpenTransaction for Open<'_> {
    fn graph(&self) -> &dyn Graph {
        &self.transaction
    }

    fn update(&mut self) -> &mut dyn Update {
        &mut self.transaction
    }

    fn written_bytes(&self) -> u64 {
        self.transaction.written_bytes()
    }

    fn commit(self: Box<Self>) -> Result<CommitTs, QueryError> {
        let Self { transaction, session, limits } = *self;
        session.check_still_allowed()?;
        refusal::commit(session.db, transaction, &Waiting::unlisted(limits))
    }
}

/// The transactions of one statement, which end when it is told to.
struct Batches<'s> {
    session: &'s Session<'s>,
    limits: &'s Limits,
}

impl Transactions for Batches<'_> {
    fn begin(&self) -> Result<Box<dyn OpenTransaction + '_>, QueryError> {
        let Self { session, limits } = *self;
        let begun = session.db.begin_with(session.isolation);
        let mut transaction = begun.map_err(|e| session.error(&e))?;
        transaction.wait_for_writers(session.write_wait(limits, false));
        Ok(Box::new(Open { transaction, session, limits }))
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
    /// The client knows of something that was read or written.
    seen: bool,
    failed: bool,
    listed: Listed,
}

/// What a statement gave: all of it, or what is left to say once rows went out.
enum Ran<T> {
    Held(Box<QueryResult>),
    Sent(T),
}

impl QueryTransaction<'_, '_> {
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
        let session = self.session;
        let limits = session.limits_of(&self.listed, self.deadline);
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
        let session = self.session;
        let context = Context::new(self.began);
        let list = |text| self.listed.set_query(text, context.statement);
        let planned = Planned { graph: Some(&self.transaction), limits, list: &list };
        let plan = session.plan(text, planned)?;
        if plan.in_transactions() {
            let message = "CALL { } IN TRANSACTIONS runs only outside of a transaction";
            let detail = "TransactionStartFailed";
            return Err(QueryError::runtime(ErrorKind::Semantic, detail, message));
        }
        self.refuse_mixing(&plan)?;
        let inputs = session.inputs(parameters, &context, limits);
        let result = if changes(&plan) {
            self.write(&plan, inputs).map(|result| Ran::Held(Box::new(result)))
        } else {
            let shared = self.transaction.shared_snapshot().map(Unchanged);
            let threads = shared.as_ref().and_then(|shared| session.threads(shared));
            let inputs = Inputs { threads, ..inputs };
            match &shared {
                // Nothing was written: the snapshot is what the transaction sees.
                Some(shared) => read(&plan, &shared.0, inputs).map(Ran::Sent),
                None => read(&plan, &self.transaction, inputs).map(Ran::Sent),
            }
        };
        self.seen = true;
        let result = result.inspect_err(|e| session.runtime.note(e));
        self.failed = result.as_ref().is_err_and(|e| e.phase == Phase::Runtime);
        if self.failed {
            // It can only be undone: nobody is to wait until its client has said so.
            self.transaction.release_intents();
        }
        result
    }

    /// Runs a statement that writes. As long as nobody has seen anything of the transaction, one
    /// that comes too late for its snapshot is run again on a newer one.
    fn write(&mut self, plan: &Prepared, inputs: Inputs<'_>) -> Result<QueryResult, QueryError> {
        let (session, limits) = (self.session, inputs.limits);
        let restarts = !self.seen && plan.writes();
        self.transaction.wait_for_writers(session.write_wait(limits, restarts));
        let mut again = Again::new(limits.deadline, limits.cancelled.as_deref());
        let mut done = plan.run(Access::Write(&mut self.transaction), inputs);
        while restarts
            && done.as_ref().is_err_and(QueryError::is_retryable)
            && wait_for(&mut again, Some(&self.transaction))
        {
            done = match self.transaction.restart() {
                Ok(()) => plan.run(Access::Write(&mut self.transaction), inputs),
                Err(error) => Err(session.error(&error)),
            };
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
        let session = self.session;
        let terminated = Some(self.listed.flag());
        let limits = Limits { terminated, deadline: self.deadline, ..session.limits.clone() };
        let waiting = Waiting::new(&limits, self.listed);
        let committed = refusal::commit(session.db, self.transaction, &waiting);
        committed.inspect_err(|e| session.runtime.note(e))
    }

    /// Undoes everything.
    pub fn rollback(self) {}
}
