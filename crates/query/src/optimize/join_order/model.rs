//! What the search for a plan knows of a pattern: its parts by number, and figures.
//!
//! Rows of a part of a pattern do not depend on the order in which it is found:
//!
//! ```text
//!  rows = product of n(node)         nodes with its labels
//!       * product of share(r)        of pairs of nodes, those that r connects
//!       * product of share(c)        conditions that can be tested
//! ```
//!
//! where `share(r) = edges(r) / (n(from) * n(to))`, and `edges(r)` is the smaller of what leaves
//! the nodes that it begins at and what arrives at those that it leads to.

use super::Solver;
use super::order::class;
use crate::batch::Slot;
use crate::estimate::{Counts, Facts};
use crate::expr::{Binary, Expr};
use crate::plan::Types;
use crate::plan::pattern::{Pattern, Relationship};

/// Sets of nodes, relationships or conditions of a pattern, by number.
pub(super) type Set = u32;

/// Nodes that a pattern may have to be searched for a plan.
const NODES_MAX: usize = 24;
/// Relationships that it may have.
const RELATIONSHIPS_MAX: usize = 10;
/// Conditions that it may have.
const CONDITIONS_MAX: usize = 32;

/// A pattern in numbers.
pub(super) struct Model {
    pub(super) nodes: Vec<Slot>,
    /// Nodes that each variable may be.
    pub(super) counts: Vec<f64>,
    pub(super) relationships: Vec<Edge>,
    pub(super) conditions: Vec<Condition>,
    /// Nodes that are known from the start.
    pub(super) known: Set,
    /// For each node those that it hangs together with.
    pub(super) component: Vec<Set>,
}

/// A relationship of the pattern.
pub(super) struct Edge {
    pub(super) from: usize,
    pub(super) to: usize,
    /// Rows of following it from its beginning, and from its end, for each row before.
    pub(super) found: [f64; 2],
    /// The same with only those whose other end has the labels of that node.
    pub(super) kept: [f64; 2],
    /// Of the pairs of its ends, those that it connects.
    pub(super) share: f64,
    /// For either end, other relationships there, and how many times more rows there are behind
    /// one of those: nodes with many relationships are met more often.
    pub(super) skew: [Vec<(usize, f64)>; 2],
    pub(super) single: bool,
    /// The variable was known before.
    pub(super) bound: bool,
    /// Relationships that must not be on the other side of a join: that the two differ could not
    /// be tested.
    pub(super) apart: Set,
}

/// A condition that cannot be tested from the start.
pub(super) struct Condition {
    pub(super) nodes: Set,
    pub(super) relationships: Set,
    /// It needs variables from before the pattern.
    pub(super) outer: bool,
    pub(super) share: f64,
    /// If it is an equality of what nodes, and perhaps what came before, say: either side.
    pub(super) equal: Option<(Side, Side)>,
}

/// A side of an equality: its nodes, and whether it needs what came before the pattern.
pub(super) type Side = (Set, bool);

/// The parts of a pattern that an expression needs.
#[derive(Default)]
struct Needs {
    nodes: Set,
    relationships: Set,
    outer: bool,
    /// What no step finds.
    other: bool,
}

pub(super) fn has(set: Set, number: usize) -> bool {
    set >> number & 1 != 0
}

/// True if a pattern is small enough to be searched for a plan.
pub(super) fn fits(pattern: &Pattern) -> bool {
    pattern.conditions.len() <= CONDITIONS_MAX
        && pattern.relationships.len() <= RELATIONSHIPS_MAX
        && pattern.nodes.len() <= NODES_MAX
}

impl Model {
    /// The pattern of a solver, in which `facts` holds what is known of its input; `None` if it is
    /// too large, or of a kind that is solved in the order in which it stands.
    pub(super) fn of(solver: &Solver<'_, '_>, mut facts: Facts) -> Option<Self> {
        let pattern = &solver.pattern;
        if !pattern.selections.is_empty() || !fits(pattern) {
            return None;
        }
        let ends = pattern.relationships.iter().flat_map(|r| [r.from, r.to]);
        let mut nodes: Vec<Slot> = Vec::new();
        for node in pattern.nodes.iter().copied().chain(ends) {
            if !nodes.contains(&node) {
                nodes.push(node);
            }
        }
        if !(2..=NODES_MAX).contains(&nodes.len()) {
            return None;
        }
        let counts = solver.planner.counts();
        // Labels first: they say something of the nodes that relationships lead to.
        for slot in &nodes {
            for label in solver.labels_of(*slot) {
                counts
                    .node_objects(&label)
                    .into_iter()
                    .for_each(|o| _ = counts.is(&mut facts, *slot, o));
            }
        }
        for slot in nodes.iter().filter(|slot| !solver.knows(**slot)) {
            learn(solver, counts, *slot, &mut facts);
        }
        let known = nodes.iter().enumerate().filter(|(_, slot)| solver.knows(**slot));
        let known = known.map(|(number, _)| 1 << number).sum();
        let number = |slot: Slot| nodes.iter().position(|node| *node == slot).unwrap_or(0);
        let relationships = (pattern.relationships.iter())
            .map(|r| {
                edge(r, (number(r.from), number(r.to)), pattern_apart(solver, r), counts, &facts)
            })
            .collect();
        let mut relationships: Vec<Edge> = relationships;
        for (number, edge) in relationships.iter_mut().enumerate() {
            edge.skew = skew(solver, number, counts, &facts);
        }
        let mut model = Self {
            counts: nodes.iter().map(|slot| counts.ends(&facts, *slot)).collect(),
            component: Vec::new(),
            conditions: Vec::new(),
            relationships,
            known,
            nodes,
        };
        model.conditions = pattern
            .conditions
            .iter()
            .map(|condition| model.condition(condition, solver, counts, &facts))
            .collect();
        model.component = (0..model.nodes.len()).map(|node| model.reachable(node)).collect();
        Some(model)
    }

    fn condition(
        &self,
        expr: &Expr,
        solver: &Solver<'_, '_>,
        counts: &Counts<'_>,
        facts: &Facts,
    ) -> Condition {
        let needs = self.needs(expr, solver);
        let share = counts.share(expr, &mut facts.clone());
        let side = |e: &Expr| {
            let needs = self.needs(e, solver);
            let only_nodes = needs.relationships == 0 && !needs.other;
            (only_nodes && (needs.nodes != 0 || needs.outer)).then_some((needs.nodes, needs.outer))
        };
        let equal = match expr {
            Expr::Binary(Binary::Equal, a, b) => side(a).zip(side(b)),
            _ => None,
        };
        let nodes = if needs.other { Set::MAX } else { needs.nodes };
        let Needs { relationships, outer, .. } = needs;
        Condition { nodes, relationships, outer, share, equal }
    }

    fn needs(&self, expr: &Expr, solver: &Solver<'_, '_>) -> Needs {
        let (mut needs, own) = (Needs::default(), expr.own_slots());
        expr.slots(&mut |slot| {
            if own.contains(&slot) {
                return;
            }
            let of_relationship = |r: &Relationship| {
                let lists = r.group.iter().flat_map(|group| &group.lists);
                r.slot == slot || lists.into_iter().any(|(_, list)| *list == slot)
            };
            let relationship = solver.pattern.relationships.iter().position(of_relationship);
            match (self.nodes.iter().position(|node| *node == slot), relationship) {
                (Some(node), _) => needs.nodes |= 1 << node,
                (None, _) if solver.knows(slot) => needs.outer = true,
                (None, Some(relationship)) => needs.relationships |= 1 << relationship,
                (None, None) => needs.other = true,
            }
        });
        // A node that is known from the start is from before as well.
        needs.outer |= needs.nodes & self.known != 0;
        needs
    }

    fn reachable(&self, node: usize) -> Set {
        let mut found: Set = 1 << node;
        loop {
            let mut more = found;
            for r in &self.relationships {
                if has(found, r.from) || has(found, r.to) {
                    more |= 1 << r.from | 1 << r.to;
                }
            }
            if more == found {
                return found;
            }
            found = more;
        }
    }

    /// Whether a relationship can be followed where these nodes and relationships are found.
    pub(super) fn is_ready(
        &self,
        at: usize,
        (nodes, relationships): (Set, Set),
        free: bool,
        solver: &Solver<'_, '_>,
    ) -> bool {
        let r = &solver.pattern.relationships[at];
        let simple = r.is_single() && !r.bound;
        match simple {
            true => {
                has(nodes, self.relationships[at].from) || has(nodes, self.relationships[at].to)
            }
            false if free => false,
            false => class(r, &self.knows((nodes, relationships), free, solver)).is_some(),
        }
    }

    /// What is known where these nodes and relationships are found; of what came before the
    /// pattern nothing, if it is `free` of it.
    pub(super) fn knows<'k>(
        &'k self,
        (nodes, relationships): (Set, Set),
        free: bool,
        solver: &'k Solver<'_, '_>,
    ) -> impl Fn(Slot) -> bool + 'k {
        move |slot| {
            let node = self.nodes.iter().position(|node| *node == slot);
            let all = &solver.pattern.relationships;
            match node {
                Some(node) => has(nodes, node),
                None if !free && solver.knows(slot) => true,
                None => {
                    all.iter().position(|r| r.slot == slot).is_some_and(|r| has(relationships, r))
                }
            }
        }
    }
}

/// Relationships that must be on the same side of a join as this one.
fn pattern_apart(solver: &Solver<'_, '_>, r: &Relationship) -> Set {
    let mut apart = 0;
    for (number, other) in solver.pattern.relationships.iter().enumerate() {
        let clash = r.must_differ(other);
        let tested = r.is_single() && other.is_single() && !r.bound && !other.bound;
        if clash && !tested {
            apart |= 1 << number;
        }
    }
    apart
}

/// Notes what conditions and relationships say of a node.
fn learn(solver: &Solver<'_, '_>, counts: &Counts<'_>, slot: Slot, facts: &mut Facts) {
    let found = solver.node_index(slot, &|other| solver.knows(other));
    if found.is_some_and(|index| index.sought.is_unique() && !index.sought.any) {
        facts.is_asked_for(slot);
    }
    // What a path leads to has at least one of its relationships, unless there may be none.
    let has_some = |r: &&Relationship| {
        r.group.is_none() && r.length.as_ref().is_none_or(|length| length.min > 0)
    };
    for r in solver.pattern.relationships.iter().filter(has_some) {
        if r.to == slot {
            counts.leads_to(facts, (r.from, slot), &r.types, r.way);
        }
        if r.from == slot {
            counts.leads_to(facts, (r.to, slot), &r.types, r.way.reverse());
        }
    }
}

fn edge(
    r: &Relationship,
    (from, to): (usize, usize),
    apart: Set,
    counts: &Counts<'_>,
    facts: &Facts,
) -> Edge {
    let (n_from, n_to) = (counts.ends(facts, r.from), counts.ends(facts, r.to));
    let single = r.is_single();
    let bound = r.bound && r.length.is_none();
    let reverse = r.way.reverse();
    let mut share = None;
    let (found, kept) = match (&r.length, &r.group) {
        _ if bound => ([1.0; 2], [1.0; 2]),
        (None, None) => {
            let (from, more) = counts.degree_of(facts, r.from, &r.types, r.way);
            let (to, of_to) = counts.degree_of(facts, r.to, &r.types, reverse);
            // What leaves the one and arrives at the other.
            let edges = (n_from * from).min(n_to * to);
            share = Some(edges / (n_from * n_to) * more * of_to);
            ([from * more, to * of_to], [edges / n_from * more, edges / n_to * of_to])
        }
        // One path for each pair of nodes.
        (Some(length), _) if length.shortest.is_some() => ([n_to, n_from], [n_to, n_from]),
        (length, group) => {
            let range = match (length, group) {
                (Some(length), _) => (length.min, length.max),
                (None, Some(group)) => (group.min, group.max),
                (None, None) => (1, Some(1)),
            };
            let types = if group.is_some() { &Types::Any } else { &r.types };
            let paths = |ends, way| counts.paths(facts, ends, (types, way), range, false, false);
            let found = [paths((r.from, r.to), r.way), paths((r.to, r.from), reverse)];
            // Of the ends, those with the labels that are asked for.
            let part = |(other, slot), count: f64, way| {
                let mut last = Facts::default();
                counts.leads_to(&mut last, (other, slot), types, way);
                (count / counts.ends(&last, slot)).min(1.0)
            };
            let (to, from) =
                (part((r.from, r.to), n_to, r.way), part((r.to, r.from), n_from, reverse));
            match group.is_some() {
                true => (found, found),
                false => (found, [found[0] * to, found[1] * from]),
            }
        }
    };
    // A graph that is empty now may grow: what costs nothing could not be told apart.
    let least = |x: f64| x.max(1e-3);
    let (found, kept) = (found.map(least), kept.map(least));
    let share = share.unwrap_or((kept[0] / n_to).min(kept[1] / n_from)).max(1e-12);
    let skew = [Vec::new(), Vec::new()];
    Edge { from, to, found, kept, share, skew, single, bound, apart }
}

/// What [`Edge::skew`] says of a relationship.
fn skew(
    solver: &Solver<'_, '_>,
    number: usize,
    counts: &Counts<'_>,
    facts: &Facts,
) -> [Vec<(usize, f64)>; 2] {
    let all = &solver.pattern.relationships;
    let r = &all[number];
    if !r.is_single() || r.bound {
        return [Vec::new(), Vec::new()];
    }
    [(r.from, r.way), (r.to, r.way.reverse())].map(|(node, way)| {
        let tables = counts.tables(&r.types, way);
        let mut found = Vec::new();
        for (other, o) in all.iter().enumerate().filter(|(o, _)| *o != number) {
            let ends = [(o.from, o.way), (o.to, o.way.reverse())];
            for (_, way) in ends.into_iter().filter(|(end, _)| *end == node) {
                if o.group.is_none() {
                    let reached = counts.tables(&o.types, way);
                    found.push((other, counts.skew(facts, node, &tables, reached)));
                }
            }
        }
        found
    })
}

impl Edge {
    /// How many times more rows there are behind an end, where these relationships are found.
    pub(super) fn times(&self, end: usize, found: Set) -> f64 {
        let known = self.skew[end].iter().filter(|(other, _)| has(found, *other));
        let known = known.map(|(_, times)| *times);
        known.max_by(|a, b| a.ln().abs().total_cmp(&b.ln().abs())).unwrap_or(1.0)
    }
}
