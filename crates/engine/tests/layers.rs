//! Commits that write most of what they touch, between others, seen by readers of every age; and
//! again after settling, checkpoints and restarts.
#![cfg(not(feature = "shuttle"))]
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;

use std::collections::BTreeMap;

use telar_engine::{EdgeTypeOptions, Engine, Error, Retention, Settings, Snapshot};
use telar_graph::{EdgeId, EdgeTypeId, LabelId, PropertyKeyId, Value, View};

use common::{Random, no_background, v};

/// Writes of a commit that takes its segments as a whole: it makes more of them.
const LARGE: u64 = 4097;

#[derive(Debug, Clone, Default, PartialEq)]
struct Model {
    /// Whether it has the second label, and its properties, by vertex.
    vertices: BTreeMap<u64, (bool, [Value; 2])>,
    edges: BTreeMap<EdgeId, Value>,
}

struct Names {
    labels: [LabelId; 2],
    keys: [PropertyKeyId; 2],
    ty: EdgeTypeId,
}

impl Names {
    fn of(db: &Engine) -> Self {
        Self {
            labels: ["A", "B"].map(|name| db.label(name).unwrap()),
            keys: ["k", "l"].map(|name| db.property_key(name).unwrap()),
            ty: db.edge_type("T", EdgeTypeOptions::general()).unwrap(),
        }
    }
}

fn settings(history: bool) -> Settings {
    let mut settings = no_background();
    if history {
        settings.retain = Retention::commits(6);
    }
    settings
}

/// One commit: large ones make, change or delete thousands of things, others a few.
fn commit(db: &Engine, names: &Names, random: &mut Random, model: &mut Model) {
    let mut txn = db.begin().unwrap();
    let many = if random.below(3) > 0 { LARGE } else { 1 + random.below(20) };
    match random.below(5) {
        0 | 1 => {
            for n in 0..many {
                let vertex = txn.create_vertex(&names.labels[..1]).unwrap();
                let value = Value::Int((n % 7) as i64);
                txn.set_vertex_property(vertex, names.keys[0], value.clone()).unwrap();
                model.vertices.insert(vertex.get(), (false, [value, Value::Null]));
            }
        }
        2 => {
            let some = random.below(4) + 1;
            let texts = random.below(2) == 0;
            for (n, entry) in model.vertices.iter_mut().step_by(some as usize).enumerate() {
                if n as u64 >= many {
                    break;
                }
                let value = if texts { format!("t{}", n % 5).as_str().into() } else { Value::Null };
                let (vertex, (has_label, values)) = entry;
                txn.set_vertex_property(v(*vertex), names.keys[1], value.clone()).unwrap();
                txn.add_label(v(*vertex), names.labels[1]).unwrap();
                (*has_label, values[1]) = (true, value);
            }
        }
        3 => {
            let ends: Vec<u64> = model.vertices.keys().take(2).copied().collect();
            let [a, b] = ends[..] else { return };
            let old: Vec<EdgeId> = model.edges.keys().take((many / 2) as usize).copied().collect();
            for edge in old {
                txn.set_edge_property(edge, names.keys[0], Value::Bool(true)).unwrap();
                model.edges.insert(edge, Value::Bool(true));
            }
            for n in 0..many / 2 {
                let value = Value::Float(n as f64);
                let made = txn.create_edge(names.ty, v(a), v(b), &[(names.keys[0], value.clone())]);
                model.edges.insert(made.unwrap(), value);
            }
        }
        _ => {
            // Not the ends of edges.
            let later = model.vertices.keys().skip(2 + random.below(9) as usize);
            let gone: Vec<u64> = later.take((many / 2) as usize).copied().collect();
            for vertex in gone {
                txn.delete_vertex(v(vertex), true).unwrap();
                model.vertices.remove(&vertex);
            }
        }
    }
    txn.commit().unwrap();
}

#[track_caller]
fn check(snapshot: &Snapshot<'_>, names: &Names, model: &Model) {
    let reader = snapshot.reader();
    let mut found = Model::default();
    let mut vertices = Vec::new();
    reader.scan(None, v(0), reader.vertex_bound(), &mut vertices).unwrap();
    for vertex in vertices {
        let labels = reader.labels(vertex).unwrap();
        let values = names.keys.map(|key| reader.vertex_property(vertex, key));
        found.vertices.insert(vertex.get(), (labels.contains(&names.labels[1]), values));
    }
    for edge in model.edges.keys() {
        found.edges.insert(*edge, reader.edge_property(*edge, names.keys[0]));
    }
    assert!(found == *model, "{} and {} vertices", found.vertices.len(), model.vertices.len());
}

fn run(seed: u64, mut db: Engine, reopen: &dyn Fn(Engine, bool) -> Engine) -> Engine {
    let mut random = Random(seed * 7 + 1);
    let names = Names::of(&db);
    let mut model = Model::default();
    let mut kept: Vec<(Snapshot<'static>, Model)> = Vec::new();
    for _ in 0..14 {
        commit(&db, &names, &mut random, &mut model);
        match random.below(6) {
            0 | 1 => kept.push((db.snapshot_owned().unwrap(), model.clone())),
            2 => db.settle(),
            3 => drop(db.checkpoint().unwrap()),
            4 if !kept.is_empty() => {
                drop(kept.swap_remove(random.below(kept.len() as u64) as usize))
            }
            5 => {
                kept.clear();
                db = reopen(db, random.below(2) == 0);
            }
            _ => {}
        }
        kept.iter().for_each(|(snapshot, model)| check(snapshot, &names, model));
        check(&db.snapshot().unwrap(), &names, &model);
    }
    db
}

#[test]
fn readers_of_every_age_see_their_version_in_memory() {
    for (seed, history) in (0..4).map(|seed| (seed, seed % 2 == 0)) {
        run(seed, Engine::in_memory(settings(history)).unwrap(), &|db, _| db);
    }
}

#[test]
fn readers_of_every_age_see_their_version_on_disk() {
    for (seed, history) in (4..8).map(|seed| (seed, seed % 2 == 0)) {
        let folder = tempfile::tempdir().unwrap();
        let open = || Engine::open(folder.path(), settings(history)).unwrap();
        let db = run(seed, open(), &|db, close| {
            if close {
                db.close().unwrap()
            } else {
                drop(db)
            }
            open()
        });
        db.close().unwrap();
        let report = telar_engine::maintenance::check(folder.path()).unwrap();
        assert!(report.worst().is_none(), "{report:?}");
    }
}

#[test]
fn who_writes_beside_a_large_commit_conflicts_only_where_it_wrote() {
    let db = Engine::in_memory(no_background()).unwrap();
    let names = Names::of(&db);
    common::with_vertices(&db, 8192);
    db.settle();
    let before = db.snapshot().unwrap();
    let [mut same, mut other] = [db.begin().unwrap(), db.begin().unwrap()];
    let mut large = db.begin().unwrap();
    for n in (0..8192).filter(|n| n % 1024 != 5) {
        large.set_vertex_property(v(n), names.keys[0], Value::Int(n as i64)).unwrap();
    }
    large.commit().unwrap();
    same.set_vertex_property(v(4), names.keys[0], Value::Int(-1)).unwrap();
    let refused = same.commit().unwrap_err();
    assert!(matches!(refused, Error::Conflict { .. }), "{refused}");
    other.set_vertex_property(v(5), names.keys[0], Value::Int(-1)).unwrap();
    other.commit().unwrap();
    let value = |snapshot: &Snapshot<'_>, n| snapshot.reader().vertex_property(v(n), names.keys[0]);
    let after = db.snapshot().unwrap();
    assert_eq!((value(&after, 4), value(&after, 5)), (Value::Int(4), Value::Int(-1)));
    assert_eq!((value(&before, 4), value(&before, 5)), (Value::Null, Value::Null));
}
