//! Errors, as plain objects of which `npm/lib/errors.js` makes instances of its classes.

use napi::bindgen_prelude::{Either, ToNapiValue};
use napi_derive::napi;
use telar_db::Error as EngineError;
use telar_db::query::{ErrorKind, QueryError};

/// Why something failed.
#[napi(object, object_from_js = false)]
#[derive(Debug)]
pub struct Failure {
    /// Name of the class of the error.
    pub failed: &'static str,
    /// The message.
    pub message: String,
    /// The code that drivers of Neo4j know.
    pub code: Option<&'static str>,
    /// The fault in one word.
    pub detail: Option<String>,
    /// Line in the text, from 1.
    pub line: Option<u32>,
    /// Column in the text in characters, from 1.
    pub column: Option<u32>,
    /// Bytes of the text before it.
    pub offset: Option<u32>,
}

impl Failure {
    fn new(failed: &'static str, message: impl Into<String>) -> Self {
        let (code, detail, line, column, offset) = (None, None, None, None, None);
        Self { failed, message: message.into(), code, detail, line, column, offset }
    }

    pub(crate) fn internal(message: &str) -> Self {
        Self::new("TelarError", message)
    }

    pub(crate) fn closed(message: &str) -> Self {
        Self::new("ClosedError", message)
    }

    pub(crate) fn range(message: impl Into<String>) -> Self {
        Self::new("RangeError", message)
    }

    pub(crate) fn wrong_type(message: impl Into<String>) -> Self {
        Self::new("TypeError", message)
    }
}

impl From<QueryError> for Failure {
    fn from(error: QueryError) -> Self {
        use ErrorKind as K;
        let class = match error.kind {
            K::Syntax => "CypherSyntaxError",
            K::ConstraintViolation | K::ConstraintCreation => "ConstraintError",
            K::Conflict | K::Deadlock => "ConflictError",
            K::Terminated => "InterruptedError",
            K::TimedOut => "TimeLimitError",
            K::OutOfMemory => "MemoryLimitError",
            K::AccessMode => "ReadOnlyError",
            K::DatabaseUnavailable => match error.detail.as_str() {
                "Closed" => "ClosedError",
                "Locked" => "LockedError",
                "ResultLost" => "ResultLostError",
                "UnknownOutcome" => "UnknownOutcomeError",
                _ => "StorageError",
            },
            K::Database => "StorageError",
            _ => "StatementError",
        };
        let small = |number: usize| u32::try_from(number).ok();
        Self {
            code: Some(error.code()),
            line: error.position.and_then(|at| small(at.line)),
            column: error.position.and_then(|at| small(at.column)),
            offset: error.position.and_then(|at| small(at.offset)),
            ..Self::new(class, error.to_string())
        }
        .with_detail(error.detail)
    }
}

impl Failure {
    fn with_detail(self, detail: String) -> Self {
        Self { detail: Some(detail), ..self }
    }
}

impl From<EngineError> for Failure {
    fn from(error: EngineError) -> Self {
        let class = match &error {
            EngineError::Locked { .. } => "LockedError",
            EngineError::Setting { .. } => "RangeError",
            _ => "StorageError",
        };
        Self::new(class, error.to_string())
    }
}

impl From<telar_share::Error> for Failure {
    fn from(error: telar_share::Error) -> Self {
        use telar_share::Error as E;
        let class = match error {
            E::Database(error) => return error.into(),
            E::Refused { .. } => "LockedError",
            E::Interrupted => "InterruptedError",
            _ => "StorageError",
        };
        Self::new(class, error.to_string())
    }
}

/// The answer to a call of JavaScript's that returns at once: why it failed, or its value.
pub(crate) type Answer<T> = Either<Failure, T>;

/// A result for JavaScript.
pub(crate) fn answer<T: ToNapiValue>(result: Result<T, Failure>) -> Answer<T> {
    match result {
        Ok(value) => Either::B(value),
        Err(failure) => Either::A(failure),
    }
}
