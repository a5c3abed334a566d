//! What every request to a database goes through: who asks, in which format, for what.

use std::convert::Infallible;
use std::future::poll_fn;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Instant;

use axum::body::{Body, HttpBody};
use axum::extract::{FromRequestParts, Request as HttpRequest};
use axum::http::header::CONTENT_LENGTH;
use axum::http::request::Parts;
use axum::http::{HeaderMap, StatusCode};
use telar_db::query::QueryError;
use telar_db::query::budget::SMALL_BYTES;
use tokio::time::{sleep, timeout};

use super::json::Notation;
use super::media::{self, Media};
use super::refusal::Refusal;
use super::reply::Ends;
use super::request::Request;
use super::serve::Connected;
use super::{App, auth};
use crate::dbms::{
    BOOKMARK_LOOK_MAX, BOOKMARK_LOOK_MIN, BOOKMARK_WAIT, Client, Failure, ForNodes, Options, Owner,
    Standing,
};
use crate::metrics::Protocol;

/// A peer that has said who it is, and the format that it wants.
#[derive(Debug)]
pub(crate) struct Caller {
    pub(crate) client: Client,
    /// To whom its transactions belong.
    pub(crate) owner: Owner,
    pub(crate) media: Media,
}

/// Checks who it is before anything else is looked at, and gives the connection its slot.
pub(crate) async fn authenticate(app: &App, parts: &Parts) -> Result<(Client, String), Refusal> {
    authenticate_as("http", app, parts).await
}

/// The same of a client that is called `protocol` in lists and logs.
pub(crate) async fn authenticate_as(
    protocol: &'static str,
    app: &App,
    parts: &Parts,
) -> Result<(Client, String), Refusal> {
    let connected = parts.extensions.get::<Connected>();
    let connected = connected.expect("INVARIANT: every request comes by a connection");
    let credentials = auth::credentials(&parts.headers)?;
    let name = credentials.principal.clone();
    let client =
        Client::new(app.dbms.clone(), auth::peer(protocol, &parts.headers, connected.peer));
    let admitted = Arc::clone(&connected.admitted);
    let log_in = move || {
        let has_slot =
            admitted.log_in(|| client.login(&credentials).map(|()| client.standing()))?;
        Ok((has_slot, client))
    };
    let logged_in: Result<(bool, Client), Failure> = if app.dbms.settings().security.enabled {
        // Passwords are made to take long to check: not on a thread that others wait for.
        tokio::task::spawn_blocking(log_in).await.map_err(|_| Refusal::closing())?
    } else {
        log_in()
    };
    let (has_slot, client) = logged_in?;
    if !has_slot {
        app.metrics.connection_refused(Protocol::Http);
        let message = "the server, or this user, has as many connections as it may have \
                       (http.connections, limits.user_share): try again";
        return Err(Refusal::too_many(message));
    }
    Ok((client, name))
}

/// Lets a node of this server's cluster in, by the cluster's secret; returns what nodes may ask.
pub(crate) fn authenticate_node<'a>(app: &'a App, parts: &Parts) -> Result<ForNodes<'a>, Refusal> {
    let connected = parts.extensions.get::<Connected>();
    let connected = connected.expect("INVARIANT: every request comes by a connection");
    let for_nodes = app.dbms.for_nodes(auth::bearer(&parts.headers))?;
    match connected.admitted.log_in(|| Ok::<_, Infallible>(Standing::NODE)) {
        Ok(true) => Ok(for_nodes),
        Ok(false) => Err(Refusal::too_many("the server has as many connections as it may have")),
    }
}

impl FromRequestParts<App> for Caller {
    type Rejection = Refusal;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<Self, Refusal> {
        let (client, name) = authenticate(app, parts).await?;
        let media = media::answer(&parts.headers).ok_or_else(|| {
            Refusal::request(StatusCode::NOT_ACCEPTABLE, "no format that Accept names is known")
        })?;
        let owner = client.owner(name)?;
        Ok(Self { client, owner, media })
    }
}

/// Reads the body of a request and what it says.
pub(crate) async fn read(app: &App, request: HttpRequest) -> Result<Request, Refusal> {
    let (parts, body) = request.into_parts();
    let notation = media::request(&parts.headers, !body.is_end_stream()).ok_or_else(|| {
        let message = "Content-Type: a body is application/json or application/vnd.neo4j.query, \
                       and says so";
        Refusal::request(StatusCode::UNSUPPORTED_MEDIA_TYPE, message)
    })?;
    decode(notation, &read_body(app, &parts.headers, body).await?)
}

/// Bytes of memory that the values of a body may take for each of its own: a number and a comma
/// become a value of 24.
const VALUE_BYTES: usize = 12;

/// Refuses what a server that is out of memory has no room for.
fn room(app: &App, held: usize, more: usize) -> Result<(), Refusal> {
    let budget = app.dbms.settings().limits.budget;
    let room = budget.map_or(Ok(()), |budget| budget.room(held, more));
    room.map_err(|error| Failure::from(QueryError::from(error)).into())
}

fn decode(notation: Notation, bytes: &[u8]) -> Result<Request, Refusal> {
    Request::decode(notation, bytes).map_err(Refusal::invalid)
}

/// The bytes of a body, no more than are allowed, in no more time, if there is room for the values
/// in it.
pub(crate) async fn read_body(
    app: &App,
    headers: &HeaderMap,
    body: Body,
) -> Result<Vec<u8>, Refusal> {
    let most = app.settings.body_bytes_max;
    let too_large = || {
        let message = format!("the body is larger than {most} bytes (http.body_bytes)");
        Refusal::request(StatusCode::PAYLOAD_TOO_LARGE, message)
    };
    let announced = headers.get(CONTENT_LENGTH).and_then(|v| v.to_str().ok()?.parse::<u64>().ok());
    if announced.is_some_and(|bytes| bytes > most as u64) {
        return Err(too_large());
    }
    let gather = async {
        let mut body = body;
        let mut bytes = Vec::new();
        while let Some(frame) = poll_fn(|cx| Pin::new(&mut body).poll_frame(cx)).await {
            let frame = frame.map_err(|_| Refusal::invalid("the body ended too early"))?;
            let Ok(data) = frame.into_data() else {
                continue;
            };
            if bytes.len() + data.len() > most {
                return Err(too_large());
            }
            if (bytes.len() + data.len()) / SMALL_BYTES != bytes.len() / SMALL_BYTES {
                room(app, bytes.len(), SMALL_BYTES)?;
            }
            bytes.extend_from_slice(&data);
        }
        Ok(bytes)
    };
    let late = || {
        Refusal::request(StatusCode::REQUEST_TIMEOUT, "the body took too long (http.body_timeout)")
    };
    let bytes = timeout(app.settings.body_timeout, gather).await.unwrap_or_else(|_| Err(late()))?;
    room(app, bytes.len(), bytes.len().saturating_mul(VALUE_BYTES))?;
    Ok(bytes)
}

/// Waits until the commits have come that a request wants to see, without a place or a thread.
pub(crate) async fn await_bookmarks(
    app: &App,
    client: &Client,
    options: &Options,
) -> Result<(), Refusal> {
    let patience = options.timeout.map_or(BOOKMARK_WAIT, |timeout| timeout.min(BOOKMARK_WAIT));
    let (begun, mut pause) = (Instant::now(), BOOKMARK_LOOK_MIN);
    while client.is_early(options)? {
        if app.is_closing() {
            return Err(Refusal::closing());
        }
        if begun.elapsed() > patience {
            let code = "Neo.TransientError.Transaction.BookmarkTimeout";
            let message = format!("the commits of {:?} have not come", options.bookmarks);
            return Err(Failure::new(code, message).into());
        }
        sleep(pause).await;
        pause = (2 * pause).min(BOOKMARK_LOOK_MAX);
    }
    Ok(())
}

/// How a request wants to run on a database.
pub(crate) fn options(database: String, request: &mut Request, ends: &Ends) -> Options {
    Options {
        database: Some(database),
        access: request.access,
        bookmarks: std::mem::take(&mut request.bookmarks),
        timeout: request.timeout,
        metadata: std::mem::take(&mut request.metadata),
        isolation: request.isolation,
        impersonated: request.impersonated.take(),
        cancelled: Some(Arc::clone(&ends.cancelled)),
        terminated: Some(Arc::clone(&ends.terminated)),
        ..Options::default()
    }
}
