//! History: reading at a past commit timestamp without holding anything back.
//!
//! ```text
//!   0 ........ floor ..................... watermark ......... published
//!              └── a snapshot can be opened ──────────────────────┘
//!                  └─ settled into bases: ─┘└─ told apart by the
//!                     told apart by undo       tails themselves
//! ```
//!
//! Settling goes on as if there were no history: bases and tails are the same, and so is every read
//! at the present. What settling would make indistinguishable is written down beside them: an
//! *undo entry* for each insert, delete or change of value that is newer than the *floor*, the
//! oldest timestamp that is retained.
//!
//! - `adjacency/undo.rs`, `adjacency/undo_block.rs`: undo entries of adjacency, packed, per table
//!   and segment.
//! - `column/undo.rs`: superseded values of columns.
//! - `changes.rs`, `rebuild.rs`: a segment as it was.
//! - `past.rs`: a snapshot at a past timestamp: the segments it touched, as they were.
//! - `index/past.rs`: index lookups in it.
//! - `stored.rs`, `checkpoint/history.rs`, `mapped/lazy.rs`: history in checkpoints, and what of it
//!   is in memory.
//! - `memory_log.rs`: the records of a database in memory, for the change stream.
//! - `free.rs`: which vertex ids can be used again.
//!
//! Invariants
//! 1. An undo entry is there before the base that settled what it undoes can be read. Who loads a
//!    version first and undo entries second misses none.
//! 2. The state of an edge (or value) at `t` is told by its *earliest* undo entry after `t`; if it
//!    has none, base and tail prefix tell. So undo entries newer than the version that was loaded
//!    do no harm.
//! 3. The floor only grows, and never past a past snapshot that is open. An entry is dropped only
//!    at or below it.
//!
//! Why like this: docs/decisions/0013-history-beside-the-bases.md.

pub(crate) mod changes;
pub(crate) mod free;
pub(crate) mod memory_log;
pub(crate) mod past;
pub(crate) mod rebuild;
pub(crate) mod stored;

use std::collections::{BTreeMap, VecDeque};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering, fence};
use std::time::{Duration, Instant};

use parking_lot::{Mutex, MutexGuard};
use telar_graph::CommitTs;

use crate::clock::wall::now_ms;
use crate::error::Error;
use crate::horizon::NONE;
use crate::settings::Retention;
use stored::About;

/// Samples of when which commit was the newest; half of them go when there are more.
const SAMPLES_MAX: usize = 1024;

/// How much history is kept, and who reads it.
#[derive(Debug)]
pub(crate) struct History {
    /// True from when history is kept until the database is closed.
    kept: AtomicBool,
    /// Copy of `State::floor`, for those that only want to keep enough.
    floor: AtomicU64,
    /// Whether the last checkpoint says what is retained.
    is_stored: AtomicBool,
    state: Mutex<State>,
}

/// How far back. A commit that either wants is kept.
#[derive(Debug, Clone, Copy)]
struct Retain {
    commits: u64,
    time: Duration,
}

#[derive(Debug, Default)]
struct State {
    retain: Option<Retain>,
    floor: u64,
    /// The oldest timestamp the change stream is kept from. Unlike the floor, a bulk load does not
    /// move it.
    log_floor: u64,
    /// Timestamps of open past snapshots, and how many there are of each.
    open: BTreeMap<u64, usize>,
    /// What was published when.
    samples: VecDeque<(Instant, u64)>,
    /// A bulk load is being installed: nothing is opened.
    paused: bool,
    /// When history began, by the wall clock in milliseconds since 1970, and what was the newest
    /// commit then; of a database that was open.
    began: Option<(u64, u64)>,
}

impl State {
    fn note(&mut self, published: u64) {
        if self.samples.back().is_some_and(|(_, last)| *last >= published) {
            return;
        }
        self.samples.push_back((Instant::now(), published));
        if self.samples.len() > SAMPLES_MAX {
            // The newer half stays whole, so that steps stay a small share of any age.
            let mut number = 0;
            self.samples.retain(|_| {
                number += 1;
                number > SAMPLES_MAX / 2 || number % 2 == 0
            });
        }
    }

    /// The newest commit that was already published `time` ago.
    fn published_before(&self, time: Duration) -> u64 {
        let old = self.samples.partition_point(|(seen, _)| seen.elapsed() >= time);
        old.checked_sub(1).map_or(0, |at| self.samples[at].1)
    }

    fn advance(&mut self, published: u64) -> u64 {
        let Some(retain) = self.retain else { return NONE };
        self.note(published);
        let by_count = match retain.commits {
            0 => u64::MAX,
            n => published.saturating_sub(n),
        };
        let by_time = match retain.time {
            Duration::ZERO => u64::MAX,
            time => self.published_before(time),
        };
        let wanted = by_count.min(by_time);
        let read = self.open.first_key_value().map_or(u64::MAX, |(ts, _)| *ts);
        self.floor = self.floor.max(wanted.min(read));
        self.log_floor = self.log_floor.max(wanted);
        self.floor
    }
}

impl History {
    /// History of a database that is new.
    pub(crate) fn new(wanted: Retention) -> Self {
        Self::opened(wanted, None, 0)
    }

    /// History of a database with a checkpoint at `checkpoint`, which says this about it.
    pub(crate) fn opened(wanted: Retention, stored: Option<About>, checkpoint: u64) -> Self {
        let retain = match wanted {
            Retention::AsStored => stored.map(|about| (about.commits, about.ms)),
            Retention::Off => None,
            Retention::Keep { commits, ms } => Some((commits, ms)),
        };
        let is_stored = retain == stored.map(|about| (about.commits, about.ms));
        let retain =
            retain.map(|(commits, ms)| Retain { commits, time: Duration::from_millis(ms) });
        let floor = match (&retain, stored) {
            (None, _) => NONE,
            // What was settled while no history was kept is gone.
            (Some(_), None) => checkpoint,
            (Some(_), Some(about)) => about.floor.min(checkpoint),
        };
        let kept = AtomicBool::new(retain.is_some());
        let state = Mutex::new(State { retain, floor, ..State::default() });
        let is_stored = AtomicBool::new(is_stored);
        Self { kept, floor: AtomicU64::new(floor), is_stored, state }
    }

    /// Keeps history from now on, or this much of it from now on, if some is kept. `published` says
    /// what the newest commit is that a reader would see. Whether it began.
    ///
    /// Nothing that is newer than the floor was settled without being written down: who settles
    /// reads the watermark, and then whether history is kept ([`Graph::horizon`]). Who finds that
    /// it is not has a watermark that was published before it was, and the floor is what is
    /// published after that.
    ///
    /// [`Graph::horizon`]: crate::graph::Graph::horizon
    pub(crate) fn keep(&self, commits: u64, ms: u64, published: impl Fn() -> u64) -> bool {
        let mut state = self.unpaused();
        state.retain = Some(Retain { commits, time: Duration::from_millis(ms) });
        self.is_stored.store(false, Ordering::Relaxed);
        if self.is_kept() {
            return false;
        }
        self.floor.store(published(), Ordering::Relaxed);
        self.kept.store(true, Ordering::SeqCst);
        fence(Ordering::SeqCst);
        let floor = published();
        (state.floor, state.log_floor) = (floor, floor);
        self.floor.store(floor, Ordering::Relaxed);
        state.began = Some((now_ms(), floor));
        state.note(floor);
        true
    }

    /// The newest commit at a time of the wall clock, if history had begun while the database was
    /// open by then; there may be later ones.
    pub(crate) fn begun_at(&self, time_ms: u64) -> Option<u64> {
        let began = self.state.lock().began;
        began.filter(|(ms, _)| *ms <= time_ms).map(|(_, ts)| ts)
    }

    /// Commits and milliseconds that are retained.
    pub(crate) fn limits(&self) -> (u64, u64) {
        let ms = |time: Duration| u64::try_from(time.as_millis()).unwrap_or(u64::MAX);
        let retain = self.state.lock().retain;
        retain.map_or((0, 0), |retain| (retain.commits, ms(retain.time)))
    }

    /// Whether the last checkpoint says what is retained.
    pub(crate) fn is_stored(&self) -> bool {
        self.is_stored.load(Ordering::Relaxed)
    }

    /// A checkpoint says it now.
    pub(crate) fn set_stored(&self) {
        self.is_stored.store(true, Ordering::Relaxed);
    }

    /// Whether any history is kept.
    #[inline]
    pub(crate) fn is_kept(&self) -> bool {
        self.kept.load(Ordering::SeqCst)
    }

    /// The oldest retained timestamp as last computed; [`NONE`] without history.
    #[inline]
    pub(crate) fn floor(&self) -> u64 {
        // ORDERING: a value too old only keeps more than is needed.
        self.floor.load(Ordering::Relaxed)
    }

    /// Moves the floor as far as settings and open snapshots allow; returns it.
    pub(crate) fn advance(&self, published: u64) -> u64 {
        if !self.is_kept() {
            return NONE;
        }
        let mut state = self.state.lock();
        let floor = state.advance(published);
        self.floor.store(floor, Ordering::Relaxed);
        floor
    }

    /// The oldest timestamp that the change stream is kept from; [`NONE`] without history.
    pub(crate) fn log_floor(&self) -> u64 {
        if self.is_kept() { self.state.lock().log_floor } else { NONE }
    }

    /// The same, if nothing after the durable commit `at` should survive a crash.
    pub(crate) fn log_floor_at(&self, at: u64) -> u64 {
        if !self.is_kept() {
            return NONE;
        }
        let state = self.state.lock();
        let commits = state.retain.map_or(0, |retain| retain.commits);
        state.log_floor.min(at.saturating_sub(commits))
    }

    /// Begins history at `ts`: there is nothing before it. Only forward.
    pub(crate) fn restart_at(&self, ts: u64) {
        if self.is_kept() {
            let mut state = self.state.lock();
            state.floor = state.floor.max(ts);
            self.floor.store(state.floor, Ordering::Relaxed);
        }
    }

    /// Opens `at` for reading; it stays retained until it is closed.
    pub(crate) fn open(&self, at: u64, published: u64) -> Result<(), Error> {
        let newest = CommitTs::from_raw(published);
        let asked = CommitTs::from_raw(at);
        if !self.is_kept() {
            return Err(Error::NotRetained { asked, oldest: newest, newest });
        }
        let mut state = self.unpaused();
        let floor = state.advance(published);
        self.floor.store(floor, Ordering::Relaxed);
        if at < floor || at > published {
            let oldest = CommitTs::from_raw(floor.min(published));
            return Err(Error::NotRetained { asked, oldest, newest });
        }
        *state.open.entry(at).or_default() += 1;
        Ok(())
    }

    /// The state, when no bulk load is being installed.
    fn unpaused(&self) -> MutexGuard<'_, State> {
        loop {
            let state = self.state.lock();
            if !state.paused {
                return state;
            }
            drop(state);
            std::thread::sleep(Duration::from_millis(1));
        }
    }

    /// Ends a reader at `at`.
    pub(crate) fn close(&self, at: u64) {
        let mut state = self.state.lock();
        if let Some(count) = state.open.get_mut(&at) {
            *count -= 1;
            if *count == 0 {
                state.open.remove(&at);
            }
        }
    }

    /// Past snapshots open now.
    pub(crate) fn readers(&self) -> usize {
        self.state.lock().open.values().sum()
    }

    /// Makes those wait that want to open a past snapshot.
    pub(crate) fn pause(&self, paused: bool) {
        self.state.lock().paused = paused;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn history(commits: u64, ms: u64) -> History {
        History::new(Retention::Keep { commits, ms })
    }

    #[test]
    fn floor_follows_the_count_and_stops_at_open_snapshots() {
        let h = history(10, 0);
        assert_eq!(h.advance(5), 0);
        assert_eq!(h.advance(30), 20);
        h.open(25, 30).unwrap();
        h.open(25, 30).unwrap();
        assert_eq!(h.advance(100), 25);
        h.close(25);
        assert_eq!(h.advance(100), 25, "one of the two is still open");
        h.close(25);
        assert_eq!(h.advance(100), 90);
        assert!(matches!(h.open(89, 100), Err(Error::NotRetained { oldest, .. })
            if oldest == CommitTs::from_raw(90)));
        assert!(h.open(101, 100).is_err());
    }

    #[test]
    fn floor_follows_the_time_and_either_limit_keeps() {
        // Long enough for a thread that waits for a processor between two looks at the clock.
        let h = history(0, 900);
        assert_eq!(h.advance(7), 0);
        std::thread::sleep(Duration::from_millis(1000));
        assert_eq!(h.advance(9), 7, "published that long ago");
        let both = history(5, 60_000);
        both.advance(1);
        assert_eq!(both.advance(100), 0, "the time keeps what the count would not");
    }

    #[test]
    fn history_that_begins_reaches_back_to_what_was_published_then() {
        let h = History::new(Retention::Off);
        assert!(h.is_stored());
        let published = std::cell::Cell::new(6);
        // Published between the two looks: settled by somebody who found no history.
        assert!(h.keep(10, 0, || published.replace(published.get() + 1)));
        assert_eq!((h.floor(), h.limits(), h.is_stored()), (7, (10, 0), false));
        assert_eq!((h.begun_at(0), h.begun_at(u64::MAX)), (None, Some(7)));
        assert!(h.open(6, 8).is_err() && h.open(7, 8).is_ok());
        h.close(7);
        assert_eq!(h.advance(30), 20);
        assert!(!h.keep(3, 0, || unreachable!("it is kept")));
        assert_eq!(h.advance(30), 27);
        assert!(!h.keep(100, 0, || unreachable!("it is kept")));
        assert_eq!((h.advance(31), h.log_floor_at(31)), (27, 0), "what is gone does not come back");
    }

    #[test]
    fn without_retention_nothing_can_be_opened() {
        let h = History::new(Retention::Off);
        assert_eq!((h.advance(9), h.floor()), (NONE, NONE));
        assert!(h.open(9, 9).is_err());
    }
}
