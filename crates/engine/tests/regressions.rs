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
