//! A transaction reads of its own writes what others read once it has committed: every batched
//! read, before and after, over all kinds of edge types, properties and indexes.
#![cfg(not(feature = "shuttle"))]
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;

use telar_engine::{
    EdgeTypeOptions, Engine, Error, IndexSpec, IndexTarget, Isolation, Transaction,
};
use telar_graph::{
    Direction, EdgeId, EdgeTypeId, Graph, LabelId, PropertyKeyId, Update, Value, VertexId, View,
};
use telar_plain::picture::Picture;

use common::{Random, no_background, v};

/// Vertices that are there before the transaction, and those that it makes at most.
const BEFORE: u64 = 40;

struct World {
    db: Engine,
    labels: [LabelId; 3],
    keys: [PropertyKeyId; 3],
    types: [EdgeTypeId; 4],
}

impl World {
    fn new(db: Engine) -> Self {
        let labels = ["A", "B", "C"].map(|name| db.label(name).unwrap());
        let keys = ["a", "b", "c"].map(|name| db.property_key(name).unwrap());
        let newest = EdgeTypeOptions::newest_first(keys[2]);
        let (general, simple) = (EdgeTypeOptions::general(), EdgeTypeOptions::simple());
        // Nothing is ever written to the last one but before the transaction.
        let types = [("G", general), ("S", simple), ("N", newest), ("U", general)];
        let types = types.map(|(name, options)| db.edge_type(name, options).unwrap());
        let spec = |name: &str, target, key| {
            let (name, properties) = (name.to_owned(), vec![key]);
            db.create_index(IndexSpec { name, target, properties }).unwrap();
        };
        spec("vertices", IndexTarget::Vertices(labels[0]), keys[0]);
        spec("edges", IndexTarget::Edges(types[0]), keys[1]);
        Self { db, labels, keys, types }
    }

    fn value(&self, random: &mut Random) -> Value {
        match random.below(6) {
            0 => Value::Null,
            1 => "text".into(),
            n => Value::Int(n as i64),
        }
    }

    /// An edge of the transaction's, if a vertex that is drawn has one.
    fn some_edge(&self, txn: &Transaction<'_>, random: &mut Random, bound: u64) -> Option<EdgeId> {
        let ty = self.types[random.below(3) as usize];
        let edges: Vec<EdgeId> =
            txn.edges(v(random.below(bound)), ty, Direction::Out).ok()?.collect();
        let at = random.below(edges.len().max(1) as u64) as usize;
        edges.get(at).copied()
    }

    /// Does something, of the first `kinds` kinds. Errors (no such vertex) are part of it.
    fn step(&self, txn: &mut Transaction<'_>, random: &mut Random, kinds: u64) {
        let bound = txn.partitions().positions();
        let (a, b) = (v(random.below(bound)), v(random.below(bound)));
        let label = self.labels[random.below(3) as usize];
        let key = self.keys[random.below(3) as usize];
        match random.below(kinds) {
            0 => _ = txn.set_vertex_property(a, key, self.value(random)),
            1 => _ = txn.create_vertex(&[label]).unwrap(),
            2 => _ = txn.add_label(a, label),
            3 => _ = txn.create_edge(self.types[0], a, b, &[(key, self.value(random))]),
            4 => _ = txn.upsert_edge(self.types[1], a, b),
            5 => {
                let sort = (self.keys[2], Value::Int(random.below(9) as i64));
                _ = txn.create_edge(self.types[2], a, b, &[sort]);
            }
            6 => _ = txn.remove_label(a, label),
            7 => _ = txn.remove_edge(self.types[1], a, b),
            8 => {
                if let Some(edge) = self.some_edge(txn, random, bound) {
                    _ = txn.set_edge_property(edge, key, self.value(random));
                }
            }
            9 => {
                if let Some(edge) = self.some_edge(txn, random, bound) {
                    txn.delete_edge(edge).unwrap();
                }
            }
            10 => _ = txn.delete_vertex(a, true),
            _ => {
                let mut edges: Vec<EdgeId> = Vec::new();
                Update::edges_at(txn, a, &mut edges).unwrap();
                if txn.delete_vertex_deferred(a).is_ok() {
                    edges.into_iter().for_each(|edge| txn.delete_edge(edge).unwrap());
                }
            }
        }
    }

    fn fill(&self, random: &mut Random) {
        let mut txn = self.db.begin().unwrap();
        for _ in 0..BEFORE {
            txn.create_vertex(&[self.labels[random.below(3) as usize]]).unwrap();
        }
        for _ in 0..200 {
            self.step(&mut txn, random, 10);
            let (a, b) = (v(random.below(BEFORE)), v(random.below(BEFORE)));
            let number = (self.keys[0], Value::Int(random.below(5) as i64));
            txn.create_edge(self.types[3], a, b, &[number]).unwrap();
        }
        txn.commit().unwrap();
    }
}

/// Asks for everything in batches of this many vertices.
fn picture(view: &dyn Graph, vertices: u64, batch: usize) -> Picture {
    let all: Vec<VertexId> = (0..vertices).map(v).collect();
    Picture::of(view, &all, batch).unwrap()
}

fn assert_same(found: &Picture, expected: &Picture, what: &str) {
    let difference = found.difference(expected);
    assert!(difference.is_none(), "{what}: {}", difference.unwrap_or_default());
}

fn committed_is_what_was_read(make: impl Fn() -> Engine, isolation: Isolation, seeds: u64) {
    for seed in 1..=seeds {
        let random = &mut Random(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15));
        let world = World::new(make());
        world.fill(random);
        if seed % 2 == 0 {
            world.db.settle();
        }
        let mut txn = world.db.begin_with(isolation).unwrap();
        let batch = [1, 3, 1000][random.below(3) as usize];
        // From writes of one kind only to all of them; of few (searched one by one) and many.
        let (kinds, steps) = (1 + random.below(12), [0, 1, 4, 15, 60][random.below(5) as usize]);
        for _ in 0..steps {
            world.step(&mut txn, random, kinds);
        }
        // Some that no vertex has yet.
        let vertices = txn.partitions().positions() + 3;
        let own = picture(&txn, vertices, batch);
        txn.commit().unwrap();
        let others = picture(&world.db.reader().unwrap(), vertices, batch);
        let what = format!("seed {seed}: {steps} steps of {kinds} kinds, by {batch}");
        assert_same(&own, &others, &what);
    }
}

/// A picture in which these vertices are deleted, and their edges are not.
fn without(mut all: Picture, gone: &[VertexId]) -> Picture {
    let here = |vertex: &VertexId| !gone.contains(vertex);
    all.scans.iter_mut().for_each(|scan| scan.retain(here));
    for vertex in gone {
        let at = vertex.get() as usize;
        all.labels[at] = None;
        all.of_vertices[at].clear();
        all.properties.iter_mut().for_each(|values| values[at] = Value::Null);
        all.lists.values_mut().for_each(|lists| lists[at].clear());
    }
    all.of_edges.retain(|edge, _| here(&edge.src));
    all.found_vertices.iter_mut().for_each(|found| found.retain(here));
    whole_indexes(all)
}

/// A picture of which the ranges of an index are all of it: others depend on the values there are.
fn whole_indexes(mut all: Picture) -> Picture {
    all.found_vertices.truncate(1);
    all.found_edges.truncate(1);
    all
}

#[test]
fn vertices_deleted_before_their_edges_are_gone_and_the_edges_are_at_their_other_ends() {
    for seed in 1..=seeds() / 4 {
        let random = &mut Random(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15));
        let world = World::new(Engine::in_memory(no_background()).unwrap());
        world.fill(random);
        let isolation = [Isolation::Snapshot, Isolation::Serializable][seed as usize % 2];
        let mut txn = world.db.begin_with(isolation).unwrap();
        let steps = [0, 4, 60][random.below(3) as usize];
        for _ in 0..steps {
            world.step(&mut txn, random, 11);
        }
        let vertices = txn.partitions().positions() + 3;
        let batch = [1, 3, 1000][random.below(3) as usize];
        let before = picture(&txn, vertices, batch);
        let mut gone: Vec<VertexId> = Vec::new();
        let mut edges: Vec<EdgeId> = Vec::new();
        for _ in 0..=random.below(6) {
            let vertex = v(random.below(vertices));
            let existed = txn.exists(vertex);
            Update::edges_at(&txn, vertex, &mut edges).unwrap();
            assert_eq!(txn.delete_vertex_deferred(vertex).is_ok(), existed);
            gone.extend(existed.then_some(vertex));
        }
        edges.sort_unstable();
        edges.dedup();
        let during = whole_indexes(picture(&txn, vertices, batch));
        assert_same(&during, &without(before, &gone), &format!("seed {seed}"));
        for vertex in &gone {
            assert!(txn.add_label(*vertex, world.labels[0]).is_err());
            assert!(txn.create_edge(world.types[0], *vertex, v(0), &[]).is_err());
            assert!(txn.upsert_edge(world.types[1], v(0), *vertex).is_err());
        }
        let keep = (!edges.is_empty() && random.below(2) == 0)
            .then(|| edges.swap_remove(random.below(edges.len() as u64) as usize));
        for edge in &edges {
            assert!(txn.edge_exists(*edge));
            txn.delete_edge(*edge).unwrap();
        }
        let own = picture(&txn, vertices, batch);
        let unchanged = picture(&world.db.reader().unwrap(), vertices, batch);
        let committed = txn.commit();
        let others = picture(&world.db.reader().unwrap(), vertices, batch);
        if let Some(edge) = keep {
            let left = |error: &Error| {
                matches!(error, Error::StillConnected { vertex, .. }
                    if (*vertex == edge.src || *vertex == edge.dst) && gone.contains(vertex))
            };
            assert!(committed.as_ref().is_err_and(left), "seed {seed}: {committed:?}");
            assert_same(&unchanged, &others, &format!("seed {seed}"));
        } else {
            committed.unwrap();
            assert_same(&own, &others, &format!("seed {seed}"));
        }
    }
}

fn seeds() -> u64 {
    if std::env::var_os("TELAR_LONG").is_some() { 5_000 } else { 200 }
}

#[test]
fn a_transaction_reads_what_others_read_once_it_has_committed() {
    let make = || Engine::in_memory(no_background()).unwrap();
    committed_is_what_was_read(make, Isolation::Snapshot, seeds());
}

#[test]
fn a_serializable_transaction_reads_what_others_read_once_it_has_committed() {
    let make = || Engine::in_memory(no_background()).unwrap();
    committed_is_what_was_read(make, Isolation::Serializable, seeds() / 4);
}
