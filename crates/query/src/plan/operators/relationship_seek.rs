//! Index seek of relationships.

use telar_graph::EdgeTypeId;

use super::prelude::*;
use crate::estimate::Hop;
use crate::plan::Name;
use crate::plan::{NextKey, Sought};

/// Relationships that an index holds for a key or range, with both ends, for every row.
#[derive(Debug, Clone)]
pub(crate) struct RelationshipSeek {
    pub(crate) input: Plan,
    pub(crate) edge: Slot,
    pub(crate) from: Slot,
    /// May be the same slot as `from`: then only loops are found.
    pub(crate) to: Slot,
    /// Direction from `from` to `to`; with `Both`, a relationship is found once in each direction.
    pub(crate) way: Way,
    pub(crate) ty: Name<EdgeTypeId>,
    pub(crate) sought: Sought,
    /// Relationships, and lists of relationships, that this one must differ from.
    pub(crate) distinct_from: Vec<Slot>,
}

impl Operator for RelationshipSeek {
    input!(input);
    inner!();
    exprs!(sought);

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
        effects.looks_for_type(self.ty.text());
        effects.seeks(&self.sought);
    }

    only_reads!();

    fn estimate(&self, counts: &Counts<'_>, rows: InputRows<'_>, facts: &mut Facts) -> f64 {
        let Some(objects) = counts.relationship_objects(&self.ty) else { return 0.0 };
        counts.narrow_to(facts, self.edge, objects);
        facts.note_seek(self.edge, &self.sought);
        let types = Types::Of([self.ty.text().clone()].into_iter().collect());
        let hop = Hop { from: self.from, to: self.to, types: &types, way: self.way };
        counts.narrow_end(facts, hop);
        counts.narrow_end(facts, hop.reverse());
        let ways = if self.way == Way::Both { 2.0 } else { 1.0 };
        rows.first * ways * counts.seek_rows(objects, &self.sought, facts)
    }

    fn explain(&self, p: &Printer<'_>) -> (&'static str, String) {
        let slot = p.slot(self.edge);
        let (keys, conditions) = self.sought.explain(p, &slot);
        let scans = self.sought.prefix.is_empty();
        let name = match (&self.sought.next, self.way) {
            (NextKey::Anything, Way::Both) if scans => "UndirectedRelationshipIndexScan",
            (NextKey::Anything, _) if scans => "DirectedRelationshipIndexScan",
            (NextKey::Anything, Way::Both) => "UndirectedRelationshipIndexSeek",
            (NextKey::Anything, _) => "DirectedRelationshipIndexSeek",
            (NextKey::Contains(_), Way::Both) => "UndirectedRelationshipIndexContainsScan",
            (NextKey::Contains(_), _) => "DirectedRelationshipIndexContainsScan",
            (NextKey::EndsWith(_), Way::Both) => "UndirectedRelationshipIndexEndsWithScan",
            (NextKey::EndsWith(_), _) => "DirectedRelationshipIndexEndsWithScan",
            (_, Way::Both) => "UndirectedRelationshipIndexSeekByRange",
            _ => "DirectedRelationshipIndexSeekByRange",
        };
        let inner = format!("{slot}:{}({keys})", print::name(&self.ty));
        let pattern = arrow(&p.slot(self.from), &inner, &p.slot(self.to), self.way);
        (name, format!("{} INDEX {pattern} WHERE {conditions}", self.sought.kind.name()))
    }
}
