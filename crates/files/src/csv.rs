//! CSV: fields between delimiters, with quotes around those that hold them.
//!
//! Types of columns are those that were given, or guessed from the first rows; a later field that
//! is not of its column's type is an error that names the line. An empty field is null, in quotes
//! too, as in `LOAD CSV`.

use std::fs::File;
use std::io::{self, BufWriter, Read, Write};
use std::sync::Arc;

use csv::StringRecord;
use telar_arrow::exact::resolved;
use telar_db::Value;
use telar_db::column::Column;
use telar_db::json::{Notation, Writer};
use telar_db::query::{EntityReader, FileOptions, QueryError, TableReader, TableWriter};

use crate::guess::{self, ColumnType};
use crate::places::Places;
use crate::reading::{Reading, Rejected};
use crate::text::{self, RECORD_BYTES_MAX};
use crate::{BATCH_ROWS, failed, wrong_option};

/// Rows from which types are guessed.
const GUESS_ROWS: usize = 10_000;

/// Text whose quotes are watched: at its end none may be open.
struct Watched {
    text: Box<dyn Read + Send>,
    delimiter: u8,
    at: At,
    /// Bytes since the last record.
    read: usize,
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum At {
    Start,
    Plain,
    Quoted,
    /// Behind a quote in quotes: the end, or the first of two.
    Quote,
}

impl Read for Watched {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.text.read(buffer)?;
        // PERF: bench/compare/python.py --section load: a chunk without quotes says no more than
        // its last byte.
        let bytes = match buffer[..read].contains(&b'"') {
            true => &buffer[..read],
            false => &buffer[read.saturating_sub(1)..read],
        };
        for byte in bytes {
            self.at = match (self.at, *byte) {
                (At::Quoted, b'"') => At::Quote,
                (At::Quoted, _) | (At::Start | At::Quote, b'"') => At::Quoted,
                (_, b'\n' | b'\r') => At::Start,
                (_, byte) if byte == self.delimiter => At::Start,
                _ => At::Plain,
            };
        }
        self.read += read;
        if self.read > RECORD_BYTES_MAX {
            let text = format!(
                "a record has more than {RECORD_BYTES_MAX} bytes; perhaps a quote is not closed"
            );
            return Err(io::Error::other(text));
        }
        Ok(read)
    }
}

/// Reads a file of CSV.
pub(crate) struct CsvReader {
    name: Arc<str>,
    names: Vec<Arc<str>>,
    types: Vec<ColumnType>,
    /// True if no type was guessed, of each column.
    given: Vec<bool>,
    records: csv::Reader<Watched>,
    /// Line of the last record.
    line: u64,
    /// Records that types were guessed from, and the lines of the batch.
    ahead: std::vec::IntoIter<StringRecord>,
    /// Fields that are no value.
    null: Vec<String>,
    /// Collects records that cannot be taken; none: the first ends the reading.
    rejected: Option<Rejected>,
    /// Lines of the rows that were handed out.
    places: Places,
    /// Records that were handed out, for those that follow.
    spare: Vec<StringRecord>,
}

impl CsvReader {
    pub(crate) fn new(file: File, name: &str, reading: &Reading) -> Result<Self, QueryError> {
        let options = &reading.options;
        let delimiter = options.delimiter;
        if !delimiter.is_ascii() || matches!(delimiter, b'"' | b'\r' | b'\n') {
            return Err(wrong_option(
                name,
                "the delimiter must be an ASCII character, and no quote",
            ));
        }
        let text = text::open(file).map_err(|e| failed(name, e))?;
        let text = Watched { text, delimiter, at: At::Start, read: 0 };
        let builder = || {
            let mut builder = csv::ReaderBuilder::new();
            builder.has_headers(false).flexible(true).delimiter(delimiter);
            builder
        };
        let mut reader = Self {
            name: name.into(),
            names: Vec::new(),
            types: Vec::new(),
            given: Vec::new(),
            records: builder().from_reader(text),
            line: 0,
            ahead: Vec::new().into_iter(),
            null: Vec::new(),
            rejected: reading.rejected.clone(),
            places: Places::default(),
            spare: Vec::new(),
        };
        let first = reader.record()?;
        let names = match (&first, options.header) {
            (None, _) => Vec::new(),
            (Some(first), true) => first.iter().map(|name| Arc::from(name.trim())).collect(),
            (Some(first), false) => {
                (1..=first.len()).map(|n| format!("column{n}").into()).collect()
            }
        };
        reader.null.clone_from(&reading.null);
        let given = guess::given(&options.types, &names).map_err(|e| wrong_option(name, e))?;
        let mut sample: Vec<StringRecord> = match options.header {
            true => Vec::new(),
            false => first.into_iter().collect(),
        };
        reader.names = names;
        while sample.len() < GUESS_ROWS
            && let Some(record) = reader.record()?
        {
            sample.push(record);
        }
        for (at, of) in given.iter().enumerate() {
            let guessed = || guess::guess(sample.iter().map(|record| &record[at]));
            reader.types.push(of.unwrap_or_else(guessed));
            reader.given.push(of.is_some());
        }
        reader.ahead = sample.into_iter();
        Ok(reader)
    }

    /// The types of the columns.
    pub(crate) fn types(&self) -> &[ColumnType] {
        &self.types
    }

    /// The next record of the file that has the fields of the first.
    fn record(&mut self) -> Result<Option<StringRecord>, QueryError> {
        loop {
            let Some(mut record) = self.any_record()? else { return Ok(None) };
            let (expected, found) = (self.names.len(), record.len());
            if expected == 0 || expected == found {
                if record.iter().any(|field| self.is_null(field)) {
                    let position = record.position().cloned();
                    let kept = |field| if self.is_null(field) { "" } else { field };
                    record = record.iter().map(kept).collect();
                    record.set_position(position);
                }
                return Ok(Some(record));
            }
            let place = format!("{}:{}", self.name, self.line);
            let text = format!("expected {expected} fields as in the first record, found {found}");
            match &self.rejected {
                Some(rejected) => rejected.take(place, text)?,
                None => return Err(failed(&place, text)),
            }
        }
    }

    fn is_null(&self, field: &str) -> bool {
        self.null.iter().any(|null| null == field)
    }

    /// The next record of the file.
    fn any_record(&mut self) -> Result<Option<StringRecord>, QueryError> {
        // PERF: bench/compare/python.py --section load: memory of records is used again.
        let mut record = self.spare.pop().unwrap_or_default();
        self.records.get_mut().read = 0;
        let found = self.records.read_record(&mut record).map_err(|e| {
            let line = e.position().map_or_else(String::new, |at| format!(":{}", at.line()));
            let place = format!("{}{line}", self.name);
            match e.kind() {
                csv::ErrorKind::Utf8 { .. } => failed(&place, "the text is not UTF-8"),
                csv::ErrorKind::Io(e) => failed(&place, e),
                _ => failed(&place, &e),
            }
        })?;
        if found {
            self.line = record.position().map_or(0, csv::Position::line);
        }
        let (name, line) = (&self.name, self.line);
        if self.records.is_done() && self.records.get_ref().at == At::Quoted {
            return Err(failed(&format!("{name}:{line}"), "a quote is opened and never closed"));
        }
        Ok(found.then_some(record))
    }

    /// The columns of records; the first that cannot be taken, and why, if there is one.
    fn columns(&self, records: &[StringRecord]) -> Result<Vec<Column>, (usize, String)> {
        let mut columns = Vec::with_capacity(self.types.len());
        for (at, of) in self.types.iter().enumerate() {
            let fields = records.iter().map(|record| &record[at]);
            let column = of.column(fields).map_err(|(row, why)| {
                let (column, field) = (&self.names[at], &records[row][at]);
                let hint = match self.given[at] {
                    true => String::new(),
                    false => format!(
                        "; the first {GUESS_ROWS} rows were of this type: give the column \
                         another, in COPY by types = '{column}:string', in an import by a mapping \
                         file"
                    ),
                };
                let text =
                    format!("column '{column}' is of type {of}, and {field:?} is not: {why}");
                (row, format!("{text}{hint}"))
            });
            columns.push(column?);
        }
        Ok(columns)
    }
}

impl TableReader for CsvReader {
    fn names(&self) -> &[Arc<str>] {
        &self.names
    }

    fn next(&mut self) -> Result<Option<Vec<Column>>, QueryError> {
        let mut records: Vec<StringRecord> = self.ahead.by_ref().take(BATCH_ROWS).collect();
        let mut failure = None;
        while records.len() < BATCH_ROWS {
            match self.record() {
                Ok(Some(record)) => records.push(record),
                Ok(None) => break,
                // What is wrong in a record before it is said first.
                Err(error) => {
                    failure = Some(error);
                    break;
                }
            }
        }
        if records.is_empty() {
            return failure.map_or(Ok(None), Err);
        }
        let columns = loop {
            match self.columns(&records) {
                Ok(columns) => break columns,
                Err((row, why)) => {
                    let place = |record: &StringRecord| {
                        let line = record.position().map_or(0, csv::Position::line);
                        format!("{}:{line}", self.name)
                    };
                    let Some(rejected) = &self.rejected else {
                        return Err(failed(&place(&records[row]), why));
                    };
                    // One pass over the records, however many are bad.
                    let mut good = Vec::with_capacity(records.len());
                    for record in records {
                        match self.columns(std::slice::from_ref(&record)) {
                            Ok(_) => good.push(record),
                            Err((_, why)) => rejected.take(place(&record), why)?,
                        }
                    }
                    records = good;
                }
            }
        };
        if let Some(error) = failure {
            return Err(error);
        }
        for record in &records {
            self.places.push(record.position().map_or(0, csv::Position::line));
        }
        self.spare = records;
        Ok(Some(columns))
    }

    fn place(&self, row: u64) -> String {
        format!("{}:{}", self.name, self.places.line(row))
    }
}

/// Writes a file of CSV.
pub(crate) struct CsvWriter {
    name: Arc<str>,
    records: csv::Writer<BufWriter<File>>,
}

impl CsvWriter {
    pub(crate) fn new(
        file: File,
        name: &str,
        columns: &[Arc<str>],
        options: &FileOptions,
    ) -> Result<Self, QueryError> {
        if options.compression.as_deref().is_some_and(|kind| kind != "none") {
            return Err(wrong_option(name, "CSV is written without compression"));
        }
        if !options.delimiter.is_ascii() || matches!(options.delimiter, b'"' | b'\r' | b'\n') {
            let text = "the delimiter must be an ASCII character, and no quote or end of a line";
            return Err(wrong_option(name, text));
        }
        let mut records = csv::WriterBuilder::new()
            .delimiter(options.delimiter)
            .from_writer(BufWriter::with_capacity(1 << 16, file));
        if options.header {
            let names = columns.iter().map(|name| name.as_bytes());
            records.write_record(names).map_err(|e| failed(name, e))?;
        }
        Ok(Self { name: name.into(), records })
    }
}

/// The text of a value; nothing for null.
pub(crate) fn field(value: Value, rows: Option<&dyn EntityReader>) -> Result<String, QueryError> {
    match &value {
        Value::Null => return Ok(String::new()),
        Value::String(text) => return Ok(text.to_string()),
        _ => {}
    }
    let mut json = Vec::new();
    let writer = Writer { notation: Notation::Plain, rows: None, begin: 0 };
    writer.value(&mut json, &resolved(value, rows)?)?;
    // Dates and their like are strings of JSON that need no escapes.
    let text = String::from_utf8(json).expect("INVARIANT: JSON is UTF-8");
    let bare = text.strip_prefix('"').and_then(|text| text.strip_suffix('"'));
    Ok(bare.map_or_else(|| text.clone(), str::to_owned))
}

impl TableWriter for CsvWriter {
    fn write(
        &mut self,
        columns: &[&Column],
        rows: Option<&dyn EntityReader>,
    ) -> Result<(), QueryError> {
        for row in 0..columns.first().map_or(0, |column| column.len()) {
            for column in columns {
                let text = field(column.get(row), rows)?;
                self.records.write_field(text).map_err(|e| failed(&self.name, e))?;
            }
            let end: Option<&[u8]> = None;
            self.records.write_record(end).map_err(|e| failed(&self.name, e))?;
        }
        Ok(())
    }

    fn finish(self: Box<Self>) -> Result<(), QueryError> {
        let Self { name, records } = *self;
        let buffer = records.into_inner().map_err(|e| failed(&name, e.error()))?;
        let mut file = buffer.into_inner().map_err(|e| failed(&name, e.error()))?;
        file.flush().and_then(|()| file.sync_all()).map_err(|e| failed(&name, e))
    }
}
