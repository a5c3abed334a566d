//! Parquet.

use std::fs::File;
use std::sync::Arc;

use parquet::arrow::arrow_reader::{ParquetRecordBatchReader, ParquetRecordBatchReaderBuilder};
use parquet::basic::{Compression, GzipLevel, ZstdLevel};
use telar_arrow::reader;
use telar_db::column::Column;
use telar_db::query::{QueryError, TableReader};

use crate::{BATCH_ROWS, failed, guarded};

/// Reads a file of Parquet.
pub(crate) struct ParquetReader {
    name: Arc<str>,
    names: Vec<Arc<str>>,
    batches: ParquetRecordBatchReader,
    /// Rows so far.
    rows: usize,
}

impl ParquetReader {
    pub(crate) fn new(file: File, name: &str) -> Result<Self, QueryError> {
        guarded(name, || {
            let builder = ParquetRecordBatchReaderBuilder::try_new(file);
            let builder = builder.map_err(|e| failed(name, e))?;
            let fields = builder.schema().fields();
            let names = fields.iter().map(|field| field.name().as_str().into()).collect();
            let batches = builder.with_batch_size(BATCH_ROWS).build();
            let batches = batches.map_err(|e| failed(name, e))?;
            Ok(Self { name: name.into(), names, batches, rows: 0 })
        })
    }
}

impl TableReader for ParquetReader {
    fn names(&self) -> &[Arc<str>] {
        &self.names
    }

    fn next(&mut self) -> Result<Option<Vec<Column>>, QueryError> {
        let place = match self.rows {
            0 => self.name.to_string(),
            rows => format!("{}, behind row {rows}", self.name),
        };
        let columns = guarded(&place, || {
            let Some(batch) = self.batches.next() else { return Ok(None) };
            let batch = batch.map_err(|e| failed(&place, e))?;
            let columns = reader::columns(&batch);
            columns
                .map(Some)
                .map_err(|e| QueryError { message: format!("{place}: {}", e.message), ..e })
        })?;
        self.rows += columns.as_ref().and_then(|all| all.first()).map_or(0, Column::len);
        Ok(columns)
    }
}

/// The compression of this name; zstd if none is said.
pub(crate) fn compression(name: Option<&str>) -> Option<Compression> {
    Some(match name {
        None | Some("zstd") => Compression::ZSTD(ZstdLevel::default()),
        Some("none") => Compression::UNCOMPRESSED,
        Some("snappy") => Compression::SNAPPY,
        Some("gzip") => Compression::GZIP(GzipLevel::default()),
        Some("lz4") => Compression::LZ4_RAW,
        _ => return None,
    })
}
