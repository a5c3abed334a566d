//! Seek of relationships by their element ids.

use super::prelude::*;
use crate::estimate::Hop;

/// The relationship with an element id, or those whose ids are in a list, with both ends, for every
/// row.
#[derive(Debug, Clone)]
pub(crate) struct RelationshipById {
    pub(crate) input: Plan,
    pub(crate) edge: Slot,
    pub(crate) from: Slot,
    /// May be the same slot as `from`: then only loops are found.
    pub(crate) to: Slot,
    /// Direction from `from` to `to`; with `Both`, a relationship is found once in each direction.
    pub(crate) way: Way,
    pub(crate) types: Types,
    pub(crate) id: Expr,
    /// True if `id` is a list of ids.
    pub(crate) any: bool,
    /// Relationships, and lists of relationships, that this one must differ from.
    pub(crate) distinct_from: Vec<Slot>,
}

impl Operator for RelationshipById {
    input!(input);
    inner!();
    exprs!(id);

    fn reads(&self) -> Vec<Slot> {
        self.distinct_from.clone()
    }

    fn binds(&self) -> Vec<Slot> {
        let mut slots = vec![self.edge, self.from];
        slots.extend((self.to != self.from).then_some(self.to));
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
        counts.narrow_to_type(facts, self.edge, &self.types);
        let hop = Hop { from: self.from, to: self.to, types: &self.types, way: self.way };
        counts.narrow_end(facts, hop);
        counts.narrow_end(facts, hop.reverse());
        let ways = if self.way == Way::Both { 2.0 } else { 1.0 };
        rows.first * ways * facts.given_ids(&self.id, self.any)
    }

    fn explain(&self, p: &Printer<'_>) -> (&'static str, String) {
        let name = match self.way {
            Way::Both => "UndirectedRelationshipByIdSeek",
            _ => "DirectedRelationshipByIdSeek",
        };
        let (slot, id) = (p.slot(self.edge), p.expr(&self.id));
        let inner = format!("{slot}{}", p.types(&self.types));
        let pattern = arrow(&p.slot(self.from), &inner, &p.slot(self.to), self.way);
        let is = if self.any { "IN" } else { "=" };
        (name, format!("{pattern} WHERE elementId({slot}) {is} {id}"))
    }
}
