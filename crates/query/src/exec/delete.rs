//! `DELETE` and `DETACH DELETE`.
//!
//! Everything that the clause deletes is collected first, over all rows; then relationships go
//! before nodes, so that the order in which they were named does not matter.

use std::collections::BTreeSet;

use telar_graph::{EdgeId, Expansion, Value, VertexId};

use super::expand::edge_types;
use super::var_expand::steps;
use super::{Exec, Operator, Source};
use crate::batch::Batch;
use crate::expr::eval::eval;
use crate::plan::{self, Types, Way};
use crate::query_error::QueryError;

#[derive(Default)]
struct Targets {
    vertices: BTreeSet<VertexId>,
    edges: BTreeSet<EdgeId>,
}

impl Targets {
    fn add(&mut self, value: &Value) -> Result<(), QueryError> {
        match value {
            Value::Null => {}
            Value::Vertex(vertex) => {
                self.vertices.insert(*vertex);
            }
            Value::Edge(edge) => {
                self.edges.insert(**edge);
            }
            Value::Path(path) => {
                self.vertices.extend(path.vertices());
                self.edges.extend(path.edges());
            }
            other => {
                let expected = "a node, relationship or path";
                return Err(QueryError::wrong_type(expected, other, "DELETE"));
            }
        }
        Ok(())
    }

    fn delete(mut self, detach: bool, cx: &mut Exec<'_>) -> Result<(), QueryError> {
        if detach {
            let types = edge_types(&Types::Any, cx.graph());
            let mut expansion = Expansion::default();
            for vertex in &self.vertices {
                cx.check()?;
                let found = steps(*vertex, &types, Way::Both, &mut expansion, cx);
                self.edges.extend(found.into_iter().map(|(edge, _)| edge));
            }
        }
        for edge in self.edges {
            if cx.deleted_edges.insert(edge) && cx.update()?.delete_edge(edge)? {
                cx.counters.relationships_deleted += 1;
            }
        }
        for vertex in self.vertices {
            if !cx.deleted_vertices.contains(&vertex) {
                cx.check()?;
                let existed = cx.graph().labels(vertex).is_some();
                cx.update()?.delete_vertex(vertex, detach)?;
                cx.deleted_vertices.insert(vertex);
                cx.counters.nodes_deleted += u64::from(existed);
            }
        }
        Ok(())
    }
}

pub(crate) struct Delete<'p> {
    input: Source<'p>,
    plan: &'p plan::Delete,
    rows: Option<std::vec::IntoIter<Batch>>,
}

impl<'p> Delete<'p> {
    pub(crate) fn new(input: Source<'p>, plan: &'p plan::Delete) -> Self {
        Self { input, plan, rows: None }
    }
}

impl Operator for Delete<'_> {
    fn next(&mut self, cx: &mut Exec<'_>) -> Result<Option<Batch>, QueryError> {
        if self.rows.is_none() {
            let mut batches = Vec::new();
            let mut targets = Targets::default();
            while let Some(rows) = self.input.next(cx)? {
                cx.check()?;
                for target in &self.plan.targets {
                    let values = eval(target, &rows, cx)?;
                    for row in 0..rows.rows() {
                        targets.add(&values.get(row))?;
                    }
                }
                cx.hold(rows.bytes())?;
                batches.push(rows);
            }
            targets.delete(self.plan.detach, cx)?;
            self.rows = Some(batches.into_iter());
        }
        Ok(self.rows.as_mut().and_then(Iterator::next))
    }
}
