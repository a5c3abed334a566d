//! Upkeep of a log: what need not be kept, and whether there is room for more.
//!
//! ```text
//!  mark            target               end
//!   │ ── trimmed ── │ ── still needed ── │
//!                   └ the first commit that some copy may still have to read
//! ```
//!
//! A *copy* of a database is what a member has on disk for good, or an image in the store. Two
//! rules, and one for when the log has become long:
//!
//! - Nothing is trimmed that fewer than [`Limits::copies`] copies have.
//! - Every member is waited for that is there, or has been silent for less than
//!   [`Limits::patience`]: it catches up by the log alone.
//! - A member that is there and has no copy yet is being given one, as of a commit that nobody here
//!   knows: nothing is trimmed meanwhile.
//! - Once the log has half of [`Limits::bytes_max`], members that have a copy are not waited for;
//!   one that is further behind gets an image. Once it has nine tenths, only the first rule holds.
//!
//! A pure function: whoever leads asks it, and what it says may be done late or not at all.

use std::time::Duration;

/// Limits of a log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Copies that have to have what is trimmed; 1 or more.
    pub copies: usize,
    /// Time for which a silent member is waited for.
    pub patience: Duration,
    /// Bytes from which on no commits are taken.
    pub bytes_max: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Self { copies: 2, patience: Duration::from_secs(600), bytes_max: 1 << 30 }
    }
}

impl Limits {
    /// True if the log is so long that nobody is waited for.
    #[must_use]
    pub fn is_long(&self, bytes: u64) -> bool {
        bytes >= self.bytes_max / 2
    }

    /// True if the log is so long that those who are given a copy are not waited for, either.
    #[must_use]
    pub fn is_nearly_full(&self, bytes: u64) -> bool {
        bytes >= self.bytes_max / 10 * 9
    }

    /// True if the log takes no more commits.
    #[must_use]
    pub fn is_full(&self, bytes: u64) -> bool {
        bytes >= self.bytes_max
    }
}

/// A member's copy, as others know it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MemberCopy {
    /// The last commit that it has for good; none if it has no copy yet, or has not said so.
    pub kept: Option<u64>,
    /// Time since it was last heard of.
    pub silent_for: Duration,
}

/// A log at one moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LogState {
    /// The first timestamp that was not trimmed.
    pub oldest: u64,
    /// Its bytes.
    pub bytes: u64,
    /// The last commit of the newest image, if there is one.
    pub image: Option<u64>,
}

/// The next step of a log's upkeep.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Upkeep {
    /// Nothing can be trimmed, or need be.
    Wait,
    /// Everything before this timestamp can be trimmed.
    Trim(u64),
    /// The log is long, and too few copies have what is in it: an image would be one more.
    Image,
}

/// Returns what to do with a log whose members' copies are `members`, the leader's among them.
#[must_use]
pub fn decide(log: &LogState, members: &[MemberCopy], limits: &Limits) -> Upkeep {
    let near = || members.iter().filter(|member| member.silent_for < limits.patience);
    let has_copy = |member: &&MemberCopy| member.kept.is_some();
    let mut copies: Vec<u64> = near().filter_map(|member| member.kept).chain(log.image).collect();
    copies.sort_unstable_by(|a, b| b.cmp(a));
    let by_copies = copies.get(limits.copies.max(1) - 1).copied();
    let is_joining = near().any(|member| member.kept.is_none());
    let waited_for = near().filter_map(|member| member.kept).min();
    let kept = match (by_copies, waited_for) {
        _ if is_joining && !limits.is_nearly_full(log.bytes) => None,
        (by_copies, _) if limits.is_long(log.bytes) => by_copies,
        (Some(kept), Some(waited_for)) => Some(kept.min(waited_for)),
        _ => None,
    };
    match kept {
        Some(kept) if kept >= log.oldest => Upkeep::Trim(kept + 1),
        // Enough copies have it: what it waits for is somebody who is given one.
        _ if by_copies.is_some_and(|kept| kept >= log.oldest) => Upkeep::Wait,
        // One more copy has to be enough.
        _ if limits.is_long(log.bytes) && near().filter(has_copy).count() + 1 >= limits.copies => {
            Upkeep::Image
        }
        _ => Upkeep::Wait,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HERE: Duration = Duration::ZERO;
    const GONE: Duration = Duration::from_secs(601);

    fn at(kept: u64, silent_for: Duration) -> MemberCopy {
        MemberCopy { kept: Some(kept), silent_for }
    }

    const fn log(oldest: u64, bytes: u64, image: Option<u64>) -> LogState {
        LogState { oldest, bytes, image }
    }

    fn short(oldest: u64, image: Option<u64>) -> LogState {
        log(oldest, 0, image)
    }

    fn long(oldest: u64, image: Option<u64>) -> LogState {
        log(oldest, 1 << 29, image)
    }

    #[test]
    fn members_that_may_come_back_are_waited_for() {
        let decide = |log: LogState, members: &[_]| decide(&log, members, &Limits::default());
        let (all, new) =
            ([at(40, HERE), at(50, HERE), at(30, HERE)], MemberCopy { kept: None, ..at(0, HERE) });
        assert_eq!(decide(short(1, None), &all), Upkeep::Trim(31));
        assert_eq!(decide(short(31, None), &all), Upkeep::Wait);
        // One that is down for some minutes, and one that is for longer.
        let down = [at(40, HERE), at(50, HERE), at(30, GONE / 2)];
        assert_eq!(decide(short(1, None), &down), Upkeep::Trim(31));
        let gone = [at(40, HERE), at(50, HERE), at(30, GONE)];
        assert_eq!(decide(short(1, None), &gone), Upkeep::Trim(41));
        // One that has nothing yet is given a copy, of any commit.
        let joins = [at(40, HERE), at(50, HERE), new];
        assert_eq!(decide(short(1, None), &joins), Upkeep::Wait);
        assert_eq!(decide(short(1, Some(20)), &joins), Upkeep::Wait);
        assert_eq!(decide(long(1, Some(20)), &joins), Upkeep::Wait);
        assert_eq!(decide(log(1, 1 << 30, Some(20)), &joins), Upkeep::Trim(41));
        let left = MemberCopy { silent_for: GONE, ..new };
        assert_eq!(decide(short(1, None), &[at(40, HERE), at(50, HERE), left]), Upkeep::Trim(41));
        // One copy alone is none.
        assert_eq!(decide(short(1, None), &[at(50, HERE), at(30, GONE)]), Upkeep::Wait);
        assert_eq!(decide(short(1, Some(20)), &[at(50, HERE)]), Upkeep::Trim(21));
        assert_eq!(decide(short(1, None), &[]), Upkeep::Wait);
    }

    #[test]
    fn a_long_log_waits_for_copies_alone() {
        let decide = |log: LogState, members: &[_]| decide(&log, members, &Limits::default());
        let slow = [at(40, HERE), at(50, HERE), at(3, HERE)];
        assert_eq!(decide(long(1, None), &slow), Upkeep::Trim(41));
        // Two copies at least, and an image where there are fewer.
        let alone = [at(50, HERE), at(3, GONE)];
        assert_eq!(decide(long(1, None), &alone), Upkeep::Image);
        assert_eq!(decide(long(1, Some(45)), &alone), Upkeep::Trim(46));
        assert_eq!(decide(long(46, Some(45)), &alone), Upkeep::Image);
        // The other one is stuck: an image takes its place.
        assert_eq!(decide(long(4, None), &[at(50, HERE), at(3, HERE)]), Upkeep::Image);
        let one = Limits { copies: 1, ..Limits::default() };
        assert_eq!(super::decide(&long(1, None), &alone, &one), Upkeep::Trim(51));
        // No image would be enough.
        let three = Limits { copies: 3, ..Limits::default() };
        assert_eq!(super::decide(&long(1, Some(45)), &alone, &three), Upkeep::Wait);
        let none = Limits { copies: 0, ..Limits::default() };
        assert_eq!(super::decide(&long(1, None), &alone, &none), Upkeep::Trim(51));
        assert!(Limits::default().is_full(1 << 30) && !Limits::default().is_full((1 << 30) - 1));
    }

    #[test]
    fn what_is_trimmed_has_enough_copies_whatever_the_members() {
        // All states of three members and an image, few numbers each.
        let kept = [None, Some(0), Some(4), Some(9)];
        let member = |n: usize| MemberCopy {
            kept: kept[n % 4],
            silent_for: if n / 4 == 0 { HERE } else { GONE },
        };
        for case in 0..8 * 8 * 8 * 4 * 2 {
            let [a, b, c] = [case % 8, case / 8 % 8, case / 64 % 8].map(member);
            let image = kept[case / 512 % 4];
            let log = if case / 2048 == 0 { short(5, image) } else { long(5, image) };
            let decision = decide(&log, &[a, b, c], &Limits::default());
            let near: Vec<_> = [a, b, c].into_iter().filter(|m| m.silent_for == HERE).collect();
            let Upkeep::Trim(before) = decision else {
                // An image is made only where fewer than two have more than was trimmed before.
                let copies = near.iter().filter_map(|m| m.kept).chain(image);
                let more = copies.filter(|kept| *kept >= 5).count();
                assert!(decision != Upkeep::Image || more < 2, "{case}");
                continue;
            };
            assert!(before > 5, "{case}");
            let has = |kept: &u64| *kept + 1 >= before;
            let copies = near.iter().filter_map(|m| m.kept).chain(image).filter(has).count();
            assert!(copies >= 2, "{case}: {decision:?}");
            assert!(near.iter().all(|m| m.kept.is_some()), "{case}: {decision:?}");
            if !log_is_long(&log) {
                let goes_on = |m: &MemberCopy| m.kept.is_some_and(|kept| has(&kept));
                assert!(near.iter().all(goes_on), "{case}: {decision:?}");
            }
        }
    }

    fn log_is_long(log: &LogState) -> bool {
        Limits::default().is_long(log.bytes)
    }
}
