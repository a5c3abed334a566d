//! Requests of one server to another over HTTP/1.1, from threads that block.
//!
//! A client has one connection, which is kept between requests, and a runtime that runs while a
//! caller waits: no thread of its own. All waits have an end, and end early once the stop flag is
//! set. A request that finds its kept connection dead is sent once more; all of them only read.
//!
//! Must not be used from a thread of a runtime.

use std::fmt;
use std::io::{self, Read};
use std::path::PathBuf;
use std::str::FromStr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use base64ct::{Base64, Encoding};
use http_body_util::{BodyExt, Empty};
use hyper::body::{Bytes, Incoming};
use hyper::client::conn::http1::{self, SendRequest};
use hyper::{HeaderMap, Request, Response};
use hyper_util::rt::TokioIo;
use parking_lot::Mutex;
use rustix::net::sockopt::{set_socket_keepalive, set_tcp_keepidle, set_tcp_keepintvl};
use rustls::ClientConfig;
use rustls_pki_types::ServerName;
use telar_cluster::tls::trust;
use telar_db::query::cypher::Secret;
use tokio::net::TcpStream;
use tokio::runtime::Runtime;
use tokio::time::{sleep, timeout};
use tokio_rustls::TlsConnector;

use super::error::Error;
use crate::net::host_and_port;

/// Port of HTTP unless an address says otherwise.
const PORT: u16 = 7474;
/// Time after which a connection without a sign of life is asked for one.
const KEEPALIVE: Duration = Duration::from_secs(15);
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
/// Longest wait for the next bytes of a body.
const STALL_TIMEOUT: Duration = Duration::from_secs(60);
/// Time between two looks of a wait at the stop flag.
const TICK: Duration = Duration::from_millis(100);
/// Longest error message that is read.
const MESSAGE_BYTES_MAX: usize = 64 << 10;

/// Address of a server: `http://db.example:7474` or `https://...`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SourceUrl {
    /// True if connections are encrypted.
    pub encrypted: bool,
    /// Name or number, without the brackets of IPv6.
    pub host: String,
    /// The port.
    pub port: u16,
}

impl SourceUrl {
    /// Host and port as they stand in an address.
    fn authority(&self) -> String {
        let Self { host, port, .. } = self;
        if host.contains(':') { format!("[{host}]:{port}") } else { format!("{host}:{port}") }
    }
}

impl fmt::Display for SourceUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let scheme = if self.encrypted { "https" } else { "http" };
        write!(f, "{scheme}://{}", self.authority())
    }
}

impl FromStr for SourceUrl {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let expected = || "expected http://HOST:PORT or https://HOST:PORT".to_owned();
        let (scheme, rest) = text.split_once("://").ok_or_else(expected)?;
        let encrypted = match &*scheme.to_ascii_lowercase() {
            "http" => false,
            "https" => true,
            _ => return Err(expected()),
        };
        let rest = rest.strip_suffix('/').unwrap_or(rest);
        if rest.contains('@') {
            return Err("an address holds no user: name one in follow.user".to_owned());
        }
        let plain = |c: char| c.is_ascii_alphanumeric() || "-._[]:".contains(c);
        if !rest.chars().all(plain) {
            return Err(expected());
        }
        let (host, port) = host_and_port(rest, PORT).ok_or_else(expected)?;
        Ok(Self { encrypted, host: host.to_owned(), port })
    }
}

/// Proof that a client may ask, as the header `Authorization` has it.
#[derive(Debug, Clone, Default)]
pub enum Credentials {
    /// None: the source lets everybody in.
    #[default]
    None,
    /// A user of the source.
    Basic {
        /// Name of the user.
        user: String,
        /// Password of the user.
        password: Secret,
    },
    /// A secret that both servers share.
    Bearer(Secret),
}

impl Credentials {
    fn header(&self) -> Option<String> {
        match self {
            Self::None => None,
            Self::Basic { user, password } => {
                let text = format!("{user}:{}", password.reveal());
                Some(format!("Basic {}", Base64::encode_string(text.as_bytes())))
            }
            Self::Bearer(secret) => Some(format!("Bearer {}", secret.reveal())),
        }
    }
}

type Connection = SendRequest<Empty<Bytes>>;

/// A client of one server.
pub struct Client {
    url: SourceUrl,
    credentials: Credentials,
    tls: Option<Arc<ClientConfig>>,
    runtime: Runtime,
    /// Connection that waits for the next request.
    idle: Mutex<Option<Connection>>,
    stopped: Arc<AtomicBool>,
}

impl fmt::Debug for Client {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Client").field("url", &self.url).finish_non_exhaustive()
    }
}

impl Client {
    /// A client of the server at `url`; an encrypted one needs `tls` ([`trust`]). Once `stopped` is
    /// set, what waits ends with [`Error::Stopped`].
    ///
    /// # Errors
    /// If the system gives no means to wait for connections.
    pub fn new(
        url: SourceUrl,
        credentials: Credentials,
        tls: Option<Arc<ClientConfig>>,
        stopped: Arc<AtomicBool>,
    ) -> io::Result<Self> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        Ok(Self { url, credentials, tls, runtime, idle: Mutex::default(), stopped })
    }

    /// Address of the server.
    #[must_use]
    pub fn url(&self) -> &SourceUrl {
        &self.url
    }

    /// Asks for what is at `path`, and waits up to `patience` for the head of the answer, which is
    /// one of success.
    ///
    /// # Errors
    /// [`Error::Unreachable`], [`Error::Refused`], [`Error::Stopped`].
    pub fn get(&self, path: &str, patience: Duration) -> Result<Body<'_>, Error> {
        let (kept, begun) = (self.idle.lock().take(), Instant::now());
        let left = || patience.saturating_sub(begun.elapsed());
        let (connection, response) = self.runtime.block_on(async {
            if let Some(kept) = kept.filter(|kept| !kept.is_closed()) {
                match self.send(kept, path, left()).await {
                    // The connection was dead.
                    Err(Error::Unreachable { .. }) if !left().is_zero() => {}
                    done => return done,
                }
            }
            let connection = self.unless_stopped(self.connect()).await?;
            self.send(connection, path, left()).await
        })?;
        let body =
            Body { client: self, connection: Some(connection), response, rest: Bytes::new() };
        match body.response.status() {
            status if status.is_success() => Ok(body),
            status => {
                let message = match (status.as_u16(), &self.credentials) {
                    (401, Credentials::Bearer(_)) => "it is a node of another cluster".to_owned(),
                    (401, _) => {
                        "user or password is wrong (follow.user, follow.password)".to_owned()
                    }
                    _ => body.message(),
                };
                Err(Error::Refused { url: self.url.to_string(), status: status.as_u16(), message })
            }
        }
    }

    fn unreachable(&self, why: impl ToString) -> Error {
        Error::Unreachable { url: self.url.to_string(), why: why.to_string() }
    }

    /// Waits for `work`, unless the client is to end.
    async fn unless_stopped<T>(
        &self,
        work: impl Future<Output = Result<T, Error>>,
    ) -> Result<T, Error> {
        let stopped = async {
            // ORDERING: relaxed, as nothing else is read because of the flag.
            while !self.stopped.load(Ordering::Relaxed) {
                sleep(TICK).await;
            }
        };
        tokio::select! {
            done = work => done,
            () = stopped => Err(Error::Stopped),
        }
    }

    async fn connect(&self) -> Result<Connection, Error> {
        let connecting = async {
            let stream = TcpStream::connect((self.url.host.as_str(), self.url.port)).await?;
            stream.set_nodelay(true)?;
            // A source whose machine is gone is noticed while it is waited for, which may be long.
            set_socket_keepalive(&stream, true)?;
            set_tcp_keepidle(&stream, KEEPALIVE)?;
            set_tcp_keepintvl(&stream, KEEPALIVE)?;
            if !self.url.encrypted {
                return handshake(TokioIo::new(stream)).await;
            }
            let none = || io::Error::other("no authorities are known for encrypted connections");
            let connector = TlsConnector::from(self.tls.clone().ok_or_else(none)?);
            let name = ServerName::try_from(self.url.host.clone()).map_err(io::Error::other)?;
            handshake(TokioIo::new(connector.connect(name, stream).await?)).await
        };
        match timeout(CONNECT_TIMEOUT, connecting).await {
            Ok(done) => done.map_err(|error| self.unreachable(error)),
            Err(_) => Err(self.unreachable("no connection in time")),
        }
    }

    async fn send(
        &self,
        mut connection: Connection,
        path: &str,
        patience: Duration,
    ) -> Result<(Connection, Response<Incoming>), Error> {
        let mut request = Request::get(path)
            .header("host", self.url.authority())
            .header("user-agent", concat!("telar/", env!("CARGO_PKG_VERSION")));
        if let Some(credentials) = self.credentials.header() {
            request = request.header("authorization", credentials);
        }
        let request = request.body(Empty::new()).map_err(|e| Error::Broken(e.to_string()))?;
        let answer = async {
            match timeout(patience, connection.send_request(request)).await {
                Ok(done) => done.map_err(|error| self.unreachable(error)),
                Err(_) => Err(self.unreachable("no answer in time")),
            }
        };
        let response = self.unless_stopped(answer).await?;
        Ok((connection, response))
    }
}

async fn handshake<S>(stream: S) -> io::Result<Connection>
where
    S: hyper::rt::Read + hyper::rt::Write + Send + Unpin + 'static,
{
    let (sender, connection) = http1::handshake(stream).await.map_err(io::Error::other)?;
    // It ends with its last sender.
    tokio::spawn(connection);
    Ok(sender)
}

/// Body of an answer, read as it comes. The connection is used again once it was read to its end.
#[derive(Debug)]
pub struct Body<'c> {
    client: &'c Client,
    connection: Option<Connection>,
    response: Response<Incoming>,
    /// Bytes that came and were not read.
    rest: Bytes,
}

impl Body<'_> {
    /// Headers of the answer.
    #[must_use]
    pub fn headers(&self) -> &HeaderMap {
        self.response.headers()
    }

    /// The next bytes; none at the end.
    fn next(&mut self) -> Result<Option<Bytes>, Error> {
        let Self { client, response, connection, .. } = self;
        let next = async {
            loop {
                let frame = match timeout(STALL_TIMEOUT, response.body_mut().frame()).await {
                    Err(_) => return Err(client.unreachable("the answer does not go on")),
                    Ok(None) => return Ok(None),
                    Ok(Some(frame)) => frame.map_err(|error| client.unreachable(error))?,
                };
                match frame.into_data() {
                    Ok(bytes) if !bytes.is_empty() => return Ok(Some(bytes)),
                    _ => {}
                }
            }
        };
        let next = client.runtime.block_on(client.unless_stopped(next))?;
        if next.is_none() {
            *client.idle.lock() = connection.take();
        }
        Ok(next)
    }

    /// The whole body, of `bytes_max` bytes at most.
    ///
    /// # Errors
    /// If it is longer, or does not come.
    pub fn whole(mut self, bytes_max: usize) -> Result<Vec<u8>, Error> {
        let mut all = Vec::new();
        while let Some(bytes) = self.next()? {
            if all.len() + bytes.len() > bytes_max {
                return Err(Error::Broken(format!("an answer has more than {bytes_max} bytes")));
            }
            all.extend_from_slice(&bytes);
        }
        Ok(all)
    }

    /// The message of an answer that is an error.
    fn message(self) -> String {
        let bytes = self.whole(MESSAGE_BYTES_MAX).unwrap_or_default();
        let json: serde_json::Value = serde_json::from_slice(&bytes).unwrap_or_default();
        let said = json["errors"][0]["message"].as_str();
        said.map_or_else(|| "no reason was given".to_owned(), str::to_owned)
    }
}

impl Read for Body<'_> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        if self.rest.is_empty() {
            match self.next().map_err(io::Error::other)? {
                Some(bytes) => self.rest = bytes,
                None => return Ok(0),
            }
        }
        let some = self.rest.len().min(out.len());
        out[..some].copy_from_slice(&self.rest.split_to(some));
        Ok(some)
    }
}

/// Settings of a client that are kept to make more of the same.
#[derive(Debug, Clone)]
pub struct Asking {
    /// Address of the server.
    pub url: SourceUrl,
    /// Proof that this server may ask.
    pub credentials: Credentials,
    /// PEM file of the authorities that vouch for the server's certificate.
    pub ca: Option<PathBuf>,
}

impl Asking {
    /// A client.
    ///
    /// # Errors
    /// If the authorities cannot be read, or the system gives no means to wait for connections.
    pub fn client(&self, stopped: Arc<AtomicBool>) -> Result<Client, String> {
        let tls = self.url.encrypted.then(|| trust(self.ca.as_deref())).transpose()?;
        let client = Client::new(self.url.clone(), self.credentials.clone(), tls, stopped);
        client.map_err(|e| e.to_string())
    }
}

#[test]
fn addresses_are_those_of_http() {
    for (text, shown) in [
        ("http://localhost", "http://localhost:7474"),
        ("HTTPS://db.example:443/", "https://db.example:443"),
        ("http://[::1]:80", "http://[::1]:80"),
    ] {
        assert_eq!(text.parse::<SourceUrl>().map(|url| url.to_string()), Ok(shown.to_owned()));
    }
    for bad in
        ["localhost", "bolt://x", "http://", "http://a@b", "http://a:0", "http://a/b", "x://"]
    {
        assert!(bad.parse::<SourceUrl>().is_err(), "{bad}");
    }
}
