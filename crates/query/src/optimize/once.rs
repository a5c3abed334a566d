//! What nobody looks at is counted, or found but once.
//!
//! Two rules, from the top of a plan down, after `prune` has said what is read:
//!
//! - Where only the number of rows is wanted, expansions to nodes that nobody reads are not done:
//!   `count(*)` over them is a sum of degrees (`counting`). What can be told apart by nothing that
//!   is read is so never multiplied out.
//! - Where it does not matter how often a row comes (`DISTINCT`, `EXISTS`, `min`, `max`), a path of
//!   variable length finds each end once, and an expansion of which nobody reads anything only asks
//!   whether there is one.

use super::counting::counted;
use crate::batch::Slot;
use crate::expr::Expr;
use crate::plan::{Aggregate, AggregateCall, Plan};

/// What is wanted of a plan's rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Wanted {
    /// All of them, as often as they come.
    All,
    /// Each of them once at least.
    Once,
}

/// Applies the rules to a plan. `slot` makes new variables.
pub(crate) fn shorten(plan: &mut Plan, wanted: Wanted, slot: &mut dyn FnMut() -> Slot) {
    if let Plan::Aggregate(p) = plan {
        count_degrees(p, slot);
    }
    let below = match plan {
        Plan::Distinct(_) => Wanted::Once,
        Plan::Aggregate(p) if ignores_copies(p) => Wanted::Once,
        Plan::NodeScan(_)
        | Plan::IndexSeek(_)
        | Plan::RelationshipSeek(_)
        | Plan::NodeById(_)
        | Plan::Expand(_)
        | Plan::Intersect(_)
        | Plan::Degrees(_)
        | Plan::HashJoin(_)
        | Plan::Union(_)
        | Plan::Keep(_)
        | Plan::Prune(_) => wanted,
        Plan::VarExpand(p) => {
            p.once = wanted == Wanted::Once && !p.lists && !p.bound && p.min <= 1;
            wanted
        }
        Plan::Filter(_) | Plan::Extend(_) | Plan::Unwind(_) => {
            let mut repeatable = true;
            plan.exprs(&mut |e| repeatable &= e.is_fixed());
            if repeatable { wanted } else { Wanted::All }
        }
        _ => Wanted::All,
    };
    if let (Plan::Prune(p), Wanted::Once) = (&mut *plan, wanted) {
        ask_whether(&mut p.input, &|read| p.slots.contains(&read), slot);
    }
    match plan {
        Plan::HashJoin(p) => {
            shorten(&mut p.input, below, slot);
            shorten(&mut p.build, below, slot);
        }
        Plan::Union(p) => p.parts.iter_mut().for_each(|part| shorten(part, below, slot)),
        Plan::Apply(p) => {
            shorten(&mut p.input, below, slot);
            shorten(&mut p.inner, Wanted::All, slot);
        }
        plan => {
            if let Some(input) = plan.input_mut() {
                shorten(input, below, slot);
            }
        }
    }
}

/// Where a row may come once or often: rows of which nothing is read are not found.
pub(crate) fn ask_whether(
    plan: &mut Plan,
    reads: &dyn Fn(Slot) -> bool,
    slot: &mut dyn FnMut() -> Slot,
) {
    _ = counted(plan, reads, slot);
}

/// Whether an aggregation yields the same however often a row comes.
fn ignores_copies(p: &Aggregate) -> bool {
    let each = |call: &AggregateCall| call.distinct || matches!(&*call.function, "min" | "max");
    let keys = p.keys.iter().map(|(_, key)| key);
    let arguments = p.aggregates.iter().flat_map(|(_, call)| &call.arguments);
    p.aggregates.iter().all(|(_, call)| each(call)) && keys.chain(arguments).all(Expr::is_fixed)
}

/// Whether a pattern binds a variable, so that it is never null.
fn finds(plan: &Plan, slot: Slot) -> bool {
    let input = match plan {
        Plan::NodeScan(p) => &p.input,
        Plan::IndexSeek(p) => &p.input,
        Plan::RelationshipSeek(p) => &p.input,
        Plan::NodeById(p) => &p.input,
        Plan::Expand(p) => &p.input,
        Plan::Intersect(p) => &p.input,
        Plan::VarExpand(p) => &p.input,
        Plan::Filter(p) => return finds(&p.input, slot),
        Plan::Prune(p) => return finds(&p.input, slot),
        _ => return false,
    };
    plan.bound_slots().contains(&slot) || finds(input, slot)
}

/// Makes sums of degrees of counts of rows.
fn count_degrees(p: &mut Aggregate, slot: &mut dyn FnMut() -> Slot) {
    let mut read = Vec::new();
    p.keys.iter().for_each(|(_, key)| key.slots(&mut |slot| read.push(slot)));
    let counts = |call: &AggregateCall| {
        let each = |e: &Expr| matches!(e, Expr::Slot(slot) if finds(&p.input, *slot));
        *call.function == *"count" && !call.distinct && call.arguments.iter().all(each)
    };
    if p.aggregates.is_empty() || !p.aggregates.iter().all(|(_, call)| counts(call)) {
        return;
    }
    if let Some(count) = counted(&mut p.input, &|slot| read.contains(&slot), slot) {
        for (_, call) in &mut p.aggregates {
            call.function = "sum".into();
            call.arguments = vec![Expr::Slot(count)];
        }
    }
}
