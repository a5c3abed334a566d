//! Schema names made while checkpoints are written survive, although nothing else is lost either.
#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a test fails by panicking, and says how much it tried"
)]

use std::sync::atomic::{AtomicBool, Ordering};

use telar_engine::{EdgeTypeOptions, Engine, Settings};

#[test]
fn names_made_during_checkpoints_survive() {
    let dir = tempfile::tempdir().unwrap();
    let mut settings = Settings::default();
    settings.store_bytes_max = 1 << 30;
    settings.background_interval_ms = 0;
    let rounds = if telar_tests::long() { 400 } else { 40 };
    let mut made: [Vec<String>; 3] = Default::default();
    for round in 0..rounds {
        let db = Engine::open(dir.path(), settings).unwrap();
        assert_eq!(db.labels(), made[0], "labels after round {round}");
        assert_eq!(db.property_keys(), made[1], "property keys after round {round}");
        let types: Vec<String> = db.edge_types().into_iter().map(|(name, _)| name).collect();
        assert_eq!(types, made[2], "edge types after round {round}");
        let stop = AtomicBool::new(false);
        std::thread::scope(|scope| {
            // Commits publish the names' timestamps as soon as they are durable.
            scope.spawn(|| {
                while !stop.load(Ordering::Relaxed) {
                    let mut txn = db.begin().unwrap();
                    txn.create_vertex(&[]).unwrap();
                    txn.commit().unwrap();
                }
            });
            scope.spawn(|| {
                while !stop.load(Ordering::Relaxed) {
                    db.checkpoint().unwrap();
                }
            });
            for i in 0..10 {
                db.label(&format!("L{round}_{i}")).unwrap();
                db.property_key(&format!("k{round}_{i}")).unwrap();
                db.edge_type(&format!("T{round}_{i}"), EdgeTypeOptions::general()).unwrap();
            }
            stop.store(true, Ordering::Relaxed);
        });
        let types = db.edge_types().into_iter().map(|(name, _)| name).collect();
        made = [db.labels(), db.property_keys(), types];
    }
}
