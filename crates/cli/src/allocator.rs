//! The allocator of the programs, and what a server wants of it.
//!
//! mimalloc gives each thread pages of its own, 64 KiB for each size of block that it uses, in
//! arenas of 1 GiB and more that it asks to have on huge pages (where the system wants to be asked:
//! `madvise` in `/sys/kernel/mm/transparent_hugepage/enabled`, as most distributions have it). On
//! huge pages all of the 64 KiB are resident, on small ones what was touched: 1.4 MiB against 75
//! KiB for a thread that has run a statement (docs/decisions/0031). Commands with few threads are
//! better off with huge pages; a server has a thread per connection.
#![expect(unsafe_code, reason = "calls of a C library and advice on its memory")]

use std::alloc::{GlobalAlloc, Layout};
use std::ffi::{c_int, c_long, c_void};
use std::fs;
use std::ops::Range;

use mimalloc::MiMalloc;
use rustix::mm::{Advice, madvise};
use telar_graph::heap;

/// mimalloc, and a count of what it has handed out. Each program sets it as its global allocator.
pub struct Counting(MiMalloc);

impl Counting {
    /// The allocator; it keeps nothing itself.
    #[expect(clippy::new_without_default, reason = "only statics hold one")]
    pub const fn new() -> Self {
        Self(MiMalloc)
    }
}

/// Alignment of every block of mimalloc, whoever asks: its blocks are whole words.
///
/// PERF: telar bench cypher, point: to ask for an alignment costs 40 instructions more per block,
/// 8 % of a point read.
const WORD: usize = align_of::<usize>();

// SAFETY: every call goes on to mimalloc, without the alignment where each block has it; counting
// allocates nothing by it, apart from what registering the thread's destructor takes, once, when
// its count is in place.
unsafe impl GlobalAlloc for Counting {
    #[inline]
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let block = match layout.align() <= WORD {
            // SAFETY: any size may be asked for.
            true => unsafe { mi_malloc(layout.size()) }.cast(),
            // SAFETY: as the caller guarantees.
            false => unsafe { self.0.alloc(layout) },
        };
        counted(block, layout.size())
    }

    #[inline]
    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        let block = match layout.align() <= WORD {
            // SAFETY: any size may be asked for.
            true => unsafe { mi_zalloc(layout.size()) }.cast(),
            // SAFETY: as the caller guarantees.
            false => unsafe { self.0.alloc_zeroed(layout) },
        };
        counted(block, layout.size())
    }

    #[inline]
    unsafe fn dealloc(&self, ptr: *mut u8, layout: Layout) {
        heap::shrank(layout.size());
        // SAFETY: as the caller guarantees.
        unsafe { self.0.dealloc(ptr, layout) }
    }

    #[inline]
    unsafe fn realloc(&self, ptr: *mut u8, layout: Layout, new_size: usize) -> *mut u8 {
        let block = match layout.align() <= WORD {
            // SAFETY: the caller guarantees that the block is one of this allocator.
            true => unsafe { mi_realloc(ptr.cast(), new_size) }.cast(),
            // SAFETY: as the caller guarantees.
            false => unsafe { self.0.realloc(ptr, layout, new_size) },
        };
        let moved = counted(block, new_size);
        if !moved.is_null() {
            heap::shrank(layout.size());
        }
        moved
    }
}

/// Counts a block that was handed out.
#[inline]
fn counted(block: *mut u8, bytes: usize) -> *mut u8 {
    if !block.is_null() {
        heap::grew(bytes);
    }
    block
}

/// Whether arenas are asked to be on huge pages: a place in `enum mi_option_e` of mimalloc 3, which
/// its Rust crate does not name. `tests/bolt/memory.rs` fails if it moves.
const ALLOW_THP: c_int = 43;

// SAFETY: the signatures are those of mimalloc.h, of the library that the crate `mimalloc` builds.
unsafe extern "C" {
    fn mi_malloc(size: usize) -> *mut c_void;
    fn mi_zalloc(size: usize) -> *mut c_void;
    fn mi_realloc(block: *mut c_void, size: usize) -> *mut c_void;
    fn mi_collect(force: bool);
    fn mi_option_set(option: c_int, value: c_long);
}

/// Times that mimalloc is asked before it believes that a thread does not want a page again
/// (`MI_RETIRE_CYCLES`). To force it would take from all threads what they freed just now.
const CYCLES: usize = 17;

/// Gives pages that the calling thread has freed back to all threads, and those that nobody has
/// taken for a second back to the system. Nobody else does, while nothing is allocated.
///
/// *Cost*: some ten microseconds, and some for each page.
pub fn give_back() {
    for _ in 0..CYCLES {
        // SAFETY: the function may be called at any time, from any thread.
        unsafe { mi_collect(false) }
    }
}

/// From now on, no more of the heap comes to lie on huge pages. What the engine wants on huge pages
/// it maps by itself, so that stays as it is.
pub fn use_small_pages() {
    // SAFETY: the function may be called at any time; an option that does not exist is ignored.
    unsafe { mi_option_set(ALLOW_THP, 0) };
    // There is an arena already, made before `main`, with everything that was allocated so far.
    let probe = Box::new(0_u8);
    let Some(arena) = mapping_of((&raw const *probe).addr()) else { return };
    let start = std::ptr::with_exposed_provenance_mut(arena.start);
    // SAFETY: the range is one mapping of this process, which lives as long as the process does;
    // the advice changes the size of its pages, not their contents. That it cannot be followed, for
    // example because there are no huge pages, is not an error.
    let _ = unsafe { madvise(start, arena.len(), Advice::LinuxNoHugepage) };
}

/// The mapping in which an address lies, where the system tells.
fn mapping_of(address: usize) -> Option<Range<usize>> {
    let maps = fs::read_to_string("/proc/self/maps").ok()?;
    let ranges = maps.lines().filter_map(|line| {
        let (start, end) = line.split_whitespace().next()?.split_once('-')?;
        let number = |text| usize::from_str_radix(text, 16).ok();
        Some(number(start)?..number(end)?)
    });
    ranges.into_iter().find(|range| range.contains(&address))
}

#[cfg(test)]
#[global_allocator]
static ALLOCATOR: Counting = Counting::new();

#[test]
fn blocks_are_aligned_as_asked_and_keep_what_is_in_them() {
    for align in [1, 2, 4, 8, 16, 64, 4096] {
        for size in (1..=128).chain([1000, 4096, 100_000, 3 << 20]) {
            let layout = Layout::from_size_align(size, align).unwrap();
            // SAFETY: the size is not 0.
            let zeroed = unsafe { ALLOCATOR.alloc_zeroed(layout) };
            // SAFETY: so many bytes were allocated and set to 0.
            let bytes = unsafe { std::slice::from_raw_parts_mut(zeroed, size) };
            assert!(bytes.iter().all(|byte| *byte == 0), "{size} {align}");
            bytes.fill(7);
            // SAFETY: the block is one of this allocator and has this layout.
            let grown = unsafe { ALLOCATOR.realloc(zeroed, layout, size + 100) };
            // SAFETY: what was in the block was moved with it.
            let kept = unsafe { std::slice::from_raw_parts(grown, size) };
            assert!(kept.iter().all(|byte| *byte == 7), "{size} {align}");
            // SAFETY: the size is not 0.
            let other = unsafe { ALLOCATOR.alloc(layout) };
            for block in [grown, other] {
                assert!(block.addr().is_multiple_of(align), "{size} {align}");
            }
            // SAFETY: it has this layout, and is not used any more.
            unsafe { ALLOCATOR.dealloc(other, layout) };
            let layout = Layout::from_size_align(size + 100, align).unwrap();
            // SAFETY: it has this layout since it was moved, and is not used any more.
            unsafe { ALLOCATOR.dealloc(grown, layout) };
        }
    }
}
