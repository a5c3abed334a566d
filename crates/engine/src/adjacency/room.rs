//! Room in the arenas of tails: how much a new one has, and how much is enough.

use super::base::Base;
use super::tail::BLOCK_HEADER_WORDS;

/// Smallest arena of a tail, in words.
const ARENA_WORDS_MIN: usize = 768;
/// A new tail's arena is this share of its base, in words: base / 4.
///
/// PERF: `telar bench kernel` (insert_single_mps against bytes_per_entry_peak): a larger share
/// settles less often and holds more memory.
const ARENA_SHARE: usize = 4;

/// Arena size for a tail over `base`.
pub(crate) fn arena_words(base: &Base, columns: usize) -> usize {
    let words = (base.entries() + base.section_len()) / ARENA_SHARE;
    words.max(ARENA_WORDS_MIN * (2 + columns) / 2)
}

/// Words of an arena in which lists with so many entries altogether find room, however the entries
/// are spread.
///
/// A list of `n` entries ends in a block of less than `2n` places, after one of each class below:
/// less than `4n` places of `2 + columns` words, less than `n` words of filters, and no more
/// headers than entries.
pub(crate) fn room_words(entries: usize, columns: usize) -> usize {
    entries * (4 * (2 + columns) + 1 + BLOCK_HEADER_WORDS)
}

#[cfg(test)]
#[cfg(not(feature = "shuttle"))]
mod tests {
    use super::super::tail::{CLASS_MAX, FIRST_CLASS, block_words};
    use super::*;

    /// One list that takes all, lists of one entry each, and everything between.
    #[test]
    fn room_is_enough_however_entries_are_spread() {
        for columns in 0..=3 {
            let list = |n: usize| {
                let last = (FIRST_CLASS..=CLASS_MAX).find(|c| 1 << c >= n).unwrap();
                (FIRST_CLASS..=last).map(|c| block_words(c, columns)).sum::<usize>()
            };
            for n in (1..5000).chain([1 << 14, (1 << 20) + 1]) {
                assert!(list(n) <= room_words(n, columns), "{n} entries in one list");
            }
        }
    }
}
