//! GraphML: a file of XML with nodes, edges and their data.
//!
//! It reads the files of Neo4j's APOC, NetworkX, igraph, TinkerPop and yEd. A file that it writes
//! has the form of APOC's, with the attribute `telar.type` of a key where GraphML has no such type.

mod read;
mod write;

use telar_db::Value;
use telar_db::json::{Notation, Writer, read_scalar, read_value};
use telar_db::query::QueryError;

pub use read::read;
pub use write::write;

/// Scalars that GraphML has no type for, by the names that typed JSON gives them.
fn scalar_name(value: &Value) -> Option<&'static str> {
    Some(match value {
        Value::Date(_) => "Date",
        Value::LocalTime(_) => "LocalTime",
        Value::Time(_) => "Time",
        Value::LocalDateTime(_) => "LocalDateTime",
        Value::DateTime(_) => "DateTime",
        Value::Duration(_) => "Duration",
        Value::Point(_) => "Point",
        Value::Bytes(_) => "Base64",
        _ => return None,
    })
}

/// The value of a scalar by its name.
fn scalar(name: &str, text: &str) -> Result<Value, String> {
    match name {
        "DateTime" if text.ends_with(']') => read_scalar("ZonedDateTime", text),
        "DateTime" => read_scalar("OffsetDateTime", text),
        "Json" => read_value(Notation::Typed, text.as_bytes()),
        name => read_scalar(name, text),
    }
}

fn json(value: &Value, notation: Notation) -> Result<String, QueryError> {
    let mut bytes = Vec::new();
    Writer { notation, rows: None, begin: 0 }.value(&mut bytes, value)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// Names in the form `:Person:Author`, with those in backticks that hold a colon or a backtick.
fn labels_text<'l>(labels: impl IntoIterator<Item = &'l str>) -> String {
    let mut text = String::new();
    for label in labels {
        text.push(':');
        match label.contains([':', '`']) {
            true => text += &format!("`{}`", label.replace('`', "``")),
            false => text += label,
        }
    }
    text
}

/// The names of such a text; a text without a colon at its beginning is one name.
fn labels_of(text: &str) -> Vec<String> {
    let Some(mut rest) = text.strip_prefix(':') else {
        return if text.is_empty() { Vec::new() } else { vec![text.to_owned()] };
    };
    let mut labels = Vec::new();
    loop {
        let mut label = String::new();
        if let Some(quoted) = rest.strip_prefix('`') {
            rest = quoted;
            while let Some(end) = rest.find('`') {
                label += &rest[..end];
                rest = &rest[end + 1..];
                match rest.strip_prefix('`') {
                    Some(more) => {
                        label.push('`');
                        rest = more;
                    }
                    None => break,
                }
            }
        }
        let end = rest.find(':').unwrap_or(rest.len());
        label += &rest[..end];
        if !label.is_empty() {
            labels.push(label);
        }
        match rest[end..].strip_prefix(':') {
            Some(more) => rest = more,
            None => return labels,
        }
    }
}

#[test]
fn labels_are_read_as_they_are_written() {
    for labels in [&[][..], &["A"], &["A", "B c"], &["a:b", "x`y", "`"], &["Ä"]] {
        let text = labels_text(labels.iter().copied());
        assert_eq!(labels_of(&text), labels, "{text}");
    }
    assert_eq!(labels_of("person"), ["person"]);
}
