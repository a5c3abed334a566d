//! `DELETE` and `DETACH DELETE`.
//!
//! Everything that the clause deletes is collected first, over all rows; then relationships go
//! before nodes, so that the order in which they were named does not matter.

use std::collections::BTreeSet;

use telar_graph::{EdgeId, Value, VertexId};

use super::memory::Held;
use super::spill::Rows;
use super::{Exec, Operator, Source};
use crate::batch::Batch;
use crate::exec::eval::eval;
use crate::plan;
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

    /// Bytes that it takes: a tree is about three quarters full.
    fn bytes(&self) -> usize {
        let vertices = self.vertices.len() * size_of::<VertexId>();
        (vertices + self.edges.len() * size_of::<EdgeId>()) * 4 / 3
    }

    fn delete(
        mut self,
        detach: bool,
        held: &mut Held,
        cx: &mut Exec<'_>,
    ) -> Result<(), QueryError> {
        if detach {
            let mut edges: Vec<EdgeId> = Vec::new();
            for vertex in &self.vertices {
                cx.check()?;
                cx.update()?.edges_at(*vertex, &mut edges)?;
                self.edges.extend(edges.drain(..));
            }
            held.set(self.bytes(), cx)?;
        }
        for edge in self.edges {
            cx.check()?;
            if cx.deleted_edges.insert(edge) && cx.update()?.delete_edge(edge)? {
                cx.counters.relationships_deleted += 1;
            }
        }
        for vertex in self.vertices {
            if !cx.deleted_vertices.contains(&vertex) {
                cx.check()?;
                let mut existed = Vec::new();
                cx.graph().vertices_exist(&[vertex], &mut existed)?;
                cx.update()?.delete_vertex(vertex, detach)?;
                cx.deleted_vertices.insert(vertex);
                cx.counters.nodes_deleted += u64::from(existed[0]);
            }
        }
        Ok(())
    }
}

/// Deletes a node, a relationship or all of a path.
pub(crate) fn delete_one(
    object: &Value,
    detach: bool,
    cx: &mut Exec<'_>,
) -> Result<(), QueryError> {
    let mut targets = Targets::default();
    targets.add(object)?;
    targets.delete(detach, &mut Held::of("ProcedureCall"), cx)
}

pub(crate) struct Delete<'p> {
    input: Source<'p>,
    plan: &'p plan::Delete,
    rows: Rows,
    /// What is to be deleted, and then what was.
    held: Held,
    done: bool,
}

impl<'p> Delete<'p> {
    pub(crate) fn new(input: Source<'p>, plan: &'p plan::Delete) -> Self {
        let rows = Rows::of("Delete");
        Self { input, plan, rows, held: Held::of("Delete"), done: false }
    }
}

impl Operator for Delete<'_> {
    fn next(&mut self, cx: &mut Exec<'_>) -> Result<Option<Batch>, QueryError> {
        if !self.done {
            let mut targets = Targets::default();
            while let Some(rows) = self.input.next(cx)? {
                cx.check()?;
                for target in &self.plan.targets {
                    let values = eval(target, &rows, cx)?;
                    for row in 0..rows.rows() {
                        targets.add(&values.get(row))?;
                    }
                }
                self.held.set(targets.bytes(), cx)?;
                self.rows.push(rows, cx)?;
            }
            targets.delete(self.plan.detach, &mut self.held, cx)?;
            self.done = true;
        }
        self.rows.pop(cx)
    }
}
