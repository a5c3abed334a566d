//! A snapshot as queries see it: many vertices or edges at once.

use std::sync::Arc;

use telar_graph::{
    CommitTs, Direction, EdgeId, EdgeTypeId, Estimates, Expansion, IndexId, IndexRange,
    IndexUnavailable, LabelId, PropertyKeyId, Statistics, Value, VertexId, View,
};

use super::{Reader, number};
use crate::adjacency::{COL_ORDINAL, ListKind, SEGMENT_BITS, SEGMENT_VERTICES, local_of};
use crate::column::cursor::At;
use crate::column::{ColTable, StateChunk};

/// Whether as many as wanted were appended since there were `before`; if not, none is left.
fn all_or_none(out: &mut Vec<i64>, before: usize, wanted: usize) -> bool {
    let all = out.len() == before + wanted;
    if !all {
        out.truncate(before);
    }
    all
}

/// Which vertices of a segment have a label.
#[derive(Debug, Clone, Copy)]
enum InSegment {
    Unknown,
    None,
    Some,
    All,
}

impl View for Reader<'_> {
    fn read_ts(&self) -> CommitTs {
        CommitTs::from_raw(self.read_ts)
    }

    fn vertex_bound(&self) -> VertexId {
        VertexId::from_raw(self.shared.vertex_bound().into())
    }

    fn scan(&self, label: Option<LabelId>, from: VertexId, to: VertexId, out: &mut Vec<VertexId>) {
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
    }

    fn edge_exists(&self, edge: EdgeId) -> bool {
        Reader::edge_exists(self, edge)
    }

    fn labels(&self, vertex: VertexId) -> Option<Vec<LabelId>> {
        let state = self.state(number(vertex)?);
        (state != 0).then(|| self.shared.catalog.label_sets.labels(state).to_vec())
    }

    fn have_label(&self, vertices: &[VertexId], label: LabelId, out: &mut Vec<bool>) {
        let holds = self.shared.catalog.label_sets.with_label(Some(label));
        let holds = |state: u32| holds.get(state as usize).is_some_and(|h| *h);
        let mut states = self.states();
        // PERF: `telar bench cypher`, in-degrees: the vertices of most segments have the same
        // labels, and many neighbours lie in few segments.
        let segments = (self.shared.vertex_bound() >> SEGMENT_BITS) as usize + 1;
        let known = if vertices.len() < segments { 0 } else { segments };
        let mut known = vec![InSegment::Unknown; known];
        let uniform = |at: &At<'_, StateChunk>| match at {
            At::Settled(StateChunk::Uniform(state)) if holds(*state) => InSegment::All,
            At::Nothing | At::Settled(StateChunk::Uniform(_)) => InSegment::None,
            _ => InSegment::Some,
        };
        out.extend(vertices.iter().map(|vertex| {
            let in_segment = known.get_mut((vertex.get() >> SEGMENT_BITS) as usize);
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
    }

    fn expand(&self, sources: &[VertexId], ty: EdgeTypeId, dir: Direction, out: &mut Expansion) {
        out.clear();
        out.offsets.push(0);
        let Ok(t) = self.shared.catalog.edge_type(ty) else {
            return out.offsets.resize(sources.len() + 1, 0);
        };
        let table = self.table_of(t, dir, sources);
        for source in sources {
            if let Some(v) = number(*source) {
                if t.kind() == ListKind::Simple {
                    table.for_each_run(v, |run| {
                        out.neighbours.extend(run.iter().map(|n| VertexId::from_raw((*n).into())));
                        out.ordinals.resize(out.neighbours.len(), 0);
                    });
                } else {
                    table.for_each_list(v, |list| {
                        list.for_each_entry(|_, e| {
                            out.neighbours.push(VertexId::from_raw(e.nbr.into()));
                            out.ordinals.push(e.columns[COL_ORDINAL]);
                        });
                    });
                }
            }
            out.offsets.push(out.neighbours.len() as u32);
        }
    }

    fn expand_ids(
        &self,
        sources: &[VertexId],
        ty: EdgeTypeId,
        dir: Direction,
        out: &mut Expansion,
    ) {
        out.clear();
        out.offsets.push(0);
        let Ok(t) = self.shared.catalog.edge_type(ty) else {
            return out.offsets.resize(sources.len() + 1, 0);
        };
        let table = self.table_of(t, dir, sources);
        for source in sources {
            if let Some(v) = number(*source) {
                table.for_each_run(v, |run| {
                    out.neighbours.extend(run.iter().map(|n| VertexId::from_raw((*n).into())));
                });
            }
            out.offsets.push(out.neighbours.len() as u32);
        }
    }

    fn degrees(&self, vertices: &[VertexId], ty: EdgeTypeId, dir: Direction, out: &mut Vec<u64>) {
        // PERF: telar bench cypher, top_in_degree: the type is looked up once per batch.
        let Ok(t) = self.shared.catalog.edge_type(ty) else {
            return out.resize(out.len() + vertices.len(), 0);
        };
        let table = self.table_of(t, dir, vertices);
        out.extend(vertices.iter().map(|v| number(*v).map_or(0, |v| table.degree(v) as u64)));
    }

    fn search_edges(&self, pairs: &[(VertexId, VertexId)], ty: EdgeTypeId, out: &mut Vec<bool>) {
        let Ok(t) = self.shared.catalog.edge_type(ty) else {
            return out.resize(out.len() + pairs.len(), false);
        };
        // Needed only to make lists of the past.
        let sources = self.past.map(|_| pairs.iter().map(|(source, _)| *source).collect());
        let sources: Vec<VertexId> = sources.unwrap_or_default();
        let table = self.table_of(t, Direction::Out, &sources);
        out.extend(pairs.iter().map(|(u, v)| match (number(*u), number(*v)) {
            (Some(u), Some(v)) => table.contains(u, v),
            _ => false,
        }));
    }

    fn edges_between(&self, pairs: &[(VertexId, VertexId)], ty: EdgeTypeId, out: &mut Expansion) {
        out.clear();
        out.offsets.push(0);
        let Ok(t) = self.shared.catalog.edge_type(ty) else {
            return out.offsets.resize(pairs.len() + 1, 0);
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
    }

    fn vertex_properties(&self, vertices: &[VertexId], key: PropertyKeyId, out: &mut Vec<Value>) {
        let Some(column) = self.shared.catalog.vertex_column(key) else {
            return out.resize(out.len() + vertices.len(), Value::Null);
        };
        let (mut states, mut values) = (self.states(), column.cursor(self.read_ts, &self.guard));
        out.extend(vertices.iter().map(|vertex| match number(*vertex) {
            // A deleted vertex keeps its last values in the column until its id is used again.
            Some(v) if states.get(v) != 0 => values.get(v),
            _ => Value::Null,
        }));
    }

    fn vertex_ints(&self, vertices: &[VertexId], key: PropertyKeyId, out: &mut Vec<i64>) -> bool {
        let Some(column) = self.shared.catalog.vertex_column(key) else {
            return false;
        };
        let before = out.len();
        let (mut states, mut values) = (self.states(), column.cursor(self.read_ts, &self.guard));
        out.reserve(vertices.len());
        let mut rest = vertices;
        while let Some(first) = rest.first().and_then(|vertex| number(*vertex)) {
            // Those that follow in the same segment.
            let segment = first >> SEGMENT_BITS;
            let in_segment = |v: &&VertexId| v.get() >> SEGMENT_BITS == segment.into();
            let (here, behind) = rest.split_at(rest.iter().take_while(in_segment).count());
            rest = behind;
            let exist = match states.at(first) {
                At::Settled(StateChunk::Uniform(state)) => *state != 0,
                _ => here.iter().all(|v| states.get(v.get() as u32) != 0),
            };
            let mut push = |int: Option<i64>| int.map(|int| out.push(int)).is_some();
            let all = match values.at(first) {
                _ if !exist => false,
                At::Settled(chunk) => {
                    here.iter().all(|v| push(chunk.int(local_of(v.get() as u32) as usize)))
                }
                _ => here.iter().all(|v| push(values.int(v.get() as u32))),
            };
            if !all {
                break;
            }
        }
        all_or_none(out, before, vertices.len())
    }

    fn vertex_texts(
        &self,
        vertices: &[VertexId],
        key: PropertyKeyId,
        each: &mut dyn FnMut(Option<&str>),
    ) -> bool {
        let Some(column) = self.shared.catalog.vertex_column(key) else {
            return false;
        };
        let (mut states, mut values) = (self.states(), column.cursor(self.read_ts, &self.guard));
        vertices.iter().all(|vertex| {
            let found = match number(*vertex).filter(|v| states.get(*v) != 0) {
                None => Some(None),
                Some(v) => match values.at(v) {
                    At::Settled(chunk) => chunk.text(local_of(v) as usize),
                    _ => match &values.get(v) {
                        Value::String(text) => {
                            each(Some(text));
                            return true;
                        }
                        Value::Null => Some(None),
                        _ => None,
                    },
                },
            };
            found.map(&mut *each).is_some()
        })
    }

    fn edge_ints(&self, edges: &[EdgeId], key: PropertyKeyId, out: &mut Vec<i64>) -> bool {
        let before = out.len();
        out.reserve(edges.len());
        for same in edges.chunk_by(|a, b| a.ty == b.ty) {
            let Ok(ty) = self.shared.catalog.edge_type(same[0].ty) else { break };
            let Some(column) = ty.column(key) else { break };
            let mut values = column.cursor(self.read_ts, &self.guard);
            let all = same.iter().all(|edge| {
                let int = if edge.ordinal == 0 { None } else { values.int(edge.ordinal) };
                int.map(|int| out.push(int)).is_some()
            });
            if !all {
                break;
            }
        }
        all_or_none(out, before, edges.len())
    }

    fn edge_properties(&self, edges: &[EdgeId], key: PropertyKeyId, out: &mut Vec<Value>) {
        for same in edges.chunk_by(|a, b| a.ty == b.ty) {
            let column = self.shared.catalog.edge_type(same[0].ty).ok().and_then(|t| t.column(key));
            let Some(column) = column else {
                out.resize(out.len() + same.len(), Value::Null);
                continue;
            };
            let mut values = column.cursor(self.read_ts, &self.guard);
            out.extend(same.iter().map(|edge| match edge.ordinal {
                0 => Value::Null,
                ordinal => values.get(ordinal),
            }));
        }
    }

    fn all_vertex_properties(&self, vertex: VertexId, out: &mut Vec<(PropertyKeyId, Value)>) {
        let Some(v) = number(vertex).filter(|v| self.state(*v) != 0) else { return };
        let columns = self.shared.catalog.vertex_columns();
        let values = columns.map(|(key, column)| (key, column.get(v, self.read_ts, &self.guard)));
        out.extend(values.filter(|(_, value)| !value.is_null()));
    }

    fn all_edge_properties(&self, edge: EdgeId, out: &mut Vec<(PropertyKeyId, Value)>) {
        let Ok(ty) = self.shared.catalog.edge_type(edge.ty) else { return };
        if edge.ordinal != 0 && self.edge_exists(edge) {
            let value = |column: &ColTable<_>| column.get(edge.ordinal, self.read_ts, &self.guard);
            let values = ty.columns().map(|(key, column)| (key, value(column)));
            out.extend(values.filter(|(_, value)| !value.is_null()));
        }
    }

    fn index_vertices(
        &self,
        index: IndexId,
        range: &IndexRange,
        out: &mut Vec<VertexId>,
    ) -> Result<(), IndexUnavailable> {
        out.append(&mut self.index_range(index, range)?);
        Ok(())
    }

    fn index_edges(
        &self,
        index: IndexId,
        range: &IndexRange,
        out: &mut Vec<EdgeId>,
    ) -> Result<(), IndexUnavailable> {
        out.append(&mut self.index_range_edges(index, range)?);
        Ok(())
    }

    fn lookup_vertices(
        &self,
        index: IndexId,
        keys: &[Value],
        out: &mut Vec<(u32, VertexId)>,
    ) -> Result<(), IndexUnavailable> {
        self.lookup_batch(index, keys, out)
    }

    fn error(&self) -> Option<Box<dyn std::error::Error + Send + Sync>> {
        self.shared.check_stored().err().map(Into::into)
    }

    fn statistics(&self) -> Statistics {
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
        statistics
    }

    fn count_vertices(&self, label: Option<LabelId>) -> Option<u64> {
        let counts = self.shared.states.count(self.read_ts, &self.guard);
        let holds = self.shared.catalog.label_sets.with_label(label);
        Some(counts.iter().zip(holds).filter(|(_, holds)| *holds).map(|(count, _)| count).sum())
    }

    fn count_edges(&self, ty: EdgeTypeId) -> Option<u64> {
        let ty = self.shared.catalog.edge_type(ty).ok()?;
        Some(self.table(ty.table(Direction::Out)).entries())
    }

    fn estimates(&self) -> Arc<Estimates> {
        self.shared.sample.get(self.shared)
    }
}
