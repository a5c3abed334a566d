//! What must hold in every snapshot, while threads work against each other.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use telar_engine::{EdgeTypeOptions, Engine, Error, Isolation, Settings, Snapshot};
use telar_graph::{Direction, EdgeTypeId, PropertyKeyId, Value, VertexId};
use telar_tests::dump::Dump;
use telar_tests::{PrintSeed, Rng};

fn database() -> Engine {
    let mut settings = Settings::default();
    settings.background_interval_ms = 1;
    Engine::in_memory(settings).unwrap()
}

fn scale(n: u64) -> u64 {
    if telar_tests::long() { 20 * n } else { n }
}

/// Steps of a writer: `n` of them, and more until there were enough `looks` of a reader that the
/// system lets wait, for a minute at most.
fn steps(n: u64, looks: &AtomicU64, enough: u64) -> impl Iterator<Item = u64> {
    let (n, end) = (scale(n), Instant::now() + Duration::from_secs(60));
    let waits = move || looks.load(Ordering::Relaxed) <= enough && Instant::now() < end;
    (0..).take_while(move |step| *step < n || waits())
}

const ACCOUNTS: u64 = 12;
const TOTAL: i64 = ACCOUNTS as i64 * 100;

fn balance(snapshot: &Snapshot<'_>, accounts: &[VertexId], key: PropertyKeyId) -> i64 {
    let reader = snapshot.reader();
    let of = |v: &VertexId| match reader.vertex_property(*v, key) {
        Value::Int(n) => n,
        other => panic!("a balance of {other:?}"),
    };
    accounts.iter().map(of).sum()
}

fn transfers(isolation: Isolation, seed: u64) {
    let db = database();
    let key = db.property_key("balance").unwrap();
    let mut txn = db.begin().unwrap();
    let accounts: Vec<VertexId> = (0..ACCOUNTS).map(|_| txn.create_vertex(&[]).unwrap()).collect();
    for a in &accounts {
        txn.set_vertex_property(*a, key, Value::Int(100)).unwrap();
    }
    txn.commit().unwrap();
    let stop = AtomicBool::new(false);
    let (done, looks) = (AtomicU64::new(0), AtomicU64::new(0));
    std::thread::scope(|scope| {
        let writers: Vec<_> = (0..2u64)
            .map(|t| {
                let (db, accounts, done, looks) = (&db, &accounts, &done, &looks);
                scope.spawn(move || {
                    let mut rng = Rng::new(seed + t);
                    for _ in steps(30_000, looks, 10) {
                        let from = accounts[rng.below(ACCOUNTS) as usize];
                        let to = accounts[rng.below(ACCOUNTS) as usize];
                        let mut txn = db.begin_with(isolation).unwrap();
                        let read = |v| match txn.vertex_property(v, key).unwrap() {
                            Value::Int(n) => n,
                            other => panic!("a balance of {other:?}"),
                        };
                        let (a, b) = (read(from), read(to));
                        let amount = rng.below(10) as i64;
                        if from != to {
                            txn.set_vertex_property(from, key, Value::Int(a - amount)).unwrap();
                            txn.set_vertex_property(to, key, Value::Int(b + amount)).unwrap();
                            assert_eq!(
                                txn.vertex_property(to, key).unwrap(),
                                Value::Int(b + amount)
                            );
                        }
                        done.fetch_add(u64::from(txn.commit().is_ok()), Ordering::Relaxed);
                    }
                })
            })
            .collect();
        scope.spawn(|| {
            let mut last = 0;
            while !stop.load(Ordering::Relaxed) {
                let snapshot = db.snapshot().unwrap();
                assert!(snapshot.read_ts().get() >= last, "snapshots go back in time");
                last = snapshot.read_ts().get();
                assert_eq!(balance(&snapshot, &accounts, key), TOTAL, "at {last}");
                std::thread::yield_now();
                assert_eq!(balance(&snapshot, &accounts, key), TOTAL, "at {last}, read again");
                looks.fetch_add(1, Ordering::Relaxed);
            }
        });
        let ended: Vec<_> = writers.into_iter().map(|w| w.join()).collect();
        stop.store(true, Ordering::Relaxed);
        ended.into_iter().for_each(|e| e.unwrap());
    });
    assert_eq!(balance(&db.snapshot().unwrap(), &accounts, key), TOTAL);
    println!("{isolation:?}: {done:?} transfers, {looks:?} sums");
    assert!(done.into_inner() > 100 && looks.into_inner() > 10);
}

#[test]
fn sum_of_balances_is_the_same_in_every_snapshot() {
    let seed = telar_tests::seed();
    let _print = PrintSeed(seed);
    transfers(Isolation::Snapshot, seed);
    transfers(Isolation::Serializable, seed);
}

/// Creates and deletes vertices and edges at random; conflicts and missing ends are fine.
fn churn(
    db: &Engine,
    types: [EdgeTypeId; 3],
    time: PropertyKeyId,
    looks: &AtomicU64,
    seed: u64,
) -> u64 {
    let mut rng = Rng::new(seed);
    let mut done = 0;
    for _ in steps(3000, looks, 3) {
        let isolation = match rng.one_in(3) {
            true => Isolation::Serializable,
            false => Isolation::Snapshot,
        };
        let mut txn = db.begin_with(isolation).unwrap();
        let bound = db.reader().unwrap().vertex_bound().get();
        let recent = bound.saturating_sub(24);
        let mut pick = || VertexId::from_raw(recent + rng.below(bound - recent));
        let (u, v) = (pick(), pick());
        // Errors leave what was done before in the transaction, which commits all the same.
        let mut did = Vec::new();
        for _ in 0..=rng.below(2) {
            let step = rng.below(12);
            let result = match step {
                0 => txn.create_vertex(&[]).map(|_| ()),
                1 => txn.delete_vertex(v, true),
                2 => txn.delete_vertex(v, false),
                3..=5 => txn.upsert_edge(types[0], u, v),
                6 => txn.remove_edge(types[0], u, v),
                7..=8 => txn.create_edge(types[1], u, v, &[(time, Value::Int(1))]).map(|_| ()),
                9 => {
                    let edge = txn.edges(u, types[1], Direction::Out).unwrap().next();
                    edge.map_or(Ok(()), |e| txn.delete_edge(e))
                }
                10 => {
                    let edge = txn.edges(u, types[1], Direction::In).unwrap().next();
                    edge.map_or(Ok(()), |e| txn.set_edge_property(e, time, Value::Int(2)))
                }
                _ => txn.create_edge(types[2], u, v, &[(time, Value::Int(3))]).map(|_| ()),
            };
            did.push((step, u, v, result));
        }
        if rng.one_in(4) {
            std::thread::yield_now();
        }
        match txn.commit() {
            Ok(_) => done += 1,
            // Whether the ends of simple edges exist is found out at commit.
            Err(Error::NotFound(_)) if did.iter().any(|d| (3..=6).contains(&d.0)) => {}
            Err(e) => assert!(e.is_retryable(), "{e:?} of {did:?}"),
        }
    }
    done
}

#[test]
fn no_edge_dangles_and_lists_mirror_each_other_in_every_snapshot() {
    let seed = telar_tests::seed();
    let _print = PrintSeed(seed);
    let db = database();
    let time = db.property_key("time").unwrap();
    let types = [
        db.edge_type("SIMPLE", EdgeTypeOptions::simple()).unwrap(),
        db.edge_type("MULTI", EdgeTypeOptions::general()).unwrap(),
        db.edge_type("TIMED", EdgeTypeOptions::newest_first(time)).unwrap(),
    ];
    let mut txn = db.begin().unwrap();
    for _ in 0..24 {
        txn.create_vertex(&[]).unwrap();
    }
    txn.commit().unwrap();
    let (stop, looks) = (AtomicBool::new(false), AtomicU64::new(0));
    let committed: u64 = std::thread::scope(|scope| {
        let writers: Vec<_> = (0..3u64)
            .map(|t| {
                let (db, looks) = (&db, &looks);
                scope.spawn(move || churn(db, types, time, looks, seed + t))
            })
            .collect();
        scope.spawn(|| {
            while !stop.load(Ordering::Relaxed) {
                Dump::of(&db).unwrap_or_else(|e| panic!("look {looks:?}: {e}"));
                looks.fetch_add(1, Ordering::Relaxed);
            }
        });
        let ended: Vec<_> = writers.into_iter().map(|w| w.join()).collect();
        stop.store(true, Ordering::Relaxed);
        ended.into_iter().map(|e| e.unwrap()).sum()
    });
    let looks = looks.into_inner();
    let before = Dump::of(&db).unwrap();
    db.settle();
    assert_eq!(Dump::of(&db).unwrap(), before, "settling changes nothing");
    println!("{committed} commits, {looks} looks, {} edges", before.edges.len());
    assert!(committed > 1000 && looks > 3);
}
