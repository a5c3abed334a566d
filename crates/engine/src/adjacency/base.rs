//! Base: the settled lists of one segment, immutable, in CSR form.
//!
//! Layout, `u32` words:
//!
//! ```text
//!  0                    2^k+1            2^k+1+n
//!  ├────────────────────┼────────────────┼────────────
//!  │ offsets[0..=2^k]   │ neighbours[n]  │ section
//!  └────────────────────┴────────────────┴────────────
//!  section  Simple  nothing
//!           Multi   ordinals, as far as they are stored (ordinals.rs)
//!           Timed   ordinals[n] · low words of keys[n] · high words of keys[n]
//! ```
//!
//! On disk, offsets and neighbours stand in the same way and the columns are packed behind them, n
//! values each (adjacency/stored.rs). A base that is read in place, in the map of the store, has
//! no section: it is made, beside it, when somebody asks for a column.
//!
//! Invariants: offsets ascend from 0 to `n`; list `i` is `offsets[i]..offsets[i + 1]`, sorted as
//! the table's [`ListKind`] says; a base is never written to once published.
#![expect(unsafe_code, reason = "slices of an immutable word buffer")]

use std::marker::PhantomData;
use std::ops::Range;
use std::sync::{Arc, OnceLock};

use super::extent::Extent;
use super::list::Rows;
use super::ordinals::{EACH, Numbers, Ordinals, is_smaller_possible, section_of};
use super::{COL_KEY, Entry, ListKind, SEGMENT_VERTICES, key_of, stored};
use crate::mapped::map::{InPlace, Map};
use crate::words::{Cut, SPLICE_SLACK, WordBuf};

/// Words taken by the offsets.
pub(crate) const OFFSET_WORDS: usize = SEGMENT_VERTICES + 1;
/// Columns of a base whose ordinals stand in a section of their own, and which has no others.
const NUMBERED: usize = 1;

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
    /// In the store's file, but for the columns.
    Mapped {
        /// Keeps the words mapped; that they stay as they are is the caller's part.
        place: InPlace,
        /// The columns as stored.
        packed: *const [u8],
        /// Words of the section.
        section_len: usize,
        /// The section, once somebody asked for a column.
        unpacked: OnceLock<WordBuf>,
    },
}

// SAFETY: `words`, and what is packed, points into `memory`, which is owned and never written to.
unsafe impl Send for Base {}
// SAFETY: as above.
unsafe impl Sync for Base {}

impl Base {
    /// The base without entries for lists of this kind, shared by all tables: its offsets take
    /// 4 KiB, and a schema may have thousands of edge types.
    pub(crate) fn empty(kind: ListKind) -> Arc<Self> {
        static EMPTY: [OnceLock<Arc<Base>>; 3] = [const { OnceLock::new() }; 3];
        let place = match kind {
            ListKind::Simple => 0,
            ListKind::Multi => 1,
            ListKind::Timed => 2,
        };
        let section = usize::from(kind.columns() == NUMBERED);
        let make = || Self::of(WordBuf::zeroed(OFFSET_WORDS + section), 0, kind.columns());
        Arc::clone(EMPTY[place].get_or_init(|| Arc::new(make())))
    }

    /// A base with room for `entries`, to be filled by the caller before anyone sees it.
    pub(crate) fn builder(entries: usize, columns: usize) -> BaseBuilder {
        let section = if columns == NUMBERED { 1 } else { entries * columns };
        let mut words = WordBuf::uninit(OFFSET_WORDS + entries + section);
        words.set(0, 0);
        let numbering = if columns == NUMBERED { Numbering::default() } else { Numbering::Columns };
        BaseBuilder { words, entries, columns, lists: 0, filled: 0, numbering }
    }

    /// The same, to be filled mostly with what is in `old`.
    pub(crate) fn builder_like(old: &Base, entries: usize) -> BaseBuilder {
        if !matches!(old.ordinals(), Ordinals::Each(_)) || old.columns != NUMBERED {
            return Self::builder(entries, old.columns);
        }
        let mut words = WordBuf::uninit(OFFSET_WORDS + 2 * entries + 1);
        words.set(0, 0);
        let (columns, numbering) = (NUMBERED, Numbering::Each);
        BaseBuilder { words, entries, columns, lists: 0, filled: 0, numbering }
    }

    /// The lists of `from`, each grown by what `growth` says, with its first `columns` columns, but
    /// with all ordinals that stand in a section of their own. `cuts` gives what changes among the
    /// neighbours (0) and in each column (1 and so on): all at the same rows.
    ///
    /// # Panics
    /// If the cuts do not fit `growth`.
    pub(crate) fn spliced<C: Iterator<Item = Cut>>(
        from: &Base,
        columns: usize,
        growth: &[i32; SEGMENT_VERTICES],
        cuts: impl Fn(usize) -> C,
    ) -> Self {
        let grown: i32 = growth.iter().sum();
        let entries = from.entries.wrapping_add_signed(grown as isize);
        let is_numbered = from.columns == NUMBERED;
        let (columns, plain, section) = if is_numbered {
            let numbers = Numbers::spliced(from.ordinals(), from.entries, cuts(1));
            (NUMBERED, 0, numbers.section())
        } else {
            (columns, columns, Vec::new())
        };
        let len = OFFSET_WORDS + entries * (1 + plain) + section.len();
        let mut words = WordBuf::uninit(len + SPLICE_SLACK);
        let (offsets, mut shift) = (&from.words()[1..OFFSET_WORDS], 0u32);
        words.set(0, 0);
        for (i, (offset, growth)) in offsets.iter().zip(growth).enumerate() {
            shift = shift.wrapping_add_signed(*growth);
            words.set(1 + i, offset.wrapping_add(shift));
        }
        let mut at = OFFSET_WORDS;
        for column in 0..1 + plain {
            let rows = if column == 0 { from.neighbours() } else { from.column(column - 1) };
            let written = words.splice(at, rows, cuts(column));
            assert_eq!(written, entries, "INVARIANT: cuts and growth say the same");
            at += written;
        }
        words.copy_from(at, &section);
        Self { len, ..Self::of(words, entries, columns) }
    }

    /// Makes a base of offsets, neighbours and columns of `n` words each, checking every invariant
    /// that memory safety rests on.
    pub(crate) fn from_words(words: &[u32], columns: usize) -> Result<Self, &'static str> {
        if words.len() < OFFSET_WORDS {
            return Err("a base is shorter than its offsets");
        }
        let (offsets, rest) = words.split_at(OFFSET_WORDS);
        let entries = entries_of(|i| offsets[i])?;
        if rest.len() != entries * (1 + columns) {
            return Err("a base's length does not fit its last offset");
        }
        if columns != NUMBERED {
            let mut buf = WordBuf::uninit(words.len());
            buf.copy_from(0, words);
            return Ok(Self::of(buf, entries, columns));
        }
        let (plain, ordinals) = words.split_at(OFFSET_WORDS + entries);
        Ok(Self::numbered(plain, entries, &section_of(ordinals.iter().copied())))
    }

    /// A base of offsets and neighbours, and the section of its ordinals.
    fn numbered(plain: &[u32], entries: usize, section: &[u32]) -> Self {
        let mut buf = WordBuf::uninit(plain.len() + section.len());
        buf.copy_from(0, plain);
        buf.copy_from(plain.len(), section);
        Self::of(buf, entries, NUMBERED)
    }

    /// A base whose offsets and neighbours are read where they are stored: in `in_place`, a slice
    /// of `map` with the same bytes as `body`. Checks every invariant that memory safety rests on.
    /// `None` if the words are not aligned.
    ///
    /// # Safety
    /// Nobody writes to `in_place` as long as anybody can reach the base.
    pub(crate) unsafe fn mapped(
        body: &[u8],
        in_place: &[u8],
        columns: usize,
        map: &Arc<Map>,
    ) -> Result<Option<Self>, &'static str> {
        let start: *const u32 = in_place.as_ptr().cast();
        if !start.is_aligned() || cfg!(target_endian = "big") {
            return Ok(None);
        }
        let offsets = body.get(..4 * OFFSET_WORDS).ok_or("a base is shorter than its offsets")?;
        let (offsets, _) = offsets.as_chunks::<4>();
        let entries = entries_of(|i| u32::from_le_bytes(offsets[i]))?;
        let columns_at = 4 * (OFFSET_WORDS + entries);
        let packed = body.get(columns_at..).ok_or("a base ends inside its neighbours")?;
        // Once here, so that it cannot fail when they are asked for.
        let mut numbers = Numbers::default();
        stored::unpack_columns(packed, entries, columns, |word| {
            if columns == NUMBERED {
                numbers.push(word);
            }
        })?;
        let section_len =
            if columns == NUMBERED { numbers.section().len() } else { entries * columns };
        Ok(Some(Self {
            words: start,
            len: OFFSET_WORDS + entries,
            entries,
            columns,
            memory: Memory::Mapped {
                place: InPlace::new(map, start, columns_at),
                packed: &in_place[columns_at..],
                section_len,
                unpacked: OnceLock::new(),
            },
        }))
    }

    /// Where the words are, if they are read from the store's file.
    pub(crate) fn in_place(&self) -> Option<&InPlace> {
        match &self.memory {
            Memory::Mapped { place, .. } => Some(place),
            Memory::Own(_) | Memory::Placed { .. } => None,
        }
    }

    /// Whether the words are read from the store's file.
    pub(crate) fn is_mapped(&self) -> bool {
        matches!(self.memory, Memory::Mapped { .. })
    }

    /// True if the section stands behind the neighbours, where hot loops expect it.
    pub(crate) fn is_whole(&self) -> bool {
        self.columns == 0 || !self.is_mapped()
    }

    /// Words of the base with its section.
    pub(crate) fn whole_len(&self) -> usize {
        match &self.memory {
            Memory::Mapped { section_len, .. } => self.len + section_len,
            Memory::Own(_) | Memory::Placed { .. } => self.len,
        }
    }

    /// Words of the section.
    pub(crate) fn section_len(&self) -> usize {
        self.whole_len() - OFFSET_WORDS - self.entries
    }

    /// Writes the base with its section to the words of `buf` from `at` on.
    pub(crate) fn copy_to(&self, buf: &mut WordBuf, at: usize) {
        buf.copy_from(at, self.words());
        if !self.is_whole() {
            buf.copy_from(at + OFFSET_WORDS + self.entries, self.section());
        }
    }

    /// The same base on the heap.
    pub(crate) fn on_heap(&self) -> Self {
        let mut words = WordBuf::uninit(self.whole_len());
        self.copy_to(&mut words, 0);
        Self::of(words, self.entries, self.columns)
    }

    /// The section of a base in the map.
    fn unpacked(&self) -> Option<&[u32]> {
        let Memory::Mapped { packed, unpacked, .. } = &self.memory else { return None };
        let words = unpacked.get_or_init(|| {
            // SAFETY: a part of the value that the base was made of, which nobody writes to.
            let packed = unsafe { &**packed };
            let mut all = Vec::new();
            let mut numbers = Numbers::default();
            stored::unpack_columns(packed, self.entries, self.columns, |word| {
                if self.columns == NUMBERED { numbers.push(word) } else { all.push(word) }
            })
            .expect("INVARIANT: they were unpacked once when the base was made");
            if self.columns == NUMBERED {
                all = numbers.section();
            }
            let mut words = WordBuf::uninit(all.len());
            words.copy_from(0, &all);
            words
        });
        // SAFETY: every word was written when the buffer was made, and none since.
        Some(unsafe { words.as_slice() })
    }

    /// The section.
    fn section(&self) -> &[u32] {
        match self.unpacked() {
            Some(section) => section,
            None => &self.words()[OFFSET_WORDS + self.entries..],
        }
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
        let words = &extent.words()[at..at + self.whole_len()];
        debug_assert_eq!(&words[..self.len], self.words());
        Self {
            words: words.as_ptr(),
            len: words.len(),
            entries: self.entries,
            columns: self.columns,
            memory: Memory::Placed { _extent: Arc::clone(extent) },
        }
    }

    /// Whether the words lie in an extent.
    pub(crate) fn is_placed(&self) -> bool {
        matches!(self.memory, Memory::Placed { .. })
    }

    /// All words; those of the section only if the base is whole.
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
            Memory::Mapped { unpacked, .. } => unpacked.get().map_or(0, WordBuf::bytes),
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

    /// Column `column` of all entries, of a base with a sort key.
    pub(crate) fn column(&self, column: usize) -> &[u32] {
        debug_assert_ne!(self.columns, NUMBERED);
        &self.section()[self.entries * column..][..self.entries]
    }

    /// The ordinals of all entries.
    pub(crate) fn ordinals(&self) -> Ordinals<'_> {
        match self.columns {
            0 => Ordinals::Zero,
            NUMBERED => Ordinals::of(self.section(), self.entries),
            _ => Ordinals::Each(self.column(super::COL_ORDINAL)),
        }
    }

    /// Calls `f` with each word of column `column`.
    pub(crate) fn for_each_of_column(&self, column: usize, mut f: impl FnMut(u32)) {
        if column == super::COL_ORDINAL {
            let ordinals = self.ordinals();
            (0..self.entries).for_each(|at| f(ordinals.get(at)));
        } else {
            self.column(column).iter().for_each(|word| f(*word));
        }
    }

    /// All entries.
    pub(crate) fn all_rows(&self) -> Rows<'_> {
        let keys = match self.columns {
            0 | NUMBERED => [&[][..]; 2],
            _ => [self.column(COL_KEY.0), self.column(COL_KEY.1)],
        };
        Rows { nbrs: self.neighbours(), ordinals: self.ordinals(), keys }
    }

    /// Entry at position `at` of the whole base.
    pub(crate) fn entry(&self, at: usize) -> Entry {
        self.all_rows().entry(at)
    }
}

/// Number of entries of a base with this offset for each place, if they ascend from zero.
#[inline]
fn entries_of(offset: impl Fn(usize) -> u32) -> Result<usize, &'static str> {
    let ascend = (0..SEGMENT_VERTICES).fold(true, |ok, i| ok & (offset(i) <= offset(i + 1)));
    if !ascend || offset(0) != 0 {
        return Err("the offsets of a base do not ascend from zero");
    }
    Ok(offset(SEGMENT_VERTICES) as usize)
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

    /// The base whose offsets and neighbours `words` begins with. Checks every invariant that
    /// memory safety rests on.
    pub(crate) fn of(words: &'a [u32]) -> Result<Self, &'static str> {
        let offsets = words.get(..OFFSET_WORDS).ok_or("a base is shorter than its offsets")?;
        if words.len() - OFFSET_WORDS < entries_of(|i| offsets[i])? {
            return Err("a base ends inside its neighbours");
        }
        Ok(Self { words: words.as_ptr(), lives: PhantomData })
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

    /// Column `column` of list `local`. The table must have a sort key.
    #[inline]
    pub(crate) fn column(self, column: usize, local: u32) -> &'a [u32] {
        let offsets = self.offsets();
        let i = local as usize & (SEGMENT_VERTICES - 1);
        let at = OFFSET_WORDS + self.entries() * (1 + column) + offsets[i] as usize;
        let first = self.words.wrapping_add(at);
        // SAFETY: columns of `entries` words each stand behind the neighbours.
        unsafe { std::slice::from_raw_parts(first, (offsets[i + 1] - offsets[i]) as usize) }
    }

    /// Ordinals of list `local`. The table must be one of ordinals without sort keys.
    #[inline]
    pub(crate) fn ordinals(self, local: u32) -> Ordinals<'a> {
        let (offsets, entries) = (self.offsets(), self.entries());
        let section = self.words.wrapping_add(OFFSET_WORDS + entries);
        let i = local as usize & (SEGMENT_VERTICES - 1);
        let rows = offsets[i] as usize..offsets[i + 1] as usize;
        // SAFETY: the section of these entries stands behind the neighbours; offsets ascend to
        // their number.
        unsafe { Ordinals::of_rows(section, rows) }
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

/// Ordinals as a builder keeps them.
#[derive(Debug)]
enum Numbering {
    /// With the other columns, if there are any.
    Columns,
    /// Apart, until they are all known: of the rows so far but some of the last, which have 0.
    Apart(Numbers),
    /// One per row behind the form of their section, in their place.
    Each,
}

impl Default for Numbering {
    fn default() -> Self {
        Self::Apart(Numbers::default())
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
    numbering: Numbering,
}

impl BaseBuilder {
    /// Appends neighbours with ordinal 0 to the current list.
    #[inline]
    pub(crate) fn extend(&mut self, nbrs: &[u32]) {
        self.words.copy_from(OFFSET_WORDS + self.filled, nbrs);
        if matches!(self.numbering, Numbering::Each) {
            self.put_ordinals(Ordinals::Zero, nbrs.len());
        }
        self.filled += nbrs.len();
    }

    /// Puts the ordinals of the next `count` rows down.
    fn put_ordinals(&mut self, ordinals: Ordinals<'_>, count: usize) {
        let at = OFFSET_WORDS + self.entries + 1 + self.filled;
        match (&mut self.numbering, ordinals) {
            (Numbering::Columns, _) => {}
            (Numbering::Apart(numbers), _) => {
                numbers.fill_up(self.filled);
                numbers.extend(ordinals, count);
            }
            (Numbering::Each, Ordinals::Each(all)) => self.words.copy_from(at, &all[..count]),
            (Numbering::Each, _) => {
                (0..count).for_each(|i| self.words.set(at + i, ordinals.get(i)));
            }
        }
    }

    /// Appends one entry with its columns to the current list.
    pub(crate) fn push(&mut self, entry: &Entry) {
        self.words.set(OFFSET_WORDS + self.filled, entry.nbr);
        let ordinal = entry.columns[super::COL_ORDINAL];
        match &mut self.numbering {
            Numbering::Columns => {
                for c in 0..self.columns {
                    let at = OFFSET_WORDS + self.entries * (1 + c) + self.filled;
                    self.words.set(at, entry.columns[c]);
                }
            }
            Numbering::Apart(numbers) if ordinal != 0 => {
                numbers.fill_up(self.filled);
                numbers.push(ordinal);
            }
            Numbering::Apart(_) => {}
            Numbering::Each => {
                self.words.set(OFFSET_WORDS + self.entries + 1 + self.filled, ordinal);
            }
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
        if matches!(self.numbering, Numbering::Columns) {
            for c in 0..self.columns {
                let at = OFFSET_WORDS + self.entries * (1 + c) + self.filled;
                self.words.copy_from(at, &from.column(c)[start..end]);
            }
        } else {
            match from.ordinals() {
                Ordinals::Zero if !matches!(self.numbering, Numbering::Each) => {}
                ordinals => self.put_ordinals(ordinals.slice(start..end), end - start),
            }
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

    /// Appends rows to the current list, columns included.
    pub(crate) fn extend_rows(&mut self, rows: &Rows<'_>) {
        self.words.copy_from(OFFSET_WORDS + self.filled, rows.nbrs);
        if matches!(self.numbering, Numbering::Columns) {
            let mut ordinals = Vec::new();
            for c in 0..self.columns {
                let at = OFFSET_WORDS + self.entries * (1 + c) + self.filled;
                let column = match c.checked_sub(COL_KEY.0) {
                    Some(c) => rows.keys[c],
                    None => {
                        rows.ordinals.append_to(rows.nbrs.len(), &mut ordinals);
                        &ordinals
                    }
                };
                self.words.copy_from(at, column);
            }
        } else {
            self.put_ordinals(rows.ordinals, rows.nbrs.len());
        }
        self.filled += rows.nbrs.len();
    }

    /// The finished base.
    ///
    /// # Panics
    /// If not every list was ended or not every entry was written: the caller counted wrongly.
    pub(crate) fn finish(mut self) -> Base {
        assert_eq!(self.lists, SEGMENT_VERTICES, "INVARIANT: one list per vertex");
        assert_eq!(self.filled, self.entries, "INVARIANT: entries were counted before");
        let plain = OFFSET_WORDS + self.entries;
        let section = match std::mem::replace(&mut self.numbering, Numbering::Columns) {
            Numbering::Columns => return Base::of(self.words, self.entries, self.columns),
            Numbering::Apart(mut numbers) => {
                numbers.fill_up(self.entries);
                numbers.section()
            }
            Numbering::Each => {
                self.words.set(plain, EACH);
                // SAFETY: every word was written: each list and entry was counted above.
                let section = unsafe { &self.words.as_slice()[plain..] };
                if !is_smaller_possible(&section[1..]) {
                    return Base::of(self.words, self.entries, NUMBERED);
                }
                section_of(section[1..].iter().copied())
            }
        };
        // Room was made for a section of one word.
        if section.len() == 1 && self.words.len() == plain + 1 {
            self.words.set(plain, section[0]);
            return Base::of(self.words, self.entries, NUMBERED);
        }
        self.words.set(plain, section[0]);
        // SAFETY: as above.
        let words = unsafe { self.words.as_slice() };
        Base::numbered(&words[..plain], self.entries, &section)
    }
}

/// Whether `entries` are sorted as `kind` wants (used by the integrity check).
pub(crate) fn is_sorted(base: &Base, kind: ListKind, local: usize) -> bool {
    let r = base.range(local);
    let nbrs = &base.neighbours()[r.clone()];
    match kind {
        ListKind::Simple => nbrs.windows(2).all(|w| w[0] < w[1]),
        ListKind::Multi => {
            let ord = base.ordinals().slice(r);
            let row = |i: usize| (nbrs[i], ord.get(i));
            (1..nbrs.len()).all(|i| row(i - 1) < row(i))
        }
        ListKind::Timed => {
            let (low, high) = (base.column(COL_KEY.0), base.column(COL_KEY.1));
            (r.start + 1..r.end).all(|i| key_of(low[i - 1], high[i - 1]) >= key_of(low[i], high[i]))
        }
    }
}
