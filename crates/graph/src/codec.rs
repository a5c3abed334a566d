//! Binary form of a [`Value`] in the log and in checkpoints.
//!
//! Layout: one tag byte, then a payload without padding.
//!
//! ```text
//!  tag                payload
//!  ├────┤
//!   0x00  null        -
//!   0x01  false       -
//!   0x02  true        -
//!   0x03  integer     zz
//!   0x04  float       IEEE 754 bits, 8 bytes little-endian
//!   0x05  string      text
//!   0x06  bytes       var length │ bytes
//!   0x07  list        var count  │ count × value
//!   0x08  map         var count  │ count × (text key │ value), keys strictly ascending
//!   0x09  date        zz days since 1970-01-01
//!   0x0a  local time  var nanoseconds of the day
//!   0x0b  time        var nanoseconds of the day │ zz offset in seconds
//!   0x0c  local date and time
//!                     zz days │ var nanoseconds of the day
//!   0x0d  date and time
//!                     zz days │ var nanoseconds of the day │ zz offset in seconds
//!   0x0e  date and time in a named zone
//!                     as 0x0d │ text zone
//!   0x0f  duration    zz months │ zz days │ zz seconds │ var nanoseconds below 10^9
//!   0x10  point       SRID, 2 bytes little-endian │ 2 or 3 × float bits, 8 bytes little-endian
//!   0x11  vector      coordinate type, 0 to 5 (INTEGER8, 16, 32, 64, FLOAT32, 64) │ var dimension
//!                     │ coordinates of 1 to 8 bytes, little-endian
//!
//!  var = varint, zz = zigzag varint (see varint.rs), text = var length │ UTF-8
//! ```
//!
//! Tags are never renumbered; a new type takes the next one. The days of 0x0d and 0x0e are those of
//! the local date.
//!
//! Invariants: a value has one encoding, except that floats keep their bits (`-0.0`, NaN payloads).
//! Lists and maps nest at most [`NESTING_MAX`] deep. Decoding accepts nothing else: it returns an
//! error on any other input, never panics, and holds memory at most a constant factor above the
//! bytes it has read (a null is one byte here and 24 in memory).
//!
//! Cost: linear in the encoded length; one allocation per text and byte string, two per list, one
//! per node of a map.
//!
//! ```
//! use telar_graph::{Value, codec};
//!
//! let value = Value::list(["warp", "weft"]);
//! let mut bytes = Vec::new();
//! codec::encode(&value, &mut bytes)?;
//! assert_eq!(codec::decode(&mut &bytes[..])?, value);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod reader;
mod varint;

use std::sync::Arc;

use reader::Reader;

pub use varint::{VARINT_BYTES_MAX, get_varint, get_varint_signed, put_varint, put_varint_signed};

use crate::value::{
    ByteOrder, CoordinateType, Date, DateTime, Duration, LocalDateTime, LocalTime, NESTING_MAX,
    Point, Srid, Time, UtcOffset, Value, ValueMap, Vector,
};

mod tag {
    pub(super) const NULL: u8 = 0x00;
    pub(super) const FALSE: u8 = 0x01;
    pub(super) const TRUE: u8 = 0x02;
    pub(super) const INT: u8 = 0x03;
    pub(super) const FLOAT: u8 = 0x04;
    pub(super) const STRING: u8 = 0x05;
    pub(super) const BYTES: u8 = 0x06;
    pub(super) const LIST: u8 = 0x07;
    pub(super) const MAP: u8 = 0x08;
    pub(super) const DATE: u8 = 0x09;
    pub(super) const LOCAL_TIME: u8 = 0x0a;
    pub(super) const TIME: u8 = 0x0b;
    pub(super) const LOCAL_DATE_TIME: u8 = 0x0c;
    pub(super) const DATE_TIME: u8 = 0x0d;
    pub(super) const DATE_TIME_ZONE: u8 = 0x0e;
    pub(super) const DURATION: u8 = 0x0f;
    pub(super) const POINT: u8 = 0x10;
    pub(super) const VECTOR: u8 = 0x11;
}

/// Elements a list is given room for before any has been read. More room comes with the elements,
/// so that a false count costs at most 64 × 24 bytes per level of nesting.
const RESERVED_ELEMENTS_MAX: usize = 64;

/// Why a value cannot be stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum EncodeError {
    /// It nests deeper than [`NESTING_MAX`] and would not be readable again.
    #[error("lists and maps nest deeper than {NESTING_MAX} levels")]
    Nesting,
    /// It is or contains a vertex, an edge or a path, which mean something at one snapshot only.
    #[error("a {0} cannot be stored")]
    NotStorable(&'static str),
}

/// Why bytes are not an encoded value. `at` counts bytes from the start of the input.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum DecodeError {
    /// The input ends inside a value, or a length reaches beyond its end.
    #[error("input ends inside the value, at byte {at}")]
    Truncated {
        /// Where more was expected.
        at: usize,
    },
    /// No type has this tag.
    #[error("unknown tag {found:#04x} at byte {at}")]
    Tag {
        /// Where the tag stands.
        at: usize,
        /// The tag.
        found: u8,
    },
    /// A varint is beyond 64 bits or longer than necessary.
    #[error("malformed varint at byte {at}")]
    Varint {
        /// Where the varint starts.
        at: usize,
    },
    /// Text is not UTF-8.
    #[error("text at byte {at} is not UTF-8")]
    Utf8 {
        /// Where the text starts.
        at: usize,
    },
    /// A field is outside the range of its type.
    #[error("{field} at byte {at} is out of range")]
    Range {
        /// Where the value starts.
        at: usize,
        /// The field, in words.
        field: &'static str,
    },
    /// The keys of a map are not strictly ascending.
    #[error("map key at byte {at} is not above the key before it")]
    KeyOrder {
        /// Where the key starts.
        at: usize,
    },
    /// Lists and maps nest deeper than [`NESTING_MAX`].
    #[error("lists and maps nest deeper than {NESTING_MAX} levels at byte {at}")]
    Nesting {
        /// Where the list or map that is too deep starts.
        at: usize,
    },
}

/// Appends the encoding of `value` to `out`.
///
/// # Errors
///
/// [`EncodeError`]; `out` is then as it was before.
pub fn encode(value: &Value, out: &mut Vec<u8>) -> Result<(), EncodeError> {
    let start = out.len();
    let result = encode_nested(value, NESTING_MAX, out);
    if result.is_err() {
        out.truncate(start);
    }
    result
}

/// Reads one value and advances `input` past it; on error `input` stays.
///
/// # Errors
///
/// [`DecodeError`] when the input does not start with a well-formed value.
pub fn decode(input: &mut &[u8]) -> Result<Value, DecodeError> {
    Reader::run(input, |reader| decode_nested(reader, NESTING_MAX))
}

/// Advances `input` past one value without building it; on error `input` stays.
///
/// Checks the structure only: it may pass over text that is not UTF-8, fields out of range and
/// unsorted keys, for which [`decode`] returns an error.
///
/// # Errors
///
/// [`DecodeError`] when the end of the value cannot be found.
pub fn skip(input: &mut &[u8]) -> Result<(), DecodeError> {
    Reader::run(input, |reader| skip_nested(reader, NESTING_MAX))
}

fn put_text(text: &str, out: &mut Vec<u8>) {
    put_bytes(text.as_bytes(), out);
}

fn put_bytes(bytes: &[u8], out: &mut Vec<u8>) {
    put_varint(bytes.len() as u64, out);
    out.extend_from_slice(bytes);
}

fn put_time(time: LocalTime, out: &mut Vec<u8>) {
    put_varint(time.nanos_of_day().cast_unsigned(), out);
}

fn put_local(local: LocalDateTime, out: &mut Vec<u8>) {
    put_varint_signed(local.date().epoch_days(), out);
    put_time(local.time(), out);
}

fn put_offset(offset: UtcOffset, out: &mut Vec<u8>) {
    put_varint_signed(i64::from(offset.seconds()), out);
}

fn encode_nested(value: &Value, levels: u32, out: &mut Vec<u8>) -> Result<(), EncodeError> {
    match value {
        Value::Null => out.push(tag::NULL),
        Value::Bool(false) => out.push(tag::FALSE),
        Value::Bool(true) => out.push(tag::TRUE),
        Value::Int(x) => {
            out.push(tag::INT);
            put_varint_signed(*x, out);
        }
        Value::Float(x) => {
            out.push(tag::FLOAT);
            out.extend_from_slice(&x.to_bits().to_le_bytes());
        }
        Value::String(x) => {
            out.push(tag::STRING);
            put_text(x, out);
        }
        Value::Bytes(x) => {
            out.push(tag::BYTES);
            put_bytes(x, out);
        }
        Value::List(x) => {
            let below = levels.checked_sub(1).ok_or(EncodeError::Nesting)?;
            out.push(tag::LIST);
            put_varint(x.len() as u64, out);
            for element in x.iter() {
                encode_nested(element, below, out)?;
            }
        }
        Value::Map(x) => {
            let below = levels.checked_sub(1).ok_or(EncodeError::Nesting)?;
            out.push(tag::MAP);
            put_varint(x.len() as u64, out);
            for (key, element) in x.iter() {
                put_text(key, out);
                encode_nested(element, below, out)?;
            }
        }
        Value::Date(x) => {
            out.push(tag::DATE);
            put_varint_signed(x.epoch_days(), out);
        }
        Value::LocalTime(x) => {
            out.push(tag::LOCAL_TIME);
            put_time(*x, out);
        }
        Value::Time(x) => {
            out.push(tag::TIME);
            put_time(x.local(), out);
            put_offset(x.offset(), out);
        }
        Value::LocalDateTime(x) => {
            out.push(tag::LOCAL_DATE_TIME);
            put_local(*x, out);
        }
        Value::DateTime(x) => encode_date_time(x, out),
        Value::Duration(x) => encode_duration(x, out),
        Value::Point(x) => encode_point(x, out),
        Value::Vector(x) => {
            out.extend([tag::VECTOR, x.coordinate_type().number()]);
            put_varint(x.dimension() as u64, out);
            x.put_bytes(ByteOrder::Little, out);
        }
        Value::Vertex(_) | Value::Edge(_) | Value::Path(_) => {
            return Err(EncodeError::NotStorable(value.type_name()));
        }
    }
    Ok(())
}

fn encode_date_time(value: &DateTime, out: &mut Vec<u8>) {
    out.push(if value.zone().is_some() { tag::DATE_TIME_ZONE } else { tag::DATE_TIME });
    put_local(value.local(), out);
    put_offset(value.offset(), out);
    if let Some(zone) = value.zone() {
        put_text(zone, out);
    }
}

fn encode_duration(value: &Duration, out: &mut Vec<u8>) {
    out.push(tag::DURATION);
    put_varint_signed(value.months(), out);
    put_varint_signed(value.days(), out);
    put_varint_signed(value.seconds(), out);
    put_varint(u64::from(value.nanos()), out);
}

fn encode_point(value: &Point, out: &mut Vec<u8>) {
    out.push(tag::POINT);
    out.extend_from_slice(&value.srid().get().to_le_bytes());
    for coordinate in value.coordinates() {
        out.extend_from_slice(&coordinate.to_bits().to_le_bytes());
    }
}

fn decode_nested(reader: &mut Reader<'_>, levels: u32) -> Result<Value, DecodeError> {
    let at = reader.at();
    Ok(match reader.byte()? {
        tag::NULL => Value::Null,
        tag::FALSE => Value::Bool(false),
        tag::TRUE => Value::Bool(true),
        tag::INT => Value::Int(reader.varint_signed()?),
        tag::FLOAT => Value::Float(reader.float()?),
        tag::STRING => Value::String(reader.text()?.into()),
        tag::BYTES => Value::Bytes(reader.bytes()?.into()),
        tag::LIST => {
            let below = levels.checked_sub(1).ok_or(DecodeError::Nesting { at })?;
            let count = reader.count(1)?;
            let mut elements = Vec::with_capacity(count.min(RESERVED_ELEMENTS_MAX));
            for _ in 0..count {
                elements.push(decode_nested(reader, below)?);
            }
            Value::List(elements.into())
        }
        tag::MAP => {
            let below = levels.checked_sub(1).ok_or(DecodeError::Nesting { at })?;
            Value::Map(Arc::new(decode_entries(reader, below)?))
        }
        tag::DATE => Value::Date(date(reader, at)?),
        tag::LOCAL_TIME => Value::LocalTime(time(reader, at)?),
        tag::TIME => Value::Time(Time::new(time(reader, at)?, offset(reader, at)?)),
        tag::LOCAL_DATE_TIME => Value::LocalDateTime(local(reader, at)?),
        tag::DATE_TIME => Value::from(DateTime::new(local(reader, at)?, offset(reader, at)?)),
        tag::DATE_TIME_ZONE => {
            let (local, offset, zone) = (local(reader, at)?, offset(reader, at)?, reader.text()?);
            let value = DateTime::with_zone(local, offset, zone);
            Value::from(value.map_err(|_| DecodeError::Range { at, field: "time zone name" })?)
        }
        tag::DURATION => duration(reader, at)?,
        tag::POINT => point(reader, at)?,
        tag::VECTOR => {
            let (ty, bytes) = vector_bytes(reader, at)?;
            let vector = Vector::of_bytes(ty, bytes, ByteOrder::Little);
            let range = |_| DecodeError::Range { at, field: "vector" };
            Value::from(vector.map_err(range)?)
        }
        found => return Err(DecodeError::Tag { at, found }),
    })
}

fn decode_entries(reader: &mut Reader<'_>, levels: u32) -> Result<ValueMap, DecodeError> {
    let mut entries = ValueMap::new();
    // The shortest entry is an empty key, one byte, and a null.
    for _ in 0..reader.count(2)? {
        let at = reader.at();
        let key = reader.text()?;
        if entries.last_key_value().is_some_and(|(last, _)| &**last >= key) {
            return Err(DecodeError::KeyOrder { at });
        }
        entries.insert(key.into(), decode_nested(reader, levels)?);
    }
    Ok(entries)
}

fn date(reader: &mut Reader<'_>, at: usize) -> Result<Date, DecodeError> {
    Date::from_epoch_days(reader.varint_signed()?)
        .map_err(|_| DecodeError::Range { at, field: "date" })
}

fn time(reader: &mut Reader<'_>, at: usize) -> Result<LocalTime, DecodeError> {
    // A number beyond i64 becomes negative, which is no time of day either.
    LocalTime::from_nanos_of_day(reader.varint()?.cast_signed())
        .map_err(|_| DecodeError::Range { at, field: "time of day" })
}

fn local(reader: &mut Reader<'_>, at: usize) -> Result<LocalDateTime, DecodeError> {
    Ok(LocalDateTime::new(date(reader, at)?, time(reader, at)?))
}

fn offset(reader: &mut Reader<'_>, at: usize) -> Result<UtcOffset, DecodeError> {
    UtcOffset::from_seconds(reader.varint_signed()?)
        .map_err(|_| DecodeError::Range { at, field: "offset from UTC" })
}

fn duration(reader: &mut Reader<'_>, at: usize) -> Result<Value, DecodeError> {
    let (months, days) = (reader.varint_signed()?, reader.varint_signed()?);
    let seconds = reader.varint_signed()?;
    let range = DecodeError::Range { at, field: "nanoseconds of a duration" };
    let nanos = i64::try_from(reader.varint()?).ok().filter(|nanos| *nanos < 1_000_000_000);
    let value = nanos.and_then(|nanos| Duration::new(months, days, seconds, nanos).ok());
    value.map(Value::from).ok_or(range)
}

fn point(reader: &mut Reader<'_>, at: usize) -> Result<Value, DecodeError> {
    let srid = Srid::from_raw(u16::from_le_bytes(reader.array()?))
        .ok_or(DecodeError::Range { at, field: "SRID" })?;
    let mut stored = [0.0; 3];
    let coordinates = &mut stored[..srid.dimensions()];
    for coordinate in coordinates.iter_mut() {
        *coordinate = reader.float()?;
    }
    // The constructor brings coordinates into their range; a stored one must be there already.
    let same = |point: &Point| {
        let pairs = point.coordinates().iter().zip(coordinates.iter());
        pairs.into_iter().all(|(a, b)| a.to_bits() == b.to_bits())
    };
    let point = Point::new(srid, coordinates).ok().filter(same);
    point.map(Value::from).ok_or(DecodeError::Range { at, field: "coordinate" })
}

/// The type of a vector and the bytes of its coordinates.
fn vector_bytes<'a>(
    reader: &mut Reader<'a>,
    at: usize,
) -> Result<(CoordinateType, &'a [u8]), DecodeError> {
    let ty = CoordinateType::from_number(reader.byte()?);
    let ty = ty.ok_or(DecodeError::Range { at, field: "coordinate type" })?;
    let dimension = reader.count(ty.bytes())?;
    Ok((ty, reader.take(dimension * ty.bytes())?))
}

fn skip_nested(reader: &mut Reader<'_>, levels: u32) -> Result<(), DecodeError> {
    let at = reader.at();
    let varints = match reader.byte()? {
        tag::NULL | tag::FALSE | tag::TRUE => 0,
        tag::FLOAT => return reader.take(8).map(drop),
        tag::STRING | tag::BYTES => return reader.bytes().map(drop),
        tag @ (tag::LIST | tag::MAP) => {
            let below = levels.checked_sub(1).ok_or(DecodeError::Nesting { at })?;
            let has_keys = tag == tag::MAP;
            for _ in 0..reader.count(if has_keys { 2 } else { 1 })? {
                if has_keys {
                    reader.bytes()?;
                }
                skip_nested(reader, below)?;
            }
            0
        }
        tag::INT | tag::DATE | tag::LOCAL_TIME => 1,
        tag::TIME | tag::LOCAL_DATE_TIME => 2,
        tag::DATE_TIME => 3,
        tag::DATE_TIME_ZONE => {
            for _ in 0..3 {
                reader.varint()?;
            }
            return reader.bytes().map(drop);
        }
        tag::DURATION => 4,
        tag::POINT => {
            let srid = Srid::from_raw(u16::from_le_bytes(reader.array()?))
                .ok_or(DecodeError::Range { at, field: "SRID" })?;
            return reader.take(srid.dimensions() * 8).map(drop);
        }
        tag::VECTOR => return vector_bytes(reader, at).map(drop),
        found => return Err(DecodeError::Tag { at, found }),
    };
    for _ in 0..varints {
        reader.varint()?;
    }
    Ok(())
}

#[cfg(test)]
mod tests;
