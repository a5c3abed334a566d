//! A server that is a node of a cluster.
//!
//! ```text
//!  Dbms ── Cluster ─┬─ shared: identity, users, grants, databases   NAME/identity, NAME/system
//!                   ├─ replicas: a copy of each database            NAME/databases/FOLDER
//!                   └─ members: who is there, for routes            NAME/members/NODE
//!  keeper (threads):  installs the shared state as it changes, and brings the open databases in
//!                     line with their copies, which are opened anew when this node is deposed;
//!                     copies are synced, and logs that this node leads kept short
//! ```
//!
//! - `stores`: one store, or one for log and images and another for the rest.
//! - `shared`: what stands in the store instead of `system.json`, under compare-and-set.
//! - `standing`: the same for figures. `report`: for `telar cluster status`. `transfer`: a
//!   procedure. `request`: `telar cluster transfer`, and the leader's answer.
//! - `backend`: a copy as sessions see it. `keeper`: the threads. `routes`: who does what.
//! - `founding`: clusters that begin with data.
//! - `upkeep`: what the keeper does for logs. `making`: copies that begin with an image.
//!
//! Below the server's folder lies `dbms/` as without a cluster (`store.rs`), and in it the copies
//! of all databases, the default one among them, and `cluster.json`: which cluster they are of. A
//! folder of one cluster is refused by another, and by a server without one.

mod backend;
mod founding;
mod keeper;
mod making;
mod report;
mod request;
mod routes;
mod shared;
mod standing;
mod stores;
mod transfer;
mod upkeep;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use parking_lot::Mutex;
use telar_cluster::keys::Keys;
use telar_cluster::members::Members;
use telar_cluster::replica::election::{Role, Settings as Election};
use telar_cluster::replica::{Replica, ReplicaError, ReplicaOptions};
use telar_cluster::store::{StoreError, Stores, Version};
use telar_cluster::tls::trust;
use telar_cluster::upkeep::Limits;
use telar_db::query::cypher::Secret;
use telar_db::query::{ErrorKind, QueryError};

use making::{Making, Plan};

pub(super) use backend::ReplicaBackend;
pub use founding::{Begun, Founding, remove_member};
pub(super) use keeper::Keeper;
pub use report::{DatabaseReport, Report};
pub use request::{Chosen, Handover};
pub(super) use shared::refuse_copies;
pub use stores::StoreUrls;
pub(super) use transfer::{TRANSFER, Transfer};

use super::failure::{invalid, no_database, server_error, unavailable};
use super::{Database, Dbms, Failure};

/// Node of a cluster.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ClusterSettings {
    /// URL of the store.
    pub store: String,
    /// URL of the store of users, members and leases, if log and images have one of their own.
    pub coordination: Option<String>,
    /// Name of the cluster in it.
    pub name: String,
    /// Name of this node.
    pub node: String,
    /// True if it may lead.
    pub votes: bool,
    /// Limits of the logs.
    pub limits: Limits,
    /// PEM file of the authorities that vouch for nodes that encrypt HTTP.
    pub ca: Option<PathBuf>,
    /// True if its reads see everything acknowledged before them where it follows, too.
    pub latest_reads: bool,
    /// Time limits of elections, the same on all nodes; users cannot set them.
    pub election: Election,
}

/// Members of a cluster: none before others can reach this node, and once it has left.
type SharedMembers = Arc<Mutex<Option<Members>>>;

/// This node's copy of a database.
#[derive(Debug, Clone)]
pub(super) struct LocalCopy {
    pub(super) replica: Arc<Replica>,
    members: SharedMembers,
    /// The log, as far as this node looks after it.
    log: Arc<LogFigures>,
    /// True if reads see everything acknowledged before them while it follows, too.
    latest_reads: bool,
}

/// Figures of a log that this node leads; of one that it does not, nothing is known.
#[derive(Debug, Default)]
struct LogFigures {
    /// True while there is no room for more commits.
    full: AtomicBool,
    bytes: AtomicU64,
}

impl LogFigures {
    // ORDERING: relaxed, as nothing else is read because of them.
    fn set(&self, bytes: u64, full: bool) {
        self.full.store(full, Ordering::Relaxed);
        self.bytes.store(bytes, Ordering::Relaxed);
    }

    fn is_full(&self) -> bool {
        self.full.load(Ordering::Relaxed)
    }

    fn bytes(&self) -> u64 {
        self.bytes.load(Ordering::Relaxed)
    }
}

impl LocalCopy {
    /// True if this node leads the database, as far as it knows.
    pub(super) fn leads(&self) -> bool {
        self.replica.role() == Role::Leader
    }

    /// Refuses commits while the log has no room for them.
    pub(super) fn check_room(&self) -> Result<(), QueryError> {
        if !self.log.is_full() {
            return Ok(());
        }
        let message = "the cluster's log is full (cluster.log_bytes): too few nodes have what is \
                       in it on disk (cluster.copies); start those that are down, or see \
                       `telar cluster status`";
        Err(server_error(ErrorKind::DatabaseUnavailable, message))
    }

    /// The refusal of a strict read by a node whose lease does not hold.
    pub(super) fn no_lease(&self) -> QueryError {
        if !self.leads() {
            return self.not_a_leader();
        }
        let message = "this node leads the database, but cannot know whether it still does: the \
                       store has not renewed its lease for some seconds; try again";
        server_error(ErrorKind::NotALeader, message)
    }

    /// The refusal of what only the leader does: drivers answer it by asking for routes again, and
    /// people read where to go.
    pub(super) fn not_a_leader(&self) -> QueryError {
        if self.replica.role() == Role::Candidate {
            let message = "this node is about to lead the database, and does not yet; try again";
            return server_error(ErrorKind::NotALeader, message);
        }
        // One that gives up leading is named by the lease until another node has it.
        let leader = self.replica.other_leader().map(|node| {
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

/// Requests that a node of the cluster may make of this one.
#[derive(Debug)]
pub(crate) struct ForNodes<'d> {
    dbms: &'d Dbms,
}

impl ForNodes<'_> {
    /// This node's copy of the database in a folder.
    ///
    /// # Errors
    /// If there is none that can be used.
    pub(crate) fn copy_in(&self, folder: &str) -> Result<Arc<Database>, Failure> {
        let folders = self.dbms.folders();
        let name = folders.into_iter().find(|(_, own)| own == folder).map(|(name, _)| name);
        self.dbms.database(Some(&name.ok_or_else(|| no_database(folder))?))
    }
}

impl Dbms {
    #[cfg(test)]
    pub(in crate::dbms) fn cluster_secret(&self) -> Option<&str> {
        Some(self.cluster.as_ref()?.secret.reveal())
    }

    /// Requests of a node that knows the cluster's secret.
    ///
    /// # Errors
    /// If this is no node of a cluster, or `secret` is not that of it.
    pub(crate) fn for_nodes(&self, secret: Option<&str>) -> Result<ForNodes<'_>, Failure> {
        let knows = |cluster: &Cluster| secret.is_some_and(|secret| cluster.knows(secret));
        match self.cluster.as_ref().is_some_and(knows) {
            true => Ok(ForNodes { dbms: self }),
            false => Err(Failure::unauthorized()),
        }
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
    /// Set once no copy is to lead any more; under the mutex of copies.
    retired: AtomicBool,
    /// Copies that are made, by folder.
    makings: Mutex<BTreeMap<String, Making>>,
    /// Secret by which nodes know each other.
    secret: Secret,
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
            |setting: &'static str, error: StoreError| invalid(format!("{setting}: {error}"));
        let keys = Keys::new(&settings.name).map_err(|e| wrong("cluster.name", e))?;
        keys.member(&settings.node).map_err(|e| wrong("cluster.node (--node)", e))?;
        if let Some(ca) = &settings.ca {
            trust(Some(ca)).map_err(|why| invalid(format!("cluster.ca: {why}")))?;
        }
        let opened = StoreUrls::new(&settings.store, settings.coordination.clone()).open(wrong)?;
        let secret = shared::identify(&opened, &keys, default, path)?;
        let stores = opened.stores;
        for concern in stores.log.concerns().map_err(|e| store_failed("look at the store", &e))? {
            tracing::warn!("{concern}");
        }
        Ok(Self {
            settings,
            stores,
            keys,
            engine,
            copies: Mutex::default(),
            retired: AtomicBool::new(false),
            makings: Mutex::default(),
            secret,
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
        if let Some(state) = self.making(folder) {
            return Err(unavailable(name, &state));
        }
        let stream = self.keys.database(folder).map_err(|e| store_failed("follow", &e))?;
        let options = ReplicaOptions {
            path: path.to_owned(),
            engine: self.engine,
            node: self.settings.node.clone(),
            stream,
            votes: self.settings.votes,
            election: self.settings.election.clone(),
        };
        let replica = Replica::start(&self.stores, options).map_err(|error| match error {
            ReplicaError::Store(error) => store_failed("read the cluster's log", &error),
            ReplicaError::Behind { .. } => self.make(name, folder, path, &error),
            error => unavailable(name, &error.to_string()),
        })?;
        making::clear_leftovers(path);
        let (members, log) = (Arc::clone(&self.members), Arc::default());
        let latest_reads = self.settings.latest_reads;
        let copy = LocalCopy { replica: Arc::new(replica), members, log, latest_reads };
        let mut copies = self.copies.lock();
        // ORDERING: relaxed, as it is read and written under the mutex.
        if self.retired.load(Ordering::Relaxed) {
            copy.replica.retire();
        }
        copies.insert(folder.to_owned(), copy.clone());
        Ok(copy)
    }

    /// Begins to make a copy from an image; returns what to say meanwhile.
    fn make(&self, name: &str, folder: &str, path: &Path, why: &ReplicaError) -> QueryError {
        tracing::warn!("the database {name}: {why}");
        let plan = Plan {
            stores: self.stores.clone(),
            keys: self.keys.clone(),
            members: Arc::clone(&self.members),
            node: self.settings.node.clone(),
            secret: self.secret.clone(),
            ca: self.settings.ca.clone(),
            database: name.to_owned(),
            folder: folder.to_owned(),
            path: path.to_owned(),
        };
        let state = match Making::begin(plan) {
            Ok(making) => {
                let state = making.state();
                self.makings.lock().insert(folder.to_owned(), making);
                state
            }
            Err(error) => Some(format!("{why}; a thread cannot be started: {error}")),
        };
        unavailable(name, state.as_deref().unwrap_or("its copy was made; try again"))
    }

    /// State of the making of a copy; none if it is not made, or was.
    pub(super) fn making(&self, folder: &str) -> Option<String> {
        let mut makings = self.makings.lock();
        let state = makings.get(folder)?.state();
        if state.is_none()
            && let Some(making) = makings.remove(folder)
        {
            making.end();
        }
        state
    }

    /// True while copies are made.
    fn makes_any(&self) -> bool {
        !self.makings.lock().is_empty()
    }

    /// True if this is the secret of the cluster.
    pub(super) fn knows(&self, secret: &str) -> bool {
        let (own, said) = (self.secret.reveal().as_bytes(), secret.as_bytes());
        // All bytes are looked at, however many are right.
        let differs = own.iter().zip(said).fold(0, |differs, (a, b)| differs | (a ^ b));
        !own.is_empty() && own.len() == said.len() && differs == 0
    }

    /// The open copy in a folder.
    pub(super) fn copy(&self, folder: &str) -> Option<LocalCopy> {
        self.copies.lock().get(folder).cloned()
    }

    /// Gives a copy up; it is closed when the last one lets go who uses it.
    pub(super) fn close_copy(&self, folder: &str) {
        // It ends in its own time, and nothing else is made in its folder before.
        self.makings.lock().get(folder).into_iter().for_each(Making::stop);
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
        let copies = self.copies.lock();
        // ORDERING: relaxed, as it is read and written under the mutex.
        self.retired.store(true, Ordering::Relaxed);
        copies.values().for_each(|copy| copy.replica.retire());
    }

    /// True while others may have to wait for a lease of this node to lapse.
    pub(super) fn holds_any(&self) -> bool {
        self.copies.lock().values().any(|copy| copy.replica.is_holder())
    }

    /// Leaves: other members see it at once. Copies are closed.
    pub(super) fn leave(&self) {
        let makings = std::mem::take(&mut *self.makings.lock());
        makings.values().for_each(Making::stop);
        makings.into_values().for_each(Making::end);
        drop(self.members.lock().take());
        let copies = std::mem::take(&mut *self.copies.lock());
        drop(copies);
    }
}
