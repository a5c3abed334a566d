//! Values and names as Cypher writes them, whole and exact.

use std::fmt::Write;

use telar_db::Value;

/// A name in backticks.
pub(super) fn name(name: &str) -> String {
    format!("`{}`", name.replace('`', "``"))
}

/// The text of a value; an error says what has none.
pub(super) fn literal(value: &Value) -> Result<String, &'static str> {
    let call = |function: &str, text: String| format!("{function}('{text}')");
    Ok(match value {
        Value::Bool(truth) => truth.to_string(),
        Value::Int(n) => n.to_string(),
        Value::Float(x) if x.is_nan() => "(0.0 / 0.0)".to_owned(),
        Value::Float(x) if x.is_infinite() => {
            if *x > 0.0 { "(1.0 / 0.0)" } else { "(-1.0 / 0.0)" }.to_owned()
        }
        Value::Float(x) => format!("{x:?}"),
        Value::String(text) => string(text),
        // Neo4j takes no other lists as properties.
        Value::List(items) => {
            let kind = |item: &Value| std::mem::discriminant(item);
            let nests = |item: &Value| matches!(item, Value::List(_) | Value::Map(_) | Value::Null);
            if items.iter().any(nests) || items.iter().any(|item| kind(item) != kind(&items[0])) {
                return Err("a list of lists, maps, nulls or values of several types");
            }
            let items = items.iter().map(literal).collect::<Result<Vec<_>, _>>()?;
            format!("[{}]", items.join(", "))
        }
        Value::Date(v) => call("date", v.to_string()),
        Value::LocalTime(v) => call("localtime", v.to_string()),
        Value::Time(v) => call("time", v.to_string()),
        Value::LocalDateTime(v) => call("localdatetime", v.to_string()),
        Value::DateTime(v) => call("datetime", v.to_string()),
        Value::Duration(v) => call("duration", v.to_string()),
        Value::Point(point) => {
            let axes = point.coordinates().iter().zip(["x", "y", "z"]);
            let axes: String = axes.map(|(at, axis)| format!(", {axis}: {at:?}")).collect();
            format!("point({{srid: {}{axes}}})", point.srid().get())
        }
        Value::Vector(v) => v.to_string(),
        Value::Bytes(_) => return Err("a byte string"),
        Value::Map(_) => return Err("a map"),
        Value::Null | Value::Vertex(_) | Value::Edge(_) | Value::Path(_) => {
            return Err("something that is no property");
        }
    })
}

fn string(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    out.push('\'');
    for character in text.chars() {
        match character {
            '\\' => out.push_str("\\\\"),
            '\'' => out.push_str("\\'"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            // Writing to a text cannot fail.
            c if c.is_control() => _ = write!(out, "\\u{:04x}", c as u32),
            c => out.push(c),
        }
    }
    out.push('\'');
    out
}
