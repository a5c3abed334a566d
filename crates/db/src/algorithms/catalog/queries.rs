//! Graphs that two query texts make: `gds.graph.project.cypher(name, nodes, relationships)`.
//!
//! The texts run inside of the statement: on the graph that it sees, under its limits. The graph is
//! fixed, as those of [`pairs`](super::pairs) are.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Instant;

use telar_graph::{Value, ValueMap, VertexId};
use telar_query::procedure::known;
use telar_query::{CallContext, QueryError, Rows, Sink};

use super::building::Building;
use super::describe::projected;
use super::{Adding, Catalog, configuration, settings, text};
use crate::algorithms::config::{texts, wrong};
use crate::algorithms::function::Called;
use crate::algorithms::output::count;
use crate::algorithms::selection::{ALL, Selection};

const OF: &str = "gds.graph.project.cypher";

pub(super) fn add(adding: &mut Adding<'_>) {
    let arguments =
        [("graphName", "STRING"), ("nodeQuery", "STRING"), ("relationshipQuery", "STRING")];
    adding.add(
        OF,
        (&arguments, vec![configuration()]),
        &[
            ("nodeQuery", "STRING"),
            ("relationshipQuery", "STRING"),
            ("graphName", "STRING"),
            ("nodeCount", "INTEGER"),
            ("relationshipCount", "INTEGER"),
            ("projectMillis", "INTEGER"),
        ],
        "Names a graph of the nodes of one query text and the relationships of another.",
        project,
    );
}

fn project(catalog: &Catalog, call: &mut CallContext<'_>, arguments: &[Value]) -> Called {
    const OWN: [&str; 2] = ["parameters", "validateRelationships"];
    let begun = Instant::now();
    let [Value::String(name), nodes, relationships, ..] = arguments else {
        return Err(wrong(format!("{OF} takes a name and two query texts")));
    };
    if name.trim().is_empty() {
        return Err(wrong(format!("the name of the graph of {OF} is empty")));
    }
    let config = settings(OF, arguments.get(3), &OWN)?;
    let empty = ValueMap::new();
    let (parameters, validate) = match &config {
        Some(config) => (
            config.entries("parameters")?.unwrap_or(&empty),
            config.flag("validateRelationships", true)?,
        ),
        None => (&empty, true),
    };
    catalog.check_free(name)?;
    let call = &*call;
    let building = Building::new(OF, call.graph(), Vec::new());
    let run = |what: &str, query: &Value, sink: &mut dyn Sink| {
        let ran = call.query(text(query), parameters, sink);
        ran.map_err(|error| error.within(&format!("{what} of {OF}")))
    };
    let mut sink = NodeRows { call, building, roles: Vec::new(), seen: HashSet::new() };
    run("nodeQuery", nodes, &mut sink)?;
    let NodeRows { building, seen, .. } = sink;
    if seen.is_empty() {
        return Err(wrong(format!("nodeQuery of {OF} returned no nodes")));
    }
    let mut sink = RelationshipRows { call, building, nodes: &seen, validate, roles: Vec::new() };
    run("relationshipQuery", relationships, &mut sink)?;
    let held = sink.building.finish()?;
    let selection = Selection { held, ..Selection::default() };
    let (row, _) = projected(name, &selection, call)?;
    catalog.insert(name, selection, call)?;
    let millis = count(begun.elapsed().as_millis() as u64);
    let counts = [row[1].clone(), row[2].clone(), millis];
    let texts = [nodes.clone(), relationships.clone(), arguments[0].clone()];
    Ok(known(vec![texts.into_iter().chain(counts).collect()]))
}

/// Meaning of a column of a query text.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Role {
    /// A node, by the name of its column.
    Node(&'static str),
    /// Labels of the node, or the type of the relationship.
    Kind,
    Property(Arc<str>),
}

/// Roles of columns, among which `nodes` must be.
fn roles(
    columns: &[Arc<str>],
    nodes: &[&'static str],
    kind: &str,
) -> Result<Vec<Role>, QueryError> {
    if let Some(missing) = nodes.iter().find(|name| !columns.iter().any(|of| **of == ***name)) {
        return Err(wrong(format!("it returns no column {missing}")));
    }
    let role = |column: &Arc<str>| match nodes.iter().find(|name| **column == ***name) {
        Some(name) => Role::Node(name),
        None if **column == *kind => Role::Kind,
        None => Role::Property(Arc::clone(column)),
    };
    Ok(columns.iter().map(role).collect())
}

/// Bytes of an entry of a set of nodes.
const OF_NODE: usize = 16;

/// Rows of the text that finds the nodes.
struct NodeRows<'a, 'c> {
    call: &'a CallContext<'c>,
    building: Building<'a>,
    roles: Vec<Role>,
    seen: HashSet<VertexId>,
}

impl Sink for NodeRows<'_, '_> {
    fn columns(&mut self, columns: &[Arc<str>]) -> Result<(), QueryError> {
        self.roles = roles(columns, &["id"], "labels")?;
        for role in &self.roles {
            if let Role::Property(name) = role {
                self.building.add_property(name);
            }
        }
        Ok(())
    }

    fn rows(&mut self, rows: &Rows<'_>) -> Result<(), QueryError> {
        self.call.check()?;
        let id = self.roles.iter().position(|role| matches!(role, Role::Node(_))).unwrap_or(0);
        for row in 0..rows.len() {
            let Some(node) = self.building.node("id of the", &rows.get(row, id))? else {
                return Err(wrong("id is null in a row"));
            };
            // The first row of a node counts.
            if !self.seen.insert(node) {
                continue;
            }
            self.building.add_node(node);
            for (column, role) in self.roles.iter().enumerate() {
                match (role, rows.get(row, column)) {
                    (Role::Kind, labels) if !labels.is_null() => {
                        for label in texts("the query", "labels", &labels)? {
                            self.building.add_label(node, label.into());
                        }
                    }
                    (Role::Property(name), value) if !value.is_null() => {
                        check_value(name, &value)?;
                        self.building.add_value(node, name, value);
                    }
                    _ => {}
                }
            }
        }
        self.call.room(self.building.bytes() + OF_NODE * self.seen.len(), OF)
    }
}

/// Refuses values that no property could have.
fn check_value(name: &str, value: &Value) -> Result<(), QueryError> {
    match value {
        Value::Vertex(_) | Value::Edge(_) | Value::Path(_) | Value::Map(_) => {
            let found = telar_query::literal(value);
            Err(wrong(format!("{name} is a property of nodes, and cannot be {found}")))
        }
        _ => Ok(()),
    }
}

/// Rows of the text that finds the relationships.
struct RelationshipRows<'a, 'c> {
    call: &'a CallContext<'c>,
    building: Building<'a>,
    nodes: &'a HashSet<VertexId>,
    /// True if a relationship to another node is an error.
    validate: bool,
    roles: Vec<Role>,
}

impl RelationshipRows<'_, '_> {
    /// The node in a column; none, if the graph does not have it.
    fn end(&self, name: &str, value: &Value) -> Result<Option<VertexId>, QueryError> {
        let node = match value {
            Value::Vertex(node) => *node,
            // Numbers of nodeQuery exist, and others are not in the graph: no need to look.
            Value::Int(number) if *number >= 0 => VertexId::from_raw(*number as u64),
            Value::Null => return Err(wrong(format!("{name} is null in a row"))),
            other => {
                let found = telar_query::literal(other);
                return Err(wrong(format!("{name} is a node or its number, and {found} is none")));
            }
        };
        if self.nodes.contains(&node) {
            return Ok(Some(node));
        }
        if self.validate {
            return Err(wrong(format!(
                "its {name} {} is not among the nodes of nodeQuery; with validateRelationships: \
                 false such relationships are left out",
                node.get()
            )));
        }
        Ok(None)
    }
}

impl Sink for RelationshipRows<'_, '_> {
    fn columns(&mut self, columns: &[Arc<str>]) -> Result<(), QueryError> {
        self.roles = roles(columns, &["source", "target"], "type")?;
        Ok(())
    }

    fn rows(&mut self, rows: &Rows<'_>) -> Result<(), QueryError> {
        self.call.check()?;
        let roles = self.roles.clone();
        let at = |wanted: Role| roles.iter().position(|role| *role == wanted);
        let (source, target) = (at(Role::Node("source")), at(Role::Node("target")));
        let kind = at(Role::Kind);
        for row in 0..rows.len() {
            let end = |name, column: Option<usize>| {
                self.end(name, &column.map_or(Value::Null, |column| rows.get(row, column)))
            };
            let (source, target) = (end("source", source)?, end("target", target)?);
            let (Some(source), Some(target)) = (source, target) else { continue };
            let kind = kind.map_or(Value::Null, |column| rows.get(row, column));
            let name = match &kind {
                Value::Null => ALL,
                Value::String(name) => &**name,
                other => {
                    let found = telar_query::literal(other);
                    return Err(wrong(format!("type is a string, and a row has {found}")));
                }
            };
            let properties = roles.iter().enumerate().filter_map(|(column, role)| match role {
                Role::Property(name) => Some((name, rows.get(row, column))),
                _ => None,
            });
            let properties: Vec<(&Arc<str>, Value)> = properties.collect();
            let properties = properties.iter().map(|(name, value)| (*name, value));
            self.building.connect((source, target), name, properties)?;
        }
        self.call.room(self.building.bytes() + OF_NODE * self.nodes.len(), OF)
    }
}
