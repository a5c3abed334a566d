//! Where all rows must be there before the first goes on, so that no clause sees what a later one
//! does, and each sees all that those before it did.
//!
//! Operators work batch by batch: while one does its work for the first rows, those below have
//! read no others yet. So an operator is parted from its input where one of the two writes what
//! the other reads, or both write the same (`effects` says what they do). From the bottom up, a
//! plan's *flow* is what it may still do after its first rows have gone on:
//!
//! ```text
//! flow(Sort, Aggregate, Eager, Delete) = nothing: all is read before the first row
//! flow(operator over one batch)        = nothing: all of it is done before the first row
//! flow(operator over input)            = flow(input) + what it does, plans inside included
//! ```
//!
//! Within one row an operator may well read what was written for that row: of a variable of which
//! no two rows have the same node, labels and properties are its row's own business.

use crate::batch::Slot;
use crate::plan::effects::{Effects, may_be_object};
use crate::plan::{CreateStep, Eager, Plan, Shape};

/// What a plan may still do after its first rows, and what is known of its rows.
#[derive(Default)]
struct Flow {
    later: Effects,
    /// What it does in all.
    whole: Effects,
    /// All rows come at once.
    one_batch: bool,
    /// There is no second row.
    one_row: bool,
    /// Variables that hold another node or relationship in each row.
    unique: Vec<Slot>,
}

/// Parts operators of a plan that writes, of whose rows `columns` are shown.
pub(crate) fn separate(plan: &mut Plan, columns: &[Slot]) {
    let flow = part(plan);
    let mut shown = Effects::default();
    let shows = |slot: &&Slot| flow.later.writes.changes() && may_hold_objects(plan, **slot);
    columns.iter().filter(shows).for_each(|slot| shown.shows(*slot));
    if shown.reads.meet(&flow.later.writes, &flow.unique) {
        hold(plan);
    }
}

fn hold(plan: &mut Plan) {
    let input = std::mem::replace(plan, Plan::Unit);
    *plan = Plan::from(Eager { input });
}

fn part(plan: &mut Plan) -> Flow {
    let mut own = Effects::of(plan);
    let mut flow = match &mut *plan {
        Plan::Unit => return Flow { one_batch: true, one_row: true, ..Flow::default() },
        Plan::Argument => return Flow { one_batch: true, ..Flow::default() },
        // One row, which is counted before it goes on.
        Plan::CountStore(_) => {
            return Flow { whole: own, one_batch: true, one_row: true, ..Flow::default() };
        }
        Plan::Union(p) => {
            let mut flow = Flow::default();
            for of_part in p.parts.iter_mut().map(part) {
                flow.later.absorb(&of_part.later);
                flow.whole.absorb(&of_part.whole);
            }
            return flow;
        }
        plan => {
            let input = plan.input_mut().expect("INVARIANT: the others have one");
            part(input)
        }
    };
    let inside = match &mut *plan {
        Plan::HashJoin(p) => part(&mut p.build).whole,
        _ => plan.inner_mut().map(part).unwrap_or_default().whole,
    };
    // What runs in transactions of its own does not reach its input, which sees another graph.
    if !matches!(plan, Plan::InTransactions(_)) {
        own.absorb(&inside);
    }
    let (reads, writes) = (&flow.later.reads, &flow.later.writes);
    // DELETE reads all of its input before it begins.
    let reaches_back = !matches!(plan, Plan::Delete(_))
        && (reads.meet(&own.writes, &flow.unique)
            || reads.is_slow_beside(&own.writes)
            || writes.meet(&own.writes, &flow.unique));
    if reaches_back || own.reads.meet(writes, &flow.unique) {
        hold(
            plan.input_mut()
                .expect("INVARIANT: only what has an input goes on after its first rows"),
        );
        flow.later = Effects::default();
        flow.one_batch = false;
    }
    own.absorb(&inside);
    flow.whole.absorb(&own);
    if plan.operator().shape() == Shape::Gathers || (flow.one_batch && works_by_batch(plan)) {
        flow.later = Effects::default();
    } else {
        flow.later.absorb(&own);
    }
    rows(plan, &mut flow);
    flow
}

/// Whether an operator has done all it has to for a batch of its input when it asks for the next.
fn works_by_batch(plan: &Plan) -> bool {
    match plan {
        Plan::Apply(p) => !p.streams(),
        Plan::Limit(_) | Plan::Skip(_) => true,
        plan => one_for_one(plan),
    }
}

/// Whether an operator makes one batch of each, and no two rows of one but for `MERGE`.
fn one_for_one(plan: &Plan) -> bool {
    matches!(plan.operator().shape(), Shape::Computes | Shape::Projects | Shape::Changes)
}

/// What is known of the rows of an operator, by that of its input.
fn rows(plan: &Plan, flow: &mut Flow) {
    let Flow { one_batch, one_row, unique, .. } = flow;
    let one_group = matches!(plan, Plan::Aggregate(p) if p.keys.is_empty());
    let drops = match plan.operator().shape() {
        Shape::Passes => true,
        Shape::Gathers => !matches!(plan, Plan::Aggregate(_)),
        _ => false,
    };
    let as_many = (one_for_one(plan) && !matches!(plan, Plan::Merge(_)))
        || matches!(plan, Plan::Apply(p) if !p.returns);
    match plan {
        Plan::NodeScan(p) if *one_row => *unique = vec![p.slot],
        Plan::IndexSeek(p) if *one_row && !p.sought.any => *unique = vec![p.slot],
        Plan::Create(p) => unique.extend(p.steps.iter().filter_map(|step| match step {
            CreateStep::Node { slot, .. } | CreateStep::Relationship { slot, .. } => Some(*slot),
            CreateStep::Extend(..) => None,
        })),
        _ if drops || as_many => {}
        _ => unique.clear(),
    }
    let asks = matches!(plan, Plan::Limit(_) | Plan::Skip(_));
    *one_batch = one_group || (*one_batch && (one_for_one(plan) || asks));
    *one_row = one_group || (*one_row && (as_many || drops));
}

/// Whether a column of a plan may hold nodes, relationships or paths, of which a result shows more
/// than is in its rows.
fn may_hold_objects(plan: &Plan, slot: Slot) -> bool {
    match plan {
        Plan::Extend(p) if let Some((_, e)) = p.items.iter().find(|(s, _)| *s == slot) => {
            may_be_object(e)
        }
        Plan::Aggregate(p) => {
            let key = p.keys.iter().find(|(s, _)| *s == slot);
            let call = p.aggregates.iter().find(|(s, _)| *s == slot);
            let number =
                |function: &str| matches!(function, "count" | "sum" | "avg" | "stdev" | "stdevp");
            key.is_some_and(|(_, e)| may_be_object(e))
                || call.is_some_and(|(_, call)| !number(&call.function))
        }
        plan if plan.bound_slots().contains(&slot) => true,
        plan => plan.input().is_none_or(|input| may_hold_objects(input, slot)),
    }
}
