//! Arrow arrays as columns of Telar: what comes from data frames and files.
//!
//! | Arrow | values |
//! |---|---|
//! | `Null` | nulls |
//! | `Boolean` | booleans |
//! | integers of all widths | integers; a `UInt64` beyond 64 bits with sign is an error |
//! | floats of all widths | floats |
//! | decimals | floats, integers if there are no places; an error if a digit is lost |
//! | `Utf8`, `LargeUtf8`, `Utf8View` | strings |
//! | the same with the extension `arrow.json` | what the JSON says |
//! | binary of all kinds | byte strings; with the extension `arrow.uuid` a string |
//! | `Date32`, `Date64` | dates |
//! | `Time32`, `Time64` | local times |
//! | `Timestamp` without and with a zone | local dates and times, dates and times in that zone |
//! | `Duration`, `Interval` | durations |
//! | lists of all kinds | lists |
//! | `Struct`, `Map` | maps; the keys of a `Map` are strings |
//! | dictionaries | the values that the keys stand for |
//!
//! Others (unions, run ends) are the error `ArrowType`; a value out of range is `ArrowValue`, with
//! its row. Numbers without nulls are copied as one piece of memory, texts one behind the other.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{
    ArrowPrimitiveType, Date32Type, Date64Type, Decimal32Type, Decimal64Type, Decimal128Type,
    Decimal256Type, DecimalType, DurationMicrosecondType, DurationMillisecondType,
    DurationNanosecondType, DurationSecondType, Float16Type, Float32Type, Float64Type, Int8Type,
    Int16Type, Int32Type, Int64Type, IntervalDayTimeType, IntervalMonthDayNanoType,
    IntervalYearMonthType, Time32MillisecondType, Time32SecondType, Time64MicrosecondType,
    Time64NanosecondType, TimestampMicrosecondType, TimestampMillisecondType,
    TimestampNanosecondType, TimestampSecondType, UInt8Type, UInt16Type, UInt32Type, UInt64Type,
};
use arrow_array::{Array, OffsetSizeTrait, PrimitiveArray, RecordBatch};
use arrow_schema::{DataType, Field, FieldRef, IntervalUnit, TimeUnit};
use telar_db::column::{Column, FloatBlock, Nullable, PackedTexts};
use telar_db::json::{Notation, read_value};
use telar_db::query::function::temporal::Zone;
use telar_db::query::{ErrorKind, QueryError};
use telar_db::value::{Date, Duration, LocalDateTime, LocalTime, NESTING_MAX};
use telar_db::{Value, ValueMap};

use crate::kind::{EXTENSION, JSON, NOTATION, TYPED};
use crate::vectors;

/// The values of an array. The field says what its type does not: whether texts are JSON.
///
/// # Errors
/// `ArrowType` for a type without a counterpart, `ArrowValue` for a value out of range.
pub fn column(array: &dyn Array, field: &Field) -> Result<Column, QueryError> {
    read(array, field, NESTING_MAX)
}

/// The columns of a record batch, in the order of its schema.
///
/// # Errors
/// As [`column()`].
pub fn columns(batch: &RecordBatch) -> Result<Vec<Column>, QueryError> {
    let schema = batch.schema_ref();
    batch.columns().iter().zip(schema.fields()).map(|(a, f)| column(a.as_ref(), f)).collect()
}

fn wrong_type(field: &Field, what: &str) -> QueryError {
    let message = format!("column '{}': {what}", field.name());
    QueryError::runtime(ErrorKind::Type, "ArrowType", message)
}

fn wrong_value(field: &Field, row: usize, what: impl std::fmt::Display) -> QueryError {
    let message = format!("column '{}', row {}: {what}", field.name(), row + 1);
    QueryError::runtime(ErrorKind::Argument, "ArrowValue", message)
}

/// Numbers that every value of the array has a counterpart among.
fn numbers<T: ArrowPrimitiveType, U: Copy + Default>(
    array: &dyn Array,
    f: impl Fn(T::Native) -> U,
) -> Nullable<U> {
    let array: &PrimitiveArray<T> = array.as_primitive();
    match array.null_count() {
        0 => array.values().iter().map(|x| f(*x)).collect::<Vec<_>>().into(),
        _ => array.iter().map(|x| x.map(&f)).collect(),
    }
}

/// The same values, in the memory of the new column.
fn copied<T: ArrowPrimitiveType<Native: Default>>(array: &dyn Array) -> Nullable<T::Native> {
    let array: &PrimitiveArray<T> = array.as_primitive();
    match array.null_count() {
        0 => array.values().to_vec().into(),
        _ => array.iter().collect(),
    }
}

/// Values through a conversion that can fail.
fn converted<T: ArrowPrimitiveType, E: std::fmt::Display>(
    array: &dyn Array,
    field: &Field,
    f: impl Fn(T::Native) -> Result<Value, E>,
) -> Result<Column, QueryError> {
    let array: &PrimitiveArray<T> = array.as_primitive();
    let value = |(row, x): (usize, Option<T::Native>)| match x {
        None => Ok(Value::Null),
        Some(x) => f(x).map_err(|e| wrong_value(field, row, e)),
    };
    array.iter().enumerate().map(value).collect::<Result<Vec<_>, _>>().map(Column::of)
}

fn packed<'t>(texts: impl Iterator<Item = Option<&'t str>>) -> Column {
    Column::Packed(texts.collect::<PackedTexts>())
}

fn bytes<'b>(all: impl Iterator<Item = Option<&'b [u8]>>, field: &Field) -> Column {
    let uuid = extension(field) == Some("arrow.uuid");
    let value = |bytes: Option<&[u8]>| match bytes {
        None => Value::Null,
        Some(bytes) if uuid && bytes.len() == 16 => Value::from(uuid_text(bytes)),
        Some(bytes) => Value::from(bytes),
    };
    Column::of(all.map(value).collect())
}

fn uuid_text(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(36);
    for (at, byte) in bytes.iter().enumerate() {
        if matches!(at, 4 | 6 | 8 | 10) {
            text.push('-');
        }
        text.push_str(&format!("{byte:02x}"));
    }
    text
}

fn extension(field: &Field) -> Option<&str> {
    field.metadata().get(EXTENSION).map(String::as_str)
}

/// Values that are written as JSON, if the field says so.
fn json<'t>(
    field: &Field,
    texts: impl Iterator<Item = Option<&'t str>>,
) -> Result<Column, QueryError> {
    let typed = field.metadata().get(NOTATION).is_some_and(|notation| notation == TYPED);
    let notation = if typed { Notation::Typed } else { Notation::Plain };
    let value = |(row, text): (usize, Option<&str>)| match text {
        None => Ok(Value::Null),
        Some(text) => read_value(notation, text.as_bytes())
            .map_err(|e| wrong_value(field, row, format!("not {notation:?} JSON: {e}"))),
    };
    texts.enumerate().map(value).collect::<Result<Vec<_>, _>>().map(Column::of)
}

fn texts<'t>(
    field: &Field,
    texts: impl Iterator<Item = Option<&'t str>>,
) -> Result<Column, QueryError> {
    match extension(field) {
        Some(JSON) => json(field, texts),
        _ => Ok(packed(texts)),
    }
}

/// Decimals: whole numbers if the type has no places behind the point.
fn decimals<T: DecimalType>(
    array: &dyn Array,
    field: &Field,
    scale: i8,
) -> Result<Column, QueryError> {
    let array: &PrimitiveArray<T> = array.as_primitive();
    let places = usize::try_from(scale).unwrap_or_default();
    let value = |row: usize| {
        if array.is_null(row) {
            return Ok(Value::Null);
        }
        let text = array.value_as_string(row);
        if places == 0 {
            let lost = || wrong_value(field, row, format!("{text} is not a 64-bit integer"));
            return text.parse().map(Value::Int).map_err(|_| lost());
        }
        let lost = || wrong_value(field, row, format!("no float is {text}; cast it to text"));
        let float: f64 = text.parse().map_err(|_| lost())?;
        // The float is the decimal again, to its last digit.
        if format!("{float:.places$}") == text { Ok(Value::Float(float)) } else { Err(lost()) }
    };
    (0..array.len()).map(value).collect::<Result<Vec<_>, _>>().map(Column::of)
}

/// So many units are a second, and a unit is so many nanoseconds.
fn parts(unit: TimeUnit) -> (i64, i64) {
    match unit {
        TimeUnit::Second => (1, 1_000_000_000),
        TimeUnit::Millisecond => (1_000, 1_000_000),
        TimeUnit::Microsecond => (1_000_000, 1_000),
        TimeUnit::Nanosecond => (1_000_000_000, 1),
    }
}

/// Seconds and the nanoseconds behind them.
fn split(count: i64, unit: TimeUnit) -> (i64, i64) {
    let (per_second, nanos) = parts(unit);
    (count.div_euclid(per_second), count.rem_euclid(per_second) * nanos)
}

fn local_time(count: i64, unit: TimeUnit) -> Result<Value, String> {
    let nanos = count.checked_mul(parts(unit).1);
    let time = nanos.and_then(|nanos| LocalTime::from_nanos_of_day(nanos).ok());
    time.map(Value::LocalTime).ok_or_else(|| format!("{count} {unit:?}s are no time of a day"))
}

/// The zone of a column of timestamps. The name that Arrow has for no zone is UTC.
pub(crate) fn zone(name: &str) -> Result<Zone, String> {
    match name {
        "UTC" | "Z" => Ok(Zone::UTC),
        name => Zone::parse(name).map_err(|e| e.message),
    }
}

fn timestamps<T: ArrowPrimitiveType<Native = i64>>(
    array: &dyn Array,
    field: &Field,
    unit: TimeUnit,
    name: Option<&str>,
) -> Result<Column, QueryError> {
    let zone = name.map(zone).transpose().map_err(|e| wrong_type(field, &e))?;
    converted::<T, String>(array, field, |count| {
        let (seconds, nanos) = split(count, unit);
        Ok(match &zone {
            None => LocalDateTime::from_epoch(seconds, nanos).map_err(|e| e.to_string())?.into(),
            Some(zone) => zone.at_instant(seconds, nanos).map_err(|e| e.message)?.into(),
        })
    })
}

fn durations<T: ArrowPrimitiveType<Native = i64>>(
    array: &dyn Array,
    field: &Field,
    unit: TimeUnit,
) -> Result<Column, QueryError> {
    converted::<T, _>(array, field, |count| {
        let (seconds, nanos) = split(count, unit);
        Duration::new(0, 0, seconds, nanos).map(Value::from)
    })
}

fn intervals(array: &dyn Array, field: &Field, unit: IntervalUnit) -> Result<Column, QueryError> {
    let value = |duration: Result<Duration, _>| duration.map(Value::from);
    match unit {
        IntervalUnit::YearMonth => converted::<IntervalYearMonthType, _>(array, field, |x| {
            value(Duration::new(i64::from(x), 0, 0, 0))
        }),
        IntervalUnit::DayTime => converted::<IntervalDayTimeType, _>(array, field, |x| {
            let (seconds, nanos) = split(i64::from(x.milliseconds), TimeUnit::Millisecond);
            value(Duration::new(0, i64::from(x.days), seconds, nanos))
        }),
        IntervalUnit::MonthDayNano => converted::<IntervalMonthDayNanoType, _>(array, field, |x| {
            let (seconds, nanos) = split(x.nanoseconds, TimeUnit::Nanosecond);
            value(Duration::new(i64::from(x.months), i64::from(x.days), seconds, nanos))
        }),
    }
}

/// Rows of elements: of each row where its elements are, none if it is null.
fn lists(
    elements: &Column,
    ranges: impl Iterator<Item = Option<(usize, usize)>> + Clone,
) -> Column {
    if let Some(packed) = float_lists(elements, ranges.clone()) {
        return packed;
    }
    let list = |(from, to)| Value::List((from..to).map(|row| elements.get(row)).collect());
    Column::of(ranges.map(|range| range.map_or(Value::Null, list)).collect())
}

/// Rows of floats, if all of them are of one length and none of their numbers is null.
fn float_lists(
    elements: &Column,
    ranges: impl Iterator<Item = Option<(usize, usize)>> + Clone,
) -> Option<Column> {
    let floats = elements.floats()?;
    let (from, to) = ranges.clone().flatten().next()?;
    let length = to - from;
    if ranges.clone().flatten().any(|(from, to)| to - from != length) {
        return None;
    }
    let mut numbers = Vec::with_capacity(floats.len());
    ranges.clone().flatten().for_each(|(from, to)| numbers.extend_from_slice(&floats[from..to]));
    let block = Arc::new(FloatBlock::of_numbers(length, numbers)?);
    let mut next = 0..;
    let places: Vec<Option<u32>> = ranges.map(|range| range.and_then(|_| next.next())).collect();
    let mut column = Column::default();
    column.extend_float_lists(&block, places.into_iter());
    Some(column)
}

fn list_ranges<O: OffsetSizeTrait>(
    array: &dyn Array,
) -> impl Iterator<Item = Option<(usize, usize)>> + Clone {
    let list = array.as_list::<O>();
    let offsets = list.value_offsets();
    (0..list.len()).map(move |row| {
        list.is_valid(row).then(|| (offsets[row].as_usize(), offsets[row + 1].as_usize()))
    })
}

fn view_ranges<O: OffsetSizeTrait>(
    array: &dyn Array,
) -> impl Iterator<Item = Option<(usize, usize)>> + Clone {
    let list = array.as_list_view::<O>();
    let (offsets, sizes) = (list.value_offsets(), list.value_sizes());
    (0..list.len()).map(move |row| {
        let from = offsets[row].as_usize();
        list.is_valid(row).then(|| (from, from + sizes[row].as_usize()))
    })
}

fn structs(array: &dyn Array, fields: &[FieldRef], levels: u32) -> Result<Column, QueryError> {
    let array = array.as_struct();
    let parts = array.columns().iter().zip(fields);
    let parts: Vec<(Arc<str>, Column)> = parts
        .map(|(part, field)| Ok((Arc::from(field.name().as_str()), read(part, field, levels)?)))
        .collect::<Result<_, QueryError>>()?;
    let map = |row| {
        let entries = parts.iter().map(|(name, part)| (Arc::clone(name), part.get(row)));
        Value::Map(Arc::new(entries.collect::<ValueMap>()))
    };
    let value = |row| if array.is_null(row) { Value::Null } else { map(row) };
    Ok(Column::of((0..array.len()).map(value).collect()))
}

fn maps(array: &dyn Array, field: &Field, levels: u32) -> Result<Column, QueryError> {
    let array = array.as_map();
    let DataType::Struct(fields) = array.entries().data_type() else {
        return Err(wrong_type(field, "a map without keys and values"));
    };
    let [key_field, value_field] = &fields[..] else {
        return Err(wrong_type(field, "a map without keys and values"));
    };
    let keys = read(array.keys(), key_field, levels)?;
    let values = read(array.values(), value_field, levels)?;
    let offsets = array.value_offsets();
    let value = |row: usize| {
        if array.is_null(row) {
            return Ok(Value::Null);
        }
        let mut map = ValueMap::new();
        for at in offsets[row] as usize..offsets[row + 1] as usize {
            let Value::String(key) = keys.get(at) else {
                return Err(wrong_value(field, row, "a key of the map is not a string"));
            };
            map.insert(key, values.get(at));
        }
        Ok(Value::Map(Arc::new(map)))
    };
    (0..array.len()).map(value).collect::<Result<Vec<_>, _>>().map(Column::of)
}

/// Each value of the dictionary is made once and shared.
fn dictionary(array: &dyn Array, field: &Field, levels: u32) -> Result<Column, QueryError> {
    let array = array.as_any_dictionary();
    let (keys, count) = (array.keys(), array.values().len());
    if count == 0 || keys.null_count() == keys.len() {
        return Ok(Column::nulls(keys.len()));
    }
    let inner = field.clone().with_data_type(array.values().data_type().clone());
    let mut values = read(array.values().as_ref(), &inner, levels)?;
    if let Column::Packed(texts) = &values {
        values = Column::Texts(texts.iter().map(|text| text.map(Arc::from)).collect());
    }
    values.push(Value::Null);
    let places = array.normalized_keys().into_iter().enumerate();
    let place = |(row, key)| if keys.is_null(row) { count as u32 } else { key as u32 };
    Ok(values.gather(&places.map(place).collect::<Vec<u32>>()))
}

fn read(array: &dyn Array, field: &Field, levels: u32) -> Result<Column, QueryError> {
    use TimeUnit::{Microsecond, Millisecond, Nanosecond, Second};
    let deep = || wrong_type(field, &format!("nests deeper than {NESTING_MAX} levels"));
    let below = || levels.checked_sub(1).ok_or_else(deep);
    Ok(match array.data_type() {
        DataType::Null => Column::nulls(array.len()),
        DataType::Boolean => Column::Bools(array.as_boolean().iter().collect()),
        DataType::Int8 => Column::Ints(numbers::<Int8Type, _>(array, i64::from)),
        DataType::Int16 => Column::Ints(numbers::<Int16Type, _>(array, i64::from)),
        DataType::Int32 => Column::Ints(numbers::<Int32Type, _>(array, i64::from)),
        DataType::Int64 => Column::Ints(copied::<Int64Type>(array)),
        DataType::UInt8 => Column::Ints(numbers::<UInt8Type, _>(array, i64::from)),
        DataType::UInt16 => Column::Ints(numbers::<UInt16Type, _>(array, i64::from)),
        DataType::UInt32 => Column::Ints(numbers::<UInt32Type, _>(array, i64::from)),
        DataType::UInt64 => converted::<UInt64Type, _>(array, field, Value::try_from)?,
        DataType::Float16 => Column::Floats(numbers::<Float16Type, _>(array, |x| x.to_f64())),
        DataType::Float32 => Column::Floats(numbers::<Float32Type, _>(array, f64::from)),
        DataType::Float64 => Column::Floats(copied::<Float64Type>(array)),
        DataType::Decimal32(_, scale) => decimals::<Decimal32Type>(array, field, *scale)?,
        DataType::Decimal64(_, scale) => decimals::<Decimal64Type>(array, field, *scale)?,
        DataType::Decimal128(_, scale) => decimals::<Decimal128Type>(array, field, *scale)?,
        DataType::Decimal256(_, scale) => decimals::<Decimal256Type>(array, field, *scale)?,
        DataType::Utf8 => texts(field, array.as_string::<i32>().iter())?,
        DataType::LargeUtf8 => texts(field, array.as_string::<i64>().iter())?,
        DataType::Utf8View => texts(field, array.as_string_view().iter())?,
        DataType::Binary => bytes(array.as_binary::<i32>().iter(), field),
        DataType::LargeBinary => bytes(array.as_binary::<i64>().iter(), field),
        DataType::BinaryView => bytes(array.as_binary_view().iter(), field),
        DataType::FixedSizeBinary(_) => bytes(array.as_fixed_size_binary().iter(), field),
        DataType::Date32 => converted::<Date32Type, _>(array, field, |days| {
            Date::from_epoch_days(i64::from(days)).map(Value::Date)
        })?,
        DataType::Date64 => converted::<Date64Type, _>(array, field, |millis| {
            Date::from_epoch_days(millis.div_euclid(86_400_000)).map(Value::Date)
        })?,
        DataType::Time32(Second) => {
            converted::<Time32SecondType, _>(array, field, |x| local_time(i64::from(x), Second))?
        }
        DataType::Time32(_) => converted::<Time32MillisecondType, _>(array, field, |x| {
            local_time(i64::from(x), Millisecond)
        })?,
        DataType::Time64(Nanosecond) => {
            converted::<Time64NanosecondType, _>(array, field, |x| local_time(x, Nanosecond))?
        }
        DataType::Time64(_) => {
            converted::<Time64MicrosecondType, _>(array, field, |x| local_time(x, Microsecond))?
        }
        DataType::Timestamp(unit, zone) => {
            let zone = zone.as_deref();
            match unit {
                Second => timestamps::<TimestampSecondType>(array, field, Second, zone)?,
                Millisecond => {
                    timestamps::<TimestampMillisecondType>(array, field, Millisecond, zone)?
                }
                Microsecond => {
                    timestamps::<TimestampMicrosecondType>(array, field, Microsecond, zone)?
                }
                Nanosecond => {
                    timestamps::<TimestampNanosecondType>(array, field, Nanosecond, zone)?
                }
            }
        }
        DataType::Duration(unit) => match unit {
            Second => durations::<DurationSecondType>(array, field, Second)?,
            Millisecond => durations::<DurationMillisecondType>(array, field, Millisecond)?,
            Microsecond => durations::<DurationMicrosecondType>(array, field, Microsecond)?,
            Nanosecond => durations::<DurationNanosecondType>(array, field, Nanosecond)?,
        },
        DataType::Interval(unit) => intervals(array, field, *unit)?,
        DataType::List(inner) => {
            let elements = read(array.as_list::<i32>().values(), inner, below()?)?;
            lists(&elements, list_ranges::<i32>(array))
        }
        DataType::LargeList(inner) => {
            let elements = read(array.as_list::<i64>().values(), inner, below()?)?;
            lists(&elements, list_ranges::<i64>(array))
        }
        DataType::ListView(inner) => {
            let elements = read(array.as_list_view::<i32>().values(), inner, below()?)?;
            lists(&elements, view_ranges::<i32>(array))
        }
        DataType::LargeListView(inner) => {
            let elements = read(array.as_list_view::<i64>().values(), inner, below()?)?;
            lists(&elements, view_ranges::<i64>(array))
        }
        DataType::FixedSizeList(..) if let Some(vectors) = vectors::column(array, field) => vectors,
        DataType::FixedSizeList(inner, _) => {
            let list = array.as_fixed_size_list();
            let elements = read(list.values(), inner, below()?)?;
            let (first, size) = (list.value_offset_at(0), list.value_length() as usize);
            let range = |row| (first + row * size, first + (row + 1) * size);
            lists(&elements, (0..list.len()).map(|row| list.is_valid(row).then(|| range(row))))
        }
        DataType::Struct(fields) => structs(array, fields, below()?)?,
        DataType::Map(..) => maps(array, field, below()?)?,
        DataType::Dictionary(..) => dictionary(array, field, below()?)?,
        other => return Err(wrong_type(field, &format!("Telar has no values of type {other}"))),
    })
}
