//! Rewrite rule: aggregations whose keys are properties of one node group by that node first.

use crate::batch::Slot;
use crate::expr::Expr;
use crate::plan::{Aggregate, Plan};

/// Makes aggregations group by a node first where that reads fewer properties.
pub(super) fn group_by_node(plan: &mut Plan) {
    if let Plan::Aggregate(p) = plan {
        p.by_node = p.grouped_node();
    }
    plan.inputs_mut(&mut group_by_node);
}

impl Aggregate {
    /// Node of which all keys are properties, if many rows may have the same node. Grouping by it
    /// first reads the properties once per node instead of once per row.
    ///
    /// Only for counts: a sum of floats depends on the order of the rows.
    fn grouped_node(&self) -> Option<Slot> {
        let node_of = |key: &Expr| key.property_of_slot().map(|(node, _)| node);
        let node = node_of(&self.keys.first()?.1)?;
        let same_node = self.keys.iter().all(|(_, key)| node_of(key) == Some(node));
        let counts = self.aggregates.iter().all(|(_, call)| &*call.function == "count");
        (same_node && counts && self.input.repeats(node)).then_some(node)
    }
}

impl Plan {
    /// True if many rows may have the same `node`: an expansion finds it, or stands above it.
    fn repeats(&self, node: Slot) -> bool {
        match self {
            Self::Expand(p) => !p.into || p.input.repeats(node),
            Self::Intersect(_) => true,
            Self::VarExpand(p) => !p.into || p.input.repeats(node),
            Self::NodeScan(p) => p.slot != node && p.input.repeats(node),
            Self::Filter(p) => p.input.repeats(node),
            Self::Prune(p) => p.input.repeats(node),
            Self::Parallel(p) => p.input.repeats(node),
            _ => false,
        }
    }
}
