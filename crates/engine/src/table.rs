//! An array that grows without moving: buckets of doubling size, indexed without a lock.
//!
//! Holds the segments of a table, indexed by segment number. A bucket, once made, stays until the
//! table is dropped, so references into it live as long as the table.
//! Cost: an index is a count of leading zeros and two loads; growing allocates one bucket.

use std::sync::OnceLock;

/// Size of the first bucket, as a power of two.
const FIRST_BITS: u32 = 6;
/// Enough buckets for every `u32` index.
const BUCKETS: usize = (32 - FIRST_BITS) as usize + 1;

/// A growing array of default-initialised `T`, addressed by `u32`.
#[derive(Debug)]
pub(crate) struct GrowArray<T> {
    buckets: [OnceLock<Box<[T]>>; BUCKETS],
}

impl<T> Default for GrowArray<T> {
    fn default() -> Self {
        Self { buckets: [const { OnceLock::new() }; BUCKETS] }
    }
}

impl<T: Default> GrowArray<T> {
    #[inline(always)]
    fn place(index: u32) -> (usize, usize) {
        let i = u64::from(index) + (1 << FIRST_BITS);
        let bits = 63 - i.leading_zeros();
        ((bits - FIRST_BITS) as usize, (i - (1 << bits)) as usize)
    }

    /// The element at `index`, if its bucket exists.
    #[inline(always)]
    pub(crate) fn get(&self, index: u32) -> Option<&T> {
        let (bucket, at) = Self::place(index);
        self.buckets[bucket].get().and_then(|b| b.get(at))
    }

    /// The element at `index`, making its bucket if needed.
    #[inline]
    pub(crate) fn get_or_grow(&self, index: u32) -> &T {
        let (bucket, at) = Self::place(index);
        let b = self.buckets[bucket].get_or_init(|| {
            let size = 1usize << (bucket as u32 + FIRST_BITS);
            (0..size).map(|_| T::default()).collect()
        });
        &b[at]
    }

    /// Every element of every bucket made so far, with its index.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (u32, &T)> {
        self.buckets.iter().enumerate().filter_map(|(b, cell)| Some((b, cell.get()?))).flat_map(
            |(b, bucket)| {
                let first = ((1u64 << (b as u32 + FIRST_BITS)) - (1 << FIRST_BITS)) as u32;
                bucket.iter().enumerate().map(move |(i, t)| (first + i as u32, t))
            },
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicU32, Ordering};

    #[test]
    fn indexes_are_distinct_and_stable() {
        let array: GrowArray<AtomicU32> = GrowArray::default();
        for i in (0..10_000).rev() {
            array.get_or_grow(i).store(i, Ordering::Relaxed);
        }
        for i in 0..10_000 {
            assert_eq!(array.get(i).unwrap().load(Ordering::Relaxed), i);
        }
        assert!(array.get(1_000_000).is_none());
        assert_eq!(
            array.iter().take(10_000).filter(|(i, t)| t.load(Ordering::Relaxed) == *i).count(),
            10_000
        );
    }
}
