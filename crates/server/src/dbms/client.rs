//! What a protocol does on behalf of one peer.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use telar_db::query::{
    ErrorKind, Host, Limits, Origin, QueryError, Scratch, ScratchFolder, Sink, StatementKind,
    Summary,
};
use telar_db::{CommitTs, Isolation, QueryTransaction, Session, ValueMap};

use super::audit::Event;
use super::caller::{Caller, Identity, expired};
use super::clients::Connected;
use super::failure::forbidden;
use super::isolation;
use super::observer::Watched;
use super::slow::Ended;
use super::state::{State, User};
use super::{Bookmark, Database, Dbms, Failure, Place, Quota, Ran, Standing};

/// How long a statement waits for the commits that its bookmarks name.
pub(crate) const BOOKMARK_WAIT: Duration = Duration::from_secs(30);
/// How often it looks for them: more and more seldom, as commits that are on their way come soon.
pub(crate) const BOOKMARK_LOOK_MIN: Duration = Duration::from_millis(1);
/// The least often.
pub(crate) const BOOKMARK_LOOK_MAX: Duration = Duration::from_millis(32);

/// Words of a message about a limit that the client has set.
pub(super) const CLIENTS_OWN: &str = ", which the client has set";

/// What is known of the other side of a connection.
#[derive(Debug, Clone)]
pub struct Peer {
    /// Where it is.
    pub address: Option<SocketAddr>,
    /// `bolt`, `bolt+websocket`, `http` or `http+mcp`.
    pub protocol: &'static str,
    /// What it says it is: `neo4j-python/5.28.1 ...`.
    pub agent: String,
}

impl Peer {
    /// Protocol without what carries it: `bolt` or `http`.
    pub(crate) fn base_protocol(&self) -> &'static str {
        self.protocol.split_once('+').map_or(self.protocol, |(base, _)| base)
    }
}

/// What somebody shows to log in.
#[derive(Clone, Default)]
pub struct Credentials {
    /// `basic`; `none` where nobody has to log in.
    pub scheme: String,
    /// The name.
    pub principal: String,
    /// The password.
    pub credentials: String,
}

impl std::fmt::Debug for Credentials {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { scheme, principal, .. } = self;
        f.debug_struct("Credentials").field("scheme", scheme).field("principal", principal).finish()
    }
}

/// What a statement or transaction is meant to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum AccessMode {
    /// Anything.
    #[default]
    Write,
    /// Read: statements that change something are refused.
    Read,
}

/// How a statement or transaction is to run.
#[derive(Debug, Clone, Default)]
pub struct Options {
    /// Where; none: the user's home, or the default database.
    pub database: Option<String>,
    /// Whether it may change anything.
    pub access: AccessMode,
    /// Commits it must see, as [`Bookmark`]s.
    pub bookmarks: Vec<String>,
    /// When it is given up; the server may allow less.
    pub timeout: Option<Duration>,
    /// The setting that says so, if it is not the client.
    pub timeout_setting: Option<&'static str>,
    /// What the client wants to be listed with it. What begins with `telar.` is for the server.
    pub metadata: ValueMap,
    /// How it is isolated; none: as the metadata say, or else the settings.
    pub isolation: Option<Isolation>,
    /// On whose behalf, if not the client's own: for administrators.
    pub impersonated: Option<String>,
    /// True if it stays in its database and uses no files of the server: a language model wrote it.
    pub confined: bool,
    /// Set by another thread to give it up.
    pub cancelled: Option<Arc<AtomicBool>>,
    /// Set when a command has terminated it, for whoever waits on its behalf.
    pub terminated: Option<Arc<AtomicBool>>,
}

/// A statement that ran.
#[derive(Debug)]
pub struct Done {
    /// What it says of itself.
    pub summary: Summary,
    /// Where it ran.
    pub database: Arc<str>,
    /// Its commit, or the state that it read; inside of a transaction there is none.
    pub bookmark: Option<Bookmark>,
}

/// One peer. Its thread runs what it asks for, once it has logged in.
#[derive(Debug)]
pub struct Client {
    dbms: Arc<Dbms>,
    number: u64,
    /// The part that others see.
    connected: Arc<Connected>,
    /// With whose rights the statement or transaction runs that it is at.
    caller: Mutex<Weak<Caller>>,
}

/// To whom something belongs that several requests use: a user, who is another one when dropped and
/// made again, or, where nobody logs in, whoever says that name.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) enum Owner {
    /// By number.
    User(u64),
    /// By name.
    Anyone(String),
}

impl Drop for Client {
    fn drop(&mut self) {
        self.dbms.clients.remove(self.number);
    }
}

impl Client {
    /// A peer that has said nothing yet.
    #[must_use]
    pub fn new(dbms: Arc<Dbms>, peer: Peer) -> Self {
        // ORDERING: relaxed, as the number says nothing of anything else.
        let number = dbms.connections.fetch_add(1, Ordering::Relaxed);
        let connected = dbms.clients.add(number, Arc::new(peer));
        Self { dbms, number, connected, caller: Mutex::default() }
    }

    /// Says where it reached the server, and how its connection is ended.
    pub(crate) fn reached(&self, server: String, close: impl Fn() + Send + Sync + 'static) {
        self.connected.reached(server, Box::new(close));
    }

    /// Who it is.
    #[must_use]
    pub fn peer(&self) -> &Peer {
        &self.connected.peer
    }

    /// What the connection is called in lists.
    #[must_use]
    pub fn connection(&self) -> &Arc<str> {
        &self.connected.connection
    }

    /// The user who has logged in, if any; of no name, where nobody has to.
    #[must_use]
    pub fn user(&self) -> Option<Arc<str>> {
        self.connected.identity.lock().as_ref().map(Identity::name)
    }

    /// Logs in, as somebody else if somebody is. Costs tens of milliseconds of a processor, unless
    /// the same password was right before.
    ///
    /// # Errors
    /// `Unauthorized`, for whatever reason, and `AuthenticationRateLimit`: nobody is logged in.
    pub fn login(&self, credentials: &Credentials) -> Result<(), Failure> {
        *self.connected.identity.lock() = None;
        let identity = match (self.dbms.settings.security.enabled, &*credentials.scheme) {
            (false, _) => Ok(Identity::Anyone),
            (true, "basic") => {
                let Credentials { principal, credentials, .. } = credentials;
                self.dbms.authenticate(&self.connected.peer, principal, credentials)
            }
            (true, _) => Err(Failure::unauthorized()),
        };
        if let (Err(_), Some(observer)) = (&identity, self.dbms.observer.get()) {
            observer.login_failed(&self.connected.peer);
        }
        *self.connected.identity.lock() = Some(identity?);
        Ok(())
    }

    /// The database of this name, for reading it in another way than by statements.
    ///
    /// # Errors
    /// If there is none, or this user may not read it.
    pub fn readable(&self, name: &str) -> Result<Arc<Database>, Failure> {
        let identity = self.connected.identity.lock().clone().ok_or_else(Failure::unauthorized)?;
        let state = self.dbms.state();
        let database = self.dbms.database(Some(name))?;
        match identity.user(&state)? {
            Some(user) if user.change_required => Err(expired().into()),
            Some(user) if user.role_in(database.name()).is_none() => {
                let message = format!("user '{}' may not read '{name}'", identity.name());
                Err(forbidden(message).into())
            }
            _ => Ok(database),
        }
    }

    /// Refuses whoever is no administrator.
    ///
    /// # Errors
    /// If that is so, or nobody has logged in.
    pub fn check_admin(&self) -> Result<(), Failure> {
        let identity = self.connected.identity.lock().clone().ok_or_else(Failure::unauthorized)?;
        match identity.user(&self.dbms.state())? {
            Some(user) if user.change_required => Err(expired().into()),
            Some(user) if !user.is_admin() => {
                let message = format!("user '{}' is no administrator", identity.name());
                Err(forbidden(message).into())
            }
            _ => Ok(()),
        }
    }

    /// Records that it was given a whole database.
    pub(crate) fn audit_image(&self, database: &str) {
        let (user, database) = (self.user().unwrap_or_default(), Some(database));
        let event = Event { event: "image", user: &user, database, ..Event::default() };
        self.dbms.audit.write(self.peer(), &event);
    }

    /// Who it is where places are shared out.
    pub(crate) fn standing(&self) -> Standing {
        let identity = self.connected.identity.lock();
        let Some(Identity::User { number, .. }) = &*identity else { return Standing::ANYONE };
        let state = self.dbms.state();
        let user = identity.as_ref().and_then(|identity| identity.user(&state).ok().flatten());
        Standing { user: Some(*number), admin: user.is_some_and(User::is_admin) }
    }

    /// Whether the commits are still to come that `options` want to see. Where the database cannot
    /// be used, none are: whoever begins hears that.
    ///
    /// # Errors
    /// If a bookmark is none, or commits do not come here at the moment.
    pub(crate) fn is_early(&self, options: &Options) -> Result<bool, Failure> {
        match self.dbms.database(options.database.as_deref()) {
            Ok(database) => {
                let next = bookmarks_to_come(&database, &options.bookmarks).next().transpose()?;
                if next.is_some() {
                    database.backend().check_follows()?;
                }
                Ok(next.is_some())
            }
            Err(_) => Ok(false),
        }
    }

    /// To whom belongs what it begins; `claimed` is the name it gave.
    ///
    /// # Errors
    /// If nobody has logged in.
    pub(crate) fn owner(&self, claimed: String) -> Result<Owner, Failure> {
        match &*self.connected.identity.lock() {
            None => Err(Failure::unauthorized()),
            Some(Identity::Anyone) => Ok(Owner::Anyone(claimed)),
            Some(Identity::User { number, .. }) => Ok(Owner::User(*number)),
        }
    }

    /// Refuses to go on with what runs, if whoever runs it may not any more.
    ///
    /// # Errors
    /// If that is so.
    pub(crate) fn still_allowed(&self) -> Result<(), QueryError> {
        let caller = self.caller.lock().upgrade();
        caller.map_or(Ok(()), |caller| caller.still_allows())
    }

    /// Why something of this client was terminated from outside that was to run as `options` say:
    /// somebody ended it, or this node leads the database no more.
    pub(crate) fn terminated(&self, options: &Options) -> Failure {
        let name = self.database_name(options.database.as_deref()).ok();
        let copy = name.and_then(|name| self.dbms.copy(&name));
        match copy.filter(|copy| options.access == AccessMode::Write && !copy.leads()) {
            Some(copy) => copy.not_a_leader().into(),
            None => {
                let message = "the transaction was terminated, and undone";
                Failure::new("Neo.TransientError.Transaction.Terminated", message)
            }
        }
    }

    /// Logs out: until the next login nothing can be done.
    pub fn logout(&self) {
        *self.connected.identity.lock() = None;
    }

    /// What the database is called that a name, or none, means to this client.
    ///
    /// # Errors
    /// If there is none, or nobody has logged in.
    pub fn database_name(&self, name: Option<&str>) -> Result<Arc<str>, Failure> {
        let identity = self.connected.identity.lock().clone().ok_or_else(Failure::unauthorized)?;
        let state = self.dbms.state();
        match self.database(name, &identity, &state) {
            Ok(database) => Ok(Arc::clone(database.name())),
            Err(failure) => {
                let name: Arc<str> = match name {
                    Some(name) => Arc::from(name),
                    None => self.dbms.home(&state, identity.user(&state)?),
                };
                self.dbms.open_or_reopening(&name).ok_or(failure)
            }
        }
    }

    fn database(
        &self,
        name: Option<&str>,
        identity: &Identity,
        state: &State,
    ) -> Result<Arc<Database>, Failure> {
        match name {
            Some(name) => self.dbms.database(Some(name)),
            None => self.dbms.database(Some(&self.dbms.home(state, identity.user(state)?))),
        }
    }

    /// Runs one statement as a transaction of its own; `sink` gets its rows as they come.
    ///
    /// # Errors
    /// Nothing was changed. The sink may have been given rows.
    pub fn run(
        &self,
        options: &Options,
        text: &str,
        parameters: &ValueMap,
        sink: &mut dyn Sink,
    ) -> Result<Done, Failure> {
        let call = |options: &Options| {
            let refused = |e: &Failure| self.refused(options, text, parameters, e);
            self.call(options, false).inspect_err(refused)
        };
        let mut called = call(options)?;
        if let Some(database) = called.elsewhere(options, text) {
            // Its place first: there may be no other.
            drop(called);
            called = call(&Options { database: Some(database), ..options.clone() })?;
        }
        let call = called;
        let session = call.session(options);
        let run = |sink: &mut dyn Sink| session.stream(text, parameters, sink);
        let summary = call.told(text, parameters, sink, run)?;
        let bookmark = Some(bookmark(&call.database, summary.at));
        Ok(Done { summary, bookmark, database: Arc::clone(call.database.name()) })
    }

    /// Plans a statement and does not run it: its kind, or what is wrong with it.
    ///
    /// # Errors
    /// If nothing could be planned for this user there.
    pub fn check(
        &self,
        options: &Options,
        text: &str,
    ) -> Result<Result<StatementKind, QueryError>, Failure> {
        let mut call = self.call(options, false)?;
        if let Some(database) = call.elsewhere(options, text) {
            drop(call);
            call = self.call(&Options { database: Some(database), ..options.clone() }, false)?;
        }
        Ok(call.session(options).check(text))
    }

    /// Begins a transaction; what it has not committed when it is dropped is undone.
    ///
    /// # Errors
    /// If none can begin.
    pub fn begin(&self, options: &Options) -> Result<Work, Failure> {
        let refused = |e: &Failure| self.refused(options, "BEGIN", &ValueMap::new(), e);
        let call = self.call(options, true).inspect_err(refused)?;
        let begun = call.session(options).begin().map_err(|e| call.explain(e));
        Ok(Work { transaction: begun.inspect_err(refused)?, call })
    }

    /// Tells the observer, if there is one, what did not even begin.
    fn refused(&self, options: &Options, text: &str, parameters: &ValueMap, failure: &Failure) {
        let Some(observer) = self.dbms.observer.get() else { return };
        observer.ran(&Ran {
            number: None,
            peer: &self.connected.peer,
            user: &self.user().unwrap_or_default(),
            database: options.database.as_deref().unwrap_or_default(),
            text,
            parameters,
            metadata: &options.metadata,
            error: Some(failure),
            took: Duration::ZERO,
            rows: 0,
        });
    }

    /// What a statement or transaction begins with: who, where, and a place among those that run.
    fn call(&self, options: &Options, transaction: bool) -> Result<Call, Failure> {
        let identity = self.connected.identity.lock().clone().ok_or_else(Failure::unauthorized)?;
        let state = self.dbms.state();
        let own = identity.user(&state)?;
        let (identity, actor) = match &options.impersonated {
            None => (identity, None),
            Some(name) => {
                let admin = own.is_none_or(User::may_impersonate);
                let user = state.users.get(name).filter(|user| admin && !user.suspended);
                let Some(user) = user else {
                    // The same for a user who does not exist: nobody is to find out who does.
                    return Err(forbidden(format!("cannot impersonate user '{name}'")).into());
                };
                let acts_for = Identity::User { name: name.as_str().into(), number: user.number };
                (acts_for, Some(identity))
            }
        };
        let database = self.database(options.database.as_deref(), &identity, &state)?;
        let settings = self.dbms.settings();
        let is_default = database.name() == self.dbms.default_name();
        let said = isolation::wanted(&options.metadata)?;
        let once = isolation::once(&options.metadata)?;
        let isolation = options.isolation.or(said);
        let isolation =
            isolation.unwrap_or_else(|| settings.isolation.of(database.name(), is_default));
        await_bookmarks(&database, options)?;
        let take = |quota: &Arc<Quota>| quota.take(self.standing());
        let _place = self.dbms.transactions.as_ref().map(take).transpose().map_err(|full| {
            let said = full.failure("transactions", "limits.transactions");
            let code = "Neo.TransientError.Transaction.MaximumTransactionLimitReached";
            Failure::new(code, said.message)
        })?;
        let origin = Arc::new(Origin {
            user: identity.name(),
            connection: Arc::clone(&self.connected.connection),
            address: Arc::clone(&self.connected.address),
            protocol: Arc::clone(&self.connected.protocol),
            metadata: options.metadata.clone(),
            number: Some(database.runtime().running().number()),
            ended: options.terminated.clone(),
        });
        let caller = Arc::new(Caller {
            dbms: Arc::clone(&self.dbms),
            peer: Arc::clone(&self.connected.peer),
            identity,
            actor,
            database: Arc::clone(database.name()),
            needed: Mutex::default(),
            transaction: transaction.then(Mutex::default),
        });
        *self.caller.lock() = Arc::downgrade(&caller);
        let Options { timeout, timeout_setting, .. } = *options;
        Ok(Call { database, caller, origin, timeout, timeout_setting, isolation, once, _place })
    }
}

/// A statement or transaction that is about to run.
#[derive(Debug)]
struct Call {
    database: Arc<Database>,
    caller: Arc<Caller>,
    origin: Arc<Origin>,
    /// Longest time that it may take, and the setting that says so if it is not the client.
    timeout: Option<Duration>,
    timeout_setting: Option<&'static str>,
    isolation: Isolation,
    /// Id of what commits once.
    once: Option<Arc<str>>,
    _place: Option<Place>,
}

impl Call {
    /// Runs a statement, asks before each batch of its rows whether it may go on, keeps it if it
    /// was slow, and tells the observer, if there is one.
    fn told(
        &self,
        text: &str,
        parameters: &ValueMap,
        sink: &mut dyn Sink,
        run: impl FnOnce(&mut dyn Sink) -> Result<Summary, QueryError>,
    ) -> Result<Summary, Failure> {
        let begun = Instant::now();
        let mut watched = Watched { sink, host: &*self.caller, rows: 0 };
        let done = run(&mut watched).map_err(|e| self.explain(e));
        self.observed(text, parameters, (begun.elapsed(), watched.rows), done.as_ref().err());
        done
    }

    /// An error as the client is told of it, with the setting that made it one.
    fn explain(&self, error: QueryError) -> Failure {
        let mut error = self.database.explain(error);
        if error.kind == ErrorKind::TimedOut {
            let limit = self.caller.dbms.time_limit(self.timeout);
            match (limit.map(|(_, whose)| whose), self.timeout_setting) {
                (Some(CLIENTS_OWN), Some(setting)) => error.message += &format!(" ({setting})"),
                (whose, _) => error.message += whose.unwrap_or_default(),
            }
        }
        error.into()
    }

    fn observed(
        &self,
        text: &str,
        parameters: &ValueMap,
        (took, rows): (Duration, u64),
        error: Option<&Failure>,
    ) {
        let dbms = &self.caller.dbms;
        dbms.slow.note(&Ended {
            identity: &self.caller.identity,
            number: self.origin.number,
            database: self.database.name(),
            text,
            took,
            rows,
            error: error.map(|failure| failure.code),
        });
        let Some(observer) = dbms.observer.get() else { return };
        observer.ran(&Ran {
            number: self.origin.number,
            peer: &self.caller.peer,
            user: &self.origin.user,
            database: self.database.name(),
            text,
            parameters,
            metadata: &self.origin.metadata,
            error,
            took,
            rows,
        });
    }

    /// The database that a statement asks for with `USE`, if it is another one.
    fn elsewhere(&self, options: &Options, text: &str) -> Option<String> {
        // PERF: most statements need no second look.
        if options.confined || !may_use(text) {
            return None;
        }
        // What is wrong with it is found again when it runs.
        self.caller.admit_anywhere(text).ok()?;
        let name = self.session(options).database_of(text).ok().flatten()?;
        (!self.caller.is_here(&name)).then(|| name.as_ref().to_owned())
    }

    fn session(&self, options: &Options) -> Session {
        let settings = self.caller.dbms.settings();
        // Everybody may use the system database: files are for those who may read a graph.
        let may_use_files = !options.confined && !self.caller.is_system();
        let files = |folder: &Option<PathBuf>| folder.clone().filter(|_| may_use_files);
        let limits = Limits {
            cancelled: options.cancelled.clone(),
            memory: settings.limits.memory,
            budget: settings.limits.budget,
            scratch: settings.limits.temporary_folder.clone().map(|folder| {
                let scratch: Arc<dyn Scratch> = Arc::new(ScratchFolder::new(folder));
                scratch
            }),
            import_folder: files(&settings.import_folder),
            export_folder: files(&settings.export_folder),
            ..Limits::default()
        };
        let host: Arc<dyn Host> = self.caller.clone();
        let session = self.database.session().with_limits(limits).with_isolation(self.isolation);
        let session = session.with_workers(Arc::clone(&self.caller.dbms.workers));
        let mut session = session.with_host(host, Arc::clone(&self.origin));
        if options.access == AccessMode::Read {
            session = session.read_only();
        }
        if let Some(id) = &self.once {
            session = session.with_once(Arc::clone(id));
        }
        if let Some(wait) = settings.limits.write_wait {
            session = session.with_write_wait(wait);
        }
        match self.caller.dbms.time_limit(self.timeout) {
            Some((timeout, _)) => session.with_timeout(timeout),
            None => session,
        }
    }
}

/// An open transaction of a client. It can be kept between requests, and go from thread to thread.
#[derive(Debug)]
pub struct Work {
    /// Dropped first: its place and its database are given up when it has been undone.
    transaction: QueryTransaction,
    call: Call,
}

impl Work {
    /// Runs one statement.
    ///
    /// # Errors
    /// As [`QueryTransaction::stream`]; the transaction can then only be undone.
    pub fn run(
        &mut self,
        text: &str,
        parameters: &ValueMap,
        sink: &mut dyn Sink,
    ) -> Result<Done, Failure> {
        let Self { transaction, call } = self;
        let run = |sink: &mut dyn Sink| transaction.stream(text, parameters, sink);
        let summary = call.told(text, parameters, sink, run)?;
        Ok(Done { summary, bookmark: None, database: Arc::clone(call.database.name()) })
    }

    /// Makes everything that was changed visible to others, and executes the commands for the
    /// server.
    ///
    /// # Errors
    /// As [`QueryTransaction::commit`]: nothing was changed.
    pub fn commit(self) -> Result<Bookmark, Failure> {
        let Self { transaction, call } = self;
        let begun = Instant::now();
        let allowed = call.caller.still_allows().map_err(|e| call.explain(e));
        let committed: Result<CommitTs, Failure> = allowed
            .and_then(|()| call.caller.commit().map_err(Failure::from))
            .and_then(|()| transaction.commit().map_err(|e| call.explain(e)));
        let observed = |e: &Failure| {
            call.observed("COMMIT", &ValueMap::new(), (begun.elapsed(), 0), Some(e));
        };
        Ok(bookmark(&call.database, committed.inspect_err(observed)?))
    }

    /// Undoes everything.
    pub fn rollback(self) {
        self.transaction.rollback();
    }
}

/// True if a text may hold the keyword `USE`.
fn may_use(text: &str) -> bool {
    let bytes = text.as_bytes();
    let mut begins = bytes.iter().enumerate().filter(|(_, byte)| matches!(byte, b'u' | b'U'));
    begins.any(|(at, _)| bytes[at..].get(..3).is_some_and(|word| word.eq_ignore_ascii_case(b"use")))
}

fn bookmark(database: &Database, ts: CommitTs) -> Bookmark {
    Bookmark { database: Arc::clone(database.name()), ts }
}

/// The commits of this database that are named and that it has not published.
fn bookmarks_to_come<'b>(
    database: &Database,
    bookmarks: &'b [String],
) -> impl Iterator<Item = Result<(&'b str, CommitTs), Failure>> {
    let to_come = |text: &'b String| match text.parse::<Bookmark>() {
        Err(failure) => Some(Err(failure)),
        Ok(Bookmark { database: name, ts }) => {
            let is_own = name == *database.name();
            (is_own && database.backend().published() < ts).then_some(Ok((&**text, ts)))
        }
    };
    bookmarks.iter().filter_map(to_come)
}

/// Waits until the database has published the commits that are named, without a place among those
/// that run.
fn await_bookmarks(database: &Database, options: &Options) -> Result<(), Failure> {
    if options.bookmarks.is_empty() {
        return Ok(());
    }
    let patience = options.timeout.map_or(BOOKMARK_WAIT, |timeout| timeout.min(BOOKMARK_WAIT));
    let deadline = Instant::now().checked_add(patience);
    let limits = Limits { deadline, cancelled: options.cancelled.clone(), ..Limits::default() };
    for bookmark in bookmarks_to_come(database, &options.bookmarks) {
        let (text, commit) = bookmark?;
        database.backend().wait_for(commit, &limits).map_err(|error| {
            // A copy that does not follow: drivers ask another server.
            if error.kind == ErrorKind::DatabaseUnavailable {
                return Failure::from(error);
            }
            let code = "Neo.TransientError.Transaction.BookmarkTimeout";
            Failure::new(code, format!("the commit {text} has not come"))
        })?;
    }
    Ok(())
}
