//! `LOAD CSV`: a row for each record of a file.
//!
//! Only files that the session allows are read: a path below the import folder of its settings.
//! What is wrong in a file is named with its line; what earlier rows changed is undone with the
//! query.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read, Seek, SeekFrom};
use std::path::Path;
use std::sync::Arc;

use telar_graph::value::heap_bytes;
use telar_graph::{Value, ValueMap};

use super::feed::Feed;
use super::memory::Held;

use super::{Exec, Operator, Ramp, Source};
use crate::batch::{Batch, Column};
use crate::exec::eval::eval;
use crate::files::open_regular;
use crate::plan;
use crate::query_error::{ErrorKind, QueryError};
use crate::watch::Limits;

/// A file being read for one row of the input.
struct Open {
    rows: Batch,
    row: usize,
    headers: Option<Vec<Arc<str>>>,
    /// As the query names it.
    source: Arc<str>,
    /// Its absolute path, and the lines of its records, if somebody asks for them.
    place: Option<(Value, Lines)>,
    separator: u8,
    /// Where the last record begins.
    last: csv::Position,
    reader: csv::Reader<Watched>,
}

/// Longest record: one that lacks a quote is as long as the rest of the file.
const RECORD_BYTES_MAX: usize = 32 << 20;

/// A file whose reading ends when the query does, or when a single record is longer than any.
struct Watched {
    file: File,
    limits: Limits,
    /// Bytes read since the last record.
    read: usize,
    /// Why the query ended while it was read.
    ended: Option<QueryError>,
}

impl Read for Watched {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.file.read(buffer)?;
        self.read += read;
        let most = self.limits.memory.map_or(RECORD_BYTES_MAX, |m| m.min(RECORD_BYTES_MAX));
        let too_long = self.read > most;
        let ended = match self.limits.check() {
            Ok(()) if too_long => {
                let message = format!(
                    "LoadCsv: a record of the file has more than {most} bytes, which is the most \
                     of a record, or of what a statement may hold (limits.statement_memory, \
                     Limits::memory); perhaps a quote in it is not closed"
                );
                QueryError::runtime(ErrorKind::OutOfMemory, "OutOfMemory", message)
            }
            Ok(()) => return Ok(read),
            Err(e) => e,
        };
        self.ended = Some(ended);
        Err(io::Error::other("the query ended"))
    }
}

/// Counts the lines of a file up to its records, one after the other. The reader of records counts
/// differently: what ends a line before a record, and blank lines, may be behind its place.
struct Lines {
    text: BufReader<File>,
    /// Bytes gone by, and the line they end in.
    at: u64,
    line: i64,
}

impl Lines {
    fn new(path: &Path) -> std::io::Result<Self> {
        Ok(Self { text: BufReader::new(open_regular(path)?), at: 0, line: 1 })
    }

    /// The line of the first record that begins at this byte or behind ends of lines there.
    fn line_of(&mut self, byte: u64) -> std::io::Result<i64> {
        loop {
            let text = self.text.fill_buf()?;
            let before = usize::try_from(byte.saturating_sub(self.at)).unwrap_or(usize::MAX);
            let before = before.min(text.len());
            let blank = text[before..].iter().take_while(|b| matches!(b, b'\r' | b'\n')).count();
            let gone = before + blank;
            let ends = text[..gone].iter().filter(|b| **b == b'\n').count();
            let done = gone < text.len() || text.is_empty();
            self.line += ends as i64;
            self.at += gone as u64;
            self.text.consume(gone);
            if done {
                return Ok(self.line);
            }
        }
    }
}

pub(crate) struct LoadCsv<'p> {
    feed: Feed<'p>,
    plan: &'p plan::LoadCsv,
    ramp: Ramp,
    open: Option<Open>,
    /// The records handed on last.
    held: Held,
}

fn failed(source: &str, error: impl std::fmt::Display) -> QueryError {
    let message = format!("LOAD CSV cannot read {source}: {error}");
    QueryError::runtime(ErrorKind::ExternalResource, "ExternalResourceFailed", message)
}

/// Why the query ended while a file was read, if it did.
fn ended(reader: &mut csv::Reader<Watched>) -> Option<QueryError> {
    reader.get_mut().ended.take()
}

/// A record that cannot be read, with its line.
fn broken(source: &str, error: &csv::Error) -> QueryError {
    match (error.position(), error.kind()) {
        (Some(at), csv::ErrorKind::Utf8 { .. }) => {
            failed(&format!("{source}:{}", at.line()), "the text is not UTF-8")
        }
        (Some(at), _) => failed(&format!("{source}:{}", at.line()), error),
        (None, _) => failed(source, error),
    }
}

/// Whether a text ends inside of a field in quotes.
fn ends_in_quotes(text: impl BufRead, separator: u8) -> std::io::Result<bool> {
    #[derive(PartialEq)]
    enum At {
        Start,
        Plain,
        Quoted,
        /// Behind a quote in quotes: the end, or the first of two.
        Quote,
    }
    let mut at = At::Start;
    for byte in text.bytes() {
        let byte = byte?;
        at = match (at, byte) {
            (At::Start | At::Quote, b'"') | (At::Quoted, 0..b'"' | b'#'..) => At::Quoted,
            (At::Quoted, b'"') => At::Quote,
            (At::Start | At::Plain | At::Quote, b'\n' | b'\r') => At::Start,
            (At::Start | At::Plain | At::Quote, byte) if byte == separator => At::Start,
            (At::Start | At::Plain | At::Quote, _) => At::Plain,
        };
    }
    Ok(at == At::Quoted)
}

impl<'p> LoadCsv<'p> {
    pub(crate) fn new(input: Source<'p>, plan: &'p plan::LoadCsv, ramp: Ramp) -> Self {
        Self { feed: Feed::new(input), plan, ramp, open: None, held: Held::of("LoadCsv") }
    }

    fn open(&self, rows: Batch, row: usize, cx: &mut Exec<'_>) -> Result<Open, QueryError> {
        let source = match eval(&self.plan.source, &rows, cx)?.get(row) {
            Value::String(source) => source,
            other => return Err(QueryError::wrong_type("a string", &other, "LOAD CSV")),
        };
        let path = cx.import_path(&source).map_err(|e| failed(&source, e))?;
        let separator = self.plan.separator.filter(char::is_ascii).map(|c| c as u8);
        let separator = separator
            .ok_or_else(|| failed(&source, "the field terminator must be one ASCII character"))?;
        let mut reader = csv::ReaderBuilder::new()
            .has_headers(self.plan.headers)
            .delimiter(separator)
            .flexible(true)
            .from_reader(Watched {
                file: open_regular(&path).map_err(|e| failed(&source, e))?,
                limits: cx.limits().clone(),
                read: 0,
                ended: None,
            });
        let headers = match self.plan.headers {
            true => {
                let names = reader.headers().map(|names| names.iter().map(Arc::from).collect());
                match names {
                    Ok(names) => Some(names),
                    Err(e) => return Err(ended(&mut reader).unwrap_or_else(|| broken(&source, &e))),
                }
            }
            false => None,
        };
        let last = csv::Position::new();
        let place = match self.plan.places {
            true => {
                let lines = Lines::new(&path).map_err(|e| failed(&source, e))?;
                Some((Value::from(&*path.to_string_lossy()), lines))
            }
            false => None,
        };
        Ok(Open { rows, row, headers, source, place, separator, last, reader })
    }
}

impl Open {
    /// Refuses a last record whose quotes are not closed: it would be the rest of the file.
    fn check_end(&mut self) -> Result<(), QueryError> {
        let file = &mut self.reader.get_mut().file;
        let open = file
            .seek(SeekFrom::Start(self.last.byte()))
            .and_then(|_| ends_in_quotes(BufReader::new(file), self.separator))
            .map_err(|e| failed(&self.source, e))?;
        if open {
            let place = format!("{}:{}", self.source, self.last.line());
            return Err(failed(&place, "a quote of the record that begins here is not closed"));
        }
        Ok(())
    }

    /// Records, as many as are wanted, and the lines they begin at.
    fn read(
        &mut self,
        wanted: usize,
        held: &mut Held,
        cx: &mut Exec<'_>,
    ) -> Result<(Vec<Value>, Vec<Value>), QueryError> {
        let (mut found, mut lines) = (Vec::new(), Vec::new());
        let mut record = csv::StringRecord::new();
        while found.len() < wanted {
            cx.check()?;
            self.reader.get_mut().read = 0;
            match self.reader.read_record(&mut record) {
                Ok(true) => {}
                Ok(false) => {
                    self.check_end()?;
                    break;
                }
                Err(e) => {
                    let ended = ended(&mut self.reader);
                    return Err(ended.unwrap_or_else(|| broken(&self.source, &e)));
                }
            }
            if let Some(position) = record.position() {
                self.last = position.clone();
            }
            if let Some((_, places)) = &mut self.place {
                let line = places.line_of(self.last.byte()).map_err(|e| failed(&self.source, e))?;
                lines.push(Value::Int(line));
            }
            // An empty field is no value.
            let value = |field: &str| match field {
                "" => Value::Null,
                text => Value::from(text),
            };
            let value = match &self.headers {
                None => Value::List(record.iter().map(value).collect()),
                Some(names) => {
                    let fields = record.iter().map(value).chain(std::iter::repeat(Value::Null));
                    Value::map(names.iter().cloned().zip(fields).collect::<ValueMap>())
                }
            };
            held.grow(size_of::<Value>() + heap_bytes(&value), cx)?;
            found.push(value);
        }
        Ok((found, lines))
    }
}

impl Operator for LoadCsv<'_> {
    fn next(&mut self, cx: &mut Exec<'_>) -> Result<Option<Batch>, QueryError> {
        loop {
            if let Some(open) = &mut self.open {
                self.held.clear();
                let (found, lines) = open.read(self.ramp.step(), &mut self.held, cx)?;
                if !found.is_empty() {
                    let mut out = open.rows.gather(&vec![open.row as u32; found.len()]);
                    if let Some((path, _)) = &open.place {
                        out.set(self.plan.file, Column::Same(path.clone(), found.len()));
                        out.set(self.plan.line, Column::Values(lines));
                    }
                    out.set(self.plan.slot, Column::Values(found));
                    return Ok(Some(out));
                }
                let Some(done) = self.open.take() else { continue };
                self.feed.keep(done.rows, done.row + 1);
                continue;
            }
            let Some((rows, row)) = self.feed.next(cx)? else { return Ok(None) };
            self.open = Some(self.open(rows, row, cx)?);
        }
    }
}
