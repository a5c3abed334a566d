//! Drops columns that nobody reads any more, below operators that would copy them.
//!
//! From the top down: what an operator's rows are needed for is known from what is above it. Where
//! its input carries more, a [`Plan::Prune`] is put in between. Sets of slots may be too large,
//! never too small: a slot in one that does not exist does no harm. Plans inside expressions are
//! pruned when they are bound.

use std::collections::HashSet;

use crate::batch::Slot;
use crate::plan::{Apply, Plan, Prune};

pub(crate) type Slots = HashSet<Slot>;

/// Prunes a whole plan, of whose rows `needed` are read. Returns what its rows carry.
pub(crate) fn prune(plan: &mut Plan, needed: &Slots, argument: &Slots) -> Slots {
    if let Plan::Keep(p) = plan {
        p.slots.retain(|slot| needed.contains(slot));
    }
    if let Plan::Apply(p) = plan
        && is_of_one_row(p)
        && p.by_row
        && needed.iter().all(|slot| p.columns.contains(slot))
    {
        // Nobody reads the row it runs for.
        *plan = std::mem::replace(&mut p.inner, Plan::Unit);
        return prune(plan, needed, argument);
    }
    let mut below = needed.clone();
    own_reads(plan, &mut below);
    let mut carried = match plan {
        Plan::Unit => return Slots::new(),
        Plan::CountStore(p) => return p.slots.iter().copied().collect(),
        Plan::Argument => return argument.clone(),
        Plan::Union(p) => {
            let mut carried = Slots::new();
            for part in &mut p.parts {
                let of_part = prune(part, &below, argument);
                carried.extend(drop_dead(part, of_part, &below));
            }
            carried
        }
        Plan::HashJoin(p) => {
            let mut carried = Slots::new();
            for side in [&mut p.input, &mut p.build] {
                let of_side = prune(side, &below, argument);
                carried.extend(drop_dead(side, of_side, &below));
            }
            carried
        }
        _ => {
            let input = plan.input_mut().expect("INVARIANT: the others have one");
            let carried = prune(input, &below, argument);
            drop_dead(input, carried, &below)
        }
    };
    // Plans inside see the rows of the input, and what the operator adds before it runs them.
    let mut seen = carried.clone();
    seen.extend(plan.bound_slots());
    match plan {
        Plan::Apply(p) => carried.extend(prune_inner(p, needed, &carried, &seen)),
        Plan::InTransactions(p) => {
            carried.extend(prune_inner(&mut p.apply, needed, &carried, &seen));
        }
        Plan::Foreach(p) => drop(prune(&mut p.inner, &Slots::new(), &seen)),
        Plan::VarExpand(p) => p.lists = needed.contains(&p.edges),
        Plan::LoadCsv(p) => p.places = needed.contains(&p.line) || needed.contains(&p.file),
        Plan::Intersect(p) => {
            p.kept = Some(keep(&mut carried, needed));
            for leg in &mut p.legs {
                leg.keeps_edge = needed.contains(&leg.edge);
                carried.extend(leg.keeps_edge.then_some(leg.edge));
            }
            carried.insert(p.to);
            return carried;
        }
        Plan::Expand(p) => {
            p.kept = Some(keep(&mut carried, needed));
            p.keeps_edge = needed.contains(&p.edge);
            carried.extend((!p.into).then_some(p.to));
            carried.extend(p.keeps_edge.then_some(p.edge));
            return carried;
        }
        _ => {}
    }
    carried.extend(plan.bound_slots());
    match plan {
        Plan::Keep(p) => p.slots.iter().copied().collect(),
        Plan::Prune(p) => p.slots.iter().copied().filter(|s| carried.contains(s)).collect(),
        Plan::Aggregate(_) => plan.bound_slots().into_iter().collect(),
        _ => carried,
    }
}

/// Whether it runs for the one row that the subquery it begins has. Where the plan inside keeps
/// rows apart, there may be many.
fn is_of_one_row(p: &Apply) -> bool {
    let begins = matches!(p.input, Plan::Argument) && p.optional.is_none() && p.returns;
    begins && !p.inner.keeps_rows_apart()
}

/// Leaves of the columns of an input those that are needed; the same in order.
fn keep(carried: &mut Slots, needed: &Slots) -> Vec<Slot> {
    carried.retain(|slot| needed.contains(slot));
    let mut kept: Vec<Slot> = carried.iter().copied().collect();
    kept.sort_unstable();
    kept
}

/// Prunes the plan inside of an `Apply` whose input carries `carried`.
fn prune_inner(p: &mut Apply, needed: &Slots, carried: &Slots, seen: &Slots) -> Slots {
    let mut wanted: Slots = p.optional.iter().flatten().copied().collect();
    if p.by_row {
        wanted.extend(&p.columns);
    } else {
        wanted.extend(needed.iter().chain(carried));
        wanted.insert(p.row);
    }
    if !p.returns {
        wanted.clear();
    }
    prune(&mut p.inner, &wanted, seen)
}

/// Adds what the operator reads of its input, plans inside included.
fn own_reads(plan: &Plan, reads: &mut Slots) {
    if let Plan::Aggregate(_) | Plan::Keep(_) = plan {
        reads.clear();
    }
    let mut add = |slot: Slot| {
        reads.insert(slot);
    };
    plan.read_slots().into_iter().for_each(&mut add);
    plan.exprs(&mut |e| e.slots(&mut add));
    // What `Repeat`, `Select` and `Merge` make of their inner rows needs all of them: the plan
    // inside stays as it is.
    plan.inner().into_iter().for_each(|inner| inner.slots(&mut add));
    if let Plan::Merge(p) = plan {
        p.properties.iter().for_each(|e| e.slots(&mut add));
    }
}

/// Puts a `Prune` over `input` if it carries what is not needed.
fn drop_dead(input: &mut Plan, carried: Slots, needed: &Slots) -> Slots {
    if carried.is_subset(needed) {
        return carried;
    }
    let kept: Slots = carried.intersection(needed).copied().collect();
    let mut slots: Vec<Slot> = kept.iter().copied().collect();
    slots.sort_unstable();
    let plan = std::mem::replace(input, Plan::Unit);
    *input = Plan::from(Prune { input: plan, slots });
    kept
}
