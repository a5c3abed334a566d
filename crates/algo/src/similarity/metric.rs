//! Measures of how much the neighbours of two vertices have in common.
//!
//! ```text
//!   A, B  neighbours of the two vertices, as sets     w   weights of the edges to them, or 1
//!   d(x)  number of vertices that x is a neighbour of
//! ```
//!
//! | metric | without weights | with weights |
//! |---|---|---|
//! | Jaccard | common / union | sum of min(w) / sum of max(w) |
//! | overlap | common / smaller of the two | sum of min(w) / smaller sum of w |
//! | cosine | common / root of the product | sum of products / product of lengths |
//! | Adamic-Adar | sum over common x of 1 / ln d(x) | the same |
//! | resource allocation | sum over common x of 1 / d(x) | the same |
//! | common neighbours | common | the same |
//! | preferential attachment | size of A times size of B | the same |
//!
//! A quotient by 0 counts as 0. A common neighbour with degree 1, which a vertex has only with
//! itself, adds nothing to Adamic-Adar and resource allocation.
//!
//! Source: Jaccard, 1901; Szymkiewicz, 1934; Salton and McGill, 1983; Adamic and Adar, "Friends and
//! neighbors on the web", 2003; Zhou, Lu and Zhang, "Predicting missing links via local
//! information", 2009; Barabasi and Albert, 1999. Names as in Neo4j GDS.

use crate::control::{Control, Result};
use crate::csr::{Csr, Piece};

/// A measure of similarity by neighbours.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Metric {
    /// Share of the neighbours of both that are common; 0 to 1.
    #[default]
    Jaccard,
    /// Common neighbours over those of the vertex with fewer; 0 to 1.
    Overlap,
    /// Angle between the neighbours as vectors; 0 to 1.
    Cosine,
    /// Common neighbours, rare ones counted more, by the logarithm of their degree.
    AdamicAdar,
    /// Common neighbours, rare ones counted more, by their degree.
    ResourceAllocation,
    /// Number of common neighbours.
    CommonNeighbors,
    /// Product of the numbers of neighbours.
    PreferentialAttachment,
}

/// Neighbours of a vertex in total.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Size {
    /// Number of distinct neighbours.
    pub(super) count: u32,
    /// Sum of weights, or of their squares for [`Metric::Cosine`].
    pub(super) sum: f64,
}

impl Metric {
    /// True if weights change the measure.
    #[must_use]
    pub fn weighs(self) -> bool {
        matches!(self, Self::Jaccard | Self::Overlap | Self::Cosine)
    }

    /// Size of a list of distinct neighbours with weights.
    pub(super) fn size(self, list: impl Iterator<Item = (u32, f64)>) -> Size {
        list.fold(Size { count: 0, sum: 0.0 }, |size, (_, w)| Size {
            count: size.count + 1,
            sum: size.sum + if self == Self::Cosine { w * w } else { w },
        })
    }

    /// What a common neighbour `x` with degree `degree` adds, the weights of the edges to it being
    /// `a` and `b`.
    #[inline]
    pub(super) fn share(self, a: f64, b: f64, degree: u32) -> f64 {
        match self {
            Self::Jaccard | Self::Overlap => a.min(b),
            Self::Cosine => a * b,
            Self::AdamicAdar if degree > 1 => 1.0 / f64::from(degree).ln(),
            Self::ResourceAllocation if degree > 1 => 1.0 / f64::from(degree),
            Self::AdamicAdar | Self::ResourceAllocation => 0.0,
            Self::CommonNeighbors | Self::PreferentialAttachment => 1.0,
        }
    }

    /// The measure, from what common neighbours added and the sizes of both lists.
    #[inline]
    pub(super) fn value(self, common: f64, a: Size, b: Size) -> f64 {
        let (over, under) = match self {
            Self::Jaccard => (common, a.sum + b.sum - common),
            Self::Overlap => (common, a.sum.min(b.sum)),
            Self::Cosine => (common, (a.sum * b.sum).sqrt()),
            Self::AdamicAdar | Self::ResourceAllocation | Self::CommonNeighbors => (common, 1.0),
            Self::PreferentialAttachment => (f64::from(a.count) * f64::from(b.count), 1.0),
        };
        if under > 0.0 { over / under } else { 0.0 }
    }
}

/// Neighbours of `v`, each once, with the sum of the weights of parallel edges; 1 without weights.
pub(super) fn distinct(graph: &Csr, v: u32, list: &mut Vec<(u32, f64)>) {
    list.clear();
    for (u, w) in graph.weighted(v) {
        match list.last_mut() {
            Some((last, sum)) if *last == u => *sum += if graph.is_weighted() { w } else { 0.0 },
            _ => list.push((u, w)),
        }
    }
}

/// The graph with parallel edges made one, or nothing if there are none.
pub(super) fn without_parallel(graph: &Csr, control: &Control<'_>) -> Result<Option<Csr>> {
    let twice = |v: u32| graph.of(v).windows(2).any(|two| two[0] == two[1]);
    let mut work = 0;
    let mut check = |v: u32| {
        work += graph.of(v).len() + 1;
        if work < 1 << 16 {
            return Ok(());
        }
        work = 0;
        control.check()
    };
    let mut any = false;
    for v in 0..graph.vertices() {
        check(v)?;
        any = any || twice(v);
    }
    if !any {
        return Ok(None);
    }
    let mut piece = if graph.is_weighted() { Piece::weighted() } else { Piece::new() };
    let (mut list, mut neighbours, mut weights) = (Vec::new(), Vec::new(), Vec::new());
    for v in 0..graph.vertices() {
        check(v)?;
        distinct(graph, v, &mut list);
        neighbours.clear();
        weights.clear();
        neighbours.extend(list.iter().map(|edge| edge.0));
        weights.extend(list.iter().map(|edge| edge.1));
        piece.push(&neighbours, &weights);
    }
    Ok(Some(Csr::join(vec![piece])))
}

/// The measure by its definition, over maps.
#[cfg(test)]
pub(super) fn verify(
    metric: Metric,
    edges: &[(u32, u32, f64)],
    weighted: bool,
    u: u32,
    v: u32,
) -> f64 {
    use std::collections::{BTreeMap, BTreeSet};
    let of = |u: u32| {
        let mut list = BTreeMap::new();
        for &(_, x, w) in edges.iter().filter(|edge| edge.0 == u) {
            let sum = list.entry(x).or_insert(0.0);
            *sum = if weighted { *sum + w } else { 1.0 };
        }
        list
    };
    let (a, b) = (of(u), of(v));
    let all: BTreeSet<u32> = a.keys().chain(b.keys()).copied().collect();
    let both: Vec<u32> = a.keys().filter(|x| b.contains_key(x)).copied().collect();
    let at = |list: &BTreeMap<u32, f64>, x: &u32| list.get(x).copied().unwrap_or(0.0);
    let degree = |x: u32| {
        let near: BTreeSet<u32> = edges.iter().filter(|e| e.1 == x).map(|e| e.0).collect();
        near.len() as f64
    };
    let least: f64 = all.iter().map(|x| at(&a, x).min(at(&b, x))).sum();
    let most: f64 = all.iter().map(|x| at(&a, x).max(at(&b, x))).sum();
    let length = |list: &BTreeMap<u32, f64>| list.values().map(|w| w * w).sum::<f64>().sqrt();
    let products: f64 = all.iter().map(|x| at(&a, x) * at(&b, x)).sum();
    let rare = both.iter().filter(|x| degree(**x) > 1.0);
    let value = match metric {
        Metric::Jaccard => least / most,
        Metric::Overlap => least / a.values().sum::<f64>().min(b.values().sum()),
        Metric::Cosine => products / length(&a) / length(&b),
        Metric::AdamicAdar => rare.map(|x| 1.0 / degree(*x).ln()).sum(),
        Metric::ResourceAllocation => rare.map(|x| 1.0 / degree(*x)).sum(),
        Metric::CommonNeighbors => both.len() as f64,
        Metric::PreferentialAttachment => (a.len() * b.len()) as f64,
    };
    if value.is_finite() { value } else { 0.0 }
}

/// All metrics, for tests.
#[cfg(test)]
pub(super) const ALL: [Metric; 7] = [
    Metric::Jaccard,
    Metric::Overlap,
    Metric::Cosine,
    Metric::AdamicAdar,
    Metric::ResourceAllocation,
    Metric::CommonNeighbors,
    Metric::PreferentialAttachment,
];
