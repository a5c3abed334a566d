//! JSON lines: a value in each line.
//!
//! As a table, each line is an object, and the columns are the keys of all lines, in the order in
//! which they come; the file is read twice for that. An object of `$type` and `_value` is a value
//! of that type, as the writer makes it if it is told to keep types.

use std::collections::HashSet;
use std::fs::File;
use std::io::{BufRead, BufReader, BufWriter, Read, Seek, Write};
use std::sync::Arc;

use serde_json::Value as Json;
use telar_arrow::exact::resolved;
use telar_db::Value;
use telar_db::column::Column;
use telar_db::json::{Notation, Writer, read_mixed_value, write_string};
use telar_db::query::{EntityReader, FileOptions, QueryError, TableReader, TableWriter};

use crate::places::Places;
use crate::text::{self, RECORD_BYTES_MAX};
use crate::{BATCH_ROWS, failed, wrong_option};

/// Lines of a text.
struct Lines {
    name: Arc<str>,
    text: BufReader<Box<dyn Read + Send>>,
    line: u64,
    bytes: Vec<u8>,
}

impl Lines {
    fn new(file: File, name: &str) -> Result<Self, QueryError> {
        let text = BufReader::new(text::open(file).map_err(|e| failed(name, e))?);
        Ok(Self { name: name.into(), text, line: 0, bytes: Vec::new() })
    }

    fn failed(&self, what: impl std::fmt::Display) -> QueryError {
        failed(&format!("{}:{}", self.name, self.line), what)
    }

    /// The value of the next line that has text.
    fn next(&mut self) -> Result<Option<Json>, QueryError> {
        loop {
            self.bytes.clear();
            self.line += 1;
            let mut limited = Read::by_ref(&mut self.text).take(RECORD_BYTES_MAX as u64 + 1);
            let read = limited.read_until(b'\n', &mut self.bytes);
            match read.map_err(|e| self.failed(e))? {
                0 => return Ok(None),
                bytes if bytes > RECORD_BYTES_MAX => {
                    return Err(
                        self.failed(format!("a line of more than {RECORD_BYTES_MAX} bytes"))
                    );
                }
                _ if self.bytes.trim_ascii().is_empty() => {}
                _ => {
                    let json = serde_json::from_slice(&self.bytes);
                    return json
                        .map(Some)
                        .map_err(|e| self.failed(format!("column {}: not JSON: {e}", e.column())));
                }
            }
        }
    }
}

/// Reads a file of JSON lines.
pub(crate) struct JsonReader {
    lines: Lines,
    names: Vec<Arc<str>>,
    whole: bool,
    places: Places,
}

impl JsonReader {
    pub(crate) fn new(
        mut file: File,
        name: &str,
        options: &FileOptions,
    ) -> Result<Self, QueryError> {
        let mut names: Vec<Arc<str>> = Vec::new();
        if options.whole {
            names.push("value".into());
        } else {
            let first = file.try_clone().map_err(|e| failed(name, e))?;
            let mut lines = Lines::new(first, name)?;
            let mut seen = HashSet::new();
            while let Some(json) = lines.next()? {
                let Json::Object(entries) = json else {
                    return Err(lines.failed("expected an object: a line is a row of a table"));
                };
                for key in entries.keys().filter(|key| !seen.contains(&***key)) {
                    names.push(key.as_str().into());
                }
                seen.extend(names[seen.len()..].iter().cloned());
            }
            file.rewind().map_err(|e| failed(name, e))?;
        }
        let (whole, places) = (options.whole, Places::default());
        Ok(Self { lines: Lines::new(file, name)?, names, whole, places })
    }
}

impl TableReader for JsonReader {
    fn names(&self) -> &[Arc<str>] {
        &self.names
    }

    fn next(&mut self) -> Result<Option<Vec<Column>>, QueryError> {
        let mut columns: Vec<Vec<Value>> = vec![Vec::new(); self.names.len()];
        let mut rows = 0;
        while rows < BATCH_ROWS
            && let Some(json) = self.lines.next()?
        {
            let lines = &self.lines;
            self.places.push(lines.line);
            if self.whole {
                columns[0].push(read_mixed_value(json).map_err(|e| lines.failed(e))?);
            } else if let Json::Object(mut entries) = json {
                for (name, column) in self.names.iter().zip(&mut columns) {
                    let value = entries.swap_remove(&**name).unwrap_or(Json::Null);
                    let value = read_mixed_value(value);
                    column.push(value.map_err(|e| lines.failed(format!("key '{name}': {e}")))?);
                }
            } else {
                return Err(lines.failed("expected an object: a line is a row of a table"));
            }
            rows += 1;
        }
        match rows {
            0 => Ok(None),
            _ => Ok(Some(columns.into_iter().map(Column::of).collect())),
        }
    }

    fn place(&self, row: u64) -> String {
        format!("{}:{}", self.lines.name, self.places.line(row))
    }
}

/// Writes a file of JSON lines.
pub(crate) struct JsonWriter {
    name: Arc<str>,
    keys: Vec<Arc<str>>,
    typed: bool,
    file: BufWriter<File>,
    line: Vec<u8>,
}

impl JsonWriter {
    pub(crate) fn new(
        file: File,
        name: &str,
        columns: &[Arc<str>],
        options: &FileOptions,
    ) -> Result<Self, QueryError> {
        if options.compression.as_deref().is_some_and(|kind| kind != "none") {
            return Err(wrong_option(name, "JSON lines are written without compression"));
        }
        let file = BufWriter::with_capacity(1 << 16, file);
        let (keys, typed, line) = (columns.to_vec(), options.typed, Vec::new());
        Ok(Self { name: name.into(), keys, typed, file, line })
    }
}

/// True if JSON has a type for it, and for all that is in it.
fn is_plain(value: &Value) -> bool {
    match value {
        Value::Null | Value::Bool(_) | Value::Int(_) | Value::String(_) => true,
        Value::Float(float) => float.is_finite(),
        Value::List(list) => list.iter().all(is_plain),
        Value::Map(map) => !map.contains_key("$type") && map.values().all(is_plain),
        _ => false,
    }
}

impl TableWriter for JsonWriter {
    fn write(
        &mut self,
        columns: &[&Column],
        rows: Option<&dyn EntityReader>,
    ) -> Result<(), QueryError> {
        for row in 0..columns.first().map_or(0, |column| column.len()) {
            self.line.clear();
            self.line.push(b'{');
            for (key, column) in self.keys.iter().zip(columns) {
                if self.line.len() > 1 {
                    self.line.push(b',');
                }
                write_string(&mut self.line, key);
                self.line.push(b':');
                let value = resolved(column.get(row), rows)?;
                let notation = match self.typed && !is_plain(&value) {
                    true => Notation::Typed,
                    false => Notation::Plain,
                };
                let writer = Writer { notation, rows: None, begin: 0 };
                writer.value(&mut self.line, &value)?;
            }
            self.line.extend_from_slice(b"}\n");
            self.file.write_all(&self.line).map_err(|e| failed(&self.name, e))?;
        }
        Ok(())
    }

    fn finish(self: Box<Self>) -> Result<(), QueryError> {
        let Self { name, file, .. } = *self;
        let file = file.into_inner().map_err(|e| failed(&name, e.error()))?;
        file.sync_all().map_err(|e| failed(&name, e))
    }
}
