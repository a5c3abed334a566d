//! Types of text: which one a column of fields is of, and its values.

use std::fmt;
use std::sync::Arc;

use telar_db::Value;
use telar_db::column::{Column, Nullable, PackedTexts};
use telar_db::json::{Notation, read_scalar, read_value};
use telar_db::value::{Date, DateTime, LocalDateTime, LocalTime};

/// The type of a column of text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ColumnType {
    /// `true`, `false`, in any case.
    Bool,
    /// Whole numbers of 64 bits.
    Int,
    /// Decimal numbers, `NaN`, `Infinity`.
    Float,
    /// `2024-02-29`
    Date,
    /// `13:05`, `13:05:00.5`
    LocalTime,
    /// `13:05+01:00`
    Time,
    /// `2024-02-29T13:05`, with a blank for the `T` if need be.
    LocalDateTime,
    /// The same with `Z`, `+01:00` or `[Europe/Berlin]`.
    DateTime,
    /// `P1DT2H`
    Duration,
    /// `SRID=7203;POINT (1.0 2.0)`
    Point,
    /// Base64.
    Bytes,
    /// Any text.
    Text,
    /// JSON: lists, maps, anything.
    Json,
}

impl ColumnType {
    /// The type of this name: `int`, `float`, `string`, `date`, ...
    #[must_use]
    pub fn of_name(name: &str) -> Option<Self> {
        Some(match &*name.trim().to_ascii_lowercase() {
            "bool" | "boolean" => Self::Bool,
            "int" | "integer" | "long" => Self::Int,
            "float" | "double" => Self::Float,
            "date" => Self::Date,
            "localtime" => Self::LocalTime,
            "time" => Self::Time,
            "localdatetime" => Self::LocalDateTime,
            "datetime" => Self::DateTime,
            "duration" => Self::Duration,
            "point" => Self::Point,
            "bytes" => Self::Bytes,
            "string" | "text" => Self::Text,
            "json" | "list" | "map" => Self::Json,
            _ => return None,
        })
    }

    /// Its name.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Bool => "boolean",
            Self::Int => "int",
            Self::Float => "float",
            Self::Date => "date",
            Self::LocalTime => "localtime",
            Self::Time => "time",
            Self::LocalDateTime => "localdatetime",
            Self::DateTime => "datetime",
            Self::Duration => "duration",
            Self::Point => "point",
            Self::Bytes => "bytes",
            Self::Text => "string",
            Self::Json => "json",
        }
    }

    /// The value of a field.
    ///
    /// # Errors
    /// Why the text is none of this type.
    pub fn value(self, text: &str) -> Result<Value, String> {
        match self {
            Self::Bool => truth(text).map(Value::Bool).ok_or_else(|| "no boolean".to_owned()),
            Self::Int => text.trim().parse().map(Value::Int).map_err(|e| format!("{e}")),
            Self::Float => float(text).map(Value::Float).ok_or_else(|| "no float".to_owned()),
            Self::Date => read_scalar("Date", text),
            Self::LocalTime => read_scalar("LocalTime", text),
            Self::Time => read_scalar("Time", text),
            Self::LocalDateTime => read_scalar("LocalDateTime", &joined(text)),
            Self::DateTime if text.ends_with(']') => read_scalar("ZonedDateTime", &joined(text)),
            Self::DateTime => read_scalar("OffsetDateTime", &joined(text)),
            Self::Duration => read_scalar("Duration", text),
            Self::Point => read_scalar("Point", text),
            Self::Bytes => read_scalar("Base64", text),
            Self::Text => Ok(Value::from(text)),
            Self::Json => read_value(Notation::Plain, text.as_bytes()),
        }
    }

    /// A column of fields, of which those without text are null. An error is that of a row.
    pub(crate) fn column<'t>(
        self,
        fields: impl ExactSizeIterator<Item = &'t str>,
    ) -> Result<Column, (usize, String)> {
        fn typed<'t, T: Copy + Default>(
            fields: impl Iterator<Item = &'t str>,
            f: impl Fn(&str) -> Result<T, String>,
        ) -> Result<Nullable<T>, (usize, String)> {
            let mut all = Nullable::default();
            for (row, field) in fields.enumerate() {
                let value = (!field.is_empty()).then(|| f(field)).transpose();
                all.push(value.map_err(|e| (row, e))?);
            }
            Ok(all)
        }
        Ok(match self {
            Self::Text => {
                let texts = fields.map(|field| (!field.is_empty()).then_some(field));
                Column::Packed(texts.collect::<PackedTexts>())
            }
            Self::Int => Column::Ints(typed(fields, |text| {
                let whole = text.parse().or_else(|_| text.trim().parse());
                whole.map_err(|_| "no whole number of 64 bits".to_owned())
            })?),
            Self::Float => Column::Floats(typed(fields, |text| {
                float(text).ok_or_else(|| "no number".to_owned())
            })?),
            Self::Bool => Column::Bools(typed(fields, |text| {
                truth(text).ok_or_else(|| "neither true nor false".to_owned())
            })?),
            other => {
                let value = |(row, field): (usize, &str)| match field {
                    "" => Ok(Value::Null),
                    field => other.value(field).map_err(|e| (row, e)),
                };
                Column::of(fields.enumerate().map(value).collect::<Result<_, _>>()?)
            }
        })
    }
}

impl fmt::Display for ColumnType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A date and time with the `T` that a blank may stand for.
fn joined(text: &str) -> String {
    match text.as_bytes().get(10) {
        Some(b' ') => text.replacen(' ', "T", 1),
        _ => text.to_owned(),
    }
}

fn truth(text: &str) -> Option<bool> {
    match text {
        "true" | "TRUE" | "True" => Some(true),
        "false" | "FALSE" | "False" => Some(false),
        _ => None,
    }
}

fn float(text: &str) -> Option<f64> {
    // PERF: bench/compare/python.py --section load: what begins with a digit and is a number has no
    // letters but an exponent.
    if text.as_bytes().first().is_some_and(u8::is_ascii_digit)
        && let Ok(number) = text.parse()
    {
        return Some(number);
    }
    match text.trim() {
        "NaN" => Some(f64::NAN),
        "Infinity" => Some(f64::INFINITY),
        "-Infinity" => Some(f64::NEG_INFINITY),
        text => {
            let digits = text.bytes().all(|b| b.is_ascii_digit() || b"+-.eE".contains(&b));
            text.parse().ok().filter(|_| digits)
        }
    }
}

/// True for digits that are a number and no code: `0`, `17`, `-3`, but not `007` or `+49`.
fn is_number(text: &str) -> bool {
    let digits = text.strip_prefix('-').unwrap_or(text);
    let whole = digits.split(['.', 'e', 'E']).next().unwrap_or_default();
    !whole.is_empty()
        && whole.bytes().all(|b| b.is_ascii_digit())
        && (whole == "0" || !whole.starts_with('0'))
}

fn has_date(text: &str) -> bool {
    let shape = |(at, byte): (usize, &u8)| match at {
        4 | 7 => *byte == b'-',
        _ => byte.is_ascii_digit(),
    };
    text.len() >= 10 && text.as_bytes()[..10].iter().enumerate().all(shape)
}

fn is_time(text: &str) -> bool {
    text.as_bytes().get(2) == Some(&b':') && text.parse::<LocalTime>().is_ok()
}

/// The type of one field that has text.
fn of_field(text: &str) -> ColumnType {
    if truth(text).is_some() {
        return ColumnType::Bool;
    }
    if is_number(text) && text.parse::<i64>().is_ok() {
        return ColumnType::Int;
    }
    let point = text.contains(['.', 'e', 'E']) && is_number(text);
    let word = matches!(text, "NaN" | "Infinity" | "-Infinity");
    if (point || word) && float(text).is_some() {
        return ColumnType::Float;
    }
    if has_date(text) {
        let moment = text.as_bytes().get(10).is_some_and(|b| matches!(b, b'T' | b' '));
        if text.len() == 10 && text.parse::<Date>().is_ok() {
            return ColumnType::Date;
        }
        if moment && joined(text).parse::<LocalDateTime>().is_ok() {
            return ColumnType::LocalDateTime;
        }
        let zoned = text.ends_with(']') && ColumnType::DateTime.value(text).is_ok();
        if moment && (zoned || joined(text).parse::<DateTime>().is_ok()) {
            return ColumnType::DateTime;
        }
    }
    if is_time(text) { ColumnType::LocalTime } else { ColumnType::Text }
}

/// The type that all fields of a column are of; those without text say nothing. Text if there is
/// none. What looks like a number and is a code (`007`) is text.
pub fn guess<'t>(fields: impl IntoIterator<Item = &'t str>) -> ColumnType {
    let mut found: Option<ColumnType> = None;
    for field in fields.into_iter().filter(|field| !field.is_empty()) {
        let own = of_field(field);
        found = Some(match found {
            None => own,
            Some(before) if before == own => own,
            Some(ColumnType::Int | ColumnType::Float)
                if matches!(own, ColumnType::Int | ColumnType::Float) =>
            {
                ColumnType::Float
            }
            Some(_) => return ColumnType::Text,
        });
        if found == Some(ColumnType::Text) {
            return ColumnType::Text;
        }
    }
    found.unwrap_or(ColumnType::Text)
}

/// The types of columns: as they were given, by name.
pub(crate) fn given(
    types: &[(String, String)],
    names: &[Arc<str>],
) -> Result<Vec<Option<ColumnType>>, String> {
    let mut found = vec![None; names.len()];
    for (name, of) in types {
        let at = names.iter().position(|known| **known == **name);
        let at = at.ok_or_else(|| {
            format!("a type is given for '{name}', and the columns are {}", names.join(", "))
        })?;
        let known = ColumnType::of_name(of);
        found[at] = Some(known.ok_or_else(|| {
            format!(
                "there is no type '{of}'; there are boolean, int, float, string, date, localtime, \
                 time, localdatetime, datetime, duration, point, bytes, json"
            )
        })?);
    }
    Ok(found)
}

#[test]
fn types_are_guessed_and_codes_are_text() {
    let cases: [(&[&str], ColumnType); 14] = [
        (&["1", "", "-30"], ColumnType::Int),
        (&["1", "2.5", "1e3"], ColumnType::Float),
        (&["007", "1"], ColumnType::Text),
        (&["+491234"], ColumnType::Text),
        (&["12345678901234567890"], ColumnType::Text),
        (&["true", "False"], ColumnType::Bool),
        (&["2024-02-29"], ColumnType::Date),
        (&["2024-02-30"], ColumnType::Text),
        (&["2024-02-29 12:00", "2024-02-29T12:00:01.5"], ColumnType::LocalDateTime),
        (&["2024-02-29T12:00Z"], ColumnType::DateTime),
        (&["2024-02-29T12:00+01:00[Europe/Berlin]"], ColumnType::DateTime),
        (&["12:30", "12:30:05"], ColumnType::LocalTime),
        (&["", ""], ColumnType::Text),
        (&["1", "x"], ColumnType::Text),
    ];
    for (fields, expected) in cases {
        assert_eq!(guess(fields.iter().copied()), expected, "{fields:?}");
    }
    assert_eq!(guess(["1.5", "NaN"]), ColumnType::Float);
    assert_eq!(guess(["1.5", "nan"]), ColumnType::Text);
}
