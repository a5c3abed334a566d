//! A connection to a server: bytes, messages, and which answer belongs to which request.
//!
//! Every request gets one SUCCESS, FAILURE or IGNORED, in order, a PULL records before it. While an
//! answer is waited for, the flag is looked at now and then: once it is set a RESET is sent, which
//! overtakes what runs, and everything up to its own answer is read.

use std::io::{self, ErrorKind, Read, Write};
use std::net::{TcpStream, ToSocketAddrs};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use rustls::{ClientConnection, StreamOwned};
use rustls_pki_types::ServerName;
use telar_db::{Value, ValueMap};

use super::super::chunk::{self, Input};
use super::super::encode::Encoder;
use super::super::message as tag;
use super::super::packstream::decode::Item;
use super::super::packstream::encode::{self as put, SmallMap};
use super::super::structure::{Decoder, Dialect, Refusal};
use super::super::version::{MAGIC, Version};
use super::answer::{self, Answer};
use super::graph::Graph;
use super::{Address, Login, Trust, tls};
use crate::dbms::ISOLATION_KEY;

/// How long connecting and logging in may take.
const CONNECT_WAIT: Duration = Duration::from_secs(10);
/// How often a wait looks whether it is to be given up.
const LOOK: Duration = Duration::from_millis(50);
/// The versions that are proposed: 5.8 down to 5.0, 4.4.
const PROPOSALS: [[u8; 4]; 4] = [[0, 8, 8, 5], [0, 0, 4, 4], [0; 4], [0; 4]];
/// How deep lists and maps may nest: plans do deeper than values, two levels for each operator.
const LEVELS_MAX: u32 = 2000;
const AGENT: &str = concat!("telar-shell/", env!("CARGO_PKG_VERSION"));

/// Why a request was not answered as wished.
#[derive(Debug)]
pub(super) enum Ended {
    /// A FAILURE. The server is ready for the next request.
    Refused { code: String, message: String },
    /// A RESET was sent and answered.
    Interrupted,
    /// The connection cannot be used any more.
    Lost(String),
}

/// What carries bytes.
#[derive(Debug)]
enum Stream {
    Plain(TcpStream),
    Encrypted(Box<StreamOwned<ClientConnection, TcpStream>>),
}

impl Stream {
    fn tcp(&self) -> &TcpStream {
        match self {
            Self::Plain(tcp) => tcp,
            Self::Encrypted(stream) => &stream.sock,
        }
    }
}

impl Read for Stream {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self {
            Self::Plain(tcp) => tcp.read(buffer),
            Self::Encrypted(stream) => stream.read(buffer),
        }
    }
}

impl Write for Stream {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Self::Plain(tcp) => tcp.write(bytes),
            Self::Encrypted(stream) => stream.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Self::Plain(tcp) => tcp.flush(),
            Self::Encrypted(stream) => stream.flush(),
        }
    }
}

/// A connection on which somebody has logged in.
#[derive(Debug)]
pub(super) struct Connection {
    stream: Stream,
    version: Version,
    input: Input,
    message: Vec<u8>,
    interrupted: Arc<AtomicBool>,
    /// A RESET was sent, whose answer has not come.
    reset: bool,
    /// The server has ended it.
    closed: bool,
    /// The newest commit that the server has told of.
    bookmark: Option<String>,
    /// When waiting for an answer ends; never, once somebody has logged in.
    deadline: Option<Instant>,
}

/// What ends the answer to a request.
enum Reply {
    Success(ValueMap),
    Ignored,
    Failure { code: String, message: String },
}

fn lost(why: impl std::fmt::Display) -> Ended {
    Ended::Lost(format!("the connection was lost: {why}"))
}

fn text(map: &ValueMap, key: &str) -> Option<String> {
    match map.get(key) {
        Some(Value::String(text)) => Some(text.to_string()),
        _ => None,
    }
}

impl Connection {
    pub(super) fn open(
        address: &Address,
        login: &Login,
        interrupted: &Arc<AtomicBool>,
    ) -> Result<Self, super::Error> {
        let tcp =
            connect(address).map_err(|why| super::Error::Lost(format!("{address}: {why}")))?;
        let opened = Self::greet(tcp, address, login, interrupted);
        opened.map_err(|ended| match ended {
            Ended::Lost(why) => super::Error::Lost(format!("{address}: {why}")),
            Ended::Refused { code, message } => super::Error::Refused { code, message },
            Ended::Interrupted => super::Error::Interrupted,
        })
    }

    fn greet(
        tcp: TcpStream,
        address: &Address,
        login: &Login,
        interrupted: &Arc<AtomicBool>,
    ) -> Result<Self, Ended> {
        let wait = || {
            tcp.set_nodelay(true)?;
            tcp.set_read_timeout(Some(CONNECT_WAIT))
        };
        wait().map_err(lost)?;
        let mut stream = match address.trust {
            Trust::Plain => Stream::Plain(tcp),
            trust => {
                let config = tls::config(trust).map_err(Ended::Lost)?;
                let name = ServerName::try_from(address.host.clone());
                let name = name.map_err(|e| Ended::Lost(e.to_string()))?;
                let tls = ClientConnection::new(config, name).map_err(lost)?;
                Stream::Encrypted(Box::new(StreamOwned::new(tls, tcp)))
            }
        };
        let version = negotiate(&mut stream, address.trust)?;
        stream.tcp().set_read_timeout(Some(LOOK)).map_err(lost)?;
        let mut connection = Self {
            stream,
            version,
            input: Input::new(),
            message: Vec::new(),
            interrupted: Arc::clone(interrupted),
            reset: false,
            closed: false,
            bookmark: None,
            deadline: Some(Instant::now() + CONNECT_WAIT),
        };
        connection.log_in(login)?;
        connection.deadline = None;
        Ok(connection)
    }

    /// HELLO, and since Bolt 5.1 LOGON.
    fn log_in(&mut self, login: &Login) -> Result<(), Ended> {
        let token = |map: &mut SmallMap<'_>| match login.user.is_empty() {
            true => map.string("scheme", "none"),
            false => {
                map.string("scheme", "basic");
                map.string("principal", &login.user);
                map.string("credentials", &login.password);
            }
        };
        let logon = self.version >= Version::new(5, 1);
        let mut out = Vec::new();
        request(&mut out, tag::HELLO, 1, |out| {
            let mut map = SmallMap::new(out);
            map.string("user_agent", AGENT);
            SmallMap::new(map.entry("bolt_agent")).string("product", AGENT);
            if !logon {
                token(&mut map);
            }
        });
        if logon {
            request(&mut out, tag::LOGON, 1, |out| token(&mut SmallMap::new(out)));
        }
        self.send(&out)?;
        for _ in 0..=usize::from(logon) {
            // The server hangs up after a failure here.
            match self.reply(None)? {
                Reply::Failure { code, message } => return Err(Ended::Refused { code, message }),
                Reply::Success(_) | Reply::Ignored => {}
            }
        }
        match self.reset {
            true => Err(Ended::Interrupted),
            false => Ok(()),
        }
    }

    /// Later statements end once this flag is set.
    pub(super) fn set_interrupt(&mut self, flag: Arc<AtomicBool>) {
        self.interrupted = flag;
    }

    /// The newest commit that the server has told of.
    pub(super) fn bookmark(&self) -> Option<&str> {
        self.bookmark.as_deref()
    }

    /// Runs a statement and reads its rows: with `each`, pieces of them go there, and the answer
    /// has the last. With `only_first` the rest is thrown away after `rows_at_once` rows.
    pub(super) fn run(
        &mut self,
        text: &str,
        parameters: &ValueMap,
        wanted: Wanted<'_>,
        pulls: Pulls,
        mut each: Option<&mut Piece<'_>>,
    ) -> Result<Answer, Ended> {
        let Pulls { rows_at_once, only_first } = pulls;
        let dialect = Dialect::of(self.version);
        let mut out = Vec::new();
        request(&mut out, tag::RUN, 3, |out| {
            put::string(out, text);
            // No statement runs here that could be ended.
            _ = Encoder { dialect, rows: None, begin: out.len() }.map(out, parameters);
            wanted.write(out);
        });
        let pull = |out: &mut Vec<u8>| {
            request(out, tag::PULL, 1, |out| SmallMap::new(out).int("n", rows_at_once));
        };
        pull(&mut out);
        self.send(&out)?;
        let began = self.reply(None)?;
        let mut rows = Rows { dialect, graph: Graph::default(), rows: Vec::new() };
        loop {
            let reply = match self.reply(Some(&mut rows)) {
                Err(Ended::Lost(why)) => return Err(self.hung_up(began, why)),
                reply => reply?,
            };
            let more = match &reply {
                Reply::Success(map) => map.get("has_more") == Some(&Value::Bool(true)),
                _ => false,
            };
            if more && !self.reset && only_first {
                let mut out = Vec::new();
                request(&mut out, tag::DISCARD, 1, |out| SmallMap::new(out).int("n", -1));
                self.send(&out)?;
                continue;
            }
            if more && !self.reset {
                if let Some(each) = &mut each {
                    each(std::mem::take(&mut rows.rows)).map_err(Ended::Lost)?;
                    rows.graph = Graph::default();
                }
                let mut out = Vec::new();
                pull(&mut out);
                self.send(&out)?;
                continue;
            }
            let ended = self.settled(reply);
            let (began, ended) = match (self.settled_first(began), ended) {
                (Ok(began), Ok(ended)) => (began, ended),
                // What was said first is why.
                (Err(ended), _) | (_, Err(ended)) => return self.recovered(ended),
            };
            self.note_bookmark(&ended);
            return Ok(answer::read(&began, &ended, rows.rows, rows.graph.entities));
        }
    }

    pub(super) fn begin(&mut self, wanted: Wanted<'_>) -> Result<(), Ended> {
        self.ask(tag::BEGIN, 1, |out| wanted.write(out))
    }

    pub(super) fn commit(&mut self) -> Result<(), Ended> {
        self.ask(tag::COMMIT, 0, |_| {})
    }

    pub(super) fn rollback(&mut self) -> Result<(), Ended> {
        self.ask(tag::ROLLBACK, 0, |_| {})
    }

    /// Says that nothing more will come. Who is not there any more need not hear it.
    pub(super) fn goodbye(&mut self) {
        let mut out = Vec::new();
        request(&mut out, tag::GOODBYE, 0, |_| {});
        let _ = self.send(&out);
    }

    /// What a connection that ended behind this answer to RUN means: a server that ends it because
    /// of the request says why before.
    fn hung_up(&mut self, began: Reply, why: String) -> Ended {
        self.closed = true;
        match began {
            Reply::Failure { code, message } => Ended::Refused { code, message },
            Reply::Success(_) | Reply::Ignored => Ended::Lost(why),
        }
    }

    /// Whether the server has ended it.
    pub(super) fn is_closed(&self) -> bool {
        self.closed
    }

    /// Asks for something that has no rows.
    fn ask(&mut self, tag: u8, fields: u8, write: impl FnOnce(&mut Vec<u8>)) -> Result<(), Ended> {
        let mut out = Vec::new();
        request(&mut out, tag, fields, write);
        self.send(&out)?;
        let reply = self.reply(None)?;
        match self.settled(reply) {
            Ok(map) => {
                self.note_bookmark(&map);
                Ok(())
            }
            Err(ended) => self.recovered(ended).map(drop),
        }
    }

    fn note_bookmark(&mut self, ended: &ValueMap) {
        self.bookmark = text(ended, "bookmark").or(self.bookmark.take());
    }

    fn settled_first(&self, reply: Reply) -> Result<ValueMap, Ended> {
        match reply {
            Reply::Success(map) => Ok(map),
            Reply::Failure { code, message } => Err(Ended::Refused { code, message }),
            Reply::Ignored => Err(Ended::Interrupted),
        }
    }

    /// What a reply says; being ignored, or failing after a RESET, is to be given up.
    fn settled(&self, reply: Reply) -> Result<ValueMap, Ended> {
        if self.reset { Err(Ended::Interrupted) } else { self.settled_first(reply) }
    }

    /// Makes the server ready for the next request after one that ended like this.
    fn recovered(&mut self, ended: Ended) -> Result<Answer, Ended> {
        let interrupted = self.reset;
        if !interrupted {
            self.send_reset()?;
        }
        let reply = self.reply(None)?;
        self.reset = false;
        match reply {
            Reply::Success(_) if interrupted => Err(Ended::Interrupted),
            Reply::Success(_) => Err(ended),
            _ => Err(lost("the server did not take a RESET")),
        }
    }

    fn send_reset(&mut self) -> Result<(), Ended> {
        self.reset = true;
        let mut out = Vec::new();
        request(&mut out, tag::RESET, 0, |_| {});
        self.send(&out)
    }

    fn send(&mut self, bytes: &[u8]) -> Result<(), Ended> {
        self.stream.write_all(bytes).and_then(|()| self.stream.flush()).map_err(lost)
    }

    /// The end of the answer to the oldest request that has none, and the rows before it.
    fn reply(&mut self, mut rows: Option<&mut Rows>) -> Result<Reply, Ended> {
        loop {
            self.receive()?;
            let broken = |why: Refusal| match why {
                Refusal::Malformed(found) => lost(format!("byte {}: {}", found.at, found.what)),
                Refusal::Unacceptable(failure) => lost(failure.message),
            };
            let dialect = rows.as_ref().map_or(Dialect::of(Version::new(6, 0)), |r| r.dialect);
            let mut from = Decoder::new(&self.message, dialect, usize::MAX);
            let tag = match from.reader.item().map_err(|e| broken(e.into()))? {
                Item::Structure { tag, .. } => tag,
                _ => return Err(lost("the server said something else than a message")),
            };
            match (tag, &mut rows) {
                (tag::RECORD, Some(rows)) => {
                    let mut from = from.with_graph(std::mem::take(&mut rows.graph));
                    let row = from.value(LEVELS_MAX).map_err(broken)?;
                    rows.graph = from.into_graph();
                    if let Value::List(row) = row {
                        rows.rows.push(row.to_vec());
                    }
                }
                (tag::SUCCESS, _) => {
                    return from.map(LEVELS_MAX).map(Reply::Success).map_err(broken);
                }
                (tag::IGNORED, _) => return Ok(Reply::Ignored),
                (tag::FAILURE, _) => {
                    let map = from.map(LEVELS_MAX).map_err(broken)?;
                    let code = text(&map, "neo4j_code").or_else(|| text(&map, "code"));
                    let message = text(&map, "message").unwrap_or_default();
                    return Ok(Reply::Failure { code: code.unwrap_or_default(), message });
                }
                (tag, _) => return Err(lost(format!("a message of the unknown kind {tag:02X}"))),
            }
        }
    }

    /// Waits for a whole message, and sends a RESET if it is to be given up.
    fn receive(&mut self) -> Result<(), Ended> {
        loop {
            // ORDERING: relaxed, as nothing else is read because of the flag.
            if !self.reset && self.interrupted.load(Ordering::Relaxed) {
                self.send_reset()?;
            }
            match self.input.take(&mut self.message, usize::MAX) {
                Ok(true) => return Ok(()),
                Ok(false) => {}
                Err(_) => return Err(lost("a message that is too large")),
            }
            match self.stream.read(self.input.room()) {
                Ok(0) => return Err(lost("the server has closed it")),
                Ok(bytes) => self.input.came(bytes),
                Err(error) => match error.kind() {
                    ErrorKind::WouldBlock | ErrorKind::TimedOut => {
                        if self.deadline.is_some_and(|deadline| Instant::now() > deadline) {
                            return Err(lost("the server does not answer"));
                        }
                    }
                    ErrorKind::Interrupted => {}
                    ErrorKind::UnexpectedEof => return Err(lost("the server has closed it")),
                    _ => return Err(lost(error)),
                },
            }
        }
    }
}

/// Takes rows; an error ends the connection.
pub(super) type Piece<'p> = dyn FnMut(Vec<Vec<Value>>) -> Result<(), String> + 'p;

/// Rows as they come.
struct Rows {
    dialect: Dialect,
    graph: Graph,
    rows: Vec<Vec<Value>>,
}

/// Writes a request.
fn request(out: &mut Vec<u8>, tag: u8, fields: u8, write: impl FnOnce(&mut Vec<u8>)) {
    chunk::write(out, |out| {
        put::structure(out, tag, fields);
        write(out);
    });
}

/// Wishes of a client for a transaction.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Wanted<'a> {
    pub(super) database: Option<&'a str>,
    pub(super) isolation: Option<&'a str>,
    /// Refuse what writes.
    pub(super) read_only: bool,
    /// Give it up after this time.
    pub(super) timeout: Option<Duration>,
}

/// Paging of rows.
#[derive(Debug, Clone, Copy)]
pub(super) struct Pulls {
    pub(super) rows_at_once: i64,
    pub(super) only_first: bool,
}

impl Pulls {
    pub(super) const ALL: Self = Self { rows_at_once: super::ROWS_AT_ONCE, only_first: false };
}

impl Wanted<'_> {
    /// Writes the map of RUN and BEGIN.
    fn write(self, out: &mut Vec<u8>) {
        let mut extra = SmallMap::new(out);
        if let Some(database) = self.database {
            extra.string("db", database);
        }
        if self.read_only {
            extra.string("mode", "r");
        }
        if let Some(timeout) = self.timeout {
            extra.int("tx_timeout", i64::try_from(timeout.as_millis()).unwrap_or(i64::MAX));
        }
        if let Some(isolation) = self.isolation {
            SmallMap::new(extra.entry("tx_metadata")).string(ISOLATION_KEY, isolation);
        }
    }
}

/// The first address of a host that answers.
fn connect(address: &Address) -> Result<TcpStream, String> {
    let found = (&*address.host, address.port).to_socket_addrs().map_err(|e| e.to_string())?;
    let mut why = "there is no such host".to_owned();
    for found in found {
        match TcpStream::connect_timeout(&found, CONNECT_WAIT) {
            Ok(tcp) => return Ok(tcp),
            Err(error) if error.kind() == ErrorKind::ConnectionRefused => {
                why =
                    "nothing listens there: is the server running, and is this its port for Bolt?"
                        .to_owned();
            }
            Err(error) => why = error.to_string(),
        }
    }
    Err(why)
}

/// Agrees on a version.
fn negotiate(stream: &mut Stream, trust: Trust) -> Result<Version, Ended> {
    let mut said = MAGIC.to_vec();
    said.extend_from_slice(PROPOSALS.as_flattened());
    let mut answer = [0; 4];
    let agreed = stream.write_all(&said).and_then(|()| stream.flush());
    let agreed = agreed.and_then(|()| stream.read_exact(&mut answer));
    agreed.map_err(|error| {
        let hint = match (trust, error.kind()) {
            (Trust::Plain, ErrorKind::UnexpectedEof | ErrorKind::ConnectionReset) => {
                ": it may want encryption (bolt+s://, bolt+ssc://), or have no place left"
            }
            _ => "",
        };
        Ended::Lost(format!("the server does not agree on a version of Bolt: {error}{hint}"))
    })?;
    match answer {
        [0, 0, 0, 0] => {
            Err(Ended::Lost("the server speaks no version of Bolt from 4.4 to 5.8".into()))
        }
        [0, 0, minor, major] => Ok(Version::new(major, minor)),
        _ => Err(Ended::Lost("the server does not speak Bolt: is this its port for HTTP?".into())),
    }
}
