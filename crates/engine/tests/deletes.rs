//! Deleted edges that have not settled: every way of reading, through snapshots of every age.
#![cfg(not(feature = "shuttle"))]
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;

use std::collections::BTreeSet;

use telar_engine::{EdgeTypeOptions, Engine, Snapshot};
use telar_graph::{Direction, EdgeTypeId, Topology};

use common::{Random, memory, v, with_vertices};

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
