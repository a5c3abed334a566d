//! `LOAD CSV`: a row for each record of a file.
//!
//! Only files that the session allows are read: a path below the import folder of its settings.

use std::sync::Arc;

use telar_graph::{Value, ValueMap};

use super::{Exec, Operator, Source};
use crate::batch::{BATCH_ROWS, Batch, Column};
use crate::expr::eval::eval;
use crate::plan;
use crate::query_error::{ErrorKind, QueryError};

/// A file being read for one row of the input.
struct Open {
    rows: Batch,
    row: usize,
    headers: Option<Vec<Arc<str>>>,
    reader: csv::Reader<std::fs::File>,
}

pub(crate) struct LoadCsv<'p> {
    input: Source<'p>,
    plan: &'p plan::LoadCsv,
    waiting: Option<(Batch, usize)>,
    open: Option<Open>,
}

fn failed(source: &str, error: impl std::fmt::Display) -> QueryError {
    let message = format!("LOAD CSV cannot read {source}: {error}");
    QueryError::runtime(ErrorKind::ExternalResource, "ExternalResourceFailed", message)
}

impl<'p> LoadCsv<'p> {
    pub(crate) fn new(input: Source<'p>, plan: &'p plan::LoadCsv) -> Self {
        Self { input, plan, waiting: None, open: None }
    }

    fn open(&self, rows: Batch, row: usize, cx: &mut Exec<'_>) -> Result<Open, QueryError> {
        let source = match eval(&self.plan.source, &rows, cx)?.get(row) {
            Value::String(source) => source,
            other => return Err(QueryError::wrong_type("a string", &other, "LOAD CSV")),
        };
        let path = cx.import_path(&source).map_err(|e| failed(&source, e))?;
        let separator = u8::try_from(self.plan.separator)
            .map_err(|_| failed(&source, "the field terminator must be one ASCII character"))?;
        let mut reader = csv::ReaderBuilder::new()
            .has_headers(self.plan.headers)
            .delimiter(separator)
            .flexible(true)
            .from_path(path)
            .map_err(|e| failed(&source, e))?;
        let headers = match self.plan.headers {
            true => {
                let names = reader.headers().map_err(|e| failed(&source, e))?;
                Some(names.iter().map(Arc::from).collect())
            }
            false => None,
        };
        Ok(Open { rows, row, headers, reader })
    }
}

impl Open {
    fn read(&mut self) -> Result<Vec<Value>, QueryError> {
        let mut found = Vec::new();
        let mut record = csv::StringRecord::new();
        while found.len() < BATCH_ROWS {
            if !self.reader.read_record(&mut record).map_err(|e| failed("the file", e))? {
                break;
            }
            // An empty field is no value.
            let value = |field: &str| match field {
                "" => Value::Null,
                text => Value::from(text),
            };
            found.push(match &self.headers {
                None => Value::List(record.iter().map(value).collect()),
                Some(names) => {
                    let fields = record.iter().map(value).chain(std::iter::repeat(Value::Null));
                    Value::map(names.iter().cloned().zip(fields).collect::<ValueMap>())
                }
            });
        }
        Ok(found)
    }
}

impl Operator for LoadCsv<'_> {
    fn next(&mut self, cx: &mut Exec<'_>) -> Result<Option<Batch>, QueryError> {
        loop {
            cx.check()?;
            if let Some(open) = &mut self.open {
                let found = open.read()?;
                if !found.is_empty() {
                    let mut out = open.rows.gather(&vec![open.row as u32; found.len()]);
                    out.set(self.plan.slot, Column::Values(found));
                    return Ok(Some(out));
                }
                let Some(done) = self.open.take() else { continue };
                if done.row + 1 < done.rows.rows() {
                    self.waiting = Some((done.rows, done.row + 1));
                }
                continue;
            }
            let (rows, row) = match self.waiting.take() {
                Some(waiting) => waiting,
                None => match self.input.next(cx)? {
                    Some(rows) => (rows, 0),
                    None => return Ok(None),
                },
            };
            self.open = Some(self.open(rows, row, cx)?);
        }
    }
}
