//! An array that grows without moving: buckets of doubling size, indexed without a lock.
//!
//! ```text
//!  buckets  [ptr][ptr][null] ...           FIRST = 2
//!             │    └─► 8 elements: 4 to 11
//!             └─► 4 elements: 0 to 3
//! ```
//!
//! Holds the segments of a table, indexed by segment number. A bucket, once made, stays until the
//! table is dropped, so references into it live as long as the table.
//! Cost: an index is a count of leading zeros and two loads; growing allocates one bucket. An empty
//! array takes 256 bytes: a schema may have thousands of columns, most of them small.
//!
//! Invariant: a bucket's pointer is null, or that of a boxed slice of [`size`](GrowArray::size)
//! elements which nobody else frees; it changes once, from null.

#![expect(unsafe_code, reason = "buckets are read without a lock or a length beside them")]

use std::marker::PhantomData;
use std::ptr;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicPtr, Ordering};

/// Enough buckets for every `u32` index, however small the first one is.
const BUCKETS: usize = 32;

/// A growing array of default-initialised `T`, addressed by `u32`. Its first bucket has
/// `1 << FIRST` elements.
#[derive(Debug)]
pub(crate) struct GrowArray<T, const FIRST: u32 = 6> {
    buckets: [AtomicPtr<T>; BUCKETS],
    /// It owns what the pointers lead to, and shares it between threads as this would.
    owns: PhantomData<OnceLock<Box<[T]>>>,
}

impl<T, const FIRST: u32> Default for GrowArray<T, FIRST> {
    fn default() -> Self {
        const { assert!(FIRST >= 1 && FIRST < 32) };
        let buckets = [const { AtomicPtr::new(ptr::null_mut()) }; BUCKETS];
        Self { buckets, owns: PhantomData }
    }
}

impl<T, const FIRST: u32> GrowArray<T, FIRST> {
    /// Elements of a bucket.
    fn size(bucket: usize) -> usize {
        1 << (bucket as u32 + FIRST)
    }

    /// The elements of a bucket, if it exists.
    #[inline(always)]
    fn bucket(&self, bucket: usize) -> Option<&[T]> {
        // ORDERING: acquire pairs with the release of whoever made it.
        let start = self.buckets[bucket].load(Ordering::Acquire);
        if start.is_null() {
            return None;
        }
        // SAFETY: by the invariant it points to so many elements, which live as long as `self` and
        // are only shared from here on.
        Some(unsafe { std::slice::from_raw_parts(start, Self::size(bucket)) })
    }
}

impl<T, const FIRST: u32> Drop for GrowArray<T, FIRST> {
    fn drop(&mut self) {
        for (bucket, start) in self.buckets.iter_mut().enumerate() {
            let start = std::mem::replace(start.get_mut(), ptr::null_mut());
            if !start.is_null() {
                let elements = ptr::slice_from_raw_parts_mut(start, Self::size(bucket));
                // SAFETY: by the invariant it is a boxed slice of this length that is ours alone.
                drop(unsafe { Box::from_raw(elements) });
            }
        }
    }
}

impl<T: Default, const FIRST: u32> GrowArray<T, FIRST> {
    #[inline(always)]
    fn place(index: u32) -> (usize, usize) {
        let i = u64::from(index) + (1 << FIRST);
        let bits = 63 - i.leading_zeros();
        ((bits - FIRST) as usize, (i - (1 << bits)) as usize)
    }

    /// The element at `index`, if its bucket exists.
    #[inline(always)]
    pub(crate) fn get(&self, index: u32) -> Option<&T> {
        let (bucket, at) = Self::place(index);
        self.bucket(bucket).and_then(|b| b.get(at))
    }

    /// The element at `index`, making its bucket if needed.
    #[inline]
    pub(crate) fn get_or_grow(&self, index: u32) -> &T {
        let (bucket, at) = Self::place(index);
        &self.bucket(bucket).unwrap_or_else(|| self.grow(bucket))[at]
    }

    #[cold]
    fn grow(&self, bucket: usize) -> &[T] {
        let made: Box<[T]> = (0..Self::size(bucket)).map(|_| T::default()).collect();
        let made = Box::into_raw(made);
        // ORDERING: release publishes the elements to `bucket`.
        let first = self.buckets[bucket].compare_exchange(
            ptr::null_mut(),
            made.cast(),
            Ordering::Release,
            Ordering::Relaxed,
        );
        if first.is_err() {
            // SAFETY: it is the box from above, and nobody else has seen it.
            drop(unsafe { Box::from_raw(made) });
        }
        self.bucket(bucket).expect("INVARIANT: whoever made it first, it is there")
    }

    /// Every element of every bucket made so far, with its index.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (u32, &T)> {
        (0..BUCKETS).filter_map(|b| Some((b, self.bucket(b)?))).flat_map(|(b, bucket)| {
            let first = ((1u64 << (b as u32 + FIRST)) - (1 << FIRST)) as u32;
            bucket.iter().enumerate().map(move |(i, t)| (first + i as u32, t))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicU32, Ordering};

    #[test]
    fn indexes_are_distinct_and_stable() {
        distinct_and_stable::<1>();
        distinct_and_stable::<2>();
        distinct_and_stable::<6>();
    }

    fn distinct_and_stable<const FIRST: u32>() {
        let array: GrowArray<AtomicU32, FIRST> = GrowArray::default();
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

    #[test]
    fn the_largest_index_has_a_place() {
        type Array<const FIRST: u32> = GrowArray<AtomicU32, FIRST>;
        let largest = [Array::<1>::place(u32::MAX), Array::<6>::place(u32::MAX)];
        assert_eq!(largest, [(31, 1), (26, 63)]);
        assert!(Array::<1>::default().get(u32::MAX).is_none());
    }

    #[test]
    fn threads_that_grow_it_at_once_share_what_the_first_one_made() {
        struct Counted(AtomicU32);
        static LIVE: AtomicU32 = AtomicU32::new(0);
        impl Default for Counted {
            fn default() -> Self {
                LIVE.fetch_add(1, Ordering::Relaxed);
                Self(AtomicU32::new(0))
            }
        }
        impl Drop for Counted {
            fn drop(&mut self) {
                LIVE.fetch_sub(1, Ordering::Relaxed);
            }
        }
        let array: GrowArray<Counted, 2> = GrowArray::default();
        std::thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| {
                    for i in 0..1000 {
                        array.get_or_grow(i).0.fetch_add(1, Ordering::Relaxed);
                    }
                });
            }
        });
        assert!((0..1000).all(|i| array.get(i).unwrap().0.load(Ordering::Relaxed) == 8));
        assert_eq!(LIVE.load(Ordering::Relaxed) as usize, array.iter().count());
        drop(array);
        assert_eq!(LIVE.load(Ordering::Relaxed), 0);
    }
}
