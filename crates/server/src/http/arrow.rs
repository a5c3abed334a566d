//! Results as an Arrow IPC stream: a schema, batches of rows, an end.
//!
//! A column has one type for all of the stream, and it is chosen when the first rows are there:
//!
//! | values of the first rows (and nulls) | Arrow |
//! |---|---|
//! | booleans | `Bool` |
//! | integers | `Int64` |
//! | floats, or floats and integers | `Float64` |
//! | strings | `LargeUtf8` |
//! | byte strings | `LargeBinary` |
//! | dates | `Date32` |
//! | local times | `Time64(ns)` |
//! | local dates and times, 1678 to 2262 | `Timestamp(ns)` |
//! | the same with an offset or zone | `Timestamp(ns, UTC)`: the moment, not the zone |
//! | others, a mixture, nulls only | `LargeUtf8` with plain JSON, extension `arrow.json` |
//!
//! A value that comes later and is not of its column's type ends the statement with an error, and
//! breaks the connection off if something was sent: a stream cannot take its schema back. Convert
//! such columns in the query (`toFloat`, `toString`).
//!
//! Cost: the rows of a batch are in memory twice while it is written.

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

use arrow_array::{
    ArrayRef, BooleanArray, Date32Array, Float64Array, Int64Array, LargeBinaryArray,
    LargeStringArray, RecordBatch, RecordBatchOptions, Time64NanosecondArray,
    TimestampNanosecondArray,
};
use arrow_ipc::writer::StreamWriter;
use arrow_schema::{ArrowError, DataType, Field, Schema, TimeUnit};
use telar_db::Value;
use telar_db::query::{ErrorKind, QueryError, Rows, watch};

use super::json::{Notation, Writer};

/// The name of the zone of moments.
const UTC: &str = "UTC";

/// The type of a column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Bool,
    Int,
    Float,
    Text,
    Bytes,
    Date,
    LocalTime,
    LocalDateTime,
    Moment,
    Json,
}

/// A stream that is written.
#[derive(Default)]
pub(crate) struct ArrowOutput {
    kinds: Vec<Kind>,
    stream: Option<StreamWriter<Vec<u8>>>,
}

impl fmt::Debug for ArrowOutput {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ArrowOutput").field("kinds", &self.kinds).finish_non_exhaustive()
    }
}

/// Nanoseconds since 1970, where they fit.
fn nanos(value: &Value) -> Option<i64> {
    match value {
        Value::LocalDateTime(at) => {
            let nanos = i64::from(at.time().nanosecond());
            at.epoch_second().checked_mul(1_000_000_000)?.checked_add(nanos)
        }
        Value::DateTime(at) => i64::try_from(at.epoch_nanos()).ok(),
        _ => None,
    }
}

impl Kind {
    /// The kind of a value; none for null, which is of every kind.
    fn of(value: &Value) -> Option<Self> {
        Some(match value {
            Value::Null => return None,
            Value::Bool(_) => Self::Bool,
            Value::Int(_) => Self::Int,
            Value::Float(_) => Self::Float,
            Value::String(_) => Self::Text,
            Value::Bytes(_) => Self::Bytes,
            Value::Date(_) => Self::Date,
            Value::LocalTime(_) => Self::LocalTime,
            Value::LocalDateTime(_) if nanos(value).is_some() => Self::LocalDateTime,
            Value::DateTime(_) if nanos(value).is_some() => Self::Moment,
            _ => Self::Json,
        })
    }

    /// The kind of a column with values of both.
    fn join(self, other: Self) -> Self {
        match (self, other) {
            _ if self == other => self,
            (Self::Int, Self::Float) | (Self::Float, Self::Int) => Self::Float,
            _ => Self::Json,
        }
    }

    fn data_type(self) -> DataType {
        match self {
            Self::Bool => DataType::Boolean,
            Self::Int => DataType::Int64,
            Self::Float => DataType::Float64,
            Self::Text | Self::Json => DataType::LargeUtf8,
            Self::Bytes => DataType::LargeBinary,
            Self::Date => DataType::Date32,
            Self::LocalTime => DataType::Time64(TimeUnit::Nanosecond),
            Self::LocalDateTime => DataType::Timestamp(TimeUnit::Nanosecond, None),
            Self::Moment => DataType::Timestamp(TimeUnit::Nanosecond, Some(UTC.into())),
        }
    }

    fn field(self, name: &str) -> Field {
        let field = Field::new(name, self.data_type(), true);
        if self != Self::Json {
            return field;
        }
        let name = ("ARROW:extension:name".to_owned(), "arrow.json".to_owned());
        let metadata = ("ARROW:extension:metadata".to_owned(), String::new());
        field.with_metadata(HashMap::from([name, metadata]))
    }

    /// An array of these values.
    fn array(self, values: &[Value], rows: &Rows<'_>) -> Result<ArrayRef, QueryError> {
        if self != Self::Json
            && let Some(other) = values.iter().filter_map(Self::of).find(|k| self.join(*k) != self)
        {
            return Err(QueryError::runtime(
                ErrorKind::Type,
                "MixedColumn",
                format!(
                    "a column of an Arrow stream has one type: it began as {self:?}, and now there \
                     is a value of {other:?}; convert it in the query"
                ),
            ));
        }
        let values = values.iter();
        Ok(match self {
            Self::Bool => Arc::new(values.map(as_bool).collect::<BooleanArray>()),
            Self::Int => Arc::new(values.map(as_int).collect::<Int64Array>()),
            Self::Float => Arc::new(values.map(as_float).collect::<Float64Array>()),
            Self::Text => Arc::new(values.map(as_text).collect::<LargeStringArray>()),
            Self::Bytes => Arc::new(values.map(as_bytes).collect::<LargeBinaryArray>()),
            Self::Date => Arc::new(values.map(as_date).collect::<Date32Array>()),
            Self::LocalTime => Arc::new(values.map(as_time).collect::<Time64NanosecondArray>()),
            Self::LocalDateTime => {
                Arc::new(values.map(nanos).collect::<TimestampNanosecondArray>())
            }
            Self::Moment => {
                let array: TimestampNanosecondArray = values.map(nanos).collect();
                Arc::new(array.with_timezone(UTC))
            }
            Self::Json => {
                let writer = Writer { notation: Notation::Plain, rows: Some(rows), begin: 0 };
                let mut bytes = 0;
                let json = |value: &Value| {
                    let text = (!value.is_null()).then(|| as_json(&writer, value)).transpose()?;
                    // A batch is held as a whole.
                    bytes += text.as_ref().map_or(0, String::len);
                    watch::wrote(watch::UNITS, bytes)?;
                    Ok::<_, QueryError>(text)
                };
                let texts: Result<LargeStringArray, QueryError> = values.map(json).collect();
                Arc::new(texts?)
            }
        })
    }
}

fn as_bool(value: &Value) -> Option<bool> {
    if let Value::Bool(x) = value { Some(*x) } else { None }
}

fn as_int(value: &Value) -> Option<i64> {
    if let Value::Int(x) = value { Some(*x) } else { None }
}

fn as_float(value: &Value) -> Option<f64> {
    match value {
        Value::Float(x) => Some(*x),
        Value::Int(x) => Some(*x as f64),
        _ => None,
    }
}

fn as_text(value: &Value) -> Option<&str> {
    if let Value::String(text) = value { Some(text) } else { None }
}

fn as_bytes(value: &Value) -> Option<&[u8]> {
    if let Value::Bytes(bytes) = value { Some(bytes) } else { None }
}

/// Days since 1970: years of Cypher have nine digits, which 32 bits hold.
fn as_date(value: &Value) -> Option<i32> {
    if let Value::Date(date) = value { i32::try_from(date.epoch_days()).ok() } else { None }
}

fn as_time(value: &Value) -> Option<i64> {
    if let Value::LocalTime(time) = value { Some(time.nanos_of_day()) } else { None }
}

fn as_json(writer: &Writer<'_, '_>, value: &Value) -> Result<String, QueryError> {
    let mut bytes = Vec::new();
    writer.value(&mut bytes, value)?;
    Ok(String::from_utf8(bytes).expect("INVARIANT: JSON is UTF-8"))
}

fn failed(error: ArrowError) -> QueryError {
    QueryError::runtime(ErrorKind::Database, "Arrow", error.to_string())
}

fn schema(columns: &[Arc<str>], kinds: &[Kind]) -> Arc<Schema> {
    let fields = columns.iter().zip(kinds).map(|(name, kind)| kind.field(name));
    Arc::new(Schema::new(fields.collect::<Vec<_>>()))
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
        let column = |at| (0..rows.len()).map(|row| rows.get(row, at)).collect::<Vec<_>>();
        let values: Vec<Vec<Value>> = (0..columns.len()).map(column).collect();
        if self.stream.is_none() {
            let kind = |values: &Vec<Value>| {
                values.iter().filter_map(Kind::of).reduce(Kind::join).unwrap_or(Kind::Json)
            };
            self.kinds = values.iter().map(kind).collect();
            let schema = schema(columns, &self.kinds);
            self.stream = Some(StreamWriter::try_new(Vec::new(), &schema).map_err(failed)?);
        }
        let arrays = self.kinds.iter().zip(&values).map(|(kind, values)| kind.array(values, rows));
        let arrays = arrays.collect::<Result<Vec<_>, _>>()?;
        let options = RecordBatchOptions::new().with_row_count(Some(rows.len()));
        let schema = schema(columns, &self.kinds);
        let batch = RecordBatch::try_new_with_options(schema, arrays, &options).map_err(failed)?;
        if let Some(stream) = &mut self.stream {
            stream.write(&batch).map_err(failed)?;
        }
        self.take(out);
        Ok(())
    }

    /// Writes the end of the stream.
    pub(crate) fn end(&mut self, out: &mut Vec<u8>, columns: &[Arc<str>]) {
        if self.stream.is_none() {
            let kinds = vec![Kind::Json; columns.len()];
            self.stream = StreamWriter::try_new(Vec::new(), &schema(columns, &kinds)).ok();
        }
        if let Some(stream) = &mut self.stream {
            stream.finish().expect("INVARIANT: bytes into memory cannot fail");
        }
        self.take(out);
    }
}

#[test]
fn kinds_join_to_what_holds_both() {
    assert_eq!(Kind::Int.join(Kind::Float), Kind::Float);
    assert_eq!(Kind::Int.join(Kind::Text), Kind::Json);
    assert_eq!(Kind::of(&Value::Null), None);
    let far: telar_db::value::LocalDateTime = "2500-01-01T00:00".parse().unwrap();
    assert_eq!(Kind::of(&Value::LocalDateTime(far)), Some(Kind::Json));
}
