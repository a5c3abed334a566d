//! The figures that queries are planned with, kept until the graph has changed.
//!
//! ```text
//!  commits ──add──► writes so far ──a tenth of the graph──► the next plan is made of a new sample
//!                         └────────half of the graph──────► generation + 1: all plans are
//! ```
//!
//! What they are made of: `snapshot/estimates.rs`. Whoever keeps a plan keeps the generation with
//! it.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use parking_lot::Mutex;
use telar_graph::Estimates;

/// Writes that a sample outlives, however small the graph.
const SAMPLE_WRITES: u64 = 8;
/// Writes that plans outlive, however small the graph.
const PLAN_WRITES: u64 = 1000;

/// The sample of a database, and how much was written since it was made.
#[derive(Debug, Default)]
pub(crate) struct Sample {
    writes: AtomicU64,
    /// Writes beyond which the next generation begins.
    limit: AtomicU64,
    generation: AtomicU64,
    made: Mutex<Option<Made>>,
}

/// A sample, and how many writes it outlives.
#[derive(Debug)]
struct Made {
    estimates: Arc<Estimates>,
    limit: u64,
    /// Number of times that indexes had come and gone.
    indexes: u64,
}

impl Sample {
    /// Says that a commit wrote so many things.
    #[inline]
    pub(crate) fn wrote(&self, things: u64) {
        // ORDERING: relaxed, as in all of this: figures that need not be of one moment.
        self.writes.fetch_add(things, Ordering::Relaxed);
    }

    /// How often the graph has changed much. What was planned in another generation might be
    /// planned otherwise now.
    #[inline]
    pub(crate) fn generation(&self) -> u64 {
        let (writes, limit) = (self.writes.load(Ordering::Relaxed), &self.limit);
        let before = limit.load(Ordering::Relaxed);
        // Of several who see it, one begins the next.
        let (set, get) = (Ordering::Relaxed, Ordering::Relaxed);
        if writes > before && limit.compare_exchange(before, writes + PLAN_WRITES, set, get).is_ok()
        {
            self.generation.fetch_add(1, Ordering::Relaxed);
        }
        self.generation.load(Ordering::Relaxed)
    }

    /// How much was written so far, and how often indexes had come and gone.
    pub(crate) fn now(&self, indexes: u64) -> (u64, u64) {
        (self.writes.load(Ordering::Relaxed), indexes)
    }

    /// What was kept, unless it is old at this point.
    pub(crate) fn kept(&self, (writes, indexes): (u64, u64)) -> Option<Arc<Estimates>> {
        let holds = |made: &&Made| writes <= made.limit && made.indexes == indexes;
        self.made.lock().as_ref().filter(holds).map(|made| Arc::clone(&made.estimates))
    }

    /// Keeps figures that were made from this point on.
    pub(crate) fn keep(&self, estimates: Arc<Estimates>, (writes, indexes): (u64, u64)) {
        let size = (estimates.vertices + estimates.edges_by_type.iter().sum::<f64>()) as u64;
        self.limit.fetch_max(writes + PLAN_WRITES + size / 2, Ordering::Relaxed);
        let limit = writes + SAMPLE_WRITES + size / 10;
        *self.made.lock() = Some(Made { estimates, limit, indexes });
    }
}
