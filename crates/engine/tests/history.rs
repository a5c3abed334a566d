//! Snapshots of the past against a plain model that keeps every version.
#![cfg(not(feature = "shuttle"))]
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use proptest::prelude::*;
use telar_engine::{Engine, Error, IndexSpec, IndexTarget, Retention, Settings, Snapshot};
use telar_graph::{CommitTs, IndexRange, Value, VertexId};

use common::plain::{Model, Names, Step, apply, check_snapshot, step};
use common::{StopAtEnd, cases, no_background};

/// What happens between two transactions.
#[derive(Debug, Clone)]
enum Between {
    Nothing,
    Settle,
    Checkpoint,
    Reopen {
        close: bool,
    },
    /// Open the past, keep it open.
    Hold {
        which: usize,
    },
    Release {
        which: usize,
    },
    Index,
    /// Keep so many commits from here on.
    Keep {
        commits: u64,
    },
}

fn between() -> impl Strategy<Value = Between> {
    prop_oneof![
        4 => Just(Between::Nothing),
        4 => Just(Between::Settle),
        2 => Just(Between::Checkpoint),
        1 => any::<bool>().prop_map(|close| Between::Reopen { close }),
        2 => (0usize..1000).prop_map(|which| Between::Hold { which }),
        2 => (0usize..1000).prop_map(|which| Between::Release { which }),
        1 => Just(Between::Index),
        1 => (1u64..60).prop_map(|commits| Between::Keep { commits }),
    ]
}

type Transactions = Vec<(Vec<Step>, Between)>;

fn transactions(max: usize) -> impl Strategy<Value = Transactions> {
    let writes = proptest::collection::vec(step(), 1..8);
    proptest::collection::vec((writes, between()), 1..max)
}

fn settings(retain_commits: u64) -> Settings {
    let mut s = no_background();
    s.retain = Retention::commits(retain_commits);
    s.hub_entries_min = 1024;
    s.store_bytes_max = 1 << 28;
    s
}

/// History as it is stored: none, at first.
fn as_stored() -> Settings {
    let mut s = settings(1);
    s.retain = Retention::AsStored;
    s
}

/// An index answers as a scan at the same snapshot does, if there is one.
fn check_index(db: &Engine, snapshot: &Snapshot<'_>, model: &Model, names: &Names) {
    let Some(index) = db.find_index("by key") else { return };
    let reader = snapshot.reader();
    let holders =
        model.vertices.iter().filter(|(_, (labels, _))| labels.contains(&names.labels[0]));
    let mut expected: Vec<(i64, VertexId)> = holders
        .filter_map(|(v, (_, properties))| match properties.get(&names.key) {
            Some(Value::Int(n)) => Some((*n, *v)),
            _ => None,
        })
        .collect();
    expected.sort_unstable();
    for key in -9..9i64 {
        let found = reader.index_lookup(index, &[key.into()]).unwrap();
        let with_key = expected.iter().filter(|(k, _)| *k == key).map(|(_, v)| *v);
        assert_eq!(found, with_key.collect::<Vec<_>>(), "key {key}");
    }
    let range =
        IndexRange { from: std::ops::Bound::Included(Value::Int(-4)), ..IndexRange::default() };
    let found = reader.index_range(index, &range).unwrap();
    let expected = expected.iter().filter(|(k, _)| *k >= -4).map(|(_, v)| *v);
    assert_eq!(found, expected.collect::<Vec<_>>());
}

struct World {
    versions: BTreeMap<u64, Model>,
    names: Names,
    is_kept: bool,
}

impl World {
    /// Looks at every retained version, and just outside of what is retained.
    fn check_all(&self, db: &Engine) {
        let newest = db.published();
        let oldest = db.retained().map_or(newest, |(oldest, _)| oldest);
        assert_eq!(db.retained().is_some(), self.is_kept);
        for ts in oldest.get()..=newest.get() {
            // What lies before the first version is schema.
            let Some((_, model)) = self.versions.range(..=ts).next_back() else { continue };
            if !self.is_kept {
                continue;
            }
            let snapshot = db.snapshot_at(CommitTs::from_raw(ts)).unwrap();
            check_snapshot(&snapshot, model, &self.names);
            check_index(db, &snapshot, model, &self.names);
        }
        for outside in [oldest.get().checked_sub(1), Some(newest.get() + 1)].into_iter().flatten() {
            let refused = db.snapshot_at(CommitTs::from_raw(outside)).unwrap_err();
            assert!(matches!(refused, Error::NotRetained { .. }), "{refused}");
        }
        let (_, current) = self.versions.last_key_value().unwrap();
        let snapshot = db.snapshot().unwrap();
        check_snapshot(&snapshot, current, &self.names);
        check_index(db, &snapshot, current, &self.names);
    }
}

/// Runs the transactions; `reopen` closes and opens the database, if it can.
fn run(
    mut db: Engine,
    transactions: &Transactions,
    reopen: &dyn Fn(Engine, bool) -> Engine,
) -> (Engine, World) {
    let names = Names::new(&db);
    let first = BTreeMap::from([(db.published().get(), Model::default())]);
    let mut world = World { versions: first, names, is_kept: db.retained().is_some() };
    let mut held: Vec<(Snapshot<'static>, Model)> = Vec::new();
    for (steps, between) in transactions {
        let mut model = world.versions.last_key_value().unwrap().1.clone();
        let mut txn = db.begin().unwrap();
        for step in steps {
            match step {
                Step::Release => drop(db.release_memory()),
                step if step.is_write() => apply(step, &mut txn, &mut model, &world.names),
                _ => {}
            }
        }
        let done = txn.commit().unwrap();
        world.versions.insert(done.ts.get(), model);
        match between {
            Between::Nothing => {}
            Between::Settle => db.settle(),
            Between::Checkpoint => {
                db.checkpoint().unwrap();
            }
            Between::Reopen { close } => {
                held.clear();
                db = reopen(db, *close);
            }
            Between::Keep { commits } => {
                db.keep_history(Retention::commits(*commits)).unwrap();
                world.is_kept = true;
            }
            Between::Hold { which } => {
                let Some((oldest, newest)) = db.retained() else { continue };
                let count = (newest.get() - oldest.get() + 1) as usize;
                let ts = oldest.get() + (which % count) as u64;
                let model = world.versions.range(..=ts).next_back().map(|(_, m)| m.clone());
                let snapshot = db.snapshot_at_owned(CommitTs::from_raw(ts)).unwrap();
                held.extend(model.map(|model| (snapshot, model)));
            }
            Between::Release { which } if !held.is_empty() => {
                let (snapshot, model) = held.swap_remove(which % held.len());
                check_snapshot(&snapshot, &model, &world.names);
            }
            Between::Release { .. } => {}
            Between::Index => {
                let properties = vec![world.names.key];
                let target = IndexTarget::Vertices(world.names.labels[0]);
                db.create_index(IndexSpec { name: "by key".into(), target, properties }).unwrap();
            }
        }
    }
    for (snapshot, model) in &held {
        check_snapshot(snapshot, model, &world.names);
        check_index(&db, snapshot, model, &world.names);
    }
    drop(held);
    world.check_all(&db);
    db.settle();
    world.check_all(&db);
    db.release_memory();
    world.check_all(&db);
    (db, world)
}

/// Runs the transactions in a folder, opens it once more, and looks at what is stored.
fn run_with_restarts(transactions: &Transactions, close: bool, settings: impl Fn() -> Settings) {
    let dir = tempfile::tempdir().unwrap();
    let open = || Engine::open(dir.path(), settings()).unwrap();
    let reopen = |db: Engine, close: bool| {
        if close {
            db.close().unwrap()
        } else {
            drop(db)
        }
        open()
    };
    let (db, world) = run(open(), transactions, &reopen);
    let db = reopen(db, close);
    world.check_all(&db);
    drop(db);
    let report = telar_engine::maintenance::check(dir.path()).unwrap();
    assert!(report.worst().is_none(), "{report:?}");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: cases().cases / 2, ..cases() })]

    #[test]
    fn past_snapshots_match_the_model(
        transactions in transactions(40),
        retain in 0u64..60,
    ) {
        let db = Engine::in_memory(settings(retain + 1)).unwrap();
        run(db, &transactions, &|db, _| db);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: cases().cases / 2, ..cases() })]

    /// From some transaction on, or never.
    #[test]
    fn history_begins_while_a_database_is_open(transactions in transactions(40)) {
        let db = Engine::in_memory(as_stored()).unwrap();
        run(db, &transactions, &|db, _| db);
    }

    /// And what it was told last is what it remembers.
    #[test]
    fn history_that_began_survives_restarts(
        transactions in transactions(30),
        close in any::<bool>(),
    ) {
        run_with_restarts(&transactions, close, as_stored);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: cases().cases / 4, ..cases() })]

    #[test]
    fn the_past_survives_restarts(
        transactions in transactions(30),
        retain in 0u64..60,
        close in any::<bool>(),
    ) {
        run_with_restarts(&transactions, close, || settings(retain + 1));
    }
}

/// Writers that settle all the time, and history that begins among them: whatever can be read is
/// whole. Each commit moves one from one vertex to another, so that the sum stays.
#[test]
fn history_begins_beside_writers() {
    for round in 0..20 {
        let mut settings = as_stored();
        settings.background_interval_ms = 1;
        let db = Engine::in_memory(settings).unwrap();
        let key = db.property_key("n").unwrap();
        let vertices: Vec<VertexId> = db
            .write(Default::default(), |txn| {
                let made: Result<Vec<_>, Error> = (0..8).map(|_| txn.create_vertex(&[])).collect();
                let made = made?;
                made.iter().try_for_each(|v| txn.set_vertex_property(*v, key, 100.into()))?;
                Ok::<_, Error>(made)
            })
            .unwrap()
            .0;
        let value = |snapshot: &Snapshot<'_>, v: VertexId| match snapshot
            .reader()
            .vertex_property(v, key)
        {
            Value::Int(n) => n,
            other => panic!("{other:?}"),
        };
        let ends = AtomicBool::new(false);
        thread::scope(|scope| {
            for writer in 0..2 {
                let (db, vertices, ends) = (&db, &vertices, &ends);
                scope.spawn(move || {
                    for n in 0.. {
                        if ends.load(Ordering::Relaxed) {
                            break;
                        }
                        let (from, to) = (vertices[n % 8], vertices[(n * 3 + writer + 1) % 8]);
                        if from == to {
                            continue;
                        }
                        db.write(Default::default(), |txn| {
                            for (v, by) in [(from, -1), (to, 1)] {
                                let Value::Int(n) = txn.vertex_property(v, key)? else { panic!() };
                                txn.set_vertex_property(v, key, (n + by).into())?;
                            }
                            Ok::<_, Error>(())
                        })
                        .unwrap();
                    }
                });
            }
            let _stop = StopAtEnd(&ends);
            thread::sleep(Duration::from_millis(2 + round % 5));
            db.keep_history(Retention::commits(1 << 40)).unwrap();
            thread::sleep(Duration::from_millis(10));
        });
        db.settle();
        let (oldest, newest) = db.retained().unwrap();
        for ts in oldest.get()..=newest.get().min(oldest.get() + 400) {
            let snapshot = db.snapshot_at(CommitTs::from_raw(ts)).unwrap();
            let sum: i64 = vertices.iter().map(|v| value(&snapshot, *v)).sum();
            assert_eq!(sum, 800, "at {ts} of {oldest:?} to {newest:?}");
        }
        // The stream has every commit from there on, or from the last one on that began before.
        let after = match db.changes_since(oldest) {
            Err(Error::NotRetained { oldest, .. }) => oldest,
            other => other.map(|_| oldest).unwrap(),
        };
        db.keep_history(Retention::commits(1 << 41)).unwrap();
        let mut stream = db.changes_since(after).unwrap();
        for ts in after.get() + 1..=newest.get() {
            let commit = stream.next_within(Duration::ZERO).unwrap().unwrap();
            assert_eq!(commit.ts.get(), ts);
        }
    }
}
