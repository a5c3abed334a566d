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

use std::ops::{ControlFlow, Range};
use std::sync::Arc;

use telar_graph::update::ReadableIndex;
use telar_graph::view::{FulltextPostings, IndexedObject, NearSearch, Nearest};
use telar_graph::{
    Column, CommitTs, Counts, Direction, EdgeId, EdgeTypeId, Estimates, Expansion, IndexId,
    IndexRange, LabelId, Lists, Partitions, PropertyKeyId, ReadError, Run, Schema, SchemaRule,
    Statistics, Value, VertexId, View,
};

use super::{Registration, Snapshot};

macro_rules! reads_by_call {
    ($reads:ident) => {
        impl View for $reads<'_> {
            fn read_ts(&self) -> CommitTs {
                self.reader().read_ts()
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
                self.reader().scan(label, from, to, out)
            }

            fn vertices_exist(
                &self,
                vertices: &[VertexId],
                out: &mut Vec<bool>,
            ) -> Result<(), ReadError> {
                self.reader().vertices_exist(vertices, out)
            }

            fn edges_exist(&self, edges: &[EdgeId], out: &mut Vec<bool>) -> Result<(), ReadError> {
                self.reader().edges_exist(edges, out)
            }

            fn labels(
                &self,
                vertices: &[VertexId],
                out: &mut Lists<LabelId>,
            ) -> Result<(), ReadError> {
                View::labels(&self.reader(), vertices, out)
            }

            fn have_label(
                &self,
                vertices: &[VertexId],
                label: LabelId,
                out: &mut Vec<bool>,
            ) -> Result<(), ReadError> {
                self.reader().have_label(vertices, label, out)
            }

            fn expand(
                &self,
                sources: &[VertexId],
                ty: EdgeTypeId,
                dir: Direction,
                out: &mut Expansion,
            ) -> Result<(), ReadError> {
                self.reader().expand(sources, ty, dir, out)
            }

            fn expand_ids(
                &self,
                sources: &[VertexId],
                ty: EdgeTypeId,
                dir: Direction,
                out: &mut Expansion,
            ) -> Result<(), ReadError> {
                self.reader().expand_ids(sources, ty, dir, out)
            }

            fn degrees(
                &self,
                vertices: &[VertexId],
                ty: EdgeTypeId,
                dir: Direction,
                out: &mut Vec<u64>,
            ) -> Result<(), ReadError> {
                self.reader().degrees(vertices, ty, dir, out)
            }

            fn search_edges(
                &self,
                pairs: &[(VertexId, VertexId)],
                ty: EdgeTypeId,
                out: &mut Vec<bool>,
            ) -> Result<(), ReadError> {
                self.reader().search_edges(pairs, ty, out)
            }

            fn edges_between(
                &self,
                pairs: &[(VertexId, VertexId)],
                ty: EdgeTypeId,
                out: &mut Expansion,
            ) -> Result<(), ReadError> {
                self.reader().edges_between(pairs, ty, out)
            }

            fn vertex_properties(
                &self,
                vertices: &[VertexId],
                key: PropertyKeyId,
                out: &mut Column,
            ) -> Result<(), ReadError> {
                self.reader().vertex_properties(vertices, key, out)
            }

            fn edge_properties(
                &self,
                edges: &[EdgeId],
                key: PropertyKeyId,
                out: &mut Column,
            ) -> Result<(), ReadError> {
                self.reader().edge_properties(edges, key, out)
            }

            fn all_vertex_properties(
                &self,
                vertices: &[VertexId],
                out: &mut Lists<(PropertyKeyId, Value)>,
            ) -> Result<(), ReadError> {
                self.reader().all_vertex_properties(vertices, out)
            }

            fn all_edge_properties(
                &self,
                edges: &[EdgeId],
                out: &mut Lists<(PropertyKeyId, Value)>,
            ) -> Result<(), ReadError> {
                self.reader().all_edge_properties(edges, out)
            }

            fn index_vertices(
                &self,
                index: IndexId,
                range: &IndexRange,
                out: &mut Vec<VertexId>,
            ) -> Result<(), ReadError> {
                self.reader().index_vertices(index, range, out)
            }

            fn index_edges(
                &self,
                index: IndexId,
                range: &IndexRange,
                out: &mut Vec<EdgeId>,
            ) -> Result<(), ReadError> {
                self.reader().index_edges(index, range, out)
            }

            fn fulltext_entries(
                &self,
                index: IndexId,
                keys: Range<&[u8]>,
                f: &mut dyn FnMut(&[u8], IndexedObject) -> ControlFlow<()>,
            ) -> Result<(), ReadError> {
                self.reader().fulltext_entries(index, keys, f)
            }

            fn fulltext_terms(
                &self,
                index: IndexId,
                keys: Range<&[u8]>,
                f: &mut dyn FnMut(&[u8]) -> ControlFlow<()>,
            ) -> Result<(), ReadError> {
                self.reader().fulltext_terms(index, keys, f)
            }

            fn fulltext_postings(
                &self,
                index: IndexId,
                beginning: &[u8],
                go_on: &mut dyn FnMut() -> ControlFlow<()>,
            ) -> Result<FulltextPostings, ReadError> {
                self.reader().fulltext_postings(index, beginning, go_on)
            }

            fn fulltext_totals(&self, index: IndexId) -> Result<Vec<(u64, u64)>, ReadError> {
                self.reader().fulltext_totals(index)
            }

            fn nearest(
                &self,
                index: IndexId,
                search: &mut NearSearch<'_>,
                f: &mut dyn FnMut(IndexedObject),
            ) -> Result<Nearest, ReadError> {
                self.reader().nearest(index, search, f)
            }

            fn lookup_vertices(
                &self,
                index: IndexId,
                keys: &[Value],
                out: &mut Vec<(u32, VertexId)>,
            ) -> Result<(), ReadError> {
                self.reader().lookup_vertices(index, keys, out)
            }

            fn for_each_run(
                &self,
                sources: &[VertexId],
                ty: EdgeTypeId,
                dir: Direction,
                each: &mut dyn FnMut(usize, Run<'_>),
            ) -> Result<(), ReadError> {
                View::for_each_run(&self.reader(), sources, ty, dir, each)
            }

            fn for_each_run_of(
                &self,
                sources: Range<u64>,
                ty: EdgeTypeId,
                dir: Direction,
                each: &mut dyn FnMut(u64, Run<'_>),
            ) -> Result<(), ReadError> {
                View::for_each_run_of(&self.reader(), sources, ty, dir, each)
            }
        }

        impl Counts for $reads<'_> {
            fn statistics(&self) -> Result<Statistics, ReadError> {
                self.reader().statistics()
            }

            fn count_vertices(&self, label: Option<LabelId>) -> Result<Option<u64>, ReadError> {
                self.reader().count_vertices(label)
            }

            fn count_edges(&self, ty: EdgeTypeId) -> Result<Option<u64>, ReadError> {
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

            fn has_only_committed_names(&self) -> bool {
                self.reader().has_only_committed_names()
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

            fn schema_rules(&self) -> Vec<SchemaRule> {
                self.reader().schema_rules()
            }
        }
    };
}

reads_by_call!(Snapshot);
reads_by_call!(Registration);
