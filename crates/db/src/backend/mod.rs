//! Backend of a session: the database as statements need it, behind an object-safe trait.
//!
//! ```text
//!  Session, QueryTransaction ──► dyn Backend ──► snapshots: dyn Graph, read by any thread
//!                                     │
//!                                     └────────► dyn BackendTransaction: dyn Update, commit
//! ```
//!
//! - [`Database`](crate::Database) is the backend of an embedded database (`embedded.rs`).
//! - Everything else is another implementation of the same two traits: a follower that refuses
//!   writes, a front end of several databases, a double for tests. docs/extending.md has one.
//! - Errors are those of queries: a backend says itself what a client is told (`refusal.rs` does
//!   it for the engine). What it returns reaches the client as it is.
//! - Cost: one virtual call for the snapshot, or the transaction, of a statement, and one box.
//!   The reads and writes of the statement go through `dyn Graph` and `dyn Update` anyway.

mod embedded;
mod refusal;

use std::fmt;
use std::path::Path;
use std::thread;
use std::time::Duration;

use telar_engine::{Engine, Interrupt, Isolation, WriteWait};
use telar_graph::{CommitTs, Graph, Update};
use telar_query::{At, ErrorKind, Limits, QueryError};

pub(crate) use refusal::{query_error, terminated};

/// Shortest pause between two looks for a commit: one that is on its way comes soon.
const LOOK_MIN: Duration = Duration::from_millis(1);
/// Longest pause: pauses double up to it.
const LOOK_MAX: Duration = Duration::from_millis(32);

/// One state of a graph, which several threads may read at once.
pub type SharedGraph<'b> = dyn Graph + Sync + 'b;

/// A database as sessions use it: states of the graph to read, and transactions to write.
///
/// Sessions, and the transactions that they begin, hold it in an `Arc`, so that it lives as long
/// as any of them.
pub trait Backend: fmt::Debug + Send + Sync {
    /// Folder for the temporary files of queries; without one, they need
    /// [`Limits::scratch`] to exceed their memory.
    fn folder(&self) -> Option<&Path> {
        None
    }

    /// The database of this program that it is, or stands for, if it is one. What follows the
    /// change stream (`algo.live`) needs it.
    fn database(&self) -> Option<&Engine> {
        None
    }

    /// Version of everything that plans depend on: the names, the indexes, the amount of data. A
    /// plan is made anew when this differs. Asked once for each statement.
    fn planning_version(&self) -> u64;

    /// The newest state of the graph. Asked once for each statement that only reads, and once more
    /// if it has to be planned.
    ///
    /// # Errors
    /// If it cannot be read, or too many snapshots are open.
    fn snapshot(&self) -> Result<Box<SharedGraph<'_>>, QueryError>;

    /// A state of the past, for `AT TIMESTAMP`.
    ///
    /// # Errors
    /// If it is not retained.
    fn snapshot_at(&self, at: &At) -> Result<Box<SharedGraph<'_>>, QueryError>;

    /// Refuses statements that write, where they cannot be committed. Asked once for each of them,
    /// before it begins.
    ///
    /// # Errors
    /// Whatever the client is to be told.
    fn may_write(&self) -> Result<(), QueryError> {
        Ok(())
    }

    /// Begins a transaction, which sees everything that is committed. Asked once for each statement
    /// that writes, and for each transaction of several statements.
    ///
    /// # Errors
    /// If none can begin here, or too many are open.
    fn begin(&self, isolation: Isolation) -> Result<Box<dyn BackendTransaction>, QueryError>;

    /// Timestamp of the commit whose transaction had this id, if it is known
    /// ([`BackendTransaction::commit_once`]).
    fn committed_once(&self, id: &str) -> Option<CommitTs> {
        let _ = id;
        None
    }

    /// Timestamp of the newest commit that a new snapshot sees.
    fn published(&self) -> CommitTs;

    /// Waits until a new snapshot sees this commit, or the limits end the wait.
    ///
    /// # Errors
    /// The errors of [`Limits::check`].
    fn wait_for(&self, commit: CommitTs, limits: &Limits) -> Result<(), QueryError> {
        let mut pause = LOOK_MIN;
        while self.published() < commit {
            limits.check()?;
            thread::sleep(pause);
            pause = (2 * pause).min(LOOK_MAX);
        }
        Ok(())
    }

    /// Fails if commits of other servers do not come here at the moment, so that nobody waits for
    /// one in vain.
    ///
    /// # Errors
    /// [`ErrorKind::DatabaseUnavailable`], with why.
    fn check_follows(&self) -> Result<(), QueryError> {
        Ok(())
    }
}

/// An open transaction of a [`Backend`]. One thread at a time uses it, not always the same;
/// dropping it undoes everything.
pub trait BackendTransaction: fmt::Debug + Send {
    /// The graph that it sees, its own changes included.
    fn graph(&self) -> &dyn Graph;

    /// The same, for writing.
    fn update(&mut self) -> &mut dyn Update;

    /// The graph that it sees, for several threads at once. `None` where only
    /// [`graph`](Self::graph) shows it, or where each read has to be noted: that of a transaction
    /// that has written, and of a serializable one.
    fn snapshot(&self) -> Option<&SharedGraph<'_>> {
        None
    }

    /// Bytes of memory that its changes take.
    fn written_bytes(&self) -> u64;

    /// True once it has changed vertices or edges.
    fn changes_graph(&self) -> bool;

    /// True once it has changed indexes or constraints.
    fn changes_schema(&self) -> bool;

    /// Lets its writes wait, from now on, for other transactions that have written the same. A
    /// backend without such waits needs none of this, nor of the next two.
    fn wait_for_writers(&mut self, wait: WriteWait) {
        let _ = wait;
    }

    /// True if others may wait for what it has written.
    fn holds_intents(&self) -> bool {
        false
    }

    /// Lets those go on who wait for it: it can only be undone.
    fn release_intents(&mut self) {}

    /// Lets it commit once, however often it is sent with this id: the commit of a second one
    /// undoes its changes, and returns the timestamp of the first. Kept by
    /// [`restart`](Self::restart).
    ///
    /// # Errors
    /// For an id that cannot be kept, and on backends that keep none.
    fn commit_once(&mut self, id: &str) -> Result<(), QueryError> {
        let _ = id;
        let message = "this database keeps no ids of transactions";
        Err(QueryError::runtime(ErrorKind::NotSupported, "Once", message))
    }

    /// Undoes everything and begins again, on the newest state of the graph. Called for a statement
    /// that lost a conflict ([`QueryError::is_retryable`]).
    ///
    /// # Errors
    /// As [`Backend::begin`].
    fn restart(&mut self) -> Result<(), QueryError>;

    /// Makes its changes visible to others, unless `interrupt` says to give up before that is
    /// decided. Returns the timestamp from which on they are seen; without changes, the one it read
    /// at.
    ///
    /// # Errors
    /// Nothing was changed: a conflict, a violated constraint, the interrupt, or what the backend
    /// itself has to say.
    fn commit(self: Box<Self>, interrupt: &dyn Interrupt) -> Result<CommitTs, QueryError>;
}
