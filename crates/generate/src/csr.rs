//! Flat compressed sparse rows: what every read ratio is relative to.
//!
//! ```text
//!  offsets    ├ 0 ┼ 3 ┼ 3 ┼ 5 ┤            one more than vertices; u32 below 2^32 edges, else u64
//!  neighbours ├ 1 ┼ 2 ┼ 9 ┼ 0 ┼ 4 ┤        u32, ascending within a vertex
//! ```
//!
//! Invariants: offsets ascend and end at the number of neighbours; each list is sorted.
//! Concurrency: immutable.
//! Cost: 4 bytes per edge and 4 (8) per vertex: 4.27 at the 15.7 edges per vertex of RMAT scale 20.
//! Reads prefetch as far ahead as every other layout here, and both arrays ask for huge pages, so
//! that a ratio compares layouts and not the care taken.

use crate::mem::{self, PREFETCH_AHEAD};
use std::ops::Range;
use telar_graph::topology::Topology;

/// A width of CSR offsets.
pub trait Offset: Copy + Send + Sync + 'static {
    /// Largest number of edges this width can hold.
    const EDGES_MAX: u64;
    /// Returns the offset for a position.
    fn from_index(index: usize) -> Self;
    /// Returns the position.
    fn index(self) -> usize;
}

impl Offset for u32 {
    const EDGES_MAX: u64 = Self::MAX as u64;

    #[inline(always)]
    fn from_index(index: usize) -> Self {
        index as Self
    }

    #[inline(always)]
    fn index(self) -> usize {
        self as usize
    }
}

impl Offset for u64 {
    const EDGES_MAX: u64 = Self::MAX;

    #[inline(always)]
    fn from_index(index: usize) -> Self {
        index as Self
    }

    #[inline(always)]
    fn index(self) -> usize {
        self as usize
    }
}

/// An immutable adjacency; `O` is `u32` unless there are 2^32 edges or more.
pub struct Csr<O: Offset = u32> {
    offsets: Vec<O>,
    neighbours: Vec<u32>,
}

impl<O: Offset> Csr<O> {
    /// Returns the lists of targets by source; parallel edges stay parallel.
    ///
    /// # Panics
    /// If an end is not below `n`, or there are more edges than `O` can count.
    pub fn outgoing(n: u32, edges: &[(u32, u32)]) -> Self {
        Self::build(n, edges, |edge| edge)
    }

    /// Returns the lists of sources by target.
    ///
    /// # Panics
    /// As [`outgoing`](Self::outgoing).
    pub fn incoming(n: u32, edges: &[(u32, u32)]) -> Self {
        Self::build(n, edges, |(u, v)| (v, u))
    }

    fn build(n: u32, edges: &[(u32, u32)], turn: impl Fn((u32, u32)) -> (u32, u32)) -> Self {
        assert!(edges.len() as u64 <= O::EDGES_MAX, "{} edges want wider offsets", edges.len());
        let mut next = vec![0usize; n as usize + 1];
        for &edge in edges {
            assert!(edge.0 < n && edge.1 < n, "edge {edge:?} leaves the {n} vertices");
            next[turn(edge).0 as usize + 1] += 1;
        }
        for v in 0..n as usize {
            next[v + 1] += next[v];
        }
        let mut offsets = mem::huge_vec(next.len());
        offsets.extend(next.iter().map(|&index| O::from_index(index)));
        let mut neighbours = mem::huge_vec(edges.len());
        neighbours.resize(edges.len(), 0);
        for &edge in edges {
            let (u, v) = turn(edge);
            neighbours[next[u as usize]] = v;
            next[u as usize] += 1;
        }
        let mut csr = Self { offsets, neighbours };
        for v in 0..n {
            let range = csr.range(v);
            csr.neighbours[range].sort_unstable();
        }
        csr
    }

    /// Returns the number of edges.
    pub fn edges(&self) -> u64 {
        self.neighbours.len() as u64
    }

    /// Returns the bytes of both arrays.
    pub fn memory_bytes(&self) -> u64 {
        (size_of_val(&self.offsets[..]) + size_of_val(&self.neighbours[..])) as u64
    }

    /// Returns the edge at this position in the order of the lists, as `(vertex, neighbour)`.
    ///
    /// # Panics
    /// If there are no more than `position` edges.
    pub fn edge(&self, position: usize) -> (u32, u32) {
        let after = self.offsets.partition_point(|offset| offset.index() <= position);
        (after as u32 - 1, self.neighbours[position])
    }

    /// Returns the neighbours of `v`, ascending.
    #[inline(always)]
    pub fn list(&self, v: u32) -> &[u32] {
        &self.neighbours[self.range(v)]
    }

    #[inline(always)]
    fn range(&self, v: u32) -> Range<usize> {
        self.offsets[v as usize].index()..self.offsets[v as usize + 1].index()
    }

    #[inline(always)]
    fn hint(&self, v: u32) {
        if let Some(offset) = self.offsets.get(v as usize) {
            mem::prefetch(self.neighbours.as_ptr().wrapping_add(offset.index()));
        }
    }
}

impl<O: Offset> Topology for Csr<O> {
    fn vertex_bound(&self) -> u32 {
        self.offsets.len() as u32 - 1
    }

    #[inline]
    fn degree(&self, v: u32) -> u32 {
        self.range(v).len() as u32
    }

    #[inline]
    fn for_each_run<F: FnMut(&[u32])>(&self, v: u32, mut f: F) {
        f(self.list(v));
    }

    #[inline]
    fn scan<F: FnMut(u32, &[u32])>(&self, vertices: Range<u32>, mut f: F) {
        for v in vertices {
            self.hint(v.wrapping_add(PREFETCH_AHEAD as u32));
            f(v, self.list(v));
        }
    }

    #[inline]
    fn visit<F: FnMut(u32, &[u32])>(&self, vertices: &[u32], mut f: F) {
        for (i, &v) in vertices.iter().enumerate() {
            if let Some(&far) = vertices.get(i + 2 * PREFETCH_AHEAD) {
                mem::prefetch(self.offsets.as_ptr().wrapping_add(far as usize));
            }
            if let Some(&ahead) = vertices.get(i + PREFETCH_AHEAD) {
                self.hint(ahead);
            }
            f(v, self.list(v));
        }
    }

    #[inline]
    fn sorted<'a>(&'a self, v: u32, _scratch: &'a mut Vec<u32>) -> &'a [u32] {
        self.list(v)
    }

    #[inline]
    fn contains(&self, u: u32, v: u32) -> bool {
        self.list(u).binary_search(&v).is_ok()
    }

    #[inline]
    fn prefetch(&self, v: u32) {
        self.hint(v);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const EDGES: [(u32, u32); 6] = [(2, 1), (0, 9), (0, 2), (2, 0), (0, 1), (9, 9)];

    fn check<O: Offset>() {
        let out = Csr::<O>::outgoing(10, &EDGES);
        assert_eq!((out.list(0), out.list(1), out.list(2)), (&[1, 2, 9][..], &[][..], &[0, 1][..]));
        assert_eq!((out.vertex_bound(), out.edges(), out.degree(0)), (10, 6, 3));
        assert!(out.contains(9, 9) && out.contains(0, 2) && !out.contains(2, 9));
        let incoming = Csr::<O>::incoming(10, &EDGES);
        assert_eq!((incoming.list(0), incoming.list(1)), (&[2][..], &[0, 2][..]));
        let listed: Vec<_> = (0..6).map(|position| out.edge(position)).collect();
        assert_eq!(listed, [(0, 1), (0, 2), (0, 9), (2, 0), (2, 1), (9, 9)]);
        let mut seen = Vec::new();
        out.scan(0..10, |v, run| seen.extend(run.iter().map(|&u| (v, u))));
        out.visit(&[2, 0], |v, run| seen.push((v, run.len() as u32)));
        let mut expected = EDGES.to_vec();
        expected.sort_unstable();
        expected.extend([(2, 2), (0, 3)]);
        assert_eq!(seen, expected);
    }

    #[test]
    fn csr_sorts_lists_for_both_offset_widths() {
        check::<u32>();
        check::<u64>();
    }

    #[test]
    fn csr_costs_four_bytes_per_edge_and_vertex() {
        assert_eq!(Csr::<u32>::outgoing(10, &EDGES).memory_bytes(), 4 * 6 + 4 * 11);
        assert_eq!(Csr::<u64>::outgoing(10, &EDGES).memory_bytes(), 4 * 6 + 8 * 11);
    }

    #[test]
    #[should_panic(expected = "leaves the 3 vertices")]
    fn csr_refuses_vertices_beyond_the_bound() {
        Csr::<u32>::outgoing(3, &[(0, 3)]);
    }
}
