//! From the steps that were chosen to operators.

use std::collections::HashSet;

use super::Solver;
use super::known::Expected;
use super::model::Model;
use super::search::{Input, Step, cheapest};
use crate::batch::Slot;
use crate::expr::{Binary, Expr};
use crate::plan::pattern::{Pattern, Relationship};
use crate::plan::{HashJoin, Intersect, Leg, Plan};

/// What is left of a pattern to be found.
struct Rest<'r> {
    nodes: &'r [Slot],
    /// Numbers of the relationships that are left, in the order in which they stand.
    relationships: Vec<usize>,
    /// All conditions there were, for parts that are found on their own.
    conditions: &'r [Expr],
}

impl Solver<'_, '_> {
    /// Finds as much of the pattern as the search for a plan covers.
    pub(super) fn search(&mut self) {
        let is_unit = matches!(self.plan, Plan::Unit) && self.bound.is_empty();
        let Some(model) = Model::of(self, self.facts.clone()) else { return };
        let Expected { rows, inner } = self.expected;
        let rows = rows.max(1.0);
        // A table would be made anew for each run of an inner plan.
        let input = Input { rows, is_unit, joins: !inner };
        let Some((steps, _)) = cheapest(self, &model, input) else { return };
        let nodes = model.nodes;
        let joins = steps.iter().any(|step| matches!(step, Step::Join(_)));
        let conditions = if joins { self.pattern.conditions.clone() } else { Vec::new() };
        let relationships = (0..self.pattern.relationships.len()).collect();
        let mut rest = Rest { nodes: &nodes, relationships, conditions: &conditions };
        self.take(&steps, &mut rest);
    }

    fn take(&mut self, steps: &[Step], rest: &mut Rest<'_>) {
        for step in steps {
            self.test_conditions();
            match step {
                Step::Node(node) => {
                    let knows = |slot: Slot| self.knows(slot);
                    let (start, _) = self.start_at(rest.nodes[*node], &knows);
                    self.start(start);
                }
                Step::Relationship(number) => {
                    let at = rest.place(*number);
                    let knows = |slot: Slot| self.knows(slot);
                    if let Some((start, _)) = self.start_by(at, &knows) {
                        rest.relationships.remove(at);
                        self.start(start);
                    }
                }
                Step::Follow(number) => {
                    let relationship = self.remove(*number, rest);
                    self.follow(relationship);
                }
                Step::Intersect(numbers) => {
                    let legs = numbers.iter().map(|number| self.remove(*number, rest)).collect();
                    self.intersect(legs);
                }
                Step::Join(steps) => self.join(steps, rest),
            }
        }
        self.test_conditions();
    }

    fn remove(&mut self, number: usize, rest: &mut Rest<'_>) -> Relationship {
        let at = rest.place(number);
        rest.relationships.remove(at);
        self.pattern.relationships.remove(at)
    }

    /// Finds the node that several relationships from known nodes lead to.
    fn intersect(&mut self, relationships: Vec<Relationship>) {
        let first = &relationships[0];
        let to = if self.knows(first.from) { first.to } else { first.from };
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
    fn join(&mut self, steps: &[Step], rest: &mut Rest<'_>) {
        let (mut numbers, mut slots) = (HashSet::new(), HashSet::new());
        collect(steps, &mut |step| match step {
            Step::Node(node) => _ = slots.insert(rest.nodes[*node]),
            Step::Relationship(number) | Step::Follow(number) => _ = numbers.insert(*number),
            Step::Intersect(several) => numbers.extend(several),
            Step::Join(_) => {}
        });
        let mut pattern = Pattern { hints: self.pattern.hints.clone(), ..Pattern::default() };
        let mut numbers: Vec<usize> = numbers.into_iter().collect();
        numbers.sort_unstable();
        for number in &numbers {
            let r = self.remove(*number, rest);
            slots.extend([r.slot, r.from, r.to]);
            pattern.relationships.push(r);
        }
        pattern.nodes = rest.nodes.iter().copied().filter(|node| slots.contains(node)).collect();
        let inside = |c: &Expr| c.is_bound(&|slot| slots.contains(&slot));
        pattern.conditions = rest.conditions.iter().filter(|c| inside(c)).cloned().collect();
        self.pattern.conditions.retain(|c| !inside(c));
        let (bound, found, facts) = Default::default();
        let (planner, plan) = (&mut *self.planner, Plan::Unit);
        let expected = Expected { rows: 1.0, inner: false };
        let (starts, counted) = (None, None);
        let mut part =
            Solver { planner, plan, bound, pattern, found, facts, expected, starts, counted };
        let (nodes, conditions) = (rest.nodes, rest.conditions);
        part.take(steps, &mut Rest { nodes, relationships: numbers, conditions });
        let Solver { plan: build, bound, found, facts, .. } = part;
        self.facts.absorb(facts);

        let shared = rest.nodes.iter().filter(|node| self.knows(**node) && bound.contains(*node));
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
        // No relationship on both sides.
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

impl Rest<'_> {
    /// Where a relationship that is left stands.
    fn place(&self, number: usize) -> usize {
        let place = self.relationships.iter().position(|left| *left == number);
        place.expect("INVARIANT: a relationship is found by one step")
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
