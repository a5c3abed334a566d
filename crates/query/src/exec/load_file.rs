//! `LOAD PARQUET`, `LOAD ARROW`, `LOAD JSON`: a row for each row of a file, as a map with the names
//! of its columns; for each line of JSON, as what it says.
//!
//! The formats are those of the session ([`Files`](crate::files::Files)); which files may be read
//! is the same as for `LOAD CSV`.

use std::sync::Arc;

use telar_graph::column::Maps;
use telar_graph::{Value, ValueMap};

use super::feed::Feed;
use super::memory::Held;
use super::{Exec, Operator, Ramp, Source};
use crate::batch::{Batch, Column};
use crate::exec::eval::eval;
use crate::files::{FileFormat, FileOptions, TableReader, open_regular};
use crate::plan;
use crate::query_error::{ErrorKind, QueryError};

/// A file being read for one row of the input.
struct Open {
    rows: Batch,
    row: usize,
    reader: Box<dyn TableReader>,
    /// Its absolute path, if somebody asks for it.
    path: Option<Value>,
    /// Columns that were read, and how many of their rows have gone.
    columns: Vec<Column>,
    gone: usize,
    /// Rows of the file before these columns.
    before: usize,
}

pub(crate) struct LoadFile<'p> {
    feed: Feed<'p>,
    plan: &'p plan::LoadCsv,
    ramp: Ramp,
    open: Option<Open>,
    /// The columns that were read last.
    held: Held,
}

impl<'p> LoadFile<'p> {
    pub(crate) fn new(input: Source<'p>, plan: &'p plan::LoadCsv, ramp: Ramp) -> Self {
        Self { feed: Feed::new(input), plan, ramp, open: None, held: Held::of("LoadCsv") }
    }

    fn open(&self, rows: Batch, row: usize, cx: &mut Exec<'_>) -> Result<Open, QueryError> {
        let format = self.plan.format;
        let clause = format!("LOAD {}", format.name().to_uppercase());
        let source = match eval(&self.plan.source, &rows, cx)?.get(row) {
            Value::String(source) => source,
            other => return Err(QueryError::wrong_type("a string", &other, &clause)),
        };
        let failed = |error: &dyn std::fmt::Display| {
            let message = format!("{clause} cannot read {source}: {error}");
            QueryError::runtime(ErrorKind::ExternalResource, "ExternalResourceFailed", message)
        };
        let path = cx.import_path(&source).map_err(|e| failed(&e))?;
        let file = open_regular(&path).map_err(|e| failed(&e))?;
        let options = FileOptions { whole: true, ..FileOptions::new(format) };
        let reader = cx.procedures.files.read(file, &source, &options)?;
        let names = reader.names();
        if let Some(at) = (0..names.len()).find(|at| names[..*at].contains(&names[*at])) {
            return Err(failed(&format!("two columns are called '{}'", names[at])));
        }
        let path = self.plan.places.then(|| Value::from(&*path.to_string_lossy()));
        Ok(Open { rows, row, reader, path, columns: Vec::new(), gone: 0, before: 0 })
    }
}

impl Open {
    /// The next rows, as many as are wanted, and the number of the first.
    fn read(
        &mut self,
        wanted: usize,
        json: bool,
        held: &mut Held,
        cx: &mut Exec<'_>,
    ) -> Result<(Column, usize), QueryError> {
        let mut rows = self.columns.first().map_or(0, Column::len);
        while self.gone == rows {
            cx.check()?;
            held.clear();
            let Some(columns) = self.reader.next()? else { return Ok((Column::default(), 0)) };
            self.before += rows;
            self.gone = 0;
            rows = columns.first().map_or(0, Column::len);
            held.grow(columns.iter().map(Column::bytes).sum(), cx)?;
            self.columns = columns;
        }
        let (from, to) = (self.gone, rows.min(self.gone + wanted));
        self.gone = to;
        let found = match (json, &self.columns[..]) {
            // A line of JSON is one value.
            (true, [values]) => values.slice(from, to),
            _ if !self.columns.is_empty() => {
                let names = self.reader.names().iter().cloned();
                let columns = self.columns.iter().map(|column| column.slice(from, to));
                Column::Maps(Maps::new(names.zip(columns)))
            }
            _ => {
                let names = self.reader.names();
                let map = |row| {
                    let values = self.columns.iter().map(|column| column.get(row));
                    let map: ValueMap = names.iter().map(Arc::clone).zip(values).collect();
                    Value::Map(Arc::new(map))
                };
                Column::Values((from..to).map(map).collect())
            }
        };
        Ok((found, self.before + from))
    }
}

impl Operator for LoadFile<'_> {
    fn next(&mut self, cx: &mut Exec<'_>) -> Result<Option<Batch>, QueryError> {
        loop {
            if let Some(open) = &mut self.open {
                let json = self.plan.format == FileFormat::Json;
                let (found, first) = open.read(self.ramp.step(), json, &mut self.held, cx)?;
                if !found.is_empty() {
                    let mut out = open.rows.gather(&vec![open.row as u32; found.len()]);
                    if let Some(path) = &open.path {
                        let numbers = first as i64 + 1..(first + found.len()) as i64 + 1;
                        out.set(self.plan.file, Column::Same(path.clone(), found.len()));
                        out.set(self.plan.line, Column::from(numbers.collect::<Vec<_>>()));
                    }
                    out.set(self.plan.slot, found);
                    return Ok(Some(out));
                }
                let Some(done) = self.open.take() else { continue };
                self.held.clear();
                self.feed.keep(done.rows, done.row + 1);
                continue;
            }
            let Some((rows, row)) = self.feed.next(cx)? else { return Ok(None) };
            self.open = Some(self.open(rows, row, cx)?);
        }
    }
}
