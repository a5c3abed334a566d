//! Values as JSON text, appended to bytes, nothing built in between; and values out of JSON.
//!
//! Both notations are those of Neo4j's Query API:
//!
//! | | plain | typed |
//! |---|---|---|
//! | 42 | `42` | `{"$type": "Integer", "_value": "42"}` |
//! | a date | `"2026-08-21"` | `{"$type": "Date", "_value": "2026-08-21"}` |

mod read;

use std::fmt::{self, Display};
use std::io::Write;
use std::sync::Arc;

use base64ct::{Base64, Encoding};
use telar_graph::value::{Path, Point, Vector};
use telar_graph::{EdgeId, Value, ValueMap, VertexId};
use telar_query::result::{element_id_of_edge, element_id_of_vertex};
use telar_query::{QueryError, Rows, watch};

pub use read::{read_mixed_value, read_parameters, read_scalar, read_value};

/// Notation of values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Notation {
    /// The closest JSON type.
    Plain,
    /// Objects of `$type` and `_value`.
    Typed,
}

/// Writer of values. Properties of nodes and relationships are asked of `rows`; without rows there
/// are none.
pub struct Writer<'a, 'r> {
    /// Notation of values.
    pub notation: Notation,
    /// The rows that the values are in.
    pub rows: Option<&'a Rows<'r>>,
    /// Position in the output at which the row begins: rows that become too large are refused.
    pub begin: usize,
}

impl fmt::Debug for Writer<'_, '_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Writer").field("notation", &self.notation).finish_non_exhaustive()
    }
}

/// Appends a JSON string.
///
/// # Panics
/// Never: bytes into memory cannot fail.
pub fn write_string(out: &mut Vec<u8>, text: &str) {
    serde_json::to_writer(out, text).expect("INVARIANT: text into memory cannot fail");
}

/// A JSON string of what needs no escaping.
fn write_shown(out: &mut Vec<u8>, shown: impl Display) {
    write!(out, "\"{shown}\"").expect("INVARIANT: bytes into memory cannot fail");
}

fn write_bare(out: &mut Vec<u8>, shown: impl Display) {
    write!(out, "{shown}").expect("INVARIANT: bytes into memory cannot fail");
}

/// Elements in brackets with commas between them.
fn write_list<T>(
    out: &mut Vec<u8>,
    items: impl Iterator<Item = T>,
    mut f: impl FnMut(&mut Vec<u8>, T) -> Result<(), QueryError>,
) -> Result<(), QueryError> {
    out.push(b'[');
    for (at, item) in items.enumerate() {
        if at > 0 {
            out.push(b',');
        }
        f(out, item)?;
    }
    out.push(b']');
    Ok(())
}

/// A float as Java prints it, which is what clients of Neo4j expect: `4.56`, `1.5E300`, `NaN`.
fn float_text(x: f64) -> String {
    let size = x.abs();
    if x.is_nan() {
        return "NaN".to_owned();
    }
    if x.is_infinite() {
        return if x > 0.0 { "Infinity" } else { "-Infinity" }.to_owned();
    }
    if size == 0.0 || (1e-3..1e7).contains(&size) {
        return format!("{x:?}");
    }
    let text = format!("{x:E}");
    match text.split_once('E') {
        Some((digits, exponent)) if !digits.contains('.') => format!("{digits}.0E{exponent}"),
        _ => text,
    }
}

fn point_text(point: &Point) -> String {
    let coordinates: Vec<String> = point.coordinates().iter().map(|x| float_text(*x)).collect();
    let z = if point.coordinates().len() == 3 { " Z" } else { "" };
    format!("SRID={};POINT{z} ({})", point.srid().get(), coordinates.join(" "))
}

/// The name of the type in typed JSON.
fn type_name(value: &Value) -> &'static str {
    match value {
        Value::Null => "Null",
        Value::Bool(_) => "Boolean",
        Value::Int(_) => "Integer",
        Value::Float(_) => "Float",
        Value::String(_) => "String",
        Value::Bytes(_) => "Base64",
        Value::List(_) => "List",
        Value::Map(_) => "Map",
        Value::Date(_) => "Date",
        Value::LocalTime(_) => "LocalTime",
        Value::Time(_) => "Time",
        Value::LocalDateTime(_) => "LocalDateTime",
        Value::DateTime(at) if at.zone().is_some() => "ZonedDateTime",
        Value::DateTime(_) => "OffsetDateTime",
        Value::Duration(_) => "Duration",
        Value::Point(_) => "Point",
        Value::Vector(_) => "Vector",
        Value::Vertex(_) => "Node",
        Value::Edge(_) => "Relationship",
        Value::Path(_) => "Path",
    }
}

impl Writer<'_, '_> {
    /// Appends a row: its values in brackets.
    ///
    /// # Errors
    /// If the statement is to end, if the row becomes too large, or if the graph cannot be read. A
    /// part of the row may have been written.
    pub fn row(
        &self,
        out: &mut Vec<u8>,
        rows: &Rows<'_>,
        row: usize,
        columns: usize,
    ) -> Result<(), QueryError> {
        write_list(out, 0..columns, |out, column| self.value(out, &rows.get(row, column)))
    }

    /// Appends a value.
    ///
    /// # Errors
    /// As [`row`](Self::row).
    pub fn value(&self, out: &mut Vec<u8>, value: &Value) -> Result<(), QueryError> {
        watch::wrote(watch::units_of(value), out.len() - self.begin)?;
        if self.notation == Notation::Plain {
            return self.content(out, value);
        }
        self.typed(out, type_name(value), |out| self.content(out, value))
    }

    fn typed(
        &self,
        out: &mut Vec<u8>,
        name: &str,
        content: impl FnOnce(&mut Vec<u8>) -> Result<(), QueryError>,
    ) -> Result<(), QueryError> {
        write_bare(out, format_args!("{{\"$type\":\"{name}\",\"_value\":"));
        content(out)?;
        out.push(b'}');
        Ok(())
    }

    /// The value without its type.
    fn content(&self, out: &mut Vec<u8>, value: &Value) -> Result<(), QueryError> {
        let typed = self.notation == Notation::Typed;
        match value {
            Value::Null => out.extend_from_slice(b"null"),
            Value::Bool(x) => write_bare(out, x),
            Value::Int(x) if typed => write_shown(out, x),
            Value::Int(x) => write_bare(out, x),
            Value::Float(x) if typed || !x.is_finite() => write_shown(out, float_text(*x)),
            Value::Float(x) => {
                serde_json::to_writer(out, x).expect("INVARIANT: a finite float is a number");
            }
            Value::String(text) => write_string(out, text),
            Value::Bytes(bytes) => write_shown(out, Base64::encode_string(bytes)),
            Value::List(list) => {
                return write_list(out, list.iter(), |out, value| self.value(out, value));
            }
            Value::Map(map) => return self.map(out, map),
            Value::Date(x) => write_shown(out, x),
            Value::LocalTime(x) => write_shown(out, x),
            Value::Time(x) => write_shown(out, x),
            Value::LocalDateTime(x) => write_shown(out, x),
            Value::DateTime(x) => write_shown(out, x),
            Value::Duration(x) => write_shown(out, x),
            Value::Point(point) => write_shown(out, point_text(point)),
            Value::Vector(vector) => return self.vector(out, vector),
            Value::Vertex(vertex) => return self.node(out, *vertex),
            Value::Edge(edge) => return self.relationship(out, edge),
            Value::Path(path) => return self.path(out, path),
        }
        Ok(())
    }

    /// Its coordinates; typed as texts beside their type.
    fn vector(&self, out: &mut Vec<u8>, vector: &Vector) -> Result<(), QueryError> {
        let typed = self.notation == Notation::Typed;
        if typed {
            let ty = vector.coordinate_type();
            write_bare(out, format_args!("{{\"coordinatesType\":\"{ty}\",\"coordinates\":"));
        }
        let coordinates = vector.to_values();
        write_list(out, coordinates.iter(), |out, value| self.content(out, value))?;
        if typed {
            out.push(b'}');
        }
        Ok(())
    }

    fn map(&self, out: &mut Vec<u8>, map: &ValueMap) -> Result<(), QueryError> {
        out.push(b'{');
        for (at, (key, value)) in map.iter().enumerate() {
            if at > 0 {
                out.push(b',');
            }
            write_string(out, key);
            out.push(b':');
            self.value(out, value)?;
        }
        out.push(b'}');
        Ok(())
    }

    /// The names of the fields of nodes and relationships differ between the notations.
    fn field(&self, plain: &'static str, typed: &'static str) -> &'static str {
        if self.notation == Notation::Plain { plain } else { typed }
    }

    fn node(&self, out: &mut Vec<u8>, vertex: VertexId) -> Result<(), QueryError> {
        let node = self.rows.map(|rows| rows.node(vertex)).transpose()?.unwrap_or_default();
        let (id, labels) =
            (self.field("elementId", "_element_id"), self.field("labels", "_labels"));
        let properties = self.field("properties", "_properties");
        let element_id = element_id_of_vertex(vertex);
        write_bare(out, format_args!("{{\"{id}\":\"{element_id}\",\"{labels}\":"));
        write_list(out, node.labels.iter(), |out, label| {
            write_string(out, label);
            Ok(())
        })?;
        write_bare(out, format_args!(",\"{properties}\":"));
        self.map(out, &node.properties)?;
        out.push(b'}');
        Ok(())
    }

    fn relationship(&self, out: &mut Vec<u8>, edge: &EdgeId) -> Result<(), QueryError> {
        let relationship =
            self.rows.map(|rows| rows.relationship(*edge)).transpose()?.unwrap_or_default();
        let ids = [
            (self.field("elementId", "_element_id"), element_id_of_edge(edge)),
            (
                self.field("startNodeElementId", "_start_node_element_id"),
                element_id_of_vertex(edge.src),
            ),
            (
                self.field("endNodeElementId", "_end_node_element_id"),
                element_id_of_vertex(edge.dst),
            ),
        ];
        out.push(b'{');
        for (name, id) in ids {
            write_bare(out, format_args!("\"{name}\":\"{id}\","));
        }
        write_bare(out, format_args!("\"{}\":", self.field("type", "_type")));
        write_string(out, &relationship.ty);
        write_bare(out, format_args!(",\"{}\":", self.field("properties", "_properties")));
        self.map(out, &relationship.properties)?;
        out.push(b'}');
        Ok(())
    }

    /// Nodes and relationships in turn.
    fn path(&self, out: &mut Vec<u8>, path: &Path) -> Result<(), QueryError> {
        out.push(b'[');
        let mut edges = path.edges().iter();
        for (at, vertex) in path.vertices().iter().enumerate() {
            if at > 0 {
                out.push(b',');
            }
            self.value(out, &Value::Vertex(*vertex))?;
            if let Some(edge) = edges.next() {
                out.push(b',');
                self.value(out, &Value::Edge(Arc::new(*edge)))?;
            }
        }
        out.push(b']');
        Ok(())
    }
}

#[test]
fn floats_are_printed_as_java_does() {
    let cases = [
        (0.0, "0.0"),
        (-0.0, "-0.0"),
        (0.001, "0.001"),
        (0.0009, "9.0E-4"),
        (9_999_999.0, "9999999.0"),
        (1e7, "1.0E7"),
        (1.5e300, "1.5E300"),
        (f64::NAN, "NaN"),
        (f64::INFINITY, "Infinity"),
        (f64::NEG_INFINITY, "-Infinity"),
    ];
    for (x, text) in cases {
        assert_eq!(float_text(x), text);
    }
}
