//! Requests to etcd's JSON gateway over HTTP/1.1, from threads that block.
//!
//! One runtime with one thread carries the connections; a caller waits for its answer. Connections
//! are kept and used again. A request goes to the endpoint that answered last; after a failure to
//! the next one.

use std::io;
use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use http_body_util::{BodyExt, Full};
use hyper::body::{Bytes, Incoming};
use hyper::client::conn::http1::{self, SendRequest};
use hyper::{Request, Response};
use hyper_util::rt::TokioIo;
use rustls::ClientConfig;
use rustls_pki_types::ServerName;
use serde::de::DeserializeOwned;
use serde_json::Value;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio::time::{Instant, timeout, timeout_at};
use tokio_rustls::TlsConnector;

use crate::store::runtime::{Runtime, time_of};
use crate::store::{Endpoint, StoreError};

const CONNECT_TIMEOUT: Duration = Duration::from_secs(1);
/// Longest wait for the first answer to a request, and the second, but for what its body takes:
/// what a node of etcd has sent on to a leader that died is never answered (etcd itself gives up
/// after 7 s), and a lease lapses after 2.5.
pub(super) const FIRST_TIMEOUT: Duration = Duration::from_secs(1);
/// Longest wait for an answer once some did not come in that time: it may be large, or etcd slow.
pub(super) const ANSWER_TIMEOUT: Duration = Duration::from_secs(3);
/// Longest wait for what a node knows by itself: others may be asked.
const OWN_TIMEOUT: Duration = Duration::from_millis(500);
/// Connections that are kept.
const IDLE_MAX: usize = 16;

/// Why there is no answer.
#[derive(Debug)]
pub(super) enum Failure {
    /// The request did not reach the endpoint: another may be asked.
    NotSent(StoreError),
    /// The request is refused, by any endpoint.
    Refused(StoreError),
    /// It may have been, or will be.
    Unknown(StoreError),
}

impl Failure {
    pub(super) fn cause(self) -> StoreError {
        match self {
            Self::NotSent(cause) | Self::Refused(cause) | Self::Unknown(cause) => cause,
        }
    }
}

type Connection = SendRequest<Full<Bytes>>;

#[derive(Debug)]
pub(super) struct Gateway {
    endpoints: Vec<Endpoint>,
    /// Trust, if connections are encrypted.
    tls: Option<Arc<ClientConfig>>,
    runtime: Runtime,
    /// Open connections by endpoint.
    idle: Mutex<Vec<(usize, Connection)>>,
    /// The endpoint to ask.
    current: AtomicUsize,
    /// Slots that were not answered in time, since one was within the first time-out.
    unanswered: AtomicU32,
}

async fn handshake<S>(stream: S) -> io::Result<Connection>
where
    S: AsyncRead + AsyncWrite + Send + Unpin + 'static,
{
    let made = http1::handshake(TokioIo::new(stream)).await;
    let (sender, connection) = made.map_err(io::Error::other)?;
    // It ends with its last sender.
    tokio::spawn(connection);
    Ok(sender)
}

/// The wait for an answer after so many that did not come: after its leader's death a node of etcd
/// sends on to it for up to two seconds.
fn wait_after(unanswered: u32) -> Duration {
    FIRST_TIMEOUT.saturating_mul(unanswered.max(1)).min(ANSWER_TIMEOUT)
}

impl Gateway {
    pub(super) fn new(
        endpoints: Vec<Endpoint>,
        tls: Option<Arc<ClientConfig>>,
    ) -> Result<Self, StoreError> {
        let runtime = Runtime::new("etcd")?;
        let (idle, current) = (Mutex::default(), AtomicUsize::new(0));
        let unanswered = AtomicU32::new(0);
        Ok(Self { endpoints, tls, runtime, idle, current, unanswered })
    }

    fn unavailable(&self, endpoint: usize, why: impl ToString) -> StoreError {
        let (host, port) = &self.endpoints[endpoint];
        StoreError::Unavailable { store: format!("etcd at {host}:{port}"), why: why.to_string() }
    }

    /// Asks something that changes nothing: each endpoint, until one answers.
    pub(super) fn ask<T: DeserializeOwned>(
        &self,
        path: &str,
        body: &Value,
    ) -> Result<T, StoreError> {
        let body = Bytes::from(body.to_string());
        let (mut last, mut unanswered) = (None, 0);
        // Once more than there are: a kept connection may be dead.
        for _ in 0..=self.endpoints.len() {
            let (sent, wait) = (Instant::now(), wait_after(unanswered));
            match self.send(path, &body, wait) {
                Ok(found) => return Ok(found),
                Err(Failure::Refused(cause)) => return Err(cause),
                Err(failure) => last = Some(failure.cause()),
            }
            unanswered += u32::from(sent.elapsed() >= wait);
        }
        Err(last.unwrap_or_else(|| self.unavailable(0, "no endpoint")))
    }

    /// Returns how many endpoints there are.
    pub(super) fn endpoints(&self) -> usize {
        self.endpoints.len()
    }

    /// Asks one endpoint something that it knows by itself.
    pub(super) fn ask_one<T: DeserializeOwned>(
        &self,
        endpoint: usize,
        path: &str,
        body: &Value,
    ) -> Result<T, StoreError> {
        let body = Bytes::from(body.to_string());
        self.send_to(endpoint, path, &body, OWN_TIMEOUT).map_err(Failure::cause)
    }

    /// Asks for a change that is asked for again until an answer comes, and waited for longer then.
    pub(super) fn change_for_sure<T: DeserializeOwned>(
        &self,
        path: &str,
        body: &Value,
    ) -> Result<T, Failure> {
        // ORDERING: relaxed here and below, as nothing else is read because of it.
        let unanswered = self.unanswered.load(Ordering::Relaxed);
        let wait = wait_after(unanswered);
        let sent = Instant::now();
        let outcome = self.change(wait, path, body);
        let took = sent.elapsed();
        let more = match &outcome {
            Ok(_) if took < FIRST_TIMEOUT => 0,
            Err(Failure::Unknown(_)) if took >= wait => unanswered.saturating_add(1),
            _ => unanswered,
        };
        self.unanswered.store(more, Ordering::Relaxed);
        outcome
    }

    /// Asks for a change, and waits so long for its answer and for what its body takes: the next
    /// endpoint only if the one before certainly did nothing.
    pub(super) fn change<T: DeserializeOwned>(
        &self,
        wait: Duration,
        path: &str,
        body: &Value,
    ) -> Result<T, Failure> {
        let body = Bytes::from(body.to_string());
        let wait = wait + time_of(body.len());
        let mut tries = self.endpoints.len();
        loop {
            match self.send(path, &body, wait) {
                Err(Failure::NotSent(_)) if tries > 0 => tries -= 1,
                outcome => return outcome,
            }
        }
    }

    fn send<T>(&self, path: &str, body: &Bytes, wait: Duration) -> Result<T, Failure>
    where
        T: DeserializeOwned,
    {
        let endpoint = self.current.load(Ordering::Relaxed) % self.endpoints.len();
        let answer = self.send_to(endpoint, path, body, wait);
        if answer.is_err() {
            // Of several that fail at once, one moves on.
            let next = (endpoint + 1) % self.endpoints.len();
            let (old, order) = (self.current.load(Ordering::Relaxed), Ordering::Relaxed);
            if old % self.endpoints.len() == endpoint {
                let _ = self.current.compare_exchange(old, next, order, order);
            }
        }
        answer
    }

    fn send_to<T: DeserializeOwned>(
        &self,
        endpoint: usize,
        path: &str,
        body: &Bytes,
        wait: Duration,
    ) -> Result<T, Failure> {
        let bytes = self.runtime.block_on(self.exchange(endpoint, path, body, wait))?;
        serde_json::from_slice(&bytes).map_err(|cause| {
            Failure::Unknown(self.unavailable(endpoint, format!("no answer of etcd: {cause}")))
        })
    }

    async fn exchange(
        &self,
        endpoint: usize,
        path: &str,
        body: &Bytes,
        wait: Duration,
    ) -> Result<Bytes, Failure> {
        let end = Instant::now() + wait;
        let (mut connection, response) = self.respond(endpoint, path, body, end).await?;
        let unknown = |why: String| Failure::Unknown(self.unavailable(endpoint, why));
        let status = response.status();
        let bytes = match timeout_at(end, response.into_body().collect()).await {
            Err(_) => return Err(unknown("no whole answer in time".into())),
            Ok(Err(cause)) => return Err(unknown(cause.to_string())),
            Ok(Ok(body)) => body.to_bytes(),
        };
        if connection.ready().await.is_ok() {
            self.keep(endpoint, connection);
        }
        if status.is_success() {
            return Ok(bytes);
        }
        let answer: Value = serde_json::from_slice(&bytes).unwrap_or_default();
        let why = answer["message"].as_str().or(answer["error"].as_str());
        let why = format!("{status}: {}", why.unwrap_or_default());
        match answer["code"].as_u64() {
            // The request is refused as it is (gRPC's InvalidArgument, NotFound, PermissionDenied,
            // ResourceExhausted, FailedPrecondition, OutOfRange, Unimplemented, Unauthenticated).
            Some(3 | 5 | 7 | 8 | 9 | 11 | 12 | 16) => {
                Err(Failure::Refused(self.unavailable(endpoint, why)))
            }
            _ => Err(unknown(why)),
        }
    }

    async fn respond(
        &self,
        endpoint: usize,
        path: &str,
        body: &Bytes,
        end: Instant,
    ) -> Result<(Connection, Response<Incoming>), Failure> {
        let (host, port) = &self.endpoints[endpoint];
        let kept = self.take(endpoint);
        let mut connection = match kept {
            Some(connection) => connection,
            None => self.connect(endpoint).await.map_err(Failure::NotSent)?,
        };
        let request = Request::post(path)
            .header("host", format!("{host}:{port}"))
            .header("content-type", "application/json")
            .body(Full::new(body.clone()));
        let request =
            request.map_err(|cause| Failure::Refused(self.unavailable(endpoint, cause)))?;
        match timeout_at(end, connection.send_request(request)).await {
            Ok(Ok(response)) => Ok((connection, response)),
            // It was still in this process.
            Ok(Err(cause)) if cause.is_canceled() => {
                Err(Failure::NotSent(self.unavailable(endpoint, cause)))
            }
            Ok(Err(cause)) => Err(Failure::Unknown(self.unavailable(endpoint, cause))),
            Err(_) => Err(Failure::Unknown(self.unavailable(endpoint, "no answer in time"))),
        }
    }

    async fn connect(&self, endpoint: usize) -> Result<Connection, StoreError> {
        let (host, port) = &self.endpoints[endpoint];
        let connecting = async {
            let stream = TcpStream::connect((host.as_str(), *port)).await?;
            stream.set_nodelay(true)?;
            let Some(tls) = &self.tls else { return handshake(stream).await };
            let name = ServerName::try_from(host.clone()).map_err(io::Error::other)?;
            handshake(TlsConnector::from(Arc::clone(tls)).connect(name, stream).await?).await
        };
        match timeout(CONNECT_TIMEOUT, connecting).await {
            Ok(Ok(sender)) => Ok(sender),
            Ok(Err(cause)) => Err(self.unavailable(endpoint, cause)),
            Err(_) => Err(self.unavailable(endpoint, "no connection in time")),
        }
    }

    fn take(&self, endpoint: usize) -> Option<Connection> {
        let mut idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        idle.retain(|(_, connection)| !connection.is_closed());
        let at = idle.iter().rposition(|(of, connection)| *of == endpoint && connection.is_ready());
        at.map(|at| idle.swap_remove(at).1)
    }

    fn keep(&self, endpoint: usize, connection: Connection) {
        let mut idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        if idle.len() < IDLE_MAX {
            idle.push((endpoint, connection));
        }
    }

    /// Watches as `body` says until something changed, or the watch broke off, or `wait` is over.
    /// It is a hint: the caller looks again in any case.
    pub(super) fn watch(&self, body: &Value, wait: Duration) {
        let endpoint = self.current.load(Ordering::Relaxed) % self.endpoints.len();
        let (body, end) = (Bytes::from(body.to_string()), Instant::now() + wait);
        self.runtime.block_on(async {
            let watching = async {
                let response = self.respond(endpoint, "/v3/watch", &body, end).await;
                let Ok((_connection, response)) = response else {
                    // Not at once again: the caller would ask without end.
                    tokio::time::sleep(Duration::from_millis(50)).await;
                    return;
                };
                let mut body = response.into_body();
                let mut text = Vec::new();
                while let Some(Ok(frame)) = body.frame().await {
                    text.extend_from_slice(frame.data_ref().map_or(&[][..], |bytes| bytes));
                    // The first message says that the watch is there; lines end messages.
                    let ended = text.split(|byte| *byte == b'\n').any(|line| {
                        let has = |word: &[u8]| line.windows(word.len()).any(|found| found == word);
                        has(b"\"events\"") || has(b"\"canceled\"") || has(b"\"error\"")
                    });
                    if ended {
                        return;
                    }
                }
                tokio::time::sleep(Duration::from_millis(50)).await;
            };
            // Dropping the connection ends the watch on the other side.
            let _ = timeout_at(end, watching).await;
        });
    }
}
