//! The whole engine in memory under shuttle: plans, latch order, validation, settling.
//!
//! Run with `cargo test -p telar-engine --features shuttle --lib model::`. Threads change at
//! latches, the clock, reader slots and hub locks, which is where the protocol decides; between two
//! such places a step runs undivided, so races within tails and columns are not explored here.
//!
//! Mutations of the source, made in a copy, and the model each makes fail: `Latches::acquire`
//! without its sort (`model_commits_that_cross_do_not_deadlock`); `Plan::plan_reads` without a
//! guard for `Read::Neighbours` (`model_serializable_...`); `plan_columns` without guards for
//! deleted vertices, and `check_ends` that checks nothing (`model_deleted_vertex_...`); settling up
//! to the last timestamp taken instead of the watermark (`model_snapshots_...`).

use std::collections::BTreeSet;
use std::panic::{AssertUnwindSafe, catch_unwind};

use telar_graph::{Direction, EdgeTypeId, VertexId};

use crate::sync::{Arc, thread};
use crate::{EdgeTypeOptions, Engine, Error, Isolation, Settings};

const ITERATIONS: usize = 1_000;
/// Preemptions that the PCT scheduler places in one execution.
const PCT_DEPTH: usize = 3;

/// Runs `model` under the random and the PCT scheduler.
fn check(model: impl Fn() + Send + Sync + Copy + 'static) {
    shuttle::check_random(model, ITERATIONS);
    shuttle::check_pct(model, ITERATIONS, PCT_DEPTH);
}

fn v(n: u64) -> VertexId {
    VertexId::from_raw(n)
}

/// An engine without a background thread, with so many vertices and a simple edge type.
fn engine(vertices: u64) -> (Arc<Engine>, EdgeTypeId) {
    let settings = Settings { background_interval_ms: 0, ..Settings::default() };
    let db = Engine::in_memory(settings).unwrap();
    let ty = db.edge_type("E", EdgeTypeOptions::simple()).unwrap();
    let mut txn = db.begin().unwrap();
    for _ in 0..vertices {
        txn.create_vertex(&[]).unwrap();
    }
    txn.commit().unwrap();
    (Arc::new(db), ty)
}

fn join_all<T>(threads: impl IntoIterator<Item = thread::JoinHandle<T>>) -> Vec<T> {
    threads.into_iter().map(|t| t.join().unwrap()).collect()
}

fn neighbours(db: &Engine, ty: EdgeTypeId, dir: Direction, x: u64) -> BTreeSet<u64> {
    let reader = db.reader().unwrap();
    let mut found = BTreeSet::new();
    reader.for_each_run(v(x), ty, dir, |run| found.extend(run.iter().map(|n| u64::from(*n))));
    found
}

/// Two transactions, each reading the list that the other writes to. If both commit, one saw the
/// other.
fn crossing(isolation: Isolation) {
    let (db, ty) = engine(3);
    let threads = [(0, 1), (1, 0)].map(|(read, write)| {
        let db = Arc::clone(&db);
        thread::spawn(move || {
            let mut txn = db.begin_with(isolation).unwrap();
            let seen = txn.degree(v(read), ty, Direction::Out).unwrap();
            txn.upsert_edge(ty, v(write), v(2)).unwrap();
            match txn.commit() {
                Ok(_) => Some(seen),
                Err(e) if e.is_retryable() => None,
                Err(e) => panic!("{e}"),
            }
        })
    });
    let seen = join_all(threads);
    assert_ne!(seen, [Some(0), Some(0)], "write skew");
    assert!(seen.iter().any(Option::is_some) || isolation == Isolation::Serializable);
}

#[test]
fn model_serializable_transactions_that_cross_never_both_commit_unseen() {
    check(|| crossing(Isolation::Serializable));
}

/// Under snapshot isolation the same program has write skew: the model above would see it.
#[test]
fn model_notices_write_skew_of_snapshot_isolation() {
    let skewed = || shuttle::check_random(|| crossing(Isolation::Snapshot), ITERATIONS);
    assert!(catch_unwind(AssertUnwindSafe(skewed)).is_err());
}

/// An edge is made while an end of it is deleted: never an edge to a vertex that is gone, never one
/// in one direction only.
#[test]
fn model_deleted_vertex_leaves_no_edge() {
    check(|| {
        let (db, ty) = engine(3);
        let insert = |src, dst| {
            let db = Arc::clone(&db);
            thread::spawn(move || {
                let mut txn = db.begin().unwrap();
                match txn.upsert_edge(ty, v(src), v(dst)).and_then(|()| txn.commit()) {
                    Ok(_) | Err(Error::NotFound(_)) => {}
                    Err(e) if e.is_retryable() => {}
                    Err(e) => panic!("{e}"),
                }
            })
        };
        let delete = {
            let db = Arc::clone(&db);
            thread::spawn(move || {
                let mut txn = db.begin().unwrap();
                txn.delete_vertex(v(1), true).unwrap();
                match txn.commit() {
                    Ok(_) => {}
                    Err(e) if e.is_retryable() => {}
                    Err(e) => panic!("{e}"),
                }
            })
        };
        join_all([insert(0, 1), insert(1, 2), delete]);
        let gone = !db.reader().unwrap().exists(v(1));
        for (src, dst) in [(0, 1), (1, 2)] {
            let out = neighbours(&db, ty, Direction::Out, src).contains(&dst);
            let inward = neighbours(&db, ty, Direction::In, dst).contains(&src);
            assert_eq!(out, inward, "an edge in one direction only");
            assert!(!(gone && out), "an edge of a deleted vertex");
        }
    });
}

/// Commits that take the latches of the same lists from different ends. Shuttle reports a deadlock.
#[test]
fn model_commits_that_cross_do_not_deadlock() {
    check(|| {
        let (db, ty) = engine(2050);
        let pairs = [[(0, 1030), (2049, 0)], [(2049, 1030), (1030, 0)], [(1030, 2049), (0, 2049)]];
        let threads = pairs.map(|edges| {
            let db = Arc::clone(&db);
            thread::spawn(move || {
                let mut txn = db.begin().unwrap();
                for (src, dst) in edges {
                    txn.upsert_edge(ty, v(src), v(dst)).unwrap();
                }
                txn.commit().unwrap().edges_added
            })
        });
        assert_eq!(join_all(threads), [2, 2, 2]);
    });
}

/// Two writers insert into and delete from lists of one segment, a settler folds it, a reader looks
/// twice: it sees of each writer exactly the commits up to its timestamp.
#[test]
fn model_snapshots_beside_writers_and_settling() {
    check(|| {
        let (db, ty) = engine(6);
        let writer = |of: u64| {
            let db = Arc::clone(&db);
            thread::spawn(move || {
                let mut history = vec![(0, BTreeSet::new())];
                let mut now = BTreeSet::new();
                for (insert, other) in [(true, 3), (true, 4), (false, 3), (true, 5)] {
                    let mut txn = db.begin().unwrap();
                    if insert {
                        txn.upsert_edge(ty, v(of), v(other)).unwrap();
                        now.insert(other);
                    } else {
                        txn.remove_edge(ty, v(of), v(other)).unwrap();
                        now.remove(&other);
                    }
                    history.push((txn.commit().unwrap().ts.get(), now.clone()));
                }
                history
            })
        };
        let writers = [writer(0), writer(1)];
        let settler = {
            let db = Arc::clone(&db);
            thread::spawn(move || {
                db.settle();
                db.settle();
            })
        };
        let snapshot = db.snapshot().unwrap();
        let looks: Vec<[BTreeSet<u64>; 2]> = (0..2)
            .map(|_| {
                thread::yield_now();
                let reader = snapshot.reader();
                [0, 1].map(|of| {
                    let mut seen = BTreeSet::new();
                    reader.for_each_run(v(of), ty, Direction::Out, |run| {
                        seen.extend(run.iter().map(|n| u64::from(*n)));
                    });
                    seen
                })
            })
            .collect();
        let at = snapshot.read_ts().get();
        drop(snapshot);
        let histories = join_all(writers);
        settler.join().unwrap();
        for look in &looks {
            for (history, seen) in histories.iter().zip(look) {
                let expected = history.iter().rev().find(|(ts, _)| *ts <= at).map(|(_, s)| s);
                assert_eq!(Some(seen), expected, "a snapshot at {at}");
            }
        }
        for (of, history) in (0..).zip(&histories) {
            let last = &history.last().unwrap().1;
            assert_eq!(&neighbours(&db, ty, Direction::Out, of), last);
        }
        db.settle();
        assert_eq!(&neighbours(&db, ty, Direction::Out, 0), &histories[0].last().unwrap().1);
    });
}
