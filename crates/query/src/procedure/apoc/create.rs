//! `apoc.create.*`: nodes, relationships, labels and properties whose names are values.

use std::sync::Arc;

use telar_graph::{Lists, Value, VertexId};

use super::args::{self, edge_value, failed, rows_of};
use super::{Entry, Mode};
use crate::procedure::{CallContext, Rows};
use crate::query_error::QueryError;

const W: Mode = Mode::Write;

pub(super) const PROCEDURES: &[Entry] = &[
    (
        "apoc.create.node",
        W,
        "labels LIST<STRING>; props MAP",
        "node NODE",
        "Creates a node with labels and properties that are values.",
        |call, arguments| {
            let labels = args::names("apoc.create.node", "a label", &arguments[0])?;
            Ok(rows_of([node(call, &labels, &arguments[1])?]))
        },
    ),
    (
        "apoc.create.nodes",
        W,
        "labels LIST<STRING>; props LIST<MAP>",
        "node NODE",
        "Creates a node for each map of properties.",
        |call, arguments| {
            let labels = args::names("apoc.create.nodes", "a label", &arguments[0])?;
            let Value::List(all) = &arguments[1] else { return Ok(Rows::new()) };
            let made: Result<Vec<Value>, _> =
                all.iter().map(|properties| node(call, &labels, properties)).collect();
            Ok(rows_of(made?))
        },
    ),
    (
        "apoc.create.relationship",
        W,
        "from NODE; relType STRING; props MAP; to NODE",
        "rel RELATIONSHIP",
        "Creates a relationship whose type is a value.",
        relationship,
    ),
    (
        "apoc.create.addLabels",
        W,
        "nodes ANY; labels LIST<STRING>",
        "node NODE",
        "Adds labels to nodes.",
        |call, arguments| {
            let name = "apoc.create.addLabels";
            let labels = args::names(name, "a label", &arguments[1])?;
            each_node(call, name, &arguments[0], |call, node| add_labels(call, node, &labels))
        },
    ),
    (
        "apoc.create.removeLabels",
        W,
        "nodes ANY; labels LIST<STRING>",
        "node NODE",
        "Removes labels from nodes.",
        |call, arguments| {
            let name = "apoc.create.removeLabels";
            let labels = args::names(name, "a label", &arguments[1])?;
            each_node(call, name, &arguments[0], |call, node| {
                labels.iter().try_for_each(|label| {
                    call.changes()?.remove_label(node, label)?;
                    Ok(())
                })
            })
        },
    ),
    (
        "apoc.create.setLabels",
        W,
        "nodes ANY; labels LIST<STRING>",
        "node NODE",
        "Gives nodes these labels and no others.",
        |call, arguments| {
            let name = "apoc.create.setLabels";
            let labels = args::names(name, "a label", &arguments[1])?;
            each_node(call, name, &arguments[0], |call, node| {
                for label in labels_of(call, node)? {
                    if !labels.contains(&label) {
                        call.changes()?.remove_label(node, &label)?;
                    }
                }
                add_labels(call, node, &labels)
            })
        },
    ),
    (
        "apoc.create.setProperty",
        W,
        "nodes ANY; key STRING; value ANY",
        "node NODE",
        "Sets a property of nodes.",
        |call, arguments| {
            let name = "apoc.create.setProperty";
            let key = args::text(name, "a property key", &arguments[1])?;
            each_node(call, name, &arguments[0], |call, node| {
                call.changes()?.set_property(&Value::Vertex(node), key, arguments[2].clone())
            })
        },
    ),
    (
        "apoc.create.setProperties",
        W,
        "nodes ANY; keys LIST<STRING>; values LIST<ANY>",
        "node NODE",
        "Sets properties of nodes.",
        |call, arguments| {
            let name = "apoc.create.setProperties";
            let pairs = pairs(name, &arguments[1], &arguments[2])?;
            each_node(call, name, &arguments[0], |call, node| {
                set_all(call, &Value::Vertex(node), &pairs)
            })
        },
    ),
    (
        "apoc.create.setRelProperty",
        W,
        "rels ANY; key STRING; value ANY",
        "rel RELATIONSHIP",
        "Sets a property of relationships.",
        |call, arguments| {
            let name = "apoc.create.setRelProperty";
            let key = args::text(name, "a property key", &arguments[1])?;
            let pairs = [(Arc::clone(key), arguments[2].clone())];
            each_relationship(call, name, &arguments[0], &pairs)
        },
    ),
    (
        "apoc.create.setRelProperties",
        W,
        "rels ANY; keys LIST<STRING>; values LIST<ANY>",
        "rel RELATIONSHIP",
        "Sets properties of relationships.",
        |call, arguments| {
            let name = "apoc.create.setRelProperties";
            let pairs = pairs(name, &arguments[1], &arguments[2])?;
            each_relationship(call, name, &arguments[0], &pairs)
        },
    ),
    (
        "apoc.create.removeProperties",
        W,
        "nodes ANY; keys LIST<STRING>",
        "node NODE",
        "Removes properties of nodes.",
        |call, arguments| {
            let name = "apoc.create.removeProperties";
            let keys = args::names(name, "a property key", &arguments[1])?;
            let pairs: Vec<_> = keys.into_iter().map(|key| (key, Value::Null)).collect();
            each_node(call, name, &arguments[0], |call, node| {
                set_all(call, &Value::Vertex(node), &pairs)
            })
        },
    ),
    (
        "apoc.create.removeRelProperties",
        W,
        "rels ANY; keys LIST<STRING>",
        "rel RELATIONSHIP",
        "Removes properties of relationships.",
        |call, arguments| {
            let name = "apoc.create.removeRelProperties";
            let keys = args::names(name, "a property key", &arguments[1])?;
            let pairs: Vec<_> = keys.into_iter().map(|key| (key, Value::Null)).collect();
            each_relationship(call, name, &arguments[0], &pairs)
        },
    ),
];

fn node(
    call: &mut CallContext<'_>,
    labels: &[Arc<str>],
    properties: &Value,
) -> Result<Value, QueryError> {
    let labels: Vec<&str> = labels.iter().map(|label| &**label).collect();
    let made = call.changes()?.create_node(&labels, args::map(properties))?;
    Ok(Value::Vertex(made))
}

fn relationship(call: &mut CallContext<'_>, arguments: &[Value]) -> Result<Rows, QueryError> {
    let name = "apoc.create.relationship";
    for end in [&arguments[0], &arguments[3]] {
        args::check_exists(call, name, end)?;
    }
    let from = args::node(name, "the start node", &arguments[0])?;
    let to = args::node(name, "the end node", &arguments[3])?;
    let ty = args::text(name, "the relationship type", &arguments[1])?;
    let properties = args::map(&arguments[2]);
    let made = call.changes()?.create_relationship(ty, from, to, properties)?;
    Ok(rows_of([edge_value(made)]))
}

/// Changes each node of an argument, and returns them.
fn each_node(
    call: &mut CallContext<'_>,
    name: &str,
    nodes: &Value,
    change: impl Fn(&mut CallContext<'_>, VertexId) -> Result<(), QueryError>,
) -> Result<Rows, QueryError> {
    let nodes = args::nodes(call, name, nodes)?;
    for node in &nodes {
        call.check()?;
        args::check_exists(call, name, &Value::Vertex(*node))?;
        change(call, *node)?;
    }
    Ok(rows_of(nodes.into_iter().map(Value::Vertex)))
}

/// Sets properties of each relationship of an argument, and returns them.
fn each_relationship(
    call: &mut CallContext<'_>,
    name: &str,
    edges: &Value,
    pairs: &[(Arc<str>, Value)],
) -> Result<Rows, QueryError> {
    let edges = args::edges(name, edges)?;
    for edge in &edges {
        call.check()?;
        args::check_exists(call, name, &edge_value(*edge))?;
        set_all(call, &edge_value(*edge), pairs)?;
    }
    Ok(rows_of(edges.into_iter().map(edge_value)))
}

fn set_all(
    call: &mut CallContext<'_>,
    object: &Value,
    pairs: &[(Arc<str>, Value)],
) -> Result<(), QueryError> {
    let mut changes = call.changes()?;
    pairs.iter().try_for_each(|(key, value)| changes.set_property(object, key, value.clone()))
}

/// Keys with the values of the same places.
fn pairs(name: &str, keys: &Value, values: &Value) -> Result<Vec<(Arc<str>, Value)>, QueryError> {
    let keys = args::names(name, "a property key", keys)?;
    let values = match values {
        Value::List(values) => values.to_vec(),
        _ => Vec::new(),
    };
    if keys.len() != values.len() {
        let message = format!("there are {} keys and {} values", keys.len(), values.len());
        return Err(failed(name, &message));
    }
    Ok(keys.into_iter().zip(values).collect())
}

pub(super) fn add_labels(
    call: &mut CallContext<'_>,
    node: VertexId,
    labels: &[Arc<str>],
) -> Result<(), QueryError> {
    let mut changes = call.changes()?;
    labels.iter().try_for_each(|label| changes.add_label(node, label).map(drop))
}

/// Names of the labels of a node.
pub(super) fn labels_of(
    call: &CallContext<'_>,
    node: VertexId,
) -> Result<Vec<Arc<str>>, QueryError> {
    let mut labels = Lists::default();
    call.graph().labels(&[node], &mut labels)?;
    let names = call.graph().label_names();
    let name = |label: &telar_graph::LabelId| names[usize::from(label.get())].as_str().into();
    Ok(labels.items.iter().map(name).collect())
}
