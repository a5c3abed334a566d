//! Two topologies over the same vertices seen as one.
//!
//! Result: a vertex has the neighbours that it has in the first, and then the ones it has in the
//! second; an edge that both hold counts twice. With the two directions of a directed graph this is
//! the graph without direction, in which a loop counts twice.
//!
//! Cost: nothing is copied, but by [`Topology::sorted`].

use std::ops::Range;

use telar_graph::topology::Topology;

/// The edges of two topologies, such as the two directions of a graph.
#[derive(Debug)]
pub struct Both<'a, A, B>(pub &'a A, pub &'a B);

impl<A: Topology, B: Topology> Topology for Both<'_, A, B> {
    fn vertex_bound(&self) -> u32 {
        self.0.vertex_bound().max(self.1.vertex_bound())
    }

    fn degree(&self, v: u32) -> u32 {
        let one = if v < self.0.vertex_bound() { self.0.degree(v) } else { 0 };
        one + if v < self.1.vertex_bound() { self.1.degree(v) } else { 0 }
    }

    fn for_each_run<F: FnMut(&[u32])>(&self, v: u32, mut f: F) {
        if v < self.0.vertex_bound() {
            self.0.for_each_run(v, &mut f);
        }
        if v < self.1.vertex_bound() {
            self.1.for_each_run(v, f);
        }
    }

    fn scan<F: FnMut(u32, &[u32])>(&self, vertices: Range<u32>, mut f: F) {
        vertices.for_each(|v| self.for_each_run(v, |run| f(v, run)));
    }

    fn visit<F: FnMut(u32, &[u32])>(&self, vertices: &[u32], mut f: F) {
        vertices.iter().for_each(|&v| self.for_each_run(v, |run| f(v, run)));
    }

    fn sorted<'a>(&'a self, v: u32, scratch: &'a mut Vec<u32>) -> &'a [u32] {
        scratch.clear();
        self.for_each_run(v, |run| scratch.extend_from_slice(run));
        scratch.sort_unstable();
        scratch
    }

    fn contains(&self, u: u32, v: u32) -> bool {
        (u < self.0.vertex_bound() && self.0.contains(u, v))
            || (u < self.1.vertex_bound() && self.1.contains(u, v))
    }

    fn prefetch(&self, v: u32) {
        if v < self.0.vertex_bound() {
            self.0.prefetch(v);
        }
        if v < self.1.vertex_bound() {
            self.1.prefetch(v);
        }
    }
}

#[test]
fn both_directions_make_the_undirected_graph() {
    use crate::csr::Csr;
    let edges = crate::testing::random_edges(3, 40, 90);
    let (graph, mut scratch) = (Csr::from_edges(40, &edges), Vec::new());
    let (incoming, whole) = (graph.reversed(), graph.undirected());
    let both = Both(&graph, &incoming);
    for v in 0..40 {
        assert_eq!(both.sorted(v, &mut scratch), whole.of(v));
        assert_eq!(both.degree(v), whole.degree(v));
        assert!((0..40).all(|u| both.contains(u, v) == whole.contains(u, v)));
    }
    let part = Csr::from_edges(1, &[(0, 0)]);
    assert_eq!(Both(&part, &whole).degree(39), whole.degree(39));
}
