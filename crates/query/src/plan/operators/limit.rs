//! `LIMIT`.

use super::prelude::*;
use crate::estimate::constant;

/// First `count` rows of its input.
#[derive(Debug, Clone)]
pub(crate) struct Limit {
    pub(crate) input: Plan,
    pub(crate) count: Expr,
}

impl Operator for Limit {
    input!(input);
    inner!();
    exprs!(count);

    fn reads(&self) -> Vec<Slot> {
        Vec::new()
    }

    fn binds(&self) -> Vec<Slot> {
        Vec::new()
    }

    fn shape(&self) -> Shape {
        Shape::Passes
    }

    leaves_graph_alone!();

    fn estimate(&self, _: &Counts<'_>, rows: InputRows<'_>, _: &mut Facts) -> f64 {
        rows.first.min(constant(&self.count))
    }

    fn explain(&self, p: &Printer<'_>) -> (&'static str, String) {
        ("Limit", p.expr(&self.count))
    }
}
