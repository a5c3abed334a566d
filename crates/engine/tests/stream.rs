//! The change stream: applied to nothing it gives the graph at every timestamp, wherever and
//! however often a consumer stops and goes on.
#![cfg(not(feature = "shuttle"))]
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;

use std::collections::BTreeMap;
use std::time::Duration;

use proptest::prelude::*;
use telar_engine::{
    BulkOptions, Change, CommitChanges, EdgeTypeOptions, Engine, Error, Retention, Settings,
};
use telar_graph::{CommitTs, EdgeId, Value};

use common::plain::{Model, Names, Step, apply, step};
use common::{cases, no_background, v};

fn ts(n: u64) -> CommitTs {
    CommitTs::from_raw(n)
}

/// Applies a commit to the plain model; everything it says must be news to it.
fn replay(commit: &CommitChanges, model: &mut Model) {
    for change in &commit.changes {
        match change {
            Change::VertexCreated { vertex, labels } => {
                let labels = labels.iter().copied().collect();
                let before = model.vertices.insert(*vertex, (labels, BTreeMap::new()));
                assert!(before.is_none(), "{vertex} is made twice");
            }
            Change::LabelsSet { vertex, labels } => {
                model.vertices.get_mut(vertex).unwrap().0 = labels.iter().copied().collect();
            }
            Change::VertexDeleted { vertex } => {
                assert!(model.vertices.remove(vertex).is_some());
                let touches = |e: &EdgeId| e.src == *vertex || e.dst == *vertex;
                assert!(!model.edges.keys().any(touches), "edges go first");
            }
            Change::VertexPropertySet { vertex, key, value } => {
                let properties = &mut model.vertices.get_mut(vertex).unwrap().1;
                match value {
                    Value::Null => drop(properties.remove(key)),
                    value => drop(properties.insert(*key, value.clone())),
                }
            }
            Change::EdgeCreated { edge, sort_key } => {
                assert!(model.vertices.contains_key(&edge.src));
                assert!(model.vertices.contains_key(&edge.dst));
                assert!(model.edges.insert(*edge, BTreeMap::new()).is_none());
                assert_eq!(sort_key.is_some(), edge.ty.get() == 2);
            }
            Change::EdgeEnsured { edge } => drop(model.edges.entry(*edge).or_default()),
            Change::EdgeDeleted { edge } => drop(model.edges.remove(edge)),
            Change::EdgePropertySet { edge, key, value } => {
                let properties = model.edges.get_mut(edge).unwrap();
                match value {
                    Value::Null => drop(properties.remove(key)),
                    value => drop(properties.insert(*key, value.clone())),
                }
            }
            other => panic!("no schema changes here: {other:?}"),
        }
    }
}

#[derive(Debug, Clone)]
enum Between {
    Nothing,
    Settle,
    Checkpoint,
    Reopen { close: bool },
    Read { commits: usize },
}

fn between() -> impl Strategy<Value = Between> {
    prop_oneof![
        3 => Just(Between::Nothing),
        2 => Just(Between::Settle),
        2 => Just(Between::Checkpoint),
        1 => any::<bool>().prop_map(|close| Between::Reopen { close }),
        4 => (1usize..9).prop_map(|commits| Between::Read { commits }),
    ]
}

/// A consumer that keeps nothing but what it has applied, and how far.
struct Consumer {
    last: u64,
    model: Model,
}

impl Consumer {
    fn read(&mut self, db: &Engine, commits: usize, versions: &BTreeMap<u64, Model>) {
        let mut stream = db.changes_since(ts(self.last)).unwrap();
        for _ in 0..commits {
            let Some(commit) = stream.next_within(Duration::ZERO).unwrap() else {
                assert_eq!(self.last, db.published().get());
                return;
            };
            assert_eq!(commit.ts.get(), self.last + 1, "in order, without gaps");
            assert!(commit.time_ms.is_some());
            replay(&commit, &mut self.model);
            self.last += 1;
            assert_eq!(self.model, versions[&self.last], "at {}", self.last);
        }
    }
}

fn run(
    mut db: Engine,
    transactions: &[(Vec<Step>, Between)],
    reopen: &dyn Fn(Engine, bool) -> Engine,
) {
    let names = Names::new(&db);
    let mut consumer = Consumer { last: db.published().get(), model: Model::default() };
    let mut versions = BTreeMap::from([(consumer.last, Model::default())]);
    for (steps, between) in transactions {
        let mut model = versions.last_key_value().unwrap().1.clone();
        let mut txn = db.begin().unwrap();
        for step in steps {
            match step {
                Step::Release => drop(db.release_memory()),
                step if step.is_write() => apply(step, &mut txn, &mut model, &names),
                _ => {}
            }
        }
        versions.insert(txn.commit().unwrap().ts.get(), model);
        db.flush().unwrap();
        match between {
            Between::Nothing => {}
            Between::Settle => db.settle(),
            Between::Checkpoint => {
                db.checkpoint().unwrap();
            }
            Between::Reopen { close } => db = reopen(db, *close),
            Between::Read { commits } => consumer.read(&db, *commits, &versions),
        }
    }
    consumer.read(&db, usize::MAX, &versions);
    assert_eq!(consumer.last, db.published().get());
}

fn transactions() -> impl Strategy<Value = Vec<(Vec<Step>, Between)>> {
    let writes = proptest::collection::vec(step(), 1..8);
    proptest::collection::vec((writes, between()), 1..40)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: cases().cases / 4, ..cases() })]

    #[test]
    fn the_log_replays_every_version(transactions in transactions()) {
        let dir = tempfile::tempdir().unwrap();
        let mut settings = Settings::asynchronous(60_000);
        settings.background_interval_ms = 0;
        settings.store_bytes_max = 1 << 28;
        settings.wal_file_bytes = 4096;
        settings.retain = Retention::commits(1000);
        let open = || Engine::open(dir.path(), settings).unwrap();
        run(open(), &transactions, &|db, close| {
            if close { db.close().unwrap() } else { drop(db) }
            open()
        });
    }

    #[test]
    fn memory_replays_every_version(transactions in transactions()) {
        let mut settings = no_background();
        settings.retain = Retention::commits(1000);
        run(Engine::in_memory(settings).unwrap(), &transactions, &|db, _| db);
    }
}

fn commit_vertex(db: &Engine) -> CommitTs {
    let mut txn = db.begin().unwrap();
    txn.create_vertex(&[]).unwrap();
    txn.commit().unwrap().ts
}

#[test]
fn nothing_is_delivered_before_it_is_on_disk() {
    let dir = tempfile::tempdir().unwrap();
    let mut settings = Settings::asynchronous(60_000);
    settings.background_interval_ms = 0;
    let db = Engine::open(dir.path(), settings).unwrap();
    let mut stream = db.changes_since(ts(0)).unwrap();
    let made = commit_vertex(&db);
    assert_eq!(db.published(), made, "it is visible");
    assert!(stream.next_within(Duration::from_millis(20)).unwrap().is_none(), "and not on disk");
    db.flush().unwrap();
    assert_eq!(stream.next_within(Duration::ZERO).unwrap().unwrap().ts, made);
    assert_eq!(stream.position(), made);
}

#[test]
fn a_follower_sees_every_commit_of_busy_writers() {
    let dir = tempfile::tempdir().unwrap();
    let mut settings = Settings::default();
    settings.wal_file_bytes = 4096;
    settings.retain = Retention::commits(100_000);
    let db = Engine::open(dir.path(), settings).unwrap();
    const COMMITS: u64 = 400;
    std::thread::scope(|s| {
        for _ in 0..4 {
            s.spawn(|| {
                for _ in 0..COMMITS / 4 {
                    commit_vertex(&db);
                }
            });
        }
        s.spawn(|| {
            for _ in 0..10 {
                db.checkpoint().unwrap();
            }
        });
        s.spawn(|| {
            let mut stream = db.changes_since_owned(ts(0)).unwrap();
            for n in 1..=COMMITS {
                let commit = stream.next_within(Duration::from_secs(60)).unwrap().unwrap();
                assert_eq!(commit.ts.get(), n);
                assert!(matches!(commit.changes[..], [Change::VertexCreated { .. }]));
                assert!(db.published().get() >= n, "visible by then");
            }
        });
    });
    // All of it once more, from the archive; those of before may have come before the first commit.
    db.checkpoint().unwrap();
    assert!(dir.path().join("archive").is_dir());
    let all: Vec<u64> =
        db.changes_since(ts(0)).unwrap().map(|commit| commit.unwrap().ts.get()).collect();
    assert_eq!(all, (1..=COMMITS).collect::<Vec<_>>());
}

#[test]
fn what_is_not_kept_is_refused_by_name() {
    let dir = tempfile::tempdir().unwrap();
    let mut settings = no_background();
    settings.wal_file_bytes = 4096;
    settings.retain = Retention::commits(3);
    let db = Engine::open(dir.path(), settings).unwrap();
    let mut slow = db.changes_since(ts(0)).unwrap();
    slow.next_within(Duration::ZERO).unwrap();
    for _ in 0..10 {
        commit_vertex(&db);
        db.checkpoint().unwrap();
    }
    for after in [0, 11] {
        let refused = db.changes_since(ts(after)).err().unwrap();
        let Error::NotRetained { oldest, newest, .. } = refused else { panic!("{refused}") };
        assert!(oldest.get() >= 5 && oldest.get() <= 7, "{oldest}");
        assert_eq!(newest.get(), 10);
        // What is named can be had.
        assert_eq!(db.changes_since(oldest).unwrap().count() as u64, 10 - oldest.get());
    }
    // It holds the file it reads; the one after that is gone.
    let fell_behind = loop {
        match slow.next_within(Duration::ZERO) {
            Ok(commit) => assert!(commit.is_some(), "it cannot reach the end"),
            Err(e) => break e,
        }
    };
    assert!(matches!(fell_behind, Error::NotRetained { .. }), "{fell_behind}");

    let memory = Engine::in_memory(no_background()).unwrap();
    commit_vertex(&memory);
    assert!(memory.changes_since(ts(0)).is_err(), "without history nothing is kept in memory");
    assert_eq!(memory.changes_since(ts(1)).unwrap().count(), 0);
}

#[test]
fn schema_and_bulk_loads_are_in_the_stream() {
    let dir = tempfile::tempdir().unwrap();
    let mut durable = no_background();
    durable.retain = Retention::commits(100);
    let databases =
        [Engine::open(dir.path(), durable).unwrap(), Engine::in_memory(durable).unwrap()];
    for db in databases {
        let label = db.label("L").unwrap();
        let key = db.property_key("k").unwrap();
        let options = EdgeTypeOptions::newest_first(key);
        let ty = db.edge_type("T", options).unwrap();
        let spec = telar_engine::IndexSpec {
            name: "i".into(),
            target: telar_engine::IndexTarget::Vertices(label),
            properties: vec![key],
        };
        let index = db.create_index(spec).unwrap();
        db.drop_index(index).unwrap();
        let mut load = db.bulk_load(BulkOptions::default()).unwrap();
        load.add_vertices(&[], 3, &[]).unwrap();
        let loaded = load.finish(&|_, _, _| {}).unwrap().ts;
        commit_vertex(&db);
        let changes: Vec<Change> =
            db.changes_since(ts(0)).unwrap().flat_map(|commit| commit.unwrap().changes).collect();
        let expected = [
            Change::LabelMade { label, name: "L".into() },
            Change::PropertyKeyMade { key, name: "k".into() },
            Change::EdgeTypeMade { ty, name: "T".into(), options },
            Change::IndexMade {
                index,
                name: "i".into(),
                target: telar_engine::IndexTarget::Vertices(label),
                properties: vec![key],
                kind: telar_engine::IndexKind::Range.into(),
            },
            Change::IndexDropped { index },
            Change::BulkLoaded,
        ];
        assert_eq!(changes[..6], expected);
        assert_eq!(changes.len(), 7);
        // The load begins history anew.
        assert_eq!(db.retained().unwrap().0, loaded);
        assert_eq!(db.snapshot_at(loaded).unwrap().reader().labels_of_all(), 3);
        let before = db.snapshot_at(ts(loaded.get() - 1)).unwrap_err();
        assert!(matches!(before, Error::NotRetained { oldest, .. } if oldest == loaded));
    }
}

trait Count {
    fn labels_of_all(&self) -> usize;
}

impl Count for telar_engine::Reader<'_> {
    fn labels_of_all(&self) -> usize {
        use telar_graph::View;
        let mut found = Vec::new();
        self.scan(None, v(0), self.vertex_bound(), &mut found).unwrap();
        found.len()
    }
}

#[test]
fn a_snapshot_is_found_by_the_time_of_its_commit() {
    let dir = tempfile::tempdir().unwrap();
    let mut settings = no_background();
    settings.wal_file_bytes = 4096;
    settings.retain = Retention::commits(1000);
    let databases =
        [Engine::open(dir.path(), settings).unwrap(), Engine::in_memory(settings).unwrap()];
    for db in databases {
        let mut times = Vec::new();
        for n in 0..200 {
            commit_vertex(&db);
            if n % 40 == 0 {
                db.checkpoint().unwrap();
                std::thread::sleep(Duration::from_millis(3));
            }
        }
        for commit in db.changes_since(ts(0)).unwrap() {
            let commit = commit.unwrap();
            times.push((commit.time_ms.unwrap(), commit.ts));
        }
        let (first, last) = (times[0].0, times[times.len() - 1].0);
        for time in first..=last + 1 {
            let (_, expected) = times.iter().rev().find(|(t, _)| *t <= time).unwrap();
            assert_eq!(db.snapshot_at_time(time).unwrap().read_ts(), *expected);
        }
        assert_eq!(db.snapshot_at_time(u64::MAX).unwrap().read_ts(), db.published());
    }
}

/// What a follower is told of can be looked up at once: names are there before their commit is.
#[test]
fn names_are_readable_before_their_commit_is_delivered() {
    const NAMES: u16 = 150;
    let dir = tempfile::tempdir().unwrap();
    let mut settings = no_background();
    settings.retain = Retention::commits(10_000);
    let databases =
        [Engine::open(dir.path(), settings).unwrap(), Engine::in_memory(settings).unwrap()];
    for db in &databases {
        std::thread::scope(|scope| {
            let follow = || {
                let mut stream = db.changes_since(ts(0)).unwrap();
                let mut told = 0;
                while told < 3 * NAMES {
                    let Some(commit) = stream.next_within(Duration::from_secs(60)).unwrap() else {
                        panic!("{told} names were told");
                    };
                    for change in commit.changes {
                        told += 1;
                        match change {
                            Change::LabelMade { label, name } => {
                                assert_eq!(db.labels().get(usize::from(label.get())), Some(&name));
                            }
                            Change::PropertyKeyMade { key, name } => {
                                let keys = db.property_keys();
                                assert_eq!(keys.get(usize::from(key.get())), Some(&name));
                            }
                            Change::EdgeTypeMade { ty, name, .. } => {
                                let types = db.edge_types();
                                assert_eq!(types[usize::from(ty.get())].0, name);
                            }
                            other => panic!("only names are made here: {other:?}"),
                        }
                    }
                }
            };
            let followers = [(); 3].map(|()| scope.spawn(follow));
            for n in 0..NAMES {
                db.label(&format!("L{n}")).unwrap();
                db.property_key(&format!("k{n}")).unwrap();
                db.edge_type(&format!("T{n}"), EdgeTypeOptions::general()).unwrap();
            }
            followers.into_iter().for_each(|follower| follower.join().unwrap());
        });
    }
}
