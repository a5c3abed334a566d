//! Graphs that a query makes: `MATCH (s)-[r]->(t) RETURN gds.graph.project('g', s, t, {...})`.
//!
//! The binder of queries makes a call of `gds.graph.project.pairs` of it, with all rows of a group
//! in a list. Such a graph is fixed: it has the nodes and relationships of its rows, whatever is
//! changed later; nodes that are deleted are left out.

use std::sync::Arc;
use std::time::Instant;

use telar_graph::{Value, ValueMap, VertexId};
use telar_query::procedure::known;
use telar_query::{CallContext, QueryError};

use super::building::Building;
use super::describe::projected;
use super::{Adding, Catalog, configuration, map, settings};
use crate::algorithms::config::{Config, wrong};
use crate::algorithms::function::Called;
use crate::algorithms::output::count;
use crate::algorithms::selection::{ALL, Selection};

const OF: &str = "gds.graph.project";

/// Rows between two looks whether the statement is to end.
const ROWS: usize = 1024;

pub(super) fn add(adding: &mut Adding<'_>) {
    adding.add(
        "gds.graph.project.pairs",
        (&[("graphName", "STRING"), ("pairs", "LIST<ANY>")], vec![configuration()]),
        &[("graph", "MAP")],
        "Names a graph of pairs [source, target] or [source, target, settings].",
        project,
    );
}

/// Settings of a pair.
const OF_PAIR: [&str; 7] = [
    "sourceNodeLabels",
    "targetNodeLabels",
    "sourceNodeProperties",
    "targetNodeProperties",
    "relationshipType",
    "relationshipProperties",
    "properties",
];

fn project(catalog: &Catalog, call: &mut CallContext<'_>, arguments: &[Value]) -> Called {
    const OWN: [&str; 3] =
        ["undirectedRelationshipTypes", "inverseIndexedRelationshipTypes", "query"];
    let begun = Instant::now();
    // No row, and so no name: there is nothing to make a graph of.
    let (Value::String(name), Value::List(pairs)) = (&arguments[0], &arguments[1]) else {
        return Ok(known(vec![vec![Value::Null]]));
    };
    if name.trim().is_empty() {
        return Err(wrong(format!("the name of the graph of {OF} is empty")));
    }
    let config = settings(OF, arguments.get(2), &OWN)?;
    let undirected = match &config {
        Some(config) => config.texts("undirectedRelationshipTypes")?.unwrap_or_default(),
        None => Vec::new(),
    };
    let mut building = Building::new(OF, call.graph(), undirected);
    for (at, pair) in pairs.iter().enumerate() {
        if at % ROWS == 0 {
            call.check()?;
            call.room(building.bytes(), OF)?;
        }
        add_pair(&mut building, pair)?;
    }
    let held = building.finish()?;
    let selection = Selection { held, ..Selection::default() };
    let (row, _) = projected(name, &selection, call)?;
    catalog.insert(name, selection, call)?;
    let configuration = config.map_or_else(ValueMap::new, |config| config.map().clone());
    let graph = map([
        ("graphName", row[0].clone()),
        ("nodeCount", row[1].clone()),
        ("relationshipCount", row[2].clone()),
        ("projectMillis", count(begun.elapsed().as_millis() as u64)),
        ("configuration", Value::Map(Arc::new(configuration))),
    ]);
    Ok(known(vec![vec![graph]]))
}

/// Adds a row: a source, a target and what is known of them.
fn add_pair(building: &mut Building<'_>, pair: &Value) -> Result<(), QueryError> {
    let Value::List(pair) = pair else { return Err(bad(pair)) };
    let (source, target, of) = match &**pair {
        [source, target] => (source, target, &Value::Null),
        [source, target, of] => (source, target, of),
        _ => return Err(bad(&Value::List(Arc::clone(pair)))),
    };
    let Some(source) = building.node("source", source)? else {
        return Err(wrong(format!("the source node of {OF} is null")));
    };
    building.add_node(source);
    let target = building.node("target", target)?;
    let empty = ValueMap::new();
    let settings = match of {
        Value::Map(settings) => &**settings,
        Value::Null => &empty,
        other => {
            let found = telar_query::literal(other);
            return Err(wrong(format!("what {OF} knows of a pair is a map, and {found} is none")));
        }
    };
    let config = Config::new(OF, settings, &[&OF_PAIR])?;
    describe(building, source, &config, ["sourceNodeLabels", "sourceNodeProperties"])?;
    let Some(target) = target else { return Ok(()) };
    building.add_node(target);
    describe(building, target, &config, ["targetNodeLabels", "targetNodeProperties"])?;
    let properties = match config.entries("relationshipProperties")? {
        None => config.entries("properties")?,
        given => given,
    };
    let name = config.text("relationshipType")?.unwrap_or(ALL);
    building.connect((source, target), name, properties.into_iter().flatten())
}

/// Notes labels and values of a node.
fn describe(
    building: &mut Building<'_>,
    node: VertexId,
    config: &Config<'_>,
    [labels, properties]: [&str; 2],
) -> Result<(), QueryError> {
    match config.get(labels) {
        None | Some(Value::Bool(false)) => {}
        Some(Value::Bool(true)) => building.add_stored_labels(node)?,
        Some(_) => {
            for name in config.texts(labels)?.unwrap_or_default() {
                building.add_label(node, name.into());
            }
        }
    }
    for (name, value) in config.entries(properties)?.into_iter().flatten() {
        building.add_value(node, name, value.clone());
    }
    Ok(())
}

fn bad(pair: &Value) -> QueryError {
    let found = telar_query::literal(pair);
    wrong(format!(
        "pairs of {OF} are lists [source, target] or [source, target, settings], and {found} is none"
    ))
}
