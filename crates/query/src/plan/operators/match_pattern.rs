//! `MATCH` in a logical plan, before the optimiser has chosen a join order.

use super::prelude::*;
use std::collections::HashSet;

use crate::plan::pattern::Pattern;

/// All matches of a pattern, for every row. The optimiser replaces it.
#[derive(Debug, Clone)]
pub(crate) struct Match {
    pub(crate) input: Plan,
    pub(crate) pattern: Pattern,
    /// Variables of the pattern that the input binds.
    pub(crate) bound: HashSet<Slot>,
    /// Variables that operators above read, if the rows are only counted. The join order depends on
    /// it, the answer does not.
    pub(crate) count_only: Option<HashSet<Slot>>,
}

impl Match {
    /// Match of a pattern on an input that binds the variables `before`.
    pub(crate) fn new(
        input: Plan,
        before: impl IntoIterator<Item = Slot>,
        pattern: Pattern,
    ) -> Self {
        let mut named = HashSet::new();
        pattern.variables(&mut |slot| _ = named.insert(slot));
        pattern.exprs(&mut |e| e.slots(&mut |slot| _ = named.insert(slot)));
        let bound = before.into_iter().filter(|slot| named.contains(slot)).collect();
        Self { input, pattern, bound, count_only: None }
    }
}

impl Operator for Match {
    input!(input);
    inner!();
    exprs!(pattern);

    fn reads(&self) -> Vec<Slot> {
        self.bound.iter().copied().collect()
    }

    fn binds(&self) -> Vec<Slot> {
        let mut slots = Vec::new();
        self.pattern.variables(&mut |slot| {
            if !self.bound.contains(&slot) {
                slots.push(slot);
            }
        });
        slots
    }

    fn shape(&self) -> Shape {
        Shape::Finds
    }

    fn effects(&self, effects: &mut Effects) {
        // What it will become reads no more.
        effects.reads_everything();
    }

    only_reads!();

    fn estimate(&self, _: &Counts<'_>, rows: InputRows<'_>, _: &mut Facts) -> f64 {
        // The rows are estimated once the pattern is solved.
        rows.first
    }

    fn explain(&self, p: &Printer<'_>) -> (&'static str, String) {
        ("Match", p.slots(self.pattern.nodes.iter().copied()))
    }
}
