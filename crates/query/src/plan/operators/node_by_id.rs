//! Seek of a node by its id.

use super::prelude::*;

/// Node with an id, for every row.
#[derive(Debug, Clone)]
pub(crate) struct NodeById {
    pub(crate) input: Plan,
    pub(crate) slot: Slot,
    pub(crate) id: Expr,
    /// True for an element id, which is a string; false for a number.
    pub(crate) element: bool,
}

impl Operator for NodeById {
    input!(input);
    inner!();
    exprs!(id);

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
        effects.finds(None);
    }

    only_reads!();

    fn estimate(&self, _: &Counts<'_>, rows: InputRows<'_>, _: &mut Facts) -> f64 {
        rows.first
    }

    fn explain(&self, p: &Printer<'_>) -> (&'static str, String) {
        let function = if self.element { "elementId" } else { "id" };
        let (slot, id) = (p.slot(self.slot), p.expr(&self.id));
        ("NodeByIdSeek", format!("({slot}) {function}({slot}) = {id}"))
    }
}
