//! `MATCH` clauses that follow each other, found as one pattern.
//!
//! ```text
//!  MATCH (c:Country)                            one pattern, in which relationships differ from
//!  MATCH (a)-[:IN]->(c)                   ==    others of their clause only
//!  MATCH (b)-[:IN]->(c), (a)-[:KNOWS]-(b)
//! ```
//!
//! So a part of a later clause may be found first. Clauses are merged if they share a node, all of
//! their relationships are single and new, and no condition can fail: otherwise a condition could
//! fail for a row that an earlier clause would have left out.

use std::collections::HashSet;

use super::model::is_searchable;
use super::{PatternInput, Planner};
use crate::batch::Slot;
use crate::expr::Expr;
use crate::plan::Plan;
use crate::plan::pattern::{Pattern, Relationship};

/// Patterns of clauses that follow each other.
#[derive(Default)]
pub(super) struct Clauses {
    /// Variables that are bound before the first of them.
    bound: HashSet<Slot>,
    /// Variables that they find.
    found: HashSet<Slot>,
    /// Variables that are bound before each, and its pattern.
    parts: Vec<(HashSet<Slot>, Pattern)>,
    merged: Pattern,
}

impl Clauses {
    /// True if a clause can be merged with these.
    pub(super) fn can_merge(&self, pattern: &Pattern) -> bool {
        if self.parts.is_empty() {
            return true;
        }
        let mut merged = self.merged.clone();
        merged.absorb(pattern.clone());
        let shares = pattern.nodes.iter().any(|node| self.found.contains(node));
        shares && is_plain(&self.merged) && is_plain(pattern) && is_searchable(&merged)
    }

    /// Adds a clause, before which these of its variables are bound.
    pub(super) fn add(&mut self, before: HashSet<Slot>, pattern: Pattern) {
        self.bound.extend(before.difference(&self.found));
        pattern.variables(&mut |slot| {
            if !before.contains(&slot) {
                self.found.insert(slot);
            }
        });
        let mut part = pattern.clone();
        let clause = self.parts.len() as u32;
        part.relationships.iter_mut().for_each(|r| r.clause = clause);
        self.parts.push((before, pattern));
        self.merged.absorb(part);
    }
}

fn is_plain(pattern: &Pattern) -> bool {
    let simple = |r: &Relationship| r.is_single() && !r.bound;
    pattern.selections.is_empty()
        && pattern.paths.is_empty()
        && pattern.hints.is_empty()
        && pattern.relationships.iter().all(simple)
        && pattern.conditions.iter().all(Expr::never_fails)
}

impl Planner<'_> {
    /// Plan that finds the patterns of the clauses, for each row of `input`.
    pub(super) fn solve_clauses(&mut self, input: Plan, clauses: Clauses) -> Plan {
        let Clauses { bound, mut parts, merged, .. } = clauses;
        if parts.len() > 1 {
            let (estimate, facts) = self.estimate_input(&input, &bound);
            let info = PatternInput { bound, found: Vec::new(), facts, estimate };
            let is_unit = matches!(input, Plan::Unit);
            if self.cost(is_unit, &info, merged.clone()).is_some() {
                return self.solve_with(input, info, merged);
            }
        }
        // Of several clauses, only the rows of the last one are the rows that are counted.
        let count_only = self.count_only.take();
        let last = parts.pop();
        let plan = parts
            .into_iter()
            .fold(input, |plan, (bound, pattern)| self.solve(plan, bound, pattern));
        self.count_only = count_only;
        match last {
            Some((bound, pattern)) => self.solve(plan, bound, pattern),
            None => plan,
        }
    }
}
