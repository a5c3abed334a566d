//! Results of queries as Arrow record batches: what data frames, DuckDB and Parquet writers read
//! without a copy.
//!
//! ```text
//!  Session::stream ──► Rows ──(typed columns)──► BatchBuilder ──► RecordBatch
//! ```
//!
//! [`collect`] runs a statement and returns its result; [`stream`] hands batches on while the query
//! goes on; a [`BatchBuilder`] takes rows from any [`Sink`]. Which type a
//! column has: [`builder`]. The other way, from arrays to columns: [`reader`].
//! Arrays that lose nothing, for files: [`exact`].
//!
//! # Examples
//! ```
//! use arrow_array::cast::AsArray;
//! use arrow_array::types::Int64Type;
//! use telar_db::Session;
//!
//! let db = telar_db::open_in_memory()?;
//! let session = Session::new(&db);
//! session.run("UNWIND range(1, 3) AS n CREATE (:Person {age: 30 + n})", &[])?;
//!
//! let (schema, batches) = telar_arrow::collect(&session, "MATCH (p) RETURN p.age AS age", &[])?;
//! assert_eq!(schema.field(0).name(), "age");
//! assert_eq!(batches[0].column(0).as_primitive::<Int64Type>().values(), &[31, 32, 33]);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

pub mod builder;
pub mod exact;
mod kind;
pub mod reader;
mod vectors;

use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;
use telar_db::query::{Columns, QueryError, Rows, Sink, Summary};
use telar_db::{Session, Value, ValueMap};

pub use builder::BatchBuilder;

/// Rows of a batch, unless the result has fewer.
pub const BATCH_ROWS: usize = 1 << 13;

/// Runs a statement and returns its whole result.
///
/// # Errors
/// As [`Session::run`], and `MixedColumn` for a value that is not of its column's type.
pub fn collect(
    session: &Session,
    text: &str,
    parameters: &[(&str, Value)],
) -> Result<(SchemaRef, Vec<RecordBatch>), QueryError> {
    let mut batches = Vec::new();
    let parameters: ValueMap =
        parameters.iter().map(|(name, value)| (Arc::from(*name), value.clone())).collect();
    let (schema, _) = stream(session, text, &parameters, BATCH_ROWS, |batch| {
        batches.push(batch);
        Ok(())
    })?;
    Ok((schema, batches))
}

/// Runs a statement and calls `each` with batches of `rows` rows, of which the last may have fewer,
/// while the query goes on. The schema is that of all batches; without rows there are none.
///
/// # Errors
/// As [`collect`], and those of `each`, which end the query.
pub fn stream(
    session: &Session,
    text: &str,
    parameters: &ValueMap,
    rows: usize,
    each: impl FnMut(RecordBatch) -> Result<(), QueryError>,
) -> Result<(SchemaRef, Summary), QueryError> {
    let mut sink = Batches { builder: BatchBuilder::default(), rows, each };
    let summary = session.stream(text, parameters, &mut sink)?;
    sink.flush()?;
    Ok((sink.builder.schema(), summary))
}

/// A whole result that is held as one batch. Each column has the type that holds all its values.
///
/// # Errors
/// None that is known: Arrow checks what it is given.
pub fn batch_of(columns: &Columns) -> Result<RecordBatch, QueryError> {
    append(&mut BatchBuilder::new(columns.names()), columns)
}

/// The next batch of a result whose parts are held.
///
/// # Errors
/// `MixedColumn` for a value that is not of its column's type.
pub fn append(builder: &mut BatchBuilder, columns: &Columns) -> Result<RecordBatch, QueryError> {
    struct Appending<'b>(&'b mut BatchBuilder);
    impl Sink for Appending<'_> {
        fn columns(&mut self, _: &[Arc<str>]) -> Result<(), QueryError> {
            Ok(())
        }

        fn rows(&mut self, rows: &Rows<'_>) -> Result<(), QueryError> {
            self.0.append(rows)
        }
    }
    columns.send(&mut Appending(builder))?;
    builder.finish()
}

struct Batches<F> {
    builder: BatchBuilder,
    rows: usize,
    each: F,
}

impl<F: FnMut(RecordBatch) -> Result<(), QueryError>> Batches<F> {
    fn flush(&mut self) -> Result<(), QueryError> {
        match self.builder.rows() {
            0 => Ok(()),
            _ => (self.each)(self.builder.finish()?),
        }
    }
}

impl<F: FnMut(RecordBatch) -> Result<(), QueryError>> Sink for Batches<F> {
    fn columns(&mut self, columns: &[Arc<str>]) -> Result<(), QueryError> {
        self.builder = BatchBuilder::new(columns);
        Ok(())
    }

    fn takes_columns(&self) -> bool {
        true
    }

    fn rows(&mut self, rows: &Rows<'_>) -> Result<(), QueryError> {
        self.builder.append(rows)?;
        if self.builder.rows() < self.rows { Ok(()) } else { self.flush() }
    }
}

/// The program in docs/arrow.md is compiled and run.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/arrow.md")]
struct Page;
