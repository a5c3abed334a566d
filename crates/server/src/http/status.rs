//! What operators and load balancers look at, and where clients begin.

use axum::Json;
use axum::extract::State;
use axum::http::header::{CONTENT_TYPE, HOST};
use axum::http::request::Parts;
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use serde_json::{Value, json};

use super::refusal::Refusal;
use super::{App, input};

/// The document that says what there is; a test compares it with the routes.
pub(crate) const OPENAPI: &str = include_str!("openapi.json");

/// The version of the API that clients of Neo4j look for.
const NEO4J_VERSION: &str = "5.26.0";

/// `GET /`
pub(crate) async fn discovery(State(app): State<App>, headers: HeaderMap) -> Json<Value> {
    let host = headers.get(HOST).and_then(|host| host.to_str().ok());
    // What a client calls the host may end up in the answer: nothing but a host and a port may.
    let plain = |host: &&str| {
        !host.is_empty()
            && host.bytes().all(|b| b.is_ascii_alphanumeric() || b".-_:[]".contains(&b))
    };
    let host = host.filter(plain).unwrap_or("localhost");
    let scheme = if app.settings.encrypted { "https" } else { "http" };
    let mut document = json!({
        "query": format!("{scheme}://{host}/db/{{databaseName}}/query/v2"),
        "query_api_versions": ["2.0"],
        "neo4j_version": NEO4J_VERSION,
        "neo4j_edition": "community",
        "telar_version": env!("CARGO_PKG_VERSION"),
        "changes": format!("{scheme}://{host}/db/{{databaseName}}/changes"),
        "openapi": format!("{scheme}://{host}/openapi.json"),
    });
    if let Some(bolt) = app.settings.bolt {
        let name = host.rsplit_once(':').map_or(host, |(name, port)| {
            if port.bytes().all(|b| b.is_ascii_digit()) { name } else { host }
        });
        let port = bolt.port();
        document["bolt_direct"] = format!("bolt://{name}:{port}").into();
        document["bolt_routing"] = format!("neo4j://{name}:{port}").into();
    }
    Json(document)
}

/// `GET /health`: the process answers.
pub(crate) async fn health() -> Json<Value> {
    Json(json!({ "status": "alive" }))
}

/// `GET /ready`: statements can be sent. 503 while the server starts and shuts down, and once the
/// default database takes no commits.
pub(crate) async fn ready(State(app): State<App>) -> Response {
    if app.is_closing() {
        return Refusal::closing().into_response();
    }
    let Ok(database) = app.dbms.database(None) else {
        return Refusal::not_there(&app.dbms.settings().default_database).into_response();
    };
    match database.engine().check_writable() {
        Ok(()) => Json(json!({ "status": "ready" })).into_response(),
        Err(_) => Refusal::unwritable(database.name()).into_response(),
    }
}

/// `GET /metrics`: for those who can log in, as names of databases are in it.
pub(crate) async fn metrics(State(app): State<App>, parts: Parts) -> Result<Response, Refusal> {
    if !app.settings.open_metrics {
        input::authenticate(&app, &parts).await?;
    }
    let open = app.transactions.len();
    let text = app.metrics.encode(&app.dbms, open).map_err(|e| {
        let code = "Neo.DatabaseError.General.UnknownError";
        Refusal::new(StatusCode::INTERNAL_SERVER_ERROR, code, e.to_string())
    })?;
    let media = "application/openmetrics-text; version=1.0.0; charset=utf-8";
    Ok(([(CONTENT_TYPE, media)], text).into_response())
}

/// `GET /openapi.json`
pub(crate) async fn openapi() -> Response {
    ([(CONTENT_TYPE, "application/json")], OPENAPI).into_response()
}
