//! `+`, `-`, `*`, `/`, `%`, `^` and `||`.
//!
//! | Operator | Operands | Result |
//! |---|---|---|
//! | all but `||` | two integers | INTEGER (`^`: FLOAT), or an error when it does not fit |
//! | all but `||` | a float and a number | FLOAT by IEEE 754 |
//! | `+`, `||` | two strings, two lists | the second after the first |
//! | `+` | a string and a scalar, temporal value, duration or point, either way | STRING |
//! | `+` | a list and anything but a list, in either order | the list with one element more |
//! | `+`, `-` | a temporal value and a duration (`+`: in either order) | as the temporal value |
//! | `+`, `-` | two durations | DURATION |
//! | `*`, `/` | a duration and a number (`*`: in either order) | DURATION |

use std::sync::Arc;

use telar_graph::Value;
use telar_graph::value::Duration;

use super::datetime::shift;
use super::display::text_of;
use crate::error::{Detail, EvalError, describe};
use crate::watch::sizes;

use Value::{Float, Int, List, Null, String as Text};

/// Two numbers, as what they are computed.
enum Pair {
    Ints(i64, i64),
    Floats(f64, f64),
}

fn numbers(a: &Value, b: &Value) -> Option<Pair> {
    Some(match (a, b) {
        (Int(a), Int(b)) => Pair::Ints(*a, *b),
        (Int(a), Float(b)) => Pair::Floats(*a as f64, *b),
        (Float(a), Int(b)) => Pair::Floats(*a, *b as f64),
        (Float(a), Float(b)) => Pair::Floats(*a, *b),
        _ => return None,
    })
}

/// Computes with numbers; `other` is for operands that are not both numbers, neither of them null.
#[inline]
fn arithmetic(
    a: &Value,
    b: &Value,
    ints: impl FnOnce(i64, i64) -> Result<i64, EvalError>,
    floats: impl FnOnce(f64, f64) -> f64,
    other: impl FnOnce() -> Result<Value, EvalError>,
) -> Result<Value, EvalError> {
    match numbers(a, b) {
        Some(Pair::Ints(a, b)) => ints(a, b).map(Int),
        Some(Pair::Floats(a, b)) => Ok(Float(floats(a, b))),
        None if a.is_null() || b.is_null() => Ok(Null),
        None => other(),
    }
}

/// `a + b`.
///
/// # Errors
///
/// `IntegerOverflow`; `InvalidArgumentType` for operands that cannot be added; `ResultTooLarge`.
pub fn add(a: &Value, b: &Value) -> Result<Value, EvalError> {
    arithmetic(
        a,
        b,
        |a, b| a.checked_add(b).ok_or_else(|| EvalError::overflow("an addition")),
        |a, b| a + b,
        || match (a, b) {
            (List(_), List(_)) | (Text(_), Text(_)) => concatenate(a, b),
            (List(list), element) => {
                sizes::check_element(element)?;
                join(list, std::slice::from_ref(element))
            }
            (element, List(list)) => {
                sizes::check_element(element)?;
                join(std::slice::from_ref(element), list)
            }
            (Text(text), other) => match text_of(other) {
                Some(other) => join_text(text, &other),
                None => Err(EvalError::operands("add", a, b)),
            },
            (other, Text(text)) => match text_of(other) {
                Some(other) => join_text(&other, text),
                None => Err(EvalError::operands("add", a, b)),
            },
            (Value::Duration(a), Value::Duration(b)) => Ok(a.checked_add(b)?.into()),
            (at, Value::Duration(by)) | (Value::Duration(by), at) => {
                shift(at, by).unwrap_or_else(|| Err(EvalError::operands("add", a, b)))
            }
            _ => Err(EvalError::operands("add", a, b)),
        },
    )
}

/// `a - b`.
///
/// # Errors
///
/// `IntegerOverflow`; `InvalidArgumentType` for operands that cannot be subtracted.
pub fn subtract(a: &Value, b: &Value) -> Result<Value, EvalError> {
    arithmetic(
        a,
        b,
        |a, b| a.checked_sub(b).ok_or_else(|| EvalError::overflow("a subtraction")),
        |a, b| a - b,
        || match (a, b) {
            (Value::Duration(a), Value::Duration(b)) => Ok(a.checked_sub(b)?.into()),
            (at, Value::Duration(by)) => shift(at, &by.checked_neg()?)
                .unwrap_or_else(|| Err(EvalError::operands("subtract", a, b))),
            _ => Err(EvalError::operands("subtract", a, b)),
        },
    )
}

/// `a * b`.
///
/// # Errors
///
/// `IntegerOverflow`; `InvalidArgumentType` for operands that cannot be multiplied.
pub fn multiply(a: &Value, b: &Value) -> Result<Value, EvalError> {
    arithmetic(
        a,
        b,
        |a, b| a.checked_mul(b).ok_or_else(|| EvalError::overflow("a multiplication")),
        |a, b| a * b,
        || match (a, b) {
            (Value::Duration(d), Int(by)) | (Int(by), Value::Duration(d)) => {
                Ok(d.checked_mul(*by)?.into())
            }
            (Value::Duration(d), Float(by)) | (Float(by), Value::Duration(d)) => {
                Ok(d.checked_mul_f64(*by)?.into())
            }
            _ => Err(EvalError::operands("multiply", a, b)),
        },
    )
}

/// `a / b`. Integers divide toward zero. Division by a float of zero is as IEEE 754 says, but for
/// durations; by an integer of zero it is an error, of a float, too, as in Neo4j.
///
/// # Errors
///
/// `DivisionByZero`; `IntegerOverflow`; `InvalidArgumentType`.
pub fn divide(a: &Value, b: &Value) -> Result<Value, EvalError> {
    let by_number = |d: &Duration, by: f64| {
        if by == 0.0 { Err(by_zero()) } else { Ok(d.checked_div_f64(by)?.into()) }
    };
    if let (Float(_), Int(0)) = (a, b) {
        return Err(by_zero());
    }
    arithmetic(
        a,
        b,
        |a, b| match b {
            0 => Err(by_zero()),
            _ => a.checked_div(b).ok_or_else(|| EvalError::overflow("a division")),
        },
        |a, b| a / b,
        || match (a, b) {
            (Value::Duration(d), Int(by)) => by_number(d, *by as f64),
            (Value::Duration(d), Float(by)) => by_number(d, *by),
            _ => Err(EvalError::operands("divide", a, b)),
        },
    )
}

/// `a % b`: what division toward zero leaves, with the sign of `a`.
///
/// # Errors
///
/// `DivisionByZero` of an integer; `InvalidArgumentType` for operands that are not numbers.
pub fn modulo(a: &Value, b: &Value) -> Result<Value, EvalError> {
    arithmetic(
        a,
        b,
        // The remainder of the smallest integer by -1 is 0, whatever its quotient.
        |a, b| if b == 0 { Err(by_zero()) } else { Ok(a.wrapping_rem(b)) },
        |a, b| a % b,
        || Err(EvalError::operands("take the remainder of", a, b)),
    )
}

/// `a ^ b`, always a float.
///
/// # Errors
///
/// `InvalidArgumentType` for operands that are not numbers.
pub fn power(a: &Value, b: &Value) -> Result<Value, EvalError> {
    match numbers(a, b) {
        Some(Pair::Ints(a, b)) => Ok(Float((a as f64).powf(b as f64))),
        Some(Pair::Floats(a, b)) => Ok(Float(a.powf(b))),
        None if a.is_null() || b.is_null() => Ok(Null),
        None => Err(EvalError::operands("raise to a power", a, b)),
    }
}

/// `-a` of a number or a duration.
///
/// # Errors
///
/// `IntegerOverflow`; `InvalidArgumentType` when `a` is something else.
pub fn negate(a: &Value) -> Result<Value, EvalError> {
    match a {
        Null => Ok(Null),
        Int(x) => x.checked_neg().map(Int).ok_or_else(|| EvalError::overflow("a negation")),
        Float(x) => Ok(Float(-x)),
        Value::Duration(x) => Ok(x.checked_neg()?.into()),
        other => Err(EvalError::wrong_type("a number after -", &describe(other))),
    }
}

/// `+a` of a number or a duration: itself.
///
/// # Errors
///
/// `InvalidArgumentType` when `a` is something else.
pub fn positive(a: &Value) -> Result<Value, EvalError> {
    match a {
        Null | Int(_) | Float(_) | Value::Duration(_) => Ok(a.clone()),
        other => Err(EvalError::wrong_type("a number after +", &describe(other))),
    }
}

/// `a || b`: two strings or two lists, one after the other.
///
/// # Errors
///
/// `InvalidArgumentType` for other operands; `ResultTooLarge`.
pub fn concatenate(a: &Value, b: &Value) -> Result<Value, EvalError> {
    match (a, b) {
        (Null, _) | (_, Null) => Ok(Null),
        (List(a), List(b)) => join(a, b),
        (Text(a), Text(b)) => join_text(a, b),
        _ => Err(EvalError::operands("concatenate", a, b)),
    }
}

fn join(a: &[Value], b: &[Value]) -> Result<Value, EvalError> {
    sizes::check_list("the list", a.len().saturating_add(b.len()))?;
    Ok(List(a.iter().chain(b).cloned().collect()))
}

fn join_text(a: &str, b: &str) -> Result<Value, EvalError> {
    sizes::check_string("the string", a.len().saturating_add(b.len()))?;
    let mut joined = String::with_capacity(a.len() + b.len());
    joined.push_str(a);
    joined.push_str(b);
    Ok(Text(Arc::from(joined)))
}

fn by_zero() -> EvalError {
    EvalError::new(Detail::DivisionByZero, "/ by zero")
}
