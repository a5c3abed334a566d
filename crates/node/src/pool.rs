//! Threads on which statements run, so that the JavaScript thread never waits.
//!
//! Threads are made when they are needed and end when they were idle for a while. Statements that
//! are transactions of their own wait for one of [`LIMITED_MAX`] places: a program may ask for
//! 10,000 at once. What continues a transaction never waits for a place, as those that have one may
//! wait for that transaction.

use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::thread;
use std::time::Duration;

use parking_lot::{Condvar, Mutex};

/// Most statements of their own that run at the same time.
const LIMITED_MAX: usize = 64;
/// Time that a thread waits for the next job.
const IDLE: Duration = Duration::from_secs(10);
/// Address space of a stack, of which what is needed is touched. The deepest statements ask for
/// 32 MiB, and take another stack from the system where there is less.
const STACK_BYTES: usize = 40 << 20;

/// Work for a thread.
type Job = Box<dyn FnOnce() + Send>;

/// Whether a job waits for a place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Admission {
    /// It waits until fewer than [`LIMITED_MAX`] others run.
    Limited,
    /// It begins at once.
    Free,
}

#[derive(Default)]
struct State {
    ready: VecDeque<(Admission, Job)>,
    waiting: VecDeque<Job>,
    /// Jobs with a place: those that run, and those in `ready`.
    limited: usize,
    /// Threads that wait for a job.
    idle: usize,
    /// True while a thread that was woken has not taken the lock: it wakes the next one.
    waking: bool,
}

impl State {
    /// Wakes a thread if there is work for one. PERF: `bench/compare/node.mjs`: with 64 statements
    /// under way, the JavaScript thread would wake one for each; so it does once per burst.
    fn wake(&mut self) {
        if !self.waking && self.idle > 0 && !self.ready.is_empty() {
            self.waking = true;
            POOL.wake.notify_one();
        }
    }
}

/// All threads of this process.
struct Pool {
    state: Mutex<State>,
    wake: Condvar,
}

static POOL: Pool = Pool {
    state: Mutex::new(State {
        ready: VecDeque::new(),
        waiting: VecDeque::new(),
        limited: 0,
        idle: 0,
        waking: false,
    }),
    wake: Condvar::new(),
};

/// Runs `job` on a thread. If no thread can be had, it is dropped.
pub(crate) fn spawn(admission: Admission, job: impl FnOnce() + Send + 'static) {
    let mut state = POOL.state.lock();
    if admission == Admission::Limited {
        if state.limited >= LIMITED_MAX {
            state.waiting.push_back(Box::new(job));
            return;
        }
        state.limited += 1;
    }
    state.ready.push_back((admission, Box::new(job)));
    if state.ready.len() <= state.idle {
        state.wake();
        return;
    }
    // With the lock, so that a job without a thread is the last one.
    let thread = thread::Builder::new().name("telar-statement".into()).stack_size(STACK_BYTES);
    if thread.spawn(work).is_err()
        && let Some((Admission::Limited, _)) = state.ready.pop_back()
    {
        state.limited -= 1;
    }
}

/// Takes jobs until there were none for a while.
fn work() {
    let mut state = POOL.state.lock();
    loop {
        let Some((admission, job)) = state.ready.pop_front() else {
            state.idle += 1;
            let timed_out = POOL.wake.wait_for(&mut state, IDLE).timed_out();
            state.idle -= 1;
            state.waking = false;
            if timed_out && state.ready.is_empty() {
                return;
            }
            continue;
        };
        state.wake();
        drop(state);
        // A job says itself how it ended; one that panicked has dropped what would have said it.
        let _ = catch_unwind(AssertUnwindSafe(job));
        state = POOL.state.lock();
        if admission == Admission::Limited {
            match state.waiting.pop_front() {
                Some(next) => state.ready.push_back((Admission::Limited, next)),
                None => state.limited -= 1,
            }
        }
    }
}
