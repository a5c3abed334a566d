//! Graphs that a query makes: `MATCH (s)-[r]->(t) RETURN gds.graph.project('g', s, t, {...})`.
//!
//! The binder of queries makes a call of `gds.graph.project.pairs` of it, with all rows of a group
//! in a list. Such a graph is fixed: it has the nodes and relationships of its rows, whatever is
//! changed later; nodes that are deleted are left out.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::time::Instant;

use telar_graph::{Column, Graph, LabelId, Lists, Value, ValueMap, VertexId};
use telar_query::procedure::known;
use telar_query::{CallContext, QueryError};

use super::describe::projected;
use super::{Adding, Catalog, configuration, map, settings};
use crate::algorithms::config::{Config, wrong};
use crate::algorithms::function::Called;
use crate::algorithms::held::{Held, HeldNodes, HeldType, HeldValues};
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
    let mut rows = Pairs { undirected, ..Pairs::new(call.graph()) };
    for (at, pair) in pairs.iter().enumerate() {
        if at % ROWS == 0 {
            call.check()?;
            // An end, a number, an entry of a map.
            call.room(rows.entries * 48, OF)?;
        }
        rows.add(pair)?;
    }
    let held = rows.finish()?;
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

/// Rows on their way to a graph.
struct Pairs<'a> {
    graph: &'a dyn Graph,
    label_names: Vec<String>,
    undirected: Vec<&'a str>,
    nodes: Vec<VertexId>,
    /// Nodes that came as numbers: they may not exist.
    numbers: Vec<VertexId>,
    labels: BTreeMap<Arc<str>, Vec<VertexId>>,
    types: Vec<HeldType>,
    values: BTreeMap<Arc<str>, HashMap<VertexId, Value>>,
    entries: usize,
}

impl<'a> Pairs<'a> {
    fn new(graph: &'a dyn Graph) -> Self {
        Self {
            graph,
            label_names: graph.label_names(),
            undirected: Vec::new(),
            nodes: Vec::new(),
            numbers: Vec::new(),
            labels: BTreeMap::new(),
            types: Vec::new(),
            values: BTreeMap::new(),
            entries: 0,
        }
    }

    fn add(&mut self, pair: &Value) -> Result<(), QueryError> {
        let Value::List(pair) = pair else { return Err(bad(pair)) };
        let (source, target, of) = match &**pair {
            [source, target] => (source, target, &Value::Null),
            [source, target, of] => (source, target, of),
            _ => return Err(bad(&Value::List(Arc::clone(pair)))),
        };
        let Some(source) = self.node("source", source)? else {
            return Err(wrong(format!("the source node of {OF} is null")));
        };
        let target = self.node("target", target)?;
        let empty = ValueMap::new();
        let settings = match of {
            Value::Map(settings) => &**settings,
            Value::Null => &empty,
            other => {
                let found = telar_query::literal(other);
                return Err(wrong(format!(
                    "what {OF} knows of a pair is a map, and {found} is none"
                )));
            }
        };
        let config = Config::new(OF, settings, &[&OF_PAIR])?;
        self.describe(source, &config, ["sourceNodeLabels", "sourceNodeProperties"])?;
        if let Some(target) = target {
            self.describe(target, &config, ["targetNodeLabels", "targetNodeProperties"])?;
            self.connect(source, target, &config)?;
        }
        Ok(())
    }

    /// A node of the graph, which may come as a number.
    fn node(&mut self, what: &str, value: &Value) -> Result<Option<VertexId>, QueryError> {
        let node = match value {
            Value::Vertex(node) => *node,
            Value::Int(number) if *number >= 0 => {
                let node = VertexId::from_raw(*number as u64);
                self.numbers.push(node);
                node
            }
            Value::Null => return Ok(None),
            other => {
                let found = telar_query::literal(other);
                return Err(wrong(format!(
                    "the {what} node of {OF} is a node or its number, and {found} is none"
                )));
            }
        };
        self.nodes.push(node);
        self.entries += 1;
        Ok(Some(node))
    }

    /// Notes labels and values of a node.
    fn describe(
        &mut self,
        node: VertexId,
        config: &Config<'_>,
        [labels, properties]: [&str; 2],
    ) -> Result<(), QueryError> {
        match config.get(labels) {
            None | Some(Value::Bool(false)) => {}
            // All that the node has.
            Some(Value::Bool(true)) => {
                let mut found = Lists::<LabelId>::default();
                self.graph.labels(&[node], &mut found)?;
                for label in found.items {
                    if let Some(name) = self.label_names.get(label.get() as usize) {
                        self.labels.entry(name.as_str().into()).or_default().push(node);
                        self.entries += 1;
                    }
                }
            }
            Some(_) => {
                for name in config.texts(labels)?.unwrap_or_default() {
                    self.labels.entry(name.into()).or_default().push(node);
                    self.entries += 1;
                }
            }
        }
        for (name, value) in config.entries(properties)?.into_iter().flatten() {
            self.values.entry(Arc::clone(name)).or_default().insert(node, value.clone());
            self.entries += 2;
        }
        Ok(())
    }

    fn connect(
        &mut self,
        source: VertexId,
        target: VertexId,
        config: &Config<'_>,
    ) -> Result<(), QueryError> {
        let name = config.text("relationshipType")?.unwrap_or(ALL);
        let at = match self.types.iter().position(|ty| *ty.name == *name) {
            Some(at) => at,
            None => {
                let undirected = self.undirected.iter().any(|of| *of == "*" || *of == name);
                let (ends, properties) = (Vec::new(), Vec::new());
                self.types.push(HeldType { name: name.into(), undirected, ends, properties });
                self.types.len() - 1
            }
        };
        let ty = &mut self.types[at];
        let properties = match config.entries("relationshipProperties")? {
            None => config.entries("properties")?,
            given => given,
        };
        for (name, value) in properties.into_iter().flatten() {
            let number = match value {
                Value::Float(number) => *number,
                Value::Int(number) => *number as f64,
                Value::Null => f64::NAN,
                other => {
                    let found = telar_query::literal(other);
                    return Err(wrong(format!(
                        "{name} of a relationship of {OF} is a number, and {found} is none"
                    )));
                }
            };
            let known = ty.properties.iter().position(|(of, _)| of == name);
            let known = known.unwrap_or_else(|| {
                ty.properties.push((Arc::clone(name), Vec::new()));
                ty.properties.len() - 1
            });
            let values = &mut ty.properties[known].1;
            values.resize(ty.ends.len(), f64::NAN);
            values.push(number);
            self.entries += 1;
        }
        ty.ends.push((source, target));
        Ok(())
    }

    fn finish(mut self) -> Result<Held, QueryError> {
        let ascending = |nodes: &mut Vec<VertexId>| {
            nodes.sort_unstable();
            nodes.dedup();
        };
        ascending(&mut self.nodes);
        ascending(&mut self.numbers);
        let mut exist = Vec::with_capacity(self.numbers.len());
        self.graph.vertices_exist(&self.numbers, &mut exist)?;
        if let Some(at) = exist.iter().position(|exists| !exists) {
            let missing = self.numbers[at].get();
            return Err(wrong(format!(
                "a pair of {OF} names node {missing}, which does not exist"
            )));
        }
        self.labels.values_mut().for_each(ascending);
        for ty in &mut self.types {
            ty.properties.iter_mut().for_each(|(_, of)| of.resize(ty.ends.len(), f64::NAN));
        }
        let values = self.values.into_iter().map(|(name, values)| {
            let mut values: Vec<_> = values.into_iter().collect();
            values.sort_unstable_by_key(|(node, _)| *node);
            let (nodes, values): (Vec<VertexId>, Vec<Value>) = values.into_iter().unzip();
            let held = HeldValues { nodes: nodes.into(), column: Column::of(values) };
            (name, Arc::new(held))
        });
        let nodes = HeldNodes { ids: self.nodes, labels: self.labels };
        Ok(Held {
            nodes: Some(Arc::new(nodes)),
            alone: true,
            values: values.collect(),
            renamed: BTreeMap::new(),
            types: self.types.into_iter().map(Arc::new).collect(),
        })
    }
}

fn bad(pair: &Value) -> QueryError {
    let found = telar_query::literal(pair);
    wrong(format!(
        "pairs of {OF} are lists [source, target] or [source, target, settings], and {found} is none"
    ))
}
