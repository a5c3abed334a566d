//! A plain model of the graph, random steps on it, and whether a snapshot shows what it says.
#![allow(dead_code, reason = "each program uses a part of it")]
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;
use telar_engine::{EdgeTypeOptions, Engine, Snapshot, Transaction};
use telar_graph::{
    Counts, Direction, EdgeId, EdgeTypeId, Expansion, LabelId, PropertyKeyId, Topology, Value,
    VertexId, View,
};

/// The plain model: everything in ordered maps.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Model {
    pub(crate) vertices: BTreeMap<VertexId, (BTreeSet<LabelId>, BTreeMap<PropertyKeyId, Value>)>,
    pub(crate) edges: BTreeMap<EdgeId, BTreeMap<PropertyKeyId, Value>>,
}

/// One step; numbers are reduced modulo what there is.
#[derive(Debug, Clone)]
pub(crate) enum Step {
    CreateVertex { label: usize },
    CreateEdge { timed: bool, src: usize, dst: usize, value: i64 },
    Upsert { src: usize, dst: usize },
    Remove { src: usize, dst: usize },
    DeleteEdge { which: usize },
    SetVertex { vertex: usize, value: Option<i64> },
    SetEdge { which: usize, value: Option<i64> },
    Label { vertex: usize, label: usize, add: bool },
    DeleteVertex { vertex: usize },
    Commit,
    Abort,
    Settle,
    Checkpoint,
    Release,
    Open,
    Close { which: usize },
}

impl Step {
    /// Whether it is one of a transaction's writes; the others are up to the test.
    pub(crate) fn is_write(&self) -> bool {
        use Step::{Abort, Checkpoint, Close, Commit, Open, Release, Settle};
        !matches!(self, Commit | Abort | Settle | Checkpoint | Release | Open | Close { .. })
    }
}

pub(crate) fn step() -> impl Strategy<Value = Step> {
    let n = 0usize..1000;
    prop_oneof![
        2 => n.clone().prop_map(|label| Step::CreateVertex { label }),
        6 => (any::<bool>(), n.clone(), n.clone(), -50i64..50)
            .prop_map(|(timed, src, dst, value)| Step::CreateEdge { timed, src, dst, value }),
        6 => (n.clone(), n.clone()).prop_map(|(src, dst)| Step::Upsert { src, dst }),
        4 => (n.clone(), n.clone()).prop_map(|(src, dst)| Step::Remove { src, dst }),
        4 => n.clone().prop_map(|which| Step::DeleteEdge { which }),
        2 => (n.clone(), proptest::option::of(-9i64..9))
            .prop_map(|(vertex, value)| Step::SetVertex { vertex, value }),
        2 => (n.clone(), proptest::option::of(-9i64..9))
            .prop_map(|(which, value)| Step::SetEdge { which, value }),
        1 => (n.clone(), n.clone(), any::<bool>())
            .prop_map(|(vertex, label, add)| Step::Label { vertex, label, add }),
        1 => n.clone().prop_map(|vertex| Step::DeleteVertex { vertex }),
        5 => Just(Step::Commit),
        1 => Just(Step::Abort),
        1 => Just(Step::Settle),
        1 => Just(Step::Checkpoint),
        2 => Just(Step::Release),
        1 => Just(Step::Open),
        1 => n.prop_map(|which| Step::Close { which }),
    ]
}

pub(crate) struct Names {
    pub(crate) labels: Vec<LabelId>,
    pub(crate) key: PropertyKeyId,
    pub(crate) time: PropertyKeyId,
    pub(crate) simple: EdgeTypeId,
    pub(crate) multi: EdgeTypeId,
    pub(crate) timed: EdgeTypeId,
}

impl Names {
    pub(crate) fn new(db: &Engine) -> Self {
        let time = db.property_key("time").unwrap();
        Self {
            labels: ["A", "B", "C"].map(|l| db.label(l).unwrap()).to_vec(),
            key: db.property_key("key").unwrap(),
            time,
            simple: db.edge_type("SIMPLE", EdgeTypeOptions::simple()).unwrap(),
            multi: db.edge_type("MULTI", EdgeTypeOptions::general()).unwrap(),
            timed: db.edge_type("TIMED", EdgeTypeOptions::newest_first(time)).unwrap(),
        }
    }

    pub(crate) fn types(&self) -> [EdgeTypeId; 3] {
        [self.simple, self.multi, self.timed]
    }
}

fn pick<T: Copy>(items: impl ExactSizeIterator<Item = T>, n: usize) -> Option<T> {
    let len = items.len();
    let mut items = items;
    (len > 0).then(|| items.nth(n % len)).flatten()
}

pub(crate) fn apply(step: &Step, txn: &mut Transaction<'_>, model: &mut Model, names: &Names) {
    let vertex = |n: usize, m: &Model| pick(m.vertices.keys().copied(), n);
    match *step {
        Step::CreateVertex { label } => {
            let label = names.labels[label % 3];
            let v = txn.create_vertex(&[label]).unwrap();
            model.vertices.insert(v, ([label].into(), BTreeMap::new()));
        }
        Step::CreateEdge { timed, src, dst, value } => {
            let (Some(u), Some(v)) = (vertex(src, model), vertex(dst, model)) else {
                return;
            };
            let ty = if timed { names.timed } else { names.multi };
            // Those without any have no ordinal, if they are the first of their pair.
            let properties = match !timed && value % 3 == 0 {
                true => Vec::new(),
                false => vec![(names.time, Value::Int(value)), (names.key, Value::Int(value * 2))],
            };
            let id = txn.create_edge(ty, u, v, &properties).unwrap();
            model.edges.insert(id, properties.into_iter().collect());
        }
        Step::Upsert { src, dst } => {
            let (Some(u), Some(v)) = (vertex(src, model), vertex(dst, model)) else {
                return;
            };
            txn.upsert_edge(names.simple, u, v).unwrap();
            let id = EdgeId { ty: names.simple, src: u, dst: v, ordinal: 0 };
            model.edges.entry(id).or_default();
        }
        Step::Remove { src, dst } => {
            let (Some(u), Some(v)) = (vertex(src, model), vertex(dst, model)) else {
                return;
            };
            txn.remove_edge(names.simple, u, v).unwrap();
            model.edges.remove(&EdgeId { ty: names.simple, src: u, dst: v, ordinal: 0 });
        }
        Step::DeleteEdge { which } => {
            let Some(id) = pick(model.edges.keys().copied(), which) else {
                return;
            };
            txn.delete_edge(id).unwrap();
            model.edges.remove(&id);
        }
        Step::SetVertex { vertex: n, value } => {
            let Some(v) = vertex(n, model) else { return };
            txn.set_vertex_property(v, names.key, value.into()).unwrap();
            let properties = &mut model.vertices.get_mut(&v).unwrap().1;
            match value {
                Some(n) => drop(properties.insert(names.key, Value::Int(n))),
                None => drop(properties.remove(&names.key)),
            }
        }
        Step::SetEdge { which, value } => {
            let others = model.edges.keys().copied().filter(|e| e.ty != names.simple);
            let others: Vec<_> = others.collect();
            let Some(id) = pick(others.into_iter(), which) else {
                return;
            };
            txn.set_edge_property(id, names.key, value.into()).unwrap();
            let properties = model.edges.get_mut(&id).unwrap();
            match value {
                Some(n) => drop(properties.insert(names.key, Value::Int(n))),
                None => drop(properties.remove(&names.key)),
            }
        }
        Step::Label { vertex: n, label, add } => {
            let Some(v) = vertex(n, model) else { return };
            let label = names.labels[label % 3];
            let labels = &mut model.vertices.get_mut(&v).unwrap().0;
            if add {
                assert_eq!(txn.add_label(v, label).unwrap(), labels.insert(label));
            } else {
                assert_eq!(txn.remove_label(v, label).unwrap(), labels.remove(&label));
            }
        }
        Step::DeleteVertex { vertex: n } => {
            let Some(v) = vertex(n, model) else { return };
            let connected = model.edges.keys().any(|e| e.src == v || e.dst == v);
            if connected {
                assert!(txn.delete_vertex(v, false).is_err());
            }
            txn.delete_vertex(v, true).unwrap();
            model.vertices.remove(&v);
            model.edges.retain(|e, _| e.src != v && e.dst != v);
        }
        _ => unreachable!("handled by the driver"),
    }
}

pub(crate) fn edges_of(
    model: &Model,
    v: VertexId,
    ty: EdgeTypeId,
    dir: Direction,
) -> BTreeSet<EdgeId> {
    model.edges.keys().filter(|e| e.ty == ty && e.start(dir) == v).copied().collect()
}

/// What a snapshot shows must be the model, by every way of reading.
pub(crate) fn check_snapshot(snapshot: &Snapshot<'_>, model: &Model, names: &Names) {
    let reader = snapshot.reader();
    let bound = reader.vertex_bound();
    for label in names.labels.iter().map(|l| Some(*l)).chain([None]) {
        let mut found = Vec::new();
        reader.scan(label, VertexId::from_raw(0), bound, &mut found).unwrap();
        let has = |(_, (labels, _)): &(_, &(BTreeSet<LabelId>, _))| {
            label.is_none_or(|l| labels.contains(&l))
        };
        let expected: Vec<_> = model.vertices.iter().filter(has).map(|(v, _)| *v).collect();
        assert_eq!(found, expected);
        assert_eq!(reader.count_vertices(label).unwrap(), Some(expected.len() as u64));
    }
    let all: Vec<VertexId> = (0..bound.get() + 2).map(VertexId::from_raw).collect();
    for v in &all {
        let expected = model.vertices.get(v);
        let labels = expected.map(|(labels, _)| labels.iter().copied().collect::<Vec<_>>());
        assert_eq!(reader.labels(*v), labels);
        let value = expected.and_then(|(_, p)| p.get(&names.key).cloned()).unwrap_or_default();
        assert_eq!(reader.vertex_property(*v, names.key), value);
    }
    for ty in names.types() {
        for dir in Direction::ALL {
            // The past is made without columns for kernels, and with them for others: in any order.
            if dir == Direction::Out {
                check_kernels(&reader, model, ty, dir);
            }
            let mut expansion = Expansion::default();
            reader.expand(&all, ty, dir, &mut expansion).unwrap();
            for (i, v) in all.iter().enumerate() {
                let expected = edges_of(model, *v, ty, dir);
                let found: BTreeSet<EdgeId> = reader.edges(*v, ty, dir).collect();
                assert_eq!(found, expected);
                assert_eq!(reader.edges(*v, ty, dir).count(), expected.len());
                assert_eq!(reader.degree(*v, ty, dir), expected.len());
                let mut ends: Vec<u64> = expected.iter().map(|e| e.end(dir).get()).collect();
                ends.sort_unstable();
                let mut expanded: Vec<u64> = expansion.of(i).iter().map(|v| v.get()).collect();
                expanded.sort_unstable();
                assert_eq!(expanded, ends);
                let mut runs: Vec<u64> = Vec::new();
                reader.for_each_run(*v, ty, dir, |r| runs.extend(r.iter().map(|n| u64::from(*n))));
                runs.sort_unstable();
                assert_eq!(runs, ends);
                if dir == Direction::Out {
                    for w in &all {
                        let there = expected.iter().any(|e| e.dst == *w);
                        assert_eq!(reader.search_edge(ty, *v, *w), there);
                    }
                }
                if ty == names.timed {
                    check_newest(&reader, model, *v, dir, names);
                }
            }
            check_kernels(&reader, model, ty, dir);
        }
        let edges = model.edges.keys().filter(|e| e.ty == ty).count();
        assert_eq!(reader.count_edges(ty).unwrap(), Some(edges as u64));
    }
    for (id, properties) in &model.edges {
        assert!(reader.edge_exists(*id));
        let value = properties.get(&names.key).cloned().unwrap_or_default();
        assert_eq!(reader.edge_property(*id, names.key), value);
    }
    let statistics = reader.statistics().unwrap();
    assert_eq!(statistics.vertices, model.vertices.len() as u64);
    assert_eq!(statistics.edges(), model.edges.len() as u64);
}

/// What kernels see of a type.
fn check_kernels(reader: &telar_engine::Reader<'_>, model: &Model, ty: EdgeTypeId, dir: Direction) {
    let lists = reader.adjacency(ty, dir).unwrap();
    let bound = lists.vertex_bound();
    let mut expected = vec![Vec::new(); bound as usize + 2];
    for edge in model.edges.keys().filter(|e| e.ty == ty) {
        expected[edge.start(dir).get() as usize].push(edge.end(dir).get() as u32);
    }
    expected.iter_mut().for_each(|ends| ends.sort_unstable());
    let mut scanned = vec![Vec::new(); expected.len()];
    lists.scan(0..bound, |v, run| scanned[v as usize].extend_from_slice(run));
    let mut visited = vec![Vec::new(); expected.len()];
    let all: Vec<u32> = (0..bound + 2).rev().collect();
    lists.visit(&all, |v, run| visited[v as usize].extend_from_slice(run));
    let mut scratch = Vec::new();
    for (v, expected) in (0..).zip(&expected) {
        scanned[v as usize].sort_unstable();
        visited[v as usize].sort_unstable();
        assert_eq!((&scanned[v as usize], &visited[v as usize]), (expected, expected));
        assert_eq!(lists.sorted(v, &mut scratch), expected);
        assert_eq!(lists.degree(v) as usize, expected.len());
        for w in 0..bound {
            assert_eq!(lists.contains(v, w), expected.contains(&w), "{v} to {w}");
        }
    }
}

fn check_newest(
    reader: &telar_engine::Reader<'_>,
    model: &Model,
    v: VertexId,
    dir: Direction,
    names: &Names,
) {
    let time = |e: &EdgeId| match model.edges[e].get(&names.time) {
        Some(Value::Int(n)) => *n,
        other => panic!("timed edges have a time, not {other:?}"),
    };
    let mut expected: Vec<i64> = edges_of(model, v, names.timed, dir)
        .iter()
        .map(time)
        .filter(|t| (-20..30).contains(t))
        .collect();
    expected.sort_unstable_by(|a, b| b.cmp(a));
    expected.truncate(3);
    let found = reader.newest_edges(v, names.timed, dir, -20..30, 3);
    assert_eq!(found.iter().map(|(_, t)| *t).collect::<Vec<_>>(), expected);
    assert!(found.iter().all(|(e, t)| time(e) == *t));
}

pub(crate) fn check_transaction(txn: &Transaction<'_>, model: &Model, names: &Names) {
    assert_eq!(txn.scan(None).unwrap(), model.vertices.keys().copied().collect::<Vec<_>>());
    for v in model.vertices.keys() {
        for ty in names.types() {
            for dir in Direction::ALL {
                let found: BTreeSet<EdgeId> = txn.edges(*v, ty, dir).unwrap().collect();
                assert_eq!(found, edges_of(model, *v, ty, dir));
                assert_eq!(txn.degree(*v, ty, dir).unwrap(), found.len());
            }
        }
    }
    for (id, properties) in &model.edges {
        let value = properties.get(&names.key).cloned().unwrap_or_default();
        assert_eq!(txn.edge_property(*id, names.key).unwrap(), value);
    }
}
