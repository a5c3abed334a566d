//! The wait of a group commit's leader for those who committed with the last groups.
//!
//! ```text
//!  without                                     with
//!  A writes  ████████        ████████          A and B write  ████████   ████████
//!  B writes          ████████        ██                               ▲
//!                                               A and B come back and commit again
//! ```
//!
//! Clients that commit one after the other fall into two halves: one is written while the other
//! waits for that, so each commit takes two writes. If the next leader waits until those of the
//! last group have come back, all of them go into each write. Where a write takes milliseconds (a
//! store that replicates, a slow disk), that is up to twice the rate, and half the writes.
//!
//! The wait takes half of a write at most, as PostgreSQL's manual advises for its `commit_delay`
//! (version 15, 30.5), and ends as soon as as many wait as waited for the last groups. Where
//! clients do not come back in time, it was in vain: the next groups are not waited for, up to 63.

use std::time::Duration;

/// Shortest sync after which anybody is waited for. PERF: where a sync takes 0.3 ms, 64 clients of
/// a single server lose a tenth of their rate by waits (`telar bench cluster`): their statements
/// take longer than it, and use the processors meanwhile.
const SYNC_MIN: Duration = Duration::from_millis(1);
/// Shortest put into a replicated log after which anybody is waited for: a wait has the clock's
/// slack, 50 µs on Linux.
const PUT_MIN: Duration = Duration::from_micros(300);
/// Longest wait: a store that was away for seconds is back.
const WAIT_MAX: Duration = Duration::from_millis(50);
/// Most groups that are not waited for after a wait in vain.
const SKIP_MAX: u32 = 63;

/// A wait before a group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Wait {
    /// Threads that wait for the next group when the wait begins, its leader included.
    from: usize,
    /// The same, when it is over.
    pub(super) until: usize,
    pub(super) at_most: Duration,
}

/// The last groups, as far as the next wait depends on them.
#[derive(Debug)]
pub(super) struct Gathering {
    write_min: Duration,
    /// Times of the last two writes: a slow one says nothing of the next.
    took: [Duration; 2],
    /// Threads that waited when the last one ended, for it or the next one.
    regulars: usize,
    /// Groups that are not waited for any more.
    skip: u32,
    /// `skip` after the last wait in vain.
    skipped: u32,
}

impl Gathering {
    /// Of a log that `is_replicated`, or is synced here.
    pub(super) fn new(is_replicated: bool) -> Self {
        let write_min = if is_replicated { PUT_MIN } else { SYNC_MIN };
        Self { write_min, took: [Duration::ZERO; 2], regulars: 0, skip: 0, skipped: 0 }
    }

    /// A group has been written while `regulars` threads waited for it, or for the next one.
    pub(super) fn written(&mut self, took: Duration, regulars: usize) {
        self.took = [self.took[1], took];
        self.regulars = regulars;
    }

    /// The wait before a group for which `here` threads wait, its leader included.
    pub(super) fn before(&mut self, here: usize) -> Option<Wait> {
        let took = self.took[0].min(self.took[1]);
        // The model checker knows no time.
        let is_slow = took >= self.write_min || cfg!(feature = "shuttle");
        if here >= self.regulars || !is_slow {
            return None;
        }
        if self.skip > 0 {
            self.skip -= 1;
            return None;
        }
        Some(Wait { from: here, until: self.regulars, at_most: (took / 2).min(WAIT_MAX) })
    }

    /// That wait has ended when `here` threads waited.
    pub(super) fn waited(&mut self, wait: Wait, here: usize) {
        let came = here.saturating_sub(wait.from);
        let is_in_vain = came * 4 < (wait.until - wait.from) * 3;
        self.skipped = if is_in_vain { (self.skipped * 2 + 1).min(SKIP_MAX) } else { 0 };
        self.skip = self.skipped;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Duration = Duration::from_millis(1);

    #[test]
    fn those_of_the_last_groups_are_waited_for_half_as_long_as_it_was_written() {
        let mut gathering = Gathering::new(true);
        assert_eq!(gathering.before(1), None);
        gathering.written(9 * MS, 10);
        gathering.written(4 * MS, 10);
        let wait = gathering.before(4).unwrap();
        assert_eq!((wait.until, wait.at_most), (10, 2 * MS));
        (0..2).for_each(|_| gathering.written(5000 * MS, 10));
        assert_eq!(gathering.before(4).unwrap().at_most, WAIT_MAX);
        assert_eq!(gathering.before(10), None);
    }

    #[test]
    fn a_lone_client_does_not_wait() {
        let mut gathering = Gathering::new(true);
        gathering.written(4 * MS, 1);
        gathering.written(4 * MS, 1);
        assert_eq!(gathering.before(1), None);
    }

    #[test]
    #[cfg(not(feature = "shuttle"))]
    fn nobody_waits_where_writes_are_fast() {
        for (is_replicated, fast) in [(true, MS / 5), (false, MS / 2)] {
            let mut gathering = Gathering::new(is_replicated);
            for took in [fast, 9 * MS, fast, 9 * MS] {
                gathering.written(took, 10);
                assert_eq!(gathering.before(4), None, "one slow write is none");
            }
            gathering.written(9 * MS, 10);
            assert!(gathering.before(4).is_some());
        }
    }

    #[test]
    fn waits_in_vain_become_rare_until_one_pays() {
        let mut gathering = Gathering::new(false);
        gathering.written(MS, 10);
        gathering.written(MS, 10);
        let mut skipped = Vec::new();
        for _ in 0..8 {
            let mut groups = 0;
            let wait = loop {
                if let Some(wait) = gathering.before(2) {
                    break wait;
                }
                groups += 1;
            };
            skipped.push(groups);
            gathering.waited(wait, 7);
        }
        assert_eq!(skipped, [0, 1, 3, 7, 15, 31, 63, 63]);
        let wait = loop {
            if let Some(wait) = gathering.before(2) {
                break wait;
            }
        };
        gathering.waited(wait, 8);
        assert!(gathering.before(2).is_some());
    }
}
