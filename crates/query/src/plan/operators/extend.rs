//! Columns that are computed.

use super::prelude::*;

/// Adds columns, each of which may read those before it.
#[derive(Debug, Clone)]
pub(crate) struct Extend {
    pub(crate) input: Plan,
    pub(crate) items: Vec<(Slot, Expr)>,
}

impl Operator for Extend {
    input!(input);
    inner!();
    exprs!(items);

    fn reads(&self) -> Vec<Slot> {
        Vec::new()
    }

    fn binds(&self) -> Vec<Slot> {
        self.items.iter().map(|(slot, _)| *slot).collect()
    }

    fn shape(&self) -> Shape {
        Shape::Computes
    }

    leaves_graph_alone!();

    fn estimate(&self, counts: &Counts<'_>, rows: InputRows<'_>, facts: &mut Facts) -> f64 {
        for (slot, expr) in &self.items {
            facts.alias(*slot, expr);
            let values = counts.distinct_values(expr, rows.first, facts);
            facts.cap_distinct(*slot, values);
        }
        rows.first
    }

    fn explain(&self, p: &Printer<'_>) -> (&'static str, String) {
        ("Projection", p.assignments(self.items.iter().map(|(slot, e)| (*slot, e))))
    }
}
