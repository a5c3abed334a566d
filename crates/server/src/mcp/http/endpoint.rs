//! Requests of the protocol over HTTP, whoever listens: versions, sessions, answers.

use std::fmt;
use std::sync::Arc;

use axum::http::header::{ACCEPT, CACHE_CONTROL, CONTENT_TYPE};
use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use serde_json::{Value as Json, json};
use telar_db::heap;

use super::events::events;
use super::sessions::{Holder, Sessions};
use crate::dbms::Place;
use crate::http::{Refusal, add_headers};
use crate::mcp::graph::Graph;
use crate::mcp::modern;
use crate::mcp::rpc::{self, Id, Message, RpcError, code};
use crate::mcp::server::{HANDSHAKES, Notify, Pending, Server, Session, Step};
use crate::net::browser::MCP_SESSION_ID;

const PROTOCOL_VERSION: HeaderName = HeaderName::from_static("mcp-protocol-version");
const EVENTS: &str = "text/event-stream";
const JSON: &str = "application/json";

/// An address of the protocol: a server, and the sessions at it.
#[derive(Debug)]
pub(crate) struct Endpoint {
    server: Arc<Server>,
    sessions: Sessions,
}

/// Gives a call a place among those that run.
type Admit = Box<dyn Fn() -> Result<Place, Refusal> + Send + Sync>;

/// Sender of a request.
pub(crate) struct Asker {
    /// The graph, with the rights of the sender.
    pub(crate) graph: Arc<Graph>,
    /// The sender as holder of sessions.
    pub(crate) holder: Holder,
    /// `None` where calls need no places.
    pub(crate) admit: Option<Admit>,
}

impl fmt::Debug for Asker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Asker").field("holder", &self.holder).finish_non_exhaustive()
    }
}

/// A call that may run.
struct Admitted {
    pending: Pending,
    graph: Arc<Graph>,
    place: Option<Place>,
}

impl Asker {
    fn admit(self, pending: Pending) -> Result<Admitted, Refusal> {
        let place = self.admit.map(|admit| admit()).transpose()?;
        Ok(Admitted { pending, graph: self.graph, place })
    }
}

impl Admitted {
    /// Runs it, on a thread for blocking work. The answer is none if it was cancelled.
    fn run(self, notify: &Notify<'_>) -> Option<Json> {
        let Self { pending, graph, place } = self;
        heap::mark();
        let answer = pending.run(&graph, notify);
        drop((graph, place));
        answer
    }
}

/// Refusal of a request: status and body.
#[derive(Debug)]
struct Fault(StatusCode, Json);

impl Fault {
    fn new(status: StatusCode, message: &str) -> Self {
        Self(status, rpc::error(None, &RpcError::request(message)))
    }
}

impl IntoResponse for Fault {
    fn into_response(self) -> Response {
        answer(self.0, &self.1)
    }
}

/// Cancels the calls of a session when it is dropped: their client has gone.
pub(super) struct HangUp(Arc<Session>);

impl Drop for HangUp {
    fn drop(&mut self) {
        self.0.cancel_all();
    }
}

/// An answer that is an error of the protocol without a request.
pub(super) fn refusal(status: StatusCode, message: &str) -> Response {
    Fault::new(status, message).into_response()
}

/// A refusal of the server, as clients of the protocol read it.
pub(crate) fn refused(refusal: Refusal) -> Response {
    let Refusal { status, failure } = refusal;
    let code = match status {
        StatusCode::TOO_MANY_REQUESTS | StatusCode::SERVICE_UNAVAILABLE => code::BUSY,
        _ if status.is_server_error() => code::INTERNAL,
        _ => code::INVALID_REQUEST,
    };
    let error = RpcError {
        data: Some(json!({ "code": failure.code })),
        ..RpcError::new(code, failure.message)
    };
    let mut response = answer(status, &rpc::error(None, &error));
    add_headers(&mut response);
    response
}

fn answer(status: StatusCode, body: &Json) -> Response {
    (status, [(CONTENT_TYPE, JSON)], body.to_string()).into_response()
}

impl Endpoint {
    pub(crate) fn new(server: Arc<Server>) -> Self {
        let sessions = Sessions::new(server.settings());
        Self { server, sessions }
    }

    /// Ends everything that runs.
    pub(crate) fn cancel_all(&self) {
        self.sessions.cancel_all();
    }

    /// Answers `POST`: a message, or a batch of them.
    pub(crate) async fn post(&self, asker: Asker, headers: &HeaderMap, body: &[u8]) -> Response {
        let answered = if headers.get(PROTOCOL_VERSION).is_some_and(|v| v == modern::VERSION) {
            self.modern(asker, headers, body).await
        } else {
            self.in_session(asker, headers, body).await
        };
        answered.unwrap_or_else(Fault::into_response)
    }

    /// Answers `DELETE`: the end of a session, and of what runs in it.
    pub(crate) fn end(&self, holder: &Holder, headers: &HeaderMap) -> Response {
        let ended = check_version(headers).and_then(|()| self.session(holder, headers));
        match ended {
            Ok((id, _)) => {
                self.sessions.end(&id);
                StatusCode::NO_CONTENT.into_response()
            }
            Err(fault) => fault.into_response(),
        }
    }

    /// The session that a request names, if it is the holder's.
    fn session(
        &self,
        holder: &Holder,
        headers: &HeaderMap,
    ) -> Result<(String, Arc<Session>), Fault> {
        let Some(id) = headers.get(MCP_SESSION_ID).and_then(|id| id.to_str().ok()) else {
            let message = "Mcp-Session-Id is missing: initialize gives one";
            return Err(Fault::new(StatusCode::BAD_REQUEST, message));
        };
        let message = "the session has ended (mcp.session_idle, mcp.sessions): initialize again";
        let ended = || Fault::new(StatusCode::NOT_FOUND, message);
        let session = self.sessions.find(id, holder).ok_or_else(ended)?;
        Ok((id.to_owned(), session))
    }

    /// Answers a message of a version with a handshake.
    async fn in_session(
        &self,
        asker: Asker,
        headers: &HeaderMap,
        body: &[u8],
    ) -> Result<Response, Fault> {
        check_version(headers)?;
        let mut received = Received::read(headers, body)?;
        let message = received.message.take();
        let begins = message.get("method").and_then(Json::as_str) == Some("initialize");
        if begins && !headers.contains_key(MCP_SESSION_ID) {
            return self.begin(asker.holder, message);
        }
        let (_, session) = self.session(&asker.holder, headers)?;
        let pending = match session.receive(message) {
            Step::Done(None) => return Ok(StatusCode::ACCEPTED.into_response()),
            Step::Done(Some(answer)) => return Ok(answered(&answer)),
            Step::Run(pending) => pending,
        };
        let wants_events = received.wants_events(&pending);
        Ok(match asker.admit(pending) {
            Err(refusal) => refused(refusal),
            Ok(call) if wants_events => streamed(call, None),
            Ok(call) => match run(call).await? {
                Some(json) => answer(StatusCode::OK, &json),
                // A cancelled call has no answer.
                None => StatusCode::ACCEPTED.into_response(),
            },
        })
    }

    /// Begins a session.
    fn begin(&self, holder: Holder, message: Json) -> Result<Response, Fault> {
        let session = Session::new(&self.server);
        let Step::Done(Some(answer)) = session.receive(message) else {
            return Err(Fault::new(StatusCode::BAD_REQUEST, "initialize is a request"));
        };
        let mut response = answered(&answer);
        if session.is_begun() {
            let id = self.sessions.add(&session, holder);
            let Some(id) = id.and_then(|id| HeaderValue::from_str(&id).ok()) else {
                let message = "the system has no randomness for an id";
                return Err(Fault::new(StatusCode::INTERNAL_SERVER_ERROR, message));
            };
            response.headers_mut().insert(MCP_SESSION_ID, id);
        }
        Ok(response)
    }

    /// Answers a message of the version without sessions: it is all there is, and ends with its
    /// connection.
    async fn modern(
        &self,
        asker: Asker,
        headers: &HeaderMap,
        body: &[u8],
    ) -> Result<Response, Fault> {
        let mut received = Received::read(headers, body)?;
        let message = received.message.take();
        if !message.is_object() {
            return Err(Fault::new(StatusCode::BAD_REQUEST, "a body is one message"));
        }
        if message.get("id").is_none() {
            return match Message::read(message) {
                Ok(_) => Ok(StatusCode::ACCEPTED.into_response()),
                Err(answer) => Err(Fault(StatusCode::BAD_REQUEST, answer)),
            };
        }
        let header = |name: &'static str| headers.get(name).and_then(|value| value.to_str().ok());
        if let Err(error) = modern::check_headers(&message, header) {
            let id = message.get("id").and_then(Id::read);
            return Err(Fault(StatusCode::BAD_REQUEST, rpc::error(id.as_ref(), &error)));
        }
        let session = Session::new(&self.server);
        let hang_up = HangUp(Arc::clone(&session));
        let answered = match session.receive(message) {
            Step::Done(answered) => answered,
            Step::Run(pending) => {
                let wants_events = received.wants_events(&pending);
                match asker.admit(pending) {
                    Err(refusal) => return Ok(refused(refusal)),
                    Ok(call) if wants_events => return Ok(streamed(call, Some(hang_up))),
                    Ok(call) => run(call).await?,
                }
            }
        };
        let Some(json) = answered else { return Ok(StatusCode::ACCEPTED.into_response()) };
        let status = StatusCode::from_u16(modern::status(&json));
        Ok(answer(status.unwrap_or(StatusCode::OK), &json))
    }
}

/// Refuses versions that there are not.
fn check_version(headers: &HeaderMap) -> Result<(), Fault> {
    let Some(version) = headers.get(PROTOCOL_VERSION) else { return Ok(()) };
    if version.to_str().is_ok_and(|version| HANDSHAKES.contains(&version)) {
        return Ok(());
    }
    let error = modern::unsupported(version.to_str().unwrap_or_default());
    Err(Fault(StatusCode::BAD_REQUEST, rpc::error(None, &error)))
}

/// True if the client takes this type.
fn accepts(headers: &HeaderMap, media: &str) -> bool {
    let mut all = headers.get_all(ACCEPT).iter().filter_map(|value| value.to_str().ok()).peekable();
    let group = media.split_once('/').map(|(group, _)| format!("{group}/*")).unwrap_or_default();
    let is_it = |range: &str| {
        let range = range.split(';').next().unwrap_or_default().trim();
        range.eq_ignore_ascii_case(media) || range == "*/*" || range.eq_ignore_ascii_case(&group)
    };
    all.peek().is_none() || all.any(|value| value.split(',').any(is_it))
}

/// A message, and the types of answers that its client takes.
struct Received {
    message: Json,
    takes_json: bool,
    takes_events: bool,
}

impl Received {
    fn read(headers: &HeaderMap, body: &[u8]) -> Result<Self, Fault> {
        let content = headers.get(CONTENT_TYPE).and_then(|media| media.to_str().ok());
        let content = content.and_then(|media| media.split(';').next()).map(str::trim);
        if !content.is_some_and(|media| media.eq_ignore_ascii_case(JSON)) {
            let message = "Content-Type: expected application/json";
            return Err(Fault::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, message));
        }
        let (takes_json, takes_events) = (accepts(headers, JSON), accepts(headers, EVENTS));
        if !takes_json && !takes_events {
            let message = "Accept: expected application/json and text/event-stream";
            return Err(Fault::new(StatusCode::NOT_ACCEPTABLE, message));
        }
        let message = rpc::parse(body).map_err(|answer| Fault(StatusCode::BAD_REQUEST, answer))?;
        Ok(Self { message, takes_json, takes_events })
    }

    /// True if this call is to be answered in events.
    fn wants_events(&self, pending: &Pending) -> bool {
        self.takes_events && (!self.takes_json || pending.wants_progress())
    }
}

/// Runs a call on a thread for blocking work.
async fn run(call: Admitted) -> Result<Option<Json>, Fault> {
    let run = tokio::task::spawn_blocking(move || call.run(&|_| {}));
    let broken = |_| Fault::new(StatusCode::INTERNAL_SERVER_ERROR, "the call broke off");
    run.await.map_err(broken)
}

/// An answer to a message that was looked at; one that belongs to no request says that it was none.
fn answered(json: &Json) -> Response {
    let is_refusal = json.get("id").is_some_and(Json::is_null);
    answer(if is_refusal { StatusCode::BAD_REQUEST } else { StatusCode::OK }, json)
}

/// Runs a call, whose progress and answer are events. It ends with the connection if there is
/// something to hang up.
fn streamed(call: Admitted, hang_up: Option<HangUp>) -> Response {
    let (events, body) = events(hang_up);
    tokio::task::spawn_blocking(move || {
        if let Some(answer) = call.run(&|message| events.send(&message)) {
            events.send(&answer);
        }
    });
    let headers = [(CONTENT_TYPE, EVENTS), (CACHE_CONTROL, "no-store")];
    (headers, body).into_response()
}

#[test]
fn accept_says_what_a_client_takes() {
    let headers =
        |accept: &'static str| HeaderMap::from_iter([(ACCEPT, HeaderValue::from_static(accept))]);
    assert!(accepts(&HeaderMap::new(), JSON));
    let both = headers("application/json, text/event-stream;q=0.9");
    assert!(accepts(&both, JSON) && accepts(&both, EVENTS));
    assert!(accepts(&headers("*/*"), EVENTS) && accepts(&headers("text/*"), EVENTS));
    assert!(!accepts(&headers("text/html"), JSON) && !accepts(&headers("text/*"), JSON));
}
