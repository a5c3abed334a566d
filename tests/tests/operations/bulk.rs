//! Bulk loads are in no log: backups hold them, and a restore does not pretend to replay them.

use telar_engine::maintenance::RestorePoint;
use telar_engine::{BulkOptions, EdgeTypeOptions, Engine};
use telar_graph::{Counts, Direction, VertexId};

use super::{backup, commit, open, restore_to, settings};

/// Loads a ring; returns the commit timestamp.
fn load(db: &Engine, vertices: u32) -> u64 {
    let mut load = db.bulk_load(BulkOptions::default()).unwrap();
    let knows = load.edge_type("KNOWS", EdgeTypeOptions::simple()).unwrap();
    load.add_vertices(&[], vertices as usize, &[]).unwrap();
    let first = load.first_vertex().unwrap().get() as u32;
    let ring = (0..vertices).map(|v| (first + v, first + (v + 1) % vertices)).collect();
    load.add_edges(knows, ring, Vec::new()).unwrap();
    load.finish(&|_, _, _| {}).unwrap().ts.get()
}

#[test]
fn restore_does_not_replay_across_a_bulk_load() {
    let dir = tempfile::tempdir().unwrap();
    let at = |name: &str| dir.path().join(name);
    let mut settings = settings();
    settings.log_archive_bytes_max = 1 << 30;
    let db = Engine::open(at("graph"), settings).unwrap();
    let one = |db: &Engine| {
        let mut txn = db.begin().unwrap();
        txn.create_vertex(&[]).unwrap();
        txn.commit().unwrap().ts.get()
    };
    one(&db);
    backup(&db, &at("full"), None).unwrap();
    let before = one(&db);
    let loaded = load(&db, 3000);
    let after = one(&db);
    backup(&db, &at("second"), Some(&at("full"))).unwrap();
    let last = one(&db);
    drop(db);

    // The archive kept the log before the load; with it every commit before is reached.
    let logs = [at("graph/archive"), at("graph/wal")];
    restore_to(&[at("full")], &at("before"), commit(before), &logs).unwrap();
    assert_eq!(open(&at("before")).reader().unwrap().statistics().unwrap().vertices, 2);
    for point in [commit(loaded), commit(after), RestorePoint::Latest] {
        let refused = restore_to(&[at("full")], &at("never"), point, &logs).unwrap_err();
        assert!(refused.to_string().contains(&format!("commit {loaded} is a bulk load")));
        assert!(!at("never").exists());
    }
    // A backup taken after it holds it, and the log after that is replayed.
    let chain = [at("full"), at("second")];
    restore_to(&chain, &at("last"), commit(last), &logs).unwrap();
    let db = open(&at("last"));
    let reader = db.reader().unwrap();
    assert_eq!(reader.statistics().unwrap().vertices, 3004);
    let knows = db.find_edge_type("KNOWS").unwrap();
    let degree = |v| reader.degree(VertexId::from_raw(v), knows, Direction::In);
    assert_eq!((0..reader.vertex_bound().get()).map(degree).sum::<usize>(), 3000);
}
