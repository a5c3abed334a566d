//! Placement: bases of neighbouring segments side by side, on large pages.
//!
//! Segments settle one at a time, so their bases lie wherever the allocator had room. The
//! background pass copies the bases of a *window* of consecutive segments, in order and without
//! gaps, into one extent; a scan then reads memory from front to back, as in a single CSR. A
//! segment that is written to again leaves its place behind; a window is placed anew when a quarter
//! of it has left.
//!
//! Invariants: an extent is never written to once a base points into it; it is freed with the last
//! base that does.
//! Cost: one copy of the window; at most a quarter of an extent is stranded before it is replaced,
//! counting by segments.
//! Source: own measurements: the same bases, side by side on large pages instead of wherever the
//! allocator had room, scan at the speed of one CSR (docs/benchmarks.md, `scan_settled`).
#![expect(unsafe_code, reason = "slices of a buffer that is filled before it is shared")]

use std::sync::Arc;
use std::sync::atomic::Ordering;

use crossbeam_epoch as epoch;

use super::AdjTable;
use super::base::Base;
use super::segment::SegVersion;
use super::tail::Tail;
use crate::words::WordBuf;

/// Segments placed together: some 64 MiB of a graph with 16 edges per vertex.
const WINDOW_SEGMENTS: u32 = 1024;
/// Windows smaller than this many words stay where they are: large pages would not help.
const WINDOW_WORDS_MIN: usize = 1 << 16;

/// A buffer that holds the bases of a window.
#[derive(Debug)]
pub(crate) struct Extent {
    words: WordBuf,
}

impl Extent {
    /// All words.
    pub(crate) fn words(&self) -> &[u32] {
        // SAFETY: `copy_of` wrote every word; none is written to afterwards.
        unsafe { self.words.as_slice() }
    }

    /// Heap bytes.
    pub(crate) fn bytes(&self) -> usize {
        self.words.bytes()
    }

    fn copy_of(bases: &[&Base]) -> Self {
        let total = bases.iter().map(|b| b.whole_len()).sum();
        let mut words = WordBuf::huge(total);
        let mut at = 0;
        for base in bases {
            base.copy_to(&mut words, at);
            at += base.whole_len();
        }
        Self { words }
    }
}

/// Whether a version's base can be moved: nothing but hubs stands in its tail.
fn is_movable(table: &AdjTable, version: &SegVersion) -> bool {
    !Arc::ptr_eq(&version.base, &table.empty)
        && version.tail.as_ref().is_none_or(|tail| tail.is_unused())
}

/// Places every window of `table` in which enough has left its place. With `idle_before`, leaves
/// alone segments written to after that timestamp.
pub(crate) fn place(table: &AdjTable, idle_before: Option<u64>) {
    let mut first = 0;
    while first < table.segment_bound() {
        let end = (first + WINDOW_SEGMENTS).min(table.segment_bound());
        place_window(table, first..end, idle_before);
        first = end;
    }
    table.extents.lock().retain(|extent| extent.strong_count() > 0);
}

fn place_window(table: &AdjTable, window: std::ops::Range<u32>, idle_before: Option<u64>) {
    let guard = &epoch::pin();
    let mut numbers = Vec::new();
    let mut bases: Vec<&Base> = Vec::new();
    let (mut words, mut loose, mut mapped) = (0, 0, 0);
    for number in window {
        let Some(segment) = table.segment(number) else {
            continue;
        };
        if idle_before.is_some_and(|ts| segment.last_write.load(Ordering::Relaxed) > ts) {
            continue;
        }
        if let Some(version) = segment.version(guard).filter(|v| is_movable(table, v)) {
            numbers.push(number);
            bases.push(&version.base);
            words += version.base.whole_len();
            loose += if version.base.is_placed() { 0 } else { version.base.whole_len() };
            mapped += if version.base.is_mapped() { version.base.whole_len() } else { 0 };
        }
    }
    // What is read in place goes on so where memory is short.
    let memory = table.source.stored().map(|stored| &stored.memory);
    if memory.is_some_and(|memory| mapped > 0 && 4 * words as u64 > memory.room()) {
        return;
    }
    if words < WINDOW_WORDS_MIN || 4 * loose < words {
        return;
    }
    let extent = Arc::new(Extent::copy_of(&bases));
    if let Some(memory) = memory {
        memory.loaded(4 * mapped);
    }
    table.extents.lock().push(Arc::downgrade(&extent));
    let mut at = 0;
    for (number, base) in numbers.into_iter().zip(bases) {
        let segment = table.segment_for_write(number);
        segment.exclusive(|| {
            let Some(now) = segment.version(guard) else {
                return;
            };
            if std::ptr::eq::<Base>(&*now.base, base) && is_movable(table, now) {
                let moved = Arc::new(base.placed(&extent, at));
                let tail = now
                    .tail
                    .as_ref()
                    .filter(|tail| !tail.hubs.is_empty())
                    .map(|tail| Box::new(Tail::new(1, tail.base_ts, now.hubs())));
                segment.install(SegVersion::new(moved, tail), guard);
            }
        });
        at += base.whole_len();
    }
}
