//! Several statements in one transaction, wherever the database is.

use std::sync::Arc;

use telar_db::QueryTransaction;
use telar_db::query::{QueryError, Sink, Summary};
use telar_graph::CommitTs;

use crate::message::{Answer, Request};
use crate::peer::{Failure, Link, Lost, next};
use crate::session::{Session, misunderstood, once};
use crate::shared::{Place, Statement, closed};

/// Several statements in one transaction; each sees what those before it did. Dropping it undoes
/// everything.
#[derive(Debug)]
pub struct Transaction(State);

enum State {
    Here(Box<QueryTransaction>),
    There(Box<There>),
}

impl std::fmt::Debug for State {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(if matches!(self, Self::Here(_)) { "here" } else { "there" })
    }
}

/// A transaction of another process.
struct There {
    session: Session,
    place: Arc<Place>,
    id: String,
    /// The connection in which it is open; gone once it was lost.
    link: Option<Link>,
}

impl Transaction {
    pub(crate) fn here(transaction: QueryTransaction) -> Self {
        Self(State::Here(Box::new(transaction)))
    }

    pub(crate) fn there(session: &Session) -> Result<Self, Failure> {
        let place = session.inner.place();
        let Place::Other(peer) = &*place else { return Err(Failure::Lost(Lost::default())) };
        let mut link = peer.link().map_err(Failure::Lost)?;
        let id = once();
        link.set(&session.options)?;
        let answer = link.ask(&Request::Begin { once: id.clone() });
        if let Err(Failure::Query(_)) = answer {
            peer.keep(link);
            return answer.map(|_| unreachable!("INVARIANT: it is an error"));
        }
        answer?;
        let link = Some(link);
        let session = session.clone();
        Ok(Self(State::There(Box::new(There { session, place, id, link }))))
    }

    /// Runs a statement, and hands its rows to `sink`: see [`QueryTransaction::stream`].
    ///
    /// # Errors
    /// As there. [`Conflict`](telar_db::query::ErrorKind::Conflict) if the process that has the
    /// database has ended: the transaction is undone, and can be run again.
    pub fn stream(
        &mut self,
        statement: &Statement<'_>,
        sink: &mut dyn Sink,
    ) -> Result<Summary, QueryError> {
        match &mut self.0 {
            State::Here(transaction) => {
                transaction.set_tables(statement.tables.cloned());
                transaction.stream(statement.text, statement.parameters, sink)
            }
            State::There(there) => there.stream(statement, sink),
        }
    }

    /// Commits, and returns the commit timestamp.
    ///
    /// # Errors
    /// As [`QueryTransaction::commit`]. If the process that has the database ends meanwhile, the
    /// next one is asked whether it was committed.
    pub fn commit(self) -> Result<CommitTs, QueryError> {
        match self.0 {
            State::Here(transaction) => transaction.commit(),
            State::There(there) => there.commit(),
        }
    }

    /// Undoes everything.
    pub fn rollback(self) {
        if let State::There(there) = self.0 {
            there.rollback();
        }
    }
}

impl There {
    fn stream(
        &mut self,
        statement: &Statement<'_>,
        sink: &mut dyn Sink,
    ) -> Result<Summary, QueryError> {
        let Place::Other(peer) = &*self.place else { return Err(closed()) };
        let Some(link) = &mut self.link else { return Err(Lost::in_transaction()) };
        let cancelled = statement.cancelled.or(self.session.cancelled.as_ref());
        let statement = Statement { cancelled, ..*statement };
        match link.run(peer, &statement, None, sink) {
            Ok(summary) => Ok(summary),
            Err(Failure::Query(error)) => Err(error),
            Err(Failure::Lost(_)) => {
                self.link = None;
                // What is asked next is asked of who has it then.
                self.session.inner.recover(&self.place, cancelled)?;
                Err(Lost::in_transaction())
            }
        }
    }

    fn commit(mut self) -> Result<CommitTs, QueryError> {
        let Place::Other(peer) = &*self.place else { return Err(closed()) };
        let Some(mut link) = self.link.take() else { return Err(Lost::in_transaction()) };
        match link.ask(&Request::Commit) {
            Ok(Answer::Committed(Some(ts))) => {
                peer.keep(link);
                Ok(CommitTs::from_raw(ts))
            }
            Ok(_) => Err(misunderstood()),
            Err(Failure::Query(error)) => {
                peer.keep(link);
                Err(error)
            }
            Err(Failure::Lost(_)) => self.was_committed(),
        }
    }

    /// Asks the next process that has the database whether it was committed.
    fn was_committed(&self) -> Result<CommitTs, QueryError> {
        let inner = &self.session.inner;
        inner.recover(&self.place, None)?;
        let found = inner.retry(None, |place| {
            next(match place {
                Place::Closed => Err(Failure::Query(closed())),
                Place::Own { .. } => {
                    let own = self.session.with_options(self.session.options.clone());
                    Ok(own.committed(&self.id))
                }
                Place::Other(peer) => {
                    let request = Request::Committed { id: self.id.clone() };
                    peer.ask(&request).and_then(|answer| match answer {
                        Answer::Committed(found) => Ok(found),
                        _ => Err(Failure::Query(misunderstood())),
                    })
                }
            })
        })?;
        found.map(CommitTs::from_raw).ok_or_else(Lost::in_transaction)
    }

    fn rollback(mut self) {
        let Place::Other(peer) = &*self.place else { return };
        let Some(mut link) = self.link.take() else { return };
        // An owner that is gone has undone it.
        if link.ask(&Request::Rollback).is_ok() {
            peer.keep(link);
        }
    }
}
