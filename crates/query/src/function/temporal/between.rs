//! Durations between two moments.
//!
//! A moment that lacks a part takes it from the other: a date is at midnight, a time of day on the
//! date of the other, and without a zone clocks are those of the other's zone. Then
//! `duration.between` counts whole months, then whole days, then time; `inMonths`, `inDays` and
//! `inSeconds` count only one of them. Where neither has a date, there are no months and no days.

use telar_graph::Value;
use telar_graph::value::{Date, DateTime, Duration, LocalDateTime, LocalTime};

use super::{Parts, Zone};
use crate::error::EvalError;
use crate::function::{Context, Eval, Function};
use crate::ops::add_to_zoned;
use crate::query_error::ErrorKind;

const fn f(
    name: &'static str,
    signature: &'static str,
    what: &'static str,
    eval: Eval,
) -> Function {
    Function::new(name, "Temporal", (2, 2), signature, what, eval)
}

pub(in crate::function) static FUNCTIONS: &[Function] = &[
    f(
        "duration.between",
        "duration.between(from :: ANY, to :: ANY) :: DURATION",
        "The months, days and time from one moment to another.",
        |args, _: &Context| between(args, Count::Everything),
    ),
    f(
        "duration.inDays",
        "duration.inDays(from :: ANY, to :: ANY) :: DURATION",
        "The whole days from one moment to another.",
        |args, _: &Context| between(args, Count::Days),
    ),
    f(
        "duration.inMonths",
        "duration.inMonths(from :: ANY, to :: ANY) :: DURATION",
        "The whole months from one moment to another.",
        |args, _: &Context| between(args, Count::Months),
    ),
    f(
        "duration.inSeconds",
        "duration.inSeconds(from :: ANY, to :: ANY) :: DURATION",
        "The time from one moment to another, in seconds.",
        |args, _: &Context| between(args, Count::Seconds),
    ),
];

/// What is counted.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Count {
    Everything,
    Months,
    Days,
    Seconds,
}

fn between(args: &[Value], count: Count) -> Result<Value, EvalError> {
    let part = |value: &Value| {
        Parts::of(value)?.ok_or_else(|| {
            let error = EvalError::argument_type("duration.between()", "temporal values", value);
            error.of_kind(ErrorKind::ProcedureFailed)
        })
    };
    let (from, to) = (part(&args[0])?, part(&args[1])?);
    let dated = from.date.is_some() || to.date.is_some();
    let both_dated = from.date.is_some() && to.date.is_some();
    let start = moment(&from, &to)?;
    let end = moment(&to, &from)?;
    let duration = match count {
        Count::Seconds => time_between(&start, &end)?,
        Count::Months if dated => Duration::new(months_between(&start, &end)?, 0, 0, 0)?,
        Count::Days if dated => Duration::new(0, days_between(&start, &end)?, 0, 0)?,
        Count::Months | Count::Days => Duration::ZERO,
        Count::Everything if !both_dated => time_between(&start, &end)?,
        Count::Everything => {
            let months = Duration::new(months_between(&start, &end)?, 0, 0, 0)?;
            let start = add_to_zoned(&start, &months)?;
            let days = Duration::new(0, days_between(&start, &end)?, 0, 0)?;
            let start = add_to_zoned(&start, &days)?;
            months.checked_add(&days)?.checked_add(&time_between(&start, &end)?)?
        }
    };
    Ok(duration.into())
}

/// The moment with what it lacks taken from another, or else 1970-01-01, midnight, UTC.
fn moment(parts: &Parts, other: &Parts) -> Result<DateTime, EvalError> {
    let date = parts.date.or(other.date).unwrap_or(Date::EPOCH);
    let time = parts.time.unwrap_or(LocalTime::MIDNIGHT);
    let local = LocalDateTime::new(date, time);
    match (&parts.zone, &other.zone) {
        (Some((zone, offset)), _) => zone.resolve(local, *offset),
        (None, Some((zone, _))) => zone.resolve(local, None),
        (None, None) => Zone::UTC.resolve(local, None),
    }
}

/// What clocks in the zone of `start` show at both moments.
fn on_one_clock(
    start: &DateTime,
    end: &DateTime,
) -> Result<(LocalDateTime, LocalDateTime), EvalError> {
    let zone = Zone::of(start)?;
    let nanos = i64::from(end.time().nanosecond());
    let end = if start.zone() == end.zone() && start.offset() == end.offset() {
        end.local()
    } else {
        zone.at_instant(end.epoch_second(), nanos)?.local()
    };
    Ok((start.local(), end))
}

/// The last date on which the time of day of `start` has come by `end`.
fn whole_days_end(start: LocalDateTime, end: LocalDateTime) -> Result<Date, EvalError> {
    let back = end.date() > start.date() && end.time() < start.time();
    let forth = end.date() < start.date() && end.time() > start.time();
    Ok(end.date().checked_add_days(i64::from(forth) - i64::from(back))?)
}

fn days_between(start: &DateTime, end: &DateTime) -> Result<i64, EvalError> {
    let (start, end) = on_one_clock(start, end)?;
    Ok(whole_days_end(start, end)?.epoch_days() - start.date().epoch_days())
}

fn months_between(start: &DateTime, end: &DateTime) -> Result<i64, EvalError> {
    let (start, end) = on_one_clock(start, end)?;
    let end = whole_days_end(start, end)?;
    // A month counts as 32 days, more than any has, so that days decide only within one.
    let packed = |date: Date| {
        let (year, month, day) = date.year_month_day();
        (i64::from(year) * 12 + i64::from(month)) * 32 + i64::from(day)
    };
    Ok((packed(end) - packed(start.date())) / 32)
}

fn time_between(start: &DateTime, end: &DateTime) -> Result<Duration, EvalError> {
    // Seconds of either are at most 32 * 10^15 from the epoch.
    let nanos = i64::from(end.time().nanosecond()) - i64::from(start.time().nanosecond());
    Ok(Duration::new(0, 0, end.epoch_second() - start.epoch_second(), nanos)?)
}
