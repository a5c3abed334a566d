//! A server in this process and a client that says exactly what a test wants said.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use rustls::ServerConfig;
use serde_json::{Value, json};
use telar_server::dbms::{Dbms, DbmsSettings, Security};
use telar_server::http::{Server, Settings};
use telar_server::metrics::Metrics;

/// Where statements are sent.
pub(crate) const QUERY: &str = "/db/telar/query/v2";
/// Where transactions begin.
pub(crate) const TX: &str = "/db/telar/query/v2/tx";

/// Headers of a request with a body.
pub(crate) const LOCAL_JSON: &str = "Host: localhost\r\nContent-Type: application/json\r\n";

/// A server with an empty database in memory.
pub(crate) struct TestServer {
    pub(crate) server: Server,
}

/// What came back.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: Vec<u8>,
    /// Whether the body ended as it should.
    pub(crate) complete: bool,
}

impl Answer {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        let found = self.headers.iter().find(|(found, _)| found.eq_ignore_ascii_case(name));
        found.map(|(_, value)| value.as_str())
    }

    pub(crate) fn text(&self) -> &str {
        std::str::from_utf8(&self.body).unwrap()
    }

    pub(crate) fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_else(|e| panic!("{e}: {}", self.text()))
    }

    /// One JSON value per line.
    pub(crate) fn lines(&self) -> Vec<Value> {
        self.text().lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    /// The code of the first error.
    pub(crate) fn code(&self) -> String {
        self.json()["errors"][0]["code"].as_str().unwrap_or_default().to_owned()
    }
}

/// A connection.
pub(crate) struct Connection {
    stream: BufReader<TcpStream>,
}

impl Connection {
    pub(crate) fn to(address: SocketAddr) -> Self {
        let stream = TcpStream::connect(address).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
        Self { stream: BufReader::new(stream) }
    }

    pub(crate) fn send(&mut self, bytes: impl AsRef<[u8]>) {
        self.stream.get_mut().write_all(bytes.as_ref()).unwrap();
    }

    pub(crate) fn tcp(&mut self) -> &mut TcpStream {
        self.stream.get_mut()
    }

    /// A request; a body is JSON, unless a header says something else.
    pub(crate) fn request(&mut self, method: &str, path: &str, headers: &[&str], body: &str) {
        let mut text = format!("{method} {path} HTTP/1.1\r\nHost: localhost\r\n");
        for header in headers {
            text.push_str(header);
            text.push_str("\r\n");
        }
        let typed = headers.iter().any(|header| header.starts_with("Content-Type:"));
        if !body.is_empty() && !typed {
            text.push_str("Content-Type: application/json\r\n");
        }
        if method != "GET" || !body.is_empty() {
            text.push_str(&format!("Content-Length: {}\r\n", body.len()));
        }
        self.send(format!("{text}\r\n{body}"));
    }

    fn line(&mut self) -> Option<String> {
        let mut line = String::new();
        match self.stream.read_line(&mut line) {
            Ok(0) | Err(_) => None,
            Ok(_) => Some(line.trim_end().to_owned()),
        }
    }

    /// Status and headers.
    pub(crate) fn head(&mut self) -> Option<(u16, Vec<(String, String)>)> {
        let status = self.line()?.split(' ').nth(1)?.parse().ok()?;
        let mut headers = Vec::new();
        while let Some(line) = self.line().filter(|line| !line.is_empty()) {
            let (name, value) = line.split_once(": ")?;
            headers.push((name.to_owned(), value.to_owned()));
        }
        Some((status, headers))
    }

    /// The next chunk of a body that comes in chunks: empty at the end, none if it broke off.
    pub(crate) fn chunk(&mut self) -> Option<Vec<u8>> {
        let length = usize::from_str_radix(&self.line()?, 16).ok()?;
        let mut bytes = vec![0; length + 2];
        self.stream.read_exact(&mut bytes).ok()?;
        bytes.truncate(length);
        Some(bytes)
    }

    /// The whole answer; none if the connection was closed without one.
    pub(crate) fn try_answer(&mut self) -> Option<Answer> {
        let (status, headers) = self.head()?;
        let mut answer = Answer { status, headers, body: Vec::new(), complete: true };
        if answer.header("transfer-encoding") == Some("chunked") {
            loop {
                match self.chunk() {
                    Some(chunk) if chunk.is_empty() => break,
                    Some(chunk) => answer.body.extend(chunk),
                    None => {
                        answer.complete = false;
                        break;
                    }
                }
            }
            return Some(answer);
        }
        let length = answer.header("content-length").map_or(0, |text| text.parse().unwrap());
        answer.body = vec![0; length];
        answer.complete = self.stream.read_exact(&mut answer.body).is_ok();
        Some(answer)
    }

    pub(crate) fn answer(&mut self) -> Answer {
        self.try_answer().expect("an answer")
    }

    /// Whether the other side has closed after what it sent, or does within the time.
    pub(crate) fn is_at_its_end(&mut self, time: Duration) -> bool {
        self.stream.get_ref().set_read_timeout(Some(time)).unwrap();
        match std::io::copy(&mut self.stream, &mut std::io::sink()) {
            Ok(_) => true,
            Err(error) => error.kind() == std::io::ErrorKind::ConnectionReset,
        }
    }

    /// Whether the other side closes within the time.
    pub(crate) fn is_closed_within(&mut self, time: Duration) -> bool {
        self.stream.get_ref().set_read_timeout(Some(time)).unwrap();
        match self.stream.read(&mut [0]) {
            Ok(bytes) => bytes == 0,
            Err(error) => error.kind() == std::io::ErrorKind::ConnectionReset,
        }
    }
}

impl TestServer {
    pub(crate) fn new() -> Self {
        Self::with(Settings::default())
    }

    pub(crate) fn with(settings: Settings) -> Self {
        let security = Security { enabled: false, ..Security::default() };
        Self::of(None, DbmsSettings { security, ..DbmsSettings::default() }, settings)
    }

    pub(crate) fn of(path: Option<&Path>, dbms: DbmsSettings, settings: Settings) -> Self {
        Self::start(Dbms::open(path, dbms).unwrap(), settings, None)
    }

    /// One that speaks HTTPS.
    pub(crate) fn encrypted(tls: Arc<ServerConfig>) -> Self {
        let security = Security { enabled: false, ..Security::default() };
        let dbms = Dbms::open(None, DbmsSettings { security, ..DbmsSettings::default() }).unwrap();
        Self::start(dbms, Settings::default(), Some(tls))
    }

    fn start(dbms: Dbms, settings: Settings, tls: Option<Arc<ServerConfig>>) -> Self {
        let address = "127.0.0.1:0".parse().unwrap();
        let metrics = Arc::new(Metrics::new());
        Self { server: Server::start(address, tls, Arc::new(dbms), settings, metrics).unwrap() }
    }

    /// The answer to a plain request, if there is one.
    pub(crate) fn try_get(&self, path: &str) -> Option<Answer> {
        let mut connection = self.connect();
        connection.request("GET", path, &[], "");
        connection.try_answer()
    }

    pub(crate) fn connect(&self) -> Connection {
        Connection::to(self.server.address())
    }

    /// A request on a connection of its own.
    pub(crate) fn ask(&self, method: &str, path: &str, headers: &[&str], body: &str) -> Answer {
        let mut connection = self.connect();
        connection.request(method, path, headers, body);
        connection.answer()
    }

    pub(crate) fn get(&self, path: &str) -> Answer {
        self.ask("GET", path, &[], "")
    }

    /// A statement by itself.
    pub(crate) fn run(&self, body: &Value) -> Answer {
        self.ask("POST", QUERY, &["Content-Type: application/json"], &body.to_string())
    }

    /// The rows of a statement that must go well.
    pub(crate) fn rows(&self, statement: &str) -> Value {
        let answer = self.run(&json!({ "statement": statement }));
        assert_eq!(answer.status, 202, "{statement}: {}", answer.text());
        let json = answer.json();
        assert!(json["errors"].is_null(), "{statement}: {json}");
        json["data"]["values"].clone()
    }

    /// Queries that run now, but for the one that asks.
    pub(crate) fn running(&self) -> i64 {
        let text = "SHOW TRANSACTIONS YIELD currentQuery WHERE NOT currentQuery CONTAINS 'SHOW' \
                    RETURN count(*)";
        self.rows(text)[0][0].as_i64().unwrap()
    }

    /// Waits until a statement runs that begins like this: [`running`](Self::running) counts
    /// transactions that are open and do nothing, too.
    pub(crate) fn await_statement(&self, begin: &str) {
        let text = format!(
            "SHOW TRANSACTIONS YIELD currentQuery WHERE currentQuery STARTS WITH '{begin}' \
             RETURN count(*)"
        );
        while self.rows(&text)[0][0].as_i64().unwrap() == 0 {
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    /// Waits until nothing runs any more.
    pub(crate) fn wait_until_idle(&self) {
        for _ in 0..600 {
            if self.running() == 0 {
                return;
            }
            std::thread::sleep(Duration::from_millis(50));
        }
        panic!("a statement still runs");
    }
}
