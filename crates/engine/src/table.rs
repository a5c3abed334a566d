//! An array that grows without moving: buckets of doubling size, indexed without a lock.
//!
//! ```text
//!  buckets  [ptr][ptr][ptr][null] ...      FIRST = 2, PAGE = 3
//!             │    │    └─► directory of two pages: [ptr][null], elements 12 to 27
//!             │    │                                  └─► 8 elements: 12 to 19
//!             │    └─► 8 elements: 4 to 11
//!             └─► 4 elements: 0 to 3
//! ```
//!
//! Holds the segments of a table, indexed by segment number. Memory, once made, stays until the
//! table is dropped, so references into it live as long as the table.
//!
//! Two forms, by the parameter `PAGE`:
//! - [`GrowArray`]: a bucket is one allocation. For indexes that are used from 0 on.
//! - [`SparseArray`]: a bucket of more than 32 elements is a directory of pages of 32. For columns
//!   and adjacency tables: a schema may have thousands, and one that is first used at vertex
//!   2,000,000 must not pay for the segments before.
//!
//! Cost: an index is a count of leading zeros and two loads, in a directory three; growing
//! allocates one bucket or page. An empty array takes 256 bytes. One element at segment 100,000 of
//! a sparse array takes a directory of 16 KiB and a page.
//!
//! Invariants
//! 1. A bucket's pointer is null, or that of a boxed slice which nobody else frees; it changes
//!    once, from null. The slice has [`size`](GrowArray::size) elements, or, if the bucket is a
//!    directory, a pointer for each page of them.
//! 2. A directory's pointer is null, or that of a boxed slice of `1 << PAGE` elements which nobody
//!    else frees; it changes once, from null.

#![expect(unsafe_code, reason = "buckets are read without a lock or a length beside them")]

use std::marker::PhantomData;
use std::ptr;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicPtr, Ordering};

/// Enough buckets for every `u32` index, however small the first one is.
const BUCKETS: usize = 32;

/// The value of `PAGE` for which no bucket is a directory.
const UNPAGED: u32 = 32;

/// An array whose memory follows the elements that are used, in pages of 32.
pub(crate) type SparseArray<T> = GrowArray<T, 2, 5>;

/// A growing array of default-initialised `T`, addressed by `u32`. Its first bucket has
/// `1 << FIRST` elements; buckets of more than `1 << PAGE` are directories of pages.
#[derive(Debug)]
pub(crate) struct GrowArray<T, const FIRST: u32 = 6, const PAGE: u32 = UNPAGED> {
    /// Pointers to `T`, or to `AtomicPtr<T>` where the bucket is a directory.
    buckets: [AtomicPtr<()>; BUCKETS],
    /// It owns what the pointers lead to, and shares it between threads as this would.
    owns: PhantomData<OnceLock<Box<[T]>>>,
}

impl<T, const FIRST: u32, const PAGE: u32> Default for GrowArray<T, FIRST, PAGE> {
    fn default() -> Self {
        const { assert!(FIRST >= 1 && FIRST < 32 && PAGE >= FIRST) };
        let buckets = [const { AtomicPtr::new(ptr::null_mut()) }; BUCKETS];
        Self { buckets, owns: PhantomData }
    }
}

impl<T, const FIRST: u32, const PAGE: u32> GrowArray<T, FIRST, PAGE> {
    /// Elements of a bucket.
    const fn size(bucket: usize) -> usize {
        1 << (bucket as u32 + FIRST)
    }

    /// True if a bucket is a directory of pages.
    #[inline(always)]
    const fn is_directory(bucket: usize) -> bool {
        PAGE < UNPAGED && bucket as u32 + FIRST > PAGE
    }

    /// The slice that the pointer in `place` leads to, if it exists.
    ///
    /// # Safety
    /// The pointer is null or that of a boxed slice of `len` elements of type `E`, by one of the
    /// invariants.
    #[inline(always)]
    unsafe fn slice<P, E>(place: &AtomicPtr<P>, len: usize) -> Option<&[E]> {
        // ORDERING: acquire pairs with the release in `make`.
        let start = place.load(Ordering::Acquire);
        if start.is_null() {
            return None;
        }
        // SAFETY: the caller says that it points to so many elements; they live as long as the
        // array, of which `place` is a part, and are only shared from here on.
        Some(unsafe { std::slice::from_raw_parts(start.cast(), len) })
    }

    /// Makes the slice that the pointer in `place` leads to, unless another thread was faster.
    fn make<P, E: Default>(place: &AtomicPtr<P>, len: usize) {
        let made: Box<[E]> = (0..len).map(|_| E::default()).collect();
        let made = Box::into_raw(made);
        // ORDERING: release publishes the elements to `slice`.
        let first = place.compare_exchange(
            ptr::null_mut(),
            made.cast(),
            Ordering::Release,
            Ordering::Relaxed,
        );
        if first.is_err() {
            // SAFETY: it is the box from above, and nobody else has seen it.
            drop(unsafe { Box::from_raw(made) });
        }
    }

    /// Frees the slice that the pointer in `place` leads to.
    ///
    /// # Safety
    /// As for [`slice`](Self::slice); nothing borrows from it any more.
    unsafe fn free<P, E>(place: &mut AtomicPtr<P>, len: usize) {
        let start = std::mem::replace(place.get_mut(), ptr::null_mut());
        if !start.is_null() {
            let elements = ptr::slice_from_raw_parts_mut(start.cast::<E>(), len);
            // SAFETY: the caller says that it is a boxed slice of this length that is ours alone.
            drop(unsafe { Box::from_raw(elements) });
        }
    }

    /// The elements of a bucket that is none of pages, if it exists.
    #[inline(always)]
    fn bucket(&self, bucket: usize) -> Option<&[T]> {
        debug_assert!(!Self::is_directory(bucket), "a bucket of elements");
        // SAFETY: invariant 1.
        unsafe { Self::slice(&self.buckets[bucket], Self::size(bucket)) }
    }

    /// The pages of a bucket that is a directory, if it exists.
    #[inline(always)]
    fn directory(&self, bucket: usize) -> Option<&[AtomicPtr<T>]> {
        debug_assert!(Self::is_directory(bucket), "a directory");
        // SAFETY: invariant 1.
        unsafe { Self::slice(&self.buckets[bucket], Self::size(bucket) >> PAGE) }
    }

    /// The elements of a page, if it exists.
    #[inline(always)]
    fn page(place: &AtomicPtr<T>) -> Option<&[T]> {
        // SAFETY: invariant 2.
        unsafe { Self::slice(place, 1 << PAGE) }
    }
}

impl<T, const FIRST: u32, const PAGE: u32> Drop for GrowArray<T, FIRST, PAGE> {
    fn drop(&mut self) {
        for bucket in 0..BUCKETS {
            let size = Self::size(bucket);
            if !Self::is_directory(bucket) {
                // SAFETY: invariant 1; `&mut self`.
                unsafe { Self::free::<(), T>(&mut self.buckets[bucket], size) };
                continue;
            }
            let start = self.buckets[bucket].get_mut().cast::<AtomicPtr<T>>();
            for page in 0..if start.is_null() { 0 } else { size >> PAGE } {
                // SAFETY: invariant 1: the directory has so many pointers.
                let page = unsafe { start.add(page) };
                // SAFETY: as above, and `&mut self`: nothing else refers to it.
                let page = unsafe { &mut *page };
                // SAFETY: invariant 2; `&mut self`.
                unsafe { Self::free::<T, T>(page, 1 << PAGE) };
            }
            // SAFETY: invariant 1; `&mut self`.
            unsafe { Self::free::<(), AtomicPtr<T>>(&mut self.buckets[bucket], size >> PAGE) };
        }
    }
}

impl<T: Default, const FIRST: u32, const PAGE: u32> GrowArray<T, FIRST, PAGE> {
    #[inline(always)]
    fn place(index: u32) -> (usize, usize) {
        let i = u64::from(index) + (1 << FIRST);
        let bits = 63 - i.leading_zeros();
        ((bits - FIRST) as usize, (i - (1 << bits)) as usize)
    }

    /// The page of place `at` of a directory, and the place within the page.
    #[inline(always)]
    fn in_page(at: usize) -> (usize, usize) {
        let mask = (1_usize << (PAGE % UNPAGED)) - 1;
        (at >> (PAGE % UNPAGED), at & mask)
    }

    /// The element at `index`, if its bucket and page exist.
    #[inline(always)]
    pub(crate) fn get(&self, index: u32) -> Option<&T> {
        let (bucket, at) = Self::place(index);
        if Self::is_directory(bucket) {
            let (page, at) = Self::in_page(at);
            return Self::page(self.directory(bucket)?.get(page)?)?.get(at);
        }
        self.bucket(bucket).and_then(|b| b.get(at))
    }

    /// The element at `index`, making its bucket and page if needed.
    #[inline]
    pub(crate) fn get_or_grow(&self, index: u32) -> &T {
        match self.get(index) {
            Some(element) => element,
            None => self.grow(index),
        }
    }

    #[cold]
    fn grow(&self, index: u32) -> &T {
        let (bucket, at) = Self::place(index);
        let size = Self::size(bucket);
        if !Self::is_directory(bucket) {
            Self::make::<(), T>(&self.buckets[bucket], size);
        } else {
            if self.directory(bucket).is_none() {
                Self::make::<(), AtomicPtr<T>>(&self.buckets[bucket], size >> PAGE);
            }
            let directory = self.directory(bucket).expect("INVARIANT: it was just made");
            Self::make::<T, T>(&directory[Self::in_page(at).0], 1 << PAGE);
        }
        self.get(index).expect("INVARIANT: whichever thread made it first, it is there")
    }

    /// Every element that was made so far, with its index, in ascending order.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (u32, &T)> {
        (0..BUCKETS).flat_map(|bucket| self.slices(bucket)).flat_map(|(first, slice)| {
            slice.iter().enumerate().map(move |(i, t)| (first + i as u32, t))
        })
    }

    /// The slices of a bucket that were made so far, each with the index of its first element.
    fn slices(&self, bucket: usize) -> impl Iterator<Item = (u32, &[T])> {
        let first = ((1_u64 << (bucket as u32 + FIRST)) - (1 << FIRST)) as u32;
        let (mut whole, mut pages) = (None, None);
        if Self::is_directory(bucket) {
            pages = self.directory(bucket);
        } else {
            whole = self.bucket(bucket);
        }
        let pages = pages.into_iter().flatten().enumerate();
        let paged = pages.filter_map(move |(i, page)| {
            Some((first + ((i as u32) << (PAGE % UNPAGED)), Self::page(page)?))
        });
        whole.into_iter().map(move |slice| (first, slice)).chain(paged)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicU32, Ordering};

    #[test]
    fn indexes_are_distinct_and_stable() {
        distinct_and_stable::<1, 32>();
        distinct_and_stable::<2, 32>();
        distinct_and_stable::<6, 32>();
    }

    #[test]
    fn pages_are_distinct_and_stable() {
        distinct_and_stable::<2, 5>();
        distinct_and_stable::<1, 1>();
        distinct_and_stable::<3, 4>();
    }

    fn distinct_and_stable<const FIRST: u32, const PAGE: u32>() {
        let array: GrowArray<AtomicU32, FIRST, PAGE> = GrowArray::default();
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
    fn sparse_memory_follows_the_elements_that_are_used() {
        let array: SparseArray<AtomicU32> = SparseArray::default();
        for i in [3, 11, 12, 60, 100_000, 99_999, 4_000_000] {
            array.get_or_grow(i).store(i, Ordering::Relaxed);
        }
        let used: Vec<u32> = array.iter().map(|(_, t)| t.load(Ordering::Relaxed)).collect();
        let used: Vec<u32> = used.into_iter().filter(|&i| i != 0).collect();
        assert_eq!(used, [3, 11, 12, 60, 99_999, 100_000, 4_000_000]);
        assert!(array.iter().map(|(i, _)| i).is_sorted());
        // Buckets of 4, 8 and 16; a page for 60, one for the two neighbours, one for the last.
        assert_eq!(array.iter().count(), 4 + 8 + 16 + 3 * 32);
        assert!(array.get(200_000).is_none() && array.get(98_000).is_none());
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
        threads_share::<32>();
        threads_share::<4>();
    }

    fn threads_share<const PAGE: u32>() {
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
        let array: GrowArray<Counted, 2, PAGE> = GrowArray::default();
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
