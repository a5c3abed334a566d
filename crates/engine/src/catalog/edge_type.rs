//! Edge types: how their lists are kept, and the tables that keep them.

use std::ops::Range;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

use crossbeam_epoch::{self as epoch, Guard};
use telar_graph::codec::put_varint;
use telar_graph::{Direction, PropertyKeyId};

use super::Catalog;
use super::places::{Placed, Places};
use crate::adjacency::{AdjTable, ListKind, SEGMENT_VERTICES};
use crate::column::{ColTable, PropertyChunk};
use crate::error::Error;
use crate::format::Kind;
use crate::format::reader::Reader;
use crate::table::SparseArray;

/// How an edge type keeps its neighbour lists. Fixed when the type is made.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct EdgeTypeOptions {
    /// At most one edge per pair and no edge properties.
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

/// Of edges made without an ordinal, one in so many may get a property later: if more do, edges get
/// ordinals, which cost less than places.
const PLACED_SHARE: u32 = 8;
/// Edges that get a property later before that counts.
const PLACED_MIN: u32 = 8;

/// An edge type and its tables.
#[derive(Debug)]
pub(crate) struct EdgeType {
    number: u16,
    pub(crate) options: EdgeTypeOptions,
    out: AdjTable,
    inward: AdjTable,
    next_ordinal: AtomicU32,
    /// Places of the properties of edges without an ordinal.
    pub(crate) places: Places,
    /// True if an edge of a type with ordinals may have none.
    unnumbered: AtomicBool,
    /// Edges made without an ordinal since the database was opened, and places given out, about.
    made_unnumbered: AtomicU32,
    made_places: AtomicU32,
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
            places: Places::default(),
            unnumbered: AtomicBool::new(false),
            made_unnumbered: AtomicU32::new(0),
            made_places: AtomicU32::new(0),
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

    /// True if edges may have ordinal 0 although the type is one of ordinals. Programs of before
    /// November 2026 do not know of that.
    pub(crate) fn has_unnumbered(&self) -> bool {
        self.unnumbered.load(Ordering::Relaxed)
    }

    /// Notes that an edge of a type with ordinals may have none.
    #[inline]
    pub(crate) fn set_unnumbered(&self) {
        if !self.unnumbered.load(Ordering::Relaxed) {
            self.unnumbered.store(true, Ordering::Relaxed);
        }
    }

    /// True if an edge that is made without properties had better have an ordinal: many of those
    /// that were made so got properties later.
    pub(crate) fn prefers_ordinals(&self) -> bool {
        let placed = self.made_places.load(Ordering::Relaxed);
        placed > PLACED_MIN && placed > self.made_unnumbered.load(Ordering::Relaxed) / PLACED_SHARE
    }

    /// Notes, and counts, that an edge is made without an ordinal.
    pub(crate) fn note_unnumbered(&self) {
        self.set_unnumbered();
        let n = self.made_unnumbered.load(Ordering::Relaxed);
        // Not exact among several writers, which does not matter; never more than fits.
        self.made_unnumbered.store(n.saturating_add(1), Ordering::Relaxed);
    }

    /// Place of the properties of an edge: its ordinal, if it has one; 0 if it never had any.
    #[inline]
    pub(crate) fn place(&self, src: u32, dst: u32, ordinal: u32, guard: &Guard) -> u32 {
        if ordinal == 0 { self.places.get(src, dst, guard) } else { ordinal }
    }

    /// Place of the properties of an edge without an ordinal, which gets one if it has none. In a
    /// replicated database it is not stored before the log has it.
    pub(crate) fn place_for_write(
        &self,
        src: u32,
        dst: u32,
        is_replicated: bool,
        guard: &Guard,
    ) -> Result<u32, Error> {
        self.places.get_or_add(src, dst, guard, || {
            let n = self.made_places.load(Ordering::Relaxed);
            self.made_places.store(n.saturating_add(1), Ordering::Relaxed);
            let place = self.new_ordinal()?;
            if is_replicated {
                self.places.unlogged(src, dst);
            }
            Ok(place)
        })
    }

    /// Takes a place that was given out before the database was opened.
    pub(crate) fn restore_place(&self, placed: Placed) -> Result<(), String> {
        let Placed { src, dst, place } = placed;
        let found = self.places.get_or_add(src, dst, &epoch::pin(), || Ok::<_, String>(place))?;
        if found != place || place == 0 {
            return Err(format!("the edge from {src} to {dst} has the places {found} and {place}"));
        }
        self.raise_ordinal_bound(place.saturating_add(1));
        self.set_unnumbered();
        Ok(())
    }

    /// The ordinal of the edge from `src` to `dst` whose properties are at `place`.
    #[inline]
    pub(crate) fn ordinal_of(&self, src: u32, dst: u32, place: u32, guard: &Guard) -> u32 {
        if place != 0 && self.places.get(src, dst, guard) == place { 0 } else { place }
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

const FLAG_SIMPLE: u8 = 1;
const FLAG_NEWEST_FIRST: u8 = 2;
/// In the meta value only: edges may have no ordinal though the type is one of ordinals.
pub(crate) const FLAG_UNNUMBERED: u8 = 4;

/// Encodes the options of an edge type: flags, then the sort property if there is one.
pub(crate) fn put_edge_type_options(options: EdgeTypeOptions, out: &mut Vec<u8>) {
    let simple = if options.simple { FLAG_SIMPLE } else { 0 };
    match options.order {
        EdgeOrder::Neighbour => out.push(simple),
        EdgeOrder::NewestFirst(key) => {
            out.push(simple | FLAG_NEWEST_FIRST);
            put_varint(key.get().into(), out);
        }
    }
}

impl Reader<'_> {
    /// Options of an edge type, and those of the flags `more` that are set.
    pub(crate) fn edge_type_options(&mut self, more: u8) -> Result<(EdgeTypeOptions, u8), String> {
        let flags = self.byte()?;
        let order = match flags & FLAG_NEWEST_FIRST {
            0 => EdgeOrder::Neighbour,
            _ => EdgeOrder::NewestFirst(PropertyKeyId::from_raw(self.number("property key")?)),
        };
        let options = EdgeTypeOptions { simple: flags & FLAG_SIMPLE != 0, order };
        if flags & !(FLAG_SIMPLE | FLAG_NEWEST_FIRST | more) != 0 {
            return Err(format!("unknown edge type flags {flags}"));
        }
        Ok((options, flags & more))
    }
}
