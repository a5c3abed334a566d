//! Indexes and constraints under random operations, against a filter over everything there is.
//!
//! Several snapshots are held open; at each of them every index that can be read must find exactly
//! what the model has, point by point and range by range, in order.
#![cfg(not(feature = "shuttle"))]
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

#[path = "index_model/asked.rs"]
mod asked;
mod common;

use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;
use telar_engine::{
    BulkOptions, ConstraintKind, ConstraintSpec, EdgeTypeOptions, Engine, Error, IndexKind,
    IndexSpec, IndexState, IndexTarget, PropertyType, Settings, Snapshot, Transaction, Violation,
};
use telar_graph::spatial::code;
use telar_graph::{
    EdgeId, EdgeTypeId, IndexId, IndexRange, IndexUnavailable, LabelId, PropertyKeyId, Value,
    VertexId, View,
};

use asked::{expected, ranges, value};
use common::{cases, no_background};

type Properties = BTreeMap<PropertyKeyId, Value>;

#[derive(Debug, Clone, Default, PartialEq)]
struct Model {
    vertices: BTreeMap<VertexId, (BTreeSet<LabelId>, Properties)>,
    edges: BTreeMap<EdgeId, Properties>,
    /// Names of the indexes that are there.
    indexes: BTreeSet<usize>,
}

struct Names {
    labels: [LabelId; 2],
    keys: [PropertyKeyId; 2],
    ty: EdgeTypeId,
}

impl Names {
    fn new(db: &Engine) -> Self {
        Self {
            labels: ["A", "B"].map(|l| db.label(l).unwrap()),
            keys: ["x", "y"].map(|k| db.property_key(k).unwrap()),
            ty: db.edge_type("T", EdgeTypeOptions::general()).unwrap(),
        }
    }

    fn vertices(&self) -> IndexTarget {
        IndexTarget::Vertices(self.labels[0])
    }
}

/// What can be made: three range indexes, two unique constraints, a key, a text index, two of
/// points, two constraints of the other kinds.
const DEFINITIONS: usize = 11;
/// Those before this one have entries.
const WITHOUT_ENTRIES: usize = 9;

#[derive(Debug, Clone, Copy, PartialEq)]
enum Kind {
    Range,
    Text,
    Point,
    Constraint(ConstraintKind),
}

fn definition(n: usize, names: &Names) -> (IndexTarget, Vec<PropertyKeyId>, Kind) {
    let [x, y] = names.keys;
    let edges = IndexTarget::Edges(names.ty);
    match n {
        0 => (names.vertices(), vec![x], Kind::Range),
        1 => (names.vertices(), vec![y, x], Kind::Range),
        2 => (edges, vec![x], Kind::Range),
        3 => {
            let target = IndexTarget::Vertices(names.labels[1]);
            (target, vec![x], Kind::Constraint(ConstraintKind::Unique))
        }
        4 => (edges, vec![y, x], Kind::Constraint(ConstraintKind::Unique)),
        5 => {
            let target = IndexTarget::Vertices(names.labels[1]);
            (target, vec![y, x], Kind::Constraint(ConstraintKind::Key))
        }
        6 => (names.vertices(), vec![x], Kind::Text),
        7 => (edges, vec![x], Kind::Point),
        8 => (names.vertices(), vec![x], Kind::Point),
        9 => {
            let target = IndexTarget::Vertices(names.labels[1]);
            (target, vec![y], Kind::Constraint(ConstraintKind::Exists))
        }
        _ => {
            let number = ConstraintKind::Type(PropertyType::Number);
            (edges, vec![x], Kind::Constraint(number))
        }
    }
}

fn make(db: &Engine, n: usize, names: &Names) -> Result<IndexId, Error> {
    let (target, properties, kind) = definition(n, names);
    let name = format!("index {n}");
    let spec = |name, properties| IndexSpec { name, target, properties };
    match kind {
        Kind::Range => db.create_index(spec(name, properties)),
        Kind::Text => db.create_index_of(IndexKind::Text, spec(name, properties)),
        Kind::Point => db.create_index_of(IndexKind::Point, spec(name, properties)),
        Kind::Constraint(kind) => {
            db.create_constraint(ConstraintSpec { name, target, properties, kind })
        }
    }
}

impl Model {
    /// Objects an index is about, with the values of its properties.
    fn objects(&self, n: usize, names: &Names) -> Vec<(Object, Vec<Value>)> {
        let (target, keys, _) = definition(n, names);
        let values = |p: &Properties| -> Vec<Value> {
            keys.iter().map(|k| p.get(k).cloned().unwrap_or_default()).collect()
        };
        match target {
            IndexTarget::Vertices(label) => self
                .vertices
                .iter()
                .filter(|(_, (labels, _))| labels.contains(&label))
                .map(|(v, (_, p))| (Object::Vertex(*v), values(p)))
                .collect(),
            IndexTarget::Edges(_) => {
                self.edges.iter().map(|(e, p)| (Object::Edge(*e), values(p))).collect()
            }
        }
    }

    /// What an index holds, in its order.
    fn entries(&self, n: usize, names: &Names) -> Vec<(Vec<Value>, Object)> {
        let kind = definition(n, names).2;
        let is_held = |value: &Value| match kind {
            Kind::Text => matches!(value, Value::String(_)),
            Kind::Point => matches!(value, Value::Point(_)),
            _ => !value.is_null(),
        };
        let objects = self.objects(n, names).into_iter();
        let mut entries: Vec<_> = objects
            .filter(|(_, key)| key.iter().all(is_held))
            .map(|(object, key)| (key, object))
            .collect();
        let order = |a: &[Value], b: &[Value]| match (a, b) {
            ([Value::Point(a)], [Value::Point(b)]) if kind == Kind::Point => code(a).cmp(&code(b)),
            (a, b) => a.cmp(b),
        };
        entries.sort_by(|a, b| order(&a.0, &b.0).then_with(|| a.1.number().cmp(&b.1.number())));
        entries
    }

    /// Whether a constraint holds.
    fn holds(&self, n: usize, names: &Names) -> bool {
        let unique = || self.entries(n, names).windows(2).all(|pair| pair[0].0 != pair[1].0);
        let exists =
            || self.objects(n, names).iter().all(|(_, key)| key.iter().all(|v| !v.is_null()));
        match definition(n, names).2 {
            Kind::Range | Kind::Text | Kind::Point => true,
            Kind::Constraint(ConstraintKind::Unique) => unique(),
            Kind::Constraint(ConstraintKind::Exists) => exists(),
            Kind::Constraint(ConstraintKind::Key) => unique() && exists(),
            Kind::Constraint(ConstraintKind::Type(ty)) => {
                self.objects(n, names).iter().all(|(_, key)| key.iter().all(|v| ty.admits(v)))
            }
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Object {
    Vertex(VertexId),
    Edge(EdgeId),
}

impl Object {
    fn number(self) -> u64 {
        match self {
            Self::Vertex(v) => v.get(),
            Self::Edge(e) => e.ordinal.into(),
        }
    }
}

#[derive(Debug, Clone)]
enum Step {
    Create {
        label: usize,
        value: Value,
    },
    Connect {
        src: usize,
        dst: usize,
        value: Value,
    },
    Set {
        vertex: usize,
        key: usize,
        value: Value,
    },
    SetEdge {
        which: usize,
        key: usize,
        value: Value,
    },
    /// Two vertices exchange a value.
    Swap {
        a: usize,
        b: usize,
    },
    Label {
        vertex: usize,
        label: usize,
        add: bool,
    },
    DeleteVertex {
        vertex: usize,
    },
    DeleteEdge {
        which: usize,
    },
    Make {
        which: usize,
    },
    Drop {
        which: usize,
    },
    /// A bulk load, between two transactions.
    Load(Load),
    Commit,
    Abort,
    Settle,
    Open,
    Close {
        which: usize,
    },
}

#[derive(Debug, Clone)]
struct Load {
    /// Label and both properties.
    vertices: Vec<(usize, Value, Value)>,
    /// Ends, among old and new vertices, and both properties.
    edges: Vec<(usize, usize, Value, Value)>,
    /// Rows that break a constraint are asked about first, and left out.
    skip: bool,
    /// Constraint 3 is to come with the load.
    unique: bool,
    spill: bool,
}

fn bulk() -> impl Strategy<Value = Load> {
    let vertex = (0usize..2, value(), value());
    let edge = (0usize..1000, 0usize..1000, value(), value());
    (
        proptest::collection::vec(vertex, 0..6),
        proptest::collection::vec(edge, 0..4),
        any::<bool>(),
        any::<bool>(),
        any::<bool>(),
    )
        .prop_map(|(vertices, edges, skip, unique, spill)| Load {
            vertices,
            edges,
            skip,
            unique,
            spill,
        })
}

fn step() -> impl Strategy<Value = Step> {
    let n = 0usize..1000;
    let k = 0usize..2;
    prop_oneof![
        6 => (k.clone(), value()).prop_map(|(label, value)| Step::Create { label, value }),
        4 => (n.clone(), n.clone(), value())
            .prop_map(|(src, dst, value)| Step::Connect { src, dst, value }),
        6 => (n.clone(), k.clone(), value())
            .prop_map(|(vertex, key, value)| Step::Set { vertex, key, value }),
        4 => (n.clone(), k.clone(), value())
            .prop_map(|(which, key, value)| Step::SetEdge { which, key, value }),
        3 => (n.clone(), n.clone()).prop_map(|(a, b)| Step::Swap { a, b }),
        3 => (n.clone(), k, any::<bool>())
            .prop_map(|(vertex, label, add)| Step::Label { vertex, label, add }),
        1 => n.clone().prop_map(|vertex| Step::DeleteVertex { vertex }),
        2 => n.clone().prop_map(|which| Step::DeleteEdge { which }),
        2 => (0..DEFINITIONS).prop_map(|which| Step::Make { which }),
        1 => (0..DEFINITIONS).prop_map(|which| Step::Drop { which }),
        3 => bulk().prop_map(Step::Load),
        7 => Just(Step::Commit),
        1 => Just(Step::Abort),
        2 => Just(Step::Settle),
        1 => Just(Step::Open),
        1 => n.prop_map(|which| Step::Close { which }),
    ]
}

/// Mostly one of the first few, so that labels and values go to and fro at the same objects.
fn pick<T: Copy>(items: impl ExactSizeIterator<Item = T>, n: usize) -> Option<T> {
    let (len, mut items) = (items.len(), items);
    let among = if n.is_multiple_of(4) { len } else { len.min(3) };
    (len > 0).then(|| items.nth(n / 4 % among)).flatten()
}

fn put(properties: &mut Properties, key: PropertyKeyId, value: &Value) {
    if value.is_null() {
        properties.remove(&key);
    } else {
        properties.insert(key, value.clone());
    }
}

fn apply(step: &Step, txn: &mut Transaction<'_>, model: &mut Model, names: &Names) -> Option<()> {
    let vertex = |n: &usize, m: &Model| pick(m.vertices.keys().copied(), *n);
    match step {
        Step::Create { label, value } => {
            let label = names.labels[*label];
            let v = txn.create_vertex(&[label]).unwrap();
            txn.set_vertex_property(v, names.keys[0], value.clone()).unwrap();
            let mut properties = Properties::new();
            put(&mut properties, names.keys[0], value);
            model.vertices.insert(v, ([label].into(), properties));
        }
        Step::Connect { src, dst, value } => {
            let (u, v) = (vertex(src, model)?, vertex(dst, model)?);
            let properties = [(names.keys[0], value.clone()), (names.keys[1], Value::Int(1))];
            let id = txn.create_edge(names.ty, u, v, &properties).unwrap();
            let mut there = Properties::new();
            properties.iter().for_each(|(k, v)| put(&mut there, *k, v));
            model.edges.insert(id, there);
        }
        Step::Set { vertex: n, key, value } => {
            let v = vertex(n, model)?;
            txn.set_vertex_property(v, names.keys[*key], value.clone()).unwrap();
            put(&mut model.vertices.get_mut(&v)?.1, names.keys[*key], value);
        }
        Step::SetEdge { which, key, value } => {
            let id = pick(model.edges.keys().copied(), *which)?;
            txn.set_edge_property(id, names.keys[*key], value.clone()).unwrap();
            put(model.edges.get_mut(&id)?, names.keys[*key], value);
        }
        Step::Swap { a, b } => {
            let (a, b) = (vertex(a, model)?, vertex(b, model)?);
            let key = names.keys[0];
            let [x, y] = [a, b].map(|v| txn.vertex_property(v, key).unwrap());
            txn.set_vertex_property(a, key, y.clone()).unwrap();
            txn.set_vertex_property(b, key, x.clone()).unwrap();
            put(&mut model.vertices.get_mut(&a)?.1, key, &y);
            put(&mut model.vertices.get_mut(&b)?.1, key, &x);
        }
        Step::Label { vertex: n, label, add } => {
            let (v, label) = (vertex(n, model)?, names.labels[*label]);
            let labels = &mut model.vertices.get_mut(&v)?.0;
            if *add {
                txn.add_label(v, label).unwrap();
                labels.insert(label);
            } else {
                txn.remove_label(v, label).unwrap();
                labels.remove(&label);
            }
        }
        Step::DeleteVertex { vertex: n } => {
            let v = vertex(n, model)?;
            txn.delete_vertex(v, true).unwrap();
            model.vertices.remove(&v);
            model.edges.retain(|e, _| e.src != v && e.dst != v);
        }
        Step::DeleteEdge { which } => {
            let id = pick(model.edges.keys().copied(), *which)?;
            txn.delete_edge(id).unwrap();
            model.edges.remove(&id);
        }
        _ => unreachable!("handled by the driver"),
    }
    Some(())
}

/// Loads `what`, or is refused for the reason the model gives, and then nothing has changed.
#[expect(clippy::too_many_lines, reason = "one arm for each step")]
fn load(db: &Engine, what: &Load, committed: &mut Model, snapshots: bool, names: &Names) {
    let mut model = committed.clone();
    let mut options = BulkOptions::default();
    options.reader_wait_ms = 0;
    options.memory_bytes = if what.spill { 100 } else { options.memory_bytes };
    let mut load = db.bulk_load(options).unwrap();
    let labels = ["A", "B"].map(|l| load.label(l).unwrap());
    let keys = ["x", "y"].map(|k| load.property_key(k).unwrap());
    let ty = load.edge_type("T", EdgeTypeOptions::general()).unwrap();
    if what.unique {
        load.make_unique("index 3", labels[1], &keys[..1]).unwrap();
        model.indexes.insert(3);
    }
    let column = |x: &Value, y: &Value| {
        let one = |v: &Value| [v.clone()].into_iter().collect();
        [(keys[0], one(x)), (keys[1], one(y))]
    };
    // What was broken before is not the fault of a row.
    let is_fine = |model: &Model| model.indexes.iter().all(|n| model.holds(*n, names));
    let broken = |before: &Model, after: &Model| {
        let breaks = |n: &usize| before.holds(*n, names) && !after.holds(*n, names);
        after.indexes.iter().any(breaks)
    };
    let fine_before = is_fine(&model);
    // Numbers until they are known.
    let first = 1 << 40;
    for (label, x, y) in &what.vertices {
        let mut properties = Properties::new();
        put(&mut properties, names.keys[0], x);
        put(&mut properties, names.keys[1], y);
        let mut with = model.clone();
        let v = VertexId::from_raw(
            first + with.vertices.range(VertexId::from_raw(first)..).count() as u64,
        );
        with.vertices.insert(v, ([names.labels[*label]].into(), properties));
        let row = column(x, y);
        if what.skip {
            let said = load.check_vertex(&labels[*label..=*label], &row, 0);
            if fine_before {
                assert_eq!(said.is_err(), broken(&model, &with), "{said:?}");
            }
            if said.is_err() {
                continue;
            }
            load.keep_checked();
        }
        load.add_vertices(&labels[*label..=*label], 1, &row).unwrap();
        model = with;
    }
    let new_first = load.first_vertex().unwrap().get();
    let new: Vec<_> = model.vertices.split_off(&VertexId::from_raw(first)).into_iter().collect();
    let to_id = |v: VertexId| VertexId::from_raw(v.get() - first + new_first);
    model.vertices.extend(new.into_iter().map(|(v, what)| (to_id(v), what)));
    for (i, (src, dst, x, y)) in what.edges.iter().enumerate() {
        let ends = (
            pick(model.vertices.keys().copied(), *src),
            pick(model.vertices.keys().copied(), *dst),
        );
        let (Some(src), Some(dst)) = ends else { break };
        let mut properties = Properties::new();
        put(&mut properties, names.keys[0], x);
        put(&mut properties, names.keys[1], y);
        let mut with = model.clone();
        let edge = EdgeId { ty: names.ty, src, dst, ordinal: u32::MAX - i as u32 };
        with.edges.insert(edge, properties);
        let row = column(x, y);
        if what.skip {
            let said = load.check_edge(ty, &row, 0);
            if fine_before {
                assert_eq!(said.is_err(), broken(&model, &with), "{said:?}");
            }
            if said.is_err() {
                continue;
            }
            load.keep_checked();
        }
        load.add_edges(ty, vec![(src.get() as u32, dst.get() as u32)], row.into()).unwrap();
        model = with;
    }
    let entries = || db.indexes().iter().map(|i| i.entries).sum::<u64>();
    let before = entries();
    let done = load.finish(&|_, _, _| {});
    assert!(done.is_ok() || entries() <= before, "a load that failed left entries behind");
    if !is_fine(&model) {
        assert!(matches!(done, Err(Error::ConstraintViolated { .. })), "{done:?}");
    } else if snapshots {
        assert!(matches!(done, Err(Error::SnapshotsOpen { .. })), "{done:?}");
    } else {
        done.unwrap();
        // Ordinals follow the lists, so the database says which edge is which.
        let reader = db.reader().unwrap();
        model.edges.retain(|e, _| e.ordinal < u32::MAX - 100);
        for v in model.vertices.keys() {
            for edge in reader.edges(*v, names.ty, telar_graph::Direction::Out) {
                let mut properties = Properties::new();
                names
                    .keys
                    .iter()
                    .for_each(|k| put(&mut properties, *k, &reader.edge_property(edge, *k)));
                let there = model.edges.insert(edge, properties.clone());
                assert!(there.is_none_or(|there| there == properties));
            }
        }
        *committed = model;
    }
}

trait Reads {
    fn range(&self, n: usize, id: IndexId, range: &IndexRange) -> Result<Vec<Object>, Error>;
    fn point(&self, n: usize, id: IndexId, key: &[Value]) -> Result<Vec<Object>, Error>;
}

fn on_edges(n: usize) -> bool {
    n == 2 || n == 4 || n == 7
}

macro_rules! reads {
    ($ty:ty) => {
        impl Reads for $ty {
            fn range(&self, n: usize, id: IndexId, r: &IndexRange) -> Result<Vec<Object>, Error> {
                Ok(if on_edges(n) {
                    self.index_range_edges(id, r)?.into_iter().map(Object::Edge).collect()
                } else {
                    self.index_range(id, r)?.into_iter().map(Object::Vertex).collect()
                })
            }

            fn point(&self, n: usize, id: IndexId, key: &[Value]) -> Result<Vec<Object>, Error> {
                Ok(if on_edges(n) {
                    self.index_lookup_edges(id, key)?.into_iter().map(Object::Edge).collect()
                } else {
                    self.index_lookup(id, key)?.into_iter().map(Object::Vertex).collect()
                })
            }
        }
    };
}

reads!(telar_engine::Reader<'_>);
reads!(Transaction<'_>);

/// Every index must find what a filter finds. Returns how many could be read.
fn check(db: &Engine, reads: &impl Reads, model: &Model, names: &Names) -> usize {
    let mut readable = 0;
    for n in 0..WITHOUT_ENTRIES {
        let Some(id) = db.find_index(&format!("index {n}")) else { continue };
        let entries = model.entries(n, names);
        let (_, properties, kind) = definition(n, names);
        for range in ranges(&entries, properties.len(), kind) {
            match reads.range(n, id, &range) {
                // Made after this snapshot was opened.
                Err(Error::Index(IndexUnavailable::NotReady(_))) => break,
                found => {
                    assert_eq!(found.unwrap(), expected(&entries, &range, kind), "{n} {range:?}")
                }
            }
            readable += 1;
        }
        for (key, _) in &entries {
            let Ok(mut found) = reads.point(n, id, key) else { break };
            let mut wanted = expected(&entries, &IndexRange::equal(key), kind);
            if kind == Kind::Point {
                let is_equal = |o: &Object| entries.iter().any(|(k, there)| there == o && k == key);
                found.retain(is_equal);
                wanted.retain(is_equal);
            }
            assert_eq!(found, wanted, "{n} {key:?}");
        }
    }
    readable
}

fn check_snapshot(db: &Engine, snapshot: &Snapshot<'_>, model: &Model, names: &Names) -> usize {
    let reader = snapshot.reader();
    if let Some(id) = db.find_index("index 0") {
        let keys: Vec<Value> = (-2..4).map(Value::Int).chain([Value::Null]).collect();
        let mut found = Vec::new();
        if reader.lookup_vertices(id, &keys, &mut found).is_ok() {
            let one = |(n, key): (usize, &Value)| {
                let there = reader.index_lookup(id, std::slice::from_ref(key)).unwrap();
                there.into_iter().map(move |v| (n as u32, v)).collect::<Vec<_>>()
            };
            assert_eq!(found, keys.iter().enumerate().flat_map(one).collect::<Vec<_>>());
        }
    }
    check(db, &reader, model, names)
}

fn run(db: &Engine, steps: &[Step]) -> Model {
    let names = Names::new(db);
    let mut committed = Model::default();
    let mut held: Vec<(Snapshot<'_>, Model)> = Vec::new();
    let mut steps = steps.iter().peekable();
    while steps.peek().is_some() {
        while let Some(Step::Load(what)) = steps.next_if(|s| matches!(s, Step::Load(_))) {
            load(db, what, &mut committed, !held.is_empty(), &names);
            check_snapshot(db, &db.snapshot().unwrap(), &committed, &names);
        }
        let mut txn = db.begin().unwrap();
        let mut model = committed.clone();
        let (mut keep, mut writes) = (true, 0);
        while let Some(step) = steps.next_if(|s| !matches!(s, Step::Load(_))) {
            match step {
                Step::Commit => break,
                Step::Abort => {
                    keep = false;
                    break;
                }
                Step::Settle => db.settle(),
                Step::Open => held.push((db.snapshot().unwrap(), committed.clone())),
                Step::Close { which } if !held.is_empty() => {
                    let (snapshot, model) = held.swap_remove(which % held.len());
                    check_snapshot(db, &snapshot, &model, &names);
                }
                Step::Close { .. } => {}
                Step::Make { which } => {
                    let made = make(db, *which, &names);
                    if committed.holds(*which, &names) {
                        made.unwrap();
                        committed.indexes.insert(*which);
                        model.indexes.insert(*which);
                    } else {
                        assert!(matches!(made, Err(Error::ConstraintViolated { .. })), "{made:?}");
                        assert_eq!(db.find_index(&format!("index {which}")), None);
                    }
                }
                Step::Drop { which } => {
                    if let Some(id) = db.find_index(&format!("index {which}")) {
                        db.drop_index(id).unwrap();
                        committed.indexes.remove(which);
                        model.indexes.remove(which);
                    }
                }
                step => {
                    apply(step, &mut txn, &mut model, &names);
                    writes += 1;
                    // Lookups between writes find what has been written since the last.
                    if writes % 3 == 0 {
                        check(db, &txn, &model, &names);
                    }
                }
            }
        }
        check(db, &txn, &model, &names);
        let broken = model.indexes.iter().any(|n| !model.holds(*n, &names));
        if !keep {
            txn.abort();
        } else if broken {
            let done = txn.commit();
            assert!(matches!(done, Err(Error::ConstraintViolated { .. })), "{done:?}");
        } else {
            txn.commit().unwrap();
            committed = model;
        }
        let readable = check_snapshot(db, &db.snapshot().unwrap(), &committed, &names);
        let entries = committed.indexes.iter().filter(|n| **n < WITHOUT_ENTRIES).count();
        assert!(readable >= entries, "a new snapshot can read every index");
    }
    for (snapshot, model) in &held {
        check_snapshot(db, snapshot, model, &names);
    }
    committed
}

proptest! {
    #![proptest_config(cases())]

    #[test]
    fn indexes_match_a_filter(steps in proptest::collection::vec(step(), 1..150)) {
        run(&Engine::in_memory(no_background()).unwrap(), &steps);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: cases().cases / 3, ..cases() })]

    #[test]
    fn reopened_indexes_match_a_filter(
        first in proptest::collection::vec(step(), 1..80),
        checkpoint in any::<bool>(),
        more in proptest::collection::vec(step(), 1..40),
        close in any::<bool>(),
        last in proptest::collection::vec(step(), 1..40),
    ) {
        let dir = tempfile::tempdir().unwrap();
        let mut settings = Settings::asynchronous(1);
        settings.background_interval_ms = 0;
        settings.store_bytes_max = 1 << 28;
        let mut db = Engine::open(dir.path(), settings).unwrap();
        run(&db, &first);
        if checkpoint {
            db.checkpoint().unwrap();
        }
        // The model starts empty each time: so does the graph, but not its indexes' history.
        for steps in [&more, &last] {
            let names = Names::new(&db);
            let mut txn = db.begin().unwrap();
            for v in txn.scan(None).unwrap() {
                txn.delete_vertex(v, true).unwrap();
            }
            txn.commit().unwrap();
            let ids: Vec<IndexId> = db.indexes().iter().map(|i| i.id).collect();
            for id in ids {
                db.drop_index(id).unwrap();
            }
            let model = run(&db, steps);
            if close { db.close().unwrap() } else { drop(db) }
            db = Engine::open(dir.path(), settings).unwrap();
            let there: BTreeSet<usize> = (0..DEFINITIONS)
                .filter(|n| db.find_index(&format!("index {n}")).is_some())
                .collect();
            prop_assert_eq!(&there, &model.indexes);
            prop_assert!(db.indexes().iter().all(|i| i.state == IndexState::Online));
            check_snapshot(&db, &db.snapshot().unwrap(), &model, &names);
        }
    }
}

#[test]
fn violations_name_constraint_key_and_objects() {
    let db = Engine::in_memory(no_background()).unwrap();
    let names = Names::new(&db);
    let id = make(&db, 3, &names).unwrap();
    let mut txn = db.begin().unwrap();
    let first = txn.create_vertex(&[names.labels[1]]).unwrap();
    txn.set_vertex_property(first, names.keys[0], Value::Int(7)).unwrap();
    txn.commit().unwrap();
    let mut txn = db.begin().unwrap();
    let second = txn.create_vertex(&[names.labels[1]]).unwrap();
    txn.set_vertex_property(second, names.keys[0], Value::Float(7.0)).unwrap();
    let error = txn.commit().unwrap_err();
    assert!(!error.is_retryable());
    let Error::ConstraintViolated { constraint, violation } = error else { panic!("{error}") };
    assert_eq!(constraint, "index 3");
    let Violation::Duplicate { key, object, existing } = *violation else { panic!("{violation}") };
    assert_eq!(key, [Value::Int(7)]);
    assert_eq!(object, telar_engine::Object::Vertex(second));
    assert_eq!(existing, telar_engine::Object::Vertex(first));
    // The key moves from one vertex to the other in one commit.
    let mut txn = db.begin().unwrap();
    let second = txn.create_vertex(&[names.labels[1]]).unwrap();
    txn.set_vertex_property(second, names.keys[0], Value::Int(7)).unwrap();
    txn.set_vertex_property(first, names.keys[0], Value::Int(8)).unwrap();
    txn.commit().unwrap();
    let reader = db.reader().unwrap();
    assert_eq!(reader.index_lookup(id, &[Value::Int(7)]).unwrap(), [second]);
    assert_eq!(reader.index_lookup(id, &[Value::Int(8)]).unwrap(), [first]);
    assert_eq!(reader.read_ts(), db.published());
}
