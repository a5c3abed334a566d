//! Results as an Arrow IPC stream: a schema, batches of rows, an end. The types of columns are
//! those of [`telar_arrow::builder`].
//!
//! A value that is not of its column's type ends the statement with an error, and breaks the
//! connection off if something was sent: a stream cannot take its schema back.
//!
//! Cost: the rows of a batch are in memory twice while it is written.

use std::fmt;
use std::sync::Arc;

use arrow_ipc::writer::StreamWriter;
use arrow_schema::ArrowError;
use telar_arrow::BatchBuilder;
use telar_db::query::{ErrorKind, QueryError, Rows};

/// A stream that is written.
#[derive(Default)]
pub(crate) struct ArrowOutput {
    /// Made when the columns are known.
    builder: Option<BatchBuilder>,
    stream: Option<StreamWriter<Vec<u8>>>,
}

impl fmt::Debug for ArrowOutput {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ArrowOutput").field("builder", &self.builder).finish_non_exhaustive()
    }
}

fn failed(error: ArrowError) -> QueryError {
    QueryError::runtime(ErrorKind::Database, "Arrow", error.to_string())
}

impl ArrowOutput {
    fn take(&mut self, out: &mut Vec<u8>) {
        if let Some(stream) = &mut self.stream {
            out.append(stream.get_mut());
        }
    }

    /// Writes some rows.
    pub(crate) fn rows(
        &mut self,
        out: &mut Vec<u8>,
        columns: &[Arc<str>],
        rows: &Rows<'_>,
    ) -> Result<(), QueryError> {
        let builder = self.builder.get_or_insert_with(|| BatchBuilder::new(columns));
        builder.append(rows)?;
        let batch = builder.finish()?;
        let stream = match &mut self.stream {
            Some(stream) => stream,
            None => {
                let stream = StreamWriter::try_new(Vec::new(), &batch.schema()).map_err(failed)?;
                self.stream.insert(stream)
            }
        };
        stream.write(&batch).map_err(failed)?;
        self.take(out);
        Ok(())
    }

    /// Writes the end of the stream.
    pub(crate) fn end(&mut self, out: &mut Vec<u8>, columns: &[Arc<str>]) {
        if self.stream.is_none() {
            let schema = BatchBuilder::new(columns).schema();
            self.stream = StreamWriter::try_new(Vec::new(), &schema).ok();
        }
        if let Some(stream) = &mut self.stream {
            stream.finish().expect("INVARIANT: bytes into memory cannot fail");
        }
        self.take(out);
    }
}
