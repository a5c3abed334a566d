//! `duration(…)` from a text, a map of amounts, or a duration.

use telar_graph::Value;
use telar_graph::value::Duration;

use crate::error::EvalError;
use crate::function::{Context, args};

pub(super) fn construct(args: &[Value], _: &Context) -> Result<Value, EvalError> {
    match &args[0] {
        Value::String(text) => Ok(text.parse::<Duration>()?.into()),
        Value::Duration(_) => Ok(args[0].clone()),
        Value::Map(_) => from_map(&args[0]),
        other => Err(EvalError::argument_type("duration()", "a STRING, MAP or DURATION", other)),
    }
}

/// Integers are summed exactly. Floats are summed apart, since a fraction of a month or day carries
/// into what is smaller.
fn from_map(map: &Value) -> Result<Value, EvalError> {
    let map = args::map("duration()", map)?;
    if map.is_empty() {
        return Err(EvalError::argument_value("duration() needs at least one amount"));
    }
    let mut whole = [0_i128; 3];
    let mut floats = [0.0; 4];
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
        match amount {
            Value::Null => return Ok(Value::Null),
            Value::Int(amount) => whole[at] += i128::from(*amount) * i128::from(factor),
            Value::Float(amount) if at < 2 => floats[at] += amount * factor as f64,
            Value::Float(amount) if factor >= NANOS => {
                floats[2] += amount * (factor / NANOS) as f64;
            }
            Value::Float(amount) => floats[3] += amount * factor as f64,
            other => return Err(EvalError::argument_type("duration()", "numbers", other)),
        }
    }
    let overflow = |_| EvalError::overflow("duration()");
    let second = i128::from(NANOS);
    let whole = Duration::new(
        i64::try_from(whole[0]).map_err(overflow)?,
        i64::try_from(whole[1]).map_err(overflow)?,
        i64::try_from(whole[2].div_euclid(second)).map_err(overflow)?,
        whole[2].rem_euclid(second) as i64,
    )?;
    let [months, days, seconds, nanos] = floats;
    let fractional = Duration::from_fractional(months, days, seconds, nanos)?;
    Ok(whole.checked_add(&fractional)?.into())
}

const NANOS: i64 = 1_000_000_000;
