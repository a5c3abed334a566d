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
    /// Of each column that is kept: its place, if the file has it, and the type that its values are
    /// brought to.
    pub(super) kept: Vec<(Option<usize>, Option<ColumnType>)>,
}

impl Rows {
    pub(super) fn new(files: Vec<File>, names: Vec<Arc<str>>) -> Self {
        Self { files, names, at: 0, firsts: vec![0], rows: 0 }
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
                            converted(value, *ty).map_err(|why| {
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

/// Where a row is, with the file.
fn place_of(path: &str, place: &str) -> String {
    match place.starts_with(path) {
        true => place.to_owned(),
        false => format!("{path}, {place}"),
    }
}
