//! Scan of nodes.

use telar_graph::VertexId;

use super::{Exec, Operator, Ramp, Source};
use crate::batch::{Batch, Column};
use crate::plan;
use crate::query_error::QueryError;

/// Each of `rows` with its part of `found`, as one batch: row number and vertex in step.
pub(super) fn joined(rows: &Batch, numbers: &[u32], slot: usize, found: Vec<VertexId>) -> Batch {
    let mut out = rows.gather(numbers);
    out.set(slot, Column::from(found));
    out
}

/// Every node, or every node with a label, for each row of the input.
pub(crate) struct NodeScan<'p> {
    input: Source<'p>,
    plan: &'p plan::NodeScan,
    /// The positions at which the scan of a row begins and, if not at the last one, ends.
    range: (u64, u64),
    ramp: Ramp,
    /// The rows being joined, which of them comes next, and up to where its scan is.
    state: Option<(Batch, usize, u64)>,
}

impl<'p> NodeScan<'p> {
    pub(crate) fn new(input: Source<'p>, plan: &'p plan::NodeScan, ramp: Ramp) -> Self {
        Self::part(input, plan, (0, u64::MAX), ramp)
    }

    /// Scans only nodes at these positions.
    pub(crate) fn part(
        input: Source<'p>,
        plan: &'p plan::NodeScan,
        range: (u64, u64),
        ramp: Ramp,
    ) -> Self {
        Self { input, plan, range, ramp, state: None }
    }
}

impl Operator for NodeScan<'_> {
    fn next(&mut self, cx: &mut Exec<'_>) -> Result<Option<Batch>, QueryError> {
        /// Positions looked at in one step, at most.
        const STEP_MAX: u64 = 4096;
        loop {
            let (rows, row, from) = match self.state.take() {
                Some(state) => state,
                None => match self.input.next(cx)? {
                    Some(rows) => (rows, 0, self.range.0),
                    None => return Ok(None),
                },
            };
            cx.check()?;
            let label = self.plan.label.as_ref().map(|name| name.find(cx.graph()));
            let partitions = cx.graph().partitions();
            let bound = match label {
                // Nothing ever had this label.
                Some(None) => 0,
                _ => partitions.positions().min(self.range.1),
            };
            let mut found = Vec::new();
            let mut at = from;
            let mut step = if self.ramp.is_full() { STEP_MAX } else { self.ramp.rows() as u64 };
            let wanted = self.ramp.step();
            while at < bound && found.len() < wanted {
                let ids = partitions.ids(at, step.min(bound - at));
                step = STEP_MAX.min(4 * step);
                cx.check()?;
                cx.graph().scan(label.flatten(), ids.start, ids.end, &mut found)?;
                at += ids.end.get() - ids.start.get();
            }
            if at < bound {
                self.state = Some((rows.clone(), row, at));
            } else {
                if self.plan.for_relationships && self.range.1 == u64::MAX {
                    found.extend(cx.graph().deleted_connected());
                }
                if row + 1 < rows.rows() {
                    self.state = Some((rows.clone(), row + 1, self.range.0));
                }
            }
            if !found.is_empty() {
                let numbers = vec![row as u32; found.len()];
                return Ok(Some(joined(&rows, &numbers, self.plan.slot, found)));
            }
        }
    }
}
