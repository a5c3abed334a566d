//! Orderings: new numbers for the vertices, so that neighbours stand near each other in memory.
//!
//! | module | puts together | time |
//! |---|---|---|
//! | [`random`](mod@random) | nothing: the baseline | O(n) |
//! | [`degree`](mod@degree) | vertices that are read often | O(n log n) |
//! | [`breadth`] | levels of a breadth-first search | O(m) |
//! | [`rcm`] | all neighbours (reverse Cuthill-McKee) | O(m log degree) |
//! | [`community`](mod@community) | communities of label propagation | O(iterations m) |
//! | [`gorder`](mod@gorder) | vertices with neighbours in common | O(sum of squared degrees) |
//! | [`spectral`](mod@spectral) | neighbours, by the Fiedler vector | O(iterations m) |
//! | [`fiedler`] | the vector itself, for partitioning too | O(iterations m) |
//! | [`method`] | one of these by name | |
//!
//! An ordering is the new position of each vertex: a permutation of `0..n`. [`permuted`] gives the
//! graph with the new numbers, and [`quality`] measures how near neighbours are. All but `degree`
//! and `random` take an undirected graph, in which an edge stands in both lists
//! ([`Csr::undirected`]); weights are ignored.
//!
//! Source: Prabhakaran et al., "Managing large graphs on multi-cores with graph awareness", USENIX
//! ATC 2012 (Grace, section 3); each file names its own.

pub mod breadth;
pub mod community;
pub mod degree;
pub mod fiedler;
pub mod gorder;
pub mod method;
pub mod random;
pub mod rcm;
pub mod spectral;

pub use breadth::breadth_first;
pub use community::community;
pub use degree::degree;
pub use gorder::gorder;
pub use method::Method;
pub use random::random;
pub use rcm::reverse_cuthill_mckee;
pub use spectral::spectral;

use rayon::prelude::*;

use crate::control::{Control, Error, Result};
use crate::csr::{Csr, Piece};

/// Logarithm of the vertices of a segment of [`Quality::same_segment`].
const SEGMENT_SHIFT: u32 = 10;

/// Vertices whose lists one task moves.
const GRAIN: usize = 1 << 12;

/// The other form of an order: the place of each vertex from the vertex of each place, or back.
fn positions(order: &[u32]) -> Vec<u32> {
    let mut positions = vec![0; order.len()];
    for (place, &v) in order.iter().enumerate() {
        positions[v as usize] = place as u32;
    }
    positions
}

/// The vertex of each place, if `order` is a permutation of the vertices of `graph`.
fn require(graph: &Csr, order: &[u32]) -> Result<Vec<u32>> {
    let n = graph.vertices();
    let wrong =
        || Error::invalid(format!("an ordering of {n} vertices is a permutation of 0..{n}"));
    if order.len() != n as usize {
        return Err(wrong());
    }
    let mut vertices = vec![u32::MAX; order.len()];
    for (v, &place) in order.iter().enumerate() {
        match vertices.get_mut(place as usize) {
            Some(slot) if *slot == u32::MAX => *slot = v as u32,
            _ => return Err(wrong()),
        }
    }
    Ok(vertices)
}

/// The same graph with the vertices renumbered: `v` becomes `order[v]`. *Memory*: that of the graph
/// twice while it runs.
pub fn permuted(graph: &Csr, order: &[u32], control: &Control<'_>) -> Result<Csr> {
    let vertices = require(graph, order)?;
    let pieces: Result<Vec<Piece>> = control.install(|| {
        vertices
            .par_chunks(GRAIN)
            .map(|chunk| {
                control.check()?;
                let mut piece = if graph.is_weighted() { Piece::weighted() } else { Piece::new() };
                let mut list = Vec::new();
                for &v in chunk {
                    list.clear();
                    list.extend(graph.of(v).iter().map(|u| order[*u as usize]));
                    piece.push(&list, graph.weights_of(v).unwrap_or_default());
                }
                Ok(piece)
            })
            .collect()
    });
    let pieces = pieces?;
    // A graph without vertices has no piece that would say if it has weights.
    Ok(if pieces.is_empty() { graph.clone() } else { Csr::join(pieces) })
}

/// Measures of an ordering, over all edges but loops.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Quality {
    /// Mean of the binary logarithm of the gap between neighbours' positions; 0 without edges.
    pub mean_log_gap: f64,
    /// Binary logarithm of the median gap, the lower one of two; 0 without edges.
    pub median_log_gap: f64,
    /// Largest gap.
    pub bandwidth: u32,
    /// Share of the edges whose ends are in the same 1024 positions; 1 without edges.
    pub same_segment: f64,
}

/// Measures `order`, a permutation. *Memory*: 12 bytes per vertex.
pub fn quality(graph: &Csr, order: &[u32], control: &Control<'_>) -> Result<Quality> {
    require(graph, order)?;
    let mut gaps = vec![0u64; order.len() + 1];
    let (mut near, mut work) = (0u64, 1 << 16);
    for v in 0..graph.vertices() {
        let place = order[v as usize];
        for piece in graph.of(v).chunks(1 << 16) {
            work += piece.len() + 1;
            if work >= 1 << 16 {
                control.check()?;
                work = 0;
            }
            for &u in piece.iter().filter(|u| **u != v) {
                let other = order[u as usize];
                gaps[place.abs_diff(other) as usize] += 1;
                near += u64::from(place >> SEGMENT_SHIFT == other >> SEGMENT_SHIFT);
            }
        }
    }
    let count: u64 = gaps.iter().sum();
    if count == 0 {
        let none =
            Quality { mean_log_gap: 0.0, median_log_gap: 0.0, bandwidth: 0, same_segment: 1.0 };
        return Ok(none);
    }
    let (mut sum, mut seen, mut median) = (0.0, 0, 0.0);
    for (gap, &times) in gaps.iter().enumerate().skip(1) {
        let log = (gap as f64).log2();
        sum += log * times as f64;
        if seen < count.div_ceil(2) && seen + times >= count.div_ceil(2) {
            median = log;
        }
        seen += times;
    }
    Ok(Quality {
        mean_log_gap: sum / count as f64,
        median_log_gap: median,
        bandwidth: gaps.iter().rposition(|times| *times > 0).unwrap_or(0) as u32,
        same_segment: near as f64 / count as f64,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::random_edges;

    /// Checks what every ordering owes; on a shuffled grid of 64 times 64 the mean logarithm of
    /// gaps has to be at most `gap`, where chance gives about 10.
    pub(super) fn check(order: impl Fn(&Csr, &Control<'_>) -> Result<Vec<u32>>, gap: Option<f64>) {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(3).build().unwrap();
        for seed in 0..30u64 {
            let n = [0, 1, 2, 9, 70, 400][seed as usize % 6];
            let count = n as usize * (seed as usize % 5) / 2;
            let edges = if n == 0 { Vec::new() } else { random_edges(seed, n, count) };
            let graph = Csr::from_edges(n, &edges).undirected();
            let found = order(&graph, &Control::default()).unwrap();
            require(&graph, &found).unwrap();
            assert_eq!(order(&graph, &Control::default().on(&pool)).unwrap(), found);
        }
        let side = 64u32;
        let mut edges = Vec::new();
        for v in 0..side * side {
            if v % side + 1 < side {
                edges.push((v, v + 1));
            }
            if v + side < side * side {
                edges.push((v, v + side));
            }
        }
        let grid = Csr::from_edges(side * side, &edges).undirected();
        let control = Control::default();
        let chance = random(&grid, &random::Settings { seed: 9 }, &control).unwrap();
        let shuffled = permuted(&grid, &chance, &control).unwrap();
        let found = order(&shuffled, &control).unwrap();
        let quality = quality(&shuffled, &found, &control).unwrap();
        assert!(gap.is_none_or(|gap| quality.mean_log_gap <= gap), "{quality:?}");
        let stop = || true;
        assert_eq!(order(&grid, &control.stopped_by(&stop)), Err(Error::Stopped));
    }

    #[test]
    fn permuted_graph_has_the_same_edges_under_new_numbers() {
        for seed in 0..20 {
            let n = 1 + 17 * seed as u32;
            let edges: Vec<_> = random_edges(seed, n, 3 * n as usize)
                .iter()
                .zip(0..)
                .map(|(&(u, v), weight)| (u, v, f64::from(weight)))
                .collect();
            let graph = Csr::from_weighted(n, &edges);
            let order = random(&graph, &random::Settings { seed }, &Control::default()).unwrap();
            let moved: Vec<_> =
                edges.iter().map(|&(u, v, w)| (order[u as usize], order[v as usize], w)).collect();
            let found = permuted(&graph, &order, &Control::default()).unwrap();
            assert_eq!(found, Csr::from_weighted(n, &moved));
        }
        let empty = Csr::from_weighted(0, &[]);
        assert_eq!(permuted(&empty, &[], &Control::default()).unwrap(), empty);
        let two = Csr::from_edges(2, &[]);
        for bad in [&[0][..], &[0, 0], &[0, 2]] {
            assert!(permuted(&two, bad, &Control::default()).is_err());
            assert!(quality(&two, bad, &Control::default()).is_err());
        }
    }

    #[test]
    fn quality_measures_gaps() {
        let graph = Csr::from_edges(5, &[(0, 1), (1, 3), (0, 4), (2, 2)]).undirected();
        let found = quality(&graph, &[0, 1, 2, 3, 4], &Control::default()).unwrap();
        let expected =
            Quality { mean_log_gap: 1.0, median_log_gap: 1.0, bandwidth: 4, same_segment: 1.0 };
        assert_eq!(found, expected);
        let far = Csr::from_edges(2000, &[(0, 1999), (3, 4)]);
        let order: Vec<u32> = (0..2000).collect();
        assert_eq!(quality(&far, &order, &Control::default()).unwrap().same_segment, 0.5);
        let none = Csr::from_edges(0, &[]);
        assert_eq!(quality(&none, &[], &Control::default()).unwrap().same_segment, 1.0);
    }
}
