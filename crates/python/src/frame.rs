//! Arrow, both ways: its C stream interface, in capsules.

#![expect(unsafe_code, reason = "what another library hands over is a pointer")]

use std::sync::Arc;

use arrow_array::ffi_stream::{FFI_ArrowArrayStream, RecordBatchStreamReader};
use arrow_array::{RecordBatch, RecordBatchIterator, RecordBatchReader};
use arrow_schema::{ArrowError, SchemaRef};
use pyo3::exceptions::PyValueError;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyDict, PyInt, PyList, PyString};
use telar_db::Value;
use telar_db::column::Column;
use telar_db::query::Columns;

use crate::error::of_query;
use crate::result::Result as Table;
use crate::value::of_python;

/// Columns, each with its name.
pub(crate) type NamedColumns = Vec<(Arc<str>, Column)>;

/// The name of capsules with a stream, as the interface says.
const STREAM: &std::ffi::CStr = c"arrow_array_stream";

/// Batches as a capsule.
pub(crate) fn capsule<I>(
    py: Python<'_>,
    schema: SchemaRef,
    batches: I,
) -> PyResult<Bound<'_, PyCapsule>>
where
    I: IntoIterator<Item = Result<RecordBatch, ArrowError>, IntoIter: Send + 'static>,
{
    let reader = RecordBatchIterator::new(batches.into_iter(), schema);
    PyCapsule::new_with_value(py, FFI_ArrowArrayStream::new(Box::new(reader)), STREAM)
}

/// Reads what has a stream of Arrow; none if it has none.
pub(crate) fn reader_of(given: &Bound<'_, PyAny>) -> PyResult<Option<RecordBatchStreamReader>> {
    let py = given.py();
    let method = intern!(py, "__arrow_c_stream__");
    if !given.hasattr(method)? {
        return Ok(None);
    }
    let frames = py.import(intern!(py, "telar._frames"))?;
    let given = frames.call_method1(intern!(py, "readable"), (given,))?;
    if given.is_none() {
        return Ok(None);
    }
    let capsule = given.call_method0(method)?;
    let capsule = capsule.cast::<PyCapsule>()?;
    let pointer = capsule.pointer_checked(Some(STREAM))?;
    // SAFETY: a capsule of this name holds an initialised stream, says the interface; it is moved
    // out here, and what stays behind is marked as released, so that nobody else frees it.
    let reader = unsafe { RecordBatchStreamReader::from_raw(pointer.cast().as_ptr()) };
    reader.map(Some).map_err(|e| failed(&e))
}

/// The columns of what has a stream of Arrow.
fn columns_of(
    py: Python<'_>,
    reader: RecordBatchStreamReader,
) -> PyResult<(Vec<Arc<str>>, Vec<Column>)> {
    let schema = reader.schema();
    let mut columns: Vec<Column> = schema.fields().iter().map(|_| Column::packed()).collect();
    let mut reader = reader;
    // What makes the batches may need Python, and takes it.
    while let Some(batch) = py.detach(|| reader.next()) {
        let batch = batch.map_err(|e| failed(&e))?;
        let read = py.detach(|| telar_arrow::reader::columns(&batch));
        for (to, from) in columns.iter_mut().zip(read.map_err(|e| of_query(py, &e))?) {
            to.append(&from);
        }
    }
    let names = schema.fields().iter().map(|field| Arc::from(field.name().as_str()));
    Ok((names.collect(), columns))
}

/// The columns of a frame; none if it is no frame.
pub(crate) fn table_of(given: &Bound<'_, PyAny>) -> PyResult<Option<NamedColumns>> {
    // PERF: bench/compare/python.py --section point: most parameters are plain values.
    if given.is_exact_instance_of::<PyString>() || given.is_exact_instance_of::<PyInt>() {
        return Ok(None);
    }
    let (names, columns) = match given.cast::<Table>() {
        Ok(result) => result.get().given()?,
        Err(_) => match reader_of(given)? {
            Some(reader) => columns_of(given.py(), reader)?,
            None => return Ok(None),
        },
    };
    for (at, name) in names.iter().enumerate() {
        if names[..at].contains(name) {
            return Err(PyValueError::new_err(format!("two columns are called '{name}'")));
        }
    }
    Ok(Some(names.into_iter().zip(columns).collect()))
}

/// The rows of a frame as a list of maps; none if it is no frame.
pub(crate) fn rows_of(given: &Bound<'_, PyAny>) -> PyResult<Option<Value>> {
    let Some(columns) = table_of(given)? else { return Ok(None) };
    let (names, columns): (Vec<_>, Vec<_>) = columns.into_iter().unzip();
    let row = |row: usize| {
        let entries = names.iter().zip(&columns);
        Value::map(entries.map(|(name, column)| (Arc::clone(name), column.get(row))))
    };
    Ok(Some(Value::List((0..columns.first().map_or(0, Column::len)).map(row).collect())))
}

/// Lists of values as the columns of a result.
#[pyfunction]
#[pyo3(name = "_table")]
pub(crate) fn table(columns: &Bound<'_, PyDict>) -> PyResult<Table> {
    let mut named: NamedColumns = Vec::with_capacity(columns.len());
    for (name, values) in columns {
        let name: String = name.extract()?;
        let Value::List(values) = of_python(&values, &name, 0)? else {
            return Err(PyValueError::new_err(format!("the column '{name}' is not a list")));
        };
        if named.first().is_some_and(|(_, column)| column.len() != values.len()) {
            return Err(PyValueError::new_err(format!("the column '{name}' has another length")));
        }
        named.push((name.into(), Column::of(values.to_vec())));
    }
    Ok(Table::of_columns(Columns::of(named)))
}

fn failed(error: &ArrowError) -> PyErr {
    PyValueError::new_err(format!("a stream of Arrow cannot be read: {error}"))
}

/// All nodes and relationships of a result.
pub(crate) fn graph(py: Python<'_>, columns: &Arc<Columns>) -> PyResult<(Py<PyAny>, Py<PyAny>)> {
    let nodes = columns.nodes().into_iter().map(|vertex| crate::entity::Node::new(vertex, columns));
    let nodes = PyList::new(py, nodes.collect::<Vec<_>>())?;
    let relationships = columns.relationships();
    let relationships =
        relationships.into_iter().map(|e| crate::entity::Relationship::new(e, columns));
    let relationships = PyList::new(py, relationships.collect::<Vec<_>>())?;
    Ok((nodes.into_any().unbind(), relationships.into_any().unbind()))
}
