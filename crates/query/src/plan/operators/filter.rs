//! Rows for which a condition holds.

use super::prelude::*;

/// Keeps the rows of its input for which a condition holds.
#[derive(Debug, Clone)]
pub(crate) struct Filter {
    pub(crate) input: Plan,
    pub(crate) condition: Expr,
}

impl Operator for Filter {
    input!(input);
    inner!();
    exprs!(condition);

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

    fn estimate(&self, counts: &Counts<'_>, rows: InputRows<'_>, facts: &mut Facts) -> f64 {
        rows.first * counts.selectivity(&self.condition, facts)
    }

    fn explain(&self, p: &Printer<'_>) -> (&'static str, String) {
        ("Filter", p.expr(&self.condition))
    }
}
