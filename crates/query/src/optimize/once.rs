//! Rewrite rules for rows whose number, or mere existence, is all that matters.
//!
//! Two rules, from the top of a plan down, after `prune` has found the columns that are read:
//!
//! - Aggregate pushdown: where only the number of rows matters, an expansion to a node that no
//!   operator reads is not done. `count(*)` over it is a sum of degrees (`counting`).
//! - Duplicate elimination: where duplicates do not matter (`DISTINCT`, `EXISTS`, `min`, `max`), a
//!   variable-length path finds each end once, and an expansion whose end no operator reads becomes
//!   a test whether there is one (a semi-join).

use super::counting::count_by_degrees;
use crate::batch::Slot;
use crate::expr::Expr;
use crate::plan::{Aggregate, AggregateCall, Plan};

/// Duplicates in the rows of a plan: whether the operators above need them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Duplicates {
    /// Each row must come as often as it is found.
    Matter,
    /// Each row must come once at least.
    Ignored,
}

/// Applies the rules to a plan. `slot` makes new variables.
pub(crate) fn avoid_unread_rows(
    plan: &mut Plan,
    duplicates: Duplicates,
    slot: &mut dyn FnMut() -> Slot,
) {
    if let Plan::Aggregate(p) = plan {
        count_aggregate_by_degrees(p, slot);
    }
    let below = match plan {
        Plan::Distinct(_) => Duplicates::Ignored,
        Plan::Aggregate(p) if ignores_duplicates(p) => Duplicates::Ignored,
        Plan::NodeScan(_)
        | Plan::IndexSeek(_)
        | Plan::RelationshipSeek(_)
        | Plan::NodeById(_)
        | Plan::RelationshipById(_)
        | Plan::Expand(_)
        | Plan::Intersect(_)
        | Plan::Degrees(_)
        | Plan::HashJoin(_)
        | Plan::Union(_)
        | Plan::Keep(_)
        | Plan::Prune(_) => duplicates,
        Plan::VarExpand(p) => {
            p.once = duplicates == Duplicates::Ignored && !p.lists && !p.bound && p.min <= 1;
            duplicates
        }
        Plan::Filter(_) | Plan::Extend(_) | Plan::Unwind(_) => {
            let mut repeatable = true;
            plan.exprs(&mut |e| repeatable &= e.is_fixed());
            if repeatable { duplicates } else { Duplicates::Matter }
        }
        _ => Duplicates::Matter,
    };
    if let (Plan::Prune(p), Duplicates::Ignored) = (&mut *plan, duplicates) {
        use_semi_joins(&mut p.input, &|read| p.slots.contains(&read), slot);
    }
    match plan {
        Plan::HashJoin(p) => {
            avoid_unread_rows(&mut p.input, below, slot);
            avoid_unread_rows(&mut p.build, below, slot);
        }
        Plan::Union(p) => p.parts.iter_mut().for_each(|part| avoid_unread_rows(part, below, slot)),
        Plan::Apply(p) => {
            avoid_unread_rows(&mut p.input, below, slot);
            avoid_unread_rows(&mut p.inner, Duplicates::Matter, slot);
        }
        plan => {
            if let Some(input) = plan.input_mut() {
                avoid_unread_rows(input, below, slot);
            }
        }
    }
}

/// Turns expansions whose end is not read into tests whether there is one. Changes how often a row
/// comes.
pub(crate) fn use_semi_joins(
    plan: &mut Plan,
    reads: &dyn Fn(Slot) -> bool,
    slot: &mut dyn FnMut() -> Slot,
) {
    _ = count_by_degrees(plan, reads, slot);
}

/// True if the result of an aggregation does not depend on duplicates.
fn ignores_duplicates(p: &Aggregate) -> bool {
    let each = |call: &AggregateCall| call.distinct || matches!(&*call.function, "min" | "max");
    let keys = p.keys.iter().map(|(_, key)| key);
    let arguments = p.aggregates.iter().flat_map(|(_, call)| &call.arguments);
    p.aggregates.iter().all(|(_, call)| each(call)) && keys.chain(arguments).all(Expr::is_fixed)
}

/// True if a pattern binds a variable, so that it is never null.
fn binds_object(plan: &Plan, slot: Slot) -> bool {
    let input = match plan {
        Plan::NodeScan(p) => &p.input,
        Plan::IndexSeek(p) => &p.input,
        Plan::RelationshipSeek(p) => &p.input,
        Plan::NodeById(p) => &p.input,
        Plan::RelationshipById(p) => &p.input,
        Plan::Expand(p) => &p.input,
        Plan::Intersect(p) => &p.input,
        Plan::VarExpand(p) => &p.input,
        Plan::Filter(p) => return binds_object(&p.input, slot),
        Plan::Prune(p) => return binds_object(&p.input, slot),
        _ => return false,
    };
    plan.bound_slots().contains(&slot) || binds_object(input, slot)
}

/// Replaces counts of rows by sums of degrees.
fn count_aggregate_by_degrees(p: &mut Aggregate, slot: &mut dyn FnMut() -> Slot) {
    let mut read = Vec::new();
    p.keys.iter().for_each(|(_, key)| key.slots(&mut |slot| read.push(slot)));
    let counts = |call: &AggregateCall| {
        let each = |e: &Expr| matches!(e, Expr::Slot(slot) if binds_object(&p.input, *slot));
        *call.function == *"count" && !call.distinct && call.arguments.iter().all(each)
    };
    if p.aggregates.is_empty() || !p.aggregates.iter().all(|(_, call)| counts(call)) {
        return;
    }
    if let Some(count) = count_by_degrees(&mut p.input, &|slot| read.contains(&slot), slot) {
        for (_, call) in &mut p.aggregates {
            call.function = "sum".into();
            call.arguments = vec![Expr::Slot(count)];
        }
    }
}
