//! Vectors that are near, at every snapshot, while they come, change and go. Graphs are made of few
//! vectors here (`near.rs`).

use std::cell::Cell;
use std::collections::HashSet;

use telar_graph::update::IndexedObjects;
use telar_graph::view::{IndexedObject, NearSearch, Nearest};
use telar_graph::{
    EdgeId, EdgeTypeId, Graph, IndexId, IndexKind, IndexOptions, IndexSettings, LabelId,
    PropertyKeyId, Similarity, Update, Value, VectorSettings, VertexId,
};

use crate::catalog::EdgeTypeOptions;
use crate::{Engine, Error, Settings, Snapshot, Transaction};

pub(super) const DIMENSIONS: usize = 8;

pub(super) struct Random(pub(super) u64);

impl Random {
    fn word(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    fn below(&mut self, bound: usize) -> usize {
        (self.word() % bound as u64) as usize
    }

    pub(super) fn vector(&mut self) -> Vec<f32> {
        (0..DIMENSIONS).map(|_| (self.word() >> 40) as f32 / (1u64 << 23) as f32 - 1.0).collect()
    }
}

pub(super) struct Names {
    pub(super) db: Engine,
    pub(super) label: LabelId,
    ty: EdgeTypeId,
    pub(super) key: PropertyKeyId,
    pub(super) index: IndexId,
    edges: IndexId,
}

pub(super) fn list(vector: &[f32]) -> Value {
    Value::list(vector.iter().map(|x| f64::from(*x)))
}

fn names(settings: Settings) -> Names {
    names_of(Engine::in_memory(settings).unwrap())
}

/// The index with a name.
pub(super) fn named(db: &Engine, name: &str) -> Option<IndexId> {
    db.indexes().into_iter().find(|info| info.name == name).map(|info| info.id)
}

/// Makes a vector index for vectors of so many numbers, unless there is one.
pub(super) fn make(
    db: &Engine,
    name: &str,
    objects: IndexedObjects,
    key: PropertyKeyId,
    dimensions: usize,
) -> IndexId {
    if let Some(id) = named(db, name) {
        return id;
    }
    begin_making(db, name, objects, key, dimensions).commit().unwrap();
    named(db, name).unwrap()
}

/// A transaction that makes a vector index for vectors of so many numbers.
fn begin_making<'a>(
    db: &'a Engine,
    name: &str,
    objects: IndexedObjects,
    key: PropertyKeyId,
    dimensions: usize,
) -> Transaction<'a> {
    let mut txn = db.begin().unwrap();
    let settings = VectorSettings {
        dimensions: Some(dimensions as u16),
        similarity: Similarity::Euclidean,
        links: 16,
        effort: 100,
        quantized: true,
        filters: Vec::new(),
    };
    let options = IndexOptions {
        settings: IndexSettings::Vector(settings),
        of: name.to_owned(),
        part: 0,
        except: Vec::new(),
    };
    let kind = IndexKind::Vector.into();
    txn.create_rule(name, objects, &[key], kind, Some(&options)).unwrap();
    txn
}

pub(super) fn names_of(db: Engine) -> Names {
    let label = db.label("L").unwrap();
    let ty = db.edge_type("T", EdgeTypeOptions::general()).unwrap();
    let key = db.property_key("v").unwrap();
    let index = make(&db, "v", IndexedObjects::Vertices(label), key, DIMENSIONS);
    let edges = make(&db, "e", IndexedObjects::Edges(ty), key, DIMENSIONS);
    Names { db, label, ty, key, index, edges }
}

/// The vertices with a vector in a snapshot, the nearest first.
fn nearest(names: &Names, view: &dyn Graph, vector: &[f32]) -> Vec<(VertexId, f32)> {
    let mut vertices = Vec::new();
    for ids in view.partitions().all(1024) {
        view.scan(Some(names.label), ids.start, ids.end, &mut vertices).unwrap();
    }
    let mut values = telar_graph::Column::default();
    view.vertex_properties(&vertices, names.key, &mut values).unwrap();
    let distance = |row: usize| {
        let Value::List(list) = values.get(row) else { return None };
        if list.len() != DIMENSIONS {
            return None;
        }
        let number = |value: &Value| if let Value::Float(x) = value { *x as f32 } else { 0.0 };
        let numbers = list.iter().map(number).zip(vector);
        Some(numbers.map(|(a, b)| (a - b) * (a - b)).sum::<f32>())
    };
    let mut all: Vec<(VertexId, f32)> =
        (0..vertices.len()).filter_map(|row| Some((vertices[row], distance(row)?))).collect();
    all.sort_by(|a, b| a.1.total_cmp(&b.1));
    all
}

/// Adds the vertices that are given to those that were; how far they reach.
fn give(
    names: &Names,
    view: &dyn Graph,
    search: &mut NearSearch<'_>,
    found: &mut HashSet<VertexId>,
) -> f32 {
    let said = view
        .nearest(names.index, search, &mut |object| match object {
            IndexedObject::Vertex(v) => drop(found.insert(v)),
            IndexedObject::Edge(e) => panic!("{e:?} is no vertex"),
        })
        .unwrap();
    match said {
        Nearest::All => f32::INFINITY,
        Nearest::Within { reach, .. } => reach,
        Nearest::Unknown => panic!("it is known"),
    }
}

/// Hits and all of the nearest ten. As callers do, asks for more until what is given reaches as far
/// as the ten.
pub(super) fn compare(names: &Names, view: &dyn Graph, random: &mut Random) -> (usize, usize) {
    let vector = random.vector();
    let all = nearest(names, view, &vector);
    let wanted = &all[..all.len().min(10)];
    let mut search = NearSearch::new(&vector, 32, 64);
    let mut found = HashSet::new();
    loop {
        let reach = give(names, view, &mut search, &mut found);
        let tenth = all.iter().filter(|(v, _)| found.contains(v)).nth(9);
        if reach == f32::INFINITY || tenth.is_some_and(|(_, distance)| *distance <= reach) {
            break;
        }
        (search.wanted, search.effort) = (4 * search.wanted, 4 * search.effort);
    }
    (wanted.iter().filter(|(v, _)| found.contains(v)).count(), wanted.len())
}

pub(super) fn write(names: &Names, vertices: &mut Vec<VertexId>, random: &mut Random) {
    let mut txn = names.db.begin().unwrap();
    for _ in 0..1 + random.below(60) {
        match random.below(10) {
            0..=4 => {
                let v = txn.create_vertex(&[names.label]).unwrap();
                txn.set_vertex_property(v, names.key, list(&random.vector())).unwrap();
                vertices.push(v);
            }
            5..=7 if !vertices.is_empty() => {
                let v = vertices[random.below(vertices.len())];
                txn.set_vertex_property(v, names.key, list(&random.vector())).unwrap();
            }
            8 if !vertices.is_empty() => {
                let v = vertices.swap_remove(random.below(vertices.len()));
                txn.delete_vertex(v, true).unwrap();
            }
            _ if !vertices.is_empty() => {
                // The same vector as another one, no vector, or one of another length.
                let v = vertices[random.below(vertices.len())];
                let other = [list(&[0.5; DIMENSIONS]), Value::Null, list(&[1.0])];
                let value = other[random.below(3)].clone();
                txn.set_vertex_property(v, names.key, value).unwrap();
            }
            _ => {}
        }
    }
    txn.commit().unwrap();
}

#[test]
fn the_nearest_are_given_at_every_snapshot() {
    let settings = Settings { background_interval_ms: 0, ..Settings::default() };
    let names = names(settings);
    let mut random = Random(42);
    let mut vertices = Vec::new();
    let mut snapshots: Vec<Snapshot<'_>> = Vec::new();
    let (mut hits, mut all) = (0, 0);
    let mut add = |(h, a): (usize, usize)| {
        hits += h;
        all += a;
    };
    for step in 0..300 {
        write(&names, &mut vertices, &mut random);
        if random.below(8) == 0 {
            snapshots.push(names.db.snapshot().unwrap());
        }
        if random.below(16) == 0 && !snapshots.is_empty() {
            snapshots.swap_remove(random.below(snapshots.len()));
        }
        if random.below(20) == 0 {
            names.db.settle();
        }
        add(compare(&names, &names.db.snapshot().unwrap(), &mut random));
        if step % 10 == 0 {
            for snapshot in &snapshots {
                add(compare(&names, snapshot, &mut random));
            }
        }
    }
    assert!(hits as f64 >= 0.98 * all as f64, "{hits} of {all}");
}

#[test]
fn a_graph_that_is_mostly_of_no_use_is_made_anew() {
    let settings = Settings { background_interval_ms: 0, ..Settings::default() };
    let names = names(settings);
    let mut random = Random(5);
    let mut txn = names.db.begin().unwrap();
    let vertices: Vec<VertexId> =
        (0..300).map(|_| txn.create_vertex(&[names.label]).unwrap()).collect();
    txn.commit().unwrap();
    let bytes = || names.db.indexes().iter().find(|info| info.name == "v").unwrap().bytes;
    let mut most = 0;
    for round in 0..40 {
        let mut txn = names.db.begin().unwrap();
        for v in &vertices {
            txn.set_vertex_property(*v, names.key, list(&random.vector())).unwrap();
        }
        txn.commit().unwrap();
        names.db.settle();
        let (hits, all) = compare(&names, &names.db.snapshot().unwrap(), &mut random);
        assert!(hits + 1 >= all, "round {round}: {hits} of {all}");
        most = most.max(bytes());
    }
    // 40 rounds of 300 vectors would be 12,000 slots of some 250 bytes.
    assert!(most < 2_000_000, "{most}");
}

#[test]
fn edges_are_given_while_they_exist() {
    let settings = Settings { background_interval_ms: 0, ..Settings::default() };
    let names = names(settings);
    let mut random = Random(6);
    let mut txn = names.db.begin().unwrap();
    let ends: Vec<VertexId> = (0..20).map(|_| txn.create_vertex(&[names.label]).unwrap()).collect();
    let mut edges: Vec<(EdgeId, Vec<f32>)> = Vec::new();
    for _ in 0..500 {
        let (src, dst) = (ends[random.below(20)], ends[random.below(20)]);
        let edge = txn.create_edge(names.ty, src, dst, &[]).unwrap();
        let vector = random.vector();
        txn.set_edge_property(edge, names.key, list(&vector)).unwrap();
        edges.push((edge, vector));
    }
    txn.commit().unwrap();
    let given = |view: &dyn Graph, vector: &[f32]| {
        let mut found = HashSet::new();
        let said = view.nearest(names.edges, &mut NearSearch::new(vector, 30, 60), &mut |object| {
            match object {
                IndexedObject::Edge(e) => drop(found.insert(e)),
                IndexedObject::Vertex(v) => panic!("{v:?} is no edge"),
            }
        });
        assert_ne!(said.unwrap(), Nearest::Unknown);
        found
    };
    let before = names.db.snapshot().unwrap();
    let (gone, left) = edges.split_at(250);
    let mut txn = names.db.begin().unwrap();
    for (edge, vector) in gone.iter().take(100) {
        txn.delete_edge(*edge).unwrap();
        // A transaction does not find what it has deleted.
        let found = given(&txn, vector);
        assert!(!found.contains(edge), "{edge:?} {:?}", txn.edge_exists(*edge));
    }
    txn.commit().unwrap();
    let after = names.db.snapshot().unwrap();
    let found = |view: &dyn Graph, some: &[(EdgeId, Vec<f32>)]| {
        some.iter().filter(|(edge, vector)| given(view, vector).contains(edge)).count()
    };
    assert_eq!(found(&after, &gone[..100]), 0);
    assert!(found(&after, left) >= 247);
    assert!(found(&before, &gone[..100]) >= 98);
}

/// Whoever makes an index can give up while its vectors are linked; nothing is left of it then.
#[test]
fn the_making_of_an_index_can_be_given_up() {
    let settings = Settings { background_interval_ms: 0, ..Settings::default() };
    let names = names(settings);
    let mut random = Random(9);
    let mut txn = names.db.begin().unwrap();
    // More than are linked between two questions.
    for _ in 0..3 * 128 * 64 {
        let v = txn.create_vertex(&[names.label]).unwrap();
        txn.set_vertex_property(v, names.key, list(&random.vector())).unwrap();
    }
    txn.commit().unwrap();
    let objects = IndexedObjects::Vertices(names.label);
    let (asked, most) = (Cell::new(0), Cell::new(u32::MAX));
    let interrupt = || {
        asked.set(asked.get() + 1);
        asked.get() > most.get()
    };
    let making = begin_making(&names.db, "w", objects, names.key, DIMENSIONS);
    making.commit_unless(&interrupt).unwrap();
    // At the beginning, while what is there is read, and at the end, while vectors are linked.
    let all = asked.get();
    for patience in [2, all - 2] {
        asked.set(0);
        most.set(patience);
        let making = begin_making(&names.db, "x", objects, names.key, DIMENSIONS);
        let given_up = making.commit_unless(&interrupt);
        assert!(matches!(given_up, Err(Error::Interrupted)), "{given_up:?}");
        assert_eq!(named(&names.db, "x"), None);
    }
    let mut names = names;
    names.index = named(&names.db, "w").unwrap();
    let (hits, all) = compare(&names, &names.db.snapshot().unwrap(), &mut random);
    assert!(hits + 1 >= all, "{hits} of {all}");
}
