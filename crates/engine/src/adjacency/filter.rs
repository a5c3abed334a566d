//! Existence filter of a long tail block: whether an id may be among its inserts.
//!
//! A blocked Bloom filter (Putze, Sanders, Singler, JEA 2009, section 3) with blocks of one word,
//! so that a look costs one cache line: 8 bits per entry, three of them set per id. Of ids that are
//! not in a full block about one in thirty passes.
//!
//! PERF: `telar bench kernel`, search_unsettled_10pct, insert_single_mps: most searches end with
//! the tail, and the tails of long lists have hundreds of entries.

/// Smallest class of a block with a filter: shorter ones are a few cache lines, looked through at
/// once.
pub(crate) const FILTERED_CLASS_MIN: u32 = 6;
/// Entries per filter word, as a power of two.
const ENTRIES_PER_WORD: u32 = 2;

const _: () = assert!(FILTERED_CLASS_MIN > ENTRIES_PER_WORD, "a filter has at least one word");

/// Words of the filter of a block of `class`.
#[inline(always)]
pub(crate) fn words(class: u32) -> usize {
    if class < FILTERED_CLASS_MIN { 0 } else { 1 << (class - ENTRIES_PER_WORD) }
}

/// Where the bits of `id` are in the filter of a block of `class`, which has one: word and bits.
#[inline(always)]
pub(crate) fn place(id: u32, class: u32) -> (usize, u32) {
    debug_assert!(class >= FILTERED_CLASS_MIN);
    // Fibonacci hashing: the upper bits depend on every bit of the id.
    let hash = u64::from(id).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    let word = hash >> (u64::BITS - (class - ENTRIES_PER_WORD));
    let bit = |shift: u32| 1 << (hash >> shift & 31);
    (word as usize, bit(20) | bit(25) | bit(30))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn few_ids_pass_that_are_not_there() {
        for class in [FILTERED_CLASS_MIN, 9, 14] {
            // Ids as graphs have them: in a row, spread, and far apart.
            for step in [1u32, 7, 1 << 12] {
                let mut filter = vec![0; words(class)];
                let ids = 1u32 << class;
                for id in 0..ids {
                    let (word, bits) = place(id.wrapping_mul(step), class);
                    filter[word] |= bits;
                }
                let passes = |id: u32| {
                    let (word, bits) = place(id.wrapping_mul(step), class);
                    filter[word] & bits == bits
                };
                assert!((0..ids).all(passes), "what is there passes");
                let wrong = (ids..ids + 10_000).filter(|id| passes(*id)).count();
                assert!(wrong < 1000, "{wrong} of 10,000 pass at class {class}, step {step}");
            }
        }
    }
}
