//! Subqueries.

use super::prelude::*;

/// Runs a plan that begins with `Argument` for the rows of the input.
#[derive(Debug, Clone)]
pub(crate) struct Apply {
    pub(crate) input: Plan,
    pub(crate) inner: Plan,
    /// Numbers the outer rows.
    pub(crate) row: Slot,
    /// What the inner plan adds to a row.
    pub(crate) columns: Vec<Slot>,
    /// Rows for which the inner plan has none stay, with nulls in these.
    pub(crate) optional: Option<Vec<Slot>>,
    /// The inner plan returns rows; otherwise it is run for what it does, and the outer rows go on.
    pub(crate) returns: bool,
    /// Runs the inner plan for one row at a time, as its operators demand; then only the `columns`
    /// of it are added to the row.
    pub(crate) by_row: bool,
}

impl Apply {
    /// Whether its rows go on while the inner plan finds more.
    pub(crate) fn streams(&self) -> bool {
        self.by_row && self.returns && self.optional.is_none() && !self.inner.writes()
    }
}

impl Operator for Apply {
    input!(input);
    inner!(inner);
    exprs!();

    fn reads(&self) -> Vec<Slot> {
        Vec::new()
    }

    fn binds(&self) -> Vec<Slot> {
        std::iter::once(self.row).chain(self.optional.iter().flatten().copied()).collect()
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
        match (self.returns, &self.optional) {
            (false, _) => rows.first,
            // And one where there is none.
            (true, Some(_)) => rows.first * (rows.second + (-rows.second).exp()),
            (true, None) => rows.first * rows.second,
        }
    }

    fn explain(&self, p: &Printer<'_>) -> (&'static str, String) {
        match (&self.optional, self.returns) {
            (Some(slots), _) => ("OptionalApply", p.slots(slots.iter().copied())),
            (None, true) => ("Apply", String::new()),
            (None, false) => ("SubqueryForeach", String::new()),
        }
    }
}
