//! The edges of a run, what is asked about them, and the CSR's answers.

use super::reads::KvRead;
use crate::kernel::graph::Input;
use crate::workload::{Hops, Skew};
use telar_generate::Edge;
use telar_generate::csr::Csr;
use telar_generate::rng::Rng;
use telar_graph::topology::Topology;

/// Edges per transaction of a load.
pub(super) const BATCH: usize = 1024;
/// Reads between two inserts of the mix: what TuGraph's documents found in production.
pub(super) const READS_PER_INSERT: usize = 20;
/// One edge in this many is left out of the load, for updates; and at most so many.
const EXTRA_SHARE: usize = 50;
const EXTRA_MAX: usize = 20_000;
/// Lists read, edges searched for.
const LISTS: usize = 1 << 17;
/// Sources of k-hop queries stop at so many, or when they read so many entries.
const SOURCES_MAX: usize = 1024;
const ENTRIES_MAX: u64 = 8 << 20;

/// The inputs of a run.
pub(super) struct Plan {
    /// The graph that is loaded, in random order.
    pub(super) loaded: Vec<Edge>,
    /// Edges inserted and removed one by one.
    pub(super) extra: Vec<Edge>,
    /// Both directions of the loaded graph.
    pub(super) out: Csr,
    pub(super) incoming: Csr,
    /// Both directions with the extra edges.
    pub(super) whole: (Csr, Csr),
    /// Vertices whose lists are read.
    pub(super) sources: Vec<u32>,
    /// The same, skewed.
    pub(super) skewed: Vec<u32>,
    pub(super) searches: Vec<Edge>,
    pub(super) two_hops: Vec<u32>,
    pub(super) three_hops: Vec<u32>,
}

impl Plan {
    pub(super) fn new(input: Input, seed: u64, quick: bool) -> Self {
        let Input { n, edges: mut loaded } = input;
        let whole = (Csr::outgoing(n, &loaded), Csr::incoming(n, &loaded));
        let kept = loaded.len() - (loaded.len() / EXTRA_SHARE).clamp(1, EXTRA_MAX);
        let extra = loaded.split_off(kept);
        let (out, incoming) = (Csr::outgoing(n, &loaded), Csr::incoming(n, &loaded));
        let shrink = if quick { 32 } else { 1 };
        let mut rng = Rng::new(seed + 2);
        // Lists without neighbours are no work; a third of an RMAT graph's are.
        let mut busy: Vec<u32> = (0..n).filter(|&v| out.degree(v) > 0).collect();
        rng.shuffle(&mut busy);
        let skew = Skew::new(busy.len() as u32, 1, rng.bits());
        let lists = LISTS / shrink;
        let search = |i: usize| {
            let (u, v) = out.edge(rng.index(out.edges() as usize));
            if i.is_multiple_of(2) { (u, v) } else { (u, rng.index(n as usize) as u32) }
        };
        let searches = (0..lists).map(search).collect();
        Self {
            sources: (0..lists).map(|_| busy[rng.index(busy.len())]).collect(),
            skewed: skew.take(lists).map(|at| busy[at as usize]).collect(),
            searches,
            two_hops: within(&out, &busy, 2, ENTRIES_MAX / shrink as u64),
            three_hops: within(&out, &busy, 3, 2 * ENTRIES_MAX / shrink as u64),
            loaded,
            extra,
            out,
            incoming,
            whole,
        }
    }

    pub(super) fn n(&self) -> u32 {
        self.out.vertex_bound()
    }

    /// Sorts the loaded edges, as an import has to.
    pub(super) fn sorted(&self) -> (Csr, Csr) {
        (Csr::outgoing(self.n(), &self.loaded), Csr::incoming(self.n(), &self.loaded))
    }

    /// Returns the units of work in a read, given the CSR's answer.
    pub(super) fn work(&self, read: KvRead, answer: super::reads::Answer) -> u64 {
        match read {
            KvRead::Neighbours => self.sources.len() as u64,
            KvRead::Skewed => self.skewed.len() as u64,
            KvRead::Search => self.searches.len() as u64,
            KvRead::TwoHops | KvRead::ThreeHops | KvRead::Scan => answer.entries,
        }
    }
}

/// Returns the first sources whose queries read `entries` in all, at least one.
fn within(out: &Csr, sources: &[u32], hops: u32, entries: u64) -> Vec<u32> {
    let (mut counter, mut sum) = (Hops::new(out.vertex_bound()), 0);
    let few = sources.iter().copied().take(SOURCES_MAX).take_while(|&source| {
        let enough = sum >= entries;
        if !enough {
            sum += counter.count(out, source, hops).entries;
        }
        !enough
    });
    few.collect()
}
