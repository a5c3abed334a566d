//! Join order: the order in which the parts of a pattern are found.
//!
//! `search` looks for the cheapest order of nodes and relationships, and for parts that are found
//! on their own and joined; `model` has its estimates, and `steps` makes operators of the order. A
//! pattern that is too large for the search, or that asks for some of its paths only, is solved
//! greedily (`order`): first relationships between two bound nodes, then those from a bound node,
//! the fewest rows first, and a new access path only where no relationship is left. Conditions are
//! tested as soon as their variables are bound. `seek` finds indexes, and `or_expansion` a union of
//! several.

mod as_written;
mod merge;
mod model;
mod or_expansion;
mod order;
mod plan_estimates;
mod search;
mod seek;
mod steps;

use std::collections::{HashSet, VecDeque};

use super::Planner;
use crate::batch::Slot;
use crate::estimate::{Facts, Hop};
use crate::expr::{Binary, Expr, GraphFunction};
use crate::plan::pattern::{Group, Length, Pattern, Relationship, Selection, overlap};
use crate::plan::{
    Expand, Extend, Filter, IndexSeek, Match, Name, NodeById, NodeScan, Plan, RelationshipById,
    RelationshipSeek, Repeat, Select, ShortestPath, Types, Unwind, VarExpand, Way,
};
use crate::watch;
use merge::Clauses;

use order::AccessPath;
pub(super) use plan_estimates::PlanEstimates;
use plan_estimates::RowEstimate;
use seek::Ids;

/// Input of a pattern: bound variables, relationships to differ from, facts, and rows.
#[derive(Clone)]
struct PatternInput {
    bound: HashSet<Slot>,
    found: Vec<Found>,
    facts: Facts,
    estimate: RowEstimate,
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
    /// Facts and rows of the plan so far.
    facts: Facts,
    estimate: RowEstimate,
    /// Nodes of a large pattern, sorted by the rows of their access paths.
    start_nodes: Option<VecDeque<Slot>>,
    /// Variables that are read above the pattern, if its rows are only counted.
    count_only: Option<HashSet<Slot>>,
}

impl Planner<'_> {
    /// Replaces every [`Match`] in a plan by operators that find its pattern.
    pub(super) fn solve_patterns(&mut self, plan: &mut Plan) {
        // From the bottom up: the facts and rows below a pattern decide how it is found.
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

    /// Solves a pattern on top of `input`, and the patterns that follow it directly.
    fn solve_matches(&mut self, input: Plan, first: Match, above: &mut Vec<Plan>) -> Plan {
        let (mut plan, mut clauses) = (input, Clauses::default());
        let mut next = Some(first);
        while let Some(Match { mut pattern, bound, count_only, .. }) = next {
            let mut has_subqueries = false;
            pattern.exprs(&mut |e| has_subqueries |= e.has_subqueries());
            if has_subqueries || !self.planning.order {
                // A subquery in a condition is estimated better once the patterns before it are
                // solved.
                plan = self.solve_clauses(plan, std::mem::take(&mut clauses));
            }
            if has_subqueries {
                self.note_plan(&plan);
                self.note_conditions(&pattern);
                pattern.exprs_mut(&mut |e| self.optimize_subqueries(e));
            }
            if !clauses.can_merge(&pattern) {
                plan = self.solve_clauses(plan, std::mem::take(&mut clauses));
            }
            clauses.add(bound, pattern);
            self.count_only = count_only;
            next = match above.pop_if(|plan| matches!(plan, Plan::Match(_))) {
                Some(Plan::Match(p)) => Some(*p),
                _ => None,
            };
        }
        let plan = self.solve_clauses(plan, clauses);
        self.count_only = None;
        plan
    }

    /// Solves the patterns in the inner plan of an operator, and in its expressions.
    fn solve_inside(&mut self, operator: &mut Plan, input: &Plan) {
        let chain = std::iter::successors(operator.inner(), |plan| plan.input());
        if chain.chain([&*operator]).any(Plan::has_subqueries) {
            self.note_plan(input);
        }
        if let Some(inner) = operator.inner_mut() {
            self.solve_patterns(inner);
        }
        if operator.has_subqueries() {
            operator.exprs_mut(&mut |e| self.optimize_subqueries(e));
        }
        match operator {
            Plan::Apply(p) => p.by_row |= !p.inner.keeps_rows_apart(),
            // The same expressions stand in its steps, too.
            Plan::Merge(p) => p.properties.iter_mut().for_each(|e| self.optimize_subqueries(e)),
            _ => {}
        }
    }

    /// Plan that finds `pattern` for each row of `input`, which binds `bound`.
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
        let (estimate, facts) = self.estimate_input(&input, &bound);
        self.solve_with(input, PatternInput { bound, found, facts, estimate }, pattern)
    }

    /// As [`solve`](Self::solve), where the input is estimated already.
    fn solve_with(&mut self, input: Plan, info: PatternInput, pattern: Pattern) -> Plan {
        match self.or_branches(&input, &info, &pattern) {
            Some(branches) => self.union(input, info, branches),
            None => self.solve_whole(input, info, pattern),
        }
    }

    fn solve_whole(&mut self, plan: Plan, info: PatternInput, pattern: Pattern) -> Plan {
        let PatternInput { bound, found, facts, estimate } = info;
        let count_only = self.count_only.take();
        let (planner, start_nodes) = (self, None);
        let mut solver = Solver {
            planner,
            plan,
            bound,
            pattern,
            found,
            facts,
            estimate,
            start_nodes,
            count_only,
        };
        solver.run();
        let Solver { planner, plan, facts, estimate, .. } = solver;
        planner.estimates.note(&plan, estimate, facts);
        plan
    }
}

impl Found {
    /// True if a relationship of a clause must differ from this one.
    fn clashes(&self, clause: u32, types: &Types) -> bool {
        self.clause == clause && overlap(&self.types, types)
    }
}

impl Solver<'_, '_> {
    fn wrap(&mut self, f: impl FnOnce(Plan) -> Plan) {
        let plan = std::mem::replace(&mut self.plan, Plan::Unit);
        self.plan = f(plan);
        let rows = &mut self.estimate.rows;
        *rows = self.planner.counts().rows_over_input(&self.plan, *rows, &mut self.facts);
    }

    fn run(&mut self) {
        self.test_bound_nodes();
        if self.planner.planning.order {
            self.test_conditions();
            self.search();
        } else {
            self.as_written();
        }
        // A cancelled statement is never run, so its plan may lack a part of the pattern. The
        // planner checks again.
        while watch::check().is_ok() {
            self.test_conditions();
            if let Some(at) = self.next_relationship() {
                let relationship = self.pattern.relationships.remove(at);
                self.follow(relationship);
            } else if let Some(at) = self.next_selection() {
                let selection = self.pattern.selections.remove(at);
                self.select(selection);
            } else if let Some(access) = self.next_access() {
                self.access(access);
            } else if let Some(relationship) = self.pattern.relationships.pop() {
                // Its condition needs a variable that only it would bind: evaluation fails with
                // that.
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
        // A condition that is left needs a variable that no row has: evaluation fails with that.
        for condition in std::mem::take(&mut self.pattern.conditions) {
            self.wrap(|plan| Plan::from(Filter { input: plan, condition }));
        }
    }

    /// Adds a test that bound nodes are not null, since null matches nothing. Operators that follow
    /// a relationship from a node test that themselves.
    fn test_bound_nodes(&mut self) {
        let pattern = &self.pattern;
        let touched = |node: Slot| {
            pattern.relationships.iter().any(|r| r.from == node || r.to == node)
                || pattern.selections.iter().any(|s| s.slots.contains(&node))
        };
        let alone = |node: &Slot| self.is_bound(*node) && !touched(*node);
        let tests: Vec<Expr> = (pattern.nodes.iter().copied().filter(alone))
            .map(|node| Expr::IsNull(Box::new(Expr::Slot(node)), true))
            .collect();
        self.pattern.conditions.extend(tests);
    }

    /// Adds a filter for every condition whose variables are bound.
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

    fn is_bound(&self, slot: Slot) -> bool {
        self.bound.contains(&slot)
    }

    /// Relationships that `r` must differ from. Adds `r` to those that later ones must differ from.
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
            return self.follow_bound(r);
        }
        let distinct_from = self.distinct_from(&r);
        let forward = self.is_bound(r.from);
        let Hop { from, to, way, .. } = r.hop_from(forward);
        let into = self.is_bound(to);
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

    /// Follows a quantified path pattern from a bound node.
    fn repeat(&mut self, group: Group, edges: Slot, (from, to): (Slot, Slot), forward: bool) {
        let Group { pattern, first, last, relationships, lists, min, max, shortest } = group;
        let (first, last) = if forward { (first, last) } else { (last, first) };
        let mut bound = self.bound.clone();
        bound.insert(first);
        // Relationships of earlier repetitions are among those to differ from.
        let found = self.found.clone();
        let inner = self.planner.solve_after(Plan::Argument, bound, found, pattern);
        let row = self.planner.new_slot();
        let into = self.is_bound(to);
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
        let ready = |s: &Selection| s.is_ready(nodes, &|slot| self.is_bound(slot));
        self.pattern.selections.iter().position(ready)
    }

    /// Finds the paths between two bound nodes, and keeps as many as the pattern asks for.
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

    /// Binds the nodes of a relationship that is bound already.
    fn follow_bound(&mut self, r: Relationship) {
        let ends = |f| Expr::GraphFunction(f, vec![Expr::Slot(r.slot)]);
        let (start, end) = (ends(GraphFunction::StartNode), ends(GraphFunction::EndNode));
        if !self.is_bound(r.from) && !self.is_bound(r.to) {
            let first = match r.way {
                Way::Out => Expr::List(vec![start]),
                Way::In => Expr::List(vec![end]),
                // A loop has one node, which is one row.
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

    /// Finds a part of the pattern by an access path.
    fn access(&mut self, path: AccessPath) {
        match path {
            AccessPath::Id { slot, ids: Ids { value: id, element, any } } => {
                self.bound.insert(slot);
                self.wrap(|input| Plan::from(NodeById { input, slot, id, element, any }));
            }
            AccessPath::RelationshipId { at, ids } => {
                let r = self.pattern.relationships.remove(at);
                let distinct_from = self.distinct_from(&r);
                self.bound.extend([r.slot, r.from, r.to]);
                self.wrap(|input| {
                    let Relationship { slot: edge, from, to, way, types, .. } = r;
                    let Ids { value: id, any, .. } = ids;
                    Plan::from(RelationshipById {
                        input,
                        edge,
                        from,
                        to,
                        way,
                        types,
                        id,
                        any,
                        distinct_from,
                    })
                });
            }
            AccessPath::Index { slot, label, mut sought } => {
                self.take_tested(slot, Some(&label), &mut sought);
                self.bound.insert(slot);
                let label = label.into();
                self.wrap(|input| Plan::from(IndexSeek { input, slot, label, sought }));
            }
            AccessPath::Scan { slot, label } => {
                if let Some(label) = &label {
                    self.take_label(slot, label);
                }
                self.bound.insert(slot);
                let hinted = label.is_some() && self.pattern.hints.scan(slot) == label.as_ref();
                let (label, for_relationships) = (label.map(Name::from), false);
                self.wrap(|input| {
                    Plan::from(NodeScan { input, slot, label, for_relationships, hinted })
                });
            }
            AccessPath::Relationship { at, ty, mut sought } => {
                self.take_tested(self.pattern.relationships[at].slot, None, &mut sought);
                let r = self.pattern.relationships.remove(at);
                let distinct_from = self.distinct_from(&r);
                self.bound.extend([r.slot, r.from, r.to]);
                self.wrap(|input| {
                    let Relationship { slot: edge, from, to, way, .. } = r;
                    let ty = ty.into();
                    let seek =
                        RelationshipSeek { input, edge, from, to, way, ty, sought, distinct_from };
                    Plan::RelationshipSeek(Box::new(seek))
                });
            }
        }
    }
}
