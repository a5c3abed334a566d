//! Base: the settled lists of one segment, immutable, in CSR form.
//!
//! Layout, one allocation of `u32` words (the same words go to disk, see docs/format.md):
//!
//! ```text
//!  0                    2^k+1            2^k+1+n          2^k+1+2n
//!  ├────────────────────┼────────────────┼────────────────┼──
//!  │ offsets[0..=2^k]   │ neighbours[n]  │ column 0 [n]   │ ...
//!  └────────────────────┴────────────────┴────────────────┴──
//! ```
//!
//! Invariants: offsets ascend from 0 to `n`; list `i` is `offsets[i]..offsets[i + 1]`, sorted as
//! the table's [`ListKind`] says; a base is never written to once published.
#![expect(unsafe_code, reason = "slices of an immutable word buffer")]

use std::marker::PhantomData;
use std::ops::Range;
use std::sync::Arc;

use super::extent::Extent;
use super::list::Rows;
use super::{COL_KEY, Entry, ListKind, SEGMENT_VERTICES, key_of};
use crate::words::WordBuf;

/// Words taken by the offsets.
pub(crate) const OFFSET_WORDS: usize = SEGMENT_VERTICES + 1;

/// A base that took less than it was given room for keeps that room if it is at most this share.
const SHORT_WASTE_SHARE: usize = 4;

/// The settled lists of one segment.
#[derive(Debug)]
pub(crate) struct Base {
    words: *const u32,
    len: usize,
    entries: usize,
    columns: usize,
    memory: Memory,
}

/// Where the words of a base are.
#[derive(Debug)]
enum Memory {
    /// In a buffer of its own.
    Own(WordBuf),
    /// Beside its neighbours' in an extent, which lives as long as any base in it.
    Placed {
        /// Keeps the words alive.
        _extent: Arc<Extent>,
    },
}

// SAFETY: `words` points into `memory`, which is owned and never written to again.
unsafe impl Send for Base {}
// SAFETY: as above.
unsafe impl Sync for Base {}

impl Base {
    /// A base without entries.
    pub(crate) fn empty(columns: usize) -> Self {
        Self::of(WordBuf::zeroed(OFFSET_WORDS), 0, columns)
    }

    /// A base with room for `entries`, to be filled by the caller before anyone sees it.
    pub(crate) fn builder(entries: usize, columns: usize) -> BaseBuilder {
        let mut words = WordBuf::uninit(OFFSET_WORDS + entries * (1 + columns));
        words.set(0, 0);
        BaseBuilder { words, entries, columns, lists: 0, filled: 0 }
    }

    /// Rebuilds a base from its words, checking every invariant that memory safety rests on.
    pub(crate) fn from_words(words: &[u32], columns: usize) -> Result<Self, &'static str> {
        if words.len() < OFFSET_WORDS {
            return Err("a base is shorter than its offsets");
        }
        let (offsets, rest) = words.split_at(OFFSET_WORDS);
        if offsets[0] != 0 || offsets.windows(2).any(|w| w[0] > w[1]) {
            return Err("the offsets of a base do not ascend from zero");
        }
        let entries = offsets[SEGMENT_VERTICES] as usize;
        if rest.len() != entries * (1 + columns) {
            return Err("a base's length does not fit its last offset");
        }
        let mut buf = WordBuf::uninit(words.len());
        buf.copy_from(0, words);
        Ok(Self::of(buf, entries, columns))
    }

    fn of(words: WordBuf, entries: usize, columns: usize) -> Self {
        Self {
            words: words.as_ptr(),
            len: words.len(),
            entries,
            columns,
            memory: Memory::Own(words),
        }
    }

    /// The same base, its words copied to `at` in `extent`.
    pub(crate) fn placed(&self, extent: &Arc<Extent>, at: usize) -> Self {
        let words = &extent.words()[at..at + self.len];
        debug_assert_eq!(words, self.words());
        Self {
            words: words.as_ptr(),
            len: self.len,
            entries: self.entries,
            columns: self.columns,
            memory: Memory::Placed { _extent: Arc::clone(extent) },
        }
    }

    /// Whether the words lie in an extent.
    pub(crate) fn is_placed(&self) -> bool {
        matches!(self.memory, Memory::Placed { .. })
    }

    /// All words, as stored on disk.
    pub(crate) fn words(&self) -> &[u32] {
        // SAFETY: `len` words of a finished base: initialised, never written to, owned by `memory`.
        unsafe { std::slice::from_raw_parts(self.words, self.len) }
    }

    /// Number of entries in all lists.
    pub(crate) fn entries(&self) -> usize {
        self.entries
    }

    /// Heap bytes of its own; those of an extent are counted once, with the extent.
    pub(crate) fn bytes(&self) -> usize {
        match &self.memory {
            Memory::Own(words) => words.bytes(),
            Memory::Placed { .. } => 0,
        }
    }

    /// Range of list `local` within the entries.
    #[inline]
    pub(crate) fn range(&self, local: usize) -> Range<usize> {
        let offsets = &self.words()[..OFFSET_WORDS];
        offsets[local] as usize..offsets[local + 1] as usize
    }

    /// All neighbours.
    pub(crate) fn neighbours(&self) -> &[u32] {
        &self.words()[OFFSET_WORDS..OFFSET_WORDS + self.entries]
    }

    /// Column `column` of all entries.
    pub(crate) fn column(&self, column: usize) -> &[u32] {
        let start = OFFSET_WORDS + self.entries * (1 + column);
        &self.words()[start..start + self.entries]
    }

    /// Entry at position `at` of the whole base.
    pub(crate) fn entry(&self, at: usize) -> Entry {
        let mut e = Entry::simple(self.neighbours()[at]);
        for c in 0..self.columns {
            e.columns[c] = self.column(c)[at];
        }
        e
    }
}

/// The words of a base, as the hot loops see them: offsets and neighbours by pointer.
#[derive(Debug, Clone, Copy)]
pub(crate) struct BaseRef<'a> {
    words: *const u32,
    lives: PhantomData<&'a u32>,
}

impl<'a> BaseRef<'a> {
    /// The base whose words start at `words`.
    ///
    /// # Safety
    /// They are the words of a finished base that is alive for `'a`.
    #[inline(always)]
    pub(crate) unsafe fn at(words: *const u32) -> Self {
        Self { words, lives: PhantomData }
    }

    /// Offsets of all lists.
    #[inline(always)]
    pub(crate) fn offsets(self) -> &'a [u32; OFFSET_WORDS] {
        // SAFETY: a base begins with 2^k + 1 initialised offsets that never change.
        unsafe { &*self.words.cast() }
    }

    /// Rows `start..end`: two consecutive offsets of this base.
    #[inline(always)]
    pub(crate) fn rows(self, start: u32, end: u32) -> &'a [u32] {
        debug_assert!(start <= end && end as usize <= self.entries());
        let first = self.words.wrapping_add(OFFSET_WORDS + start as usize);
        // SAFETY: offsets ascend to the number of neighbours, which stand right behind them.
        unsafe { std::slice::from_raw_parts(first, (end - start) as usize) }
    }

    /// Neighbours of `local`.
    #[inline(always)]
    pub(crate) fn list(self, local: u32) -> &'a [u32] {
        let offsets = self.offsets();
        let i = local as usize & (SEGMENT_VERTICES - 1);
        self.rows(offsets[i], offsets[i + 1])
    }

    /// Number of entries in all lists.
    #[inline(always)]
    pub(crate) fn entries(self) -> usize {
        self.offsets()[SEGMENT_VERTICES] as usize
    }

    /// Column `column` of list `local`. The table must have that column.
    #[inline]
    pub(crate) fn column(self, column: usize, local: u32) -> &'a [u32] {
        let offsets = self.offsets();
        let i = local as usize & (SEGMENT_VERTICES - 1);
        let at = OFFSET_WORDS + self.entries() * (1 + column) + offsets[i] as usize;
        let first = self.words.wrapping_add(at);
        // SAFETY: columns of `entries` words each stand behind the neighbours.
        unsafe { std::slice::from_raw_parts(first, (offsets[i + 1] - offsets[i]) as usize) }
    }

    /// Address of the offset of `local`, for prefetching.
    #[inline(always)]
    pub(crate) fn offset_addr(self, local: u32) -> *const u32 {
        self.words.wrapping_add(local as usize)
    }

    /// Address of row `at`, for prefetching.
    #[inline(always)]
    pub(crate) fn row_addr(self, at: u32) -> *const u32 {
        self.words.wrapping_add(OFFSET_WORDS + at as usize)
    }
}

/// Fills a base list by list.
#[derive(Debug)]
pub(crate) struct BaseBuilder {
    words: WordBuf,
    entries: usize,
    columns: usize,
    lists: usize,
    filled: usize,
}

impl BaseBuilder {
    /// Appends neighbours to the current list.
    #[inline]
    pub(crate) fn extend(&mut self, nbrs: &[u32]) {
        self.words.copy_from(OFFSET_WORDS + self.filled, nbrs);
        self.filled += nbrs.len();
    }

    /// Appends one entry with its columns to the current list.
    pub(crate) fn push(&mut self, entry: &Entry) {
        self.words.set(OFFSET_WORDS + self.filled, entry.nbr);
        for c in 0..self.columns {
            let at = OFFSET_WORDS + self.entries * (1 + c) + self.filled;
            self.words.set(at, entry.columns[c]);
        }
        self.filled += 1;
    }

    /// Appends `count` whole lists of `from`, starting at list `first`, columns included.
    pub(crate) fn copy_lists(&mut self, from: &Base, first: usize, count: usize) {
        let start = from.range(first).start;
        let end = from.range(first + count - 1).end;
        let shift = (self.filled as u32).wrapping_sub(start as u32);
        self.words.copy_shifted(self.lists + 1, &from.words()[first + 1..=first + count], shift);
        self.words.copy_from(OFFSET_WORDS + self.filled, &from.neighbours()[start..end]);
        for c in 0..self.columns {
            let at = OFFSET_WORDS + self.entries * (1 + c) + self.filled;
            self.words.copy_from(at, &from.column(c)[start..end]);
        }
        self.lists += count;
        self.filled += end - start;
    }

    /// Ends the current list.
    #[inline]
    pub(crate) fn end_list(&mut self) {
        self.lists += 1;
        self.words.set(self.lists, self.filled as u32);
    }

    /// Appends some rows to the current list, columns included.
    #[inline]
    pub(crate) fn copy_rows(&mut self, from: &Rows<'_>, rows: Range<usize>) {
        if rows.is_empty() {
            return;
        }
        self.words.copy_from(OFFSET_WORDS + self.filled, &from.nbrs[rows.clone()]);
        for c in 0..self.columns {
            let at = OFFSET_WORDS + self.entries * (1 + c) + self.filled;
            self.words.copy_from(at, &from.columns[c][rows.clone()]);
        }
        self.filled += rows.len();
    }

    /// The finished base, of fewer entries than there is room for.
    ///
    /// # Panics
    /// If not every list was ended.
    pub(crate) fn finish_short(mut self) -> Base {
        assert_eq!(self.lists, SEGMENT_VERTICES, "INVARIANT: one list per vertex");
        let (room, entries) = (self.entries, self.filled);
        let from = |column: usize| OFFSET_WORDS + room * column;
        let to = |column: usize| OFFSET_WORDS + entries * column;
        if (room - entries) * SHORT_WASTE_SHARE > room {
            let mut words = WordBuf::uninit(to(1 + self.columns));
            words.copy_words(0, &self.words, 0, OFFSET_WORDS);
            for column in 0..1 + self.columns {
                words.copy_words(to(column), &self.words, from(column), entries);
            }
            return Base::of(words, entries, self.columns);
        }
        for column in 1..1 + self.columns {
            self.words.move_down(to(column), from(column), entries);
        }
        let mut base = Base::of(self.words, entries, self.columns);
        base.len = to(1 + self.columns);
        base
    }

    /// The finished base.
    ///
    /// # Panics
    /// If not every list was ended or not every entry was written: the caller counted wrongly.
    pub(crate) fn finish(self) -> Base {
        assert_eq!(self.lists, SEGMENT_VERTICES, "INVARIANT: one list per vertex");
        assert_eq!(self.filled, self.entries, "INVARIANT: entries were counted before");
        Base::of(self.words, self.entries, self.columns)
    }
}

/// Whether `entries` are sorted as `kind` wants (used by the integrity check).
pub(crate) fn is_sorted(base: &Base, kind: ListKind, local: usize) -> bool {
    let r = base.range(local);
    let nbrs = &base.neighbours()[r.clone()];
    match kind {
        ListKind::Simple => nbrs.windows(2).all(|w| w[0] < w[1]),
        ListKind::Multi => {
            let ord = &base.column(super::COL_ORDINAL)[r];
            (1..nbrs.len()).all(|i| (nbrs[i - 1], ord[i - 1]) < (nbrs[i], ord[i]))
        }
        ListKind::Timed => {
            let (low, high) = (base.column(COL_KEY.0), base.column(COL_KEY.1));
            (r.start + 1..r.end).all(|i| key_of(low[i - 1], high[i - 1]) >= key_of(low[i], high[i]))
        }
    }
}
