//! Properties and other things that are read from the graph, many at once.

use std::borrow::Cow;
use std::collections::HashMap;
use std::hash::Hash;
use std::sync::Arc;

use foldhash::fast::RandomState;
use telar_graph::column::Nullable;
use telar_graph::{
    EdgeId, Graph, LabelId, Lists, PropertyKeyId, ReadError, Value, ValueMap, VertexId,
};

use super::eval;
use crate::batch::{Batch, Column};
use crate::error::{Detail, EvalError, describe};
use crate::exec::Exec;
use crate::expr::{GraphFunction, Labels};
use crate::ops;
use crate::plan::Name;
use crate::query_error::{ErrorKind, QueryError};
use crate::result::{element_id_of_edge, element_id_of_vertex, number_of_edge};

/// Key of a property: a name in the plan, or a text that was computed.
#[derive(Clone, Copy)]
pub(crate) enum Key<'k> {
    Planned(&'k Name<PropertyKeyId>),
    Computed(&'k str),
}

impl<'k> Key<'k> {
    fn text(self) -> &'k str {
        match self {
            Self::Planned(name) => name,
            Self::Computed(text) => text,
        }
    }

    fn find(self, graph: &dyn Graph) -> Option<PropertyKeyId> {
        match self {
            Self::Planned(name) => name.find(graph),
            Self::Computed(text) => graph.find_property_key(text),
        }
    }
}

/// The property `key` of every object of a column, appended to `out`, which has no rows.
pub(crate) fn property(
    objects: &Column,
    key: Key<'_>,
    out: Column,
    cx: &Exec<'_>,
) -> Result<Column, QueryError> {
    match objects {
        Column::Vertices(all) => {
            let check = |some: &[VertexId]| cx.check_vertices(some);
            property_of_each(all, key, out, cx, check, |some, key, out| {
                cx.graph().vertex_properties(some, key, out)
            })
        }
        Column::Edges(all) => {
            let check = |some: &[EdgeId]| some.iter().try_for_each(|edge| cx.check_edge(*edge));
            property_of_each(all, key, out, cx, check, |some, key, out| {
                cx.graph().edge_properties(some, key, out)
            })
        }
        Column::Same(value, rows) => Ok(Column::Same(property_of(value, key, cx)?, *rows)),
        Column::Maps(all) => match all.column(key.text()) {
            Some(column) => Ok((**column).clone()),
            None => Ok(Column::nulls(all.len())),
        },
        _ => {
            let values = (0..objects.len()).map(|row| property_of(&objects.get(row), key, cx));
            Ok(Column::of(values.collect::<Result<_, _>>()?))
        }
    }
}

/// The property `key` of each object that is not null, unless `check` refuses one.
fn property_of_each<T: Copy + Default>(
    objects: &Nullable<T>,
    key: Key<'_>,
    mut out: Column,
    cx: &Exec<'_>,
    check: impl Fn(&[T]) -> Result<(), QueryError>,
    read: impl Fn(&[T], PropertyKeyId, &mut Column) -> Result<(), ReadError>,
) -> Result<Column, QueryError> {
    let some: Cow<'_, [T]> = match objects.full() {
        Some(all) => all.into(),
        // Null where an optional pattern found none.
        None => objects.iter().flatten().collect::<Vec<_>>().into(),
    };
    check(&some)?;
    let Some(key) = key.find(cx.graph()) else {
        return Ok(Column::nulls(objects.len()));
    };
    if !objects.has_nulls() {
        read(&some, key, &mut out)?;
        return Ok(out);
    }
    let (mut found, mut next) = (Column::default(), 0);
    read(&some, key, &mut found)?;
    for row in 0..objects.len() {
        if objects.is_null(row) {
            out.push_nulls(1);
        } else {
            out.push(found.get(next));
            next += 1;
        }
    }
    Ok(out)
}

/// As [`property`], where what the query has deleted has none: to ask for one is no error then.
pub(crate) fn property_left(
    objects: &Column,
    key: Key<'_>,
    cx: &Exec<'_>,
) -> Result<Column, QueryError> {
    if cx.deleted_vertices.is_empty() && cx.deleted_edges.is_empty() {
        return property(objects, key, Column::default(), cx);
    }
    let values = (0..objects.len()).map(|row| match objects.get(row) {
        object if cx.is_deleted(&object) => Ok(Value::Null),
        object => property_of(&object, key, cx),
    });
    Ok(Column::of(values.collect::<Result<_, _>>()?))
}

/// The property `key` of one object.
pub(crate) fn property_of(
    object: &Value,
    key: Key<'_>,
    cx: &Exec<'_>,
) -> Result<Value, QueryError> {
    let one = |object: &Column| Ok(property(object, key, Column::default(), cx)?.get(0));
    match object {
        Value::Vertex(vertex) => one(&vec![*vertex].into()),
        Value::Edge(edge) => one(&vec![**edge].into()),
        other => Ok(ops::property(other, key.text())?),
    }
}

/// Every property of a node or relationship.
pub(crate) fn properties_of(object: &Value, cx: &Exec<'_>) -> Result<ValueMap, QueryError> {
    let graph = cx.graph();
    let mut found = Lists::default();
    match object {
        Value::Vertex(vertex) => {
            cx.check_vertex(*vertex)?;
            graph.all_vertex_properties(&[*vertex], &mut found)?;
        }
        Value::Edge(edge) => {
            cx.check_edge(**edge)?;
            graph.all_edge_properties(&[**edge], &mut found)?;
        }
        Value::Map(entries) => return Ok((**entries).clone()),
        other => {
            return Err(EvalError::argument_type(
                "properties()",
                "a node, relationship or map",
                other,
            )
            .into());
        }
    }
    let names = graph.property_key_names();
    let named = |(key, value): (telar_graph::PropertyKeyId, Value)| {
        (Arc::from(&*names[usize::from(key.get())]), value)
    };
    Ok(found.items.into_iter().map(named).collect())
}

/// The same, where what the query has deleted has none.
pub(crate) fn properties_left(object: &Value, cx: &Exec<'_>) -> Result<ValueMap, QueryError> {
    if cx.is_deleted(object) { Ok(ValueMap::new()) } else { properties_of(object, cx) }
}

/// `object[key]`: an element of a list, an entry of a map, or a property.
pub(crate) fn index(object: &Value, key: &Value, cx: &Exec<'_>) -> Result<Value, QueryError> {
    match (object, key) {
        (Value::Vertex(_) | Value::Edge(_), Value::String(key)) => {
            property_of(object, Key::Computed(key), cx)
        }
        (Value::Vertex(_) | Value::Edge(_), Value::Null) => Ok(Value::Null),
        (Value::Vertex(_) | Value::Edge(_), other) => {
            let message = format!("a property key must be a STRING, found {}", other.type_name());
            Err(EvalError::new(Detail::MapElementAccessByNonString, message).into())
        }
        _ => Ok(ops::index(object, key)?),
    }
}

fn type_name(edge: EdgeId, cx: &Exec<'_>) -> Value {
    let names = cx.graph().edge_type_names();
    names.get(usize::from(edge.ty.get())).map_or(Value::Null, |name| Value::from(name.as_str()))
}

/// The list for a set of names, which is the same value for all objects that have it.
fn shared_list<K: Eq + Hash + Clone>(
    known: &mut HashMap<Vec<K>, Value, RandomState>,
    names: &[K],
    list: impl FnOnce(&[K]) -> Value,
) -> Value {
    if let Some(known) = known.get(names) {
        return known.clone();
    }
    known.entry(names.to_vec()).or_insert_with_key(|names| list(names)).clone()
}

/// A function that asks the graph, for a column of nodes or relationships: names are asked for
/// once. `None` if it is to be asked row by row.
pub(crate) fn graph_column(
    function: GraphFunction,
    objects: &Column,
    cx: &Exec<'_>,
) -> Result<Option<Column>, QueryError> {
    let graph = cx.graph();
    let mut values = Vec::with_capacity(objects.len());
    if function == GraphFunction::NodeOfNumber {
        let Column::Ints(numbers) = objects else { return Ok(None) };
        let number = |at| numbers.get(at).and_then(|number: i64| u64::try_from(number).ok());
        let vertices: Vec<VertexId> = (0..objects.len())
            .map(|at| VertexId::from_raw(number(at).unwrap_or(u64::MAX)))
            .collect();
        let mut exist = Vec::with_capacity(vertices.len());
        graph.vertices_exist(&vertices, &mut exist)?;
        let node = |(vertex, exists)| if exists { Value::Vertex(vertex) } else { Value::Null };
        return Ok(Some(Column::of(vertices.into_iter().zip(exist).map(node).collect())));
    }
    match (function, objects.vertices(), objects.edges()) {
        (GraphFunction::Labels, Some(vertices), _) => {
            cx.check_vertices(vertices)?;
            let (names, mut known) = (graph.label_names(), HashMap::default());
            let name = |label: &LabelId| Value::from(&*names[usize::from(label.get())]);
            let mut labels = Lists::default();
            graph.labels(vertices, &mut labels)?;
            for labels in labels.iter() {
                let list = |labels: &[LabelId]| Value::list(labels.iter().map(name));
                values.push(shared_list(&mut known, labels, list));
            }
        }
        (GraphFunction::Keys, Some(vertices), _) => {
            let (names, mut known) = (graph.property_key_names(), HashMap::default());
            let mut found = Lists::default();
            // What the query has deleted has none.
            graph.all_vertex_properties(vertices, &mut found)?;
            for found in found.iter() {
                let keys: Vec<PropertyKeyId> = found.iter().map(|(key, _)| *key).collect();
                let list = |keys: &[PropertyKeyId]| {
                    let name = |key: &PropertyKeyId| &*names[usize::from(key.get())];
                    let mut keys: Vec<&str> = keys.iter().map(name).collect();
                    keys.sort_unstable();
                    Value::list(keys.into_iter().map(Value::from))
                };
                values.push(shared_list(&mut known, &keys, list));
            }
        }
        (GraphFunction::Type, _, Some(edges)) => {
            let names: Vec<Value> =
                graph.edge_type_names().iter().map(|name| Value::from(name.as_str())).collect();
            let name = |edge: &EdgeId| names.get(usize::from(edge.ty.get())).cloned();
            values.extend(edges.iter().map(|edge| name(edge).unwrap_or_default()));
        }
        _ => return Ok(None),
    }
    Ok(Some(Column::of(values)))
}

/// A function that asks the graph, for one row's arguments.
pub(crate) fn graph_function(
    function: GraphFunction,
    arguments: &[Value],
    cx: &Exec<'_>,
) -> Result<Value, QueryError> {
    let Some(object) = arguments.first() else { return Ok(Value::Null) };
    let refuse = |name: &str, expected: &str| {
        let message = format!("{name} expects {expected}, found {}", describe(object));
        Err(EvalError::argument_value(message).of_kind(ErrorKind::Type).into())
    };
    if object.is_null() {
        return Ok(Value::Null);
    }
    match (function, object) {
        (GraphFunction::Apoc(at), _) => super::apoc::call(at, arguments, cx),
        (GraphFunction::Id, Value::Vertex(vertex)) => Ok(Value::Int(vertex.get() as i64)),
        (GraphFunction::Id, Value::Edge(edge)) => Ok(Value::Int(number_of_edge(edge))),
        (GraphFunction::Id, _) => refuse("id()", "a node or relationship"),
        (GraphFunction::ElementId, Value::Vertex(vertex)) => {
            Ok(element_id_of_vertex(*vertex).into())
        }
        (GraphFunction::ElementId, Value::Edge(edge)) => Ok(element_id_of_edge(edge).into()),
        (GraphFunction::ElementId, _) => refuse("elementId()", "a node or relationship"),
        (GraphFunction::Labels, Value::Vertex(vertex)) => {
            cx.check_vertex(*vertex)?;
            let names = cx.graph().label_names();
            let mut labels = Lists::default();
            cx.graph().labels(&[*vertex], &mut labels)?;
            Ok(Value::list(labels.of(0).iter().map(|l| Value::from(&*names[usize::from(l.get())]))))
        }
        (GraphFunction::Labels, _) => refuse("labels()", "a node"),
        (GraphFunction::Type, Value::Edge(edge)) => Ok(type_name(**edge, cx)),
        (GraphFunction::Type, _) => refuse("type()", "a relationship"),
        // Of a relationship that the query has deleted they are an error, as in Neo4j.
        (GraphFunction::Properties | GraphFunction::Keys, Value::Edge(edge)) => {
            cx.check_edge(**edge)?;
            let properties = properties_of(object, cx)?;
            Ok(match function {
                GraphFunction::Keys => Value::list(properties.into_keys().map(Value::from)),
                _ => Value::Map(Arc::new(properties)),
            })
        }
        (GraphFunction::Properties, _) => Ok(Value::Map(Arc::new(properties_left(object, cx)?))),
        (GraphFunction::Keys, Value::Vertex(_) | Value::Map(_)) => {
            Ok(Value::list(properties_left(object, cx)?.into_keys().map(Value::from)))
        }
        (GraphFunction::Keys, _) => refuse("keys()", "a node, relationship or map"),
        (GraphFunction::StartNode, Value::Edge(edge)) => Ok(Value::Vertex(edge.src)),
        (GraphFunction::StartNode, _) => refuse("startNode()", "a relationship"),
        (GraphFunction::EndNode, Value::Edge(edge)) => Ok(Value::Vertex(edge.dst)),
        (GraphFunction::EndNode, _) => refuse("endNode()", "a relationship"),
        (GraphFunction::NodeOfNumber, Value::Int(number)) => {
            let vertex = VertexId::from_raw(u64::try_from(*number).unwrap_or(u64::MAX));
            let mut exists = Vec::with_capacity(1);
            cx.graph().vertices_exist(&[vertex], &mut exists)?;
            Ok(if exists == [true] { Value::Vertex(vertex) } else { Value::Null })
        }
        (GraphFunction::NodeOfNumber, _) => refuse("gds.util.asNode()", "the number of a node"),
        (GraphFunction::NodesOfNumbers, Value::List(numbers)) => {
            let numbers = Column::of(numbers.to_vec());
            match graph_column(GraphFunction::NodeOfNumber, &numbers, cx)? {
                Some(nodes) => Ok(Value::list((0..nodes.len()).map(|at| nodes.get(at)))),
                None if numbers.is_empty() => Ok(object.clone()),
                None => refuse("gds.util.asNodes()", "a list of the numbers of nodes"),
            }
        }
        (GraphFunction::NodesOfNumbers, _) => {
            refuse("gds.util.asNodes()", "a list of the numbers of nodes")
        }
    }
}

/// Whether a node has the labels, or a relationship the type, that an expression asks for.
pub(crate) fn has_labels(
    objects: &Column,
    labels: &Labels,
    batch: &Batch,
    cx: &mut Exec<'_>,
) -> Result<Column, QueryError> {
    if let Some(vertices) = objects.vertices()
        && let Some(holds) = vertices_satisfy(vertices, labels, cx)?
    {
        return Ok(Column::from(holds));
    }
    let mut values = Vec::with_capacity(objects.len());
    let (label_names, mut found) = (cx.graph().label_names(), Lists::default());
    for row in 0..objects.len() {
        let names: Vec<Value> = match objects.get(row) {
            // What the query has deleted has none.
            Value::Vertex(vertex) => {
                cx.graph().labels(&[vertex], &mut found)?;
                found
                    .of(0)
                    .iter()
                    .map(|l| Value::from(&*label_names[usize::from(l.get())]))
                    .collect()
            }
            Value::Edge(edge) if cx.deleted_edges.contains(&*edge) => Vec::new(),
            Value::Edge(edge) => vec![type_name(*edge, cx)],
            Value::Null => {
                values.push(Value::Null);
                continue;
            }
            other => {
                return Err(QueryError::wrong_type("a node or relationship", &other, "labels"));
            }
        };
        values.push(Value::Bool(satisfies(labels, &names, batch, row, cx)?));
    }
    Ok(Column::of(values))
}

/// Whether each vertex satisfies an expression whose labels are known; `None` if some are not.
fn vertices_satisfy(
    vertices: &[VertexId],
    labels: &Labels,
    cx: &Exec<'_>,
) -> Result<Option<Vec<bool>>, QueryError> {
    let graph = cx.graph();
    let mut holds = Vec::with_capacity(vertices.len());
    match labels {
        Labels::Name(name) => match name.find(graph) {
            Some(label) => graph.have_label(vertices, label, &mut holds)?,
            None => holds.resize(vertices.len(), false),
        },
        Labels::Not(inner) => {
            let Some(inner) = vertices_satisfy(vertices, inner, cx)? else { return Ok(None) };
            holds.extend(inner.into_iter().map(|holds| !holds));
        }
        Labels::And(parts) | Labels::Or(parts) => {
            let all = matches!(labels, Labels::And(_));
            holds.resize(vertices.len(), all);
            for part in parts {
                let Some(part) = vertices_satisfy(vertices, part, cx)? else { return Ok(None) };
                for (holds, part) in holds.iter_mut().zip(part) {
                    *holds = if all { *holds && part } else { *holds || part };
                }
            }
        }
        Labels::Wildcard | Labels::Dynamic(..) => return Ok(None),
    }
    Ok(Some(holds))
}

fn satisfies(
    labels: &Labels,
    names: &[Value],
    batch: &Batch,
    row: usize,
    cx: &mut Exec<'_>,
) -> Result<bool, QueryError> {
    let has = |wanted: &str| names.iter().any(|n| matches!(n, Value::String(n) if **n == *wanted));
    Ok(match labels {
        Labels::Name(name) => has(name),
        Labels::Wildcard => !names.is_empty(),
        Labels::Not(inner) => !satisfies(inner, names, batch, row, cx)?,
        Labels::And(parts) => {
            for part in parts {
                if !satisfies(part, names, batch, row, cx)? {
                    return Ok(false);
                }
            }
            true
        }
        Labels::Or(parts) => {
            for part in parts {
                if satisfies(part, names, batch, row, cx)? {
                    return Ok(true);
                }
            }
            false
        }
        Labels::Dynamic(expr, any) => match eval(expr, batch, cx)?.get(row) {
            Value::String(name) => has(&name),
            Value::List(list) => {
                let holds = |v: &Value| matches!(v, Value::String(name) if has(name));
                if *any { list.iter().any(holds) } else { list.iter().all(holds) }
            }
            other => return Err(QueryError::wrong_type("a string", &other, "a label")),
        },
    })
}
