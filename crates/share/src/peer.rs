//! A process whose database another one has open.

use std::io;
use std::ops::ControlFlow;
use std::os::fd::AsRawFd;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use telar_db::import::table::{TableImport, TableReport};
use telar_db::query::{ErrorKind, QueryError, Sink, Summary};

use crate::codec::{self, CodecError, Input};
use crate::functions::Functions;
use crate::inherited::Inherited;
use crate::message::{
    Answer, Call, Control, Hello, Options, Request, Returned, Tables, VERSION, Welcome,
};
use crate::serving::{put_parameters, unsent};
use crate::shared::Statement;
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
    control: Mutex<Held>,
    idle: Mutex<Vec<Link>>,
    /// Whether a thread answers calls of functions.
    answers: Mutex<bool>,
}

/// A connection, which a child of this process closes.
struct Held {
    // Dropped first: the number of the file is free afterwards.
    _inherited: Inherited,
    wire: Wire,
}

/// A connection for statements.
pub(crate) struct Link {
    held: Held,
    number: u64,
    statements: u64,
    options: Option<Options>,
}

/// Why this process was not let in.
pub(crate) enum NotIn {
    /// Nobody listens, or whoever did has ended.
    Nobody,
    /// The owner says no.
    Refused(String),
}

/// Why a request has no answer.
pub(crate) enum Failure {
    /// The owner answered with an error.
    Query(QueryError),
    /// The owner is gone.
    Lost(Lost),
}

/// What is known of a request whose owner is gone.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Lost {
    /// Rows were handed on.
    pub(crate) rows: bool,
    /// It is not known whether it was committed, and nobody can ask.
    pub(crate) unknown: bool,
}

impl From<io::Error> for NotIn {
    fn from(_: io::Error) -> Self {
        Self::Nobody
    }
}

/// Connects, and says what for.
fn connect(folder: &Path, hello: &Hello) -> Result<(Held, u64), NotIn> {
    let stream = socket::at(folder, |path| UnixStream::connect(path))?;
    let inherited = Inherited::new(stream.as_raw_fd());
    let mut held = Held { _inherited: inherited, wire: Wire::new(stream)? };
    held.wire.send(hello)?;
    let deadline = Instant::now() + WELCOME;
    let welcome = held.wire.receive(&mut || match Instant::now() > deadline {
        true => Err(io::ErrorKind::TimedOut.into()),
        false => Ok(()),
    })?;
    match welcome.head {
        Welcome::In(number) => Ok((held, number)),
        Welcome::Refused(reason) => Err(NotIn::Refused(reason)),
    }
}

impl Peer {
    /// Is let in by the process that has the database of a folder open.
    pub(crate) fn connect(
        folder: &Path,
        durable: bool,
        functions: &Arc<Functions>,
    ) -> Result<Self, NotIn> {
        let (version, number) = (VERSION.to_owned(), std::process::id());
        let hello = Hello::Process { version, number, durable };
        let (control, process) = connect(folder, &hello)?;
        let (control, idle) = (Mutex::new(control), Mutex::default());
        let (folder, answers) = (folder.to_path_buf(), Mutex::default());
        let peer = Self { folder, process, control, idle, answers };
        for (name, function) in functions.all() {
            let range = function.arguments();
            peer.add_function(&name, (*range.start(), *range.end()), functions)
                .map_err(|_| NotIn::Nobody)?;
        }
        Ok(peer)
    }

    /// A connection for a statement or a transaction.
    pub(crate) fn link(&self) -> Result<Link, Lost> {
        if let Some(link) = self.idle.lock().pop() {
            return Ok(link);
        }
        let hello = Hello::Work { process: self.process };
        let (held, number) = connect(&self.folder, &hello).map_err(|_| Lost::default())?;
        Ok(Link { held, number, statements: 0, options: None })
    }

    /// Takes a connection back, on which nothing is open.
    pub(crate) fn keep(&self, link: Link) {
        let mut idle = self.idle.lock();
        if idle.len() < IDLE_MAX {
            idle.push(link);
        }
    }

    /// Ends a statement. It is the owner's to answer that it has ended.
    fn cancel(&self, connection: u64, statement: u64) {
        // An owner that is gone runs nothing.
        let _ = self.control.lock().wire.send(&Control::Cancel { connection, statement });
    }

    /// Asks on a connection that is idle.
    pub(crate) fn ask(&self, request: &Request) -> Result<Answer, Failure> {
        let mut link = self.link().map_err(Failure::Lost)?;
        let answer = link.ask(request)?;
        self.keep(link);
        Ok(answer)
    }

    /// Makes a function known to the owner, and answers its calls from now on.
    pub(crate) fn add_function(
        &self,
        name: &str,
        (fewest, most): (usize, usize),
        functions: &Arc<Functions>,
    ) -> Result<(), Failure> {
        let mut answers = self.answers.lock();
        if !*answers {
            let hello = Hello::Functions { process: self.process };
            let lost = |_| Failure::Lost(Lost::default());
            let (held, _) = connect(&self.folder, &hello).map_err(lost)?;
            let functions = Arc::clone(functions);
            let answering = thread::Builder::new().name("telar-functions".into());
            let answering = answering.spawn(move || answer_calls(held, &functions));
            answering.map_err(|e| {
                let text = format!("no thread for functions: {e}");
                Failure::Query(QueryError::runtime(ErrorKind::Database, "Thread", text))
            })?;
            *answers = true;
        }
        drop(answers);
        let name = name.to_owned();
        self.ask(&Request::AddFunction { name, fewest, most }).map(drop)
    }
}

/// Calls functions of this process for the owner, until that ends.
fn answer_calls(mut held: Held, functions: &Functions) {
    loop {
        let Ok(Frame { head, body }) = held.wire.receive::<Call>(&mut || Ok(())) else { return };
        let mut input = Input(&body);
        let called = std::iter::from_fn(|| (!input.0.is_empty()).then(|| input.column()));
        let arguments: Result<Vec<_>, CodecError> = called.map(|c| c.map(Arc::new)).collect();
        let returned = match arguments {
            Ok(arguments) => functions.call(&head.name, &arguments, head.rows),
            Err(error) => Err(unsent(&error)),
        };
        let sent = match returned {
            Ok(column) => held.wire.put(&Returned::Ok(()), |out| codec::put_column(&column, out)),
            Err(error) => held.wire.put(&Returned::Err(error), |_| Ok(())),
        };
        let sent = sent.or_else(|e: CodecError| {
            held.wire.put(&Returned::Err(unsent(&e)), |_| Ok::<(), CodecError>(()))
        });
        if sent.is_err() || held.wire.flush().is_err() {
            return;
        }
    }
}

impl Link {
    fn lost(_: io::Error) -> Failure {
        Failure::Lost(Lost::default())
    }

    /// Sends a request, and waits for its answer.
    pub(crate) fn ask(&mut self, request: &Request) -> Result<Answer, Failure> {
        self.held.wire.send(request).map_err(Self::lost)?;
        match self.held.wire.receive(&mut || Ok(())).map_err(Self::lost)?.head {
            Answer::Failed(error) => Err(Failure::Query(error)),
            answer => Ok(answer),
        }
    }

    /// Sets what statements run under, with the next request.
    pub(crate) fn set(&mut self, options: &Options) -> Result<(), Failure> {
        if self.options.as_ref() != Some(options) {
            let put = self.held.wire.put(&Request::Set(options.clone()), |_| Ok(()));
            put.map_err(Self::lost)?;
            self.options = Some(options.clone());
        }
        Ok(())
    }

    /// Runs a statement, and hands its rows to `sink`.
    pub(crate) fn run(
        &mut self,
        peer: &Peer,
        statement: &Statement<'_>,
        once: Option<&str>,
        sink: &mut dyn Sink,
    ) -> Result<Summary, Failure> {
        self.statements += 1;
        let request = Request::Run {
            text: statement.text.to_owned(),
            statement: self.statements,
            once: once.map(str::to_owned),
        };
        let tables = statement.tables.map(|tables| &**tables);
        let put =
            self.held.wire.put(&request, |out| put_parameters(statement.parameters, tables, out));
        put.map_err(|e: CodecError| Failure::Query(unsent(&e)))?;
        self.held.wire.flush().map_err(Self::lost)?;
        let mut known = Lost::default();
        let mut result = Ok(());
        loop {
            let frame = self.receive(peer, statement.cancelled);
            let Frame { head, body } = frame.map_err(|e| {
                // The owner does not answer, and may go on.
                known.unknown |= e.kind() == io::ErrorKind::TimedOut;
                Failure::Lost(known)
            })?;
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
                Answer::Ran(summary) => {
                    return result.map(|()| summary.into()).map_err(Failure::Query);
                }
                Answer::Failed(error) => {
                    return Err(Failure::Query(result.err().unwrap_or(error)));
                }
                _ => return Err(Failure::Lost(known)),
            }
        }
    }

    /// The next answer to a statement, which is ended once the flag is set.
    fn receive(
        &mut self,
        peer: &Peer,
        cancelled: Option<&Arc<AtomicBool>>,
    ) -> io::Result<Frame<Answer>> {
        let (number, statement) = (self.number, self.statements);
        let mut told = None;
        self.held.wire.receive(&mut || match told {
            Some(deadline) if Instant::now() > deadline => Err(io::ErrorKind::TimedOut.into()),
            Some(_) => Ok(()),
            None => {
                // ORDERING: relaxed: it is asked again and again.
                if cancelled.is_some_and(|flag| flag.load(Ordering::Relaxed)) {
                    told = Some(Instant::now() + ENDING);
                    peer.cancel(number, statement);
                }
                Ok(())
            }
        })
    }

    /// Brings tables in.
    pub(crate) fn load(
        &mut self,
        peer: &Peer,
        import: TableImport<'_>,
        cancelled: Option<&Arc<AtomicBool>>,
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
        self.held.wire.send(&request).map_err(Self::lost)?;
        let nodes = import.nodes.into_iter().map(|table| table.rows);
        let relationships = import.relationships.into_iter().map(|table| table.rows);
        let mut readers: Vec<_> = nodes.chain(relationships).collect();
        let unknown = |_| Failure::Lost(Lost { rows: false, unknown: true });
        loop {
            let frame = self.receive(peer, cancelled).map_err(unknown)?;
            let number = match frame.head {
                Answer::Pull(number) if number < readers.len() => number,
                Answer::Loaded(report) => return Ok(report.into()),
                Answer::Failed(error) => return Err(Failure::Query(error)),
                _ => return Err(unknown(io::ErrorKind::InvalidData.into())),
            };
            let put = match readers[number].next() {
                Ok(Some(columns)) => self.held.wire.put(&Request::Rows, |out| {
                    columns.iter().try_for_each(|column| codec::put_column(column, out))
                }),
                Ok(None) => self.held.wire.put(&Request::NoMoreRows, |_| Ok(())),
                Err(error) => self.held.wire.put(&Request::NoRows(error), |_| Ok(())),
            };
            let put = put.or_else(|e: CodecError| {
                self.held.wire.put(&Request::NoRows(unsent(&e)), |_| Ok::<(), CodecError>(()))
            });
            put.map_err(|e| Failure::Query(unsent(&e)))?;
            self.held.wire.flush().map_err(unknown)?;
        }
    }
}

/// What to do after a request: answer, or try again where the database is now.
pub(crate) type Next<T> = ControlFlow<Result<T, QueryError>, Lost>;

/// An answer ends it, and so does an error that the owner gave.
pub(crate) fn next<T>(done: Result<T, Failure>) -> Next<T> {
    match done {
        Ok(value) => ControlFlow::Break(Ok(value)),
        Err(Failure::Query(error)) => ControlFlow::Break(Err(error)),
        Err(Failure::Lost(lost)) => ControlFlow::Continue(lost),
    }
}
