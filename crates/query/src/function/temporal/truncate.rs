//! Truncation to a unit, and the functions of the epoch and of `duration(…)`.

use telar_graph::value::{Date, LocalTime};
use telar_graph::{Value, ValueMap};

use super::fields::Fields;
use super::{Kind, Parts, construct, duration, now};
use crate::error::EvalError;
use crate::function::{Context, Eval, Function, args};
use crate::query_error::ErrorKind;

const fn f(
    name: &'static str,
    arity: (usize, usize),
    signature: &'static str,
    description: &'static str,
    eval: Eval,
) -> Function {
    Function::new(name, "Temporal", arity, signature, description, eval)
}

/// The truncation to one type.
macro_rules! truncate {
    ($name:literal, $kind:expr, $result:literal) => {
        f(
            $name,
            (1, 3),
            concat!(
                $name,
                "(unit :: STRING, input = DEFAULT_TEMPORAL_ARGUMENT :: ANY, fields = null :: MAP) :: ",
                $result
            ),
            "The input with everything smaller than the unit at its least, or as the fields say.",
            |args, context| truncate($kind, $name, args, context),
        )
        .takes_null()
        .reads_context()
    };
}

pub(in crate::function) static FUNCTIONS: &[Function] = &[
    truncate!("date.truncate", Kind::Date, "DATE"),
    truncate!("datetime.truncate", Kind::DateTime, "ZONED DATETIME"),
    truncate!("localdatetime.truncate", Kind::LocalDateTime, "LOCAL DATETIME"),
    truncate!("localtime.truncate", Kind::LocalTime, "LOCAL TIME"),
    truncate!("time.truncate", Kind::Time, "ZONED TIME"),
    f(
        "datetime.fromepoch",
        (2, 2),
        "datetime.fromepoch(seconds :: INTEGER | FLOAT, nanoseconds :: INTEGER | FLOAT) :: ZONED DATETIME",
        "The moment so many seconds and nanoseconds after 1970-01-01T00:00Z.",
        construct::from_epoch,
    )
    .takes_null()
    .reads_context(),
    f(
        "datetime.fromepochmillis",
        (1, 1),
        "datetime.fromepochmillis(milliseconds :: INTEGER | FLOAT) :: ZONED DATETIME",
        "The moment so many milliseconds after 1970-01-01T00:00Z.",
        construct::from_epoch_millis,
    )
    .takes_null()
    .reads_context(),
    f(
        "duration",
        (1, 1),
        "duration(input :: ANY) :: DURATION",
        "The duration in a text or a map of amounts.",
        duration::construct,
    ),
];

/// What a moment is truncated to, from the largest.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Unit {
    Millennium,
    Century,
    Decade,
    Year,
    WeekYear,
    Quarter,
    Month,
    Week,
    Day,
    Hour,
    Minute,
    Second,
    Millisecond,
    Microsecond,
}

impl Unit {
    fn parse(name: &str) -> Result<Self, EvalError> {
        Ok(match name.to_ascii_lowercase().as_str() {
            "millennium" => Self::Millennium,
            "century" => Self::Century,
            "decade" => Self::Decade,
            "year" => Self::Year,
            "weekyear" => Self::WeekYear,
            "quarter" => Self::Quarter,
            "month" => Self::Month,
            "week" => Self::Week,
            "day" => Self::Day,
            "hour" => Self::Hour,
            "minute" => Self::Minute,
            "second" => Self::Second,
            "millisecond" => Self::Millisecond,
            "microsecond" => Self::Microsecond,
            _ => {
                let message = format!("{name:?} is not a unit to truncate to");
                return Err(EvalError::argument_value(message));
            }
        })
    }

    fn date(self, date: Date) -> Result<Date, EvalError> {
        let (year, month, _) = date.year_month_day();
        let (year, month) = (i64::from(year), i64::from(month));
        let start_of = |years: i64| Date::new(year - year.rem_euclid(years), 1, 1);
        Ok(match self {
            Self::Millennium => start_of(1_000)?,
            Self::Century => start_of(100)?,
            Self::Decade => start_of(10)?,
            Self::Year => start_of(1)?,
            Self::WeekYear => Date::from_week(i64::from(date.week_year()), 1, 1)?,
            Self::Quarter => Date::from_quarter(year, i64::from(date.quarter()), 1)?,
            Self::Month => Date::new(year, month, 1)?,
            Self::Week => date.checked_add_days(1 - i64::from(date.day_of_week()))?,
            _ => date,
        })
    }

    fn time(self, time: LocalTime) -> Result<LocalTime, EvalError> {
        let nanos = match self {
            Self::Hour => 3_600_000_000_000,
            Self::Minute => 60_000_000_000,
            Self::Second => 1_000_000_000,
            Self::Millisecond => 1_000_000,
            Self::Microsecond => 1_000,
            _ => return Ok(LocalTime::MIDNIGHT),
        };
        let of_day = time.nanos_of_day();
        Ok(LocalTime::from_nanos_of_day(of_day - of_day % nanos)?)
    }
}

fn truncate(
    kind: Kind,
    name: &str,
    arguments: &[Value],
    context: &Context,
) -> Result<Value, EvalError> {
    // Neo4j calls it as a procedure, which takes no nulls here.
    let failed = |error: EvalError| error.of_kind(ErrorKind::ProcedureFailed);
    let unit = args::text(name, &arguments[0]).map_err(failed)?;
    let now;
    let input = match arguments.get(1) {
        Some(input) => input,
        None => {
            now = now::at(kind, &context.zone, context.statement)?;
            &now
        }
    };
    let parts = Parts::of(input)?
        .filter(|parts| parts.date.is_some() || !kind.has_date())
        .ok_or_else(|| failed(EvalError::argument_type(name, "a temporal value", input)))?;
    let unit = Unit::parse(unit)?;
    // A date has no hours to cut off, and a time of day no years.
    let fits = match (unit > Unit::Day, kind.has_date()) {
        (true, _) => kind.has_time() && parts.time.is_some(),
        (false, true) => true,
        (false, false) => unit == Unit::Day && parts.time.is_some(),
    };
    if !fits {
        let message = format!("{name}() cannot truncate a {} to that unit", input.type_name());
        return Err(EvalError::argument_value(message).of_kind(ErrorKind::Type));
    }
    let truncated = Parts {
        date: parts.date.map(|date| unit.date(date)).transpose()?,
        time: parts.time.map(|time| unit.time(time)).transpose()?,
        zone: parts.zone,
    };
    match arguments.get(2) {
        None | Some(Value::Null) => truncated.into_value(kind, context),
        Some(fields) => with_fields(kind, unit, truncated, args::map(name, fields)?, context),
    }
}

/// The truncated moment with the components of a map. A time zone there tells where clocks show
/// the truncated time; it does not move the moment as it does in `datetime({…})`.
fn with_fields(
    kind: Kind,
    unit: Unit,
    mut parts: Parts,
    map: &ValueMap,
    context: &Context,
) -> Result<Value, EvalError> {
    if map.is_empty() {
        return parts.into_value(kind, context);
    }
    let Some(mut fields) = Fields::read(kind, map)? else {
        return Ok(Value::Null);
    };
    if fields.has_sources() {
        return Err(EvalError::argument_value("the fields of a truncation are numbers and a zone"));
    }
    if let Some(zone) = fields.zone.take() {
        parts.zone = Some((zone, None));
    }
    if kind.has_date() {
        parts.date = Some(fields.date.build(parts.date)?);
    }
    if kind.has_time() {
        let base = parts.time.unwrap_or(LocalTime::MIDNIGHT);
        if unit >= Unit::Millisecond {
            fields.time.keep_fraction(base, unit == Unit::Microsecond);
        }
        parts.time = Some(fields.time.build(Some(base))?);
    }
    parts.into_value(kind, context)
}
