//! Writers, a settler and readers on few vertices at once: whatever interleaves, a snapshot is
//! whole.
//!
//! Most useful under a sanitizer (tools/sanitize.sh): it drives versions, tails, hubs and columns
//! through replacement while other threads read them.
#![cfg(not(feature = "shuttle"))]
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use telar_engine::{EdgeTypeOptions, Engine, Error, Isolation, Settings};
use telar_graph::{Counts, Direction, EdgeTypeId, PropertyKeyId, Topology, Value};

use common::{Random, StopAtEnd, v};

/// Vertices: several segments, so that commits span them; vertex 0 becomes a hub.
const VERTICES: u64 = 3000;
/// Vertices that writers delete edges of and rewrite, over and over.
const HOT: u64 = 40;

struct World {
    db: Engine,
    simple: EdgeTypeId,
    multi: EdgeTypeId,
    sum: PropertyKeyId,
}

/// One transaction: edges to and fro, and an amount moved between two vertices.
fn write(w: &World, random: &mut Random, isolation: Isolation) {
    let (a, b) = (random.below(HOT), random.below(HOT));
    let n = random.below(VERTICES);
    let what = random.below(8);
    let done = w.db.write(isolation, |txn| {
        match what {
            0..=2 => {
                for i in 0..30 {
                    txn.upsert_edge(w.simple, v(0), v((n + 97 * i) % VERTICES))?;
                }
            }
            3 => {
                for i in 0..10 {
                    txn.remove_edge(w.simple, v(0), v((n + 97 * i) % VERTICES))?;
                }
            }
            4 => txn.upsert_edge(w.simple, v(a), v(n))?,
            5 => txn.remove_edge(w.simple, v(a), v(b))?,
            6 => {
                let edge = txn.create_edge(w.multi, v(a), v(b), &[(w.sum, Value::Int(1))])?;
                txn.set_edge_property(edge, w.sum, Value::Int(2))?;
            }
            _ => {
                let edge = txn.edges(v(a), w.multi, Direction::Out)?.next();
                edge.map_or(Ok(()), |edge| txn.delete_edge(edge))?;
            }
        }
        if a != b {
            let get = |x| match txn.vertex_property(v(x), w.sum)? {
                Value::Int(n) => Ok::<i64, Error>(n),
                _ => Ok(0),
            };
            let (from, to) = (get(a)?, get(b)?);
            txn.set_vertex_property(v(a), w.sum, Value::Int(from - 1))?;
            txn.set_vertex_property(v(b), w.sum, Value::Int(to + 1))?;
        }
        Ok::<(), Error>(())
    });
    done.unwrap();
}

/// Both directions hold the same edges, sums are kept, and a second look shows the same.
fn check(w: &World) {
    let snapshot = w.db.snapshot().unwrap();
    let picture = || {
        let reader = snapshot.reader();
        let total: i64 = (0..HOT)
            .map(|x| match reader.vertex_property(v(x), w.sum) {
                Value::Int(n) => n,
                _ => 0,
            })
            .sum();
        assert_eq!(total, 0, "an amount was lost at {:?}", snapshot.read_ts());
        let mut lists = Vec::new();
        for ty in [w.simple, w.multi] {
            let out = reader.adjacency(ty, Direction::Out).unwrap();
            let inward = reader.adjacency(ty, Direction::In).unwrap();
            // Read on other threads under this thread's pin.
            let pairs = |adjacency: telar_engine::Adjacency<'_>, turned: bool| {
                let mut all = Vec::new();
                adjacency.scan(0..adjacency.vertex_bound(), |x, run| {
                    all.extend(run.iter().map(|y| if turned { (*y, x) } else { (x, *y) }));
                });
                all.sort_unstable();
                all
            };
            let (a, b) = std::thread::scope(|s| {
                let a = s.spawn(|| pairs(out, false));
                let b = s.spawn(|| pairs(inward, true));
                (a.join().unwrap(), b.join().unwrap())
            });
            assert_eq!(a, b, "the directions differ");
            if ty == w.simple {
                assert!(a.windows(2).all(|p| p[0] != p[1]), "an edge is there twice");
                let degree = reader.degree(v(0), ty, Direction::Out);
                assert_eq!(degree, a.iter().filter(|(x, _)| *x == 0).count());
            }
            lists.push(a);
        }
        assert_eq!(reader.statistics().unwrap().vertices, VERTICES);
        lists
    };
    let first = picture();
    std::thread::yield_now();
    assert!(picture() == first, "a snapshot changed");
}

#[test]
fn snapshots_stay_whole_beside_writers_and_settling() {
    let mut settings = Settings::default();
    settings.background_interval_ms = 1;
    let db = Engine::in_memory(settings).unwrap();
    let simple = db.edge_type("S", EdgeTypeOptions::simple()).unwrap();
    let multi = db.edge_type("M", EdgeTypeOptions::general()).unwrap();
    let sum = db.property_key("sum").unwrap();
    let mut txn = db.begin().unwrap();
    for _ in 0..VERTICES {
        txn.create_vertex(&[]).unwrap();
    }
    txn.commit().unwrap();
    let world = &World { db, simple, multi, sum };
    let long = std::env::var_os("TELAR_LONG").is_some();
    let end = Instant::now() + Duration::from_secs(if long { 120 } else { 3 });
    let stop = &AtomicBool::new(false);
    let commits = &AtomicU64::new(0);
    std::thread::scope(|s| {
        for t in 0..4u64 {
            let isolation = if t == 3 { Isolation::Serializable } else { Isolation::Snapshot };
            s.spawn(move || {
                let mut random = Random(0x9E37_79B9 + t);
                while !stop.load(Ordering::Relaxed) {
                    write(world, &mut random, isolation);
                    commits.fetch_add(1, Ordering::Relaxed);
                }
            });
        }
        s.spawn(|| {
            while !stop.load(Ordering::Relaxed) {
                world.db.settle();
                std::thread::sleep(Duration::from_millis(3));
            }
        });
        let _stop = StopAtEnd(stop);
        // Others may not have had a processor yet.
        while Instant::now() < end || commits.load(Ordering::Relaxed) <= 50 {
            check(world);
        }
    });
    check(world);
}
