//! Model of a pattern for the join order search: its parts by number, with their estimates.
//!
//! The rows of a part of the pattern do not depend on the order in which it is found:
//!
//! ```text
//!  rows = product of n(node)            candidates for each node
//!       * product of selectivity(r)     pairs of nodes that a relationship connects
//!       * product of selectivity(c)     conditions that can be tested
//! ```
//!
//! where `selectivity(r) = edges(r) / (n(from) * n(to))`. `edges(r)` is the number of relationships
//! that leave candidates for `from`, or of those that arrive at candidates for `to`, the smaller
//! one.

use super::Solver;
use super::order::follow_rank;
use crate::batch::Slot;
use crate::estimate::{Counts, Facts, FanOut, Hop, PathEnds, PathLength, strongest};
use crate::expr::{Binary, Expr};
use crate::plan::Types;
use crate::plan::pattern::{Pattern, Relationship};

/// Set of nodes, relationships or conditions of a pattern, by number.
pub(super) type Set = u32;

/// Upper bound on the nodes of a pattern whose join order is searched.
const NODES_MAX: usize = 24;
/// Upper bound on its relationships.
const RELATIONSHIPS_MAX: usize = 10;
/// Upper bound on its conditions.
const CONDITIONS_MAX: usize = 32;

/// Part of a pattern.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Part {
    pub(super) nodes: Set,
    pub(super) relationships: Set,
}

/// Part of a pattern with the variables that may be read while it is found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Scope {
    pub(super) part: Part,
    /// True if variables from before the pattern are not visible.
    pub(super) independent: bool,
}

/// Model of a pattern.
pub(super) struct Model {
    pub(super) nodes: Vec<Slot>,
    /// Number of candidates for each node.
    pub(super) candidates: Vec<f64>,
    pub(super) relationships: Vec<Edge>,
    pub(super) conditions: Vec<Condition>,
    /// Nodes that are bound before the pattern.
    pub(super) bound: Set,
    /// For each node, its connected component.
    pub(super) component: Vec<Set>,
}

/// Relationship of the pattern. An array has an entry for each end: 0 for `from`, 1 for `to`.
pub(super) struct Edge {
    pub(super) from: usize,
    pub(super) to: usize,
    /// Rows of following it from that end, for each row of the input.
    pub(super) fan_out: [f64; 2],
    /// The same, where the other end has the labels that the pattern asks for.
    pub(super) labelled_fan_out: [f64; 2],
    /// Probability that it connects two candidates for its ends.
    pub(super) selectivity: f64,
    /// Skew of the fan-out by each other relationship that the end was found by: nodes with many
    /// relationships are found more often.
    pub(super) skews: [Vec<Skew>; 2],
    pub(super) single: bool,
    /// True if its variable is bound before the pattern.
    pub(super) bound: bool,
    /// Relationships that must be on the same side of a join as this one: nothing could test after
    /// the join that the two differ.
    pub(super) same_side: Set,
}

/// Factor on the fan-out of an end of a relationship, if `other` was found before.
#[derive(Debug, Clone, Copy)]
pub(super) struct Skew {
    other: usize,
    factor: f64,
}

/// A condition, and the parts of the pattern that it needs.
pub(super) struct Condition {
    pub(super) nodes: Set,
    pub(super) relationships: Set,
    /// True if it needs variables from before the pattern.
    pub(super) outer: bool,
    pub(super) selectivity: f64,
    /// Both sides, for an equality of expressions of nodes and of variables before the pattern.
    pub(super) equality: Option<(Side, Side)>,
}

/// Side of an equality.
#[derive(Debug, Clone, Copy)]
pub(super) struct Side {
    pub(super) nodes: Set,
    /// True if it needs variables from before the pattern.
    pub(super) outer: bool,
}

/// Parts of a pattern that an expression needs.
#[derive(Default)]
struct Needs {
    nodes: Set,
    relationships: Set,
    outer: bool,
    /// True if it needs a variable that no step of the search finds.
    other: bool,
}

pub(super) fn contains(set: Set, number: usize) -> bool {
    set >> number & 1 != 0
}

/// True if a pattern is small enough for a search of its join order.
pub(super) fn is_searchable(pattern: &Pattern) -> bool {
    pattern.conditions.len() <= CONDITIONS_MAX
        && pattern.relationships.len() <= RELATIONSHIPS_MAX
        && pattern.nodes.len() <= NODES_MAX
}

impl Model {
    /// Model of the pattern of a solver, with the facts about its input; `None` if it is too large,
    /// or asks for some of the paths only.
    pub(super) fn of(solver: &Solver<'_, '_>, mut facts: Facts) -> Option<Self> {
        let pattern = &solver.pattern;
        if !pattern.selections.is_empty() || !is_searchable(pattern) {
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
        // Labels come first: relationships narrow down their ends by them.
        for slot in &nodes {
            for label in solver.labels_of(*slot) {
                counts
                    .node_objects(&label)
                    .into_iter()
                    .for_each(|o| _ = counts.narrow_to(&mut facts, *slot, o));
            }
        }
        for slot in nodes.iter().filter(|slot| !solver.is_bound(**slot)) {
            note_node_facts(solver, counts, *slot, &mut facts);
        }
        let bound = nodes.iter().enumerate().filter(|(_, slot)| solver.is_bound(**slot));
        let bound = bound.map(|(number, _)| 1 << number).sum();
        let number = |slot: Slot| nodes.iter().position(|node| *node == slot).unwrap_or(0);
        let edge = |(at, r): (usize, &Relationship)| {
            let bound = r.bound && r.length.is_none();
            let EdgeRows { fan_out, labelled_fan_out, selectivity } = edge_rows(r, counts, &facts);
            Edge {
                from: number(r.from),
                to: number(r.to),
                fan_out,
                labelled_fan_out,
                selectivity,
                skews: skews(solver, at, counts, &facts),
                single: r.is_single(),
                bound,
                same_side: same_side(solver, r),
            }
        };
        let relationships = pattern.relationships.iter().enumerate().map(edge).collect();
        let mut model = Self {
            candidates: nodes.iter().map(|slot| counts.candidates(&facts, *slot)).collect(),
            component: Vec::new(),
            conditions: Vec::new(),
            relationships,
            bound,
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
        let selectivity = counts.selectivity(expr, &mut facts.clone());
        let side = |e: &Expr| {
            let needs = self.needs(e, solver);
            let only_nodes = needs.relationships == 0 && !needs.other;
            let Needs { nodes, outer, .. } = needs;
            (only_nodes && (nodes != 0 || outer)).then_some(Side { nodes, outer })
        };
        let equality = match expr {
            Expr::Binary(Binary::Equal, a, b) => side(a).zip(side(b)),
            _ => None,
        };
        let nodes = if needs.other { Set::MAX } else { needs.nodes };
        let Needs { relationships, outer, .. } = needs;
        Condition { nodes, relationships, outer, selectivity, equality }
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
                (None, _) if solver.is_bound(slot) => needs.outer = true,
                (None, Some(relationship)) => needs.relationships |= 1 << relationship,
                (None, None) => needs.other = true,
            }
        });
        // A node that is bound before the pattern needs the input as well.
        needs.outer |= needs.nodes & self.bound != 0;
        needs
    }

    fn reachable(&self, node: usize) -> Set {
        let mut found: Set = 1 << node;
        loop {
            let mut more = found;
            for r in &self.relationships {
                if contains(found, r.from) || contains(found, r.to) {
                    more |= 1 << r.from | 1 << r.to;
                }
            }
            if more == found {
                return found;
            }
            found = more;
        }
    }

    /// True if a relationship can be followed where a part of the pattern is found.
    pub(super) fn is_ready(&self, at: usize, scope: Scope, solver: &Solver<'_, '_>) -> bool {
        let nodes = scope.part.nodes;
        let r = &solver.pattern.relationships[at];
        let simple = r.is_single() && !r.bound;
        match simple {
            true => {
                contains(nodes, self.relationships[at].from)
                    || contains(nodes, self.relationships[at].to)
            }
            false if scope.independent => false,
            false => follow_rank(r, &self.is_bound(scope, solver)).is_some(),
        }
    }

    /// Test whether a variable is bound where a part of the pattern is found.
    pub(super) fn is_bound<'k>(
        &'k self,
        scope: Scope,
        solver: &'k Solver<'_, '_>,
    ) -> impl Fn(Slot) -> bool + 'k {
        let Scope { part: Part { nodes, relationships }, independent } = scope;
        move |slot| {
            let node = self.nodes.iter().position(|node| *node == slot);
            let all = &solver.pattern.relationships;
            match node {
                Some(node) => contains(nodes, node),
                None if !independent && solver.is_bound(slot) => true,
                None => all
                    .iter()
                    .position(|r| r.slot == slot)
                    .is_some_and(|r| contains(relationships, r)),
            }
        }
    }
}

/// Relationships that must be on the same side of a join as this one.
fn same_side(solver: &Solver<'_, '_>, r: &Relationship) -> Set {
    let mut same_side = 0;
    for (number, other) in solver.pattern.relationships.iter().enumerate() {
        let clash = r.must_differ(other);
        let tested = r.is_single() && other.is_single() && !r.bound && !other.bound;
        if clash && !tested {
            same_side |= 1 << number;
        }
    }
    same_side
}

/// Notes the facts about a node that conditions and relationships imply.
fn note_node_facts(solver: &Solver<'_, '_>, counts: &Counts<'_>, slot: Slot, facts: &mut Facts) {
    let found = solver.node_index(slot, &|other| solver.is_bound(other));
    if found.is_some_and(|index| index.sought.is_unique() && !index.sought.any) {
        facts.note_unique(slot);
    }
    // The end of a path has at least one of its relationships, unless the path may be empty.
    let has_some = |r: &&Relationship| {
        r.group.is_none() && r.length.as_ref().is_none_or(|length| length.min > 0)
    };
    for r in solver.pattern.relationships.iter().filter(has_some) {
        if r.to == slot {
            counts.narrow_end(facts, r.hop_from(true));
        }
        if r.from == slot {
            counts.narrow_end(facts, r.hop_from(false));
        }
    }
}

/// Estimates of one relationship, as in [`Edge`].
struct EdgeRows {
    fan_out: [f64; 2],
    labelled_fan_out: [f64; 2],
    selectivity: f64,
}

fn edge_rows(r: &Relationship, counts: &Counts<'_>, facts: &Facts) -> EdgeRows {
    let (n_from, n_to) = (counts.candidates(facts, r.from), counts.candidates(facts, r.to));
    let mut selectivity = None;
    let (fan_out, labelled) = match (&r.length, &r.group) {
        _ if r.bound && r.length.is_none() => ([1.0; 2], [1.0; 2]),
        (None, None) => {
            let FanOut { mean: from, skew: from_skew } =
                counts.fan_out(facts, r.from, &r.types, r.way);
            let FanOut { mean: to, skew: to_skew } =
                counts.fan_out(facts, r.to, &r.types, r.way.reverse());
            // Relationships that leave the one end and arrive at the other.
            let edges = (n_from * from).min(n_to * to);
            selectivity = Some(edges / (n_from * n_to) * from_skew * to_skew);
            let labelled = [edges / n_from * from_skew, edges / n_to * to_skew];
            ([from * from_skew, to * to_skew], labelled)
        }
        // One path for each pair of nodes.
        (Some(length), _) if length.shortest.is_some() => ([n_to, n_from], [n_to, n_from]),
        (length, group) => {
            let length = match (length, group) {
                (Some(length), _) => PathLength { min: length.min, max: length.max },
                (None, Some(group)) => PathLength { min: group.min, max: group.max },
                (None, None) => PathLength { min: 1, max: Some(1) },
            };
            let types = if group.is_some() { &Types::Any } else { &r.types };
            let hops = [true, false].map(|forward| Hop { types, ..r.hop_from(forward) });
            let ends = PathEnds { into: false, once: false };
            let fan_out = hops.map(|hop| counts.path_rows(facts, hop, length, ends));
            if group.is_some() {
                (fan_out, fan_out)
            } else {
                // Part of the ends that have the labels that the pattern asks for.
                let part = |hop: Hop<'_>, candidates: f64| {
                    let mut last = Facts::default();
                    counts.narrow_end(&mut last, hop);
                    (candidates / counts.candidates(&last, hop.to)).min(1.0)
                };
                let (to, from) = (part(hops[0], n_to), part(hops[1], n_from));
                (fan_out, [fan_out[0] * to, fan_out[1] * from])
            }
        }
    };
    // A graph that is empty now may grow, and steps that cost nothing could not be told apart.
    let least = |x: f64| x.max(1e-3);
    let (fan_out, labelled_fan_out) = (fan_out.map(least), labelled.map(least));
    let by_fan_out = (labelled_fan_out[0] / n_to).min(labelled_fan_out[1] / n_from);
    let selectivity = selectivity.unwrap_or(by_fan_out).max(1e-12);
    EdgeRows { fan_out, labelled_fan_out, selectivity }
}

/// [`Edge::skews`] of a relationship.
fn skews(
    solver: &Solver<'_, '_>,
    number: usize,
    counts: &Counts<'_>,
    facts: &Facts,
) -> [Vec<Skew>; 2] {
    let all = &solver.pattern.relationships;
    let r = &all[number];
    if !r.is_single() || r.bound {
        return [Vec::new(), Vec::new()];
    }
    [(r.from, r.way), (r.to, r.way.reverse())].map(|(node, way)| {
        let own = counts.edge_ends(&r.types, way);
        let mut skews = Vec::new();
        for (other, o) in all.iter().enumerate().filter(|(o, _)| *o != number) {
            let ends = [(o.from, o.way), (o.to, o.way.reverse())];
            for (_, way) in ends.into_iter().filter(|(end, _)| *end == node) {
                if o.group.is_none() {
                    let reached = counts.edge_ends(&o.types, way);
                    skews.push(Skew { other, factor: counts.skew(facts, node, &own, reached) });
                }
            }
        }
        skews
    })
}

impl Condition {
    /// True if it can be tested where a part of the pattern is found.
    pub(super) fn is_testable(&self, scope: Scope) -> bool {
        let Part { nodes, relationships } = scope.part;
        self.nodes & !nodes == 0
            && self.relationships & !relationships == 0
            && !(scope.independent && self.outer)
    }
}

impl Edge {
    /// Factor on the fan-out of an end, where these relationships are found.
    pub(super) fn skew(&self, end: usize, found: Set) -> f64 {
        let known = self.skews[end].iter().filter(|skew| contains(found, skew.other));
        strongest(known.map(|skew| skew.factor)).unwrap_or(1.0)
    }
}
