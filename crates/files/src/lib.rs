//! Files of rows: CSV, JSON lines, Parquet and Arrow IPC, as batches of typed columns.
//!
//! ```text
//!  file ── text.rs ──► UTF-8 ──┬─ csv.rs, guess.rs ─┐
//!     │                        └─ json.rs ──────────┤
//!     ├─ parquet.rs ─► record batches ─┐            ├──► Vec<Column>: a TableReader
//!     └─ ipc.rs ─────► record batches ─┴─ telar_arrow::reader ─┘
//!
//!  columns: a TableWriter ──► csv.rs, json.rs ──► text
//!                         └─► shaped.rs ─ telar_arrow::exact ─► record batches ─► parquet, ipc
//! ```
//!
//! [`formats`] is what a [`Runtime`](telar_db::Runtime) is given, so that statements can read and
//! write all formats. Parquet and Arrow IPC keep every value as it is, JSON lines do when they are
//! told to, CSV is what others expect (docs/files.md).
//!
//! A whole database goes into a folder of files and back by [`folder`]; a graph, or a part of one,
//! goes into one file of GraphML or Cypher by [`graph`].
//!
//! What is wrong in a file is an error with its name and the line or row; a damaged file is never a
//! panic.

mod csv;
pub mod folder;
pub mod graph;
mod guess;
mod ipc;
mod json;
mod parquet;
mod places;
mod reading;
mod shaped;
mod text;

use std::fs::File;
use std::io::{Cursor, Write};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use arrow_array::RecordBatch;
use telar_arrow::reader;
use telar_db::column::Column;
use telar_db::query::files::{GraphFileFormat, GraphPart, GraphWritten};
use telar_db::query::{
    ErrorKind, FileFormat, FileOptions, Files, QueryError, TableReader, TableWriter,
};

pub use guess::{ColumnType, guess};
pub use reading::{Reading, Rejected, RejectedRecord, delimiter};

/// Rows of a batch.
const BATCH_ROWS: usize = 1 << 14;

/// All formats.
#[must_use]
pub fn formats() -> Arc<dyn Files> {
    Arc::new(Formats)
}

/// The rows of Arrow IPC in memory, a file or a stream, which is called `name` in errors.
///
/// # Errors
/// If it is neither, or damaged.
pub fn read_ipc(bytes: Vec<u8>, name: &str) -> Result<Box<dyn TableReader>, QueryError> {
    Ok(Box::new(ipc::IpcReader::new(Cursor::new(bytes), name)?))
}

#[derive(Debug, Clone, Copy)]
struct Formats;

impl Files for Formats {
    fn read(
        &self,
        file: File,
        name: &str,
        options: &FileOptions,
    ) -> Result<Box<dyn TableReader>, QueryError> {
        read(file, name, &Reading::from(options.clone()))
    }

    fn write(
        &self,
        file: File,
        name: &str,
        columns: &[Arc<str>],
        options: &FileOptions,
    ) -> Result<Box<dyn TableWriter>, QueryError> {
        Ok(match options.format {
            FileFormat::Csv => Box::new(csv::CsvWriter::new(file, name, columns, options)?),
            FileFormat::Json => Box::new(json::JsonWriter::new(file, name, columns, options)?),
            FileFormat::Parquet | FileFormat::Arrow => {
                Box::new(shaped::ShapedWriter::new(file, name, columns, options)?)
            }
        })
    }

    fn write_graph(
        &self,
        to: &mut dyn Write,
        name: &str,
        format: GraphFileFormat,
        part: &GraphPart<'_>,
        schema: &[String],
    ) -> Result<GraphWritten, QueryError> {
        graph::write(to, name, format, part, schema)
    }
}

/// Reads a file of rows.
///
/// # Errors
/// If it is not of its format.
pub fn read(file: File, name: &str, reading: &Reading) -> Result<Box<dyn TableReader>, QueryError> {
    Ok(match reading.options.format {
        FileFormat::Csv => Box::new(csv::CsvReader::new(file, name, reading)?),
        FileFormat::Json => Box::new(json::JsonReader::new(file, name, &reading.options)?),
        FileFormat::Parquet => Box::new(parquet::ParquetReader::new(file, name)?),
        FileFormat::Arrow => Box::new(ipc::IpcReader::new(file, name)?),
    })
}

/// The types that columns of a file of CSV are taken for.
///
/// # Errors
/// If it cannot be read.
pub fn csv_types(
    file: File,
    name: &str,
    reading: &Reading,
) -> Result<Vec<(Arc<str>, ColumnType)>, QueryError> {
    let reader = csv::CsvReader::new(file, name, reading)?;
    Ok(reader.names().iter().cloned().zip(reader.types().iter().copied()).collect())
}

/// The text of a file as UTF-8: decompressed, without byte order mark.
///
/// # Errors
/// If it cannot be read.
pub fn open_text(file: File) -> std::io::Result<Box<dyn std::io::Read + Send>> {
    text::open(file)
}

/// A file that cannot be read or written.
fn failed(name: &str, what: impl std::fmt::Display) -> QueryError {
    let (kind, detail) = (ErrorKind::ExternalResource, "ExternalResourceFailed");
    QueryError::runtime(kind, detail, format!("{name}: {what}"))
}

/// An option that is not for a file.
fn wrong_option(name: &str, what: impl std::fmt::Display) -> QueryError {
    QueryError::runtime(ErrorKind::Argument, "FileOption", format!("{name}: {what}"))
}

/// Runs a decoder. One that gives up by a panic has met bytes that its authors did not think of:
/// the file is damaged.
fn guarded<T>(name: &str, work: impl FnOnce() -> Result<T, QueryError>) -> Result<T, QueryError> {
    catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|panic| {
        let text = panic.downcast_ref::<String>().map(String::as_str);
        let text = text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("unknown");
        Err(failed(name, format!("the file is damaged ({text})")))
    })
}

/// The columns of the next record batch of a file, of which `rows` rows have been read.
fn next_columns(
    name: &str,
    rows: &mut usize,
    next: impl FnOnce(&str) -> Result<Option<RecordBatch>, QueryError>,
) -> Result<Option<Vec<Column>>, QueryError> {
    let place = match *rows {
        0 => name.to_owned(),
        rows => format!("{name}, behind row {rows}"),
    };
    let columns = guarded(&place, || {
        let Some(batch) = next(&place)? else { return Ok(None) };
        let columns = reader::columns(&batch);
        columns
            .map(Some)
            .map_err(|e| QueryError { message: format!("{place}: {}", e.message), ..e })
    })?;
    *rows += columns.as_ref().and_then(|all| all.first()).map_or(0, Column::len);
    Ok(columns)
}
