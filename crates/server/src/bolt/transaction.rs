//! A transaction of several statements, from BEGIN to its end.

use std::time::Instant;

use super::connection::{Connection, State};
use super::extra::Wanted;
use super::kept::Kept;
use super::link::{Exit, Link, out_of_order};
use super::message::Request;
use super::stream::{After, Stream};
use crate::dbms::{Failure, Work};

/// How it ends, where the client is to hear it only once it has ended.
enum Ending {
    /// It was undone because the client wanted it.
    Undone,
    /// It took too long, and was undone.
    TimedOut,
    /// All is said.
    Now(State),
}

/// Answers BEGIN and what follows. Whatever was not committed at the end is undone.
pub(crate) fn run(
    connection: &mut Connection<'_>,
    wanted: &Wanted,
    deadline: Option<Instant>,
) -> Result<State, Exit> {
    let options = &wanted.options;
    let database = connection.told_database(options.database.as_deref());
    let kept_max = connection.shared.settings.kept_bytes_max;
    let idle = connection.shared.settings.idle_timeout;
    let Connection { link, client, .. } = connection;
    let ending = client.transaction(options, |work| {
        link.success(|map| {
            if let Some(database) = &database {
                map.string("db", database);
            }
        });
        if deadline.is_some() {
            link.set_patience(deadline, idle);
        }
        statements(link, work, wanted, Kept::new(kept_max), deadline)
    });
    match ending {
        Err(failure) => connection.refuse(&failure),
        Ok(Err(exit)) => Err(exit),
        Ok(Ok(Ending::Now(state))) => Ok(state),
        Ok(Ok(Ending::Undone)) => {
            connection.link.success(|_| {});
            Ok(State::Ready)
        }
        Ok(Ok(Ending::TimedOut)) => {
            connection.link.set_patience(None, idle);
            late(connection)
        }
    }
}

fn statements(
    link: &mut Link,
    mut work: Work<'_, '_>,
    wanted: &Wanted,
    mut kept: Kept,
    deadline: Option<Instant>,
) -> Result<Ending, Exit> {
    let mut pending = None;
    let mut qid = 0;
    loop {
        let request = match pending.take() {
            Some(request) => request,
            None => match link.next() {
                Err(Exit::TimedOut) if deadline.is_some_and(|d| Instant::now() >= d) => {
                    return Ok(Ending::TimedOut);
                }
                next => next?,
            },
        };
        match request {
            Request::Run(run) => {
                link.wire.set_running(true);
                let mut stream = Stream::new(link, &wanted.filter, Some((&mut kept, qid)), None);
                let done = work.run(&run.text, &run.parameters, &mut stream);
                let after = stream.end(done);
                link.wire.set_running(false);
                match after {
                    Err(Exit::TimedOut) if deadline.is_some_and(|d| Instant::now() >= d) => {
                        return Ok(Ending::TimedOut);
                    }
                    Err(exit) => return Err(exit),
                    Ok(After::Next(request)) => pending = request,
                    Ok(After::Reset) => return Ok(Ending::Undone),
                    Ok(After::Failed) => return Ok(Ending::Now(State::Failed)),
                }
                qid += 1;
            }
            Request::Demand(demand) if !kept.is_empty() => {
                if !kept.serve(link, demand)? {
                    return Ok(Ending::Now(State::Failed));
                }
            }
            Request::Commit => {
                let state = match work.commit() {
                    Ok(bookmark) => {
                        link.success(|map| map.string("bookmark", &bookmark.to_string()));
                        State::Ready
                    }
                    Err(failure) => {
                        link.failure(&failure);
                        State::Failed
                    }
                };
                return Ok(Ending::Now(state));
            }
            Request::Rollback => {
                work.rollback();
                return Ok(Ending::Undone);
            }
            Request::Reset => return Ok(Ending::Undone),
            Request::Unacceptable(failure) => {
                link.failure(&failure);
                return Ok(Ending::Now(State::Failed));
            }
            other => {
                let state = if kept.is_empty() { "TX_READY" } else { "TX_STREAMING" };
                return Err(out_of_order(&other, state));
            }
        }
    }
}

/// The client hears that its transaction is gone when it asks for something next.
fn late(connection: &mut Connection<'_>) -> Result<State, Exit> {
    match connection.link.next()? {
        Request::Reset => {
            connection.link.success(|_| {});
            Ok(State::Ready)
        }
        _ => {
            let code = "Neo.ClientError.Transaction.TransactionTimedOut";
            let message = "the transaction took longer than its time limit, and was undone";
            connection.refuse(&Failure::new(code, message))
        }
    }
}
