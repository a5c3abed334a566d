//! PageRank as the demonstration computes it: over a database, over a frozen copy, and once more
//! from the definition.

use std::ops::Range;

use telar_db::Topology;
use telar_db::algo::pagerank;

use super::edges::Edge;

/// Iterations of every PageRank here.
const ITERATIONS: u32 = 20;
/// Vertices between the prefetch hint and the read.
const PREFETCH_AHEAD: u32 = 8;

/// Scores of a graph given by both its directions; where edges are `undirected`, every vertex has
/// the neighbours of both.
pub(super) fn scores<T: Topology>(out: &T, inward: &T, undirected: bool) -> Vec<f64> {
    let n = out.vertex_bound();
    let settings = pagerank::Settings::fixed(ITERATIONS);
    if undirected {
        let both = Both { out, inward };
        pagerank::pagerank(&both, &pagerank::out_degrees(&both, n), &settings).scores
    } else {
        pagerank::pagerank(inward, &pagerank::out_degrees(out, n), &settings).scores
    }
}

/// The same by the definition, pushed along an edge list: shares no code with the kernel, and its
/// input never was in a database.
pub(super) fn reference(n: usize, edges: &[Edge], undirected: bool) -> Vec<f64> {
    let damping = pagerank::Settings::default().damping;
    let count = n as f64;
    let mut degrees = vec![0u32; n];
    for &(u, v) in edges {
        degrees[u as usize] += 1;
        degrees[v as usize] += u32::from(undirected);
    }
    let mut scores = vec![1.0 / count; n];
    for _ in 0..ITERATIONS {
        let lost = (0..n).filter(|v| degrees[*v] == 0).map(|v| scores[v]).sum::<f64>();
        let mut next = vec![(1.0 - damping + damping * lost) / count; n];
        let mut push = |u: u32, v: u32| {
            next[v as usize] += damping * scores[u as usize] / f64::from(degrees[u as usize]);
        };
        for &(u, v) in edges {
            push(u, v);
            if undirected {
                push(v, u);
            }
        }
        scores = next;
    }
    scores
}

/// The largest difference between two vectors of scores, relative to the second; infinite if they
/// are not of one length. (No score is 0: everyone gets a share of the random jumps.)
pub(super) fn difference(a: &[f64], b: &[f64]) -> f64 {
    if a.len() != b.len() {
        return f64::INFINITY;
    }
    // A score that is no number must not compare as small.
    let gap = |(x, y): (&f64, &f64)| {
        let gap = ((x - y) / y).abs();
        if gap.is_nan() { f64::INFINITY } else { gap }
    };
    a.iter().zip(b).map(gap).fold(0.0, f64::max)
}

/// The `k` vertices with the highest scores, highest first.
pub(super) fn top(scores: &[f64], k: usize) -> Vec<u32> {
    let mut best: Vec<u32> = Vec::with_capacity(k + 1);
    for v in 0..scores.len() as u32 {
        let at = best.partition_point(|b| scores[*b as usize] >= scores[v as usize]);
        if at < k {
            best.insert(at, v);
            best.truncate(k);
        }
    }
    best
}

/// Edges of both directions.
struct Both<'t, T> {
    out: &'t T,
    inward: &'t T,
}

impl<T: Topology> Topology for Both<'_, T> {
    fn vertex_bound(&self) -> u32 {
        self.out.vertex_bound()
    }

    fn degree(&self, v: u32) -> u32 {
        self.out.degree(v) + self.inward.degree(v)
    }

    fn for_each_run<F: FnMut(&[u32])>(&self, v: u32, mut f: F) {
        self.out.for_each_run(v, &mut f);
        self.inward.for_each_run(v, f);
    }

    fn scan<F: FnMut(u32, &[u32])>(&self, vertices: Range<u32>, mut f: F) {
        for v in vertices.clone() {
            if v + PREFETCH_AHEAD < vertices.end {
                self.prefetch(v + PREFETCH_AHEAD);
            }
            self.for_each_run(v, |run| f(v, run));
        }
    }

    fn visit<F: FnMut(u32, &[u32])>(&self, vertices: &[u32], mut f: F) {
        for v in vertices {
            self.for_each_run(*v, |run| f(*v, run));
        }
    }

    fn sorted<'a>(&'a self, v: u32, scratch: &'a mut Vec<u32>) -> &'a [u32] {
        scratch.clear();
        self.for_each_run(v, |run| scratch.extend_from_slice(run));
        scratch.sort_unstable();
        scratch
    }

    fn contains(&self, u: u32, v: u32) -> bool {
        self.out.contains(u, v) || self.inward.contains(u, v)
    }

    fn prefetch(&self, v: u32) {
        self.out.prefetch(v);
        self.inward.prefetch(v);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use telar_generate::csr::Csr;
    use telar_generate::{edges, uniform};

    #[test]
    fn kernel_and_definition_agree_in_both_shapes() {
        let mut list = uniform(300, 2000, 5);
        edges::dedup(&mut list);
        let (out, inward) = (Csr::<u32>::outgoing(300, &list), Csr::<u32>::incoming(300, &list));
        for undirected in [false, true] {
            let found = scores(&out, &inward, undirected);
            assert!(difference(&found, &reference(300, &list, undirected)) < 1e-12);
            assert!((found.iter().sum::<f64>() - 1.0).abs() < 1e-9);
        }
    }

    #[test]
    fn scores_that_are_no_numbers_differ() {
        assert_eq!(difference(&[0.5, f64::NAN], &[0.5, 0.5]), f64::INFINITY);
        assert_eq!(difference(&[0.5], &[0.5, 0.5]), f64::INFINITY);
        assert_eq!(difference(&[0.5, 0.25], &[0.5, 0.5]), 0.5);
    }

    #[test]
    fn top_is_sorted_by_score() {
        assert_eq!(top(&[0.1, 0.5, 0.2, 0.5], 3), [1, 3, 2]);
        assert_eq!(top(&[0.1], 3), [0]);
    }
}
