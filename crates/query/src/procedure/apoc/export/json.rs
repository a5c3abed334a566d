//! JSON as APOC writes it: an object for each node, relationship or row.

use std::sync::Arc;

use telar_graph::{EdgeId, Value, ValueMap};

use super::super::args::{failed, flag};
use super::target::Target;
use crate::files::{EntityReader, GraphPart, GraphWritten, PartNode};
use crate::function::apoc::json::{write as write_plain, write_text};
use crate::query_error::QueryError;
use crate::result::number_of_edge;

#[derive(Clone, Copy, PartialEq, Eq)]
enum Form {
    Lines,
    Array,
    Json,
    IdAsKeys,
}

/// How objects stand beside each other.
pub(super) struct Style {
    form: Form,
    /// True if the ends of relationships are written with their properties.
    ends: bool,
}

impl Style {
    /// The style that a configuration asks for.
    pub(super) fn of(name: &str, config: &ValueMap) -> Result<Self, QueryError> {
        let form = match config.get("jsonFormat") {
            None | Some(Value::Null) => Form::Lines,
            Some(Value::String(text)) => match &**text {
                "JSON_LINES" => Form::Lines,
                "ARRAY_JSON" => Form::Array,
                "JSON" => Form::Json,
                "JSON_ID_AS_KEYS" => Form::IdAsKeys,
                _ => return Err(wrong_form(name)),
            },
            Some(_) => return Err(wrong_form(name)),
        };
        Ok(Self { form, ends: flag(config, "writeNodeProperties", true) })
    }

    /// Text in front of a row of a query.
    pub(super) fn row_begins(&self, row: u64) -> &'static str {
        match (self.form, row) {
            (Form::Lines, 0) => "",
            (Form::Lines, _) => "\n",
            (_, 0) => "[",
            _ => ",\n",
        }
    }

    /// Text behind the rows of a query.
    pub(super) fn row_ends(&self, rows: u64) -> &'static str {
        match (self.form, rows) {
            (Form::Lines, _) => "",
            (_, 0) => "[]",
            _ => "]",
        }
    }
}

fn wrong_form(name: &str) -> QueryError {
    let forms = "jsonFormat must be 'JSON_LINES', 'ARRAY_JSON', 'JSON' or 'JSON_ID_AS_KEYS'";
    failed(name, forms)
}

/// Labels in the form `:A:B`.
pub(super) fn labels_text(labels: &[&str]) -> String {
    labels.iter().map(|label| format!(":{label}")).collect()
}

fn write_labels<'l>(out: &mut String, labels: impl Iterator<Item = &'l str>) {
    let mut empty = true;
    for label in labels {
        out.push_str(if empty { ",\"labels\":[" } else { "," });
        empty = false;
        write_text(label, out);
    }
    if !empty {
        out.push(']');
    }
}

fn write_properties<'p>(
    out: &mut String,
    properties: impl Iterator<Item = (&'p str, &'p Value)>,
) -> Result<(), QueryError> {
    let mut empty = true;
    for (key, value) in properties {
        out.push_str(if empty { ",\"properties\":{" } else { "," });
        empty = false;
        write_text(key, out);
        out.push(':');
        write_plain(value, out)?;
    }
    if !empty {
        out.push('}');
    }
    Ok(())
}

/// Appends a value; nodes and relationships in it are described by `entities`.
pub(super) fn write_value(
    out: &mut String,
    value: &Value,
    entities: Option<&dyn EntityReader>,
) -> Result<(), QueryError> {
    match (value, entities) {
        (Value::Vertex(vertex), Some(entities)) => {
            let node = entities.node(*vertex)?;
            out.push_str(&format!("{{\"type\":\"node\",\"id\":\"{}\"", vertex.get()));
            write_labels(out, node.labels.iter().map(String::as_str));
            write_properties(out, node.properties.iter().map(|(key, value)| (&**key, value)))?;
            out.push('}');
        }
        (Value::Edge(edge), Some(entities)) => write_edge(out, **edge, entities)?,
        (Value::Path(path), Some(_)) => {
            let vertices = path.vertices().iter().map(|vertex| Value::Vertex(*vertex));
            let mut edges = path.edges().iter();
            for (at, vertex) in vertices.enumerate() {
                out.push(if at == 0 { '[' } else { ',' });
                write_value(out, &vertex, entities)?;
                if let Some(edge) = edges.next() {
                    out.push(',');
                    write_value(out, &Value::Edge(Arc::new(*edge)), entities)?;
                }
            }
            out.push(']');
        }
        (Value::List(list), Some(_)) => {
            out.push('[');
            for (at, value) in list.iter().enumerate() {
                out.push_str(if at > 0 { "," } else { "" });
                write_value(out, value, entities)?;
            }
            out.push(']');
        }
        (Value::Map(map), Some(_)) => {
            out.push('{');
            for (at, (key, value)) in map.iter().enumerate() {
                out.push_str(if at > 0 { "," } else { "" });
                write_text(key, out);
                out.push(':');
                write_value(out, value, entities)?;
            }
            out.push('}');
        }
        (value, _) => write_plain(value, out)?,
    }
    Ok(())
}

/// Appends a relationship of a result.
fn write_edge(
    out: &mut String,
    edge: EdgeId,
    entities: &dyn EntityReader,
) -> Result<(), QueryError> {
    let found = entities.relationship(edge)?;
    let properties = found.properties.iter().map(|(key, value)| (&**key, value));
    write_edge_head(out, edge, &found.ty, properties)?;
    for (name, end) in [("start", edge.src), ("end", edge.dst)] {
        let node = entities.node(end)?;
        out.push_str(&format!(",\"{name}\":{{\"id\":\"{}\"", end.get()));
        write_labels(out, node.labels.iter().map(String::as_str));
        write_properties(out, node.properties.iter().map(|(key, value)| (&**key, value)))?;
        out.push('}');
    }
    out.push('}');
    Ok(())
}

fn write_edge_head<'p>(
    out: &mut String,
    edge: EdgeId,
    ty: &str,
    properties: impl Iterator<Item = (&'p str, &'p Value)>,
) -> Result<(), QueryError> {
    let id = number_of_edge(&edge);
    out.push_str(&format!("{{\"id\":\"{id}\",\"type\":\"relationship\",\"label\":"));
    write_text(ty, out);
    write_properties(out, properties)
}

/// Appends a row of a query as an object.
pub(super) fn write_row(
    out: &mut String,
    names: &[Arc<str>],
    values: &[Value],
    entities: &dyn EntityReader,
) -> Result<(), QueryError> {
    out.push('{');
    for (at, (name, value)) in names.iter().zip(values).enumerate() {
        out.push_str(if at > 0 { "," } else { "" });
        write_text(name, out);
        out.push(':');
        write_value(out, value, Some(entities))?;
    }
    out.push('}');
    Ok(())
}

fn borrowed<'p>(properties: &'p [(&'p str, Value)]) -> impl Iterator<Item = (&'p str, &'p Value)> {
    properties.iter().map(|(key, value)| (*key, value))
}

fn write_end(
    out: &mut String,
    name: &str,
    node: &PartNode<'_>,
    all: bool,
) -> Result<(), QueryError> {
    out.push_str(&format!(",\"{name}\":{{\"id\":\"{}\"", node.vertex.get()));
    write_labels(out, node.labels.iter().copied());
    if all {
        write_properties(out, borrowed(&node.properties))?;
    }
    out.push('}');
    Ok(())
}

/// Writes an object for each node and relationship.
pub(super) fn write_part(
    target: &mut Target<'_>,
    style: &Style,
    part: &GraphPart<'_>,
) -> Result<GraphWritten, QueryError> {
    let [begin, between, end] = match style.form {
        Form::Lines => ["", "", ""],
        Form::Array => ["[", "", "]"],
        Form::Json => ["{\"nodes\":[", "],\n\"rels\":[", "]}"],
        Form::IdAsKeys => ["{\"nodes\":{", "},\n\"rels\":{", "}}"],
    };
    let separator = if style.form == Form::Lines { "\n" } else { ",\n" };
    let keyed = style.form == Form::IdAsKeys;
    target.text(begin)?;
    let (mut written, mut line, mut first) = (GraphWritten::default(), String::new(), true);
    part.nodes(|node| {
        line.push_str(if std::mem::take(&mut first) { "" } else { separator });
        let id = node.vertex.get();
        if keyed {
            line.push_str(&format!("\"{id}\":"));
        }
        line.push_str(&format!("{{\"type\":\"node\",\"id\":\"{id}\""));
        write_labels(&mut line, node.labels.iter().copied());
        write_properties(&mut line, borrowed(&node.properties))?;
        line.push('}');
        written.nodes += 1;
        written.properties += node.properties.len() as u64;
        target.take(&mut line)
    })?;
    target.text(between)?;
    first |= !between.is_empty();
    part.relationships(|found| {
        line.push_str(if std::mem::take(&mut first) { "" } else { separator });
        if keyed {
            line.push_str(&format!("\"{}\":", number_of_edge(&found.edge)));
        }
        write_edge_head(&mut line, found.edge, found.ty, borrowed(&found.properties))?;
        write_end(&mut line, "start", &part.node(found.edge.src)?, style.ends)?;
        write_end(&mut line, "end", &part.node(found.edge.dst)?, style.ends)?;
        line.push('}');
        written.relationships += 1;
        written.properties += found.properties.len() as u64;
        target.take(&mut line)
    })?;
    target.text(end)?;
    Ok(written)
}
