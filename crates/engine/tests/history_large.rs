//! The past of long lists: hubs and their splits, full arenas, every kind of list, and settling
//! beside writers and readers.
#![cfg(not(feature = "shuttle"))]
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use telar_engine::{EdgeTypeOptions, Engine, Error, Isolation, Retention, Settings, Snapshot};
use telar_graph::{CommitTs, Direction, EdgeId, EdgeTypeId, PropertyKeyId, Topology, Value};

use common::{Random, StopAtEnd, no_background, v, with_vertices};

const VERTICES: u64 = 6000;

struct World {
    db: Engine,
    types: [EdgeTypeId; 3],
    key: PropertyKeyId,
}

fn settings() -> Settings {
    let mut settings = no_background();
    settings.hub_entries_min = 1024;
    settings.retain = Retention::commits(200);
    settings.store_bytes_max = 1 << 28;
    settings
}

fn world(db: Engine) -> World {
    let key = db.property_key("time").unwrap();
    let types = [
        db.edge_type("SIMPLE", EdgeTypeOptions::simple()).unwrap(),
        db.edge_type("MULTI", EdgeTypeOptions::general()).unwrap(),
        db.edge_type("TIMED", EdgeTypeOptions::newest_first(key)).unwrap(),
    ];
    World { db, types, key }
}

/// The edges of each type.
type Model = [BTreeSet<EdgeId>; 3];

/// Some hundred edges of each type come at the first vertices, and some go.
fn write(w: &World, random: &mut Random, model: &mut Model) -> u64 {
    let mut txn = w.db.begin().unwrap();
    for (ty, edges) in w.types.into_iter().zip(model.iter_mut()) {
        for _ in 0..random.below(120) {
            let (src, dst) = (v(random.below(3)), v(random.below(VERTICES)));
            let edge = if ty == w.types[0] {
                txn.upsert_edge(ty, src, dst).unwrap();
                EdgeId { ty, src, dst, ordinal: 0 }
            } else {
                let time = Value::Int(random.below(1000) as i64);
                txn.create_edge(ty, src, dst, &[(w.key, time)]).unwrap()
            };
            edges.insert(edge);
        }
        let least =
            EdgeId { ty, src: v(random.below(3)), dst: v(random.below(VERTICES)), ordinal: 0 };
        let gone: Vec<EdgeId> =
            edges.range(least..).take(random.below(60) as usize).copied().collect();
        for edge in gone {
            txn.delete_edge(edge).unwrap();
            edges.remove(&edge);
        }
    }
    txn.commit().unwrap().ts.get()
}

fn check(snapshot: &Snapshot<'_>, model: &Model, w: &World) {
    let reader = snapshot.reader();
    for (ty, edges) in w.types.into_iter().zip(model) {
        for direction in Direction::ALL {
            let mut expected: BTreeMap<u64, Vec<EdgeId>> = BTreeMap::new();
            edges
                .iter()
                .for_each(|e| expected.entry(e.start(direction).get()).or_default().push(*e));
            for (start, expected) in expected.iter().take(8) {
                let mut found: Vec<EdgeId> = reader.edges(v(*start), ty, direction).collect();
                found.sort_unstable();
                assert_eq!(found.len(), reader.degree(v(*start), ty, direction));
                let mut expected = expected.clone();
                expected.sort_unstable();
                assert_eq!(found, expected, "{direction:?} of {start}");
            }
            let lists = reader.adjacency(ty, direction).unwrap();
            let mut count = 0;
            lists.scan(0..lists.vertex_bound(), |_, run| count += run.len());
            assert_eq!(count, edges.len());
        }
    }
}

fn run(reopens: &dyn Fn(Engine) -> Option<Engine>, first: Engine, seed: u64) {
    let mut w = world(first);
    let mut random = Random(seed);
    with_vertices(&w.db, VERTICES);
    let mut model = Model::default();
    let mut versions = BTreeMap::from([(w.db.published().get(), model.clone())]);
    for round in 0..260u64 {
        versions.insert(write(&w, &mut random, &mut model), model.clone());
        if round % 40 == 39 {
            w.db.settle();
        }
        if round % 70 == 69 {
            w.db.checkpoint().unwrap();
        }
        if round % 90 == 89 {
            match reopens(w.db) {
                Some(db) => w = world(db),
                None => return,
            }
        }
        if round % 20 == 19 {
            let (oldest, newest) = w.db.retained().unwrap();
            for _ in 0..4 {
                let ts = oldest.get() + random.below(newest.get() - oldest.get() + 1);
                let Some((_, model)) = versions.range(..=ts).next_back() else { continue };
                let snapshot = w.db.snapshot_at(CommitTs::from_raw(ts)).unwrap();
                check(&snapshot, model, &w);
                check(&snapshot, model, &w);
            }
            check(&w.db.snapshot().unwrap(), &model, &w);
        }
    }
    let hubs: u64 = w.types.iter().map(|ty| w.db.settle_state(*ty).unwrap().hubs).sum();
    assert!(hubs >= 4, "{hubs} hubs: long lists were to be tried");
    let history = w.db.history();
    assert!(history.entries > 1000 && history.entry_bytes > 0, "{history:?}");
    assert!(history.oldest.is_some_and(|oldest| oldest.get() + 200 == w.db.published().get()));
}

#[test]
fn long_lists_in_memory() {
    for seed in [7, 42] {
        run(&Some, Engine::in_memory(settings()).unwrap(), seed);
    }
}

#[test]
fn long_lists_across_restarts() {
    let dir = tempfile::tempdir().unwrap();
    let open = || Engine::open(dir.path(), settings()).unwrap();
    let reopen = |db: Engine| {
        drop(db);
        Some(open())
    };
    run(&reopen, open(), 11);
    let report = telar_engine::maintenance::check(dir.path()).unwrap();
    assert!(report.worst().is_none(), "{report:?}");
}

/// Stops the writers when dropped.
/// Amounts are moved between vertices, and each move leaves an edge: at every timestamp the sum is
/// zero and there are as many edges as moves.
#[test]
fn readers_of_the_past_beside_writers_and_settling() {
    let mut settings = Settings::default();
    settings.background_interval_ms = 1;
    settings.hub_entries_min = 1024;
    settings.retain = Retention::commits(500);
    let db = Engine::in_memory(settings).unwrap();
    let amount = db.property_key("amount").unwrap();
    let moves = db.edge_type("MOVES", EdgeTypeOptions::general()).unwrap();
    let ties = db.edge_type("TIES", EdgeTypeOptions::simple()).unwrap();
    with_vertices(&db, 2000);
    let begun = db.published().get();
    let stop = AtomicBool::new(false);
    let seconds = if std::env::var_os("TELAR_LONG").is_some() { 60 } else { 3 };
    std::thread::scope(|s| {
        for seed in 1..=2u64 {
            let (db, stop) = (&db, &stop);
            s.spawn(move || {
                let mut random = Random(seed * 77);
                while !stop.load(Ordering::Relaxed) {
                    let (a, b) = (v(random.below(20)), v(20 + random.below(1980)));
                    let done = db.write(Isolation::Snapshot, |txn| {
                        let get = |x| match txn.vertex_property(x, amount)? {
                            Value::Int(n) => Ok::<i64, Error>(n),
                            _ => Ok(0),
                        };
                        let (from, to) = (get(a)?, get(b)?);
                        txn.set_vertex_property(a, amount, Value::Int(from - 1))?;
                        txn.set_vertex_property(b, amount, Value::Int(to + 1))?;
                        txn.create_edge(moves, a, b, &[])?;
                        // Comes and goes: there after an odd number of moves.
                        if from.rem_euclid(2) == 0 {
                            txn.upsert_edge(ties, a, v(1999))
                        } else {
                            txn.remove_edge(ties, a, v(1999))
                        }
                    });
                    done.unwrap();
                }
            });
        }
        for seed in 5..=6u64 {
            let (db, stop) = (&db, &stop);
            s.spawn(move || {
                let mut random = Random(seed * 99);
                let end = Instant::now() + Duration::from_secs(seconds);
                let mut looks = 0;
                // Also if a look fails, or the writers would go on for ever.
                let _stops = StopAtEnd(stop);
                while Instant::now() < end || looks < 3 {
                    let (oldest, newest) = db.retained().unwrap();
                    let ts = oldest.get() + random.below(newest.get() - oldest.get() + 1);
                    let Ok(snapshot) = db.snapshot_at(CommitTs::from_raw(ts)) else { continue };
                    let reader = snapshot.reader();
                    let mut sum = 0;
                    let (mut out, mut inward) = (0, 0);
                    for x in 0..2000 {
                        if let Value::Int(n) = reader.vertex_property(v(x), amount) {
                            sum += n;
                            if x < 20 {
                                let tied = reader.search_edge(ties, v(x), v(1999));
                                assert_eq!(tied, n.rem_euclid(2) == 1, "at {ts}");
                                let edges = reader.degree(v(x), moves, Direction::Out);
                                assert_eq!(edges as i64, -n, "at {ts}");
                            }
                        }
                        out += reader.degree(v(x), moves, Direction::Out) as u64;
                        inward += reader.degree(v(x), moves, Direction::In) as u64;
                    }
                    assert_eq!(sum, 0, "at {ts}");
                    let expected = ts.saturating_sub(begun);
                    assert_eq!((out, inward), (expected, expected), "at {ts}");
                    looks += 1;
                }
            });
        }
    });
    assert_eq!(db.history().readers, 0);
}
