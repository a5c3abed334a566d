//! A plain topology and random edge lists for the tests of this crate.

use std::ops::Range;
use telar_graph::topology::Topology;

/// Neighbour lists in the order the edges came, each handed out as two runs so that kernels meet
/// vertices with several.
pub(crate) struct Lists(Vec<Vec<u32>>);

impl Lists {
    /// Neighbours along the edges.
    pub(crate) fn out(n: u32, edges: &[(u32, u32)]) -> Self {
        let mut lists = vec![Vec::new(); n as usize];
        for &(u, v) in edges {
            lists[u as usize].push(v);
        }
        Self(lists)
    }

    /// Neighbours against the edges.
    pub(crate) fn incoming(n: u32, edges: &[(u32, u32)]) -> Self {
        let reversed: Vec<_> = edges.iter().map(|&(u, v)| (v, u)).collect();
        Self::out(n, &reversed)
    }
}

impl Topology for Lists {
    fn vertex_bound(&self) -> u32 {
        self.0.len() as u32
    }

    fn degree(&self, v: u32) -> u32 {
        self.0[v as usize].len() as u32
    }

    fn for_each_run<F: FnMut(&[u32])>(&self, v: u32, mut f: F) {
        let list = &self.0[v as usize];
        let (first, second) = list.split_at(list.len() / 2);
        f(first);
        f(second);
    }

    fn scan<F: FnMut(u32, &[u32])>(&self, vertices: Range<u32>, mut f: F) {
        for v in vertices {
            self.for_each_run(v, |run| f(v, run));
        }
    }

    fn visit<F: FnMut(u32, &[u32])>(&self, vertices: &[u32], mut f: F) {
        for &v in vertices {
            self.for_each_run(v, |run| f(v, run));
        }
    }

    fn sorted<'a>(&'a self, v: u32, scratch: &'a mut Vec<u32>) -> &'a [u32] {
        scratch.clone_from(&self.0[v as usize]);
        scratch.sort_unstable();
        scratch
    }

    fn contains(&self, u: u32, v: u32) -> bool {
        self.0[u as usize].contains(&v)
    }

    fn prefetch(&self, v: u32) {
        assert!(v < self.vertex_bound(), "hint for a vertex that is not there");
    }
}

/// Returns `count` edges between vertices below `n`, loops and parallel edges included; one half of
/// them leave the first few vertices, so that degrees differ.
pub(crate) fn random_edges(seed: u64, n: u32, count: usize) -> Vec<(u32, u32)> {
    let mut state = seed;
    let mut draw = |below: u32| {
        // SplitMix64.
        state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = state;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ (z >> 31)) % u64::from(below)) as u32
    };
    (0..count).map(|i| (if i % 2 == 0 { draw(n.div_ceil(10)) } else { draw(n) }, draw(n))).collect()
}

/// Returns the edges as an undirected simple graph, each as `(smaller, larger)`.
pub(crate) fn simple_undirected(edges: &[(u32, u32)]) -> Vec<(u32, u32)> {
    let mut simple: Vec<_> =
        edges.iter().filter(|(u, v)| u != v).map(|&(u, v)| (u.min(v), u.max(v))).collect();
    simple.sort_unstable();
    simple.dedup();
    simple
}
