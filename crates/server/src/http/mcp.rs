//! `/mcp`: the Model Context Protocol, for whoever may read a database of this server.
//!
//! Each request says who asks and is let in as any other is: its user, its database, then what it
//! says. A call runs with the rights of that user, in a place among the statements. A session
//! belongs to the user who began it, at one database, and holds nothing else.

use std::sync::Arc;

use axum::extract::{Path, Request as HttpRequest, State};
use axum::http::StatusCode;
use axum::http::request::Parts;
use axum::response::Response;

use super::refusal::Refusal;
use super::{App, input};
use crate::dbms::Client;
use crate::mcp::Graph;
use crate::mcp::http::{Asker, Endpoint, Holder, refused};

/// Protocol of these clients in lists and logs.
const PROTOCOL: &str = "http+mcp";

/// A client who may read a database.
struct Caller {
    client: Client,
    holder: Holder,
}

/// Lets a client in; without the name of a database at the user's own.
async fn admit(app: &App, name: Option<&str>, parts: &Parts) -> Result<Caller, Refusal> {
    let (client, said) = input::authenticate_as(PROTOCOL, app, parts).await?;
    let database = client.database_name(name)?;
    let database = Arc::clone(client.readable(&database)?.name());
    let holder = Holder { owner: client.owner(said)?, database };
    Ok(Caller { client, holder })
}

/// The address of the protocol.
fn endpoint(app: &App) -> Result<&Endpoint, Refusal> {
    if app.is_closing() {
        return Err(Refusal::closing());
    }
    let none = || Refusal::request(StatusCode::NOT_FOUND, "this server has no MCP (mcp.enabled)");
    app.mcp.as_ref().ok_or_else(none)
}

/// Takes a message.
async fn message(app: App, name: Option<&str>, request: HttpRequest) -> Result<Response, Refusal> {
    let (parts, body) = request.into_parts();
    let Caller { client, holder } = admit(&app, name, &parts).await?;
    let endpoint = endpoint(&app)?;
    let body = input::read_body(&app, &parts.headers, body).await?;
    let (client, places) = (Arc::new(client), app.clone());
    let graph = Graph::of_client(Arc::clone(&client), Arc::clone(&holder.database));
    let admit = Box::new(move || places.place(&client));
    let asker = Asker { graph: Arc::new(graph), holder, admit: Some(admit) };
    Ok(endpoint.post(asker, &parts.headers, &body).await)
}

/// Ends a session.
async fn end(app: App, name: Option<&str>, request: HttpRequest) -> Result<Response, Refusal> {
    let (parts, _) = request.into_parts();
    let Caller { holder, .. } = admit(&app, name, &parts).await?;
    Ok(endpoint(&app)?.end(&holder, &parts.headers))
}

/// `POST /mcp`
pub(crate) async fn message_at_home(State(app): State<App>, request: HttpRequest) -> Response {
    message(app, None, request).await.unwrap_or_else(refused)
}

/// `DELETE /mcp`
pub(crate) async fn end_at_home(State(app): State<App>, request: HttpRequest) -> Response {
    end(app, None, request).await.unwrap_or_else(refused)
}

/// `POST /db/{name}/mcp`
pub(crate) async fn message_at(
    State(app): State<App>,
    Path(name): Path<String>,
    request: HttpRequest,
) -> Response {
    message(app, Some(&name), request).await.unwrap_or_else(refused)
}

/// `DELETE /db/{name}/mcp`
pub(crate) async fn end_at(
    State(app): State<App>,
    Path(name): Path<String>,
    request: HttpRequest,
) -> Response {
    end(app, Some(&name), request).await.unwrap_or_else(refused)
}
