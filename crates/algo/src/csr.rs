//! A packed projection of a graph: flat neighbour lists with optional weights, built once for
//! kernels that go over it many times or need what storage has not at hand.
//!
//! ```text
//!   offsets     0 . . . . . . . n        list of v: offsets[v] .. offsets[v + 1]
//!   neighbours  |  0  | 1 | 2  ...       u32 each, ascending in a list, parallel edges once each
//!   weights     |  0  | 1 | 2  ...       f64 each, beside the neighbours; or none: all are 1
//! ```
//!
//! Vertices are `0..n`. *Memory*: 8 (n + 1) + 4 m bytes, 8 m more with weights.

use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};

use rayon::prelude::*;
use telar_graph::topology::Topology;

use crate::control::{Control, Error, Result};

/// Flat adjacency in one direction.
#[derive(Debug, Clone, PartialEq)]
pub struct Csr {
    offsets: Vec<u64>,
    neighbours: Vec<u32>,
    weights: Option<Vec<f64>>,
}

/// Lists of vertices that follow each other, of which a [`Csr`] is joined.
#[derive(Debug, Clone, Default)]
pub struct Piece {
    degrees: Vec<u32>,
    neighbours: Vec<u32>,
    weights: Option<Vec<f64>>,
    order: Vec<(u32, f64)>,
    /// Where the lists that have ended do.
    ended: usize,
}

impl Piece {
    /// Without weights.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// With a weight for each edge.
    #[must_use]
    pub fn weighted() -> Self {
        Self { weights: Some(Vec::new()), ..Self::default() }
    }

    /// Adds neighbours to the list of the next vertex, in any order. Not for pieces with weights.
    #[inline]
    pub fn extend(&mut self, neighbours: impl IntoIterator<Item = u32>) {
        self.neighbours.extend(neighbours);
    }

    /// Ends the list of the next vertex, of what [`extend`](Self::extend) added since the last.
    pub fn end_list(&mut self) {
        let list = &mut self.neighbours[self.ended..];
        if !list.is_sorted() {
            list.sort_unstable();
        }
        self.degrees.push(list.len() as u32);
        self.ended = self.neighbours.len();
    }

    /// Adds the list of the next vertex, in any order.
    ///
    /// # Panics
    /// If weights are kept and there is not one for each neighbour.
    pub fn push(&mut self, neighbours: &[u32], weights: &[f64]) {
        match &mut self.weights {
            None => {
                self.neighbours.extend_from_slice(neighbours);
                self.end_list();
            }
            Some(kept) => {
                assert_eq!(neighbours.len(), weights.len(), "a weight for each neighbour");
                self.order.clear();
                self.order.extend(neighbours.iter().copied().zip(weights.iter().copied()));
                self.order.sort_unstable_by(|a, b| a.0.cmp(&b.0).then(a.1.total_cmp(&b.1)));
                self.neighbours.extend(self.order.iter().map(|edge| edge.0));
                kept.extend(self.order.iter().map(|edge| edge.1));
                self.degrees.push(neighbours.len() as u32);
                self.ended = self.neighbours.len();
            }
        }
    }
}

impl Csr {
    /// Joins lists of `0..`, piece by piece.
    ///
    /// # Panics
    /// If some pieces have weights and others none.
    #[must_use]
    pub fn join(pieces: Vec<Piece>) -> Self {
        let n = pieces.iter().map(|piece| piece.degrees.len()).sum::<usize>();
        let m = pieces.iter().map(|piece| piece.neighbours.len()).sum();
        let mut offsets = Vec::with_capacity(n + 1);
        offsets.push(0);
        let mut neighbours = Vec::with_capacity(m);
        let weighted = pieces.first().is_some_and(|piece| piece.weights.is_some());
        let mut weights = weighted.then(|| Vec::with_capacity(m));
        for piece in pieces {
            let mut end = neighbours.len() as u64;
            offsets.extend(piece.degrees.iter().map(|&degree| {
                end += u64::from(degree);
                end
            }));
            neighbours.extend(piece.neighbours);
            assert_eq!(
                weights.is_some(),
                piece.weights.is_some(),
                "all pieces have weights or none"
            );
            if let (Some(all), Some(some)) = (&mut weights, piece.weights) {
                all.extend(some);
            }
        }
        Self { offsets, neighbours, weights }
    }

    /// Lists that lie one after the other, ascending, as the picture of the module has them.
    pub(crate) fn of_lists(
        offsets: Vec<u64>,
        neighbours: Vec<u32>,
        weights: Option<Vec<f64>>,
    ) -> Self {
        debug_assert_eq!(offsets.last(), Some(&(neighbours.len() as u64)));
        debug_assert!(weights.as_ref().is_none_or(|weights| weights.len() == neighbours.len()));
        Self { offsets, neighbours, weights }
    }

    /// A graph of `n` vertices with these edges, without weights.
    ///
    /// # Panics
    /// If an edge has an end that is not below `n`.
    #[must_use]
    pub fn from_edges(n: u32, edges: &[(u32, u32)]) -> Self {
        Self::scatter(n, || edges.iter().map(|&(u, v)| (u, v, 1.0)), false)
    }

    /// A graph of `n` vertices with these edges and weights.
    ///
    /// # Panics
    /// If an edge has an end that is not below `n`.
    #[must_use]
    pub fn from_weighted(n: u32, edges: &[(u32, u32, f64)]) -> Self {
        Self::scatter(n, || edges.iter().copied(), true)
    }

    /// Counting sort of edges by their first end, then each list by its second.
    fn scatter<I: Iterator<Item = (u32, u32, f64)>>(
        n: u32,
        edges: impl Fn() -> I,
        weighted: bool,
    ) -> Self {
        let mut offsets = vec![0u64; n as usize + 1];
        let mut m = 0;
        for (u, v, _) in edges() {
            assert!(v < n, "vertex {v} is not below {n}");
            offsets[u as usize + 1] += 1;
            m += 1;
        }
        for v in 0..n as usize {
            offsets[v + 1] += offsets[v];
        }
        let mut next = offsets.clone();
        let mut neighbours = vec![0; m];
        let mut weights = weighted.then(|| vec![0.0; m]);
        for (u, v, weight) in edges() {
            let at = next[u as usize] as usize;
            next[u as usize] += 1;
            neighbours[at] = v;
            if let Some(weights) = &mut weights {
                weights[at] = weight;
            }
        }
        let mut csr = Self { offsets, neighbours, weights };
        csr.sort_lists();
        csr
    }

    fn sort_lists(&mut self) {
        let mut order = Vec::new();
        for v in 0..self.vertices() {
            let range = self.range(v);
            let list = &mut self.neighbours[range.clone()];
            let Some(weights) = &mut self.weights else {
                if !list.is_sorted() {
                    list.sort_unstable();
                }
                continue;
            };
            let weights = &mut weights[range];
            if list.is_sorted_by(|a, b| a < b) {
                continue;
            }
            order.clear();
            order.extend(list.iter().copied().zip(weights.iter().copied()));
            order.sort_unstable_by(|a: &(u32, f64), b| a.0.cmp(&b.0).then(a.1.total_cmp(&b.1)));
            for ((neighbour, weight), &(v, w)) in list.iter_mut().zip(weights).zip(&order) {
                (*neighbour, *weight) = (v, w);
            }
        }
    }

    fn range(&self, v: u32) -> Range<usize> {
        self.offsets[v as usize] as usize..self.offsets[v as usize + 1] as usize
    }

    /// Number of vertices.
    #[must_use]
    pub fn vertices(&self) -> u32 {
        (self.offsets.len() - 1) as u32
    }

    /// Number of edges, parallel ones once each.
    #[must_use]
    pub fn edges(&self) -> u64 {
        self.neighbours.len() as u64
    }

    /// Neighbours of `v`, ascending.
    #[inline]
    #[must_use]
    pub fn of(&self, v: u32) -> &[u32] {
        &self.neighbours[self.range(v)]
    }

    /// Weights of the edges of `v` in the order of [`of`](Self::of), if there are weights.
    #[inline]
    #[must_use]
    pub fn weights_of(&self, v: u32) -> Option<&[f64]> {
        self.weights.as_ref().map(|weights| &weights[self.range(v)])
    }

    /// Neighbours of `v` with weights, 1 where there are none.
    #[inline]
    pub fn weighted(&self, v: u32) -> impl Iterator<Item = (u32, f64)> + '_ {
        let range = self.range(v);
        let weights = self.weights.as_deref();
        range.map(move |at| (self.neighbours[at], weights.map_or(1.0, |weights| weights[at])))
    }

    /// True if the edges have weights.
    #[must_use]
    pub fn is_weighted(&self) -> bool {
        self.weights.is_some()
    }

    /// Number of the first edge of `v` among all, in the order of vertices and lists.
    #[must_use]
    pub fn first_edge(&self, v: u32) -> u64 {
        self.offsets[v as usize]
    }

    /// Bytes that the arrays take.
    #[must_use]
    pub fn bytes(&self) -> usize {
        size_of_val(&*self.offsets)
            + size_of_val(&*self.neighbours)
            + self.weights.as_ref().map_or(0, |weights| size_of_val(&**weights))
    }

    /// Every edge with its weight.
    pub fn all_edges(&self) -> impl Iterator<Item = (u32, u32, f64)> + '_ {
        (0..self.vertices()).flat_map(|u| self.weighted(u).map(move |(v, w)| (u, v, w)))
    }

    /// The same edges the other way round.
    #[must_use]
    pub fn reversed(&self) -> Self {
        let n = self.vertices();
        let mut offsets = vec![0u64; n as usize + 1];
        for v in &self.neighbours {
            offsets[*v as usize + 1] += 1;
        }
        for v in 0..n as usize {
            offsets[v + 1] += offsets[v];
        }
        let mut next = offsets.clone();
        let mut neighbours = vec![0; self.neighbours.len()];
        let mut weights = self.weights.as_ref().map(|weights| vec![0.0; weights.len()]);
        // Sources ascend, and so do the new lists.
        for u in 0..n {
            for at in self.range(u) {
                let to = &mut next[self.neighbours[at] as usize];
                neighbours[*to as usize] = u;
                if let (Some(to_weights), Some(weights)) = (&mut weights, &self.weights) {
                    to_weights[*to as usize] = weights[at];
                }
                *to += 1;
            }
        }
        Self { offsets, neighbours, weights }
    }

    /// Every edge in both directions; a loop stands in its list twice.
    #[must_use]
    pub fn undirected(&self) -> Self {
        let edges = || self.all_edges().flat_map(|(u, v, w)| [(u, v, w), (v, u, w)]);
        Self::scatter(self.vertices(), edges, self.is_weighted())
    }

    /// Without loops, and of parallel edges one, whose weight is `merge` of theirs.
    #[must_use]
    pub fn simple(&self, merge: impl Fn(f64, f64) -> f64) -> Self {
        self.merged(false, merge)
    }

    /// The graph with one of parallel edges, whose weight is `merge` of theirs. Loops stay.
    #[must_use]
    pub fn without_parallels(&self, merge: impl Fn(f64, f64) -> f64) -> Self {
        self.merged(true, merge)
    }

    fn merged(&self, loops: bool, merge: impl Fn(f64, f64) -> f64) -> Self {
        let mut offsets = Vec::with_capacity(self.offsets.len());
        offsets.push(0);
        let mut neighbours: Vec<u32> = Vec::new();
        let mut weights = self.is_weighted().then(Vec::new);
        for u in 0..self.vertices() {
            let first = neighbours.len();
            for (v, w) in self.weighted(u).filter(|(v, _)| loops || *v != u) {
                let again = neighbours.len() > first && neighbours.last() == Some(&v);
                if !again {
                    neighbours.push(v);
                }
                if let Some(weights) = &mut weights {
                    match weights.last_mut() {
                        Some(last) if again => *last = merge(*last, w),
                        _ => weights.push(w),
                    }
                }
            }
            offsets.push(neighbours.len() as u64);
        }
        Self { offsets, neighbours, weights }
    }

    /// Fails unless every weight is a finite number of at least `least`; `kernel` is named in the
    /// error.
    pub fn require_weights(&self, kernel: &str, least: f64, control: &Control<'_>) -> Result<()> {
        let Some(weights) = &self.weights else { return Ok(()) };
        let wrong = |weight: &f64| !weight.is_finite() || *weight < least;
        // ORDERING: relaxed; it is read when all threads have ended.
        let first_wrong = AtomicU64::new(u64::MAX);
        control.install(|| {
            weights.par_chunks(1 << 16).enumerate().try_for_each(|(task, weights)| {
                control.check()?;
                if let Some(at) = weights.iter().position(wrong) {
                    first_wrong.fetch_min(((task << 16) + at) as u64, Ordering::Relaxed);
                }
                Ok(())
            })
        })?;
        let edge = first_wrong.into_inner();
        let Some(weight) = weights.get(edge as usize) else { return Ok(()) };
        let u = self.offsets.partition_point(|&offset| offset <= edge) - 1;
        Err(Error::invalid(format!(
            "{kernel} takes finite weights of at least {least}, and an edge of vertex {u} has \
             {weight}"
        )))
    }
}

impl Topology for Csr {
    fn vertex_bound(&self) -> u32 {
        self.vertices()
    }

    fn degree(&self, v: u32) -> u32 {
        self.range(v).len() as u32
    }

    #[inline]
    fn for_each_run<F: FnMut(&[u32])>(&self, v: u32, mut f: F) {
        f(self.of(v));
    }

    #[inline]
    fn scan<F: FnMut(u32, &[u32])>(&self, vertices: Range<u32>, mut f: F) {
        for v in vertices {
            f(v, self.of(v));
        }
    }

    #[inline]
    fn visit<F: FnMut(u32, &[u32])>(&self, vertices: &[u32], mut f: F) {
        for &v in vertices {
            f(v, self.of(v));
        }
    }

    fn sorted<'a>(&'a self, v: u32, _: &'a mut Vec<u32>) -> &'a [u32] {
        self.of(v)
    }

    fn contains(&self, u: u32, v: u32) -> bool {
        self.of(u).binary_search(&v).is_ok()
    }

    fn prefetch(&self, _: u32) {}
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::random_edges;

    #[test]
    fn lists_of_random_graphs_hold_every_edge_sorted() {
        for seed in 0..30 {
            let n = 1 + 13 * seed as u32;
            let edges = random_edges(seed, n, 2 * n as usize);
            let csr = Csr::from_edges(n, &edges);
            let mut sorted = edges.clone();
            sorted.sort_unstable();
            let pairs = |csr: &Csr| csr.all_edges().map(|(u, v, _)| (u, v)).collect::<Vec<_>>();
            assert_eq!(pairs(&csr), sorted);
            let mut reversed: Vec<_> = edges.iter().map(|&(u, v)| (v, u)).collect();
            reversed.sort_unstable();
            assert_eq!(pairs(&csr.reversed()), reversed);
            sorted.extend(reversed);
            sorted.sort_unstable();
            assert_eq!(pairs(&csr.undirected()), sorted);
            sorted.retain(|(u, v)| u != v);
            sorted.dedup();
            assert_eq!(pairs(&csr.undirected().simple(f64::max)), sorted);
        }
    }

    #[test]
    fn weights_stay_with_their_edges_and_parallel_ones_are_merged() {
        let csr = Csr::from_weighted(3, &[(0, 2, 5.0), (0, 1, 2.0), (0, 2, 3.0), (1, 1, 9.0)]);
        assert_eq!(csr.of(0), [1, 2, 2]);
        assert_eq!(csr.weights_of(0), Some(&[2.0, 3.0, 5.0][..]));
        assert_eq!(csr.reversed().weights_of(2), Some(&[3.0, 5.0][..]));
        let simple = csr.simple(|a, b| a + b);
        assert_eq!(simple.weights_of(0), Some(&[2.0, 8.0][..]));
        assert!(simple.of(1).is_empty());
    }

    #[test]
    fn pieces_join_to_what_edges_make() {
        let (mut first, mut second) = (Piece::weighted(), Piece::weighted());
        first.push(&[2, 1, 2], &[5.0, 2.0, 3.0]);
        first.push(&[1], &[9.0]);
        second.push(&[], &[]);
        let whole = Csr::from_weighted(3, &[(0, 2, 5.0), (0, 1, 2.0), (0, 2, 3.0), (1, 1, 9.0)]);
        assert_eq!(Csr::join(vec![first, second]), whole);
        assert_eq!(Csr::join(Vec::new()), Csr::from_edges(0, &[]));
    }

    #[test]
    fn weights_that_will_not_do_are_refused_with_their_vertex() {
        for bad in [-1.0, f64::NAN, f64::INFINITY] {
            let csr = Csr::from_weighted(3, &[(0, 1, 1.0), (2, 0, bad)]);
            let error = csr.require_weights("dijkstra", 0.0, &Control::default()).unwrap_err();
            assert!(error.to_string().contains("vertex 2"), "{error}");
        }
        Csr::from_edges(2, &[(0, 1)]).require_weights("x", 5.0, &Control::default()).unwrap();
    }
}
