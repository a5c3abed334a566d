//! What a transaction does with edges and their properties.

use crossbeam_epoch as epoch;
use telar_graph::{Direction, EdgeId, EdgeTypeId, PropertyKeyId, Value, VertexId};

use super::{Transaction, check_value, vid};
use crate::adjacency::ListKind;
use crate::catalog::{EdgeOrder, EdgeType};
use crate::commit::write_set::{
    EdgeOp, EdgePropertyWrite, EdgeWrite, Read, edge_key, edge_property_key,
};
use crate::error::{Error, Object};
use crate::intents::Part;
use crate::snapshot::number;

impl Transaction<'_> {
    fn edge_type(&self, ty: EdgeTypeId) -> Result<&EdgeType, Error> {
        self.shared().catalog.edge_type(ty)
    }

    /// An edge type that edges are about to be made of.
    #[inline]
    fn edge_type_to_write(&self, ty: EdgeTypeId) -> Result<&EdgeType, Error> {
        let edge_type = self.edge_type(ty)?;
        if !edge_type.is_made() {
            self.check_edge_type(ty)?;
        }
        Ok(edge_type)
    }

    /// Creates an edge with properties. Types that allow it may get parallel edges this way.
    ///
    /// # Errors
    /// [`Error::NotFound`] if an end does not exist; [`Error::SimpleEdgeType`] for types made
    /// `simple`, which take [`upsert_edge`](Self::upsert_edge); [`Error::SortProperty`] if a
    /// time-ordered type's property is missing; [`Error::UnknownPropertyKey`], [`Error::TooDeep`],
    /// [`Error::NotStorable`].
    pub fn create_edge(
        &mut self,
        ty: EdgeTypeId,
        src: VertexId,
        dst: VertexId,
        properties: &[(PropertyKeyId, Value)],
    ) -> Result<EdgeId, Error> {
        let guard = &epoch::pin();
        let (u, v) = self.existing_ends(src, dst, guard)?;
        let edge_type = self.edge_type_to_write(ty)?;
        if edge_type.kind() == ListKind::Simple {
            return Err(Error::SimpleEdgeType { name: self.shared().catalog.edge_type_name(ty) });
        }
        for (key, value) in properties {
            self.check_property_key(*key)?;
            check_value(value)?;
        }
        let sort_key = match edge_type.options.order {
            EdgeOrder::Neighbour => 0,
            EdgeOrder::NewestFirst(key) => match properties.iter().rev().find(|(k, _)| *k == key) {
                Some((_, Value::Int(n))) => *n,
                _ => return Err(self.sort_property_missing(ty, key)),
            },
        };
        self.intend_vertex(u, Part::Existence)?;
        self.intend_vertex(v, Part::Existence)?;
        let has_values = properties.iter().any(|(_, value)| !value.is_null());
        let ordinal = match !has_values && self.may_be_unnumbered(ty, (u, v), guard) {
            true => 0,
            false => self.edge_type(ty)?.new_ordinal()?,
        };
        let op = EdgeOp::Create;
        self.writes.edges.push(EdgeWrite { ty, src: u, dst: v, ordinal, sort_key, op });
        self.touch_edge(ty, (u, v, self.place(ty, u, v, ordinal)), None);
        for (key, value) in properties.iter().filter(|(_, value)| !value.is_null()) {
            self.put_edge_property(ty, u, v, ordinal, *key, value.clone())?;
        }
        self.intend_edge_keys(ty, (u, v), ordinal, None)?;
        Ok(EdgeId { ty, src, dst, ordinal })
    }

    fn sort_property_missing(&self, ty: EdgeTypeId, key: PropertyKeyId) -> Error {
        let catalog = &self.shared().catalog;
        let (name, key) = (catalog.edge_type_name(ty), catalog.property_key_name(key));
        Error::SortProperty { name, key }
    }

    /// Makes sure an edge of a `simple` type exists. Whether it did, and whether both ends exist,
    /// is found out at commit.
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
        let edge_type = self.edge_type_to_write(ty)?;
        if edge_type.kind() != ListKind::Simple {
            return Err(Error::NotSimpleEdgeType {
                name: self.shared().catalog.edge_type_name(ty),
            });
        }
        let (u, v) = (self.end_of_edge(src)?, self.end_of_edge(dst)?);
        self.intend_edge(ty, (u, v), 0, Part::Whole)?;
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
        let simple = self.edge_type(edge.ty)?.kind() == ListKind::Simple;
        let made = |v: VertexId| number(v).filter(|v| *v < self.shared().vertex_bound());
        let (Some(u), Some(v)) = (made(edge.src), made(edge.dst)) else {
            return Err(Error::NotFound(Object::Edge(edge)));
        };
        if simple && edge.ordinal != 0 {
            return Ok(());
        }
        self.intend_edge(edge.ty, (u, v), edge.ordinal, Part::Whole)?;
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
        let place = self.place(edge.ty, u, v, edge.ordinal);
        self.touch_edge(edge.ty, (u, v, place), None);
        self.writes.clear_edge(edge.ty, place);
        Ok(())
    }

    /// Whether exactly this edge exists.
    #[must_use]
    pub fn edge_exists(&self, edge: EdgeId) -> bool {
        let (Some(u), Some(v)) = (number(edge.src), number(edge.dst)) else {
            return false;
        };
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
    pub fn search_edge(&self, ty: EdgeTypeId, src: VertexId, dst: VertexId) -> Result<bool, Error> {
        if !self.writes.edges.may_have_group(ty.get().into()) {
            self.edge_type(ty)?;
            if let Some(u) = number(src) {
                self.note(Read::Neighbours(ty, Direction::Out, u));
            }
            let hidden = self.is_deleted_connected(src) || self.is_deleted_connected(dst);
            return Ok(!hidden && self.reader().search_edge(ty, src, dst));
        }
        let mut edges = self.edges(src, ty, Direction::Out)?;
        Ok(!self.is_deleted_connected(dst) && edges.any(|e| e.dst == dst))
    }

    /// The edges of `vertex`, those of this transaction included. A vertex that it has deleted has
    /// none.
    ///
    /// # Errors
    /// [`Error::UnknownEdgeType`].
    pub fn edges(
        &self,
        vertex: VertexId,
        ty: EdgeTypeId,
        direction: Direction,
    ) -> Result<impl Iterator<Item = EdgeId> + use<>, Error> {
        let mut found = self.edges_left(vertex, ty, direction)?;
        if self.is_deleted_connected(vertex) {
            found.clear();
        }
        Ok(found.into_iter())
    }

    /// The edges of `vertex`, which this transaction may have deleted before them.
    pub(super) fn edges_left(
        &self,
        vertex: VertexId,
        ty: EdgeTypeId,
        direction: Direction,
    ) -> Result<Vec<EdgeId>, Error> {
        self.edge_type(ty)?;
        let mut found: Vec<EdgeId> = Vec::new();
        let Some(v) = number(vertex) else {
            return Ok(found);
        };
        self.note(Read::Neighbours(ty, direction, v));
        let writes = self.writes.edges.items();
        let mut own: Vec<u32> = Vec::new();
        if !writes.is_empty() {
            let mut ends = self.ends.borrow_mut();
            ends.get_or_insert_default().of(writes, ty, v, direction, &mut own);
        }
        // A write to an edge of this list is in this list, too.
        let written = |e: &EdgeId| match (number(e.src), number(e.dst)) {
            (Some(u), Some(v)) if !own.is_empty() => {
                self.writes.edges.get(edge_key(e.ty, u, v, e.ordinal)).is_some()
            }
            _ => false,
        };
        self.reader().for_each_edge(vertex, ty, direction, |edge, _| {
            if !written(&edge) {
                found.push(edge);
            }
        });
        let own = own.into_iter().map(|at| &writes[at as usize]);
        found.extend(
            own.filter(|w| matches!(w.op, EdgeOp::Create | EdgeOp::Upsert)).map(|w| EdgeId {
                ty,
                src: vid(w.src),
                dst: vid(w.dst),
                ordinal: w.ordinal,
            }),
        );
        Ok(found)
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
        if !self.writes.edges.may_have_group(ty.get().into()) {
            self.edge_type(ty)?;
            if let Some(v) = number(vertex) {
                self.note(Read::Neighbours(ty, direction, v));
            }
            let hidden = self.is_deleted_connected(vertex);
            return Ok(if hidden { 0 } else { self.reader().degree(vertex, ty, direction) });
        }
        Ok(self.edges(vertex, ty, direction)?.count())
    }

    /// The value of an edge property; null if there is none.
    ///
    /// # Errors
    /// [`Error::NotFound`].
    pub fn edge_property(&self, edge: EdgeId, key: PropertyKeyId) -> Result<Value, Error> {
        let (Some(u), Some(v), true) = (number(edge.src), number(edge.dst), self.edge_exists(edge))
        else {
            return Err(Error::NotFound(Object::Edge(edge)));
        };
        if let Some(w) = self.written_property(&edge, key) {
            return Ok(w.value.clone());
        }
        self.note(match edge.ordinal {
            0 => Read::Unnumbered(edge.ty, (u, v), key),
            ordinal => Read::EdgeProperty(edge.ty, ordinal, key),
        });
        Ok(self.reader().edge_property(edge, key))
    }

    /// Place of the properties of an edge; 0 if it never had any.
    pub(super) fn place(&self, ty: EdgeTypeId, src: u32, dst: u32, ordinal: u32) -> u32 {
        let of = self.shared().catalog.edge_type(ty).ok().filter(|_| ordinal == 0);
        of.map_or(ordinal, |ty| ty.place(src, dst, 0, &epoch::pin()))
    }

    /// The same of an edge by its id.
    pub(super) fn place_of(&self, edge: &EdgeId) -> u32 {
        match (number(edge.src), number(edge.dst)) {
            (Some(u), Some(v)) => self.place(edge.ty, u, v, edge.ordinal),
            _ => 0,
        }
    }

    /// Write of this transaction to a property of an edge, if there is one.
    pub(super) fn written_property(
        &self,
        edge: &EdgeId,
        key: PropertyKeyId,
    ) -> Option<&EdgePropertyWrite> {
        let place = Some(self.place_of(edge)).filter(|place| *place != 0)?;
        self.writes.edge_properties.get(edge_property_key(edge.ty, place, key))
    }

    /// Sets an edge property; null removes it.
    ///
    /// # Errors
    /// [`Error::NotFound`], [`Error::SimpleEdgeType`], [`Error::SortPropertyFixed`],
    /// [`Error::UnknownPropertyKey`], [`Error::TooDeep`],
    /// [`Error::NotStorable`].
    pub fn set_edge_property(
        &mut self,
        edge: EdgeId,
        key: PropertyKeyId,
        value: Value,
    ) -> Result<(), Error> {
        let edge_type = self.edge_type(edge.ty)?;
        let catalog = &self.shared().catalog;
        self.check_property_key(key)?;
        check_value(&value)?;
        if edge_type.kind() == ListKind::Simple {
            return Err(Error::SimpleEdgeType { name: catalog.edge_type_name(edge.ty) });
        }
        if edge_type.options.order == EdgeOrder::NewestFirst(key) {
            return Err(Error::SortPropertyFixed {
                name: catalog.edge_type_name(edge.ty),
                key: catalog.property_key_name(key),
            });
        }
        let (Some(u), Some(v), true) = (number(edge.src), number(edge.dst), self.edge_exists(edge))
        else {
            return Err(Error::NotFound(Object::Edge(edge)));
        };
        self.intend_edge(edge.ty, (u, v), edge.ordinal, Part::Property(key))?;
        self.put_edge_property(edge.ty, u, v, edge.ordinal, key, value)?;
        self.intend_edge_keys(edge.ty, (u, v), edge.ordinal, Some(key))
    }

    fn put_edge_property(
        &mut self,
        ty: EdgeTypeId,
        src: u32,
        dst: u32,
        ordinal: u32,
        key: PropertyKeyId,
        value: Value,
    ) -> Result<(), Error> {
        let of = self.edge_type(ty)?;
        let (place, numbered) = match ordinal {
            // There is none to remove.
            0 if value.is_null() && self.place(ty, src, dst, 0) == 0 => return Ok(()),
            0 => {
                let is_replicated = self.shared().is_replicated();
                (of.place_for_write(src, dst, is_replicated, &epoch::pin())?, false)
            }
            ordinal => (ordinal, true),
        };
        let write = EdgePropertyWrite { ty, src, dst, place, numbered, key, value };
        self.writes.put_edge_property(write);
        self.touch_edge(ty, (src, dst, place), Some(key));
        Ok(())
    }
}
