//! Temporal values from texts, from maps, and from one another.

use telar_graph::Value;
use telar_graph::value::{Date, LocalDateTime, LocalTime, ParsedDateTime, Time, UtcOffset};

use super::fields::Fields;
use super::{Kind, Parts, Zone, current_offset, in_zone, now};
use crate::error::EvalError;
use crate::function::{Context, Moment, args};
use crate::query_error::ErrorKind;

/// What `date(input)` and its four siblings yield.
pub(super) fn construct(kind: Kind, input: &Value, context: &Context) -> Result<Value, EvalError> {
    match input {
        Value::Null => Ok(Value::Null),
        // Neo4j calls a text that is no date an error of syntax, too.
        Value::String(text) => parse(kind, text, context).map_err(|e| e.of_kind(ErrorKind::Syntax)),
        Value::Map(map) => match Fields::read(kind, map)? {
            None => Ok(Value::Null),
            Some(fields) => from_fields(kind, &fields, context),
        },
        other => {
            let parts = Parts::of(other)?.filter(|parts| {
                (parts.date.is_some() || !kind.has_date())
                    && (parts.time.is_some() || !kind.has_time())
            });
            let parts = parts.ok_or_else(|| {
                EvalError::argument_type(kind.name(), "a STRING, MAP or temporal value", other)
                    .of_kind(ErrorKind::ProcedureFailed)
            })?;
            parts.into_value(kind, context)
        }
    }
}

fn parse(kind: Kind, text: &str, context: &Context) -> Result<Value, EvalError> {
    Ok(match kind {
        Kind::Date => text.parse::<Date>()?.into(),
        Kind::LocalTime => text.parse::<LocalTime>()?.into(),
        Kind::LocalDateTime => text.parse::<LocalDateTime>()?.into(),
        Kind::Time => match text.parse::<LocalTime>() {
            Ok(local) => Time::new(local, current_offset(&context.zone, context)?).into(),
            Err(_) => text.parse::<Time>()?.into(),
        },
        Kind::DateTime => {
            let ParsedDateTime { local, offset, zone } = text.parse()?;
            match (zone, offset) {
                (None, None) => context.zone.resolve(local, None)?.into(),
                (None, Some(offset)) => Zone::Offset(offset).resolve(local, None)?.into(),
                (Some(name), offset) => in_named_zone(local, offset, &name)?,
            }
        }
    })
}

/// A text that names a zone; an offset in the text must be one that the zone has then.
fn in_named_zone(
    local: LocalDateTime,
    offset: Option<UtcOffset>,
    name: &str,
) -> Result<Value, EvalError> {
    let zone = Zone::parse(name)?;
    if let Some(offset) = offset
        && !zone.shows(local, offset)?
    {
        let message = format!("clocks in {name} are not at {offset} on {local}");
        return Err(EvalError::argument_value(message));
    }
    Ok(zone.resolve(local, offset)?.into())
}

fn from_fields(kind: Kind, fields: &Fields, context: &Context) -> Result<Value, EvalError> {
    if fields.is_only_zone()
        && let Some(zone) = &fields.zone
    {
        return now::at(kind, zone, context.statement);
    }
    if let Some(moment) = fields.epoch()? {
        let zone = fields.zone.as_ref().unwrap_or(&context.zone);
        return Ok(in_zone(zone, moment)?.into());
    }
    let (date_base, time_base) = match &fields.both {
        Some(both) => (Some(both), Some(both)),
        None => (fields.date_source.as_ref(), fields.time_source.as_ref()),
    };
    let date = if kind.has_date() {
        Some(fields.date.build(date_base.and_then(|base| base.date))?)
    } else {
        None
    };
    let time = if kind.has_time() {
        Some(fields.time.build(time_base.and_then(|base| base.time))?)
    } else {
        None
    };
    // The zone comes along with a time, not with a date.
    let base_zone = time_base.and_then(|base| base.zone.clone());
    let parts = |zone| Parts { date, time, zone };
    match (&fields.zone, base_zone) {
        (None, base_zone) => parts(base_zone).into_value(kind, context),
        // The time came without a zone: it is what clocks in this one show.
        (Some(zone), None) => parts(Some((zone.clone(), None))).into_value(kind, context),
        // The time came with one: the moment stays, and clocks in the other zone show it.
        (Some(zone), base_zone) => match parts(base_zone).into_value(kind, context)? {
            Value::Time(time) => {
                Ok(time.with_offset_same_instant(current_offset(zone, context)?).into())
            }
            Value::DateTime(at) => {
                let nanos = i64::from(at.time().nanosecond());
                Ok(zone.at_instant(at.epoch_second(), nanos)?.into())
            }
            other => Ok(other),
        },
    }
}

/// The error as that of a procedure, which these functions are in Neo4j.
fn failed(error: EvalError) -> EvalError {
    error.of_kind(ErrorKind::ProcedureFailed)
}

/// `datetime.fromepoch(seconds, nanoseconds)`.
pub(super) fn from_epoch(args: &[Value], context: &Context) -> Result<Value, EvalError> {
    let int = |value| args::int("datetime.fromepoch()", value).map_err(failed);
    let (seconds, nanos) = (int(&args[0])?, int(&args[1])?);
    Ok(context.zone.at_instant(seconds, nanos)?.into())
}

/// `datetime.fromepochmillis(milliseconds)`.
pub(super) fn from_epoch_millis(args: &[Value], context: &Context) -> Result<Value, EvalError> {
    let millis = args::int("datetime.fromepochmillis()", &args[0]).map_err(failed)?;
    let moment = moment_of_millis(millis);
    Ok(in_zone(&context.zone, moment)?.into())
}

pub(super) const fn moment_of_millis(millis: i64) -> Moment {
    let nanos = millis.rem_euclid(1_000) as u32 * 1_000_000;
    Moment { seconds: millis.div_euclid(1_000), nanos }
}
