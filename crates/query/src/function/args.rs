//! Arguments of functions, by type.

use telar_graph::{Value, ValueMap};

use crate::error::{Detail, EvalError};

pub(super) fn int(function: &str, value: &Value) -> Result<i64, EvalError> {
    match value {
        Value::Int(x) => Ok(*x),
        other => Err(EvalError::argument_type(function, "an INTEGER", other)),
    }
}

pub(super) fn number(function: &str, value: &Value) -> Result<f64, EvalError> {
    match value {
        Value::Int(x) => Ok(*x as f64),
        Value::Float(x) => Ok(*x),
        other => Err(EvalError::argument_type(function, "a number", other)),
    }
}

pub(super) fn text<'a>(function: &str, value: &'a Value) -> Result<&'a str, EvalError> {
    match value {
        Value::String(x) => Ok(x),
        other => Err(EvalError::argument_type(function, "a STRING", other)),
    }
}

pub(super) fn list<'a>(function: &str, value: &'a Value) -> Result<&'a [Value], EvalError> {
    match value {
        Value::List(x) => Ok(x),
        other => Err(EvalError::argument_type(function, "a LIST", other)),
    }
}

pub(super) fn map<'a>(function: &str, value: &'a Value) -> Result<&'a ValueMap, EvalError> {
    match value {
        Value::Map(x) => Ok(x),
        other => Err(EvalError::argument_type(function, "a MAP", other)),
    }
}

/// A count of characters or repetitions; more than memory has is as good as the most.
pub(super) fn count(function: &str, value: &Value) -> Result<usize, EvalError> {
    let count = int(function, value)?;
    if count < 0 {
        return Err(EvalError::new(
            Detail::NegativeIntegerArgument,
            format!("{function} expects a non-negative INTEGER, found {count}"),
        ));
    }
    Ok(usize::try_from(count).unwrap_or(usize::MAX))
}
