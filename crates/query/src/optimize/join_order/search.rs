//! The search for the cheapest plan of a pattern.
//!
//! A *state* is a part of the pattern that is found: some of its nodes and relationships, with the
//! cheapest way known to find them. Steps lead from state to state:
//!
//! | Step | Finds | Costs, in rows |
//! |---|---|---|
//! | start | a node, or a relationship, by index or scan | what is found, and a seek |
//! | follow | a relationship from a found node | what is found before conditions are tested |
//! | follow between two nodes | the same | a search for each row |
//! | intersect | the node that several relationships lead to | the shortest of their lists |
//! | join | what another state has found on its own | both sides, and what is found |
//!
//! States are taken up cheapest first, so the first that holds the whole pattern is the best, and
//! what costs more than it is never looked at (uniform-cost search in the space that dynamic
//! programming over connected parts would fill: Selinger et al., SIGMOD 1979; Moerkotte and
//! Neumann, VLDB 2006). A part that is joined must be found without the rows at hand, since it is
//! read once.
//!
//! To keep the space small, a node that something known leads to is only started at by a seek, and
//! a single relationship between two nodes that are found is followed at once.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};

use super::Solver;
use super::model::{Condition, Model, Set, Side, has};
use super::order::Start;
use crate::expr::{Binary, Expr, Labels};

/// Steps that may be looked at before the search gives up.
const STEPS_MAX: usize = 10_000;
/// States that others are joined with: the cheapest.
const JOINED_MAX: usize = 128;
/// Rows that a table of a join may be expected to hold.
const BUILD_ROWS_MAX: f64 = 2e7;
/// The cost of what hints speak against.
const UNWISHED: f64 = 1e15;
/// Of the cost of following what nobody can read: perhaps it is only counted.
const UNREAD: f64 = 0.75;
/// What it costs to count relationships instead of following them: of a node, or each of those of
/// which the label has to be looked at.
const COUNT: f64 = 0.5;
/// What a seek in an index costs beside what it finds.
const SEEK: f64 = 3.0;
/// A search for a relationship between two nodes.
const SEARCH: f64 = 2.4;
/// For each row, lists that are intersected, and what is looked for in them: the shortest.
const MEET: f64 = 6.0;
const MET: f64 = 2.0;
/// A row that goes into the table of a join, and one that is looked up.
const BUILD: f64 = 4.0;
const PROBE: f64 = 2.0;
/// A row of both sides, which is put together from either and may be tested once more.
const PAIR: f64 = 1.5;
/// A row that is found as the end of a path of several relationships.
const PATH: f64 = 3.0;

/// How a pattern is found, step by step.
#[derive(Debug)]
pub(super) enum Step {
    /// A node, by its place among the nodes of the model.
    Node(usize),
    /// A relationship by an index on its type; by its place in the pattern.
    Relationship(usize),
    Follow(usize),
    /// Several from known nodes to the same new one, at once.
    Intersect(Vec<usize>),
    /// What these steps find on their own, joined on shared nodes and equal values.
    Join(Vec<Step>),
}

struct State {
    nodes: Set,
    relationships: Set,
    /// It knows nothing of what came before the pattern.
    free: bool,
    rows: f64,
    cost: f64,
    by: By,
    done: bool,
}

#[derive(Clone, Copy)]
enum By {
    Nothing,
    Node(usize, usize),
    Relationship(usize, usize),
    Follow(usize, usize),
    /// The state whose rows go on, and the one that is kept.
    Join(usize, usize),
}

type Key = (bool, Set, Set);

/// What the rows before a pattern are like.
pub(super) struct Input {
    pub(super) rows: f64,
    /// There is one, and it knows nothing: what is found for it is found on its own.
    pub(super) is_unit: bool,
    /// Parts of the pattern may be found on their own and joined.
    pub(super) joins: bool,
}

struct Search<'s, 'b, 'a> {
    solver: &'s Solver<'b, 'a>,
    model: &'s Model,
    input: Input,
    states: Vec<State>,
    places: HashMap<Key, usize>,
    queue: BinaryHeap<Reverse<(Cost, usize)>>,
    /// Whether a node is found by a seek, and how many, by what is known of what matters for it.
    starts: HashMap<(bool, usize, Set, Set), (bool, f64)>,
    /// States that were taken up, the cheapest first.
    taken: Vec<usize>,
    wishes: Wishes,
    steps: usize,
}

/// What hints speak against.
#[derive(Default)]
struct Wishes {
    /// Nodes, and relationships, that are to be found by an index or scan of their own.
    nodes: Set,
    relationships: Set,
    /// Nodes that two parts are to be joined on.
    joins: Set,
}

/// Costs in order.
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

fn each_of(set: Set) -> impl Iterator<Item = usize> {
    (0..Set::BITS as usize).filter(move |number| has(set, *number))
}

/// The cheapest steps to find a pattern, and what they cost; `None` if the search would take too
/// long.
pub(super) fn cheapest(
    solver: &Solver<'_, '_>,
    model: &Model,
    input: Input,
) -> Option<(Vec<Step>, f64)> {
    let wishes = wishes(solver, model);
    let mut search = Search {
        solver,
        model,
        input,
        states: Vec::new(),
        places: HashMap::new(),
        queue: BinaryHeap::new(),
        starts: HashMap::new(),
        taken: Vec::new(),
        wishes,
        steps: 0,
    };
    let rows = search.input.rows;
    search.reach((false, model.known, 0), rows, 0.0, By::Nothing);
    if search.input.joins && !search.input.is_unit {
        search.reach((true, 0, 0), 1.0, 0.0, By::Nothing);
    }
    search.run()
}

fn wishes(solver: &Solver<'_, '_>, model: &Model) -> Wishes {
    let (hints, mut wishes) = (&solver.pattern.hints, Wishes::default());
    for (number, slot) in model.nodes.iter().enumerate().filter(|(n, _)| !has(model.known, *n)) {
        let found = match solver.start_at(*slot, &|known| known != *slot).0 {
            Start::Index { label, sought, .. } => {
                hints.index(*slot).is_some_and(|hint| hint.is(&label, &sought))
            }
            Start::Scan { label, .. } => label.as_ref() == hints.scan(*slot) && label.is_some(),
            _ => false,
        };
        wishes.nodes |= Set::from(found) << number;
        wishes.joins |= Set::from(hints.joins.contains(slot)) << number;
    }
    for (number, r) in solver.pattern.relationships.iter().enumerate() {
        let ends = [r.slot, r.from, r.to];
        if let (Some(hint), Some((Start::Relationship { ty, sought, .. }, _))) =
            (hints.index(r.slot), solver.start_by(number, &|slot| !ends.contains(&slot)))
        {
            wishes.relationships |= Set::from(hint.is(&ty, &sought)) << number;
        }
    }
    wishes
}

impl Search<'_, '_, '_> {
    /// Notes a way to a state, if it is the cheapest so far.
    fn reach(&mut self, key: Key, rows: f64, cost: f64, by: By) {
        self.steps += 1;
        let (free, nodes, relationships) = key;
        let state = State { nodes, relationships, free, rows, cost, by, done: false };
        let place = match self.places.get(&key) {
            Some(place) if self.states[*place].done || self.states[*place].cost <= cost => return,
            Some(place) => {
                self.states[*place] = state;
                *place
            }
            None => {
                self.states.push(state);
                self.places.insert(key, self.states.len() - 1);
                self.states.len() - 1
            }
        };
        self.queue.push(Reverse((Cost(cost), place)));
    }

    fn run(&mut self) -> Option<(Vec<Step>, f64)> {
        let all_nodes = (0..self.model.nodes.len()).fold(0, |set, n| set | 1 << n);
        let all = (0..self.model.relationships.len()).fold(0, |set, n| set | 1 << n);
        while let Some(Reverse((_, at))) = self.queue.pop() {
            let state = &mut self.states[at];
            if std::mem::replace(&mut state.done, true) {
                continue;
            }
            if (state.free, state.nodes, state.relationships) == (false, all_nodes, all) {
                let cost = state.cost;
                return Some((self.way_to(at), cost));
            }
            if self.steps > STEPS_MAX {
                return None;
            }
            self.extend(at);
            if self.input.joins {
                for other in 0..self.taken.len() {
                    self.join(at, self.taken[other]);
                    self.join(self.taken[other], at);
                }
                if self.taken.len() < JOINED_MAX {
                    self.taken.push(at);
                }
            }
        }
        None
    }

    fn way_to(&self, at: usize) -> Vec<Step> {
        let (before, step) = match self.states[at].by {
            By::Nothing => return Vec::new(),
            By::Node(before, node) => (before, Step::Node(node)),
            By::Relationship(before, r) => (before, Step::Relationship(r)),
            By::Follow(before, r) => {
                let found = self.states[at].relationships & !self.states[before].relationships;
                let others = each_of(found).filter(|other| *other != r);
                let all: Vec<usize> = std::iter::once(r).chain(others).collect();
                (before, if all.len() == 1 { Step::Follow(r) } else { Step::Intersect(all) })
            }
            By::Join(before, kept) => (before, Step::Join(self.way_to(kept))),
        };
        let mut steps = self.way_to(before);
        steps.push(step);
        steps
    }

    /// The share of rows that conditions leave which can be tested in the second state, but not in
    /// the first.
    fn share(&self, free: bool, before: (Set, Set), after: (Set, Set)) -> f64 {
        let holds = |c: &&Condition, (nodes, relationships): (Set, Set)| {
            c.nodes & !nodes == 0 && c.relationships & !relationships == 0 && !(free && c.outer)
        };
        let new = self.model.conditions.iter().filter(|c| holds(c, after) && !holds(c, before));
        new.map(|c| c.share).product()
    }

    /// Takes every step from a state.
    fn extend(&mut self, at: usize) {
        let State { nodes, relationships, free, .. } = self.states[at];
        let model = self.model;
        let open: Vec<usize> =
            (0..model.relationships.len()).filter(|r| !has(relationships, *r)).collect();
        let between = |r: &&usize| {
            let r = &model.relationships[**r];
            r.single && !r.bound && has(nodes, r.from) && has(nodes, r.to)
        };
        if let Some(r) = open.iter().find(between) {
            return self.follow(at, *r);
        }
        for r in &open {
            if model.is_ready(*r, (nodes, relationships), free, self.solver) {
                self.follow(at, *r);
            }
        }
        for node in (0..model.nodes.len()).filter(|node| !has(nodes, *node)) {
            self.start(at, node);
        }
        for r in open {
            self.start_by(at, r);
        }
    }

    /// Relationships from known nodes to the same new one, beside one that leads there.
    fn legs(&self, at: usize, number: usize) -> Set {
        let State { nodes, relationships, .. } = self.states[at];
        let r = &self.model.relationships[number];
        if !r.single || r.bound || has(nodes, r.from) == has(nodes, r.to) {
            return 0;
        }
        let new = if has(nodes, r.from) { r.to } else { r.from };
        let mut legs = 0;
        for (other, o) in self.model.relationships.iter().enumerate() {
            let meets = o.from == new && has(nodes, o.to) || o.to == new && has(nodes, o.from);
            let open = other != number && !has(relationships, other);
            legs |= Set::from(open && o.single && !o.bound && meets) << other;
        }
        legs
    }

    /// Whether nothing else leads to the node that a relationship leads to, and neither has a name
    /// by which it could be read.
    fn is_unread_end(&self, number: usize, way: usize) -> bool {
        let r = &self.model.relationships[number];
        let end = if way == 0 { r.to } else { r.from };
        let touches = |r: &super::model::Edge| r.from == end || r.to == end;
        let is_last = self.model.relationships.iter().filter(|r| touches(r)).count() == 1;
        let slots = [self.model.nodes[end], self.solver.pattern.relationships[number].slot];
        is_last && slots.iter().all(|slot| self.solver.planner.slots[*slot].is_none())
    }

    /// The number of nodes that the end of a relationship must not be, if the relationship is only
    /// counted (`optimize/counting.rs`): where that is all that becomes of the rows of the pattern,
    /// and nothing else reads the end.
    fn counted_end(&self, at: usize, number: usize, way: usize) -> Option<usize> {
        let State { nodes, relationships, .. } = self.states[at];
        let (model, pattern) = (self.model, &self.solver.pattern);
        let read = self.solver.counted.as_ref().filter(|_| pattern.paths.is_empty())?;
        let (edge, r) = (&model.relationships[number], &pattern.relationships[number]);
        let end = if way == 0 { edge.to } else { edge.from };
        let touches = |e: &&super::model::Edge| e.from == end || e.to == end;
        let is_read = read.contains(&r.slot) || read.contains(&model.nodes[end]);
        if is_read || !edge.single || edge.bound || has(model.known, end) {
            return None;
        }
        if model.relationships.iter().filter(touches).count() != 1 {
            return None;
        }
        // One that is found later could not tell whether it is another one.
        let later = (0..pattern.relationships.len())
            .filter(|other| *other != number && !has(relationships, *other))
            .map(|other| &pattern.relationships[other]);
        if later.into_iter().any(|other| other.must_differ(r)) {
            return None;
        }
        let mut others = 0;
        for (condition, expr) in model.conditions.iter().zip(&pattern.conditions) {
            if has(condition.relationships, number) {
                return None;
            }
            if !has(condition.nodes, end) {
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
        let State { nodes, relationships, free, rows, cost, .. } = self.states[at];
        let r = &self.model.relationships[number];
        let (from, to) = (has(nodes, r.from), has(nodes, r.to));
        let found = relationships | 1 << number | legs;
        let each = if r.single { 1.0 } else { PATH };
        let before = rows;
        let both = r.share * r.times(0, relationships) * r.times(1, relationships);
        let (kept, work) = match (from, to) {
            _ if r.bound => (rows, rows),
            (true, true) if r.single => (rows * both, rows * (SEARCH + both)),
            (true, true) => (rows * r.share, rows * (SEARCH + r.found[0] * PATH)),
            _ => {
                let way = usize::from(!from);
                let skew = r.times(way, relationships);
                if legs == 0
                    && let Some(others) = self.counted_end(at, number, way)
                {
                    // The row stays one row, with a count.
                    let labelled = r.kept[way] > 0.99 * r.found[way];
                    let looks = if labelled { 1.0 } else { r.found[way] * skew };
                    let work = 0.5 + COUNT * looks + SEARCH * others as f64;
                    let after = (nodes | 1 << r.from | 1 << r.to, found);
                    let rows = rows * (r.kept[way] * skew).min(1.0);
                    let key = (free, after.0, after.1);
                    return self.reach(key, rows, cost + before * work, By::Follow(at, number));
                }
                let mut kept = rows * r.kept[way] * skew;
                let mut shortest = r.found[way] * skew;
                for leg in each_of(legs).map(|leg| &self.model.relationships[leg]) {
                    let (old, new) = if has(nodes, leg.from) { (0, 1) } else { (1, 0) };
                    let times = leg.times(old, relationships);
                    kept *= leg.share * times * leg.times(new, 1 << number);
                    shortest = shortest.min(leg.found[old] * times);
                }
                match legs {
                    0 => {
                        let unread = if self.is_unread_end(number, way) { UNREAD } else { 1.0 };
                        (kept, rows * (0.5 + shortest * each * unread))
                    }
                    _ => (kept, rows * (MEET + MET * shortest) + kept),
                }
            }
        };
        let after = (nodes | 1 << r.from | 1 << r.to, found);
        let rows = kept * self.share(free, (nodes, relationships), after);
        let new = after.0 & !nodes;
        let old = (1 << r.from | 1 << r.to) & nodes & !self.model.known;
        let unwished = self.wishes.nodes & new != 0
            || self.wishes.relationships & found & !relationships != 0
            || self.wishes.joins & old != 0;
        let cost = cost + work + if unwished { UNWISHED } else { 0.0 };
        self.reach((free, after.0, after.1), rows, cost, By::Follow(at, number));
    }

    fn start(&mut self, at: usize, node: usize) {
        let State { nodes, relationships, free, rows, cost, .. } = self.states[at];
        let (mut near, mut by) = (0, 0);
        for c in self.model.conditions.iter().filter(|c| has(c.nodes, node)) {
            (near, by) = (near | c.nodes, by | c.relationships);
        }
        let key = (free, node, nodes & near, relationships & by);
        let (solver, model) = (self.solver, self.model);
        let found = self.starts.entry(key).or_insert_with(|| {
            let knows = model.knows((nodes, relationships), free, solver);
            let (start, rows) = solver.start_at(model.nodes[node], &knows);
            (!matches!(start, Start::Scan { .. }), rows)
        });
        let (seeks, found) = *found;
        if !seeks && model.component[node] & nodes != 0 {
            return;
        }
        let after = (nodes | 1 << node, relationships);
        let share = self.share(free, (nodes, relationships), after);
        let kept = found.min(model.counts[node] * share);
        let seek = if seeks { SEEK } else { 0.0 };
        let unwished = if has(self.wishes.joins, node) { UNWISHED } else { 0.0 };
        let cost = cost + rows * (seek + found) + unwished;
        self.reach((free, after.0, after.1), rows * kept, cost, By::Node(at, node));
    }

    fn start_by(&mut self, at: usize, number: usize) {
        let State { nodes, relationships, free, rows, cost, .. } = self.states[at];
        let (solver, model) = (self.solver, self.model);
        let r = &model.relationships[number];
        if has(nodes, r.from) || has(nodes, r.to) {
            return;
        }
        let knows = model.knows((nodes, relationships), free, solver);
        let Some((_, found)) = solver.start_by(number, &knows) else { return };
        drop(knows);
        let after = (nodes | 1 << r.from | 1 << r.to, relationships | 1 << number);
        let share = self.share(free, (nodes, relationships), after);
        let kept = found.min(model.counts[r.from] * model.counts[r.to] * r.share * share);
        let cost = cost + rows * (SEEK + found);
        self.reach((free, after.0, after.1), rows * kept, cost, By::Relationship(at, number));
    }

    /// How many times more rows meet where two states share nodes, since nodes with many
    /// relationships are often found by both.
    fn skew(&self, a: &State, b: &State) -> f64 {
        let mut times = 1.0;
        for r in each_of(b.relationships).map(|r| &self.model.relationships[r]) {
            for (end, node) in [r.from, r.to].into_iter().enumerate() {
                if has(a.nodes, node) {
                    times *= r.times(end, a.relationships);
                }
            }
        }
        times
    }

    /// Joins two states, the second of which is kept.
    fn join(&mut self, at: usize, kept: usize) {
        let (a, b) = (&self.states[at], &self.states[kept]);
        let model = self.model;
        let shared = a.nodes & b.nodes;
        let alone = b.free || self.input.is_unit;
        if !alone || b.nodes == 0 || a.nodes == 0 && shared == 0 && a.free == b.free {
            return;
        }
        if a.relationships & b.relationships != 0 || b.rows > BUILD_ROWS_MAX {
            return;
        }
        if shared == 0 {
            if each_of(b.nodes).any(|node| model.component[node] & a.nodes != 0) {
                return;
            }
        } else if b.relationships == 0 || a.relationships == 0 && a.nodes != model.known {
            return;
        }
        if each_of(a.relationships).any(|r| model.relationships[r].apart & b.relationships != 0) {
            return;
        }
        let of = |s: &State| (s.nodes, s.relationships);
        let after = (a.nodes | b.nodes, a.relationships | b.relationships);
        let pairs = a.rows * b.rows / each_of(shared).map(|x| model.counts[x]).product::<f64>();
        // What both have tested is counted twice.
        let both = self.share(b.free, (0, 0), (shared, 0)).max(1e-12);
        let (mut keys, mut others) = (1.0, 1.0);
        for c in &model.conditions {
            let in_one = |(nodes, relationships): (Set, Set), free: bool| {
                c.nodes & !nodes == 0 && c.relationships & !relationships == 0 && !(free && c.outer)
            };
            if in_one(after, a.free) && !in_one(of(a), a.free) && !in_one(of(b), b.free) {
                let here = |(nodes, outer): Side| nodes & !a.nodes == 0 && !(outer && a.free);
                let there = |(nodes, outer): Side| nodes & !b.nodes == 0 && !outer;
                let straddles = |(x, y)| here(x) && there(y) || here(y) && there(x);
                let is_key = c.equal.is_some_and(straddles);
                *if is_key { &mut keys } else { &mut others } *= c.share;
            }
        }
        let pairs = pairs / both * keys * self.skew(a, b);
        let cost = a.cost + b.cost + BUILD * b.rows + PROBE * a.rows + PAIR * pairs;
        let (key, rows) = ((a.free, after.0, after.1), pairs * others);
        self.reach(key, rows, cost, By::Join(at, kept));
    }
}
