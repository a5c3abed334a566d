//! A process whose database another one has open.

use std::io::{self, ErrorKind as Io};
use std::ops::ControlFlow;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use telar_db::import::table::{TableImport, TableReport};
use telar_db::query::{ErrorKind, QueryError, Sink, Summary};

use crate::codec::{self, CodecError, Input};
use crate::functions::{Answering, Functions};
use crate::message::{Answer, Control, Hello, Options, Request, Tables, VERSION, Welcome};
use crate::serving::{put_parameters, unsent};
use crate::shared::{Statement, result_lost, silent, terminated, without_rows};
use crate::socket;
use crate::wire::{Frame, Wire};

/// Time that the owner has to let this process in.
const WELCOME: Duration = Duration::from_secs(10);
/// Time that the owner has to say that a statement has ended which is to end.
const ENDING: Duration = Duration::from_secs(5);
/// Connections that are kept for the next statements.
const IDLE_MAX: usize = 16;

/// A process that has the database open lets this one in.
pub(crate) struct Peer {
    folder: PathBuf,
    process: u64,
    control: Mutex<Wire>,
    idle: Mutex<Vec<Link>>,
    answering: Arc<Answering>,
}

/// A connection for statements.
pub(crate) struct Link {
    wire: Wire,
    number: u64,
    statements: u64,
    options: Option<Options>,
    /// Nothing is under way: the next answer is that to the next request.
    is_idle: bool,
}

/// Why this process was not let in.
pub(crate) enum NotIn {
    /// Nobody listens, or whoever did has ended or hangs.
    Nobody,
    /// The owner says no.
    Refused(String),
    /// This process cannot connect.
    Failed(io::Error),
    /// It is not wanted any more.
    Interrupted(QueryError),
}

/// Why a request has no answer.
pub(crate) enum Failure {
    /// The owner answered with an error, or it was not asked.
    Query(QueryError),
    /// The owner is gone.
    Lost(Lost),
    /// The owner does not answer in time.
    Silent,
}

/// The knowledge of a request whose owner is gone.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Lost {
    /// It was sent.
    pub(crate) sent: bool,
    /// Rows were handed on.
    pub(crate) rows: bool,
    /// It is not known whether it was committed, and nobody can ask.
    pub(crate) unknown: bool,
}

/// The end of a wait: a flag, or a time.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Until<'f> {
    pub(crate) flag: Option<&'f Arc<AtomicBool>>,
    pub(crate) end: Option<Instant>,
}

impl<'f> Until<'f> {
    pub(crate) fn new(flag: Option<&'f Arc<AtomicBool>>, timeout: Option<Duration>) -> Self {
        Self { flag, end: timeout.and_then(|timeout| Instant::now().checked_add(timeout)) }
    }

    fn is_cancelled(&self) -> bool {
        // ORDERING: relaxed: it is asked again and again.
        self.flag.is_some_and(|flag| flag.load(Ordering::Relaxed))
    }

    /// True if what is waited for is to end.
    pub(crate) fn is_over(&self) -> bool {
        self.is_cancelled() || self.end.is_some_and(|end| Instant::now() > end)
    }

    /// The error of what was ended before anything was done.
    pub(crate) fn error(&self) -> QueryError {
        match self.is_cancelled() || self.end.is_none() {
            true => terminated(),
            false => QueryError::runtime(
                ErrorKind::TimedOut,
                "TimedOut",
                "the process that has the database open did not answer within the time limit",
            ),
        }
    }
}

/// The time an answer is waited for: until it is to end, and then a while for who answers to say
/// that it has.
struct Patience<'f> {
    until: Until<'f>,
    told: Option<Instant>,
}

impl<'f> Patience<'f> {
    fn new(until: Until<'f>) -> Self {
        Self { until, told: None }
    }

    fn look(&mut self, tell: impl FnOnce()) -> io::Result<()> {
        match self.told {
            None if self.until.is_over() => {
                self.told = Some(Instant::now());
                tell();
                Ok(())
            }
            Some(told) if told.elapsed() > ENDING => Err(Io::TimedOut.into()),
            _ => Ok(()),
        }
    }

    /// The error of the owner, as the one who waited for it calls it: the owner's own clock began
    /// later, so that it may be told that the time is over before it knows, and then it only knows
    /// that it was ended.
    fn error(&self, error: QueryError) -> QueryError {
        match error.kind {
            ErrorKind::Terminated if self.told.is_some() && !self.until.is_cancelled() => {
                let text = "the query took longer than its time limit";
                QueryError::runtime(ErrorKind::TimedOut, "TimedOut", text)
            }
            _ => error,
        }
    }
}

/// Connects, and says what for.
pub(crate) fn connect(
    folder: &Path,
    hello: &Hello,
    until: Until<'_>,
) -> Result<(Wire, u64), NotIn> {
    let deadline = Instant::now() + WELCOME;
    let mut look = || match until.is_over() || Instant::now() > deadline {
        true => Err(Io::TimedOut.into()),
        false => Ok(()),
    };
    let connected = || {
        let mut wire = Wire::new(socket::at(folder, |path| UnixStream::connect(path))?)?;
        wire.send(hello, &mut look)?;
        let welcome = wire.receive(&mut look)?;
        Ok((wire, welcome.head))
    };
    match { connected }() {
        Ok((wire, Welcome::In(number))) => Ok((wire, number)),
        Ok((_, Welcome::Refused(reason))) => Err(NotIn::Refused(reason)),
        Err(_) if until.is_over() => Err(NotIn::Interrupted(until.error())),
        Err(e) => Err(match io::Error::kind(&e) {
            Io::NotFound
            | Io::ConnectionRefused
            | Io::ConnectionReset
            | Io::BrokenPipe
            | Io::UnexpectedEof
            | Io::TimedOut
            | Io::WouldBlock => NotIn::Nobody,
            _ => NotIn::Failed(e),
        }),
    }
}

impl Peer {
    /// Is let in by the process that has the database of a folder open.
    pub(crate) fn connect(
        folder: &Path,
        durable: bool,
        functions: &Arc<Functions>,
        until: Until<'_>,
    ) -> Result<Self, NotIn> {
        let (version, number) = (VERSION.to_owned(), std::process::id());
        let hello = Hello::Process { version, number, durable };
        let (control, process) = connect(folder, &hello, until)?;
        let folder = folder.to_path_buf();
        let answering = Answering::new(folder.clone(), process, functions);
        let (control, idle) = (Mutex::new(control), Mutex::default());
        let peer = Self { folder, process, control, idle, answering };
        for (name, function) in functions.all() {
            let range = function.arguments();
            let added = peer.add_function(&name, (*range.start(), *range.end()), until);
            added.map_err(|_| NotIn::Nobody)?;
        }
        Ok(peer)
    }

    /// A connection for a statement or a transaction.
    pub(crate) fn link(&self, until: Until<'_>) -> Result<Link, Failure> {
        if let Some(link) = self.idle.lock().pop() {
            return Ok(link);
        }
        let hello = Hello::Work { process: self.process };
        let (wire, number) = connect(&self.folder, &hello, until).map_err(unconnected)?;
        Ok(Link { wire, number, statements: 0, options: None, is_idle: true })
    }

    /// Takes a connection back, unless something is under way on it.
    pub(crate) fn keep(&self, link: Link) {
        let mut idle = self.idle.lock();
        if link.is_idle && idle.len() < IDLE_MAX {
            idle.push(link);
        }
    }

    /// Ends a statement. It is the owner's to answer that it has ended.
    fn cancel(&self, connection: u64, statement: u64) {
        // An owner that is gone runs nothing, and one that hangs is not waited for.
        let cancel = Control::Cancel { connection, statement };
        let _ = self.control.lock().send(&cancel, &mut || Err(Io::TimedOut.into()));
    }

    /// Asks on a connection that is idle.
    pub(crate) fn ask(&self, request: &Request, until: Until<'_>) -> Result<Answer, Failure> {
        let mut link = self.link(until)?;
        let answer = link.ask(request, until);
        self.keep(link);
        answer
    }

    /// Makes a function known to the owner, and answers its calls from now on.
    pub(crate) fn add_function(
        &self,
        name: &str,
        (fewest, most): (usize, usize),
        until: Until<'_>,
    ) -> Result<(), Failure> {
        self.answering.begin().map_err(unconnected)?;
        let name = name.to_owned();
        self.ask(&Request::AddFunction { name, fewest, most }, until).map(drop)
    }
}

/// The meaning of a failed connection for a request, which was not sent.
fn unconnected(why: NotIn) -> Failure {
    match why {
        NotIn::Nobody | NotIn::Refused(_) => Failure::Lost(Lost::default()),
        NotIn::Interrupted(error) => Failure::Query(error),
        NotIn::Failed(e) => {
            let text = format!("the process that has the database open cannot be asked: {e}");
            Failure::Query(QueryError::runtime(ErrorKind::Database, "Share", text))
        }
    }
}

/// A request that did not go out whole: nobody does what it asks.
fn unsent_request(error: &io::Error) -> Failure {
    match error.kind() {
        Io::TimedOut => Failure::Query(terminated()),
        _ => Failure::Lost(Lost::default()),
    }
}

impl Link {
    /// A request that was sent, and is not answered.
    fn failed(&self, error: &io::Error, known: Lost) -> Failure {
        match error.kind() {
            Io::TimedOut => Failure::Silent,
            _ => Failure::Lost(Lost { sent: true, ..known }),
        }
    }

    /// Sends a request, and waits for its answer.
    pub(crate) fn ask(&mut self, request: &Request, until: Until<'_>) -> Result<Answer, Failure> {
        self.is_idle = false;
        let mut patience = Patience::new(until);
        let mut look = || patience.look(|| ());
        self.wire.send(request, &mut look).map_err(|e| unsent_request(&e))?;
        let answer = self.wire.receive(&mut look);
        let answer = answer.map_err(|e| self.failed(&e, Lost::default()))?;
        self.is_idle = true;
        match answer.head {
            Answer::Failed(error) => Err(Failure::Query(error)),
            answer => Ok(answer),
        }
    }

    /// Sets what statements run under, with the next request.
    pub(crate) fn set(&mut self, options: &Options) -> Result<(), Failure> {
        if self.options.as_ref() != Some(options) {
            let put = self.wire.put(&Request::Set(options.clone()), |_| Ok(()));
            put.map_err(|e: io::Error| unsent_request(&e))?;
            self.options = Some(options.clone());
        }
        Ok(())
    }

    /// Runs a statement, and hands its rows to `sink`; `again` if it was sent before, and may have
    /// been committed.
    pub(crate) fn run(
        &mut self,
        peer: &Peer,
        statement: &Statement<'_>,
        (once, again): (Option<&str>, bool),
        (sink, until): (&mut dyn Sink, Until<'_>),
    ) -> Result<Summary, Failure> {
        self.statements += 1;
        let request = Request::Run {
            text: statement.text.to_owned(),
            statement: self.statements,
            once: once.map(str::to_owned),
            again,
        };
        let tables = statement.tables.map(|tables| &**tables);
        let put = self.wire.put(&request, |out| put_parameters(statement.parameters, tables, out));
        put.map_err(|e: CodecError| Failure::Query(unsent(&e)))?;
        self.is_idle = false;
        let mut patience = Patience::new(until);
        let (number, this) = (self.number, self.statements);
        let mut look = || patience.look(|| peer.cancel(number, this));
        self.wire.flush(&mut look).map_err(|e| unsent_request(&e))?;
        let mut known = Lost::default();
        let mut result = Ok(());
        loop {
            let frame = self.wire.receive(&mut look);
            let Frame { head, body } = frame.map_err(|e| self.failed(&e, known))?;
            match head {
                Answer::NotAgain => known.unknown = true,
                Answer::Batch if result.is_err() || sink.has_enough() => {}
                Answer::Batch => {
                    let columns = Input(&body).columns();
                    let columns = columns.map_err(|e| Failure::Query(unsent(&e)))?;
                    result = match std::mem::replace(&mut known.rows, true) {
                        false => columns.send(sink),
                        true => columns.send_rows(sink),
                    };
                    if result.is_err() || sink.has_enough() {
                        peer.cancel(self.number, self.statements);
                    }
                }
                answer => {
                    self.is_idle = true;
                    return match answer {
                        Answer::Ran(summary) => result.map(|()| summary.into()),
                        Answer::Was { at, returns: false } => Ok(without_rows(at)),
                        Answer::Was { at, returns: true } => Err(result_lost(at)),
                        Answer::Failed(error) => Err(result.err().unwrap_or(patience.error(error))),
                        _ => {
                            self.is_idle = false;
                            return Err(Failure::Lost(Lost { sent: true, ..known }));
                        }
                    }
                    .map_err(Failure::Query);
                }
            }
        }
    }

    /// Brings tables in.
    pub(crate) fn load(
        &mut self,
        peer: &Peer,
        import: TableImport<'_>,
        until: Until<'_>,
    ) -> Result<TableReport, Failure> {
        self.statements += 1;
        let names = |names: &[Arc<str>]| names.iter().map(|name| name.to_string()).collect();
        let of_nodes = import.nodes.iter().map(|t| (t.labels.clone(), names(t.rows.names())));
        let of_relationships = import.relationships.iter();
        let of_relationships = of_relationships
            .map(|t| (t.ty.clone(), Tables::ends(&t.from, &t.to), names(t.rows.names())));
        let tables = Tables {
            nodes: of_nodes.collect(),
            relationships: of_relationships.collect(),
            unique: import.unique.iter().map(|u| (u.label.clone(), u.key.clone())).collect(),
            bad_rows: import.bad_rows,
        };
        let request = Request::Load { tables, statement: self.statements };
        let mut patience = Patience::new(until);
        let (number, this) = (self.number, self.statements);
        let mut look = || patience.look(|| peer.cancel(number, this));
        self.is_idle = false;
        let known = Lost { unknown: true, ..Lost::default() };
        self.wire.send(&request, &mut look).map_err(|e| unsent_request(&e))?;
        let nodes = import.nodes.into_iter().map(|table| table.rows);
        let relationships = import.relationships.into_iter().map(|table| table.rows);
        let mut readers: Vec<_> = nodes.chain(relationships).collect();
        loop {
            let frame = self.wire.receive(&mut look).map_err(|e| self.failed(&e, known))?;
            let number = match frame.head {
                Answer::Pull(number) if number < readers.len() => number,
                Answer::Loaded(report) => {
                    self.is_idle = true;
                    return Ok(report.into());
                }
                Answer::Failed(error) => {
                    self.is_idle = true;
                    return Err(Failure::Query(patience.error(error)));
                }
                _ => return Err(Failure::Lost(Lost { sent: true, ..known })),
            };
            let put = match readers[number].next() {
                Ok(Some(columns)) => self.wire.put(&Request::Rows, |out| {
                    columns.iter().try_for_each(|column| codec::put_column(column, out))
                }),
                Ok(None) => self.wire.put(&Request::NoMoreRows, |_| Ok(())),
                Err(error) => self.wire.put(&Request::NoRows(error), |_| Ok(())),
            };
            let put = put.or_else(|e: CodecError| {
                self.wire.put(&Request::NoRows(unsent(&e)), |_| Ok::<(), CodecError>(()))
            });
            put.map_err(|e| Failure::Query(unsent(&e)))?;
            self.wire.flush(&mut look).map_err(|e| self.failed(&e, known))?;
        }
    }
}

/// The next step after a request: answer, or try again where the database is now.
pub(crate) type Next<T> = ControlFlow<Result<T, QueryError>, Lost>;

/// An answer ends it, and so does an error that the owner gave.
pub(crate) fn next<T>(done: Result<T, Failure>) -> Next<T> {
    match done {
        Ok(value) => ControlFlow::Break(Ok(value)),
        Err(Failure::Query(error)) => ControlFlow::Break(Err(error)),
        Err(Failure::Silent) => ControlFlow::Break(Err(silent())),
        Err(Failure::Lost(lost)) => ControlFlow::Continue(lost),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Both clocks run out at about the same time, and the guest's may be the first.
    #[test]
    fn what_its_time_limit_ends_has_run_out_of_time_whoever_noticed_it() {
        let flag = Arc::new(AtomicBool::new(false));
        let mut patience = Patience::new(Until::new(Some(&flag), Some(Duration::ZERO)));
        assert_eq!(patience.error(terminated()).kind, ErrorKind::Terminated, "by somebody else");
        std::thread::sleep(Duration::from_millis(1));
        let mut told = false;
        patience.look(|| told = true).unwrap();
        assert!(told);
        assert_eq!(patience.error(terminated()).kind, ErrorKind::TimedOut);
        assert_eq!(patience.error(silent()).kind, silent().kind);
        flag.store(true, Ordering::Relaxed);
        assert_eq!(patience.error(terminated()).kind, ErrorKind::Terminated, "by its own flag");
    }
}
