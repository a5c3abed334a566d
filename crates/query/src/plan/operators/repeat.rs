//! Paths that are repeated.

use super::prelude::*;

/// Follows a path again and again, each time from where it ended.
#[derive(Debug, Clone)]
pub(crate) struct Repeat {
    pub(crate) input: Plan,
    /// One repetition: begins with `Argument`, in which the first node and the relationships so far
    /// are known, and finds the last.
    pub(crate) inner: Plan,
    /// Numbers the rows that the inner plan begins with.
    pub(crate) row: Slot,
    pub(crate) from: Slot,
    pub(crate) to: Slot,
    /// `to` is bound already.
    pub(crate) into: bool,
    pub(crate) first: Slot,
    pub(crate) last: Slot,
    /// The relationships of one repetition, in the order of the path.
    pub(crate) relationships: Vec<Slot>,
    /// The list of the relationships of all, in the order of the path.
    pub(crate) edges: Slot,
    /// Variables of a repetition, and the lists of what they were, in the order of the path.
    pub(crate) lists: Vec<(Slot, Slot)>,
    /// It is followed from its end.
    pub(crate) reversed: bool,
    pub(crate) min: u64,
    pub(crate) max: Option<u64>,
    /// Only shortest paths are wanted, one, or if true all of them: none leads to a node again.
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

    fn effects(&self, _: &mut Effects) {}

    fn writes(&self) -> bool {
        false
    }

    fn is_repeatable(&self) -> bool {
        true
    }

    fn estimate(&self, _: &Counts<'_>, rows: InputRows<'_>, _: &mut Facts) -> f64 {
        // Those of one repetition.
        rows.first * rows.second
    }

    fn explain(&self, p: &Printer<'_>) -> (&'static str, String) {
        let max = self.max.map(|max| max.to_string()).unwrap_or_default();
        let (from, to) = (p.slot(self.from), p.slot(self.to));
        let name = if self.into { "RepeatInto" } else { "Repeat" };
        (name, format!("({from}) (...){{{},{max}}} ({to})", self.min))
    }
}
