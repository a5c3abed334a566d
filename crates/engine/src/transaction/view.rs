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

use std::ops::Range;
use std::sync::Arc;

use telar_graph::name::NameKind;
use telar_graph::{
    CommitTs, Direction, EdgeId, EdgeTypeId, Estimates, Expansion, IndexId, IndexRange,
    IndexUnavailable, LabelId, PropertyKeyId, Statistics, Value, VertexId, View,
};

use super::{Transaction, vid};
use crate::catalog::Catalog;
use crate::error::Error;
use crate::snapshot::number;
use crate::txn::write_set::{Read, edge_property_group, edge_property_key, vertex_property_key};

/// Of a read through an index, the only error that is the index's own.
fn unavailable(error: Error, index: IndexId) -> IndexUnavailable {
    match error {
        Error::Index(unavailable) => unavailable,
        _ => IndexUnavailable::Damaged(index),
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

    /// Every property key, to read all of them.
    fn property_keys(&self) -> impl Iterator<Item = PropertyKeyId> + use<> {
        self.look_for(NameKind::PropertyKey, Catalog::property_key_ids, |_| false)
    }

    /// True if the snapshot has every value of a vertex property as this transaction sees it.
    fn reads_as_snapshot(&self, key: PropertyKeyId) -> bool {
        self.reads.is_none() && !self.writes.vertex_properties.may_have_group(key.get().into())
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
    fn own_list(&self, vertex: VertexId, ty: EdgeTypeId, dir: Direction) -> Vec<(VertexId, u32)> {
        let edges = self.edges(vertex, ty, dir).into_iter().flatten();
        edges.map(|edge| (edge.end(dir), edge.ordinal)).collect()
    }

    /// Replaces the lists in `out` of vertices at which this transaction has written.
    fn overlay_lists(
        &self,
        sources: &[VertexId],
        ty: EdgeTypeId,
        dir: Direction,
        out: &mut Expansion,
    ) {
        let written = self.written_lists(sources, ty, dir);
        overlay(written, out, |at| self.own_list(sources[at], ty, dir));
    }
}

/// Replaces the lists at the places `written` by what `own` says of them. Ordinals are left out
/// where `out` has none.
fn overlay(written: Vec<usize>, out: &mut Expansion, own: impl Fn(usize) -> Vec<(VertexId, u32)>) {
    if written.is_empty() {
        return;
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
        for (neighbour, ordinal) in own(at) {
            out.neighbours.push(neighbour);
            if has_ordinals {
                out.ordinals.push(ordinal);
            }
        }
        out.offsets.push(out.neighbours.len() as u32);
        next = at + 1;
    }
    copy(out, next..read.offsets.len() - 1);
}

impl View for Transaction<'_> {
    fn read_ts(&self) -> CommitTs {
        Transaction::read_ts(self)
    }

    fn vertex_bound(&self) -> VertexId {
        self.reader().vertex_bound()
    }

    fn scan(&self, label: Option<LabelId>, from: VertexId, to: VertexId, out: &mut Vec<VertexId>) {
        self.note(Read::AllStates);
        let start = out.len();
        self.reader().scan(label, from, to, out);
        let written = self.writes.states.items();
        if !self.writes.states.may_have_any(from.get().into()..=to.get().into()) {
            return;
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
    }

    fn edge_exists(&self, edge: EdgeId) -> bool {
        Transaction::edge_exists(self, edge)
    }

    fn labels(&self, vertex: VertexId) -> Option<Vec<LabelId>> {
        Transaction::labels(self, vertex).ok()
    }

    fn have_label(&self, vertices: &[VertexId], label: LabelId, out: &mut Vec<bool>) {
        if self.reads.is_some() {
            vertices.iter().filter_map(|v| number(*v)).for_each(|v| self.note(Read::State(v)));
        }
        let start = out.len();
        self.reader().have_label(vertices, label, out);
        if self.writes.states.items().is_empty() {
            return;
        }
        let holds = self.shared().catalog.label_sets.with_label(Some(label));
        for (vertex, has) in vertices.iter().zip(&mut out[start..]) {
            if let Some(written) = self.writes.states.get(vertex.get().into()) {
                *has = holds.get(written.state as usize).is_some_and(|holds| *holds);
            }
        }
    }

    fn expand(&self, sources: &[VertexId], ty: EdgeTypeId, dir: Direction, out: &mut Expansion) {
        self.note_lists(sources.iter(), ty, dir);
        self.reader().expand(sources, ty, dir, out);
        self.overlay_lists(sources, ty, dir, out);
    }

    fn expand_ids(
        &self,
        sources: &[VertexId],
        ty: EdgeTypeId,
        dir: Direction,
        out: &mut Expansion,
    ) {
        self.note_lists(sources.iter(), ty, dir);
        self.reader().expand_ids(sources, ty, dir, out);
        self.overlay_lists(sources, ty, dir, out);
    }

    fn degrees(&self, vertices: &[VertexId], ty: EdgeTypeId, dir: Direction, out: &mut Vec<u64>) {
        self.note_lists(vertices.iter(), ty, dir);
        let start = out.len();
        self.reader().degrees(vertices, ty, dir, out);
        for at in self.written_lists(vertices, ty, dir) {
            out[start + at] = self.degree(vertices[at], ty, dir).map_or(0, |n| n as u64);
        }
    }

    fn search_edges(&self, pairs: &[(VertexId, VertexId)], ty: EdgeTypeId, out: &mut Vec<bool>) {
        self.note_lists(pairs.iter().map(|(u, _)| u), ty, Direction::Out);
        let start = out.len();
        self.reader().search_edges(pairs, ty, out);
        for at in self.written_pairs(pairs, ty) {
            let (u, v) = pairs[at];
            out[start + at] = self.search_edge(ty, u, v).unwrap_or(false);
        }
    }

    fn edges_between(&self, pairs: &[(VertexId, VertexId)], ty: EdgeTypeId, out: &mut Expansion) {
        self.note_lists(pairs.iter().map(|(u, _)| u), ty, Direction::Out);
        self.reader().edges_between(pairs, ty, out);
        overlay(self.written_pairs(pairs, ty), out, |at| {
            let (u, v) = pairs[at];
            if self.is_deleted_connected(v) {
                return Vec::new();
            }
            let mut list = self.own_list(u, ty, Direction::Out);
            list.retain(|(neighbour, _)| *neighbour == v);
            list
        });
    }

    fn vertex_properties(&self, vertices: &[VertexId], key: PropertyKeyId, out: &mut Vec<Value>) {
        if self.reads.is_some() {
            let value = |v: &VertexId| self.vertex_property(*v, key).unwrap_or_default();
            return out.extend(vertices.iter().map(value));
        }
        let start = out.len();
        self.reader().vertex_properties(vertices, key, out);
        if !self.writes.vertex_properties.may_have_group(key.get().into()) {
            return;
        }
        // Of a vertex that is deleted every property is written: it is null.
        for (vertex, value) in vertices.iter().zip(&mut out[start..]) {
            let Some(v) = number(*vertex) else { continue };
            if let Some(w) = self.writes.vertex_properties.get(vertex_property_key(v, key)) {
                value.clone_from(&w.value);
            }
        }
    }

    fn vertex_ints(&self, vertices: &[VertexId], key: PropertyKeyId, out: &mut Vec<i64>) -> bool {
        self.reads_as_snapshot(key) && self.reader().vertex_ints(vertices, key, out)
    }

    fn vertex_texts(
        &self,
        vertices: &[VertexId],
        key: PropertyKeyId,
        each: &mut dyn FnMut(Option<&str>),
    ) -> bool {
        self.reads_as_snapshot(key) && self.reader().vertex_texts(vertices, key, each)
    }

    fn edge_properties(&self, edges: &[EdgeId], key: PropertyKeyId, out: &mut Vec<Value>) {
        for same in edges.chunk_by(|a, b| a.ty == b.ty) {
            let ty = same[0].ty;
            if self.reads.is_some() || self.writes.edges.may_have_group(ty.get().into()) {
                let value = |e: &EdgeId| self.edge_property(*e, key).unwrap_or_default();
                out.extend(same.iter().map(value));
                continue;
            }
            let start = out.len();
            self.reader().edge_properties(same, key, out);
            if !self.writes.edge_properties.may_have_group(edge_property_group(ty, key)) {
                continue;
            }
            for (edge, value) in same.iter().zip(&mut out[start..]) {
                let written = edge_property_key(ty, edge.ordinal, key);
                if let Some(w) = self.writes.edge_properties.get(written) {
                    value.clone_from(&w.value);
                }
            }
        }
    }

    fn edge_ints(&self, edges: &[EdgeId], key: PropertyKeyId, out: &mut Vec<i64>) -> bool {
        let as_snapshot = |ty: EdgeTypeId| {
            !self.writes.edges.may_have_group(ty.get().into())
                && !self.writes.edge_properties.may_have_group(edge_property_group(ty, key))
        };
        let mut types = edges.chunk_by(|a, b| a.ty == b.ty).map(|same| same[0].ty);
        self.reads.is_none() && types.all(as_snapshot) && self.reader().edge_ints(edges, key, out)
    }

    fn all_vertex_properties(&self, vertex: VertexId, out: &mut Vec<(PropertyKeyId, Value)>) {
        let Some(v) = number(vertex) else { return };
        let last = PropertyKeyId::from_raw(u16::MAX);
        let keys =
            vertex_property_key(v, PropertyKeyId::from_raw(0))..=vertex_property_key(v, last);
        if self.reads.is_none() && !self.writes.vertex_properties.may_have_any(keys) {
            return self.reader().all_vertex_properties(vertex, out);
        }
        let keys = self.property_keys();
        let value = |key| (key, self.vertex_property(vertex, key).unwrap_or_default());
        out.extend(keys.map(value).filter(|(_, value)| !value.is_null()));
    }

    fn all_edge_properties(&self, edge: EdgeId, out: &mut Vec<(PropertyKeyId, Value)>) {
        let last = PropertyKeyId::from_raw(u16::MAX);
        let first = edge_property_key(edge.ty, edge.ordinal, PropertyKeyId::from_raw(0));
        let keys = first..=edge_property_key(edge.ty, edge.ordinal, last);
        let written = self.writes.edges.may_have_group(edge.ty.get().into())
            || self.writes.edge_properties.may_have_any(keys);
        if self.reads.is_none() && !written {
            return self.reader().all_edge_properties(edge, out);
        }
        let keys = self.property_keys();
        let value = |key| (key, self.edge_property(edge, key).unwrap_or_default());
        out.extend(keys.map(value).filter(|(_, value)| !value.is_null()));
    }

    fn index_vertices(
        &self,
        index: IndexId,
        range: &IndexRange,
        out: &mut Vec<VertexId>,
    ) -> Result<(), IndexUnavailable> {
        let mut found = self.index_range(index, range).map_err(|e| unavailable(e, index))?;
        out.append(&mut found);
        Ok(())
    }

    fn index_edges(
        &self,
        index: IndexId,
        range: &IndexRange,
        out: &mut Vec<EdgeId>,
    ) -> Result<(), IndexUnavailable> {
        let mut found = self.index_range_edges(index, range).map_err(|e| unavailable(e, index))?;
        out.append(&mut found);
        Ok(())
    }

    fn lookup_vertices(
        &self,
        index: IndexId,
        keys: &[Value],
        out: &mut Vec<(u32, VertexId)>,
    ) -> Result<(), IndexUnavailable> {
        let properties = self.reader().index(index)?.definition.properties.len();
        if !keys.len().is_multiple_of(properties) {
            return Err(IndexUnavailable::WrongNumberOfValues { index, properties });
        }
        let mut found = Vec::new();
        for (place, key) in keys.chunks_exact(properties).enumerate() {
            let of_key = self.index_lookup(index, key).map_err(|e| unavailable(e, index))?;
            found.extend(of_key.into_iter().map(|vertex| (place as u32, vertex)));
        }
        out.append(&mut found);
        Ok(())
    }

    fn error(&self) -> Option<Box<dyn std::error::Error + Send + Sync>> {
        self.shared().check_stored().err().map(Into::into)
    }

    /// Counts of the transaction's snapshot: its own writes are not in them.
    fn statistics(&self) -> Statistics {
        self.reader().statistics()
    }

    fn expand_left(
        &self,
        sources: &[VertexId],
        ty: EdgeTypeId,
        dir: Direction,
        out: &mut Expansion,
    ) {
        self.expand(sources, ty, dir, out);
        let hidden = sources.iter().enumerate().filter(|(_, v)| self.is_deleted_connected(**v));
        let hidden: Vec<usize> = hidden.map(|(at, _)| at).collect();
        overlay(hidden, out, |at| {
            let left = self.edges_left(sources[at], ty, dir).into_iter().flatten();
            left.map(|edge| (edge.end(dir), edge.ordinal)).collect()
        });
    }

    fn deleted_connected(&self) -> Vec<VertexId> {
        self.writes.deleted_connected.iter().map(|v| vid(*v)).collect()
    }

    fn count_vertices(&self, label: Option<LabelId>) -> Option<u64> {
        if !self.writes.states.items().is_empty() {
            return None;
        }
        self.note(Read::AllStates);
        self.reader().count_vertices(label)
    }

    fn count_edges(&self, ty: EdgeTypeId) -> Option<u64> {
        // What is noted for validation are lists of neighbours: of each vertex its own.
        let written =
            !self.writes.edges.items().is_empty() || !self.writes.states.items().is_empty();
        if written || self.reads.is_some() {
            return None;
        }
        self.reader().count_edges(ty)
    }

    fn estimates(&self) -> Arc<Estimates> {
        self.reader().estimates()
    }
}
