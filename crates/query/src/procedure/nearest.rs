//! The objects of a vector index whose vectors are nearest to one.
//!
//! The index gives objects that may be near (`View::nearest`); their vectors are read at the
//! statement's snapshot, compared exactly, and the nearest kept. If what is kept is not as near as
//! the index has looked, as others are gone at the snapshot or do not pass a filter, its search
//! goes on, as far as the share that passes makes expect; every vector is read where that is
//! quicker. Where the index cannot be read at the snapshot (it is
//! younger, is being built, or is made in the same transaction), they are read at once.

use std::cmp::Ordering;
use std::collections::{BinaryHeap, HashSet};

use telar_graph::update::IndexedObjects;
use telar_graph::view::{IndexedObject, NearSearch, Nearest};
use telar_graph::{Column, EdgeId, PropertyKeyId, SchemaRule, VertexId};

use super::CallContext;
use super::objects::{can_be_scanned, for_each_edges, for_each_vertices};
use crate::function::vector::Ranked;
use crate::query_error::QueryError;

/// Objects that are ranked together.
const STEP: usize = 1024;

/// Vectors that are brought closer before they are compared: each lies somewhere else. PERF:
/// crates/db/examples/vector_index.rs.
const AHEAD: usize = 3;

/// Least effort of a search. PERF: bench/compare/vector_index.py: recall is above 0.95 with it.
const EFFORT_MIN: usize = 144;
/// Greatest effort.
const EFFORT_MAX: usize = 8192;
/// Vectors that are compared exactly, for each that is wanted: bytes for numbers tell nearly as
/// much.
const COMPARED: usize = 3;
/// So many vectors can be filtered while the effort of a search grows by one, and so many be
/// compared exactly. PERF: crates/db/examples/vector_index.rs.
const FILTERED: f64 = 800.0;
const RANKED: f64 = 12.0;
/// So few hits among what a search looked at tell little of the share that passes.
const FEW: usize = 3;
/// Effort after which it is known about which share of the vectors passes a filter.
const EFFORT_PROBE: usize = 48;

/// Who asks for memory.
const WHO: &str = "vector search";

/// Objects of one kind.
#[derive(Debug, Clone, Copy)]
pub(super) enum Objects<'a> {
    Vertices(&'a [VertexId]),
    Edges(&'a [EdgeId]),
}

impl<'a> From<&'a [VertexId]> for Objects<'a> {
    fn from(vertices: &'a [VertexId]) -> Self {
        Self::Vertices(vertices)
    }
}

impl<'a> From<&'a [EdgeId]> for Objects<'a> {
    fn from(edges: &'a [EdgeId]) -> Self {
        Self::Edges(edges)
    }
}

impl Objects<'_> {
    /// Number of objects.
    pub(super) fn len(self) -> usize {
        match self {
            Self::Vertices(vertices) => vertices.len(),
            Self::Edges(edges) => edges.len(),
        }
    }
}

/// Condition on a hit, besides being near: says of each of some objects whether it fulfils it.
pub(super) type Filter<'f> =
    dyn FnMut(&CallContext<'_>, Objects<'_>, &mut Vec<bool>) -> Result<(), QueryError> + 'f;

/// A search.
pub(super) struct Search<'s> {
    /// The parts of the index.
    pub(super) parts: &'s [SchemaRule],
    pub(super) ranked: Ranked,
    /// The vector that is sought, with numbers of 32 bits.
    pub(super) vector: &'s [f32],
    /// Number of hits that are wanted.
    pub(super) wanted: usize,
    /// Least effort that the caller wants.
    pub(super) effort: usize,
    pub(super) filter: Option<&'s mut Filter<'s>>,
}

/// A hit: the greatest score is the least.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Hit {
    pub(super) score: f64,
    pub(super) object: IndexedObject,
}

impl Eq for Hit {}

impl PartialOrd for Hit {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Hit {
    /// The better one first; of equal ones the one with the smaller id.
    fn cmp(&self, other: &Self) -> Ordering {
        other.score.total_cmp(&self.score).then(self.object.cmp(&other.object))
    }
}

/// The best hits.
struct Best {
    wanted: usize,
    hits: BinaryHeap<Hit>,
    /// True if an object among the hits may be met once more.
    is_doubtful: bool,
}

impl Best {
    fn offer(&mut self, hit: Hit) {
        if self.hits.len() < self.wanted {
            self.hits.push(hit);
        } else if let Some(mut worst) = self.hits.peek_mut()
            && hit < *worst
        {
            *worst = hit;
        }
    }
}

/// The search of one part of an index.
struct PartSearch<'s> {
    near: NearSearch<'s>,
    /// Objects that the index gave, in order.
    given: Vec<IndexedObject>,
    /// Square of the distance up to which (nearly) nothing is missing.
    reach: f64,
    /// Number of vectors, about.
    of: u64,
}

/// Vectors whose objects are given, of so many in sight: of those nearly none is missing.
fn given_of(effort: usize) -> usize {
    effort * 2 / 3
}

impl Search<'_> {
    /// The hits, the best first.
    pub(super) fn run(mut self, call: &CallContext<'_>) -> Result<Vec<Hit>, QueryError> {
        // Twice as many as are wanted, so that nearly all of those are among them.
        let least = self.effort.max(2 * self.wanted.min(EFFORT_MAX)).max(EFFORT_MIN);
        let (mut effort, mut given) = match self.filter {
            Some(_) => (EFFORT_PROBE.min(least), given_of(EFFORT_PROBE.min(least))),
            None => (least, COMPARED * self.wanted.min(EFFORT_MAX)),
        };
        let mut best = Best { wanted: self.wanted, hits: BinaryHeap::new(), is_doubtful: false };
        let vector = self.vector;
        let mut parts: Vec<PartSearch<'_>> = Vec::new();
        for _ in self.parts {
            let near = NearSearch::new(vector, 0, 0);
            parts.push(PartSearch { near, given: Vec::new(), reach: 0.0, of: 0 });
        }
        loop {
            for (part, search) in self.parts.iter().zip(&mut parts) {
                (search.near.wanted, search.near.effort) = (given, effort);
                if search.reach < f64::INFINITY {
                    self.search_part(call, part, search, &mut best)?;
                }
            }
            // The square of the distance up to which every vector was compared.
            let reach = parts.iter().map(|part| part.reach).fold(f64::INFINITY, f64::min);
            let of: u64 = parts.iter().map(|part| part.of).sum();
            let is_near = |hit: &&Hit| self.ranked.distance_squared(hit.score) <= reach;
            let near = best.hits.iter().filter(is_near).count();
            if reach == f64::INFINITY || (near == self.wanted && effort >= least) {
                return Ok(best.hits.into_sorted_vec());
            }
            // As many as it takes if the others pass as often; if not, one more step is cheap.
            let more = (self.wanted as f64 + 1.0) / (near as f64 + 0.5);
            let all = (given as f64 * more.min(64.0)) as usize;
            let share = (near as f64 + 0.5) / given.max(1) as f64;
            let all_cost = of as f64 * (1.0 / FILTERED + share.min(1.0) / RANKED);
            let mut next = least.max(effort + effort / 4).max(all + all / 2);
            if next > EFFORT_MAX || next as f64 > all_cost {
                effort = usize::MAX;
                continue;
            }
            if near < FEW {
                next = next.min(least.max(3 * effort));
            }
            (effort, given) = (next, given_of(next).max(given));
        }
    }

    /// Searches one part, or goes on with it; with the greatest effort, compares all.
    fn search_part(
        &mut self,
        call: &CallContext<'_>,
        part: &SchemaRule,
        search: &mut PartSearch<'_>,
        best: &mut Best,
    ) -> Result<(), QueryError> {
        call.check()?;
        let mut found: Vec<IndexedObject> = Vec::new();
        let nearest = match search.near.effort {
            usize::MAX => Ok(Nearest::Unknown),
            _ => call.graph().nearest(part.id, &mut search.near, &mut |object| found.push(object)),
        };
        match nearest {
            Ok(Nearest::Unknown) => {}
            Err(error) if can_be_scanned(&error) => {}
            Err(error) => return Err(error.into()),
            Ok(nearest) => {
                let before = search.given.len();
                call.room((found.capacity() + before) * size_of::<IndexedObject>(), WHO)?;
                found.sort_unstable();
                found.dedup();
                found.retain(|object| search.given.binary_search(object).is_err());
                for some in found.chunks(STEP) {
                    call.check()?;
                    self.rank(call, part, some, best)?;
                }
                (search.reach, search.of) = match nearest {
                    Nearest::Within { reach, of } => (reach.into(), of),
                    _ => (f64::INFINITY, 0),
                };
                search.given.append(&mut found);
                search.given.sort_unstable();
                return Ok(());
            }
        }
        // Hits that the index gave are met once more.
        best.is_doubtful |= !search.given.is_empty();
        match part.objects {
            IndexedObjects::Vertices(label) => {
                // Those that pass are ranked together: they may be few.
                let mut passing = Vec::new();
                for_each_vertices(call, label, |vertices| {
                    self.filter(call, vertices)?;
                    passing.append(vertices);
                    if passing.len() >= STEP {
                        self.rank_vertices(call, part, &passing, best)?;
                        passing.clear();
                    }
                    Ok(())
                })?;
                self.rank_vertices(call, part, &passing, best)?;
            }
            IndexedObjects::Edges(ty) => for_each_edges(call, ty, |edges| {
                self.filter(call, edges)?;
                self.rank_edges(call, part, edges, best)
            })?,
        }
        search.reach = f64::INFINITY;
        Ok(())
    }

    /// Ranks objects that the index gave.
    fn rank(
        &mut self,
        call: &CallContext<'_>,
        part: &SchemaRule,
        objects: &[IndexedObject],
        best: &mut Best,
    ) -> Result<(), QueryError> {
        let mut holds = Vec::new();
        match part.objects {
            IndexedObjects::Vertices(label) => {
                let vertex = |object: &IndexedObject| match object {
                    IndexedObject::Vertex(vertex) => Some(*vertex),
                    IndexedObject::Edge(_) => None,
                };
                let mut vertices: Vec<VertexId> = objects.iter().filter_map(vertex).collect();
                call.graph().have_label(&vertices, label, &mut holds)?;
                let mut holds = holds.iter();
                vertices.retain(|_| holds.next().copied().unwrap_or(false));
                self.filter(call, &mut vertices)?;
                self.rank_vertices(call, part, &vertices, best)
            }
            IndexedObjects::Edges(_) => {
                let edge = |object: &IndexedObject| match object {
                    IndexedObject::Edge(edge) => Some(*edge),
                    IndexedObject::Vertex(_) => None,
                };
                let mut edges: Vec<EdgeId> = objects.iter().filter_map(edge).collect();
                self.filter(call, &mut edges)?;
                self.rank_edges(call, part, &edges, best)
            }
        }
    }

    fn rank_vertices(
        &self,
        call: &CallContext<'_>,
        part: &SchemaRule,
        vertices: &[VertexId],
        best: &mut Best,
    ) -> Result<(), QueryError> {
        if vertices.is_empty() {
            return Ok(());
        }
        let mut column = Column::default();
        call.graph().vertex_properties(vertices, property(part), &mut column)?;
        self.keep(call, &column, |row| IndexedObject::Vertex(vertices[row]), vertices.len(), best)
    }

    fn rank_edges(
        &self,
        call: &CallContext<'_>,
        part: &SchemaRule,
        edges: &[EdgeId],
        best: &mut Best,
    ) -> Result<(), QueryError> {
        if edges.is_empty() {
            return Ok(());
        }
        let mut column = Column::default();
        call.graph().edge_properties(edges, property(part), &mut column)?;
        self.keep(call, &column, |row| IndexedObject::Edge(edges[row]), edges.len(), best)
    }

    /// Leaves those that pass the filter.
    fn filter<T>(&mut self, call: &CallContext<'_>, found: &mut Vec<T>) -> Result<(), QueryError>
    where
        for<'a> Objects<'a>: From<&'a [T]>,
    {
        if let Some(filter) = &mut self.filter
            && !found.is_empty()
        {
            let mut passes = Vec::new();
            filter(call, Objects::from(&found[..]), &mut passes)?;
            let mut passes = passes.iter();
            found.retain(|_| passes.next().copied().unwrap_or(false));
        }
        Ok(())
    }

    /// Keeps those of some objects that are nearer than others.
    fn keep(
        &self,
        call: &CallContext<'_>,
        column: &Column,
        object: impl Fn(usize) -> IndexedObject,
        rows: usize,
        best: &mut Best,
    ) -> Result<(), QueryError> {
        let hit = |row: usize| {
            self.ranked.prefetch(column, row + AHEAD);
            let score = self.ranked.score(column, row)?;
            Some(Hit { score, object: object(row) })
        };
        // An object is in the first of several parts that it fits.
        let known: HashSet<IndexedObject> = match self.parts {
            [_] if !best.is_doubtful => HashSet::new(),
            _ => best.hits.iter().map(|hit| hit.object).collect(),
        };
        let hits = (0..rows).filter_map(hit);
        hits.filter(|hit| !known.contains(&hit.object)).for_each(|hit| best.offer(hit));
        call.room(best.hits.capacity() * size_of::<Hit>(), WHO)
    }
}

fn property(part: &SchemaRule) -> PropertyKeyId {
    part.properties[0]
}
