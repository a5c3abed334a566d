//! The whole result of a statement.

use std::sync::Arc;

use arrow_ipc::writer::StreamWriter;
use napi::Env;
use napi::bindgen_prelude::{Buffer, BufferSlice, ObjectFinalize};
use napi_derive::napi;
use parking_lot::Mutex;
use telar_db::column::Column;
use telar_db::query::{Columns, ErrorKind, QueryError, StatementKind, Summary};

use crate::codec::chunk;
use crate::error::{Answer, Failure, answer};
use crate::hub::{Hub, Outcome};
use crate::pool::Admission;

/// Rows of a chunk.
const CHUNK_ROWS: usize = 1 << 10;

/// Bytes below which a copy costs less than a finalizer.
const COPIED_MAX: usize = 1 << 13;

/// Bytes of a stream of Arrow beside its columns, about.
const HEADER_BYTES: usize = 1 << 12;

/// The whole result of a statement, held as columns.
#[napi(custom_finalize)]
pub struct Held {
    columns: Arc<Columns>,
    summary: Box<Summary>,
    /// The first rows, which the thread of the statement has made.
    first: Mutex<Option<Vec<u8>>>,
    /// Bytes of the columns, about, which V8 is told of.
    bytes: i64,
}

impl ObjectFinalize for Held {
    fn finalize(self, env: Env) -> napi::Result<()> {
        env.adjust_external_memory(-self.bytes)?;
        Ok(())
    }
}

impl Held {
    pub(crate) fn new(columns: Columns, summary: Summary) -> Self {
        let all = (0..columns.names().len()).map(|at| columns.column(at));
        let bytes = all.map(Column::bytes).sum::<usize>();
        let bytes = i64::try_from(bytes).unwrap_or(i64::MAX);
        let (columns, summary) = (Arc::new(columns), Box::new(summary));
        Self { columns, summary, first: Mutex::default(), bytes }
    }

    /// The same with its first rows made.
    pub(crate) fn prepared(self) -> Self {
        *self.first.lock() = Some(chunk(&self.columns, 0, self.end(0)));
        self
    }

    /// Tells V8 how much memory goes when this does.
    pub(crate) fn tell(&self, env: &Env) -> napi::Result<()> {
        env.adjust_external_memory(self.bytes).map(drop)
    }

    pub(crate) fn columns(&self) -> &Arc<Columns> {
        &self.columns
    }

    fn end(&self, from: usize) -> usize {
        self.columns.row_count().min(from + CHUNK_ROWS)
    }
}

/// Counts of changes.
#[napi(object, object_from_js = false)]
pub struct Counter {
    /// What.
    pub name: &'static str,
    /// Its count.
    pub count: i64,
}

/// The summary of a statement: all there is beside its rows.
#[napi(object, object_from_js = false)]
pub struct Told {
    /// The changes.
    pub counters: Vec<Counter>,
    /// The kind of statement, by the changes it may make.
    pub kind: &'static str,
    /// The commit timestamp.
    pub timestamp: i64,
    /// The plan, if it was asked for.
    pub plan: Option<String>,
    /// Remarks.
    pub notifications: Vec<String>,
}

impl Told {
    pub(crate) fn of(summary: &Summary) -> Self {
        let changed = summary.counters.named().into_iter().filter(|(_, count)| *count > 0);
        let counter = |(name, count): (_, u64)| Counter { name, count: count.cast_signed() };
        let kind = match summary.kind {
            StatementKind::Read => "read",
            StatementKind::Write => "write",
            StatementKind::ReadWrite => "read write",
            StatementKind::Schema => "schema",
        };
        let notifications = summary.notifications.iter().map(|remark| remark.message.clone());
        Self {
            counters: changed.map(counter).collect(),
            kind,
            timestamp: summary.at.get().cast_signed(),
            plan: summary.plan.as_ref().map(ToString::to_string),
            notifications: notifications.collect(),
        }
    }
}

/// A column or a table that Arrow refuses.
pub(crate) fn failed(error: impl std::fmt::Display) -> QueryError {
    QueryError::runtime(ErrorKind::Database, "Arrow", error.to_string())
}

/// A whole result as a stream of Arrow IPC. It is one batch, so that a column is one typed array.
fn ipc(columns: &Columns) -> Result<Vec<u8>, QueryError> {
    let batch = telar_arrow::batch_of(columns)?;
    // Room for all of it: a vector that grows is copied.
    let bytes = Vec::with_capacity(batch.get_array_memory_size() + HEADER_BYTES);
    let mut writer = StreamWriter::try_new(bytes, &batch.schema()).map_err(failed)?;
    writer.write(&batch).map_err(failed)?;
    writer.into_inner().map_err(failed)
}

#[napi]
impl Held {
    /// Rows from `from` on, as many as a chunk has. The memory is handed over, or copied where that
    /// costs less.
    #[napi]
    pub fn chunk<'env>(&self, env: &'env Env, from: u32) -> napi::Result<BufferSlice<'env>> {
        let from = from as usize;
        let first = if from == 0 { self.first.lock().take() } else { None };
        let bytes = first.unwrap_or_else(|| chunk(&self.columns, from, self.end(from)));
        match bytes.len() {
            0..COPIED_MAX => BufferSlice::copy_from(env, bytes),
            _ => BufferSlice::from_data(env, bytes),
        }
    }

    /// The summary.
    #[napi]
    pub fn told(&self) -> Told {
        Told::of(&self.summary)
    }

    /// All nodes and relationships, each once, as a chunk of one row with two lists.
    #[napi]
    pub fn graph(&self) -> Buffer {
        crate::codec::graph(&self.columns).into()
    }

    /// The result as a stream of Arrow IPC.
    #[napi]
    pub fn arrow_sync(&self) -> Answer<Buffer> {
        answer(ipc(&self.columns).map(Buffer::from).map_err(Failure::from))
    }

    /// The same, on a thread.
    #[napi]
    pub fn arrow(&self, hub: &Hub, number: u32) {
        let columns = Arc::clone(&self.columns);
        hub.run(number, Admission::Free, move || Ok(Outcome::Bytes(ipc(&columns)?)));
    }
}
