//! Memory reclamation: epochs.
//!
//! Replaced versions are retired through `crossbeam-epoch` and freed once every thread that was
//! pinned when they were replaced has unpinned. A pin is separate from a snapshot's read timestamp:
//! a long snapshot that takes a new [`Reader`](crate::Reader) now and then holds back settling, not
//! freeing.
#![expect(unsafe_code, reason = "pointers read under a pin, here or of the reader's thread")]

use std::marker::PhantomData;
use std::sync::atomic::Ordering;

use crossbeam_epoch::{self as epoch, Atomic, Guard, Owned};

/// Lets the epoch get on and frees what has been replaced and is read by nobody any more, with what
/// the calling thread still held back of it: a thread hands over what it retired when that is 64
/// values, or here. Readers and writers free some as they go; in a database that nothing happens
/// in, this is the only way.
/// Cost: some microseconds if there is nothing.
pub(crate) fn collect() {
    /// Each frees some hundred blocks at most, if every thread has moved on since the last one.
    const STEPS: usize = 64;
    for _ in 0..STEPS {
        epoch::pin().flush();
    }
}

/// A pin that another value holds for `'r`, for reads by any thread.
///
/// It is made from a guard that is borrowed for `'r`, whose thread stays pinned for that long.
/// While any thread is pinned the epoch advances at most once, so nothing that was reachable after
/// the pin is freed, whichever thread reads it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Pinned<'r>(PhantomData<&'r ()>);

impl<'r> Pinned<'r> {
    /// The pin of this guard.
    #[inline(always)]
    pub(crate) fn by(_guard: &'r Guard) -> Self {
        Self(PhantomData)
    }

    /// A guard to load pointers with.
    #[inline(always)]
    pub(crate) fn guard(self) -> &'r Guard {
        // SAFETY: only used to load pointers, never to retire anything; the pin that protects them
        // is that of the guard borrowed for `'r`.
        unsafe { epoch::unprotected() }
    }
}

/// An immutable value that is replaced as a whole while others read it without a latch.
#[derive(Debug)]
pub(crate) struct EpochCell<T>(Atomic<T>);

impl<T> Default for EpochCell<T> {
    fn default() -> Self {
        Self(Atomic::null())
    }
}

impl<T: Send + Sync + 'static> EpochCell<T> {
    /// The current value, if one was ever put in.
    #[inline(always)]
    pub(crate) fn get<'g>(&self, guard: &'g Guard) -> Option<&'g T> {
        // ORDERING: acquire pairs with the release in `put`.
        let shared = self.0.load(Ordering::Acquire, guard);
        // SAFETY: values are retired through the epoch only, also when the cell is dropped, and
        // `guard` pins it.
        unsafe { shared.as_ref() }
    }

    /// Replaces the value. `guard` must be a pin of the calling thread.
    pub(crate) fn put(&self, value: T, guard: &Guard) {
        let old = self.0.swap(Owned::new(value), Ordering::AcqRel, guard);
        if !old.is_null() {
            // SAFETY: unreachable for new readers; those that have it are pinned.
            unsafe { guard.defer_destroy(old) };
        }
    }
}

impl<T> Drop for EpochCell<T> {
    fn drop(&mut self) {
        let guard = &epoch::pin();
        let old = self.0.swap(epoch::Shared::null(), Ordering::AcqRel, guard);
        if !old.is_null() {
            // SAFETY: as in `put`: whoever still has it is pinned.
            unsafe { guard.defer_destroy(old) };
        }
    }
}
