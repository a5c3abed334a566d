//! Counts that need no scan: `MATCH (n:L) RETURN count(*)`, `MATCH ()-[r:T]->() RETURN count(r)`.

use crate::batch::Slot;
use crate::expr::Expr;
use crate::plan::{Aggregate, CountStore, Counted, Plan, Types, Way};

/// Replaces aggregations that only count all nodes or relationships by [`CountStore`].
pub(super) fn use_count_store(plan: &mut Plan) {
    if let Plan::Aggregate(p) = plan
        && let Some(what) = counted(p)
    {
        let slots = p.aggregates.iter().map(|(slot, _)| *slot).collect();
        *plan = Plan::from(CountStore { slots, what });
    }
    plan.inputs_mut(&mut use_count_store);
}

fn counted(p: &Aggregate) -> Option<Counted> {
    let (what, found) = source(&p.input)?;
    // A variable that the pattern binds is never null.
    let each = |argument: &Expr| matches!(argument, Expr::Slot(slot) if found.contains(slot));
    let counts = p.aggregates.iter().all(|(_, call)| {
        *call.function == *"count" && !call.distinct && call.arguments.iter().all(each)
    });
    (p.keys.is_empty() && !p.aggregates.is_empty() && counts).then_some(what)
}

/// Kind of object of which a plan finds all, if it does, and its variables.
fn source(plan: &Plan) -> Option<(Counted, Vec<Slot>)> {
    match plan {
        Plan::NodeScan(scan) if matches!(scan.input, Plan::Unit) => {
            Some((Counted::Nodes(scan.label.clone()), vec![scan.slot]))
        }
        Plan::Expand(e) if !e.into && e.way != Way::Both && e.distinct_from.is_empty() => {
            let found = source(&e.input)?;
            let all = matches!(found, (Counted::Nodes(None), _));
            let types = matches!(e.types, Types::Any | Types::Of(_));
            (all && types).then(|| {
                let slots = vec![e.from, e.edge, e.to];
                (Counted::Relationships(e.types.clone()), slots)
            })
        }
        _ => None,
    }
}
