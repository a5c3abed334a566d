//! The rows of a statement as they come.
//!
//! The statement runs on a thread, at most [`BATCHES_WAITING`] batches ahead of who reads them: a
//! thread that is further ahead waits. JavaScript takes a batch that is ready at once, and is told
//! of one that is not.

use std::collections::VecDeque;
use std::mem;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Weak};

use arrow_ipc::writer::StreamWriter;
use napi::bindgen_prelude::{Buffer, Either3};
use napi_derive::napi;
use parking_lot::{Condvar, Mutex};
use telar_arrow::BatchBuilder;
use telar_db::query::{Columns, QueryError, Rows, Sink, Summary};
use telar_share::{Session, Statement};

use crate::codec::chunk;
use crate::database::{Ends, Runner};
use crate::error::Failure;
use crate::held::{Told, failed};
use crate::hub::{Hub, Outcome, Ticket};
use crate::pool::{self, Admission};
use crate::tables::Parameters;

/// Rows of a batch, at least, unless it is the last.
const BATCH_ROWS: usize = 1 << 12;
/// Batches that wait for who reads them.
const BATCHES_WAITING: usize = 2;

/// A statement that did not begin.
struct Waiting {
    runner: Arc<Runner>,
    session: Session,
    text: String,
    parameters: Parameters,
    arrow: bool,
}

#[derive(Default)]
struct State {
    waiting: Option<Box<Waiting>>,
    batches: VecDeque<Vec<u8>>,
    /// The promise for the next batch.
    reader: Option<Ticket>,
    /// True while the thread has not ended.
    running: bool,
    /// The end of the statement, until it was said.
    end: Option<Result<(), Failure>>,
    summary: Option<Summary>,
    closed: bool,
}

struct Shared {
    state: Mutex<State>,
    /// There is room for a batch, or nobody wants it any more.
    room: Condvar,
    flag: Arc<AtomicBool>,
}

/// Rows of a statement that runs on a thread.
#[napi]
pub struct Stream {
    shared: Arc<Shared>,
}

impl Drop for Stream {
    fn drop(&mut self) {
        self.shared.end();
    }
}

impl Ends for Shared {
    fn end(&self) {
        // ORDERING: relaxed: the statement looks again and again.
        self.flag.store(true, Ordering::Relaxed);
        let mut state = self.state.lock();
        state.closed = true;
        state.batches.clear();
        let (waiting, reader) = (state.waiting.take(), state.reader.take());
        drop(state);
        drop(waiting);
        if let Some(reader) = reader {
            reader.done(Err(Failure::closed("the stream is closed")));
        }
        self.room.notify_all();
    }

    fn has_ended(&self) -> bool {
        !self.state.lock().running
    }
}

/// Says that a thread has ended, however it did.
struct Thread(Arc<Shared>);

impl Drop for Thread {
    fn drop(&mut self) {
        self.0.state.lock().running = false;
    }
}

/// Sends rows on.
struct Sending<'s> {
    shared: &'s Shared,
    names: Vec<Arc<str>>,
    batch: Columns,
    /// For a stream of Arrow: what makes batches, and the stream once it has begun.
    arrow: Option<(BatchBuilder, Option<StreamWriter<Vec<u8>>>)>,
    gone: bool,
}

impl Sending<'_> {
    /// Hands a batch over, and waits before that until there is room.
    fn send(&mut self, bytes: Vec<u8>) {
        let mut state = self.shared.state.lock();
        while state.batches.len() >= BATCHES_WAITING && !state.closed {
            self.shared.room.wait(&mut state);
        }
        if state.closed {
            self.gone = true;
            return;
        }
        match state.reader.take() {
            Some(reader) => {
                drop(state);
                reader.done(Ok(Outcome::Bytes(bytes)));
            }
            None => state.batches.push_back(bytes),
        }
    }

    fn flush(&mut self) -> Result<(), QueryError> {
        let batch = mem::take(&mut self.batch);
        self.batch.columns(&self.names)?;
        let bytes = match &mut self.arrow {
            None => chunk(&batch, 0, batch.row_count()),
            Some((builder, stream)) => {
                let batch = telar_arrow::append(builder, &batch)?;
                let stream = match stream {
                    Some(stream) => stream,
                    None => {
                        let begun = StreamWriter::try_new(Vec::new(), &batch.schema());
                        stream.insert(begun.map_err(failed)?)
                    }
                };
                stream.write(&batch).map_err(failed)?;
                mem::take(stream.get_mut())
            }
        };
        self.send(bytes);
        Ok(())
    }

    /// The end of a stream of Arrow.
    fn finish(&mut self) -> Result<(), QueryError> {
        let Some((_, Some(mut stream))) = self.arrow.take() else { return Ok(()) };
        stream.finish().map_err(failed)?;
        let bytes = mem::take(stream.get_mut());
        self.send(bytes);
        Ok(())
    }
}

impl Sink for Sending<'_> {
    fn columns(&mut self, columns: &[Arc<str>]) -> Result<(), QueryError> {
        self.names = columns.to_vec();
        if let Some((builder, _)) = &mut self.arrow {
            *builder = BatchBuilder::new(columns);
        }
        self.batch.columns(columns)
    }

    fn takes_columns(&self) -> bool {
        true
    }

    fn has_enough(&self) -> bool {
        self.gone
    }

    fn rows(&mut self, rows: &Rows<'_>) -> Result<(), QueryError> {
        self.batch.rows(rows)?;
        if self.batch.row_count() < BATCH_ROWS { Ok(()) } else { self.flush() }
    }
}

/// Runs the statement to its end.
fn run(shared: &Arc<Shared>, waiting: Waiting) {
    let thread = Thread(Arc::clone(shared));
    let Waiting { runner, session, text, parameters, arrow } = waiting;
    let arrow = arrow.then(|| (BatchBuilder::default(), None));
    let (names, batch) = (Vec::new(), Columns::default());
    let mut sink = Sending { shared, names, batch, arrow, gone: false };
    let go = || {
        let (values, tables) = parameters.read()?;
        let statement = Statement { tables: tables.as_ref(), ..Statement::new(&text, &values) };
        let summary = session.stream(&statement, &mut sink)?;
        // The last batch says at least what the columns are.
        sink.flush()?;
        sink.finish()?;
        Ok(summary)
    };
    let done: Result<Summary, Failure> = go();
    drop(runner);
    let mut state = shared.state.lock();
    let (end, summary) = match done {
        Ok(summary) => (Ok(()), Some(summary)),
        Err(failure) => (Err(failure), None),
    };
    state.summary = summary;
    match state.reader.take() {
        Some(reader) => {
            drop(state);
            reader.done(end.map(|()| Outcome::Nothing));
        }
        None => {
            state.end = Some(end);
            drop(state);
        }
    }
    drop(thread);
}

impl Stream {
    pub(crate) fn new(
        runner: Arc<Runner>,
        session: Session,
        (text, parameters): (String, Parameters),
        arrow: bool,
    ) -> Self {
        let flag = Arc::default();
        let session = session.with_cancelled(&flag);
        let waiting = Some(Box::new(Waiting { runner, session, text, parameters, arrow }));
        let state = Mutex::new(State { waiting, ..State::default() });
        Self { shared: Arc::new(Shared { state, room: Condvar::new(), flag }) }
    }

    pub(crate) fn ends(&self) -> Weak<dyn Ends> {
        let shared: Arc<dyn Ends> = Arc::<Shared>::clone(&self.shared);
        Arc::downgrade(&shared)
    }
}

#[napi]
impl Stream {
    /// The next batch, if it is there; else `true`, and it comes under `number`, or `false` at the
    /// end. The statement begins with the first call.
    #[napi]
    pub fn pull(&self, hub: &Hub, number: u32) -> Either3<Failure, Buffer, bool> {
        let mut state = self.shared.state.lock();
        if let Some(bytes) = state.batches.pop_front() {
            drop(state);
            self.shared.room.notify_one();
            return Either3::B(bytes.into());
        }
        match state.end.take() {
            Some(Err(failure)) => {
                state.closed = true;
                return Either3::A(failure);
            }
            Some(Ok(())) => state.closed = true,
            None => {}
        }
        if state.closed {
            return Either3::C(false);
        }
        if state.reader.is_some() {
            return Either3::A(Failure::closed("the stream is being read already"));
        }
        state.reader = Some(hub.ticket(number));
        if let Some(waiting) = state.waiting.take() {
            state.running = true;
            let shared = Arc::clone(&self.shared);
            pool::spawn(Admission::Free, move || run(&shared, *waiting));
        }
        Either3::C(true)
    }

    /// The summary, once it has ended.
    #[napi]
    pub fn told(&self) -> Option<Told> {
        self.shared.state.lock().summary.as_ref().map(Told::of)
    }

    /// Ends the statement.
    #[napi]
    pub fn close(&self) {
        self.shared.end();
    }
}
