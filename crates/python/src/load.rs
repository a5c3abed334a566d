//! Tables that become nodes and relationships, without a statement for each row.

use std::sync::Arc;

use arrow_array::RecordBatchReader;
use arrow_array::ffi_stream::RecordBatchStreamReader;
use parking_lot::Mutex;
use pyo3::exceptions::{PyKeyboardInterrupt, PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList, PyMapping, PyString};
use telar_db::Value;
use telar_db::column::Column;
use telar_db::import::UniqueKey;
use telar_db::import::table::{End, NodeTable, RelationshipTable, Table, TableImport};
use telar_db::query::{ErrorKind, QueryError, TableReader, literal};

use crate::database::Held;
use crate::error::{ClosedError, of_query};
use crate::frame;
use crate::interrupt;
use crate::value::of_python;

/// Tables that come in together, as one commit: at the end of the `with`, or with `commit()`. After
/// an exception in it nothing was changed.
///
/// >>> import telar
/// >>> db = telar.open()
/// >>> with db.load(unique=["Person.id"]) as load:
/// ...     load.nodes("Person", {"id": [1, 2, 3], "name": ["Ada", "Bob", None]})
/// ...     load.relationships("KNOWS", {"a": [1, 3], "b": [2, 2]}, src="a", dst="b", label="Person")
/// >>> load.report["nodes"], load.report["relationships"]
/// (3, 2)
#[pyclass(frozen, module = "telar")]
pub(crate) struct Load {
    held: Held,
    bad_rows: Option<u64>,
    state: Mutex<State>,
}

struct State {
    /// The tables, until they are taken.
    tables: Option<TableImport<'static>>,
    report: Option<Py<PyDict>>,
}

impl Load {
    pub(crate) fn new(held: Held, unique: Vec<String>, bad_rows: Option<u64>) -> PyResult<Self> {
        let key = |text: String| match text.split_once('.') {
            Some((label, key)) if !label.is_empty() && !key.is_empty() => {
                Ok(UniqueKey { label: label.to_owned(), key: key.to_owned() })
            }
            _ => Err(PyValueError::new_err(format!("unique is like 'Person.id', not {text:?}"))),
        };
        let unique = unique.into_iter().map(key).collect::<PyResult<_>>()?;
        let tables = Some(TableImport { unique, bad_rows, ..TableImport::default() });
        Ok(Self { held, bad_rows, state: Mutex::new(State { tables, report: None }) })
    }

    fn with<T>(&self, act: impl FnOnce(&mut TableImport<'static>) -> PyResult<T>) -> PyResult<T> {
        match &mut self.state.lock().tables {
            Some(tables) => act(tables),
            None => {
                Err(ClosedError::new_err("the load is committed or given up: begin another one"))
            }
        }
    }

    /// The property that names nodes of a label: of the one unique constraint that is there, or is
    /// made with the load.
    fn key_of(&self, py: Python<'_>, label: &str) -> PyResult<String> {
        let mut keys = self.with(|tables| {
            let made = tables.unique.iter().filter(|unique| unique.label == label);
            Ok(made.map(|unique| unique.key.clone()).collect::<Vec<_>>())
        })?;
        let database = self.held.opened().database()?;
        let known = py.detach(|| database.unique_keys(label)).map_err(|e| of_query(py, &e))?;
        for key in known {
            if !keys.contains(&key) {
                keys.push(key);
            }
        }
        match &*keys {
            [key] => Ok(key.clone()),
            [] => Err(PyValueError::new_err(format!(
                "nothing says by which property a {label} is known: give src_key and dst_key, or \
                 make it unique (CREATE CONSTRAINT FOR (n:{label}) REQUIRE n.id IS UNIQUE)"
            ))),
            several => Err(PyValueError::new_err(format!(
                "a {label} is unique by {}: say by which it is known, src_key or dst_key",
                several.join(", ")
            ))),
        }
    }
}

/// Labels: one, or several.
fn labels_of(labels: &Bound<'_, PyAny>) -> PyResult<Vec<String>> {
    if let Ok(label) = labels.cast::<PyString>() {
        return Ok(vec![label.to_string()]);
    }
    labels.extract().map_err(|_| PyTypeError::new_err("labels are a string, or several"))
}

#[pymethods]
impl Load {
    /// Adds a table of nodes. `labels` is one, or several; each column is a property, and null is
    /// none. A table is anything with Arrow's stream interface, a dict of columns, or a list of
    /// dicts.
    fn nodes(&self, labels: &Bound<'_, PyAny>, table: &Bound<'_, PyAny>) -> PyResult<()> {
        let (labels, rows) = (labels_of(labels)?, rows_of(table)?);
        self.with(|tables| {
            tables.nodes.push(NodeTable { labels, rows });
            Ok(())
        })
    }

    /// Adds a table of relationships of a type: from the node that the column `src` names to the
    /// one that `dst` names, by the property `key` of the label `label`; `src_label` and so on
    /// where the two differ. Without a key it is the one unique constraint of the label. The other
    /// columns are properties.
    #[pyo3(signature = (r#type, table, *, src, dst, label = None, key = None, src_label = None,
                        src_key = None, dst_label = None, dst_key = None))]
    #[expect(clippy::too_many_arguments, reason = "keyword arguments of Python")]
    fn relationships(
        &self,
        py: Python<'_>,
        r#type: String,
        table: &Bound<'_, PyAny>,
        src: String,
        dst: String,
        label: Option<String>,
        key: Option<String>,
        src_label: Option<String>,
        src_key: Option<String>,
        dst_label: Option<String>,
        dst_key: Option<String>,
    ) -> PyResult<()> {
        let end = |column, own_label: Option<String>, own_key: Option<String>, name: &str| {
            let Some(label) = own_label.or_else(|| label.clone()) else {
                return Err(PyTypeError::new_err(format!("label, or {name}_label, is missing")));
            };
            let key = match own_key.or_else(|| key.clone()) {
                Some(key) => key,
                None => self.key_of(py, &label)?,
            };
            Ok(End { column, label, key })
        };
        let from = end(src, src_label, src_key, "src")?;
        let to = end(dst, dst_label, dst_key, "dst")?;
        let rows = rows_of(table)?;
        self.with(|tables| {
            tables.relationships.push(RelationshipTable { ty: r#type, from, to, rows });
            Ok(())
        })
    }

    /// Brings everything in, as one commit that is on disk when this returns. Returns the report.
    pub(crate) fn commit(&self, py: Python<'_>) -> PyResult<Py<PyDict>> {
        let database = self.held.opened().database()?;
        let Some(tables) = self.state.lock().tables.take() else {
            return Err(ClosedError::new_err(
                "the load is committed or given up: begin another one",
            ));
        };
        let flag = match interrupt::in_main_thread(py)? {
            true => Some(Arc::clone(interrupt::flag(py))),
            false => None,
        };
        let done = interrupt::interruptible(py, || database.import(tables, flag.as_ref()))?;
        let done = done.map_err(|e| match e.message.contains("KeyboardInterrupt") {
            // A generator that the load read was ended by it, and Arrow made a text of it.
            true => PyKeyboardInterrupt::new_err(()),
            false => of_query(py, &e),
        })?;
        let report = PyDict::new(py);
        report.set_item("nodes", done.vertices)?;
        report.set_item("relationships", done.edges)?;
        report.set_item("properties", done.properties)?;
        report.set_item("duplicates", done.duplicates)?;
        report.set_item("timestamp", done.ts.get())?;
        let rejected = done.rejected.iter().map(|row| {
            let rejected = PyDict::new(py);
            rejected.set_item("table", row.table)?;
            rejected.set_item("row", row.row)?;
            rejected.set_item("reason", &row.reason)?;
            Ok(rejected)
        });
        let rejected = PyList::new(py, rejected.collect::<PyResult<Vec<_>>>()?)?;
        report.set_item("rejected", rejected)?;
        self.state.lock().report = Some(report.clone().unbind());
        Ok(report.unbind())
    }

    /// What came in: counts of `nodes`, `relationships`, `properties` and `duplicates`, the
    /// commit's `timestamp`, and the rows that were `rejected`. None before the commit.
    #[getter]
    fn report(&self, py: Python<'_>) -> Option<Py<PyDict>> {
        self.state.lock().report.as_ref().map(|report| report.clone_ref(py))
    }

    fn __enter__(slf: Py<Self>) -> Py<Self> {
        slf
    }

    fn __exit__(
        &self,
        py: Python<'_>,
        kind: Option<Bound<'_, PyAny>>,
        _value: Option<Bound<'_, PyAny>>,
        _traceback: Option<Bound<'_, PyAny>>,
    ) -> PyResult<()> {
        if kind.is_some() {
            // Dropped without the lock: a table may run Python when it goes.
            let tables = self.state.lock().tables.take();
            drop(tables);
        } else if self.state.lock().tables.is_some() {
            self.commit(py)?;
        }
        Ok(())
    }

    fn __repr__(&self) -> String {
        let state = self.state.lock();
        match (&state.tables, &state.report) {
            (Some(tables), _) => {
                let (nodes, relationships) = (tables.nodes.len(), tables.relationships.len());
                let bad = self.bad_rows.map_or(String::new(), |most| format!(", bad_rows={most}"));
                format!("<Load: {nodes} tables of nodes, {relationships} of relationships{bad}>")
            }
            (None, Some(_)) => "<Load: committed>".to_owned(),
            (None, None) => "<Load: given up>".to_owned(),
        }
    }
}

/// The rows of a table of Python's.
fn rows_of(table: &Bound<'_, PyAny>) -> PyResult<Box<dyn TableReader>> {
    if table.is_instance_of::<crate::result::Result>() {
        if let Some(columns) = frame::table_of(table)? {
            let (names, columns): (Vec<_>, Vec<_>) = columns.into_iter().unzip();
            return Ok(Box::new(Table::new(names, [columns])));
        }
    } else if let Some(reader) = frame::reader_of(table)? {
        let schema = reader.schema();
        let names = schema.fields().iter().map(|field| Arc::from(field.name().as_str()));
        return Ok(Box::new(Batches { names: names.collect(), reader }));
    }
    if let Ok(columns) = table.cast::<PyMapping>() {
        let items: Vec<(String, Bound<'_, PyAny>)> = columns.items()?.extract().map_err(|_| {
            PyTypeError::new_err("a table is a dict of columns, whose names are strings")
        })?;
        let mut length = None;
        let mut table = Vec::with_capacity(items.len());
        for (name, values) in items {
            let Value::List(values) = of_python(&values, &name, 0)? else {
                return Err(PyTypeError::new_err(format!("column '{name}' is no list of values")));
            };
            if *length.get_or_insert(values.len()) != values.len() {
                let text = "columns of a table have the same length, and column";
                return Err(PyValueError::new_err(format!("{text} '{name}' has another one")));
            }
            table.push((name, Column::of(values.to_vec())));
        }
        let (names, columns): (Vec<_>, Vec<_>) = table.into_iter().unzip();
        return Ok(Box::new(Table::new(names, [columns])));
    }
    if table.is_instance_of::<PyString>() {
        return Err(PyTypeError::new_err(
            "a table is a frame, a dict of columns or a list of dicts",
        ));
    }
    let Value::List(rows) = of_python(table, "the table", 0)? else {
        return Err(PyTypeError::new_err(
            "a table is a frame, a dict of columns or a list of dicts",
        ));
    };
    match Table::of_rows(&rows) {
        Ok(table) => Ok(Box::new(table)),
        Err(row) => {
            let text = format!("a row of a table is a dict, not {}", literal(row));
            Err(PyTypeError::new_err(text))
        }
    }
}

/// The batches of a stream of Arrow.
struct Batches {
    names: Vec<Arc<str>>,
    reader: RecordBatchStreamReader,
}

impl TableReader for Batches {
    fn names(&self) -> &[Arc<str>] {
        &self.names
    }

    fn next(&mut self) -> Result<Option<Vec<Column>>, QueryError> {
        let Some(batch) = self.reader.next() else { return Ok(None) };
        let batch = batch.map_err(|e| {
            let text = format!("a stream of Arrow cannot be read: {e}");
            QueryError::runtime(ErrorKind::ExternalResource, "Arrow", text)
        })?;
        telar_arrow::reader::columns(&batch).map(Some)
    }
}
