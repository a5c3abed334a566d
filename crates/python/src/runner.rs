//! Statements: with the flag that ends them, and away from Python.

use std::borrow::Cow;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use pyo3::prelude::*;
use telar_db::query::{Columns, QueryError, Summary};
use telar_db::{QueryTransaction, Runtime, Session};

use crate::error::of_query;
use crate::fork::Process;
use crate::interrupt::{self, Token};
use crate::value::Parameters;

/// A session of the engine, for the threads of Python.
pub(crate) struct Runner {
    process: Process,
    /// For statements of the main thread, which Ctrl-C ends.
    main: Session,
    /// For those of other threads.
    other: Session,
}

impl Drop for Runner {
    /// A child of the process leaves what is the parent's alone: threads and files.
    fn drop(&mut self) {
        if self.process != Process::current() {
            std::mem::forget((self.main.clone(), self.other.clone()));
        }
    }
}

/// The same session, ended by this flag.
fn with_flag(session: &Session, flag: &Arc<AtomicBool>) -> Session {
    let mut limits = session.limits().clone();
    limits.cancelled = Some(Arc::clone(flag));
    session.clone().with_limits(limits)
}

impl Runner {
    pub(crate) fn new(py: Python<'_>, session: Session) -> Self {
        let main = with_flag(&session, interrupt::flag(py));
        Self { process: Process::current(), main, other: session }
    }

    /// The same, with other settings.
    pub(crate) fn with(
        &self,
        py: Python<'_>,
        set: impl FnOnce(Session) -> PyResult<Session>,
    ) -> PyResult<Self> {
        Ok(Self::new(py, set(self.other.clone())?))
    }

    /// What the sessions of the database share.
    pub(crate) fn runtime(&self) -> &Runtime {
        self.other.runtime()
    }

    /// The session for this thread.
    fn session(&self, py: Python<'_>) -> PyResult<&Session> {
        self.process.check()?;
        Ok(if interrupt::in_main_thread(py)? { &self.main } else { &self.other })
    }

    /// A session for a thread that is not Python's, ended by a flag.
    pub(crate) fn for_thread(&self, token: &Arc<AtomicBool>) -> Session {
        with_flag(&self.other, token)
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
            session = Cow::Owned(with_flag(&self.other, &token.flag));
        }
        if let Some(tables) = &parameters.tables {
            session = Cow::Owned(session.into_owned().with_tables(Some(Arc::clone(tables))));
        }
        let done = interrupt::interruptible(py, || {
            let mut columns = Columns::default();
            let summary = session.stream(text, &parameters.values, &mut columns)?;
            Ok((columns, summary))
        })?;
        done.map_err(|e: QueryError| of_query(py, &e))
    }

    /// Begins a transaction, for the thread that begins it or for others.
    pub(crate) fn begin(
        &self,
        py: Python<'_>,
        token: Option<&Token>,
    ) -> PyResult<QueryTransaction> {
        let mut session = Cow::Borrowed(self.session(py)?);
        if let Some(token) = token {
            session = Cow::Owned(with_flag(&self.other, &token.flag));
        }
        py.detach(|| session.begin()).map_err(|e| of_query(py, &e))
    }
}
