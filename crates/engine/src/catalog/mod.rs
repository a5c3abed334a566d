//! Schema names, label sets and the tables they lead to.
//!
//! Made names are never removed, so an id, once seen, stays valid and is looked up without a lock.
//! A new name is logged on its own when the transaction that uses it begins to commit, and is on
//! disk no later than that commit; one that rolls back gives it back (`names.rs`).

pub(crate) mod edge_type;
mod label_set;
mod names;
pub(crate) mod places;

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use parking_lot::{Mutex, MutexGuard, RwLock, RwLockReadGuard};
use telar_graph::name::{NameKind, validate_name};
use telar_graph::{Direction, EdgeTypeId, LabelId, PropertyKeyId};

pub(crate) use edge_type::EdgeType;
pub use edge_type::{EdgeOrder, EdgeTypeOptions};
pub(crate) use label_set::LabelSets;
use names::Names;
pub(crate) use names::{is_placeholder, placeholder};

use crate::adjacency::{AdjTable, segment_of};
use crate::column::{ColTable, PropertyChunk};
use crate::error::Error;
use crate::format::Kind;
use crate::mapped::{Source, Stored};
use crate::stop::Stop;
use crate::sync::thread;
use crate::table::{GrowArray, SparseArray};

/// Table number of the vertex state column; others are given out from 1.
pub(crate) const STATE_TABLE: u32 = 0;
fn too_many(kind: NameKind, name: &str) -> Error {
    let what = match kind {
        NameKind::Label => "labels",
        NameKind::EdgeType => "edge types",
        _ => "property keys",
    };
    Error::TooManyNames { what, name: name.into(), max: names::NAMES_MAX as u64 }
}

/// How long a commit waits for a lock before it asks whether it is to be given up.
const ASK_AFTER: Duration = Duration::from_millis(if cfg!(feature = "shuttle") { 0 } else { 20 });

/// Takes a lock, however long that takes, unless the commit is to be given up.
fn waiting<T>(stop: &Stop<'_>, mut take: impl FnMut() -> Option<T>) -> Result<T, Error> {
    loop {
        if let Some(taken) = take() {
            return Ok(taken);
        }
        stop.check()?;
        thread::yield_now();
    }
}

/// The schema of a database.
#[derive(Debug)]
pub(crate) struct Catalog {
    labels: RwLock<Names>,
    property_keys: RwLock<Names>,
    edge_types: RwLock<Names>,
    types: GrowArray<OnceLock<EdgeType>>,
    type_count: AtomicU32,
    vertex_properties: SparseArray<OnceLock<Box<ColTable<PropertyChunk>>>>,
    pub(crate) label_sets: LabelSets,
    next_table: AtomicU32,
    /// Length from which lists of new edge types become hubs.
    hub_entries_min: usize,
    /// Where segments that are not loaded come from.
    stored: Option<Arc<Stored>>,
    /// Held while a name is made and logged.
    pub(crate) making: Mutex<()>,
    /// Held by commits that read that a name does not exist, from before their validation until
    /// they are applied.
    unmade: Mutex<()>,
    /// Shared by commits that delete vertices: meanwhile no edge type may appear, and no segment
    /// may get its first list, or an edge could slip in unseen.
    lists_fixed: RwLock<()>,
}

impl Catalog {
    pub(crate) fn new(hub_entries_min: usize, stored: Option<Arc<Stored>>) -> Self {
        Self {
            hub_entries_min,
            stored,
            labels: RwLock::default(),
            property_keys: RwLock::default(),
            edge_types: RwLock::default(),
            types: GrowArray::default(),
            type_count: AtomicU32::new(0),
            vertex_properties: SparseArray::default(),
            label_sets: LabelSets::new(),
            next_table: AtomicU32::new(STATE_TABLE + 1),
            making: Mutex::new(()),
            unmade: Mutex::new(()),
            lists_fixed: RwLock::new(()),
        }
    }

    fn source(&self, kind: Kind, a: u16, b: u16) -> Source {
        Source::new(self.stored.as_ref(), kind, a, b)
    }

    pub(crate) fn table_number(&self) -> u32 {
        self.next_table.fetch_add(1, Ordering::Relaxed)
    }

    fn names(&self, kind: NameKind) -> &RwLock<Names> {
        match kind {
            NameKind::Label => &self.labels,
            NameKind::PropertyKey => &self.property_keys,
            NameKind::EdgeType => &self.edge_types,
            NameKind::Index => unreachable!("INVARIANT: indexes have a table of their own"),
        }
    }

    /// The number of `name`, if it was made.
    pub(crate) fn find(&self, kind: NameKind, name: &str) -> Option<u16> {
        self.names(kind).read().find(name)
    }

    /// The made name with number `id`.
    pub(crate) fn name(&self, kind: NameKind, id: u16) -> Option<String> {
        self.names(kind).read().name(id).map(str::to_owned)
    }

    /// Every made name of a kind, by number; empty where there is none.
    pub(crate) fn all_names(&self, kind: NameKind) -> Vec<String> {
        self.names(kind).read().list().to_vec()
    }

    /// Numbers of a kind that stand on disk. *Cost*: none that depends on how many there are.
    pub(crate) fn stored_len(&self, kind: NameKind) -> usize {
        self.names(kind).read().list().len()
    }

    /// As [`all_names`](Self::all_names), as they stand on disk.
    pub(crate) fn stored_names(&self, kind: NameKind) -> Vec<String> {
        let stored = |(name, number): (&String, u16)| match name.is_empty() {
            true => placeholder(number),
            false => name.clone(),
        };
        self.names(kind).read().list().iter().zip(0..).map(stored).collect()
    }

    /// Names of a kind that were made so far.
    pub(crate) fn made(&self, kind: NameKind) -> usize {
        self.names(kind).read().order().len()
    }

    /// Numbers of the names that were made after the first so many.
    pub(crate) fn made_after(&self, kind: NameKind, first: usize) -> Vec<u16> {
        self.names(kind).read().order().get(first..).unwrap_or_default().to_vec()
    }

    /// The number of a label or property key, and true if it is not made yet: then the caller holds
    /// it until it makes or releases it.
    pub(crate) fn hold(&self, kind: NameKind, name: &str) -> Result<(u16, bool), Error> {
        if let Some(number) = self.find(kind, name) {
            return Ok((number, false));
        }
        validate_name(kind, name)?;
        let held = self.names(kind).write().hold(name, |_| true);
        held.ok_or_else(|| too_many(kind, name))
    }

    /// As [`hold`](Self::hold), of an edge type, which is one of these options if it is new.
    pub(crate) fn hold_edge_type(
        &self,
        name: &str,
        options: EdgeTypeOptions,
    ) -> Result<(u16, bool), Error> {
        let kind = NameKind::EdgeType;
        if let Some(number) = self.find(kind, name) {
            return Ok((number, false));
        }
        validate_name(kind, name)?;
        let has_options = |number: u16| {
            self.edge_type(EdgeTypeId::from_raw(number)).is_ok_and(|ty| ty.options == options)
        };
        // An edge type that appears now could hold edges of a vertex that is being deleted.
        let _changing = self.lists_fixed.write();
        let mut names = self.edge_types.write();
        let (number, held) = names.hold(name, has_options).ok_or_else(|| too_many(kind, name))?;
        self.use_types(names.bound(), options);
        Ok((number, held))
    }

    /// Makes the tables of edge types with numbers below `bound`.
    fn use_types(&self, bound: u32, options: EdgeTypeOptions) {
        for raw in self.type_count.load(Ordering::Relaxed)..bound {
            let fresh = self.types.get_or_grow(raw).set(EdgeType::new(raw as u16, options, self));
            debug_assert!(fresh.is_ok(), "numbers are given out under the lock of the names");
        }
        self.type_count.fetch_max(bound, Ordering::Release);
    }

    /// Releases a name that the caller holds.
    pub(crate) fn release(&self, kind: NameKind, name: &str) {
        self.names(kind).write().release(name);
    }

    /// Makes a name that the caller holds, and has logged. The caller holds `making`.
    pub(crate) fn make(&self, kind: NameKind, name: &str, number: u16) {
        // First of all: who finds the name uses it.
        if kind == NameKind::EdgeType
            && let Ok(ty) = self.edge_type(EdgeTypeId::from_raw(number))
        {
            ty.set_made();
        }
        self.names(kind).write().make(name, number);
    }

    /// Puts a label or property key where the log or a checkpoint has it.
    pub(crate) fn restore(&self, kind: NameKind, name: &str, number: u16) -> Result<(), String> {
        self.names(kind).write().restore(name, number)
    }

    /// Puts an edge type where the log or a checkpoint has it.
    pub(crate) fn restore_edge_type(
        &self,
        name: &str,
        number: u16,
        options: EdgeTypeOptions,
    ) -> Result<&EdgeType, String> {
        let mut names = self.edge_types.write();
        names.restore(name, number)?;
        self.use_types(names.bound(), options);
        let ty = self.edge_type(EdgeTypeId::from_raw(number)).map_err(|e| e.to_string())?;
        if !is_placeholder(name) {
            if ty.options != options {
                return Err(format!("edge type {number} was made with other options"));
            }
            ty.set_made();
        }
        Ok(ty)
    }

    /// Takes `making`, unless the commit is to be given up or `go_on` fails. No latch is held.
    pub(crate) fn hold_making(
        &self,
        stop: &Stop<'_>,
        go_on: impl Fn() -> Result<(), Error>,
    ) -> Result<MutexGuard<'_, ()>, Error> {
        stop.check()?;
        let take = || go_on().map(|()| self.making.try_lock_for(ASK_AFTER)).transpose();
        waiting(stop, take)?
    }

    /// Keeps other commits that read that a name does not exist from being validated until the
    /// result is dropped. No latch is held.
    pub(crate) fn hold_unmade(&self, stop: &Stop<'_>) -> Result<MutexGuard<'_, ()>, Error> {
        waiting(stop, || self.unmade.try_lock_for(ASK_AFTER))
    }

    pub(crate) fn find_edge_type(&self, name: &str) -> Option<EdgeTypeId> {
        self.find(NameKind::EdgeType, name).map(EdgeTypeId::from_raw)
    }

    /// Name of an edge type, for messages.
    pub(crate) fn edge_type_name(&self, ty: EdgeTypeId) -> String {
        self.name(NameKind::EdgeType, ty.get()).unwrap_or_else(|| ty.to_string())
    }

    /// Keeps where there can be lists as it is until the result is dropped. Nothing else that
    /// commits take is held.
    pub(crate) fn fix_lists(&self, stop: &Stop<'_>) -> Result<RwLockReadGuard<'_, ()>, Error> {
        waiting(stop, || self.lists_fixed.try_read_for(ASK_AFTER))
    }

    /// Says that edges of these types, sources and targets are about to be written: whoever deletes
    /// a vertex looks at their lists from now on. Nothing that commits take is held.
    pub(crate) fn use_segments(
        &self,
        edges: impl Iterator<Item = (EdgeTypeId, u32, u32)> + Clone,
        stop: &Stop<'_>,
    ) -> Result<(), Error> {
        let of = |(ty, src, dst), f: &mut dyn FnMut(&AdjTable, u32)| -> Result<(), Error> {
            let ty = self.edge_type(ty)?;
            f(ty.table(Direction::Out), segment_of(src));
            f(ty.table(Direction::In), segment_of(dst));
            Ok(())
        };
        let mut all_used = true;
        for edge in edges.clone() {
            of(edge, &mut |table, number| all_used &= table.is_used(number))?;
        }
        if all_used {
            return Ok(());
        }
        let _changing = waiting(stop, || self.lists_fixed.try_write_for(ASK_AFTER))?;
        for edge in edges {
            of(edge, &mut |table, number| table.segment_for_write(number).use_it())?;
        }
        Ok(())
    }

    /// One past the largest number of an edge type.
    pub(crate) fn type_count(&self) -> u32 {
        self.type_count.load(Ordering::Acquire)
    }

    /// The edge type with this number.
    #[inline]
    pub(crate) fn edge_type(&self, id: EdgeTypeId) -> Result<&EdgeType, Error> {
        self.types
            .get(u32::from(id.get()))
            .and_then(OnceLock::get)
            .ok_or_else(|| Error::UnknownEdgeType(id))
    }

    /// Every edge type with its number.
    pub(crate) fn edge_types(&self) -> impl Iterator<Item = (EdgeTypeId, &EdgeType)> {
        (0..self.type_count())
            .filter_map(|raw| Some((EdgeTypeId::from_raw(raw as u16), self.types.get(raw)?.get()?)))
    }

    /// The column of a vertex property, if anything was ever written to it.
    #[inline]
    pub(crate) fn vertex_column(&self, key: PropertyKeyId) -> Option<&ColTable<PropertyChunk>> {
        self.vertex_properties.get(u32::from(key.get()))?.get().map(Box::as_ref)
    }

    /// The column of a vertex property, made if needed.
    pub(crate) fn vertex_column_for_write(&self, key: PropertyKeyId) -> &ColTable<PropertyChunk> {
        self.vertex_properties.get_or_grow(u32::from(key.get())).get_or_init(|| {
            let source = self.source(Kind::VertexProperty, key.get(), 0);
            Box::new(ColTable::new(self.table_number(), source))
        })
    }

    /// Every vertex property column with its key.
    pub(crate) fn vertex_columns(
        &self,
    ) -> impl Iterator<Item = (PropertyKeyId, &ColTable<PropertyChunk>)> {
        self.property_key_ids().filter_map(|k| Some((k, self.vertex_column(k)?)))
    }

    /// Every property key under which something may have been written.
    pub(crate) fn property_key_ids(&self) -> impl Iterator<Item = PropertyKeyId> + use<> {
        (0..self.property_keys.read().bound()).map(|raw| PropertyKeyId::from_raw(raw as u16))
    }

    /// The name of a property key, for messages.
    pub(crate) fn property_key_name(&self, key: PropertyKeyId) -> String {
        self.name(NameKind::PropertyKey, key.get()).unwrap_or_else(|| key.to_string())
    }

    pub(crate) fn check_property_key(&self, key: PropertyKeyId) -> Result<(), Error> {
        let known = self.property_keys.read().name(key.get()).is_some();
        if known { Ok(()) } else { Err(Error::UnknownPropertyKey(key)) }
    }

    pub(crate) fn check_label(&self, label: LabelId) -> Result<(), Error> {
        let known = self.labels.read().name(label.get()).is_some();
        if known { Ok(()) } else { Err(Error::UnknownLabel(label)) }
    }

    pub(crate) fn check_edge_type(&self, ty: EdgeTypeId) -> Result<(), Error> {
        if self.edge_type(ty)?.is_made() { Ok(()) } else { Err(Error::UnknownEdgeType(ty)) }
    }
}
