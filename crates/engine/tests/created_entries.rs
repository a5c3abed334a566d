//! Entries of objects that large commits create: an index finds what a scan finds, whatever the
//! order of the keys, beside what was there and what the same commit changes and deletes.
#![cfg(not(feature = "shuttle"))]
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;

use common::{Random, no_background};
use telar_engine::{EdgeTypeOptions, Engine, Error, IndexSpec, IndexTarget, Isolation};
use telar_graph::{
    Column, Direction, EdgeTypeId, IndexId, IndexRange, LabelId, PropertyKeyId, Value, VertexId,
    View,
};

/// Objects of a commit: more than are kept as changes.
const MANY: u64 = 5_000;

type KeyOf = fn(u64, &mut Random) -> Value;

/// Orders of keys.
const KEYS: &[(&str, KeyOf)] = &[
    ("ascending", |n, _| Value::Int(n as i64)),
    ("descending", |n, _| Value::Int(-(n as i64))),
    ("in disorder", |_, random| Value::Int(random.below(1 << 40) as i64)),
    ("all equal", |_, _| Value::Int(7)),
    ("few", |_, random| Value::Int(random.below(5) as i64)),
    ("texts", |_, random| Value::from(format!("a rather long text {}", random.below(9_000)))),
    ("some none", |n, _| if n % 3 == 0 { Value::Null } else { Value::Int((n % 100) as i64) }),
    ("none", |_, _| Value::Null),
    ("one", |n, _| if n == 4_321 { Value::Int(1) } else { Value::Null }),
    ("of all types", |n, random| match n % 4 {
        0 => Value::Int(random.below(50) as i64),
        1 => Value::Float(random.below(50) as f64 / 2.0),
        2 => Value::Bool(n % 8 == 2),
        _ => Value::from(random.below(50).to_string()),
    }),
];

fn bound_of(view: &impl View) -> VertexId {
    VertexId::from_raw(view.partitions().positions())
}

struct World {
    db: Engine,
    labels: [LabelId; 2],
    keys: [PropertyKeyId; 2],
    ty: EdgeTypeId,
    /// On the first label and key; on both keys; on edges.
    one: IndexId,
    both: IndexId,
    edges: IndexId,
}

impl World {
    fn new(db: Engine) -> Self {
        let labels = ["L", "M"].map(|name| db.label(name).unwrap());
        let keys = ["a", "b"].map(|name| db.property_key(name).unwrap());
        let ty = db.edge_type("T", EdgeTypeOptions::default()).unwrap();
        let make = |name: &str, target, properties: &[PropertyKeyId]| {
            let (name, properties) = (name.to_owned(), properties.to_vec());
            db.create_index(IndexSpec { name, target, properties }).unwrap()
        };
        let one = make("one", IndexTarget::Vertices(labels[0]), &keys[..1]);
        let both = make("both", IndexTarget::Vertices(labels[0]), &keys);
        let edges = make("edges", IndexTarget::Edges(ty), &keys[..1]);
        Self { db, labels, keys, ty, one, both, edges }
    }

    /// Makes many objects in one commit, of which every seventh vertex has another label.
    fn create(&self, key_of: KeyOf, seed: u64) -> Vec<VertexId> {
        let mut random = Random(seed);
        let mut txn = self.db.begin().unwrap();
        let mut made = Vec::new();
        for n in 0..MANY {
            let label = self.labels[usize::from(n % 7 == 0)];
            let v = txn.create_vertex(&[label]).unwrap();
            for key in self.keys {
                txn.set_vertex_property(v, key, key_of(n, &mut random)).unwrap();
            }
            made.push(v);
        }
        for n in 0..MANY {
            let ends = [n, random.below(MANY)].map(|n| made[n as usize]);
            let edge = txn.create_edge(self.ty, ends[0], ends[1], &[]).unwrap();
            txn.set_edge_property(edge, self.keys[0], key_of(n, &mut random)).unwrap();
        }
        txn.commit().unwrap();
        made
    }

    /// Compares what the indexes find with what is there, at a snapshot.
    fn check(&self, view: &impl View, what: &str) {
        let mut all = Vec::new();
        view.scan(Some(self.labels[0]), VertexId::from_raw(0), bound_of(view), &mut all).unwrap();
        let values = |key| {
            let mut values = Column::default();
            view.vertex_properties(&all, key, &mut values).unwrap();
            values.into_values()
        };
        let [first, second] = self.keys.map(values);
        for (index, held) in [(self.one, [&first, &first]), (self.both, [&first, &second])] {
            let has = |i: &usize| held.iter().all(|values| !values[*i].is_null());
            let mut expected: Vec<_> = (0..all.len()).filter(has).map(|i| all[i]).collect();
            let mut found = Vec::new();
            view.index_vertices(index, &IndexRange::default(), &mut found).unwrap();
            found.sort_unstable();
            expected.sort_unstable();
            assert!(found == expected, "{what}: {} of {}", found.len(), expected.len());
        }
        for value in first.iter().step_by(97).filter(|value| !value.is_null()) {
            let mut found = Vec::new();
            let range = IndexRange::equal(std::slice::from_ref(value));
            view.index_vertices(self.one, &range, &mut found).unwrap();
            let same = |i: &usize| first[*i] == *value;
            let expected: Vec<_> = (0..all.len()).filter(same).map(|i| all[i]).collect();
            assert_eq!(found, expected, "{what}: {value:?}");
        }
        self.check_edges(view, what);
    }

    fn check_edges(&self, view: &impl View, what: &str) {
        let mut sources = Vec::new();
        view.scan(None, VertexId::from_raw(0), bound_of(view), &mut sources).unwrap();
        let mut lists = telar_graph::Expansion::default();
        view.expand(&sources, self.ty, Direction::Out, &mut lists).unwrap();
        let mut edges = Vec::new();
        for (i, src) in sources.iter().enumerate() {
            for at in lists.offsets[i] as usize..lists.offsets[i + 1] as usize {
                let (dst, ordinal) = (lists.neighbours[at], lists.ordinals[at]);
                edges.push(telar_graph::EdgeId { ty: self.ty, src: *src, dst, ordinal });
            }
        }
        let mut values = Column::default();
        view.edge_properties(&edges, self.keys[0], &mut values).unwrap();
        let values = values.into_values();
        let held = edges.iter().zip(&values).filter(|(_, value)| !value.is_null());
        let mut expected: Vec<_> = held.map(|(edge, _)| *edge).collect();
        let mut found = Vec::new();
        view.index_edges(self.edges, &IndexRange::default(), &mut found).unwrap();
        let order = |e: &telar_graph::EdgeId| (e.src, e.dst, e.ordinal);
        found.sort_unstable_by_key(order);
        expected.sort_unstable_by_key(order);
        assert!(found == expected, "{what}: {} of {} edges", found.len(), expected.len());
    }
}

#[test]
fn an_index_finds_what_a_large_commit_created_whatever_its_keys() {
    for (name, key_of) in KEYS {
        let folder = tempfile::tempdir().unwrap();
        let w = World::new(Engine::open(folder.path(), no_background()).unwrap());
        let before = w.db.snapshot().unwrap();
        w.create(*key_of, 1);
        let between = w.db.snapshot().unwrap();
        w.create(*key_of, 2);
        // Readers of every age see their own.
        w.check(&before.reader(), name);
        w.check(&between.reader(), name);
        w.check(&w.db.snapshot().unwrap().reader(), name);
        drop((before, between));
        w.db.close().unwrap();
        let again = World { db: Engine::open(folder.path(), no_background()).unwrap(), ..w };
        again.check(&again.db.snapshot().unwrap().reader(), &format!("{name}, opened again"));
    }
}

#[test]
fn what_a_large_commit_changes_and_deletes_beside_is_found_too() {
    for (name, key_of) in KEYS {
        let w = World::new(Engine::in_memory(no_background()).unwrap());
        let old = w.create(*key_of, 3);
        let mut random = Random(4);
        let mut txn = w.db.begin().unwrap();
        let mut new = Vec::new();
        for n in 0..MANY {
            let v = txn.create_vertex(&[w.labels[0]]).unwrap();
            txn.set_vertex_property(v, w.keys[0], key_of(n, &mut random)).unwrap();
            new.push(v);
        }
        for (n, v) in (0..).zip(&old) {
            match n % 9 {
                0 => txn.set_vertex_property(*v, w.keys[0], Value::Int(n)).unwrap(),
                1 => txn.set_vertex_property(*v, w.keys[0], Value::Null).unwrap(),
                2 => drop(txn.add_label(*v, w.labels[0]).unwrap()),
                3 => drop(txn.remove_label(*v, w.labels[0]).unwrap()),
                _ => {}
            }
        }
        // Created, and gone again before anybody sees them.
        for v in new.iter().step_by(5) {
            txn.delete_vertex(*v, true).unwrap();
        }
        for v in new.iter().skip(1).step_by(5) {
            txn.remove_label(*v, w.labels[0]).unwrap();
        }
        w.check(&txn, &format!("{name}, in the transaction"));
        txn.commit().unwrap();
        w.check(&w.db.snapshot().unwrap().reader(), name);
    }
}

#[test]
fn who_read_a_range_serializably_notices_a_large_commit_in_it() {
    for many in [1, MANY] {
        let w = World::new(Engine::in_memory(no_background()).unwrap());
        let mut reader = w.db.begin_with(Isolation::Serializable).unwrap();
        let mut found = Vec::new();
        reader.index_vertices(w.one, &IndexRange::equal(&[Value::Int(3)]), &mut found).unwrap();
        assert!(found.is_empty());
        let v = reader.create_vertex(&[w.labels[1]]).unwrap();
        reader.set_vertex_property(v, w.keys[1], Value::Int(1)).unwrap();
        let mut writer = w.db.begin().unwrap();
        for n in 0..many {
            let v = writer.create_vertex(&[w.labels[0]]).unwrap();
            let value = if n + 1 == many { 3 } else { 1_000 + n as i64 };
            writer.set_vertex_property(v, w.keys[0], Value::Int(value)).unwrap();
        }
        writer.commit().unwrap();
        assert!(matches!(reader.commit(), Err(Error::Conflict { .. })), "{many}");
    }
}
