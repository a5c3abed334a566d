//! Where the rows of a statement go: to the client, as far as it asked for them.
//!
//! ```text
//! statement ──columns──► SUCCESS, then wait for PULL, DISCARD ... ◄─┐
//!           ──rows─────► RECORDs until the demand is met ───────────┘ SUCCESS {has_more}
//!           ──its end──► SUCCESS with the summary
//! ```
//!
//! The demand that was met is answered when the next row, or the end, is there, so that the client
//! need not ask again to hear that there is nothing. A statement that follows in the same
//! transaction makes the stream keep what is left.

use std::sync::Arc;
use std::time::{Duration, Instant};

use telar_db::query::{ErrorKind, QueryError, Rows, Sink};

use super::encode::Encoder;
use super::kept::{Kept, Result as KeptResult};
use super::link::{Exit, Link, out_of_order};
use super::message::{Demand, RECORD, Request};
use super::packstream::encode as put;
use super::status::{Filter, Outcome};
use super::summary;
use crate::dbms::{Client, Done, Failure};

/// A client that gets rows slowly gets what there is after this time.
const HELD_BACK_MAX: Duration = Duration::from_millis(5);

/// The statement that runs, for its client.
pub(crate) struct Stream<'c> {
    link: &'c mut Link,
    /// Whose statement it is.
    client: &'c Client,
    filter: &'c Filter,
    /// Where its rest goes if it cannot be sent yet; none outside of a transaction.
    kept: Option<&'c mut Kept>,
    /// Its number in the transaction.
    qid: i64,
    /// Where it runs: for clients that want to know it from the start.
    database: Option<Arc<str>>,
    began: Instant,
    flushed: Instant,
    columns: usize,
    sent_rows: bool,
    mode: Mode,
    stop: Option<Stop>,
    /// A request that is to be answered once the statement has ended.
    pending: Option<Request>,
}

/// What to do with the next row.
enum Mode {
    /// The client has asked for so many, or to leave out so many. If there are none of them left,
    /// it is to be told that there are more.
    Asked { discard: bool, left: Option<u64> },
    /// Keep it.
    Keep(KeptResult),
    /// Nothing: it will not be asked for.
    Drop,
}

/// Why the statement was ended before its last row.
enum Stop {
    Reset,
    /// The client was told that something failed.
    Failed,
    Exit(Exit),
}

/// What comes after the statement.
pub(crate) enum After {
    /// The next request; one that came already, or none.
    Next(Option<Request>),
    /// It was ended by a RESET, which was not answered.
    Reset,
    /// It failed, and the client knows.
    Failed,
}

impl<'c> Stream<'c> {
    pub(crate) fn new(
        (link, client): (&'c mut Link, &'c Client),
        filter: &'c Filter,
        kept: Option<(&'c mut Kept, i64)>,
        database: Option<Arc<str>>,
    ) -> Self {
        let now = Instant::now();
        let (kept, qid) = kept.map_or((None, -1), |(kept, qid)| (Some(kept), qid));
        Self {
            link,
            client,
            filter,
            kept,
            qid,
            database,
            began: now,
            flushed: now,
            columns: 0,
            sent_rows: false,
            mode: Mode::Drop,
            stop: None,
            pending: None,
        }
    }

    /// Answers the request at hand, now that the statement has ended.
    pub(crate) fn end(self, done: Result<Done, Failure>) -> Result<After, Exit> {
        match (self.stop, done) {
            (Some(Stop::Exit(exit)), _) => return Err(exit),
            (Some(Stop::Reset), _) => return Ok(After::Reset),
            (Some(Stop::Failed), _) => return Ok(After::Failed),
            // To undo everything is what is wanted then, too.
            (None, Err(_)) if self.pending == Some(Request::Rollback) => {}
            (None, Err(failure)) => {
                self.link.failure(&failure);
                return Ok(After::Failed);
            }
            (None, Ok(done)) => {
                let outcome = Outcome { has_columns: self.columns > 0, has_rows: self.sent_rows };
                let (version, filter, began) = (self.link.version, self.filter, self.began);
                let write =
                    |out: &mut _| summary::write(out, &done, began, outcome, filter, version);
                match (self.mode, self.kept) {
                    (Mode::Keep(result), Some(kept)) => kept.add(self.qid, result, write),
                    (Mode::Drop, _) => {}
                    _ => self.link.answer(write),
                }
            }
        }
        Ok(After::Next(self.pending))
    }

    /// Waits until the client says what it wants with the next rows.
    fn wait(&mut self) -> Result<(), Stop> {
        self.link.wire.set_running(false);
        let waited = self.wait_for_demand();
        self.link.wire.set_running(true);
        self.flushed = Instant::now();
        waited
    }

    fn wait_for_demand(&mut self) -> Result<(), Stop> {
        loop {
            let request = self.link.next().map_err(Stop::Exit)?;
            match (request, &mut self.kept) {
                (Request::Demand(demand), kept) => {
                    let Demand { discard, rows, qid } = demand;
                    match kept {
                        Some(kept) if qid.is_some_and(|qid| qid != self.qid) => {
                            let served = kept.serve(self.link, demand).map_err(Stop::Exit)?;
                            if !served {
                                return Err(Stop::Failed);
                            }
                        }
                        _ => {
                            self.mode = Mode::Asked { discard, left: rows };
                            return Ok(());
                        }
                    }
                }
                (Request::Reset, _) => return Err(Stop::Reset),
                (Request::Unacceptable(failure), _) => {
                    self.link.failure(&failure);
                    return Err(Stop::Failed);
                }
                (request @ Request::Run(_), Some(_)) => {
                    self.mode = Mode::Keep(KeptResult::default());
                    self.pending = Some(request);
                    return Ok(());
                }
                (request @ (Request::Commit | Request::Rollback), Some(_)) => {
                    self.mode = Mode::Drop;
                    self.pending = Some(request);
                    return Ok(());
                }
                (request, kept) => {
                    let state = if kept.is_some() { "TX_STREAMING" } else { "STREAMING" };
                    return Err(Stop::Exit(out_of_order(&request, state)));
                }
            }
        }
    }

    /// Remembers why the statement is ended, and says so to the query.
    fn stopped(&mut self, stop: Stop) -> QueryError {
        self.stop = Some(stop);
        let message = "the client wants no more of it";
        QueryError::runtime(ErrorKind::Terminated, "Terminated", message)
    }

    fn row(&mut self, rows: &Rows<'_>, row: usize) -> Result<(), QueryError> {
        if let Mode::Asked { left: Some(0), .. } = self.mode {
            self.link.success(|map| map.bool("has_more", true));
            if let Err(stop) = self.wait() {
                return Err(self.stopped(stop));
            }
            // The client may have taken its time.
            self.client.still_allowed()?;
        }
        let (dialect, columns) = (self.link.dialect, self.columns);
        let write = |out: &mut Vec<u8>| {
            let encoder = Encoder { dialect, rows: Some(rows), begin: out.len() };
            put::structure(out, RECORD, 1);
            put::list(out, columns);
            (0..columns).try_for_each(|column| encoder.value(out, &rows.get(row, column)))
        };
        match &mut self.mode {
            Mode::Asked { discard, left } => {
                if let Some(left) = left {
                    *left -= 1;
                }
                if *discard {
                    return Ok(());
                }
                self.sent_rows = true;
                self.link.try_answer(write)?;
                if let Err(exit) = self.link.relieve() {
                    return Err(self.stopped(Stop::Exit(exit)));
                }
            }
            Mode::Keep(result) => {
                self.sent_rows = true;
                let limit = self.kept.as_ref().map_or(0, |kept| kept.room());
                if !result.push(write, limit)? {
                    let message = "results of the transaction that wait to be read take more \
                                   memory than they may";
                    let kind = ErrorKind::OutOfMemory;
                    return Err(QueryError::runtime(kind, "OutOfMemory", message));
                }
            }
            Mode::Drop => {}
        }
        Ok(())
    }
}

impl Sink for Stream<'_> {
    fn columns(&mut self, columns: &[Arc<str>]) -> Result<(), QueryError> {
        self.columns = columns.len();
        let (qid, ms) = (self.qid, self.began.elapsed().as_millis() as i64);
        let database = self.database.take();
        self.link.success(|map| {
            let out = map.entry("fields");
            put::list(out, columns.len());
            columns.iter().for_each(|column| put::string(out, column));
            map.int("t_first", ms);
            if qid >= 0 {
                map.int("qid", qid);
            }
            if let Some(database) = &database {
                map.string("db", database);
            }
        });
        self.wait().map_err(|stop| self.stopped(stop))
    }

    fn rows(&mut self, rows: &Rows<'_>) -> Result<(), QueryError> {
        for row in 0..rows.len() {
            if self.has_enough() {
                return Ok(());
            }
            self.row(rows, row)?;
        }
        if self.flushed.elapsed() > HELD_BACK_MAX {
            if let Err(exit) = self.link.flush() {
                return Err(self.stopped(Stop::Exit(exit)));
            }
            self.flushed = Instant::now();
        }
        Ok(())
    }

    fn committed(&mut self) {
        self.link.lift_limits();
    }

    fn has_enough(&self) -> bool {
        matches!(self.mode, Mode::Drop | Mode::Asked { discard: true, left: None })
    }
}
