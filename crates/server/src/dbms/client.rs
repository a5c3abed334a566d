//! What a protocol does on behalf of a peer.

use std::fmt;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::thread;
use std::time::{Duration, Instant};

use telar_db::query::{Limits, Sink, Summary};
use telar_db::{CommitTs, QueryTransaction, Session, ValueMap};

use super::{Bookmark, Database, Dbms, Failure};

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

/// How a peer says who it is.
#[derive(Clone, Default)]
pub struct Credentials {
    /// `none`, `basic`, ...
    pub scheme: String,
    /// Its name.
    pub principal: String,
    /// What only it knows.
    pub credentials: String,
}

/// Without what nobody else should see.
impl fmt::Debug for Credentials {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { scheme, principal, .. } = self;
        f.debug_struct("Credentials")
            .field("scheme", scheme)
            .field("principal", principal)
            .finish_non_exhaustive()
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
    /// Where; none: the default database.
    pub database: Option<String>,
    /// Whether it may change anything.
    pub access: AccessMode,
    /// Commits it must see, as [`Bookmark`]s.
    pub bookmarks: Vec<String>,
    /// When it is given up.
    pub timeout: Option<Duration>,
    /// What the client wants to be listed with it.
    pub metadata: ValueMap,
    /// On whose behalf, if not the client's own.
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

/// One authenticated peer. Its thread runs what it asks for.
#[derive(Debug)]
pub struct Client {
    dbms: Arc<Dbms>,
    peer: Peer,
}

impl Client {
    /// A peer that has said nothing yet.
    #[must_use]
    pub fn new(dbms: Arc<Dbms>, peer: Peer) -> Self {
        Self { dbms, peer }
    }

    /// Who it is.
    #[must_use]
    pub fn peer(&self) -> &Peer {
        &self.peer
    }

    /// Lets the peer in, as whom it says it is.
    ///
    /// # Errors
    /// None yet: there are no users, and everybody may do everything.
    pub fn login(&mut self, token: &Credentials) -> Result<(), Failure> {
        let _ = token;
        Ok(())
    }

    /// Forgets who the peer is: it has to log in again.
    pub fn logout(&mut self) {}

    /// What the database is called that a name, or none, means to this client.
    ///
    /// # Errors
    /// If there is none.
    pub fn database_name(&self, name: Option<&str>) -> Result<Arc<str>, Failure> {
        Ok(Arc::clone(self.dbms.database(name)?.name()))
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
        let database = self.dbms.database(options.database.as_deref())?;
        await_bookmarks(&database, &options.bookmarks)?;
        let session = session(&database, options);
        let summary = session.stream(text, parameters, sink)?;
        let bookmark = Some(bookmark(&database, summary.at));
        Ok(Done { summary, bookmark, database: Arc::clone(database.name()) })
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
        let database = self.dbms.database(options.database.as_deref())?;
        await_bookmarks(&database, &options.bookmarks)?;
        let session = session(&database, options);
        let transaction = session.begin()?;
        Ok(body(Work { transaction, database: &database }))
    }
}

/// An open transaction of a client.
#[derive(Debug)]
pub struct Work<'s, 'd> {
    transaction: QueryTransaction<'s, 'd>,
    database: &'d Database,
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
        let summary = self.transaction.stream(text, parameters, sink)?;
        Ok(Done { summary, bookmark: None, database: Arc::clone(self.database.name()) })
    }

    /// Makes everything that was changed visible to others.
    ///
    /// # Errors
    /// As [`QueryTransaction::commit`]: nothing was changed.
    pub fn commit(self) -> Result<Bookmark, Failure> {
        let ts = self.transaction.commit()?;
        Ok(bookmark(self.database, ts))
    }

    /// Undoes everything.
    pub fn rollback(self) {
        self.transaction.rollback();
    }
}

fn session<'d>(database: &'d Database, options: &Options) -> Session<'d> {
    let mut session = database.session();
    if options.access == AccessMode::Read {
        session = session.read_only();
    }
    if let Some(flag) = &options.cancelled {
        session =
            session.with_limits(Limits { cancelled: Some(flag.clone()), ..Limits::default() });
    }
    if let Some(timeout) = options.timeout {
        session = session.with_timeout(timeout);
    }
    session
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
