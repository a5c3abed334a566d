//! Segments and their versions.
//!
//! Invariants
//! 1. A version's base never changes; its tail only grows. Replacing either makes a new version, under
//!    every stripe of the segment's latch, and retires the old one through the epoch.
//! 2. A reader loads the version pointer once per list it reads, so base and tail always belong
//!    together.
//!
//! Cost: a settled, empty segment is one cache line; a settled one adds 64 bytes and its base.
#![expect(unsafe_code, reason = "version pointers read without a latch, under an epoch pin")]

use std::sync::Arc;

use crossbeam_epoch::{Atomic, Guard, Owned};

use super::base::Base;
use super::hub::Hub;
use super::list::{List, Rows, Visible};
use super::tail::{Block, SLOT_HUB, Tail};
use super::{ListKind, SEGMENT_VERTICES};
use crate::latch::{ALL_STRIPES, Latch};
use std::sync::atomic::{AtomicU32, Ordering};
use crate::table::GrowArray;

/// Smallest arena of a tail, in words.
const ARENA_WORDS_MIN: usize = 2048;
/// A new tail's arena is this share of its base, in words: base / 4.
///
/// PERF: `telar bench kernel` (insert_single_mps against bytes_per_entry_peak): a larger share settles
/// less often and holds more memory.
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
        unsafe {
            std::slice::from_raw_parts(self.nbrs.add(start as usize), (end - start) as usize)
        }
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
        let range = self.base.range(local as usize);
        let mut base = Rows::simple(&self.base.neighbours()[range.clone()]);
        for c in 0..kind.columns() {
            base.columns[c] = &self.base.column(c)[range.clone()];
        }
        Some(List { base, tail, kind })
    }

    /// Hubs with their places.
    pub(crate) fn hubs(&self) -> Vec<(u32, Arc<Hub>)> {
        let Some(tail) = &self.tail else { return Vec::new() };
        if tail.hubs.is_empty() {
            return Vec::new();
        }
        (0..SEGMENT_VERTICES as u32)
            .filter_map(|local| {
                let word = self.slot_word(local);
                let hub = (word & SLOT_HUB != 0).then(|| (word & !SLOT_HUB) as usize)?;
                Some((local, Arc::clone(&tail.hubs[hub])))
            })
            .collect()
    }

    /// Heap bytes of this version, hubs included.
    pub(crate) fn bytes(&self, guard: &Guard) -> usize {
        let tail = self.tail.as_ref().map_or(0, |t| {
            t.bytes() + t.hubs.iter().map(|h| h.bytes(guard)).sum::<usize>()
        });
        // The empty base is shared by all segments that have none.
        let base = if self.base.entries() == 0 { 0 } else { self.base.bytes() };
        std::mem::size_of::<Self>() + base + tail
    }
}

/// One segment: its latch and its current version.
#[derive(Debug)]
#[repr(align(64))]
pub(crate) struct AdjSegment {
    pub(crate) latch: Latch,
    /// Largest commit timestamp that wrote here; read by checkpoints and serializable validation.
    pub(crate) last_write: std::sync::atomic::AtomicU64,
    version: Atomic<SegVersion>,
}

impl Default for AdjSegment {
    fn default() -> Self {
        Self { latch: Latch::default(), last_write: 0.into(), version: Atomic::null() }
    }
}

impl AdjSegment {
    /// The current version; `None` before the first write.
    #[inline(always)]
    pub(crate) fn version<'g>(&self, guard: &'g Guard) -> Option<&'g SegVersion> {
        // ORDERING: acquire pairs with the release swap in `install`.
        let shared = self.version.load(Ordering::Acquire, guard);
        // SAFETY: versions are retired through the epoch only, and `guard` pins it.
        unsafe { shared.as_ref() }
    }

    /// Replaces the version. The caller holds every stripe.
    pub(crate) fn install(&self, version: SegVersion, guard: &Guard) {
        let old = self.version.swap(Owned::new(version), Ordering::AcqRel, guard);
        if !old.is_null() {
            // SAFETY: the old version is unreachable for new readers; those that have it are pinned.
            unsafe { guard.defer_destroy(old) };
        }
    }

    /// Runs `f` with every stripe held.
    pub(crate) fn exclusive<R>(&self, f: impl FnOnce() -> R) -> R {
        self.latch.acquire(ALL_STRIPES);
        let out = f();
        self.latch.release(ALL_STRIPES);
        out
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

impl Drop for AdjSegment {
    fn drop(&mut self) {
        let version = std::mem::replace(&mut self.version, Atomic::null());
        // SAFETY: `&mut self`: no reader can reach the segment any more.
        drop(unsafe { version.try_into_owned() });
    }
}

/// All edges of one type in one direction.
#[derive(Debug)]
pub(crate) struct AdjTable {
    /// Number in the global latch order; unique among all tables of an engine.
    pub(crate) id: u32,
    pub(crate) kind: ListKind,
    pub(crate) segments: GrowArray<AdjSegment>,
    pub(crate) empty: Arc<Base>,
    /// One past the largest segment ever written to.
    bound: AtomicU32,
}

impl AdjTable {
    pub(crate) fn new(id: u32, kind: ListKind) -> Self {
        Self {
            id,
            kind,
            segments: GrowArray::default(),
            empty: Arc::new(Base::empty(kind.columns())),
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

    /// The segment to write to.
    #[inline]
    pub(crate) fn segment_for_write(&self, segment: u32) -> &AdjSegment {
        if segment >= self.bound.load(Ordering::Relaxed) {
            self.bound.fetch_max(segment + 1, Ordering::AcqRel);
        }
        self.segments.get_or_grow(segment)
    }

    /// One past the largest segment that may hold something.
    #[inline]
    pub(crate) fn segment_bound(&self) -> u32 {
        self.bound.load(Ordering::Acquire)
    }

    /// Heap bytes of all versions, arenas and hubs.
    pub(crate) fn bytes(&self, guard: &Guard) -> usize {
        (0..self.segment_bound())
            .filter_map(|s| self.segments.get(s))
            .map(|s| {
                std::mem::size_of::<AdjSegment>() + s.version(guard).map_or(0, |v| v.bytes(guard))
            })
            .sum()
    }

    /// Adds up how much is settled.
    pub(crate) fn settle_state(&self, guard: &Guard, state: &mut crate::SettleState) {
        let block_len = |b: Block<'_>| Block::len_of(b.len_word()) as u64;
        for number in 0..self.segment_bound() {
            let Some(v) = self.segments.get(number).and_then(|s| s.version(guard)) else { continue };
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
