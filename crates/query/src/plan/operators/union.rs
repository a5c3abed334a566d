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

    fn effects(&self, _: &mut Effects) {}

    fn writes(&self) -> bool {
        false
    }

    fn is_repeatable(&self) -> bool {
        true
    }

    fn estimate(&self, _: &Counts<'_>, rows: InputRows<'_>, _: &mut Facts) -> f64 {
        rows.all.iter().sum()
    }

    fn explain(&self, _: &Printer<'_>) -> (&'static str, String) {
        ("Union", String::new())
    }
}
