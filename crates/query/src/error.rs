//! What can go wrong while an expression is evaluated.

use std::fmt;

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
    /// The kind.
    pub detail: Detail,
    /// What was wrong, for people: what was expected and what was found.
    pub message: String,
}

impl EvalError {
    /// An error of this kind.
    pub fn new(detail: Detail, message: impl Into<String>) -> Self {
        Self { detail, message: message.into() }
    }

    /// A value of another type was expected.
    pub fn wrong_type(expected: &str, found: &str) -> Self {
        Self::new(Detail::InvalidArgumentType, format!("expected {expected}, found {found}"))
    }
}
