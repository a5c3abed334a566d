//! The files of a server beside its default database.
//!
//! ```text
//! PATH/             the default database, as `telar import` makes one
//! └─ dbms/          for its owner only
//!    ├─ system.json     users, grants, databases: replaced as a whole
//!    ├─ audit.log       who did what
//!    └─ databases/
//!       └─ shop-7/      a database; the number is given once
//! ```
//!
//! `system.json` decides. It is written beside, synced, renamed, and its folder synced, so that it
//! is the old or the new one after a crash. A database is made in three steps: its folder is noted
//! as garbage; the database is made in it; the folder is noted as the database's. It is dropped in
//! two: noted as garbage, removed. A start removes what is left of garbage, and nothing else.
//!
//! On a node of a cluster the shared state decides, and `system.json` is a copy of it: for the day
//! on which the store is lost.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use telar_db::query::QueryError;

use super::failure::storage;
use super::state::State;

/// The folder of a server.
#[derive(Debug)]
pub(super) struct Store {
    folder: PathBuf,
}

impl Store {
    /// The store beside the database in `path`, made if there is none.
    pub(super) fn open(path: &Path) -> Result<Self, QueryError> {
        let store = Self { folder: path.join("dbms") };
        let make = || {
            make_private(&store.folder)?;
            make_private(&store.folder.join("databases"))?;
            File::open(path)?.sync_all()
        };
        make().map_err(|e| storage(&format!("cannot make {}", store.folder.display()), e))?;
        Ok(store)
    }

    pub(super) fn audit_path(&self) -> PathBuf {
        self.folder.join("audit.log")
    }

    /// The folder of a database.
    pub(super) fn database(&self, folder: &str) -> PathBuf {
        self.folder.join("databases").join(folder)
    }

    /// Makes the folders of new databases durable.
    pub(super) fn sync_databases(&self) -> Result<(), QueryError> {
        let folder = self.folder.join("databases");
        let synced = File::open(&folder).and_then(|folder| folder.sync_all());
        synced.map_err(|e| storage(&format!("cannot sync {}", folder.display()), e))
    }

    /// The folder of a database of the server in the folder `path`.
    pub(super) fn database_below(path: &Path, folder: &str) -> PathBuf {
        path.join("dbms").join("databases").join(folder)
    }

    /// State that the server in the folder `path` saved last, if any; nothing is made there.
    pub(super) fn peek(path: &Path) -> Result<Option<State>, QueryError> {
        Self { folder: path.join("dbms") }.load()
    }

    fn state_path(&self) -> PathBuf {
        self.folder.join("system.json")
    }

    /// What was saved last, if anything was.
    pub(super) fn load(&self) -> Result<Option<State>, QueryError> {
        let path = self.state_path();
        let bytes = match fs::read(&path) {
            Ok(bytes) => bytes,
            Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(e) => return Err(storage(&format!("cannot read {}", path.display()), e)),
        };
        let state = State::decode(&bytes);
        state.map(Some).map_err(|why| storage(&format!("cannot read {}", path.display()), why))
    }

    /// What was saved last, without what is left of garbage; saves what `first` returns, if nothing
    /// was. True if it did.
    pub(super) fn load_or_make(
        &self,
        first: impl FnOnce() -> Result<State, QueryError>,
    ) -> Result<(State, bool), QueryError> {
        let loaded = self.load()?;
        let made = loaded.is_none();
        let mut state = loaded.map_or_else(first, Ok)?;
        if self.remove_garbage(&mut state) || made {
            self.save(&state)?;
        }
        Ok((state, made))
    }

    /// Replaces what was saved.
    ///
    /// # Errors
    /// If the file could not be written: what was saved before stays.
    pub(super) fn save(&self, state: &State) -> Result<(), QueryError> {
        let (path, new) = (self.state_path(), self.folder.join("system.json.new"));
        let write = || {
            write_json(&new, state)?;
            crash_point("saved");
            fs::rename(&new, &path)
        };
        write().map_err(|e: io::Error| storage(&format!("cannot write {}", path.display()), e))?;
        crash_point("renamed");
        // From here on the new state is what a start finds, unless the machine fails, too.
        if let Err(e) = File::open(&self.folder).and_then(|folder| folder.sync_all()) {
            tracing::error!("cannot sync {}: {e}", self.folder.display());
        }
        Ok(())
    }

    /// Removes the folders of databases that are not `used`.
    pub(super) fn remove_others(&self, used: impl Fn(&str) -> bool) {
        let entries = fs::read_dir(self.folder.join("databases"));
        for entry in entries.into_iter().flatten().flatten() {
            if !entry.file_name().to_str().is_some_and(&used) {
                remove_folder(&entry.path());
            }
        }
    }

    /// Removes folders of no database; those that are gone are forgotten. Whether any was.
    pub(super) fn remove_garbage(&self, state: &mut State) -> bool {
        let before = state.garbage.len();
        state.garbage.retain(|folder| !remove_folder(&self.database(folder)));
        state.garbage.len() < before
    }
}

/// Removes a folder with all that is in it. Whether it is gone for good; if not, that is logged.
pub(super) fn remove_folder(folder: &Path) -> bool {
    match fs::remove_dir_all(folder) {
        Err(e) if e.kind() != io::ErrorKind::NotFound => {
            tracing::warn!("cannot remove {}: {e}", folder.display());
            false
        }
        _ => match folder.parent().map(|above| File::open(above)?.sync_all()) {
            // Forgotten before its removal is on disk, it would come back, and stay, after a power
            // failure.
            Some(Err(e)) => {
                tracing::warn!("cannot sync the folder of {}: {e}", folder.display());
                false
            }
            _ => true,
        },
    }
}

/// A step at which the crash tests end the process.
#[cfg(not(test))]
pub(super) fn crash_point(_: &str) {}

#[cfg(test)]
pub(super) use super::tests::crash_point;

/// The folder beside `path` whose name is longer by `suffix`.
pub(crate) fn beside(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(suffix);
    path.with_file_name(name)
}

/// Makes a folder for its owner only; one that is there stays.
pub(crate) fn make_private(folder: &Path) -> io::Result<()> {
    let mut builder = fs::DirBuilder::new();
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    match builder.create(folder) {
        Err(e) if e.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        done => done,
    }
}

/// Writes a value into a new file for its owner only, durable but for its name.
pub(super) fn write_json(path: &Path, value: &impl serde::Serialize) -> io::Result<()> {
    let mut file = create_private(path)?;
    serde_json::to_writer_pretty(&mut file, value)?;
    file.write_all(b"\n")?;
    file.sync_all()
}

fn create_private(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.write(true).create(true).truncate(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path)
}
