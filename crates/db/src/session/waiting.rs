//! Waiting: for a commit to be decided, and for the next try of a statement.

use std::cell::Cell;

use telar_engine::Interrupt;
use telar_graph::CommitTs;
use telar_query::{Limits, Listed, QueryError};

use crate::again::Again;
use crate::backend::BackendTransaction;

/// Waits until the next try of a statement that lost a conflict; true if there is to be one.
/// `lost` is its transaction, if that may go on.
pub(super) fn wait_for_next_try(
    again: &mut Again<'_>,
    lost: Option<&dyn BackendTransaction>,
) -> bool {
    match lost {
        Some(transaction) if transaction.holds_intents() => again.wait_for_turn(),
        _ => again.wait(),
    }
}

/// Limits that can end a commit before it is decided, and the place of its transaction on the list
/// of what runs, which it gives up at that moment.
struct Waiting<'l> {
    limits: &'l Limits,
    listed: Cell<Option<Listed>>,
    /// Reason to end, when it was asked last: a moment later the server may have memory again.
    why: Cell<Option<QueryError>>,
}

impl Interrupt for Waiting<'_> {
    fn is_asked(&self) -> bool {
        let why = self.limits.check().err();
        let is_asked = why.is_some();
        self.why.set(why);
        is_asked
    }

    fn is_asked_last(&self) -> bool {
        // Off the list first: whoever was told that it is terminated is right.
        let ended = self.listed.take().is_some_and(Listed::close);
        ended || self.is_asked()
    }
}

/// Commits, unless the limits, or whoever sees it on the list, end it before; says with which
/// timestamp.
pub(super) fn commit(
    transaction: Box<dyn BackendTransaction>,
    limits: &Limits,
    listed: Option<Listed>,
) -> Result<CommitTs, QueryError> {
    let waiting = Waiting { limits, listed: Cell::new(listed), why: Cell::new(None) };
    let committed = transaction.commit(&waiting);
    committed.map_err(|error| waiting.why.take().unwrap_or(error))
}
