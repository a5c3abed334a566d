//! Commits that were acknowledged and shown, and the rules that hold for them.

use std::collections::{BTreeMap, BTreeSet};

/// Counts of a run, or of several.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct History {
    pub(super) acknowledged: u64,
    /// Commits of which the client was told that this node does not lead.
    pub(super) refused: u64,
    /// Commits of which the client was told that nobody knows.
    pub(super) undecided: u64,
    /// Commits that were not acknowledged and are in the log.
    pub(super) found_later: u64,
    pub(super) reads: u64,
    pub(super) takeovers: u64,
    pub(super) crashes: u64,
    pub(super) lost_power: u64,
    /// Deposed leaders that were opened again without a crash.
    pub(super) reopened: u64,
    /// Stale reads that brought something.
    pub(super) found_stale: u64,
    /// Times that the log became shorter.
    pub(super) trims: u64,
    /// Copies that were made anew from another one.
    pub(super) bootstraps: u64,
    /// Commits in the log.
    pub(super) last: u64,
}

impl History {
    pub(super) fn add(&mut self, other: &Self) {
        self.acknowledged += other.acknowledged;
        self.refused += other.refused;
        self.undecided += other.undecided;
        self.found_later += other.found_later;
        self.reads += other.reads;
        self.takeovers += other.takeovers;
        self.crashes += other.crashes;
        self.lost_power += other.lost_power;
        self.reopened += other.reopened;
        self.found_stale += other.found_stale;
        self.trims += other.trims;
        self.bootstraps += other.bootstraps;
        self.last += other.last;
    }
}

/// Numbers that transactions wrote.
pub(super) type Numbers = BTreeSet<i64>;

/// Knowledge of the clients.
#[derive(Debug, Default)]
pub(super) struct Known {
    /// Commits that were acknowledged.
    pub(super) acknowledged: Numbers,
    /// Commits that were ever tried.
    pub(super) tried: i64,
    /// State that any node showed at a commit: all must show the same.
    shown: BTreeMap<u64, Numbers>,
}

impl Known {
    /// Takes what a node showed at commit `ts`.
    pub(super) fn show(&mut self, node: usize, ts: u64, numbers: Numbers) -> Result<(), String> {
        match self.shown.get(&ts) {
            Some(before) if *before != numbers => {
                let differing: Vec<_> = before.symmetric_difference(&numbers).collect();
                Err(format!("node {node} at commit {ts} differs from others by {differing:?}"))
            }
            Some(_) => Ok(()),
            None => {
                self.shown.insert(ts, numbers);
                Ok(())
            }
        }
    }

    /// A strict read must show what was acknowledged before it began.
    pub(super) fn check_strict(&self, node: usize, shown: &Numbers) -> Result<(), String> {
        match self.acknowledged.difference(shown).next() {
            Some(number) => Err(format!("a stale strict read of node {node} lacks {number}")),
            None => Ok(()),
        }
    }
}
