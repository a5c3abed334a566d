//! Statements: with the flag that ends them, and away from Python.

use std::borrow::Cow;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use pyo3::prelude::*;
use telar_db::query::{Columns, QueryError, Summary};
use telar_share::{Options, Session, Statement, Transaction};

use crate::database::away_from_python;
use crate::error::of_query;
use crate::fork::Process;
use crate::interrupt::{self, Token};
use crate::value::Parameters;

/// A session of the engine, for the threads of Python.
pub(crate) struct Runner {
    process: Process,
    /// There until it is dropped.
    sessions: Option<Box<Sessions>>,
}

struct Sessions {
    /// For statements of the main thread, which Ctrl-C ends.
    main: Session,
    /// For those of other threads.
    other: Session,
}

impl Drop for Runner {
    /// A child of the process leaves what is the parent's alone: threads and files.
    fn drop(&mut self) {
        let sessions = self.sessions.take();
        if self.process == Process::current() {
            // The last session of a database that was not closed closes it.
            away_from_python(|| drop(sessions));
        } else {
            std::mem::forget(sessions);
        }
    }
}

impl Runner {
    pub(crate) fn new(py: Python<'_>, session: Session) -> Self {
        let main = session.with_cancelled(interrupt::flag(py));
        let sessions = Some(Box::new(Sessions { main, other: session }));
        Self { process: Process::current(), sessions }
    }

    fn sessions(&self) -> &Sessions {
        self.sessions.as_deref().expect("INVARIANT: it is not dropped")
    }

    /// The same, with other settings.
    pub(crate) fn with(
        &self,
        py: Python<'_>,
        set: impl FnOnce(Options) -> PyResult<Options>,
    ) -> PyResult<Self> {
        let other = &self.sessions().other;
        Ok(Self::new(py, other.with_options(set(other.options().clone())?)))
    }

    /// The session for this thread.
    fn session(&self, py: Python<'_>) -> PyResult<&Session> {
        self.process.check()?;
        let Sessions { main, other } = self.sessions();
        Ok(if interrupt::in_main_thread(py)? { main } else { other })
    }

    /// A session for a thread that is not Python's, ended by a flag.
    pub(crate) fn for_thread(&self, token: &Arc<AtomicBool>) -> Session {
        self.sessions().other.with_cancelled(token)
    }

    /// Runs a statement.
    pub(crate) fn run(
        &self,
        py: Python<'_>,
        text: &str,
        parameters: &Parameters,
        token: Option<&Token>,
    ) -> PyResult<(Columns, Summary)> {
        let mut session = Cow::Borrowed(self.session(py)?);
        if let Some(token) = token {
            session = Cow::Owned(self.sessions().other.with_cancelled(&token.flag));
        }
        let Parameters { values, tables } = parameters;
        let statement = Statement { tables: tables.as_ref(), ..Statement::new(text, values) };
        let done = interrupt::interruptible(py, || {
            let mut columns = Columns::default();
            let summary = session.run(&statement, &mut columns)?;
            Ok((columns, summary))
        })?;
        done.map_err(|e: QueryError| of_query(py, &e))
    }

    /// Begins a transaction, for the thread that begins it or for others.
    pub(crate) fn begin(&self, py: Python<'_>, token: Option<&Token>) -> PyResult<Transaction> {
        let mut session = Cow::Borrowed(self.session(py)?);
        if let Some(token) = token {
            session = Cow::Owned(self.sessions().other.with_cancelled(&token.flag));
        }
        interrupt::interruptible(py, || session.begin())?.map_err(|e| of_query(py, &e))
    }
}
