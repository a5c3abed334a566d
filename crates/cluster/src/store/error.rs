//! Failures of a store, and what a caller does about them.

use std::io;
use std::path::{Path, PathBuf};

use super::Name;

/// A failed operation: it was not carried out, and will not be.
///
/// An operation that *may* have been carried out is no error but an outcome:
/// [`Put::Unknown`](super::Put::Unknown), [`PutIf::Unknown`](super::PutIf::Unknown).
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StoreError {
    /// A URL that names no store.
    #[error("cannot open the store \"{url}\": {why}")]
    Url {
        /// The URL, without a password.
        url: String,
        /// What is wrong with it.
        why: String,
    },
    /// A name that no store takes.
    #[error("\"{name}\" is not a name for a store: {why}")]
    Name {
        /// The name.
        name: String,
        /// What is wrong with it.
        why: &'static str,
    },
    /// A body, part or value is longer than the store takes.
    #[error("{bytes} bytes exceed the store's limit of {max} bytes")]
    TooLarge {
        /// Its length.
        bytes: usize,
        /// The longest allowed.
        max: usize,
    },
    /// A range of timestamps that no slot can have.
    #[error("a slot cannot hold the timestamps from {first} to before {next}")]
    Range {
        /// Its first timestamp.
        first: u64,
        /// The timestamp after its last.
        next: u64,
    },
    /// The position lies before the trim mark: what was there is gone.
    #[error("position {asked} of {stream} is trimmed; the log begins at {oldest}")]
    Trimmed {
        /// The stream.
        stream: Name,
        /// The position asked for.
        asked: u64,
        /// The first position that is left.
        oldest: u64,
    },
    /// A commit that the log once had is neither there nor trimmed, while there are later ones, or
    /// one is to be put.
    #[error(
        "the log {stream} lacks commit {at}: the store has lost what it had taken, or is another \
         one; `telar cluster recover` begins anew with the copies of a node"
    )]
    Missing {
        /// The stream.
        stream: Name,
        /// The commit.
        at: u64,
    },
    /// A stream that is to begin has begun already.
    #[error("there is a log {stream} in the store already, from commit {oldest} on")]
    Taken {
        /// The stream.
        stream: Name,
        /// The first position that it has.
        oldest: u64,
    },
    /// A file operation failed.
    #[error("cannot {operation} {}: {source}", path.display())]
    Io {
        /// What was attempted.
        operation: &'static str,
        /// On which file or folder.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// The store does not answer, or refuses for now.
    #[error("{store} is not available: {why}")]
    Unavailable {
        /// The store.
        store: String,
        /// What it said.
        why: String,
    },
    /// The store holds what nobody can have written.
    #[error("{place} is damaged: {why}")]
    Damaged {
        /// The slot, key, part or file.
        place: String,
        /// What is wrong.
        why: String,
    },
}

/// What a caller does about a [`StoreError`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ErrorKind {
    /// Fix the request; the store is as before.
    Request,
    /// Try again later: the store does not answer.
    Unavailable,
    /// Begin anew from an image or another node: the position is trimmed.
    Behind,
    /// Stop: what is stored is damaged, lost, or written by a newer program.
    Data,
}

impl StoreError {
    /// Returns what a caller does about the error.
    #[must_use]
    pub fn kind(&self) -> ErrorKind {
        match self {
            Self::Url { .. }
            | Self::Name { .. }
            | Self::TooLarge { .. }
            | Self::Range { .. }
            | Self::Taken { .. } => ErrorKind::Request,
            Self::Trimmed { .. } => ErrorKind::Behind,
            Self::Io { .. } | Self::Unavailable { .. } => ErrorKind::Unavailable,
            Self::Damaged { .. } | Self::Missing { .. } => ErrorKind::Data,
        }
    }

    pub(crate) fn url(url: &str, why: impl Into<String>) -> Self {
        Self::Url { url: super::url::without_password(url), why: why.into() }
    }

    pub(crate) fn io(operation: &'static str, path: &Path, source: io::Error) -> Self {
        Self::Io { operation, path: path.into(), source }
    }

    pub(crate) fn damaged(place: impl Into<String>, why: impl Into<String>) -> Self {
        Self::Damaged { place: place.into(), why: why.into() }
    }
}

/// Refuses more than `max` bytes.
pub(crate) fn check_size(bytes: usize, max: usize) -> Result<(), StoreError> {
    if bytes > max { Err(StoreError::TooLarge { bytes, max }) } else { Ok(()) }
}
