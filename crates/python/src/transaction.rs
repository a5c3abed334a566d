//! Several statements in one transaction.

use std::mem;

use parking_lot::{Mutex, MutexGuard};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use telar_db::query::Columns;
use telar_share::{Statement, Transaction as Begun};

use crate::error::{ClosedError, of_query};
use crate::fork::Process;
use crate::interrupt::{self, Token};
use crate::result::Result;
use crate::value::Parameters;

/// Several statements that are committed together or not at all; each sees what those before it
/// did. Used in a `with`, it is committed at the end, and undone if an exception leaves the block.
///
/// >>> import telar
/// >>> db = telar.open()
/// >>> with db.transaction() as tx:
/// ...     _ = tx.query("CREATE (:City {name: 'Ulm'})")
/// ...     tx.query("MATCH (c:City) RETURN count(c)").value()
/// 1
#[pyclass(frozen, module = "telar")]
pub(crate) struct Transaction {
    process: Process,
    state: Mutex<State>,
    /// Ends its statements, if it was begun with one.
    token: Option<Py<Token>>,
}

enum State {
    Open(Box<Begun>),
    /// A statement of another thread runs.
    Busy,
    Committed,
    RolledBack,
}

impl Transaction {
    pub(crate) fn new(transaction: Begun, token: Option<Py<Token>>) -> Self {
        let state = Mutex::new(State::Open(Box::new(transaction)));
        Self { process: Process::current(), state, token }
    }

    fn state(&self) -> PyResult<MutexGuard<'_, State>> {
        self.process.check()?;
        Ok(self.state.lock())
    }

    /// Takes the transaction, if it is open, and leaves `next`.
    fn take(&self, next: State) -> PyResult<Box<Begun>> {
        let mut state = self.state()?;
        let text = match &*state {
            State::Open(_) => {
                let State::Open(transaction) = mem::replace(&mut *state, next) else {
                    unreachable!("INVARIANT: it was just looked at");
                };
                return Ok(transaction);
            }
            State::Busy => "another thread runs a statement in this transaction",
            State::Committed => "the transaction is committed: begin another one",
            State::RolledBack => "the transaction is rolled back: begin another one",
        };
        Err(ClosedError::new_err(text))
    }

    pub(crate) fn is_open(&self) -> bool {
        matches!(*self.state.lock(), State::Open(_))
    }
}

/// A statement, or the commit, of a transaction that was taken: unless it says what it becomes,
/// after an exception or a panic, the transaction is gone.
struct Busy<'t>(&'t Mutex<State>);

impl Busy<'_> {
    fn becomes(self, state: State) {
        *self.0.lock() = state;
        mem::forget(self);
    }
}

impl Drop for Busy<'_> {
    fn drop(&mut self) {
        *self.0.lock() = State::RolledBack;
    }
}

impl Drop for Transaction {
    fn drop(&mut self) {
        if self.process.check().is_err() {
            mem::forget(mem::replace(self.state.get_mut(), State::RolledBack));
        }
    }
}

#[pymethods]
impl Transaction {
    /// Runs a statement with parameters, which are named or in a dict.
    #[pyo3(signature = (text, parameters = None, /, **named))]
    fn query(
        &self,
        py: Python<'_>,
        text: &str,
        parameters: Option<&Bound<'_, PyAny>>,
        named: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<Result> {
        let parameters = Parameters::new(parameters, named)?;
        let mut transaction = self.take(State::Busy)?;
        let busy = Busy(&self.state);
        let done = interrupt::interruptible(py, || {
            let mut columns = Columns::default();
            let Parameters { values, tables } = &parameters;
            let statement = Statement { tables: tables.as_ref(), ..Statement::new(text, values) };
            let done = transaction.stream(&statement, &mut columns);
            (transaction, done.map(|summary| (columns, summary)))
        });
        // After an exception of a signal what ran is undone with the transaction.
        let (transaction, done) = done?;
        busy.becomes(State::Open(transaction));
        Ok(Result::new(done.map_err(|e| of_query(py, &e))?))
    }

    /// Commits, and returns the commit timestamp.
    fn commit(&self, py: Python<'_>) -> PyResult<u64> {
        let transaction = self.take(State::Busy)?;
        let busy = Busy(&self.state);
        let done = interrupt::interruptible(py, || transaction.commit());
        if let Ok(Ok(_)) = done {
            busy.becomes(State::Committed);
        }
        Ok(done?.map_err(|e| of_query(py, &e))?.get())
    }

    /// Undoes everything. Does nothing if it is not open any more; an error while another thread
    /// runs a statement in it.
    fn rollback(&self, py: Python<'_>) -> PyResult<()> {
        match self.take(State::RolledBack) {
            Ok(transaction) => interrupt::interruptible(py, || transaction.rollback())?,
            Err(error) if matches!(*self.state.lock(), State::Busy) => return Err(error),
            Err(_) => {}
        }
        self.process.check()
    }

    /// Ends the statement that runs in it, if it was begun with a token.
    fn _cancel(&self) {
        if let Some(token) = &self.token {
            token.get().cancel();
        }
    }

    /// Whether it is neither committed nor rolled back.
    #[getter]
    fn open(&self) -> bool {
        self.is_open()
    }

    fn __enter__(slf: Py<Self>) -> Py<Self> {
        slf
    }

    fn __exit__(
        &self,
        py: Python<'_>,
        kind: Option<Bound<'_, PyAny>>,
        _value: Option<Bound<'_, PyAny>>,
        _traceback: Option<Bound<'_, PyAny>>,
    ) -> PyResult<()> {
        if kind.is_some() {
            return self.rollback(py);
        }
        if self.is_open() {
            self.commit(py)?;
        }
        Ok(())
    }

    fn __repr__(&self) -> &'static str {
        match *self.state.lock() {
            State::Open(_) => "<Transaction: open>",
            State::Busy => "<Transaction: busy>",
            State::Committed => "<Transaction: committed>",
            State::RolledBack => "<Transaction: rolled back>",
        }
    }
}
