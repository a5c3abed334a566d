//! Deleted edges that have not settled: every way of reading, through snapshots of every age.
#![cfg(not(feature = "shuttle"))]
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;

use std::collections::BTreeSet;

use telar_engine::{EdgeTypeOptions, Engine, Error, Snapshot};
use telar_graph::{Counts, Direction, EdgeTypeId, Topology};

use common::{Random, memory, no_background, v, with_vertices};

const VERTICES: u64 = 3000;

type Edges = BTreeSet<(u64, u64)>;

/// Sources whose lists lose and gain edges; those of the others only lose some.
fn gains(source: u64) -> bool {
    source % 1000 >= 700
}

fn check(snapshot: &Snapshot<'_>, ty: EdgeTypeId, edges: &Edges) {
    let reader = snapshot.reader();
    let expected: Vec<(u64, u64)> = edges.iter().copied().collect();
    let turned = |(u, v)| (v, u);
    for dir in Direction::ALL {
        let topology = reader.adjacency(ty, dir).unwrap();
        let mut scanned = Vec::new();
        topology.scan(0..VERTICES as u32, |u, run| {
            scanned.extend(run.iter().map(|n| (u64::from(u), u64::from(*n))));
        });
        let order: Vec<u32> = (0..VERTICES as u32).rev().collect();
        let mut visited = Vec::new();
        topology.visit(&order, |u, run| {
            visited.extend(run.iter().map(|n| (u64::from(u), u64::from(*n))));
        });
        for mut found in [scanned, visited] {
            if dir == Direction::In {
                found = found.into_iter().map(turned).collect();
            }
            found.sort_unstable();
            assert_eq!(found, expected, "{dir:?}");
        }
    }
    for u in (0..VERTICES).step_by(13) {
        let degree = edges.range((u, 0)..(u + 1, 0)).count();
        assert_eq!(reader.degree(v(u), ty, Direction::Out), degree, "vertex {u}");
        for n in (0..VERTICES).step_by(7) {
            assert_eq!(reader.search_edge(ty, v(u), v(n)), edges.contains(&(u, n)), "{u} to {n}");
        }
    }
}

fn commit(db: &Engine, ty: EdgeTypeId, remove: &[(u64, u64)], insert: &[(u64, u64)]) {
    let mut txn = db.begin().unwrap();
    for &(u, n) in remove {
        txn.remove_edge(ty, v(u), v(n)).unwrap();
    }
    for &(u, n) in insert {
        txn.upsert_edge(ty, v(u), v(n)).unwrap();
    }
    txn.commit().unwrap();
}

#[test]
fn snapshots_of_every_age_see_their_own_deletes() {
    let db = memory();
    let ty = db.edge_type("E", EdgeTypeOptions::simple()).unwrap();
    with_vertices(&db, VERTICES);
    let mut random = Random(77);
    let mut edges = Edges::new();
    // Short lists, and three of which the deleted rows take several pieces.
    while edges.len() < 24_000 {
        let u = random.below(VERTICES);
        edges.insert((u, random.below(VERTICES)));
        edges.insert((u % 3 * 1000, random.below(VERTICES)));
    }
    let all: Vec<(u64, u64)> = edges.iter().copied().collect();
    commit(&db, ty, &[], &all);
    db.settle();
    let mut kept: Vec<(Snapshot<'_>, Edges)> = vec![(db.snapshot().unwrap(), edges.clone())];
    for round in 0..6 {
        for _ in 0..60 {
            let old: Vec<(u64, u64)> = edges.iter().copied().collect();
            let remove: Vec<(u64, u64)> =
                (0..5).map(|_| old[random.below(old.len() as u64) as usize]).collect();
            let mut insert = Vec::new();
            for (u, n) in (0..3).map(|_| (random.below(VERTICES), random.below(VERTICES))) {
                // From the second half on, some of what was deleted comes back.
                let (u, n) = if round > 2 { all[(u * 7 + n) as usize % all.len()] } else { (u, n) };
                if gains(u) && !remove.contains(&(u, n)) {
                    insert.push((u, n));
                }
            }
            commit(&db, ty, &remove, &insert);
            remove.iter().for_each(|edge| _ = edges.remove(edge));
            edges.extend(insert);
        }
        kept.push((db.snapshot().unwrap(), edges.clone()));
        if round == 4 {
            // What the oldest snapshot needs is carried into the new tails.
            db.settle();
        }
        for (snapshot, edges) in &kept {
            check(snapshot, ty, edges);
        }
        if round == 3 {
            kept.remove(0);
        }
    }
    kept.clear();
    db.settle();
    check(&db.snapshot().unwrap(), ty, &edges);
}

/// Edges that are left of a vertex are found at the commit, and nothing of it reaches the log.
#[test]
fn a_vertex_deleted_before_its_edges_survives_reopening_whole_or_not_at_all() {
    let folder = tempfile::tempdir().unwrap();
    let open = || Engine::open(folder.path().join("db"), no_background()).unwrap();
    let mut db = open();
    let ty = db.edge_type("E", EdgeTypeOptions::general()).unwrap();
    with_vertices(&db, 3);
    let mut txn = db.begin().unwrap();
    let edges = [(0, 1), (1, 0), (0, 0), (1, 2)]
        .map(|(a, b)| txn.create_edge(ty, v(a), v(b), &[]).unwrap());
    txn.commit().unwrap();
    for left in (0..=3).rev() {
        let mut txn = db.begin().unwrap();
        let at_once = txn.delete_vertex(v(0), false);
        assert!(matches!(at_once, Err(Error::StillConnected { edges: 4, .. })), "a loop is two");
        txn.delete_vertex_deferred(v(0)).unwrap();
        assert!(!txn.exists(v(0)) && txn.delete_vertex_deferred(v(0)).is_err());
        let found: Vec<_> = txn.edges(v(1), ty, Direction::In).unwrap().collect();
        assert_eq!(found, edges[..1]);
        assert_eq!(txn.edges(v(0), ty, Direction::In).unwrap().count(), 0);
        edges[left..3].iter().for_each(|edge| txn.delete_edge(*edge).unwrap());
        match txn.commit() {
            Ok(done) => assert_eq!((left, done.edges_removed), (0, 3)),
            Err(Error::StillConnected { vertex, .. }) => assert!(vertex == v(0) && left > 0),
            Err(other) => panic!("{other}"),
        }
        db.close().unwrap();
        db = open();
        let (reader, is_left) = (db.reader().unwrap(), left > 0);
        assert_eq!(reader.exists(v(0)), is_left);
        let statistics = reader.statistics().unwrap();
        let there = if is_left { (3, 4) } else { (2, 1) };
        assert_eq!((statistics.vertices, statistics.edges()), there);
        assert_eq!(reader.degree(v(1), ty, Direction::In), usize::from(is_left));
    }
}

/// A vertex made, connected and deleted in one transaction.
#[test]
fn a_new_vertex_may_be_deleted_before_its_edges() {
    let db = memory();
    let ty = db.edge_type("E", EdgeTypeOptions::general()).unwrap();
    with_vertices(&db, 1);
    for delete_edge in [false, true] {
        let mut txn = db.begin().unwrap();
        let new = txn.create_vertex(&[]).unwrap();
        let edge = txn.create_edge(ty, v(0), new, &[]).unwrap();
        txn.delete_vertex_deferred(new).unwrap();
        if delete_edge {
            txn.delete_edge(edge).unwrap();
        }
        assert_eq!(txn.commit().is_ok(), delete_edge);
    }
    let statistics = db.reader().unwrap().statistics().unwrap();
    assert_eq!((statistics.vertices, statistics.edges()), (1, 0));
}

/// The first to commit an edge to it wins, whatever the other one looked at.
#[test]
fn an_edge_that_another_made_of_a_vertex_deleted_before_its_edges_is_a_conflict() {
    let db = memory();
    let ty = db.edge_type("E", EdgeTypeOptions::general()).unwrap();
    with_vertices(&db, 2);
    let mut txn = db.begin().unwrap();
    let edge = txn.create_edge(ty, v(0), v(1), &[]).unwrap();
    txn.commit().unwrap();
    let (mut first, mut second) = (db.begin().unwrap(), db.begin().unwrap());
    first.create_edge(ty, v(1), v(0), &[]).unwrap();
    second.delete_vertex_deferred(v(0)).unwrap();
    second.delete_edge(edge).unwrap();
    first.commit().unwrap();
    assert!(matches!(second.commit(), Err(Error::Conflict { .. })));
}
