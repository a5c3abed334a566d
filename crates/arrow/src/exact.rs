//! Columns as arrays that lose nothing: what files of Telar are made of.
//!
//! ```text
//!  Column ──► Shape::of_column, join ──► Shape ──► field, array ──► reader::column ──► Column
//! ```
//!
//! A [`BatchBuilder`](crate::BatchBuilder) makes what data frames want and may lose a zone, or the
//! difference of `1` and `1.0`. A [`Shape`] does not: what Arrow has no type for is JSON that names
//! the type of each value (`{"$type": "Duration", "_value": "P1D"}`), with the extension
//! `arrow.json` and the entry `telar:notation` in the metadata of its field, by which the
//! [reader](crate::reader) knows it.
//!
//! | values (and nulls) | Arrow |
//! |---|---|
//! | booleans, integers, floats | `Bool`, `Int64`, `Float64` |
//! | strings, byte strings | `LargeUtf8`, `LargeBinary` |
//! | dates within 5 million years, local times | `Date32`, `Time64(ns)` |
//! | local dates and times | `Timestamp(ns)`; in microseconds if one is outside of 1678 to 2262 |
//! | dates and times with one offset, or in one zone | the same, with the zone |
//! | vectors of one type and dimension | `FixedSizeList` of their coordinates, known by metadata |
//! | lists | `LargeList` of what holds all elements |
//! | others, mixtures, nulls only | `LargeUtf8` with typed JSON |

use std::collections::HashMap;
use std::sync::Arc;

use arrow_array::builder::{LargeBinaryBuilder, LargeStringBuilder};
use arrow_array::{
    Array, ArrayRef, BooleanArray, Date32Array, Float64Array, Int64Array, LargeListArray,
    Time64NanosecondArray, TimestampMicrosecondArray, TimestampNanosecondArray,
};
use arrow_buffer::{NullBuffer, OffsetBuffer};
use arrow_schema::{DataType, Field, TimeUnit};
use telar_db::column::Column;
use telar_db::json::{Notation, Writer};
use telar_db::query::{EntityReader, ErrorKind, QueryError};
use telar_db::value::{CoordinateType, DateTime, LocalDateTime, NESTING_MAX};
use telar_db::{Value, ValueMap};

use crate::kind::{EXTENSION, JSON, NOTATION, TYPED, UTC};
use crate::reader::zone;
use crate::vectors;

/// In which units moments can be counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Units {
    /// Nanoseconds: each is within 1678 to 2262.
    nanos: bool,
    /// Microseconds: each is a whole number of them.
    micros: bool,
}

impl Units {
    fn of(at: &LocalDateTime) -> Self {
        let nanos = epoch_nanos(at);
        Self {
            nanos: i64::try_from(nanos).is_ok(),
            micros: nanos % 1_000 == 0 && i64::try_from(nanos / 1_000).is_ok(),
        }
    }

    fn both(self, other: Self) -> Self {
        Self { nanos: self.nanos && other.nanos, micros: self.micros && other.micros }
    }

    fn unit(self) -> Option<TimeUnit> {
        match self {
            Self { nanos: true, .. } => Some(TimeUnit::Nanosecond),
            Self { micros: true, .. } => Some(TimeUnit::Microsecond),
            _ => None,
        }
    }
}

fn epoch_nanos(at: &LocalDateTime) -> i128 {
    i128::from(at.epoch_second()) * 1_000_000_000 + i128::from(at.time().nanosecond())
}

/// The type of a column that holds each of its values exactly.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Shape {
    /// Nulls, so far.
    Nothing,
    /// Booleans.
    Bool,
    /// Integers.
    Int,
    /// Floats.
    Float,
    /// Strings.
    Text,
    /// Byte strings.
    Bytes,
    /// Dates.
    Date,
    /// Local times.
    LocalTime,
    /// Local dates and times.
    LocalDateTime(Units),
    /// Dates and times in a zone, or with an offset.
    Moment(Arc<str>, Units),
    /// Vectors of a coordinate type and dimension.
    Vector(CoordinateType, u16),
    /// Lists of elements of this shape.
    List(Box<Shape>),
    /// Anything, as typed JSON.
    Json,
}

/// The zone of a column that gives this value back exactly.
fn zone_of(at: &DateTime) -> Option<String> {
    let offset = at.offset().seconds();
    let name = match at.zone() {
        Some(name) => name.to_owned(),
        None if offset == 0 => UTC.to_owned(),
        None if offset % 60 != 0 => return None,
        None => {
            let (sign, minutes) = (if offset < 0 { '-' } else { '+' }, offset.abs() / 60);
            format!("{sign}{:02}:{:02}", minutes / 60, minutes % 60)
        }
    };
    let nanos = i64::from(at.time().nanosecond());
    let again = zone(&name).ok()?.at_instant(at.epoch_second(), nanos).ok()?;
    let same =
        (again.local(), again.offset(), again.zone()) == (at.local(), at.offset(), at.zone());
    same.then_some(name)
}

/// The moment as clocks at UTC show it.
fn utc(at: &DateTime) -> Option<LocalDateTime> {
    LocalDateTime::from_epoch(at.epoch_second(), i64::from(at.time().nanosecond())).ok()
}

impl Shape {
    /// The shape of a value.
    #[must_use]
    pub fn of(value: &Value) -> Self {
        Self::within(value, NESTING_MAX)
    }

    fn within(value: &Value, levels: u32) -> Self {
        match value {
            Value::Null => Self::Nothing,
            Value::Bool(_) => Self::Bool,
            Value::Int(_) => Self::Int,
            Value::Float(_) => Self::Float,
            Value::String(_) => Self::Text,
            Value::Bytes(_) => Self::Bytes,
            Value::Date(date) if i32::try_from(date.epoch_days()).is_ok() => Self::Date,
            Value::LocalTime(_) => Self::LocalTime,
            Value::LocalDateTime(at) => Self::LocalDateTime(Units::of(at)),
            Value::DateTime(at) => match (zone_of(at), utc(at)) {
                (Some(zone), Some(at)) => Self::Moment(zone.into(), Units::of(&at)),
                _ => Self::Json,
            },
            Value::Vector(v) => Self::Vector(v.coordinate_type(), v.dimension() as u16),
            Value::List(_) if levels == 0 => Self::Json,
            Value::List(list) => {
                let elements = list.iter().map(|element| Self::within(element, levels - 1));
                Self::List(Box::new(elements.fold(Self::Nothing, Self::join)))
            }
            _ => Self::Json,
        }
    }

    /// The shape that holds all values of a column.
    #[must_use]
    pub fn of_column(column: &Column) -> Self {
        match column {
            _ if column.is_empty() => Self::Nothing,
            Column::Bools(_) => Self::Bool,
            Column::Ints(_) => Self::Int,
            Column::Floats(_) => Self::Float,
            Column::Texts(_) => Self::Text,
            Column::Packed(texts) => match texts.iter().any(|text| text.is_some()) {
                true => Self::Text,
                false => Self::Nothing,
            },
            Column::Vertices(_) | Column::Edges(_) | Column::Maps(_) => Self::Json,
            Column::FloatLists(all) => {
                if let Some((ty, dimension)) = vectors::of_column(all) {
                    return Self::Vector(ty, dimension);
                }
                let some = (0..all.len()).filter(|row| !all.is_null(*row));
                let shapes = some.map(|row| match all.is_vector(row) {
                    true => Self::of(&all.value(row)),
                    false => Self::List(Box::new(Self::Float)),
                });
                shapes.fold(Self::Nothing, Self::join)
            }
            Column::Same(value, _) => Self::of(value),
            Column::Values(values) => values.iter().map(Self::of).fold(Self::Nothing, Self::join),
        }
    }

    /// The shape that holds the values of both.
    #[must_use]
    pub fn join(self, other: Self) -> Self {
        match (self, other) {
            (Self::Nothing, shape) | (shape, Self::Nothing) => shape,
            (Self::LocalDateTime(one), Self::LocalDateTime(other)) => {
                Self::LocalDateTime(one.both(other))
            }
            (Self::Moment(zone, one), Self::Moment(of, other)) if zone == of => {
                Self::Moment(zone, one.both(other))
            }
            (Self::List(one), Self::List(other)) => Self::List(Box::new(one.join(*other))),
            (one, other) if one == other => one,
            _ => Self::Json,
        }
    }

    /// The unit of timestamps; none for what is JSON.
    fn is_json(&self) -> bool {
        match self {
            Self::Nothing | Self::Json => true,
            Self::LocalDateTime(units) | Self::Moment(_, units) => units.unit().is_none(),
            _ => false,
        }
    }

    /// The field of a column of this shape.
    #[must_use]
    pub fn field(&self, name: &str) -> Field {
        let of = |data_type| Field::new(name, data_type, true);
        let timestamp = |units: &Units, zone| {
            of(DataType::Timestamp(units.unit().unwrap_or(TimeUnit::Nanosecond), zone))
        };
        match self {
            shape if shape.is_json() => {
                let entry = |key: &str, value: &str| (key.to_owned(), value.to_owned());
                let extension = entry(EXTENSION, JSON);
                let metadata = entry("ARROW:extension:metadata", "");
                let notation = entry(NOTATION, TYPED);
                of(DataType::LargeUtf8)
                    .with_metadata(HashMap::from([extension, metadata, notation]))
            }
            Self::Bool => of(DataType::Boolean),
            Self::Int => of(DataType::Int64),
            Self::Float => of(DataType::Float64),
            Self::Bytes => of(DataType::LargeBinary),
            Self::Date => of(DataType::Date32),
            Self::LocalTime => of(DataType::Time64(TimeUnit::Nanosecond)),
            Self::LocalDateTime(units) => timestamp(units, None),
            Self::Moment(zone, units) => timestamp(units, Some(Arc::clone(zone))),
            Self::Vector(ty, dimension) => vectors::field(name, (*ty, *dimension)),
            Self::List(inner) => of(DataType::LargeList(Arc::new(inner.field("item")))),
            Self::Text | Self::Nothing | Self::Json => of(DataType::LargeUtf8),
        }
    }

    /// The array of a column. `rows` tells what nodes and relationships in it are; they become
    /// maps.
    ///
    /// # Errors
    /// `MixedColumn` for a value that this shape does not hold exactly; those of reading nodes and
    /// relationships.
    pub fn array(
        &self,
        column: &Column,
        rows: Option<&dyn EntityReader>,
    ) -> Result<ArrayRef, QueryError> {
        let len = column.len();
        let values = || (0..len).map(|row| column.get(row));
        Ok(match (self, column) {
            (shape, _) if shape.is_json() => json(values(), rows)?,
            (Self::Int, Column::Ints(all)) => Arc::new(match all.full() {
                Some(all) => Int64Array::from(all.to_vec()),
                None => all.iter().collect::<Int64Array>(),
            }),
            (Self::Float, Column::Floats(all)) => Arc::new(match all.full() {
                Some(all) => Float64Array::from(all.to_vec()),
                None => all.iter().collect::<Float64Array>(),
            }),
            (Self::Bool, Column::Bools(all)) => Arc::new(all.iter().collect::<BooleanArray>()),
            (Self::Text, Column::Packed(all)) => texts(all.iter()),
            (Self::Text, Column::Texts(all)) => texts(all.iter().map(Option::as_deref)),
            (Self::Bool, _) => Arc::new(
                self.each(values(), |value| match value {
                    Value::Bool(is) => Some(*is),
                    _ => None,
                })
                .collect::<Result<BooleanArray, _>>()?,
            ),
            (Self::Int, _) => Arc::new(
                self.each(values(), |value| match value {
                    Value::Int(int) => Some(*int),
                    _ => None,
                })
                .collect::<Result<Int64Array, _>>()?,
            ),
            (Self::Float, _) => Arc::new(
                self.each(values(), |value| match value {
                    Value::Float(float) => Some(*float),
                    _ => None,
                })
                .collect::<Result<Float64Array, _>>()?,
            ),
            (Self::Date, _) => Arc::new(
                self.each(values(), |value| match value {
                    Value::Date(date) => i32::try_from(date.epoch_days()).ok(),
                    _ => None,
                })
                .collect::<Result<Date32Array, _>>()?,
            ),
            (Self::LocalTime, _) => Arc::new(
                self.each(values(), |value| match value {
                    Value::LocalTime(time) => Some(time.nanos_of_day()),
                    _ => None,
                })
                .collect::<Result<Time64NanosecondArray, _>>()?,
            ),
            (Self::LocalDateTime(units), _) => self.timestamps(*units, None, values())?,
            (Self::Moment(zone, units), _) => self.timestamps(*units, Some(zone), values())?,
            (Self::Text, _) => {
                let mut all = LargeStringBuilder::new();
                for value in values() {
                    match &value {
                        Value::String(text) => all.append_value(text),
                        Value::Null => all.append_null(),
                        other => return Err(self.mixed(other)),
                    }
                }
                Arc::new(all.finish())
            }
            (Self::Bytes, _) => {
                let mut all = LargeBinaryBuilder::new();
                for value in values() {
                    match &value {
                        Value::Bytes(bytes) => all.append_value(bytes),
                        Value::Null => all.append_null(),
                        other => return Err(self.mixed(other)),
                    }
                }
                Arc::new(all.finish())
            }
            (Self::Vector(ty, dimension), _) => {
                vectors::array((*ty, *dimension), column).map_err(|other| self.mixed(&other))?
            }
            (Self::List(inner), _) => self.lists(inner, values(), rows)?,
            (Self::Nothing | Self::Json, _) => unreachable!("INVARIANT: these are JSON"),
        })
    }

    /// What `f` makes of each value that is not null.
    fn each<'a, T>(
        &'a self,
        values: impl Iterator<Item = Value> + 'a,
        f: impl Fn(&Value) -> Option<T> + 'a,
    ) -> impl Iterator<Item = Result<Option<T>, QueryError>> + 'a {
        values.map(move |value| match (&value, f(&value)) {
            (Value::Null, _) => Ok(None),
            (_, Some(x)) => Ok(Some(x)),
            (other, None) => Err(self.mixed(other)),
        })
    }

    fn mixed(&self, value: &Value) -> QueryError {
        let message = format!(
            "a column of a file has one type, which its first rows decide: it began as {}, and now \
             there is a {}; convert it in the query",
            self.name(),
            value.type_name()
        );
        QueryError::runtime(ErrorKind::Type, "MixedColumn", message)
    }

    fn name(&self) -> String {
        match self {
            Self::Vector(ty, dimension) => format!("VECTOR<{ty}>({dimension})"),
            Self::List(inner) => format!("LIST of {}", inner.name()),
            Self::LocalDateTime(_) => "LOCAL DATETIME".to_owned(),
            Self::Moment(zone, _) => format!("ZONED DATETIME in {zone}"),
            other => format!("{other:?}").to_uppercase(),
        }
    }

    fn timestamps(
        &self,
        units: Units,
        zone: Option<&Arc<str>>,
        values: impl Iterator<Item = Value>,
    ) -> Result<ArrayRef, QueryError> {
        let nanos = units.unit() == Some(TimeUnit::Nanosecond);
        let count = |value: &Value| {
            let (at, fits) = match (value, zone) {
                (Value::LocalDateTime(at), None) => (*at, true),
                (Value::DateTime(at), Some(zone)) => {
                    (utc(at)?, zone_of(at).as_deref() == Some(&**zone))
                }
                _ => return None,
            };
            let (all, own) = (epoch_nanos(&at), Units::of(&at));
            match nanos {
                true => i64::try_from(all).ok(),
                false if own.micros => i64::try_from(all / 1_000).ok(),
                false => None,
            }
            .filter(|_| fits)
        };
        let counts = self.each(values, count);
        let zone = zone.map(Arc::clone);
        Ok(match nanos {
            true => {
                let all = counts.collect::<Result<TimestampNanosecondArray, _>>()?;
                Arc::new(all.with_timezone_opt(zone))
            }
            false => {
                let all = counts.collect::<Result<TimestampMicrosecondArray, _>>()?;
                Arc::new(all.with_timezone_opt(zone))
            }
        })
    }

    fn lists(
        &self,
        inner: &Self,
        values: impl Iterator<Item = Value>,
        rows: Option<&dyn EntityReader>,
    ) -> Result<ArrayRef, QueryError> {
        let (mut elements, mut lengths, mut valid) = (Vec::new(), Vec::new(), Vec::new());
        for value in values {
            match &value {
                Value::List(list) => {
                    elements.extend(list.iter().cloned());
                    lengths.push(list.len());
                }
                Value::Null => lengths.push(0),
                other => return Err(self.mixed(other)),
            }
            valid.push(!value.is_null());
        }
        let elements = inner.array(&Column::of(elements), rows)?;
        let (field, offsets) = (Arc::new(inner.field("item")), OffsetBuffer::from_lengths(lengths));
        let nulls = NullBuffer::from(valid);
        let nulls = (nulls.null_count() > 0).then_some(nulls);
        let list = LargeListArray::try_new(field, offsets, elements, nulls);
        let list =
            list.map_err(|e| QueryError::runtime(ErrorKind::Database, "Arrow", e.to_string()))?;
        debug_assert_eq!(list.data_type(), self.field("").data_type());
        Ok(Arc::new(list))
    }
}

fn texts<'t>(all: impl Iterator<Item = Option<&'t str>>) -> ArrayRef {
    let mut texts = LargeStringBuilder::new();
    all.for_each(|text| texts.append_option(text));
    Arc::new(texts.finish())
}

fn json(
    values: impl Iterator<Item = Value>,
    rows: Option<&dyn EntityReader>,
) -> Result<ArrayRef, QueryError> {
    let mut all = LargeStringBuilder::new();
    let mut text = Vec::new();
    for value in values {
        if value.is_null() {
            all.append_null();
            continue;
        }
        text.clear();
        let writer = Writer { notation: Notation::Typed, rows: None, begin: 0 };
        writer.value(&mut text, &resolved(value, rows)?)?;
        all.append_value(str::from_utf8(&text).expect("INVARIANT: JSON is UTF-8"));
    }
    Ok(Arc::new(all.finish()))
}

/// The value with maps for nodes, relationships and paths in it: a file has no others to name.
///
/// # Errors
/// Those of reading them.
pub fn resolved(value: Value, rows: Option<&dyn EntityReader>) -> Result<Value, QueryError> {
    use telar_db::query::{element_id_of_edge, element_id_of_vertex};
    let properties = |map: &ValueMap| Value::Map(Arc::new(map.clone()));
    Ok(match &value {
        Value::Vertex(vertex) => {
            let node = rows.map(|rows| rows.node(*vertex)).transpose()?.unwrap_or_default();
            Value::map([
                ("elementId", Value::from(element_id_of_vertex(*vertex))),
                ("labels", Value::list(node.labels.iter().map(|label| Value::from(&**label)))),
                ("properties", properties(&node.properties)),
            ])
        }
        Value::Edge(edge) => {
            let found = rows.map(|rows| rows.relationship(**edge)).transpose()?;
            let found = found.unwrap_or_default();
            Value::map([
                ("elementId", Value::from(element_id_of_edge(edge))),
                ("startNodeElementId", Value::from(element_id_of_vertex(edge.src))),
                ("endNodeElementId", Value::from(element_id_of_vertex(edge.dst))),
                ("type", Value::from(&*found.ty)),
                ("properties", properties(&found.properties)),
            ])
        }
        Value::Path(path) => {
            let mut all = Vec::new();
            let mut edges = path.edges().iter();
            for vertex in path.vertices() {
                all.push(resolved(Value::Vertex(*vertex), rows)?);
                if let Some(edge) = edges.next() {
                    all.push(resolved(Value::Edge(Arc::new(*edge)), rows)?);
                }
            }
            Value::List(all.into())
        }
        Value::List(list) if !value.is_storable() => {
            let list = list.iter().map(|element| resolved(element.clone(), rows));
            Value::List(list.collect::<Result<Vec<_>, _>>()?.into())
        }
        Value::Map(map) if !value.is_storable() => {
            let entry = |(key, value): (&Arc<str>, &Value)| {
                Ok((Arc::clone(key), resolved(value.clone(), rows)?))
            };
            Value::Map(Arc::new(map.iter().map(entry).collect::<Result<ValueMap, QueryError>>()?))
        }
        _ => value,
    })
}
