//! Time limits of an election.

use std::time::Duration;

/// A moment on this process's monotonic clock, as time since some fixed one. Moments of different
/// processes are never compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Moment(Duration);

impl Moment {
    /// Returns the moment at this time after the clock's beginning.
    #[must_use]
    pub fn from_start(time: Duration) -> Self {
        Self(time)
    }

    /// Returns the time since the clock's beginning.
    #[must_use]
    pub fn since_start(self) -> Duration {
        self.0
    }

    /// Returns the moment that is later by `time`.
    #[must_use]
    pub fn after(self, time: Duration) -> Self {
        Self(self.0.saturating_add(time))
    }

    /// Returns the time since `earlier`; zero if that is later.
    #[must_use]
    pub fn since(self, earlier: Self) -> Duration {
        self.0.saturating_sub(earlier.0)
    }
}

/// Time limits; the same on all nodes of a cluster.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    /// How long a lease holds after its renewal was sent.
    pub ttl: Duration,
    /// How much longer others wait: room for clocks that run at different speeds, up to margin /
    /// TTL apart. The default's sixth is far above any clock's error.
    pub margin: Duration,
    /// Time between two renewals: several fit into a TTL.
    pub renew_every: Duration,
    /// Time between two looks at another's lease.
    pub watch_every: Duration,
    /// Time between two reads at the end of the log.
    pub follow_every: Duration,
    /// Time after which a request without an answer has an unknown outcome.
    pub request_timeout: Duration,
    /// Time between a failed or unknown request and the next.
    pub retry_after: Duration,
}

impl Default for Settings {
    /// A killed leader's successor leads before drivers have made their third attempt: they pause
    /// for 1, 2 and 4 s, a fifth more or less (docs/decisions/0105).
    fn default() -> Self {
        Self {
            ttl: Duration::from_millis(2500),
            margin: Duration::from_millis(420),
            renew_every: Duration::from_millis(750),
            watch_every: Duration::from_millis(200),
            follow_every: Duration::from_millis(50),
            request_timeout: Duration::from_millis(1000),
            retry_after: Duration::from_millis(100),
        }
    }
}
