//! What queries are planned with: figures of a sample, kept until the graph has changed
//! (`sample.rs`).
//!
//! Looking at every segment would read a whole graph into memory before its first query. So of at
//! most 1,024 segments, spread evenly, vertices are counted by their labels and edges by type, as
//! the segments know them; graphs that are no larger are counted exactly. Then each set of labels
//! that was met is looked at by itself, so that labels of few vertices are not missed: the degrees
//! of up to 512 vertices that have it, of up to 8 segments, stand for all of them. Where whole
//! segments hold vertices of one label set, as after a load, their edges are counted instead: of
//! mean degrees a sample of vertices says little if few of them have most edges. What a sample
//! misses is rare, and planned as such.

use std::collections::HashMap;
use std::sync::Arc;

use telar_graph::{Direction, EdgeEnd, Estimates, IndexId, LabelSet, VertexId};

use super::Reader;
use crate::adjacency::{SEGMENT_BITS, SEGMENT_VERTICES};
use crate::index::Entries;
use crate::shared::Shared;

/// Segments of a sample.
const SEGMENTS: u32 = 1024;
/// Vertices of a sample whose degrees are looked at, and how many of one label set at most.
const VERTICES: usize = 4096;
const VERTICES_PER_SET: usize = 512;
/// Segments in which vertices of one label set are looked for.
const SEGMENTS_PER_SET: usize = 8;
/// The share of a segment's vertices that a label set has to have for the segment to be its own.
const ALONE: f64 = 0.98;
/// Neighbours of each that are looked at, by type and direction.
const NEIGHBOURS: usize = 4;
/// Label sets that are looked at by themselves.
const SETS: usize = 1024;
/// Figures to plan queries with, made if there are none or they are old.
pub(super) fn estimates(shared: &Shared) -> Arc<Estimates> {
    let (sample, at) = (&shared.sample, shared.sample.now(shared.indexes.changes()));
    if let Some(kept) = sample.kept(at) {
        return kept;
    }
    // Without a place for one more reader there are no figures; planning goes on without.
    let Ok(reader) = Reader::open(shared) else { return Arc::default() };
    let estimates = Arc::new(make(&reader));
    sample.keep(Arc::clone(&estimates), at);
    estimates
}

/// The vertices of one label set that a sample met.
#[derive(Debug, Default, Clone)]
struct Met {
    vertices: u64,
    segments: Vec<u32>,
    /// Segments that hold hardly anything else, and how many it has there.
    alone: Vec<u32>,
    alone_vertices: u64,
}

/// Some of them, and what is known of all.
struct Chosen {
    state: u32,
    vertices: Vec<VertexId>,
    all: f64,
    /// Mean degrees, as far as whole segments say them.
    means: HashMap<EdgeEnd, f64>,
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
        let (mut all, mut most) = (0, (0, 0));
        reader.count_states(*number, &mut |state, many| {
            let at = state as usize;
            met.resize(met.len().max(at + 1), Met::default());
            met[at].vertices += u64::from(many);
            if met[at].segments.last() != Some(number) {
                met[at].segments.push(*number);
            }
            if state > 0 {
                all += many;
                most = most.max((many, at));
            }
        });
        let (many, at) = most;
        if f64::from(many) > ALONE * f64::from(all) {
            met[at].alone.push(*number);
            met[at].alone_vertices += u64::from(many);
        }
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
        if chosen.len() < SETS {
            chosen.push(choose(reader, state, met, count, each));
        }
    }
    for (id, ty) in shared.catalog.edge_types() {
        let table = reader.table(ty.table(Direction::Out));
        let entries: u64 = numbers.iter().map(|number| table.entries_of(*number)).sum();
        estimates.edges_by_type.push(entries as f64 * scale);
        for direction in Direction::ALL {
            let table = reader.table(ty.table(direction));
            for chosen in &mut chosen {
                let met = &met[chosen.state as usize];
                // Where it is alone for the most part, edges of segments are edges of it.
                if 2 * met.alone_vertices > met.vertices {
                    let entries: u64 = met.alone.iter().map(|n| table.entries_of(*n)).sum();
                    let mean = entries as f64 / met.alone_vertices as f64;
                    chosen.means.insert((id, direction), mean);
                }
            }
        }
    }
    // Sets by their state, for what edges lead to.
    let places: HashMap<u32, usize> = chosen.iter().map(|c| c.state).zip(0..).collect();
    for chosen in chosen {
        let labels = shared.catalog.label_sets.labels(chosen.state).to_vec();
        let mut set = LabelSet { labels, vertices: chosen.all, ..LabelSet::default() };
        degrees(reader, &chosen, &mut set);
        neighbours(reader, &chosen, &places, &mut set);
        estimates.sets.push(set);
    }
    estimates.distinct = distinct(reader);
    estimates
}

/// So many vertices of a label set, out of some of the segments where it was met.
fn choose(reader: &Reader<'_>, state: u32, met: &Met, all: f64, most: usize) -> Chosen {
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
    Chosen {
        state,
        vertices: vertices.into_iter().map(|v| VertexId::from_raw(v.into())).collect(),
        all,
        means: HashMap::new(),
    }
}

/// Mean degrees of the vertices of a label set, how uneven they are, and which go together.
fn degrees(reader: &Reader<'_>, chosen: &Chosen, set: &mut LabelSet) {
    let many = chosen.vertices.len() as f64;
    let mut found: Vec<(EdgeEnd, Vec<f64>, f64)> = Vec::new();
    for (ty, _) in reader.shared.catalog.edge_types() {
        for direction in Direction::ALL {
            let each = chosen.vertices.iter().map(|v| reader.degree(*v, ty, direction) as f64);
            let each: Vec<f64> = each.collect();
            let mean = each.iter().sum::<f64>() / many;
            let all = chosen.means.get(&(ty, direction)).copied().unwrap_or(mean);
            if all > 0.0 {
                set.degrees.insert((ty, direction), all);
            }
            if mean > 0.0 {
                found.push(((ty, direction), each, mean));
            }
        }
    }
    for (a, of_a, mean_a) in &found {
        for (b, of_b, mean_b) in &found {
            let product = of_a.iter().zip(of_b).map(|(a, b)| a * b).sum::<f64>() / many;
            set.skew.insert((*a, *b), product / (mean_a * mean_b));
        }
    }
}

/// Where edges of the vertices of a label set lead: some neighbours of each, which stand for all it
/// has.
fn neighbours(
    reader: &Reader<'_>,
    chosen: &Chosen,
    places: &HashMap<u32, usize>,
    set: &mut LabelSet,
) {
    for (ty, direction) in set.degrees.keys() {
        let mut met: HashMap<usize, f64> = HashMap::new();
        for vertex in &chosen.vertices {
            let degree = reader.degree(*vertex, *ty, *direction);
            let step = degree.div_ceil(NEIGHBOURS).max(1);
            let mut at = 0;
            reader.for_each_run(*vertex, *ty, *direction, |run| {
                while at < run.len() {
                    if let Some(place) = places.get(&reader.state(run[at])) {
                        *met.entry(*place).or_default() += step as f64;
                    }
                    at += step;
                }
                at -= run.len();
            });
        }
        let all: f64 = met.values().sum();
        let mut shares: Vec<_> = met.into_iter().map(|(place, many)| (place, many / all)).collect();
        shares.sort_unstable_by_key(|(place, _)| *place);
        set.neighbours.insert((*ty, *direction), shares);
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
