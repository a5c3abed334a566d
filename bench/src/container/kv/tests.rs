//! Containers over key-value stores, against the model and among themselves.

use super::*;
use crate::container::model;
use crate::workload::same_adjacency;
use std::collections::BTreeMap;
use telar_generate::rng::Rng;
use telar_generate::{edges, star, uniform};

/// Thresholds from the smallest to one above LMDB's longest value in a leaf.
const THRESHOLDS: [usize; 8] = [0, 9, 12, 16, 40, 100, 1000, 3000];

fn temporary<S: Store>(packing: Compact) -> KvGraph<S, Compact> {
    let mut graph = KvGraph::temporary(None).unwrap();
    graph.packing = packing;
    graph
}

fn number(bytes: &[u8], at: usize) -> u32 {
    packing::ordered_at(bytes, at * 4)
}

/// Parts of a list: `upper` and neighbours.
type Parts = Vec<(u32, Vec<u32>)>;

/// Reads every pair as it is stored and holds the packing to its invariants.
fn check_pairs<S: Store>(graph: &KvGraph<S, Compact>, threshold: usize) {
    let mut lists: BTreeMap<(u32, u32), Parts> = BTreeMap::new();
    let mut split = Vec::new();
    graph.store.reader().walk(&[0], Reach::All, |key, value| {
        assert!(value.len() <= threshold.max(8), "{} bytes under {key:?}", value.len());
        let numbers: Vec<u32> =
            packing::chunks(value).iter().map(|chunk| u32::from_le_bytes(*chunk)).collect();
        match key.len() {
            4 if value.is_empty() => split.push(number(key, 0)),
            4 => {
                let (outs, both) = (numbers[0] as usize, &numbers[1..]);
                assert!(both[..outs].is_sorted_by(|a, b| a < b));
                assert!(both[outs..].is_sorted_by(|a, b| a < b));
            }
            12 => {
                let list = lists.entry((number(key, 0), number(key, 1))).or_default();
                list.push((number(key, 2), numbers));
            }
            _ => assert_eq!(key, COUNT_KEY),
        }
        true
    });
    assert_eq!(lists.len(), 2 * split.len(), "lists of vertices that are not split");
    for v in split {
        for side in [1, 2] {
            let parts = &lists[&(v, side)];
            let (last, before) = parts.split_last().unwrap();
            assert_eq!(last.0, u32::MAX, "the last part of {v}, {side}");
            let mut above = None;
            for (upper, numbers) in before.iter().chain([last]) {
                assert!(!numbers.is_empty() || *upper == u32::MAX, "an empty part of {v}");
                assert!(numbers.is_sorted_by(|a, b| a < b));
                assert!(numbers.iter().all(|n| n <= upper && Some(*n) > above), "{v}, {side}");
                above = Some(*upper);
            }
        }
    }
}

fn model_of<S: Store>() {
    model::check(|| KvGraph::<S, Compact>::temporary(None).unwrap());
    model::check(|| KvGraph::<S, EdgeKeys>::temporary(None).unwrap());
}

/// Random operations at every threshold: answers and the pairs behind them.
fn splits_of<S: Store>() {
    for (seed, threshold) in (0..).zip(THRESHOLDS) {
        let graph = temporary::<S>(Compact::with_threshold(threshold));
        let mut rng = Rng::new(seed);
        let n = 200;
        let mut expected = std::collections::BTreeSet::new();
        let mut writer = graph.writer();
        writer.insert_vertices(n);
        for round in 0..6 {
            // Vertex 0 is at an end of half the edges; odd rounds remove more than they add.
            for _ in 0..400 {
                let edge = match rng.percent(50) {
                    true if rng.percent(50) => (0, rng.below(n.into()) as u32),
                    true => (rng.below(n.into()) as u32, 0),
                    false => (rng.below(n.into()) as u32, rng.below(n.into()) as u32),
                };
                if rng.percent(if round % 2 == 0 { 90 } else { 10 }) {
                    assert_eq!(writer.insert_edge(edge.0, edge.1), expected.insert(edge));
                } else {
                    assert_eq!(writer.delete_edge(edge.0, edge.1), expected.remove(&edge));
                }
            }
            check_pairs(&graph, threshold);
            let all: Vec<Edge> = expected.iter().copied().collect();
            let snapshot = graph.snapshot();
            same_adjacency("out", &snapshot.out(), &Csr::outgoing(n, &all)).unwrap();
            same_adjacency("in", &snapshot.in_(), &Csr::incoming(n, &all)).unwrap();
        }
        for (u, v) in expected {
            assert!(writer.delete_edge(u, v));
        }
        check_pairs(&graph, threshold);
    }
}

fn filled<S: Store, P: Packing>(graph: &KvGraph<S, P>, n: u32, all: &[Edge]) {
    let (out, incoming) = (Csr::outgoing(n, all), Csr::incoming(n, all));
    graph.append(&out, &incoming);
    let mut writer = graph.writer();
    for check in 0..2 {
        let snapshot = graph.snapshot();
        same_adjacency("out", &snapshot.out(), &out).unwrap();
        same_adjacency("in", &snapshot.in_(), &incoming).unwrap();
        if check == 0 {
            // Appended parts take changes like others.
            assert!(all.iter().all(|&(u, v)| writer.delete_edge(u, v)));
            assert_eq!(writer.insert_batch(all), all.len() as u64);
        }
    }
    assert_eq!(writer.insert_vertex(), n);
}

fn fills_of<S: Store>() {
    let mut all = uniform(300, 2000, 3);
    all.extend(star(299, 1));
    edges::dedup(&mut all);
    for threshold in THRESHOLDS {
        let graph = temporary::<S>(Compact::with_threshold(threshold));
        filled(&graph, 300, &all);
        check_pairs(&graph, threshold);
    }
    filled(&KvGraph::<S, EdgeKeys>::temporary(None).unwrap(), 300, &all);
}

/// What a snapshot shows does not change, whatever is written beside it.
fn snapshots_of<S: Store, P: Packing>() {
    let graph = KvGraph::<S, P>::temporary(None).unwrap();
    let mut writer = graph.writer();
    writer.insert_vertices(500);
    let spokes = star(499, 5);
    writer.insert_batch(&spokes[..300]);
    let (before, middle) = (Csr::outgoing(500, &spokes[..300]), graph.snapshot());
    for &(u, v) in &spokes[300..] {
        writer.insert_edge(u, v);
    }
    writer.insert_vertex();
    for &(u, v) in &spokes[..100] {
        writer.delete_edge(u, v);
    }
    same_adjacency("middle", &middle.out(), &before).unwrap();
    same_adjacency("now", &graph.snapshot().out(), &Csr::outgoing(501, &spokes[100..])).unwrap();
}

/// A read inside a read's callback, and reads of two threads.
fn shared_snapshots_of<S: Store, P: Packing>() {
    let graph = KvGraph::<S, P>::temporary(None).unwrap();
    let all: Vec<Edge> = (0..300).flat_map(|u| [(u, (u + 1) % 300), (u, (u + 7) % 300)]).collect();
    let out = Csr::outgoing(300, &all);
    graph.append(&out, &Csr::incoming(300, &all));
    let snapshot = graph.snapshot();
    let lists = snapshot.out();
    let two_hops = || {
        let mut sum = 0u64;
        lists.scan(0..300, |_, run| {
            for &v in run {
                lists
                    .for_each_run(v, |next| sum += next.iter().map(|&w| u64::from(w)).sum::<u64>());
            }
        });
        sum
    };
    let expected: u64 = all.iter().flat_map(|&(_, v)| out.list(v)).map(|&w| u64::from(w)).sum();
    std::thread::scope(|scope| {
        let other = scope.spawn(two_hops);
        assert_eq!(two_hops(), expected);
        assert_eq!(other.join().unwrap(), expected);
    });
}

fn all_of<S: Store>() {
    splits_of::<S>();
    fills_of::<S>();
    snapshots_of::<S, Compact>();
    snapshots_of::<S, EdgeKeys>();
    shared_snapshots_of::<S, Compact>();
    shared_snapshots_of::<S, EdgeKeys>();
}

#[test]
fn lmdb_equals_the_model() {
    model_of::<Lmdb>();
}

#[test]
fn lmdb_splits_fills_and_keeps_snapshots() {
    all_of::<Lmdb>();
}

#[cfg(feature = "rocksdb")]
#[test]
fn rocksdb_equals_the_model() {
    model_of::<RocksDb>();
}

#[cfg(feature = "rocksdb")]
#[test]
fn rocksdb_splits_fills_and_keeps_snapshots() {
    all_of::<RocksDb>();
}

/// Numbers in values can be borrowed: keys and values have lengths that keep them aligned.
#[test]
#[cfg(target_endian = "little")]
fn lmdb_values_of_the_compact_packing_are_aligned() {
    let graph = KvGraph::<Lmdb, Compact>::temporary(None).unwrap();
    let all: Vec<Edge> = uniform(2000, 20_000, 1).into_iter().chain(star(1999, 2)).collect();
    let mut writer = graph.writer();
    writer.insert_vertices(2000);
    all.chunks(100).for_each(|some| assert!(writer.insert_batch(some) <= 100));
    let mut values = 0;
    graph.store.reader().walk(&[0], Reach::All, |key, value| {
        assert!(crate::mem::aligned_numbers(value).is_some(), "{key:?}");
        values += 1;
        true
    });
    assert!(values > 2000);
}

#[test]
fn graph_in_a_folder_is_there_when_it_is_opened_again() {
    let folder = tempfile::tempdir().unwrap();
    let options = LmdbOptions { map_bytes: 1 << 26, read_ahead: false };
    for round in 0..3 {
        let store = Lmdb::open_with(folder.path(), options).unwrap();
        let graph = KvGraph::new(store, Compact::default());
        assert_eq!(graph.snapshot().out().vertex_bound(), round);
        assert_eq!(graph.writer().insert_vertex(), round);
        assert!(graph.writer().insert_edge(round, 0));
    }
    let missing = folder.path().join("missing");
    assert!(Lmdb::open_with(&missing, options).is_err());
}

#[test]
#[should_panic(expected = "only an empty graph")]
fn graph_with_vertices_is_not_filled() {
    let graph = KvGraph::<Lmdb, EdgeKeys>::temporary(None).unwrap();
    graph.writer().insert_vertex();
    let none = Csr::outgoing(1, &[]);
    graph.append(&none, &none);
}
