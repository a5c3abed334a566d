//! Commits between any two steps of which others do what they may do there.
//!
//! A hook runs at the steps of the commits of this thread: it settles everything and takes idle
//! tails away, evicts what the store holds, writes a checkpoint, commits something else. Each
//! commit must end after a bounded number of plans, and what it wrote must be there.

use std::cell::Cell;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use telar_graph::{Counts, Direction, EdgeTypeId, LabelId, PropertyKeyId, Value, VertexId};

use super::protocol::{AT_STEP, Step};
use crate::{EdgeTypeOptions, Engine, Error, Settings, Transaction};

/// More than a commit takes stripe by stripe.
const MANY: u64 = 5000;

struct World {
    db: Arc<Engine>,
    folder: Option<tempfile::TempDir>,
    label: LabelId,
    key: PropertyKeyId,
    plain: EdgeTypeId,
    simple: EdgeTypeId,
    vertices: Vec<VertexId>,
}

impl World {
    /// Some thousand vertices with a property, edges of both kinds between neighbours, and vertex 0
    /// with so many edges that its lists are hubs.
    fn new(on_disk: bool) -> Self {
        let settings =
            Settings { background_interval_ms: 0, hub_entries_min: 1024, ..Settings::default() };
        let folder = on_disk.then(|| tempfile::tempdir().unwrap());
        let db = match &folder {
            Some(folder) => Engine::open(folder.path().join("db"), settings).unwrap(),
            None => Engine::in_memory(settings).unwrap(),
        };
        let (label, key) = (db.label("L").unwrap(), db.property_key("k").unwrap());
        let plain = db.edge_type("P", EdgeTypeOptions::general()).unwrap();
        let simple = db.edge_type("S", EdgeTypeOptions::simple()).unwrap();
        let mut txn = db.begin().unwrap();
        let vertices: Vec<VertexId> =
            (0..3000).map(|_| txn.create_vertex(&[label]).unwrap()).collect();
        for (i, v) in vertices.iter().enumerate() {
            txn.set_vertex_property(*v, key, Value::Int(i as i64)).unwrap();
            let next = vertices[(i + 1) % vertices.len()];
            txn.create_edge(plain, *v, next, &[]).unwrap();
            txn.upsert_edge(simple, *v, next).unwrap();
            if i % 2 == 0 {
                txn.create_edge(plain, vertices[0], *v, &[]).unwrap();
                txn.upsert_edge(simple, vertices[0], *v).unwrap();
            }
        }
        txn.commit().unwrap();
        db.settle();
        assert!(db.settle_state(plain).unwrap().hubs > 0);
        Self { db: Arc::new(db), folder, label, key, plain, simple, vertices }
    }
}

/// What a transaction writes, and how to see that it is there.
type Write = fn(&World, &mut Transaction<'_>, u64);
type Seen = fn(&World) -> u64;

fn count(w: &World, ty: EdgeTypeId, direction: Direction) -> u64 {
    let reader = w.db.reader().unwrap();
    let bound = reader.vertex_bound().get();
    (0..bound).map(|v| reader.degree(VertexId::from_raw(v), ty, direction) as u64).sum()
}

fn both(w: &World, ty: EdgeTypeId) -> u64 {
    let (out, inward) = (count(w, ty, Direction::Out), count(w, ty, Direction::In));
    assert_eq!(out, inward, "every edge is in two lists");
    out
}

fn at(w: &World, i: u64) -> VertexId {
    w.vertices[(i * 7 % w.vertices.len() as u64) as usize]
}

/// Name, what is written `n` times, what is counted, and by how much `n` of them change that.
const FORMS: [(&str, Write, Seen, i64); 8] = [
    (
        "vertices",
        |w, txn, _| {
            let v = txn.create_vertex(&[w.label]).unwrap();
            txn.set_vertex_property(v, w.key, Value::Int(-1)).unwrap();
        },
        |w| w.db.reader().unwrap().statistics().unwrap().vertices,
        1,
    ),
    (
        "properties",
        |w, txn, i| txn.set_vertex_property(at(w, i), w.key, Value::Int(-2)).unwrap(),
        |w| {
            let reader = w.db.reader().unwrap();
            let set = |v: &&VertexId| reader.vertex_property(**v, w.key) == Value::Int(-2);
            w.vertices.iter().filter(set).count() as u64
        },
        1,
    ),
    (
        "edges",
        |w, txn, i| {
            txn.create_edge(w.plain, at(w, i), at(w, i + 1), &[]).unwrap();
        },
        |w| both(w, w.plain),
        1,
    ),
    (
        "edges with properties",
        |w, txn, i| {
            let set = [(w.key, Value::Int(i as i64))];
            txn.create_edge(w.plain, at(w, i), at(w, i + 1), &set).unwrap();
        },
        |w| both(w, w.plain),
        1,
    ),
    (
        "simple edges",
        |w, txn, i| txn.upsert_edge(w.simple, at(w, i), at(w, i + 2 + i / 3000)).unwrap(),
        |w| both(w, w.simple),
        1,
    ),
    (
        "edges of a hub",
        |w, txn, i| {
            txn.create_edge(w.plain, w.vertices[0], at(w, i), &[]).unwrap();
        },
        |w| both(w, w.plain),
        1,
    ),
    (
        "edges to a new hub",
        |w, txn, i| {
            txn.create_edge(w.plain, at(w, i), w.vertices[1500], &[]).unwrap();
        },
        |w| both(w, w.plain),
        1,
    ),
    (
        "deletes",
        |w, txn, i| {
            let v = w.vertices[w.vertices.len() - 1 - i as usize % 2900];
            if txn.exists(v) {
                txn.delete_vertex(v, true).unwrap();
            }
        },
        |w| w.db.reader().unwrap().statistics().unwrap().vertices,
        -1,
    ),
];

/// What others do, by name.
type Disturbance = (&'static str, fn(&Engine));

/// What happens between two steps.
const DISTURBANCES: [Disturbance; 4] = [
    // All segments are idle: tails that nothing needs go.
    ("settle", |db| db.shared.settle_all(Some(u64::MAX))),
    ("evict", |db| {
        db.release_memory();
    }),
    ("checkpoint and evict", |db| {
        db.checkpoint().unwrap();
        db.release_memory();
    }),
    ("another commit", |db| {
        let mut txn = db.begin().unwrap();
        let v = VertexId::from_raw(1600);
        txn.upsert_edge(db.find_edge_type("S").unwrap(), v, v).unwrap();
        txn.set_vertex_property(v, db.property_key("other").unwrap(), Value::Int(1)).unwrap();
        txn.commit().unwrap();
        db.shared.settle_all(Some(u64::MAX));
    }),
];

/// Plans and collections of a commit of this thread, each of them disturbed.
fn disturbed<T>(w: &World, act: fn(&Engine), commit: impl FnOnce() -> T) -> (T, [u32; 2]) {
    let steps = Rc::new(Cell::new([0; 2]));
    let (seen, db) = (Rc::clone(&steps), Arc::clone(&w.db));
    let hook = move |step| {
        let mut counted = seen.get();
        match step {
            Step::Planned => counted[0] += 1,
            Step::Collected => counted[1] += 1,
            // With latches held only what waits for none may be done by the same thread.
            Step::Latched => {
                db.release_memory();
                return;
            }
        }
        seen.set(counted);
        act(&db);
    };
    AT_STEP.with(|place| *place.borrow_mut() = Some(Box::new(hook)));
    let done = commit();
    AT_STEP.with(|place| *place.borrow_mut() = None);
    (done, steps.get())
}

#[test]
fn commit_ends_whatever_happens_between_its_steps() {
    for on_disk in [false, true] {
        for (form, write, seen, sign) in FORMS {
            for n in [1, 40, MANY] {
                let w = World::new(on_disk);
                for (what, act) in DISTURBANCES {
                    if !on_disk && what.starts_with("checkpoint") {
                        continue;
                    }
                    let case = format!("{form}, {n}, {what}, on disk: {on_disk}");
                    let before = seen(&w);
                    let mut txn = w.db.begin().unwrap();
                    (0..n).for_each(|i| write(&w, &mut txn, i));
                    let (done, [plans, collected]) = disturbed(&w, act, || txn.commit());
                    let done = match done {
                        // The other commit may have written to what this one did.
                        Err(Error::Conflict { .. }) if what == "another commit" => continue,
                        done => done.unwrap_or_else(|e| panic!("{case}: {e}")),
                    };
                    assert!(plans <= 2 && collected <= 1, "{case}: {plans} plans");
                    // Of the others so many are left that a commit takes whole segments at once.
                    let few = matches!(form, "deletes" | "properties");
                    assert!(n < MANY || few || plans == 0, "{case}: {plans} plans");
                    let after = seen(&w);
                    if form == "edges" || form == "edges of a hub" {
                        assert_eq!(done.edges_added, n, "{case}");
                        assert_eq!(after - before, n, "{case}");
                    }
                    assert_eq!(
                        after.cmp(&before),
                        sign_of(&w, form, sign, before, after),
                        "{case}"
                    );
                    w.db.settle();
                    assert_eq!(seen(&w), after, "{case}: settled");
                }
                reopened(w, seen);
            }
        }
    }
}

/// What was written the first time is there, and what was there already changes nothing.
fn sign_of(_: &World, form: &str, sign: i64, before: u64, after: u64) -> std::cmp::Ordering {
    let again = matches!(form, "properties" | "simple edges" | "deletes");
    if again && before == after { std::cmp::Ordering::Equal } else { sign.cmp(&0) }
}

/// The log, or the checkpoint, says the same.
fn reopened(w: World, seen: Seen) {
    let Some(folder) = w.folder.as_ref().map(|f| f.path().join("db")) else { return };
    let before = seen(&w);
    let World { db, folder: kept, label, key, plain, simple, vertices } = w;
    drop(db);
    let settings = Settings { background_interval_ms: 0, ..Settings::default() };
    let db = Arc::new(Engine::open(folder, settings).unwrap());
    let w = World { db, folder: kept, label, key, plain, simple, vertices };
    assert_eq!(seen(&w), before, "after opening it again");
}

/// What needs latches that a commit holds is done by other threads, all the time.
#[test]
fn large_and_small_commits_end_beside_threads_that_settle_evict_and_checkpoint() {
    let w = World::new(true);
    let ended = AtomicBool::new(false);
    std::thread::scope(|threads| {
        let (db, ended) = (&w.db, &ended);
        for (_, act) in DISTURBANCES.into_iter().take(3) {
            threads.spawn(move || {
                while !ended.load(Ordering::Relaxed) {
                    act(db);
                }
            });
        }
        let mut edges = both(&w, w.plain);
        for round in 0..12_u64 {
            let n = if round % 2 == 0 { MANY } else { 30 };
            let mut txn = w.db.begin().unwrap();
            for i in 0..n {
                FORMS[2].1(&w, &mut txn, i + round);
                FORMS[5].1(&w, &mut txn, i + round);
            }
            assert_eq!(txn.commit().unwrap().edges_added, 2 * n);
            edges += 2 * n;
            assert_eq!(both(&w, w.plain), edges);
        }
        ended.store(true, Ordering::Relaxed);
    });
}

/// Told to end at any step, a commit leaves nothing behind, and the next one is not hindered.
#[test]
fn commit_that_is_told_to_end_leaves_nothing() {
    for (form, write, seen, _) in FORMS {
        for n in [40, MANY] {
            let w = World::new(false);
            let before = seen(&w);
            // At the first question, the second, and so on, until it is asked no more.
            let mut asked_in_all = 0;
            for end_at in [1, 2, 3, 5, 8, 13, 21, 34, 1000] {
                let mut txn = w.db.begin().unwrap();
                (0..n).for_each(|i| write(&w, &mut txn, i));
                let asked = Cell::new(0);
                let stop = || {
                    asked.set(asked.get() + 1);
                    asked.get() >= end_at
                };
                match txn.commit_unless(&stop) {
                    Err(Error::Interrupted) => {
                        assert_eq!(seen(&w), before, "{form}, {n}, ended at {end_at}");
                    }
                    done => {
                        done.unwrap();
                        asked_in_all = asked.get();
                        break;
                    }
                }
            }
            assert!(asked_in_all > 1, "{form}, {n}: asked {asked_in_all} times");
            let mut txn = w.db.begin().unwrap();
            FORMS[0].1(&w, &mut txn, 0);
            txn.commit().unwrap();
        }
    }
}
