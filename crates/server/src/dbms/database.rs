//! A database that clients can use.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Weak};
use std::time::Duration;

use parking_lot::Mutex;
use telar_db::maintenance::{Manifest, time};
use telar_db::query::{ErrorKind, Procedures, QueryError};
use telar_db::{Backend, Runtime, Session, Settings};

use super::cluster::{LocalCopy, ReplicaBackend, TRANSFER, Transfer};
use super::failure::{no_database, unavailable};
use super::follow::FollowBackend;
use super::{procedures, store};
use crate::replication::log::Places;

/// A database that clients can use. Whoever uses it holds it; its files are closed, and removed if
/// it was dropped, when the last one lets go.
#[derive(Debug)]
pub struct Database {
    name: Arc<str>,
    engine: telar_db::Database,
    /// The same, as its sessions see it.
    backend: Arc<dyn Backend>,
    runtime: Arc<Runtime>,
    last_backup: Arc<LastBackup>,
    /// Places of followers in its log.
    places: Places,
    /// The copy that it is of a database of a cluster, and the number of that opening.
    copy: Option<(LocalCopy, u64)>,
    end: Mutex<Option<End>>,
    // These are dropped last, when the files are closed.
    doomed: Doomed,
    open: Arc<()>,
}

/// When the newest backup was taken, milliseconds since 1970; 0 if there is none.
#[derive(Debug, Default)]
pub(super) struct LastBackup(AtomicU64);

impl LastBackup {
    /// Looks for backups of this database in the folders below `below`. What cannot be read is no
    /// backup.
    fn find(engine: &telar_db::Database, below: Option<&Path>) -> Self {
        let found = Self::default();
        let (Some(own), Some(below)) = (engine.identity(), below) else { return found };
        for folder in std::fs::read_dir(below).into_iter().flatten().flatten() {
            match Manifest::read(&folder.path()) {
                Ok(manifest) if manifest.database == own => found.note(manifest.time_ms),
                _ => {}
            }
        }
        found
    }

    /// Notes one that was taken at that time.
    pub(super) fn note(&self, ms: u64) {
        // ORDERING: relaxed, as nothing else is read because of the time.
        self.0.fetch_max(ms, Ordering::Relaxed);
    }

    fn age(&self) -> Option<Duration> {
        // ORDERING: relaxed, as above.
        let ms = Some(self.0.load(Ordering::Relaxed)).filter(|ms| *ms > 0)?;
        Some(Duration::from_millis(time::now_ms().saturating_sub(ms)))
    }
}

/// Why it can no longer be used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum End {
    Dropped,
    Stopped,
    /// This node's copy is opened anew, mostly since the node led it, and leads no more.
    Deposed,
    /// It was a copy of another server's database: a newer one has come in its place, or it is
    /// opened anew.
    Replaced,
}

/// A folder that is removed when this is dropped.
#[derive(Debug, Default)]
struct Doomed(Mutex<Option<PathBuf>>);

impl Drop for Doomed {
    fn drop(&mut self) {
        if let Some(folder) = self.0.get_mut().take() {
            store::remove_folder(&folder);
        }
    }
}

impl Database {
    /// A database under a name.
    #[must_use]
    pub fn new(name: impl Into<Arc<str>>, engine: telar_db::Database) -> Self {
        Self::with_backups(name, engine, None)
    }

    /// As [`new`](Self::new); backups are written below a folder, if there is one.
    fn with_backups(
        name: impl Into<Arc<str>>,
        engine: telar_db::Database,
        backups: Option<PathBuf>,
    ) -> Self {
        let backend = Arc::new(engine.clone());
        Self::with_backend(name.into(), engine, backend, None, backups)
    }

    /// A copy of a database of a cluster; `number` says which opening of it.
    pub(super) fn replicated(
        name: impl Into<Arc<str>>,
        (copy, number): (LocalCopy, u64),
        engine: telar_db::Database,
        backups: Option<PathBuf>,
    ) -> Self {
        let backend = ReplicaBackend { engine: engine.clone(), copy: copy.clone() };
        Self::with_backend(name.into(), engine, Arc::new(backend), Some((copy, number)), backups)
    }

    /// A copy of a database of the server at `address`.
    pub(super) fn following(
        name: impl Into<Arc<str>>,
        engine: telar_db::Database,
        address: String,
        backups: Option<PathBuf>,
    ) -> Self {
        let backend = FollowBackend { engine: engine.clone(), address };
        Self::with_backend(name.into(), engine, Arc::new(backend), None, backups)
    }

    fn with_backend(
        name: Arc<str>,
        engine: telar_db::Database,
        backend: Arc<dyn Backend>,
        copy: Option<(LocalCopy, u64)>,
        backups: Option<PathBuf>,
    ) -> Self {
        let mut procedures = Procedures::builtin();
        procedures.database = Arc::clone(&name);
        #[cfg(feature = "files")]
        {
            procedures.files = telar_files::formats();
        }
        let last_backup = Arc::new(LastBackup::find(&engine, backups.as_deref()));
        procedures::add(&mut procedures, &engine, backups, &last_backup);
        if let Some((copy, _)) = &copy {
            procedures.add(TRANSFER, Arc::new(Transfer::new(copy.clone())));
        }
        let runtime = Arc::new(Runtime::new(procedures));
        let (end, doomed, open) = (Mutex::default(), Doomed::default(), Arc::default());
        let places = Places::default();
        Self { name, engine, backend, runtime, last_backup, places, copy, end, doomed, open }
    }

    /// Opens the database in a folder, or makes one there; without a folder, one in memory.
    pub(super) fn open(
        name: &str,
        folder: Option<PathBuf>,
        settings: Settings,
        backups: Option<PathBuf>,
    ) -> Result<Self, telar_db::Error> {
        let engine = match folder {
            Some(folder) => telar_db::open_with(folder, settings)?,
            None => telar_db::Database::in_memory(settings)?,
        };
        Ok(Self::with_backups(name, engine, backups))
    }

    /// What clients call it.
    #[must_use]
    pub fn name(&self) -> &Arc<str> {
        &self.name
    }

    /// The database itself.
    #[must_use]
    pub fn engine(&self) -> &telar_db::Database {
        &self.engine
    }

    /// Places of followers in its log.
    pub(crate) fn places(&self) -> &Places {
        &self.places
    }

    /// The database as its sessions see it.
    #[must_use]
    pub fn backend(&self) -> &Arc<dyn Backend> {
        &self.backend
    }

    /// What its sessions share.
    #[must_use]
    pub fn runtime(&self) -> &Arc<Runtime> {
        &self.runtime
    }

    /// How old the newest backup of this database is that lies below the server's folder for
    /// them; none if there is none.
    #[must_use]
    pub fn backup_age(&self) -> Option<Duration> {
        self.last_backup.age()
    }

    /// A session that shares plans with all others.
    #[must_use]
    pub fn session(&self) -> Session {
        Session::with_backend(Arc::clone(&self.backend), Arc::clone(&self.runtime))
    }

    /// The copy that it is, of a database of a cluster.
    pub(super) fn copy(&self) -> Option<&LocalCopy> {
        self.copy.as_ref().map(|(copy, _)| copy)
    }

    /// Number of the opening of its copy.
    pub(super) fn copy_number(&self) -> Option<u64> {
        self.copy.as_ref().map(|(_, number)| *number)
    }

    /// Closes the database with a checkpoint, if nobody else holds it.
    pub(super) fn close(self: Arc<Self>) -> Result<(), telar_db::Error> {
        let Some(this) = Arc::into_inner(self) else { return Ok(()) };
        let Self { engine, copy, .. } = this;
        // Its threads end first: nothing is applied to what is closed.
        drop(copy);
        engine.close()
    }

    /// Something that is there until the files are closed.
    pub(super) fn is_open(&self) -> Weak<()> {
        Arc::downgrade(&self.open)
    }

    /// Ends what runs and whatever will begin. The files in `folder` go with the last user.
    pub(super) fn end(&self, end: End, folder: Option<PathBuf>) {
        *self.end.lock() = Some(end);
        *self.doomed.0.lock() = folder;
        self.runtime.running().close();
    }

    /// What to say instead of `error`, if the database can no longer be used.
    pub(super) fn explain(&self, error: QueryError) -> QueryError {
        match *self.end.lock() {
            None => error,
            Some(End::Dropped) => no_database(&self.name),
            Some(End::Stopped) => unavailable(&self.name, "it was stopped"),
            // Not every error: of a commit whose outcome is not known nobody may say that it can be
            // tried again.
            Some(End::Deposed) if error.kind == ErrorKind::Terminated => {
                self.copy().map_or(error, LocalCopy::not_a_leader)
            }
            Some(End::Replaced) if error.kind == ErrorKind::Terminated => {
                unavailable(&self.name, "its copy was opened anew, or replaced: try again")
            }
            Some(End::Deposed | End::Replaced) => error,
        }
    }
}
