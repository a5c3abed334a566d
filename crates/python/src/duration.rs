//! Amounts of time.

use std::hash::{DefaultHasher, Hash, Hasher};

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyTuple;
use telar_db::value;

/// An amount of time: months, days, seconds and nanoseconds, none of which has a fixed number of
/// the others.
///
/// >>> import telar
/// >>> telar.Duration(months=14, seconds=90)
/// Duration('P1Y2MT1M30S')
/// >>> telar.Duration(days=1) == telar.Duration(seconds=86_400)
/// False
#[pyclass(frozen, eq, hash, module = "telar")]
#[derive(PartialEq, Eq)]
pub(crate) struct Duration(pub(crate) value::Duration);

impl Hash for Duration {
    fn hash<H: Hasher>(&self, state: &mut H) {
        let Self(it) = self;
        (it.months(), it.days(), it.seconds(), it.nanos()).hash(state);
    }
}

#[pymethods]
impl Duration {
    #[new]
    #[pyo3(signature = (months = 0, days = 0, seconds = 0, nanoseconds = 0))]
    fn new(months: i64, days: i64, seconds: i64, nanoseconds: i64) -> PyResult<Self> {
        let duration = value::Duration::new(months, days, seconds, nanoseconds);
        duration.map(Self).map_err(|e| PyValueError::new_err(e.to_string()))
    }

    /// Months; twelve are a year.
    #[getter]
    fn months(&self) -> i64 {
        self.0.months()
    }

    /// Days; seven are a week.
    #[getter]
    fn days(&self) -> i64 {
        self.0.days()
    }

    /// Seconds, rounded down.
    #[getter]
    fn seconds(&self) -> i64 {
        self.0.seconds()
    }

    /// Nanoseconds beside the seconds, 0 to 999,999,999.
    #[getter]
    fn nanoseconds(&self) -> u32 {
        self.0.nanos()
    }

    fn __str__(&self) -> String {
        self.0.to_string()
    }

    fn __repr__(&self) -> String {
        format!("Duration('{}')", self.0)
    }

    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyTuple>> {
        let it = &slf.get().0;
        let parts = (it.months(), it.days(), it.seconds(), it.nanos());
        (slf.get_type(), parts).into_pyobject(slf.py())
    }
}

/// Hash of anything.
pub(crate) fn hash_of(value: &impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    value.hash(&mut hasher);
    hasher.finish()
}
