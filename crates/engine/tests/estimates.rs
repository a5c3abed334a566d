//! What queries are planned with: near the truth, made of few segments, and made again in time.
#![cfg(not(feature = "shuttle"))]
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;

use std::sync::Arc;

use telar_engine::{
    BulkOptions, Column, EdgeTypeOptions, Engine, IndexSpec, IndexTarget, Settings,
};
use telar_graph::{Counts, Direction, EdgeEnd, Estimates, LabelId, LabelSet, Value, VertexId};

fn memory() -> Engine {
    Engine::in_memory(Settings::default()).unwrap()
}

/// Vertices, of which each tenth has a second label, each with an edge to the next and each
/// hundredth with a hundred more; a property of seven values, and one of which each has its own.
fn load(db: &Engine, vertices: u32) {
    let mut load = db.bulk_load(BulkOptions::default()).unwrap();
    let (all, some) = (load.label("All").unwrap(), load.label("Some").unwrap());
    let (few, own) = (load.property_key("few").unwrap(), load.property_key("own").unwrap());
    let runs: Vec<(Vec<_>, usize)> = (0..vertices)
        .map(|v| if v % 10 == 0 { (vec![all, some], 1) } else { (vec![all], 1) })
        .collect();
    let runs: Vec<(&[_], usize)> = runs.iter().map(|(labels, n)| (&labels[..], *n)).collect();
    let column = |f: &dyn Fn(u32) -> i64| {
        let mut column = Column::new();
        (0..vertices).for_each(|v| column.push(Value::Int(f(v))));
        column
    };
    let columns = [(few, column(&|v| i64::from(v % 7))), (own, column(&|v| i64::from(v)))];
    load.add_vertices_of(&runs, &columns).unwrap();
    let first = load.first_vertex().unwrap().get() as u32;
    let ty = load.edge_type("NEXT", EdgeTypeOptions::general()).unwrap();
    let mut ends = Vec::new();
    for v in 0..vertices {
        ends.push((first + v, first + (v + 1) % vertices));
        if v % 100 == 0 {
            ends.extend((0..100).map(|i| (first + v, first + (v * 7 + i * 13) % vertices)));
        }
    }
    load.add_edges(ty, ends, vec![]).unwrap();
    load.finish(&|_, _, _| {}).unwrap();
    for name in ["few", "own"] {
        let target = IndexTarget::Vertices(db.find_label("All").unwrap());
        let properties = vec![db.find_property_key(name).unwrap()];
        db.create_index(IndexSpec { name: name.to_owned(), target, properties }).unwrap();
    }
}

/// Edges that a vertex with a label has on average.
fn degree(about: &Estimates, label: LabelId, end: EdgeEnd) -> f64 {
    let sets = about.sets.iter().filter(|set| set.labels.contains(&label));
    let of = |set: &LabelSet| set.vertices * set.degrees.get(&end).copied().unwrap_or(0.0);
    let all: f64 = sets.clone().map(|set| set.vertices).sum();
    sets.map(of).sum::<f64>() / all
}

#[test]
fn a_small_graph_is_counted() {
    let db = memory();
    load(&db, 1000);
    let (reader, all) = (db.reader().unwrap(), db.find_label("All").unwrap());
    let (exact, about) = (reader.statistics().unwrap(), reader.estimates());
    assert_eq!(exact.vertices as f64, about.vertices);
    let by_label: Vec<f64> = exact.vertices_by_label.iter().map(|n| *n as f64).collect();
    assert_eq!((by_label, about.edges_by_type[0]), (about.vertices_by_label.clone(), 2000.0));
    let ty = db.find_edge_type("NEXT").unwrap();
    for direction in Direction::ALL {
        assert_eq!(degree(&about, all, (ty, direction)), 2.0);
    }
    let some = db.find_label("Some").unwrap();
    assert_eq!(degree(&about, some, (ty, Direction::Out)), 11.0);
}

#[test]
fn a_large_graph_is_sampled() {
    let db = memory();
    load(&db, 200_000);
    let (reader, ty) = (db.reader().unwrap(), db.find_edge_type("NEXT").unwrap());
    let about = reader.estimates();
    let near = |found: f64, true_value: f64, share: f64| {
        assert!((found / true_value - 1.0).abs() < share, "{found} is not about {true_value}");
    };
    near(about.vertices, 200_000.0, 0.05);
    let [all, some] = ["All", "Some"].map(|label| db.find_label(label).unwrap());
    near(about.vertices_by_label[usize::from(all.get())], 200_000.0, 0.05);
    near(about.vertices_by_label[usize::from(some.get())], 20_000.0, 0.05);
    near(about.edges_by_type[0], 400_000.0, 0.1);
    near(degree(&about, all, (ty, Direction::Out)), 2.0, 0.5);
    near(degree(&about, some, (ty, Direction::Out)), 11.0, 0.5);
    let distinct = |name: &str| about.distinct[&db.find_index(name).unwrap()];
    near(distinct("own"), 200_000.0, 0.1);
    // Seven runs over some thousand partitions, of which few are seen.
    assert!(distinct("few") < 1000.0, "{}", distinct("few"));
    // The same sample, until much has changed.
    assert!(Arc::ptr_eq(&about, &reader.estimates()));
}

/// Two kinds of vertices, one after the other, of which the first has edges to the second, each
/// thousandth many; who has many of one type has many of the other.
#[test]
fn degrees_that_go_together_and_where_edges_lead_are_known() {
    let db = memory();
    let mut load = db.bulk_load(BulkOptions::default()).unwrap();
    let (from, to) = (load.label("From").unwrap(), load.label("To").unwrap());
    let many = 40_000;
    load.add_vertices_of(&[(&[from][..], many), (&[to][..], many)], &[]).unwrap();
    let first = load.first_vertex().unwrap().get() as u32;
    let many = many as u32;
    for (name, factor) in [("A", 1), ("B", 2)] {
        let ty = load.edge_type(name, EdgeTypeOptions::general()).unwrap();
        let degree = |v: u32| if v % 1000 == 17 { 2000 * factor } else { 1 };
        let ends = |v: u32| (0..degree(v)).map(move |i| (first + v, first + many + (v + i) % many));
        load.add_edges(ty, (0..many).flat_map(ends).collect(), vec![]).unwrap();
    }
    load.finish(&|_, _, _| {}).unwrap();
    let about = db.reader().unwrap().estimates();
    let [a, b] = ["A", "B"].map(|name| (db.find_edge_type(name).unwrap(), Direction::Out));
    let [from, to] = ["From", "To"].map(|label| db.find_label(label).unwrap());
    let place = |label: LabelId| about.sets.iter().position(|set| set.labels == [label]).unwrap();
    let set = &about.sets[place(from)];
    // By a sample of 512 it would be 1.0 half of the time. One segment holds both kinds.
    for (end, mean) in [(a, 3.0), (b, 5.0)] {
        assert!((set.degrees[&end] / mean - 1.0).abs() < 0.1, "{:?}", set.degrees);
        assert_eq!(set.neighbours[&end], [(place(to), 1.0)]);
    }
    assert!(!about.sets[place(to)].degrees.contains_key(&a));
    assert!(set.skew[&(a, a)] >= 1.0 && set.skew[&(a, b)] == set.skew[&(b, a)]);
}

#[test]
fn samples_and_plans_are_made_again_when_much_has_changed() {
    let db = memory();
    load(&db, 20_000);
    let (about, version) = (db.reader().unwrap().estimates(), db.planning_version());
    let label = db.find_label("All").unwrap();
    let grow = |many: u32| {
        for _ in 0..many / 100 {
            let mut txn = db.begin().unwrap();
            for _ in 0..100 {
                txn.create_vertex(&[label]).unwrap();
            }
            txn.commit().unwrap();
        }
    };
    // Less than a tenth of 20,000 vertices and 40,000 edges.
    grow(5000);
    assert!(Arc::ptr_eq(&about, &db.reader().unwrap().estimates()));
    grow(2000);
    assert_eq!(db.reader().unwrap().estimates().vertices, 27_000.0);
    assert_eq!(db.planning_version(), version);
    grow(36_000);
    assert_ne!(db.planning_version(), version);
    // A transaction plans with what is committed, and so does a snapshot of before.
    let mut txn = db.begin().unwrap();
    txn.create_vertex(&[label]).unwrap();
    assert_eq!(
        txn.estimates().vertices,
        db.reader().unwrap().statistics().unwrap().vertices as f64
    );
}

#[test]
fn counts_of_a_transaction_are_its_own_or_unknown() {
    let db = memory();
    load(&db, 100);
    let (all, ty) = (db.find_label("All").unwrap(), db.find_edge_type("NEXT").unwrap());
    let mut txn = db.begin().unwrap();
    assert_eq!(
        (txn.count_vertices(None).unwrap(), txn.count_vertices(Some(all)).unwrap()),
        (Some(100), Some(100))
    );
    assert_eq!(txn.count_edges(ty).unwrap(), Some(200));
    let vertex = txn.create_vertex(&[all]).unwrap();
    assert_eq!(
        (txn.count_vertices(Some(all)).unwrap(), txn.count_edges(ty).unwrap()),
        (None, None)
    );
    txn.create_edge(ty, vertex, VertexId::from_raw(1), &[]).unwrap();
    txn.commit().unwrap();
    let reader = db.reader().unwrap();
    assert_eq!(
        (reader.count_vertices(Some(all)).unwrap(), reader.count_edges(ty).unwrap()),
        (Some(101), Some(201))
    );
}
