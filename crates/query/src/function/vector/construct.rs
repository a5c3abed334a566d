//! `vector()`, which makes VECTOR values.

use telar_graph::Value;
use telar_graph::value::{CoordinateType, Vector, VectorError};

use crate::error::{Detail, EvalError};
use crate::function::args;
use crate::watch;

const NAME: &str = "vector()";

impl From<VectorError> for EvalError {
    fn from(error: VectorError) -> Self {
        let detail = match error {
            VectorError::OutOfRange { .. } => Detail::NumberOutOfRange,
            VectorError::NotANumber(_) => Detail::InvalidArgumentType,
            _ => Detail::InvalidArgumentValue,
        };
        Self::new(detail, error.to_string())
    }
}

/// A number as a vector's text has it: decimal or scientific, and nothing that is not finite.
fn number(text: &str) -> Option<Value> {
    let known = |b: u8| b.is_ascii_digit() || matches!(b, b'+' | b'-' | b'.' | b'e' | b'E');
    if !text.bytes().all(known) {
        return None;
    }
    match text.parse() {
        Ok(int) => Some(Value::Int(int)),
        Err(_) => text.parse().ok().map(Value::Float),
    }
}

/// The numbers of a text such as `[1.5, 2, 3e-1]`.
fn read(text: &str) -> Result<Vec<Value>, EvalError> {
    let invalid = || {
        let message = format!("{NAME} expects a STRING such as '[1.5, 2, 3e-1]'");
        EvalError::argument_value(message)
    };
    let inner = text.trim().strip_prefix('[').and_then(|rest| rest.strip_suffix(']'));
    let inner = inner.ok_or_else(invalid)?;
    watch::work(watch::units_of(&Value::Null) + inner.len() / 16)?;
    if inner.trim().is_empty() {
        return Ok(Vec::new());
    }
    inner.split(',').map(|text| number(text.trim()).ok_or_else(invalid)).collect()
}

/// `vector(numbers, dimension, type)`
pub(super) fn vector(arguments: &[Value]) -> Result<Value, EvalError> {
    let from_text;
    let numbers = match &arguments[0] {
        Value::List(numbers) => &**numbers,
        Value::String(text) => {
            from_text = read(text)?;
            &from_text
        }
        other => return Err(EvalError::argument_type(NAME, "a LIST or STRING", other)),
    };
    let dimension = args::int(NAME, &arguments[1])?;
    Vector::check_dimension(dimension)?;
    if numbers.len() as i64 != dimension {
        return Err(EvalError::argument_value(format!(
            "{NAME} expects as many coordinates as its dimension, which is {dimension}, found {}",
            numbers.len()
        )));
    }
    let name = args::text(NAME, &arguments[2])?;
    let ty = CoordinateType::from_name(name).ok_or_else(|| {
        let names: Vec<&str> = CoordinateType::ALL.iter().map(|ty| ty.name()).collect();
        let names = names.join(", ");
        EvalError::argument_value(format!("{NAME} expects a coordinate type, one of {names}"))
    })?;
    watch::work(numbers.len())?;
    Ok(Vector::of_values(ty, numbers)?.into())
}
