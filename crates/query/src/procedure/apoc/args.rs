//! Arguments of APOC's procedures, and the errors of what they cannot be.

use std::sync::Arc;

use telar_graph::{EdgeId, Value, ValueMap, VertexId};

use crate::procedure::{CallContext, Rows};
use crate::query_error::{ErrorKind, QueryError};

/// The error of a call that cannot be.
pub(super) fn failed(procedure: &str, message: &str) -> QueryError {
    let message = format!("{procedure}: {message}");
    QueryError::runtime(ErrorKind::ProcedureFailed, "ProcedureCallFailed", message)
}

/// A map, or an empty one for null.
pub(super) fn map(value: &Value) -> ValueMap {
    match value {
        Value::Map(entries) => (**entries).clone(),
        _ => ValueMap::new(),
    }
}

/// A text, unless it is null or empty.
pub(super) fn text<'v>(
    procedure: &str,
    what: &str,
    value: &'v Value,
) -> Result<&'v Arc<str>, QueryError> {
    match value {
        Value::String(text) if !text.is_empty() => Ok(text),
        _ => Err(failed(procedure, &format!("{what} must be a STRING that is not empty"))),
    }
}

/// A node.
pub(super) fn node(procedure: &str, what: &str, value: &Value) -> Result<VertexId, QueryError> {
    match value {
        Value::Vertex(vertex) => Ok(*vertex),
        other => {
            let found = other.type_name();
            Err(failed(procedure, &format!("{what} must be a NODE, found {found}")))
        }
    }
}

/// Names: a text, a list of texts, or nothing.
pub(super) fn names(
    procedure: &str,
    what: &str,
    value: &Value,
) -> Result<Vec<Arc<str>>, QueryError> {
    match value {
        Value::Null => Ok(Vec::new()),
        Value::List(names) => names.iter().map(|n| text(procedure, what, n).cloned()).collect(),
        name => Ok(vec![Arc::clone(text(procedure, what, name)?)]),
    }
}

/// Nodes, given as a node, a number, an element id, or a list of them; null is none.
pub(super) fn nodes(
    call: &CallContext<'_>,
    procedure: &str,
    value: &Value,
) -> Result<Vec<VertexId>, QueryError> {
    let vertex = match value {
        Value::Null => return Ok(Vec::new()),
        Value::Vertex(vertex) => return Ok(vec![*vertex]),
        Value::List(all) => {
            let mut found = Vec::with_capacity(all.len());
            for value in all.iter() {
                found.extend(nodes(call, procedure, value)?);
            }
            return Ok(found);
        }
        Value::Int(number) => u64::try_from(*number).ok(),
        Value::String(id) => id.strip_prefix("n:").unwrap_or(id).parse().ok(),
        other => {
            let message = format!(
                "expected a NODE, its id, its element id or a LIST of them, found {}",
                other.type_name()
            );
            return Err(failed(procedure, &message));
        }
    };
    let vertex = VertexId::from_raw(vertex.unwrap_or(u64::MAX));
    let mut exists = Vec::new();
    call.graph().vertices_exist(&[vertex], &mut exists)?;
    if exists != [true] {
        let shown = crate::ops::display::text_of(value).unwrap_or_default();
        let message = format!("{procedure}: there is no node with the id {shown}");
        return Err(QueryError::runtime(ErrorKind::EntityNotFound, "EntityNotFound", message));
    }
    Ok(vec![vertex])
}

/// Relationships, given as one or a list of them; null is none.
pub(super) fn edges(procedure: &str, value: &Value) -> Result<Vec<EdgeId>, QueryError> {
    match value {
        Value::Null => Ok(Vec::new()),
        Value::Edge(edge) => Ok(vec![**edge]),
        Value::List(all) => {
            let mut found = Vec::with_capacity(all.len());
            for value in all.iter() {
                found.extend(edges(procedure, value)?);
            }
            Ok(found)
        }
        other => {
            let found = other.type_name();
            let message = format!("expected a RELATIONSHIP or a LIST of them, found {found}");
            Err(failed(procedure, &message))
        }
    }
}

/// Fails if the statement has deleted the object.
pub(super) fn check_exists(
    call: &CallContext<'_>,
    procedure: &str,
    object: &Value,
) -> Result<(), QueryError> {
    if !call.is_deleted(object) {
        return Ok(());
    }
    let message = format!("{procedure}: this statement has deleted the {}", object.type_name());
    Err(QueryError::runtime(ErrorKind::EntityNotFound, "DeletedEntityAccess", message))
}

/// A relationship as a value.
pub(super) fn edge_value(edge: EdgeId) -> Value {
    Value::Edge(Arc::new(edge))
}

/// One row for each value.
pub(super) fn rows_of(values: impl IntoIterator<Item = Value>) -> Rows {
    values.into_iter().map(|value| vec![value]).collect()
}

/// A truth value of a configuration.
pub(super) fn flag(config: &ValueMap, key: &str, default: bool) -> bool {
    match config.get(key) {
        Some(Value::Bool(flag)) => *flag,
        Some(Value::String(text)) => matches!(&*text.to_lowercase(), "true" | "yes" | "1"),
        Some(Value::Int(number)) => *number != 0,
        _ => default,
    }
}

/// An integer of a configuration.
pub(super) fn integer(config: &ValueMap, key: &str, default: i64) -> i64 {
    match config.get(key) {
        Some(Value::Int(number)) => *number,
        Some(Value::Float(number)) => *number as i64,
        Some(Value::String(text)) => text.trim().parse().unwrap_or(default),
        _ => default,
    }
}

/// Every property of a node or relationship.
pub(super) fn properties(call: &CallContext<'_>, object: &Value) -> Result<ValueMap, QueryError> {
    let mut found = telar_graph::Lists::default();
    match object {
        Value::Vertex(vertex) => call.graph().all_vertex_properties(&[*vertex], &mut found)?,
        Value::Edge(edge) => call.graph().all_edge_properties(&[**edge], &mut found)?,
        _ => {}
    }
    let names = call.graph().property_key_names();
    let named = |(key, value): (telar_graph::PropertyKeyId, Value)| {
        (Arc::from(names[usize::from(key.get())].as_str()), value)
    };
    Ok(found.items.into_iter().map(named).collect())
}
