//! Pipeline breaker.

use super::prelude::*;

/// Rows of its input, all of which are read before the first is returned.
#[derive(Debug, Clone)]
pub(crate) struct Eager {
    pub(crate) input: Plan,
}

impl Operator for Eager {
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
        Shape::Gathers
    }

    leaves_graph_alone!();

    fn estimate(&self, _: &Counts<'_>, rows: InputRows<'_>, _: &mut Facts) -> f64 {
        rows.first
    }

    fn explain(&self, _: &Printer<'_>) -> (&'static str, String) {
        ("Eager", String::new())
    }
}
