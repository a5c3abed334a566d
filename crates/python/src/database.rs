//! A database: a session with default settings, and what can be done with all of it.

use std::path::PathBuf;
use std::sync::{Arc, Weak};

use parking_lot::{Mutex, RwLock};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use telar_share::{Opening as SharedOpening, Options, Shared};

use crate::error::{ClosedError, of_engine, of_opening, of_query};
use crate::fork::Process;
use crate::function;
use crate::interrupt;
use crate::load::Load;
use crate::runner::Runner;
use crate::session::Session;
use crate::settings::Opening;

/// Where a session has its runner, until the database is closed.
type Slot = RwLock<Option<Arc<Runner>>>;

/// An open database, which its sessions share.
pub(crate) struct Opened {
    process: Process,
    database: Mutex<Option<Shared>>,
    slots: Mutex<Vec<Weak<Slot>>>,
    path: Option<PathBuf>,
}

/// Databases that are open, for the end of the program.
static OPEN: Mutex<Vec<Weak<Opened>>> = Mutex::new(Vec::new());

fn closed() -> PyErr {
    ClosedError::new_err("the database is closed: open it again")
}

impl Opened {
    /// A place for a session, which holds the database open until it is closed.
    fn slot(&self, runner: Runner) -> Arc<Slot> {
        let slot = Arc::new(RwLock::new(Some(Arc::new(runner))));
        let mut slots = self.slots.lock();
        if slots.len() == slots.capacity() {
            slots.retain(|other| other.strong_count() > 0);
        }
        slots.push(Arc::downgrade(&slot));
        slot
    }

    fn close(&self, py: Python<'_>) -> PyResult<()> {
        self.process.check()?;
        let Some(database) = self.database.lock().take() else { return Ok(()) };
        let slots = std::mem::take(&mut *self.slots.lock());
        py.detach(|| {
            let done = database.close();
            for slot in slots.iter().filter_map(Weak::upgrade) {
                drop(slot.write().take());
            }
            done
        })
        .map_err(|e| of_engine(&e))
    }

    /// The database itself.
    pub(crate) fn database(&self) -> PyResult<Shared> {
        self.process.check()?;
        self.database.lock().clone().ok_or_else(closed)
    }
}

impl Drop for Opened {
    /// A child of the process closes nothing: files and threads are the parent's.
    fn drop(&mut self) {
        let database = self.database.get_mut().take();
        if self.process.check().is_err() {
            std::mem::forget(database);
        } else {
            away_from_python(|| drop(database));
        }
    }
}

/// Does what may wait for other threads, which may want Python's lock.
pub(crate) fn away_from_python(act: impl FnOnce() + Send) {
    let mut act = Some(act);
    let mut once = || act.take().into_iter().for_each(|act| act());
    // Python may have ended, or be about to.
    if Python::try_attach(|py| py.detach(&mut once)).is_none() {
        once();
    }
}

/// The runner of a session, and its database.
#[derive(Clone)]
pub(crate) struct Held {
    opened: Arc<Opened>,
    slot: Arc<Slot>,
}

impl Held {
    /// The runner, unless the database is closed or this is another process.
    pub(crate) fn runner(&self) -> PyResult<Arc<Runner>> {
        self.opened.process.check()?;
        self.slot.read().clone().ok_or_else(closed)
    }

    /// Another session of the same database.
    pub(crate) fn with(&self, runner: Runner) -> Self {
        Self { opened: Arc::clone(&self.opened), slot: self.opened.slot(runner) }
    }

    pub(crate) fn opened(&self) -> &Opened {
        &self.opened
    }
}

/// Opens a database: in the folder `path`, made if there is none, or without a path in memory.
///
/// `durability`: with `'full'` a commit returns once it is on disk; with `'async'` at once, and it
/// is on disk at most 50 ms later. `memory_limit`: bytes of memory for the graph; above it, what is
/// on disk is read again when it is touched. `history`: seconds for which the past stays readable
/// (`AT TIMESTAMP`). `checkpoint_bytes`: log after which a checkpoint is written. `import_folder`:
/// below which statements may read files, the current folder unless it is said; `export_folder`:
/// below which they may write files, the same unless it is said.
///
/// Several processes may open the same folder: the first has the database, the others ask it, and
/// one of them takes over when it ends. With `share=False` the others are refused, and so is this
/// one if another process has it open: `LockedError`.
///
/// >>> import telar
/// >>> with telar.open() as db:
/// ...     _ = db.query("CREATE (:Person {name: 'Ada'})-[:KNOWS]->(:Person {name: 'Bob'})")
/// ...     db.query("MATCH (:Person {name: $who})-[:KNOWS]->(p) RETURN p.name", who="Ada").value()
/// 'Bob'
#[pyfunction]
#[pyo3(signature = (path = None, *, durability = "full", memory_limit = None, history = None,
                    checkpoint_bytes = None, import_folder = None, export_folder = None,
                    share = true))]
#[expect(clippy::too_many_arguments, reason = "keyword arguments of Python")]
pub(crate) fn open(
    py: Python<'_>,
    path: Option<PathBuf>,
    durability: &str,
    memory_limit: Option<u64>,
    history: Option<f64>,
    checkpoint_bytes: Option<u64>,
    import_folder: Option<PathBuf>,
    export_folder: Option<PathBuf>,
    share: bool,
) -> PyResult<Py<Database>> {
    let opening = Opening { durability, memory_limit, history, checkpoint_bytes };
    let settings = opening.settings()?;
    let opening = SharedOpening {
        shared: share && path.is_some(),
        path: path.clone(),
        settings,
        files: Some(telar_files::formats()),
    };
    let flag = match interrupt::in_main_thread(py)? {
        true => Some(interrupt::flag(py)),
        false => None,
    };
    let database = interrupt::interruptible(py, || Shared::open_until(opening, flag))?;
    let database = database.map_err(|e| of_opening(&e))?;
    // Another process, which may be the one that reads them, has another current folder.
    let whole = |folder: PathBuf| std::path::absolute(&folder).unwrap_or(folder);
    let import_folder = import_folder.or_else(|| std::env::current_dir().ok()).map(whole);
    let export_folder = export_folder.map(whole).or_else(|| import_folder.clone());
    let options = Options { import_folder, export_folder, ..Options::default() };
    let runner = Runner::new(py, database.session(options));
    let opened = Arc::new(Opened {
        process: Process::current(),
        database: Mutex::new(Some(database)),
        slots: Mutex::default(),
        path,
    });
    let slot = opened.slot(runner);
    let mut open = OPEN.lock();
    open.retain(|other| other.strong_count() > 0);
    open.push(Arc::downgrade(&opened));
    drop(open);
    let session = Session { held: Held { opened, slot } };
    Py::new(py, PyClassInitializer::from(session).add_subclass(Database))
}

/// Closes every database that is open: called at the end of the program.
#[pyfunction]
pub(crate) fn close_all(py: Python<'_>) {
    let open = std::mem::take(&mut *OPEN.lock());
    for opened in open.iter().filter_map(Weak::upgrade) {
        // Nobody is left who could be told of an error. What was committed is in the log.
        let _ = opened.close(py);
    }
}

/// An open database: a `Session` with default settings. Threads may share it.
#[pyclass(frozen, extends = Session, module = "telar")]
pub(crate) struct Database;

#[pymethods]
impl Database {
    /// The folder of the database; None in memory.
    #[getter]
    fn path(slf: &Bound<'_, Self>) -> Option<PathBuf> {
        slf.as_super().get().held.opened.path.clone()
    }

    /// Whether it was closed.
    #[getter]
    fn closed(slf: &Bound<'_, Self>) -> bool {
        slf.as_super().get().held.opened.database.lock().is_none()
    }

    /// Whether this process has the database open itself; False where another one has, which it
    /// asks. It can become True when that one ends.
    #[getter]
    fn is_owner(slf: &Bound<'_, Self>) -> PyResult<bool> {
        Ok(slf.as_super().get().held.opened.database()?.is_owner())
    }

    /// Writes a checkpoint and closes the database; where another process has it open, lets go of
    /// it. Statements are refused from then on; the folder
    /// can be opened by others once open transactions and streams have ended. Without it nothing
    /// committed is lost either: the end of the program closes what is open.
    fn close(slf: &Bound<'_, Self>) -> PyResult<()> {
        slf.as_super().get().held.opened.close(slf.py())
    }

    /// Writes a checkpoint: the log before it is not needed any more.
    fn checkpoint(slf: &Bound<'_, Self>) -> PyResult<()> {
        let database = slf.as_super().get().held.opened().database()?;
        slf.py().detach(|| database.checkpoint()).map_err(|e| of_query(slf.py(), &e))
    }

    /// Copies the database into a new folder while it is used. The copy is the state of one commit.
    fn backup(slf: &Bound<'_, Self>, path: PathBuf) -> PyResult<()> {
        let database = slf.as_super().get().held.opened().database()?;
        slf.py().detach(|| database.backup(&path)).map_err(|e| of_query(slf.py(), &e))
    }

    /// Makes a function of Python one of statements: `my.score(p.a, p.b)`, under a name with a
    /// namespace, or replaces the one of this name. With `takes='values'` it is called for each
    /// row; with `'numpy'` or `'arrow'` for many rows at once, with an array for each argument, and
    /// returns an array: a function that Numba has compiled, or one of `pyarrow.compute`. It may be
    /// called more than once for a row, and by several threads.
    ///
    /// >>> import telar
    /// >>> db = telar.open()
    /// >>> db.create_function("my.initials", lambda name: "".join(w[0] for w in name.split()))
    /// >>> db.query("RETURN my.initials('Ada Lovelace')").value()
    /// 'AL'
    #[pyo3(signature = (name, function, *, takes = "values"))]
    fn create_function(
        slf: &Bound<'_, Self>,
        name: &str,
        function: &Bound<'_, PyAny>,
        takes: &str,
    ) -> PyResult<()> {
        let database = slf.as_super().get().held.opened().database()?;
        function::add(slf.py(), &database, name, function, takes)
    }

    /// Begins a load of tables that come in together: see `telar.Load`. `unique` names constraints
    /// that are made with it, `['Person.id']`; up to `bad_rows` rows that cannot come in are left
    /// out and reported, where otherwise the first one ends the load.
    #[pyo3(signature = (*, unique = Vec::new(), bad_rows = None))]
    fn load(slf: &Bound<'_, Self>, unique: Vec<String>, bad_rows: Option<u64>) -> PyResult<Load> {
        Load::new(slf.as_super().get().held.clone(), unique, bad_rows)
    }

    /// Makes a node of each row of a table, as one commit: see `Load.nodes`. Returns the report.
    ///
    /// >>> import telar
    /// >>> db = telar.open()
    /// >>> db.create_nodes("City", [{"name": "Ulm"}, {"name": "Bonn"}])["nodes"]
    /// 2
    #[pyo3(signature = (labels, table, *, unique = Vec::new(), bad_rows = None))]
    fn create_nodes(
        slf: &Bound<'_, Self>,
        labels: &Bound<'_, PyAny>,
        table: &Bound<'_, PyAny>,
        unique: Vec<String>,
        bad_rows: Option<u64>,
    ) -> PyResult<Py<PyDict>> {
        let load = Bound::new(slf.py(), Self::load(slf, unique, bad_rows)?)?;
        load.call_method1("nodes", (labels, table))?;
        load.get().commit(slf.py())
    }

    /// Makes a relationship of each row of a table, as one commit: see `Load.relationships`, which
    /// has the same arguments. Returns the report.
    #[pyo3(signature = (r#type, table, *, bad_rows = None, **ends))]
    fn create_relationships(
        slf: &Bound<'_, Self>,
        r#type: &str,
        table: &Bound<'_, PyAny>,
        bad_rows: Option<u64>,
        ends: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<Py<PyDict>> {
        let load = Bound::new(slf.py(), Self::load(slf, Vec::new(), bad_rows)?)?;
        load.call_method("relationships", (r#type, table), ends)?;
        load.get().commit(slf.py())
    }

    fn __exit__(
        slf: &Bound<'_, Self>,
        _kind: Option<Bound<'_, PyAny>>,
        _value: Option<Bound<'_, PyAny>>,
        _traceback: Option<Bound<'_, PyAny>>,
    ) -> PyResult<()> {
        Self::close(slf)
    }

    fn __repr__(slf: &Bound<'_, Self>) -> String {
        let closed = if Self::closed(slf) { ", closed" } else { "" };
        match Self::path(slf) {
            Some(path) => format!("<Database {}{closed}>", path.display()),
            None => format!("<Database in memory{closed}>"),
        }
    }
}
