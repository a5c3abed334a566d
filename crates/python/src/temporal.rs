//! Dates and times: those of Python where they hold the value, texts of the same meaning elsewhere.

use pyo3::exceptions::PyValueError;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{
    PyDate, PyDateAccess, PyDateTime, PyDelta, PyDeltaAccess, PyTime, PyTimeAccess, PyTzInfo,
    PyTzInfoAccess,
};
use telar_db::Value;
use telar_db::value::{Date, DateTime, LocalDateTime, LocalTime, Time, UtcOffset};

/// A date or time that `datetime` cannot hold: nanoseconds, years before 1 or after 9999. Its text
/// is in ISO 8601, and it can be given back as a parameter.
///
/// >>> import telar
/// >>> telar.open().query("RETURN localtime('12:00:00.000000001') AS t").value()
/// Temporal('LOCAL TIME', '12:00:00.000000001')
#[pyclass(frozen, eq, module = "telar")]
#[derive(PartialEq)]
pub(crate) struct Temporal(pub(crate) Value);

impl Temporal {
    fn text(&self) -> String {
        match &self.0 {
            Value::Date(at) => at.to_string(),
            Value::LocalTime(at) => at.to_string(),
            Value::Time(at) => at.to_string(),
            Value::LocalDateTime(at) => at.to_string(),
            Value::DateTime(at) => at.to_string(),
            other => unreachable!("INVARIANT: {} is no date or time", other.type_name()),
        }
    }
}

#[pymethods]
impl Temporal {
    #[new]
    fn new(kind: &str, text: &str) -> PyResult<Self> {
        fn parsed<T: std::str::FromStr<Err: std::fmt::Display>>(text: &str) -> PyResult<T> {
            text.parse().map_err(|e: T::Err| PyValueError::new_err(e.to_string()))
        }
        Ok(Self(match kind {
            "DATE" => Value::Date(parsed(text)?),
            "LOCAL TIME" => Value::LocalTime(parsed(text)?),
            "ZONED TIME" => Value::Time(parsed(text)?),
            "LOCAL DATETIME" => Value::LocalDateTime(parsed(text)?),
            "ZONED DATETIME" => Value::DateTime(parsed::<DateTime>(text)?.into()),
            other => {
                let kinds = "DATE, LOCAL TIME, ZONED TIME, LOCAL DATETIME, ZONED DATETIME";
                return Err(PyValueError::new_err(format!("{other:?} is none of {kinds}")));
            }
        }))
    }

    /// The type in Cypher.
    #[getter]
    fn kind(&self) -> &'static str {
        self.0.type_name()
    }

    fn __str__(&self) -> String {
        self.text()
    }

    fn __repr__(&self) -> String {
        format!("Temporal('{}', '{}')", self.kind(), self.text())
    }

    fn __hash__(&self) -> u64 {
        crate::duration::hash_of(&(self.kind(), self.text()))
    }

    fn __reduce__(slf: &Bound<'_, Self>) -> (Py<PyAny>, (&'static str, String)) {
        (slf.get_type().into_any().unbind(), (slf.get().kind(), slf.get().text()))
    }
}

/// Year, month and day.
type Ymd = (i32, u8, u8);
/// Hour, minute, second and microsecond.
type Hms = (u8, u8, u8, u32);

/// Year, month and day, if `datetime` has them.
fn ymd(date: Date) -> Option<Ymd> {
    (1..=9999).contains(&date.year()).then(|| date.year_month_day())
}

/// Hour, minute, second and microsecond, if there is nothing between microseconds.
fn hms(time: LocalTime) -> Option<Hms> {
    let micros = (time.nanosecond().is_multiple_of(1000)).then(|| time.nanosecond() / 1000)?;
    Some((time.hour(), time.minute(), time.second(), micros))
}

fn fixed<'py>(py: Python<'py>, offset: UtcOffset) -> PyResult<Bound<'py, PyTzInfo>> {
    PyTzInfo::fixed_offset(py, PyDelta::new(py, 0, offset.seconds(), 0, true)?)
}

static ZONE_INFO: PyOnceLock<Py<PyAny>> = PyOnceLock::new();

/// The zone of a moment: by its name, where that has the same offset at this moment.
fn zone<'py>(
    py: Python<'py>,
    at: &DateTime,
    (date, time): (Ymd, Hms),
) -> PyResult<(Bound<'py, PyTzInfo>, bool)> {
    let fixed = fixed(py, at.offset())?;
    let Some(name) = at.zone() else { return Ok((fixed, false)) };
    let class = ZONE_INFO.get_or_try_init(py, || -> PyResult<_> {
        Ok(py.import("zoneinfo")?.getattr("ZoneInfo")?.unbind())
    })?;
    let Ok(zone) = class.bind(py).call1((name,)) else { return Ok((fixed, false)) };
    let zone = zone.cast_into::<PyTzInfo>()?;
    let ((year, month, day), (hour, minute, second, micros)) = (date, time);
    for fold in [false, true] {
        let at_fold = PyDateTime::new_with_fold(
            py,
            year,
            month,
            day,
            hour,
            minute,
            second,
            micros,
            Some(&zone),
            fold,
        )?;
        let offset = at_fold.call_method0(intern!(py, "utcoffset"))?;
        let seconds: f64 = offset.call_method0(intern!(py, "total_seconds"))?.extract()?;
        if seconds == f64::from(at.offset().seconds()) {
            return Ok((zone, fold));
        }
    }
    Ok((fixed, false))
}

/// What Python has for a date or time.
pub(crate) fn to_python<'py>(py: Python<'py>, value: &Value) -> PyResult<Bound<'py, PyAny>> {
    let exact = match value {
        Value::Date(date) => match ymd(*date) {
            Some((year, month, day)) => Some(PyDate::new(py, year, month, day)?.into_any()),
            None => None,
        },
        Value::LocalTime(time) => match hms(*time) {
            Some((h, m, s, us)) => Some(PyTime::new(py, h, m, s, us, None)?.into_any()),
            None => None,
        },
        Value::Time(time) => match hms(time.local()) {
            Some((h, m, s, us)) => {
                let zone = fixed(py, time.offset())?;
                Some(PyTime::new(py, h, m, s, us, Some(&zone))?.into_any())
            }
            None => None,
        },
        Value::LocalDateTime(at) => match ymd(at.date()).zip(hms(at.time())) {
            Some(((y, mo, d), (h, mi, s, us))) => {
                Some(PyDateTime::new(py, y, mo, d, h, mi, s, us, None)?.into_any())
            }
            None => None,
        },
        Value::DateTime(at) => match ymd(at.date()).zip(hms(at.time())) {
            Some(parts) => {
                let (zone, fold) = zone(py, at, parts)?;
                let ((y, mo, d), (h, mi, s, us)) = parts;
                let zone = Some(&zone);
                let at = PyDateTime::new_with_fold(py, y, mo, d, h, mi, s, us, zone, fold)?;
                Some(at.into_any())
            }
            None => None,
        },
        other => unreachable!("INVARIANT: {} is no date or time", other.type_name()),
    };
    match exact {
        Some(exact) => Ok(exact),
        None => Ok(Bound::new(py, Temporal(value.clone()))?.into_any()),
    }
}

fn wrong(error: impl std::fmt::Display) -> PyErr {
    PyValueError::new_err(error.to_string())
}

fn date_of(date: &impl PyDateAccess) -> PyResult<Date> {
    let (month, day) = (i64::from(date.get_month()), i64::from(date.get_day()));
    Date::new(i64::from(date.get_year()), month, day).map_err(wrong)
}

fn time_of(time: &impl PyTimeAccess) -> PyResult<LocalTime> {
    let (hour, minute) = (i64::from(time.get_hour()), i64::from(time.get_minute()));
    let nanos = i64::from(time.get_microsecond()) * 1000;
    LocalTime::new(hour, minute, i64::from(time.get_second()), nanos).map_err(wrong)
}

/// The offset of something with a zone.
fn offset_of(at: &Bound<'_, PyAny>) -> PyResult<Option<UtcOffset>> {
    let offset = at.call_method0(intern!(at.py(), "utcoffset"))?;
    if offset.is_none() {
        return Ok(None);
    }
    let offset = offset.cast_into::<PyDelta>()?;
    if offset.get_microseconds() != 0 {
        return Err(PyValueError::new_err("an offset from UTC has whole seconds"));
    }
    let seconds = i64::from(offset.get_days()) * 86_400 + i64::from(offset.get_seconds());
    UtcOffset::from_seconds(seconds).map(Some).map_err(wrong)
}

/// Nanoseconds beside the microseconds, which times of pandas have.
pub(crate) fn nanos_beside(value: &Bound<'_, PyAny>, name: &str) -> i64 {
    // Times of Python have no such attribute.
    value.getattr(name).and_then(|nanos| nanos.extract()).unwrap_or(0)
}

/// The value of a date or time of Python's; none if it is neither.
pub(crate) fn of_python(value: &Bound<'_, PyAny>) -> PyResult<Option<Value>> {
    let py = value.py();
    // A datetime is a date, too.
    if let Ok(at) = value.cast::<PyDateTime>() {
        if value.get_type().name()?.to_cow()? == "NaTType" {
            return Ok(Some(Value::Null));
        }
        let zoned = at.get_tzinfo().is_some_and(|zone| zone.hasattr("key").unwrap_or(false));
        if zoned {
            // A time that clocks skip is the moment that it stands for, as clocks show that.
            let frames = py.import(intern!(py, "telar._frames"))?;
            let settled = frames.call_method1(intern!(py, "settled"), (value,))?;
            if !settled.is(value) {
                return of_python(&settled);
            }
        }
        let nanos = nanos_beside(value, "nanosecond");
        let time =
            LocalTime::from_nanos_of_day(time_of(at)?.nanos_of_day() + nanos).map_err(wrong)?;
        let local = LocalDateTime::new(date_of(at)?, time);
        let Some(offset) = offset_of(value)? else { return Ok(Some(Value::LocalDateTime(local))) };
        let zone = at.get_tzinfo();
        let name = zone.and_then(|zone| zone.getattr(intern!(py, "key")).ok());
        let name = name.and_then(|name| name.extract::<String>().ok());
        let moment = match name {
            Some(name) => DateTime::with_zone(local, offset, name).map_err(wrong)?,
            None => DateTime::new(local, offset),
        };
        return Ok(Some(Value::DateTime(moment.into())));
    }
    if let Ok(date) = value.cast::<PyDate>() {
        return Ok(Some(Value::Date(date_of(date)?)));
    }
    if let Ok(time) = value.cast::<PyTime>() {
        let local = time_of(time)?;
        return Ok(Some(match offset_of(value)? {
            Some(offset) => Value::Time(Time::new(local, offset)),
            None if time.get_tzinfo().is_some() => {
                return Err(PyValueError::new_err("the zone of this time depends on the date"));
            }
            None => Value::LocalTime(local),
        }));
    }
    Ok(None)
}
