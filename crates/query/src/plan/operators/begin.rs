//! Leaves of plans.

use super::prelude::*;

/// One row without columns.
#[derive(Debug, Clone)]
pub(crate) struct Unit;

impl Operator for Unit {
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
        Shape::Begins
    }

    leaves_graph_alone!();

    fn estimate(&self, _: &Counts<'_>, _: InputRows<'_>, _: &mut Facts) -> f64 {
        1.0
    }

    fn explain(&self, _: &Printer<'_>) -> (&'static str, String) {
        ("Unit", String::new())
    }
}

/// Rows of the plan around an inner plan.
#[derive(Debug, Clone)]
pub(crate) struct Argument;

impl Operator for Argument {
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
        Shape::Begins
    }

    leaves_graph_alone!();

    fn estimate(&self, _: &Counts<'_>, rows: InputRows<'_>, _: &mut Facts) -> f64 {
        rows.outer
    }

    fn explain(&self, _: &Printer<'_>) -> (&'static str, String) {
        ("Argument", String::new())
    }
}
