//! What the sessions of one database share.

use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

use parking_lot::{Mutex, RwLock};
use telar_engine::{Engine, WeakEngine};
use telar_query::{
    Files, Prepared, Procedures, QueryError, Running, Scratch, ScratchFolder, UserFunction, Workers,
};

use crate::plans::{PlanUses, Plans};

/// Plans kept.
const PLANS_MAX: usize = 1024;
/// Bytes that they take at most, together: 64 KiB each, where most take some.
const PLANS_BYTES_MAX: usize = 64 << 20;

/// What the sessions of one database share: what they can call, the plans that were made, the list
/// of what runs, and the threads that help long queries.
#[derive(Debug)]
pub struct Runtime {
    procedures: Procedures,
    plans: Arc<Mutex<Plans>>,
    workers: Arc<Workers>,
    /// Temporary files in the folder of the database, once a session was made.
    scratch: OnceLock<Option<Arc<dyn Scratch>>>,
    /// Conflicts that were lost.
    conflicts: AtomicU64,
    /// The database of the sessions, for procedures that follow its changes.
    database: Arc<RwLock<WeakEngine>>,
}

impl Default for Runtime {
    /// With the built-in procedures.
    fn default() -> Self {
        Self::new(Procedures::builtin())
    }
}

impl Runtime {
    /// With these procedures.
    #[must_use]
    pub fn new(mut procedures: Procedures) -> Self {
        let plans = Arc::new(Mutex::new(Plans::new(PLANS_MAX, PLANS_BYTES_MAX)));
        crate::procedures::add(&mut procedures, &plans);
        let database = Arc::default();
        crate::algorithms::add(&mut procedures, &database);
        crate::changes::add(&mut procedures, &database);
        crate::history::add(&mut procedures, &database);
        let workers = Arc::clone(Workers::of_program());
        let (scratch, conflicts) = (OnceLock::new(), AtomicU64::new(0));
        Self { procedures, plans, workers, scratch, conflicts, database }
    }

    /// The same, with these threads for queries that only read, in place of those that all of the
    /// program's runtimes share.
    #[must_use]
    pub fn with_workers(self, workers: Arc<Workers>) -> Self {
        Self { workers, ..self }
    }

    /// The same, whose statements read and write files of these formats.
    #[must_use]
    pub fn with_files(mut self, files: Arc<dyn Files>) -> Self {
        self.procedures.files = files;
        self
    }

    /// The same, whose sessions are listed with those of another runtime: they show and end each
    /// other's queries.
    #[must_use]
    pub fn with_running(mut self, running: Arc<Running>) -> Self {
        self.procedures.running = running;
        self
    }

    /// The threads that help long queries.
    #[must_use]
    pub fn workers(&self) -> &Arc<Workers> {
        &self.workers
    }

    /// What `CALL` can run.
    #[must_use]
    pub fn procedures(&self) -> &Procedures {
        &self.procedures
    }

    /// Adds a function that expressions can call, `my.score(x)`, or replaces the one of this name.
    ///
    /// # Errors
    /// If the name has no namespace, or is that of a built-in function.
    ///
    /// # Examples
    /// ```
    /// use std::ops::RangeInclusive;
    /// use std::sync::Arc;
    /// use telar_db::column::Column;
    /// use telar_db::query::{QueryError, UserFunction};
    /// use telar_db::{Session, Value};
    ///
    /// struct Half;
    ///
    /// impl UserFunction for Half {
    ///     fn arguments(&self) -> RangeInclusive<usize> {
    ///         1..=1
    ///     }
    ///
    ///     fn call(&self, arguments: &[Arc<Column>], rows: usize) -> Result<Column, QueryError> {
    ///         let half = |row| match arguments[0].get(row) {
    ///             Value::Int(int) => Value::Int(int / 2),
    ///             _ => Value::Null,
    ///         };
    ///         Ok(Column::of((0..rows).map(half).collect()))
    ///     }
    /// }
    ///
    /// let session = Session::new(&telar_db::open_in_memory()?);
    /// session.runtime().add_function("my.half", Arc::new(Half))?;
    /// assert_eq!(session.run("RETURN my.half(6)", &[])?.rows, [[Value::Int(3)]]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn add_function(
        &self,
        name: &str,
        function: Arc<dyn UserFunction>,
    ) -> Result<(), QueryError> {
        self.procedures.functions.add(name, function)?;
        self.plans.lock().clear();
        Ok(())
    }

    /// What runs in the sessions.
    #[must_use]
    pub fn running(&self) -> &Arc<Running> {
        &self.procedures.running
    }

    /// How well the plans that are kept serve, since this was made.
    #[must_use]
    pub fn plan_uses(&self) -> PlanUses {
        self.plans.lock().uses()
    }

    /// Conflicts that statements and commits lost since this was made, those that were tried again
    /// too.
    #[must_use]
    pub fn conflicts(&self) -> u64 {
        // ORDERING: relaxed, as nothing else is read because of the count.
        self.conflicts.load(Ordering::Relaxed)
    }

    /// Temporary files in the folder of the database, if it has one.
    pub(crate) fn scratch(&self, folder: Option<&Path>) -> Option<Arc<dyn Scratch>> {
        // PERF: a server makes a session for each statement.
        let scratch = |folder| Arc::new(ScratchFolder::new(folder)) as Arc<dyn Scratch>;
        self.scratch.get_or_init(|| folder.map(scratch)).clone()
    }

    /// Notes the database of a session.
    pub(crate) fn note_database(&self, database: &Engine) {
        // PERF: all sessions but the first find it noted.
        if !self.database.read().is_of(database) {
            *self.database.write() = database.downgrade();
        }
    }

    /// Counts an error, if it is a conflict.
    pub(crate) fn note(&self, error: &QueryError) {
        if error.is_retryable() {
            // ORDERING: relaxed, as above.
            self.conflicts.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// The plan for `text`, if it was made for this version.
    pub(crate) fn plan(&self, text: &str, version: u64) -> Option<Arc<Prepared>> {
        self.plans.lock().find(text, version)
    }

    pub(crate) fn keep(&self, plan: &Arc<Prepared>, version: u64) {
        let bytes = plan.bytes();
        self.plans.lock().keep(plan, bytes, version);
    }
}

#[test]
fn temporary_files_of_a_database_have_one_place_for_all_its_sessions() {
    let runtime = Runtime::default();
    let made = |folder: &str| runtime.scratch(Some(Path::new(folder))).unwrap();
    assert!(Arc::ptr_eq(&made("here"), &made("here")));
    assert!(Runtime::default().scratch(None).is_none());
}
