//! Values as JSON that a model reads: short, with everything named.
//!
//! | value | JSON |
//! |---|---|
//! | node | `{"id": "n:0", "labels": [..], "properties": {..}}` |
//! | relationship | `{"id": "r:..", "type": "..", "from": "n:0", "to": "n:1", "properties": {..}}` |
//! | path | `{"nodes": [..], "relationships": [..]}` |
//! | 16 numbers or more, among them a float | `"<768 numbers: 0.12, -0.5, 0.25, ...>"` |
//! | times, points, bytes, floats that are no numbers | texts, as in plain JSON of the HTTP API |
//! | texts above 4,000 characters, lists above 200 elements | the beginning, and what is left out |

use telar_db::json::{Notation, Writer};
use telar_db::query::{QueryError, Rows, element_id_of_edge, element_id_of_vertex};
use telar_db::value::Path;
use telar_db::{EdgeId, Value, ValueMap, VertexId};

use serde_json::{Map, Value as Json, json};

/// Characters of one text.
const TEXT_MAX: usize = 4000;
/// Elements of one list.
const LIST_MAX: usize = 200;
/// Numbers from which on a list is a vector.
const VECTOR_MIN: usize = 16;
/// Numbers of a vector that are shown.
const VECTOR_SHOWN: usize = 3;

/// Encoder of values of some rows.
pub(crate) struct Encoder<'a, 'r> {
    pub(crate) rows: &'a Rows<'r>,
}

impl Encoder<'_, '_> {
    /// The JSON of a value.
    ///
    /// # Errors
    /// If the graph cannot be read, or the statement is to end.
    pub(crate) fn value(&self, value: &Value) -> Result<Json, QueryError> {
        Ok(match value {
            Value::Null => Json::Null,
            Value::Bool(x) => (*x).into(),
            Value::Int(x) => (*x).into(),
            Value::Float(x) if x.is_finite() => (*x).into(),
            Value::String(text) => clipped(text).into(),
            Value::List(list) => return self.list(list),
            Value::Map(map) => Json::Object(self.map(map)?),
            Value::Vertex(vertex) => return self.node(*vertex),
            Value::Edge(edge) => return self.relationship(edge),
            Value::Path(path) => return self.path(path),
            other => return scalar(other),
        })
    }

    fn list(&self, list: &[Value]) -> Result<Json, QueryError> {
        if let Some(vector) = vector(list) {
            return Ok(vector.into());
        }
        let shown = list.iter().take(LIST_MAX).map(|value| self.value(value));
        let mut shown: Vec<Json> = shown.collect::<Result<_, _>>()?;
        if let Some(more) = list.len().checked_sub(LIST_MAX).filter(|more| *more > 0) {
            shown.push(format!("... {more} more elements").into());
        }
        Ok(shown.into())
    }

    fn map(&self, map: &ValueMap) -> Result<Map<String, Json>, QueryError> {
        map.iter().map(|(key, value)| Ok((key.to_string(), self.value(value)?))).collect()
    }

    fn node(&self, vertex: VertexId) -> Result<Json, QueryError> {
        let node = self.rows.node(vertex)?;
        let id = element_id_of_vertex(vertex);
        let properties = self.map(&node.properties)?;
        Ok(json!({ "id": id, "labels": node.labels, "properties": properties }))
    }

    fn relationship(&self, edge: &EdgeId) -> Result<Json, QueryError> {
        let relationship = self.rows.relationship(*edge)?;
        Ok(json!({
            "id": element_id_of_edge(edge),
            "type": relationship.ty,
            "from": element_id_of_vertex(edge.src),
            "to": element_id_of_vertex(edge.dst),
            "properties": self.map(&relationship.properties)?,
        }))
    }

    fn path(&self, path: &Path) -> Result<Json, QueryError> {
        let nodes = path.vertices().iter().map(|vertex| self.node(*vertex));
        let nodes: Vec<Json> = nodes.collect::<Result<_, _>>()?;
        let relationships = path.edges().iter().map(|edge| self.relationship(edge));
        let relationships: Vec<Json> = relationships.collect::<Result<_, _>>()?;
        Ok(json!({ "nodes": nodes, "relationships": relationships }))
    }
}

/// A value without parts, as the HTTP API writes it.
fn scalar(value: &Value) -> Result<Json, QueryError> {
    let mut text = Vec::new();
    Writer { notation: Notation::Plain, rows: None, begin: 0 }.value(&mut text, value)?;
    let json = serde_json::from_slice(&text);
    Ok(match json.expect("INVARIANT: what was written is JSON") {
        Json::String(text) => clipped(&text).into(),
        json => json,
    })
}

/// The beginning of a long text, and what is left out of it.
fn clipped(text: &str) -> String {
    let Some((end, _)) = text.char_indices().nth(TEXT_MAX) else { return text.to_owned() };
    format!("{}... [{} characters]", &text[..end], text.chars().count())
}

/// The text of a list that is a vector.
fn vector(list: &[Value]) -> Option<String> {
    let is_number = |value: &Value| matches!(value, Value::Float(_) | Value::Int(_));
    let has_float = list.iter().any(|value| matches!(value, Value::Float(_)));
    if list.len() < VECTOR_MIN || !has_float || !list.iter().all(is_number) {
        return None;
    }
    let shown = list.iter().take(VECTOR_SHOWN).map(|value| match value {
        Value::Int(x) => x.to_string(),
        Value::Float(x) => x.to_string(),
        _ => String::new(),
    });
    let shown: Vec<String> = shown.collect();
    Some(format!("<{} numbers: {}, ...>", list.len(), shown.join(", ")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn vectors_and_long_texts_are_shortened() {
        let floats = |n: i32| (0..n).map(|i| Value::Float(f64::from(i) / 2.0)).collect::<Vec<_>>();
        assert_eq!(vector(&floats(768)).unwrap(), "<768 numbers: 0, 0.5, 1, ...>");
        assert_eq!(vector(&floats(15)), None);
        let ints: Vec<Value> = (0..20).map(Value::Int).collect();
        assert_eq!(vector(&ints), None, "a list of integers is data");
        let text = clipped(&"ä".repeat(5000));
        assert!(text.ends_with("ä... [5000 characters]") && text.chars().count() < 4030);
        assert_eq!(clipped("short"), "short");
        assert_eq!(scalar(&Value::Float(f64::NAN)).unwrap(), json!("NaN"));
    }
}
