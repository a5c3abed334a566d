//! From what a statement means to how it is run: the logical plan of the binder becomes a physical
//! one, by rules that no answer may depend on.
//!
//! ```text
//!  logical plan: clauses one above the other, patterns as `Match`
//!    │ join order     in which order patterns are found, by which indexes and joins
//!    │ count store    counts that the graph knows
//!    │ prune          columns that nobody reads
//!    │ count rows     rows of which nobody reads anything are counted, or found once
//!    │ group by node  properties of a node that are grouping keys are read once per node
//!    │ eager          clauses do not see what later ones write
//!    ▼ parallel       parts that several threads can run
//!  physical plan: what `exec` runs
//! ```
//!
//! The order is that of [`RULES`]. Subqueries in expressions have plans of their own, which are
//! optimised when the operator is reached that they stand in.

mod count_store;
mod counting;
mod eager;
mod grouping;
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
use counting::counted;
use once::{Wanted, ask_whether, shorten};
use prune::{Slots, prune};

/// A plan that can run.
#[derive(Debug)]
pub(crate) struct Physical {
    pub(crate) plan: Plan,
    /// Names of the variables, by slot.
    pub(crate) names: Vec<Arc<str>>,
    /// Levels of operators and expressions.
    pub(crate) height: usize,
    /// How often planning asked how many rows an operator returns.
    pub(crate) estimates: usize,
}

/// A rule of the optimiser.
struct Rule {
    /// Whether a statement follows it.
    is_on: fn(&Planning) -> bool,
    apply: fn(&mut Planner<'_>, &mut Plan, &mut Target<'_>),
}

/// The rules in the order in which they are applied.
const RULES: [Rule; 7] = [
    Rule { is_on: |_| true, apply: |planner, plan, _| planner.solve_patterns(plan) },
    Rule { is_on: |p| p.count_store, apply: |_, plan, _| count_store::use_count_store(plan) },
    Rule { is_on: |p| p.pruning, apply: prune_columns },
    Rule { is_on: |p| p.shortcuts, apply: count_rows },
    Rule { is_on: |p| p.grouping, apply: |_, plan, _| grouping::group_by_node(plan) },
    Rule { is_on: |_| true, apply: separate_writes },
    Rule { is_on: |_| true, apply: share_out },
];

/// What the rows of a plan are for.
enum Target<'q> {
    /// They are the result of a statement, which has these columns.
    Statement(&'q [Slot]),
    /// They are what an expression is made of; the slot numbers the rows that it begins with.
    Subquery(&'q mut SubqueryKind, Slot),
}

/// State of optimising one statement.
pub(crate) struct Planner<'a> {
    graph: &'a dyn Graph,
    planning: Planning,
    counts: OnceCell<Counts<'a>>,
    /// What is expected of plans made so far.
    known: join_order::Known,
    /// The name of each slot, if it has one.
    slots: Vec<Option<Arc<str>>>,
    /// Where the rows of the pattern that is solved next are only counted: variables that are read
    /// behind it.
    counted: Option<HashSet<Slot>>,
}

/// The plan by which a statement runs. `at` is the expression of `AT TIMESTAMP`, which is optimised
/// as well.
///
/// # Errors
/// If the statement is to be given up.
pub(crate) fn optimize(
    logical: Logical,
    columns: &[Slot],
    at: Option<&mut Expr>,
    graph: &dyn Graph,
    planning: Planning,
) -> Result<Physical, QueryError> {
    let Logical { mut plan, slots } = logical;
    let (counts, known) = (OnceCell::new(), join_order::Known::default());
    let mut planner = Planner { graph, planning, counts, known, slots, counted: None };
    at.into_iter().for_each(|at| planner.optimize_subqueries(at));
    planner.apply(&mut plan, &mut Target::Statement(columns));
    watch::check()?;
    let height = plan.height();
    let estimates = planner.counts.get().map_or(0, Counts::asked);
    Ok(Physical { plan, names: planner.slot_names(), height, estimates })
}

impl<'a> Planner<'a> {
    fn apply(&mut self, plan: &mut Plan, target: &mut Target<'_>) {
        for rule in &RULES {
            // The plan of a statement that is to be given up is never run.
            if (rule.is_on)(&self.planning) && watch::check().is_ok() {
                (rule.apply)(self, plan, target);
            }
        }
    }

    /// Optimises the plans in an expression.
    fn optimize_subqueries(&mut self, e: &mut Expr) {
        match e {
            Expr::Subquery(subquery) => {
                let Subquery { kind, plan, row } = &mut **subquery;
                return self.apply(plan, &mut Target::Subquery(kind, *row));
            }
            Expr::ListComprehension(c) | Expr::Quantifier(_, c) => {
                self.know_element(c.variable, &c.list);
            }
            Expr::Reduce(r) => self.know_element(r.variable, &r.list),
            _ => {}
        }
        e.parts_mut(&mut |part| self.optimize_subqueries(part));
    }

    /// What the graph holds, about.
    fn counts(&self) -> &Counts<'a> {
        self.counts.get_or_init(|| Counts::of(self.graph))
    }

    fn new_slot(&mut self) -> Slot {
        self.slots.push(None);
        self.slots.len() - 1
    }

    /// The name of each slot; those without one are numbered.
    fn slot_names(self) -> Vec<Arc<str>> {
        let mut unnamed = 0..;
        let mut next = || format!("anon_{}", unnamed.next().unwrap_or(0)).into();
        self.slots.into_iter().map(|name| name.unwrap_or_else(&mut next)).collect()
    }
}

fn prune_columns(planner: &mut Planner<'_>, plan: &mut Plan, target: &mut Target<'_>) {
    let (needed, argument) = match target {
        Target::Statement(columns) => (columns.iter().copied().collect(), Slots::new()),
        // It may begin with any variable there is.
        Target::Subquery(kind, row) => (read_by(kind, *row), (0..planner.slots.len()).collect()),
    };
    prune(plan, &needed, &argument);
}

fn count_rows(planner: &mut Planner<'_>, plan: &mut Plan, target: &mut Target<'_>) {
    let mut slot = || planner.new_slot();
    let wanted = match target {
        Target::Statement(_) => Wanted::All,
        Target::Subquery(kind, row) => {
            let needed = read_by(kind, *row);
            let reads = |slot: Slot| needed.contains(&slot);
            match kind {
                SubqueryKind::Count => {
                    if let Some(count) = counted(plan, &reads, &mut slot) {
                        **kind = SubqueryKind::Sum(count);
                    }
                    Wanted::All
                }
                SubqueryKind::Exists => {
                    ask_whether(plan, &reads, &mut slot);
                    Wanted::Once
                }
                _ => Wanted::All,
            }
        }
    };
    shorten(plan, wanted, &mut slot);
}

fn separate_writes(_: &mut Planner<'_>, plan: &mut Plan, target: &mut Target<'_>) {
    if let Target::Statement(columns) = target
        && plan.writes()
    {
        eager::separate(plan, columns);
    }
}

fn share_out(_: &mut Planner<'_>, plan: &mut Plan, target: &mut Target<'_>) {
    if let Target::Statement(_) = target
        && !plan.writes()
        && !plan.runs_in_transactions()
    {
        parallel::parallelise(plan);
    }
}

/// Variables that a subquery makes its value of.
fn read_by(kind: &SubqueryKind, row: Slot) -> Slots {
    match kind {
        SubqueryKind::Exists | SubqueryKind::Count => Slots::from([row]),
        SubqueryKind::Sum(slot) | SubqueryKind::Collect(slot) | SubqueryKind::First(slot) => {
            Slots::from([row, *slot])
        }
    }
}
