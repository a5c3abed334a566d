//! Values, from Python and to it.
//!
//! | Cypher | Python |
//! |---|---|
//! | `NULL`, `BOOLEAN`, `INTEGER`, `FLOAT`, `STRING` | `None`, `bool`, `int`, `float`, `str` |
//! | bytes, `LIST`, `MAP` | `bytes`, `list` (or any sequence), `dict` (or any mapping) |
//! | dates and times | `datetime`; `telar.Temporal` for what that cannot hold |
//! | `DURATION`, `POINT` | `telar.Duration` (or `timedelta`), `telar.Point` |
//! | `VECTOR` | `telar.Vector` |
//! | `NODE`, `RELATIONSHIP`, `PATH` | `telar.Node`, `telar.Relationship`, `telar.Path` |

use std::sync::Arc;

use pyo3::exceptions::{PyOverflowError, PyRecursionError, PyTypeError};
use pyo3::prelude::*;
use pyo3::types::{
    PyBool, PyByteArray, PyBytes, PyDelta, PyDeltaAccess, PyDict, PyFloat, PyInt, PyList,
    PyMapping, PySequence, PyString, PyTuple,
};
use pyo3::{IntoPyObjectExt, intern};
use telar_db::column::Column;
use telar_db::query::{Columns, Tables};
use telar_db::{Value, ValueMap, value};

use crate::duration::Duration;
use crate::entity::{Node, Path, Relationship};
use crate::error::unsuitable;
use crate::frame;
use crate::point::Point;
use crate::temporal::{self, Temporal};
use crate::vector::Vector;

/// Lists and maps within each other, at most.
const DEPTH_MAX: usize = 200;

/// A cell of a result.
pub(crate) fn cell<'py>(
    py: Python<'py>,
    columns: &Arc<Columns>,
    column: usize,
    row: usize,
) -> PyResult<Bound<'py, PyAny>> {
    match columns.column(column) {
        Column::Ints(all) => match all.get(row) {
            Some(int) => int.into_bound_py_any(py),
            None => Ok(py.None().into_bound(py)),
        },
        Column::Packed(texts) => match texts.get(row) {
            Some(text) => Ok(PyString::new(py, text).into_any()),
            None => Ok(py.None().into_bound(py)),
        },
        other => to_python(py, &other.get(row), columns),
    }
}

/// A value, whose nodes and relationships are among those of `columns`.
pub(crate) fn to_python<'py>(
    py: Python<'py>,
    value: &Value,
    columns: &Arc<Columns>,
) -> PyResult<Bound<'py, PyAny>> {
    match value {
        Value::Null => Ok(py.None().into_bound(py)),
        Value::Bool(is) => is.into_bound_py_any(py),
        Value::Int(int) => int.into_bound_py_any(py),
        Value::Float(float) => float.into_bound_py_any(py),
        Value::String(text) => Ok(PyString::new(py, text).into_any()),
        Value::Bytes(bytes) => Ok(PyBytes::new(py, bytes).into_any()),
        Value::List(list) => {
            let all = list.iter().map(|value| to_python(py, value, columns));
            Ok(PyList::new(py, all.collect::<PyResult<Vec<_>>>()?)?.into_any())
        }
        Value::Map(map) => Ok(map_to_python(py, map, columns)?.into_any()),
        Value::Date(_)
        | Value::LocalTime(_)
        | Value::Time(_)
        | Value::LocalDateTime(_)
        | Value::DateTime(_) => temporal::to_python(py, value),
        Value::Duration(duration) => Duration(**duration).into_bound_py_any(py),
        Value::Point(point) => Point(**point).into_bound_py_any(py),
        Value::Vector(vector) => Vector(Arc::clone(vector)).into_bound_py_any(py),
        Value::Vertex(vertex) => Node::new(*vertex, columns).into_bound_py_any(py),
        Value::Edge(edge) => Relationship::new(**edge, columns).into_bound_py_any(py),
        Value::Path(path) => Path::new(path, columns).into_bound_py_any(py),
    }
}

/// The entries of a map.
pub(crate) fn map_to_python<'py>(
    py: Python<'py>,
    map: &ValueMap,
    columns: &Arc<Columns>,
) -> PyResult<Bound<'py, PyDict>> {
    let dict = PyDict::new(py);
    for (key, value) in map {
        dict.set_item(PyString::new(py, key), to_python(py, value, columns)?)?;
    }
    Ok(dict)
}

/// Parameters of a statement.
#[derive(Default)]
pub(crate) struct Parameters {
    pub(crate) values: ValueMap,
    /// Those that are frames.
    pub(crate) tables: Option<Arc<Tables>>,
}

impl Parameters {
    /// Those in a mapping, and named ones, which come before them.
    pub(crate) fn new(
        given: Option<&Bound<'_, PyAny>>,
        named: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<Self> {
        let (mut values, mut tables) = (ValueMap::new(), Tables::default());
        let mut add = |key: &Bound<'_, PyAny>, value: &Bound<'_, PyAny>| {
            let Ok(key) = key.cast::<PyString>() else {
                return Err(PyTypeError::new_err(format!("names are strings, and {key} is not")));
            };
            let key = key.to_cow()?;
            values.remove(&*key);
            match frame::table_of(value)? {
                Some(columns) if columns.is_empty() => {
                    values.insert(Arc::from(&*key), Value::List(Arc::new([])));
                }
                Some(columns) => tables.add(&*key, columns),
                None => drop(values.insert(Arc::from(&*key), of_python(value, &key, 0)?)),
            }
            Ok(())
        };
        match given {
            None => {}
            Some(given) if given.is_none() => {}
            Some(given) => {
                let Ok(mapping) = given.cast::<PyMapping>() else {
                    return Err(PyTypeError::new_err("parameters are a dict, or named"));
                };
                for item in mapping.items()? {
                    let (key, value) = item.extract::<(Bound<'_, PyAny>, Bound<'_, PyAny>)>()?;
                    add(&key, &value)?;
                }
            }
        }
        for (key, value) in named.into_iter().flatten() {
            add(&key, &value)?;
        }
        Ok(Self { values, tables: (!tables.is_empty()).then(|| Arc::new(tables)) })
    }
}

/// The value of something of Telar's own types.
fn own(given: &Bound<'_, PyAny>) -> Option<Value> {
    if let Ok(duration) = given.cast::<Duration>() {
        return Some(Value::Duration(duration.get().0.into()));
    }
    if let Ok(point) = given.cast::<Point>() {
        return Some(Value::Point(point.get().0.into()));
    }
    if let Ok(vector) = given.cast::<Vector>() {
        return Some(Value::Vector(Arc::clone(&vector.get().0)));
    }
    if let Ok(at) = given.cast::<Temporal>() {
        return Some(at.get().0.clone());
    }
    None
}

/// The value of something of Python's, which is called `what` in errors.
pub(crate) fn of_python(given: &Bound<'_, PyAny>, what: &str, depth: usize) -> PyResult<Value> {
    if depth > DEPTH_MAX {
        let text = format!("{what} has more than {DEPTH_MAX} lists within each other");
        return Err(PyRecursionError::new_err(text));
    }
    let py = given.py();
    if given.is_none() {
        return Ok(Value::Null);
    }
    if let Ok(text) = given.cast::<PyString>() {
        return Ok(Value::from(&*text.to_cow()?));
    }
    // A bool is an int, too.
    if let Ok(is) = given.cast::<PyBool>() {
        return Ok(Value::Bool(is.is_true()));
    }
    if let Ok(int) = given.cast::<PyInt>() {
        return int.extract().map(Value::Int).map_err(|_| {
            PyOverflowError::new_err(format!("{what} is {int}, and integers have 64 bits"))
        });
    }
    if let Ok(float) = given.cast::<PyFloat>() {
        return Ok(Value::Float(float.value()));
    }
    if let Ok(dict) = given.cast::<PyDict>() {
        return map_of(dict.iter(), what, depth);
    }
    if let Ok(list) = given.cast::<PyList>() {
        return list_of(list.iter().map(Ok), what, depth);
    }
    if let Ok(tuple) = given.cast::<PyTuple>() {
        return list_of(tuple.iter().map(Ok), what, depth);
    }
    if let Ok(bytes) = given.cast::<PyBytes>() {
        return Ok(Value::Bytes(bytes.as_bytes().into()));
    }
    if let Ok(bytes) = given.cast::<PyByteArray>() {
        return Ok(Value::Bytes(bytes.to_vec().into()));
    }
    if let Some(at) = temporal::of_python(given)? {
        return Ok(at);
    }
    if let Ok(delta) = given.cast::<PyDelta>() {
        let (seconds, micros) = (delta.get_seconds(), delta.get_microseconds());
        let days = i64::from(delta.get_days());
        let nanos = i64::from(micros) * 1000 + temporal::nanos_beside(given, "nanoseconds");
        let duration = value::Duration::new(0, days, i64::from(seconds), nanos);
        let duration = duration.map_err(|e| PyOverflowError::new_err(e.to_string()))?;
        return Ok(Value::Duration(duration.into()));
    }
    if let Some(own) = own(given) {
        return Ok(own);
    }
    if given.is_instance_of::<Node>()
        || given.is_instance_of::<Relationship>()
        || given.is_instance_of::<Path>()
    {
        let text = format!(
            "{what} is a node, relationship or path of a result, which is no value to give: \
             name it by a property, or by its element_id"
        );
        return Err(PyTypeError::new_err(text));
    }
    if let Some(rows) = frame::rows_of(given)? {
        return Ok(rows);
    }
    // Columns of pyarrow and Polars.
    for method in [intern!(py, "to_pylist"), intern!(py, "to_list")] {
        if !given.hasattr(intern!(py, "tolist"))? && given.hasattr(method)? {
            return of_python(&given.call_method0(method)?, what, depth + 1);
        }
    }
    if given.hasattr(intern!(py, "to_pylist"))? {
        return of_python(&given.call_method0(intern!(py, "to_pylist"))?, what, depth + 1);
    }
    // Arrays and scalars of NumPy.
    if given.hasattr(intern!(py, "dtype"))? && given.hasattr(intern!(py, "tolist"))? {
        let plain = match given.getattr(intern!(py, "dtype"))?.getattr(intern!(py, "kind")) {
            // Of nanoseconds `tolist` makes numbers.
            Ok(kind) if kind.extract::<String>().is_ok_and(|kind| kind == "M" || kind == "m") => {
                let frames = py.import(intern!(py, "telar._frames"))?;
                frames.call_method1(intern!(py, "times"), (given,))?
            }
            _ => given.call_method0(intern!(py, "tolist"))?,
        };
        if plain.hasattr(intern!(py, "dtype"))? {
            return Err(unsuitable(what, given));
        }
        return of_python(&plain, what, depth + 1);
    }
    if let Ok(mapping) = given.cast::<PyMapping>() {
        let items = mapping.items()?;
        let entries: Vec<(Bound<'_, PyAny>, Bound<'_, PyAny>)> = items.extract()?;
        return map_of(entries, what, depth);
    }
    if let Ok(sequence) = given.cast::<PySequence>() {
        return list_of(sequence.try_iter()?, what, depth);
    }
    Err(unsuitable(what, given))
}

fn list_of<'py>(
    elements: impl IntoIterator<Item = PyResult<Bound<'py, PyAny>>>,
    what: &str,
    depth: usize,
) -> PyResult<Value> {
    let values = elements.into_iter().map(|element| of_python(&element?, what, depth + 1));
    Ok(Value::List(values.collect::<PyResult<Vec<_>>>()?.into()))
}

fn map_of<'py>(
    entries: impl IntoIterator<Item = (Bound<'py, PyAny>, Bound<'py, PyAny>)>,
    what: &str,
    depth: usize,
) -> PyResult<Value> {
    let mut map = ValueMap::new();
    for (key, value) in entries {
        let Ok(key) = key.cast::<PyString>() else {
            return Err(PyTypeError::new_err(format!(
                "keys of {what} are strings, and {key} is not"
            )));
        };
        let key = key.to_cow()?;
        // The path to what is wrong is for the error alone.
        let value = of_python(&value, if depth == 0 { &key } else { what }, depth + 1)?;
        map.insert(Arc::from(&*key), value);
    }
    Ok(Value::Map(Arc::new(map)))
}
