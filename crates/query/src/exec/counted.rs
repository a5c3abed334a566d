//! A graph that counts what it is asked for: vertices, neighbours, values and changes.

use std::ops::{ControlFlow, Range};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use telar_graph::update::{IndexedObjects, ReadableIndex, UpdateError};
use telar_graph::view::{FulltextPostings, IndexedObject, NearSearch, Nearest};
use telar_graph::{
    Column, CommitTs, Counts, Direction, EdgeId, EdgeTypeId, Estimates, Expansion, Graph, IndexId,
    IndexOptions, IndexRange, LabelId, Lists, Partitions, PropertyKeyId, ReadError, Run, Schema,
    SchemaKind, SchemaRule, Statistics, Update, Value, VertexId, View,
};

/// A snapshot that counts.
pub(crate) struct CountedRead<'g> {
    pub(crate) graph: &'g dyn Graph,
    pub(crate) hits: &'g AtomicU64,
}

/// A transaction that counts.
pub(crate) struct CountedWrite<'g> {
    pub(crate) graph: &'g mut dyn Update,
    pub(crate) hits: &'g AtomicU64,
}

/// What a batch is counted as: each vertex, neighbour or value once, and the call itself if there
/// are none.
fn add(hits: &AtomicU64, count: usize) {
    // ORDERING: relaxed, as it counts and orders nothing.
    hits.fetch_add(count.max(1) as u64, Ordering::Relaxed);
}

macro_rules! counted {
    ($counted:ident) => {
        impl View for $counted<'_> {
            fn read_ts(&self) -> CommitTs {
                self.graph.read_ts()
            }

            fn partitions(&self) -> Partitions {
                self.graph.partitions()
            }

            fn scan(
                &self,
                label: Option<LabelId>,
                from: VertexId,
                to: VertexId,
                out: &mut Vec<VertexId>,
            ) -> Result<(), ReadError> {
                let before = out.len();
                self.graph.scan(label, from, to, out)?;
                add(self.hits, out.len() - before);
                Ok(())
            }

            fn vertices_exist(
                &self,
                vertices: &[VertexId],
                out: &mut Vec<bool>,
            ) -> Result<(), ReadError> {
                add(self.hits, vertices.len());
                self.graph.vertices_exist(vertices, out)
            }

            fn edges_exist(&self, edges: &[EdgeId], out: &mut Vec<bool>) -> Result<(), ReadError> {
                add(self.hits, edges.len());
                self.graph.edges_exist(edges, out)
            }

            fn labels(
                &self,
                vertices: &[VertexId],
                out: &mut Lists<LabelId>,
            ) -> Result<(), ReadError> {
                add(self.hits, vertices.len());
                self.graph.labels(vertices, out)
            }

            fn have_label(
                &self,
                vertices: &[VertexId],
                label: LabelId,
                out: &mut Vec<bool>,
            ) -> Result<(), ReadError> {
                add(self.hits, vertices.len());
                self.graph.have_label(vertices, label, out)
            }

            fn expand(
                &self,
                sources: &[VertexId],
                ty: EdgeTypeId,
                dir: Direction,
                out: &mut Expansion,
            ) -> Result<(), ReadError> {
                self.graph.expand(sources, ty, dir, out)?;
                add(self.hits, sources.len() + out.neighbours.len());
                Ok(())
            }

            fn expand_ids(
                &self,
                sources: &[VertexId],
                ty: EdgeTypeId,
                dir: Direction,
                out: &mut Expansion,
            ) -> Result<(), ReadError> {
                self.graph.expand_ids(sources, ty, dir, out)?;
                add(self.hits, sources.len() + out.neighbours.len());
                Ok(())
            }

            fn degrees(
                &self,
                vertices: &[VertexId],
                ty: EdgeTypeId,
                dir: Direction,
                out: &mut Vec<u64>,
            ) -> Result<(), ReadError> {
                add(self.hits, vertices.len());
                self.graph.degrees(vertices, ty, dir, out)
            }

            fn search_edges(
                &self,
                pairs: &[(VertexId, VertexId)],
                ty: EdgeTypeId,
                out: &mut Vec<bool>,
            ) -> Result<(), ReadError> {
                add(self.hits, pairs.len());
                self.graph.search_edges(pairs, ty, out)
            }

            fn edges_between(
                &self,
                pairs: &[(VertexId, VertexId)],
                ty: EdgeTypeId,
                out: &mut Expansion,
            ) -> Result<(), ReadError> {
                self.graph.edges_between(pairs, ty, out)?;
                add(self.hits, pairs.len() + out.neighbours.len());
                Ok(())
            }

            fn vertex_properties(
                &self,
                vertices: &[VertexId],
                key: PropertyKeyId,
                out: &mut Column,
            ) -> Result<(), ReadError> {
                add(self.hits, vertices.len());
                self.graph.vertex_properties(vertices, key, out)
            }

            fn edge_properties(
                &self,
                edges: &[EdgeId],
                key: PropertyKeyId,
                out: &mut Column,
            ) -> Result<(), ReadError> {
                add(self.hits, edges.len());
                self.graph.edge_properties(edges, key, out)
            }

            fn all_vertex_properties(
                &self,
                vertices: &[VertexId],
                out: &mut Lists<(PropertyKeyId, Value)>,
            ) -> Result<(), ReadError> {
                self.graph.all_vertex_properties(vertices, out)?;
                add(self.hits, out.items.len());
                Ok(())
            }

            fn all_edge_properties(
                &self,
                edges: &[EdgeId],
                out: &mut Lists<(PropertyKeyId, Value)>,
            ) -> Result<(), ReadError> {
                self.graph.all_edge_properties(edges, out)?;
                add(self.hits, out.items.len());
                Ok(())
            }

            fn index_vertices(
                &self,
                index: IndexId,
                range: &IndexRange,
                out: &mut Vec<VertexId>,
            ) -> Result<(), ReadError> {
                let before = out.len();
                let read = self.graph.index_vertices(index, range, out);
                add(self.hits, out.len() - before);
                read
            }

            fn index_edges(
                &self,
                index: IndexId,
                range: &IndexRange,
                out: &mut Vec<EdgeId>,
            ) -> Result<(), ReadError> {
                let before = out.len();
                let read = self.graph.index_edges(index, range, out);
                add(self.hits, out.len() - before);
                read
            }

            fn fulltext_entries(
                &self,
                index: IndexId,
                keys: Range<&[u8]>,
                f: &mut dyn FnMut(&[u8], IndexedObject) -> ControlFlow<()>,
            ) -> Result<(), ReadError> {
                let mut entries = 0;
                let read = self.graph.fulltext_entries(index, keys, &mut |key, object| {
                    entries += 1;
                    f(key, object)
                });
                add(self.hits, entries);
                read
            }

            fn fulltext_terms(
                &self,
                index: IndexId,
                keys: Range<&[u8]>,
                f: &mut dyn FnMut(&[u8]) -> ControlFlow<()>,
            ) -> Result<(), ReadError> {
                let mut terms = 0;
                let read = self.graph.fulltext_terms(index, keys, &mut |beginning| {
                    terms += 1;
                    f(beginning)
                });
                add(self.hits, terms);
                read
            }

            fn fulltext_postings(
                &self,
                index: IndexId,
                beginning: &[u8],
                go_on: &mut dyn FnMut() -> ControlFlow<()>,
            ) -> Result<FulltextPostings, ReadError> {
                let found = self.graph.fulltext_postings(index, beginning, go_on)?;
                let found_len = match &found {
                    FulltextPostings::Vertices(list) => list.len(),
                    FulltextPostings::Edges(list) => list.len(),
                };
                add(self.hits, found_len);
                Ok(found)
            }

            fn fulltext_totals(&self, index: IndexId) -> Result<Vec<(u64, u64)>, ReadError> {
                add(self.hits, 1);
                self.graph.fulltext_totals(index)
            }

            fn nearest(
                &self,
                index: IndexId,
                search: &mut NearSearch<'_>,
                f: &mut dyn FnMut(IndexedObject),
            ) -> Result<Nearest, ReadError> {
                let mut found = 0;
                let read = self.graph.nearest(index, search, &mut |object| {
                    found += 1;
                    f(object);
                });
                add(self.hits, found);
                read
            }

            fn lookup_vertices(
                &self,
                index: IndexId,
                keys: &[Value],
                out: &mut Vec<(u32, VertexId)>,
            ) -> Result<(), ReadError> {
                add(self.hits, keys.len());
                self.graph.lookup_vertices(index, keys, out)
            }

            fn expand_left(
                &self,
                sources: &[VertexId],
                ty: EdgeTypeId,
                dir: Direction,
                out: &mut Expansion,
            ) -> Result<(), ReadError> {
                self.graph.expand_left(sources, ty, dir, out)?;
                add(self.hits, sources.len() + out.neighbours.len());
                Ok(())
            }

            fn deleted_connected(&self) -> Vec<VertexId> {
                self.graph.deleted_connected()
            }

            fn for_each_run(
                &self,
                sources: &[VertexId],
                ty: EdgeTypeId,
                dir: Direction,
                each: &mut dyn FnMut(usize, Run<'_>),
            ) -> Result<(), ReadError> {
                add(self.hits, sources.len());
                self.graph.for_each_run(sources, ty, dir, &mut |place, run| {
                    add(self.hits, run.len());
                    each(place, run);
                })
            }

            fn for_each_run_of(
                &self,
                sources: Range<u64>,
                ty: EdgeTypeId,
                dir: Direction,
                each: &mut dyn FnMut(u64, Run<'_>),
            ) -> Result<(), ReadError> {
                add(self.hits, (sources.end - sources.start) as usize);
                self.graph.for_each_run_of(sources, ty, dir, &mut |source, run| {
                    add(self.hits, run.len());
                    each(source, run);
                })
            }
        }

        impl Counts for $counted<'_> {
            fn statistics(&self) -> Result<Statistics, ReadError> {
                self.graph.statistics()
            }

            fn count_vertices(&self, label: Option<LabelId>) -> Result<Option<u64>, ReadError> {
                add(self.hits, 1);
                self.graph.count_vertices(label)
            }

            fn count_edges(&self, ty: EdgeTypeId) -> Result<Option<u64>, ReadError> {
                add(self.hits, 1);
                self.graph.count_edges(ty)
            }

            fn estimates(&self) -> Arc<Estimates> {
                self.graph.estimates()
            }
        }

        impl Schema for $counted<'_> {
            fn find_label(&self, name: &str) -> Option<LabelId> {
                self.graph.find_label(name)
            }

            fn find_edge_type(&self, name: &str) -> Option<EdgeTypeId> {
                self.graph.find_edge_type(name)
            }

            fn find_property_key(&self, name: &str) -> Option<PropertyKeyId> {
                self.graph.find_property_key(name)
            }

            fn has_only_committed_names(&self) -> bool {
                self.graph.has_only_committed_names()
            }

            fn label_names(&self) -> Vec<String> {
                self.graph.label_names()
            }

            fn edge_type_names(&self) -> Vec<String> {
                self.graph.edge_type_names()
            }

            fn property_key_names(&self) -> Vec<String> {
                self.graph.property_key_names()
            }

            fn readable_indexes(&self) -> Vec<ReadableIndex> {
                self.graph.readable_indexes()
            }

            fn schema_rules(&self) -> Vec<SchemaRule> {
                self.graph.schema_rules()
            }
        }
    };
}

counted!(CountedRead);
counted!(CountedWrite);

impl Update for CountedWrite<'_> {
    fn written_bytes(&self) -> u64 {
        self.graph.written_bytes()
    }

    fn label(&mut self, name: &str) -> Result<LabelId, UpdateError> {
        self.graph.label(name)
    }

    fn edge_type(&mut self, name: &str) -> Result<EdgeTypeId, UpdateError> {
        self.graph.edge_type(name)
    }

    fn property_key(&mut self, name: &str) -> Result<PropertyKeyId, UpdateError> {
        self.graph.property_key(name)
    }

    fn create_vertex(&mut self, labels: &[LabelId]) -> Result<VertexId, UpdateError> {
        add(self.hits, 1 + labels.len());
        self.graph.create_vertex(labels)
    }

    fn create_edge(
        &mut self,
        ty: EdgeTypeId,
        src: VertexId,
        dst: VertexId,
        properties: &[(PropertyKeyId, Value)],
    ) -> Result<EdgeId, UpdateError> {
        add(self.hits, 1 + properties.len());
        self.graph.create_edge(ty, src, dst, properties)
    }

    fn claim_edge(
        &mut self,
        edge: EdgeId,
        bound: bool,
        either_way: bool,
    ) -> Result<(), UpdateError> {
        self.graph.claim_edge(edge, bound, either_way)
    }

    fn add_label(&mut self, vertex: VertexId, label: LabelId) -> Result<bool, UpdateError> {
        add(self.hits, 1);
        self.graph.add_label(vertex, label)
    }

    fn remove_label(&mut self, vertex: VertexId, label: LabelId) -> Result<bool, UpdateError> {
        add(self.hits, 1);
        self.graph.remove_label(vertex, label)
    }

    fn set_vertex_property(
        &mut self,
        vertex: VertexId,
        key: PropertyKeyId,
        value: Value,
    ) -> Result<(), UpdateError> {
        add(self.hits, 1);
        self.graph.set_vertex_property(vertex, key, value)
    }

    fn set_edge_property(
        &mut self,
        edge: EdgeId,
        key: PropertyKeyId,
        value: Value,
    ) -> Result<(), UpdateError> {
        add(self.hits, 1);
        self.graph.set_edge_property(edge, key, value)
    }

    fn delete_edge(&mut self, edge: EdgeId) -> Result<bool, UpdateError> {
        add(self.hits, 1);
        self.graph.delete_edge(edge)
    }

    fn edges_at(&self, vertex: VertexId, out: &mut Vec<EdgeId>) -> Result<(), UpdateError> {
        let before = out.len();
        let found = self.graph.edges_at(vertex, out);
        add(self.hits, out.len() - before);
        found
    }

    fn delete_vertex(&mut self, vertex: VertexId, detach: bool) -> Result<(), UpdateError> {
        add(self.hits, 1);
        self.graph.delete_vertex(vertex, detach)
    }

    fn schema_rules_to_change(&mut self) -> Result<Vec<SchemaRule>, UpdateError> {
        self.graph.schema_rules_to_change()
    }

    fn create_rule(
        &mut self,
        name: &str,
        objects: IndexedObjects,
        properties: &[PropertyKeyId],
        kind: SchemaKind,
        options: Option<&IndexOptions>,
    ) -> Result<(), UpdateError> {
        self.graph.create_rule(name, objects, properties, kind, options)
    }

    fn drop_rule(&mut self, name: &str) -> Result<(), UpdateError> {
        self.graph.drop_rule(name)
    }
}
