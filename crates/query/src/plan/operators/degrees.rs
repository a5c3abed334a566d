//! Counts of relationships instead of the relationships.

use telar_graph::LabelId;

use super::prelude::*;
use crate::plan::Name;

/// Number of rows that an expansion would find, instead of the rows.
#[derive(Debug, Clone)]
pub(crate) struct Degrees {
    pub(crate) input: Plan,
    pub(crate) from: Slot,
    pub(crate) types: Types,
    pub(crate) way: Way,
    /// Label of the other end; relationships to other nodes are not counted.
    pub(crate) label: Option<Name<LabelId>>,
    /// Relationships, and lists of relationships, that are not counted.
    pub(crate) distinct_from: Vec<Slot>,
    /// Nodes to which relationships are not counted; if one of them is null, the count is 0.
    pub(crate) except: Vec<Slot>,
    /// For `OPTIONAL MATCH`: a row without relationships stays, with the count 1.
    pub(crate) optional: bool,
    /// Columns of the input that operators above read, ascending; `None` for all.
    pub(crate) kept: Option<Vec<Slot>>,
    /// Factor: an earlier count, which is multiplied by this one.
    pub(crate) times: Option<Slot>,
    /// Variable of the count. A row with the count 0 is dropped, unless it is `optional`.
    pub(crate) count: Slot,
    /// As [`Expand::scans`](super::Expand::scans).
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
        effects.reads_label(self.label.as_ref().map(Name::text));
    }

    only_reads!();

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
