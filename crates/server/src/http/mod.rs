//! HTTP: Neo4j's Query API, and what operators look at.
//!
//! ```text
//!  POST   /db/{name}/query/v2                 a statement by itself             query
//!  POST   /db/{name}/query/v2/tx              begin a transaction               transaction
//!  POST   /db/{name}/query/v2/tx/{id}         go on with it, keep it alive
//!  POST   /db/{name}/query/v2/tx/{id}/commit
//!  DELETE /db/{name}/query/v2/tx/{id}         roll it back
//!  POST   /db/{name}/check                    what is wrong with a text         check
//!  GET    /db/{name}/changes                  what is committed, as it comes    changes
//!  POST   /mcp /db/{name}/mcp                 tools for language models         mcp
//!  GET    /databases                         names and identities, for followers  replication
//!  GET    /db/{name}/image                   the database as of one commit
//!  GET    /db/{name}/log                     records of its log
//!  GET    /cluster/images/{folder}           the same, for nodes of the cluster
//!  GET    /health /ready /metrics             alive, ready, figures             status
//!  GET    / /openapi.json                     where things are, what they take
//!  GET    / /page/{file}                      for browsers: the page            page
//! ```
//!
//! Connections are served by tokio; a statement runs on a thread of its own and its rows go through
//! a channel of one chunk (`reply`), so that a slow reader holds back its own query and nothing
//! else, and a client that goes away ends it. An open transaction is a value on a list between its
//! requests. How many of each there are is limited: what is too much is answered with 429. What a
//! browser sends for a page of somebody else is refused before anything else (`guard`).
//!
//! docs/http.md is the manual; [decisions/0033](../../../docs/decisions/0033-http.md) says why.

#[cfg(feature = "arrow")]
mod arrow;
mod auth;
mod changes;
mod check;
mod date;
mod guard;
mod input;
mod json;
mod mcp;
mod media;
mod output;
mod page;
mod query;
mod refusal;
mod replication;
mod reply;
mod request;
mod serve;
mod settings;
mod status;
mod summary;
mod transaction;
mod unread;

use std::sync::Arc;

use axum::Router;
use axum::http::StatusCode;
use axum::http::header::CONTENT_TYPE;
use axum::middleware::{from_fn, from_fn_with_state, map_response};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use tokio::sync::watch;

pub(crate) use auth::bearer;
pub use json::{Notation, read_parameters};
pub(crate) use refusal::{Refusal, add_headers};
pub use request::Request;
pub use serve::Server;
pub use settings::Settings;

pub use crate::net::origin::{Allowed, Host, Origin};

use crate::dbms::{Client, Dbms, Place, Quota};
use crate::mcp::http::Endpoint;
use crate::mcp::{Server as McpServer, Settings as McpSettings};
use crate::metrics::Metrics;
use crate::net::browser;
use transaction::Transactions;

/// What all requests share.
#[derive(Debug, Clone)]
struct App(Arc<State>);

#[derive(Debug)]
struct State {
    dbms: Arc<Dbms>,
    settings: Settings,
    metrics: Arc<Metrics>,
    transactions: Transactions,
    /// A place for each statement and change stream that may run at once.
    statements: Arc<Quota>,
    /// The address of MCP, if the settings have one.
    mcp: Option<Endpoint>,
    /// Set when the server is to end.
    closing: watch::Sender<bool>,
}

impl std::ops::Deref for App {
    type Target = State;

    fn deref(&self) -> &State {
        &self.0
    }
}

impl App {
    fn new(dbms: Arc<Dbms>, settings: Settings, metrics: Arc<Metrics>) -> Self {
        let places = Quota::new(settings.transactions_max, settings.user_share);
        let transactions = Transactions::new(places, settings.transaction_idle);
        let statements = Quota::new(settings.statements_max, settings.user_share);
        let endpoint = |mcp: McpSettings| {
            // The places of statements bound them.
            Endpoint::new(McpServer::new(McpSettings { calls_max: usize::MAX, ..mcp }))
        };
        let mcp = settings.mcp.clone().map(endpoint);
        let (closing, _) = watch::channel(false);
        Self(Arc::new(State { dbms, settings, metrics, transactions, statements, mcp, closing }))
    }

    fn is_closing(&self) -> bool {
        *self.closing.borrow()
    }

    /// Waits until the server is to end.
    async fn closed(&self) {
        let mut closing = self.closing.subscribe();
        // An error says that the sender is gone, which is the end, too.
        let _ = closing.wait_for(|closing| *closing).await;
    }

    /// A place to run something.
    fn place(&self, client: &Client) -> Result<Place, Refusal> {
        if self.is_closing() {
            return Err(Refusal::closing());
        }
        let place = self.statements.take(client.standing());
        place.map_err(|full| full.failure("statements", "http.statements").into())
    }

    fn router(self) -> Router {
        let router = Router::new()
            .route("/", get(page::root))
            .route("/page/{name}", get(page::asset))
            .route("/health", get(status::health))
            .route("/ready", get(status::ready))
            .route("/metrics", get(status::metrics))
            .route("/openapi.json", get(status::openapi))
            .route("/db/{name}/query/v2", post(query::run))
            .route("/db/{name}/query/v2/tx", post(transaction::begin))
            .route(
                "/db/{name}/query/v2/tx/{id}",
                post(transaction::go_on).delete(transaction::roll_back),
            )
            .route("/db/{name}/query/v2/tx/{id}/commit", post(transaction::commit))
            .route("/db/{name}/check", post(check::check))
            .route("/db/{name}/changes", get(changes::follow))
            .route("/mcp", post(mcp::message_at_home).delete(mcp::end_at_home))
            .route("/db/{name}/mcp", post(mcp::message_at).delete(mcp::end_at))
            .route("/databases", get(replication::databases))
            .route("/db/{name}/image", get(replication::image))
            .route("/db/{name}/log", get(replication::log))
            .route("/cluster/images/{folder}", get(replication::image_for_node))
            .fallback(async || Refusal::request(StatusCode::NOT_FOUND, "there is nothing here"))
            .layer(map_response(errors_as_json));
        let origins = &self.settings.allowed_origins;
        let router = match origins.is_empty() {
            true => router,
            false => router.layer(browser::cors(origins)),
        };
        // The guard comes before everything else, and what it refuses has a date, too.
        let guarded = router.layer(from_fn_with_state(self.clone(), guard::guard));
        guarded.layer(from_fn(unread::wait)).layer(map_response(date::add)).with_state(self)
    }
}

/// Errors that the framework answers in text get the body that all others have.
async fn errors_as_json(response: Response) -> Response {
    let status = response.status();
    let is_error = status.is_client_error() || status.is_server_error();
    let content = response.headers().get(CONTENT_TYPE).and_then(|v| v.to_str().ok());
    if !is_error || content.is_some_and(|content| content.contains("json")) {
        return response;
    }
    let reason = status.canonical_reason().unwrap_or("error");
    let mut answer = Refusal::request(status, reason.to_lowercase()).into_response();
    for (name, value) in response.headers() {
        if !answer.headers().contains_key(name) && name != axum::http::header::CONTENT_LENGTH {
            answer.headers_mut().insert(name, value.clone());
        }
    }
    answer
}
