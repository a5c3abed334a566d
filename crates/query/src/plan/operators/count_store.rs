//! Counts of all nodes or relationships, from the statistics of the graph.

use telar_graph::LabelId;

use super::prelude::*;
use crate::plan::Name;

/// One row with the number of nodes or relationships, which the graph keeps.
#[derive(Debug, Clone)]
pub(crate) struct CountStore {
    /// Slots of the count.
    pub(crate) slots: Vec<Slot>,
    pub(crate) what: Counted,
}

/// Kind of object that is counted.
#[derive(Debug, Clone)]
pub(crate) enum Counted {
    /// All nodes, or those with a label.
    Nodes(Option<Name<LabelId>>),
    Relationships(Types),
}

impl Operator for CountStore {
    input!();
    inner!();
    exprs!();

    fn reads(&self) -> Vec<Slot> {
        Vec::new()
    }

    fn binds(&self) -> Vec<Slot> {
        self.slots.clone()
    }

    fn shape(&self) -> Shape {
        Shape::Begins
    }

    fn effects(&self, effects: &mut Effects) {
        effects.reads_everything();
    }

    only_reads!();

    fn estimate(&self, _: &Counts<'_>, _: InputRows<'_>, _: &mut Facts) -> f64 {
        1.0
    }

    fn explain(&self, p: &Printer<'_>) -> (&'static str, String) {
        let (operator, pattern) = match &self.what {
            Counted::Nodes(label) => {
                let label = label.as_ref().map(|label| format!(":{}", print::name(label)));
                ("NodeCountFromCountStore", format!("({})", label.unwrap_or_default()))
            }
            Counted::Relationships(types) => {
                ("RelationshipCountFromCountStore", arrow("", &p.types(types), "", Way::Out))
            }
        };
        let slots = p.slots(self.slots.iter().copied());
        (operator, format!("count({pattern}) AS {slots}"))
    }
}
