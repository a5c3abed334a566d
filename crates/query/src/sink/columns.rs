//! A whole result as columns: what programs keep that look at columns rather than at rows.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::Arc;

use telar_graph::column::Column;
use telar_graph::{EdgeId, Value, VertexId};

use super::{Rows, Sink, Summary};
use crate::entities::{Entities, Node, Relationship};
use crate::query_error::QueryError;
use crate::result::QueryResult;

/// A result, column by column, with the nodes and relationships that are in it. As a [`Sink`] it
/// keeps what it is given.
///
/// Texts are copied behind each other ([`Column::Packed`]); numbers are copied once.
///
/// # Examples
/// ```
/// use telar_graph::column::Column;
/// use telar_query::Columns;
///
/// let columns = Columns::of([("n".into(), Column::from(vec![1, 2, 3]))]);
/// assert_eq!(columns.row_count(), 3);
/// assert_eq!(columns.column(0).ints(), Some(&[1, 2, 3][..]));
/// ```
#[derive(Debug, Default)]
pub struct Columns {
    names: Vec<Arc<str>>,
    columns: Vec<Column>,
    rows: usize,
    nodes: HashMap<VertexId, Arc<Node>>,
    relationships: HashMap<EdgeId, Arc<Relationship>>,
}

impl Columns {
    /// These columns, without nodes and relationships.
    ///
    /// # Panics
    /// If they have different lengths.
    #[must_use]
    pub fn of(columns: impl IntoIterator<Item = (Arc<str>, Column)>) -> Self {
        let (names, columns): (Vec<_>, Vec<_>) = columns.into_iter().unzip();
        let rows = columns.first().map_or(0, Column::len);
        assert!(columns.iter().all(|column| column.len() == rows), "columns of different lengths");
        Self { names, columns, rows, ..Self::default() }
    }

    /// The same with what the nodes and relationships in them are.
    #[must_use]
    pub fn with_entities(
        self,
        nodes: impl IntoIterator<Item = (VertexId, Node)>,
        relationships: impl IntoIterator<Item = (EdgeId, Relationship)>,
    ) -> Self {
        let nodes = nodes.into_iter().map(|(vertex, node)| (vertex, Arc::new(node))).collect();
        let relationships =
            relationships.into_iter().map(|(edge, r)| (edge, Arc::new(r))).collect();
        Self { nodes, relationships, ..self }
    }

    /// Names of the columns.
    #[must_use]
    pub fn names(&self) -> &[Arc<str>] {
        &self.names
    }

    /// Number of rows.
    #[must_use]
    pub fn row_count(&self) -> usize {
        self.rows
    }

    /// The values of a column.
    ///
    /// # Panics
    /// If there is no such column.
    #[must_use]
    pub fn column(&self, column: usize) -> &Column {
        &self.columns[column]
    }

    /// A node of the result; none if it is not in it.
    #[must_use]
    pub fn node(&self, vertex: VertexId) -> Option<&Arc<Node>> {
        self.nodes.get(&vertex)
    }

    /// A relationship of the result; none if it is not in it.
    #[must_use]
    pub fn relationship(&self, edge: &EdgeId) -> Option<&Arc<Relationship>> {
        self.relationships.get(edge)
    }

    /// The nodes of the result, each once, by number.
    #[must_use]
    pub fn nodes(&self) -> Vec<VertexId> {
        let mut all: Vec<_> = self.nodes.keys().copied().collect();
        all.sort_unstable();
        all
    }

    /// The relationships of the result, each once, in their order.
    #[must_use]
    pub fn relationships(&self) -> Vec<EdgeId> {
        let mut all: Vec<_> = self.relationships.keys().copied().collect();
        all.sort_unstable();
        all
    }

    /// The rows from `from` on.
    ///
    /// # Panics
    /// If there are fewer.
    #[must_use]
    pub fn rows_from(&self, from: usize) -> Self {
        let columns = self.columns.iter().map(|column| column.slice(from, self.rows)).collect();
        Self {
            names: self.names.clone(),
            columns,
            rows: self.rows - from,
            nodes: self.nodes.clone(),
            relationships: self.relationships.clone(),
        }
    }

    /// Hands all rows to `sink`, at once.
    ///
    /// # Errors
    /// Those of the sink.
    pub fn send(&self, sink: &mut dyn Sink) -> Result<(), QueryError> {
        sink.columns(&self.names)?;
        self.send_rows(sink)
    }

    /// The same for a sink that knows the names of the columns.
    ///
    /// # Errors
    /// Those of the sink.
    pub fn send_rows(&self, sink: &mut dyn Sink) -> Result<(), QueryError> {
        if self.rows == 0 { Ok(()) } else { sink.rows(&Rows::columns(self)) }
    }

    fn keep_node(&mut self, vertex: VertexId, rows: &Rows<'_>) -> Result<(), QueryError> {
        if let Entry::Vacant(place) = self.nodes.entry(vertex) {
            place.insert(rows.node(vertex)?);
        }
        Ok(())
    }

    fn keep_relationship(&mut self, edge: EdgeId, rows: &Rows<'_>) -> Result<(), QueryError> {
        if let Entry::Vacant(place) = self.relationships.entry(edge) {
            place.insert(rows.relationship(edge)?);
        }
        Ok(())
    }

    /// Keeps the nodes and relationships of a value.
    fn keep(&mut self, value: &Value, rows: &Rows<'_>) -> Result<(), QueryError> {
        match value {
            Value::Vertex(vertex) => self.keep_node(*vertex, rows),
            Value::Edge(edge) => self.keep_relationship(**edge, rows),
            Value::List(values) => values.iter().try_for_each(|value| self.keep(value, rows)),
            Value::Map(map) => map.values().try_for_each(|value| self.keep(value, rows)),
            Value::Path(path) => {
                path.vertices().iter().try_for_each(|vertex| self.keep_node(*vertex, rows))?;
                path.edges().iter().try_for_each(|edge| self.keep_relationship(*edge, rows))
            }
            _ => Ok(()),
        }
    }
}

impl QueryResult {
    /// The same result, row by row.
    #[must_use]
    pub fn of_columns(columns: &Columns, summary: Summary) -> Self {
        let row = |row| (0..columns.columns.len()).map(|c| columns.columns[c].get(row)).collect();
        let nodes = columns.nodes.iter().map(|(vertex, node)| (*vertex, Node::clone(node)));
        let relationships = columns.relationships.iter();
        let relationships = relationships.map(|(edge, found)| (*edge, Relationship::clone(found)));
        let Summary { kind, counters, at, plan, notifications } = summary;
        Self {
            columns: columns.names.clone(),
            rows: (0..columns.rows).map(row).collect(),
            entities: Entities { nodes: nodes.collect(), relationships: relationships.collect() },
            kind,
            counters,
            at,
            plan,
            notifications,
        }
    }
}

impl Sink for Columns {
    fn columns(&mut self, columns: &[Arc<str>]) -> Result<(), QueryError> {
        let empty = || columns.iter().map(|_| Column::packed()).collect();
        *self = Self { names: columns.to_vec(), columns: empty(), ..Self::default() };
        Ok(())
    }

    fn takes_columns(&self) -> bool {
        true
    }

    fn rows(&mut self, rows: &Rows<'_>) -> Result<(), QueryError> {
        for at in 0..self.columns.len() {
            let column = rows.column(at);
            self.columns[at].append(&column);
            match &*column {
                Column::Vertices(vertices) => {
                    vertices
                        .iter()
                        .flatten()
                        .try_for_each(|vertex| self.keep_node(vertex, rows))?;
                }
                Column::Edges(edges) => {
                    edges.iter().flatten().try_for_each(|e| self.keep_relationship(e, rows))?;
                }
                Column::Same(value, _) => self.keep(value, rows)?,
                Column::Values(values) => {
                    values.iter().try_for_each(|value| self.keep(value, rows))?;
                }
                _ => {}
            }
        }
        self.rows += rows.len();
        Ok(())
    }
}
