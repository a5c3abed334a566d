//! `SKIP`.

use super::prelude::*;
use crate::estimate::constant;

/// Rows of its input after the first `count` rows.
#[derive(Debug, Clone)]
pub(crate) struct Skip {
    pub(crate) input: Plan,
    pub(crate) count: Expr,
}

impl Operator for Skip {
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
        let count = constant(&self.count);
        if count.is_finite() { (rows.first - count).max(0.0) } else { rows.first }
    }

    fn explain(&self, p: &Printer<'_>) -> (&'static str, String) {
        ("Skip", p.expr(&self.count))
    }
}
