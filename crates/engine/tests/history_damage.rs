//! History is read when it is needed, and found damaged then; with `Retention::Off` it is given up.
//! Damaged change lists end the chain of incremental backups and nothing else.
#![cfg(not(feature = "shuttle"))]
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;

use std::path::Path;

use telar_engine::maintenance::{BackupOptions, RestoreOptions, check, restore};
use telar_engine::{EdgeTypeOptions, Engine, Error, Retention, Settings};
use telar_graph::{CommitTs, Direction, EdgeTypeId, PropertyKeyId, Value, VertexId};

use common::{no_background, v, with_vertices};

/// Vertices of a segment.
const SEGMENT: u64 = 1024;
const SEGMENTS: u64 = 4;
/// In each of them a ring of so many edges; then every second one is deleted. Few, so that what the
/// store has of a segment's history lies beside its key.
const RING: u64 = 32;
/// Undo entries of a segment's lists in one direction.
const ENTRIES: u64 = RING + RING / 2;

fn settings(retain: Retention) -> Settings {
    let mut settings = no_background();
    settings.retain = retain;
    settings.store_bytes_max = 1 << 28;
    settings
}

fn open(dir: &Path, retain: Retention) -> Engine {
    Engine::open(dir, settings(retain)).unwrap()
}

struct World {
    dir: tempfile::TempDir,
    ty: EdgeTypeId,
    key: PropertyKeyId,
    /// Before the edges were deleted.
    before: CommitTs,
    then: Vec<Vec<VertexId>>,
    now: Vec<Vec<VertexId>>,
}

/// The vertices in rings.
fn vertices() -> impl Iterator<Item = u64> {
    (0..SEGMENTS).flat_map(|segment| (0..RING).map(move |u| segment * SEGMENT + u))
}

fn neighbours(reader: &telar_engine::Reader<'_>, ty: EdgeTypeId) -> Vec<Vec<VertexId>> {
    let of = |u| reader.edges(v(u), ty, Direction::Out).map(|edge| edge.dst).collect();
    vertices().map(of).collect()
}

/// A database that was closed, with history of lists and values in each of its segments.
fn world() -> World {
    let dir = tempfile::tempdir().unwrap();
    let db = open(dir.path(), Retention::commits(100));
    let ty = db.edge_type("RING", EdgeTypeOptions::simple()).unwrap();
    let key = db.property_key("weight").unwrap();
    with_vertices(&db, SEGMENTS * SEGMENT);
    let mut txn = db.begin().unwrap();
    for u in vertices() {
        let next = u / SEGMENT * SEGMENT + (u + 1) % RING;
        txn.upsert_edge(ty, v(u), v(next)).unwrap();
        txn.set_vertex_property(v(u), key, Value::Int(u as i64)).unwrap();
    }
    let before = txn.commit().unwrap().ts;
    let edges: Vec<_> = {
        let reader = db.reader().unwrap();
        vertices().flat_map(|u| reader.edges(v(u), ty, Direction::Out)).collect()
    };
    let mut txn = db.begin().unwrap();
    for edge in edges.into_iter().step_by(2) {
        txn.delete_edge(edge).unwrap();
        txn.set_vertex_property(edge.src, key, Value::Null).unwrap();
    }
    txn.commit().unwrap();
    db.settle();
    db.checkpoint().unwrap();
    let now = neighbours(&db.reader().unwrap(), ty);
    let then = neighbours(&db.snapshot_at(before).unwrap().reader(), ty);
    assert_eq!(then.iter().flatten().count() as u64, SEGMENTS * RING);
    assert_eq!(now.iter().flatten().count() as u64, SEGMENTS * RING / 2);
    db.close().unwrap();
    World { dir, ty, key, before, then, now }
}

impl World {
    fn open(&self, retain: Retention) -> Engine {
        open(self.dir.path(), retain)
    }

    /// Flips a bit of every value in the store whose key begins like this.
    fn damage(&self, key: &[u8]) {
        // A node of the store: length of the key, then the key of nine bytes, then the value, which
        // begins with its checksum.
        let node = [&[9u8, 0], key].concat();
        let store = self.dir.path().join("store/data.mdb");
        let mut bytes = std::fs::read(&store).unwrap();
        let begins = |at: &usize| bytes[*at..].starts_with(&node);
        let places: Vec<usize> = (0..bytes.len() - 16).filter(begins).map(|at| at + 16).collect();
        assert!(!places.is_empty(), "there is such a value in the store");
        places.into_iter().for_each(|at| bytes[at] ^= 4);
        std::fs::write(&store, bytes).unwrap();
    }

    /// Deletes the edge after the first vertex of a segment.
    fn write(&self, db: &Engine, segment: u64) {
        let edge = {
            let reader = db.reader().unwrap();
            reader.edges(v(segment * SEGMENT + 1), self.ty, Direction::Out).next().unwrap()
        };
        let mut txn = db.begin().unwrap();
        txn.delete_edge(edge).unwrap();
        txn.commit().unwrap();
    }

    /// The past, read whole.
    fn check_past(&self, db: &Engine) {
        let snapshot = db.snapshot_at(self.before).unwrap();
        let reader = snapshot.reader();
        assert_eq!(neighbours(&reader, self.ty), self.then);
        for u in vertices() {
            assert_eq!(reader.vertex_property(v(u), self.key), Value::Int(u as i64));
        }
        assert!(snapshot.error().is_none());
    }
}

/// Key of the history of the lists out of a segment: kind 6, type 0, direction 1.
fn lists_out(segment: u8) -> [u8; 9] {
    [6, 0, 0, 0, 1, 0, 0, 0, segment]
}

#[test]
fn history_is_read_where_and_when_it_is_needed() {
    let w = world();
    let db = w.open(Retention::AsStored);
    let used = || (db.history().entries, db.history().values);
    assert_eq!(neighbours(&db.reader().unwrap(), w.ty), w.now);
    assert_eq!(used(), (0, 0), "the present needs none");
    {
        let snapshot = db.snapshot_at(w.before).unwrap();
        assert_eq!(used(), (0, 0), "nor does opening the past");
        let reader = snapshot.reader();
        assert_eq!(reader.degree(v(0), w.ty, Direction::Out), 1);
        assert_eq!(used(), (ENTRIES, 0), "one segment, one direction");
        assert_eq!(reader.vertex_property(v(SEGMENT), w.key), Value::Int(SEGMENT as i64));
        let (entries, values) = used();
        assert_eq!(entries, ENTRIES);
        assert!(
            values > 0 && values < 2 * SEGMENT,
            "of one segment, states and the property: {values}"
        );
    }
    // What was read before a checkpoint and what was not are the same after it.
    for segment in [0, 2] {
        w.write(&db, segment);
    }
    db.settle();
    db.checkpoint().unwrap();
    w.check_past(&db);
    let all = used();
    // Lists out were read, and what the checkpoint wrote of lists in.
    assert_eq!(all.0, SEGMENTS * ENTRIES + 2 * ENTRIES + 4);
    db.close().unwrap();
    let db = w.open(Retention::AsStored);
    w.check_past(&db);
    assert_eq!(db.history().entries, SEGMENTS * ENTRIES + 2, "lists in stay where they are");
    drop(db);
    let report = check(w.dir.path()).unwrap();
    assert!(report.worst().is_none(), "{report:?}");
}

#[test]
fn damaged_history_is_an_error_where_it_is_needed_and_nowhere_else() {
    let w = world();
    w.damage(&lists_out(2));
    for wanted in [Retention::AsStored, Retention::commits(100)] {
        let db = w.open(wanted);
        // The present, and the past of other segments.
        assert_eq!(neighbours(&db.reader().unwrap(), w.ty), w.now);
        w.write(&db, 1);
        let snapshot = db.snapshot_at(w.before).unwrap();
        assert_eq!(snapshot.reader().degree(v(SEGMENT), w.ty, Direction::Out), 1);
        assert!(snapshot.error().is_none());
        // Its own.
        assert_eq!(snapshot.reader().degree(v(2 * SEGMENT), w.ty, Direction::Out), 0);
        assert!(matches!(snapshot.error(), Some(Error::Damaged { .. })));
        drop(snapshot);
        assert!(matches!(db.begin().map(drop), Err(Error::Damaged { .. })));
        assert!(matches!(db.checkpoint(), Err(Error::Damaged { .. })));
        drop(db);
        // Restores what this round has written.
        let db = w.open(Retention::AsStored);
        let mut txn = db.begin().unwrap();
        txn.upsert_edge(w.ty, v(SEGMENT + 1), v(SEGMENT + 2)).unwrap();
        txn.commit().unwrap();
        drop(db);
    }
}

#[test]
fn a_checkpoint_does_not_replace_history_that_it_cannot_read() {
    let w = world();
    w.damage(&lists_out(2));
    let db = w.open(Retention::AsStored);
    w.write(&db, 1);
    db.settle();
    db.checkpoint().unwrap();
    w.write(&db, 2);
    db.settle();
    let refused = db.checkpoint().unwrap_err();
    assert!(matches!(refused, Error::Damaged { .. }), "{refused}");
    drop(db);
    assert!(check(w.dir.path()).unwrap().worst().is_some(), "the damage is still there");
    let db = w.open(Retention::Off);
    let now = neighbours(&db.reader().unwrap(), w.ty);
    let deleted = |segment: u64| now[(segment * RING + 1) as usize].is_empty();
    assert!(deleted(1) && deleted(2), "both commits are there");
}

#[test]
fn damaged_history_is_given_up_and_the_graph_stays() {
    // Lists, and what says how much is retained.
    for damaged in [lists_out(0), [6, 0, 0, 0, 0, 0, 0, 0, 0]] {
        let w = world();
        w.damage(&damaged);
        if damaged[4] == 0 {
            let refused = Engine::open(w.dir.path(), settings(Retention::AsStored)).unwrap_err();
            assert!(matches!(refused, Error::Damaged { .. }), "{refused}");
        }
        let db = w.open(Retention::Off);
        assert_eq!(neighbours(&db.reader().unwrap(), w.ty), w.now);
        assert!(matches!(db.snapshot_at(w.before), Err(Error::NotRetained { .. })));
        db.checkpoint().unwrap();
        db.close().unwrap();

        // What was damaged is gone; history can begin anew.
        let db = w.open(Retention::commits(100));
        assert_eq!(neighbours(&db.reader().unwrap(), w.ty), w.now);
        assert!(matches!(db.snapshot_at(w.before), Err(Error::NotRetained { .. })));
        drop(db);
        let report = check(w.dir.path()).unwrap();
        assert!(report.worst().is_none(), "{report:?}");
    }
}

#[test]
fn a_damaged_change_list_ends_the_chain_of_backups_and_nothing_else() {
    for retain in [Retention::Off, Retention::AsStored] {
        let w = world();
        let place = |name: &str| w.dir.path().join(name);
        let backup = |db: &Engine, since: Option<&str>, to: &str| {
            let mut options = BackupOptions::default();
            options.since = since.map(place);
            db.backup(place(to), &options).map(drop)
        };
        let db = w.open(Retention::AsStored);
        backup(&db, None, "full").unwrap();
        w.write(&db, 0);
        db.checkpoint().unwrap();
        db.close().unwrap();
        w.damage(&[240]);
        assert!(check(w.dir.path()).unwrap().worst().is_some());

        let db = w.open(retain);
        assert!(neighbours(&db.reader().unwrap(), w.ty)[1].is_empty());
        let refused = backup(&db, Some("full"), "damaged").unwrap_err();
        assert!(matches!(refused, Error::Damaged { .. }), "{refused}");
        if retain == Retention::AsStored {
            w.check_past(&db);
        }
        w.write(&db, 1);
        db.checkpoint().unwrap();
        let refused = backup(&db, Some("full"), "unknown").unwrap_err();
        assert!(matches!(refused, Error::Backup { .. }), "{refused}");
        // A new chain.
        backup(&db, None, "again").unwrap();
        w.write(&db, 2);
        db.checkpoint().unwrap();
        backup(&db, Some("again"), "next").unwrap();
        let now = neighbours(&db.reader().unwrap(), w.ty);
        db.close().unwrap();
        let report = check(w.dir.path()).unwrap();
        assert!(report.worst().is_none(), "{report:?}");
        restore(&[place("again"), place("next")], place("restored"), &RestoreOptions::default())
            .unwrap();
        let restored = open(&place("restored"), Retention::AsStored);
        assert_eq!(neighbours(&restored.reader().unwrap(), w.ty), now);
    }
}
