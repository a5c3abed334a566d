//! Functions that clients know from APOC, with its names and arguments.
//!
//! Functions that read the graph, such as `apoc.node.degree`, are expressions made of others
//! (`bind/apoc.rs`).

mod coll;
pub(crate) mod convert;
mod date;
pub(crate) mod format;
pub(crate) mod graph;
pub(crate) mod json;
mod map;
mod text;

use telar_graph::Value;

use super::{Function, args};
use crate::error::EvalError;

pub(super) fn all() -> [&'static [Function]; 5] {
    [coll::FUNCTIONS, convert::FUNCTIONS, date::FUNCTIONS, map::FUNCTIONS, text::FUNCTIONS]
}

/// A list, or no elements for null or an argument that was left out.
fn list_or_empty<'a>(function: &str, value: Option<&'a Value>) -> Result<&'a [Value], EvalError> {
    match value {
        None | Some(Value::Null) => Ok(&[]),
        Some(value) => args::list(function, value),
    }
}

/// A truth value, or `default` for null or an argument that was left out.
fn flag(value: Option<&Value>, default: bool) -> bool {
    match value {
        Some(Value::Bool(flag)) => *flag,
        _ => default,
    }
}

/// An integer, or `default` for null or an argument that was left out.
fn int_or(function: &str, value: Option<&Value>, default: i64) -> Result<i64, EvalError> {
    match value {
        None | Some(Value::Null) => Ok(default),
        Some(value) => args::int(function, value),
    }
}

/// A text, or `default` for null or an argument that was left out.
fn text_or<'a>(
    function: &str,
    value: Option<&'a Value>,
    default: &'a str,
) -> Result<&'a str, EvalError> {
    match value {
        None | Some(Value::Null) => Ok(default),
        Some(value) => args::text(function, value),
    }
}
