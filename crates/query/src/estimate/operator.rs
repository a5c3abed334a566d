//! Rows of operators.

use telar_graph::{EdgeEnd, Value};

use super::{Counts, Facts};
use crate::batch::Slot;
use crate::expr::{Binary, Expr};
use crate::plan::{Plan, Types};

/// Operators of a side of a join that are looked at for how it found a node.
const REACHED_MAX: usize = 16;

/// Rows that the inputs of an operator are expected to return.
#[derive(Debug, Clone, Copy)]
pub(crate) struct InputRows<'r> {
    /// Of its input; 1 if it has none.
    pub(crate) first: f64,
    /// Of the plan beside that, or inside of it; 1 if there is none.
    pub(crate) second: f64,
    /// Of all plans that it reads from.
    pub(crate) all: &'r [f64],
    /// Rows that come from outside.
    pub(crate) outer: f64,
}

impl Counts<'_> {
    /// Rows of a plan; what it says of its variables is noted.
    pub(crate) fn estimate(&self, plan: &Plan, facts: &mut Facts) -> f64 {
        match plan.input() {
            Some(input) => {
                let rows = self.estimate(input, facts);
                self.above(plan, rows, facts)
            }
            None => {
                // Each part of a union knows what the others do not; any of them says what it is.
                let before = facts.clone();
                let parts = plan.inputs().into_iter().map(|part| {
                    facts.clone_from(&before);
                    self.estimate(part, facts)
                });
                let inputs: Vec<f64> = parts.collect();
                self.rows(plan, &inputs, 1.0, facts)
            }
        }
    }

    /// Rows of a plan of whose input so many are expected; what it says of its variables is noted.
    pub(crate) fn above(&self, plan: &Plan, input: f64, facts: &mut Facts) -> f64 {
        let mut inputs = vec![input];
        for plan in plan.inputs().into_iter().skip(1) {
            inputs.push(facts.inside(|facts| self.estimate(plan, facts)));
        }
        self.rows(plan, &inputs, 1.0, facts)
    }

    /// Rows of an operator, of whose inputs so many are expected; `outer` rows come from outside.
    /// What it says of variables is noted.
    pub(crate) fn rows(&self, plan: &Plan, inputs: &[f64], outer: f64, facts: &mut Facts) -> f64 {
        self.asked.set(self.asked.get() + 1);
        let first = inputs.first().copied().unwrap_or(1.0);
        let second = inputs.get(1).copied().unwrap_or(1.0);
        let input = InputRows { first, second, all: inputs, outer };
        let rows = plan.operator().estimate(self, input, facts);
        facts.returned(plan, first, rows);
        rows
    }

    /// Notes the type of a relationship, if it can have but one.
    pub(crate) fn is_of(&self, edge: Slot, types: &Types, facts: &mut Facts) {
        if let Types::Of(names) = types
            && let [name] = &names[..]
            && let Some(objects) = self.relationship_objects(name)
        {
            self.is(facts, edge, objects);
        }
    }

    /// Relationships by which the last operators of a plan found a node: those that it has.
    pub(crate) fn reached_by(&self, plan: &Plan, node: Slot) -> Vec<Vec<EdgeEnd>> {
        let chain = std::iter::successors(Some(plan), |plan| plan.input()).take(REACHED_MAX);
        let by = chain.filter_map(|plan| match plan {
            Plan::Expand(p) if p.from == node => Some(self.tables(&p.types, p.way)),
            Plan::Expand(p) if p.to == node => Some(self.tables(&p.types, p.way.reverse())),
            _ => None,
        });
        by.collect()
    }

    /// Notes that there are so many nodes behind each of some.
    pub(crate) fn are_behind(&self, facts: &mut Facts, (from, to): (Slot, Slot), each: f64) {
        if let Some(nodes) = facts.different(from) {
            let nodes = nodes * each;
            facts.has_at_most(to, facts.different(to).map_or(nodes, |known| known.min(nodes)));
        }
    }
}

/// The number that an expression is, if that is known.
pub(crate) fn constant(e: &Expr) -> f64 {
    match e {
        Expr::Const(Value::Int(n)) => *n as f64,
        Expr::Binary(Binary::Add, a, b) => constant(a) + constant(b),
        _ => f64::INFINITY,
    }
}
