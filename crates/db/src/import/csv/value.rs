//! Fields to values, by the type their column has.

use std::borrow::Cow;

use telar_engine::Column;
use telar_graph::Value;
use telar_graph::value::{Date, DateTime, Duration, LocalDateTime, LocalTime, Point, Srid, Time};

use crate::import::number::parse_i64;

/// Type of a property column.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Kind {
    Bool,
    /// Integers from the first to the second number.
    Int(i64, i64),
    Float,
    Text,
    Char,
    Date,
    LocalTime,
    Time,
    LocalDateTime,
    DateTime,
    Duration,
    Point,
    List(Box<Kind>),
}

impl Kind {
    /// Names of the types, for messages.
    pub(super) const NAMES: &str = "string, char, byte, short, int, long, float, double, boolean, \
                                    date, time, localtime, datetime, localdatetime, duration, point";

    /// The type with this name, in upper case.
    pub(super) fn of(name: &str) -> Option<Self> {
        Some(match name {
            "STRING" => Self::Text,
            "CHAR" => Self::Char,
            "BYTE" => Self::Int(i8::MIN.into(), i8::MAX.into()),
            "SHORT" => Self::Int(i16::MIN.into(), i16::MAX.into()),
            // Wider than its name says in some systems' files; nothing is lost here.
            "INT" | "INTEGER" | "LONG" => Self::Int(i64::MIN, i64::MAX),
            "FLOAT" | "DOUBLE" => Self::Float,
            "BOOLEAN" | "BOOL" => Self::Bool,
            "DATE" => Self::Date,
            "TIME" => Self::Time,
            "LOCALTIME" => Self::LocalTime,
            "DATETIME" => Self::DateTime,
            "LOCALDATETIME" => Self::LocalDateTime,
            "DURATION" => Self::Duration,
            "POINT" => Self::Point,
            _ => return None,
        })
    }

    /// What a field of this type should be, for messages.
    fn expected(&self) -> String {
        match self {
            Self::Bool => "true or false".into(),
            Self::Int(i64::MIN, _) => "a whole number of 64 bits".into(),
            Self::Int(min, max) => format!("a whole number from {min} to {max}"),
            Self::Float => "a number".into(),
            Self::Text => "UTF-8 text".into(),
            Self::Char => "one character".into(),
            Self::Date => "a date as 2024-02-29".into(),
            Self::LocalTime => "a time as 13:05:00".into(),
            Self::Time => "a time with its offset as 13:05:00+01:00".into(),
            Self::LocalDateTime => "a date and time as 2024-02-29T13:05:00".into(),
            Self::DateTime => "a date and time with its offset as 2024-02-29T13:05:00Z".into(),
            Self::Duration => "a duration as P1DT2H".into(),
            Self::Point => "a point as {x: 1, y: 2} or {latitude: 50, longitude: 8}".into(),
            Self::List(kind) => format!("a list, each element {}", kind.expected()),
        }
    }

    /// Adds the value of `field` to `column`; says what was expected if it is none.
    #[inline]
    pub(super) fn push(&self, field: &[u8], array: u8, column: &mut Column) -> Result<(), String> {
        match self {
            Self::Int(min, max) => match parse_i64(field).filter(|n| (min..=max).contains(&n)) {
                Some(n) => column.push_int(n),
                None => return self.push_slowly(field, array, column),
            },
            Self::Float => match short_decimal(field) {
                Some(x) => column.push_float(x),
                None => return self.push_slowly(field, array, column),
            },
            Self::Text => match std::str::from_utf8(field) {
                Ok(text) => column.push_text(text),
                Err(_) => return self.push_slowly(field, array, column),
            },
            _ => return self.push_slowly(field, array, column),
        }
        Ok(())
    }

    #[cold]
    fn push_slowly(&self, field: &[u8], array: u8, column: &mut Column) -> Result<(), String> {
        column.push(self.value(field, array).ok_or_else(|| self.expected())?);
        Ok(())
    }

    /// The value that `field` spells.
    fn value(&self, field: &[u8], array: u8) -> Option<Value> {
        if let Self::List(kind) = self {
            if field.is_empty() {
                return Some(Value::list(Vec::<Value>::new()));
            }
            let elements = field.split(|b| *b == array).map(|e| kind.value(e, array));
            return Some(Value::List(elements.collect::<Option<Vec<Value>>>()?.into()));
        }
        let text = std::str::from_utf8(field).ok()?;
        if *self == Self::Text {
            return Some(text.into());
        }
        let trimmed = text.trim();
        Some(match self {
            Self::Bool if trimmed.eq_ignore_ascii_case("true") => true.into(),
            Self::Bool if trimmed.eq_ignore_ascii_case("false") => false.into(),
            Self::Bool => return None,
            Self::Int(min, max) => {
                parse_i64(whole(trimmed).as_bytes()).filter(|n| (min..=max).contains(&n))?.into()
            }
            Self::Float => trimmed.parse::<f64>().ok()?.into(),
            Self::Char => {
                let mut chars = text.chars();
                chars.next().filter(|_| chars.next().is_none())?.to_string().into()
            }
            Self::Date => trimmed.parse::<Date>().ok()?.into(),
            Self::LocalTime => trimmed.parse::<LocalTime>().ok()?.into(),
            Self::Time => trimmed.parse::<Time>().ok()?.into(),
            Self::LocalDateTime => with_t(trimmed).parse::<LocalDateTime>().ok()?.into(),
            Self::DateTime => with_t(trimmed).parse::<DateTime>().ok()?.into(),
            Self::Duration => trimmed.parse::<Duration>().ok()?.into(),
            Self::Point => point(trimmed)?.into(),
            Self::Text | Self::List(_) => return None,
        })
    }
}

/// `12.0` without its point: pandas writes whole numbers so where some are missing.
fn whole(text: &str) -> &str {
    match text.split_once('.') {
        Some((digits, rest)) if rest.bytes().all(|byte| byte == b'0') => digits,
        _ => text,
    }
}

/// `2024-02-29 13:05:00` with the T of ISO 8601 in place of the blank, as pandas and SQL write it.
fn with_t(text: &str) -> Cow<'_, str> {
    match text.split_once(' ') {
        Some((date, time)) => format!("{date}T{}", time.trim_start()).into(),
        None => text.into(),
    }
}

/// The number that digits with at most one point spell, if there are few enough of them to be
/// exact: an integer below 2^53 divided by a power of ten that is a float itself rounds once.
#[inline]
fn short_decimal(field: &[u8]) -> Option<f64> {
    const POWERS: [f64; 16] =
        [1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15];
    let (digits, negative) = match field {
        [b'-', rest @ ..] => (rest, true),
        rest => (rest, false),
    };
    // Fifteen digits stay below 2^53; the point may be one of sixteen characters.
    if digits.is_empty() || digits.len() > 16 {
        return None;
    }
    let (mut n, mut after, mut point, mut count) = (0u64, 0, false, 0);
    for byte in digits {
        let digit = byte.wrapping_sub(b'0');
        if digit <= 9 {
            n = n * 10 + u64::from(digit);
            count += 1;
            after += usize::from(point);
        } else if *byte == b'.' && !point {
            point = true;
        } else {
            return None;
        }
    }
    if count == 0 || count > 15 {
        return None;
    }
    let x = n as f64 / POWERS[after];
    Some(if negative { -x } else { x })
}

/// A point as a map of coordinates, in the notation of Cypher.
fn point(text: &str) -> Option<Point> {
    let inner = text.strip_prefix('{')?.strip_suffix('}')?;
    let (mut x, mut y, mut z, mut geographic, mut srid) = (None, None, None, false, None);
    for entry in inner.split(',') {
        let (key, value) = entry.split_once(':')?;
        let value = value.trim().trim_matches(['"', '\'']);
        let key = key.trim().trim_matches(['"', '\'']).to_ascii_lowercase();
        match key.as_str() {
            "srid" => srid = Some(Srid::from_raw(value.parse().ok()?)?),
            "crs" => {
                let known = [4326, 4979, 7203, 9157].into_iter().filter_map(Srid::from_raw);
                srid = Some(known.into_iter().find(|s| s.name().eq_ignore_ascii_case(value))?);
            }
            _ => {
                let number: f64 = value.parse().ok()?;
                geographic |= matches!(key.as_str(), "latitude" | "longitude" | "height");
                match key.as_str() {
                    "x" | "longitude" => x = Some(number),
                    "y" | "latitude" => y = Some(number),
                    "z" | "height" => z = Some(number),
                    _ => return None,
                }
            }
        }
    }
    let raw = match (geographic, z) {
        (true, None) => 4326,
        (true, Some(_)) => 4979,
        (false, None) => 7203,
        (false, Some(_)) => 9157,
    };
    let srid = srid.or_else(|| Srid::from_raw(raw))?;
    let coordinates: Vec<f64> = [Some(x?), Some(y?), z].into_iter().flatten().collect();
    Point::new(srid, &coordinates).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn read(ty: &str, field: &str) -> Result<Value, String> {
        let (base, list) = ty.strip_suffix("[]").map_or((ty, false), |b| (b, true));
        let kind = Kind::of(&base.to_ascii_uppercase()).unwrap();
        let kind = if list { Kind::List(Box::new(kind)) } else { kind };
        let mut column = Column::new();
        kind.push(field.as_bytes(), b';', &mut column).map(|()| column.get(0))
    }

    fn local(text: &str) -> Value {
        text.parse::<LocalDateTime>().unwrap().into()
    }

    fn zoned(text: &str) -> Value {
        text.parse::<DateTime>().unwrap().into()
    }

    #[test]
    fn whole_numbers_and_times_are_not_guessed() {
        for (ty, field) in [
            ("int", "1.5"),
            ("int", "1.00001"),
            ("int", ".0"),
            ("int", "1.0.0"),
            ("int", "1,0"),
            ("byte", "128.0"),
            ("localdatetime", "2024-01-01 10 00"),
            ("date", "2024-01-01 10:00:00"),
            ("datetime", "2024-01-01 10:00:00 +02:00"),
        ] {
            assert!(read(ty, field).is_err(), "{ty} {field}");
        }
    }

    #[test]
    fn every_type_reads_its_fields_and_refuses_others() {
        for (ty, field, wanted) in [
            ("int", "-5", Value::Int(-5)),
            ("long", " 7 ", Value::Int(7)),
            ("byte", "127", Value::Int(127)),
            ("int", "1.0", Value::Int(1)),
            ("long", "-9007199254740993.00", Value::Int(-9_007_199_254_740_993)),
            ("localdatetime", "2024-01-01 10:00:00", local("2024-01-01T10:00:00")),
            ("localdatetime", "2024-01-01 10:00:00.5", local("2024-01-01T10:00:00.5")),
            ("datetime", "2024-01-01 10:00:00+02:00", zoned("2024-01-01T10:00:00+02:00")),
            ("double", "0.25", Value::Float(0.25)),
            ("double", "-1e3", Value::Float(-1000.0)),
            ("float", "Infinity", Value::Float(f64::INFINITY)),
            ("boolean", "TRUE", Value::Bool(true)),
            ("string", " x", " x".into()),
            ("char", "\u{e4}", "\u{e4}".into()),
            ("date", "2024-02-29", "2024-02-29".parse::<Date>().unwrap().into()),
            ("time", "13:05+01:00", "13:05+01:00".parse::<Time>().unwrap().into()),
            ("localtime", "13:05", "13:05".parse::<LocalTime>().unwrap().into()),
            (
                "datetime",
                "2024-02-29T13:05:00Z",
                "2024-02-29T13:05:00Z".parse::<DateTime>().unwrap().into(),
            ),
            (
                "localdatetime",
                "2024-02-29T13:05:00",
                "2024-02-29T13:05:00".parse::<LocalDateTime>().unwrap().into(),
            ),
            ("duration", "P1DT2H", "P1DT2H".parse::<Duration>().unwrap().into()),
            ("int[]", "1;2;3", Value::list([1, 2, 3])),
            ("string[]", "a;;b", Value::list(["a", "", "b"])),
        ] {
            assert_eq!(read(ty, field), Ok(wanted), "{ty} {field}");
        }
        for (ty, field) in [
            ("int", "1.5"),
            ("int", ""),
            ("byte", "128"),
            ("long", "9223372036854775808"),
            ("double", "1,5"),
            ("double", "."),
            ("boolean", "yes"),
            ("char", "ab"),
            ("date", "2023-02-29"),
            ("datetime", "yesterday"),
            ("duration", "1 day"),
            ("point", "1,2"),
            ("int[]", "1;x"),
        ] {
            let error = read(ty, field).unwrap_err();
            assert!(!error.is_empty(), "{ty} {field}");
        }
    }

    #[test]
    fn points_are_read_in_every_reference_system() {
        for (text, srid) in [
            ("{x: 1, y: 2}", 7203),
            ("{x:1,y:2,z:3}", 9157),
            ("{latitude: 50.5, longitude: 8}", 4326),
            ("{longitude: 8, latitude: 50, height: 100}", 4979),
            ("{x: 8, y: 50, crs: 'wgs-84'}", 4326),
            ("{x: 8, y: 50, srid: 4326}", 4326),
        ] {
            assert_eq!(point(text).map(|p| p.srid().get()), Some(srid), "{text}");
        }
        for text in ["{x: 1}", "{x: 1, y: 2, w: 3}", "{x: 1, y: 2, srid: 4979}", "{}", ""] {
            assert_eq!(point(text), None, "{text}");
        }
    }

    proptest! {
        #[test]
        fn short_decimals_are_what_the_standard_library_reads(
            whole in 0u64..100_000_000, digits in 0usize..7, part in 0u64..10_000_000, minus: bool,
        ) {
            let part = &format!("{part:07}")[..digits];
            let sign = if minus { "-" } else { "" };
            let text = format!("{sign}{whole}.{part}");
            let x = short_decimal(text.as_bytes()).unwrap();
            prop_assert_eq!(x.to_bits(), text.parse::<f64>().unwrap().to_bits());
        }
    }
}
