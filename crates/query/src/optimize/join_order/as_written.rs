//! Syntactic order of a pattern, for [`Planning`](crate::planning::Planning) without join order.
//! Tests compare the answers of cheaper plans with those of this one.

use super::Solver;
use super::order::AccessPath;
use crate::plan::pattern::Relationship;

impl Solver<'_, '_> {
    /// Finds every node and relationship in the order of the text: a relationship as soon as one
    /// end is bound, else a scan of all nodes. Conditions are tested later.
    pub(super) fn as_written(&mut self) {
        loop {
            let relationships = &self.pattern.relationships;
            if let Some(at) = relationships.iter().position(|r| self.can_follow(r)) {
                let relationship = self.pattern.relationships.remove(at);
                self.follow(relationship);
            } else if let Some(at) = self.next_selection() {
                let selection = self.pattern.selections.remove(at);
                self.select(selection);
            } else if let Some(slot) =
                self.pattern.nodes.iter().copied().find(|n| !self.is_bound(*n))
            {
                self.access(AccessPath::Scan { slot, label: None });
            } else {
                break;
            }
        }
    }

    /// True if a relationship can be followed from bound variables.
    fn can_follow(&self, r: &Relationship) -> bool {
        let (from, to) = (self.is_bound(r.from), self.is_bound(r.to));
        let Some(length) = &r.length else { return r.bound || from || to };
        // A condition on each relationship of a list is tested on the way.
        let ready = length.filter.as_ref().is_none_or(|(each, condition)| {
            condition.is_bound(&|slot| slot == *each || self.is_bound(slot))
        });
        ready && if length.shortest.is_some() { from && to } else { from || to }
    }
}
