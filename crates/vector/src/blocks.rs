//! Slots of vectors, which are filled before anybody sees them.
//!
//! ```text
//!  directory ─► 256 pages ─► 256 slabs (memory.rs) ─► slots
//!
//!  slabs   the first ones double: 256, 256, 512, 1024 slots and so on, up to some 4 MiB; all
//!          others are of that size
//! ```
//!
//! Vectors are added in blocks of 64.
//!
//! Invariants
//! 1. Codes and keys of a slot never change once it is there.
//! 2. A link names a slot that is there. A reader may see some links of a slot from before a change
//!    and some from after it: each of them was right at some time, and a slot that it cannot see
//!    yet is passed over.
//! 3. Whoever changes links of a slot holds the slot's lock.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};

use parking_lot::{Mutex, MutexGuard};

use crate::memory::{Slab, Slot, SlotLayout};
use crate::record::{Metric, encode, key};
use crate::search::Scratch;
use crate::{Found, Shape, link, search};

/// Slots of a block: so many vectors are added at once.
pub const BLOCK_SLOTS: usize = 64;

/// Most vectors of a graph.
pub(crate) const SLOTS_MAX: usize = 1 << 26;
/// Slots of the first slab, as a power of two.
const FIRST_BITS: u32 = 8;
/// Bytes of a slab that is not one of the first, about.
const SLAB_BYTES: usize = 4 << 20;
const PAGES: usize = 256;
const PAGE_SLABS: usize = 256;
/// Locks of slots: slots that share one wait for each other.
const LOCKS: usize = 1024;

const _: () =
    assert!((1usize << FIRST_BITS).is_multiple_of(BLOCK_SLOTS), "a block lies in one slab");

type Page = Box<[OnceLock<Slab>]>;

/// Vectors, each with links to some that are near.
#[derive(Debug)]
pub struct Neighbours {
    pub(crate) metric: Metric,
    dimensions: usize,
    pub(crate) shape: Shape,
    pub(crate) layout: SlotLayout,
    /// Slots of a slab that is not one of the first, as a power of two.
    slab_bits: u32,
    pages: Box<[OnceLock<Page>]>,
    locks: Box<[Mutex<()>]>,
    /// Blocks whose slots all have their links, or nearly: some before the last may lack them.
    linked: AtomicU32,
    /// Number of blocks; held while one is added.
    blocks: Mutex<u32>,
}

impl Slot<'_> {
    pub(crate) fn key(self) -> u64 {
        key(self.record)
    }
}

impl Neighbours {
    /// Without vectors.
    #[must_use]
    pub fn new(metric: Metric, dimensions: usize, shape: Shape) -> Self {
        let layout = SlotLayout::new(dimensions, (shape.degree + shape.degree / 2) as usize);
        let slab_bits = (SLAB_BYTES / layout.bytes).next_power_of_two().ilog2();
        Self {
            metric,
            dimensions,
            shape,
            layout,
            slab_bits: slab_bits.max(FIRST_BITS),
            pages: (0..PAGES).map(|_| OnceLock::new()).collect(),
            locks: (0..LOCKS).map(|_| Mutex::new(())).collect(),
            linked: AtomicU32::new(0),
            blocks: Mutex::new(0),
        }
    }

    /// Number of slots.
    #[must_use]
    pub fn len(&self) -> usize {
        *self.blocks.lock() as usize * BLOCK_SLOTS
    }

    /// True if there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Numbers of a vector.
    #[must_use]
    pub fn dimensions(&self) -> usize {
        self.dimensions
    }

    /// The measure that vectors are compared by.
    #[must_use]
    pub fn metric(&self) -> Metric {
        self.metric
    }

    /// Heap bytes.
    #[must_use]
    pub fn bytes(&self) -> usize {
        let _no_additions = self.blocks.lock();
        let pages = self.pages.iter().filter_map(OnceLock::get);
        let page = |page: &Page| {
            let slabs = page.iter().filter_map(OnceLock::get).map(Slab::bytes);
            slabs.sum::<usize>() + PAGE_SLABS * size_of::<OnceLock<Slab>>()
        };
        let locks = LOCKS * size_of::<Mutex<()>>();
        pages.map(page).sum::<usize>() + PAGES * size_of::<OnceLock<Page>>() + locks
    }

    /// The slab of a slot, and the place in it.
    #[inline]
    fn find(&self, slot: u32) -> (usize, usize) {
        if slot >> self.slab_bits != 0 {
            let firsts = (self.slab_bits - FIRST_BITS) as usize;
            let at = slot & ((1 << self.slab_bits) - 1);
            return (firsts + (slot >> self.slab_bits) as usize, at as usize);
        }
        match slot >> FIRST_BITS {
            0 => (0, slot as usize),
            above => {
                let slab = above.ilog2() + 1;
                (slab as usize, (slot - (1 << (FIRST_BITS + slab - 1))) as usize)
            }
        }
    }

    /// Slots of a slab.
    fn slots_of(&self, slab: usize) -> usize {
        let firsts = (self.slab_bits - FIRST_BITS) as usize;
        1 << (FIRST_BITS as usize + slab.saturating_sub(1).min(firsts))
    }

    #[inline]
    fn slab(&self, slab: usize) -> Option<&Slab> {
        self.pages.get(slab / PAGE_SLABS)?.get()?[slab % PAGE_SLABS].get()
    }

    /// A slot, if it is there.
    #[inline]
    pub(crate) fn slot(&self, slot: u32) -> Option<Slot<'_>> {
        let (slab, at) = self.find(slot);
        self.slab(slab)?.slot(at)
    }

    /// Brings the record of a slot closer, which will be read.
    #[inline]
    pub(crate) fn prefetch(&self, slot: u32) {
        let (slab, at) = self.find(slot);
        if let Some(slab) = self.slab(slab) {
            slab.prefetch(at);
        }
    }

    /// Brings the links of a slot closer.
    #[inline]
    pub(crate) fn prefetch_links(&self, slot: u32) {
        let (slab, at) = self.find(slot);
        if let Some(slab) = self.slab(slab) {
            slab.prefetch_links(at);
        }
    }

    /// Held to change the links of a slot.
    pub(crate) fn lock(&self, slot: u32) -> MutexGuard<'_, ()> {
        self.locks[slot as usize % LOCKS].lock()
    }

    /// The first slot with links from `slot` on in its block; the very first slot if it is `slot`.
    pub(crate) fn first_linked(&self, slot: u32) -> Option<u32> {
        self.slot(slot)?;
        let end = slot - slot % BLOCK_SLOTS as u32 + BLOCK_SLOTS as u32;
        let is_linked = |slot: &u32| self.slot(*slot).is_some_and(Slot::is_linked);
        let found = (slot..end).find(is_linked);
        if slot == 0 { Some(found.unwrap_or(0)) } else { found }
    }

    /// Number of slots that searches may begin at.
    pub(crate) fn linked(&self) -> u32 {
        self.linked.load(Ordering::Relaxed) * BLOCK_SLOTS as u32
    }

    /// Calls `f` with the key of every vector.
    pub fn for_each_key(&self, mut f: impl FnMut(u64)) {
        let slots = (0..self.len() as u32).filter_map(|slot| self.slot(slot));
        slots.for_each(|slot| f(slot.key()));
    }

    /// Adds [`BLOCK_SLOTS`] vectors, each with its key. Every vector is admitted by the metric
    /// ([`Metric::admits`]). A vector that is there already, with the same key, gets no links, and
    /// is found by the one that has them.
    ///
    /// Returns false, and adds nothing, if there is no room: there can be 2^26 vectors.
    ///
    /// Cost: for each vector about as much as ten searches.
    ///
    /// # Panics
    /// If there is another number of vectors, or one has another number of numbers.
    pub fn add(&self, vectors: &[(u64, &[f32])], scratch: &mut Scratch) -> bool {
        assert_eq!(vectors.len(), BLOCK_SLOTS, "whole blocks are added");
        let is_right = |(_, vector): &(u64, &[f32])| vector.len() == self.dimensions;
        assert!(vectors.iter().all(is_right), "all vectors have one length");
        let Some(first) = self.push(|at, record| encode(self.metric, vectors[at], record)) else {
            return false;
        };
        (first..first + BLOCK_SLOTS as u32).for_each(|slot| link::add(self, slot, scratch));
        self.set_linked(first);
        true
    }

    /// Notes that the block that begins with this slot has its links.
    pub(crate) fn set_linked(&self, first: u32) {
        self.linked.fetch_max(first / BLOCK_SLOTS as u32 + 1, Ordering::Relaxed);
    }

    /// Adds a block without links, whose records `write` writes; returns its first slot.
    pub(crate) fn push(&self, mut write: impl FnMut(usize, &mut [u8])) -> Option<u32> {
        let mut blocks = self.blocks.lock();
        let first = *blocks as usize * BLOCK_SLOTS;
        let (number, at) = self.find(first as u32);
        if first >= SLOTS_MAX || number >= PAGES * PAGE_SLABS {
            return None;
        }
        let page = self.pages[number / PAGE_SLABS]
            .get_or_init(|| (0..PAGE_SLABS).map(|_| OnceLock::new()).collect());
        let slab =
            page[number % PAGE_SLABS].get_or_init(|| Slab::new(self.layout, self.slots_of(number)));
        slab.fill(at + BLOCK_SLOTS, |slot, record| write(slot - at, record));
        *blocks += 1;
        Some(first as u32)
    }

    /// Finds up to `effort` vectors near `vector`, the nearest first as far as records of a byte a
    /// number tell. The more effort, the more of the nearest ones are among them; a search looks
    /// at some twenty vectors for each.
    ///
    /// # Panics
    /// If the vector has another number of numbers.
    pub fn search<'s>(
        &'s self,
        vector: &[f32],
        effort: usize,
        scratch: &'s mut Scratch,
    ) -> impl Iterator<Item = Found> {
        assert_eq!(vector.len(), self.dimensions, "all vectors have one length");
        scratch.sought.set(self.metric, vector);
        search::run(self, effort, scratch, None, false);
        self.found(scratch)
    }

    /// As [`search`](Self::search), and may [go on](Self::go_on) with more effort.
    ///
    /// # Panics
    /// If the vector has another number of numbers.
    pub fn begin<'s>(
        &'s self,
        vector: &[f32],
        effort: usize,
        scratch: &'s mut Scratch,
    ) -> impl Iterator<Item = Found> {
        assert_eq!(vector.len(), self.dimensions, "all vectors have one length");
        scratch.sought.set(self.metric, vector);
        search::run(self, effort, scratch, None, true);
        self.found(scratch)
    }

    /// Goes on with a search that [began](Self::begin) in this graph, with more effort: finds what
    /// it would have found with it from the start, or more.
    ///
    /// Cost: that of the effort that is new.
    pub fn go_on<'s>(
        &'s self,
        effort: usize,
        scratch: &'s mut Scratch,
    ) -> impl Iterator<Item = Found> {
        search::go_on(self, effort, scratch);
        self.found(scratch)
    }

    fn found<'s>(&'s self, scratch: &'s mut Scratch) -> impl Iterator<Item = Found> {
        scratch.near.iter_mut().filter_map(|met| {
            let key = self.slot(met.slot())?.key();
            Some(Found { distance: met.distance, key, is_new: met.give() })
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every slot has a place of its own, in a slab that is as large as that.
    #[test]
    fn slots_lie_one_behind_the_other() {
        for dimensions in [3, 128, 4096] {
            let neighbours = Neighbours::new(Metric::Cosine, dimensions, Shape::default());
            let mut expected = (0, 0);
            for slot in 0..200_000 {
                assert_eq!(neighbours.find(slot), expected, "{dimensions} {slot}");
                expected.1 += 1;
                if expected.1 == neighbours.slots_of(expected.0) {
                    expected = (expected.0 + 1, 0);
                }
            }
            let most = neighbours.slots_of(40) * neighbours.layout.bytes;
            assert!((SLAB_BYTES..=2 * SLAB_BYTES).contains(&most), "{most}");
        }
    }
}
