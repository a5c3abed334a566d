//! The data file of the store, mapped for reading.
//!
//! Invariants
//! 1. A map never moves and never changes size; a file that has outgrown it gets another one.
//! 2. Bytes of a value that a live generation holds are never written to (see
//!    `mapped/generation.rs`), so a slice of them is like one of memory.
//!
//! The system is told that reads are random: it would read up to megabytes around each touched
//! page, which evict what was worth keeping. Whoever is going to read all of a value reads it from
//! the file first (`bring_in`): then the system notices reads in order and is ahead of them.
//!
//! What is mapped is a cache of the file: the system drops it when memory is short, and reads it
//! again when it is touched. The file must not be cut short by others while it is open; LMDB, which
//! maps it, too, asks for the same.
#![expect(unsafe_code, reason = "slices of a mapped file")]

use std::cell::RefCell;
use std::fs::File;
use std::io::IoSliceMut;
use std::os::unix::fs::FileExt;
use std::ptr::NonNull;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Smallest map: growing files seldom need another one.
const MAP_BYTES_MIN: u64 = 1 << 30;

/// Most memory that a thread keeps to read values into.
const SCRATCH_BYTES_MAX: usize = 1 << 20;

thread_local! {
    /// What a thread reads values into.
    static SCRATCH: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
}

/// The file, opened twice: the system keeps track of what is read in order through each.
#[derive(Debug)]
pub(crate) struct Files {
    /// For values, whole.
    pub(crate) values: File,
    /// For everything else.
    pub(crate) pages: File,
}

/// A mapped file, read-only.
#[derive(Debug)]
pub(crate) struct Map {
    start: NonNull<u8>,
    bytes: usize,
    files: Arc<Files>,
    /// Bases that are read in place, in all maps of the file.
    bases: Arc<AtomicUsize>,
}

/// Keeps a map, for a base that is read in place.
#[derive(Debug)]
pub(crate) struct InPlace(Arc<Map>);

impl InPlace {
    /// A base more in `map`.
    pub(crate) fn new(map: &Arc<Map>) -> Self {
        map.bases.fetch_add(1, Ordering::Relaxed);
        Self(Arc::clone(map))
    }

    /// Reads these words, which lie in the map, from the file, unless memory holds them.
    pub(crate) fn bring_in(&self, words: &[u32]) {
        let at = words.as_ptr().addr() - self.0.start.as_ptr().addr();
        let (at, size) = (at as u64, size_of_val(words));
        let mut last = [0];
        let no_wait = rustix::io::ReadWriteFlags::NOWAIT;
        let end = at + size as u64 - 1;
        let found = rustix::io::preadv2(
            &self.0.files.pages,
            &mut [IoSliceMut::new(&mut last)],
            end,
            no_wait,
        );
        if !matches!(found, Ok(1)) {
            // Whoever touches the words sees for himself if they cannot be read.
            let _ = self.0.read(at, size, |_| ());
        }
    }
}

impl Drop for InPlace {
    fn drop(&mut self) {
        self.0.bases.fetch_sub(1, Ordering::Relaxed);
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
        bases: Arc<AtomicUsize>,
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
        Ok(Self { start, bytes, files: Arc::clone(files), bases })
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

    /// Reads `size` bytes from `at` on with a plain read, and gives them to `f`.
    pub(crate) fn read<R>(
        &self,
        at: u64,
        size: usize,
        f: impl FnOnce(&[u8]) -> R,
    ) -> std::io::Result<R> {
        SCRATCH.with(|scratch| {
            // Taken, so that `f` may read another value.
            let mut bytes = scratch.take();
            bytes.resize(bytes.len().max(size), 0);
            self.files.values.read_exact_at(&mut bytes[..size], at)?;
            let result = f(&bytes[..size]);
            // What one very long value took is not kept.
            if bytes.len() <= SCRATCH_BYTES_MAX {
                scratch.replace(bytes);
            }
            Ok(result)
        })
    }
}

impl Drop for Map {
    fn drop(&mut self) {
        // SAFETY: exactly the range that was mapped, and no slice of it outlives self. If unmapping
        // fails, address space leaks and nothing else.
        let _ = unsafe { rustix::mm::munmap(self.start.as_ptr().cast(), self.bytes) };
    }
}
