//! The data file of the store, mapped for reading.
//!
//! Invariants
//! 1. A map never moves and never changes size; a file that has outgrown it gets another one.
//! 2. Bytes of a value that a live generation holds are never written to (see
//!    `mapped/generation.rs`), so a slice of them is like one of memory.
//!
//! What is mapped is a cache of the file: the system drops it when memory is short, and reads it
//! again when it is touched. The file must not be cut short by others while it is open; LMDB, which
//! maps it, too, asks for the same.
#![expect(unsafe_code, reason = "slices of a mapped file")]

use std::fs::File;
use std::ptr::NonNull;

/// Smallest map: growing files seldom need another one.
const MAP_BYTES_MIN: u64 = 1 << 30;

/// A mapped file, read-only.
#[derive(Debug)]
pub(crate) struct Map {
    start: NonNull<u8>,
    bytes: usize,
}

// SAFETY: the mapping is read-only and owned; it is unmapped once, by whoever drops it last.
unsafe impl Send for Map {}
// SAFETY: as above.
unsafe impl Sync for Map {}

impl Map {
    /// Maps `file`, with room for it to grow.
    pub(crate) fn of(file: &File, len: u64) -> std::io::Result<Self> {
        use rustix::mm::{MapFlags, ProtFlags, mmap};
        let bytes = len.max(MAP_BYTES_MIN).next_power_of_two();
        let bytes = usize::try_from(bytes).map_err(std::io::Error::other)?;
        // SAFETY: no address is asked for, so the system picks a range nothing else uses. Pages
        // past the end of the file are never touched: `slice` is given what lies within it.
        let start = unsafe {
            mmap(std::ptr::null_mut(), bytes, ProtFlags::READ, MapFlags::SHARED, file, 0)?
        };
        let start = NonNull::new(start.cast()).ok_or(std::io::ErrorKind::AddrNotAvailable)?;
        Ok(Self { start, bytes })
    }

    /// Whether a file of this length fits.
    pub(crate) fn holds(&self, len: u64) -> bool {
        len <= self.bytes as u64
    }

    /// `size` bytes from `at` on, which lie within the file.
    ///
    /// # Safety
    /// Nobody writes to them while the slice lives.
    pub(crate) unsafe fn slice(&self, at: u64, size: u64) -> &[u8] {
        let (at, size) = (at as usize, size as usize);
        assert!(at <= self.bytes && size <= self.bytes - at, "INVARIANT: within the file");
        // SAFETY: mapped, within the mapping, not written to by contract.
        unsafe { std::slice::from_raw_parts(self.start.as_ptr().add(at), size) }
    }

    /// Asks the system to read these bytes now, in one go, instead of page by page.
    pub(crate) fn will_need(&self, at: u64, size: u64) {
        const PAGE: u64 = 4096;
        let first = at / PAGE * PAGE;
        let end = (at + size).min(self.bytes as u64);
        let Some(len) = end.checked_sub(first) else { return };
        let start = self.start.as_ptr().wrapping_add(first as usize);
        // SAFETY: within the mapping; the advice changes no contents. That it cannot be followed is
        // not an error.
        let _ = unsafe {
            rustix::mm::madvise(start.cast(), len as usize, rustix::mm::Advice::WillNeed)
        };
    }
}

impl Drop for Map {
    fn drop(&mut self) {
        // SAFETY: exactly the range that was mapped, and no slice of it outlives self. If unmapping
        // fails, address space leaks and nothing else.
        let _ = unsafe { rustix::mm::munmap(self.start.as_ptr().cast(), self.bytes) };
    }
}
