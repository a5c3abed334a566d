//! Batched reads of a transaction: an overlay of its own writes over its snapshot.
//!
//! A batch goes to the snapshot's reader as a whole. What the transaction has written replaces its
//! part of the answer: lists of vertices at which it wrote edges of the type, values of a property
//! that it set, states of vertices that it made, changed or deleted. The write set says in a few
//! instructions that it has nothing of a type or property (`Keyed::may_have_group`).
//!
//! Every read is noted for validation, as those of the single reads are. A serializable transaction
//! reads one by one where a batch would note more than it has read.
//!
//! INVARIANT: a transaction reads of its own writes what others read once it has committed
//! (`crates/engine/tests/overlay.rs`).

use std::ops::{ControlFlow, Range};
use std::sync::Arc;

use telar_graph::name::NameKind;
use telar_graph::view::{FulltextPostings, IndexedObject, NearSearch, Nearest};
use telar_graph::{
    Column, CommitTs, Counts, Direction, EdgeId, EdgeTypeId, Estimates, Expansion, IndexId,
    IndexRange, IndexUnavailable, LabelId, Lists, Partitions, PropertyKeyId, ReadError, Run,
    Statistics, Value, VertexId, View,
};

use super::{Transaction, vid};
use crate::catalog::Catalog;
use crate::commit::write_set::{Read, edge_property_group, edge_property_key, vertex_property_key};
use crate::error::Error;
use crate::snapshot::number;

/// Of a read of this transaction. An object that is not there has nothing: that is no error.
fn failed(error: Error) -> ReadError {
    match error {
        Error::Index(unavailable) => unavailable.into(),
        error => ReadError::storage(error),
    }
}

/// A read of one object, of which one that is not there has nothing.
fn found<T: Default>(read: Result<T, Error>) -> Result<T, ReadError> {
    match read {
        Err(Error::NotFound(_)) => Ok(T::default()),
        read => read.map_err(failed),
    }
}

fn sources_of(pairs: &[(VertexId, VertexId)]) -> Vec<VertexId> {
    pairs.iter().map(|(source, _)| *source).collect()
}

impl Transaction<'_> {
    /// Notes lists of neighbours that are read.
    fn note_lists<'v>(
        &self,
        vertices: impl Iterator<Item = &'v VertexId>,
        ty: EdgeTypeId,
        dir: Direction,
    ) {
        if self.reads.is_some() {
            for v in vertices.filter_map(|v| number(*v)) {
                self.note(Read::Neighbours(ty, dir, v));
            }
        }
    }

    /// Notes states of vertices that are read.
    fn note_states(&self, vertices: &[VertexId]) {
        if self.reads.is_some() {
            vertices.iter().filter_map(|v| number(*v)).for_each(|v| self.note(Read::State(v)));
        }
    }

    /// Replaces what was read of vertices whose state this transaction has written.
    fn overlay_states(
        &self,
        vertices: &[VertexId],
        read: &mut [bool],
        holds: impl Fn(u32) -> bool,
    ) {
        if self.writes.states.items().is_empty() {
            return;
        }
        for (vertex, has) in vertices.iter().zip(read) {
            if let Some(written) = self.writes.states.get(vertex.get().into()) {
                *has = holds(written.state);
            }
        }
    }

    /// Every property key, to read all of them.
    fn property_keys(&self) -> impl Iterator<Item = PropertyKeyId> + use<> {
        self.look_for(NameKind::PropertyKey, Catalog::property_key_ids, |_| false)
    }

    /// Places in a batch of the vertices at which this transaction has written edges of a type, or
    /// whose edges it hides.
    fn written_lists(&self, vertices: &[VertexId], ty: EdgeTypeId, dir: Direction) -> Vec<usize> {
        let mut written = Vec::new();
        let hides = !self.writes.deleted_connected.is_empty();
        if !hides && !self.writes.edges.may_have_group(ty.get().into()) {
            return written;
        }
        let writes = self.writes.edges.items();
        let mut ends = self.ends.borrow_mut();
        let ends = ends.get_or_insert_default();
        let mut own = Vec::new();
        for (at, vertex) in vertices.iter().enumerate() {
            let Some(v) = number(*vertex) else { continue };
            own.clear();
            ends.of(writes, ty, v, dir, &mut own);
            if !own.is_empty() || (hides && self.is_deleted_connected(*vertex)) {
                written.push(at);
            }
        }
        written
    }

    /// The same of pairs of source and target.
    fn written_pairs(&self, pairs: &[(VertexId, VertexId)], ty: EdgeTypeId) -> Vec<usize> {
        let mut written = self.written_lists(&sources_of(pairs), ty, Direction::Out);
        if !self.writes.deleted_connected.is_empty() {
            let hidden =
                |(_, (_, v)): &(usize, &(VertexId, VertexId))| self.is_deleted_connected(*v);
            written.extend(pairs.iter().enumerate().filter(hidden).map(|(at, _)| at));
            written.sort_unstable();
            written.dedup();
        }
        written
    }

    /// Neighbours and ordinals of a list, with this transaction's writes.
    fn own_list(
        &self,
        vertex: VertexId,
        ty: EdgeTypeId,
        dir: Direction,
    ) -> Result<Vec<(VertexId, u32)>, ReadError> {
        let edges = found(self.edges(vertex, ty, dir).map(Iterator::collect::<Vec<_>>))?;
        Ok(edges.into_iter().map(|edge| (edge.end(dir), edge.ordinal)).collect())
    }

    /// Replaces the lists in `out` of vertices at which this transaction has written.
    fn overlay_lists(
        &self,
        sources: &[VertexId],
        ty: EdgeTypeId,
        dir: Direction,
        out: &mut Expansion,
    ) -> Result<(), ReadError> {
        let written = self.written_lists(sources, ty, dir);
        overlay(written, out, |at| self.own_list(sources[at], ty, dir))
    }
}

/// Replaces the lists at the places `written` by what `own` says of them. Ordinals are left out
/// where `out` has none.
fn overlay(
    written: Vec<usize>,
    out: &mut Expansion,
    own: impl Fn(usize) -> Result<Vec<(VertexId, u32)>, ReadError>,
) -> Result<(), ReadError> {
    if written.is_empty() {
        return Ok(());
    }
    let has_ordinals = out.ordinals.len() == out.neighbours.len();
    let read = std::mem::take(out);
    let copy = |out: &mut Expansion, places: Range<usize>| {
        let (first, end) = (read.offsets[places.start], read.offsets[places.end]);
        let (base, entries) = (out.neighbours.len() as u32, first as usize..end as usize);
        let offsets = &read.offsets[places.start + 1..=places.end];
        out.offsets.extend(offsets.iter().map(|offset| offset - first + base));
        out.neighbours.extend_from_slice(&read.neighbours[entries.clone()]);
        if has_ordinals {
            out.ordinals.extend_from_slice(&read.ordinals[entries]);
        }
    };
    out.offsets.push(0);
    let mut next = 0;
    for at in written {
        copy(out, next..at);
        for (neighbour, ordinal) in own(at)? {
            out.neighbours.push(neighbour);
            if has_ordinals {
                out.ordinals.push(ordinal);
            }
        }
        out.offsets.push(out.neighbours.len() as u32);
        next = at + 1;
    }
    copy(out, next..read.offsets.len() - 1);
    Ok(())
}

/// Replaces the properties of those that are `written` by their `value` of each of the keys.
fn overlay_properties<K: Iterator<Item = PropertyKeyId>>(
    written: &[bool],
    keys: impl FnOnce() -> K,
    out: &mut Lists<(PropertyKeyId, Value)>,
    value: impl Fn(usize, PropertyKeyId) -> Result<Value, Error>,
) -> Result<(), ReadError> {
    if written.iter().all(|written| !written) {
        return Ok(());
    }
    let keys: Vec<PropertyKeyId> = keys().collect();
    let read = std::mem::take(out);
    let lens: Vec<usize> = read.iter().map(<[_]>::len).collect();
    let mut items = read.items.into_iter();
    for (at, len) in lens.into_iter().enumerate() {
        let there = items.by_ref().take(len);
        if written[at] {
            there.for_each(drop);
            for key in &keys {
                let value = found(value(at, *key))?;
                out.items.extend((!value.is_null()).then_some((*key, value)));
            }
        } else {
            out.items.extend(there);
        }
        out.end_list();
    }
    Ok(())
}

impl View for Transaction<'_> {
    fn read_ts(&self) -> CommitTs {
        Transaction::read_ts(self)
    }

    fn partitions(&self) -> Partitions {
        self.reader().partitions()
    }

    fn scan(
        &self,
        label: Option<LabelId>,
        from: VertexId,
        to: VertexId,
        out: &mut Vec<VertexId>,
    ) -> Result<(), ReadError> {
        self.note(Read::AllStates);
        let start = out.len();
        self.reader().scan(label, from, to, out)?;
        let written = self.writes.states.items();
        if !self.writes.states.may_have_any(from.get().into()..=to.get().into()) {
            return Ok(());
        }
        // Both are ascending: what was found, and, once sorted, what was written.
        let holds = self.shared().catalog.label_sets.with_label(label);
        let mut written: Vec<(VertexId, bool)> = written
            .iter()
            .map(|w| (vid(w.vertex), holds[w.state as usize]))
            .filter(|(v, _)| (from..to).contains(v))
            .collect();
        written.sort_unstable();
        let mut found = out.split_off(start).into_iter().peekable();
        for (vertex, there) in written {
            while let Some(v) = found.next_if(|v| *v < vertex) {
                out.push(v);
            }
            found.next_if_eq(&vertex);
            if there {
                out.push(vertex);
            }
        }
        out.extend(found);
        Ok(())
    }

    fn vertices_exist(&self, vertices: &[VertexId], out: &mut Vec<bool>) -> Result<(), ReadError> {
        self.note_states(vertices);
        let start = out.len();
        self.reader().vertices_exist(vertices, out)?;
        self.overlay_states(vertices, &mut out[start..], |state| state != 0);
        Ok(())
    }

    fn edges_exist(&self, edges: &[EdgeId], out: &mut Vec<bool>) -> Result<(), ReadError> {
        out.extend(edges.iter().map(|edge| self.edge_exists(*edge)));
        self.shared().check_stored().map_err(failed)
    }

    fn labels(&self, vertices: &[VertexId], out: &mut Lists<LabelId>) -> Result<(), ReadError> {
        self.note_states(vertices);
        if self.writes.states.items().is_empty() {
            return View::labels(&self.reader(), vertices, out);
        }
        let mut read = Lists::default();
        View::labels(&self.reader(), vertices, &mut read)?;
        let sets = &self.shared().catalog.label_sets;
        out.clear();
        for (vertex, labels) in vertices.iter().zip(read.iter()) {
            match self.writes.states.get(vertex.get().into()) {
                Some(written) if written.state == 0 => {}
                Some(written) => out.items.extend_from_slice(&sets.labels(written.state)),
                None => out.items.extend_from_slice(labels),
            }
            out.end_list();
        }
        Ok(())
    }

    fn have_label(
        &self,
        vertices: &[VertexId],
        label: LabelId,
        out: &mut Vec<bool>,
    ) -> Result<(), ReadError> {
        self.note_states(vertices);
        let start = out.len();
        self.reader().have_label(vertices, label, out)?;
        let holds = self.shared().catalog.label_sets.with_label(Some(label));
        let holds = |state: u32| holds.get(state as usize).is_some_and(|holds| *holds);
        self.overlay_states(vertices, &mut out[start..], holds);
        Ok(())
    }

    fn expand(
        &self,
        sources: &[VertexId],
        ty: EdgeTypeId,
        dir: Direction,
        out: &mut Expansion,
    ) -> Result<(), ReadError> {
        self.note_lists(sources.iter(), ty, dir);
        self.reader().expand(sources, ty, dir, out)?;
        self.overlay_lists(sources, ty, dir, out)
    }

    fn expand_ids(
        &self,
        sources: &[VertexId],
        ty: EdgeTypeId,
        dir: Direction,
        out: &mut Expansion,
    ) -> Result<(), ReadError> {
        self.note_lists(sources.iter(), ty, dir);
        self.reader().expand_ids(sources, ty, dir, out)?;
        self.overlay_lists(sources, ty, dir, out)
    }

    fn expand_left(
        &self,
        sources: &[VertexId],
        ty: EdgeTypeId,
        dir: Direction,
        out: &mut Expansion,
    ) -> Result<(), ReadError> {
        self.expand(sources, ty, dir, out)?;
        let hidden = sources.iter().enumerate().filter(|(_, v)| self.is_deleted_connected(**v));
        let hidden: Vec<usize> = hidden.map(|(at, _)| at).collect();
        overlay(hidden, out, |at| {
            let left = found(self.edges_left(sources[at], ty, dir))?;
            Ok(left.into_iter().map(|edge| (edge.end(dir), edge.ordinal)).collect())
        })
    }

    fn for_each_run(
        &self,
        sources: &[VertexId],
        ty: EdgeTypeId,
        dir: Direction,
        each: &mut dyn FnMut(usize, Run<'_>),
    ) -> Result<(), ReadError> {
        self.note_lists(sources.iter(), ty, dir);
        let mut next = 0;
        for at in self.written_lists(sources, ty, dir) {
            let mut shifted = |place, run: Run<'_>| each(next + place, run);
            View::for_each_run(&self.reader(), &sources[next..at], ty, dir, &mut shifted)?;
            let own = self.own_list(sources[at], ty, dir)?;
            let own: Vec<VertexId> = own.into_iter().map(|(neighbour, _)| neighbour).collect();
            if !own.is_empty() {
                each(at, Run::Wide(&own));
            }
            next = at + 1;
        }
        let mut shifted = |place, run: Run<'_>| each(next + place, run);
        View::for_each_run(&self.reader(), &sources[next..], ty, dir, &mut shifted)
    }

    fn deleted_connected(&self) -> Vec<VertexId> {
        self.writes.deleted_connected.iter().map(|v| vid(*v)).collect()
    }

    fn degrees(
        &self,
        vertices: &[VertexId],
        ty: EdgeTypeId,
        dir: Direction,
        out: &mut Vec<u64>,
    ) -> Result<(), ReadError> {
        self.note_lists(vertices.iter(), ty, dir);
        let start = out.len();
        self.reader().degrees(vertices, ty, dir, out)?;
        for at in self.written_lists(vertices, ty, dir) {
            out[start + at] = found(self.degree(vertices[at], ty, dir))? as u64;
        }
        Ok(())
    }

    fn search_edges(
        &self,
        pairs: &[(VertexId, VertexId)],
        ty: EdgeTypeId,
        out: &mut Vec<bool>,
    ) -> Result<(), ReadError> {
        self.note_lists(pairs.iter().map(|(u, _)| u), ty, Direction::Out);
        let start = out.len();
        self.reader().search_edges(pairs, ty, out)?;
        for at in self.written_pairs(pairs, ty) {
            let (u, v) = pairs[at];
            out[start + at] = found(self.search_edge(ty, u, v))?;
        }
        Ok(())
    }

    fn edges_between(
        &self,
        pairs: &[(VertexId, VertexId)],
        ty: EdgeTypeId,
        out: &mut Expansion,
    ) -> Result<(), ReadError> {
        self.note_lists(pairs.iter().map(|(u, _)| u), ty, Direction::Out);
        self.reader().edges_between(pairs, ty, out)?;
        overlay(self.written_pairs(pairs, ty), out, |at| {
            let (u, v) = pairs[at];
            if self.is_deleted_connected(v) {
                return Ok(Vec::new());
            }
            let mut list = self.own_list(u, ty, Direction::Out)?;
            list.retain(|(neighbour, _)| *neighbour == v);
            Ok(list)
        })
    }

    fn vertex_properties(
        &self,
        vertices: &[VertexId],
        key: PropertyKeyId,
        out: &mut Column,
    ) -> Result<(), ReadError> {
        if self.reads.is_some() {
            for vertex in vertices {
                out.push(found(self.vertex_property(*vertex, key))?);
            }
            return Ok(());
        }
        let start = out.len();
        self.reader().vertex_properties(vertices, key, out)?;
        if !self.writes.vertex_properties.may_have_group(key.get().into()) {
            return Ok(());
        }
        // Of a vertex that is deleted every property is written: it is null.
        for (row, vertex) in (start..).zip(vertices) {
            let Some(v) = number(*vertex) else { continue };
            if let Some(w) = self.writes.vertex_properties.get(vertex_property_key(v, key)) {
                out.set(row, &w.value);
            }
        }
        Ok(())
    }

    fn edge_properties(
        &self,
        edges: &[EdgeId],
        key: PropertyKeyId,
        out: &mut Column,
    ) -> Result<(), ReadError> {
        for same in edges.chunk_by(|a, b| a.ty == b.ty) {
            let ty = same[0].ty;
            if self.reads.is_some() || self.writes.edges.may_have_group(ty.get().into()) {
                for edge in same {
                    out.push(found(self.edge_property(*edge, key))?);
                }
                continue;
            }
            let start = out.len();
            self.reader().edge_properties(same, key, out)?;
            if !self.writes.edge_properties.may_have_group(edge_property_group(ty, key)) {
                continue;
            }
            for (row, edge) in (start..).zip(same) {
                if let Some(w) = self.written_property(edge, key) {
                    out.set(row, &w.value);
                }
            }
        }
        Ok(())
    }

    fn all_vertex_properties(
        &self,
        vertices: &[VertexId],
        out: &mut Lists<(PropertyKeyId, Value)>,
    ) -> Result<(), ReadError> {
        let last = PropertyKeyId::from_raw(u16::MAX);
        let is_written = |v: u32| {
            let first = vertex_property_key(v, PropertyKeyId::from_raw(0));
            let keys = first..=vertex_property_key(v, last);
            self.reads.is_some() || self.writes.vertex_properties.may_have_any(keys)
        };
        let written: Vec<bool> =
            vertices.iter().map(|v| number(*v).is_some_and(is_written)).collect();
        self.reader().all_vertex_properties(vertices, out)?;
        let value = |at: usize, key| self.vertex_property(vertices[at], key);
        overlay_properties(&written, || self.property_keys(), out, value)
    }

    fn all_edge_properties(
        &self,
        edges: &[EdgeId],
        out: &mut Lists<(PropertyKeyId, Value)>,
    ) -> Result<(), ReadError> {
        let last = PropertyKeyId::from_raw(u16::MAX);
        let is_written = |edge: &EdgeId| {
            let place = self.place_of(edge);
            let first = edge_property_key(edge.ty, place, PropertyKeyId::from_raw(0));
            let keys = first..=edge_property_key(edge.ty, place, last);
            self.reads.is_some()
                || self.writes.edges.may_have_group(edge.ty.get().into())
                || self.writes.edge_properties.may_have_any(keys)
        };
        let written: Vec<bool> = edges.iter().map(is_written).collect();
        self.reader().all_edge_properties(edges, out)?;
        let value = |at: usize, key| self.edge_property(edges[at], key);
        overlay_properties(&written, || self.property_keys(), out, value)
    }

    fn index_vertices(
        &self,
        index: IndexId,
        range: &IndexRange,
        out: &mut Vec<VertexId>,
    ) -> Result<(), ReadError> {
        let mut found = self.index_range(index, range).map_err(failed)?;
        out.append(&mut found);
        Ok(())
    }

    fn index_edges(
        &self,
        index: IndexId,
        range: &IndexRange,
        out: &mut Vec<EdgeId>,
    ) -> Result<(), ReadError> {
        let mut found = self.index_range_edges(index, range).map_err(failed)?;
        out.append(&mut found);
        Ok(())
    }

    fn fulltext_entries(
        &self,
        index: IndexId,
        keys: Range<&[u8]>,
        f: &mut dyn FnMut(&[u8], IndexedObject) -> ControlFlow<()>,
    ) -> Result<(), ReadError> {
        self.fulltext_batch(index, &keys, f).map_err(failed)
    }

    fn fulltext_terms(
        &self,
        index: IndexId,
        keys: Range<&[u8]>,
        f: &mut dyn FnMut(&[u8]) -> ControlFlow<()>,
    ) -> Result<(), ReadError> {
        self.fulltext_terms_batch(index, &keys, f).map_err(failed)
    }

    fn fulltext_postings(
        &self,
        index: IndexId,
        beginning: &[u8],
        go_on: &mut dyn FnMut() -> ControlFlow<()>,
    ) -> Result<FulltextPostings, ReadError> {
        self.fulltext_list(index, beginning, go_on).map_err(failed)
    }

    fn fulltext_totals(&self, index: IndexId) -> Result<Vec<(u64, u64)>, ReadError> {
        self.fulltext_given(index).map_err(failed)
    }

    fn nearest(
        &self,
        index: IndexId,
        search: &mut NearSearch<'_>,
        f: &mut dyn FnMut(IndexedObject),
    ) -> Result<Nearest, ReadError> {
        self.near_batch(index, search, f).map_err(failed)
    }

    fn lookup_vertices(
        &self,
        index: IndexId,
        keys: &[Value],
        out: &mut Vec<(u32, VertexId)>,
    ) -> Result<(), ReadError> {
        let properties = self.reader().index(index)?.definition.properties.len();
        if !keys.len().is_multiple_of(properties) {
            return Err(IndexUnavailable::WrongNumberOfValues { index, properties }.into());
        }
        let mut found = Vec::new();
        for (place, key) in keys.chunks_exact(properties).enumerate() {
            let of_key = self.index_lookup(index, key).map_err(failed)?;
            found.extend(of_key.into_iter().map(|vertex| (place as u32, vertex)));
        }
        out.append(&mut found);
        Ok(())
    }
}

impl Counts for Transaction<'_> {
    /// Counts of the transaction's snapshot: its own writes are not in them.
    fn statistics(&self) -> Result<Statistics, ReadError> {
        self.reader().statistics()
    }

    fn count_vertices(&self, label: Option<LabelId>) -> Result<Option<u64>, ReadError> {
        if !self.writes.states.items().is_empty() {
            return Ok(None);
        }
        self.note(Read::AllStates);
        self.reader().count_vertices(label)
    }

    fn count_edges(&self, ty: EdgeTypeId) -> Result<Option<u64>, ReadError> {
        // What is noted for validation are lists of neighbours: of each vertex its own.
        let written =
            !self.writes.edges.items().is_empty() || !self.writes.states.items().is_empty();
        if written || self.reads.is_some() {
            return Ok(None);
        }
        self.reader().count_edges(ty)
    }

    fn estimates(&self) -> Arc<Estimates> {
        self.reader().estimates()
    }
}
