//! Projection to some columns.

use super::prelude::*;

/// Keeps these columns only.
#[derive(Debug, Clone)]
pub(crate) struct Keep {
    pub(crate) input: Plan,
    pub(crate) slots: Vec<Slot>,
}

impl Operator for Keep {
    input!(input);
    inner!();
    exprs!();

    fn reads(&self) -> Vec<Slot> {
        self.slots.clone()
    }

    fn binds(&self) -> Vec<Slot> {
        Vec::new()
    }

    fn shape(&self) -> Shape {
        Shape::Projects
    }

    leaves_graph_alone!();

    fn estimate(&self, _: &Counts<'_>, rows: InputRows<'_>, _: &mut Facts) -> f64 {
        rows.first
    }

    fn explain(&self, p: &Printer<'_>) -> (&'static str, String) {
        ("Keep", p.slots(self.slots.iter().copied()))
    }
}
