//! `SHORTEST k`: some of the paths between two nodes.

use super::prelude::*;

/// Keeps some of the paths that an inner plan finds between two nodes.
#[derive(Debug, Clone)]
pub(crate) struct Select {
    pub(crate) input: Plan,
    /// Inner plan that finds the paths; begins with `Argument`, which binds both ends.
    pub(crate) inner: Plan,
    /// Nodes, relationships and lists of relationships, from end to end.
    pub(crate) slots: Vec<Slot>,
    pub(crate) paths: Paths,
}

/// Number of paths between two nodes to keep, shorter ones first.
#[derive(Debug, Clone)]
pub(crate) struct Paths {
    pub(crate) count: Expr,
    /// True if `count` is the number of lengths, each with all its paths.
    pub(crate) groups: bool,
}

impl Operator for Select {
    input!(input);
    inner!(inner);
    exprs!(paths);

    fn reads(&self) -> Vec<Slot> {
        self.slots.clone()
    }

    fn binds(&self) -> Vec<Slot> {
        // Its rows are some of the rows of the inner plan.
        let mut slots = Vec::new();
        self.inner.own_slots(&mut slots);
        slots
    }

    fn shape(&self) -> Shape {
        Shape::Finds
    }

    leaves_graph_alone!();

    fn estimate(&self, _: &Counts<'_>, rows: InputRows<'_>, _: &mut Facts) -> f64 {
        // As if all paths were kept.
        rows.first * rows.second
    }

    fn explain(&self, p: &Printer<'_>) -> (&'static str, String) {
        let name = if self.paths.groups { "SelectPathGroups" } else { "SelectPaths" };
        let ends = self.slots.first().into_iter().chain(self.slots.last()).copied();
        (name, format!("SHORTEST {} BETWEEN {}", p.expr(&self.paths.count), p.slots(ends)))
    }
}

impl HasExprs for Paths {
    fn exprs<'p>(&'p self, f: &mut dyn FnMut(&'p Expr)) {
        f(&self.count);
    }

    fn exprs_mut<'p>(&'p mut self, f: &mut dyn FnMut(&'p mut Expr)) {
        f(&mut self.count);
    }
}
