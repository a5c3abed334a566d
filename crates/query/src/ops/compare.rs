//! `=`, `<>`, `<`, `<=`, `>`, `>=`, `IN` and `IS NULL`.

use telar_graph::{Value, order};

use crate::error::{EvalError, describe};

/// `a = b`.
#[must_use]
pub fn eq(a: &Value, b: &Value) -> Value {
    order::cypher_eq(a, b).into()
}

/// `a <> b`.
#[must_use]
pub fn ne(a: &Value, b: &Value) -> Value {
    order::cypher_eq(a, b).map(|equal| !equal).into()
}

/// `a < b`.
#[must_use]
pub fn lt(a: &Value, b: &Value) -> Value {
    order::cypher_lt(a, b).into()
}

/// `a <= b`.
#[must_use]
pub fn le(a: &Value, b: &Value) -> Value {
    order::cypher_le(a, b).into()
}

/// `a > b`.
#[must_use]
pub fn gt(a: &Value, b: &Value) -> Value {
    order::cypher_gt(a, b).into()
}

/// `a >= b`.
#[must_use]
pub fn ge(a: &Value, b: &Value) -> Value {
    order::cypher_ge(a, b).into()
}

/// `a IS NULL`: never null itself.
#[must_use]
pub const fn is_null(a: &Value) -> Value {
    Value::Bool(a.is_null())
}

/// `a IS NOT NULL`: never null itself.
#[must_use]
pub const fn is_not_null(a: &Value) -> Value {
    Value::Bool(!a.is_null())
}

/// `element IN list`: true when an element is equal, or else null when one may be, or else false.
///
/// # Errors
///
/// `InvalidArgumentType` when `list` is neither a list nor null.
pub fn in_list(element: &Value, list: &Value) -> Result<Value, EvalError> {
    let elements = match list {
        Value::Null => return Ok(Value::Null),
        Value::List(elements) => elements,
        other => return Err(EvalError::wrong_type("a LIST after IN", &describe(other))),
    };
    let mut found = Some(false);
    for candidate in elements.iter() {
        match order::cypher_eq(element, candidate) {
            Some(true) => return Ok(Value::Bool(true)),
            Some(false) => {}
            None => found = None,
        }
    }
    Ok(found.into())
}
