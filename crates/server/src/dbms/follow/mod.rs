//! A server that follows another one: copies of its databases, for reads.
//!
//! ```text
//!  Dbms ── Follow ─┬─ Source: address, credentials          settings
//!                  ├─ Copies: folder and source of each     dbms/follow.json
//!                  └─ Standing: lag, troubles               of each database
//!  lister (a thread): databases of the source ─► starts and ends workers
//!  worker (a thread each): image, then records of the log ─► Engine::apply
//! ```
//!
//! - `copies`: the file. `backend`: a copy as sessions see it. `standing`: lag and troubles.
//! - `lister`, `worker`: the threads. `install`: what they do to the server.
//! - `promote`: the end of following, by hand.
//!
//! Below the server's folder lies `dbms/` as of an ordinary server, and in it the copies of all
//! databases, the default one among them. Users and grants are those of the follower.
//!
//! The source is known by the identity of its default database. A server at the address that has
//! another one is not followed: a copy may be the last that is left.
//! [decisions/0079](../../../../../docs/decisions/0079-a-follower-asks-over-http.md)

mod backend;
mod copies;
mod install;
mod lister;
mod promote;
mod standing;
mod worker;

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use parking_lot::Mutex;
use telar_db::query::{ErrorKind, QueryError};

pub(super) use backend::FollowBackend;
pub(super) use copies::refuse_copies;
pub(super) use lister::Lister;
pub use promote::{Promoted, promote};
pub(crate) use standing::Seen;

use super::failure::{invalid, server_error};
use super::state::State;
use super::store::Store;
use crate::replication::client::Asking;
use copies::{Copies, CopyEntry, Lock};
use standing::Standing;

/// A server's part of following another one.
#[derive(Debug)]
pub(super) struct Follow {
    /// Address of the source, and credentials for it.
    asking: Asking,
    copies: Mutex<Copies>,
    /// Lag and troubles by database.
    standings: Mutex<BTreeMap<String, Arc<Standing>>>,
    _lock: Lock,
}

impl Follow {
    /// Opens the follower in the server's folder `path`, made if there is none.
    pub(super) fn open(asking: Asking, path: &Path) -> Result<Self, QueryError> {
        let tried = asking.client(Arc::default());
        tried.map_err(|why| invalid(format!("follow.ca, follow.address: {why}")))?;
        let lock = copies::begin(path)?;
        let copies = Copies::load_or_make(path)?;
        if copies.promoting {
            return Err(copies::interrupted(path));
        }
        let (copies, standings) = (Mutex::new(copies), Mutex::default());
        Ok(Self { asking, copies, standings, _lock: lock })
    }

    /// Address of the source.
    pub(super) fn address(&self) -> String {
        self.asking.url.to_string()
    }

    /// The copy of a database, if there is one.
    fn copy(&self, name: &str) -> Option<CopyEntry> {
        self.copies.lock().databases.get(name).cloned()
    }

    /// Folder of the copy of a database, if there is one.
    pub(super) fn folder(&self, name: &str) -> Option<String> {
        self.copy(name).map(|copy| copy.folder)
    }

    fn standing(&self, name: &str) -> Arc<Standing> {
        Arc::clone(self.standings.lock().entry(name.to_owned()).or_default())
    }

    /// Lag and troubles of a database.
    pub(super) fn seen(&self, name: &str) -> Seen {
        self.standing(name).seen()
    }

    /// Brings the databases of the state in line with the copies, and removes folders of no copy.
    /// True if the state has changed.
    pub(super) fn reconcile(&self, state: &mut State, store: &Store, default: &str) -> bool {
        let copies = self.copies.lock();
        let used = |folder: &str| copies.databases.values().any(|copy| copy.folder == folder);
        store.remove_others(used);
        let others = copies.databases.iter().filter(|(name, _)| *name != default);
        let databases = others.map(|(name, copy)| (name.clone(), copy.entry())).collect();
        let changed = state.databases != databases;
        state.databases = databases;
        state.forget_missing(default);
        changed
    }

    /// The refusal of a write.
    pub(super) fn refusal(address: &str) -> QueryError {
        let message = format!(
            "this server keeps copies of the databases of {address}, and takes no writes: write \
             there, or end following with `telar promote`"
        );
        server_error(ErrorKind::AccessMode, message)
    }
}
