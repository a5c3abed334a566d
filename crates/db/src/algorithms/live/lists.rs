//! Lists of the chosen part of a graph, as live kernels read them: by slot, in place.

use std::cell::RefCell;

use telar_algo::control::{Error, Result};
use telar_algo::live::{Lists, Side};
use telar_graph::{Direction, EdgeTypeId, Graph, Run, VertexId};
use telar_query::QueryError;

use super::slots::Slots;

/// Lists of some types and directions at one snapshot.
pub(super) struct SlotLists<'a> {
    graph: &'a dyn Graph,
    parts: &'a [(EdgeTypeId, Direction)],
    slots: &'a Slots,
    failed: RefCell<Option<QueryError>>,
}

impl<'a> SlotLists<'a> {
    pub(super) fn new(
        graph: &'a dyn Graph,
        parts: &'a [(EdgeTypeId, Direction)],
        slots: &'a Slots,
    ) -> Self {
        Self { graph, parts, slots, failed: RefCell::default() }
    }

    /// The error of a read, if one has stopped the kernel.
    pub(super) fn failed(self) -> Option<QueryError> {
        self.failed.into_inner()
    }
}

impl Lists for SlotLists<'_> {
    fn visit(
        &self,
        vertices: &[u32],
        side: Side,
        each: &mut dyn FnMut(usize, &[u32]),
    ) -> Result<()> {
        let nodes: Vec<VertexId> = vertices.iter().map(|slot| self.slots.id(*slot)).collect();
        let same = self.slots.is_same();
        let mut mapped = Vec::new();
        for (ty, direction) in self.parts {
            let direction = match side {
                Side::Out => *direction,
                Side::In => direction.reverse(),
            };
            let read = self.graph.for_each_run(&nodes, *ty, direction, &mut |place, run| {
                match run {
                    Run::Narrow(ids) if same => return each(place, ids),
                    _ => mapped.clear(),
                }
                match run {
                    Run::Narrow(ids) => {
                        mapped.extend(ids.iter().filter_map(|id| self.slots.get((*id).into())));
                    }
                    Run::Wide(ids) => {
                        mapped.extend(ids.iter().filter_map(|id| self.slots.get(id.get())));
                    }
                }
                each(place, &mapped);
            });
            read.map_err(|error| {
                self.failed.borrow_mut().get_or_insert_with(|| error.into());
                Error::Stopped
            })?;
        }
        Ok(())
    }
}
