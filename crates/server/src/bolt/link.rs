//! A connection as its own thread sees it: requests in, answers out.

use std::io;
use std::sync::Arc;
use std::time::{Duration, Instant};

use telar_db::query::budget::Budget;
use telar_db::query::watch::watched;
use telar_db::query::{Limits, QueryError};

use super::LOGIN_BYTES_MAX;
use super::chunk;
use super::message::{IGNORED, Request, SUCCESS};
use super::packstream::encode::{self as put, SmallMap};
use super::status;
use super::structure::Dialect;
use super::version::Version;
use super::wire::Wire;
use crate::dbms::Failure;
use crate::net::{WaitEnd, WaitLimit, websocket};

/// Bytes of answers that are collected before they are sent.
const OUT_BYTES: usize = 64 << 10;
/// Bytes of room for requests that are kept for the next ones.
const KEPT_BYTES: usize = 2 * OUT_BYTES;
/// Bytes of memory that a request's values may take for each byte that its message may have.
const MEMORY_FACTOR: usize = 8;

/// Why a connection ends.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Exit {
    /// The client has said that it ends.
    Goodbye,
    /// One side has closed it.
    Closed,
    /// The client was silent for too long.
    TimedOut,
    /// The client has not read for too long, and is owed an answer.
    Unread,
    /// The client does not keep to the protocol.
    Protocol(Failure),
}

impl From<io::Error> for Exit {
    fn from(error: io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::TimedOut => Self::TimedOut,
            _ => Self::Closed,
        }
    }
}

/// What a request of somebody who has not logged in may have.
const LOGIN_LIMIT: (usize, &str) = (LOGIN_BYTES_MAX, "before a login");

/// Requests in, answers out.
#[derive(Debug)]
pub(crate) struct Link {
    pub(crate) wire: Arc<Wire>,
    pub(crate) version: Version,
    pub(crate) dialect: Dialect,
    /// Answers that were not sent yet. They are when the client is waited for.
    out: Vec<u8>,
    message: Vec<u8>,
    /// Bytes that a request may have, and why.
    limit: (usize, &'static str),
    /// Gives what this thread has freed back to the system.
    give_back: fn(),
    /// What reading a request may use.
    limits: Limits,
    /// Longest time that a message may take from its first byte to its last.
    message_timeout: Duration,
}

impl Link {
    /// Messages are read while `budget` has room for them.
    pub(crate) fn new(
        wire: Arc<Wire>,
        version: Version,
        give_back: fn(),
        budget: Option<&'static Budget>,
        message_timeout: Duration,
    ) -> Self {
        wire.io().lock().input.set_budget(budget);
        let limits = Limits { budget, ..Limits::default() };
        let dialect = Dialect::of(version);
        let (out, message) = (Vec::new(), Vec::new());
        let limit = LOGIN_LIMIT;
        Self { wire, version, dialect, out, message, limit, give_back, limits, message_timeout }
    }

    /// Whether a version, or a later one, is spoken.
    pub(crate) fn since(&self, major: u8, minor: u8) -> bool {
        self.version >= Version::new(major, minor)
    }

    /// Bytes that a request may have from now on, as the setting says; without, as before a login.
    pub(crate) fn set_message_limit(&mut self, limit: Option<usize>) {
        self.limit = limit.map_or(LOGIN_LIMIT, |limit| (limit, "bolt.message_bytes"));
    }

    /// Sets the limits on waiting for the client.
    pub(crate) fn set_wait_limit(&mut self, limit: WaitLimit) {
        self.wire.io().lock().socket.set_wait_limit(limit);
    }

    /// Lifts the deadline and the cancellation: the work that is left cannot be undone any more.
    pub(crate) fn lift_limits(&mut self) {
        let mut io = self.wire.io().lock();
        let per_call = io.socket.wait_limit().per_call;
        io.socket.set_wait_limit(WaitLimit::per_call(per_call));
    }

    /// Reason to wait for the client no more, if there is one.
    pub(crate) fn wait_ended(&self) -> Option<WaitEnd> {
        self.wire.io().lock().socket.wait_limit().ended()
    }

    /// The next request that is to be answered. What was asked for before a RESET is not.
    pub(crate) fn next(&mut self) -> Result<Request, Exit> {
        loop {
            let interrupted = self.receive()?;
            let request = self.read()?;
            if self.message.capacity() > KEPT_BYTES {
                self.message = Vec::new();
            }
            match request {
                Request::Goodbye => return Err(Exit::Goodbye),
                Request::Reset => {
                    self.wire.io().lock().interrupted = false;
                    return Ok(request);
                }
                _ if interrupted => self.ignored(),
                _ => return Ok(request),
            }
        }
    }

    /// What the message asks for.
    fn read(&mut self) -> Result<Request, Exit> {
        if let Some(error) = self.wire.io().lock().input.refused() {
            return Ok(Request::Unacceptable(QueryError::from(error).into()));
        }
        let memory = self.limit.0 * MEMORY_FACTOR;
        let read = || Request::read(&self.message, self.version, self.dialect, memory);
        watched(&self.limits, read).map_err(Exit::Protocol)
    }

    /// Waits for a whole message; says whether a RESET waits behind it. Of a client that is silent
    /// for a while no more memory is kept than has to be, and a message that has begun is waited
    /// for no longer than `bolt.message_timeout`: half of one holds memory.
    fn receive(&mut self) -> Result<bool, Exit> {
        let mut before = None;
        let received = self.gather(&mut before);
        if let Some(limit) = before {
            self.set_wait_limit(limit);
        }
        received
    }

    /// Receives a message. Once a part of it has come, the deadline is that of the message;
    /// `before` is the limit that held until then.
    fn gather(&mut self, before: &mut Option<WaitLimit>) -> Result<bool, Exit> {
        let mut late = None;
        let mut io = self.wire.io().lock();
        loop {
            let taken = io.input.take(&mut self.message, self.limit.0).map_err(|_| {
                let (most, why) = self.limit;
                let message = format!("a message of more than {most} bytes ({why})");
                Exit::Protocol(Failure::new("Neo.ClientError.Request.Invalid", message))
            })?;
            if taken {
                return Ok(io.interrupted);
            }
            if io.ended {
                return Err(Exit::Closed);
            }
            if !self.out.is_empty() {
                io.write(&mut self.out)?;
            }
            if late.is_none() && io.input.is_within_message() {
                late = Instant::now().checked_add(self.message_timeout);
                let usual = io.socket.wait_limit().clone();
                let deadline = usual.deadline.into_iter().chain(late).min();
                io.socket.set_wait_limit(WaitLimit { deadline, ..usual.clone() });
                *before = Some(usual);
            }
            match io.read() {
                Err(error)
                    if error.kind() == io::ErrorKind::TimedOut
                        && late.is_some_and(|late| Instant::now() >= late) =>
                {
                    let message = format!(
                        "a message was not complete {} s after it had begun (bolt.message_timeout)",
                        self.message_timeout.as_secs_f64()
                    );
                    let failure = Failure::new("Neo.ClientError.Request.Invalid", message);
                    return Err(Exit::Protocol(failure));
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    io.input.put_away();
                    (self.out, self.message) = (Vec::new(), Vec::new());
                    (self.give_back)();
                }
                read => read?,
            }
        }
    }

    /// Sends what was answered so far of what the client asked for, and waits for.
    pub(crate) fn flush(&mut self) -> Result<(), Exit> {
        if self.out.is_empty() {
            return Ok(());
        }
        let sent = self.wire.io().lock().write(&mut self.out);
        sent.map_err(|error| match Exit::from(error) {
            Exit::TimedOut => Exit::Unread,
            exit => exit,
        })
    }

    /// Sends what was answered, if it is much.
    pub(crate) fn relieve(&mut self) -> Result<(), Exit> {
        if self.out.len() >= OUT_BYTES { self.flush() } else { Ok(()) }
    }

    /// Answers something that `write` writes.
    pub(crate) fn answer<R>(&mut self, write: impl FnOnce(&mut Vec<u8>) -> R) -> R {
        chunk::write(&mut self.out, write)
    }

    /// The same, if nothing goes wrong: otherwise what was written of it is taken back.
    pub(crate) fn try_answer<E>(
        &mut self,
        write: impl FnOnce(&mut Vec<u8>) -> Result<(), E>,
    ) -> Result<(), E> {
        let begin = self.out.len();
        let written = chunk::write(&mut self.out, write);
        if written.is_err() {
            self.out.truncate(begin);
        }
        written
    }

    /// Answers what was written before, with chunks around it.
    pub(crate) fn answer_written(&mut self, messages: &[u8]) {
        self.out.extend_from_slice(messages);
    }

    pub(crate) fn success(&mut self, write: impl FnOnce(&mut SmallMap<'_>)) {
        self.answer(|out| {
            put::structure(out, SUCCESS, 1);
            write(&mut SmallMap::new(out));
        });
    }

    pub(crate) fn ignored(&mut self) {
        self.answer(|out| put::structure(out, IGNORED, 0));
    }

    pub(crate) fn failure(&mut self, failure: &Failure) {
        let version = self.version;
        self.answer(|out| status::failure(out, failure, version));
    }

    /// Tells the client why the connection ends, as far as it is its doing, and ends it.
    pub(crate) fn close(&mut self, exit: &Exit) {
        if let Exit::Protocol(failure) = exit {
            self.failure(failure);
        }
        // The client may be gone.
        let sent = self.flush();
        let socket = &mut self.wire.io().lock().socket;
        socket.finish(match exit {
            Exit::Goodbye => websocket::NORMAL,
            Exit::Protocol(_) => websocket::PROTOCOL_ERROR,
            Exit::Closed | Exit::TimedOut | Exit::Unread => websocket::GOING_AWAY,
        });
        let is_told = matches!(exit, Exit::Protocol(_)) || socket.should_linger();
        if sent.is_ok() && is_told {
            socket.linger();
        }
    }
}

/// What a request gets that the state of the connection does not allow.
pub(crate) fn out_of_order(request: &Request, state: &str) -> Exit {
    let message = format!("Message {} cannot be handled in the state {state}.", request.name());
    Exit::Protocol(Failure::new("Neo.ClientError.Request.Invalid", message))
}
