//! Writing GraphML.
//!
//! Keys come before nodes, so the database is read twice: once for the types of its properties.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::Write;

use telar_db::Value;
use telar_db::json::{Notation, Writer};
use telar_db::query::QueryError;
use telar_db::query::files::{GraphPart, GraphWritten};

use super::labels_text;
use super::xml::{escaped, fits};
use crate::failed;

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

fn json(value: &Value, notation: Notation) -> Result<String, QueryError> {
    let mut bytes = Vec::new();
    Writer { notation, rows: None, begin: 0 }.value(&mut bytes, value)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// The type of the values of a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Kind {
    Bool,
    Int,
    Float,
    Text,
    /// A list whose elements are all of this type, as JSON.
    List(&'static str),
    /// A scalar that GraphML has not, or typed JSON.
    Own(&'static str),
}

impl Kind {
    fn of(value: &Value) -> Self {
        match value {
            Value::Bool(_) => Self::Bool,
            Value::Int(_) => Self::Int,
            Value::Float(_) => Self::Float,
            Value::String(text) if fits(text) => Self::Text,
            Value::List(items) => {
                let element = |item: &Value| match item {
                    Value::Bool(_) => Some("boolean"),
                    Value::Int(_) => Some("long"),
                    Value::Float(x) if x.is_finite() && x.fract() != 0.0 => Some("double"),
                    Value::String(text) if fits(text) => Some("string"),
                    _ => None,
                };
                let first = items.first().and_then(element);
                let same = first.filter(|_| items.iter().all(|item| element(item) == first));
                same.map_or(Self::Own("Json"), Self::List)
            }
            value => Self::Own(scalar_name(value).unwrap_or("Json")),
        }
    }

    /// The attributes of a key of this type.
    fn attributes(self) -> String {
        match self {
            Self::Bool => "attr.type=\"boolean\"".into(),
            Self::Int => "attr.type=\"long\"".into(),
            Self::Float => "attr.type=\"double\"".into(),
            Self::Text => "attr.type=\"string\"".into(),
            Self::List(of) => format!("attr.type=\"string\" attr.list=\"{of}\""),
            Self::Own(name) => format!("attr.type=\"string\" telar.type=\"{name}\""),
        }
    }

    fn text(self, value: &Value) -> Result<String, QueryError> {
        Ok(match (self, value) {
            (_, Value::String(text)) if self == Self::Text => text.to_string(),
            (_, Value::Float(x)) if x.is_infinite() => {
                if *x > 0.0 { "Infinity" } else { "-Infinity" }.to_owned()
            }
            (_, Value::Float(x)) => format!("{x:?}"),
            (Self::Own("Json"), value) => json(value, Notation::Typed)?,
            (Self::List(_), value) => json(value, Notation::Plain)?,
            (_, value) => {
                let text = json(value, Notation::Plain)?;
                let bare = text.strip_prefix('"').and_then(|text| text.strip_suffix('"'));
                bare.unwrap_or(&text).to_owned()
            }
        })
    }
}

/// Numbers of keys, by name and type.
type Keys = BTreeMap<(String, Kind), usize>;

struct Out<'w> {
    path: &'w str,
    to: &'w mut dyn Write,
    line: String,
}

impl Out<'_> {
    fn flush(&mut self) -> Result<(), QueryError> {
        let written = self.to.write_all(self.line.as_bytes());
        self.line.clear();
        written.map_err(|e| failed(self.path, e))
    }

    fn data(&mut self, keys: &Keys, of: char, name: &str, value: &Value) -> Result<(), QueryError> {
        let kind = Kind::of(value);
        let number = keys.get(&(name.to_owned(), kind)).copied().unwrap_or_default();
        let text = kind.text(value)?;
        let _ = write!(self.line, "<data key=\"{of}{number}\">");
        escaped(&mut self.line, &text);
        self.line.push_str("</data>");
        Ok(())
    }

    fn attribute(&mut self, name: &str, value: &str) -> Result<(), QueryError> {
        if !fits(value) {
            let text = format!("the name {value:?} has characters that XML cannot hold");
            return Err(failed(self.path, text));
        }
        let _ = write!(self.line, " {name}=\"");
        escaped(&mut self.line, value);
        self.line.push('"');
        Ok(())
    }
}

const HEAD: &str = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n\
    <graphml xmlns=\"http://graphml.graphdrawing.org/xmlns\" \
    xmlns:xsi=\"http://www.w3.org/2001/XMLSchema-instance\" \
    xsi:schemaLocation=\"http://graphml.graphdrawing.org/xmlns \
    http://graphml.graphdrawing.org/xmlns/1.0/graphml.xsd\">\n\
    <key id=\"labels\" for=\"node\" attr.name=\"labels\" attr.type=\"string\"/>\n\
    <key id=\"label\" for=\"edge\" attr.name=\"label\" attr.type=\"string\"/>\n";

/// Writes a graph as GraphML.
pub(super) fn write(
    to: &mut dyn Write,
    path: &str,
    part: &GraphPart<'_>,
) -> Result<GraphWritten, QueryError> {
    let (mut node_keys, mut edge_keys) = (Keys::new(), Keys::new());
    let note = |keys: &mut Keys, properties: &[(&str, Value)]| {
        for (name, value) in properties {
            let next = keys.len();
            keys.entry(((*name).to_owned(), Kind::of(value))).or_insert(next);
        }
    };
    part.nodes(|node| {
        note(&mut node_keys, &node.properties);
        Ok(())
    })?;
    part.relationships(|edge| {
        note(&mut edge_keys, &edge.properties);
        Ok(())
    })?;
    let mut out = Out { path, to, line: HEAD.to_owned() };
    for (keys, of, long) in [(&node_keys, 'n', "node"), (&edge_keys, 'e', "edge")] {
        for ((name, kind), number) in keys {
            let _ = write!(out.line, "<key id=\"{of}{number}\" for=\"{long}\"");
            out.attribute("attr.name", name)?;
            let _ = writeln!(out.line, " {}/>", kind.attributes());
        }
    }
    out.line.push_str("<graph id=\"G\" edgedefault=\"directed\">\n");
    let mut written = GraphWritten::default();
    part.nodes(|node| {
        let labels = labels_text(node.labels.iter().copied());
        let _ = write!(out.line, "<node id=\"n{}\"", node.vertex.get());
        out.attribute("labels", &labels)?;
        out.line.push_str("><data key=\"labels\">");
        escaped(&mut out.line, &labels);
        out.line.push_str("</data>");
        for (name, value) in &node.properties {
            out.data(&node_keys, 'n', name, value)?;
        }
        out.line.push_str("</node>\n");
        written.nodes += 1;
        written.properties += node.properties.len() as u64;
        out.flush()
    })?;
    part.relationships(|edge| {
        let (from, to) = (edge.edge.src.get(), edge.edge.dst.get());
        let _ = write!(
            out.line,
            "<edge id=\"e{}\" source=\"n{from}\" target=\"n{to}\"",
            written.relationships
        );
        out.attribute("label", edge.ty)?;
        out.line.push_str("><data key=\"label\">");
        escaped(&mut out.line, edge.ty);
        out.line.push_str("</data>");
        for (name, value) in &edge.properties {
            out.data(&edge_keys, 'e', name, value)?;
        }
        out.line.push_str("</edge>\n");
        written.relationships += 1;
        written.properties += edge.properties.len() as u64;
        out.flush()
    })?;
    out.line.push_str("</graph>\n</graphml>\n");
    out.flush()?;
    Ok(written)
}
