//! `AND`, `OR`, `XOR` and `NOT` over true, false and null.
//!
//! A list counts as whether it has elements, as in Neo4j, where its type shows only when the query
//! runs.

use telar_graph::Value;

use crate::error::{EvalError, describe};

/// The truth value of an operand; `None` is null.
///
/// # Errors
///
/// `InvalidArgumentType` when the value is neither a boolean, nor a list, nor null.
pub fn truth(value: &Value) -> Result<Option<bool>, EvalError> {
    match value {
        Value::Bool(x) => Ok(Some(*x)),
        Value::Null => Ok(None),
        Value::List(list) => Ok(Some(!list.is_empty())),
        other => Err(EvalError::wrong_type("BOOLEAN", &describe(other))),
    }
}

/// `a AND b`: false when either is false, else null when either is null.
///
/// # Errors
///
/// `InvalidArgumentType` on an operand that is neither a boolean, nor a list, nor null.
pub fn and(a: &Value, b: &Value) -> Result<Value, EvalError> {
    Ok(match (truth(a)?, truth(b)?) {
        (Some(false), _) | (_, Some(false)) => Value::Bool(false),
        (Some(true), Some(true)) => Value::Bool(true),
        _ => Value::Null,
    })
}

/// `a OR b`: true when either is true, else null when either is null.
///
/// # Errors
///
/// `InvalidArgumentType` on an operand that is neither a boolean, nor a list, nor null.
pub fn or(a: &Value, b: &Value) -> Result<Value, EvalError> {
    Ok(match (truth(a)?, truth(b)?) {
        (Some(true), _) | (_, Some(true)) => Value::Bool(true),
        (Some(false), Some(false)) => Value::Bool(false),
        _ => Value::Null,
    })
}

/// `a XOR b`: null when either is null.
///
/// # Errors
///
/// `InvalidArgumentType` on an operand that is neither a boolean, nor a list, nor null.
pub fn xor(a: &Value, b: &Value) -> Result<Value, EvalError> {
    let (a, b) = (truth(a)?, truth(b)?);
    Ok(a.zip(b).map(|(a, b)| a != b).into())
}

/// `NOT a`.
///
/// # Errors
///
/// `InvalidArgumentType` on an operand that is neither a boolean, nor a list, nor null.
pub fn not(a: &Value) -> Result<Value, EvalError> {
    Ok(truth(a)?.map(|a| !a).into())
}
