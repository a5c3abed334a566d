//! Parquet.

use std::fs::File;
use std::sync::Arc;

use parquet::arrow::arrow_reader::{ParquetRecordBatchReader, ParquetRecordBatchReaderBuilder};
use parquet::basic::{Compression, ConvertedType, GzipLevel, ZstdLevel};
use telar_db::column::Column;
use telar_db::query::{QueryError, TableReader};

use crate::{BATCH_ROWS, failed, guarded, next_columns};

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
            // The decoder reads days and milliseconds of them, and drops the months.
            let columns = builder.parquet_schema().columns();
            if let Some(column) =
                columns.iter().find(|c| c.converted_type() == ConvertedType::INTERVAL)
            {
                let what = "intervals of Parquet are not read, as their months would be lost: write \
                            the column as text, or as CSV";
                return Err(failed(name, format!("column '{}': {what}", column.path())));
            }
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
        let Self { name, rows, batches, .. } = self;
        next_columns(name, rows, |place| batches.next().transpose().map_err(|e| failed(place, e)))
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
