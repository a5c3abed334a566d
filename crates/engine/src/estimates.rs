//! What queries are planned with: figures of a sample, kept until the graph has changed.
//!
//! ```text
//!  commits ──add──► writes so far ──a tenth of the graph──► the next plan is made of a new sample
//!                         └────────half of the graph──────► generation + 1: all plans are
//! ```
//!
//! Looking at every segment would read a whole graph into memory before its first query. So of 64
//! segments, spread evenly, vertices are counted by label and edges by type, and of 2,048 of their
//! vertices the degrees; graphs that are no larger are counted exactly. What a sample misses is
//! rare, and planned as such.
//!
//! Whoever keeps a plan keeps the generation with it.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use parking_lot::Mutex;
use telar_graph::{Direction, EdgeTypeId, Estimates, IndexId, LabelId, VertexId};

use crate::adjacency::{SEGMENT_BITS, SEGMENT_VERTICES};
use crate::index::Entries;
use crate::shared::Shared;
use crate::snapshot::Reader;

/// Segments of a sample.
const SEGMENTS: u32 = 64;
/// Vertices of a sample whose degrees are looked at.
const VERTICES: u32 = 2048;
/// Vertices of a label that say something of the others, unless all of them were looked at.
const SEEN_MIN: u64 = 8;
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
    /// How often indexes had come and gone.
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

    /// The sample, made if there is none or it is old.
    pub(crate) fn get(&self, shared: &Shared) -> Arc<Estimates> {
        let (writes, indexes) = (self.writes.load(Ordering::Relaxed), shared.indexes.changes());
        let holds = |made: &&Made| writes <= made.limit && made.indexes == indexes;
        if let Some(made) = self.made.lock().as_ref().filter(holds) {
            return Arc::clone(&made.estimates);
        }
        // Without a place for one more reader there are no figures; planning goes on without.
        let Ok(reader) = Reader::open(shared) else { return Arc::default() };
        let estimates = Arc::new(make(&reader));
        let size = (estimates.vertices + estimates.edges_by_type.iter().sum::<f64>()) as u64;
        self.limit.fetch_max(writes + PLAN_WRITES + size / 2, Ordering::Relaxed);
        let made = Made { estimates, limit: writes + SAMPLE_WRITES + size / 10, indexes };
        let estimates = Arc::clone(&made.estimates);
        *self.made.lock() = Some(made);
        estimates
    }
}

/// Counts what a sample of segments holds and scales it up.
fn make(reader: &Reader<'_>) -> Estimates {
    let shared = reader.shared;
    let all = shared.vertex_bound().div_ceil(SEGMENT_VERTICES as u32);
    let looked = all.min(SEGMENTS);
    let scale = f64::from(all) / f64::from(looked.max(1));
    let numbers = (0..looked).map(|i| (u64::from(i) * u64::from(all) / u64::from(looked)) as u32);
    let numbers: Vec<u32> = numbers.collect();
    let mut by_state: Vec<u64> = Vec::new();
    let mut chosen: Vec<(VertexId, u32)> = Vec::new();
    // Of each 1,024 vertices so many, by a hash: what repeats every so many ids is met as often as
    // it is there.
    let share = (VERTICES / looked.max(1)).min(SEGMENT_VERTICES as u32);
    let is_chosen = |v: u32| v.wrapping_mul(0x9e37_79b1) >> (32 - SEGMENT_BITS) < share;
    for first in numbers.iter().map(|number| number << SEGMENT_BITS) {
        for local in 0..SEGMENT_VERTICES as u32 {
            let state = reader.state(first | local);
            by_state.resize(by_state.len().max(state as usize + 1), 0);
            by_state[state as usize] += 1;
            if state != 0 && is_chosen(first | local) {
                chosen.push((VertexId::from_raw((first | local).into()), state));
            }
        }
    }
    let mut estimates = Estimates::default();
    for (state, count) in by_state.iter().enumerate().skip(1) {
        let count = *count as f64 * scale;
        estimates.vertices += count;
        for label in shared.catalog.label_sets.labels(state as u32).iter() {
            let counts = &mut estimates.vertices_by_label;
            counts.resize(counts.len().max(usize::from(label.get()) + 1), 0.0);
            counts[usize::from(label.get())] += count;
        }
    }
    for (_, ty) in shared.catalog.edge_types() {
        let table = reader.table(ty.table(Direction::Out));
        let entries: u64 = numbers.iter().map(|number| table.entries_of(*number)).sum();
        estimates.edges_by_type.push(entries as f64 * scale);
    }
    let seen_all = all == looked && share == SEGMENT_VERTICES as u32;
    let seen_min = if seen_all { 1 } else { SEEN_MIN };
    degrees(reader, &chosen, seen_min, &mut estimates);
    estimates.distinct = distinct(reader);
    estimates
}

/// Mean degrees of vertices, by label, and how uneven they are.
fn degrees(
    reader: &Reader<'_>,
    chosen: &[(VertexId, u32)],
    seen_min: u64,
    estimates: &mut Estimates,
) {
    let catalog = &reader.shared.catalog;
    let mut seen: HashMap<LabelId, u64> = HashMap::new();
    // Sums of degrees, and of their squares.
    let mut sums: HashMap<(LabelId, EdgeTypeId, Direction), (f64, f64)> = HashMap::new();
    for (vertex, state) in chosen {
        let labels = catalog.label_sets.labels(*state);
        labels.iter().for_each(|label| *seen.entry(*label).or_default() += 1);
        if labels.is_empty() {
            continue;
        }
        for (ty, _) in catalog.edge_types() {
            for direction in Direction::ALL {
                let degree = reader.degree(*vertex, ty, direction) as f64;
                for label in labels.iter() {
                    let sums = sums.entry((*label, ty, direction)).or_default();
                    *sums = (sums.0 + degree, sums.1 + degree * degree);
                }
            }
        }
    }
    for (key, (sum, squares)) in sums {
        let seen = seen[&key.0];
        if seen >= seen_min {
            estimates.degrees.insert(key, sum / seen as f64);
            if sum > 0.0 {
                estimates.skew.insert(key, squares * seen as f64 / (sum * sum));
            }
        }
    }
}

/// Different keys of the indexes that are in memory.
fn distinct(reader: &Reader<'_>) -> HashMap<IndexId, f64> {
    let indexes = reader.shared.indexes.all();
    let readable = indexes.iter().filter(|index| index.is_online() && index.is_loaded());
    readable
        .filter_map(|index| match index.entries() {
            Entries::None => None,
            Entries::Vertices(tree) => Some((index.id, tree.distinct(&reader.guard))),
            Entries::Edges(tree) => Some((index.id, tree.distinct(&reader.guard))),
        })
        .collect()
}
