//! Estimates of plans made so far, so that each operator is estimated once.
//!
//! A clause puts operators on top of a plan and does not estimate it. Where a pattern is solved on
//! top of a plan, the walk goes down only to the top of the last pattern, which was estimated:
//!
//! ```text
//!  Filter   ┐ not estimated yet             ─┐ the plan that the next pattern begins with
//!  Keep     ┘                                │
//!  Filter   ┐ `above` = 1 operator           │
//!  Expand   ┘ binds `slot`: plans[slot] = rows of both
//!  ...
//! ```
//!
//! A variable has one slot in the whole statement, bound by one operator. So its facts are kept in
//! one place, whichever plan implies them.

use std::collections::{HashMap, HashSet};

use crate::batch::Slot;
use crate::estimate::Facts;
use crate::expr::Expr;
use crate::optimize::Planner;
use crate::plan::Plan;
use crate::plan::pattern::Pattern;

/// Estimates of the plans of a statement.
#[derive(Debug, Default)]
pub(crate) struct PlanEstimates {
    facts: Facts,
    /// Key: the first slot of the topmost operator that binds any.
    plans: HashMap<Slot, EstimatedPlan>,
}

/// A plan whose rows were estimated.
#[derive(Debug, Clone, Copy)]
struct EstimatedPlan {
    /// Operators above the topmost one that binds a variable.
    above: usize,
    rows: RowEstimate,
}

/// Estimate of the rows for which a pattern is solved.
#[derive(Debug, Clone, Copy)]
pub(super) struct RowEstimate {
    pub(super) rows: f64,
    /// True in an inner plan, which runs again for each batch of outer rows.
    pub(super) inner: bool,
}

impl PlanEstimates {
    /// Notes the rows of a plan, and the facts that it implies.
    pub(super) fn note(&mut self, plan: &Plan, rows: RowEstimate, facts: Facts) {
        let (mut at, mut above) = (plan, 0);
        let slot = loop {
            match (at.bound_slots().first(), at.input()) {
                (Some(slot), _) => break *slot,
                (None, Some(input)) => (at, above) = (input, above + 1),
                // A plan that binds nothing is short: it is estimated again.
                (None, None) => return,
            }
        };
        self.plans.insert(slot, EstimatedPlan { above, rows });
        self.facts.absorb(facts);
    }
}

impl Planner<'_> {
    /// Estimates a plan, for patterns in expressions on its variables.
    pub(crate) fn note_plan(&mut self, plan: &Plan) {
        let (rows, facts) = self.estimate_input(plan, &HashSet::new());
        self.estimates.note(plan, rows, facts);
    }

    /// Notes the facts that the conditions of a pattern imply, before it is solved.
    pub(crate) fn note_conditions(&mut self, pattern: &Pattern) {
        let mut estimates = std::mem::take(&mut self.estimates);
        let counts = self.counts();
        for condition in &pattern.conditions {
            counts.selectivity(condition, &mut estimates.facts);
        }
        self.estimates = estimates;
    }

    /// Notes that a variable is an element of a list.
    pub(crate) fn note_element(&mut self, slot: Slot, list: &Expr) {
        self.estimates.facts.bind_element(slot, list);
    }

    /// Rows of a plan, and facts about these variables of it.
    pub(super) fn estimate_input(
        &mut self,
        plan: &Plan,
        bound: &HashSet<Slot>,
    ) -> (RowEstimate, Facts) {
        let mut estimates = std::mem::take(&mut self.estimates);
        let counts = self.counts();
        let (mut at, mut above) = (plan, Vec::new());
        let mut estimate = loop {
            let slots = at.bound_slots();
            match (slots.first().and_then(|slot| estimates.plans.get(slot)), at.input()) {
                (Some(known), _) if known.above <= above.len() => {
                    above.truncate(above.len() - known.above);
                    break known.rows;
                }
                (_, Some(input)) => {
                    above.push(at);
                    at = input;
                }
                (_, None) => {
                    let rows = counts.plan_rows(at, &mut estimates.facts);
                    break RowEstimate { rows, inner: matches!(at, Plan::Argument) };
                }
            }
        };
        for operator in above.into_iter().rev() {
            estimate.rows = counts.rows_over_input(operator, estimate.rows, &mut estimates.facts);
        }
        let facts = estimates.facts.only(bound);
        self.estimates = estimates;
        (estimate, facts)
    }
}
