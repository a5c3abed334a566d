//! The engine answers what a plain graph in memory does, through every view that it has: a reader,
//! snapshots that pin by call, transactions before they commit, and the past.
#![cfg(not(feature = "shuttle"))]
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;

use common::{Random, no_background};
use telar_engine::{
    EdgeTypeOptions, Engine, IndexSpec, IndexTarget, Isolation, Retention, Transaction,
};
use telar_graph::{
    CommitTs, Direction, EdgeId, EdgeTypeId, Graph, LabelId, PropertyKeyId, Schema, Update, Value,
    VertexId,
};
use telar_plain::picture::{Picture, vertices_around};
use telar_plain::{PlainGraph, PlainVertex};

/// The plain graph beside an engine.
struct World {
    plain: PlainGraph,
}

const LABELS: [LabelId; 2] = [LabelId::from_raw(0), LabelId::from_raw(1)];
const KEYS: [PropertyKeyId; 3] =
    [PropertyKeyId::from_raw(0), PropertyKeyId::from_raw(1), PropertyKeyId::from_raw(2)];
const GENERAL: EdgeTypeId = EdgeTypeId::from_raw(0);
const SIMPLE: EdgeTypeId = EdgeTypeId::from_raw(1);
const NEWEST: EdgeTypeId = EdgeTypeId::from_raw(2);

impl World {
    /// Makes names and indexes in an empty engine.
    fn new(db: &Engine) -> Self {
        assert_eq!(["A", "B"].map(|name| db.label(name).unwrap()), LABELS);
        assert_eq!(["a", "b", "c"].map(|name| db.property_key(name).unwrap()), KEYS);
        let (general, simple) = (EdgeTypeOptions::general(), EdgeTypeOptions::simple());
        let newest = EdgeTypeOptions::newest_first(KEYS[2]);
        for (name, options) in [("G", general), ("S", simple), ("N", newest), ("NONE", general)] {
            db.edge_type(name, options).unwrap();
        }
        let index = |name: &str, target, properties: &[PropertyKeyId]| {
            let (name, properties) = (name.to_owned(), properties.to_vec());
            db.create_index(IndexSpec { name, target, properties }).unwrap();
        };
        index("one", IndexTarget::Vertices(LABELS[0]), &KEYS[..1]);
        index("two", IndexTarget::Vertices(LABELS[1]), &KEYS[..2]);
        index("edges", IndexTarget::Edges(GENERAL), &KEYS[1..2]);
        let plain = {
            let reader = db.reader().unwrap();
            let mut plain = PlainGraph::new();
            (plain.labels, plain.types) = (reader.label_names(), reader.edge_type_names());
            (plain.keys, plain.schema_rules) = (reader.property_key_names(), reader.schema_rules());
            plain
        };
        Self { plain }
    }

    fn vertex(&self, random: &mut Random) -> Option<VertexId> {
        let at = random.below(self.plain.vertices.len().max(1) as u64) as usize;
        self.plain.vertices.keys().nth(at).copied()
    }

    fn edge(&self, random: &mut Random) -> Option<EdgeId> {
        let at = random.below(self.plain.edges.len().max(1) as u64) as usize;
        self.plain.edges.keys().nth(at).copied()
    }

    /// Does something to both.
    fn step(&mut self, txn: &mut Transaction<'_>, random: &mut Random) {
        let (label, key) = (LABELS[random.below(2) as usize], KEYS[random.below(3) as usize]);
        let value = match random.below(7) {
            0 => Value::Null,
            1 => Value::from(format!("text {}", random.below(3))),
            2 => Value::Float(random.below(4) as f64 / 2.0),
            n => Value::Int(n as i64),
        };
        let (a, b) = (self.vertex(random), self.vertex(random));
        let (Some(a), Some(b)) = (a, b) else { return self.create_vertex(txn, label) };
        match random.below(12) {
            0..=2 => self.create_vertex(txn, label),
            3 => {
                assert_eq!(
                    txn.add_label(a, label).unwrap(),
                    self.plain.add_label(a, label).unwrap()
                );
            }
            4 => {
                let had = self.plain.remove_label(a, label).unwrap();
                assert_eq!(txn.remove_label(a, label).unwrap(), had);
            }
            5 | 6 => {
                txn.set_vertex_property(a, key, value.clone()).unwrap();
                self.plain.set_vertex_property(a, key, value).unwrap();
            }
            7 | 8 => self.create_edge(txn, (a, b), (KEYS[1], value), random),
            9 => {
                let Some(edge) = self.edge(random).filter(|edge| edge.ty == GENERAL) else {
                    return;
                };
                txn.set_edge_property(edge, key, value.clone()).unwrap();
                self.plain.set_edge_property(edge, key, value).unwrap();
            }
            10 => {
                let Some(edge) = self.edge(random) else { return };
                match edge.ty {
                    SIMPLE => txn.remove_edge(SIMPLE, edge.src, edge.dst).unwrap(),
                    _ => txn.delete_edge(edge).unwrap(),
                }
                self.plain.delete_edge(edge).unwrap();
            }
            _ => {
                txn.delete_vertex(a, true).unwrap();
                self.plain.delete_vertex(a, true).unwrap();
            }
        }
    }

    fn create_vertex(&mut self, txn: &mut Transaction<'_>, label: LabelId) {
        let id = txn.create_vertex(&[label]).unwrap();
        let labels = [label].into_iter().collect();
        self.plain.put_vertex(id, PlainVertex { labels, ..PlainVertex::default() });
    }

    fn create_edge(
        &mut self,
        txn: &mut Transaction<'_>,
        (a, b): (VertexId, VertexId),
        (key, value): (PropertyKeyId, Value),
        random: &mut Random,
    ) {
        let some = (!value.is_null()).then_some((key, value));
        let time = (KEYS[2], Value::Int(random.below(50) as i64));
        let (edge, properties) = match random.below(3) {
            0 => (txn.create_edge(GENERAL, a, b, &Vec::from_iter(some.clone())), some),
            1 => {
                txn.upsert_edge(SIMPLE, a, b).unwrap();
                (Ok(EdgeId { ty: SIMPLE, src: a, dst: b, ordinal: 0 }), None)
            }
            _ => (txn.create_edge(NEWEST, a, b, std::slice::from_ref(&time)), Some(time)),
        };
        self.plain.edges.insert(edge.unwrap(), properties.into_iter().collect());
    }
}

/// Compares a view with the plain graph, in batches of several sizes.
fn compare(view: &dyn Graph, plain: &PlainGraph, what: &str) {
    // Ids that were given back are in the partitions of one and not of the other.
    let mut vertices = vertices_around(view);
    vertices.extend(vertices_around(plain));
    vertices.sort_unstable();
    vertices.dedup();
    for batch in [1, 3, 1000] {
        let expected = Picture::of(plain, &vertices, batch).unwrap();
        let found = Picture::of(view, &vertices, batch).unwrap();
        let difference = found.difference(&expected);
        assert!(difference.is_none(), "{what}, by {batch}: {}", difference.unwrap_or_default());
    }
}

fn every_view_conforms(make: impl Fn() -> Engine, seeds: u64) {
    for seed in 1..=seeds {
        let random = &mut Random(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15));
        let db = make();
        let mut world = World::new(&db);
        let mut past: Vec<(CommitTs, PlainGraph)> = Vec::new();
        for round in 0..4 {
            let what = format!("seed {seed}, round {round}");
            let isolation = [Isolation::Snapshot, Isolation::Serializable][seed as usize % 2];
            let mut txn = db.begin_with(isolation).unwrap();
            if isolation == Isolation::Snapshot {
                compare(txn.shared_snapshot().unwrap(), &world.plain, &what);
            }
            for _ in 0..[0, 1, 12, 40][random.below(4) as usize] {
                world.step(&mut txn, random);
            }
            compare(&txn, &world.plain, &format!("{what}, in the transaction"));
            let committed = txn.commit().unwrap();
            if random.below(2) == 0 {
                db.settle();
            }
            compare(&db.reader().unwrap(), &world.plain, &format!("{what}, reader"));
            compare(&db.snapshot().unwrap(), &world.plain, &format!("{what}, snapshot"));
            past.push((committed.ts, world.plain.clone()));
        }
        for (at, plain) in &past {
            let snapshot = db.snapshot_at(*at).unwrap();
            compare(&snapshot, plain, &format!("seed {seed}, at {at}"));
            compare(&snapshot.reader(), plain, &format!("seed {seed}, a reader at {at}"));
        }
    }
}

fn seeds() -> u64 {
    if std::env::var_os("TELAR_LONG").is_some() { 500 } else { 12 }
}

#[test]
fn every_view_answers_as_a_plain_graph_does() {
    let make = || {
        let mut settings = no_background();
        settings.retain = Retention::commits(1_000);
        settings.hub_entries_min = 4096;
        Engine::in_memory(settings).unwrap()
    };
    every_view_conforms(make, seeds());
}

#[test]
fn a_plain_graph_does_not_contradict_itself() {
    let far = 1 << 40;
    let mut plain = PlainGraph::with_partitions(&[0, far, 2 * far]);
    let (label, key) = (plain.label("A").unwrap(), plain.property_key("a").unwrap());
    let ty = plain.edge_type("T").unwrap();
    let made: Vec<VertexId> = (0..10).map(|_| plain.create_vertex(&[label]).unwrap()).collect();
    for (n, v) in (0..).zip(&made) {
        plain.set_vertex_property(*v, key, Value::Int(n % 4)).unwrap();
        plain.create_edge(ty, *v, made[(n as usize * 7) % 10], &[(key, Value::Int(n))]).unwrap();
    }
    plain.delete_vertex(made[3], true).unwrap();
    let vertices = vertices_around(&plain);
    assert!(vertices.iter().any(|v| v.get() > 2 * far));
    for batch in [1, 4, 1000] {
        let picture = Picture::of(&plain, &vertices, batch).unwrap();
        assert_eq!(picture.scans[0].len(), 9);
        assert_eq!(picture.lists[&(ty, true)].iter().map(Vec::len).sum::<usize>(), 8);
    }
    let mut degrees = Vec::new();
    telar_graph::View::degrees(&plain, &made, ty, Direction::In, &mut degrees).unwrap();
    assert_eq!(degrees.iter().sum::<u64>(), 8);
}
