//! Read-write transactions.

use std::cell::RefCell;
use std::collections::HashSet;

use telar_graph::value::NESTING_MAX;
use telar_graph::{
    CommitTs, Direction, EdgeId, EdgeTypeId, LabelId, PropertyKeyId, Value, VertexId, View,
};

use crate::adjacency::ListKind;
use crate::catalog::{EdgeOrder, EdgeType};
use crate::error::{Error, Object};
use crate::shared::Shared;
use crate::snapshot::{Handle, Reader, Registration, number};
use crate::txn::commit::{Mode, commit};
use crate::txn::write_set::{
    EdgeOp, EdgePropertyWrite, EdgeWrite, Read, StateWrite, VertexPropertyWrite, WriteSet,
    edge_key, edge_property_key, vertex_property_key,
};

/// What concurrent transactions may do to each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Isolation {
    /// Reads see one snapshot; of two concurrent writers of the same thing the first to commit wins.
    /// Write skew is possible.
    #[default]
    Snapshot,
    /// As if transactions ran one after the other. What was read is validated at commit, too, so that
    /// transactions that read much conflict more often.
    Serializable,
}

/// What a commit did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Committed {
    /// The commit timestamp, at which every later snapshot sees the writes; for a transaction that
    /// changed nothing, the timestamp it read at.
    pub ts: CommitTs,
    /// Edges that did not exist before.
    pub edges_added: u64,
    /// Edges that existed before.
    pub edges_removed: u64,
}

/// A read-write transaction. Writes are private until [`commit`](Self::commit); dropping it aborts.
#[derive(Debug)]
pub struct Transaction<'e> {
    registration: Registration<'e>,
    writes: WriteSet,
    /// `Some` if serializable.
    reads: Option<RefCell<HashSet<Read>>>,
    committed: bool,
}

fn vid(v: u32) -> VertexId {
    VertexId::from_raw(v.into())
}

impl<'e> Transaction<'e> {
    #[inline]
    pub(crate) fn new(shared: Handle<'e>, isolation: Isolation) -> Result<Self, Error> {
        Ok(Self {
            registration: Registration::new(shared)?,
            writes: WriteSet::default(),
            reads: (isolation == Isolation::Serializable).then(RefCell::default),
            committed: false,
        })
    }

    #[inline]
    fn shared(&self) -> &Shared {
        &self.registration.shared
    }

    /// The commit timestamp the transaction reads at.
    #[must_use]
    pub fn read_ts(&self) -> CommitTs {
        CommitTs::from_raw(self.registration.read_ts)
    }

    fn reader(&self) -> Reader<'_> {
        Reader::new(self.shared(), self.registration.read_ts)
    }

    fn note(&self, read: Read) {
        if let Some(reads) = &self.reads {
            reads.borrow_mut().insert(read);
        }
    }

    // ---- vertices ----

    /// Creates a vertex with these labels.
    ///
    /// # Errors
    /// [`Error::UnknownLabel`], [`Error::TooMany`].
    pub fn create_vertex(&mut self, labels: &[LabelId]) -> Result<VertexId, Error> {
        for l in labels {
            self.shared().catalog.check_label(*l)?;
        }
        let state = self.shared().catalog.label_sets.number(labels);
        let vertex = self.shared().new_vertex()?;
        self.writes.states.push(StateWrite { vertex, state, created: true });
        Ok(vid(vertex))
    }

    /// The vertex's state as this transaction sees it; 0 if it does not exist.
    fn state(&self, v: u32) -> u32 {
        if let Some(w) = self.writes.states.get(v.into()) {
            return w.state;
        }
        self.note(Read::State(v));
        self.reader().state(v)
    }

    fn existing(&self, vertex: VertexId) -> Result<u32, Error> {
        let missing = Error::NotFound(Object::Vertex(vertex));
        match number(vertex) {
            Some(v) if self.state(v) != 0 => Ok(v),
            _ => Err(missing),
        }
    }

    /// Whether `vertex` exists.
    #[must_use]
    pub fn exists(&self, vertex: VertexId) -> bool {
        self.existing(vertex).is_ok()
    }

    /// The labels of `vertex`, ascending.
    ///
    /// # Errors
    /// [`Error::NotFound`].
    pub fn labels(&self, vertex: VertexId) -> Result<Vec<LabelId>, Error> {
        let state = self.state(self.existing(vertex)?);
        Ok(self.shared().catalog.label_sets.labels(state).to_vec())
    }

    fn set_labels(&mut self, v: u32, labels: &[LabelId]) {
        let state = self.shared().catalog.label_sets.number(labels);
        let created = self.writes.states.get(v.into()).is_some_and(|w| w.created);
        self.writes.states.put(StateWrite { vertex: v, state, created });
    }

    /// Adds a label. Returns whether the vertex did not have it.
    ///
    /// # Errors
    /// [`Error::NotFound`], [`Error::UnknownLabel`].
    pub fn add_label(&mut self, vertex: VertexId, label: LabelId) -> Result<bool, Error> {
        self.shared().catalog.check_label(label)?;
        let mut labels = self.labels(vertex)?;
        if labels.contains(&label) {
            return Ok(false);
        }
        labels.push(label);
        let v = self.existing(vertex)?;
        self.set_labels(v, &labels);
        Ok(true)
    }

    /// Removes a label. Returns whether the vertex had it.
    ///
    /// # Errors
    /// [`Error::NotFound`].
    pub fn remove_label(&mut self, vertex: VertexId, label: LabelId) -> Result<bool, Error> {
        let mut labels = self.labels(vertex)?;
        let before = labels.len();
        labels.retain(|l| *l != label);
        if labels.len() == before {
            return Ok(false);
        }
        let v = self.existing(vertex)?;
        self.set_labels(v, &labels);
        Ok(true)
    }

    /// The value of a vertex property; null if there is none.
    ///
    /// # Errors
    /// [`Error::NotFound`].
    pub fn vertex_property(&self, vertex: VertexId, key: PropertyKeyId) -> Result<Value, Error> {
        let v = self.existing(vertex)?;
        if let Some(w) = self.writes.vertex_properties.get(vertex_property_key(v, key)) {
            return Ok(w.value.clone());
        }
        self.note(Read::VertexProperty(v, key));
        Ok(self.reader().vertex_property(vertex, key))
    }

    /// Sets a vertex property; null removes it.
    ///
    /// # Errors
    /// [`Error::NotFound`], [`Error::UnknownPropertyKey`], [`Error::TooDeep`].
    pub fn set_vertex_property(
        &mut self,
        vertex: VertexId,
        key: PropertyKeyId,
        value: Value,
    ) -> Result<(), Error> {
        self.shared().catalog.check_property_key(key)?;
        check_depth(&value)?;
        let v = self.existing(vertex)?;
        self.writes.vertex_properties.put(VertexPropertyWrite { vertex: v, key, value });
        Ok(())
    }

    /// Deletes a vertex. With `detach` its edges go with it; without, it must have none.
    ///
    /// # Errors
    /// [`Error::NotFound`], [`Error::StillConnected`].
    pub fn delete_vertex(&mut self, vertex: VertexId, detach: bool) -> Result<(), Error> {
        let v = self.existing(vertex)?;
        let types: Vec<EdgeTypeId> =
            self.shared().catalog.edge_types().map(|(id, _)| id).collect();
        let mut edges: Vec<EdgeId> = Vec::new();
        for ty in types {
            for direction in Direction::ALL {
                edges.extend(self.edges(vertex, ty, direction)?);
            }
        }
        if !detach && !edges.is_empty() {
            return Err(Error::StillConnected { vertex, edges: edges.len() });
        }
        for edge in edges {
            self.delete_edge(edge)?;
        }
        let created = self.writes.states.get(v.into()).is_some_and(|w| w.created);
        self.writes.states.put(StateWrite { vertex: v, state: 0, created });
        self.writes.drop_vertex_properties(v);
        if !created {
            // The id may be used again one day: nothing of this vertex must show then.
            let reader = self.reader();
            let keys = self.shared().catalog.vertex_columns().map(|(key, _)| key);
            let set = |key: &PropertyKeyId| !reader.vertex_property(vertex, *key).is_null();
            let keys: Vec<PropertyKeyId> = keys.filter(set).collect();
            drop(reader);
            for key in keys {
                let value = Value::Null;
                self.writes.vertex_properties.put(VertexPropertyWrite { vertex: v, key, value });
            }
        }
        Ok(())
    }

    /// The vertices with `label` (all, if `None`), ascending.
    #[must_use]
    pub fn scan(&self, label: Option<LabelId>) -> Vec<VertexId> {
        self.note(Read::AllStates);
        let reader = self.reader();
        let mut found = Vec::new();
        reader.scan(label, VertexId::from_raw(0), reader.vertex_bound(), &mut found);
        if !self.writes.states.items().is_empty() {
            let holds = self.shared().catalog.label_sets.with_label(label);
            let written = self.writes.states.items();
            let gone: HashSet<u32> = written.iter().map(|w| w.vertex).collect();
            found.retain(|v| !number(*v).is_some_and(|v| gone.contains(&v)));
            let there = written.iter().filter(|w| holds[w.state as usize]);
            found.extend(there.map(|w| vid(w.vertex)));
            found.sort_unstable();
        }
        found
    }

    // ---- edges ----

    fn edge_type(&self, ty: EdgeTypeId) -> Result<&EdgeType, Error> {
        self.shared().catalog.edge_type(ty)
    }

    /// Creates an edge with properties. Types that allow it may get parallel edges this way.
    ///
    /// # Errors
    /// [`Error::NotFound`] if an end does not exist; [`Error::SimpleEdgeType`] for types made
    /// `simple`, which take [`upsert_edge`](Self::upsert_edge); [`Error::SortProperty`] if a
    /// time-ordered type's property is missing; [`Error::UnknownPropertyKey`], [`Error::TooDeep`].
    pub fn create_edge(
        &mut self,
        ty: EdgeTypeId,
        src: VertexId,
        dst: VertexId,
        properties: &[(PropertyKeyId, Value)],
    ) -> Result<EdgeId, Error> {
        let (u, v) = (self.existing(src)?, self.existing(dst)?);
        let edge_type = self.edge_type(ty)?;
        if edge_type.kind() == ListKind::Simple {
            return Err(Error::SimpleEdgeType { name: edge_type.name.clone() });
        }
        for (key, value) in properties {
            self.shared().catalog.check_property_key(*key)?;
            check_depth(value)?;
        }
        let sort_key = match edge_type.options.order {
            EdgeOrder::Neighbour => 0,
            EdgeOrder::NewestFirst(key) => {
                match properties.iter().rev().find(|(k, _)| *k == key) {
                    Some((_, Value::Int(n))) => *n,
                    _ => return Err(self.sort_property_missing(edge_type, key)),
                }
            }
        };
        let ordinal = edge_type.new_ordinal()?;
        let op = EdgeOp::Create;
        self.writes.edges.push(EdgeWrite { ty, src: u, dst: v, ordinal, sort_key, op });
        for (key, value) in properties.iter().filter(|(_, value)| !value.is_null()) {
            self.put_edge_property(ty, u, v, ordinal, *key, value.clone());
        }
        Ok(EdgeId { ty, src, dst, ordinal })
    }

    fn sort_property_missing(&self, ty: &EdgeType, key: PropertyKeyId) -> Error {
        let key = self.shared().catalog.property_key_name(key);
        Error::SortProperty { name: ty.name.clone(), key }
    }

    /// Makes sure an edge of a `simple` type exists. Whether it did, and whether both ends exist, is
    /// found out at commit.
    ///
    /// # Errors
    /// [`Error::NotFound`] if an end was never made, or deleted in this transaction;
    /// [`Error::NotSimpleEdgeType`].
    #[inline]
    pub fn upsert_edge(
        &mut self,
        ty: EdgeTypeId,
        src: VertexId,
        dst: VertexId,
    ) -> Result<(), Error> {
        self.put_simple(ty, src, dst, EdgeOp::Upsert)
    }

    /// Makes sure an edge of a `simple` type does not exist. Whether it did is found out at commit.
    ///
    /// # Errors
    /// [`Error::NotFound`] if an end was never made, or deleted in this transaction;
    /// [`Error::NotSimpleEdgeType`].
    #[inline]
    pub fn remove_edge(
        &mut self,
        ty: EdgeTypeId,
        src: VertexId,
        dst: VertexId,
    ) -> Result<(), Error> {
        self.put_simple(ty, src, dst, EdgeOp::Delete)
    }

    #[inline]
    fn put_simple(
        &mut self,
        ty: EdgeTypeId,
        src: VertexId,
        dst: VertexId,
        op: EdgeOp,
    ) -> Result<(), Error> {
        let edge_type = self.edge_type(ty)?;
        if edge_type.kind() != ListKind::Simple {
            return Err(Error::NotSimpleEdgeType { name: edge_type.name.clone() });
        }
        let (u, v) = (self.end_of_edge(src)?, self.end_of_edge(dst)?);
        self.writes.edges.put(EdgeWrite { ty, src: u, dst: v, ordinal: 0, sort_key: 0, op });
        Ok(())
    }

    /// The number of a vertex that may be an end of an edge. That it exists is checked at commit.
    #[inline]
    fn end_of_edge(&self, vertex: VertexId) -> Result<u32, Error> {
        let deleted_here = |v: u32| self.writes.states.get(v.into()).is_some_and(|w| w.state == 0);
        match number(vertex) {
            Some(v) if v < self.shared().vertex_bound() && !deleted_here(v) => Ok(v),
            _ => Err(Error::NotFound(Object::Vertex(vertex))),
        }
    }

    /// Deletes an edge; nothing happens if it does not exist.
    ///
    /// # Errors
    /// [`Error::UnknownEdgeType`]; [`Error::NotFound`] if an end was never made.
    pub fn delete_edge(&mut self, edge: EdgeId) -> Result<(), Error> {
        self.edge_type(edge.ty)?;
        let (Some(u), Some(v)) = (number(edge.src), number(edge.dst)) else {
            return Err(Error::NotFound(Object::Edge(edge)));
        };
        let key = edge_key(edge.ty, u, v, edge.ordinal);
        match self.writes.edges.get_mut(key) {
            Some(w) if w.op == EdgeOp::Create => w.op = EdgeOp::Nothing,
            Some(w) if w.op == EdgeOp::Nothing => {}
            Some(w) => w.op = EdgeOp::Delete,
            None => self.writes.edges.push(EdgeWrite {
                ty: edge.ty,
                src: u,
                dst: v,
                ordinal: edge.ordinal,
                sort_key: 0,
                op: EdgeOp::Delete,
            }),
        }
        self.writes.drop_edge_properties(edge.ty, edge.ordinal);
        Ok(())
    }

    /// Whether exactly this edge exists.
    #[must_use]
    pub fn edge_exists(&self, edge: EdgeId) -> bool {
        let (Some(u), Some(v)) = (number(edge.src), number(edge.dst)) else { return false };
        if let Some(w) = self.writes.edges.get(edge_key(edge.ty, u, v, edge.ordinal)) {
            return matches!(w.op, EdgeOp::Create | EdgeOp::Upsert);
        }
        self.note(Read::Neighbours(edge.ty, Direction::Out, u));
        self.reader().edge_exists(edge)
    }

    /// Whether an edge of type `ty` leads from `src` to `dst`.
    ///
    /// # Errors
    /// [`Error::UnknownEdgeType`].
    pub fn search_edge(
        &self,
        ty: EdgeTypeId,
        src: VertexId,
        dst: VertexId,
    ) -> Result<bool, Error> {
        if self.writes.edges.items().is_empty() {
            self.edge_type(ty)?;
            if let Some(u) = number(src) {
                self.note(Read::Neighbours(ty, Direction::Out, u));
            }
            return Ok(self.reader().search_edge(ty, src, dst));
        }
        Ok(self.edges(src, ty, Direction::Out)?.any(|e| e.dst == dst))
    }

    /// The edges of `vertex`, those of this transaction included.
    ///
    /// # Errors
    /// [`Error::UnknownEdgeType`].
    pub fn edges(
        &self,
        vertex: VertexId,
        ty: EdgeTypeId,
        direction: Direction,
    ) -> Result<impl Iterator<Item = EdgeId> + use<>, Error> {
        self.edge_type(ty)?;
        let mut found: Vec<EdgeId> = Vec::new();
        let Some(v) = number(vertex) else { return Ok(found.into_iter()) };
        self.note(Read::Neighbours(ty, direction, v));
        let writes = self.writes.edges.items();
        let written = |e: &EdgeId| match (number(e.src), number(e.dst)) {
            (Some(u), Some(v)) if !writes.is_empty() => {
                self.writes.edges.get(edge_key(e.ty, u, v, e.ordinal)).is_some()
            }
            _ => false,
        };
        self.reader().for_each_edge(vertex, ty, direction, |edge, _| {
            if !written(&edge) {
                found.push(edge);
            }
        });
        found.extend(
            writes
                .iter()
                .filter(|w| w.ty == ty && matches!(w.op, EdgeOp::Create | EdgeOp::Upsert))
                .map(|w| EdgeId { ty, src: vid(w.src), dst: vid(w.dst), ordinal: w.ordinal })
                .filter(|e| e.start(direction) == vertex),
        );
        Ok(found.into_iter())
    }

    /// Number of edges of `vertex`.
    ///
    /// # Errors
    /// [`Error::UnknownEdgeType`].
    pub fn degree(
        &self,
        vertex: VertexId,
        ty: EdgeTypeId,
        direction: Direction,
    ) -> Result<usize, Error> {
        if self.writes.edges.items().is_empty() {
            self.edge_type(ty)?;
            if let Some(v) = number(vertex) {
                self.note(Read::Neighbours(ty, direction, v));
            }
            return Ok(self.reader().degree(vertex, ty, direction));
        }
        Ok(self.edges(vertex, ty, direction)?.count())
    }

    /// The value of an edge property; null if there is none.
    ///
    /// # Errors
    /// [`Error::NotFound`].
    pub fn edge_property(&self, edge: EdgeId, key: PropertyKeyId) -> Result<Value, Error> {
        let written = edge_property_key(edge.ty, edge.ordinal, key);
        if !self.edge_exists(edge) {
            return Err(Error::NotFound(Object::Edge(edge)));
        }
        if let Some(w) = self.writes.edge_properties.get(written) {
            return Ok(w.value.clone());
        }
        self.note(Read::EdgeProperty(edge.ty, edge.ordinal, key));
        Ok(self.reader().edge_property(edge, key))
    }

    /// Sets an edge property; null removes it.
    ///
    /// # Errors
    /// [`Error::NotFound`], [`Error::SimpleEdgeType`], [`Error::SortPropertyFixed`],
    /// [`Error::UnknownPropertyKey`], [`Error::TooDeep`].
    pub fn set_edge_property(
        &mut self,
        edge: EdgeId,
        key: PropertyKeyId,
        value: Value,
    ) -> Result<(), Error> {
        let edge_type = self.edge_type(edge.ty)?;
        self.shared().catalog.check_property_key(key)?;
        check_depth(&value)?;
        if edge_type.kind() == ListKind::Simple {
            return Err(Error::SimpleEdgeType { name: edge_type.name.clone() });
        }
        if edge_type.options.order == EdgeOrder::NewestFirst(key) {
            return Err(Error::SortPropertyFixed {
                name: edge_type.name.clone(),
                key: self.shared().catalog.property_key_name(key),
            });
        }
        let (Some(u), Some(v), true) =
            (number(edge.src), number(edge.dst), self.edge_exists(edge))
        else {
            return Err(Error::NotFound(Object::Edge(edge)));
        };
        self.put_edge_property(edge.ty, u, v, edge.ordinal, key, value);
        Ok(())
    }

    fn put_edge_property(
        &mut self,
        ty: EdgeTypeId,
        src: u32,
        dst: u32,
        ordinal: u32,
        key: PropertyKeyId,
        value: Value,
    ) {
        let write = EdgePropertyWrite { ty, src, dst, ordinal, key, value };
        self.writes.edge_properties.put(write);
    }

    // ---- end ----

    /// Commits; says at which timestamp, and which upserts and deletes of edges changed something.
    ///
    /// # Errors
    /// [`Error::Conflict`] (run the transaction again) and [`Error::SnapshotTooOld`]: nothing was
    /// written. [`Error::Log`]: the log failed; the database refuses writes from now on, and whether
    /// this commit survives is known after it is opened again.
    pub fn commit(mut self) -> Result<Committed, Error> {
        let nothing = Committed { ts: self.read_ts(), edges_added: 0, edges_removed: 0 };
        if self.writes.is_empty() {
            return Ok(nothing);
        }
        let read_ts = self.registration.read_ts;
        let reads: Vec<Read> = match &self.reads {
            Some(reads) => reads.borrow().iter().copied().collect(),
            None => Vec::new(),
        };
        let shared = self.shared();
        let mut applied = false;
        let done = commit(shared, &self.writes, &reads, Mode::Live { read_ts }, |ts| {
            applied = true;
            let published = shared.publish(ts);
            self.registration.close();
            published
        });
        // Once applied, the ids of new vertices are taken, whatever became of the log.
        self.committed = applied;
        let Some(done) = done? else { return Ok(nothing) };
        Ok(Committed {
            ts: CommitTs::from_raw(done.ts),
            edges_added: done.edges_added,
            edges_removed: done.edges_removed,
        })
    }

    /// Aborts: nothing was written.
    pub fn abort(self) {}
}

impl Drop for Transaction<'_> {
    #[inline]
    fn drop(&mut self) {
        let states = self.writes.states.items();
        if !self.committed && states.iter().any(|w| w.created) {
            let unused = states.iter().filter(|w| w.created).map(|w| w.vertex);
            self.shared().give_back_vertices(unused);
        }
    }
}

fn check_depth(value: &Value) -> Result<(), Error> {
    if value.nests_within(NESTING_MAX) { Ok(()) } else { Err(Error::TooDeep { max: NESTING_MAX }) }
}

