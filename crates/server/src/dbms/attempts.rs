//! Failed logins, counted by the name that was given, whether or not there is such a user.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use telar_db::query::{ErrorKind, QueryError};

use super::failure::server_error;
use super::names::USER_BYTES_MAX;
use super::settings::Security;

/// Names that are remembered: whoever tries more of them makes us forget the oldest failures.
const NAMES_MAX: usize = 10_000;

/// Failed logins in a row.
#[derive(Debug)]
pub(super) struct Attempts {
    max: u32,
    lockout: Duration,
    failed: Mutex<HashMap<String, Failed>>,
}

#[derive(Debug, Clone, Copy)]
struct Failed {
    times: u32,
    last: Instant,
}

impl Attempts {
    pub(super) fn new(security: &Security) -> Self {
        let (max, lockout) = (security.failed_logins_max.max(1), security.lockout);
        Self { max, lockout, failed: Mutex::default() }
    }

    /// # Errors
    /// If the name is locked out.
    pub(super) fn check(&self, name: &str) -> Result<(), QueryError> {
        match self.failed.lock().get(key(name)) {
            Some(failed) if failed.times >= self.max && failed.last.elapsed() < self.lockout => {
                let message = "The client has provided incorrect authentication details too many \
                               times in a row.";
                Err(server_error(ErrorKind::RateLimited, message))
            }
            _ => Ok(()),
        }
    }

    /// Forgets the failures of a name.
    pub(super) fn succeeded(&self, name: &str) {
        self.failed.lock().remove(key(name));
    }

    /// Counts a failure. Whether it locks the name out.
    pub(super) fn failed(&self, name: &str) -> bool {
        let name = key(name);
        let mut all = self.failed.lock();
        if all.len() >= NAMES_MAX && !all.contains_key(name) {
            all.retain(|_, failed| failed.last.elapsed() < self.lockout);
            if all.len() >= NAMES_MAX {
                let oldest = all.iter().min_by_key(|(_, failed)| failed.last);
                if let Some(oldest) = oldest.map(|(name, _)| name.clone()) {
                    all.remove(&oldest);
                }
            }
        }
        let failed =
            all.entry(name.to_owned()).or_insert(Failed { times: 0, last: Instant::now() });
        failed.times = failed.times.saturating_add(1);
        failed.last = Instant::now();
        failed.times >= self.max
    }
}

/// Names of any length come from anybody; those of users are not longer than this.
fn key(name: &str) -> &str {
    &name[..name.floor_char_boundary(USER_BYTES_MAX)]
}

#[test]
fn names_are_locked_out_for_a_while_after_failures_in_a_row() {
    let lockout = Duration::from_millis(200);
    let security = Security { failed_logins_max: 3, lockout, ..Security::default() };
    let attempts = Attempts::new(&security);
    assert!(!attempts.failed("ann") && !attempts.failed("ann"));
    attempts.succeeded("ann");
    assert!(!attempts.failed("ann") && !attempts.failed("ann"));
    assert!(attempts.check("ann").is_ok());
    assert!(attempts.failed("ann"));
    assert!(attempts.check("ann").is_err() && attempts.check("bob").is_ok());
    std::thread::sleep(lockout);
    assert!(attempts.check("ann").is_ok());
    assert!(attempts.failed("ann"), "one more failure locks out again");

    (0..2 * NAMES_MAX).for_each(|n| _ = attempts.failed(&n.to_string()));
    assert!(attempts.failed.lock().len() <= NAMES_MAX);
}
