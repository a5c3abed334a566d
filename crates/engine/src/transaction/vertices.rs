//! What a transaction does with vertices, their labels and properties.

use crossbeam_epoch::Guard;
use telar_graph::{
    Direction, EdgeId, EdgeTypeId, LabelId, PropertyKeyId, ReadError, Value, VertexId, View,
};

use super::around::Around;
use super::{Transaction, check_value, vid};
use crate::commit::write_set::{Read, StateWrite, VertexPropertyWrite, vertex_property_key};
use crate::error::{Error, Object};
use crate::intents::Part;
use crate::snapshot::number;
use crate::stop::Stop;

impl Transaction<'_> {
    /// Creates a vertex with these labels.
    ///
    /// # Errors
    /// [`Error::UnknownLabel`], [`Error::TooMany`].
    pub fn create_vertex(&mut self, labels: &[LabelId]) -> Result<VertexId, Error> {
        for l in labels {
            self.check_label(*l)?;
        }
        let state = self.shared().catalog.label_sets.number(labels);
        let vertex = self.shared().new_vertex()?;
        self.writes.states.push(StateWrite { vertex, state, created: true });
        self.touch_vertex(vertex, None);
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

    pub(super) fn existing(&self, vertex: VertexId) -> Result<u32, Error> {
        let missing = Error::NotFound(Object::Vertex(vertex));
        match number(vertex) {
            Some(v) if self.state(v) != 0 => Ok(v),
            _ => Err(self.shared().check_stored().err().unwrap_or(missing)),
        }
    }

    /// The numbers of two vertices that exist.
    pub(super) fn existing_ends(
        &self,
        src: VertexId,
        dst: VertexId,
        guard: &Guard,
    ) -> Result<(u32, u32), Error> {
        let (shared, read_ts) = (self.shared(), self.registration.read_ts);
        let state = |v: u32| match self.writes.states.get(v.into()) {
            Some(w) => w.state,
            None => {
                self.note(Read::State(v));
                shared.states.get(v, read_ts, guard)
            }
        };
        match (number(src), number(dst)) {
            (Some(u), Some(v)) if state(u) != 0 && state(v) != 0 => Ok((u, v)),
            // As it is told of one.
            _ => Ok((self.existing(src)?, self.existing(dst)?)),
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
        self.touch_vertex(v, None);
    }

    /// Adds a label. Returns whether the vertex did not have it.
    ///
    /// # Errors
    /// [`Error::NotFound`], [`Error::UnknownLabel`].
    pub fn add_label(&mut self, vertex: VertexId, label: LabelId) -> Result<bool, Error> {
        self.check_label(label)?;
        let mut labels = self.labels(vertex)?;
        if labels.contains(&label) {
            return Ok(false);
        }
        labels.push(label);
        let v = self.existing(vertex)?;
        self.intend_vertex(v, Part::Labels)?;
        self.set_labels(v, &labels);
        self.intend_vertex_keys(v, None)?;
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
        self.intend_vertex(v, Part::Labels)?;
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
    /// [`Error::NotFound`], [`Error::UnknownPropertyKey`], [`Error::TooDeep`],
    /// [`Error::NotStorable`].
    pub fn set_vertex_property(
        &mut self,
        vertex: VertexId,
        key: PropertyKeyId,
        value: Value,
    ) -> Result<(), Error> {
        self.check_property_key(key)?;
        check_value(&value)?;
        let v = self.existing(vertex)?;
        self.intend_vertex(v, Part::Property(key))?;
        self.writes.put_vertex_property(VertexPropertyWrite { vertex: v, key, value });
        self.touch_vertex(v, Some(key));
        self.intend_vertex_keys(v, Some(key))
    }

    /// Deletes a vertex. With `detach` its edges go with it; without, it must have none.
    ///
    /// # Errors
    /// [`Error::NotFound`], [`Error::StillConnected`].
    pub fn delete_vertex(&mut self, vertex: VertexId, detach: bool) -> Result<(), Error> {
        let (v, edges) = self.about_to_delete(vertex)?;
        if !detach && !edges.is_empty() {
            return Err(Error::StillConnected { vertex, edges: edges.len() });
        }
        for edge in edges {
            self.delete_edge(edge)?;
        }
        self.clear_vertex(v);
        Ok(())
    }

    /// Deletes a vertex that may have edges until the commit, which fails with
    /// [`Error::StillConnected`] if one is left.
    ///
    /// The vertex is gone at once, and reads find no edges from it. Its edges can be found from
    /// their other ends, read, changed and deleted; none can be made.
    ///
    /// # Errors
    /// [`Error::NotFound`].
    pub fn delete_vertex_deferred(&mut self, vertex: VertexId) -> Result<(), Error> {
        let (v, edges) = self.about_to_delete(vertex)?;
        if !edges.is_empty() {
            self.writes.deleted_connected.insert(v);
        }
        self.clear_vertex(v);
        Ok(())
    }

    /// The number and the edges of a vertex that is about to be deleted.
    fn about_to_delete(&mut self, vertex: VertexId) -> Result<(u32, Vec<EdgeId>), Error> {
        let v = self.existing(vertex)?;
        self.intend_vertex(v, Part::Whole)?;
        let mut edges: Vec<EdgeId> = Vec::new();
        self.all_edges(vertex, &mut edges)?;
        Ok((v, edges))
    }

    /// Writes that a vertex has no labels and no properties and does not exist.
    fn clear_vertex(&mut self, v: u32) {
        let created = self.writes.states.get(v.into()).is_some_and(|w| w.created);
        let mut set: Vec<PropertyKeyId> = Vec::new();
        if !created {
            // The id may be used again one day: nothing of this vertex must show then.
            let read_ts = self.read_ts().get();
            self.around(v, |around| set = around.keys_of(v, read_ts, self.shared()));
        }
        self.writes.clear_vertex(v, &set);
        self.writes.states.put(StateWrite { vertex: v, state: 0, created });
        self.touch_vertex(v, None);
    }

    /// True if `vertex` was deleted while it had edges: reads find none from it.
    pub(super) fn is_deleted_connected(&self, vertex: VertexId) -> bool {
        let deleted = &self.writes.deleted_connected;
        !deleted.is_empty() && number(vertex).is_some_and(|v| deleted.contains(&v))
    }

    /// Fails if a deleted vertex has an edge left. What others have done to its edges since the
    /// snapshot is a conflict, which validation finds.
    pub(super) fn check_deleted_connected(&self, stop: &Stop<'_>) -> Result<(), Error> {
        let mut left: Vec<EdgeId> = Vec::new();
        for v in &self.writes.deleted_connected {
            stop.step()?;
            self.all_edges(vid(*v), &mut left)?;
            if !left.is_empty() {
                return Err(Error::StillConnected { vertex: vid(*v), edges: left.len() });
            }
        }
        Ok(())
    }

    /// Calls `f` with what the vertices around `v` have.
    fn around(&self, v: u32, f: impl FnOnce(&mut Around)) {
        let mut around = self.around.borrow_mut();
        match &mut *around {
            Some(around) if around.is_about(v) => f(around),
            around => f(around.insert(Box::new(Around::of(v, self.shared())))),
        }
    }

    /// Appends every edge of `vertex`, those of this transaction included.
    pub(super) fn all_edges(&self, vertex: VertexId, out: &mut Vec<EdgeId>) -> Result<(), Error> {
        let Some(v) = number(vertex) else { return Ok(()) };
        let mut lists: Vec<(EdgeTypeId, Direction)> = Vec::new();
        self.around(v, |around| lists.extend(&around.lists));
        let writes = self.writes.edges.items();
        if !writes.is_empty() {
            let shown = lists.len();
            let mut ends = self.ends.borrow_mut();
            for ty in ends.get_or_insert_default().types(writes) {
                for direction in Direction::ALL {
                    if !lists[..shown].contains(&(*ty, direction)) {
                        lists.push((*ty, direction));
                    }
                }
            }
        }
        for (ty, direction) in lists {
            out.extend(self.edges_left(vertex, ty, direction)?);
        }
        Ok(())
    }

    /// The vertices with `label` (all, if `None`), ascending.
    ///
    /// # Errors
    /// [`ReadError::Storage`].
    pub fn scan(&self, label: Option<LabelId>) -> Result<Vec<VertexId>, ReadError> {
        let (first, mut found) = (VertexId::from_raw(0), Vec::new());
        View::scan(self, label, first, self.reader().vertex_bound(), &mut found)?;
        Ok(found)
    }
}
