//! Single rules of an election, one after the other: times to the millisecond.

use std::time::Duration;

use super::*;
use crate::store::{SlotRange, Version};

const EVERY: Duration = Duration::from_millis(10);

/// A node before a store that answers at once.
struct Bench {
    node: Election,
    now: Duration,
    register: Option<(Version, Lease)>,
    log: Vec<SeenSlot>,
    /// Answers to puts: what the store does, and whether it says so.
    put_is_lost: bool,
    put_is_unknown: bool,
    lease_is_unknown: bool,
    is_cut: bool,
    seen: Vec<Action>,
}

impl Bench {
    fn new(holder: u64, votes: bool) -> Self {
        let now = Duration::from_secs(1000);
        let settings = Settings::default();
        let start = Moment::from_start(now);
        Self {
            node: Election::new(settings, holder, &format!("n{holder}"), votes, 1, None, start),
            now,
            register: None,
            log: Vec::new(),
            put_is_lost: false,
            put_is_unknown: false,
            lease_is_unknown: false,
            is_cut: false,
            seen: Vec::new(),
        }
    }

    fn step(&mut self, event: Event) {
        let mut events = vec![event];
        while let Some(event) = events.pop() {
            for action in self.node.step(Moment::from_start(self.now), event) {
                if !self.is_cut {
                    events.extend(self.answer(&action));
                }
                self.seen.push(action);
            }
        }
    }

    fn answer(&mut self, action: &Action) -> Option<Event> {
        Some(match action.clone() {
            Action::ReadLease { request } => {
                Event::LeaseRead { request, found: self.register.clone() }
            }
            Action::WriteLease { request, expected, lease } => {
                let version = self.register.as_ref().map_or(Version::ABSENT, |found| found.0);
                let outcome = if version == expected {
                    let version = Version::from_raw(version.get() + 1);
                    self.register = Some((version, lease));
                    LeaseOutcome::Won(version)
                } else {
                    LeaseOutcome::Lost(self.register.clone())
                };
                let unknown = self.lease_is_unknown;
                let outcome = if unknown { LeaseOutcome::Unknown } else { outcome };
                Event::LeaseWritten { request, outcome }
            }
            Action::ReadLog { request, from } => {
                let slots = self.log.iter().filter(|slot| slot.range.first() >= from).copied();
                Event::LogRead { request, slots: slots.collect() }
            }
            Action::PutSlot { request, slot, .. } => {
                if self.put_is_lost {
                    return None;
                }
                let there = self.log.iter().find(|at| at.range.first() == slot.range.first());
                let outcome = match there {
                    Some(there) => SlotOutcome::Lost(*there),
                    None => {
                        self.log.push(slot);
                        SlotOutcome::Won
                    }
                };
                let unknown = self.put_is_unknown;
                let outcome = if unknown { SlotOutcome::Unknown } else { outcome };
                Event::SlotPut { request, outcome }
            }
            _ => return None,
        })
    }

    fn pass(&mut self, time: Duration) {
        let end = self.now + time;
        while self.now < end {
            self.now += EVERY;
            self.step(Event::Tick);
        }
    }

    fn ms(&mut self, time: u64) {
        self.pass(Duration::from_millis(time));
    }

    /// Another node's lease, renewed now.
    fn renew_other(&mut self, epoch: u64, counter: u64) {
        let version = self.register.as_ref().map_or(0, |found| found.0.get());
        let node = "other".into();
        let lease = Lease { epoch, holder: 99, counter, released: false, node, successor: None };
        self.register = Some((Version::from_raw(version + 1), lease));
    }

    fn other_slot(&mut self, first: u64, epoch: u64) {
        let range = SlotRange::new(first, first + 1).unwrap();
        self.log.push(SeenSlot { range, epoch, writer: 99, nonce: first });
    }

    fn may_read(&self) -> bool {
        self.node.may_read(Moment::from_start(self.now), self.node.next()).is_ok()
    }

    fn append(&mut self, id: u64) {
        self.step(Event::Append { id, commits: 1 });
    }

    fn fate(&self, id: u64) -> &'static str {
        let of = |action: &&Action| match action {
            Action::Acknowledge { id: found, .. } | Action::Refuse { id: found } => *found == id,
            _ => false,
        };
        let all: Vec<_> = self.seen.iter().filter(of).collect();
        assert!(all.len() <= 1, "{all:?}");
        match all.first() {
            None => "open",
            Some(Action::Refuse { .. }) => "refused",
            Some(_) => "acknowledged",
        }
    }
}

#[test]
fn the_first_node_leads_at_once_and_writes_an_epoch_record() {
    let mut bench = Bench::new(1, true);
    bench.ms(300);
    assert_eq!(bench.node.role(), Role::Leader);
    assert_eq!(bench.log.len(), 1);
    assert_eq!((bench.log[0].epoch, bench.log[0].writer), (1, 1));
    assert!(bench.may_read());
    bench.append(0);
    assert_eq!((bench.fate(0), bench.node.next()), ("acknowledged", 3));
    // It renews: each time with another counter.
    let before = bench.register.clone().unwrap();
    bench.ms(10_000);
    let after = bench.register.clone().unwrap();
    assert!(after.1.counter > before.1.counter + 10);
    assert!(bench.may_read());
}

#[test]
fn a_lease_is_taken_over_after_ttl_and_margin_without_a_change() {
    let mut bench = Bench::new(1, true);
    bench.renew_other(4, 1);
    bench.step(Event::Tick);
    for counter in 2..20 {
        bench.ms(2000);
        bench.renew_other(4, counter);
    }
    // Seen within 200 ms; then 2,920 ms.
    bench.ms(2800);
    assert_eq!(bench.node.role(), Role::Follower);
    assert_eq!(bench.node.lease().unwrap().node, "other");
    let error = bench.node.may_read(Moment::from_start(bench.now), 1).unwrap_err();
    assert_eq!(error.to_string(), "this node does not lead (other does)");
    bench.ms(700);
    assert_eq!(bench.node.role(), Role::Leader);
    let (_, lease) = bench.register.clone().unwrap();
    assert_eq!((lease.holder, lease.epoch), (1, 5));
}

#[test]
fn a_lease_is_left_to_its_holder_for_a_while_after_the_store_was_silent() {
    let mut bench = Bench::new(1, true);
    bench.renew_other(4, 1);
    bench.ms(300);
    for (counter, silent) in [(2, 4000), (3, 2000), (4, 7000), (5, 20_000)] {
        bench.is_cut = true;
        bench.ms(silent);
        bench.is_cut = false;
        // Requests from before time out within a second, the other's, too.
        bench.ms(1200);
        bench.renew_other(4, counter);
        bench.ms(2000);
    }
    // Not even asked for meanwhile: a request may be carried out once the store answers.
    let asks = |action: &Action| matches!(action, Action::WriteLease { .. });
    assert!(!bench.seen.iter().any(asks));
    bench.is_cut = true;
    bench.ms(4000);
    bench.is_cut = false;
    // Nobody renews it: this one's request times out, a second or less; then 1,400 ms.
    bench.ms(2700);
    assert_eq!(bench.node.role(), Role::Leader);
    assert_eq!(bench.register.clone().unwrap().1.epoch, 5);
}

/// The role of a node beside another's lease that nobody renews, where the store is silent and
/// answers in turns, for so many milliseconds each.
fn role_after_silences(times: u32, silent: u64, answers: u64) -> Role {
    let mut bench = Bench::new(1, true);
    bench.renew_other(4, 1);
    bench.ms(300);
    for _ in 0..times {
        bench.is_cut = true;
        bench.ms(silent);
        bench.is_cut = false;
        bench.ms(answers);
    }
    bench.node.role()
}

#[test]
fn a_lease_is_taken_over_in_the_end_where_the_store_is_silent_again_and_again() {
    assert_eq!(role_after_silences(5, 2000, 1300), Role::Leader);
}

#[test]
fn single_requests_that_time_out_do_not_keep_a_lease() {
    assert_eq!(role_after_silences(4, 250, 1100), Role::Leader);
}

#[test]
fn epochs_follow_the_largest_of_lease_and_log() {
    let mut bench = Bench::new(1, true);
    bench.other_slot(1, 17);
    bench.renew_other(3, 1);
    bench.ms(5000);
    assert_eq!(bench.node.role(), Role::Leader);
    assert_eq!(bench.log[1].epoch, 18);
}

#[test]
fn a_node_without_a_vote_never_leads() {
    let mut bench = Bench::new(1, false);
    bench.ms(5000);
    bench.renew_other(1, 1);
    bench.ms(20_000);
    assert_eq!(bench.node.role(), Role::Follower);
    assert!(bench.log.is_empty());
    bench.other_slot(1, 1);
    bench.ms(200);
    assert_eq!(bench.node.next(), 2);
}

#[test]
fn a_leader_that_cannot_renew_stops_reads_and_new_groups_and_goes_on_later() {
    let mut bench = Bench::new(1, true);
    bench.ms(300);
    bench.is_cut = true;
    bench.ms(2000);
    assert!(bench.may_read());
    bench.ms(1100);
    assert!(!bench.may_read());
    bench.append(0);
    assert_eq!(bench.fate(0), "refused");
    assert_eq!(bench.node.role(), Role::Leader);
    // Nobody took the lease: it leads on, without a new epoch.
    bench.is_cut = false;
    bench.ms(3000);
    assert!(bench.may_read());
    bench.append(1);
    assert_eq!((bench.fate(1), bench.log.len()), ("acknowledged", 2));
}

#[test]
fn a_leader_whose_lease_is_anothers_follows() {
    let mut bench = Bench::new(1, true);
    bench.ms(300);
    bench.renew_other(2, 1);
    bench.ms(1000);
    assert_eq!(bench.node.role(), Role::Follower);
    bench.append(0);
    assert_eq!(bench.fate(0), "refused");
    assert!(!bench.may_read());
}

#[test]
fn a_leader_that_lost_a_slot_follows() {
    let mut bench = Bench::new(1, true);
    bench.ms(300);
    bench.other_slot(2, 2);
    bench.append(0);
    assert_eq!((bench.fate(0), bench.node.role()), ("refused", Role::Follower));
    let applied = bench.seen.iter().filter(|action| matches!(action, Action::Apply(_))).count();
    assert_eq!((applied, bench.node.next()), (2, 3));
}

#[test]
fn an_unknown_outcome_is_asked_again_as_the_same() {
    let mut bench = Bench::new(1, true);
    bench.ms(300);
    bench.put_is_unknown = true;
    bench.append(0);
    bench.append(1);
    bench.ms(1000);
    assert_eq!((bench.fate(0), bench.log.len()), ("open", 2));
    // Others may read it already.
    assert_eq!((bench.node.next(), bench.node.put_end()), (2, 3));
    bench.put_is_unknown = false;
    bench.ms(200);
    assert_eq!(
        (bench.fate(0), bench.fate(1), bench.log.len()),
        ("acknowledged", "acknowledged", 3)
    );
}

#[test]
fn a_group_under_way_is_answered_for_by_the_log_after_its_leader_was_deposed() {
    for written in [true, false] {
        let mut bench = Bench::new(1, true);
        bench.ms(300);
        bench.put_is_lost = true;
        bench.append(0);
        bench.append(1);
        let put = bench.seen.iter().rev().find_map(|action| match action {
            Action::PutSlot { slot, .. } => Some(*slot),
            _ => None,
        });
        bench.renew_other(2, 1);
        bench.ms(1000);
        assert_eq!(bench.node.role(), Role::Follower);
        assert_eq!((bench.fate(0), bench.fate(1)), ("open", "refused"));
        // It arrives late, or the new leader was there first.
        if written {
            bench.log.push(put.unwrap());
        } else {
            bench.other_slot(2, 2);
        }
        bench.ms(200);
        assert_eq!(bench.fate(0), if written { "acknowledged" } else { "refused" });
        assert_eq!(bench.node.next(), 3);
    }
}

#[test]
fn slots_that_come_after_the_time_out_of_their_request_count() {
    let mut bench = Bench::new(1, true);
    bench.renew_other(1, 1);
    let asked = |bench: &Bench| {
        let of = |action: &Action| match action {
            Action::ReadLog { request, from } => Some((*request, *from)),
            _ => None,
        };
        bench.seen.iter().rev().find_map(of).unwrap()
    };
    bench.is_cut = true;
    bench.ms(100);
    let (late, from) = asked(&bench);
    assert_eq!(from, 1);
    // Each is asked for again before it is answered, and none is asked for twice in vain.
    for first in 1..5 {
        bench.other_slot(first, 1);
        bench.ms(1100);
        let (again, from) = asked(&bench);
        assert!(again > late && from == first, "{from}");
        let slots = bench.log.clone();
        bench.step(Event::LogRead { request: late, slots });
        assert_eq!(bench.node.next(), first + 1);
    }
    // That there was nothing then does not mean that this is the end.
    bench.is_cut = false;
    bench.register = None;
    bench.ms(1100);
    assert_eq!(bench.node.role(), Role::Leader);
    let mut bench = Bench::new(1, true);
    bench.is_cut = true;
    bench.ms(1100);
    bench.register = None;
    let (late, _) = asked(&bench);
    bench.ms(1100);
    bench.step(Event::LogRead { request: late, slots: Vec::new() });
    assert_ne!(asked(&bench).0, late);
    assert_eq!(bench.node.role(), Role::Follower);
}

#[test]
fn a_lease_with_an_unknown_outcome_is_read_and_counts_from_when_it_was_sent() {
    let mut bench = Bench::new(1, true);
    bench.lease_is_unknown = true;
    bench.ms(500);
    assert_eq!(bench.node.role(), Role::Leader);
    assert!(bench.may_read());
    let sent = bench.now;
    bench.ms(3000);
    assert!(bench.may_read(), "renewals are found by reading, since {sent:?}");
    assert_eq!(bench.log.len(), 1);
}

#[test]
fn a_candidate_that_finds_a_later_epoch_gives_up() {
    let mut bench = Bench::new(1, true);
    bench.put_is_lost = true;
    bench.ms(300);
    assert_eq!(bench.node.role(), Role::Candidate);
    bench.other_slot(1, 1);
    bench.put_is_lost = false;
    bench.ms(1500);
    // Its lease is of no use now; it waits as if it were another's, and takes the epoch after.
    assert_eq!(bench.node.role(), Role::Follower);
    bench.ms(4000);
    assert_eq!((bench.node.role(), bench.log[1].epoch), (Role::Leader, 2));
}

#[test]
fn a_released_lease_is_taken_at_once_and_not_by_who_released_it() {
    let mut bench = Bench::new(1, true);
    bench.ms(300);
    bench.append(0);
    bench.step(Event::Release { to: None });
    bench.append(1);
    bench.ms(10);
    assert_eq!((bench.fate(0), bench.fate(1)), ("acknowledged", "refused"));
    assert_eq!(bench.node.role(), Role::Follower);
    assert!(bench.register.clone().unwrap().1.released && !bench.may_read());
    bench.ms(2500);
    assert_eq!(bench.node.role(), Role::Follower);
    let mut other = Bench::new(2, true);
    (other.register, other.log) = (bench.register.clone(), bench.log.clone());
    other.ms(300);
    assert_eq!((other.node.role(), other.log.last().unwrap().epoch), (Role::Leader, 2));
    // Nobody else came: better the same than none.
    bench.ms(1000);
    assert_eq!(bench.node.role(), Role::Leader);
}

/// Retires the node, which is then to have given its lease up, and never to take it again.
#[track_caller]
fn retires(mut bench: Bench) {
    bench.node.retire();
    bench.step(Event::Release { to: None });
    bench.lease_is_unknown = false;
    bench.ms(1000);
    let released = bench.register.as_ref().is_none_or(|(_, lease)| lease.released);
    assert!(released && !bench.node.may_hold_lease(), "{:?}", bench.register);
    bench.ms(10_000);
    assert_eq!(bench.node.role(), Role::Follower);
    assert!(bench.register.is_none_or(|(_, lease)| lease.released));
}

#[test]
fn a_node_that_retires_keeps_no_lease_whenever_it_does() {
    // Before it has asked for one.
    retires(Bench::new(1, true));
    // While it leads, and while it tries to.
    let mut bench = Bench::new(1, true);
    bench.ms(300);
    assert_eq!(bench.node.role(), Role::Leader);
    assert!(bench.node.may_hold_lease());
    retires(bench);
    let mut bench = Bench::new(1, true);
    bench.put_is_lost = true;
    bench.ms(300);
    assert_eq!(bench.node.role(), Role::Candidate);
    retires(bench);
    // After a write of which it does not know whether it won.
    let mut bench = Bench::new(1, true);
    bench.lease_is_unknown = true;
    while bench.register.is_none() {
        bench.ms(10);
    }
    assert_eq!(bench.node.role(), Role::Follower);
    assert!(bench.node.may_hold_lease());
    retires(bench);
    // While that write is under way.
    let mut bench = Bench::new(1, true);
    let is_write = |action: &Action| matches!(action, Action::WriteLease { .. });
    bench.step(Event::Tick);
    bench.is_cut = true;
    while !bench.seen.iter().any(is_write) {
        bench.ms(10);
    }
    bench.is_cut = false;
    bench.node.retire();
    bench.step(Event::Release { to: None });
    assert!(bench.register.is_none() && bench.node.may_hold_lease());
    let write = bench.seen.iter().find(|action| is_write(action)).cloned().unwrap();
    let won = bench.answer(&write).unwrap();
    bench.step(won);
    retires(bench);
}

#[test]
fn a_node_that_is_not_fit_follows_and_takes_no_lease_before_it_is() {
    let mut bench = Bench::new(1, true);
    bench.ms(300);
    assert_eq!(bench.node.role(), Role::Leader);
    bench.node.set_fit(false);
    bench.step(Event::Release { to: None });
    bench.ms(10_000);
    assert!(bench.register.as_ref().unwrap().1.released);
    bench.other_slot(2, 1);
    bench.ms(200);
    assert_eq!((bench.node.role(), bench.node.next()), (Role::Follower, 3));
    bench.node.set_fit(true);
    bench.ms(1000);
    assert_eq!((bench.node.role(), bench.log.last().unwrap().epoch), (Role::Leader, 2));
    // A lease that it only learns of later to have won.
    let mut bench = Bench::new(1, true);
    bench.lease_is_unknown = true;
    while bench.register.is_none() {
        bench.ms(10);
    }
    bench.node.set_fit(false);
    bench.lease_is_unknown = false;
    bench.ms(1000);
    assert!(bench.register.as_ref().unwrap().1.released && !bench.node.may_hold_lease());
    // One that has retired does not lead, fit or not.
    bench.node.set_fit(true);
    retires(bench);
}

#[test]
fn a_lease_that_is_handed_over_is_taken_by_its_successor_and_by_others_later() {
    let mut bench = Bench::new(1, true);
    bench.ms(300);
    bench.append(0);
    bench.step(Event::Release { to: Some("n2".into()) });
    bench.ms(10);
    assert_eq!((bench.fate(0), bench.node.role()), ("acknowledged", Role::Follower));
    let lease = bench.register.clone().unwrap().1;
    assert_eq!((lease.released, lease.successor.as_deref()), (true, Some("n2")));
    let beside = |holder| {
        let mut other = Bench::new(holder, true);
        (other.register, other.log) = (bench.register.clone(), bench.log.clone());
        other
    };
    let (mut successor, mut third) = (beside(2), beside(3));
    successor.ms(300);
    third.ms(2500);
    assert_eq!((successor.node.role(), third.node.role()), (Role::Leader, Role::Follower));
    assert_eq!(successor.register.unwrap().1.successor, None);
    // The successor is gone: somebody else, a TTL later.
    third.ms(1000);
    assert_eq!((third.node.role(), third.log.last().unwrap().epoch), (Role::Leader, 2));
    // A release for anybody takes the place of one that waits, and keeps nothing of it.
    successor = beside(2);
    successor.ms(300);
    successor.is_cut = true;
    successor.step(Event::Release { to: Some("n1".into()) });
    successor.is_cut = false;
    successor.step(Event::Release { to: None });
    successor.ms(2000);
    assert_eq!(successor.register.unwrap().1.successor, None);
}

#[test]
fn a_snapshot_from_before_the_epoch_record_answers_no_strict_read() {
    let mut bench = Bench::new(1, true);
    bench.other_slot(1, 1);
    bench.ms(300);
    assert_eq!((bench.node.role(), bench.node.next()), (Role::Leader, 3));
    let now = Moment::from_start(bench.now);
    assert!(bench.node.may_read(now, 2).is_err());
    assert_eq!(bench.node.may_read(now, 3), Ok(2));
}
