//! Cypher's three-valued `=`, `<`, `<=`, `>` and `>=`.

use std::cmp::Ordering;

use super::OrderRank;
use crate::value::Value;

/// Outcome of comparing two values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Comparison {
    /// The values are comparable and this is how.
    Ordered(Ordering),
    /// Numbers of which one is NaN, or maps that hold it: every one of `<`, `<=`, `>`, `>=` is
    /// false.
    NotANumber,
    /// Null is involved, or the types are not comparable: every operator yields null.
    Unknown,
}

/// What `a = b` yields; `None` is null.
///
/// Values of different types are not equal, but numbers are equal as numbers. NaN equals nothing.
/// Lists and maps are unequal as soon as one element is, and unknown when otherwise one is unknown.
#[must_use]
pub fn cypher_eq(a: &Value, b: &Value) -> Option<bool> {
    match (a, b) {
        (Value::Null, _) | (_, Value::Null) => None,
        (Value::Float(x), Value::Float(y)) => Some(x == y),
        (Value::Float(x), Value::Int(_)) | (Value::Int(_), Value::Float(x)) if x.is_nan() => {
            Some(false)
        }
        (Value::List(a), Value::List(b)) => {
            if a.len() != b.len() {
                return Some(false);
            }
            all_equal(a.iter().zip(b.iter()))
        }
        (Value::Map(a), Value::Map(b)) => {
            if a.len() != b.len() || a.keys().ne(b.keys()) {
                return Some(false);
            }
            all_equal(a.values().zip(b.values()))
        }
        _ => Some(a == b),
    }
}

/// The conjunction of equalities, false before null before true.
fn all_equal<'a>(pairs: impl Iterator<Item = (&'a Value, &'a Value)>) -> Option<bool> {
    let mut equal = Some(true);
    for (a, b) in pairs {
        match cypher_eq(a, b) {
            Some(false) => return Some(false),
            None => equal = None,
            Some(true) => {}
        }
    }
    equal
}

/// How `a` compares to `b`; `None` when they have no order.
///
/// `None` does not tell the two reasons apart: with NaN among numbers `<` is false, otherwise it is
/// null. [`cypher_lt`] and its siblings do.
#[must_use]
pub fn cypher_cmp(a: &Value, b: &Value) -> Option<Ordering> {
    match compare(a, b) {
        Comparison::Ordered(ordering) => Some(ordering),
        Comparison::NotANumber | Comparison::Unknown => None,
    }
}

/// What `a < b` yields; `None` is null.
#[must_use]
pub fn cypher_lt(a: &Value, b: &Value) -> Option<bool> {
    test(a, b, Ordering::is_lt)
}

/// What `a <= b` yields; `None` is null.
#[must_use]
pub fn cypher_le(a: &Value, b: &Value) -> Option<bool> {
    test(a, b, Ordering::is_le).or_else(|| equal_without_order(a, b))
}

/// What `a > b` yields; `None` is null.
#[must_use]
pub fn cypher_gt(a: &Value, b: &Value) -> Option<bool> {
    test(a, b, Ordering::is_gt)
}

/// What `a >= b` yields; `None` is null.
#[must_use]
pub fn cypher_ge(a: &Value, b: &Value) -> Option<bool> {
    test(a, b, Ordering::is_ge).or_else(|| equal_without_order(a, b))
}

/// Values that have no order are still neither smaller nor greater than what they are equal to:
/// `<=` and `>=` of equal durations and points hold.
fn equal_without_order(a: &Value, b: &Value) -> Option<bool> {
    cypher_eq(a, b).filter(|equal| *equal)
}

#[inline]
fn test(a: &Value, b: &Value, holds: fn(Ordering) -> bool) -> Option<bool> {
    match compare(a, b) {
        Comparison::Ordered(ordering) => Some(holds(ordering)),
        Comparison::NotANumber => Some(false),
        Comparison::Unknown => None,
    }
}

fn compare(a: &Value, b: &Value) -> Comparison {
    let rank = OrderRank::of(a);
    if rank != OrderRank::of(b) {
        return Comparison::Unknown;
    }
    match (a, b) {
        (Value::List(a), Value::List(b)) => compare_lists(a, b),
        _ if is_nan(a) || is_nan(b) => Comparison::NotANumber,
        _ => match rank {
            OrderRank::Bool
            | OrderRank::Number
            | OrderRank::String
            | OrderRank::Date
            | OrderRank::LocalTime
            | OrderRank::Time
            | OrderRank::LocalDateTime
            | OrderRank::DateTime
            | OrderRank::Vertex
            | OrderRank::Edge
            | OrderRank::Path => Comparison::Ordered(a.cmp(b)),
            OrderRank::Map => match (cypher_eq(a, b), a.cmp(b)) {
                // A null inside makes maps unknown, as it does for `=`.
                (None, _) => Comparison::Unknown,
                (Some(false), Ordering::Equal) => Comparison::NotANumber,
                (Some(_), ordering) => Comparison::Ordered(ordering),
            },
            _ => Comparison::Unknown,
        },
    }
}

/// Lists compare like words: the first elements that are not equal decide, or else the lengths.
fn compare_lists(a: &[Value], b: &[Value]) -> Comparison {
    for (a, b) in a.iter().zip(b) {
        match cypher_eq(a, b) {
            Some(true) => {}
            Some(false) => return compare(a, b),
            None => return Comparison::Unknown,
        }
    }
    Comparison::Ordered(a.len().cmp(&b.len()))
}

const fn is_nan(value: &Value) -> bool {
    matches!(value, Value::Float(x) if x.is_nan())
}
