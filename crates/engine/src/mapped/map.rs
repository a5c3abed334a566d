//! The data file of the store, mapped for reading.
//!
//! Invariants
//! 1. A map never moves and never changes size; a file that has outgrown it gets another one.
//! 2. Bytes of a value that a live generation holds are never written to (see
//!    `mapped/generation.rs`), so a slice of them is like one of memory.
//!
//! The system is told that reads are random: it would read up to megabytes around each touched
//! page, which evict what was worth keeping. Whoever is going to read all of a value that memory
//! does not hold reads a copy of it from the file (`InPlace::read_out`): then the system notices
//! reads in order and is ahead of them, and a page that is in no page table is let go at once when
//! memory is short.
//!
//! What is mapped is a cache of the file: the system drops it when memory is short, and reads it
//! again when it is touched. The file must not be cut short by others while it is open; LMDB, which
//! maps it, too, asks for the same.
#![expect(unsafe_code, reason = "slices of a mapped file")]

use std::cell::RefCell;
use std::fs::File;
use std::io::IoSliceMut;
use std::ops::Range;
use std::os::unix::fs::FileExt;
use std::ptr::NonNull;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Smallest map: growing files seldom need another one.
const MAP_BYTES_MIN: u64 = 1 << 30;

/// Most memory that a thread keeps to read values into.
const SCRATCH_BYTES_MAX: usize = 1 << 20;

/// What is read once and in order is dropped from the cache in parts of this size.
///
/// PERF: `telar bench memory`, next scan: 0.44 to 0.50 of plain reads without, 0.77 with;
/// left to itself, the system keeps what it should not and reads too little ahead.
const DROP_BYTES: u64 = 4 << 20;

thread_local! {
    /// What a thread reads values into, while nobody has it.
    static SCRATCH: RefCell<Vec<u32>> = const { RefCell::new(Vec::new()) };
    /// What it read in order, and up to where it dropped that: offsets in the file.
    static PASSED: RefCell<(Range<u64>, u64)> = const { RefCell::new((0..0, 0)) };
}

/// Memory to read a value into, aligned for words. Takes none before it is used, and then what the
/// thread keeps.
#[derive(Debug, Default)]
pub(crate) struct Scratch {
    words: Vec<u32>,
    /// Which of them the value last read is.
    value: Range<usize>,
    /// Where in the file it is.
    place: Range<u64>,
}

impl Scratch {
    /// Room for `size` bytes, which become the value.
    fn room(&mut self, size: usize) -> &mut [u8] {
        if self.words.is_empty() {
            // None if the thread is ending.
            self.words = SCRATCH.try_with(RefCell::take).unwrap_or_default();
        }
        let words = size.div_ceil(4);
        // Never cut, so that it is cleared once.
        self.words.resize(self.words.len().max(words), 0);
        self.value = 0..size / 4;
        // SAFETY: at least `size` initialised bytes of the vector, and any bytes are words.
        unsafe { std::slice::from_raw_parts_mut(self.words.as_mut_ptr().cast(), size) }
    }

    /// Says that the value begins at byte `at`, a multiple of four, of what was read.
    pub(super) fn value_begins_at(&mut self, at: usize) {
        self.value.start = at / 4;
    }

    /// The value last read, as far as it is whole words.
    pub(crate) fn value(&self) -> &[u32] {
        &self.words[self.value.clone()]
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // What one very long value took is not kept.
        if (1..=SCRATCH_BYTES_MAX / 4).contains(&self.words.len()) {
            let words = std::mem::take(&mut self.words);
            let _ = SCRATCH.try_with(|scratch| scratch.replace(words));
        }
    }
}

/// The file, opened twice: the system keeps track of what is read in order through each.
#[derive(Debug)]
pub(crate) struct Files {
    /// For values, whole.
    pub(crate) values: File,
    /// For everything else.
    pub(crate) pages: File,
}

impl Files {
    /// Notes that what was read last into `scratch` will not be read again soon. Once enough was
    /// read in order, the system is told so; it keeps pages that somebody has mapped.
    pub(super) fn pass(&self, scratch: &Scratch) {
        let place = scratch.place.clone();
        let _ = PASSED.try_with(|passed| {
            let (passed, dropped) = &mut *passed.borrow_mut();
            if place.start.checked_sub(passed.end).is_none_or(|gap| gap >= DROP_BYTES) {
                (passed.start, *dropped) = (place.start, place.start);
            }
            passed.end = place.end;
            if passed.end - *dropped >= DROP_BYTES {
                // From the start: what could not go the last time, such as large pages across the
                // border, goes now. That the advice cannot be followed is not an error.
                let bytes = std::num::NonZero::new(passed.end - passed.start);
                let advice = rustix::fs::Advice::DontNeed;
                let _ = rustix::fs::fadvise(&self.values, passed.start, bytes, advice);
                *dropped = passed.end;
            }
        });
    }
}

/// A mapped file, read-only.
#[derive(Debug)]
pub(crate) struct Map {
    start: NonNull<u8>,
    bytes: usize,
    files: Arc<Files>,
    /// Bytes of bases that are read in place, in all maps of the file.
    in_place: Arc<AtomicUsize>,
}

/// Keeps a map, for a base that is read in place.
#[derive(Debug)]
pub(crate) struct InPlace {
    map: Arc<Map>,
    at: u64,
    size: usize,
}

impl InPlace {
    /// A base more in `map`: what is read often of it begins at `start` and has `size` bytes.
    pub(crate) fn new(map: &Arc<Map>, start: *const u32, size: usize) -> Self {
        map.in_place.fetch_add(size, Ordering::Relaxed);
        let at = (start.addr() - map.start.as_ptr().addr()) as u64;
        Self { map: Arc::clone(map), at, size }
    }

    /// Whether the system holds the base in memory. Looks at both ends.
    pub(crate) fn is_resident(&self) -> bool {
        // From the file that values are read from: if the page is not there, this is noticed as the
        // first of the reads in order that follow.
        let ends = [self.at, self.at + self.size as u64 - 1];
        ends.into_iter().all(|at| {
            let (mut byte, no_wait) = ([0], rustix::io::ReadWriteFlags::NOWAIT);
            let mut to = [IoSliceMut::new(&mut byte)];
            matches!(rustix::io::preadv2(&self.map.files.values, &mut to, at, no_wait), Ok(1))
        })
    }

    /// Reads a copy of the base.
    pub(crate) fn read_out(&self, copy: &mut Scratch) -> std::io::Result<()> {
        self.map.read(self.at, self.size, copy).map(drop)
    }
}

impl Drop for InPlace {
    fn drop(&mut self) {
        self.map.in_place.fetch_sub(self.size, Ordering::Relaxed);
    }
}

// SAFETY: the mapping is read-only and owned; it is unmapped once, by whoever drops it last.
unsafe impl Send for Map {}
// SAFETY: as above.
unsafe impl Sync for Map {}

impl Map {
    /// Maps the file, with room for it to grow.
    pub(crate) fn of(
        files: &Arc<Files>,
        len: u64,
        in_place: Arc<AtomicUsize>,
    ) -> std::io::Result<Self> {
        use rustix::mm::{Advice, MapFlags, ProtFlags, madvise, mmap};
        let bytes = len.max(MAP_BYTES_MIN).next_power_of_two();
        let bytes = usize::try_from(bytes).map_err(std::io::Error::other)?;
        // SAFETY: no address is asked for, so the system picks a range nothing else uses. Pages
        // past the end of the file are never touched: `slice` is given what lies within it.
        let start = unsafe {
            mmap(std::ptr::null_mut(), bytes, ProtFlags::READ, MapFlags::SHARED, &files.pages, 0)?
        };
        // SAFETY: the mapping just made; the advice changes no contents. That it cannot be followed
        // is not an error.
        let _ = unsafe { madvise(start, bytes, Advice::Random) };
        let start = NonNull::new(start.cast()).ok_or(std::io::ErrorKind::AddrNotAvailable)?;
        Ok(Self { start, bytes, files: Arc::clone(files), in_place })
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

    /// Reads `size` bytes from `at` on with a plain read.
    pub(crate) fn read<'s>(
        &self,
        at: u64,
        size: usize,
        scratch: &'s mut Scratch,
    ) -> std::io::Result<&'s [u8]> {
        scratch.place = at..at + size as u64;
        let bytes = scratch.room(size);
        self.files.values.read_exact_at(bytes, at)?;
        Ok(bytes)
    }
}

impl Drop for Map {
    fn drop(&mut self) {
        // SAFETY: exactly the range that was mapped, and no slice of it outlives self. If unmapping
        // fails, address space leaks and nothing else.
        let _ = unsafe { rustix::mm::munmap(self.start.as_ptr().cast(), self.bytes) };
    }
}
