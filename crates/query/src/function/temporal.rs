//! Temporal functions: what time it is, temporal values from texts, maps and one another, their
//! truncation, and durations.
//!
//! | File | Functions |
//! |---|---|
//! | `construct` | `date(…)`, `time(…)`, … from a text, a map or another temporal value |
//! | `fields` | the maps of those |
//! | `now` | the same without arguments, and their `.statement`, `.transaction`, `.realtime` |
//! | `truncate` | `date.truncate(…)` … |
//! | `between` | `duration.between(…)` … |
//! | `duration` | `duration(…)` |
//! | `zone` | time zones |
//!
//! Source: openCypher CIP2015-08-06 "Date and time", TCK features Temporal1-10; Neo4j Cypher manual,
//! "Temporal functions".

mod between;
mod construct;
mod duration;
mod fields;
mod now;
mod truncate;

use telar_graph::Value;
use telar_graph::value::{Date, DateTime, LocalDateTime, LocalTime, Time, UtcOffset};

pub use crate::ops::zone::Zone;
pub(super) use between::FUNCTIONS as DURATION_FUNCTIONS;
pub(super) use now::FUNCTIONS as CLOCK_FUNCTIONS;
pub(super) use truncate::FUNCTIONS;

use super::Context;
use crate::error::EvalError;

/// The five types of moments.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Date,
    LocalTime,
    Time,
    LocalDateTime,
    DateTime,
}

impl Kind {
    const fn has_date(self) -> bool {
        matches!(self, Self::Date | Self::LocalDateTime | Self::DateTime)
    }

    const fn has_time(self) -> bool {
        !matches!(self, Self::Date)
    }

    const fn has_zone(self) -> bool {
        matches!(self, Self::Time | Self::DateTime)
    }

    /// Name of the function that makes it.
    const fn name(self) -> &'static str {
        match self {
            Self::Date => "date()",
            Self::LocalTime => "localtime()",
            Self::Time => "time()",
            Self::LocalDateTime => "localdatetime()",
            Self::DateTime => "datetime()",
        }
    }
}

/// The parts that a temporal value has.
#[derive(Debug, Clone)]
struct Parts {
    date: Option<Date>,
    time: Option<LocalTime>,
    /// The zone, and the offset at which the clock shows the time, if that is settled.
    zone: Option<(Zone, Option<UtcOffset>)>,
}

impl Parts {
    /// None when the value is not a moment.
    fn of(value: &Value) -> Result<Option<Self>, EvalError> {
        let (date, time, zone) = match value {
            Value::Date(date) => (Some(*date), None, None),
            Value::LocalTime(time) => (None, Some(*time), None),
            Value::Time(time) => {
                (None, Some(time.local()), Some((Zone::Offset(time.offset()), Some(time.offset()))))
            }
            Value::LocalDateTime(at) => (Some(at.date()), Some(at.time()), None),
            Value::DateTime(at) => {
                (Some(at.date()), Some(at.time()), Some((Zone::of(at)?, Some(at.offset()))))
            }
            _ => return Ok(None),
        };
        Ok(Some(Self { date, time, zone }))
    }

    /// The value of a type with these parts. What is missing is 1970-01-01, midnight, the default
    /// zone; what the type has not is left out.
    fn into_value(self, kind: Kind, context: &Context) -> Result<Value, EvalError> {
        let date = self.date.unwrap_or(Date::EPOCH);
        let time = self.time.unwrap_or(LocalTime::MIDNIGHT);
        let local = LocalDateTime::new(date, time);
        let (zone, offset) = self.zone.unwrap_or_else(|| (context.zone.clone(), None));
        Ok(match kind {
            Kind::Date => date.into(),
            Kind::LocalTime => time.into(),
            Kind::LocalDateTime => local.into(),
            Kind::Time => {
                let offset = offset.map_or_else(|| current_offset(&zone, context), Ok)?;
                Time::new(time, offset).into()
            }
            Kind::DateTime => zone.resolve(local, offset)?.into(),
        })
    }
}

/// The offset that clocks in the zone have while the statement runs: a time of day has no date to
/// look it up for.
fn current_offset(zone: &Zone, context: &Context) -> Result<UtcOffset, EvalError> {
    Ok(in_zone(zone, context.statement)?.offset())
}

fn in_zone(zone: &Zone, moment: super::Moment) -> Result<DateTime, EvalError> {
    zone.at_instant(moment.seconds, i64::from(moment.nanos))
}
