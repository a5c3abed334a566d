//! What is expected of plans made so far, so that of each operator it is asked once.
//!
//! A clause puts operators on top of a plan and does not look into it. So where a pattern is solved
//! on top of a plan, this goes down as far as to what was found by the pattern before:
//!
//! ```text
//!  Filter   ┐ not looked at yet            ─┐ the plan that the next pattern begins with
//!  Keep     ┘                               │
//!  Filter   ┐ `k` = 1 operator above it     │
//!  Expand   ┘ what binds `slot`: plans[slot] = k, rows of both
//!  ...
//! ```
//!
//! Variables have a slot of their own in the whole statement, bound by one operator: what is known
//! of them is kept in one place, whichever plan says it.

use std::collections::{HashMap, HashSet};

use crate::batch::Slot;
use crate::estimate::Facts;
use crate::expr::Expr;
use crate::optimize::Planner;
use crate::plan::Plan;
use crate::plan::pattern::Pattern;

/// What is expected of plans.
#[derive(Debug, Default)]
pub(crate) struct Known {
    facts: Facts,
    /// By what the topmost operator that binds anything binds.
    plans: HashMap<Slot, Solved>,
}

/// A plan that was looked at.
#[derive(Debug, Clone, Copy)]
struct Solved {
    /// Operators above the topmost one that binds anything.
    above: usize,
    expected: Expected,
}

/// What is known of the rows that a pattern is solved for.
#[derive(Debug, Clone, Copy)]
pub(super) struct Expected {
    /// How many there are.
    pub(super) rows: f64,
    /// They come from outside, time and again.
    pub(super) inner: bool,
}

impl Known {
    /// Notes the rows of a plan, and what it says of its variables.
    pub(super) fn note(&mut self, plan: &Plan, expected: Expected, facts: Facts) {
        let (mut at, mut above) = (plan, 0);
        let slot = loop {
            match (at.bound_slots().first(), at.input()) {
                (Some(slot), _) => break *slot,
                (None, Some(input)) => (at, above) = (input, above + 1),
                // It begins here, and is short.
                (None, None) => return,
            }
        };
        self.plans.insert(slot, Solved { above, expected });
        self.facts.absorb(facts);
    }
}

impl Planner<'_> {
    /// Looks at a plan, for patterns in expressions on its variables.
    pub(crate) fn know(&mut self, plan: &Plan) {
        let (expected, facts) = self.before(plan, &HashSet::new());
        self.known.note(plan, expected, facts);
    }

    /// Notes what a pattern that is not found yet says of its nodes.
    pub(crate) fn know_nodes(&mut self, pattern: &Pattern) {
        let mut known = std::mem::take(&mut self.known);
        let counts = self.counts();
        for condition in &pattern.conditions {
            counts.share(condition, &mut known.facts);
        }
        self.known = known;
    }

    /// Notes that a variable is an element of a list.
    pub(crate) fn know_element(&mut self, slot: Slot, list: &Expr) {
        self.known.facts.is_element(slot, list);
    }

    /// What is known of the rows of a plan, and of these variables of it.
    pub(super) fn before(&mut self, plan: &Plan, bound: &HashSet<Slot>) -> (Expected, Facts) {
        let mut known = std::mem::take(&mut self.known);
        let counts = self.counts();
        let (mut at, mut above) = (plan, Vec::new());
        let mut expected = loop {
            let slots = at.bound_slots();
            match (slots.first().and_then(|slot| known.plans.get(slot)), at.input()) {
                (Some(solved), _) if solved.above <= above.len() => {
                    above.truncate(above.len() - solved.above);
                    break solved.expected;
                }
                (_, Some(input)) => {
                    above.push(at);
                    at = input;
                }
                (_, None) => {
                    let rows = counts.estimate(at, &mut known.facts);
                    break Expected { rows, inner: matches!(at, Plan::Argument) };
                }
            }
        };
        for operator in above.into_iter().rev() {
            expected.rows = counts.above(operator, expected.rows, &mut known.facts);
        }
        let facts = known.facts.only(bound);
        self.known = known;
        (expected, facts)
    }
}
