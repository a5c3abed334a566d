//! A snapshot as queries see it: many vertices or edges at once.

use std::ops::{ControlFlow, Range};
use std::sync::Arc;

use telar_graph::view::{FulltextPostings, IndexedObject, NearSearch, Nearest};
use telar_graph::{
    Column, CommitTs, Counts, Direction, EdgeId, EdgeTypeId, Estimates, Expansion, IndexId,
    IndexRange, LabelId, Lists, Partitions, PropertyKeyId, ReadError, Run, Statistics, Value,
    VertexId, View,
};

use super::{Reader, number};
use crate::adjacency::{ListKind, SEGMENT_BITS, SEGMENT_VERTICES};
use crate::column::StateChunk;
use crate::column::cursor::At;

/// Sources from which on looking ahead pays.
const MANY_SOURCES: usize = 8;

/// Which vertices of a segment have a label.
#[derive(Debug, Clone, Copy)]
enum InSegment {
    Unknown,
    None,
    Some,
    All,
}

/// Vertices of a batch for each segment of the graph from which on it pays to look at all segments
/// first.
const MANY_PER_SEGMENT: usize = 8;

/// Room for the values of a batch, made once the first of them has given the column a type: a
/// column without one has nothing to make room in.
#[derive(Debug, Default)]
struct Room {
    made: bool,
}

impl Room {
    /// Makes room for so many values more, if it can and has not yet.
    #[inline]
    fn make(&mut self, values: usize, out: &mut Column) {
        if !self.made && !matches!(out, Column::Same(..)) {
            self.made = true;
            out.reserve(values);
        }
    }
}

impl Reader<'_> {
    /// Result of a call that read: damage that it or an earlier one met is its error. Lists and
    /// values that cannot be read come out empty, and that is noted (docs/decisions/0016).
    #[inline]
    fn checked<T>(&self, read: T) -> Result<T, ReadError> {
        self.shared.check_stored().map_err(ReadError::storage)?;
        Ok(read)
    }

    /// The sources as the storage numbers them; `None` if one is no number of a vertex.
    fn numbers(sources: &[VertexId]) -> Option<Vec<u32>> {
        sources.iter().map(|source| number(*source)).collect()
    }
}

/// Sorts values that were read property by property into a list for each of `objects`.
fn by_object(
    objects: usize,
    mut found: Vec<(u32, PropertyKeyId, Value)>,
    out: &mut Lists<(PropertyKeyId, Value)>,
) {
    out.clear();
    // Stable: the values of each object stay in the order of their keys.
    found.sort_by_key(|(object, _, _)| *object);
    let mut found = found.into_iter().peekable();
    for object in 0..objects as u32 {
        while let Some((_, key, value)) = found.next_if(|(of, _, _)| *of == object) {
            out.items.push((key, value));
        }
        out.end_list();
    }
}

impl View for Reader<'_> {
    fn read_ts(&self) -> CommitTs {
        CommitTs::from_raw(self.read_ts)
    }

    fn partitions(&self) -> Partitions {
        Partitions::below(self.vertex_bound())
    }

    fn scan(
        &self,
        label: Option<LabelId>,
        from: VertexId,
        to: VertexId,
        out: &mut Vec<VertexId>,
    ) -> Result<(), ReadError> {
        let holds = self.shared.catalog.label_sets.with_label(label);
        let bound = self.shared.vertex_bound();
        let start = number(from).unwrap_or(bound).min(bound);
        let end = number(to).unwrap_or(bound).min(bound);
        let mut states = self.states();
        let holds = |state: u32| holds.get(state as usize).copied().unwrap_or(false);
        let vertex = |v: u32| VertexId::from_raw(v.into());
        let mut v = start;
        while v < end {
            // A segment at a time: in most of them all vertices have the same labels.
            let next = end.min((v | (SEGMENT_VERTICES as u32 - 1)).saturating_add(1));
            match states.at(v) {
                At::Nothing => {}
                At::Settled(StateChunk::Uniform(state)) if !holds(*state) => {}
                At::Settled(StateChunk::Uniform(_)) => out.extend((v..next).map(vertex)),
                _ => out.extend((v..next).filter(|v| holds(states.get(*v))).map(vertex)),
            }
            v = next;
        }
        self.checked(())
    }

    fn vertices_exist(&self, vertices: &[VertexId], out: &mut Vec<bool>) -> Result<(), ReadError> {
        let mut states = self.states();
        out.extend(vertices.iter().map(|v| number(*v).is_some_and(|v| states.get(v) != 0)));
        self.checked(())
    }

    fn edges_exist(&self, edges: &[EdgeId], out: &mut Vec<bool>) -> Result<(), ReadError> {
        out.extend(edges.iter().map(|edge| self.edge_exists(*edge)));
        self.checked(())
    }

    fn labels(&self, vertices: &[VertexId], out: &mut Lists<LabelId>) -> Result<(), ReadError> {
        out.clear();
        let mut states = self.states();
        for vertex in vertices {
            let state = number(*vertex).map_or(0, |v| states.get(v));
            if state != 0 {
                out.items.extend_from_slice(&self.shared.catalog.label_sets.labels(state));
            }
            out.end_list();
        }
        self.checked(())
    }

    fn have_label(
        &self,
        vertices: &[VertexId],
        label: LabelId,
        out: &mut Vec<bool>,
    ) -> Result<(), ReadError> {
        let holds = self.shared.catalog.label_sets.with_label(Some(label));
        let holds = |state: u32| holds.get(state as usize).is_some_and(|h| *h);
        let mut states = self.states();
        // PERF: `telar bench cypher`, in-degrees and 3 hops: the vertices of most segments have the
        // same labels, and many neighbours lie in few segments.
        let segments = self.shared.vertex_bound().div_ceil(1 << SEGMENT_BITS) as usize;
        let known = if vertices.len() < segments { 0 } else { segments };
        let mut known = vec![InSegment::Unknown; known];
        let uniform = |at: &At<'_, StateChunk>| match at {
            At::Settled(StateChunk::Uniform(state)) if holds(*state) => InSegment::All,
            At::Nothing | At::Settled(StateChunk::Uniform(_)) => InSegment::None,
            _ => InSegment::Some,
        };
        let segment_of = |vertex: &VertexId| (vertex.get() >> SEGMENT_BITS) as usize;
        if vertices.len() >= MANY_PER_SEGMENT * segments {
            for (segment, known) in (0..).zip(&mut known) {
                *known = uniform(states.at(segment << SEGMENT_BITS));
            }
            if known.iter().all(|known| matches!(known, InSegment::All))
                && vertices.iter().all(|vertex| segment_of(vertex) < segments)
            {
                out.resize(out.len() + vertices.len(), true);
                return self.checked(());
            }
        }
        out.extend(vertices.iter().map(|vertex| {
            let in_segment = known.get_mut(segment_of(vertex));
            match in_segment.as_deref() {
                Some(InSegment::All) => return true,
                Some(InSegment::None) => return false,
                Some(InSegment::Some | InSegment::Unknown) | None => {}
            }
            let Some(v) = number(*vertex) else { return false };
            if let Some(unknown @ InSegment::Unknown) = in_segment {
                *unknown = uniform(states.at(v));
            }
            holds(states.get(v))
        }));
        self.checked(())
    }

    fn expand(
        &self,
        sources: &[VertexId],
        ty: EdgeTypeId,
        dir: Direction,
        out: &mut Expansion,
    ) -> Result<(), ReadError> {
        out.clear();
        out.offsets.push(0);
        let Ok(t) = self.shared.catalog.edge_type(ty) else {
            out.offsets.resize(sources.len() + 1, 0);
            return Ok(());
        };
        let table = self.table_of(t, dir, sources);
        let Expansion { offsets, neighbours, ordinals } = out;
        let wide = |n: &u32| VertexId::from_raw((*n).into());
        offsets.extend(sources.iter().map(|source| {
            let Some(v) = number(*source) else { return neighbours.len() as u32 };
            if t.kind() == ListKind::Simple {
                table.for_each_run(v, |run| neighbours.extend(run.iter().map(wide)));
            } else {
                table.for_each_numbered(v, |nbrs, found| {
                    // Ordinals of 0 are filled in once for all lists since the last other one.
                    if !found.is_zero() {
                        ordinals.resize(neighbours.len(), 0);
                        found.append_to(nbrs.len(), ordinals);
                    }
                    neighbours.extend(nbrs.iter().map(wide));
                });
            }
            neighbours.len() as u32
        }));
        ordinals.resize(neighbours.len(), 0);
        self.checked(())
    }

    fn expand_ids(
        &self,
        sources: &[VertexId],
        ty: EdgeTypeId,
        dir: Direction,
        out: &mut Expansion,
    ) -> Result<(), ReadError> {
        out.clear();
        out.offsets.push(0);
        let Ok(t) = self.shared.catalog.edge_type(ty) else {
            out.offsets.resize(sources.len() + 1, 0);
            return Ok(());
        };
        let table = self.table_of(t, dir, sources);
        let wide = |n: &u32| VertexId::from_raw((*n).into());
        match Self::numbers(sources) {
            // PERF: telar bench cypher, 3 hops: lists are fetched before their turn.
            Some(numbers) if sources.len() >= MANY_SOURCES => {
                let mut ended = 0;
                table.visit_places(&numbers, |place, run| {
                    if place > ended {
                        out.offsets.push(out.neighbours.len() as u32);
                        ended = place;
                    }
                    out.neighbours.extend(run.iter().map(wide));
                });
                out.offsets.push(out.neighbours.len() as u32);
            }
            _ => {
                for source in sources {
                    if let Some(v) = number(*source) {
                        table.for_each_run(v, |run| out.neighbours.extend(run.iter().map(wide)));
                    }
                    out.offsets.push(out.neighbours.len() as u32);
                }
            }
        }
        self.checked(())
    }

    fn for_each_run(
        &self,
        sources: &[VertexId],
        ty: EdgeTypeId,
        dir: Direction,
        each: &mut dyn FnMut(usize, Run<'_>),
    ) -> Result<(), ReadError> {
        let Ok(t) = self.shared.catalog.edge_type(ty) else { return Ok(()) };
        let table = self.table_of(t, dir, sources);
        let mut each = |place: usize, run: &[u32]| {
            if !run.is_empty() {
                each(place, Run::Narrow(run));
            }
        };
        if let Some(numbers) = Self::numbers(sources) {
            table.visit_places(&numbers, each);
        } else {
            for (place, source) in sources.iter().enumerate() {
                if let Some(v) = number(*source) {
                    table.for_each_run(v, |run| each(place, run));
                }
            }
        }
        self.checked(())
    }

    fn for_each_run_of(
        &self,
        sources: Range<u64>,
        ty: EdgeTypeId,
        dir: Direction,
        each: &mut dyn FnMut(u64, Run<'_>),
    ) -> Result<(), ReadError> {
        let Ok(t) = self.shared.catalog.edge_type(ty) else { return Ok(()) };
        // No vertex has a greater number.
        let number = |id: u64| u32::try_from(id).unwrap_or(u32::MAX);
        let range = number(sources.start)..number(sources.end);
        // PERF: telar bench algorithms, PageRank by CALL: one call for a range of lists.
        self.table_of_numbers(t, dir, range.clone()).scan(range, |v, run| {
            if !run.is_empty() {
                each(v.into(), Run::Narrow(run));
            }
        });
        self.checked(())
    }

    fn degrees(
        &self,
        vertices: &[VertexId],
        ty: EdgeTypeId,
        dir: Direction,
        out: &mut Vec<u64>,
    ) -> Result<(), ReadError> {
        // PERF: telar bench cypher, top_in_degree: the type is looked up once per batch.
        let Ok(t) = self.shared.catalog.edge_type(ty) else {
            out.resize(out.len() + vertices.len(), 0);
            return Ok(());
        };
        let table = self.table_of(t, dir, vertices);
        out.extend(vertices.iter().map(|v| number(*v).map_or(0, |v| table.degree(v) as u64)));
        self.checked(())
    }

    fn search_edges(
        &self,
        pairs: &[(VertexId, VertexId)],
        ty: EdgeTypeId,
        out: &mut Vec<bool>,
    ) -> Result<(), ReadError> {
        let Ok(t) = self.shared.catalog.edge_type(ty) else {
            out.resize(out.len() + pairs.len(), false);
            return Ok(());
        };
        // Needed only to make lists of the past.
        let sources = self.past.map(|_| pairs.iter().map(|(source, _)| *source).collect());
        let sources: Vec<VertexId> = sources.unwrap_or_default();
        let table = self.table_of(t, Direction::Out, &sources);
        out.extend(pairs.iter().map(|(u, v)| match (number(*u), number(*v)) {
            (Some(u), Some(v)) => table.contains(u, v),
            _ => false,
        }));
        self.checked(())
    }

    fn edges_between(
        &self,
        pairs: &[(VertexId, VertexId)],
        ty: EdgeTypeId,
        out: &mut Expansion,
    ) -> Result<(), ReadError> {
        out.clear();
        out.offsets.push(0);
        let Ok(t) = self.shared.catalog.edge_type(ty) else {
            out.offsets.resize(pairs.len() + 1, 0);
            return Ok(());
        };
        let (sources, targets): (Vec<VertexId>, Vec<VertexId>) = match (self.past, t.kind()) {
            // Needed only to make lists of the past, and to look at both lists.
            (None, ListKind::Simple | ListKind::Multi) => Default::default(),
            _ => pairs.iter().copied().unzip(),
        };
        let table = self.table_of(t, Direction::Out, &sources);
        // A list in an order of its own is looked through, so the shorter one is.
        let back = (t.kind() == ListKind::Timed).then(|| self.table_of(t, Direction::In, &targets));
        for (source, target) in pairs {
            if let (Some(u), Some(v)) = (number(*source), number(*target)) {
                let mut found = |ordinal: u32| {
                    out.neighbours.push(*target);
                    out.ordinals.push(ordinal);
                };
                let back = back.as_ref().filter(|back| back.degree(v) < table.degree(u));
                match back {
                    _ if t.kind() == ListKind::Simple => {
                        if table.contains(u, v) {
                            found(0);
                        }
                    }
                    Some(back) => back.with_list_of(v, u, |list| list.for_each_to(u, &mut found)),
                    None => table.with_list_of(u, v, |list| list.for_each_to(v, &mut found)),
                }
            }
            out.offsets.push(out.neighbours.len() as u32);
        }
        self.checked(())
    }

    fn vertex_properties(
        &self,
        vertices: &[VertexId],
        key: PropertyKeyId,
        out: &mut Column,
    ) -> Result<(), ReadError> {
        let Some(column) = self.shared.catalog.vertex_column(key) else {
            out.push_nulls(vertices.len());
            return Ok(());
        };
        let mut room = Room::default();
        let (mut states, mut values) = (self.states(), column.cursor(self.read_ts, &self.guard));
        let mut rest = vertices;
        while let Some(first) = rest.first() {
            room.make(rest.len(), out);
            let Some(first) = number(*first) else {
                out.push_nulls(1);
                rest = &rest[1..];
                continue;
            };
            // PERF: `telar bench cypher`, aggregate: vertices that follow each other in one segment
            // are read together.
            let segment = first >> SEGMENT_BITS;
            let in_segment = |v: &&VertexId| v.get() >> SEGMENT_BITS == segment.into();
            let (here, behind) = rest.split_at(rest.iter().take_while(in_segment).count());
            rest = behind;
            // A deleted vertex keeps its last values in the column until its id is used again.
            let exist = match states.at(first) {
                At::Settled(StateChunk::Uniform(state)) => *state != 0,
                _ => here.iter().all(|v| states.get(v.get() as u32) != 0),
            };
            let places = here.iter().map(|v| v.get() as u32);
            // Without a way out before the end: many are compared at once.
            let expected = u64::from(first)..;
            let is_run = here.iter().zip(expected).fold(true, |is, (v, n)| is & (v.get() == n));
            match (exist, is_run) {
                (true, true) => values.append_run(first, here.len(), out),
                (true, false) => values.append_to(places, out),
                (false, _) => places.for_each(|v| {
                    out.push(if states.get(v) != 0 { values.get(v) } else { Value::Null });
                }),
            }
        }
        self.checked(())
    }

    fn edge_properties(
        &self,
        edges: &[EdgeId],
        key: PropertyKeyId,
        out: &mut Column,
    ) -> Result<(), ReadError> {
        let (mut room, mut left) = (Room::default(), edges.len());
        for same in edges.chunk_by(|a, b| a.ty == b.ty) {
            let ty = self.shared.catalog.edge_type(same[0].ty).ok();
            let Some((ty, column)) = ty.and_then(|ty| Some((ty, ty.column(key)?))) else {
                out.push_nulls(same.len());
                left -= same.len();
                continue;
            };
            let mut values = column.cursor(self.read_ts, &self.guard);
            let places: Vec<u32> = same.iter().map(|edge| self.place_of(ty, edge)).collect();
            let near =
                |a: &u32, b: &u32| a >> SEGMENT_BITS == b >> SEGMENT_BITS && *a != 0 && *b != 0;
            for here in places.chunk_by(near) {
                room.make(left, out);
                left -= here.len();
                match here[0] {
                    0 => out.push_nulls(1),
                    _ => values.append_to(here.iter().copied(), out),
                }
            }
        }
        self.checked(())
    }

    fn all_vertex_properties(
        &self,
        vertices: &[VertexId],
        out: &mut Lists<(PropertyKeyId, Value)>,
    ) -> Result<(), ReadError> {
        let mut states = self.states();
        let existing = |v: &VertexId| number(*v).filter(|v| states.get(*v) != 0);
        let places: Vec<Option<u32>> = vertices.iter().map(existing).collect();
        let mut found = Vec::new();
        // Column by column: each is found once, and vertices that lie together are read together.
        for (key, column) in self.shared.catalog.vertex_columns() {
            let mut values = column.cursor(self.read_ts, &self.guard);
            for (object, v) in (0..).zip(&places) {
                let value = v.map_or(Value::Null, |v| values.get(v));
                if !value.is_null() {
                    found.push((object, key, value));
                }
            }
        }
        by_object(vertices.len(), found, out);
        self.checked(())
    }

    fn all_edge_properties(
        &self,
        edges: &[EdgeId],
        out: &mut Lists<(PropertyKeyId, Value)>,
    ) -> Result<(), ReadError> {
        let mut found = Vec::new();
        let mut first = 0;
        for same in edges.chunk_by(|a, b| a.ty == b.ty) {
            let end = first + same.len() as u32;
            if let Ok(ty) = self.shared.catalog.edge_type(same[0].ty) {
                // 0 where there is nothing.
                let place = |edge: &EdgeId| match self.place_of(ty, edge) {
                    0 => 0,
                    place => {
                        if self.edge_exists(*edge) {
                            place
                        } else {
                            0
                        }
                    }
                };
                let places: Vec<u32> = same.iter().map(place).collect();
                for (key, column) in ty.columns() {
                    let mut values = column.cursor(self.read_ts, &self.guard);
                    for (object, place) in (first..).zip(&places).filter(|(_, place)| **place != 0)
                    {
                        let value = values.get(*place);
                        if !value.is_null() {
                            found.push((object, key, value));
                        }
                    }
                }
            }
            first = end;
        }
        by_object(edges.len(), found, out);
        self.checked(())
    }

    fn index_vertices(
        &self,
        index: IndexId,
        range: &IndexRange,
        out: &mut Vec<VertexId>,
    ) -> Result<(), ReadError> {
        out.append(&mut self.index_range(index, range)?);
        self.checked(())
    }

    fn index_edges(
        &self,
        index: IndexId,
        range: &IndexRange,
        out: &mut Vec<EdgeId>,
    ) -> Result<(), ReadError> {
        out.append(&mut self.index_range_edges(index, range)?);
        self.checked(())
    }

    fn fulltext_entries(
        &self,
        index: IndexId,
        keys: Range<&[u8]>,
        f: &mut dyn FnMut(&[u8], IndexedObject) -> ControlFlow<()>,
    ) -> Result<(), ReadError> {
        self.fulltext_batch(index, &keys, f)?;
        self.checked(())
    }

    fn fulltext_terms(
        &self,
        index: IndexId,
        keys: Range<&[u8]>,
        f: &mut dyn FnMut(&[u8]) -> ControlFlow<()>,
    ) -> Result<(), ReadError> {
        self.fulltext_terms_batch(index, &keys, f)?;
        self.checked(())
    }

    fn fulltext_postings(
        &self,
        index: IndexId,
        beginning: &[u8],
        go_on: &mut dyn FnMut() -> ControlFlow<()>,
    ) -> Result<FulltextPostings, ReadError> {
        let list = self.fulltext_list(index, beginning, go_on)?;
        self.checked(list)
    }

    fn fulltext_totals(&self, index: IndexId) -> Result<Vec<(u64, u64)>, ReadError> {
        let index = self.fulltext(index)?;
        let counted = self.fulltext_counted(index)?;
        self.checked(super::fulltext::given(&counted, index.definition.properties.len()))
    }

    fn nearest(
        &self,
        index: IndexId,
        search: &mut NearSearch<'_>,
        f: &mut dyn FnMut(IndexedObject),
    ) -> Result<Nearest, ReadError> {
        let nearest = self.near_batch(index, search, f)?;
        self.checked(nearest)
    }

    fn lookup_vertices(
        &self,
        index: IndexId,
        keys: &[Value],
        out: &mut Vec<(u32, VertexId)>,
    ) -> Result<(), ReadError> {
        self.lookup_batch(index, keys, out)?;
        self.checked(())
    }
}

impl Counts for Reader<'_> {
    fn statistics(&self) -> Result<Statistics, ReadError> {
        let catalog = &self.shared.catalog;
        let by_state = self.shared.states.count(self.read_ts, &self.guard);
        let mut statistics = Statistics::default();
        for (state, count) in by_state.iter().enumerate().skip(1) {
            statistics.vertices += count;
            for label in catalog.label_sets.labels(state as u32).iter() {
                let at = usize::from(label.get());
                if at >= statistics.vertices_by_label.len() {
                    statistics.vertices_by_label.resize(at + 1, 0);
                }
                statistics.vertices_by_label[at] += count;
            }
        }
        for (_, ty) in catalog.edge_types() {
            let edges = self.table(ty.table(Direction::Out)).entries();
            statistics.edges_by_type.push(edges);
        }
        self.checked(statistics)
    }

    fn count_vertices(&self, label: Option<LabelId>) -> Result<Option<u64>, ReadError> {
        let counts = self.shared.states.count(self.read_ts, &self.guard);
        let holds = self.shared.catalog.label_sets.with_label(label);
        let counted = counts.iter().zip(holds).filter(|(_, holds)| *holds);
        self.checked(Some(counted.map(|(count, _)| count).sum()))
    }

    fn count_edges(&self, ty: EdgeTypeId) -> Result<Option<u64>, ReadError> {
        let Ok(ty) = self.shared.catalog.edge_type(ty) else { return Ok(None) };
        self.checked(Some(self.table(ty.table(Direction::Out)).entries()))
    }

    fn estimates(&self) -> Arc<Estimates> {
        super::estimates::estimates(self.shared)
    }
}
