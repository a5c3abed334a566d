//! Opening LMDB's environment, also right after this process has dropped the last handle of it.
//!
//! A read transaction of a former generation ends on whichever thread frees what the epoch holds
//! (`mapped/generation.rs`), and until it has, the environment is open. If that thread has no
//! processor just then, a database that was dropped a moment ago is still there. Its lock is free,
//! so nobody uses it: whoever opens it anew waits.
#![expect(unsafe_code, reason = "LMDB maps a file that others could change")]

use std::path::Path;
use std::time::{Duration, Instant};

use heed::types::Bytes;
use heed::{CommitOrAbort, Database, Env, EnvFlags, EnvOpenOptions, WithoutTls};

use super::Access;
use crate::error::Error;
use crate::reclaim;
use crate::settings::Settings;

/// Most generations of the store that readers hold at a time: LMDB's reader slots.
const GENERATIONS_MAX: u32 = 4096;

/// The longest wait of an opening for a dropped database to let go of its store. That takes
/// microseconds, unless the thread that frees its last part waits for a processor.
const RELEASE_MAX: Duration = Duration::from_secs(10);
/// The same, to read: another reader of this process may have the store open, and keep it.
const RELEASE_TO_READ_MAX: Duration = Duration::from_secs(3);
/// Least address space that a store is opened with where there is little.
const MAP_BYTES_MIN: usize = 1 << 30;
/// Time of one wait.
const STEP: Duration = Duration::from_millis(5);

/// LMDB's handle, and its database without a name.
pub(super) type Environment = (Env<WithoutTls>, Database<'static, Bytes, Bytes>);

/// Opens the store in `path`; it makes the file if it may write.
pub(super) fn open(path: &Path, settings: &Settings, access: Access) -> Result<Environment, Error> {
    let store = |source| Error::Store { path: path.into(), source };
    let mut options = EnvOpenOptions::new().read_txn_without_tls();
    let bytes_max = usize::try_from(settings.store_bytes_max).unwrap_or(usize::MAX);
    options.max_readers(GENERATIONS_MAX);
    let patience = match access {
        Access::Write => RELEASE_MAX,
        Access::Read => RELEASE_TO_READ_MAX,
    };
    if access == Access::Read {
        // SAFETY: without LMDB's lock file nobody may write: our own lock sees to that.
        unsafe { options.flags(EnvFlags::READ_ONLY | EnvFlags::NO_LOCK) };
    }
    let env =
        open_mapped(&mut options, path, bytes_max, patience).map_err(|error| match error {
            heed::Error::EnvAlreadyOpened => Error::Locked {
                path: path.into(),
                holder: "this process".to_owned(),
                shares: false,
            },
            error => store(error),
        })?;
    let database = match access {
        Access::Write => {
            let txn = env.write_txn().map_err(store)?;
            let made = env.create_databases_and_commit(txn, |dbo, txn| {
                dbo.create_database(txn, None).map(CommitOrAbort::<_, ()>::Commit)
            });
            made.map_err(store)?.unwrap_commit()
        }
        Access::Read => {
            let txn = env.read_txn().map_err(store)?;
            let found = env.open_databases_and_commit(txn, |dbo, txn| {
                dbo.open_database(txn, None).map(CommitOrAbort::<_, ()>::Commit)
            });
            let found = found.map_err(store)?.unwrap_commit();
            found.expect("INVARIANT: the database without a name is always there")
        }
    };
    Ok((env, database))
}

/// Opens the environment with `bytes_max` of address space, or with half of that and so on where
/// there is less: under a limit (`ulimit -v`), on ARM with addresses of 39 bits, in emulators. The
/// store cannot grow beyond it then.
fn open_mapped(
    options: &mut EnvOpenOptions<WithoutTls>,
    path: &Path,
    bytes_max: usize,
    patience: Duration,
) -> Result<Env<WithoutTls>, heed::Error> {
    let stored = std::fs::metadata(path.join("data.mdb")).map_or(0, |file| file.len());
    let least = MAP_BYTES_MIN.max(2 * usize::try_from(stored).unwrap_or(usize::MAX / 2));
    let mut bytes = bytes_max;
    loop {
        options.map_size(bytes & !0xFFFF);
        match open_within(options, path, patience) {
            Err(heed::Error::Io(error))
                if error.kind() == std::io::ErrorKind::OutOfMemory && bytes / 2 >= least =>
            {
                bytes /= 2;
            }
            other => return other,
        }
    }
}

/// Opens the environment; while this process has it open, tries again for `patience`.
fn open_within(
    options: &EnvOpenOptions<WithoutTls>,
    path: &Path,
    patience: Duration,
) -> Result<Env<WithoutTls>, heed::Error> {
    let since = Instant::now();
    loop {
        // SAFETY: the file is only changed through LMDB; our lock keeps other processes, and other
        // handles of this one, away from it.
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
        open_within(&options, path, patience)
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
