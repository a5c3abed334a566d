//! Optimiser: rewrite rules make a physical plan of the logical plan of the binder. No answer may
//! depend on a rule.
//!
//! ```text
//!  logical plan: clauses one above the other, patterns as `Match`
//!    │ join order     order in which patterns are found, with indexes and joins
//!    │ count store    counts of all nodes or relationships come from the statistics
//!    │ prune          columns that no operator reads are dropped
//!    │ unread rows    rows whose columns are not read are counted, or found once
//!    │ group by node  properties of a node that are grouping keys are read once per node
//!    │ in order       the first rows by a property come from an index on it
//!    │ eager          clauses do not see writes of later clauses
//!    ▼ parallel       parts that several threads can run
//!  physical plan: `exec` runs it
//! ```
//!
//! The order is that of [`RULES`]. A subquery in an expression has a plan of its own, which is
//! optimised when the walk reaches its operator. Words: docs/query.md, "Words of the planner".

mod count_store;
mod counting;
mod eager;
mod grouping;
mod in_order;
mod join_order;
mod once;
mod parallel;
mod prune;
#[cfg(test)]
mod tests;

use std::cell::OnceCell;
use std::collections::HashSet;
use std::sync::Arc;

use telar_graph::Graph;

use crate::batch::Slot;
use crate::bind::Logical;
use crate::estimate::Counts;
use crate::expr::{Expr, Subquery, SubqueryKind};
use crate::plan::Plan;
use crate::planning::Planning;
use crate::query_error::QueryError;
use crate::watch;
use counting::count_by_degrees;
use once::{Duplicates, avoid_unread_rows, use_semi_joins};
use prune::{Slots, prune};

/// Physical plan: a plan that can run.
#[derive(Debug)]
pub(crate) struct Physical {
    pub(crate) plan: Plan,
    /// Names of the variables, by slot.
    pub(crate) names: Vec<Arc<str>>,
    /// Levels of operators and expressions.
    pub(crate) height: usize,
    /// Number of row estimates that planning made.
    pub(crate) estimates: usize,
}

/// Rewrite rule of the optimiser.
struct Rule {
    /// True if the rule is switched on.
    is_on: fn(&Planning) -> bool,
    apply: fn(&mut Planner<'_>, &mut Plan, &mut RowUse<'_>),
}

/// Rewrite rules, in the order in which they are applied.
const RULES: [Rule; 8] = [
    Rule { is_on: |_| true, apply: |planner, plan, _| planner.solve_patterns(plan) },
    Rule { is_on: |p| p.count_store, apply: |_, plan, _| count_store::use_count_store(plan) },
    Rule { is_on: |p| p.pruning, apply: prune_columns },
    Rule { is_on: |p| p.shortcuts, apply: use_row_counts },
    Rule { is_on: |p| p.grouping, apply: |_, plan, _| grouping::group_by_node(plan) },
    Rule {
        is_on: |p| p.index_order,
        apply: |planner, plan, _| in_order::read_in_order(planner, plan),
    },
    Rule { is_on: |_| true, apply: place_eager },
    Rule { is_on: |_| true, apply: place_parallel },
];

/// Use of the rows of a plan.
enum RowUse<'q> {
    /// Result of a statement, with these columns.
    Statement(&'q [Slot]),
    /// Value of an expression; the slot numbers the outer rows.
    Subquery(&'q mut SubqueryKind, Slot),
}

/// State of optimising one statement.
pub(crate) struct Planner<'a> {
    graph: &'a dyn Graph,
    planning: Planning,
    counts: OnceCell<Counts<'a>>,
    /// Estimates of plans made so far.
    estimates: join_order::PlanEstimates,
    /// The name of each slot, if it has one.
    slots: Vec<Option<Arc<str>>>,
    /// Variables that are read above the next pattern, if its rows are only counted.
    count_only: Option<HashSet<Slot>>,
}

/// Physical plan of a statement. `at` is the expression of `AT TIMESTAMP`, which is optimised as
/// well.
///
/// # Errors
/// If the statement is cancelled or out of time.
pub(crate) fn optimize(
    logical: Logical,
    columns: &[Slot],
    at: Option<&mut Expr>,
    graph: &dyn Graph,
    planning: Planning,
) -> Result<Physical, QueryError> {
    let Logical { mut plan, slots } = logical;
    let (counts, estimates) = (OnceCell::new(), join_order::PlanEstimates::default());
    let mut planner = Planner { graph, planning, counts, estimates, slots, count_only: None };
    at.into_iter().for_each(|at| planner.optimize_subqueries(at));
    planner.apply(&mut plan, &mut RowUse::Statement(columns));
    watch::check()?;
    let height = plan.height();
    let estimates = planner.counts.get().map_or(0, Counts::estimates);
    Ok(Physical { plan, names: planner.slot_names(), height, estimates })
}

impl<'a> Planner<'a> {
    fn apply(&mut self, plan: &mut Plan, row_use: &mut RowUse<'_>) {
        for rule in &RULES {
            // The plan of a cancelled statement is never run.
            if (rule.is_on)(&self.planning) && watch::check().is_ok() {
                (rule.apply)(self, plan, row_use);
            }
        }
    }

    /// Optimises the plans in an expression.
    fn optimize_subqueries(&mut self, e: &mut Expr) {
        match e {
            Expr::Subquery(subquery) => {
                let Subquery { kind, plan, row } = &mut **subquery;
                return self.apply(plan, &mut RowUse::Subquery(kind, *row));
            }
            Expr::ListComprehension(c) | Expr::Quantifier(_, c) => {
                self.note_element(c.variable, &c.list);
            }
            Expr::Reduce(r) => self.note_element(r.variable, &r.list),
            _ => {}
        }
        e.parts_mut(&mut |part| self.optimize_subqueries(part));
    }

    /// Estimator with the statistics of the graph.
    fn counts(&self) -> &Counts<'a> {
        self.counts.get_or_init(|| Counts::of(self.graph))
    }

    fn new_slot(&mut self) -> Slot {
        self.slots.push(None);
        self.slots.len() - 1
    }

    /// Name of each slot; slots without a name get a number.
    fn slot_names(self) -> Vec<Arc<str>> {
        let mut unnamed = 0..;
        let mut next = || format!("anon_{}", unnamed.next().unwrap_or(0)).into();
        self.slots.into_iter().map(|name| name.unwrap_or_else(&mut next)).collect()
    }
}

fn prune_columns(planner: &mut Planner<'_>, plan: &mut Plan, row_use: &mut RowUse<'_>) {
    let (needed, argument) = match row_use {
        RowUse::Statement(columns) => (columns.iter().copied().collect(), Slots::new()),
        // The outer rows may have any variable.
        RowUse::Subquery(kind, row) => (read_by(kind, *row), (0..planner.slots.len()).collect()),
    };
    prune(plan, &needed, &argument);
}

fn use_row_counts(planner: &mut Planner<'_>, plan: &mut Plan, row_use: &mut RowUse<'_>) {
    let mut slot = || planner.new_slot();
    let duplicates = match row_use {
        RowUse::Statement(_) => Duplicates::Matter,
        RowUse::Subquery(kind, row) => {
            let needed = read_by(kind, *row);
            let reads = |slot: Slot| needed.contains(&slot);
            match kind {
                SubqueryKind::Count => {
                    if let Some(count) = count_by_degrees(plan, &reads, &mut slot) {
                        **kind = SubqueryKind::Sum(count);
                    }
                    Duplicates::Matter
                }
                SubqueryKind::Exists => {
                    use_semi_joins(plan, &reads, &mut slot);
                    Duplicates::Ignored
                }
                _ => Duplicates::Matter,
            }
        }
    };
    avoid_unread_rows(plan, duplicates, &mut slot);
}

fn place_eager(_: &mut Planner<'_>, plan: &mut Plan, row_use: &mut RowUse<'_>) {
    if let RowUse::Statement(columns) = row_use
        && plan.writes()
    {
        eager::place_eager(plan, columns);
    }
}

fn place_parallel(_: &mut Planner<'_>, plan: &mut Plan, row_use: &mut RowUse<'_>) {
    if let RowUse::Statement(_) = row_use
        && !plan.writes()
        && !plan.runs_in_transactions()
    {
        parallel::parallelise(plan);
    }
}

/// Variables of which a subquery computes its value.
fn read_by(kind: &SubqueryKind, row: Slot) -> Slots {
    match kind {
        SubqueryKind::Exists | SubqueryKind::Count => Slots::from([row]),
        SubqueryKind::Sum(slot) | SubqueryKind::Collect(slot) | SubqueryKind::First(slot) => {
            Slots::from([row, *slot])
        }
    }
}
