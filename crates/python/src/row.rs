//! A row of a result.

use std::sync::Arc;

use pyo3::exceptions::{PyIndexError, PyKeyError};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyInt, PySlice, PyString, PyTuple};

/// Names of the columns of a result, shared by its rows.
pub(crate) struct Names(Vec<Py<PyString>>);

impl Names {
    pub(crate) fn new(py: Python<'_>, names: &[Arc<str>]) -> Arc<Self> {
        Arc::new(Self(names.iter().map(|name| PyString::new(py, name).unbind()).collect()))
    }

    pub(crate) fn list(&self) -> &[Py<PyString>] {
        &self.0
    }

    /// The number of a column.
    pub(crate) fn position(&self, py: Python<'_>, name: &Bound<'_, PyString>) -> PyResult<usize> {
        for (at, own) in self.0.iter().enumerate() {
            if own.bind(py).as_any().eq(name)? {
                return Ok(at);
            }
        }
        let all = self.0.iter().map(|name| name.to_string()).collect::<Vec<_>>().join(", ");
        Err(PyKeyError::new_err(format!("no column is named {name:?}; there are {all}")))
    }
}

/// A row: its values by name or by number. It unpacks like a tuple, and `dict(row)` is a dict.
///
/// >>> import telar
/// >>> row = telar.open().query("RETURN 1 AS one, 'b' AS two").one()
/// >>> row["one"], row[1]
/// (1, 'b')
/// >>> one, two = row
/// >>> dict(row)
/// {'one': 1, 'two': 'b'}
#[pyclass(frozen, sequence, module = "telar")]
pub(crate) struct Row {
    names: Arc<Names>,
    values: Py<PyTuple>,
}

impl Row {
    pub(crate) fn new(names: &Arc<Names>, values: Bound<'_, PyTuple>) -> Self {
        Self { names: Arc::clone(names), values: values.unbind() }
    }
}

#[pymethods]
impl Row {
    /// Names of the columns.
    fn keys(&self, py: Python<'_>) -> Vec<Py<PyString>> {
        self.names.list().iter().map(|name| name.clone_ref(py)).collect()
    }

    /// The values, in the order of the columns.
    fn values(&self, py: Python<'_>) -> Py<PyTuple> {
        self.values.clone_ref(py)
    }

    /// The row as a dict.
    fn dict<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let dict = PyDict::new(py);
        for (name, value) in self.names.list().iter().zip(self.values.bind(py)) {
            dict.set_item(name, value)?;
        }
        Ok(dict)
    }

    /// The value of a column, or `default` if none has this name.
    #[pyo3(signature = (key, default = None))]
    fn get<'py>(
        &self,
        py: Python<'py>,
        key: &Bound<'py, PyString>,
        default: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        match self.names.position(py, key) {
            Ok(at) => self.values.bind(py).get_item(at),
            Err(_) => Ok(default.unwrap_or_else(|| py.None().into_bound(py))),
        }
    }

    fn __getitem__<'py>(
        &self,
        py: Python<'py>,
        key: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let values = self.values.bind(py);
        if let Ok(name) = key.cast::<PyString>() {
            return values.get_item(self.names.position(py, name)?);
        }
        if key.is_instance_of::<PyInt>() || key.is_instance_of::<PySlice>() {
            return values.as_any().get_item(key);
        }
        Err(PyIndexError::new_err("a row is read by the name or the number of a column"))
    }

    fn __len__(&self) -> usize {
        self.names.list().len()
    }

    fn __iter__(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        Ok(self.values.bind(py).try_iter()?.into_any().unbind())
    }

    fn __contains__(&self, py: Python<'_>, key: &Bound<'_, PyAny>) -> PyResult<bool> {
        self.values.bind(py).contains(key)
    }

    fn __eq__(&self, py: Python<'_>, other: &Bound<'_, PyAny>) -> PyResult<bool> {
        match other.cast::<Self>() {
            Ok(other) => self.values.bind(py).eq(other.get().values.bind(py)),
            Err(_) => self.values.bind(py).eq(other),
        }
    }

    fn __hash__(&self, py: Python<'_>) -> PyResult<isize> {
        self.values.bind(py).hash()
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        let mut fields = Vec::new();
        for (name, value) in self.names.list().iter().zip(self.values.bind(py)) {
            fields.push(format!("{}={}", name, value.repr()?));
        }
        Ok(format!("Row({})", fields.join(", ")))
    }
}
