//! What a client is told when something goes wrong.

use std::fmt;

use telar_db::query::{ErrorKind, QueryError};

/// An error with a code that drivers know.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failure {
    /// `Neo.<class>.<category>.<title>`: drivers decide by it whether to try again.
    pub code: &'static str,
    /// For people.
    pub message: String,
    /// What exactly a statement did wrong, in one word of the openCypher TCK or one like it.
    pub detail: Option<String>,
}

impl Failure {
    /// An error.
    pub fn new(code: &'static str, message: impl Into<String>) -> Self {
        Self { code, message: message.into(), detail: None }
    }

    /// The only thing that is said to whoever has not logged in.
    pub(super) fn unauthorized() -> Self {
        let message = "The client is unauthorized due to authentication failure.";
        Self::new("Neo.ClientError.Security.Unauthorized", message)
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({})", self.message, self.code)
    }
}

impl std::error::Error for Failure {}

impl From<QueryError> for Failure {
    fn from(error: QueryError) -> Self {
        let message = match (&error.position, &error.excerpt) {
            (Some(_), Some(_)) => error.to_string(),
            _ => error.message.clone(),
        };
        Self { code: error.code(), message, detail: Some(error.detail) }
    }
}

/// An error of the server. The last part of its code is its detail.
pub(super) fn server_error(kind: ErrorKind, message: impl Into<String>) -> QueryError {
    let title = kind.code().rsplit('.').next().unwrap_or_default();
    QueryError::runtime(kind, title, message)
}

/// Something in a command cannot be so.
pub(super) fn invalid(message: impl Into<String>) -> QueryError {
    server_error(ErrorKind::InvalidArguments, message)
}

/// The user lacks a role.
pub(super) fn forbidden(message: impl Into<String>) -> QueryError {
    server_error(ErrorKind::Forbidden, message)
}

/// There is no such database.
pub(super) fn no_database(name: &str) -> QueryError {
    let message = format!("there is no database named '{name}'");
    server_error(ErrorKind::DatabaseNotFound, message)
}

/// There is one already.
pub(super) fn database_exists(name: &str) -> QueryError {
    let message = format!("there is already a database named '{name}'");
    server_error(ErrorKind::DatabaseExists, message)
}

/// It is stopped, or cannot be opened.
pub(super) fn unavailable(name: &str, why: &str) -> QueryError {
    let what = format!("the database '{name}' is not available: ");
    // The reason may be a refusal of this kind, which was kept.
    let why = why.strip_prefix(&what).unwrap_or(why);
    server_error(ErrorKind::DatabaseUnavailable, format!("{what}{why}"))
}

/// A file of the server could not be written or read.
pub(super) fn storage(what: &str, error: impl fmt::Display) -> QueryError {
    server_error(ErrorKind::Server, format!("{what}: {error}"))
}
