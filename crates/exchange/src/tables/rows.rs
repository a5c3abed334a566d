//! Rows of several files with the columns that a mapping leaves, under the names that it gives.

use std::sync::Arc;

use telar_db::Value;
use telar_db::column::Column;
use telar_db::query::{QueryError, TableReader};
use telar_files::ColumnType;

use crate::failed;

/// Files that are read one behind the other.
pub(super) struct Rows {
    files: Vec<File>,
    /// Names that the columns get.
    names: Vec<Arc<str>>,
    /// The file that is read.
    at: usize,
    /// Rows of the files before it, by the first row of each.
    firsts: Vec<u64>,
    rows: u64,
}

/// A file of several.
pub(super) struct File {
    pub(super) path: String,
    pub(super) rows: Box<dyn TableReader>,
    /// Kept columns: the place, if the file has it, and the type that the values are
    /// brought to.
    pub(super) kept: Vec<(Option<usize>, Option<Type>)>,
}

impl Rows {
    pub(super) fn new(files: Vec<File>, names: Vec<Arc<str>>) -> Self {
        Self { files, names, at: 0, firsts: vec![0], rows: 0 }
    }
}

/// A type that a mapping can give to a column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Type {
    /// One that columns of CSV may have, too.
    Plain(ColumnType),
    /// Lists: texts with commas or semicolons, in brackets or not.
    List(ColumnType),
    /// Texts; of 16 bytes the UUID that they are.
    Uuid,
    /// Durations as PostgreSQL and Kuzu write them: `1 year 2 days 03:00:00`.
    Interval,
}

impl Type {
    pub(super) fn of_name(name: &str) -> Option<Self> {
        if name.eq_ignore_ascii_case("interval") {
            return Some(Self::Interval);
        }
        if name.eq_ignore_ascii_case("uuid") {
            return Some(Self::Uuid);
        }
        match name.strip_suffix("[]") {
            Some(element) => ColumnType::of_name(element).map(Self::List),
            None => ColumnType::of_name(name).map(Self::Plain),
        }
    }

    /// The type by which CSV reads it.
    pub(super) fn of_csv(self) -> ColumnType {
        match self {
            Self::Plain(ty) => ty,
            Self::List(_) | Self::Interval | Self::Uuid => ColumnType::Text,
        }
    }

    fn value(self, value: Value) -> Result<Value, String> {
        match (self, value) {
            (Self::Plain(ty), value) => converted(value, ty),
            (Self::List(ty), Value::String(text)) => {
                let inner = text.trim();
                let inner =
                    inner.strip_prefix('[').and_then(|t| t.strip_suffix(']')).unwrap_or(inner);
                let by = if inner.contains(';') { ';' } else { ',' };
                let items = inner.split(by).map(str::trim).filter(|item| !item.is_empty());
                let items = items.map(|item| match ty {
                    ColumnType::Bool => ty.value(&item.to_ascii_lowercase()),
                    _ => ty.value(item),
                });
                Ok(Value::from(items.collect::<Result<Vec<_>, _>>()?))
            }
            (Self::Interval, Value::String(text)) => interval(&text),
            (Self::Uuid, Value::Bytes(bytes)) if bytes.len() == 16 => {
                let hex: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
                let parts = [&hex[..8], &hex[8..12], &hex[12..16], &hex[16..20], &hex[20..]];
                Ok(Value::from(parts.join("-")))
            }
            (_, value) => Ok(value),
        }
    }
}

/// A duration of a text like `1 year 2 days 03:00:00.5`.
fn interval(text: &str) -> Result<Value, String> {
    let wrong = || format!("\"{text}\" is no interval like \"1 year 2 days 03:00:00\"");
    let (mut months, mut days, mut time) = (0i64, 0i64, String::from("0S"));
    let mut words = text.split_whitespace();
    while let Some(word) = words.next() {
        if word.contains(':') {
            let (sign, word) = match word.strip_prefix('-') {
                Some(rest) => ("-", rest),
                None => ("", word),
            };
            let mut parts = word.split(':');
            let mut part = || parts.next().ok_or_else(wrong);
            time = format!("{sign}{}H{sign}{}M{sign}{}S", part()?, part()?, part()?);
            continue;
        }
        let count: i64 = word.parse().map_err(|_| wrong())?;
        match words.next().map(|unit| unit.trim_end_matches('s')) {
            Some("year") => months += 12 * count,
            Some("month" | "mon") => months += count,
            Some("day") => days += count,
            _ => return Err(wrong()),
        }
    }
    ColumnType::Duration.value(&format!("P{months}M{days}DT{time}")).map_err(|_| wrong())
}

#[test]
fn intervals_are_durations() {
    for (text, expected) in [
        ("1 year 2 days 03:00:00", "P12M2DT3H0M0S"),
        ("2 months", "P2M0DT0S"),
        ("-1 days -00:00:01.5", "P0M-1DT-1.5S"),
    ] {
        assert_eq!(interval(text), ColumnType::Duration.value(expected), "{text}");
    }
    for text in ["x", "1", "1 fortnight", "01:02"] {
        assert!(interval(text).is_err(), "{text}");
    }
}

/// A value as one of a type: texts are read, whole numbers become decimal ones.
fn converted(value: Value, ty: ColumnType) -> Result<Value, String> {
    match (value, ty) {
        (Value::Null, _) => Ok(Value::Null),
        (Value::String(text), ColumnType::Text) => Ok(Value::String(text)),
        (Value::String(text), ty) => ty.value(&text),
        (Value::Int(n), ColumnType::Float) => Ok(Value::Float(n as f64)),
        (Value::Float(x), ColumnType::Int) if Value::Int(x as i64) == Value::Float(x) => {
            Ok(Value::Int(x as i64))
        }
        (value @ (Value::Int(_) | Value::Float(_) | Value::Bool(_)), ColumnType::Text) => {
            Ok(Value::from(telar_db::query::literal(&value).to_lowercase()))
        }
        (value, ColumnType::Json) => Ok(value),
        (value, ty) => {
            let is = value.type_name();
            let fits = match ty {
                ColumnType::Int => "INTEGER",
                ColumnType::Float => "FLOAT",
                ColumnType::Bool => "BOOLEAN",
                ColumnType::Date => "DATE",
                ColumnType::LocalTime => "LOCAL TIME",
                ColumnType::Time => "ZONED TIME",
                ColumnType::LocalDateTime => "LOCAL DATETIME",
                ColumnType::DateTime => "ZONED DATETIME",
                ColumnType::Duration => "DURATION",
                ColumnType::Point => "POINT",
                _ => "",
            };
            match fits == is {
                true => Ok(value),
                false => Err(format!("the value is of type {is}, and the mapping says {ty}")),
            }
        }
    }
}

impl TableReader for Rows {
    fn names(&self) -> &[Arc<str>] {
        &self.names
    }

    fn next(&mut self) -> Result<Option<Vec<Column>>, QueryError> {
        while let Some(file) = self.files.get_mut(self.at) {
            let Some(mut columns) = file.rows.next()? else {
                self.at += 1;
                self.firsts.push(self.rows);
                continue;
            };
            let rows = columns.first().map_or(0, Column::len);
            let mut kept = Vec::with_capacity(file.kept.len());
            let begin = self.rows - self.firsts[self.at];
            for (place, ty) in &file.kept {
                let Some(place) = place else {
                    kept.push(Column::Same(Value::Null, rows));
                    continue;
                };
                let column = std::mem::take(&mut columns[*place]);
                let column = match ty {
                    None => column,
                    Some(ty) => {
                        let values = column.into_values().into_iter().enumerate();
                        let values = values.map(|(row, value)| {
                            ty.value(value).map_err(|why| {
                                let at = file.rows.place(begin + row as u64);
                                let name = &file.rows.names()[*place];
                                failed(
                                    &place_of(&file.path, &at),
                                    format!("column '{name}': {why}"),
                                )
                            })
                        });
                        Column::of(values.collect::<Result<Vec<_>, _>>()?)
                    }
                };
                kept.push(column);
            }
            self.rows += rows as u64;
            if rows > 0 {
                return Ok(Some(kept));
            }
        }
        Ok(None)
    }

    fn place(&self, row: u64) -> String {
        let at = self.firsts.partition_point(|first| *first <= row).max(1) - 1;
        let Some(file) = self.files.get(at) else { return format!("row {}", row + 1) };
        place_of(&file.path, &file.rows.place(row - self.firsts[at]))
    }
}

/// Place of a row, with the file.
fn place_of(path: &str, place: &str) -> String {
    match place.starts_with(path) {
        true => place.to_owned(),
        false => format!("{path}, {place}"),
    }
}
