//! Tests of the updates.

use telar_generate::uniform;

use super::pass::check;
use super::*;
use crate::container::{AdjLst, Locked, Tel, Writer};

fn plan() -> UpdatePlan {
    let mut edges = uniform(500, 4000, 8);
    edges::dedup(&mut edges);
    edges::shuffle(&mut edges, 9);
    UpdatePlan::new(500, edges, 10).hub_leaves(1000).batch(16)
}

#[test]
fn containers_pass_all_updates() {
    let plan = plan();
    let mut subjects =
        [UpdateSubject::new(Locked::<AdjLst>::new), UpdateSubject::new(Locked::<Tel>::new).once()];
    let outcomes = run_updates(&plan, &mut subjects, 2).unwrap();
    for outcome in &outcomes {
        assert_eq!(outcome.samples.len(), 20);
        assert_eq!(outcome.samples[19].edges, plan.edges().len() as u64);
        assert!(outcome.settled_bytes > 0 && outcome.samples[19].bytes_per_entry() > 4.0);
        for update in Update::ALL {
            assert!(outcome.millions_per_s(update) > 0.0, "{}", update.name());
        }
    }
    assert_eq!(outcomes[1].subject, "TEL");
    let passes = |outcome: &UpdateOutcome| outcome.updates[0].1.count();
    assert_eq!((passes(&outcomes[0]), passes(&outcomes[1])), (2, 1));
}

#[test]
fn wrong_load_is_noticed() {
    let plan = plan();
    let container = Locked::<AdjLst>::new();
    load(&container, 500, &plan.edges()[1..], 1);
    assert_eq!(check(&container, &plan.loaded).unwrap_err().subject, "AdjLst");
    container.writer().insert_edge(plan.edges()[0].0, plan.edges()[0].1);
    assert_eq!(check(&container, &plan.loaded), Ok(()));
}

#[test]
fn parallel_inserts_load_the_same_graph() {
    let plan = plan();
    let container = Locked::<Tel>::new();
    container.writer().insert_vertices(plan.vertices());
    let (added, elapsed) = insert_parallel(&container, plan.edges(), 3, 8);
    assert_eq!(added, plan.edges().len() as u64);
    assert!(elapsed.wall_s > 0.0);
    assert_eq!(check(&container, &plan.loaded), Ok(()));
}

#[test]
fn latencies_are_counted_per_edge() {
    let plan = plan();
    let container = Locked::<AdjLst>::new();
    let mut writer = container.writer();
    writer.insert_vertices(plan.vertices());
    let histogram = insert_latencies(&mut writer, plan.edges());
    assert_eq!(histogram.count(), plan.edges().len() as u64);
    assert_eq!(check(&container, &plan.loaded), Ok(()));
}
