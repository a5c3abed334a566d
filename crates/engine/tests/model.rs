//! Random operation sequences against a plain in-memory model, with several snapshots held open.
#![cfg(not(feature = "shuttle"))]
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;

use proptest::prelude::*;
use telar_engine::{Engine, Settings, Snapshot};

use common::plain::{Model, Names, Step, apply, check_snapshot, check_transaction, step};
use common::{cases, no_background};

fn run(db: &Engine, steps: &[Step]) -> Model {
    let names = Names::new(db);
    let mut committed = Model::default();
    let mut held: Vec<(Snapshot<'_>, Model)> = Vec::new();
    let mut steps = steps.iter().peekable();
    while steps.peek().is_some() {
        let mut txn = db.begin().unwrap();
        let mut model = committed.clone();
        let mut keep = true;
        for step in steps.by_ref() {
            match step {
                Step::Commit => break,
                Step::Abort => {
                    keep = false;
                    break;
                }
                Step::Settle => db.settle(),
                Step::Checkpoint => drop(db.checkpoint().unwrap()),
                Step::Release => drop(db.release_memory()),
                Step::Open => held.push((db.snapshot().unwrap(), committed.clone())),
                Step::Close { which } if !held.is_empty() => {
                    let (snapshot, model) = held.swap_remove(which % held.len());
                    check_snapshot(&snapshot, &model, &names);
                }
                Step::Close { .. } => {}
                step => apply(step, &mut txn, &mut model, &names),
            }
        }
        check_transaction(&txn, &model, &names);
        if keep {
            txn.commit().unwrap();
            committed = model;
        } else {
            txn.abort();
        }
        check_snapshot(&db.snapshot().unwrap(), &committed, &names);
    }
    for (snapshot, model) in &held {
        check_snapshot(snapshot, model, &names);
    }
    committed
}

/// Settings of a database whose steps are made by the test alone.
fn stored() -> Settings {
    let mut settings = Settings::asynchronous(1);
    settings.background_interval_ms = 0;
    settings.store_bytes_max = 1 << 28;
    settings
}

proptest! {
    #![proptest_config(cases())]

    #[test]
    fn engine_matches_model(steps in proptest::collection::vec(step(), 1..120)) {
        run(&Engine::in_memory(no_background()).unwrap(), &steps);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: cases().cases / 3, ..cases() })]

    /// As above, with segments that leave memory and come back between the steps.
    #[test]
    fn stored_engine_matches_model(steps in proptest::collection::vec(step(), 1..120)) {
        let dir = tempfile::tempdir().unwrap();
        run(&Engine::open(dir.path(), stored()).unwrap(), &steps);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: cases().cases / 4, ..cases() })]

    #[test]
    fn reopened_engine_matches_model(
        steps in proptest::collection::vec(step(), 1..80),
        checkpoint in any::<bool>(),
        close in any::<bool>(),
        more in proptest::collection::vec(step(), 1..20),
    ) {
        let dir = tempfile::tempdir().unwrap();
        let settings = stored();
        let db = Engine::open(dir.path(), settings).unwrap();
        let model = run(&db, &steps);
        if checkpoint {
            db.checkpoint().unwrap();
        }
        if close { db.close().unwrap() } else { drop(db) }
        let db = Engine::open(dir.path(), settings).unwrap();
        let names = Names::new(&db);
        check_snapshot(&db.snapshot().unwrap(), &model, &names);
        // New edges must not collide with old ones after a restart.
        let mut txn = db.begin().unwrap();
        let mut model = model;
        for step in more.iter().filter(|step| step.is_write()) {
            apply(step, &mut txn, &mut model, &names);
        }
        txn.commit().unwrap();
        check_snapshot(&db.snapshot().unwrap(), &model, &names);
    }
}
