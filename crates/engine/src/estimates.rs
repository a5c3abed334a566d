//! What queries are planned with: figures of a sample, kept until the graph has changed.
//!
//! ```text
//!  commits ──add──► writes so far ──a tenth of the graph──► the next plan is made of a new sample
//!                         └────────half of the graph──────► generation + 1: all plans are
//! ```
//!
//! Looking at every segment would read a whole graph into memory before its first query. So of at
//! most 1,024 segments, spread evenly, vertices are counted by their labels and edges by type, as
//! the segments know them; graphs that are no larger are counted exactly. Then each set of labels
//! that was met is looked at by itself, so that labels of few vertices are not missed: the degrees
//! of up to 512 vertices that have it, of up to 8 segments, stand for all of them. What a sample
//! misses is rare, and planned as such.
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
const SEGMENTS: u32 = 1024;
/// Vertices of a sample whose degrees are looked at, and how many of one label set at most.
const VERTICES: usize = 4096;
const VERTICES_PER_SET: usize = 512;
/// Segments in which vertices of one label set are looked for.
const SEGMENTS_PER_SET: usize = 8;
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

/// The vertices of one label set that a sample met.
#[derive(Debug, Default, Clone)]
struct Met {
    vertices: u64,
    segments: Vec<u32>,
}

/// Some of them, and how many each stands for.
struct Chosen {
    state: u32,
    vertices: Vec<VertexId>,
    weight: f64,
}

/// Counts what a sample of segments holds and scales it up.
fn make(reader: &Reader<'_>) -> Estimates {
    let shared = reader.shared;
    let all = shared.vertex_bound().div_ceil(SEGMENT_VERTICES as u32);
    let looked = all.min(SEGMENTS);
    let scale = f64::from(all) / f64::from(looked.max(1));
    let numbers = (0..looked).map(|i| (u64::from(i) * u64::from(all) / u64::from(looked)) as u32);
    let numbers: Vec<u32> = numbers.collect();
    let mut met: Vec<Met> = Vec::new();
    for number in &numbers {
        reader.count_states(*number, &mut |state, many| {
            let state = state as usize;
            met.resize(met.len().max(state + 1), Met::default());
            met[state].vertices += u64::from(many);
            if met[state].segments.last() != Some(number) {
                met[state].segments.push(*number);
            }
        });
    }
    let mut estimates = Estimates::default();
    let mut chosen = Vec::new();
    let sets = met.iter().skip(1).filter(|met| met.vertices > 0).count();
    let each = match met.iter().skip(1).map(|met| met.vertices).sum::<u64>() <= VERTICES as u64 {
        true => VERTICES,
        false => (VERTICES / sets.max(1)).clamp(1, VERTICES_PER_SET),
    };
    for (state, met) in (0..).zip(&met).skip(1).filter(|(_, met)| met.vertices > 0) {
        let count = met.vertices as f64 * scale;
        estimates.vertices += count;
        for label in shared.catalog.label_sets.labels(state).iter() {
            let counts = &mut estimates.vertices_by_label;
            counts.resize(counts.len().max(usize::from(label.get()) + 1), 0.0);
            counts[usize::from(label.get())] += count;
        }
        if chosen.len() < VERTICES {
            chosen.push(choose(reader, state, met, each));
        }
    }
    for (_, ty) in shared.catalog.edge_types() {
        let table = reader.table(ty.table(Direction::Out));
        let entries: u64 = numbers.iter().map(|number| table.entries_of(*number)).sum();
        estimates.edges_by_type.push(entries as f64 * scale);
    }
    degrees(reader, &chosen, &mut estimates);
    estimates.distinct = distinct(reader);
    estimates
}

/// So many vertices of a label set, out of some of the segments where it was met.
fn choose(reader: &Reader<'_>, state: u32, met: &Met, most: usize) -> Chosen {
    let segments = met.segments.len().min(SEGMENTS_PER_SET);
    let mut vertices = Vec::new();
    for at in 0..segments {
        let first = met.segments[at * met.segments.len() / segments] << SEGMENT_BITS;
        let here = (first..first + SEGMENT_VERTICES as u32).filter(|v| reader.state(*v) == state);
        vertices.extend(here);
    }
    if vertices.len() > most {
        // By a hash: what repeats every so many ids is met as often as it is there.
        vertices.select_nth_unstable_by_key(most, |v| v.wrapping_mul(0x9e37_79b1));
        vertices.truncate(most);
    }
    let weight = met.vertices as f64 / vertices.len().max(1) as f64;
    Chosen {
        state,
        vertices: vertices.into_iter().map(|v| VertexId::from_raw(v.into())).collect(),
        weight,
    }
}

/// Mean degrees of vertices, by label, and how uneven they are.
fn degrees(reader: &Reader<'_>, chosen: &[Chosen], estimates: &mut Estimates) {
    let catalog = &reader.shared.catalog;
    let mut seen: HashMap<LabelId, (u64, f64)> = HashMap::new();
    // Sums of degrees, and of their squares.
    let mut sums: HashMap<(LabelId, EdgeTypeId, Direction), (f64, f64)> = HashMap::new();
    for Chosen { state, vertices, weight } in chosen {
        let labels = catalog.label_sets.labels(*state);
        for label in labels.iter() {
            let seen = seen.entry(*label).or_default();
            *seen = (seen.0 + vertices.len() as u64, seen.1 + vertices.len() as f64 * weight);
        }
        if labels.is_empty() {
            continue;
        }
        for (ty, _) in catalog.edge_types() {
            for direction in Direction::ALL {
                let each = vertices.iter().map(|v| reader.degree(*v, ty, direction) as f64);
                let (sum, squares) = each.fold((0.0, 0.0), |(s, q), d| (s + d, q + d * d));
                for label in labels.iter() {
                    let sums = sums.entry((*label, ty, direction)).or_default();
                    *sums = (sums.0 + sum * weight, sums.1 + squares * weight);
                }
            }
        }
    }
    for (key, (sum, squares)) in sums {
        let (looked_at, stand_for) = seen[&key.0];
        let all = estimates.vertices_by_label[usize::from(key.0.get())];
        if looked_at >= SEEN_MIN || looked_at as f64 >= all {
            estimates.degrees.insert(key, sum / stand_for);
            if sum > 0.0 {
                estimates.skew.insert(key, squares * stand_for / (sum * sum));
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
