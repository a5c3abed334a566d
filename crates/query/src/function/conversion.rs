//! Conversions between types.
//!
//! | Function | takes | a string it cannot read | another type |
//! |---|---|---|---|
//! | `toBoolean` | BOOLEAN, INTEGER, STRING | null | `InvalidArgumentValue` |
//! | `toInteger` | BOOLEAN, INTEGER, FLOAT, STRING | null | `InvalidArgumentValue` |
//! | `toFloat` | INTEGER, FLOAT, STRING | null | `InvalidArgumentValue` |
//! | `toString` | all but lists, maps, bytes and parts of the graph | | `InvalidArgumentValue` |
//!
//! The `…OrNull` forms yield null where these fail, and the `…List` forms convert each element so.

use telar_graph::Value;

use super::number::{parse_float, parse_int};
use super::{Eval, Function, args};
use crate::error::{EvalError, describe};
use crate::ops::display::text_of;
use crate::query_error::ErrorKind;
use crate::watch;

const fn f(
    name: &'static str,
    signature: &'static str,
    description: &'static str,
    eval: Eval,
) -> Function {
    Function::new(name, "Scalar", (1, 1), signature, description, eval)
}

pub(super) static FUNCTIONS: &[Function] = &[
    f(
        "toBoolean",
        "toBoolean(input :: BOOLEAN | STRING | INTEGER) :: BOOLEAN",
        "The boolean that the input stands for.",
        |args, _| to_boolean(&args[0]),
    ),
    f(
        "toBooleanOrNull",
        "toBooleanOrNull(input :: ANY) :: BOOLEAN",
        "The boolean that the input stands for, or null if there is none.",
        |args, _| Ok(or_null(to_boolean, &args[0])),
    ),
    f(
        "toBooleanList",
        "toBooleanList(input :: LIST<ANY>) :: LIST<BOOLEAN>",
        "The list of what toBooleanOrNull yields for each element.",
        |args, _| each("toBooleanList()", to_boolean, &args[0]),
    ),
    f(
        "toInteger",
        "toInteger(input :: BOOLEAN | STRING | INTEGER | FLOAT) :: INTEGER",
        "The integer that the input stands for, decimals dropped.",
        |args, _| to_integer(&args[0]),
    ),
    f(
        "toIntegerOrNull",
        "toIntegerOrNull(input :: ANY) :: INTEGER",
        "The integer that the input stands for, or null if there is none.",
        |args, _| Ok(or_null(to_integer, &args[0])),
    ),
    f(
        "toIntegerList",
        "toIntegerList(input :: LIST<ANY> | VECTOR) :: LIST<INTEGER>",
        "The list of what toIntegerOrNull yields for each element.",
        |args, _| numbers("toIntegerList()", to_integer, &args[0]),
    ),
    f(
        "toFloat",
        "toFloat(input :: STRING | INTEGER | FLOAT) :: FLOAT",
        "The float that the input stands for.",
        |args, _| to_float(&args[0]),
    ),
    f(
        "toFloatOrNull",
        "toFloatOrNull(input :: ANY) :: FLOAT",
        "The float that the input stands for, or null if there is none.",
        |args, _| Ok(or_null(to_float, &args[0])),
    ),
    f(
        "toFloatList",
        "toFloatList(input :: LIST<ANY> | VECTOR) :: LIST<FLOAT>",
        "The list of what toFloatOrNull yields for each element.",
        |args, _| numbers("toFloatList()", to_float, &args[0]),
    ),
    f("toString", "toString(input :: ANY) :: STRING", "The input as text.", |args, _| {
        to_string(&args[0])
    }),
    f(
        "toStringOrNull",
        "toStringOrNull(input :: ANY) :: STRING",
        "The input as text, or null if it has none.",
        |args, _| Ok(or_null(to_string, &args[0])),
    ),
    f(
        "toStringList",
        "toStringList(input :: LIST<ANY>) :: LIST<STRING>",
        "The list of what toStringOrNull yields for each element.",
        |args, _| each("toStringList()", to_string, &args[0]),
    ),
];

type Conversion = fn(&Value) -> Result<Value, EvalError>;

fn or_null(convert: Conversion, value: &Value) -> Value {
    convert(value).unwrap_or_default()
}

/// As [`each`], of the coordinates of a vector, too.
fn numbers(function: &str, convert: Conversion, input: &Value) -> Result<Value, EvalError> {
    match input {
        Value::Vector(vector) => each(function, convert, &Value::from(vector.to_values())),
        list => each(function, convert, list),
    }
}

fn each(function: &str, convert: Conversion, list: &Value) -> Result<Value, EvalError> {
    let elements = args::list(function, list)?;
    let mut converted = Vec::with_capacity(elements.len());
    for element in elements {
        // What is made of it may be as long.
        watch::work(watch::units_of(element))?;
        converted.push(or_null(convert, element));
    }
    Ok(Value::from(converted))
}

fn invalid(function: &str, expected: &str, value: &Value) -> EvalError {
    let message = format!("{function} expects {expected}, found {}", describe(value));
    EvalError::argument_value(message).of_kind(ErrorKind::Type)
}

fn to_boolean(value: &Value) -> Result<Value, EvalError> {
    Ok(match value {
        Value::Null | Value::Bool(_) => value.clone(),
        Value::Int(x) => Value::Bool(*x != 0),
        Value::String(text) => match text.trim() {
            text if text.eq_ignore_ascii_case("true") => Value::Bool(true),
            text if text.eq_ignore_ascii_case("false") => Value::Bool(false),
            _ => Value::Null,
        },
        other => return Err(invalid("toBoolean()", "a BOOLEAN, INTEGER or STRING", other)),
    })
}

/// A float beyond the integers becomes the nearest integer, NaN becomes 0: as in Java.
fn to_integer(value: &Value) -> Result<Value, EvalError> {
    Ok(match value {
        Value::Null | Value::Int(_) => value.clone(),
        Value::Bool(x) => Value::Int(i64::from(*x)),
        Value::Float(x) => Value::Int(*x as i64),
        Value::String(text) => parse_int(text)?.into(),
        other => {
            return Err(invalid("toInteger()", "a BOOLEAN, INTEGER, FLOAT or STRING", other));
        }
    })
}

fn to_float(value: &Value) -> Result<Value, EvalError> {
    Ok(match value {
        Value::Null | Value::Float(_) => value.clone(),
        Value::Int(x) => Value::Float(*x as f64),
        Value::String(text) => parse_float(text).into(),
        other => return Err(invalid("toFloat()", "an INTEGER, FLOAT or STRING", other)),
    })
}

fn to_string(value: &Value) -> Result<Value, EvalError> {
    Ok(match value {
        Value::Null | Value::String(_) => value.clone(),
        scalar => match text_of(scalar) {
            Some(text) => text.into(),
            None => return Err(invalid("toString()", "a scalar", scalar)),
        },
    })
}
