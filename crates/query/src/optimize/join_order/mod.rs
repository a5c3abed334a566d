//! In which order the parts of a pattern are found.
//!
//! Conditions are tested as soon as they can be. In which order nodes and relationships are found,
//! and whether parts of the pattern are found on their own and joined, is what `search` finds to be
//! cheapest by the figures of `model`; `steps` makes operators of it. Patterns that are too large
//! for that, or of which only some paths are wanted, are solved greedily: relationships between two
//! known nodes; then from a known node to an unknown one, those with the fewest rows first; and
//! only where nothing is known a new start (`order`). `seek` finds what indexes can do, and
//! `or_expansion` what several indexes can do one after the other.

mod as_written;
mod known;
mod merge;
mod model;
mod or_expansion;
mod order;
mod search;
mod seek;
mod steps;

use std::collections::{HashSet, VecDeque};

use super::Planner;
use crate::batch::Slot;
use crate::estimate::Facts;
use crate::expr::{Binary, Expr, GraphFunction};
use crate::plan::pattern::{Group, Length, Pattern, Relationship, Selection, overlap};
use crate::plan::{
    Expand, Extend, Filter, IndexSeek, Match, NodeById, NodeScan, Plan, RelationshipSeek, Repeat,
    Select, ShortestPath, Types, Unwind, VarExpand, Way,
};
use crate::watch;
use known::Expected;
use merge::Clauses;

pub(super) use known::Known;
use order::Start;

/// What is known before a pattern is found.
#[derive(Clone)]
struct Before {
    bound: HashSet<Slot>,
    found: Vec<Found>,
    facts: Facts,
    expected: Expected,
}

/// A relationship that others of its clause may have to differ from.
#[derive(Clone)]
struct Found {
    slot: Slot,
    types: Types,
    clause: u32,
}

/// A pattern being solved.
struct Solver<'b, 'a> {
    planner: &'b mut Planner<'a>,
    plan: Plan,
    bound: HashSet<Slot>,
    pattern: Pattern,
    /// Relationships found so far that others may have to differ from.
    found: Vec<Found>,
    /// What the plan so far says of variables, and of its rows.
    facts: Facts,
    expected: Expected,
    /// Of a large pattern, the nodes to begin at, in this order.
    starts: Option<VecDeque<Slot>>,
    /// Where the rows are only counted: variables that are read behind the pattern.
    counted: Option<HashSet<Slot>>,
}

impl Planner<'_> {
    /// Replaces every [`Match`] in a plan by operators that find what it asks for.
    pub(super) fn solve_patterns(&mut self, plan: &mut Plan) {
        // From the bottom up: what is known of the rows before a pattern decides how it is found.
        let mut begin = std::mem::replace(plan, Plan::Unit);
        let mut above = Vec::new();
        while let Some(input) = begin.input_mut() {
            let input = std::mem::replace(input, Plan::Unit);
            above.push(std::mem::replace(&mut begin, input));
        }
        if let Plan::Union(p) = &mut begin {
            p.parts.iter_mut().for_each(|part| self.solve_patterns(part));
        }
        let mut solved = begin;
        while let Some(operator) = above.pop() {
            solved = match operator {
                Plan::Match(first) => self.solve_matches(solved, *first, &mut above),
                mut operator => {
                    self.solve_inside(&mut operator, &solved);
                    if let Some(input) = operator.input_mut() {
                        *input = solved;
                    }
                    operator
                }
            };
        }
        *plan = solved;
    }

    /// Solves a pattern on top of `input`, and those that follow it directly.
    fn solve_matches(&mut self, input: Plan, first: Match, above: &mut Vec<Plan>) -> Plan {
        let (mut plan, mut clauses) = (input, Clauses::default());
        let mut next = Some(first);
        while let Some(Match { mut pattern, bound, counted, .. }) = next {
            let mut looks = false;
            pattern.exprs(&mut |e| e.subqueries(&mut |_| looks = true));
            if looks || !self.planning.order {
                // What a subquery in a condition finds is known better once all before it is.
                plan = self.solve_clauses(plan, std::mem::take(&mut clauses));
            }
            if looks {
                self.know(&plan);
                self.know_nodes(&pattern);
                pattern.exprs_mut(&mut |e| self.optimize_subqueries(e));
            }
            if !clauses.can_take(&pattern) {
                plan = self.solve_clauses(plan, std::mem::take(&mut clauses));
            }
            clauses.add(bound, pattern);
            self.counted = counted;
            next = above.pop_if(|plan| matches!(plan, Plan::Match(_))).map(|plan| match plan {
                Plan::Match(p) => *p,
                _ => unreachable!("INVARIANT: it was looked at"),
            });
        }
        let plan = self.solve_clauses(plan, clauses);
        self.counted = None;
        plan
    }

    /// Solves the patterns in the plans inside of an operator, and in its expressions.
    fn solve_inside(&mut self, operator: &mut Plan, input: &Plan) {
        let chain = std::iter::successors(operator.inner(), |plan| plan.input());
        if chain.chain([&*operator]).any(Plan::has_subqueries) {
            self.know(input);
        }
        if let Some(inner) = operator.inner_mut() {
            self.solve_patterns(inner);
        }
        if operator.has_subqueries() {
            operator.exprs_mut(&mut |e| self.optimize_subqueries(e));
        }
        match operator {
            Plan::Apply(p) => p.by_row |= !p.inner.keeps_rows_apart(),
            // They stand in its steps, too.
            Plan::Merge(p) => p.properties.iter_mut().for_each(|e| self.optimize_subqueries(e)),
            _ => {}
        }
    }

    /// The plan that finds `pattern` for each row of `input`, in which `bound` are known.
    fn solve(&mut self, input: Plan, bound: HashSet<Slot>, pattern: Pattern) -> Plan {
        self.solve_after(input, bound, Vec::new(), pattern)
    }

    /// As [`solve`](Self::solve), where relationships must differ from those found before.
    fn solve_after(
        &mut self,
        input: Plan,
        bound: HashSet<Slot>,
        found: Vec<Found>,
        pattern: Pattern,
    ) -> Plan {
        let (expected, facts) = self.before(&input, &bound);
        self.solve_from(input, Before { bound, found, facts, expected }, pattern)
    }

    /// As [`solve`](Self::solve), where what is known of the rows before was looked at.
    fn solve_from(&mut self, input: Plan, before: Before, pattern: Pattern) -> Plan {
        match self.branches(&input, &before, &pattern) {
            Some(branches) => self.union(input, before, branches),
            None => self.solve_whole(input, before, pattern),
        }
    }

    fn solve_whole(&mut self, plan: Plan, before: Before, pattern: Pattern) -> Plan {
        let Before { bound, found, facts, expected } = before;
        let counted = self.counted.take();
        let (planner, starts) = (self, None);
        let mut solver =
            Solver { planner, plan, bound, pattern, found, facts, expected, starts, counted };
        solver.run();
        let Solver { planner, plan, facts, expected, .. } = solver;
        planner.known.note(&plan, expected, facts);
        plan
    }
}

impl Found {
    /// True if a relationship may not be this one.
    fn clashes(&self, clause: u32, types: &Types) -> bool {
        self.clause == clause && overlap(&self.types, types)
    }
}

impl Solver<'_, '_> {
    fn wrap(&mut self, f: impl FnOnce(Plan) -> Plan) {
        let plan = std::mem::replace(&mut self.plan, Plan::Unit);
        self.plan = f(plan);
        let rows = &mut self.expected.rows;
        *rows = self.planner.counts().above(&self.plan, *rows, &mut self.facts);
    }

    fn run(&mut self) {
        self.test_known_nodes();
        if self.planner.planning.order {
            self.test_conditions();
            self.search();
        } else {
            self.as_written();
        }
        // A statement that is to be given up is never run: what is left of the pattern may be left
        // out. The planner asks, too.
        while watch::check().is_ok() {
            self.test_conditions();
            if let Some(at) = self.next_relationship() {
                let relationship = self.pattern.relationships.remove(at);
                self.follow(relationship);
            } else if let Some(at) = self.next_selection() {
                let selection = self.pattern.selections.remove(at);
                self.select(selection);
            } else if let Some(start) = self.next_start() {
                self.start(start);
            } else if let Some(relationship) = self.pattern.relationships.pop() {
                // Its condition names what only it would bind: evaluating that says so.
                self.follow(relationship);
            } else if let Some(selection) = self.pattern.selections.pop() {
                self.select(selection);
            } else {
                break;
            }
        }
        let paths = std::mem::take(&mut self.pattern.paths);
        if !paths.is_empty() {
            self.bound.extend(paths.iter().map(|(slot, _)| *slot));
            self.wrap(|plan| Plan::from(Extend { input: plan, items: paths }));
        }
        self.test_conditions();
        // What is left names variables of no row; evaluating it says so.
        for condition in std::mem::take(&mut self.pattern.conditions) {
            self.wrap(|plan| Plan::from(Filter { input: plan, condition }));
        }
    }

    /// A node that is known already may be null, which matches nothing. Relationships that begin at
    /// it see to that themselves.
    fn test_known_nodes(&mut self) {
        let pattern = &self.pattern;
        let touched = |node: Slot| {
            pattern.relationships.iter().any(|r| r.from == node || r.to == node)
                || pattern.selections.iter().any(|s| s.slots.contains(&node))
        };
        let alone = |node: &Slot| self.knows(*node) && !touched(*node);
        let tests: Vec<Expr> = (pattern.nodes.iter().copied().filter(alone))
            .map(|node| Expr::IsNull(Box::new(Expr::Slot(node)), true))
            .collect();
        self.pattern.conditions.extend(tests);
    }

    /// Tests every condition that can be.
    fn test_conditions(&mut self) {
        let conditions = std::mem::take(&mut self.pattern.conditions);
        let bound = &self.bound;
        let (ready, left): (Vec<Expr>, Vec<Expr>) =
            conditions.into_iter().partition(|c| c.is_bound(&|slot| bound.contains(&slot)));
        self.pattern.conditions = left;
        if !ready.is_empty() {
            self.wrap(|plan| Plan::from(Filter { input: plan, condition: Expr::all(ready) }));
        }
    }

    fn knows(&self, slot: Slot) -> bool {
        self.bound.contains(&slot)
    }

    /// The relationships that one must differ from, to which it is added.
    fn distinct_from(&mut self, r: &Relationship) -> Vec<Slot> {
        if !r.distinct {
            return Vec::new();
        }
        let clash = |other: &&Found| other.clashes(r.clause, &r.types);
        let others = self.found.iter().filter(clash).map(|other| other.slot).collect();
        self.found.push(Found { slot: r.slot, types: r.types.clone(), clause: r.clause });
        others
    }

    fn follow(&mut self, r: Relationship) {
        if r.bound && r.length.is_none() {
            return self.follow_known(r);
        }
        let distinct_from = self.distinct_from(&r);
        let forward = self.knows(r.from);
        let (from, to, way) = match forward {
            true => (r.from, r.to, r.way),
            false => (r.to, r.from, r.way.reverse()),
        };
        let into = self.knows(to);
        let (slot, types) = (r.slot, r.types);
        if let Some(group) = r.group {
            self.repeat(*group, slot, (from, to), forward);
            return;
        }
        match r.length {
            None => self.wrap(|mut input| {
                let (edge, keeps_edge) = (slot, true);
                let scans = match &mut input {
                    Plan::NodeScan(scan) if !into && scan.slot == from && scan.label.is_none() => {
                        scan.for_relationships = true;
                        true
                    }
                    _ => false,
                };
                Plan::from(Expand {
                    input,
                    from,
                    to,
                    into,
                    edge,
                    keeps_edge,
                    kept: None,
                    types,
                    way,
                    distinct_from,
                    scans,
                })
            }),
            Some(Length { min, max, filter, shortest: Some(shortest), .. }) => self.wrap(|input| {
                let all = shortest.all;
                let edges = slot;
                let p = ShortestPath { input, from, to, edges, types, way, min, max, filter, all };
                Plan::ShortestPath(Box::new(p))
            }),
            Some(Length { min, max, filter, repeats, shortest: None }) => {
                // Where several ends meet, a loop returns to its own start: `(a)-[*]->(a)`.
                let bound = r.bound;
                self.wrap(|input| {
                    let reversed = !forward;
                    let edges = slot;
                    Plan::from(VarExpand {
                        input,
                        from,
                        to,
                        into,
                        edges,
                        lists: true,
                        reversed,
                        types,
                        way,
                        min,
                        max,
                        filter,
                        distinct_from,
                        repeats,
                        bound,
                        once: false,
                    })
                });
            }
        }
        self.bound.extend([slot, to]);
    }

    /// Follows a path that is repeated, from a known node on.
    fn repeat(&mut self, group: Group, edges: Slot, (from, to): (Slot, Slot), forward: bool) {
        let Group { pattern, first, last, relationships, lists, min, max, shortest } = group;
        let (first, last) = if forward { (first, last) } else { (last, first) };
        let mut bound = self.bound.clone();
        bound.insert(first);
        // The list of what earlier repetitions found is one of those to differ from.
        let found = self.found.clone();
        let inner = self.planner.solve_after(Plan::Argument, bound, found, pattern);
        let row = self.planner.new_slot();
        let into = self.knows(to);
        self.bound.extend([edges, to]);
        self.bound.extend(lists.iter().map(|(_, list)| *list));
        let reversed = !forward;
        self.wrap(|input| {
            Plan::from(Repeat {
                input,
                inner,
                row,
                from,
                to,
                into,
                first,
                last,
                relationships,
                edges,
                lists,
                reversed,
                min,
                max,
                shortest: shortest.map(|shortest| shortest.all),
            })
        });
    }

    fn next_selection(&self) -> Option<usize> {
        let nodes = &self.pattern.nodes;
        let ready = |s: &Selection| s.is_ready(nodes, &|slot| self.knows(slot));
        self.pattern.selections.iter().position(ready)
    }

    /// Finds paths between two known nodes and takes as many as are wanted.
    fn select(&mut self, selection: Selection) {
        let (from, to) = selection.ends();
        let Selection { pattern, slots, paths, .. } = selection;
        let bound = self.bound.iter().copied().chain([from, to]).collect();
        let inner = self.planner.solve(Plan::Argument, bound, pattern);
        let mut own = Vec::new();
        inner.own_slots(&mut own);
        self.bound.extend(own);
        self.wrap(|input| Plan::from(Select { input, inner, slots, paths }));
    }

    /// A relationship that is known already: its nodes are what it connects.
    fn follow_known(&mut self, r: Relationship) {
        let ends = |f| Expr::GraphFunction(f, vec![Expr::Slot(r.slot)]);
        let (start, end) = (ends(GraphFunction::StartNode), ends(GraphFunction::EndNode));
        if !self.knows(r.from) && !self.knows(r.to) {
            let first = match r.way {
                Way::Out => Expr::List(vec![start]),
                Way::In => Expr::List(vec![end]),
                // A loop has one node: it is met once.
                Way::Both => {
                    let one = Expr::List(vec![start.clone()]);
                    let both = Expr::List(vec![start.clone(), end.clone()]);
                    let same = Expr::Binary(Binary::Equal, Box::new(start), Box::new(end));
                    let branches = vec![(same, one)];
                    let default = both;
                    let operand = None;
                    Expr::Case(Box::new(crate::expr::Case { branches, default, operand }))
                }
            };
            let from = r.from;
            self.wrap(|plan| Plan::from(Unwind { input: plan, slot: from, list: first }));
            self.bound.insert(from);
        }
        let edge = self.planner.new_slot();
        let known = r.slot;
        self.follow(Relationship { slot: edge, bound: false, ..r });
        let (a, b) = (Box::new(Expr::Slot(edge)), Box::new(Expr::Slot(known)));
        let same = Expr::Binary(Binary::Equal, a, b);
        self.wrap(|plan| Plan::from(Filter { input: plan, condition: same }));
    }

    /// Finds a part of the pattern that nothing known leads to.
    fn start(&mut self, start: Start) {
        match start {
            Start::Id { slot, id, element } => {
                self.bound.insert(slot);
                self.wrap(|input| Plan::from(NodeById { input, slot, id, element }));
            }
            Start::Index { slot, label, mut sought } => {
                self.take_tested(slot, Some(&label), &mut sought);
                self.bound.insert(slot);
                self.wrap(|input| Plan::from(IndexSeek { input, slot, label, sought }));
            }
            Start::Scan { slot, label } => {
                if let Some(label) = &label {
                    self.take_label(slot, label);
                }
                self.bound.insert(slot);
                let for_relationships = false;
                self.wrap(|input| Plan::from(NodeScan { input, slot, label, for_relationships }));
            }
            Start::Relationship { at, ty, mut sought } => {
                self.take_tested(self.pattern.relationships[at].slot, None, &mut sought);
                let r = self.pattern.relationships.remove(at);
                let distinct_from = self.distinct_from(&r);
                self.bound.extend([r.slot, r.from, r.to]);
                self.wrap(|input| {
                    let Relationship { slot: edge, from, to, way, .. } = r;
                    let seek =
                        RelationshipSeek { input, edge, from, to, way, ty, sought, distinct_from };
                    Plan::RelationshipSeek(Box::new(seek))
                });
            }
        }
    }
}
