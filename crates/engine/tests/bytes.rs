//! Bytes that lists take per entry, counted: ordinals that can be computed are not stored.
//!
//! Bounds are those of ordinary types, which allow parallel edges and properties. What a type made
//! `simple` takes is printed beside them (`--nocapture`).
#![cfg(not(feature = "shuttle"))]
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]
#![expect(clippy::print_stdout, reason = "figures for docs/memory.md")]

mod common;

use std::collections::HashSet;

use telar_engine::{BulkOptions, EdgeTypeOptions, Engine, Settings};
use telar_graph::{Direction, EdgeTypeId, PropertyKeyId, VertexId};

use common::{Random, no_background, v, with_vertices};

const VERTICES: u64 = 6 * 1024;
const EDGES_PER_VERTEX: u64 = 16;
/// Bytes per entry aimed at: settled, and as a load in random order leaves it.
const SETTLED_MAX: f64 = 4.5;
const LEFT_MAX: f64 = 6.5;

type Pairs = Vec<(VertexId, VertexId)>;

/// Different pairs of vertices in random order.
fn pairs() -> Pairs {
    let mut random = Random(11);
    let mut seen = HashSet::new();
    while seen.len() < (VERTICES * EDGES_PER_VERTEX) as usize {
        seen.insert((random.below(VERTICES), random.below(VERTICES)));
    }
    let mut pairs: Pairs = seen.into_iter().map(|(a, b)| (v(a), v(b))).collect();
    pairs.sort_unstable();
    for at in (1..pairs.len()).rev() {
        pairs.swap(at, random.below(at as u64 + 1) as usize);
    }
    pairs
}

struct Load {
    db: Engine,
    ty: EdgeTypeId,
    key: PropertyKeyId,
    edges: usize,
}

impl Load {
    fn new(settings: Settings) -> Self {
        let db = Engine::in_memory(settings).unwrap();
        let ty = db.edge_type("KNOWS", EdgeTypeOptions::general()).unwrap();
        let key = db.property_key("since").unwrap();
        with_vertices(&db, VERTICES);
        Self { db, ty, key, edges: 0 }
    }

    /// Adds edges in transactions of so many, those with a property that `has` names.
    fn add(&mut self, pairs: &Pairs, per_txn: usize, has: impl Fn(usize) -> bool) {
        for (number, chunk) in pairs.chunks(per_txn).enumerate() {
            let mut txn = self.db.begin().unwrap();
            for (at, (a, b)) in chunk.iter().enumerate() {
                let values = [(self.key, 7.into())];
                let values = if has(number * per_txn + at) { &values[..] } else { &[] };
                txn.create_edge(self.ty, *a, *b, values).unwrap();
            }
            txn.commit().unwrap();
        }
        self.edges += pairs.len();
    }

    fn bytes(&self) -> f64 {
        self.db.memory().topology as f64 / (2 * self.edges) as f64
    }

    /// Bytes per entry, as they are and settled.
    fn measured(&self, what: &str) -> (f64, f64) {
        let left = self.bytes();
        self.db.settle();
        let found = (left, self.bytes());
        println!("{what}: {:.2} as left, {:.2} settled", found.0, found.1);
        found
    }

    fn check(&self, what: &str, left_max: f64, settled_max: f64) {
        let (left, settled) = self.measured(what);
        assert!(left <= left_max, "{what}: {left} bytes per entry as left");
        assert!(settled <= settled_max, "{what}: {settled} bytes per entry settled");
    }
}

#[test]
fn a_simple_type_for_comparison() {
    let pairs = pairs();
    let db = Engine::in_memory(no_background()).unwrap();
    let ty = db.edge_type("KNOWS", EdgeTypeOptions::simple()).unwrap();
    let key = db.property_key("since").unwrap();
    with_vertices(&db, VERTICES);
    for chunk in pairs.chunks(8) {
        let mut txn = db.begin().unwrap();
        chunk.iter().for_each(|(a, b)| txn.upsert_edge(ty, *a, *b).unwrap());
        txn.commit().unwrap();
    }
    Load { db, ty, key, edges: pairs.len() }.check("simple", LEFT_MAX, SETTLED_MAX);
}

#[test]
fn edges_without_properties_and_parallel_ones_take_no_more() {
    let pairs = pairs();
    for per_txn in [1, 8, 1000] {
        let mut load = Load::new(no_background());
        load.add(&pairs, per_txn, |_| false);
        load.check(&format!("{per_txn} per transaction"), LEFT_MAX, SETTLED_MAX);
    }
}

#[test]
fn few_edges_with_a_property_cost_little() {
    let pairs = pairs();
    let mut load = Load::new(no_background());
    load.add(&pairs, 8, |at| at % 100 == 0);
    // Blocks that hold one of them are wider.
    load.check("1 % with a property", LEFT_MAX, SETTLED_MAX);
    let mut load = Load::new(no_background());
    load.add(&pairs, 8, |_| true);
    load.check("all with a property", 10.5, 8.4);
}

#[test]
fn few_properties_that_are_set_later_cost_little() {
    let pairs = pairs();
    let mut load = Load::new(no_background());
    load.add(&pairs, 8, |_| false);
    let before = load.db.memory();
    for chunk in pairs.chunks(100) {
        let mut txn = load.db.begin().unwrap();
        let (a, b) = chunk[0];
        let edge = txn.edges(a, load.ty, Direction::Out).unwrap().find(|e| e.dst == b).unwrap();
        assert_eq!(edge.ordinal, 0);
        txn.set_edge_property(edge, load.key, 7.into()).unwrap();
        txn.commit().unwrap();
    }
    let after = load.db.memory();
    let more = after.properties - before.properties;
    assert!(more < 120 * pairs.len() / 100, "{more} bytes for {} properties", pairs.len() / 100);
    load.check("1 % set later", LEFT_MAX, SETTLED_MAX);
}

/// A statement that makes relationships and sets a property of each of them, row by row.
#[test]
fn properties_that_are_all_set_later_cost_as_much_as_those_given_at_once() {
    let pairs = pairs();
    let load = Load { edges: pairs.len(), ..Load::new(no_background()) };
    for chunk in pairs.chunks(100) {
        let mut txn = load.db.begin().unwrap();
        let made: Vec<_> =
            chunk.iter().map(|(a, b)| txn.create_edge(load.ty, *a, *b, &[]).unwrap()).collect();
        for edge in made {
            txn.set_edge_property(edge, load.key, 7.into()).unwrap();
        }
        txn.commit().unwrap();
    }
    load.check("all set later", 10.5, 8.4);
    let properties = load.db.memory().properties as f64 / pairs.len() as f64;
    assert!(properties < 12.0, "{properties} bytes per property");
}

#[test]
fn parallel_edges_cost_what_their_share_is() {
    let pairs = pairs();
    for (share, left_max, settled_max) in
        [(100, LEFT_MAX, SETTLED_MAX), (4, 9.5, 7.0), (1, 10.5, 8.4)]
    {
        let mut load = Load::new(no_background());
        load.add(&pairs, 8, |_| false);
        let again: Pairs = pairs.iter().step_by(share).copied().collect();
        load.add(&again, 8, |_| false);
        load.check(&format!("every {share}th twice"), left_max, settled_max);
    }
}

#[test]
fn hubs_take_no_more() {
    let mut settings = no_background();
    settings.hub_entries_min = 2048;
    let mut load = Load::new(settings);
    // All of them at ten vertices, which are hubs; the others' lists are short.
    let pairs: Pairs = pairs().into_iter().map(|(a, b)| (v(a.get() % 10), b)).collect();
    let unique: HashSet<_> = pairs.into_iter().collect();
    let pairs: Pairs = unique.into_iter().collect();
    load.add(&pairs, 8, |_| false);
    load.check("hubs", 8.0, 5.2);
    assert!(load.db.settle_state(load.ty).unwrap().hubs >= 10);
}

#[test]
fn bulk_loads_take_no_more() {
    let pairs = pairs();
    for (with_property, settled_max) in [(false, SETTLED_MAX), (true, 6.6)] {
        let db = Engine::in_memory(no_background()).unwrap();
        let mut bulk = db.bulk_load(BulkOptions::default()).unwrap();
        let name = bulk.edge_type("KNOWS", EdgeTypeOptions::general()).unwrap();
        bulk.add_vertices(&[], VERTICES as usize, &[]).unwrap();
        let edges = pairs.iter().map(|(a, b)| (a.get() as u32, b.get() as u32)).collect();
        let mut columns = Vec::new();
        if with_property {
            let key = bulk.property_key("since").unwrap();
            let mut column = telar_engine::Column::new();
            pairs.iter().for_each(|_| column.push(7.into()));
            columns.push((key, column));
        }
        bulk.add_edges(name, edges, columns).unwrap();
        bulk.finish(&|_, _, _| {}).unwrap();
        let ty = db.find_edge_type("KNOWS").unwrap();
        let key = db.property_key("since").unwrap();
        let load = Load { db, ty, key, edges: pairs.len() };
        load.check(&format!("bulk, properties {with_property}"), settled_max, settled_max);
    }
}

/// What a checkpoint wrote is read without making what it left out.
#[test]
fn lists_read_from_the_store_take_no_more() {
    let pairs = pairs();
    let dir = tempfile::tempdir().unwrap();
    let mut settings = Settings::asynchronous(2);
    settings.background_interval_ms = 0;
    settings.store_bytes_max = 1 << 28;
    {
        let db = Engine::open(dir.path(), settings).unwrap();
        let ty = db.edge_type("KNOWS", EdgeTypeOptions::general()).unwrap();
        let key = db.property_key("since").unwrap();
        with_vertices(&db, VERTICES);
        let mut load = Load { db, ty, key, edges: 0 };
        load.add(&pairs, 1000, |_| false);
        load.db.checkpoint().unwrap();
        load.db.close().unwrap();
    }
    let db = Engine::open(dir.path(), settings).unwrap();
    let ty = db.find_edge_type("KNOWS").unwrap();
    let snapshot = db.snapshot().unwrap();
    let reader = snapshot.reader();
    let found: usize = (0..VERTICES).map(|n| reader.edges(v(n), ty, Direction::Out).count()).sum();
    assert_eq!(found, pairs.len());
    drop(reader);
    drop(snapshot);
    // Read in place, with some words of their own per segment.
    let held = db.memory().topology;
    assert!(held < pairs.len() / 4, "{held} bytes held for {} edges read in place", pairs.len());
    db.settle();
    let bytes = db.memory().topology as f64 / (2 * pairs.len()) as f64;
    assert!(bytes <= SETTLED_MAX, "{bytes} bytes per entry, read and placed");
}
