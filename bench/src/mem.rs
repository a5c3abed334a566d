//! Memory the way the baselines need it: one large lazy region, bytes as numbers.
//!
//! All of `unsafe` in this crate is here, behind safe functions, but for opening LMDB
//! (`container/kv/lmdb.rs`).

#![expect(unsafe_code, reason = "mmap and slices of other types have no safe form")]

use rustix::mm::{MapFlags, ProtFlags};
use std::ffi::c_void;
use std::ops::{Deref, DerefMut};
use std::ptr::NonNull;
use telar_generate::mem::advise_huge;

/// Words asked for first when a [`Region`] is reserved: 64 GiB of address space.
const REGION_WORDS_MAX: usize = 1 << 33;

/// Words below which reserving is not worth trying: 64 MiB.
const REGION_WORDS_MIN: usize = 1 << 23;

/// Returns little-endian numbers as a slice, if they lie in memory where a slice of numbers may.
#[inline]
pub fn aligned_numbers(bytes: &[u8]) -> Option<&[u32]> {
    if cfg!(target_endian = "big") {
        return None;
    }
    // SAFETY: every pattern of 32 bits is a number.
    let (before, numbers, after) = unsafe { bytes.align_to::<u32>() };
    (before.is_empty() && after.is_empty()).then_some(numbers)
}

/// A large array of zeroed words that takes memory only where it was written. It never moves, so an
/// arena inside it grows without copying.
pub struct Region {
    start: NonNull<u64>,
    words: usize,
}

// SAFETY: a Region owns its mapping alone, and words may be read and written from any thread.
unsafe impl Send for Region {}
// SAFETY: shared access hands out only `&[u64]`.
unsafe impl Sync for Region {}

impl Region {
    /// Reserves as many words as the system allows, 64 GiB at most.
    ///
    /// # Errors
    /// The system's, if it does not even allow 64 MiB.
    pub fn reserve() -> std::io::Result<Self> {
        let mut words = REGION_WORDS_MAX;
        loop {
            // SAFETY: no address is asked for, so the system picks a range nothing else uses.
            let mapped = unsafe {
                rustix::mm::mmap_anonymous(
                    std::ptr::null_mut(),
                    words * size_of::<u64>(),
                    ProtFlags::READ | ProtFlags::WRITE,
                    MapFlags::PRIVATE | MapFlags::NORESERVE,
                )
            };
            match mapped {
                Ok(start) => {
                    let start = NonNull::new(start.cast::<u64>())
                        .expect("INVARIANT: mmap without an address never maps page 0");
                    advise_huge(start.as_ptr().cast(), words * size_of::<u64>());
                    return Ok(Self { start, words });
                }
                Err(_) if words > REGION_WORDS_MIN => words /= 2,
                Err(error) => return Err(error.into()),
            }
        }
    }
}

impl Deref for Region {
    type Target = [u64];

    fn deref(&self) -> &[u64] {
        // SAFETY: `start` is the page-aligned start of a mapping of `words` words that lives as
        // long as self; anonymous memory is zero, so every word is initialised; `&self` rules out
        // writers.
        unsafe { std::slice::from_raw_parts(self.start.as_ptr(), self.words) }
    }
}

impl DerefMut for Region {
    fn deref_mut(&mut self) -> &mut [u64] {
        // SAFETY: as in `deref`; `&mut self` rules out every other access.
        unsafe { std::slice::from_raw_parts_mut(self.start.as_ptr(), self.words) }
    }
}

impl Drop for Region {
    fn drop(&mut self) {
        // SAFETY: exactly the range that was mapped, and no slice of it outlives self. If unmapping
        // fails, address space leaks and nothing else.
        let _ = unsafe {
            rustix::mm::munmap(self.start.as_ptr().cast::<c_void>(), self.words * size_of::<u64>())
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn region_is_zero_and_keeps_what_is_written() {
        let mut region = Region::reserve().unwrap();
        let last = region.len() - 1;
        assert_eq!((region[0], region[last]), (0, 0));
        region[last] = 7;
        region[3] = 9;
        assert_eq!((region[3], region[4], region[last]), (9, 0, 7));
    }

    #[test]
    fn numbers_are_a_slice_where_they_are_aligned() {
        let words: Vec<u32> = (0..9u32).map(u32::to_le).collect();
        let bytes: Vec<u8> = (0..9u32).flat_map(u32::to_le_bytes).collect();
        let shifted: Vec<u8> = [0; 4].into_iter().chain(bytes.iter().copied()).collect();
        let start = shifted.as_ptr().align_offset(4);
        for at in start..start + 4 {
            let found = aligned_numbers(&shifted[at..at + 4]);
            assert_eq!(found.is_some(), at == start && cfg!(target_endian = "little"), "{at}");
        }
        if let Some(found) = aligned_numbers(&bytes) {
            assert_eq!(found, words);
        }
        assert_eq!(aligned_numbers(&bytes[..3]), None);
    }
}
