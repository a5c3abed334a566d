//! What a transaction finds in indexes: what its snapshot shows, and its own writes.

use std::collections::HashSet;
use std::sync::Arc;

use telar_graph::{EdgeId, IndexId, IndexRange, Value, VertexId};

use super::{Transaction, vid};
use crate::error::Error;
use crate::index::Index;
use crate::index::IndexTarget;
use crate::index::commit::{edges_concerned, vertices_concerned};
use crate::index::key::{Entry, SortKey};
use crate::index::read::{IndexRead, KeyRange};
use crate::index::source::{Source, edge_id};
use crate::snapshot::Reader;
use crate::txn::write_set::{EdgeOp, Read, edge_property_key, vertex_property_key};

impl Transaction<'_> {
    /// The vertices whose indexed properties have exactly these values, or begin with them.
    ///
    /// # Errors
    /// [`Error::Index`].
    pub fn index_lookup(&self, index: IndexId, values: &[Value]) -> Result<Vec<VertexId>, Error> {
        self.index_range(index, &IndexRange::equal(values))
    }

    /// The edges whose indexed properties have exactly these values, or begin with them.
    ///
    /// # Errors
    /// [`Error::Index`].
    pub fn index_lookup_edges(
        &self,
        index: IndexId,
        values: &[Value],
    ) -> Result<Vec<EdgeId>, Error> {
        self.index_range_edges(index, &IndexRange::equal(values))
    }

    /// The vertices in a range of an index, in its order.
    ///
    /// # Errors
    /// [`Error::Index`].
    pub fn index_range(&self, index: IndexId, range: &IndexRange) -> Result<Vec<VertexId>, Error> {
        let reader = self.reader();
        let index = reader.index(index)?;
        let tree = index.vertices()?;
        let keys = KeyRange::new(index, range)?;
        let own = self.own_vertices(index, &reader);
        let replaced: HashSet<_> = own.iter().map(|(v, _)| *v).collect();
        let mut found: Vec<Entry<1>> = Vec::new();
        let how = (range.descending, range.limit.saturating_add(own.len()));
        reader.items_in(index, tree, &keys, how, |key, item| {
            if !replaced.contains(&item) {
                found.push((key.clone(), item));
            }
        });
        self.merge_own(index, range, &keys, &mut found, own);
        Ok(found.into_iter().map(|(_, [v])| vid(v)).collect())
    }

    /// The edges in a range of an index, in its order.
    ///
    /// # Errors
    /// [`Error::Index`].
    pub fn index_range_edges(
        &self,
        index: IndexId,
        range: &IndexRange,
    ) -> Result<Vec<EdgeId>, Error> {
        let reader = self.reader();
        let index = reader.index(index)?;
        let (tree, ty) = index.edges()?;
        let keys = KeyRange::new(index, range)?;
        let own = self.own_edges(index, &reader);
        let replaced: HashSet<_> = own.iter().map(|(e, _)| *e).collect();
        let mut found: Vec<Entry<3>> = Vec::new();
        let how = (range.descending, range.limit.saturating_add(own.len()));
        reader.items_in(index, tree, &keys, how, |key, item| {
            if !replaced.contains(&item) {
                found.push((key.clone(), item));
            }
        });
        self.merge_own(index, range, &keys, &mut found, own);
        Ok(found.into_iter().map(|(_, item)| edge_id(ty, item)).collect())
    }

    /// Adds what this transaction wrote to what its snapshot shows, and remembers the read.
    fn merge_own<const N: usize>(
        &self,
        index: &Index,
        range: &IndexRange,
        keys: &KeyRange,
        found: &mut Vec<Entry<N>>,
        own: Vec<([u32; N], Option<SortKey>)>,
    ) {
        let own = own.into_iter().filter_map(|(item, key)| Some((key?, item)));
        let own: Vec<Entry<N>> = own.filter(|(key, _)| keys.contains(key)).collect();
        if !own.is_empty() {
            found.extend(own);
            found.sort_unstable();
            if range.descending {
                found.reverse();
            }
        }
        found.truncate(range.limit);
        if self.reads.is_some() {
            let KeyRange { from, to, point } = keys.clone();
            let read = IndexRead { index: index.id, from, to, point };
            self.note(Read::Index(Arc::new(read)));
        }
    }

    /// The key of each vertex this transaction may have changed, as it sees it.
    fn own_vertices(&self, index: &Index, reader: &Reader<'_>) -> Vec<([u32; 1], Option<SortKey>)> {
        let IndexTarget::Vertices(label) = index.definition.target else { return Vec::new() };
        let source = Source::new(self.shared(), &reader.guard);
        let key = |v: u32| {
            let written = self.writes.states.get(v.into());
            let state = written.map_or_else(|| reader.state(v), |w| w.state);
            if !index.has_label(&source, label, state) {
                return None;
            }
            let created = written.is_some_and(|w| w.created);
            Source::key_of(&index.definition.properties, |key| {
                match self.writes.vertex_properties.get(vertex_property_key(v, key)) {
                    Some(w) => w.value.clone(),
                    None if created => Value::Null,
                    None => source.vertex_value(v, key, reader.read_ts),
                }
            })
        };
        vertices_concerned(index, &self.writes).map(|v| ([v], key(v))).collect()
    }

    /// The key of each edge this transaction may have changed, as it sees it.
    fn own_edges(&self, index: &Index, reader: &Reader<'_>) -> Vec<([u32; 3], Option<SortKey>)> {
        let IndexTarget::Edges(ty) = index.definition.target else { return Vec::new() };
        let source = Source::new(self.shared(), &reader.guard);
        let key = |item: [u32; 3], op: Option<EdgeOp>| {
            if op == Some(EdgeOp::Delete) {
                return None;
            }
            Source::key_of(&index.definition.properties, |key| {
                match self.writes.edge_properties.get(edge_property_key(ty, item[0], key)) {
                    Some(w) => w.value.clone(),
                    None if op == Some(EdgeOp::Create) => Value::Null,
                    None => source.edge_value(ty, item[0], key, reader.read_ts),
                }
            })
        };
        edges_concerned(index, ty, &self.writes).map(|(item, op)| (item, key(item, op))).collect()
    }
}
