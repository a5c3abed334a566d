//! Operators as the planner sees them. How they run is in `exec`.

use super::Plan;
use super::effects::Effects;
use crate::batch::Slot;
use crate::estimate::{Counts, Facts, InputRows};
use crate::expr::Expr;
use crate::expr::print::Printer;

/// Operator of a plan. No method has a default, so a new operator must answer each of them, and no
/// walk over plans can forget one.
pub(crate) trait Operator {
    /// Plan that it reads its rows from, if there is exactly one.
    fn input(&self) -> Option<&Plan>;
    /// Mutable [`input`](Self::input).
    fn input_mut(&mut self) -> Option<&mut Plan>;
    /// Inner plan, which begins with `Argument`.
    fn inner(&self) -> Option<&Plan>;
    /// Mutable [`inner`](Self::inner).
    fn inner_mut(&mut self) -> Option<&mut Plan>;
    /// Calls `f` with each of its own expressions.
    fn exprs<'p>(&'p self, f: &mut dyn FnMut(&'p Expr));
    /// Mutable [`exprs`](Self::exprs).
    fn exprs_mut<'p>(&'p mut self, f: &mut dyn FnMut(&'p mut Expr));
    /// Variables that it reads, without those of its expressions.
    fn reads(&self) -> Vec<Slot>;
    /// Variables that it binds.
    fn binds(&self) -> Vec<Slot>;
    /// Relation between its rows and those of its input.
    fn shape(&self) -> Shape;
    /// Adds its reads and writes of the graph, without those of its expressions and its inner plan.
    /// May be too many, never too few.
    fn effects(&self, effects: &mut Effects);
    /// True if it changes the graph.
    fn writes(&self) -> bool;
    /// True if it is deterministic for one state of the graph, apart from its expressions.
    fn is_repeatable(&self) -> bool;
    /// Estimated rows that it returns. Notes the facts that it implies.
    fn estimate(&self, counts: &Counts<'_>, rows: InputRows<'_>, facts: &mut Facts) -> f64;
    /// Name and details in `EXPLAIN`.
    fn explain(&self, p: &Printer<'_>) -> (&'static str, String);
}

/// Relation between the rows of an operator and those of its input.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Shape {
    /// It has no input: a leaf of the plan.
    Begins,
    /// Row-wise: any number of rows for each row of the input, with its columns.
    Finds,
    /// Row-wise: at most one row for each row of the input, with its columns.
    Computes,
    /// One row for each row of the input, without some of its columns.
    Projects,
    /// One row for each row of the input, or for `MERGE` several. It changes the graph for each.
    Changes,
    /// Some of the rows of the input, in their order.
    Passes,
    /// Pipeline breaker: it reads all rows before it returns the first.
    Gathers,
    /// Any other relation.
    Combines,
}

/// A value that holds expressions.
pub(crate) trait HasExprs {
    /// Calls `f` with each expression.
    fn exprs<'p>(&'p self, f: &mut dyn FnMut(&'p Expr));
    /// Mutable [`exprs`](Self::exprs).
    fn exprs_mut<'p>(&'p mut self, f: &mut dyn FnMut(&'p mut Expr));
}

impl HasExprs for Expr {
    fn exprs<'p>(&'p self, f: &mut dyn FnMut(&'p Expr)) {
        f(self);
    }

    fn exprs_mut<'p>(&'p mut self, f: &mut dyn FnMut(&'p mut Expr)) {
        f(self);
    }
}

/// Variables and flags, which hold no expressions.
macro_rules! without_exprs {
    ($($of:ty),*) => {$(
        impl HasExprs for $of {
            fn exprs<'p>(&'p self, _: &mut dyn FnMut(&'p Expr)) {}

            fn exprs_mut<'p>(&'p mut self, _: &mut dyn FnMut(&'p mut Expr)) {}
        }
    )*};
}

without_exprs!(Slot, bool);

impl<A: HasExprs, B: HasExprs> HasExprs for (A, B) {
    fn exprs<'p>(&'p self, f: &mut dyn FnMut(&'p Expr)) {
        self.0.exprs(f);
        self.1.exprs(f);
    }

    fn exprs_mut<'p>(&'p mut self, f: &mut dyn FnMut(&'p mut Expr)) {
        self.0.exprs_mut(f);
        self.1.exprs_mut(f);
    }
}

impl<T: HasExprs> HasExprs for Option<T> {
    fn exprs<'p>(&'p self, f: &mut dyn FnMut(&'p Expr)) {
        self.iter().for_each(|part| part.exprs(f));
    }

    fn exprs_mut<'p>(&'p mut self, f: &mut dyn FnMut(&'p mut Expr)) {
        self.iter_mut().for_each(|part| part.exprs_mut(f));
    }
}

impl<T: HasExprs> HasExprs for Vec<T> {
    fn exprs<'p>(&'p self, f: &mut dyn FnMut(&'p Expr)) {
        self.iter().for_each(|part| part.exprs(f));
    }

    fn exprs_mut<'p>(&'p mut self, f: &mut dyn FnMut(&'p mut Expr)) {
        self.iter_mut().for_each(|part| part.exprs_mut(f));
    }
}
