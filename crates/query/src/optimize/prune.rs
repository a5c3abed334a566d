//! Projection pushdown: columns that no operator reads any more are dropped, below operators that
//! would copy them.
//!
//! From the top down: the operators above tell which columns are needed. Where an input has more, a
//! [`Plan::Prune`] goes above it. A set of needed slots may be too large, never too small: a slot
//! that no row has does no harm. Plans inside expressions are pruned when they are optimised.

use std::collections::HashSet;

use crate::batch::Slot;
use crate::plan::{Apply, Plan, Prune};

pub(crate) type Slots = HashSet<Slot>;

/// Prunes a plan of which the columns `needed` are read. Returns the columns of its rows.
pub(crate) fn prune(plan: &mut Plan, needed: &Slots, argument: &Slots) -> Slots {
    if let Plan::Keep(p) = plan {
        p.slots.retain(|slot| needed.contains(slot));
    }
    if let Plan::Apply(p) = plan
        && is_of_one_row(p)
        && p.by_row
        && needed.iter().all(|slot| p.columns.contains(slot))
    {
        // The columns of the outer row are not needed.
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
    // An inner plan reads the rows of the input, with the columns that the operator adds to them.
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

/// True for an `Apply` at the beginning of a subquery that runs for one row only. If the inner plan
/// keeps rows apart, there may be many.
fn is_of_one_row(p: &Apply) -> bool {
    let begins = matches!(p.input, Plan::Argument) && p.optional.is_none() && p.returns;
    begins && !p.inner.keeps_rows_apart()
}

/// Removes columns that are not needed. Returns the others in ascending order.
fn keep(carried: &mut Slots, needed: &Slots) -> Vec<Slot> {
    carried.retain(|slot| needed.contains(slot));
    let mut kept: Vec<Slot> = carried.iter().copied().collect();
    kept.sort_unstable();
    kept
}

/// Prunes the inner plan of an `Apply` whose input has the columns `carried`.
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

/// Adds the columns of its input that an operator reads, with its inner plan.
fn own_reads(plan: &Plan, reads: &mut Slots) {
    if let Plan::Aggregate(_) | Plan::Keep(_) = plan {
        reads.clear();
    }
    let mut add = |slot: Slot| {
        reads.insert(slot);
    };
    plan.read_slots().into_iter().for_each(&mut add);
    plan.exprs(&mut |e| e.slots(&mut add));
    // `Repeat`, `Select` and `Merge` need all columns of their inner plan, so it stays as it is.
    plan.inner().into_iter().for_each(|inner| inner.slots(&mut add));
    if let Plan::Merge(p) = plan {
        p.properties.iter().for_each(|e| e.slots(&mut add));
    }
}

/// Puts a `Prune` above `input` if it has columns that are not needed.
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
