//! Whether the plan so far changes the graph: asked again and again while clauses are put on top of
//! it.
//!
//! The answer is kept by the variables that the plan binds: each has a slot of its own in the whole
//! statement, so what binds it, and what is below that, is the same each time. So each operator is
//! looked at about once.

use std::collections::HashMap;

use super::Binder;
use crate::batch::Slot;
use crate::plan::Plan;

/// Answers for plans, by a variable that their topmost operator binds.
pub(super) type KnownWrites = HashMap<Slot, bool>;

impl Binder<'_> {
    /// Whether a plan changes the graph, as [`Plan::writes`] says.
    pub(super) fn writes(&mut self, plan: &Plan) -> bool {
        let mut walked = Vec::new();
        let mut writes = false;
        let mut at = Some(plan);
        while let Some(operator) = at {
            let slot = operator.bound_slots().first().copied();
            if let Some(known) = slot.and_then(|slot| self.known_writes.get(&slot)) {
                writes = *known;
                break;
            }
            walked.push((slot, operator));
            at = operator.input();
        }
        for (slot, operator) in walked.into_iter().rev() {
            writes = writes || operator.changes_graph() || operator.beside().any(Plan::writes);
            if let Some(slot) = slot {
                self.known_writes.insert(slot, writes);
            }
        }
        writes
    }
}
