//! `UNWIND`.

use super::prelude::*;
use crate::estimate::LIST;

/// One row for each element of a list.
#[derive(Debug, Clone)]
pub(crate) struct Unwind {
    pub(crate) input: Plan,
    pub(crate) slot: Slot,
    pub(crate) list: Expr,
}

impl Operator for Unwind {
    input!(input);
    inner!();
    exprs!(list);

    fn reads(&self) -> Vec<Slot> {
        Vec::new()
    }

    fn binds(&self) -> Vec<Slot> {
        vec![self.slot]
    }

    fn shape(&self) -> Shape {
        Shape::Finds
    }

    leaves_graph_alone!();

    fn estimate(&self, _: &Counts<'_>, rows: InputRows<'_>, facts: &mut Facts) -> f64 {
        facts.bind_element(self.slot, &self.list);
        rows.first * facts.list_length(&self.list, LIST)
    }

    fn explain(&self, p: &Printer<'_>) -> (&'static str, String) {
        ("Unwind", format!("{} AS {}", p.expr(&self.list), p.slot(self.slot)))
    }
}
