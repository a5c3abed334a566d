//! Tables that JavaScript gives: as parameters, and to become nodes and relationships.

use std::sync::Arc;

use napi_derive::napi;
use parking_lot::Mutex;
use telar_db::column::Column;
use telar_db::import::table::Table;
use telar_db::query::{self, Columns, TableReader, literal};
use telar_db::{Value, ValueMap};

use crate::codec::{self, Malformed};
use crate::error::{Answer, Failure, answer};
use crate::held::Held;

/// Rows of a table, of one of the forms that it may be given in.
#[napi]
pub struct Rows {
    source: Source,
}

#[derive(Clone)]
enum Source {
    /// Arrow IPC, a file or a stream.
    Ipc(Arc<[u8]>),
    Result(Arc<Columns>),
    /// A map of columns, or a list of maps.
    Value(Value),
}

impl From<Malformed> for Failure {
    fn from(Malformed(text): Malformed) -> Self {
        Self::range(text)
    }
}

#[napi]
impl Rows {
    /// The rows of Arrow IPC bytes, which are copied.
    #[napi(factory)]
    pub fn of_ipc(bytes: &[u8]) -> Self {
        Self { source: Source::Ipc(bytes.into()) }
    }

    /// The rows of a result.
    #[napi(factory)]
    pub fn of_result(held: &Held) -> Self {
        Self { source: Source::Result(Arc::clone(held.columns())) }
    }

    /// The rows of an encoded value: a map of columns, or a list of maps.
    #[napi]
    pub fn of_value(bytes: &[u8]) -> Answer<Rows> {
        let value = codec::value(bytes).map_err(Failure::from);
        answer(value.map(|value| Self { source: Source::Value(value) }))
    }
}

impl Rows {
    /// A reader of the rows.
    pub(crate) fn reader(&self) -> Result<Box<dyn TableReader>, Failure> {
        self.source.reader()
    }
}

impl Source {
    fn reader(&self) -> Result<Box<dyn TableReader>, Failure> {
        match self {
            Self::Ipc(bytes) => Ok(telar_files::read_ipc(bytes.to_vec(), "the table")?),
            Self::Result(columns) => {
                if !columns.nodes().is_empty() || !columns.relationships().is_empty() {
                    return Err(Failure::wrong_type(
                        "the result has nodes or relationships, which are no values to give: \
                         return their properties",
                    ));
                }
                let all = (0..columns.names().len()).map(|at| columns.column(at).clone());
                Ok(Box::new(Table::new(columns.names().to_vec(), [all.collect()])))
            }
            Self::Value(Value::Map(map)) => of_columns(map),
            Self::Value(Value::List(rows)) => of_rows(rows),
            Self::Value(_) => Err(Failure::wrong_type(
                "a table is Arrow, a result, an object of columns or an array of objects",
            )),
        }
    }

    /// All rows, as columns with their names.
    fn columns(&self) -> Result<Vec<(Arc<str>, Column)>, Failure> {
        let mut reader = self.reader()?;
        let names = reader.names().to_vec();
        let mut columns: Vec<Column> = names.iter().map(|_| Column::packed()).collect();
        while let Some(batch) = reader.next()? {
            for (to, from) in columns.iter_mut().zip(&batch) {
                to.append(from);
            }
        }
        for (at, name) in names.iter().enumerate() {
            if names[..at].contains(name) {
                return Err(Failure::range(format!("two columns are called '{name}'")));
            }
        }
        Ok(names.into_iter().zip(columns).collect())
    }
}

fn of_columns(map: &ValueMap) -> Result<Box<dyn TableReader>, Failure> {
    let mut length = None;
    let (mut names, mut columns) = (Vec::new(), Vec::new());
    for (name, values) in map {
        let Value::List(values) = values else {
            return Err(Failure::wrong_type(format!("column '{name}' is no array of values")));
        };
        if *length.get_or_insert(values.len()) != values.len() {
            let text = "columns of a table have the same length, and column";
            return Err(Failure::range(format!("{text} '{name}' has another one")));
        }
        names.push(Arc::clone(name));
        columns.push(Column::of(values.to_vec()));
    }
    Ok(Box::new(Table::new(names, [columns])))
}

fn of_rows(rows: &[Value]) -> Result<Box<dyn TableReader>, Failure> {
    match Table::of_rows(rows) {
        Ok(table) => Ok(Box::new(table)),
        Err(row) => {
            let text = format!("a row of a table is an object, not {}", literal(row));
            Err(Failure::wrong_type(text))
        }
    }
}

/// Parameters that are tables.
#[napi]
#[derive(Default)]
pub struct Tables {
    all: Mutex<Vec<(String, Source)>>,
}

#[napi]
impl Tables {
    /// None yet.
    #[napi(constructor)]
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds one under the name of its parameter.
    #[napi]
    pub fn add(&self, name: String, rows: &Rows) {
        self.all.lock().push((name, rows.source.clone()));
    }
}

/// Parameters of a statement.
pub(crate) struct Parameters {
    values: ValueMap,
    given: Vec<(String, Source)>,
}

impl Parameters {
    pub(crate) fn new(bytes: &[u8], tables: Option<&Tables>) -> Result<Self, Failure> {
        let values = codec::parameters(bytes)?;
        let given = tables.map(|tables| tables.all.lock().clone()).unwrap_or_default();
        Ok(Self { values, given })
    }

    /// The values, and the tables among them. Arrow is read here, on the thread of the statement.
    pub(crate) fn read(self) -> Result<(ValueMap, Option<Arc<query::Tables>>), Failure> {
        let Self { mut values, given } = self;
        if given.is_empty() {
            return Ok((values, None));
        }
        let mut tables = query::Tables::default();
        for (name, source) in given {
            let columns = source.columns()?;
            if columns.is_empty() {
                values.insert(name.into(), Value::List(Arc::new([])));
            } else {
                tables.add(name, columns);
            }
        }
        Ok((values, (!tables.is_empty()).then(|| Arc::new(tables))))
    }
}
