//! Intersection: nodes that several bound nodes lead to.

use super::prelude::*;
use crate::estimate::Hop;

/// Nodes to which each of several bound nodes has a relationship: the intersection of their
/// neighbour lists.
#[derive(Debug, Clone)]
pub(crate) struct Intersect {
    pub(crate) input: Plan,
    pub(crate) to: Slot,
    /// Relationships to the node, at least two.
    pub(crate) legs: Vec<Leg>,
    /// Columns of the input that operators above read, ascending; `None` for all.
    pub(crate) kept: Option<Vec<Slot>>,
}

/// Relationship from a bound node to the node that is sought.
#[derive(Debug, Clone)]
pub(crate) struct Leg {
    pub(crate) from: Slot,
    pub(crate) edge: Slot,
    /// True if an operator above reads the relationship.
    pub(crate) keeps_edge: bool,
    pub(crate) types: Types,
    pub(crate) way: Way,
    /// Relationships, and lists of relationships, that this one must differ from, with those of
    /// earlier legs.
    pub(crate) distinct_from: Vec<Slot>,
}

impl Operator for Intersect {
    input!(input);
    inner!();
    exprs!();

    fn reads(&self) -> Vec<Slot> {
        let reads = |leg: &Leg| [&[leg.from], &leg.distinct_from[..]].concat();
        let own: Vec<Slot> = self.legs.iter().map(|leg| leg.edge).collect();
        let slots = self.legs.iter().flat_map(reads);
        slots.filter(|slot| !own.contains(slot)).collect()
    }

    fn binds(&self) -> Vec<Slot> {
        std::iter::once(self.to).chain(self.legs.iter().map(|leg| leg.edge)).collect()
    }

    fn shape(&self) -> Shape {
        Shape::Finds
    }

    fn effects(&self, effects: &mut Effects) {
        self.legs.iter().for_each(|leg| effects.follows(&leg.types));
    }

    only_reads!();

    fn estimate(&self, counts: &Counts<'_>, rows: InputRows<'_>, facts: &mut Facts) -> f64 {
        for leg in &self.legs {
            counts.narrow_to_type(facts, leg.edge, &leg.types);
            let hop = Hop { from: leg.from, to: self.to, types: &leg.types, way: leg.way };
            counts.narrow_end(facts, hop);
            let fan_out = counts.fan_out(facts, leg.from, &leg.types, leg.way).rows();
            counts.cap_distinct_ends(facts, leg.from, self.to, fan_out);
        }
        let candidates = counts.candidates(facts, self.to);
        let selectivity =
            |leg: &Leg| counts.fan_out(facts, leg.from, &leg.types, leg.way).rows() / candidates;
        // A node that was found by one leg has more relationships for the other legs.
        let (to, lead) = (self.to, &self.legs[0]);
        let back = |leg: &Leg| counts.edge_ends(&leg.types, leg.way.reverse());
        let others = self.legs.iter().skip(1);
        let skew = others.map(|leg| counts.skew(facts, to, &back(leg), back(lead)));
        let skew: f64 = skew.product();
        rows.first * candidates * self.legs.iter().map(selectivity).product::<f64>() * skew
    }

    fn explain(&self, p: &Printer<'_>) -> (&'static str, String) {
        let leg = |leg: &Leg| {
            let inner = format!("{}{}", p.slot(leg.edge), p.types(&leg.types));
            arrow(&p.slot(leg.from), &inner, &p.slot(self.to), leg.way)
        };
        ("Intersect", self.legs.iter().map(leg).collect::<Vec<_>>().join(", "))
    }
}
