//! Temporal values plus durations.

use telar_graph::Value;
use telar_graph::value::{DateTime, Duration};

use crate::error::EvalError;
use crate::ops::zone::Zone;

/// The temporal value later by a duration; none when `at` is not a temporal value.
pub(super) fn shift(at: &Value, by: &Duration) -> Option<Result<Value, EvalError>> {
    Some(match at {
        Value::Date(at) => at.checked_add(by).map(Value::Date).map_err(EvalError::from),
        Value::LocalTime(at) => Ok(Value::LocalTime(at.wrapping_add(by))),
        Value::Time(at) => Ok(Value::Time(at.wrapping_add(by))),
        Value::LocalDateTime(at) => {
            at.checked_add(by).map(Value::LocalDateTime).map_err(EvalError::from)
        }
        Value::DateTime(at) => add_to_zoned(at, by).map(Value::from),
        _ => return None,
    })
}

/// The date and time later by a duration: months and days on the clock of the zone, then seconds of
/// time that passes, whatever the clock does meanwhile.
pub(crate) fn add_to_zoned(at: &DateTime, by: &Duration) -> Result<DateTime, EvalError> {
    if at.zone().is_none() {
        return Ok(at.checked_add(by)?);
    }
    let zone = Zone::of(at)?;
    let calendar = Duration::new(by.months(), by.days(), 0, 0)?;
    let moved = if calendar == Duration::ZERO {
        at.clone()
    } else {
        zone.resolve(at.local().checked_add(&calendar)?, Some(at.offset()))?
    };
    if by.time_nanos() == 0 {
        return Ok(moved);
    }
    let seconds = moved.epoch_second().checked_add(by.seconds());
    let seconds = seconds.ok_or_else(|| EvalError::overflow("an addition"))?;
    let nanos = i64::from(moved.time().nanosecond()) + i64::from(by.nanos());
    zone.at_instant(seconds, nanos)
}
