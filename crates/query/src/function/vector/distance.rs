//! `vector_distance()` and `vector_norm()`, by metrics.

use telar_graph::column::{Column, Floats};
use telar_graph::{Value, vector};

use super::{Measure, Of, numbers};
use crate::error::EvalError;
use crate::function::args;
use crate::watch;

const DISTANCE: &str = "vector_distance()";
const NORM: &str = "vector_norm()";

const fn metric(between: fn(Floats<'_>, Of<'_>) -> Result<f64, EvalError>) -> Measure {
    Measure { function: DISTANCE, vectors_only: true, between }
}

/// The sum over the pairs of numbers of two vectors.
fn sum(a: Floats<'_>, b: &[f64], of: impl Fn(f64, f64) -> f64) -> f64 {
    match a {
        Floats::F32(a) => a.iter().zip(b).map(|(a, b)| of((*a).into(), *b)).sum(),
        Floats::F64(a) => a.iter().zip(b).map(|(a, b)| of(*a, *b)).sum(),
    }
}

/// Metrics of distance by name.
const METRICS: [(&str, Measure); 6] = [
    ("EUCLIDEAN", metric(|a, b| Ok(b.distance_squared(a).sqrt()))),
    ("EUCLIDEAN_SQUARED", metric(|a, b| Ok(b.distance_squared(a)))),
    ("MANHATTAN", metric(|a, b| Ok(sum(a, b.numbers, |a, b| (a - b).abs())))),
    (
        "COSINE",
        metric(|a, b| {
            let none = "vector_distance() by COSINE expects vectors of finite, positive length";
            let cosine = b.cosine(a).ok_or_else(|| EvalError::argument_value(none))?;
            Ok(1.0 - cosine)
        }),
    ),
    ("DOT", metric(|a, b| Ok(-vector::products(a, b.numbers).product))),
    ("HAMMING", metric(|a, b| Ok(sum(a, b.numbers, |a, b| if a == b { 0.0 } else { 1.0 })))),
];

fn measure(name: &str) -> Result<Measure, EvalError> {
    let found = METRICS.iter().find(|(known, _)| known.eq_ignore_ascii_case(name));
    found.map(|(_, measure)| *measure).ok_or_else(|| {
        let names = METRICS.map(|(name, _)| name).join(", ");
        EvalError::argument_value(format!("{DISTANCE} expects a metric, one of {names}"))
    })
}

/// `vector_distance(a, b, metric)`
pub(super) fn distance(arguments: &[Value]) -> Result<Value, EvalError> {
    let metric = measure(args::text(DISTANCE, &arguments[2])?)?;
    metric.call(&arguments[..2]).map(Value::Float)
}

/// The same of columns, if one has packed vectors and the metric is one for all rows.
pub(super) fn distance_column(
    arguments: &[&Column],
    rows: usize,
) -> Option<Result<Column, EvalError>> {
    let Column::Same(Value::String(name), _) = arguments[2] else { return None };
    match measure(name) {
        Ok(metric) => metric.column(&arguments[..2], rows),
        Err(error) => Some(Err(error)),
    }
}

/// `vector_norm(v, metric)`
pub(super) fn norm(arguments: &[Value]) -> Result<Value, EvalError> {
    let Value::Vector(of) = &arguments[0] else {
        return Err(EvalError::argument_type(NORM, "a VECTOR", &arguments[0]));
    };
    watch::work(of.dimension())?;
    let all = numbers(NORM, &arguments[0])?;
    match args::text(NORM, &arguments[1])?.to_ascii_uppercase().as_str() {
        "EUCLIDEAN" => Ok(vector::products(Floats::F64(&all), &all).square.sqrt().into()),
        "MANHATTAN" => Ok(all.iter().map(|x| x.abs()).sum::<f64>().into()),
        _ => {
            let message = format!("{NORM} expects a metric, one of EUCLIDEAN, MANHATTAN");
            Err(EvalError::argument_value(message))
        }
    }
}
