//! Why a query failed.

use std::fmt;
use std::ops::Range;

use serde::{Deserialize, Serialize};
use telar_cypher::{Code, Diagnostic};
use telar_graph::update::{UpdateError, UpdateErrorKind};
use telar_graph::{ReadError, Value};

use crate::error::{EvalError, describe};

/// Longest part of a line that an excerpt shows, in characters.
const EXCERPT_CHARS_MAX: usize = 100;

/// When a query failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Phase {
    /// Before it ran, whatever the graph and the parameters are.
    Compile,
    /// While it ran.
    Runtime,
}

/// What kind of error it is; each has a code of Neo4j.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[expect(missing_docs, reason = "the names are those of the codes and say what they mean")]
#[non_exhaustive]
pub enum ErrorKind {
    Syntax,
    Semantic,
    Type,
    Argument,
    Arithmetic,
    EntityNotFound,
    ParameterMissing,
    Procedure,
    ProcedureFailed,
    ConstraintViolation,
    ConstraintCreation,
    EquivalentRule,
    IndexExists,
    IndexNameTaken,
    IndexDrop,
    IndexNotFound,
    TokenName,
    ConstraintExists,
    ConstraintNameTaken,
    ConstraintDrop,
    TransactionType,
    TransactionStart,
    AlreadyCommitted,
    Conflict,
    Deadlock,
    AccessMode,
    Terminated,
    TimedOut,
    OutOfMemory,
    ExternalResource,
    NotSupported,
    Database,
    Forbidden,
    CredentialsExpired,
    AuthorizationExpired,
    RateLimited,
    Busy,
    InvalidArguments,
    DatabaseNotFound,
    DatabaseExists,
    DatabaseUnavailable,
    NotALeader,
    NotSystemDatabase,
    Server,
}

impl ErrorKind {
    /// The status code that drivers of Neo4j know.
    #[must_use]
    pub const fn code(self) -> &'static str {
        match self {
            Self::Syntax => "Neo.ClientError.Statement.SyntaxError",
            Self::Semantic => "Neo.ClientError.Statement.SemanticError",
            Self::Type => "Neo.ClientError.Statement.TypeError",
            Self::Argument => "Neo.ClientError.Statement.ArgumentError",
            Self::Arithmetic => "Neo.ClientError.Statement.ArithmeticError",
            Self::EntityNotFound => "Neo.ClientError.Statement.EntityNotFound",
            Self::ParameterMissing => "Neo.ClientError.Statement.ParameterMissing",
            Self::Procedure => "Neo.ClientError.Procedure.ProcedureNotFound",
            Self::ProcedureFailed => "Neo.ClientError.Procedure.ProcedureCallFailed",
            Self::ConstraintViolation => "Neo.ClientError.Schema.ConstraintValidationFailed",
            Self::ConstraintCreation => "Neo.DatabaseError.Schema.ConstraintCreationFailed",
            Self::EquivalentRule => "Neo.ClientError.Schema.EquivalentSchemaRuleAlreadyExists",
            Self::IndexExists => "Neo.ClientError.Schema.IndexAlreadyExists",
            Self::IndexNameTaken => "Neo.ClientError.Schema.IndexWithNameAlreadyExists",
            Self::IndexDrop => "Neo.DatabaseError.Schema.IndexDropFailed",
            Self::IndexNotFound => "Neo.ClientError.Schema.IndexNotFound",
            Self::TokenName => "Neo.ClientError.Schema.TokenNameError",
            Self::ConstraintExists => "Neo.ClientError.Schema.ConstraintAlreadyExists",
            Self::ConstraintNameTaken => "Neo.ClientError.Schema.ConstraintWithNameAlreadyExists",
            Self::ConstraintDrop => "Neo.DatabaseError.Schema.ConstraintDropFailed",
            Self::TransactionType => "Neo.ClientError.Transaction.ForbiddenDueToTransactionType",
            Self::TransactionStart => "Neo.DatabaseError.Transaction.TransactionStartFailed",
            Self::AlreadyCommitted => "Neo.ClientError.Transaction.AlreadyCommitted",
            Self::Conflict => "Neo.TransientError.Transaction.Outdated",
            Self::Deadlock => "Neo.TransientError.Transaction.DeadlockDetected",
            Self::AccessMode => "Neo.ClientError.Statement.AccessMode",
            Self::Terminated => "Neo.TransientError.Transaction.Terminated",
            Self::TimedOut => "Neo.ClientError.Transaction.TransactionTimedOut",
            Self::OutOfMemory => "Neo.TransientError.General.MemoryPoolOutOfMemoryError",
            Self::ExternalResource => "Neo.ClientError.Statement.ExternalResourceFailed",
            Self::NotSupported => "Neo.ClientError.Statement.NotSupported",
            Self::Database => "Neo.DatabaseError.Statement.ExecutionFailed",
            Self::Forbidden => "Neo.ClientError.Security.Forbidden",
            Self::CredentialsExpired => "Neo.ClientError.Security.CredentialsExpired",
            Self::AuthorizationExpired => "Neo.ClientError.Security.AuthorizationExpired",
            Self::RateLimited => "Neo.ClientError.Security.AuthenticationRateLimit",
            Self::Busy => "Neo.TransientError.Request.NoThreadsAvailable",
            Self::InvalidArguments => "Neo.ClientError.General.InvalidArguments",
            Self::DatabaseNotFound => "Neo.ClientError.Database.DatabaseNotFound",
            Self::DatabaseExists => "Neo.ClientError.Database.ExistingDatabaseFound",
            Self::DatabaseUnavailable => "Neo.TransientError.General.DatabaseUnavailable",
            Self::NotALeader => "Neo.ClientError.Cluster.NotALeader",
            Self::NotSystemDatabase => "Neo.ClientError.Statement.NotSystemDatabaseError",
            Self::Server => "Neo.DatabaseError.General.UnknownError",
        }
    }
}

/// Where in a text something stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Position {
    /// Bytes before it.
    pub offset: usize,
    /// Its line, from 1.
    pub line: usize,
    /// Its column in characters, from 1.
    pub column: usize,
}

impl Position {
    /// Where so many bytes of `text` have gone by.
    #[must_use]
    pub fn of(text: &str, offset: usize) -> Self {
        let telar_cypher::Position { line, column } =
            telar_cypher::Position::of(text, offset as u32);
        Self { offset, line, column }
    }
}

/// Why a query failed. Nothing of it was committed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct QueryError {
    /// The kind.
    pub kind: ErrorKind,
    /// When it was found.
    pub phase: Phase,
    /// The detail word of the openCypher TCK, or one like it.
    pub detail: String,
    /// What was wrong, for people.
    pub message: String,
    /// Where, if it is about a part of the text.
    pub position: Option<Position>,
    /// The line of the text with a caret below, and what to do, if known.
    pub excerpt: Option<String>,
}

impl QueryError {
    /// A query that commits in between, as refusals of it call it.
    pub const IN_TRANSACTIONS: &'static str = "A query with 'CALL { ... } IN TRANSACTIONS'";

    /// Refusal of `CALL { } IN TRANSACTIONS` inside of a transaction, or of another thing that
    /// commits by itself. Code and sentence are those of Neo4j: clients recognise both, and repeat
    /// the statement outside of one.
    #[must_use]
    pub fn needs_implicit_transaction(what: &str) -> Self {
        let message = format!(
            "{what} can only be executed in an implicit transaction, but tried to execute in an \
             explicit transaction."
        );
        Self::runtime(ErrorKind::TransactionStart, "TransactionStartFailed", message)
    }

    /// An error found before the query runs.
    pub fn compile(kind: ErrorKind, detail: impl Into<String>, message: impl Into<String>) -> Self {
        let (detail, message) = (detail.into(), message.into());
        Self { kind, phase: Phase::Compile, detail, message, position: None, excerpt: None }
    }

    /// An error while the query runs.
    pub fn runtime(kind: ErrorKind, detail: impl Into<String>, message: impl Into<String>) -> Self {
        Self { phase: Phase::Runtime, ..Self::compile(kind, detail, message) }
    }

    /// The parser's error about `text`.
    pub(crate) fn of_diagnostic(d: &Diagnostic, text: &str) -> Self {
        let kind = match d.code {
            Code::SyntaxError => ErrorKind::Syntax,
            Code::TypeError => ErrorKind::Type,
            Code::ArgumentError => ErrorKind::Argument,
            _ => ErrorKind::Semantic,
        };
        let message = match &d.help {
            Some(help) => format!("{}; {help}", d.message),
            None => d.message.clone(),
        };
        let range = d.span.range();
        Self::compile(kind, d.detail.to_string(), message).at(text, range.start, range.end)
    }

    /// A value of another type was expected somewhere.
    pub(crate) fn wrong_type(expected: &str, found: &Value, place: &str) -> Self {
        let message = format!("{place}: expected {expected}, found {}", describe(found));
        Self::runtime(ErrorKind::Type, "InvalidArgumentType", message)
    }

    /// Says where in `text` it happened, if that is not known yet.
    #[must_use]
    pub(crate) fn at(mut self, text: &str, start: usize, end: usize) -> Self {
        if self.position.is_some() || start > text.len() {
            return self;
        }
        let position = Position::of(text, start);
        let line_start = text[..start].rfind('\n').map_or(0, |at| at + 1);
        let line_end = text[start..].find('\n').map_or(text.len(), |at| start + at);
        let width = text[start..end.clamp(start, line_end)].chars().count().max(1);
        // Of a long line, the part around the place.
        let first = position.column - 1;
        let from = if first < EXCERPT_CHARS_MAX { 0 } else { first - EXCERPT_CHARS_MAX / 2 };
        let mut rest = text[line_start..line_end].chars().skip(from);
        let shown: String = rest.by_ref().take(EXCERPT_CHARS_MAX).collect();
        let (head, tail) = (if from > 0 { "..." } else { "" }, rest.next().map_or("", |_| "..."));
        let indent = " ".repeat(head.len() + first - from);
        let carets = "^".repeat(width.min(from + EXCERPT_CHARS_MAX - first));
        self.position = Some(position);
        // An error is written down, in a log, too: nothing of a text with a password in it.
        if telar_cypher::without_secrets(text) == text {
            self.excerpt = Some(format!("{head}{shown}{tail}\n{indent}{carets}"));
        }
        self
    }

    /// The same error, found in a statement that begins at byte `start` of `script`: its place is
    /// that in the script.
    #[must_use]
    pub fn in_script(mut self, script: &str, start: usize) -> Self {
        let Some(place) = self.place(script, start) else { return self };
        self.position = None;
        self.at(script, place.start, place.end)
    }

    /// The bytes of `script` that it is about, if it was found in a statement that begins at byte
    /// `start` there.
    #[must_use]
    pub fn place(&self, script: &str, start: usize) -> Option<Range<usize>> {
        let begin = start + self.position?.offset;
        // What the excerpt underlines; a character where there is none.
        let carets = self.excerpt.as_deref().map_or(1, |text| {
            let line = text.rsplit('\n').next().unwrap_or_default();
            line.matches('^').count().max(1)
        });
        let rest = script.get(begin..).unwrap_or_default();
        let length = rest.char_indices().nth(carets).map_or(rest.len(), |(at, _)| at);
        Some(begin..begin + length)
    }

    /// The same error, found in a text inside of a statement, which is called `what`. The message
    /// says where in that text, as its place is none of the statement's.
    #[must_use]
    pub fn within(mut self, what: &str) -> Self {
        let place = self.position.take().map_or_else(String::new, |position| {
            format!(", line {}, column {}", position.line, position.column)
        });
        self.message = format!("{what}{place}: {}", self.message);
        self.phase = Phase::Runtime;
        self
    }

    /// The status code that drivers of Neo4j know. Neo4j has another one than the kind's, which is
    /// that of the openCypher TCK, for types that are found not to fit before the query runs, and
    /// for counts of rows that turn out wrong while it does.
    #[must_use]
    pub fn code(&self) -> &'static str {
        let kind = match (self.kind, self.phase, self.detail.as_str()) {
            (ErrorKind::Type, Phase::Compile, _) => ErrorKind::Syntax,
            (ErrorKind::Syntax, Phase::Runtime, "NegativeIntegerArgument") => ErrorKind::Argument,
            (kind, ..) => kind,
        };
        kind.code()
    }

    /// Whether the same query may succeed if it is run again.
    #[must_use]
    pub const fn is_retryable(&self) -> bool {
        matches!(self.kind, ErrorKind::Conflict | ErrorKind::Deadlock)
    }
}

impl fmt::Display for QueryError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.detail, self.message)?;
        if let Some(position) = self.position {
            write!(f, " (line {}, column {})", position.line, position.column)?;
        }
        if let Some(excerpt) = &self.excerpt {
            write!(f, "\n{excerpt}")?;
        }
        Ok(())
    }
}

impl std::error::Error for QueryError {}

impl From<EvalError> for QueryError {
    fn from(error: EvalError) -> Self {
        Self::runtime(error.kind, error.detail.to_string(), error.message)
    }
}

impl From<ReadError> for QueryError {
    fn from(error: ReadError) -> Self {
        Self::runtime(ErrorKind::Database, "DatabaseError", error.to_string())
    }
}

impl From<UpdateError> for QueryError {
    fn from(error: UpdateError) -> Self {
        let (kind, detail) = match error.kind {
            UpdateErrorKind::NotFound => (ErrorKind::EntityNotFound, "DeletedEntityAccess"),
            UpdateErrorKind::StillConnected => {
                (ErrorKind::ConstraintViolation, "DeleteConnectedNode")
            }
            UpdateErrorKind::Value => (ErrorKind::Type, "InvalidPropertyType"),
            UpdateErrorKind::Name => (ErrorKind::Argument, "InvalidName"),
            UpdateErrorKind::Constraint => (ErrorKind::ConstraintViolation, "ConstraintViolation"),
            UpdateErrorKind::SchemaRule => (ErrorKind::Argument, "InvalidSchemaRule"),
            UpdateErrorKind::Mixed => (ErrorKind::TransactionType, "ForbiddenDueToTransactionType"),
            UpdateErrorKind::Conflict => (ErrorKind::Conflict, "Conflict"),
            UpdateErrorKind::Deadlock => (ErrorKind::Deadlock, "Deadlock"),
            UpdateErrorKind::TimedOut => (ErrorKind::TimedOut, "TimedOut"),
            UpdateErrorKind::Terminated => (ErrorKind::Terminated, "Terminated"),
            _ => (ErrorKind::Database, "DatabaseError"),
        };
        Self::runtime(kind, detail, error.to_string())
    }
}
