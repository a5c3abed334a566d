//! `duration(…)` from a text, a map of amounts, or a duration.

use telar_graph::Value;
use telar_graph::value::Duration;

use crate::error::EvalError;
use crate::function::{Context, args};
use crate::query_error::ErrorKind;

pub(super) fn construct(args: &[Value], _: &Context) -> Result<Value, EvalError> {
    match &args[0] {
        Value::String(text) => match text.parse::<Duration>() {
            Ok(duration) => Ok(duration.into()),
            Err(e) => Err(EvalError::from(e).of_kind(ErrorKind::Syntax)),
        },
        Value::Duration(_) => Ok(args[0].clone()),
        Value::Map(_) => from_map(&args[0]),
        other => {
            let error = EvalError::argument_type("duration()", "a STRING, MAP or DURATION", other);
            Err(error.of_kind(ErrorKind::ProcedureFailed))
        }
    }
}

/// Integers are summed exactly. With a float among them all are summed as floats, since a fraction
/// of a month or day carries into what is smaller.
fn from_map(map: &Value) -> Result<Value, EvalError> {
    let map = args::map("duration()", map)?;
    if map.is_empty() {
        return Err(EvalError::argument_value("duration() needs at least one amount"));
    }
    let mut whole = [0_i128; 3];
    let mut floats = [0.0; 4];
    let mut fractional = false;
    for (key, amount) in map {
        // Which amount, how many of it a unit is, and the nanoseconds of units below a second.
        let (at, factor) = match &**key {
            "years" => (0, 12),
            "quarters" => (0, 3),
            "months" => (0, 1),
            "weeks" => (1, 7),
            "days" => (1, 1),
            "hours" => (2, 3_600 * NANOS),
            "minutes" => (2, 60 * NANOS),
            "seconds" => (2, NANOS),
            "milliseconds" => (2, 1_000_000),
            "microseconds" => (2, 1_000),
            "nanoseconds" => (2, 1),
            _ => {
                let message = format!("duration() has no amount {key:?}");
                return Err(EvalError::argument_value(message));
            }
        };
        let number = match amount {
            Value::Int(amount) => {
                whole[at] += i128::from(*amount) * i128::from(factor);
                *amount as f64
            }
            Value::Float(amount) => {
                fractional = true;
                *amount
            }
            other => return Err(EvalError::argument_type("duration()", "numbers", other)),
        };
        match factor {
            NANOS.. if at == 2 => floats[2] += number * (factor / NANOS) as f64,
            _ if at == 2 => floats[3] += number * factor as f64,
            _ => floats[at] += number * factor as f64,
        }
    }
    if fractional {
        let [months, days, seconds, nanos] = floats;
        return Ok(Duration::from_fractional(months, days, seconds, nanos)?.into());
    }
    let overflow = |_| EvalError::overflow("duration()");
    let second = i128::from(NANOS);
    let whole = Duration::new(
        i64::try_from(whole[0]).map_err(overflow)?,
        i64::try_from(whole[1]).map_err(overflow)?,
        i64::try_from(whole[2].div_euclid(second)).map_err(overflow)?,
        whole[2].rem_euclid(second) as i64,
    )?;
    Ok(whole.into())
}

const NANOS: i64 = 1_000_000_000;
