//! `a.x = 1 OR b.y = 2`: a pattern that is found in several ways.
//!
//! No index serves such a condition, but one may serve each part of it. Then the pattern is found
//! once for each part, where the parts before it do not hold, so that nothing is found twice:
//!
//! ```text
//! Union
//!   the pattern WHERE a.x = 1
//!   the pattern WHERE b.y = 2 AND CASE WHEN a.x = 1 THEN false ELSE true END
//! ```
//!
//! What a part does must not depend on whether it is reached: only parts that cannot fail for the
//! rows which others decide are taken apart.

use std::collections::HashSet;

use telar_graph::Value;

use super::known::Expected;
use super::model::Model;
use super::search::{Input, cheapest};
use super::{Before, Planner, Solver};
use crate::batch::Slot;
use crate::expr::{Case, Expr, conjuncts};
use crate::plan::pattern::Pattern;
use crate::plan::{Apply, Plan, Union};

/// A condition with more parts stays as it is.
const PARTS_MAX: usize = 4;
/// How much cheaper it has to be: estimates of parts add up.
const GAIN: f64 = 2.0;

impl Planner<'_> {
    /// The patterns that together find what one with `OR` finds, each row once, if finding them
    /// one after the other is expected to be cheaper.
    pub(super) fn branches(
        &mut self,
        input: &Plan,
        before: &Before,
        pattern: &Pattern,
    ) -> Option<Vec<Pattern>> {
        if !self.planning.order || !pattern.selections.is_empty() {
            return None;
        }
        let splits = |condition: &&Expr| match condition {
            Expr::Or(parts) => parts.len() <= PARTS_MAX && parts.iter().all(Expr::never_fails),
            _ => false,
        };
        let at = pattern.conditions.iter().position(|condition| splits(&condition))?;
        let Expr::Or(parts) = &pattern.conditions[at] else { return None };
        if parts.iter().all(|part| part.is_bound(&|slot| before.bound.contains(&slot))) {
            return None;
        }
        let branch = |number: usize| {
            let mut branch = pattern.clone();
            branch.conditions.remove(at);
            branch.conditions.extend(conjuncts(parts[number].clone()));
            if number > 0 {
                let holds = |part: &Expr| (part.clone(), Expr::Const(Value::Bool(false)));
                let branches = parts[..number].iter().map(holds).collect();
                let default = Expr::Const(Value::Bool(true));
                let case = Case { operand: None, branches, default };
                branch.conditions.push(Expr::Case(Box::new(case)));
            }
            branch
        };
        let branches: Vec<Pattern> = (0..parts.len()).map(branch).collect();
        let is_unit = matches!(input, Plan::Unit);
        let mut cost = |pattern: &Pattern| self.cost(is_unit, before, pattern.clone());
        let whole = cost(pattern)?;
        let mut apart = 0.0;
        for branch in &branches {
            apart += cost(branch)?;
            if apart * GAIN >= whole {
                return None;
            }
        }
        Some(branches)
    }

    /// What finding a pattern is expected to cost, in rows.
    pub(super) fn cost(&mut self, is_unit: bool, before: &Before, pattern: Pattern) -> Option<f64> {
        let counted = self.counted.clone();
        let solver = Solver {
            planner: self,
            plan: Plan::Argument,
            bound: before.bound.clone(),
            pattern,
            found: before.found.clone(),
            facts: before.facts.clone(),
            expected: before.expected,
            starts: None,
            counted,
        };
        if let ([node], []) = (&solver.pattern.nodes[..], &solver.pattern.relationships[..]) {
            let (_, found) = solver.start_at(*node, &|slot| solver.knows(slot));
            return Some(found * before.expected.rows.max(1.0));
        }
        let model = Model::of(&solver, before.facts.clone())?;
        let input = Input { rows: before.expected.rows.max(1.0), is_unit, joins: is_unit };
        cheapest(&solver, &model, input).map(|(_, cost)| cost)
    }

    /// The rows that all of the patterns find.
    pub(super) fn union(&mut self, input: Plan, before: Before, patterns: Vec<Pattern>) -> Plan {
        let new = new_slots(&patterns[0], &before.bound);
        let (first, outer) = match input {
            Plan::Unit => (Plan::Unit, None),
            Plan::Argument => (Plan::Argument, None),
            input => (Plan::Argument, Some(input)),
        };
        let expected = match first {
            Plan::Unit => before.expected,
            _ => Expected { rows: 1.0, inner: true },
        };
        let before = Before { expected, ..before };
        let mut part = |pattern| self.solve_whole(first.clone(), before.clone(), pattern);
        let inner = Plan::from(Union { parts: patterns.into_iter().map(&mut part).collect() });
        let Some(input) = outer else { return inner };
        let row = self.new_slot();
        let (optional, returns, by_row) = (None, true, !inner.keeps_rows_apart());
        let columns = new;
        Plan::from(Apply { input, inner, row, columns, optional, returns, by_row })
    }
}

/// The variables that a pattern binds.
fn new_slots(pattern: &Pattern, bound: &HashSet<Slot>) -> Vec<Slot> {
    let relationships = pattern.relationships.iter().flat_map(|r| {
        let lists = r.group.iter().flat_map(|group| group.lists.iter().map(|(_, list)| *list));
        std::iter::once(r.slot).chain(lists)
    });
    let paths = pattern.paths.iter().map(|(slot, _)| *slot);
    let slots = pattern.nodes.iter().copied().chain(relationships).chain(paths);
    slots.filter(|slot| !bound.contains(slot)).collect()
}
