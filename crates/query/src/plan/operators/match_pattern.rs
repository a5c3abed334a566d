//! What `MATCH` asks for, before the optimiser has chosen how it is found.

use super::prelude::*;
use std::collections::HashSet;

use crate::plan::pattern::Pattern;

/// All that a pattern matches, for every row. The optimiser replaces it.
#[derive(Debug, Clone)]
pub(crate) struct Match {
    pub(crate) input: Plan,
    pub(crate) pattern: Pattern,
    /// Variables of the pattern that are known before.
    pub(crate) bound: HashSet<Slot>,
    /// Where the rows are only count_only: variables that are read behind the pattern. The search for
    /// a plan goes by it, no answer does.
    pub(crate) count_only: Option<HashSet<Slot>>,
}

impl Match {
    /// A pattern that is found where the variables `before` are known.
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

    fn writes(&self) -> bool {
        false
    }

    fn is_repeatable(&self) -> bool {
        true
    }

    fn estimate(&self, _: &Counts<'_>, rows: InputRows<'_>, _: &mut Facts) -> f64 {
        // Nothing is known of a pattern before it is known how it is found.
        rows.first
    }

    fn explain(&self, p: &Printer<'_>) -> (&'static str, String) {
        ("Match", p.slots(self.pattern.nodes.iter().copied()))
    }
}
