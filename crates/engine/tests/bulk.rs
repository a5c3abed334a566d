//! Bulk loads against a plain model: into empty and populated databases, in memory and on disk,
//! sorted in memory and in files, beside transactions; and what an abandoned one leaves: nothing.
#![cfg(not(feature = "shuttle"))]
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use common::StopAtEnd;
use proptest::prelude::*;
use telar_engine::{
    BulkOptions, BulkReport, BulkStep, Column, ConstraintKind, ConstraintSpec, EdgeTypeOptions,
    Engine, Error, IndexTarget, Settings,
};
use telar_graph::{Counts, Direction, Value, VertexId, View};

fn settings() -> Settings {
    let mut settings = Settings::default();
    settings.store_bytes_max = 1 << 28;
    settings.background_interval_ms = 5;
    settings.hub_entries_min = 1024;
    settings
}

/// Sorted properties of a vertex or an edge.
type Properties = Vec<(String, String)>;

/// What a database holds, in a form that compares.
#[derive(Debug, Clone, Default, PartialEq)]
struct Model {
    vertices: BTreeMap<u64, (Vec<String>, Properties)>,
    /// Type, ends, properties; parallel edges are entries of their own.
    edges: Vec<(String, u64, u64, Properties)>,
}

impl Model {
    /// Reads everything; out lists give the edges, in lists must mirror them.
    fn of(db: &Engine) -> Self {
        let reader = db.reader().unwrap();
        let (labels, keys) = (db.labels(), db.property_keys());
        let text = |get: &dyn Fn(telar_graph::PropertyKeyId) -> Value| -> Properties {
            let all = keys.iter().map(|k| (k.clone(), get(db.find_property_key(k).unwrap())));
            let set = all.filter(|(_, v)| !v.is_null());
            let mut set: Properties = set.map(|(k, v)| (k, format!("{v:?}"))).collect();
            set.sort();
            set
        };
        let mut model = Self::default();
        let mut found = Vec::new();
        reader.scan(None, VertexId::from_raw(0), reader.vertex_bound(), &mut found).unwrap();
        for v in &found {
            let set = reader.labels(*v).unwrap();
            let set = set.iter().map(|l| labels[usize::from(l.get())].clone()).collect();
            let properties = text(&|key| reader.vertex_property(*v, key));
            model.vertices.insert(v.get(), (set, properties));
        }
        for (name, _) in db.edge_types() {
            let ty = db.find_edge_type(&name).unwrap();
            let (mut out, mut inward) = (Vec::new(), Vec::new());
            for v in 0..reader.vertex_bound().get() {
                let v = VertexId::from_raw(v);
                out.extend(reader.edges(v, ty, Direction::Out));
                inward.extend(reader.edges(v, ty, Direction::In));
            }
            for e in &out {
                let properties = text(&|key| reader.edge_property(*e, key));
                model.edges.push((name.clone(), e.src.get(), e.dst.get(), properties));
                assert!(reader.search_edge(ty, e.src, e.dst));
            }
            out.sort_unstable();
            inward.sort_unstable();
            assert_eq!(out, inward, "lists do not mirror");
        }
        model.edges.sort();
        model
    }
}

/// A random graph to load: ends count from 0 over old vertices first, then new ones.
#[derive(Debug, Clone)]
struct Graph {
    vertices: Vec<(u8, Option<i64>, Option<String>)>,
    simple: Vec<(u32, u32)>,
    general: Vec<(u32, u32, Option<i64>, Value)>,
}

fn graph(vertices: usize, edges: usize) -> impl Strategy<Value = Graph> {
    let vertex = (0..3u8, proptest::option::of(-5i64..5), proptest::option::of("[a-c]{0,2}"));
    let value = prop_oneof![
        Just(Value::Null),
        any::<f64>().prop_map(Value::Float),
        "[xy]{1,2}".prop_map(Value::from),
    ];
    let general = (any::<u32>(), any::<u32>(), proptest::option::of(0i64..9), value);
    (
        proptest::collection::vec(vertex, 0..vertices),
        proptest::collection::vec((any::<u32>(), any::<u32>()), 0..edges),
        proptest::collection::vec(general, 0..edges),
    )
        .prop_map(|(vertices, simple, general)| Graph { vertices, simple, general })
}

const LABELS: [&[&str]; 3] = [&[], &["A"], &["A", "B"]];

/// Loads `graph` and adds it to the model.
fn load(db: &Engine, graph: &Graph, options: BulkOptions, model: &mut Model) -> BulkReport {
    let old: Vec<u64> = model.vertices.keys().copied().collect();
    let mut load = db.bulk_load(options).unwrap();
    let (number, name) = (load.property_key("number").unwrap(), load.property_key("name").unwrap());
    for chunk in graph.vertices.chunks(7) {
        let sets: Vec<Vec<_>> = chunk
            .iter()
            .map(|(set, ..)| LABELS[*set as usize].iter().map(|l| load.label(l).unwrap()).collect())
            .collect();
        let runs: Vec<(&[_], usize)> = sets.iter().map(|s| (s.as_slice(), 1)).collect();
        let numbers: Column = chunk.iter().map(|(_, n, _)| Value::from(*n)).collect();
        let names: Column = chunk.iter().map(|(_, _, n)| Value::from(n.clone())).collect();
        load.add_vertices_of(&runs, &[(number, numbers), (name, names)]).unwrap();
    }
    let first = load.first_vertex().unwrap().get();
    let all: Vec<u64> = old.into_iter().chain(first..first + graph.vertices.len() as u64).collect();
    for (id, (set, n, s)) in (first..).zip(&graph.vertices) {
        let mut properties = Vec::new();
        properties.extend(s.as_ref().map(|s| ("name".into(), format!("{:?}", Value::from(&**s)))));
        properties.extend(n.map(|n| ("number".into(), format!("{:?}", Value::Int(n)))));
        let labels = LABELS[*set as usize].iter().map(|l| (*l).to_owned()).collect();
        model.vertices.insert(id, (labels, properties));
    }
    let mut expected_duplicates = 0;
    if !all.is_empty() {
        let end = |raw: u32| all[raw as usize % all.len()];
        let simple = load.edge_type("SIMPLE", EdgeTypeOptions::simple()).unwrap();
        let ends: Vec<_> =
            graph.simple.iter().map(|(u, v)| (end(*u) as u32, end(*v) as u32)).collect();
        for ends in ends.chunks(11) {
            load.add_edges(simple, ends.to_vec(), vec![]).unwrap();
        }
        for (u, v) in &ends {
            let edge = ("SIMPLE".to_owned(), u64::from(*u), u64::from(*v), vec![]);
            if model.edges.contains(&edge) {
                expected_duplicates += 1;
            } else {
                model.edges.push(edge);
            }
        }
        let general = load.edge_type("GENERAL", EdgeTypeOptions::general()).unwrap();
        for part in graph.general.chunks(13) {
            let ends: Vec<_> =
                part.iter().map(|(u, v, ..)| (end(*u) as u32, end(*v) as u32)).collect();
            let numbers: Column = part.iter().map(|(_, _, n, _)| Value::from(*n)).collect();
            let names: Column = part.iter().map(|(.., v)| v.clone()).collect();
            load.add_edges(general, ends.clone(), vec![(number, numbers), (name, names)]).unwrap();
            for ((u, v), (_, _, n, value)) in ends.iter().zip(part) {
                let mut properties = Vec::new();
                if !value.is_null() {
                    properties.push(("name".into(), format!("{value:?}")));
                }
                properties.extend(n.map(|n| ("number".into(), format!("{:?}", Value::Int(n)))));
                let edge = ("GENERAL".to_owned(), u64::from(*u), u64::from(*v), properties);
                model.edges.push(edge);
            }
        }
    }
    let report = load.finish(&|_, _, _| {}).unwrap();
    model.edges.sort();
    assert_eq!(report.duplicates, expected_duplicates);
    assert_eq!(report.vertices, graph.vertices.len() as u64);
    report
}

/// A few vertices and edges by transactions.
fn write_some(db: &Engine, model: &mut Model, seed: u64) {
    let label = db.label("A").unwrap();
    let number = db.property_key("number").unwrap();
    let simple = db.edge_type("SIMPLE", EdgeTypeOptions::simple()).unwrap();
    let general = db.edge_type("GENERAL", EdgeTypeOptions::general()).unwrap();
    let mut txn = db.begin().unwrap();
    for i in 0..3 {
        let v = txn.create_vertex(&[label]).unwrap();
        txn.set_vertex_property(v, number, Value::Int(i)).unwrap();
        let properties = vec![("number".to_owned(), format!("{:?}", Value::Int(i)))];
        model.vertices.insert(v.get(), (vec!["A".to_owned()], properties));
    }
    let all: Vec<u64> = model.vertices.keys().copied().collect();
    for i in 0..5u64 {
        let pick =
            |k: u64| all[(seed.wrapping_mul(31).wrapping_add(k * 7 + i) as usize) % all.len()];
        let (u, v) = (pick(1), pick(5));
        let (src, dst) = (VertexId::from_raw(u), VertexId::from_raw(v));
        txn.upsert_edge(simple, src, dst).unwrap();
        let edge = ("SIMPLE".to_owned(), u, v, vec![]);
        if !model.edges.contains(&edge) {
            model.edges.push(edge);
        }
        txn.create_edge(general, src, dst, &[(number, Value::Int(77))]).unwrap();
        let properties = vec![("number".to_owned(), format!("{:?}", Value::Int(77)))];
        model.edges.push(("GENERAL".to_owned(), u, v, properties));
    }
    txn.commit().unwrap();
    model.edges.sort();
}

fn options(spill: bool) -> BulkOptions {
    let mut options = BulkOptions::default();
    if spill {
        options.memory_bytes = 2000;
    }
    options
}

/// Nothing but the usual files.
fn assert_no_temporary_files(path: &Path) {
    let left = std::fs::read_dir(path.join("tmp")).map(|d| d.count()).unwrap_or(0);
    assert_eq!(left, 0, "files left in tmp");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn loads_and_transactions_give_what_the_model_says(
        graphs in proptest::collection::vec(graph(60, 300), 1..4),
        durable: bool,
        spill: bool,
        populated: bool,
        seed: u64,
    ) {
        let dir = tempfile::tempdir().unwrap();
        let open = || Engine::open(dir.path(), settings()).unwrap();
        let mut db = if durable { open() } else { Engine::in_memory(settings()).unwrap() };
        let mut model = Model::default();
        if populated {
            write_some(&db, &mut model, seed);
        }
        for (i, graph) in graphs.iter().enumerate() {
            load(&db, graph, options(spill), &mut model);
            prop_assert_eq!(&Model::of(&db), &model);
            assert_no_temporary_files(dir.path());
            if durable && i % 2 == 0 {
                drop(db);
                db = open();
                prop_assert_eq!(&Model::of(&db), &model);
            }
            write_some(&db, &mut model, seed ^ i as u64);
            prop_assert_eq!(&Model::of(&db), &model);
        }
        if durable {
            db.close().unwrap();
            db = open();
            prop_assert_eq!(&Model::of(&db), &model);
        }
    }
}

fn ring(n: u32) -> Graph {
    let vertices = (0..n).map(|i| (1, Some(i64::from(i)), Some(format!("v{i}")))).collect();
    let hub = (0..n).map(|i| (0, i));
    let simple = (0..n).map(|i| (i, (i + 1) % n)).chain(hub).filter(|(u, v)| u != v).collect();
    let general = (0..n).map(|i| (i, i / 2, Some(1), Value::Float(0.25))).collect();
    Graph { vertices, simple, general }
}

#[test]
fn several_segments_and_a_hub_come_in_and_stay() {
    let dir = tempfile::tempdir().unwrap();
    let mut model = Model::default();
    let mut graph = ring(5000);
    graph.simple.sort_unstable();
    graph.simple.dedup();
    for spill in [false, true] {
        let db = Engine::open(dir.path(), settings()).unwrap();
        let mut many = options(spill);
        many.memory_bytes *= 50;
        let old = model.vertices.len();
        let report = load(&db, &graph, many, &mut model);
        if spill && old == 0 {
            assert!(report.spilled > 0);
        }
        assert_eq!(report.properties, 10_000 + 10_000);
        assert!(Model::of(&db) == model);
        drop(db);
        let db = Engine::open(dir.path(), settings()).unwrap();
        assert!(Model::of(&db) == model);
        // Written on: positions, hubs and ordinals are those of any other database.
        write_some(&db, &mut model, 3);
        assert!(Model::of(&db) == model);
        db.close().unwrap();
        // The second round begins with a populated database, whose vertices get the edges.
        graph.simple.clear();
    }
}

#[test]
fn a_dropped_load_and_a_failed_one_leave_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let db = Engine::open(dir.path(), settings()).unwrap();
    let mut model = Model::default();
    write_some(&db, &mut model, 1);
    let names = (db.labels(), db.property_keys(), db.edge_types());
    let (published, bound) = (db.published(), db.reader().unwrap().vertex_bound());
    for how in 0..4 {
        let mut options = options(true);
        options.reader_wait_ms = 30;
        options.reject_duplicates = true;
        let mut load = db.bulk_load(options).unwrap();
        let label = load.label("New").unwrap();
        let key = load.property_key("fresh").unwrap();
        let values: Column = (0..2000i64).map(Value::Int).collect();
        load.add_vertices(&[label], 2000, &[(key, values)]).unwrap();
        let first = load.first_vertex().unwrap().get() as u32;
        let ty = load.edge_type("NEW", EdgeTypeOptions::simple()).unwrap();
        let ends: Vec<(u32, u32)> = (0..1999).map(|i| (first + i, first + i + 1)).collect();
        load.add_edges(ty, ends.clone(), vec![]).unwrap();
        match how {
            0 => drop(load),
            1 => {
                // An end that does not exist.
                load.add_edges(ty, vec![(first, first + 2000)], vec![]).unwrap();
                let e = load.finish(&|_, _, _| {}).unwrap_err();
                assert!(matches!(e, Error::NotFound(_)), "{e}");
            }
            2 => {
                load.add_edges(ty, ends[..1].to_vec(), vec![]).unwrap();
                let e = load.finish(&|_, _, _| {}).unwrap_err();
                assert!(matches!(e, Error::BulkLoad { .. }), "{e}");
            }
            _ => {
                let snapshot = db.snapshot().unwrap();
                let e = load.finish(&|_, _, _| {}).unwrap_err();
                assert!(matches!(e, Error::SnapshotsOpen { count: 1, .. }), "{e}");
                assert!(e.is_retryable());
                drop(snapshot);
            }
        }
        assert_eq!((db.labels(), db.property_keys(), db.edge_types()), names);
        assert_eq!((db.published(), db.reader().unwrap().vertex_bound()), (published, bound));
        assert_eq!(Model::of(&db), model);
        assert_no_temporary_files(dir.path());
    }
    // The gate is open again.
    write_some(&db, &mut model, 9);
    assert_eq!(Model::of(&db), model);
    drop(db);
    let db = Engine::open(dir.path(), settings()).unwrap();
    assert_eq!(Model::of(&db), model);
}

#[test]
fn open_transactions_are_refused_and_new_ones_wait() {
    let dir = tempfile::tempdir().unwrap();
    let db = Engine::open(dir.path(), settings()).unwrap();
    let mut model = Model::default();
    write_some(&db, &mut model, 1);
    let label = db.label("A").unwrap();
    let (begun, loading) = (AtomicBool::new(false), AtomicBool::new(false));
    std::thread::scope(|scope| {
        let other = scope.spawn(|| {
            let mut txn = db.begin().unwrap();
            txn.create_vertex(&[label]).unwrap();
            begun.store(true, Ordering::SeqCst);
            while !loading.load(Ordering::SeqCst) {
                std::thread::sleep(Duration::from_millis(1));
            }
            let refused = txn.commit().unwrap_err();
            assert!(refused.is_retryable(), "{refused}");
            // Waits for the load, then goes through.
            db.write(Default::default(), |txn| txn.create_vertex(&[label])).unwrap().0
        });
        while !begun.load(Ordering::SeqCst) {
            std::thread::yield_now();
        }
        let mut load = db.bulk_load(BulkOptions::default()).unwrap();
        let name = load.label("L").unwrap();
        load.add_vertices(&[name], 10, &[]).unwrap();
        // Nobody commits any more from when it stores.
        let progress = |step, _, _| {
            loading.fetch_or(step == BulkStep::Storing, Ordering::SeqCst);
        };
        let report = load.finish(&progress).unwrap();
        assert!(loading.load(Ordering::SeqCst), "it stores");
        let vertex = other.join().unwrap();
        assert!(report.ts > telar_graph::CommitTs::ZERO);
        let reader = db.reader().unwrap();
        assert!(reader.exists(vertex));
        let mut found = Vec::new();
        let l = db.find_label("L");
        reader.scan(l, VertexId::from_raw(0), reader.vertex_bound(), &mut found).unwrap();
        assert_eq!(found.len(), 10);
    });
}

#[test]
fn loads_beside_writers_and_readers_lose_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let db = Engine::open(dir.path(), settings()).unwrap();
    let label = db.label("A").unwrap();
    let simple = db.edge_type("SIMPLE", EdgeTypeOptions::simple()).unwrap();
    let general = db.edge_type("GENERAL", EdgeTypeOptions::general()).unwrap();
    let weight = db.property_key("weight").unwrap();
    let hub = db.write(Default::default(), |txn| txn.create_vertex(&[label])).unwrap().0;
    let stop = AtomicBool::new(false);
    let written = std::thread::scope(|scope| {
        let writer = scope.spawn(|| {
            let mut written = 0u64;
            while !stop.load(Ordering::Relaxed) {
                db.write(Default::default(), |txn| {
                    let v = txn.create_vertex(&[label])?;
                    txn.create_edge(general, v, hub, &[(weight, Value::Int(-1))])?;
                    txn.upsert_edge(simple, hub, v)
                })
                .unwrap();
                written += 1;
            }
            written
        });
        let reader = scope.spawn(|| {
            while !stop.load(Ordering::Relaxed) {
                // A snapshot sees a load as a whole: its 500 edges or none of them.
                let reader = db.reader().unwrap();
                let in_loads = reader.degree(hub, simple, Direction::In);
                assert_eq!(in_loads % 500, 0, "part of a load is seen");
            }
        });
        let stopped = StopAtEnd(&stop);
        for _ in 0..10 {
            let mut load = db.bulk_load(BulkOptions::default()).unwrap();
            let l = load.label("L").unwrap();
            load.add_vertices(&[l], 500, &[]).unwrap();
            let first = load.first_vertex().unwrap().get() as u32;
            let ty = load.edge_type("SIMPLE", EdgeTypeOptions::simple()).unwrap();
            let ends: Vec<_> = (0..500).map(|i| (first + i, hub.get() as u32)).collect();
            load.add_edges(ty, ends.clone(), vec![]).unwrap();
            let ty = load.edge_type("GENERAL", EdgeTypeOptions::general()).unwrap();
            let weight = load.property_key("weight").unwrap();
            let weights: Column = (0..500i64).map(Value::from).collect();
            load.add_edges(ty, ends, vec![(weight, weights)]).unwrap();
            load.finish(&|_, _, _| {}).unwrap();
        }
        drop(stopped);
        reader.join().unwrap();
        writer.join().unwrap()
    });
    let check = |db: &Engine| {
        let reader = db.reader().unwrap();
        assert_eq!(reader.degree(hub, simple, Direction::In), 5000);
        assert_eq!(reader.degree(hub, simple, Direction::Out) as u64, written);
        assert_eq!(reader.statistics().unwrap().vertices, 1 + 5000 + written);
        let mut sums = (0, 0);
        for edge in reader.edges(hub, general, Direction::In) {
            match reader.edge_property(edge, weight) {
                Value::Int(-1) => sums.0 += 1,
                Value::Int(n) => sums.1 += n,
                other => panic!("a property of {edge:?} is {other:?}"),
            }
        }
        assert_eq!(sums, (written, 10 * 499 * 500 / 2));
        Model::of(db)
    };
    let before = check(&db);
    drop(db);
    let db = Engine::open(dir.path(), settings()).unwrap();
    assert!(check(&db) == before);
}

/// Many partitions, sorted in files, into an index that has entries already; and a load that breaks
/// a constraint at its very end.
#[test]
fn large_loads_keep_indexes_and_failed_ones_leave_them_alone() {
    let dir = tempfile::tempdir().unwrap();
    let mut db = Engine::open(dir.path(), settings()).unwrap();
    let label = db.label("Person").unwrap();
    let ty = db.edge_type("KNOWS", EdgeTypeOptions::general()).unwrap();
    let key = db.property_key("id").unwrap();
    let (people, edges) = (IndexTarget::Vertices(label), IndexTarget::Edges(ty));
    let kind = ConstraintKind::Unique;
    let spec = |name: &str, target| ConstraintSpec {
        name: name.to_owned(),
        target,
        properties: vec![key],
        kind,
    };
    let ids = db.create_constraint(spec("ids", people)).unwrap();
    let knows = db.create_constraint(spec("knows", edges)).unwrap();
    let load = |db: &Engine, ids: &[i64], numbers: &[i64]| {
        let mut options = options(true);
        options.memory_bytes = 20_000;
        let mut load = db.bulk_load(options).unwrap();
        let (label, id) = (load.label("Person").unwrap(), load.property_key("id").unwrap());
        load.add_vertices(&[label], ids.len(), &[(id, ids.to_vec().into())]).unwrap();
        let first = load.first_vertex().unwrap().get() as u32;
        let knows = load.edge_type("KNOWS", EdgeTypeOptions::general()).unwrap();
        let end = |n: usize| first + (n * 7919 % ids.len()) as u32;
        let ends = (0..numbers.len()).map(|n| (end(n), end(n + 1))).collect();
        load.add_edges(knows, ends, vec![(id, numbers.to_vec().into())]).unwrap();
        load.finish(&|_, _, _| {})
    };
    let scattered = |from: i64| -> Vec<i64> { (0..5000).map(|n| from + n * 4801 % 5000).collect() };
    let check = |db: &Engine, count: i64| {
        let reader = db.reader().unwrap();
        let all = telar_graph::IndexRange::default();
        let of_vertices = reader.index_range(ids, &all).unwrap().into_iter();
        let of_edges = reader.index_range_edges(knows, &all).unwrap().into_iter();
        assert!(of_vertices.map(|v| reader.vertex_property(v, key)).eq((0..count).map(Value::Int)));
        assert!(of_edges.map(|e| reader.edge_property(e, key)).eq((0..count).map(Value::Int)));
        for n in (0..count).step_by(37) {
            assert!(reader.index_find(ids, &[Value::Int(n)]).unwrap().is_some());
        }
        // An index that was read where it is stored is loaded soon.
        let loaded = || db.indexes().iter().all(|i| i.entries == count as u64);
        let end = Instant::now() + Duration::from_secs(20);
        while !loaded() && Instant::now() < end {
            std::thread::sleep(Duration::from_millis(1));
        }
        assert!(loaded(), "{:?}", db.indexes());
    };
    load(&db, &scattered(0), &scattered(0)).unwrap();
    check(&db, 5000);
    // The one key that is there, or that comes twice, stands anywhere.
    for (broken, twice) in [(4999, 1), (0, 2500), (7000, 4000)] {
        let (fine, mut bad) = (scattered(5000), scattered(5000));
        bad[twice] = broken;
        let error = load(&db, &bad, &fine).unwrap_err();
        assert!(matches!(error, Error::ConstraintViolated { .. }), "{error}");
        check(&db, 5000);
        let error = load(&db, &fine, &bad).unwrap_err();
        assert!(matches!(error, Error::ConstraintViolated { .. }), "{error}");
        check(&db, 5000);
    }
    drop(db);
    db = Engine::open(dir.path(), settings()).unwrap();
    check(&db, 5000);
    load(&db, &scattered(5000), &scattered(5000)).unwrap();
    check(&db, 10_000);
    let broken = db.write(Default::default(), |txn| {
        let v = txn.create_vertex(&[label])?;
        txn.set_vertex_property(v, key, Value::Int(9_999))
    });
    assert!(matches!(broken, Err(Error::ConstraintViolated { .. })), "{broken:?}");
    db.close().unwrap();
    check(&Engine::open(dir.path(), settings()).unwrap(), 10_000);
}
