//! `MATCH` clauses that follow each other, found as one pattern.
//!
//! ```text
//!  MATCH (c:Country)                            one pattern, in which relationships differ from
//!  MATCH (a)-[:IN]->(c)                   ==    others of their clause only
//!  MATCH (b)-[:IN]->(c), (a)-[:KNOWS]-(b)
//! ```
//!
//! So what a later clause says may be looked at first. Clauses are put together if they share a
//! node, all of their relationships are single ones that are new, and no condition can fail:
//! otherwise one could be asked for rows that an earlier clause would have left out.

use std::collections::HashSet;

use super::model::fits;
use super::{Before, Planner};
use crate::batch::Slot;
use crate::expr::Expr;
use crate::plan::Plan;
use crate::plan::pattern::{Pattern, Relationship};

/// Patterns of clauses that follow each other.
#[derive(Default)]
pub(super) struct Clauses {
    /// Variables that are known before the first of them.
    bound: HashSet<Slot>,
    /// Variables that they find.
    found: HashSet<Slot>,
    /// What is known before each, and what it has to find.
    parts: Vec<(HashSet<Slot>, Pattern)>,
    merged: Pattern,
}

impl Clauses {
    /// True if a clause can be put together with these.
    pub(super) fn can_take(&self, pattern: &Pattern) -> bool {
        if self.parts.is_empty() {
            return true;
        }
        let mut merged = self.merged.clone();
        merged.absorb(pattern.clone());
        let shares = pattern.nodes.iter().any(|node| self.found.contains(node));
        shares && is_plain(&self.merged) && is_plain(pattern) && fits(&merged)
    }

    /// Adds a clause, before which these of its variables are known.
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
    /// The plan that finds what clauses ask for, for each row of `input`.
    pub(super) fn solve_clauses(&mut self, input: Plan, clauses: Clauses) -> Plan {
        let Clauses { bound, mut parts, merged, .. } = clauses;
        if parts.len() > 1 {
            let (expected, facts) = self.before(&input, &bound);
            let before = Before { bound, found: Vec::new(), facts, expected };
            let is_unit = matches!(input, Plan::Unit);
            if self.cost(is_unit, &before, merged.clone()).is_some() {
                return self.solve_from(input, before, merged);
            }
        }
        // Of several clauses, the rows of the last are those that are counted.
        let counted = self.counted.take();
        let last = parts.pop();
        let plan = parts
            .into_iter()
            .fold(input, |plan, (bound, pattern)| self.solve(plan, bound, pattern));
        self.counted = counted;
        match last {
            Some((bound, pattern)) => self.solve(plan, bound, pattern),
            None => plan,
        }
    }
}
