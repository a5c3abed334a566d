//! Vectors.

use std::sync::Arc;

use pyo3::exceptions::{PyIndexError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyList, PyTuple};
use telar_db::value::{self, ByteOrder, CoordinateType};
use telar_db::{Value, query::Columns};

use crate::value::{of_python, to_python};

/// A vector: 1 to 4,096 numbers of one type, which is FLOAT32, FLOAT (of 64 bits), INTEGER8,
/// INTEGER16, INTEGER32 or INTEGER. What is given is made to fit the type, or is a ValueError.
///
/// >>> import telar
/// >>> telar.Vector([1, 0.5])
/// Vector([1.0, 0.5], 'FLOAT32')
/// >>> telar.Vector([1, 2], "INT8").coordinate_type
/// 'INTEGER8'
#[pyclass(frozen, eq, hash, sequence, module = "telar")]
#[derive(PartialEq, Hash)]
pub(crate) struct Vector(pub(crate) Arc<value::Vector>);

#[pymethods]
impl Vector {
    #[new]
    #[pyo3(signature = (coordinates, coordinate_type = "FLOAT32"))]
    fn new(coordinates: &Bound<'_, PyAny>, coordinate_type: &str) -> PyResult<Self> {
        let ty = CoordinateType::from_name(coordinate_type).ok_or_else(|| {
            PyValueError::new_err(format!("no coordinates have the type {coordinate_type:?}"))
        })?;
        let all = match of_python(coordinates, "a vector", 0)? {
            Value::List(all) => all,
            Value::Vector(vector) => vector.to_values().into(),
            other => {
                let found = other.type_name();
                return Err(PyValueError::new_err(format!(
                    "a vector is made of numbers, not {found}"
                )));
            }
        };
        let vector = value::Vector::of_values(ty, &all);
        vector.map(|v| Self(Arc::new(v))).map_err(|e| PyValueError::new_err(e.to_string()))
    }

    /// The type of the coordinates, as Cypher names it.
    #[getter]
    fn coordinate_type(&self) -> &'static str {
        self.0.coordinate_type().name()
    }

    /// The coordinates as ints or floats.
    fn to_list<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        let none = Arc::new(Columns::default());
        let all = self.0.to_values();
        let all = all.iter().map(|value| to_python(py, value, &none));
        PyList::new(py, all.collect::<PyResult<Vec<_>>>()?)
    }

    /// The coordinates as a NumPy array of their type, which cannot be written to.
    fn to_numpy<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let dtype = match self.0.coordinate_type() {
            CoordinateType::I8 => "<i1",
            CoordinateType::I16 => "<i2",
            CoordinateType::I32 => "<i4",
            CoordinateType::I64 => "<i8",
            CoordinateType::F32 => "<f4",
            CoordinateType::F64 => "<f8",
        };
        let mut bytes = Vec::with_capacity(self.0.bytes());
        self.0.put_bytes(ByteOrder::Little, &mut bytes);
        py.import("numpy")?.call_method1("frombuffer", (PyBytes::new(py, &bytes), dtype))
    }

    fn __len__(&self) -> usize {
        self.0.dimension()
    }

    fn __getitem__<'py>(&self, py: Python<'py>, at: isize) -> PyResult<Bound<'py, PyAny>> {
        let found = usize::try_from(at).ok().and_then(|at| self.0.to_values().get(at).cloned());
        let found =
            found.ok_or_else(|| PyIndexError::new_err("a vector has no such coordinate"))?;
        to_python(py, &found, &Arc::new(Columns::default()))
    }

    fn __iter__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        Ok(self.to_list(py)?.try_iter()?.into_any())
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        let all = self.to_list(py)?.repr()?;
        Ok(format!("Vector({all}, '{}')", self.coordinate_type()))
    }

    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyTuple>> {
        let py = slf.py();
        let make = py.import("telar")?.getattr("Vector")?;
        (make, (slf.get().to_list(py)?, slf.get().coordinate_type())).into_pyobject(py)
    }
}
