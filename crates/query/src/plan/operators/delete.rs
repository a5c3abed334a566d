//! `DELETE`.

use super::prelude::*;

/// Deletes nodes and relationships of all rows of its input.
#[derive(Debug, Clone)]
pub(crate) struct Delete {
    pub(crate) input: Plan,
    pub(crate) targets: Vec<Expr>,
    pub(crate) detach: bool,
}

impl Operator for Delete {
    input!(input);
    inner!();
    exprs!(targets);

    fn reads(&self) -> Vec<Slot> {
        Vec::new()
    }

    fn binds(&self) -> Vec<Slot> {
        Vec::new()
    }

    fn shape(&self) -> Shape {
        Shape::Gathers
    }

    fn effects(&self, effects: &mut Effects) {
        effects.deletes();
    }

    fn writes(&self) -> bool {
        true
    }

    fn is_repeatable(&self) -> bool {
        true
    }

    fn estimate(&self, _: &Counts<'_>, rows: InputRows<'_>, _: &mut Facts) -> f64 {
        rows.first
    }

    fn explain(&self, p: &Printer<'_>) -> (&'static str, String) {
        (if self.detach { "DetachDelete" } else { "Delete" }, p.exprs(&self.targets))
    }
}
