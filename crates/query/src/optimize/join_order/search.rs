//! Search for the cheapest join order of a pattern.
//!
//! A *state* is a part of the pattern that is found: some of its nodes and relationships, with the
//! cheapest steps so far that find them. Steps lead from state to state:
//!
//! | Step | Finds | Costs, in rows |
//! |---|---|---|
//! | access path | a node, or a relationship, by index or scan | rows found, and the seek |
//! | follow | a relationship from a found node | rows found before conditions are tested |
//! | follow between two nodes | the same | one search for each row |
//! | intersect | the node that several relationships lead to | the shortest of their lists |
//! | join | the part of another state | rows of both sides, and rows found |
//!
//! States are expanded cheapest first. So the first state that holds the whole pattern is the best,
//! and states that cost more are never expanded (uniform-cost search in the space that dynamic
//! programming over connected parts would fill: Selinger et al., SIGMOD 1979; Moerkotte and
//! Neumann, VLDB 2006). The build side of a join must not depend on the rows of the input, since it
//! runs once.
//!
//! Two rules keep the space small. A node in the same component as a found node is accessed by a
//! seek only, not by a scan. A single relationship between two found nodes is followed at once.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};

use super::Solver;
use super::model::{Condition, Edge, Model, Part, Scope, Set, Side, contains};
use super::order::AccessPath;
use crate::expr::{Binary, Expr, Labels};

/// Upper bound on the steps that are tried before the search gives up.
const STEPS_MAX: usize = 10_000;
/// Upper bound on the expanded states that others are joined with: the cheapest.
const JOINED_MAX: usize = 128;
/// Upper bound on the estimated rows of the build side of a join.
const BUILD_ROWS_MAX: f64 = 2e7;
/// Cost of a step that a hint forbids.
const AGAINST_HINT_COST: f64 = 1e15;
/// Factor on the cost of following a relationship to an end that no expression can read: it may
/// become a count of rows.
const UNREAD_FACTOR: f64 = 0.75;
/// Cost of counting the relationships of a node instead of following them; for each relationship,
/// if the label of its end must be tested.
const COUNT_COST: f64 = 0.5;
/// Cost of an index seek beside its rows.
const SEEK_COST: f64 = 3.0;
/// Cost of a search for a relationship between two bound nodes.
const SEARCH_COST: f64 = 2.4;
/// Cost of an intersection, for each row.
const INTERSECT_COST: f64 = 6.0;
/// Cost of an intersection, for each element of the shortest list.
const INTERSECT_ELEMENT_COST: f64 = 2.0;
/// Cost of a row of the build side of a join.
const BUILD_COST: f64 = 4.0;
/// Cost of a row of the probe side.
const PROBE_COST: f64 = 2.0;
/// Cost of a row that a join returns: it is copied from both sides and may be tested once more.
const PAIR_COST: f64 = 1.5;
/// Cost of a row that is the end of a path of several relationships.
const PATH_COST: f64 = 3.0;

/// Step of a join order.
#[derive(Debug)]
pub(super) enum Step {
    /// Access path to a node, by its place in the model.
    Node(usize),
    /// Access path to a relationship, by its place in the pattern.
    Relationship(usize),
    Follow(usize),
    /// Several relationships from found nodes to the same new node, at once.
    Intersect(Vec<usize>),
    /// Hash join with the rows that these steps find on their own, on shared nodes and equal
    /// values.
    Join(Vec<Step>),
}

struct State {
    scope: Scope,
    rows: f64,
    cost: f64,
    last: LastStep,
    /// True once its cheapest steps are final.
    settled: bool,
}

/// Last step to a state, with the number of the state before it.
#[derive(Clone, Copy)]
enum LastStep {
    None,
    Node(usize, usize),
    Relationship(usize, usize),
    Follow(usize, usize),
    /// States of the probe side and the build side.
    Join(usize, usize),
}

/// Estimates of the input of a pattern.
pub(super) struct Input {
    pub(super) rows: f64,
    /// True for one row without variables: every part is independent of it.
    pub(super) is_unit: bool,
    /// True if parts of the pattern may be found on their own and joined.
    pub(super) joins: bool,
}

struct Search<'s, 'b, 'a> {
    solver: &'s Solver<'b, 'a>,
    model: &'s Model,
    input: Input,
    states: Vec<State>,
    numbers: HashMap<Scope, usize>,
    queue: BinaryHeap<Reverse<(Cost, usize)>>,
    /// Access paths to nodes, by the scope without the parts that make no difference.
    accesses: HashMap<(usize, Scope), Access>,
    /// States that were expanded, the cheapest first.
    expanded: Vec<usize>,
    hints: HintTargets,
    steps: usize,
}

/// Access path to a node: whether it is a seek, and its rows.
#[derive(Clone, Copy)]
struct Access {
    seeks: bool,
    rows: f64,
}

/// Targets of the hints of a statement.
#[derive(Default)]
struct HintTargets {
    /// Nodes and relationships that hints want found by an index or scan.
    nodes: Set,
    relationships: Set,
    /// Nodes that hints want two parts to be joined on.
    joins: Set,
}

/// Cost with a total order.
#[derive(Clone, Copy, PartialEq)]
struct Cost(f64);

impl Eq for Cost {}

impl PartialOrd for Cost {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Cost {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.0.total_cmp(&other.0)
    }
}

fn members(set: Set) -> impl Iterator<Item = usize> {
    (0..Set::BITS as usize).filter(move |number| contains(set, *number))
}

/// Cheapest steps that find a pattern, and their cost; `None` if the search would take too long.
pub(super) fn cheapest_steps(
    solver: &Solver<'_, '_>,
    model: &Model,
    input: Input,
) -> Option<(Vec<Step>, f64)> {
    let hints = hint_targets(solver, model);
    let mut search = Search {
        solver,
        model,
        input,
        states: Vec::new(),
        numbers: HashMap::new(),
        queue: BinaryHeap::new(),
        accesses: HashMap::new(),
        expanded: Vec::new(),
        hints,
        steps: 0,
    };
    let rows = search.input.rows;
    let joins_inner = search.input.joins && !search.input.is_unit;
    let mut begin = |independent: bool, nodes: Set, rows: f64| {
        let scope = Scope { part: Part { nodes, relationships: 0 }, independent };
        search.relax(scope, rows, 0.0, LastStep::None);
    };
    begin(false, model.bound, rows);
    if joins_inner {
        begin(true, 0, 1.0);
    }
    search.run()
}

fn hint_targets(solver: &Solver<'_, '_>, model: &Model) -> HintTargets {
    let (hints, mut targets) = (&solver.pattern.hints, HintTargets::default());
    for (number, slot) in model.nodes.iter().enumerate().filter(|(n, _)| !contains(model.bound, *n))
    {
        let found = match solver.node_access(*slot, &|bound| bound != *slot).0 {
            AccessPath::Index { label, sought, .. } => {
                hints.index(*slot).is_some_and(|hint| hint.is(&label, &sought))
            }
            AccessPath::Scan { label, .. } => {
                label.as_ref() == hints.scan(*slot) && label.is_some()
            }
            _ => false,
        };
        targets.nodes |= Set::from(found) << number;
        targets.joins |= Set::from(hints.joins.contains(slot)) << number;
    }
    for (number, r) in solver.pattern.relationships.iter().enumerate() {
        let ends = [r.slot, r.from, r.to];
        if let (Some(hint), Some((AccessPath::Relationship { ty, sought, .. }, _))) =
            (hints.index(r.slot), solver.relationship_access(number, &|slot| !ends.contains(&slot)))
        {
            targets.relationships |= Set::from(hint.is(&ty, &sought)) << number;
        }
    }
    targets
}

impl Search<'_, '_, '_> {
    /// Notes steps to a state, if they are the cheapest so far.
    fn relax(&mut self, scope: Scope, rows: f64, cost: f64, last: LastStep) {
        self.steps += 1;
        let state = State { scope, rows, cost, last, settled: false };
        let number = match self.numbers.get(&scope) {
            Some(at) if self.states[*at].settled || self.states[*at].cost <= cost => return,
            Some(at) => {
                self.states[*at] = state;
                *at
            }
            None => {
                self.states.push(state);
                self.numbers.insert(scope, self.states.len() - 1);
                self.states.len() - 1
            }
        };
        self.queue.push(Reverse((Cost(cost), number)));
    }

    fn run(&mut self) -> Option<(Vec<Step>, f64)> {
        let nodes = (0..self.model.nodes.len()).fold(0, |set, n| set | 1 << n);
        let relationships = (0..self.model.relationships.len()).fold(0, |set, n| set | 1 << n);
        let whole = Scope { part: Part { nodes, relationships }, independent: false };
        while let Some(Reverse((_, at))) = self.queue.pop() {
            let state = &mut self.states[at];
            if std::mem::replace(&mut state.settled, true) {
                continue;
            }
            if state.scope == whole {
                let cost = state.cost;
                return Some((self.steps_to(at), cost));
            }
            if self.steps > STEPS_MAX {
                return None;
            }
            self.expand(at);
            if self.input.joins {
                for other in 0..self.expanded.len() {
                    self.join(at, self.expanded[other]);
                    self.join(self.expanded[other], at);
                }
                if self.expanded.len() < JOINED_MAX {
                    self.expanded.push(at);
                }
            }
        }
        None
    }

    fn steps_to(&self, at: usize) -> Vec<Step> {
        let (before, step) = match self.states[at].last {
            LastStep::None => return Vec::new(),
            LastStep::Node(before, node) => (before, Step::Node(node)),
            LastStep::Relationship(before, r) => (before, Step::Relationship(r)),
            LastStep::Follow(before, r) => {
                let found = self.relationships(at) & !self.relationships(before);
                let others = members(found).filter(|other| *other != r);
                let all: Vec<usize> = std::iter::once(r).chain(others).collect();
                (before, if all.len() == 1 { Step::Follow(r) } else { Step::Intersect(all) })
            }
            LastStep::Join(before, build) => (before, Step::Join(self.steps_to(build))),
        };
        let mut steps = self.steps_to(before);
        steps.push(step);
        steps
    }

    fn relationships(&self, at: usize) -> Set {
        self.states[at].scope.part.relationships
    }

    /// Selectivity of the conditions that can be tested in the part `after`, but not in `before`.
    fn selectivity(&self, independent: bool, before: Part, after: Part) -> f64 {
        let testable = |c: &&Condition, part| c.is_testable(Scope { part, independent });
        let new =
            self.model.conditions.iter().filter(|c| testable(c, after) && !testable(c, before));
        new.map(|c| c.selectivity).product()
    }

    /// Tries every step from a state.
    fn expand(&mut self, at: usize) {
        let scope = self.states[at].scope;
        let Part { nodes, relationships } = scope.part;
        let model = self.model;
        let open: Vec<usize> =
            (0..model.relationships.len()).filter(|r| !contains(relationships, *r)).collect();
        let between = |r: &&usize| {
            let r = &model.relationships[**r];
            r.single && !r.bound && contains(nodes, r.from) && contains(nodes, r.to)
        };
        if let Some(r) = open.iter().find(between) {
            return self.follow(at, *r);
        }
        for r in &open {
            if model.is_ready(*r, scope, self.solver) {
                self.follow(at, *r);
            }
        }
        for node in (0..model.nodes.len()).filter(|node| !contains(nodes, *node)) {
            self.access_node(at, node);
        }
        for r in open {
            self.access_relationship(at, r);
        }
    }

    /// Relationships from found nodes to the node that a relationship leads to, without that one.
    fn legs(&self, at: usize, number: usize) -> Set {
        let Part { nodes, relationships } = self.states[at].scope.part;
        let r = &self.model.relationships[number];
        if !r.single || r.bound || contains(nodes, r.from) == contains(nodes, r.to) {
            return 0;
        }
        let new = if contains(nodes, r.from) { r.to } else { r.from };
        let mut legs = 0;
        for (other, o) in self.model.relationships.iter().enumerate() {
            let meets =
                o.from == new && contains(nodes, o.to) || o.to == new && contains(nodes, o.from);
            let open = other != number && !contains(relationships, other);
            legs |= Set::from(open && o.single && !o.bound && meets) << other;
        }
        legs
    }

    /// True if no other relationship leads to the end of this one, and neither of the two has a
    /// name by which it could be read.
    fn is_unread_end(&self, number: usize, way: usize) -> bool {
        let r = &self.model.relationships[number];
        let end = if way == 0 { r.to } else { r.from };
        let touches = |r: &Edge| r.from == end || r.to == end;
        let is_last = self.model.relationships.iter().filter(|r| touches(r)).count() == 1;
        let slots = [self.model.nodes[end], self.solver.pattern.relationships[number].slot];
        is_last && slots.iter().all(|slot| self.solver.planner.slots[*slot].is_none())
    }

    /// Number of nodes that the end of a relationship must differ from; `None` unless the
    /// relationship can be counted instead of followed (`optimize/counting.rs`). It can where the
    /// rows of the pattern are only counted, and nothing else reads the end.
    fn counted_end(&self, at: usize, number: usize, way: usize) -> Option<usize> {
        let Part { nodes, relationships } = self.states[at].scope.part;
        let (model, pattern) = (self.model, &self.solver.pattern);
        let read = self.solver.count_only.as_ref().filter(|_| pattern.paths.is_empty())?;
        let (edge, r) = (&model.relationships[number], &pattern.relationships[number]);
        let end = if way == 0 { edge.to } else { edge.from };
        let touches = |e: &&Edge| e.from == end || e.to == end;
        let is_read = read.contains(&r.slot) || read.contains(&model.nodes[end]);
        if is_read || !edge.single || edge.bound || contains(model.bound, end) {
            return None;
        }
        if model.relationships.iter().filter(touches).count() != 1 {
            return None;
        }
        // A relationship that is found later could not be tested to differ from it.
        let later = (0..pattern.relationships.len())
            .filter(|other| *other != number && !contains(relationships, *other))
            .map(|other| &pattern.relationships[other]);
        if later.into_iter().any(|other| other.must_differ(r)) {
            return None;
        }
        let mut others = 0;
        for (condition, expr) in model.conditions.iter().zip(&pattern.conditions) {
            if contains(condition.relationships, number) {
                return None;
            }
            if !contains(condition.nodes, end) {
                continue;
            }
            match expr {
                Expr::HasLabels(_, Labels::Name(_)) => {}
                Expr::Binary(Binary::NotEqual, a, b)
                    if matches!((&**a, &**b), (Expr::Slot(_), Expr::Slot(_)))
                        && condition.nodes & !(nodes | 1 << end) == 0 =>
                {
                    others += 1;
                }
                _ => return None,
            }
        }
        Some(others)
    }

    /// Follows a relationship: on its own, and together with others that lead to the same node.
    fn follow(&mut self, at: usize, number: usize) {
        let legs = self.legs(at, number);
        self.follow_with(at, number, 0);
        if legs != 0 {
            self.follow_with(at, number, legs);
        }
    }

    fn follow_with(&mut self, at: usize, number: usize, legs: Set) {
        let State { scope: Scope { part, independent }, rows, cost, .. } = self.states[at];
        let Part { nodes, relationships } = part;
        let r = &self.model.relationships[number];
        let (from, to) = (contains(nodes, r.from), contains(nodes, r.to));
        let found = relationships | 1 << number | legs;
        let after = Part { nodes: nodes | 1 << r.from | 1 << r.to, relationships: found };
        let each = if r.single { 1.0 } else { PATH_COST };
        let before = rows;
        let both = r.selectivity * r.skew(0, relationships) * r.skew(1, relationships);
        let (kept, work) = match (from, to) {
            _ if r.bound => (rows, rows),
            (true, true) if r.single => (rows * both, rows * (SEARCH_COST + both)),
            (true, true) => (rows * r.selectivity, rows * (SEARCH_COST + r.fan_out[0] * PATH_COST)),
            _ => {
                let way = usize::from(!from);
                let skew = r.skew(way, relationships);
                if legs == 0
                    && let Some(others) = self.counted_end(at, number, way)
                {
                    // The row stays one row, with a count.
                    let labelled = r.labelled_fan_out[way] > 0.99 * r.fan_out[way];
                    let tests = if labelled { 1.0 } else { r.fan_out[way] * skew };
                    let work = 0.5 + COUNT_COST * tests + SEARCH_COST * others as f64;
                    let rows = rows * (r.labelled_fan_out[way] * skew).min(1.0);
                    let scope = Scope { part: after, independent };
                    let cost = cost + before * work;
                    return self.relax(scope, rows, cost, LastStep::Follow(at, number));
                }
                let mut kept = rows * r.labelled_fan_out[way] * skew;
                let mut shortest = r.fan_out[way] * skew;
                for leg in members(legs).map(|leg| &self.model.relationships[leg]) {
                    let (old, new) = if contains(nodes, leg.from) { (0, 1) } else { (1, 0) };
                    let skew = leg.skew(old, relationships);
                    kept *= leg.selectivity * skew * leg.skew(new, 1 << number);
                    shortest = shortest.min(leg.fan_out[old] * skew);
                }
                match legs {
                    0 => {
                        let unread =
                            if self.is_unread_end(number, way) { UNREAD_FACTOR } else { 1.0 };
                        (kept, rows * (0.5 + shortest * each * unread))
                    }
                    _ => (kept, rows * (INTERSECT_COST + INTERSECT_ELEMENT_COST * shortest) + kept),
                }
            }
        };
        let rows = kept * self.selectivity(independent, part, after);
        let new = after.nodes & !nodes;
        let old = (1 << r.from | 1 << r.to) & nodes & !self.model.bound;
        let against_hint = self.hints.nodes & new != 0
            || self.hints.relationships & found & !relationships != 0
            || self.hints.joins & old != 0;
        let cost = cost + work + if against_hint { AGAINST_HINT_COST } else { 0.0 };
        let scope = Scope { part: after, independent };
        self.relax(scope, rows, cost, LastStep::Follow(at, number));
    }

    fn access_node(&mut self, at: usize, node: usize) {
        let State { scope, rows, cost, .. } = self.states[at];
        let Scope { part: Part { nodes, relationships }, independent } = scope;
        // Only the parts that conditions on the node need make a difference for its access path.
        let mut needed = Part { nodes: 0, relationships: 0 };
        for c in self.model.conditions.iter().filter(|c| contains(c.nodes, node)) {
            needed.nodes |= c.nodes;
            needed.relationships |= c.relationships;
        }
        let known = Part {
            nodes: nodes & needed.nodes,
            relationships: relationships & needed.relationships,
        };
        let key = (node, Scope { part: known, independent });
        let (solver, model) = (self.solver, self.model);
        let access = self.accesses.entry(key).or_insert_with(|| {
            let is_bound = model.is_bound(scope, solver);
            let (path, rows) = solver.node_access(model.nodes[node], &is_bound);
            Access { seeks: !matches!(path, AccessPath::Scan { .. }), rows }
        });
        let Access { seeks, rows: found } = *access;
        if !seeks && model.component[node] & nodes != 0 {
            return;
        }
        let after = Part { nodes: nodes | 1 << node, relationships };
        let selectivity = self.selectivity(independent, scope.part, after);
        let kept = found.min(model.candidates[node] * selectivity);
        let seek = if seeks { SEEK_COST } else { 0.0 };
        let against_hint = if contains(self.hints.joins, node) { AGAINST_HINT_COST } else { 0.0 };
        let cost = cost + rows * (seek + found) + against_hint;
        let scope = Scope { part: after, independent };
        self.relax(scope, rows * kept, cost, LastStep::Node(at, node));
    }

    fn access_relationship(&mut self, at: usize, number: usize) {
        let State { scope, rows, cost, .. } = self.states[at];
        let Scope { part: Part { nodes, relationships }, independent } = scope;
        let (solver, model) = (self.solver, self.model);
        let r = &model.relationships[number];
        if contains(nodes, r.from) || contains(nodes, r.to) {
            return;
        }
        let is_bound = model.is_bound(scope, solver);
        let Some((_, found)) = solver.relationship_access(number, &is_bound) else { return };
        drop(is_bound);
        let after = Part {
            nodes: nodes | 1 << r.from | 1 << r.to,
            relationships: relationships | 1 << number,
        };
        let selectivity = self.selectivity(independent, scope.part, after);
        let pairs = model.candidates[r.from] * model.candidates[r.to] * r.selectivity;
        let kept = found.min(pairs * selectivity);
        let cost = cost + rows * (SEEK_COST + found);
        let scope = Scope { part: after, independent };
        self.relax(scope, rows * kept, cost, LastStep::Relationship(at, number));
    }

    /// Factor by which a join finds more rows than independent sides would: nodes with many
    /// relationships are often found on both sides.
    fn join_skew(&self, a: Part, b: Part) -> f64 {
        let mut skew = 1.0;
        for r in members(b.relationships).map(|r| &self.model.relationships[r]) {
            for (end, node) in [r.from, r.to].into_iter().enumerate() {
                if contains(a.nodes, node) {
                    skew *= r.skew(end, a.relationships);
                }
            }
        }
        skew
    }

    /// Joins two states; `build` is the state of the build side.
    fn join(&mut self, probe: usize, build: usize) {
        let (probe_state, build_state) = (&self.states[probe], &self.states[build]);
        let (a, b) = (probe_state.scope.part, build_state.scope.part);
        let outer_visible = !probe_state.scope.independent;
        let build_independent = build_state.scope.independent;
        let model = self.model;
        let shared = a.nodes & b.nodes;
        let alone = build_independent || self.input.is_unit;
        let same_scope = probe_state.scope.independent == build_independent;
        if !alone || b.nodes == 0 || a.nodes == 0 && shared == 0 && same_scope {
            return;
        }
        if a.relationships & b.relationships != 0 || build_state.rows > BUILD_ROWS_MAX {
            return;
        }
        if shared == 0 {
            if members(b.nodes).any(|node| model.component[node] & a.nodes != 0) {
                return;
            }
        } else if b.relationships == 0 || a.relationships == 0 && a.nodes != model.bound {
            return;
        }
        if members(a.relationships).any(|r| model.relationships[r].same_side & b.relationships != 0)
        {
            return;
        }
        let part =
            Part { nodes: a.nodes | b.nodes, relationships: a.relationships | b.relationships };
        let after = Scope { part, independent: probe_state.scope.independent };
        let candidates = members(shared).map(|x| model.candidates[x]).product::<f64>();
        let pairs = probe_state.rows * build_state.rows / candidates;
        // Conditions that both sides have tested are counted twice.
        let nothing = Part { nodes: 0, relationships: 0 };
        let on_shared = Part { nodes: shared, relationships: 0 };
        let both = self.selectivity(build_independent, nothing, on_shared).max(1e-12);
        let (mut keys, mut others) = (1.0, 1.0);
        for c in &model.conditions {
            let tested_before =
                c.is_testable(probe_state.scope) || c.is_testable(build_state.scope);
            if c.is_testable(after) && !tested_before {
                let here = |s: Side| s.nodes & !a.nodes == 0 && (outer_visible || !s.outer);
                let there = |s: Side| s.nodes & !b.nodes == 0 && !s.outer;
                let straddles = |(x, y)| here(x) && there(y) || here(y) && there(x);
                let is_key = c.equality.is_some_and(straddles);
                *if is_key { &mut keys } else { &mut others } *= c.selectivity;
            }
        }
        let pairs = pairs / both * keys * self.join_skew(a, b);
        let (probe_rows, build_rows) = (probe_state.rows, build_state.rows);
        let cost = probe_state.cost
            + build_state.cost
            + BUILD_COST * build_rows
            + PROBE_COST * probe_rows
            + PAIR_COST * pairs;
        self.relax(after, pairs * others, cost, LastStep::Join(probe, build));
    }
}
