//! Failed logins, counted by the name that was given, whether or not there is such a user.
//!
//! Names of users are few and stay; names that are none's come from anybody, in any number. Of
//! these the last ones are remembered, in two halves of which the older one is forgotten when the
//! younger is full, so that whoever tries many of them costs little and makes nobody forget a
//! user's.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use telar_db::query::{ErrorKind, QueryError};

use super::failure::server_error;
use super::names::USER_BYTES_MAX;
use super::settings::Security;

/// Names of nobody in each half.
const HALF: usize = 50_000;

/// Failed logins in a row.
#[derive(Debug)]
pub(super) struct Attempts {
    max: u32,
    lockout: Duration,
    failed: Mutex<Names>,
}

#[derive(Debug, Default)]
struct Names {
    users: HashMap<String, Failed>,
    younger: HashMap<String, Failed>,
    older: HashMap<String, Failed>,
}

#[derive(Debug, Clone, Copy)]
struct Failed {
    times: u32,
    last: Instant,
}

impl Names {
    fn get(&self, name: &str) -> Option<Failed> {
        [&self.users, &self.younger, &self.older].iter().find_map(|all| all.get(name)).copied()
    }

    fn remove(&mut self, name: &str) {
        for all in [&mut self.users, &mut self.younger, &mut self.older] {
            all.remove(name);
        }
    }
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
                               times in a row (auth.failed_logins): wait a moment \
                               (auth.lockout).";
                Err(server_error(ErrorKind::RateLimited, message))
            }
            _ => Ok(()),
        }
    }

    /// Forgets the failures of a name.
    pub(super) fn succeeded(&self, name: &str) {
        self.failed.lock().remove(key(name));
    }

    /// Counts a failure of a name, which is a user's or not. Whether it locks the name out.
    pub(super) fn failed(&self, name: &str, is_user: bool) -> bool {
        let name = key(name);
        let mut all = self.failed.lock();
        let times = all.get(name).map_or(0, |failed| failed.times).saturating_add(1);
        let failed = Failed { times, last: Instant::now() };
        all.remove(name);
        if is_user {
            all.users.insert(name.to_owned(), failed);
        } else {
            if all.younger.len() >= HALF {
                all.older = std::mem::take(&mut all.younger);
            }
            all.younger.insert(name.to_owned(), failed);
        }
        times >= self.max
    }
}

/// Names of any length come from anybody; those of users are not longer than this.
pub(super) fn key(name: &str) -> &str {
    &name[..name.floor_char_boundary(USER_BYTES_MAX)]
}

#[test]
fn names_are_locked_out_for_a_while_after_failures_in_a_row() {
    let lockout = Duration::from_secs(3600);
    let security = Security { failed_logins_max: 3, lockout, ..Security::default() };
    let mut attempts = Attempts::new(&security);
    assert!(!attempts.failed("ann", true) && !attempts.failed("ann", true));
    attempts.succeeded("ann");
    assert!(!attempts.failed("ann", true) && !attempts.failed("ann", true));
    assert!(attempts.check("ann").is_ok());
    assert!(attempts.failed("ann", true));
    assert!(attempts.check("ann").is_err() && attempts.check("bob").is_ok());
    attempts.lockout = Duration::ZERO;
    assert!(attempts.check("ann").is_ok(), "it is over");
    attempts.lockout = lockout;
    assert!(attempts.failed("ann", true), "one more failure locks out again");

    assert!(!attempts.failed("eve", false) && !attempts.failed("eve", false));
    assert!(attempts.failed("eve", false));
    assert!(attempts.check("eve").is_err(), "there is no such user, which nobody is to find out");

    attempts.failed("ann", true);
    (0..3 * HALF).for_each(|n| _ = attempts.failed(&n.to_string(), false));
    let names = attempts.failed.lock();
    assert!(names.younger.len() + names.older.len() <= 2 * HALF);
    assert!(names.get("ann").is_some() && names.get("eve").is_none());
}
