//! Edge types: how their lists are kept, and the tables that keep them.

use std::ops::Range;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

use telar_graph::{Direction, PropertyKeyId};

use super::Catalog;
use crate::adjacency::{AdjTable, ListKind, SEGMENT_VERTICES};
use crate::checkpoint::Kind;
use crate::column::{ColTable, PropertyChunk};
use crate::error::Error;
use crate::table::SparseArray;

/// How an edge type keeps its neighbour lists. Fixed when the type is made.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct EdgeTypeOptions {
    /// At most one edge per pair and no edge properties: 4 bytes per entry instead of 8.
    pub simple: bool,
    /// Order of neighbour lists.
    pub order: EdgeOrder,
}

/// Order of an edge type's neighbour lists.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum EdgeOrder {
    /// By neighbour id: binary search and linear intersection.
    #[default]
    Neighbour,
    /// By an integer property of the edge, largest (newest) first: feeds and time windows. Costs 12
    /// bytes more per entry; searching for one neighbour is linear.
    NewestFirst(PropertyKeyId),
}

impl EdgeTypeOptions {
    /// Parallel edges and properties allowed, sorted by neighbour: the default.
    #[must_use]
    pub fn general() -> Self {
        Self::default()
    }

    /// At most one edge per pair, no properties.
    #[must_use]
    pub fn simple() -> Self {
        Self { simple: true, ..Self::default() }
    }

    /// Sorted by the integer property `key`, newest first.
    #[must_use]
    pub fn newest_first(key: PropertyKeyId) -> Self {
        Self { order: EdgeOrder::NewestFirst(key), ..Self::default() }
    }

    /// The same options with the given order.
    pub(crate) fn kind(self) -> ListKind {
        match (self.simple, self.order) {
            (_, EdgeOrder::NewestFirst(_)) => ListKind::Timed,
            (true, EdgeOrder::Neighbour) => ListKind::Simple,
            (false, EdgeOrder::Neighbour) => ListKind::Multi,
        }
    }
}

/// An edge type and its tables.
#[derive(Debug)]
pub(crate) struct EdgeType {
    number: u16,
    pub(crate) options: EdgeTypeOptions,
    out: AdjTable,
    inward: AdjTable,
    next_ordinal: AtomicU32,
    /// True once the number has a name: until then only transactions that hold it write edges.
    made: AtomicBool,
    properties: SparseArray<OnceLock<Box<ColTable<PropertyChunk>>>>,
}

impl EdgeType {
    pub(super) fn new(number: u16, options: EdgeTypeOptions, catalog: &Catalog) -> Self {
        let kind = options.kind();
        let table = |direction: Direction| {
            let source = catalog.source(Kind::Adjacency, number, direction as u16);
            AdjTable::new(catalog.table_number(), kind, catalog.hub_entries_min, source)
        };
        Self {
            number,
            options,
            out: table(Direction::Out),
            inward: table(Direction::In),
            next_ordinal: AtomicU32::new(1),
            made: AtomicBool::new(false),
            properties: SparseArray::default(),
        }
    }

    /// True if the type has a name.
    #[inline]
    pub(crate) fn is_made(&self) -> bool {
        self.made.load(Ordering::Acquire)
    }

    pub(super) fn set_made(&self) {
        self.made.store(true, Ordering::Release);
    }

    pub(crate) fn kind(&self) -> ListKind {
        self.out.kind
    }

    #[inline]
    pub(crate) fn table(&self, direction: Direction) -> &AdjTable {
        match direction {
            Direction::Out => &self.out,
            Direction::In => &self.inward,
        }
    }

    /// The next edge ordinal. Ordinals of aborted transactions stay unused.
    pub(crate) fn new_ordinal(&self) -> Result<u32, Error> {
        let taken = self
            .next_ordinal
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, |n| n.checked_add(1));
        taken.map_err(|max| Error::TooMany { what: "edges of one type", max: max.into() })
    }

    /// Takes whole segments of ordinals, room for `count`; returns where ordinals ended before and
    /// what was taken.
    pub(crate) fn reserve_ordinals(&self, count: u64) -> Result<(u32, Range<u32>), Error> {
        const WHOLE: u64 = SEGMENT_VERTICES as u64;
        let taken = |n: u32| {
            let first = u64::from(n).next_multiple_of(WHOLE);
            let end = u32::try_from(first + count.next_multiple_of(WHOLE)).ok()?;
            Some(first as u32..end)
        };
        let (set, get) = (Ordering::Relaxed, Ordering::Relaxed);
        let before = self.next_ordinal.fetch_update(set, get, |n| Some(taken(n)?.end));
        let too_many = Error::TooMany { what: "edges of one type", max: u32::MAX.into() };
        before.ok().and_then(|n| Some((n, taken(n)?))).ok_or(too_many)
    }

    /// Gives ordinals back that end where the given out ones end; others stay unused.
    pub(crate) fn give_back_ordinals(&self, before: u32, end: u32) {
        let (set, get) = (Ordering::Relaxed, Ordering::Relaxed);
        // Somebody took ordinals after these: nothing is lost but numbers.
        let _ = self.next_ordinal.compare_exchange(end, before, set, get);
    }

    /// One past the largest ordinal given out.
    pub(crate) fn ordinal_bound(&self) -> u32 {
        self.next_ordinal.load(Ordering::Relaxed)
    }

    /// Never gives out ordinals below `bound` again.
    pub(crate) fn raise_ordinal_bound(&self, bound: u32) {
        self.next_ordinal.fetch_max(bound, Ordering::Relaxed);
    }

    /// The column of a property, if anything was ever written to it.
    pub(crate) fn column(&self, key: PropertyKeyId) -> Option<&ColTable<PropertyChunk>> {
        self.properties.get(u32::from(key.get()))?.get().map(Box::as_ref)
    }

    /// The column of a property, made if needed.
    pub(crate) fn column_for_write(
        &self,
        key: PropertyKeyId,
        catalog: &Catalog,
    ) -> &ColTable<PropertyChunk> {
        self.properties.get_or_grow(u32::from(key.get())).get_or_init(|| {
            let source = catalog.source(Kind::EdgeProperty, self.number, key.get());
            Box::new(ColTable::new(catalog.table_number(), source))
        })
    }

    /// Every property column with its key.
    pub(crate) fn columns(
        &self,
    ) -> impl Iterator<Item = (PropertyKeyId, &ColTable<PropertyChunk>)> {
        let made = self.properties.iter().filter_map(|(key, cell)| Some((key, cell.get()?)));
        made.map(|(key, column)| (PropertyKeyId::from_raw(key as u16), &**column))
    }
}
