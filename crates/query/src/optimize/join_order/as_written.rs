//! A pattern as it is written, for [`Planning`](crate::planning::Planning) without an order: what a
//! cheaper plan must answer like.

use super::Solver;
use super::order::Start;
use crate::plan::pattern::Relationship;

impl Solver<'_, '_> {
    /// Finds every node and relationship in the order of the text: relationships as soon as one end
    /// is known, and all nodes where none is. Conditions are left to be tested.
    pub(super) fn as_written(&mut self) {
        loop {
            let relationships = &self.pattern.relationships;
            if let Some(at) = relationships.iter().position(|r| self.leads_on(r)) {
                let relationship = self.pattern.relationships.remove(at);
                self.follow(relationship);
            } else if let Some(at) = self.next_selection() {
                let selection = self.pattern.selections.remove(at);
                self.select(selection);
            } else if let Some(slot) = self.pattern.nodes.iter().copied().find(|n| !self.knows(*n))
            {
                self.start(Start::Scan { slot, label: None });
            } else {
                break;
            }
        }
    }

    /// Whether a relationship can be followed from what is known.
    fn leads_on(&self, r: &Relationship) -> bool {
        let (from, to) = (self.knows(r.from), self.knows(r.to));
        let Some(length) = &r.length else { return r.bound || from || to };
        // A condition on each relationship of a list is tested on the way.
        let ready = length.filter.as_ref().is_none_or(|(each, condition)| {
            condition.is_bound(&|slot| slot == *each || self.knows(slot))
        });
        ready && if length.shortest.is_some() { from && to } else { from || to }
    }
}
