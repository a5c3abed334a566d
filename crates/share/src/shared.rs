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
use telar_db::query::{
    Counters, ErrorKind, Files, QueryError, StatementKind, Summary, Tables, UserFunction,
};
use telar_db::{CommitTs, Database, Durability, Runtime, Settings, ValueMap};

use crate::functions::Functions;
use crate::message::{Answer, Options, Request};
use crate::owner::{GRACE, Owner, runtime_of};
use crate::peer::{Failure, Lost, NotIn, Peer, Until, next};
use crate::session::{Session, misunderstood};

/// Time for which a database is waited for that nobody answers for: while it is opened elsewhere,
/// its log is read.
const WAIT: Duration = Duration::from_secs(60);
/// The same, of one that is being closed: open transactions may hold it.
const WAIT_CLOSING: Duration = Duration::from_secs(10);
/// The same, of one whose holder does not let others in. What the lock file says may be about to
/// change.
const WAIT_ALONE: Duration = Duration::from_millis(500);
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
        /// Its reason.
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
    /// The process that has it open cannot be connected to.
    #[error("{} is open in another process, which cannot be connected to: {source}",
            path.display())]
    Unconnected {
        /// The folder.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// The folder is not there any more, or holds another database than it did.
    #[error("{} does not hold the database any more that was opened there: it was moved, removed \
             or replaced", path.display())]
    Gone {
        /// The folder.
        path: PathBuf,
    },
    /// It was given up from outside.
    #[error("the opening was interrupted")]
    Interrupted,
}

/// Settings by which a database is opened.
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

/// The place of the database.
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
    /// It is being closed: nobody looks for it any more.
    closing: AtomicBool,
    /// The identity of the database, as its file says; none in memory.
    identity: Option<Vec<u8>>,
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
    QueryError::runtime(ErrorKind::DatabaseUnavailable, "UnknownOutcome", text)
}

/// The error of a request that the process that has the database does not answer.
pub(crate) fn silent() -> QueryError {
    let text = "the process that has the database open does not answer, and nobody knows whether this \
                is committed: look whether it was";
    QueryError::runtime(ErrorKind::DatabaseUnavailable, "UnknownOutcome", text)
}

/// The error of a statement that was committed, of which the rows are lost.
pub(crate) fn result_lost(at: u64) -> QueryError {
    let text = format!(
        "the process that had the database open has ended after this was committed, at {at}: its \
         rows are lost"
    );
    QueryError::runtime(ErrorKind::DatabaseUnavailable, "ResultLost", text)
}

/// The summary of a statement without rows that was committed by a process that has ended.
pub(crate) fn without_rows(at: u64) -> Summary {
    Summary {
        kind: StatementKind::Write,
        counters: Counters::default(),
        at: CommitTs::from_raw(at),
        plan: None,
        notifications: Vec::new(),
    }
}

/// The error of what was ended from outside before it was sent.
pub(crate) fn terminated() -> QueryError {
    QueryError::runtime(ErrorKind::Terminated, "Terminated", "it was ended from outside")
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
        let mut opening = opening;
        // The current folder may be another one when the database is looked for again.
        opening.path = opening.path.map(|path| std::path::absolute(&path).unwrap_or(path));
        let functions = Arc::default();
        let closing = AtomicBool::new(false);
        let wanted = Wanted { opening: &opening, functions: &functions, identity: None };
        let place = wanted.settle(Until::new(cancelled, None), &closing)?;
        let identity = opening.path.as_ref().and_then(|path| identity_of(path));
        let (place, moving) = (RwLock::new(Arc::new(place)), Mutex::default());
        Ok(Self(Arc::new(Inner { opening, functions, place, moving, closing, identity })))
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
        self.0.closing.store(true, Ordering::SeqCst);
        let _moving = self.0.moving.lock();
        let place = std::mem::replace(&mut *self.0.place.write(), Arc::new(Place::Closed));
        let Place::Own { database, owner, .. } = &*place else { return Ok(()) };
        if let Some(mut owner) = owner.lock().take() {
            owner.stop(GRACE);
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
        self.0.retry(Until::default(), |place| match place {
            Place::Own { database, .. } => next(here(database).map_err(Failure::Query)),
            Place::Closed => next(Err(Failure::Query(closed()))),
            Place::Other(peer) => {
                next(peer.ask(&request(), Until::default()).and_then(|answer| {
                    there(answer).ok_or_else(|| Failure::Query(misunderstood()))
                }))
            }
        })
    }

    /// Writes a checkpoint.
    ///
    /// # Errors
    /// Those of the database.
    pub fn checkpoint(&self) -> Result<(), QueryError> {
        self.at(checkpoint, || Request::Checkpoint, done)
    }

    /// Copies the database into a new folder while it is used.
    ///
    /// # Errors
    /// Those of the copy.
    pub fn backup(&self, folder: &Path) -> Result<(), QueryError> {
        let folder = std::path::absolute(folder).unwrap_or_else(|_| folder.to_path_buf());
        let here = |database: &Database| backup(database, &folder);
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
        let until = Until::new(cancelled, None);
        interrupted(until)?;
        self.0.retry(until, |place| {
            let peer = match place {
                Place::Closed => return next(Err(Failure::Query(closed()))),
                Place::Other(peer) => peer,
                Place::Own { database, .. } => {
                    let Some(tables) = tables.take() else {
                        return next(Err(Failure::Query(unknown())));
                    };
                    let done = import_tables(database, tables, &|_| interrupted(until));
                    return next(done.map_err(Failure::Query));
                }
            };
            let mut link = match peer.link(until) {
                Ok(link) => link,
                Err(failure) => return next(Err(failure)),
            };
            let Some(tables) = tables.take() else { return next(Err(Failure::Query(unknown()))) };
            let done = link.load(peer, tables, until);
            peer.keep(link);
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
        // Known before it is there, so that whoever opens the database meanwhile adds it, too.
        let before = self.0.functions.add(name, function);
        let added = self.0.retry(Until::default(), |place| {
            next(match place {
                Place::Closed => Err(Failure::Query(closed())),
                Place::Own { runtime, .. } => {
                    runtime.add_function(name, Arc::clone(function)).map_err(Failure::Query)
                }
                Place::Other(peer) => {
                    peer.add_function(name, (*range.start(), *range.end()), Until::default())
                }
            })
        });
        added.inspect_err(|_| self.0.functions.take_back(name, before))
    }
}

/// Writes a checkpoint.
pub(crate) fn checkpoint(database: &Database) -> Result<(), QueryError> {
    database.checkpoint().map(drop).map_err(of_engine)
}

/// Copies a database into a new folder.
pub(crate) fn backup(database: &Database, folder: &Path) -> Result<(), QueryError> {
    database.backup(folder, &BackupOptions::default()).map(drop).map_err(of_engine)
}

/// An error of the database, for a statement.
fn of_engine(error: telar_db::Error) -> QueryError {
    QueryError::runtime(ErrorKind::Database, "Database", error.to_string())
}

fn done(answer: Answer) -> Option<()> {
    matches!(answer, Answer::Done).then_some(())
}

/// An error once what is waited for is to end.
pub(crate) fn interrupted(until: Until<'_>) -> Result<(), QueryError> {
    if until.is_over() { Err(until.error()) } else { Ok(()) }
}

impl Inner {
    pub(crate) fn place(&self) -> Arc<Place> {
        Arc::clone(&self.place.read())
    }

    /// Asks where the database is, and again where it went if it is not there any more.
    pub(crate) fn retry<T>(
        &self,
        until: Until<'_>,
        mut ask: impl FnMut(&Place) -> crate::peer::Next<T>,
    ) -> Result<T, QueryError> {
        for _ in 0..TRIES_MAX {
            let place = self.place();
            let lost = match ask(&place) {
                std::ops::ControlFlow::Break(done) => return done,
                std::ops::ControlFlow::Continue(lost) => lost,
            };
            let recovered = self.recover(&place, until);
            if lost.unknown || lost.rows {
                return Err(unknown());
            }
            // Who was asked may have done it, and who could say so is not found.
            let found = |e: QueryError| if lost.sent { unknown() } else { e };
            recovered.map_err(found)?;
        }
        let text = "one process after the other that had the database open has ended";
        Err(QueryError::runtime(ErrorKind::DatabaseUnavailable, "Locked", text))
    }

    /// Finds the database again after the process that had it is gone: opens it, or is let in by
    /// another one that has. Whoever calls saw it at `lost`.
    pub(crate) fn recover(&self, lost: &Arc<Place>, until: Until<'_>) -> Result<(), QueryError> {
        let _moving = self.moving.lock();
        if !Arc::ptr_eq(lost, &self.place()) {
            return Ok(());
        }
        let Self { opening, functions, identity, .. } = self;
        let wanted = Wanted { opening, functions, identity: identity.as_deref() };
        let place = wanted.settle(until, &self.closing).map_err(|e| match e {
            Error::Interrupted => until.error(),
            other => {
                let text = format!("the process that had the database open has ended, and {other}");
                QueryError::runtime(ErrorKind::DatabaseUnavailable, "Locked", text)
            }
        })?;
        *self.place.write() = Arc::new(place);
        Ok(())
    }
}

/// The identity of the database in a folder, which no other one has.
fn identity_of(path: &Path) -> Option<Vec<u8>> {
    std::fs::read(path.join("IDENTITY")).ok()
}

/// A database that is looked for.
struct Wanted<'w> {
    opening: &'w Opening,
    functions: &'w Arc<Functions>,
    /// Of one that was open before: no other one will do, and none is made.
    identity: Option<&'w [u8]>,
}

impl Wanted<'_> {
    /// Opens the database, or is let in by the process that has it.
    fn settle(&self, until: Until<'_>, closing: &AtomicBool) -> Result<Place, Error> {
        let Opening { path, settings, shared, .. } = self.opening;
        let Some(path) = path else {
            return own(self.opening, Database::in_memory(*settings)?, self.functions);
        };
        let mut settings = *settings;
        settings.shared = *shared;
        let durable = settings.durability == Durability::Full;
        // What the lock file says, and since when.
        let mut seen = (None, Instant::now());
        let mut pause = Duration::from_millis(1);
        loop {
            if self.identity.is_some() && self.identity != identity_of(path).as_deref() {
                return Err(Error::Gone { path: path.clone() });
            }
            let error = match Database::open(path, settings) {
                Ok(database) => return own(self.opening, database, self.functions),
                Err(error) => error,
            };
            let wait = match &error {
                telar_db::Error::Locked { .. } if !shared => return Err(error.into()),
                telar_db::Error::Locked { shares: true, .. } => WAIT,
                telar_db::Error::Locked { holder, .. } if holder.starts_with("closed") => {
                    WAIT_CLOSING
                }
                telar_db::Error::Locked { .. } => WAIT_ALONE,
                _ => return Err(error.into()),
            };
            if seen.0 != Some(wait) {
                seen = (Some(wait), Instant::now());
            }
            match Peer::connect(path, durable, self.functions, until) {
                Ok(peer) => return Ok(Place::Other(peer)),
                Err(NotIn::Refused(reason)) => {
                    return Err(Error::Refused { path: path.clone(), reason });
                }
                Err(NotIn::Failed(source)) => {
                    return Err(Error::Unconnected { path: path.clone(), source });
                }
                Err(NotIn::Interrupted(_)) => return Err(Error::Interrupted),
                Err(NotIn::Nobody) => {}
            }
            if until.is_over() || closing.load(Ordering::SeqCst) {
                return Err(Error::Interrupted);
            }
            if seen.1.elapsed() > wait {
                return Err(error.into());
            }
            thread::sleep(pause);
            pause = (pause * 2).min(Duration::from_millis(50));
        }
    }
}

/// The database is this process's.
fn own(opening: &Opening, database: Database, functions: &Functions) -> Result<Place, Error> {
    let files = opening.files.clone();
    let runtime = Arc::new(runtime_of(files.as_ref()));
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
