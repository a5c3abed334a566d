//! The kernels of live algorithms behind one interface.

use telar_algo::community::{k_core, local_clustering, wcc};
use telar_algo::control::{Control, Result};
use telar_algo::csr::Csr;
use telar_algo::live::components::{self, LiveComponents, NONE, Outcome};
use telar_algo::live::degree::{self, LiveDegrees};
use telar_algo::live::k_core::{self as live_core, LiveCores};
use telar_algo::live::pagerank::{self, LivePageRank};
use telar_algo::live::triangles::{self, LiveTriangles};
use telar_algo::live::{Lists, Touched};

use super::definition::{Algorithm, Definition};
use super::slots::Slots;

/// Fewest edges that a search for components may look at.
const SEARCHED_MIN: u64 = 1 << 16;

/// State of a kernel.
#[derive(Debug)]
pub(super) enum Kernel {
    PageRank(LivePageRank),
    Components(LiveComponents),
    Degrees(LiveDegrees),
    Triangles(LiveTriangles),
    Cores(LiveCores),
}

/// A value for each node.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Values {
    Floats(Vec<f64>),
    Ints(Vec<i64>),
}

/// Bytes needed to compute an algorithm from scratch and to keep it, beyond the lists.
pub(super) fn bytes(algorithm: Algorithm, n: u64, m: u64) -> u64 {
    match algorithm {
        Algorithm::PageRank => pagerank::bytes(n) + telar_algo::pagerank::bytes(n) + 4 * m + 8 * n,
        Algorithm::Components => components::bytes(n) + wcc::bytes(n, m),
        Algorithm::Degree => degree::bytes(n),
        Algorithm::Triangles => triangles::bytes(n, m) + local_clustering::bytes(n, m),
        Algorithm::Cores => live_core::bytes(n, m) + k_core::bytes(n, m),
    }
}

impl Kernel {
    /// Computes from scratch. Lists of algorithms that follow both directions are symmetric.
    pub(super) fn new(definition: &Definition, lists: &Csr, control: &Control<'_>) -> Result<Self> {
        let n = lists.vertices();
        Ok(match definition.algorithm {
            Algorithm::PageRank => {
                let incoming = lists.reversed();
                let settings = definition.settings;
                Self::PageRank(LivePageRank::new(lists, &incoming, settings, control)?)
            }
            Algorithm::Components => {
                let found = wcc::wcc(lists, lists, n, control)?;
                Self::Components(LiveComponents::new(found.components))
            }
            Algorithm::Degree => {
                let count = |v| lists.of(v).len() as u32;
                Self::Degrees(LiveDegrees::new((0..n).map(count).collect()))
            }
            Algorithm::Triangles => {
                let found = local_clustering::local_clustering(lists, None, control)?;
                Self::Triangles(LiveTriangles::new(lists, found.triangles))
            }
            Algorithm::Cores => {
                let found = k_core::k_core(lists, control)?;
                Self::Cores(LiveCores::new(lists, found.cores))
            }
        })
    }

    /// Follows a batch of changes; false if the state is of no use any more.
    pub(super) fn update(
        &mut self,
        touched: &Touched<'_>,
        lists: &dyn Lists,
        edges: u64,
        control: &Control<'_>,
    ) -> Result<bool> {
        match self {
            Self::PageRank(live) => live.update(touched, lists, control)?,
            Self::Components(live) => {
                let most = edges.max(SEARCHED_MIN);
                return Ok(live.update(touched, lists, most, control)? == Outcome::Updated);
            }
            Self::Degrees(live) => live.update(touched, lists, control)?,
            Self::Triangles(live) => live.update(touched, lists, control)?,
            Self::Cores(live) => live.update(touched, lists, control)?,
        }
        Ok(true)
    }

    /// Value of each slot.
    pub(super) fn values(&mut self, slots: &Slots) -> Values {
        match self {
            Self::PageRank(live) => Values::Floats(live.scores()),
            Self::Components(live) => {
                let labels = live.labels();
                // A component is called by the smallest id in it.
                let mut least = vec![i64::MAX; labels.len()];
                for (slot, node) in slots.iter() {
                    let least = &mut least[labels[slot as usize] as usize];
                    *least = (*least).min(node.get() as i64);
                }
                let id = |label: &u32| if *label == NONE { -1 } else { least[*label as usize] };
                Values::Ints(labels.iter().map(id).collect())
            }
            Self::Degrees(live) => Values::Ints(ints(live.counts.iter().map(|c| u64::from(*c)))),
            Self::Triangles(live) => Values::Ints(ints(live.counts().iter().copied())),
            Self::Cores(live) => {
                Values::Ints(ints(live.cores().iter().map(|core| u64::from(*core))))
            }
        }
    }

    /// Bytes held.
    pub(super) fn bytes(&self) -> u64 {
        match self {
            Self::PageRank(live) => live.bytes(),
            Self::Components(live) => live.bytes(),
            Self::Degrees(live) => 4 * live.counts.capacity() as u64,
            Self::Triangles(live) => live.bytes(),
            Self::Cores(live) => live.bytes(),
        }
    }
}

fn ints(counts: impl Iterator<Item = u64>) -> Vec<i64> {
    counts.map(|count| count as i64).collect()
}
