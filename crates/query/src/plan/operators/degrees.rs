//! Counts of relationships instead of the relationships.

use super::prelude::*;

/// How many rows an expansion would find, instead of the rows.
#[derive(Debug, Clone)]
pub(crate) struct Degrees {
    pub(crate) input: Plan,
    pub(crate) from: Slot,
    pub(crate) types: Types,
    pub(crate) way: Way,
    /// Only what leads to a node with it is counted.
    pub(crate) label: Option<Arc<str>>,
    /// Relationships, and lists of them, that are not counted.
    pub(crate) distinct_from: Vec<Slot>,
    /// Nodes to which relationships are not counted; where one of them is null, none is.
    pub(crate) except: Vec<Slot>,
    /// A row with none stays and counts as one, as `OPTIONAL MATCH` has it.
    pub(crate) optional: bool,
    /// Columns of the input that are read behind it, ascending; none: perhaps all.
    pub(crate) kept: Option<Vec<Slot>>,
    /// A number that is multiplied by this one.
    pub(crate) times: Option<Slot>,
    /// Variable of the number. Rows with none are dropped, unless it is `optional`.
    pub(crate) count: Slot,
    /// As in the expansion that it counts.
    pub(crate) scans: bool,
}

impl Operator for Degrees {
    input!(input);
    inner!();
    exprs!();

    fn reads(&self) -> Vec<Slot> {
        let mut slots = [&[self.from], &self.distinct_from[..], &self.except[..]].concat();
        slots.extend(self.times);
        slots
    }

    fn binds(&self) -> Vec<Slot> {
        vec![self.count]
    }

    fn shape(&self) -> Shape {
        Shape::Finds
    }

    fn effects(&self, effects: &mut Effects) {
        effects.follows(&self.types);
        effects.reads_label(self.label.as_ref());
    }

    fn writes(&self) -> bool {
        false
    }

    fn is_repeatable(&self) -> bool {
        true
    }

    fn estimate(&self, counts: &Counts<'_>, rows: InputRows<'_>, facts: &mut Facts) -> f64 {
        if self.optional {
            return rows.first;
        }
        let fan_out = counts.fan_out(facts, self.from, &self.types, self.way);
        rows.first * fan_out.rows().min(1.0)
    }

    fn explain(&self, p: &Printer<'_>) -> (&'static str, String) {
        let label = self.label.as_ref().map(|label| format!(":{}", print::name(label)));
        let to = label.unwrap_or_default();
        let pattern = arrow(&p.slot(self.from), &p.types(&self.types), &to, self.way);
        let except = match &self.except[..] {
            [] => String::new(),
            except => format!(" <> {}", p.slots(except.iter().copied())),
        };
        let times = self.times.map(|times| format!(" * {}", p.slot(times)));
        let times = times.unwrap_or_default();
        let name = if self.optional { "OptionalExpandCount" } else { "ExpandCount" };
        (name, format!("{pattern}{except}{times} AS {}", p.slot(self.count)))
    }
}
