//! Components of temporal values, durations and points.
//!
//! Names are compared without regard to case: `weekDay` and `weekday` are one component.
//!
//! Source: openCypher TCK, Temporal5; Neo4j Cypher manual, "Temporal values" and "Spatial values".

use telar_graph::Value;
use telar_graph::value::{
    Date, DateTime, Duration, LocalDateTime, LocalTime, Point, Time, UtcOffset,
};

use crate::error::EvalError;
use crate::query_error::ErrorKind;

fn unknown(key: &str, of: &str) -> EvalError {
    EvalError::argument_value(format!("{of} has no component {key:?}"))
}

/// A temporal value or duration of another type would have the component: the type is wrong.
fn unknown_of_type(key: &str, of: &str) -> EvalError {
    unknown(key, of).of_kind(ErrorKind::Type)
}

/// What `pick` finds by the key in lower case.
fn find(key: &str, of: &str, pick: impl FnOnce(&str) -> Option<Value>) -> Result<Value, EvalError> {
    pick(&key.to_ascii_lowercase()).ok_or_else(|| unknown_of_type(key, of))
}

fn date(date: Date, key: &str) -> Option<Value> {
    Some(match key {
        "year" => date.year().into(),
        "quarter" => date.quarter().into(),
        "month" => date.month().into(),
        "week" => date.week().into(),
        "weekyear" => date.week_year().into(),
        "day" => date.day().into(),
        "ordinalday" => i64::from(date.day_of_year()).into(),
        "dayofquarter" | "quarterday" => date.day_of_quarter().into(),
        "weekday" | "dayofweek" => date.day_of_week().into(),
        _ => return None,
    })
}

fn local_time(time: LocalTime, key: &str) -> Option<Value> {
    Some(match key {
        "hour" => time.hour().into(),
        "minute" => time.minute().into(),
        "second" => time.second().into(),
        "millisecond" => time.millisecond().into(),
        "microsecond" => time.microsecond().into(),
        "nanosecond" => time.nanosecond().into(),
        _ => return None,
    })
}

fn offset(offset: UtcOffset, key: &str) -> Option<Value> {
    Some(match key {
        "offset" => offset.to_string().into(),
        "offsetminutes" => offset.minutes().into(),
        "offsetseconds" => offset.seconds().into(),
        _ => return None,
    })
}

pub(super) fn of_date(value: Date, key: &str) -> Result<Value, EvalError> {
    find(key, "a DATE", |key| date(value, key))
}

pub(super) fn of_local_time(value: LocalTime, key: &str) -> Result<Value, EvalError> {
    find(key, "a LOCAL TIME", |key| local_time(value, key))
}

pub(super) fn of_time(value: Time, key: &str) -> Result<Value, EvalError> {
    find(key, "a ZONED TIME", |key| match key {
        "timezone" => Some(value.offset().to_string().into()),
        _ => local_time(value.local(), key).or_else(|| offset(value.offset(), key)),
    })
}

pub(super) fn of_local_date_time(value: LocalDateTime, key: &str) -> Result<Value, EvalError> {
    find(key, "a LOCAL DATETIME", |key| {
        date(value.date(), key).or_else(|| local_time(value.time(), key))
    })
}

pub(super) fn of_date_time(value: &DateTime, key: &str) -> Result<Value, EvalError> {
    if key.eq_ignore_ascii_case("epochMillis") {
        // Years beyond 292 million have more milliseconds than an integer can count.
        let millis = i64::try_from(value.epoch_nanos().div_euclid(1_000_000));
        return millis.map(Value::Int).map_err(|_| EvalError::overflow(key));
    }
    find(key, "a ZONED DATETIME", |key| match key {
        "timezone" => {
            Some(value.zone().map_or_else(|| value.offset().to_string(), str::to_owned).into())
        }
        "epochseconds" => Some(value.epoch_second().into()),
        _ => date(value.date(), key)
            .or_else(|| local_time(value.time(), key))
            .or_else(|| offset(value.offset(), key)),
    })
}

/// Components of a duration are taken from one of its three amounts: months, days, or seconds.
///
/// # Errors
///
/// `IntegerOverflow` when the amount in the small unit does not fit.
pub(super) fn of_duration(duration: &Duration, key: &str) -> Result<Value, EvalError> {
    let (months, days, seconds) = (duration.months(), duration.days(), duration.seconds());
    let nanos = i64::from(duration.nanos());
    let wide = |nanos_per_unit: i128| {
        i64::try_from(duration.time_nanos().div_euclid(nanos_per_unit))
            .map_err(|_| EvalError::overflow(key))
    };
    let amount = match key.to_ascii_lowercase().as_str() {
        "years" => months / 12,
        "quarters" => months / 3,
        "months" => months,
        "weeks" => days / 7,
        "days" => days,
        "hours" => seconds / 3_600,
        "minutes" => seconds / 60,
        "seconds" => seconds,
        "milliseconds" => wide(1_000_000)?,
        "microseconds" => wide(1_000)?,
        "nanoseconds" => wide(1)?,
        "quartersofyear" => months / 3 % 4,
        "monthsofyear" => months % 12,
        "monthsofquarter" => months % 3,
        "daysofweek" => days % 7,
        "minutesofhour" => seconds / 60 % 60,
        "secondsofminute" => seconds % 60,
        "millisecondsofsecond" => nanos / 1_000_000,
        "microsecondsofsecond" => nanos / 1_000,
        "nanosecondsofsecond" => nanos,
        _ => return Err(unknown_of_type(key, "a DURATION")),
    };
    Ok(amount.into())
}

/// A point in two dimensions has neither `z` nor `height`.
pub(super) fn of_point(point: &Point, key: &str) -> Result<Value, EvalError> {
    let geographic = point.srid().is_geographic();
    match key {
        "x" => Ok(point.x().into()),
        "y" => Ok(point.y().into()),
        "longitude" if geographic => Ok(point.x().into()),
        "latitude" if geographic => Ok(point.y().into()),
        "crs" => Ok(point.srid().name().into()),
        "srid" => Ok(point.srid().get().into()),
        _ => match (key, point.z()) {
            ("z", Some(z)) => Ok(z.into()),
            ("height", Some(z)) if geographic => Ok(z.into()),
            _ => Err(unknown(key, &format!("a {} point", point.srid().name()))),
        },
    }
}
