//! Snapshots that are read without keeping the epoch pinned.
//!
//! A [`Reader`] keeps the memory that others let go while it lives. A query may live long: it scans
//! more than memory holds, or waits for a client that takes its rows. What it reads through is
//! therefore the snapshot itself, of which every call is one of a reader of its own, or a
//! [`RenewedReader`], which keeps one for some calls. So what is evicted is free after some calls,
//! and each new reader evicts if there is need. The registration of the snapshot, not the pin,
//! keeps what it sees.
//!
//! Cost: a pin, some 10 ns, for each call, or for some of them.

use std::cell::Cell;
use std::error::Error;
use std::fmt;
use std::ops::Deref;
use std::sync::Arc;

use telar_graph::update::ReadableIndex;
use telar_graph::{
    CommitTs, Direction, EdgeId, EdgeTypeId, Estimates, Expansion, IndexId, IndexRange,
    IndexUnavailable, LabelId, PropertyKeyId, Rule, Schema, Statistics, Value, VertexId, View,
};

use super::{Reader, Snapshot, TransactionSnapshot};

/// Calls of one reader.
// PERF: telar bench cypher, point and one_hop: a pin per call costs 3 to 4 %.
const CALLS: u32 = 16;

#[derive(Debug, Clone, Copy)]
enum Source<'s> {
    Snapshot(&'s Snapshot<'s>),
    Transaction(TransactionSnapshot<'s>),
}

/// A reader of a snapshot that is renewed every few calls. For one thread.
pub struct RenewedReader<'s> {
    source: Source<'s>,
    kept: Cell<Option<Reader<'s>>>,
    /// Calls that the kept reader has served.
    calls: Cell<u32>,
    /// True while none is kept.
    rests: Cell<bool>,
}

impl fmt::Debug for RenewedReader<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RenewedReader").field("source", &self.source).finish_non_exhaustive()
    }
}

impl<'s> RenewedReader<'s> {
    fn new(source: Source<'s>) -> Self {
        Self { source, kept: Cell::new(None), calls: Cell::new(0), rests: Cell::new(false) }
    }

    /// Does something that may take long, and may read, while no reader is kept from call to call.
    pub fn rest<T>(&self, work: impl FnOnce() -> T) -> T {
        self.kept.set(None);
        let before = self.rests.replace(true);
        let done = work();
        self.rests.set(before);
        done
    }

    fn reader(&self) -> Lent<'_, 's> {
        let reader = self.kept.take().unwrap_or_else(|| {
            self.calls.set(0);
            match &self.source {
                Source::Snapshot(snapshot) => snapshot.reader(),
                Source::Transaction(snapshot) => snapshot.open(),
            }
        });
        Lent { reader: Some(reader), from: self }
    }
}

impl<'s> Snapshot<'s> {
    /// A reader that is renewed every few calls, for queries.
    #[must_use]
    pub fn renewed(&'s self) -> RenewedReader<'s> {
        RenewedReader::new(Source::Snapshot(self))
    }
}

impl<'t> TransactionSnapshot<'t> {
    /// As [`Snapshot::renewed`].
    #[must_use]
    pub fn renewed(self) -> RenewedReader<'t> {
        RenewedReader::new(Source::Transaction(self))
    }
}

/// The reader of one call.
struct Lent<'r, 's> {
    reader: Option<Reader<'s>>,
    from: &'r RenewedReader<'s>,
}

impl<'s> Deref for Lent<'_, 's> {
    type Target = Reader<'s>;

    fn deref(&self) -> &Reader<'s> {
        self.reader.as_ref().expect("INVARIANT: there until it is dropped")
    }
}

impl Drop for Lent<'_, '_> {
    fn drop(&mut self) {
        let calls = self.from.calls.get() + 1;
        self.from.calls.set(calls);
        if calls < CALLS && !self.from.rests.get() {
            self.from.kept.set(self.reader.take());
        }
    }
}

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
reads_by_call!(RenewedReader);
