//! What can go wrong with the log, and what a caller does about it.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::io::StorageError;

/// A failed operation of the log.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum WalError {
    /// A file operation failed.
    #[error(transparent)]
    Storage(#[from] StorageError),
    /// A log file is not what was written, and nothing can be cut without losing commits.
    #[error("log file {} is damaged at offset {offset}: {what}", file.display())]
    Damaged {
        /// The damaged file.
        file: PathBuf,
        /// The first byte of what is wrong.
        offset: u64,
        /// What is wrong.
        what: Damage,
    },
    /// A file named as a log file is none.
    #[error("{} is not a log file: it does not begin with \"TELARWAL\"", file.display())]
    WrongMagic {
        /// The file.
        file: PathBuf,
    },
    /// A newer program wrote the log.
    #[error(
        "log file {} has format version {found}, but this program knows only versions up to \
         {supported}; open it with the newer program that wrote it",
        file.display()
    )]
    NewerFormat {
        /// The file.
        file: PathBuf,
        /// Its version.
        found: u32,
        /// The newest version this code reads.
        supported: u32,
    },
    /// A file of an open database was removed: what would be written is lost when it is closed.
    #[error("{} was removed while the database was open: nothing written now would last", file.display())]
    Removed {
        /// The file.
        file: PathBuf,
    },
    /// A write, sync or rotation failed earlier, and the log takes no more until it is reopened.
    ///
    /// Commits not yet known to be durable are undecided: after reopening each is there or not, and
    /// if one is there, so are all before it.
    #[error("the log refuses writes until reopened, because an earlier write failed: {cause}")]
    Poisoned {
        /// The failure.
        cause: Arc<WalError>,
    },
    /// The thread that wrote for all others panicked, so nobody knows how far it got.
    #[error("the thread that wrote the log panicked")]
    LeaderPanicked,
    /// Another process leads: it wrote the replicated log where this one was about to. Commits that
    /// were not acknowledged are lost; the database has to be opened again, to follow.
    #[error(
        "this process does not lead any more{}; open the database again, to follow",
        leader.as_ref().map(|node| format!(" ({node} does)")).unwrap_or_default()
    )]
    Fenced {
        /// The node that leads, as far as it is known.
        leader: Option<String>,
    },
    /// Nobody knows whether the replicated log has the last group of commits: it is found out when
    /// the database is opened again and follows.
    #[error("whether the replicated log has the last commits is not known: {reason}")]
    Undecided {
        /// Why not.
        reason: String,
    },
    /// The log was closed.
    #[error("the log is closed")]
    Closed,
    /// A payload is longer than a record may be.
    #[error("a log record of {bytes} bytes exceeds the limit of {max} bytes")]
    PayloadTooLarge {
        /// Its length.
        bytes: usize,
        /// The longest allowed.
        max: usize,
    },
    /// Somebody waits for a commit timestamp that was never assigned.
    #[error("commit timestamp {commit_ts} was never assigned; the last one is {last_ts}")]
    NotAssigned {
        /// The timestamp waited for.
        commit_ts: u64,
        /// The last one assigned.
        last_ts: u64,
    },
    /// The caller could not apply a record that the log holds.
    #[error("cannot replay the commit {commit_ts}: {cause}")]
    Replay {
        /// The commit.
        commit_ts: u64,
        /// The caller's reason.
        cause: Box<dyn std::error::Error + Send + Sync>,
    },
}

/// What a caller does about a [`WalError`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum WalErrorKind {
    /// Fix the request; the log is as before.
    Request,
    /// Reopen the log once the cause (full disk, failing disk) is gone.
    Reopen,
    /// The log is damaged: restore a backup.
    Data,
    /// The log is newer than this program: open it with the program that wrote it.
    NewerFormat,
    /// Another process leads: go there, and open the database again, to follow.
    Fenced,
    /// Report a bug.
    Bug,
}

impl WalError {
    /// Returns what a caller does about the error.
    pub fn kind(&self) -> WalErrorKind {
        if self.fenced_by().is_some() {
            return WalErrorKind::Fenced;
        }
        match self {
            Self::PayloadTooLarge { .. } => WalErrorKind::Request,
            Self::Storage(_)
            | Self::Removed { .. }
            | Self::Poisoned { .. }
            | Self::Undecided { .. }
            | Self::Closed => WalErrorKind::Reopen,
            Self::Fenced { .. } => WalErrorKind::Fenced,
            Self::Damaged { .. } | Self::WrongMagic { .. } | Self::Replay { .. } => {
                WalErrorKind::Data
            }
            Self::NewerFormat { .. } => WalErrorKind::NewerFormat,
            Self::LeaderPanicked | Self::NotAssigned { .. } => WalErrorKind::Bug,
        }
    }

    /// Returns the node that leads, as far as it is known, if the log refuses commits because
    /// another process leads.
    pub fn fenced_by(&self) -> Option<Option<&str>> {
        match self {
            Self::Fenced { leader } => Some(leader.as_deref()),
            Self::Poisoned { cause } => cause.fenced_by(),
            _ => None,
        }
    }

    /// Returns the error of a caller that could not apply the record `commit_ts`.
    pub fn replay(
        commit_ts: u64,
        cause: impl Into<Box<dyn std::error::Error + Send + Sync>>,
    ) -> Self {
        Self::Replay { commit_ts, cause: cause.into() }
    }

    pub(super) fn damaged(file: &Path, offset: usize, what: Damage) -> Self {
        Self::Damaged { file: file.to_owned(), offset: offset as u64, what }
    }
}

/// What is wrong with a damaged log file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Damage {
    /// The file ends within its header although records should follow.
    #[error("its header is incomplete")]
    HeaderIncomplete,
    /// The header's checksum does not fit.
    #[error("the checksum of its header is wrong")]
    HeaderChecksum,
    /// The header has a version that was never written.
    #[error("its header has format version {found}, which does not exist")]
    HeaderVersion {
        /// The version found.
        found: u32,
    },
    /// The header tells another first timestamp than the file's name.
    #[error("its header says that it begins with commit {found}, its name says {named}")]
    HeaderTimestamp {
        /// What the name says.
        named: u64,
        /// What the header says.
        found: u64,
    },
    /// Commits are missing before this point, or are there twice.
    #[error("commit {expected} should be here, but {found} is")]
    Timestamp {
        /// The commit that has to be here.
        expected: u64,
        /// The commit that is here.
        found: u64,
    },
    /// A bad record in a file that a later file proves to have been complete.
    #[error("{fault}, and later log files follow")]
    RecordBeforeFile {
        /// What is wrong with the record.
        fault: RecordFault,
    },
    /// A bad record before good ones.
    #[error("{fault}, and a valid record of a later commit follows at offset {next_offset}")]
    RecordBeforeRecord {
        /// What is wrong with the record.
        fault: RecordFault,
        /// Where the next good record is.
        next_offset: u64,
    },
}

/// What is wrong with a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RecordFault {
    /// The file ends within the record.
    #[error("the file ends within a record")]
    Incomplete,
    /// The record claims a length that none has.
    #[error("a record claims an impossible length of {bytes} bytes")]
    TooLong {
        /// The length it claims.
        bytes: u64,
    },
    /// The checksum does not fit.
    #[error("the checksum of a record is wrong")]
    Checksum,
}
