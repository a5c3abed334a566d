//! Databases by name, users, and the clients that use them. Knows no protocol.
//!
//! ```text
//! Dbms ─┬─ State: users, grants, names of databases ─► Store: system.json
//!       ├─ Database "telar": engine, plans, what runs; in the server's own folder
//!       ├─ Database ...:     in a folder below
//!       └─ Database "system": no graph, for commands
//! Client (one per connection): who, from where ─► run / transaction ─► telar_db::Session
//!                                                        Caller: what that one may do ◄─┘
//! ```
//!
//! - `client`: what a protocol does on behalf of a peer, `caller`: what queries ask about it,
//!   `clients`: those there are.
//! - `stranger`: what users may ask who have no role.
//! - `state`: users, grants, databases as a value, `store`: its files, which survive crashes.
//! - `database`: an open database, `procedures`: what can be called in it beside the built-in ones.
//! - `passwords`, `attempts`: logging in, at a bounded cost.
//! - `audit`: who did what, `observer`: who is told of every statement.
//! - `cluster`: the same on several nodes; `follow`: copies of another server's databases;
//!   `followers`: servers that have copies of these databases.
//! - `isolation`: how transactions are isolated.
//! - `quota`: places, shared out among users, `routes`: where drivers turn.
//! - `settings`: what can be set, `names`: what users and databases may be called.
//! - `slow`: statements of late that took long.
//! - `bookmark`: names of commits, `failure`: what a client is told.

mod attempts;
mod audit;
mod bookmark;
mod caller;
mod client;
mod clients;
mod cluster;
mod database;
mod failure;
mod follow;
mod followers;
mod isolation;
mod names;
mod observer;
mod passwords;
mod procedures;
mod quota;
mod routes;
mod settings;
mod slow;
mod state;
mod store;
mod stranger;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::Path;
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, OnceLock, Weak};
use std::thread;
use std::time::{Duration, Instant};

use parking_lot::{Mutex, RwLock};
use telar_db::query::cypher::Secret;
use telar_db::query::cypher::ast::UserSettings;
use telar_db::query::{QueryError, ShownDatabase};
use telar_db::{CommitTs, Workers};

use attempts::Attempts;
use audit::{Audit, Event};
use caller::Identity;
use clients::Clients;
use cluster::{Cluster, Keeper, refuse_copies};
use database::End;
use failure::{no_database, storage, unavailable};
use follow::{Follow, Lister};
use followers::{Followers, REMEMBERED};
use passwords::{Attempt, Passwords};
use slow::SlowStatements;
use state::{Command, Given, State, User};
use store::{Store, crash_point};
pub(crate) use store::{beside, make_private};

pub use bookmark::Bookmark;
pub use client::{AccessMode, Client, Credentials, Done, Options, Peer, Work};
pub(crate) use client::{BOOKMARK_LOOK_MAX, BOOKMARK_LOOK_MIN, BOOKMARK_WAIT, Owner};
pub(crate) use cluster::ForNodes;
pub use cluster::{
    Begun, Chosen, ClusterSettings, DatabaseReport, Founding, Handover, Report, StoreUrls,
    remove_member,
};
pub use database::Database;
pub use failure::Failure;
pub(crate) use follow::Seen as FollowSeen;
pub use follow::{Promoted, promote};
pub use isolation::{
    Isolations, KEY as ISOLATION_KEY, level as isolation_level, name as isolation_name,
};
pub use names::{ALIAS, SYSTEM};
pub use observer::{Observer, Ran};
pub use passwords::PASSWORD_CHARS_MIN;
pub(crate) use quota::{KEPT as KEPT_PLACES, Place, Quota, Standing};
pub use settings::{DbmsSettings, Security, StatementLimits, USER_SHARE};
pub(crate) use slow::clipped;

/// How long starting a database waits for those who used it when it was stopped.
const RESTART_WAIT: Duration = Duration::from_secs(10);

/// Everything a server has.
#[derive(Debug)]
pub struct Dbms {
    settings: DbmsSettings,
    store: Option<Store>,
    /// Replaced as a whole; whoever reads it holds what was true at one moment.
    state: RwLock<Arc<State>>,
    /// Held by whoever changes the state, across files and databases.
    change: Mutex<()>,
    /// The databases beside the default one.
    others: RwLock<BTreeMap<String, Live>>,
    /// Always online without a cluster.
    default: RwLock<Live>,
    system: Arc<Database>,
    passwords: Passwords,
    attempts: Attempts,
    audit: Audit,
    /// Threads that help long queries, of all databases.
    workers: Arc<Workers>,
    /// Whether the users were made when this was opened.
    first: bool,
    connections: AtomicU64,
    /// The clients there are.
    clients: Clients,
    /// A place for each that may run at once, if that is limited.
    transactions: Option<Arc<Quota>>,
    observer: OnceLock<Arc<dyn Observer>>,
    slow: SlowStatements,
    /// The cluster that it is a node of.
    cluster: Option<Cluster>,
    keeper: Mutex<Option<Keeper>>,
    /// The server that it follows.
    follow: Option<Follow>,
    lister: Mutex<Option<Lister>>,
    /// The servers that follow this one.
    followers: Followers,
    /// Where drivers reach it: what is advertised, and where it listens.
    bolt: OnceLock<(Option<String>, SocketAddr)>,
}

/// What the first user needs to know.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FirstLogin {
    /// The user `neo4j` was made with [`Security::initial_password`].
    Made,
    /// The same with the password `neo4j`, which has to be changed before anything else.
    Default,
    /// The user was made by an earlier start, and has to change the password still.
    Expired,
}

/// A database, as far as clients can use it.
#[derive(Debug)]
enum Live {
    Online(Arc<Database>),
    /// Stopped. As long as this is there, its files are open: somebody holds it still.
    Stopped(Weak<()>),
    /// It could not be opened.
    Failed(String),
    /// Its copy is being opened anew: this node led it, or its disk failed.
    Reopening,
}

impl Live {
    /// The database, if it is online.
    fn online(&self) -> Option<&Arc<Database>> {
        match self {
            Self::Online(database) => Some(database),
            Self::Stopped(_) | Self::Failed(_) | Self::Reopening => None,
        }
    }

    /// The database.
    ///
    /// # Errors
    /// If it cannot be used.
    fn usable(&self, name: &str) -> Result<Arc<Database>, Failure> {
        Err(match self {
            Self::Online(database) => return Ok(Arc::clone(database)),
            Self::Stopped(_) => unavailable(name, "it was stopped"),
            Self::Failed(why) => unavailable(name, why),
            Self::Reopening => unavailable(name, "this node is opening its copy anew"),
        }
        .into())
    }
}

impl Dbms {
    /// The server whose default database is in the folder `path`, made if there is none; without a
    /// folder, one that is gone when it is dropped. Databases that cannot be opened are offline.
    ///
    /// # Errors
    /// If the default database cannot be opened, or the files beside it cannot be read or written.
    pub fn open(path: Option<&Path>, settings: DbmsSettings) -> Result<Self, Failure> {
        let name = Arc::clone(&settings.default_database);
        if !names::database(&name).is_ok_and(|lower| *lower == *name) {
            let message =
                format!("the default database cannot be called '{name}' (store.default_database)");
            return Err(failure::invalid(message).into());
        }
        if let Some(asking) = settings.follow.clone() {
            let Some(path) = path else {
                let message = "a server that follows needs a folder for copies (store.path)";
                return Err(failure::invalid(message).into());
            };
            refuse_copies(path)?;
            let follow = Follow::open(asking, path)?;
            let of = (None, Some(follow));
            return Self::with(None, Some(Store::open(path)?), of, settings);
        }
        path.map(follow::refuse_copies).transpose()?;
        if let Some(of) = settings.cluster.clone() {
            let Some(path) = path else {
                return Err(
                    failure::invalid("a node of a cluster needs a folder (store.path)").into()
                );
            };
            let cluster = Cluster::open(of, settings.engine, &name, path)?;
            return Self::with(None, Some(Store::open(path)?), (Some(cluster), None), settings);
        }
        path.map(refuse_copies).transpose()?;
        // First: its lock keeps other servers away from everything else.
        let backups = settings.backup_folder.clone();
        let default = Database::open(&name, path.map(Into::into), settings.engine, backups);
        let default = default.map_err(|e| unavailable(&name, &e.to_string()))?;
        let store = path.map(Store::open).transpose()?;
        Self::with(Some(default), store, (None, None), settings)
    }

    /// A server of one database, in which nobody has to log in and nothing else lasts.
    ///
    /// # Panics
    /// If there is no memory for an empty database.
    #[must_use]
    pub fn new(database: Database) -> Self {
        let security = Security { enabled: false, ..Security::default() };
        let default_database = Arc::clone(database.name());
        let settings = DbmsSettings { default_database, security, ..DbmsSettings::default() };
        Self::with(Some(database), None, (None, None), settings)
            .expect("INVARIANT: no file is touched")
    }

    /// Says where drivers reach it: the address that is advertised, if any, and where it listens.
    pub(crate) fn reached_at(&self, advertised: Option<String>, listens: SocketAddr) {
        // The first listener is the one that is told of.
        let _ = self.bolt.set((advertised, listens));
    }

    /// `default` is there where it is no copy, and opened here in a cluster and of a follower.
    fn with(
        default: Option<Database>,
        store: Option<Store>,
        (cluster, follow): (Option<Cluster>, Option<Follow>),
        settings: DbmsSettings,
    ) -> Result<Self, Failure> {
        let passwords = Passwords::new(&settings.security)?;
        let made = || first_state(&settings.security, &passwords);
        let (mut state, first) = match (&cluster, &store) {
            (Some(cluster), _) => cluster.load_or_make(made)?,
            (None, Some(store)) => store.load_or_make(made)?,
            (None, None) => (made()?, true),
        };
        let default_name = Arc::clone(&settings.default_database);
        if let (Some(follow), Some(store)) = (&follow, &store)
            && follow.reconcile(&mut state, store, &default_name)
        {
            store.save(&state)?;
        }
        let audit_log = settings.audit_log.clone();
        let audit_log = audit_log.or_else(|| store.as_ref().map(Store::audit_path));
        let in_memory = telar_db::Settings::default();
        let system = Database::open(SYSTEM, None, in_memory, None);
        let dbms = Self {
            audit: audit_log.map_or(Ok(Audit::default()), |path| Audit::open(&path))?,
            attempts: Attempts::new(&settings.security),
            default: RwLock::new(Live::Reopening),
            cluster,
            keeper: Mutex::default(),
            follow,
            lister: Mutex::default(),
            followers: Followers::default(),
            system: Arc::new(system.map_err(|e| unavailable(SYSTEM, &e.to_string()))?),
            state: RwLock::new(Arc::new(state)),
            change: Mutex::default(),
            others: RwLock::default(),
            first,
            connections: AtomicU64::new(0),
            clients: Clients::default(),
            transactions: settings
                .limits
                .transactions
                .map(|most| Quota::new(most, settings.limits.user_share)),
            observer: OnceLock::new(),
            slow: SlowStatements::new(settings.slow),
            bolt: OnceLock::new(),
            workers: match settings.limits.threads {
                Some(threads) => Arc::new(Workers::new(threads)),
                None => Arc::clone(Workers::of_program()),
            },
            passwords,
            store,
            settings,
        };
        let default = match (default, &dbms.follow) {
            (Some(default), _) => Live::Online(Arc::new(default)),
            (None, Some(follow)) => match follow.folder(&default_name) {
                Some(folder) => dbms.open_or_failed(&default_name, &folder),
                None => Live::Failed(format!("it is being copied from {}", follow.address())),
            },
            (None, None) => {
                dbms.remember(&dbms.state());
                dbms.open_default_copy(&default_name)?
            }
        };
        *dbms.default.write() = default;
        for (name, entry) in &dbms.state().databases {
            let live = match entry.online {
                false => Live::Stopped(Weak::new()),
                true => dbms.open_or_failed(name, &entry.folder),
            };
            dbms.others.write().insert(name.clone(), live);
        }
        Ok(dbms)
    }

    /// Tells `observer` what happens from now on; the first one stays.
    pub fn observe(&self, observer: Arc<dyn Observer>) {
        // Whoever sets a second one has made a mistake that no client should notice.
        let first = self.observer.set(observer).is_ok();
        debug_assert!(first, "there is an observer already");
    }

    /// What was set.
    #[must_use]
    pub fn settings(&self) -> &DbmsSettings {
        &self.settings
    }

    /// How long a statement or transaction may take for which a client wants a limit, or none; and
    /// whose limit that is, for the end of a sentence.
    pub(crate) fn time_limit(&self, own: Option<Duration>) -> Option<(Duration, &'static str)> {
        match self.settings.limits.timeout {
            Some(most) if own.is_none_or(|own| own > most) => {
                Some((most, " (limits.statement_timeout)"))
            }
            _ => own.map(|own| (own, client::CLIENTS_OWN)),
        }
    }

    /// What whoever starts the server should be told of the first user; nothing once somebody has
    /// set a password, or if nobody has to log in.
    #[must_use]
    pub fn first_login(&self) -> Option<FirstLogin> {
        let state = self.state();
        let user = state.users.get(State::FIRST_USER).filter(|_| self.settings.security.enabled)?;
        match (user.change_required, self.first) {
            (true, true) => Some(FirstLogin::Default),
            (true, false) => Some(FirstLogin::Expired),
            (false, true) => Some(FirstLogin::Made),
            (false, false) => None,
        }
    }

    /// Name of the default database.
    fn default_name(&self) -> &Arc<str> {
        &self.settings.default_database
    }

    fn state(&self) -> Arc<State> {
        Arc::clone(&self.state.read())
    }

    /// Opens a database that is there; says why not, if it cannot be opened.
    fn open_or_failed(&self, name: &str, folder: &str) -> Live {
        // A node of a cluster may have been away when it was made.
        match self.open_other(name, folder, self.cluster.is_some()) {
            Ok(database) => Live::Online(Arc::new(database)),
            Err(e) => {
                tracing::error!("cannot open the database {name}: {}", e.message);
                Live::Failed(e.message)
            }
        }
    }

    /// Opens a database beside the default one, which is new or must be there.
    fn open_other(&self, name: &str, folder: &str, new: bool) -> Result<Database, QueryError> {
        let path = self.store.as_ref().map(|store| store.database(folder));
        if let Some(path) = &path
            && !new
            && !path.is_dir()
        {
            return Err(unavailable(name, "its folder is missing"));
        }
        let backups = self.settings.backup_folder.clone();
        if let (Some(cluster), Some(path)) = (&self.cluster, &path) {
            let copy = cluster.open_copy(name, folder, path)?;
            let opened = copy.replica.opened().map_err(|e| unavailable(name, &e.to_string()));
            let (number, engine) = opened?;
            return Ok(Database::replicated(name, (copy, number), engine, backups));
        }
        let wrong = |e| storage(&format!("cannot open the database '{name}'"), e);
        if let (Some(follow), Some(path)) = (&self.follow, &path) {
            let engine = telar_db::Database::open_to_follow(path, self.settings.engine);
            let engine = engine.map_err(wrong)?;
            return Ok(Database::following(name, engine, follow.address(), backups));
        }
        Database::open(name, path, self.settings.engine, backups).map_err(wrong)
    }

    /// The database of this name; the default one for none.
    ///
    /// # Errors
    /// If there is none, or it is not online.
    pub fn database(&self, name: Option<&str>) -> Result<Arc<Database>, Failure> {
        let default = self.default_name();
        // PERF: no lower-case copy of the name for the default database, where most statements run.
        let is = |own: &str| name.is_none_or(|name| name.eq_ignore_ascii_case(own));
        if is(default) || is(ALIAS) {
            return self.default.read().usable(default);
        }
        let name = name.unwrap_or_default();
        if is(SYSTEM) {
            return Ok(Arc::clone(&self.system));
        }
        match self.others.read().get(&name.to_ascii_lowercase()) {
            Some(live) => live.usable(name),
            None => Err(no_database(name).into()),
        }
    }

    /// Name of a database that this node has open by now, or is opening anew: others may have it.
    fn open_or_reopening(&self, name: &str) -> Option<Arc<str>> {
        // Without a cluster there is none, and no name to be made lower-case.
        self.cluster.as_ref()?;
        let (name, default) = (name.to_ascii_lowercase(), self.default_name());
        let live = |live: &Live| matches!(live, Live::Online(_) | Live::Reopening);
        if name == **default || name == ALIAS {
            return live(&self.default.read()).then(|| Arc::clone(default));
        }
        self.others.read().get(&name).is_some_and(live).then(|| name.into())
    }

    /// Every database that is online.
    #[must_use]
    pub fn databases(&self) -> Vec<Arc<Database>> {
        let mut all: Vec<_> = self.default.read().online().cloned().into_iter().collect();
        all.push(Arc::clone(&self.system));
        all.extend(self.others.read().values().filter_map(|live| live.online().cloned()));
        all
    }

    /// Every database of a graph, the default one first, and what is open of it.
    pub(crate) fn listed(&self) -> Vec<(Arc<str>, Option<Arc<Database>>)> {
        let default = (Arc::clone(self.default_name()), self.default.read().online().cloned());
        let (state, others) = (self.state(), self.others.read());
        let online = |name: &String| others.get(name).and_then(Live::online).cloned();
        let listed = state.databases.keys().map(|name| (name.as_str().into(), online(name)));
        [default].into_iter().chain(listed).collect()
    }

    /// Lag and troubles of the copies of a follower, by database.
    pub(crate) fn following(&self) -> Vec<(Arc<str>, FollowSeen)> {
        let Some(follow) = &self.follow else { return Vec::new() };
        let seen = |name: Arc<str>| (Arc::clone(&name), follow.seen(&name));
        self.listed().into_iter().map(|(name, _)| seen(name)).collect()
    }

    /// Keeps the log of a database for a follower that has the commits up to `after`.
    pub(crate) fn keep_log_for(&self, follower: &str, database: &Database, after: CommitTs) {
        let wanted = self.followers.note(database.name(), follower, after);
        database.engine().keep_log(wanted, self.settings.follow_keep, REMEMBERED);
    }

    /// Closes every database that nobody uses any more, with a checkpoint.
    ///
    /// # Errors
    /// The first one that came up; nothing committed is lost.
    pub fn close(self) -> Result<(), telar_db::Error> {
        self.leave();
        let others = self.others.into_inner().into_values();
        let all = others.chain([self.default.into_inner()]).filter_map(|live| match live {
            Live::Online(database) => Some(database),
            _ => None,
        });
        // Each is closed, whatever becomes of the others.
        let closed: Vec<_> = all.map(Database::close).collect();
        closed.into_iter().collect()
    }

    /// The database that is used if none is named.
    fn home(&self, state: &State, user: Option<&User>) -> Arc<str> {
        let home = user.and_then(|user| user.home.as_deref());
        let home = home.filter(|name| state.databases.contains_key(*name));
        home.map_or_else(|| Arc::clone(self.default_name()), Arc::from)
    }

    fn shown(&self, state: &State, home: &str) -> Vec<ShownDatabase> {
        let shown = |name: &str, wanted: bool| ShownDatabase {
            name: name.into(),
            kind: if name == SYSTEM { "system" } else { "standard" },
            aliases: Vec::new(),
            wanted,
            online: false,
            message: String::new(),
            default: *name == **self.default_name(),
            home: name == home,
            last_commit: None,
            places: Vec::new(),
        };
        let online = |database: &Database, shown: ShownDatabase| ShownDatabase {
            online: true,
            last_commit: Some(database.engine().published()),
            ..shown
        };
        let seen = |live: Option<&Live>, shown: ShownDatabase| match live {
            Some(Live::Online(database)) => online(database, shown),
            Some(Live::Failed(why)) => ShownDatabase { message: why.clone(), ..shown },
            _ => shown,
        };
        let default = shown(self.default_name(), true);
        let default = seen(Some(&*self.default.read()), default);
        let aliases = if *default.name == *ALIAS { Vec::new() } else { vec![ALIAS.into()] };
        let mut all = vec![ShownDatabase { aliases, ..default }];
        let others = self.others.read();
        all.extend(
            state
                .databases
                .iter()
                .map(|(name, entry)| seen(others.get(name), shown(name, entry.online))),
        );
        all.push(online(&self.system, shown(SYSTEM, true)));
        all.sort_by(|a, b| a.name.cmp(&b.name));
        if let Some(follow) = &self.follow {
            for shown in all.iter_mut().filter(|shown| *shown.name != *SYSTEM) {
                let sentence = follow.seen(&shown.name).sentence(&follow.address());
                shown.message = match shown.message.is_empty() {
                    true => sentence,
                    false => format!("{}; {sentence}", shown.message),
                };
            }
        }
        if let Some(cluster) = &self.cluster {
            for shown in &mut all {
                let folder = self.folder_of(&shown.name);
                shown.places = cluster.places(folder.as_deref(), shown.wanted);
            }
        }
        all
    }

    /// Who a name and password belong to.
    fn authenticate(&self, peer: &Peer, name: &str, password: &str) -> Result<Identity, Failure> {
        self.attempts.check(name)?;
        let state = self.state();
        let is_user = state.users.contains_key(name);
        // What is right or wrong of somebody who may not log in is not looked at.
        let user = state.users.get(name).filter(|user| !user.suspended);
        let stored = user.map(|user| &*user.hash);
        let address = peer.address.map(|address| address.ip().to_canonical());
        let attempt = Attempt { user: name, password, stored, address };
        // Until it is dropped, no other attempt of this name is made.
        let verified = self.passwords.verify(&attempt, || self.attempts.check(name))?;
        match user {
            Some(user) if verified.right => {
                self.attempts.succeeded(name);
                self.audit.login(peer, name);
                Ok(Identity::User { name: name.into(), number: user.number })
            }
            _ => {
                let refused = Failure::unauthorized();
                let report = |event: &'static str| {
                    let error = Some(refused.code);
                    let event = Event { event, error, user: name, ..Event::default() };
                    self.audit.write(peer, &event);
                };
                report("login");
                if self.attempts.failed(name, is_user) {
                    report("lockout");
                }
                Err(refused)
            }
        }
    }

    /// Sets a user's password and lets the user log in: for whoever has the files.
    ///
    /// # Errors
    /// If there is no such user, the password is too short, or the file cannot be written.
    pub fn set_password(&self, user: &str, password: &str) -> Result<(), Failure> {
        let settings = UserSettings {
            password: Some(self.passwords.hash(&Secret::new(password))?),
            change_required: Some(false),
            suspended: Some(false),
            home: None,
        };
        let command = Command::AlterUser { name: user.into(), if_exists: false, settings };
        let given = Given { by: "", default: self.default_name() };
        self.execute(&[command], &given, |_| Ok(()))?;
        let peer = Peer { address: None, protocol: "", agent: "telar admin".into() };
        let event = Event { event: "set-password", user, ..Event::default() };
        self.audit.write(&peer, &event);
        Ok(())
    }

    /// Executes commands, all or none, if `may` agrees with the state that they change. How many
    /// changed something.
    fn execute(
        &self,
        commands: &[Command],
        given: &Given<'_>,
        may: impl Fn(&State) -> Result<(), QueryError>,
    ) -> Result<u64, QueryError> {
        if let Some(follow) = &self.follow
            && commands.iter().any(is_of_databases)
        {
            let of = follow.address();
            let message = format!("the databases here are copies of those of {of}: give it there");
            return Err(failure::invalid(message));
        }
        let stops = |command: &Command| matches!(command, Command::StopDatabase { .. });
        if self.store.is_none() && commands.iter().any(stops) {
            let message = "a database in memory (store.memory) cannot be stopped: nothing would be \
                           left of it";
            return Err(failure::invalid(message));
        }
        if self.cluster.is_some() {
            return self.execute_shared(commands, given, may);
        }
        let _change = self.change.lock();
        let old = self.state();
        may(&old)?;
        let (mut new, mut changes) = (State::clone(&old), 0);
        let exists =
            |folder: &String| self.store.as_ref().is_some_and(|s| s.database(folder).exists());
        new.garbage.retain(exists);
        for command in commands {
            changes += u64::from(new.apply(command, given)?);
        }
        let opened = self.open_new(&old, &new)?;
        if let Some(store) = &self.store {
            store.save(&new)?;
        }
        *self.state.write() = Arc::new(new);
        let new = self.state();
        self.replace(&old, &new, opened);
        Ok(changes)
    }

    /// Opens the databases that are online in the new state and not in the old one. The folders of
    /// those that are made are garbage until the new state is saved.
    fn open_new(&self, old: &State, new: &State) -> Result<Vec<(String, Live)>, QueryError> {
        let to_open = |(name, entry): &(&String, &state::Entry)| {
            entry.online && old.databases.get(*name) != Some(*entry)
        };
        let to_open: Vec<_> = new.databases.iter().filter(to_open).collect();
        let is_new = |name: &String, entry: &state::Entry| {
            old.databases.get(name).is_none_or(|before| before.folder != entry.folder)
        };
        if let Some(store) = &self.store
            && to_open.iter().any(|(name, entry)| is_new(name, entry))
        {
            let mut noted = State { next: new.next, ..State::clone(old) };
            let made = to_open.iter().filter(|(name, entry)| is_new(name, entry));
            noted.garbage.extend(made.map(|(_, entry)| entry.folder.clone()));
            store.save(&noted)?;
            *self.state.write() = Arc::new(noted);
            crash_point("noted");
        }
        let mut opened = Vec::new();
        for (name, entry) in to_open {
            let new = is_new(name, entry);
            if !new {
                self.await_stopped(name)?;
            }
            let database = Arc::new(self.open_other(name, &entry.folder, new)?);
            if let Some(store) = &self.store {
                store.sync_databases()?;
            }
            crash_point("opened");
            opened.push((name.clone(), Live::Online(database)));
        }
        Ok(opened)
    }

    /// Waits until nobody holds a database that was stopped.
    fn await_stopped(&self, name: &str) -> Result<(), QueryError> {
        let begun = Instant::now();
        loop {
            let held = match self.others.read().get(name) {
                Some(Live::Stopped(open)) => open.strong_count() > 0,
                _ => false,
            };
            if !held {
                return Ok(());
            }
            if begun.elapsed() > RESTART_WAIT {
                return Err(unavailable(name, "a transaction from before it was stopped is open"));
            }
            thread::sleep(Duration::from_millis(5));
        }
    }

    /// Puts what was opened in its place, and ends the databases that are in the old state, and in
    /// the new one not or not online.
    fn replace(&self, old: &State, new: &State, opened: Vec<(String, Live)>) {
        let (mut ended, mut unused) = (Vec::new(), Vec::new());
        let mut others = self.others.write();
        for (name, before) in &old.databases {
            let after = new.databases.get(name);
            if after == Some(before) {
                continue;
            }
            let kept = after.is_some_and(|after| after.folder == before.folder);
            match others.remove(name) {
                Some(Live::Online(database)) if kept => {
                    others.insert(name.clone(), Live::Stopped(database.is_open()));
                    ended.push((database, End::Stopped, None));
                }
                Some(Live::Online(database)) => {
                    let folder = self.store.as_ref().map(|s| s.database(&before.folder));
                    ended.push((database, End::Dropped, folder));
                }
                Some(Live::Reopening) if kept => {
                    others.insert(name.clone(), Live::Stopped(Weak::new()));
                }
                Some(other) if kept => drop(others.insert(name.clone(), other)),
                // If somebody holds it still, the next start removes its folder.
                Some(Live::Stopped(open)) if open.strong_count() > 0 => {}
                _ => unused.extend(self.store.as_ref().map(|s| s.database(&before.folder))),
            }
        }
        others.extend(opened);
        drop(others);
        unused.iter().for_each(|folder| _ = store::remove_folder(folder));
        ended.into_iter().for_each(|(database, end, folder)| database.end(end, folder));
    }
}

/// True if a command makes, drops, starts or stops a database.
fn is_of_databases(command: &Command) -> bool {
    use Command as C;
    matches!(
        command,
        C::CreateDatabase { .. }
            | C::DropDatabase { .. }
            | C::StartDatabase { .. }
            | C::StopDatabase { .. }
    )
}

/// The state on the first start.
fn first_state(security: &Security, passwords: &Passwords) -> Result<State, QueryError> {
    match &security.initial_password {
        Some(password) => {
            let hash = passwords.hash(password).map_err(|mut e| {
                e.message = format!("auth.initial_password: {}", e.message);
                e
            });
            Ok(State::first(hash?, false))
        }
        None => Ok(State::first(passwords.hash_default()?, true)),
    }
}
