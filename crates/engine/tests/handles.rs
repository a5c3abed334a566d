//! Handles of one database: clones, and what is left of it when one of them closes it.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use telar_engine::{BulkOptions, Engine, Error, Isolation, Settings, maintenance};
use telar_graph::VertexId;

/// As often as possible, so that its thread is met at whatever it does.
fn settings() -> Settings {
    let mut settings = Settings::default();
    settings.background_interval_ms = 1;
    settings
}

fn vertices(db: &Engine) -> usize {
    let reader = db.reader().unwrap();
    let ids = 0..reader.vertex_bound().get();
    ids.filter(|id| reader.exists(VertexId::from_raw(*id))).count()
}

#[test]
fn clones_are_the_same_database_and_the_last_of_them_closes_it() {
    let dir = tempfile::tempdir().unwrap();
    let folder = dir.path().join("db");
    for round in 0..10 {
        let db = Engine::open(&folder, settings()).unwrap();
        let clones: Vec<Engine> = (0..4).map(|_| db.clone()).collect();
        let label = db.label("L").unwrap();
        assert!(clones.iter().all(|clone| clone.find_label("L") == Some(label)));
        std::thread::scope(|scope| {
            for clone in clones {
                scope.spawn(move || {
                    clone.write(Isolation::Snapshot, |txn| txn.create_vertex(&[label])).unwrap();
                });
            }
        });
        assert_eq!(vertices(&db), 4 * (round + 1));
        assert!(matches!(Engine::open(&folder, settings()), Err(Error::Locked { .. })));
    }
}

#[test]
fn after_one_handle_has_closed_it_the_others_read_and_change_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let folder = dir.path().join("db");
    let db = Engine::open(&folder, settings()).unwrap();
    let label = db.label("L").unwrap();
    db.write(Isolation::Snapshot, |txn| txn.create_vertex(&[label])).unwrap();
    let (other, snapshot) = (db.clone(), db.snapshot_owned().unwrap());
    let mut transaction = db.begin_owned(Isolation::Snapshot).unwrap();
    transaction.create_vertex(&[label]).unwrap();
    db.close().unwrap();

    assert!(matches!(transaction.commit(), Err(Error::Log(_))));
    let write = other.write(Isolation::Snapshot, |txn| txn.create_vertex(&[label]));
    assert!(matches!(write, Err(Error::Log(_))), "{write:?}");
    assert!(other.label("M").is_err());
    assert!(other.flush().is_ok() && other.checkpoint().is_ok(), "nothing is new");
    assert_eq!(vertices(&other), 1);
    assert!(snapshot.reader().exists(VertexId::from_raw(0)));
    // A bulk load waits for snapshots.
    drop(snapshot);
    let load = other.bulk_load(BulkOptions::default()).and_then(|load| load.finish(&|_, _, _| ()));
    assert!(matches!(load, Err(Error::Log(_))), "{load:?}");
    other.clone().close().unwrap();
    drop(other);

    assert_eq!(maintenance::check(&folder).unwrap().findings, []);
    let db = Engine::open(&folder, settings()).unwrap();
    assert_eq!((vertices(&db), db.find_label("M")), (1, None));
}
