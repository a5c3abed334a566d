//! Placement of [`Eager`]: an operator that reads all rows of its input before it returns the
//! first. With it, no clause sees the writes of a later clause, and each sees all writes of earlier
//! ones.
//!
//! Operators run batch by batch: when an operator handles the first rows, its input has not read
//! the others yet. So an `Eager` goes between an operator and its input where one writes what the
//! other reads, or both write the same (`effects`). From the bottom up, the *pending* effects of a
//! plan are those that it may still have after it has returned its first rows:
//!
//! ```text
//! pending(Sort, Aggregate, Eager, Delete) = none: all is read before the first row
//! pending(operator over one batch)        = none: all of it is done before the first row
//! pending(operator over input)            = pending(input) + its own, with inner plans
//! ```
//!
//! An operator may read what was written for the same row. If a variable is unique, which means
//! that no two rows hold the same node, the labels and properties of that node belong to one row.

use crate::batch::Slot;
use crate::plan::effects::{Effects, may_be_object};
use crate::plan::{CreateStep, Eager, Plan, Shape};

/// Effects of a plan, and facts about its rows.
#[derive(Default)]
struct Pipeline {
    /// Effects that it may have after it has returned its first rows.
    pending: Effects,
    /// All its effects.
    all: Effects,
    /// True if all rows come in one batch.
    one_batch: bool,
    /// True if there is at most one row.
    one_row: bool,
    /// Variables that hold another node or relationship in each row.
    unique: Vec<Slot>,
}

/// Places [`Eager`]s in a plan that writes and returns `columns`.
pub(crate) fn place_eager(plan: &mut Plan, columns: &[Slot]) {
    let pipeline = place(plan);
    let mut shown = Effects::default();
    let shows = |slot: &&Slot| pipeline.pending.writes.changes() && may_hold_objects(plan, **slot);
    columns.iter().filter(shows).for_each(|slot| shown.shows(*slot));
    if shown.reads.meet(&pipeline.pending.writes, &pipeline.unique) {
        add_eager(plan);
    }
}

fn add_eager(plan: &mut Plan) {
    let input = std::mem::replace(plan, Plan::Unit);
    *plan = Plan::from(Eager { input });
}

fn place(plan: &mut Plan) -> Pipeline {
    let mut own = Effects::of(plan);
    let mut pipeline = match &mut *plan {
        Plan::Unit => return Pipeline { one_batch: true, one_row: true, ..Pipeline::default() },
        Plan::Argument => return Pipeline { one_batch: true, ..Pipeline::default() },
        // One row, which is counted before it goes on.
        Plan::CountStore(_) => {
            return Pipeline { all: own, one_batch: true, one_row: true, ..Pipeline::default() };
        }
        Plan::Union(p) => {
            let mut pipeline = Pipeline::default();
            for of_part in p.parts.iter_mut().map(place) {
                pipeline.pending.absorb(&of_part.pending);
                pipeline.all.absorb(&of_part.all);
            }
            return pipeline;
        }
        plan => {
            let input = plan.input_mut().expect("INVARIANT: the others have one");
            place(input)
        }
    };
    let inside = match &mut *plan {
        Plan::HashJoin(p) => place(&mut p.build).all,
        _ => plan.inner_mut().map(place).unwrap_or_default().all,
    };
    // The input of CALL IN TRANSACTIONS reads another snapshot, so the inner plan does not affect
    // it.
    if !matches!(plan, Plan::InTransactions(_)) {
        own.absorb(&inside);
    }
    let (reads, writes) = (&pipeline.pending.reads, &pipeline.pending.writes);
    // DELETE reads all of its input before it begins.
    let reaches_back = !matches!(plan, Plan::Delete(_))
        && (reads.meet(&own.writes, &pipeline.unique)
            || reads.is_slow_beside(&own.writes)
            || writes.meet(&own.writes, &pipeline.unique));
    if reaches_back || own.reads.meet(writes, &pipeline.unique) {
        add_eager(
            plan.input_mut()
                .expect("INVARIANT: only what has an input goes on after its first rows"),
        );
        pipeline.pending = Effects::default();
        pipeline.one_batch = false;
    }
    own.absorb(&inside);
    pipeline.all.absorb(&own);
    if plan.operator().shape() == Shape::Gathers || (pipeline.one_batch && works_by_batch(plan)) {
        pipeline.pending = Effects::default();
    } else {
        pipeline.pending.absorb(&own);
    }
    note_rows(plan, &mut pipeline);
    pipeline
}

/// True if an operator has finished a batch of its input before it asks for the next.
fn works_by_batch(plan: &Plan) -> bool {
    match plan {
        Plan::Apply(p) => !p.streams(),
        Plan::Limit(_) | Plan::Skip(_) => true,
        plan => one_for_one(plan),
    }
}

/// True if an operator returns one batch for each, and one row for each but for `MERGE`.
fn one_for_one(plan: &Plan) -> bool {
    matches!(plan.operator().shape(), Shape::Computes | Shape::Projects | Shape::Changes)
}

/// Changes the facts about the rows of the input to those about the rows of an operator.
fn note_rows(plan: &Plan, pipeline: &mut Pipeline) {
    let Pipeline { one_batch, one_row, unique, .. } = pipeline;
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
    let limits = matches!(plan, Plan::Limit(_) | Plan::Skip(_));
    *one_batch = one_group || (*one_batch && (one_for_one(plan) || limits));
    *one_row = one_group || (*one_row && (as_many || drops));
}

/// True if a column of a plan may hold nodes, relationships or paths. A result shows properties of
/// these, which are read after the plan.
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
