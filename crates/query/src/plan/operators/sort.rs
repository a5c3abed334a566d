//! Sort.

use super::prelude::*;
use crate::estimate::constant;

/// Rows of its input, sorted.
#[derive(Debug, Clone)]
pub(crate) struct Sort {
    pub(crate) input: Plan,
    /// Keys, each with true if it is descending.
    pub(crate) keys: Vec<(Expr, bool)>,
    /// Number of rows to keep, the first ones; `None` for all.
    pub(crate) top: Option<Expr>,
    /// True if the input is in the order of the first key, and is read only as far as needed.
    pub(crate) in_order: bool,
}

impl Operator for Sort {
    input!(input);
    inner!();
    exprs!(keys, top);

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
        self.top.as_ref().map_or(rows.first, |top| rows.first.min(constant(top)))
    }

    fn explain(&self, p: &Printer<'_>) -> (&'static str, String) {
        let keys = self.keys.iter().map(|(key, descending)| p.sort_key(key, *descending));
        let keys = keys.collect::<Vec<_>>().join(", ");
        match &self.top {
            Some(top) => {
                let name = if self.in_order { "PartialTop" } else { "Top" };
                (name, format!("{keys} LIMIT {}", p.expr(top)))
            }
            None => ("Sort", keys),
        }
    }
}
