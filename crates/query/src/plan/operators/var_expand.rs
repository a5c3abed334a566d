//! Variable-length expansion.

use super::prelude::*;
use crate::estimate::{Hop, PathEnds, PathLength};

/// Paths of a variable-length relationship, from a bound node.
#[derive(Debug, Clone)]
pub(crate) struct VarExpand {
    pub(crate) input: Plan,
    pub(crate) from: Slot,
    pub(crate) to: Slot,
    /// True if `to` is bound already.
    pub(crate) into: bool,
    /// List of relationships, from `from` to `to`.
    pub(crate) edges: Slot,
    /// True if an operator above reads the list.
    pub(crate) lists: bool,
    /// True if the path is followed from its end: the list is reversed.
    pub(crate) reversed: bool,
    pub(crate) types: Types,
    pub(crate) way: Way,
    pub(crate) min: u64,
    pub(crate) max: Option<u64>,
    /// Condition on every relationship, which is in the slot.
    pub(crate) filter: Option<(Slot, Expr)>,
    pub(crate) distinct_from: Vec<Slot>,
    /// True if a relationship may come twice in a path.
    pub(crate) repeats: bool,
    /// True if the list is bound already: only its relationships are followed.
    pub(crate) bound: bool,
    /// True if duplicates do not matter: each end is found once.
    pub(crate) once: bool,
}

impl Operator for VarExpand {
    input!(input);
    inner!();
    exprs!(filter);

    fn reads(&self) -> Vec<Slot> {
        let mut slots = vec![self.from];
        slots.extend(self.into.then_some(self.to));
        slots.extend(self.bound.then_some(self.edges));
        slots.extend(&self.distinct_from);
        slots
    }

    fn binds(&self) -> Vec<Slot> {
        let mut slots = vec![self.edges];
        slots.extend((!self.into).then_some(self.to));
        slots.extend(self.filter.iter().map(|(slot, _)| *slot));
        slots
    }

    fn shape(&self) -> Shape {
        Shape::Finds
    }

    fn effects(&self, effects: &mut Effects) {
        effects.follows(&self.types);
    }

    only_reads!();

    fn estimate(&self, counts: &Counts<'_>, rows: InputRows<'_>, facts: &mut Facts) -> f64 {
        let hop = Hop { from: self.from, to: self.to, types: &self.types, way: self.way };
        let length = PathLength { min: self.min, max: self.max };
        let ends = PathEnds { into: self.into, once: self.once };
        let found = counts.path_rows(facts, hop, length, ends);
        if !self.into && self.min > 0 {
            counts.narrow_end(facts, hop);
            facts.note_reached(self.to, counts.edge_ends(&self.types, self.way.reverse()));
            counts.cap_distinct_ends(facts, self.from, self.to, found);
        } else if !self.into {
            let empty = 1.0 / found.max(1.0);
            counts.narrow_path_end(facts, hop, empty);
        }
        rows.first * found
    }

    fn explain(&self, p: &Printer<'_>) -> (&'static str, String) {
        let name = match (self.once, self.into) {
            (true, false) => "PruningVarExpand",
            (true, true) => "PruningVarExpandInto",
            (false, false) => "VarExpand",
            (false, true) => "VarExpandInto",
        };
        let inner = p.path(self.edges, &self.types, self.min, self.max);
        let pattern = arrow(&p.slot(self.from), &inner, &p.slot(self.to), self.way);
        (name, pattern + &p.each(self.filter.as_ref()))
    }
}
