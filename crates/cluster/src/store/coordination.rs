//! Small shared values with versions: leases, members, settings of the cluster.
//!
//! Promises of every implementation, checked by `tests/conformance`:
//!
//! - *Compare and set*: of all that replace one version of a key, one wins.
//! - *Versions grow* and are never used twice for a key.
//! - *`get` and `list` are linearizable*, key by key; `list` is no snapshot of several keys.
//! - *`watch` may be late and skip values*, but never rests: a change is shown in the end.

use std::fmt;
use std::thread;
use std::time::{Duration, Instant};

use super::{Name, StoreError};

/// Longest value in bytes. A member's record has some hundred, users and databases some 10 KB.
pub const VALUE_BYTES_MAX: usize = 256 << 10;
/// Time between two looks of the default [`Coordination::watch`].
const POLL: Duration = Duration::from_millis(20);

/// The number of a key's last change.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(transparent)]
pub struct Version(u64);

impl Version {
    /// The version of a key that is not there.
    pub const ABSENT: Self = Self(0);

    /// Returns the version that a store knows by this number.
    #[must_use]
    pub fn from_raw(number: u64) -> Self {
        Self(number)
    }

    /// Returns the store's number.
    #[must_use]
    pub fn get(self) -> u64 {
        self.0
    }
}

/// A key with its value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// The key.
    pub key: Name,
    /// The value.
    pub value: Vec<u8>,
    /// Its version.
    pub version: Version,
}

/// The outcome of a compare-and-set.
#[derive(Debug)]
pub enum PutIf {
    /// The key has had the new value, in this version.
    Won(Version),
    /// The key had another version than expected, and keeps it; shown is what is there, if
    /// anything.
    Lost(Option<Entry>),
    /// The key may have the new value now or later.
    Unknown(StoreError),
}

/// Small shared values.
pub trait Coordination: Send + Sync + fmt::Debug {
    /// Returns the value of `key`, or `None` if it was never set.
    ///
    /// # Errors
    /// Failures of the store.
    fn get(&self, key: &Name) -> Result<Option<Entry>, StoreError>;

    /// Sets `key` to `value` if its version is `expected`; [`Version::ABSENT`] for one that is not
    /// there.
    ///
    /// Cost: one durable write in the store.
    ///
    /// # Errors
    /// [`StoreError::TooLarge`] above [`VALUE_BYTES_MAX`], and what the store reports as long as
    /// the value cannot come to be set.
    fn put_if(&self, key: &Name, expected: Version, value: &[u8]) -> Result<PutIf, StoreError>;

    /// Returns the keys that begin with `prefix`, with their values, in order.
    ///
    /// # Errors
    /// Failures of the store.
    fn list(&self, prefix: &str) -> Result<Vec<Entry>, StoreError>;

    /// Returns the keys that begin with `prefix` as soon as they differ from `seen`, and otherwise
    /// `seen` after `wait`. What is compared is the state, so a watcher that was cut off misses no
    /// change that still matters.
    ///
    /// # Errors
    /// Failures of the store.
    fn watch(
        &self,
        prefix: &str,
        seen: &[Entry],
        wait: Duration,
    ) -> Result<Vec<Entry>, StoreError> {
        let end = Instant::now() + wait;
        loop {
            let found = self.list(prefix)?;
            let left = end.saturating_duration_since(Instant::now());
            if found != seen || left.is_zero() {
                return Ok(found);
            }
            thread::sleep(POLL.min(left));
        }
    }
}
