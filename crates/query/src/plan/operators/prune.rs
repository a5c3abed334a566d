//! Projection to the columns that are still read.

use super::prelude::*;

/// Keeps those of these columns that a row has; no operator above reads others.
#[derive(Debug, Clone)]
pub(crate) struct Prune {
    pub(crate) input: Plan,
    pub(crate) slots: Vec<Slot>,
}

impl Operator for Prune {
    input!(input);
    inner!();
    exprs!();

    fn reads(&self) -> Vec<Slot> {
        Vec::new()
    }

    fn binds(&self) -> Vec<Slot> {
        Vec::new()
    }

    fn shape(&self) -> Shape {
        Shape::Computes
    }

    leaves_graph_alone!();

    fn estimate(&self, _: &Counts<'_>, rows: InputRows<'_>, _: &mut Facts) -> f64 {
        rows.first
    }

    fn explain(&self, p: &Printer<'_>) -> (&'static str, String) {
        ("Prune", p.slots(self.slots.iter().copied()))
    }
}
