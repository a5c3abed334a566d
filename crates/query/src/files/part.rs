//! A part of a graph on its way into a file: its nodes and relationships, piece by piece.

use std::fmt;

use telar_graph::{
    Direction, EdgeId, EdgeTypeId, Expansion, Graph, Lists, PropertyKeyId, Value, VertexId,
};

use crate::query_error::QueryError;

/// Nodes and relationships that are read at once.
const PIECE: usize = 1 << 12;

/// A node as it is written.
#[derive(Debug)]
pub struct PartNode<'a> {
    /// Its identity.
    pub vertex: VertexId,
    /// Names of its labels, sorted.
    pub labels: Vec<&'a str>,
    /// Its properties, sorted by key.
    pub properties: Vec<(&'a str, Value)>,
}

/// A relationship as it is written.
#[derive(Debug)]
pub struct PartRelationship<'a> {
    /// Its identity, with its ends.
    pub edge: EdgeId,
    /// Name of its type.
    pub ty: &'a str,
    /// Its properties, sorted by key.
    pub properties: Vec<(&'a str, Value)>,
}

type Done = Result<(), QueryError>;

/// A graph, or some of its nodes and relationships.
pub struct GraphPart<'g> {
    graph: &'g dyn Graph,
    check: &'g dyn Fn() -> Done,
    keys: Vec<String>,
    labels: Vec<String>,
    types: Vec<String>,
    vertices: Vec<VertexId>,
    /// The relationships; all that begin at the nodes without it.
    edges: Option<Vec<EdgeId>>,
}

impl fmt::Debug for GraphPart<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = f.debug_struct("GraphPart");
        shown.field("nodes", &self.vertices.len()).finish_non_exhaustive()
    }
}

impl<'g> GraphPart<'g> {
    /// A whole graph. `check` is asked for each piece, and ends the work by an error. *Cost*: a
    /// scan, and 8 bytes for each node.
    ///
    /// # Errors
    /// If the graph cannot be read.
    pub fn whole(graph: &'g dyn Graph, check: &'g dyn Fn() -> Done) -> Result<Self, QueryError> {
        let mut vertices = Vec::new();
        for ids in graph.partitions().all(PIECE as u64) {
            check()?;
            graph.scan(None, ids.start, ids.end, &mut vertices)?;
        }
        Ok(Self { edges: None, ..Self::new(graph, check, vertices, Vec::new()) })
    }

    /// Some nodes and relationships of a graph, each once, in the order of their identities.
    #[must_use]
    pub fn new(
        graph: &'g dyn Graph,
        check: &'g dyn Fn() -> Done,
        mut vertices: Vec<VertexId>,
        mut edges: Vec<EdgeId>,
    ) -> Self {
        vertices.sort_unstable();
        vertices.dedup();
        edges.sort_unstable();
        edges.dedup();
        let (keys, labels) = (graph.property_key_names(), graph.label_names());
        let types = graph.edge_type_names();
        Self { graph, check, keys, labels, types, vertices, edges: Some(edges) }
    }

    /// Number of nodes.
    #[must_use]
    pub fn nodes_len(&self) -> usize {
        self.vertices.len()
    }

    fn named<'s>(&'s self, properties: &[(PropertyKeyId, Value)]) -> Vec<(&'s str, Value)> {
        let name = |key: PropertyKeyId| self.keys[usize::from(key.get())].as_str();
        let named = properties.iter().map(|(key, value)| (name(*key), value.clone()));
        let mut named: Vec<(&str, Value)> = named.collect();
        named.sort_unstable_by_key(|(name, _)| *name);
        named
    }

    /// Calls `each` with every node.
    ///
    /// # Errors
    /// Those of `each`, of the check, and of reading the graph.
    pub fn nodes(&self, mut each: impl FnMut(PartNode<'_>) -> Done) -> Done {
        let (mut sets, mut all) = (Lists::default(), Lists::default());
        for piece in self.vertices.chunks(PIECE) {
            (self.check)()?;
            self.graph.labels(piece, &mut sets)?;
            self.graph.all_vertex_properties(piece, &mut all)?;
            for ((vertex, set), properties) in piece.iter().zip(sets.iter()).zip(all.iter()) {
                let name = |label: &telar_graph::LabelId| {
                    self.labels.get(usize::from(label.get())).map(String::as_str)
                };
                let mut labels: Vec<&str> = set.iter().filter_map(name).collect();
                labels.sort_unstable();
                each(PartNode { vertex: *vertex, labels, properties: self.named(properties) })?;
            }
        }
        Ok(())
    }

    /// Calls `each` with every relationship.
    ///
    /// # Errors
    /// As [`nodes`](Self::nodes).
    pub fn relationships(&self, mut each: impl FnMut(PartRelationship<'_>) -> Done) -> Done {
        if let Some(edges) = &self.edges {
            return self.some(edges, &mut each);
        }
        let (mut found, mut edges) = (Expansion::default(), Vec::new());
        for number in 0..self.types.len() {
            let ty = EdgeTypeId::from_raw(number as u16);
            for sources in self.vertices.chunks(PIECE) {
                (self.check)()?;
                self.graph.expand(sources, ty, Direction::Out, &mut found)?;
                edges.clear();
                for (place, src) in sources.iter().enumerate() {
                    for at in found.offsets[place] as usize..found.offsets[place + 1] as usize {
                        let (dst, ordinal) = (found.neighbours[at], found.ordinals[at]);
                        edges.push(EdgeId { ty, src: *src, dst, ordinal });
                    }
                }
                self.some(&edges, &mut each)?;
            }
        }
        Ok(())
    }

    fn some(&self, edges: &[EdgeId], each: &mut dyn FnMut(PartRelationship<'_>) -> Done) -> Done {
        let mut all = Lists::default();
        for piece in edges.chunks(PIECE) {
            (self.check)()?;
            self.graph.all_edge_properties(piece, &mut all)?;
            for (edge, properties) in piece.iter().zip(all.iter()) {
                let ty = &self.types[usize::from(edge.ty.get())];
                each(PartRelationship { edge: *edge, ty, properties: self.named(properties) })?;
            }
        }
        Ok(())
    }

    /// Labels of a node, as a relationship shows its ends.
    ///
    /// # Errors
    /// If the graph cannot be read.
    pub fn node(&self, vertex: VertexId) -> Result<PartNode<'_>, QueryError> {
        let (mut sets, mut all) = (Lists::default(), Lists::default());
        self.graph.labels(&[vertex], &mut sets)?;
        self.graph.all_vertex_properties(&[vertex], &mut all)?;
        let name = |label: &telar_graph::LabelId| self.labels[usize::from(label.get())].as_str();
        let mut labels: Vec<&str> = sets.items.iter().map(name).collect();
        labels.sort_unstable();
        Ok(PartNode { vertex, labels, properties: self.named(&all.items) })
    }
}
