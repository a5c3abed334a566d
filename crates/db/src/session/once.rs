//! Transactions that commit once, however often they are sent (docs/decisions/0080).
//!
//! - The id goes with the transaction to its commit, which decides (`telar_engine`'s `once.rs`).
//! - What keeps no id is refused before it runs: changes of indexes and constraints, commands for
//!   the server, `CALL { } IN TRANSACTIONS`.
//! - A statement that fails in a transaction that has committed before may fail for that reason:
//!   the client is told that it has.

use std::sync::Arc;

use telar_query::{ErrorKind, Limits, Phase, Prepared, QueryError};

use super::Session;
use super::plan::{Planned, changes};
use crate::backend::BackendTransaction;

/// Properties of a statement that are known before it runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Foreseen {
    /// It can [commit once](Session::with_once): it is not a change of indexes and constraints, a
    /// command for the server, or of those that commit several times.
    pub takes_once: bool,
    /// It may change the graph, or indexes and constraints.
    pub changes: bool,
    /// It returns columns.
    pub returns: bool,
}

/// The part of a statement that keeps it from committing once.
fn refused(plan: &Prepared) -> Option<&'static str> {
    if plan.in_transactions() {
        Some("CALL { } IN TRANSACTIONS, which commits several times")
    } else if plan.copies() {
        Some("COPY, which is a transaction of its own")
    } else if plan.changes_schema() {
        Some("changes of indexes and constraints: IF NOT EXISTS and IF EXISTS may be sent again")
    } else if plan.administration().is_some() {
        Some("commands for the server: IF NOT EXISTS and IF EXISTS may be sent again")
    } else {
        None
    }
}

impl Session {
    /// The same session, whose next statement, or transaction of several, commits once: it may be
    /// sent again, here or after a restart, when nobody knows whether it was committed. Of all that
    /// are sent with this id the first commits; the others undo what they wrote, and have the
    /// timestamp of the first. 1 to 128 bytes, another id for each transaction: two transactions
    /// with one id are one. What only reads ignores it.
    ///
    /// # Examples
    /// ```
    /// let session = telar_db::Session::new(&telar_db::open_in_memory()?);
    /// let order = session.clone().with_once("order-77");
    /// let first = order.run("CREATE (:Order {id: 77})", &[])?;
    /// let again = order.run("CREATE (:Order {id: 77})", &[])?;
    /// assert_eq!(first.at, again.at);
    /// assert_eq!(session.run("MATCH (o:Order) RETURN count(o)", &[])?.rows, [[1.into()]]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn with_once(self, id: impl Into<Arc<str>>) -> Self {
        Self { once: Some(id.into()), ..self }
    }

    /// As [`with_once`](Self::with_once), for [transactions](Self::begin) that may also do what
    /// keeps no id, such as changes of indexes: those are not committed once.
    #[must_use]
    pub fn with_once_if_possible(self, id: impl Into<Arc<str>>) -> Self {
        Self { once: Some(id.into()), once_if_possible: true, ..self }
    }

    /// Properties of a statement that are known before it runs.
    ///
    /// # Errors
    /// Whatever is wrong with the statement before it runs.
    ///
    /// *Cost*: that of preparing it, once; the plan is kept.
    pub fn foresee(&self, text: &str) -> Result<Foreseen, QueryError> {
        let (deadline, scratch) = (self.deadline(), self.scratch());
        let limits = Limits { deadline, scratch, ..self.limits.clone() };
        // It does not run yet: nobody is to see it, or to end it.
        let plan = self.plan(text, Planned { graph: None, limits: &limits, list: &|_| () })?;
        Ok(Foreseen {
            takes_once: plan.explains() || refused(&plan).is_none(),
            changes: changes(&plan),
            returns: plan.columns().next().is_some(),
        })
    }

    /// Begins a transaction of the backend, with the id if there is one.
    pub(super) fn begin_transaction(&self) -> Result<Box<dyn BackendTransaction>, QueryError> {
        let mut transaction = self.backend.begin(self.isolation)?;
        if let Some(id) = self.once.as_ref().filter(|_| !self.once_if_possible) {
            transaction.commit_once(id)?;
        }
        Ok(transaction)
    }

    /// Gives a transaction that is about to be committed the id that it may have.
    pub(super) fn name_transaction(
        &self,
        transaction: &mut dyn BackendTransaction,
    ) -> Result<(), QueryError> {
        match &self.once {
            Some(id) if self.once_if_possible && !transaction.changes_schema() => {
                transaction.commit_once(id)
            }
            _ => Ok(()),
        }
    }

    /// Refuses what a transaction with an id cannot do.
    pub(super) fn check_once(&self, plan: &Prepared) -> Result<(), QueryError> {
        if self.once.is_none() || self.once_if_possible || plan.explains() {
            return Ok(());
        }
        let Some(what) = refused(plan) else { return Ok(()) };
        let message = format!("a transaction that commits once does not take {what}");
        let (kind, detail) = (ErrorKind::TransactionType, "ForbiddenDueToTransactionType");
        Err(QueryError::compile(kind, detail, message))
    }

    /// The error of a statement, or of its commit, as a client is told of it that may have
    /// committed the same before.
    pub(super) fn explain_once(&self, error: QueryError) -> QueryError {
        let is_told = matches!(
            error.kind,
            ErrorKind::Terminated
                | ErrorKind::TimedOut
                | ErrorKind::NotALeader
                | ErrorKind::AlreadyCommitted
        );
        if error.phase != Phase::Runtime || error.is_retryable() || is_told {
            return error;
        }
        let committed = self.once.as_ref().and_then(|id| self.backend.committed_once(id));
        let Some(ts) = committed else { return error };
        let message = format!(
            "a transaction with this id has committed before, at {ts}; sent again, it fails: {}",
            error.message
        );
        QueryError { kind: ErrorKind::AlreadyCommitted, message, ..error }
    }
}
