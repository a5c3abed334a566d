//! Values as texts: what `toString()` yields, and `+` beside a string.

use telar_graph::Value;

/// A float as `toString` writes it: the fewest digits that read back as the same float, with a
/// decimal point, and an exponent when it is below 10^-3 or from 10^7 on.
pub(crate) fn text_of_float(x: f64) -> String {
    if x.is_nan() {
        return "NaN".to_owned();
    }
    if x.is_infinite() {
        return if x > 0.0 { "Infinity" } else { "-Infinity" }.to_owned();
    }
    if x == 0.0 || (1e-3..1e7).contains(&x.abs()) {
        return format!("{x:?}");
    }
    let text = format!("{x:e}");
    match text.split_once('e') {
        Some((digits, exponent)) if digits.contains('.') => format!("{digits}E{exponent}"),
        Some((digits, exponent)) => format!("{digits}.0E{exponent}"),
        None => text,
    }
}

/// The text of a value that is neither null, a list, a map nor a part of the graph: what
/// `toString()` yields, and what `+` puts beside a string. Times have their seconds, even if they
/// are none.
pub(crate) fn text_of(value: &Value) -> Option<String> {
    Some(match value {
        Value::String(x) => x.to_string(),
        Value::Bool(x) => x.to_string(),
        Value::Int(x) => x.to_string(),
        Value::Float(x) => text_of_float(*x),
        Value::Date(x) => x.to_string(),
        Value::LocalTime(x) => format!("{x:#}"),
        Value::Time(x) => format!("{x:#}"),
        Value::LocalDateTime(x) => format!("{x:#}"),
        Value::DateTime(x) => format!("{x:#}"),
        Value::Duration(x) => x.to_string(),
        Value::Point(x) => x.to_string(),
        _ => return None,
    })
}
