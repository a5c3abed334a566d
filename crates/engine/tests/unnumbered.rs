//! Edges without an ordinal: one per pair of ends, told by it alone, whatever becomes of it.
#![cfg(not(feature = "shuttle"))]
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;

use std::collections::{BTreeMap, HashSet};
use std::path::Path;

use telar_engine::maintenance::{self, CheckReport};
use telar_engine::{
    BulkOptions, Change, EdgeTypeOptions, Engine, Error, IndexSpec, IndexTarget, Isolation,
    Retention, Settings,
};
use telar_graph::{CommitTs, Direction, EdgeId, EdgeTypeId, PropertyKeyId, Value};

use common::{Random, no_background, v, with_vertices};

struct World {
    db: Engine,
    ty: EdgeTypeId,
    key: PropertyKeyId,
}

impl World {
    fn new(db: Engine) -> Self {
        let ty = db.edge_type("KNOWS", EdgeTypeOptions::general()).unwrap();
        let key = db.property_key("since").unwrap();
        if db.snapshot().unwrap().reader().labels(v(0)).is_none() {
            with_vertices(&db, 3000);
        }
        Self { db, ty, key }
    }

    fn memory() -> Self {
        Self::new(Engine::in_memory(no_background()).unwrap())
    }

    fn stored(path: &Path) -> Self {
        let mut settings = no_background();
        settings.store_bytes_max = 1 << 28;
        settings.retain = Retention::Keep { commits: 1000, ms: 0 };
        Self::new(Engine::open(path, settings).unwrap())
    }

    fn create(&self, a: u64, b: u64) -> EdgeId {
        let mut txn = self.db.begin().unwrap();
        let edge = txn.create_edge(self.ty, v(a), v(b), &[]).unwrap();
        txn.commit().unwrap();
        edge
    }

    fn set(&self, edge: EdgeId, value: Value) -> CommitTs {
        let mut txn = self.db.begin().unwrap();
        txn.set_edge_property(edge, self.key, value).unwrap();
        txn.commit().unwrap().ts
    }

    fn delete(&self, edge: EdgeId) -> CommitTs {
        let mut txn = self.db.begin().unwrap();
        txn.delete_edge(edge).unwrap();
        txn.commit().unwrap().ts
    }

    fn get(&self, edge: EdgeId) -> Value {
        self.db.snapshot().unwrap().reader().edge_property(edge, self.key)
    }

    fn edges(&self, a: u64) -> Vec<EdgeId> {
        let mut edges: Vec<_> =
            self.db.snapshot().unwrap().reader().edges(v(a), self.ty, Direction::Out).collect();
        edges.sort_unstable();
        edges
    }

    fn id(&self, a: u64, b: u64) -> EdgeId {
        EdgeId { ty: self.ty, src: v(a), dst: v(b), ordinal: 0 }
    }
}

fn assert_sound(report: &CheckReport) {
    assert!(report.worst().is_none(), "{:?}", report.findings);
}

#[test]
fn the_first_edge_of_a_pair_has_no_ordinal() {
    let world = World::memory();
    let first = world.create(1, 2);
    assert_eq!(first, world.id(1, 2));
    let second = world.create(1, 2);
    assert_ne!(second.ordinal, 0, "a parallel one has one");
    assert_eq!(world.create(2, 1).ordinal, 0, "the other way is another pair");
    let mut txn = world.db.begin().unwrap();
    let third = txn.create_edge(world.ty, v(5), v(6), &[]).unwrap();
    let fourth = txn.create_edge(world.ty, v(5), v(6), &[]).unwrap();
    let fifth = txn.create_edge(world.ty, v(7), v(8), &[(world.key, 1.into())]).unwrap();
    let sixth = txn.create_edge(world.ty, v(7), v(9), &[(world.key, Value::Null)]).unwrap();
    txn.commit().unwrap();
    assert_eq!((third.ordinal, sixth.ordinal), (0, 0));
    assert!(fourth.ordinal != 0 && fifth.ordinal != 0);
    for settled in [false, true] {
        if settled {
            world.db.settle();
        }
        assert_eq!(world.edges(1), [first, second]);
        assert_eq!(world.edges(5), [third, fourth]);
        assert_eq!(world.edges(7), [fifth, sixth]);
    }
    world.delete(first);
    assert_eq!(world.edges(1), [second]);
    assert_eq!(world.create(1, 2), first, "it had no property: nothing tells them apart");
    assert_eq!(world.edges(1), [first, second]);
}

#[test]
fn a_property_that_is_set_later_changes_no_id() {
    let dir = tempfile::tempdir().unwrap();
    let world = World::stored(dir.path());
    let edges: Vec<EdgeId> = (0..50).map(|n| world.create(n * 7, n * 11 + 1)).collect();
    assert!(edges.iter().all(|e| e.ordinal == 0));
    for (edge, n) in edges.iter().zip(0..).step_by(2) {
        world.set(*edge, Value::Int(n));
    }
    let check = |world: &World| {
        for (edge, n) in edges.iter().zip(0i64..) {
            let expected = if n % 2 == 0 { Value::Int(n) } else { Value::Null };
            assert_eq!(world.get(*edge), expected, "{edge}");
            let twin = EdgeId { ordinal: 1, ..*edge };
            assert_eq!(world.get(twin), Value::Null, "no such edge");
        }
    };
    check(&world);
    world.db.settle();
    check(&world);
    // From the log, from the store, and from both.
    drop(world);
    let world = World::stored(dir.path());
    check(&world);
    world.db.checkpoint().unwrap();
    world.set(edges[0], Value::Int(100));
    world.set(edges[0], Value::Int(0));
    drop(world);
    let world = World::stored(dir.path());
    check(&world);
    world.db.close().unwrap();
    assert_sound(&maintenance::check(dir.path()).unwrap());
    maintenance::compact(dir.path()).unwrap();
    assert_sound(&maintenance::check(dir.path()).unwrap());
    check(&World::stored(dir.path()));
}

#[test]
fn an_edge_made_after_one_that_had_properties_is_another() {
    let dir = tempfile::tempdir().unwrap();
    let world = World::stored(dir.path());
    let edge = world.create(1, 2);
    let with = world.set(edge, 5.into());
    let without = world.delete(edge);
    let again = world.create(1, 2);
    assert_ne!(again, edge);
    assert_eq!(world.get(again), Value::Null);
    assert_eq!(world.get(edge), Value::Null);
    let at = |world: &World, ts| {
        let snapshot = world.db.snapshot_at(ts).unwrap();
        let reader = snapshot.reader();
        let edges: Vec<_> = reader.edges(v(1), world.ty, Direction::Out).collect();
        (edges, reader.edge_property(edge, world.key))
    };
    let check = |world: &World| {
        assert_eq!(at(world, with), (vec![edge], Value::Int(5)));
        assert_eq!(at(world, without), (vec![], Value::Null));
    };
    check(&world);
    world.db.checkpoint().unwrap();
    check(&world);
    drop(world);
    check(&World::stored(dir.path()));
}

#[test]
fn the_change_stream_tells_ids_as_they_are() {
    let dir = tempfile::tempdir().unwrap();
    let world = World::stored(dir.path());
    let begin = world.db.published();
    let edge = world.create(1, 2);
    world.set(edge, 5.into());
    let twin = world.create(1, 2);
    world.delete(edge);
    let mut stream = world.db.changes_since(begin).unwrap();
    let mut found = Vec::new();
    while let Some(commit) = stream.next_within(std::time::Duration::ZERO).unwrap() {
        found.extend(commit.changes);
    }
    let (key, value) = (world.key, Value::Int(5));
    assert_eq!(
        found,
        [
            Change::EdgeCreated { edge, sort_key: None },
            Change::EdgePropertySet { edge, key, value },
            Change::EdgeCreated { edge: twin, sort_key: None },
            Change::EdgeDeleted { edge },
        ]
    );
}

#[test]
fn indexes_find_edges_without_an_ordinal() {
    let dir = tempfile::tempdir().unwrap();
    let world = World::stored(dir.path());
    let early = world.create(1, 2);
    world.set(early, 7.into());
    let (target, properties) = (IndexTarget::Edges(world.ty), vec![world.key]);
    let spec = IndexSpec { name: "since".into(), target, properties };
    let index = world.db.create_index(spec).unwrap();
    let late = world.create(3, 4);
    world.set(late, 7.into());
    let mut txn = world.db.begin().unwrap();
    let now = txn.create_edge(world.ty, v(5), v(6), &[]).unwrap();
    txn.set_edge_property(now, world.key, 7.into()).unwrap();
    let numbered = txn.create_edge(world.ty, v(5), v(6), &[(world.key, 7.into())]).unwrap();
    let sorted = |mut edges: Vec<EdgeId>| {
        edges.sort_unstable();
        edges
    };
    let all = vec![early, late, now, numbered];
    let range = telar_graph::IndexRange::equal(&[7.into()]);
    assert_eq!(sorted(txn.index_range_edges(index, &range).unwrap()), all);
    txn.commit().unwrap();
    let find = |world: &World, n: i64| {
        let reader = world.db.reader().unwrap();
        sorted(reader.index_lookup_edges(index, &[n.into()]).unwrap())
    };
    assert_eq!(find(&world, 7), all);
    world.set(late, 8.into());
    world.delete(now);
    assert_eq!(find(&world, 7), [early, numbered]);
    assert_eq!(find(&world, 8), [late]);
    world.db.checkpoint().unwrap();
    drop(world);
    let world = World::stored(dir.path());
    assert_eq!(find(&world, 7), [early, numbered]);
    assert_eq!(find(&world, 8), [late]);
    world.db.close().unwrap();
    assert_sound(&maintenance::check(dir.path()).unwrap());
}

#[test]
fn two_transactions_make_one_edge_without_an_ordinal() {
    let world = World::memory();
    let mut first = world.db.begin().unwrap();
    let mut second = world.db.begin().unwrap();
    let mut third = world.db.begin().unwrap();
    let id = first.create_edge(world.ty, v(1), v(2), &[]).unwrap();
    assert_eq!(id.ordinal, 0);
    // Another one is being made.
    assert_ne!(second.create_edge(world.ty, v(1), v(2), &[]).unwrap(), id);
    second.commit().unwrap();
    first.commit().unwrap();
    // Whoever comes later sees it, although the snapshot does not.
    assert_ne!(third.create_edge(world.ty, v(1), v(2), &[]).unwrap(), id);
    third.commit().unwrap();
    assert_eq!(world.edges(1).len(), 3);
    // One that is given up leaves room for another.
    let mut first = world.db.begin().unwrap();
    let other = first.create_edge(world.ty, v(3), v(4), &[]).unwrap();
    first.abort();
    assert_eq!((world.create(3, 4), other.ordinal), (other, 0));
    // One that was there at the snapshot and is gone leaves no room, either.
    let mut fourth = world.db.begin().unwrap();
    world.delete(id);
    assert_ne!(fourth.create_edge(world.ty, v(1), v(2), &[]).unwrap(), id);
    fourth.commit().unwrap();
}

#[test]
fn writers_of_one_edge_conflict() {
    let world = World::memory();
    let edge = world.create(1, 2);
    let other = world.db.property_key("other").unwrap();
    let begin = || world.db.begin().unwrap();
    // The same property; a property and the edge; different properties go together.
    let (mut a, mut b, mut c) = (begin(), begin(), begin());
    a.set_edge_property(edge, world.key, 1.into()).unwrap();
    b.set_edge_property(edge, world.key, 2.into()).unwrap();
    c.set_edge_property(edge, other, 3.into()).unwrap();
    a.commit().unwrap();
    assert!(matches!(b.commit().unwrap_err(), Error::Conflict { .. }));
    c.commit().unwrap();
    let (mut a, mut b) = (begin(), begin());
    a.set_edge_property(edge, world.key, 4.into()).unwrap();
    b.delete_edge(edge).unwrap();
    a.commit().unwrap();
    assert!(matches!(b.commit().unwrap_err(), Error::Conflict { .. }));
    let (mut a, mut b) = (begin(), begin());
    a.set_edge_property(edge, world.key, 5.into()).unwrap();
    b.delete_edge(edge).unwrap();
    b.commit().unwrap();
    assert!(matches!(a.commit().unwrap_err(), Error::Conflict { .. }));
    // The one that is there is not the one that was meant.
    let edge = world.create(3, 4);
    let mut a = begin();
    assert!(a.edge_exists(edge));
    world.delete(edge);
    assert_eq!(world.create(3, 4), edge);
    a.set_edge_property(edge, world.key, 6.into()).unwrap();
    assert!(matches!(a.commit().unwrap_err(), Error::Conflict { .. }));
    assert_eq!(world.get(edge), Value::Null);
}

#[test]
fn serializable_reads_of_a_missing_property_are_validated() {
    let world = World::memory();
    let (a, b) = (world.create(1, 2), world.create(3, 4));
    let begin = || world.db.begin_with(Isolation::Serializable).unwrap();
    let (mut first, mut second) = (begin(), begin());
    assert_eq!(first.edge_property(a, world.key).unwrap(), Value::Null);
    assert_eq!(second.edge_property(b, world.key).unwrap(), Value::Null);
    first.set_edge_property(b, world.key, 1.into()).unwrap();
    second.set_edge_property(a, world.key, 1.into()).unwrap();
    first.commit().unwrap();
    let error = second.commit().unwrap_err();
    assert!(matches!(error, Error::Conflict { .. }), "{error}");
}

#[test]
fn bulk_loads_number_parallel_edges_only() {
    let world = World::memory();
    let old = world.create(1, 2);
    let load = |edges: &[(u32, u32)], vertices: usize| {
        let mut bulk = world.db.bulk_load(BulkOptions::default()).unwrap();
        let name = bulk.edge_type("KNOWS", EdgeTypeOptions::general()).unwrap();
        bulk.add_vertices(&[], vertices, &[]).unwrap();
        let first = bulk.first_vertex().unwrap().get() as u32;
        let edges = edges.iter().map(|(a, b)| (*a, if *b < 3000 { *b } else { b - 3000 + first }));
        bulk.add_edges(name, edges.collect(), Vec::new()).unwrap();
        bulk.finish(&|_, _, _| {}).unwrap();
        u64::from(first)
    };
    // To an old vertex, twice; to a new one, twice.
    let first = load(&[(1, 2), (1, 2), (1, 3000), (1, 3000), (1, 3001)], 10);
    let found = world.edges(1);
    let unnumbered: Vec<_> = found.iter().filter(|e| e.ordinal == 0).copied().collect();
    assert_eq!(unnumbered, [old, world.id(1, first), world.id(1, first + 1)]);
    assert_eq!(found.len(), 6);
    assert_eq!(found.iter().collect::<HashSet<_>>().len(), 6);
    let inward = world.db.reader().unwrap();
    let mut inward: Vec<_> = inward.edges(v(2), world.ty, Direction::In).collect();
    inward.sort_unstable();
    assert_eq!(inward, found[..3]);
}

/// Random writes beside a map of what there is, with restarts, checkpoints and settling.
#[test]
fn random_writes_leave_what_they_said() {
    let rounds = if std::env::var_os("TELAR_LONG").is_some() { 200 } else { 12 };
    for seed in 1..=rounds {
        let dir = tempfile::tempdir().unwrap();
        let mut settings = no_background();
        settings.store_bytes_max = 1 << 28;
        settings.hub_entries_min = 1024;
        let open = |settings: &Settings| World::new(Engine::open(dir.path(), *settings).unwrap());
        let mut world = open(&settings);
        let mut random = Random(seed * 0x9E37_79B9);
        let mut model: BTreeMap<EdgeId, Value> = BTreeMap::new();
        for _ in 0..60 {
            let mut txn = world.db.begin().unwrap();
            for _ in 0..random.below(30) {
                let (a, b) = (v(random.below(6)), v(random.below(40)));
                let some =
                    model.keys().nth(random.below(model.len().max(1) as u64) as usize).copied();
                match (random.below(8), some) {
                    (0, _) => {
                        let value = Value::Int(random.below(9) as i64);
                        let values = [(world.key, value.clone())];
                        let edge = txn.create_edge(world.ty, a, b, &values).unwrap();
                        assert_eq!(model.insert(edge, value), None, "{edge} is there already");
                    }
                    (1..=3, _) | (_, None) => {
                        let edge = txn.create_edge(world.ty, a, b, &[]).unwrap();
                        assert_eq!(
                            model.insert(edge, Value::Null),
                            None,
                            "{edge} is there already"
                        );
                    }
                    (4 | 5, Some(edge)) => {
                        let value = match random.below(4) {
                            0 => Value::Null,
                            n => Value::Int(n as i64),
                        };
                        txn.set_edge_property(edge, world.key, value.clone()).unwrap();
                        model.insert(edge, value);
                    }
                    (_, Some(edge)) => {
                        txn.delete_edge(edge).unwrap();
                        model.remove(&edge);
                    }
                }
            }
            txn.commit().unwrap();
            match random.below(12) {
                0 => drop(world.db.checkpoint().unwrap()),
                1 | 2 => world.db.settle(),
                3 => {
                    world.db.checkpoint().unwrap();
                    world.db.release_memory();
                }
                4 => {
                    drop(world);
                    world = open(&settings);
                }
                _ => {}
            }
            let reader = world.db.reader().unwrap();
            for direction in Direction::ALL {
                let found: BTreeMap<EdgeId, Value> = (0..40)
                    .flat_map(|n| reader.edges(v(n), world.ty, direction))
                    .map(|edge| (edge, reader.edge_property(edge, world.key)))
                    .collect();
                assert_eq!(found, model, "seed {seed}, {direction:?}");
            }
        }
        world.db.close().unwrap();
        assert_sound(&maintenance::check(dir.path()).unwrap());
    }
}

/// Found by merges under kills: blocks without a column of ordinals are copied once more, and those
/// with one keep it whatever comes.
#[test]
fn large_commits_find_room_in_lists_with_and_without_ordinals() {
    for seed in 1..=20 {
        let world = World::memory();
        let mut random = Random(seed * 0x9E37_79B9);
        let mut edges = HashSet::new();
        for round in 0..3 {
            // Few or many, so that arenas are full to any degree.
            for _ in 0..100 + random.below(400) {
                let mut txn = world.db.begin().unwrap();
                for _ in 0..1 + random.below(10) {
                    let (a, b) = (v(random.below(400)), v(random.below(1000)));
                    let values = [(world.key, 1.into())];
                    let values = if seed % 2 == 0 { &[] } else { &values[..] };
                    assert!(edges.insert(txn.create_edge(world.ty, a, b, values).unwrap()));
                }
                txn.commit().unwrap();
            }
            let mut txn = world.db.begin().unwrap();
            for n in 0..4200 {
                let (a, b) = (v(n * 7 % 400), v(random.below(1000)));
                let values = [(world.key, 1.into())];
                let is_plain = random.below(4) == 0 || seed % 4 == 1;
                let values = if is_plain { &[] } else { &values[..] };
                assert!(edges.insert(txn.create_edge(world.ty, a, b, values).unwrap()));
            }
            txn.commit().unwrap();
            let reader = world.db.reader().unwrap();
            let found: Vec<_> =
                (0..400).flat_map(|n| reader.edges(v(n), world.ty, Direction::Out)).collect();
            assert_eq!(found.len(), edges.len(), "seed {seed}, round {round}");
            assert!(found.iter().all(|edge| edges.contains(edge)));
        }
    }
}
