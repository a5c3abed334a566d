//! The kernels of the GAP benchmark suite, over lists of any store.

use telar_algo::community::wcc;
use telar_algo::control::Control;
use telar_algo::pagerank::{self, pagerank_parallel};
use telar_algo::paths::{bfs, sssp};
use telar_algo::triangles::triangles_parallel;
use telar_graph::Topology;

use super::Failed;
use super::answer::Answer;

/// Iterations of PageRank.
pub(super) const ITERATIONS: u32 = 20;

/// Bucket width of delta-stepping: about a sixteenth of the mean weight by 16 edges per vertex,
/// twice.
const DELTA: f64 = 16.0;

/// Both directions of a graph, and where searches begin.
pub(super) struct Lists<'a, T> {
    pub(super) out: &'a T,
    pub(super) incoming: &'a T,
    pub(super) n: u32,
    pub(super) source: u32,
}

/// A kernel that reads lists in place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kernel {
    PageRank,
    Bfs,
    Sssp,
    Wcc,
    Triangles,
}

/// Kernels on a directed graph.
pub(super) const DIRECTED: &[Kernel] = &[Kernel::PageRank, Kernel::Bfs, Kernel::Sssp, Kernel::Wcc];

impl Kernel {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::PageRank => "PageRank",
            Self::Bfs => "BFS",
            Self::Sssp => "SSSP",
            Self::Wcc => "WCC",
            Self::Triangles => "triangles",
        }
    }

    pub(super) fn run<T: Topology>(
        self,
        lists: &Lists<'_, T>,
        control: &Control<'_>,
    ) -> Result<Answer, Failed> {
        let Lists { out, incoming, n, source } = *lists;
        Ok(match self {
            Self::PageRank => {
                let degrees = pagerank::out_degrees(out, n);
                let settings = pagerank::Settings::fixed(ITERATIONS);
                Answer::Scores(pagerank_parallel(incoming, &degrees, &settings, control)?.scores)
            }
            Self::Bfs => {
                let settings = bfs::Settings { source, ..Default::default() };
                Answer::Numbers(bfs::bfs(out, incoming, n, &settings, control)?.depths)
            }
            Self::Sssp => {
                let settings = sssp::Settings { source, delta: Some(DELTA) };
                let found = sssp::sssp_over(&WithWeights { lists: out, n }, &settings, control)?;
                Answer::Scores(found.distances)
            }
            Self::Wcc => Answer::Numbers(wcc::wcc(out, incoming, n, control)?.components),
            Self::Triangles => Answer::Count(triangles_parallel(out, control)?),
        })
    }

    /// Bytes per vertex of an array with one entry of the result for each.
    pub(super) fn entry_bytes(self) -> u64 {
        match self {
            Self::PageRank | Self::Sssp => 8,
            Self::Bfs | Self::Wcc | Self::Triangles => 4,
        }
    }

    /// Estimate of the kernel itself; triangles have none, as they keep nothing per vertex.
    pub(super) fn estimate(self, n: u64, m: u64) -> Option<u64> {
        match self {
            Self::PageRank => Some(pagerank::bytes(n)),
            Self::Bfs => Some(bfs::bytes(n, m, &bfs::Settings::default())),
            Self::Sssp => Some(sssp::bytes(n, m)),
            Self::Wcc => Some(wcc::bytes(n, m)),
            Self::Triangles => None,
        }
    }
}

/// Whole weights from 1 to 255, as the GAP benchmark suite has them.
pub(super) fn weight(u: u32, v: u32) -> f64 {
    f64::from(((u ^ v).wrapping_mul(0x9e37_79b1) >> 24).max(1))
}

/// Lists with weights that are computed from the ends of an edge: the same work over every store,
/// as the lists of a database hold no weights.
struct WithWeights<'a, T> {
    lists: &'a T,
    n: u32,
}

impl<T: Topology> sssp::Weighted for WithWeights<'_, T> {
    fn vertices(&self) -> u32 {
        self.n
    }

    fn degree(&self, v: u32) -> usize {
        self.lists.degree(v) as usize
    }

    fn visit<C: Copy>(
        &self,
        vertices: &[u32],
        mut begin: impl FnMut(u32) -> C,
        mut edge: impl FnMut(C, u32, f64),
    ) {
        self.lists.visit(vertices, |u, run| {
            let begun = begin(u);
            run.iter().for_each(|&v| edge(begun, v, weight(u, v)));
        });
    }
}
