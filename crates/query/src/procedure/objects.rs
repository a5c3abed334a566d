//! Every object that an index is about, where the index itself cannot be read.

use telar_graph::{
    Direction, EdgeId, EdgeTypeId, Expansion, IndexUnavailable, LabelId, ReadError, VertexId,
};

use super::CallContext;
use crate::query_error::QueryError;

/// Ids of vertices that are looked at together.
const STEP: u64 = 1024;

/// True if the objects say what the index does not.
pub(super) fn can_be_scanned(error: &ReadError) -> bool {
    matches!(error, ReadError::Index(e) if !matches!(e, IndexUnavailable::Damaged(_)))
}

/// Calls `f` with the vertices that have a label, some at a time.
pub(super) fn for_each_vertices(
    call: &CallContext<'_>,
    label: LabelId,
    mut f: impl FnMut(&mut Vec<VertexId>) -> Result<(), QueryError>,
) -> Result<(), QueryError> {
    let graph = call.graph();
    let mut found: Vec<VertexId> = Vec::new();
    for ids in graph.partitions().all(STEP) {
        call.check()?;
        found.clear();
        graph.scan(Some(label), ids.start, ids.end, &mut found)?;
        f(&mut found)?;
    }
    Ok(())
}

/// Calls `f` with the edges of a type, some at a time.
pub(super) fn for_each_edges(
    call: &CallContext<'_>,
    ty: EdgeTypeId,
    mut f: impl FnMut(&[EdgeId]) -> Result<(), QueryError>,
) -> Result<(), QueryError> {
    let graph = call.graph();
    let (mut sources, mut lists) = (Vec::new(), Expansion::default());
    for ids in graph.partitions().all(STEP) {
        call.check()?;
        sources.clear();
        graph.scan(None, ids.start, ids.end, &mut sources)?;
        graph.expand(&sources, ty, Direction::Out, &mut lists)?;
        let mut edges: Vec<EdgeId> = Vec::new();
        for (at, src) in sources.iter().enumerate() {
            for place in lists.offsets[at] as usize..lists.offsets[at + 1] as usize {
                let (dst, ordinal) = (lists.neighbours[place], lists.ordinals[place]);
                edges.push(EdgeId { ty, src: *src, dst, ordinal });
            }
        }
        f(&edges)?;
    }
    Ok(())
}
