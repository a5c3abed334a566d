//! What a query returns.

use std::cell::OnceCell;
use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::sync::Arc;

use telar_graph::{
    CommitTs, EdgeId, EdgeTypeId, Graph, LabelId, PropertyKeyId, Value, ValueMap, VertexId,
};

use crate::batch::heap_bytes;
use crate::description::PlanDescription;
use crate::notification::Notification;

/// What a query may do, whatever it did.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum StatementKind {
    /// Reads.
    #[default]
    Read,
    /// Changes the graph and returns nothing.
    Write,
    /// Changes the graph and returns rows.
    ReadWrite,
    /// Makes or drops an index or constraint.
    Schema,
}

/// What a query changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct Counters {
    /// Nodes created.
    pub nodes_created: u64,
    /// Nodes deleted.
    pub nodes_deleted: u64,
    /// Relationships created.
    pub relationships_created: u64,
    /// Relationships deleted.
    pub relationships_deleted: u64,
    /// Properties set or removed.
    pub properties_set: u64,
    /// Labels added to nodes.
    pub labels_added: u64,
    /// Labels removed from nodes.
    pub labels_removed: u64,
    /// Indexes created.
    pub indexes_added: u64,
    /// Indexes dropped.
    pub indexes_removed: u64,
    /// Constraints created.
    pub constraints_added: u64,
    /// Constraints dropped.
    pub constraints_removed: u64,
    /// Users, roles and databases created, changed or dropped.
    pub system_updates: u64,
}

impl Counters {
    /// Whether anything was changed.
    #[must_use]
    pub fn any(&self) -> bool {
        *self != Self::default()
    }

    /// Whether anything of the graph or its schema was changed.
    #[must_use]
    pub fn changes_graph(&self) -> bool {
        Self { system_updates: 0, ..*self }.any()
    }

    /// Adds what another one counted.
    pub(crate) fn add(&mut self, other: &Self) {
        let Self {
            nodes_created,
            nodes_deleted,
            relationships_created,
            relationships_deleted,
            properties_set,
            labels_added,
            labels_removed,
            indexes_added,
            indexes_removed,
            constraints_added,
            constraints_removed,
            system_updates,
        } = other;
        self.nodes_created += nodes_created;
        self.nodes_deleted += nodes_deleted;
        self.relationships_created += relationships_created;
        self.relationships_deleted += relationships_deleted;
        self.properties_set += properties_set;
        self.labels_added += labels_added;
        self.labels_removed += labels_removed;
        self.indexes_added += indexes_added;
        self.indexes_removed += indexes_removed;
        self.constraints_added += constraints_added;
        self.constraints_removed += constraints_removed;
        self.system_updates += system_updates;
    }
}

/// A node as it was when the query ended.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Node {
    /// Names of its labels, sorted.
    pub labels: Vec<String>,
    /// Its properties.
    pub properties: ValueMap,
}

/// A relationship as it was when the query ended.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Relationship {
    /// Name of its type.
    pub ty: String,
    /// Its properties.
    pub properties: ValueMap,
}

/// The nodes and relationships that the rows of a result name.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Entities {
    /// By number.
    pub nodes: BTreeMap<VertexId, Node>,
    /// By identity.
    pub relationships: BTreeMap<EdgeId, Relationship>,
}

/// A whole result.
#[derive(Debug, Clone, PartialEq)]
pub struct QueryResult {
    /// Names of the columns.
    pub columns: Vec<Arc<str>>,
    /// Rows, one value per column.
    pub rows: Vec<Vec<Value>>,
    /// What the nodes and relationships in the rows are.
    pub entities: Entities,
    /// What it may do.
    pub kind: StatementKind,
    /// What was changed.
    pub counters: Counters,
    /// The commit timestamp that it was committed with, or that it read at if it changed nothing.
    /// An open transaction has not been given one: then it is the one it reads at.
    pub at: CommitTs,
    /// The plan, where it was asked for.
    pub plan: Option<PlanDescription>,
    /// What is probably not meant as it is written.
    pub notifications: Vec<Notification>,
}

impl Default for QueryResult {
    /// Nothing, at the beginning of time.
    fn default() -> Self {
        Self {
            columns: Vec::new(),
            rows: Vec::new(),
            entities: Entities::default(),
            kind: StatementKind::Read,
            counters: Counters::default(),
            at: CommitTs::ZERO,
            plan: None,
            notifications: Vec::new(),
        }
    }
}

/// Bytes of a node or relationship in a tree that is about three quarters full.
const ENTRY_BYTES: usize = (size_of::<EdgeId>() + size_of::<Node>()) * 4 / 3;

fn map_bytes(map: &ValueMap) -> usize {
    // A tree's first node has room for eleven entries.
    let least = if map.is_empty() { 0 } else { 11 };
    let entry = size_of::<Arc<str>>() + size_of::<Value>();
    let entries = map.len().max(least) * entry;
    entries + map.iter().map(|(key, value)| 16 + key.len() + heap_bytes(value)).sum::<usize>()
}

impl Entities {
    /// Looks up everything that `value` names, and is or contains; the bytes that this takes.
    pub(crate) fn add(&mut self, value: &Value, graph: &dyn Graph, names: &Names) -> usize {
        match value {
            Value::Vertex(vertex) => self.add_node(*vertex, graph, names),
            Value::Edge(edge) => self.add_relationship(**edge, graph, names),
            Value::Path(path) => {
                let nodes = path.vertices().iter().map(|v| self.add_node(*v, graph, names));
                let nodes: usize = nodes.sum();
                let edges = path.edges().iter().map(|e| self.add_relationship(*e, graph, names));
                nodes + edges.sum::<usize>()
            }
            Value::List(list) => list.iter().map(|v| self.add(v, graph, names)).sum(),
            Value::Map(map) => map.values().map(|v| self.add(v, graph, names)).sum(),
            _ => 0,
        }
    }

    fn add_node(&mut self, vertex: VertexId, graph: &dyn Graph, names: &Names) -> usize {
        match self.nodes.entry(vertex) {
            Entry::Occupied(_) => 0,
            Entry::Vacant(entry) => {
                let node = entry.insert(Node::read(vertex, graph, names));
                let labels = node.labels.iter().map(|l| size_of::<String>() + l.capacity());
                ENTRY_BYTES + labels.sum::<usize>() + map_bytes(&node.properties)
            }
        }
    }

    fn add_relationship(&mut self, edge: EdgeId, graph: &dyn Graph, names: &Names) -> usize {
        match self.relationships.entry(edge) {
            Entry::Occupied(_) => 0,
            Entry::Vacant(entry) => {
                let read = entry.insert(Relationship::read(edge, graph, names));
                ENTRY_BYTES + read.ty.capacity() + map_bytes(&read.properties)
            }
        }
    }
}

impl Node {
    pub(crate) fn read(vertex: VertexId, graph: &dyn Graph, names: &Names) -> Self {
        let mut found = Vec::new();
        graph.all_vertex_properties(vertex, &mut found);
        let labels = graph.labels(vertex).unwrap_or_default();
        let mut labels: Vec<String> = labels.iter().map(|l| names.label(*l, graph)).collect();
        labels.sort_unstable();
        Self { labels, properties: names.properties(found, graph) }
    }
}

impl Relationship {
    pub(crate) fn read(edge: EdgeId, graph: &dyn Graph, names: &Names) -> Self {
        let mut found = Vec::new();
        graph.all_edge_properties(edge, &mut found);
        let ty = names.edge_type(edge.ty, graph);
        Self { ty, properties: names.properties(found, graph) }
    }
}

/// Schema names by number, read from the graph when the first is needed.
#[derive(Debug, Default)]
pub(crate) struct Names {
    labels: OnceCell<Vec<String>>,
    types: OnceCell<Vec<String>>,
    keys: OnceCell<Vec<String>>,
}

impl Names {
    fn label(&self, label: LabelId, graph: &dyn Graph) -> String {
        named(self.labels.get_or_init(|| graph.label_names()), label.get())
    }

    fn edge_type(&self, ty: EdgeTypeId, graph: &dyn Graph) -> String {
        named(self.types.get_or_init(|| graph.edge_type_names()), ty.get())
    }

    fn properties(&self, found: Vec<(PropertyKeyId, Value)>, graph: &dyn Graph) -> ValueMap {
        if found.is_empty() {
            return ValueMap::new();
        }
        let keys = self.keys.get_or_init(|| graph.property_key_names());
        found.into_iter().map(|(key, value)| (Arc::from(named(keys, key.get())), value)).collect()
    }
}

fn named(names: &[String], number: u16) -> String {
    names.get(usize::from(number)).cloned().unwrap_or_default()
}

/// `elementId()` of a node.
#[must_use]
pub fn element_id_of_vertex(vertex: VertexId) -> String {
    format!("n:{vertex}")
}

/// The node with an element id.
pub(crate) fn vertex_of_element_id(id: &str) -> Option<u64> {
    id.strip_prefix("n:")?.parse().ok()
}

/// `elementId()` of a relationship: its type, ends and which of the parallel ones it is.
#[must_use]
pub fn element_id_of_edge(edge: &EdgeId) -> String {
    format!("r:{}:{}:{}:{}", edge.ty, edge.src, edge.dst, edge.ordinal)
}

/// `id()` of a relationship. It has no number: this one tells those of one type apart, unless the
/// type holds one per pair of nodes.
#[must_use]
pub fn number_of_edge(edge: &EdgeId) -> i64 {
    i64::from(edge.ty.get()) << 32 | i64::from(edge.ordinal)
}
