//! Errors as answers: the status of each, and the body that all of them have.

use axum::http::header::{CONTENT_TYPE, RETRY_AFTER, WWW_AUTHENTICATE};
use axum::http::{HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use serde_json::json;

use crate::dbms::Failure;

/// Code of requests that are not what the API wants.
const INVALID: &str = "Neo.ClientError.Request.Invalid";

/// Why a request is not answered as it wishes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Refusal {
    pub(crate) status: StatusCode,
    pub(crate) failure: Failure,
}

/// The status of an error with this code.
pub(crate) fn status(code: &str) -> StatusCode {
    match code {
        "Neo.ClientError.Security.Unauthorized"
        | "Neo.ClientError.Security.AuthorizationExpired" => StatusCode::UNAUTHORIZED,
        "Neo.ClientError.Security.AuthenticationRateLimit"
        | "Neo.TransientError.Request.NoThreadsAvailable" => StatusCode::TOO_MANY_REQUESTS,
        "Neo.ClientError.Security.Forbidden" | "Neo.ClientError.Security.CredentialsExpired" => {
            StatusCode::FORBIDDEN
        }
        "Neo.ClientError.Database.DatabaseNotFound" => StatusCode::NOT_FOUND,
        "Neo.ClientError.Cluster.NotALeader" => StatusCode::MISDIRECTED_REQUEST,
        "Neo.TransientError.Transaction.Outdated"
        | "Neo.TransientError.Transaction.DeadlockDetected" => StatusCode::CONFLICT,
        _ if code.starts_with("Neo.ClientError.") => StatusCode::BAD_REQUEST,
        _ if code.starts_with("Neo.TransientError.") => StatusCode::SERVICE_UNAVAILABLE,
        _ => StatusCode::INTERNAL_SERVER_ERROR,
    }
}

/// The errors of an answer.
pub(crate) fn errors(failure: &Failure) -> serde_json::Value {
    json!([{ "code": failure.code, "message": failure.message }])
}

impl Refusal {
    pub(crate) fn new(status: StatusCode, code: &'static str, message: impl Into<String>) -> Self {
        Self { status, failure: Failure::new(code, message) }
    }

    /// The request is not what the API wants.
    pub(crate) fn invalid(message: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, INVALID, message)
    }

    /// The same, with a status that says more.
    pub(crate) fn request(status: StatusCode, message: impl Into<String>) -> Self {
        Self::new(status, INVALID, message)
    }

    /// There is more work than the server was told to take on.
    pub(crate) fn too_many(message: impl Into<String>) -> Self {
        let code = "Neo.TransientError.Request.NoThreadsAvailable";
        Self::new(StatusCode::TOO_MANY_REQUESTS, code, message)
    }

    /// The server is about to end.
    pub(crate) fn closing() -> Self {
        let code = "Neo.TransientError.General.DatabaseUnavailable";
        Self::new(StatusCode::SERVICE_UNAVAILABLE, code, "the server is shutting down")
    }

    /// A database that is not online (yet). Who asks need not have logged in: reasons stay in the
    /// log.
    pub(crate) fn not_there(database: &str) -> Self {
        let code = "Neo.TransientError.General.DatabaseUnavailable";
        let message = format!("the database '{database}' is not available at the moment");
        Self::new(StatusCode::SERVICE_UNAVAILABLE, code, message)
    }

    /// A database that takes no commits. Who asks need not have logged in: paths stay in the log.
    pub(crate) fn unwritable(database: &str) -> Self {
        let code = "Neo.TransientError.General.DatabaseUnavailable";
        let message = format!("the database '{database}' takes no commits until it is reopened");
        Self::new(StatusCode::SERVICE_UNAVAILABLE, code, message)
    }

    /// A transaction that is not there, or not this user's.
    pub(crate) fn no_transaction(id: &str) -> Self {
        let message = format!(
            "transaction with id '{id}' was not found: it was closed, or it was idle for too long \
             (http.transaction_idle) and was rolled back"
        );
        Self::request(StatusCode::NOT_FOUND, message)
    }
}

impl From<Failure> for Refusal {
    fn from(failure: Failure) -> Self {
        Self { status: status(failure.code), failure }
    }
}

/// Headers that a status asks for.
pub(crate) fn add_headers(response: &mut Response) {
    match response.status() {
        StatusCode::UNAUTHORIZED => {
            let value = HeaderValue::from_static("Basic realm=\"telar\", charset=\"UTF-8\"");
            response.headers_mut().insert(WWW_AUTHENTICATE, value);
        }
        StatusCode::TOO_MANY_REQUESTS | StatusCode::SERVICE_UNAVAILABLE => {
            response.headers_mut().insert(RETRY_AFTER, HeaderValue::from_static("1"));
        }
        _ => {}
    }
}

impl IntoResponse for Refusal {
    fn into_response(self) -> Response {
        let body = json!({ "errors": errors(&self.failure) }).to_string();
        let mut response = (self.status, body).into_response();
        let json = HeaderValue::from_static("application/json");
        response.headers_mut().insert(CONTENT_TYPE, json);
        add_headers(&mut response);
        response
    }
}
