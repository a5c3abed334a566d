//! What an operator is, beside how it runs.

use super::Plan;
use super::effects::Effects;
use crate::batch::Slot;
use crate::estimate::{Counts, Facts, InputRows};
use crate::expr::Expr;
use crate::expr::print::Printer;

/// An operator of a plan. No method has a default: whoever adds an operator answers each of them,
/// and no walk over plans can forget one.
pub(crate) trait Operator {
    /// The plan it reads its rows from, if there is exactly one.
    fn input(&self) -> Option<&Plan>;
    /// The same, to be changed.
    fn input_mut(&mut self) -> Option<&mut Plan>;
    /// The plan inside of it, which begins with `Argument`.
    fn inner(&self) -> Option<&Plan>;
    /// The same, to be changed.
    fn inner_mut(&mut self) -> Option<&mut Plan>;
    /// Calls `f` with each of its own expressions.
    fn exprs<'p>(&'p self, f: &mut dyn FnMut(&'p Expr));
    /// The same, to be changed.
    fn exprs_mut<'p>(&'p mut self, f: &mut dyn FnMut(&'p mut Expr));
    /// Variables that it reads, beside those of its expressions.
    fn reads(&self) -> Vec<Slot>;
    /// Variables that it binds.
    fn binds(&self) -> Vec<Slot>;
    /// How its rows come of those of its input.
    fn shape(&self) -> Shape;
    /// Adds what it reads of the graph and changes in it, its expressions and the plans inside not
    /// counted. May be too much, never too little.
    fn effects(&self, effects: &mut Effects);
    /// Whether it changes the graph.
    fn writes(&self) -> bool;
    /// Whether it makes the same of the same graph at any time, apart from its expressions.
    fn is_repeatable(&self) -> bool;
    /// Rows that it is expected to return. What it says of its variables is noted in `facts`.
    fn estimate(&self, counts: &Counts<'_>, rows: InputRows<'_>, facts: &mut Facts) -> f64;
    /// Its name and details in `EXPLAIN`.
    fn explain(&self, p: &Printer<'_>) -> (&'static str, String);
}

/// How the rows of an operator come of those of its input.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Shape {
    /// It has no input.
    Begins,
    /// Any number of rows of each row, whose columns they keep.
    Finds,
    /// One row of each, or none, with its columns.
    Computes,
    /// One row of each, without some of its columns.
    Projects,
    /// One row of each, or for `MERGE` several, for which it changes the graph.
    Changes,
    /// Some of the rows, as they come.
    Passes,
    /// It reads all rows before it returns the first.
    Gathers,
    /// None of these.
    Combines,
}

/// What holds expressions.
pub(crate) trait HasExprs {
    /// Calls `f` with each of them.
    fn exprs<'p>(&'p self, f: &mut dyn FnMut(&'p Expr));
    /// The same, to be changed.
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

/// Variables and flags that stand beside expressions hold none.
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
