//! Indexes and constraints beside writers: races for a key, building, phantoms, restarts.
#![cfg(not(feature = "shuttle"))]
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;

use std::collections::BTreeMap;
use std::ops::Bound;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use telar_engine::{
    ConstraintKind, ConstraintSpec, Engine, Error, IndexSpec, IndexState, IndexTarget, Isolation,
    Object, Settings, Transaction, Violation,
};
use telar_graph::{
    IndexId, IndexRange, IndexUnavailable, LabelId, PropertyKeyId, Value, VertexId, View,
};

use common::Random;

struct World {
    db: Engine,
    label: LabelId,
    key: PropertyKeyId,
}

fn settings() -> Settings {
    let mut settings = Settings::asynchronous(5);
    settings.background_interval_ms = 0;
    settings.store_bytes_max = 1 << 28;
    settings
}

impl World {
    fn new(db: Engine) -> Self {
        let (label, key) = (db.label("L").unwrap(), db.property_key("k").unwrap());
        Self { db, label, key }
    }

    fn in_memory() -> Self {
        Self::new(Engine::in_memory(settings()).unwrap())
    }

    fn index(&self) -> Result<IndexId, Error> {
        let (name, target) = ("range".to_owned(), IndexTarget::Vertices(self.label));
        self.db.create_index(IndexSpec { name, target, properties: vec![self.key] })
    }

    fn constraint(&self, kind: ConstraintKind) -> Result<IndexId, Error> {
        let (name, target) = ("constraint".to_owned(), IndexTarget::Vertices(self.label));
        let properties = vec![self.key];
        self.db.create_constraint(ConstraintSpec { name, target, properties, kind })
    }

    fn create(&self, txn: &mut Transaction<'_>, key: i64) -> Result<VertexId, Error> {
        let v = txn.create_vertex(&[self.label])?;
        txn.set_vertex_property(v, self.key, Value::Int(key))?;
        Ok(v)
    }

    /// The index at a new snapshot must be what a scan finds there.
    fn check(&self, index: IndexId) -> usize {
        let snapshot = self.db.snapshot().unwrap();
        let reader = snapshot.reader();
        let found = reader.index_range(index, &IndexRange::default()).unwrap();
        let mut all = Vec::new();
        reader
            .scan(Some(self.label), VertexId::from_raw(0), reader.vertex_bound(), &mut all)
            .unwrap();
        let keyed = all.into_iter().map(|v| (reader.vertex_property(v, self.key), v));
        let mut expected: Vec<_> = keyed.filter(|(key, _)| !key.is_null()).collect();
        expected.sort();
        assert!(found.iter().eq(expected.iter().map(|(_, v)| v)), "{found:?}, {expected:?}");
        for (key, v) in expected.iter().step_by(17) {
            let there = reader.index_lookup(index, std::slice::from_ref(key)).unwrap();
            assert!(there.contains(v), "{key:?}");
        }
        found.len()
    }
}

#[test]
fn of_two_writers_of_a_unique_key_one_commits() {
    let w = World::in_memory();
    let id = w.constraint(ConstraintKind::Unique).unwrap();
    let (mut a, mut b) = (w.db.begin().unwrap(), w.db.begin().unwrap());
    let first = w.create(&mut a, 5).unwrap();
    w.create(&mut b, 5).unwrap();
    a.commit().unwrap();
    // What it could not see is a conflict, and what it can see a violation.
    let error = b.commit().unwrap_err();
    assert!(error.is_retryable());
    assert!(matches!(error, Error::Conflict { object: Object::UniqueKey(i) } if i == id));
    let mut again = w.db.begin().unwrap();
    let second = w.create(&mut again, 5).unwrap();
    let error = again.commit().unwrap_err();
    assert!(!error.is_retryable());
    let Error::ConstraintViolated { constraint, violation } = &error else { panic!("{error}") };
    assert_eq!(constraint, "constraint");
    let expected = Violation::Duplicate {
        key: vec![Value::Int(5)],
        object: Object::Vertex(second),
        existing: Object::Vertex(first),
    };
    assert_eq!(**violation, expected);
    assert!(error.to_string().contains("constraint"), "{error}");
}

/// Among many keys of one commit, two that are the same are found.
#[test]
fn one_commit_cannot_give_a_key_twice() {
    let w = World::in_memory();
    let id = w.constraint(ConstraintKind::Unique).unwrap();
    for twin in 0..200 {
        let mut txn = w.db.begin().unwrap();
        let vertices: Vec<_> = (0..200).map(|i| w.create(&mut txn, i).unwrap()).collect();
        let second = w.create(&mut txn, twin).unwrap();
        let Err(Error::ConstraintViolated { violation, .. }) = txn.commit() else {
            panic!("{twin} was given twice")
        };
        let expected = Violation::Duplicate {
            key: vec![Value::Int(twin)],
            object: Object::Vertex(second),
            existing: Object::Vertex(vertices[twin as usize]),
        };
        assert_eq!(*violation, expected);
    }
    assert_eq!(w.check(id), 0);
}

#[test]
fn every_key_is_won_once_however_many_race_for_it() {
    const KEYS: i64 = 400;
    let w = &World::in_memory();
    let id = w.constraint(ConstraintKind::Unique).unwrap();
    let (won, lost) = (&AtomicU64::new(0), &AtomicU64::new(0));
    std::thread::scope(|s| {
        for t in 0..3 {
            s.spawn(move || {
                for i in 0..KEYS {
                    let key = if t == 1 { KEYS - 1 - i } else { i };
                    let isolation =
                        if t == 2 { Isolation::Serializable } else { Isolation::Snapshot };
                    let done = w.db.write(isolation, |txn| {
                        if t == 2 && !txn.index_lookup(id, &[Value::Int(key)])?.is_empty() {
                            return Ok(false);
                        }
                        w.create(txn, key).map(|_| true)
                    });
                    match done {
                        Ok((true, _)) => won.fetch_add(1, Ordering::Relaxed),
                        Ok((false, _)) | Err(Error::ConstraintViolated { .. }) => {
                            lost.fetch_add(1, Ordering::Relaxed)
                        }
                        Err(e) => panic!("{e}"),
                    };
                }
            });
        }
    });
    assert_eq!(won.load(Ordering::Relaxed), KEYS as u64);
    assert_eq!(lost.load(Ordering::Relaxed), 2 * KEYS as u64);
    assert_eq!(w.check(id), KEYS as usize);
}

/// One transaction of a writer: creates, deletes, moves a key, takes the label away or gives it.
fn write(w: &World, random: &mut Random, fresh: &AtomicU64) {
    let what = random.below(8);
    let pick = random.below(2000);
    let new = fresh.fetch_add(1, Ordering::Relaxed) as i64;
    let done = w.db.write(Isolation::Snapshot, |txn| {
        let v = VertexId::from_raw(pick);
        if what < 3 || !txn.exists(v) {
            return w.create(txn, new).map(drop);
        }
        match what {
            3 => txn.delete_vertex(v, true),
            4 => txn.remove_label(v, w.label).map(drop),
            5 => txn.add_label(v, w.label).map(drop),
            6 => txn.set_vertex_property(v, w.key, Value::Int(new)),
            _ => {
                let old = txn.vertex_property(v, w.key)?;
                txn.set_vertex_property(v, w.key, Value::Null)?;
                let heir = txn.create_vertex(&[w.label])?;
                txn.set_vertex_property(heir, w.key, old)
            }
        }
    });
    done.unwrap();
}

fn seconds(short: u64, long: u64) -> Duration {
    let is_long = std::env::var_os("TELAR_LONG").is_some();
    Duration::from_secs(if is_long { long } else { short })
}

/// Indexes are made and dropped while others write; each must hold everything as soon as it is
/// there, and go on doing so.
#[test]
fn indexes_are_built_beside_writers() {
    let w = &World::in_memory();
    let (fresh, stop) = (&AtomicU64::new(0), &AtomicBool::new(false));
    for _ in 0..40 {
        let mut txn = w.db.begin().unwrap();
        for _ in 0..50 {
            w.create(&mut txn, fresh.fetch_add(1, Ordering::Relaxed) as i64).unwrap();
        }
        txn.commit().unwrap();
    }
    let end = Instant::now() + seconds(3, 60);
    let mut rounds = 0;
    std::thread::scope(|s| {
        for t in 0..2 {
            s.spawn(move || {
                let mut random = Random(77 + t);
                while !stop.load(Ordering::Relaxed) {
                    write(w, &mut random, fresh);
                }
            });
        }
        s.spawn(move || {
            while !stop.load(Ordering::Relaxed) {
                w.db.settle();
                std::thread::sleep(Duration::from_millis(7));
            }
        });
        // A panic here must stop the others, too.
        let stopped = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            while Instant::now() < end || rounds <= 2 {
                let before = w.db.snapshot().unwrap();
                let ids = [w.index().unwrap(), w.constraint(ConstraintKind::Unique).unwrap()];
                let infos = w.db.indexes();
                assert!(infos.iter().all(|i| i.state == IndexState::Online), "{infos:?}");
                for id in ids {
                    w.check(id);
                    let old = before.reader().index_range(id, &IndexRange::default());
                    assert!(matches!(old, Ok(_) | Err(IndexUnavailable::NotReady(_))));
                    w.check(id);
                    w.db.drop_index(id).unwrap();
                    let gone = w.db.reader().unwrap().index_lookup(id, &[Value::Int(1)]);
                    assert_eq!(gone, Err(IndexUnavailable::Unknown(id)));
                }
                rounds += 1;
            }
        }));
        stop.store(true, Ordering::Relaxed);
        stopped.unwrap();
    });
    assert!(rounds > 2, "{rounds}");
}

#[test]
fn a_constraint_that_does_not_hold_is_not_made() {
    let w = World::in_memory();
    let mut txn = w.db.begin().unwrap();
    for key in [1, 2, 2] {
        w.create(&mut txn, key).unwrap();
    }
    txn.create_vertex(&[w.label]).unwrap();
    txn.commit().unwrap();
    let [_, one, two, bare] = [0, 1, 2, 3].map(VertexId::from_raw);
    let violation = |kind| match w.constraint(kind).unwrap_err() {
        Error::ConstraintViolated { violation, .. } => *violation,
        error => panic!("{error}"),
    };
    let duplicate = Violation::Duplicate {
        key: vec![Value::Int(2)],
        object: Object::Vertex(two),
        existing: Object::Vertex(one),
    };
    assert_eq!(violation(ConstraintKind::Unique), duplicate);
    let missing = Violation::Missing { object: Object::Vertex(bare), property: w.key };
    assert_eq!(violation(ConstraintKind::Exists), missing);
    let text = ConstraintKind::Type(telar_engine::PropertyType::String);
    assert!(matches!(violation(text), Violation::WrongType { .. }));
    assert!(w.db.indexes().is_empty());
    // Nothing of them is left in anybody's way.
    let mut txn = w.db.begin().unwrap();
    w.create(&mut txn, 2).unwrap();
    txn.create_vertex(&[w.label]).unwrap();
    txn.commit().unwrap();
    for v in [0, 1, 2, 3, 4, 5].map(VertexId::from_raw) {
        let mut txn = w.db.begin().unwrap();
        txn.set_vertex_property(v, w.key, Value::Int(v.get() as i64)).unwrap();
        txn.commit().unwrap();
    }
    let id = w.constraint(ConstraintKind::Unique).unwrap();
    assert_eq!(w.check(id), 6);
    assert_eq!(w.constraint(ConstraintKind::Unique).unwrap(), id, "the same is found again");
    assert!(matches!(w.constraint(ConstraintKind::Exists), Err(Error::IndexExists { .. })));
}

/// Both look for a key that is not there and then write it: a phantom for each other.
#[test]
fn phantoms_conflict_if_serializable() {
    for (isolation, both) in [(Isolation::Snapshot, true), (Isolation::Serializable, false)] {
        for point in [true, false] {
            let w = World::in_memory();
            let id = w.index().unwrap();
            let begin = |key: i64| {
                let mut txn = w.db.begin_with(isolation).unwrap();
                let seven = Value::Int(7);
                let range = if point {
                    IndexRange::equal(&[seven])
                } else {
                    IndexRange::between(Bound::Included(Value::Int(0)), Bound::Included(seven))
                };
                assert_eq!(txn.index_range(id, &range).unwrap(), []);
                w.create(&mut txn, key).unwrap();
                txn
            };
            let (a, b) = (begin(7), begin(7));
            a.commit().unwrap();
            let second = b.commit();
            assert_eq!(second.is_ok(), both, "{second:?}");
            if !both {
                let error = second.unwrap_err();
                assert!(matches!(error, Error::Conflict { object: Object::IndexRange(_) }));
            }
            // Writes beside the range are no phantoms.
            let w = World::in_memory();
            let id = w.index().unwrap();
            let mut txn = w.db.begin_with(isolation).unwrap();
            assert_eq!(txn.index_lookup(id, &[Value::Int(1)]).unwrap(), []);
            w.create(&mut txn, 2).unwrap();
            let mut other = w.db.begin().unwrap();
            w.create(&mut other, 3).unwrap();
            other.commit().unwrap();
            txn.commit().unwrap();
        }
    }
}

/// The halves of a violation come from two transactions that do not conflict otherwise.
#[test]
fn an_existence_constraint_is_not_broken_by_halves() {
    let w = World::in_memory();
    w.constraint(ConstraintKind::Exists).unwrap();
    let mut txn = w.db.begin().unwrap();
    let v = txn.create_vertex(&[]).unwrap();
    txn.set_vertex_property(v, w.key, Value::Int(1)).unwrap();
    txn.commit().unwrap();
    let (mut labels, mut values) = (w.db.begin().unwrap(), w.db.begin().unwrap());
    labels.add_label(v, w.label).unwrap();
    values.set_vertex_property(v, w.key, Value::Null).unwrap();
    labels.commit().unwrap();
    let error = values.commit().unwrap_err();
    assert!(error.is_retryable(), "the label was not there when it began: {error}");
    let mut again = w.db.begin().unwrap();
    again.set_vertex_property(v, w.key, Value::Null).unwrap();
    assert!(matches!(again.commit(), Err(Error::ConstraintViolated { .. })));
}

/// The halves of a unique key come from two transactions that do not conflict otherwise.
#[test]
fn a_unique_key_is_not_won_twice_by_halves() {
    let w = World::in_memory();
    w.constraint(ConstraintKind::Unique).unwrap();
    let mut txn = w.db.begin().unwrap();
    w.create(&mut txn, 8).unwrap();
    let v = txn.create_vertex(&[]).unwrap();
    txn.set_vertex_property(v, w.key, Value::Int(7)).unwrap();
    txn.commit().unwrap();
    let (mut labels, mut values) = (w.db.begin().unwrap(), w.db.begin().unwrap());
    labels.add_label(v, w.label).unwrap();
    values.set_vertex_property(v, w.key, Value::Int(8)).unwrap();
    labels.commit().unwrap();
    assert!(matches!(values.commit(), Err(Error::ConstraintViolated { .. })));
}

#[test]
fn obsolete_entries_go_once_no_snapshot_wants_them() {
    let w = World::in_memory();
    let id = w.index().unwrap();
    let mut txn = w.db.begin().unwrap();
    let vertices: Vec<VertexId> = (0..500).map(|i| w.create(&mut txn, i).unwrap()).collect();
    txn.commit().unwrap();
    let old = w.db.snapshot().unwrap();
    for round in 1..=5 {
        let mut txn = w.db.begin().unwrap();
        for (i, v) in vertices.iter().enumerate() {
            let key = round * 1000 + i as i64;
            txn.set_vertex_property(*v, w.key, Value::Int(key)).unwrap();
        }
        txn.commit().unwrap();
    }
    let entries = || w.db.indexes()[0].entries;
    w.db.settle();
    assert!(entries() >= 1000, "the old snapshot's entries are there: {}", entries());
    let first: Vec<VertexId> = old.reader().index_range(id, &IndexRange::default()).unwrap();
    assert_eq!(first, vertices);
    drop(old);
    w.db.settle();
    assert_eq!(entries(), 500);
    assert_eq!(w.check(id), 500);
}

/// An entry that was obsolete for a while is wanted again when what is obsolete goes.
#[test]
fn an_entry_whose_value_is_set_back_stays() {
    for by_label in [false, true] {
        let w = World::in_memory();
        let id = w.index().unwrap();
        let mut txn = w.db.begin().unwrap();
        let v = w.create(&mut txn, 1).unwrap();
        txn.commit().unwrap();
        for there in [false, true] {
            let mut txn = w.db.begin().unwrap();
            match (by_label, there) {
                (true, true) => assert!(txn.add_label(v, w.label).unwrap()),
                (true, false) => assert!(txn.remove_label(v, w.label).unwrap()),
                (false, _) => {
                    let value = Value::Int(if there { 1 } else { 2 });
                    txn.set_vertex_property(v, w.key, value).unwrap();
                }
            }
            txn.commit().unwrap();
        }
        w.db.settle();
        w.db.settle();
        assert_eq!(w.check(id), 1);
    }
}

/// Many partitions, changed a little between checkpoints: each restart must find all of them.
#[test]
fn indexes_come_back_after_checkpoints_and_replays() {
    let dir = tempfile::tempdir().unwrap();
    let mut w = World::new(Engine::open(dir.path(), settings()).unwrap());
    let mut random = Random(99);
    let ids = [w.index().unwrap(), w.constraint(ConstraintKind::Unique).unwrap()];
    let mut model: BTreeMap<i64, VertexId> = BTreeMap::new();
    for round in 0..8 {
        for _ in 0..30 {
            let mut txn = w.db.begin().unwrap();
            for _ in 0..40 {
                let key = random.below(1 << 20) as i64;
                match model.get(&key) {
                    Some(_) => {}
                    None if random.below(3) == 0 && !model.is_empty() => {
                        // The key moves on.
                        let (old, v) = model.pop_first().unwrap();
                        assert_ne!(old, key);
                        txn.set_vertex_property(v, w.key, Value::Int(key)).unwrap();
                        model.insert(key, v);
                    }
                    None => drop(model.insert(key, w.create(&mut txn, key).unwrap())),
                }
            }
            txn.commit().unwrap();
        }
        match round % 4 {
            0 => drop(w.db.checkpoint().unwrap()),
            1 => {
                w.db.settle();
                w.db.checkpoint().unwrap();
            }
            _ => {}
        }
        let db = w.db;
        if round % 3 == 0 {
            db.close().unwrap()
        } else {
            drop(db)
        }
        w = World::new(Engine::open(dir.path(), settings()).unwrap());
        for id in ids {
            assert_eq!(w.check(id), model.len());
        }
        let reader = w.db.reader().unwrap();
        for (key, v) in &model {
            assert_eq!(reader.index_lookup(ids[1], &[Value::Int(*key)]).unwrap(), [*v]);
        }
    }
    // Numbers are not given again, not even after a restart.
    w.db.drop_index(ids[0]).unwrap();
    w.db.close().unwrap();
    let w = World::new(Engine::open(dir.path(), settings()).unwrap());
    assert_eq!(w.db.indexes().len(), 1);
    assert_eq!(w.index().unwrap().get(), 2);
    assert_eq!(w.check(w.db.find_index("range").unwrap()), model.len());
}
