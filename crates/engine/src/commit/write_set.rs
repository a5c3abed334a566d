//! Writes of one transaction before it commits.
//!
//! Private to the transaction; later writes to the same thing replace earlier ones, so that a
//! commit sees each vertex, property and edge once.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use foldhash::fast::RandomState;
use telar_graph::name::NameKind;
use telar_graph::{EdgeTypeId, PropertyKeyId, Value};

use super::claim::Claim;
use super::keyed::{Key, Keyed};
use crate::index::read::IndexRead;

/// Reference counts of an `Arc`.
const SHARED_BYTES: usize = 2 * size_of::<usize>();

/// Bytes of a value beside its own place.
fn heap_bytes(value: &Value) -> usize {
    let places = |n: usize| n * size_of::<Value>();
    match value {
        Value::String(text) => SHARED_BYTES + text.len(),
        Value::Bytes(bytes) => SHARED_BYTES + bytes.len(),
        Value::List(list) => {
            SHARED_BYTES + places(list.len()) + list.iter().map(heap_bytes).sum::<usize>()
        }
        // A tree is about three quarters full.
        Value::Map(map) => {
            let entry = |(key, value): (&Arc<str>, &Value)| {
                size_of_val(key) + SHARED_BYTES + key.len() + heap_bytes(value)
            };
            SHARED_BYTES + places(map.len()) * 4 / 3 + map.iter().map(entry).sum::<usize>()
        }
        Value::DateTime(shared) => SHARED_BYTES + size_of_val(&**shared),
        Value::Duration(shared) => SHARED_BYTES + size_of_val(&**shared),
        Value::Point(shared) => SHARED_BYTES + size_of_val(&**shared),
        Value::Vector(shared) => SHARED_BYTES + size_of_val(&**shared) + shared.bytes(),
        _ => 0,
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

    fn group(&self) -> u32 {
        self.key.get().into()
    }

    fn heap_bytes(&self) -> usize {
        heap_bytes(&self.value)
    }
}

/// What happens to an edge.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum EdgeOp {
    /// Make a new edge with this ordinal; without, if it is 0: then there is no other such edge.
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

impl EdgeWrite {
    /// True if it makes an edge with an ordinal.
    pub(crate) fn is_numbered(&self) -> bool {
        self.op == EdgeOp::Create && self.ordinal != 0
    }
}

pub(crate) fn edge_key(ty: EdgeTypeId, src: u32, dst: u32, ordinal: u32) -> u128 {
    u128::from(ty.get()) << 96 | u128::from(src) << 64 | u128::from(dst) << 32 | u128::from(ordinal)
}

impl Key for EdgeWrite {
    #[inline]
    fn key(&self) -> u128 {
        edge_key(self.ty, self.src, self.dst, self.ordinal)
    }

    fn group(&self) -> u32 {
        self.ty.get().into()
    }
}

/// An edge property's new value; null removes it.
#[derive(Debug, Clone)]
pub(crate) struct EdgePropertyWrite {
    pub(crate) ty: EdgeTypeId,
    pub(crate) src: u32,
    pub(crate) dst: u32,
    /// Place of the edge's properties: its ordinal, or the place of one that has none.
    pub(crate) place: u32,
    /// True if that is the edge's ordinal.
    pub(crate) numbered: bool,
    pub(crate) key: PropertyKeyId,
    pub(crate) value: Value,
}

impl EdgePropertyWrite {
    /// The edge's ordinal.
    pub(crate) fn ordinal(&self) -> u32 {
        if self.numbered { self.place } else { 0 }
    }
}

pub(crate) fn edge_property_key(ty: EdgeTypeId, place: u32, key: PropertyKeyId) -> u128 {
    u128::from(ty.get()) << 48 | u128::from(place) << 16 | u128::from(key.get())
}

/// Group of the writes to one property of one edge type.
pub(crate) fn edge_property_group(ty: EdgeTypeId, key: PropertyKeyId) -> u32 {
    u32::from(ty.get()) * 31 + u32::from(key.get())
}

impl Key for EdgePropertyWrite {
    fn key(&self) -> u128 {
        edge_property_key(self.ty, self.place, self.key)
    }

    fn group(&self) -> u32 {
        edge_property_group(self.ty, self.key)
    }

    fn heap_bytes(&self) -> usize {
        heap_bytes(&self.value)
    }
}

/// The keys of own property writes by what they are of, made at the first deletion: a transaction
/// that deletes nothing pays nothing.
type KeysOf<T> = Option<HashMap<T, Vec<PropertyKeyId>, RandomState>>;

/// Everything a transaction wants to change.
#[derive(Debug, Default)]
pub(crate) struct WriteSet {
    pub(crate) states: Keyed<StateWrite, 1>,
    pub(crate) vertex_properties: Keyed<VertexPropertyWrite, 1>,
    pub(crate) edges: Keyed<EdgeWrite, 2>,
    pub(crate) edge_properties: Keyed<EdgePropertyWrite, 1>,
    keys_of_vertices: KeysOf<u32>,
    keys_of_edges: KeysOf<(EdgeTypeId, u32)>,
    /// What was not found, and made therefore.
    pub(crate) claims: Vec<Claim>,
    /// Vertices that were deleted while they had edges: the commit fails if one is left.
    pub(crate) deleted_connected: BTreeSet<u32>,
    /// Id of a transaction that commits once.
    pub(crate) once: Option<Arc<str>>,
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

    /// Things written.
    #[inline]
    pub(crate) fn len(&self) -> usize {
        self.states.items().len()
            + self.edges.items().len()
            + self.vertex_properties.items().len()
            + self.edge_properties.items().len()
    }

    /// Heap bytes that it holds, values included. *Cost*: some additions.
    pub(crate) fn bytes(&self) -> usize {
        fn keys<T>(of: &KeysOf<T>) -> usize {
            let entry = size_of::<(T, Vec<PropertyKeyId>)>() + 8;
            of.as_ref().map_or(0, |of| of.capacity() * (entry + 1) + 8 * of.len())
        }
        self.states.bytes()
            + self.vertex_properties.bytes()
            + self.edges.bytes()
            + self.edge_properties.bytes()
            + self.claims.capacity() * size_of::<Claim>()
            // A tree is about three quarters full.
            + self.deleted_connected.len() * size_of::<u32>() * 4 / 3
            + keys(&self.keys_of_vertices)
            + keys(&self.keys_of_edges)
    }

    /// Sets a vertex property.
    #[inline]
    pub(crate) fn put_vertex_property(&mut self, write: VertexPropertyWrite) {
        if let Some(of) = &mut self.keys_of_vertices {
            of.entry(write.vertex).or_default().push(write.key);
        }
        self.vertex_properties.put(write);
    }

    /// Sets an edge property.
    #[inline]
    pub(crate) fn put_edge_property(&mut self, write: EdgePropertyWrite) {
        if let Some(of) = &mut self.keys_of_edges {
            of.entry((write.ty, write.place)).or_default().push(write.key);
        }
        self.edge_properties.put(write);
    }

    /// Forgets what was written to the properties of a vertex that is about to be deleted, and
    /// removes those that it has in the graph, which are `set`.
    pub(crate) fn clear_vertex(&mut self, vertex: u32, set: &[PropertyKeyId]) {
        if !self.vertex_properties.items().is_empty() {
            let writes = self.vertex_properties.items();
            let of = self.keys_of_vertices.get_or_insert_with(|| {
                let mut of: HashMap<u32, Vec<PropertyKeyId>, _> = HashMap::default();
                let states = &self.states;
                let gone = |v: u32| states.get(v.into()).is_some_and(|w| w.state == 0);
                let kept = writes.iter().filter(|w| !gone(w.vertex));
                kept.for_each(|w| of.entry(w.vertex).or_default().push(w.key));
                of
            });
            for key in of.remove(&vertex).into_iter().flatten() {
                self.vertex_properties.remove(vertex_property_key(vertex, key));
            }
        }
        for &key in set {
            // Not noted by vertex: nothing is written to it any more.
            self.vertex_properties.put(VertexPropertyWrite { vertex, key, value: Value::Null });
        }
    }

    /// Forgets what was written to the properties, at `place`, of an edge that is deleted.
    pub(crate) fn clear_edge(&mut self, ty: EdgeTypeId, place: u32) {
        if place == 0 || self.edge_properties.items().is_empty() {
            return;
        }
        let writes = self.edge_properties.items();
        let of = self.keys_of_edges.get_or_insert_with(|| {
            let mut of: HashMap<(EdgeTypeId, u32), Vec<PropertyKeyId>, _> = HashMap::default();
            writes.iter().for_each(|w| of.entry((w.ty, w.place)).or_default().push(w.key));
            of
        });
        for key in of.remove(&(ty, place)).into_iter().flatten() {
            self.edge_properties.remove(edge_property_key(ty, place, key));
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
    /// A property of an edge with an ordinal.
    EdgeProperty(EdgeTypeId, u32, PropertyKeyId),
    /// A property of the edge without an ordinal between these ends. Its list was read, too.
    Unnumbered(EdgeTypeId, (u32, u32), PropertyKeyId),
    /// All vertices.
    AllStates,
    /// A range of an index.
    Index(Arc<IndexRead>),
    /// Absence of a name of the kind: of all but the first so many that were made.
    Unmade(NameKind, usize),
}
