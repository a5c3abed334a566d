//! Messages of the processes that share a database: heads of frames.
//!
//! ```text
//!   control connection of a process                 connections for statements, one at a time
//!   ───────────────────────────────                 ─────────────────────────────────────────
//!   Process ────────────▶                           Work ──────────────▶
//!           ◀──── In(process)                               ◀──── In(connection)
//!   Cancel{connection, statement} ─▶ (no answer)    Run, Begin, Commit, Load ... ─▶
//!                                                           ◀──── Batch ... Ran, or Failed
//! ```
//!
//! The control connection is how the owner learns that a process has ended, whatever its other
//! connections are busy with. A connection of which the first message is `Functions` is the other
//! way round: the owner asks, and the process calls its functions.

use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use telar_db::import::UniqueKey;
use telar_db::import::table::{End, RejectedRow, TableReport};
use telar_db::query::{
    Counters, Limits, Notification, PlanDescription, QueryError, StatementKind, Summary,
};
use telar_db::{Isolation, Session, Workers};
use telar_graph::CommitTs;

/// Processes of other versions are refused: messages are of one version.
pub(crate) const VERSION: &str = concat!(env!("CARGO_PKG_VERSION"), " frames 1");

/// Settings under which statements run, in this process or in the owner's.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Options {
    /// As [`Session::with_timeout`].
    pub timeout: Option<Duration>,
    /// As [`Session::with_write_wait`].
    pub write_wait: Option<Duration>,
    /// As [`Limits::memory`].
    pub memory: Option<usize>,
    /// As [`Isolation::Serializable`] where true.
    pub serializable: bool,
    /// As [`Session::read_only`].
    pub read_only: bool,
    /// Threads that help long queries, with the one that asks; those of the process that has the
    /// database unless it is said.
    pub threads: Option<NonZeroUsize>,
    /// As [`Limits::import_folder`]: whole, as the owner's current folder is another one.
    pub import_folder: Option<PathBuf>,
    /// As [`Limits::export_folder`].
    pub export_folder: Option<PathBuf>,
}

impl Options {
    /// A session with these settings.
    pub(crate) fn apply(&self, mut session: Session) -> Session {
        let Self { memory, .. } = *self;
        let (import_folder, export_folder) =
            (self.import_folder.clone(), self.export_folder.clone());
        session = session.with_limits(Limits {
            memory,
            import_folder,
            export_folder,
            ..Limits::default()
        });
        if let Some(timeout) = self.timeout {
            session = session.with_timeout(timeout);
        }
        if let Some(wait) = self.write_wait {
            session = session.with_write_wait(wait);
        }
        if self.serializable {
            session = session.with_isolation(Isolation::Serializable);
        }
        if let Some(threads) = self.threads {
            session = session.with_workers(Arc::new(Workers::new(threads.get())));
        }
        if self.read_only { session.read_only() } else { session }
    }
}

/// First message of a connection.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) enum Hello {
    /// Of a process.
    Process {
        version: String,
        number: u32,
        /// Commits are to be on disk when they return.
        durable: bool,
    },
    /// For statements of a process.
    Work { process: u64 },
    /// For calls of functions of a process.
    Functions { process: u64 },
}

/// Answer to the first message.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) enum Welcome {
    /// The number of the process or of the connection.
    In(u64),
    /// Not let in, and why.
    Refused(String),
}

/// Messages of a control connection.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) enum Control {
    /// Ends a statement, if it has not ended.
    Cancel { connection: u64, statement: u64 },
}

/// A request of a process.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) enum Request {
    /// Runs a statement: in the transaction of this connection, if there is one; `again` if it was
    /// sent before and may have been committed. The body has its parameters.
    Run { text: String, statement: u64, once: Option<String>, again: bool },
    /// Settings of what follows.
    Set(Options),
    /// Begins a transaction.
    Begin { once: String },
    /// Commits it.
    Commit,
    /// Undoes it.
    Rollback,
    /// Asks whether a transaction was committed.
    Committed { id: String },
    /// Asks for the properties by which nodes of a label are found.
    UniqueKeys { label: String },
    /// Writes a checkpoint.
    Checkpoint,
    /// Copies the database.
    Backup { folder: PathBuf },
    /// Brings tables in.
    Load { tables: Tables, statement: u64 },
    /// The next rows of a table: in the body.
    Rows,
    /// There are no more.
    NoMoreRows,
    /// They cannot be read.
    NoRows(QueryError),
    /// Adds a function, which a connection of its own answers for.
    AddFunction { name: String, fewest: usize, most: usize },
}

/// Tables to bring in, without their rows.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Tables {
    /// Labels and columns of each table of nodes.
    pub(crate) nodes: Vec<(Vec<String>, Vec<String>)>,
    /// Type, ends and columns of each table of relationships.
    pub(crate) relationships: Vec<(String, Ends, Vec<String>)>,
    /// Label and property of constraints.
    pub(crate) unique: Vec<(String, String)>,
    pub(crate) bad_rows: Option<u64>,
}

/// Column, label and property of both ends.
pub(crate) type Ends = [(String, String, String); 2];

impl Tables {
    pub(crate) fn ends(from: &End, to: &End) -> Ends {
        [from, to].map(|end| (end.column.clone(), end.label.clone(), end.key.clone()))
    }

    pub(crate) fn end((column, label, key): (String, String, String)) -> End {
        End { column, label, key }
    }

    pub(crate) fn unique_key((label, key): (String, String)) -> UniqueKey {
        UniqueKey { label, key }
    }
}

/// An answer of the owner.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) enum Answer {
    /// Rows, in the body; the first batch of a result says what its columns are.
    Batch,
    /// The statement that begins cannot be sent again when nobody knows whether it was committed.
    NotAgain,
    /// The statement has ended.
    Ran(Sent),
    /// It was committed when it was sent before: its rows, if it returns any, are lost.
    Was { at: u64, returns: bool },
    /// It is done.
    Done,
    /// A commit: of what was asked to be committed, or of what was asked for.
    Committed(Option<u64>),
    /// Names.
    Names(Vec<String>),
    /// Wants the next rows of a table, counted from the first of nodes on.
    Pull(usize),
    /// The load is committed.
    Loaded(Report),
    /// It failed.
    Failed(QueryError),
}

/// A call of a function: its arguments are in the body.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Call {
    pub(crate) name: String,
    pub(crate) rows: usize,
}

/// The end of a call; its values are in the body.
pub(crate) type Returned = Result<(), QueryError>;

/// A summary.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Sent {
    kind: StatementKind,
    counters: Counters,
    at: u64,
    plan: Option<PlanDescription>,
    notifications: Vec<Notification>,
}

impl From<Summary> for Sent {
    fn from(Summary { kind, counters, at, plan, notifications }: Summary) -> Self {
        Self { kind, counters, at: at.get(), plan, notifications }
    }
}

impl From<Sent> for Summary {
    fn from(Sent { kind, counters, at, plan, notifications }: Sent) -> Self {
        Self { kind, counters, at: CommitTs::from_raw(at), plan, notifications }
    }
}

/// The report of an import.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Report {
    at: u64,
    counts: [u64; 4],
    rejected: Vec<(usize, u64, String, String)>,
    bulk: bool,
}

impl From<TableReport> for Report {
    fn from(report: TableReport) -> Self {
        let row = |row: RejectedRow| (row.table, row.row, row.place, row.reason);
        let (at, bulk) = (report.ts.get(), report.bulk);
        let counts = [report.vertices, report.edges, report.properties, report.duplicates];
        Self { at, counts, rejected: report.rejected.into_iter().map(row).collect(), bulk }
    }
}

impl From<Report> for TableReport {
    fn from(report: Report) -> Self {
        let row = |(table, row, place, reason)| RejectedRow { table, row, place, reason };
        let mut all = Self::default();
        all.ts = CommitTs::from_raw(report.at);
        [all.vertices, all.edges, all.properties, all.duplicates] = report.counts;
        all.rejected = report.rejected.into_iter().map(row).collect();
        all.bulk = report.bulk;
        all
    }
}
