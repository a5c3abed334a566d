//! Indexes and constraints that a transaction makes and drops: all of them or none.
#![cfg(not(feature = "shuttle"))]
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};
use std::time::Duration;

use common::StopAtEnd;
use telar_engine::{
    Change, ConstraintKind, ConstraintSpec, Engine, Error, ErrorKind, IndexSpec, IndexState,
    IndexTarget, Object, Retention, Settings,
};
use telar_graph::{LabelId, PropertyKeyId, Value, VertexId};

struct World {
    db: Engine,
    label: LabelId,
    keys: [PropertyKeyId; 2],
}

impl World {
    fn new() -> Self {
        let mut settings = Settings::default();
        settings.background_interval_ms = 0;
        settings.retain = Retention::commits(1000);
        let db = Engine::in_memory(settings).unwrap();
        let label = db.label("L").unwrap();
        let keys = ["a", "b"].map(|name| db.property_key(name).unwrap());
        Self { db, label, keys }
    }

    fn index(&self, name: &str, key: usize) -> IndexSpec {
        let (name, target) = (name.to_owned(), IndexTarget::Vertices(self.label));
        IndexSpec { name, target, properties: vec![self.keys[key]] }
    }

    fn unique(&self, name: &str, key: usize) -> ConstraintSpec {
        let IndexSpec { name, target, properties } = self.index(name, key);
        ConstraintSpec { name, target, properties, kind: ConstraintKind::Unique }
    }

    fn vertex(&self, values: [i64; 2]) -> Result<VertexId, Error> {
        let mut txn = self.db.begin()?;
        let v = txn.create_vertex(&[self.label])?;
        for (key, value) in self.keys.iter().zip(values) {
            txn.set_vertex_property(v, *key, Value::Int(value))?;
        }
        txn.commit().map(|_| v)
    }

    fn names(&self) -> Vec<String> {
        self.db.indexes().into_iter().map(|index| index.name).collect()
    }
}

#[test]
fn stream_has_one_commit_with_all_of_it() {
    let w = World::new();
    let old = w.db.create_index(w.index("old", 0)).unwrap();
    let mut txn = w.db.begin().unwrap();
    let begun = txn.read_ts();
    txn.drop_index("old").unwrap();
    txn.create_index(w.index("old", 1)).unwrap();
    txn.create_constraint(w.unique("one", 0)).unwrap();
    let foreseen: Vec<_> = txn.indexes().iter().map(|index| index.id).collect();
    let committed = txn.commit().unwrap();
    let commits: Vec<_> = w.db.changes_since(begun).unwrap().map(Result::unwrap).collect();
    assert_eq!(commits.len(), 1);
    assert_eq!(commits[0].ts, committed.ts);
    let made: Vec<_> = w.db.indexes().iter().map(|index| index.id).collect();
    assert_eq!(made, foreseen);
    assert_eq!(commits[0].changes[0], Change::IndexDropped { index: old });
    for (change, id) in commits[0].changes[1..].iter().zip(&made) {
        assert!(matches!(change, Change::IndexMade { index, .. } if index == id), "{change:?}");
    }
    assert_eq!(commits[0].changes.len(), 3);
}

#[test]
fn what_cannot_be_is_refused_and_leaves_the_transaction_as_it_was() {
    let w = World::new();
    w.db.create_index(w.index("there", 0)).unwrap();
    let mut txn = w.db.begin().unwrap();
    txn.create_index(w.index("new", 1)).unwrap();
    let twice = txn.create_index(w.index("there", 1)).unwrap_err();
    assert!(matches!(&twice, Error::IndexExists { name } if name == "there"), "{twice}");
    let twice = txn.create_constraint(w.unique("new", 1)).unwrap_err();
    assert!(matches!(twice, Error::IndexExists { .. }), "{twice}");
    let unknown = txn.drop_index("gone").unwrap_err();
    assert!(matches!(&unknown, Error::UnknownIndexName { name } if name == "gone"), "{unknown}");
    let mut empty = w.index("empty", 0);
    empty.properties.clear();
    assert!(matches!(txn.create_index(empty), Err(Error::IndexSpec { .. })));
    // The same again is no second one.
    txn.create_index(w.index("new", 1)).unwrap();
    txn.create_index(w.index("there", 0)).unwrap();
    txn.commit().unwrap();
    assert_eq!(w.names(), ["there", "new"]);
}

#[test]
fn schema_and_graph_do_not_change_together() {
    let w = World::new();
    let mut txn = w.db.begin().unwrap();
    txn.create_vertex(&[w.label]).unwrap();
    let error = txn.create_index(w.index("i", 0)).unwrap_err();
    assert!(matches!(error, Error::MixedChanges), "{error}");
    assert_eq!(error.kind(), ErrorKind::Request);
    assert!(txn.changes_graph() && !txn.changes_schema());
    txn.commit().unwrap();
    let mut txn = w.db.begin().unwrap();
    txn.create_index(w.index("i", 0)).unwrap();
    txn.create_vertex(&[w.label]).unwrap();
    assert!(matches!(txn.commit(), Err(Error::MixedChanges)));
    assert!(w.names().is_empty());
}

#[test]
fn changes_of_different_properties_do_not_conflict() {
    let w = World::new();
    let mut txns: Vec<_> = (0..3).map(|_| w.db.begin().unwrap()).collect();
    txns[0].create_index(w.index("i", 0)).unwrap();
    txns[1].create_index(w.index("j", 1)).unwrap();
    txns[2].create_index(w.index("same under another name", 1)).unwrap();
    let mut txns = txns.into_iter();
    txns.next().unwrap().commit().unwrap();
    // It has looked before, and goes on.
    let mut second = txns.next().unwrap();
    assert_eq!(second.indexes_to_change().unwrap().len(), 2);
    second.commit().unwrap();
    let error = txns.next().unwrap().commit().unwrap_err();
    assert!(matches!(error, Error::Conflict { object: Object::Schema }), "{error}");
    assert_eq!(w.names(), ["i", "j"]);
}

#[test]
fn what_came_and_went_is_no_conflict_and_what_went_is() {
    let w = World::new();
    let mut txn = w.db.begin().unwrap();
    txn.create_index(w.index("i", 0)).unwrap();
    w.db.create_index(w.index("j", 1)).unwrap();
    w.db.drop_index(w.db.find_index("j").unwrap()).unwrap();
    txn.commit().unwrap();
    let mut txn = w.db.begin().unwrap();
    txn.drop_index("i").unwrap();
    w.db.drop_index(w.db.find_index("i").unwrap()).unwrap();
    let error = txn.commit().unwrap_err();
    assert!(matches!(error, Error::Conflict { object: Object::Schema }), "{error}");
}

/// Between the look at what is there and the change that depends on it somebody else is faster.
#[test]
fn change_that_depends_on_what_is_no_longer_there_is_a_conflict() {
    let w = World::new();
    let conflict = |done: Result<(), Error>| {
        let error = done.unwrap_err();
        assert!(matches!(error, Error::Conflict { object: Object::Schema }), "{error}");
    };
    let mut txn = w.db.begin().unwrap();
    assert!(txn.indexes_to_change().unwrap().is_empty());
    w.db.create_index(w.index("i", 0)).unwrap();
    conflict(txn.create_index(w.index("same under another name", 0)));
    assert_eq!(txn.indexes_to_change().unwrap().len(), 1);
    let i = w.db.find_index("i").unwrap();
    w.db.drop_index(i).unwrap();
    conflict(txn.drop_index("i"));
    assert!(txn.indexes_to_change().unwrap().is_empty());
    txn.create_index(w.index("j", 0)).unwrap();
    txn.commit().unwrap();
    assert_eq!(w.names(), ["j"]);
}

/// Lets writers end, also if the test fails.
/// A writer breaks every other time what is being made: then nothing of it is there, and else all.
#[test]
fn all_or_nothing_beside_writers() {
    let w = &World::new();
    let stop = &AtomicBool::new(false);
    let (written, breaks) = (&AtomicI64::new(0), &AtomicBool::new(false));
    let twin = &Mutex::new(None);
    let (made, failed) = std::thread::scope(|s| {
        s.spawn(move || {
            let mut n = 0;
            while !stop.load(Ordering::Relaxed) {
                n += 1;
                w.vertex([n, n]).unwrap();
                if breaks.load(Ordering::Relaxed) {
                    // Refused, if the constraint was faster.
                    *twin.lock().unwrap() = w.vertex([-n, n]).ok();
                    breaks.store(false, Ordering::Relaxed);
                }
                written.store(n, Ordering::Relaxed);
                std::thread::sleep(Duration::from_micros(50));
            }
        });
        let _stop = StopAtEnd(stop);
        let (mut made, mut failed) = (0, 0);
        for round in 0..60 {
            breaks.store(round % 2 == 0, Ordering::Relaxed);
            let goal = written.load(Ordering::Relaxed) + round % 5;
            while written.load(Ordering::Relaxed) < goal {
                std::thread::yield_now();
            }
            let mut txn = w.db.begin().unwrap();
            txn.create_index(w.index("a", 0)).unwrap();
            txn.create_constraint(w.unique("b", 1)).unwrap();
            match txn.commit() {
                Ok(_) => {
                    made += 1;
                    let online = w.db.indexes().iter().all(|i| i.state == IndexState::Online);
                    assert!(online && w.names() == ["a", "b"]);
                    let mut txn = w.db.begin().unwrap();
                    ["a", "b"].iter().for_each(|name| txn.drop_index(name).unwrap());
                    txn.commit().unwrap();
                }
                Err(Error::ConstraintViolated { constraint, .. }) => {
                    failed += 1;
                    assert_eq!(constraint, "b");
                }
                Err(other) => panic!("{other}"),
            }
            assert!(w.names().is_empty());
            while breaks.load(Ordering::Relaxed) {
                std::thread::yield_now();
            }
            if let Some(twin) = twin.lock().unwrap().take() {
                let mut txn = w.db.begin().unwrap();
                txn.delete_vertex(twin, false).unwrap();
                txn.commit().unwrap();
            }
        }
        (made, failed)
    });
    assert!(made > 0 && failed > 0, "{made} made, {failed} failed");
}
