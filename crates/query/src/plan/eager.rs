//! Which changes cannot reach rows that are still to be read.
//!
//! A clause must not see what it does itself. That needs no barrier where what is made could not be
//! found by what reads: nodes of labels that nobody looks for. It lets `LOAD CSV` with look-ups
//! make relationships row by row, and holds no rows. Where relationships are read there is a
//! barrier all the same: to read lists beside changes of the same transaction costs more than to
//! hold the rows.

use super::{CreateStep, LabelName, Plan};

/// Whether rows of `input` can be read while `steps` are done for those before.
pub(crate) fn is_apart(input: &Plan, steps: &[CreateStep]) -> bool {
    let mut labels = Vec::new();
    for step in steps {
        if let CreateStep::Node { labels: made, .. } = step {
            for label in made {
                match label {
                    LabelName::Static(name) => labels.push(&**name),
                    LabelName::Dynamic(_) => return false,
                }
            }
        }
    }
    let makes_nodes = steps.iter().any(|step| matches!(step, CreateStep::Node { .. }));
    reads_others(input, makes_nodes, &labels)
}

/// Whether a plan finds none of the nodes with these labels.
fn reads_others(plan: &Plan, makes_nodes: bool, labels: &[&str]) -> bool {
    let finds = |label: &str| labels.contains(&label);
    let others = match plan {
        // All is read before the first row.
        Plan::Eager(_) | Plan::Sort(_) | Plan::Aggregate(_) | Plan::CountStore(_) => return true,
        Plan::NodeScan(p) => p.label.as_deref().map_or(!makes_nodes, |label| !finds(label)),
        Plan::IndexSeek(p) => !finds(&p.label),
        Plan::NodeById(_) => !makes_nodes,
        Plan::Unit
        | Plan::Filter(..)
        | Plan::Extend(..)
        | Plan::Keep(..)
        | Plan::Prune(..)
        | Plan::Distinct(..)
        | Plan::Unwind(..)
        | Plan::LoadCsv(_) => true,
        _ => false,
    };
    let mut asks = false;
    plan.subqueries(&mut |_| asks = true);
    let mut inputs = plan.inputs().into_iter();
    others && !asks && inputs.all(|input| reads_others(input, makes_nodes, labels))
}
