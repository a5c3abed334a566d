//! The objects of a vector index whose vectors are nearest to one.
//!
//! The index gives objects that may be near (`View::nearest`); their vectors are read at the
//! statement's snapshot, compared exactly, and the nearest kept. If what is kept is not as near as
//! the index has looked, as others are gone at the snapshot or do not pass a filter, it is asked
//! for more; in the end every vector is read. Where the index cannot be read at the snapshot (it is
//! younger, is being built, or is made in the same transaction), they are read at once.

use std::cmp::Ordering;
use std::collections::{BinaryHeap, HashSet};

use telar_graph::update::IndexedObjects;
use telar_graph::view::{IndexedObject, Nearest};
use telar_graph::{Column, EdgeId, PropertyKeyId, SchemaRule, VertexId};

use super::CallContext;
use super::objects::{can_be_scanned, for_each_edges, for_each_vertices};
use crate::function::vector::Ranked;
use crate::query_error::QueryError;

/// Objects that are ranked together.
const STEP: usize = 1024;

/// Least effort of a search. PERF: bench/compare/vector_index.py: recall is above 0.95 with it.
const EFFORT_MIN: usize = 144;
/// Greatest effort.
const EFFORT_MAX: usize = 8192;
/// Vectors that are compared exactly, for each that is wanted: bytes for numbers tell nearly as
/// much.
const COMPARED: usize = 3;
/// So many vectors can be filtered while the effort of a search grows by one.
const FILTERED: u64 = 100;

/// Who asks for memory.
const WHO: &str = "vector search";

/// Condition on a hit, besides being near: says of objects of one kind which fulfil it.
pub(super) type Filter<'f> =
    dyn FnMut(&CallContext<'_>, &[IndexedObject], &mut Vec<bool>) -> Result<(), QueryError> + 'f;

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

impl Search<'_> {
    /// The hits, the best first.
    pub(super) fn run(mut self, call: &CallContext<'_>) -> Result<Vec<Hit>, QueryError> {
        // Twice as many as are wanted, so that nearly all of those are among them.
        let mut effort = self.effort.max(2 * self.wanted.min(EFFORT_MAX)).max(EFFORT_MIN);
        let mut compared = COMPARED * self.wanted.min(EFFORT_MAX);
        loop {
            let mut best = Best { wanted: self.wanted, hits: BinaryHeap::new() };
            // The square of the distance up to which every vector was compared.
            let (mut reach, mut of) = (f64::INFINITY, 0);
            for part in self.parts {
                let how = (effort <= EFFORT_MAX).then_some((compared, effort));
                let (part_reach, part_of) = self.search_part(call, part, how, &mut best)?;
                (reach, of) = (reach.min(part_reach), of + part_of);
            }
            let is_near = |hit: &&Hit| self.ranked.distance_squared(hit.score) <= reach;
            let near = best.hits.iter().filter(is_near).count();
            if reach == f64::INFINITY || near == self.wanted {
                return Ok(best.hits.into_sorted_vec());
            }
            // As many more as it takes if the others pass as often.
            let more = (1.5 * (self.wanted as f64 + 1.0) / (near as f64 + 0.5)).clamp(2.0, 16.0);
            compared = (compared as f64 * more) as usize;
            effort = effort.max(compared);
            if effort as u64 * FILTERED > of {
                effort = usize::MAX;
            }
        }
    }

    /// Searches one part; the square of the distance up to which (nearly) nothing is missing, and
    /// how many vectors there are. Without a `how`, compares them all.
    fn search_part(
        &mut self,
        call: &CallContext<'_>,
        part: &SchemaRule,
        how: Option<(usize, usize)>,
        best: &mut Best,
    ) -> Result<(f64, u64), QueryError> {
        call.check()?;
        let mut found: Vec<IndexedObject> = Vec::new();
        let nearest = match how {
            Some(how) => {
                call.graph().nearest(part.id, self.vector, how, &mut |object| found.push(object))
            }
            None => Ok(Nearest::Unknown),
        };
        match nearest {
            Ok(Nearest::Unknown) => {}
            Err(error) if can_be_scanned(&error) => {}
            Err(error) => return Err(error.into()),
            Ok(nearest) => {
                call.room(found.capacity() * size_of::<IndexedObject>(), WHO)?;
                found.sort_unstable();
                found.dedup();
                for some in found.chunks(STEP) {
                    call.check()?;
                    self.rank(call, part, some, best)?;
                }
                return Ok(match nearest {
                    Nearest::Within { reach, of } => (reach.into(), of),
                    _ => (f64::INFINITY, 0),
                });
            }
        }
        match part.objects {
            IndexedObjects::Vertices(label) => for_each_vertices(call, label, |vertices| {
                self.rank_vertices(call, part, vertices, best)
            })?,
            IndexedObjects::Edges(ty) => {
                for_each_edges(call, ty, |edges| self.rank_edges(call, part, edges, best))?;
            }
        }
        Ok((f64::INFINITY, 0))
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
                self.rank_vertices(call, part, &mut vertices, best)
            }
            IndexedObjects::Edges(_) => {
                let edge = |object: &IndexedObject| match object {
                    IndexedObject::Edge(edge) => Some(*edge),
                    IndexedObject::Vertex(_) => None,
                };
                let mut edges: Vec<EdgeId> = objects.iter().filter_map(edge).collect();
                self.rank_edges(call, part, &mut edges, best)
            }
        }
    }

    fn rank_vertices(
        &mut self,
        call: &CallContext<'_>,
        part: &SchemaRule,
        vertices: &mut Vec<VertexId>,
        best: &mut Best,
    ) -> Result<(), QueryError> {
        self.filter(call, vertices, IndexedObject::Vertex)?;
        if vertices.is_empty() {
            return Ok(());
        }
        let mut column = Column::default();
        call.graph().vertex_properties(vertices, property(part), &mut column)?;
        self.keep(call, &column, |row| IndexedObject::Vertex(vertices[row]), vertices.len(), best)
    }

    fn rank_edges(
        &mut self,
        call: &CallContext<'_>,
        part: &SchemaRule,
        edges: &mut Vec<EdgeId>,
        best: &mut Best,
    ) -> Result<(), QueryError> {
        self.filter(call, edges, IndexedObject::Edge)?;
        if edges.is_empty() {
            return Ok(());
        }
        let mut column = Column::default();
        call.graph().edge_properties(edges, property(part), &mut column)?;
        self.keep(call, &column, |row| IndexedObject::Edge(edges[row]), edges.len(), best)
    }

    /// Leaves those that pass the filter.
    fn filter<T: Copy>(
        &mut self,
        call: &CallContext<'_>,
        found: &mut Vec<T>,
        object: impl Fn(T) -> IndexedObject,
    ) -> Result<(), QueryError> {
        if let Some(filter) = &mut self.filter
            && !found.is_empty()
        {
            let objects: Vec<IndexedObject> = found.iter().map(|of| object(*of)).collect();
            let mut passes = Vec::new();
            filter(call, &objects, &mut passes)?;
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
            let score = self.ranked.score(column, row)?;
            Some(Hit { score, object: object(row) })
        };
        // An object is in the first of several parts that it fits.
        let known: HashSet<IndexedObject> = match self.parts {
            [_] => HashSet::new(),
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
