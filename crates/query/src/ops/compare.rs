//! `=`, `<>`, `<`, `<=`, `>`, `>=`, `IN` and `IS NULL`.

use telar_graph::{Value, order};

use crate::error::EvalError;
use crate::watch;

/// `a = b`.
#[must_use]
pub fn eq(a: &Value, b: &Value) -> Value {
    order::cypher_eq(a, b).into()
}

/// `a = b`, as long as the statement goes on: long lists take long. `None` is null.
///
/// # Errors
///
/// `Terminated` and `TimedOut`.
pub fn equal(a: &Value, b: &Value) -> Result<Option<bool>, EvalError> {
    let (Value::List(a), Value::List(b)) = (a, b) else { return Ok(order::cypher_eq(a, b)) };
    if a.len() != b.len() {
        return Ok(Some(false));
    }
    // False before null before true, as in the order itself.
    let mut result = Some(true);
    for (a, b) in a.iter().zip(b.iter()) {
        watch::work(1)?;
        match equal(a, b)? {
            Some(false) => return Ok(Some(false)),
            None => result = None,
            Some(true) => {}
        }
    }
    Ok(result)
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
/// What is no list counts as a list of one element.
///
/// # Errors
///
/// `Terminated` and `TimedOut`: long lists take long.
pub fn in_list(element: &Value, list: &Value) -> Result<Value, EvalError> {
    let elements = match list {
        Value::Null => return Ok(Value::Null),
        Value::List(elements) => elements,
        single => std::slice::from_ref(single),
    };
    let mut found = Some(false);
    for candidate in elements.iter() {
        watch::work(1)?;
        match equal(element, candidate)? {
            Some(true) => return Ok(Value::Bool(true)),
            Some(false) => {}
            None => found = None,
        }
    }
    Ok(found.into())
}
