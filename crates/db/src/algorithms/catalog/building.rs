//! Nodes and relationships on their way to a graph that holds all that it has.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use telar_graph::value::heap_bytes;
use telar_graph::{Column, Graph, LabelId, Lists, Value, VertexId};
use telar_query::QueryError;

use crate::algorithms::config::wrong;
use crate::algorithms::held::{Held, HeldNodes, HeldType, HeldValues};

/// Bytes of an end, a number, an entry of a map.
const ENTRY: usize = 48;

/// A graph that is being made of rows.
pub(super) struct Building<'a> {
    /// Name of the procedure, for errors.
    of: &'static str,
    graph: &'a dyn Graph,
    label_names: Vec<Arc<str>>,
    /// Types whose relationships have no direction.
    undirected: Vec<&'a str>,
    nodes: Vec<VertexId>,
    /// Nodes that came as numbers: they may not exist.
    numbers: Vec<VertexId>,
    labels: BTreeMap<Arc<str>, Vec<VertexId>>,
    types: Vec<HeldType>,
    values: BTreeMap<Arc<str>, HashMap<VertexId, Value>>,
    bytes: usize,
}

impl<'a> Building<'a> {
    pub(super) fn new(of: &'static str, graph: &'a dyn Graph, undirected: Vec<&'a str>) -> Self {
        let names = graph.label_names();
        Self {
            of,
            graph,
            label_names: names.iter().map(|name| name.as_str().into()).collect(),
            undirected,
            nodes: Vec::new(),
            numbers: Vec::new(),
            labels: BTreeMap::new(),
            types: Vec::new(),
            values: BTreeMap::new(),
            bytes: 0,
        }
    }

    /// Bytes that it takes, about.
    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }

    /// The node that a value names, itself or by its number; none, if the value is null.
    pub(super) fn node(
        &mut self,
        what: &str,
        value: &Value,
    ) -> Result<Option<VertexId>, QueryError> {
        match value {
            Value::Vertex(node) => Ok(Some(*node)),
            Value::Int(number) if *number >= 0 => {
                let node = VertexId::from_raw(*number as u64);
                self.numbers.push(node);
                self.bytes += size_of::<VertexId>();
                Ok(Some(node))
            }
            Value::Null => Ok(None),
            other => {
                let found = telar_query::literal(other);
                Err(wrong(format!(
                    "the {what} node of {} is a node or its number, and {found} is none",
                    self.of
                )))
            }
        }
    }

    /// Adds a node; one that is there already is the same.
    pub(super) fn add_node(&mut self, node: VertexId) {
        self.nodes.push(node);
        self.bytes += ENTRY;
    }

    /// Gives a node a label.
    pub(super) fn add_label(&mut self, node: VertexId, label: Arc<str>) {
        self.labels.entry(label).or_default().push(node);
        self.bytes += ENTRY;
    }

    /// Gives a node all labels that it has in the database.
    pub(super) fn add_stored_labels(&mut self, node: VertexId) -> Result<(), QueryError> {
        let mut found = Lists::<LabelId>::default();
        self.graph.labels(&[node], &mut found)?;
        for label in found.items {
            if let Some(name) = self.label_names.get(label.get() as usize).cloned() {
                self.add_label(node, name);
            }
        }
        Ok(())
    }

    /// Lets nodes have a property, although perhaps none has a value.
    pub(super) fn add_property(&mut self, name: &Arc<str>) {
        self.values.entry(Arc::clone(name)).or_default();
    }

    /// Gives a node a value.
    pub(super) fn add_value(&mut self, node: VertexId, name: &Arc<str>, value: Value) {
        self.bytes += 2 * ENTRY + heap_bytes(&value);
        self.values.entry(Arc::clone(name)).or_default().insert(node, value);
    }

    /// Adds a relationship with properties, which are numbers or null.
    pub(super) fn connect<'v>(
        &mut self,
        (source, target): (VertexId, VertexId),
        name: &str,
        properties: impl IntoIterator<Item = (&'v Arc<str>, &'v Value)>,
    ) -> Result<(), QueryError> {
        let of = self.of;
        let at = self.type_of(name);
        let ty = &mut self.types[at];
        for (name, value) in properties {
            let number = match value {
                Value::Float(number) => *number,
                Value::Int(number) => *number as f64,
                Value::Null => f64::NAN,
                other => {
                    let found = telar_query::literal(other);
                    return Err(wrong(format!(
                        "{name} of a relationship of {of} is a number, and {found} is none"
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
            self.bytes += size_of::<f64>();
        }
        ty.ends.push((source, target));
        self.bytes += ENTRY;
        Ok(())
    }

    fn type_of(&mut self, name: &str) -> usize {
        self.types.iter().position(|ty| *ty.name == *name).unwrap_or_else(|| {
            let undirected = self.undirected.iter().any(|of| *of == "*" || *of == name);
            let (ends, properties) = (Vec::new(), Vec::new());
            self.types.push(HeldType { name: name.into(), undirected, ends, properties });
            self.types.len() - 1
        })
    }

    /// The graph. Nodes that came as numbers must exist.
    pub(super) fn finish(mut self) -> Result<Held, QueryError> {
        let ascending = |nodes: &mut Vec<VertexId>| {
            nodes.sort_unstable();
            nodes.dedup();
        };
        ascending(&mut self.nodes);
        ascending(&mut self.numbers);
        let mut exist = Vec::with_capacity(self.numbers.len());
        self.graph.vertices_exist(&self.numbers, &mut exist)?;
        if let Some(at) = exist.iter().position(|exists| !exists) {
            let (of, missing) = (self.of, self.numbers[at].get());
            return Err(wrong(format!("a row of {of} names node {missing}, which does not exist")));
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
