//! Points.

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyTuple;
use telar_db::value::{self, Srid};

/// A point: two or three coordinates in one of four reference systems, by their EPSG number
/// (7203 and 9157: Cartesian; 4326 and 4979: WGS 84, longitude first).
///
/// >>> import telar
/// >>> telar.Point(1.0, 2.0)
/// Point(1.0, 2.0, srid=7203)
/// >>> telar.Point(8.9, 48.4, srid=4326).x
/// 8.9
#[pyclass(frozen, eq, module = "telar")]
#[derive(PartialEq)]
pub(crate) struct Point(pub(crate) value::Point);

#[pymethods]
impl Point {
    #[new]
    #[pyo3(signature = (x, y, z = None, *, srid = None))]
    fn new(x: f64, y: f64, z: Option<f64>, srid: Option<u16>) -> PyResult<Self> {
        let usual = if z.is_some() { Srid::Cartesian3d } else { Srid::Cartesian };
        let srid = match srid {
            None => usual,
            Some(raw) => Srid::from_raw(raw).ok_or_else(|| {
                PyValueError::new_err(format!("no reference system has the number {raw}"))
            })?,
        };
        let coordinates: Vec<f64> = [Some(x), Some(y), z].into_iter().flatten().collect();
        let point = value::Point::new(srid, &coordinates);
        point.map(Self).map_err(|e| PyValueError::new_err(e.to_string()))
    }

    /// The first coordinate, or the longitude.
    #[getter]
    fn x(&self) -> f64 {
        self.0.x()
    }

    /// The second coordinate, or the latitude.
    #[getter]
    fn y(&self) -> f64 {
        self.0.y()
    }

    /// The third coordinate, or the height; None in the plane.
    #[getter]
    fn z(&self) -> Option<f64> {
        self.0.z()
    }

    /// The number of the reference system.
    #[getter]
    fn srid(&self) -> u16 {
        self.0.srid().get()
    }

    fn __hash__(&self) -> u64 {
        let bits: Vec<u64> = self.0.coordinates().iter().map(|c| (c + 0.0).to_bits()).collect();
        crate::duration::hash_of(&(self.0.srid().get(), bits))
    }

    fn __repr__(&self) -> String {
        let coordinates = self.0.coordinates().iter().map(|c| format!("{c:?}, "));
        format!("Point({}srid={})", coordinates.collect::<String>(), self.srid())
    }

    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyTuple>> {
        let py = slf.py();
        let make = py.import("telar")?.getattr("_point")?;
        let point = slf.get().0;
        (make, (point.coordinates().to_vec(), point.srid().get())).into_pyobject(py)
    }
}
