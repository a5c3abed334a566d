//! A server that is a node of a cluster.
//!
//! ```text
//!  Dbms ── Cluster ─┬─ shared: identity, users, grants, databases   NAME/identity, NAME/system
//!                   ├─ replicas: a copy of each database            NAME/databases/FOLDER
//!                   └─ members: who is there, for routes            NAME/members/NODE
//!  keeper (a thread): installs the shared state as it changes, and brings the open databases in
//!                     line with their copies, which are opened anew when this node is deposed
//! ```
//!
//! - `shared`: what stands in the store instead of `system.json`, under compare-and-set.
//! - `standing`: the same for figures. `report`: for `telar cluster status`. `transfer`: a
//!   procedure.
//! - `backend`: a copy as sessions see it. `keeper`: the thread. `routes`: who does what.
//!
//! Below the server's folder lies `dbms/` as without a cluster (`store.rs`), and in it the copies
//! of all databases, the default one among them, and `cluster.json`: which cluster they are of. A
//! folder of one cluster is refused by another, and by a server without one.

mod backend;
mod keeper;
mod report;
mod routes;
mod shared;
mod standing;
mod transfer;

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use parking_lot::Mutex;
use telar_cluster::keys::Keys;
use telar_cluster::members::Members;
use telar_cluster::replica::election::{Role, Settings as Election};
use telar_cluster::replica::{Replica, ReplicaError, ReplicaOptions};
use telar_cluster::store::{StoreError, Stores, Version};
use telar_db::query::{ErrorKind, QueryError};

pub(super) use backend::ReplicaBackend;
pub(super) use keeper::Keeper;
pub use report::{DatabaseReport, Report};
pub(super) use shared::refuse_copies;
pub(super) use transfer::{TRANSFER, Transfer};

use super::failure::{invalid, server_error, unavailable};

/// Node of a cluster.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClusterSettings {
    /// URL of the store.
    pub store: String,
    /// Name of the cluster in it.
    pub name: String,
    /// Name of this node.
    pub node: String,
    /// True if it may lead.
    pub votes: bool,
    /// True if its reads see everything acknowledged before them where it follows, too.
    pub latest_reads: bool,
}

/// Members of a cluster: none before others can reach this node, and once it has left.
type SharedMembers = Arc<Mutex<Option<Members>>>;

/// This node's copy of a database.
#[derive(Debug, Clone)]
pub(super) struct LocalCopy {
    pub(super) replica: Arc<Replica>,
    members: SharedMembers,
    /// True if reads see everything acknowledged before them while it follows, too.
    latest_reads: bool,
}

impl LocalCopy {
    /// True if this node leads the database, as far as it knows.
    pub(super) fn leads(&self) -> bool {
        self.replica.role() == Role::Leader
    }

    /// The refusal of what only the leader does: drivers answer it by asking for routes again, and
    /// people read where to go.
    pub(super) fn not_a_leader(&self) -> QueryError {
        let leader = self.replica.leader().map(|node| {
            let members = self.members.lock();
            let all = members.as_ref().map(|members| members.all_with(Some(&node)));
            let member = all.unwrap_or_default().into_iter().find(|seen| seen.member.node == node);
            let at = member.map(|seen| format!(" at {}", seen.member.bolt)).unwrap_or_default();
            format!("the node '{node}'{at} leads")
        });
        let whose = leader.unwrap_or_else(|| "no leader is known at the moment".to_owned());
        let message = format!("this node does not lead the database: {whose}");
        server_error(ErrorKind::NotALeader, message)
    }
}

/// A server's part of a cluster.
#[derive(Debug)]
pub(super) struct Cluster {
    settings: ClusterSettings,
    stores: Stores,
    keys: Keys,
    /// How copies are opened.
    engine: telar_db::Settings,
    /// Copies by folder.
    copies: Mutex<BTreeMap<String, LocalCopy>>,
    members: SharedMembers,
    /// Version of the shared state that was installed last; 0 for none.
    installed: AtomicU64,
}

/// Failure of the store as a statement reports it.
fn store_failed(what: &str, error: &StoreError) -> QueryError {
    use telar_cluster::store::ErrorKind as Kind;
    let kind = match error.kind() {
        Kind::Unavailable => ErrorKind::DatabaseUnavailable,
        _ => ErrorKind::Server,
    };
    server_error(kind, format!("cannot {what}: {error}"))
}

impl Cluster {
    /// Folder of the default database, the same on all nodes.
    pub(super) fn default_folder(default: &str) -> String {
        format!("{default}-0")
    }

    /// The node's part of the cluster that `settings` name; `path` is the server's folder.
    pub(super) fn open(
        settings: ClusterSettings,
        engine: telar_db::Settings,
        default: &str,
        path: &Path,
    ) -> Result<Self, QueryError> {
        let wrong =
            |setting: &'static str| move |error: StoreError| invalid(format!("{setting}: {error}"));
        let keys = Keys::new(&settings.name).map_err(wrong("cluster.name"))?;
        keys.member(&settings.node).map_err(wrong("cluster.node (--node)"))?;
        let stores = Stores::open(&settings.store).map_err(wrong("cluster.store (--cluster)"))?;
        shared::identify(&stores, &keys, default, path)?;
        Ok(Self {
            settings,
            stores,
            keys,
            engine,
            copies: Mutex::default(),
            members: Arc::default(),
            installed: AtomicU64::new(0),
        })
    }

    fn installed(&self) -> Version {
        // ORDERING: relaxed, as it is written under the mutex of changes, and only compared.
        Version::from_raw(self.installed.load(Ordering::Relaxed))
    }

    pub(super) fn note_installed(&self, version: Version) {
        // ORDERING: relaxed, as above.
        self.installed.store(version.get(), Ordering::Relaxed);
    }

    /// Opens this node's copy of a database, or finds the open one.
    pub(super) fn open_copy(
        &self,
        name: &str,
        folder: &str,
        path: &Path,
    ) -> Result<LocalCopy, QueryError> {
        if let Some(copy) = self.copy(folder) {
            return Ok(copy);
        }
        let stream = self.keys.database(folder).map_err(|e| store_failed("follow", &e))?;
        let options = ReplicaOptions {
            path: path.to_owned(),
            engine: self.engine,
            node: self.settings.node.clone(),
            stream,
            votes: self.settings.votes,
            election: Election::default(),
        };
        let replica = Replica::start(&self.stores, options).map_err(|error| match error {
            ReplicaError::Store(error) => store_failed("read the cluster's log", &error),
            error => unavailable(name, &error.to_string()),
        })?;
        let members = Arc::clone(&self.members);
        let copy = LocalCopy {
            replica: Arc::new(replica),
            members,
            latest_reads: self.settings.latest_reads,
        };
        self.copies.lock().insert(folder.to_owned(), copy.clone());
        Ok(copy)
    }

    /// The open copy in a folder.
    pub(super) fn copy(&self, folder: &str) -> Option<LocalCopy> {
        self.copies.lock().get(folder).cloned()
    }

    /// Gives a copy up; it is closed when the last one lets go who uses it.
    pub(super) fn close_copy(&self, folder: &str) {
        let copy = self.copies.lock().remove(folder);
        if let Some(copy) = copy {
            copy.replica.retire();
        }
    }

    /// Name of this node, if another process has taken it.
    fn displaced(&self) -> Option<&str> {
        let members = self.members.lock();
        members.as_ref().filter(|members| members.is_displaced()).map(|_| &*self.settings.node)
    }

    /// Gives up leading for good, so that other nodes take over at once.
    pub(super) fn retire(&self) {
        self.copies.lock().values().for_each(|copy| copy.replica.retire());
    }

    /// True if this node leads some database.
    pub(super) fn leads_any(&self) -> bool {
        self.copies.lock().values().any(|copy| copy.replica.role() == Role::Leader)
    }

    /// Leaves: other members see it at once. Copies are closed.
    pub(super) fn leave(&self) {
        drop(self.members.lock().take());
        let copies = std::mem::take(&mut *self.copies.lock());
        drop(copies);
    }
}
