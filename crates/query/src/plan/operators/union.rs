//! `UNION ALL`.

use super::prelude::*;

/// Rows of several plans, one plan after the other.
#[derive(Debug, Clone)]
pub(crate) struct Union {
    pub(crate) parts: Vec<Plan>,
}

impl Operator for Union {
    input!();
    inner!();
    exprs!();

    fn reads(&self) -> Vec<Slot> {
        Vec::new()
    }

    fn binds(&self) -> Vec<Slot> {
        Vec::new()
    }

    fn shape(&self) -> Shape {
        Shape::Combines
    }

    leaves_graph_alone!();

    fn estimate(&self, _: &Counts<'_>, rows: InputRows<'_>, _: &mut Facts) -> f64 {
        rows.all.iter().sum()
    }

    fn explain(&self, _: &Printer<'_>) -> (&'static str, String) {
        ("Union", String::new())
    }
}
