//! Loads: one by one, in batches, with a latency each, from several threads.

use crate::container::{Container, Writer};
use crate::histogram::Histogram;
use crate::measure::{self, Elapsed};
use std::time::Instant;
use telar_generate::Edge;

/// Loads edges over `n` new vertices, `batch` per transaction, 1 meaning single inserts; returns
/// how many were new.
pub fn load<C: Container>(container: &C, n: u32, edges: &[Edge], batch: usize) -> u64 {
    let mut writer = container.writer();
    writer.insert_vertices(n);
    insert(&mut writer, edges, batch)
}

pub(super) fn insert(writer: &mut impl Writer, edges: &[Edge], batch: usize) -> u64 {
    match batch {
        0 | 1 => edges.iter().map(|&(u, v)| u64::from(writer.insert_edge(u, v))).sum(),
        _ => edges.chunks(batch).map(|some| writer.insert_batch(some)).sum(),
    }
}

/// Inserts each edge and returns how long each took, in nanoseconds on the wall; the clock itself
/// takes some 40 of them.
pub fn insert_latencies(writer: &mut impl Writer, edges: &[Edge]) -> Histogram {
    let mut histogram = Histogram::default();
    for &(u, v) in edges {
        let start = Instant::now();
        writer.insert_edge(u, v);
        histogram.record(start.elapsed().as_nanos() as u64);
    }
    histogram
}

/// Inserts the edges from `threads` threads, each its contiguous share; returns how many were new,
/// and how long that took (`cpu_s` is that of the caller, who only waits).
pub fn insert_parallel<C: Container>(
    container: &C,
    edges: &[Edge],
    threads: usize,
    batch: usize,
) -> (u64, Elapsed) {
    let share = edges.len().div_ceil(threads.max(1)).max(1);
    measure::time(|| {
        std::thread::scope(|scope| {
            let workers: Vec<_> = edges
                .chunks(share)
                .map(|part| scope.spawn(move || insert(&mut container.writer(), part, batch)))
                .collect();
            workers.into_iter().map(|worker| worker.join().expect("an inserting thread")).sum()
        })
    })
}
