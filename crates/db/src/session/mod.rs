//! openCypher on a database.
//!
//! - This file: what a session is made of, and its settings.
//! - `plan`: from a text to a plan that may run.
//! - `run`: statements that are a transaction each, `batches`: those that begin several.
//! - `copy`: files into the graph, and rows into files.
//! - `transaction`: several statements in one transaction.
//! - `once`: transactions that commit once, however often they are sent.
//! - `waiting`: for a commit, and for the next try after a conflict.

mod batches;
mod copy;
mod once;
mod plan;
mod run;
mod transaction;
mod waiting;

use std::fmt;
use std::sync::Arc;
use std::time::{Duration, Instant};

use telar_engine::{Engine, Isolation, WriteWait};
use telar_graph::ValueMap;
use telar_query::{
    Context, Host, Inputs, Limits, Listed, Moment, Origin, QueryError, Scratch, SharedSnapshot,
    Tables, Threads, Workers,
};

use crate::backend::Backend;
use crate::runtime::Runtime;

pub use once::Foreseen;
pub use transaction::QueryTransaction;

/// Time that a write waits, unless it is said, for a transaction that has written the same.
const WRITE_WAIT: Duration = Duration::from_secs(1);

/// Runs queries on a database. Threads may share one; a clone has the same settings, and shares
/// plans with it.
///
/// A session, and each transaction that it begins, keeps the database open and has no lifetime: it
/// may be kept in a structure, and be dropped before or after the [`Database`](crate::Database)
/// itself. The database is closed when the last of them is dropped.
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
#[derive(Clone)]
pub struct Session {
    backend: Arc<dyn Backend>,
    runtime: Arc<Runtime>,
    limits: Limits,
    /// The folder of the database, for temporary files.
    scratch: Option<Arc<dyn Scratch>>,
    timeout: Option<Duration>,
    isolation: Isolation,
    write_wait: Duration,
    read_only: bool,
    /// Parameters that are tables.
    tables: Option<Arc<Tables>>,
    /// Id of what commits once.
    once: Option<Arc<str>>,
    /// Statements that keep no id are not refused.
    once_if_possible: bool,
    /// Threads of its own, not those of the runtime.
    workers: Option<Arc<Workers>>,
    host: Option<Arc<dyn Host>>,
    origin: Arc<Origin>,
}

impl fmt::Debug for Session {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Session").field("origin", &self.origin).finish_non_exhaustive()
    }
}

impl Session {
    /// A session without limits, under snapshot isolation, with the built-in procedures.
    #[must_use]
    pub fn new(db: &Engine) -> Self {
        Self::with_runtime(db, Arc::default())
    }

    /// As [`new`](Self::new), sharing plans with other sessions of the same database; they list and
    /// end each other's queries.
    #[must_use]
    pub fn with_runtime(db: &Engine, runtime: Arc<Runtime>) -> Self {
        Self::with_backend(Arc::new(db.clone()), runtime)
    }

    /// As [`with_runtime`](Self::with_runtime), on any [`Backend`].
    #[must_use]
    pub fn with_backend(backend: Arc<dyn Backend>, runtime: Arc<Runtime>) -> Self {
        let scratch = runtime.scratch(backend.folder());
        if let Some(database) = backend.database() {
            runtime.note_database(database);
        }
        Self {
            backend,
            runtime,
            limits: Limits::default(),
            scratch,
            timeout: None,
            isolation: Isolation::default(),
            write_wait: WRITE_WAIT,
            read_only: false,
            tables: None,
            once: None,
            once_if_possible: false,
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

    /// What its queries may use.
    #[must_use]
    pub fn limits(&self) -> &Limits {
        &self.limits
    }

    /// The same session, in which each statement, or transaction of several, is given up after this
    /// time, with [`ErrorKind::TimedOut`](telar_query::ErrorKind::TimedOut), and changes nothing.
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

    /// The same session, in which these tables are parameters, too; a parameter that is given
    /// under the same name comes before them.
    ///
    /// # Examples
    /// ```
    /// use std::sync::Arc;
    /// use telar_db::column::Column;
    /// use telar_db::{Session, query::Tables};
    ///
    /// let mut tables = Tables::default();
    /// tables.add("cities", [("people".into(), Column::from(vec![128_928, 335_975]))]);
    ///
    /// let session = Session::new(&telar_db::open_in_memory()?);
    /// let session = session.with_tables(Some(Arc::new(tables)));
    /// let text = "UNWIND $cities AS row RETURN sum(row.people)";
    /// assert_eq!(session.run(text, &[])?.rows, [[464_903.into()]]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn with_tables(self, tables: Option<Arc<Tables>>) -> Self {
        Self { tables, ..self }
    }

    /// The same session, in which long queries that only read are helped by these threads, in place
    /// of those of the [runtime](Runtime::workers). With [`Workers::new(1)`](Workers::new) each
    /// runs on the thread that asks for it.
    #[must_use]
    pub fn with_workers(self, workers: Arc<Workers>) -> Self {
        Self { workers: Some(workers), ..self }
    }

    /// The same session, in which statements that change anything are refused, with
    /// [`ErrorKind::AccessMode`](telar_query::ErrorKind::AccessMode).
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

    /// The database that it runs on.
    #[must_use]
    pub fn backend(&self) -> &Arc<dyn Backend> {
        &self.backend
    }

    /// Plans, threads and procedures that it shares with others.
    #[must_use]
    pub fn runtime(&self) -> &Arc<Runtime> {
        &self.runtime
    }

    fn list(&self, began: Moment) -> Listed {
        self.runtime.running().list(began, Arc::clone(&self.origin))
    }

    /// Time at which what begins now is given up.
    fn deadline(&self) -> Option<Instant> {
        let own = self.timeout.and_then(|timeout| Instant::now().checked_add(timeout));
        [own, self.limits.deadline].into_iter().flatten().min()
    }

    /// Waits of a statement for other transactions; `restarts` if nobody knows of it yet.
    fn write_wait(&self, limits: &Limits, restarts: bool) -> WriteWait {
        let flags = [limits.cancelled.clone(), limits.terminated.clone()];
        WriteWait { longest: self.write_wait, deadline: limits.deadline, flags, restarts }
    }

    /// Place for rows that do not fit into memory.
    fn scratch(&self) -> Option<Arc<dyn Scratch>> {
        self.limits.scratch.as_ref().or(self.scratch.as_ref()).cloned()
    }

    /// Limits of a statement that is listed.
    fn limits_of(&self, listed: &Listed, deadline: Option<Instant>) -> Limits {
        let terminated = Some(listed.flag());
        // PERF: the folder is copied where statements may make files at all.
        let exports = self.limits.export_folder.is_some();
        let database_folder = self.backend.folder().filter(|_| exports).map(Into::into);
        let scratch = self.scratch();
        Limits { terminated, deadline, scratch, database_folder, ..self.limits.clone() }
    }

    /// Whoever began may have been stopped since.
    fn check_still_allowed(&self) -> Result<(), QueryError> {
        self.host.as_ref().map_or(Ok(()), |host| host.still_allows())
    }

    fn inputs<'a>(
        &'a self,
        parameters: &'a ValueMap,
        context: &'a Context,
        limits: &'a Limits,
    ) -> Inputs<'a> {
        let (procedures, host) = (self.runtime.procedures(), self.host.as_deref());
        let (transactions, threads) = (None, None);
        let tables = self.tables.as_deref();
        Inputs { parameters, tables, context, procedures, limits, transactions, host, threads }
    }

    /// Helpers of a query that only reads this snapshot.
    fn threads<'a>(&'a self, snapshot: &'a dyn SharedSnapshot) -> Option<Threads<'a>> {
        let workers = self.workers.as_ref().unwrap_or_else(|| self.runtime.workers());
        Some(Threads { workers, snapshot })
    }

    /// Begins a transaction of several statements, with the settings of this session.
    ///
    /// # Errors
    /// If the backend begins none: too many are open.
    pub fn begin(&self) -> Result<QueryTransaction, QueryError> {
        Ok(QueryTransaction::new(self, self.begin_transaction()?))
    }
}
