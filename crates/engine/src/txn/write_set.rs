//! Writes of one transaction before it commits.
//!
//! Private to the transaction; later writes to the same thing replace earlier ones, so that a
//! commit sees each vertex, property and edge once. Small sets are searched linearly, larger ones
//! through an index built on the way.

use std::collections::HashMap;
use std::hash::Hash;
use std::sync::Arc;

use foldhash::fast::RandomState;
use smallvec::SmallVec;
use telar_graph::{EdgeTypeId, PropertyKeyId, Value};

use crate::index::read::IndexRead;

/// Sets up to this size are searched linearly.
const LINEAR_MAX: usize = 16;

/// Writes in order, found by key.
#[derive(Debug)]
pub(crate) struct Keyed<T, const N: usize>
where
    [T; N]: smallvec::Array<Item = T>,
{
    items: SmallVec<[T; N]>,
    /// Made once the items are too many to search.
    index: Option<HashMap<u128, u32, RandomState>>,
}

impl<T, const N: usize> Default for Keyed<T, N>
where
    [T; N]: smallvec::Array<Item = T>,
{
    fn default() -> Self {
        Self { items: SmallVec::new(), index: None }
    }
}

/// Something with a unique key.
pub(crate) trait Key {
    /// The key: unique among the items of one kind.
    fn key(&self) -> u128;
}

impl<T: Key, const N: usize> Keyed<T, N>
where
    [T; N]: smallvec::Array<Item = T>,
{
    /// The item with `key`.
    #[inline]
    pub(crate) fn find(&self, key: u128) -> Option<usize> {
        if self.items.len() <= LINEAR_MAX {
            self.items.iter().position(|i| i.key() == key)
        } else {
            self.index.as_ref()?.get(&key).map(|&i| i as usize)
        }
    }

    pub(crate) fn get(&self, key: u128) -> Option<&T> {
        self.find(key).map(|i| &self.items[i])
    }

    /// Like [`get`](Self::get), for keys that are asked for in about the order they were added:
    /// looks at place `near` first, and leaves there the place after the item.
    #[inline]
    pub(crate) fn get_from(&self, key: u128, near: &mut usize) -> Option<&T> {
        let here = self.items.get(*near).filter(|i| i.key() == key);
        let found = here.map(|_| *near).or_else(|| self.find(key))?;
        *near = found + 1;
        Some(&self.items[found])
    }

    pub(crate) fn get_mut(&mut self, key: u128) -> Option<&mut T> {
        self.find(key).map(|i| &mut self.items[i])
    }

    /// Adds an item whose key is not there yet.
    #[inline]
    pub(crate) fn push(&mut self, item: T) {
        let at = self.items.len();
        if at >= LINEAR_MAX {
            let items = &self.items;
            let index = self.index.get_or_insert_with(|| {
                let mut index = HashMap::with_capacity_and_hasher(128, RandomState::default());
                index.extend(items.iter().enumerate().map(|(i, t)| (t.key(), i as u32)));
                index
            });
            index.insert(item.key(), at as u32);
        }
        self.items.push(item);
    }

    /// Replaces the item with the same key, or adds it.
    #[inline]
    pub(crate) fn put(&mut self, item: T) {
        match self.find(item.key()) {
            Some(i) => self.items[i] = item,
            None => self.push(item),
        }
    }

    /// Removes the item with `key`, if it is there; the last one takes its place.
    pub(crate) fn remove(&mut self, key: u128) {
        let Some(at) = self.find(key) else { return };
        self.items.swap_remove(at);
        if self.items.len() <= LINEAR_MAX {
            // What is searched linearly has no index to keep.
            self.index = None;
        } else if let Some(index) = &mut self.index {
            index.remove(&key);
            if let Some(moved) = self.items.get(at) {
                index.insert(moved.key(), at as u32);
            }
        }
    }

    #[inline]
    pub(crate) fn items(&self) -> &[T] {
        &self.items
    }
}

/// A vertex's new state.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct StateWrite {
    pub(crate) vertex: u32,
    /// Number of the label set; 0 deletes the vertex.
    pub(crate) state: u32,
    /// Whether this transaction made the vertex.
    pub(crate) created: bool,
}

impl Key for StateWrite {
    fn key(&self) -> u128 {
        self.vertex.into()
    }
}

/// A vertex property's new value; null removes it.
#[derive(Debug, Clone)]
pub(crate) struct VertexPropertyWrite {
    pub(crate) vertex: u32,
    pub(crate) key: PropertyKeyId,
    pub(crate) value: Value,
}

pub(crate) fn vertex_property_key(vertex: u32, key: PropertyKeyId) -> u128 {
    u128::from(vertex) << 16 | u128::from(key.get())
}

impl Key for VertexPropertyWrite {
    fn key(&self) -> u128 {
        vertex_property_key(self.vertex, self.key)
    }
}

/// What happens to an edge.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum EdgeOp {
    /// Make a new edge with this ordinal.
    Create,
    /// Make sure the edge exists (simple types).
    Upsert,
    /// Make sure the edge does not exist.
    Delete,
    /// Made and deleted again in this transaction.
    Nothing,
}

/// A write to an edge.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct EdgeWrite {
    pub(crate) ty: EdgeTypeId,
    pub(crate) src: u32,
    pub(crate) dst: u32,
    pub(crate) ordinal: u32,
    /// Sort key of a time-ordered edge.
    pub(crate) sort_key: i64,
    pub(crate) op: EdgeOp,
}

pub(crate) fn edge_key(ty: EdgeTypeId, src: u32, dst: u32, ordinal: u32) -> u128 {
    u128::from(ty.get()) << 96 | u128::from(src) << 64 | u128::from(dst) << 32 | u128::from(ordinal)
}

impl Key for EdgeWrite {
    #[inline]
    fn key(&self) -> u128 {
        edge_key(self.ty, self.src, self.dst, self.ordinal)
    }
}

/// An edge property's new value; null removes it.
#[derive(Debug, Clone)]
pub(crate) struct EdgePropertyWrite {
    pub(crate) ty: EdgeTypeId,
    pub(crate) src: u32,
    pub(crate) dst: u32,
    pub(crate) ordinal: u32,
    pub(crate) key: PropertyKeyId,
    pub(crate) value: Value,
}

pub(crate) fn edge_property_key(ty: EdgeTypeId, ordinal: u32, key: PropertyKeyId) -> u128 {
    u128::from(ty.get()) << 48 | u128::from(ordinal) << 16 | u128::from(key.get())
}

impl Key for EdgePropertyWrite {
    fn key(&self) -> u128 {
        edge_property_key(self.ty, self.ordinal, self.key)
    }
}

/// Everything a transaction wants to change.
#[derive(Debug, Default)]
pub(crate) struct WriteSet {
    pub(crate) states: Keyed<StateWrite, 1>,
    pub(crate) vertex_properties: Keyed<VertexPropertyWrite, 1>,
    pub(crate) edges: Keyed<EdgeWrite, 2>,
    pub(crate) edge_properties: Keyed<EdgePropertyWrite, 1>,
}

impl WriteSet {
    /// Whether nothing was written.
    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.states.items().is_empty()
            && self.edges.items().is_empty()
            && self.vertex_properties.items().is_empty()
            && self.edge_properties.items().is_empty()
    }
}

impl WriteSet {
    /// Things written.
    #[inline]
    pub(crate) fn len(&self) -> usize {
        self.states.items().len()
            + self.edges.items().len()
            + self.vertex_properties.items().len()
            + self.edge_properties.items().len()
    }

    /// Forgets writes to properties, of which `keys` are all there are, of a deleted vertex.
    pub(crate) fn drop_vertex_properties(
        &mut self,
        vertex: u32,
        mut keys: impl Iterator<Item = PropertyKeyId>,
    ) {
        while !self.vertex_properties.items.is_empty()
            && let Some(key) = keys.next()
        {
            self.vertex_properties.remove(vertex_property_key(vertex, key));
        }
    }

    /// Forgets writes to properties, of which `keys` are all there are, of a deleted edge.
    pub(crate) fn drop_edge_properties(
        &mut self,
        ty: EdgeTypeId,
        ordinal: u32,
        mut keys: impl Iterator<Item = PropertyKeyId>,
    ) {
        while !self.edge_properties.items.is_empty()
            && let Some(key) = keys.next()
        {
            self.edge_properties.remove(edge_property_key(ty, ordinal, key));
        }
    }
}

/// What a serializable transaction read.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) enum Read {
    /// A vertex's existence and labels.
    State(u32),
    /// A vertex property.
    VertexProperty(u32, PropertyKeyId),
    /// The neighbours of a vertex.
    Neighbours(EdgeTypeId, telar_graph::Direction, u32),
    /// An edge property.
    EdgeProperty(EdgeTypeId, u32, PropertyKeyId),
    /// All vertices.
    AllStates,
    /// A range of an index.
    Index(Arc<IndexRead>),
}
