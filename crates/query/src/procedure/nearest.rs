//! The objects of a vector index whose vectors are nearest to one.
//!
//! The index gives objects that may be near (`View::nearest`); their vectors are read at the
//! statement's snapshot, compared exactly, and the nearest kept. If what is kept is not as near as
//! the index has looked, as others are gone at the snapshot or do not pass a filter, it is asked for
//! more; in the end every vector is read. Where the index cannot be read at the snapshot (it is younger, is
//! being built, or is made in the same transaction), they are read at once.

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
const EFFORT_MIN: usize = 96;
/// Greatest effort: with more, reading every vector is quicker.
const EFFORT_MAX: usize = 8192;

/// Who asks for memory.
const WHO: &str = "vector search";

/// What a hit must fulfil, besides being near: of some objects of one kind, which do.
pub(super) type Filter<'f> =
    dyn FnMut(&CallContext<'_>, &[IndexedObject], &mut Vec<bool>) -> Result<(), QueryError> + 'f;

/// A search.
pub(super) struct Search<'s> {
    /// The parts of the index.
    pub(super) parts: &'s [SchemaRule],
    pub(super) ranked: Ranked,
    /// The vector that is sought, with numbers of 32 bits.
    pub(super) vector: &'s [f32],
    /// How many are wanted.
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
        loop {
            let mut best = Best { wanted: self.wanted, hits: BinaryHeap::new() };
            // The square of the distance up to which every vector was compared.
            let mut reach = f64::INFINITY;
            for part in self.parts {
                reach = reach.min(self.search_part(call, part, effort, &mut best)?);
            }
            let is_near = |worst: &Hit| self.ranked.distance_squared(worst.score) <= reach;
            let is_full = best.hits.len() == self.wanted;
            if reach == f64::INFINITY || (is_full && best.hits.peek().is_some_and(is_near)) {
                return Ok(best.hits.into_sorted_vec());
            }
            effort = effort.saturating_mul(4);
        }
    }

    /// Searches one part; the square of the distance up to which (nearly) nothing is missing.
    fn search_part(
        &mut self,
        call: &CallContext<'_>,
        part: &SchemaRule,
        effort: usize,
        best: &mut Best,
    ) -> Result<f64, QueryError> {
        call.check()?;
        let mut found: Vec<IndexedObject> = Vec::new();
        let nearest = match effort <= EFFORT_MAX {
            true => {
                call.graph().nearest(part.id, self.vector, effort, &mut |object| found.push(object))
            }
            false => Ok(Nearest::Unknown),
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
                    Nearest::Within(reach) => reach.into(),
                    _ => f64::INFINITY,
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
        Ok(f64::INFINITY)
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
                self.rank_vertices(call, part, &vertices, best)
            }
            IndexedObjects::Edges(_) => {
                let edge = |object: &IndexedObject| match object {
                    IndexedObject::Edge(edge) => Some(*edge),
                    IndexedObject::Vertex(_) => None,
                };
                let edges: Vec<EdgeId> = objects.iter().filter_map(edge).collect();
                self.rank_edges(call, part, &edges, best)
            }
        }
    }

    fn rank_vertices(
        &mut self,
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
        &mut self,
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

    /// Keeps those of some objects that are nearer than others.
    fn keep(
        &mut self,
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
        let mut hits: Vec<Hit> = (0..rows).filter_map(hit).collect();
        if let Some(filter) = &mut self.filter {
            let objects: Vec<IndexedObject> = hits.iter().map(|hit| hit.object).collect();
            let mut passes = Vec::new();
            filter(call, &objects, &mut passes)?;
            let mut passes = passes.iter();
            hits.retain(|_| passes.next().copied().unwrap_or(false));
        }
        // An object is in the first of several parts that it fits.
        let known: HashSet<IndexedObject> = match self.parts {
            [_] => HashSet::new(),
            _ => best.hits.iter().map(|hit| hit.object).collect(),
        };
        hits.into_iter().filter(|hit| !known.contains(&hit.object)).for_each(|hit| best.offer(hit));
        call.room(best.hits.capacity() * size_of::<Hit>(), WHO)
    }
}

fn property(part: &SchemaRule) -> PropertyKeyId {
    part.properties[0]
}
