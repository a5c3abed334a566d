//! Index seek of nodes.

use telar_graph::LabelId;

use super::prelude::*;
use crate::plan::Name;
use crate::plan::{NextKey, Sought};

/// Nodes that an index holds for a key or range, for every row.
#[derive(Debug, Clone)]
pub(crate) struct IndexSeek {
    pub(crate) input: Plan,
    pub(crate) slot: Slot,
    pub(crate) label: Name<LabelId>,
    pub(crate) sought: Sought,
}

impl Operator for IndexSeek {
    input!(input);
    inner!();
    exprs!(sought);

    fn reads(&self) -> Vec<Slot> {
        Vec::new()
    }

    fn binds(&self) -> Vec<Slot> {
        vec![self.slot]
    }

    fn shape(&self) -> Shape {
        Shape::Finds
    }

    fn effects(&self, effects: &mut Effects) {
        effects.finds(Some(self.label.text()));
        effects.seeks(&self.sought);
    }

    only_reads!();

    fn estimate(&self, counts: &Counts<'_>, rows: InputRows<'_>, facts: &mut Facts) -> f64 {
        let Some(objects) = counts.node_objects(&self.label) else { return 0.0 };
        counts.narrow_to(facts, self.slot, objects);
        facts.note_seek(self.slot, &self.sought);
        rows.first * counts.seek_rows(objects, &self.sought, facts)
    }

    fn explain(&self, p: &Printer<'_>) -> (&'static str, String) {
        let (slot, label) = (p.slot(self.slot), print::name(&self.label));
        let (keys, conditions) = self.sought.explain(p, &slot);
        let name = match &self.sought.next {
            NextKey::Anything if self.sought.is_unique() => "NodeUniqueIndexSeek",
            NextKey::Anything if self.sought.prefix.is_empty() => "NodeIndexScan",
            NextKey::Anything => "NodeIndexSeek",
            NextKey::Contains(_) => "NodeIndexContainsScan",
            NextKey::EndsWith(_) => "NodeIndexEndsWithScan",
            _ => "NodeIndexSeekByRange",
        };
        let kind = self.sought.kind.name();
        (name, format!("{kind} INDEX ({slot}:{label}({keys})) WHERE {conditions}"))
    }
}
