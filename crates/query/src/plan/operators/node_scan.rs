//! Scan of all nodes, or of those with a label.

use telar_graph::LabelId;

use super::prelude::*;
use crate::plan::Name;

/// All nodes, or those with a label, for every row.
#[derive(Debug, Clone)]
pub(crate) struct NodeScan {
    pub(crate) input: Plan,
    pub(crate) slot: Slot,
    pub(crate) label: Option<Name<LabelId>>,
    /// True if an expansion of all these nodes stands above it. The two find every relationship,
    /// those of deleted nodes included.
    pub(crate) for_relationships: bool,
    /// True if the query asks for this scan (`USING SCAN`).
    pub(crate) hinted: bool,
}

impl Operator for NodeScan {
    input!(input);
    inner!();
    exprs!();

    fn reads(&self) -> Vec<Slot> {
        Vec::new()
    }

    fn binds(&self) -> Vec<Slot> {
        vec![self.slot]
    }

    fn shape(&self) -> Shape {
        Shape::Finds
    }

    fn effects(&self, effects: &mut Effects) {
        effects.finds(self.label.as_ref().map(Name::text));
    }

    only_reads!();

    fn estimate(&self, counts: &Counts<'_>, rows: InputRows<'_>, facts: &mut Facts) -> f64 {
        let Some(label) = &self.label else { return rows.first * counts.node_count() };
        if let Some(objects) = counts.node_objects(label) {
            counts.narrow_to(facts, self.slot, objects);
        }
        rows.first * counts.label_count(label)
    }

    fn explain(&self, p: &Printer<'_>) -> (&'static str, String) {
        match &self.label {
            Some(label) => {
                ("NodeByLabelScan", format!("({}:{})", p.slot(self.slot), print::name(label)))
            }
            None => ("AllNodesScan", format!("({})", p.slot(self.slot))),
        }
    }
}
