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
//! A call runs on a thread for blocking work. `endpoint` answers requests, for the listener of
//! `telar mcp`, which is here with its access rules (`guard`), and for the routes of `telar serve`
//! (`crate::http`); `sessions` are the open ones, `events` the body of an answer in events.

mod endpoint;
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
use axum::extract::rejection::BytesRejection;
use axum::extract::{ConnectInfo, DefaultBodyLimit, Request, State};
use axum::http::header::{ALLOW, WWW_AUTHENTICATE};
use axum::http::{HeaderMap, HeaderValue, Method, StatusCode};
use axum::middleware::{Next, from_fn_with_state};
use axum::response::Response;
use axum::routing::any;
use axum::serve::IncomingStream;
use tokio::runtime::{Builder, Runtime};
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

use super::Graph;
use super::server::Server;
use crate::dbms::Owner;
use crate::http::{Allowed, Host, Origin};
use crate::net::browser;
use endpoint::refusal;
pub(crate) use endpoint::{Asker, Endpoint, refused};
pub(crate) use sessions::Holder;

/// Bytes of one message.
const BODY_MAX: usize = 16 << 20;
/// Time that open requests have to finish at the end.
const GRACE: Duration = Duration::from_secs(5);

/// Access rules of the listener.
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
    endpoint: Endpoint,
    graph: Arc<Graph>,
    settings: Settings,
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
    /// Serves a graph at an address; port 0 is any that is free.
    ///
    /// # Errors
    /// If it cannot be listened at.
    pub fn start(
        server: &Arc<Server>,
        graph: &Arc<Graph>,
        address: SocketAddr,
        settings: Settings,
    ) -> io::Result<Self> {
        let listener = TcpListener::bind(address)?;
        listener.set_nonblocking(true)?;
        let address = listener.local_addr()?;
        let endpoint = Endpoint::new(Arc::clone(server));
        let app = App(Arc::new(Shared { endpoint, graph: Arc::clone(graph), settings }));
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
        app.0.endpoint.cancel_all();
        // An error says that it has ended already.
        let _ = end.send(());
        let _ = runtime.block_on(async { tokio::time::timeout(GRACE, serving).await });
        runtime.shutdown_timeout(GRACE);
    }
}

impl App {
    fn router(self) -> Router {
        let router = Router::new()
            .route("/mcp", any(handle))
            .fallback(async || refusal(StatusCode::NOT_FOUND, "the address is /mcp"))
            .layer(DefaultBodyLimit::max(BODY_MAX));
        let origins = &self.0.settings.allowed_origins;
        let router = match origins.is_empty() {
            true => router,
            false => router.layer(browser::cors(origins)),
        };
        router.layer(from_fn_with_state(self.clone(), guarded)).with_state(self)
    }
}

/// Refuses requests that break the access rules.
async fn guarded(
    State(app): State<App>,
    ConnectInfo(Local(local)): ConnectInfo<Local>,
    request: Request,
    next: Next,
) -> Response {
    let Some(local) = local else {
        return refusal(StatusCode::BAD_REQUEST, "the connection has gone");
    };
    let (parts, body) = request.into_parts();
    match guard::check(&app.0.settings, &parts, local) {
        Ok(()) => next.run(Request::from_parts(parts, body)).await,
        Err((status, message)) => {
            tracing::debug!(message, "a request was refused");
            let mut response = refusal(status, &message);
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
    body: Result<Bytes, BytesRejection>,
) -> Response {
    let App(shared) = app;
    let Shared { endpoint, graph, .. } = &*shared;
    // Whoever has the token is one user.
    let holder = Holder { owner: Owner::Anyone(String::new()), database: "".into() };
    match (method, body) {
        (Method::POST, Ok(body)) => {
            let asker = Asker { graph: Arc::clone(graph), holder, admit: None };
            endpoint.post(asker, &headers, &body).await
        }
        (Method::POST, Err(rejection)) => refusal(rejection.status(), &rejection.body_text()),
        (Method::DELETE, _) => endpoint.end(&holder, &headers),
        _ => {
            let message = "POST sends messages; this server begins no streams of its own";
            let mut response = refusal(StatusCode::METHOD_NOT_ALLOWED, message);
            response.headers_mut().insert(ALLOW, HeaderValue::from_static("POST, DELETE"));
            response
        }
    }
}
