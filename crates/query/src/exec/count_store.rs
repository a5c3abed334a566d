//! How many nodes or relationships there are, as the graph knows it.

use telar_graph::{Direction, EdgeTypeId, Expansion, Graph, LabelId, ReadError, Value, VertexId};

use super::{Exec, Operator};
use crate::batch::{Batch, Column};
use crate::plan::{self, Counted};
use crate::query_error::QueryError;

/// Vertex numbers looked at in one step, where the graph does not know.
const STEP: usize = 4096;

/// One row with a count.
pub(crate) struct CountStore<'p> {
    plan: Option<&'p plan::CountStore>,
}

impl<'p> CountStore<'p> {
    pub(crate) fn new(plan: &'p plan::CountStore) -> Self {
        Self { plan: Some(plan) }
    }
}

impl Operator for CountStore<'_> {
    fn next(&mut self, cx: &mut Exec<'_>) -> Result<Option<Batch>, QueryError> {
        let Some(plan) = self.plan.take() else { return Ok(None) };
        let count = match &plan.what {
            Counted::Nodes(None) => nodes(None, cx)?,
            Counted::Nodes(Some(label)) => match label.find(cx.graph()) {
                Some(label) => nodes(Some(label), cx)?,
                None => 0,
            },
            Counted::Relationships(types) => {
                let mut count = 0;
                for ty in types.ids(cx.graph()).iter().copied() {
                    count += relationships(ty, cx)?;
                }
                count
            }
        };
        let mut row = Batch::empty(1);
        for slot in &plan.slots {
            row.set(*slot, Column::Same(Value::Int(count as i64), 1));
        }
        Ok(Some(row))
    }
}

fn nodes(label: Option<LabelId>, cx: &mut Exec<'_>) -> Result<u64, QueryError> {
    if let Some(count) = cx.graph().count_vertices(label)? {
        return Ok(count);
    }
    let mut count = 0;
    each_step(label, cx, |_, vertices| {
        count += vertices.len() as u64;
        Ok(())
    })?;
    Ok(count)
}

fn relationships(ty: EdgeTypeId, cx: &mut Exec<'_>) -> Result<u64, QueryError> {
    if let Some(count) = cx.graph().count_edges(ty)? {
        return Ok(count);
    }
    let (mut count, mut degrees) = (0, Vec::new());
    each_step(None, cx, |graph, vertices| {
        degrees.clear();
        graph.degrees(vertices, ty, Direction::Out, &mut degrees)?;
        count += degrees.iter().sum::<u64>();
        Ok(())
    })?;
    let deleted = cx.graph().deleted_connected();
    if !deleted.is_empty() {
        let mut left = Expansion::default();
        cx.graph().expand_left(&deleted, ty, Direction::Out, &mut left)?;
        count += left.neighbours.len() as u64;
    }
    Ok(count)
}

/// Calls `f` with all vertices that have the label, some at a time.
pub(super) fn each_step(
    label: Option<LabelId>,
    cx: &mut Exec<'_>,
    mut f: impl FnMut(&dyn Graph, &[VertexId]) -> Result<(), ReadError>,
) -> Result<(), QueryError> {
    let partitions = cx.graph().partitions();
    let mut vertices = Vec::new();
    for ids in partitions.all(STEP as u64) {
        cx.check()?;
        vertices.clear();
        cx.graph().scan(label, ids.start, ids.end, &mut vertices)?;
        f(cx.graph(), &vertices)?;
    }
    Ok(())
}
