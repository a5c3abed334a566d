//! Segments that leave memory and come back, beside readers and writers, and across restarts.
#![cfg(not(feature = "shuttle"))]
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use telar_engine::{EdgeTypeOptions, Engine, Error, Isolation, Settings};
use telar_graph::{Counts, Direction, EdgeTypeId, PropertyKeyId, Topology, Value, VertexId};

use common::{Random, StopAtEnd, v};

const VERTICES: u64 = 6000;

fn settings() -> Settings {
    let mut settings = Settings::asynchronous(2);
    settings.background_interval_ms = 0;
    settings.store_bytes_max = 1 << 28;
    settings.hub_entries_min = 1024;
    settings
}

struct Names {
    simple: EdgeTypeId,
    multi: EdgeTypeId,
    balance: PropertyKeyId,
}

impl Names {
    fn new(db: &Engine) -> Self {
        Self {
            simple: db.edge_type("SIMPLE", EdgeTypeOptions::simple()).unwrap(),
            multi: db.edge_type("MULTI", EdgeTypeOptions::general()).unwrap(),
            balance: db.property_key("balance").unwrap(),
        }
    }
}

/// Vertices with a balance and two edges of each type each; vertex 0 is a hub of both.
fn fill(db: &Engine, names: &Names) {
    let person = db.label("Person").unwrap();
    for first in (0..VERTICES).step_by(2000) {
        let mut txn = db.begin().unwrap();
        for n in first..first + 2000 {
            let labels: &[_] = if n % 3 == 0 { &[person] } else { &[] };
            let vertex = txn.create_vertex(labels).unwrap();
            txn.set_vertex_property(vertex, names.balance, Value::Int(100)).unwrap();
        }
        txn.commit().unwrap();
    }
    for first in (0..VERTICES).step_by(1000) {
        let mut txn = db.begin().unwrap();
        for n in first..first + 1000 {
            for to in [(n * 7 + 1) % VERTICES, (n + 3000) % VERTICES] {
                txn.upsert_edge(names.simple, v(n), v(to)).unwrap();
                let weight = [(names.balance, Value::Int(to as i64))];
                txn.create_edge(names.multi, v(n), v(to), &weight).unwrap();
            }
            if n % 2 == 0 {
                txn.upsert_edge(names.simple, v(0), v(n)).unwrap();
                txn.create_edge(names.multi, v(0), v(n), &[]).unwrap();
            }
        }
        txn.commit().unwrap();
    }
}

/// Everything a reader sees, in one number that depends on all of it.
fn digest(db: &Engine, names: &Names) -> u64 {
    let snapshot = db.snapshot().unwrap();
    let reader = snapshot.reader();
    let mut sum = 0u64;
    let mut add = |words: &[u64]| {
        for word in words {
            sum = (sum ^ word).wrapping_mul(0x9E37_79B9_7F4A_7C15).rotate_left(23);
        }
    };
    for n in 0..VERTICES {
        let labels = reader.labels(v(n)).map_or(9, |l| l.len() as u64);
        let Value::Int(balance) = reader.vertex_property(v(n), names.balance) else {
            panic!("vertex {n} has no balance: {:?}", snapshot.error());
        };
        add(&[n, labels, balance.cast_unsigned()]);
        for ty in [names.simple, names.multi] {
            for direction in Direction::ALL {
                let mut ends = Vec::new();
                for edge in reader.edges(v(n), ty, direction) {
                    let weight = match reader.edge_property(edge, names.balance) {
                        Value::Int(weight) => weight.cast_unsigned(),
                        _ => 0,
                    };
                    ends.push((edge.end(direction).get(), edge.ordinal, weight));
                }
                ends.sort_unstable();
                ends.iter().for_each(|(a, b, c)| add(&[*a, u64::from(*b), *c]));
                add(&[reader.degree(v(n), ty, direction) as u64]);
            }
        }
    }
    let statistics = reader.statistics().unwrap();
    add(&statistics.edges_by_type);
    assert!(snapshot.error().is_none());
    sum
}

#[test]
fn what_was_released_is_read_again_as_it_was() {
    let dir = tempfile::tempdir().unwrap();
    let db = Engine::open(dir.path(), settings()).unwrap();
    let names = Names::new(&db);
    fill(&db, &names);
    let before = digest(&db, &names);
    assert_eq!(db.release_memory(), 0, "nothing is stored yet");
    db.checkpoint().unwrap();
    let held = db.memory();
    assert!(db.release_memory() > 0);
    let left = db.memory();
    assert!(left.heap() < held.heap() / 4, "{held:?} became {left:?}");
    assert_eq!(digest(&db, &names), before);
    assert!(db.memory().mapped > 0);
    db.settle();
    assert_eq!(digest(&db, &names), before);
    // Written to again, hub included, and released before and after the checkpoint.
    let change = |n: u64| {
        let mut txn = db.begin().unwrap();
        for to in [1, 3, 5] {
            txn.upsert_edge(names.simple, v(0), v(n + to)).unwrap();
            txn.create_edge(names.multi, v(n + to), v(0), &[]).unwrap();
        }
        txn.remove_edge(names.simple, v(0), v(n)).unwrap();
        txn.set_vertex_property(v(n), names.balance, Value::Int(n as i64)).unwrap();
        txn.commit().unwrap();
    };
    for n in [10, 2000, 5000] {
        db.release_memory();
        change(n);
        db.release_memory();
        let after = digest(&db, &names);
        db.checkpoint().unwrap();
        db.release_memory();
        assert_eq!(digest(&db, &names), after);
    }
    let last = digest(&db, &names);
    db.close().unwrap();
    let db = Engine::open(dir.path(), settings()).unwrap();
    let names = Names::new(&db);
    assert!(db.memory().heap() < 1 << 20, "opening loads nothing: {:?}", db.memory());
    assert_eq!(digest(&db, &names), last);
    drop(db);
    let report = telar_engine::maintenance::check(dir.path()).unwrap();
    assert_eq!(report.worst(), None, "{:#?}", report.findings);
}

#[test]
fn open_snapshot_keeps_what_it_sees_while_memory_is_released() {
    let dir = tempfile::tempdir().unwrap();
    let db = Engine::open(dir.path(), settings()).unwrap();
    let names = Names::new(&db);
    fill(&db, &names);
    db.checkpoint().unwrap();
    db.release_memory();
    let old = db.snapshot().unwrap();
    let of = |n: u64| match old.reader().vertex_property(v(n), names.balance) {
        Value::Int(balance) => balance,
        other => panic!("{other:?}"),
    };
    for round in 0..20 {
        let mut txn = db.begin().unwrap();
        for n in (0..VERTICES).step_by(97) {
            txn.set_vertex_property(v(n), names.balance, Value::Int(round)).unwrap();
            txn.upsert_edge(names.simple, v(n), v((n + 11 + round as u64) % VERTICES)).unwrap();
        }
        txn.commit().unwrap();
        db.checkpoint().unwrap();
        db.settle();
        db.release_memory();
        assert!((0..VERTICES).all(|n| of(n) == 100), "round {round}");
        let degree = |n: u64| old.reader().degree(v(n), names.simple, Direction::Out);
        assert!((1..VERTICES).step_by(97).all(|n| degree(n) <= 2), "round {round}");
    }
    // What a reader got before a checkpoint stays readable through the reader.
    let reader = old.reader();
    let adjacency = reader.adjacency(names.simple, Direction::Out).unwrap();
    let mut scratch = Vec::new();
    let list = adjacency.sorted(4001, &mut scratch).to_vec();
    let mut again = Vec::new();
    let kept = adjacency.sorted(4001, &mut again);
    for _ in 0..3 {
        let mut txn = db.begin().unwrap();
        txn.upsert_edge(names.simple, v(4001), v(17)).unwrap();
        txn.remove_edge(names.simple, v(4001), v(17)).unwrap();
        txn.upsert_edge(names.simple, v(4002), v(19)).unwrap();
        txn.commit().unwrap();
        db.checkpoint().unwrap();
        db.release_memory();
    }
    assert_eq!(kept, list);
    assert!(db.health().checkpoint.unwrap().kept >= 1, "the reader keeps a state of the store");
}

/// Transfers keep the sum; mirrored edges stay mirrored; whatever is loaded, dropped and stored
/// meanwhile.
#[test]
fn readers_writers_releases_and_checkpoints_at_once() {
    let dir = tempfile::tempdir().unwrap();
    let db = Engine::open(dir.path(), settings()).unwrap();
    let names = Names::new(&db);
    fill(&db, &names);
    db.checkpoint().unwrap();
    let stop = AtomicBool::new(false);
    let (commits, reads) = (AtomicU64::new(0), AtomicU64::new(0));
    let rounds = if std::env::var_os("TELAR_LONG").is_some() { 600 } else { 60 };
    std::thread::scope(|scope| {
        for seed in 0..2 {
            let (db, names, stop, commits) = (&db, &names, &stop, &commits);
            scope.spawn(move || {
                let mut rng = Random(seed + 1);
                while !stop.load(Ordering::Relaxed) {
                    let (a, b) = (rng.below(VERTICES), rng.below(VERTICES));
                    if a == b {
                        continue;
                    }
                    let isolation =
                        if seed == 0 { Isolation::Serializable } else { Isolation::Snapshot };
                    let mut txn = db.begin_with(isolation).unwrap();
                    let balance = |vertex| match txn.vertex_property(vertex, names.balance) {
                        Ok(Value::Int(balance)) => balance,
                        other => panic!("{other:?}"),
                    };
                    let (of_a, of_b) = (balance(v(a)), balance(v(b)));
                    txn.set_vertex_property(v(a), names.balance, Value::Int(of_a - 1)).unwrap();
                    txn.set_vertex_property(v(b), names.balance, Value::Int(of_b + 1)).unwrap();
                    if txn.degree(v(a), names.simple, Direction::Out).unwrap() > 5 {
                        txn.remove_edge(names.simple, v(a), v(b)).unwrap();
                    }
                    txn.upsert_edge(names.simple, v(a), v(b)).unwrap();
                    txn.create_edge(names.multi, v(0), v(b), &[]).unwrap();
                    match txn.commit() {
                        Ok(_) => drop(commits.fetch_add(1, Ordering::Relaxed)),
                        Err(e) if e.is_retryable() => {}
                        Err(e) => panic!("{e}"),
                    }
                }
            });
        }
        let (db, names, stop, commits, reads) = (&db, &names, &stop, &commits, &reads);
        scope.spawn(move || {
            while !stop.load(Ordering::Relaxed) {
                let snapshot = db.snapshot().unwrap();
                let reader = snapshot.reader();
                let sum: i64 = (0..VERTICES)
                    .map(|n| match reader.vertex_property(v(n), names.balance) {
                        Value::Int(balance) => balance,
                        other => panic!("{other:?}: {:?}", snapshot.error()),
                    })
                    .sum();
                assert_eq!(sum, 100 * VERTICES as i64);
                for ty in [names.simple, names.multi] {
                    let count = |direction| {
                        let all = (0..VERTICES).map(|n| reader.edges(v(n), ty, direction).count());
                        all.sum::<usize>()
                    };
                    assert_eq!(count(Direction::Out), count(Direction::In));
                }
                reads.fetch_add(1, Ordering::Relaxed);
            }
        });
        // Also if this thread panics: the others would never end.
        let _stop = StopAtEnd(stop);
        let mut rng = Random(99);
        // Others may not have had a processor yet.
        let few = || commits.load(Ordering::Relaxed) <= 10 || reads.load(Ordering::Relaxed) == 0;
        let mut round = 0;
        while round < rounds || few() {
            round += 1;
            match rng.below(4) {
                0 => drop(db.checkpoint().unwrap()),
                1 => db.settle(),
                _ => drop(db.release_memory()),
            }
            std::thread::sleep(std::time::Duration::from_millis(rng.below(12)));
        }
    });
    let last = digest(&db, &names);
    db.close().unwrap();
    let db = Engine::open(dir.path(), settings()).unwrap();
    assert_eq!(digest(&db, &Names::new(&db)), last);
    drop(db);
    let report = telar_engine::maintenance::check(dir.path()).unwrap();
    assert_eq!(report.worst(), None, "{:#?}", report.findings);
}

/// Writers and readers stay below a limit that the graph is far above.
#[test]
fn graph_larger_than_the_limit_is_written_and_read() {
    let dir = tempfile::tempdir().unwrap();
    let mut small = settings();
    small.memory_limit_bytes = Some(1 << 20);
    small.background_interval_ms = 5;
    let db = Engine::open(dir.path(), small).unwrap();
    let names = Names::new(&db);
    fill(&db, &names);
    let reference = {
        let dir = tempfile::tempdir().unwrap();
        let db = Engine::open(dir.path(), settings()).unwrap();
        let names = Names::new(&db);
        fill(&db, &names);
        digest(&db, &names)
    };
    for _ in 0..3 {
        assert_eq!(digest(&db, &names), reference);
    }
    db.close().unwrap();
    let db = Engine::open(dir.path(), small).unwrap();
    assert_eq!(digest(&db, &Names::new(&db)), reference);
    assert_eq!(db.memory_limit(), Some(1 << 20));
}

/// A flipped bit in any stored value is found when the value is first touched, and from then on
/// nothing is done with what was read.
#[test]
fn flipped_bit_in_any_value_is_found_at_first_touch() {
    let dir = tempfile::tempdir().unwrap();
    let db = Engine::open(dir.path(), settings()).unwrap();
    let names = Names::new(&db);
    fill(&db, &names);
    db.close().unwrap();
    let data = dir.path().join("store/data.mdb");
    let whole = std::fs::read(&data).unwrap();
    let mut found = 0;
    // The second kilobyte of every page with one: values with pages of their own, or inner pages.
    for page in 2..whole.len() / 4096 {
        let mut damaged = whole.clone();
        damaged[page * 4096 + 1500] ^= 0x10;
        std::fs::write(&data, &damaged).unwrap();
        let db = match Engine::open(dir.path(), settings()) {
            Ok(db) => db,
            Err(Error::Damaged { .. }) => {
                found += 1;
                continue;
            }
            Err(e) => panic!("page {page}: {e}"),
        };
        let names = Names::new(&db);
        let reader = db.reader().unwrap();
        let mut sum = 0;
        for n in 0..VERTICES {
            sum += reader.labels(v(n)).map_or(0, |l| l.len());
            sum += usize::from(reader.vertex_property(v(n), names.balance).is_null());
            for ty in [names.simple, names.multi] {
                for direction in Direction::ALL {
                    for edge in reader.edges(v(n), ty, direction) {
                        sum += usize::from(reader.edge_property(edge, names.balance).is_null());
                    }
                }
            }
        }
        if reader.error().is_none() {
            // A page that nothing leads to any more, or unused room of one: all is as it was.
            assert!(sum > 0);
            drop(reader);
            digest(&db, &names);
            continue;
        }
        found += 1;
        drop(reader);
        let is_damage = |e: Error| matches!(e, Error::Damaged { .. });
        assert!(is_damage(db.begin().err().unwrap()) && is_damage(db.snapshot().err().unwrap()));
        assert!(is_damage(db.checkpoint().err().unwrap()));
        assert!(is_damage(db.error().unwrap()) && db.health().error.is_some());
        drop(db);
        assert_eq!(std::fs::read(&data).unwrap(), damaged, "a damaged store was written to");
    }
    assert!(found > whole.len() / 4096 / 2, "{found} of {} pages", whole.len() / 4096);
}

/// A commit that read something damaged does not get through.
#[test]
fn commit_on_damaged_values_fails() {
    let dir = tempfile::tempdir().unwrap();
    let db = Engine::open(dir.path(), settings()).unwrap();
    let names = Names::new(&db);
    fill(&db, &names);
    db.close().unwrap();
    let data = dir.path().join("store/data.mdb");
    let mut damaged = std::fs::read(&data).unwrap();
    // Every byte of a kind that stands in neighbours only: all lists are damaged.
    let lists: Vec<usize> = (2..damaged.len() / 4096).map(|p| p * 4096 + 4000).collect();
    lists.iter().for_each(|at| damaged[*at] ^= 1);
    std::fs::write(&data, &damaged).unwrap();
    let Ok(db) = Engine::open(dir.path(), settings()) else { return };
    let Some(simple) = db.find_edge_type("SIMPLE") else { return };
    let mut txn = db.begin().unwrap();
    let done = txn.upsert_edge(simple, v(1), v(2)).map(drop).and_then(|()| txn.commit().map(drop));
    assert!(matches!(done, Err(Error::Damaged { .. })), "{done:?}");
    assert_eq!(VertexId::from_raw(1), v(1));
}
