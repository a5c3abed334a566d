//! Segments and their versions.
//!
//! Invariants
//! 1. A version's base never changes; its tail only grows. Replacing either makes a new version,
//!    under every stripe of the segment's latch, and retires the old one through the epoch.
//! 2. A reader loads the segment's head once per list it reads, so base and tail always belong
//!    together.
//! 3. A head leads to the base itself where nothing is unsettled, else to the version. It is
//!    replaced before the version it belongs to is retired.
//!
//! Cost: a settled, empty segment is one cache line; a settled one adds 64 bytes and its base. What
//! readers go through is 8 bytes per segment.
#![expect(unsafe_code, reason = "version pointers read without a latch, under an epoch pin")]

use std::cell::Cell;
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Weak};

use crossbeam_epoch::{self as epoch, Guard};
use parking_lot::Mutex;

use super::base::{Base, BaseRef};
use super::deleted::Deleted;
use super::extent::Extent;
use super::head::{Head, HeadPlace, Heads, PinnedHeads};
use super::hub::Hub;
use super::list::{List, Visible};
use super::room::{arena_words, room_words};
use super::settle::After;
use super::tail::{ARENA_WORDS_MAX, Block, SLOT_HUB, SLOT_MASKED, Tail, block_words};
use super::{ListKind, SEGMENT_VERTICES};
use crate::adjacency::stored::decode_adjacency;
use crate::adjacency::undo::UndoTable;
use crate::error::Error;
use crate::horizon::Horizon;
use crate::latch::{ALL_STRIPES, Latch};
use crate::mapped::map::Scratch;
use crate::mapped::memory::{Droppable, Limits};
use crate::mapped::{Source, Value};
use crate::table::SparseArray;
use crate::words::prefetch;

/// Base and tail of a segment between two settles.
#[derive(Debug)]
#[repr(C, align(64))]
pub(crate) struct SegVersion {
    // Copies of pointers into `base` and `tail`, so that a reader needs this cache line only.
    words: *const u32,
    slots: *const u32,
    arena: *const u32,
    base_ts: u64,
    pub(crate) base: Arc<Base>,
    pub(crate) tail: Option<Box<Tail>>,
}

// SAFETY: the raw pointers point into `base` and `tail`, which are owned, immutable or atomic.
unsafe impl Send for SegVersion {}
// SAFETY: as above.
unsafe impl Sync for SegVersion {}

/// What a slot says about a vertex.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Slot<'a> {
    /// Nothing unsettled.
    Clean,
    /// A block of tail entries.
    Block(Block<'a>),
    /// The list is a hub.
    Hub(&'a Hub),
}

impl SegVersion {
    pub(crate) fn new(base: Arc<Base>, tail: Option<Box<Tail>>) -> Self {
        let null = std::ptr::null();
        Self {
            words: base.words().as_ptr(),
            slots: tail.as_ref().map_or(null, |t| t.slots_ptr()),
            arena: tail.as_ref().map_or(null, |t| t.arena_ptr()),
            base_ts: tail.as_ref().map_or(0, |t| t.base_ts),
            base,
            tail,
        }
    }

    /// Whether nothing in the segment is unsettled.
    #[inline(always)]
    pub(crate) fn is_clean(&self) -> bool {
        self.slots.is_null()
    }

    /// The base.
    #[inline(always)]
    pub(crate) fn rows(&self) -> BaseRef<'_> {
        // SAFETY: the words of the base this version owns.
        unsafe { BaseRef::at(self.words) }
    }

    /// Base neighbours of `local`.
    #[inline(always)]
    pub(crate) fn settled(&self, local: u32) -> &[u32] {
        self.rows().list(local)
    }

    /// Where the base rows of `local` begin.
    #[inline(always)]
    pub(crate) fn first_row(&self, local: u32) -> u32 {
        self.rows().offsets()[local as usize & (SEGMENT_VERTICES - 1)]
    }

    /// Raw slot word of `local`; 0 where there is no tail.
    #[inline(always)]
    pub(crate) fn slot_word(&self, local: u32) -> u32 {
        if self.slots.is_null() {
            return 0;
        }
        let i = local as usize & (SEGMENT_VERTICES - 1);
        // SAFETY: slots are 2^k initialised words, only accessed atomically.
        // ORDERING: acquire pairs with the release in `Tail::grow`.
        unsafe { &*self.slots.add(i).cast::<AtomicU32>() }.load(Ordering::Acquire)
    }

    /// What a slot word read from this version means.
    #[inline(always)]
    pub(crate) fn decode(&self, word: u32) -> Slot<'_> {
        if word == 0 {
            Slot::Clean
        } else if word & SLOT_HUB != 0 {
            Slot::Hub(self.hub(word))
        } else {
            // SAFETY: a slot offset points to an initialised block in this version's arena.
            Slot::Block(unsafe { Block::at(self.arena.add((word & !SLOT_MASKED) as usize)) })
        }
    }

    #[cold]
    fn hub(&self, word: u32) -> &Hub {
        let tail = self.tail.as_ref().expect("INVARIANT: a hub slot is in a tail");
        &tail.hubs[(word & !SLOT_HUB) as usize]
    }

    /// Address of the slot word of `local`, for prefetching.
    #[inline(always)]
    pub(crate) fn slot_addr(&self, local: u32) -> *const u32 {
        self.slots.wrapping_add(local as usize)
    }

    /// Address of the block at a slot word, for prefetching.
    #[inline(always)]
    pub(crate) fn block_addr(&self, word: u32) -> *const u32 {
        self.arena.wrapping_add((word & !(SLOT_HUB | SLOT_MASKED)) as usize)
    }

    /// The bits of deleted rows, if `word` says that they are all there is to a list's tail.
    #[inline(always)]
    pub(crate) fn deleted(&self, word: u32) -> Option<&Deleted> {
        if word & (SLOT_HUB | SLOT_MASKED) != SLOT_MASKED {
            return None;
        }
        self.tail.as_ref()?.deleted.get()
    }

    /// The bits of deleted rows, if any list's slot leads to them.
    pub(crate) fn deleted_rows(&self) -> Option<&Deleted> {
        self.tail.as_ref()?.deleted.get()
    }

    /// Brings closer what reading a list needs beside its rows.
    #[inline(always)]
    pub(crate) fn prefetch_tail(&self, word: u32, local: u32) {
        match self.deleted(word) {
            Some(deleted) => prefetch(deleted.addr(self.first_row(local))),
            None => prefetch(self.block_addr(word)),
        }
    }

    /// `read_ts` relative to the tail.
    #[inline(always)]
    pub(crate) fn delta(&self, read_ts: u64) -> u32 {
        read_ts.saturating_sub(self.base_ts).min(u64::from(super::tail::DELTA_MAX)) as u32
    }

    /// The list of `local` as seen `delta` after the tail's base timestamp; `None` for a hub.
    pub(crate) fn list(&self, local: u32, delta: u32, kind: ListKind) -> Option<List<'_>> {
        let tail = match self.decode(self.slot_word(local)) {
            Slot::Clean => None,
            Slot::Block(block) => Some(Visible::at(block, delta)),
            Slot::Hub(_) => return None,
        };
        if self.base.is_whole() {
            return Some(List { tail, ..List::settled(self.rows(), local, kind) });
        }
        let base = self.base.all_rows().slice(self.base.range(local as usize));
        Some(List { base, tail, kind })
    }

    /// Notes that a commit at `ts` will delete the row at `position` of the list of `local`; see
    /// [`Tail::mark_deleted`].
    #[inline]
    pub(crate) fn mark_deleted(&self, local: u32, position: u32, ts: u64) {
        if let Some(tail) = &self.tail {
            let row = self.first_row(local) + position;
            tail.mark_deleted(local, row, self.base.entries(), tail.delta(ts));
        }
    }

    /// Whether the tail has room for `appends` more entries, wherever they come.
    ///
    /// At worst they come to the longest lists, each of which grows to the next class; growing
    /// further takes twice as many places as a list that begins with nothing, since half of what
    /// fills a block is then new.
    fn has_room(&self, tail: &Tail, appends: usize, columns: usize, kind: ListKind) -> bool {
        let all = kind.columns();
        // Each block once more with a column, half as large again, and then of the next class.
        let grown = if all == 0 { 2 } else { 5 };
        if tail.words_left() >= 2 * room_words(appends, all) + grown * tail.words_used() {
            return true;
        }
        let block = |local| match self.decode(self.slot_word(local)) {
            Slot::Block(block) => Some(block),
            Slot::Clean | Slot::Hub(_) => None,
        };
        let blocks: Vec<_> = (0..SEGMENT_VERTICES as u32).filter_map(block).collect();
        // A block that has columns keeps them.
        let columns = if blocks.iter().any(|b| b.has_columns()) { all } else { columns };
        let new = 2 * room_words(appends, columns);
        let next = |block: &Block<'_>| {
            let is_copied = columns > 0 && !block.has_columns();
            let copy = if is_copied { block_words(block.class(), columns) } else { 0 };
            copy + block_words(block.class() + 1, columns)
        };
        let mut next: Vec<usize> = blocks.iter().map(next).collect();
        if appends < next.len() {
            next.select_nth_unstable_by(appends, |a, b| b.cmp(a));
            next.truncate(appends);
        }
        tail.words_left() >= new + next.iter().sum::<usize>()
    }

    /// Hubs with their places.
    pub(crate) fn hubs(&self) -> Vec<(u32, Arc<Hub>)> {
        let Some(tail) = &self.tail else {
            return Vec::new();
        };
        let hub = |local: u32| {
            let number = (self.slot_word(local) & !SLOT_HUB) as usize;
            (local, Arc::clone(&tail.hubs[number]))
        };
        tail.hub_locals.iter().map(|local| hub(*local)).collect()
    }

    /// Heap bytes of this version, hubs included.
    pub(crate) fn bytes(&self, guard: &Guard) -> usize {
        let tail = self
            .tail
            .as_ref()
            .map_or(0, |t| t.bytes() + t.hubs.iter().map(|h| h.bytes(guard)).sum::<usize>());
        // The empty base is shared by all segments that have none.
        let base = if self.base.entries() == 0 { 0 } else { self.base.bytes() };
        std::mem::size_of::<Self>() + base + tail
    }
}

/// The writers' side of a segment: its latch, and when it was last written to.
#[derive(Debug, Default)]
#[repr(align(64))]
pub(crate) struct AdjSegment {
    pub(crate) latch: Latch,
    version: AtomicPtr<SegVersion>,
    /// Largest commit timestamp that wrote here; read by checkpoints and the background pass.
    pub(crate) last_write: AtomicU64,
    /// Whether a list in it was ever written to, or is about to be.
    is_used: AtomicBool,
}

/// A segment with its head.
#[derive(Debug, Clone, Copy)]
pub(crate) struct SegmentRef<'t> {
    pub(crate) segment: &'t AdjSegment,
    head: &'t HeadPlace,
}

impl std::ops::Deref for SegmentRef<'_> {
    type Target = AdjSegment;

    #[inline(always)]
    fn deref(&self) -> &AdjSegment {
        self.segment
    }
}

impl SegmentRef<'_> {
    /// The current version; `None` if the segment is not loaded, or was never written to.
    #[inline(always)]
    pub(crate) fn version<'g>(&self, _pinned: &'g Guard) -> Option<&'g SegVersion> {
        // ORDERING: acquire pairs with the release swap in `install`.
        let p = self.segment.version.load(Ordering::Acquire);
        // SAFETY: versions are retired through the epoch only, and the guard pins it.
        unsafe { p.as_ref() }
    }

    /// Replaces the version. The caller holds every stripe.
    pub(crate) fn install(&self, version: SegVersion, guard: &Guard) {
        let version = Box::new(version);
        // Before the old version is retired: who pins after that cannot reach it any more.
        self.head.lead_to(&version);
        let new = Box::into_raw(version);
        let old = self.segment.version.swap(new, Ordering::AcqRel);
        if !old.is_null() {
            // SAFETY: unreachable for new readers, and those that have it are pinned; made by
            // `Box::into_raw` above and retired once.
            unsafe { guard.defer_unchecked(move || drop(Box::from_raw(old))) };
        }
    }

    /// Runs `f` with every stripe held.
    pub(crate) fn exclusive<R>(&self, f: impl FnOnce() -> R) -> R {
        let _held = self.latch.hold(ALL_STRIPES);
        f()
    }

    /// Gives the segment a tail to write to, if it has none; it may be dropped again at once. The
    /// caller holds no latch.
    #[cold]
    pub(crate) fn ensure_tail(
        &self,
        table: &AdjTable,
        number: u32,
        watermark: u64,
        guard: &Guard,
    ) -> Result<(), Error> {
        if !table.fetch(number, guard) {
            table.source.check()?;
        }
        self.exclusive(|| {
            let old = self.version(guard);
            // Dropped meanwhile: the caller sees that there is no tail.
            if old.is_some() || !table.source.is_stored() {
                self.give_tail(table, watermark, 0, guard);
            }
        });
        Ok(())
    }

    /// Gives the segment a tail with an arena of at least `room` words, if it has none. A base in
    /// the map moves to the heap, its longest lists as hubs. The caller holds every stripe, and
    /// knows that the segment is loaded, or that there is nothing to load.
    fn give_tail(&self, table: &AdjTable, watermark: u64, room: usize, guard: &Guard) {
        let old = self.version(guard);
        if old.is_some_and(|v| !v.is_clean()) {
            return;
        }
        let base = old.map_or_else(|| Arc::clone(&table.empty), |v| Arc::clone(&v.base));
        let (base, hubs) = match base.is_mapped() {
            true => super::settle::with_hubs(table, base.on_heap(), watermark),
            false => (base, Vec::new()),
        };
        let words = arena_words(&base, table.kind.columns_if(false)).max(room + 1);
        let words = words.min(ARENA_WORDS_MAX);
        let tail = Tail::new(words, watermark, hubs);
        let version = SegVersion::new(base, Some(Box::new(tail)));
        if let Some(stored) = table.source.stored() {
            stored.memory.loaded(version.bytes(guard));
        }
        self.install(version, guard);
    }

    /// Makes the segment ready for `appends` more entries, wherever in it they come, some of which
    /// have an ordinal if so, and leaves it as young as the watermark allows if it `is_aged`. The
    /// caller holds every stripe and keeps them until the entries are in.
    pub(crate) fn make_ready(
        &self,
        (table, number): (&AdjTable, u32),
        (appends, is_numbered): (usize, bool),
        is_aged: impl Fn(u64) -> bool,
        horizon: impl Fn() -> Horizon,
        guard: &Guard,
    ) -> Result<(), Error> {
        table.load_latched(number, guard)?;
        let columns = table.kind.columns_if(is_numbered);
        let new = room_words(appends, columns);
        self.give_tail(table, horizon().watermark, new, guard);
        let version = self.version(guard).filter(|v| !v.is_clean());
        let version = version.expect("INVARIANT: it has a tail, and nobody else changes that");
        let tail = version.tail.as_ref().expect("INVARIANT: it is not clean");
        if !version.has_room(tail, appends, columns, table.kind) || is_aged(tail.base_ts) {
            let after = After::Busy { appends, columns };
            super::settle::settle_latched(table, *self, number, horizon(), after, guard);
        }
        Ok(())
    }

    /// Notes that lists in it may exist from now on.
    pub(crate) fn use_it(&self) {
        self.is_used.store(true, Ordering::Relaxed);
    }
}

/// What a fetch came to.
enum Fetched {
    /// The segment is damaged, or there is no store that could have it.
    Nothing,
    Loaded,
    /// It is loaded, in place, and its base as it is stored was read, too.
    Copied,
}

/// A segment that a scan is to read.
pub(crate) enum Scanned<'s, 'g> {
    /// Nothing is unsettled.
    Settled(BaseRef<'s>),
    Written(&'g SegVersion),
    /// It has no lists, or cannot be read, which is noted.
    Nothing,
}

/// All edges of one type in one direction.
#[derive(Debug)]
pub(crate) struct AdjTable {
    /// Number in the global latch order; unique among all tables of an engine.
    pub(crate) id: u32,
    pub(crate) kind: ListKind,
    /// A settled list this long becomes a hub. Shorter ones are read as one slice, which a
    /// directory cannot give.
    ///
    /// PERF: search, triangles_time: at 16,384 the hubs of RMAT scale 20 cost 7 % of the search
    /// rate and a third of the triangle rate.
    pub(crate) hub_entries_min: usize,
    segments: SparseArray<AdjSegment>,
    heads: Heads,
    pub(crate) empty: Arc<Base>,
    /// Extents that hold bases of this table.
    pub(crate) extents: Mutex<Vec<Weak<Extent>>>,
    /// Where segments that are not loaded come from.
    pub(crate) source: Source,
    /// What settling folded and a retained timestamp tells apart.
    pub(crate) undo: UndoTable,
    /// One past the largest segment ever written to.
    bound: AtomicU32,
}

impl AdjTable {
    pub(crate) fn new(id: u32, kind: ListKind, hub_entries_min: usize, source: Source) -> Self {
        Self {
            id,
            kind,
            hub_entries_min,
            source,
            segments: SparseArray::default(),
            heads: Heads::new(),
            empty: Base::empty(kind),
            extents: Mutex::new(Vec::new()),
            undo: UndoTable::default(),
            bound: AtomicU32::new(0),
        }
    }

    /// Whether any base is read in place.
    pub(crate) fn reads_in_place(&self) -> bool {
        self.source.stored().is_some_and(|stored| stored.generations.bytes_in_place() > 0)
    }

    /// Segment `number` for a scan, where it may have to come from the store.
    ///
    /// A base that lies there is read into `copy`, unless memory holds it and can hold all that is
    /// read in place: pages that are read once and mapped cost more than the copy, twice if others
    /// have to go for them. What was never touched is loaded, too.
    #[cold]
    #[inline(never)]
    pub(crate) fn for_scan<'s, 'g: 's>(
        &'g self,
        number: u32,
        copy: &'s mut Scratch,
        guard: &'g Guard,
    ) -> Scanned<'s, 'g> {
        let Some(stored) = self.source.stored() else { return Scanned::Nothing };
        let damaged = |reason: String| {
            stored.note(format!("segment {number} of table {}", self.id), reason);
            Scanned::Nothing
        };
        loop {
            let Some(version) = self.segment(number).and_then(|s| s.version(guard)) else {
                match self.fetch_into(number, copy, guard) {
                    Fetched::Nothing => return Scanned::Nothing,
                    // Dropped again in between, it is fetched again.
                    Fetched::Loaded => continue,
                    Fetched::Copied => break,
                }
            };
            match version.base.in_place() {
                _ if !version.is_clean() => return Scanned::Written(version),
                Some(place) if !(stored.fits() && place.is_resident()) => {
                    if let Err(e) = place.read_out(copy) {
                        return damaged(e.to_string());
                    }
                    break;
                }
                _ => return Scanned::Settled(version.rows()),
            }
        }
        stored.scanned(copy);
        match BaseRef::of(copy.value()) {
            Ok(base) => Scanned::Settled(base),
            Err(reason) => damaged(reason.into()),
        }
    }

    /// Says that there may be segments below `bound`.
    pub(crate) fn raise_bound(&self, bound: u32) {
        self.bound.fetch_max(bound, Ordering::AcqRel);
    }

    /// Makes sure that segment `number` is loaded, if the store may have it; see `mapped/mod.rs`.
    /// Returns whether it is loaded: not if it is damaged, or if there is no store.
    #[cold]
    #[inline(never)]
    pub(crate) fn fetch(&self, number: u32, guard: &Guard) -> bool {
        !matches!(self.fetch_into(number, &mut Scratch::default(), guard), Fetched::Nothing)
    }

    /// The same; the value that was read is in `copy`.
    fn fetch_into(&self, number: u32, copy: &mut Scratch, guard: &Guard) -> Fetched {
        if !self.source.is_stored() || number >= self.segment_bound() {
            return Fetched::Nothing;
        }
        let segment = self.segment_for_write(number);
        // Not the version: a segment that is being dropped has one for a moment more.
        if !segment.head.is_null() {
            return Fetched::Loaded;
        }
        let copied = Cell::new(false);
        let is_there = || segment.version(guard).is_some();
        let install = |base: Option<Base>| {
            copied.set(base.as_ref().is_some_and(Base::is_mapped));
            let base = base.map_or_else(|| Arc::clone(&self.empty), Arc::new);
            // Nobody installs or drops anything meanwhile, and nothing stands there. The head
            // first: whoever sees the version may replace both.
            let version = Box::new(SegVersion::new(base, None));
            segment.head.lead_to(&version);
            let bytes = version.bytes(guard);
            segment.segment.version.store(Box::into_raw(version), Ordering::Release);
            bytes
        };
        match self.source.fetch(number, copy, |value| self.decode(value), is_there, install) {
            false => Fetched::Nothing,
            true if copied.get() => Fetched::Copied,
            true => Fetched::Loaded,
        }
    }

    /// The version of a segment, loaded if need be; `None` if nothing was ever written to it, or if
    /// it is damaged.
    pub(crate) fn fetched_version<'g>(
        &self,
        number: u32,
        guard: &'g Guard,
    ) -> Option<&'g SegVersion> {
        loop {
            if let Some(version) = self.segment(number).and_then(|s| s.version(guard)) {
                return Some(version);
            }
            // Dropped again in between, it is fetched again.
            if !self.fetch(number, guard) {
                return None;
            }
        }
    }

    /// Loads segment `number`, if the store has it. The caller holds every stripe.
    pub(crate) fn load_latched(&self, number: u32, guard: &Guard) -> Result<(), Error> {
        let segment = self.segment_for_write(number);
        if self.source.is_stored() && segment.version(guard).is_none() {
            if !self.fetch(number, guard) {
                self.source.check()?;
            }
            assert!(segment.version(guard).is_some(), "INVARIANT: nobody drops what is latched");
        }
        Ok(())
    }

    /// Whether a list in segment `number` may have entries: never before
    /// [`Catalog::use_segments`](crate::catalog::Catalog::use_segments) was told of it.
    pub(crate) fn may_hold(&self, number: u32) -> bool {
        self.is_used(number) || self.source.holds(number)
    }

    /// Whether a list in segment `number` was written to since the database was opened.
    pub(crate) fn is_used(&self, number: u32) -> bool {
        // ORDERING: relaxed: it is set and looked at under `Catalog::lists_fixed`, or by somebody
        // who only sets it.
        self.segment(number).is_some_and(|s| s.is_used.load(Ordering::Relaxed))
    }

    fn decode(&self, value: &Value<'_>) -> Result<Base, String> {
        let columns = self.kind.columns();
        let base = match value.version {
            1 => None,
            // SAFETY: the base is installed by `fetch`, as a value of the newest generation, or not
            // at all; the first to write to the segment replaces it. That is what keeps the bytes
            // as they are (mapped/generation.rs).
            _ => unsafe { Base::mapped(value.body, value.in_place, columns, value.map)? },
        };
        match base {
            Some(base) => Ok(base),
            None => Ok(decode_adjacency(value.body, columns, value.version)?),
        }
    }

    /// Replaces whatever a segment holds by `base`, written at `ts`. No snapshot older than that
    /// may be open.
    pub(crate) fn replace(&self, number: u32, base: Base, ts: u64, guard: &Guard) {
        let segment = self.segment_for_write(number);
        let (base, hubs) = super::settle::with_hubs(self, base, ts);
        let tail = (!hubs.is_empty()).then(|| Box::new(Tail::new(1, ts, hubs)));
        segment.use_it();
        segment.exclusive(|| {
            let _loading = self.source.loading();
            segment.install(SegVersion::new(base, tail), guard);
            segment.last_write.fetch_max(ts, Ordering::Relaxed);
        });
    }

    /// The segment to write to.
    #[inline]
    pub(crate) fn segment_for_write(&self, number: u32) -> SegmentRef<'_> {
        if number >= self.bound.load(Ordering::Relaxed) {
            self.bound.fetch_max(number + 1, Ordering::AcqRel);
        }
        let head = self.heads.place(number);
        SegmentRef { segment: self.segments.get_or_grow(number), head }
    }

    /// The segment with this number, if it, or one near it, was ever loaded or written to.
    #[inline]
    pub(crate) fn segment(&self, number: u32) -> Option<SegmentRef<'_>> {
        let head = self.heads.get(number)?;
        Some(SegmentRef { segment: self.segments.get(number)?, head })
    }

    /// What the segment of vertex `v` holds.
    #[inline(always)]
    pub(crate) fn head_of<'g>(&'g self, v: u32, pinned: &'g Guard) -> Head<'g> {
        self.heads(pinned).of(v)
    }

    /// Whether `heads` are the table's own.
    pub(crate) fn has_heads(&self, heads: PinnedHeads<'_>) -> bool {
        heads.are(&self.heads)
    }

    /// Every segment's head, for loops that look up many.
    #[inline(always)]
    pub(crate) fn heads<'g>(&'g self, pinned: &'g Guard) -> PinnedHeads<'g> {
        self.heads.pinned(pinned)
    }

    /// One past the largest segment that may hold something.
    #[inline]
    pub(crate) fn segment_bound(&self) -> u32 {
        self.bound.load(Ordering::Acquire)
    }

    /// Heap bytes of all versions, arenas and hubs, extents with what is stranded in them included;
    /// and bytes that are read in place.
    pub(crate) fn bytes(&self, guard: &Guard) -> (usize, usize) {
        let (mut heap, mut mapped) = (0, 0);
        for segment in (0..self.segment_bound()).filter_map(|s| self.segment(s)) {
            heap += size_of::<AdjSegment>() + 8;
            if let Some(version) = segment.version(guard) {
                heap += version.bytes(guard);
                mapped += if version.base.is_mapped() { 4 * version.base.words().len() } else { 0 };
            }
        }
        let extents = self.extents.lock();
        heap += extents.iter().filter_map(Weak::upgrade).map(|e| e.bytes()).sum::<usize>();
        (heap, mapped)
    }

    /// Adds up how much is settled.
    pub(crate) fn settle_state(&self, guard: &Guard, state: &mut super::settle::SettleState) {
        let block_len = |b: Block<'_>| Block::len_of(b.len_word()) as u64;
        for number in 0..self.segment_bound() {
            let Some(v) = self.segment(number).and_then(|s| s.version(guard)) else {
                continue;
            };
            state.settled += v.base.entries() as u64;
            if v.is_clean() {
                continue;
            }
            state.written_segments += 1;
            for local in 0..SEGMENT_VERTICES as u32 {
                match v.decode(v.slot_word(local)) {
                    Slot::Clean => {}
                    Slot::Block(b) => state.unsettled += block_len(b),
                    Slot::Hub(hub) => {
                        state.hubs += 1;
                        for chunk in hub.chunks(guard) {
                            let chunk = chunk.version(guard);
                            state.settled += chunk.settled() as u64;
                            state.unsettled += block_len(chunk.block());
                        }
                    }
                }
            }
        }
    }
}

impl Droppable for AdjTable {
    fn bound(&self) -> u32 {
        self.segment_bound()
    }

    /// Touching leaves no mark on adjacency, which costs readers nothing: a base that is dropped is
    /// read in place from then on, and the system knows which of its pages are used.
    fn drop_segment(&self, number: u32, limits: Limits, _all: bool) -> usize {
        let guard = &epoch::pin();
        let Some(segment) = self.segment(number) else { return 0 };
        let gain = |v: &SegVersion| {
            let placed = if v.base.is_placed() { 4 * v.base.whole_len() } else { 0 };
            v.bytes(guard) + placed
        };
        let is_small = |v: &SegVersion| v.base.is_mapped() && gain(v) < 4 * SEGMENT_VERTICES;
        if segment.version(guard).is_none_or(is_small) {
            return 0;
        }
        // Whoever commits holds a latch: try again another time.
        let Some(_held) = segment.latch.try_hold() else { return 0 };
        let Some(version) = segment.version(guard) else { return 0 };
        let hubs = version.hubs();
        let chunks = || hubs.iter().flat_map(|(_, hub)| hub.chunks(guard));
        let held: Vec<_> = chunks().map_while(|c| c.latch.try_hold()).collect();
        let all_held = held.len() == chunks().count() && !chunks().any(|c| c.is_retired());
        let limit = limits.of(version.is_clean());
        if !all_held || segment.last_write.load(Ordering::Relaxed) > limit {
            return 0;
        }
        let loading = self.source.loading();
        let gain = gain(version);
        // Whoever waits for one of their latches looks the list up anew.
        chunks().for_each(|c| c.retire());
        segment.head.unload();
        let old = segment.segment.version.swap(std::ptr::null_mut(), Ordering::AcqRel);
        loading.dropped();
        // SAFETY: unreachable for new readers, and those that have it are pinned; made by
        // `Box::into_raw` and retired once, by whoever swapped it out.
        unsafe { guard.defer_unchecked(move || drop(Box::from_raw(old))) };
        gain
    }
}

impl Drop for AdjTable {
    fn drop(&mut self) {
        for (_, segment) in self.segments.iter() {
            let version = segment.version.load(Ordering::Relaxed);
            if !version.is_null() {
                // SAFETY: `&mut self`: no reader can reach the segment any more.
                drop(unsafe { Box::from_raw(version) });
            }
        }
    }
}
