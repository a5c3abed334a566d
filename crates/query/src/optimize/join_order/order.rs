//! Greedy join order: the next relationship or access path, by estimated rows.
//!
//! An access path is chosen by the cost of the whole order that begins with it. Each step of that
//! order follows the relationship with the fewest estimated rows, and costs these rows, before
//! conditions on them are tested. The lowest sum wins. Of an index and a scan for one node, the
//! index always wins: the statistics are old when the plan runs.

use std::collections::{HashSet, VecDeque};
use std::sync::Arc;

use super::Solver;
use super::seek::{Ids, IsBound};
use crate::batch::Slot;
use crate::estimate::{Facts, Hop, PathEnds, PathLength};
use crate::expr::Expr;
use crate::plan::pattern::Relationship;
use crate::plan::{Sought, Types};

/// Number of nodes and relationships above which a pattern is large.
const LARGE_PARTS: usize = 128;
/// Lower bound on the estimated rows of a scan: a graph that is empty now may grow.
const SCAN_MIN: f64 = 10.0;

/// Access path: a way to find a part of the pattern without a relationship from a bound node.
pub(super) enum AccessPath {
    /// Nodes by their ids.
    Id {
        slot: Slot,
        ids: Ids,
    },
    Index {
        slot: Slot,
        label: Arc<str>,
        sought: Sought,
    },
    Scan {
        slot: Slot,
        label: Option<Arc<str>>,
    },
    /// A relationship by its element id, with both of its nodes; `at` is its place in the pattern.
    RelationshipId {
        at: usize,
        ids: Ids,
    },
    /// A relationship by an index, with both of its nodes; `at` is its place in the pattern.
    Relationship {
        at: usize,
        ty: Arc<str>,
        sought: Sought,
    },
}

/// Rank of a relationship in the greedy order: 0 between two bound nodes, 1 from one bound node, 2
/// for a path from one; `None` if it cannot be followed yet.
pub(super) fn follow_rank(r: &Relationship, is_bound: IsBound<'_>) -> Option<i32> {
    // A condition on each relationship of a list, or on each repetition, is tested on the way.
    let ready = match r.length.as_ref().and_then(|l| l.filter.as_ref()) {
        Some((each, condition)) => condition.is_bound(&|slot| slot == *each || is_bound(slot)),
        None => r.group.as_ref().is_none_or(|group| group.is_ready(is_bound)),
    };
    let (from, to) = (is_bound(r.from), is_bound(r.to));
    let needs_both = r.length.as_ref().is_some_and(|l| l.shortest.is_some());
    let bound = r.bound && r.length.is_none();
    match ready {
        true if from && to => Some(0),
        true if !needs_both && (bound || from || to) => Some(if r.is_single() { 1 } else { 2 }),
        _ => None,
    }
}

impl Solver<'_, '_> {
    /// Place of the relationship to follow next: the lowest rank, then the fewest rows. A path may
    /// find very many rows, so single relationships come first.
    pub(super) fn next_relationship(&self) -> Option<usize> {
        let bound = |slot: Slot| self.is_bound(slot);
        let all: Vec<&Relationship> = self.pattern.relationships.iter().collect();
        self.cheapest_relationship(&all, &bound, &self.facts).map(|(at, _)| at)
    }

    /// Place of the relationship to follow next, and its rows for each row of the input.
    fn cheapest_relationship(
        &self,
        relationships: &[&Relationship],
        is_bound: &dyn Fn(Slot) -> bool,
        facts: &Facts,
    ) -> Option<(usize, f64)> {
        let ranks = relationships.iter().map(|r| follow_rank(r, is_bound));
        let ready = ranks.enumerate().filter_map(|(at, rank)| Some((at, rank?)));
        let ready: Vec<(usize, i32)> = ready.collect();
        let first = ready.iter().map(|(_, rank)| *rank).min()?;
        let mut of_rank = ready.into_iter().filter(|(_, rank)| *rank == first);
        let rows = |at: usize| self.follow_rows(relationships[at], is_bound, facts);
        // Of equal ones the first: the order of the text.
        let (mut best, _) = of_rank.next()?;
        let mut fewest = rows(best);
        for (at, _) in of_rank {
            let found = rows(at);
            if found < fewest {
                (best, fewest) = (at, found);
            }
        }
        Some((best, fewest))
    }

    /// Rows of following a relationship, for each row of the input.
    fn follow_rows(&self, r: &Relationship, is_bound: &dyn Fn(Slot) -> bool, facts: &Facts) -> f64 {
        if r.bound && r.length.is_none() {
            return 1.0;
        }
        let counts = self.planner.counts();
        let hop = r.hop_from(is_bound(r.from));
        let into = is_bound(hop.to);
        let ends = PathEnds { into, once: false };
        match (&r.length, &r.group) {
            (None, None) => counts.expand_rows(facts, hop, into),
            // One path for each pair of nodes.
            (Some(length), _) if length.shortest.is_some() => 1.0,
            (Some(length), _) => {
                let length = PathLength { min: length.min, max: length.max };
                counts.path_rows(facts, hop, length, ends)
            }
            (None, Some(group)) => {
                let length = PathLength { min: group.min, max: group.max };
                let hop = Hop { types: &Types::Any, ..hop };
                counts.path_rows(facts, hop, length, ends)
            }
        }
    }

    /// Cheapest access path to a part of the pattern that is not bound, if any is left.
    pub(super) fn next_access(&mut self) -> Option<AccessPath> {
        if self.is_large() {
            return self.next_access_of_large();
        }
        let mut starts: Vec<(AccessPath, f64)> = Vec::new();
        let is_bound = |slot: Slot| self.is_bound(slot);
        let nodes = self.pattern.nodes.iter().copied().filter(|node| !is_bound(*node));
        starts.extend(nodes.map(|node| self.node_access(node, &is_bound)));
        let relationships = 0..self.pattern.relationships.len();
        starts.extend(relationships.filter_map(|at| self.relationship_access(at, &is_bound)));
        if starts.len() <= 1 {
            return starts.pop().map(|(start, _)| start);
        }
        let cost = |(start, rows): &(AccessPath, f64)| self.greedy_cost(start, *rows);
        let costs: Vec<f64> = starts.iter().map(cost).collect();
        let best = (0..starts.len()).min_by(|a, b| costs[*a].total_cmp(&costs[*b]))?;
        Some(starts.swap_remove(best).0)
    }

    /// True if it would take too long to compare all access paths: each is compared by an order of
    /// all relationships that are left, and each step of it looks at all of them.
    fn is_large(&self) -> bool {
        self.start_nodes.is_some()
            || self.pattern.nodes.len() + self.pattern.relationships.len() > LARGE_PARTS
    }

    /// Access path with the fewest rows of its own. The nodes are sorted once, before the first is
    /// found.
    fn next_access_of_large(&mut self) -> Option<AccessPath> {
        let begun = self.start_nodes.take();
        let is_bound = |slot: Slot| self.is_bound(slot);
        let order = || {
            let unknown = self.pattern.nodes.iter().copied().filter(|node| !is_bound(*node));
            let mut starts: Vec<(Slot, f64)> =
                unknown.map(|node| (node, self.node_access(node, &is_bound).1)).collect();
            starts.sort_by(|a, b| a.1.total_cmp(&b.1));
            starts.into_iter().map(|(node, _)| node).collect()
        };
        let mut starts: VecDeque<Slot> = begun.unwrap_or_else(order);
        let next = std::iter::from_fn(|| starts.pop_front()).find(|node| !self.is_bound(*node));
        self.start_nodes = Some(starts);
        next.map(|node| self.node_access(node, &|slot| self.is_bound(slot)).0)
    }

    /// Access path to a relationship by its id or by an index, and its rows.
    pub(super) fn relationship_access(
        &self,
        at: usize,
        is_bound: IsBound<'_>,
    ) -> Option<(AccessPath, f64)> {
        let r = &self.pattern.relationships[at];
        let bound = [r.slot, r.from, r.to].into_iter().any(is_bound);
        if bound || !r.is_single() {
            return None;
        }
        if let Some(ids) = self.ids_of(r.slot, is_bound).filter(|ids| ids.element) {
            let rows = self.facts.given_ids(&ids.value, ids.any);
            return Some((AccessPath::RelationshipId { at, ids }, rows));
        }
        let Types::Of(types) = &r.types else { return None };
        let [ty] = &types[..] else { return None };
        let found = self.relationship_index(r.slot, ty, is_bound)?;
        let (ty, sought) = (found.name, found.sought);
        Some((AccessPath::Relationship { at, ty, sought }, found.rows))
    }

    /// Access path to a node, and its rows.
    pub(super) fn node_access(&self, slot: Slot, is_bound: IsBound<'_>) -> (AccessPath, f64) {
        let counts = self.planner.counts();
        let hints = &self.pattern.hints;
        if let Some(label) = hints.scan(slot).filter(|l| self.labels_of(slot).contains(l)) {
            let rows = counts.label_count(label).max(SCAN_MIN);
            return (AccessPath::Scan { slot, label: Some(label.clone()) }, rows);
        }
        let ids = if hints.index(slot).is_none() { self.ids_of(slot, is_bound) } else { None };
        if let Some(ids) = ids {
            let rows = self.facts.given_ids(&ids.value, ids.any);
            return (AccessPath::Id { slot, ids }, rows);
        }
        if let Some(found) = self.node_index(slot, is_bound) {
            let (label, sought) = (found.name, found.sought);
            return (AccessPath::Index { slot, label, sought }, found.rows);
        }
        let labels =
            self.labels_of(slot).into_iter().map(|label| (counts.label_count(&label), label));
        let (rows, label) = match labels.min_by(|a, b| a.0.total_cmp(&b.0)) {
            Some((rows, label)) => (rows, Some(label)),
            None => (counts.node_count(), None),
        };
        (AccessPath::Scan { slot, label }, rows.max(SCAN_MIN))
    }

    /// Cost of the greedy order that begins with an access path: the sum of the rows of every step.
    fn greedy_cost(&self, start: &AccessPath, mut rows: f64) -> f64 {
        let counts = self.planner.counts();
        let mut facts = self.facts.clone();
        let mut bound: HashSet<Slot> = self.bound.clone();
        let mut left: Vec<&Relationship> = self.pattern.relationships.iter().collect();
        match start {
            AccessPath::Id { slot, .. } => {
                bound.insert(*slot);
            }
            AccessPath::Scan { slot, label } => {
                let objects = label.as_ref().and_then(|label| counts.node_objects(label));
                objects.into_iter().for_each(|o| _ = counts.narrow_to(&mut facts, *slot, o));
                bound.insert(*slot);
            }
            AccessPath::Index { slot, label, sought } => {
                let objects = counts.node_objects(label);
                objects.into_iter().for_each(|o| _ = counts.narrow_to(&mut facts, *slot, o));
                facts.note_seek(*slot, sought);
                bound.insert(*slot);
            }
            AccessPath::RelationshipId { at, .. } => {
                let r = left.remove(*at);
                bound.extend([r.slot, r.from, r.to]);
            }
            AccessPath::Relationship { at, sought, .. } => {
                let r = left.remove(*at);
                facts.note_seek(r.slot, sought);
                bound.extend([r.slot, r.from, r.to]);
            }
        }
        let mut open: Vec<&Expr> = self.pattern.conditions.iter().collect();
        open.retain(|c| !c.is_bound(&|slot| self.is_bound(slot)));
        let mut cost = rows;
        loop {
            let ready = |c: &&Expr| c.is_bound(&|slot| bound.contains(&slot));
            let tested: Vec<&Expr> = open.iter().copied().filter(ready).collect();
            open.retain(|c| !ready(c));
            rows *= tested.iter().map(|c| counts.selectivity(c, &mut facts)).product::<f64>();
            let is_bound = |slot: Slot| bound.contains(&slot);
            let Some((at, each)) = self.cheapest_relationship(&left, &is_bound, &facts) else {
                return cost;
            };
            let r = left.remove(at);
            rows *= each;
            cost += rows;
            let hop = r.hop_from(bound.contains(&r.from));
            if bound.insert(hop.to) && r.group.is_none() {
                counts.narrow_end(&mut facts, hop);
            }
            bound.extend([r.slot, r.from, r.to]);
        }
    }
}
