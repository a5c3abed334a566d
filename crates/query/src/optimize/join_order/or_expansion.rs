//! OR expansion: a pattern with `a.x = 1 OR b.y = 2` as a union of patterns.
//!
//! No index serves such a condition, but one may serve each part of it. Then the pattern is found
//! once for each part, where the parts before it do not hold, so that no row comes twice:
//!
//! ```text
//! Union
//!   the pattern WHERE a.x = 1
//!   the pattern WHERE b.y = 2 AND CASE WHEN a.x = 1 THEN false ELSE true END
//! ```
//!
//! A part is then not evaluated for rows that an earlier part keeps. So only conditions whose parts
//! never fail are expanded.

use std::collections::HashSet;

use telar_graph::Value;

use super::model::Model;
use super::plan_estimates::RowEstimate;
use super::search::{Input, cheapest_steps};
use super::{PatternInput, Planner, Solver};
use crate::batch::Slot;
use crate::expr::{Case, Expr, conjuncts};
use crate::plan::pattern::Pattern;
use crate::plan::{Apply, Plan, Union};

/// Upper bound on the parts of a condition that is expanded.
const PARTS_MAX: usize = 4;
/// Factor by which the expansion must be cheaper: the errors of the estimates add up.
const GAIN: f64 = 2.0;

impl Planner<'_> {
    /// Patterns that together find each row of a pattern with `OR` once; `None` unless they are
    /// estimated to be cheaper.
    pub(super) fn or_branches(
        &mut self,
        input: &Plan,
        info: &PatternInput,
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
        if parts.iter().all(|part| part.is_bound(&|slot| info.bound.contains(&slot))) {
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
        let mut cost = |pattern: &Pattern| self.cost(is_unit, info, pattern.clone());
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

    /// Estimated cost of finding a pattern, in rows.
    pub(super) fn cost(
        &mut self,
        is_unit: bool,
        info: &PatternInput,
        pattern: Pattern,
    ) -> Option<f64> {
        let count_only = self.count_only.clone();
        let solver = Solver {
            planner: self,
            plan: Plan::Argument,
            bound: info.bound.clone(),
            pattern,
            found: info.found.clone(),
            facts: info.facts.clone(),
            estimate: info.estimate,
            start_nodes: None,
            count_only,
        };
        if let ([node], []) = (&solver.pattern.nodes[..], &solver.pattern.relationships[..]) {
            let (_, found) = solver.node_access(*node, &|slot| solver.is_bound(slot));
            return Some(found * info.estimate.rows.max(1.0));
        }
        let model = Model::of(&solver, info.facts.clone())?;
        let input = Input { rows: info.estimate.rows.max(1.0), is_unit, joins: is_unit };
        cheapest_steps(&solver, &model, input).map(|(_, cost)| cost)
    }

    /// Plan that finds the rows of all these patterns.
    pub(super) fn union(
        &mut self,
        input: Plan,
        info: PatternInput,
        patterns: Vec<Pattern>,
    ) -> Plan {
        let new = new_slots(&patterns[0], &info.bound);
        let (first, outer) = match input {
            Plan::Unit => (Plan::Unit, None),
            Plan::Argument => (Plan::Argument, None),
            input => (Plan::Argument, Some(input)),
        };
        let estimate = match first {
            Plan::Unit => info.estimate,
            _ => RowEstimate { rows: 1.0, inner: true },
        };
        let info = PatternInput { estimate, ..info };
        let mut part = |pattern| self.solve_whole(first.clone(), info.clone(), pattern);
        let inner = Plan::from(Union { parts: patterns.into_iter().map(&mut part).collect() });
        let Some(input) = outer else { return inner };
        let row = self.new_slot();
        let (optional, returns, by_row) = (None, true, !inner.keeps_rows_apart());
        let columns = new;
        Plan::from(Apply { input, inner, row, columns, optional, returns, by_row })
    }
}

/// Variables that a pattern binds.
fn new_slots(pattern: &Pattern, bound: &HashSet<Slot>) -> Vec<Slot> {
    let relationships = pattern.relationships.iter().flat_map(|r| {
        let lists = r.group.iter().flat_map(|group| group.lists.iter().map(|(_, list)| *list));
        std::iter::once(r.slot).chain(lists)
    });
    let paths = pattern.paths.iter().map(|(slot, _)| *slot);
    let slots = pattern.nodes.iter().copied().chain(relationships).chain(paths);
    slots.filter(|slot| !bound.contains(slot)).collect()
}
