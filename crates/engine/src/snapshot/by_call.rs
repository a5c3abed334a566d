//! A snapshot that pins the epoch only while it is asked.
//!
//! A [`Reader`] keeps the memory that others let go while it lives. A query may live long: it scans
//! more than memory holds, or waits for a client that takes its rows. What it reads through is the
//! snapshot itself, of which every call is one of a reader of its own. So what is evicted is free
//! after some calls, and each call evicts if there is need. The registration of the snapshot, not
//! the pin, keeps what it sees.
//!
//! Cost: a pin for each call, some 10 ns; queries ask for batches. A reader that is kept for 16
//! calls was tried: to put it away and take it out again costs point reads more than the pin.

use std::error::Error;
use std::sync::Arc;

use telar_graph::update::ReadableIndex;
use telar_graph::{
    CommitTs, Direction, EdgeId, EdgeTypeId, Estimates, Expansion, IndexId, IndexRange,
    IndexUnavailable, LabelId, PropertyKeyId, Rule, Schema, Statistics, Value, VertexId, View,
};

use super::{Snapshot, TransactionSnapshot};

macro_rules! reads_by_call {
    ($reads:ident) => {
        impl View for $reads<'_> {
            fn read_ts(&self) -> CommitTs {
                self.reader().read_ts()
            }

            fn vertex_bound(&self) -> VertexId {
                self.reader().vertex_bound()
            }

            fn scan(
                &self,
                label: Option<LabelId>,
                from: VertexId,
                to: VertexId,
                out: &mut Vec<VertexId>,
            ) {
                self.reader().scan(label, from, to, out)
            }

            fn edge_exists(&self, edge: EdgeId) -> bool {
                self.reader().edge_exists(edge)
            }

            fn labels(&self, vertex: VertexId) -> Option<Vec<LabelId>> {
                self.reader().labels(vertex)
            }

            fn have_label(&self, vertices: &[VertexId], label: LabelId, out: &mut Vec<bool>) {
                self.reader().have_label(vertices, label, out)
            }

            fn expand(
                &self,
                sources: &[VertexId],
                ty: EdgeTypeId,
                dir: Direction,
                out: &mut Expansion,
            ) {
                self.reader().expand(sources, ty, dir, out)
            }

            fn expand_ids(
                &self,
                sources: &[VertexId],
                ty: EdgeTypeId,
                dir: Direction,
                out: &mut Expansion,
            ) {
                self.reader().expand_ids(sources, ty, dir, out)
            }

            fn degrees(
                &self,
                vertices: &[VertexId],
                ty: EdgeTypeId,
                dir: Direction,
                out: &mut Vec<u64>,
            ) {
                self.reader().degrees(vertices, ty, dir, out)
            }

            fn search_edges(
                &self,
                pairs: &[(VertexId, VertexId)],
                ty: EdgeTypeId,
                out: &mut Vec<bool>,
            ) {
                self.reader().search_edges(pairs, ty, out)
            }

            fn edges_between(
                &self,
                pairs: &[(VertexId, VertexId)],
                ty: EdgeTypeId,
                out: &mut Expansion,
            ) {
                self.reader().edges_between(pairs, ty, out)
            }

            fn vertex_properties(
                &self,
                vertices: &[VertexId],
                key: PropertyKeyId,
                out: &mut Vec<Value>,
            ) {
                self.reader().vertex_properties(vertices, key, out)
            }

            fn vertex_ints(
                &self,
                vertices: &[VertexId],
                key: PropertyKeyId,
                out: &mut Vec<i64>,
            ) -> bool {
                self.reader().vertex_ints(vertices, key, out)
            }

            fn vertex_texts(
                &self,
                vertices: &[VertexId],
                key: PropertyKeyId,
                each: &mut dyn FnMut(Option<&str>),
            ) -> bool {
                self.reader().vertex_texts(vertices, key, each)
            }

            fn edge_properties(&self, edges: &[EdgeId], key: PropertyKeyId, out: &mut Vec<Value>) {
                self.reader().edge_properties(edges, key, out)
            }

            fn edge_ints(&self, edges: &[EdgeId], key: PropertyKeyId, out: &mut Vec<i64>) -> bool {
                self.reader().edge_ints(edges, key, out)
            }

            fn all_vertex_properties(
                &self,
                vertex: VertexId,
                out: &mut Vec<(PropertyKeyId, Value)>,
            ) {
                self.reader().all_vertex_properties(vertex, out)
            }

            fn all_edge_properties(&self, edge: EdgeId, out: &mut Vec<(PropertyKeyId, Value)>) {
                self.reader().all_edge_properties(edge, out)
            }

            fn index_vertices(
                &self,
                index: IndexId,
                range: &IndexRange,
                out: &mut Vec<VertexId>,
            ) -> Result<(), IndexUnavailable> {
                self.reader().index_vertices(index, range, out)
            }

            fn index_edges(
                &self,
                index: IndexId,
                range: &IndexRange,
                out: &mut Vec<EdgeId>,
            ) -> Result<(), IndexUnavailable> {
                self.reader().index_edges(index, range, out)
            }

            fn lookup_vertices(
                &self,
                index: IndexId,
                keys: &[Value],
                out: &mut Vec<(u32, VertexId)>,
            ) -> Result<(), IndexUnavailable> {
                self.reader().lookup_vertices(index, keys, out)
            }

            fn error(&self) -> Option<Box<dyn Error + Send + Sync>> {
                self.reader().error()
            }

            fn statistics(&self) -> Statistics {
                self.reader().statistics()
            }

            fn count_vertices(&self, label: Option<LabelId>) -> Option<u64> {
                self.reader().count_vertices(label)
            }

            fn count_edges(&self, ty: EdgeTypeId) -> Option<u64> {
                self.reader().count_edges(ty)
            }

            fn estimates(&self) -> Arc<Estimates> {
                self.reader().estimates()
            }
        }

        impl Schema for $reads<'_> {
            fn find_label(&self, name: &str) -> Option<LabelId> {
                self.reader().find_label(name)
            }

            fn find_edge_type(&self, name: &str) -> Option<EdgeTypeId> {
                self.reader().find_edge_type(name)
            }

            fn find_property_key(&self, name: &str) -> Option<PropertyKeyId> {
                self.reader().find_property_key(name)
            }

            fn label_names(&self) -> Vec<String> {
                self.reader().label_names()
            }

            fn edge_type_names(&self) -> Vec<String> {
                self.reader().edge_type_names()
            }

            fn property_key_names(&self) -> Vec<String> {
                self.reader().property_key_names()
            }

            fn readable_indexes(&self) -> Vec<ReadableIndex> {
                self.reader().readable_indexes()
            }

            fn rules(&self) -> Vec<Rule> {
                self.reader().rules()
            }
        }
    };
}

reads_by_call!(Snapshot);
reads_by_call!(TransactionSnapshot);
