//! What a transaction tells others of what it writes, and how it waits for them.
//!
//! An intent is taken before the write it is for. If what is to be written has been changed since
//! the snapshot, which is seen then and not only at the commit, the transaction has lost already.
//! [`Transaction::restart`] begins it anew with what it holds.

use crossbeam_epoch::{self as epoch, Guard};
use telar_graph::{Direction, EdgeTypeId, IndexId, PropertyKeyId, Value};

use super::{Transaction, vid};
use crate::adjacency::ListKind;
use crate::adjacency::scan::TableView;
use crate::catalog::EdgeType;
use crate::commit::claim::Claim;
use crate::commit::plan::{Latches, ListGuard, edge_columns_changed};
use crate::commit::validate::newest;
use crate::commit::write_set::{
    EdgeOp, EdgeWrite, WriteSet, edge_key, edge_property_key, vertex_property_key,
};
use crate::error::{Error, Object};
use crate::index::key::SortKey;
use crate::index::source::{NOW, Source, edge_item, numbered_edge};
use crate::index::{Definition, IndexTarget};
use crate::intents::pairs::Pair;
use crate::intents::{Holder, Intent, Part, Refused, Thing, WriteWait};

/// A vertex that is deleted is looked at for changes of every property if there are no more than
/// these, or if the transaction has waited for it: then something has been changed for sure.
const KEYS_LOOKED_AT: usize = 64;

fn refusal(refused: Refused) -> Error {
    match refused {
        Refused::Deadlock => Error::Deadlock,
        Refused::TimedOut => Error::WaitTimedOut,
        Refused::Terminated => Error::WaitTerminated,
    }
}

impl Transaction<'_> {
    /// From now on writes of this transaction wait for others of the same, as long as `wait` says,
    /// and those of others for this one's. A transaction that does not ask for it neither waits nor
    /// is waited for.
    pub fn wait_for_writers(&mut self, wait: WriteWait) {
        if wait.longest.is_zero() {
            return self.release_intents();
        }
        match &mut self.intents {
            Some(holder) => holder.set_wait(wait),
            none => *none = Some(Holder::new(&self.registration.shared.intents, wait)),
        }
    }

    /// Whether others wait for this transaction, or would.
    #[must_use]
    pub fn holds_intents(&self) -> bool {
        self.intents.as_ref().is_some_and(Holder::holds_any)
    }

    /// Lets others go on who wait for what this transaction has written. It waits no longer for
    /// them, either.
    pub fn release_intents(&mut self) {
        if let Some(mut holder) = self.intents.take() {
            holder.release(&self.registration.shared.intents);
        }
    }

    /// Forgets everything that was written, and begins anew on what is there now; nobody who waits
    /// for this transaction overtakes it. After a deadlock it first takes what it was about to
    /// write in an order that is the same for all who do so.
    ///
    /// # Errors
    /// [`Error::Deadlock`] and those of a wait; [`Error::TooMany`]. The transaction can only be
    /// restarted again, or dropped.
    pub fn restart(&mut self) -> Result<(), Error> {
        self.give_back_vertices();
        self.give_back_pairs();
        let once = self.writes.once.take();
        self.writes = WriteSet::default();
        self.writes.once = once;
        *self.ends.get_mut() = None;
        *self.own_keys.get_mut() = None;
        self.rules = None;
        if let Some(reads) = &mut self.reads {
            reads.get_mut().clear();
        }
        self.registration.close();
        if let Some(holder) = &mut self.intents {
            holder.take_in_order(&self.registration.shared.intents).map_err(refusal)?;
        }
        self.shared().gate.wait_open();
        self.registration.renew()
    }

    /// Takes an intent. `changed` finds out what has been changed of it since the snapshot; it is
    /// told whether the transaction has waited.
    fn intend(
        &mut self,
        intent: Intent,
        changed: impl FnOnce(&Self, bool, &Guard) -> Result<Option<Object>, Error>,
    ) -> Result<(), Error> {
        let shared = &self.registration.shared;
        let Some(holder) = &mut self.intents else { return Ok(()) };
        let Some(waited) = holder.acquire(&shared.intents, intent).map_err(refusal)? else {
            return Ok(());
        };
        if shared.last_ts() <= self.registration.read_ts {
            return Ok(());
        }
        match changed(self, waited, &epoch::pin())? {
            Some(object) => Err(Error::Conflict { object }),
            None => Ok(()),
        }
    }

    /// Whether the transaction made this vertex: nobody else can write to it.
    fn made_vertex(&self, v: u32) -> bool {
        self.writes.states.get(v.into()).is_some_and(|w| w.created)
    }

    /// Before a part of a vertex is written.
    #[inline]
    pub(super) fn intend_vertex(&mut self, v: u32, part: Part) -> Result<(), Error> {
        if self.intents.is_none() || self.made_vertex(v) {
            return Ok(());
        }
        self.intend((Thing::Vertex(v), part), |own, waited, guard| {
            Ok(own.vertex_changed(v, part, waited, guard))
        })
    }

    fn vertex_changed(&self, v: u32, part: Part, waited: bool, guard: &Guard) -> Option<Object> {
        let (shared, read_ts) = (self.shared(), self.registration.read_ts);
        let state = || (newest(&shared.states, v, guard) > read_ts).then(|| Object::Vertex(vid(v)));
        let gone = || (shared.states.get(v, NOW, guard) == 0).then(|| Object::Vertex(vid(v)));
        let property = |key| {
            let column = shared.catalog.vertex_column(key)?;
            (newest(column, v, guard) > read_ts).then(|| Object::VertexProperty(vid(v), key))
        };
        match part {
            Part::Labels => state(),
            Part::Existence => gone(),
            Part::Property(key) => gone().or_else(|| property(key)),
            Part::Whole => {
                let keys = || shared.catalog.property_key_ids();
                let look = waited || keys().nth(KEYS_LOOKED_AT).is_none();
                let properties = || keys().filter(|_| look).find_map(property);
                state().or_else(properties).or_else(|| self.edges_changed(v, guard))
            }
        }
    }

    fn edges_changed(&self, v: u32, guard: &Guard) -> Option<Object> {
        let mut tables = self
            .shared()
            .catalog
            .edge_types()
            .flat_map(|(id, ty)| Direction::ALL.map(|direction| (id, ty.table(direction))));
        tables.find_map(|(id, table)| {
            let list = ListGuard::find(id, table, v, &mut Latches::default(), guard);
            let changed = list.changed_since(self.registration.read_ts, guard);
            changed.then(|| Object::Neighbours(vid(v), id))
        })
    }

    /// Before an edge is made, changed or deleted, or one of its properties.
    #[inline]
    pub(super) fn intend_edge(
        &mut self,
        ty: EdgeTypeId,
        ends: (u32, u32),
        ordinal: u32,
        part: Part,
    ) -> Result<(), Error> {
        let (src, dst) = ends;
        let key = edge_key(ty, src, dst, ordinal);
        if self.intents.is_none()
            || self.writes.edges.get(key).is_some_and(|w| w.op == EdgeOp::Create)
        {
            return Ok(());
        }
        let simple = self.shared().catalog.edge_type(ty)?.kind() == ListKind::Simple;
        let thing = match ordinal {
            0 if simple => pair(ty, src, dst),
            0 => Thing::Unnumbered(ty, src, dst),
            _ => Thing::Edge(ty, ordinal),
        };
        self.intend((thing, part), |own, _, guard| {
            own.edge_changed(ty, (src, dst, ordinal), part, guard)
        })
    }

    fn edge_changed(
        &self,
        ty: EdgeTypeId,
        (src, dst, ordinal): (u32, u32, u32),
        part: Part,
        guard: &Guard,
    ) -> Result<Option<Object>, Error> {
        let (shared, read_ts) = (self.shared(), self.registration.read_ts);
        let edge_type = shared.catalog.edge_type(ty)?;
        let id = numbered_edge(ty, [ordinal, src, dst]);
        if edge_type.kind() == ListKind::Simple {
            let table = edge_type.table(Direction::Out);
            let exists = |ts| {
                let view = TableView::new(table, ts, guard);
                view.with_list_of(src, dst, |list| list.contains(dst))
            };
            return Ok((exists(NOW) != exists(read_ts)).then_some(Object::Edge(id)));
        }
        let source = Source::new(shared, guard);
        let place = edge_type.place(src, dst, ordinal, guard);
        let exists = ordinal == 0 || source.edge_exists(ty, edge_item(src, dst, ordinal), NOW);
        if !exists || (ordinal == 0 && self.unnumbered_changed(edge_type, (src, dst), guard)) {
            return Ok(Some(Object::Edge(id)));
        }
        let changed = match part {
            Part::Property(key) => {
                let column = edge_type.column(key);
                column.is_some_and(|c| newest(c, place, guard) > read_ts).then_some(key)
            }
            _ => edge_columns_changed(edge_type, place, read_ts, guard),
        };
        Ok(changed.map(|key| Object::EdgeProperty(id, key)))
    }

    /// True if the edge without an ordinal between two vertices is not the one of the snapshot.
    fn unnumbered_changed(&self, ty: &EdgeType, (src, dst): (u32, u32), guard: &Guard) -> bool {
        let view = TableView::new(ty.table(Direction::Out), NOW, guard);
        let read_ts = self.registration.read_ts;
        view.with_latest_list_of(src, dst, read_ts, |list, delta| {
            list.changed_since(delta, dst, Some(0)) || list.find_ordinal(dst, 0).is_none()
        })
    }

    /// Before an edge is made without properties: true if it need not have an ordinal. Then it is
    /// the only one of its pair, and nobody else makes another before this transaction ends.
    pub(super) fn may_be_unnumbered(
        &mut self,
        ty: EdgeTypeId,
        (src, dst): (u32, u32),
        guard: &Guard,
    ) -> bool {
        let shared = &self.registration.shared;
        let Ok(edge_type) = shared.catalog.edge_type(ty) else { return false };
        if edge_type.kind() != ListKind::Multi
            || edge_type.prefers_ordinals()
            || self.writes.edges.get(edge_key(ty, src, dst, 0)).is_some()
            || edge_type.place(src, dst, 0, guard) != 0
        {
            return false;
        }
        if self.made_vertex(src) || self.made_vertex(dst) {
            edge_type.note_unnumbered();
            return true;
        }
        // Before the lists are looked at: whoever gives it back has changed them.
        if self.pairs_owner == 0 {
            self.pairs_owner = shared.pairs.owner();
        }
        let pair = Pair::new(ty.get(), src, dst);
        if !shared.pairs.take(self.pairs_owner, pair) {
            return false;
        }
        // The shorter of the lists, as everybody sees it by now.
        let view = |direction| TableView::new(edge_type.table(direction), NOW, guard);
        let (out, inward) = (view(Direction::Out), view(Direction::In));
        let (view, v, nbr) = if inward.settled_len(dst) < out.settled_len(src) {
            (inward, dst, src)
        } else {
            (out, src, dst)
        };
        let is_taken = view.is_taken(v, nbr, self.registration.read_ts);
        if is_taken {
            shared.pairs.give_back(self.pairs_owner, pair);
        } else {
            edge_type.note_unnumbered();
        }
        !is_taken
    }

    /// Lets others make edges without ordinals between vertices where this transaction has made
    /// some: they are there by now, or do not come to be.
    pub(super) fn give_back_pairs(&self) {
        if self.pairs_owner == 0 {
            return;
        }
        let made =
            |w: &&EdgeWrite| w.ordinal == 0 && matches!(w.op, EdgeOp::Create | EdgeOp::Nothing);
        for w in self.writes.edges.items().iter().filter(made) {
            let pair = Pair::new(w.ty.get(), w.src, w.dst);
            self.shared().pairs.give_back(self.pairs_owner, pair);
        }
    }

    /// Before edges are claimed that were not found, all in one place.
    pub(super) fn intend_claims(&mut self, bound: bool, claims: &[Claim]) -> Result<(), Error> {
        if self.intents.is_none() {
            return Ok(());
        }
        for claim in claims {
            let thing = match (bound, claim.other_vertex()) {
                (true, Some(other)) => pair(claim.ty, claim.vertex, other),
                _ => Thing::Like(self.shared().intents.hash_of(&claim.place())),
            };
            self.intend((thing, Part::Whole), |own, _, guard| {
                let broken = claim.broken_by(own.shared(), own.registration.read_ts, guard)?;
                Ok(broken.map(Object::Edge))
            })?;
        }
        Ok(())
    }

    /// After a vertex got labels, or a property: for unique keys that it has now.
    #[inline]
    pub(super) fn intend_vertex_keys(
        &mut self,
        v: u32,
        property: Option<PropertyKeyId>,
    ) -> Result<(), Error> {
        if self.intents.is_none() {
            return Ok(());
        }
        let made = self.made_vertex(v);
        if made && self.writes.vertex_properties.items().is_empty() {
            // It has no property, and a key is made of some.
            return Ok(());
        }
        let keys = self.unique_keys(property, |own, definition, source| {
            let IndexTarget::Vertices(label) = definition.target else { return None };
            let written = own.writes.states.get(v.into());
            let state = written.map_or_else(
                || source.states.get(v, own.registration.read_ts, source.guard),
                |w| w.state,
            );
            if !source.catalog.label_sets.labels(state).contains(&label) {
                return None;
            }
            definition.key(|key| {
                match own.writes.vertex_properties.get(vertex_property_key(v, key)) {
                    Some(w) => w.value.clone(),
                    None if made => Value::Null,
                    None => source.vertex_value(v, key, own.registration.read_ts),
                }
            })
        });
        self.intend_keys(keys, [v, 0, 0])
    }

    /// The same, of an edge.
    #[inline]
    pub(super) fn intend_edge_keys(
        &mut self,
        ty: EdgeTypeId,
        (src, dst): (u32, u32),
        ordinal: u32,
        property: Option<PropertyKeyId>,
    ) -> Result<(), Error> {
        if self.intents.is_none() {
            return Ok(());
        }
        let write = self.writes.edges.get(edge_key(ty, src, dst, ordinal));
        let made = write.is_some_and(|w| w.op == EdgeOp::Create);
        let place = self.place(ty, src, dst, ordinal);
        let keys = self.unique_keys(property, |own, definition, source| {
            if definition.target != IndexTarget::Edges(ty) {
                return None;
            }
            definition.key(|key| {
                match own.writes.edge_properties.get(edge_property_key(ty, place, key)) {
                    Some(w) => w.value.clone(),
                    None if made => Value::Null,
                    None => source.edge_value(ty, place, key, own.registration.read_ts),
                }
            })
        });
        self.intend_keys(keys, edge_item(src, dst, place))
    }

    /// The keys of unique constraints that `key` finds, of those that a property concerns.
    fn unique_keys(
        &self,
        property: Option<PropertyKeyId>,
        key: impl Fn(&Self, &Definition, Source<'_>) -> Option<SortKey>,
    ) -> Vec<(IndexId, SortKey)> {
        // PERF: telar bench cypher, insert: most properties are in no unique constraint.
        if !self.shared().indexes.may_be_unique(property) {
            return Vec::new();
        }
        let guard = epoch::pin();
        let source = Source::new(self.shared(), &guard);
        let concerned = self.shared().indexes.list(&guard).iter().filter(|index| {
            let definition = &index.definition;
            definition.kind.is_unique()
                && property.is_none_or(|key| definition.properties.contains(&key))
        });
        concerned.filter_map(|i| Some((i.id, key(self, &i.definition, source)?))).collect()
    }

    fn intend_keys(&mut self, keys: Vec<(IndexId, SortKey)>, item: [u32; 3]) -> Result<(), Error> {
        for (id, key) in keys {
            self.intend((Thing::Key(id, key.hash()), Part::Whole), |own, _, guard| {
                let read_ts = own.registration.read_ts;
                let index = own.shared().indexes.find(id).filter(|index| index.is_loaded());
                let taken = index.is_some_and(|index| {
                    index.is_taken_since(own.shared(), &key, item, read_ts, guard)
                });
                Ok(taken.then_some(Object::UniqueKey(id)))
            })?;
        }
        Ok(())
    }
}

/// The edges between two vertices.
fn pair(ty: EdgeTypeId, a: u32, b: u32) -> Thing {
    Thing::Pair(ty, a.min(b), a.max(b))
}
