//! Random graphs, and checks that every kernel of this crate's folders has to pass.

use std::fmt::Debug;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::control::{Control, Error, Result};
use crate::csr::Csr;
use crate::testing::random_edges;

/// A number of vertices and edges between them.
pub(crate) type Sample = (u32, Vec<(u32, u32)>);

/// The empty graph, one vertex, a loop, and `count` random graphs of up to `largest` vertices with
/// loops, parallel edges and unconnected parts.
pub(crate) fn samples(count: u64, largest: u32) -> impl Iterator<Item = Sample> {
    let small = [(0, Vec::new()), (1, Vec::new()), (1, vec![(0, 0)]), (4, vec![(3, 1), (1, 3)])];
    small.into_iter().chain((0..count).map(move |seed| {
        let n = 1 + (seed as u32 * 7) % largest;
        (n, random_edges(seed, n, n as usize * (1 + seed as usize % 8) / 2))
    }))
}

/// The edges with weights that are multiples of a quarter, so that sums are exact.
pub(crate) fn weigh(edges: &[(u32, u32)]) -> Vec<(u32, u32, f64)> {
    let weight = |at: usize| f64::from((at as u32).wrapping_mul(2_654_435_761) >> 28) / 4.0 + 0.25;
    edges.iter().enumerate().map(|(at, &(u, v))| (u, v, weight(at))).collect()
}

/// A kernel must stop at its first, a middle and its last check.
pub(crate) fn assert_stops<T: Debug>(run: impl Fn(&Control<'_>) -> Result<T>) {
    let asked = AtomicU64::new(0);
    let count = || {
        asked.fetch_add(1, Ordering::Relaxed);
        false
    };
    run(&Control::default().stopped_by(&count)).unwrap();
    let total = asked.into_inner();
    assert!(total > 0, "nothing asks whether to stop");
    for last in [0, total / 2, total - 1] {
        let asked = AtomicU64::new(0);
        let stop = || asked.fetch_add(1, Ordering::Relaxed) >= last;
        let stopped = run(&Control::default().stopped_by(&stop));
        assert_eq!(stopped.err(), Some(Error::Stopped), "check {last} of {total}");
    }
}

/// A kernel must give the same on one and on three threads.
pub(crate) fn assert_same_on_threads<T: Debug + PartialEq>(
    run: impl Fn(&Control<'_>) -> Result<T>,
) {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(3).build().unwrap();
    let one = run(&Control::default()).unwrap();
    assert_eq!(run(&Control::default().on(&pool)).unwrap(), one);
}

/// A kernel must give the same on 1, 2, 4 and 7 threads.
pub(crate) fn assert_same_on_each_number_of_threads<T: Debug + PartialEq>(
    run: impl Fn(&Control<'_>) -> Result<T>,
) {
    let one = run(&Control::default()).unwrap();
    for threads in [1, 2, 4, 7] {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        assert_eq!(run(&Control::default().on(&pool)).unwrap(), one, "{threads} threads");
    }
}

/// A kernel must refuse, and its text must hold `part`.
pub(crate) fn assert_refuses<T: Debug>(result: Result<T>, part: &str) {
    let error = result.unwrap_err();
    assert!(matches!(error, Error::Invalid(_)), "{error:?}");
    assert!(error.to_string().contains(part), "{error}");
}

/// Two lists of numbers must be equal up to rounding.
pub(crate) fn assert_close(found: &[f64], expected: &[f64], of: &str) {
    assert_eq!(found.len(), expected.len(), "{of}");
    for (v, (a, b)) in found.iter().zip(expected).enumerate() {
        assert!((a - b).abs() <= 1e-9 * (1.0 + b.abs()), "{of}, {v}: {a} is not {b}");
    }
}

/// Complete graphs of `size` vertices, each joined to the next by one edge; undirected.
pub(crate) fn ring_of_cliques(cliques: u32, size: u32) -> Csr {
    let mut edges = Vec::new();
    for first in (0..cliques).map(|clique| clique * size) {
        for u in first..first + size {
            edges.extend((u + 1..first + size).map(|v| (u, v)));
        }
        edges.push((first, (first + size + 1) % (cliques * size)));
    }
    Csr::from_edges(cliques * size, &edges).undirected()
}

/// Zachary's karate club, 1977: 34 members, 78 friendships; its largest modularity is 0.41979.
pub(crate) fn karate() -> Csr {
    let lists: [&[u32]; 33] = [
        &[1, 2, 3, 4, 5, 6, 7, 8, 10, 11, 12, 13, 17, 19, 21, 31],
        &[2, 3, 7, 13, 17, 19, 21, 30],
        &[3, 7, 8, 9, 13, 27, 28, 32],
        &[7, 12, 13],
        &[6, 10],
        &[6, 10, 16],
        &[16],
        &[],
        &[30, 32, 33],
        &[33],
        &[],
        &[],
        &[],
        &[33],
        &[32, 33],
        &[32, 33],
        &[],
        &[],
        &[32, 33],
        &[33],
        &[32, 33],
        &[],
        &[32, 33],
        &[25, 27, 29, 32, 33],
        &[25, 27, 31],
        &[31],
        &[29, 33],
        &[33],
        &[31, 33],
        &[32, 33],
        &[32, 33],
        &[32, 33],
        &[33],
    ];
    let edges: Vec<_> =
        (0..).zip(lists).flat_map(|(u, list)| list.iter().map(move |&v| (u, v))).collect();
    assert_eq!(edges.len(), 78);
    Csr::from_edges(34, &edges).undirected()
}
