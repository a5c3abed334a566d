//! Transactions whose outcome their clients may not know, as where a connection breaks under a
//! commit.

use std::collections::HashSet;

use crate::history::{Op, Txn};

/// The end of a transaction, as far as its client knows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// Its commit was acknowledged.
    Acknowledged,
    /// Nothing of it may be seen.
    Refused,
    /// It may have been made.
    Unknown,
}

/// A transaction, with its outcome.
#[derive(Debug)]
pub struct Recorded {
    /// Its steps; `commit_ts` and `end` are right once it is [resolved].
    pub txn: Txn,
    /// The answer to its client.
    pub outcome: Outcome,
}

impl Recorded {
    /// A transaction of `thread` between two ticks of a counter that all clients share.
    #[must_use]
    pub fn new(thread: usize, (begin, end): (u64, u64), ops: Vec<Op>, outcome: Outcome) -> Self {
        let commit_ts = (outcome == Outcome::Acknowledged).then_some(end);
        let txn = Txn { thread, read_ts: begin, commit_ts, begin, end, counts: (0, 0), ops };
        Self { txn, outcome }
    }
}

/// Numbers of transactions by outcome.
#[derive(Debug, Default)]
pub struct Counts {
    /// Commits that were acknowledged.
    pub acknowledged: usize,
    /// Transactions of which nothing may be seen.
    pub refused: usize,
    /// Of unknown outcome, and made.
    pub unknown_made: usize,
    /// Of unknown outcome, and not made.
    pub unknown_not_made: usize,
}

/// Decides by the last reads on the transactions whose outcome is not known: one of which something
/// is there was committed, after everything that began before its end was known. Whether all of it
/// is there is the checker's business.
///
/// # Panics
/// If the history is empty.
pub fn resolved(history: &mut [Recorded]) -> Counts {
    let last = history.last().expect("INVARIANT: the last reads are in it");
    let mut lists: HashSet<i64> = HashSet::new();
    let mut marked: HashSet<u64> = HashSet::new();
    for op in &last.txn.ops {
        match op {
            Op::ReadList { ids, .. } => lists.extend(ids),
            Op::ReadSet { members, .. } => marked.extend(members),
            _ => {}
        }
    }
    let mut counts = Counts::default();
    for Recorded { txn, outcome } in history {
        match outcome {
            Outcome::Acknowledged => counts.acknowledged += 1,
            Outcome::Refused => counts.refused += 1,
            Outcome::Unknown => {
                let made = txn.ops.iter().any(|op| match op {
                    Op::Append { id, .. } => lists.contains(id),
                    Op::Insert { item, .. } => marked.contains(item),
                    _ => false,
                });
                txn.commit_ts = made.then_some(txn.end);
                txn.end = u64::MAX;
                match made {
                    true => counts.unknown_made += 1,
                    false => counts.unknown_not_made += 1,
                }
            }
        }
    }
    counts
}

/// The transactions, as the checker takes them.
#[must_use]
pub fn txns(history: &[Recorded]) -> Vec<Txn> {
    history.iter().map(|recorded| recorded.txn.clone()).collect()
}
