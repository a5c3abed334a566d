//! Errors of a server that asks another one for a database.

use std::fmt;

use super::frame::FrameError;

/// Reason why a server did not get what it asked for.
#[derive(Debug)]
pub enum Error {
    /// The source does not answer, or the connection broke.
    Unreachable {
        /// The address that was asked.
        url: String,
        /// Reason, for people.
        why: String,
    },
    /// The source refuses the request.
    Refused {
        /// The address that was asked.
        url: String,
        /// Status of the answer.
        status: u16,
        /// The source's message.
        message: String,
    },
    /// The answer is not what was asked for.
    Broken(String),
    /// A file here cannot be written.
    File(String),
    /// The database here refuses it.
    Database(telar_db::Error),
    /// The asking side is to end.
    Stopped,
}

impl Error {
    /// True if the source does not keep what was asked for any more: only a whole image helps.
    #[must_use]
    pub fn is_gone(&self) -> bool {
        matches!(self, Self::Refused { status: 410, .. })
    }

    /// True if the source's database is not the one that was asked for, or has less commits.
    #[must_use]
    pub fn is_other(&self) -> bool {
        matches!(self, Self::Refused { status: 409, .. })
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unreachable { url, why } => write!(f, "{url} cannot be reached: {why}"),
            Self::Refused { url, status: 401, message } => {
                write!(f, "{url} does not let this server in: {message}")
            }
            Self::Refused { url, status, message } => {
                write!(f, "{url} answers {status}: {message}")
            }
            Self::Broken(what) | Self::File(what) => f.write_str(what),
            Self::Database(error) => error.fmt(f),
            Self::Stopped => f.write_str("it was stopped"),
        }
    }
}

impl std::error::Error for Error {}

impl From<telar_db::Error> for Error {
    fn from(error: telar_db::Error) -> Self {
        Self::Database(error)
    }
}

impl From<FrameError> for Error {
    fn from(error: FrameError) -> Self {
        match error {
            FrameError::Write(_) => Self::File(error.to_string()),
            error => Self::Broken(error.to_string()),
        }
    }
}
