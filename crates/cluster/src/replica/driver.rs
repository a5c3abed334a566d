//! The threads of a replica: one for the lease, one for log and copy, and one that reads nodes of
//! the store that do not lead, where a store has some, while the log does not answer.
//!
//! Groups of a leader are put by the threads that commit. So neither a slow put nor a long
//! application of the log keeps the lease from being renewed.

use std::sync::Arc;
use std::thread::{self, JoinHandle};

use super::core::{Core, State};
use super::follower::Copy;

/// Works until the core is stopped; waits while `work` did nothing and `is_idle`.
fn go_on(core: &Arc<Core>, work: impl Fn(&Arc<Core>) -> bool, is_idle: impl Fn(&State) -> bool) {
    while core.state().stopped.is_none() {
        if !work(core) {
            let state = core.state();
            if is_idle(&state) {
                drop(core.wait(state));
            }
        }
    }
}

#[derive(Debug)]
pub(super) struct Driver {
    threads: Vec<JoinHandle<()>>,
}

impl Driver {
    /// Starts the threads; they end when the core is stopped.
    pub(super) fn start(core: &Arc<Core>, copy: &Arc<Copy>) -> std::io::Result<Self> {
        let (of_lease, of_log, copy) = (Arc::clone(core), Arc::clone(core), Arc::clone(copy));
        let lease = move || {
            go_on(&of_lease, |core| core.lease_work(), |state| state.lease.is_empty());
            // What gives the lease up may still wait: others would wait for it to lapse.
            if of_lease.state().election.may_hold_lease() {
                of_lease.lease_work();
            }
        };
        let stale = core.log.reads_stale().then(|| {
            let (core, copy) = (Arc::clone(core), Arc::clone(&copy));
            move || copy.keep_reading_stale(&core)
        });
        let log = move || go_on(&of_log, |core| copy.log_work(core), |state| state.log.is_empty());
        let mut driver = Self { threads: Vec::new() };
        let named = |name: &str| thread::Builder::new().name(name.into());
        let lease = named("telar-lease").spawn(lease);
        let log = named("telar-follow").spawn(log);
        let stale = stale.map(|stale| named("telar-stale").spawn(stale));
        for thread in [lease, log].into_iter().chain(stale) {
            match thread {
                Ok(thread) => driver.threads.push(thread),
                Err(cause) => {
                    core.stop(format!("no thread could be started: {cause}"));
                    driver.join();
                    return Err(cause);
                }
            }
        }
        Ok(driver)
    }

    /// Waits until the threads have ended; the core has been stopped.
    pub(super) fn join(self) {
        for thread in self.threads {
            // One that panicked has nothing to hand over.
            drop(thread.join());
        }
    }
}
