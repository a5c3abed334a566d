//! Batched reads of a transaction: its snapshot with its own writes over it.
//!
//! Every read is noted for validation, as those of the single reads are. Where the transaction has
//! written nothing of a kind, a batch goes to the snapshot's reader as it is.

use std::sync::Arc;

use telar_graph::{
    CommitTs, Direction, EdgeId, EdgeTypeId, Estimates, Expansion, IndexId, IndexRange,
    IndexUnavailable, LabelId, PropertyKeyId, Statistics, Value, VertexId, View,
};

use super::{Transaction, vid};
use crate::error::Error;
use crate::snapshot::number;
use crate::txn::write_set::Read;

/// Of a read through an index, the only error that is the index's own.
fn unavailable(error: Error, index: IndexId) -> IndexUnavailable {
    match error {
        Error::Index(unavailable) => unavailable,
        _ => IndexUnavailable::Damaged(index),
    }
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
        if written.is_empty() {
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
        let holds = self.shared().catalog.label_sets.with_label(Some(label));
        let reader = self.reader();
        out.extend(vertices.iter().map(|vertex| {
            let Some(v) = number(*vertex) else { return false };
            self.note(Read::State(v));
            let written = self.writes.states.get(v.into());
            let state = written.map_or_else(|| reader.state(v), |w| w.state);
            holds.get(state as usize).is_some_and(|h| *h)
        }));
    }

    fn expand(&self, sources: &[VertexId], ty: EdgeTypeId, dir: Direction, out: &mut Expansion) {
        if self.writes.edges.items().is_empty() {
            for v in sources.iter().filter_map(|v| number(*v)) {
                self.note(Read::Neighbours(ty, dir, v));
            }
            return self.reader().expand(sources, ty, dir, out);
        }
        out.clear();
        out.offsets.push(0);
        for source in sources {
            for edge in self.edges(*source, ty, dir).into_iter().flatten() {
                out.neighbours.push(edge.end(dir));
                out.ordinals.push(edge.ordinal);
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
        if !self.writes.edges.items().is_empty() {
            return self.expand(sources, ty, dir, out);
        }
        for v in sources.iter().filter_map(|v| number(*v)) {
            self.note(Read::Neighbours(ty, dir, v));
        }
        self.reader().expand_ids(sources, ty, dir, out);
    }

    fn degrees(&self, vertices: &[VertexId], ty: EdgeTypeId, dir: Direction, out: &mut Vec<u64>) {
        out.extend(vertices.iter().map(|v| self.degree(*v, ty, dir).map_or(0, |n| n as u64)));
    }

    fn search_edges(&self, pairs: &[(VertexId, VertexId)], ty: EdgeTypeId, out: &mut Vec<bool>) {
        out.extend(pairs.iter().map(|(u, v)| self.search_edge(ty, *u, *v).unwrap_or(false)));
    }

    fn edges_between(&self, pairs: &[(VertexId, VertexId)], ty: EdgeTypeId, out: &mut Expansion) {
        if self.writes.edges.items().is_empty() {
            for u in pairs.iter().filter_map(|(u, _)| number(*u)) {
                self.note(Read::Neighbours(ty, Direction::Out, u));
            }
            return self.reader().edges_between(pairs, ty, out);
        }
        out.clear();
        out.offsets.push(0);
        for (source, target) in pairs {
            let edges = self.edges(*source, ty, Direction::Out).into_iter().flatten();
            for edge in edges.filter(|edge| edge.dst == *target) {
                out.neighbours.push(*target);
                out.ordinals.push(edge.ordinal);
            }
            out.offsets.push(out.neighbours.len() as u32);
        }
    }

    fn vertex_properties(&self, vertices: &[VertexId], key: PropertyKeyId, out: &mut Vec<Value>) {
        out.extend(vertices.iter().map(|v| self.vertex_property(*v, key).unwrap_or_default()));
    }

    fn edge_properties(&self, edges: &[EdgeId], key: PropertyKeyId, out: &mut Vec<Value>) {
        out.extend(edges.iter().map(|e| self.edge_property(*e, key).unwrap_or_default()));
    }

    fn all_vertex_properties(&self, vertex: VertexId, out: &mut Vec<(PropertyKeyId, Value)>) {
        let keys = self.shared().catalog.property_key_ids();
        let value = |key| (key, self.vertex_property(vertex, key).unwrap_or_default());
        out.extend(keys.map(value).filter(|(_, value)| !value.is_null()));
    }

    fn all_edge_properties(&self, edge: EdgeId, out: &mut Vec<(PropertyKeyId, Value)>) {
        let keys = self.shared().catalog.property_key_ids();
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
