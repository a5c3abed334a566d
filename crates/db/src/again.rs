//! When a statement that lost a conflict is run again.
//!
//! One that holds what it is about to write ([`Again::wait_for_turn`]) is next: it comes at once,
//! and nobody who waits for it waits for a pause.
//!
//! Whoever loses was beaten by a commit, so somebody gets on whatever the others do. The first
//! tries come at once: most conflicts are over then. Later ones wait, each for a random part of a
//! time that doubles, so that many who want the same do not meet again and again.
//! docs/decisions/0034 has the figures.

use std::hash::BuildHasher;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use foldhash::fast::RandomState;

/// Times a statement is run again.
const TRIES_MAX: u32 = 100;
/// Tries that come at once.
const AT_ONCE: u32 = 2;
/// The same, of a statement that others wait for.
const AT_ONCE_IN_TURN: u32 = 16;
/// The longest that the first try after these waits.
const WAIT: Duration = Duration::from_micros(200);
/// The longest that any waits.
const WAIT_MAX: Duration = Duration::from_millis(25);

/// The tries of one statement.
#[derive(Debug)]
pub(crate) struct Again<'a> {
    tries: u32,
    deadline: Option<Instant>,
    cancelled: Option<&'a AtomicBool>,
}

impl<'a> Again<'a> {
    /// For a statement that has not been tried; there is no other try after `deadline`, or once it
    /// is `cancelled`.
    pub(crate) fn new(deadline: Option<Instant>, cancelled: Option<&'a AtomicBool>) -> Self {
        Self::after(0, deadline, cancelled)
    }

    /// The same for one that was run again so many times.
    pub(crate) fn after(
        tries: u32,
        deadline: Option<Instant>,
        cancelled: Option<&'a AtomicBool>,
    ) -> Self {
        Self { tries, deadline, cancelled }
    }

    /// Waits until the next try. Whether there is to be one.
    pub(crate) fn wait(&mut self) -> bool {
        self.wait_after(AT_ONCE)
    }

    /// The same for one that others wait for: more tries come at once.
    pub(crate) fn wait_for_turn(&mut self) -> bool {
        self.wait_after(AT_ONCE_IN_TURN)
    }

    fn wait_after(&mut self, at_once: u32) -> bool {
        self.tries += 1;
        if self.tries > TRIES_MAX {
            return false;
        }
        let random = RandomState::default().hash_one(self.tries);
        let wait = wait(self.tries.saturating_sub(at_once), random);
        let left = self.deadline.map(|end| end.saturating_duration_since(Instant::now()));
        if left.is_some_and(|left| left <= wait) {
            return false;
        }
        if !wait.is_zero() {
            thread::sleep(wait);
        }
        // ORDERING: relaxed, as nothing else is read because of the flag.
        !self.cancelled.is_some_and(|cancelled| cancelled.load(Ordering::Relaxed))
    }
}

/// How long a try waits, of those that do: up to twice as long as the one before it.
fn wait(tries: u32, random: u64) -> Duration {
    let Some(doublings) = tries.checked_sub(1) else { return Duration::ZERO };
    let longest = WAIT_MAX.min(WAIT.saturating_mul(1 << doublings.min(20)));
    let nanos = (u128::from(random) * longest.as_nanos()) >> 64;
    Duration::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_are_random_parts_of_times_that_double_up_to_a_limit() {
        assert_eq!(wait(0, u64::MAX), Duration::ZERO);
        let longest = |tries| wait(tries, u64::MAX);
        assert_eq!(longest(1), WAIT - Duration::from_nanos(1));
        for tries in 2..=TRIES_MAX {
            let (this, before) = (longest(tries), longest(tries - 1));
            assert!(before <= this && this < WAIT_MAX && this <= 2 * before + WAIT, "{tries}");
            assert_eq!(wait(tries, 0), Duration::ZERO);
            assert!(wait(tries, u64::MAX / 2) <= this / 2 + Duration::from_nanos(1));
        }
        let total: Duration = (1..=TRIES_MAX).map(longest).sum();
        assert!(total < Duration::from_secs(3), "all of them: {total:?}");
    }

    #[test]
    fn there_is_no_try_after_the_last_the_deadline_or_a_cancellation() {
        let mut again = Again::new(None, None);
        again.tries = TRIES_MAX - 1;
        assert!(again.wait() && !again.wait());
        assert!(!Again::new(Some(Instant::now()), None).wait());
        let cancelled = AtomicBool::new(false);
        let mut again = Again::new(None, Some(&cancelled));
        assert!(again.wait() && again.wait_for_turn());
        cancelled.store(true, Ordering::Relaxed);
        assert!(!again.wait());
    }
}
