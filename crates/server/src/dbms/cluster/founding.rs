//! Clusters that begin with data: of a server or a backup, or of a node whose store is lost.
//!
//! ```text
//!  init     server's folder, backups ─► copies in a new folder ─┐
//!  recover  node's folder, as it is ────────────────────────────┴─► logs begin after the copies,
//!                                                                    users and databases, identity
//! ```
//!
//! The identity is written last: until then there is no cluster, and the same command can be given
//! again. Nodes that start later get their copies from the first one.

use std::path::{Path, PathBuf};

use telar_cluster::keys::Keys;
use telar_cluster::members;
use telar_cluster::store::{Name, PutIf, StoreError, VALUE_BYTES_MAX, Version, begin_at};
use telar_db::maintenance::{BackupOptions, RestoreOptions, restore};
use telar_db::query::QueryError;
use telar_db::{Database as Engine, Settings};

use super::super::Failure;
use super::super::failure::{invalid, storage};
use super::super::state::State;
use super::super::store::{Store, beside, remove_folder};
use super::shared::{DATABASE_MARK, Identity, MARK, read_mark, write_mark};
use super::stores::Opened;
use super::{Cluster, StoreUrls, refuse_copies, store_failed};

/// File of a finished backup.
const BACKUP_MARK: &str = "MANIFEST";

/// Databases of a cluster that begins, and the commits that their copies are at.
pub type Begun = Vec<(String, u64)>;

/// A cluster that is to begin.
#[derive(Debug)]
pub struct Founding {
    opened: Opened,
    keys: Keys,
    engine: Settings,
}

impl Founding {
    /// The cluster `name` in the store at `urls`, or in the two, where there must be none of this
    /// name.
    ///
    /// # Errors
    /// If there is one, or the store cannot be read.
    pub fn new(urls: impl Into<StoreUrls>, name: &str, engine: Settings) -> Result<Self, Failure> {
        let keys = Keys::new(name).map_err(|e| invalid(format!("--name: {e}")))?;
        let opened = urls.into().open(|_, error| invalid(error.to_string()))?;
        let founding = Self { opened, keys, engine };
        if founding.opened.identity(&founding.keys)?.is_some() {
            let message = format!(
                "there is a cluster '{name}' in this store: start a node of it, or choose another \
                 --name"
            );
            return Err(invalid(message).into());
        }
        Ok(founding)
    }

    /// Makes `folder`, which must not exist or be empty, the folder of the first node: with the
    /// databases and users of the server's folder `from`, which stays as it is, or with what the
    /// backups `from` hold, the full one and those that continue it. The default database is called
    /// `default`. `done` is told of each database.
    ///
    /// # Errors
    /// If `from` is no server's folder and no backup, is in use, or cannot be copied: there is no
    /// cluster then, and what is in `folder` is of no use.
    pub fn init(
        &self,
        from: &[PathBuf],
        folder: &Path,
        default: &str,
        mut done: impl FnMut(&str, u64),
    ) -> Result<Begun, Failure> {
        let (source, is_backup) = source(from)?;
        if std::fs::read_dir(folder).is_ok_and(|mut names| names.next().is_some()) {
            let message = format!("{} is not empty: name a new folder", folder.display());
            return Err(invalid(message).into());
        }
        let state = match is_backup {
            true => None,
            false => Store::peek(source)?,
        };
        if state.as_ref().is_some_and(|state| state.databases.contains_key(default)) {
            let message = format!(
                "'{default}' is not the default database of {}, but another one there: name its \
                 default database (--default-database)",
                source.display()
            );
            return Err(invalid(message).into());
        }
        std::fs::create_dir_all(folder).map_err(|e| cannot("make", folder, e))?;
        let store = Store::open(folder)?;
        let mut begun = Begun::new();
        let target = store.database(&Cluster::default_folder(default));
        let commit = match is_backup {
            true => restore(from, &target, &RestoreOptions::default())
                .map_err(|e| cannot("restore", source, e))?
                .to
                .get(),
            false => self.copy(source, &target)?,
        };
        done(default, commit);
        begun.push((default.to_owned(), commit));
        for (name, entry) in state.iter().flat_map(|state| &state.databases) {
            let (from, to) =
                (Store::database_below(source, &entry.folder), store.database(&entry.folder));
            let commit = self.copy(&from, &to)?;
            done(name, commit);
            begun.push((name.clone(), commit));
        }
        if let Some(state) = &state {
            store.save(state)?;
        }
        self.begin(state.as_ref(), &begun, default)?;
        let identity = self.opened.new_identity(&self.keys, default)?;
        // First: no server without a cluster writes into the copies.
        write_mark(folder, &identity)?;
        self.found(&identity)?;
        Ok(begun)
    }

    /// Begins the cluster anew with the copies of a node whose store is lost: in `folder`, which no
    /// server uses. It is another cluster: other nodes may have commits that this one has not, so
    /// their folders are refused from now on, and new ones get their copies from this node. The
    /// databases `without` are left out, with their grants.
    ///
    /// # Errors
    /// If it is no node's folder, in use, or one of its copies cannot be opened.
    pub fn recover(&self, folder: &Path, without: &[String]) -> Result<Begun, Failure> {
        let Some(identity) = read_mark(&folder.join("dbms").join(MARK))? else {
            let message = format!(
                "{} is no node's folder: `telar cluster init --from` begins a cluster with a \
                 server's",
                folder.display()
            );
            return Err(invalid(message).into());
        };
        let Some(mut state) = Store::peek(folder)? else {
            let message = format!("{} knows no users: it never served", folder.display());
            return Err(invalid(message).into());
        };
        let (store, default) = (Store::open(folder)?, &identity.default_database);
        for name in without {
            if state.databases.remove(name).is_none() {
                let message =
                    format!("--without: there is no database '{name}' beside the default");
                return Err(invalid(message).into());
            }
        }
        state.forget_missing(default);
        let others =
            state.databases.iter().map(|(name, entry)| (name.clone(), entry.folder.clone()));
        let all = std::iter::once((default.clone(), Cluster::default_folder(default)));
        let mut begun = Begun::new();
        for (name, below) in all.chain(others) {
            let path = store.database(&below);
            if !path.join(DATABASE_MARK).is_file() {
                let message = format!(
                    "there is no copy of the database '{name}' in this folder: choose another \
                     node, or leave it out (--without)"
                );
                return Err(invalid(message).into());
            }
            let engine = Engine::open_to_follow(&path, self.engine);
            let engine = engine.map_err(|e| cannot("open", &path, e))?;
            begun.push((name, engine.published().get()));
            engine.close().map_err(|e| cannot("close", &path, e))?;
        }
        self.begin(Some(&state), &begun, default)?;
        let identity = self.opened.new_identity(&self.keys, default)?;
        // First: an attempt that breaks off here can be made again.
        write_mark(folder, &identity)?;
        self.found(&identity)?;
        Ok(begun)
    }

    /// Copies the database of a server that does not run.
    fn copy(&self, from: &Path, to: &Path) -> Result<u64, Failure> {
        let engine = Engine::open(from, self.engine).map_err(|e| cannot("open", from, e))?;
        let backup = beside(to, ".backup");
        let copied = engine
            .backup(&backup, &BackupOptions::default())
            .and_then(|_| restore(std::slice::from_ref(&backup), to, &RestoreOptions::default()));
        remove_folder(&backup);
        let restored = copied.map_err(|e| cannot("copy", from, e))?;
        engine.close().map_err(|e| cannot("close", from, e))?;
        Ok(restored.to.get())
    }

    /// Lets the log of each database begin after its copy, and writes users and databases.
    fn begin(&self, state: Option<&State>, begun: &Begun, default: &str) -> Result<(), Failure> {
        for (name, commit) in begun {
            let entry = state.and_then(|state| state.databases.get(name));
            let folder = match entry {
                Some(entry) if name != default => entry.folder.clone(),
                _ => Cluster::default_folder(default),
            };
            let stream = self.name(|keys| keys.database(&folder))?;
            let begins = begin_at(&*self.opened.stores.log, &stream, commit + 1);
            begins.map_err(|e| store_failed("begin a log", &e))?;
        }
        let Some(state) = state else { return Ok(()) };
        let value = serde_json::to_vec(state).map_err(|e| storage("cannot write", e))?;
        if value.len() > VALUE_BYTES_MAX {
            let message = format!("users and databases have no room in {VALUE_BYTES_MAX} bytes");
            return Err(invalid(message).into());
        }
        self.put(&self.name(Keys::system)?, &value)
    }

    fn found(&self, identity: &Identity) -> Result<(), Failure> {
        if !self.opened.found(&self.keys, identity)? {
            return Err(somebody_else().into());
        }
        Ok(self.opened.claim_log(&self.keys, identity)?)
    }

    fn name(
        &self,
        name: impl FnOnce(&Keys) -> Result<Name, StoreError>,
    ) -> Result<Name, QueryError> {
        name(&self.keys).map_err(|e| invalid(e.to_string()))
    }

    fn get(&self, key: &Name) -> Result<Option<Version>, QueryError> {
        let found = self.opened.stores.coordination.get(key);
        let found = found.map_err(|e| store_failed("read the store", &e))?;
        Ok(found.map(|entry| entry.version))
    }

    /// Writes a value in place of what an attempt that broke off has left.
    fn put(&self, key: &Name, value: &[u8]) -> Result<(), Failure> {
        let before = self.get(key)?.unwrap_or(Version::ABSENT);
        let put = self.opened.stores.coordination.put_if(key, before, value);
        match put.map_err(|e| store_failed("write into the store", &e))? {
            PutIf::Won(_) => Ok(()),
            PutIf::Lost(_) => Err(somebody_else().into()),
            PutIf::Unknown(e) => Err(store_failed("learn whether it was written", &e).into()),
        }
    }
}

/// The folder that a cluster is to begin with, and whether it is a backup.
fn source(from: &[PathBuf]) -> Result<(&Path, bool), Failure> {
    let is_backup = |path: &PathBuf| path.join(BACKUP_MARK).is_file();
    let Some(first) = from.first() else {
        return Err(invalid("no folder is named to begin with (--from)").into());
    };
    if from.iter().all(is_backup) {
        return Ok((first, true));
    }
    if let [_, second, ..] = from {
        let message = format!("{} is no backup: only backups can be several", second.display());
        return Err(invalid(message).into());
    }
    refuse_copies(first)?;
    if !first.join(DATABASE_MARK).is_file() {
        let message = format!("{} is no server's folder and no backup", first.display());
        return Err(invalid(message).into());
    }
    Ok((first, false))
}

fn somebody_else() -> QueryError {
    invalid("somebody else begins this cluster")
}

fn cannot(what: &str, path: &Path, error: impl std::fmt::Display) -> QueryError {
    storage(&format!("cannot {what} {}", path.display()), error)
}

/// Removes a node from the cluster `name` in the store at `urls`, or in the two: the log is trimmed
/// without it, and nobody is shown it. One that starts again under this name is a node again.
///
/// # Errors
/// If there is no such cluster or node, or it is there.
pub fn remove_member(urls: impl Into<StoreUrls>, name: &str, node: &str) -> Result<(), Failure> {
    let wrong = |error: StoreError| Failure::from(store_failed("remove a node", &error));
    let keys = Keys::new(name).map_err(wrong)?;
    let opened = urls.into().open(|_, error| store_failed("remove a node", &error))?;
    if opened.identity(&keys)?.is_none() {
        return Err(invalid(format!("there is no cluster '{name}' in this store")).into());
    }
    let stores = opened.stores;
    let all = members::observe(&*stores.coordination, &keys).map_err(wrong)?;
    let Some(seen) = all.iter().find(|seen| seen.member.node == node) else {
        let known: Vec<_> = all.iter().map(|seen| &*seen.member.node).collect();
        let message =
            format!("the cluster '{name}' has no node '{node}', but {}", known.join(", "));
        return Err(invalid(message).into());
    };
    if seen.is_live() {
        return Err(invalid(format!("the node '{node}' is there: stop it first")).into());
    }
    members::remove(&*stores.coordination, &keys, node).map_err(wrong)?;
    Ok(())
}
