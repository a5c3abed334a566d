//! What is found next: by the rows that are expected.
//!
//! A start is chosen by the rows of the whole way from it: each step takes the relationship that is
//! expected to find the fewest, and costs the rows that it finds, before conditions on them are
//! tested. The start with the lowest sum wins. Of indexes and scans for one node, the index is
//! taken whatever the figures say: they are old when the plan is used.

use std::collections::{HashSet, VecDeque};
use std::sync::Arc;

use super::Solver;
use super::seek::Knows;
use crate::batch::Slot;
use crate::estimate::Facts;
use crate::expr::Expr;
use crate::plan::pattern::Relationship;
use crate::plan::{Sought, Types};

/// Nodes and relationships from which on a pattern is large.
const LARGE_PARTS: usize = 128;
/// Nodes that a scan is expected to find at least: a graph that is empty now may grow.
const SCAN_MIN: f64 = 10.0;

/// A way to find something where nothing known leads.
pub(super) enum Start {
    /// A node by its number.
    Id {
        slot: Slot,
        id: Expr,
        element: bool,
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
    /// A relationship of the pattern, by its place there, with both of its nodes.
    Relationship {
        at: usize,
        ty: Arc<str>,
        sought: Sought,
    },
}

/// How soon a relationship is followed where these slots are known: 0 between two known nodes, 1
/// from one, 2 if it is several; `None` if it cannot be.
pub(super) fn class(r: &Relationship, knows: Knows<'_>) -> Option<i32> {
    // A condition on each relationship of a list, or on each repetition, is tested on the way.
    let ready = match r.length.as_ref().and_then(|l| l.filter.as_ref()) {
        Some((each, condition)) => condition.is_bound(&|slot| slot == *each || knows(slot)),
        None => r.group.as_ref().is_none_or(|group| group.is_ready(knows)),
    };
    let (from, to) = (knows(r.from), knows(r.to));
    let needs_both = r.length.as_ref().is_some_and(|l| l.shortest.is_some());
    let known = r.bound && r.length.is_none();
    match ready {
        true if from && to => Some(0),
        true if !needs_both && (known || from || to) => Some(if r.is_single() { 1 } else { 2 }),
        _ => None,
    }
}

impl Solver<'_, '_> {
    /// The relationship to be followed next: one between two known nodes, else one from a known
    /// node, or known itself. Several steps may find very much: single ones come first.
    pub(super) fn next_relationship(&self) -> Option<usize> {
        let known = |slot: Slot| self.knows(slot);
        let all: Vec<&Relationship> = self.pattern.relationships.iter().collect();
        self.cheapest(&all, &known, &self.facts).map(|(at, _)| at)
    }

    /// The relationship that is followed next where these slots are known, and how many rows it
    /// finds for each.
    fn cheapest(
        &self,
        relationships: &[&Relationship],
        knows: &dyn Fn(Slot) -> bool,
        facts: &Facts,
    ) -> Option<(usize, f64)> {
        let classes = relationships.iter().map(|r| class(r, knows));
        let ready = classes.enumerate().filter_map(|(at, class)| Some((at, class?)));
        let ready: Vec<(usize, i32)> = ready.collect();
        let first = ready.iter().map(|(_, class)| *class).min()?;
        let mut of_class = ready.into_iter().filter(|(_, class)| *class == first);
        let rows = |at: usize| self.follows(relationships[at], knows, facts);
        // The first of equal ones: the order in which they were written.
        let (mut best, _) = of_class.next()?;
        let mut fewest = rows(best);
        for (at, _) in of_class {
            let found = rows(at);
            if found < fewest {
                (best, fewest) = (at, found);
            }
        }
        Some((best, fewest))
    }

    /// How many rows a relationship finds for each.
    fn follows(&self, r: &Relationship, knows: &dyn Fn(Slot) -> bool, facts: &Facts) -> f64 {
        if r.bound && r.length.is_none() {
            return 1.0;
        }
        let counts = self.planner.counts();
        let (from, to, way) = match knows(r.from) {
            true => (r.from, r.to, r.way),
            false => (r.to, r.from, r.way.reverse()),
        };
        let into = knows(to);
        match (&r.length, &r.group) {
            (None, None) => counts.expand(facts, (from, to), &r.types, way, into),
            // One path for each pair of nodes.
            (Some(length), _) if length.shortest.is_some() => 1.0,
            (Some(length), _) => {
                let range = (length.min, length.max);
                counts.paths(facts, (from, to), (&r.types, way), range, into, false)
            }
            (None, Some(group)) => {
                let (types, range) = (Types::Any, (group.min, group.max));
                counts.paths(facts, (from, to), (&types, way), range, into, false)
            }
        }
    }

    /// Where to begin, if anything is left that nothing known leads to.
    pub(super) fn next_start(&mut self) -> Option<Start> {
        if self.is_large() {
            return self.next_start_of_large();
        }
        let mut starts: Vec<(Start, f64)> = Vec::new();
        let knows = |slot: Slot| self.knows(slot);
        let nodes = self.pattern.nodes.iter().copied().filter(|node| !knows(*node));
        starts.extend(nodes.map(|node| self.start_at(node, &knows)));
        let relationships = 0..self.pattern.relationships.len();
        starts.extend(relationships.filter_map(|at| self.start_by(at, &knows)));
        if starts.len() <= 1 {
            return starts.pop().map(|(start, _)| start);
        }
        let cost = |(start, rows): &(Start, f64)| self.cost_from(start, *rows);
        let costs: Vec<f64> = starts.iter().map(cost).collect();
        let best = (0..starts.len()).min_by(|a, b| costs[*a].total_cmp(&costs[*b]))?;
        Some(starts.swap_remove(best).0)
    }

    /// Whether to look for the cheapest of all starts would take too long: each costs as many steps
    /// as are left, and each of those a look at all relationships.
    fn is_large(&self) -> bool {
        self.starts.is_some()
            || self.pattern.nodes.len() + self.pattern.relationships.len() > LARGE_PARTS
    }

    /// The start with the fewest rows of its own, whatever comes behind it. They are put in order
    /// once, by what is known before the first.
    fn next_start_of_large(&mut self) -> Option<Start> {
        let begun = self.starts.take();
        let knows = |slot: Slot| self.knows(slot);
        let order = || {
            let unknown = self.pattern.nodes.iter().copied().filter(|node| !knows(*node));
            let mut starts: Vec<(Slot, f64)> =
                unknown.map(|node| (node, self.start_at(node, &knows).1)).collect();
            starts.sort_by(|a, b| a.1.total_cmp(&b.1));
            starts.into_iter().map(|(node, _)| node).collect()
        };
        let mut starts: VecDeque<Slot> = begun.unwrap_or_else(order);
        let next = std::iter::from_fn(|| starts.pop_front()).find(|node| !self.knows(*node));
        self.starts = Some(starts);
        next.map(|node| self.start_at(node, &|slot| self.knows(slot)).0)
    }

    /// How a relationship is found by an index, with both of its nodes, and how many.
    pub(super) fn start_by(&self, at: usize, knows: Knows<'_>) -> Option<(Start, f64)> {
        let r = &self.pattern.relationships[at];
        let known = [r.slot, r.from, r.to].into_iter().any(knows);
        let Types::Of(types) = &r.types else { return None };
        let [ty] = &types[..] else { return None };
        if known || !r.is_single() {
            return None;
        }
        let found = self.relationship_index(r.slot, ty, knows)?;
        let (ty, sought) = (found.name, found.sought);
        Some((Start::Relationship { at, ty, sought }, found.rows))
    }

    /// How a node is found, and how many.
    pub(super) fn start_at(&self, slot: Slot, knows: Knows<'_>) -> (Start, f64) {
        let counts = self.planner.counts();
        let hints = &self.pattern.hints;
        if let Some(label) = hints.scan(slot).filter(|l| self.labels_of(slot).contains(l)) {
            let rows = counts.label(label).max(SCAN_MIN);
            return (Start::Scan { slot, label: Some(label.clone()) }, rows);
        }
        let id = if hints.index(slot).is_none() { self.id_of(slot, knows) } else { None };
        if let Some((id, element)) = id {
            return (Start::Id { slot, id, element }, 1.0);
        }
        if let Some(found) = self.node_index(slot, knows) {
            let (label, sought) = (found.name, found.sought);
            return (Start::Index { slot, label, sought }, found.rows);
        }
        let labels = self.labels_of(slot).into_iter().map(|label| (counts.label(&label), label));
        let (rows, label) = match labels.min_by(|a, b| a.0.total_cmp(&b.0)) {
            Some((rows, label)) => (rows, Some(label)),
            None => (counts.nodes(), None),
        };
        (Start::Scan { slot, label }, rows.max(SCAN_MIN))
    }

    /// The sum of the rows of every step from a start on.
    fn cost_from(&self, start: &Start, mut rows: f64) -> f64 {
        let counts = self.planner.counts();
        let mut facts = self.facts.clone();
        let mut known: HashSet<Slot> = self.bound.clone();
        let mut left: Vec<&Relationship> = self.pattern.relationships.iter().collect();
        match start {
            Start::Id { slot, .. } => {
                known.insert(*slot);
            }
            Start::Scan { slot, label } => {
                let objects = label.as_ref().and_then(|label| counts.node_objects(label));
                objects.into_iter().for_each(|o| _ = counts.is(&mut facts, *slot, o));
                known.insert(*slot);
            }
            Start::Index { slot, label, sought } => {
                let objects = counts.node_objects(label);
                objects.into_iter().for_each(|o| _ = counts.is(&mut facts, *slot, o));
                facts.has_sought(*slot, sought);
                known.insert(*slot);
            }
            Start::Relationship { at, sought, .. } => {
                let r = left.remove(*at);
                facts.has_sought(r.slot, sought);
                known.extend([r.slot, r.from, r.to]);
            }
        }
        let mut open: Vec<&Expr> = self.pattern.conditions.iter().collect();
        open.retain(|c| !c.is_bound(&|slot| self.knows(slot)));
        let mut cost = rows;
        loop {
            let ready = |c: &&Expr| c.is_bound(&|slot| known.contains(&slot));
            let tested: Vec<&Expr> = open.iter().copied().filter(ready).collect();
            open.retain(|c| !ready(c));
            rows *= tested.iter().map(|c| counts.share(c, &mut facts)).product::<f64>();
            let knows = |slot: Slot| known.contains(&slot);
            let Some((at, each)) = self.cheapest(&left, &knows, &facts) else { return cost };
            let r = left.remove(at);
            rows *= each;
            cost += rows;
            let forward = known.contains(&r.from);
            let (ends, way) = match forward {
                true => ((r.from, r.to), r.way),
                false => ((r.to, r.from), r.way.reverse()),
            };
            if known.insert(ends.1) && r.group.is_none() {
                counts.leads_to(&mut facts, ends, &r.types, way);
            }
            known.extend([r.slot, r.from, r.to]);
        }
    }
}
