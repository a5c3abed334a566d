//! Partitioning: cutting the vertices into parts of about the same size, with few edges between
//! parts.
//!
//! | module | cuts by | time | edge cut |
//! |---|---|---|---|
//! | [`hash`](mod@hash) | a hash of the vertex number | O(n) | as chance has it |
//! | [`ldg`](mod@ldg) | one pass, neighbours weighed by free room | O(m) | good |
//! | [`fennel`](mod@fennel) | one pass, neighbours less a cost of size | O(m) | good |
//! | [`fewest`] | one pass, fewest non-neighbours (Grace) | O(m) | fair |
//! | [`propagation`] | label propagation with a size limit | O(iterations m) | better |
//! | [`spectral`](mod@spectral) | the Fiedler vector, part by part | O(iterations m log k) | best |
//!
//! All of them take an undirected graph, in which an edge stands in both lists
//! ([`Csr::undirected`]), ignore weights and loops, and count parallel edges each. They return the
//! part of each vertex, `0..parts`. [`quality`] measures what came out.
//!
//! Source: Prabhakaran et al., "Managing large graphs on multi-cores with graph awareness", USENIX
//! ATC 2012 (Grace, section 3).

pub mod fennel;
pub mod fewest;
pub mod hash;
pub mod ldg;
pub mod propagation;
pub mod spectral;
mod stream;

pub use fennel::fennel;
pub use fewest::fewest_non_neighbours;
pub use hash::hash;
pub use ldg::ldg;
pub use propagation::label_propagation;
pub use spectral::spectral;

use crate::control::{Control, Error, Result};
use crate::csr::Csr;

/// Largest number of parts.
pub const PARTS_MAX: u32 = 1 << 20;

/// Fails unless this is a number of parts.
fn require_parts(parts: u32) -> Result<()> {
    if (1..=PARTS_MAX).contains(&parts) {
        return Ok(());
    }
    Err(Error::invalid(format!("{parts} parts; a partitioning has 1 to {PARTS_MAX}")))
}

/// Vertices that a part may hold: `slack` times its share of `n`, and at least enough for all.
fn capacity(n: u32, parts: u32, slack: f64) -> Result<u32> {
    if !(1.0..=f64::from(PARTS_MAX)).contains(&slack) {
        return Err(Error::invalid(format!(
            "slack is {slack}; a part takes 1 to {PARTS_MAX} times its share of the vertices"
        )));
    }
    let share = f64::from(n) / f64::from(parts);
    Ok(((share * slack) as u32).max(n.div_ceil(parts)))
}

/// Measures of a partitioning.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Quality {
    /// Share of the edges that lead from one part to another; 0 without edges. Loops do not count.
    pub edge_cut: f64,
    /// Vertices of the largest part over the mean of all parts; 1 is even, and stands for no
    /// vertices too.
    pub balance: f64,
    /// List entries of the largest part, by edges, over the mean of all parts: balance of work.
    pub edge_balance: f64,
}

/// Measures `parts`, a part in `0..count` for each vertex. *Memory*: 16 bytes per part.
pub fn quality(graph: &Csr, parts: &[u32], count: u32, control: &Control<'_>) -> Result<Quality> {
    require_parts(count)?;
    let n = graph.vertices();
    if parts.len() != n as usize || parts.iter().any(|part| *part >= count) {
        return Err(Error::invalid(format!(
            "a partitioning of {n} vertices has as many entries, each below {count}"
        )));
    }
    let (mut sizes, mut loads) = (vec![0u64; count as usize], vec![0u64; count as usize]);
    let (mut cut, mut all) = (0u64, 0u64);
    for v in 0..n {
        if v & 0xfff == 0 {
            control.check()?;
        }
        let part = parts[v as usize];
        sizes[part as usize] += 1;
        loads[part as usize] += graph.of(v).len() as u64;
        for piece in graph.of(v).chunks(1 << 16) {
            if piece.len() == 1 << 16 {
                control.check()?;
            }
            all += piece.iter().filter(|u| **u != v).count() as u64;
            cut += piece.iter().filter(|u| parts[**u as usize] != part).count() as u64;
        }
    }
    let uneven = |sums: &[u64], total: u64| match total {
        0 => 1.0,
        _ => {
            let largest = sums.iter().copied().max().unwrap_or(0);
            largest as f64 * f64::from(count) / total as f64
        }
    };
    Ok(Quality {
        edge_cut: cut as f64 / all.max(1) as f64,
        balance: uneven(&sizes, u64::from(n)),
        edge_balance: uneven(&loads, graph.edges()),
    })
}

/// Graphs and checks for the tests of partitioners.
#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Random;
    use crate::testing::random_edges;

    /// `count` groups of `size` vertices, dense inside and joined by few edges, numbers shuffled;
    /// undirected.
    pub(super) fn groups(count: u32, size: u32, seed: u64) -> Csr {
        let n = count * size;
        let mut random = Random::new(seed, 0);
        let mut names: Vec<u32> = (0..n).collect();
        for v in (1..n).rev() {
            names.swap(v as usize, random.below(v + 1) as usize);
        }
        let mut edges = Vec::new();
        for v in 0..n {
            for _ in 0..6 {
                edges.push((v, v / size * size + random.below(size)));
            }
            if random.below(10) == 0 {
                edges.push((v, random.below(n)));
            }
        }
        for (u, v) in &mut edges {
            (*u, *v) = (names[*u as usize], names[*v as usize]);
        }
        Csr::from_edges(n, &edges).undirected()
    }

    /// Checks what every partitioner owes, and that it cuts at most `cut` of the edges of groups
    /// where chance cuts three quarters.
    pub(super) fn check(
        partition: impl Fn(&Csr, u32, &Control<'_>) -> Result<Vec<u32>>,
        cut: f64,
        balance: f64,
    ) {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(3).build().unwrap();
        for seed in 0..12u64 {
            let n = [0, 1, 2, 7, 60, 300][seed as usize % 6];
            let edges = if n == 0 { Vec::new() } else { random_edges(seed, n, 2 * n as usize) };
            let graph = Csr::from_edges(n, &edges).undirected();
            for count in [1, 2, 5] {
                let found = partition(&graph, count, &Control::default()).unwrap();
                assert_eq!(found.len(), n as usize);
                assert!(found.iter().all(|part| *part < count));
                let three = partition(&graph, count, &Control::default().on(&pool)).unwrap();
                assert_eq!(found, three);
            }
        }
        let graph = groups(4, 200, 7);
        let found = partition(&graph, 4, &Control::default()).unwrap();
        let quality = quality(&graph, &found, 4, &Control::default()).unwrap();
        assert!(quality.edge_cut <= cut && quality.balance <= balance, "{quality:?}");
        let stop = || true;
        let stopped = partition(&graph, 4, &Control::default().stopped_by(&stop));
        assert_eq!(stopped, Err(Error::Stopped));
        assert!(partition(&graph, 0, &Control::default()).is_err());
        assert!(partition(&graph, PARTS_MAX + 1, &Control::default()).is_err());
    }

    #[test]
    fn quality_counts_edges_between_parts() {
        let edges = [(0, 1), (1, 2), (2, 3), (3, 3)];
        let graph = Csr::from_edges(4, &edges).undirected();
        let go = |parts: &[u32], count| quality(&graph, parts, count, &Control::default());
        let found = go(&[0, 0, 0, 1], 2).unwrap();
        assert_eq!(found, Quality { edge_cut: 2.0 / 6.0, balance: 1.5, edge_balance: 1.25 });
        assert_eq!(go(&[0; 4], 1).unwrap().edge_cut, 0.0);
        assert!(
            go(&[0; 3], 1).is_err() && go(&[0, 0, 0, 2], 2).is_err() && go(&[0; 4], 0).is_err()
        );
        let none = Csr::from_edges(0, &[]);
        assert_eq!(quality(&none, &[], 3, &Control::default()).unwrap().balance, 1.0);
    }
}
