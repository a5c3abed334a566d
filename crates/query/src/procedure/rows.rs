//! Rows of procedures: batch by batch, column by column.

use std::fmt;

use telar_graph::Value;
use telar_graph::value::heap_bytes_of;

use super::CallContext;
use crate::batch::{BATCH_ROWS, Column};
use crate::query_error::{ErrorKind, QueryError};

/// A procedure's rows, one value per column.
pub type Rows = Vec<Vec<Value>>;

/// Some rows of a procedure.
#[derive(Debug, Clone, Default)]
pub struct RowBatch {
    pub(crate) columns: Vec<Column>,
    pub(crate) rows: usize,
}

impl RowBatch {
    /// Rows with these values; one column for each of the procedure's.
    ///
    /// # Panics
    /// If the columns differ in length.
    #[must_use]
    pub fn new(columns: Vec<Column>) -> Self {
        let rows = columns.first().map_or(0, Column::len);
        assert!(columns.iter().all(|column| column.len() == rows), "columns differ in length");
        Self { columns, rows }
    }

    /// Bytes of its values.
    pub(crate) fn bytes(&self) -> usize {
        self.columns.iter().map(Column::bytes).sum()
    }
}

impl TryFrom<Rows> for RowBatch {
    type Error = QueryError;

    /// # Errors
    /// If the rows differ in length.
    fn try_from(rows: Rows) -> Result<Self, QueryError> {
        let (count, width) = (rows.len(), rows.first().map_or(0, Vec::len));
        if rows.iter().any(|row| row.len() != width) {
            let message = "the rows of a procedure differ in length";
            let kind = ErrorKind::ProcedureFailed;
            return Err(QueryError::runtime(kind, "ProcedureCallFailed", message));
        }
        let mut columns: Vec<Vec<Value>> = (0..width).map(|_| Vec::with_capacity(count)).collect();
        for row in rows {
            columns.iter_mut().zip(row).for_each(|(column, value)| column.push(value));
        }
        Ok(Self { columns: columns.into_iter().map(Column::of).collect(), rows: count })
    }
}

/// Rows, and true if there may be more.
#[derive(Debug, Clone)]
pub enum Chunk {
    /// More rows may follow.
    More(RowBatch),
    /// The last rows, perhaps none.
    Last(RowBatch),
}

/// Rows of one call, made as they are asked for: a `LIMIT` asks for no more than it needs.
pub trait RowSource: Send {
    /// The next rows: as many as are at hand, some thousand at most.
    ///
    /// # Errors
    /// Whatever the procedure cannot do.
    fn next(&mut self, call: &mut CallContext<'_>) -> Result<Chunk, QueryError>;

    /// Bytes that it holds, counted among those of the statement after each batch.
    fn bytes(&self) -> usize {
        0
    }
}

impl fmt::Debug for dyn RowSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RowSource").finish_non_exhaustive()
    }
}

/// Rows that are all known.
struct Known {
    rows: std::vec::IntoIter<Vec<Value>>,
    bytes: usize,
}

impl RowSource for Known {
    fn next(&mut self, _: &mut CallContext<'_>) -> Result<Chunk, QueryError> {
        let rows: Rows = self.rows.by_ref().take(BATCH_ROWS).collect();
        let batch = RowBatch::try_from(rows)?;
        Ok(match self.rows.len() {
            0 => Chunk::Last(batch),
            _ => Chunk::More(batch),
        })
    }

    fn bytes(&self) -> usize {
        self.bytes
    }
}

/// Rows that are all known, for procedures with few of them.
#[must_use]
pub fn known(rows: Rows) -> Box<dyn RowSource> {
    let bytes_of =
        |row: &Vec<Value>| size_of::<Vec<Value>>() + size_of_val(&**row) + heap_bytes_of(row);
    let bytes = rows.iter().map(bytes_of).sum();
    Box::new(Known { rows: rows.into_iter(), bytes })
}
