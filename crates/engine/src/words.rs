//! Cache-line aligned buffers of 32-bit words: the memory of bases, tails and hub chunks.
//!
//! Invariants: a buffer never moves and never changes size; whoever writes a word while readers may
//! hold the buffer keeps to the publication rule of its owner (see `adjacency/tail.rs`).
//! Cost: one allocation each; nothing is initialised unless asked for.
#![expect(unsafe_code, reason = "raw words shared between one latched writer and lock-free readers")]

use std::alloc::{Layout, alloc, alloc_zeroed, dealloc, handle_alloc_error};
use std::ptr::NonNull;

/// Alignment of every buffer: one cache line.
const ALIGN_BYTES: usize = 64;

/// A fixed-size heap buffer of `u32` words, aligned to a cache line.
#[derive(Debug)]
pub(crate) struct WordBuf {
    ptr: NonNull<u32>,
    len: usize,
}

// SAFETY: the buffer owns its memory; shared access goes through raw pointers whose users keep to the
// publication rules stated in `adjacency/tail.rs`.
unsafe impl Send for WordBuf {}
// SAFETY: as above.
unsafe impl Sync for WordBuf {}

impl WordBuf {
    fn layout(len: usize) -> Layout {
        Layout::from_size_align(len * 4, ALIGN_BYTES).expect("INVARIANT: a buffer fits in memory")
    }

    /// A buffer of `len` words whose contents are not initialised.
    pub(crate) fn uninit(len: usize) -> Self {
        if len == 0 {
            return Self { ptr: NonNull::dangling(), len };
        }
        // SAFETY: the layout has a non-zero size.
        let p = unsafe { alloc(Self::layout(len)) };
        Self::from_alloc(p, len)
    }

    /// A buffer of `len` zero words.
    pub(crate) fn zeroed(len: usize) -> Self {
        if len == 0 {
            return Self { ptr: NonNull::dangling(), len };
        }
        // SAFETY: the layout has a non-zero size.
        let p = unsafe { alloc_zeroed(Self::layout(len)) };
        Self::from_alloc(p, len)
    }

    fn from_alloc(p: *mut u8, len: usize) -> Self {
        match NonNull::new(p.cast::<u32>()) {
            Some(ptr) => Self { ptr, len },
            None => handle_alloc_error(Self::layout(len)),
        }
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

    /// Copies `from` to the words starting at `at`. Exclusive access: nobody else sees the buffer yet.
    #[inline]
    pub(crate) fn copy_from(&mut self, at: usize, from: &[u32]) {
        assert!(from.len() <= self.len && at <= self.len - from.len(), "copy outside a word buffer");
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
            // SAFETY: allocated in `from_alloc` with the same layout, freed once.
            unsafe { dealloc(self.ptr.as_ptr().cast(), Self::layout(self.len)) }
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
