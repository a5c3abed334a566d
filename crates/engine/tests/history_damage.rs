//! Damaged history: refused as long as it is wanted, given up with `Retention::Off`.
#![cfg(not(feature = "shuttle"))]

mod common;

use telar_engine::{EdgeTypeOptions, Engine, Error, Retention, Settings};
use telar_graph::{CommitTs, Direction, EdgeTypeId, VertexId};

use common::{no_background, v};

/// Vertices in a ring; then every second edge is deleted.
const VERTICES: u64 = 40;

fn settings(retain: Retention) -> Settings {
    let mut settings = no_background();
    settings.retain = retain;
    settings.store_bytes_max = 1 << 28;
    settings
}

fn neighbours(reader: &telar_engine::Reader<'_>, ty: EdgeTypeId) -> Vec<Vec<VertexId>> {
    (0..VERTICES)
        .map(|u| reader.edges(v(u), ty, Direction::Out).map(|edge| edge.dst).collect())
        .collect()
}

#[test]
fn damaged_history_is_refused_or_given_up_and_the_graph_stays() {
    let dir = tempfile::tempdir().unwrap();
    let db = Engine::open(dir.path(), settings(Retention::commits(100))).unwrap();
    let ty = db.edge_type("RING", EdgeTypeOptions::simple()).unwrap();
    let mut txn = db.begin().unwrap();
    for _ in 0..VERTICES {
        txn.create_vertex(&[]).unwrap();
    }
    for u in 0..VERTICES {
        txn.upsert_edge(ty, v(u), v((u + 1) % VERTICES)).unwrap();
    }
    let before: CommitTs = txn.commit().unwrap().ts;
    let edges: Vec<_> = {
        let reader = db.reader().unwrap();
        (0..VERTICES).flat_map(|u| reader.edges(v(u), ty, Direction::Out)).collect()
    };
    let mut txn = db.begin().unwrap();
    for edge in edges.into_iter().step_by(2) {
        txn.delete_edge(edge).unwrap();
    }
    txn.commit().unwrap();
    db.settle();
    db.checkpoint().unwrap();
    let now = neighbours(&db.reader().unwrap(), ty);
    let then = neighbours(&db.snapshot_at(before).unwrap().reader(), ty);
    assert_eq!(then.iter().flatten().count(), VERTICES as usize);
    assert_eq!(now.iter().flatten().count(), VERTICES as usize / 2);
    db.close().unwrap();

    // The history of the lists out: a node of the store with a key of nine bytes: kind 6, type 0,
    // direction 1, segment 0. Its value follows.
    let key = [9u8, 0, 6, 0, 0, 0, 1, 0, 0, 0, 0];
    let store = dir.path().join("store/data.mdb");
    let mut bytes = std::fs::read(&store).unwrap();
    let places: Vec<usize> = (0..bytes.len() - key.len() - 6)
        .filter(|at| bytes[*at..].starts_with(&key))
        .map(|at| at + key.len() + 5)
        .collect();
    assert!(!places.is_empty(), "there is history in the store");
    places.into_iter().for_each(|at| bytes[at] ^= 4);
    std::fs::write(&store, bytes).unwrap();

    for wanted in [Retention::AsStored, Retention::commits(100)] {
        let refused = Engine::open(dir.path(), settings(wanted)).unwrap_err();
        assert!(matches!(refused, Error::Damaged { .. }), "{refused}");
    }
    let open = |retain| Engine::open(dir.path(), settings(retain)).unwrap();
    let db = open(Retention::Off);
    assert_eq!(neighbours(&db.reader().unwrap(), ty), now);
    assert!(matches!(db.snapshot_at(before), Err(Error::NotRetained { .. })));
    db.checkpoint().unwrap();
    db.close().unwrap();

    // What was damaged is gone; history can begin anew.
    let db = open(Retention::commits(100));
    assert_eq!(neighbours(&db.reader().unwrap(), ty), now);
    assert!(matches!(db.snapshot_at(before), Err(Error::NotRetained { .. })));
    drop(db);
    let report = telar_engine::ops::check(dir.path()).unwrap();
    assert!(report.worst().is_none(), "{report:?}");
}
