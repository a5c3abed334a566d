//! Bugs that were found once; each test failed before its fix.
#![cfg(not(feature = "shuttle"))]

mod common;

use telar_engine::{EdgeTypeOptions, Engine, Error, Retention};
use telar_graph::value::Path;
use telar_graph::{CommitTs, Direction, EdgeId, Value};

use common::{memory, no_background, v, with_vertices};

/// One simple edge deleted under two ordinals in one transaction.
#[test]
fn simple_edge_deleted_under_two_ordinals() {
    let db = memory();
    let ty = db.edge_type("E", EdgeTypeOptions::simple()).unwrap();
    with_vertices(&db, 16);
    let mut txn = db.begin().unwrap();
    for n in 1..6 {
        txn.upsert_edge(ty, v(0), v(n)).unwrap();
    }
    txn.commit().unwrap();
    let edge = |dst, ordinal| EdgeId { ty, src: v(0), dst: v(dst), ordinal };
    let mut txn = db.begin().unwrap();
    txn.delete_edge(edge(1, 0)).unwrap();
    txn.delete_edge(edge(1, 7)).unwrap();
    txn.delete_edge(edge(3, 0)).unwrap();
    let done = txn.commit().unwrap();
    let reader = db.reader().unwrap();
    let found: Vec<u64> = reader.edges(v(0), ty, Direction::Out).map(|e| e.dst.get()).collect();
    assert_eq!(done.edges_removed, 2);
    assert_eq!(found, [2, 4, 5]);
    assert_eq!(reader.degree(v(0), ty, Direction::Out), 3);
}

/// Ids mean something at one snapshot only, so no property may hold one, however deep inside.
#[test]
fn a_property_cannot_hold_a_vertex_an_edge_or_a_path() {
    let db = memory();
    let key = db.property_key("p").unwrap();
    let ty = db.edge_type("E", EdgeTypeOptions::general()).unwrap();
    with_vertices(&db, 2);
    let mut txn = db.begin().unwrap();
    let edge = txn.create_edge(ty, v(0), v(1), &[]).unwrap();
    for value in [Value::Vertex(v(1)), Value::from(edge), Value::from(Path::start(v(0)))] {
        let value = Value::list([Value::map([("inside", value)])]);
        let refused = |result| assert!(matches!(result, Err(Error::NotStorable)));
        refused(txn.set_vertex_property(v(0), key, value.clone()));
        refused(txn.set_edge_property(edge, key, value.clone()));
        refused(txn.create_edge(ty, v(0), v(1), &[(key, value)]).map(drop));
    }
    txn.commit().unwrap();
}

/// A transaction that fills the tails of many segments.
#[test]
fn bulk_transaction_over_many_segments() {
    const SEGMENTS: u64 = 48;
    let db = memory();
    let ty = db.edge_type("E", EdgeTypeOptions::simple()).unwrap();
    with_vertices(&db, SEGMENTS * 1024);
    let mut txn = db.begin().unwrap();
    for s in 0..SEGMENTS {
        for i in 0..4000u64 {
            txn.upsert_edge(ty, v(s * 1024 + i % 1024), v(s * 1024 + (i * 7 + i / 1024) % 1024))
                .unwrap();
        }
    }
    txn.commit().unwrap();
    assert!(db.memory().topology < 1 << 28);
}

/// An oversized chunk of one pair cannot be cut; it must not be sorted anew by every commit.
#[test]
fn many_parallel_edges_of_one_pair() {
    let db = memory();
    let ty = db.edge_type("M", EdgeTypeOptions::general()).unwrap();
    with_vertices(&db, 4);
    for _ in 0..20_000u64 {
        let mut txn = db.begin().unwrap();
        txn.create_edge(ty, v(0), v(1), &[]).unwrap();
        txn.commit().unwrap();
    }
    let reader = db.reader().unwrap();
    assert_eq!(reader.degree(v(0), ty, Direction::Out), 20_000);
    assert_eq!(reader.degree(v(1), ty, Direction::In), 20_000);
}

/// After the log failed, a write that meets an applied, unpublished commit must fail, not retry for
/// ever.
#[cfg(feature = "failpoints")]
#[test]
fn poisoned_log_and_retries() {
    use telar_engine::{Error, Isolation};
    let dir = tempfile::tempdir().unwrap();
    let mut settings = telar_engine::Settings::default();
    settings.background_interval_ms = 0;
    settings.hub_entries_min = 4096;
    settings.store_bytes_max = 1 << 26;
    let db = telar_engine::Engine::open(dir.path(), settings).unwrap();
    let key = db.property_key("k").unwrap();
    with_vertices(&db, 2);
    telar_engine::failpoint::set("wal::before_sync", telar_engine::failpoint::Action::Error);
    let set = |n: i64| {
        let mut tries = 0;
        let r = db.write(Isolation::Snapshot, |txn| {
            tries += 1;
            if tries > 50 {
                return Err(Error::SimpleEdgeType { name: "fifty tries".into() });
            }
            txn.set_vertex_property(v(0), key, n.into())
        });
        (tries, r.map(|_| ()))
    };
    assert_eq!(set(1).0, 1);
    assert_eq!(set(2).0, 1);
}

/// Chunks of a hub settle one after the other, so that undo entries of the list came into one block
/// out of commit order, and the store was refused as damaged. Found by `telar bench soak`.
#[test]
fn history_of_a_hub_with_many_chunks_across_a_restart() {
    const LIST: u64 = 6000;
    // More than the tails of all chunks take, so that each settles.
    const COMMITS: u64 = 600;
    let dir = tempfile::tempdir().unwrap();
    let mut settings = no_background();
    settings.hub_entries_min = 1024;
    settings.retain = Retention::commits(1000);
    let db = Engine::open(dir.path(), settings).unwrap();
    let ty = db.edge_type("E", EdgeTypeOptions::simple()).unwrap();
    with_vertices(&db, LIST);
    let mut txn = db.begin().unwrap();
    (0..LIST).for_each(|n| assert!(txn.upsert_edge(ty, v(0), v(n)).is_ok()));
    txn.commit().unwrap();
    db.settle();
    let full = db.published().get();
    // The hub is there from the first write on; these go from chunk to chunk and back.
    for n in 0..COMMITS {
        let mut txn = db.begin().unwrap();
        txn.delete_edge(EdgeId { ty, src: v(0), dst: v(n * 2999 % LIST), ordinal: 0 }).unwrap();
        txn.commit().unwrap();
    }
    assert!(db.settle_state(ty).unwrap().hubs > 0);
    let check = |db: &Engine| {
        for gone in (0..=COMMITS).step_by(17) {
            let snapshot = db.snapshot_at(CommitTs::from_raw(full + gone)).unwrap();
            let degree = snapshot.reader().degree(v(0), ty, Direction::Out) as u64;
            assert_eq!(degree, LIST - gone);
        }
    };
    check(&db);
    db.close().unwrap();
    let report = telar_engine::maintenance::check(dir.path()).unwrap();
    assert!(report.worst().is_none(), "{report:?}");
    check(&Engine::open(dir.path(), settings).unwrap());
}

/// The commit of a new name was delivered before the name could be looked up: whoever followed
/// changes saw numbers without names. The step between is made long here.
#[cfg(feature = "failpoints")]
#[test]
fn a_name_is_there_when_its_commit_is_delivered() {
    use std::time::Duration;
    use telar_engine::Change;
    use telar_engine::failpoint::{Action, set};
    let dir = tempfile::tempdir().unwrap();
    let mut settings = no_background();
    settings.retain = Retention::commits(100);
    settings.store_bytes_max = 1 << 26;
    set("schema::logged", Action::SleepMs(30));
    set("schema::durable", Action::SleepMs(30));
    let databases =
        [Engine::open(dir.path(), settings).unwrap(), Engine::in_memory(settings).unwrap()];
    for db in &databases {
        std::thread::scope(|scope| {
            let names = scope.spawn(|| {
                let mut stream = db.changes_since(CommitTs::from_raw(0)).unwrap();
                let wait = Duration::from_secs(60);
                let mut named = Vec::new();
                while named.len() < 3 {
                    for change in stream.next_within(wait).unwrap().expect("a name").changes {
                        named.push(match change {
                            Change::LabelMade { label, .. } => {
                                db.labels().get(usize::from(label.get())).cloned()
                            }
                            Change::PropertyKeyMade { key, .. } => {
                                db.property_keys().get(usize::from(key.get())).cloned()
                            }
                            Change::EdgeTypeMade { ty, .. } => {
                                db.edge_types().get(usize::from(ty.get())).map(|t| t.0.clone())
                            }
                            other => panic!("{other:?}"),
                        });
                    }
                }
                named
            });
            db.label("L").unwrap();
            db.property_key("k").unwrap();
            db.edge_type("T", EdgeTypeOptions::general()).unwrap();
            assert_eq!(names.join().unwrap(), ["L", "k", "T"].map(|n| Some(n.to_owned())));
        });
    }
}
