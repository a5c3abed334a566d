//! Types of columns.

use std::collections::HashMap;

use arrow_schema::{DataType, Field, TimeUnit};
use telar_db::Value;
use telar_db::column::Column;
use telar_db::value::CoordinateType;

use crate::vectors;

/// The name of the zone of moments.
pub(crate) const UTC: &str = "UTC";

/// Key of the name of a field's extension.
pub(crate) const EXTENSION: &str = "ARROW:extension:name";
/// The extension of texts that are JSON.
pub(crate) const JSON: &str = "arrow.json";
/// Key of the notation of JSON that brings every value back as what it was.
pub(crate) const NOTATION: &str = "telar:notation";
/// That notation.
pub(crate) const TYPED: &str = "typed";

/// The type of a column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Bool,
    Int,
    Float,
    Text,
    Bytes,
    Date,
    LocalTime,
    LocalDateTime,
    Moment,
    Vector(CoordinateType, u16),
    Json,
}

/// Nanoseconds since 1970, where they fit.
pub(crate) fn nanos(value: &Value) -> Option<i64> {
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
    pub(crate) fn of(value: &Value) -> Option<Self> {
        Some(match value {
            Value::Null => return None,
            Value::Bool(_) => Self::Bool,
            Value::Int(_) => Self::Int,
            Value::Float(_) => Self::Float,
            Value::String(_) => Self::Text,
            Value::Bytes(_) => Self::Bytes,
            // Years of Cypher have nine digits; 32 bits hold days of seven.
            Value::Date(date) if i32::try_from(date.epoch_days()).is_ok() => Self::Date,
            Value::LocalTime(_) => Self::LocalTime,
            Value::LocalDateTime(_) if nanos(value).is_some() => Self::LocalDateTime,
            Value::DateTime(_) if nanos(value).is_some() => Self::Moment,
            Value::Vector(v) => Self::Vector(v.coordinate_type(), v.dimension() as u16),
            _ => Self::Json,
        })
    }

    /// The kind that holds all values of a column; none if they are null.
    pub(crate) fn of_column(column: &Column) -> Option<Self> {
        match column {
            Column::Bools(_) => Some(Self::Bool),
            Column::Ints(_) => Some(Self::Int),
            Column::Floats(_) => Some(Self::Float),
            // Packed before anything else is known of it.
            Column::Packed(texts) => texts.iter().flatten().next().map(|_| Self::Text),
            Column::Texts(_) => Some(Self::Text),
            Column::FloatLists(all) => {
                let vectors = vectors::of_column(all);
                Some(vectors.map_or(Self::Json, |(ty, dimension)| Self::Vector(ty, dimension)))
            }
            Column::Vertices(_) | Column::Edges(_) | Column::Maps(_) => Some(Self::Json),
            Column::Same(value, _) => Self::of(value),
            Column::Values(values) => values.iter().filter_map(Self::of).reduce(Self::join),
        }
    }

    /// The kind of a column with values of both.
    pub(crate) fn join(self, other: Self) -> Self {
        match (self, other) {
            _ if self == other => self,
            (Self::Int, Self::Float) | (Self::Float, Self::Int) => Self::Float,
            _ => Self::Json,
        }
    }

    fn data_type(self) -> DataType {
        match self {
            Self::Vector(ty, dimension) => vectors::field("", (ty, dimension)).data_type().clone(),
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

    pub(crate) fn field(self, name: &str) -> Field {
        if let Self::Vector(ty, dimension) = self {
            return vectors::field(name, (ty, dimension));
        }
        let field = Field::new(name, self.data_type(), true);
        if self != Self::Json {
            return field;
        }
        let name = (EXTENSION.to_owned(), JSON.to_owned());
        let metadata = ("ARROW:extension:metadata".to_owned(), String::new());
        field.with_metadata(HashMap::from([name, metadata]))
    }
}

#[test]
fn kinds_join_to_what_holds_both() {
    assert_eq!(Kind::Int.join(Kind::Float), Kind::Float);
    assert_eq!(Kind::Int.join(Kind::Text), Kind::Json);
    assert_eq!(Kind::of(&Value::Null), None);
    let far: telar_db::value::Date = "+999999999-01-01".parse().unwrap();
    assert_eq!(Kind::of(&Value::Date(far)), Some(Kind::Json));
    let far: telar_db::value::LocalDateTime = "2500-01-01T00:00".parse().unwrap();
    assert_eq!(Kind::of(&Value::LocalDateTime(far)), Some(Kind::Json));
}
