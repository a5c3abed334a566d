//! Values of JavaScript, read.

use std::sync::Arc;

use telar_db::value::{
    self, ByteOrder, CoordinateType, Date, DateTime, LocalDateTime, LocalTime, Point, Srid, Time,
    UtcOffset, Vector,
};
use telar_db::{Value, ValueMap};

use super::{Malformed, tag};

/// Lists and maps within each other, at most; JavaScript checks it before.
const DEPTH_MAX: usize = 256;

struct Reader<'b> {
    bytes: &'b [u8],
}

/// Parameters: a map without its tag.
pub(crate) fn parameters(bytes: &[u8]) -> Result<ValueMap, Malformed> {
    if bytes.is_empty() {
        return Ok(ValueMap::new());
    }
    let mut reader = Reader { bytes };
    let map = reader.map(0)?;
    reader.end()?;
    Ok(map)
}

/// One value.
pub(crate) fn value(bytes: &[u8]) -> Result<Value, Malformed> {
    let mut reader = Reader { bytes };
    let value = reader.value(0)?;
    reader.end()?;
    Ok(value)
}

fn wrong(error: impl std::fmt::Display) -> Malformed {
    Malformed(error.to_string())
}

impl<'b> Reader<'b> {
    fn end(&self) -> Result<(), Malformed> {
        if self.bytes.is_empty() { Ok(()) } else { Err(wrong("bytes behind a value")) }
    }

    fn take(&mut self, count: usize) -> Result<&'b [u8], Malformed> {
        let (taken, rest) =
            self.bytes.split_at_checked(count).ok_or_else(|| wrong("a value is cut off"))?;
        self.bytes = rest;
        Ok(taken)
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N], Malformed> {
        let (taken, rest) =
            self.bytes.split_first_chunk().ok_or_else(|| wrong("a value is cut off"))?;
        self.bytes = rest;
        Ok(*taken)
    }

    fn length(&mut self) -> Result<usize, Malformed> {
        Ok(u32::from_le_bytes(self.array()?) as usize)
    }

    /// A count of values: each has at least a byte.
    fn count(&mut self) -> Result<usize, Malformed> {
        let count = self.length()?;
        if count > self.bytes.len() { Err(wrong("a value is cut off")) } else { Ok(count) }
    }

    fn int(&mut self) -> Result<i64, Malformed> {
        Ok(i64::from_le_bytes(self.array()?))
    }

    fn float(&mut self) -> Result<f64, Malformed> {
        Ok(f64::from_le_bytes(self.array()?))
    }

    fn text(&mut self) -> Result<&'b str, Malformed> {
        let length = self.length()?;
        std::str::from_utf8(self.take(length)?).map_err(wrong)
    }

    fn map(&mut self, depth: usize) -> Result<ValueMap, Malformed> {
        let mut map = ValueMap::new();
        for _ in 0..self.count()? {
            let key = self.text()?;
            map.insert(Arc::from(key), self.value(depth + 1)?);
        }
        Ok(map)
    }

    fn date(&mut self) -> Result<Date, Malformed> {
        Date::from_epoch_days(self.int()?).map_err(wrong)
    }

    fn time(&mut self) -> Result<LocalTime, Malformed> {
        LocalTime::from_nanos_of_day(self.int()?).map_err(wrong)
    }

    fn offset(&mut self) -> Result<UtcOffset, Malformed> {
        let seconds = i32::from_le_bytes(self.array()?);
        UtcOffset::from_seconds(seconds.into()).map_err(wrong)
    }

    fn moment(&mut self) -> Result<DateTime, Malformed> {
        let local = LocalDateTime::new(self.date()?, self.time()?);
        let offset = self.offset()?;
        match self.text()? {
            "" => Ok(DateTime::new(local, offset)),
            zone => DateTime::with_zone(local, offset, zone).map_err(wrong),
        }
    }

    fn point(&mut self) -> Result<Point, Malformed> {
        let raw = u16::from_le_bytes(self.array()?);
        let srid = Srid::from_raw(raw)
            .ok_or_else(|| wrong(format!("no reference system has the number {raw}")))?;
        let [count] = self.array()?;
        let coordinates = (0..count).map(|_| self.float()).collect::<Result<Vec<_>, _>>()?;
        Point::new(srid, &coordinates).map_err(wrong)
    }

    fn value(&mut self, depth: usize) -> Result<Value, Malformed> {
        if depth > DEPTH_MAX {
            return Err(wrong("values are within each other too often"));
        }
        let [tag] = self.array()?;
        Ok(match tag {
            tag::NULL => Value::Null,
            tag::FALSE => Value::Bool(false),
            tag::TRUE => Value::Bool(true),
            tag::NUMBER => Value::Int(self.float()? as i64),
            tag::INTEGER => Value::Int(self.int()?),
            tag::FLOAT => Value::Float(self.float()?),
            tag::TEXT => Value::from(self.text()?),
            tag::BYTES => {
                let length = self.length()?;
                Value::Bytes(self.take(length)?.into())
            }
            tag::LIST => {
                let count = self.count()?;
                let values = (0..count).map(|_| self.value(depth + 1));
                Value::List(values.collect::<Result<Vec<_>, _>>()?.into())
            }
            tag::MAP => Value::Map(Arc::new(self.map(depth)?)),
            tag::DATE => Value::Date(self.date()?),
            tag::LOCAL_TIME => Value::LocalTime(self.time()?),
            tag::TIME => Value::Time(Time::new(self.time()?, self.offset()?)),
            tag::LOCAL_DATE_TIME => {
                Value::LocalDateTime(LocalDateTime::new(self.date()?, self.time()?))
            }
            tag::DATE_TIME => Value::DateTime(self.moment()?.into()),
            tag::DURATION => {
                let (months, days, seconds) = (self.int()?, self.int()?, self.int()?);
                let nanos = u32::from_le_bytes(self.array()?);
                let duration = value::Duration::new(months, days, seconds, nanos.into());
                Value::Duration(duration.map_err(wrong)?.into())
            }
            tag::POINT => Value::Point(self.point()?.into()),
            tag::VECTOR => {
                let [number] = self.array()?;
                let ty = CoordinateType::from_number(number);
                let ty = ty.ok_or_else(|| wrong("a vector of coordinates of no type"))?;
                let length = self.length()?;
                let bytes = self.take(length)?;
                Value::from(Vector::of_bytes(ty, bytes, ByteOrder::Little).map_err(wrong)?)
            }
            other => return Err(wrong(format!("no value has the tag {other}"))),
        })
    }
}
