//! A transaction of several statements, from BEGIN to its end.

use super::connection::{Connection, State};
use super::extra::Wanted;
use super::kept::Kept;
use super::link::{Exit, Link, out_of_order};
use super::message::Request;
use super::stream::{After, Stream};
use crate::dbms::{Client, Work};

/// Answers BEGIN and what follows. Whatever was not committed at the end is undone.
pub(crate) fn run(connection: &mut Connection<'_>, wanted: &Wanted) -> Result<State, Exit> {
    let options = &wanted.options;
    let database = connection.told_database(options.database.as_deref());
    let kept = Kept::new(connection.shared.settings.kept_bytes_max);
    let work = match connection.client.begin(options) {
        Ok(work) => work,
        Err(failure) => return connection.refuse(&failure),
    };
    let Connection { link, client, .. } = connection;
    link.success(|map| {
        if let Some(database) = &database {
            map.string("db", database);
        }
    });
    statements((link, client), work, wanted, kept)
}

/// Undoes everything, and says so once it is done.
fn undo(link: &mut Link, work: Work) -> State {
    work.rollback();
    link.success(|_| {});
    State::Ready
}

fn statements(
    (link, client): (&mut Link, &Client),
    mut work: Work,
    wanted: &Wanted,
    mut kept: Kept,
) -> Result<State, Exit> {
    let mut pending = None;
    let mut qid = 0;
    loop {
        let request = match pending.take() {
            Some(request) => request,
            None => link.next()?,
        };
        match request {
            Request::Run(run) => {
                link.wire.set_running(true);
                let mut stream =
                    Stream::new((link, client), &wanted.filter, Some((&mut kept, qid)), None);
                let done = work.run(&run.text, &run.parameters, &mut stream);
                let after = stream.end(done)?;
                link.wire.set_running(false);
                match after {
                    After::Next(request) => pending = request,
                    After::Reset => return Ok(undo(link, work)),
                    After::Failed => return Ok(State::Failed),
                }
                qid += 1;
            }
            Request::Demand(demand) if !kept.is_empty() => {
                if let Err(failure) = client.still_allowed() {
                    link.failure(&failure.into());
                    return Ok(State::Failed);
                }
                if !kept.serve(link, demand)? {
                    return Ok(State::Failed);
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
                return Ok(state);
            }
            Request::Rollback | Request::Reset => return Ok(undo(link, work)),
            Request::Unacceptable(failure) => {
                link.failure(&failure);
                return Ok(State::Failed);
            }
            other => {
                let state = if kept.is_empty() { "TX_READY" } else { "TX_STREAMING" };
                return Err(out_of_order(&other, state));
            }
        }
    }
}
