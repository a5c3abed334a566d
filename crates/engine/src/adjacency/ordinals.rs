//! Ordinals of rows: stored only where they cannot be computed.
//!
//! Behind the neighbours of a base, or of a hub chunk, of kind `Multi`:
//!
//! ```text
//!  form u32 · rest (u32 words)
//!  0   zero   nothing: every ordinal is 0
//!  1   line   ordinal of row 0; that of row i is i more
//!  2   each   an ordinal per row
//!  3+k few    k rows, ascending · their ordinals; those of all other rows are 0
//! ```
//!
//! A bulk load of edges with properties numbers out lists in line; everything else without
//! properties and parallel edges is 0.
//! Invariants: `few` has fewer than half as many rows as there are, so it is the smaller form.
//! Cost: an ordinal is found by one load, in the form `few` by a binary search of its list's rows.
#![expect(unsafe_code, reason = "the words behind the neighbours of a base, whose number they say")]

use std::ops::Range;

use crate::words::{Cut, prefetch};

const ZERO: u32 = 0;
const LINE: u32 = 1;
/// The form of an ordinal per row.
pub(crate) const EACH: u32 = 2;
/// The form of `few` without rows, which there is not.
const FEW: u32 = 3;

/// Ordinals of consecutive rows.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Ordinals<'a> {
    /// All are 0.
    Zero,
    /// The ordinal of the first row; each row has one more than the row before.
    Line(u32),
    /// One per row.
    Each(&'a [u32]),
    /// Ordinals that are not 0.
    Few {
        /// Number of the first of these rows, as `rows` counts.
        first: u32,
        /// Numbers of rows, ascending.
        rows: &'a [u32],
        /// Their ordinals.
        ordinals: &'a [u32],
    },
}

impl<'a> Ordinals<'a> {
    /// The section that begins with these words, of `entries` rows.
    fn parse(section: &'a [u32], entries: usize) -> Self {
        let (form, rest) = (section[0], &section[1..]);
        match form {
            ZERO => Self::Zero,
            LINE => Self::Line(rest[0]),
            EACH => Self::Each(&rest[..entries]),
            _ => {
                let (rows, ordinals) = rest.split_at((form - FEW) as usize);
                Self::Few { first: 0, rows, ordinals: &ordinals[..rows.len()] }
            }
        }
    }

    /// The section of a finished base, for `entries` rows.
    #[inline]
    pub(crate) fn of(section: &'a [u32], entries: usize) -> Self {
        Self::parse(section, entries)
    }

    /// The ordinals of rows `rows` of the section at `words`: no more of it is looked at than they
    /// need.
    ///
    /// # Safety
    /// A whole section, of at least `rows.end` rows, stands there, alive and unwritten for `'a`;
    /// the range does not end before it starts.
    #[inline(always)]
    pub(crate) unsafe fn of_rows(words: *const u32, rows: Range<usize>) -> Self {
        // SAFETY: a section begins with its form.
        let form = unsafe { words.read() };
        match form {
            ZERO => Self::Zero,
            // SAFETY: the ordinal of row 0 stands behind the form.
            LINE => Self::Line(unsafe { words.add(1).read() }.wrapping_add(rows.start as u32)),
            EACH => {
                // SAFETY: an ordinal per row stands behind the form.
                let first = unsafe { words.add(1 + rows.start) };
                // SAFETY: as above; the rows are some of the section's.
                Self::Each(unsafe { std::slice::from_raw_parts(first, rows.end - rows.start) })
            }
            // SAFETY: the form says how many words the section has.
            _ => Self::of_few(unsafe { std::slice::from_raw_parts(words, few_len(form)) }, rows),
        }
    }

    /// The ordinals of `range` of the rows of a section of the form `few`.
    #[inline(never)]
    fn of_few(section: &'a [u32], range: Range<usize>) -> Self {
        Self::parse(section, range.end).slice(range)
    }

    /// The ordinals of `range` of these rows.
    #[inline]
    pub(crate) fn slice(self, range: Range<usize>) -> Self {
        match self {
            Self::Zero => Self::Zero,
            Self::Line(first) => Self::Line(first.wrapping_add(range.start as u32)),
            Self::Each(ordinals) => Self::Each(&ordinals[range]),
            Self::Few { first, rows, ordinals } => {
                let (start, end) = (first + range.start as u32, first + range.end as u32);
                let from = rows.partition_point(|row| *row < start);
                let to = from + rows[from..].partition_point(|row| *row < end);
                if from == to {
                    return Self::Zero;
                }
                Self::Few { first: start, rows: &rows[from..to], ordinals: &ordinals[from..to] }
            }
        }
    }

    /// The ordinal of row `i`.
    #[inline]
    pub(crate) fn get(&self, i: usize) -> u32 {
        match *self {
            Self::Zero => 0,
            Self::Line(first) => first.wrapping_add(i as u32),
            Self::Each(ordinals) => ordinals[i],
            Self::Few { first, rows, ordinals } => {
                rows.binary_search(&(first + i as u32)).map_or(0, |at| ordinals[at])
            }
        }
    }

    /// True if every ordinal is known to be 0.
    #[inline]
    pub(crate) fn is_zero(&self) -> bool {
        matches!(self, Self::Zero)
    }

    /// Brings the ordinal of row `i` closer.
    #[inline]
    pub(crate) fn prefetch(&self, i: usize) {
        if let Self::Each(ordinals) = self {
            prefetch(ordinals.as_ptr().wrapping_add(i));
        }
    }

    /// Appends the ordinals of the first `len` rows to `out`.
    #[inline]
    pub(crate) fn append_to(&self, len: usize, out: &mut Vec<u32>) {
        match self {
            Self::Each(ordinals) => out.extend_from_slice(&ordinals[..len]),
            _ => self.append_computed(len, out),
        }
    }

    #[inline(never)]
    fn append_computed(&self, len: usize, out: &mut Vec<u32>) {
        match *self {
            Self::Zero => out.resize(out.len() + len, 0),
            Self::Line(first) => out.extend((0..len as u32).map(|i| first.wrapping_add(i))),
            Self::Each(ordinals) => out.extend_from_slice(&ordinals[..len]),
            Self::Few { first, rows, ordinals } => {
                let start = out.len();
                out.resize(start + len, 0);
                for (row, ordinal) in rows.iter().zip(ordinals) {
                    out[start + (row - first) as usize] = *ordinal;
                }
            }
        }
    }
}

/// Words of a section of this form of `few`.
fn few_len(form: u32) -> usize {
    1 + 2 * (form - FEW) as usize
}

/// The ordinals of rows that are being put together.
#[derive(Debug)]
pub(crate) enum Numbers {
    /// Ordinals that are not 0 so far.
    Few { filled: usize, rows: Vec<u32>, ordinals: Vec<u32> },
    /// All so far.
    Each(Vec<u32>),
}

impl Default for Numbers {
    fn default() -> Self {
        Self::Few { filled: 0, rows: Vec::new(), ordinals: Vec::new() }
    }
}

impl Numbers {
    /// Appends rows with ordinal 0 until there are so many.
    #[inline]
    pub(crate) fn fill_up(&mut self, len: usize) {
        match self {
            Self::Few { filled, .. } => *filled = len,
            Self::Each(all) => all.resize(len, 0),
        }
    }

    /// Appends rows with ordinal 0.
    #[inline]
    pub(crate) fn zeros(&mut self, count: usize) {
        match self {
            Self::Few { filled, .. } => *filled += count,
            Self::Each(all) => all.resize(all.len() + count, 0),
        }
    }

    /// Appends a row.
    #[inline]
    pub(crate) fn push(&mut self, ordinal: u32) {
        match self {
            Self::Few { filled, .. } if ordinal == 0 => *filled += 1,
            Self::Few { filled, rows, ordinals } => {
                rows.push(*filled as u32);
                ordinals.push(ordinal);
                *filled += 1;
                self.widen();
            }
            Self::Each(all) => all.push(ordinal),
        }
    }

    /// Appends `count` rows.
    pub(crate) fn extend(&mut self, from: Ordinals<'_>, count: usize) {
        match (&mut *self, from) {
            (_, Ordinals::Zero) => self.zeros(count),
            (Self::Each(all), _) => from.append_to(count, all),
            (
                Self::Few { filled, rows, ordinals },
                Ordinals::Few { first, rows: r, ordinals: o },
            ) => {
                rows.extend(r.iter().map(|row| row - first + *filled as u32));
                ordinals.extend_from_slice(o);
                *filled += count;
                self.widen();
            }
            (Self::Few { .. }, Ordinals::Line(_) | Ordinals::Each(_)) => {
                (0..count).for_each(|i| self.push(from.get(i)));
            }
        }
    }

    /// Goes on with an ordinal per row if most have one.
    #[inline]
    fn widen(&mut self) {
        /// Fewer rows than a page of them are not worth a decision.
        const DECIDED_MIN: usize = 512;
        if let Self::Few { filled, rows, ordinals } = self
            && rows.len() >= DECIDED_MIN
            && 2 * rows.len() > *filled
        {
            let few = Ordinals::Few { first: 0, rows, ordinals };
            let mut all = Vec::with_capacity(2 * *filled);
            few.append_to(*filled, &mut all);
            *self = Self::Each(all);
        }
    }

    /// The ordinals of `from` with the cuts made.
    pub(crate) fn spliced(from: Ordinals<'_>, len: usize, cuts: impl Iterator<Item = Cut>) -> Self {
        let (mut numbers, mut read) = (Self::default(), 0);
        for cut in cuts {
            let at = cut.at as usize;
            numbers.extend(from.slice(read..at), at - read);
            if cut.puts {
                numbers.push(cut.word);
            }
            read = at + usize::from(cut.skips);
        }
        numbers.extend(from.slice(read..len), len - read);
        numbers
    }

    /// The section of these rows.
    pub(crate) fn section(self) -> Vec<u32> {
        let few =
            |rows: &[u32], ordinals: &[u32]| [&[FEW + rows.len() as u32], rows, ordinals].concat();
        let line = |first: u32| vec![LINE, first];
        match self {
            Self::Few { rows, .. } if rows.is_empty() => vec![ZERO],
            // One row is a line, too.
            Self::Few { filled, rows, ordinals } if 2 * rows.len() < filled => {
                few(&rows, &ordinals)
            }
            Self::Few { filled, rows, ordinals } => {
                let mut all = Vec::with_capacity(filled);
                Ordinals::Few { first: 0, rows: &rows, ordinals: &ordinals }
                    .append_to(filled, &mut all);
                Self::Each(all).section()
            }
            Self::Each(all) => {
                if is_line(&all) {
                    return all.first().map_or_else(|| vec![ZERO], |first| line(*first));
                }
                let rows: Vec<u32> =
                    (0..).zip(&all).filter(|(_, o)| **o != 0).map(|(row, _)| row).collect();
                if 2 * rows.len() < all.len() {
                    let ordinals: Vec<u32> = rows.iter().map(|row| all[*row as usize]).collect();
                    return if rows.is_empty() { vec![ZERO] } else { few(&rows, &ordinals) };
                }
                [&[EACH], &all[..]].concat()
            }
        }
    }
}

/// True if another form takes fewer words than one per row.
pub(crate) fn is_smaller_possible(ordinals: &[u32]) -> bool {
    let zeros = ordinals.iter().filter(|ordinal| **ordinal == 0).count();
    2 * zeros > ordinals.len() || is_line(ordinals)
}

fn is_line(ordinals: &[u32]) -> bool {
    ordinals.windows(2).all(|two| two[0].checked_add(1) == Some(two[1]))
}

/// The section of these ordinals.
pub(crate) fn section_of(ordinals: impl Iterator<Item = u32>) -> Vec<u32> {
    let mut numbers = Numbers::default();
    ordinals.for_each(|ordinal| numbers.push(ordinal));
    numbers.section()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn random(state: &mut u64, below: u64) -> u64 {
        *state = state.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(1);
        (*state >> 33) % below
    }

    /// Rows of which about `share` per cent have an ordinal; all in line if it is 101.
    fn rows(state: &mut u64, len: usize, share: u64) -> Vec<u32> {
        let one = |i: usize| match share {
            101 => 70 + i as u32,
            _ if random(state, 100) < share => 1 + random(state, 1 << 32) as u32 / 2,
            _ => 0,
        };
        (0..len).map(one).collect()
    }

    fn all(ordinals: Ordinals<'_>, len: usize) -> Vec<u32> {
        let mut out = vec![9];
        ordinals.append_to(len, &mut out);
        let one_by_one: Vec<u32> = (0..len).map(|i| ordinals.get(i)).collect();
        assert_eq!(out[1..], one_by_one);
        one_by_one
    }

    #[test]
    fn sections_say_what_was_put_together() {
        let mut state = 5;
        for (len, share) in [0, 1, 2, 3, 100, 600, 3000]
            .into_iter()
            .flat_map(|len| [0, 1, 10, 40, 60, 100, 101].map(|share| (len, share)))
        {
            let rows = rows(&mut state, len, share);
            let section = section_of(rows.iter().copied());
            let ordinals = Ordinals::of(&section, len);
            assert_eq!(all(ordinals, len), rows, "{len} rows, {share} per cent");
            let words = match section[0] {
                ZERO => 1,
                LINE => 2,
                EACH => 1 + len,
                form => few_len(form),
            };
            assert_eq!(words, section.len());
            let numbered = rows.iter().filter(|o| **o != 0).count();
            assert!(
                section.len() <= 1 + len.min(2 * numbered).max(1),
                "{len} rows, {share} per cent"
            );
            // Pieces of it, in any order, put together again.
            let (mut numbers, mut wanted) = (Numbers::default(), Vec::new());
            for _ in 0..8 {
                let start = random(&mut state, len as u64 + 1) as usize;
                let end = start + random(&mut state, (len - start) as u64 + 1) as usize;
                let piece = ordinals.slice(start..end);
                assert_eq!(all(piece, end - start), rows[start..end]);
                // SAFETY: the section lives until the end of the loop.
                let found = unsafe { Ordinals::of_rows(section.as_ptr(), start..end) };
                assert_eq!(all(found, end - start), rows[start..end]);
                numbers.extend(piece, end - start);
                wanted.extend_from_slice(&rows[start..end]);
                numbers.zeros(3);
                numbers.push(7);
                wanted.extend([0, 0, 0, 7]);
            }
            let section = numbers.section();
            assert_eq!(all(Ordinals::of(&section, wanted.len()), wanted.len()), wanted);
        }
    }

    #[test]
    fn sections_have_these_words() {
        assert_eq!(section_of([0; 5].into_iter()), [0]);
        assert_eq!(section_of([4, 5, 6].into_iter()), [1, 4]);
        assert_eq!(section_of([4, 6, 5].into_iter()), [2, 4, 6, 5]);
        assert_eq!(section_of([0, 0, 9, 0, 0, 8].into_iter()), [5, 2, 5, 9, 8]);
    }

    #[test]
    fn splicing_changes_the_rows_it_names() {
        let rows = [0, 0, 5, 0, 0, 6, 0, 0, 0];
        let section = section_of(rows.into_iter());
        let cuts = [
            Cut { at: 1, skips: true, puts: false, word: 0 },
            Cut { at: 2, skips: false, puts: true, word: 3 },
            Cut { at: 5, skips: true, puts: true, word: 8 },
        ];
        let spliced = Numbers::spliced(Ordinals::of(&section, 9), 9, cuts.into_iter()).section();
        assert_eq!(all(Ordinals::of(&spliced, 9), 9), [0, 3, 5, 0, 0, 8, 0, 0, 0]);
    }
}
