//! Values as Cypher writes them, nodes and relationships with what they hold.

use std::fmt::Write;

use serde_json::{Map, Value as Json, json};
use telar_db::query::Entities;
use telar_db::value::Path;
use telar_db::{EdgeId, Value, ValueMap, VertexId};

/// A value on one line: `(:Person {name: 'Ada'})`, `[1, 2.0]`.
pub(crate) fn show(value: &Value, entities: &Entities) -> String {
    let mut out = String::new();
    write_value(value, entities, &mut out);
    out
}

fn write_value(value: &Value, entities: &Entities, out: &mut String) {
    match value {
        Value::String(text) => quoted(text, out),
        Value::List(list) => {
            out.push('[');
            for (at, element) in list.iter().enumerate() {
                out.push_str(if at > 0 { ", " } else { "" });
                write_value(element, entities, out);
            }
            out.push(']');
        }
        Value::Map(entries) => write_map(entries, entities, out),
        Value::Vertex(vertex) => write_node(*vertex, entities, out),
        Value::Edge(edge) => write_relationship(edge, entities, out),
        Value::Path(path) => write_path(path, entities, out),
        other => out.push_str(&plain(other)),
    }
}

/// A value without parts and quotes.
pub(crate) fn plain(value: &Value) -> String {
    match value {
        Value::Null => "null".into(),
        Value::Bool(b) => b.to_string(),
        Value::Int(n) => n.to_string(),
        Value::Float(x) if x.is_nan() => "NaN".into(),
        Value::Float(x) if x.is_infinite() => {
            if *x > 0.0 { "Infinity" } else { "-Infinity" }.into()
        }
        Value::Float(x) => format!("{x:?}"),
        Value::String(text) => text.to_string(),
        Value::Date(x) => x.to_string(),
        Value::LocalTime(x) => x.to_string(),
        Value::Time(x) => x.to_string(),
        Value::LocalDateTime(x) => x.to_string(),
        Value::DateTime(x) => x.to_string(),
        Value::Duration(x) => x.to_string(),
        Value::Vector(x) => x.to_string(),
        Value::Point(x) => {
            let coordinates: Vec<String> =
                x.coordinates().iter().map(|c| format!("{c:?}")).collect();
            format!(
                "point({{srid: {}, coordinates: [{}]}})",
                x.srid().get(),
                coordinates.join(", ")
            )
        }
        Value::Bytes(bytes) => {
            let hex: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
            format!("0x{hex}")
        }
        other => show(other, &Entities::default()),
    }
}

/// A name, without what would end the line or control a terminal.
pub(crate) fn one_line(name: &str) -> String {
    name.chars().map(|c| if c.is_control() { '\u{fffd}' } else { c }).collect()
}

fn quoted(text: &str, out: &mut String) {
    out.push('\'');
    for c in text.chars() {
        match c {
            '\'' => out.push_str("\\'"),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\t' => out.push_str("\\t"),
            '\r' => out.push_str("\\r"),
            // A terminal would do what it says.
            c if c.is_control() => _ = write!(out, "\\u{:04x}", u32::from(c)),
            c => out.push(c),
        }
    }
    out.push('\'');
}

fn write_map(entries: &ValueMap, entities: &Entities, out: &mut String) {
    out.push('{');
    for (at, (key, value)) in entries.iter().enumerate() {
        let _ = write!(out, "{}{key}: ", if at > 0 { ", " } else { "" });
        write_value(value, entities, out);
    }
    out.push('}');
}

fn write_node(vertex: VertexId, entities: &Entities, out: &mut String) {
    out.push('(');
    if let Some(node) = entities.nodes.get(&vertex) {
        for label in &node.labels {
            let _ = write!(out, ":{label}");
        }
        if !node.properties.is_empty() {
            out.push_str(if node.labels.is_empty() { "" } else { " " });
            write_map(&node.properties, entities, out);
        }
    }
    out.push(')');
}

fn write_relationship(edge: &EdgeId, entities: &Entities, out: &mut String) {
    out.push('[');
    if let Some(relationship) = entities.relationships.get(edge) {
        let _ = write!(out, ":{}", relationship.ty);
        if !relationship.properties.is_empty() {
            out.push(' ');
            write_map(&relationship.properties, entities, out);
        }
    }
    out.push(']');
}

fn write_path(path: &Path, entities: &Entities, out: &mut String) {
    write_node(path.vertices()[0], entities, out);
    for (edge, pair) in path.edges().iter().zip(path.vertices().windows(2)) {
        let forward = edge.src == pair[0];
        out.push_str(if forward { "-" } else { "<-" });
        write_relationship(edge, entities, out);
        out.push_str(if forward { "->" } else { "-" });
        write_node(pair[1], entities, out);
    }
}

/// A value as JSON; what JSON has no type for is text.
pub(crate) fn json(value: &Value, entities: &Entities) -> Json {
    match value {
        Value::Null => Json::Null,
        Value::Bool(b) => json!(b),
        Value::Int(n) => json!(n),
        Value::Float(x) if x.is_finite() => json!(x),
        Value::List(list) => list.iter().map(|element| json(element, entities)).collect(),
        Value::Map(entries) => json_map(entries, entities),
        Value::Vertex(vertex) => {
            let node = entities.nodes.get(vertex).cloned().unwrap_or_default();
            let properties = json_map(&node.properties, entities);
            json!({ "id": vertex.get(), "labels": node.labels, "properties": properties })
        }
        Value::Edge(edge) => {
            let relationship = entities.relationships.get(edge).cloned().unwrap_or_default();
            let properties = json_map(&relationship.properties, entities);
            json!({
                "type": relationship.ty,
                "start": edge.src.get(),
                "end": edge.dst.get(),
                "properties": properties,
            })
        }
        Value::Path(path) => {
            let nodes = path.vertices().iter().map(|v| json(&Value::Vertex(*v), entities));
            let edges = path.edges().iter().map(|e| json(&Value::from(*e), entities));
            json!({ "nodes": nodes.collect::<Vec<_>>(), "relationships": edges.collect::<Vec<_>>() })
        }
        other => json!(plain(other)),
    }
}

fn json_map(entries: &ValueMap, entities: &Entities) -> Json {
    let entry =
        |(key, value): (&std::sync::Arc<str>, &Value)| (key.to_string(), json(value, entities));
    Json::Object(entries.iter().map(entry).collect::<Map<_, _>>())
}
