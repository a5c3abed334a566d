//! `a[b]`, `a[b..c]` and `a.key`.

use telar_graph::Value;

use super::component;
use crate::error::{Detail, EvalError, describe};
use crate::watch;

/// `container[key]`: the element of a list at a position, which counts from the end when negative,
/// or the value of a map at a key. Null when there is no such element.
///
/// # Errors
///
/// `ListElementAccessByNonInteger`, `MapElementAccessByNonString`, or `InvalidArgumentType` when
/// `container` is neither a list nor a map. Vertices and edges are for the caller, who can read
/// their properties.
pub fn index(container: &Value, key: &Value) -> Result<Value, EvalError> {
    match (container, key) {
        (Value::Null, _) | (Value::List(_) | Value::Map(_), Value::Null) => Ok(Value::Null),
        (Value::List(elements), Value::Int(position)) => {
            let length = elements.len() as i128;
            let position = i128::from(*position);
            let position = if position < 0 { position + length } else { position };
            let element = usize::try_from(position).ok().and_then(|at| elements.get(at));
            Ok(element.cloned().unwrap_or_default())
        }
        (Value::List(_), other) => Err(EvalError::new(
            Detail::ListElementAccessByNonInteger,
            format!("a list index must be an INTEGER, found {}", describe(other)),
        )),
        (Value::Map(entries), Value::String(key)) => {
            Ok(entries.get(&**key).cloned().unwrap_or_default())
        }
        (Value::Map(_), other) => Err(EvalError::new(
            Detail::MapElementAccessByNonString,
            format!("a map key must be given as STRING, found {}", describe(other)),
        )),
        (other, _) => Err(EvalError::wrong_type("a LIST or MAP before [", &describe(other))),
    }
}

/// `list[from..to]`, without the element at `to`. Bounds count from the end when negative; a
/// missing one is the start or the end; beyond the ends there is nothing. Null when the list or a
/// bound that is there is null. What is no list counts as a list of one element.
///
/// # Errors
///
/// `InvalidArgumentType` when a bound is not an integer, `MemoryBudgetExceeded`.
pub fn slice(list: &Value, from: Option<&Value>, to: Option<&Value>) -> Result<Value, EvalError> {
    let elements = match list {
        Value::Null => return Ok(Value::Null),
        Value::List(elements) => &**elements,
        Value::Vector(_) => return Err(EvalError::wrong_type("a LIST before [", "VECTOR")),
        single => std::slice::from_ref(single),
    };
    let length = elements.len() as i128;
    let bound = |bound: Option<&Value>, missing: i128| match bound {
        None => Ok(Some(missing)),
        Some(Value::Null) => Ok(None),
        Some(Value::Int(at)) => {
            let at = i128::from(*at);
            Ok(Some(if at < 0 { at + length } else { at }.clamp(0, length)))
        }
        Some(other) => Err(EvalError::wrong_type("an INTEGER bound", &describe(other))),
    };
    let (Some(from), Some(to)) = (bound(from, 0)?, bound(to, length)?) else {
        return Ok(Value::Null);
    };
    if let (Value::List(_), 0) = (list, from)
        && to == length
    {
        return Ok(list.clone());
    }
    // Both are within 0..=length now.
    let (from, to) = (from as usize, to as usize);
    watch::room(to.saturating_sub(from).saturating_mul(size_of::<Value>()))?;
    Ok(Value::List(elements.get(from..to).unwrap_or_default().into()))
}

/// `value.key` of a map, a temporal value, a duration or a point.
///
/// # Errors
///
/// `InvalidArgumentValue` when a temporal value or a point has no such component, and
/// `InvalidArgumentType` when the value has no keys at all. Vertices and edges are for the caller.
pub fn property(value: &Value, key: &str) -> Result<Value, EvalError> {
    match value {
        Value::Null => Ok(Value::Null),
        Value::Map(entries) => Ok(entries.get(key).cloned().unwrap_or_default()),
        Value::Date(date) => component::of_date(*date, key),
        Value::LocalTime(time) => component::of_local_time(*time, key),
        Value::Time(time) => component::of_time(*time, key),
        Value::LocalDateTime(at) => component::of_local_date_time(*at, key),
        Value::DateTime(at) => component::of_date_time(at, key),
        Value::Duration(duration) => component::of_duration(duration, key),
        Value::Point(point) => component::of_point(point, key),
        other => Err(EvalError::wrong_type("a MAP before .", &describe(other))),
    }
}
