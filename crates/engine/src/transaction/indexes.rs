//! What a transaction finds in indexes: what its snapshot shows, and its own writes.

use std::ops::{ControlFlow, Range};
use std::sync::Arc;

use telar_graph::postings::{Impact, Postings};
use telar_graph::view::{FulltextPostings, IndexedObject, NearSearch, Nearest};
use telar_graph::{EdgeId, EdgeTypeId, IndexId, IndexRange, Value, VertexId};
use telar_text::key;

use super::own_keys::{Edge, Keys, Touched, Written};
use super::{Transaction, vid};
use crate::commit::maintenance::{edges_concerned, vertices_concerned};
use crate::commit::write_set::{EdgeOp, Read, edge_key, edge_property_key, vertex_property_key};
use crate::error::Error;
use crate::index::key::{Entry, Item, SortKey};
use crate::index::read::{IndexRead, KeyRange, TreeOf};
use crate::index::source::Source;
use crate::index::{Entries, Index, IndexTarget, Keys as OfThing, lists, totals};
use crate::snapshot::Reader;
use crate::snapshot::fulltext::{given, key_range};

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
        let (_, keys) = (index.label()?, KeyRange::new(index, range)?);
        let mut own = self.own_keys.borrow_mut();
        let own = own.get_or_insert_default();
        let own = self.own_vertices(&mut own.vertices, index, &reader);
        let found = self.with_own(&reader, index, (range, &keys), own)?;
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
        let (ty, keys) = (index.edge_type()?, KeyRange::new(index, range)?);
        let mut own = self.own_keys.borrow_mut();
        let own = own.get_or_insert_default();
        let own = self.own_edges(&mut own.edges, index, ty, &reader);
        let found = self.with_own(&reader, index, (range, &keys), own)?;
        let source = Source::new(self.shared(), &reader.guard);
        Ok(found.into_iter().map(|(_, item)| source.edge_id(ty, item)).collect())
    }

    /// What the snapshot shows in a range, and what this transaction wrote; remembers the read.
    fn with_own<const N: usize>(
        &self,
        reader: &Reader<'_>,
        index: &Index,
        (range, keys): (&IndexRange, &KeyRange),
        own: &Keys<N>,
    ) -> Result<Vec<Entry<N>>, Error>
    where
        Entries: TreeOf<N>,
    {
        let mut found: Vec<Entry<N>> = Vec::new();
        let how = (range.descending, range.limit.saturating_add(own.len()));
        reader.items_in(index, keys, how, |key, item| {
            if !own.has(&item) {
                found.push((key.clone(), item));
            }
        })?;
        let shown = found.len();
        found.extend(own.range(keys).cloned());
        if found.len() > shown {
            found.sort_unstable();
            if range.descending {
                found.reverse();
            }
        }
        found.truncate(range.limit);
        if self.reads.is_some() {
            let read = IndexRead { index: index.id, range: keys.clone() };
            self.note(Read::Index(Arc::new(read)));
        }
        Ok(found)
    }

    /// Calls `f` with each entry of a full-text index in a range, as this transaction sees it;
    /// remembers the read.
    pub(super) fn fulltext_batch(
        &self,
        id: IndexId,
        keys: &Range<&[u8]>,
        f: &mut dyn FnMut(&[u8], IndexedObject) -> ControlFlow<()>,
    ) -> Result<(), Error> {
        let reader = self.reader();
        let index = reader.fulltext(id)?;
        let range = key_range(keys);
        let mut give = |key: &SortKey, item| {
            let bytes = key.to_bytes();
            f(&bytes, reader.indexed_object(index, item))
        };
        let mut own = self.own_keys.borrow_mut();
        let own = own.get_or_insert_default();
        match index.definition.target {
            IndexTarget::Vertices(_) => {
                let own = self.own_vertices(&mut own.vertices, index, &reader);
                reader.fulltext_items(index, &range, &mut |key, item| {
                    if own.has(&[item[0]]) { ControlFlow::Continue(()) } else { give(key, item) }
                })?;
                let _ = own.range(&range).try_for_each(|(key, [v])| give(key, [*v, 0, 0]));
            }
            IndexTarget::Edges(ty) => {
                let own = self.own_edges(&mut own.edges, index, ty, &reader);
                reader.fulltext_items(index, &range, &mut |key, item| {
                    if own.has(&item) { ControlFlow::Continue(()) } else { give(key, item) }
                })?;
                let _ = own.range(&range).try_for_each(|(key, item)| give(key, *item));
            }
        }
        self.note_range(index, range);
        Ok(())
    }

    /// Calls `f` with the beginnings of the postings in a range, at least of those that this
    /// transaction sees; remembers the read.
    pub(super) fn fulltext_terms_batch(
        &self,
        id: IndexId,
        keys: &Range<&[u8]>,
        f: &mut dyn FnMut(&[u8]) -> ControlFlow<()>,
    ) -> Result<(), Error> {
        let reader = self.reader();
        let index = reader.fulltext(id)?;
        let range = key_range(keys);
        let mut flow = ControlFlow::Continue(());
        reader.fulltext_beginnings(index, &range, &mut |beginning| {
            flow = f(beginning);
            flow
        })?;
        let mut give = |key: &SortKey| {
            let bytes = key.to_bytes();
            if flow.is_continue()
                && let Some(beginning) = key::beginning(&bytes)
            {
                flow = f(beginning);
            }
        };
        let mut own = self.own_keys.borrow_mut();
        let own = own.get_or_insert_default();
        match index.definition.target {
            IndexTarget::Vertices(_) => {
                let own = self.own_vertices(&mut own.vertices, index, &reader);
                own.range(&range).for_each(|(key, _)| give(key));
            }
            IndexTarget::Edges(ty) => {
                let own = self.own_edges(&mut own.edges, index, ty, &reader);
                own.range(&range).for_each(|(key, _)| give(key));
            }
        }
        self.note_range(index, range);
        Ok(())
    }

    /// The objects that have a term, as this transaction sees it; remembers the read.
    pub(super) fn fulltext_list(
        &self,
        id: IndexId,
        beginning: &[u8],
        go_on: &mut dyn FnMut() -> ControlFlow<()>,
    ) -> Result<FulltextPostings, Error> {
        let reader = self.reader();
        let index = reader.fulltext(id)?;
        let (from, to) = key::postings(beginning);
        let range = key_range(&(&from[..]..&to[..]));
        let shown = reader.fulltext_list(id, beginning, go_on)?;
        let mut own = self.own_keys.borrow_mut();
        let own = own.get_or_insert_default();
        let list = match (index.definition.target, shown) {
            (IndexTarget::Edges(ty), FulltextPostings::Edges(list)) => {
                let own = self.own_edges(&mut own.edges, index, ty, &reader);
                let source = Source::new(self.shared(), &reader.guard);
                let object = |item: &[u32; 3]| source.edge_id(ty, *item);
                FulltextPostings::Edges(changed(list, own, &range, object))
            }
            (_, FulltextPostings::Vertices(list)) => {
                let own = self.own_vertices(&mut own.vertices, index, &reader);
                FulltextPostings::Vertices(changed(list, own, &range, |[v]| *v))
            }
            (_, shown) => shown,
        };
        self.note_range(index, range);
        Ok(list)
    }

    fn note_range(&self, index: &Index, range: KeyRange) {
        if self.reads.is_some() {
            self.note(Read::Index(Arc::new(IndexRead { index: index.id, range })));
        }
    }

    /// For [`View::nearest`](telar_graph::View::nearest).
    pub(super) fn near_batch(
        &self,
        id: IndexId,
        search: &mut NearSearch<'_>,
        f: &mut dyn FnMut(IndexedObject),
    ) -> Result<Nearest, Error> {
        let reader = self.reader();
        let index = reader.vector_index(id)?;
        let mut give = |item| f(reader.indexed_object(index, item));
        let mut own = self.own_keys.borrow_mut();
        let own = own.get_or_insert_default();
        let nearest = match index.definition.target {
            IndexTarget::Vertices(_) => {
                let own = self.own_vertices(&mut own.vertices, index, &reader);
                let things = own.things().filter(|(_, keys)| !keys.is_empty());
                things.for_each(|([v], _)| give([*v, 0, 0]));
                reader.near_items(index, search, &mut |item| {
                    if !own.has(&[item[0]]) {
                        give(item);
                    }
                })?
            }
            IndexTarget::Edges(ty) => {
                let own = self.own_edges(&mut own.edges, index, ty, &reader);
                let things = own.things().filter(|(_, keys)| !keys.is_empty());
                things.for_each(|(item, _)| give(*item));
                reader.near_items(index, search, &mut |item| {
                    if !own.has(&item) {
                        give(item);
                    }
                })?
            }
        };
        self.note_range(index, KeyRange::everything());
        Ok(nearest)
    }

    /// Documents and terms of each field of a full-text index, as this transaction sees it.
    pub(super) fn fulltext_given(&self, id: IndexId) -> Result<Vec<(u64, u64)>, Error> {
        let reader = self.reader();
        let index = reader.fulltext(id)?;
        let definition = &index.definition;
        let mut counted = reader.fulltext_counted(index)?;
        let source = Source::new(self.shared(), &reader.guard);
        let mut own = self.own_keys.borrow_mut();
        let own = own.get_or_insert_default();
        let mut change = |before: &OfThing, now: &OfThing| {
            before.iter().for_each(|key| totals::add(&mut counted, key, -1));
            now.iter().for_each(|key| totals::add(&mut counted, key, 1));
        };
        match definition.target {
            IndexTarget::Vertices(label) => {
                let own = self.own_vertices(&mut own.vertices, index, &reader);
                for ([v], keys) in own.things() {
                    let (holders, at) = (&index.holders, reader.read_ts);
                    change(&source.vertex_keys(label, holders, definition, *v, at), keys);
                }
            }
            IndexTarget::Edges(ty) => {
                let own = self.own_edges(&mut own.edges, index, ty, &reader);
                for (item, keys) in own.things() {
                    let before = match source.edge_exists(ty, *item, reader.read_ts) {
                        true => source.edge_keys(ty, definition, item[0], reader.read_ts),
                        false => OfThing::new(),
                    };
                    change(&before, keys);
                }
            }
        }
        for field in 0..definition.properties.len() {
            let (from, to) = key::lengths(field as u8);
            self.note_range(index, key_range(&(&from[..]..&to[..])));
        }
        Ok(given(&counted, definition.properties.len()))
    }

    /// The keys of the vertices this transaction may have changed, as it sees them.
    fn own_vertices<'k>(
        &self,
        own: &'k mut Written<u32, 1>,
        index: &Index,
        reader: &Reader<'_>,
    ) -> &'k Keys<1> {
        let IndexTarget::Vertices(label) = index.definition.target else {
            unreachable!("INVARIANT: the index has a tree of vertices")
        };
        let properties = &index.definition.properties;
        let source = Source::new(self.shared(), &reader.guard);
        let key = |[v]: [u32; 1]| {
            let written = self.writes.states.get(v.into());
            let state = written.map_or_else(|| reader.state(v), |w| w.state);
            if !index.has_label(&source, label, state) {
                return OfThing::new();
            }
            let created = written.is_some_and(|w| w.created);
            index.definition.keys(|key| {
                match self.writes.vertex_properties.get(vertex_property_key(v, key)) {
                    Some(w) => w.value.clone(),
                    None if created => Value::Null,
                    None => source.vertex_value(v, key, reader.read_ts),
                }
            })
        };
        let all = || vertices_concerned(index, &self.writes).map(|v| [v]).collect();
        let concerns = |t: &Touched<u32>| {
            t.property.is_none_or(|key| properties.contains(&key)).then_some([t.thing])
        };
        own.of(index.id, all, concerns, key)
    }

    /// The keys of the edges this transaction may have changed, as it sees them.
    fn own_edges<'k>(
        &self,
        own: &'k mut Written<Edge, 3>,
        index: &Index,
        ty: EdgeTypeId,
        reader: &Reader<'_>,
    ) -> &'k Keys<3> {
        let properties = &index.definition.properties;
        let source = Source::new(self.shared(), &reader.guard);
        let key = |item: [u32; 3]| {
            let [place, src, dst] = item;
            let ordinal = source.edge_id(ty, item).ordinal;
            let op = self.writes.edges.get(edge_key(ty, src, dst, ordinal)).map(|w| w.op);
            if matches!(op, Some(EdgeOp::Delete | EdgeOp::Nothing)) {
                return OfThing::new();
            }
            index.definition.keys(|key| {
                match self.writes.edge_properties.get(edge_property_key(ty, place, key)) {
                    Some(w) => w.value.clone(),
                    None if op == Some(EdgeOp::Create) => Value::Null,
                    None => source.edge_value(ty, place, key, reader.read_ts),
                }
            })
        };
        let all =
            || edges_concerned(index, ty, &self.writes, source).map(|(item, _)| item).collect();
        let concerns = |t: &Touched<Edge>| {
            let (of, item) = t.thing;
            let concerned = t.property.is_none_or(|key| properties.contains(&key));
            (of == ty && concerned).then_some(item)
        };
        own.of(index.id, all, concerns, key)
    }
}

/// A list of a snapshot with the own keys of a range in it, in place of those that were.
fn changed<D: Copy + Ord, const N: usize>(
    list: Arc<Postings<D>>,
    own: &Keys<N>,
    range: &KeyRange,
    object: impl Fn(&Item<N>) -> D,
) -> Arc<Postings<D>> {
    if own.len() == 0 {
        return list;
    }
    let mut changes: Vec<(D, Option<Impact>)> =
        own.things().map(|(item, _)| (object(item), None)).collect();
    for (key, item) in own.range(range) {
        let bytes = key.to_bytes();
        changes.extend(lists::impact(&bytes).map(|impact| (object(item), Some(impact))));
    }
    Arc::new(list.changed(changes))
}

#[cfg(test)]
#[cfg(not(feature = "shuttle"))]
mod tests {
    use telar_graph::{Counts, EdgeTypeId, IndexId, LabelId, PropertyKeyId, Value, VertexId};

    use crate::catalog::EdgeTypeOptions;
    use crate::{Engine, IndexSpec, IndexTarget, Isolation, Settings};

    const MANY: u32 = 2000;

    struct Names {
        db: Engine,
        label: LabelId,
        ty: EdgeTypeId,
        key: PropertyKeyId,
        vertices: IndexId,
        edges: IndexId,
    }

    fn names() -> Names {
        let db = Engine::in_memory(Settings::default()).unwrap();
        let label = db.label("L").unwrap();
        let ty = db.edge_type("T", EdgeTypeOptions::general()).unwrap();
        let key = db.property_key("k").unwrap();
        let index = |name: &str, target| {
            let properties = vec![key];
            db.create_index(IndexSpec { name: name.to_owned(), target, properties }).unwrap()
        };
        let vertices = index("v", IndexTarget::Vertices(label));
        let edges = index("e", IndexTarget::Edges(ty));
        Names { db, label, ty, key, vertices, edges }
    }

    /// As `UNWIND range(..) MERGE` does: look, find nothing, write.
    #[test]
    fn looking_before_each_write_finds_each_key_once() {
        let n = names();
        let mut txn = n.db.begin_with(Isolation::Snapshot).unwrap();
        let end = txn.create_vertex(&[n.label]).unwrap();
        for i in 0..MANY {
            let value = Value::Int(i.into());
            assert!(txn.index_lookup(n.vertices, std::slice::from_ref(&value)).unwrap().is_empty());
            let vertex = txn.create_vertex(&[n.label]).unwrap();
            txn.set_vertex_property(vertex, n.key, value.clone()).unwrap();
            let found = txn.index_lookup(n.vertices, std::slice::from_ref(&value)).unwrap();
            assert_eq!(found, [vertex]);
            let sought = std::slice::from_ref(&value);
            assert!(txn.index_lookup_edges(n.edges, sought).unwrap().is_empty());
            let edge = txn.create_edge(n.ty, vertex, end, &[(n.key, value.clone())]).unwrap();
            assert_eq!(txn.index_lookup_edges(n.edges, sought).unwrap(), [edge]);
        }
        let own = txn.own_keys.borrow();
        let own = own.as_ref().unwrap();
        let (vertices, edges) = (own.vertices.found(n.vertices), own.edges.found(n.edges));
        assert_eq!((vertices, edges), (u64::from(MANY) + 1, u64::from(MANY)));
    }

    /// What belongs to others stays when a thing is deleted, and finding it costs nothing more.
    #[test]
    fn deleting_takes_only_the_own_properties_away() {
        let n = names();
        let mut txn = n.db.begin().unwrap();
        let end = txn.create_vertex(&[]).unwrap();
        let mut made = Vec::new();
        for i in 0..MANY {
            let vertex = txn.create_vertex(&[n.label]).unwrap();
            let value = Value::Int(i.into());
            txn.set_vertex_property(vertex, n.key, value.clone()).unwrap();
            made.push((vertex, txn.create_edge(n.ty, end, vertex, &[(n.key, value)]).unwrap()));
        }
        for (i, (vertex, edge)) in made.iter().enumerate() {
            if i % 3 == 0 {
                txn.delete_edge(*edge).unwrap();
            } else if i % 3 == 1 {
                txn.delete_vertex(*vertex, true).unwrap();
            }
        }
        let vertices = (0..MANY).filter(|i| i % 3 != 1).count();
        assert_eq!(txn.writes.vertex_properties.items().len(), vertices);
        let edges = (0..MANY).filter(|i| i % 3 == 2).count();
        assert_eq!(txn.writes.edge_properties.items().len(), edges);
        for (i, (vertex, edge)) in made.iter().enumerate() {
            let value = Value::Int(i as i64);
            let there: Vec<VertexId> = if i % 3 == 1 { vec![] } else { vec![*vertex] };
            assert_eq!(txn.index_lookup(n.vertices, std::slice::from_ref(&value)).unwrap(), there);
            let edges = txn.index_lookup_edges(n.edges, std::slice::from_ref(&value)).unwrap();
            assert_eq!(edges, if i % 3 == 2 { vec![*edge] } else { vec![] });
        }
        txn.commit().unwrap();
        let exact = n.db.reader().unwrap().statistics().unwrap();
        assert_eq!((exact.vertices, exact.edges()), (vertices as u64 + 1, edges as u64));
    }
}
