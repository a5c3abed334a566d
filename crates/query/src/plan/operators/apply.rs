//! Subqueries.

use super::prelude::*;

/// Runs an inner plan, which begins with `Argument`, for the rows of the input.
#[derive(Debug, Clone)]
pub(crate) struct Apply {
    pub(crate) input: Plan,
    pub(crate) inner: Plan,
    /// Slot of the number of the outer row.
    pub(crate) row: Slot,
    /// Columns that the inner plan adds to a row.
    pub(crate) columns: Vec<Slot>,
    /// For `OPTIONAL`: a row for which the inner plan finds none stays, with nulls in these
    /// columns.
    pub(crate) optional: Option<Vec<Slot>>,
    /// True if the rows of the inner plan are returned; otherwise it runs for its writes only, and
    /// the outer rows are returned.
    pub(crate) returns: bool,
    /// True if the inner plan must run for one row at a time; then only its `columns` are added to
    /// the row.
    pub(crate) by_row: bool,
}

impl Apply {
    /// True if rows are returned while the inner plan finds more.
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

    leaves_graph_alone!();

    fn estimate(&self, _: &Counts<'_>, rows: InputRows<'_>, _: &mut Facts) -> f64 {
        match (self.returns, &self.optional) {
            (false, _) => rows.first,
            // Plus one row where the inner plan finds none: `e^-n` of the rows.
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
