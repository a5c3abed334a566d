//! What a protocol does on behalf of one peer.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use telar_db::query::{Host, Limits, Origin, QueryError, Scratch, ScratchFolder, Sink, Summary};
use telar_db::{CommitTs, QueryTransaction, Session, ValueMap};

use super::caller::{Caller, Identity, expired};
use super::failure::forbidden;
use super::observer::Counting;
use super::state::State;
use super::{Bookmark, Database, Dbms, Failure, Ran, SYSTEM};

/// How long a statement waits for the commits that its bookmarks name.
const BOOKMARK_WAIT: Duration = Duration::from_secs(30);

/// What is known of the other side of a connection.
#[derive(Debug, Clone)]
pub struct Peer {
    /// Where it is.
    pub address: Option<SocketAddr>,
    /// `bolt` or `http`.
    pub protocol: &'static str,
    /// What it says it is: `neo4j-python/5.28.1 ...`.
    pub agent: String,
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
    /// What the client wants to be listed with it.
    pub metadata: ValueMap,
    /// On whose behalf, if not the client's own: for administrators.
    pub impersonated: Option<String>,
    /// Set by another thread to give it up.
    pub cancelled: Option<Arc<AtomicBool>>,
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
    peer: Arc<Peer>,
    /// `bolt-17`
    connection: Arc<str>,
    address: Arc<str>,
    identity: Mutex<Option<Identity>>,
}

impl Client {
    /// A peer that has said nothing yet.
    #[must_use]
    pub fn new(dbms: Arc<Dbms>, peer: Peer) -> Self {
        // ORDERING: relaxed, as the number says nothing of anything else.
        let number = dbms.connections.fetch_add(1, Ordering::Relaxed);
        let connection = format!("{}-{number}", peer.protocol).into();
        let address = peer.address.map(|a| a.to_string()).unwrap_or_default().into();
        Self { dbms, peer: Arc::new(peer), connection, address, identity: Mutex::default() }
    }

    /// Who it is.
    #[must_use]
    pub fn peer(&self) -> &Peer {
        &self.peer
    }

    /// What the connection is called in lists.
    #[must_use]
    pub fn connection(&self) -> &Arc<str> {
        &self.connection
    }

    /// The user who has logged in, if any; of no name, where nobody has to.
    #[must_use]
    pub fn user(&self) -> Option<Arc<str>> {
        self.identity.lock().as_ref().map(Identity::name)
    }

    /// Logs in, as somebody else if somebody is. Costs tens of milliseconds of a processor, unless
    /// the same password was right before.
    ///
    /// # Errors
    /// `Unauthorized`, for whatever reason, and `AuthenticationRateLimit`: nobody is logged in.
    pub fn login(&self, credentials: &Credentials) -> Result<(), Failure> {
        *self.identity.lock() = None;
        let identity = match (self.dbms.settings.security.enabled, &*credentials.scheme) {
            (false, _) => Ok(Identity::Anyone),
            (true, "basic") => {
                let Credentials { principal, credentials, .. } = credentials;
                self.dbms.authenticate(&self.peer, principal, credentials)
            }
            (true, _) => Err(Failure::unauthorized()),
        };
        if let (Err(_), Some(observer)) = (&identity, self.dbms.observer.get()) {
            observer.login_failed(&self.peer);
        }
        *self.identity.lock() = Some(identity?);
        Ok(())
    }

    /// The database of this name, for reading it in another way than by statements.
    ///
    /// # Errors
    /// If there is none, or this user may not read it.
    pub fn readable(&self, name: &str) -> Result<Arc<Database>, Failure> {
        let identity = self.identity.lock().clone().ok_or_else(Failure::unauthorized)?;
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

    /// Logs out: until the next login nothing can be done.
    pub fn logout(&self) {
        *self.identity.lock() = None;
    }

    /// What the database is called that a name, or none, means to this client.
    ///
    /// # Errors
    /// If there is none, or nobody has logged in.
    pub fn database_name(&self, name: Option<&str>) -> Result<Arc<str>, Failure> {
        let identity = self.identity.lock().clone().ok_or_else(Failure::unauthorized)?;
        let state = self.dbms.state();
        Ok(Arc::clone(self.database(name, &identity, &state)?.name()))
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
        let mut call = self.call(options, false)?;
        if let Some(database) = call.elsewhere(text) {
            call = self.call(&Options { database: Some(database), ..options.clone() }, false)?;
        }
        let session = call.session(options);
        let run = |sink: &mut dyn Sink| session.stream(text, parameters, sink);
        let summary = call.told(text, parameters, sink, run)?;
        let bookmark = Some(bookmark(&call.database, summary.at));
        Ok(Done { summary, bookmark, database: Arc::clone(call.database.name()) })
    }

    /// Begins a transaction and lets `body` use it; what it has not committed at its end is undone.
    ///
    /// # Errors
    /// If none can begin.
    pub fn transaction<R>(
        &self,
        options: &Options,
        body: impl FnOnce(Work<'_, '_>) -> R,
    ) -> Result<R, Failure> {
        let call = self.call(options, true)?;
        let session = call.session(options);
        let transaction = session.begin().map_err(|e| call.database.explain(e))?;
        Ok(body(Work { transaction, call: &call }))
    }

    /// What a statement or transaction begins with: who, where, and a place among those that run.
    fn call(&self, options: &Options, transaction: bool) -> Result<Call<'_>, Failure> {
        let identity = self.identity.lock().clone().ok_or_else(Failure::unauthorized)?;
        let state = self.dbms.state();
        let own = identity.user(&state)?;
        let (identity, actor) = match &options.impersonated {
            None => (identity, None),
            Some(name) => {
                let admin = own.is_none_or(|user| user.is_admin() && !user.change_required);
                let user = state.users.get(name).filter(|user| admin && !user.suspended);
                let Some(user) = user else {
                    // The same for a user who does not exist: nobody is to find out who does.
                    return Err(forbidden(format!("cannot impersonate user '{name}'")).into());
                };
                let actor = identity.name();
                (Identity::User { name: name.as_str().into(), number: user.number }, Some(actor))
            }
        };
        let database = self.database(options.database.as_deref(), &identity, &state)?;
        await_bookmarks(&database, &options.bookmarks)?;
        // Whatever runs, the server can be administered.
        let system = **database.name() == *SYSTEM;
        let slot = if system { None } else { Some(Slot::take(&self.dbms)?) };
        let origin = Origin {
            user: identity.name(),
            connection: Arc::clone(&self.connection),
            address: Arc::clone(&self.address),
            protocol: self.peer.protocol.into(),
            metadata: options.metadata.clone(),
        };
        let caller = Arc::new(Caller {
            dbms: Arc::clone(&self.dbms),
            peer: Arc::clone(&self.peer),
            identity,
            actor,
            database: Arc::clone(database.name()),
            transaction: transaction.then(Mutex::default),
        });
        Ok(Call { database, caller, origin, _slot: slot })
    }
}

/// One of the transactions that may run at once.
#[derive(Debug)]
struct Slot<'c>(&'c Dbms);

impl<'c> Slot<'c> {
    fn take(dbms: &'c Dbms) -> Result<Self, Failure> {
        // ORDERING: relaxed, as nothing else is read because of the count.
        let others = dbms.transactions.fetch_add(1, Ordering::Relaxed);
        let slot = Self(dbms);
        match dbms.settings.limits.transactions {
            Some(most) if others >= most as u64 => {
                let code = "Neo.TransientError.Transaction.MaximumTransactionLimitReached";
                Err(Failure::new(code, format!("{most} transactions are running: try again")))
            }
            _ => Ok(slot),
        }
    }
}

impl Drop for Slot<'_> {
    fn drop(&mut self) {
        // ORDERING: relaxed, as above.
        self.0.transactions.fetch_sub(1, Ordering::Relaxed);
    }
}

/// A statement or transaction that is about to run.
#[derive(Debug)]
struct Call<'c> {
    database: Arc<Database>,
    caller: Arc<Caller>,
    origin: Origin,
    _slot: Option<Slot<'c>>,
}

impl Call<'_> {
    /// Runs a statement and tells the observer, if there is one.
    fn told(
        &self,
        text: &str,
        parameters: &ValueMap,
        sink: &mut dyn Sink,
        run: impl FnOnce(&mut dyn Sink) -> Result<Summary, QueryError>,
    ) -> Result<Summary, Failure> {
        let explain = |e| Failure::from(self.database.explain(e));
        let Some(observer) = self.caller.dbms.observer.get() else {
            return run(sink).map_err(explain);
        };
        let begun = Instant::now();
        let mut counting = Counting { sink, rows: 0 };
        let done = run(&mut counting).map_err(explain);
        observer.ran(&Ran {
            peer: &self.caller.peer,
            user: &self.origin.user,
            database: self.database.name(),
            text,
            parameters,
            metadata: &self.origin.metadata,
            error: done.as_ref().err(),
            took: begun.elapsed(),
            rows: counting.rows,
        });
        done
    }

    /// The database that a statement asks for with `USE`, if it is another one.
    fn elsewhere(&self, text: &str) -> Option<String> {
        // PERF: most statements need no second look.
        if !text.as_bytes().windows(3).any(|word| word.eq_ignore_ascii_case(b"use")) {
            return None;
        }
        // What is wrong with it is found again when it runs.
        let name = self.database.session().database_of(text).ok().flatten()?;
        (!self.caller.is_here(&name)).then(|| name.as_ref().to_owned())
    }

    fn session(&self, options: &Options) -> Session<'_> {
        let settings = self.caller.dbms.settings();
        let limits = Limits {
            cancelled: options.cancelled.clone(),
            memory: settings.limits.memory,
            scratch: settings.limits.temporary_folder.clone().map(|folder| {
                let scratch: Arc<dyn Scratch> = Arc::new(ScratchFolder::new(folder));
                scratch
            }),
            // Everybody may use the system database: files are for those who may read a graph.
            import_folder: settings.import_folder.clone().filter(|_| !self.caller.is_system()),
            ..Limits::default()
        };
        let host: Arc<dyn Host> = self.caller.clone();
        let session = self.database.session().with_limits(limits);
        let session = session.with_workers(Arc::clone(&self.caller.dbms.workers));
        let mut session = session.with_host(host, self.origin.clone());
        if options.access == AccessMode::Read {
            session = session.read_only();
        }
        let timeout = [options.timeout, settings.limits.timeout].into_iter().flatten().min();
        match timeout {
            Some(timeout) => session.with_timeout(timeout),
            None => session,
        }
    }
}

/// An open transaction of a client.
#[derive(Debug)]
pub struct Work<'s, 'd> {
    transaction: QueryTransaction<'s, 'd>,
    call: &'d Call<'d>,
}

impl Work<'_, '_> {
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
        call.caller.commit()?;
        let committed: Result<CommitTs, QueryError> = transaction.commit();
        let ts = committed.map_err(|e| call.database.explain(e))?;
        Ok(bookmark(&call.database, ts))
    }

    /// Undoes everything.
    pub fn rollback(self) {
        self.transaction.rollback();
    }
}

fn bookmark(database: &Database, ts: CommitTs) -> Bookmark {
    Bookmark { database: Arc::clone(database.name()), ts }
}

/// Waits until the database has published the commits that are named.
fn await_bookmarks(database: &Database, bookmarks: &[String]) -> Result<(), Failure> {
    let begun = Instant::now();
    for text in bookmarks {
        let wanted: Bookmark = text.parse()?;
        if wanted.database != *database.name() {
            continue;
        }
        while database.engine().published() < wanted.ts {
            if begun.elapsed() > BOOKMARK_WAIT {
                let code = "Neo.TransientError.Transaction.BookmarkTimeout";
                return Err(Failure::new(code, format!("the commit {text} has not come")));
            }
            thread::sleep(Duration::from_millis(1));
        }
    }
    Ok(())
}
