//! A database, wherever it is open: here, or in another process.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use parking_lot::{Mutex, RwLock};
use telar_db::import::import_tables;
use telar_db::import::table::{TableImport, TableReport, unique_keys};
use telar_db::maintenance::BackupOptions;
use telar_db::query::{ErrorKind, Files, QueryError, Tables, UserFunction};
use telar_db::{Database, Durability, Runtime, Settings, ValueMap};

use crate::functions::Functions;
use crate::message::{Answer, Options, Request};
use crate::owner::Owner;
use crate::peer::{Failure, Lost, NotIn, Peer, next};
use crate::session::Session;

/// Time for which a database is waited for that nobody answers for: while it is opened elsewhere,
/// its log is read.
const WAIT: Duration = Duration::from_secs(60);
/// The same, of one whose holder does not let others in, or closes it.
const WAIT_SHORT: Duration = Duration::from_millis(500);
/// Owners that are tried for one statement.
const TRIES_MAX: u32 = 10;

/// Why a database was not opened.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The database itself.
    #[error(transparent)]
    Database(#[from] telar_db::Error),
    /// The process that has it open does not let this one in.
    #[error("{} is open in another process, which does not let this one in: {reason}",
            path.display())]
    Refused {
        /// The folder.
        path: PathBuf,
        /// What it says.
        reason: String,
    },
    /// Others cannot be let in: the socket cannot be made.
    #[error("{}/share.sock, by which other processes would use the database, cannot be made: \
             {source}; open it without sharing", path.display())]
    Socket {
        /// The folder.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// It was given up from outside.
    #[error("the opening was interrupted")]
    Interrupted,
}

/// How a database is opened.
#[derive(Debug, Clone)]
pub struct Opening {
    /// The folder; without one the database is in memory.
    pub path: Option<PathBuf>,
    /// Settings of the database, where this process opens it.
    pub settings: Settings,
    /// Formats of files that statements read and write.
    pub files: Option<Arc<dyn Files>>,
    /// Let other processes in, and be let in by them.
    pub shared: bool,
}

impl Opening {
    /// Opens the database of a folder, with others.
    #[must_use]
    pub fn new(path: impl Into<PathBuf>, settings: Settings) -> Self {
        Self { path: Some(path.into()), settings, files: None, shared: true }
    }
}

/// A statement that is to run.
#[derive(Debug, Clone, Copy)]
pub struct Statement<'s> {
    /// Its text.
    pub text: &'s str,
    /// Its parameters.
    pub parameters: &'s ValueMap,
    /// Parameters that are tables.
    pub tables: Option<&'s Arc<Tables>>,
    /// Ends it once it is set. In the process that has the database a session's own flag counts
    /// ([`Session::with_cancelled`]).
    pub cancelled: Option<&'s Arc<AtomicBool>>,
}

impl<'s> Statement<'s> {
    /// A statement without tables.
    #[must_use]
    pub fn new(text: &'s str, parameters: &'s ValueMap) -> Self {
        Self { text, parameters, tables: None, cancelled: None }
    }
}

/// Where the database is.
pub(crate) enum Place {
    /// This process has it open.
    Own { database: Database, runtime: Arc<Runtime>, owner: Mutex<Option<Owner>> },
    /// Another one has.
    Other(Peer),
    /// Nowhere any more.
    Closed,
}

pub(crate) struct Inner {
    opening: Opening,
    functions: Arc<Functions>,
    place: RwLock<Arc<Place>>,
    /// Held while the place changes.
    moving: Mutex<()>,
}

/// An open database. Clones are the same.
#[derive(Clone)]
pub struct Shared(pub(crate) Arc<Inner>);

impl fmt::Debug for Shared {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Shared").field("path", &self.0.opening.path).finish_non_exhaustive()
    }
}

/// The error of whatever is asked of a database that is closed.
pub(crate) fn closed() -> QueryError {
    let text = "the database is closed: open it again";
    QueryError::runtime(ErrorKind::DatabaseUnavailable, "Closed", text)
}

/// The error of a request that was lost with the process that had the database.
pub(crate) fn unknown() -> QueryError {
    let text = "the process that had the database open has ended, and nobody knows whether this was \
                committed: look whether it was, and run it again";
    QueryError::runtime(ErrorKind::DatabaseUnavailable, "OwnerEnded", text)
}

impl Shared {
    /// Opens a database: here, or where another process has it open.
    ///
    /// # Errors
    /// [`Error`]: those of the database; [`telar_db::Error::Locked`] if another process has it open
    /// and does not let others in; [`Error::Refused`].
    pub fn open(opening: Opening) -> Result<Self, Error> {
        Self::open_until(opening, None)
    }

    /// The same, given up once the flag is set.
    ///
    /// # Errors
    /// As [`open`](Self::open), and [`Error::Interrupted`].
    pub fn open_until(
        opening: Opening,
        cancelled: Option<&Arc<AtomicBool>>,
    ) -> Result<Self, Error> {
        let functions = Arc::default();
        let place = settle(&opening, &functions, cancelled)?;
        let place = RwLock::new(Arc::new(place));
        Ok(Self(Arc::new(Inner { opening, functions, place, moving: Mutex::default() })))
    }

    /// Whether this process has the database open itself.
    #[must_use]
    pub fn is_owner(&self) -> bool {
        matches!(*self.0.place(), Place::Own { .. })
    }

    /// Whether it was closed.
    #[must_use]
    pub fn is_closed(&self) -> bool {
        matches!(*self.0.place(), Place::Closed)
    }

    /// Statements with these settings.
    #[must_use]
    pub fn session(&self, options: Options) -> Session {
        Session::new(&self.0, options)
    }

    /// Closes the database: as owner with a checkpoint, after what others run has had some seconds
    /// to end; one of them has it from then on. Sessions, transactions and streams of this process
    /// keep it open until they are dropped.
    ///
    /// # Errors
    /// If the checkpoint cannot be written: nothing that was committed is lost.
    pub fn close(&self) -> Result<(), telar_db::Error> {
        let _moving = self.0.moving.lock();
        let place = std::mem::replace(&mut *self.0.place.write(), Arc::new(Place::Closed));
        let Place::Own { database, owner, .. } = &*place else { return Ok(()) };
        if let Some(owner) = owner.lock().take() {
            owner.stop();
        }
        database.clone().close()
    }

    /// Does something with the database where it is.
    fn at<T>(
        &self,
        here: impl Fn(&Database) -> Result<T, QueryError>,
        request: impl Fn() -> Request,
        there: impl Fn(Answer) -> Option<T>,
    ) -> Result<T, QueryError> {
        let lost =
            || QueryError::runtime(ErrorKind::Database, "Share", "an answer to another question");
        self.0.retry(None, |place| match place {
            Place::Own { database, .. } => next(here(database).map_err(Failure::Query)),
            Place::Closed => next(Err(Failure::Query(closed()))),
            Place::Other(peer) => next(
                peer.ask(&request())
                    .and_then(|answer| there(answer).ok_or_else(|| Failure::Query(lost()))),
            ),
        })
    }

    /// Writes a checkpoint.
    ///
    /// # Errors
    /// Those of the database.
    pub fn checkpoint(&self) -> Result<(), QueryError> {
        let here = |database: &Database| database.checkpoint().map(drop).map_err(of_engine);
        self.at(here, || Request::Checkpoint, done)
    }

    /// Copies the database into a new folder while it is used.
    ///
    /// # Errors
    /// Those of the copy.
    pub fn backup(&self, folder: &Path) -> Result<(), QueryError> {
        let folder = std::path::absolute(folder).unwrap_or_else(|_| folder.to_path_buf());
        let here = |database: &Database| {
            database.backup(&folder, &BackupOptions::default()).map(drop).map_err(of_engine)
        };
        self.at(here, || Request::Backup { folder: folder.clone() }, done)
    }

    /// As [`unique_keys`](telar_db::import::table::unique_keys).
    ///
    /// # Errors
    /// If the database is not there any more.
    pub fn unique_keys(&self, label: &str) -> Result<Vec<String>, QueryError> {
        let names = |answer| if let Answer::Names(names) = answer { Some(names) } else { None };
        let request = || Request::UniqueKeys { label: label.to_owned() };
        self.at(|database| Ok(unique_keys(database, label)), request, names)
    }

    /// As [`import_tables`], until the flag is set.
    ///
    /// # Errors
    /// As [`import_tables`]. [`ErrorKind::DatabaseUnavailable`] if the process that has the
    /// database ended meanwhile: nobody knows whether it was committed.
    pub fn import(
        &self,
        tables: TableImport<'_>,
        cancelled: Option<&Arc<AtomicBool>>,
    ) -> Result<TableReport, QueryError> {
        let mut tables = Some(tables);
        self.0.retry(cancelled, |place| {
            let peer = match place {
                Place::Closed => return next(Err(Failure::Query(closed()))),
                Place::Other(peer) => peer,
                Place::Own { database, .. } => {
                    let Some(tables) = tables.take() else {
                        return next(Err(Failure::Query(unknown())));
                    };
                    let done = import_tables(database, tables, &|_| interrupted(cancelled));
                    return next(done.map_err(Failure::Query));
                }
            };
            let mut link = match peer.link() {
                Ok(link) => link,
                Err(lost) => return next(Err(Failure::Lost(lost))),
            };
            let Some(tables) = tables.take() else { return next(Err(Failure::Query(unknown()))) };
            let done = link.load(peer, tables, cancelled);
            if !matches!(done, Err(Failure::Lost(_))) {
                peer.keep(link);
            }
            next(done)
        })
    }

    /// Adds a function that statements of this process can call, or replaces the one of this name:
    /// see [`Runtime::add_function`]. Where another process has the database, each call is a
    /// message to this one.
    ///
    /// # Errors
    /// As [`Runtime::add_function`].
    pub fn add_function(
        &self,
        name: &str,
        function: &Arc<dyn UserFunction>,
    ) -> Result<(), QueryError> {
        let range = function.arguments();
        let functions = &self.0.functions;
        self.0.retry(None, |place| {
            next(match place {
                Place::Closed => Err(Failure::Query(closed())),
                Place::Own { runtime, .. } => {
                    runtime.add_function(name, Arc::clone(function)).map_err(Failure::Query)
                }
                Place::Other(peer) => {
                    peer.add_function(name, (*range.start(), *range.end()), functions)
                }
            })
        })?;
        functions.add(name, function);
        Ok(())
    }
}

/// An error of the database, for a statement.
fn of_engine(error: telar_db::Error) -> QueryError {
    QueryError::runtime(ErrorKind::Database, "Database", error.to_string())
}

fn done(answer: Answer) -> Option<()> {
    matches!(answer, Answer::Done).then_some(())
}

fn interrupted(flag: Option<&Arc<AtomicBool>>) -> Result<(), QueryError> {
    // ORDERING: relaxed: it is asked again and again.
    if flag.is_some_and(|flag| flag.load(Ordering::Relaxed)) {
        let text = "it was ended from outside";
        return Err(QueryError::runtime(ErrorKind::Terminated, "Terminated", text));
    }
    Ok(())
}

impl Inner {
    pub(crate) fn place(&self) -> Arc<Place> {
        Arc::clone(&self.place.read())
    }

    /// Asks where the database is, and again where it went if it is not there any more.
    pub(crate) fn retry<T>(
        &self,
        cancelled: Option<&Arc<AtomicBool>>,
        mut ask: impl FnMut(&Place) -> crate::peer::Next<T>,
    ) -> Result<T, QueryError> {
        for _ in 0..TRIES_MAX {
            let place = self.place();
            let lost = match ask(&place) {
                std::ops::ControlFlow::Break(done) => return done,
                std::ops::ControlFlow::Continue(lost) => lost,
            };
            let recovered = self.recover(&place, cancelled);
            if lost.unknown || lost.rows {
                return Err(unknown());
            }
            recovered?;
        }
        let text = "one process after the other that had the database open has ended";
        Err(QueryError::runtime(ErrorKind::DatabaseUnavailable, "OwnerEnded", text))
    }

    /// Finds the database again after the process that had it is gone: opens it, or is let in by
    /// another one that has. Whoever calls saw it at `lost`.
    pub(crate) fn recover(
        &self,
        lost: &Arc<Place>,
        cancelled: Option<&Arc<AtomicBool>>,
    ) -> Result<(), QueryError> {
        let _moving = self.moving.lock();
        if !Arc::ptr_eq(lost, &self.place()) {
            return Ok(());
        }
        let settled = settle(&self.opening, &self.functions, cancelled);
        let place = settled.map_err(|e| match e {
            Error::Interrupted => QueryError::runtime(
                ErrorKind::Terminated,
                "Terminated",
                "it was ended from outside",
            ),
            other => {
                let text = format!("the process that had the database open has ended, and {other}");
                QueryError::runtime(ErrorKind::DatabaseUnavailable, "OwnerEnded", text)
            }
        })?;
        *self.place.write() = Arc::new(place);
        Ok(())
    }
}

/// Opens the database, or is let in by the process that has it.
fn settle(
    opening: &Opening,
    functions: &Arc<Functions>,
    cancelled: Option<&Arc<AtomicBool>>,
) -> Result<Place, Error> {
    let Opening { path, settings, shared, .. } = opening;
    let Some(path) = path else {
        return own(opening, Database::in_memory(*settings)?, functions);
    };
    let mut settings = *settings;
    settings.shared = *shared;
    let durable = settings.durability == Durability::Full;
    let began = Instant::now();
    let mut pause = Duration::from_millis(1);
    loop {
        let (error, wait) = match Database::open(path, settings) {
            Ok(database) => return own(opening, database, functions),
            Err(error @ telar_db::Error::Locked { .. }) if !shared => return Err(error.into()),
            Err(error) => match error {
                telar_db::Error::Locked { shares, .. } => {
                    (error, if shares { WAIT } else { WAIT_SHORT })
                }
                _ => return Err(error.into()),
            },
        };
        if interrupted(cancelled).is_err() {
            return Err(Error::Interrupted);
        }
        match Peer::connect(path, durable, functions) {
            Ok(peer) => return Ok(Place::Other(peer)),
            Err(NotIn::Refused(reason)) => {
                return Err(Error::Refused { path: path.clone(), reason });
            }
            Err(NotIn::Nobody) => {}
        }
        if began.elapsed() > wait {
            return Err(error.into());
        }
        thread::sleep(pause);
        pause = (pause * 2).min(Duration::from_millis(50));
    }
}

/// The database is this process's.
fn own(opening: &Opening, database: Database, functions: &Functions) -> Result<Place, Error> {
    let mut runtime = Runtime::default();
    let files = opening.files.clone();
    if let Some(files) = &files {
        runtime = runtime.with_files(Arc::clone(files));
    }
    let runtime = Arc::new(runtime);
    for (name, function) in functions.all() {
        // It was added before: there is nothing wrong with its name.
        let _ = runtime.add_function(&name, function);
    }
    let owner = match &opening.path {
        Some(path) if opening.shared => {
            let durable = opening.settings.durability == Durability::Full;
            let running = Arc::clone(runtime.running());
            let started = Owner::start(path, &database, durable, (running, files));
            Some(started.map_err(|source| Error::Socket { path: path.clone(), source })?)
        }
        _ => None,
    };
    Ok(Place::Own { database, runtime, owner: Mutex::new(owner) })
}

impl Lost {
    /// The error of what was under way in a transaction.
    pub(crate) fn in_transaction() -> QueryError {
        let text = "the process that had the database open has ended, and the transaction with it: \
                    run it again";
        QueryError::runtime(ErrorKind::Conflict, "OwnerEnded", text)
    }
}
