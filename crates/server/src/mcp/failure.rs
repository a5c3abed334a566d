//! Errors of tools, as a model reads them.

use std::fmt;

use telar_db::query::QueryError;

use super::past::AsOf;
use crate::bolt::client;
use crate::dbms;

/// Error of a tool.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Failure {
    /// The status code that drivers of Neo4j know; empty for faults in arguments.
    code: String,
    message: String,
}

impl Failure {
    /// An error that is not one of the database.
    pub(crate) fn new(message: impl Into<String>) -> Self {
        Self { code: String::new(), message: message.into() }
    }

    /// An argument is not as it is to be.
    pub(crate) fn argument(name: &str, expected: &str) -> Self {
        Self::new(format!("argument '{name}': expected {expected}"))
    }

    pub(crate) fn message_mut(&mut self) -> &mut String {
        &mut self.message
    }

    /// The error of a statement as of the past, with its place in the text that was given.
    pub(crate) fn placed(mut self, statement: &AsOf<'_>) -> Self {
        statement.placed_text(&mut self.message);
        self
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)?;
        if self.code.is_empty() { Ok(()) } else { write!(f, "\n[{}]", self.code) }
    }
}

impl From<QueryError> for Failure {
    fn from(error: QueryError) -> Self {
        Self { code: error.code().to_owned(), message: error.to_string() }
    }
}

impl From<client::Error> for Failure {
    fn from(error: client::Error) -> Self {
        Self { code: error.code().to_owned(), message: error.to_string() }
    }
}

impl From<dbms::Failure> for Failure {
    fn from(failure: dbms::Failure) -> Self {
        Self { code: failure.code.to_owned(), message: failure.message }
    }
}
