//! What a client is told when something goes wrong.

use std::fmt;

use telar_db::query::QueryError;

/// An error with a code that drivers know.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failure {
    /// `Neo.<class>.<category>.<title>`: drivers decide by it whether to try again.
    pub code: &'static str,
    /// For people.
    pub message: String,
}

impl Failure {
    /// An error.
    pub fn new(code: &'static str, message: impl Into<String>) -> Self {
        Self { code, message: message.into() }
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
        Self { code: error.kind.code(), message }
    }
}
