//! A node of the simulation: an election, a clock, and what was applied.

use std::time::Duration;

use crate::replica::election::{Election, Moment, SeenSlot};

/// A clock: it began anywhere, and goes too fast or too slow.
#[derive(Clone, Copy, Debug)]
pub(super) struct Clock {
    pub(super) offset_us: u64,
    /// Local microseconds per million of global ones.
    pub(super) rate: u64,
}

impl Clock {
    pub(super) fn local(self, global_us: u64) -> Moment {
        let passed = u128::from(global_us) * u128::from(self.rate) / 1_000_000;
        let passed = u64::try_from(passed).unwrap();
        Moment::from_start(Duration::from_micros(self.offset_us + passed))
    }

    /// The first global microsecond at which the clock shows `moment` or more.
    pub(super) fn global(self, moment: Moment) -> u64 {
        let local = u64::try_from(moment.since_start().as_micros()).unwrap() + 1;
        let passed = u128::from(local.saturating_sub(self.offset_us));
        u64::try_from(passed * 1_000_000 / u128::from(self.rate)).unwrap() + 1
    }
}

/// A log as far as a node has applied it: with a checksum of each prefix.
#[derive(Clone, Debug, Default)]
pub(super) struct Applied {
    next: u64,
    sums: Vec<u64>,
}

/// A prefix of a log: how many slots, up to where, and their checksum.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Prefix {
    pub(super) slots: usize,
    pub(super) next: u64,
    sum: u64,
}

impl Applied {
    /// Applies the next slot; false if it is not the next.
    pub(super) fn push(&mut self, slot: SeenSlot) -> bool {
        if slot.range.first() != self.next.max(1) {
            return false;
        }
        self.next = slot.range.next();
        let mut sum = self.sums.last().copied().unwrap_or(0);
        for number in [self.next, slot.epoch, slot.writer, slot.nonce] {
            sum = (sum ^ number).wrapping_mul(0x9E37_79B9_7F4A_7C15).rotate_left(31);
        }
        self.sums.push(sum);
        true
    }

    pub(super) fn prefix(&self) -> Prefix {
        let sum = self.sums.last().copied().unwrap_or(0);
        Prefix { slots: self.sums.len(), next: self.next.max(1), sum }
    }

    /// Whether `prefix` is one of this log.
    pub(super) fn has(&self, prefix: Prefix) -> bool {
        match prefix.slots.checked_sub(1) {
            None => true,
            Some(last) => self.sums.get(last) == Some(&prefix.sum),
        }
    }
}

#[derive(Debug)]
pub(super) struct Node {
    pub(super) clock: Clock,
    /// Number of the process: the holder in leases.
    pub(super) start: u64,
    /// None while the process is down.
    pub(super) election: Option<Election>,
    pub(super) applied: Applied,
    pub(super) paused_until: u64,
    /// Requests do not arrive, answers do not come back, before these.
    pub(super) requests_cut_until: u64,
    pub(super) answers_cut_until: u64,
    /// The next tick that is in the queue.
    pub(super) tick_at: u64,
}
