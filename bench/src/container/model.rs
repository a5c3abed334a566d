//! The tests every container must pass: random operations against an ordered set of edges.

use super::{Container, Snapshot, Writer};
use std::collections::BTreeSet;
use telar_generate::Edge;
use telar_generate::rng::Rng;
use telar_graph::topology::Topology;

/// Holds containers made by `make` to a set of edges.
pub(super) fn check<C: Container>(make: impl Fn() -> C) {
    for seed in 0..12 {
        // Few vertices make long lists and many repetitions, many vertices short lists.
        let n = [3, 40, 700][seed as usize % 3];
        random_operations(&make(), n, &mut Rng::new(seed));
    }
    hub(&make());
    repeated_edge_in_a_batch(&make());
}

fn random_operations<C: Container>(container: &C, n: u32, rng: &mut Rng) {
    let mut edges = BTreeSet::new();
    let mut writer = container.writer();
    assert_eq!(writer.insert_vertex(), 0);
    writer.insert_vertices(n - 2);
    assert_eq!(writer.insert_vertex(), n - 1);
    for step in 0..6000 {
        let mut draw = || (rng.index(n as usize) as u32, rng.index(n.div_ceil(2) as usize) as u32);
        let (u, v) = draw();
        match step % 8 {
            0..=2 => assert_eq!(writer.insert_edge(u, v), edges.insert((u, v))),
            3 => assert_eq!(writer.upsert_edge(u, v), edges.insert((u, v))),
            4..=5 => assert_eq!(writer.delete_edge(u, v), edges.remove(&(u, v))),
            6 => assert_eq!(container.search_edge(u, v), edges.contains(&(u, v))),
            _ => {
                let batch: Vec<Edge> = (0..step % 70).map(|_| draw()).collect();
                let added = batch.iter().filter(|&&edge| edges.insert(edge)).count();
                assert_eq!(writer.insert_batch(&batch), added as u64);
            }
        }
        if step % 500 == 499 {
            equal(container, n, &edges);
        }
    }
    container.settle();
    equal(container, n, &edges);
    assert!(container.reserved_bytes() >= container.memory_bytes());
    assert!(container.memory_bytes() >= edges.len() as u64 * 8);
}

/// Every way of reading must show exactly `edges`, in both directions.
fn equal<C: Container>(container: &C, n: u32, edges: &BTreeSet<Edge>) {
    let snapshot = container.snapshot();
    let reversed = edges.iter().map(|&(u, v)| (v, u)).collect();
    equal_direction(&snapshot.out(), n, edges);
    equal_direction(&snapshot.in_(), n, &reversed);
}

fn equal_direction<T: Topology>(topology: &T, n: u32, edges: &BTreeSet<Edge>) {
    assert_eq!(topology.vertex_bound(), n);
    let mut scanned = Vec::new();
    let mut last = 0;
    topology.scan(0..n, |v, run| {
        assert!(v >= last, "scan goes back from {last} to {v}");
        last = v;
        scanned.extend(run.iter().map(|&u| (v, u)));
    });
    let mut visited = Vec::new();
    let backwards: Vec<u32> = (0..n).rev().collect();
    topology.visit(&backwards, |v, run| visited.extend(run.iter().map(|&u| (v, u))));
    for mut seen in [scanned, visited] {
        seen.sort_unstable();
        assert!(seen.iter().eq(edges));
    }
    let mut scratch = vec![77];
    for v in 0..n {
        let expected: Vec<u32> = edges.range((v, 0)..=(v, u32::MAX)).map(|edge| edge.1).collect();
        assert_eq!(topology.degree(v) as usize, expected.len());
        assert_eq!(topology.sorted(v, &mut scratch), expected);
        let mut runs = Vec::new();
        topology.for_each_run(v, |run| runs.extend_from_slice(run));
        runs.sort_unstable();
        assert_eq!(runs, expected);
        topology.prefetch(v);
        for u in (0..n).step_by(n as usize / 16 + 1) {
            assert_eq!(topology.contains(v, u), edges.contains(&(v, u)));
        }
    }
}

/// One vertex takes thousands of edges, loses most of them and takes them again.
fn hub<C: Container>(container: &C) {
    let n = 5000;
    let mut writer = container.writer();
    writer.insert_vertices(n);
    let mut edges = BTreeSet::new();
    for round in 0..3 {
        for v in 0..n {
            assert_eq!(writer.insert_edge(7, v), edges.insert((7, v)), "round {round}, {v}");
        }
        for v in (0..n).filter(|v| v % 10 != round) {
            assert_eq!(writer.delete_edge(7, v), edges.remove(&(7, v)));
        }
        equal(container, n, &edges);
    }
}

fn repeated_edge_in_a_batch<C: Container>(container: &C) {
    let mut writer = container.writer();
    writer.insert_vertices(4);
    assert_eq!(writer.insert_batch(&[(1, 2), (2, 2), (1, 2), (1, 2)]), 2);
    assert_eq!(writer.insert_batch(&[(1, 2), (3, 0)]), 1);
    equal(container, 4, &BTreeSet::from([(1, 2), (2, 2), (3, 0)]));
}
