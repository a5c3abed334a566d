//! Transactions that a query begins itself: `CALL { } IN TRANSACTIONS`.

use telar_graph::{CommitTs, Graph, Update};
use telar_query::{Limits, OpenTransaction, QueryError, Transactions};

use super::Session;
use super::waiting::commit;
use crate::again::Again;
use crate::backend::BackendTransaction;

/// The transactions of one statement, which end when it is told to.
pub(super) struct Batches<'s> {
    pub(super) session: &'s Session,
    pub(super) limits: &'s Limits,
}

impl Transactions for Batches<'_> {
    fn begin(&self) -> Result<Box<dyn OpenTransaction + '_>, QueryError> {
        let Self { session, limits } = *self;
        let mut transaction = session.backend.begin(session.isolation)?;
        transaction.wait_for_writers(session.write_wait(limits, false));
        Ok(Box::new(Open { transaction, session, limits }))
    }

    fn wait_for_next_try(&self, before: u32) -> bool {
        Again::after(before, self.limits.deadline, self.limits.cancelled.as_deref()).wait()
    }
}

/// A transaction that a query began.
struct Open<'s> {
    transaction: Box<dyn BackendTransaction>,
    session: &'s Session,
    limits: &'s Limits,
}

impl OpenTransaction for Open<'_> {
    fn graph(&self) -> &dyn Graph {
        self.transaction.graph()
    }

    fn update(&mut self) -> &mut dyn Update {
        self.transaction.update()
    }

    fn written_bytes(&self) -> u64 {
        self.transaction.written_bytes()
    }

    fn commit(self: Box<Self>) -> Result<CommitTs, QueryError> {
        let Self { transaction, session, limits } = *self;
        session.check_still_allowed()?;
        commit(transaction, limits, None)
    }
}
