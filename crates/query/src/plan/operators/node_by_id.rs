//! Seek of nodes by their ids.

use super::prelude::*;

/// The node with an id, or the nodes whose ids are in a list, for every row.
#[derive(Debug, Clone)]
pub(crate) struct NodeById {
    pub(crate) input: Plan,
    pub(crate) slot: Slot,
    pub(crate) id: Expr,
    /// True for element ids, which are strings; false for numbers.
    pub(crate) element: bool,
    /// True if `id` is a list of ids.
    pub(crate) any: bool,
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

    fn estimate(&self, _: &Counts<'_>, rows: InputRows<'_>, facts: &mut Facts) -> f64 {
        rows.first * facts.given_ids(&self.id, self.any)
    }

    fn explain(&self, p: &Printer<'_>) -> (&'static str, String) {
        let function = if self.element { "elementId" } else { "id" };
        let (slot, id) = (p.slot(self.slot), p.expr(&self.id));
        let is = if self.any { "IN" } else { "=" };
        ("NodeByIdSeek", format!("({slot}) {function}({slot}) {is} {id}"))
    }
}
