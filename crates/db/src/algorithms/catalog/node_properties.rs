//! Values of nodes of a graph with a name: those of the database, and those that `mutate` left.

use std::sync::Arc;
use std::time::Instant;

use telar_graph::{Column, Lists, Value, VertexId};
use telar_query::procedure::{Field, Mode, known};
use telar_query::{CallContext, QueryError};

use super::{Adding, Catalog, Named, configuration, settings, text};
use crate::algorithms::config::{texts, wrong};
use crate::algorithms::function::Called;
use crate::algorithms::output::{Data, OutputRows, count};
use crate::algorithms::projection::{self, Source, choose};
use crate::algorithms::selection::Selection;

/// Nodes that are written between two looks whether the statement is to end.
const BATCH: usize = 4096;

pub(super) fn add(adding: &mut Adding<'_>) {
    let labels = || Field::new("nodeLabels", "ANY").or("*");
    let more = || vec![labels(), configuration()];
    adding.add(
        "gds.graph.nodeProperty.stream",
        (&[("graphName", "STRING"), ("nodeProperties", "STRING")], more()),
        &[("nodeId", "INTEGER"), ("propertyValue", "ANY")],
        "Values of one property of the nodes of a graph.",
        stream_one,
    );
    let properties = [("graphName", "STRING"), ("nodeProperties", "ANY")];
    adding.add(
        "gds.graph.nodeProperties.stream",
        (&properties, more()),
        &[
            ("nodeId", "INTEGER"),
            ("nodeProperty", "STRING"),
            ("propertyValue", "ANY"),
            ("nodeLabels", "LIST<STRING>"),
        ],
        "Values of properties of the nodes of a graph, one to a row.",
        stream,
    );
    let columns = [
        ("writeMillis", "INTEGER"),
        ("graphName", "STRING"),
        ("nodeProperties", "LIST<ANY>"),
        ("propertiesWritten", "INTEGER"),
    ];
    adding.add_as(
        Mode::Write,
        ("gds.graph.nodeProperties.write", &properties, more(), &columns),
        "Writes values that a graph holds into the database.",
        write,
    );
    adding.add(
        "gds.graph.nodeProperties.drop",
        (&properties, vec![configuration()]),
        &[
            ("propertiesRemoved", "INTEGER"),
            ("graphName", "STRING"),
            ("nodeProperties", "LIST<STRING>"),
        ],
        "Forgets values that a graph holds.",
        forget,
    );
}

/// Nodes of a graph that have one of the labels.
fn nodes_of(
    graph: &Named,
    labels: &Value,
    call: &CallContext<'_>,
    of: &str,
) -> Result<(Selection, Arc<[VertexId]>), QueryError> {
    let mut selection = Selection::clone(&graph.selection);
    if !labels.is_null() {
        selection.narrow_labels(texts(of, "nodeLabels", labels)?, of)?;
    }
    let check = || call.check();
    let chosen = choose(&Source::of_call(call, &check), &selection, false)?;
    let nodes = chosen.nodes();
    Ok((selection, nodes))
}

/// Values of a property, which some node must have or have had.
pub(super) fn values(
    name: &str,
    (selection, nodes): (&Selection, &[VertexId]),
    call: &CallContext<'_>,
    of: &str,
) -> Result<Column, QueryError> {
    let graph = call.graph();
    let held = &selection.held;
    let is_known = held.values.contains_key(name) || held.renamed.contains_key(name);
    if !is_known && graph.find_property_key(name).is_none() {
        let known = graph.property_key_names();
        let own = held.values.keys().chain(held.renamed.keys());
        let known = known.iter().map(String::as_str).chain(own.map(|n| &**n));
        let near = telar_query::cypher::suggest::closest(name, known.filter(|n| !n.is_empty()));
        let hint = near.map(|near| format!("; did you mean {near}?")).unwrap_or_default();
        return Err(wrong(format!("{of}: no node of the graph has the property {name}{hint}")));
    }
    call.room(nodes.len() * size_of::<Value>(), of)?;
    projection::values(nodes, held, graph, name)
}

/// `gds.graph.nodeProperty.stream(graph, property, labels)`.
fn stream_one(catalog: &Catalog, call: &mut CallContext<'_>, arguments: &[Value]) -> Called {
    const OF: &str = "gds.graph.nodeProperty.stream";
    settings(OF, arguments.get(3), &[])?;
    let graph = catalog.find(text(&arguments[0]))?;
    let (selection, nodes) = nodes_of(&graph, &arguments[2], call, OF)?;
    let column = values(text(&arguments[1]), (&selection, &nodes), call, OF)?;
    let columns = vec![Data::EveryVertex, Data::Values(column.into_values())];
    Ok(Box::new(OutputRows::of(nodes, columns)))
}

/// `gds.graph.nodeProperties.stream(graph, properties, labels, {listNodeLabels: true})`.
fn stream(catalog: &Catalog, call: &mut CallContext<'_>, arguments: &[Value]) -> Called {
    const OF: &str = "gds.graph.nodeProperties.stream";
    let config = settings(OF, arguments.get(3), &["listNodeLabels"])?;
    let with_labels = match config {
        Some(config) => config.flag("listNodeLabels", false)?,
        None => false,
    };
    let graph = catalog.find(text(&arguments[0]))?;
    let names = texts(OF, "nodeProperties", &arguments[1])?;
    let (selection, nodes) = nodes_of(&graph, &arguments[2], call, OF)?;
    let columns: Vec<Column> = names
        .iter()
        .map(|name| values(name, (&selection, &nodes), call, OF))
        .collect::<Result<_, _>>()?;
    let rows = nodes.len() * names.len();
    call.room(rows * 3 * size_of::<Value>(), OF)?;
    let labels = if with_labels { Some(labels_of(call, &nodes)?) } else { None };
    let mut vertices = Vec::with_capacity(rows);
    let [mut of, mut found, mut labelled] = [(); 3].map(|()| Vec::with_capacity(rows));
    for at in 0..nodes.len() {
        for (name, column) in names.iter().zip(&columns) {
            vertices.push(at as u32);
            of.push(Value::from(*name));
            found.push(column.get(at));
            labelled.push(match &labels {
                Some(labels) => labels[at].clone(),
                None => Value::list([] as [&str; 0]),
            });
        }
    }
    let columns = vec![
        Data::Vertices(vertices),
        Data::Values(of),
        Data::Values(found),
        Data::Values(labelled),
    ];
    Ok(Box::new(OutputRows::of(nodes, columns)))
}

/// Names of the labels of each node.
fn labels_of(call: &CallContext<'_>, nodes: &[VertexId]) -> Result<Vec<Value>, QueryError> {
    let names: Vec<Arc<str>> =
        call.graph().label_names().iter().map(|name| name.as_str().into()).collect();
    let mut lists = Lists::default();
    call.graph().labels(nodes, &mut lists)?;
    let list = |at: usize| {
        let labels = &lists.items[lists.offsets[at] as usize..lists.offsets[at + 1] as usize];
        let names = labels.iter().filter_map(|label| names.get(label.get() as usize));
        Value::list(names.map(|name| Value::String(Arc::clone(name))))
    };
    Ok((0..nodes.len()).map(list).collect())
}

/// Name of a property in the graph, and its name in the database.
type Renaming = (Arc<str>, Arc<str>);

/// Properties to be written.
fn renamed(of: &str, properties: &Value) -> Result<Vec<Renaming>, QueryError> {
    let bad = || {
        wrong(format!(
            "nodeProperties of {of} are names, or maps such as {{inGraph: 'inDatabase'}}"
        ))
    };
    match properties {
        Value::String(name) => Ok(vec![(Arc::clone(name), Arc::clone(name))]),
        Value::Map(names) => names
            .iter()
            .map(|(from, to)| match to {
                Value::String(to) => Ok((Arc::clone(from), Arc::clone(to))),
                _ => Err(bad()),
            })
            .collect(),
        Value::List(list) => {
            let mut all = Vec::new();
            for one in list.iter() {
                if let Value::List(_) = one {
                    return Err(bad());
                }
                all.append(&mut renamed(of, one)?);
            }
            Ok(all)
        }
        _ => Err(bad()),
    }
}

/// `gds.graph.nodeProperties.write(graph, properties, labels)`.
fn write(catalog: &Catalog, call: &mut CallContext<'_>, arguments: &[Value]) -> Called {
    const OF: &str = "gds.graph.nodeProperties.write";
    settings(OF, arguments.get(3), &[])?;
    let begun = Instant::now();
    let graph = catalog.find(text(&arguments[0]))?;
    let names = renamed(OF, &arguments[1])?;
    let (selection, nodes) = nodes_of(&graph, &arguments[2], call, OF)?;
    let (mut written, total) = (0, nodes.len() * names.len());
    for (from, to) in &names {
        let column = values(from, (&selection, &nodes), call, OF)?;
        for (at, node) in nodes.iter().enumerate() {
            if written % BATCH == 0 {
                call.check()?;
                call.progress(written as u64, total as u64);
            }
            call.changes()?.set_property(&Value::Vertex(*node), to, column.get(at))?;
            written += 1;
        }
    }
    let row = vec![
        count(begun.elapsed().as_millis() as u64),
        arguments[0].clone(),
        Value::list(names.into_iter().map(|(_, to)| Value::String(to))),
        count(written as u64),
    ];
    Ok(known(vec![row]))
}

/// `gds.graph.nodeProperties.drop(graph, properties, {failIfMissing: true})`.
fn forget(catalog: &Catalog, call: &mut CallContext<'_>, arguments: &[Value]) -> Called {
    const OF: &str = "gds.graph.nodeProperties.drop";
    let config = settings(OF, arguments.get(2), &["failIfMissing"])?;
    let must = match config {
        Some(config) => config.flag("failIfMissing", true)?,
        None => true,
    };
    let name = text(&arguments[0]);
    let graph = catalog.find(name)?;
    let names = texts(OF, "nodeProperties", &arguments[1])?;
    let mut removed = 0;
    catalog.change(name, &graph, call, |selection| {
        let held = &mut selection.held;
        for property in &names {
            if held.values.remove(*property).is_some() {
                removed += held_nodes(&graph, property);
            } else if must {
                return Err(wrong(format!("the graph {name} holds no values of {property}")));
            }
        }
        Ok(())
    })?;
    let names = Value::list(names);
    Ok(known(vec![vec![count(removed), arguments[0].clone(), names]]))
}

fn held_nodes(graph: &Named, property: &str) -> u64 {
    graph.selection.held.values.get(property).map_or(0, |held| held.nodes.len() as u64)
}
