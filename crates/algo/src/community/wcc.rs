//! Weakly connected components in parallel: which vertices are joined by paths that ignore
//! direction.
//!
//! Result: for each vertex the smallest vertex number of its component, and their number.
//!
//! Method: Afforest over a union-find forest of atomic numbers. First each vertex is joined with
//! two of its neighbours; the vertices then found in the most frequent tree are skipped, and only
//! the others walk their full lists. The smaller root always stays one, so the result does not
//! depend on the number of threads. Parallel edges and loops change nothing.
//!
//! Cost: O(n) list heads, plus all lists outside the giant component. *Memory*: 8 bytes per vertex.
//!
//! Source: Sutton, Ben-Nun and Barak, "Optimizing parallel graph connectivity computation via
//! subgraph sampling", IPDPS 2018.

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use telar_graph::topology::Topology;

pub use super::scc::Components;
use super::steps::{GRAIN, Meter};
use crate::control::{Control, Result};

/// Neighbours per vertex in the sampling pass; the paper's choice.
const SAMPLED_NEIGHBOURS: usize = 2;

/// Vertices looked at to find the most frequent tree.
const PROBES: u32 = 1024;

/// Vertices whose lists are read in one call: what a call costs in storage is paid once for all.
const BATCH: usize = 64;

/// Edges of a run between two checks.
const PIECE: usize = 1 << 14;

/// Upper estimate of the bytes needed for `n` vertices and `m` edges.
#[must_use]
pub fn bytes(n: u64, _m: u64) -> u64 {
    8 * n
}

/// Finds the components of the vertices below `n`.
///
/// # Panics
/// If a neighbour is not below `n`.
pub fn wcc<T: Topology>(
    outgoing: &T,
    incoming: &T,
    n: u32,
    control: &Control<'_>,
) -> Result<Components> {
    control.check()?;
    let forest = Forest::new(n);
    let total = 2 * u64::from(n);
    let done = AtomicU64::new(0);
    let report = |count: usize| {
        let count = count as u64;
        control.report(done.fetch_add(count, Ordering::Relaxed) + count, total);
    };
    control.for_ranges(n, GRAIN as u32, |range| {
        let count = range.len();
        let bound = outgoing.vertex_bound();
        // The vertex whose runs come, and how many of its neighbours are still wanted.
        let (mut at, mut left) = (range.start, SAMPLED_NEIGHBOURS);
        outgoing.scan(range.start.min(bound)..range.end.min(bound), |v, run| {
            if at != v {
                (at, left) = (v, SAMPLED_NEIGHBOURS);
            }
            let some = &run[..left.min(run.len())];
            some.iter().for_each(|&u| forest.join(v, u));
            left -= some.len();
        });
        report(count);
        Ok(())
    })?;
    let giant = forest.most_frequent(n);
    control.for_ranges(n, GRAIN as u32, |range| {
        let mut meter = Meter::new(control);
        let count = range.len();
        let mut batch = Vec::with_capacity(BATCH);
        let mut left = range;
        // The giant itself may have got a smaller root meanwhile.
        let is_outside = |v: &u32| giant.is_none_or(|giant| forest.root(*v) != forest.root(giant));
        while !left.is_empty() {
            batch.clear();
            batch.extend(left.by_ref().filter(is_outside).take(BATCH));
            for side in [outgoing, incoming] {
                let bound = side.vertex_bound();
                let inside = batch.iter().position(|v| *v >= bound).unwrap_or(batch.len());
                forest.join_all(side, &batch[..inside], &mut meter)?;
            }
            meter.add(BATCH)?;
        }
        report(count);
        Ok(())
    })?;
    let (components, count) = forest.roots(control)?;
    Ok(Components { components, count })
}

/// Union-find. Invariant: `parents[v] <= v`, so a root is the smallest number of its tree, and a
/// vertex that is no root never becomes one again.
///
/// ORDERING: all accesses are relaxed. A parent is an index and publishes nothing else; that a root
/// gets a parent once is decided by the exchange on that one number.
pub(super) struct Forest {
    parents: Vec<AtomicU32>,
}

impl Forest {
    /// Each vertex is a tree of its own.
    pub(super) fn new(n: u32) -> Self {
        Self { parents: (0..n).map(AtomicU32::new).collect() }
    }

    /// Root of each vertex, and the number of roots.
    pub(super) fn roots(&self, control: &Control<'_>) -> Result<(Vec<u32>, u32)> {
        let mut roots = vec![0; self.parents.len()];
        control.fill(&mut roots, GRAIN, |first, chunk| {
            for (v, root) in (first as u32..).zip(chunk) {
                *root = self.root(v);
            }
        })?;
        let count = (0..).zip(&roots).filter(|(v, root)| v == *root).count() as u32;
        Ok((roots, count))
    }

    fn parent(&self, v: u32) -> u32 {
        self.parents[v as usize].load(Ordering::Relaxed)
    }

    /// Returns the root of `v`'s tree and halves the path to it. Another thread may hang that root
    /// under a smaller one at any time.
    fn root(&self, mut v: u32) -> u32 {
        loop {
            let parent = self.parent(v);
            let grandparent = self.parent(parent);
            if parent == grandparent {
                return parent;
            }
            // Any ancestor is a right parent for a vertex that is no root.
            self.parents[v as usize].store(grandparent, Ordering::Relaxed);
            v = grandparent;
        }
    }

    /// Joins the trees of `u` and `v`; the smaller root stays one.
    pub(super) fn join(&self, u: u32, v: u32) {
        let (mut a, mut b) = (self.root(u), self.root(v));
        while a != b {
            let (low, high) = (a.min(b), a.max(b));
            let (order, parent) = (Ordering::Relaxed, &self.parents[high as usize]);
            if parent.compare_exchange(high, low, order, order).is_ok() {
                return;
            }
            (a, b) = (self.root(low), self.root(high));
        }
    }

    /// Joins vertices with all of their neighbours on one side.
    fn join_all<T: Topology>(
        &self,
        side: &T,
        vertices: &[u32],
        meter: &mut Meter<'_>,
    ) -> Result<()> {
        let mut result = Ok(());
        side.visit(vertices, |v, run| {
            for piece in run.chunks(PIECE) {
                if result.is_ok() {
                    piece.iter().for_each(|&u| self.join(v, u));
                    result = meter.add(piece.len());
                }
            }
        });
        result
    }

    /// Returns the root seen most often among evenly spaced vertices.
    fn most_frequent(&self, n: u32) -> Option<u32> {
        let step = (n / PROBES).max(1) as usize;
        let mut roots: Vec<u32> = (0..n).step_by(step).map(|v| self.root(v)).collect();
        roots.sort_unstable();
        roots.chunk_by(|a, b| a == b).max_by_key(|same| same.len()).map(|same| same[0])
    }
}

#[cfg(test)]
mod tests {
    use super::super::samples::{assert_same_on_threads, assert_stops, samples};
    use super::*;
    use crate::testing::{Lists, random_edges};
    use crate::wcc::{self as serial, verify};

    #[test]
    fn components_of_random_graphs_equal_label_spreading() {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(3).build().unwrap();
        for (n, edges) in samples(60, 3000) {
            let (out, incoming) = (Lists::out(n, &edges), Lists::incoming(n, &edges));
            let found = wcc(&out, &incoming, n, &Control::default().on(&pool)).unwrap();
            assert_eq!(found.components, verify(n, &edges));
            let roots = (0..n).filter(|&v| found.components[v as usize] == v).count();
            assert_eq!(found.count as usize, roots);
        }
    }

    #[test]
    fn long_path_in_random_order_is_one_component() {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(3).build().unwrap();
        let n = 50_021;
        // Multiples of a number without a common factor visit every vertex.
        let name = |v: u64| (v * 7919 % u64::from(n)) as u32;
        let edges: Vec<_> = (1..u64::from(n)).map(|v| (name(v), name(v - 1))).collect();
        let (out, incoming) = (Lists::out(n, &edges), Lists::incoming(n, &edges));
        let found = wcc(&out, &incoming, n, &Control::default().on(&pool)).unwrap();
        assert_eq!(found.components, serial::components(&out, &incoming, n));
        assert_eq!(found.count, 1);
    }

    #[test]
    fn it_stops_and_is_the_same_on_three_threads() {
        let edges = random_edges(1, 20_000, 12_000);
        let (out, incoming) = (Lists::out(20_000, &edges), Lists::incoming(20_000, &edges));
        let run = |control: &Control<'_>| wcc(&out, &incoming, 20_000, control);
        assert_stops(run);
        assert_same_on_threads(run);
    }
}
