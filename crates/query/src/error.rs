//! What can go wrong while an expression is evaluated.

use std::fmt;

use telar_graph::Value;
use telar_graph::value::{PointError, TemporalError};

use crate::query_error::ErrorKind;

/// The kind of a runtime error: the detail word of the openCypher TCK, which tells a driver's user
/// what was wrong without reading the message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[expect(missing_docs, reason = "the names are those of the TCK and say what they mean")]
#[non_exhaustive]
pub enum Detail {
    DeletedEntityAccess,
    DeleteConnectedNode,
    InvalidArgumentType,
    InvalidArgumentValue,
    InvalidNumberOfArguments,
    InvalidPropertyType,
    IntegerOverflow,
    ListElementAccessByNonInteger,
    MapElementAccessByNonString,
    MergeReadOwnWrites,
    NegativeIntegerArgument,
    NumberOutOfRange,
    PropertyAccessOnNonMap,
    UnknownFunction,
    DivisionByZero,
    /// Somebody ended the statement.
    Terminated,
    /// Its time was over.
    TimedOut,
    /// A result would be larger than the bounds in [`crate::watch::sizes`].
    ResultTooLarge,
    /// The server holds as much as it may, see [`crate::budget`].
    MemoryBudgetExceeded,
}

impl Detail {
    /// The kind of most errors with this detail word.
    const fn kind(self) -> ErrorKind {
        match self {
            Self::DeletedEntityAccess => ErrorKind::EntityNotFound,
            Self::DeleteConnectedNode => ErrorKind::ConstraintViolation,
            Self::DivisionByZero | Self::IntegerOverflow => ErrorKind::Arithmetic,
            Self::InvalidArgumentValue
            | Self::InvalidNumberOfArguments
            | Self::NegativeIntegerArgument
            | Self::NumberOutOfRange => ErrorKind::Argument,
            Self::MergeReadOwnWrites => ErrorKind::Semantic,
            Self::UnknownFunction => ErrorKind::Syntax,
            Self::Terminated => ErrorKind::Terminated,
            Self::TimedOut => ErrorKind::TimedOut,
            Self::ResultTooLarge | Self::MemoryBudgetExceeded => ErrorKind::OutOfMemory,
            Self::InvalidArgumentType
            | Self::InvalidPropertyType
            | Self::ListElementAccessByNonInteger
            | Self::MapElementAccessByNonString
            | Self::PropertyAccessOnNonMap => ErrorKind::Type,
        }
    }
}

impl fmt::Display for Detail {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self, f)
    }
}

/// Why an expression has no value.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message} ({detail})")]
pub struct EvalError {
    /// The detail word.
    pub detail: Detail,
    /// The kind of error that the query fails with.
    pub kind: ErrorKind,
    /// What was wrong, for people: what was expected and what was found.
    pub message: String,
}

impl EvalError {
    /// An error with this detail word and the kind that mostly goes with it.
    pub fn new(detail: Detail, message: impl Into<String>) -> Self {
        Self { detail, kind: detail.kind(), message: message.into() }
    }

    /// The same error, of another kind.
    #[must_use]
    pub fn of_kind(self, kind: ErrorKind) -> Self {
        Self { kind, ..self }
    }

    /// A value of another type was expected.
    pub fn wrong_type(expected: &str, found: &str) -> Self {
        Self::new(Detail::InvalidArgumentType, format!("expected {expected}, found {found}"))
    }

    /// An argument of `function` has a type that the function does not take.
    pub fn argument_type(function: &str, expected: &str, found: &Value) -> Self {
        Self::new(
            Detail::InvalidArgumentType,
            format!("{function} expects {expected}, found {}", describe(found)),
        )
    }

    /// An argument has the right type, but not a value that can be used.
    pub fn argument_value(message: impl Into<String>) -> Self {
        Self::new(Detail::InvalidArgumentValue, message)
    }

    /// An operator has no meaning for operands of these types.
    pub fn operands(verb: &str, a: &Value, b: &Value) -> Self {
        Self::new(
            Detail::InvalidArgumentType,
            format!("cannot {verb} {} and {}", describe(a), describe(b)),
        )
    }

    /// An integer result is outside -2^63..2^63.
    pub fn overflow(what: &str) -> Self {
        Self::new(Detail::IntegerOverflow, format!("the result of {what} does not fit an INTEGER"))
    }

    /// A result would need more than the bound.
    pub fn too_large(what: &str, unit: &str, max: usize) -> Self {
        Self::new(Detail::ResultTooLarge, format!("{what} would have more than {max} {unit}"))
    }
}

/// A value as error messages show it: its type, and the value itself where it is short.
#[must_use]
pub fn describe(value: &Value) -> String {
    const SHOWN_CHARS_MAX: usize = 40;
    let name = value.type_name();
    match value {
        Value::Null => name.to_owned(),
        Value::Bool(x) => format!("{name} {x}"),
        Value::Int(x) => format!("{name} {x}"),
        Value::Float(x) => format!("{name} {x:?}"),
        Value::String(x) if x.chars().nth(SHOWN_CHARS_MAX).is_none() => format!("{name} {x:?}"),
        _ => name.to_owned(),
    }
}

/// An overflow is one of the detail `IntegerOverflow`; whatever else is wrong with a temporal value
/// is wrong with an argument.
impl From<TemporalError> for EvalError {
    fn from(error: TemporalError) -> Self {
        let detail = match error {
            TemporalError::Overflow { .. } => Detail::IntegerOverflow,
            _ => Detail::InvalidArgumentValue,
        };
        Self::new(detail, error.to_string())
    }
}

impl From<PointError> for EvalError {
    fn from(error: PointError) -> Self {
        Self::argument_value(error.to_string())
    }
}
