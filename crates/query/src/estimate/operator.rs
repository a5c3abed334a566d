//! Rows of operators and whole plans.

use telar_graph::{EdgeEnd, Value};

use super::{Counts, Facts};
use crate::batch::Slot;
use crate::expr::{Binary, Expr};
use crate::plan::{Plan, Types};

/// Upper bound on the operators of a join's side that are searched for how a node was found.
const REACHED_MAX: usize = 16;

/// Estimated rows of the inputs of an operator.
#[derive(Debug, Clone, Copy)]
pub(crate) struct InputRows<'r> {
    /// Rows of its input; 1 if it has none.
    pub(crate) first: f64,
    /// Rows of its second input or its inner plan; 1 if there is none.
    pub(crate) second: f64,
    /// Rows of all plans that it reads from.
    pub(crate) all: &'r [f64],
    /// Rows of the operator around an inner plan: those of `Argument`.
    pub(crate) outer: f64,
}

impl Counts<'_> {
    /// Rows of a whole plan. Notes the facts that it implies.
    pub(crate) fn plan_rows(&self, plan: &Plan, facts: &mut Facts) -> f64 {
        match plan.input() {
            Some(input) => {
                let rows = self.plan_rows(input, facts);
                self.rows_over_input(plan, rows, facts)
            }
            None => {
                // Each part of a union begins with the same facts. Those of the last part stay.
                let before = facts.clone();
                let parts = plan.inputs().into_iter().map(|part| {
                    facts.clone_from(&before);
                    self.plan_rows(part, facts)
                });
                let inputs: Vec<f64> = parts.collect();
                self.operator_rows(plan, &inputs, 1.0, facts)
            }
        }
    }

    /// Rows of the topmost operator of a plan, for the rows of its input. Estimates its other
    /// inputs itself, and notes the facts that it implies.
    pub(crate) fn rows_over_input(&self, plan: &Plan, input: f64, facts: &mut Facts) -> f64 {
        let mut inputs = vec![input];
        for plan in plan.inputs().into_iter().skip(1) {
            inputs.push(facts.in_inner_plan(|facts| self.plan_rows(plan, facts)));
        }
        self.operator_rows(plan, &inputs, 1.0, facts)
    }

    /// Rows of one operator, for the rows of all its inputs and of the plan around it. Notes the
    /// facts that it implies.
    pub(crate) fn operator_rows(
        &self,
        plan: &Plan,
        inputs: &[f64],
        outer: f64,
        facts: &mut Facts,
    ) -> f64 {
        self.estimates.set(self.estimates.get() + 1);
        let first = inputs.first().copied().unwrap_or(1.0);
        let second = inputs.get(1).copied().unwrap_or(1.0);
        let input = InputRows { first, second, all: inputs, outer };
        let rows = plan.operator().estimate(self, input, facts);
        facts.note_rows(plan, first, rows);
        rows
    }

    /// Notes the type of a relationship, if it can have only one.
    pub(crate) fn narrow_to_type(&self, facts: &mut Facts, edge: Slot, types: &Types) {
        if let Types::Of(names) = types
            && let [name] = &names[..]
            && let Some(objects) = self.relationship_objects(name)
        {
            self.narrow_to(facts, edge, objects);
        }
    }

    /// Relationships by which the last operators of a plan found a node, so it has them. For each
    /// operator, the types and directions that its relationship may have.
    pub(crate) fn reached_by(&self, plan: &Plan, node: Slot) -> Vec<Vec<EdgeEnd>> {
        let chain = std::iter::successors(Some(plan), |plan| plan.input()).take(REACHED_MAX);
        let by = chain.filter_map(|plan| match plan {
            Plan::Expand(p) if p.from == node => Some(self.edge_ends(&p.types, p.way)),
            Plan::Expand(p) if p.to == node => Some(self.edge_ends(&p.types, p.way.reverse())),
            _ => None,
        });
        by.collect()
    }

    /// Caps the distinct values of `to` by those of `from`, each of which leads to `fan_out` nodes.
    pub(crate) fn cap_distinct_ends(&self, facts: &mut Facts, from: Slot, to: Slot, fan_out: f64) {
        if let Some(nodes) = facts.distinct(from) {
            let nodes = nodes * fan_out;
            facts.cap_distinct(to, facts.distinct(to).map_or(nodes, |known| known.min(nodes)));
        }
    }
}

/// Value of a constant number; infinity for any other expression.
pub(crate) fn constant(e: &Expr) -> f64 {
    match e {
        Expr::Const(Value::Int(n)) => *n as f64,
        Expr::Binary(Binary::Add, a, b) => constant(a) + constant(b),
        _ => f64::INFINITY,
    }
}
