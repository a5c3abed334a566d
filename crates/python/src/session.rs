//! What statements run in.

use std::time::Duration;

use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};

use crate::database::Held;
use crate::error::ConflictError;
use crate::interrupt::Token;
use crate::result::Result;
use crate::settings::Limiting;
use crate::stream::Stream;
use crate::transaction::Transaction;
use crate::value::Parameters;

/// Settings under which statements run: limits of time and memory, isolation. Threads may share
/// one; it holds nothing that must be closed, and can be used in a `with` like the database.
///
/// >>> import telar
/// >>> db = telar.open()
/// >>> with db.session(read_only=True) as session:
/// ...     session.query("CREATE (:City)")
/// Traceback (most recent call last):
/// telar.ReadOnlyError: ...
#[pyclass(frozen, subclass, module = "telar")]
pub(crate) struct Session {
    pub(crate) held: Held,
}

#[pymethods]
impl Session {
    /// The same session with other settings: `timeout` and `write_wait` in seconds, `memory` in
    /// bytes, `isolation` `'snapshot'` or `'serializable'`.
    #[pyo3(signature = (*, timeout = None, memory = None, isolation = None, write_wait = None,
                        read_only = false))]
    fn session(
        &self,
        py: Python<'_>,
        timeout: Option<f64>,
        memory: Option<usize>,
        isolation: Option<&str>,
        write_wait: Option<f64>,
        read_only: bool,
    ) -> PyResult<Self> {
        let limiting = Limiting { timeout, memory, isolation, write_wait, read_only };
        let runner = self.held.runner()?.with(py, |session| limiting.apply(session))?;
        Ok(Self { held: self.held.with(runner) })
    }

    /// Runs a statement as a transaction of its own, and returns its result once it is committed.
    /// Parameters are named, or in a dict before them. One that lost a conflict is run again.
    /// With a `token`, which another thread may cancel, it ends when that is cancelled.
    #[pyo3(signature = (text, parameters = None, /, *, _token = None, **named))]
    fn query(
        &self,
        py: Python<'_>,
        text: &str,
        parameters: Option<&Bound<'_, PyAny>>,
        _token: Option<&Bound<'_, Token>>,
        named: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<Result> {
        let parameters = Parameters::new(parameters, named)?;
        let token = _token.map(Bound::get);
        Ok(Result::new(self.held.runner()?.run(py, text, &parameters, token)?))
    }

    /// Runs a statement and returns its rows as they come: for results that are larger than memory,
    /// and for those of which the beginning is wanted. The statement begins when the first row is
    /// asked for, and ends when the stream is closed.
    #[pyo3(signature = (text, parameters = None, /, **named))]
    fn stream(
        &self,
        text: String,
        parameters: Option<&Bound<'_, PyAny>>,
        named: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<Stream> {
        let parameters = Parameters::new(parameters, named)?;
        Ok(Stream::new(&*self.held.runner()?, text, parameters))
    }

    /// Begins a transaction of several statements.
    #[pyo3(signature = (*, _token = None))]
    fn transaction(
        &self,
        py: Python<'_>,
        _token: Option<Bound<'_, Token>>,
    ) -> PyResult<Transaction> {
        let begun = self.held.runner()?.begin(py, _token.as_ref().map(Bound::get))?;
        Ok(Transaction::new(begun, _token.map(Bound::unbind)))
    }

    /// Calls `work(transaction, ...)` and commits; again, with a new transaction, as long as it
    /// loses conflicts, `tries` times at most. Returns what `work` returned.
    ///
    /// >>> import telar
    /// >>> db = telar.open()
    /// >>> def add(tx, name):
    /// ...     return tx.query("CREATE (c:City {name: $name}) RETURN id(c)", name=name).value()
    /// >>> db.write(add, "Ulm")
    /// 0
    #[pyo3(signature = (work, /, *arguments, tries = 30, **named))]
    fn write(
        &self,
        py: Python<'_>,
        work: &Bound<'_, PyAny>,
        arguments: &Bound<'_, PyTuple>,
        tries: u32,
        named: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<Py<PyAny>> {
        let mut pause = Duration::from_millis(1);
        for attempt in 1.. {
            let transaction = Bound::new(py, self.transaction(py, None)?)?;
            let mut all = vec![transaction.clone().into_any()];
            all.extend(arguments.iter());
            let done = work.call(PyTuple::new(py, all)?, named);
            let done = done.and_then(|value| {
                if transaction.get().is_open() {
                    transaction.call_method0("commit")?;
                }
                Ok(value.unbind())
            });
            match done {
                Ok(value) => return Ok(value),
                Err(error) => {
                    transaction.call_method0("rollback")?;
                    if attempt >= tries || !error.is_instance_of::<ConflictError>(py) {
                        return Err(error);
                    }
                }
            }
            py.check_signals()?;
            py.detach(|| std::thread::sleep(pause));
            pause = (pause * 2).min(Duration::from_millis(50));
        }
        unreachable!("INVARIANT: the last try returns")
    }

    /// Graph algorithms as methods: `db.algo.page_rank(nodes='Account', relationships='PAYS')`. The
    /// result is a frame with a row for each node, pair or path.
    #[getter]
    fn algo(slf: &Bound<'_, Self>) -> PyResult<Py<PyAny>> {
        let algorithms = slf.py().import("telar._algorithms")?.getattr("Algorithms")?;
        Ok(algorithms.call1((slf,))?.unbind())
    }

    fn __enter__(slf: Py<Self>) -> Py<Self> {
        slf
    }

    fn __exit__(
        &self,
        _kind: Option<Bound<'_, PyAny>>,
        _value: Option<Bound<'_, PyAny>>,
        _traceback: Option<Bound<'_, PyAny>>,
    ) {
    }
}
