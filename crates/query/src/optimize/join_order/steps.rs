//! Operators for the steps that the join order search chose.

use std::collections::HashSet;

use super::Solver;
use super::model::Model;
use super::plan_estimates::RowEstimate;
use super::search::{Input, Step, cheapest_steps};
use crate::batch::Slot;
use crate::expr::{Binary, Expr};
use crate::plan::pattern::{Pattern, Relationship};
use crate::plan::{HashJoin, Intersect, Leg, Plan};

/// Part of a pattern that is still to be found.
struct Remaining<'r> {
    nodes: &'r [Slot],
    /// Numbers of the relationships that are left, in the order of the pattern.
    relationships: Vec<usize>,
    /// All conditions of the pattern, for parts that are found on their own.
    conditions: &'r [Expr],
}

impl Solver<'_, '_> {
    /// Finds the pattern in the cheapest join order, if the search finds one.
    pub(super) fn search(&mut self) {
        let is_unit = matches!(self.plan, Plan::Unit) && self.bound.is_empty();
        let Some(model) = Model::of(self, self.facts.clone()) else { return };
        let RowEstimate { rows, inner } = self.estimate;
        let rows = rows.max(1.0);
        // An inner plan would build the table again at each run.
        let input = Input { rows, is_unit, joins: !inner };
        let Some((steps, _)) = cheapest_steps(self, &model, input) else { return };
        let nodes = model.nodes;
        let joins = steps.iter().any(|step| matches!(step, Step::Join(_)));
        let conditions = if joins { self.pattern.conditions.clone() } else { Vec::new() };
        let relationships = (0..self.pattern.relationships.len()).collect();
        let mut remaining = Remaining { nodes: &nodes, relationships, conditions: &conditions };
        self.apply_steps(&steps, &mut remaining);
    }

    fn apply_steps(&mut self, steps: &[Step], remaining: &mut Remaining<'_>) {
        for step in steps {
            self.test_conditions();
            match step {
                Step::Node(node) => {
                    let is_bound = |slot: Slot| self.is_bound(slot);
                    let (access, _) = self.node_access(remaining.nodes[*node], &is_bound);
                    self.access(access);
                }
                Step::Relationship(number) => {
                    let at = remaining.position(*number);
                    let is_bound = |slot: Slot| self.is_bound(slot);
                    if let Some((access, _)) = self.relationship_access(at, &is_bound) {
                        remaining.relationships.remove(at);
                        self.access(access);
                    }
                }
                Step::Follow(number) => {
                    let relationship = self.remove(*number, remaining);
                    self.follow(relationship);
                }
                Step::Intersect(numbers) => {
                    let legs =
                        numbers.iter().map(|number| self.remove(*number, remaining)).collect();
                    self.intersect(legs);
                }
                Step::Join(steps) => self.join(steps, remaining),
            }
        }
        self.test_conditions();
    }

    fn remove(&mut self, number: usize, remaining: &mut Remaining<'_>) -> Relationship {
        let at = remaining.position(number);
        remaining.relationships.remove(at);
        self.pattern.relationships.remove(at)
    }

    /// Finds the node that several relationships from bound nodes lead to.
    fn intersect(&mut self, relationships: Vec<Relationship>) {
        let first = &relationships[0];
        let to = if self.is_bound(first.from) { first.to } else { first.from };
        let mut legs = Vec::with_capacity(relationships.len());
        for r in relationships {
            let distinct_from = self.distinct_from(&r);
            let (from, way) = if r.to == to { (r.from, r.way) } else { (r.to, r.way.reverse()) };
            let (edge, types, keeps_edge) = (r.slot, r.types, true);
            self.bound.insert(edge);
            legs.push(Leg { from, edge, keeps_edge, types, way, distinct_from });
        }
        self.bound.insert(to);
        self.wrap(|input| Plan::from(Intersect { input, to, legs, kept: None }));
    }

    /// Finds a part of the pattern on its own and joins it with what is found so far.
    fn join(&mut self, steps: &[Step], remaining: &mut Remaining<'_>) {
        let (mut numbers, mut slots) = (HashSet::new(), HashSet::new());
        collect(steps, &mut |step| match step {
            Step::Node(node) => _ = slots.insert(remaining.nodes[*node]),
            Step::Relationship(number) | Step::Follow(number) => _ = numbers.insert(*number),
            Step::Intersect(several) => numbers.extend(several),
            Step::Join(_) => {}
        });
        let mut pattern = Pattern { hints: self.pattern.hints.clone(), ..Pattern::default() };
        let mut numbers: Vec<usize> = numbers.into_iter().collect();
        numbers.sort_unstable();
        for number in &numbers {
            let r = self.remove(*number, remaining);
            slots.extend([r.slot, r.from, r.to]);
            pattern.relationships.push(r);
        }
        pattern.nodes =
            remaining.nodes.iter().copied().filter(|node| slots.contains(node)).collect();
        let inside = |c: &Expr| c.is_bound(&|slot| slots.contains(&slot));
        pattern.conditions = remaining.conditions.iter().filter(|c| inside(c)).cloned().collect();
        self.pattern.conditions.retain(|c| !inside(c));
        let (bound, found, facts) = Default::default();
        let (planner, plan) = (&mut *self.planner, Plan::Unit);
        let estimate = RowEstimate { rows: 1.0, inner: false };
        let (start_nodes, count_only) = (None, None);
        let mut part = Solver {
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
        let (nodes, conditions) = (remaining.nodes, remaining.conditions);
        part.apply_steps(steps, &mut Remaining { nodes, relationships: numbers, conditions });
        let Solver { plan: build, bound, found, facts, .. } = part;
        self.facts.absorb(facts);

        let shared =
            remaining.nodes.iter().filter(|node| self.is_bound(**node) && bound.contains(*node));
        let mut keys: Vec<(Expr, Expr)> =
            shared.map(|node| (Expr::Slot(*node), Expr::Slot(*node))).collect();
        let here = |e: &Expr| e.is_bound(&|slot| self.bound.contains(&slot));
        let there = |e: &Expr| e.is_bound(&|slot| bound.contains(&slot));
        let mut left = Vec::new();
        for condition in std::mem::take(&mut self.pattern.conditions) {
            match condition {
                Expr::Binary(Binary::Equal, a, b) if here(&a) && there(&b) => keys.push((*a, *b)),
                Expr::Binary(Binary::Equal, a, b) if here(&b) && there(&a) => keys.push((*b, *a)),
                other => left.push(other),
            }
        }
        self.pattern.conditions = left;
        // The same relationship must not be on both sides.
        for a in &self.found {
            for b in found.iter().filter(|b| b.clashes(a.clause, &a.types)) {
                let (a, b) = (Box::new(Expr::Slot(a.slot)), Box::new(Expr::Slot(b.slot)));
                self.pattern.conditions.push(Expr::Binary(Binary::NotEqual, a, b));
            }
        }
        self.bound.extend(bound);
        self.found.extend(found);
        self.wrap(|input| Plan::from(HashJoin { input, build, keys }));
    }
}

impl Remaining<'_> {
    /// Position of a relationship among those that are left.
    fn position(&self, number: usize) -> usize {
        let position = self.relationships.iter().position(|left| *left == number);
        position.expect("INVARIANT: a relationship is found by one step")
    }
}

/// Calls `f` with every step, those of parts included.
fn collect(steps: &[Step], f: &mut dyn FnMut(&Step)) {
    for step in steps {
        f(step);
        if let Step::Join(steps) = step {
            collect(steps, f);
        }
    }
}
