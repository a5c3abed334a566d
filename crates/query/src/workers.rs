//! Threads that help queries which only read.
//!
//! The sessions of a database share them. A query begins on its own thread and asks for helpers
//! once it has found that there is much to do; it gets those that are idle, perhaps none, and goes
//! on either way. A helper leaves again, between two pieces of work, when more threads are at work
//! for long queries than there should be. So many queries at once run on a thread each, and none
//! waits for another.

use std::cell::Cell;
use std::fmt;
use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, LazyLock, OnceLock};
use std::thread::available_parallelism;
use std::time::{Duration, Instant};

use telar_graph::Graph;

/// Address space of a helper's stack, of which what is needed is touched. One that asks for more
/// than it has gets another from the system, which costs more than a morsel does.
const STACK_BYTES: usize = 40 << 20;

/// How long a helper that is done waits for the next query before it goes to sleep. To wake it
/// takes some tens of microseconds of its time and of the query's.
const AWAKE: Duration = Duration::from_micros(100);

thread_local! {
    /// Whether this helper is waiting, or does what came while it was.
    static WAITS: Cell<bool> = const { Cell::new(false) };
}

/// The threads that may be at work for long queries, helpers and the queries' own.
pub struct Workers {
    threads: usize,
    morsel: Option<NonZeroUsize>,
    /// How many are.
    busy: AtomicUsize,
    /// Made when the first query needs helpers; none, if the system gives no threads.
    pool: OnceLock<Option<rayon::ThreadPool>>,
}

impl fmt::Debug for Workers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { threads, busy, .. } = self;
        f.debug_struct("Workers").field("threads", threads).field("busy", busy).finish()
    }
}

/// One state of the graph, which each thread reads through a [`Graph`] of its own.
pub trait SharedSnapshot: Sync {
    /// Calls `work` with this thread's.
    fn read(&self, work: &mut dyn FnMut(&dyn Graph));
}

/// What a query that only reads may share its work with.
#[derive(Clone, Copy)]
#[expect(missing_debug_implementations, reason = "a snapshot has nothing to show")]
pub struct Threads<'g> {
    /// Who helps.
    pub workers: &'g Workers,
    /// What they read: what the query itself does.
    pub snapshot: &'g dyn SharedSnapshot,
}

impl Workers {
    /// So many threads in all, at least one: with one, each query runs on its own thread only.
    #[must_use]
    pub fn new(threads: usize) -> Self {
        let (busy, pool) = (AtomicUsize::new(0), OnceLock::new());
        Self { threads: threads.max(1), morsel: None, busy, pool }
    }

    /// Those that the program's sessions share unless told otherwise: a thread for each processor
    /// that the program may use.
    #[must_use]
    pub fn of_program() -> &'static Arc<Self> {
        static WORKERS: LazyLock<Arc<Workers>> = LazyLock::new(|| {
            Arc::new(Workers::new(available_parallelism().map_or(1, NonZeroUsize::get)))
        });
        &WORKERS
    }

    /// The same, for tests: work is shared out from the first piece on, and a piece is so many rows
    /// or places of nodes.
    #[must_use]
    pub fn with_morsels_of(self, rows: NonZeroUsize) -> Self {
        Self { morsel: Some(rows), ..self }
    }

    /// How many threads may be at work for long queries.
    #[must_use]
    pub fn threads(&self) -> usize {
        self.threads
    }

    /// How many are.
    #[must_use]
    pub fn busy(&self) -> usize {
        // ORDERING: relaxed, as it counts and orders nothing.
        self.busy.load(Ordering::Relaxed)
    }

    /// Rows of a piece of work, if a test says so.
    pub(crate) fn morsel(&self) -> Option<usize> {
        self.morsel.map(NonZeroUsize::get)
    }

    /// The query on this thread is a long one.
    pub(crate) fn enter(&self) -> Place<'_> {
        // ORDERING: relaxed, as it counts and orders nothing.
        self.busy.fetch_add(1, Ordering::Relaxed);
        Place(self)
    }

    fn pool(&self) -> Option<&rayon::ThreadPool> {
        let make = || {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(self.threads - 1);
            let pool = pool.stack_size(STACK_BYTES).thread_name(|n| format!("query-helper-{n}"));
            pool.build().ok()
        };
        self.pool.get_or_init(make).as_ref()
    }
}

/// Keeps the helper that calls this awake for a while once it has done its work: queries often
/// follow each other.
pub(crate) fn stay_awake() {
    if WAITS.get() {
        return;
    }
    rayon::spawn(|| {
        WAITS.set(true);
        let mut idle = Instant::now();
        while idle.elapsed() < AWAKE {
            match rayon::yield_now() {
                Some(rayon::Yield::Executed) => idle = Instant::now(),
                // Whoever else wants the processor gets it.
                _ => std::thread::yield_now(),
            }
        }
        WAITS.set(false);
    });
}

/// A thread that is at work, until this is dropped.
pub(crate) struct Place<'w>(&'w Workers);

impl<'w> Place<'w> {
    /// Up to `most` helpers, and where they are; none, if all are busy.
    pub(crate) fn hire(&self, most: usize) -> Option<(&'w rayon::ThreadPool, Vec<Self>)> {
        let Workers { threads, busy, .. } = self.0;
        let mut hired = 0;
        let take = |busy: usize| {
            hired = most.min(threads.saturating_sub(busy));
            (hired > 0).then_some(busy + hired)
        };
        // ORDERING: relaxed, as it counts and orders nothing.
        busy.fetch_update(Ordering::Relaxed, Ordering::Relaxed, take).ok()?;
        let places = (0..hired).map(|_| Place(self.0)).collect();
        Some((self.0.pool()?, places))
    }

    /// Whether more threads are at work than there should be.
    pub(crate) fn is_one_too_many(&self) -> bool {
        self.0.busy() > self.0.threads
    }
}

impl Drop for Place<'_> {
    fn drop(&mut self) {
        // ORDERING: relaxed, as it counts and orders nothing.
        self.0.busy.fetch_sub(1, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn helpers_are_those_that_nobody_has() {
        let workers = Workers::new(4);
        let own = workers.enter();
        let (_, first) = own.hire(2).unwrap();
        assert_eq!((first.len(), workers.busy()), (2, 3));
        let other = workers.enter();
        assert!(own.hire(5).is_none() && !other.is_one_too_many());
        let third = workers.enter();
        assert!(first[0].is_one_too_many());
        drop((first, third));
        assert_eq!(own.hire(5).unwrap().1.len(), 2);
        drop((own, other));
        assert_eq!(workers.busy(), 0);
        // With one thread there is no pool.
        let alone = Workers::new(0);
        let lonely = alone.enter();
        assert!(alone.threads() == 1 && lonely.hire(1).is_none());
    }
}
