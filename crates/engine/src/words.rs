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
use std::ffi::c_void;
use std::ptr::NonNull;

/// Alignment of every buffer: one cache line.
const ALIGN_BYTES: usize = 64;
/// Size of a large page.
const HUGE_PAGE_BYTES: usize = 2 << 20;
/// A buffer's last large page may waste this share of the buffer: one in 32.
const HUGE_WASTE_SHARE: usize = 32;

/// Words that short copies of [`WordBuf::splice`] move at once.
const SPLICE_STEP: usize = 8;
/// Words behind what it writes that [`WordBuf::splice`] wants.
pub(crate) const SPLICE_SLACK: usize = SPLICE_STEP;

/// A change to a sequence of words.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Cut {
    /// The word that it is at, or before; at most their number.
    pub(crate) at: u32,
    /// Whether that word goes.
    pub(crate) skips: bool,
    /// Whether `word` comes.
    pub(crate) puts: bool,
    /// What comes.
    pub(crate) word: u32,
}

/// A fixed-size heap buffer of `u32` words, aligned to a cache line.
#[derive(Debug)]
pub(crate) struct WordBuf {
    ptr: NonNull<u32>,
    len: usize,
    memory: Memory,
}

/// Where a buffer's memory is from.
#[derive(Debug, Clone, Copy)]
enum Memory {
    Heap,
    /// A mapping of its own.
    Mapped {
        /// What to unmap.
        bytes: usize,
        /// What of it takes memory: the words, and the rest of the last large page.
        resident: usize,
    },
}

/// Maps `bytes` zero bytes, a multiple of a large page and aligned to one; `None` if the system
/// refuses.
fn map_aligned(bytes: usize) -> Option<NonNull<c_void>> {
    use rustix::mm::{MapFlags, ProtFlags, mmap_anonymous, munmap};
    if bytes == 0 {
        return None;
    }
    let (prot, flags) = (ProtFlags::READ | ProtFlags::WRITE, MapFlags::PRIVATE);
    // SAFETY: no address is asked for, so the system picks a range nothing else uses.
    let start =
        unsafe { mmap_anonymous(std::ptr::null_mut(), bytes + HUGE_PAGE_BYTES, prot, flags) };
    let start = start.ok()?;
    let before = start.align_offset(HUGE_PAGE_BYTES);
    let aligned = start.wrapping_byte_add(before);
    let behind = aligned.wrapping_byte_add(bytes);
    for (at, len) in [(start, before), (behind, HUGE_PAGE_BYTES - before)] {
        if len > 0 {
            // SAFETY: the margins of the mapping just made, which nobody uses. If unmapping fails,
            // address space leaks and nothing else.
            let _ = unsafe { munmap(at, len) };
        }
    }
    NonNull::new(aligned)
}

// SAFETY: the buffer owns its memory; shared access goes through raw pointers whose users keep to
// the publication rules stated in `adjacency/tail.rs`.
unsafe impl Send for WordBuf {}
// SAFETY: as above.
unsafe impl Sync for WordBuf {}

impl WordBuf {
    fn layout(len: usize) -> Layout {
        Layout::from_size_align(len * 4, ALIGN_BYTES).expect("INVARIANT: a buffer fits in memory")
    }

    fn on_heap(len: usize, zeroed: bool) -> Self {
        if len == 0 {
            return Self { ptr: NonNull::dangling(), len, memory: Memory::Heap };
        }
        let layout = Self::layout(len);
        // SAFETY: the layout has a non-zero size.
        let p = unsafe { if zeroed { alloc_zeroed(layout) } else { alloc(layout) } };
        match NonNull::new(p.cast::<u32>()) {
            Some(ptr) => Self { ptr, len, memory: Memory::Heap },
            None => handle_alloc_error(layout),
        }
    }

    /// A buffer of `len` words whose contents are not initialised.
    pub(crate) fn uninit(len: usize) -> Self {
        Self::on_heap(len, false)
    }

    /// A buffer of `len` zero words.
    pub(crate) fn zeroed(len: usize) -> Self {
        Self::on_heap(len, true)
    }

    /// A buffer of `len` zero words on 2 MiB pages, as far as the system gives them.
    ///
    /// Mapped for this buffer alone: an allocator would hand out memory that was touched before,
    /// whose pages stay small. A rest of less than a large page becomes one only if that wastes
    /// less than 1/[`HUGE_WASTE_SHARE`] of the buffer.
    pub(crate) fn huge(len: usize) -> Self {
        let bytes = len * 4;
        let rounded = bytes.next_multiple_of(HUGE_PAGE_BYTES);
        let whole = if (rounded - bytes) * HUGE_WASTE_SHARE <= bytes {
            rounded
        } else {
            rounded - HUGE_PAGE_BYTES
        };
        let Some(start) = map_aligned(rounded) else {
            return Self::zeroed(len);
        };
        if whole > 0 {
            // SAFETY: the range lies within the mapping; the advice changes the size of pages, not
            // their contents. That it cannot be followed is not an error.
            let _ = unsafe {
                rustix::mm::madvise(start.as_ptr(), whole, rustix::mm::Advice::LinuxHugepage)
            };
        }
        telar_graph::heap::grew(rounded);
        Self {
            ptr: start.cast(),
            len,
            memory: Memory::Mapped { bytes: rounded, resident: whole.max(bytes) },
        }
    }

    /// Size in words.
    pub(crate) fn len(&self) -> usize {
        self.len
    }

    /// Bytes of memory taken.
    pub(crate) fn bytes(&self) -> usize {
        match self.memory {
            Memory::Heap => self.len * 4,
            Memory::Mapped { resident, .. } => resident,
        }
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

    /// Copies `from`, with `cuts` made, to the words starting at `at`; returns how many they are.
    /// May write to [`SPLICE_SLACK`] words behind them.
    ///
    /// PERF: bench history: a few words more than asked for are copied faster than as many.
    ///
    /// # Panics
    /// If cuts do not ascend, lie outside of `from`, or make it longer than there is room.
    pub(crate) fn splice(
        &mut self,
        at: usize,
        from: &[u32],
        cuts: impl Iterator<Item = Cut>,
    ) -> usize {
        let (mut read, mut out) = (0, at);
        for cut in cuts {
            let cut_at = cut.at as usize;
            assert!(read <= cut_at && cut_at + usize::from(cut.skips) <= from.len(), "a cut's row");
            let kept = cut_at - read;
            if kept <= SPLICE_STEP
                && read + SPLICE_STEP <= from.len()
                && out + SPLICE_STEP <= self.len
            {
                // SAFETY: in bounds as asked, and exclusively borrowed, so the ranges cannot
                // overlap.
                unsafe {
                    let to = self.ptr.as_ptr().add(out);
                    std::ptr::copy_nonoverlapping(from.as_ptr().add(read), to, SPLICE_STEP);
                }
            } else {
                self.copy_from(out, &from[read..cut_at]);
            }
            out += kept;
            self.set(out, cut.word);
            out += usize::from(cut.puts);
            read = cut_at + usize::from(cut.skips);
        }
        self.copy_from(out, &from[read..]);
        out + from.len() - read - at
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
        match self.memory {
            Memory::Heap if self.len == 0 => {}
            // SAFETY: allocated in `on_heap` with the same layout, freed once.
            Memory::Heap => unsafe { dealloc(self.ptr.as_ptr().cast(), Self::layout(self.len)) },
            Memory::Mapped { bytes, .. } => {
                telar_graph::heap::shrank(bytes);
                // SAFETY: exactly the range that was mapped, and no slice of it outlives self. If
                // unmapping fails, address space leaks and nothing else.
                let _ = unsafe { rustix::mm::munmap(self.ptr.as_ptr().cast(), bytes) };
            }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn splicing_is_what_inserting_and_removing_one_by_one_gives() {
        let mut state = 11u64;
        let mut below = |n: usize| {
            state = state.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(1);
            (state >> 33) as usize % n
        };
        for round in 0..2000 {
            let from: Vec<u32> = (0..below(200) as u32).collect();
            let (mut cuts, mut expected, mut read) = (Vec::new(), Vec::new(), 0);
            while below(8) > 0 && read <= from.len() {
                let at = (read + below([2, 8, 40][round % 3])).min(from.len());
                expected.extend_from_slice(&from[read..at]);
                let skips = at < from.len() && below(2) == 0;
                let (puts, word) = (below(2) == 0, 1000 + below(1000) as u32);
                expected.extend(puts.then_some(word));
                cuts.push(Cut { at: at as u32, skips, puts, word });
                read = at + usize::from(skips);
            }
            expected.extend_from_slice(&from[read..]);
            let mut buf = WordBuf::zeroed(3 + expected.len() + SPLICE_SLACK);
            let written = buf.splice(3, &from, cuts.iter().copied());
            assert_eq!(written, expected.len());
            // SAFETY: zeroed when made, and written to no more.
            let words = unsafe { buf.as_slice() };
            assert_eq!(&words[3..3 + written], expected);
            assert_eq!(words[..3], [0; 3]);
        }
    }
}
