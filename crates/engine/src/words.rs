//! Cache-line aligned buffers of 32-bit words: the memory of bases, tails and hub chunks.
//!
//! Invariants: a buffer never moves and never changes size; whoever writes a word while readers may
//! hold the buffer keeps to the publication rule of its owner (see `adjacency/tail.rs`).
//! Cost: one allocation each; nothing is initialised unless asked for.
#![expect(
    unsafe_code,
    reason = "raw words shared between one latched writer and lock-free readers"
)]

use std::alloc::{Layout, alloc, alloc_zeroed, dealloc, handle_alloc_error};
use std::ptr::NonNull;

/// Alignment of every buffer: one cache line.
const ALIGN_BYTES: usize = 64;
/// Size of a large page.
const HUGE_PAGE_BYTES: usize = 2 << 20;

/// A fixed-size heap buffer of `u32` words, aligned to a cache line.
#[derive(Debug)]
pub(crate) struct WordBuf {
    ptr: NonNull<u32>,
    len: usize,
    align: usize,
}

// SAFETY: the buffer owns its memory; shared access goes through raw pointers whose users keep to
// the publication rules stated in `adjacency/tail.rs`.
unsafe impl Send for WordBuf {}
// SAFETY: as above.
unsafe impl Sync for WordBuf {}

impl WordBuf {
    fn layout_aligned(len: usize, align: usize) -> Layout {
        Layout::from_size_align(len * 4, align).expect("INVARIANT: a buffer fits in memory")
    }

    fn with_layout(len: usize, layout: Layout, zeroed: bool) -> Self {
        if len == 0 {
            return Self { ptr: NonNull::dangling(), len, align: layout.align() };
        }
        // SAFETY: the layout has a non-zero size.
        let p = unsafe { if zeroed { alloc_zeroed(layout) } else { alloc(layout) } };
        match NonNull::new(p.cast::<u32>()) {
            Some(ptr) => Self { ptr, len, align: layout.align() },
            None => handle_alloc_error(layout),
        }
    }

    /// A buffer of `len` words whose contents are not initialised.
    pub(crate) fn uninit(len: usize) -> Self {
        Self::with_layout(len, Self::layout_aligned(len, ALIGN_BYTES), false)
    }

    /// A buffer of `len` zero words.
    pub(crate) fn zeroed(len: usize) -> Self {
        Self::with_layout(len, Self::layout_aligned(len, ALIGN_BYTES), true)
    }

    /// A buffer of `len` words on 2 MiB pages, as far as it fills them and the system gives them;
    /// its contents are not initialised.
    pub(crate) fn huge(len: usize) -> Self {
        let buf = Self::with_layout(len, Self::layout_aligned(len, HUGE_PAGE_BYTES), false);
        let whole = buf.bytes() & !(HUGE_PAGE_BYTES - 1);
        if whole > 0 {
            // SAFETY: the range lies within the buffer; the advice changes the size of pages, not
            // their contents. That it cannot be followed is not an error.
            let _ = unsafe {
                rustix::mm::madvise(buf.as_ptr().cast(), whole, rustix::mm::Advice::LinuxHugepage)
            };
        }
        buf
    }

    /// Size in words.
    pub(crate) fn len(&self) -> usize {
        self.len
    }

    /// Size in bytes.
    pub(crate) fn bytes(&self) -> usize {
        self.len * 4
    }

    /// Start of the buffer.
    pub(crate) fn as_ptr(&self) -> *mut u32 {
        self.ptr.as_ptr()
    }

    /// Writes one word. Exclusive access: nobody else sees the buffer yet.
    #[inline]
    pub(crate) fn set(&mut self, at: usize, word: u32) {
        assert!(at < self.len, "write outside a word buffer");
        // SAFETY: in bounds, exclusively borrowed.
        unsafe { self.ptr.as_ptr().add(at).write(word) }
    }

    /// Copies `from` to the words starting at `at`, adding `shift` to each, wrapping around.
    #[inline]
    pub(crate) fn copy_shifted(&mut self, at: usize, from: &[u32], shift: u32) {
        assert!(
            from.len() <= self.len && at <= self.len - from.len(),
            "copy outside a word buffer"
        );
        for (i, word) in from.iter().enumerate() {
            // SAFETY: in bounds as asserted, exclusively borrowed.
            unsafe { self.ptr.as_ptr().add(at + i).write(word.wrapping_add(shift)) }
        }
    }

    /// Copies `from` to the words starting at `at`. Exclusive access: nobody else sees the buffer
    /// yet.
    #[inline]
    pub(crate) fn copy_from(&mut self, at: usize, from: &[u32]) {
        assert!(
            from.len() <= self.len && at <= self.len - from.len(),
            "copy outside a word buffer"
        );
        // SAFETY: in bounds, exclusively borrowed, so the ranges cannot overlap.
        unsafe {
            std::ptr::copy_nonoverlapping(from.as_ptr(), self.ptr.as_ptr().add(at), from.len());
        }
    }

    /// The words as a slice.
    ///
    /// # Safety
    /// Every word must be initialised and must not be written to while the slice lives.
    pub(crate) unsafe fn as_slice(&self) -> &[u32] {
        // SAFETY: initialised and unwritten by contract.
        unsafe { std::slice::from_raw_parts(self.ptr.as_ptr(), self.len) }
    }
}

impl Drop for WordBuf {
    fn drop(&mut self) {
        if self.len != 0 {
            let layout = Self::layout_aligned(self.len, self.align);
            // SAFETY: allocated in `with_layout` with the same layout, freed once.
            unsafe { dealloc(self.ptr.as_ptr().cast(), layout) }
        }
    }
}

/// Asks the CPU to bring the cache line of `p` closer. Any address is allowed.
#[inline(always)]
pub(crate) fn prefetch<T>(p: *const T) {
    #[cfg(target_arch = "x86_64")]
    {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        // SAFETY: a prefetch is a hint; it never faults, whatever the address.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(p.cast::<i8>()) }
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = p;
}
