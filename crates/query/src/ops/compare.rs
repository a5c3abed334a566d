//! `=`, `<>`, `<`, `<=`, `>`, `>=`, `IN` and `IS NULL`.

use std::cmp::Ordering;

use telar_graph::Value;
use telar_graph::order as graph_order;

use crate::error::EvalError;
use crate::watch;

/// `a = b`.
#[must_use]
pub fn eq(a: &Value, b: &Value) -> Value {
    graph_order::cypher_eq(a, b).into()
}

/// `a = b`, as long as the statement goes on: long lists take long. `None` is null.
///
/// # Errors
///
/// `Terminated` and `TimedOut`.
pub fn equal(a: &Value, b: &Value) -> Result<Option<bool>, EvalError> {
    let (Value::List(a), Value::List(b)) = (a, b) else { return Ok(graph_order::cypher_eq(a, b)) };
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

/// `<`, `<=`, `>` or `>=` of two values, as long as the statement goes on: `whole` says it of
/// values that are no lists, `holds` of an order. `None` is null.
///
/// # Errors
///
/// `Terminated` and `TimedOut`.
pub fn ordered(
    a: &Value,
    b: &Value,
    whole: fn(&Value, &Value) -> Option<bool>,
    holds: fn(Ordering) -> bool,
) -> Result<Option<bool>, EvalError> {
    let (Value::List(a), Value::List(b)) = (a, b) else { return Ok(whole(a, b)) };
    // As words: the first elements that are not equal decide, or else the lengths.
    for (a, b) in a.iter().zip(b.iter()) {
        watch::work(1)?;
        match equal(a, b)? {
            Some(true) => {}
            Some(false) => return ordered(a, b, whole, holds),
            None => return Ok(None),
        }
    }
    Ok(Some(holds(a.len().cmp(&b.len()))))
}

/// The order of `ORDER BY`, as long as the statement goes on.
///
/// # Errors
///
/// `Terminated` and `TimedOut`.
pub fn order(a: &Value, b: &Value) -> Result<Ordering, EvalError> {
    let (Value::List(a), Value::List(b)) = (a, b) else { return Ok(a.cmp(b)) };
    for (a, b) in a.iter().zip(b.iter()) {
        watch::work(1)?;
        let ordering = order(a, b)?;
        if ordering.is_ne() {
            return Ok(ordering);
        }
    }
    Ok(a.len().cmp(&b.len()))
}

/// `a <> b`.
#[must_use]
pub fn ne(a: &Value, b: &Value) -> Value {
    graph_order::cypher_eq(a, b).map(|equal| !equal).into()
}

/// `a < b`.
#[must_use]
pub fn lt(a: &Value, b: &Value) -> Value {
    graph_order::cypher_lt(a, b).into()
}

/// `a <= b`.
#[must_use]
pub fn le(a: &Value, b: &Value) -> Value {
    graph_order::cypher_le(a, b).into()
}

/// `a > b`.
#[must_use]
pub fn gt(a: &Value, b: &Value) -> Value {
    graph_order::cypher_gt(a, b).into()
}

/// `a >= b`.
#[must_use]
pub fn ge(a: &Value, b: &Value) -> Value {
    graph_order::cypher_ge(a, b).into()
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
