//! Which aggregations had better group by a node first.

use super::{Aggregate, Plan};
use crate::batch::Slot;
use crate::expr::Expr;

impl Aggregate {
    /// The node of which all keys are properties, if many rows may have the same one. Grouping by
    /// it first reads the properties once per node instead of once per row.
    ///
    /// Only counts do not depend on the order of rows, bit by bit.
    pub(crate) fn grouped_node(&self) -> Option<Slot> {
        let node_of = |key: &Expr| match key {
            Expr::Property(object, _) => match &**object {
                Expr::Slot(slot) => Some(*slot),
                _ => None,
            },
            _ => None,
        };
        let node = node_of(&self.keys.first()?.1)?;
        let same_node = self.keys.iter().all(|(_, key)| node_of(key) == Some(node));
        let counts = self.aggregates.iter().all(|(_, call)| &*call.function == "count");
        (self.by_node && same_node && counts && self.input.repeats(node)).then_some(node)
    }
}

impl Plan {
    /// Whether an expansion stands between where `node` is found and here, or finds it.
    fn repeats(&self, node: Slot) -> bool {
        match self {
            Self::Expand(p) => !p.into || p.input.repeats(node),
            Self::Intersect(_) => true,
            Self::VarExpand(p) => !p.into || p.input.repeats(node),
            Self::NodeScan(p) => p.slot != node && p.input.repeats(node),
            Self::Filter(input, _) | Self::Prune(input, _) => input.repeats(node),
            Self::Parallel(p) => p.input.repeats(node),
            _ => false,
        }
    }
}
