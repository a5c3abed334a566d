//! Results of an algorithm as properties or relationships: in the database, or with a graph.

use std::sync::Arc;

use telar_graph::{Column, Value, ValueMap, VertexId};
use telar_query::{CallContext, QueryError};

use super::algorithm::Algorithm;
use super::catalog::Catalog;
use super::config::wrong;
use super::held::{HeldType, HeldValues};
use super::output::{Data, Nodes, OutputRows};
use super::procedure::{BATCH, Dialect};
use super::selection::Selection;

/// Target of results.
pub(super) struct Target {
    /// Name of the property of nodes, or of the relationships.
    pub(super) property: Option<Arc<str>>,
    /// Type of relationships.
    pub(super) relationship: Option<Arc<str>>,
}

/// Rows of an algorithm as what is stored of them.
pub(super) struct Results<'a> {
    algorithm: &'static Algorithm,
    rows: &'a OutputRows,
    nodes: Nodes<'a>,
    /// Columns of nodes: one, or two of pairs.
    ends: Vec<usize>,
    /// Column of values.
    written: Option<usize>,
    /// Nodes that are marked, ascending, if the rows are only those: see [`Algorithm::marks`].
    marked: Option<Vec<u32>>,
}

impl<'a> Results<'a> {
    pub(super) fn new(algorithm: &'static Algorithm, rows: &'a OutputRows) -> Self {
        let nodes = Nodes(&rows.nodes, Dialect::Algo);
        let (ends, written) = (algorithm.node_columns().collect(), algorithm.written());
        let marked = algorithm.marks.then(|| match rows.columns.first() {
            Some(Data::Vertices(list)) => list.clone(),
            _ => Vec::new(),
        });
        Self { algorithm, rows, nodes, ends, written, marked }
    }

    /// Number of values, or of pairs.
    fn len(&self) -> usize {
        if self.marked.is_some() { self.rows.nodes.len() } else { self.rows.len() }
    }

    fn node(&self, end: usize, row: usize) -> Option<VertexId> {
        if self.marked.is_some() {
            return self.rows.nodes.get(row).copied();
        }
        match self.rows.columns[*self.ends.get(end)?].value(row, &self.nodes) {
            Value::Vertex(node) => Some(node),
            _ => None,
        }
    }

    fn value(&self, row: usize) -> Value {
        if let Some(marked) = &self.marked {
            return Value::Int(marked.binary_search(&(row as u32)).is_ok().into());
        }
        self.written.map_or(Value::Null, |at| self.rows.columns[at].value(row, &self.nodes))
    }

    /// Writes them into the database, in the transaction of the statement. Returns the number of
    /// nodes or relationships.
    pub(super) fn write(
        &self,
        call: &mut CallContext<'_>,
        target: &Target,
    ) -> Result<u64, QueryError> {
        let total = self.len();
        let mut written = 0;
        for row in 0..total {
            if row % BATCH == 0 {
                call.check()?;
                call.progress(row as u64, total as u64);
            }
            let value = self.value(row);
            match (&target.relationship, &target.property) {
                (Some(ty), property) if self.algorithm.is_of_pairs() => {
                    let (Some(from), Some(to)) = (self.node(0, row), self.node(1, row)) else {
                        continue;
                    };
                    let properties = property.iter().map(|name| (Arc::clone(name), value.clone()));
                    let properties: ValueMap = properties.collect();
                    call.changes()?.create_relationship(ty, from, to, properties)?;
                }
                (_, Some(property)) => {
                    let Some(node) = self.node(0, row) else { continue };
                    call.changes()?.set_property(&Value::Vertex(node), property, value)?;
                }
                _ => {}
            }
            written += 1;
        }
        Ok(written)
    }

    /// Keeps them with the graph of this name. Returns the number of nodes or relationships.
    pub(super) fn mutate(
        &self,
        call: &CallContext<'_>,
        catalog: &Catalog,
        name: &str,
        target: &Target,
    ) -> Result<u64, QueryError> {
        let graph = catalog.find(name)?;
        let total = self.len();
        call.room(total.saturating_mul(2 * size_of::<VertexId>() + size_of::<Value>()), name)?;
        let written;
        match (&target.relationship, &target.property) {
            (Some(ty), property) if self.algorithm.is_of_pairs() => {
                let held = self.relationships(call, ty, property.as_ref())?;
                written = held.ends.len();
                catalog.change(name, &graph, call, |selection| add_type(selection, held, name))?;
            }
            (_, Some(property)) => {
                let values = self.values(call)?;
                written = values.nodes.len();
                catalog.change(name, &graph, call, |selection| {
                    if selection.held.values.contains_key(property) {
                        return Err(wrong(format!(
                            "Node property `{property}` already exists in the graph {name}; \
                             gds.graph.nodeProperties.drop forgets it"
                        )));
                    }
                    selection.held.values.insert(Arc::clone(property), Arc::new(values));
                    Ok(())
                })?;
            }
            _ => written = 0,
        }
        Ok(written as u64)
    }

    fn values(&self, call: &CallContext<'_>) -> Result<HeldValues, QueryError> {
        let mut found = Vec::with_capacity(self.len());
        for row in 0..self.len() {
            if row % BATCH == 0 {
                call.check()?;
            }
            if let Some(node) = self.node(0, row) {
                found.push((node, self.value(row)));
            }
        }
        // Where a node comes twice, the last value counts, as if it were written.
        found.sort_by_key(|(node, _)| *node);
        found.reverse();
        found.dedup_by_key(|(node, _)| *node);
        found.reverse();
        let (nodes, values): (Vec<VertexId>, Vec<Value>) = found.into_iter().unzip();
        Ok(HeldValues { nodes: nodes.into(), column: Column::of(values) })
    }

    fn relationships(
        &self,
        call: &CallContext<'_>,
        ty: &Arc<str>,
        property: Option<&Arc<str>>,
    ) -> Result<HeldType, QueryError> {
        let mut ends = Vec::with_capacity(self.rows.len());
        let mut values = Vec::with_capacity(self.rows.len());
        for row in 0..self.rows.len() {
            if row % BATCH == 0 {
                call.check()?;
            }
            let (Some(from), Some(to)) = (self.node(0, row), self.node(1, row)) else { continue };
            ends.push((from, to));
            values.push(match self.value(row) {
                Value::Float(number) => number,
                Value::Int(number) => number as f64,
                _ => f64::NAN,
            });
        }
        let properties = property.map(|name| (Arc::clone(name), values)).into_iter().collect();
        Ok(HeldType { name: Arc::clone(ty), undirected: false, ends, properties })
    }
}

/// Adds relationships of a type that the graph does not have.
fn add_type(selection: &mut Selection, held: HeldType, graph: &str) -> Result<(), QueryError> {
    let stored = selection.types.iter().any(|(name, _)| *name == held.name);
    if stored || selection.held.of_type(&held.name).is_some() {
        return Err(wrong(format!(
            "Relationship type `{}` already exists in the graph {graph}; \
             gds.graph.relationships.drop forgets those that it holds",
            held.name
        )));
    }
    selection.held.types.push(Arc::new(held));
    Ok(())
}
