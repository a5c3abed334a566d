//! Quantified path patterns.

use super::prelude::*;

/// Follows a path repeatedly, each time from the end of the one before.
#[derive(Debug, Clone)]
pub(crate) struct Repeat {
    pub(crate) input: Plan,
    /// Inner plan of one repetition: begins with `Argument`, which binds the first node and the
    /// relationships so far, and finds the last node.
    pub(crate) inner: Plan,
    /// Slot of the number of the outer row.
    pub(crate) row: Slot,
    pub(crate) from: Slot,
    pub(crate) to: Slot,
    /// True if `to` is bound already.
    pub(crate) into: bool,
    pub(crate) first: Slot,
    pub(crate) last: Slot,
    /// Relationships of one repetition, in the order of the path.
    pub(crate) relationships: Vec<Slot>,
    /// List of the relationships of all repetitions, in the order of the path.
    pub(crate) edges: Slot,
    /// Variables of a repetition, each with the list of its values, in the order of the path.
    pub(crate) lists: Vec<(Slot, Slot)>,
    /// True if the path is followed from its end.
    pub(crate) reversed: bool,
    pub(crate) min: u64,
    pub(crate) max: Option<u64>,
    /// Restriction to shortest paths, which visit no node twice: true for all of them, false for
    /// one.
    pub(crate) shortest: Option<bool>,
}

impl Operator for Repeat {
    input!(input);
    inner!(inner);
    exprs!();

    fn reads(&self) -> Vec<Slot> {
        let mut slots = vec![self.from];
        slots.extend(self.into.then_some(self.to));
        slots
    }

    fn binds(&self) -> Vec<Slot> {
        let mut slots = vec![self.row, self.first, self.edges];
        slots.extend((!self.into).then_some(self.to));
        slots.extend(self.lists.iter().map(|(_, list)| *list));
        slots
    }

    fn shape(&self) -> Shape {
        Shape::Finds
    }

    leaves_graph_alone!();

    fn estimate(&self, _: &Counts<'_>, rows: InputRows<'_>, _: &mut Facts) -> f64 {
        // The rows of one repetition.
        rows.first * rows.second
    }

    fn explain(&self, p: &Printer<'_>) -> (&'static str, String) {
        let max = self.max.map(|max| max.to_string()).unwrap_or_default();
        let (from, to) = (p.slot(self.from), p.slot(self.to));
        let name = if self.into { "RepeatInto" } else { "Repeat" };
        (name, format!("({from}) (...){{{},{max}}} ({to})", self.min))
    }
}
