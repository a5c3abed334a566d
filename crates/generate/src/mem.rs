//! Memory of large arrays: prefetch hints and huge pages, behind safe functions.
//!
//! All of `unsafe` in this crate is here. Huge pages are advice: a system that does not give them
//! only slows the measurement down (fresh scans by a half).

#![expect(unsafe_code, reason = "prefetch instructions and madvise have no safe form")]

use rustix::mm::Advice;
use std::ffi::c_void;

/// Vertices between the prefetch hint and the read in every scan of the benchmarks (8-16 measured
/// best).
pub const PREFETCH_AHEAD: usize = 8;

/// The page size that madvise wants its addresses rounded to; larger pages divide by it as well.
const PAGE_BYTES: usize = 4096;

/// Hints that the cache line at `address` will be read soon. Any address will do.
#[inline(always)]
pub fn prefetch<T>(address: *const T) {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: a prefetch neither faults nor changes anything a program can see, whatever the
    // address; SSE is part of every x86-64.
    unsafe {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        _mm_prefetch::<_MM_HINT_T0>(address.cast());
    }
    #[cfg(target_arch = "aarch64")]
    // SAFETY: PRFM neither faults nor changes registers, flags or memory, whatever the address.
    unsafe {
        std::arch::asm!(
            "prfm pldl1keep, [{0}]",
            in(reg) address,
            options(nostack, preserves_flags, readonly)
        );
    }
    #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
    let _ = address;
}

/// Returns an empty vector with room for `capacity` items, for which huge pages were asked before
/// its first touch.
pub fn huge_vec<T>(capacity: usize) -> Vec<T> {
    let mut items: Vec<T> = Vec::with_capacity(capacity);
    let spare = items.spare_capacity_mut();
    advise_huge(spare.as_mut_ptr().cast(), size_of_val(spare));
    items
}

/// Asks for huge pages under the whole pages of `bytes` bytes at `start`. Any range will do.
pub fn advise_huge(start: *mut u8, bytes: usize) {
    let skip = start.align_offset(PAGE_BYTES);
    let whole = bytes.saturating_sub(skip) / PAGE_BYTES * PAGE_BYTES;
    if whole == 0 {
        return;
    }
    // SAFETY: this advice changes the size of pages, not their contents or access, whoever owns
    // the range. An error means no huge pages, which is allowed.
    let _ = unsafe {
        rustix::mm::madvise(start.wrapping_add(skip).cast::<c_void>(), whole, Advice::LinuxHugepage)
    };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn huge_vectors_hold_what_is_pushed() {
        for capacity in [0, 1, 1000, 3_000_000] {
            let mut items = huge_vec(capacity);
            items.extend(0..capacity as u64);
            assert!(items.capacity() >= capacity && items.iter().copied().eq(0..capacity as u64));
        }
    }

    #[test]
    fn any_address_may_be_prefetched() {
        prefetch(std::ptr::null::<u8>());
        prefetch(std::ptr::without_provenance::<u64>(usize::MAX));
    }
}
