//! Very long lists: conversion to hubs, splits, deletes, parallel edges, old snapshots.
#![cfg(not(feature = "shuttle"))]
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;

use std::collections::BTreeSet;

use telar_engine::{EdgeTypeOptions, Engine, Settings};
use telar_graph::{Direction, EdgeTypeId};

use common::{memory, v, with_vertices};

/// A cheap shuffle: every number below `n` once, for `n` a power of two.
fn mixed(n: u64) -> impl Iterator<Item = u64> {
    (0..n).map(move |i| (i.wrapping_mul(0x9E37_79B1) ^ 0x55) % n)
}

fn neighbours(db: &Engine, ty: EdgeTypeId, dir: Direction) -> Vec<u64> {
    let reader = db.reader().unwrap();
    let mut found: Vec<u64> = Vec::new();
    reader.for_each_run(v(0), ty, dir, |r| found.extend(r.iter().map(|n| u64::from(*n))));
    assert_eq!(reader.degree(v(0), ty, dir), found.len());
    found.sort_unstable();
    found
}

#[test]
fn hub_keeps_every_edge_through_inserts_and_deletes() {
    const N: u64 = 1 << 15;
    let db = memory();
    let ty = db.edge_type("E", EdgeTypeOptions::simple()).unwrap();
    with_vertices(&db, N);
    let mut old = Some(db.snapshot().unwrap());
    let mut model = BTreeSet::new();
    for (i, n) in mixed(N).enumerate() {
        let mut txn = db.begin().unwrap();
        txn.upsert_edge(ty, v(0), v(n)).unwrap();
        assert_eq!(txn.commit().unwrap().edges_added, 1);
        model.insert(n);
        if i == 1500 {
            let old = old.take().unwrap();
            assert_eq!(old.reader().degree(v(0), ty, Direction::Out), 0);
        }
        if i % 5 == 4 {
            // Both freshly inserted and long settled edges are deleted.
            let victim = *model.range(n / 2..).next().unwrap();
            let mut txn = db.begin().unwrap();
            txn.remove_edge(ty, v(0), v(victim)).unwrap();
            assert_eq!(txn.commit().unwrap().edges_removed, 1, "edge {i} to {victim}");
            model.remove(&victim);
        }
    }
    let expected: Vec<u64> = model.iter().copied().collect();
    assert_eq!(neighbours(&db, ty, Direction::Out), expected);
    db.settle();
    assert_eq!(neighbours(&db, ty, Direction::Out), expected);
    let reader = db.reader().unwrap();
    for n in 0..N {
        assert_eq!(reader.search_edge(ty, v(0), v(n)), model.contains(&n));
        assert_eq!(reader.degree(v(n), ty, Direction::In), usize::from(model.contains(&n)));
    }
    let mut txn = db.begin().unwrap();
    for n in model.iter().take(500) {
        txn.remove_edge(ty, v(0), v(*n)).unwrap();
    }
    assert_eq!(txn.commit().unwrap().edges_removed, 500);
    assert!(db.settle_state(ty).unwrap().hubs >= 1);
    assert_eq!(neighbours(&db, ty, Direction::Out), expected[500..]);
}

#[test]
fn hub_of_parallel_edges_keeps_them_apart() {
    let db = memory();
    let ty = db.edge_type("M", EdgeTypeOptions::general()).unwrap();
    with_vertices(&db, 8);
    let mut ids = Vec::new();
    for round in 0..1500u64 {
        let mut txn = db.begin().unwrap();
        for n in 0..8 {
            ids.push(txn.create_edge(ty, v(0), v((n * 3 + round) % 8), &[]).unwrap());
        }
        txn.commit().unwrap();
    }
    assert!(db.settle_state(ty).unwrap().hubs >= 1);
    for (i, id) in ids.iter().enumerate() {
        if i % 3 == 0 {
            let mut txn = db.begin().unwrap();
            txn.delete_edge(*id).unwrap();
            assert_eq!(txn.commit().unwrap().edges_removed, 1);
        }
    }
    let reader = db.reader().unwrap();
    let found: BTreeSet<_> = reader.edges(v(0), ty, Direction::Out).collect();
    let expected: BTreeSet<_> =
        ids.iter().enumerate().filter(|(i, _)| i % 3 != 0).map(|(_, e)| *e).collect();
    assert_eq!(found, expected);
    for (i, id) in ids.iter().enumerate() {
        assert_eq!(reader.edge_exists(*id), i % 3 != 0);
    }
}

#[test]
fn detaching_a_hub_deletes_all_its_edges() {
    const N: u64 = 1 << 15;
    let db = memory();
    let ty = db.edge_type("E", EdgeTypeOptions::simple()).unwrap();
    with_vertices(&db, N);
    for chunk in (1..N).collect::<Vec<_>>().chunks(64) {
        let mut txn = db.begin().unwrap();
        for n in chunk {
            txn.upsert_edge(ty, v(0), v(*n)).unwrap();
        }
        txn.commit().unwrap();
    }
    assert!(db.settle_state(ty).unwrap().hubs >= 1);
    let mut txn = db.begin().unwrap();
    txn.delete_vertex(v(0), true).unwrap();
    assert_eq!(txn.commit().unwrap().edges_removed, N - 1);
    // It filled every chunk of the hub at once: what each got did not double with every other.
    assert!(db.memory().topology < 1 << 27);
    let reader = db.reader().unwrap();
    assert!(!reader.exists(v(0)));
    assert!((0..N).all(|n| reader.degree(v(n), ty, Direction::In) == 0));
    assert_eq!(reader.degree(v(0), ty, Direction::Out), 0);
}

#[test]
fn hub_survives_checkpoint_and_log() {
    const N: u64 = 1 << 15;
    let dir = tempfile::tempdir().unwrap();
    let mut settings = Settings::asynchronous(1);
    settings.hub_entries_min = 4096;
    settings.store_bytes_max = 1 << 28;
    let db = Engine::open(dir.path(), settings).unwrap();
    let ty = db.edge_type("E", EdgeTypeOptions::simple()).unwrap();
    with_vertices(&db, N);
    for (i, n) in mixed(N).enumerate() {
        let mut txn = db.begin().unwrap();
        txn.upsert_edge(ty, v(0), v(n)).unwrap();
        txn.commit().unwrap();
        if i == 25_000 {
            db.checkpoint().unwrap();
        }
    }
    drop(db);
    let db = Engine::open(dir.path(), settings).unwrap();
    assert_eq!(neighbours(&db, ty, Direction::Out), (0..N).collect::<Vec<_>>());
    assert!(db.settle_state(ty).unwrap().hubs >= 1);
}

#[test]
fn large_batches_over_many_segments_do_not_inflate_tails() {
    // Met by the importer: room doubled with every segment a commit had filled, up to 2^16 times.
    const N: u64 = 1 << 15;
    let db = memory();
    let ty = db.edge_type("E", EdgeTypeOptions::simple()).unwrap();
    with_vertices(&db, N);
    let edges: Vec<(u64, u64)> =
        mixed(N).zip(mixed(N).skip(7)).flat_map(|(u, w)| [(u, w), (w, u), (u, u / 2)]).collect();
    for batch in edges.chunks(1 << 14) {
        let mut txn = db.begin().unwrap();
        for (u, w) in batch {
            txn.upsert_edge(ty, v(*u), v(*w)).unwrap();
        }
        txn.commit().unwrap();
    }
    let entries = 2 * edges.len();
    assert!(db.memory().topology < 64 * entries, "{} bytes", db.memory().topology);
}
