//! Functions that clients know from APOC and that read the graph.

use std::sync::Arc;

use telar_graph::{Direction, EdgeTypeId, Expansion, Value, VertexId};

use super::access::{graph_function, properties_left};
use crate::error::EvalError;
use crate::exec::Exec;
use crate::expr::GraphFunction;
use crate::function::apoc::json;
use crate::query_error::QueryError;

type Eval = fn(&[Value], &Exec<'_>) -> Result<Value, QueryError>;

/// The computations of the functions, in the order of their table.
static EVALS: [Eval; 10] = [
    any_properties,
    to_json,
    json_property,
    |arguments, cx| degree("apoc.node.degree()", arguments, cx, None),
    |arguments, cx| degree("apoc.node.degree.in()", arguments, cx, Some(Direction::In)),
    |arguments, cx| degree("apoc.node.degree.out()", arguments, cx, Some(Direction::Out)),
    |arguments, cx| {
        let count = degree("apoc.node.relationship.exists()", arguments, cx, None)?;
        Ok(if count.is_null() { count } else { (count != Value::Int(0)).into() })
    },
    relationship_types,
    |arguments, cx| graph_function(GraphFunction::Labels, arguments, cx),
    |arguments, cx| graph_function(GraphFunction::Type, arguments, cx),
];

/// The value of a function for these arguments; null if the first is.
pub(super) fn call(at: u8, arguments: &[Value], cx: &Exec<'_>) -> Result<Value, QueryError> {
    (EVALS[usize::from(at)])(arguments, cx)
}

fn any_properties(arguments: &[Value], cx: &Exec<'_>) -> Result<Value, QueryError> {
    let mut found = properties_left(&arguments[0], cx)?;
    if let Some(Value::List(keys)) = arguments.get(1) {
        found.retain(|key, _| keys.iter().any(|wanted| *wanted == Value::String(Arc::clone(key))));
    }
    Ok(Value::map(found))
}

/// A value in which nodes, relationships and paths are maps, with APOC's keys.
fn without_objects(value: &Value, cx: &Exec<'_>) -> Result<Value, QueryError> {
    let of = |function: GraphFunction, object: &Value| {
        graph_function(function, std::slice::from_ref(object), cx)
    };
    let id = |object: &Value| -> Result<Value, QueryError> {
        Ok(json::text_of(&of(GraphFunction::Id, object)?).into())
    };
    Ok(match value {
        Value::Vertex(_) => {
            let labels = of(GraphFunction::Labels, value)?;
            let properties = of(GraphFunction::Properties, value)?;
            let mut entries = vec![("id", id(value)?), ("type", "node".into())];
            if labels != Value::list::<Value>([]) {
                entries.push(("labels", labels));
            }
            if properties != Value::map::<&str, Value>([]) {
                entries.push(("properties", properties));
            }
            Value::map(entries)
        }
        Value::Edge(edge) => {
            let properties = of(GraphFunction::Properties, value)?;
            let mut entries = vec![
                ("id", id(value)?),
                ("type", "relationship".into()),
                ("label", of(GraphFunction::Type, value)?),
                ("start", without_objects(&Value::Vertex(edge.src), cx)?),
                ("end", without_objects(&Value::Vertex(edge.dst), cx)?),
            ];
            if properties != Value::map::<&str, Value>([]) {
                entries.push(("properties", properties));
            }
            Value::map(entries)
        }
        Value::Path(path) => {
            let mut parts = Vec::new();
            for (at, vertex) in path.vertices().iter().enumerate() {
                parts.push(without_objects(&Value::Vertex(*vertex), cx)?);
                if let Some(edge) = path.edges().get(at) {
                    parts.push(without_objects(&Value::Edge(Arc::new(*edge)), cx)?);
                }
            }
            Value::list(parts)
        }
        Value::List(list) => {
            let all: Result<Vec<Value>, _> = list.iter().map(|v| without_objects(v, cx)).collect();
            Value::list(all?)
        }
        Value::Map(map) => {
            let mut entries = Vec::with_capacity(map.len());
            for (key, value) in map.iter() {
                entries.push((Arc::clone(key), without_objects(value, cx)?));
            }
            Value::map(entries)
        }
        value => value.clone(),
    })
}

fn to_json(arguments: &[Value], cx: &Exec<'_>) -> Result<Value, QueryError> {
    let mut out = String::new();
    json::write(&without_objects(&arguments[0], cx)?, &mut out)?;
    Ok(out.into())
}

fn json_property(arguments: &[Value], cx: &Exec<'_>) -> Result<Value, QueryError> {
    let found = properties_left(&arguments[0], cx)?;
    let text = |at: usize| match arguments.get(at) {
        Some(Value::String(text)) => text,
        _ => "",
    };
    match found.get(text(1)) {
        Some(Value::String(json)) => Ok(json::at_path(json::read(json)?, text(2))?),
        _ => Ok(Value::Null),
    }
}

/// Types with their directions, as in `TYPE>|<OTHER|ANY`; all types for an empty text.
fn wanted(text: &str, cx: &Exec<'_>) -> Vec<(EdgeTypeId, Direction)> {
    let graph = cx.graph();
    let all = graph.edge_type_names().len() as u16;
    let mut found = Vec::new();
    for part in text.split('|').map(str::trim) {
        let name = part.trim_start_matches('<').trim_end_matches('>');
        let types: Vec<EdgeTypeId> = match name {
            "" => (0..all).map(EdgeTypeId::from_raw).collect(),
            name => graph.find_edge_type(name).into_iter().collect(),
        };
        let (out, into) = (part.ends_with('>'), part.starts_with('<'));
        for ty in types {
            for (direction, other) in [(Direction::Out, into), (Direction::In, out)] {
                let both = out == into;
                if (both || !other) && !found.contains(&(ty, direction)) {
                    found.push((ty, direction));
                }
            }
        }
    }
    found
}

/// The node and the types that the arguments ask for.
fn node_and_types(
    function: &str,
    arguments: &[Value],
    cx: &Exec<'_>,
) -> Result<(VertexId, Vec<(EdgeTypeId, Direction)>), QueryError> {
    let Value::Vertex(node) = &arguments[0] else {
        return Err(EvalError::argument_type(function, "a NODE", &arguments[0]).into());
    };
    cx.check_vertex(*node)?;
    let types = match arguments.get(1) {
        None | Some(Value::Null) => wanted("", cx),
        Some(Value::String(text)) => wanted(text, cx),
        Some(Value::List(names)) => {
            names.iter().flat_map(|n| wanted(&json::text_of(n), cx)).collect()
        }
        Some(other) => {
            return Err(EvalError::argument_type(function, "a STRING", other).into());
        }
    };
    Ok((*node, types))
}

/// The number of relationships; one from the node to itself counts once if both directions do.
fn degree(
    function: &str,
    arguments: &[Value],
    cx: &Exec<'_>,
    only: Option<Direction>,
) -> Result<Value, QueryError> {
    let (node, types) = node_and_types(function, arguments, cx)?;
    let mut count = 0;
    let (mut degrees, mut found) = (Vec::new(), Expansion::default());
    for (ty, direction) in &types {
        if only.is_some_and(|only| only != *direction) {
            continue;
        }
        degrees.clear();
        cx.graph().degrees(&[node], *ty, *direction, &mut degrees)?;
        count += degrees[0] as i64;
        if *direction == Direction::In && types.contains(&(*ty, Direction::Out)) && only.is_none() {
            cx.graph().expand_ids(&[node], *ty, Direction::In, &mut found)?;
            count -= found.neighbours.iter().filter(|other| **other == node).count() as i64;
        }
    }
    Ok(Value::Int(count))
}

fn relationship_types(arguments: &[Value], cx: &Exec<'_>) -> Result<Value, QueryError> {
    let (node, types) = node_and_types("apoc.node.relationship.types()", arguments, cx)?;
    let names = cx.graph().edge_type_names();
    let mut found: Vec<&str> = Vec::new();
    let mut degrees = Vec::new();
    for (ty, direction) in types {
        degrees.clear();
        cx.graph().degrees(&[node], ty, direction, &mut degrees)?;
        let name = names[usize::from(ty.get())].as_str();
        if degrees[0] > 0 && !found.contains(&name) {
            found.push(name);
        }
    }
    Ok(Value::list(found))
}
