//! The background thread: settles idle segments, loads indexes that are used, links vectors and
//! writes their graphs, keeps to the memory limit, looks whether the files are still there, writes
//! checkpoints when the log has grown.

use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use crate::checkpoint::{relief, save_near};
use crate::reclaim;
use crate::shared::Shared;

/// Vectors are linked for so long in one pass.
const LINKING: Duration = Duration::from_secs(1);
/// Passes between two looks at the size of the log.
const PASSES_PER_LOG_CHECK: u32 = 5;

#[derive(Debug, Default)]
struct Stop {
    asked: Mutex<bool>,
    changed: Condvar,
}

/// The running thread; ends when dropped.
#[derive(Debug)]
pub(crate) struct Background {
    stop: Arc<Stop>,
    thread: Option<JoinHandle<()>>,
}

impl Background {
    /// Starts it, unless the settings want none.
    pub(crate) fn start(shared: &Arc<Shared>) -> Option<Self> {
        let interval = Duration::from_millis(shared.settings.background_interval_ms);
        if interval.is_zero() {
            return None;
        }
        let stop = Arc::new(Stop::default());
        let (thread_stop, shared) = (Arc::clone(&stop), Arc::clone(shared));
        let thread = std::thread::Builder::new()
            .name("telar-background".into())
            .spawn(move || run(&shared, &thread_stop, interval))
            .ok()?;
        Some(Self { stop, thread: Some(thread) })
    }
}

impl Drop for Background {
    fn drop(&mut self) {
        *self.stop.asked.lock().unwrap_or_else(PoisonError::into_inner) = true;
        self.stop.changed.notify_all();
        if let Some(thread) = self.thread.take() {
            // A pass that panicked has nothing to hand over.
            drop(thread.join());
        }
    }
}

/// Ends writing if the folder is gone: the kernel would take the writes, and nobody find them.
/// Cost: a look at two open files.
fn check_files(shared: &Shared) {
    let Some(d) = &shared.durable else { return };
    if d.store.lock().is_named() {
        d.wal.check_named();
    } else {
        d.wal.refuse_without(d.store.root().join("LOCK"));
    }
}

fn run(shared: &Shared, stop: &Stop, interval: Duration) {
    let mut passes = 0u32;
    // Segments not written to for a whole interval are idle.
    let mut idle_before = 0;
    loop {
        let asked = stop.asked.lock().unwrap_or_else(PoisonError::into_inner);
        let (asked, _) = stop
            .changed
            .wait_timeout_while(asked, interval, |asked| !*asked)
            .unwrap_or_else(PoisonError::into_inner);
        if *asked {
            return;
        }
        drop(asked);
        let now = shared.clock.published();
        shared.timeline.note(now);
        if now != 0 {
            shared.settle_all(Some(idle_before));
        }
        shared.indexes.load_wanted(shared);
        let is_asked = || *stop.asked.lock().unwrap_or_else(PoisonError::into_inner);
        shared.indexes.link_until(shared, &is_asked, Instant::now() + LINKING);
        save_near(shared);
        relief::pass(shared);
        check_files(shared);
        reclaim::collect();
        idle_before = now;
        passes = passes.wrapping_add(1);
        let limit = shared.settings.checkpoint_wal_bytes;
        if limit > 0
            && passes.is_multiple_of(PASSES_PER_LOG_CHECK)
            && let Some(d) = &shared.durable
            && d.store.log_bytes() > limit
        {
            // A failed checkpoint leaves the last one in force; the log keeps growing and the next
            // pass tries again. A poisoned log is reported to the writers.
            drop(crate::checkpoint::checkpoint(shared));
        }
    }
}
