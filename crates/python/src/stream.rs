//! The rows of a statement as they come.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::thread;
use std::time::Duration;

use arrow_array::RecordBatch;
use arrow_schema::{ArrowError, SchemaRef};
use parking_lot::Mutex;
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use pyo3::types::PyCapsule;
use telar_arrow::BatchBuilder;
use telar_db::query::{Columns, ErrorKind, QueryError, Rows, Sink, Summary};
use telar_share::{Session, Statement};

use crate::error::{ClosedError, of_query};
use crate::fork::Process;
use crate::frame;
use crate::result::row_tuple;
use crate::row::{Names, Row};
use crate::runner::Runner;
use crate::value::Parameters;

/// Rows that are handed over at once, at least, unless it is the end.
const BATCH_ROWS: usize = 1 << 13;
/// Batches that wait for who reads them.
const BATCHES_WAITING: usize = 2;

/// What comes over from the thread of a statement.
enum Part {
    Batch(Columns),
    End(Box<std::result::Result<Summary, QueryError>>),
}

/// Rows of a statement that runs in a thread of its own, a few batches ahead of who reads them.
///
/// >>> import telar
/// >>> with telar.open().stream("UNWIND range(1, 1_000_000_000) AS n RETURN n") as rows:
/// ...     [row["n"] for row, _ in zip(rows, range(3))]
/// [1, 2, 3]
#[pyclass(frozen, module = "telar")]
pub(crate) struct Stream {
    process: Process,
    state: Mutex<State>,
    cancelled: Arc<AtomicBool>,
}

enum State {
    /// Nobody has asked for a row yet.
    Waiting {
        session: Box<Session>,
        text: String,
        parameters: Parameters,
    },
    Running(Running),
    Ended,
}

struct Running {
    parts: Receiver<Part>,
    thread: thread::JoinHandle<()>,
    names: Option<Arc<Names>>,
    /// The batch that is read, and its next row.
    batch: Option<(Arc<Columns>, usize)>,
}

/// Sends rows on.
struct Sending {
    parts: SyncSender<Part>,
    names: Vec<Arc<str>>,
    batch: Columns,
    gone: bool,
}

impl Sending {
    fn flush(&mut self) -> std::result::Result<(), QueryError> {
        let batch = std::mem::take(&mut self.batch);
        self.batch.columns(&self.names)?;
        self.gone = self.parts.send(Part::Batch(batch)).is_err();
        Ok(())
    }
}

impl Sink for Sending {
    fn columns(&mut self, columns: &[Arc<str>]) -> std::result::Result<(), QueryError> {
        self.names = columns.to_vec();
        self.batch.columns(columns)
    }

    fn takes_columns(&self) -> bool {
        true
    }

    fn has_enough(&self) -> bool {
        self.gone
    }

    fn rows(&mut self, rows: &Rows<'_>) -> std::result::Result<(), QueryError> {
        self.batch.rows(rows)?;
        if self.batch.row_count() < BATCH_ROWS { Ok(()) } else { self.flush() }
    }
}

impl Stream {
    pub(crate) fn new(runner: &Runner, text: String, parameters: Parameters) -> Self {
        let cancelled = Arc::default();
        let session = Box::new(runner.for_thread(&cancelled));
        let state = Mutex::new(State::Waiting { session, text, parameters });
        Self { process: Process::current(), state, cancelled }
    }

    /// Begins the statement, if nobody did.
    fn start(&self, state: &mut State) -> PyResult<()> {
        if !matches!(state, State::Waiting { .. }) {
            return Ok(());
        }
        let State::Waiting { session, text, parameters } = std::mem::replace(state, State::Ended)
        else {
            unreachable!("INVARIANT: it was just looked at");
        };
        let (send, parts) = sync_channel(BATCHES_WAITING);
        let work = move || {
            let (names, batch) = (Vec::new(), Columns::default());
            let mut sink = Sending { parts: send, names, batch, gone: false };
            let Parameters { values, tables } = &parameters;
            let statement = Statement { tables: tables.as_ref(), ..Statement::new(&text, values) };
            let mut done = session.stream(&statement, &mut sink);
            // The last batch says at least what the columns are.
            if done.is_ok() {
                done = sink.flush().and(done);
            }
            // Who has gone does not hear it.
            let _ = sink.parts.send(Part::End(Box::new(done)));
        };
        let thread = thread::Builder::new().name("telar-stream".into()).spawn(work);
        let thread =
            thread.map_err(|e| PyRuntimeError::new_err(format!("no thread for a stream: {e}")))?;
        *state = State::Running(Running { parts, thread, names: None, batch: None });
        Ok(())
    }

    /// Waits for what comes next.
    fn next_part(py: Python<'_>, running: &mut Running) -> PyResult<Part> {
        loop {
            // Signals are handled between two waits.
            let parts = &mut running.parts;
            let part = py.detach(move || parts.recv_timeout(Duration::from_millis(50)));
            match part {
                Ok(part) => return Ok(part),
                Err(RecvTimeoutError::Timeout) => py.check_signals()?,
                Err(RecvTimeoutError::Disconnected) => {
                    return Err(PyRuntimeError::new_err("the thread of the stream has died"));
                }
            }
        }
    }

    fn cancel(&self) {
        // ORDERING: relaxed: the statement looks again and again.
        self.cancelled.store(true, Ordering::Relaxed);
    }
}

impl Drop for Stream {
    fn drop(&mut self) {
        if !matches!(self.state.get_mut(), State::Ended) {
            self.cancel();
        }
        if self.process.check().is_err() {
            std::mem::forget(std::mem::replace(self.state.get_mut(), State::Ended));
        }
    }
}

#[pymethods]
impl Stream {
    fn __iter__(slf: Py<Self>) -> Py<Self> {
        slf
    }

    fn __next__(&self, py: Python<'_>) -> PyResult<Option<Row>> {
        self.process.check()?;
        let Some(mut state) = self.state.try_lock() else {
            return Err(ClosedError::new_err("another thread reads this stream"));
        };
        self.start(&mut state)?;
        loop {
            let State::Running(running) = &mut *state else { return Ok(None) };
            if let Some((columns, next)) = &mut running.batch
                && *next < columns.row_count()
            {
                let names = running.names.get_or_insert_with(|| Names::new(py, columns.names()));
                let row = Row::new(names, row_tuple(py, columns, *next)?);
                *next += 1;
                return Ok(Some(row));
            }
            match Self::next_part(py, running)? {
                Part::Batch(columns) => running.batch = Some((Arc::new(columns), 0)),
                Part::End(done) => {
                    *state = State::Ended;
                    done.map_err(|e| of_query(py, &e))?;
                }
            }
        }
    }

    /// The rows that were not read yet as a stream of Arrow, which pyarrow, Polars, DuckDB and
    /// others read batch by batch.
    #[pyo3(signature = (requested_schema = None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        drop(requested_schema);
        self.process.check()?;
        let Some(mut state) = self.state.try_lock() else {
            return Err(ClosedError::new_err("another thread reads this stream"));
        };
        self.start(&mut state)?;
        let State::Running(mut running) = std::mem::replace(&mut *state, State::Ended) else {
            return Err(ClosedError::new_err("the stream is read to its end, or closed"));
        };
        // Whatever goes wrong from here on, the statement ends with what is made here.
        let guard = Cancels(Arc::clone(&self.cancelled));
        let first = match &running.batch {
            Some(_) => None,
            None => match Self::next_part(py, &mut running)? {
                Part::Batch(columns) => Some(columns),
                Part::End(done) => {
                    done.map_err(|e| of_query(py, &e))?;
                    None
                }
            },
        };
        let rest = running.batch.map(|(columns, next)| columns.rows_from(next));
        let first = first.or(rest).unwrap_or_default();
        let mut builder = BatchBuilder::new(first.names());
        let first = telar_arrow::append(&mut builder, &first).map_err(|e| of_query(py, &e))?;
        let batches = Batches { parts: running.parts, builder, first: Some(first), guard };
        let schema = batches.schema();
        frame::capsule(py, schema, batches)
    }

    /// Ends the statement that runs, for another thread that waits for its rows.
    fn _cancel(&self) {
        self.cancel();
    }

    /// Ends the statement. What was handed over to Arrow ends with who reads it.
    fn close(&self, py: Python<'_>) -> PyResult<()> {
        self.process.check()?;
        // Without the state another thread waits for the next row.
        let state = self.state.try_lock().map(|mut s| std::mem::replace(&mut *s, State::Ended));
        if !matches!(state, Some(State::Ended)) {
            self.cancel();
        }
        if let Some(State::Running(Running { parts, thread, .. })) = state {
            // It has let go of the database when this returns.
            drop(parts);
            py.detach(|| drop(thread.join()));
        }
        Ok(())
    }

    fn __enter__(slf: Py<Self>) -> Py<Self> {
        slf
    }

    fn __exit__(
        &self,
        py: Python<'_>,
        _kind: Option<Bound<'_, PyAny>>,
        _value: Option<Bound<'_, PyAny>>,
        _traceback: Option<Bound<'_, PyAny>>,
    ) -> PyResult<()> {
        self.close(py)
    }
}

/// Batches of Arrow of a statement that runs.
struct Batches {
    parts: Receiver<Part>,
    builder: BatchBuilder,
    first: Option<RecordBatch>,
    guard: Cancels,
}

/// Ends a statement when it is dropped.
struct Cancels(Arc<AtomicBool>);

impl Drop for Cancels {
    fn drop(&mut self) {
        // ORDERING: relaxed: the statement looks again and again.
        self.0.store(true, Ordering::Relaxed);
    }
}

impl Batches {
    fn schema(&self) -> SchemaRef {
        self.builder.schema()
    }
}

impl Iterator for Batches {
    type Item = std::result::Result<RecordBatch, ArrowError>;

    fn next(&mut self) -> Option<Self::Item> {
        if let Some(first) = self.first.take() {
            return Some(Ok(first));
        }
        let ended =
            |kind, text: &str| Part::End(Box::new(Err(QueryError::runtime(kind, "Stream", text))));
        let part = loop {
            match self.parts.recv_timeout(Duration::from_millis(50)) {
                Ok(part) => break part,
                Err(RecvTimeoutError::Disconnected) => {
                    break ended(ErrorKind::Database, "the thread of the stream has died");
                }
                // Who reads has let go of Python, or has not: its own lock can be had either way.
                Err(RecvTimeoutError::Timeout) => {
                    let signals = Python::try_attach(|py| py.check_signals());
                    if let Some(Err(error)) = signals {
                        drop(std::mem::replace(&mut self.guard, Cancels(Arc::default())));
                        break ended(ErrorKind::Terminated, &error.to_string());
                    }
                }
            }
        };
        let batch = match part {
            Part::Batch(columns) => telar_arrow::append(&mut self.builder, &columns),
            Part::End(done) => match *done {
                Ok(_) => return None,
                Err(error) => Err(error),
            },
        };
        Some(batch.map_err(|e| ArrowError::ExternalError(Box::new(e))))
    }
}
