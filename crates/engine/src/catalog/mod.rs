//! Schema names, label sets and the tables they lead to.
//!
//! Names are never removed, so an id, once seen, stays valid and is looked up without a lock. A new
//! name is logged on its own before it is used, and is on disk no later than the commit that uses
//! it; a transaction that aborts leaves it behind unused.

mod edge_type;
mod label_set;

use std::collections::HashMap;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use parking_lot::{Mutex, MutexGuard, RwLock, RwLockReadGuard, RwLockWriteGuard};
use telar_graph::name::{NameKind, validate_name};
use telar_graph::{Direction, EdgeTypeId, LabelId, PropertyKeyId};

pub(crate) use edge_type::EdgeType;
pub use edge_type::{EdgeOrder, EdgeTypeOptions};
pub(crate) use label_set::LabelSets;

use crate::adjacency::{AdjTable, segment_of};
use crate::checkpoint::Kind;
use crate::column::{ColTable, PropertyChunk};
use crate::error::Error;
use crate::mapped::{Source, Stored};
use crate::sync::thread;
use crate::table::{GrowArray, SparseArray};
use crate::txn::stop::Stop;
use crate::txn::write_set::EdgeWrite;

/// Table number of the vertex state column; others are given out from 1.
pub(crate) const STATE_TABLE: u32 = 0;
/// Most names of a kind: ids are 16 bits.
const NAMES_MAX: usize = u16::MAX as usize;

/// Names of one kind, numbered in the order they were made.
#[derive(Debug, Default)]
struct Names {
    list: Vec<String>,
    index: HashMap<String, u16>,
}

impl Names {
    fn add(&mut self, name: &str) -> u16 {
        let id = self.list.len() as u16;
        self.list.push(name.to_owned());
        self.index.insert(name.to_owned(), id);
        id
    }
}

/// The number of the next of `count` names.
fn number_of(count: usize, what: &'static str, name: &str) -> Result<u16, Error> {
    let number = u16::try_from(count).ok().filter(|_| count < NAMES_MAX);
    number.ok_or_else(|| Error::TooManyNames { what, name: name.into(), max: NAMES_MAX as u64 })
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
    edge_types: RwLock<HashMap<String, u16>>,
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
            NameKind::EdgeType | NameKind::Index => {
                unreachable!("INVARIANT: edge types and indexes have their own tables")
            }
        }
    }

    /// The number of `name`, if it was made.
    pub(crate) fn find(&self, kind: NameKind, name: &str) -> Option<u16> {
        self.names(kind).read().index.get(name).copied()
    }

    /// The name with number `id`.
    pub(crate) fn name(&self, kind: NameKind, id: u16) -> Option<String> {
        self.names(kind).read().list.get(usize::from(id)).cloned()
    }

    /// Every name of a kind, by number.
    pub(crate) fn all_names(&self, kind: NameKind) -> Vec<String> {
        self.names(kind).read().list.clone()
    }

    /// Checks that `name` may be added; the number it will have.
    pub(crate) fn check_new(&self, kind: NameKind, name: &str) -> Result<u16, Error> {
        validate_name(kind, name)?;
        let what = if kind == NameKind::Label { "labels" } else { "property keys" };
        number_of(self.names(kind).read().list.len(), what, name)
    }

    /// Names of a kind that exist.
    pub(crate) fn name_count(&self, kind: NameKind) -> u32 {
        match kind {
            NameKind::EdgeType => self.type_count(),
            _ => self.names(kind).read().list.len() as u32,
        }
    }

    /// Keeps other commits that read that a name does not exist from being validated until the
    /// result is dropped. No latch is held.
    pub(crate) fn hold_unmade(&self, stop: &Stop<'_>) -> Result<MutexGuard<'_, ()>, Error> {
        waiting(stop, || self.unmade.try_lock_for(ASK_AFTER))
    }

    /// Adds a name. The caller holds `making` or is recovering.
    pub(crate) fn add(&self, kind: NameKind, name: &str) -> u16 {
        let mut names = self.names(kind).write();
        if let Some(&id) = names.index.get(name) {
            return id;
        }
        names.add(name)
    }

    pub(crate) fn find_edge_type(&self, name: &str) -> Option<EdgeTypeId> {
        self.edge_types.read().get(name).copied().map(EdgeTypeId::from_raw)
    }

    /// Adds an edge type. The caller holds `making` or is recovering.
    pub(crate) fn add_edge_type(&self, name: &str, options: EdgeTypeOptions) -> EdgeTypeId {
        self.add_edge_type_while(&self.change_lists(), name, options)
    }

    /// Waits until no commit deletes vertices, and keeps others from it.
    pub(crate) fn change_lists(&self) -> RwLockWriteGuard<'_, ()> {
        self.lists_fixed.write()
    }

    /// Adds an edge type while no commit deletes vertices.
    pub(crate) fn add_edge_type_while(
        &self,
        _changing: &RwLockWriteGuard<'_, ()>,
        name: &str,
        options: EdgeTypeOptions,
    ) -> EdgeTypeId {
        if let Some(id) = self.find_edge_type(name) {
            return id;
        }
        let raw = self.type_count.load(Ordering::Relaxed);
        let ty = EdgeType::new(raw as u16, name, options, self);
        let fresh = self.types.get_or_grow(raw).set(ty).is_ok();
        debug_assert!(fresh, "numbers are given out under `making`");
        self.type_count.store(raw + 1, Ordering::Release);
        self.edge_types.write().insert(name.to_owned(), raw as u16);
        EdgeTypeId::from_raw(raw as u16)
    }

    /// Keeps where there can be lists as it is until the result is dropped. Nothing else that
    /// commits take is held.
    pub(crate) fn fix_lists(&self, stop: &Stop<'_>) -> Result<RwLockReadGuard<'_, ()>, Error> {
        waiting(stop, || self.lists_fixed.try_read_for(ASK_AFTER))
    }

    /// Says that these edges are about to be written: whoever deletes a vertex looks at their lists
    /// from now on. Nothing that commits take is held.
    pub(crate) fn use_segments(&self, edges: &[EdgeWrite], stop: &Stop<'_>) -> Result<(), Error> {
        let of = |w: &EdgeWrite, f: &mut dyn FnMut(&AdjTable, u32)| -> Result<(), Error> {
            let ty = self.edge_type(w.ty)?;
            f(ty.table(Direction::Out), segment_of(w.src));
            f(ty.table(Direction::In), segment_of(w.dst));
            Ok(())
        };
        let mut all_used = true;
        for w in edges {
            of(w, &mut |table, number| all_used &= table.is_used(number))?;
        }
        if all_used {
            return Ok(());
        }
        let _changing = waiting(stop, || self.lists_fixed.try_write_for(ASK_AFTER))?;
        for w in edges {
            of(w, &mut |table, number| table.segment_for_write(number).use_it())?;
        }
        Ok(())
    }

    /// Checks that an edge type of this name may be added; the number it will have.
    pub(crate) fn check_new_edge_type(&self, name: &str) -> Result<u16, Error> {
        validate_name(NameKind::EdgeType, name)?;
        number_of(self.type_count() as usize, "edge types", name)
    }

    pub(crate) fn type_count(&self) -> u32 {
        self.type_count.load(Ordering::Acquire)
    }

    /// The edge type with this number.
    #[inline]
    pub(crate) fn edge_type(&self, id: EdgeTypeId) -> Result<&EdgeType, Error> {
        self.types
            .get(u32::from(id.get()))
            .and_then(OnceLock::get)
            .ok_or(Error::UnknownEdgeType(id))
    }

    /// Every edge type with its number.
    pub(crate) fn edge_types(&self) -> impl Iterator<Item = (EdgeTypeId, &EdgeType)> {
        (0..self.type_count())
            .filter_map(|raw| Some((EdgeTypeId::from_raw(raw as u16), self.types.get(raw)?.get()?)))
    }

    /// The name of every edge type, by number.
    pub(crate) fn edge_type_names(&self) -> Vec<String> {
        self.edge_types().map(|(_, ty)| ty.name.clone()).collect()
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

    /// Every property key.
    pub(crate) fn property_key_ids(&self) -> impl Iterator<Item = PropertyKeyId> + use<> {
        let keys = self.property_keys.read().list.len();
        (0..keys as u16).map(PropertyKeyId::from_raw)
    }

    /// The name of a property key, for messages.
    pub(crate) fn property_key_name(&self, key: PropertyKeyId) -> String {
        self.name(NameKind::PropertyKey, key.get()).unwrap_or_else(|| key.to_string())
    }

    pub(crate) fn check_property_key(&self, key: PropertyKeyId) -> Result<(), Error> {
        let known = usize::from(key.get()) < self.property_keys.read().list.len();
        if known { Ok(()) } else { Err(Error::UnknownPropertyKey(key)) }
    }

    pub(crate) fn check_label(&self, label: LabelId) -> Result<(), Error> {
        let known = usize::from(label.get()) < self.labels.read().list.len();
        if known { Ok(()) } else { Err(Error::UnknownLabel(label)) }
    }
}
