//! Heads: what readers go through to a segment.
//!
//! ```text
//!  heads[segment]   null              not loaded: never written to, or only in the store
//!                   base words | 1    nothing is unsettled: the base itself
//!                   version           something may be unsettled, or a list is a hub, or the
//!                                     columns of the base are not behind its neighbours
//! ```
//!
//! Invariants
//! 1. A reader loads a head once per list it reads.
//! 2. A head is replaced before what it led to is retired, and both only through the epoch.
#![expect(unsafe_code, reason = "pointers read without a latch, under an epoch pin")]

use std::alloc::{Layout, handle_alloc_error};
use std::marker::PhantomData;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicPtr, Ordering};

use crossbeam_epoch::Guard;

use super::SEGMENT_BITS;
use super::base::{Base, BaseRef};
use super::segment::SegVersion;

/// Segments a table can have: every `u32` vertex number.
const SEGMENTS_MAX: usize = 1 << (u32::BITS - SEGMENT_BITS);
const HEADS_BYTES: usize = SEGMENTS_MAX * size_of::<HeadPlace>();
/// Set in a head that leads to the words of a base.
const SETTLED: usize = 1;

const _: () = assert!(align_of::<u32>() > SETTLED && align_of::<SegVersion>() > SETTLED);

/// The head of one segment.
#[derive(Debug)]
#[repr(transparent)]
pub(crate) struct HeadPlace(AtomicPtr<u32>);

impl HeadPlace {
    /// Makes readers go to `version`, or to its base where nothing is unsettled. The caller keeps
    /// both alive until no reader can have them.
    pub(crate) fn lead_to(&self, version: &SegVersion) {
        let head = if version.is_clean() && version.base.is_whole() {
            version.rows().offset_addr(0).wrapping_byte_add(SETTLED)
        } else {
            (&raw const *version).cast()
        };
        // ORDERING: release pairs with the acquire in `PinnedHeads::of`.
        self.0.store(head.cast_mut(), Ordering::Release);
    }

    /// Whether readers have to look the segment up in the store.
    pub(crate) fn is_null(&self) -> bool {
        // ORDERING: acquire, as readers load it.
        self.0.load(Ordering::Acquire).is_null()
    }

    /// Makes readers look the segment up in the store.
    pub(crate) fn unload(&self) {
        self.0.store(std::ptr::null_mut(), Ordering::Release);
    }

    /// Makes readers go to `base`, which the caller keeps alive as long as the heads.
    pub(crate) fn lead_to_base(&self, base: &Base) {
        let head = base.words().as_ptr().wrapping_byte_add(SETTLED);
        self.0.store(head.cast_mut(), Ordering::Release);
    }
}

/// The heads of a table, densely.
///
/// PERF: scan_random_order, search: a settled list is found by one load from a small array, then
/// its offsets and its rows: one load more than in a single CSR. All 2^22 heads are reserved at
/// once (32 MiB of address space); pages of it become memory only where a segment exists.
///
/// Mapped, not allocated: an allocator would clear memory that it hands out a second time, and so
/// touch all of it.
pub(crate) struct Heads(NonNull<HeadPlace>);

// SAFETY: owns its places, which are atomic.
unsafe impl Send for Heads {}
// SAFETY: as above.
unsafe impl Sync for Heads {}

impl std::fmt::Debug for Heads {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Heads")
    }
}

impl Heads {
    pub(crate) fn new() -> Self {
        use rustix::mm::{MapFlags, ProtFlags, mmap_anonymous};
        let (prot, flags) = (ProtFlags::READ | ProtFlags::WRITE, MapFlags::PRIVATE);
        // SAFETY: no address is asked for, so the system picks a range nothing else uses.
        let start = unsafe { mmap_anonymous(std::ptr::null_mut(), HEADS_BYTES, prot, flags) };
        match start.ok().and_then(|start| NonNull::new(start.cast())) {
            // A head of zero bytes is a null pointer.
            Some(first) => Self(first),
            None => handle_alloc_error(Layout::new::<[HeadPlace; SEGMENTS_MAX]>()),
        }
    }

    #[inline(always)]
    fn places(&self) -> &[HeadPlace] {
        // SAFETY: mapped and zero when made, only ever accessed as atomics, unmapped when dropped.
        unsafe { std::slice::from_raw_parts(self.0.as_ptr(), SEGMENTS_MAX) }
    }

    /// The head of a segment.
    ///
    /// # Panics
    /// If no vertex can be in it.
    #[inline]
    pub(crate) fn place(&self, segment: u32) -> &HeadPlace {
        self.places().get(segment as usize).expect("INVARIANT: every vertex has a segment")
    }

    /// The head of a segment, if a vertex can be in it.
    #[inline]
    pub(crate) fn get(&self, segment: u32) -> Option<&HeadPlace> {
        self.places().get(segment as usize)
    }

    /// Every head, to be read as long as `pinned` pins the epoch.
    #[inline(always)]
    pub(crate) fn pinned<'g>(&'g self, _pinned: &'g Guard) -> PinnedHeads<'g> {
        PinnedHeads { first: self.0.as_ptr().cast_const(), pinned: PhantomData }
    }
}

impl Drop for Heads {
    fn drop(&mut self) {
        // SAFETY: exactly the range that was mapped; no reader has a head of it any more. If
        // unmapping fails, address space leaks and nothing else.
        let _ = unsafe { rustix::mm::munmap(self.0.as_ptr().cast(), HEADS_BYTES) };
    }
}

/// The head of one segment, as loaded. Neither settled nor written: the segment is not loaded.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Head<'g> {
    raw: *const u32,
    pinned: PhantomData<&'g Guard>,
}

impl<'g> Head<'g> {
    /// The base, if nothing in the segment is unsettled.
    #[inline(always)]
    pub(crate) fn settled(self) -> Option<BaseRef<'g>> {
        // SAFETY: a marked head is the words of a base, plus the mark; bases are retired with their
        // version, through the epoch only, which is pinned for `'g`.
        let base = || unsafe { BaseRef::at(self.raw.wrapping_byte_sub(SETTLED)) };
        (self.raw.addr() & SETTLED != 0).then(base)
    }

    /// The version, if something may be unsettled, or a list is a hub.
    #[inline(always)]
    pub(crate) fn written(self) -> Option<&'g SegVersion> {
        if self.raw.addr() & SETTLED != 0 {
            return None;
        }
        // SAFETY: an unmarked head is null or a version; those, too, are retired through the epoch.
        unsafe { self.raw.cast::<SegVersion>().as_ref() }
    }

    /// Whether the segment is not loaded.
    #[inline(always)]
    pub(crate) fn is_null(self) -> bool {
        self.raw.is_null()
    }

    /// The base of a settled or written segment.
    #[inline(always)]
    pub(crate) fn base(self) -> Option<BaseRef<'g>> {
        self.settled().or_else(|| self.written().map(SegVersion::rows))
    }
}

/// Every segment's head, under an epoch pin.
#[derive(Debug, Clone, Copy)]
pub(crate) struct PinnedHeads<'g> {
    first: *const HeadPlace,
    pinned: PhantomData<&'g Heads>,
}

// SAFETY: stands for `&Heads`, whose places are atomic.
unsafe impl Send for PinnedHeads<'_> {}
// SAFETY: as above.
unsafe impl Sync for PinnedHeads<'_> {}

impl<'g> PinnedHeads<'g> {
    /// Whether these are `heads`, and not those of a past table.
    pub(crate) fn are(self, heads: &Heads) -> bool {
        std::ptr::eq(self.first, heads.0.as_ptr())
    }

    /// The head of the segment of vertex `v`.
    #[inline(always)]
    pub(crate) fn of(self, v: u32) -> Head<'g> {
        // SAFETY: there is a head for the segment of every `u32`; the heads are alive for `'g`.
        let place = unsafe { &*self.first.add((v >> SEGMENT_BITS) as usize) };
        // ORDERING: acquire pairs with the release in `HeadPlace::lead_to`.
        Head { raw: place.0.load(Ordering::Acquire), pinned: PhantomData }
    }
}
