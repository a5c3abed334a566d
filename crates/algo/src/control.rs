//! Cancellation, progress and threads of a running kernel.
//!
//! ```text
//!   caller ── Control { stop, progress, pool } ──► kernel
//!                        ▲        ▲                  │
//!                        │        └── report(done, total), now and then
//!                        └── check(), at least each 2^16 edges on every thread
//! ```
//!
//! A kernel that is told to stop returns [`Error::Stopped`] and drops what it has made. It does not
//! poll a clock itself: `stop` decides.

use std::fmt;
use std::ops::Range;

use rayon::prelude::*;
use rayon::{ThreadPool, ThreadPoolBuilder};

/// Why a kernel gave no result.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The caller wanted it to end.
    #[error("the algorithm was stopped")]
    Stopped,
    /// A setting or a weight that the kernel cannot work with. The text says which, and what would
    /// do.
    #[error("{0}")]
    Invalid(String),
}

impl Error {
    /// A setting or a weight that the kernel cannot work with.
    pub fn invalid(message: impl Into<String>) -> Self {
        Self::Invalid(message.into())
    }
}

/// Result of a kernel.
pub type Result<T> = std::result::Result<T, Error>;

thread_local! {
    /// Pool of one thread, for kernels that were given none. Each calling thread has its own, so
    /// that no kernel waits for another.
    static ONE_THREAD: ThreadPool = {
        let pool = ThreadPoolBuilder::new().num_threads(1).thread_name(|_| "telar-algo".into());
        pool.build().unwrap_or_else(|e| panic!("no thread for a graph algorithm: {e}"))
    };
}

/// Cancellation, progress and threads of one run of a kernel.
#[derive(Clone, Copy)]
pub struct Control<'a> {
    stop: &'a (dyn Fn() -> bool + Sync),
    progress: &'a (dyn Fn(u64, u64) + Sync),
    pool: Option<&'a ThreadPool>,
}

impl fmt::Debug for Control<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Control").field("threads", &self.threads()).finish_non_exhaustive()
    }
}

impl Default for Control<'_> {
    /// Nothing stops the kernel, nobody sees its progress, and it has one thread.
    fn default() -> Self {
        Self { stop: &|| false, progress: &|_, _| {}, pool: None }
    }
}

impl<'a> Control<'a> {
    /// The kernel ends soon after `stop` returns true. It is asked by all threads, often.
    #[must_use]
    pub fn stopped_by(self, stop: &'a (dyn Fn() -> bool + Sync)) -> Self {
        Self { stop, ..self }
    }

    /// `progress` is told how many of how many steps are done.
    #[must_use]
    pub fn seen_by(self, progress: &'a (dyn Fn(u64, u64) + Sync)) -> Self {
        Self { progress, ..self }
    }

    /// The kernel runs on the threads of `pool`.
    #[must_use]
    pub fn on(self, pool: &'a ThreadPool) -> Self {
        Self { pool: Some(pool), ..self }
    }

    /// Number of threads.
    #[must_use]
    pub fn threads(&self) -> usize {
        self.pool.map_or(1, ThreadPool::current_num_threads)
    }

    /// Fails once the kernel is to end. *Cost*: a call through a pointer and what `stop` costs; ask
    /// once for some thousand edges.
    #[inline]
    pub fn check(&self) -> Result<()> {
        if (self.stop)() { Err(Error::Stopped) } else { Ok(()) }
    }

    /// Tells how many of how many steps are done.
    pub fn report(&self, done: u64, total: u64) {
        (self.progress)(done, total);
    }

    /// Runs `f` on the kernel's threads: rayon's parallel iterators inside of it use those and no
    /// others.
    pub fn install<T: Send>(&self, f: impl FnOnce() -> T + Send) -> T {
        match self.pool {
            Some(pool) => pool.install(f),
            // Called from inside of `f` of another call.
            None if rayon::current_thread_index().is_some()
                && rayon::current_num_threads() == 1 =>
            {
                f()
            }
            None => ONE_THREAD.with(|pool| pool.install(f)),
        }
    }

    /// Calls `work` with `0..n` cut into ranges of `grain`, on all threads, and checks before each.
    pub fn for_ranges(
        &self,
        n: u32,
        grain: u32,
        work: impl Fn(Range<u32>) -> Result<()> + Sync,
    ) -> Result<()> {
        self.install(|| {
            (0..n.div_ceil(grain)).into_par_iter().try_for_each(|task| {
                self.check()?;
                let first = task * grain;
                work(first..first.saturating_add(grain).min(n))
            })
        })
    }

    /// Calls `fill(first, chunk)` with pieces of `values` of `grain` each and the place where they
    /// begin, on all threads, and checks before each.
    pub fn fill<T: Send>(
        &self,
        values: &mut [T],
        grain: usize,
        fill: impl Fn(usize, &mut [T]) + Sync,
    ) -> Result<()> {
        self.install(|| {
            values.par_chunks_mut(grain).enumerate().try_for_each(|(task, chunk)| {
                self.check()?;
                fill(task * grain, chunk);
                Ok(())
            })
        })
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU64, Ordering};

    use super::*;

    #[test]
    fn ranges_cover_every_number_once_on_any_number_of_threads() {
        for threads in [1, 3] {
            let pool = ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            for (n, grain) in [(0, 7), (1, 7), (7, 7), (1000, 7), (5, 1 << 20)] {
                let seen: Vec<AtomicU64> = (0..n).map(|_| AtomicU64::new(0)).collect();
                let control = Control::default().on(&pool);
                let count = |range: Range<u32>| {
                    for v in range {
                        seen[v as usize].fetch_add(1, Ordering::Relaxed);
                    }
                    Ok(())
                };
                control.for_ranges(n, grain, count).unwrap();
                assert!(seen.iter().all(|seen| seen.load(Ordering::Relaxed) == 1));
            }
        }
    }

    #[test]
    fn stop_ends_the_work_before_the_next_range() {
        let asked = AtomicU64::new(0);
        let stop = || asked.fetch_add(1, Ordering::Relaxed) >= 3;
        let control = Control::default().stopped_by(&stop);
        let done = AtomicU64::new(0);
        let work = |_: Range<u32>| {
            done.fetch_add(1, Ordering::Relaxed);
            Ok(())
        };
        assert_eq!(control.for_ranges(1000, 1, work), Err(Error::Stopped));
        assert_eq!(done.load(Ordering::Relaxed), 3);
        let mut values = [0; 4];
        assert_eq!(control.fill(&mut values, 2, |_, chunk| chunk.fill(1)), Err(Error::Stopped));
        assert_eq!(values, [0; 4]);
    }
}
