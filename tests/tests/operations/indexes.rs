//! Indexes and constraints in backups, restores and checks: made and dropped between backups.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use telar_engine::maintenance::{RepairOptions, RestorePoint, check, repair};
use telar_engine::{
    ConstraintKind, ConstraintSpec, EdgeTypeOptions, Engine, Error, IndexKind, IndexSpec,
    IndexTarget, Isolation,
};
use telar_graph::value::{Point, Srid};
use telar_graph::{IndexId, IndexRange, IndexUnavailable, Value, VertexId};
use telar_tests::dump::Dump;
use telar_tests::{PrintSeed, Rng, indexed};

use super::{backup, files, open, restore_to, write};

type Files = BTreeMap<PathBuf, Vec<u8>>;

fn names(db: &Engine) -> Vec<String> {
    let mut names: Vec<String> = db.indexes().into_iter().map(|i| i.name).collect();
    names.sort();
    names
}

fn add_vertices(db: &Engine, range: std::ops::Range<i64>) {
    let (label, key) = (db.label("Thing").unwrap(), db.property_key("n").unwrap());
    let mut txn = db.begin_with(Isolation::Snapshot).unwrap();
    for n in range {
        let v = txn.create_vertex(&[label]).unwrap();
        txn.set_vertex_property(v, key, Value::Int(n)).unwrap();
    }
    txn.commit().unwrap();
}

fn make_index(db: &Engine, name: &str) {
    let target = IndexTarget::Vertices(db.label("Thing").unwrap());
    let properties = vec![db.property_key("n").unwrap()];
    db.create_index(IndexSpec { name: name.to_owned(), target, properties }).unwrap();
}

#[test]
fn indexes_made_and_dropped_between_backups_are_restored_as_they_were() {
    let dir = tempfile::tempdir().unwrap();
    let at = |name: &str| dir.path().join(name);
    let db = open(&at("graph"));
    add_vertices(&db, 0..3000);
    make_index(&db, "dropped");
    make_index(&db, "kept");
    db.checkpoint().unwrap();
    backup(&db, &at("full"), None).unwrap();

    db.drop_index(db.find_index("dropped").unwrap()).unwrap();
    add_vertices(&db, 3000..4000);
    let target = IndexTarget::Vertices(db.label("Thing").unwrap());
    let properties = vec![db.property_key("n").unwrap()];
    let (name, kind) = ("unique".to_owned(), ConstraintKind::Unique);
    db.create_constraint(ConstraintSpec { name, target, properties, kind }).unwrap();
    db.checkpoint().unwrap();
    make_index(&db, "in the log only");
    backup(&db, &at("second"), Some(&at("full"))).unwrap();

    for (chain, wanted) in [
        (vec![at("full")], vec!["dropped", "kept"]),
        (vec![at("full"), at("second")], vec!["in the log only", "kept", "unique"]),
    ] {
        let target = at(&format!("restored-{}", chain.len()));
        assert_eq!(check(chain.last().unwrap()).unwrap().findings, []);
        restore_to(&chain, &target, RestorePoint::Latest, &[]).unwrap();
        assert_eq!(check(&target).unwrap().findings, []);
        let restored = open(&target);
        assert_eq!(names(&restored), wanted);
        indexed::verify(&restored).unwrap();
    }
    db.close().unwrap();
    assert_eq!(check(at("graph")).unwrap().findings, []);
    indexed::verify(&open(&at("graph"))).unwrap();
}

/// One of some hundred points, in the plane or on the globe.
fn point(number: i64) -> Value {
    let srid = if number % 2 == 0 { Srid::Wgs84 } else { Srid::Cartesian };
    let at = [number % 180, number % 90].map(|n| n as f64);
    Point::new(srid, &at).unwrap().into()
}

/// A database with indexes of every kind, of some partitions each, written in several checkpoints,
/// and closed; the numbers of the indexes with entries.
fn made(dir: &Path) -> (Files, Dump, Vec<(String, IndexId)>) {
    let db = open(dir);
    let label = db.label("Thing").unwrap();
    let [n, m, text, place] =
        ["n", "m", "text", "place"].map(|name| db.property_key(name).unwrap());
    let ty = db.edge_type("MULTI", EdgeTypeOptions::general()).unwrap();
    let (things, edges) = (IndexTarget::Vertices(label), IndexTarget::Edges(ty));
    let spec = |name: &str, target, key| {
        let (name, properties) = (name.to_owned(), vec![key]);
        IndexSpec { name, target, properties }
    };
    db.create_index_of(IndexKind::Text, spec("texts", things, m)).unwrap();
    db.create_index_of(IndexKind::Point, spec("points", edges, place)).unwrap();
    for (name, target, properties) in [
        ("by m", things, vec![m]),
        ("by m and n", things, vec![m, n]),
        ("edges by n", edges, vec![n]),
    ] {
        db.create_index(IndexSpec { name: name.to_owned(), target, properties }).unwrap();
    }
    for (name, property, kind) in
        [("key", text, ConstraintKind::Unique), ("has n", n, ConstraintKind::Exists)]
    {
        let (name, properties) = (name.to_owned(), vec![property]);
        db.create_constraint(ConstraintSpec { name, target: things, properties, kind }).unwrap();
    }
    let mut vertices = Vec::new();
    for round in 0..3 {
        let mut txn = db.begin_with(Isolation::Snapshot).unwrap();
        for i in 0..900 {
            let v = txn.create_vertex(&[label]).unwrap();
            let number = round * 900 + i;
            let key = format!("a key of some length, number {number}").as_str().into();
            txn.set_vertex_property(v, text, key).unwrap();
            txn.set_vertex_property(v, n, Value::Int(number)).unwrap();
            if i % 3 != 0 {
                txn.set_vertex_property(v, m, Value::Float((number % 70) as f64 / 8.0)).unwrap();
            } else {
                txn.set_vertex_property(v, m, format!("text {number}").as_str().into()).unwrap();
            }
            // Some were deleted, and their numbers may not be in use again yet.
            let other = vertices.get(i as usize / 2).filter(|other| txn.exists(**other));
            if let Some(other) = other.copied() {
                let weight = Value::Int(number * 7919 % 1000);
                txn.create_edge(ty, v, other, &[(n, weight)]).unwrap();
                txn.create_edge(ty, other, v, &[(place, point(number))]).unwrap();
            }
            vertices.push(v);
        }
        // What is obsolete is in no checkpoint.
        for v in vertices.iter().skip(round as usize).step_by(13) {
            if txn.exists(*v) && round > 0 {
                txn.set_vertex_property(*v, m, Value::Null).unwrap();
            }
        }
        if round > 0 {
            txn.delete_vertex(vertices[40 * round as usize], true).unwrap();
        }
        txn.commit().unwrap();
        db.checkpoint().unwrap();
    }
    let indexes = db.indexes().into_iter().filter(|i| i.name != "has n");
    let indexes = indexes.map(|index| (index.name, index.id)).collect();
    let dump = Dump::of(&db).unwrap();
    db.close().unwrap();
    (files(dir), dump, indexes)
}

/// With a part of one index damaged, everything else can be used.
fn only_this_index_is_unreadable(dir: &Path, damaged: IndexId, dump: &Dump) {
    let db = open(dir);
    assert_eq!(Dump::of(&db).unwrap(), *dump, "a scan finds everything");
    for index in db.indexes().into_iter().filter(|i| i.name != "has n") {
        let (reader, all) = (db.reader().unwrap(), IndexRange::default());
        let read = match index.target {
            IndexTarget::Vertices(_) => reader.index_range(index.id, &all).map(drop),
            IndexTarget::Edges(_) => reader.index_range_edges(index.id, &all).map(drop),
        };
        let wanted =
            if index.id == damaged { Err(IndexUnavailable::Damaged(damaged)) } else { Ok(()) };
        assert_eq!(read, wanted, "index {}", index.name);
    }
    let (label, n) = (db.label("Thing").unwrap(), db.property_key("n").unwrap());
    let ty = db.edge_type("MULTI", EdgeTypeOptions::general()).unwrap();
    let [m, text, place] = ["m", "text", "place"].map(|name| db.property_key(name).unwrap());
    let mut txn = db.begin_with(Isolation::Snapshot).unwrap();
    let v = txn.create_vertex(&[label]).unwrap();
    txn.set_vertex_property(v, n, Value::Int(-1)).unwrap();
    txn.set_vertex_property(v, m, Value::Int(-1)).unwrap();
    txn.set_vertex_property(v, text, "new".into()).unwrap();
    txn.create_edge(ty, v, v, &[(n, Value::Int(-1)), (place, point(1))]).unwrap();
    let refused = txn.commit().unwrap_err();
    assert!(matches!(refused, Error::Damaged { .. }), "{refused}");
    // What does not concern the index can be written.
    let other = db.label("Other").unwrap();
    let mut txn = db.begin().unwrap();
    txn.create_vertex(&[other]).unwrap();
    txn.commit().unwrap();
}

#[test]
fn a_damaged_index_is_named_unreadable_and_made_anew() {
    let seed = telar_tests::seed();
    let _print = PrintSeed(seed);
    let mut rng = Rng::new(seed);
    let dir = tempfile::tempdir().unwrap();
    let (whole, dump, indexes) = made(&dir.path().join("graph"));
    let (at, to) = (dir.path().join("damaged"), dir.path().join("repaired"));
    assert_eq!(check(dir.path().join("graph")).unwrap().findings, []);
    let store = Path::new("store/data.mdb");
    let mut hits: BTreeMap<&str, u32> = BTreeMap::new();
    let wanted = if telar_tests::long() { 20 } else { 2 };
    for _ in 0..4000 {
        if hits.len() == indexes.len() && hits.values().all(|n| *n >= wanted) {
            break;
        }
        let mut damaged = whole.clone();
        let bytes = damaged.get_mut(store).unwrap();
        let place = rng.below(bytes.len() as u64) as usize;
        bytes[place] ^= 1 << rng.below(8);
        write(&damaged, &at);
        let report = check(&at).unwrap();
        let place_of = |name: &str| format!(" of index {name}");
        let hit = indexes.iter().find(|(name, _)| {
            let found = &report.findings;
            !found.is_empty() && found.iter().all(|f| f.place.ends_with(&place_of(name)))
        });
        let Some((name, id)) = hit else { continue };
        let count = hits.entry(name).or_default();
        *count += 1;
        if *count > wanted {
            continue;
        }
        only_this_index_is_unreadable(&at, *id, &dump);
        write(&damaged, &at);
        let done = repair(&at, &to, RepairOptions::default()).unwrap();
        assert!(done.done[0].contains(&format!("index {name} made anew")), "{:?}", done.done);
        assert_eq!(files(&at), damaged, "a repair changed what it repairs");
        assert_eq!(check(&to).unwrap().findings, []);
        let db = open(&to);
        assert_eq!(Dump::of(&db).unwrap(), dump);
        indexed::verify(&db).unwrap();
        // It goes on being kept.
        let (m, v) = (db.property_key("m").unwrap(), VertexId::from_raw(1));
        let mut txn = db.begin().unwrap();
        txn.set_vertex_property(v, m, Value::Int(-5)).unwrap();
        txn.commit().unwrap();
        indexed::verify(&db).unwrap();
        db.close().unwrap();
        assert_eq!(check(&to).unwrap().findings, []);
        std::fs::remove_dir_all(&to).unwrap();
    }
    println!("{hits:?}");
    assert!(hits.len() == indexes.len() && hits.values().all(|n| *n >= wanted), "{hits:?}");
}
