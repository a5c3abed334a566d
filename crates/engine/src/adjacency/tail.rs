//! Tail: what was committed to a segment since its base was built.
//!
//! ```text
//!  slots[local]   0 = nothing unsettled   H|i = hub number i   M|offset, offset = a block
//!
//!  block, in the arena (words)
//!   0           1               2          3            3+cap         3+2cap
//!   ├───────────┼───────────────┼──────────┼────────────┼─────────────┼──────────────────┐
//!   │ D C | len │ class│reserved│ last Δts │ dst[cap]   │ meta[cap]   │ column 0 [cap] ..│
//!   └───────────┴───────────────┴──────────┴────────────┴─────────────┴──────────────────┘
//!   31 30 29..0   31..27  26..0                           op:2 | Δts:30
//! ```
//!
//! A block of 64 entries or more has a filter of its inserts in front of the header (`filter.rs`).
//!
//! `dst` of an insert is a neighbour id, so the visible inserts of a block are themselves a slice
//! of neighbours. `dst` of a delete is the *position* it deletes: a place in the vertex's base
//! list, or base length + place in this block. A reader masks positions and never searches. `D`
//! says that the block holds at least one delete, `C` that it has columns: without them, every
//! insert has ordinal 0. `last Δts` is the newest entry's, so that a
//! reader who sees all of the block, which is nearly every reader, does not touch `meta`. `Δts`
//! counts from the tail's `base_ts`. `M` says that every entry of the block deletes a settled row;
//! then bits say which (`deleted.rs`), and readers of the newest state leave the block alone.
//!
//! Invariants
//! 1. Entries below `len` never change; `len` grows by a release store after the entry is written.
//! 2. Entries stand in commit order: the writer holds the vertex's stripe from before it takes its
//!    commit timestamp until the entry is in. What a snapshot sees is therefore a prefix.
//! 3. A block that is full is copied into one of twice its size, whose offset replaces the slot;
//!    the old one stays readable until the whole tail is reclaimed.
//! 4. `base_ts` is a low watermark: every live snapshot reads at or after it.
//! 5. `reserved` is only touched under the stripe, and is 0 between commits.
//! 6. The filter has the bits of every insert below `len`.
//! 7. `M` is taken away before an entry that is no delete of a settled row is appended; it never
//!    comes back.
//!
//! Source: LiveGraph (VLDB 2020) section 4; split into columns and cut to 8 bytes per
//! entry (docs/decisions/0003).
#![expect(unsafe_code, reason = "blocks shared between one latched writer and lock-free readers")]

use std::marker::PhantomData;
use std::sync::{Arc, OnceLock};

use super::deleted::Deleted;
use super::filter::{self, FILTERED_CLASS_MIN};
use super::hub::Hub;
use super::{COL_ORDINAL, COLUMNS_MAX, Entry, SEGMENT_VERTICES};
use crate::words::WordBuf;
use std::sync::atomic::{AtomicU32, Ordering};

/// Words of a block before its entries.
pub(crate) const BLOCK_HEADER_WORDS: usize = 3;
/// Set in the length word of a block that holds a delete.
const HAS_DELETES: u32 = 1 << 31;
/// Set in the length word of a block that has columns, from the beginning.
const HAS_COLUMNS: u32 = 1 << 30;
/// Set in a slot that holds a hub number.
pub(crate) const SLOT_HUB: u32 = 1 << 31;
/// Set in the slot of a block every entry of which deletes a settled row.
pub(crate) const SLOT_MASKED: u32 = 1 << 30;
/// Most words of an arena: offsets share their words with marks.
pub(crate) const ARENA_WORDS_MAX: usize = SLOT_MASKED as usize;
/// Bits of `Δts`.
pub(crate) const DELTA_BITS: u32 = 30;
/// Largest `Δts`.
pub(crate) const DELTA_MAX: u32 = (1 << DELTA_BITS) - 1;
const OP_DELETE: u32 = 1 << DELTA_BITS;
const CLASS_SHIFT: u32 = 27;
const RESERVED_MASK: u32 = (1 << CLASS_SHIFT) - 1;
/// Largest class: reservations of a whole block still fit their bits.
pub(crate) const CLASS_MAX: u32 = 26;
/// Class of a vertex's first block.
pub(crate) const FIRST_CLASS: u32 = 1;

const _: () = assert!(DELTA_BITS + 2 == u32::BITS, "op and delta fill one word");
const _: () = assert!(1 << CLASS_MAX < HAS_COLUMNS, "a length fits beside the marks");

/// Words a block of `class` takes with `columns` columns.
#[inline]
pub(crate) fn block_words(class: u32, columns: usize) -> usize {
    filter::words(class) + BLOCK_HEADER_WORDS + (2 + columns) * (1 << class)
}

/// A block of tail entries: of one vertex, or of one hub chunk.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Block<'a> {
    p: *const u32,
    lives: PhantomData<&'a u32>,
}

impl<'a> Block<'a> {
    /// The block whose header is at `p`.
    ///
    /// # Safety
    /// `p` points to the header of an initialised block, alive for `'a`; writers keep to invariants
    /// 1, 2, 5 and 6.
    #[inline(always)]
    pub(crate) unsafe fn at(p: *const u32) -> Self {
        Self { p, lives: PhantomData }
    }

    /// Initialises an empty block of `class` with so many columns in the words from `start` on. Its
    /// header comes after [`filter::words`].
    ///
    /// # Safety
    /// `start` points to `block_words(class, columns)` words nobody else reads yet.
    pub(crate) unsafe fn init(start: *mut u32, class: u32, columns: usize) -> Self {
        // SAFETY: the filter's words are the first of the block, not shared yet.
        unsafe { start.write_bytes(0, filter::words(class)) };
        // SAFETY: the header is behind them, within the block.
        let p = unsafe { start.add(filter::words(class)) };
        // SAFETY: three words within the block, not shared yet.
        unsafe { p.write(if columns > 0 { HAS_COLUMNS } else { 0 }) };
        // SAFETY: as above.
        unsafe { p.add(1).write(class << CLASS_SHIFT) };
        // SAFETY: as above.
        unsafe { p.add(2).write(0) };
        Self { p, lives: PhantomData }
    }

    #[inline(always)]
    fn len_atomic(self) -> &'a AtomicU32 {
        // SAFETY: word 0 is only ever accessed atomically once the block is shared; 4-byte aligned.
        unsafe { &*self.p.cast::<AtomicU32>() }
    }

    #[inline(always)]
    fn last_delta(self) -> &'a AtomicU32 {
        // SAFETY: word 2 is only ever accessed atomically once the block is shared; 4-byte aligned.
        unsafe { &*self.p.add(2).cast::<AtomicU32>() }
    }

    /// Length and delete mark, as one atomic read. Entries below the length may be read after it.
    #[inline(always)]
    pub(crate) fn len_word(self) -> u32 {
        // ORDERING: acquire pairs with the release in `publish`.
        self.len_atomic().load(Ordering::Acquire)
    }

    #[inline(always)]
    pub(crate) fn len_of(word: u32) -> usize {
        (word & !(HAS_DELETES | HAS_COLUMNS)) as usize
    }

    /// True if the block has the columns of its table.
    #[inline(always)]
    pub(crate) fn has_columns(self) -> bool {
        // ORDERING: relaxed: the mark never changes, and whoever found the block sees it.
        self.len_atomic().load(Ordering::Relaxed) & HAS_COLUMNS != 0
    }

    #[inline(always)]
    pub(crate) fn has_deletes(word: u32) -> bool {
        word & HAS_DELETES != 0
    }

    #[inline(always)]
    fn control(self) -> u32 {
        // SAFETY: word 1 is written by the latched writer only (invariant 5); its class bits, which
        // readers use, never change, and the access is atomic.
        unsafe { &*self.p.add(1).cast::<AtomicU32>() }.load(Ordering::Relaxed)
    }

    /// Size class.
    #[inline(always)]
    pub(crate) fn class(self) -> u32 {
        self.control() >> CLASS_SHIFT
    }

    /// Most entries the block can hold.
    #[inline(always)]
    pub(crate) fn capacity(self) -> usize {
        1 << self.class()
    }

    /// `dst` of the first `n` entries. `n` must not exceed a length read before.
    #[inline(always)]
    pub(crate) fn dst(self, n: usize) -> &'a [u32] {
        debug_assert!(n <= Self::len_of(self.len_word()));
        // SAFETY: entries below a length that was read are initialised and never change (invariant
        // 1).
        unsafe { std::slice::from_raw_parts(self.p.add(BLOCK_HEADER_WORDS), n) }
    }

    /// `meta` of the first `n` entries. `n` must not exceed a length read before.
    #[inline(always)]
    pub(crate) fn meta(self, n: usize) -> &'a [u32] {
        debug_assert!(n <= Self::len_of(self.len_word()));
        // SAFETY: as `dst`; `meta` follows the `dst` array.
        unsafe { std::slice::from_raw_parts(self.p.add(BLOCK_HEADER_WORDS + self.capacity()), n) }
    }

    /// Column `column` of the first `n` entries of a block that has columns. `n` must not exceed a
    /// length read before.
    #[inline]
    pub(crate) fn column(self, column: usize, n: usize) -> &'a [u32] {
        debug_assert!(self.has_columns() && n <= Self::len_of(self.len_word()));
        let at = BLOCK_HEADER_WORDS + (2 + column) * self.capacity();
        // SAFETY: as `dst`; the caller's table has this column.
        unsafe { std::slice::from_raw_parts(self.p.add(at), n) }
    }

    /// Entry `i` with its columns. `i` must be below a length read before.
    pub(crate) fn entry(self, i: usize, columns: usize) -> Entry {
        let mut e = Entry::simple(self.dst(i + 1)[i]);
        for c in 0..if self.has_columns() { columns } else { 0 } {
            e.columns[c] = self.column(c, i + 1)[i];
        }
        e
    }

    /// How many entries a snapshot `delta` after the tail's `base_ts` sees, and whether any entry
    /// of the block is a delete.
    #[inline(always)]
    pub(crate) fn visible(self, delta: u32) -> (usize, bool) {
        let word = self.len_word();
        let n = Self::len_of(word);
        // One comparison in the common case: the newest entry is visible, so all are. A newer entry
        // may have come after the length was read; then the entries are looked at one by one.
        // ORDERING: `last` is stored before the length it belongs to is released.
        let seen = if self.last_delta().load(Ordering::Relaxed) <= delta {
            n
        } else {
            self.meta(n).partition_point(|m| m & DELTA_MAX <= delta)
        };
        (seen, Self::has_deletes(word))
    }

    /// Whether an entry is newer than what a snapshot `delta` after the tail's `base_ts` sees. The
    /// stripe is held, or it may be one that is being appended.
    #[inline(always)]
    pub(crate) fn is_newer(self, delta: u32) -> bool {
        Self::len_of(self.len_word()) > 0 && self.last_delta().load(Ordering::Relaxed) > delta
    }

    /// The filter word `id` belongs to, and its bits there; `None` if the block has no filter.
    #[inline(always)]
    fn filter_place(self, id: u32) -> Option<(&'a AtomicU32, u32)> {
        let class = self.class();
        if class < FILTERED_CLASS_MIN {
            return None;
        }
        let (word, bits) = filter::place(id, class);
        // SAFETY: the filter's words stand in front of the header, initialised, and are only
        // accessed atomically once the block is shared.
        Some((unsafe { &*self.p.sub(1 + word).cast::<AtomicU32>() }, bits))
    }

    /// Whether `id` may be among the inserts below a length read before.
    #[inline(always)]
    pub(crate) fn may_hold(self, id: u32) -> bool {
        let holds = |(word, bits): (&AtomicU32, u32)| word.load(Ordering::Relaxed) & bits == bits;
        self.filter_place(id).is_none_or(holds)
    }

    fn add_to_filter(self, id: u32) {
        if let Some((word, bits)) = self.filter_place(id) {
            // Only the stripe's holder writes. The length's release store publishes the bits, too.
            word.store(word.load(Ordering::Relaxed) | bits, Ordering::Relaxed);
        }
    }

    /// Whether `meta` marks a delete.
    #[inline(always)]
    pub(crate) fn is_delete(meta: u32) -> bool {
        meta & OP_DELETE != 0
    }

    // ---- writer's side: all of these are called with the vertex's stripe held ----

    /// True if there is room for one more entry.
    #[inline]
    fn has_room(self) -> bool {
        let reserved = (self.control() & RESERVED_MASK) as usize;
        Self::len_of(self.len_word()) + reserved < self.capacity()
    }

    /// Reserves room for one more entry; false if the block is full.
    #[inline]
    pub(crate) fn reserve(self) -> bool {
        let has_room = self.has_room();
        if has_room {
            self.set_control(self.control() + 1);
        }
        has_room
    }

    /// Drops all reservations.
    pub(crate) fn unreserve(self) {
        self.set_control(self.control() & !RESERVED_MASK);
    }

    #[inline(always)]
    fn set_control(self, control: u32) {
        // SAFETY: word 1 is written by the stripe's holder only (invariant 5), atomically.
        unsafe { &*self.p.add(1).cast::<AtomicU32>() }.store(control, Ordering::Relaxed);
    }

    /// Appends an entry reserved before and publishes it.
    #[inline]
    pub(crate) fn append(self, entry: &Entry, delta: u32, delete: bool, columns: usize) {
        let word = self.len_atomic().load(Ordering::Relaxed);
        let n = Self::len_of(word);
        let cap = self.capacity();
        assert!(n < cap, "INVARIANT: room was reserved");
        debug_assert!(delta <= DELTA_MAX);
        let columns = if word & HAS_COLUMNS != 0 { columns } else { 0 };
        let is_kept = columns > 0 || entry.columns[COL_ORDINAL] == 0;
        assert!(is_kept, "INVARIANT: room for the ordinal was reserved");
        let meta = if delete { delta | OP_DELETE } else { delta };
        let p = self.p.cast_mut();
        // SAFETY: entry `n` is below the capacity and above the published length: only the latched
        // writer touches it, until the release store below.
        unsafe {
            p.add(BLOCK_HEADER_WORDS + n).write(entry.nbr);
            p.add(BLOCK_HEADER_WORDS + cap + n).write(meta);
            for c in 0..columns.min(COLUMNS_MAX) {
                p.add(BLOCK_HEADER_WORDS + (2 + c) * cap + n).write(entry.columns[c]);
            }
        }
        if !delete {
            self.add_to_filter(entry.nbr);
        }
        let control = self.control();
        if control & RESERVED_MASK != 0 {
            self.set_control(control - 1);
        }
        self.last_delta().store(delta, Ordering::Relaxed);
        let marked = if delete { word | HAS_DELETES } else { word };
        // ORDERING: release pairs with the acquire in `len_word`: entry first, then length.
        self.len_atomic().store(marked + 1, Ordering::Release);
    }

    /// Copies the entries of `from` into this empty, unpublished block, which has no less room.
    pub(crate) fn copy_from(self, from: Block<'_>, columns: usize) {
        let word = from.len_word();
        let n = Self::len_of(word);
        let (cap, from_cap) = (self.capacity(), from.capacity());
        assert!(n <= cap);
        let p = self.p.cast_mut();
        let (columns, kept) = match (self.has_columns(), from.has_columns()) {
            (true, true) => (columns, columns),
            (true, false) => (columns, 0),
            (false, _) => (0, 0),
        };
        for array in 2 + kept..2 + columns {
            // SAFETY: `n` words of an array of this block, which is not shared yet.
            unsafe { p.add(BLOCK_HEADER_WORDS + array * cap).write_bytes(0, n) };
        }
        for array in 0..2 + kept {
            // SAFETY: `n` entries fit both blocks; the target is not shared yet, the source's
            // entries below its length do not change.
            unsafe {
                std::ptr::copy_nonoverlapping(
                    from.p.add(BLOCK_HEADER_WORDS + array * from_cap),
                    p.add(BLOCK_HEADER_WORDS + array * cap),
                    n,
                );
            }
        }
        if self.class() >= FILTERED_CLASS_MIN {
            let inserts =
                from.dst(n).iter().zip(from.meta(n)).filter(|(_, m)| !Self::is_delete(**m));
            inserts.for_each(|(id, _)| self.add_to_filter(*id));
        }
        self.last_delta().store(from.last_delta().load(Ordering::Relaxed), Ordering::Relaxed);
        self.set_control(self.control() | from.control() & RESERVED_MASK);
        let marks = self.len_atomic().load(Ordering::Relaxed) & HAS_COLUMNS;
        self.len_atomic().store(word & !HAS_COLUMNS | marks, Ordering::Release);
    }
}

/// The unsettled entries of one segment.
#[derive(Debug)]
pub(crate) struct Tail {
    slots: WordBuf,
    arena: WordBuf,
    /// Words of the arena given out.
    used: AtomicU32,
    /// Timestamp from which `Δts` counts.
    pub(crate) base_ts: u64,
    /// Hubs of this segment, by number.
    pub(crate) hubs: Box<[Arc<Hub>]>,
    /// Places of the hubs, ascending.
    pub(crate) hub_locals: Box<[u32]>,
    /// Deleted settled rows; made by the first delete.
    pub(crate) deleted: OnceLock<Deleted>,
}

impl Tail {
    /// A tail without blocks. Slot words are zero but for those of `hubs`, given as (local, hub).
    pub(crate) fn new(arena_words: usize, base_ts: u64, hubs: Vec<(u32, Arc<Hub>)>) -> Self {
        let slots = WordBuf::zeroed(SEGMENT_VERTICES);
        let tail = Self {
            slots,
            arena: WordBuf::uninit(arena_words),
            // Offset 0 means "no block", so the first block starts at word 1.
            used: AtomicU32::new(1),
            base_ts,
            hubs: hubs.iter().map(|(_, h)| Arc::clone(h)).collect(),
            hub_locals: {
                let mut locals: Box<[u32]> = hubs.iter().map(|(local, _)| *local).collect();
                locals.sort_unstable();
                locals
            },
            deleted: OnceLock::new(),
        };
        for (i, (local, _)) in hubs.iter().enumerate() {
            tail.slot(*local).store(SLOT_HUB | i as u32, Ordering::Relaxed);
        }
        tail
    }

    /// Slot word of vertex `local`.
    #[inline(always)]
    pub(crate) fn slot(&self, local: u32) -> &AtomicU32 {
        debug_assert!((local as usize) < SEGMENT_VERTICES);
        // SAFETY: `local` is below the number of slots (callers mask it), slots are initialised and
        // only accessed atomically.
        unsafe { &*self.slots.as_ptr().add(local as usize & (SEGMENT_VERTICES - 1)).cast() }
    }

    /// Start of the slots, for readers that cache it.
    pub(crate) fn slots_ptr(&self) -> *const u32 {
        self.slots.as_ptr()
    }

    /// Start of the arena, for readers that cache it.
    pub(crate) fn arena_ptr(&self) -> *const u32 {
        self.arena.as_ptr()
    }

    /// The block at a slot's offset.
    #[inline(always)]
    pub(crate) fn block(&self, offset: u32) -> Block<'_> {
        debug_assert!((offset as usize) < self.arena.len());
        // SAFETY: offsets in slots come from `grow`, which initialised a block there.
        unsafe { Block::at(self.arena.as_ptr().add(offset as usize)) }
    }

    /// The block of vertex `local`, if it has one (hubs do not).
    #[inline]
    pub(crate) fn block_of(&self, local: u32) -> Option<Block<'_>> {
        // ORDERING: acquire pairs with the release in `grow`.
        let slot = self.slot(local).load(Ordering::Acquire);
        (slot != 0 && slot & SLOT_HUB == 0).then(|| self.block(slot & !SLOT_MASKED))
    }

    /// The hub of vertex `local`, if its list is one.
    #[inline]
    pub(crate) fn hub_of(&self, local: u32) -> Option<&Hub> {
        let slot = self.slot(local).load(Ordering::Acquire);
        (slot & SLOT_HUB != 0).then(|| &*self.hubs[(slot & !SLOT_HUB) as usize])
    }

    /// Makes sure the block of `local` has room for one more entry, with so many columns, and
    /// reserves it; false if the arena is exhausted. Called with the stripe held.
    #[inline]
    pub(crate) fn reserve(&self, local: u32, columns: usize) -> bool {
        match self.block_of(local) {
            Some(block) if (columns == 0 || block.has_columns()) && block.reserve() => true,
            old => self.grow(local, old, columns),
        }
    }

    fn grow(&self, local: u32, old: Option<Block<'_>>, columns: usize) -> bool {
        let class = old.map_or(FIRST_CLASS, |b| b.class() + u32::from(!b.has_room()));
        // Whoever has columns keeps them; where they may be missing there is one at most.
        let columns = columns.max(old.map_or(0, |b| b.has_columns().into()));
        let Some((at, block)) = self.allocate(class, columns) else {
            return false;
        };
        if let Some(old) = old {
            block.copy_from(old, columns);
        }
        let fits = block.reserve();
        debug_assert!(fits);
        let slot = self.slot(local);
        let mark = slot.load(Ordering::Relaxed) & SLOT_MASKED;
        // ORDERING: release pairs with the acquire in `block_of` and in scans: a reader that sees
        // the offset sees an initialised block.
        slot.store(at | mark, Ordering::Release);
        true
    }

    /// Notes that a commit will delete settled row `row`, one of `rows`, of the list of `local`, by
    /// an entry reserved before. Called with the stripe held, before the entry is appended.
    #[inline]
    pub(crate) fn mark_deleted(&self, local: u32, row: u32, rows: usize, delta: u32) {
        let slot = self.slot(local);
        let word = slot.load(Ordering::Relaxed);
        if word & SLOT_MASKED == 0 {
            if Block::len_of(self.block(word).len_word()) > 0 {
                return;
            }
            slot.store(word | SLOT_MASKED, Ordering::Release);
        }
        self.deleted.get_or_init(|| Deleted::none_of(rows)).add(row, delta);
    }

    /// Appends an entry to the block of `local`, reserved before, and publishes it. A delete of a
    /// settled row was marked before. Called with the stripe held.
    #[inline]
    pub(crate) fn append(
        &self,
        local: u32,
        entry: &Entry,
        delta: u32,
        delete: bool,
        columns: usize,
    ) {
        let slot = self.slot(local);
        let mut word = slot.load(Ordering::Relaxed);
        if !delete && word & SLOT_MASKED != 0 {
            word &= !SLOT_MASKED;
            // ORDERING: release, and before the entry: invariant 7.
            slot.store(word, Ordering::Release);
        }
        self.block(word & !SLOT_MASKED).append(entry, delta, delete, columns);
    }

    fn allocate(&self, class: u32, columns: usize) -> Option<(u32, Block<'_>)> {
        let words = block_words(class, columns);
        if class > CLASS_MAX || words >= SLOT_MASKED as usize {
            return None;
        }
        // One step, and only if it fits: a number added first and taken back after a failure would
        // let others be given the same words in between.
        let fits = |used: u32| {
            let end = used as usize + words;
            (end <= self.arena.len().min(SLOT_MASKED as usize)).then_some(end as u32)
        };
        let at = self.used.fetch_update(Ordering::Relaxed, Ordering::Relaxed, fits).ok()?;
        // SAFETY: `at..at + words` lies in the arena and was given out to this call alone.
        let block = unsafe { Block::init(self.arena.as_ptr().add(at as usize), class, columns) };
        Some((at + filter::words(class) as u32, block))
    }

    /// Gives vertex `local` an empty first block of `class`; `None` if the arena is exhausted. Only
    /// while nobody else sees the tail.
    pub(crate) fn first_block(&self, local: u32, class: u32, columns: usize) -> Option<Block<'_>> {
        let (at, block) = self.allocate(class, columns)?;
        self.slot(local).store(at, Ordering::Release);
        Some(block)
    }

    /// Drops the reservations of `local`'s block. Called with the stripe held.
    pub(crate) fn unreserve(&self, local: u32) {
        if let Some(block) = self.block_of(local) {
            block.unreserve();
        }
    }

    /// Words of the arena given out.
    pub(crate) fn words_used(&self) -> usize {
        self.used.load(Ordering::Relaxed) as usize
    }

    /// Words of the arena not given out yet.
    pub(crate) fn words_left(&self) -> usize {
        self.arena.len().saturating_sub(self.used.load(Ordering::Relaxed) as usize)
    }

    /// Share of the arena in use, in 1/256.
    #[inline]
    pub(crate) fn fill(&self) -> u32 {
        let used = u64::from(self.used.load(Ordering::Relaxed));
        (used * 256 / self.arena.len().max(1) as u64).min(256) as u32
    }

    /// Whether nothing was written to the tail.
    pub(crate) fn is_unused(&self) -> bool {
        self.used.load(Ordering::Relaxed) == 1
    }

    /// Heap bytes, hubs not included.
    pub(crate) fn bytes(&self) -> usize {
        let deleted = self.deleted.get().map_or(0, Deleted::bytes);
        self.slots.bytes() + self.arena.bytes() + deleted + std::mem::size_of::<Self>()
    }

    /// `r - base_ts`, clamped to what an entry can hold.
    #[inline(always)]
    pub(crate) fn delta(&self, read_ts: u64) -> u32 {
        read_ts.saturating_sub(self.base_ts).min(u64::from(DELTA_MAX)) as u32
    }
}

#[cfg(test)]
#[path = "tail_tests.rs"]
mod tests;
