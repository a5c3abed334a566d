//! `gds.graph.project`, `list`, `exists` and `drop`.

use std::sync::Arc;
use std::time::Instant;

use telar_graph::Value;
use telar_query::procedure::{Field, known};
use telar_query::{CallContext, ErrorKind};

use super::describe::{GRAPH, described, projected};
use super::{Adding, Catalog, SETTINGS, configuration, text};
use crate::algorithms::config::{Config, wrong};
use crate::algorithms::function::Called;
use crate::algorithms::output::count;
use crate::algorithms::selection::Selection;

pub(super) fn add(adding: &mut Adding<'_>) {
    let mut columns = GRAPH[..5].to_vec();
    columns.push(("projectMillis", "INTEGER"));
    let arguments =
        [("graphName", "STRING"), ("nodeProjection", "ANY"), ("relationshipProjection", "ANY")];
    adding.add(
        "gds.graph.project",
        (&arguments, vec![configuration()]),
        &columns,
        "Names a part of the graph, which stays live.",
        project,
    );
    let name = vec![Field::new("graphName", "STRING").or(Value::Null)];
    adding.add("gds.graph.list", (&[], name), &GRAPH, "Named graphs.", list_graphs);
    let name = [("graphName", "STRING")];
    adding.add(
        "gds.graph.exists",
        (&name, Vec::new()),
        &[("graphName", "STRING"), ("exists", "BOOLEAN")],
        "True if a graph of this name exists.",
        exists,
    );
    let more = vec![
        Field::new("failIfMissing", "BOOLEAN").or(true),
        Field::new("dbName", "STRING").or(""),
        Field::new("username", "STRING").or(""),
    ];
    adding.add(
        "gds.graph.drop",
        (&name, more),
        &GRAPH,
        "Forgets the name of a graph, and what it holds.",
        drop_graph,
    );
}

/// `gds.graph.project(name, nodes, relationships, configuration)`.
fn project(catalog: &Catalog, call: &mut CallContext<'_>, arguments: &[Value]) -> Called {
    const OF: &str = "gds.graph.project";
    const OWN: [&str; 3] = ["nodeProperties", "relationshipProperties", "validateRelationships"];
    let begun = Instant::now();
    let [Value::String(name), nodes, relationships, settings] = arguments else {
        return Err(wrong(format!("{OF} takes a name, nodes, relationships and a configuration")));
    };
    if name.trim().is_empty() {
        return Err(wrong(format!("the name of the graph of {OF} is empty")));
    }
    let mut selection = Selection::of_projection(OF, nodes, relationships)?;
    if let Value::Map(settings) = settings {
        let config = Config::new(OF, settings, &[&SETTINGS, &OWN])?;
        if let Some(properties) = config.get("nodeProperties") {
            selection.add_node_properties(OF, properties)?;
        }
        if let Some(properties) = config.get("relationshipProperties") {
            selection.add_properties(OF, properties)?;
        }
    }
    // Wrong names are found now, not at the first call.
    let (mut row, _) = projected(name, &selection, call)?;
    catalog.insert(name, selection, call)?;
    row.push(count(begun.elapsed().as_millis() as u64));
    Ok(known(vec![row]))
}

/// `gds.graph.list(name)`.
fn list_graphs(catalog: &Catalog, call: &mut CallContext<'_>, arguments: &[Value]) -> Called {
    let graphs: Vec<_> =
        catalog.graphs.lock().iter().map(|(name, of)| (Arc::clone(name), of.clone())).collect();
    let wanted = |name: &Arc<str>| arguments[0].is_null() || text(&arguments[0]) == &**name;
    let graphs = graphs.into_iter().filter(|(name, _)| wanted(name));
    let described = graphs.map(|(name, named)| described(&name, &named, call));
    // A graph that was named in a transaction can have labels that were never committed.
    let rows = described.filter(|row| !matches!(row, Err(e) if e.kind == ErrorKind::Argument));
    Ok(known(rows.collect::<Result<_, _>>()?))
}

/// `gds.graph.exists(name)`.
fn exists(catalog: &Catalog, _: &mut CallContext<'_>, arguments: &[Value]) -> Called {
    let exists = catalog.graphs.lock().contains_key(text(&arguments[0]));
    Ok(known(vec![vec![arguments[0].clone(), exists.into()]]))
}

/// `gds.graph.drop(name, failIfMissing)`.
fn drop_graph(catalog: &Catalog, call: &mut CallContext<'_>, arguments: &[Value]) -> Called {
    let name = text(&arguments[0]);
    // The name goes first: a graph whose labels were never committed cannot be described.
    let found = catalog.graphs.lock().remove(name);
    let rows = match found {
        None if matches!(arguments[1], Value::Bool(false)) => Vec::new(),
        None => catalog.find(name).map(|_| Vec::new())?,
        Some(found) => match described(name, &found, call) {
            Err(error) if error.kind == ErrorKind::Argument => Vec::new(),
            row => vec![row?],
        },
    };
    Ok(known(rows))
}
