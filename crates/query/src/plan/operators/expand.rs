//! Relationships of nodes, with the nodes that they lead to.

use super::prelude::*;
use crate::estimate::Hop;

/// The relationships of a known node, with the nodes at their other ends.
#[derive(Debug, Clone)]
pub(crate) struct Expand {
    pub(crate) input: Plan,
    pub(crate) from: Slot,
    pub(crate) to: Slot,
    /// True if `to` is bound already.
    pub(crate) into: bool,
    pub(crate) edge: Slot,
    /// True if an operator above reads the relationship.
    pub(crate) keeps_edge: bool,
    /// Columns of the input that operators above read, ascending; `None` for all.
    pub(crate) kept: Option<Vec<Slot>>,
    pub(crate) types: Types,
    pub(crate) way: Way,
    /// Relationships, and lists of relationships, that this one must differ from.
    pub(crate) distinct_from: Vec<Slot>,
    /// True if `from` is scanned for its relationships ([`NodeScan::for_relationships`]).
    ///
    /// [`NodeScan::for_relationships`]: super::NodeScan::for_relationships
    pub(crate) scans: bool,
}

impl Operator for Expand {
    input!(input);
    inner!();
    exprs!();

    fn reads(&self) -> Vec<Slot> {
        let mut slots = vec![self.from];
        slots.extend(self.into.then_some(self.to));
        slots.extend(&self.distinct_from);
        slots
    }

    fn binds(&self) -> Vec<Slot> {
        match self.into {
            true => vec![self.edge],
            false => vec![self.edge, self.to],
        }
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
        let hops = [hop, hop.reverse()];
        let found = counts.expand_rows(facts, hop, self.into);
        counts.narrow_to_type(facts, self.edge, &self.types);
        let fan_outs = hops.map(|h| counts.fan_out(facts, h.from, h.types, h.way).rows());
        counts.cap_distinct_ends(facts, self.from, self.to, fan_outs[0]);
        if self.into {
            counts.cap_distinct_ends(facts, self.to, self.from, fan_outs[1]);
        } else {
            counts.narrow_end(facts, hop);
        }
        for hop in hops {
            facts.note_reached(hop.from, counts.edge_ends(hop.types, hop.way));
        }
        rows.first * found
    }

    fn explain(&self, p: &Printer<'_>) -> (&'static str, String) {
        let name = if self.into { "ExpandInto" } else { "Expand" };
        let inner = format!("{}{}", p.slot(self.edge), p.types(&self.types));
        (name, arrow(&p.slot(self.from), &inner, &p.slot(self.to), self.way))
    }
}
