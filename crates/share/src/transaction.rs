//! Several statements in one transaction, wherever the database is.

use std::sync::Arc;
use std::time::Duration;

use telar_db::QueryTransaction;
use telar_db::query::{QueryError, Sink, Summary};
use telar_graph::CommitTs;

use crate::message::{Answer, Request};
use crate::peer::{Failure, Link, Lost, Until, next};
use crate::session::{Session, misunderstood, once};
use crate::shared::{Place, Statement, closed, interrupted, silent, terminated, unknown};

/// Longest wait for the owner to say that a transaction is undone.
const ROLLBACK_WAIT: Duration = Duration::from_secs(2);

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
    /// Whether the next owner can be asked whether it was committed.
    takes_once: bool,
}

impl Transaction {
    pub(crate) fn here(transaction: QueryTransaction) -> Self {
        Self(State::Here(Box::new(transaction)))
    }

    pub(crate) fn there(session: &Session) -> Result<Self, Failure> {
        let place = session.inner.place();
        let Place::Other(peer) = &*place else { return Err(Failure::Lost(Lost::default())) };
        let until = session.until();
        let mut link = peer.link(until)?;
        let id = once();
        link.set(&session.options)?;
        if let Err(failure) = link.ask(&Request::Begin { once: id.clone() }, until) {
            peer.keep(link);
            // What was begun there ends with the connection.
            return Err(match failure {
                Failure::Lost(_) => Failure::Lost(Lost::default()),
                Failure::Silent => Failure::Query(terminated()),
                query => query,
            });
        }
        let link = Some(link);
        let session = session.clone();
        let takes_once = true;
        Ok(Self(State::There(Box::new(There { session, place, id, link, takes_once }))))
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
        let until = Until { flag: cancelled, ..self.session.until() };
        interrupted(until)?;
        let failure = match link.run(peer, statement, (None, false), (sink, until)) {
            Ok(summary) => return Ok(summary),
            Err(Failure::Query(error)) => return Err(error),
            Err(failure) => failure,
        };
        self.link = None;
        match failure {
            Failure::Lost(lost) => {
                self.takes_once &= !lost.unknown;
                // What is asked next is asked of who has it then, if there is anybody.
                let _ = self.session.inner.recover(&self.place, until);
                Err(Lost::in_transaction())
            }
            // It is undone when the owner goes on.
            _ => Err(until.error()),
        }
    }

    fn commit(mut self) -> Result<CommitTs, QueryError> {
        let Place::Other(peer) = &*self.place else { return Err(closed()) };
        let Some(mut link) = self.link.take() else { return Err(Lost::in_transaction()) };
        let until = self.session.until();
        interrupted(until)?;
        let answer = link.ask(&Request::Commit, until);
        peer.keep(link);
        match answer {
            Ok(Answer::Committed(Some(ts))) => Ok(CommitTs::from_raw(ts)),
            Ok(_) => Err(misunderstood()),
            Err(Failure::Query(error)) => Err(error),
            Err(Failure::Silent) => Err(silent()),
            Err(Failure::Lost(_)) if !self.takes_once => Err(unknown()),
            Err(Failure::Lost(_)) => self.was_committed(),
        }
    }

    /// Asks the next process that has the database whether it was committed.
    fn was_committed(&self) -> Result<CommitTs, QueryError> {
        let inner = &self.session.inner;
        let until = self.session.until();
        inner.recover(&self.place, until).map_err(|_| unknown())?;
        let found = inner.retry(until, |place| {
            next(match place {
                Place::Closed => Err(Failure::Query(closed())),
                Place::Own { .. } => {
                    let own = self.session.with_options(self.session.options.clone());
                    Ok(own.committed(&self.id))
                }
                Place::Other(peer) => {
                    let request = Request::Committed { id: self.id.clone() };
                    peer.ask(&request, until).and_then(|answer| match answer {
                        Answer::Committed(found) => Ok(found),
                        _ => Err(Failure::Query(misunderstood())),
                    })
                }
            })
        });
        let found = found.map_err(|_| unknown())?;
        found.map(CommitTs::from_raw).ok_or_else(Lost::in_transaction)
    }

    fn rollback(mut self) {
        let Place::Other(peer) = &*self.place else { return };
        let Some(mut link) = self.link.take() else { return };
        // An owner that is gone has undone it, and one that hangs will when it goes on.
        let _ = link.ask(&Request::Rollback, Until::new(None, Some(ROLLBACK_WAIT)));
        peer.keep(link);
    }
}
