//! Who is told what happens: logs and figures, which know no more of databases than this.

use std::fmt::Debug;
use std::sync::Arc;
use std::time::Duration;

use telar_db::ValueMap;
use telar_db::query::{Host, QueryError, Rows, Sink};

use super::{Failure, Peer};

/// A statement that ended, or a `BEGIN` or `COMMIT` that failed.
#[derive(Debug)]
pub struct Ran<'a> {
    /// The number by which it was listed in its database, if it got that far.
    pub number: Option<u64>,
    /// Who asked for it.
    pub peer: &'a Peer,
    /// Its name; empty where nobody has to log in.
    pub user: &'a str,
    /// Where it ran, or was to run: what the client said, or nothing, if there is no such place.
    pub database: &'a str,
    /// What it was, passwords and all.
    pub text: &'a str,
    /// With which values.
    pub parameters: &'a ValueMap,
    /// What the client wants to be noted with it.
    pub metadata: &'a ValueMap,
    /// Why it failed, if it did.
    pub error: Option<&'a Failure>,
    /// How long it took, sending its rows included.
    pub took: Duration,
    /// Rows that it returned.
    pub rows: u64,
}

/// Is told what happens, on the threads on which it does.
pub trait Observer: Debug + Send + Sync {
    /// A statement ended, or a transaction could not begin or commit.
    fn ran(&self, ran: &Ran<'_>);

    /// A login failed.
    fn login_failed(&self, peer: &Peer);
}

/// Counts the rows that go by, and lets none by that whoever asked may not have any more.
pub(super) struct Watched<'s> {
    pub(super) sink: &'s mut dyn Sink,
    pub(super) host: &'s dyn Host,
    pub(super) rows: u64,
}

impl Sink for Watched<'_> {
    fn columns(&mut self, columns: &[Arc<str>]) -> Result<(), QueryError> {
        self.sink.columns(columns)
    }

    fn rows(&mut self, rows: &Rows<'_>) -> Result<(), QueryError> {
        self.host.still_allows()?;
        self.rows += rows.len() as u64;
        self.sink.rows(rows)
    }

    fn committed(&mut self) {
        self.sink.committed();
    }

    fn has_enough(&self) -> bool {
        self.sink.has_enough()
    }

    fn takes_columns(&self) -> bool {
        self.sink.takes_columns()
    }
}
