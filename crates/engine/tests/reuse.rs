//! Ids of deleted vertices are used again, and nothing of the old vertex shows.
#![cfg(not(feature = "shuttle"))]
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;

use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;
use telar_engine::{
    ConstraintKind, ConstraintSpec, EdgeTypeOptions, Engine, IndexTarget, Retention, Settings,
};
use telar_graph::{Direction, EdgeTypeId, IndexId, LabelId, PropertyKeyId, Value, VertexId, View};

use common::{cases, no_background, v};

struct Schema {
    label: LabelId,
    key: PropertyKeyId,
    knows: EdgeTypeId,
    likes: EdgeTypeId,
    unique: IndexId,
}

fn schema(db: &Engine) -> Schema {
    let label = db.label("L").unwrap();
    let key = db.property_key("k").unwrap();
    let spec = ConstraintSpec {
        name: "unique k".into(),
        target: IndexTarget::Vertices(label),
        kind: ConstraintKind::Unique,
        properties: vec![key],
    };
    Schema {
        label,
        key,
        knows: db.edge_type("KNOWS", EdgeTypeOptions::general()).unwrap(),
        likes: db.edge_type("LIKES", EdgeTypeOptions::simple()).unwrap(),
        unique: db.create_constraint(spec).unwrap(),
    }
}

fn create(db: &Engine, s: &Schema, key: i64) -> VertexId {
    let mut txn = db.begin().unwrap();
    let v = txn.create_vertex(&[s.label]).unwrap();
    txn.set_vertex_property(v, s.key, key.into()).unwrap();
    txn.create_edge(s.knows, v, v, &[(s.key, 1.into())]).unwrap();
    txn.upsert_edge(s.likes, v, v).unwrap();
    txn.commit().unwrap();
    v
}

fn delete(db: &Engine, v: VertexId) -> u64 {
    let mut txn = db.begin().unwrap();
    txn.delete_vertex(v, true).unwrap();
    txn.commit().unwrap().ts.get()
}

fn bare(db: &Engine, s: &Schema) -> VertexId {
    let mut txn = db.begin().unwrap();
    let v = txn.create_vertex(&[]).unwrap();
    assert!(txn.vertex_property(v, s.key).unwrap().is_null());
    assert_eq!(txn.edges(v, s.knows, Direction::Out).unwrap().count(), 0);
    txn.commit().unwrap();
    let reader = db.reader().unwrap();
    assert_eq!(reader.labels(v), Some(vec![]));
    assert!(reader.vertex_property(v, s.key).is_null());
    for ty in [s.knows, s.likes] {
        for dir in Direction::ALL {
            assert_eq!(reader.degree(v, ty, dir), 0);
        }
    }
    v
}

#[test]
fn an_id_comes_back_once_no_live_snapshot_sees_the_old_vertex() {
    let db = Engine::in_memory(no_background()).unwrap();
    let s = schema(&db);
    let old = create(&db, &s, 7);
    let held = db.snapshot().unwrap();
    delete(&db, old);
    db.settle();
    assert_eq!(db.health().free_vertices, (0, 1), "the snapshot sees it");
    assert_ne!(bare(&db, &s), old);
    assert!(held.reader().exists(old));
    assert_eq!(held.reader().degree(old, s.knows, Direction::Out), 1);
    drop(held);
    db.settle();
    assert_eq!(db.health().free_vertices, (1, 0));
    assert_eq!(bare(&db, &s), old);
    assert_eq!(db.reader().unwrap().index_find(s.unique, &[7.into()]).unwrap(), None);
    // The key is free again, and it may be the same vertex id that takes it.
    let mut txn = db.begin().unwrap();
    txn.delete_vertex(old, true).unwrap();
    txn.commit().unwrap();
    db.settle();
    assert_eq!(create(&db, &s, 7), old);
    assert_eq!(db.reader().unwrap().index_find(s.unique, &[7.into()]).unwrap(), Some(old));
}

#[test]
fn an_id_waits_for_retained_history() {
    let mut settings = no_background();
    settings.retain = Retention::commits(3);
    let db = Engine::in_memory(settings).unwrap();
    let s = schema(&db);
    let old = create(&db, &s, 7);
    let alive = db.published();
    delete(&db, old);
    db.settle();
    let past = db.snapshot_at(alive).unwrap();
    for n in 0..5 {
        assert_ne!(create(&db, &s, n + 100), old);
        db.settle();
    }
    assert_eq!(past.reader().vertex_property(old, s.key), Value::Int(7));
    drop(past);
    db.settle();
    let new = create(&db, &s, 7);
    assert_eq!(new, old, "nobody can ask for the old one any more");
}

/// A made-and-deleted, an aborted and a bulk-loaded vertex give their ids back, too.
#[test]
fn ids_that_were_never_seen_are_used() {
    let db = Engine::in_memory(no_background()).unwrap();
    let s = schema(&db);
    let mut txn = db.begin().unwrap();
    let short = txn.create_vertex(&[s.label]).unwrap();
    txn.create_vertex(&[]).unwrap();
    txn.delete_vertex(short, true).unwrap();
    txn.commit().unwrap();
    let mut txn = db.begin().unwrap();
    let aborted = txn.create_vertex(&[]).unwrap();
    txn.abort();
    db.settle();
    let both = BTreeSet::from([bare(&db, &s), bare(&db, &s)]);
    assert_eq!(both, BTreeSet::from([short, aborted]));
}

#[derive(Debug, Clone)]
enum Step {
    Create { key: i64, links: Vec<usize> },
    Delete { which: usize },
    Settle,
    Checkpoint,
    Reopen { close: bool },
    Hold,
    Release,
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        8 => (0i64..20, proptest::collection::vec(0usize..100, 0..4))
            .prop_map(|(key, links)| Step::Create { key, links }),
        6 => (0usize..100).prop_map(|which| Step::Delete { which }),
        3 => Just(Step::Settle),
        1 => Just(Step::Checkpoint),
        1 => any::<bool>().prop_map(|close| Step::Reopen { close }),
        1 => Just(Step::Hold),
        1 => Just(Step::Release),
    ]
}

/// What a vertex should show: its key and its edges, by either end.
type Model = BTreeMap<VertexId, (i64, Vec<VertexId>)>;

fn check(db: &Engine, s: &Schema, model: &Model) {
    let reader = db.reader().unwrap();
    let mut found = Vec::new();
    reader.scan(None, v(0), reader.vertex_bound(), &mut found).unwrap();
    assert_eq!(found, model.keys().copied().collect::<Vec<_>>());
    for (vertex, (key, links)) in model {
        assert_eq!(reader.vertex_property(*vertex, s.key), Value::Int(*key));
        for ty in [s.knows, s.likes] {
            let mut ends: Vec<VertexId> =
                reader.edges(*vertex, ty, Direction::Out).map(|e| e.dst).collect();
            ends.sort_unstable();
            let alive = links.iter().filter(|w| model.contains_key(w)).copied();
            assert_eq!(ends, alive.collect::<Vec<_>>(), "edges of {vertex}");
            let inward = model.values().filter(|(_, links)| links.contains(vertex)).count();
            assert_eq!(reader.degree(*vertex, ty, Direction::In), inward);
        }
    }
    for key in 0..20i64 {
        let holder = model.iter().find(|(_, (k, _))| *k == key).map(|(v, _)| *v);
        assert_eq!(reader.index_find(s.unique, &[key.into()]).unwrap(), holder);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: cases().cases / 2, ..cases() })]

    #[test]
    fn reused_ids_match_the_model(
        steps in proptest::collection::vec(step(), 1..120),
        retain in 0u64..8,
    ) {
        let dir = tempfile::tempdir().unwrap();
        let mut settings = Settings::asynchronous(1);
        settings.background_interval_ms = 0;
        settings.store_bytes_max = 1 << 28;
        if retain > 0 {
            settings.retain = Retention::commits(retain);
        }
        let mut db = Engine::open(dir.path(), settings).unwrap();
        let s = schema(&db);
        let mut model = Model::new();
        let mut ever = BTreeSet::new();
        let mut held = Vec::new();
        let mut made = 0u64;
        for step in &steps {
            match step {
                Step::Create { key, links } => {
                    if model.values().any(|(k, _)| k == key) {
                        continue;
                    }
                    let mut txn = db.begin().unwrap();
                    let new = txn.create_vertex(&[s.label]).unwrap();
                    prop_assert!(!model.contains_key(&new), "an id of a vertex that is alive");
                    txn.set_vertex_property(new, s.key, (*key).into()).unwrap();
                    let others: Vec<VertexId> = model.keys().copied().collect();
                    let mut ends: Vec<VertexId> =
                        links.iter().filter_map(|n| others.get(*n % (others.len() + 1))).copied()
                            .collect();
                    ends.sort_unstable();
                    ends.dedup();
                    for end in &ends {
                        txn.create_edge(s.knows, new, *end, &[]).unwrap();
                        txn.upsert_edge(s.likes, new, *end).unwrap();
                    }
                    txn.commit().unwrap();
                    // A link to a vertex that is gone must not come back with its id.
                    model.values_mut().for_each(|(_, links)| links.retain(|w| *w != new));
                    model.insert(new, (*key, ends));
                    ever.insert(new);
                    made += 1;
                }
                Step::Delete { which } => {
                    let Some(old) = model.keys().nth(which % model.len().max(1)).copied() else {
                        continue;
                    };
                    delete(&db, old);
                    model.remove(&old);
                    model.values_mut().for_each(|(_, links)| links.retain(|w| *w != old));
                }
                Step::Settle => db.settle(),
                Step::Checkpoint => {
                    db.checkpoint().unwrap();
                }
                Step::Reopen { close } => {
                    held.clear();
                    if *close { db.close().unwrap() } else { drop(db) }
                    db = Engine::open(dir.path(), settings).unwrap();
                }
                Step::Hold => held.push(db.snapshot_owned().unwrap()),
                Step::Release => drop(held.pop()),
            }
            check(&db, &s, &model);
        }
        drop(held);
        // With nobody reading the past, every id comes back.
        for _ in 0..retain + 1 {
            let mut txn = db.begin().unwrap();
            let some = txn.create_vertex(&[]).unwrap();
            txn.commit().unwrap();
            ever.insert(some);
            model.insert(some, (-1, Vec::new()));
        }
        db.settle();
        db.settle();
        let (ready, waiting) = db.health().free_vertices;
        prop_assert_eq!(waiting, 0);
        let bound = db.reader().unwrap().vertex_bound().get();
        prop_assert_eq!(ready + model.len() as u64, bound, "{} made", made);
    }
}
