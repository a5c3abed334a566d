//! Slots of vectors in one piece of memory, on large pages where it is large enough.
//!
//! ```text
//!  slab   slots, one behind the other, each a multiple of 64 bytes
//!
//!  slot   codes      a byte a number, padded with zeros to 32     fixed: written
//!         scale f32 · square f32 · key u64                        before it is shown
//!         links in force u32 · links, room x u32                  atomics, from then on
//!         zeros
//! ```
//!
//! Invariants
//! 1. The fixed part of a slot is written by [`Slab::fill`] alone, before `filled` counts the slot,
//!    and never again. Whoever reads it has seen the slot counted.
//! 2. The rest of a slot is only ever touched as atomics.

#![expect(unsafe_code, reason = "bytes that do not change lie beside words that do")]

use std::alloc::{Layout, alloc, dealloc, handle_alloc_error};
use std::ptr::NonNull;
use std::slice;
use std::sync::atomic::{AtomicU32, Ordering};

use parking_lot::Mutex;

use crate::record::{HEAD, codes};

/// A cache line: slots begin at one.
const LINE: usize = 64;
/// Size of a large page.
const LARGE_PAGE: usize = 2 << 20;

const _: () = assert!(size_of::<AtomicU32>() == 4 && HEAD.is_multiple_of(4));

/// Sizes of the parts of a slot.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct SlotLayout {
    /// Bytes that do not change.
    pub(crate) fixed: usize,
    /// Room for links.
    pub(crate) room: usize,
    /// Bytes of a slot.
    pub(crate) bytes: usize,
}

impl SlotLayout {
    /// Of slots for vectors of so many numbers and so many links.
    pub(crate) fn new(dimensions: usize, room: usize) -> Self {
        let fixed = codes(dimensions) + HEAD;
        Self { fixed, room, bytes: (fixed + 4 + 4 * room).next_multiple_of(LINE) }
    }
}

/// A slot that is there.
#[derive(Clone, Copy)]
pub(crate) struct Slot<'a> {
    /// Codes and head (`record.rs`).
    pub(crate) record: &'a [u8],
    count: &'a AtomicU32,
    links: &'a [AtomicU32],
}

impl<'a> Slot<'a> {
    /// The links in force.
    #[inline]
    pub(crate) fn links(self) -> impl Iterator<Item = u32> + 'a {
        // ORDERING: acquire pairs with the release in `set_count`: that many were written.
        let count = self.count.load(Ordering::Acquire) as usize;
        self.links[..count.min(self.links.len())].iter().map(|link| link.load(Ordering::Relaxed))
    }

    /// True if it has links.
    pub(crate) fn is_linked(self) -> bool {
        self.count.load(Ordering::Relaxed) != 0
    }

    fn set_count(self, count: usize) {
        self.count.store(count as u32, Ordering::Release);
    }

    /// Replaces the links. The caller holds the slot's lock.
    pub(crate) fn set_links(self, links: &[u32]) {
        self.links.iter().zip(links).for_each(|(to, link)| to.store(*link, Ordering::Relaxed));
        self.set_count(links.len().min(self.links.len()));
    }

    /// Adds a link if there is room. The caller holds the slot's lock.
    pub(crate) fn push_link(self, link: u32) -> bool {
        let count = self.count.load(Ordering::Relaxed) as usize;
        if count >= self.links.len() {
            return false;
        }
        self.links[count].store(link, Ordering::Relaxed);
        self.set_count(count + 1);
        true
    }
}

/// Slots, some of which are filled.
#[derive(Debug)]
pub(crate) struct Slab {
    start: NonNull<u8>,
    memory: Layout,
    layout: SlotLayout,
    /// Slots that may be read.
    filled: AtomicU32,
    /// Held to fill some.
    filling: Mutex<()>,
}

// SAFETY: the slab owns its memory. What is shared of it does not change any more, or is atomics
// (the invariants of the module).
unsafe impl Send for Slab {}
// SAFETY: as above.
unsafe impl Sync for Slab {}

impl Slab {
    /// With room for so many slots.
    pub(crate) fn new(layout: SlotLayout, slots: usize) -> Self {
        let bytes = slots * layout.bytes;
        let align = if bytes >= LARGE_PAGE { LARGE_PAGE } else { LINE };
        let memory = Layout::from_size_align(bytes, align);
        let memory = memory.expect("INVARIANT: a slab is some megabytes");
        assert!(bytes > 0, "INVARIANT: a slab has slots, which have bytes");
        // SAFETY: the layout has a size that is not zero.
        let start = unsafe { alloc(memory) };
        let Some(start) = NonNull::new(start) else { handle_alloc_error(memory) };
        // Before the pages are touched first.
        advise(start, bytes / LARGE_PAGE * LARGE_PAGE);
        // SAFETY: as many bytes as were allocated.
        unsafe { start.as_ptr().write_bytes(0, bytes) };
        Self { start, memory, layout, filled: AtomicU32::new(0), filling: Mutex::new(()) }
    }

    /// Bytes of memory.
    pub(crate) fn bytes(&self) -> usize {
        self.memory.size()
    }

    /// Fills the next slots, up to `end`: `write` gets the number of each and its fixed part, all
    /// zeros.
    pub(crate) fn fill(&self, end: usize, mut write: impl FnMut(usize, &mut [u8])) {
        let _one_at_a_time = self.filling.lock();
        let first = self.filled.load(Ordering::Relaxed) as usize;
        assert!(end * self.layout.bytes <= self.memory.size(), "a slab is filled to its end only");
        for at in first..end {
            // SAFETY: the slot lies within the memory, as was asserted; nobody reads it before
            // `filled` counts it, and nobody else fills it meanwhile.
            let fixed = unsafe {
                let start = self.start.as_ptr().add(at * self.layout.bytes);
                slice::from_raw_parts_mut(start, self.layout.fixed)
            };
            write(at, fixed);
        }
        // ORDERING: release pairs with the acquire in `slot`: fixed parts are written.
        self.filled.store(end.max(first) as u32, Ordering::Release);
    }

    /// A slot, if it is filled.
    #[inline]
    pub(crate) fn slot(&self, at: usize) -> Option<Slot<'_>> {
        // ORDERING: acquire pairs with the release in `fill`.
        if at >= self.filled.load(Ordering::Acquire) as usize {
            return None;
        }
        let SlotLayout { fixed, room, bytes } = self.layout;
        // SAFETY: slots that are filled lie within the memory, `bytes` for each. The fixed part
        // does not change any more; the rest is initialised, aligned to 4 as `fixed` and `bytes`
        // are multiples of 4, and only ever touched as atomics.
        unsafe {
            let start = self.start.as_ptr().add(at * bytes);
            let words = start.add(fixed).cast::<AtomicU32>();
            Some(Slot {
                record: slice::from_raw_parts(start, fixed),
                count: &*words,
                links: slice::from_raw_parts(words.add(1), room),
            })
        }
    }

    /// Brings the fixed part of a slot closer, which will be read.
    #[inline]
    pub(crate) fn prefetch(&self, at: usize) {
        let start = self.start.as_ptr().wrapping_add(at * self.layout.bytes);
        crate::sums::prefetch(start, self.layout.fixed);
    }

    /// Brings the links of a slot closer, which will be read.
    #[inline]
    pub(crate) fn prefetch_links(&self, at: usize) {
        let SlotLayout { fixed, room, bytes } = self.layout;
        let start = self.start.as_ptr().wrapping_add(at * bytes + fixed);
        crate::sums::prefetch(start, 4 + 4 * room);
    }
}

impl Drop for Slab {
    fn drop(&mut self) {
        // SAFETY: allocated with this layout, and nobody has a reference any more.
        unsafe { dealloc(self.start.as_ptr(), self.memory) };
    }
}

/// Asks for large pages.
///
/// PERF: crates/vector/examples/rate.rs: a search touches some three thousand slots that lie
/// anywhere, each another page of 4 KiB.
fn advise(start: NonNull<u8>, bytes: usize) {
    #[cfg(target_os = "linux")]
    if bytes > 0 {
        // SAFETY: the range lies within memory just allocated; the advice changes the size of
        // pages, not their contents. That it cannot be followed is not an error.
        let _ = unsafe {
            rustix::mm::madvise(start.as_ptr().cast(), bytes, rustix::mm::Advice::LinuxHugepage)
        };
    }
    #[cfg(not(target_os = "linux"))]
    let _ = (start, bytes);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slots_are_there_once_they_are_filled() {
        let layout = SlotLayout::new(33, 5);
        assert_eq!((layout.fixed, layout.bytes), (64 + 16, 128));
        let slab = Slab::new(layout, 6);
        assert!(slab.slot(0).is_none());
        slab.fill(2, |at, fixed| fixed.fill(at as u8 + 1));
        slab.fill(3, |at, fixed| fixed[79] = at as u8);
        assert!(slab.slot(3).is_none());
        let slots: Vec<Slot<'_>> = (0..3).filter_map(|at| slab.slot(at)).collect();
        assert_eq!(slots[1].record, [2; 80]);
        assert_eq!((slots[2].record[0], slots[2].record[79]), (0, 2));
        slots[1].set_links(&[7, 8]);
        assert!(slots[1].push_link(9) && slots[1].is_linked() && !slots[0].is_linked());
        assert_eq!(slots[1].links().collect::<Vec<_>>(), [7, 8, 9]);
        assert!((10..12).all(|link| slots[1].push_link(link)) && !slots[1].push_link(12));
        // What is beside them stays.
        assert_eq!((slots[2].links().count(), slots[2].record[0]), (0, 0));
        slots[1].set_links(&[]);
        assert_eq!(slots[1].links().count(), 0);
    }

    #[test]
    fn slabs_of_large_pages_begin_at_one() {
        let slab = Slab::new(SlotLayout::new(1024, 48), 4096);
        assert_eq!(slab.start.as_ptr().align_offset(LARGE_PAGE), 0);
        slab.fill(4096, |at, fixed| fixed[0] = at as u8);
        assert_eq!(slab.slot(4095).map(|slot| slot.record[0]), Some(0xFF));
    }
}
