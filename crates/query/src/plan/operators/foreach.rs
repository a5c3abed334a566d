//! `FOREACH`.

use super::prelude::*;

/// Runs an inner plan for each element of a list, and drops its rows.
#[derive(Debug, Clone)]
pub(crate) struct Foreach {
    pub(crate) input: Plan,
    pub(crate) variable: Slot,
    pub(crate) list: Expr,
    /// Inner plan; begins with `Argument`.
    pub(crate) inner: Plan,
}

impl Operator for Foreach {
    input!(input);
    inner!(inner);
    exprs!(list);

    fn reads(&self) -> Vec<Slot> {
        Vec::new()
    }

    fn binds(&self) -> Vec<Slot> {
        vec![self.variable]
    }

    fn shape(&self) -> Shape {
        Shape::Changes
    }

    fn effects(&self, _: &mut Effects) {}

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
        ("Foreach", format!("{} IN {}", p.slot(self.variable), p.expr(&self.list)))
    }
}
