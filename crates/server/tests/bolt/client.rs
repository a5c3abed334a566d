//! A server to try, and a client that says what it is told to say.

use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;
use std::time::{Duration, Instant};

use telar_server::bolt;
use telar_server::dbms::{Dbms, DbmsSettings, Security, StatementLimits};
use telar_server::metrics::Metrics;
use telar_server::server::{Server, Settings};

use crate::data::{Data, map};

/// Longer than anything takes that is not stuck.
pub(crate) const PATIENCE: Duration = Duration::from_secs(60);
/// A statement that would take years and returns nothing before.
pub(crate) const FOREVER: &str = "UNWIND range(1, 1000000) AS a UNWIND range(1, 1000000) AS b WITH a, b WHERE a + b < 0 \
     RETURN count(*) AS n";
/// A statement that returns more than anybody wants.
pub(crate) const ENDLESS: &str =
    "UNWIND range(1, 1000000) AS a UNWIND range(1, 1000000) AS b RETURN a, b";

/// A server with an empty database, at a port of its own.
pub(crate) fn serve() -> Server {
    serve_with(|_| {})
}

pub(crate) fn serve_with(change: impl FnOnce(&mut bolt::Settings)) -> Server {
    serve_databases(StatementLimits::default(), change).0
}

/// The same, with the databases behind it.
pub(crate) fn serve_databases(
    limits: StatementLimits,
    change: impl FnOnce(&mut bolt::Settings),
) -> (Server, Arc<Dbms>) {
    let security = Security { enabled: false, ..Security::default() };
    let settings = DbmsSettings { security, limits, ..DbmsSettings::default() };
    let dbms = Arc::new(Dbms::open(None, settings).unwrap());
    let mut bolt = bolt::Settings { address: ([127, 0, 0, 1], 0).into(), ..Default::default() };
    change(&mut bolt);
    let metrics = Arc::new(Metrics::new());
    let settings = Settings { bolt, http: None };
    (Server::start(Arc::clone(&dbms), &settings, &metrics).unwrap(), dbms)
}

/// Waits until something holds.
pub(crate) fn until(what: &str, holds: impl Fn() -> bool) {
    let begun = Instant::now();
    while !holds() {
        assert!(begun.elapsed() < PATIENCE, "waited in vain until {what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// What a server answers.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Answer {
    Success(Data),
    Record(Vec<Data>),
    Ignored,
    Failure(Data),
}

impl Answer {
    #[track_caller]
    pub(crate) fn success(self) -> Data {
        let Self::Success(data) = self else { panic!("no SUCCESS: {self:?}") };
        data
    }

    #[track_caller]
    pub(crate) fn failure(self) -> Data {
        let Self::Failure(data) = self else { panic!("no FAILURE: {self:?}") };
        data
    }

    /// The code of a failure of any version.
    #[track_caller]
    pub(crate) fn code(self) -> String {
        let data = self.failure();
        let code = [data.get("code"), data.get("neo4j_code")];
        code.into_iter().find(|code| **code != Data::Null).unwrap().text().to_owned()
    }

    #[track_caller]
    pub(crate) fn record(self) -> Vec<Data> {
        let Self::Record(fields) = self else { panic!("no RECORD: {self:?}") };
        fields
    }
}

/// A connection, over whatever carries bytes.
pub(crate) struct Client<S = TcpStream> {
    pub(crate) stream: S,
}

impl Client {
    /// Connected, and nothing said.
    pub(crate) fn silent(address: SocketAddr) -> Self {
        let stream = TcpStream::connect(address).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        stream.set_nodelay(true).unwrap();
        Self { stream }
    }

    /// Agreed on a version.
    pub(crate) fn with_version(server: &Server, major: u8, minor: u8) -> Self {
        let mut client = Self::silent(server.bolt_address());
        client.shake_hands([0, 0, minor, major]);
        client
    }

    /// Logged in with the newest version of 5.
    pub(crate) fn new(server: &Server) -> Self {
        Self::logged_in(server, 5, 8)
    }

    pub(crate) fn logged_in(server: &Server, major: u8, minor: u8) -> Self {
        let mut client = Self::with_version(server, major, minor);
        client.log_in((major, minor) >= (5, 1));
        client
    }
}

impl<S: Read + Write> Client<S> {
    pub(crate) fn shake_hands(&mut self, proposal: [u8; 4]) {
        self.try_shake_hands(proposal).unwrap();
    }

    /// An error if the server hangs up.
    pub(crate) fn try_shake_hands(&mut self, proposal: [u8; 4]) -> io::Result<()> {
        let none = [0; 4];
        let said = [[0x60, 0x60, 0xB0, 0x17], proposal, none, none, none];
        self.stream.write_all(said.as_flattened())?;
        let mut answer = [0; 4];
        self.stream.read_exact(&mut answer)?;
        assert_eq!(answer, [0, 0, proposal[2], proposal[3]]);
        Ok(())
    }

    pub(crate) fn log_in(&mut self, by_logon: bool) {
        let token = map([("scheme", "none".into())]);
        if by_logon {
            self.ask(0x01, [map([("user_agent", "tests/1".into())])]).success();
            self.log_in_after_hello();
        } else {
            self.ask(0x01, [token]).success();
        }
    }

    /// The second half of a login since Bolt 5.1.
    pub(crate) fn log_in_after_hello(&mut self) {
        self.ask(0x6A, [map([("scheme", "none".into())])]).success();
    }

    /// Says something, whatever it is.
    pub(crate) fn say(&mut self, bytes: &[u8]) {
        self.stream.write_all(bytes).unwrap();
        self.stream.flush().unwrap();
    }

    pub(crate) fn send(&mut self, tag: u8, fields: impl IntoIterator<Item = Data>) {
        self.say(&framed(&Data::Structure(tag, fields.into_iter().collect())));
    }

    /// The next answer; none if the server has hung up.
    pub(crate) fn receive(&mut self) -> Option<Answer> {
        let mut message = Vec::new();
        loop {
            let mut header = [0; 2];
            match self.stream.read_exact(&mut header) {
                Ok(()) => {}
                Err(error) => {
                    let kind = error.kind();
                    let gone = [io::ErrorKind::UnexpectedEof, io::ErrorKind::ConnectionReset];
                    assert!(gone.contains(&kind), "{error}");
                    return None;
                }
            }
            let len = usize::from(header[0]) << 8 | usize::from(header[1]);
            if len == 0 && !message.is_empty() {
                break;
            }
            let start = message.len();
            message.resize(start + len, 0);
            self.stream.read_exact(&mut message[start..]).unwrap();
        }
        let mut bytes = &message[..];
        let Data::Structure(tag, mut fields) = Data::read(&mut bytes) else { panic!("no message") };
        assert!(bytes.is_empty());
        Some(match (tag, fields.pop()) {
            (0x70, Some(data)) => Answer::Success(data),
            (0x71, Some(Data::List(row))) => Answer::Record(row),
            (0x7E, None) => Answer::Ignored,
            (0x7F, Some(data)) => Answer::Failure(data),
            (tag, data) => panic!("{tag:02X} {data:?}"),
        })
    }

    /// The next answer, which must come.
    #[track_caller]
    pub(crate) fn answer(&mut self) -> Answer {
        self.receive().expect("the server hung up")
    }

    /// Says something and returns what the server answers.
    #[track_caller]
    pub(crate) fn ask(&mut self, tag: u8, fields: impl IntoIterator<Item = Data>) -> Answer {
        self.send(tag, fields);
        self.answer()
    }

    pub(crate) fn run(&mut self, text: &str) -> Answer {
        self.run_with(text, map([]), map([]))
    }

    pub(crate) fn run_with(&mut self, text: &str, parameters: Data, extra: Data) -> Answer {
        self.ask(0x10, [text.into(), parameters, extra])
    }

    /// What comes after a PULL or DISCARD: rows, and how it ended.
    pub(crate) fn demand(&mut self, tag: u8, n: i64, qid: i64) -> (Vec<Vec<Data>>, Answer) {
        self.send(tag, [map([("n", n.into()), ("qid", qid.into())])]);
        self.rest()
    }

    /// Asks for rows, and reads none.
    pub(crate) fn demand_only(&mut self, n: i64) {
        self.send(PULL, [map([("n", n.into())])]);
    }

    /// Rows up to the next answer that is none.
    pub(crate) fn rest(&mut self) -> (Vec<Vec<Data>>, Answer) {
        let mut rows = Vec::new();
        loop {
            match self.answer() {
                Answer::Record(row) => rows.push(row),
                other => return (rows, other),
            }
        }
    }

    pub(crate) fn pull(&mut self, n: i64) -> (Vec<Vec<Data>>, Answer) {
        self.demand(PULL, n, -1)
    }

    /// All rows of a statement.
    #[track_caller]
    pub(crate) fn rows(&mut self, text: &str) -> Vec<Vec<Data>> {
        self.run(text).success();
        let (rows, summary) = self.pull(-1);
        summary.success();
        rows
    }

    /// The integer that a statement returns.
    #[track_caller]
    pub(crate) fn int(&mut self, text: &str) -> i64 {
        self.rows(text)[0][0].int()
    }

    pub(crate) fn begin(&mut self) -> Answer {
        self.ask(BEGIN, [map([])])
    }

    pub(crate) fn reset(&mut self) -> Answer {
        self.ask(RESET, [])
    }

    /// Fails unless the server hangs up without another word.
    #[track_caller]
    pub(crate) fn expect_end(&mut self) {
        assert_eq!(self.receive(), None);
    }
}

pub(crate) const GOODBYE: u8 = 0x02;
pub(crate) const RESET: u8 = 0x0F;
pub(crate) const RUN: u8 = 0x10;
pub(crate) const BEGIN: u8 = 0x11;
pub(crate) const COMMIT: u8 = 0x12;
pub(crate) const ROLLBACK: u8 = 0x13;
pub(crate) const DISCARD: u8 = 0x2F;
pub(crate) const PULL: u8 = 0x3F;

/// A message in chunks.
pub(crate) fn framed(message: &Data) -> Vec<u8> {
    let mut bytes = Vec::new();
    message.write(&mut bytes);
    in_chunks(&bytes)
}

pub(crate) fn in_chunks(bytes: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    for chunk in bytes.chunks(0xFFFF) {
        out.extend([(chunk.len() >> 8) as u8, chunk.len() as u8]);
        out.extend(chunk);
    }
    out.extend([0, 0]);
    out
}
