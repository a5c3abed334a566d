//! The whole result of a statement.

use std::sync::Arc;

use pyo3::exceptions::{PyIndexError, PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyBytes, PyCapsule, PyDict, PyList, PyString, PyTuple};
use telar_db::CommitTs;
use telar_db::column::{Column, Nullable};
use telar_db::query::{Columns, Counters, StatementKind, Summary};

use crate::error::of_query;
use crate::frame;
use crate::row::{Names, Row};
use crate::value::cell;

/// What a statement returned: all of it, held as columns. It is a sequence of rows, and becomes a
/// frame of any library that knows Arrow.
///
/// >>> import telar
/// >>> result = telar.open().query("UNWIND range(1, 3) AS n RETURN n, n * n AS square")
/// >>> len(result), result.columns
/// (3, ['n', 'square'])
/// >>> [row["square"] for row in result]
/// [1, 4, 9]
/// >>> result.tuples()
/// [(1, 1), (2, 4), (3, 9)]
#[pyclass(frozen, sequence, module = "telar")]
pub(crate) struct Result {
    columns: Arc<Columns>,
    /// Made when somebody asks for them.
    names: PyOnceLock<Arc<Names>>,
    summary: Summary,
}

impl Result {
    pub(crate) fn new((columns, summary): (Columns, Summary)) -> Self {
        Self { columns: Arc::new(columns), names: PyOnceLock::new(), summary }
    }

    /// These columns, as if a statement had returned them.
    pub(crate) fn of_columns(columns: Columns) -> Self {
        let (kind, counters, at) = (StatementKind::Read, Counters::default(), CommitTs::default());
        let (plan, notifications) = (None, Vec::new());
        Self::new((columns, Summary { kind, counters, at, plan, notifications }))
    }

    /// Its columns as values for a statement: as they are, which Arrow would not leave them.
    pub(crate) fn given(&self) -> PyResult<(Vec<Arc<str>>, Vec<Column>)> {
        let columns = &self.columns;
        if !columns.nodes().is_empty() || !columns.relationships().is_empty() {
            return Err(PyTypeError::new_err(
                "the result has nodes or relationships, which are no values to give: return their \
                 properties",
            ));
        }
        let all = (0..columns.names().len()).map(|at| columns.column(at).clone());
        Ok((columns.names().to_vec(), all.collect()))
    }

    fn names(&self, py: Python<'_>) -> &Arc<Names> {
        self.names.get_or_init(py, || Names::new(py, self.columns.names()))
    }

    fn tuple<'py>(&self, py: Python<'py>, row: usize) -> PyResult<Bound<'py, PyTuple>> {
        row_tuple(py, &self.columns, row)
    }

    /// Calls a function of `telar._frames` with this result.
    fn convert(
        slf: &Bound<'_, Self>,
        function: &str,
        arguments: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<Py<PyAny>> {
        let frames = slf.py().import("telar._frames")?;
        Ok(frames.getattr(function)?.call((slf,), arguments)?.unbind())
    }

    /// The number of a column that is named or counted, from the end if it is negative.
    fn position(&self, key: &Bound<'_, PyAny>) -> PyResult<usize> {
        if let Ok(name) = key.cast::<PyString>() {
            return self.names(key.py()).position(key.py(), name);
        }
        index(key.extract()?, self.columns.names().len(), "columns")
    }
}

/// The values of a row.
pub(crate) fn row_tuple<'py>(
    py: Python<'py>,
    columns: &Arc<Columns>,
    row: usize,
) -> PyResult<Bound<'py, PyTuple>> {
    let cells = (0..columns.names().len()).map(|column| cell(py, columns, column, row));
    PyTuple::new(py, cells.collect::<PyResult<Vec<_>>>()?)
}

/// An index as Python counts.
fn index(at: isize, len: usize, what: &str) -> PyResult<usize> {
    let index = if at < 0 { at + len.cast_signed() } else { at };
    match usize::try_from(index) {
        Ok(index) if index < len => Ok(index),
        _ => {
            Err(PyIndexError::new_err(format!("there are {len} {what}, and {at} is none of them")))
        }
    }
}

#[pymethods]
impl Result {
    /// Names of the columns.
    #[getter]
    fn columns<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        PyList::new(py, self.names(py).list())
    }

    fn __len__(&self) -> usize {
        self.columns.row_count()
    }

    /// A result is true, as a statement may return nothing and yet have done something.
    fn __bool__(&self) -> bool {
        true
    }

    fn __getitem__(&self, py: Python<'_>, at: isize) -> PyResult<Row> {
        let row = index(at, self.columns.row_count(), "rows")?;
        Ok(Row::new(self.names(py), self.tuple(py, row)?))
    }

    fn __iter__(slf: Bound<'_, Self>) -> RowIterator {
        RowIterator { result: slf.unbind(), next: parking_lot::Mutex::new(0) }
    }

    /// The rows as tuples.
    fn tuples<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        let rows = (0..self.columns.row_count()).map(|row| self.tuple(py, row));
        PyList::new(py, rows.collect::<PyResult<Vec<_>>>()?)
    }

    /// The rows as dicts.
    fn dicts<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        let mut rows = Vec::with_capacity(self.columns.row_count());
        for row in 0..self.columns.row_count() {
            let dict = PyDict::new(py);
            for (column, name) in self.names(py).list().iter().enumerate() {
                dict.set_item(name, cell(py, &self.columns, column, row)?)?;
            }
            rows.push(dict);
        }
        PyList::new(py, rows)
    }

    /// The only row; an error if there is another number of them.
    fn one(&self, py: Python<'_>) -> PyResult<Row> {
        match self.columns.row_count() {
            1 => Ok(Row::new(self.names(py), self.tuple(py, 0)?)),
            rows => Err(PyValueError::new_err(format!("the result has {rows} rows, not one"))),
        }
    }

    /// The value in the only row and column; an error if there is more, or none.
    fn value<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        match (self.columns.row_count(), self.columns.names().len()) {
            (1, 1) => cell(py, &self.columns, 0, 0),
            (rows, columns) => Err(PyValueError::new_err(format!(
                "the result has {rows} rows and {columns} columns, not one of each"
            ))),
        }
    }

    /// The values of one column, by its name or number; without either, of the first.
    #[pyo3(signature = (column = None))]
    fn values<'py>(
        &self,
        py: Python<'py>,
        column: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyList>> {
        let at = match column {
            Some(column) => self.position(column)?,
            None => index(0, self.columns.names().len(), "columns")?,
        };
        let cells = (0..self.columns.row_count()).map(|row| cell(py, &self.columns, at, row));
        PyList::new(py, cells.collect::<PyResult<Vec<_>>>()?)
    }

    /// What was changed: counts by name, those that are not 0.
    ///
    /// >>> import telar
    /// >>> telar.open().query("CREATE (:City {name: 'Ulm'})").counters
    /// {'nodes_created': 1, 'properties_set': 1, 'labels_added': 1}
    #[getter]
    fn counters<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let dict = PyDict::new(py);
        for (name, count) in self.summary.counters.named() {
            if count > 0 {
                dict.set_item(name, count)?;
            }
        }
        Ok(dict)
    }

    /// What the statement may do: `'read'`, `'write'`, `'read write'` or `'schema'`.
    #[getter]
    fn kind(&self) -> &'static str {
        match self.summary.kind {
            StatementKind::Read => "read",
            StatementKind::Write => "write",
            StatementKind::ReadWrite => "read write",
            StatementKind::Schema => "schema",
        }
    }

    /// The commit timestamp: of what was committed, or of the state that was read.
    #[getter]
    fn timestamp(&self) -> u64 {
        self.summary.at.get()
    }

    /// The plan as text, for statements that begin with `EXPLAIN` or `PROFILE`.
    #[getter]
    fn plan(&self) -> Option<String> {
        self.summary.plan.as_ref().map(ToString::to_string)
    }

    /// Remarks on the statement: what is probably not meant as it is written.
    #[getter]
    fn notifications(&self) -> Vec<String> {
        self.summary.notifications.iter().map(|remark| remark.message.clone()).collect()
    }

    /// The result as a stream of Arrow: pyarrow, Polars, pandas, DuckDB and others read it.
    #[pyo3(signature = (requested_schema = None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        // The schema that is asked for is a wish, says the protocol.
        drop(requested_schema);
        let columns = &self.columns;
        let batch = py.detach(|| telar_arrow::batch_of(columns)).map_err(|e| of_query(py, &e))?;
        frame::capsule(py, batch.schema(), [Ok(batch)])
    }

    /// The result as a `pyarrow.Table`.
    fn to_arrow(slf: &Bound<'_, Self>) -> PyResult<Py<PyAny>> {
        Self::convert(slf, "to_arrow", None)
    }

    /// The result as a `polars.DataFrame`.
    fn to_polars(slf: &Bound<'_, Self>) -> PyResult<Py<PyAny>> {
        Self::convert(slf, "to_polars", None)
    }

    /// The result as a `pandas.DataFrame`; keyword arguments are those of `pyarrow`'s `to_pandas`.
    #[pyo3(signature = (**options))]
    fn to_pandas(
        slf: &Bound<'_, Self>,
        options: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<Py<PyAny>> {
        Self::convert(slf, "to_pandas", options)
    }

    /// The columns as NumPy arrays, by name. Integers with nulls become floats with NaN; what is
    /// no number, truth value or float is an array of objects.
    fn to_numpy(slf: &Bound<'_, Self>) -> PyResult<Py<PyAny>> {
        Self::convert(slf, "to_numpy", None)
    }

    /// All nodes and relationships of the result as a `networkx.MultiDiGraph`. A node is known by
    /// its `id`, or by the property `key`.
    #[pyo3(signature = (*, key = None))]
    fn to_networkx(slf: &Bound<'_, Self>, key: Option<&str>) -> PyResult<Py<PyAny>> {
        let options = PyDict::new(slf.py());
        options.set_item("key", key)?;
        Self::convert(slf, "to_networkx", Some(&options))
    }

    /// All nodes and relationships of the result as a directed `igraph.Graph`.
    fn to_igraph(slf: &Bound<'_, Self>) -> PyResult<Py<PyAny>> {
        Self::convert(slf, "to_igraph", None)
    }

    /// Two columns of nodes or integers as `(edge_index, ids)`: an array of shape (2, rows) with
    /// positions in `ids`, which is what PyTorch Geometric and DGL take. With `ids`, an array, the
    /// positions are those in it.
    #[pyo3(signature = (source = None, target = None, *, ids = None))]
    fn edge_index(
        slf: &Bound<'_, Self>,
        source: Option<Bound<'_, PyAny>>,
        target: Option<Bound<'_, PyAny>>,
        ids: Option<Bound<'_, PyAny>>,
    ) -> PyResult<Py<PyAny>> {
        let options = PyDict::new(slf.py());
        options.set_item("source", source)?;
        options.set_item("target", target)?;
        options.set_item("ids", ids)?;
        Self::convert(slf, "edge_index", Some(&options))
    }

    /// All nodes and relationships of the result, each once: `(nodes, relationships)`.
    fn graph(&self, py: Python<'_>) -> PyResult<(Py<PyAny>, Py<PyAny>)> {
        frame::graph(py, &self.columns)
    }

    /// A column as bytes: its format (`q`, `d` or `?`), the values, and a byte for each row that
    /// says whether it is there, if some are not. None if it has no such format.
    fn _buffer<'py>(&self, py: Python<'py>, column: usize) -> Option<Buffer<'py>> {
        fn present<'py, T: Copy + Default>(
            py: Python<'py>,
            all: &Nullable<T>,
        ) -> Option<Bound<'py, PyBytes>> {
            let present = || all.iter().map(|value| u8::from(value.is_some())).collect::<Vec<_>>();
            all.has_nulls().then(|| PyBytes::new(py, &present()))
        }
        fn bytes<'py, T: Copy + Default, const N: usize>(
            py: Python<'py>,
            all: &Nullable<T>,
            bytes: impl Fn(T) -> [u8; N],
        ) -> Bound<'py, PyBytes> {
            let values = all.iter().flat_map(|value| bytes(value.unwrap_or_default()));
            PyBytes::new(py, &values.collect::<Vec<_>>())
        }
        Some(match self.columns.column(column) {
            Column::Ints(all) => ("<i8", bytes(py, all, i64::to_le_bytes), present(py, all)),
            Column::Floats(all) => ("<f8", bytes(py, all, f64::to_le_bytes), present(py, all)),
            Column::Bools(all) => ("?", bytes(py, all, |is| [u8::from(is)]), present(py, all)),
            Column::Vertices(all) => {
                ("<i8", bytes(py, all, |vertex| vertex.get().to_le_bytes()), present(py, all))
            }
            _ => return None,
        })
    }

    fn _repr_html_(slf: &Bound<'_, Self>) -> PyResult<Py<PyAny>> {
        let html = slf.py().import("telar._html")?;
        Ok(html.getattr("result")?.call1((slf,))?.unbind())
    }

    fn __repr__(&self) -> String {
        let columns = self.columns.names().join(", ");
        format!("<Result: {} rows of ({columns})>", self.columns.row_count())
    }
}

type Buffer<'py> = (&'static str, Bound<'py, PyBytes>, Option<Bound<'py, PyBytes>>);

/// The rows of a result, one after the other.
#[pyclass(frozen)]
pub(crate) struct RowIterator {
    result: Py<Result>,
    next: parking_lot::Mutex<usize>,
}

#[pymethods]
impl RowIterator {
    fn __iter__(slf: Py<Self>) -> Py<Self> {
        slf
    }

    fn __next__(&self, py: Python<'_>) -> PyResult<Option<Row>> {
        let result = self.result.get();
        let row = {
            let mut next = self.next.lock();
            if *next == result.columns.row_count() {
                return Ok(None);
            }
            *next += 1;
            *next - 1
        };
        Ok(Some(Row::new(result.names(py), result.tuple(py, row)?)))
    }
}
