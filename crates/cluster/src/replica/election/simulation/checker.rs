//! What happened, and whether it may have.

use std::collections::BTreeMap;

use super::node::{Applied, Prefix};
use crate::replica::election::SeenSlot;

/// A rule that a history breaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// A slot was written twice, or the log has a gap.
    Slots,
    /// An epoch is smaller than one before it, or has two writers.
    EpochsShrink,
    /// An acknowledged group is not in the log, where it was said to be.
    LostAppend,
    /// A refused group is in the log.
    RefusedAndWritten,
    /// A group is in the log twice.
    WrittenTwice,
    /// Two acknowledgements have timestamps in common.
    TwoInOneSlot,
    /// A strict read lacks what was acknowledged before it, or what an earlier one saw.
    StaleRead,
    /// A strict read saw what is not in the log.
    WrongRead,
    /// Two nodes could read at one moment.
    TwoReaders,
    /// A node applied slots out of order.
    Order,
    /// Nothing was acknowledged after all faults were over.
    Stuck,
}

#[derive(Debug)]
pub(super) struct Violation {
    pub(super) kind: Kind,
    #[expect(dead_code, reason = "a failing test shows it")]
    what: String,
}

/// What became of a group; times are global microseconds.
#[derive(Clone, Copy, Debug)]
pub(super) enum Outcome {
    /// Nobody was told.
    Open,
    Acknowledged {
        at: u64,
        slot: SeenSlot,
    },
    Refused,
}

/// A strict read that was answered.
#[derive(Clone, Copy, Debug)]
pub(super) struct Read {
    pub(super) invoked: u64,
    pub(super) answered: u64,
    pub(super) prefix: Prefix,
}

/// A slot of the log at the end; of a group with its number.
#[derive(Clone, Copy, Debug)]
pub(super) struct LogSlot {
    pub(super) slot: SeenSlot,
    pub(super) id: Option<u64>,
}

/// Events of one run.
#[derive(Debug, Default)]
pub(super) struct History {
    /// By number.
    pub(super) appends: Vec<Outcome>,
    pub(super) reads: Vec<Read>,
    /// First timestamps of the slots that the store said were won.
    pub(super) won: Vec<u64>,
    pub(super) log: Vec<LogSlot>,
    /// When two nodes could read.
    pub(super) two_readers: Option<u64>,
    /// When a node applied something out of order.
    pub(super) disorder: Option<u64>,
    /// Since when there have been no faults.
    pub(super) healed: u64,
    /// Puts that were asked again.
    pub(super) resolved: usize,
}

impl History {
    pub(super) fn acknowledged(&self) -> usize {
        self.appends.iter().filter(|o| matches!(o, Outcome::Acknowledged { .. })).count()
    }

    pub(super) fn epochs(&self) -> usize {
        self.log.iter().filter(|slot| slot.id.is_none()).count()
    }

    /// Every rule that the history breaks.
    pub(super) fn check(&self) -> Vec<Violation> {
        let mut found = Vec::new();
        let mut report = |kind, what: String| found.push(Violation { kind, what });
        if let Some(at) = self.two_readers {
            report(Kind::TwoReaders, format!("at {at}"));
        }
        if let Some(at) = self.disorder {
            report(Kind::Order, format!("at {at}"));
        }
        self.check_slots(&mut report);
        self.check_appends(&mut report);
        self.check_reads(&mut report);
        let works = self.appends.iter().any(|outcome| match outcome {
            Outcome::Acknowledged { at, .. } => *at > self.healed,
            _ => false,
        });
        if !works {
            report(Kind::Stuck, format!("healed at {}", self.healed));
        }
        found
    }

    fn check_slots(&self, report: &mut impl FnMut(Kind, String)) {
        let mut won = self.won.clone();
        won.sort_unstable();
        let firsts: Vec<u64> = self.log.iter().map(|found| found.slot.range.first()).collect();
        if won != firsts {
            report(Kind::Slots, format!("won {}, in the log {}", won.len(), firsts.len()));
        }
        let mut epoch = (0, 0);
        for LogSlot { slot, id } in &self.log {
            let now = (slot.epoch, slot.writer);
            // An epoch begins with its record, and all of it is by one writer.
            let fits = if id.is_none() { slot.epoch > epoch.0 } else { now == epoch };
            if !fits {
                report(Kind::EpochsShrink, format!("{slot:?} after {epoch:?}"));
            }
            epoch = now;
        }
    }

    fn check_appends(&self, report: &mut impl FnMut(Kind, String)) {
        let mut places: BTreeMap<u64, Vec<SeenSlot>> = BTreeMap::new();
        for found in &self.log {
            if let Some(id) = found.id {
                places.entry(id).or_default().push(found.slot);
            }
        }
        let mut ranges = Vec::new();
        for (id, outcome) in (0..).zip(&self.appends) {
            let at = places.get(&id).map_or(&[][..], |slots| &slots[..]);
            if at.len() > 1 {
                report(Kind::WrittenTwice, format!("{id}: {at:?}"));
            }
            match outcome {
                Outcome::Open => {}
                Outcome::Acknowledged { slot, .. } => {
                    ranges.push((slot.range.first(), slot.range.next(), id));
                    if !at.contains(slot) {
                        report(Kind::LostAppend, format!("{id} at {slot:?}, found {at:?}"));
                    }
                }
                Outcome::Refused if !at.is_empty() => {
                    report(Kind::RefusedAndWritten, format!("{id}: {at:?}"));
                }
                Outcome::Refused => {}
            }
        }
        ranges.sort_unstable();
        for pair in ranges.windows(2) {
            if pair[1].0 < pair[0].1 {
                report(Kind::TwoInOneSlot, format!("{pair:?}"));
            }
        }
    }

    fn check_reads(&self, report: &mut impl FnMut(Kind, String)) {
        let mut log = Applied::default();
        for found in &self.log {
            log.push(found.slot);
        }
        // What a read must have seen: by the time from which on.
        let mut floor: Vec<(u64, u64)> = Vec::new();
        for outcome in &self.appends {
            if let Outcome::Acknowledged { at, slot } = outcome {
                floor.push((*at, slot.range.next()));
            }
        }
        floor.extend(self.reads.iter().map(|read| (read.answered, read.prefix.next)));
        floor.sort_unstable();
        let mut highest = 0;
        for entry in &mut floor {
            highest = entry.1.max(highest);
            entry.1 = highest;
        }
        for read in &self.reads {
            if !log.has(read.prefix) {
                report(Kind::WrongRead, format!("{read:?}"));
            }
            let before = floor.partition_point(|(at, _)| *at < read.invoked);
            let needed = before.checked_sub(1).map_or(0, |last| floor[last].1);
            if read.prefix.next < needed {
                report(Kind::StaleRead, format!("{read:?} needs {needed}"));
            }
        }
    }
}

#[test]
fn checker_knows_good_histories_from_bad_ones() {
    use crate::store::SlotRange;
    let slot = |first, epoch, writer, nonce| SeenSlot {
        range: SlotRange::new(first, first + 1).unwrap(),
        epoch,
        writer,
        nonce,
    };
    let good = || {
        let slots = [slot(1, 1, 7, 1), slot(2, 1, 7, 2), slot(3, 2, 8, 1), slot(4, 2, 8, 2)];
        let ids = [None, Some(0), None, Some(1)];
        let log = slots.into_iter().zip(ids).map(|(slot, id)| LogSlot { slot, id }).collect();
        let acknowledged = |at, slot| Outcome::Acknowledged { at, slot };
        let mut applied = Applied::default();
        assert!(slots.into_iter().all(|slot| applied.push(slot)));
        History {
            appends: vec![acknowledged(10, slots[1]), acknowledged(30, slots[3]), Outcome::Refused],
            reads: vec![Read { invoked: 40, answered: 41, prefix: applied.prefix() }],
            won: vec![1, 2, 4, 3],
            log,
            healed: 20,
            ..History::default()
        }
    };
    assert!(good().check().is_empty());
    let mut short = Applied::default();
    short.push(slot(1, 1, 7, 1));
    let mut other = Applied::default();
    other.push(slot(1, 1, 7, 9));
    type Change<'a> = &'a dyn Fn(&mut History);
    let cases: [(Kind, Change<'_>); 9] = [
        (Kind::Slots, &|h| h.won.push(4)),
        (Kind::EpochsShrink, &|h| h.log[3].slot.epoch = 1),
        (Kind::EpochsShrink, &|h| h.log[3].slot.writer = 7),
        (Kind::LostAppend, &|h| h.log[3].id = Some(2)),
        (Kind::RefusedAndWritten, &|h| h.appends[1] = Outcome::Refused),
        (Kind::WrittenTwice, &|h| h.log[3].id = Some(0)),
        (Kind::TwoInOneSlot, &|h| h.appends[2] = h.appends[1]),
        (Kind::StaleRead, &|h| h.reads[0].prefix = short.prefix()),
        (Kind::WrongRead, &|h| h.reads[0].prefix = other.prefix()),
    ];
    for (kind, change) in cases {
        let mut history = good();
        change(&mut history);
        let found = history.check();
        assert!(found.iter().any(|violation| violation.kind == kind), "{kind:?}: {found:?}");
    }
    let mut history = good();
    history.healed = 35;
    assert_eq!(history.check()[0].kind, Kind::Stuck);
}
