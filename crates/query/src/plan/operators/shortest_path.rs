//! Shortest paths between two bound nodes.

use super::prelude::*;

/// One shortest path between two bound nodes, or all shortest ones.
#[derive(Debug, Clone)]
pub(crate) struct ShortestPath {
    pub(crate) input: Plan,
    pub(crate) from: Slot,
    pub(crate) to: Slot,
    /// List of relationships, from `from` to `to`.
    pub(crate) edges: Slot,
    pub(crate) types: Types,
    pub(crate) way: Way,
    pub(crate) min: u64,
    pub(crate) max: Option<u64>,
    /// Condition on every relationship, which is in the slot.
    pub(crate) filter: Option<(Slot, Expr)>,
    /// True for all shortest paths, false for one.
    pub(crate) all: bool,
}

impl Operator for ShortestPath {
    input!(input);
    inner!();
    exprs!(filter);

    fn reads(&self) -> Vec<Slot> {
        vec![self.from, self.to]
    }

    fn binds(&self) -> Vec<Slot> {
        let filter = self.filter.iter().map(|(slot, _)| *slot);
        std::iter::once(self.edges).chain(filter).collect()
    }

    fn shape(&self) -> Shape {
        Shape::Finds
    }

    fn effects(&self, effects: &mut Effects) {
        effects.follows(&self.types);
    }

    only_reads!();

    fn estimate(&self, _: &Counts<'_>, rows: InputRows<'_>, _: &mut Facts) -> f64 {
        rows.first
    }

    fn explain(&self, p: &Printer<'_>) -> (&'static str, String) {
        let name = if self.all { "AllShortestPaths" } else { "ShortestPath" };
        let inner = p.path(self.edges, &self.types, self.min, self.max);
        let pattern = arrow(&p.slot(self.from), &inner, &p.slot(self.to), self.way);
        (name, pattern + &p.each(self.filter.as_ref()))
    }
}
