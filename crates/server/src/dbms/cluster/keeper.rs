//! Keeper of a node: a thread that brings the server in line with the cluster.
//!
//! - The shared state is watched; another one is installed: users, grants, databases.
//! - Each copy is looked at: one that is opened anew, as its node was deposed or its disk failed,
//!   is taken from its clients, whose transactions end, and offered again after that.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Weak};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use telar_cluster::members::{Member, Members};
use telar_cluster::replica::{Replica, ReplicaError};
use telar_cluster::store;
use telar_db::query::QueryError;

use super::super::database::{Database, End};
use super::super::follow::Lister;
use super::super::state::{Entry, State};
use super::super::{Dbms, Live};
use super::{Cluster, LocalCopy, store_failed, upkeep};

/// Time between two looks at the copies.
const LOOK_EVERY: Duration = Duration::from_millis(20);

/// Longest wait of one look at the shared state.
const WATCH_FOR: Duration = Duration::from_millis(500);

/// Time until a store that does not answer is asked again.
const RETRY_AFTER: Duration = Duration::from_millis(500);

/// Time between two attempts to open what could not be opened, and to open what is made.
const REOPEN_EVERY: Duration = Duration::from_secs(5);
const MADE_EVERY: Duration = Duration::from_millis(500);

/// The threads; they end when this is dropped.
#[derive(Debug)]
pub(in crate::dbms) struct Keeper {
    stopped: Arc<AtomicBool>,
    threads: Vec<JoinHandle<()>>,
}

impl Keeper {
    /// Starts the threads for a server.
    pub(in crate::dbms) fn start(dbms: &Arc<Dbms>) -> std::io::Result<Self> {
        let stopped = Arc::<AtomicBool>::default();
        let mut keeper = Self { stopped: Arc::clone(&stopped), threads: Vec::new() };
        let named = |name: &str| thread::Builder::new().name(name.into());
        let (weak, stop) = (Arc::downgrade(dbms), Arc::clone(&stopped));
        keeper.threads.push(named("telar-copies").spawn(move || look_on(&weak, &stop))?);
        let weak = Arc::downgrade(dbms);
        let (watched, stop) = (weak.clone(), Arc::clone(&stopped));
        keeper.threads.push(named("telar-shared").spawn(move || watch_on(&watched, &stop))?);
        keeper.threads.push(named("telar-upkeep").spawn(move || keep_up(&weak, &stopped))?);
        Ok(keeper)
    }
}

impl Drop for Keeper {
    fn drop(&mut self) {
        // ORDERING: relaxed, as nothing else is read because of the flag.
        self.stopped.store(true, Ordering::Relaxed);
        let own = thread::current().id();
        for thread in self.threads.drain(..) {
            // One of them may have been the last to use the server. One that panicked has nothing
            // to hand over.
            if thread.thread().id() != own {
                drop(thread.join());
            }
        }
    }
}

/// The server, as long as it is there and the keeper is to go on.
fn going(dbms: &Weak<Dbms>, stopped: &AtomicBool) -> Option<Arc<Dbms>> {
    // ORDERING: relaxed, as above.
    if stopped.load(Ordering::Relaxed) { None } else { dbms.upgrade() }
}

fn look_on(dbms: &Weak<Dbms>, stopped: &AtomicBool) {
    let (mut reopened, mut displaced) = (Instant::now(), false);
    let mut held_up = BTreeMap::new();
    while let Some(dbms) = going(dbms, stopped) {
        dbms.look_at_copies();
        dbms.cluster.iter().for_each(|cluster| cluster.say_held_up(&mut held_up));
        let makes_any = dbms.cluster.as_ref().is_some_and(Cluster::makes_any);
        if reopened.elapsed() >= if makes_any { MADE_EVERY } else { REOPEN_EVERY } {
            dbms.reopen_failed();
            reopened = Instant::now();
        }
        let taken = dbms.cluster.as_ref().and_then(Cluster::displaced);
        if let Some(node) = taken.filter(|_| !displaced) {
            displaced = true;
            tracing::error!(
                "another process of the cluster calls itself '{node}' (cluster.node): clients are \
                 sent there, and not here; end one of the two"
            );
        }
        drop(dbms);
        thread::sleep(LOOK_EVERY);
    }
}

fn keep_up(dbms: &Weak<Dbms>, stopped: &AtomicBool) {
    let mut state = upkeep::State::default();
    let mut passed = Instant::now();
    while let Some(dbms) = going(dbms, stopped) {
        if passed.elapsed() >= upkeep::EVERY {
            state.pass(&dbms);
            passed = Instant::now();
        }
        drop(dbms);
        thread::sleep(LOOK_EVERY);
    }
}

fn watch_on(weak: &Weak<Dbms>, stopped: &AtomicBool) {
    let mut seen: Vec<store::Entry> = Vec::new();
    // What is wrong is said once, and once more when it is over.
    let mut trouble: Option<String> = None;
    while let Some(dbms) = going(weak, stopped) {
        let Some(cluster) = &dbms.cluster else { return };
        let (stores, keys) = (cluster.stores.clone(), cluster.keys.clone());
        drop(dbms);
        let Ok(key) = keys.system() else { return };
        let found = stores.coordination.watch(key.as_str(), &seen, WATCH_FOR);
        let Some(dbms) = going(weak, stopped) else { return };
        let found = found.map_err(|error| store_failed("watch users and databases", &error));
        let installed = found.and_then(|found| {
            let entry = found.iter().find(|entry| entry.key == key && found != seen);
            entry.map_or(Ok(()), |entry| dbms.install_entry(entry)).map(|()| found)
        });
        drop(dbms);
        match installed {
            Ok(found) => {
                seen = found;
                if trouble.take().is_some() {
                    tracing::info!("users and databases are watched again");
                }
            }
            Err(error) => {
                if trouble.as_ref() != Some(&error.message) {
                    tracing::error!("{}", error.message);
                }
                trouble = Some(error.message);
                thread::sleep(RETRY_AFTER);
            }
        }
    }
}

impl Dbms {
    /// Joins the cluster, once this server can be reached at `bolt`, and at `http`, which may be
    /// encrypted; without a cluster, begins to follow, if it is to.
    pub(crate) fn join(
        self: &Arc<Self>,
        bolt: String,
        http: Option<(String, bool)>,
    ) -> Result<(), QueryError> {
        let Some(cluster) = &self.cluster else { return self.begin_to_follow() };
        if http.is_none() {
            tracing::warn!(
                "other nodes cannot get copies from this one over HTTP: it is off, or listens on this \
                 machine only (http.enabled, http.address, http.advertised)"
            );
        }
        let node = cluster.settings.node.clone();
        let weak = Arc::downgrade(self);
        let votes = cluster.settings.votes;
        let describe = move |holder| {
            let mut member = Member::new(node.clone(), holder, bolt.clone());
            member.http = http.as_ref().map(|(address, _)| address.clone());
            member.https = http.as_ref().is_some_and(|(_, encrypted)| *encrypted);
            member.votes = votes;
            if let Some(dbms) = weak.upgrade()
                && let Some(cluster) = &dbms.cluster
            {
                cluster.describe(&mut member);
            }
            member
        };
        let node = &cluster.settings.node;
        let joined = Members::join(&cluster.stores.coordination, &cluster.keys, node, describe);
        let joined = joined.map_err(|error| store_failed("join the cluster", &error))?;
        *cluster.members.lock() = Some(joined);
        let keeper = Keeper::start(self)
            .map_err(|e| super::super::failure::storage("cannot start a thread", e))?;
        *self.keeper.lock() = Some(keeper);
        Ok(())
    }

    /// Gives up leading, before the server ends: other nodes take over at once, and this one
    /// follows until it is gone. Waits until the store says so, but no longer than a lease lasts:
    /// others take over then, whatever the store says.
    pub fn hand_over(&self) {
        let Some(cluster) = &self.cluster else { return };
        cluster.retire();
        let election = &cluster.settings.election;
        let until = Instant::now() + election.ttl + election.margin;
        while cluster.holds_any() && Instant::now() < until {
            thread::sleep(LOOK_EVERY);
        }
    }

    /// Leaves the cluster: this server's copies are given up, and other nodes see that it is gone.
    pub fn leave(&self) {
        self.hand_over();
        // Its threads use the server, and so hold it.
        let (keeper, lister) = (self.keeper.lock().take(), self.lister.lock().take());
        drop(keeper);
        lister.into_iter().for_each(Lister::end);
        self.cluster.iter().for_each(Cluster::leave);
    }

    fn install_entry(&self, entry: &store::Entry) -> Result<(), QueryError> {
        let Some(cluster) = &self.cluster else { return Ok(()) };
        let _change = self.change.lock();
        if entry.version <= cluster.installed() {
            return Ok(());
        }
        let state = cluster.decode(entry)?;
        cluster.note_installed(entry.version);
        self.install(state);
        Ok(())
    }

    /// Makes a state of the cluster this server's: opens and ends databases. Called under the mutex
    /// of changes.
    pub(in crate::dbms) fn install(&self, new: State) {
        let old = self.state();
        let mut opened = BTreeMap::new();
        for (name, entry) in new.databases.iter().filter(|(_, entry)| entry.online) {
            if old.databases.get(name) == Some(entry) {
                continue;
            }
            let kept = old.databases.get(name).is_some_and(|old| old.folder == entry.folder);
            let ready = if kept { self.await_stopped(name) } else { Ok(()) };
            let live = ready.and_then(|()| self.open_other(name, &entry.folder, true));
            let live = live.map_or_else(
                |error| {
                    tracing::error!("cannot open the database {name}: {}", error.message);
                    Live::Failed(error.message)
                },
                |database| Live::Online(Arc::new(database)),
            );
            opened.insert(name.clone(), live);
        }
        *self.state.write() = Arc::new(new);
        let new = self.state();
        self.remember(&new);
        for (name, entry) in &old.databases {
            let goes_on = |now: &Entry| now.online && now.folder == entry.folder;
            if let Some(cluster) = &self.cluster
                && !new.databases.get(name).is_some_and(goes_on)
            {
                cluster.close_copy(&entry.folder);
            }
        }
        self.replace(&old, &new, opened.into_iter().collect());
    }

    /// Keeps a copy of the shared state, for the day on which the store is lost.
    pub(in crate::dbms) fn remember(&self, state: &State) {
        if let Some(store) = &self.store
            && let Err(error) = store.save(state)
        {
            tracing::error!("{}", error.message);
        }
    }

    /// Brings the open databases in line with their copies.
    fn look_at_copies(&self) {
        let Some(cluster) = &self.cluster else { return };
        // Whoever changes databases looks at their copies, too.
        let Some(_change) = self.change.try_lock() else { return };
        let default = &self.settings.default_database;
        let folder = Cluster::default_folder(default);
        if let Some(copy) = cluster.copy(&folder) {
            let now = self.default.read().next(&copy.replica);
            if let Some(next) = now.map(|next| self.look_at((default, &folder), &copy, next)) {
                let before = std::mem::replace(&mut *self.default.write(), next);
                end_deposed(before);
            }
        }
        for (name, entry) in &self.state().databases {
            let Some(copy) = cluster.copy(&entry.folder) else { continue };
            let now = self.others.read().get(name).and_then(|live| live.next(&copy.replica));
            let known = (&name.as_str().into(), &*entry.folder);
            if let Some(next) = now.map(|next| self.look_at(known, &copy, next)) {
                let before = self.others.write().insert(name.clone(), next);
                before.into_iter().for_each(end_deposed);
            }
        }
    }

    /// Opens this node's copy of the default database; one that is made first is offered later.
    pub(in crate::dbms) fn open_default_copy(&self, name: &str) -> Result<Live, QueryError> {
        let folder = Cluster::default_folder(name);
        match self.open_other(name, &folder, true) {
            Ok(database) => Ok(Live::Online(Arc::new(database))),
            Err(error) => match self.cluster.as_ref().and_then(|c| c.making(&folder)) {
                Some(_) => Ok(Live::Failed(error.message)),
                None => Err(error),
            },
        }
    }

    /// Tries again to open the databases that could not be opened: the store may be back, or the
    /// copy made.
    fn reopen_failed(&self) {
        if self.cluster.is_none() {
            return;
        }
        let Some(_change) = self.change.try_lock() else { return };
        let default = self.default_name();
        let failed = matches!(&*self.default.read(), Live::Failed(_));
        if failed && let Some(live) = self.reopen(default, &Cluster::default_folder(default)) {
            *self.default.write() = live;
        }
        for (name, entry) in self.state().databases.iter().filter(|(_, entry)| entry.online) {
            let failed = matches!(self.others.read().get(name), Some(Live::Failed(_)));
            if failed && let Some(live) = self.reopen(name, &entry.folder) {
                self.others.write().insert(name.clone(), live);
            }
        }
    }

    /// The next state of a database that could not be opened; none if it stays as it is.
    fn reopen(&self, name: &str, folder: &str) -> Option<Live> {
        // One whose copy is open has stopped for a reason that opening it does not mend.
        if self.cluster.as_ref()?.copy(folder).is_some() {
            return None;
        }
        match self.open_other(name, folder, true) {
            Ok(database) => {
                tracing::info!("the database {name} could be opened now");
                Some(Live::Online(Arc::new(database)))
            }
            Err(error) => Some(Live::Failed(error.message)),
        }
    }

    fn look_at(&self, (name, folder): (&Arc<str>, &str), copy: &LocalCopy, next: Next) -> Live {
        match next {
            Next::Reopening => {
                let why = copy.replica.held_up();
                let why = why.as_deref().unwrap_or("this node led it");
                tracing::warn!("the database {name} is opened anew: {why}");
                Live::Reopening
            }
            Next::Stopped(why) => {
                tracing::error!("the copy of the database {name} has stopped: {why}");
                if copy.replica.is_behind()
                    && let Some(cluster) = &self.cluster
                {
                    // It is made anew once nobody uses it any more.
                    cluster.close_copy(folder);
                }
                Live::Failed(why)
            }
            Next::Opened(number, engine) => {
                let backups = self.settings.backup_folder.clone();
                let copy = (copy.clone(), number);
                Live::Online(Arc::new(Database::replicated(
                    Arc::clone(name),
                    copy,
                    engine,
                    backups,
                )))
            }
        }
    }
}

/// Next state of a copy for its clients.
enum Next {
    Opened(u64, telar_db::Database),
    Reopening,
    Stopped(String),
}

impl Live {
    /// Its next state, seen its copy; none if it stays as it is.
    fn next(&self, copy: &Replica) -> Option<Next> {
        match (self, copy.opened()) {
            (Self::Online(database), Ok((number, _))) if database.copy_number() == Some(number) => {
                None
            }
            // First to be let go, whatever has come in its place.
            (Self::Online(_), Err(ReplicaError::Stopped { why })) => Some(Next::Stopped(why)),
            (Self::Online(_), _) => Some(Next::Reopening),
            (Self::Reopening, Ok((number, engine))) => Some(Next::Opened(number, engine)),
            (Self::Reopening, Err(ReplicaError::Stopped { why })) => Some(Next::Stopped(why)),
            _ => None,
        }
    }
}

fn end_deposed(before: Live) {
    if let Live::Online(database) = before {
        database.end(End::Deposed, None);
    }
}

impl Cluster {
    /// Says in the log which copies begin and cease to be held up; `told` is what was said, by
    /// folder.
    fn say_held_up(&self, told: &mut BTreeMap<String, String>) {
        let copies = self.copies.lock();
        let why =
            |(folder, copy): (&String, &LocalCopy)| Some((folder.clone(), copy.replica.held_up()?));
        let now: BTreeMap<_, _> = copies.iter().filter_map(why).collect();
        drop(copies);
        for (folder, why) in now.iter().filter(|(folder, why)| told.get(*folder) != Some(*why)) {
            tracing::error!(
                "the copy in {folder} is held up, and tried again after 30 s at most: {why}"
            );
        }
        for folder in told.keys().filter(|folder| !now.contains_key(*folder)) {
            tracing::info!("the copy in {folder} is not held up any more");
        }
        *told = now;
    }

    /// Adds to a member what its settings and copies say.
    fn describe(&self, member: &mut Member) {
        member.log_bytes_max = Some(self.settings.limits.bytes_max);
        for (folder, copy) in self.copies.lock().iter() {
            let replica = &copy.replica;
            if let Some(position) = replica.position() {
                member.positions.insert(folder.clone(), position.get());
            }
            if let Some(kept) = replica.kept() {
                member.kept.insert(folder.clone(), kept.get());
            }
            if copy.log.is_full() {
                member.full.insert(folder.clone());
            }
            if let Some(why) = replica.trouble() {
                member.troubles.push(format!("{folder}: {why}"));
            }
        }
        for (folder, making) in self.makings.lock().iter() {
            member.troubles.extend(making.state().map(|state| format!("{folder}: {state}")));
        }
    }
}
