//! The threads, locks and atomics the engine is built on: std, or shuttle's under test.
//!
//! Code that other threads can meet takes its primitives from here and never from `std::sync`, so
//! that a test built with the feature `shuttle` explores its interleavings with the very code that
//! ships. With the feature on, every primitive works only inside `shuttle::check_*`; tests that run
//! outside are therefore compiled with `cfg(not(feature = "shuttle"))`.
//!
//! Semantics are those of std; shuttle treats every atomic as `SeqCst` and knows no time, so a
//! timed wait never times out there.
//!
//! `Arc` is std's in both cases: it has no interleavings of its own worth exploring and only std's
//! coerces to `Arc<dyn Trait>`.

pub use std::sync::Arc;

#[cfg(not(feature = "shuttle"))]
pub use std::{
    hint, sync::Condvar, sync::LockResult, sync::Mutex, sync::MutexGuard, sync::WaitTimeoutResult,
    thread,
};

#[cfg(feature = "shuttle")]
pub use shuttle::{
    hint, sync::Condvar, sync::LockResult, sync::Mutex, sync::MutexGuard, sync::WaitTimeoutResult,
    thread,
};

/// Atomics and fences.
pub mod atomic {
    #[cfg(not(feature = "shuttle"))]
    pub use std::sync::atomic::{
        AtomicBool, AtomicPtr, AtomicU32, AtomicU64, AtomicUsize, Ordering, fence,
    };

    #[cfg(feature = "shuttle")]
    pub use shuttle::sync::atomic::{
        AtomicBool, AtomicPtr, AtomicU32, AtomicU64, AtomicUsize, Ordering, fence,
    };
}

/// Locks `mutex`, whether or not a thread panicked while it held it.
///
/// The callers keep what they guard consistent at every step that can panic, or mark it unusable
/// themselves (the log poisons itself), so std's own poisoning would only add a second mechanism.
pub fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    unpoisoned(mutex.lock())
}

/// Waits on `condvar`; wakes may be spurious, so callers loop.
pub fn wait<'a, T>(condvar: &Condvar, guard: MutexGuard<'a, T>) -> MutexGuard<'a, T> {
    unpoisoned(condvar.wait(guard))
}

/// Waits on `condvar` for at most `timeout`; wakes may be spurious, so callers loop.
pub fn wait_timeout<'a, T>(
    condvar: &Condvar,
    guard: MutexGuard<'a, T>,
    timeout: std::time::Duration,
) -> MutexGuard<'a, T> {
    unpoisoned(condvar.wait_timeout(guard, timeout)).0
}

/// Waits on `condvar` until `end`, true if that is over; wakes may be spurious, so callers loop.
///
/// Shuttle lets others go on, and ends the wait at any time.
pub fn wait_until<'a, T>(
    condvar: &Condvar,
    mutex: &'a Mutex<T>,
    guard: MutexGuard<'a, T>,
    end: std::time::Instant,
) -> (MutexGuard<'a, T>, bool) {
    if cfg!(feature = "shuttle") {
        drop(guard);
        thread::yield_now();
        return (lock(mutex), is_over());
    }
    let left = end.saturating_duration_since(std::time::Instant::now());
    let (guard, result) = unpoisoned(condvar.wait_timeout(guard, left));
    (guard, result.timed_out())
}

/// One in four, as shuttle chooses.
#[cfg(feature = "shuttle")]
fn is_over() -> bool {
    use shuttle::rand::RngCore as _;
    shuttle::rand::thread_rng().next_u32() % 4 == 0
}

#[cfg(not(feature = "shuttle"))]
const fn is_over() -> bool {
    true
}

fn unpoisoned<G>(result: LockResult<G>) -> G {
    result.unwrap_or_else(std::sync::PoisonError::into_inner)
}
