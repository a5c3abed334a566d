//! Group commit: many threads append, one at a time writes for all.
//!
//! ```text
//!  append ──▶ ┌─────────────┐      leader takes it      ┌──────────────┐   one append,
//!  append ──▶ │ group n + 1 │ ────────────────────────▶ │ group n      │ ─▶ one sync ─▶ durable_ts
//!  append ──▶ │ pending     │   an empty buffer stays   │ in flight    │
//!             └─────────────┘                           └──────────────┘
//!   waiters:   waiting                                   in_flight
//! ```
//!
//! Protocol. Whoever waits and finds no leader becomes it: takes the pending buffer, releases the
//! mutex, writes and syncs, publishes `durable_ts` under the mutex, and then, without it, unparks
//! *one* of those who wait for the next group, which leads at once, and all who waited for this
//! one. A group is what queued during the sync before it, so groups grow as the disk slows down;
//! where a write is slow, the leader waits a while for those of the last group (`gathering.rs`).
//!
//! A waiter leaves its handle in the list of its group and parks. What it was woken for it reads
//! from `durable_ts`, without the mutex: with 64 threads, each of which took the mutex on waking,
//! most of the time went into waiting for it. PERF: `telar bench kernel`, durable_64_over_1.
//!
//! Appenders wait only if the pending buffer is full, on `changed`, which is notified when a group
//! is taken and when one is finished. An appender that finds no leader then leads itself, so a
//! thread that appends and never waits makes progress too.
//!
//! Failure. The first error of a write, sync or rotation poisons: the leader keeps it, wakes
//! everyone, and all that is not durable yet fails with it. Nothing is written after it, so what
//! the failed write left is the end of the last file, and the next open cuts it. A leader that
//! panics poisons too.
//!
//! Invariants (of `State`, under its mutex):
//! - `pending` holds the frames of `pending_ts..next_ts`, in order: timestamps are assigned and
//!   frames copied in one critical section.
//! - With no leader, everything below `pending_ts` is durable, or the log is poisoned.
//! - `durable_ts` grows, and only by the leader.
//!
//! Cost: `append` is one lock, one copy (none of a record above 8 MiB), eight bytes of CRC. No I/O
//! happens under the mutex.
//! Source: Helland et al., "Group Commit Timers and High Volume Transaction Systems", HPTS 1987;
//! the leader and its successor as in PostgreSQL's `XLogFlush`.

use std::time::{Duration, Instant};

use super::files::LogFiles;
use super::gathering::Gathering;
use super::record::{PreparedRecord, WholeRecord};
use super::{PENDING_BYTES_MAX, WalError};
use crate::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use crate::sync::thread::{self, Thread};
use crate::sync::{Arc, Condvar, Mutex, MutexGuard, lock, wait, wait_timeout, wait_until};

/// The state all users of a log share.
#[derive(Debug)]
pub(super) struct GroupCommit {
    state: Mutex<State>,
    /// A group was taken or finished, or the log was poisoned.
    changed: Condvar,
    /// The log is closing (for the flusher).
    closing: Condvar,
    /// As many wait for the next group as its leader waits for, or it need not wait any more.
    gathered: Condvar,
    // ORDERING: these are stored under the mutex with Release and loaded with Acquire, so that who
    // sees a timestamp sees what its committer did before.
    last_ts: AtomicU64,
    durable_ts: AtomicU64,
    /// Whether `State::poison` is set; spares the mutex where that is all there is to ask.
    poisoned: AtomicBool,
    /// Locked by the leader while it writes, and briefly by whoever drops old files.
    files: Mutex<LogFiles>,
}

#[derive(Debug)]
struct State {
    /// Frames not yet taken by a leader.
    pending: Vec<u8>,
    /// The buffer that becomes `pending` when it is taken.
    spare: Vec<u8>,
    /// First timestamp in `pending`; `next_ts` if it is empty.
    pending_ts: u64,
    next_ts: u64,
    /// Who waits for what is pending.
    waiting: Vec<Thread>,
    /// Who waits for what the leader writes.
    in_flight: Vec<Thread>,
    /// Threads that wait on `changed`: without any, nobody is notified.
    watchers: usize,
    /// Whether a leader is at work.
    leading: bool,
    /// Threads that the leader waits for, itself included, before it takes what is pending.
    gathers: Option<usize>,
    gathering: Gathering,
    closed: bool,
    poison: Option<Arc<WalError>>,
}

#[cfg(test)]
std::thread_local! {
    /// Notifications of those who wait for a change, by this thread.
    pub(super) static NOTIFIED: std::cell::Cell<u32> = const { std::cell::Cell::new(0) };
}

/// What a leader does besides writing what is pending.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Job {
    Write,
    WriteAndRotate,
}

impl GroupCommit {
    pub(super) fn new(files: LogFiles, is_replicated: bool) -> Self {
        let last_ts = files.written_ts;
        let state = State {
            pending: Vec::new(),
            spare: Vec::new(),
            pending_ts: last_ts + 1,
            next_ts: last_ts + 1,
            waiting: Vec::new(),
            in_flight: Vec::new(),
            watchers: 0,
            leading: false,
            gathers: None,
            gathering: Gathering::new(is_replicated),
            closed: false,
            poison: None,
        };
        Self {
            state: Mutex::new(state),
            changed: Condvar::new(),
            closing: Condvar::new(),
            gathered: Condvar::new(),
            last_ts: AtomicU64::new(last_ts),
            durable_ts: AtomicU64::new(last_ts),
            poisoned: AtomicBool::new(false),
            files: Mutex::new(files),
        }
    }

    #[inline]
    pub(super) fn last_ts(&self) -> u64 {
        self.last_ts.load(Ordering::Acquire)
    }

    #[inline]
    pub(super) fn durable_ts(&self) -> u64 {
        self.durable_ts.load(Ordering::Acquire)
    }

    /// Puts `record` into the pending group; returns its timestamp.
    #[inline]
    pub(super) fn append(&self, record: &PreparedRecord<'_>) -> Result<u64, WalError> {
        let mut state = lock(&self.state);
        if state.closed || state.poison.is_some() || !state.has_room(record.size()) {
            state = self.wait_for_room(state, record.size())?;
        }
        let commit_ts = state.next_ts;
        record.append_to(&mut state.pending, commit_ts);
        state.next_ts = commit_ts + 1;
        self.last_ts.store(commit_ts, Ordering::Release);
        Ok(commit_ts)
    }

    /// The same for a record that is larger than what may wait: it is a group of its own, written
    /// from where it lies.
    pub(super) fn append_whole(&self, record: WholeRecord) -> Result<u64, WalError> {
        debug_assert!(record.size() > PENDING_BYTES_MAX, "others could join it");
        let mut state = self.wait_for_room(lock(&self.state), record.size())?;
        let commit_ts = state.next_ts;
        state.pending = record.into_group(commit_ts);
        state.next_ts = commit_ts + 1;
        self.last_ts.store(commit_ts, Ordering::Release);
        Ok(commit_ts)
    }

    #[cold]
    fn wait_for_room<'a>(
        &'a self,
        mut state: MutexGuard<'a, State>,
        bytes: usize,
    ) -> Result<MutexGuard<'a, State>, WalError> {
        loop {
            state.check_poison()?;
            if state.closed {
                return Err(WalError::Closed);
            }
            if state.has_room(bytes) {
                return Ok(state);
            }
            state = if state.leading {
                self.end_gathering(&mut state);
                self.wait_for_change(state)
            } else {
                self.lead(state, Job::Write);
                lock(&self.state)
            };
        }
    }

    /// Waits until a group is taken or finished, or the log is poisoned or closed.
    #[cold]
    fn wait_for_change<'a>(&'a self, mut state: MutexGuard<'a, State>) -> MutexGuard<'a, State> {
        state.watchers += 1;
        let mut state = wait(&self.changed, state);
        state.watchers -= 1;
        state
    }

    /// Returns once everything up to `commit_ts` is durable, leading if nobody does.
    pub(super) fn sync_to(&self, commit_ts: u64) -> Result<(), WalError> {
        if self.durable_ts() >= commit_ts {
            return Ok(());
        }
        let mut state = lock(&self.state);
        if commit_ts >= state.next_ts {
            return Err(WalError::NotAssigned { commit_ts, last_ts: state.next_ts - 1 });
        }
        loop {
            if self.durable_ts() >= commit_ts {
                return Ok(());
            }
            state.check_poison()?;
            if state.leading {
                let is_pending = commit_ts >= state.pending_ts;
                let group = if is_pending { &mut state.waiting } else { &mut state.in_flight };
                group.push(thread::current());
                if state.gathers.is_some_and(|wanted| state.waiting.len() + 1 >= wanted) {
                    self.end_gathering(&mut state);
                }
                drop(state);
                thread::park();
            } else {
                // INVARIANT: with no leader, what is not durable is pending: leading writes it.
                let state = self.gather(state);
                if state.poison.is_none() {
                    self.lead(state, Job::Write);
                }
            }
            if self.durable_ts() >= commit_ts {
                return Ok(());
            }
            state = lock(&self.state);
        }
    }

    /// Writes what is pending and starts a new file.
    pub(super) fn rotate(&self) -> Result<(), WalError> {
        let mut state = lock(&self.state);
        while state.leading {
            state = self.wait_for_change(state);
        }
        state.check_poison()?;
        self.lead(state, Job::WriteAndRotate);
        self.check()
    }

    /// Fails if the log is poisoned.
    pub(super) fn check(&self) -> Result<(), WalError> {
        if !self.poisoned.load(Ordering::Acquire) {
            return Ok(());
        }
        lock(&self.state).check_poison()
    }

    /// Refuses appends from now on because of `cause`, or what came before it; returns the error
    /// that they meet. What is pending is not written.
    pub(super) fn poison(&self, cause: WalError) -> WalError {
        let mut state = lock(&self.state);
        let cause = Arc::clone(state.poison.get_or_insert(Arc::new(cause)));
        self.poisoned.store(true, Ordering::Release);
        self.end_gathering(&mut state);
        if !state.leading {
            // The one that was to lead next finds the poison before it does.
            state.wake_waiting();
        }
        // Else the leader wakes who waits, when it ends.
        self.closing.notify_all();
        self.changed.notify_all();
        WalError::Poisoned { cause }
    }

    /// Refuses appends from now on; returns the last timestamp.
    pub(super) fn close(&self) -> u64 {
        let mut state = lock(&self.state);
        state.closed = true;
        self.closing.notify_all();
        self.changed.notify_all();
        state.next_ts - 1
    }

    /// Writes what is pending every `interval` until the log is closed or poisoned.
    pub(super) fn flush_every(&self, interval: Duration) {
        let mut state = lock(&self.state);
        while !state.closed && state.poison.is_none() {
            state = wait_timeout(&self.closing, state, interval);
            if !state.leading && !state.pending.is_empty() && state.poison.is_none() {
                self.lead(state, Job::Write);
                state = lock(&self.state);
            }
        }
    }

    /// Gives the files to `f`, between two groups.
    pub(super) fn with_files<R>(&self, f: impl FnOnce(&mut LogFiles) -> R) -> R {
        f(&mut lock(&self.files))
    }

    /// Waits for those of the last groups, where that may pay; nobody else leads meanwhile.
    fn gather<'a>(&'a self, mut state: MutexGuard<'a, State>) -> MutexGuard<'a, State> {
        let here = state.waiting.len() + 1;
        let Some(wait) = state.gathering.before(here) else { return state };
        let end = Instant::now() + wait.at_most;
        state.leading = true;
        state.gathers = Some(wait.until);
        while state.gathers.is_some() {
            let ended;
            (state, ended) = wait_until(&self.gathered, &self.state, state, end);
            if ended {
                state.gathers = None;
            }
        }
        state.leading = false;
        let here = state.waiting.len() + 1;
        state.gathering.waited(wait, here);
        if state.poison.is_some() {
            // No leadership comes, at the end of which these would be told.
            state.wake_waiting();
            self.changed.notify_all();
        }
        state
    }

    /// Lets a leader that waits for others go on.
    #[inline]
    fn end_gathering(&self, state: &mut State) {
        if state.gathers.take().is_some() {
            self.gathered.notify_one();
        }
    }

    /// Leads: takes what is pending, does the job without the mutex, publishes, wakes.
    fn lead(&self, mut state: MutexGuard<'_, State>, job: Job) {
        debug_assert!(!state.leading && state.poison.is_none());
        let last_ts = state.next_ts - 1;
        let group = state.take_pending();
        self.release(state, []);

        let leadership = Leadership { commit: self, last_ts, since: Instant::now() };
        let result = {
            let mut files = lock(&self.files);
            write(&mut files, &group, last_ts, job)
        };
        leadership.finish(result, group);
    }

    /// Publishes what became of a group, and wakes those who can go on.
    fn end_lead(&self, last_ts: u64, took: Duration, result: Result<(), WalError>, group: Vec<u8>) {
        let mut state = lock(&self.state);
        state.recycle(group);
        state.leading = false;
        let regulars = 1 + state.in_flight.len() + state.waiting.len();
        state.gathering.written(took, regulars);
        let mut woken = std::mem::take(&mut state.in_flight);
        let next = match result {
            Ok(()) => {
                self.durable_ts.store(last_ts, Ordering::Release);
                if state.poison.is_some() {
                    // Nobody leads any more: each finds out for itself.
                    woken.append(&mut state.waiting);
                }
                state.waiting.pop()
            }
            Err(cause) => {
                state.poison.get_or_insert(Arc::new(cause));
                self.poisoned.store(true, Ordering::Release);
                woken.append(&mut state.waiting);
                self.closing.notify_all();
                None
            }
        };
        // The next leader first: it waits for the disk while the others are woken.
        self.release(state, next.iter().chain(&woken));
    }

    /// Releases the state after a change: wakes these, and whoever waits for any change.
    fn release<'t>(
        &self,
        state: MutexGuard<'_, State>,
        woken: impl IntoIterator<Item = &'t Thread>,
    ) {
        // INVARIANT: whoever waits was counted under the mutex before it was released to wait;
        // whoever comes later finds what has changed.
        let is_watched = state.watchers > 0;
        drop(state);
        woken.into_iter().for_each(Thread::unpark);
        // PERF: a notification is a system call even if nobody waits: two for each lone commit.
        if is_watched {
            self.changed.notify_all();
            #[cfg(test)]
            NOTIFIED.with(|notified| notified.set(notified.get() + 1));
        }
    }
}

fn write(files: &mut LogFiles, group: &[u8], last_ts: u64, job: Job) -> Result<(), WalError> {
    if !group.is_empty() {
        files.write_group(group, last_ts)?;
    }
    if job == Job::WriteAndRotate {
        files.rotate()?;
    }
    Ok(())
}

/// The duty of a leader to hand over, even if it panics.
struct Leadership<'a> {
    commit: &'a GroupCommit,
    last_ts: u64,
    since: Instant,
}

impl Leadership<'_> {
    fn finish(self, result: Result<(), WalError>, group: Vec<u8>) {
        let Self { commit, last_ts, since } = self;
        // Forgotten, since `drop` is for panics.
        std::mem::forget(self);
        commit.end_lead(last_ts, since.elapsed(), result, group);
    }
}

impl Drop for Leadership<'_> {
    fn drop(&mut self) {
        let failed = Err(WalError::LeaderPanicked);
        self.commit.end_lead(self.last_ts, Duration::ZERO, failed, Vec::new());
    }
}

impl State {
    /// Whether a frame of so many bytes may join the pending group.
    #[inline]
    fn has_room(&self, bytes: usize) -> bool {
        self.pending.is_empty() || self.pending.len() + bytes <= PENDING_BYTES_MAX
    }

    fn check_poison(&self) -> Result<(), WalError> {
        match &self.poison {
            Some(cause) => Err(WalError::Poisoned { cause: Arc::clone(cause) }),
            None => Ok(()),
        }
    }

    /// Wakes who waits for the next group, where nobody leads any more: each finds out for itself.
    fn wake_waiting(&mut self) {
        self.waiting.drain(..).for_each(|thread| thread.unpark());
    }

    fn take_pending(&mut self) -> Vec<u8> {
        let empty = std::mem::take(&mut self.spare);
        debug_assert!(self.in_flight.is_empty());
        self.leading = true;
        std::mem::swap(&mut self.waiting, &mut self.in_flight);
        self.pending_ts = self.next_ts;
        std::mem::replace(&mut self.pending, empty)
    }

    /// Keeps a written buffer for the group after the next, unless a huge record made it huge.
    fn recycle(&mut self, mut group: Vec<u8>) {
        if group.capacity() <= 2 * PENDING_BYTES_MAX {
            group.clear();
            self.spare = group;
        }
    }
}
