//! The streamable HTTP transport: one address, `/mcp`.
//!
//! | request | answer |
//! |---|---|
//! | `POST` of `initialize` | the answer, and `Mcp-Session-Id`, which later requests send |
//! | `POST` of a request | its answer as JSON; or as events, for progress or if JSON is refused |
//! | `POST` of notifications | 202 |
//! | `GET` | 405: this server sends nothing that was not asked for |
//! | `DELETE` | ends the session, and what runs in it |
//!
//! Requests of version 2026-07-28, which their header tells, have no session.
//!
//! A call runs on a thread for blocking work. `guard` has the access rules, `sessions` the open
//! sessions, `events` the body of an answer in events.

mod events;
mod guard;
mod sessions;

use std::io;
use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::Bytes;
use axum::extract::connect_info::Connected;
use axum::extract::{ConnectInfo, DefaultBodyLimit, Request, State};
use axum::http::header::{ACCEPT, ALLOW, CACHE_CONTROL, CONTENT_TYPE, WWW_AUTHENTICATE};
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode};
use axum::middleware::{Next, from_fn_with_state};
use axum::response::{IntoResponse, Response};
use axum::routing::any;
use axum::serve::IncomingStream;
use serde_json::Value as Json;
use tokio::runtime::{Builder, Runtime};
use tokio::sync::oneshot;
use tokio::task::JoinHandle;
use tower_http::cors::{AllowOrigin, CorsLayer};

use super::modern;
use super::rpc::{self, Id, RpcError};
use super::server::{HANDSHAKES, Pending, Server, Session, Step};
use crate::http::{Allowed, Host, Origin};
use events::events;
use sessions::Sessions;

/// Bytes of one message.
const BODY_MAX: usize = 16 << 20;
/// Time that open requests have to finish at the end.
const GRACE: Duration = Duration::from_secs(5);

const SESSION_ID: HeaderName = HeaderName::from_static("mcp-session-id");
const PROTOCOL_VERSION: HeaderName = HeaderName::from_static("mcp-protocol-version");
const EVENTS: &str = "text/event-stream";
const JSON: &str = "application/json";

/// Access rules of the HTTP transport.
#[derive(Debug, Clone, Default)]
pub struct Settings {
    /// Host names of the server beside those of this machine.
    pub allowed_hosts: Allowed<Host>,
    /// Origins of pages that may ask, beside those of the server itself.
    pub allowed_origins: Allowed<Origin>,
    /// Token that every request sends as `Authorization: Bearer`.
    pub token: Option<String>,
}

/// State that all requests share.
#[derive(Debug, Clone)]
struct App(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    server: Arc<Server>,
    settings: Settings,
    sessions: Sessions,
}

/// Local address of a connection.
#[derive(Debug, Clone, Copy)]
struct Local(Option<SocketAddr>);

impl Connected<IncomingStream<'_, tokio::net::TcpListener>> for Local {
    fn connect_info(stream: IncomingStream<'_, tokio::net::TcpListener>) -> Self {
        Self(stream.io().local_addr().ok())
    }
}

/// A server that listens.
#[derive(Debug)]
pub struct Listening {
    app: App,
    address: SocketAddr,
    runtime: Runtime,
    end: oneshot::Sender<()>,
    serving: JoinHandle<io::Result<()>>,
}

impl Listening {
    /// Serves at an address; port 0 is any that is free.
    ///
    /// # Errors
    /// If it cannot be listened at.
    pub fn start(
        server: &Arc<Server>,
        address: SocketAddr,
        settings: Settings,
    ) -> io::Result<Self> {
        let listener = TcpListener::bind(address)?;
        listener.set_nonblocking(true)?;
        let address = listener.local_addr()?;
        let sessions = Sessions::default();
        let app = App(Arc::new(Shared { server: Arc::clone(server), settings, sessions }));
        let runtime = Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
        let (end, ended) = oneshot::channel();
        let service = app.clone().router().into_make_service_with_connect_info::<Local>();
        let serving = runtime.spawn(async move {
            let listener = tokio::net::TcpListener::from_std(listener)?;
            let ended = async { _ = ended.await };
            axum::serve(listener, service).with_graceful_shutdown(ended).await
        });
        Ok(Self { app, address, runtime, end, serving })
    }

    /// The address it listens at.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Ends what runs, and stops.
    pub fn stop(self) {
        let Self { app, runtime, end, serving, .. } = self;
        app.0.sessions.cancel_all();
        // An error says that it has ended already.
        let _ = end.send(());
        let _ = runtime.block_on(async { tokio::time::timeout(GRACE, serving).await });
        runtime.shutdown_timeout(GRACE);
    }
}

/// Refusal of a request: status and body.
struct Fault(StatusCode, Json);

impl Fault {
    fn new(status: StatusCode, message: &str) -> Self {
        Self(status, rpc::error(None, &RpcError::request(message)))
    }
}

impl IntoResponse for Fault {
    fn into_response(self) -> Response {
        json(self.0, &self.1)
    }
}

/// Cancels the calls of a session when it is dropped: their client has gone.
struct HangUp(Arc<Session>);

impl Drop for HangUp {
    fn drop(&mut self) {
        self.0.cancel_all();
    }
}

/// An answer that is an error of the protocol without a request.
fn refusal(status: StatusCode, message: &str) -> Response {
    Fault::new(status, message).into_response()
}

fn json(status: StatusCode, body: &Json) -> Response {
    (status, [(CONTENT_TYPE, JSON)], body.to_string()).into_response()
}

impl App {
    fn router(self) -> Router {
        let router = Router::new()
            .route("/mcp", any(handle))
            .fallback(async || refusal(StatusCode::NOT_FOUND, "the address is /mcp"))
            .layer(DefaultBodyLimit::max(BODY_MAX));
        let origins = &self.0.settings.allowed_origins;
        let router = if origins.is_empty() { router } else { router.layer(cors(origins)) };
        router.layer(from_fn_with_state(self.clone(), guarded)).with_state(self)
    }

    /// The session that a request names.
    fn session(&self, headers: &HeaderMap) -> Result<(String, Arc<Session>), Fault> {
        let Some(id) = headers.get(SESSION_ID).and_then(|id| id.to_str().ok()) else {
            let message = "Mcp-Session-Id is missing: initialize gives one";
            return Err(Fault::new(StatusCode::BAD_REQUEST, message));
        };
        let message = "the session has ended: initialize again";
        let ended = || Fault::new(StatusCode::NOT_FOUND, message);
        let session = self.0.sessions.find(id).ok_or_else(ended)?;
        Ok((id.to_owned(), session))
    }
}

/// CORS headers for pages of the allowed origins.
fn cors(allowed: &Allowed<Origin>) -> CorsLayer {
    let allowed = allowed.clone();
    let origins = AllowOrigin::predicate(move |said, _| {
        let said = said.to_str().ok();
        allowed.is_any() || said.and_then(Origin::parse).is_some_and(|said| allowed.contains(&said))
    });
    CorsLayer::new()
        .allow_origin(origins)
        .allow_methods([Method::GET, Method::POST, Method::DELETE])
        .allow_headers([
            ACCEPT,
            CONTENT_TYPE,
            axum::http::header::AUTHORIZATION,
            SESSION_ID,
            PROTOCOL_VERSION,
            HeaderName::from_static("mcp-method"),
            HeaderName::from_static("mcp-name"),
        ])
        .expose_headers([SESSION_ID])
}

/// Refuses requests that break the access rules. Preflights of browsers carry no token.
async fn guarded(
    State(app): State<App>,
    ConnectInfo(Local(local)): ConnectInfo<Local>,
    request: Request,
    next: Next,
) -> Response {
    let Some(local) = local else {
        return refusal(StatusCode::BAD_REQUEST, "the connection has gone");
    };
    let mut settings = app.0.settings.clone();
    if request.method() == Method::OPTIONS {
        settings.token = None;
    }
    match guard::check(&settings, request.headers(), local) {
        Ok(()) => next.run(request).await,
        Err((status, message)) => {
            tracing::debug!(message, "a request was refused");
            let mut response = refusal(status, message);
            if status == StatusCode::UNAUTHORIZED {
                let bearer = HeaderValue::from_static("Bearer");
                response.headers_mut().insert(WWW_AUTHENTICATE, bearer);
            }
            response
        }
    }
}

async fn handle(
    State(app): State<App>,
    method: Method,
    headers: HeaderMap,
    body: Result<Bytes, axum::extract::rejection::BytesRejection>,
) -> Response {
    let is_modern = headers.get(PROTOCOL_VERSION).is_some_and(|said| said == modern::VERSION);
    if !is_modern && let Err(fault) = check_version(&headers) {
        return fault.into_response();
    }
    match (method, body) {
        (Method::POST, Ok(body)) if is_modern => post_modern(&app, &headers, &body).await,
        (Method::POST, Ok(body)) => post(&app, &headers, &body).await,
        (Method::POST, Err(rejection)) => refusal(rejection.status(), &rejection.body_text()),
        (Method::DELETE, _) => match app.session(&headers) {
            Ok((id, _)) => {
                app.0.sessions.end(&id);
                StatusCode::NO_CONTENT.into_response()
            }
            Err(fault) => fault.into_response(),
        },
        _ => {
            let message = "POST sends messages; this server begins no streams of its own";
            let mut response = refusal(StatusCode::METHOD_NOT_ALLOWED, message);
            response.headers_mut().insert(ALLOW, HeaderValue::from_static("POST, DELETE"));
            response
        }
    }
}

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

async fn post(app: &App, headers: &HeaderMap, body: &[u8]) -> Response {
    let mut received = match Received::read(headers, body) {
        Ok(received) => received,
        Err(fault) => return fault.into_response(),
    };
    let message = received.message.take();
    let begins = message.get("method").and_then(Json::as_str) == Some("initialize");
    if begins && !headers.contains_key(SESSION_ID) {
        return begin(app, message);
    }
    let session = match app.session(headers) {
        Ok((_, session)) => session,
        Err(fault) => return fault.into_response(),
    };
    match session.receive(message) {
        Step::Done(None) => StatusCode::ACCEPTED.into_response(),
        Step::Done(Some(answer)) => answered(&answer),
        Step::Run(pending) if received.wants_events(&pending) => streamed(pending, None),
        Step::Run(pending) => match run(pending).await {
            Ok(Some(answer)) => json(StatusCode::OK, &answer),
            // A cancelled call has no answer.
            Ok(None) => StatusCode::ACCEPTED.into_response(),
            Err(fault) => fault.into_response(),
        },
    }
}

/// Runs a call on a thread for blocking work.
async fn run(pending: Pending) -> Result<Option<Json>, Fault> {
    let run = tokio::task::spawn_blocking(move || pending.run(&|_| {}));
    let broken = |_| Fault::new(StatusCode::INTERNAL_SERVER_ERROR, "the call broke off");
    run.await.map_err(broken)
}

/// A request of the version without sessions: it is all there is, and ends with its connection.
async fn post_modern(app: &App, headers: &HeaderMap, body: &[u8]) -> Response {
    let mut received = match Received::read(headers, body) {
        Ok(received) => received,
        Err(fault) => return fault.into_response(),
    };
    let message = received.message.take();
    if !message.is_object() {
        return refusal(StatusCode::BAD_REQUEST, "a body is one message");
    }
    if message.get("id").is_none() {
        return StatusCode::ACCEPTED.into_response();
    }
    let header = |name: &'static str| headers.get(name).and_then(|value| value.to_str().ok());
    if let Err(error) = modern::check_headers(&message, header) {
        let id = message.get("id").and_then(Id::read);
        return json(StatusCode::BAD_REQUEST, &rpc::error(id.as_ref(), &error));
    }
    let session = Session::new(&app.0.server);
    let hang_up = HangUp(Arc::clone(&session));
    let answer = match session.receive(message) {
        Step::Done(None) => return StatusCode::ACCEPTED.into_response(),
        Step::Done(Some(answer)) => answer,
        Step::Run(pending) if received.wants_events(&pending) => {
            return streamed(pending, Some(hang_up));
        }
        Step::Run(pending) => match run(pending).await {
            Ok(Some(answer)) => answer,
            Ok(None) => return StatusCode::ACCEPTED.into_response(),
            Err(fault) => return fault.into_response(),
        },
    };
    let status = StatusCode::from_u16(modern::status(&answer));
    json(status.unwrap_or(StatusCode::OK), &answer)
}

/// An answer to a message that was looked at; one that belongs to no request says that it was none.
fn answered(answer: &Json) -> Response {
    let is_refusal = answer.get("id").is_some_and(Json::is_null);
    json(if is_refusal { StatusCode::BAD_REQUEST } else { StatusCode::OK }, answer)
}

/// Begins a session.
fn begin(app: &App, message: Json) -> Response {
    let session = Session::new(&app.0.server);
    let Step::Done(Some(answer)) = session.receive(message) else {
        return refusal(StatusCode::BAD_REQUEST, "initialize is a request");
    };
    let mut response = answered(&answer);
    if session.is_begun() {
        let id = app.0.sessions.add(&session);
        let Some(id) = id.and_then(|id| HeaderValue::from_str(&id).ok()) else {
            let message = "the system has no randomness for an id";
            return refusal(StatusCode::INTERNAL_SERVER_ERROR, message);
        };
        response.headers_mut().insert(SESSION_ID, id);
    }
    response
}

/// Runs a call, whose progress and answer are events. It ends with the connection if there is
/// something to hang up.
fn streamed(pending: Pending, hang_up: Option<HangUp>) -> Response {
    let (events, body) = events(hang_up);
    tokio::task::spawn_blocking(move || {
        let answer = pending.run(&|message| events.send(&message));
        if let Some(answer) = answer {
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
