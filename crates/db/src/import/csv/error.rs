//! What can be wrong, where, and what to do about it.

use std::io;
use std::path::Path;

use telar_engine::Error;

/// Why an import did not happen. Nothing of it is in the database.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CsvError {
    /// A file could not be opened, read, decompressed or (a reject file) written.
    #[error("{file}: {source}")]
    Io {
        /// The file.
        file: String,
        /// What the system said.
        source: io::Error,
    },
    /// A header does not say what the columns are.
    #[error("{file}:{line}: {reason}")]
    Header {
        /// The file.
        file: String,
        /// Line, counted from 1.
        line: u64,
        /// What is wrong, and what to write instead.
        reason: String,
    },
    /// A row is not what the header says.
    #[error("{file}:{line}: {reason}; mend the row, or skip such rows into a reject file")]
    Row {
        /// The file.
        file: String,
        /// Line on which the row begins, counted from 1.
        line: u64,
        /// What is wrong.
        reason: String,
    },
    /// A record does not end.
    #[error(
        "{file}:{line}: the record that begins here does not end within 64 MiB; is a quote not \
         closed, or the quote character another?"
    )]
    Record {
        /// The file.
        file: String,
        /// Line, counted from 1.
        line: u64,
    },
    /// More rows were bad than are allowed.
    #[error("more than {max} bad rows, the last at {file}:{line}: {reason}")]
    TooManyBadRows {
        /// How many are allowed.
        max: u64,
        /// The file.
        file: String,
        /// Line, counted from 1.
        line: u64,
        /// What is wrong with the last.
        reason: String,
    },
    /// The options contradict each other or the files.
    #[error("{0}")]
    Options(String),
    /// The database refused.
    #[error(transparent)]
    Database(#[from] Error),
}

impl CsvError {
    pub(super) fn io(file: &Path) -> impl FnOnce(io::Error) -> Self {
        let file = file.display().to_string();
        move |source| Self::Io { file, source }
    }
}
