//! Opening LMDB's environment, also right after this process has dropped the last handle of it.
//!
//! A read transaction of a former generation ends on whichever thread frees what the epoch holds
//! (`mapped/generation.rs`), and until it has, the environment is open. If that thread has no
//! processor just then, a database that was dropped a moment ago is still there. Its lock is free,
//! so nobody uses it: whoever opens it anew waits.
#![expect(unsafe_code, reason = "LMDB maps a file that others could change")]

use std::path::Path;
use std::time::{Duration, Instant};

use heed::{Env, EnvOpenOptions, WithoutTls};

use crate::reclaim;

/// How long an opening waits for a dropped database to let go of its store: microseconds, unless
/// the thread that frees its last part waits for a processor.
pub(super) const RELEASE_MAX: Duration = Duration::from_secs(10);
/// The same, to read: another reader of this process may have the store open, and keep it.
pub(super) const RELEASE_TO_READ_MAX: Duration = Duration::from_millis(500);
/// How long at once.
const STEP: Duration = Duration::from_millis(5);

/// Opens the environment in `path`; while this process has it open, tries again for `patience`.
///
/// # Safety
/// As of [`EnvOpenOptions::open`]: the file is only changed through LMDB.
///
/// # Errors
/// [`heed::Error::EnvAlreadyOpened`] after `patience`; all others at once.
pub(super) unsafe fn open(
    options: &EnvOpenOptions<WithoutTls>,
    path: &Path,
    patience: Duration,
) -> Result<Env<WithoutTls>, heed::Error> {
    let since = Instant::now();
    loop {
        // SAFETY: the caller's.
        match unsafe { options.open(path) } {
            Err(heed::Error::EnvAlreadyOpened) if since.elapsed() < patience => {
                // The last part may be this thread's to free.
                reclaim::collect();
                let opened = path.canonicalize().ok().and_then(heed::env_closing_event);
                if let Some(closing) = opened {
                    closing.wait_timeout(STEP);
                }
            }
            other => return other,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Barrier;

    fn open_for(path: &Path, patience: Duration) -> Result<Env<WithoutTls>, heed::Error> {
        let options = EnvOpenOptions::new().read_txn_without_tls();
        // SAFETY: a folder of this test's own.
        unsafe { open(&options, path, patience) }
    }

    #[test]
    fn an_environment_that_another_thread_is_about_to_close_is_waited_for() {
        let dir = tempfile::tempdir().unwrap();
        let held = open_for(dir.path(), RELEASE_MAX).unwrap();
        let transaction = held.clone().static_read_txn().unwrap();
        drop(held);
        let both = Barrier::new(2);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                let transaction = transaction;
                both.wait();
                std::thread::sleep(20 * STEP);
                drop(transaction);
            });
            both.wait();
            open_for(dir.path(), RELEASE_MAX).unwrap();
        });
    }

    #[test]
    fn what_only_the_epoch_holds_is_freed_by_whoever_opens_again() {
        let dir = tempfile::tempdir().unwrap();
        let held = open_for(dir.path(), RELEASE_MAX).unwrap();
        crossbeam_epoch::pin().defer(move || drop(held));
        open_for(dir.path(), RELEASE_MAX).unwrap();
    }

    #[test]
    fn an_environment_that_stays_open_is_refused() {
        let dir = tempfile::tempdir().unwrap();
        let _held = open_for(dir.path(), RELEASE_MAX).unwrap();
        let refused = open_for(dir.path(), 4 * STEP);
        assert!(matches!(refused, Err(heed::Error::EnvAlreadyOpened)), "{refused:?}");
    }
}
