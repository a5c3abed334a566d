//! A block of the edge log: header, Bloom filter, entries.
//!
//! ```text
//!  words 0        5              5+b            5+b+slack             end
//!  ├─────────────┼──────────────┼──────────────┼─────────┬─────┬──────┤
//!  │ header      │ filter       │ unused       │ newest  │ ... │ first │
//!  └─────────────┴──────────────┴──────────────┴─────────┴─────┴──────┘
//!  header: commit timestamp of the last change, vertex, order, 2 unused (LiveGraph's is as long)
//!  filter: 1/16 of blocks above 256 bytes, none below; b words
//!  entry:  neighbour u32 | property u32, creation u64, invalidation u64 (LIVE until then)
//! ```
//!
//! Entries grow downwards, so that reading newest to oldest is reading forward.
//!
//! Source: register-blocked Bloom filters after Putze, Sanders and Singler, "Cache-, hash- and
//! space-efficient Bloom filters", JEA 2009: all bits of a key lie in one word.

/// Words of the header.
pub(super) const HEADER_WORDS: usize = 5;
/// Words of an entry.
pub(super) const ENTRY_WORDS: usize = 3;
/// Invalidation timestamp of an entry nobody invalidated.
pub(super) const LIVE: u64 = u64::MAX;
/// Binary logarithm of the bytes of the smallest block: one cache line, one entry.
pub(super) const ORDER_MIN: u32 = 6;
/// Binary logarithm of the bytes of the largest block without a filter.
const ORDER_UNFILTERED_MAX: u32 = 8;
/// Bits a key sets in its word of the filter: a full block has 5 keys per word, and six bits each
/// keep wrong answers near 0.3 %.
const FILTER_BITS: u32 = 6;

const _: () = assert!((HEADER_WORDS + ENTRY_WORDS) * 8 == 1 << ORDER_MIN);

/// Returns the words of a block of `1 << order` bytes.
pub(super) const fn words(order: u32) -> usize {
    1 << (order - 3)
}

/// Returns the words of its filter, a power of two or none.
pub(super) const fn filter_words(order: u32) -> usize {
    if order > ORDER_UNFILTERED_MAX { words(order) / 16 } else { 0 }
}

/// Returns how many entries fit.
pub(super) const fn capacity(order: u32) -> usize {
    (words(order) - HEADER_WORDS - filter_words(order)) / ENTRY_WORDS
}

/// Returns the word of the filter a neighbour belongs to, and its bits there.
#[inline(always)]
pub(super) fn filter_position(order: u32, neighbour: u32) -> (usize, u64) {
    let mixed = mix(neighbour);
    let mut bits = 0;
    for i in 0..FILTER_BITS {
        bits |= 1 << (mixed >> (6 * i) & 63);
    }
    // The upper 28 bits choose the word: enough for blocks up to 32 GiB.
    ((mixed >> 36) as usize & (filter_words(order) - 1), bits)
}

/// Spreads a vertex number over 64 bits (the finisher of SplitMix64).
#[inline(always)]
fn mix(neighbour: u32) -> u64 {
    let mut z = u64::from(neighbour).wrapping_add(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// Calls `f` with each neighbour in `entries` that exists at timestamp `at`, newest first, as a run
/// of one.
///
/// PERF: collecting longer runs in a buffer costs 40 % of the scan (bench kernel/scan).
#[inline(always)]
pub(super) fn for_each_visible<F: FnMut(&[u32])>(entries: &[u64], at: u64, mut f: F) {
    let (entries, _) = entries.as_chunks::<ENTRY_WORDS>();
    for &[neighbour, creation, invalidation] in entries {
        if creation <= at && at < invalidation {
            f(&[neighbour as u32]);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn capacities_follow_from_the_layout() {
        assert_eq!([6, 7, 8, 9, 10].map(capacity), [1, 3, 9, 18, 38]);
        assert_eq!([6, 7, 8, 9, 10].map(filter_words), [0, 0, 0, 4, 8]);
    }

    #[test]
    fn full_filters_rarely_err() {
        for order in [9, 12, 16] {
            let mut filter = vec![0u64; filter_words(order)];
            let keys = capacity(order) as u32;
            let word_of = |key| filter_position(order, key);
            for key in 0..keys {
                let (word, bits) = word_of(key * 3);
                filter[word] |= bits;
            }
            let passes = |key| {
                let (word, bits) = word_of(key);
                filter[word] & bits == bits
            };
            assert!((0..keys).all(|key| passes(key * 3)));
            let wrong = (0..100_000).filter(|&i| passes(i * 3 + 1)).count();
            assert!(wrong < 1500, "order {order}: {wrong} of 100000");
        }
    }
}
