//! Transactions that were ended from outside, and why.
//!
//! A client hears of it with its next request, as it does over Bolt, and can try again or not by
//! the code. What is remembered is bounded: the last so many, of all users.

use std::collections::VecDeque;

use parking_lot::Mutex;

use crate::dbms::{Failure, Owner};

/// Number of transactions that are remembered. Each takes some hundred bytes.
const REMEMBERED: usize = 1024;

/// The code of one that somebody has terminated.
pub(super) const TERMINATED: &str = "Neo.TransientError.Transaction.Terminated";

/// The code of one that took too long.
pub(super) const TIMED_OUT: &str = "Neo.ClientError.Transaction.TransactionTimedOut";

/// True if it was no request of its own that went wrong.
pub(super) fn is_from_outside(why: &Failure) -> bool {
    [TERMINATED, TIMED_OUT].contains(&why.code)
}

/// The last transactions that were ended from outside.
#[derive(Debug, Default)]
pub(super) struct Ended(Mutex<VecDeque<One>>);

#[derive(Debug)]
struct One {
    id: String,
    owner: Owner,
    database: String,
    why: Failure,
}

impl Ended {
    pub(super) fn add(&self, id: &str, owner: &Owner, database: &str, why: &Failure) {
        let (id, owner, database) = (id.to_owned(), owner.clone(), database.to_owned());
        let mut all = self.0.lock();
        all.truncate(REMEMBERED - 1);
        all.push_front(One { id, owner, database, why: why.clone() });
    }

    /// Why this one of this owner was ended.
    pub(super) fn find(&self, database: &str, owner: &Owner, id: &str) -> Option<Failure> {
        let all = self.0.lock();
        let found = all.iter().find(|one| one.id == id)?;
        let own = found.owner == *owner && found.database == database;
        own.then(|| found.why.clone())
    }
}
