//! Adjacency of one edge type in one direction at one snapshot, with dense 32-bit vertex numbers.
//!
//! Graph kernels, baselines and benchmarks are written once against [`Topology`]; a flat CSR and
//! the transactional engine both implement it, so a ratio between the two compares storage and
//! nothing else.

use std::ops::Range;

/// Read-only adjacency of one edge type and direction.
///
/// A vertex's neighbours come as one or more *runs*: contiguous slices of vertex numbers. A run is
/// whatever lies contiguous in storage; loops over a run vectorise. Runs of one vertex are visited
/// one after the other; their concatenation holds every neighbour once per edge, in no promised
/// order.
pub trait Topology: Sync {
    /// One past the largest vertex number that may have neighbours.
    fn vertex_bound(&self) -> u32;

    /// Number of neighbours of `v` (parallel edges counted each).
    fn degree(&self, v: u32) -> u32;

    /// Calls `f` with each run of `v`'s neighbours.
    fn for_each_run<F: FnMut(&[u32])>(&self, v: u32, f: F);

    /// Calls `f(v, run)` for every vertex in `vertices`, in vertex order. Vertices without
    /// neighbours may be skipped or reported with an empty run.
    fn scan<F: FnMut(u32, &[u32])>(&self, vertices: Range<u32>, f: F);

    /// Calls `f(v, run)` for each listed vertex, in the order given, prefetching ahead.
    fn visit<F: FnMut(u32, &[u32])>(&self, vertices: &[u32], f: F);

    /// The neighbours of `v` sorted ascending: a slice of storage where it is already sorted and
    /// contiguous, `scratch` otherwise.
    fn sorted<'a>(&'a self, v: u32, scratch: &'a mut Vec<u32>) -> &'a [u32];

    /// Whether an edge from `u` to `v` exists.
    fn contains(&self, u: u32, v: u32) -> bool;

    /// Hints that `v`'s neighbours will be read soon.
    fn prefetch(&self, v: u32);
}
