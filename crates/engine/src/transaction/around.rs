//! What vertices with ids close to each other have: which lists, and which properties.
//!
//! A deletion must find every edge and every property of its vertex, whatever types and keys the
//! schema has. What no vertex of a segment has is ruled out once for all that are deleted in it,
//! and which of them have a property is found column by column, not vertex by vertex.
//!
//! The answers are those of the transaction's snapshot, so they stay true; its own writes are not
//! in them.
//!
//! Cost: for each segment, a look at each type and key there is; for the first vertex of it, a read
//! of each key that some vertex has; from the second on what it has itself.

use crossbeam_epoch as epoch;
use telar_graph::{Direction, EdgeTypeId, PropertyKeyId};

use crate::adjacency::{local_of, segment_of};
use crate::shared::Shared;

/// What the vertices of one segment have.
#[derive(Debug)]
pub(super) struct Around {
    segment: u32,
    /// Lists that may have entries.
    pub(super) lists: Vec<(EdgeTypeId, Direction)>,
    keys: Keys,
    is_asked_again: bool,
}

#[derive(Debug)]
enum Keys {
    /// Keys that some vertex may have.
    Some(Vec<PropertyKeyId>),
    /// Each vertex's keys, by its place in the segment.
    Each(Vec<(u32, PropertyKeyId)>),
}

impl Around {
    /// What the vertices around `v` have.
    pub(super) fn of(v: u32, shared: &Shared) -> Self {
        let segment = segment_of(v);
        let mut lists = Vec::new();
        for (id, ty) in shared.catalog.edge_types() {
            let here = Direction::ALL.into_iter().filter(|d| ty.table(*d).may_hold(segment));
            lists.extend(here.map(|direction| (id, direction)));
        }
        let guard = &epoch::pin();
        let columns = shared.catalog.vertex_columns();
        let here = columns.filter(|(_, column)| column.may_hold(segment, guard));
        let keys = Keys::Some(here.map(|(key, _)| key).collect());
        Self { segment, lists, keys, is_asked_again: false }
    }

    pub(super) fn is_about(&self, v: u32) -> bool {
        self.segment == segment_of(v)
    }

    /// The keys of the properties that `v` has at `read_ts`, no older than the low watermark.
    pub(super) fn keys_of(&mut self, v: u32, read_ts: u64, shared: &Shared) -> Vec<PropertyKeyId> {
        let guard = &epoch::pin();
        let of_column = |key: &PropertyKeyId| Some((*key, shared.catalog.vertex_column(*key)?));
        if let Keys::Some(keys) = &self.keys {
            if !std::mem::replace(&mut self.is_asked_again, true) {
                let columns = keys.iter().filter_map(of_column);
                let has = columns.filter(|(_, column)| !column.get(v, read_ts, guard).is_null());
                return has.map(|(key, _)| key).collect();
            }
            let mut each: Vec<(u32, PropertyKeyId)> = Vec::new();
            for (key, column) in keys.iter().filter_map(of_column) {
                column.present(self.segment, read_ts, guard, |local| each.push((local, key)));
            }
            each.sort_unstable();
            self.keys = Keys::Each(each);
        }
        let Keys::Each(each) = &self.keys else { return Vec::new() };
        let first = each.partition_point(|(local, _)| *local < local_of(v));
        let own = each[first..].iter().take_while(|(local, _)| *local == local_of(v));
        own.map(|(_, key)| *key).collect()
    }
}

#[cfg(test)]
#[cfg(not(feature = "shuttle"))]
mod tests {
    use telar_graph::{Counts, Value, VertexId};

    use super::*;
    use crate::{EdgeTypeOptions, Engine, Error, Settings};

    const NEAR: u64 = 2000;

    fn of(v: u64) -> VertexId {
        VertexId::from_raw(v)
    }

    /// Two thousand types and keys of which vertices of the first segment have one each, and a
    /// vertex of the second all.
    fn wide(db: &Engine) -> (Vec<EdgeTypeId>, Vec<PropertyKeyId>) {
        let names = 0..NEAR;
        let general = EdgeTypeOptions::general;
        let types: Vec<_> =
            names.clone().map(|i| db.edge_type(&format!("T{i}"), general()).unwrap()).collect();
        let keys: Vec<_> = names.map(|i| db.property_key(&format!("k{i}")).unwrap()).collect();
        let mut txn = db.begin().unwrap();
        for _ in 0..2 * NEAR {
            txn.create_vertex(&[]).unwrap();
        }
        for i in 0..900 {
            txn.set_vertex_property(of(i), keys[7], Value::Int(1)).unwrap();
            txn.create_edge(types[9], of(i), of(i + 1), &[]).unwrap();
        }
        for (ty, key) in types.iter().zip(&keys) {
            txn.create_edge(*ty, of(NEAR), of(NEAR + 1), &[]).unwrap();
            txn.set_vertex_property(of(NEAR), *key, Value::Int(2)).unwrap();
        }
        txn.commit().unwrap();
        (types, keys)
    }

    #[test]
    fn what_is_near_is_all_that_is_looked_at() {
        let db = Engine::in_memory(Settings::default()).unwrap();
        let (types, keys) = wide(&db);
        let read_ts = db.published().get();
        let mut around = Around::of(5, &db.shared);
        assert_eq!(around.lists, Direction::ALL.map(|d| (types[9], d)));
        for v in [3, 5, 950, 5] {
            let own = if v < 900 { vec![keys[7]] } else { vec![] };
            assert_eq!(around.keys_of(v, read_ts, &db.shared), own, "vertex {v}");
        }
        assert!(around.is_about(1023) && !around.is_about(1024));
        let mut far = Around::of(NEAR as u32, &db.shared);
        assert_eq!((far.lists.len(), far.keys_of(2000, read_ts, &db.shared)), (4000, keys.clone()));
        assert_eq!(far.keys_of(2001, read_ts, &db.shared), []);
        assert_eq!(far.keys_of(2000, read_ts, &db.shared), keys);
    }

    /// Everything goes that was there, by whatever key and type, in memory or in the store.
    #[test]
    fn deleted_vertices_leave_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let settings = || Settings { background_interval_ms: 0, ..Settings::default() };
        let mut db = Engine::open(folder.path().join("db"), settings()).unwrap();
        let (types, keys) = wide(&db);
        for gone in [0..500, 500..900] {
            let mut txn = db.begin().unwrap();
            // Own writes count, too, of types and keys that nobody else has there.
            let v = of(gone.start + 1);
            txn.create_edge(types[11], v, of(gone.start + 2), &[]).unwrap();
            txn.set_vertex_property(v, keys[12], Value::Int(3)).unwrap();
            let connected = txn.delete_vertex(v, false);
            assert!(matches!(connected, Err(Error::StillConnected { edges: 3, .. })));
            gone.clone().for_each(|v| txn.delete_vertex(of(v), true).unwrap());
            txn.commit().unwrap();
            let reader = db.reader().unwrap();
            for v in gone.clone() {
                assert!(keys.iter().all(|k| reader.vertex_property(of(v), *k).is_null()));
                assert!(types.iter().all(|t| reader.degree(of(v), *t, Direction::Out) == 0));
            }
            let left = 900 - gone.end;
            assert_eq!(reader.statistics().unwrap().edges(), left + NEAR, "after {gone:?}");
            drop(reader);
            // The rest is deleted from what the store has.
            db.close().unwrap();
            db = Engine::open(folder.path().join("db"), settings()).unwrap();
        }
        let mut txn = db.begin().unwrap();
        txn.delete_vertex(of(NEAR), true).unwrap();
        txn.commit().unwrap();
        let reader = db.reader().unwrap();
        assert_eq!(reader.statistics().unwrap().edges(), 0);
        assert!(keys.iter().all(|k| reader.vertex_property(of(NEAR), *k).is_null()));
    }

    #[test]
    fn names_made_by_a_transaction_share_its_sync_and_have_a_limit_that_names_the_name() {
        let folder = tempfile::tempdir().unwrap();
        let settings = || Settings { background_interval_ms: 0, ..Settings::default() };
        let db = Engine::open(folder.path().join("db"), settings()).unwrap();
        let groups = || db.shared.durable.as_ref().unwrap().wal.counters().groups;
        let before = groups();
        let mut txn = db.begin().unwrap();
        let vertex = txn.create_vertex(&[]).unwrap();
        for i in 0..1500 {
            let update: &mut dyn telar_graph::Update = &mut txn;
            let key = update.property_key(&format!("k{i}")).unwrap();
            update.label(&format!("L{i}")).unwrap();
            update.set_vertex_property(vertex, key, Value::Int(i)).unwrap();
        }
        txn.commit().unwrap();
        // One of its own, and one for every so many names.
        assert!(groups() - before <= 3, "{} syncs", groups() - before);
        drop(db);
        let db = Engine::open(folder.path().join("db"), settings()).unwrap();
        assert_eq!((db.property_keys().len(), db.labels().len()), (1500, 1500));
        let key = db.find_property_key("k1499").unwrap();
        assert_eq!(db.reader().unwrap().vertex_property(vertex, key), Value::Int(1499));

        let db = Engine::in_memory(Settings::default()).unwrap();
        for i in 0..65_535 {
            db.label(&format!("L{i}")).unwrap();
        }
        let error = db.label("one too many").unwrap_err();
        assert!(matches!(error, Error::TooManyNames { .. }), "{error}");
        assert!(error.to_string().contains("`one too many`"), "{error}");
        assert_eq!(db.label("L65534").unwrap().get(), 65_534);
    }
}
