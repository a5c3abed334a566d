//! Columns on their way into Parquet and Arrow IPC: each gets its type from the first rows.

use std::fs::File;
use std::io::BufWriter;
use std::sync::Arc;

use arrow_array::{ArrayRef, RecordBatch, RecordBatchOptions};
use arrow_ipc::CompressionType;
use arrow_ipc::writer::{FileWriter, IpcWriteOptions};
use arrow_schema::{Schema, SchemaRef};
use parquet::arrow::ArrowWriter;
use parquet::basic::Compression;
use parquet::file::properties::WriterProperties;
use telar_arrow::exact::{Shape, resolved};
use telar_db::column::Column;
use telar_db::query::{EntityReader, FileFormat, FileOptions, QueryError, TableWriter};

use crate::{failed, parquet as own, wrong_option};

/// Rows that decide the types.
const SHAPE_ROWS: usize = 1 << 16;
/// Rows of a row group of Parquet: it is held in memory until it is written.
const GROUP_ROWS: usize = 1 << 17;

/// Where batches go, once the schema is known.
enum Target {
    Parquet(Box<ArrowWriter<File>>),
    Ipc(Box<FileWriter<BufWriter<File>>>),
}

/// Writes a file of Parquet or Arrow IPC.
pub(crate) struct ShapedWriter {
    name: Arc<str>,
    names: Vec<Arc<str>>,
    options: FileOptions,
    /// Rows that wait for the types.
    waiting: Vec<Vec<Column>>,
    rows: usize,
    /// Until the schema is known.
    file: Option<File>,
    target: Option<(Vec<Shape>, SchemaRef, Target)>,
}

impl ShapedWriter {
    pub(crate) fn new(
        file: File,
        name: &str,
        columns: &[Arc<str>],
        options: &FileOptions,
    ) -> Result<Self, QueryError> {
        let known = match (options.format, options.compression.as_deref()) {
            (FileFormat::Parquet, kind) => own::compression(kind).is_some(),
            (_, kind) => matches!(kind, None | Some("none" | "zstd" | "lz4")),
        };
        if !known {
            let kind = options.compression.as_deref().unwrap_or_default();
            let text = format!("{} is not compressed as '{kind}'", options.format.name());
            return Err(wrong_option(name, text));
        }
        Ok(Self {
            name: name.into(),
            names: columns.to_vec(),
            options: options.clone(),
            waiting: Vec::new(),
            rows: 0,
            file: Some(file),
            target: None,
        })
    }

    /// The same, whose columns have these types.
    pub(crate) fn with_shapes(mut self, shapes: Vec<Shape>) -> Result<Self, QueryError> {
        self.begin_with(shapes)?;
        Ok(self)
    }

    /// Decides the types by the rows that wait, and writes them.
    fn begin(&mut self) -> Result<(), QueryError> {
        let shape = |at: usize| {
            let shapes = self.waiting.iter().map(|batch| Shape::of_column(&batch[at]));
            shapes.fold(Shape::Nothing, Shape::join)
        };
        self.begin_with((0..self.names.len()).map(shape).collect())
    }

    fn begin_with(&mut self, shapes: Vec<Shape>) -> Result<(), QueryError> {
        let Some(file) = self.file.take() else { return Ok(()) };
        let waiting = std::mem::take(&mut self.waiting);
        let fields = self.names.iter().zip(&shapes).map(|(name, shape)| shape.field(name));
        let schema = Arc::new(Schema::new(fields.collect::<Vec<_>>()));
        let compression = self.options.compression.as_deref();
        let name = &self.name;
        let target = match self.options.format {
            FileFormat::Parquet => {
                let compression =
                    own::compression(compression).unwrap_or(Compression::UNCOMPRESSED);
                let properties = WriterProperties::builder()
                    .set_compression(compression)
                    .set_max_row_group_row_count(Some(GROUP_ROWS))
                    .build();
                let writer = ArrowWriter::try_new(file, Arc::clone(&schema), Some(properties));
                Target::Parquet(Box::new(writer.map_err(|e| failed(name, e))?))
            }
            _ => {
                let kind = match compression {
                    Some("zstd") => Some(CompressionType::ZSTD),
                    Some("lz4") => Some(CompressionType::LZ4_FRAME),
                    _ => None,
                };
                let options = IpcWriteOptions::default().try_with_compression(kind);
                let options = options.map_err(|e| failed(name, e))?;
                let file = BufWriter::with_capacity(1 << 16, file);
                let writer = FileWriter::try_new_with_options(file, &schema, options);
                Target::Ipc(Box::new(writer.map_err(|e| failed(name, e))?))
            }
        };
        self.target = Some((shapes, schema, target));
        for batch in waiting {
            self.put(&batch.iter().collect::<Vec<_>>())?;
        }
        Ok(())
    }

    fn put(&mut self, columns: &[&Column]) -> Result<(), QueryError> {
        let Some((shapes, schema, target)) = &mut self.target else { return Ok(()) };
        let name = &self.name;
        let arrays = shapes.iter().zip(columns).zip(&self.names).map(|((shape, column), own)| {
            shape.array(column, None).map_err(|e| QueryError {
                message: format!("{name}: column '{own}': {}", e.message),
                ..e
            })
        });
        let arrays = arrays.collect::<Result<Vec<ArrayRef>, _>>()?;
        let rows = columns.first().map_or(0, |column| column.len());
        let options = RecordBatchOptions::new().with_row_count(Some(rows));
        let batch = RecordBatch::try_new_with_options(Arc::clone(schema), arrays, &options);
        let batch = batch.map_err(|e| failed(name, e))?;
        match target {
            Target::Parquet(writer) => writer.write(&batch).map_err(|e| failed(name, e)),
            Target::Ipc(writer) => writer.write(&batch).map_err(|e| failed(name, e)),
        }
    }
}

/// A column that names nothing of the graph.
fn settled(column: &Column, rows: Option<&dyn EntityReader>) -> Result<Column, QueryError> {
    match column {
        Column::Vertices(_) | Column::Edges(_) | Column::Same(..) | Column::Values(_) => {
            let values = (0..column.len()).map(|row| resolved(column.get(row), rows));
            Ok(Column::of(values.collect::<Result<Vec<_>, _>>()?))
        }
        other => Ok(other.clone()),
    }
}

impl TableWriter for ShapedWriter {
    fn write(
        &mut self,
        columns: &[&Column],
        rows: Option<&dyn EntityReader>,
    ) -> Result<(), QueryError> {
        let columns = columns.iter().map(|column| settled(column, rows));
        let columns = columns.collect::<Result<Vec<Column>, _>>()?;
        if self.target.is_some() {
            return self.put(&columns.iter().collect::<Vec<_>>());
        }
        self.rows += columns.first().map_or(0, Column::len);
        self.waiting.push(columns);
        if self.rows < SHAPE_ROWS { Ok(()) } else { self.begin() }
    }

    fn finish(mut self: Box<Self>) -> Result<(), QueryError> {
        self.begin()?;
        let Self { name, target, .. } = *self;
        let Some((_, _, target)) = target else { return Ok(()) };
        let file = match target {
            Target::Parquet(writer) => writer.into_inner().map_err(|e| failed(&name, e))?,
            Target::Ipc(mut writer) => {
                writer.finish().map_err(|e| failed(&name, e))?;
                let buffer = writer.into_inner().map_err(|e| failed(&name, e))?;
                buffer.into_inner().map_err(|e| failed(&name, e.error()))?
            }
        };
        file.sync_all().map_err(|e| failed(&name, e))
    }
}
