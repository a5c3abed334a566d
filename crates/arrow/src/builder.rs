//! Record batches that are made of rows as they come.
//!
//! A column has one type for the whole result, and it is chosen when the first rows are there:
//!
//! | values of the first rows (and nulls) | Arrow |
//! |---|---|
//! | booleans | `Bool` |
//! | integers | `Int64` |
//! | floats, or floats and integers | `Float64` |
//! | strings | `LargeUtf8` |
//! | byte strings | `LargeBinary` |
//! | dates within 5 million years | `Date32` |
//! | local times | `Time64(ns)` |
//! | local dates and times, 1678 to 2262 | `Timestamp(ns)` |
//! | the same with an offset or zone | `Timestamp(ns, UTC)`: the moment, not the zone |
//! | vectors of one type and dimension | `FixedSizeList` of the coordinates |
//! | others, a mixture, nulls only | `LargeUtf8` with plain JSON, extension `arrow.json` |
//!
//! A value that comes later and is not of its column's type is an error, `MixedColumn`: batches
//! cannot take their schema back. Convert such columns in the query (`toFloat`, `toString`).
//!
//! Cost: numbers and texts are copied once, from the column that the query made of them.

use std::fmt;
use std::sync::Arc;

use arrow_array::builder::{
    BooleanBuilder, Date32Builder, Float64Builder, Int64Builder, LargeBinaryBuilder,
    LargeStringBuilder, PrimitiveBuilder, Time64NanosecondBuilder, TimestampNanosecondBuilder,
};
use arrow_array::types::ArrowPrimitiveType;
use arrow_array::{ArrayRef, RecordBatch, RecordBatchOptions};
use arrow_schema::{ArrowError, Schema, SchemaRef};
use telar_db::Value;
use telar_db::column::{Column, Nullable};
use telar_db::json::{Notation, Writer};
use telar_db::query::{ErrorKind, QueryError, Rows, watch};

use crate::kind::{Kind, UTC, nanos};
use crate::vectors;

/// Rows that become a record batch.
#[derive(Default)]
pub struct BatchBuilder {
    names: Vec<Arc<str>>,
    /// Known once there were rows.
    columns: Vec<ColumnBuilder>,
    schema: Option<SchemaRef>,
    rows: usize,
}

impl fmt::Debug for BatchBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kinds: Vec<Kind> = self.columns.iter().map(|column| column.kind).collect();
        f.debug_struct("BatchBuilder").field("kinds", &kinds).finish_non_exhaustive()
    }
}

fn failed(error: &ArrowError) -> QueryError {
    QueryError::runtime(ErrorKind::Database, "Arrow", error.to_string())
}

impl BatchBuilder {
    /// No rows yet, of columns with these names.
    #[must_use]
    pub fn new(names: &[Arc<str>]) -> Self {
        Self { names: names.to_vec(), ..Self::default() }
    }

    /// Number of rows since the last batch.
    #[must_use]
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// The schema of all batches. Before the first rows every column is JSON.
    #[must_use]
    pub fn schema(&self) -> SchemaRef {
        let json = || self.names.iter().map(|name| Kind::Json.field(name)).collect::<Vec<_>>();
        self.schema.clone().unwrap_or_else(|| Arc::new(Schema::new(json())))
    }

    /// Appends rows.
    ///
    /// # Errors
    /// `MixedColumn` for a value that is not of its column's type; otherwise those of reading
    /// nodes and relationships.
    pub fn append(&mut self, rows: &Rows<'_>) -> Result<(), QueryError> {
        let first = self.schema.is_none();
        for (at, name) in self.names.iter().enumerate() {
            let column = rows.column(at);
            if first {
                let kind = Kind::of_column(&column).unwrap_or(Kind::Json);
                self.columns.push(ColumnBuilder::new(Arc::clone(name), kind));
            }
            self.columns[at].append(&column, rows)?;
        }
        if first {
            let fields = self.columns.iter().map(|column| column.kind.field(&column.name));
            self.schema = Some(Arc::new(Schema::new(fields.collect::<Vec<_>>())));
        }
        self.rows += rows.len();
        Ok(())
    }

    /// The rows that were appended since the last batch.
    ///
    /// # Errors
    /// None that is known: Arrow checks what it is given.
    pub fn finish(&mut self) -> Result<RecordBatch, QueryError> {
        if self.columns.is_empty() && !self.names.is_empty() {
            return Ok(RecordBatch::new_empty(self.schema()));
        }
        let arrays: Vec<ArrayRef> = self.columns.iter_mut().map(ColumnBuilder::finish).collect();
        let options = RecordBatchOptions::new().with_row_count(Some(self.rows));
        self.rows = 0;
        RecordBatch::try_new_with_options(self.schema(), arrays, &options).map_err(|e| failed(&e))
    }
}

/// Values of one column.
struct ColumnBuilder {
    name: Arc<str>,
    kind: Kind,
    values: Values,
    /// Rows of the batch before, and bytes of their texts: as much room is made for the next.
    before: (usize, usize),
    rows: usize,
}

enum Values {
    Bool(BooleanBuilder),
    Int(Int64Builder),
    Float(Float64Builder),
    /// Strings and JSON.
    Text(LargeStringBuilder),
    Bytes(LargeBinaryBuilder),
    Date(Date32Builder),
    Time(Time64NanosecondBuilder),
    Timestamp(TimestampNanosecondBuilder),
    /// Vectors.
    Vectors(Column),
}

impl Values {
    /// No values, and room for so many rows and bytes of texts.
    fn new(kind: Kind, rows: usize, bytes: usize) -> Self {
        match kind {
            Kind::Bool => Self::Bool(BooleanBuilder::with_capacity(rows)),
            Kind::Int => Self::Int(Int64Builder::with_capacity(rows)),
            Kind::Float => Self::Float(Float64Builder::with_capacity(rows)),
            Kind::Text | Kind::Json => Self::Text(LargeStringBuilder::with_capacity(rows, bytes)),
            Kind::Bytes => Self::Bytes(LargeBinaryBuilder::with_capacity(rows, bytes)),
            Kind::Date => Self::Date(Date32Builder::with_capacity(rows)),
            Kind::LocalTime => Self::Time(Time64NanosecondBuilder::with_capacity(rows)),
            Kind::Vector(..) => Self::Vectors(Column::default()),
            Kind::LocalDateTime => Self::Timestamp(TimestampNanosecondBuilder::with_capacity(rows)),
            Kind::Moment => {
                let values = TimestampNanosecondBuilder::with_capacity(rows);
                Self::Timestamp(values.with_timezone(UTC))
            }
        }
    }

    /// Bytes of texts.
    fn bytes(&self) -> usize {
        match self {
            Self::Text(texts) => texts.values_slice().len(),
            Self::Bytes(bytes) => bytes.values_slice().len(),
            _ => 0,
        }
    }
}

/// Appends numbers of which some may be null.
fn append_list<T: ArrowPrimitiveType<Native: Default>>(
    to: &mut PrimitiveBuilder<T>,
    from: &Nullable<T::Native>,
) {
    match from.full() {
        Some(all) => to.append_slice(all),
        None => from.iter().for_each(|value| to.append_option(value)),
    }
}

impl ColumnBuilder {
    fn new(name: Arc<str>, kind: Kind) -> Self {
        Self { name, kind, values: Values::new(kind, 0, 0), before: (0, 0), rows: 0 }
    }

    fn append(&mut self, column: &Column, rows: &Rows<'_>) -> Result<(), QueryError> {
        if self.rows == 0 {
            self.values = Values::new(self.kind, self.before.0, self.before.1);
        }
        self.rows += column.len();
        if self.kind == Kind::Json {
            return self.append_json(column, rows);
        }
        match (&mut self.values, column) {
            (Values::Int(to), Column::Ints(from)) => append_list(to, from),
            (Values::Float(to), Column::Floats(from)) => append_list(to, from),
            (Values::Float(to), Column::Ints(from)) => {
                append_list(to, &from.map(|int| int as f64));
            }
            (Values::Bool(to), Column::Bools(from)) => match from.full() {
                Some(all) => to.append_slice(all),
                None => from.iter().for_each(|value| to.append_option(value)),
            },
            (Values::Vectors(to), Column::FloatLists(_))
                if Kind::of_column(column) == Some(self.kind) =>
            {
                to.append(column);
            }
            (Values::Text(to), Column::Texts(from)) => {
                from.iter().for_each(|text| to.append_option(text.as_deref()));
            }
            (Values::Text(to), Column::Packed(from)) => {
                from.iter().for_each(|text| to.append_option(text));
            }
            _ => {
                for row in 0..column.len() {
                    self.append_value(&column.get(row))?;
                }
            }
        }
        Ok(())
    }

    /// Appends a value that must be of the column's kind, or null.
    fn append_value(&mut self, value: &Value) -> Result<(), QueryError> {
        match (&mut self.values, value) {
            (Values::Bool(to), Value::Bool(is)) => to.append_value(*is),
            (Values::Bool(to), Value::Null) => to.append_null(),
            (Values::Int(to), Value::Int(int)) => to.append_value(*int),
            (Values::Int(to), Value::Null) => to.append_null(),
            (Values::Float(to), Value::Float(float)) => to.append_value(*float),
            (Values::Float(to), Value::Int(int)) => to.append_value(*int as f64),
            (Values::Float(to), Value::Null) => to.append_null(),
            (Values::Text(to), Value::String(text)) => to.append_value(text),
            (Values::Text(to), Value::Null) => to.append_null(),
            (Values::Bytes(to), Value::Bytes(bytes)) => to.append_value(bytes),
            (Values::Bytes(to), Value::Null) => to.append_null(),
            (Values::Date(to), Value::Date(date)) if Kind::of(value) == Some(Kind::Date) => {
                to.append_option(i32::try_from(date.epoch_days()).ok());
            }
            (Values::Date(to), Value::Null) => to.append_null(),
            (Values::Time(to), Value::LocalTime(time)) => to.append_value(time.nanos_of_day()),
            (Values::Time(to), Value::Null) => to.append_null(),
            (Values::Timestamp(to), Value::LocalDateTime(_) | Value::DateTime(_))
                if Kind::of(value) == Some(self.kind) =>
            {
                to.append_option(nanos(value));
            }
            (Values::Timestamp(to), Value::Null) => to.append_null(),
            (Values::Vectors(to), Value::Null) => to.push_nulls(1),
            (Values::Vectors(to), Value::Vector(_)) if Kind::of(value) == Some(self.kind) => {
                to.push(value.clone());
            }
            _ => return Err(self.mixed(value)),
        }
        Ok(())
    }

    fn mixed(&self, value: &Value) -> QueryError {
        let Self { name, kind, .. } = self;
        let other = Kind::of(value).unwrap_or(Kind::Json);
        QueryError::runtime(
            ErrorKind::Type,
            "MixedColumn",
            format!(
                "a column of Arrow has one type: '{name}' began as {kind:?}, and now there is a \
                 value of {other:?}; convert it in the query"
            ),
        )
    }

    fn append_json(&mut self, column: &Column, rows: &Rows<'_>) -> Result<(), QueryError> {
        let Values::Text(to) = &mut self.values else {
            unreachable!("INVARIANT: JSON is text");
        };
        let (mut json, mut bytes) = (Vec::new(), 0);
        for row in 0..column.len() {
            let value = column.get(row);
            if value.is_null() {
                to.append_null();
                continue;
            }
            json.clear();
            let writer = Writer { notation: Notation::Plain, rows: Some(rows), begin: 0 };
            writer.value(&mut json, &value)?;
            // A batch is held as a whole.
            bytes += json.len();
            watch::wrote(watch::UNITS, bytes)?;
            to.append_value(str::from_utf8(&json).expect("INVARIANT: JSON is UTF-8"));
        }
        Ok(())
    }

    fn finish(&mut self) -> ArrayRef {
        self.before = (std::mem::take(&mut self.rows), self.values.bytes());
        match &mut self.values {
            Values::Bool(values) => Arc::new(values.finish()),
            Values::Int(values) => Arc::new(values.finish()),
            Values::Float(values) => Arc::new(values.finish()),
            Values::Text(values) => Arc::new(values.finish()),
            Values::Bytes(values) => Arc::new(values.finish()),
            Values::Date(values) => Arc::new(values.finish()),
            Values::Time(values) => Arc::new(values.finish()),
            Values::Timestamp(values) => Arc::new(values.finish()),
            Values::Vectors(values) => {
                let Kind::Vector(ty, dimension) = self.kind else {
                    unreachable!("INVARIANT: vectors are of a kind of vectors")
                };
                let array = vectors::array((ty, dimension), &std::mem::take(values));
                array.expect("INVARIANT: what was appended is of the kind")
            }
        }
    }
}
