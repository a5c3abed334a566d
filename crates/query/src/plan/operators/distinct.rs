//! Duplicate elimination.

use super::prelude::*;

/// Drops rows with the same values in these columns as an earlier row.
#[derive(Debug, Clone)]
pub(crate) struct Distinct {
    pub(crate) input: Plan,
    pub(crate) slots: Vec<Slot>,
}

impl Operator for Distinct {
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
        Shape::Passes
    }

    leaves_graph_alone!();

    fn estimate(&self, counts: &Counts<'_>, rows: InputRows<'_>, facts: &mut Facts) -> f64 {
        let keys: Vec<Expr> = self.slots.iter().map(|slot| Expr::Slot(*slot)).collect();
        counts.group_count(keys.iter(), rows.first, facts)
    }

    fn explain(&self, p: &Printer<'_>) -> (&'static str, String) {
        ("Distinct", p.slots(self.slots.iter().copied()))
    }
}
