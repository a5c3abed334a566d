//! Check: every checksum and every invariant of a database that is not open, or of a backup.
//!
//! ```text
//!  files.rs    FORMAT, IDENTITY, LOCK, what should be there and what should not
//!  log.rs      header, checksum, order and content of every record
//!  store.rs    structure of the LMDB file, checksum and content of every value, their number
//!  graph.rs    what must hold between values: lists sorted, out and in lists mirror each other,
//!              ends of edges exist, ordinals unique, indexes hold what the values say
//!  near.rs     files with the graphs of vector indexes
//!  backup.rs   a backup against its manifest
//! ```
//!
//! Reads with plain reads, never through LMDB's map, and changes nothing. It goes on after a
//! finding, as far as what was found leaves something to look at.
//!
//! Cost: reads everything once; in memory a bit per vertex and per edge ordinal, 32 bytes per
//! segment of a type, one value, one log file; the entries of all indexes, and the values that they
//! are made of as they are stored.

mod backup;
mod files;
pub(crate) mod graph;
mod history;
mod log;
mod near;
pub(crate) mod store;
#[cfg(test)]
#[cfg(not(feature = "shuttle"))]
mod tests;

use std::fmt;
use std::path::{Path, PathBuf};

use crate::error::Error;
use crate::maintenance::manifest;

pub(crate) use files::{closed_at, lock};

/// Findings kept; more are only counted.
const FINDINGS_MAX: usize = 1000;

/// How certain a finding is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Severity {
    /// Worth knowing, and nothing is wrong.
    Note,
    /// Either a crash left it, which is harmless, or it is damage; the bytes are the same.
    Suspect,
    /// A newer program wrote it, which only that one can judge.
    Newer,
    /// Something is not as it was written.
    Damage,
}

impl fmt::Display for Severity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Note => "note",
            Self::Suspect => "suspect",
            Self::Newer => "newer",
            Self::Damage => "damage",
        })
    }
}

/// Something that a check found.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Finding {
    /// How certain it is.
    pub severity: Severity,
    /// The file, below what was checked.
    pub file: PathBuf,
    /// Where in it: offset, page, key.
    pub place: String,
    /// What is wrong.
    pub what: String,
    /// What it means, and what to do.
    pub advice: &'static str,
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}, {}: {}", self.severity, self.file.display(), self.place, self.what)
    }
}

/// What a check looked at and found.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct CheckReport {
    /// What was found, in the order it was found in.
    pub findings: Vec<Finding>,
    /// Further findings, which were not kept.
    pub more: u64,
    /// Values of the store or image that were verified.
    pub values: u64,
    /// Vertices.
    pub vertices: u64,
    /// Edges.
    pub edges: u64,
    /// Records of the log that were verified.
    pub records: u64,
    /// Bytes read.
    pub bytes: u64,
    /// The checkpoint, if there is one.
    pub checkpoint: Option<u64>,
    /// The last commit found.
    pub last: u64,
}

impl CheckReport {
    /// The most certain kind of finding; `None` if there is nothing but notes.
    #[must_use]
    pub fn worst(&self) -> Option<Severity> {
        self.findings.iter().map(|f| f.severity).max().filter(|s| *s > Severity::Note)
    }

    fn add(
        &mut self,
        severity: Severity,
        file: impl Into<PathBuf>,
        place: impl fmt::Display,
        what: impl fmt::Display,
        advice: &'static str,
    ) {
        if self.findings.len() >= FINDINGS_MAX {
            self.more += 1;
            return;
        }
        let (place, what) = (place.to_string(), what.to_string());
        self.findings.push(Finding { severity, file: file.into(), place, what, advice });
    }

    /// Notes that a newer program wrote a file.
    fn newer(&mut self, file: impl Into<PathBuf>, found: u32, supported: u32) {
        let what = format!("it is of format version {found}; this program reads up to {supported}");
        self.add(Severity::Newer, file, "its version", what, NEWER);
    }

    fn damage(
        &mut self,
        file: impl Into<PathBuf>,
        place: impl fmt::Display,
        what: impl fmt::Display,
        advice: &'static str,
    ) {
        self.add(Severity::Damage, file, place, what, advice);
    }
}

/// Advice on damaged values of a store.
pub(crate) const REPAIR_OR_RESTORE: &str =
    "`telar repair` rebuilds it if the rest of the store allows that; else restore a backup";
const RESTORE: &str = "restore a backup";
const NEWER: &str = "not checked: check it with the newer program; only if none has ever used it, the \
                     file was changed by damage, and `telar repair` or a backup is the way";

/// Checks the database or backup in `path`. A database must not be open elsewhere.
///
/// # Errors
/// [`Error::NotADatabase`] if there is nothing of ours; [`Error::Locked`]; [`Error::File`] if
/// something cannot be read at all. What is damaged, or of a newer format, is no error but in the
/// report.
pub fn check(path: impl AsRef<Path>) -> Result<CheckReport, Error> {
    let path = path.as_ref();
    let mut report = CheckReport::default();
    if path.join(manifest::NAME).exists() {
        backup::check(path, &mut report)?;
        return Ok(report);
    }
    let Some(_lock) = files::check(path, &mut report)? else {
        return Ok(report);
    };
    let closed_at = closed_at(path);
    let checkpoint = store::check(path, &mut report)?;
    report.checkpoint = checkpoint;
    log::check(path, checkpoint, closed_at, &mut report)?;
    near::check(path, &mut report)?;
    Ok(report)
}
