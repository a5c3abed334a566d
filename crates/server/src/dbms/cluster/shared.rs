//! Shared state of a cluster: who it is, and its users, grants and databases.
//!
//! | key | value | written |
//! |---|---|---|
//! | `NAME/identity` | [`Identity`] (`stores.rs`) | once, by the first node that starts |
//! | `NAME/system` | [`State`], as in `system.json` | by compare-and-set, for each command |

use std::path::Path;

use serde::{Deserialize, Serialize};
use telar_cluster::keys::Keys;
use telar_cluster::store::{Entry, PutIf, VALUE_BYTES_MAX, Version, random};
use telar_db::query::QueryError;
use telar_db::query::cypher::Secret;

use super::super::Dbms;
use super::super::failure::{invalid, storage};
use super::super::state::{Command, Given, State};
use super::super::store::{make_private, write_json};
use super::stores::Opened;
use super::{Cluster, store_failed};

/// File by which a server's folder knows its cluster.
pub(super) const MARK: &str = "cluster.json";

/// File that every database has.
pub(super) const DATABASE_MARK: &str = "FORMAT";

/// Tries of a change that others come before.
const TRIES: usize = 32;

/// Identity of a cluster.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Identity {
    /// Version of the form.
    format: u32,
    /// Random number, so that two clusters of one name are not taken for each other.
    pub(super) id: u64,
    /// Name of the default database, the same on all nodes.
    pub(super) default_database: String,
    /// Secret by which nodes know each other: who can read the store may read everything.
    #[serde(default)]
    secret: String,
    /// Number of the log, if it is in another store.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) log: Option<u64>,
}

impl Identity {
    /// Version of the form.
    pub(super) const FORMAT: u32 = 1;

    /// A new cluster's.
    pub(super) fn new(default: &str, log: Option<u64>) -> Result<Self, QueryError> {
        let number = || random().map_err(|e| store_failed("name a new cluster", &e));
        let secret = format!("{:016x}{:016x}", number()?, number()?);
        let default_database = default.to_owned();
        Ok(Self { format: Self::FORMAT, id: number()?, default_database, secret, log })
    }
}

/// Finds out which cluster it is, or founds it, and marks the server's folder `path` as one of it;
/// returns the secret of its nodes.
pub(super) fn identify(
    opened: &Opened,
    keys: &Keys,
    default: &str,
    path: &Path,
) -> Result<Secret, QueryError> {
    if path.join(DATABASE_MARK).exists() {
        let message = format!(
            "{} holds a database that belongs to no cluster: name another folder (store.path); \
             `telar cluster init --from` begins a cluster with what is in it",
            path.display()
        );
        return Err(invalid(message));
    }
    let folder = path.join("dbms");
    let mark = folder.join(MARK);
    let known = read_mark(&mark)?;
    let found = found(opened, keys, default, known.is_none())?;
    if found.default_database != default {
        let message = format!(
            "the default database of the cluster '{}' is called '{}', not '{default}' \
             (store.default_database)",
            keys.cluster(),
            found.default_database
        );
        return Err(invalid(message));
    }
    match known {
        Some(known) if known == found => {}
        Some(_) => {
            return Err(invalid(format!(
                "{} belongs to another cluster than '{}' in this store (cluster.store, \
                 cluster.name)",
                path.display(),
                keys.cluster()
            )));
        }
        None => write_mark(path, &found)?,
    }
    Ok(Secret::new(found.secret))
}

/// The identity in the store; made if there is none and `may_found`.
pub(super) fn found(
    opened: &Opened,
    keys: &Keys,
    default: &str,
    may_found: bool,
) -> Result<Identity, QueryError> {
    let identity = match opened.identity(keys)? {
        Some(identity) => identity,
        None if !may_found => {
            return Err(invalid(format!(
                "this server is of a cluster '{}' that is not in the store any more: it is \
                 another store, or an empty one (cluster.store, cluster.name, \
                 cluster.coordination)",
                keys.cluster()
            )));
        }
        None => {
            let made = opened.new_identity(keys, default)?;
            // Another node may be faster; what is there counts.
            opened.found(keys, &made)?;
            let found = opened.identity(keys)?;
            found.ok_or_else(|| invalid("the cluster's store lost what was written into it"))?
        }
    };
    opened.claim_log(keys, &identity)?;
    Ok(identity)
}

pub(super) fn read_mark(mark: &Path) -> Result<Option<Identity>, QueryError> {
    match std::fs::read(mark) {
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Err(e) => Err(storage(&format!("cannot read {}", mark.display()), e)),
        Ok(bytes) => serde_json::from_slice(&bytes)
            .map(Some)
            .map_err(|e| storage(&format!("{} is damaged", mark.display()), e)),
    }
}

/// Marks the server's folder `path` as one of a cluster.
pub(super) fn write_mark(path: &Path, identity: &Identity) -> Result<(), QueryError> {
    let folder = path.join("dbms");
    let mark = folder.join(MARK);
    let write = || {
        std::fs::create_dir_all(path)?;
        make_private(&folder)?;
        let new = folder.join("cluster.json.new");
        write_json(&new, identity)?;
        std::fs::rename(&new, &mark)?;
        std::fs::File::open(&folder)?.sync_all()
    };
    write().map_err(|e| storage(&format!("cannot write {}", mark.display()), e))
}

/// Refuses a server's folder whose databases are copies, for a server without a cluster.
pub(in crate::dbms) fn refuse_copies(path: &Path) -> Result<(), QueryError> {
    if !path.join("dbms").join(MARK).exists() {
        return Ok(());
    }
    Err(invalid(format!(
        "{} holds copies of a cluster's databases: set cluster.store, cluster.name and \
         cluster.node (--cluster, --node), or name another folder",
        path.display()
    )))
}

/// Outcome of an attempt to replace the shared state.
pub(super) enum Replaced {
    /// It is there, in this version.
    Won(Version),
    /// Somebody was faster.
    Lost,
}

impl Cluster {
    /// The shared state of `entry`.
    pub(super) fn decode(&self, entry: &Entry) -> Result<State, QueryError> {
        State::decode(&entry.value)
            .map_err(|why| storage(&format!("{} in the store is damaged", entry.key), why))
    }

    /// The shared state with its version, if there is any.
    pub(super) fn load(&self) -> Result<Option<(State, Version)>, QueryError> {
        let wrong = |error| store_failed("read users and databases", &error);
        let key = self.keys.system().map_err(wrong)?;
        let entry = self.stores.coordination.get(&key).map_err(wrong)?;
        entry.map(|entry| Ok((self.decode(&entry)?, entry.version))).transpose()
    }

    /// The shared state; `first` if there is none yet. True if it was made by this call.
    pub(in crate::dbms) fn load_or_make(
        &self,
        first: impl FnOnce() -> Result<State, QueryError>,
    ) -> Result<(State, bool), QueryError> {
        if let Some((state, version)) = self.load()? {
            self.note_installed(version);
            return Ok((state, false));
        }
        let first = first()?;
        if let Replaced::Won(version) = self.replace(Version::ABSENT, &first)? {
            self.note_installed(version);
            return Ok((first, true));
        }
        let (state, version) = self.load()?.ok_or_else(|| invalid("the state is gone"))?;
        self.note_installed(version);
        Ok((state, false))
    }

    /// Replaces the shared state of this version.
    pub(super) fn replace(&self, version: Version, new: &State) -> Result<Replaced, QueryError> {
        let wrong = |error| store_failed("write users and databases", &error);
        let key = self.keys.system().map_err(wrong)?;
        let value = serde_json::to_vec(new).map_err(|e| storage("cannot write", e))?;
        if value.len() > VALUE_BYTES_MAX {
            return Err(invalid(format!(
                "users, grants and databases of a cluster have room in {VALUE_BYTES_MAX} bytes, \
                 and would take {}",
                value.len()
            )));
        }
        match self.stores.coordination.put_if(&key, version, &value).map_err(wrong)? {
            PutIf::Won(version) => Ok(Replaced::Won(version)),
            PutIf::Lost(_) => Ok(Replaced::Lost),
            // It is found out by reading what is there: nobody else writes the same bytes.
            PutIf::Unknown(error) => match self.stores.coordination.get(&key).map_err(wrong)? {
                Some(entry) if entry.value == value => Ok(Replaced::Won(entry.version)),
                _ => Err(store_failed("learn whether the change was made", &error)),
            },
        }
    }

    /// Applies a change to the newest shared state, again if others come before it. Returned is
    /// what the change returned, the state and its version.
    pub(in crate::dbms) fn change(
        &self,
        mut change: impl FnMut(&State) -> Result<(State, u64), QueryError>,
    ) -> Result<(u64, State, Version), QueryError> {
        for _ in 0..TRIES {
            let (old, version) = self.load()?.ok_or_else(|| invalid("the state is gone"))?;
            let (new, changes) = change(&old)?;
            if changes == 0 {
                return Ok((0, old, version));
            }
            if let Replaced::Won(version) = self.replace(version, &new)? {
                return Ok((changes, new, version));
            }
        }
        Err(super::server_error(
            telar_db::query::ErrorKind::Conflict,
            "others change users and databases all the time; try again",
        ))
    }
}

impl Dbms {
    /// As [`Dbms::execute`], for all nodes: what is changed is the shared state, and this node
    /// installs it before it returns.
    pub(in crate::dbms) fn execute_shared(
        &self,
        commands: &[Command],
        given: &Given<'_>,
        may: impl Fn(&State) -> Result<(), QueryError>,
    ) -> Result<u64, QueryError> {
        let Some(cluster) = &self.cluster else { return Ok(0) };
        let _change = self.change.lock();
        let (changes, new, version) = cluster.change(|old| {
            may(old)?;
            let (mut new, mut changes) = (old.clone(), 0);
            for command in commands {
                changes += u64::from(new.apply(command, given)?);
            }
            Ok((new, changes))
        })?;
        if version > cluster.installed() {
            cluster.note_installed(version);
            self.install(new);
        }
        Ok(changes)
    }
}
