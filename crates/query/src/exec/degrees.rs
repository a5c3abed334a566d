//! How many relationships an expansion would find, without finding them.
//!
//! What a row has used already is not counted, as an expansion would not find it; a loop, which is
//! in both lists of its node, is one relationship.

use std::sync::Arc;

use telar_graph::{EdgeId, EdgeTypeId, Expansion, Value, VertexId};

use super::expand::{columns, directions, edge_types};
use super::{Exec, Operator, Source};
use crate::batch::{Batch, Column};
use crate::plan::{self, Way};
use crate::query_error::QueryError;

/// Whether an edge is among those of a node that a way leads along.
pub(super) fn leads(edge: EdgeId, from: VertexId, types: &[EdgeTypeId], way: Way) -> bool {
    let ends = match way {
        Way::Out => edge.src == from,
        Way::In => edge.dst == from,
        Way::Both => edge.src == from || edge.dst == from,
    };
    ends && types.contains(&edge.ty)
}

/// The relationships that a row has used, each once, in `out`.
pub(super) fn used_edges(used: &[Arc<Column>], row: usize, out: &mut Vec<EdgeId>) {
    out.clear();
    let mut add = |edge: EdgeId| {
        if !out.contains(&edge) {
            out.push(edge);
        }
    };
    for column in used {
        match &**column {
            Column::Edges(edges) => add(edges[row]),
            column => match column.get(row) {
                Value::Edge(edge) => add(*edge),
                Value::List(list) => {
                    let edges = list.iter().filter_map(|value| match value {
                        Value::Edge(edge) => Some(**edge),
                        _ => None,
                    });
                    edges.for_each(&mut add);
                }
                _ => {}
            },
        }
    }
}

/// Each row with a count, where that is not 0.
pub(crate) struct Degrees<'p> {
    input: Source<'p>,
    plan: &'p plan::Degrees,
    between: Expansion,
}

impl<'p> Degrees<'p> {
    pub(crate) fn new(input: Source<'p>, plan: &'p plan::Degrees) -> Self {
        Self { input, plan, between: Expansion::default() }
    }

    /// The rows whose count is not 0, and their counts.
    fn count(&mut self, rows: &Batch, cx: &Exec<'_>) -> Result<(Vec<u32>, Vec<i64>), QueryError> {
        let p = self.plan;
        let (graph, sources) = (cx.graph(), rows.column(p.from));
        let (mut places, mut vertices) = (Vec::new(), Vec::new());
        for row in 0..rows.rows() {
            if let Some(vertex) = sources.vertex(row) {
                cx.check_vertex(vertex)?;
                places.push(row as u32);
                vertices.push(vertex);
            }
        }
        let types = edge_types(&p.types, graph);
        let (mut counts, mut degrees) = (vec![0_u64; vertices.len()], Vec::new());
        for ty in &types {
            for direction in directions(p.way) {
                degrees.clear();
                graph.degrees(&vertices, *ty, *direction, &mut degrees);
                counts.iter_mut().zip(&degrees).for_each(|(count, degree)| *count += degree);
            }
            if p.way == Way::Both {
                let loops: Vec<_> = vertices.iter().map(|v| (*v, *v)).collect();
                graph.edges_between(&loops, *ty, &mut self.between);
                for (count, at) in counts.iter_mut().zip(self.between.offsets.windows(2)) {
                    *count -= u64::from(at[1] - at[0]);
                }
            }
        }
        let (columns, mut used) = (columns(rows, &p.distinct_from), Vec::new());
        if !columns.is_empty() {
            for ((count, vertex), row) in counts.iter_mut().zip(&vertices).zip(&places) {
                used_edges(&columns, *row as usize, &mut used);
                *count -= used.iter().filter(|e| leads(**e, *vertex, &types, p.way)).count() as u64;
            }
        }
        let left = places.into_iter().zip(counts).filter(|(_, count)| *count > 0);
        Ok(left.map(|(row, count)| (row, count as i64)).unzip())
    }
}

impl Operator for Degrees<'_> {
    fn next(&mut self, cx: &mut Exec<'_>) -> Result<Option<Batch>, QueryError> {
        while let Some(rows) = self.input.next(cx)? {
            cx.check()?;
            let (places, counts) = self.count(&rows, cx)?;
            if !places.is_empty() {
                let mut out = match places.len() == rows.rows() {
                    true => rows,
                    false => rows.gather(&places),
                };
                out.set(self.plan.count, Column::Ints(counts));
                return Ok(Some(out));
            }
        }
        Ok(None)
    }
}
