//! Slots and arena of one direction of the edge log.
//!
//! ```text
//!  slot, 16 bytes   ├ block: 8-byte word in the arena | order << 56 ┼ entries u32 ┼ degree u32 ┤
//! ```
//!
//! Invariants: order 0 means no block; `entries` counts all entries of the block, `degree` the live
//! ones.
//! Concurrency: one writer alone, or readers.
//! Cost: blocks freed by growth wait in a list per size and are reused before the arena grows.

use super::block::{
    ENTRY_WORDS, HEADER_WORDS, LIVE, ORDER_MIN, capacity, filter_position, filter_words, words,
};
use crate::mem::Region;
use std::ops::Range;
use telar_generate::mem;

/// Bits of a slot that number a word of the arena.
const ADDRESS_BITS: u32 = 56;

#[derive(Clone, Copy, Default)]
struct Slot {
    block: u64,
    entries: u32,
    degree: u32,
}

const _: () = assert!(size_of::<Slot>() == 16);

impl Slot {
    #[inline(always)]
    fn order(self) -> u32 {
        (self.block >> ADDRESS_BITS) as u32
    }

    #[inline(always)]
    fn start(self) -> usize {
        (self.block & ((1 << ADDRESS_BITS) - 1)) as usize
    }

    /// Words of all entries, newest first; empty without a block.
    #[inline(always)]
    fn entry_range(self) -> Range<usize> {
        let end = self.start() + if self.block == 0 { 0 } else { words(self.order()) };
        end - self.entries as usize * ENTRY_WORDS..end
    }
}

/// One direction of the edge log.
pub(super) struct EdgeLog {
    slots: Vec<Slot>,
    arena: Region,
    /// First word of the arena that was never used.
    arena_end: usize,
    /// Freed blocks by order.
    free: [Vec<u64>; 48],
    /// Words in blocks of vertices.
    live_words: usize,
}

impl EdgeLog {
    pub(super) fn new() -> Self {
        Self {
            slots: Vec::new(),
            arena: Region::reserve().expect("address space for an edge log"),
            arena_end: 0,
            free: std::array::from_fn(|_| Vec::new()),
            live_words: 0,
        }
    }

    pub(super) fn add_vertices(&mut self, count: u32) {
        let n = self.slots.len() + count as usize;
        if n > self.slots.capacity() {
            let mut wider = mem::huge_vec(n.max(2 * self.slots.capacity()));
            wider.append(&mut self.slots);
            self.slots = wider;
        }
        self.slots.resize(n, Slot::default());
    }

    pub(super) fn vertices(&self) -> u32 {
        self.slots.len() as u32
    }

    #[inline(always)]
    pub(super) fn degree(&self, v: u32) -> u32 {
        self.slots[v as usize].degree
    }

    /// Returns the words of all entries of `v`, newest first.
    #[inline(always)]
    pub(super) fn entries(&self, v: u32) -> &[u64] {
        &self.arena[self.slots[v as usize].entry_range()]
    }

    /// Returns whether `neighbour` may be among the entries of the block at `slot`.
    #[inline(always)]
    fn may_contain(&self, slot: Slot, neighbour: u32) -> bool {
        if filter_words(slot.order()) == 0 {
            return true;
        }
        let (word, bits) = filter_position(slot.order(), neighbour);
        self.arena[slot.start() + HEADER_WORDS + word] & bits == bits
    }

    /// Returns the arena word at which the live entry of `neighbour` starts.
    pub(super) fn find(&self, v: u32, neighbour: u32) -> Option<usize> {
        let slot = self.slots[v as usize];
        if !self.may_contain(slot, neighbour) {
            return None;
        }
        let range = slot.entry_range();
        let (entries, _) = self.arena[range.clone()].as_chunks::<ENTRY_WORDS>();
        let position =
            entries.iter().position(|entry| entry[0] as u32 == neighbour && entry[2] == LIVE)?;
        Some(range.start + position * ENTRY_WORDS)
    }

    /// Returns whether `neighbour` exists at timestamp `at`.
    pub(super) fn contains(&self, v: u32, neighbour: u32, at: u64) -> bool {
        let slot = self.slots[v as usize];
        if !self.may_contain(slot, neighbour) {
            return false;
        }
        let (entries, _) = self.arena[slot.entry_range()].as_chunks::<ENTRY_WORDS>();
        entries.iter().any(|entry| entry[0] as u32 == neighbour && entry[1] <= at && at < entry[2])
    }

    /// Ends the life of `neighbour`'s entry; returns whether it had one.
    pub(super) fn invalidate(&mut self, v: u32, neighbour: u32, now: u64) -> bool {
        let Some(entry) = self.find(v, neighbour) else {
            return false;
        };
        self.arena[entry + 2] = now;
        let slot = &mut self.slots[v as usize];
        slot.degree -= 1;
        self.arena[slot.start()] = now;
        true
    }

    /// Adds an entry for a neighbour that has no live one.
    pub(super) fn append(&mut self, v: u32, neighbour: u32, now: u64) {
        let slot = self.slots[v as usize];
        if slot.block == 0 || slot.entries as usize == capacity(slot.order()) {
            self.renew(v);
        }
        let slot = &mut self.slots[v as usize];
        slot.entries += 1;
        slot.degree += 1;
        let slot = *slot;
        self.put(slot, [u64::from(neighbour), now, LIVE]);
        self.arena[slot.start()] = now;
    }

    /// Writes the newest entry of a block, and its bits in the filter.
    #[inline(always)]
    fn put(&mut self, slot: Slot, entry: [u64; ENTRY_WORDS]) {
        let newest = slot.entry_range().start;
        self.arena[newest..newest + ENTRY_WORDS].copy_from_slice(&entry);
        if filter_words(slot.order()) > 0 {
            let (word, bits) = filter_position(slot.order(), entry[0] as u32);
            self.arena[slot.start() + HEADER_WORDS + word] |= bits;
        }
    }

    /// Gives `v` a block with room: copies what is live, drops the rest. No reader is there to see
    /// it, for the lock is held exclusively.
    fn renew(&mut self, v: u32) {
        let old = self.slots[v as usize];
        let mut order = old.order().max(ORDER_MIN);
        if old.degree as usize > capacity(order) / 2 {
            order += 1;
        }
        let start = self.allocate(order);
        self.arena[start + 1] = u64::from(v);
        self.arena[start + 2] = u64::from(order);
        let mut new = Slot { block: start as u64 | u64::from(order) << ADDRESS_BITS, ..old };
        new.entries = 0;
        let mut at = old.entry_range().end;
        for _ in 0..old.entries {
            at -= ENTRY_WORDS;
            let entry = [self.arena[at], self.arena[at + 1], self.arena[at + 2]];
            if entry[2] == LIVE {
                new.entries += 1;
                self.put(new, entry);
            }
        }
        if old.block != 0 {
            self.live_words -= words(old.order());
            self.free[old.order() as usize].push(old.start() as u64);
        }
        self.slots[v as usize] = new;
    }

    /// Returns the first word of a block whose header and filter are zero.
    fn allocate(&mut self, order: u32) -> usize {
        self.live_words += words(order);
        if let Some(start) = self.free[order as usize].pop() {
            let start = start as usize;
            self.arena[start..start + HEADER_WORDS + filter_words(order)].fill(0);
            return start;
        }
        let start = self.arena_end;
        self.arena_end += words(order);
        assert!(self.arena_end <= self.arena.len(), "edge log arena is full");
        start
    }

    #[inline(always)]
    pub(super) fn hint_slot(&self, v: u32) {
        mem::prefetch(self.slots.as_ptr().wrapping_add(v as usize));
    }

    /// Hints the lines an append of `neighbour` touches.
    #[inline(always)]
    pub(super) fn hint_append(&self, v: u32, neighbour: u32) {
        let slot = self.slots[v as usize];
        if slot.block == 0 {
            return;
        }
        let base = self.arena.as_ptr();
        mem::prefetch(base.wrapping_add(slot.start()));
        mem::prefetch(base.wrapping_add(slot.entry_range().start.wrapping_sub(ENTRY_WORDS)));
        if filter_words(slot.order()) > 0 {
            let (word, _) = filter_position(slot.order(), neighbour);
            mem::prefetch(base.wrapping_add(slot.start() + HEADER_WORDS + word));
        }
    }

    /// Hints the newest entries of `v`, where a scan starts.
    #[inline(always)]
    pub(super) fn hint_newest(&self, v: u32) {
        if let Some(slot) = self.slots.get(v as usize) {
            mem::prefetch(self.arena.as_ptr().wrapping_add(slot.entry_range().start));
        }
    }

    pub(super) fn memory_bytes(&self) -> u64 {
        (self.live_words * size_of::<u64>() + self.slots.capacity() * size_of::<Slot>()) as u64
    }

    pub(super) fn reserved_bytes(&self) -> u64 {
        (self.arena_end * size_of::<u64>() + self.slots.capacity() * size_of::<Slot>()) as u64
    }
}
