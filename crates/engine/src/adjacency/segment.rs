//! Segments and their versions.
//!
//! Invariants
//! 1. A version's base never changes; its tail only grows. Replacing either makes a new version,
//!    under every stripe of the segment's latch, and retires the old one through the epoch.
//! 2. A reader loads the version pointer once per list it reads, so base and tail always belong
//!    together.
//!
//! Cost: a settled, empty segment is one cache line; a settled one adds 64 bytes and its base.
#![expect(unsafe_code, reason = "version pointers read without a latch, under an epoch pin")]

use std::sync::{Arc, Weak};

use crossbeam_epoch::Guard;
use parking_lot::Mutex;

use super::base::Base;
use super::extent::Extent;
use super::hub::Hub;
use super::list::{List, Rows, Visible};
use super::tail::{Block, SLOT_HUB, Tail};
use super::{ListKind, SEGMENT_BITS, SEGMENT_VERTICES};
use crate::latch::{ALL_STRIPES, Latch};
use crate::table::GrowArray;
use std::sync::atomic::{AtomicPtr, AtomicU32, AtomicU64, Ordering};

/// Smallest arena of a tail, in words.
const ARENA_WORDS_MIN: usize = 768;
/// A new tail's arena is this share of its base, in words: base / 4.
///
/// PERF: `telar bench kernel` (insert_single_mps against bytes_per_entry_peak): a larger share
/// settles less often and holds more memory.
const ARENA_SHARE: usize = 4;

/// Arena size for a tail over a base of `entries`.
pub(crate) fn arena_words(entries: usize, columns: usize) -> usize {
    let words = entries * (1 + columns) / ARENA_SHARE;
    words.max(ARENA_WORDS_MIN * (2 + columns) / 2)
}

/// Base and tail of a segment between two settles.
#[derive(Debug)]
#[repr(C, align(64))]
pub(crate) struct SegVersion {
    // Copies of pointers into `base` and `tail`, so that a reader needs this cache line only.
    offsets: *const u32,
    nbrs: *const u32,
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
            offsets: base.offsets_ptr(),
            nbrs: base.neighbours_ptr(),
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

    /// Places of the hubs, if nothing but hubs can be in the tail of this version.
    #[inline]
    pub(crate) fn only_hubs(&self) -> Option<&[u32]> {
        self.tail.as_ref().filter(|t| t.is_hubs_only()).map(|t| &*t.hub_locals)
    }

    /// Offsets of the base.
    #[inline(always)]
    pub(crate) fn offsets(&self) -> &[u32; SEGMENT_VERTICES + 1] {
        // SAFETY: a base begins with 2^k + 1 initialised offsets.
        unsafe { &*self.offsets.cast() }
    }

    /// Base rows `start..end`.
    #[inline(always)]
    pub(crate) fn nbrs(&self, start: u32, end: u32) -> &[u32] {
        debug_assert!(start <= end && end as usize <= self.base.entries());
        // SAFETY: callers pass two consecutive offsets of this base, so the range is within it.
        unsafe { std::slice::from_raw_parts(self.nbrs.add(start as usize), (end - start) as usize) }
    }

    /// Base neighbours of `local`.
    #[inline(always)]
    pub(crate) fn settled(&self, local: u32) -> &[u32] {
        let offsets = self.offsets();
        let i = local as usize & (SEGMENT_VERTICES - 1);
        self.nbrs(offsets[i], offsets[i + 1])
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
            Slot::Block(unsafe { Block::at(self.arena.add(word as usize)) })
        }
    }

    #[cold]
    fn hub(&self, word: u32) -> &Hub {
        let tail = self.tail.as_ref().expect("INVARIANT: a hub slot is in a tail");
        &tail.hubs[(word & !SLOT_HUB) as usize]
    }

    /// Address of the offset of `local`, for prefetching.
    #[inline(always)]
    pub(crate) fn offset_addr(&self, local: u32) -> *const u32 {
        self.offsets.wrapping_add(local as usize)
    }

    /// Address of the slot word of `local`, for prefetching.
    #[inline(always)]
    pub(crate) fn slot_addr(&self, local: u32) -> *const u32 {
        self.slots.wrapping_add(local as usize)
    }

    /// Address of the block at a slot word, for prefetching.
    #[inline(always)]
    pub(crate) fn block_addr(&self, word: u32) -> *const u32 {
        self.arena.wrapping_add((word & !SLOT_HUB) as usize)
    }

    /// Address of the base row `at`, for prefetching.
    #[inline(always)]
    pub(crate) fn row_addr(&self, at: u32) -> *const u32 {
        self.nbrs.wrapping_add(at as usize)
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
        let mut base = Rows::simple(self.settled(local));
        if kind.columns() > 0 {
            let range = self.base.range(local as usize);
            for c in 0..kind.columns() {
                base.columns[c] = &self.base.column(c)[range.clone()];
            }
        }
        Some(List { base, tail, kind })
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
    /// Largest commit timestamp that wrote here; read by checkpoints and the background pass.
    pub(crate) last_write: AtomicU64,
}

/// Segments a table can have: every `u32` vertex number.
const SEGMENTS_MAX: usize = 1 << (u32::BITS - SEGMENT_BITS);

/// The current version of every segment, one pointer each, densely: what readers go through.
///
/// PERF: scan_random_order, search: one load from a small array instead of a walk through the
/// segments' own cache lines. All 2^22 pointers are reserved at once (32 MiB of address space);
/// pages of it become memory only where a segment exists.
struct Versions(Box<[AtomicPtr<SegVersion>]>);

impl std::fmt::Debug for Versions {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Versions")
    }
}

impl Versions {
    fn new() -> Self {
        // SAFETY: an AtomicPtr of zero bytes is a null pointer.
        Self(unsafe { Box::new_zeroed_slice(SEGMENTS_MAX).assume_init() })
    }
}

/// Every segment's version, under an epoch pin.
#[derive(Debug, Clone, Copy)]
pub(crate) struct PinnedVersions<'g>(&'g [AtomicPtr<SegVersion>]);

impl<'g> PinnedVersions<'g> {
    /// The current version of the segment of vertex `v`.
    #[inline(always)]
    pub(crate) fn of(self, v: u32) -> Option<&'g SegVersion> {
        // SAFETY: there is a pointer for the segment of every `u32`.
        let place = unsafe { self.0.get_unchecked((v >> SEGMENT_BITS) as usize) };
        // ORDERING: acquire pairs with the release swap in `install`.
        // SAFETY: versions are retired through the epoch only, which is pinned for `'g`.
        unsafe { place.load(Ordering::Acquire).as_ref() }
    }
}

/// A segment with the place of its version.
#[derive(Debug, Clone, Copy)]
pub(crate) struct SegmentRef<'t> {
    pub(crate) segment: &'t AdjSegment,
    version: &'t AtomicPtr<SegVersion>,
}

impl std::ops::Deref for SegmentRef<'_> {
    type Target = AdjSegment;

    #[inline(always)]
    fn deref(&self) -> &AdjSegment {
        self.segment
    }
}

impl SegmentRef<'_> {
    /// The current version; `None` before the first write.
    #[inline(always)]
    pub(crate) fn version<'g>(&self, _pinned: &'g Guard) -> Option<&'g SegVersion> {
        // ORDERING: acquire pairs with the release swap in `install`.
        let p = self.version.load(Ordering::Acquire);
        // SAFETY: versions are retired through the epoch only, and the guard pins it.
        unsafe { p.as_ref() }
    }

    /// Replaces the version. The caller holds every stripe.
    pub(crate) fn install(&self, version: SegVersion, guard: &Guard) {
        let old = self.version.swap(Box::into_raw(Box::new(version)), Ordering::AcqRel);
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

    /// Makes sure the segment has a tail to write to.
    #[cold]
    pub(crate) fn ensure_tail(&self, table: &AdjTable, watermark: u64, guard: &Guard) {
        self.exclusive(|| {
            let old = self.version(guard);
            if old.is_some_and(|v| !v.is_clean()) {
                return;
            }
            let base = old.map_or_else(|| Arc::clone(&table.empty), |v| Arc::clone(&v.base));
            let words = arena_words(base.entries(), table.kind.columns());
            let tail = Tail::new(words, watermark, Vec::new());
            self.install(SegVersion::new(base, Some(Box::new(tail))), guard);
        });
    }
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
    segments: GrowArray<AdjSegment>,
    versions: Versions,
    pub(crate) empty: Arc<Base>,
    /// Extents that hold bases of this table.
    pub(crate) extents: Mutex<Vec<Weak<Extent>>>,
    /// One past the largest segment ever written to.
    bound: AtomicU32,
}

impl AdjTable {
    pub(crate) fn new(id: u32, kind: ListKind, hub_entries_min: usize) -> Self {
        Self {
            id,
            kind,
            hub_entries_min,
            segments: GrowArray::default(),
            versions: Versions::new(),
            empty: Arc::new(Base::empty(kind.columns())),
            extents: Mutex::new(Vec::new()),
            bound: AtomicU32::new(0),
        }
    }

    /// Installs a stored base; nobody else uses the table yet. Long lists become hubs.
    pub(crate) fn load(&self, number: u32, base: Base, guard: &Guard) -> Result<(), &'static str> {
        let sorted = |local| super::base::is_sorted(&base, self.kind, local);
        if !(0..SEGMENT_VERTICES).all(sorted) {
            return Err("a list is not sorted");
        }
        self.segment_for_write(number).install(super::settle::with_hubs(self, base), guard);
        Ok(())
    }

    /// Replaces whatever a segment holds by `base`, written at `ts`. No snapshot older than that
    /// may be open.
    pub(crate) fn replace(&self, number: u32, base: Base, ts: u64, guard: &Guard) {
        let segment = self.segment_for_write(number);
        let version = super::settle::with_hubs(self, base);
        segment.exclusive(|| segment.install(version, guard));
        segment.last_write.fetch_max(ts, Ordering::Relaxed);
    }

    /// The segment to write to.
    #[inline]
    pub(crate) fn segment_for_write(&self, number: u32) -> SegmentRef<'_> {
        if number >= self.bound.load(Ordering::Relaxed) {
            self.bound.fetch_max(number + 1, Ordering::AcqRel);
        }
        let version = &self.versions.0[number as usize];
        SegmentRef { segment: self.segments.get_or_grow(number), version }
    }

    /// The segment with this number, if anything was ever written near it.
    #[inline]
    pub(crate) fn segment(&self, number: u32) -> Option<SegmentRef<'_>> {
        let version = self.versions.0.get(number as usize)?;
        Some(SegmentRef { segment: self.segments.get(number)?, version })
    }

    /// The current version of the segment of vertex `v`.
    #[inline(always)]
    pub(crate) fn version_of<'g>(&'g self, v: u32, pinned: &'g Guard) -> Option<&'g SegVersion> {
        self.versions(pinned).of(v)
    }

    /// Every segment's current version, for loops that look up many.
    #[inline(always)]
    pub(crate) fn versions<'g>(&'g self, _pinned: &'g Guard) -> PinnedVersions<'g> {
        PinnedVersions(&self.versions.0)
    }

    /// One past the largest segment that may hold something.
    #[inline]
    pub(crate) fn segment_bound(&self) -> u32 {
        self.bound.load(Ordering::Acquire)
    }

    /// Heap bytes of all versions, arenas and hubs, extents with what is stranded in them included.
    pub(crate) fn bytes(&self, guard: &Guard) -> usize {
        let segments: usize = (0..self.segment_bound())
            .filter_map(|s| self.segment(s))
            .map(|s| size_of::<AdjSegment>() + 8 + s.version(guard).map_or(0, |v| v.bytes(guard)))
            .sum();
        let extents = self.extents.lock();
        segments + extents.iter().filter_map(Weak::upgrade).map(|e| e.bytes()).sum::<usize>()
    }

    /// Adds up how much is settled.
    pub(crate) fn settle_state(&self, guard: &Guard, state: &mut crate::SettleState) {
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

impl Drop for AdjTable {
    fn drop(&mut self) {
        let bound = self.segment_bound() as usize;
        for place in &mut self.versions.0[..bound] {
            let version = std::mem::replace(place.get_mut(), std::ptr::null_mut());
            if !version.is_null() {
                // SAFETY: `&mut self`: no reader can reach the segment any more.
                drop(unsafe { Box::from_raw(version) });
            }
        }
    }
}
